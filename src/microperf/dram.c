/* DRAM traffic behind L2.
 *
 * Blocks are resident in waves, in the order of the raster.  What one wave reads twice comes from
 * L2; what successive waves share does too, as long as it is still among the last bytes that L2
 * holds at full rate.  Each operand is read again as often as its rows leave L2 between uses.  */
#include "microperf/model.h"

double mp_dram_reads(const Model *m, const RProg *r) {
    const Problem *p = m->p;
    double batch = greater((double)p->extent[AX_B], 1);
    double rows = (double)rprog_tiles(p, r, AX_M), columns = (double)rprog_tiles(p, r, AX_N);
    double resident = greater(m->sms * r->blocks_per_sm / r->split, 1);
    if (m->total_unique <= m->l2_capacity || resident >= rows * columns) return m->total_unique;

    /* Bytes of one tile row of a and one tile column of b, all of K.  */
    double row = m->unique[0] / batch / rows, column = m->unique[1] / batch / columns;
    double group = r->raster == RASTER_ROW ? 1 : r->raster == RASTER_COLUMN ? rows : r->group;
    double high = lesser(greater(group, resident / columns), rows);
    double wide = lesser(greater(resident / high, 1), columns);

    double sweeps = whole(rows / high);
    double waves = whole(columns / wide);
    double a = m->unique[0], b = m->unique[1];
    bool row_stays = high * row + wide * column <= m->l2_capacity;
    bool all_columns_stay = high * row + columns * column <= m->l2_capacity;
    if (!row_stays) a *= waves;
    if (!all_columns_stay) b *= sweeps;
    return a + b;
}
