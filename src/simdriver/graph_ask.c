/* Questions about the nodes of a graph and what leads from one to another.
 *
 * A list goes where the caller has room for *n entries, the rest of which become 0; without a place
 * only its length is told.  */
#include "simdriver/graph.h"

typedef struct {
    Call *c;
    GraphObject *graph;
    CUgraphNode *out;
    size_t room, n;
} List;

static List list(Call *c, GraphObject *g, CUgraphNode *out, const size_t *n) {
    return (List){.c = c, .graph = g, .out = out, .room = out ? *n : 0};
}

static bool put(List *l, size_t index) {
    if (l->n < l->room) {
        const NodeObject *node = graph_node(l->c->driver, l->graph, index);
        if (!node) return false;
        l->out[l->n] = HANDLE(CUgraphNode, node);
    }
    l->n++;
    return true;
}

static CUresult close_list(List *l, size_t *n, bool whole) {
    for (size_t k = l->n; k < l->room; k++) l->out[k] = NULL;
    if (!l->out || l->room > l->n) *n = l->n;
    return whole ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult get_nodes(Call *c, CUgraph graph, CUgraphNode *nodes, size_t *n, bool roots) {
    GraphObject *g = GET(c, GraphObject, graph, KIND_GRAPH);
    if (!g) return CUDA_ERROR_INVALID_HANDLE;
    if (!n) return CUDA_ERROR_INVALID_VALUE;
    List l = list(c, g, nodes, n);
    bool whole = true;
    for (size_t k = 0; whole && k < g->body->n; k++) {
        if (!roots || g->body->node[k].needs.n == 0) whole = put(&l, k);
    }
    return close_list(&l, n, whole);
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphGetNodes)) return c.result;
    return driver_leave(&c, get_nodes(&c, graph, nodes, n, false));
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *n) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphGetRootNodes)) return c.result;
    return driver_leave(&c, get_nodes(&c, graph, nodes, n, true));
}

static CUresult get_edges(Call *c, CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n) {
    GraphObject *g = GET(c, GraphObject, graph, KIND_GRAPH);
    if (!g) return CUDA_ERROR_INVALID_HANDLE;
    if (!n || !from != !to) return CUDA_ERROR_INVALID_VALUE;
    List a = list(c, g, from, n), b = list(c, g, to, n);
    bool whole = true;
    for (size_t k = 0; k < g->body->n; k++) {
        const IndexSet *needs = &g->body->node[k].needs;
        for (size_t m = 0; whole && m < needs->n; m++) whole = put(&a, needs->v[m]) && put(&b, k);
    }
    size_t ignored = *n;
    CUresult r = close_list(&a, &ignored, whole);
    return r == CUDA_SUCCESS ? close_list(&b, n, whole) : r;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphGetEdges)) return c.result;
    return driver_leave(&c, get_edges(&c, graph, from, to, n));
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, void *edges,
                            size_t *n) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphGetEdges_v2)) return c.result;
    if (edges) return driver_leave(&c, CUDA_ERROR_NOT_SUPPORTED);
    return driver_leave(&c, get_edges(&c, graph, from, to, n));
}

static CUresult get_needs(Call *c, CUgraphNode node, CUgraphNode *needs, size_t *n) {
    const NodeObject *own = GET(c, NodeObject, node, KIND_NODE);
    if (!own) return CUDA_ERROR_INVALID_HANDLE;
    if (!n) return CUDA_ERROR_INVALID_VALUE;
    const IndexSet *set = &own->graph->body->node[own->index].needs;
    List l = list(c, own->graph, needs, n);
    bool whole = true;
    for (size_t k = 0; whole && k < set->n; k++) whole = put(&l, set->v[k]);
    return close_list(&l, n, whole);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *needs, size_t *n) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphNodeGetDependencies)) return c.result;
    return driver_leave(&c, get_needs(&c, node, needs, n));
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *needs, void *edges,
                                       size_t *n) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphNodeGetDependencies_v2)) return c.result;
    if (edges) return driver_leave(&c, CUDA_ERROR_NOT_SUPPORTED);
    return driver_leave(&c, get_needs(&c, node, needs, n));
}

static int type_of(const Work *w) {
    switch (w->kind) {
    case WORK_KERNEL: return CU_GRAPH_NODE_TYPE_KERNEL;
    case WORK_COPY: return CU_GRAPH_NODE_TYPE_MEMCPY;
    case WORK_FILL: return CU_GRAPH_NODE_TYPE_MEMSET;
    case WORK_HOST: return CU_GRAPH_NODE_TYPE_HOST;
    case WORK_GRAPH: return CU_GRAPH_NODE_TYPE_GRAPH;
    default: return CU_GRAPH_NODE_TYPE_EMPTY;
    }
}

CUresult cuGraphNodeGetType(CUgraphNode node, int *type) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphNodeGetType)) return c.result;
    const NodeObject *own = GET(&c, NodeObject, node, KIND_NODE);
    if (!own) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!type) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *type = type_of(own->graph->body->node[own->index].work);
    return driver_leave(&c, CUDA_SUCCESS);
}
