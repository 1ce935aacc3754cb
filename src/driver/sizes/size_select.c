#include "driver/sizes/size_select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAVES = 200, FEWEST = 3 };
static const double never = 1e6;          /* the cost of a program that is not right */
static const double least_gain = 0.2;     /* of the weighed losses, summed over points */

typedef struct Node {
    int *point, n;
    int64_t *most;            /* per measure: the bounds on the way here */
    int strategy;             /* what is taken */
    int *program;             /* per different group */
    double cost;
    /* The best way to part it: gain 0 if there is none.  */
    int split;                /* its number; -1: none */
    int64_t bound;
    double gain;
    struct Node *low, *high;  /* NULL: it is not parted */
} Node;

typedef struct {
    int64_t is;
    int point;
} Ordered;

typedef struct {
    const SizePick *x;
    const RSelector *out;
    Arena *a;
    int64_t **is;             /* per split, per point: what it bounds.  Splits are measures, then,
                               * per strategy, whether the sizes are others than it is for: what it
                               * knows of several sizes helps at once or not at all */
    int n_split;
    double **offset;          /* per strategy, per point: what its best programs lose */
    double **cost;            /* per column (a picked program), per point */
    int *column;              /* per slot: its first */
    int n_column;
    Ordered *order;
} Tree;

/* ---- costs ---- */

/* What a group loses with a program counts against the whole, so groups add up.  */
static void set_costs(Tree *t) {
    const SizePick *x = t->x;
    int n = x->at->n;
    for (int s = 0; s < x->n_strategy; s++) {
        if (!x->open[s]) continue;
        t->offset[s] = ARENA_ARRAY(t->a, double, n);
        double *best = ARENA_ARRAY(t->a, double, n);
        for (int g = 0; g < x->strategy[s].n; g++) {
            int slot = size_slot(x, s, g);
            t->column[slot] = t->n_column;
            for (int i = 0; i < n; i++) best[i] = INFINITY;
            int count = x->strategy[s].group[g].count;
            for (int k = 0; k < x->n_picked[slot]; k++) {
                const double *us = x->strategy[s].group[g].program[x->picked[slot][k]].us;
                for (int i = 0; i < n; i++)
                    if (us[i] < best[i]) best[i] = us[i];
            }
            for (int k = 0; k < x->n_picked[slot]; k++) {
                const double *us = x->strategy[s].group[g].program[x->picked[slot][k]].us;
                double *cost = t->cost[t->n_column++] = ARENA_ARRAY(t->a, double, n);
                for (int i = 0; i < n; i++)
                    cost[i] = isfinite(us[i]) ? size_weight(count * (us[i] - best[i]) /
                                                          x->best[i])
                                            : never;
            }
            for (int i = 0; i < n; i++) t->offset[s][i] += count * best[i];
        }
        for (int i = 0; i < n; i++)
            t->offset[s][i] = isfinite(t->offset[s][i])
                                  ? size_weight(t->offset[s][i] / x->best[i] - 1)
                                  : never;
    }
}

/* Sums over points: of the strategies' offsets, then of the columns.  */
static void add_point(const Tree *t, int point, double *sum) {
    for (int s = 0; s < t->x->n_strategy; s++)
        sum[s] += t->x->open[s] ? t->offset[s][point] : 0;
    for (int c = 0; c < t->n_column; c++) sum[t->x->n_strategy + c] += t->cost[c][point];
}

/* The program of a group that costs least.  */
static int least_program(const Tree *t, const double *sum, int strategy, int group) {
    int slot = size_slot(t->x, strategy, group), k = 0;
    const double *own = sum + t->x->n_strategy + t->column[slot];
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
            const double *own = sum + x->n_strategy + t->column[size_slot(x, s, g)];
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

static void try_split(const Tree *t, Node *p, int m, const double *all, double *low,
                      double *high) {
    int sums = t->x->n_strategy + t->n_column, any;
    for (int i = 0; i < p->n; i++) t->order[i] = (Ordered){t->is[m][p->point[i]], p->point[i]};
    qsort(t->order, (size_t)p->n, sizeof *t->order, ascending);
    for (int k = 0; k < sums; k++) low[k] = 0;
    for (int i = 0; i + FEWEST < p->n; i++) {
        add_point(t, t->order[i].point, low);
        int64_t here = t->order[i].is, next = t->order[i + 1].is;
        if (here == next || i + 1 < FEWEST) continue;
        for (int k = 0; k < sums; k++) high[k] = all[k] - low[k];
        double gain = p->cost - least_cost(t, low, &any) - least_cost(t, high, &any);
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
    p->gain = least_gain;
    p->split = -1;
    for (int pass = 0; pass < 2; pass++) {          /* sizes before expressions of them */
        for (int m = 0; m < t->n_split; m++) {
            bool plain = m < t->out->n_measure && t->out->measure[m].expr->n_args == 0;
            if (t->is[m] && pass == !plain) try_split(t, p, m, all, low, high);
        }
    }
    arena_reset(t->a, mark);
}

static void bound_by_split(const Tree *t, const Node *p, int64_t *most) {
    RChoice c = {.most = most};
    int strategy = p->split - t->out->n_measure;
    if (strategy < 0) most[p->split] = p->bound;
    else rplan_bound_rests(t->out, t->x->strategy[strategy].set->normal, &c);
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

/* ---- the selector ---- */

/* Bounds that make all programs of a choice right: the sizes and domains for which each is.  */
static void bound_choice(const Tree *t, const int *program, RChoice *c) {
    const SizePick *x = t->x;
    const SizedSet *s = &x->strategy[c->strategy];
    rplan_bound_rests(t->out, s->set->normal, c);
    for (int k = 0; k < s->n; k++) {
        const SizedGroup *group = &s->group[k];
        const SizedProgram *p =
            &group->program[x->picked[size_slot(x, c->strategy, k)][program[k]]];
        TeExtent domain = rplan_domain(t->a, group->set->normal, &group->set->group[group->number]);
        int m = rplan_measure(t->out, &domain);
        if (p->outs < INT64_MAX && m >= 0 && p->outs < c->most[m]) c->most[m] = p->outs;
        for (int i = 0; i < t->out->n_measure && p->upto; i++) {
            const TeExpr *e = t->out->measure[i].expr;
            if (e->kind != TE_SIZE || !rplan_varies(s->set->normal, e->v.ref)) continue;
            int64_t upto = p->upto[e->v.ref];
            bool bounds = upto < s->set->normal->size[e->v.ref].extent.value;
            if (bounds && upto < c->most[i]) c->most[i] = upto;
        }
    }
}

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
    bound_choice(t, p->program, c);
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
    const SizePick *x = t->x;
    int n = t->out->n_measure;
    t->n_split = n + x->n_strategy;
    t->is = ARENA_ARRAY(t->a, int64_t *, t->n_split);
    for (int m = 0; m < t->n_split; m++) {
        bool rest = m < n && rplan_is_rest(&t->out->measure[m]);
        if (rest || (m >= n && !x->open[m - n])) continue;
        t->is[m] = ARENA_ARRAY(t->a, int64_t, x->at->n);
        for (int i = 0; i < x->at->n; i++) {
            const int64_t *size = x->at->value[i];
            t->is[m][i] = m < n ? te_extent_eval(t->out->te, &t->out->measure[m], size)
                                : !te_gives(x->strategy[m - n].set->te, size);
        }
    }
}

void size_select(const SizePick *x, RSelector *out) {
    int slots = x->n_strategy * x->groups, columns = 0, n = x->at->n;
    for (int k = 0; k < slots; k++) columns += x->n_picked[k];
    Tree t = {.x = x, .out = out, .a = x->a,
              .offset = ARENA_ARRAY(x->a, double *, x->n_strategy),
              .cost = ARENA_ARRAY(x->a, double *, columns),
              .column = ARENA_ARRAY(x->a, int, slots), .order = ARENA_ARRAY(x->a, Ordered, n)};
    set_costs(&t);
    set_splits(&t);
    Node *all = ARENA_NEW(x->a, Node);
    *all = (Node){.point = ARENA_ARRAY(x->a, int, n), .n = n,
                  .most = ARENA_ARRAY(x->a, int64_t, out->n_measure)};
    for (int m = 0; m < out->n_measure; m++) all->most[m] = INT64_MAX;
    for (int i = 0; i < n; i++) all->point[i] = i;
    judge(&t, all);
    for (int leaves = 1; leaves < LEAVES; leaves++) {
        Node *p = most_gain(all);
        if (p->split < 0) break;
        p->low = child(&t, p, true);
        p->high = child(&t, p, false);
    }
    out->choice = ARENA_ARRAY(x->a, RChoice, LEAVES + 1);
    out->n = 0;
    list_nodes(&t, all, out);
    if (is_bounded(out, &out->choice[out->n - 1])) {
        RChoice *c = &out->choice[out->n++];
        *c = (RChoice){.most = ARENA_ARRAY(x->a, int64_t, out->n_measure),
                       .program = ARENA_ARRAY(x->a, int, x->strategy->set->n_group)};
        for (int m = 0; m < out->n_measure; m++) c->most[m] = INT64_MAX;
    }
    drop_superfluous(&t, out);
}
