/* A stack of current contexts per thread.  */
#include "simdriver/work.h"

enum { MOST_PUSHED = 64 };
static _Thread_local struct {
    CUcontext ctx[MOST_PUSHED];
    int n;
} pushed;

CUcontext context_current(void) { return pushed.n ? pushed.ctx[pushed.n - 1] : NULL; }

CUresult context_push(CUcontext ctx) {
    if (pushed.n == MOST_PUSHED) return CUDA_ERROR_OUT_OF_MEMORY;
    pushed.ctx[pushed.n++] = ctx;
    return CUDA_SUCCESS;
}

void context_pop(CUcontext *ctx) {
    CUcontext top = pushed.ctx[--pushed.n];
    if (ctx) *ctx = top;
}
