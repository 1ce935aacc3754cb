/* links: sim */
/* The simulated driver without memory on the host: every allocation fails in turn.  */
#include "simdriver_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const char *ptx;

typedef struct {
    CUcontext ctx;
    CUstream s, other;
    CUevent fork, join;
    CUmodule m;
    CUlibrary l;
    CUkernel kernel;
    CUfunction f;
    CUdeviceptr p;
    void *host;
    CUgraph graph;
    CUgraphExec exec;
} Parts;

static CUresult make(Parts *x) {
    CUresult r = cu.cuCtxCreate_v2(&x->ctx, 0, 0);
    if (!r) r = cu.cuStreamCreate(&x->s, CU_STREAM_NON_BLOCKING);
    if (!r) r = cu.cuStreamCreate(&x->other, CU_STREAM_DEFAULT);
    if (!r) r = cu.cuEventCreate(&x->fork, 0);
    if (!r) r = cu.cuEventCreate(&x->join, 0);
    if (!r) r = cu.cuModuleLoadData(&x->m, ptx);
    if (!r) r = cu.cuLibraryLoadData(&x->l, ptx, NULL, NULL, 0, NULL, NULL, 0);
    if (!r) r = cu.cuLibraryGetKernel(&x->kernel, x->l, "empty");
    if (!r) r = cu.cuModuleGetFunction(&x->f, x->m, "affine");
    if (!r) r = cu.cuMemAlloc_v2(&x->p, BYTES);
    if (!r) r = cu.cuMemAllocHost_v2(&x->host, BYTES);
    return r;
}

static CUresult launch(Parts *x, CUstream s) {
    int by = 2, plus = 1;
    void *params[] = {&x->p, &by, &plus};
    return cu.cuLaunchKernel(x->f, 1, 1, 1, N, 1, 1, 0, s, params, NULL);
}

static CUresult capture(Parts *x) {
    CUresult r = cu.cuStreamBeginCapture_v2(x->s, CU_STREAM_CAPTURE_MODE_RELAXED), ended;
    if (r) return r;
    r = launch(x, x->s);
    if (!r) r = cu.cuEventRecord(x->fork, x->s);
    if (!r) r = cu.cuStreamWaitEvent(x->other, x->fork, 0);
    if (!r) r = launch(x, x->other);
    if (!r) r = cu.cuEventRecord(x->join, x->other);
    if (!r) r = cu.cuStreamWaitEvent(x->s, x->join, 0);
    ended = cu.cuStreamEndCapture(x->s, &x->graph);
    return r ? r : ended;
}

static CUresult use(Parts *x, int *got) {
    int pageable = 1;
    CUresult r = cu.cuMemsetD32_v2(x->p, 0, N);
    if (!r) r = cu.cuMemcpyHtoDAsync_v2(x->p + 4, &pageable, 4, x->other);
    if (!r) r = cu.cuStreamSynchronize(x->other);
    if (!r) r = capture(x);
    if (!r) r = cu.cuGraphInstantiateWithFlags(&x->exec, x->graph, 0);
    if (!r) r = cu.cuGraphLaunch(x->exec, x->other);
    CUfunction empty_kernel = (CUfunction)(void *)x->kernel;
    if (!r) r = cu.cuLaunchKernel(empty_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    if (!r) r = cu.cuMemcpyDtoH_v2(got, x->p + 4, 4);
    return r;
}

static void drop(Parts *x) {
    if (x->exec) OK(cu.cuGraphExecDestroy(x->exec));
    if (x->graph) OK(cu.cuGraphDestroy(x->graph));
    if (x->ctx) OK(cu.cuCtxDestroy_v2(x->ctx));
    if (x->l) OK(cu.cuLibraryUnload(x->l));
}

/* What is built on memory that is not there says so, and what was made can be given back.  */
static void every_allocation_fails(void **state) {
    (void)state;
    char rule[32];
    int n = 0, got = 0;
    CUresult r;
    ptx = simdriver_compile(steps_source, "sm_80").ptx;
    do {
        Parts x = {0};
        snprintf(rule, sizeof rule, "alloc@%d=2", ++n);
        OK(cu.control(rule));
        r = make(&x);
        if (!r) r = use(&x, &got);
        OK(cu.control(NULL));
        drop(&x);
        if (r != CUDA_SUCCESS && r != CUDA_ERROR_OUT_OF_MEMORY) fail_msg("%s: %d", rule, r);
    } while (r != CUDA_SUCCESS && n < 1000);
    assert_true(n > 40 && n < 1000);
    assert_int_equal(got, 7);
    assert_int_equal(value(), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_allocation_fails, steps_fresh),
    };
    return cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
