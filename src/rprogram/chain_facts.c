/* The `chain` skeleton: its products as programs, the order of columns between them, the turns
 * of a block.  */
#include "rprogram/chain.h"
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

const char chain_too_long[] = "a unit of 8-bit reals sums 128 terms of a score at most";

RTile chain_tile(const RTile *t, int number) {
    RTile out = *t;
    if (number) out.extent[AX_N] = t->extent[AX_E];
    if (number) out.extent[AX_K] = t->extent[AX_N];
    out.extent[AX_E] = 1;
    return out;
}

RProg rprog_product(const Device *dev, const RProg *r, int number) {
    RProg x = *r;
    if (r->skeleton == SK_CONTRACT) return x;
    x.skeleton = SK_CONTRACT;
    x.block = chain_tile(&r->block, number);
    x.warp = chain_tile(&r->warp, number);
    x.thread.extent[AX_E] = 1;
    x.unroll = (int16_t)x.warp.extent[AX_K];
    x.unit_v = 0;
    if (number || x.group > 1) rprog_set_batches(1, &x);
    if (!number) {                        /* whose results do not leave */
        x.via = VIA_DIRECT;
        x.store_vec = x.vec_n;
        return x;
    }
    x.cluster = 0;
    x.unit = r->unit_v;
    x.thread = matrix_tile(&dev->unit[x.unit], false);
    if (r->thread.extent[AX_E] > 1) x.thread.extent[AX_N] = r->thread.extent[AX_E];
    x.load[LOAD_A] = (RLoad){.kind = r->load[LOAD_V].kind, .vec = 1, .along = AX_K,
                             .layout = {.inner = AX_K}};
    x.load[LOAD_B] = r->load[LOAD_V];
    return x;
}

bool chain_units_order(const ComputeUnit *u, const ComputeUnit *v, FragOrder *out) {
    bool groups = u->b_smem;
    Fragment results = groups ? fragment_of_share(u, v->k.from)
                              : fragment_of(u, FRAG_RESULT, FRAG_COL);
    Fragment operand = groups ? fragment_of_operand_share(v) : fragment_of(v, FRAG_A, FRAG_COL);
    return fragment_order(&results, &operand, out);
}

FragOrder chain_order(const Device *dev, const RProg *r) {
    FragOrder order = {.n = 0};
    chain_units_order(&dev->unit[r->unit], &dev->unit[r->unit_v], &order);
    bool spread = order.n > 0 && dev->unit[r->unit].b_smem;
    return spread ? fragment_spread(&order, r->block.extent[AX_N]) : order;
}

int rprog_chain_terms(const Device *dev, const RProg *r) {
    return r->block.extent[AX_N] * te_dtype_bytes(dev->unit[r->unit_v].a) / TENSOR_CELL;
}

bool rprog_keeps_steps(const Problem *p, const RProg *r) {
    return rprog_persistent(r) && rprog_region_boxes(&r->load[LOAD_A]) &&
           rprog_chain_streams(p, r) && r->stages == rprog_tiles(p, r, AX_K);
}

int64_t rprog_chain_turns(const Problem *p, const RProg *r) { return rprog_tiles(p, r, AX_N); }

/* The first row of a tile, and the one behind its last.  */
static int64_t rows_of_tile(const Problem *p, const RProg *r, int64_t tile, int64_t *end) {
    int64_t first = tile * r->block.extent[AX_M];
    *end = first + r->block.extent[AX_M];
    if (*end > p->extent[AX_M]) *end = p->extent[AX_M];
    return first;
}

int64_t rprog_chain_visited(const Problem *p, const RProg *r, int64_t tile) {
    int64_t columns = r->block.extent[AX_N], from, to, end;
    int64_t first = rows_of_tile(p, r, tile, &end);
    rtile_chain_columns(p, first, end, &from, &to);
    int64_t n = ceil_div(to, columns) - from / columns;
    return n > 1 ? n : 1;
}

/* Ends of columns move one way from row to row: what the first and the last row have, all have.  */
int64_t rprog_chain_cut(const Problem *p, const RProg *r, int64_t tile) {
    int64_t columns = r->block.extent[AX_N], from[2], to[2], end;
    int64_t first = rows_of_tile(p, r, tile, &end);
    rtile_chain_columns(p, first, first + 1, &from[0], &to[0]);
    rtile_chain_columns(p, end - 1, end, &from[1], &to[1]);
    int64_t begin = ceil_div(from[0] > from[1] ? from[0] : from[1], columns);
    int64_t whole = (to[0] < to[1] ? to[0] : to[1]) / columns - begin;
    return rprog_chain_visited(p, r, tile) - (whole > 0 ? whole : 0);
}

/* The row tile of a number, of groups of batches.  */
static int64_t row_tile(const Problem *p, const RProg *r, int64_t number) {
    int64_t rows = rprog_tiles(p, r, AX_M), batches = rprog_tiles(p->next, r, AX_B);
    int64_t group = r->group > 1 ? r->group : 1, before = number / (group * rows) * group;
    if (group > batches - before) group = batches - before;
    int64_t tile = number % (rows * (r->group > 1 ? r->group : 1)) / group;
    return rprog_chain_grows(p) ? rows - 1 - tile : tile;
}

int64_t rprog_chain_longest(const Problem *p, const RProg *r, int64_t blocks) {
    enum { TRIED = 8 };       /* parts of the blocks, at whose ends one is tried */
    int64_t tiles = rprog_tiles(p, r, AX_M) * rprog_tiles(p->next, r, AX_B), most = 0;
    for (int i = 0; i <= TRIED; i++) {
        int64_t number = (blocks - 1) * i / TRIED, sum = 0;
        for (; number < tiles; number = rprog_tile_behind(number, blocks, true))
            sum += rprog_chain_visited(p, r, row_tile(p, r, number));
        if (sum > most) most = sum;
    }
    return most;
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
