/* links: sim */
/* Modules and libraries of the simulated driver: variables, attributes, cubins, refusals.  */
#include "simdriver.h"

#include "base/file.h"
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char source[] =
    "__device__ int counter = 5;\n"
    "extern \"C\" __global__ void count(int by) { atomicAdd(&counter, by); }\n"
    "extern \"C\" __global__ void __launch_bounds__(256) sum(const int *a, int *out) {\n"
    "    __shared__ int s[256];\n"
    "    extern __shared__ int d[];\n"
    "    d[threadIdx.x] = s[threadIdx.x] = a[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    atomicAdd(out, s[255 - threadIdx.x] + d[0] - d[0]);\n"
    "}\n";

static CUmodule module;

static int fresh(void **state) {
    if (simdriver_fresh(state)) return -1;
    module = simdriver_module(source, "sm_90a");
    return 0;
}

static void globals(void **state) {
    (void)state;
    CUdeviceptr at, again;
    size_t bytes;
    int v = 0, by = 3;
    void *params[] = {&by};
    OK(cu.cuModuleGetGlobal_v2(&at, &bytes, module, "counter"));
    assert_int_equal(bytes, 4);
    OK(cu.cuLaunchKernel(simdriver_function(module, "count"), 2, 1, 1, 32, 1, 1, 0, NULL, params,
                         NULL));
    OK(cu.cuMemcpyDtoH_v2(&v, at, 4));
    assert_int_equal(v, 5 + 64 * 3);
    FAILS(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetGlobal_v2(&at, &bytes, module, "none"));
    OK(cu.cuModuleUnload(module));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleGetGlobal_v2(&again, &bytes, module, "counter"));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH_v2(&v, at, 4));
    module = simdriver_module(source, "sm_90a");
    OK(cu.cuModuleGetGlobal_v2(&at, &bytes, module, "counter"));
    OK(cu.cuMemcpyDtoH_v2(&v, at, 4));
    assert_int_equal(v, 5);
}

static void libraries(void **state) {
    (void)state;
    CUlibrary l;
    CUkernel k, same, none;
    CUfunction f;
    CUmodule m;
    int v;
    OK(cu.cuLibraryLoadData(&l, simdriver_compile(source, "sm_80").ptx, NULL, NULL, 0, NULL, NULL,
                            0));
    OK(cu.cuLibraryGetKernel(&k, l, "sum"));
    OK(cu.cuLibraryGetKernel(&same, l, "sum"));
    assert_ptr_equal(k, same);
    FAILS(CUDA_ERROR_NOT_FOUND, cu.cuLibraryGetKernel(&none, l, "none"));
    OK(cu.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 150000, k, 0));
    OK(cu.cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k, 0));
    assert_int_equal(v, 150000);
    OK(cu.cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k, 1));
    assert_int_equal(v, 49152 - 1024);
    FAILS(CUDA_ERROR_INVALID_PTX,
          cu.cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 2));
    OK(cu.cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, k, 0));
    assert_int_equal(v, -1);
    OK(cu.cuKernelGetFunction(&f, k));
    OK(cu.cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    assert_int_equal(v, 150000);
    OK(cu.cuLibraryGetModule(&m, l));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleUnload(m));
    CUdeviceptr in = simdriver_alloc(1024), out = simdriver_alloc(4);
    void *params[] = {&in, &out};
    OK(cu.cuMemsetD32_v2(in, 2, 256));
    OK(cu.cuMemsetD32_v2(out, 0, 1));
    /* A kernel stands for its function.  */
    OK(cu.cuLaunchKernel((CUfunction)(void *)k, 1, 1, 1, 256, 1, 1, 120000, NULL, params, NULL));
    OK(cu.cuMemcpyDtoH_v2(&v, out, 4));
    assert_int_equal(v, 512);
    OK(cu.cuLibraryUnload(l));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuKernelGetFunction(&f, k));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuFuncGetAttribute(&v, 0, f));
}

/* A cubin runs as the PTX that it is registered with, and tells its registers itself.  */
static void cubins(void **state) {
    (void)state;
    NvrtcOutput out = simdriver_compile(source, "sm_90a");
    CUmodule m;
    char log[200] = "";
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}, v;
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU,
          cu.cuModuleLoadDataEx(&m, out.cubin, 2, options, values));
    assert_non_null(strstr(log, "SHA-256"));
    assert_int_equal((size_t)(uintptr_t)values[1], strlen(log) + 1);
    OK(cu.ptx(out.cubin, out.cubin_len, out.ptx));
    OK(cu.cuModuleLoadData(&m, out.cubin));
    for (int k = 0; k < out.n_kernel; k++) {
        CUfunction f = simdriver_function(m, out.kernel[k].kernel);
        OK(cu.cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
        assert_int_equal(v, out.kernel[k].registers);
    }
    /* The same through a folder.  */
    out = simdriver_compile(source, "sm_90");
    char folder[] = "/tmp/simdriver.XXXXXX", path[256], sha256[65];
    assert_non_null(mkdtemp(folder));
    sha256_text(out.cubin, out.cubin_len, sha256);
    snprintf(path, sizeof path, "%s/%s.ptx", folder, sha256);
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    assert_int_equal(file_write(&d, path, out.ptx, out.ptx_len), ST_OK);
    setenv("ROLLER_SIM_PTX_DIR", folder, 1);
    OK(cu.cuModuleLoadData(&m, out.cubin));
    unsetenv("ROLLER_SIM_PTX_DIR");
    unlink(path);
    rmdir(folder);
    arena_destroy(a);
}

/* Compiled with line information it carries its PTX.  */
static void cubins_with_lines(void **state) {
    (void)state;
    static const char text[] = "extern \"C\" __global__ void add(int *p, int plus) {\n"
                               "    // a comment\n    p[threadIdx.x] += plus;\n}\n";
    NvrtcRequest lines = {.cubin = true, .line_info = true};
    CUmodule m;
    CUdeviceptr at = simdriver_alloc(4);
    int plus = 5, v;
    void *params[] = {&at, &plus};
    OK(cu.cuMemsetD32_v2(at, 2, 1));
    OK(cu.cuModuleLoadData(&m, simdriver_compile_as(text, "sm_90", &lines).cubin));
    OK(cu.cuLaunchKernel(simdriver_function(m, "add"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cu.cuMemcpyDtoH_v2(&v, at, 4));
    assert_int_equal(v, 7);
}

static void images_are_refused(void **state) {
    (void)state;
    CUmodule m;
    char text[256];
    static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba, 1, 0};
    FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuModuleLoadData(&m, fatbin));
    FAILS(CUDA_ERROR_INVALID_IMAGE, cu.cuModuleLoadData(&m, "no PTX"));
    FAILS(CUDA_ERROR_INVALID_IMAGE, cu.cuModuleLoadData(&m, ""));
    FAILS(CUDA_ERROR_INVALID_PTX,
          cu.cuModuleLoadData(&m, "// a comment\n/* another */ .version 8.0\n.target sm_80\nfrob"));
    cu.message(text, sizeof text);
    if (!strstr(text, "module.ptx:4")) fail_msg("%s", text);
    FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU,
          cu.cuModuleLoadData(&m, simdriver_compile(source, "sm_100a").ptx));
    FAILS(CUDA_ERROR_INVALID_PTX, cu.cuModuleLoadData(&m, simdriver_compile(source, "sm_100").ptx));
    OK(cu.cuModuleLoadData(&m, simdriver_compile(source, "sm_75").ptx));
}

int main(void) {
#define T(name) cmocka_unit_test_setup(name, fresh)
    const struct CMUnitTest tests[] = {
        T(globals), T(libraries), T(cubins), T(cubins_with_lines),
        T(images_are_refused),
    };
    return cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
