/* Memory, streams, events and graphs.  */
#include "hal/cuda_api.h"

/* ---- memory ---- */
Status cuda_alloc(CudaContext *x, Arena *a, Diag *d, size_t bytes, CudaAddress *out) {
    CudaOwned *o = cuda_owned(x, a, OWN_MEMORY);
    CudaAddress at;
    *out = 0;
    Status s = CUDA_CALL(x->cuda, d, cuMemAlloc, &at, bytes ? bytes : 1);
    if (!s) *out = o->at = at;
    return s;
}

Status cuda_memory_free(CudaContext *x, Diag *d, size_t *available) {
    size_t total;
    return CUDA_CALL(x->cuda, d, cuMemGetInfo, available, &total);
}

Status cuda_write(CudaContext *x, Diag *d, CudaAddress to, const void *from, size_t bytes) {
    return bytes ? CUDA_CALL(x->cuda, d, cuMemcpyHtoD, to, from, bytes) : ST_OK;
}

Status cuda_read(CudaContext *x, Diag *d, void *to, CudaAddress from, size_t bytes) {
    return bytes ? CUDA_CALL(x->cuda, d, cuMemcpyDtoH, to, from, bytes) : ST_OK;
}

Status cuda_fill(CudaContext *x, Diag *d, CudaStream s, CudaAddress to, uint8_t byte,
                 size_t bytes) {
    return bytes ? CUDA_CALL(x->cuda, d, cuMemsetD8Async, to, byte, bytes, s) : ST_OK;
}

/* ---- streams and events ---- */
Status cuda_stream(CudaContext *x, Arena *a, Diag *d, CudaStream *out) {
    CudaOwned *o = cuda_owned(x, a, OWN_STREAM);
    Status s = CUDA_CALL(x->cuda, d, cuStreamCreate, out, CUDA_STREAM_NON_BLOCKING);
    if (!s) o->handle = *out;
    return s;
}

Status cuda_stream_wait(CudaContext *x, Diag *d, CudaStream s) {
    return CUDA_CALL(x->cuda, d, cuStreamSynchronize, s);
}

Status cuda_event(CudaContext *x, Arena *a, Diag *d, CudaEvent *out) {
    CudaOwned *o = cuda_owned(x, a, OWN_EVENT);
    Status s = CUDA_CALL(x->cuda, d, cuEventCreate, out, 0);
    if (!s) o->handle = *out;
    return s;
}

Status cuda_event_record(CudaContext *x, Diag *d, CudaEvent e, CudaStream s) {
    return CUDA_CALL(x->cuda, d, cuEventRecord, e, s);
}

Status cuda_event_wait(CudaContext *x, Diag *d, CudaEvent e) {
    return CUDA_CALL(x->cuda, d, cuEventSynchronize, e);
}

Status cuda_elapsed_us(CudaContext *x, Diag *d, CudaEvent from, CudaEvent to, double *us) {
    float ms = 0;
    Status s = CUDA_CALL(x->cuda, d, cuEventElapsedTime, &ms, from, to);
    *us = (double)ms * 1e3;
    return s;
}

/* ---- graphs ---- */
Status cuda_graph_begin(CudaContext *x, Diag *d, CudaStream s) {
    return CUDA_CALL(x->cuda, d, cuStreamBeginCapture, s, CUDA_CAPTURE_THREAD_LOCAL);
}

Status cuda_graph_end(CudaContext *x, Arena *a, Diag *d, CudaStream s, CudaGraph *out) {
    CudaOwned *o = cuda_owned(x, a, OWN_GRAPH);
    void *graph = NULL;
    Status st = CUDA_CALL(x->cuda, d, cuStreamEndCapture, s, &graph);
    if (st) return st;
    st = CUDA_CALL(x->cuda, d, cuGraphInstantiateWithFlags, out, graph, 0);
    if (!st) o->handle = *out;
    Status gone = CUDA_CALL(x->cuda, d, cuGraphDestroy, graph);
    return st ? st : gone;
}

Status cuda_graph_launch(CudaContext *x, Diag *d, CudaGraph g, CudaStream s) {
    return CUDA_CALL(x->cuda, d, cuGraphLaunch, g, s);
}
