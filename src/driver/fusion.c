#include "driver/fusion.h"
#include <math.h>
#include <string.h>

/* Candidates kept beyond those asked for: to be told of, and to replace plans that spill.  */
enum { SPARE_CANDIDATES = 24, NEAR = 50 };

Status fusion_open(Arena *a, Diag *d, const Te *te, const TeDecisions *decisions,
                   const Device *dev, const CompileOptions *o, PlanSet *set) {
    *set = (PlanSet){.te = te, .dev = dev, .options = *o};
    Te *normal, whole = *te;
    whole.decisions = ARENA_NEW(a, TeDecisions);
    *whole.decisions = *decisions;
    Status s = te_normalize(a, d, &whole, &normal);
    if (s) return s;
    set->normal = normal;
    set->n_group = access_groups(a, normal, &set->group);
    set->plans = ARENA_ARRAY(a, GroupPlans, set->n_group);
    set->n_program = set->n_group;
    for (int g = 0; g < set->n_group; g++) {
        set->plans[g].part = g;
        s = rtile_problem(a, d, normal, &set->group[g], o->align, &set->plans[g].problem);
        if (s) return s;
    }
    return ST_OK;
}

/* ---- kernels, each planned once ---- */

typedef struct Kernel {
    const char *text;         /* all that decides about it */
    double least_us, us;      /* us: predicted, or < 0: not planned */
    bool as_stream;
    GroupPlans plans;
    struct Kernel *next;
} Kernel;

/* The op with some decisions: kernel[g] computes group g.  */
typedef struct {
    PlanSet set;
    Kernel **kernel;
} Parting;

typedef struct {
    Arena *a;
    const Te *te;
    const Device *dev;
    const CompileOptions *o;
    Kernel *known;
    Parting best;
    double usual_us;
    int tried;
} Search;

static Status plan_kernel(Search *x, Diag *d, Kernel *k) {
    RPlanOptions options = {.align = x->o->align, .workspace_limit = x->o->workspace_limit};
    GroupPlans *out = &k->plans;
    Problem given = out->problem;
    Diag other = diag_new(x->a);
    bool streams = given.contraction && !given.stats;
    Status s = rprog_candidates(x->a, streams ? &other : d, &given, x->dev, &options, &out->set);
    if (s == ST_NO_PLAN && streams) {           /* no tiles fit: element by element */
        k->as_stream = true;
        rtile_as_stream(x->a, &given, x->o->align, &out->problem);
        s = rprog_candidates(x->a, d, &out->problem, x->dev, &options, &out->set);
    }
    if (s) return s;
    int keep = (x->o->top > 1 ? x->o->top : 1) + SPARE_CANDIDATES;
    s = mp_rank(x->a, d, &out->problem, x->dev, &out->set, keep, &out->ranked, &out->n);
    if (!s) k->us = out->ranked[0].estimate.us;
    return s;
}

static Kernel *kernel_of(Search *x, const PlanSet *set, int g) {
    const char *text = access_group_text(x->a, set->normal, set->group, set->n_group, g);
    Kernel *k = x->known;
    while (k && strcmp(k->text, text) != 0) k = k->next;
    if (k) return k;
    k = ARENA_NEW(x->a, Kernel);
    *k = (Kernel){.text = text, .us = -1, .plans = set->plans[g], .next = x->known,
                  .least_us = mp_least_us(&set->plans[g].problem, x->dev)};
    return x->known = k;
}

static Status open_parting(Search *x, Diag *d, const TeDecisions *decisions, Parting *out) {
    Status s = fusion_open(x->a, d, x->te, decisions, x->dev, x->o, &out->set);
    if (s) return s;
    out->kernel = ARENA_ARRAY(x->a, Kernel *, out->set.n_group);
    for (int g = 0; g < out->set.n_group; g++) out->kernel[g] = kernel_of(x, &out->set, g);
    return ST_OK;
}

static bool has(const Parting *p, const Kernel *k) {
    int g = 0;
    while (g < p->set.n_group && p->kernel[g] != k) g++;
    return g < p->set.n_group;
}

/* What the kernels take that `other` does not have (NULL: all), planned as long as that is not sure
 * to be more than `limit`: INFINITY then.  */
static Status price(Search *x, Diag *d, const Parting *p, const Parting *other, double limit,
                    double *us) {
    *us = 0;
    for (int g = 0; g < p->set.n_group; g++) {
        const Kernel *k = p->kernel[g];
        if (!other || !has(other, k)) *us += k->us < 0 ? k->least_us : k->us;
    }
    for (int g = 0; g < p->set.n_group && *us <= limit; g++) {
        Kernel *k = p->kernel[g];
        if (k->us >= 0 || (other && has(other, k))) continue;
        Status s = watch_check(x->o->watch, d);
        if (!s) s = plan_kernel(x, d, k);
        if (s) return s;
        *us += k->us - k->least_us;
    }
    if (*us > limit) *us = INFINITY;
    return ST_OK;
}

/* The plans of the kernels, for the groups of the set.  */
static void fill_plans(Search *x, Parting *p) {
    PlanSet *set = &p->set;
    double most = -1;
    for (int g = 0; g < set->n_group; g++) {
        const Kernel *k = p->kernel[g];
        GroupPlans *out = &set->plans[g];
        Problem own = out->problem;
        *out = k->plans;
        out->part = g;
        out->problem = own;
        if (k->as_stream) rtile_as_stream(x->a, &own, x->o->align, &out->problem);
        if (k->us > most) {
            most = k->us;
            set->dominant = g;
        }
    }
    int top = x->o->top > 1 ? x->o->top : 1;
    int have = set->n_group ? set->plans[set->dominant].n : 1;
    set->n_rank = have < top ? have : top;
}

/* ---- the search ---- */

static double total(const Parting *p) {
    double us = 0;
    for (int g = 0; g < p->set.n_group; g++) us += p->kernel[g]->us;
    return us;
}

static const TeDecisions *decisions_of(const Parting *p) { return p->set.normal->decisions; }

/* Tries the best one with decision d of a site the other way; *out is what that gives.  Is it
 * better?  */
static bool is_better(Search *x, const TeDecisions *from, int site, int d, Parting *out) {
    Diag quiet = diag_new(x->a);          /* it may fail for itself */
    TeDecisions now = *from;
    double had, us;
    now.taken[site] ^= (uint8_t)(1u << d);
    out->set.normal = NULL;
    if (open_parting(x, &quiet, &now, out)) return false;
    price(x, &quiet, &x->best, out, INFINITY, &had);
    double limit = had * (1 - 1.0 / NEAR);
    return !price(x, &quiet, out, &x->best, limit, &us) && us < limit;
}

/* One that is no gain by itself may open others, which are tried with it.  */
static bool try_decision(Search *x, int site, int d) {
    Parting now, next;
    TeDecisions had = *decisions_of(&x->best);
    bool better = is_better(x, &had, site, d, &now);
    if (better) x->best = now;
    if (better || !now.set.normal) return better;
    const TeDecisions *opened = decisions_of(&now);
    for (int i = 0; i < opened->n; i++) {
        int new = opened->possible[i] & ~had.possible[i];
        for (int e = 0; e < TE_DECISION_COUNT; e++) {
            if (!(new >> e & 1) || !is_better(x, opened, i, e, &next)) continue;
            x->best = next;
            return true;
        }
    }
    return false;
}

/* Tells what is tried now, of what there was to try when it began.  */
static void tell_step(Search *x, const TeDecisions *from, int site, int d) {
    int all = 1;
    for (int i = 0; i < from->n; i++) {
        for (int e = 0; e < TE_DECISION_COUNT; e++) all += from->possible[i] >> e & 1;
    }
    int done = ++x->tried < all ? x->tried : all - 1;
    watch_step(x->o->watch, "plan", done, all,
               arena_printf(x->a, "%s %s", from->name[site], te_decision_name[d]));
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
            Status s = watch_check(x->o->watch, d);
            if (s) return s;
        }
    }
    return ST_OK;
}

static Status search(Search *x, Diag *d) {
    TeDecisions none = {0};
    watch_step(x->o->watch, "plan", 0, 1, "usual");
    Status s = open_parting(x, d, &none, &x->best);
    if (!s) s = price(x, d, &x->best, NULL, INFINITY, &x->usual_us);
    for (bool any = true; any && !s;) s = try_all(x, d, &any);
    return s;
}

static const char *tell(Search *x) {
    const PlanSet *set = &x->best.set;
    const char *text = te_decisions_text(x->a, set->normal);
    if (strcmp(text, "usual") == 0) return NULL;
    return arena_printf(x->a, "decisions: %s\n  %d kernel%s in %.2f us; the usual ones take"
                        " %.2f us\n\n", text, set->n_group, set->n_group == 1 ? "" : "s",
                        total(&x->best), x->usual_us);
}

Status fusion_plan(Arena *a, Diag *d, const Te *te, const Device *dev, const CompileOptions *o,
                   PlanSet *out) {
    Search x = {.a = a, .te = te, .dev = dev, .o = o};
    Status s = search(&x, d);
    if (s) return s;
    fill_plans(&x, &x.best);
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

Status fusion_splits(Arena *a, Diag *d, const Te *te, const Device *dev, const CompileOptions *o,
                     PlanSet **out, int *n, int *best) {
    static const uint8_t everywhere[] = {0, 1 << TE_APART, 1 << TE_STORED, 1 << TE_REPEATED,
                                         1 << TE_STAGED, 1 << TE_TILED, 1 << TE_JOINED,
                                         1 << TE_PHASED, 1 << TE_PHASED | 1 << TE_PACKED};
    enum { MOST = sizeof everywhere + 1 };
    Search x = {.a = a, .te = te, .dev = dev, .o = o};
    Parting *p = ARENA_ARRAY(a, Parting, MOST);
    *n = *best = 0;
    Status s = search(&x, d);
    if (s) return s;
    *out = ARENA_ARRAY(a, PlanSet, MOST);
    for (int i = 0; i < MOST; i++) {
        Diag quiet = diag_new(a);
        TeDecisions all = {0};
        double us;
        bool known = false;
        if (i < MOST - 1) memset(all.taken, everywhere[i], sizeof all.taken);
        else all = *decisions_of(&x.best);
        if (open_parting(&x, &quiet, &all, &p[*n])) continue;
        for (int k = 0; k < *n && !known; k++) known = same_kernels(&p[k], &p[*n]);
        if (known || price(&x, &quiet, &p[*n], NULL, INFINITY, &us)) {
            if ((s = watch_check(o->watch, d))) return s;
            continue;
        }
        if (us < total(&p[*best]) * (1 - 1.0 / NEAR)) *best = *n;
        fill_plans(&x, &p[*n]);
        (*out)[*n] = p[*n].set;
        ++*n;
    }
    return ST_OK;
}
