#include "driver/fusion.h"
#include "base/hash.h"
#include <math.h>
#include <string.h>

/* Candidates kept beyond those asked for: to be told of, and to replace plans that spill.  */
enum { SPARE_CANDIDATES = 24, NEAR = 50 };

/* The op's kernel groups by these decisions, without their problems.  */
static Status open_groups(Arena *a, Diag *d, const Te *te, const TeDecisions *decisions,
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
    return ST_OK;
}

Status fusion_open(Arena *a, Diag *d, const Te *te, const TeDecisions *decisions,
                   const Device *dev, const CompileOptions *o, PlanSet *set) {
    Status s = open_groups(a, d, te, decisions, dev, o, set);
    for (int g = 0; g < set->n_group && !s; g++) {
        set->plans[g].part = g;
        s = rtile_problem(a, d, set->normal, &set->group[g], o->align, &set->plans[g].problem);
    }
    return s;
}

/* ---- kernels, each planned once ---- */

typedef struct Kernel {
    const char *text;         /* all that decides about it */
    uint64_t hash;            /* of the text */
    int matched;              /* how often, inside of find_own and price; 0 outside */
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

/* A decision that was no gain, and the kernels that it would replace (NULL: not tried yet).  */
typedef struct {
    const Kernel **gone;
    int n;
    double lost;              /* at least, us */
} Tried;

typedef struct {
    Arena *a;
    const Te *te;
    const Device *dev;
    const CompileOptions *o;
    const int64_t *size;      /* to plan at; NULL: the largest */
    Kernel *known;
    Parting best;
    double usual_us;
    Tried *tried;             /* per decision of each site */
    int planned, steps, pairs;            /* kernels; decisions and pairs of them tried */
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
    x->planned++;
    return s;
}

static Status kernel_of(Search *x, Diag *d, const PlanSet *set, const Te *sized, int g,
                        const char *text, Kernel **out) {
    uint64_t hash = hash64(text, strlen(text), 0);
    Kernel *k = x->known;
    while (k && (k->hash != hash || strcmp(k->text, text) != 0)) k = k->next;
    *out = k;
    if (k) return ST_OK;
    k = *out = ARENA_NEW(x->a, Kernel);
    *k = (Kernel){.text = text, .hash = hash, .us = -1, .next = x->known};
    Problem *p = &k->plans.problem, whole;
    Status s = rtile_problem(x->a, d, set->normal, &set->group[g], x->o->align, &whole);
    if (s) return s;
    *p = whole;
    if (x->size) rtile_resize(x->a, &whole, sized, x->o->align, p);
    k->least_us = mp_least_us(p, x->dev);
    x->known = k;
    return ST_OK;
}

static Status open_parting(Search *x, Diag *d, const TeDecisions *decisions, Parting *out) {
    Status s = open_groups(x->a, d, x->te, decisions, x->dev, x->o, &out->set);
    if (s) return s;
    const Te *sized = x->size ? te_sized(x->a, out->set.normal, x->size) : NULL;
    const char **text = ARENA_ARRAY(x->a, const char *, out->set.n_group);
    access_group_texts(x->a, out->set.normal, out->set.group, out->set.n_group, text);
    out->kernel = ARENA_ARRAY(x->a, Kernel *, out->set.n_group);
    for (int g = 0; g < out->set.n_group && !s; g++)
        s = kernel_of(x, d, &out->set, sized, g, text[g], &out->kernel[g]);
    if (s) out->kernel = NULL;
    return s;
}

static bool has(const Parting *p, const Kernel *k) {
    int g = 0;
    while (g < p->set.n_group && p->kernel[g] != k) g++;
    return g < p->set.n_group;
}

/* Which of p's kernels `other` does not have (NULL: all): where groups are equal, as many as there
 * are more of.  */
static void find_own(const Parting *p, const Parting *other, bool *own) {
    for (int g = 0; other && g < other->set.n_group; g++) other->kernel[g]->matched++;
    for (int g = 0; g < p->set.n_group; g++) {
        own[g] = p->kernel[g]->matched == 0;
        p->kernel[g]->matched -= !own[g];
    }
    for (int g = 0; other && g < other->set.n_group; g++) other->kernel[g]->matched = 0;
}

/* What the kernels take that `other` does not have (NULL: all), planned as long as that is not sure
 * to be more than `limit`; beyond it *us is what they take at least.  */
static Status price(Search *x, Diag *d, const Parting *p, const Parting *other, double limit,
                    double *us) {
    bool own[TE_MAX_STMTS];
    *us = 0;
    find_own(p, other, own);
    for (int g = 0; g < p->set.n_group; g++) {
        const Kernel *k = p->kernel[g];
        p->kernel[g]->matched += own[g];
        if (own[g]) *us += k->us < 0 ? k->least_us : k->us;
    }
    Status s = ST_OK;
    for (int g = 0; g < p->set.n_group && *us <= limit && !s; g++) {
        Kernel *k = p->kernel[g];
        if (k->us >= 0 || !own[g]) continue;
        s = watch_check(x->o->watch, d);
        if (!s) s = plan_kernel(x, d, k);
        if (!s) *us += (k->us - k->least_us) * k->matched;
    }
    for (int g = 0; g < p->set.n_group; g++) p->kernel[g]->matched = 0;
    return s;
}

/* The plans of the kernels, for the groups of the set.  */
static Status fill_plans(Search *x, Diag *d, Parting *p) {
    PlanSet *set = &p->set;
    double most = -1;
    for (int g = 0; g < set->n_group; g++) {
        const Kernel *k = p->kernel[g];
        GroupPlans *out = &set->plans[g];
        Problem own;
        Status s = rtile_problem(x->a, d, set->normal, &set->group[g], x->o->align, &own);
        if (s) return s;
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
    return ST_OK;
}

/* ---- the search ---- */

static double total(const Parting *p) {
    double us = 0;
    for (int g = 0; g < p->set.n_group; g++) us += p->kernel[g]->us;
    return us;
}

static const TeDecisions *decisions_of(const Parting *p) { return p->set.normal->decisions; }

/* As long as the kernels are there that it would replace, what was no gain will be none.  */
static bool was_tried(const Search *x, const Tried *t) {
    bool all = t->gone != NULL;
    for (int i = 0; i < t->n && all; i++) all = has(&x->best, t->gone[i]);
    return all;
}

/* The kernels of the best one that `now` replaces.  Memory of what gave no new plan is given back
 * before they are kept.  */
static void keep_tried(Search *x, const Parting *now, const Search *before, ArenaMark mark,
                       Tried *out) {
    const Kernel *gone[TE_MAX_STMTS];
    bool own[TE_MAX_STMTS] = {false};
    int n = 0;
    if (now->kernel) find_own(&x->best, now, own);
    for (int g = 0; g < x->best.set.n_group; g++)
        if (own[g]) gone[n++] = x->best.kernel[g];
    if (x->planned == before->planned) {
        x->known = before->known;
        arena_reset(x->a, mark);
    }
    *out = (Tried){.gone = ARENA_ARRAY(x->a, const Kernel *, n + 1), .n = n};
    memcpy(out->gone, gone, (size_t)n * sizeof *gone);
}

/* Tries decision d of a site the other way than in `from`: true if that is the best one now, else
 * what was possible then is in *seen.  */
static bool try_flip(Search *x, const TeDecisions *from, int site, int d, TeDecisions *seen,
                     Tried *tried) {
    ArenaMark mark = arena_mark(x->a);
    Diag quiet = diag_new(x->a);          /* it may fail for itself */
    Search before = *x;
    Parting now = {.kernel = NULL};
    TeDecisions flipped = *seen = *from;
    double had = 0, us = INFINITY;
    flipped.taken[site] ^= (uint8_t)(1u << d);
    if (!open_parting(x, &quiet, &flipped, &now)) {
        *seen = *decisions_of(&now);
        price(x, &quiet, &x->best, &now, INFINITY, &had);
        double limit = had * (1 - 1.0 / NEAR);
        if (price(x, &quiet, &now, &x->best, limit, &us)) us = INFINITY;
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

/* ---- pairs ---- */

/* Do two decisions replace a kernel that is the same?  What they take adds up if not.  */
static bool meet(const Tried *a, const Tried *b) {
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++)
            if (a->gone[i] == b->gone[k]) return true;
    return false;
}

static bool try_pair(Search *x, int one, int other) {
    TeDecisions had = *decisions_of(&x->best), last;
    Tried with;
    had.taken[one / TE_DECISION_COUNT] ^= (uint8_t)(1u << one % TE_DECISION_COUNT);
    return try_flip(x, &had, other / TE_DECISION_COUNT, other % TE_DECISION_COUNT, &last, &with);
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
            if (!meet(&x->tried[open[i]], &x->tried[open[k]])) continue;
            x->pairs++;
            *any = try_pair(x, open[i], open[k]);
            s = watch_check(x->o->watch, d);
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
    x->tried = ARENA_ARRAY(x->a, Tried, TE_MAX_STMTS * TE_DECISION_COUNT);
    watch_step(x->o->watch, "plan", 0, 1, "usual");
    Status s = open_parting(x, d, &none, &x->best);
    if (!s) s = price(x, d, &x->best, NULL, INFINITY, &x->usual_us);
    for (bool any = true; any && !s;) {
        s = try_all(x, d, &any);
        if (!any && !s) s = try_pairs(x, d, &any);
    }
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
    if ((s = fill_plans(&x, d, &x.best))) return s;
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
    Search x = {.a = like->a, .te = like->te, .dev = like->dev, .o = like->o, .size = size};
    Diag quiet = diag_new(x.a);
    if (search(&x, &quiet)) return false;
    *out = *decisions_of(&x.best);
    return true;
}

/* Opens and prices what is decided; *known: has one of the n before the same kernels?  */
static Status plan_strategy(Search *x, Diag *d, const TeDecisions *decisions, Parting *p, int n,
                         bool *known) {
    double us;
    Status s = open_parting(x, d, decisions, &p[n]);
    *known = false;
    for (int k = 0; k < n && !*known && !s; k++) *known = same_kernels(&p[k], &p[n]);
    return s || *known ? s : price(x, d, &p[n], NULL, INFINITY, &us);
}

Status fusion_strategies(Arena *a, Diag *d, const Te *te, const Device *dev,
                         const CompileOptions *o, PlanSet **out, int *n, int *best) {
    Search x = {.a = a, .te = te, .dev = dev, .o = o};
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
        if ((s = watch_check(o->watch, d))) return s;
        if (plan_strategy(&x, &quiet, &all[i], p, *n, &known) || known) continue;
        if (total(&p[*n]) < total(&p[*best]) * (1 - 1.0 / NEAR)) *best = *n;
        if ((s = fill_plans(&x, d, &p[*n]))) return s;
        (*out)[*n] = p[*n].set;
        ++*n;
    }
    return watch_check(o->watch, d);
}
