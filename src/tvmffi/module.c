/* libroller_tvm_ffi.so: roller for hosts that speak TVM-FFI, over roller.h (docs/host-tvm-ffi.md).
 *
 *   compile(te, profile=None, sizes=None)   a function of inputs and scalars, then outputs
 *   read(json, cubin, ptx)                  the same of a kernel's files, without NVRTC
 *
 * Tensors in host memory are computed in the simulator, those on a device there, in the
 * environment's stream.  Nothing here is shared by calls but what a function has loaded, which is a
 * list that only grows: there is no lock.  */
#include <dlfcn.h>
#include <roller.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/artefact/launcher/tvm_ffi.h"

enum { WORKSPACE_ALIGN = 256, MOST_SIZES = 256, CPU = 1, CUDA = 2 };

/* ---- errors ---- */
static const char *kind_of(RollerStatus s) {
    switch (s) {
    case ROLLER_TE: case ROLLER_PROFILE: case ROLLER_PLAN_TEXT: case ROLLER_USAGE:
    case ROLLER_ARGS: case ROLLER_RANK: case ROLLER_SIZE: case ROLLER_STRIDE: case ROLLER_ALIGN:
    case ROLLER_NULLPTR: case ROLLER_WORKSPACE: return "ValueError";
    case ROLLER_DTYPE: return "TypeError";
    case ROLLER_NOMEM: return "MemoryError";
    default: return "RuntimeError";
    }
}

/* What roller says, with source lines and carets where there are some.  */
static int fail(const RollerCtx *ctx, RollerStatus s) {
    const RollerError *e = roller_error(ctx);
    const char *kind = kind_of(s);
    if (!e) return ffi_raise(kind, "%s", roller_status_name(s));
    if (e->rendered && *e->rendered) {
        TVMFFIErrorSetRaisedFromCStr(kind, e->rendered);
        return -1;
    }
    return ffi_raise(kind, "%s%s%s", e->message, e->hint ? "; " : "", e->hint ? e->hint : "");
}

/* ---- a kernel as a function ---- */
typedef struct {
    RollerKernel *kernel;
    int n_in, n_out;
    FfiLoaded *_Atomic loaded;            /* RollerExec by device */
} Callable;

static void callable_end(void *self) {
    Callable *c = self;
    FfiLoaded *x = c->loaded, *next;
    for (; x; x = next) {
        next = x->next;
        roller_exec_destroy(x->what);
        free(x);
    }
    roller_kernel_destroy(c->kernel);
    free(c);
}

static RollerExec *exec_on(Callable *c, int device, RollerStatus *s) {
    RollerExec *e = ffi_find(&c->loaded, (uintptr_t)device), *used;
    *s = e ? ROLLER_OK : roller_load(c->kernel, device, &e);
    if (*s || ffi_find(&c->loaded, (uintptr_t)device) == e) return e;
    used = ffi_add(&c->loaded, (uintptr_t)device, e);
    if (used != e) roller_exec_destroy(e);
    if (!used) *s = ROLLER_NOMEM;
    return used;
}

static int launch(Callable *c, RollerTensor *t, int device) {
    RollerStatus s;
    FfiRoom room;
    size_t bytes = 0;
    void *stream = ffi_stream(device);
    const RollerExec *e = exec_on(c, device, &s);
    RollerTensor *out = t + c->n_in;
    if (!s) s = roller_workspace(e, t, c->n_in, out, c->n_out, &bytes);
    if (s) return fail(NULL, s);
    if (ffi_room(&room, device, bytes, WORKSPACE_ALIGN, stream)) return -1;
    s = roller_launch(e, t, c->n_in, out, c->n_out, room.data, bytes, stream);
    ffi_room_end(&room, stream);
    return s ? fail(NULL, s) : 0;
}

static int on_device(Callable *c, RollerTensor *t, int device) {
    int pushed, s = ffi_enter(device, &pushed);
    if (s) return s;
    s = launch(c, t, device);
    ffi_leave(pushed);
    return s;
}

static int on_host(const Callable *c, RollerTensor *t) {
    RollerCtx *ctx = NULL;
    RollerStatus s = roller_ctx_create(NULL, &ctx);
    int code;
    if (!s) s = roller_simulate(ctx, c->kernel, t, c->n_in, t + c->n_in, c->n_out);
    code = s ? fail(ctx, s) : 0;
    roller_ctx_destroy(ctx);
    return code;
}

/* Where outputs are made: where the first tensor on a device lies, else in host memory.  */
static const RollerTensor *place_of(const RollerTensor *t, int n) {
    for (int i = 0; i < n; i++)
        if (t[i].device.type != CPU) return &t[i];
    return NULL;
}

static int make_outputs(const Callable *c, RollerTensor *t, FfiAny *made, FfiAny *result) {
    const RollerTensor *place = place_of(t, c->n_in);
    RollerTensor *out = t + c->n_in;
    int64_t (*shape)[8] = calloc((size_t)c->n_out, sizeof *shape);
    RollerStatus s = shape ? ROLLER_OK : ROLLER_NOMEM;
    if (!shape) return ffi_raise("MemoryError", "no memory");
    memset(out, 0, sizeof *out * (size_t)c->n_out);
    for (int i = 0; i < c->n_out; i++) {
        out[i].shape = shape[i];
        out[i].device.type = place ? place->device.type : CPU;
        out[i].device.id = place ? place->device.id : 0;
    }
    s = roller_infer(c->kernel, t, c->n_in, out, c->n_out);
    int code = s ? fail(NULL, s) : ffi_outputs(out, c->n_out, made, result);
    free(shape);
    return code;
}

static int run(Callable *c, RollerTensor *t, const FfiAny *args, int n, FfiAny *room,
               FfiAny *result) {
    const RollerOp *op = roller_kernel_op(c->kernel);
    int s = 0;
    for (int i = 0; i < n && !s; i++) {
        RollerArg a = {.struct_size = sizeof a};
        roller_op_arg(op, i, &a);
        s = ffi_take(&args[i], i, a.role == ROLLER_SCALAR, a.code, a.bits,
                     (uint64_t *)(void *)&room[i], &t[i]);
    }
    if (!s && n == c->n_in) s = make_outputs(c, t, room + n, result);
    if (s) return s;
    const RollerTensor *place = place_of(t, c->n_in + c->n_out);
    s = place ? on_device(c, t, place->device.id) : on_host(c, t);
    if (s) ffi_drop(result);
    return s;
}

/* Inputs and scalars as declared, then outputs; without these the result is what is made.  */
static int call(void *self, const FfiAny *args, int32_t n, FfiAny *result) {
    Callable *c = self;
    int all = c->n_in + c->n_out, s = ffi_begin(result);
    if (s) return s;
    if (n != c->n_in && n != all)
        return ffi_raise("TypeError", "%d inputs and %d outputs are taken, not %d arguments",
                         c->n_in, c->n_out, n);
    RollerTensor *t = calloc((size_t)all, sizeof *t);
    FfiAny *room = calloc((size_t)all, sizeof *room);
    s = t && room ? run(c, t, args, n, room, result) : ffi_raise("MemoryError", "no memory");
    free(room);
    free(t);
    return s;
}

/* The function of a kernel, which it owns from here on.  */
static int give(RollerKernel *k, FfiAny *result) {
    const RollerOp *op = roller_kernel_op(k);
    Callable *c = calloc(1, sizeof *c);
    if (!c) {
        roller_kernel_destroy(k);
        return ffi_raise("MemoryError", "no memory");
    }
    c->kernel = k;
    for (int i = 0; i < roller_op_args(op); i++) {
        RollerArg a = {.struct_size = sizeof a};
        roller_op_arg(op, i, &a);
        if (a.role == ROLLER_OUTPUT) c->n_out++;
        else c->n_in++;
    }
    if (TVMFFIFunctionCreate(c, call, callable_end, &result->v.pointer)) {
        callable_end(c);
        return -1;
    }
    result->type = FFI_FUNCTION;
    return 0;
}

/* ---- the module's own functions ---- */
/* The bytes of a string or of bytes; NULL: it is neither.  A string ends with a NUL.  */
static const char *bytes_of(const FfiAny *a, size_t *size) {
    if (a->type == FFI_RAW_STR) {
        *size = strlen(a->v.pointer);
        return a->v.pointer;
    }
    if (a->type == FFI_SMALL_STR || a->type == FFI_SMALL_BYTES) {
        *size = a->length;
        return a->v.small;
    }
    if (a->type != FFI_STR && a->type != FFI_BYTES) return NULL;
    const FfiBytes *b = ffi_behind(a);
    *size = b->size;
    return b->data;
}

/* Text i of the arguments, "" if it is None or left out; NULL, and an error, if it is no text.  */
static const char *text_at(const FfiAny *args, int n, int i, const char *what) {
    size_t size;
    if (i >= n || args[i].type == FFI_NONE) return "";
    const char *text = bytes_of(&args[i], &size);
    if (!text) ffi_raise("TypeError", "%s is a string", what);
    return text;
}

/* "M=64, N=1..4096%8" in its parts; its text is changed.  */
static int parts_of(char *text, const char **part) {
    int n = 0;
    char *rest = text;
    for (char *at = strtok_r(text, ", ", &rest); at && n < MOST_SIZES;
         at = strtok_r(NULL, ", ", &rest))
        part[n++] = at;
    return n;
}

static RollerStatus compile(RollerCtx *ctx, const char *te, const char *profile, char *sizes,
                            RollerKernel **k) {
    const char *define[MOST_SIZES];
    RollerParseOptions parse = {.struct_size = sizeof parse, .defines = define};
    RollerProfile *gpu = NULL;
    RollerOp *op = NULL;
    parse.n_defines = parts_of(sizes, define);
    RollerStatus s = roller_profile_load(ctx, *profile ? profile : NULL, &gpu);
    if (!s) s = roller_parse(ctx, te, strlen(te), "<expression>", &parse, &op);
    if (!s) s = roller_compile(ctx, op, gpu, NULL, k);
    roller_op_destroy(op);
    roller_profile_destroy(gpu);
    return s;
}

#define EXPORT __attribute__((visibility("default")))
EXPORT int __tvm_ffi_compile(void *self, const FfiAny *args, int32_t n, FfiAny *result);
EXPORT int __tvm_ffi_read(void *self, const FfiAny *args, int32_t n, FfiAny *result);

int __tvm_ffi_compile(void *self, const FfiAny *args, int32_t n, FfiAny *result) {
    RollerCtxOptions o = {.struct_size = sizeof o, .cache = 1, .program = "roller"};
    RollerCtx *ctx = NULL;
    RollerKernel *k = NULL;
    (void)self;
    if (ffi_begin(result)) return -1;
    if (n < 1 || n > 3) return ffi_raise("TypeError", "compile(te, profile=None, sizes=None)");
    const char *te = text_at(args, n, 0, "te"), *profile = text_at(args, n, 1, "profile");
    const char *given = text_at(args, n, 2, "sizes");
    if (!te || !profile || !given) return -1;
    char *sizes = strdup(given);
    RollerStatus s = sizes ? roller_ctx_create(&o, &ctx) : ROLLER_NOMEM;
    if (!s) s = compile(ctx, te, profile, sizes, &k);
    int code = s ? fail(ctx, s) : give(k, result);
    roller_ctx_destroy(ctx);
    free(sizes);
    return code;
}

int __tvm_ffi_read(void *self, const FfiAny *args, int32_t n, FfiAny *result) {
    RollerKernelFiles files = {.struct_size = sizeof files};
    RollerCtx *ctx = NULL;
    RollerKernel *k = NULL;
    (void)self;
    if (ffi_begin(result)) return -1;
    if (n == 3) {
        files.json = bytes_of(&args[0], &files.json_len);
        files.cubin = bytes_of(&args[1], &files.cubin_len);
        files.ptx = bytes_of(&args[2], &files.ptx_len);
    }
    if (!files.json || !files.cubin || !files.ptx)
        return ffi_raise("TypeError", "read(json, cubin, ptx) takes three strings or bytes");
    RollerStatus s = roller_ctx_create(NULL, &ctx);
    if (!s) s = roller_kernel_read(ctx, &files, &k);
    int code = s ? fail(ctx, s) : give(k, result);
    roller_ctx_destroy(ctx);
    return code;
}
