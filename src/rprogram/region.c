/* Operands whose region lies in shared memory as a whole, by the mapping in rprog.h.  */
#include "rprogram/matrix.h"

enum { ENTRY = 4, MATRIX = 8 };           /* bytes; rows of a matrix */

int32_t rprog_region_entries(const Problem *p, const RProg *r) {
    int64_t n = rprog_tiles(p, r, AX_K) * r->block.extent[AX_K];
    return n < INT16_MAX ? (int32_t)n : INT16_MAX;
}

int32_t rprog_region_zeros(const Problem *p, const RProg *r, const RRegion *x) {
    int read = x->chunk ? x->chunk : x->pair;
    return p->extent[AX_K] % r->block.extent[AX_K] ? x->last + read : 0;
}

int64_t rprog_region_bytes(const Problem *p, const Device *dev, const RProg *r, int side,
                           int64_t *places) {
    RRegion x;
    if (rprog_region_boxes(&r->load[side]) || !rprog_region(p, r, side, &x)) return 0;
    int64_t n = (int64_t)x.lines * x.pitch + rprog_region_zeros(p, r, &x);
    int64_t table = (int64_t)rprog_region_entries(p, r) * ENTRY;
    *places = ceil_div(n * rprog_elem(p, dev, r, side), RTILE_ACCESS) * RTILE_ACCESS;
    return *places + ceil_div(table, RTILE_ACCESS) * RTILE_ACCESS;
}

bool rprog_region_straight(const RProg *r, int side, const RRegion *x) {
    return !x->whole || x->count_in % r->warp.extent[own_axis(side)] == 0;
}

int rprog_region_rows(const Problem *p, const Device *dev, const RProg *r, int side) {
    Fragment f = rprog_fragment(dev, r, side);
    if (!rprog_ldmatrix(p, dev, r, side)) return fragment_lanes(&f, FRAG_ROW);
    int loaded = matrix_at_once(p, dev, r, side) * MATRIX * RTILE_ACCESS;     /* bytes */
    return loaded / (r->thread.extent[AX_K] * rprog_elem(p, dev, r, side));
}

int rprog_region_group(const RProg *r, int side, const RRegion *x, int rows) {
    int warp = r->warp.extent[own_axis(side)];
    if (rprog_region_straight(r, side, x)) return (int)ceil_div(warp, rows);
    int n = (int)gcd64(x->count_in, warp);
    return n % rows ? 1 : n / rows;
}

int rprog_region_places(const RProg *r, int side, const RRegion *x, int rows) {
    return (int)ceil_div(r->warp.extent[own_axis(side)],
                         (int64_t)rows * rprog_region_group(r, side, x, rows));
}

/* ---- reads of one warp ---- */

/* How a matrix unit's fragments of a slice are made: `blocks` of as many rows as lanes lie along by
 * `parts` along k, each a register of `per` elements, for which there are `reads`.  */
typedef struct {
    Fragment f;
    int blocks, registers, per, reads;
} Gather;

static Gather gather_of(const Device *dev, const RProg *r, int side, const RRegion *x) {
    Gather g = {.f = rprog_fragment(dev, r, side)};
    g.per = g.f.per_register;
    g.blocks = r->warp.extent[own_axis(side)] / fragment_lanes(&g.f, FRAG_ROW);
    g.registers = fragment_slots(&g.f, FRAG_COL) / g.per;
    g.reads = g.per / x->pair;
    return g;
}

static int slices_of(const RProg *r) { return count_along(&r->warp, &r->thread, AX_K); }

int region_reads(const Problem *p, const Device *dev, const RProg *r, int side) {
    RRegion x;
    if (!rprog_region(p, r, side, &x)) return 0;
    if (!rprog_matrix(dev, r)) return r->warp.extent[AX_K] * (r->thread.extent[own_axis(side)] + 1);
    if (rprog_ldmatrix(p, dev, r, side)) return matrix_reads(p, dev, r, side) + slices_of(r);
    Gather g = gather_of(dev, r, side, &x);
    return slices_of(r) * g.registers * (g.blocks * g.reads + 1);
}

int64_t rprog_region_extra(const Problem *p, const Device *dev, const RProg *r, int side) {
    RRegion x;
    if (!rprog_region(p, r, side, &x)) return 0;
    if (!rprog_matrix(dev, r)) {
        bool straight = rprog_region_straight(r, side, &x);
        return r->warp.extent[AX_K] *
               (int64_t)(straight ? 1 : r->thread.extent[own_axis(side)]);
    }
    Gather g = gather_of(dev, r, side, &x);
    int bases = rprog_region_places(r, side, &x, rprog_region_rows(p, dev, r, side));
    if (rprog_ldmatrix(p, dev, r, side)) return (int64_t)slices_of(r) * bases;
    return (int64_t)slices_of(r) * g.registers * (bases * g.reads + g.blocks * (g.reads - 1));
}

/* Place in bytes of k, or of the zeros beyond K.  */
static int32_t place_of(const Problem *p, const RRegion *x, int elem, int64_t k) {
    return (k < p->extent[AX_K] ? rtile_region_k(x, k) : x->lines * x->pitch) * elem;
}

/* Columns of one part along k.  */
static int columns_of(const Gather *g) { return fragment_lanes(&g->f, FRAG_COL) * g->per; }

enum { STARTS = 8 };          /* tiles that stand for all */

/* Where tile i begins in a line, or where tiles go on in the next image, in the image.  */
static int32_t start_of(const RProg *r, int side, const RRegion *x, int i) {
    int64_t all = (int64_t)x->count_in * (x->period > 0 ? x->out : 1);
    return x->whole ? (int32_t)((int64_t)i * r->block.extent[own_axis(side)] % all) : 0;
}

/* Wavefronts of a matrix unit's reads of the block of rows from `first` on and one part along k,
 * from k on.  */
static int64_t block_wavefronts(const Problem *p, const RRegion *x, const Gather *g, int elem,
                                int32_t first, int64_t k) {
    int32_t addr[WARP], place[WARP];
    int at[WARP][FRAG_DIMS];
    int64_t n = 0;
    for (int i = 0; i < columns_of(g); i++) place[i] = place_of(p, x, elem, k + i);
    for (int i = 0; i < g->reads; i++) {
        fragment_of_lanes(&g->f, i * x->pair, at);
        for (int lane = 0; lane < WARP; lane++)
            addr[lane] = rtile_region_row(x, first + at[lane][FRAG_ROW]) * elem +
                         place[at[lane][FRAG_COL]];
        n += rtile_wavefronts(addr, UINT32_MAX, x->pair * elem);
    }
    return n;
}

/* Wavefronts of reading the entries of the table for one part along k.  */
static int64_t entry_wavefronts(const Gather *g) {
    int32_t addr[WARP];
    int width = g->reads > 1 ? g->per * ENTRY : ENTRY;
    int at[WARP][FRAG_DIMS];
    fragment_of_lanes(&g->f, 0, at);
    for (int lane = 0; lane < WARP; lane++) addr[lane] = at[lane][FRAG_COL] * ENTRY;
    return rtile_wavefronts(addr, UINT32_MAX, width);
}

/* Rows of a thread as its warp's lanes hold them, all at one k.  */
static int64_t row_wavefronts(const Device *dev, const RProg *r, int side, const RRegion *x,
                              int elem) {
    Fragment f = rprog_fragment(dev, r, side);
    int32_t addr[WARP];
    int64_t n = 1;                        /* the table */
    int at[WARP][FRAG_DIMS];
    for (int i = 0; i < r->thread.extent[own_axis(side)]; i++) {
        fragment_of_lanes(&f, i, at);
        for (int lane = 0; lane < WARP; lane++)
            addr[lane] = rtile_region_row(x, at[lane][FRAG_ROW]) * elem;
        n += rtile_wavefronts(addr, UINT32_MAX, elem);
    }
    return n;
}

int rprog_region_swizzle(const RRegion *x) { return x->span ? x->span - RTILE_ACCESS : 0; }

/* Where a byte lies whose place in a plane is that: the swizzle of copies by boxes moves chunks of
 * 16 bytes by address bits 7 to 9, as many as a line has chunks.  */
static int32_t swizzled(const RRegion *x, int32_t at) {
    return at ^ (at >> RREGION_SHIFT & rprog_region_swizzle(x));
}

/* Wavefronts of all matrices of a tile's rows, at one chunk of k: what others add to the places of
 * eight rows rotates the banks.  The tile begins at `first`.  */
static int64_t tile_wavefronts(const RProg *r, int side, const RRegion *x, int elem,
                               int32_t first) {
    int32_t addr[WARP] = {0};
    int64_t n = 0;
    for (int row = 0; row < r->block.extent[own_axis(side)]; row += MATRIX) {
        for (int i = 0; i < MATRIX; i++)
            addr[i] = swizzled(x, rtile_region_row(x, first + row + i) * elem);
        n += rtile_wavefronts(addr, (1u << MATRIX) - 1, RTILE_ACCESS);
    }
    return n;
}

double rprog_region_block(const Problem *p, const Device *dev, const RProg *r, int side) {
    RRegion x;
    if (!rprog_matrix(dev, r) || !rprog_region(p, r, side, &x)) return 0;
    int elem = rprog_elem(p, dev, r, side);
    bool matrices = rprog_ldmatrix(p, dev, r, side);
    Gather g = matrices ? (Gather){0} : gather_of(dev, r, side, &x);
    int64_t total = 0, all = rprog_region_entries(p, r), part = matrices ? all : columns_of(&g);
    int64_t tiles = rprog_tiles(p, r, own_axis(side)), starts = tiles < STARTS ? tiles : STARTS;
    for (int i = 0; i < starts; i++) {
        int32_t first = start_of(r, side, &x, i);
        if (matrices) total += tile_wavefronts(r, side, &x, elem, first);
        for (int64_t k = 0; k < all && !matrices; k += part)
            total += block_wavefronts(p, &x, &g, elem, first, k);
    }
    return starts ? (double)total / (double)starts : 0;
}

double rprog_region_traffic(const Problem *p, const Device *dev, const RProg *r, int side,
                            double block) {
    RRegion x;
    if (!rprog_region(p, r, side, &x)) return 0;
    if (!rprog_matrix(dev, r)) {
        int elem = rprog_elem(p, dev, r, side);
        return (double)(r->warp.extent[AX_K] * row_wavefronts(dev, r, side, &x, elem));
    }
    if (rprog_ldmatrix(p, dev, r, side)) {
        int64_t own = r->block.extent[own_axis(side)], chunks = matrix_passes(p, dev, r, side);
        return slices_of(r) + block * (double)(MATRIX * chunks) / (double)own;
    }
    Gather g = gather_of(dev, r, side, &x);
    int64_t all = rprog_region_entries(p, r), registers = ceil_div(all, columns_of(&g));
    double total = (double)(registers * entry_wavefronts(&g)) + g.blocks * block;
    return all > 0 ? total * r->warp.extent[AX_K] / (double)all : 0;
}

/* Of a warp's chunks from the first on.  */
static int store_wavefronts(const RRegion *x, int first, int elem) {
    int32_t addr[WARP];
    int per = x->row / x->vec;
    for (int lane = 0; lane < WARP; lane++) {
        int id = first + lane, line = id / per;
        if (x->turned)
            line = line / x->across * x->extent[x->along] + line % x->across * x->turned;
        addr[lane] = (line * x->pitch + id % per * x->vec) * elem;
    }
    return rtile_wavefronts(addr, UINT32_MAX, x->vec * elem);
}

int64_t rprog_region_stores(const Problem *p, const Device *dev, const RProg *r, int side) {
    enum { SAMPLE = 16 };     /* requests, beyond which places in banks repeat */
    RRegion x;
    if (!rprog_region(p, r, side, &x)) return 0;
    int64_t requests = ceil_div(rtile_region_pieces(&x), WARP);
    int64_t sampled = requests < SAMPLE ? requests : SAMPLE, n = 0;
    int elem = rprog_elem(p, dev, r, side);
    for (int i = 0; i < sampled; i++) n += store_wavefronts(&x, i * WARP, elem);
    int64_t zeros = rprog_region_zeros(p, r, &x);
    return ceil_div(n * requests, sampled) * (x.turned ? x.turned : 1) + ceil_div(zeros, WARP) +
           ceil_div(rprog_region_entries(p, r), WARP);
}
