/* links: sim */
/* Graphs of the simulated driver built node by node, functions of the host, and linked code.  */
#include "simdriver_steps.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static CUfunction affine_of(void) {
    return simdriver_function(simdriver_module(steps_source, "sm_80"), "affine");
}

/* A node of a step; `by` and `plus` are taken at the call.  */
static CUgraphNode add_step(CUgraph g, CUfunction f, const CUgraphNode *needs, size_t n, int by,
                            int plus) {
    CUgraphNode node;
    void *params[] = {&data, &by, &plus};
    CUDA_KERNEL_NODE_PARAMS p = {f, 1, 1, 1, N, 1, 1, 0, params, NULL, NULL, NULL};
    OK(cu.cuGraphAddKernelNode_v2(&node, g, needs, n, &p));
    return node;
}

static void run(CUgraph graph) {
    CUgraphExec exec;
    OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.cuGraphLaunch(exec, NULL));
    OK(cu.cuStreamSynchronize(NULL));
    OK(cu.cuGraphExecDestroy(exec));
}

static void count(void *user) { ++*(int *)user; }

static void node_by_node(void **state) {
    (void)state;
    CUgraph graph, inner;
    CUgraphNode node[6], seen[8];
    size_t n = 8;
    int called = 0, type;
    CUfunction f = affine_of();
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = data, .value = 4, .elementSize = 4, .width = N,
                                    .height = 1};
    CUDA_HOST_NODE_PARAMS host = {count, &called};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = data,
                          .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pinned,
                          .WidthInBytes = BYTES, .Height = 1, .Depth = 1};
    OK(cu.cuGraphCreate(&inner, 0));
    add_step(inner, f, NULL, 0, 10, 0);
    OK(cu.cuGraphCreate(&graph, 0));
    OK(cu.cuGraphAddMemsetNode(&node[0], graph, NULL, 0, &fill, simdriver_context()));
    node[1] = add_step(graph, f, &node[0], 1, 3, 1);
    OK(cu.cuGraphAddChildGraphNode(&node[2], graph, &node[1], 1, inner));
    OK(cu.cuGraphAddHostNode(&node[3], graph, &node[2], 1, &host));
    OK(cu.cuGraphAddEmptyNode(&node[4], graph, &node[3], 1));
    OK(cu.cuGraphAddMemcpyNode(&node[5], graph, &node[4], 1, &copy, simdriver_context()));
    OK(cu.cuGraphDestroy(inner));
    run(graph);
    assert_true(called == 1 && pinned[3] == (4 * 3 + 1) * 10);
    OK(cu.cuGraphGetNodes(graph, seen, &n));
    assert_int_equal(n, 6);
    assert_memory_equal(seen, node, sizeof node);
    static const int want[] = {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_KERNEL,
                               CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_HOST,
                               CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_MEMCPY};
    for (int k = 0; k < 6; k++) {
        OK(cu.cuGraphNodeGetType(node[k], &type));
        assert_int_equal(type, want[k]);
    }
    OK(cu.cuGraphGetEdges(graph, NULL, NULL, &n));
    assert_int_equal(n, 5);
    n = 8;
    OK(cu.cuGraphGetRootNodes(graph, seen, &n));
    assert_true(n == 1 && seen[0] == node[0] && !seen[1]);
    n = 8;
    OK(cu.cuGraphNodeGetDependencies(node[5], seen, &n));
    assert_true(n == 1 && seen[0] == node[4]);
    OK(cu.cuGraphDestroy(graph));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuGraphNodeGetType(node[0], &type));
}

/* The executable form changes alone, and a graph that is changed leaves it as it is.  */
static void other_parameters(void **state) {
    (void)state;
    CUgraph graph, other;
    CUgraphExec exec;
    CUgraphNode node;
    CUfunction f = affine_of();
    int by = 7, plus = 2;
    void *params[] = {&data, &by, &plus};
    CUDA_KERNEL_NODE_PARAMS p = {f, 1, 1, 1, N, 1, 1, 0, params, NULL, NULL, NULL};
    OK(cu.cuGraphCreate(&graph, 0));
    node = add_step(graph, f, NULL, 0, 2, 0);
    OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu.cuGraphExecKernelNodeSetParams_v2(exec, node, &p));
    OK(cu.cuGraphLaunch(exec, NULL));
    assert_int_equal(value(), 9);
    run(graph);
    assert_int_equal(value(), 18);
    plus = 5;
    OK(cu.cuGraphKernelNodeSetParams_v2(node, &p));
    OK(cu.cuGraphLaunch(exec, NULL));
    assert_int_equal(value(), 18 * 7 + 2);
    run(graph);
    assert_int_equal(value(), (18 * 7 + 2) * 7 + 5);
    /* An update takes over the parameters of a graph of the same shape, and of no other.  */
    CUgraphExecUpdateResultInfo info;
    int now = value();
    OK(cu.cuGraphExecUpdate_v2(exec, graph, &info));
    OK(cu.cuGraphLaunch(exec, NULL));
    assert_int_equal(value(), now * 7 + 5);
    OK(cu.cuGraphCreate(&other, 0));
    FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cu.cuGraphExecUpdate_v2(exec, other, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    CUDA_HOST_NODE_PARAMS host = {count, &now};
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuGraphExecHostNodeSetParams(exec, node, &host));
    OK(cu.cuGraphExecDestroy(exec));
}

/* Nodes run in the order of what they need, in whatever order they were added.  */
static void dependencies(void **state) {
    (void)state;
    CUgraph graph;
    CUgraphExec exec;
    CUfunction f = affine_of();
    OK(cu.cuGraphCreate(&graph, 0));
    CUgraphNode last = add_step(graph, f, NULL, 0, 5, 0), first = add_step(graph, f, NULL, 0, 1, 1);
    OK(cu.cuGraphAddDependencies(graph, &first, &last, 1));
    run(graph);
    assert_int_equal(value(), 10);
    OK(cu.cuGraphAddDependencies(graph, &last, &first, 1));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuGraphAddDependencies(graph, &first, &first, 1));
}

/* ---- functions of the host ---- */

typedef struct {
    int order[3];
    int n;
    CUresult status;
} Heard;

static void note(void *user) {
    Heard *h = user;
    h->order[h->n++] = pinned[0];
}

static void *ask(void *user) {
    int n;
    *(CUresult *)user = cu.cuDeviceGetCount(&n);
    return NULL;
}

/* Another thread gets into the driver meanwhile.  */
static void wait_for_another(void *user) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask, user), 0);
    pthread_join(thread, NULL);
}

static void told(CUstream s, CUresult status, void *user) {
    (void)s;
    ((Heard *)user)->status = status;
}

static void host_functions(void **state) {
    (void)state;
    Heard h = {.status = CUDA_ERROR_UNKNOWN};
    CUresult other = CUDA_ERROR_UNKNOWN;
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    for (int k = 0; k < 3; k++) {
        step(s, 2, 0);
        OK(cu.cuMemcpyDtoHAsync_v2(pinned, data, BYTES, s));
        OK(cu.cuLaunchHostFunc(s, note, &h));
    }
    OK(cu.cuLaunchHostFunc(s, wait_for_another, &other));
    assert_int_equal(h.n, 0);
    OK(cu.cuStreamSynchronize(s));
    assert_true(h.n == 3 && h.order[0] == 2 && h.order[1] == 4 && h.order[2] == 8);
    assert_int_equal(other, CUDA_SUCCESS);
    OK(cu.cuStreamAddCallback(s, told, &h, 0));
    OK(cu.cuStreamSynchronize(s));
    assert_int_equal(h.status, CUDA_SUCCESS);
    OK(cu.control("kernel@1=719"));
    step(s, 2, 0);
    OK(cu.cuStreamAddCallback(s, told, &h, 0));
    FAILS(CUDA_ERROR_LAUNCH_FAILED, cu.cuStreamSynchronize(s));
    assert_int_equal(h.status, CUDA_ERROR_LAUNCH_FAILED);
}

/* What a graph holds on to ends with the last of its forms.  */
static void user_objects(void **state) {
    (void)state;
    CUuserObject object;
    CUgraph graph;
    CUgraphExec exec;
    int ended = 0;
    OK(cu.cuUserObjectCreate(&object, &ended, count, 1, 1));
    OK(cu.cuUserObjectRetain(object, 2));
    OK(cu.cuUserObjectRelease(object, 1));
    OK(cu.cuGraphCreate(&graph, 0));
    OK(cu.cuGraphRetainUserObject(graph, object, 1, 0));
    OK(cu.cuUserObjectRelease(object, 2));
    OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    add_step(graph, affine_of(), NULL, 0, 2, 0);      /* the two forms part */
    OK(cu.cuGraphDestroy(graph));
    assert_int_equal(ended, 0);
    OK(cu.cuGraphExecDestroy(exec));
    assert_int_equal(ended, 1);
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuUserObjectRelease(object, 1));
    OK(cu.cuUserObjectCreate(&object, &ended, count, 2, 1));
    OK(cu.cuGraphCreate(&graph, 0));
    OK(cu.cuGraphRetainUserObject(graph, object, 2, 1));
    OK(cu.cuGraphReleaseUserObject(graph, object, 1));
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuGraphReleaseUserObject(graph, object, 2));
    assert_int_equal(ended, 1);
    OK(cu.cuGraphReleaseUserObject(graph, object, 1));
    assert_int_equal(ended, 2);
    OK(cu.cuGraphDestroy(graph));
}

/* The graph of a capture has a handle while it grows.  */
static void captures_tell(void **state) {
    (void)state;
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    CUgraph graph, told_of;
    const CUgraphNode *needs;
    size_t n;
    int status;
    uint64_t id;
    OK(cu.cuStreamGetCaptureInfo_v2(s, &status, &id, &told_of, &needs, &n));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cu.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    step(s, 2, 0);
    step(s, 3, 0);
    OK(cu.cuStreamGetCaptureInfo_v3(s, &status, &id, &told_of, &needs, NULL, &n));
    assert_true(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id && n == 1);
    CUgraphNode last = needs[0];
    add_step(told_of, affine_of(), &last, 1, 1, 4);
    FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuGraphDestroy(told_of));
    OK(cu.cuStreamEndCapture(s, &graph));
    assert_ptr_equal(graph, told_of);
    run(graph);
    assert_int_equal(value(), 10);
}

/* ---- links ---- */

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
/* Calls what another text defines; both have a `helper` and a `table` of their own.  */
static char caller[] = HEAD
    ".global .u32 table = 5;\n"
    ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
    ".func (.param .b32 r) helper(.param .b32 x) {\n"
    "    .reg .b32 %a<3>;\n"
    "    ld.param.u32 %a1, [x]; ld.global.u32 %a2, [table]; add.u32 %a1, %a1, %a2;\n"
    "    st.param.u32 [r], %a1; ret;\n}\n"
    ".visible .entry k(.param .u64 p) {\n"
    "    .reg .b32 %v<3>; .reg .b64 %p<3>;\n"
    "    ld.param.u64 %p1, [p]; cvta.to.global.u64 %p1, %p1; ld.global.u32 %v1, [%p1];\n"
    "    { .param .b32 x; .param .b32 r; st.param.b32 [x], %v1;\n"
    "      call.uni (r), twice, (x); ld.param.b32 %v1, [r]; }\n"
    "    { .param .b32 x; .param .b32 r; st.param.b32 [x], %v1;\n"
    "      call.uni (r), helper, (x); ld.param.b32 %v1, [r]; }\n"
    "    st.global.u32 [%p1], %v1; ret;\n}\n";
static char callee[] = "// helper\n" HEAD
    ".global .u32 table = 2; /* helper } */\n"
    ".func (.param .b32 r) helper(.param .b32 x) {\n"
    "    .reg .b32 %a<3>;\n"
    "    ld.param.u32 %a1, [x]; ld.global.u32 %a2, [table]; mul.lo.u32 %a1, %a1, %a2;\n"
    "    st.param.u32 [r], %a1; ret;\n}\n"
    ".visible .func (.param .b32 r) twice(.param .b32 x) {\n"
    "    .reg .b32 %a<2>;\n    ld.param.b32 %a1, [x];\n"
    "    { .param .b32 y; .param .b32 s; st.param.b32 [y], %a1;\n"
    "      call.uni (s), helper, (y); ld.param.b32 %a1, [s]; }\n"
    "    st.param.b32 [r], %a1; ret;\n}\n";

static CUresult link(char *const *text, int n, void **image, CUlinkState *state) {
    size_t size;
    OK(cu.cuLinkCreate_v2(0, NULL, NULL, state));
    for (int k = 0; k < n; k++) {
        OK(cu.cuLinkAddData_v2(*state, CU_JIT_INPUT_PTX, text[k], strlen(text[k]) + 1, "part", 0,
                               NULL, NULL));
    }
    return cu.cuLinkComplete(*state, image, &size);
}

static void links(void **state) {
    (void)state;
    char *both[] = {caller, callee}, *twice[] = {callee, callee}, *alone[] = {caller};
    CUlinkState link_state;
    CUmodule m;
    void *image;
    OK(link(both, 2, &image, &link_state));
    OK(cu.cuModuleLoadData(&m, image));
    OK(cu.cuLinkDestroy(link_state));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuLinkDestroy(link_state));
    void *params[] = {&data};
    OK(cu.cuMemsetD32_v2(data, 20, N));
    OK(cu.cuLaunchKernel(simdriver_function(m, "k"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    int v;
    OK(cu.cuMemcpyDtoH_v2(&v, data, 4));
    assert_int_equal(v, 20 * 2 + 5);
    FAILS(CUDA_ERROR_INVALID_PTX, link(twice, 2, &image, &link_state));
    char text[256];
    cu.message(text, sizeof text);
    assert_non_null(strstr(text, "twice is defined in"));
    OK(cu.cuLinkDestroy(link_state));
    OK(cu.cuLinkCreate_v2(0, NULL, NULL, &link_state));
    FAILS(CUDA_ERROR_INVALID_PTX, cu.cuLinkComplete(link_state, &image, NULL));
    FAILS(CUDA_ERROR_INVALID_IMAGE, cu.cuLinkAddData_v2(link_state, CU_JIT_INPUT_PTX, "nothing", 7,
                                                        NULL, 0, NULL, NULL));
    FAILS(CUDA_ERROR_NOT_SUPPORTED, cu.cuLinkAddData_v2(link_state, CU_JIT_INPUT_OBJECT, caller, 8,
                                                        NULL, 0, NULL, NULL));
    OK(cu.cuLinkDestroy(link_state));
    /* What nothing defines is a fault where it is called.  */
    OK(link(alone, 1, &image, &link_state));
    OK(cu.cuModuleLoadData(&m, image));
    OK(cu.cuLaunchKernel(simdriver_function(m, "k"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_true(cu.cuCtxSynchronize() != CUDA_SUCCESS);
}

int main(void) {
#define T(name) cmocka_unit_test_setup(name, steps_fresh)
    const struct CMUnitTest tests[] = {
        T(node_by_node), T(other_parameters), T(dependencies), T(host_functions), T(user_objects),
        T(captures_tell), T(links),
    };
    return cmocka_run_group_tests(tests, simdriver_setup, simdriver_teardown);
}
