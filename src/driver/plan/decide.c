#include "driver/plan/decide.h"
#include <math.h>
#include <string.h>

/* What the kernels that are made in place of others would take less, had one of them a launch in
 * common with some kernel elsewhere.  */
static double shareable(const Parting *now, const Parting *best) {
    bool own[TE_MAX_STMTS];
    double least = INFINITY;
    if (now->set.n_group <= best->set.n_group) return 0;
    parting_own(now, best, own);
    for (int g = 0; g < now->set.n_group; g++) {
        const Kernel *k = now->kernel[g];
        if (own[g]) least = fmin(least, k->us < 0 ? k->least_us : k->us);
    }
    return least;
}

/* The kernels of the best one that `now` replaces.  */
static void keep_tried(Decider *x, const Parting *now, Tried *out) {
    bool own[TE_MAX_STMTS] = {false};
    int n = 0;
    if (now->kernel) parting_own(&x->best, now, own);
    for (int g = 0; g < x->best.set.n_group; g++) n += own[g];
    out->spare = now->kernel ? shareable(now, &x->best) : 0;
    out->gone = ARENA_ARRAY(x->plan.kept, const Kernel *, n + 1);
    out->n = 0;
    for (int g = 0; g < x->best.set.n_group; g++)
        if (own[g]) out->gone[out->n++] = x->best.kernel[g];
}

bool decide_better(Decider *x, Diag *d, const Parting *now, double *had, double *us) {
    parting_price(&x->plan, d, &x->best, now, INFINITY, had);
    double limit = *had * (1 - 1.0 / DECIDE_NEAR);
    if (parting_price(&x->plan, d, now, &x->best, limit, us)) *us = INFINITY;
    if (!(*us < limit)) return false;
    x->best = *now;
    return true;
}

bool decide_as(Decider *x, const TeDecisions *taken, TeDecisions *seen, Tried *tried) {
    ArenaMark before = arena_mark(x->plan.a);
    Diag quiet = diag_new(x->plan.a);     /* it may fail for itself */
    Parting now = {.kernel = NULL};
    double had = 0, us = INFINITY;
    if (!parting_open(&x->plan, &quiet, taken, &now)) {
        *seen = *decisions_of(&now);
        if (decide_better(x, &quiet, &now, &had, &us)) return true;
    }
    keep_tried(x, &now, tried);
    tried->lost = us - had;
    arena_reset(x->plan.a, before);
    return false;
}

/* Tries decision d of a site the other way than in `from`.  */
static bool try_flip(Decider *x, const TeDecisions *from, int site, int d, TeDecisions *seen,
                     Tried *tried) {
    TeDecisions flipped = *seen = *from;
    flipped.taken[site] ^= (TeDecided)(1u << d);
    return decide_as(x, &flipped, seen, tried);
}

bool decide_one(Decider *x, int site, int d) {
    TeDecisions had = *decisions_of(&x->best), seen, last;
    Tried *tried = &x->tried[site * TE_DECISION_COUNT + d], with;
    if (try_flip(x, &had, site, d, &seen, tried)) return true;
    for (int i = 0; i < seen.n; i++) {
        for (int e = 0; e < TE_DECISION_COUNT; e++) {
            bool opened = i < had.n && seen.possible[i] & ~had.possible[i] & 1u << e;
            if (opened && try_flip(x, &seen, i, e, &last, &with)) return true;
        }
    }
    return false;
}

bool decide_pair(Decider *x, int one, int other, Tried *tried) {
    TeDecisions had = *decisions_of(&x->best), last;
    had.taken[one / TE_DECISION_COUNT] ^= (TeDecided)(1u << one % TE_DECISION_COUNT);
    return try_flip(x, &had, other / TE_DECISION_COUNT, other % TE_DECISION_COUNT, &last, tried);
}

/* Writes out the short sums of a kernel that makes several, each where it is read.  */
static bool write_out(const Te *te, const KernelGroup *g, TeDecisions *d) {
    enum { WRITTEN = 1 << TE_UNROLLED | 1 << TE_REPEATED };
    TeDecisions all = *d;
    int n = 0;
    for (int i = -1; i < g->n_fused; i++) {
        int site = te->stmt[i < 0 ? g->root : g->fused[i]].site;
        if (!((all.possible[site] & ~all.taken[site]) >> TE_UNROLLED & 1)) continue;
        all.taken[site] |= WRITTEN;
        n++;
    }
    if (n > 1) *d = all;
    return n > 1;
}

bool decide_written(Decider *x) {
    const PlanSet *set = &x->best.set;
    TeDecisions taken = *decisions_of(&x->best), seen;
    Tried tried;
    bool any = false;
    for (int g = 0; g < set->n_group; g++) any |= write_out(set->normal, &set->group[g], &taken);
    return any && decide_as(x, &taken, &seen, &tried);
}
