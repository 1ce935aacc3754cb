/* The `chain` skeleton: its products as programs, the turns of a block.  */
#include "rprogram/chain.h"
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

RProg rprog_chain_product(const RProg *r, int number) {
    RProg x = *r;
    RTile *const tiles[] = {&x.block, &x.warp};
    x.skeleton = SK_CONTRACT;
    for (int i = 0; i < 2; i++) {
        int32_t *extent = tiles[i]->extent, n = extent[AX_N], e = extent[AX_E];
        if (number) extent[AX_N] = e;
        if (number) extent[AX_K] = n;
        extent[AX_E] = 1;
    }
    if (number && r->thread.extent[AX_E] > 1) x.thread.extent[AX_N] = r->thread.extent[AX_E];
    x.thread.extent[AX_E] = 1;
    x.unroll = (int16_t)x.warp.extent[AX_K];
    if (!number) return x;
    x.load[LOAD_A] = (RLoad){.kind = r->load[LOAD_V].kind, .vec = 1, .along = AX_K,
                             .layout = {.inner = AX_K}};
    x.load[LOAD_B] = r->load[LOAD_V];
    return x;
}

int64_t rprog_chain_turns(const Problem *p, const RProg *r) { return rprog_tiles(p, r, AX_N); }

int64_t rprog_chain_visited(const Problem *p, const RProg *r, int64_t tile) {
    int64_t rows = r->block.extent[AX_M], columns = r->block.extent[AX_N], from, to;
    int64_t first = tile * rows, end = first + rows;
    if (end > p->extent[AX_M]) end = p->extent[AX_M];
    rtile_chain_columns(p, first, end, &from, &to);
    int64_t n = ceil_div(to, columns) - from / columns;
    return n > 1 ? n : 1;
}

bool rprog_chain_grows(const Problem *p) {
    const ColumnBounds *b = &p->chain->chain->bounds;
    bool grows = false;
    for (int i = 0; i < b->n_to; i++) {
        const ChainEnd *e = &p->chain->to[i];
        for (int j = 0; j < TE_MAX_INDICES; j++) grows |= e->known && e->coef[j] > 0;
    }
    return grows;
}
