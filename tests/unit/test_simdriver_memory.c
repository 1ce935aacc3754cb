/* links: sim */
/* Memory of the simulated driver beside plain device memory: the host's that kernels see, pools in
 * the order of a stream, boxes, and what an address is.  */
#include "simdriver_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The step's kernel over other memory than `data`.  */
static void step_on(CUdeviceptr at, int by, int plus) {
    CUdeviceptr was = data;
    data = at;
    step(NULL, by, plus);
    data = was;
}

static int attribute(int number, CUdeviceptr at) {
    int v;
    OK(cu.cuPointerGetAttribute(&v, number, at));
    return v;
}

static void kernels_see_the_host(void **state) {
    (void)state;
    void *host;
    CUdeviceptr at, managed;
    unsigned flags;
    OK(cu.cuMemHostAlloc(&host, BYTES, 2));
    int *v = host;
    for (int k = 0; k < N; k++) v[k] = k;
    OK(cu.cuMemHostGetDevicePointer_v2(&at, host, 0));
    step_on(at, 2, 1);
    assert_int_equal(v[5], 5);
    OK(cu.cuStreamSynchronize(NULL));
    for (int k = 0; k < N; k++) assert_int_equal(v[k], 2 * k + 1);
    OK(cu.cuMemHostGetFlags(&flags, host));
    assert_int_equal(flags, 2);
    assert_int_equal(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at), CU_MEMORYTYPE_HOST);
    OK(cu.cuMemFreeHost(host));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeHost(host));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemHostGetDevicePointer_v2(&at, host, 0));

    OK(cu.cuMemAllocManaged(&managed, BYTES, 1));
    memset((void *)(uintptr_t)managed, 0, BYTES);
    step_on(managed, 1, 9);
    OK(cu.cuCtxSynchronize());
    assert_int_equal(((int *)(uintptr_t)managed)[N - 1], 9);
    assert_int_equal(attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed), 1);
    OK(cu.cuMemFree_v2(managed));
}

static void registered(void **state) {
    (void)state;
    int *v = calloc(N + 1, sizeof *v), *own = v + 1;
    CUdeviceptr at;
    assert_non_null(v);
    OK(cu.cuMemHostRegister_v2(own, BYTES, 0));
    FAILS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cu.cuMemHostRegister_v2(own + 3, 4, 0));
    OK(cu.cuMemHostGetDevicePointer_v2(&at, own, 0));
    step_on(at, 1, 4);
    OK(cu.cuMemHostUnregister(own));      /* waits for the kernel */
    assert_int_equal(own[N - 1], 4);
    assert_int_equal(v[0], 0);
    FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cu.cuMemHostUnregister(own));
    step_on(at, 1, 4);
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
    free(v);
}

static void addresses(void **state) {
    (void)state;
    CUdeviceptr base, whole;
    size_t size;
    CUcontext ctx;
    int type, ordinal, on_stack = 0;
    OK(cu.cuMemGetAddressRange_v2(&base, &size, data + 100));
    assert_true(base == data && size == BYTES);
    FAILS(CUDA_ERROR_NOT_FOUND, cu.cuMemGetAddressRange_v2(&base, &size, data + BYTES));
    OK(cu.cuPointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, data + 4));
    assert_ptr_equal(ctx, simdriver_context());
    OK(cu.cuPointerGetAttribute(&whole, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, data + 4));
    assert_true(whole == data);
    assert_int_equal(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, data), CU_MEMORYTYPE_DEVICE);
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cu.cuPointerGetAttribute(&whole, CU_POINTER_ATTRIBUTE_HOST_POINTER, data));
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   (CUdeviceptr)(uintptr_t)&on_stack));
    int wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &ordinal};
    OK(cu.cuPointerGetAttributes(2, wanted, values, (CUdeviceptr)(uintptr_t)&on_stack));
    assert_true(type == 0 && ordinal == -2);
    OK(cu.cuPointerGetAttributes(2, wanted, values, data));
    assert_true(type == CU_MEMORYTYPE_DEVICE && ordinal == 0);
}

static uint64_t used(CUmemoryPool pool, int attribute_number) {
    uint64_t v;
    OK(cu.cuMemPoolGetAttribute(pool, attribute_number, &v));
    return v;
}

static void pools(void **state) {
    (void)state;
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    CUmemoryPool pool, now;
    CUdeviceptr at, second;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .locationType = CU_MEM_LOCATION_TYPE_DEVICE};
    uint64_t threshold = 1 << 20, zero = 0;
    OK(cu.cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cu.cuDeviceGetMemPool(&now, 0));
    assert_ptr_equal(pool, now);
    uint64_t before = used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    OK(cu.cuMemAllocAsync(&at, BYTES, s));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) - before, BYTES);
    OK(cu.cuMemcpyDtoDAsync_v2(at, data, BYTES, s));
    OK(cu.cuMemFreeAsync(at, s));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync(at, s));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(at));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) - before, BYTES);
    OK(cu.cuStreamSynchronize(s));        /* the copy came before the end of the memory */
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), before);
    assert_true(used(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= BYTES);

    OK(cu.cuMemPoolCreate(&now, &props));
    OK(cu.cuMemPoolSetAttribute(now, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    assert_int_equal(used(now, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), threshold);
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cu.cuMemPoolSetAttribute(now, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero));
    OK(cu.cuDeviceSetMemPool(0, now));
    OK(cu.cuMemAllocAsync(&at, 64, s));
    OK(cu.cuMemAllocFromPoolAsync(&second, 64, pool, s));
    assert_int_equal(used(now, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 64);
    OK(cu.cuMemPoolDestroy(now));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolDestroy(now));
    OK(cu.cuDeviceGetMemPool(&now, 0));
    assert_ptr_equal(pool, now);
    OK(cu.cuMemFree_v2(at));              /* outlives its pool */
    OK(cu.cuMemFree_v2(second));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolDestroy(pool));
}

/* A kernel that comes after the end of its memory in the stream's order.  */
static void used_after_its_end(void **state) {
    (void)state;
    CUdeviceptr at;
    OK(cu.cuMemAllocAsync(&at, BYTES, NULL));
    OK(cu.cuMemsetD32_v2(at, 1, N));
    OK(cu.cuMemFreeAsync(at, NULL));
    step_on(at, 2, 0);
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
}

enum { ROWS = 3, WIDTH = 10, PITCH = 16 };

/* A box inside of another on either side, compared with a copy element by element.  */
static void boxes(void **state) {
    (void)state;
    unsigned char from[2 * ROWS * PITCH], to[ROWS * WIDTH], want[ROWS * WIDTH];
    CUdeviceptr at;
    size_t pitch;
    for (size_t k = 0; k < sizeof from; k++) from[k] = (unsigned char)(k * 7 + 1);
    for (size_t y = 0; y < ROWS; y++)
        for (size_t x = 0; x < WIDTH; x++) want[y * WIDTH + x] = from[(y + 1) * PITCH + x + 2];
    OK(cu.cuMemAllocPitch_v2(&at, &pitch, WIDTH + 5, ROWS, 4));
    assert_int_equal(pitch, 512);
    CUDA_MEMCPY2D in = {.srcXInBytes = 2, .srcY = 1, .srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = from, .srcPitch = PITCH, .dstXInBytes = 3,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = at, .dstPitch = pitch,
                        .WidthInBytes = WIDTH, .Height = ROWS};
    CUDA_MEMCPY2D out = {.srcXInBytes = 3, .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                         .srcDevice = at, .srcPitch = pitch, .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = to, .dstPitch = WIDTH, .WidthInBytes = WIDTH, .Height = ROWS};
    OK(cu.cuMemsetD2D8_v2(at, pitch, 0x55, WIDTH + 5, ROWS));
    OK(cu.cuMemcpy2DAsync_v2(&in, NULL));
    memset(from, 0, sizeof from);         /* the call has taken its bytes */
    OK(cu.cuMemcpy2D_v2(&out));
    assert_memory_equal(to, want, sizeof want);
    out.srcXInBytes = 2;
    OK(cu.cuMemcpy2DUnaligned_v2(&out));
    for (size_t y = 0; y < ROWS; y++) assert_int_equal(to[y * WIDTH], 0x55);
    CUDA_MEMCPY3D whole = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = at,
                           .srcXInBytes = 3, .srcPitch = pitch, .srcHeight = 1,
                           .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = to, .dstPitch = WIDTH,
                           .dstHeight = 1, .WidthInBytes = WIDTH, .Height = 1, .Depth = ROWS};
    OK(cu.cuMemcpy3D_v2(&whole));
    assert_memory_equal(to, want, sizeof want);
    whole.Depth = ROWS + 1;
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpy3D_v2(&whole));
    whole.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    FAILS(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemcpy3D_v2(&whole));
    in.srcPitch = WIDTH - 1;
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpy2D_v2(&in));
    int here[2] = {1, 2}, there[2] = {0};
    OK(cu.cuMemcpy(data, (CUdeviceptr)(uintptr_t)here, 8));
    OK(cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)there, data, 8, NULL));
    assert_true(there[0] == 1 && there[1] == 2);
}

/* Of whole allocations and of parts, with copies between: the last one counts.  */
static void fills(void **state) {
    (void)state;
    enum { ALL = 5000 };
    unsigned char got[ALL], want[ALL];
    CUdeviceptr at;
    OK(cu.cuMemAlloc_v2(&at, ALL));
    for (int k = 0; k < 4; k++) {
        size_t first = k % 2 ? 700 : 0, n = k % 2 ? 1500 : ALL;
        OK(cu.cuMemsetD8_v2(at + first, (unsigned char)(k + 1), n));
        memset(want + first, k + 1, n);
        OK(cu.cuMemcpyDtoH_v2(got + 600, at + 600, 600));
        assert_memory_equal(got + 600, want + 600, 600);
        OK(cu.cuMemcpyHtoD_v2(at + 1024, "abc", 3));
        memcpy(want + 1024, "abc", 3);
        OK(cu.cuMemcpyDtoH_v2(got, at, ALL));
        assert_memory_equal(got, want, ALL);
    }
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD8_v2(at, 0, ALL + 1));
    OK(cu.cuMemFree_v2(at));
}

int main(void) {
#define T(name) cmocka_unit_test_setup(name, steps_fresh)
    const struct CMUnitTest tests[] = {
        T(kernels_see_the_host), T(registered), T(addresses), T(pools), T(used_after_its_end),
        T(boxes), T(fills),
    };
    return cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
