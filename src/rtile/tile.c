#include "rtile/rtile.h"

#include <math.h>

enum { TILE_ALIGN = 16 };

/* Bytes of one operand's tile: rows of the inner axis, padded, the whole rounded for 16-byte
 * copies.  */
static int64_t operand_bytes(const Problem *p, const RTile *t, int side, RLayout layout) {
    const ROperand *op = &p->op[side];
    int64_t mn = t->extent[side ? AX_N : AX_M], k = t->extent[AX_K];
    bool k_inner = layout.inner == AX_K;
    int64_t rows = k_inner ? mn : k, row = (k_inner ? k : mn) + layout.pad;
    return (rows * row * op->elem + TILE_ALIGN - 1) / TILE_ALIGN * TILE_ALIGN;
}

int64_t rtile_footprint(const Problem *p, const RTile *t, const RLayout layout[2]) {
    if (!p->contraction) return 0;
    int64_t bytes = 0;
    for (int side = 0; side < p->n_operand; side++)
        bytes += operand_bytes(p, t, side, layout[side]);
    return bytes;
}

double rtile_traffic(const Problem *p, const RTile *t) {
    double stored = (double)p->out_bytes + (double)p->epilogue_bytes;
    if (!p->contraction) return stored + (double)p->read_bytes;
    double b = (double)p->extent[AX_B], k = (double)p->extent[AX_K];
    double tiles[2], rows[2];
    for (int side = 0; side < 2; side++) {
        int axis = side ? AX_N : AX_M;
        int64_t n = (p->extent[axis] + t->extent[axis] - 1) / t->extent[axis];
        tiles[side] = (double)n;
        rows[side] = (double)(n * t->extent[axis]);
    }
    double q = stored;
    for (int side = 0; side < p->n_operand; side++)
        q += b * rows[side] * k * tiles[!side] * p->op[side].bytes;
    return q;
}

double rtile_reuse(const Problem *p, const RTile *t, const RTile *next) {
    static const RLayout plain[2] = {{.inner = AX_K}, {.inner = AX_K}};
    int64_t grown = rtile_footprint(p, next, plain) - rtile_footprint(p, t, plain);
    if (grown <= 0) return INFINITY;
    return (rtile_traffic(p, t) - rtile_traffic(p, next)) / (double)grown;
}
