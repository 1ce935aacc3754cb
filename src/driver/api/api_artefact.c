/* roller.h: what is written for several targets of one op.  */
#include "driver/artefact/artefact.h"
#include "driver/handle/handle.h"
#include "driver/artefact/launcher.h"
#include <string.h>

typedef struct {
    const RollerKernel *const *kernel;
    int n;
    RollerArtefact what;
    Buf out;
} ArtefactCall;

static Status artefact(RollerCtx *ctx, void *user) {
    ArtefactCall *c = user;
    Diag *d = &ctx->diag;
    c->out = buf_new(ctx->call);
    if (c->n < 1)
        return diag_error(d, ST_USAGE, NULL, DIAG_NOWHERE, "an artefact needs a kernel");
    for (int i = 0; i < c->n; i++) {
        const RollerKernel *k = c->kernel[i];
        if (strcmp(k->plans->op->text, c->kernel[0]->plans->op->text) != 0)
            return diag_error(d, ST_USAGE, NULL, DIAG_NOWHERE, "the kernels are of different ops");
        Status s = c->what == ROLLER_JSON ? ST_OK : kernel_need_ptx(d, k);
        if (s) return s;
    }
    switch (c->what) {
    case ROLLER_JSON: artefact_json(c->kernel, c->n, &c->out); return ST_OK;
    case ROLLER_C_HEADER: launcher_header(c->kernel[0]->plans->op->te, &c->out); return ST_OK;
    case ROLLER_C_SOURCE: launcher_c(c->kernel, c->n, &c->out); return ST_OK;
    case ROLLER_TVM_FFI: launcher_tvm_ffi(c->kernel, c->n, &c->out); return ST_OK;
    case ROLLER_PYTHON: launcher_python(c->kernel, c->n, &c->out); return ST_OK;
    default:
        return diag_error(d, ST_USAGE, NULL, DIAG_NOWHERE,
                          "this artefact is of one kernel: ask roller_kernel_get");
    }
}

RollerStatus roller_artefact(RollerCtx *ctx, const RollerKernel *const *k, int n,
                             RollerArtefact what, const void **data, size_t *size) {
    ArtefactCall c = {.kernel = k, .n = n, .what = what};
    *data = NULL;
    *size = 0;
    RollerStatus s = call_run(ctx, NULL, artefact, &c);
    if (s) return s;
    *data = buf_str(&c.out);
    *size = c.out.len;
    return s;
}
