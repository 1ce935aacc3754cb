#include "driver/fusion.h"
#include "driver/parting.h"
#include <math.h>
#include <string.h>

enum { NEAR = 50 };           /* a gain is more than its part of what was there */

/* A decision that was no gain, and the kernels that it would replace (NULL: not tried yet).  */
typedef struct {
    const Kernel **gone;
    int n;
    double lost;              /* at least, us */
} Tried;

typedef struct Pair {
    int one, other;
    Tried tried;
    struct Pair *next;
} Pair;

typedef struct {
    Planner plan;
    Parting best;
    double usual_us;
    Tried *tried;             /* per decision of each site */
    Pair *pair;               /* that were no gain */
    int steps, pairs;         /* decisions and pairs of them tried */
} Search;

static const TeDecisions *decisions_of(const Parting *p) { return p->set.normal->decisions; }

/* As long as the kernels are there that it would replace, what was no gain will be none.  */
static bool was_tried(const Search *x, const Tried *t) {
    bool all = t->gone != NULL;
    for (int i = 0; i < t->n && all; i++) all = parting_has(&x->best, t->gone[i]);
    return all;
}

/* The kernels of the best one that `now` replaces.  Memory of what gave no new plan is given back
 * before they are kept.  */
static void keep_tried(Search *x, const Parting *now, const Search *before, ArenaMark mark,
                       Tried *out) {
    const Kernel *gone[TE_MAX_STMTS];
    bool own[TE_MAX_STMTS] = {false};
    int n = 0;
    if (now->kernel) parting_own(&x->best, now, own);
    for (int g = 0; g < x->best.set.n_group; g++)
        if (own[g]) gone[n++] = x->best.kernel[g];
    if (x->plan.planned == before->plan.planned) {
        x->plan.known = before->plan.known;
        arena_reset(x->plan.a, mark);
    }
    *out = (Tried){.gone = ARENA_ARRAY(x->plan.a, const Kernel *, n + 1), .n = n};
    memcpy(out->gone, gone, (size_t)n * sizeof *gone);
}

/* Tries decision d of a site the other way than in `from`: true if that is the best one now, else
 * what was possible then is in *seen.  */
static bool try_flip(Search *x, const TeDecisions *from, int site, int d, TeDecisions *seen,
                     Tried *tried) {
    ArenaMark mark = arena_mark(x->plan.a);
    Diag quiet = diag_new(x->plan.a);     /* it may fail for itself */
    Search before = *x;
    Parting now = {.kernel = NULL};
    TeDecisions flipped = *seen = *from;
    double had = 0, us = INFINITY;
    flipped.taken[site] ^= (uint8_t)(1u << d);
    if (!parting_open(&x->plan, &quiet, &flipped, &now)) {
        *seen = *decisions_of(&now);
        parting_price(&x->plan, &quiet, &x->best, &now, INFINITY, &had);
        double limit = had * (1 - 1.0 / NEAR);
        if (parting_price(&x->plan, &quiet, &now, &x->best, limit, &us)) us = INFINITY;
        if (us < limit) {
            x->best = now;
            return true;
        }
    }
    keep_tried(x, &now, &before, mark, tried);
    tried->lost = us - had;
    return false;
}

/* One that is no gain by itself may open others, which are tried with it.  */
static bool try_decision(Search *x, int site, int d) {
    TeDecisions had = *decisions_of(&x->best), seen, last;
    Tried *tried = &x->tried[site * TE_DECISION_COUNT + d], with;
    if (was_tried(x, tried)) return false;
    if (try_flip(x, &had, site, d, &seen, tried)) return true;
    for (int i = 0; i < seen.n; i++) {
        for (int e = 0; e < TE_DECISION_COUNT; e++) {
            bool opened = i < had.n && seen.possible[i] & ~had.possible[i] & 1u << e;
            if (opened && try_flip(x, &seen, i, e, &last, &with)) return true;
        }
    }
    return false;
}

/* ---- what is near ---- */

/* Statement i of a group, its root first.  */
static const TeStmt *stmt_of(const PlanSet *set, int g, int i) {
    const KernelGroup *group = &set->group[g];
    return &set->normal->stmt[i == 0 ? group->root : group->fused[i - 1]];
}

/* Marks the kernels that read what a marked one stores, or store what it reads.  */
static void mark_beside(const PlanSet *set, const int *maker, bool *near) {
    bool from[TE_MAX_STMTS];
    memcpy(from, near, (size_t)set->n_group * sizeof *from);
    for (int g = 0; g < set->n_group; g++) {
        for (int i = 0; i <= set->group[g].n_fused; i++) {
            ReadList reads = access_reads(stmt_of(set, g, i)->rhs);
            for (int k = 0; k < reads.n; k++) {
                int h = maker[reads.at[k]->v.ref];
                if (h < 0) continue;
                near[h] |= from[g];
                near[g] |= from[h];
            }
        }
    }
}

/* Marks the kernel of a site and those around it.  False: the site has none.  */
static bool mark_near(const PlanSet *set, const int *maker, int site, bool *near) {
    enum { STEPS = 2 };
    bool any = false;
    for (int g = 0; g < set->n_group; g++) {
        near[g] = false;
        for (int i = 0; i <= set->group[g].n_fused; i++)
            near[g] |= stmt_of(set, g, i)->site == site;
        any |= near[g];
    }
    for (int i = 0; i < STEPS; i++) mark_beside(set, maker, near);
    return any;
}

/* Have two sites a kernel near both?  */
static bool are_near(const PlanSet *set, int one, int other) {
    bool a[TE_MAX_STMTS], b[TE_MAX_STMTS];
    int maker[TE_MAX_TENSORS];
    for (int t = 0; t < set->normal->n_tensor; t++) maker[t] = -1;
    for (int g = 0; g < set->n_group; g++)
        for (int i = 0; i <= set->group[g].n_fused; i++) maker[stmt_of(set, g, i)->tensor] = g;
    bool any = !mark_near(set, maker, one, a);
    any |= !mark_near(set, maker, other, b);
    for (int g = 0; g < set->n_group; g++) any |= a[g] && b[g];
    return any;
}

/* ---- pairs ---- */

/* Do two decisions replace the same kernel?  What they take adds up if not.  Equal kernels of other
 * places, as repeated layers have them, are not the same.  */
static bool meet(const Search *x, int one, int other) {
    const Tried *a = &x->tried[one], *b = &x->tried[other];
    bool same = false;
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++) same |= a->gone[i] == b->gone[k];
    return same && are_near(&x->best.set, one / TE_DECISION_COUNT, other / TE_DECISION_COUNT);
}

static bool try_pair(Search *x, int one, int other) {
    TeDecisions had = *decisions_of(&x->best), last;
    Tried with;
    had.taken[one / TE_DECISION_COUNT] ^= (uint8_t)(1u << one % TE_DECISION_COUNT);
    if (try_flip(x, &had, other / TE_DECISION_COUNT, other % TE_DECISION_COUNT, &last, &with))
        return true;
    Pair *p = ARENA_NEW(x->plan.a, Pair);
    *p = (Pair){one, other, with, x->pair};
    x->pair = p;
    return false;
}

static bool pair_was_tried(const Search *x, int one, int other) {
    bool tried = false;
    for (const Pair *p = x->pair; p && !tried; p = p->next)
        tried = ((p->one == one && p->other == other) || (p->one == other && p->other == one)) &&
                was_tried(x, &p->tried);
    return tried;
}

/* What can be decided, that which loses the least first.  */
static int open_decisions(const Search *x, int *open) {
    const TeDecisions *now = decisions_of(&x->best);
    int n = 0;
    for (int i = 0; i < now->n * TE_DECISION_COUNT; i++) {
        bool possible = now->possible[i / TE_DECISION_COUNT] >> i % TE_DECISION_COUNT & 1;
        if (!possible || !isfinite(x->tried[i].lost)) continue;
        int at = n++;
        for (; at > 0 && x->tried[open[at - 1]].lost > x->tried[i].lost; at--)
            open[at] = open[at - 1];
        open[at] = i;
    }
    return n;
}

/* Two decisions of which none is a gain alone, as when each of two operands keeps a product from
 * its fastest unit.  As many pairs as there were single ones, at most.  */
static Status try_pairs(Search *x, Diag *d, bool *any) {
    int open[TE_MAX_STMTS * TE_DECISION_COUNT];
    int n = open_decisions(x, open);
    Status s = ST_OK;
    for (int k = 1; k < n; k++) {
        for (int i = 0; i < k && !*any && !s && x->pairs < x->steps; i++) {
            if (pair_was_tried(x, open[i], open[k]) || !meet(x, open[i], open[k])) continue;
            x->pairs++;
            *any = try_pair(x, open[i], open[k]);
            s = watch_check(x->plan.asked.o->watch, d);
        }
    }
    return s;
}

/* Tells what is tried now, of what there was to try when it began.  */
static void tell_step(Search *x, const TeDecisions *from, int site, int d) {
    int all = 1;
    for (int i = 0; i < from->n; i++) {
        for (int e = 0; e < TE_DECISION_COUNT; e++) all += from->possible[i] >> e & 1;
    }
    int done = ++x->steps < all ? x->steps : all - 1;
    watch_step(x->plan.asked.o->watch, "plan", done, all,
               arena_printf(x->plan.a, "%s %s", from->name[site], te_decision_name[d]));
}

/* Tries all that is possible once.  *any: is something of it better?  */
static Status try_all(Search *x, Diag *d, bool *any) {
    *any = false;
    for (int site = 0; site < decisions_of(&x->best)->n; site++) {
        for (int e = 0; e < TE_DECISION_COUNT; e++) {
            const TeDecisions *now = decisions_of(&x->best);
            if (!(now->possible[site] >> e & 1)) continue;
            tell_step(x, now, site, e);
            *any |= try_decision(x, site, e);
            Status s = watch_check(x->plan.asked.o->watch, d);
            if (s) return s;
        }
    }
    return ST_OK;
}

static Status search(Search *x, Diag *d) {
    TeDecisions none = {0};
    x->tried = ARENA_ARRAY(x->plan.a, Tried, TE_MAX_STMTS * TE_DECISION_COUNT);
    watch_step(x->plan.asked.o->watch, "plan", 0, 1, "usual");
    Status s = parting_open(&x->plan, d, &none, &x->best);
    if (!s) s = parting_price(&x->plan, d, &x->best, NULL, INFINITY, &x->usual_us);
    for (bool any = true; any && !s;) {
        s = try_all(x, d, &any);
        if (!any && !s) s = try_pairs(x, d, &any);
    }
    return s;
}

static const char *tell(Search *x) {
    const PlanSet *set = &x->best.set;
    const char *text = te_decisions_text(x->plan.a, set->normal);
    if (strcmp(text, "usual") == 0) return NULL;
    return arena_printf(x->plan.a, "decisions: %s\n  %d kernel%s in %.2f us; the usual ones take"
                        " %.2f us\n\n", text, set->n_group, set->n_group == 1 ? "" : "s",
                        parting_total(&x->best), x->usual_us);
}

Status fusion_plan(Arena *a, Diag *d, const PlanRequest *r, PlanSet *out) {
    Search x = {.plan = {.a = a, .asked = *r}};
    Status s = search(&x, d);
    if (s) return s;
    if ((s = parting_fill(&x.plan, d, &x.best))) return s;
    *out = x.best.set;
    out->decisions = tell(&x);
    return ST_OK;
}

/* ---- run-time sizes ---- */

static bool same_kernels(const Parting *p, const Parting *q) {
    bool same = p->set.n_group == q->set.n_group;
    for (int g = 0; g < p->set.n_group && same; g++) same = p->kernel[g] == q->kernel[g];
    return same;
}

/* Where what is decided may differ: at the largest sizes (size -1, part 1), the smallest, between
 * them in orders of magnitude, and with one size alone the smallest.  */
static int64_t *sizes_at(Arena *a, const Te *te, int size, double part) {
    int64_t *value = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) {
        const TeExtent *e = &te->size[i].extent;
        double lo = e->min > 1 ? (double)e->min : 1, hi = (double)e->value;
        value[i] = e->value;
        if (!rplan_varies(te, i) || (size >= 0 && i != size) || part == 1) continue;
        int64_t steps = (int64_t)(lo * pow(hi / lo, part) / (double)e->multiple);
        value[i] = steps * e->multiple > e->min ? steps * e->multiple : e->min;
    }
    return value;
}

/* The decisions that are the fastest at these sizes; false: there is no plan.  */
static bool decide_at(const Search *like, const int64_t *size, TeDecisions *out) {
    Search x = {.plan = like->plan};
    x.plan.size = size;
    x.plan.known = NULL;
    Diag quiet = diag_new(x.plan.a);
    if (search(&x, &quiet)) return false;
    *out = *decisions_of(&x.best);
    return true;
}

/* Opens and prices what is decided; *known: has one of the n before the same kernels?  */
static Status plan_strategy(Search *x, Diag *d, const TeDecisions *decisions, Parting *p, int n,
                            bool *known) {
    double us;
    Status s = parting_open(&x->plan, d, decisions, &p[n]);
    *known = false;
    for (int k = 0; k < n && !*known && !s; k++) *known = same_kernels(&p[k], &p[n]);
    return s || *known ? s : parting_price(&x->plan, d, &p[n], NULL, INFINITY, &us);
}

Status fusion_strategies(Arena *a, Diag *d, const PlanRequest *r, PlanSet **out, int *n,
                         int *best) {
    Search x = {.plan = {.a = a, .asked = *r}};
    const Te *te = r->te;
    int found = 2, most = 4;
    for (int i = 0; i < te->n_size; i++) most += rplan_varies(te, i);
    TeDecisions *all = ARENA_ARRAY(a, TeDecisions, most);
    Parting *p = ARENA_ARRAY(a, Parting, most);
    Status s = search(&x, d);
    if (s) return s;
    all[1] = *decisions_of(&x.best);
    if (x.steps > 0) {
        found += decide_at(&x, sizes_at(a, te, -1, 0), &all[found]);
        found += decide_at(&x, sizes_at(a, te, -1, 0.5), &all[found]);
        for (int i = 0; i < te->n_size && most > 5; i++)
            if (rplan_varies(te, i)) found += decide_at(&x, sizes_at(a, te, i, 0), &all[found]);
    }
    *out = ARENA_ARRAY(a, PlanSet, found);
    *n = *best = 0;
    for (int i = 0; i < found; i++) {
        Diag quiet = diag_new(a);
        bool known;
        if ((s = watch_check(r->o->watch, d))) return s;
        if (plan_strategy(&x, &quiet, &all[i], p, *n, &known) || known) continue;
        if (parting_total(&p[*n]) < parting_total(&p[*best]) * (1 - 1.0 / NEAR)) *best = *n;
        if ((s = parting_fill(&x.plan, d, &p[*n]))) return s;
        (*out)[*n] = p[*n].set;
        ++*n;
    }
    return watch_check(r->o->watch, d);
}
