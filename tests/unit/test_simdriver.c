/* links: hal */
/* Every function of the simulated driver: what it needs, what it answers, how it fails on request.
 * Running work is the subject of test_simdriver_run and test_simdriver_stream.  */
#include "simdriver.h"

#include <pthread.h>
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

/* Every function with arguments that are all 0.  */
#define ZERO_CALLS(X)                                                                              \
    X(cuInit, (1)) X(cuDriverGetVersion, (0)) X(cuGetProcAddress, (0, 0, 0, 0))                    \
    X(cuGetProcAddress_v2, (0, 0, 0, 0, 0)) X(cuGetErrorName, (0, 0)) X(cuGetErrorString, (0, 0))  \
    X(cuDeviceGetCount, (0)) X(cuDeviceGet, (0, 0)) X(cuDeviceGetName, (0, 0, 0))                  \
    X(cuDeviceGetUuid, (0, 0)) X(cuDeviceGetUuid_v2, (0, 0)) X(cuDeviceTotalMem_v2, (0, 0))        \
    X(cuDeviceGetAttribute, (0, 0, 0)) X(cuDeviceGetPCIBusId, (0, 0, 0))                           \
    X(cuDevicePrimaryCtxRetain, (0, 0)) X(cuDevicePrimaryCtxRelease_v2, (99))                      \
    X(cuDevicePrimaryCtxGetState, (0, 0, 0)) X(cuCtxCreate_v2, (0, 0, 0))                          \
    X(cuCtxCreate_v4, (0, 0, 0, 0)) X(cuCtxDestroy_v2, (0)) X(cuCtxGetCurrent, (0))                \
    X(cuCtxPushCurrent_v2, (0)) X(cuCtxGetDevice, (0)) X(cuCtxGetDevice_v2, (0, 0))                \
    X(cuMemAlloc_v2, (0, 0)) X(cuMemAllocHost_v2, (0, 0)) X(cuMemFreeHost, (0))                    \
    X(cuMemGetInfo_v2, (0, 0)) X(cuMemcpyHtoD_v2, (0, 0, 1)) X(cuMemcpyDtoH_v2, (0, 0, 1))         \
    X(cuMemcpyDtoD_v2, (0, 0, 1)) X(cuMemcpyHtoDAsync_v2, (0, 0, 1, 0))                            \
    X(cuMemcpyDtoHAsync_v2, (0, 0, 1, 0)) X(cuMemcpyDtoDAsync_v2, (0, 0, 1, 0))                    \
    X(cuMemsetD8_v2, (0, 0, 1)) X(cuMemsetD16_v2, (0, 0, 1)) X(cuMemsetD32_v2, (0, 0, 1))          \
    X(cuMemsetD8Async, (0, 0, 1, 0)) X(cuMemsetD16Async, (0, 0, 1, 0))                             \
    X(cuMemsetD32Async, (0, 0, 1, 0)) X(cuStreamCreate, (0, 0))                                    \
    X(cuStreamCreateWithPriority, (0, 0, 0)) X(cuStreamDestroy_v2, (0))                            \
    X(cuStreamWaitEvent, (0, 0, 0)) X(cuStreamBeginCapture_v2, (0, 0)) X(cuStreamEndCapture, (0, 0))\
    X(cuStreamIsCapturing, (0, 0)) X(cuEventCreate, (0, 0)) X(cuEventDestroy_v2, (0))              \
    X(cuEventRecord, (0, 0)) X(cuEventQuery, (0)) X(cuEventSynchronize, (0))                       \
    X(cuEventElapsedTime, (0, 0, 0)) X(cuEventElapsedTime_v2, (0, 0, 0))                           \
    X(cuGraphInstantiate_v2, (0, 0, 0, 0, 0)) X(cuGraphInstantiateWithFlags, (0, 0, 0))            \
    X(cuGraphLaunch, (0, 0)) X(cuGraphDestroy, (0)) X(cuGraphExecDestroy, (0))                     \
    X(cuModuleLoadData, (0, 0)) X(cuModuleLoadDataEx, (0, 0, 0, 0, 0)) X(cuModuleUnload, (0))      \
    X(cuModuleGetFunction, (0, 0, 0)) X(cuModuleGetGlobal_v2, (0, 0, 0, 0))                        \
    X(cuLibraryLoadData, (0, 0, 0, 0, 0, 0, 0, 0)) X(cuLibraryUnload, (0))                         \
    X(cuLibraryGetKernel, (0, 0, 0)) X(cuLibraryGetModule, (0, 0)) X(cuKernelGetFunction, (0, 0))  \
    X(cuKernelGetAttribute, (0, 0, 0, 0)) X(cuKernelSetAttribute, (0, 0, 0, 0))                    \
    X(cuFuncGetAttribute, (0, 0, 0)) X(cuFuncSetAttribute, (0, 0, 0))                              \
    X(cuFuncSetCacheConfig, (0, 0)) X(cuLaunchKernel, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))           \
    X(cuLaunchKernelEx, (0, 0, 0, 0))                                                              \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (0, 0, 0, 0))                                   \
    X(cuOccupancyMaxActiveClusters, (0, 0, 0))                                                     \
    X(cuTensorMapEncodeTiled, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))                                \
    X(cuTensorMapEncodeIm2col, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
/* These do something sensible with arguments that are 0.  */
#define ZERO_CALLS_THAT_WORK(X)                                                                    \
    X(cuCtxSynchronize, ()) X(cuCtxSynchronize_v2, (0)) X(cuCtxSetCurrent, (0))                    \
    X(cuCtxPopCurrent_v2, (0)) X(cuMemFree_v2, (0)) X(cuStreamSynchronize, (0))                    \
    X(cuStreamQuery, (0))

/* The lists cover every function.  */
enum {
#define X(name, symbol, since, needs, parameters) +1
    ALL = SIMDRIVER_FUNCTIONS(X),
#undef X
#define X(symbol, arguments) +1
    LISTED = ZERO_CALLS(X) ZERO_CALLS_THAT_WORK(X)
#undef X
};
_Static_assert((int)ALL == (int)LISTED, "a function is not called by these tests");

typedef enum { NOTHING, INIT, CONTEXT } Needs;
static Needs needs_of(const char *symbol) {
#define X(name, own, since, needs, parameters)                                                     \
    if (!strcmp(#own, symbol)) return needs;
    SIMDRIVER_FUNCTIONS(X)
#undef X
    return NOTHING;
}

static void zero_arguments_are_refused(void **state) {
    (void)state;
#define X(symbol, arguments)                                                                       \
    if (cu.symbol arguments == CUDA_SUCCESS) fail_msg("%s took zeros", #symbol);
    ZERO_CALLS(X)
#undef X
    OK(cu.cuCtxSynchronize());
    OK(cu.cuMemFree_v2(0));
    OK(cu.cuStreamSynchronize(NULL));
    OK(cu.cuStreamQuery(NULL));
}

static void every_call_fails_on_request(void **state) {
    (void)state;
    char rule[128];
#define X(symbol, arguments)                                                                       \
    snprintf(rule, sizeof rule, "%s=CUDA_ERROR_ECC_UNCORRECTABLE", #symbol);                       \
    OK(cu.control(rule));                                                                          \
    FAILS(CUDA_ERROR_ECC_UNCORRECTABLE, cu.symbol arguments);                                      \
    snprintf(rule, sizeof rule, "missing=%s", #symbol);                                            \
    OK(cu.control(rule));                                                                          \
    FAILS(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, cu.symbol arguments);
    ZERO_CALLS(X)
    ZERO_CALLS_THAT_WORK(X)
#undef X
}

static void without_context(void **state) {
    (void)state;
    OK(cu.cuCtxSetCurrent(NULL));
#define X(symbol, arguments)                                                                       \
    if (needs_of(#symbol) == CONTEXT) FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.symbol arguments);
    ZERO_CALLS(X)
    ZERO_CALLS_THAT_WORK(X)
#undef X
    CUcontext none = simdriver_context();
    OK(cu.cuCtxGetCurrent(&none));
    assert_null(none);
}

/* ---- what differs between processes ---- */

/* Runs body in a child with a variable set; the child's exit status is what body returns.  */
static void in_child(const char *name, const char *value, int (*body)(void)) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        unsetenv("ROLLER_SIM_FAULTS");
        setenv(name, value, 1);
        _exit(simdriver_load() ? body() : 99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status)) fail_msg("%s=%s: step %d", name, value, WEXITSTATUS(status));
}

static int before_init(void) {
#define X(symbol, arguments)                                                                       \
    if (needs_of(#symbol) != NOTHING && cu.symbol arguments != CUDA_ERROR_NOT_INITIALIZED) return 1;
    ZERO_CALLS(X)
    ZERO_CALLS_THAT_WORK(X)
#undef X
    int version = 0;
    if (cu.cuDriverGetVersion(&version) != CUDA_SUCCESS || version != 13000) return 2;
    return cu.cuInit(0) == CUDA_SUCCESS ? 0 : 3;
}

static int no_device(void) { return cu.cuInit(0) == CUDA_ERROR_NO_DEVICE ? 0 : 1; }

static int bad_profile(void) {
    char text[256];
    if (cu.cuInit(0) != CUDA_ERROR_SYSTEM_NOT_READY) return 1;
    cu.message(text, sizeof text);
    return strstr(text, "nosuch") ? 0 : 2;
}

static int too_old(void) {
    int version, status;
    void *at;
    CUmodule m;
    CUcontext ctx;
    if (cu.cuDriverGetVersion(&version) != CUDA_SUCCESS || version != 11040) return 1;
    if (cu.cuInit(0) != CUDA_SUCCESS) return 2;
    if (cu.cuGetProcAddress("cuLaunchKernelEx", &at, 11040, 0) != CUDA_ERROR_NOT_FOUND) return 3;
    if (cu.cuGetProcAddress("cuMemAlloc", &at, 11040, 0) != CUDA_SUCCESS || !at) return 4;
    if (cu.cuGetProcAddress_v2("cuMemAlloc", &at, 12000, 0, &status) !=
        CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
        return 5;
    }
    if (cu.cuDevicePrimaryCtxRetain(&ctx, 0) || cu.cuCtxSetCurrent(ctx)) return 6;
    static const char ptx[] = ".version 9.0\n.target sm_75\n.address_size 64\n"
                              ".visible .entry k() { ret; }\n";
    if (cu.cuModuleLoadData(&m, ptx) != CUDA_ERROR_UNSUPPORTED_PTX_VERSION) return 7;
    return 0;
}

static int bad_rules(void) { return cu.cuInit(0) == CUDA_ERROR_INVALID_VALUE ? 0 : 1; }

static int first_init_fails(void) {
    if (cu.cuInit(0) != CUDA_ERROR_DEVICE_UNAVAILABLE) return 1;
    return cu.cuInit(0) == CUDA_SUCCESS ? 0 : 2;
}

static void processes(void **state) {
    (void)state;
    in_child("ROLLER_SIM_PROFILE", "profiles/tiny.json", before_init);
    in_child("ROLLER_SIM_PROFILE", "none", no_device);
    in_child("ROLLER_SIM_PROFILE", "nosuch", bad_profile);
    in_child("ROLLER_SIM_FAULTS", "version=11040", too_old);
    in_child("ROLLER_SIM_FAULTS", "cuNoSuch=1", bad_rules);
    in_child("ROLLER_SIM_FAULTS", "cuInit@1=46", first_init_fails);
}

/* ---- symbols and texts ---- */

static void symbols(void **state) {
    (void)state;
    int status = 0;
    void *at, *want;
    OK(cu.cuGetProcAddress_v2("cuMemAlloc", &at, 12000, 0, &status));
    memcpy(&want, &cu.cuMemAlloc_v2, sizeof want);
    assert_ptr_equal(at, want);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    OK(cu.cuGetProcAddress_v2("cuCtxSynchronize", &at, 12000, 0, &status));
    memcpy(&want, &cu.cuCtxSynchronize, sizeof want);
    assert_ptr_equal(at, want);
    OK(cu.cuGetProcAddress_v2("cuCtxSynchronize", &at, 13000, 0, &status));
    memcpy(&want, &cu.cuCtxSynchronize_v2, sizeof want);
    assert_ptr_equal(at, want);
    OK(cu.cuGetProcAddress_v2("cuGraphInstantiate", &at, 12000, 0, &status));
    memcpy(&want, &cu.cuGraphInstantiateWithFlags, sizeof want);
    assert_ptr_equal(at, want);
    OK(cu.cuGetProcAddress_v2("cuLaunchKernelEx", &at, 11000, 0, &status));
    assert_null(at);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(cu.cuGetProcAddress_v2("cuNoSuchFunction", &at, 13000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    FAILS(CUDA_ERROR_NOT_FOUND, cu.cuGetProcAddress_v2("cuNoSuch", &at, 13000, 0, NULL));
    OK(cu.control("missing=cuTensorMapEncodeTiled"));
    OK(cu.cuGetProcAddress_v2("cuTensorMapEncodeTiled", &at, 13000, 0, &status));
    assert_null(at);
}

static void error_texts(void **state) {
    (void)state;
    const char *name, *text;
#define X(id, code, words)                                                                         \
    OK(cu.cuGetErrorName(id, &name));                                                              \
    OK(cu.cuGetErrorString(id, &text));                                                            \
    assert_string_equal(name, #id);                                                                \
    assert_string_equal(text, words);
    SIMDRIVER_RESULTS(X)
#undef X
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuGetErrorName((CUresult)12345, &name));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuGetErrorString((CUresult)12345, &text));
}

/* ---- devices ---- */

static int attribute(int number, CUdevice dev) {
    int v;
    OK(cu.cuDeviceGetAttribute(&v, number, dev));
    return v;
}

static void check_device(CUdevice dev, const char *profile) {
    const Device *d = simdriver_profile(profile);
    const DeviceLimits *l = &d->limits;
    char name[64], bus[16];
    size_t bytes;
    OK(cu.cuDeviceGetName(name, sizeof name, dev));
    assert_string_equal(name, d->gpu);
    OK(cu.cuDeviceGetPCIBusId(bus, sizeof bus, dev));
    OK(cu.cuDeviceTotalMem_v2(&bytes, dev));
    assert_int_equal(bytes, (size_t)d->memory[LEVEL_DRAM].capacity.value);
    const struct {
        int number;
        double value;
    } rows[] = {
        {1, l->threads_per_block.value}, {5, l->grid_max.value}, {8, l->smem_per_block.value},
        {10, 32}, {12, l->registers_per_block.value}, {13, l->clock_sm.value * 1000},
        {16, l->sm_count.value}, {38, d->memory[LEVEL_L2].capacity.value},
        {39, l->threads_per_sm.value}, {75, d->cc_major}, {76, d->cc_minor},
        {81, l->smem_per_sm.value}, {82, l->registers_per_sm.value},
        {97, l->smem_per_block_optin.value}, {106, l->blocks_per_sm.value},
        {111, l->smem_reserved.value}, {120, l->cluster_max.value > 1}, {127, d->cc_major >= 9},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        assert_int_equal(attribute(rows[k].number, dev), (int)rows[k].value);
    }
}

static void devices(void **state) {
    (void)state;
    int count, v;
    CUdevice dev;
    CUuuid a, b, again;
    OK(cu.cuDeviceGetCount(&count));
    assert_int_equal(count, 3);
    FAILS(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&dev, 3));
    FAILS(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&dev, -1));
    OK(cu.cuDeviceGet(&dev, 1));
    check_device(0, "h200");
    check_device(dev, "a100");
    check_device(2, "tiny");
    OK(cu.cuDeviceGetUuid(&a, 0));
    OK(cu.cuDeviceGetUuid_v2(&b, 1));
    OK(cu.cuDeviceGetUuid_v2(&again, 0));
    assert_memory_equal(&a, &again, sizeof a);
    assert_memory_not_equal(&a, &b, sizeof a);
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuDeviceGetAttribute(&v, 9999, 0));
}

/* ---- contexts ---- */

static void contexts(void **state) {
    (void)state;
    CUcontext own, other, now;
    unsigned flags;
    int active;
    CUdevice dev;
    OK(cu.cuCtxCreate_v2(&own, 0, 1));
    OK(cu.cuCtxGetCurrent(&now));
    assert_ptr_equal(now, own);
    OK(cu.cuCtxGetDevice(&dev));
    assert_int_equal(dev, 1);
    OK(cu.cuCtxGetDevice_v2(&dev, simdriver_context()));
    assert_int_equal(dev, 0);
    OK(cu.cuCtxCreate_v4(&other, NULL, 0, 2));
    OK(cu.cuCtxPopCurrent_v2(&now));
    assert_ptr_equal(now, other);
    OK(cu.cuCtxPushCurrent_v2(simdriver_context()));
    OK(cu.cuCtxSynchronize_v2(other));
    OK(cu.cuCtxDestroy_v2(other));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSetCurrent(other));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDestroy_v2(other));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDestroy_v2(simdriver_context()));
    OK(cu.cuCtxPopCurrent_v2(NULL));
    OK(cu.cuCtxDestroy_v2(own));
    OK(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 1);
    OK(cu.cuDevicePrimaryCtxGetState(1, &flags, &active));
    assert_int_equal(active, 0);
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.cuDevicePrimaryCtxRelease_v2(1));
}

/* Memory of two contexts, one of which goes while a handle of it stays.  */
static void stale_handles(void **state) {
    (void)state;
    CUcontext own;
    CUstream stream;
    CUevent event;
    OK(cu.cuCtxCreate_v2(&own, 0, 0));
    OK(cu.cuStreamCreate(&stream, 0));
    OK(cu.cuEventCreate(&event, 0));
    OK(cu.cuCtxDestroy_v2(own));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize(stream));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery(event));
    OK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cu.cuStreamDestroy_v2(stream));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy_v2(stream));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamQuery((CUstream)(void *)&stream));
}

/* ---- rules ---- */

static void rules(void **state) {
    (void)state;
    CUdeviceptr at;
    int n;
    static const char *const bad[] = {"cuInit", "cuInit=", "cuInit=1000", "cuNoSuch=1", "cuInit@0=1",
                                      "cuInit@2-1=1", "cuInit@x=1", "version=x", "missing=cuNo",
                                      "memory=", "cuInit=CUDA_ERROR_NO"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        FAILS(CUDA_ERROR_INVALID_VALUE, cu.control(bad[k]));
    }
    OK(cu.control("cuDeviceGetCount@2-3=999;cuDeviceGetCount@5+=4"));
    static const CUresult want[] = {0, 999, 999, 0, 4, 4};
    for (size_t k = 0; k < 6; k++) FAILS(want[k], cu.cuDeviceGetCount(&n));
    OK(cu.control("cuMemAlloc@2=CUDA_ERROR_OUT_OF_MEMORY"));
    OK(cu.cuMemFree_v2(simdriver_alloc(16)));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&at, 16));
    OK(cu.cuMemFree_v2(simdriver_alloc(16)));
    OK(cu.control("*=800"));
    FAILS(CUDA_ERROR_NOT_PERMITTED, cu.cuDeviceGetCount(&n));
    FAILS(CUDA_ERROR_NOT_PERMITTED, cu.cuCtxSynchronize());
    OK(cu.control(""));
    OK(cu.cuDeviceGetCount(&n));
}

static void memory_runs_out(void **state) {
    (void)state;
    CUdeviceptr at, more;
    size_t left, total, after;
    OK(cu.control("memory=4096"));
    OK(cu.cuMemGetInfo_v2(&left, &total));
    assert_int_equal(left, 4096);
    OK(cu.cuMemAlloc_v2(&at, 2049));
    OK(cu.cuMemGetInfo_v2(&after, &total));
    assert_int_equal(after, 4096 - 2560);
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&more, 2000));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(at + 1));
    OK(cu.cuMemFree_v2(at));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(at));
    OK(cu.cuMemAlloc_v2(&more, 4096));
    OK(cu.cuMemFree_v2(more));
    OK(cu.control(NULL));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&more, SIZE_MAX - 3));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&more, (size_t)1 << 40));
}

/* Processes come first: their children load the library themselves.  */
int main(void) {
#define T(name) cmocka_unit_test_setup(name, simdriver_fresh)
    const struct CMUnitTest fresh[] = {cmocka_unit_test(processes)};
    const struct CMUnitTest tests[] = {
        T(zero_arguments_are_refused), T(every_call_fails_on_request), T(without_context),
        T(symbols), T(error_texts), T(devices), T(contexts), T(stale_handles), T(rules),
        T(memory_runs_out),
    };
    int failed = cmocka_run_group_tests(fresh, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
