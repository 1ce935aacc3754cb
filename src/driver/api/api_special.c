/* roller.h: kernels for the sizes that launches have.  */
#include "driver/handle/arguments.h"
#include "driver/handle/handle.h"
#include "driver/sizes/size_values.h"

#include <inttypes.h>
#include <string.h>

RollerStatus roller_sizes_of(const RollerKernel *k, const RollerTensor *in, int nin,
                             const RollerTensor *out, int nout, int64_t *value) {
    const Te *te = k->plans->set.te;
    Arguments x = {.te = te, .in = in, .out = out, .n_in = nin, .n_out = nout,
                   .device = ARGUMENTS_ANYWHERE, .shapes_only = true};
    ArgumentReport fit;
    Status s = arguments_check(&x, &fit);
    if (s) return thread_keep(s, fit.why, *fit.hint ? fit.hint : NULL, NULL);
    for (int i = 0; i < te->n_size; i++)
        if (size_is_param(&te->size[i])) *value++ = fit.size[i];
    return thread_keep(ST_OK, NULL, NULL, NULL);
}

typedef struct {
    const Te *te;
    const int64_t *value;
    Arena *arena;             /* of the texts, which outlive the context's call */
    const char **define;      /* "M=64" */
    int n;
} FixCall;

static Status fix(RollerCtx *ctx, void *user) {
    FixCall *c = user;
    c->define = ARENA_ARRAY(c->arena, const char *, c->te->n_size + 1);
    for (int i = 0, given = 0; i < c->te->n_size; i++) {
        const TeSize *size = &c->te->size[i];
        if (!size_is_param(size)) continue;
        int64_t v = c->value[given++];
        if (size->kind != TE_SIZE_RUNTIME || v < 0) continue;
        Status s = size_check(&ctx->diag, size, v);
        if (s) return s;
        c->define[c->n++] = arena_printf(c->arena, "%s=%" PRId64, size->name, v);
    }
    return ST_OK;
}

/* Those of k, in the workspace that its launches have.  */
static RollerPlanOptions own_options(const RollerKernel *k) {
    RollerPlanOptions o = k->plans->options;
    int64_t has = roller_kernel_workspace(k);
    o.workspace_limit = has > 0 ? has : 1;
    return o;
}

static RollerStatus specialize(RollerCtx *ctx, const RollerKernel *k, const FixCall *c,
                               const RollerPlanOptions *options, RollerKernel **out) {
    const RollerOp *op = k->plans->op;
    RollerPlanOptions o = own_options(k);
    RollerParseOptions sizes = {.struct_size = sizeof sizes, .defines = c->define,
                                .n_defines = c->n};
    RollerOp *own;
    if (options) api_options(&o, sizeof o, options);
    o.struct_size = sizeof o;
    RollerStatus s = roller_parse(ctx, op->text, strlen(op->text), "op", &sizes, &own);
    if (s) return s;
    s = roller_compile(ctx, own, k->plans->profile, &o, out);
    roller_op_destroy(own);
    return s;
}

RollerStatus roller_specialize(RollerCtx *ctx, const RollerKernel *k, const int64_t *value,
                               const RollerPlanOptions *o, RollerKernel **out) {
    FixCall c = {.te = k->plans->op->te, .value = value, .arena = call_arena(ctx)};
    Handle *held = &((RollerKernel *)(uintptr_t)k)->h;
    *out = NULL;
    if (!c.arena) return call_nomem(ctx);
    handle_keep(held);
    RollerStatus s = call_run(ctx, c.arena, fix, &c);
    if (!s) s = specialize(ctx, k, &c, o, out);
    handle_release(held);
    arena_destroy(c.arena);
    return s;
}
