/* Grids whose blocks stay for several tiles, and results that leave them by boxes.  */
#include "rprogram/internal.h"
#include "rprogram/matrix.h"
#include "rtile/fragment.h"
#include "te/tree/arith.h"

double rprog_cluster_sms(const Device *dev, const RProg *r) {
    double sms = dev->limits.sm_count.value;
    int c = rprog_cluster(r);
    return c > 1 ? c * hal_curve(&dev->limits.clusters_resident, c) : sms;
}

/* Blocks of clusters are launched together.  */
int64_t rprog_slots(const Device *dev, const RProg *r) {
    int64_t together = rprog_cluster(r);
    double sms = dev->limits.sm_count.value, reached = rprog_cluster_sms(dev, r);
    int64_t slots = (int64_t)(reached < sms ? reached : sms) * r->blocks_per_sm;
    slots -= slots % together;
    return slots < together ? together : slots;
}

int64_t rprog_wanted(const Problem *p, const RProg *r) {
    int64_t whole = rprog_outer_tiles(p, r) - r->tail;
    if (!rprog_persistent(r)) return whole + r->tail_blocks;
    return whole > r->tail_blocks ? whole : r->tail_blocks;
}

int64_t rprog_launched(const Problem *p, const Device *dev, const RProg *r) {
    int64_t wanted = rprog_wanted(p, r), slots = rprog_slots(dev, r);
    return rprog_persistent(r) && wanted > slots ? slots : wanted;
}

int64_t rprog_block_with(int64_t tile, int64_t blocks, bool snake) {
    bool back = snake && tile / blocks % 2 > 0;
    return back ? blocks - 1 - tile % blocks : tile % blocks;
}

int64_t rprog_tile_behind(int64_t tile, int64_t blocks, bool snake) {
    int64_t round = (tile / blocks + 1) * blocks;
    return snake ? 2 * round - 1 - tile : tile + blocks;
}

/* Where the statement of the group is that is stored, the only one; false: there are several, or
 * values of rows.  */
static bool stored_access(const Problem *p, Access *x) {
    const KernelGroup *g = p->group;
    int i = p->stored_alone;
    if (i == NOT_ALONE) return false;
    const TeStmt *s = &p->te->stmt[i < 0 ? g->root : g->fused[i]];
    access_write(p->te, s, x);
    if (i >= 0) rtile_row_access(g->perm[i], s->n_left, x);
    return true;
}

bool rprog_out_box(const Problem *p, RBox *out, Access *x) {
    *out = (RBox){0};
    if (!p->te) return false;
    if (!stored_access(p, x) || !x->affine || access_guarded(p->te, x)) return false;
    if (p->te->tensor[x->tensor].n_clip > 0) return false;
    out->inner = AX_N;
    out->own = 1;
    if (!rprog_box_dims(p, x, AX_N, out) || !rprog_box_rows(p, x, out) ||
        !rprog_box_dims(p, x, AX_B, out))
        return false;
    return out->dim[0].n > 0 && out->dim[0].stride == 1 && rprog_box_aligned(p, x, out);
}

int rprog_box_mover(const Device *dev) {
    int best = -1;
    for (int i = 0; i < dev->n_mover; i++) {
        const Mover *m = &dev->mover[i];
        bool boxes = m->async && m->box_max > 0 && m->from == PLACE_SMEM && m->to == PLACE_GLOBAL;
        if (!boxes || (m->swizzles & BOX_SWIZZLES) != BOX_SWIZZLES) continue;
        if (best < 0 || m->rate.value > dev->mover[best].rate.value) best = i;
    }
    return best;
}

enum { BOX_LEAST = 32 };      /* bytes of a row: a sector */

/* What a warp has of a row of instructions: columns, and bytes.  */
static int columns_of(const RProg *r) {
    return r->warp.extent[AX_N] / (r->swapped ? RPROG_TEAM : 1);
}

static int row_bytes(const Problem *p, const RProg *r) {
    RBox box;
    Access x;
    if (rprog_reorders(r) || !rprog_out_box(p, &box, &x)) return 0;
    bool several = box.dim[1].axis == AX_M && box.dim[2].axis == AX_M && box.rank > 2;
    if (several && r->swapped) return 0;
    return columns_of(r) * te_dtype_bytes(p->te->tensor[x.tensor].dtype);
}

/* One box has all columns of the tensor: what it has beside them is not stored.  */
static int wide_row(const Problem *p, const RProg *r, int all) {
    bool whole = r->warp.extent[AX_N] >= p->extent[AX_N] && rprog_static_axis(p, AX_N);
    int row = BOX_LEAST;
    while (row < all) row *= 2;
    return whole && !r->swapped && all > 0 && row <= BOX_SPAN ? row : 0;
}

int rprog_box_row(const Problem *p, const RProg *r) {
    int all = row_bytes(p, r), wide = wide_row(p, r, all);
    if (wide > 0) return wide;
    for (int row = BOX_SPAN; row >= BOX_LEAST; row /= 2)
        if (all > 0 && all % row == 0) return row;
    return 0;
}

int rprog_box_count(const Problem *p, const RProg *r) {
    int row = rprog_box_row(p, r);
    return row > 0 ? (int)ceil_div(row_bytes(p, r), row) : 0;
}

int rprog_stats_run(const Problem *p, const Device *dev, const RProg *r) {
    if (r->via == VIA_SHARED) return r->store_vec;
    return rprog_stats_columns(dev, r) / (r->via == VIA_BOXES ? rprog_box_count(p, r) : 1);
}

bool rprog_stats_inverts(const Problem *p, const Device *dev, const RProg *r) {
    enum { RUN = 8 };         /* for fewer a reciprocal takes what it spares */
    return rprog_stats_run(p, dev, r) >= RUN;
}

int64_t rprog_box_bytes(const Problem *p, const Device *dev, const RProg *r) {
    if (!dev->unit[r->unit].b_smem) return 0;
    return rprog_box_row(p, r) * rprog_staging_rows(dev, r);
}

/* The first store of a row of instructions stands for all: columns further on, and rows further
 * down, move all lanes alike.  */
int64_t rprog_box_wavefronts(const Problem *p, const Device *dev, const RProg *r,
                             int64_t *loads) {
    Fragment f = rprog_results(dev, r);
    int row = rprog_box_row(p, r), elem = row_bytes(p, r) / columns_of(r);
    int32_t addr[WARP];
    int at[WARP][FRAG_DIMS];
    fragment_of_lanes(&f, 0, at);
    for (int lane = 0; lane < WARP; lane++) {
        int place = at[lane][FRAG_ROW] * row + at[lane][FRAG_COL] * elem;
        addr[lane] = place ^ ((place / BOX_SPAN) % (row / RTILE_ACCESS)) * RTILE_ACCESS;
    }
    *loads = (int64_t)row_bytes(p, r) * rprog_staging_rows(dev, r) / BOX_SPAN;
    return (int64_t)fragment_slots(&f, FRAG_DIMS) / r->vec_n *
           rtile_wavefronts(addr, UINT32_MAX, r->vec_n * elem);
}

static const char *check_boxes(const Problem *p, const Device *dev, const RProg *r) {
    if (r->via != VIA_BOXES) return NULL;
    if (rprog_box_mover(dev) < 0) return "no mover of the device stores boxes";
    if (rprog_box_row(p, r) == 0) return "the outputs are no boxes of memory";
    return r->store_vec == r->vec_n ? NULL : "boxes are filled as the lanes hold the results";
}

const char *grid_check(const Problem *p, const Device *dev, const RProg *r) {
    if (r->grid != GRID_TILES && r->grid != GRID_PERSISTENT && r->grid != GRID_PINGPONG)
        return "unknown grid";
    bool whole = r->split == 1 && !r->stats && r->tail == 0;
    if (r->stats == STATS_TURNS && dev->unit[r->unit].b_smem && !rprog_persistent(r))
        return "`rows turns` of a unit of warpgroups needs blocks that stay";
    if (!rprog_persistent(r)) {
        return whole || r->via != VIA_BOXES ? check_boxes(p, dev, r)
                                            : "a block with one tile stores boxes of whole results";
    }
    if (r->split != 1) return "blocks that stay for several tiles go with `split 1`";
    if (r->grid == GRID_PINGPONG && (r->block.extent[AX_M] != r->warp.extent[AX_M] ||
                                     r->block.extent[AX_N] != r->warp.extent[AX_N])) {
        return "in pingpong each warpgroup has a tile of its own";
    }
    if (r->tail_blocks > rprog_slots(dev, r)) return "a tail has more blocks than stay";
    double tiles = (double)(rprog_outer_tiles(p, r) * rprog_stats_turns(p, r));
    double steps = (double)rprog_tiles(p, r, AX_K);
    if (tiles * steps > INT32_MAX / 2) return "a block has too many k-steps to count";
    return check_boxes(p, dev, r);
}
