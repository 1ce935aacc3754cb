/* Events: marks in streams, to wait for and to measure with.  */
#include "simdriver/work.h"

#include <stdlib.h>

CUresult cuEventCreate(CUevent *event, unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuEventCreate)) return c.result;
    unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    if (!event || (flags & ~known)) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    Event *e = host_alloc(sizeof *e);
    if (!e) return driver_leave(&c, CUDA_ERROR_OUT_OF_MEMORY);
    e->flags = flags;
    if (!handle_new(c.driver, &e->o, KIND_EVENT, c.ctx)) {
        free(e);
        return driver_leave(&c, CUDA_ERROR_OUT_OF_MEMORY);
    }
    *event = HANDLE(CUevent, e);
    return driver_leave(&c, CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event) {
    Call c;
    if (!driver_enter(&c, FN_cuEventDestroy_v2)) return c.result;
    Event *e = GET(&c, Event, event, KIND_EVENT);
    if (!e) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    object_free(c.driver, &e->o);
    return driver_leave(&c, CUDA_SUCCESS);
}

static CUresult record(Driver *d, Event *e, Stream *s) {
    if (s->capture) return capture_mark(s, e);
    Work *w = work_new(WORK_MARK);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->refs++;
    CUresult r = work_submit(d, s, w);
    if (r != CUDA_SUCCESS) {
        work_release(w);
        return r;
    }
    event_forget(e);
    work_release(e->mark);
    e->mark = w;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    Call c;
    if (!driver_enter(&c, FN_cuEventRecord)) return c.result;
    Event *e = GET(&c, Event, event, KIND_EVENT);
    Stream *s = stream_get(&c, stream);
    bool fit = e && s && e->o.ctx == c.ctx;
    return driver_leave(&c, fit ? record(c.driver, e, s) : CUDA_ERROR_INVALID_HANDLE);
}

/* Flags: 1 asks for an event outside of a capture, which is not offered.  */
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuEventRecordWithFlags)) return c.result;
    Event *e = GET(&c, Event, event, KIND_EVENT);
    Stream *s = stream_get(&c, stream);
    bool fit = e && s && e->o.ctx == c.ctx;
    if (!fit) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (flags && s->capture) return driver_leave(&c, CUDA_ERROR_NOT_SUPPORTED);
    return driver_leave(&c, flags > 1 ? CUDA_ERROR_INVALID_VALUE : record(c.driver, e, s));
}

/* A wait for an event that was never recorded is none.  */
static CUresult wait_event(Driver *d, Stream *s, Event *e) {
    if (e->capture) return capture_join(s, e);
    if (s->capture) {
        s->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (!e->mark) return CUDA_SUCCESS;
    Work *w = work_new(WORK_WAIT);
    if (!w) return CUDA_ERROR_OUT_OF_MEMORY;
    w->wait = e->mark;
    e->mark->refs++;
    return work_submit(d, s, w);
}

/* Flags: 1 asks for an event outside of a capture, which is not offered.  */
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    Call c;
    if (!driver_enter(&c, FN_cuStreamWaitEvent)) return c.result;
    Event *e = GET(&c, Event, event, KIND_EVENT);
    Stream *s = stream_get(&c, stream);
    if (!e || !s) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    if (flags) return driver_leave(&c, CUDA_ERROR_INVALID_VALUE);
    return driver_leave(&c, wait_event(c.driver, s, e));
}

static CUresult look(Call *c, CUevent event, Event **out) {
    Event *e = GET(c, Event, event, KIND_EVENT);
    if (!e) return CUDA_ERROR_INVALID_HANDLE;
    if (e->capture) {
        e->capture->invalid = true;
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    *out = e;
    return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event) {
    Call c;
    Event *e;
    if (!driver_enter(&c, FN_cuEventQuery)) return c.result;
    CUresult r = look(&c, event, &e);
    if (r != CUDA_SUCCESS || !e->mark || e->mark->done) return driver_leave(&c, r);
    Context *ctx = e->o.ctx;
    work_advance(c.driver, e->mark);
    if (ctx->failed != CUDA_SUCCESS) return driver_leave(&c, ctx->failed);
    return driver_leave(&c, e->mark->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult cuEventSynchronize(CUevent event) {
    Call c;
    Event *e;
    if (!driver_enter(&c, FN_cuEventSynchronize)) return c.result;
    CUresult r = look(&c, event, &e);
    if (r != CUDA_SUCCESS || !e->mark) return driver_leave(&c, r);
    return driver_leave(&c, work_finish(c.driver, e->o.ctx, e->mark));
}

static CUresult elapsed(Call *c, float *ms, CUevent start, CUevent end) {
    Event *a, *b;
    if (!ms) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = look(c, start, &a);
    if (r == CUDA_SUCCESS) r = look(c, end, &b);
    if (r != CUDA_SUCCESS) return r;
    if (!a->mark || !b->mark || a->o.ctx != b->o.ctx ||
        (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!a->mark->done || !b->mark->done) return CUDA_ERROR_NOT_READY;
    *ms = (float)((double)(b->mark->end - a->mark->end) * 1e-9);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
    Call c;
    if (!driver_enter(&c, FN_cuEventElapsedTime)) return c.result;
    return driver_leave(&c, elapsed(&c, ms, start, end));
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end) {
    Call c;
    if (!driver_enter(&c, FN_cuEventElapsedTime_v2)) return c.result;
    return driver_leave(&c, elapsed(&c, ms, start, end));
}
