/* User objects: a function of the caller's that runs once nothing refers to the object any more,
 * neither the caller nor a graph.  It runs at the end of the call that let go of it, without the
 * driver's lock.  */
#include "simdriver/graph.h"

#include <stdlib.h>

static CUresult create(Call *c, CUuserObject *object, void *pointer, CUhostFn destroy,
                       unsigned refs, unsigned flags) {
    enum { NO_DESTRUCTOR_SYNC = 1 };
    if (!object || !destroy || !refs || flags != NO_DESTRUCTOR_SYNC) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    UserObject *u = host_alloc(sizeof *u);
    if (!u) return CUDA_ERROR_OUT_OF_MEMORY;
    u->driver = c->driver;
    u->pointer = pointer;
    u->destroy = destroy;
    u->refs = refs;
    if (!handle_new(c->driver, &u->o, KIND_USER, NULL)) {
        free(u);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *object = HANDLE(CUuserObject, u);
    return CUDA_SUCCESS;
}

CUresult cuUserObjectCreate(CUuserObject *object, void *pointer, CUhostFn destroy, unsigned refs,
                            unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuUserObjectCreate)) return c.result;
    return driver_leave(&c, create(&c, object, pointer, destroy, refs, flags));
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned n) {
    Call c;
    if (!driver_enter(&c, FN_cuUserObjectRetain)) return c.result;
    UserObject *u = GET(&c, UserObject, object, KIND_USER);
    if (!u || !n) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    u->refs += n;
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned n) {
    Call c;
    if (!driver_enter(&c, FN_cuUserObjectRelease)) return c.result;
    UserObject *u = GET(&c, UserObject, object, KIND_USER);
    if (!u || !n || n > u->refs) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    user_release(u, n);
    return driver_leave(&c, CUDA_SUCCESS);
}

/* ---- graphs ---- */

/* `move`: the caller's references become the graph's.  */
static CUresult retain(Call *c, CUgraph graph, CUuserObject object, unsigned n, unsigned flags) {
    enum { MOVE = 1 };
    GraphObject *g = GET(c, GraphObject, graph, KIND_GRAPH);
    UserObject *u = GET(c, UserObject, object, KIND_USER);
    if (!g || !u || !n || flags > MOVE) return CUDA_ERROR_INVALID_VALUE;
    GraphBody *body = graph_own(g);
    if (!body || !graph_retain(body, u, n)) return CUDA_ERROR_OUT_OF_MEMORY;
    if (flags != MOVE) u->refs += n;
    return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned n, unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphRetainUserObject)) return c.result;
    return driver_leave(&c, retain(&c, graph, object, n, flags));
}

static CUresult let_go(Call *c, CUgraph graph, CUuserObject object, unsigned n) {
    GraphObject *g = GET(c, GraphObject, graph, KIND_GRAPH);
    UserObject *u = GET(c, UserObject, object, KIND_USER);
    GraphBody *body = g && u ? graph_own(g) : NULL;
    if (!g || !u || !n) return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; body && k < body->n_retained; k++) {
        Retained *r = &body->retained[k];
        if (r->user != u || r->n < n) continue;
        r->n -= n;
        user_release(u, n);
        if (!r->n) *r = body->retained[--body->n_retained];
        return CUDA_SUCCESS;
    }
    return body ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned n) {
    Call c;
    if (!driver_enter(&c, FN_cuGraphReleaseUserObject)) return c.result;
    return driver_leave(&c, let_go(&c, graph, object, n));
}
