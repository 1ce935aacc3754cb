/* links: sim */
/* Threads and devices of the simulated driver, and what hangs.  */
#include "simdriver_steps.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

/* ---- threads ---- */

typedef struct {
    CUdevice dev;
    const char *ptx;
    int result;
} Worker;

/* A device of its own, or the first one's with a stream of its own.  */
static void *work(void *user) {
    Worker *w = user;
    CUcontext ctx;
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    CUstream s;
    int by = 3, plus = w->dev, v = 0;
    void *params[] = {&p, &by, &plus};
    w->result = cu.cuDevicePrimaryCtxRetain(&ctx, w->dev) || cu.cuCtxSetCurrent(ctx) ||
                cu.cuModuleLoadData(&m, w->ptx) ||
                cu.cuModuleGetFunction(&f, m, "affine") || cu.cuMemAlloc_v2(&p, BYTES) ||
                cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) || cu.cuMemsetD32_v2(p, 1, N) ||
                cu.cuStreamSynchronize(NULL);
    int want = 1;
    for (int k = 0; k < 10 && !w->result; k++) {
        w->result = (int)cu.cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, s, params, NULL);
        want = want * by + plus;
    }
    w->result = w->result || cu.cuMemcpyDtoHAsync_v2(&v, p + 4, 4, s) || cu.cuMemFree_v2(p) ||
                cu.cuModuleUnload(m) || cu.cuStreamDestroy_v2(s);
    cu.cuDevicePrimaryCtxRelease_v2(w->dev);
    if (v != want) w->result = -1;
    return NULL;
}

static void threads_and_devices(void **state) {
    (void)state;
    enum { THREADS = 6 };
    pthread_t thread[THREADS];
    Worker worker[THREADS];
    const char *ptx = simdriver_compile(steps_source, "sm_80").ptx;
    for (int k = 0; k < THREADS; k++) {
        worker[k] = (Worker){.dev = k % 2, .ptx = ptx};
        assert_int_equal(pthread_create(&thread[k], NULL, work, &worker[k]), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(thread[k], NULL);
        assert_int_equal(worker[k].result, 0);
    }
}

/* An address says which device it belongs to.  */
static void two_devices(void **state) {
    (void)state;
    CUcontext ctx;
    int v = 0;
    OK(cu.cuCtxCreate_v2(&ctx, 0, 1));
    CUdeviceptr there = simdriver_alloc(BYTES);
    assert_true(there != data);
    OK(cu.cuMemcpyDtoD_v2(there, data, BYTES));
    OK(cu.cuMemcpyDtoH_v2(&v, there, 4));
    assert_int_equal(v, 1);
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cu.cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
    OK(cu.cuCtxDestroy_v2(ctx));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH_v2(&v, there, 4));
}

/* ---- what hangs ---- */

static pthread_barrier_t started;
static atomic_bool returned;

static void *hang(void *user) {
    CUresult *r = user;
    cu.cuCtxSetCurrent(simdriver_context());
    pthread_barrier_wait(&started);
    *r = cu.cuStreamSynchronize(NULL);
    atomic_store(&returned, true);
    return NULL;
}

static void hangs_until_released(const char *rule) {
    pthread_t thread;
    CUresult r = CUDA_ERROR_UNKNOWN;
    int n;
    OK(cu.control(rule));
    step(NULL, 5, 0);
    atomic_store(&returned, false);
    assert_int_equal(pthread_barrier_init(&started, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, hang, &r), 0);
    pthread_barrier_wait(&started);
    /* Others go on meanwhile.  */
    for (int k = 0; k < 100; k++) OK(cu.cuDeviceGetCount(&n));
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_false(atomic_load(&returned));
    OK(cu.control(NULL));
    pthread_join(thread, NULL);
    assert_int_equal(r, CUDA_SUCCESS);
    pthread_barrier_destroy(&started);
}

static void *wait_for_context(void *user) {
    CUresult *r = user;
    cu.cuCtxSetCurrent(simdriver_context());
    pthread_barrier_wait(&started);
    *r = cu.cuCtxSynchronize();
    return NULL;
}

/* Who waits for a context that another thread destroys is told.  */
static void context_goes_meanwhile(void **state) {
    pthread_t thread;
    CUresult r = CUDA_SUCCESS;
    OK(cu.control("kernel=hang"));
    step(NULL, 5, 0);
    assert_int_equal(pthread_barrier_init(&started, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_context, &r), 0);
    pthread_barrier_wait(&started);
    FAILS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(NULL));
    OK(cu.cuDevicePrimaryCtxRelease_v2(0));
    pthread_join(thread, NULL);
    assert_int_equal(steps_fresh(state), 0);
    assert_true(r == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    pthread_barrier_destroy(&started);
    assert_int_equal(value(), 1);
}

static void hangs(void **state) {
    (void)state;
    hangs_until_released("cuStreamSynchronize=hang");
    hangs_until_released("kernel=hang");
    assert_int_equal(value(), 25);
    /* A kernel that hangs is never ready.  */
    OK(cu.control("kernel@1=hang"));
    CUevent e = event();
    step(NULL, 2, 0);
    OK(cu.cuEventRecord(e, NULL));
    for (int k = 0; k < 20; k++) FAILS(CUDA_ERROR_NOT_READY, cu.cuEventQuery(e));
    OK(cu.control(NULL));
    OK(cu.cuEventSynchronize(e));
    assert_int_equal(value(), 50);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* What is slow does its work all the same, and then fails as other rules say.  */
static void delays(void **state) {
    (void)state;
    static const char *const rule[] = {"cuStreamSynchronize=30ms", "kernel@1=30ms",
                                       "kernel=10ms;cuStreamSynchronize@1=10ms;kernel@1=10ms"};
    for (int k = 0; k < 3; k++) {
        OK(cu.control(rule[k]));
        step(NULL, 5, 0);
        double begun = now_ms();
        OK(cu.cuStreamSynchronize(NULL));
        assert_true(now_ms() - begun >= 30);
    }
    OK(cu.control(NULL));
    assert_int_equal(value(), 125);
    OK(cu.control("cuCtxSynchronize=1ms;cuCtxSynchronize=719"));
    FAILS(CUDA_ERROR_LAUNCH_FAILED, cu.cuCtxSynchronize());
    static const char *const wrong[] = {"kernel=ms", "kernel=60001ms", "kernel=5m", "alloc=5ms",
                                        "noise=5ms", "memory=5ms"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        FAILS(CUDA_ERROR_INVALID_VALUE, cu.control(wrong[k]));
    OK(cu.control(NULL));
}

int main(void) {
#define T(name) cmocka_unit_test_setup(name, steps_fresh)
    const struct CMUnitTest tests[] = {
        T(threads_and_devices), T(two_devices), T(context_goes_meanwhile), T(hangs),
        T(delays),
    };
    return cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
