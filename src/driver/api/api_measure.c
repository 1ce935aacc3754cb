/* roller.h: the fastest of several plans, measured.  */
#include "base/pool.h"
#include "driver/artefact/artefact.h"
#include "driver/cache/cache.h"
#include "driver/handle/handle.h"
#include "driver/sizes/size_values.h"
#include "driver/device/measure.h"

#include <string.h>

typedef struct {
    Arena *arena, *scratch;   /* of the kernel; of its messages */
    Diag diag;
    RollerKernel *kernel;     /* NULL: not built */
    Status status;
    bool cached;              /* it was in the cache */
} Job;

typedef struct {
    RollerCtx *ctx;
    const RollerPlans *plans;
    const RollerTrialOptions *o;
    RollerTrial *trial;
    size_t trial_size;
    Job *job;
    int n;
    const MeasureOptions *how;
    MeasurePlace place;
    bool all_known;           /* nothing was compiled or timed */
    const char *where;
    int best;
} Fastest;

/* ---- building, one job per plan ---- */
typedef struct {
    const Fastest *f;
    Job *job;
    int rank;
} Building;

static void build_inner(void *p) {
    const Building *b = p;
    Job *j = b->job;
    j->diag = diag_new(j->scratch);
    KernelOptions o = {.nvrtc = &b->f->ctx->nvrtc, .line_info = b->f->ctx->line_info,
                       .watch = &b->f->ctx->watch};
    j->status = kernel_build(j->arena, &j->diag, b->f->plans, b->rank, &o, &j->kernel);
}

static void build_outer(void *p) {
    const Building *b = p;
    if (!arena_try(b->job->arena, build_inner, p)) b->job->status = ST_NOMEM;
}

static bool build_one(void *user, int64_t i, int worker) {
    const Fastest *f = user;
    Job *j = &f->job[i];
    Building b = {f, j, (int)i};
    (void)worker;
    if (j->kernel) return true;
    if (watch_ended(&f->ctx->watch)) {
        j->status = ST_CANCELLED;
        return true;
    }
    if (!j->arena) j->arena = call_arena(f->ctx);
    j->scratch = call_arena(f->ctx);
    j->status = ST_NOMEM;
    if (!j->arena || !j->scratch || !arena_try(j->scratch, build_outer, &b)) j->kernel = NULL;
    return true;
}

/* What is not handed out goes when the context's next call comes.  */
typedef struct {
    Job *job;
    int n;
} Jobs;

static void drop_jobs(void *p) {
    const Jobs *all = p;
    for (int i = 0; i < all->n; i++) {
        arena_destroy(all->job[i].arena);
        arena_destroy(all->job[i].scratch);
    }
}

/* ---- what other runs have left ---- */
static CacheWanted wanted(const Fastest *f, int i) {
    const RollerPlans *p = f->plans;
    return (CacheWanted){.op = p->op, .profile = p->profile, .o = &p->options,
                         .plan = p->plan[i].text};
}

static void take_inner(void *p) {
    const Building *b = p;
    CacheWanted w = wanted(b->f, b->rank);
    b->job->kernel = cache_take(b->f->ctx, b->job->arena, &w, (RollerPlans *)b->f->plans, b->rank);
    b->job->cached = b->job->kernel != NULL;
}

static void take_built(const Fastest *f) {
    for (int i = 0; i < f->n; i++) {
        Job *j = &f->job[i];
        Building b = {f, j, i};
        j->arena = call_arena(f->ctx);
        if (j->arena && !arena_try(j->arena, take_inner, &b)) j->kernel = NULL;
    }
}

static void keep_built(const Fastest *f, int i) {
    const Job *j = &f->job[i];
    CacheWanted w = wanted(f, i);
    if (j->kernel && !j->status && !j->cached) cache_keep(f->ctx, &w, j->kernel);
}

static bool timing_known(void *user, int i, Timing *out) {
    Fastest *f = user;
    Cache *c = cache_open(f->ctx, true);
    bool known = c && cache_timing(c, f->job[i].kernel, f->how, &f->place, out);
    f->all_known &= known;
    return known;
}

static void keep_timing(void *user, int i, const Timing *t) {
    Fastest *f = user;
    Cache *c = cache_open(f->ctx, true);
    if (c) cache_keep_timing(c, f->job[i].kernel, f->how, &f->place, t);
}

/* Why none is built that was to be; ST_OK: one is.  */
static Status none_built(Fastest *f) {
    const Job *first = NULL;
    for (int i = 0; i < f->n; i++) {
        const Job *j = &f->job[i];
        if (j->kernel && !j->status) return ST_OK;
        if (!first && j->status) first = j;
    }
    if (!first) return ST_OK;
    const DiagMessage *m = first->scratch ? diag_first_error(&first->diag) : NULL;
    diag_error(&f->ctx->diag, first->status, NULL, DIAG_NOWHERE, "%s",
               m ? m->message : status_text(first->status));
    if (m && m->hint) diag_hint(&f->ctx->diag, "%s", m->hint);
    return first->status;
}

/* All plans, or, where few are to be timed, those that other runs have left.  */
static Status build_all(Fastest *f, Arena *a) {
    f->n = (int)roller_plans_count(f->plans);
    f->job = ARENA_ARRAY(a, Job, f->n + 1);
    Jobs *all = ARENA_NEW(a, Jobs);
    *all = (Jobs){f->job, f->n};
    arena_defer(a, drop_jobs, all);
    take_built(f);
    if (f->o->trials > 0) return ST_OK;
    pool_for(f->ctx->threads, f->n, build_one, f);
    for (int i = 0; i < f->n; i++) keep_built(f, i);
    return none_built(f);
}

/* ---- measuring ---- */
static const char *why_not(const Job *j) {
    const DiagMessage *m = j->scratch ? diag_first_error(&j->diag) : NULL;
    return m ? m->message : status_text(j->status);
}

/* The caller's report of a plan: as large as its first says.  */
static RollerTrial *trial_at(const Fastest *f, int i) {
    return (RollerTrial *)(void *)((char *)f->trial + (size_t)i * f->trial_size);
}

static void report(const Fastest *f, const Trial *t) {
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

static Candidate candidate(const Fastest *f, int i) {
    const Job *j = &f->job[i];
    if (j->status) return (Candidate){.why = why_not(j)};
    if (!j->kernel) return (Candidate){.plan = &f->plans->plan[i].whole};
    return (Candidate){.plan = &j->kernel->plan.whole, .build = &j->kernel->build};
}

static void make(void *user, int i, Candidate *c) {
    Fastest *f = user;
    f->all_known = false;
    build_one(f, i, 0);
    keep_built(f, i);
    *c = candidate(f, i);
}

static Status measure(Fastest *f, Arena *a, const MeasureOptions *o) {
    Candidate *c = ARENA_ARRAY(a, Candidate, f->n + 1);
    Trial *t = ARENA_ARRAY(a, Trial, f->n + 1);
    for (int i = 0; i < f->n; i++) c[i] = candidate(f, i);
    Status s = measure_candidates(a, &f->ctx->diag, &(Candidates){&f->plans->set, c, f->n}, o, t,
                                  &f->best);
    report(f, t);
    if (s == ST_CHECK) {
        Status none = none_built(f);
        if (none) return none;
    }
    if (s) return s;
    RollerKernel *k = f->job[f->best].kernel;
    Describing described = {k, &t[f->best].timing, f->where};
    return arena_try(k->h.arena, describe, &described) ? ST_OK : ST_NOMEM;
}

static Status fastest(RollerCtx *ctx, void *user) {
    Fastest *f = user;
    Arena *a = ctx->call;
    MeasureOptions o = ctx_measure(ctx);
    o.device = f->o->device;
    o.limit_s = f->o->limit_s;
    o.trials = f->o->trials;
    o.watchdog_s = f->o->watchdog_s;
    o.seed = f->o->seed;
    o.budget_s = f->o->budget_s;
    MeasurePlace place;
    int64_t *at = NULL;
    Status s = hal_need_cuda(&ctx->diag, f->plans->set.dev);
    if (!s) s = size_values(a, &ctx->diag, f->plans->op->te, f->o->at, f->o->n_at, &at);
    o.at = at;
    if (!s) s = measure_probe(a, &ctx->diag, &o, &place);
    if (s) return s;
    f->where = arena_strdup(a, place.info.name);
    CudaImage image;
    Build target = {.arch = f->plans->arch, .nvrtc = {.cubin = ""}};
    s = device_image(&ctx->diag, &target, &place.info, &image);
    if (s) return s;
    measure_compare(&ctx->diag, f->plans->profile->dev, &place);
    ctx->nvrtc.driver = place.driver_version;
    ctx->nvrtc.jit = !image.cubin;
    f->place = place;
    f->how = &o;
    f->all_known = true;
    s = build_all(f, a);
    ctx->cache.hit = false;
    if (s) return s;
    for (int i = 0; i < f->n; i++) f->all_known &= f->job[i].cached || f->o->trials > 0;
    o.known = timing_known;
    o.keep = keep_timing;
    if (f->o->trials > 0) o.make = make;
    o.user = f;
    s = measure(f, a, &o);
    ctx->cache.hit = !s && f->all_known;
    return s;
}

RollerStatus roller_fastest(RollerCtx *ctx, const RollerPlans *plans,
                            const RollerTrialOptions *options, RollerTrial *trial,
                            const char **where, RollerKernel **out) {
    RollerTrialOptions o;
    api_options(&o, sizeof o, options);
    *out = NULL;
    Fastest f = {.ctx = ctx, .plans = plans, .o = &o, .trial = trial,
                 .trial_size = trial->struct_size, .where = "", .best = -1};
    for (size_t i = 0; i < roller_plans_count(plans); i++) {
        RollerTrial none = {.struct_size = 0};
        RollerTrial *at = trial_at(&f, (int)i);
        at->struct_size = f.trial_size;
        api_report(at, &none, sizeof none);
    }
    NvrtcOptions own = ctx->nvrtc;
    RollerStatus s = call_run(ctx, NULL, fastest, &f);
    ctx->nvrtc = own;
    if (where) *where = f.where;
    if (!s && f.best >= 0) {
        Job *j = &f.job[f.best];
        *out = j->kernel;
        j->arena = NULL;
        handle_hold(&j->kernel->h, 0, &((RollerPlans *)plans)->h);
    }
    return s;
}
