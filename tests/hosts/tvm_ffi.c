/* Modules of TVM-FFI in an environment that this program plays: a version, a stream, an allocator
 * and errors of its own, on the simulated driver.
 *
 *   tvm_ffi LIBRARY NARROW WIDE    libroller_tvm_ffi.so, emitted modules of `mm` and `chain`
 *   tvm_ffi LIBRARY                says what a call of it raises
 *
 * ENV_VERSION is the environment's version, "0.1.0".  Prints TAP.  */
#include <dlfcn.h>
#include <pthread.h>
#include <roller.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/artefact/launcher/tvm_ffi.h"

static void is(int right, const char *what) { printf("%s - %s\n", right ? "ok" : "not ok", what); }

/* ---- the environment ---- */
static _Thread_local char raised[8192];
static atomic_int allocations, living;
static void *stream;
static int allocates;
static int (*memory)(uint64_t *, size_t);
typedef struct {
    FfiObject head;
    RollerTensor tensor;
    int64_t shape[8];
    uint64_t at;
} Tensor;
typedef struct {
    FfiObject head;
    void *self;
    FfiCall call;
    void (*end)(void *);
} Function;

void TVMFFIGetVersion(FfiVersion *out) {
    const char *v = getenv("ENV_VERSION");
    if (sscanf(v ? v : "0.1.0", "%u.%u.%u", &out->major, &out->minor, &out->patch) != 3) abort();
}
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
    snprintf(raised, sizeof raised, "%s: %s", kind, message);
}
int TVMFFIObjectDecRef(void *p) {
    FfiObject *o = p;
    if (--o->references) return 0;
    if (o->type == FFI_FUNCTION) ((Function *)p)->end(((Function *)p)->self);
    if (o->type == FFI_TENSOR) living--;
    free(p);
    return 0;
}
int TVMFFIFunctionCreate(void *self, FfiCall call, void (*end)(void *), void **out) {
    Function *f = calloc(1, sizeof *f);
    *f = (Function){{1, FFI_FUNCTION, 0, NULL}, self, call, end};
    *out = f;
    return 0;
}
int TVMFFIFunctionGetGlobal(const FfiBytes *name, void **out) {
    (void)name;
    *out = NULL;
    return ffi_raise("LookupError", "no arrays here");
}
int TVMFFIFunctionCall(void *function, FfiAny *args, int32_t n, FfiAny *out) {
    Function *f = function;
    return f->call(f->self, args, n, out);
}
void *TVMFFIEnvGetStream(int32_t type, int32_t id) { return type == 2 && id == 0 ? stream : NULL; }
void *TVMFFIEnvGetDLPackManagedTensorAllocator(void) { return allocates ? &allocates : NULL; }
/* Addresses that are good for 128 bytes alone, as some environments give.  */
int TVMFFIEnvTensorAlloc(RollerTensor *like, void **out) {
    Tensor *t = calloc(1, sizeof *t);
    int64_t n = 1;
    t->head = (FfiObject){1, FFI_TENSOR, 0, NULL};
    t->tensor = *like;
    t->tensor.shape = t->shape;
    memcpy(t->shape, like->shape, sizeof *t->shape * (size_t)like->ndim);
    for (int i = 0; i < like->ndim; i++) n *= like->shape[i];
    if (memory(&t->at, (size_t)n * like->dtype.bits / 8 + 128)) return -1;
    t->tensor.data = (void *)(uintptr_t)(t->at + 128);
    allocations++;
    living++;
    *out = t;
    return 0;
}

/* ---- a host ---- */
static void *cuda;
static void find(void *library, const char *name, void *to) {
    void *at = dlsym(library, name);
    if (!at) exit((printf("not ok - there is %s\n", name), 1));
    memcpy(to, &at, sizeof at);
}

static FfiCall function_of(const char *file, const char *name) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    FfiCall call;
    if (!library) exit((printf("not ok - %s\n", dlerror()), 1));
    find(library, name, &call);
    return call;
}

enum { M = 12, K = 32, N = 48 };
static float a[M * K], b[K * N], c[M * N];
static int64_t mk[] = {M, K}, kn[] = {K, N}, mn[] = {M, N};
static int (*put)(uint64_t, const void *, size_t), (*get)(void *, uint64_t, size_t);

static RollerTensor host(float *data, int64_t *shape) {
    return (RollerTensor){.data = data, .device = {1, 0}, .ndim = 2, .dtype = {2, 32, 1},
                          .shape = shape};
}

static RollerTensor device(const float *data, int64_t *shape) {
    uint64_t at = 0;
    size_t bytes = sizeof *data * (size_t)(shape[0] * shape[1]);
    RollerTensor t = host(NULL, shape);
    if (memory(&at, bytes) || put(at, data, bytes)) exit((puts("not ok - memory"), 1));
    t.data = (void *)(uintptr_t)at;
    t.device.type = 2;
    return t;
}

static FfiAny tensor(RollerTensor *t) {
    FfiAny x = {FFI_DL_TENSOR, 0, {0}};
    x.v.pointer = t;
    return x;
}

static FfiAny number(double v) {
    FfiAny x = {FFI_FLOAT, 0, {0}};
    x.v.real = v;
    return x;
}

static FfiAny text(const char *s) {
    FfiAny x = {FFI_RAW_STR, 0, {0}};
    x.v.pointer = (void *)(uintptr_t)s;
    return x;
}

/* Is it `times` A B?  */
static int product(const RollerTensor *t, float times) {
    if (t->device.type == 2 && get(c, (uint64_t)(uintptr_t)t->data, sizeof c)) return 0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float want = 0;
            for (int k = 0; k < K; k++) want += a[m * K + k] * b[k * N + n];
            if (c[m * N + n] != times * want) return 0;
        }
    return 1;
}

static int says(const char *what) {
    if (strstr(raised, what)) return 1;
    printf("# raised: %s\n", raised);
    return 0;
}

/* The function `mm`, whoever made it.  */
static void tries(FfiCall mm, void *self) {
    FfiAny result;
    RollerTensor x = device(a, mk), y = device(b, kn), z = device(c, mn), here = host(c, mn);
    FfiAny args[4] = {tensor(&x), tensor(&y), number(2), tensor(&z)};
    is(!mm(self, args, 4, &result) && product(&z, 2), "it computes into what it is given");
    allocates = 1;
    living = 0;
    is(!mm(self, args, 3, &result) && result.type == FFI_TENSOR &&
       product(ffi_tensor(&result), 2), "and into what the environment makes");
    ffi_drop(&result);
    is(living == 0, "which ends with its owner");
    allocates = 0;
    is(mm(self, args, 3, &result) == -1 && says("ValueError") && says("outputs must be given"),
       "outputs without an allocator are refused");
    is(mm(self, args, 1, &result) == -1 && says("TypeError"), "too few arguments are refused");
    args[2] = text("2");
    is(mm(self, args, 4, &result) == -1 && says("argument 2 is no number"), "so is a text");
    args[2] = number(2);
    args[0] = tensor(&y);
    is(mm(self, args, 4, &result) == -1 && says("ValueError"), "so are shapes that differ");
    args[0] = tensor(&x);
    args[3] = tensor(&here);
    is(mm(self, args, 4, &result) == -1 && says("ValueError"), "so are tensors of two places");
    x.dtype.bits = 16;
    args[3] = tensor(&z);
    is(mm(self, args, 4, &result) == -1 && says("TypeError"), "so is another type");
}

/* Two kernels, which hand each other the workspace.  */
static void needs_workspace(FfiCall chain, void *self) {
    static float eye[N * N];
    static int64_t nn[] = {N, N};
    FfiAny result;
    for (int i = 0; i < N; i++) eye[i * N + i] = 1;
    RollerTensor x = device(a, mk), y = device(b, kn), w = device(eye, nn), z = device(c, mn);
    FfiAny args[4] = {tensor(&x), tensor(&y), tensor(&w), tensor(&z)};
    is(!chain(self, args, 4, &result) && product(&z, 1), "workspace in the order of the stream");
    allocates = 1;
    allocations = living = 0;
    is(!chain(self, args, 4, &result) && product(&z, 1) && allocations == 1 && living == 0,
       "workspace of the environment, which has it back");
    allocates = 0;
}

/* ---- threads that come at once, none of which has a context ---- */
typedef struct {
    FfiCall call;
    void *self;
    RollerTensor x, y, z;
    int fails;
} Thread;
static pthread_barrier_t all_here;

static void *thread(void *user) {
    Thread *t = user;
    FfiAny result;
    FfiAny args[4] = {tensor(&t->x), tensor(&t->y), number(1), tensor(&t->z)};
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < 4; i++) t->fails += t->call(t->self, args, 4, &result) != 0;
    return NULL;
}

static void at_once(FfiCall call, void *self) {
    enum { THREADS = 4 };
    pthread_t id[THREADS];
    Thread t[THREADS];
    int fails = 0;
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        t[i] = (Thread){call, self, device(a, mk), device(b, kn), device(c, mn), 0};
        pthread_create(&id[i], NULL, thread, &t[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(id[i], NULL);
        fails += t[i].fails || !product(&t[i].z, 1);
    }
    is(fails == 0, "threads that call it first, all at once");
}

static const char op[] =
    "param M = 1..64; op mm(A: f32[M,32], B: f32[32,48], s: f32) -> C: f32[M,48] "
    "{ t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] * s; }";

int main(int argc, char **argv) {
    FfiAny made, result, args[3] = {text(op), text("a100"), {0}};
    FfiCall compile = function_of(argv[1], "__tvm_ffi_compile");
    if (argc == 2) return compile(NULL, args, 3, &made) ? puts(raised) < 0 : 1;
    cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned), (*create)(void **, unsigned), (*use)(void *), (*retain)(void **, int);
    void *context;
    find(cuda, "cuInit", &init);
    find(cuda, "cuMemAlloc_v2", &memory);
    find(cuda, "cuMemcpyHtoD_v2", &put);
    find(cuda, "cuMemcpyDtoH_v2", &get);
    find(cuda, "cuStreamCreate", &create);
    find(cuda, "cuCtxSetCurrent", &use);
    find(cuda, "cuDevicePrimaryCtxRetain", &retain);
    if (init(0) || retain(&context, 0) || use(context) || create(&stream, 0)) return 1;
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 2);

    puts("# a module that roller-gen emits");
    tries(function_of(argv[2], "__tvm_ffi_mm"), NULL);
    needs_workspace(function_of(argv[3], "__tvm_ffi_chain"), NULL);
    puts("# the library");
    is(!compile(NULL, args, 3, &made) && made.type == FFI_FUNCTION, "it compiles");
    Function *f = made.v.pointer;
    at_once(f->call, f->self);
    tries(f->call, f->self);
    RollerTensor x = host(a, mk), y = host(b, kn), z = host(c, mn);
    FfiAny hosted[4] = {tensor(&x), tensor(&y), number(3), tensor(&z)};
    is(!f->call(f->self, hosted, 4, &result) && product(&z, 3), "host memory is simulated");
    ffi_drop(&made);
    args[0] = text("op f(A: f32[4]) -> C: f32[4] { C[i] = A[i+1]; }");
    is(compile(NULL, args, 3, &made) == -1 && says("ValueError: <expression>:1:39: error:") &&
       says("\n                                        ^\n"), "errors have carets");
    args[0] = text("op f(A: f32[N]) -> C: f32[N] { C[i] = A[i]; }");
    args[2] = text("N=8");
    is(compile(NULL, args, 3, &made) == -1 && says("'N'"), "sizes must be declared");
    args[0] = text("param N; op f(A: f32[N]) -> C: f32[N] { C[i] = A[i]; }");
    is(!compile(NULL, args, 3, &made), "and are then given");
    ffi_drop(&made);
    is(compile(NULL, args, 0, &made) == -1 && says("compile(te"), "a call needs its text");
    return 0;
}
