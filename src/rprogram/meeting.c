/* Kernels that make results of the partial ones which blocks leave in the workspace.  */
#include "rprogram/internal.h"

static int64_t partials_of(const Problem *p, const RProg *r) {
    return r->skeleton == SK_COLUMN ? r->split : rprog_tiles(p, r, AX_N);
}

/* Of columns a warp shares an output or none does: a loop over outputs ends for whole warps.  */
int rprog_meeting_lanes(const Problem *p, const RProg *r, uint8_t lanes[MEETING_LANES]) {
    int64_t partials = partials_of(p, r);
    int n = 0, step = r->skeleton == SK_COLUMN ? WARP : 2;
    for (int x = 1; x <= WARP && (n == 0 || x < 2 * partials); x *= step) lanes[n++] = (uint8_t)x;
    return n;
}

const char *rprog_meeting_check(const Problem *p, const RProg *r) {
    uint8_t lanes[MEETING_LANES];
    if (!rprog_meets(r)) return r->lanes > 1 ? "no kernel has lanes that share a result" : NULL;
    for (int i = rprog_meeting_lanes(p, r, lanes) - 1; i >= 0; i--)
        if (r->lanes == lanes[i]) return NULL;
    return "`lanes` are no power of two up to a warp and the parts (of columns: 1 or 32)";
}

/* Chosen by rule before plan texts said it.  */
uint8_t rprog_unsaid_lanes(const Problem *p, const RProg *r) {
    enum { MANY_SLICES = 32, FEW_OUTPUTS = 16384, ENOUGH = 1 << 15 };
    int64_t rows = p->extent[AX_B] * p->extent[AX_M];
    int n = 1;
    if (!rprog_meets(r)) return 1;
    if (r->skeleton == SK_COLUMN)
        return r->split >= MANY_SLICES && p->column.out.extent <= FEW_OUTPUTS ? WARP : 1;
    while (n < WARP && n < partials_of(p, r) && rows * n < ENOUGH) n *= 2;
    return (uint8_t)n;
}

int rprog_meeting_vec(const Problem *p, const RProg *r) {
    bool column = r->skeleton == SK_COLUMN;
    int vec = column ? r->store_vec : p->out_vec;
    while (vec * (column ? p->column.sum_bytes : p->acc_bytes) > RTILE_ACCESS) vec /= 2;
    while (r->tail > 0 && r->block.extent[AX_N] % vec) vec /= 2;
    return vec;
}
