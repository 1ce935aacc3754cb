/* links: hal */
/* What a process sets before it loads the simulated driver: profiles, rules, the driver's age.  */
#include "simdriver_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

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

/* The library is never loaded here, only in the children.  */
int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
