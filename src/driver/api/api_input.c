/* roller.h: expressions.  */
#include "driver/handle/handle.h"
#include "te/front/einsum.h"
#include "te/grad/batch.h"
#include "te/grad/gradient.h"
#include "te/tree/tree.h"
#include <string.h>

typedef struct {
    const char *text, *file;
    size_t len;
    RollerParseOptions o;
    Arena *arena;
    RollerOp *op;
    const char *const **names;
    int *n;
} ParseCall;

static Status read_defines(Arena *a, Diag *d, const RollerParseOptions *o, TeDefine **out) {
    *out = ARENA_ARRAY(a, TeDefine, o->n_defines);
    for (int i = 0; i < o->n_defines; i++) {
        Status s = te_define_parse(a, d, o->defines[i], &(*out)[i]);
        if (s) return s;
    }
    return ST_OK;
}

static const char *access_text(Arena *a, const Te *normal) {
    KernelGroup *group;
    Buf b = buf_new(a);
    int n = access_groups(a, normal, &group);
    access_print(normal, group, n, &b);
    return buf_str(&b);
}

static RollerOp *op_new(Arena *a, const Te *te, const char *access) {
    RollerOp *op = ARENA_NEW(a, RollerOp);
    Buf text = buf_new(a);
    handle_init(&op->h, a);
    te_print(te, &text);
    op->te = te_copy(a, te);
    op->text = buf_str(&text);
    op->access = arena_strdup(a, access);
    return op;
}

/* Tables of the front end and of normalizing are a hundred times what an op needs: they go with the
 * call.  */
static Status parse(RollerCtx *ctx, void *user) {
    ParseCall *c = user;
    Arena *a = ctx->call;
    TeDefine *defines;
    Te *te, *normal;
    Status s = read_defines(a, &ctx->diag, &c->o, &defines);
    if (!s)
        s = te_parse(a, &ctx->diag, (DiagText){c->file, c->text, c->len}, c->o.op,
                     &(TeDefines){defines, c->o.n_defines}, &te);
    if (!s) s = te_normalize(a, &ctx->diag, te, &normal);
    if (!s) c->op = op_new(c->arena, te, access_text(a, normal));
    return s;
}

RollerStatus roller_parse(RollerCtx *ctx, const char *te, size_t len, const char *file,
                          const RollerParseOptions *o, RollerOp **out) {
    *out = NULL;
    ParseCall c = {.text = te, .len = len, .file = file ? file : "<text>",
                   .arena = call_arena(ctx)};
    api_options(&c.o, sizeof c.o, o);
    if (!c.arena) return call_nomem(ctx);
    RollerStatus s = call_run(ctx, c.arena, parse, &c);
    if (s) arena_destroy(c.arena);
    else *out = c.op;
    return s;
}

static Status parse_names(RollerCtx *ctx, void *user) {
    ParseCall *c = user;
    TeDefine *defines;
    Status s = read_defines(ctx->call, &ctx->diag, &c->o, &defines);
    if (s) return s;
    Te **ops;
    int n;
    s = te_parse_all(ctx->call, &ctx->diag, (DiagText){c->file, c->text, c->len},
                     &(TeDefines){defines, c->o.n_defines}, &ops, &n);
    if (s) return s;
    const char **names = ARENA_ARRAY(ctx->call, const char *, n);
    for (int i = 0; i < n; i++) names[i] = ops[i]->name;
    *c->names = names;
    *c->n = n;
    return ST_OK;
}

RollerStatus roller_parse_names(RollerCtx *ctx, const char *te, size_t len, const char *file,
                                const RollerParseOptions *o, const char *const **names, int *n) {
    *names = NULL;
    *n = 0;
    ParseCall c = {.text = te, .len = len, .file = file ? file : "<text>", .names = names, .n = n};
    api_options(&c.o, sizeof c.o, o);
    return call_run(ctx, NULL, parse_names, &c);
}

typedef struct {
    const char *spec;
    const char *const *types;
    int n;
    const char *out;
    size_t len;
} EinsumCall;

static Status einsum(RollerCtx *ctx, void *user) {
    EinsumCall *c = user;
    Buf out = buf_new(ctx->call);
    Status s = te_einsum(ctx->call, &ctx->diag, arena_strdup(ctx->call, c->spec), c->types, c->n,
                         &out);
    c->len = out.len;
    c->out = buf_str(&out);
    return s;
}

RollerStatus roller_einsum(RollerCtx *ctx, const char *spec, const char *const *types, int n,
                           const char **te, size_t *len) {
    EinsumCall c = {.spec = spec, .types = types, .n = n};
    RollerStatus s = call_run(ctx, NULL, einsum, &c);
    *te = s ? NULL : c.out;
    *len = s ? 0 : c.len;
    return s;
}

typedef struct {
    const RollerOp *op;
    const char *const *wrt;
    int n;
    const char *out;
    size_t len;
} GradientCall;

static Status gradient(RollerCtx *ctx, void *user) {
    GradientCall *c = user;
    Buf out = buf_new(ctx->call);
    Status s = te_gradient(ctx->call, &ctx->diag, c->op->te, c->wrt, c->n, &out);
    c->len = out.len;
    c->out = buf_str(&out);
    return s;
}

RollerStatus roller_gradient(RollerCtx *ctx, const RollerOp *op, const char *const *wrt, int n,
                             const char **te, size_t *len) {
    GradientCall c = {.op = op, .wrt = wrt, .n = n};
    RollerStatus s = call_run(ctx, NULL, gradient, &c);
    *te = s ? NULL : c.out;
    *len = s ? 0 : c.len;
    return s;
}

typedef struct {
    const RollerOp *op;
    const int *batched;
    int64_t extent;
    const char *out;
    size_t len;
} BatchCall;

static Status batch(RollerCtx *ctx, void *user) {
    BatchCall *c = user;
    const Te *te = c->op->te;
    Buf out = buf_new(ctx->call);
    bool *batched = ARENA_ARRAY(ctx->call, bool, te->n_in + 1);
    for (int i = 0; i < te->n_in && c->extent >= 0; i++) batched[i] = c->batched[i] != 0;
    Status s = te_batch(ctx->call, &ctx->diag, te, batched, c->extent, &out);
    c->len = out.len;
    c->out = buf_str(&out);
    return s;
}

RollerStatus roller_batch(RollerCtx *ctx, const RollerOp *op, const int *batched, int64_t extent,
                          const char **te, size_t *len) {
    BatchCall c = {.op = op, .batched = batched, .extent = extent};
    RollerStatus s = call_run(ctx, NULL, batch, &c);
    *te = s ? NULL : c.out;
    *len = s ? 0 : c.len;
    return s;
}

void roller_op_destroy(RollerOp *op) {
    if (op) handle_release(&op->h);
}
