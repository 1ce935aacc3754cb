/* A grid's tiles: how many there are, and their order (rprog.h: raster), groups of tile rows, in
 * each of which the rows are walked first.  `row` has groups of one row, `column` one of all.  */
#include "rprogram/index_map.h"
#include "rprogram/matrix.h"

const char *rprog_raster_check(const RProg *r) {
    if (r->raster != RASTER_ROW && r->raster != RASTER_COLUMN && r->raster != RASTER_GROUPED)
        return "unknown raster";
    if (r->raster == RASTER_GROUPED ? r->group < 1 : r->group != 0)
        return "the group size does not go with the raster";
    if (r->stats == STATS_TURNS && r->raster != RASTER_COLUMN)
        return "`rows turns` has tiles of rows alone, in order (raster `column`)";
    return NULL;
}

int64_t rprog_raster_rows(const Problem *p, const RProg *r) {
    return r->raster == RASTER_ROW ? 1
           : r->raster == RASTER_COLUMN ? rprog_tiles(p, r, AX_M) : r->group;
}

void rprog_set_raster(const Problem *p, int64_t rows, RProg *r) {
    r->raster = r->stats == STATS_TURNS           ? RASTER_COLUMN
                : rows == 1                       ? RASTER_ROW
                : rows >= rprog_tiles(p, r, AX_M) ? RASTER_COLUMN
                                                   : RASTER_GROUPED;
    r->group = r->raster == RASTER_GROUPED ? (int16_t)rows : 0;
}

void rprog_only_rows(RProg *r) {
    r->raster = RASTER_COLUMN;
    r->group = 0;
}

void rprog_set_batches(int64_t batches, RProg *r) {
    r->raster = batches > 1 ? RASTER_GROUPED : RASTER_ROW;
    r->group = batches > 1 ? (int16_t)(batches < INT16_MAX ? batches : INT16_MAX) : 0;
}

int rprog_cluster_side(const RProg *r) { return r->raster != RASTER_ROW; }

static int cluster_axis(const RProg *r) { return rprog_cluster_side(r) ? AX_M : AX_N; }

int rprog_together(const RProg *r, int axis) {
    bool along = r->skeleton == SK_CONTRACT && axis == cluster_axis(r);
    return along ? rprog_cluster(r) : 1;
}

int64_t rprog_tiles(const Problem *p, const RProg *r, int axis) {
    int64_t together = rprog_together(r, axis);
    int64_t n = ceil_div(p->extent[axis], r->block.extent[axis] * together);
    return (n > 0 || axis == AX_K ? n : 1) * together;
}

int32_t rprog_grid_rows(const RProg *r) {
    return r->block.extent[AX_M] * (r->stats == STATS_TURNS ? rprog_in_turn(r) : 1);
}

int64_t rprog_row_tiles(const Problem *p, const RProg *r) {
    int64_t together = rprog_together(r, AX_M);
    return ceil_div(p->extent[AX_M], rprog_grid_rows(r) * together) * together;
}

int64_t rprog_outer_tiles(const Problem *p, const RProg *r) {
    int64_t batches = rprog_tiles(p, r, AX_B);
    if (r->stats == STATS_TURNS) return batches * rprog_row_tiles(p, r);
    return batches * rprog_tiles(p, r, AX_M) * rprog_tiles(p, r, AX_N);
}

/* Have all blocks of clusters a tile?  At some run-time sizes those of products may have none.  */
static bool fills_clusters(const Problem *p, const RProg *r) {
    int axis = cluster_axis(r), c = rprog_cluster(r);
    int64_t tile = axis == AX_M ? rprog_grid_rows(r) : r->block.extent[axis];
    RProg together = *r;
    together.block.extent[axis] *= c;
    if (rprog_static_axis(p, axis)) return ceil_div(p->extent[axis], tile) % c == 0;
    return r->skeleton == SK_CONTRACT || !rprog_ragged(p, &together, axis);
}

bool rprog_cluster_fits(const Problem *p, const Device *dev, const RProg *r) {
    int side = rprog_cluster_side(r), c = rprog_cluster(r);
    bool halves = r->load[side].along == AX_K || !warpgroup_shares_lines(r, side);
    if (rprog_unit_blocks(dev, r) > 1 && !(halves && rprog_apart(dev, r, side))) return false;
    if (r->raster == RASTER_GROUPED && r->group % c) return false;
    return warpgroup_shares(r, side) && (c == 1 || fills_clusters(p, r));
}

bool rprog_cluster_order(const Problem *p, const Device *dev, RProg *r) {
    rprog_set_raster(p, rprog_tiles(p, r, AX_M), r);
    if (!rprog_cluster_fits(p, dev, r)) rprog_set_raster(p, 1, r);
    return rprog_cluster_fits(p, dev, r);
}

int rprog_rasters(const Problem *p, const Device *dev, const RProg *r, int64_t rows[RASTERS]) {
    int64_t all = rprog_tiles(p, r, AX_M);
    int n = 0;
    if (rprog_tiles(p, r, AX_N) == 1) all = 1;
    for (int64_t g = 1; n < RASTERS && g < 2 * all; g *= 2) {
        RProg x = *r;
        rprog_set_raster(p, g, &x);
        if (rprog_cluster(r) == 1 || rprog_cluster_fits(p, dev, &x)) rows[n++] = g;
    }
    if (n == 0) rows[n++] = rprog_raster_rows(p, r);
    return n;
}
