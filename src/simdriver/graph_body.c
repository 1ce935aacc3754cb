/* What a graph is made of: nodes, what each needs, and objects that it keeps.  */
#include "simdriver/graph.h"

#include <stdlib.h>
#include <string.h>

void graph_release(GraphBody *g) {
    if (!g || --g->refs > 0) return;
    for (size_t k = 0; k < g->n; k++) {
        work_release(g->node[k].work);
        index_clear(&g->node[k].needs);
    }
    for (size_t k = 0; k < g->n_retained; k++) {
        user_release(g->retained[k].user, g->retained[k].n);
    }
    free(g->retained);
    free(g->node);
    free(g->order);
    free(g);
}

static GraphBody *body_new(void) {
    GraphBody *g = host_alloc(sizeof *g);
    if (g) g->refs = 1;
    return g;
}

static bool grow(GraphBody *g) {
    if (g->n < g->cap) return true;
    size_t cap = g->cap ? 2 * g->cap : 16;
    Node *node = host_grow(g->node, cap * sizeof *node);
    if (!node) return false;
    g->node = node;
    g->cap = cap;
    return true;
}

bool graph_add(GraphBody *g, Work *w, const IndexSet *needs) {
    Node node = {.work = w};
    if (!grow(g) || !index_add(&node.needs, needs)) {
        index_clear(&node.needs);
        return false;
    }
    g->node[g->n++] = node;
    graph_unsort(g);
    return true;
}

GraphBody *graph_own(GraphObject *o) {
    GraphBody *g = o->body;
    if (g->refs == 1) return g;
    GraphBody *own = body_new();
    if (!own) return NULL;
    for (size_t k = 0; k < g->n; k++) {
        if (!graph_add(own, g->node[k].work, &g->node[k].needs)) {
            graph_release(own);
            return NULL;
        }
        g->node[k].work->refs++;
    }
    for (size_t k = 0; k < g->n_retained; k++) {
        const Retained *r = &g->retained[k];
        if (!graph_retain(own, r->user, r->n)) {
            graph_release(own);
            return NULL;
        }
        r->user->refs += r->n;
    }
    if (g->order && graph_sort(own) != CUDA_SUCCESS) {
        graph_release(own);
        return NULL;
    }
    graph_release(g);
    o->body = own;
    return own;
}

static bool all_placed(const Node *node, const bool *placed) {
    for (size_t k = 0; k < node->needs.n; k++) {
        if (!placed[node->needs.v[k]]) return false;
    }
    return true;
}

/* Passes over the nodes; one is enough where each comes after what it needs, as usual.  */
static size_t place(const GraphBody *g, bool *placed, size_t *order) {
    size_t n = 0, before;
    do {
        before = n;
        for (size_t k = 0; k < g->n; k++) {
            if (placed[k] || !all_placed(&g->node[k], placed)) continue;
            placed[k] = true;
            order[n++] = k;
        }
    } while (n < g->n && n > before);
    return n;
}

void graph_unsort(GraphBody *g) {
    free(g->order);
    g->order = NULL;
}

CUresult graph_sort(GraphBody *g) {
    if (g->order) return CUDA_SUCCESS;
    bool *placed = host_alloc((g->n + 1) * sizeof *placed);
    size_t *order = host_alloc((g->n + 1) * sizeof *order);
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    if (placed && order) {
        r = place(g, placed, order) == g->n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    free(placed);
    if (r == CUDA_SUCCESS) g->order = order;
    else free(order);
    return r;
}

GraphObject *graph_wrap(Driver *d, GraphBody *body, Kind kind) {
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

void graph_free(Driver *d, GraphObject *g) {
    for (size_t k = 0; k < g->room; k++) {
        if (g->node[k]) handle_free(d, &g->node[k]->o);
        free(g->node[k]);
    }
    free(g->node);
    graph_release(g->body);
    handle_free(d, &g->o);
    free(g);
}

static bool make_room(GraphObject *g) {
    if (g->room >= g->body->n) return true;
    NodeObject **node = host_grow(g->node, g->body->cap * sizeof *node);
    if (!node) return false;
    memset(node + g->room, 0, (g->body->cap - g->room) * sizeof *node);
    g->node = node;
    g->room = g->body->cap;
    return true;
}

NodeObject *graph_node(Driver *d, GraphObject *g, size_t index) {
    if (!make_room(g)) return NULL;
    if (g->node[index]) return g->node[index];
    NodeObject *n = host_alloc(sizeof *n);
    if (!n) return NULL;
    n->graph = g;
    n->index = index;
    if (!handle_new(d, &n->o, KIND_NODE, NULL)) {
        free(n);
        return NULL;
    }
    return g->node[index] = n;
}

GraphObject *graph_new(Driver *d) {
    GraphBody *body = body_new();
    GraphObject *g = body ? graph_wrap(d, body, KIND_GRAPH) : NULL;
    graph_release(body);
    return g;
}
