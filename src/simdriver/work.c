/* The queue of work: what is submitted where, and in which order it runs.  */
#include "simdriver/work.h"

#include <stdlib.h>

/* A launch costs the host time; what it starts cannot begin before.  */
static bool is_order(const Work *w) { return w->kind == WORK_WAIT || w->kind == WORK_MARK; }

static bool on_device(const Work *w) {
    return !is_order(w) && w->kind != WORK_HOST && w->kind != WORK_FREE;
}

static void issue(Gpu *gpu, Work *w) {
    if (on_device(w)) {
        gpu->issue += (Ps)(gpu->dev->overheads.launch_stream.value * 1000 + 0.5);
    }
    w->issued = gpu->issue;
}

static void append(Stream *s, Work *w) {
    issue(s->o.ctx->gpu, w);
    w->stream = s;
    if (s->tail) s->tail->next = w;
    else s->head = w;
    s->tail = w;
    work_release(s->last);
    s->last = w;
    w->refs++;
}

/* What the host has seen end orders everything it submits later.  */
static bool order_after(Stream *s, Work *other) {
    if (!other || (other->done && other->end <= s->o.ctx->gpu->issue)) return true;
    Work *w = work_new(WORK_WAIT);
    if (!w) return false;
    w->wait = other;
    other->refs++;
    append(s, w);
    return true;
}

static bool order_legacy(Driver *d, Stream *s) {
    Context *ctx = s->o.ctx;
    if (s != ctx->legacy) return !s->blocking || order_after(s, ctx->legacy->last);
    size_t at = 0;
    for (Stream *other; (other = NEXT(d, Stream, &at, KIND_STREAM, ctx));) {
        if (other != s && other->blocking && !order_after(s, other->last)) return false;
    }
    return true;
}

/* The legacy stream would depend on what a blocking stream captures.  */
static bool legacy_meets_capture(Driver *d, Stream *s) {
    bool met = false;
    size_t at = 0;
    for (Stream *other; (other = NEXT(d, Stream, &at, KIND_STREAM, s->o.ctx));) {
        if (!other->capture || !other->blocking) continue;
        other->capture->invalid = true;
        met = true;
    }
    return met;
}

CUresult work_submit(Driver *d, Stream *s, Work *w) {
    if (s->capture) return capture_add(d, s, w);
    CUresult r = CUDA_SUCCESS;
    if (s == s->o.ctx->legacy && legacy_meets_capture(d, s)) {
        r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    } else if (!order_legacy(d, s)) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (r == CUDA_SUCCESS) append(s, w);
    else work_release(w);
    return r;
}

static Ps later(Ps a, Ps b) { return a > b ? a : b; }

static void pop_head(Stream *s) {
    Work *w = s->head;
    s->head = w->next;
    if (!s->head) s->tail = NULL;
    w->next = NULL;
    w->done = true;
    work_drop_payload(w);
    work_release(w);
}

/* The host's functions run in a context that has failed, too: a callback is told.  */
static bool is_run(const Work *w, CUresult failed) {
    if (is_order(w)) return false;
    return failed == CUDA_SUCCESS || (w->kind == WORK_HOST && w->callback);
}

/* Runs the head of a stream, which waits for nothing.  */
static bool run_head(Driver *d, Stream *s) {
    Work *w = s->head;
    Context *ctx = s->o.ctx;
    uintptr_t handle = s->o.handle;
    if (s->running || (s->hung && s->hung_under == d->rules)) return false;
    s->hung = false;
    Ps begin = later(s->end, w->issued);
    if (w->kind == WORK_WAIT) begin = later(s->end, w->wait->end);
    bool runs = is_run(w, ctx->failed), ended = true;
    Chain chain = s->busy && begin == s->end ? BEHIND : ALONE;
    if (!runs) w->end = begin;
    w->refs++;
    s->running = true;
    if (runs) ended = work_execute(d, ctx, w, begin, chain);
    bool busy = on_device(w);
    work_release(w);
    /* Another thread may have destroyed it while the host's function ran.  */
    s = (Stream *)(void *)handle_get(d, (const void *)handle, KIND_STREAM);
    if (!s) return true;
    s->running = false;
    s->hung = !ended;
    s->hung_under = d->rules;
    if (!ended) return false;
    s->end = w->end;
    s->busy = runs && busy;
    pop_head(s);
    return true;
}

bool work_advance(Driver *d, Work *w) {
    while (w->stream->head->kind == WORK_WAIT && !w->stream->head->wait->done) {
        w = w->stream->head->wait;
    }
    return run_head(d, w->stream);
}

CUresult work_finish(Driver *d, Context *ctx, Work *w) {
    uintptr_t handle = ctx->o.handle;
    Gpu *gpu = ctx->gpu;
    w->refs++;
    while (!w->done) {
        if (!work_advance(d, w)) driver_hang(d);
    }
    gpu->issue = later(gpu->issue, w->end);
    work_release(w);
    ctx = (Context *)(void *)handle_get(d, (const void *)handle, KIND_CONTEXT);
    return ctx ? ctx->failed : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void stream_drop(Stream *s) {
    for (Work *w; (w = s->head);) {
        w->end = s->end;
        pop_head(s);
    }
    work_release(s->last);
    s->last = NULL;
}
