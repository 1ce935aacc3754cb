/* Programs of units of warpgroups, by the mapping in rprog.h.  */
#include "rprogram/build.h"
#include "rprogram/matrix.h"
#include "rprogram/skeleton.h"
#include <string.h>

/* Registers move from threads to others in steps of eight.  */
static int64_t in_eights(int64_t n) { return (n + 7) / 8 * 8; }

/* Registers of a step's products, what is read for them, and what else the expression reads of each
 * row.  */
static int64_t raw_registers(const Problem *p, const Device *dev, const RProg *r, int side) {
    RRaw x;
    Fragment f = rprog_raw_fragment(dev, r);
    int64_t tiles = count_along(&r->warp, &r->thread, own_axis(side));
    int64_t slices = count_along(&r->warp, &r->thread, AX_K);
    int slots = fragment_slots(&f, FRAG_DIMS);
    int64_t made = slots / f.per_register * tiles * slices;
    if (r->load[side].region) return 2 * made + tiles;    /* and places of rows */
    if (!rprog_raw(p, side, r->block.extent[AX_K], &x)) return 0;
    int elem = te_dtype_bytes(x.storage);
    int each = f.per_register * elem > 4 ? f.per_register * elem / 4 : 1;
    return made + made * each + x.n * tiles * fragment_slots(&f, FRAG_ROW);
}

/* What a thread needs that computes: beside its sums addresses, phases and places of outputs.
 * Where partial sums, or results whose columns are several indices, are stored beyond the last
 * column, the compiler keeps what it found of every pair of columns for the next row; of swapped
 * results, of which a thread has few columns of many rows, places of the rows in each output; where
 * rows are collected in shared memory, places of the instructions beyond the first; where what is
 * stored at once is apart in the registers, room to bring it together.  */
int64_t warpgroup_computing(const Problem *p, const Device *dev, const RProg *r) {
    /* Of compiled kernels.  */
    enum { OTHERS = WARPGROUP_OTHERS, COLUMNS = 4, SEGMENT = 8, PLACES = 8, GATHERED = 4 };
    int64_t tiles = (int64_t)count_along(&r->warp, &r->thread, AX_M) *
                    count_along(&r->warp, &r->thread, AX_N);
    int bytes = te_dtype_bytes(dev->unit[r->unit].acc);
    int64_t sums = tiles * rprog_unit_accumulators(dev, r) * bytes / 4;
    if (rprog_promotes(p, dev, r)) sums = 2 * sums + matrix_scale_registers(p, dev, r);
    bool scaled = matrix_scales_sums(p, &dev->unit[r->unit]);
    if (dev->unit[r->unit].acc != p->con.acc && !scaled)  /* both are there while converted */
        sums += tiles * rprog_unit_accumulators(dev, r) * p->acc_bytes / 4;
    for (int side = 0; side < p->n_operand; side++)
        if (rprog_by_lanes(&r->load[side])) sums += raw_registers(p, dev, r, side);
    bool kept = r->split > 1 || r->tail > 0 || p->con.axis[AX_N].n_digit > 1;
    bool direct = r->via == VIA_DIRECT || (r->tail > 0 && r->via == VIA_BOXES);
    Fragment f = rprog_results(dev, r);
    if (!fragment_follows(&f, FRAG_COL)) sums += sums / GATHERED;
    if (r->tail > 0) sums += SEGMENT;
    if (kept && direct && rprog_ragged(p, r, AX_N))
        sums += r->thread.extent[AX_N] / COLUMNS;
    if (r->swapped && r->via == VIA_DIRECT && rprog_ragged(p, r, AX_N))
        sums += p->n_stored * fragment_slots(&f, FRAG_ROW);
    if (r->via == VIA_SHARED) sums += (tiles - 1) * PLACES;
    if (r->stats) sums += rprog_stats_registers(p, dev, r);
    return in_eights(OTHERS + sums);
}

/* Those that copy need few, a thread of them that issues products some more, and again for segments
 * of a tail, for the turns of a chain's next tile, or for scales: words of two steps, and where
 * those of a row are; where they copy chunk by chunk, for the places of these.  They leave the rest
 * to those that compute.  */
enum { TAKEN_MOST = 240 };
static int chunks_need(const RProg *r) {
    enum { STEP = 8, CHUNK = 3 };         /* an offset, and two subscripts that are tested */
    /* Eight chunks under way: words of two accesses each, and where it begins in the first.  */
    enum { JOINS = 8 * (2 * RTILE_ACCESS / 4 + 1) };
    int64_t need = 0;
    for (int side = 0; side < CONTRACTION_OPERANDS; side++)
        if (r->load[side].team > 0 && r->load[side].region) need += JOINS;
        else if (r->load[side].team > 0) need += STEP + CHUNK * rprog_chunks(r, side).thread;
    return (int)in_eights(need);
}

int warpgroup_copying(const Problem *p, const Device *dev, const RProg *r) {
    /* Of compiled kernels.  */
    enum { COPYING = 24, ISSUING = 40, SEGMENTS = 24, TURNS = 32, STEPS = 2, PLACE = 2, MAPS = 16 };
    int chunks = chunks_need(r), staging = (int)matrix_staging_registers(p, dev, r);
    if (rprog_reorders(r)) chunks += MAPS;
    if (staging > 0) staging += ISSUING - COPYING;
    if (!rprog_tensor(dev, r)) return COPYING + chunks + (int)in_eights(staging);
    int words = rprog_tensor_scales(dev, r, 0) + rprog_tensor_scales(dev, r, 1);
    int need = (r->tail > 0 ? ISSUING + SEGMENTS : ISSUING) + chunks;
    if (r->skeleton == SK_CHAIN && rprog_persistent(r)) need += TURNS;
    return need + STEPS * words + PLACE * words / rprog_scale_words(dev, r);
}

int64_t warpgroup_launched(const Problem *p, const Device *dev, const RProg *r, int64_t need) {
    int64_t teams = rprog_computing(dev, r) / (WARP * rprog_team(dev, r));
    int64_t most = (int64_t)dev->limits.registers_per_thread.value;
    int64_t copying = warpgroup_copying(p, dev, r), all = copying > need ? copying : need;
    if (need > TAKEN_MOST) return most + 1;
    /* Registers move where one block has too few: ptxas refuses it where several are promised.  */
    if (hal_blocks_per_sm(dev, r->threads, (int)all, 0) > 0) return all;
    return ceil_div(copying + teams * need, teams + 1);
}

bool warpgroup_moves(const Device *dev, const RProg *r, int64_t need, int64_t copying,
                     int64_t blocks, int *computing) {
    int64_t threads = r->threads * blocks;
    int64_t each = (int64_t)dev->limits.registers_per_sm.value / threads / 8 * 8;
    int64_t teams = rprog_computing(dev, r) / (WARP * rprog_team(dev, r));
    int64_t left = ((teams + 1) * each - copying) / teams / 8 * 8;
    *computing = (int)(left < TAKEN_MOST ? left : TAKEN_MOST);
    return each < need;
}

/* With the swizzle of boxes that lie so.  */
static int16_t box_mover(const Device *dev, LoadKind kind, const RLayout *l) {
    int bits = l->bits + l->base, atom = RTILE_ACCESS << l->base;
    for (int i = 0; i < dev->n_mover; i++) {
        const Mover *m = &dev->mover[i];
        bool boxes = m->async && m->box_max > 0 && m->from == PLACE_GLOBAL && m->to == PLACE_SMEM;
        if (strcmp(m->name, rprog_load_facts(kind).movers) != 0) continue;
        bool swizzles = (m->swizzles >> bits & 1) && (atom == RTILE_ACCESS || m->atom == atom);
        if (boxes && m->fill_zero && swizzles) return (int16_t)i;
    }
    return -1;
}

enum { BOX_BITS = 3 };        /* of the row's number, that move chunks of 16 bytes in a box */

/* Rows of `span` bytes, in the swizzle of their width, which moves `atom` bytes together.  */
static RLayout box_layout(int inner, int span, int atom) {
    int bits = BOX_BITS, base = 0;
    while (RTILE_ACCESS << bits > span) bits--;
    while (RTILE_ACCESS << base < atom) base++;
    return (RLayout){.inner = (uint8_t)inner, .bits = (uint8_t)(bits - base),
                     .shift = (uint8_t)(bits ? BOX_BITS - bits : 0), .base = (uint8_t)base};
}

/* The operand as it lies in memory, in boxes as wide as a step has of it.  */
static bool raw_load(const Problem *p, const Device *dev, const RProg *r, int side, RLoad *out) {
    RRaw x;
    int step = BOX_SPAN / te_dtype_bytes(dev->unit[r->unit].a);
    if (!rprog_raw(p, side, step, &x)) return false;
    int elem = te_dtype_bytes(x.storage);
    RLayout layout = box_layout(AX_K, step / x.pack * elem, RTILE_ACCESS);
    int16_t mover = box_mover(dev, LOAD_TILE, &layout);
    if (mover < 0 || layout.bits == 0) return false;
    *out = (RLoad){.kind = LOAD_TILE, .mover = mover, .vec = (uint8_t)(RTILE_ACCESS / elem),
                   .along = AX_K, .raw = true, .layout = layout};
    return true;
}

/* Chunks that threads copy to where boxes would bring them: those that fill the ring, of whom one
 * issues boxes of the other operand.  Where products have a thread that issues them, and scales one
 * that brings them, the others.  */
static bool team_load(const Problem *p, const Device *dev, const RProg *r, int side, RLoad *out) {
    enum { ALL = 4, OTHERS = 2 };         /* warps */
    const ComputeUnit *u = &dev->unit[r->unit];
    const ROperand *op = &p->op[side];
    int own = own_axis(side), vec = RTILE_ACCESS / te_dtype_bytes(u->a);
    int inner = u->k_major && op->vec_k >= vec ? AX_K : own;
    int16_t mover = rprog_mover(dev, LOAD_ASYNC, RTILE_ACCESS);
    if (!warpgroup_gathers(p, u, side) || mover < 0) return false;
    *out = (RLoad){.kind = LOAD_ASYNC, .mover = mover, .vec = (uint8_t)vec,
                   .along = (uint8_t)inner, .team = u->tmem ? OTHERS : ALL,
                   .layout = box_layout(inner, BOX_SPAN, RTILE_ACCESS)};
    return true;
}

/* Boxes of rows that begin anywhere, but every so-manieth of which lies as a tensor map wants.  */
static bool modulo_load(const Problem *p, const Device *dev, const RProg *r, int side, RLoad *out) {
    RBox box;
    const ComputeUnit *u = &dev->unit[r->unit];
    int n = warpgroup_modulo(p, u, side, &box);
    RLayout layout = box_layout(AX_K, BOX_SPAN, RTILE_ACCESS);
    int16_t mover = box_mover(dev, LOAD_TILE, &layout);
    if (n == 0 || mover < 0) return false;
    *out = (RLoad){.kind = LOAD_TILE, .mover = mover, .along = AX_K, .modulo = (uint8_t)n,
                   .vec = (uint8_t)(RTILE_ACCESS / te_dtype_bytes(u->a)), .layout = layout};
    return true;
}

bool warpgroup_load(const Problem *p, const Device *dev, const RProg *r, int side, RLoad *out) {
    RBox box;
    const ComputeUnit *u = &dev->unit[r->unit];
    if (!warpgroup_copies(p, u, side))
        return modulo_load(p, dev, r, side, out) || team_load(p, dev, r, side, out) ||
               raw_load(p, dev, r, side, out);
    rprog_box(p, side, &box);
    LoadKind kind = box.pixels > 0 ? LOAD_PIXELS : LOAD_TILE;
    int atom = box.inner != AX_K && u->mn_atom > 0 ? u->mn_atom : RTILE_ACCESS;
    RLayout layout = box_layout(box.inner, box.span, atom);
    int16_t mover = box_mover(dev, kind, &layout);
    if (mover < 0) return false;
    int vec = RTILE_ACCESS / te_dtype_bytes(u->a);
    *out = (RLoad){.kind = kind, .mover = mover, .vec = (uint8_t)vec,
                   .along = (uint8_t)box.inner, .layout = layout};
    return true;
}

bool warpgroup_region(const Problem *p, const Device *dev, const RProg *r, int side, RLoad *out) {
    RBox box;
    RLayout layout = box_layout(AX_K, BOX_SPAN, RTILE_ACCESS);
    LoadKind kind = rprog_pixels(p, side, &box) ? LOAD_PIXELS : LOAD_TILE;
    enum { ALL = 4 };         /* warps that fill the ring */
    bool joins = warpgroup_joins(p, &dev->unit[r->unit], side);
    if (joins) kind = LOAD_STAGED;
    int16_t mover = joins ? rprog_mover(dev, kind, RTILE_ACCESS) : box_mover(dev, kind, &layout);
    *out = (RLoad){.kind = kind, .mover = mover, .region = true, .team = joins ? ALL : 0,
                   .vec = (uint8_t)(RTILE_ACCESS / te_dtype_bytes(dev->unit[r->unit].a)),
                   .along = (uint8_t)own_axis(side), .layout = {.inner = (uint8_t)own_axis(side)}};
    return mover >= 0 && warpgroup_regions(p, &dev->unit[r->unit], side);
}

/* Do columns of pixels, or boxes, bring the region of the tile?  */
static bool region_comes(const Problem *p, const Device *dev, const RLoad *l, int side,
                         const RRegion *x) {
    RBox box;
    int64_t rows;
    int most = dev->mover[l->mover].box_max;
    if (l->team) return (x->anywhere || x->turned) && x->parts <= 1;
    if (l->kind == LOAD_TILE) return rprog_region_box(p, side, x, most, &box);
    return x->lines <= most && rprog_region_pixels(p, side, x, &box, &rows);
}

/* Lanes load a step's matrices from the pixels that one place of the window moves the rows to.  */
static const char *check_region(const Problem *p, const Device *dev, const RProg *r, int side) {
    RLoad own;
    RRegion x;
    const RLoad *l = &r->load[side];
    if (!warpgroup_region(p, dev, r, side, &own) || l->mover != own.mover || l->vec != own.vec ||
        l->team != own.team)
        return "copies of pixels or boxes bring no such region";
    if (l->raw || l->bytes || l->table || l->layout.bits || l->layout.pad)
        return "a region has no layout of its own";
    if (r->load[!side].region) return "one operand at most is loaded as a region";
    if (rprog_unit_side(r, side) != 0) return "registers are the unit's first operand";
    if (!rprog_region(p, r, side, &x) || !region_comes(p, dev, l, side, &x))
        return "the tile's reads are no region, or no column of pixels or box has them";
    if (rprog_region_step(p, side) % r->block.extent[AX_K])
        return "a k-step of a region has channels of one pixel";
    if (r->split > 1 || r->tail > 0) return "a region goes with `split 1` and no tail";
    return NULL;
}

/* Boxes have whole atoms of the swizzle.  */
static const char *check_modulo(const Device *dev, const RProg *r, int side) {
    FragOrder order = rprog_row_order(dev, r, side);
    if (r->load[side].modulo == 0) return NULL;
    if (r->load[0].modulo + r->load[1].modulo > WARPGROUP_MAPS)
        return "a kernel takes no more tensor maps";
    if (order.n == 0)
        return "boxes of rows modulo a number have multiples of 8 rows";
    return r->via == VIA_DIRECT ? NULL : "rows modulo a number leave as the lanes hold them";
}

static const char *check_tile(const Problem *p, const Device *dev, const RProg *r, int side) {
    RLoad own;
    const RLoad *l = &r->load[side];
    if (l->region) return check_region(p, dev, r, side);
    if (!warpgroup_load(p, dev, r, side, &own)) return "the operand cannot be copied by boxes";
    bool same = l->kind == own.kind && l->mover == own.mover && l->vec == own.vec &&
                l->along == own.along && l->layout.inner == own.layout.inner &&
                l->layout.bits == own.layout.bits && l->layout.shift == own.layout.shift &&
                l->layout.base == own.layout.base && !l->layout.pad && l->raw == own.raw &&
                l->team == own.team && l->modulo == own.modulo &&
                !l->region && !l->bytes && !l->table;
    if (!same) return "a unit of warpgroups reads boxes as the operand lies in memory";
    int inner = r->block.extent[own.along], elem = rprog_elem(p, dev, r, side);
    if (own.raw && rprog_unit_side(r, side) != 0) return "registers are the unit's first operand";
    if (own.raw) elem = te_dtype_bytes(dev->unit[r->unit].a);
    /* Each of several begins with a box; threads write whole lines of one.  */
    bool several = r->warp.extent[own.along] < inner || own.team > 0;
    if (own.along == AX_K ? inner * elem != BOX_SPAN : several && inner * elem % BOX_SPAN != 0) {
        return "boxes are 128 bytes wide";
    }
    /* A transposed operand of 8-bit types has an N that is a multiple of 16 (PTX ISA,
     * tcgen05.mma).  */
    if (own.along != AX_K && r->thread.extent[own.along] * elem % RTILE_ACCESS != 0)
        return "columns of an instruction are no chunks of 16 bytes";
    int rows = r->block.extent[own.along == AX_K ? own_axis(side) : AX_K];
    if (!own.team && rows > dev->mover[own.mover].box_max) return "a box has too many rows";
    return check_modulo(dev, r, side);
}

int rprog_tensor_tile(const RProg *r) {
    int rows = own_axis(r->swapped);
    return (int)count_along(&r->block, &r->thread, rows) * r->block.extent[own_axis(!r->swapped)];
}

int rprog_issued_columns(const Device *dev, const RProg *r) {
    const ComputeUnit *u = &dev->unit[r->unit];
    const SizeRange *n = &u->n;
    int columns = own_axis(!r->swapped), all = r->block.extent[columns];
    bool takes = rprog_tensor(dev, r) && all <= n->to && (all - n->from) % n->step == 0;
    return takes ? all : r->thread.extent[columns];
}

/* Columns that so many tiles take, and the scales of one step; of a chain results of both products,
 * and the terms between them, of each warpgroup.  */
static int tensor_need(const Device *dev, const RProg *r, int tiles) {
    if (r->skeleton == SK_CHAIN)
        return (int)count_along(&r->block, &r->warp, AX_M) *
               (r->block.extent[AX_E] + r->block.extent[AX_N] + rprog_chain_terms(dev, r));
    return tiles * rprog_tensor_tile(r) + rprog_tensor_scales(dev, r, 0) +
           rprog_tensor_scales(dev, r, 1);
}

int rprog_tensor_slots(const Device *dev, const RProg *r) {
    enum { TILES = 2 };      /* one is stored while the other is multiplied */
    bool fit = tensor_need(dev, r, TILES) <= RPROG_TENSOR_MOST;
    return rprog_persistent(r) && fit ? TILES : 1;
}

int rprog_tensor_columns(const Device *dev, const RProg *r) {
    int columns = RPROG_TENSOR_LEAST, need = tensor_need(dev, r, rprog_tensor_slots(dev, r));
    while (columns < need) columns *= 2;
    return columns;
}

/* Scales of a tile begin at a column of their own, as far as such columns are in use elsewhere.  */
static bool scales_begin_well(const Device *dev, const RProg *r) {
    enum { ROWS = 64 };       /* CUTLASS moves on by so many (sm100_blockscaled_mma) */
    bool well = true;
    for (int side = 0; side < 2; side++) {
        int axis = own_axis(side);
        int tile = rprog_unit_side(r, side) ? rprog_issued_columns(dev, r) : r->thread.extent[axis];
        well &= r->block.extent[axis] == tile || tile % ROWS == 0;
    }
    return well || dev->unit[r->unit].scale_k == 0;
}

/* One thread issues all products, and sees to their order by itself.  */
static const char *check_tensor(const Device *dev, const RProg *r) {
    if (!rprog_tensor(dev, r)) return NULL;
    if (rprog_in_turn(r) > 1) return "blocks whose results lie in Tensor Memory take no turns";
    if (!scales_begin_well(dev, r)) return "tiles with scales have multiples of 64 rows";
    bool several = rprog_issued_columns(dev, r) < r->block.extent[own_axis(!r->swapped)];
    if (several && rprog_unit_blocks(dev, r) > 1) return "a pair has one instruction along n";
    return rprog_tensor_columns(dev, r) <= RPROG_TENSOR_MOST ? NULL
                                                             : "Tensor Memory has 512 columns";
}

static const char *check_cluster(const Problem *p, const Device *dev, const RProg *r) {
    int pair = rprog_unit_blocks(dev, r);
    if (pair > 1 && r->cluster != pair) return "a pair of blocks is a cluster";
    if (r->cluster == 0) return NULL;
    if (!power_of_two(r->cluster) || r->cluster < 2 || r->cluster > dev->limits.cluster_max.value) {
        return "a cluster has 2, 4 .. blocks, as far as the device allows";
    }
    if (r->split > 1) return "clusters go with `split 1`";
    return rprog_cluster_fits(p, dev, r) ? NULL : "blocks of a cluster do not share whole boxes";
}

const char *warpgroup_check(const Problem *p, const Device *dev, const RProg *r) {
    const ComputeUnit *u = &dev->unit[r->unit];
    const int32_t *t = r->thread.extent;
    int rows = own_axis(r->swapped), columns = own_axis(!r->swapped), n = t[columns];
    if (!matrix_takes_as(p, u, r->swapped)) return "the unit takes the operands in the other order";
    if (t[rows] != u->m.from || t[AX_K] != u->k.from || n < u->n.from || n > u->n.to ||
        (n - u->n.from) % u->n.step) {
        return "thread is not a tile of the unit";
    }
    if (r->warp.extent[columns] != n) return "a warpgroup has one instruction along n";
    if (r->swapped && r->warp.extent[rows] != t[rows])
        return "a warpgroup that is swapped has one instruction";
    if (!count_along(&r->warp, &r->thread, rows) || !count_along(&r->warp, &r->thread, AX_K)) {
        return "the warp tile is not a multiple of the unit's";
    }
    if (r->block.extent[AX_K] != r->warp.extent[AX_K] || r->unroll != r->warp.extent[AX_K]) {
        return "a warpgroup computes whole k-steps, unrolled";
    }
    for (int side = 0; side < p->n_operand; side++) {
        int own = own_axis(side), bytes = r->warp.extent[own] * rprog_elem(p, dev, r, side);
        bool begins = r->block.extent[own] > r->warp.extent[own];
        if (r->load[side].along == own && begins && bytes % BOX_SPAN)
            return "a warp tile begins within a box";
    }
    if (r->stats && r->swapped) return "values of rows go with units that are not swapped";
    Fragment f = rprog_results(dev, r);
    if (r->vec_m != fragment_run(&f, FRAG_ROW) || r->vec_n != fragment_run(&f, FRAG_COL)) {
        return "vec is not what a lane of the unit holds";
    }
    if (r->tail > 0 && (r->grid != GRID_PERSISTENT || r->cluster))
        return "of warpgroups, blocks that stay and share no copies have a tail";
    const char *wrong = check_cluster(p, dev, r);
    if (!wrong) wrong = check_tensor(dev, r);
    if (!wrong) wrong = grid_check(p, dev, r);
    if (!wrong) wrong = matrix_check_scales(p, dev, r);
    if (wrong) return wrong;
    for (int side = 0; side < p->n_operand; side++) {
        const char *why = check_tile(p, dev, r, side);
        if (why) return why;
    }
    return NULL;
}

/* ---- construction ---- */
