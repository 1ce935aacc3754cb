/* links: sim */
/* Cubins on the simulated driver: loaded before everything else, it learns their PTX from whoever
 * asks NVRTC or nvJitLink for them.  A process binds its symbols once, so this program starts
 * itself again with the library in front.  */
#include "simdriver_steps.h"
#include "simulated.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void runs(const void *image, const char *name, int want) {
    CUmodule m;
    int by = 3, plus = 4, v;
    void *params[] = {&data, &by, &plus};
    OK(cu.cuMemsetD32_v2(data, 1, N));
    OK(cu.cuModuleLoadData(&m, image));
    OK(cu.cuLaunchKernel(simdriver_function(m, name), 1, 1, 1, N, 1, 1, 0, NULL, params, NULL));
    OK(cu.cuMemcpyDtoH_v2(&v, data, 4));
    assert_int_equal(v, want);
    OK(cu.cuModuleUnload(m));
}

static void compiled(void **state) {
    (void)state;
    NvrtcOutput out = simdriver_compile(steps_source, "sm_90");
    assert_int_equal(memcmp(out.cubin, "\177ELF", 4), 0);
    runs(out.cubin, "affine", 7);
    /* What nobody made here stays unknown.  */
    CUmodule m;
    char *other = malloc(out.cubin_len);
    assert_non_null(other);
    memcpy(other, out.cubin, out.cubin_len);
    other[out.cubin_len - 1] ^= 1;
    FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuModuleLoadData(&m, other));
    free(other);
}

/* ---- nvJitLink, where it is installed ---- */

typedef int Create(void **handle, uint32_t n, const char **options);
typedef int Add(void *handle, int type, const void *data, size_t size, const char *name);
typedef int Finish(void *handle);
typedef int Size(void *handle, size_t *size);
typedef int Get(void *handle, void *to);
typedef int Destroy(void **handle);

static void *open_linker(void) {
    static const char *const name[] = {"libnvJitLink.so.13", "libnvJitLink.so.12",
                                       "/usr/local/cuda/lib64/libnvJitLink.so"};
    for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
        void *library = dlopen(name[k], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
    }
    return NULL;
}

static void *function(void *library, const char *name) {
    void *f = dlsym(library, name);
    assert_non_null(f);
    return f;
}
#define CALL(type, name) (*(type **)&(void *){function(library, "nvJitLink" #name)})

static const char one[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
    ".visible .entry k(.param .u64 p, .param .u32 by, .param .u32 plus) {\n"
    "    .reg .pred %q; .reg .b32 %v<4>; .reg .b64 %p<2>;\n"
    "    ld.param.u64 %p1, [p]; cvta.to.global.u64 %p1, %p1; ld.param.u32 %v1, [plus];\n"
    "    { .param .b32 x; .param .b32 r; st.param.b32 [x], %v1;\n"
    "      call.uni (r), twice, (x); ld.param.b32 %v2, [r]; }\n"
    "    mov.u32 %v3, %tid.x; setp.ne.u32 %q, %v3, 0; @%q ret;\n"
    "    st.global.u32 [%p1], %v2; ret;\n}\n";
static const char other[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .func (.param .b32 r) twice(.param .b32 x) {\n"
    "    .reg .b32 %a<2>; ld.param.b32 %a1, [x]; add.u32 %a1, %a1, %a1;\n"
    "    st.param.b32 [r], %a1; ret;\n}\n";

static void linked(void **state) {
    (void)state;
    enum { PTX = 2 };
    void *library = open_linker(), *handle;
    const char *options[] = {"-arch=sm_90"};
    size_t size;
    if (!library) skip();
    assert_int_equal(CALL(Create, Create)(&handle, 1, options), 0);
    assert_int_equal(CALL(Add, AddData)(handle, PTX, one, sizeof one, "one"), 0);
    assert_int_equal(CALL(Add, AddData)(handle, PTX, other, sizeof other, "other"), 0);
    assert_int_equal(CALL(Finish, Complete)(handle), 0);
    assert_int_equal(CALL(Size, GetLinkedCubinSize)(handle, &size), 0);
    char *cubin = malloc(size);
    assert_non_null(cubin);
    assert_int_equal(CALL(Get, GetLinkedCubin)(handle, cubin), 0);
    runs(cubin, "k", 8);
    free(cubin);
    assert_int_equal(CALL(Destroy, Destroy)(&handle), 0);
}

/* A sanitizer's library has to come first itself.  */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FIRST = 0 };
#else
enum { FIRST = 1 };
#endif

int main(int argc, char **argv) {
#define T(name) cmocka_unit_test_setup(name, steps_fresh)
    const struct CMUnitTest tests[] = {T(compiled), T(linked)};
    (void)argc;
    if (!FIRST) return 0;
    if (!getenv("LD_PRELOAD")) {
        simulated_set("LD_PRELOAD", "simdriver/libcuda.so.1");
        execv("/proc/self/exe", argv);
        return 1;
    }
    return cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
