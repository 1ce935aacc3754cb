/* roller.h: proof by simulation.  */
#include "driver/check.h"
#include "driver/handle.h"
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

static Status check(RollerCtx *ctx, void *user) {
    CheckCall *c = user;
    Status s = need_ptx(&ctx->diag, c->k);
    if (s) return s;
    CheckOptions o = {.seed = c->o->seed,
                      .budget_s = c->o->budget_s,
                      .threads = ctx->threads,
                      .counters = c->o->counters != 0,
                      .stop = c->o->stop};
    return check_kernel(c->scratch, &ctx->diag, &c->k->plans->set, &c->k->plan.whole, &c->k->build,
                        &o, &c->result);
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
                             .where = "simulator",
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

/* DLPack's code for a dtype.  */
static uint8_t dlpack_code(TeDtype t) {
    switch (t) {
    case TE_BF16: return 4;
    case TE_BOOL: return 6;
    case TE_F8E4M3: return 10;
    case TE_F8E5M2: return 12;
    case TE_U8: return 1;
    case TE_I64: case TE_I32: case TE_I16: case TE_I8: return 0;
    default: return 2;
    }
}

static Status tensor_error(Diag *d, Status s, const TeTensor *t, const char *what) {
    return diag_error(d, s, NULL, DIAG_NOWHERE, "argument '%s' %s", t->name, what);
}

static Status check_tensor(Diag *d, const Te *te, const TeTensor *t, const RollerTensor *given,
                           const int64_t *size) {
    if (given->dtype.code != dlpack_code(t->dtype) ||
        given->dtype.bits != 8 * te_dtype_bytes(t->dtype) || given->dtype.lanes > 1)
        return tensor_error(d, ST_DTYPE, t, "has another dtype than declared");
    if (given->ndim != t->rank)
        return tensor_error(d, ST_RANK, t, "has another rank than declared");
    for (int i = 0; i < t->rank; i++)
        if (given->shape[i] != te_extent_eval(te, &t->shape[i], size))
            return tensor_error(d, ST_SIZE, t, "has another shape than declared");
    for (int i = 0; given->strides && i < t->rank; i++)
        if (given->shape[i] > 1 && given->strides[i] != te_extent_eval(te, &t->stride[i], size))
            return tensor_error(d, ST_STRIDE, t, "has other strides than declared");
    if (!given->data) return tensor_error(d, ST_NULLPTR, t, "has no data");
    return ST_OK;
}

/* Run-time sizes by the shapes they stand in.  */
static int64_t *read_sizes(Arena *a, const Te *te, const SimulateCall *c) {
    int64_t *size = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) size[i] = te->size[i].extent.value;
    for (int t = 0; t < te->n_in + te->n_out; t++) {
        const RollerTensor *given = t < te->n_in ? &c->in[t] : &c->out[t - te->n_in];
        for (int i = 0; i < te->tensor[t].rank && i < given->ndim; i++) {
            const TeExpr *e = te->tensor[t].shape[i].expr;
            if (e && e->kind == TE_SIZE) size[e->v.ref] = given->shape[i];
        }
    }
    return size;
}

static const void *element0(const RollerTensor *t) {
    return (const char *)t->data + t->byte_offset;
}

static Status simulate(RollerCtx *ctx, void *user) {
    const SimulateCall *c = user;
    Arena *a = c->scratch;
    Diag *d = &ctx->diag;
    const RollerKernel *k = c->k;
    Status s = need_ptx(d, k);
    if (s) return s;
    const Te *te = k->plans->op->te;
    if (c->nin != te->n_in || c->nout != te->n_out)
        return diag_error(d, ST_ARGS, NULL, DIAG_NOWHERE, "%d inputs and %d outputs, not %d and %d",
                          te->n_in, te->n_out, c->nin, c->nout);
    const int64_t *size = read_sizes(a, te, c);
    TeData *data = ARENA_ARRAY(a, TeData, te->n_in + 1);
    for (int i = 0; i < te->n_in + te->n_out; i++) {
        const RollerTensor *given = i < te->n_in ? &c->in[i] : &c->out[i - te->n_in];
        s = check_tensor(d, te, &te->tensor[i], given, size);
        if (s) return s;
        if (i < te->n_in) data[i].data = (void *)element0(given);
    }
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
        if (!run.report.faults) continue;
        Buf b = buf_new(d->arena);
        sim_fault_text(&run.report.fault[0], &b);
        return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s", buf_str(&b));
    }
    for (int i = 0; i < te->n_out; i++) {
        size_t bytes = te_tensor_bytes(&fixed->tensor[te->n_in + i]);
        s = bytes ? sim_read(run.gpu, d, run.at[te->n_in + i], (void *)element0(&c->out[i]), bytes)
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
