/* links: sim */
/* Capture and graphs of the simulated driver.  */
#include "simdriver_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- graphs ---- */

static CUgraphExec captured(CUgraph graph) {
    CUgraphExec exec;
    OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.cuGraphDestroy(graph));
    return exec;
}

static void capture_and_launch(void **state) {
    (void)state;
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    CUgraph graph;
    int status;
    OK(cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cu.cuStreamIsCapturing(s, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    step(s, 3, 1);
    OK(cu.cuMemcpyDtoHAsync_v2(pinned, data, BYTES, s));
    step(s, 2, 0);
    OK(cu.cuStreamEndCapture(s, &graph));
    CUgraphExec exec = captured(graph);
    assert_int_equal(value(), 1);
    for (int k = 0; k < 2; k++) OK(cu.cuGraphLaunch(exec, s));
    OK(cu.cuStreamSynchronize(s));
    assert_int_equal(value(), ((1 * 3 + 1) * 2 * 3 + 1) * 2);
    assert_int_equal(pinned[1], (1 * 3 + 1) * 2 * 3 + 1);
    OK(cu.cuGraphExecDestroy(exec));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuGraphLaunch(exec, s));
}

/* A graph forks and joins; its kernels come faster than launches.  */
static void fork_and_join(void **state) {
    (void)state;
    CUstream a = stream(CU_STREAM_NON_BLOCKING), b = stream(CU_STREAM_NON_BLOCKING);
    CUevent fork = event(), join = event();
    CUgraph graph;
    OK(cu.cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    step(a, 1, 4);
    OK(cu.cuEventRecord(fork, a));
    OK(cu.cuStreamWaitEvent(b, fork, 0));
    step(b, 10, 0);
    FAILS(CUDA_ERROR_CAPTURED_EVENT, cu.cuEventQuery(fork));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(a, &graph));
    assert_null(graph);
    for (int joined = 0; joined < 2; joined++) {
        OK(cu.cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        step(a, 1, 4);
        OK(cu.cuEventRecord(fork, a));
        OK(cu.cuStreamWaitEvent(b, fork, 0));
        step(b, 10, 0);
        OK(cu.cuEventRecord(join, b));
        if (joined) OK(cu.cuStreamWaitEvent(a, join, 0));
        step(a, 1, 1);
        if (joined) OK(cu.cuStreamEndCapture(a, &graph));
        else FAILS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cu.cuStreamEndCapture(a, &graph));
    }
    CUgraphExec exec = captured(graph);
    OK(cu.cuGraphLaunch(exec, b));
    OK(cu.cuStreamSynchronize(b));
    assert_int_equal(value(), 51);
}

static void graph_launches_are_cheaper(void **state) {
    (void)state;
    enum { KERNELS = 50 };
    const Device *d = simdriver_profile("h200");
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    CUevent a = event(), b = event();
    CUgraph graph;
    float ms[2];
    OK(cu.cuStreamBeginCapture_v2(s, 0));
    for (int k = 0; k < KERNELS; k++) {
        OK(cu.cuLaunchKernel(empty, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
    }
    OK(cu.cuStreamEndCapture(s, &graph));
    CUgraphExec exec = captured(graph);
    for (int in_graph = 0; in_graph < 2; in_graph++) {
        OK(cu.cuEventRecord(a, s));
        if (in_graph) OK(cu.cuGraphLaunch(exec, s));
        for (int k = 0; !in_graph && k < KERNELS; k++) {
            OK(cu.cuLaunchKernel(empty, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
        }
        OK(cu.cuEventRecord(b, s));
        OK(cu.cuEventSynchronize(b));
        OK(cu.cuEventElapsedTime(&ms[in_graph], a, b));
    }
    double launch = d->overheads.launch_stream.value * 1e-6;
    assert_true(ms[0] > 0.95 * KERNELS * launch);
    assert_true(ms[1] < ms[0] && ms[1] > KERNELS * d->overheads.launch_graph.value * 1e-6);
    /* Without its launch, every kernel of the graph takes as long as the others.  */
    double alone = ms[0] - KERNELS * launch;
    assert_true(ms[1] > launch + 0.99 * KERNELS * alone && ms[1] < launch + 1.01 * KERNELS * alone);
}

/* A graph whose second kernel hangs goes on with that one.  */
static void graph_hangs(void **state) {
    (void)state;
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    CUgraph graph;
    OK(cu.cuStreamBeginCapture_v2(s, 0));
    step(s, 3, 1);
    step(s, 2, 0);
    OK(cu.cuStreamEndCapture(s, &graph));
    CUgraphExec exec = captured(graph);
    OK(cu.control("kernel@2=hang"));
    OK(cu.cuGraphLaunch(exec, s));
    for (int k = 0; k < 3; k++) FAILS(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s));
    OK(cu.control(NULL));
    OK(cu.cuStreamSynchronize(s));
    assert_int_equal(value(), (1 * 3 + 1) * 2);
}

/* What a capture forbids spoils it.  */
static void captures_are_spoiled(void **state) {
    (void)state;
    CUstream s = stream(0), other = stream(CU_STREAM_NON_BLOCKING);
    CUgraph graph;
    CUdeviceptr at;
    int status, v;
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamBeginCapture_v2(NULL, 0));
    FAILS(CUDA_ERROR_ILLEGAL_STATE, cu.cuStreamEndCapture(s, &graph));
    for (int k = 0; k < 6; k++) {
        OK(cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
        switch (k) {
        case 0: FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuMemAlloc_v2(&at, 16)); break;
        case 1: FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamSynchronize(s)); break;
        case 2: FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuCtxSynchronize()); break;
        case 3:
            FAILS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cu.cuMemcpyDtoH_v2(&v, data, 4));
            break;
        case 4: FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamQuery(s)); break;
        default: FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuMemFree_v2(data)); break;
        }
        OK(cu.cuStreamIsCapturing(s, &status));
        assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
        FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(s, &graph));
    }
    /* A relaxed capture permits what its thread may do without it.  */
    OK(cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cu.cuMemAlloc_v2(&at, 16));
    step(other, 2, 0);
    OK(cu.cuStreamEndCapture(s, &graph));
    OK(cu.cuGraphDestroy(graph));
    OK(cu.cuStreamSynchronize(other));
    assert_int_equal(value(), 2);
}

/* A graph launched in a capture is a node of the other one, each time that runs.  */
static void graphs_nest(void **state) {
    (void)state;
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    CUgraph graph;
    OK(cu.cuStreamBeginCapture_v2(s, 0));
    step(s, 3, 1);
    step(s, 2, 0);
    OK(cu.cuStreamEndCapture(s, &graph));
    CUgraphExec inner = captured(graph);
    OK(cu.cuStreamBeginCapture_v2(s, 0));
    step(s, 5, 0);
    OK(cu.cuGraphLaunch(inner, s));
    step(s, 1, 7);
    OK(cu.cuStreamEndCapture(s, &graph));
    CUgraphExec outer = captured(graph);
    OK(cu.cuGraphExecDestroy(inner));
    int want = 1;
    for (int k = 0; k < 2; k++, want = (want * 5 * 3 + 1) * 2 + 7) OK(cu.cuGraphLaunch(outer, s));
    OK(cu.cuStreamSynchronize(s));
    assert_int_equal(value(), want);
    OK(cu.cuGraphExecDestroy(outer));
}

/* A capture ends with its stream, or with its context.  */
static void captures_end_early(void **state) {
    (void)state;
    CUstream s = stream(CU_STREAM_NON_BLOCKING), joined = stream(CU_STREAM_NON_BLOCKING);
    CUevent e = event();
    CUcontext own;
    int status;
    OK(cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    step(s, 1, 1);
    OK(cu.cuEventRecord(e, s));
    OK(cu.cuStreamWaitEvent(joined, e, 0));
    OK(cu.cuStreamIsCapturing(joined, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cu.cuStreamDestroy_v2(s));
    OK(cu.cuStreamIsCapturing(joined, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cu.cuEventQuery(e));
    OK(cu.cuCtxCreate_v2(&own, 0, 0));
    s = stream(CU_STREAM_NON_BLOCKING);
    OK(cu.cuStreamBeginCapture_v2(s, 0));
    OK(cu.cuCtxDestroy_v2(own));
    assert_int_equal(value(), 1);
}

int main(void) {
#define T(name) cmocka_unit_test_setup(name, steps_fresh)
    const struct CMUnitTest tests[] = {
        T(capture_and_launch), T(fork_and_join), T(graph_launches_are_cheaper), T(graph_hangs),
        T(captures_are_spoiled), T(graphs_nest), T(captures_end_early),
    };
    return cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
