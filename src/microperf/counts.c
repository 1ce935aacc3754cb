/* Counts of a k-step and of all stores: shared-memory wavefronts, sectors, requests.  What many
 * candidates have in common is counted once (CountMemo).
 *
 * A shared-memory request takes one pass (wavefront) for each distinct word in its fullest bank: 32
 * banks of 4 bytes.  8-byte requests are two half-warps, 16-byte requests four quarters; halves or
 * quarters become one when every lane has the address of its neighbour (lane xor 1, or every one
 * that of lane xor 2). rtile_wavefronts is this rule.  The lanes of a warp are dealt to rows and
 * columns alternately, so neighbours read the same row of A or the same columns of B and 16-byte
 * reads cost 2 wavefronts, not 4.
 *
 * Every read of an operand's fragments has as many wavefronts as the first one (addresses move by
 * multiples of the lane grid, which rotates banks or flips the same swizzle bits in all lanes), so
 * one pattern is evaluated for each operand.  Chunks are stored by 32 neighbouring threads; their
 * patterns repeat after line / gcd(line, 32) requests, line being the chunks of one row.  Both are
 * exact.
 *
 * For tiles that divide the tensor, with rows on sector boundaries, these fields equal the
 * simulator's counters of the main kernel: load_sectors, store_sectors, smem_load_wavefronts,
 * smem_store_wavefronts, fma.  tests/unit/test_microperf_counts.c compares them with an enumeration
 * of every request of every warp; roller-gen --check --counters prints both beside each other.  The
 * compiler may still drop or move a fragment read (it removes the one that runs ahead of the last
 * step when it unrolls the whole loop).  */
#include "base/hash.h"
#include "microperf/matrix.h"
#include "microperf/sectors.h"

#include <string.h>

enum { MEMO = 4096, STAGINGS = 32, REGIONS = 64, STORES = 64 };

/* Everything a side's counts depend on within one problem.  */
typedef struct {
    int32_t own, k;
    RLayout layout;
    uint8_t side, along, vec, lanes_m, lanes_n, own_vec, thread_k;
    int16_t unit;
    bool region, bytes, fours;
    int32_t warp_own, warp_k; /* of a region */
} CountKey;
typedef struct {
    CountKey key;
    int sizes;                /* CountMemo.sizes that the rest is of, but for the banks; 0: none */
    OperandCounts of;         /* as of an operand in a tile of its own */
    double traffic, region_sectors, region_extra, region_passes;
    double region_made, region_rounds;
} CountEntry;
/* A round through the staging buffer, by all that its wavefronts depend on.  */
typedef struct {
    int32_t rows, columns;
    int16_t unit;
    uint8_t vec, via;
    bool swapped;
    int64_t stores, loads;
} StagingEntry;
/* One block of rows of a region, likewise.  */
typedef struct {
    int32_t own, entries;
    int16_t unit;
    uint8_t vec, side;
    double wavefronts;
} RegionEntry;
/* Stores of the outputs or of sums, likewise.  */
typedef struct {
    double per;
    int64_t run, apart;
    int32_t warp_n, thread_m, thread_n;
    int16_t unit;
    uint8_t vec_n, store_vec, via, modulo[2];
    bool swapped;
    double sectors;
} StoreEntry;
struct CountMemo {
    bool used[MEMO];
    CountEntry *entry;
    int sizes;                /* a number for the sizes at hand */
    StagePasses passes;
    StagingEntry staging[STAGINGS];
    RegionEntry region[REGIONS];
    StoreEntry store[STORES];
    int n_staging, n_region;
    uint64_t n_store;
    BoxCounts box;
    RProg last;               /* the program whose sides were counted last, if any */
    StepCounts of_last;
    bool any;
};

CountMemo *mp_count_memo(Arena *a) {
    CountMemo *memo = ARENA_ARRAY(a, CountMemo, MP_PRODUCTS);
    for (int i = 0; i < MP_PRODUCTS; i++) {
        memo[i].entry = ARENA_ROOM(a, CountEntry, MEMO);
        memo[i].sizes = 1;
    }
    return memo;
}

CountMemo *mp_count_product(CountMemo *memo, int i) { return memo ? &memo[i] : NULL; }

void mp_count_resized(CountMemo *memo) {
    for (int i = 0; i < MP_PRODUCTS; i++) {
        memo[i].sizes++;
        memo[i].n_region = 0;
        memo[i].n_store = 0;
        memo[i].box.n = 0;
        memo[i].any = false;
    }
}

BoxCounts *mp_box_counts(CountMemo *memo) { return &memo->box; }

static CountKey key_of(const RProg *r, int side, bool matrix) {
    const RLoad *l = &r->load[side];
    CountKey key;
    memset(&key, 0, sizeof key);
    key.own = r->block.extent[mp_own_axis(side)];
    key.k = r->block.extent[AX_K];
    key.layout.inner = l->layout.inner;
    key.layout.pad = l->layout.pad;
    key.layout.bits = l->layout.bits;
    key.layout.shift = l->layout.shift;
    key.layout.base = l->layout.base;
    key.side = (uint8_t)side;
    key.along = l->along;
    key.vec = l->vec;
    if (!matrix) {
        key.lanes_m = (uint8_t)(r->warp.extent[AX_M] / r->thread.extent[AX_M]);
        key.lanes_n = (uint8_t)(r->warp.extent[AX_N] / r->thread.extent[AX_N]);
        key.own_vec = side ? r->vec_n : r->vec_m;
    }
    key.bytes = l->bytes;
    key.fours = rprog_reads_fours(r, side);
    if (l->region) {
        key.region = true;
        key.warp_own = r->warp.extent[mp_own_axis(side)];
        key.warp_k = r->warp.extent[AX_K];
    }
    key.thread_k = (uint8_t)r->thread.extent[AX_K];
    key.unit = r->unit;
    return key;
}

static size_t slot_of(const CountKey *key) {
    uint64_t h = hash_spread((uint64_t)key->own);
    h = hash_spread(h ^ (uint64_t)key->k);
    h = hash_spread(h ^ (uint64_t)(key->layout.inner + 4 * key->layout.pad));
    h ^= (uint64_t)(key->layout.bits | key->layout.shift << 2 | key->layout.base << 5);
    h = h * 31 + key->side;
    h = h * 31 + key->vec;
    h = h * 31 + key->lanes_m;
    h = h * 31 + key->own_vec;
    h = h * 31 + (uint64_t)key->warp_own;
    h = h * 31 + (uint64_t)key->warp_k;
    h = h * 31 + key->thread_k;
    h = h * 31 + (uint64_t)(key->bytes + 2 * key->fours);
    return (hash_spread(h) >> 40) % MEMO;
}

static void count_region(const Model *m, const RProg *r, int side, CountEntry *e) {
    const Problem *p = m->p;
    RRegion x;
    e->region_sectors = e->region_passes = 0;
    if (!rprog_region(p, r, side, &x)) return;
    RegionMade made = mp_region_made(&x, p->op[side].bytes);
    e->of.requests = (int64_t)made.requests;
    e->of.store_wavefronts = rprog_region_stores(p, m->dev, r, side);
    e->region_extra = (double)rprog_region_extra(p, m->dev, r, side);
    e->region_sectors = mp_region_sectors(p, r, side, &x);
    e->region_made = made.issue;
    e->region_rounds = made.rounds;
    if (rprog_through_registers(&r->load[side])) e->region_passes = made.passes;
}

static double count_block(const Model *m, const RProg *r, int side, CountMemo *memo) {
    RegionEntry x = {.own = r->block.extent[mp_own_axis(side)], .unit = r->unit,
                     .entries = rprog_region_entries(m->p, r), .vec = r->load[side].vec,
                     .side = (uint8_t)side};
    for (int i = 0; memo && i < memo->n_region; i++) {
        const RegionEntry *e = &memo->region[i];
        if (e->own == x.own && e->entries == x.entries && e->unit == x.unit && e->vec == x.vec &&
            e->side == x.side)
            return e->wavefronts;
    }
    x.wavefronts = rprog_region_block(m->p, m->dev, r, side);
    if (memo && memo->n_region < REGIONS) memo->region[memo->n_region++] = x;
    return x.wavefronts;
}

/* What depends on how the tile lies in the banks of shared memory, whatever the sizes.  */
static void count_banks(const Model *m, const RProg *r, int side, CountEntry *e) {
    e->of.read_wavefronts = rprog_fragment_wavefronts(m->p, m->dev, r, side);
    e->of.store_wavefronts = rprog_store_wavefronts(m->p, m->dev, r, side);
}

/* What depends on how the operand lies in memory.  */
static void count_traffic(const Model *m, const RProg *r, int side, CountMemo *memo,
                          CountEntry *e) {
    e->traffic = 0;
    if (r->load[side].region)
        e->traffic = rprog_region_traffic(m->p, m->dev, r, side, count_block(m, r, side, memo));
    StageTraffic t = {0};
    if (!r->load[side].region) t = mp_stage_traffic(m, r, side, memo ? &memo->passes : NULL);
    e->of.sectors = t.sectors;
    e->of.requests = t.requests;
    e->of.passes = t.passes;
    count_region(m, r, side, e);
}

/* What is known of an operand, or counted now: in `local` where nothing is kept.  */
static const CountEntry *count_side(const Model *m, const RProg *r, int side, CountMemo *memo,
                                    CountEntry *local) {
    CountKey key = key_of(r, side, rprog_matrix(m->dev, r));
    size_t slot = slot_of(&key);
    CountEntry *e = memo ? &memo->entry[slot] : local;
    if (!memo || !memo->used[slot] || memcmp(&e->key, &key, sizeof key)) {
        count_banks(m, r, side, e);
        memcpy(&e->key, &key, sizeof key);
        e->sizes = 0;
    }
    if (memo) memo->used[slot] = true;
    if (!memo || e->sizes != memo->sizes) count_traffic(m, r, side, memo, e);
    if (memo) e->sizes = memo->sizes;
    return e;
}

static void count_staging(const Model *m, const RProg *r, CountMemo *memo, StepCounts *out) {
    StagingEntry x = {.rows = rprog_staging_rows(m->dev, r),
                      .columns = rprog_staging_columns(m->dev, r), .unit = r->unit,
                      .vec = r->store_vec, .via = (uint8_t)r->via, .swapped = r->swapped};
    for (int i = 0; memo && i < memo->n_staging; i++) {
        const StagingEntry *e = &memo->staging[i];
        if (e->rows != x.rows || e->columns != x.columns || e->unit != x.unit || e->vec != x.vec ||
            e->via != x.via || e->swapped != x.swapped) {
            continue;
        }
        out->staging_stores = e->stores;
        out->staging_loads = e->loads;
        return;
    }
    x.stores = r->via == VIA_BOXES ? rprog_box_wavefronts(m->p, m->dev, r, &x.loads)
                                   : rprog_staging_wavefronts(m->p, m->dev, r, &x.loads);
    out->staging_stores = x.stores;
    out->staging_loads = x.loads;
    if (memo && memo->n_staging < STAGINGS) memo->staging[memo->n_staging++] = x;
}

static void count_operand(const Model *m, const RProg *r, int side, CountMemo *memo,
                          StepCounts *out) {
    CountEntry local;
    const CountEntry *e = count_side(m, r, side, memo, &local);
    OperandCounts *c = &out->of[side];
    *c = e->of;
    c->reads = rprog_fragment_reads(m->p, m->dev, r, side);
    c->fragment_wavefronts = e->traffic;
    if (!r->load[side].region) {
        int64_t passes = rprog_fragment_passes(m->p, m->dev, r, side);
        c->fragment_wavefronts = (double)(c->read_wavefronts * passes);
        return;
    }
    out->region_requests = (double)c->requests;
    out->region_stores = (double)c->store_wavefronts;
    out->region_sectors = e->region_sectors;
    out->region_extra = e->region_extra;
    out->region_passes = e->region_passes;
    out->region_made = e->region_made;
    out->region_rounds = e->region_rounds;
    c->requests = c->store_wavefronts = 0;
}

/* A region that boxes bring, a plane each; a warp has its part of the rows, chunk by chunk.  */
static void count_planes(const Model *m, const RProg *r, int side, CountMemo *memo,
                         StepCounts *out) {
    RRegion x;
    OperandCounts *c = &out->of[side];
    int own = mp_own_axis(side), team = rprog_team(m->dev, r);
    if (!rprog_region(m->p, r, side, &x)) return;
    double share = (double)r->warp.extent[own] / r->block.extent[own] / team;
    int chunks = r->block.extent[AX_K] * m->p->op[side].bytes / RTILE_ACCESS;
    c->fragment_wavefronts = count_block(m, r, side, memo) * share * chunks;
    if (r->load[side].team) {
        RegionMade made = mp_region_made(&x, m->p->op[side].bytes);
        out->region_requests = made.requests;
        out->region_made = made.issue;
        out->region_rounds = made.rounds;
        out->region_passes = made.passes;
        out->region_stores = made.stores * RTILE_ACCESS * WARP / MP_WAVEFRONT;
        out->region_sectors = mp_region_sectors(m->p, r, side, &x);
        return;
    }
    out->region_requests = x.planes;
    out->region_stores = (double)rprog_region_slot(m->p, r, side) / (WARP * 4);
    out->region_sectors = mp_boxes_sectors(mp_region_sectors(m->p, r, side, &x), x.span);
}

static void count_operands(const Model *m, const RProg *r, CountMemo *memo, StepCounts *out) {
    *out = (StepCounts){0};
    for (int side = 0; side < m->p->n_operand; side++) {
        if (m->p->op[side].made) continue;
        StagePasses *kept = memo ? &memo->passes : NULL;
        if (rprog_region_boxes(&r->load[side])) count_planes(m, r, side, memo, out);
        else if (r->load[side].team > 0) out->of[side] = mp_team_counts(m, r, side, kept);
        else if (m->dev->unit[r->unit].b_smem) out->of[side] = mp_ring_counts(m, r, side);
        else count_operand(m, r, side, memo, out);
    }
}

/* Programs of a block follow each other.  */
void mp_step_counts(const Model *m, const RProg *r, CountMemo *memo, StepCounts *out) {
    if (memo && memo->any && rprog_same_block(&memo->last, r)) {
        *out = memo->of_last;
    } else {
        count_operands(m, r, memo, out);
        if (memo) {
            memo->last = *r;
            memo->of_last = *out;
            memo->any = true;
        }
    }
    if (r->via != VIA_DIRECT) count_staging(m, r, memo, out);
}

static double stores_of(const Model *m, const RProg *r, CountMemo *memo, double per,
                        int64_t run, int64_t apart) {
    StoreEntry x = {.per = per, .run = run, .apart = apart, .warp_n = r->warp.extent[AX_N],
                    .thread_m = r->thread.extent[AX_M], .thread_n = r->thread.extent[AX_N],
                    .unit = r->unit, .vec_n = r->vec_n, .store_vec = r->store_vec,
                    .via = (uint8_t)r->via, .swapped = r->swapped,
                    .modulo = {r->load[0].modulo, r->load[1].modulo}};
    uint64_t n = memo ? memo->n_store : 0, first = n < STORES ? 0 : n - STORES;
    for (uint64_t i = n; i > first; i--) {
        const StoreEntry *e = &memo->store[(i - 1) % STORES];
        if (e->per == x.per && e->run == x.run && e->apart == x.apart &&
            e->warp_n == x.warp_n && e->thread_m == x.thread_m &&
            e->thread_n == x.thread_n && e->unit == x.unit &&
            e->modulo[0] == x.modulo[0] && e->modulo[1] == x.modulo[1] &&
            e->vec_n == x.vec_n && e->store_vec == x.store_vec && e->via == x.via &&
            e->swapped == x.swapped)
            return e->sectors;
    }
    x.sectors = mp_output_sectors(m, r, per, run, apart);
    if (memo) memo->store[memo->n_store++ % STORES] = x;
    return x.sectors;
}

/* Partial sums of a split lie by rows of N, those of a tail by rows of its tiles.  */
double mp_store_sectors(const Model *m, const RProg *r, CountMemo *memo) {
    const Problem *p = m->p;
    double outputs = (double)p->extent[AX_B] * (double)p->extent[AX_M] * (double)p->extent[AX_N];
    if (outputs <= 0) return 0;
    if (r->split > 1) return stores_of(m, r, memo, p->acc_bytes, p->extent[AX_N], 1) * r->split;
    double all = stores_of(m, r, memo, (double)p->out_bytes / outputs, p->out_run, p->out_step);
    if (r->tail == 0) return all;
    double tiles = (double)rprog_blocks(p, r), partials = (double)rprog_tail_partials(p, r);
    double sums = stores_of(m, r, memo, p->acc_bytes, r->block.extent[AX_N], 1);
    return all * (1 - r->tail / tiles) + sums * partials / tiles;
}
