/* roller.h: kernels on a device.  */
#include "driver/handle/arguments.h"
#include "driver/artefact/artefact.h"
#include "driver/artefact/bound.h"
#include "driver/handle/handle.h"
#include "driver/check/run.h"
#include "driver/sizes/size_values.h"

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
    const RollerExec *beside; /* that it is to be added to; NULL: none */
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
        Status s = device_image(&c->diag, &again, cuda_context_device(e->place->context), &image);
        if (s) return s;
        s = cuda_load(e->place->context, c->arena, &refused, &image, module);
        if (!s) return ST_OK;
        const DiagMessage *why = diag_first_error(&refused);
        NvrtcOptions older = again.compiler;
        older.driver = cuda_driver_version(e->place->cuda);
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
    Status s = cg_maps(&b->program) ? cuda_makes_maps(e->place->cuda, d) : ST_OK;
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

static void drop_added(void *p) {
    ExecShared *x = p;
    for (int i = 0; i < ROLLER_MOST_ADDED; i++) roller_exec_destroy(atomic_load(&x->added[i]));
}

static Status load(LoadCall *c) {
    Diag *d = &c->diag;
    const Build *b = &c->kernel->build;
    RollerExec *e = ARENA_NEW(c->arena, RollerExec);
    handle_init(&e->h, c->arena);
    e->kernel = c->kernel;
    e->place = c->place;
    e->shared = ARENA_NEW(c->arena, ExecShared);
    arena_defer(c->arena, drop_added, e->shared);
    e->launch = ARENA_ARRAY(c->arena, DeviceKernel, b->program.n_kernel);
    Status s = cuda_spare_captures(e->place->cuda, c->scratch, d);
    ArenaMark outside = arena_mark(c->scratch);
    if (!s) s = cuda_enter(e->place->context, c->scratch, d);
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

static Status is_compiled(const RollerKernel *k) {
    if (k->build.compiled || !k->build.program.n_kernel) return ST_OK;
    return (Status)thread_keep(
        ST_NVRTC, "the kernel was not compiled, so there is nothing to load", NULL, NULL);
}

static Status load_into(LoadCall *c, RollerExec **out) {
    Handle *h = make(c);
    if (!h) return c->status;
    handle_hold(h, 0, &((RollerKernel *)(uintptr_t)c->kernel)->h);
    handle_hold(h, 1, &c->place->h);
    *out = (RollerExec *)(void *)h;
    return ST_OK;
}

RollerStatus roller_load_many(const RollerKernel *const *k, size_t n, int device,
                              RollerExec **out) {
    Status s = ST_OK;
    for (size_t i = 0; i < n; i++) out[i] = NULL;
    for (size_t i = 0; i < n && !s; i++) s = is_compiled(k[i]);
    if (s) return (RollerStatus)s;
    if (n == 0) return thread_keep(ST_OK, NULL, NULL, NULL);
    LoadCall c = {.make = open_place, .device = device};
    ExecPlace *place = (ExecPlace *)(void *)make(&c);
    if (!place) return (RollerStatus)c.status;
    for (size_t i = 0; i < n && !s; i++)
        s = load_into(&(LoadCall){.make = load, .kernel = k[i], .place = place}, &out[i]);
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

/* ---- adding ---- */
/* What is known of a size at run time alone is said as `is` says it.  */
static bool narrow(const TeSize *of, const TeSize *is, TeDefines *to, TeDefine *room) {
    if (of->used != is->used || (of->kind == TE_SIZE_LET) != (is->kind == TE_SIZE_LET))
        return false;
    if (of->kind != TE_SIZE_RUNTIME || !of->used) return true;
    bool open = is->kind == TE_SIZE_RUNTIME;
    room[to->n++] = open ? (TeDefine){of->name, is->lo, is->hi, is->extent.multiple}
                         : (TeDefine){of->name, is->extent.value, is->extent.value, 1};
    return true;
}

/* Is that the op with such sizes, down to their places?  */
static bool is_narrower(Arena *a, const RollerOp *op, const Te *is) {
    TeDefine *room = ARENA_ARRAY(a, TeDefine, op->te->n_size + 1);
    TeDefines defines = {room, 0};
    bool same = op->te->n_size == is->n_size;
    for (int i = 0; i < is->n_size && same; i++)
        same = narrow(&op->te->size[i], &is->size[i], &defines, room);
    Diag quiet = diag_new(a);
    DiagText text = {"op", op->text, strlen(op->text)};
    Te *narrower;
    if (!same || te_parse(a, &quiet, text, NULL, &defines, &narrower)) return false;
    Buf one = buf_new(a), other = buf_new(a);
    te_print_positional(narrower, &one);
    te_print_positional(is, &other);
    return strcmp(buf_str(&one), buf_str(&other)) == 0;
}

static Status load_beside(LoadCall *c) {
    const RollerKernel *own = c->beside->kernel, *k = c->kernel;
    Diag *d = &c->diag;
    if (!is_narrower(c->scratch, own->plans->op, k->plans->op->te)) {
        diag_error(d, ST_ARGS, NULL, DIAG_NOWHERE,
                   "the kernel is not of the same op with sizes that are known, or in narrower "
                   "ranges");
        diag_hint(d, "roller_specialize makes one that is");
        return ST_ARGS;
    }
    if (kernel_align(own) % kernel_align(k))
        return diag_error(d, ST_ALIGN, NULL, DIAG_NOWHERE,
                          "the kernel is for tensors aligned to %d bytes, not to %d",
                          kernel_align(k), kernel_align(own));
    return load(c);
}

/* NULL: there are no more.  */
static const RollerExec *added(const RollerExec *e, int i) {
    return i < ROLLER_MOST_ADDED ? atomic_load(&e->shared->added[i]) : NULL;
}

/* In the first place that is free.  */
static bool take_place(ExecShared *x, RollerExec *e) {
    bool placed = false;
    for (int i = 0; i < ROLLER_MOST_ADDED && !placed; i++) {
        RollerExec *none = NULL;
        placed = atomic_compare_exchange_strong(&x->added[i], &none, e);
    }
    return placed;
}

static RollerStatus no_room(void) {
    return thread_keep(ST_USAGE, "there is no room for another kernel", NULL, NULL);
}

RollerStatus roller_exec_add(RollerExec *e, const RollerKernel *k) {
    RollerExec *more;
    if (added(e, ROLLER_MOST_ADDED - 1)) return no_room();
    LoadCall c = {.make = load_beside, .kernel = k, .place = e->place, .beside = e};
    Status s = is_compiled(k);
    if (!s) s = load_into(&c, &more);
    if (s || take_place(e->shared, more)) return (RollerStatus)s;
    roller_exec_destroy(more);
    return no_room();
}

RollerStatus roller_exec_program(const RollerExec *e, int i, RollerExecProgram *out) {
    if (i > 0) e = added(e, i - 1);
    if (i < 0 || !e) return ROLLER_USAGE;
    RollerExecProgram p = {.kernel = e->kernel, .launches = atomic_load(&e->shared->launches)};
    api_report(out, &p, sizeof p);
    return ROLLER_OK;
}

/* ---- launching ---- */
static Arguments arguments_of(const RollerExec *e, const RollerTensor *in, int nin,
                              const RollerTensor *out, int nout) {
    return (Arguments){.te = e->kernel->plans->set.te, .in = in, .out = out, .n_in = nin,
                       .n_out = nout, .device = e->place->device, .align = kernel_align(e->kernel)};
}

/* A workspace that is given.  */
typedef struct {
    void *at;
    size_t bytes;
} Room;

static int64_t workspace_of(const RollerExec *e, const ArgumentReport *fit) {
    return cg_workspace(e->kernel->plans->set.normal, &e->kernel->build.program, fit->size);
}

static bool serves(const RollerExec *e, const int64_t *size) {
    const Te *te = e->kernel->plans->set.te;
    bool all = true;
    for (int i = 0; i < te->n_size && all; i++)
        all = !size_is_param(&te->size[i]) || size_promised(&te->size[i], size[i]);
    return all;
}

/* What a launch takes; room NULL: with all the workspace that it wants.  */
static const RollerExec *taken(const RollerExec *e, const ArgumentReport *fit, const Room *room) {
    const RollerExec *best = e, *x;
    for (int i = 0; (x = added(e, i)); i++)
        if (serves(x, fit->size) &&
            (!room || bound_has(room->at, room->bytes, workspace_of(x, fit))))
            best = x;
    return best;
}

RollerStatus roller_workspace(const RollerExec *e, const RollerTensor *in, int nin,
                              const RollerTensor *out, int nout, size_t *bytes) {
    Arguments x = arguments_of(e, in, nin, out, nout);
    x.shapes_only = true;
    ArgumentReport fit;
    *bytes = 0;
    Status s = arguments_check(&x, &fit);
    if (s) return thread_keep(s, fit.why, *fit.hint ? fit.hint : NULL, NULL);
    if (!fit.empty) *bytes = (size_t)workspace_of(taken(e, &fit, NULL), &fit);
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
    const DiagCode why = {DIAG_CUDA, code, cuda_code_name(c->exec->place->cuda, code)};
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
    if (!cuda_here(e->place->context))
        return thread_keep(ST_ARCH, "the current context is not one of the kernel's device", NULL,
                           NULL);
    LaunchCall c;
    Bound *b = &c.bound;
    c.exec = e;
    b->args = arguments_of(e, in, nin, out, nout);
    b->workspace = ws;
    b->encoders = cuda_encoders(e->place->cuda);
    ArgumentReport *fit = &b->fit;
    Status s = arguments_check(&b->args, fit);
    if (!s && !fit->empty) c.exec = taken(e, fit, &(Room){ws, ws_bytes});
    if (!s && !fit->empty) s = bound_workspace(b, workspace_of(c.exec, fit), ws_bytes);
    if (s) return thread_keep(s, fit->why, *fit->hint ? fit->hint : NULL, NULL);
    if (fit->empty) return thread_keep(ST_OK, NULL, NULL, NULL);
    b->args.te = c.exec->kernel->plans->set.te;
    RollerStatus launched = launch_all(&c, stream);
    if (!launched) atomic_fetch_add_explicit(&c.exec->shared->launches, 1, memory_order_relaxed);
    return launched;
}
