#include "driver/size_sets.h"

#include <string.h>

enum { POINTS_MAX = 36, LEVELS_MAX = 34, KEPT = 6, CANDIDATES = 4000, FEW = 16 };
static const double accepted_loss = 1.05, least_gain = 0.005;     /* the latter: of the mean */

/* Sizes that are tried: first those that programs are planned for, then one below each that no tile
 * divides.  */
typedef struct {
    int64_t *value;           /* per size of the op */
    Problem problem;          /* of the group at hand */
    double best;              /* us, of the best program known */
    double us;                /* of the one that would be taken */
} Point;

typedef struct {
    GroupPlans plans;
    double *us;               /* per point; < 0: it is not taken there */
    bool chosen;
} Candidate;

typedef struct {
    Arena *arena;
    Diag *diag;
    PlanSet *set;
    int group;
    Point *point;
    int n_planned, n_point;
    Candidate *candidate;     /* the last one is for all sizes */
    int n_candidate;
    Buf why;
} Choice;

/* ---- the sizes that are tried ---- */

static int64_t step_of(const TeExtent *e) { return e->multiple > 1 ? e->multiple : 1; }

/* Ascending: the smallest size, powers of `ratio` and the largest one, multiples all.  */
static int levels_of(const TeExtent *e, int64_t ratio, int64_t *level) {
    int64_t q = step_of(e), lo = (e->min + q - 1) / q * q, hi = e->value / q * q, next = lo;
    int n = 0;
    while (next < hi && n < LEVELS_MAX - 1) {
        level[n++] = next;
        int64_t power = 1;
        while (power <= next) power *= ratio;
        next = (power + q - 1) / q * q;
    }
    level[n++] = hi;
    return n;
}

static bool is_planned_apart(const Te *te, const KernelGroup *g) {
    const TeStmt *s = &te->stmt[g->root];
    bool varies = false;
    for (int i = 0; i < s->n_index; i++) varies = varies || s->index[i].hi.expr;
    return varies;
}

/* The grid of levels of all run-time sizes, as fine as there may be points.  */
static void find_points(Choice *c) {
    const Te *te = c->set->normal;
    int64_t level[TE_MAX_SIZES][LEVELS_MAX];
    int n[TE_MAX_SIZES], total = 0;
    for (int64_t ratio = 2; total == 0 || (total > POINTS_MAX && ratio <= (int64_t)1 << 32);
         ratio *= 2) {
        total = 1;
        for (int s = 0; s < te->n_size; s++) {
            n[s] = rplan_varies(te, s) ? levels_of(&te->size[s].extent, ratio, level[s]) : 1;
            total = total > POINTS_MAX ? total : total * n[s];
        }
    }
    if (total > POINTS_MAX) total = 0;
    c->point = ARENA_ARRAY(c->arena, Point, 2 * total + 1);
    c->n_planned = total;
    c->n_point = 2 * total;
    for (int i = 0; i < total; i++) {
        Point *at = &c->point[i], *below = &c->point[total + i];
        at->value = ARENA_ARRAY(c->arena, int64_t, te->n_size + 1);
        below->value = ARENA_ARRAY(c->arena, int64_t, te->n_size + 1);
        for (int s = 0, rest = i; s < te->n_size; s++) {
            const TeExtent *e = &te->size[s].extent;
            at->value[s] = below->value[s] = e->value;
            if (!rplan_varies(te, s)) continue;
            int k = rest % n[s];
            rest /= n[s];
            at->value[s] = level[s][k];
            int64_t under = k ? (level[s][k - 1] + level[s][k]) / 2 : level[s][0], q = step_of(e);
            below->value[s] = k && under / q * q > level[s][k - 1] ? under / q * q : level[s][k];
        }
    }
}

/* ---- programs and what they would take ---- */

static bool is_within(const Te *te, const int64_t *value, const int64_t *upto) {
    bool within = true;
    for (int s = 0; s < te->n_size && upto; s++) within &= value[s] <= upto[s];
    return within;
}

static void price(Choice *c, Candidate *x) {
    x->us = ARENA_ARRAY(c->arena, double, c->n_point);
    for (int i = 0; i < c->n_point; i++) {
        Estimate e;
        x->us[i] = -1;
        if (!is_within(c->set->normal, c->point[i].value, x->plans.upto)) continue;
        mp_estimate(&c->point[i].problem, &x->plans.ranked->prog, c->set->dev, &e);
        x->us[i] = e.us;
    }
}

/* Plans the group at point i; no program there is no error.  */
static void plan_at(Choice *c, int i) {
    const CompileOptions *o = &c->set->options;
    Candidate *x = &c->candidate[c->n_candidate];
    Diag quiet = diag_new(c->arena);
    *x = (Candidate){.plans = {.part = c->group, .upto = c->point[i].value,
                               .problem = c->point[i].problem}};
    RPlanOptions options = {.align = o->align, .workspace_limit = o->workspace_limit,
                            .max_candidates = CANDIDATES};
    GroupPlans *p = &x->plans;
    if (rprog_candidates(c->arena, &quiet, &p->problem, c->set->dev, &options, &p->set)) return;
    if (mp_rank(c->arena, &quiet, &p->problem, c->set->dev, &p->set, KEPT, &p->ranked, &p->n))
        return;
    p->set.prog = NULL;
    price(c, x);
    c->n_candidate++;
}

/* Sizes that hardly differ from the smallest ones for any tile.  */
static bool is_tiny(const Choice *c, int i) {
    const Te *te = c->set->normal;
    bool tiny = true;
    for (int s = 0; s < te->n_size; s++)
        tiny &= !rplan_varies(te, s) || c->point[i].value[s] < FEW;
    return tiny;
}

static void plan_points(Choice *c) {
    c->candidate = ARENA_ARRAY(c->arena, Candidate, c->n_planned + 1);
    c->n_candidate = 0;
    const GroupPlans *all = &c->set->plans[c->group];
    for (int i = 0; i < c->n_point; i++)
        rtile_resize(c->arena, &all->problem, te_sized(c->arena, c->set->normal, c->point[i].value),
                     c->set->options.align, &c->point[i].problem);
    /* The last point is the largest: planned already.  */
    for (int i = 0; i + 1 < c->n_planned; i++) {
        if (i == 0 || !is_tiny(c, i)) plan_at(c, i);
    }
    Candidate *last = &c->candidate[c->n_candidate++];
    *last = (Candidate){.plans = *all, .chosen = true};
    price(c, last);
    for (int i = 0; i < c->n_point; i++) {
        c->point[i].best = last->us[i];
        for (int k = 0; k < c->n_candidate; k++) {
            double us = c->candidate[k].us[i];
            if (us >= 0 && us < c->point[i].best) c->point[i].best = us;
        }
    }
}

/* ---- the choice ---- */

/* Candidates are in an order in which one that allows all sizes of another comes after it.  */
static double taken(const Choice *c, int point, int with) {
    for (int k = 0; k < c->n_candidate; k++) {
        const Candidate *x = &c->candidate[k];
        if ((x->chosen || k == with) && x->us[point] >= 0) return x->us[point];
    }
    return 0;
}

/* How much more than the best the points take: the sum and, in *worst, the most.  */
static double losses(const Choice *c, int with, double *worst) {
    double sum = 0;
    *worst = 1;
    for (int i = 0; i < c->n_point; i++) {
        double loss = taken(c, i, with) / c->point[i].best;
        sum += loss - 1;
        if (loss > *worst) *worst = loss;
    }
    return sum;
}

/* Adds what helps most until every size is served well, or until another program gains too little
 * for what it costs to compile.  */
static int choose(Choice *c) {
    int n = 1;
    double worst, now = losses(c, -1, &worst);
    while (n < RPLAN_SET && worst > accepted_loss) {
        int best = -1;
        double least = now - least_gain * c->n_point, w;
        for (int k = 0; k + 1 < c->n_candidate; k++) {
            double sum = c->candidate[k].chosen ? now : losses(c, k, &w);
            if (sum >= least) continue;
            least = sum;
            best = k;
        }
        if (best < 0) break;
        c->candidate[best].chosen = true;
        now = losses(c, -1, &worst);
        n++;
    }
    return n;
}

/* ---- words ---- */

static void print_sizes(const Choice *c, const int64_t *value, const char *relation, Buf *out) {
    const Te *te = c->set->normal;
    const char *comma = "";
    for (int s = 0; s < te->n_size; s++) {
        if (!rplan_varies(te, s)) continue;
        buf_printf(out, "%s%s %s%lld", comma, te->size[s].name, relation, (long long)value[s]);
        comma = ", ";
    }
}

static void explain(Choice *c, int n, double worst_of_one, double mean_of_one) {
    Buf *b = &c->why;
    double worst;
    losses(c, -1, &worst);
    buf_printf(b, "sizes: kernel %d has %d program%s; tried at %d sizes, each takes at most\n"
               "  %.1f %% more than the best program found for it by prediction; one would\n"
               "  take up to %.1f %% more, %.1f %% on average\n", c->group, n, n > 1 ? "s" : "",
               c->n_point, (worst - 1) * 100, (worst_of_one - 1) * 100, mean_of_one * 100);
    for (int k = 0; k < c->n_candidate; k++) {
        const GroupPlans *p = &c->candidate[k].plans;
        if (!c->candidate[k].chosen || n == 1) continue;
        buf_puts(b, "  ");
        if (p->upto) print_sizes(c, p->upto, "<= ", b);
        else buf_puts(b, "else");
        buf_puts(b, ": ");
        mp_summary(&p->problem, c->set->dev, &p->ranked->prog, b);
        buf_putc(b, '\n');
    }
    for (int i = 0; i < c->n_planned && n > 1; i++) {
        buf_puts(b, "    ");
        print_sizes(c, c->point[i].value, "", b);
        buf_printf(b, ": predicted %.2f us, best found %.2f us, one program %.2f us\n",
                   taken(c, i, -1), c->point[i].best, c->candidate[c->n_candidate - 1].us[i]);
    }
}

/* ---- all groups ---- */

static void add_programs(PlanSet *set, Arena *a, const Choice *c, int n) {
    GroupPlans *all = ARENA_ARRAY(a, GroupPlans, set->n_program + n);
    memcpy(all, set->plans, (size_t)set->n_program * sizeof *all);
    for (int k = 0; k + 1 < c->n_candidate; k++) {
        if (c->candidate[k].chosen) all[set->n_program++] = c->candidate[k].plans;
    }
    set->plans = all;
}

Status size_sets_plan(Arena *a, Diag *d, PlanSet *set) {
    Choice c = {.arena = a, .diag = d, .set = set, .why = buf_new(a)};
    if (!set->normal->runtime || set->n_group == 0) return ST_OK;
    find_points(&c);
    for (c.group = 0; c.group < set->n_group; c.group++) {
        double worst;
        if (c.n_planned < 2 || !is_planned_apart(set->normal, &set->group[c.group])) continue;
        plan_points(&c);
        double sum = losses(&c, -1, &worst);
        int n = choose(&c);
        explain(&c, n, worst, sum / c.n_point);
        add_programs(set, a, &c, n);
    }
    set->sizes = buf_str(&c.why);
    return ST_OK;
}
