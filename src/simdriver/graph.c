/* Graphs, as captures make them, and their executable form: the same nodes, shared.  */
#include "simdriver/work.h"

#include <stdlib.h>

void graph_release(GraphBody *g) {
    if (!g || --g->refs > 0) return;
    for (size_t k = 0; k < g->n; k++) {
        work_release(g->node[k].work);
        index_clear(&g->node[k].needs);
    }
    free(g->node);
    free(g);
}

static GraphObject *wrap(Driver *d, GraphBody *body, Kind kind) {
    GraphObject *o = host_alloc(sizeof *o);
    if (!o) return NULL;
    o->body = body;
    if (!handle_new(d, &o->o, kind, NULL)) {
        free(o);
        return NULL;
    }
    body->refs++;
    return o;
}

CUresult graph_new(Driver *d, GraphBody *body, CUgraph *out) {
    GraphObject *g = wrap(d, body, KIND_GRAPH);
    if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = HANDLE(CUgraph, g);
    return CUDA_SUCCESS;
}

static CUresult instantiate(Call *c, CUgraphExec *exec, CUgraph graph) {
    const GraphObject *g = GET(c, GraphObject, graph, KIND_GRAPH);
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    if (!g) return CUDA_ERROR_INVALID_HANDLE;
    GraphObject *made = wrap(c->driver, g->body, KIND_GRAPH_EXEC);
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
    return driver_leave(&c, instantiate(&c, exec, graph));
}

/* Flags: 1 free on launch, 2 upload, 8 node priorities have nothing to do here; launches from the
 * device (4) are not offered.  */
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, uint64_t flags) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphInstantiateWithFlags)) return c.result;
    if (flags & ~(uint64_t)15) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    if (flags & 4) return driver_leave(&c, CUDA_ERROR_NOT_SUPPORTED);
    return driver_leave(&c, instantiate(&c, exec, graph));
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

CUresult cuGraphDestroy(CUgraph graph) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphDestroy)) return c.result;
    GraphObject *g = GET(&c, GraphObject, graph, KIND_GRAPH);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    object_free(c.driver, &g->o);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphExecDestroy)) return c.result;
    GraphObject *g = GET(&c, GraphObject, exec, KIND_GRAPH_EXEC);
    if (!g) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    object_free(c.driver, &g->o);
    return driver_leave(&c, CUDA_SUCCESS);
}
