/* links: sim */
#include "ring_fixture.h"

#include <string.h>

const RingFamily ring_family[RING_FAMILIES] = {
    {"64x8", 1, 8, {1, 1}, 1, 1, VIA_DIRECT, RASTER_ROW, 0, GRID_TILES, false, false},
    {"64x64", 1, 64, {1, 1}, 2, 1, VIA_SHARED, RASTER_COLUMN, 0, GRID_TILES, false, false},
    {"64x256", 1, 256, {1, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"128x72", 2, 72, {1, 1}, 4, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"2 of 64x128", 1, 128, {2, 1}, 2, 1, VIA_DIRECT, RASTER_GROUPED, 0, GRID_TILES, false, false},
    {"2 of 64x256", 1, 256, {2, 1}, 4, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"2 of 128x192", 2, 192, {2, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"2 of 128x64 side by side", 2, 64, {1, 2}, 3, 1, VIA_SHARED, RASTER_GROUPED, 0, GRID_TILES,
     false, false},
    {"2 of 64x64, one stage", 1, 64, {2, 1}, 1, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false,
     false},
    {"64x128, split", 1, 128, {1, 1}, 2, 2, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false},
    {"2 of 64x40, split", 1, 40, {2, 1}, 3, 3, VIA_DIRECT, RASTER_ROW, 0, GRID_TILES, false, false},
    {"64x64, pairs below each other", 1, 64, {1, 1}, 3, 1, VIA_SHARED, RASTER_GROUPED, 2,
     GRID_TILES, false, false},
    {"2 of 64x64, pairs side by side", 1, 64, {2, 1}, 2, 1, VIA_SHARED, RASTER_ROW, 2, GRID_TILES,
     false, false},
    {"64x96, fours", 1, 96, {1, 1}, 4, 1, VIA_DIRECT, RASTER_COLUMN, 4, GRID_TILES, false, false},
    {"128x128, fours, one stage", 2, 128, {1, 1}, 1, 1, VIA_SHARED, RASTER_COLUMN, 4, GRID_TILES,
     false, false},
    {"64x128, persistent", 1, 128, {1, 1}, 3, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT, false,
     false},
    {"2 of 64x256, persistent", 1, 256, {2, 1}, 4, 1, VIA_BOXES, RASTER_GROUPED, 0,
     GRID_PERSISTENT, false, false},
    {"2 of 128x96, persistent", 2, 96, {2, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT,
     false, false},
    {"2 of 64x64, persistent, pieces", 1, 64, {2, 1}, 2, 1, VIA_SHARED, RASTER_COLUMN, 0,
     GRID_PERSISTENT, false, false},
    {"64x40, persistent, one stage", 1, 40, {1, 1}, 1, 1, VIA_DIRECT, RASTER_ROW, 0,
     GRID_PERSISTENT, false, false},
    {"64x64, persistent pairs", 1, 64, {1, 1}, 3, 1, VIA_BOXES, RASTER_GROUPED, 2,
     GRID_PERSISTENT, false, false},
    {"2 of 64x32, persistent fours", 1, 32, {2, 1}, 2, 1, VIA_BOXES, RASTER_COLUMN, 4,
     GRID_PERSISTENT, false, false},
    {"64x128, pingpong", 1, 128, {1, 1}, 3, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PINGPONG, false,
     false},
    {"64x80, pingpong, one stage", 1, 80, {1, 1}, 1, 1, VIA_DIRECT, RASTER_COLUMN, 0,
     GRID_PINGPONG, false, false},
    {"128x64, pingpong pairs", 2, 64, {1, 1}, 4, 1, VIA_BOXES, RASTER_ROW, 2, GRID_PINGPONG, false,
     false},
    {"64x96, pingpong fours, pieces", 1, 96, {1, 1}, 2, 1, VIA_SHARED, RASTER_COLUMN, 4,
     GRID_PINGPONG, false, false},
    {"8x64 swapped", 1, 8, {1, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, true, false},
    {"16x64 swapped, split", 1, 16, {1, 1}, 4, 3, VIA_SHARED, RASTER_COLUMN, 0, GRID_TILES, true,
     false},
    {"2 of 40x64 swapped, side by side", 1, 40, {1, 2}, 2, 1, VIA_DIRECT, RASTER_ROW, 0, GRID_TILES,
     true, false},
    {"2 of 32x64 swapped, below each other", 1, 32, {2, 1}, 1, 1, VIA_SHARED, RASTER_GROUPED, 0,
     GRID_TILES, true, false},
    {"64x64 swapped, pairs", 1, 64, {1, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 2, GRID_TILES, true,
     false},
    {"2 of 160x64 swapped, persistent", 1, 160, {1, 2}, 2, 1, VIA_BOXES, RASTER_GROUPED, 0,
     GRID_PERSISTENT, true, false},
    {"2 of 96x64 swapped, persistent, pieces", 1, 96, {1, 2}, 2, 1, VIA_SHARED, RASTER_ROW, 0,
     GRID_PERSISTENT, true, false},
    {"128x64 swapped, pingpong pairs", 1, 128, {1, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 2,
     GRID_PINGPONG, true, false},
    {"64x128, persistent, tail", 1, 128, {1, 1}, 3, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT,
     false, true},
    {"2 of 64x64, persistent, tail, pieces", 1, 64, {2, 1}, 2, 1, VIA_SHARED, RASTER_COLUMN, 0,
     GRID_PERSISTENT, false, true},
    {"64x40, persistent, tail, one stage", 1, 40, {1, 1}, 1, 1, VIA_DIRECT, RASTER_GROUPED, 0,
     GRID_PERSISTENT, false, true},
    {"2 of 32x64 swapped, persistent, tail", 1, 32, {1, 2}, 4, 1, VIA_BOXES, RASTER_ROW, 0,
     GRID_PERSISTENT, true, true},
    {"64x64, pingpong, rows in turns", 1, 64, {1, 1}, 2, 1, VIA_BOXES, RASTER_COLUMN, 0,
     GRID_PINGPONG, false, true},
    {"128x40, pingpong pairs, rows in turns", 2, 40, {1, 1}, 4, 1, VIA_DIRECT, RASTER_COLUMN, 2,
     GRID_PINGPONG, false, true},
};

const RingUnit ring_unit[RING_UNITS] = {
    {"wgmma.f16.f32", "f16", "", "f32", true},
    {"wgmma.bf16.f32", "bf16", "", "bf16", true},
    {"wgmma.f16.f16", "f16", "@accum(f16)", "f16", true},
    {"wgmma.tf32.f32", "f32", "@tf32", "f32", false},
    {"wgmma.i8.i32", "i8", "", "i32", false},
    {"wgmma.u8.i32", "u8", "", "i32", false},
    {"wgmma.f8e4m3.f32", "f8e4m3", "", "f32", false},
    {"wgmma.f8e5m2.f32", "f8e5m2", "", "f16", false},
    {"tcgen05.f16.f32", "f16", "", "f16", true},
    {"tcgen05.bf16.f32", "bf16", "", "f32", true},
    {"tcgen05.tf32.f32", "f32", "@tf32", "f32", true},
    {"tcgen05.f8e4m3.f32", "f8e4m3", "", "f32", true},
    {"tcgen05.f8e5m2.f32", "f8e5m2", "", "f16", true},
    {"tcgen05.i8.i32", "i8", "", "i32", true},
    {"tcgen05.u8.i32", "u8", "", "i32", true},
    {"tcgen05.bf16.f32.pair", "bf16", "", "f32", true},
    {"tcgen05.tf32.f32.pair", "f32", "@tf32", "f32", true},
    {"tcgen05.i8.i32.pair", "i8", "", "i32", true},
};

bool ring_has(const Device *dev, int16_t unit, const RingFamily *f) {
    return unit >= 0 && (!dev->unit[unit].tmem || f->grid != GRID_PINGPONG);
}

int16_t ring_unit_of(const Device *dev, const char *name) {
    for (int i = 0; i < dev->n_unit; i++) {
        if (strcmp(dev->unit[i].name, name) == 0) return (int16_t)i;
    }
    return -1;
}

static int16_t named_mover(const Device *dev, const char *name) {
    for (int i = 0; i < dev->n_mover; i++) {
        if (strcmp(dev->mover[i].name, name) == 0) return (int16_t)i;
    }
    return -1;
}

/* The swizzle of words of 32 bits that lie along rows or columns.  */
static RLayout layout_of_words(int inner) {
    return (RLayout){.inner = (uint8_t)inner, .bits = 2, .base = 1};
}

/* The swizzle of rows of so many bytes.  */
static RLayout layout_of(int inner, int row) {
    int bits = row >= 128 ? 3 : row >= 64 ? 2 : row >= 32 ? 1 : 0;
    return (RLayout){.inner = (uint8_t)inner, .bits = (uint8_t)bits,
                     .shift = (uint8_t)(bits ? 3 - bits : 0)};
}

/* An operand of other elements than the unit's is what its registers are made of: rows of at most
 * 128 bytes of a step.  */
static bool choose_raw(const KernelCase *c, RProg *r, int side) {
    const Problem *p = &c->plan.problem[0];
    const Operand *o = &p->con.operand[side];
    TeDtype type = side ? c->dev->unit[r->unit].b : c->dev->unit[r->unit].a;
    RRaw x;
    int step = 128 / te_dtype_bytes(type);
    if ((o->read && o->storage == type) || !rprog_raw(p, side, step, &x)) return false;
    int elem = te_dtype_bytes(x.storage);
    r->load[side] = (RLoad){.kind = LOAD_TILE, .mover = named_mover(c->dev, "tma.tile"),
                            .vec = (uint8_t)(16 / elem), .along = AX_K, .raw = true,
                            .layout = layout_of(AX_K, step / x.pack * elem)};
    return true;
}

/* What no box has threads copy, two warps of them where another issues products.  */
static void choose_team(const KernelCase *c, RProg *r, int side, int inner) {
    const ROperand *op = &c->plan.problem[0].op[side];
    r->load[side] = (RLoad){.kind = LOAD_ASYNC, .mover = named_mover(c->dev, "cp.async.16"),
                            .vec = (uint8_t)(16 / op->bytes), .along = (uint8_t)inner,
                            .team = c->dev->unit[r->unit].tmem ? 2 : 4,
                            .layout = layout_of(inner, 128)};
}

/* Rows that begin anywhere.  */
static bool choose_modulo(const KernelCase *c, RProg *r, int side) {
    const ROperand *op = &c->plan.problem[0].op[side];
    RBox box;
    int n = rprog_box_modulo(&c->plan.problem[0], side, &box);
    if (n == 0) return false;
    r->load[side] = (RLoad){.kind = LOAD_TILE, .mover = named_mover(c->dev, "tma.tile"),
                            .vec = (uint8_t)(16 / op->bytes), .along = AX_K,
                            .modulo = (uint8_t)n, .layout = layout_of(AX_K, 128)};
    r->via = VIA_DIRECT;
    return true;
}

static void choose_load(const KernelCase *c, RProg *r, int side) {
    const ROperand *op = &c->plan.problem[0].op[side];
    if (choose_raw(c, r, side) || choose_modulo(c, r, side)) return;
    int own = side ? AX_N : AX_M, inner = op->vec_k * op->bytes >= 16 ? AX_K : own;
    bool words = inner != AX_K && op->bytes == 4;
    RBox box;
    bool boxes = rprog_box(&c->plan.problem[0], side, &box), pixels = boxes && box.pixels > 0;
    if (!boxes) {
        choose_team(c, r, side, inner);
        return;
    }
    r->load[side] = (RLoad){.kind = pixels ? LOAD_PIXELS : LOAD_TILE,
                            .mover = named_mover(c->dev, pixels ? "tma.im2col" : "tma.tile"),
                            .vec = (uint8_t)(16 / op->bytes), .along = (uint8_t)inner,
                            .layout = words ? layout_of_words(inner)
                                            : layout_of(inner, pixels ? box.span : 128)};
}

/* Columns that this family has, at most `most`, if the unit does; boxes of what lies along them are
 * 128 bytes wide.  */
static int columns(const KernelCase *c, const RProg *r, const RingFamily *f, int most) {
    const SizeRange *n = &c->dev->unit[r->unit].n;
    int side = !r->swapped;
    int each = r->load[side].along == AX_K ? n->step : 128 / c->plan.problem[0].op[side].bytes;
    bool apart = c->dev->unit[r->unit].scale_k > 0 && f->warps[side] > 1;
    if (apart && each < 64) each = 64;    /* where scales of a tile may begin */
    if (r->load[side].modulo) each = 8 * r->load[side].modulo;
    if (r->load[side].along != AX_K || r->load[side].modulo) each *= rprog_unit_blocks(c->dev, r);
    int wanted = f->n < most ? f->n : most;
    return wanted < each ? each : wanted / each * each;
}

/* All blocks that stay have some of the tail, as far as there are steps; where a
 * block does not fit, the rules say why.  */
static void choose_tail(const KernelCase *c, RProg *r) {
    const Problem *p = &c->plan.problem[0];
    int64_t tiles = rprog_blocks(p, r), slots = rprog_slots(c->dev, r), tail;
    int64_t all, blocks;
    r->tail = r->tail_blocks = 1;         /* the registers of a segment may cost a block */
    rprog_derive(p, c->dev, r);
    if (r->blocks_per_sm == 0) {
        r->tail = r->tail_blocks = 0;
        return;
    }
    if (rprog_slots(c->dev, r) < slots) slots = rprog_slots(c->dev, r);
    tail = tiles % slots;
    if (tail == 0) tail = 1;
    all = tail * rprog_tiles(p, r, AX_K);
    blocks = all < slots ? all : slots;
    r->tail = (int32_t)tail;
    r->tail_blocks = (int32_t)blocks;
    r->tail_blocks = (int32_t)((all + rprog_tail_steps(p, r) - 1) / rprog_tail_steps(p, r));
}

/* A pair of blocks below each other, or side by side.  */
static void choose_pair(const KernelCase *c, RProg *r) {
    if (rprog_unit_blocks(c->dev, r) == 1) return;
    r->cluster = 2;
    r->split = 1;
    if (r->swapped || r->raster != RASTER_GROUPED) {
        r->raster = r->swapped ? RASTER_ROW : RASTER_COLUMN;
        r->group = 0;
    }
}

static const char *planned(KernelCase *c, int16_t which, const RingFamily *f, int most) {
    const Problem *p = &c->plan.problem[0];
    const ComputeUnit *u = &c->dev->unit[which];
    RProg *r = &c->plan.prog[0];
    *r = (RProg){.skeleton = SK_CONTRACT, .unit = which, .via = f->via, .split = f->split,
                 .stages = (uint8_t)f->stages, .raster = f->raster, .grid = f->grid,
                 .group = f->raster == RASTER_GROUPED ? 2 : 0,
                 .swapped = f->swapped && !p->stats && u->a == u->b};
    for (int i = 0; i < RT_AXES; i++)
        r->thread.extent[i] = r->warp.extent[i] = r->block.extent[i] = 1;
    for (int side = 0; side < 2; side++) choose_load(c, r, side);
    if (r->load[0].raw || r->load[1].raw) r->swapped = r->load[1].raw;
    int n = columns(c, r, f, most), k = 128 / te_dtype_bytes(u->a);
    /* Tiles of 64 rows, or as many rows.  */
    int tiles = r->swapped || u->m.from > 64 ? 1 : f->tiles;
    const int axis[] = {r->swapped ? AX_N : AX_M, r->swapped ? AX_M : AX_N, AX_K};
    const int thread[] = {u->m.from, n, u->k.from}, warp[] = {tiles * u->m.from, n, k};
    for (int i = 0; i < 3; i++) {
        r->thread.extent[axis[i]] = thread[i];
        r->warp.extent[axis[i]] = warp[i];
        bool second = (axis[i] == AX_N) != (r->swapped != f->swapped);
        r->block.extent[axis[i]] = warp[i] * (axis[i] < AX_K ? f->warps[second] : 1);
    }
    r->unroll = (int16_t)k;
    const Fragment results = rprog_results(c->dev, r);
    r->vec_m = (uint8_t)fragment_run(&results, FRAG_ROW);
    r->vec_n = (uint8_t)fragment_run(&results, FRAG_COL);
    r->cluster = (uint8_t)f->cluster;
    r->stats = !p->stats ? STATS_NONE
               : r->block.extent[AX_N] >= p->extent[AX_N] ? STATS_WHOLE
               : f->tail && rprog_persistent(r)           ? STATS_TURNS : STATS_PARTIAL;
    if (r->stats == STATS_TURNS) rprog_set_raster(p, 1, r);
    if (r->stats) r->split = r->lanes = 1;        /* a block has all k of a tile */
    if (r->cluster && !rprog_cluster_fits(p, c->dev, r)) r->cluster = 0;
    choose_pair(c, r);
    if (r->via == VIA_BOXES && rprog_box_row(p, r) == 0) r->via = VIA_DIRECT;
    enum { WIDEST = 8 };      /* elements of a store */
    int64_t steps = rprog_tiles(p, r, AX_K);
    if (r->split > steps) r->split = (int32_t)steps;
    r->store_vec = WIDEST;
    rprog_derive(p, c->dev, r);
    if (f->tail && !r->stats && r->grid == GRID_PERSISTENT && !r->cluster) choose_tail(c, r);
    int least = r->via == VIA_BOXES ? r->vec_n : 1;
    for (int vec = least > 1 ? least : WIDEST; vec >= least; vec /= 2) {
        r->store_vec = (uint8_t)vec;
        rprog_derive(p, c->dev, r);
        if (!rprog_check(p, c->dev, r)) break;
    }
    return rprog_check(p, c->dev, r);
}

/* Sums of a wide unit that are added elsewhere need the registers of both; stages of wide elements,
 * of which registers are made, more memory than others.  */
static const char *plan_with(KernelCase *c, int16_t which, const RingFamily *f, int most) {
    RingFamily own = *f;
    Problem *p = &c->plan.problem[0], scaled;
    const char *no;
    if (rtile_as_scaled(c->arena, p, p->align, &scaled, &no)) *p = scaled;
    for (;;) {
        const char *why = planned(c, which, &own, most);
        bool memory = why && strstr(why, "shared memory");
        bool wide = why && (strstr(why, "registers") || strstr(why, "Tensor Memory has") ||
                            strstr(why, "not one block fits"));
        if (memory && own.stages > 1) {
            own.stages--;
        } else if ((memory || wide) && most >= 64) {
            most = most < 256 ? most / 2 : 128;
            own.stages = f->stages;
        } else {
            return why;
        }
    }
}

/* What tiles make no pair of blocks for, the unit of one block does: the row before.  */
const char *ring_plan(KernelCase *c, int16_t which, const RingFamily *f, int most) {
    const char *why = plan_with(c, which, f, most);
    bool pair = c->dev->unit[which].blocks > 1;
    return why && pair ? plan_with(c, (int16_t)(which - 1), f, most) : why;
}
