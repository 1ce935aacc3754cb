/* Calls for graphs and their executable form.  */
#include "simdriver/graph.h"

#include <stdlib.h>
#include <string.h>

CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphCreate)) return c.result;
    if (!graph || flags) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    const GraphObject *g = graph_new(c.driver);
    if (!g) return driver_leave(&c, CUDA_ERROR_OUT_OF_MEMORY);
    *graph = HANDLE(CUgraph, g);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuGraphClone(CUgraph *clone, CUgraph graph) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphClone)) return c.result;
    const GraphObject *g = GET(&c, GraphObject, graph, KIND_GRAPH);
    if (!clone) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    const GraphObject *made = graph_wrap(c.driver, g->body, KIND_GRAPH);
    if (!made) return driver_leave(&c, CUDA_ERROR_OUT_OF_MEMORY);
    *clone = HANDLE(CUgraph, made);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph graph) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphDestroy)) return c.result;
    GraphObject *g = GET(&c, GraphObject, graph, KIND_GRAPH);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (g->captured) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    graph_free(c.driver, g);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphExecDestroy)) return c.result;
    GraphObject *g = GET(&c, GraphObject, exec, KIND_GRAPH_EXEC);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    graph_free(c.driver, g);
    return driver_leave(&c, CUDA_SUCCESS);
}

/* ---- execution ---- */

/* Flags: 1 free on launch, 2 upload, 8 node priorities have nothing to do here; launches from the
 * device (4) are not offered.  */
enum { KNOWN_FLAGS = 15, DEVICE_LAUNCH = 4 };

static CUresult instantiate(Call *c, CUgraphExec *exec, CUgraph graph, uint64_t flags) {
    const GraphObject *g = GET(c, GraphObject, graph, KIND_GRAPH);
    if (!exec || (flags & ~(uint64_t)KNOWN_FLAGS)) return CUDA_ERROR_INVALID_VALUE;
    if (!g) return CUDA_ERROR_INVALID_HANDLE;
    if (flags & DEVICE_LAUNCH) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult r = graph_sort(g->body);
    if (r != CUDA_SUCCESS) return r;
    const GraphObject *made = graph_wrap(c->driver, g->body, KIND_GRAPH_EXEC);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    *exec = HANDLE(CUgraphExec, made);
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, void *node, char *log,
                               size_t len) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphInstantiate_v2)) return c.result;
    if (node) *(void **)node = NULL;
    if (log && len) *log = 0;
    return driver_leave(&c, instantiate(&c, exec, graph, 0));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, uint64_t flags) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphInstantiateWithFlags)) return c.result;
    return driver_leave(&c, instantiate(&c, exec, graph, flags));
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
    Call c;
    enum { FAILED = 1 };
    if (!driver_enter(&c, FN_cuGraphInstantiateWithParams)) return c.result;
    if (!params) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    CUresult r = instantiate(&c, exec, graph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out = r == CUDA_SUCCESS ? 0 : FAILED;
    return driver_leave(&c, r);
}

/* There is nothing to upload to.  */
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphUpload)) return c.result;
    bool known = GET(&c, GraphObject, exec, KIND_GRAPH_EXEC) && stream_get(&c, stream);
    return driver_leave(&c, known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphLaunch)) return c.result;
    const GraphObject *g = GET(&c, GraphObject, exec, KIND_GRAPH_EXEC);
    Stream *s = stream_get(&c, stream);
    if (!g || !s) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    Work *w = work_new(WORK_GRAPH);
    if (!w) return driver_leave(&c, CUDA_ERROR_OUT_OF_MEMORY);
    w->graph = g->body;
    w->graph->refs++;
    return driver_leave(&c, work_submit(c.driver, s, w));
}

/* ---- updates ---- */

static bool same_needs(const IndexSet *a, const IndexSet *b) {
    return a->n == b->n && (a->n == 0 || !memcmp(a->v, b->v, a->n * sizeof *a->v));
}

/* What an executable form becomes must differ in nothing but parameters.  */
static int compare(const GraphBody *old, const GraphBody *now) {
    if (old->n != now->n) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t k = 0; k < old->n; k++) {
        if (old->node[k].work->kind != now->node[k].work->kind) {
            return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        }
        if (!same_needs(&old->node[k].needs, &now->node[k].needs)) {
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        }
    }
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult update(Call *c, CUgraphExec exec, CUgraph graph, int *result) {
    GraphObject *e = GET(c, GraphObject, exec, KIND_GRAPH_EXEC);
    const GraphObject *g = GET(c, GraphObject, graph, KIND_GRAPH);
    if (!e || !g) return CUDA_ERROR_INVALID_HANDLE;
    CUresult r = graph_sort(g->body);
    if (r != CUDA_SUCCESS) return r;
    *result = compare(e->body, g->body);
    if (*result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    g->body->refs++;
    graph_release(e->body);
    e->body = g->body;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node, int *result) {
    Call c;
    int own;
    if (!driver_enter(&c, FN_cuGraphExecUpdate)) return c.result;
    if (node) *node = NULL;
    return driver_leave(&c, update(&c, exec, graph, result ? result : &own));
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphExecUpdate_v2)) return c.result;
    if (!info) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *info = (CUgraphExecUpdateResultInfo){0};
    return driver_leave(&c, update(&c, exec, graph, &info->result));
}
