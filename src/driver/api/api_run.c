/* roller.h: a kernel run on the caller's data, in the simulator or on a device.  */
#include "driver/handle/handle.h"
#include "driver/device/measure.h"

RollerStatus roller_fill(const RollerOp *op, int i, uint64_t seed, void *data, size_t bytes) {
    if (i < 0 || i >= op->te->n_in || bytes < te_tensor_bytes(&op->te->tensor[i]))
        return ROLLER_USAGE;
    te_fill(op->te, i, TE_FILL_INTEGERS, seed, (TeData){data, bytes});
    return ROLLER_OK;
}

typedef struct {
    const RollerKernel *k;
    const RollerRunOptions *o;
    const RollerTensor *in, *out;
    int nin, nout;
    Arena *scratch;
    const char *where;
} RunCall;

static Status run_simulated(RollerCtx *ctx, const RunCall *c, const DeviceRun *x, const Te *te) {
    Arena *a = c->scratch;
    Diag *d = &ctx->diag;
    const PlanSet *set = x->kernel.set;
    const Build *build = x->kernel.build;
    Run run = {.te = te, .build = build, .place = {.dev = set->dev}, .data = x->in,
               .size = x->size};
    Status s = te_specialize(a, d, set->normal, x->size, &run.normal);
    if (!s) s = run_create(&run, a, d);
    if (s) return s;
    run.options = (SimOptions){.seed = 1, .threads = ctx->threads, .watch = &ctx->watch};
    for (int i = 0; i < build->program.n_kernel; i++) {
        s = run_launch(&run, a, d, i, NULL, 0);
        if (s) return s;
        if (run.fault) return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s", run.fault);
    }
    for (int i = 0; i < te->n_out && !s; i++)
        if (x->out[i].bytes)
            s = sim_read(run.gpu, d, run.at[te->n_in + i], x->out[i].data, x->out[i].bytes);
    return s;
}

Status call_data(Arena *a, Diag *d, const Arguments *given, GivenData *x) {
    const Te *te = given->te;
    Status s = arguments_check(given, &x->fit);
    if (s) diag_error(d, s, NULL, DIAG_NOWHERE, "%s", x->fit.why);
    if (s && *x->fit.hint) diag_hint(d, "%s", x->fit.hint);
    if (!s) s = te_specialize(a, d, te, x->fit.size, &x->te);
    if (s) return s;
    x->in = ARENA_ARRAY(a, TeData, te->n_in + 1);
    x->out = ARENA_ARRAY(a, TeData, te->n_out + 1);
    for (int i = 0; i < te->n_in; i++)
        x->in[i] = (TeData){arguments_data(&given->in[i]), te_tensor_bytes(&x->te->tensor[i])};
    for (int i = 0; i < te->n_out; i++)
        x->out[i] = (TeData){arguments_data(&given->out[i]),
                             te_tensor_bytes(&x->te->tensor[te->n_in + i])};
    return ST_OK;
}

static Status run_call(RollerCtx *ctx, void *user) {
    RunCall *c = user;
    Arena *a = c->scratch;
    Diag *d = &ctx->diag;
    const RollerKernel *k = c->k;
    Arguments arguments = {.te = k->plans->op->te, .in = c->in, .out = c->out, .n_in = c->nin,
                           .n_out = c->nout, .device = ARGUMENTS_ON_HOST};
    GivenData given;
    Status s = kernel_need_ptx(d, k);
    if (!s) s = call_data(a, d, &arguments, &given);
    if (s) return s;
    DeviceRun x = {.kernel = kernel_built(k), .size = given.fit.size, .in = given.in,
                   .out = given.out};
    MeasureOptions m = ctx_measure(ctx);
    m.watchdog_s = c->o->watchdog_s;
    const MeasurePlace *place;
    s = kernel_place(ctx, a, k, c->o->device, &m, &place);
    if (s) return s;
    c->where = place ? arena_strdup(ctx->call, place->info.name) : "simulator";
    return place ? measure_run(a, d, &x, &m) : run_simulated(ctx, c, &x, given.te);
}

RollerStatus roller_run(RollerCtx *ctx, const RollerKernel *k, const RollerTensor *in, int nin,
                        const RollerTensor *out, int nout, const RollerRunOptions *options,
                        const char **where) {
    RollerRunOptions o;
    api_options(&o, sizeof o, options);
    RunCall c = {.k = k, .o = &o, .in = in, .out = out, .nin = nin, .nout = nout,
                 .scratch = call_arena(ctx), .where = ""};
    if (where) *where = "";
    if (!c.scratch) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.scratch, run_call, &c);
    arena_destroy(c.scratch);
    if (where) *where = c.where;
    return s;
}

RollerStatus roller_infer(const RollerKernel *k, const RollerTensor *in, int nin, RollerTensor *out,
                          int nout) {
    Arguments x = {.te = k->plans->op->te, .in = in, .n_in = nin, .n_out = nout,
                   .shapes_only = true};
    ArgumentReport fit;
    Status s = arguments_infer(&x, out, &fit);
    return thread_keep(s, s ? fit.why : NULL, s && *fit.hint ? fit.hint : NULL, NULL);
}

RollerStatus roller_simulate(RollerCtx *ctx, const RollerKernel *k, const RollerTensor *in, int nin,
                             const RollerTensor *out, int nout) {
    return roller_run(ctx, k, in, nin, out, nout, NULL, NULL);
}
