/* links: sim */
/* What a process sets before it loads the simulated driver: profiles, rules, the driver's age.  */
#include "simdriver_calls.h"

#include "base/file.h"

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

/* Every allocation of cuInit fails in turn.  */
static int init_without_memory(void) {
    char rule[32];
    for (int n = 1; n < 1000; n++) {
        snprintf(rule, sizeof rule, "alloc@%d=2", n);
        if (cu.control(rule) != CUDA_SUCCESS) return 1;
        CUresult r = cu.cuInit(0);
        if (r == CUDA_SUCCESS) return n > 2 ? 0 : 2;
        if (r != CUDA_ERROR_OUT_OF_MEMORY) return 3;
    }
    return 4;
}

static int no_device(void) { return cu.cuInit(0) == CUDA_ERROR_NO_DEVICE ? 0 : 1; }

static int bad_profile(void) {
    char text[256];
    if (cu.cuInit(0) != CUDA_ERROR_SYSTEM_NOT_READY) return 1;
    cu.message(text, sizeof text);
    return strstr(text, "nosuch") ? 0 : 2;
}

/* What a program that drops the reason leaves behind.  */
static char log_file[] = "/tmp/roller-simlog-XXXXXX";

static bool logged(const char *text) {
    char line[1024] = "";
    FILE *f = fopen(log_file, "r");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) found = strstr(line, text) != NULL;
    if (f) fclose(f);
    return found;
}

static int says_why(void) {
    int n, version;
    setenv("ROLLER_SIM_PROFILE", "nosuch", 1);
    if (cu.cuDeviceGetCount(&n) != CUDA_ERROR_NOT_INITIALIZED) return 1;
    if (!logged("]: cuDeviceGetCount: CUDA_ERROR_NOT_INITIALIZED\n")) return 2;
    if (cu.cuDriverGetVersion(&version) || logged("cuDriverGetVersion")) return 3;
    if (cu.cuInit(0) != CUDA_ERROR_SYSTEM_NOT_READY) return 4;
    return logged("cuInit: CUDA_ERROR_SYSTEM_NOT_READY: there is no profile \"nosuch\"") ? 0 : 5;
}

/* A folder that has no profiles, and none where they are installed: those beside the library.  */
static int elsewhere(void) {
    char name[64];
    if (chdir("/") || unsetenv("ROLLER_PROFILE_PATH") || setenv("HOME", "/nowhere", 1)) return 1;
    unsetenv("XDG_DATA_HOME");
    if (cu.cuInit(0) != CUDA_SUCCESS) return 2;
    if (cu.cuDeviceGetName(name, sizeof name, 0) != CUDA_SUCCESS) return 3;
    return strcmp(name, "NVIDIA A100-SXM4-80GB (simulated)") ? 4 : 0;
}

/* A real driver does not survive fork either, and says so by this code.  */
static int after_fork(void) {
    CUcontext ctx;
    CUdeviceptr at;
    int n, status;
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&ctx, 0) || cu.cuCtxSetCurrent(ctx)) return 1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool same = cu.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                    cu.cuDeviceGetCount(&n) == CUDA_ERROR_NOT_INITIALIZED &&
                    cu.cuMemAlloc_v2(&at, 16) == CUDA_ERROR_NOT_INITIALIZED &&
                    cu.cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
                    cu.cuDriverGetVersion(&n) == CUDA_SUCCESS;
        _exit(same ? 0 : 1);
    }
    if (waitpid(child, &status, 0) != child || status) return 2;
    return cu.cuMemAlloc_v2(&at, 16) == CUDA_SUCCESS ? 0 : 3;
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

/* Milliseconds of a graph of n empty kernels, launch included; negative after a failure.  */
static float graph_time(CUfunction f, CUstream s, int n) {
    CUgraph graph;
    CUgraphExec exec;
    CUevent a, b;
    float ms;
    bool failed = cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL) != CUDA_SUCCESS;
    for (int k = 0; k < n; k++) {
        failed |= cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL) != CUDA_SUCCESS;
    }
    failed |= cu.cuStreamEndCapture(s, &graph) || cu.cuEventCreate(&a, 0) ||
              cu.cuEventCreate(&b, 0) || cu.cuGraphInstantiateWithFlags(&exec, graph, 0) ||
              cu.cuEventRecord(a, s) || cu.cuGraphLaunch(exec, s) || cu.cuEventRecord(b, s) ||
              cu.cuStreamSynchronize(s) || cu.cuEventElapsedTime(&ms, a, b);
    return failed ? -1 : ms;
}

static bool near_to(double got, double want) {
    return got > want * 0.9999 && got < want * 1.0001;
}

/* A GPU that there is none of: its constants come back.  */
enum { ODD_SMS = 7, ODD_FLOOR = 2000, ODD_GRAPH = 3100, ODD_STREAM = 9000 };
static int odd_gpu(void) {
    static const char ptx[] = ".version 9.0\n.target sm_75\n.address_size 64\n"
                              ".visible .entry k() { ret; }\n";
    CUcontext ctx;
    CUmodule m;
    CUfunction f;
    CUstream s;
    int sms;
    if (cu.cuInit(0) || cu.cuCtxCreate_v2(&ctx, 0, 0) || cu.cuModuleLoadData(&m, ptx) ||
        cu.cuModuleGetFunction(&f, m, "k") || cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)) {
        return 1;
    }
    if (cu.cuDeviceGetAttribute(&sms, 16, 0) || sms != ODD_SMS) return 2;
    double one = graph_time(f, s, 1), eleven = graph_time(f, s, 11);
    if (one <= 0 || eleven <= 0) return 3;
    double alone = one * 1e6 - ODD_STREAM, chained = (eleven - one) * 1e5;
    return near_to(chained - alone, ODD_GRAPH - ODD_FLOOR) ? 0 : 4;
}

static void odd_profile(void **state) {
    (void)state;
    char folder[] = "/tmp/simdriver.XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/odd.json", folder);
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Device *dev;
    assert_int_equal(hal_profile_find(a, &d, "profiles/tiny.json", "", NULL, &dev), ST_OK);
    dev->limits.sm_count.value = ODD_SMS;
    dev->overheads.kernel_floor.value = ODD_FLOOR;
    dev->overheads.launch_graph.value = ODD_GRAPH;
    dev->overheads.launch_stream.value = ODD_STREAM;
    Buf text = buf_new(a);
    hal_profile_write(dev, &text);
    assert_int_equal(file_write(&d, path, buf_str(&text), text.len), ST_OK);
    in_child("ROLLER_SIM_PROFILE", path, odd_gpu);
    unlink(path);
    rmdir(folder);
    arena_destroy(a);
}

static void processes(void **state) {
    (void)state;
    in_child("ROLLER_SIM_PROFILE", "profiles/tiny.json", before_init);
    in_child("ROLLER_SIM_PROFILE", "profiles/h200.json", init_without_memory);
    in_child("ROLLER_SIM_PROFILE", "none", no_device);
    in_child("ROLLER_SIM_PROFILE", "nosuch", bad_profile);
    in_child("ROLLER_SIM_PROFILE", "a100", elsewhere);
    in_child("ROLLER_SIM_PROFILE", "profiles/h200.json", after_fork);
    int file = mkstemp(log_file);
    assert_true(file >= 0);
    in_child("ROLLER_SIM_LOG", log_file, says_why);
    close(file);
    unlink(log_file);
    in_child("ROLLER_SIM_FAULTS", "version=11040", too_old);
    in_child("ROLLER_SIM_FAULTS", "cuNoSuch=1", bad_rules);
    in_child("ROLLER_SIM_FAULTS", "cuInit@1=46", first_init_fails);
}

/* The library is never loaded here, only in the children.  */
int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes),
                                       cmocka_unit_test(odd_profile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
