/* links: sim */
/* Kernels through the simulated driver: launches, occupancy, tensor maps, faults.  */
#include "simdriver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char source[] =
    "extern \"C\" __global__ void add(const float *a, const float *b, float *c, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) c[i] = a[i] + b[i];\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(256) sum(const int *a, int *out) {\n"
    "    __shared__ int s[256];\n"
    "    extern __shared__ int d[];\n"
    "    int t = threadIdx.x;\n"
    "    s[t] = a[blockIdx.x * 256 + t];\n"
    "    d[t] = 0;\n"
    "    __syncthreads();\n"
    "    for (int k = 128; k > 0; k /= 2) {\n"
    "        if (t < k) s[t] += s[t + k];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    if (t == 0) atomicAdd(out, s[0] + d[255]);\n"
    "}\n"
    "extern \"C\" __global__ void wide(char c, double d, short s, int *out) {\n"
    "    out[0] = c; out[1] = (int)d; out[2] = s;\n"
    "}\n"
    "extern \"C\" __global__ void outside(int *p, long long at) { p[at] = 1; }\n"
    "extern \"C\" __global__ void trap() { __trap(); }\n"
    "extern \"C\" __global__ void forever(volatile int *p) { while (*p == 0) {} }\n";

static CUmodule module;

static int fresh(void **state) {
    if (simdriver_fresh(state)) return -1;
    module = simdriver_module(source, "sm_90a");
    return 0;
}

static void add_vectors(void **state) {
    (void)state;
    enum { N = 1000 };
    float a[N], b[N], c[N];
    for (int k = 0; k < N; k++) {
        a[k] = (float)k;
        b[k] = (float)(3 * k);
    }
    int n = N;
    CUdeviceptr da = simdriver_alloc(sizeof a), db = simdriver_alloc(sizeof b),
                dc = simdriver_alloc(sizeof c);
    OK(cu.cuMemcpyHtoD_v2(da, a, sizeof a));
    OK(cu.cuMemcpyHtoD_v2(db, b, sizeof b));
    void *params[] = {&da, &db, &dc, &n};
    CUfunction f = simdriver_function(module, "add");
    OK(cu.cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    OK(cu.cuMemcpyDtoH_v2(c, dc, sizeof c));
    for (int k = 0; k < N; k++) assert_true(c[k] == (float)(4 * k));
    /* The same with a buffer.  */
    struct {
        CUdeviceptr a, b, c;
        int n;
    } packed = {da, db, dc, n};
    size_t bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    OK(cu.cuMemsetD32_v2(dc, 0, N));
    OK(cu.cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    memset(c, 0, sizeof c);
    OK(cu.cuMemcpyDtoH_v2(c, dc, sizeof c));
    for (int k = 0; k < N; k++) assert_true(c[k] == (float)(4 * k));
    bytes = 8;
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void parameters_of_every_size(void **state) {
    (void)state;
    char c = 7;
    double d = -12.0;
    short s = 300;
    int got[3];
    CUdeviceptr out = simdriver_alloc(sizeof got);
    void *params[] = {&c, &d, &s, &out};
    OK(cu.cuLaunchKernel(simdriver_function(module, "wide"), 1, 1, 1, 1, 1, 1, 0, NULL, params,
                         NULL));
    OK(cu.cuMemcpyDtoH_v2(got, out, sizeof got));
    assert_int_equal(got[0], 7);
    assert_int_equal(got[1], -12);
    assert_int_equal(got[2], 300);
}

/* Static and dynamic shared memory; more than 48 KB of it must be asked for first.  */
static void reduce_with_shared_memory(void **state) {
    (void)state;
    enum { BLOCKS = 5, N = 256 * BLOCKS };
    int a[N], total = 0, want = 0, most;
    for (int k = 0; k < N; k++) want += a[k] = k % 37 - 11;
    CUdeviceptr in = simdriver_alloc(sizeof a), out = simdriver_alloc(4);
    CUfunction f = simdriver_function(module, "sum");
    void *params[] = {&in, &out};
    OK(cu.cuMemcpyHtoD_v2(in, a, sizeof a));
    OK(cu.cuMemsetD32_v2(out, 0, 1));
    OK(cu.cuLaunchKernel(f, BLOCKS, 1, 1, 256, 1, 1, 1024, NULL, params, NULL));
    OK(cu.cuMemcpyDtoH_v2(&total, out, 4));
    assert_int_equal(total, want);
    OK(cu.cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    assert_int_equal(most, 49152 - 1024);
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cu.cuLaunchKernel(f, 1, 1, 1, 256, 1, 1, 100000, NULL, params, NULL));
    int attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuFuncSetAttribute(f, attribute, 232448 - 1023));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuFuncSetAttribute(f, attribute, -1));
    OK(cu.cuFuncSetAttribute(f, attribute, 232448 - 1024));
    OK(cu.cuLaunchKernel(f, 1, 1, 1, 256, 1, 1, 100000, NULL, params, NULL));
    OK(cu.cuCtxSynchronize());
}

static void shapes_are_checked(void **state) {
    (void)state;
    CUdeviceptr out = simdriver_alloc(64);
    CUfunction f = simdriver_function(module, "sum");
    void *p[] = {&out, &out};
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, NULL, p, NULL));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 70000, 1, 32, 1, 1, 0, NULL, p, NULL));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, NULL, p, NULL));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 64, 64, 1, 0, NULL, p, NULL));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 65, 0, NULL, p, NULL));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 288, 1, 1, 0, NULL, p, NULL));
    FAILS(CUDA_ERROR_INVALID_HANDLE,
          cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, (CUstream)(void *)p, p, NULL));
    CUlaunchAttribute a = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = {.number = 1}};
    CUlaunchConfig k = {1 << 20, 1, 1, 256, 1, 1, 1024, NULL, &a, 1};
    FAILS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cu.cuLaunchKernelEx(&k, f, p, NULL));
    a.id = 77;
    FAILS(CUDA_ERROR_NOT_SUPPORTED, cu.cuLaunchKernelEx(&k, f, p, NULL));
}

static void occupancy_is_that_of_the_profile(void **state) {
    (void)state;
    const Device *d = simdriver_profile("h200");
    CUfunction f = simdriver_function(module, "sum");
    int registers, shared, threads_most, got;
    OK(cu.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    OK(cu.cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    OK(cu.cuFuncGetAttribute(&threads_most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    assert_int_equal(shared, 1024);
    assert_int_equal(threads_most, 256);
    for (int threads = 32; threads <= 1024; threads += 96) {
        for (size_t smem = 0; smem < 240000; smem = 3 * smem + 1000) {
            OK(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&got, f, threads, smem));
            assert_int_equal(got, hal_blocks_per_sm(d, threads, registers, shared + (int)smem));
        }
    }
    CUlaunchAttribute a = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                           .value = {.cluster = {4, 1, 1}}};
    CUlaunchConfig k = {8, 1, 1, 256, 1, 1, 100000, NULL, &a, 1};
    OK(cu.cuOccupancyMaxActiveClusters(&got, f, &k));
    assert_int_equal(got, 2 * (int)hal_curve(&d->limits.clusters_resident, 4));
    a.value.cluster.x = 3;
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, cu.cuOccupancyMaxActiveClusters(&got, f, &k));
}

/* ---- clusters and tensor maps ---- */

static const char hopper[] =
    "typedef unsigned u32; typedef unsigned long long u64;\n"
    "struct alignas(64) Map { u64 opaque[16]; };\n"
    "__device__ u32 at(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"
    "extern \"C\" __global__ void ring(int *out) {\n"
    "    __shared__ int mine;\n"
    "    u32 rank, size, there; int got;\n"
    "    asm volatile(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "    asm volatile(\"mov.u32 %0, %%cluster_nctarank;\" : \"=r\"(size));\n"
    "    if (threadIdx.x == 0) mine = 100 * blockIdx.x;\n"
    "    asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\");\n"
    "    asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(there)\n"
    "                 : \"r\"(at(&mine)), \"r\"((rank + 1) % size));\n"
    "    asm volatile(\"ld.shared::cluster.u32 %0, [%1];\" : \"=r\"(got) : \"r\"(there));\n"
    "    if (threadIdx.x == 0) out[blockIdx.x] = got + size;\n"
    "    asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\");\n"
    "}\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) pair(int *out) {\n"
    "    u32 rank, size;\n"
    "    asm volatile(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "    asm volatile(\"mov.u32 %0, %%cluster_nctarank;\" : \"=r\"(size));\n"
    "    if (threadIdx.x == 0) out[blockIdx.x] = 10 * rank + size;\n"
    "}\n"
    "extern \"C\" __global__ void tile(const __grid_constant__ Map map, float *out,\n"
    "                                int x, int y) {\n"
    "    __shared__ alignas(128) float s[8 * 16];\n"
    "    __shared__ alignas(8) u64 bar;\n"
    "    if (threadIdx.x == 0) {\n"
    "        asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" :: \"r\"(at(&bar)));\n"
    "        asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n"
    "        asm volatile(\"mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;\"\n"
    "                     :: \"r\"(at(&bar)) : \"memory\");\n"
    "        asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier\"\n"
    "                     \"::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\"\n"
    "                     :: \"r\"(at(s)), \"l\"(&map), \"r\"(x), \"r\"(y), \"r\"(at(&bar))\n"
    "                     : \"memory\");\n"
    "    }\n"
    "    __syncthreads();\n"
    "    asm volatile(\"{ .reg .pred p; w: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\"\n"
    "                 \" @!p bra w; }\" :: \"r\"(at(&bar)) : \"memory\");\n"
    "    out[threadIdx.x] = s[threadIdx.x];\n"
    "}\n";

static void clusters(void **state) {
    (void)state;
    int got[8];
    CUfunction f = simdriver_function(simdriver_module(hopper, "sm_90a"), "ring");
    CUdeviceptr out = simdriver_alloc(sizeof got);
    void *params[] = {&out};
    CUlaunchAttribute a[] = {{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                              .value = {.cluster = {4, 1, 1}}},
                             {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                              .value = {.number = 1}}};
    CUlaunchConfig k = {8, 1, 1, 32, 1, 1, 0, NULL, a, 2};
    OK(cu.cuLaunchKernelEx(&k, f, params, NULL));
    OK(cu.cuMemcpyDtoH_v2(got, out, sizeof got));
    for (int b = 0; b < 8; b++) assert_int_equal(got[b], 100 * (b / 4 * 4 + (b + 1) % 4) + 4);
    a[0].value.cluster.x = 16;
    k.gridDimX = 16;
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, cu.cuLaunchKernelEx(&k, f, params, NULL));
    a[0].value.cluster.x = 0;
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, cu.cuLaunchKernelEx(&k, f, params, NULL));
    /* A cluster that the kernel was compiled with needs no attribute, and suffers no other.  */
    f = simdriver_function(simdriver_module(hopper, "sm_90a"), "pair");
    int width;
    OK(cu.cuFuncGetAttribute(&width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, f));
    assert_int_equal(width, 2);
    OK(cu.cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    OK(cu.cuMemcpyDtoH_v2(got, out, sizeof got));
    for (int b = 0; b < 4; b++) assert_int_equal(got[b], 10 * (b % 2) + 2);
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE,
          cu.cuLaunchKernel(f, 3, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    a[0].value.cluster.x = 4;
    FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, cu.cuLaunchKernelEx(&k, f, params, NULL));
    a[0].value.cluster.x = 2;
    k.gridDimX = 4;
    OK(cu.cuLaunchKernelEx(&k, f, params, NULL));
}

/* A launch that may begin before the end of the one before it, unless the host has seen that, or
 * something else stands between.  */
static void overlapping_launches(void **state) {
    (void)state;
    static const char text[] =
        "extern \"C\" __global__ void put(int *a) { a[threadIdx.x * 8] = 5; }\n"
        "extern \"C\" __global__ void early(int *a) { a[256] = a[threadIdx.x * 8] + 1; }\n"
        "extern \"C\" __global__ void late(int *a) {\n"
        "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
        "    a[256] = a[threadIdx.x * 8] + 1;\n"
        "}\n";
    enum { BYTES = 4096 };
    CUmodule m = simdriver_module(text, "sm_90a");
    CUfunction put = simdriver_function(m, "put"), late = simdriver_function(m, "late");
    CUfunction early = simdriver_function(m, "early");
    int got = 0;
    CUdeviceptr a = simdriver_alloc(BYTES);
    void *params[] = {&a};
    CUlaunchAttribute at = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                            .value = {.number = 1}};
    CUlaunchConfig k = {1, 1, 1, 1, 1, 1, 0, NULL, &at, 1};
    for (int between = 0; between < 4; between++) {
        OK(cu.cuMemsetD8_v2(a, 0, BYTES));
        OK(cu.cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        if (between == 1) OK(cu.cuCtxSynchronize());
        if (between == 2) OK(cu.cuMemsetD8_v2(a + BYTES / 2, 0, 4));
        if (between == 3) at.value.number = 0;
        OK(cu.cuLaunchKernelEx(&k, between ? early : late, params, NULL));
        OK(cu.cuMemcpyDtoH_v2(&got, a + 256 * sizeof got, sizeof got));
        assert_int_equal(got, 6);
    }
    at.value.number = 1;
    OK(cu.cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cu.cuLaunchKernelEx(&k, early, params, NULL));
    FAILS(CUDA_ERROR_LAUNCH_FAILED, cu.cuCtxSynchronize());
}

static void tensor_maps(void **state) {
    (void)state;
    enum { W = 40, H = 12 };
    float a[H][W], got[128];
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) a[y][x] = (float)(100 * y + x);
    }
    CUdeviceptr in = simdriver_alloc(sizeof a), out = simdriver_alloc(sizeof got);
    OK(cu.cuMemcpyHtoD_v2(in, a, sizeof a));
    _Alignas(64) CUtensorMap map[2];
    const uint64_t dim[] = {W, H}, stride[] = {W * 4};
    uint32_t box[] = {16, 8};
    const uint32_t step[] = {1, 1};
    void *base = (void *)(uintptr_t)in;
    OK(cu.cuTensorMapEncodeTiled(map, 7, 2, base, dim, stride, box, step, 0, 0, 0, 0));
    int x = 32, y = 6;
    void *params[] = {map, &out, &x, &y};
    CUfunction f = simdriver_function(simdriver_module(hopper, "sm_90a"), "tile");
    OK(cu.cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    OK(cu.cuMemcpyDtoH_v2(got, out, sizeof got));
    for (int k = 0; k < 128; k++) {
        int at_x = x + k % 16, at_y = y + k / 16;
        assert_true(got[k] == (at_x < W && at_y < H ? a[at_y][at_x] : 0));
    }
    CUtensorMap *askew = (CUtensorMap *)(void *)((char *)map + 16);
    CUtensorMap straight = map[0];
    OK(cu.cuTensorMapEncodeTiled(askew, 7, 2, base, dim, stride, box, step, 0, 0, 0, 0));
    assert_memory_equal(askew, &straight, sizeof straight);
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cu.cuTensorMapEncodeTiled(map, 7, 6, base, dim, stride, box, step, 0, 0, 0, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cu.cuTensorMapEncodeTiled(map, 99, 2, base, dim, stride, box, step, 0, 0, 0, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cu.cuTensorMapEncodeTiled(map, 7, 2, base, dim, stride, box, step, 0, 1, 0, 0));
    box[0] = 257;
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cu.cuTensorMapEncodeTiled(map, 7, 2, base, dim, stride, box, step, 0, 0, 0, 0));
}

static void im2col_maps(void **state) {
    (void)state;
    _Alignas(64) CUtensorMap map;
    void *base = (void *)(uintptr_t)simdriver_alloc(4096);
    const uint64_t dim[] = {16, 8, 8, 2}, stride[] = {32, 256, 2048};
    const int lower[] = {-1, -1}, upper[] = {-1, -1};
    const uint32_t step[] = {1, 1, 1, 1};
    OK(cu.cuTensorMapEncodeIm2col(&map, 6, 4, base, dim, stride, lower, upper, 16, 64, step, 0, 1,
                                  0, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuTensorMapEncodeIm2col(&map, 6, 2, base, dim, stride, lower,
                                                               upper, 16, 64, step, 0, 1, 0, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuTensorMapEncodeIm2col(&map, 6, 4, base, dim, stride, lower,
                                                               upper, 257, 64, step, 0, 1, 0, 0));
}

/* ---- faults ---- */

/* The call succeeds; the next one that waits, and all later ones, report the fault.  */
static void fault(CUfunction f, void **params, unsigned threads, CUresult want, const char *words) {
    CUdeviceptr at;
    char text[512];
    OK(cu.cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
    FAILS(want, cu.cuCtxSynchronize());
    FAILS(want, cu.cuMemAlloc_v2(&at, 16));
    FAILS(want, cu.cuStreamSynchronize(NULL));
    cu.message(text, sizeof text);
    if (!strstr(text, words)) fail_msg("'%s' does not say '%s'", text, words);
    void *none = NULL;
    assert_int_equal(fresh(&none), 0);
    OK(cu.cuCtxSynchronize());
}

static void faults(void **state) {
    (void)state;
    CUdeviceptr p = simdriver_alloc(64);
    long long at = 1 << 20;
    void *params[] = {&p, &at};
    fault(simdriver_function(module, "outside"), params, 1, CUDA_ERROR_ILLEGAL_ADDRESS, "outside");
    p = simdriver_alloc(64) + 2;
    at = 0;
    fault(simdriver_function(module, "outside"), params, 1, CUDA_ERROR_MISALIGNED_ADDRESS,
          "misaligned");
    fault(simdriver_function(module, "trap"), NULL, 1, CUDA_ERROR_LAUNCH_FAILED, "trap");
    p = simdriver_alloc(64);
    OK(cu.cuMemsetD8_v2(p, 0, 64));
    fault(simdriver_function(module, "forever"), params, 1, CUDA_ERROR_LAUNCH_TIMEOUT, "forever");
    p = simdriver_alloc(1024);
    OK(cu.control("kernel=714"));
    CUfunction f = simdriver_function(module, "trap");
    OK(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    FAILS((CUresult)714, cu.cuCtxSynchronize());
}

int main(void) {
#define T(name) cmocka_unit_test_setup(name, fresh)
    const struct CMUnitTest tests[] = {
        T(add_vectors), T(parameters_of_every_size), T(reduce_with_shared_memory),
        T(shapes_are_checked), T(occupancy_is_that_of_the_profile), T(clusters), T(tensor_maps),
 T(overlapping_launches),
        T(im2col_maps), T(faults),
    };
    return cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
