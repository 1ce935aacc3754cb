/* The addresses of one warp's shared-memory requests, by the mapping in rprog.h.
 *
 * All reads of an operand's fragment by all warps have as many wavefronts as the first: they differ
 * by whole multiples of the lane grid, which moves every bank by the same amount or, under a
 * swizzle, flips the same bits in all of them.  */
#include "base/hash.h"
#include "rprogram/matrix.h"

#include <string.h>

int rprog_fragment_reads(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (r->load[side].region) return region_reads(p, dev, r, side);
    if (rprog_matrix(dev, r)) return matrix_reads(p, dev, r, side);
    int own = r->thread.extent[own_axis(side)], k = r->warp.extent[AX_K];
    if (r->load[side].layout.inner == AX_K) return own * (k / r->thread.extent[AX_K]);
    return own / (side ? r->vec_n : r->vec_m) * k;
}

bool rprog_stores_always(const Problem *p, const Device *dev, const RProg *r) {
    enum { MANY = 16 };                   /* steps beside which one more store is little */
    if (!rprog_matrix(dev, r) || r->stages == 1 || rprog_tiles(p, r, AX_K) < MANY * r->split)
        return false;
    for (int side = 0; side < p->n_operand; side++) {
        const Operand *o = &p->con.operand[side];
        if (rprog_waits(&r->load[side]) && !(o->read && p->op[side].affine)) return false;
    }
    return true;
}

/* Elements in a row of the tile.  */
static int row_length(const RProg *r, int side) {
    bool k_inner = r->load[side].layout.inner == AX_K;
    return r->block.extent[k_inner ? AX_K : own_axis(side)];
}

int64_t rprog_fragment_passes(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (rprog_matrix(dev, r)) return matrix_passes(p, dev, r, side);
    return rprog_fragment_reads(p, dev, r, side);
}

int rprog_fragment_wavefronts(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (r->load[side].region) return 1;
    return fragment_wavefronts(p, dev, r, side);
}

/* Of units of threads: all that the addresses of a read depend on.  Along the operand's own axis it
 * stays in one row.  */
static uint64_t read_key(const Problem *p, const Device *dev, const RProg *r, int side) {
    const RLayout *l = &r->load[side].layout;
    uint64_t elem = (uint64_t)rprog_elem(p, dev, r, side), vec = side ? r->vec_n : r->vec_m;
    uint64_t lanes = (uint64_t)count_along(&r->warp, &r->thread, side ? AX_N : AX_M);
    uint64_t key = vec << 1 | (uint64_t)side, pitch = 0, swizzle = 0, k = 0;
    if (l->inner == AX_K) {
        pitch = (uint64_t)(row_length(r, side) + l->pad);
        swizzle = (uint64_t)(l->bits | l->shift << 2 | l->base << 5);
        k = (uint64_t)r->thread.extent[AX_K];
    }
    return ((((pitch << 8 | swizzle) << 8 | k) << 6 | lanes) << 6 | elem) << 6 | key;
}

int rprog_read_sample(const Problem *p, const Device *dev, const RProg *r, int side,
                      Samples *memo) {
    if (r->load[side].region || rprog_matrix(dev, r))
        return rprog_fragment_wavefronts(p, dev, r, side);
    uint64_t key = read_key(p, dev, r, side);
    ReadSample *known = &memo->read[hash_spread(key) >> 55];
    if (known->wavefronts == 0 || known->key != key)
        *known = (ReadSample){key, rprog_fragment_wavefronts(p, dev, r, side)};
    return known->wavefronts;
}

/* How chunks lie in the shared tile.  */
typedef struct {
    RLayout layout;
    int elem, row;            /* bytes of an element; elements of a row */
    int line;                 /* chunks side by side in the direction of the accesses */
    int vec, accesses, width; /* a chunk is stored in accesses of `width` bytes */
    bool straight;            /* the direction is the inner axis */
} Chunks;

static Chunks chunks_of(const Problem *p, const Device *dev, const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    int along = r->block.extent[l->along == AX_K ? AX_K : own_axis(side)];
    Chunks c = {.layout = l->layout, .elem = rprog_elem(p, dev, r, side),
                .row = row_length(r, side), .line = along / l->vec, .vec = l->vec,
                .straight = l->along == l->layout.inner};
    int bytes = l->vec * c.elem;
    c.width = !c.straight ? c.elem : bytes < RTILE_ACCESS ? bytes : RTILE_ACCESS;
    c.accesses = bytes / c.width;
    return c;
}

/* Wavefronts of the stores of chunks first..first+n-1, n up to 32.  */
static int store_request(const Chunks *c, int first, int n) {
    int32_t addr[WARP] = {0};
    int total = 0, step = c->straight ? c->width / c->elem : 1;
    uint32_t active = n < WARP ? (1u << n) - 1 : UINT32_MAX;
    for (int access = 0; access < c->accesses; access++) {
        int line = first / c->line, chunk = first % c->line;
        for (int lane = 0; lane < n; lane++) {
            int at = chunk * c->vec + access * step;
            addr[lane] = c->straight ? rtile_at(c->layout, c->row, c->elem, line, at)
                                     : rtile_at(c->layout, c->row, c->elem, at, line);
            if (++chunk < c->line) continue;
            chunk = 0;
            line++;
        }
        total += rtile_wavefronts(addr, active, c->width);
    }
    return total;
}

static StoreSample *find_sample(Samples *memo, const Chunks *c, int chunks, StoreSample *x) {
    *x = (StoreSample){.key = {.row = c->row, .line = c->line, .pad = c->layout.pad,
                               .bits = c->layout.bits, .shift = c->layout.shift,
                               .base = c->layout.base, .elem = (uint8_t)c->elem,
                               .vec = (uint8_t)c->vec, .straight = c->straight,
                               .chunks = (int16_t)chunks, .used = true}};
    uint64_t word[2], h;
    memcpy(word, &x->key, sizeof word);
    h = hash_spread(hash_spread(word[0]) ^ word[1]) + (uint64_t)x->key.chunks;
    return &memo->store[hash_spread(h ^ h >> 32) >> 54];
}

int rprog_store_sample(const Problem *p, const Device *dev, const RProg *r, int side,
                       Samples *memo, int *least) {
    enum { SAMPLE = 2 * WARP };
    Chunks c = chunks_of(p, dev, r, side);
    int chunks = r->block.extent[own_axis(side)] * r->block.extent[AX_K] / c.vec, total = 0;
    StoreSample x, *known = find_sample(memo, &c, chunks < SAMPLE ? chunks : SAMPLE, &x);
    *least = known->least;
    if (memcmp(&known->key, &x.key, sizeof x.key) == 0) return known->wavefronts;
    *least = 0;
    for (int i = 0; i < SAMPLE && i < chunks; i += WARP) {
        int n = chunks - i < WARP ? chunks - i : WARP;
        total += store_request(&c, i, n);
        *least += c.accesses * ((n * c.width + 127) / 128);
    }
    x.wavefronts = (int16_t)total;
    x.least = (int16_t)*least;
    *known = x;
    return total;
}

/* A warp stores 32 neighbouring chunks, so requests repeat after line / gcd(line, 32).  */
int64_t rprog_store_wavefronts(const Problem *p, const Device *dev, const RProg *r, int side) {
    if (r->load[side].region) return 0;
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
