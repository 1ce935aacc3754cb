/* The addresses of one warp's shared-memory requests, by the mapping in rprog.h.
 *
 * All reads of an operand's fragment by all warps have as many wavefronts as the first: they differ
 * by whole multiples of the lane grid, which moves every bank by the same amount or, under a
 * swizzle, flips the same bits in all of them.  */
#include "rprogram/matrix.h"

int rprog_fragment_reads(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (r->load[side].region) return region_reads(p, dev, r, side);
    if (rprog_matrix(dev, r)) return matrix_reads(p, dev, r, side);
    int own = r->thread.extent[own_axis(side)], k = r->warp.extent[AX_K];
    if (r->load[side].layout.inner == AX_K) return own * (k / r->thread.extent[AX_K]);
    return own / (side ? r->vec_n : r->vec_m) * k;
}

bool rprog_fetched_ahead(const Device *dev, const RProg *r, int side) {
    if (rprog_matrix(dev, r)) return count_along(&r->warp, &r->thread, AX_K) % 2 == 0;
    bool one_k = r->load[side].layout.inner != AX_K || r->thread.extent[AX_K] == 1;
    return one_k && !rprog_packed(dev, r) && r->unroll % 2 == 0;
}

/* Elements in a row of the tile.  */
static int row_length(const RProg *r, int side) {
    bool k_inner = r->load[side].layout.inner == AX_K;
    return r->block.extent[k_inner ? AX_K : own_axis(side)];
}

int64_t rprog_fragment_traffic(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (!p->op[side].present) return 0;
    if (r->load[side].region) return region_wavefronts(p, dev, r, side);
    int64_t each = rprog_fragment_wavefronts(p, dev, r, side);
    if (rprog_matrix(dev, r)) return each * matrix_passes(p, dev, r, side);
    return each * rprog_fragment_reads(p, dev, r, side);
}

int rprog_fragment_wavefronts(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (r->load[side].region) return 1;
    if (rprog_matrix(dev, r)) return matrix_wavefronts(p, dev, r, side);
    const RLoad *l = &r->load[side];
    int elem = rprog_elem(p, dev, r, side), row = row_length(r, side);
    int vec = side ? r->vec_n : r->vec_m;
    int lanes_m = count_along(&r->warp, &r->thread, AX_M);
    int lanes_n = count_along(&r->warp, &r->thread, AX_N);
    bool k_inner = l->layout.inner == AX_K;
    int32_t addr[WARP];
    for (int lane = 0; lane < WARP; lane++) {
        int lm, ln;
        rprog_lane(lanes_m, lanes_n, lane, &lm, &ln);
        int own = (side ? ln : lm) * vec;
        addr[lane] = k_inner ? rtile_at(l->layout, row, elem, own, 0)
                             : rtile_at(l->layout, row, elem, 0, own);
    }
    return rtile_wavefronts(addr, UINT32_MAX, (k_inner ? r->thread.extent[AX_K] : vec) * elem);
}

/* How chunks lie in the shared tile.  */
typedef struct {
    RLayout layout;
    int elem, row;            /* bytes of an element; elements of a row */
    int line;                 /* chunks side by side in the direction of the accesses */
    int vec, pieces, width;   /* a chunk is stored in pieces of `width` bytes */
    bool straight;            /* the direction is the inner axis */
} Chunks;

static Chunks chunks_of(const Problem *p, const Device *dev, const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    int along = r->block.extent[l->along == AX_K ? AX_K : own_axis(side)];
    Chunks c = {.layout = l->layout, .elem = rprog_elem(p, dev, r, side),
                .row = row_length(r, side), .line = along / l->vec, .vec = l->vec,
                .straight = l->along == l->layout.inner};
    int bytes = l->vec * c.elem;
    c.width = !c.straight ? c.elem : bytes < PIECE_MAX ? bytes : PIECE_MAX;
    c.pieces = bytes / c.width;
    return c;
}

/* Wavefronts of the stores of chunks first..first+n-1, n up to 32.  */
static int store_request(const Chunks *c, int first, int n) {
    int32_t addr[WARP] = {0};
    int total = 0;
    uint32_t active = n < WARP ? (1u << n) - 1 : UINT32_MAX;
    for (int piece = 0; piece < c->pieces; piece++) {
        for (int lane = 0; lane < n; lane++) {
            int line = (first + lane) / c->line, at = (first + lane) % c->line * c->vec;
            if (c->straight) {
                addr[lane] = rtile_at(c->layout, c->row, c->elem, line,
                                      at + piece * c->width / c->elem);
            } else {
                addr[lane] = rtile_at(c->layout, c->row, c->elem, at + piece, line);
            }
        }
        total += rtile_wavefronts(addr, active, c->width);
    }
    return total;
}

int rprog_store_sample(const Problem *p, const Device *dev, const RProg *r, int side, int *least) {
    enum { SAMPLE = 2 };
    Chunks c = chunks_of(p, dev, r, side);
    int chunks = r->block.extent[own_axis(side)] * r->block.extent[AX_K] / c.vec, total = 0;
    *least = 0;
    for (int i = 0; i < SAMPLE && i * WARP < chunks; i++) {
        int n = chunks - i * WARP < WARP ? chunks - i * WARP : WARP;
        total += store_request(&c, i * WARP, n);
        *least += c.pieces * ((n * c.width + 127) / 128);
    }
    return total;
}

/* A warp stores 32 neighbouring chunks, so requests repeat after line / gcd(line, 32).  */
int64_t rprog_store_wavefronts(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (!p->op[side].present || r->load[side].region) return 0;
    Chunks c = chunks_of(p, dev, r, side);
    int64_t chunks = (int64_t)r->block.extent[own_axis(side)] * r->block.extent[AX_K] / c.vec;
    int64_t requests = chunks / WARP, total = 0, part = 0;
    int common = lowest_bit(c.line) < WARP ? lowest_bit(c.line) : WARP;
    int64_t period = c.line / common, rest = requests % period;
    for (int64_t i = 0; i < period && i < requests; i++) {
        if (i == rest) part = total;
        total += store_request(&c, (int)i * WARP, WARP);
    }
    if (requests >= period) total = total * (requests / period) + part;
    if (chunks % WARP) {
        total += store_request(&c, (int)requests * WARP, (int)(chunks % WARP));
    }
    return total;
}
