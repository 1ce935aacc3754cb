/* From one block to the grid: slices of K, stages, and the device's limits.  The order of tiles is
 * chosen when programs are ranked.  */
#include "rprogram/build.h"
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

static void keep(Builder *b, const RProg *r) {
    RProgSet *set = b->set;
    set->enumerated++;
    if (set->n >= b->limit) {
        set->rejected[REJECT_DOMINATED]++;
        b->full = true;
        return;
    }
    RProg *kept = &set->prog[set->n++];
    *kept = *r;
    if (r->tail == 0) rprog_choose_tables(b->p, b->dev, &b->bytes, b->may_table, kept);
}

/* Columns that stand side by side where stores are made.  */
static int side_by_side(const Device *dev, const RProg *r) {
    return r->via == VIA_SHARED ? lowest_bit(rprog_staging_columns(dev, r)) : r->vec_n;
}

/* The same program with stores through shared memory.  */
static RProg staged(const Builder *b, const RProg *r) {
    RProg x = *r;
    x.via = VIA_SHARED;
    int vec = side_by_side(b->dev, &x);
    x.store_vec = (uint8_t)(vec < b->p->out_vec ? vec : b->p->out_vec);
    return x;
}

/* What all programs of a block have in common.  */
static void take_block(Builder *b, const RProg *r) {
    b->bytes = rprog_block_bytes(b->p, b->dev, r);
    if (rprog_matrix(b->dev, r)) {
        RProg x = staged(b, r);
        b->bytes.staging = rprog_staging_bytes(b->p, b->dev, &x);
        b->bytes.vec = x.store_vec;
    }
    for (int side = 0; side < b->p->n_operand; side++)
        b->may_table[side] = rprog_may_table(b->p, r, side);
}

/* Busy share of the SMs when `blocks` run in waves.  */
static double wave_efficiency(const Builder *b, int64_t blocks) {
    int64_t sms = (int64_t)b->sms;
    return (double)blocks / (double)(ceil_div(blocks, sms) * sms);
}

/* Reduction slices worth a try when the tiles leave SMs idle: of two, and as many as fill the SMs
 * once, twice, and as far as blocks are resident, the ones that keep SMs busiest.  Slices keep at
 * least two k-steps and none is empty.  */
static int choose_splits(const Builder *b, const RProg *r, int32_t out[SPLITS]) {
    int64_t tiles = rprog_outer_tiles(b->p, r), steps = rprog_tiles(b->p, r, AX_K);
    int64_t sms = (int64_t)b->sms, slots = sms * r->blocks_per_sm;
    const int64_t wanted[] = {sms / tiles, 2 * sms / tiles, slots / tiles, 2};
    enum { MOST = 128 };      /* slices, which the second kernel adds one after the other */
    double busy[SPLITS];
    int n = 0;
    if (tiles >= 2 * slots || tiles >= 4 * sms) return 0;      /* at most a fifth idle */
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int64_t split = wanted[i] < steps / 2 ? wanted[i] : steps / 2;
        if (split > MOST) split = MOST;
        if (split < 2) continue;
        split = ceil_div(steps, ceil_div(steps, split));
        double busier = wave_efficiency(b, tiles * split);
        bool known = split < 2;
        for (int j = 0; j < n; j++) known |= out[j] == split;
        if (known) continue;
        int at = n < SPLITS ? n++ : busier > busy[SPLITS - 1] ? SPLITS - 1 : -1;
        if (at < 0) continue;
        for (; at > 0 && busier > busy[at - 1]; at--) {
            out[at] = out[at - 1];
            busy[at] = busy[at - 1];
        }
        out[at] = (int32_t)split;
        busy[at] = busier;
    }
    return n;
}

static uint8_t workspace_vec(const Problem *p, const Device *dev, const RProg *r) {
    int vec = side_by_side(dev, r);
    while (vec > 1 && (p->multiple[AX_N] % vec || vec * p->acc_bytes > RTILE_ACCESS)) vec /= 2;
    return (uint8_t)vec;
}

/* Can what blocks leave of rows be counted and kept?  */
static bool parts_fit(const Builder *b, const RProg *r) {
    int64_t limit = b->options->workspace_limit;
    if (r->stats != STATS_PARTIAL) return true;
    if (rprog_stats_check(b->p, r)) return false;
    return limit < 0 || skeleton_workspace(b->of, b->p, r) <= limit;
}

/* Names the limit that a program breaks; REJECT_COUNT: none.  */
static Reject broken_limit(const Builder *b, const RProg *r) {
    const DeviceLimits *limit = &b->dev->limits;
    if (r->registers > limit->registers_per_thread.value) return REJECT_REGISTERS;
    if (r->smem > limit->smem_per_block_optin.value) return REJECT_SMEM;
    if (r->blocks_per_sm < 1) return REJECT_REGISTERS;
    if ((double)rprog_outer_tiles(b->p, r) > limit->grid_max.value) return REJECT_GRID;
    if (!parts_fit(b, r)) return REJECT_WORKSPACE;
    return REJECT_COUNT;
}

/* What follows from the way to store.  With units of warpgroups it takes registers: what waits for
 * stores of partial sums, and places of rows that are collected in shared memory.  */
static void derive_store(const Builder *b, RProg *r) {
    if (b->dev->unit[r->unit].b_smem) skeleton_derive(b->of, b->p, b->dev, r);
    else contract_derive_smem(b->p, b->dev, &b->bytes, r);
}

static void with_splits(Builder *b, const RProg *whole) {
    const int64_t limit = b->options->workspace_limit;
    RProg part = *whole, *r = &part;
    int32_t splits[SPLITS];
    bool region = r->load[0].region || r->load[1].region;
    int n = b->p->stats || region || r->cluster ? 0 : choose_splits(b, r, splits);
    for (int i = 0; i < n; i++) {
        r->split = splits[i];
        r->store_vec = workspace_vec(b->p, b->dev, r);
        if (limit >= 0 && skeleton_workspace(b->of, b->p, r) > limit) {
            b->set->enumerated++;
            b->set->rejected[REJECT_WORKSPACE]++;
            continue;
        }
        derive_store(b, r);
        Reject why = broken_limit(b, r);
        if (why == REJECT_COUNT) keep(b, r);
        else build_reject(b, why);
    }
}

/* Ways to store: as the lanes of a matrix unit hold the outputs, eight columns side by side, or
 * through shared memory, where that makes wider stores, or single elements of more lanes lie side
 * by side; always so if eight columns are less than a sector.  */
static void with_stores(Builder *b, RProg *r) {
    enum { SIDE_BY_SIDE = 8 };            /* columns of an instruction's results */
    const Problem *p = b->p;
    RProg shared = *r;
    bool wider = false;
    if (rprog_matrix(b->dev, r) && !rprog_reorders(r)) {
        shared = staged(b, r);
        derive_store(b, &shared);
        wider = (shared.store_vec > r->store_vec || (p->out_vec == 1 && p->out_run > 1)) &&
                broken_limit(b, &shared) == REJECT_COUNT;
    }
    double outputs = (double)p->extent[AX_B] * (double)p->extent[AX_M] * (double)p->extent[AX_N];
    if (!wider || (double)p->out_bytes * SIDE_BY_SIDE >= outputs * SECTOR) keep(b, r);
    if (wider) keep(b, &shared);
    with_splits(b, wider && r->swapped ? &shared : r);
}

/* Neighbours that share copies, where L2 gives so many blocks less than their ports take.  */
static void with_clusters(Builder *b, RProg r) {
    enum { LARGEST = 4 };     /* blocks: larger ones leave SMs of a GPC without a cluster */
    const MemoryLevel *l2 = &b->dev->memory[LEVEL_L2];
    double ports = (double)rprog_outer_tiles(b->p, &r) * l2->per_sm_max.value *
                   hal_clock_hz(b->dev);
    if (r.cluster) return;    /* a pair */
    for (int c = 2; c <= LARGEST && c <= b->dev->limits.cluster_max.value; c *= 2) {
        r.cluster = (uint8_t)c;
        if (ports <= l2->read.value || !rprog_cluster_order(b->p, b->dev, &r)) continue;
        with_stores(b, &r);
    }
}

/* Those of all tiles of a block: stages fill from one to the next.  */
static int64_t block_steps(const Builder *b, const RProg *r) {
    int64_t steps = rprog_tiles(b->p, r, AX_K);
    if (!rprog_persistent(r)) return steps;
    steps *= rprog_stats_turns(b->p, r);
    return steps * ceil_div(rprog_outer_tiles(b->p, r), rprog_slots(b->dev, r));
}

/* Every number of stages that fits: with the rate of matrix units the choice is a fine one.  */
static int every_depth(const Builder *b, RProg *r, uint8_t out[DEPTHS]) {
    int64_t steps = block_steps(b, r);
    int n = 0, blocks = 0;
    bool ring = b->dev->unit[r->unit].b_smem;  /* a deeper one is no worse beside as many blocks */
    for (int depth = 2; depth <= STAGES_MAX && (n == 0 || depth <= steps + 1); depth++) {
        r->stages = (uint8_t)depth;
        contract_derive_smem(b->p, b->dev, &b->bytes, r);
        if (n > 0 && r->blocks_per_sm < 1) break;
        if (ring && n > 0 && r->blocks_per_sm == blocks) n--;
        blocks = r->blocks_per_sm;
        out[n++] = (uint8_t)depth;
    }
    return n;
}

/* Stages worth a try.  Copies that run further ahead cover the latency better, so for a number of
 * resident blocks the deepest pipeline; then as deep as half as many blocks allow.  Stages are
 * lowered before a tile is given up: two are always tried.  */
static int choose_depths(const Builder *b, RProg *r, uint8_t out[DEPTHS]) {
    enum { DEEPEST = 6 };     /* stages: beyond, latency is covered even of half an SM's blocks */
    bool staged = false, async = false;
    for (int side = 0; side < b->p->n_operand; side++) {
        if (r->load[side].region) continue;
        if (!rprog_through_registers(&r->load[side])) async = true;
        else staged = true;
    }
    out[0] = 2;
    if (staged) {
        out[1] = 1;
        return async ? 1 : 2;
    }
    if (rprog_matrix(b->dev, r)) return every_depth(b, r, out);
    r->stages = 2;
    contract_derive_smem(b->p, b->dev, &b->bytes, r);
    int64_t steps = rprog_tiles(b->p, r, AX_K), most = steps + 1 < DEEPEST ? steps + 1 : DEEPEST;
    int full = r->blocks_per_sm, n = 1, depth = 3;
    for (; depth <= most && full > 0; depth++) {
        r->stages = (uint8_t)depth;
        contract_derive_smem(b->p, b->dev, &b->bytes, r);
        if (r->blocks_per_sm < full) break;
    }
    if (depth > 3) out[n++] = (uint8_t)(depth - 1);
    int reached = depth - 1;
    for (; depth <= most && r->blocks_per_sm > 0 && 2 * r->blocks_per_sm >= full; depth++) {
        reached = depth;
        r->stages = (uint8_t)(depth + 1);
        contract_derive_smem(b->p, b->dev, &b->bytes, r);
    }
    if (reached > out[n - 1]) out[n++] = (uint8_t)reached;
    return n;
}

/* A way to store of blocks that stay: by boxes where the outputs are some.  */
static void choose_store(const Builder *b, RProg *r) {
    r->via = VIA_BOXES;
    if (rprog_box_mover(b->dev) < 0 || rprog_box_row(b->p, r) == 0) r->via = VIA_DIRECT;
    else r->store_vec = r->vec_n;
}

/* Blocks that stay, where some get several tiles, or all several turns.  */
static void keep_staying(Builder *b, RProg r) {
    enum { LARGEST = 4 };     /* as in with_clusters */
    int pair = rprog_unit_blocks(b->dev, &r), most = pair > 1 ? pair : LARGEST;
    for (int c = pair; c <= most && c <= b->dev->limits.cluster_max.value; c *= 2) {
        r.cluster = (uint8_t)(c > 1 ? c : 0);
        if (c > 1 && !rprog_cluster_order(b->p, b->dev, &r)) continue;
        bool several = rprog_outer_tiles(b->p, &r) > rprog_launched(b->p, b->dev, &r);
        if (several || r.stats == STATS_TURNS) keep(b, &r);
    }
}

static void with_grids(Builder *b, RProg r) {
    uint8_t depth[DEPTHS];
    bool alone = r.block.extent[AX_M] == r.warp.extent[AX_M] &&
                 r.block.extent[AX_N] == r.warp.extent[AX_N] && !rprog_tensor(b->dev, &r);
    for (int grid = GRID_PERSISTENT; grid <= (alone ? GRID_PINGPONG : GRID_PERSISTENT); grid++) {
        r.grid = (Grid)grid;
        choose_store(b, &r);
        skeleton_derive(b->of, b->p, b->dev, &r);
        take_block(b, &r);
        int n = choose_depths(b, &r, depth);
        for (int i = 0; i < n; i++) {
            r.stages = depth[i];
            contract_derive_smem(b->p, b->dev, &b->bytes, &r);
            Reject why = broken_limit(b, &r);
            if (why != REJECT_COUNT) build_reject(b, why);
            else keep_staying(b, r);
        }
    }
}

static void with_depths(Builder *b, RProg *r) {
    uint8_t depth[DEPTHS];
    skeleton_derive(b->of, b->p, b->dev, r);
    take_block(b, r);
    int n = choose_depths(b, r, depth);
    bool staged = depth[n - 1] == 1;
    for (int i = 0; i < n; i++) {
        r->stages = depth[i];
        contract_derive_smem(b->p, b->dev, &b->bytes, r);
        Reject why = broken_limit(b, r);
        if (why != REJECT_COUNT) {
            build_reject(b, why);
            continue;
        }
        with_stores(b, r);
        if (b->dev->unit[r->unit].b_smem) with_clusters(b, *r);
        if (staged) break;                /* one stage only where two do not fit */
    }
}

/* Tiles of the program's columns, one block for each or each block one after the other.  */
static void with_tiles(Builder *b, RProg r) {
    bool ring = b->dev->unit[r.unit].b_smem, turns = r.stats == STATS_TURNS;
    if (turns) rprog_only_rows(&r);
    if (turns && rprog_stats_check(b->p, &r)) return;
    if (!ring || !turns) with_depths(b, &r);
    if (ring) with_grids(b, r);
}

void build_scale_out(Builder *b, RProg *r) {
    r->stats = rprog_stats_of(b->p, r);
    with_tiles(b, *r);
    if (r->stats != STATS_PARTIAL) return;
    r->stats = STATS_TURNS;
    with_tiles(b, *r);
    r->stats = STATS_PARTIAL;
}

/* The k-steps of the tiles behind the last whole wave are dealt out so that every SM (every block
 * that stays) gets as many.
 * Worth a try where tiles leave SMs idle and blocks get some steps each; where tiles are few,
 * slices of K do as well.  */
static void with_tail(Builder *b, const RProg *r) {
    enum { LEAST_STEPS = 4, FEW = 4 };    /* of a block; tiles to an SM */
    const double busy = 0.9;              /* of the SMs: above, a tail saves less than a tenth */
    bool stays = rprog_persistent(r);
    int64_t sms = stays ? rprog_slots(b->dev, r) : (int64_t)b->sms;
    int64_t tiles = rprog_outer_tiles(b->p, r), tail = tiles % sms;
    int64_t steps = rprog_tiles(b->p, r, AX_K), all = tail * steps;
    int64_t blocks = all / LEAST_STEPS < sms ? all / LEAST_STEPS : sms;
    bool shared = r->block.extent[AX_K] != r->warp.extent[AX_K];
    shared |= r->load[0].region || r->load[1].region;
    if (b->dev->unit[r->unit].b_smem) shared |= r->grid != GRID_PERSISTENT || r->cluster;
    if (r->split > 1 || shared || blocks <= tail || tiles * FEW < sms) return;
    if (wave_efficiency(b, tiles) >= busy || (double)tiles * (double)steps > INT32_MAX / 2) return;
    RProg x = *r;
    x.tail = (int32_t)tail;
    x.tail_blocks = (int32_t)blocks;
    x.tail_blocks = (int32_t)ceil_div(all, rprog_tail_steps(b->p, &x));
    if (x.tail_blocks <= tail) return;    /* each has a whole tile, as without a tail */
    while (x.store_vec * b->p->acc_bytes > RTILE_ACCESS) x.store_vec /= 2;
    skeleton_derive(b->of, b->p, b->dev, &x);
    Reject why = broken_limit(b, &x);
    int64_t limit = b->options->workspace_limit;
    /* The segment's registers may leave room for fewer blocks that stay.  */
    if (stays && why == REJECT_COUNT && x.tail_blocks > rprog_slots(b->dev, &x)) why = REJECT_GRID;
    if (limit >= 0 && skeleton_workspace(b->of, b->p, &x) > limit) why = REJECT_WORKSPACE;
    if (why != REJECT_COUNT) build_reject(b, why);
    else keep(b, &x);
}

void build_tails(Builder *b) {
    int n = b->set->n;
    if (!rprog_static(b->p) || b->p->stats) return;
    b->limit = b->set->n + b->max / BESIDE;
    for (int i = 0; i < n; i++) with_tail(b, &b->set->prog[i]);
}
