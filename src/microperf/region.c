/* What an operand costs that a block loads as a region.
 *
 *   region: lines of row elements; row = up to the next access: shift + (all values of the
 *       subscript along it) * unit, shift: elements before the first one needed
 *   tile, worth it: BM * K >= 2 * lines * row, and the operand's accesses would be below 16 bytes,
 *       or ldmatrix reads it: where 16 bytes along k lie side by side (lines are of one pixel then,
 *       an odd number of 16 bytes apart)
 *       one that goes on in the next image has between the two as many rows as K reaches beyond a
 *       step
 *   shared memory: region + zeros (as many as the rows' places differ, if K is no multiple of BK: k
 *       beyond K point there) + 4 bytes per k
 *   reads of a slice, matrix units: per register of per elements per / pair reads; + 1 of the table
 *       for each 4 * per k; pair: neighbours along k that are neighbours in memory from multiples
 *       of them on; by ldmatrix: its own, + 1 of the table
 *   reads of a k, other units: one per row of the thread, + 1 of the table
 *   also issued: an addition per place of a row and of k (rows at constant distances: one for all
 *       of them), per / pair - 1 to join elements
 *   loads: requests * 16 + entries of the table / 32 * 24 instructions, sectors of the lines; once
 *       per block: a share of each step, and all of it in FILL
 *   by registers: the reads' wavefronts in L1, too; in FILL the instructions, and a latency of DRAM
 *       for every 8 requests of a warp, which are under way at once
 *   of accesses that begin anywhere: 2 reads, requests * 87 instructions
 *   of chunks that are turned: lanes load V neighbours for each element of a chunk, which are under
 *       way at once, and store V chunks; loads * 9 + stores * 14 instructions
 *   wavefronts: of the addresses of a warp's first eight rows (rtile_wavefronts), for every k; by
 *       ldmatrix: of all rows of the block, at one k
 *   registers: 8 + places of rows  */
#include "microperf/matrix.h"
#include "microperf/sectors.h"
#include "microperf/step.h"

/* Rows of images of tiles that go on in the next one: results of a row, of a tile; the subscript's
 * first value, and how many it may take.  */
typedef struct {
    int64_t in, tile, from, shape;
} Rows;

/* Which share of their rows the images have.  */
static double rows_inside(const RRegion *x, int64_t tiles, Rows of) {
    int64_t inside = 0, all = 0;
    for (int64_t t = 0; t < tiles; t++) {
        int64_t above = t * of.tile / of.in % x->out * x->by;
        for (int64_t i = 0; i < x->extent[x->rows]; i++, all++) {
            int64_t at = of.from + (above + i) % x->period;
            inside += at >= 0 && at < of.shape;
        }
    }
    return all > 0 ? (double)inside / (double)all : 1;
}

/* Values that digits before the two innermost add to a subscript: of all tiles, one behind the
 * other.  */
static int64_t tiles_before(const FusedAxis *own, const Affine *f, int64_t number, int64_t *add) {
    enum { INNERMOST = 2 };
    int64_t n = 1;
    *add = 0;
    for (int i = own->n_digit - INNERMOST - 1; i >= 0; i--) {
        const AxisDigit *g = &own->digit[i];
        int64_t step = f->coef[own->index[g->first + g->n - 1]];
        if (step == 0) continue;
        *add += number / n % g->extent * step;
        n *= g->extent;
    }
    return n;
}

/* Which share of the values that subscript d takes in a tile lies inside of the tensor: the mean of
 * all tiles.  */
static double share_inside(const Problem *p, int side, int32_t tile, const RRegion *x, int d) {
    const Operand *o = &p->con.operand[side];
    const FusedAxis *own = &p->con.axis[mp_own_axis(side)];
    const Affine *f = &o->access.sub[d];
    int64_t shape = p->te->tensor[o->access.tensor].shape[d].value, step[2] = {0, 0};
    int64_t count[2] = {1, 1};
    for (int i = 0; i < 2 && i < own->n_digit; i++) {
        const AxisDigit *g = &own->digit[own->n_digit - 1 - i];
        step[i] = f->coef[own->index[g->first + g->n - 1]];
        count[i] = g->extent;
    }
    double inside = 0;
    int64_t add, each = (count[0] * count[1] + tile - 1) / tile;
    int64_t tiles = x->tested >> d & 1 ? each * tiles_before(own, f, 0, &add) : each;
    if (x->period > 0 && d == x->rows)
        return rows_inside(x, own->extent / tile, (Rows){count[0], tile, f->c, shape});
    for (int64_t t = 0; t < tiles; t++) {
        int64_t in = x->whole ? 0 : t * tile % count[0], out = t * tile / count[0] % count[1];
        tiles_before(own, f, t / each, &add);
        int64_t from = f->c + in * step[0] + out * step[1] + add, to = from + x->extent[d];
        if (from < 0) from = 0;
        if (to > shape) to = shape;
        inside += to > from ? (double)(to - from) : 0;
    }
    return inside / (double)(tiles * x->extent[d]);
}

/* Instructions of what threads make chunks of, counted in compiled kernels: of an access that is
 * joined of two; of a load and of a store of chunks that are turned, with their share of what both
 * begin with.  */
enum { JOIN_ISSUE = 87, TURN_LOAD = 9, TURN_STORE = 14 };

RegionMade mp_region_made(const RRegion *x, int bytes) {
    RegionMade made = {.requests = whole((double)rtile_region_pieces(x) / WARP)};
    double each = (double)(x->vec * bytes * WARP) / MP_WAVEFRONT;
    made.stores = made.requests;
    if (x->turned) {
        made.rounds = made.requests;
        made.stores = made.requests * x->turned;
        made.requests *= x->vec;
        each = (double)(x->turned * bytes * WARP) / MP_WAVEFRONT;
        made.issue = made.requests * TURN_LOAD + made.stores * TURN_STORE;
    } else {
        made.rounds = made.requests / MP_AT_ONCE;
        made.issue = x->anywhere ? made.requests * JOIN_ISSUE : 0;
    }
    made.passes = made.requests * (1 + x->anywhere) * greater(each, 1);
    return made;
}

double mp_region_sectors(const Problem *p, const RProg *r, int side, const RRegion *x) {
    int32_t tile = r->block.extent[mp_own_axis(side)] / x->parts;
    double bytes = p->op[side].bytes, lines = x->parts;
    for (int d = 0; d <= x->along || d <= x->line; d++) {
        if (d == x->along) continue;
        lines *= x->extent[d] * share_inside(p, side, tile, x, d);
    }
    double inside = share_inside(p, side, tile, x, x->along);
    double line = inside * x->extent[x->along] * (double)x->stride * bytes;
    double access = (x->anywhere ? 1 : x->turned ? x->turned : x->vec) * bytes;
    int64_t bound = x->bound;
    if (x->turned) bound = p->te->tensor[p->con.operand[side].access.tensor].shape[x->along].value;
    bool whole = line + 0.5 > (double)bound * bytes && bound * (int64_t)bytes % SECTOR == 0;
    return lines * (line / SECTOR + (whole ? 0 : 1 - lesser(access, SECTOR) / SECTOR));
}
