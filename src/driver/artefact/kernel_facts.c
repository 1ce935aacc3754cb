/* What a kernel says of how it was made.  */
#include "driver/artefact/artefact.h"

#include <string.h>

void kernel_compiler(const RollerCtx *ctx, Arena *a, Build *b) {
    b->compiler = compile_keep(a, &ctx->nvrtc);
    b->line_info = ctx->line_info;
}

const KernelResources *build_resources(const Build *b, const char *symbol) {
    for (int i = 0; i < b->nvrtc.n_kernel; i++)
        if (strcmp(b->nvrtc.kernel[i].kernel, symbol) == 0) return &b->nvrtc.kernel[i];
    return NULL;
}

int kernel_rank(const RollerKernel *k) {
    const WholePlan *w = &k->plan.whole;
    int rank = 0;
    for (int g = 0; g < w->rplan.n; g++)
        if (w->choice[g] > rank) rank = w->choice[g];
    return rank;
}
