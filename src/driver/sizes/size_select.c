#include "driver/sizes/size_select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parts of all points at most; points of a part: fewer say little of the sizes between them.  */
enum { LEAVES = 200, FEWEST = 6 };
static const double never = 1e6;          /* the cost of a program that is not right */
static const double least_gain = 0.2;     /* of a choice: of weighed losses, summed over points */
static const double least_parting = 0.05; /* of impurity */

typedef struct Node {
    int *point, n;
    int64_t *most;            /* per measure: the bounds on the way here */
    int strategy;             /* what is taken */
    int *program;             /* per different group */
    double cost;              /* of what is taken */
    double impurity;
    /* The best way to part it.  */
    int split;                /* its number; -1: none */
    int64_t bound;
    double gain;
    struct Node *low, *high;  /* NULL: it is not parted */
} Node;

typedef struct {
    int64_t is;
    int point;
} Ordered;

/* A picked program.  */
typedef struct {
    int strategy, group;
    const SizedProgram *program;
    double *cost;             /* per point */
} Column;

typedef struct {
    const SizePick *x;
    const RSelector *out;
    Arena *a;
    int64_t **is;             /* per split, per point: what it bounds.  Splits are measures, then,
                               * per column, whether the program is wrong there: what bounds it
                               * helps at once or not at all */
    int n_split;
    double **offset;          /* per strategy, per point: what its best programs lose */
    Column *column;           /* picked programs */
    int *first, n_column;     /* per slot: its first one */
    Ordered *order;
} Tree;

/* ---- costs ---- */

/* us of the best pick of a group at each point.  */
static void best_us(const SizePick *x, int strategy, int group, double *best) {
    int slot = size_slot(x, strategy, group);
    const SizedGroup *g = &x->strategy[strategy].group[group];
    for (int i = 0; i < x->at->n; i++) {
        best[i] = INFINITY;
        for (int k = 0; k < x->n_picked[slot]; k++)
            best[i] = fmin(best[i], g->program[x->picked[slot][k]].us[i]);
    }
}

/* What a group loses with each pick counts against the whole, so groups add up.  */
static void set_columns(Tree *t, int strategy, int group, const double *best) {
    const SizePick *x = t->x;
    int slot = size_slot(x, strategy, group);
    const SizedGroup *g = &x->strategy[strategy].group[group];
    t->first[slot] = t->n_column;
    for (int k = 0; k < x->n_picked[slot]; k++) {
        const SizedProgram *p = &g->program[x->picked[slot][k]];
        double *cost = ARENA_ARRAY(t->a, double, x->at->n);
        for (int i = 0; i < x->at->n; i++) {
            double more = g->count * (p->us[i] - best[i]) / x->best[i];
            cost[i] = isfinite(p->us[i]) ? size_weight(more) : never;
        }
        t->column[t->n_column++] = (Column){strategy, group, p, cost};
    }
}

static void set_costs(Tree *t, int strategy) {
    const SizePick *x = t->x;
    double *best = ARENA_ARRAY(t->a, double, x->at->n);
    double *offset = t->offset[strategy] = ARENA_ARRAY(t->a, double, x->at->n);
    for (int g = 0; g < x->strategy[strategy].n; g++) {
        best_us(x, strategy, g, best);
        set_columns(t, strategy, g, best);
        for (int i = 0; i < x->at->n; i++)
            offset[i] += x->strategy[strategy].group[g].count * best[i];
    }
    for (int i = 0; i < x->at->n; i++)
        offset[i] = isfinite(offset[i]) ? size_weight(offset[i] / x->best[i] - 1) : never;
}

/* Sums over points: of the strategies' offsets, then of the columns.  */
static void add_point(const Tree *t, int point, double *sum) {
    for (int s = 0; s < t->x->n_strategy; s++)
        sum[s] += t->x->open[s] ? t->offset[s][point] : 0;
    for (int c = 0; c < t->n_column; c++) sum[t->x->n_strategy + c] += t->column[c].cost[point];
}

/* The program of a group that costs least.  */
static int least_program(const Tree *t, const double *sum, int strategy, int group) {
    int slot = size_slot(t->x, strategy, group), k = 0;
    const double *own = sum + t->x->n_strategy + t->first[slot];
    for (int j = 1; j < t->x->n_picked[slot]; j++)
        if (own[j] < own[k]) k = j;
    return k;
}

/* The least that one strategy with one program per group costs, and which it is.  */
static double least_cost(const Tree *t, const double *sum, int *strategy) {
    const SizePick *x = t->x;
    double least = INFINITY;
    for (int s = 0; s < x->n_strategy; s++) {
        double cost = sum[s];
        if (!x->open[s]) continue;
        for (int g = 0; g < x->strategy[s].n; g++) {
            const double *own = sum + x->n_strategy + t->first[size_slot(x, s, g)];
            cost += own[least_program(t, sum, s, g)];
        }
        if (cost >= least) continue;
        least = cost;
        *strategy = s;
    }
    return least;
}

/* ---- parting ---- */

static int ascending(const void *x, const void *y) {
    const Ordered *a = x, *b = y;
    return a->is != b->is ? (a->is > b->is) - (a->is < b->is)
                          : (a->point > b->point) - (a->point < b->point);
}

/* The roundest number in lo..hi-1: tiles end there.  */
static int64_t round_bound(int64_t lo, int64_t hi) {
    int64_t step = 1;
    if (lo <= 0) return 0;
    while ((hi - 1) / (2 * step) * (2 * step) >= lo) step *= 2;
    return (hi - 1) / step * step;
}

/* What a node is worth parting for: its costs as resistors in parallel, so less than the least, and
 * the less the more others are as low.  Where a bound parts them in other proportions the two parts
 * have less together, even if the least costs add up to the same: it pays once another follows.  */

static double conductance(double cost) { return 1 / fmax(cost, 1e-9); }

static double impurity(const Tree *t, const double *sum) {
    const SizePick *x = t->x;
    double all = 0;
    for (int s = 0; s < x->n_strategy; s++) {
        double cost = sum[s];
        if (!x->open[s]) continue;
        for (int g = 0; g < x->strategy[s].n; g++) {
            const double *own = sum + x->n_strategy + t->first[size_slot(x, s, g)];
            double group = 0;
            for (int k = 0; k < x->n_picked[size_slot(x, s, g)]; k++) group += conductance(own[k]);
            cost += 1 / group;
        }
        all += conductance(cost);
    }
    return 1 / all;
}

static void try_split(const Tree *t, Node *p, int m, const double *all, double *low,
                      double *high) {
    int sums = t->x->n_strategy + t->n_column;
    for (int i = 0; i < p->n; i++) t->order[i] = (Ordered){t->is[m][p->point[i]], p->point[i]};
    qsort(t->order, (size_t)p->n, sizeof *t->order, ascending);
    for (int k = 0; k < sums; k++) low[k] = 0;
    for (int i = 0; i + FEWEST < p->n; i++) {
        add_point(t, t->order[i].point, low);
        int64_t here = t->order[i].is, next = t->order[i + 1].is;
        if (here == next || i + 1 < FEWEST) continue;
        for (int k = 0; k < sums; k++) high[k] = all[k] - low[k];
        double gain = p->impurity - impurity(t, low) - impurity(t, high);
        if (gain <= p->gain) continue;
        p->gain = gain;
        p->split = m;
        p->bound = round_bound(here, next);
    }
}

static void judge(const Tree *t, Node *p) {
    int sums = t->x->n_strategy + t->n_column;
    ArenaMark mark;
    p->program = ARENA_ARRAY(t->a, int, t->x->groups);
    mark = arena_mark(t->a);
    double *all = ARENA_ARRAY(t->a, double, sums), *low = ARENA_ARRAY(t->a, double, sums);
    double *high = ARENA_ARRAY(t->a, double, sums);
    for (int i = 0; i < p->n; i++) add_point(t, p->point[i], all);
    p->cost = least_cost(t, all, &p->strategy);
    for (int g = 0; g < t->x->strategy[p->strategy].n; g++)
        p->program[g] = least_program(t, all, p->strategy, g);
    p->impurity = impurity(t, all);
    p->gain = least_parting;
    p->split = -1;
    for (int pass = 0; pass < 2; pass++) {          /* sizes before expressions of them */
        for (int m = 0; m < t->n_split; m++) {
            bool plain = m < t->out->n_measure && t->out->measure[m].expr->n_args == 0;
            if (t->is[m] && pass == !plain) try_split(t, p, m, all, low, high);
        }
    }
    arena_reset(t->a, mark);
}

/* Bounds that make a program right: the sizes and domains for which it is.  */
static void bound_program(const Tree *t, const Column *of, int64_t *most) {
    const SizedSet *s = &t->x->strategy[of->strategy];
    const SizedGroup *g = &s->group[of->group];
    const SizedProgram *p = of->program;
    TeExtent domain = rplan_domain(t->a, g->set->normal, &g->set->group[g->number]);
    int m = rplan_measure(t->out, &domain);
    rplan_bound_given(t->out, s->set->normal, &(RChoice){.most = most});
    if (m >= 0 && p->outs < most[m]) most[m] = p->outs;
    for (int i = 0; i < t->out->n_measure && p->upto; i++) {
        const TeExpr *e = t->out->measure[i].expr;
        if (e->kind != TE_SIZE || !rplan_varies(s->set->normal, e->v.ref)) continue;
        int64_t upto = p->upto[e->v.ref];
        bool bounds = upto < s->set->normal->size[e->v.ref].extent.value;
        if (bounds && upto < most[i]) most[i] = upto;
    }
}

static void bound_by_split(const Tree *t, const Node *p, int64_t *most) {
    int column = p->split - t->out->n_measure;
    if (column < 0) most[p->split] = p->bound;
    else bound_program(t, &t->column[column], most);
}

static Node *child(const Tree *t, const Node *p, bool low) {
    Node *c = ARENA_NEW(t->a, Node);
    *c = (Node){.point = ARENA_ARRAY(t->a, int, p->n),
                .most = ARENA_ARRAY(t->a, int64_t, t->out->n_measure)};
    for (int i = 0; i < p->n; i++)
        if ((t->is[p->split][p->point[i]] <= p->bound) == low) c->point[c->n++] = p->point[i];
    memcpy(c->most, p->most, (size_t)t->out->n_measure * sizeof *c->most);
    if (low) bound_by_split(t, p, c->most);
    judge(t, c);
    return c;
}

static Node *most_gain(Node *p) {
    if (!p->low) return p;
    Node *x = most_gain(p->low), *y = most_gain(p->high);
    double a = x->split < 0 ? 0 : x->gain, b = y->split < 0 ? 0 : y->gain;
    return a >= b ? x : y;
}

/* Undoes what gains too little for the choices that it takes: a parting may wait for another one
 * that never came.  Returns what is left of the cost.  */
static double prune(Node *p, int *choices) {
    int n = 0;
    double cost = p->low ? prune(p->low, &n) + prune(p->high, &n) : p->cost;
    if (p->low && p->cost - cost <= least_gain * (n - 1)) p->low = p->high = NULL;
    *choices += p->low ? n : 1;
    return p->low ? cost : p->cost;
}

/* All points, parted.  */
static Node *grow(const Tree *t) {
    int n = t->x->at->n, choices = 0;
    Node *all = ARENA_NEW(t->a, Node);
    *all = (Node){.point = ARENA_ARRAY(t->a, int, n), .n = n,
                  .most = ARENA_ARRAY(t->a, int64_t, t->out->n_measure)};
    for (int m = 0; m < t->out->n_measure; m++) all->most[m] = INT64_MAX;
    for (int i = 0; i < n; i++) all->point[i] = i;
    judge(t, all);
    for (int leaves = 1; leaves < LEAVES; leaves++) {
        Node *p = most_gain(all);
        if (p->split < 0) break;
        p->low = child(t, p, true);
        p->high = child(t, p, false);
    }
    prune(all, &choices);
    return all;
}

/* ---- the selector ---- */

static bool is_bounded(const RSelector *s, const RChoice *c) {
    bool any = false;
    for (int m = 0; m < s->n_measure; m++) any |= c->most[m] < INT64_MAX;
    return any;
}

static void list_nodes(const Tree *t, const Node *p, RSelector *out) {
    if (p->low) {
        list_nodes(t, p->low, out);
        list_nodes(t, p->high, out);
        return;
    }
    RChoice *c = &out->choice[out->n++];
    const SizedSet *s = &t->x->strategy[p->strategy];
    *c = (RChoice){.most = p->most, .strategy = p->strategy,
                   .program = ARENA_ARRAY(t->a, int, s->set->n_group)};
    for (int g = 0; g < s->set->n_group; g++) c->program[g] = p->program[s->of[g]];
    for (int k = 0; k < s->n; k++) {
        int column = t->first[size_slot(t->x, p->strategy, k)] + p->program[k];
        bound_program(t, &t->column[column], c->most);
    }
}

/* Does the next choice take the same, for these sizes and more?  */
static bool is_within(const Tree *t, const RChoice *c, const RChoice *next) {
    bool same = c->strategy == next->strategy;
    for (int g = 0; same && g < t->x->strategy[c->strategy].set->n_group; g++)
        same = c->program[g] == next->program[g];
    for (int m = 0; same && m < t->out->n_measure; m++) same = c->most[m] <= next->most[m];
    return same;
}

static void drop_superfluous(const Tree *t, RSelector *out) {
    int n = out->n - 1;       /* the last one stays; from behind, each looks at what stays */
    for (int k = out->n - 2; k >= 0; k--)
        if (!is_within(t, &out->choice[k], &out->choice[n])) out->choice[--n] = out->choice[k];
    memmove(out->choice, out->choice + n, (size_t)(out->n - n) * sizeof *out->choice);
    out->n -= n;
}

/* What the splits of the tree bound; NULL: nothing.  */
static void set_splits(Tree *t) {
    int n = t->out->n_measure, points = t->x->at->n;
    t->n_split = n + t->n_column;
    t->is = ARENA_ARRAY(t->a, int64_t *, t->n_split);
    for (int m = 0; m < t->n_split; m++) {
        if (m < n && rplan_is_rest(&t->out->measure[m])) continue;
        t->is[m] = ARENA_ARRAY(t->a, int64_t, points);
        for (int i = 0; i < points; i++)
            t->is[m][i] = m >= n ? !isfinite(t->column[m - n].program->us[i])
                                 : te_extent_eval(t->out->te, &t->out->measure[m],
                                                  t->x->at->value[i]);
    }
}

void size_select(const SizePick *x, RSelector *out) {
    int slots = x->n_strategy * x->groups, columns = 0, n = x->at->n;
    for (int k = 0; k < slots; k++) columns += x->n_picked[k];
    Tree t = {.x = x, .out = out, .a = x->a,
              .offset = ARENA_ARRAY(x->a, double *, x->n_strategy),
              .column = ARENA_ARRAY(x->a, Column, columns),
              .first = ARENA_ARRAY(x->a, int, slots), .order = ARENA_ARRAY(x->a, Ordered, n)};
    for (int k = 0; k < x->n_strategy; k++)
        if (x->open[k]) set_costs(&t, k);
    set_splits(&t);
    out->choice = ARENA_ARRAY(x->a, RChoice, LEAVES + 1);
    out->n = 0;
    list_nodes(&t, grow(&t), out);
    if (is_bounded(out, &out->choice[out->n - 1])) {
        RChoice *c = &out->choice[out->n++];
        *c = (RChoice){.most = ARENA_ARRAY(x->a, int64_t, out->n_measure),
                       .program = ARENA_ARRAY(x->a, int, x->strategy->set->n_group)};
        for (int m = 0; m < out->n_measure; m++) c->most[m] = INT64_MAX;
    }
    drop_superfluous(&t, out);
}
