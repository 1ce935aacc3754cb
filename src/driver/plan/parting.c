#include "driver/plan/parting.h"
#include "base/hash.h"
#include "rprogram/derived.h"
#include <string.h>

/* Candidates kept beyond those asked for: to be told of, and to replace plans that spill.  */
enum { SPARE_CANDIDATES = 24 };

TextKey text_key(const char *text) {
    Sha256 sum;
    TextKey key;
    sha256_init(&sum);
    sha256_add(&sum, text, strlen(text));
    sha256_digest(&sum, key.digest);
    return key;
}

/* The op's kernel groups by these decisions, without their problems and plans.  */
static void open_groups(Arena *a, const TeCanonical *op, const TeDecisions *decisions,
                        PlanSet *set) {
    TeDecisions *given = ARENA_NEW(a, TeDecisions);
    *given = *decisions;
    given->chains = true;
    Te *normal = te_decided(a, op, given);
    set->normal = normal;
    set->n_group = access_groups(a, normal, &set->group);
    set->n_program = set->n_group;
}

Status fusion_open(Arena *a, Diag *d, const PlanRequest *r, const TeDecisions *decisions,
                   PlanSet *set) {
    TeCanonical op;
    Status s = te_canonical(a, d, r->te, &op);
    if (s) return s;
    *set = (PlanSet){.te = r->te, .dev = r->dev, .options = *r->o};
    open_groups(a, &op, decisions, set);
    set->plans = ARENA_ARRAY(a, GroupPlans, set->n_group);
    for (int g = 0; g < set->n_group && !s; g++) {
        set->plans[g].group = g;
        s = rtile_problem(a, d, set->normal, &set->group[g], r->o->align, &set->plans[g].problem);
    }
    return s;
}

/* All programs of a problem and the best of them; only these are kept.  */
static Status rank_programs(Planner *x, Diag *d, const Problem *p, Kernel *out) {
    RPlanOptions options = {.align = x->asked.o->align,
                            .workspace_limit = x->asked.o->workspace_limit};
    int keep = (x->asked.o->top > 1 ? x->asked.o->top : 1) + SPARE_CANDIDATES;
    Ranked *ranked;
    ArenaMark mark = arena_mark(x->a);
    Status s = rprog_candidates(x->a, d, p, x->asked.dev, &options, &out->set);
    if (s) return s;
    out->n = mp_rank(x->a, p, x->asked.dev, &out->set, keep, &ranked);
    out->ranked = ARENA_ARRAY(x->kept, Ranked, out->n);
    memcpy(out->ranked, ranked, (size_t)out->n * sizeof *ranked);
    out->set.prog = NULL;
    arena_reset(x->a, mark);
    return ST_OK;
}

/* The problem at the sizes to plan at.  */
static Problem at_sizes(const Planner *x, const Parting *p, const Problem *whole) {
    Problem at = *whole;
    if (p->sized) rtile_resize(x->a, whole, p->sized, x->asked.o->align, &at);
    return at;
}

/* A product of operands with scales is planned for units that know these, too.  */
static void plan_scaled(Planner *x, const Parting *p, const Problem *whole, Kernel *k) {
    Diag quiet = diag_new(x->a);
    Kernel scaled = *k;
    Problem as_scaled;
    const char *why;
    if (!rtile_as_scaled(x->a, whole, x->asked.o->align, &as_scaled, &why)) return;
    as_scaled = at_sizes(x, p, &as_scaled);
    if (rank_programs(x, &quiet, &as_scaled, &scaled)) return;
    if (k->n > 0 && k->ranked[0].estimate.us <= scaled.ranked[0].estimate.us) return;
    scaled.view = VIEW_SCALED;
    *k = scaled;
}

/* A sum is planned element by element, too, where no tiles fit, or they would reuse nothing.  */
static Status plan_kernel(Planner *x, Diag *d, const Parting *p, const Problem *whole, Kernel *k) {
    const Problem given = at_sizes(x, p, whole);
    bool streams = rtile_may_stream(&given);
    Diag other = diag_new(x->a);
    Kernel stream = *k;
    Problem as_stream;
    Status s = rank_programs(x, streams ? &other : d, &given, k);
    x->planned++;
    if (streams && (s == ST_NO_PLAN || (!s && !rtile_reuses(&given)))) {
        rtile_as_stream(x->a, &given, x->asked.o->align, &as_stream);
        Status t = rank_programs(x, s ? d : &other, &as_stream, &stream);
        const Ranked *tiles = s ? NULL : &k->ranked[0];
        bool better = !t && (s || tiles->prog.skeleton != SK_CONTRACT ||
                             stream.ranked[0].estimate.us < tiles->estimate.us);
        stream.view = VIEW_STREAM;
        if (better) *k = stream;
        if (s) s = t;
    }
    if (!s) plan_scaled(x, p, whole, k);
    if (!s) k->us = k->ranked[0].estimate.us;
    return s;
}

static Status problem_of(const Planner *x, Diag *d, const Parting *p, int g, Problem *out) {
    return rtile_problem(x->a, d, p->set.normal, &p->set.group[g], x->asked.o->align, out);
}

/* Group g, whose text says all that decides about it.  */
static Status kernel_of(Planner *x, Diag *d, int g, const char *text, Parting *out) {
    TextKey key = text_key(text);
    Kernel **bucket = &x->known->bucket[key_bucket(&key, KNOWN_BUCKETS)], *k = *bucket;
    while (k && !same_key(&k->key, &key)) k = k->next;
    out->kernel[g] = k;
    if (k) return ST_OK;
    Problem whole;
    ArenaMark mark = arena_mark(x->a);
    Status s = problem_of(x, d, out, g, &whole);
    if (s) return s;
    const Problem p = at_sizes(x, out, &whole);
    double least_us = mp_least_us(&p, x->asked.dev);
    arena_reset(x->a, mark);
    k = ARENA_NEW(x->kept, Kernel);
    *k = (Kernel){.key = key, .us = -1, .least_us = least_us, .next = *bucket};
    out->kernel[g] = *bucket = k;
    return ST_OK;
}

Status parting_open(Planner *x, Diag *d, const TeDecisions *decisions, Parting *out) {
    Status s = ST_OK;
    out->set = (PlanSet){.te = x->asked.te, .dev = x->asked.dev, .options = *x->asked.o};
    open_groups(x->a, &x->op, decisions, &out->set);
    out->sized = x->size ? te_sized(x->a, out->set.normal, x->size) : NULL;
    const char **text = ARENA_ARRAY(x->a, const char *, out->set.n_group);
    access_group_texts(x->a, out->set.normal, out->set.group, out->set.n_group, text);
    out->kernel = ARENA_ARRAY(x->a, Kernel *, out->set.n_group);
    for (int g = 0; g < out->set.n_group && !s; g++) s = kernel_of(x, d, g, text[g], out);
    if (s) out->kernel = NULL;
    return s;
}

void parting_own(const Parting *p, const Parting *other, bool *own) {
    for (int g = 0; other && g < other->set.n_group; g++) other->kernel[g]->matched++;
    for (int g = 0; g < p->set.n_group; g++) {
        own[g] = p->kernel[g]->matched == 0;
        p->kernel[g]->matched -= !own[g];
    }
    for (int g = 0; other && g < other->set.n_group; g++) other->kernel[g]->matched = 0;
}

Status parting_price(Planner *x, Diag *d, const Parting *p, const Parting *other, double limit,
                    double *us) {
    bool own[TE_MAX_STMTS];
    *us = 0;
    parting_own(p, other, own);
    for (int g = 0; g < p->set.n_group; g++) {
        const Kernel *k = p->kernel[g];
        p->kernel[g]->matched += own[g];
        if (own[g]) *us += k->us < 0 ? k->least_us : k->us;
    }
    Status s = ST_OK;
    for (int g = 0; g < p->set.n_group && *us <= limit && !s; g++) {
        Kernel *k = p->kernel[g];
        if (k->us >= 0 || !own[g]) continue;
        Problem problem;
        ArenaMark mark = arena_mark(x->a);
        s = watch_check(x->asked.o->watch, d);
        if (!s) s = problem_of(x, d, p, g, &problem);
        if (!s) s = plan_kernel(x, d, p, &problem, k);
        if (s) break;
        *us += (k->us - k->least_us) * k->matched;
        arena_reset(x->a, mark);
    }
    for (int g = 0; g < p->set.n_group; g++) p->kernel[g]->matched = 0;
    return s;
}

const char *parting_chain_refusal(const Planner *x, const Parting *p) {
    Diag quiet = diag_new(x->a);
    const char *why = NULL;
    for (int g = 0; g < p->set.n_group && !why; g++) {
        Problem whole;
        if (!problem_of(x, &quiet, p, g, &whole) && whole.chain)
            why = rprog_chain_refusal(x->a, &whole, x->asked.dev);
    }
    return why;
}

Status parting_fill(Planner *x, Diag *d, Parting *p) {
    PlanSet *set = &p->set;
    double most = -1;
    set->plans = ARENA_ARRAY(x->a, GroupPlans, set->n_group);
    for (int g = 0; g < set->n_group; g++) {
        const Kernel *k = p->kernel[g];
        GroupPlans *out = &set->plans[g];
        Problem own;
        const char *why;
        Status s = problem_of(x, d, p, g, &own);
        if (s) return s;
        *out = (GroupPlans){.problem = own, .set = k->set, .ranked = k->ranked, .n = k->n,
                            .group = g};
        if (k->view == VIEW_STREAM) rtile_as_stream(x->a, &own, x->asked.o->align, &out->problem);
        if (k->view == VIEW_SCALED)
            rtile_as_scaled(x->a, &own, x->asked.o->align, &out->problem, &why);
        if (k->us > most) {
            most = k->us;
            set->dominant = g;
        }
    }
    int top = x->asked.o->top > 1 ? x->asked.o->top : 1;
    int have = set->n_group ? set->plans[set->dominant].n : 1;
    set->n_rank = have < top ? have : top;
    return ST_OK;
}

double parting_total(const Parting *p) {
    double us = 0;
    for (int g = 0; g < p->set.n_group; g++) us += p->kernel[g]->us;
    return us;
}
