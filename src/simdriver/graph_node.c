/* The nodes of a graph: added one by one, given other parameters, asked about.  */
#include "simdriver/graph.h"

/* ---- adding ---- */

static CUresult needs_of(Call *c, const GraphObject *g, const CUgraphNode *needs, size_t n,
                         IndexSet *out) {
    if (n && !needs) return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < n; k++) {
        const NodeObject *node = GET(c, NodeObject, needs[k], KIND_NODE);
        if (!node || node->graph != g) return CUDA_ERROR_INVALID_VALUE;
        size_t index = node->index;
        if (!index_add(out, &(IndexSet){.v = &index, .n = 1})) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* Takes over the work, also when it fails.  */
static CUresult add(Call *c, CUgraphNode *out, CUgraph graph, const CUgraphNode *needs, size_t n,
                    Work *w) {
    GraphObject *g = GET(c, GraphObject, graph, KIND_GRAPH);
    IndexSet on = {0};
    CUresult r = g ? needs_of(c, g, needs, n, &on) : CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS && !out) r = CUDA_ERROR_INVALID_VALUE;
    GraphBody *body = r == CUDA_SUCCESS ? graph_own(g) : NULL;
    bool added = body && graph_add(body, w, &on);
    index_clear(&on);
    if (!added) {
        work_release(w);
        return r == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : r;
    }
    const NodeObject *node = graph_node(c->driver, g, body->n - 1);
    if (!node) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = HANDLE(CUgraphNode, node);
    return CUDA_SUCCESS;
}

static CUresult kernel_work(Call *c, const CUDA_KERNEL_NODE_PARAMS *p, Work **out) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUlaunchConfig k = {p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY,
                        p->blockDimZ, p->sharedMemBytes, NULL, NULL, 0};
    CUfunction f = p->func ? p->func : (CUfunction)(void *)p->kern;
    return work_of_launch(c, &k, f, p->kernelParams, p->extra, out);
}

static CUresult kernel_work_v1(Call *c, const CUDA_KERNEL_NODE_PARAMS_v1 *p, Work **out) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS whole = {p->func, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX,
                                     p->blockDimY, p->blockDimZ, p->sharedMemBytes,
                                     p->kernelParams, p->extra, NULL, NULL};
    return kernel_work(c, &whole, out);
}

static CUresult fill_work(Call *c, const CUDA_MEMSET_NODE_PARAMS *p, Work **out) {
    bool sound = p && (p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4) &&
                 p->width <= SIZE_MAX / 4;
    if (!sound) return CUDA_ERROR_INVALID_VALUE;
    Box b = {.to = {.at = p->dst, .pitch = p->pitch}, .width = p->width * p->elementSize,
             .height = p->height, .depth = 1};
    return work_of_fill(c, &b, (Pattern){&p->value, (int)p->elementSize}, out);
}

static CUresult host_work(const CUDA_HOST_NODE_PARAMS *p, Work **out) {
    if (!p || !p->fn) return CUDA_ERROR_INVALID_VALUE;
    *out = work_new(WORK_HOST);
    if (!*out) return CUDA_ERROR_OUT_OF_MEMORY;
    (*out)->fn = p->fn;
    (*out)->user = p->userData;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n,
                              const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    Call c;
    Work *w;
    if (!driver_enter(&c, FN_cuGraphAddKernelNode)) return c.result;
    CUresult r = kernel_work_v1(&c, params, &w);
    return driver_leave(&c, r == CUDA_SUCCESS ? add(&c, node, graph, needs, n, w) : r);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs,
                                 size_t n, const CUDA_KERNEL_NODE_PARAMS *params) {
    Call c;
    Work *w;
    if (!driver_enter(&c, FN_cuGraphAddKernelNode_v2)) return c.result;
    CUresult r = kernel_work(&c, params, &w);
    return driver_leave(&c, r == CUDA_SUCCESS ? add(&c, node, graph, needs, n, w) : r);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n,
                              const CUDA_MEMCPY3D *params, CUcontext ctx) {
    Call c;
    Work *w;
    (void)ctx;
    if (!driver_enter(&c, FN_cuGraphAddMemcpyNode)) return c.result;
    CUresult r = work_of_box(&c, params, &w);
    return driver_leave(&c, r == CUDA_SUCCESS ? add(&c, node, graph, needs, n, w) : r);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n,
                              const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx) {
    Call c;
    Work *w;
    (void)ctx;
    if (!driver_enter(&c, FN_cuGraphAddMemsetNode)) return c.result;
    CUresult r = fill_work(&c, params, &w);
    return driver_leave(&c, r == CUDA_SUCCESS ? add(&c, node, graph, needs, n, w) : r);
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n,
                            const CUDA_HOST_NODE_PARAMS *params) {
    Call c;
    Work *w;
    if (!driver_enter(&c, FN_cuGraphAddHostNode)) return c.result;
    CUresult r = host_work(params, &w);
    return driver_leave(&c, r == CUDA_SUCCESS ? add(&c, node, graph, needs, n, w) : r);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs,
                                  size_t n, CUgraph child) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphAddChildGraphNode)) return c.result;
    const GraphObject *inner = GET(&c, GraphObject, child, KIND_GRAPH);
    if (!inner) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (child == graph) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = graph_sort(inner->body);
    if (r != CUDA_SUCCESS) return driver_leave(&c, r);
    Work *w = work_new(WORK_GRAPH);
    if (!w) return driver_leave(&c, CUDA_ERROR_OUT_OF_MEMORY);
    w->graph = inner->body;
    w->graph->refs++;
    return driver_leave(&c, add(&c, node, graph, needs, n, w));
}

/* A node that does nothing is a mark, as an event leaves it in a stream.  */
CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs,
                             size_t n) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphAddEmptyNode)) return c.result;
    Work *w = work_new(WORK_MARK);
    if (!w) return driver_leave(&c, CUDA_ERROR_OUT_OF_MEMORY);
    return driver_leave(&c, add(&c, node, graph, needs, n, w));
}

static CUresult depend(Call *c, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                       size_t n) {
    GraphObject *g = GET(c, GraphObject, graph, KIND_GRAPH);
    if (!g) return CUDA_ERROR_INVALID_HANDLE;
    if (n && (!from || !to)) return CUDA_ERROR_INVALID_VALUE;
    GraphBody *body = graph_own(g);
    for (size_t k = 0; body && k < n; k++) {
        const NodeObject *one = GET(c, NodeObject, from[k], KIND_NODE);
        const NodeObject *other = GET(c, NodeObject, to[k], KIND_NODE);
        bool ours = one && other && one != other && one->graph == g && other->graph == g;
        if (!ours) return CUDA_ERROR_INVALID_VALUE;
        size_t index = one->index;
        IndexSet set = {.v = &index, .n = 1};
        if (!index_add(&body->node[other->index].needs, &set)) return CUDA_ERROR_OUT_OF_MEMORY;
        graph_unsort(body);
    }
    return body ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t n) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphAddDependencies)) return c.result;
    return driver_leave(&c, depend(&c, graph, from, to, n));
}

/* Edges that say more than their ends are for launches that overlap.  */
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const void *edges, size_t n) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphAddDependencies_v2)) return c.result;
    if (edges) return driver_leave(&c, CUDA_ERROR_NOT_SUPPORTED);
    return driver_leave(&c, depend(&c, graph, from, to, n));
}

/* ---- other parameters ---- */

/* Takes over the work, also when it fails.  */
static CUresult replace(GraphObject *g, size_t index, Work *w) {
    bool known = index < g->body->n && g->body->node[index].work->kind == w->kind;
    GraphBody *body = known ? graph_own(g) : NULL;
    if (!body) {
        work_release(w);
        return known ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    }
    work_release(body->node[index].work);
    body->node[index].work = w;
    return CUDA_SUCCESS;
}

static CUresult set_node(Call *c, CUgraphNode node, CUresult made, Work *w) {
    const NodeObject *n = GET(c, NodeObject, node, KIND_NODE);
    if (made != CUDA_SUCCESS) return made;
    if (n) return replace(n->graph, n->index, w);
    work_release(w);
    return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult set_exec(Call *c, CUgraphExec exec, CUgraphNode node, CUresult made, Work *w) {
    GraphObject *e = GET(c, GraphObject, exec, KIND_GRAPH_EXEC);
    const NodeObject *n = GET(c, NodeObject, node, KIND_NODE);
    if (made != CUDA_SUCCESS) return made;
    if (e && n) return replace(e, n->index, w);
    work_release(w);
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    Call c;
    Work *w = NULL;
    if (!driver_enter(&c, FN_cuGraphKernelNodeSetParams)) return c.result;
    CUresult r = kernel_work_v1(&c, params, &w);
    return driver_leave(&c, set_node(&c, node, r, w));
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
    Call c;
    Work *w = NULL;
    if (!driver_enter(&c, FN_cuGraphKernelNodeSetParams_v2)) return c.result;
    CUresult r = kernel_work(&c, params, &w);
    return driver_leave(&c, set_node(&c, node, r, w));
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params) {
    Call c;
    Work *w = NULL;
    if (!driver_enter(&c, FN_cuGraphMemcpyNodeSetParams)) return c.result;
    CUresult r = work_of_box(&c, params, &w);
    return driver_leave(&c, set_node(&c, node, r, w));
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params) {
    Call c;
    Work *w = NULL;
    if (!driver_enter(&c, FN_cuGraphMemsetNodeSetParams)) return c.result;
    CUresult r = fill_work(&c, params, &w);
    return driver_leave(&c, set_node(&c, node, r, w));
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params) {
    Call c;
    Work *w = NULL;
    if (!driver_enter(&c, FN_cuGraphHostNodeSetParams)) return c.result;
    CUresult r = host_work(params, &w);
    return driver_leave(&c, set_node(&c, node, r, w));
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    Call c;
    Work *w = NULL;
    if (!driver_enter(&c, FN_cuGraphExecKernelNodeSetParams)) return c.result;
    CUresult r = kernel_work_v1(&c, params, &w);
    return driver_leave(&c, set_exec(&c, exec, node, r, w));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *params) {
    Call c;
    Work *w = NULL;
    if (!driver_enter(&c, FN_cuGraphExecKernelNodeSetParams_v2)) return c.result;
    CUresult r = kernel_work(&c, params, &w);
    return driver_leave(&c, set_exec(&c, exec, node, r, w));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D *params, CUcontext ctx) {
    Call c;
    Work *w = NULL;
    (void)ctx;
    if (!driver_enter(&c, FN_cuGraphExecMemcpyNodeSetParams)) return c.result;
    CUresult r = work_of_box(&c, params, &w);
    return driver_leave(&c, set_exec(&c, exec, node, r, w));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx) {
    Call c;
    Work *w = NULL;
    (void)ctx;
    if (!driver_enter(&c, FN_cuGraphExecMemsetNodeSetParams)) return c.result;
    CUresult r = fill_work(&c, params, &w);
    return driver_leave(&c, set_exec(&c, exec, node, r, w));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS *params) {
    Call c;
    Work *w = NULL;
    if (!driver_enter(&c, FN_cuGraphExecHostNodeSetParams)) return c.result;
    CUresult r = host_work(params, &w);
    return driver_leave(&c, set_exec(&c, exec, node, r, w));
}
