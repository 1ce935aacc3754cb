/* The stream of a handle.  */
#include "simdriver/work.h"

Stream *stream_get(Call *c, CUstream handle) {
    if (!handle && c->per_thread) return c->ctx->per_thread;
    if (!handle || handle == CU_STREAM_LEGACY) return c->ctx->legacy;
    if (handle == CU_STREAM_PER_THREAD) return c->ctx->per_thread;
    Stream *s = GET(c, Stream, handle, KIND_STREAM);
    return s && s->o.ctx == c->ctx ? s : NULL;
}
