/* The `contract` skeleton: what it deals to blocks and threads, its workspace, its row.  */
#include "rprogram/contract.h"
#include "rprogram/matrix.h"

static bool takes(const Problem *p) { return !p->row && p->contraction; }

static int add_class(IndexMap *m, const Problem *p, const RProg *r, AxisClass c) {
    const FusedAxis *f = &p->con.axis[c];
    return index_add(m, (IndexAxis){f->index, f->n, p->extent[c], p->multiple[c],
                                    c == AX_M ? rprog_grid_rows(r) : r->block.extent[c]});
}

/* The order of tiles: groups of tile rows, each of which goes along all columns, rows first.  Where
 * blocks go along the columns there are none to deal out.  */
static void map(const Problem *p, const RProg *r, int64_t span, IndexMap *m) {
    (void)span;
    for (int c = AX_B; c <= AX_K; c++) add_class(m, p, r, (AxisClass)c);
    m->n_axis = AX_K;
    m->shared = rprog_cluster_side(r) ? AX_M : AX_N;
    m->together = rprog_together(r, m->shared);
    int64_t rows = rprog_raster_rows(p, r), tile = m->axis[AX_M].tile;
    int64_t tiles = rprog_row_tiles(p, r);
    index_deal_grid(m, (IndexDigit){AX_B, m->axis[AX_B].tile, 0});
    if (r->stats != STATS_TURNS && (rows < tiles || rows == 1))
        index_deal_grid(m, (IndexDigit){AX_M, rows * tile, 0});
    if (r->stats != STATS_TURNS) index_deal_grid(m, (IndexDigit){AX_N, m->axis[AX_N].tile, 0});
    if (rows > 1 || r->stats == STATS_TURNS)
        index_deal_grid(m, (IndexDigit){AX_M, tile, rows < tiles ? rows : 0});
}

static int64_t threads(const Device *dev, RProg *r) {
    int64_t n = WARP * rprog_team(dev, r);
    for (int axis = AX_M; axis <= AX_K; axis++) {
        int along = count_along(&r->block, &r->warp, axis);
        n *= along < 1024 ? along : 1024;
        if (n > INT16_MAX) n = INT16_MAX;
    }
    n *= rprog_in_turn(r);
    return n + rprog_filling(dev, r);
}

static int64_t workspace(const Problem *p, const RProg *r) {
    if (r->tail > 0) return ((int64_t)r->tail + r->tail_blocks - 1) * rprog_tail_slot(p, r);
    if (r->stats == STATS_PARTIAL) return rprog_stats_workspace(p, r);
    if (r->split <= 1) return 0;
    return r->split * p->extent[AX_B] * p->extent[AX_M] * p->extent[AX_N] * p->acc_bytes;
}

/* Column tiles leave parts of values of rows.  */
static RMeeting meeting(const Problem *p, const RProg *r) {
    return (RMeeting){.parts = rprog_tiles(p, r, AX_N), .vec = p->out_vec, .bytes = p->acc_bytes,
                      .step = 2};
}

enum {
    KEYS = 1 << KEY_BLOCK | 1 << KEY_WARP | 1 << KEY_THREAD | 1 << KEY_VEC | 1 << KEY_UNROLL |
           1 << KEY_STAGES | 1 << KEY_LOAD_A | 1 << KEY_LOAD_B | 1 << KEY_RASTER | 1 << KEY_SPLIT |
           1 << KEY_STATS
};

const SkeletonRow rprog_contract = {
    .keys = KEYS,
    .products = true,
    .clips = true,
    .takes = takes,
    .candidates = contract_candidates,
    .check = contract_check,
    .threads = threads,
    .derive = contract_derive_late,
    .registers = contract_registers,
    .computing = warpgroup_computing,
    .rooms = contract_rooms,
    .map = map,
    .workspace = workspace,
    .meeting = meeting,
};
