/* roller.h: the op as given tensors lie.  */
#include "driver/handle/arguments.h"
#include "driver/handle/handle.h"

#include <string.h>

enum { MOST_ALIGN = 16 };

typedef struct {
    const RollerOp *op;
    const RollerTensor *in, *out;
    int nin, nout;
    Arena *arena;             /* of the text, which outlives the context's call */
    Buf text;                 /* the op with their strides */
    int align;
} FitCall;

/* Strides of the dimensions that have several elements; the others' do not matter.  */
static void take_strides(TeTensor *t, const RollerTensor *given) {
    for (int i = 0; given->strides && i < t->rank; i++) {
        int64_t v = given->strides[i];
        if (given->shape[i] <= 1 || (!t->stride[i].expr && t->stride[i].value == v)) continue;
        t->stride[i] = (TeExtent){.value = v, .min = v, .multiple = v};
        t->strided = true;
    }
}

static Status fit(RollerCtx *ctx, void *user) {
    FitCall *c = user;
    const Te *te = c->op->te;
    Arguments x = {.te = te, .in = c->in, .out = c->out, .n_in = c->nin, .n_out = c->nout,
                   .shapes_only = true, .any_strides = true, .device = ARGUMENTS_ANYWHERE};
    ArgumentReport report;
    Status s = arguments_check(&x, &report);
    if (s) diag_error(&ctx->diag, s, NULL, DIAG_NOWHERE, "%s", report.why);
    if (s && *report.hint) diag_hint(&ctx->diag, "%s", report.hint);
    if (s) return s;
    Te own = *te;
    size_t n = (size_t)(te->n_in + te->n_out);
    own.tensor = ARENA_ARRAY(ctx->call, TeTensor, te->n_tensor + 1);
    memcpy(own.tensor, te->tensor, (size_t)te->n_tensor * sizeof *own.tensor);
    uintptr_t bits = MOST_ALIGN;
    for (size_t i = 0; i < n; i++) {
        const RollerTensor *given = arguments_at(&x, (int)i);
        if (own.tensor[i].role == TE_VALUE) continue;
        take_strides(&own.tensor[i], given);
        if (given->data) bits |= (uintptr_t)arguments_data(given);
    }
    c->align = (int)(bits & -bits);
    c->text = buf_new(c->arena);
    te_print(&own, &c->text);
    return ST_OK;
}

RollerStatus roller_op_for(RollerCtx *ctx, const RollerOp *op, const RollerTensor *in, int nin,
                           const RollerTensor *out, int nout, RollerOp **made, int *align) {
    FitCall c = {.op = op, .in = in, .out = out, .nin = nin, .nout = nout,
                 .arena = call_arena(ctx)};
    *made = NULL;
    if (!c.arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.arena, fit, &c);
    if (!s) s = roller_parse(ctx, c.text.text, c.text.len, "op", NULL, made);
    if (!s && align) *align = c.align;
    arena_destroy(c.arena);
    return s;
}
