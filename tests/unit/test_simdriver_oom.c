/* links: sim */
/* The simulated driver without memory on the host: every allocation fails in turn.  */
#include "simdriver_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
    CUgraphExec exec, changed;
    CUgraph nodes;
    CUlinkState link;
    CUuserObject user;
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

static void nothing(void *user) { (void)user; }

/* A graph of nodes, of which one gets other parameters, that holds on to something.  */
static CUresult make_nodes(Parts *x) {
    int by = 1, plus = 0;
    void *params[] = {&x->p, &by, &plus};
    CUDA_KERNEL_NODE_PARAMS p = {x->f, 1, 1, 1, N, 1, 1, 0, params, NULL, NULL, NULL};
    CUDA_HOST_NODE_PARAMS host = {nothing, NULL};
    CUgraphNode kernel, last;
    size_t n = 1;
    CUresult r = cu.cuGraphCreate(&x->nodes, 0);
    if (!r) r = cu.cuUserObjectCreate(&x->user, NULL, nothing, 1, 1);
    if (!r) r = cu.cuGraphRetainUserObject(x->nodes, x->user, 1, 0);
    if (!r) r = cu.cuGraphAddKernelNode_v2(&kernel, x->nodes, NULL, 0, &p);
    if (!r) r = cu.cuGraphAddHostNode(&last, x->nodes, &kernel, 1, &host);
    if (!r) r = cu.cuGraphInstantiateWithFlags(&x->changed, x->nodes, 0);
    if (!r) r = cu.cuGraphExecKernelNodeSetParams_v2(x->changed, kernel, &p);
    if (!r) r = cu.cuGraphGetNodes(x->nodes, &last, &n);
    return r ? r : cu.cuGraphLaunch(x->changed, x->other);
}

/* Memory in the order of a stream, memory of the host, a link.  */
static CUresult make_memory(Parts *x) {
    CUdeviceptr at;
    void *host, *image;
    CUresult r = cu.cuMemAllocAsync(&at, 64, x->other);
    if (!r) r = cu.cuMemFreeAsync(at, x->other);
    if (!r) r = cu.cuMemHostAlloc(&host, 64, 2);
    if (!r) r = cu.cuLinkCreate_v2(0, NULL, NULL, &x->link);
    if (!r) r = cu.cuLinkAddData_v2(x->link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx,
                                    strlen(ptx) + 1, NULL, 0, NULL, NULL);
    return r ? r : cu.cuLinkComplete(x->link, &image, NULL);
}

static CUresult use(Parts *x, int *got) {
    int pageable = 1;
    CUresult r = cu.cuMemsetD32_v2(x->p, 0, N);
    if (!r) r = cu.cuMemcpyHtoDAsync_v2(x->p + 4, &pageable, 4, x->other);
    if (!r) r = cu.cuStreamSynchronize(x->other);
    if (!r) r = capture(x);
    if (!r) r = make_nodes(x);
    if (!r) r = make_memory(x);
    if (!r) r = cu.cuGraphInstantiateWithFlags(&x->exec, x->graph, 0);
    if (!r) r = cu.cuGraphLaunch(x->exec, x->other);
    CUfunction empty_kernel = (CUfunction)(void *)x->kernel;
    if (!r) r = cu.cuLaunchKernel(empty_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    if (!r) r = cu.cuMemcpyDtoH_v2(got, x->p + 4, 4);
    return r;
}

static void drop(Parts *x) {
    if (x->link) OK(cu.cuLinkDestroy(x->link));
    if (x->changed) OK(cu.cuGraphExecDestroy(x->changed));
    if (x->nodes) OK(cu.cuGraphDestroy(x->nodes));
    if (x->user) OK(cu.cuUserObjectRelease(x->user, 1));
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
