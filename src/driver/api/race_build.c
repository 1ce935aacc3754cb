#include "driver/api/race.h"
#include "base/pool.h"

/* ---- building, one job per plan ---- */
typedef struct {
    const Racer *f;
    Job *job;
    int rank, threads;        /* threads: that it may take */
} Building;

static void build_inner(void *p) {
    const Building *b = p;
    Job *j = b->job;
    j->diag = diag_new(j->scratch);
    RollerCtx *ctx = b->f->race->ctx;
    KernelOptions o = {.nvrtc = &ctx->nvrtc, .line_info = ctx->line_info, .threads = b->threads,
                       .watch = &ctx->watch};
    j->status = kernel_build(j->arena, &j->diag, b->f->plans, b->rank, &o, &j->kernel);
}

static void build_outer(void *p) {
    const Building *b = p;
    if (!arena_try(b->job->arena, build_inner, p)) b->job->status = ST_NOMEM;
}

static void build_plan(const Racer *f, int i, int threads) {
    RollerCtx *ctx = f->race->ctx;
    Job *j = &f->job[i];
    Building b = {f, j, i, threads};
    if (j->kernel) return;
    if (watch_ended(&ctx->watch)) {
        j->status = ST_CANCELLED;
        return;
    }
    if (!j->arena) j->arena = call_arena(ctx);
    j->scratch = call_arena(ctx);
    j->status = ST_NOMEM;
    if (!j->arena || !j->scratch || !arena_try(j->scratch, build_outer, &b)) j->kernel = NULL;
}

static bool build_one(void *user, int64_t i, int worker) {
    (void)worker;
    const Racer *f = user;
    build_plan(f, (int)i, pool_share(f->race->ctx->threads, f->n));
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
static CacheWanted wanted(const Racer *f, int i) {
    const RollerPlans *p = f->plans;
    return (CacheWanted){.op = p->op, .profile = p->profile, .o = &p->options,
                         .plan = p->plan[i].text};
}

static void take_inner(void *p) {
    const Building *b = p;
    CacheWanted w = wanted(b->f, b->rank);
    b->job->kernel = cache_take(b->f->race->ctx, b->job->arena, &w, (RollerPlans *)b->f->plans,
                                b->rank);
    b->job->cached = b->job->kernel != NULL;
}

static void take_built(const Racer *f) {
    for (int i = 0; i < f->n; i++) {
        Job *j = &f->job[i];
        Building b = {f, j, i, 1};
        j->arena = call_arena(f->race->ctx);
        if (j->arena && !arena_try(j->arena, take_inner, &b)) j->kernel = NULL;
    }
}

static void keep_built(const Racer *f, int i) {
    const Job *j = &f->job[i];
    CacheWanted w = wanted(f, i);
    if (j->kernel && !j->status && !j->cached) cache_keep(f->race->ctx, &w, j->kernel);
}

void race_build_plan(const Racer *f, int i) {
    build_plan(f, i, f->race->ctx->threads);
    keep_built(f, i);
}

Racer *race_measured(const Race *r, int k) { return &r->racer[r->of[k]]; }

bool race_timing_known(void *user, int k, int i, Timing *out) {
    Race *r = user;
    Cache *c = cache_open(r->ctx, true);
    bool known = c && cache_timing(c, race_measured(r, k)->job[i].kernel, r->how, &r->place, out);
    r->all_known &= known;
    return known;
}

void race_keep_timing(void *user, int k, int i, const Timing *t) {
    Race *r = user;
    Cache *c = cache_open(r->ctx, true);
    if (c) cache_keep_timing(c, race_measured(r, k)->job[i].kernel, r->how, &r->place, t);
}

Status race_none_built(const Racer *f) {
    Diag *d = &f->race->ctx->diag;
    const Job *first = NULL;
    for (int i = 0; i < f->n; i++) {
        const Job *j = &f->job[i];
        if (j->kernel && !j->status) return ST_OK;
        if (!first && j->status) first = j;
    }
    if (!first) return ST_OK;
    const DiagMessage *m = first->scratch ? diag_first_error(&first->diag) : NULL;
    if (m) return diag_repeat(d, m);
    return diag_error(d, first->status, NULL, DIAG_NOWHERE, "%s", status_text(first->status));
}

/* ---- all of them ---- */
static Status build_op(Race *r, Racer *f, Arena *a) {
    f->n = (int)roller_plans_count(f->plans);
    f->job = ARENA_ARRAY(a, Job, f->n + 1);
    Jobs *all = ARENA_NEW(a, Jobs);
    *all = (Jobs){f->job, f->n};
    arena_defer(a, drop_jobs, all);
    take_built(f);
    if (r->o->trials > 0 || f->same >= 0) return ST_OK;
    pool_for(r->ctx->threads, f->n, build_one, f);
    for (int i = 0; i < f->n; i++) {
        keep_built(f, i);
        r->all_known &= f->job[i].cached;
    }
    return race_none_built(f);
}

Status race_build(Race *r, Arena *a) {
    Status s = ST_OK;
    for (int k = 0; k < r->n && !s; k++) s = build_op(r, &r->racer[k], a);
    return s;
}

const char *race_why_not(const Job *j) {
    const DiagMessage *m = j->scratch ? diag_first_error(&j->diag) : NULL;
    return m ? m->message : status_text(j->status);
}
