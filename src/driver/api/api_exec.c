/* roller.h: kernels on a device.  */
#include "driver/handle/arguments.h"
#include "driver/artefact/artefact.h"
#include "driver/artefact/bound.h"
#include "driver/handle/handle.h"
#include "driver/check/run.h"

#include <stdio.h>
#include <string.h>

/* ---- loading ---- */
/* What is made by one call without a context: a place, or an Exec.  */
typedef struct LoadCall LoadCall;
struct LoadCall {
    Status (*make)(LoadCall *c);
    const RollerKernel *kernel;
    int device;
    ExecPlace *place;
    Arena *arena, *scratch;   /* of what is made; of the call */
    Diag diag;
    Handle *out;
    Status status;
};

/* Tells why code was refused, and why there is no other.  */
static Status again_error(Diag *d, Status s, const DiagMessage *why, const DiagMessage *other) {
    diag_error(d, s, why->tag, DIAG_NOWHERE, "%s%s%s", why->message, other ? "; " : "",
               other ? other->message : "");
    const char *hint = other && other->hint ? other->hint : why->hint;
    if (hint) diag_hint(d, "%s", hint);
    if (why->code.name) diag_code(d, why->code.of, why->code.number, why->code.name);
    return s;
}

/* The code of a build, in the driver.  What it refuses, mostly code of an NVRTC that is newer than
 * the driver, is compiled again, by the newest NVRTC whose code should load, and then by the next
 * older one.  */
static Status load_code(LoadCall *c, RollerExec *e, CudaModule **module) {
    Build again = c->kernel->build;
    for (;;) {
        Diag refused = diag_new(c->scratch), none = refused;
        CudaImage image;
        *module = NULL;
        Status s = device_image(&c->diag, &again, cuda_context_device(e->context), &image);
        if (s) return s;
        s = cuda_load(e->context, c->arena, &refused, &image, module);
        if (!s) return ST_OK;
        const DiagMessage *why = diag_first_error(&refused);
        NvrtcOptions older = again.compiler;
        older.driver = cuda_driver_version(e->cuda);
        older.jit = !image.cubin;
        older.below = again.nvrtc_major * 100 + again.nvrtc_minor;
        if (!cuda_refused(*module)) return again_error(&c->diag, s, why, NULL);
        Build next;
        if (compile_again(c->scratch, &none, &again, &older, &next))
            return again_error(&c->diag, s, why, diag_first_error(&none));
        again = next;
    }
}

static Status load_kernels(LoadCall *c, RollerExec *e) {
    Diag *d = &c->diag;
    const Build *b = &c->kernel->build;
    CudaModule *module;
    Status s = cg_maps(&b->program) ? cuda_makes_maps(e->cuda, d) : ST_OK;
    if (!s) s = load_code(c, e, &module);
    for (int i = 0; i < b->program.n_kernel && !s; i++)
        s = device_kernel(module, d, &b->program.kernel[i], &e->launch[i]);
    return s;
}

/* The driver, and a context of the device, for all Execs of a call.  */
static Status open_place(LoadCall *c) {
    ExecPlace *p = ARENA_NEW(c->arena, ExecPlace);
    handle_init(&p->h, c->arena);
    p->device = c->device;
    Status s = cuda_open(c->arena, &c->diag, NULL, &p->cuda);
    if (!s) s = cuda_context(p->cuda, c->arena, &c->diag, c->device, &p->context);
    c->out = &p->h;
    return s;
}

static Status load(LoadCall *c) {
    Diag *d = &c->diag;
    const Build *b = &c->kernel->build;
    RollerExec *e = ARENA_NEW(c->arena, RollerExec);
    handle_init(&e->h, c->arena);
    e->kernel = c->kernel;
    e->device = c->place->device;
    e->cuda = c->place->cuda;
    e->context = c->place->context;
    e->launch = ARENA_ARRAY(c->arena, DeviceKernel, b->program.n_kernel);
    ArenaMark outside = arena_mark(c->scratch);
    Status s = cuda_enter(e->context, c->scratch, d);
    if (!s && b->program.n_kernel) s = load_kernels(c, e);
    if (s) return s;
    arena_reset(c->scratch, outside);
    for (int i = 0; i < b->program.n_kernel && !s; i++)
        s = cuda_kernel_preload(&e->launch[i].cuda, d);
    c->out = &e->h;
    return s;
}

static void make_inner(void *p) {
    LoadCall *c = p;
    c->diag = diag_new(c->scratch);
    c->status = c->make(c);
    const DiagMessage *m = diag_first_error(&c->diag);
    thread_keep(c->status, m ? m->message : NULL, m ? m->hint : NULL, m ? &m->code : NULL);
}

static void make_outer(void *p) {
    LoadCall *c = p;
    if (!arena_try(c->arena, make_inner, c)) thread_keep(c->status = ST_NOMEM, NULL, NULL, NULL);
}

/* NULL: it failed, by c->status.  */
static Handle *make(LoadCall *c) {
    c->arena = arena_create(NULL);
    c->scratch = arena_create(NULL);
    c->status = ST_NOMEM;
    if (!c->arena || !c->scratch || !arena_try(c->scratch, make_outer, c))
        thread_keep(c->status = ST_NOMEM, NULL, NULL, NULL);
    arena_destroy(c->scratch);
    if (!c->status) return c->out;
    arena_destroy(c->arena);
    return NULL;
}

static Status load_into(ExecPlace *place, const RollerKernel *k, RollerExec **out) {
    LoadCall c = {.make = load, .kernel = k, .place = place};
    Handle *h = make(&c);
    if (!h) return c.status;
    handle_hold(h, 0, &((RollerKernel *)(uintptr_t)k)->h);
    handle_hold(h, 1, &place->h);
    *out = (RollerExec *)(void *)h;
    return ST_OK;
}

RollerStatus roller_load_many(const RollerKernel *const *k, size_t n, int device,
                              RollerExec **out) {
    for (size_t i = 0; i < n; i++) out[i] = NULL;
    for (size_t i = 0; i < n; i++)
        if (!k[i]->build.compiled && k[i]->build.program.n_kernel)
            return thread_keep(ST_NVRTC,
                               "the kernel was not compiled, so there is nothing to load", NULL,
                               NULL);
    if (n == 0) return thread_keep(ST_OK, NULL, NULL, NULL);
    LoadCall c = {.make = open_place, .device = device};
    ExecPlace *place = (ExecPlace *)(void *)make(&c);
    if (!place) return (RollerStatus)c.status;
    Status s = ST_OK;
    for (size_t i = 0; i < n && !s; i++) s = load_into(place, k[i], &out[i]);
    for (size_t i = 0; i < n && s; i++) {
        roller_exec_destroy(out[i]);
        out[i] = NULL;
    }
    handle_release(&place->h);
    return (RollerStatus)s;
}

RollerStatus roller_load(const RollerKernel *k, int device, RollerExec **out) {
    return roller_load_many(&k, 1, device, out);
}

void roller_exec_destroy(RollerExec *e) {
    if (e) handle_release(&e->h);
}

/* ---- launching ---- */
static Arguments arguments_of(const RollerExec *e, const RollerTensor *in, int nin,
                              const RollerTensor *out, int nout) {
    return (Arguments){.te = e->kernel->plans->set.te, .in = in, .out = out, .n_in = nin,
                       .n_out = nout, .device = e->device, .align = kernel_align(e->kernel)};
}

static int64_t workspace_of(const RollerExec *e, const ArgumentReport *fit) {
    return cg_workspace(e->kernel->plans->set.normal, &e->kernel->build.program, fit->size);
}

RollerStatus roller_workspace(const RollerExec *e, const RollerTensor *in, int nin,
                              const RollerTensor *out, int nout, size_t *bytes) {
    Arguments x = arguments_of(e, in, nin, out, nout);
    x.shapes_only = true;
    ArgumentReport fit;
    *bytes = 0;
    Status s = arguments_check(&x, &fit);
    if (s) return thread_keep(s, fit.why, *fit.hint ? fit.hint : NULL, NULL);
    if (!fit.empty) *bytes = (size_t)workspace_of(e, &fit);
    return thread_keep(ST_OK, NULL, NULL, NULL);
}

/* What the kernels of a launch are given.  */
typedef struct {
    const RollerExec *exec;
    Bound bound;
} LaunchCall;

/* Room for what one kernel is given.  */
typedef struct {
    BoundValue value[CG_MOST_PARAMS];
    CudaTensorMap map[CG_MOST_MAPS];
    void *param[CG_MOST_PARAMS];
} KernelCall;

static RollerStatus failed(LaunchCall *c, const KernelLaunch *k, const char *what, int code) {
    const DiagCode why = {DIAG_CUDA, code, cuda_code_name(c->exec->cuda, code)};
    char *text = c->bound.fit.why;
    snprintf(text, sizeof c->bound.fit.why, "%s of %s failed: %s (%d)", what, k->symbol, why.name,
             code);
    return thread_keep(ST_CUDA, text, NULL, &why);
}

static RollerStatus launch_all(LaunchCall *c, CudaStream stream) {
    const KernelProgram *p = &c->exec->kernel->build.program;
    const Te *te = c->bound.args.te;
    const int64_t *size = c->bound.fit.size;
    KernelTaken taken = cg_taken(p, size);
    KernelCall call;
    const BoundKernel to = {call.value, call.map, call.param};
    for (int i = 0; i < p->n_kernel; i++) {
        const KernelLaunch *k = &p->kernel[i];
        const DeviceKernel *loaded = &c->exec->launch[i];
        CudaLaunch l = device_shape(k);
        l.grid[0] = cg_resident(te, p, k, taken, size, loaded->resident);
        if (l.grid[0] == 0) continue;
        l.overlap = cg_overlaps(te, p, i, taken, size);
        int code = bound_kernel(&c->bound, k, &to);
        if (code) return failed(c, k, "a tensor map", code);
        code = cuda_launch_code(&loaded->cuda, &l, call.param, stream);
        if (code) return failed(c, k, "the launch", code);
    }
    return thread_keep(ST_OK, NULL, NULL, NULL);
}

RollerStatus roller_launch(const RollerExec *e, const RollerTensor *in, int nin,
                           const RollerTensor *out, int nout, void *ws, size_t ws_bytes,
                           void *stream) {
    if (!cuda_here(e->context))
        return thread_keep(ST_ARCH, "the current context is not one of the kernel's device", NULL,
                           NULL);
    LaunchCall c;
    Bound *b = &c.bound;
    c.exec = e;
    b->args = arguments_of(e, in, nin, out, nout);
    b->workspace = ws;
    b->encoders = cuda_encoders(e->cuda);
    ArgumentReport *fit = &b->fit;
    Status s = arguments_check(&b->args, fit);
    if (!s && !fit->empty) s = bound_workspace(b, workspace_of(e, fit), ws_bytes);
    if (s) return thread_keep(s, fit->why, *fit->hint ? fit->hint : NULL, NULL);
    if (fit->empty) return thread_keep(ST_OK, NULL, NULL, NULL);
    return launch_all(&c, stream);
}
