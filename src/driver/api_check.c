/* roller.h: proof by simulation.  */
#include "driver/arguments.h"
#include "driver/handle.h"
#include "driver/measure.h"
#include <string.h>

/* ---- check ---- */
typedef struct {
    const RollerKernel *k;
    const RollerCheckOptions *o;
    Arena *scratch;
    CheckResult result;
} CheckCall;

static Status need_ptx(Diag *d, const RollerKernel *k) {
    if (k->build.compiled || k->build.program.n_kernel == 0) return ST_OK;
    Status s = diag_error(d, ST_NVRTC, NULL, DIAG_NOWHERE,
                          "the kernel was not compiled, so there is no PTX to run");
    diag_hint(d, "NVRTC must be able to target %s", k->build.arch);
    return s;
}

/* May the check run on the device?  "auto" takes one only where there is one that fits.  */
static Status find_place(RollerCtx *ctx, const CheckCall *c, MeasureOptions *m, bool *found) {
    const char *device = c->o->device;
    *found = false;
    if (!device || strcmp(device, "sim") == 0) return ST_OK;
    bool automatic = strcmp(device, "auto") == 0;
    if (automatic && c->o->counters) return ST_OK;
    if (c->o->counters)
        return diag_error(&ctx->diag, ST_USAGE, NULL, DIAG_NOWHERE,
                          "counters are the simulator's: they cannot be had from a device");
    m->device = automatic ? NULL : device;
    Diag quiet = diag_new(c->scratch), *d = automatic ? &quiet : &ctx->diag;
    MeasurePlace place;
    CudaImage image;
    Status s = measure_probe(c->scratch, d, m, &place);
    if (!s) s = device_image(d, &c->k->build, &place.info, &image);
    *found = s == ST_OK;
    return automatic ? ST_OK : s;
}

static Status check(RollerCtx *ctx, void *user) {
    CheckCall *c = user;
    bool on_device = false;
    MeasureOptions m = {.cuda = {.ignore_environment = ctx->ignore_environment},
                        .seed = c->o->seed, .budget_s = c->o->budget_s, .threads = ctx->threads,
                        .stop = c->o->stop};
    Status s = need_ptx(&ctx->diag, c->k);
    if (!s) s = find_place(ctx, c, &m, &on_device);
    if (s) return s;
    const PlanSet *set = &c->k->plans->set;
    const WholePlan *whole = &c->k->plan.whole;
    if (on_device)
        return measure_check(ctx->call, &ctx->diag, set, whole, &c->k->build, &m, &c->result);
    CheckOptions o = {.seed = c->o->seed,
                      .budget_s = c->o->budget_s,
                      .threads = ctx->threads,
                      .counters = c->o->counters != 0,
                      .stop = c->o->stop};
    return check_kernel(c->scratch, &ctx->diag, set, whole, &c->k->build, &o, &c->result);
}

RollerStatus roller_check(RollerCtx *ctx, const RollerKernel *k, const RollerCheckOptions *options,
                          RollerCheckReport *report) {
    RollerCheckOptions o;
    api_options(&o, sizeof o, options);
    CheckCall c = {.k = k, .o = &o, .scratch = call_arena(ctx)};
    if (!c.scratch) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.scratch, check, &c);
    arena_destroy(c.scratch);
    const CheckResult *r = &c.result;
    RollerCheckReport out = {.ok = r->ok,
                             .compared = r->compared,
                             .outputs = r->outputs,
                             .undecided = r->undecided,
                             .size_sets = r->size_sets,
                             .data_sets = r->data_sets,
                             .exact = r->exact,
                             .where = r->where ? r->where : "",
                             .text = r->text ? r->text : "",
                             .counters = r->counters ? r->counters : ""};
    api_report(report, &out, sizeof out);
    return s;
}

/* ---- run on the caller's data ---- */
RollerStatus roller_fill(const RollerOp *op, int i, uint64_t seed, void *data, size_t bytes) {
    if (i < 0 || i >= op->te->n_in || bytes < te_tensor_bytes(&op->te->tensor[i]))
        return ROLLER_USAGE;
    te_fill(op->te, i, TE_FILL_INTEGERS, seed, (TeData){data, bytes});
    return ROLLER_OK;
}

typedef struct {
    const RollerKernel *k;
    const RollerTensor *in, *out;
    int nin, nout;
    Arena *scratch;
} SimulateCall;

static Status simulate(RollerCtx *ctx, void *user) {
    const SimulateCall *c = user;
    Arena *a = c->scratch;
    Diag *d = &ctx->diag;
    const RollerKernel *k = c->k;
    Status s = need_ptx(d, k);
    if (s) return s;
    const Te *te = k->plans->op->te;
    Arguments arguments = {.te = te, .in = c->in, .out = c->out, .n_in = c->nin, .n_out = c->nout,
                           .device = ARGUMENTS_ON_HOST};
    ArgumentReport fit;
    s = arguments_check(&arguments, &fit);
    if (s) return diag_error(d, s, NULL, DIAG_NOWHERE, "%s", fit.why);
    const int64_t *size = fit.size;
    TeData *data = ARENA_ARRAY(a, TeData, te->n_in + 1);
    for (int i = 0; i < te->n_in; i++) data[i].data = arguments_data(&c->in[i]);
    const Te *fixed, *normal;
    s = te_specialize(a, d, te, size, &fixed);
    if (!s) s = te_specialize(a, d, k->plans->set.normal, size, &normal);
    Run run;
    if (!s)
        s = run_create(a, d, k->plans->set.dev, fixed, normal, &k->build, data, size, &run);
    if (s) return s;
    run.options = (SimOptions){.seed = 1, .threads = ctx->threads};
    for (int i = 0; i < k->build.program.n_kernel; i++) {
        s = run_launch(&run, a, d, i, NULL, 0);
        if (s) return s;
        if (run.fault) return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s", run.fault);
    }
    for (int i = 0; i < te->n_out; i++) {
        size_t bytes = te_tensor_bytes(&fixed->tensor[te->n_in + i]);
        s = bytes ? sim_read(run.gpu, d, run.at[te->n_in + i], arguments_data(&c->out[i]), bytes)
                  : ST_OK;
        if (s) return s;
    }
    return ST_OK;
}

RollerStatus roller_simulate(RollerCtx *ctx, const RollerKernel *k, const RollerTensor *in, int nin,
                             const RollerTensor *out, int nout) {
    SimulateCall c = {.k = k, .in = in, .out = out, .nin = nin, .nout = nout,
                      .scratch = call_arena(ctx)};
    if (!c.scratch) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.scratch, simulate, &c);
    arena_destroy(c.scratch);
    return s;
}
