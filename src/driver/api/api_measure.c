/* roller.h: the fastest of several plans, measured; of one op, or of several that share trials.  */
#include "driver/api/race.h"
#include "driver/artefact/artefact.h"
#include "driver/sizes/size_values.h"

#include <string.h>

/* ---- measuring ---- */
/* The caller's report of a plan: as large as its first says.  */
static RollerTrial *trial_at(const Racer *f, int i) {
    return (RollerTrial *)(void *)((char *)f->asked->trial + (size_t)i * f->trial_size);
}

static void report(const Racer *f, const Trial *t) {
    for (int i = 0; i < f->n; i++) {
        const Timing *m = &t[i].timing;
        RollerTrial own = {.rejected = trial_name(t[i].end), .reason = t[i].reason};
        if (t[i].end == TRIAL_RIGHT) {
            own.cold_us = m->cold_us;
            own.warm_us = m->warm_us;
            own.spread = m->spread;
            own.clock_mhz = m->clock_mhz;
            own.samples = m->samples;
            own.by_events = m->by_events;
        }
        api_report(trial_at(f, i), &own, sizeof own);
    }
}

typedef struct {
    RollerKernel *kernel;
    const Timing *timing;
    const char *on;
} Describing;

/* The launch description with what was measured.  */
static void describe(void *p) {
    const Describing *x = p;
    RollerKernel *k = x->kernel;
    Timing *own = ARENA_NEW(k->h.arena, Timing);
    *own = *x->timing;
    k->measured = own;
    k->measured_on = arena_strdup(k->h.arena, x->on);
    Buf json = buf_new(k->h.arena);
    artefact_json((const RollerKernel *const[]){k}, 1, &json);
    k->json = buf_str(&json);
}

static Candidate candidate(const Racer *f, int i) {
    const Job *j = &f->job[i];
    if (j->status) return (Candidate){.why = race_why_not(j)};
    if (!j->kernel) return (Candidate){.plan = &f->plans->plan[i].whole};
    return (Candidate){.plan = &j->kernel->plan.whole, .build = &j->kernel->build};
}

static void make(void *user, int k, int i, Candidate *c) {
    Race *r = user;
    Racer *f = race_measured(r, k);
    r->all_known = false;
    race_build_plan(f, i);
    *c = candidate(f, i);
}

/* The kernel that an op gets, and what was measured of it.  */
static Status take_best(const Race *r, Racer *f) {
    const Racer *of = f->same < 0 ? f : &r->racer[f->same];
    f->best = of->best;
    report(f, of->trial);
    if (f->best < 0) return ST_OK;
    Job *j = &f->job[f->best];
    race_build_plan(f, f->best);
    if (!j->kernel || j->status) return race_none_built(f);
    Describing described = {j->kernel, &of->trial[f->best].timing, r->where};
    return arena_try(j->kernel->h.arena, describe, &described) ? ST_OK : ST_NOMEM;
}

static Status measure(Race *r, Arena *a, const MeasureOptions *o) {
    Candidates *all = ARENA_ARRAY(a, Candidates, r->n_measured + 1);
    for (int k = 0; k < r->n_measured; k++) {
        Racer *f = race_measured(r, k);
        f->c = ARENA_ARRAY(a, Candidate, f->n + 1);
        f->trial = ARENA_ARRAY(a, Trial, f->n + 1);
        for (int i = 0; i < f->n; i++) f->c[i] = candidate(f, i);
        all[k] = (Candidates){.set = &f->plans->set, .c = f->c, .n = f->n, .at = f->at,
                              .weight = f->weight, .trial = f->trial};
    }
    Diag own = diag_new(a);
    Status s = measure_candidates(a, &own, all, r->n_measured, o);
    for (int k = 0; k < r->n_measured; k++) race_measured(r, k)->best = all[k].best;
    for (int k = 0; k < r->n; k++) {
        Status taken = take_best(r, &r->racer[k]);
        if (taken) return taken;
    }
    for (int k = 0; s == ST_CHECK && k < r->n_measured; k++) {
        Status none = race_none_built(race_measured(r, k));
        if (none) return none;
    }
    if (s) r->ctx->diag = own;
    return s;
}

static Status prepare(Race *r, Arena *a) {
    RollerCtx *ctx = r->ctx;
    const RollerPlans *first = r->racer->plans;
    CudaImage image;
    Build target = {.arch = first->arch, .nvrtc = {.cubin = ""}};
    Status s = device_image(&ctx->diag, &target, &r->place.info, &image);
    if (s) return s;
    measure_compare(&ctx->diag, first->profile->dev, &r->place);
    ctx->nvrtc.driver = r->place.driver_version;
    ctx->nvrtc.jit = !image.cubin;
    s = race_build(r, a);
    ctx->cache.hit = false;
    return s;
}

static Status find_sizes(Race *r, Arena *a) {
    for (int k = 0; k < r->n; k++) {
        Racer *f = &r->racer[k];
        const bool own = f->asked->n_at > 0;
        int64_t *at;
        Status s = size_values(a, &r->ctx->diag, f->plans->op->te, own ? f->asked->at : r->o->at,
                               own ? f->asked->n_at : r->o->n_at, &at);
        if (s) return s;
        f->at = at;
    }
    return ST_OK;
}

/* ---- ops that are the same ---- */
static bool alike(Arena *a, const RollerPlans *x, const RollerPlans *y) {
    Buf one = buf_new(a), other = buf_new(a);
    if (x == y) return true;
    if (roller_plans_count(x) != roller_plans_count(y) || x->read || y->read ||
        x->set.options.align != y->set.options.align)
        return false;
    te_print_positional(x->op->te, &one);
    te_print_positional(y->op->te, &other);
    return strcmp(buf_str(&one), buf_str(&other)) == 0;
}

static bool same_sizes(const Racer *x, const Racer *y) {
    const Te *te = x->plans->op->te;
    for (int i = 0; x->at && y->at && i < te->n_size; i++)
        if (x->at[i] != y->at[i]) return false;
    return !x->at == !y->at;
}

static void find_same(Race *r, Arena *a) {
    r->of = ARENA_ARRAY(a, int, r->n + 1);
    for (int k = 0; k < r->n; k++) {
        Racer *f = &r->racer[k];
        f->weight = f->asked->weight > 0 ? f->asked->weight : 1;
        for (int i = 0; i < r->n_measured && f->same < 0; i++)
            if (alike(a, race_measured(r, i)->plans, f->plans) &&
                same_sizes(race_measured(r, i), f))
                f->same = r->of[i];
        if (f->same < 0) r->of[r->n_measured++] = k;
        else r->racer[f->same].weight += f->weight;
    }
}

static Status one_profile(const Race *r) {
    const RollerPlans *first = r->racer->plans;
    for (int k = 1; k < r->n; k++) {
        const RollerPlans *p = r->racer[k].plans;
        if (!strcmp(p->profile->planning, first->profile->planning) &&
            !strcmp(p->arch, first->arch))
            continue;
        return diag_error(&r->ctx->diag, ST_USAGE, NULL, DIAG_NOWHERE,
                          "ops that share trials are planned for one profile: not %s and %s",
                          first->profile->dev->name, p->profile->dev->name);
    }
    return hal_need_cuda(&r->ctx->diag, first->set.dev);
}

static Status fastest(RollerCtx *ctx, Race *r) {
    Arena *a = ctx->call;
    MeasureOptions o = ctx_measure(ctx);
    o.device = r->o->device;
    o.limit_s = r->o->limit_s;
    o.trials = r->o->trials;
    o.watchdog_s = r->o->watchdog_s;
    o.seed = r->o->seed;
    o.budget_s = r->o->budget_s;
    o.known = race_timing_known;
    o.keep = race_keep_timing;
    if (o.trials > 0) o.make = make;
    o.user = r;
    r->how = &o;
    r->all_known = true;
    Status s = one_profile(r);
    if (!s) s = find_sizes(r, a);
    if (!s) s = measure_probe(a, &ctx->diag, &o, &r->place);
    if (s) return s;
    r->where = arena_strdup(a, r->place.info.name);
    find_same(r, a);
    s = prepare(r, a);
    if (!s) s = measure(r, a, &o);
    ctx->cache.hit = !s && r->all_known;
    return s;
}

/* ---- the calls ---- */

/* The i-th: each is as large as the first says.  */
static RollerContender *contender_at(RollerContender *c, size_t i) {
    return (RollerContender *)(void *)((char *)c + i * c->struct_size);
}

static void enter(Racer *f, const Race *r, RollerContender *c) {
    *f = (Racer){.race = r, .plans = c->plans, .asked = c, .same = -1, .best = -1,
                 .trial_size = c->trial->struct_size};
}

/* Of a call that fails: nothing was made or timed.  */
static void clear(RollerContender *c) {
    Racer f;
    enter(&f, NULL, c);
    c->kernel = NULL;
    for (size_t i = 0; i < roller_plans_count(c->plans); i++) {
        RollerTrial none = {.struct_size = 0}, *at = trial_at(&f, (int)i);
        at->struct_size = f.trial_size;
        api_report(at, &none, sizeof none);
    }
}

/* A kernel outlives the call, and holds its plans.  */
static void hand_out(Racer *f) {
    Job *j = f->best < 0 ? NULL : &f->job[f->best];
    if (!j || !j->kernel || !j->kernel->measured) return;
    f->asked->kernel = j->kernel;
    j->arena = NULL;
    handle_hold(&j->kernel->h, 0, &((RollerPlans *)f->plans)->h);
}

typedef struct {
    Race race;
    RollerContender *c;
    size_t n;
} Asked;

static Status begin(RollerCtx *ctx, void *user) {
    Asked *x = user;
    Race *r = &x->race;
    r->racer = ARENA_ARRAY(ctx->call, Racer, x->n);
    for (; r->n < (int)x->n; r->n++)
        enter(&r->racer[r->n], r, contender_at(x->c, (size_t)r->n));
    return fastest(ctx, r);
}

RollerStatus roller_fastest_many(RollerCtx *ctx, RollerContender *c, size_t n,
                                 const RollerTrialOptions *options, const char **where) {
    RollerTrialOptions o;
    Asked x = {.race = {.ctx = ctx, .o = &o, .where = ""}, .c = c, .n = n};
    NvrtcOptions own = ctx->nvrtc;
    api_options(&o, sizeof o, options);
    for (size_t i = 0; i < n; i++) clear(contender_at(c, i));
    RollerStatus s = n ? call_run(ctx, NULL, begin, &x) : ROLLER_OK;
    ctx->nvrtc = own;
    if (where) *where = x.race.where;
    for (int i = 0; i < x.race.n && (!s || s == ROLLER_CHECK); i++) hand_out(&x.race.racer[i]);
    return s;
}

RollerStatus roller_fastest(RollerCtx *ctx, const RollerPlans *plans,
                            const RollerTrialOptions *options, RollerTrial *trial,
                            const char **where, RollerKernel **out) {
    RollerContender c = {.struct_size = sizeof c, .plans = plans, .trial = trial};
    RollerStatus s = roller_fastest_many(ctx, &c, 1, options, where);
    *out = c.kernel;
    return s;
}
