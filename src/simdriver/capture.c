/* Stream capture: work goes into a graph.
 *
 * A stream that captures, and an event recorded in it, have a front: the nodes that come last on
 * their way.  New work needs the front of its stream and becomes it; a wait for an event adds the
 * event's front.  A capture ends well if everything leads to the front of the stream that began
 * it.  */
#include "simdriver/graph.h"

#include <stdlib.h>

static void stream_leave(Stream *s) {
    s->capture = NULL;
    index_clear(&s->front);
}

void capture_drop(Driver *d, Capture *k) {
    Context *ctx = k->origin->o.ctx;
    size_t at = 0;
    for (Stream *s; (s = NEXT(d, Stream, &at, KIND_STREAM, ctx));) {
        if (s->capture == k) stream_leave(s);
    }
    at = 0;
    for (Event *e; (e = NEXT(d, Event, &at, KIND_EVENT, ctx));) {
        if (e->capture == k) event_forget(e);
    }
    if (k->graph) graph_free(d, k->graph);
    free(k->front);
    free(k);
}

static CUresult broken(Capture *k, CUresult why) {
    k->invalid = true;
    return why;
}

CUresult capture_add(Driver *d, Stream *s, Work *w) {
    Capture *k = s->capture;
    GraphBody *g = graph_own(k->graph);
    (void)d;
    CUresult r = CUDA_SUCCESS;
    if (k->invalid) r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!g || !graph_add(g, w, &s->front)) r = broken(k, CUDA_ERROR_OUT_OF_MEMORY);
    if (r != CUDA_SUCCESS) {
        work_release(w);
        return r;
    }
    size_t me = g->n - 1;
    index_clear(&s->front);
    if (!index_add(&s->front, &(IndexSet){.v = &me, .n = 1})) {
        return broken(k, CUDA_ERROR_OUT_OF_MEMORY);
    }
    return CUDA_SUCCESS;
}

CUresult capture_join(Stream *s, Event *e) {
    Capture *k = e->capture;
    if (k->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (s == s->o.ctx->legacy) return broken(k, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (s->capture && s->capture != k) {
        s->capture->invalid = true;
        return broken(k, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (s->o.ctx != k->origin->o.ctx) return broken(k, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    s->capture = k;
    return index_add(&s->front, &e->front) ? CUDA_SUCCESS : broken(k, CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult capture_mark(Stream *s, Event *e) {
    Capture *k = s->capture;
    if (k->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event_forget(e);
    e->capture = k;
    return index_add(&e->front, &s->front) ? CUDA_SUCCESS : broken(k, CUDA_ERROR_OUT_OF_MEMORY);
}

/* What the calling thread permits itself while others capture.  */
static _Thread_local int thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult capture_forbids(Driver *d, const Context *ctx, bool unsafe) {
    CUresult r = CUDA_SUCCESS;
    size_t at = 0;
    for (Stream *s; (s = NEXT(d, Stream, &at, KIND_STREAM, ctx));) {
        Capture *k = s->capture;
        if (!k) continue;
        bool mine = pthread_equal(k->thread, pthread_self());
        bool permitted = k->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
                         thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
                         ((k->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
                           thread_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) && !mine);
        if (unsafe && permitted) continue;
        r = broken(k, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return r;
}

/* ---- calls ---- */

static CUresult begin(Call *c, Stream *s, int mode) {
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (s == c->ctx->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture) return broken(s->capture, CUDA_ERROR_ILLEGAL_STATE);
    Capture *k = host_alloc(sizeof *k);
    GraphObject *g = k ? graph_new(c->driver) : NULL;
    if (!g) {
        free(k);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    g->captured = true;
    *k = (Capture){.graph = g, .origin = s, .mode = mode, .thread = pthread_self()};
    s->capture = k;
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamBeginCapture_v2)) return c.result;
    Stream *s = stream_get(&c, stream);
    return driver_leave(&c, s ? begin(&c, s, mode) : CUDA_ERROR_INVALID_HANDLE);
}

/* Nodes come after what they need, so one pass backwards finds all that lead to the front.  */
static CUresult all_joined(Driver *d, const Capture *k, bool *reached) {
    const GraphBody *g = k->graph->body;
    for (size_t n = 0; n < k->origin->front.n; n++) reached[k->origin->front.v[n]] = true;
    for (size_t n = g->n; n-- > 0;) {
        const IndexSet *needs = &g->node[n].needs;
        for (size_t m = 0; reached[n] && m < needs->n; m++) reached[needs->v[m]] = true;
    }
    size_t at = 0;
    for (const Stream *s; (s = NEXT(d, Stream, &at, KIND_STREAM, k->origin->o.ctx));) {
        for (size_t n = 0; s->capture == k && n < s->front.n; n++) {
            if (!reached[s->front.v[n]]) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult end(Driver *d, Capture *k, CUgraph *graph) {
    if (k->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    bool *reached = host_alloc((k->graph->body->n + 1) * sizeof *reached);
    if (!reached) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = all_joined(d, k, reached);
    free(reached);
    if (r != CUDA_SUCCESS) return r;
    *graph = HANDLE(CUgraph, k->graph);
    k->graph->captured = false;
    k->graph = NULL;
    return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamEndCapture)) return c.result;
    Stream *s = stream_get(&c, stream);
    if (!s) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!graph) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *graph = NULL;
    Capture *k = s->capture;
    if (!k) return driver_leave(&c, CUDA_ERROR_ILLEGAL_STATE);
    if (k->origin != s) return driver_leave(&c, broken(k, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED));
    if (k->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(k->thread, pthread_self())) {
        return driver_leave(&c, broken(k, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
    }
    CUresult r = end(c.driver, k, graph);
    capture_drop(c.driver, k);
    return driver_leave(&c, r);
}

static int status_of(const Stream *s) {
    if (!s->capture) return CU_STREAM_CAPTURE_STATUS_NONE;
    return s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                               : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamIsCapturing(CUstream stream, int *status) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamIsCapturing)) return c.result;
    const Stream *s = stream_get(&c, stream);
    if (!s) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (!status) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    *status = status_of(s);
    return driver_leave(&c, CUDA_SUCCESS);
}

typedef struct {
    int *status;
    uint64_t *id;
    CUgraph *graph;
    const CUgraphNode **needs;
    size_t *n;
} Info;

/* The nodes that the next one will need, as handles.  */
static CUresult tell_front(Driver *d, Capture *k, const IndexSet *front, const Info *out) {
    CUgraphNode *node = host_grow(k->front, (front->n + 1) * sizeof *node);
    if (!node) return CUDA_ERROR_OUT_OF_MEMORY;
    k->front = node;
    for (size_t n = 0; n < front->n; n++) {
        const NodeObject *o = graph_node(d, k->graph, front->v[n]);
        if (!o) return CUDA_ERROR_OUT_OF_MEMORY;
        node[n] = HANDLE(CUgraphNode, o);
    }
    if (out->needs) *out->needs = node;
    if (out->n) *out->n = front->n;
    return CUDA_SUCCESS;
}

static CUresult capture_info(Call *c, CUstream stream, const Info *out) {
    const Stream *s = stream_get(c, stream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (!out->status) return CUDA_ERROR_INVALID_VALUE;
    *out->status = status_of(s);
    if (out->id) *out->id = s->capture ? s->capture->origin->o.handle : 0;
    if (out->graph) *out->graph = s->capture ? HANDLE(CUgraph, s->capture->graph) : NULL;
    if (out->needs) *out->needs = NULL;
    if (out->n) *out->n = 0;
    if (!s->capture || s->capture->invalid) return CUDA_SUCCESS;
    return tell_front(c->driver, s->capture, &s->front, out);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int *status, uint64_t *id, CUgraph *graph,
                                   const CUgraphNode **needs, size_t *n) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamGetCaptureInfo_v2)) return c.result;
    return driver_leave(&c, capture_info(&c, stream, &(Info){status, id, graph, needs, n}));
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int *status, uint64_t *id, CUgraph *graph,
                                   const CUgraphNode **needs, const void **edges, size_t *n) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamGetCaptureInfo_v3)) return c.result;
    if (edges) *edges = NULL;
    return driver_leave(&c, capture_info(&c, stream, &(Info){status, id, graph, needs, n}));
}

CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
    Call c;
    if (!driver_enter(&c, FN_cuThreadExchangeStreamCaptureMode)) return c.result;
    bool known = mode && *mode >= CU_STREAM_CAPTURE_MODE_GLOBAL &&
                 *mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
    if (!known) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    int was = thread_mode;
    thread_mode = *mode;
    *mode = was;
    return driver_leave(&c, CUDA_SUCCESS);
}
