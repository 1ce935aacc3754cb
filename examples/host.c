/* A host that launches roller's kernels itself: its own driver calls, context, stream and memory.
 *
 *   roller-gen --profile h200 --emit cubin,json -D M=512 -D N=256 -D K=128 matmul.te -o matmul.cubin
 *   host matmul.json matmul.cubin
 *
 * It takes the description and the code, cubin or PTX, of a product of matrices, multiplies two of
 * them, and compares one row.  It needs neither NVRTC nor CUDA's headers.
 *
 *   cc -std=c11 host.c -lroller -ldl  */
#include <dlfcn.h>
#include <roller.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the host calls of the driver ---- */
typedef struct {
    int id, zero;
    union {
        uint32_t cluster[3];
        int number;
        char room[64];
    } value;
} Attribute;
typedef struct {
    uint32_t grid[3], block[3], dynamic_smem;
    void *stream;
    Attribute *attribute;
    uint32_t n_attribute;
} Config;
static struct {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*use)(void *);
    int (*stream)(void **, unsigned);
    int (*wait)(void *);
    int (*memory)(uint64_t *, size_t);
    int (*put)(uint64_t, const void *, size_t);
    int (*get)(void *, uint64_t, size_t);
    int (*module)(void **, const void *);
    int (*function)(void **, void *, const char *);
    int (*set)(void *, int, int);
    int (*launch)(const Config *, void *, void **, void **);
    void (*tiled)(void);
    void (*im2col)(void);
} cu;

static void find(void *library, const char *name, void *to) {
    void *at = dlsym(library, name);
    if (!at) exit((fprintf(stderr, "the driver has no %s\n", name), 3));
    memcpy(to, &at, sizeof at);
}

static void open_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) exit((fprintf(stderr, "%s\n", dlerror()), 3));
    find(library, "cuInit", &cu.init);
    find(library, "cuDevicePrimaryCtxRetain", &cu.retain);
    find(library, "cuCtxSetCurrent", &cu.use);
    find(library, "cuStreamCreate", &cu.stream);
    find(library, "cuStreamSynchronize", &cu.wait);
    find(library, "cuMemAlloc_v2", &cu.memory);
    find(library, "cuMemcpyHtoD_v2", &cu.put);
    find(library, "cuMemcpyDtoH_v2", &cu.get);
    find(library, "cuModuleLoadData", &cu.module);
    find(library, "cuModuleGetFunction", &cu.function);
    find(library, "cuFuncSetAttribute", &cu.set);
    find(library, "cuLaunchKernelEx", &cu.launch);
    find(library, "cuTensorMapEncodeTiled", &cu.tiled);
    find(library, "cuTensorMapEncodeIm2col", &cu.im2col);
}

static void need(int code, const char *what) {
    if (code) exit((fprintf(stderr, "%s failed: %d\n", what, code), 3));
}

/* A whole file, with a NUL behind it.  */
static char *file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    *size = 0;
    if (!f) exit((perror(path), 2));
    for (size_t room = 1 << 16, got = 1; got; *size += got, room *= 2) {
        text = realloc(text, room + 1);
        if (!text) exit(3);
        got = fread(text + *size, 1, room - *size, f);
    }
    fclose(f);
    text[*size] = 0;
    return text;
}

static void *allocate(size_t bytes) {
    uint64_t at = 0;
    if (bytes) need(cu.memory(&at, bytes), "cuMemAlloc");
    return (void *)(uintptr_t)at;
}

/* ---- from a kernel and tensors to launches ---- */
static void launch(const RollerBinding *binding, void *module, void *stream) {
    enum { MAX_DYNAMIC_SMEM = 8, CLUSTER = 4, OVERLAP = 6 };
    for (int i = 0; i < roller_binding_launches(binding); i++) {
        RollerLaunch l = {.struct_size = sizeof l};
        void *function;
        roller_binding_launch(binding, i, &l);
        need(cu.function(&function, module, l.symbol), "cuModuleGetFunction");
        if (l.dynamic_smem)
            need(cu.set(function, MAX_DYNAMIC_SMEM, (int)l.dynamic_smem), "cuFuncSetAttribute");
        Attribute at[2] = {{.id = CLUSTER}, {.id = OVERLAP, .value.number = 1}};
        memcpy(at[0].value.cluster, l.cluster, sizeof l.cluster);
        Config c = {.dynamic_smem = l.dynamic_smem, .stream = stream, .attribute = at,
                    .n_attribute = l.overlap ? 2 : 1};
        memcpy(c.grid, l.grid, sizeof c.grid);
        memcpy(c.block, l.block, sizeof c.block);
        need(cu.launch(&c, function, l.params, NULL), "cuLaunchKernelEx");
    }
}

static void fail(const RollerError *e) {
    exit((fprintf(stderr, "%s\n", e ? e->message : "roller failed"), 1));
}

static RollerKernel *read_kernel(const char *json) {
    RollerKernelFiles files = {.struct_size = sizeof files};
    RollerCtx *ctx;
    RollerKernel *kernel;
    files.json = file(json, &files.json_len);
    if (roller_ctx_create(NULL, &ctx)) fail(NULL);
    if (roller_kernel_read(ctx, &files, &kernel)) fail(roller_error(ctx));
    return kernel;
}

/* A matrix of f32 on the device, from `data` if that is given.  */
static RollerTensor matrix(int64_t *shape, const float *data) {
    size_t bytes = sizeof *data * (size_t)(shape[0] * shape[1]);
    RollerTensor t = {.data = allocate(bytes), .device = {2, 0}, .ndim = 2, .dtype = {2, 32, 1},
                      .shape = shape};
    if (data) need(cu.put((uint64_t)(uintptr_t)t.data, data, bytes), "cuMemcpyHtoD");
    return t;
}

int main(int argc, char **argv) {
    enum { M = 512, N = 256, K = 128 };
    static float a[M * K], b[K * N], c[M * N];
    void *context, *stream, *module;
    size_t size;
    if (argc != 3) return fputs("host STEM.json STEM.cubin\n", stderr), 2;
    open_driver();
    need(cu.init(0), "cuInit");
    need(cu.retain(&context, 0), "cuDevicePrimaryCtxRetain");
    need(cu.use(context), "cuCtxSetCurrent");
    need(cu.stream(&stream, 1), "cuStreamCreate");
    need(cu.module(&module, file(argv[2], &size)), "cuModuleLoadData");
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 2);

    RollerKernel *kernel = read_kernel(argv[1]);
    int64_t mk[] = {M, K}, kn[] = {K, N}, mn[] = {M, N};
    RollerTensor in[] = {matrix(mk, a), matrix(kn, b)}, out = matrix(mn, NULL);
    RollerBindOptions options = {.struct_size = sizeof options, .encode_tiled = cu.tiled,
                                 .encode_im2col = cu.im2col};
    RollerBinding *binding;
    if (roller_bind_workspace(kernel, in, 2, &out, 1, &options.workspace_bytes))
        fail(roller_error(NULL));
    options.workspace = allocate(options.workspace_bytes);
    if (roller_bind(kernel, in, 2, &out, 1, &options, &binding)) fail(roller_error(NULL));
    launch(binding, module, stream);      /* as often as you like */

    need(cu.wait(stream), "cuStreamSynchronize");
    need(cu.get(c, (uint64_t)(uintptr_t)out.data, sizeof c), "cuMemcpyDtoH");
    for (int n = 0; n < N; n++) {
        float want = 0;
        for (int k = 0; k < K; k++) want += a[(M - 1) * K + k] * b[k * N + n];
        if (c[(M - 1) * N + n] != want) return puts("wrong"), 5;
    }
    printf("%d launches, the last row is right\n", roller_binding_launches(binding));
    roller_binding_destroy(binding);
    roller_kernel_destroy(kernel);
    return 0;
}
