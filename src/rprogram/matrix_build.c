/* Scale-up for units that multiply matrices: instruction, warp tile, block.
 *
 * The register tile is the unit's; what grows is the warp's share of the outputs, until
 * registers are full.  A larger warp tile reads less from shared memory for each product.  */
#include "rprogram/build.h"
#include "rprogram/matrix.h"

enum { SIZES = 12 };          /* counts of instructions, below */

#define WARP_BAND 1.3         /* traffic from shared memory, relative to a tile no larger */

/* Instruction tiles of a warp along an axis.  */
static const int32_t counts[SIZES] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};

typedef struct {
    int32_t m, n;
    bool fits;                /* the axes, the registers */
} WarpTile;

static double reads(const WarpTile *t) { return 1.0 / t->m + 1.0 / t->n; }

static RProg with_warp(const RProg *start, const WarpTile *t) {
    RProg r = *start;
    r.warp = r.thread;
    r.warp.extent[AX_M] = t->m;
    r.warp.extent[AX_N] = t->n;
    return r;
}

/* Every warp tile; returns how many.  */
static int warp_tiles(const Builder *b, const RProg *start, WarpTile out[SIZES * SIZES]) {
    int limit = (int)b->dev->limits.registers_per_thread.value, n = 0;
    for (int i = 0; i < SIZES; i++) {
        for (int j = 0; j < SIZES; j++) {
            WarpTile t = {counts[i] * start->thread.extent[AX_M],
                          counts[j] * start->thread.extent[AX_N], false};
            if (!build_fits_axis(b, start, AX_M, t.m) ||
                !build_fits_axis(b, start, AX_N, t.n)) {
                build_reject(b, REJECT_ALIGNMENT);
                continue;
            }
            RProg r = with_warp(start, &t);
            if (matrix_registers(b->p, b->dev, &r) > limit) {
                build_reject(b, REJECT_REGISTERS);
                continue;
            }
            t.fits = true;
            out[n++] = t;
        }
    }
    return n;
}

/* Does a tile no larger read much less for each product, or is there a much larger one that still
 * gives every SM enough warps?  */
static bool dominated(const Builder *b, const WarpTile *all, int n, const WarpTile *t) {
    enum { WARPS_PER_SM = 8, LARGER = 4, LARGER_STRICT = 2 };         /* two a scheduler; areas */
    double area = (double)t->m * t->n, larger = area * (b->strict ? LARGER_STRICT : LARGER);
    for (int i = 0; i < n; i++) {
        const WarpTile *x = &all[i];
        double other = (double)x->m * x->n;
        if (other <= area && reads(x) * WARP_BAND < reads(t)) return true;
        if (b->thorough || other < larger || reads(x) >= reads(t)) continue;
        if (other * WARPS_PER_SM * b->sms <= b->parallel) return true;
    }
    return false;
}

static void build_tiles(Builder *b, const RProg *start) {
    WarpTile tile[SIZES * SIZES];
    int n = warp_tiles(b, start, tile);
    for (int i = 0; i < 2 * n && !b->full; i++) {
        const WarpTile *t = &tile[i < n ? n - 1 - i : i - n];
        if (build_occupies(b, (int64_t)t->m * t->n) != (i < n)) continue;
        if (dominated(b, tile, n, t)) {
            build_reject(b, REJECT_DOMINATED);
            continue;
        }
        RProg r = with_warp(start, t);
        build_blocks(b, &r);
    }
}

bool build_worth_swapping(const Builder *b, int16_t unit) {
    enum { FEW = 64 };        /* rows: of more, the unit's other side pads little as well */
    int64_t m = b->p->extent[AX_M];
    FragShape s = fragment_shape(&b->dev->unit[unit]);
    return m <= FEW && rtile_waste(m, s.n) < rtile_waste(m, s.m);
}

void build_matrix(Builder *b, const RProg *start) {
    const ComputeUnit *u = &b->dev->unit[start->unit];
    b->full = b->full && !b->strict;
    for (int swapped = build_worth_swapping(b, start->unit); swapped >= 0; swapped--) {
        RProg r = *start;
        if (!matrix_takes_as(b->p, u, swapped)) continue;
        r.swapped = swapped;
        r.thread = matrix_tile(u, swapped);
        Fragment f = rprog_results(b->dev, &r);
        r.vec_m = (uint8_t)fragment_run(&f, FRAG_ROW);
        r.vec_n = (uint8_t)fragment_run(&f, FRAG_COL);
        r.store_vec = (uint8_t)(r.vec_n < b->p->out_vec ? r.vec_n : b->p->out_vec);
        build_tiles(b, &r);
    }
}
