/* links: sim */
/* Every function of the simulated driver: what it needs, what it answers, how it fails on request.
 * Running work is the subject of the other test_simdriver files.  */
#include "simdriver_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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
    char want[64];
    snprintf(want, sizeof want, "%s (simulated)", d->gpu);
    assert_string_equal(name, want);
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
    OK(cu.cuCtxAttach(&now, 0));
    assert_ptr_equal(now, own);
    OK(cu.cuCtxDetach(own));
    OK(cu.cuCtxSynchronize());
    OK(cu.cuCtxDetach(own));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDestroy_v2(own));
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
    static const char *const bad[] = {"cuInit", "cuInit=", "cuInit=1000", "cuNoSuch=1",
                                      "cuInit@0=1", "cuInit@2-1=1", "cuInit@x=1", "version=x",
                                      "missing=cuNo", "memory=", "cuInit=CUDA_ERROR_NO"};
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

int main(void) {
#define T(name) cmocka_unit_test_setup(name, simdriver_fresh)
    const struct CMUnitTest tests[] = {
        T(zero_arguments_are_refused), T(every_call_fails_on_request), T(without_context),
        T(symbols), T(error_texts), T(devices), T(contexts), T(stale_handles), T(rules),
        T(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
