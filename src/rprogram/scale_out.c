/* From one block to the grid: order of tiles, slices of K, stages, and the device's limits.  */
#include "rprogram/build.h"

/* Bytes of operand `side` that one row (column) of a tile row reads over all of K, counting what
 * overlapping windows share once.  */
static double bytes_per_row(const Problem *p, int side) {
    const ROperand *op = &p->op[side];
    double rows = (double)p->extent[own_axis(side)], b = (double)p->extent[AX_B];
    if (!op->present || rows <= 0 || b <= 0) return 0;
    return (double)op->unique * op->bytes / (rows * b);
}

/* The group of tile rows whose wave of resident blocks touches the fewest distinct bytes:
 * min over g of g * BM * a + ceil(W / g) * BN * b.  */
static void choose_raster(const Builder *b, RProg *r) {
    const Problem *p = b->p;
    int64_t rows = rprog_tiles(p, r, AX_M), columns = rprog_tiles(p, r, AX_N);
    double wave = b->sms * r->blocks_per_sm;
    double row = bytes_per_row(p, 0) * r->block.extent[AX_M];
    double column = bytes_per_row(p, 1) * r->block.extent[AX_N];
    double total = row * (double)rows + column * (double)columns;
    r->raster = RASTER_ROW;
    r->group = 0;
    if (rows == 1 || columns == 1) return;
    if (total <= b->dev->memory[LEVEL_L2].effective_capacity.value) return;
    double best = 0;
    for (int64_t g = 1; g < rows * 2 && g <= 64; g *= 2) {
        double high = g < rows ? (double)g : (double)rows;
        double wide = wave / high < (double)columns ? wave / high : (double)columns;
        double bytes = high * row + wide * column;
        if (g > 1 && bytes >= best) continue;
        best = bytes;
        r->raster = g == 1 ? RASTER_ROW : g >= rows ? RASTER_COLUMN : RASTER_GROUPED;
        r->group = r->raster == RASTER_GROUPED ? (int16_t)g : 0;
    }
}

static void keep(Builder *b, const RProg *r) {
    RProgSet *set = b->set;
    set->enumerated++;
    if (set->n >= b->max) {
        set->rejected[REJECT_DOMINATED]++;
        return;
    }
    if ((size_t)set->n == b->cap) {
        set->prog = arena_grow(b->arena, set->prog, &b->cap, (size_t)set->n + 1, sizeof *set->prog);
    }
    set->prog[set->n++] = *r;
}

/* Reduction slices worth a try when the tiles leave SMs idle: those that fill the SMs once, twice, and
 * as far as blocks are resident.  Slices keep at least two k-steps and none is empty.  */
static int choose_splits(const Builder *b, const RProg *r, int32_t out[SPLITS]) {
    int64_t tiles = rprog_blocks(b->p, r), steps = rprog_tiles(b->p, r, AX_K);
    int64_t sms = (int64_t)b->sms, slots = sms * r->blocks_per_sm;
    const int64_t wanted[SPLITS] = {sms / tiles, (sms + tiles - 1) / tiles, 2 * sms / tiles,
                                    slots / tiles, 4 * sms / tiles, slots / (2 * tiles)};
    int n = 0;
    if (tiles >= 2 * slots || tiles >= 4 * sms) return 0;
    for (int i = 0; i < SPLITS; i++) {
        int64_t split = wanted[i] < steps / 2 ? wanted[i] : steps / 2;
        if (split > 128) split = 128;
        if (split < 2) continue;
        split = ceil_div(steps, ceil_div(steps, split));
        bool known = split < 2;
        for (int j = 0; j < n; j++) known |= out[j] == split;
        if (!known) out[n++] = (int32_t)split;
    }
    return n;
}

static uint8_t workspace_vec(const Problem *p, const RProg *r) {
    int vec = r->vec_n;
    while (vec > 1 && (p->extent[AX_N] % vec || vec * p->acc_bytes > PIECE_MAX)) vec /= 2;
    return (uint8_t)vec;
}

static void with_splits(Builder *b, RProg *r) {
    const int64_t limit = b->options->workspace_limit;
    int32_t splits[SPLITS];
    int n = choose_splits(b, r, splits);
    keep(b, r);
    uint8_t store_vec = r->store_vec;
    for (int i = 0; i < n; i++) {
        r->split = splits[i];
        r->store_vec = workspace_vec(b->p, r);
        if (limit >= 0 && rprog_workspace(b->p, r) > limit) {
            b->set->enumerated++;
            b->set->rejected[REJECT_WORKSPACE]++;
            continue;
        }
        keep(b, r);
    }
    r->split = 1;
    r->store_vec = store_vec;
}

static void reject(Builder *b, Reject why) {
    b->set->enumerated++;
    b->set->rejected[why]++;
}

/* Stages within the budget: deeper ones first make the copies in flight cover the latency; they are
 * lowered before a tile is given up.  */
void build_scale_out(Builder *b, RProg *r) {
    static const uint8_t copied[] = {2, 3, 4, 6}, staged[] = {2, 1};
    bool async = true;
    for (int side = 0; side < 2; side++) {
        if (b->p->op[side].present && r->load[side].kind == LOAD_STAGED) async = false;
    }
    bool mixed = !async && (r->load[0].kind == LOAD_ASYNC || r->load[1].kind == LOAD_ASYNC);
    int64_t steps = rprog_tiles(b->p, r, AX_K);
    const DeviceLimits *limit = &b->dev->limits;
    bool kept = false;
    for (int i = 0; i < (async ? 4 : mixed ? 1 : 2); i++) {
        r->stages = async ? copied[i] : staged[i];
        if (i > 0 && async && r->stages > steps + 1) break;
        if (i > 0 && !async && kept) break;
        rprog_derive(b->p, b->dev, r);
        if (r->registers > limit->registers_per_thread.value) {
            reject(b, REJECT_REGISTERS);
            break;
        }
        if (r->smem > limit->smem_per_block_optin.value) {
            reject(b, REJECT_SMEM);
            continue;
        }
        if (r->blocks_per_sm < 1) {
            reject(b, REJECT_REGISTERS);
            break;
        }
        if ((double)rprog_blocks(b->p, r) > limit->grid_max.value) {
            reject(b, REJECT_GRID);
            break;
        }
        kept = true;
        choose_raster(b, r);
        with_splits(b, r);
    }
}
