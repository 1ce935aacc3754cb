/* roller.h: generated and compiled kernels.  */
#include "driver/artefact/artefact.h"
#include "driver/cache/cache.h"
#include <string.h>

typedef struct {
    const RollerPlans *plans;
    int rank;                 /* of the plan to build; with `best` the first to try */
    bool best;                /* replace plans that spill */
    bool missed;              /* it is not in the cache */
    const char *arch;
    Arena *arena;
    RollerKernel *out;
} BuildCall;

/* A kernel that is looked for before there are plans.  */
typedef struct {
    CacheWanted wanted;
    Arena *arena;
    RollerKernel *out;
} TakeCall;

Status kernel_build(Arena *a, Diag *d, const RollerPlans *plans, int rank, const KernelOptions *by,
                    RollerKernel **out) {
    const PlanSet *set = &plans->set;
    RollerKernel *k = ARENA_NEW(a, RollerKernel);
    *out = NULL;
    handle_init(&k->h, a);
    k->plans = (RollerPlans *)plans;
    k->plan = plans->plan[rank];
    BuildOptions o = {.nvrtc = by->nvrtc,
                      .arch = by->arch ? arena_strdup(a, by->arch) : plans->arch,
                      .line_info = by->line_info,
                      .fast_compile = set->options.fast_compile,
                      .static_smem = set->options.static_smem,
                      .threads = by->threads,
                      .watch = by->watch};
    WholePlan *whole = &k->plan.whole;
    if (by->best) compile_choose(a, set, rank, whole);
    Status s = by->best ? compile_best(a, d, set, &o, whole, &k->build)
                        : compile_build(a, d, whole, set->dev, &o, &k->build);
    if (s && s != ST_NVRTC && s != ST_COMPILE) return s;
    Status described = k->build.spilled ? plan_texts(a, d, &k->plan) : ST_OK;
    if (described) return described;
    Buf json = buf_new(a);
    artefact_json((const RollerKernel *const[]){k}, 1, &json);
    k->json = buf_str(&json);
    *out = k;
    return s;
}

/* Takes it from the cache, else makes and keeps it.  */
static Status build(RollerCtx *ctx, void *user) {
    BuildCall *c = user;
    RollerPlans *p = (RollerPlans *)c->plans;
    bool given = !c->best || p->read;
    CacheWanted w = {.op = p->op, .profile = p->profile, .o = &p->options, .arch = c->arch,
                     .plan = given ? p->plan[c->rank].text : NULL};
    if (!c->missed) c->out = cache_take(ctx, c->arena, &w, p, c->rank);
    if (c->out) return ST_OK;
    KernelOptions o = {.nvrtc = &ctx->nvrtc, .arch = c->arch, .best = c->best,
                       .line_info = ctx->line_info, .threads = ctx->threads, .watch = &ctx->watch};
    Status s = kernel_build(c->arena, &ctx->diag, p, c->rank, &o, &c->out);
    if (!s) cache_keep(ctx, &w, c->out);
    return s;
}

/* What a kernel holds: its plans, or, where these lie on its own arena, what they would hold.  */
static void hold(RollerKernel *k) {
    const RollerPlans *p = k->plans;
    if (p->h.arena != k->h.arena) {
        handle_hold(&k->h, 0, &k->plans->h);
        return;
    }
    handle_hold(&k->h, 0, &p->op->h);
    handle_hold(&k->h, 1, &p->profile->h);
}

static RollerStatus run_build(RollerCtx *ctx, BuildCall *c, RollerKernel **out) {
    *out = NULL;
    c->arena = call_arena(ctx);
    if (!c->arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c->arena, build, c);
    if (!c->out) {
        arena_destroy(c->arena);
        return s;
    }
    *out = c->out;
    hold(c->out);
    return s;
}

RollerStatus roller_build(RollerCtx *ctx, const RollerPlan *plan, const char *arch,
                          RollerKernel **out) {
    BuildCall c = {.plans = plan->plans, .rank = plan->rank, .arch = arch};
    return run_build(ctx, &c, out);
}

RollerStatus roller_build_best(RollerCtx *ctx, const RollerPlans *plans, const char *arch,
                               RollerKernel **out) {
    BuildCall c = {.plans = plans, .best = true, .arch = arch};
    return run_build(ctx, &c, out);
}

static Status take(RollerCtx *ctx, void *user) {
    TakeCall *c = user;
    c->out = cache_take(ctx, c->arena, &c->wanted, NULL, 0);
    return ST_OK;
}

RollerStatus roller_cached(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                           const RollerPlanOptions *options, RollerKernel **out) {
    *out = NULL;
    RollerPlanOptions o;
    api_options(&o, sizeof o, options);
    TakeCall c = {.wanted = {.op = op, .profile = p, .o = &o}, .arena = call_arena(ctx)};
    if (!c.arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.arena, take, &c);
    if (s || !c.out) {
        arena_destroy(c.arena);
        return s;
    }
    *out = c.out;
    hold(c.out);
    return ROLLER_OK;
}

/* What is not in the cache.  */
static RollerStatus plan_and_build(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                                   const RollerPlanOptions *o, RollerKernel **out) {
    RollerPlans *plans;
    RollerStatus s = roller_plan(ctx, op, p, o, &plans);
    if (s) return s;
    BuildCall c = {.plans = plans, .best = true, .missed = true};
    s = run_build(ctx, &c, out);
    roller_plans_destroy(plans);
    return s;
}

RollerStatus roller_compile(RollerCtx *ctx, const RollerOp *op, const RollerProfile *p,
                            const RollerPlanOptions *options, RollerKernel **out) {
    *out = NULL;
    RollerPlanOptions o;
    api_options(&o, sizeof o, options);
    o.struct_size = sizeof o;
    RollerStatus s = roller_cached(ctx, op, p, &o, out);
    if (!s && !*out) s = plan_and_build(ctx, op, p, &o, out);
    if (s || !o.check) return s;
    RollerCheckReport report = {.struct_size = sizeof report};
    s = roller_check(ctx, *out, NULL, &report);
    if (s) {
        roller_kernel_destroy(*out);
        *out = NULL;
    }
    return s;
}

RollerStatus roller_kernel_get(const RollerKernel *k, RollerArtefact what, const void **data,
                               size_t *size) {
    const Build *b = &k->build;
    HalLanguage language = k->plans->set.dev->language;
    *data = NULL;
    *size = 0;
    const char *text = NULL;
    switch (what) {
    case ROLLER_CU: text = language == LANGUAGE_CUDA ? b->program.source : NULL; break;
    case ROLLER_CL: text = language == LANGUAGE_OPENCL ? b->program.source : NULL; break;
    case ROLLER_PTX: text = b->compiled ? b->nvrtc.ptx : NULL; break;
    case ROLLER_JSON: text = k->json; break;
    case ROLLER_PLAN_USED: text = k->plan.text; break;
    case ROLLER_LOG: text = b->nvrtc.log; break;
    case ROLLER_CUBIN:
        *data = b->compiled ? b->nvrtc.cubin : NULL;
        *size = b->compiled ? b->nvrtc.cubin_len : 0;
        return *data ? ROLLER_OK : ROLLER_NVRTC;
    default: return ROLLER_USAGE;
    }
    *data = text;
    *size = text ? strlen(text) : 0;
    return text ? ROLLER_OK : ROLLER_NVRTC;
}

const RollerOp *roller_kernel_op(const RollerKernel *k) { return k->plans->op; }

int roller_kernel_launches(const RollerKernel *k) { return k->build.program.n_kernel; }

RollerStatus roller_kernel_launch_info(const RollerKernel *k, int i, RollerLaunchInfo *out) {
    if (i < 0 || i >= k->build.program.n_kernel) return ROLLER_USAGE;
    const KernelLaunch *l = &k->build.program.kernel[i];
    RollerLaunchInfo info = {.symbol = l->symbol, .dynamic_smem = l->dynamic_smem,
                             .tensor_maps = l->n_map, .waits_for_previous = l->waits,
                             .resident = l->stays};
    for (int n = 0; n < 3; n++) {
        info.grid[n] = l->grid[n];
        info.block[n] = l->block[n];
        info.cluster[n] = l->cluster[n];
    }
    const KernelResources *r = build_resources(&k->build, l->symbol);
    if (r) {
        info.compiled = 1;
        info.level = k->build.level;
        info.registers = r->registers;
        info.static_smem = r->static_smem;
        info.spill_bytes = r->spill_stores + r->spill_loads;
        info.stack_bytes = r->stack;
        info.image = r->image;
    }
    api_report(out, &info, sizeof info);
    return ROLLER_OK;
}

int64_t roller_kernel_workspace(const RollerKernel *k) {
    return k->build.program.workspace_bytes;
}

const RollerPlan *roller_kernel_plan(const RollerKernel *k) { return &k->plan; }

size_t roller_kernel_rank(const RollerKernel *k) { return (size_t)kernel_rank(k); }

void roller_kernel_times(const RollerKernel *k, double *emit_ms, double *compile_ms) {
    *emit_ms = k->build.emit_ms;
    *compile_ms = k->build.compile_ms;
}

void roller_kernel_destroy(RollerKernel *k) {
    if (k) handle_release(&k->h);
}
