/* links: sim */
/* Every function of the Driver API is there: what is not simulated says so.  Where the vendor's
 * header is installed ($CUDA_HOME, else /usr/local/cuda), its names are compared with ours.  */
#include "simdriver.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int setup(void **state) {
    (void)state;
    return simdriver_load() ? 0 : -1;
}

/* cuInit has not been called when the first test runs.  */
static void unsupported(void **state) {
    (void)state;
    setenv("ROLLER_SIM_PROFILE", "profiles/tiny.json", 1);
    for (int k = 0; k < 2; k++) {
        int n = 0;
        CUresult want = k ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NOT_INITIALIZED;
#define X(name, symbol, since)                                                                     \
    {                                                                                              \
        CUresult (*f)(void);                                                                       \
        void *at = simdriver_symbol(#symbol);                                                      \
        memcpy(&f, &at, sizeof f);                                                                 \
        if (!at) fail_msg("no symbol %s", #symbol);                                                \
        FAILS(want, f());                                                                          \
        n++;                                                                                       \
    }
        SIMDRIVER_UNSUPPORTED(X)
#undef X
        assert_true(n > 300);
        OK(cu.cuInit(0));
    }
}

static void *address(const char *name, int version, uint64_t flags) {
    void *at;
    int status;
    OK(cu.cuGetProcAddress_v2(name, &at, version, flags, &status));
    return at;
}

/* A name, a version and a kind of stream say which form of a function it is.  */
static void versions(void **state) {
    (void)state;
    enum { LEGACY = CU_GET_PROC_ADDRESS_LEGACY_STREAM,
           PER_THREAD = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM };
#define X(name, symbol, since, needs, parameters, base, arguments)                                 \
    assert_ptr_equal(address(#name, 13000, LEGACY), address(#name, 13000, 0));                     \
    assert_true(address(#name, 13000, PER_THREAD) != address(#name, 13000, LEGACY));
    SIMDRIVER_PER_THREAD(X)
#undef X
    assert_ptr_equal(address("cuLaunchKernel", 7000, PER_THREAD),
                     simdriver_symbol("cuLaunchKernel_ptsz"));
    assert_ptr_equal(address("cuMemcpyHtoD", 12000, PER_THREAD),
                     simdriver_symbol("cuMemcpyHtoD_v2_ptds"));
    assert_ptr_equal(address("cuMemAlloc", 12000, PER_THREAD), simdriver_symbol("cuMemAlloc_v2"));
    assert_ptr_equal(address("cuMemAlloc", 2000, 0), simdriver_symbol("cuMemAlloc"));
    assert_ptr_equal(address("cuArrayCreate", 13000, 0), simdriver_symbol("cuArrayCreate_v2"));
    assert_ptr_equal(address("cuStreamGetCaptureInfo", 11040, 0),
                     simdriver_symbol("cuStreamGetCaptureInfo_v2"));
}

/* Stream 0 of a per-thread form is another stream: it can be captured.  */
static void streams_of_threads(void **state) {
    (void)state;
    CUcontext ctx;
    CUgraph graph;
    CUresult (*begin)(CUstream stream, int mode);
    void *at = simdriver_symbol("cuStreamBeginCapture_v2_ptsz");
    memcpy(&begin, &at, sizeof begin);
    OK(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cu.cuCtxSetCurrent(ctx));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamBeginCapture_v2(NULL, 0));
    OK(begin(NULL, 0));
    OK(cu.cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph));
    OK(cu.control("cuStreamBeginCapture_v2_ptsz=999"));
    FAILS(CUDA_ERROR_UNKNOWN, begin(NULL, 0));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamBeginCapture_v2(NULL, 0));
    OK(cu.control(NULL));
    OK(cu.cuDevicePrimaryCtxRelease_v2(0));
}

/* ---- the vendor's header ---- */

static int missing(const char *name, const char *suffix) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "%s%s", name, suffix);
    if (simdriver_symbol(symbol)) return 0;
    print_error("no %s\n", symbol);
    return 1;
}

static bool take_name(const char *s, char out[64]) {
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (n == 0 || n >= 64 || strncmp(s, "cu", 2)) return false;
    memcpy(out, s, n);
    out[n] = 0;
    return true;
}

/* Counts what follows each `mark` and is no symbol of ours with the suffix.  */
static int compare(const char *text, const char *mark, const char *suffix, int *found) {
    char name[64];
    int lost = 0;
    for (const char *s = text; (s = strstr(s, mark)); ) {
        s += strlen(mark);
        if (!take_name(s, name)) continue;
        lost += missing(name, suffix);
        ++*found;
    }
    return lost;
}

static void as_in_the_header(void **state) {
    (void)state;
    const char *home = getenv("CUDA_HOME");
    char path[1024], *text;
    size_t len;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    snprintf(path, sizeof path, "%s/include/cuda.h", home && *home ? home : "/usr/local/cuda");
    if (!file_exists(path) || file_read(a, &d, path, 64 << 20, &text, &len) != ST_OK) {
        arena_destroy(a);
        skip();
    }
    int declared = 0, per_thread = 0;
    int lost = compare(text, "CUresult CUDAAPI ", "", &declared);
    lost += compare(text, "__CUDA_API_PTDS(", "_ptds", &per_thread);
    lost += compare(text, "__CUDA_API_PTSZ(", "_ptsz", &per_thread);
    arena_destroy(a);
    assert_int_equal(lost, 0);
    assert_true(declared > 300 && per_thread > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsupported), cmocka_unit_test(versions),
        cmocka_unit_test(streams_of_threads), cmocka_unit_test(as_in_the_header),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
