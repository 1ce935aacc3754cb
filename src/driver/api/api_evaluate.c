/* roller.h: an op on the caller's data by its definition, which needs neither a plan nor code.  */
#include "driver/check/check.h"
#include "driver/handle/handle.h"
#include "te/access/access.h"

typedef struct {
    const RollerOp *op;
    const RollerTensor *in, *out;
    int nin, nout;
    RollerJudgement *judged;  /* NULL: the outputs are written */
    Arena *scratch;
} EvaluateCall;

typedef struct {
    TeEval *eval;
    const TeTensor *tensor;
    int number;
    unsigned char *data;
} Output;

static Status write_row(const Output *o, int64_t *at, int last, int64_t count) {
    enum { STRIP = 256 };
    size_t size = (size_t)te_dtype_bytes(o->tensor->dtype);
    for (int64_t done = 0, n; done < count; done += n) {
        TeValue v[STRIP];
        n = count - done < STRIP ? count - done : STRIP;
        Status s = te_eval_row(o->eval, o->number, at, n, v);
        if (s) return s;
        for (int64_t i = 0; i < n; i++) {
            te_store(o->tensor->dtype, &v[i],
                     o->data + (size_t)te_tensor_offset(o->tensor, at) * size);
            if (last >= 0) at[last]++;
        }
    }
    return ST_OK;
}

static Status write_output(const Output *o) {
    const TeTensor *t = o->tensor;
    int last = t->rank - 1;
    int64_t count = te_tensor_count(t), along = last < 0 ? 1 : t->shape[last].value;
    for (int64_t row = 0; count && row < count / along; row++) {
        int64_t at[TE_MAX_RANK] = {0}, rest = row;
        for (int k = last - 1; k >= 0; k--) {
            at[k] = rest % t->shape[k].value;
            rest /= t->shape[k].value;
        }
        Status s = write_row(o, at, last, along);
        if (s) return s;
    }
    return ST_OK;
}

static Status write_outputs(RollerCtx *ctx, const EvaluateCall *c, const GivenData *x) {
    TeEval *eval;
    Status s = te_eval_create(c->scratch, &ctx->diag, x->te, x->in, &eval);
    if (s) return s;
    te_eval_watch(eval, &ctx->watch);
    for (int i = 0; i < c->nout && !s; i++) {
        int number = x->te->n_in + i;
        s = write_output(&(Output){eval, &x->te->tensor[number], number, x->out[i].data});
    }
    return s == ST_CANCELLED ? diag_error(&ctx->diag, s, NULL, DIAG_NOWHERE,
                                          "the reference evaluator was stopped") : s;
}

static Status judge_outputs(RollerCtx *ctx, const EvaluateCall *c, const GivenData *x) {
    OutputsResult r;
    CheckOutputs given = {.te = x->te, .in = x->in, .out = x->out, .threads = ctx->threads,
                          .watch = &ctx->watch};
    Status s = check_outputs(c->scratch, &ctx->diag, &given, &r);
    if (s) return s;
    *c->judged = (RollerJudgement){.compared = r.compared, .undecided = r.undecided,
                                   .wrong = r.wrong, .excess = r.excess};
    return ST_OK;
}

static Status evaluate(RollerCtx *ctx, void *user) {
    EvaluateCall *c = user;
    Arguments arguments = {.te = c->op->te, .in = c->in, .out = c->out, .n_in = c->nin,
                           .n_out = c->nout, .device = ARGUMENTS_ON_HOST};
    GivenData x;
    Status s = call_data(c->scratch, &ctx->diag, &arguments, &x);
    if (s) return s;
    return c->judged ? judge_outputs(ctx, c, &x) : write_outputs(ctx, c, &x);
}

static RollerStatus run(RollerCtx *ctx, EvaluateCall *c) {
    c->scratch = call_arena(ctx);
    if (!c->scratch) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c->scratch, evaluate, c);
    arena_destroy(c->scratch);
    return s;
}

RollerStatus roller_evaluate(RollerCtx *ctx, const RollerOp *op, const RollerTensor *in, int nin,
                             const RollerTensor *out, int nout) {
    return run(ctx, &(EvaluateCall){.op = op, .in = in, .out = out, .nin = nin, .nout = nout});
}

RollerStatus roller_judge(RollerCtx *ctx, const RollerOp *op, const RollerTensor *in, int nin,
                          const RollerTensor *out, int nout, RollerJudgement *report) {
    RollerJudgement judged = {0};
    RollerStatus s = run(ctx, &(EvaluateCall){.op = op, .in = in, .out = out, .nin = nin,
                                              .nout = nout, .judged = &judged});
    api_report(report, &judged, sizeof judged);
    return s;
}
