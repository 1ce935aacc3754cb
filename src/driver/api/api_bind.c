/* roller.h: launches for hosts that make them themselves.  */
#include "driver/artefact/artefact.h"
#include "driver/artefact/bound.h"
#include "driver/handle/handle.h"
#include "driver/check/run.h"

#include <stdio.h>
#include <string.h>

struct RollerBinding {
    Handle h;                 /* holds the kernel, for the symbols */
    RollerLaunch *launch;
    int n;
};

typedef struct {
    const RollerKernel *kernel;
    RollerBindOptions o;
    Bound bound;
    Arena *arena;             /* the binding's */
    RollerBinding *out;
    DiagCode code;            /* of what the driver refused */
    Status status;
} BindCall;

static Arguments arguments_of(const RollerKernel *k, const RollerTensor *in, int nin,
                              const RollerTensor *out, int nout, int device) {
    return (Arguments){.te = k->plans->set.te, .in = in, .out = out, .n_in = nin, .n_out = nout,
                       .device = device, .align = kernel_align(k)};
}

static RollerStatus told(Status s, const ArgumentReport *fit) {
    return thread_keep(s, s ? fit->why : NULL, s && *fit->hint ? fit->hint : NULL, NULL);
}

static int64_t workspace_of(const RollerKernel *k, const ArgumentReport *fit) {
    return fit->empty ? 0 : cg_workspace(k->plans->set.normal, &k->build.program, fit->size);
}

RollerStatus roller_bind_workspace(const RollerKernel *k, const RollerTensor *in, int nin,
                                   const RollerTensor *out, int nout, size_t *bytes) {
    Arguments x = arguments_of(k, in, nin, out, nout, ARGUMENTS_ANYWHERE);
    ArgumentReport fit;
    x.shapes_only = true;
    Status s = arguments_check(&x, &fit);
    *bytes = s ? 0 : (size_t)workspace_of(k, &fit);
    return told(s, &fit);
}

/* ---- tensor maps ---- */
/* The host's functions, else those of the driver that is here.  */
static Status find_encoders(BindCall *c) {
    CudaEncoders *to = &c->bound.encoders;
    if (!cg_maps(&c->kernel->build.program)) return ST_OK;
    memcpy(&to->tiled, &c->o.encode_tiled, sizeof to->tiled);
    memcpy(&to->im2col, &c->o.encode_im2col, sizeof to->im2col);
    if (to->tiled && to->im2col) return ST_OK;
    ArenaMark before = arena_mark(c->arena);
    Diag d = diag_new(c->arena);
    Cuda *cuda;
    Status s = cuda_open(c->arena, &d, NULL, &cuda);
    if (!s) s = cuda_makes_maps(cuda, &d);
    if (!s) *to = cuda_encoders(cuda);
    else snprintf(c->bound.fit.why, sizeof c->bound.fit.why, "%s", diag_first_error(&d)->message);
    arena_reset(c->arena, before);
    return s;
}

/* ---- launches ---- */
/* Sizes behind the values of all parameters.  */
static const size_t *sizes_of(Arena *a, const KernelLaunch *k) {
    size_t *bytes = ARENA_ARRAY(a, size_t, k->n_param);
    for (int i = 0; i < k->n_param; i++)
        bytes[i] = k->param[i].kind == PARAM_MAP ? TM_BYTES : (size_t)k->param[i].bytes;
    return bytes;
}

static CudaTensorMap *maps_of(Arena *a, const KernelLaunch *k) {
    uintptr_t at = (uintptr_t)arena_alloc(a, sizeof(CudaTensorMap) * (size_t)(k->n_map + 1));
    return (CudaTensorMap *)((at + TM_ALIGN - 1) / TM_ALIGN * TM_ALIGN);
}

static Status add_launch(BindCall *c, int i, KernelTaken taken) {
    const KernelProgram *p = &c->kernel->build.program;
    const KernelLaunch *k = &p->kernel[i];
    Bound *b = &c->bound;
    int64_t resident = k->stays && i < c->o.n_resident && c->o.resident ? c->o.resident[i] : 0;
    int64_t blocks = cg_resident(b->args.te, p, k, taken, b->fit.size, resident);
    if (blocks == 0) return ST_OK;
    BoundKernel to = {ARENA_ARRAY(c->arena, BoundValue, k->n_param), maps_of(c->arena, k),
                      ARENA_ARRAY(c->arena, void *, k->n_param)};
    RollerLaunch *l = &c->out->launch[c->out->n];
    *l = (RollerLaunch){.symbol = k->symbol, .dynamic_smem = (uint32_t)k->dynamic_smem,
                        .overlap = cg_overlaps(b->args.te, p, i, taken, b->fit.size),
                        .kernel = i, .params = to.param, .n_params = k->n_param,
                        .param_bytes = sizes_of(c->arena, k)};
    for (int d = 0; d < 3; d++) {
        l->grid[d] = (uint32_t)(d ? k->grid[d] : blocks);
        l->block[d] = (uint32_t)k->block[d];
        l->cluster[d] = k->cluster[d] > 0 ? (uint32_t)k->cluster[d] : 1;
    }
    int code = bound_kernel(b, k, &to);
    c->out->n++;
    if (!code) return ST_OK;
    c->code = (DiagCode){DIAG_CUDA, code, ""};
    snprintf(b->fit.why, sizeof b->fit.why, "the driver refused a tensor map of %s (%d)",
             k->symbol, code);
    return ST_CUDA;
}

static void bind_inner(void *user) {
    BindCall *c = user;
    const KernelProgram *p = &c->kernel->build.program;
    c->out = ARENA_NEW(c->arena, RollerBinding);
    handle_init(&c->out->h, c->arena);
    if (c->bound.fit.empty) return;
    c->status = find_encoders(c);
    c->out->launch = ARENA_ARRAY(c->arena, RollerLaunch, p->n_kernel);
    KernelTaken taken = cg_taken(p, c->bound.fit.size);
    for (int i = 0; i < p->n_kernel && !c->status; i++) c->status = add_launch(c, i, taken);
}

/* Makes the binding of checked arguments.  */
static RollerStatus make(BindCall *c, RollerBinding **made) {
    c->arena = arena_create(NULL);
    if (!c->arena || !arena_try(c->arena, bind_inner, c)) {
        arena_destroy(c->arena);
        return thread_keep(ST_NOMEM, NULL, NULL, NULL);
    }
    if (c->status) {
        arena_destroy(c->arena);
        return thread_keep(c->status, c->bound.fit.why, NULL, c->code.number ? &c->code : NULL);
    }
    handle_hold(&c->out->h, 0, &((RollerKernel *)(uintptr_t)c->kernel)->h);
    *made = c->out;
    return thread_keep(ST_OK, NULL, NULL, NULL);
}

RollerStatus roller_bind(const RollerKernel *k, const RollerTensor *in, int nin,
                         const RollerTensor *out, int nout, const RollerBindOptions *o,
                         RollerBinding **made) {
    BindCall c = {.kernel = k};
    *made = NULL;
    api_options(&c.o, sizeof c.o, o);
    c.bound.args = arguments_of(k, in, nin, out, nout, c.o.device);
    c.bound.workspace = c.o.workspace;
    ArgumentReport *fit = &c.bound.fit;
    if (k->plans->set.dev->language != LANGUAGE_CUDA)
        return thread_keep(ST_USAGE, "the kernel is no CUDA kernel, so it has no launches of CUDA",
                           NULL, NULL);
    Status s = arguments_check(&c.bound.args, fit);
    if (!s) s = bound_workspace(&c.bound, workspace_of(k, fit), c.o.workspace_bytes);
    return s ? told(s, fit) : make(&c, made);
}

int roller_binding_launches(const RollerBinding *b) { return b->n; }

RollerStatus roller_binding_launch(const RollerBinding *b, int i, RollerLaunch *out) {
    if (i < 0 || i >= b->n) return ROLLER_USAGE;
    RollerLaunch l = b->launch[i];
    api_report(out, &l, sizeof l);
    return ROLLER_OK;
}

void roller_binding_destroy(RollerBinding *b) {
    if (b) handle_release(&b->h);
}
