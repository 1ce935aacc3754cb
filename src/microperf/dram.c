/* DRAM traffic behind L2.
 *
 * In the order of the grid a wave holds high x wide tiles: high = min(rows, max(group, resident /
 * columns)), wide = min(columns, resident / high), where group = 1 for row order, all rows for
 * column order, g for groups.  Let a and b be the bytes of one tile row of A and one tile column of
 * B over all of K (unique bytes, so overlapping windows of a convolution count once), and C the
 * capacity that L2 serves at full rate.
 *
 * - all operands <= C, or all tiles resident at once: every byte is read once;
 * - A is read once if high*a + wide*b <= C, else once for each of the ceil(columns / wide) waves of
 *   a sweep;
 * - B is read once if high*a + columns*b <= C, else once for each of the ceil(rows / high) sweeps.
 *
 * Where blocks go along the columns of their rows in turns, high is resident and wide 1, and what
 * does not stay is read again for each pass.
 *
 * An operand that is read with gaps (stride s elements) costs min(s, sector / element) times its
 * unique bytes.  Programs are ranked with the raster that reads the fewest bytes by this rule, of
 * row order, groups of 2, 4, 8, ... tile rows and column order: no other term depends on it.  Among
 * equals the one is taken whose waves touch the fewest bytes, high*a + wide*b (thread-block
 * swizzles of DeepGEMM and TileOPs minimise that alone).  */
#include "microperf/model.h"

/* Bytes that all blocks read, and those of the operands that one wave does, if tile rows are walked
 * in groups of so many.  */
typedef struct {
    double all, wave;
} Reads;

static Reads reads_by(const Model *m, const RProg *r, double group) {
    const Problem *p = m->p;
    double batch = greater((double)p->extent[AX_B], 1);
    double rows = (double)rprog_tiles(p, r, AX_M), columns = (double)rprog_tiles(p, r, AX_N);
    double resident = greater(m->sms * r->blocks_per_sm / r->split, 1);
    bool turns = r->stats == STATS_TURNS;
    double passes = turns ? rprog_stats_facts(p, r)->group->n_pass : 1;
    if (turns) group = resident;          /* a tile row each, along which they go together */
    if (m->total_unique <= m->l2_capacity || (!turns && resident >= rows * columns))
        return (Reads){m->total_unique, m->total_unique};

    /* Bytes of one tile row of a and one tile column of b, all of K.  */
    double row = m->unique[0] / batch / rows, column = m->unique[1] / batch / columns;
    double high = lesser(greater(group, resident / columns), rows);
    double wide = lesser(greater(resident / high, 1), columns);

    double sweeps = whole(rows / high);
    double waves = whole(columns / wide);
    Reads x = {0, high * row + wide * column};
    double a = m->unique[0], b = m->unique[1];
    bool all_columns_stay = high * row + columns * column <= m->l2_capacity;
    if (x.wave > m->l2_capacity) a *= waves * passes;
    if (!all_columns_stay) b *= sweeps * passes;
    x.all = a + b;
    return x;
}

double mp_dram_reads(const Model *m, const RProg *r) {
    return reads_by(m, r, (double)rprog_raster_rows(m->p, r)).all;
}

/* No other term depends on the order, and none gets less where DRAM has more to do.  */
void mp_choose_raster(const Model *m, RProg *r) {
    int64_t rows[RASTERS];
    Reads best = {0, 0};
    int n = rprog_rasters(m->p, m->dev, r, rows), taken = 0;
    for (int i = 0; i < n; i++) {
        Reads x = reads_by(m, r, (double)rows[i]);
        if (i > 0 && (x.all != best.all ? x.all > best.all : x.wave >= best.wave)) continue;
        best = x;
        taken = i;
    }
    rprog_set_raster(m->p, rows[taken], r);
}
