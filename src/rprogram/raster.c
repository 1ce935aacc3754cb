/* The order of a grid's tiles (rprog.h: raster): groups of tile rows, in each of which the rows are
 * walked first.  `row` has groups of one row, `column` one group of all.  */
#include "rprogram/index_map.h"
#include "rprogram/matrix.h"

const char *rprog_raster_check(const RProg *r) {
    if (r->raster != RASTER_ROW && r->raster != RASTER_COLUMN && r->raster != RASTER_GROUPED)
        return "unknown raster";
    if (r->raster == RASTER_GROUPED ? r->group < 1 : r->group != 0)
        return "the group size does not go with the raster";
    return NULL;
}

int64_t rprog_raster_rows(const Problem *p, const RProg *r) {
    return r->raster == RASTER_ROW ? 1
           : r->raster == RASTER_COLUMN ? rprog_tiles(p, r, AX_M) : r->group;
}

void rprog_set_raster(const Problem *p, int64_t rows, RProg *r) {
    r->raster = rows == 1                          ? RASTER_ROW
                : rows >= rprog_tiles(p, r, AX_M) ? RASTER_COLUMN
                                                   : RASTER_GROUPED;
    r->group = r->raster == RASTER_GROUPED ? (int16_t)rows : 0;
}

void rprog_set_batches(int64_t batches, RProg *r) {
    r->raster = batches > 1 ? RASTER_GROUPED : RASTER_ROW;
    r->group = batches > 1 ? (int16_t)(batches < INT16_MAX ? batches : INT16_MAX) : 0;
}

int rprog_cluster_side(const RProg *r) { return r->raster != RASTER_ROW; }

bool rprog_cluster_fits(const Problem *p, const Device *dev, const RProg *r) {
    int side = rprog_cluster_side(r), c = rprog_cluster(r);
    bool halves = r->load[side].along == AX_K || !warpgroup_shares_lines(r, side);
    if (rprog_unit_blocks(dev, r) > 1 && !(halves && rprog_apart(dev, r, side))) return false;
    if (r->raster == RASTER_GROUPED && r->group % c) return false;
    int axis = side ? AX_M : AX_N;
    RProg together = *r;
    together.block.extent[axis] *= c;
    if (c > 1 && !rprog_static_axis(p, axis) && rprog_ragged(p, &together, axis)) return false;
    return warpgroup_shares(r, side) && rprog_tiles(p, r, axis) % c == 0;
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
