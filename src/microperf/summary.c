#include "microperf/views.h"

/* What the copies are made with: the mover of each operand that is there, once if they agree.  */
static void print_movers(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    const RLoad *l = r->load;
    int n = 0;
    bool same = p->op[0].present && p->op[1].present && l[0].mover == l[1].mover &&
                l[0].region == l[1].region;
    for (int side = 0; side < 2 - same; side++) {
        if (!p->op[side].present) continue;
        buf_printf(out, "%s%s%s", n++ ? " + " : " ", dev->mover[l[side].mover].name,
                   l[side].region ? " of the region" : "");
    }
}

static void print_row(const RProg *r, Buf *out) {
    static const char *const place[KEEP_COUNT] = {"in registers", "in shared memory",
                                                  "read by each pass",
                                                  "read by each pass, statistics in one",
                                                  "in shared memory as they lie"};
    int rows = r->block.extent[AX_M];
    int threads = rprog_row_threads(r);
    buf_printf(out, "row, %d thread%s per row, %d row%s per block, %d columns per thread, "
               "%d at once, rows %s", threads, threads == 1 ? "" : "s", rows, rows == 1 ? "" : "s",
               (int)r->thread.extent[AX_N], r->store_vec, place[r->keep]);
    if (r->split > 1) buf_printf(out, ", split by %d", (int)r->split);
}

void mp_summary(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    if (r->skeleton == SK_STREAM) {
        buf_printf(out, "stream, %d threads, %d elements per thread, %d at once", r->threads,
                   (int)r->thread.extent[AX_M], r->store_vec);
        return;
    }
    if (r->skeleton == SK_SCAN) {
        mp_scan_summary(p, r, out);
        return;
    }
    if (r->skeleton == SK_PERMUTE) {
        mp_permute_summary(p, r, out);
        return;
    }
    if (r->skeleton == SK_COLUMN || r->skeleton == SK_WINDOW) {
        mp_view_summary(p, r, out);
        return;
    }
    if (r->skeleton == SK_ROW) {
        print_row(r, out);
        return;
    }
    bool matrix = rprog_matrix(dev, r);
    const char *by = !matrix ? "thread" : rprog_warpgroups(dev, r) ? "warpgroup" : "warp";
    const RTile *own = matrix ? &r->warp : &r->thread;
    buf_printf(out, "%dx%dx%d, %dx%d per %s, %d threads, %d stage%s", (int)r->block.extent[AX_M],
               (int)r->block.extent[AX_N], (int)r->block.extent[AX_K], (int)own->extent[AX_M],
               (int)own->extent[AX_N], by, r->threads, r->stages,
               r->stages == 1 ? "" : "s");
    print_movers(p, dev, r, out);
    buf_printf(out, ", %s%s", dev->unit[r->unit].name, r->swapped ? " swapped" : "");
    int slices = r->block.extent[AX_K] / r->warp.extent[AX_K];
    if (slices > 1) buf_printf(out, ", %d warps along k", slices);
    if (r->split > 1) buf_printf(out, ", k split by %d", (int)r->split);
    if (r->tail > 0)
        buf_printf(out, ", last %d tiles by %d blocks", (int)r->tail, (int)r->tail_blocks);
    if (r->grid != GRID_TILES)
        buf_puts(out, r->grid == GRID_PINGPONG ? ", pingpong" : ", persistent");
    if (r->cluster > 1) buf_printf(out, ", clusters of %d", r->cluster);
    if (r->group > 0) buf_printf(out, ", groups of %d tile rows", r->group);
}
