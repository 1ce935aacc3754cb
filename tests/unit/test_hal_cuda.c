/* links: hal */
/* The driver layer over the simulated driver: every call works, and every call fails with its name,
 * the driver's code and the right status.  */
#include "hal/cuda_api.h"
#include "simulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char library[4096];

static int setup(void **state) {
    (void)state;
    simulated_setup("profiles/h200.json,profiles/tiny.json");
    simulated_path("simdriver/libcuda.so.1", library, sizeof library);
    setenv("ROLLER_SIM_MEMORY", "268435456", 1);
    return 0;
}

static const char kernel_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry twice(.param .u64 p) {\n"
    "  .reg .u64 %a; .reg .u32 %v; .reg .u32 %t; .reg .u64 %o;\n"
    "  ld.param.u64 %a, [p];\n  mov.u32 %t, %tid.x;\n  mul.wide.u32 %o, %t, 4;\n"
    "  add.u64 %a, %a, %o;\n  ld.global.u32 %v, [%a];\n  add.u32 %v, %v, %v;\n"
    "  st.global.u32 [%a], %v;\n  ret;\n}\n";

typedef struct {
    Arena *a;
    Diag d;
    Cuda *cuda;
    CudaContext *x;
} Fixture;

/* Everything the layer does, once; the first error.  */
static Status everything(Fixture *f) {
    Arena *a = f->a;
    Diag *d = &f->d;
    CudaDeviceInfo info;
    Status s = cuda_open(a, d, NULL, &f->cuda);
    if (!s) s = cuda_device_find(f->cuda, a, d, "0", &info);
    if (!s) s = cuda_context(f->cuda, a, d, 0, &f->x);
    if (!s) s = cuda_enter(f->x, a, d);
    if (s) return s;
    CudaContext *x = f->x;
    uint32_t v[32], back[32] = {0};
    for (uint32_t i = 0; i < 32; i++) v[i] = i;
    CudaAddress at;
    CudaStream stream;
    CudaEvent from, to;
    CudaFlush flush = {0};
    CudaModule *module;
    CudaKernel k;
    size_t available;
    double us = -1;
    int resident = 0;
    s = cuda_memory_free(x, d, &available);
    if (!s) s = cuda_alloc(x, a, d, sizeof v, &at);
    if (!s) s = cuda_fill(x, d, NULL, at, 0xff, sizeof v);
    if (!s) s = cuda_write(x, d, at, v, sizeof v);
    if (!s) s = cuda_stream(x, a, d, &stream);
    if (!s) s = cuda_event(x, a, d, &from);
    if (!s) s = cuda_event(x, a, d, &to);
    if (!s) s = cuda_flush_create(x, a, d, false, &flush);
    if (!s) s = cuda_load(x, a, d, &(CudaImage){.ptx = kernel_ptx}, &module);
    if (!s) s = cuda_kernel(module, d, "twice", &k);
    if (!s) s = cuda_kernel_smem(&k, d, 100000);
    if (!s) s = cuda_kernel_preload(&k, d);
    if (!s) s = cuda_blocks_per_sm(&k, d, 32, 0, &resident);
    if (s) return s;
    assert_true(resident > 0 && available > 0);
    void *param[] = {&at};
    CudaLaunch plain = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    CudaLaunch wide = {.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}};
    s = cuda_clusters(&k, d, &wide, &resident);
    if (!s) s = cuda_flush(x, d, stream, &flush);
    if (!s) s = cuda_event_record(x, d, from, stream);
    if (!s) s = cuda_launch(&k, d, &plain, param, stream);
    if (!s) s = cuda_event_record(x, d, to, stream);
    if (!s) s = cuda_event_wait(x, d, to);
    if (!s) s = cuda_elapsed_us(x, d, from, to, &us);
    CudaGraph graph;
    if (!s) s = cuda_spare_captures(f->cuda, a, d);
    if (!s) s = cuda_graph_begin(x, d, stream);
    if (!s) s = cuda_launch(&k, d, &plain, param, stream);
    if (!s) s = cuda_graph_end(x, a, d, stream, &graph);
    if (!s) s = cuda_graph_launch(x, d, graph, stream);
    if (!s) s = cuda_graph_launch(x, d, graph, stream);
    plain.overlap = true;
    if (!s) s = cuda_launch(&k, d, &plain, param, stream);
    if (!s) s = cuda_stream_wait(x, d, stream);
    if (!s) s = cuda_synchronize(x, d);
    if (!s) s = cuda_read(x, d, back, at, sizeof back);
    if (s) return s;
    assert_true(us > 0);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(back[i], 16 * i);
    TensorMap shape = {.type = 7, .rank = 2, .address = at, .dim = {4, 4}, .stride = {16},
                          .element_stride = {1, 1}, .box = {4, 4}};
    TensorMap windows = {.type = 7, .rank = 3, .address = at, .dim = {4, 2, 2},
                            .stride = {16, 32}, .element_stride = {1, 1, 1}, .im2col = true,
                            .channels = 4, .pixels = 2};
    CudaTensorMap map;
    s = cuda_tensor_map(f->cuda, d, &shape, &map);
    return s ? s : cuda_tensor_map(f->cuda, d, &windows, &map);
}

/* Runs in a child, so that each case has a driver of its own; its message comes back by `said`.  */
typedef struct {
    Status status;
    char message[600], hint[300];
} Outcome;

static Outcome run(const char *faults, Status (*body)(Fixture *f)) {
    int end[2];
    Outcome out = {.status = ST_INTERNAL};
    assert_int_equal(pipe(end), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (faults) setenv("ROLLER_SIM_FAULTS", faults, 1);
        Fixture f = {.a = arena_create(NULL)};
        f.d = diag_new(f.a);
        Outcome o = {.status = body(&f)};
        const DiagMessage *m = diag_first_error(&f.d);
        snprintf(o.message, sizeof o.message, "%s", m ? m->message : "");
        snprintf(o.hint, sizeof o.hint, "%s", m && m->hint ? m->hint : "");
        arena_destroy(f.a);
        _exit(write(end[1], &o, sizeof o) == sizeof o ? 0 : 1);
    }
    close(end[1]);
    ssize_t n = read(end[0], &out, sizeof out);
    close(end[0]);
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(n, sizeof out);
    assert_int_equal(status, 0);
    return out;
}

static void works(void **state) {
    (void)state;
    Outcome o = run(NULL, everything);
    if (o.status) fail_msg("%s", o.message);
    o = run("missing=cuLibraryLoadData", everything);
    if (o.status) fail_msg("without libraries: %s", o.message);
}

/* What a failure of a function comes to.  */
typedef enum {
    TOLD,                     /* `everything` fails and names it */
    TOLD_OF_MODULES,          /* so too, with a driver that has no libraries */
    RELEASES,                 /* of what is given back: nothing can be done, nothing breaks */
    NAMES                     /* of texts: the code is told without them */
} Fate;

static const struct {
    const char *name;
    Fate fate;
} call[] = {
    {"cuInit", TOLD}, {"cuDeviceGetCount", TOLD}, {"cuDeviceGet", TOLD}, {"cuDeviceGetName", TOLD},
    {"cuDeviceGetUuid", TOLD}, {"cuDeviceTotalMem", TOLD}, {"cuDeviceGetAttribute", TOLD},
    {"cuDevicePrimaryCtxRetain", TOLD}, {"cuCtxPushCurrent", TOLD}, {"cuCtxSynchronize", TOLD},
    {"cuMemGetInfo", TOLD}, {"cuMemAlloc", TOLD}, {"cuMemcpyHtoD", TOLD}, {"cuMemcpyDtoH", TOLD},
    {"cuMemsetD8Async", TOLD}, {"cuStreamCreate", TOLD}, {"cuStreamSynchronize", TOLD},
    {"cuStreamBeginCapture", TOLD}, {"cuStreamEndCapture", TOLD}, {"cuEventCreate", TOLD},
    {"cuEventRecord", TOLD}, {"cuEventSynchronize", TOLD}, {"cuEventElapsedTime", TOLD},
    {"cuGraphInstantiateWithFlags", TOLD}, {"cuGraphLaunch", TOLD}, {"cuGraphDestroy", TOLD},
    {"cuFuncGetAttribute", TOLD}, {"cuLaunchKernel", TOLD}, {"cuLaunchKernelEx", TOLD},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", TOLD},
    {"cuOccupancyMaxActiveClusters", TOLD}, {"cuLibraryLoadData", TOLD},
    {"cuLibraryGetKernel", TOLD}, {"cuKernelGetFunction", TOLD}, {"cuKernelSetAttribute", TOLD},
    {"cuFuncLoad", TOLD}, {"cuTensorMapEncodeTiled", TOLD}, {"cuTensorMapEncodeIm2col", TOLD},
    {"cuThreadExchangeStreamCaptureMode", TOLD},
    {"cuModuleLoadDataEx", TOLD_OF_MODULES}, {"cuModuleGetFunction", TOLD_OF_MODULES},
    {"cuFuncSetAttribute", TOLD_OF_MODULES},
    {"cuModuleUnload", RELEASES}, {"cuLibraryUnload", RELEASES}, {"cuMemFree", RELEASES},
    {"cuStreamDestroy", RELEASES}, {"cuEventDestroy", RELEASES}, {"cuGraphExecDestroy", RELEASES},
    {"cuCtxPopCurrent", RELEASES}, {"cuDevicePrimaryCtxRelease", RELEASES},
    {"cuCtxGetDevice", RELEASES},
    {"cuGetErrorName", NAMES}, {"cuGetErrorString", NAMES},
};
enum { CALLS = sizeof call / sizeof *call };

static void no_call_is_left_out(void **state) {
    (void)state;
    static const char *const used[] = {
#define X(name, since, need, parameters) #name,
        CUDA_API(X)
#undef X
    };
    assert_int_equal(sizeof used / sizeof *used, CALLS);
    for (size_t i = 0; i < CALLS; i++) {
        int found = 0;
        for (size_t k = 0; k < CALLS; k++) found += strcmp(used[i], call[k].name) == 0;
        if (found != 1) fail_msg("%s is tested %d times", used[i], found);
    }
}

static void every_call_can_fail(void **state) {
    (void)state;
    static const char *const with[] = {
        [TOLD] = "", [TOLD_OF_MODULES] = ";missing=cuLibraryLoadData", [RELEASES] = "",
        [NAMES] = ";cuMemAlloc=2",
    };
    for (size_t i = 0; i < CALLS; i++) {
        char fault[120];
        const char *name = call[i].name;
        snprintf(fault, sizeof fault, "%s=999%s", name, with[call[i].fate]);
        Outcome o = run(fault, everything);
        bool told = o.status == ST_CUDA && strncmp(o.message, name, strlen(name)) == 0 &&
                    strstr(o.message, "CUDA_ERROR_UNKNOWN (999");
        bool good = call[i].fate == RELEASES ? o.status == ST_OK
                    : call[i].fate == NAMES  ? o.status == ST_CUDA &&
                                                   strstr(o.message, "cuMemAlloc failed: ") &&
                                                   strstr(o.message, "(2")
                                             : told;
        if (!good) fail_msg("%s: status %d, %s", name, o.status, o.message);
    }
    Outcome o = run("cuModuleUnload=999;missing=cuLibraryLoadData", everything);
    assert_int_equal(o.status, ST_OK);
}

/* What is asked before there is a table of functions.  */
static void drivers_that_do_not_begin(void **state) {
    (void)state;
    Outcome o = run("cuDriverGetVersion=999", everything);
    assert_int_equal(o.status, ST_DRIVER);
    assert_non_null(strstr(o.message, "cuDriverGetVersion of "));
    assert_non_null(strstr(o.message, "code 999"));
    o = run("cuGetProcAddress=999", everything);
    assert_int_equal(o.status, ST_DRIVER);
    assert_non_null(strstr(o.message, "has no function cuInit"));
}

static void every_needed_function_is_named(void **state) {
    (void)state;
    static const char *const needed[] = {"cuMemAlloc", "cuLaunchKernel", "cuGraphLaunch",
                                         "cuDeviceGetUuid", "cuModuleLoadDataEx"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        char fault[100], want[100];
        snprintf(fault, sizeof fault, "missing=%s", needed[i]);
        snprintf(want, sizeof want, "has no function %s", needed[i]);
        Outcome o = run(fault, everything);
        assert_int_equal(o.status, ST_DRIVER);
        assert_non_null(strstr(o.message, want));
    }
    Outcome o = run("missing=cuTensorMapEncodeTiled", everything);
    assert_int_equal(o.status, ST_DRIVER);
    assert_non_null(strstr(o.message, "cuTensorMapEncodeTiled"));
}

static void old_drivers(void **state) {
    (void)state;
    Outcome o = run("version=11020", everything);
    assert_int_equal(o.status, ST_DRIVER);
    assert_string_equal(o.message, "the CUDA driver is 11.2; roller needs 11.4 or newer");
    assert_non_null(strstr(o.hint, "470"));
    o = run("version=11040", everything);
    assert_int_equal(o.status, ST_DRIVER);
    assert_non_null(strstr(o.message, "cuOccupancyMaxActiveClusters"));
    assert_non_null(strstr(o.message, "11.7"));
    o = run("version=11080", everything);
    assert_non_null(strstr(o.message, "came with 12.0"));
}

/* What the driver says decides the status and the hint.  */
static void statuses(void **state) {
    (void)state;
    static const struct {
        const char *fault, *hint;
        Status status;
    } row[] = {
        {"cuInit=100", "nvidia-smi", ST_DEVICE},
        {"cuInit=34", "stub", ST_DRIVER},
        {"cuInit=803", "reload", ST_DRIVER},
        {"cuInit=802", "fabricmanager", ST_DRIVER},
        {"cuMemAlloc=2", "memory", ST_CUDA},
        {"cuLibraryLoadData=209", "--arch", ST_ARCH},
        {"cuLibraryLoadData=222", "update the driver", ST_DRIVER},
        {"cuEventSynchronize=700", "outside", ST_CUDA},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Outcome o = run(row[i].fault, everything);
        if (o.status != row[i].status || !strstr(o.hint, row[i].hint))
            fail_msg("%s: status %d, %s; %s", row[i].fault, o.status, o.message, o.hint);
    }
}

static Status no_driver(Fixture *f) {
    setenv("ROLLER_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    return cuda_open(f->a, &f->d, NULL, &f->cuda);
}
static Status relative(Fixture *f) {
    setenv("ROLLER_LIBCUDA", "libcuda.so.1", 1);
    return cuda_open(f->a, &f->d, NULL, &f->cuda);
}
static Status other_library(Fixture *f) {
    return cuda_open(f->a, &f->d, &(CudaOptions){.path = "/lib/x86_64-linux-gnu/libm.so.6"},
                     &f->cuda);
}

static void no_driver_at_all(void **state) {
    (void)state;
    Outcome o = run(NULL, no_driver);
    assert_int_equal(o.status, ST_DRIVER);
    assert_non_null(strstr(o.message, "there is no CUDA driver: /nowhere/libcuda.so.1"));
    assert_non_null(strstr(o.hint, "install the NVIDIA driver"));
    o = run(NULL, relative);
    assert_non_null(strstr(o.message, "must be absolute"));
    o = run(NULL, other_library);
    assert_int_equal(o.status, ST_DRIVER);
}

static Status unknown_device(Fixture *f) {
    CudaDeviceInfo info;
    Status s = cuda_open(f->a, &f->d, NULL, &f->cuda);
    return s ? s : cuda_device_find(f->cuda, f->a, &f->d, "7", &info);
}

static Status by_uuid(Fixture *f) {
    CudaDeviceInfo first, second, found;
    assert_int_equal(cuda_open(f->a, &f->d, NULL, &f->cuda), ST_OK);
    assert_int_equal(cuda_device_count(f->cuda), 2);
    assert_true(cuda_simulated(f->cuda) && cuda_driver_version(f->cuda) == 13000);
    assert_int_equal(cuda_device_info(f->cuda, &f->d, 0, &first), ST_OK);
    assert_int_equal(cuda_device_info(f->cuda, &f->d, 1, &second), ST_OK);
    assert_string_not_equal(first.uuid, second.uuid);
    assert_int_equal(cuda_device_find(f->cuda, f->a, &f->d, second.uuid, &found), ST_OK);
    assert_int_equal(found.index, 1);
    second.uuid[20] = 0;
    assert_int_equal(cuda_device_find(f->cuda, f->a, &f->d, second.uuid + 4, &found), ST_OK);
    assert_int_equal(found.index, 1);
    assert_int_equal(cuda_device_find(f->cuda, f->a, &f->d, "GPU-", &found), ST_DEVICE);
    assert_string_equal(first.arch, "sm_90a");
    assert_string_equal(second.arch, "sm_75");
    DeviceLimits l;
    cuda_limits(&first, &l);
    assert_true(l.sm_count.value == 132 && l.sm_count.origin == ORIGIN_DRIVER);
    assert_true(l.smem_per_block_optin.value == 232448);
    assert_string_equal(l.clock_sm.unit, "MHz");
    cuda_limits(&second, &l);
    assert_true(l.cluster_max.value == 1);
    f->d = diag_new(f->a);
    return ST_OK;
}

static void devices(void **state) {
    (void)state;
    assert_int_equal(run(NULL, by_uuid).status, ST_OK);
    Outcome o = run(NULL, unknown_device);
    assert_int_equal(o.status, ST_DEVICE);
    assert_string_equal(o.message, "there is no device '7'");
    assert_non_null(strstr(o.hint, "0: NVIDIA H200 (simulated) (sm_90a, GPU-"));
}

/* Everything is given back, in whatever context the arena goes; the caller's context returns.  */
static Status gives_back(Fixture *f) {
    Arena *inner = arena_create(NULL);
    size_t before, during, after;
    assert_int_equal(cuda_open(f->a, &f->d, NULL, &f->cuda), ST_OK);
    assert_int_equal(cuda_context(f->cuda, f->a, &f->d, 0, &f->x), ST_OK);
    assert_false(cuda_here(f->x));
    assert_int_equal(cuda_enter(f->x, inner, &f->d), ST_OK);
    assert_true(cuda_here(f->x));
    assert_int_equal(cuda_memory_free(f->x, &f->d, &before), ST_OK);
    CudaAddress at;
    ArenaMark m = arena_mark(inner);
    assert_int_equal(cuda_alloc(f->x, inner, &f->d, 1 << 20, &at), ST_OK);
    assert_int_equal(cuda_memory_free(f->x, &f->d, &during), ST_OK);
    arena_reset(inner, m);
    assert_int_equal(cuda_memory_free(f->x, &f->d, &after), ST_OK);
    assert_true(during < before && after == before);
    arena_destroy(inner);
    assert_false(cuda_here(f->x));
    return ST_OK;
}

/* A flush that reads as well, on the device with the small cache.  */
static Status flush_small(Fixture *f) {
    Arena *a = f->a;
    Diag *d = &f->d;
    Cuda *cuda;
    CudaContext *x;
    CudaStream stream;
    CudaFlush flush = {0};
    unsigned char seen[16] = {0};
    Status s = cuda_open(a, d, NULL, &cuda);
    if (!s) s = cuda_context(cuda, a, d, 1, &x);
    if (!s) s = cuda_enter(x, a, d);
    if (!s) s = cuda_stream(x, a, d, &stream);
    if (!s) s = cuda_flush_create(x, a, d, true, &flush);
    for (int i = 0; i < 2 && !s; i++) s = cuda_flush(x, d, stream, &flush);
    if (!s) s = cuda_stream_wait(x, d, stream);
    if (!s) s = cuda_read(x, d, seen, flush.written, sizeof seen);
    if (s) return s;
    assert_true(flush.bytes == 2 * 65536 && flush.read != flush.written);
    assert_true(seen[0] == (unsigned char)(flush.value - 1) && seen[15] == seen[0]);
    return ST_OK;
}

static void flushes(void **state) {
    (void)state;
    Outcome o = run(NULL, flush_small);
    if (o.status) fail_msg("%s", o.message);
}

static void arenas_own(void **state) {
    (void)state;
    Outcome o = run(NULL, gives_back);
    if (o.status) fail_msg("%s", o.message);
}

/* Running out of host memory leaves nothing behind and is a status.  */
typedef struct {
    int left;
} Scarce;
static void *scarce_alloc(size_t size, void *user) {
    Scarce *s = user;
    return s->left-- > 0 ? malloc(size) : NULL;
}
static void scarce_free(void *p, void *user) {
    (void)user;
    free(p);
}
static void quietly(void *user) {
    Fixture *f = user;
    f->d = diag_new(f->a);
    everything(f);
}

static Status scarce(Fixture *f) {
    (void)f;
    bool done = false;
    for (int n = 2; !done; n++) {
        assert_true(n < 400);
        Scarce s = {n};
        ArenaSource source = {.alloc = scarce_alloc, .free = scarce_free, .user = &s,
                              .exact = true};
        Fixture own = {.a = arena_create(&source)};
        done = arena_try(own.a, quietly, &own);
        arena_destroy(own.a);
    }
    return ST_OK;
}

static void survives_scarce_memory(void **state) {
    (void)state;
    assert_int_equal(run(NULL, scarce).status, ST_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(works),
        cmocka_unit_test(no_call_is_left_out),
        cmocka_unit_test(every_call_can_fail),
        cmocka_unit_test(drivers_that_do_not_begin),
        cmocka_unit_test(every_needed_function_is_named),
        cmocka_unit_test(old_drivers),
        cmocka_unit_test(statuses),
        cmocka_unit_test(no_driver_at_all),
        cmocka_unit_test(devices),
        cmocka_unit_test(flushes),
        cmocka_unit_test(arenas_own),
        cmocka_unit_test(survives_scarce_memory),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
