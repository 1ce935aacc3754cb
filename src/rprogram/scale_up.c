/* Scale-up: from the compute unit's tile outwards, register tile, warp, block, k-step.
 *
 * At each level the axis with the best reuse score S grows first.  An axis whose S comes near the
 * best is followed too, so that what is met on the way is a band around the best path and not a
 * single line; every legal program in the band is kept.  */
#include "rprogram/build.h"
#include "rprogram/matrix.h"

#include <math.h>
#include <string.h>

enum { COUNTS = 12, WARPS_MAX = 16, STEPS = 8 };         /* as many as the lists below have */

#define BAND 0.25             /* share of the best S that is still followed */
#define LANE_BAND 1.4         /* traffic of a lane grid, relative to the best */
#define LANE_BAND_NARROW 1.1

/* Tiles in registers and warps per block: not only powers of two.  */
static const int32_t counts[COUNTS] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};

/* One lattice of tile sizes: both axes, and which points were visited.  */
typedef struct {
    int32_t size[2][COUNTS];
    int n[2];
    bool seen[COUNTS][COUNTS];
    uint8_t queue[COUNTS * COUNTS][2];
    int head, tail;
} Walk;

static void visit(Walk *w, int i, int j) {
    if (i >= w->n[0] || j >= w->n[1] || w->seen[i][j]) return;
    w->seen[i][j] = true;
    w->queue[w->tail][0] = (uint8_t)i;
    w->queue[w->tail++][1] = (uint8_t)j;
}

/* Goes on from point (i, j) along the axis with the best S and, within the band, the other one.
 * `t` is the tile at the point; its extents along M and N are the walk's sizes times unit[].  */
static void advance(const Builder *b, Walk *w, int i, int j, const RTile *t,
                    const int32_t unit[2]) {
    double s[2] = {-1, -1};
    int at[2] = {i, j};
    for (int side = 0; side < 2; side++) {
        if (at[side] + 1 >= w->n[side]) continue;
        RTile next = *t;
        next.extent[own_axis(side)] = w->size[side][at[side] + 1] * unit[side];
        s[side] = rtile_reuse(b->p, t, &next);
    }
    double best = s[0] > s[1] ? s[0] : s[1];
    if (s[0] >= 0 && (s[0] >= best * BAND)) visit(w, i + 1, j);
    if (s[1] >= 0 && (s[1] >= best * BAND)) visit(w, i, j + 1);
}

/* Extent of an axis to measure padding by: of matrix units in whole unit tiles, for what
 * their shape wastes no block can avoid.  */
static int64_t padded_by(const Builder *b, const RProg *r, int axis) {
    int64_t n = b->p->extent[axis], unit = r->thread.extent[axis];
    return rprog_matrix(b->dev, r) ? (n + unit - 1) / unit * unit : n;
}

bool build_fits_axis(const Builder *b, const RProg *r, int axis, int32_t tile) {
    int64_t n = padded_by(b, r, axis);
    for (int i = 0; i < COUNTS; i++) {
        if (rtile_waste(n, tile * counts[i]) <= b->epsilon) return true;
    }
    return false;
}

/* Elements that stand for one word in the choice of steps: what is as long as a word, for matrix
 * units, which read whole rows of 16 bytes, two.  */
static int step_words(const Builder *b, const RProg *r) {
    if (!rprog_matrix(b->dev, r)) return rprog_packed(b->dev, r) ? RPROG_PACKED : 1;
    int elem = rprog_elem(b->p, b->dev, r, 0);
    return elem < 8 ? 8 / elem : 1;
}

/* k-steps: for 4, 8, 16, 32 words of every warp's share the aligned size nearby with the least
 * padding of K, and K itself if it is small.  Along k a step fills whole sectors (TRANSACTION)
 * where K does; beyond a line of 32 words per row there is nothing left to gain.  */
static int choose_steps(const Builder *b, const RProg *r, int slices, int32_t out[STEPS]) {
    const Problem *p = b->p;
    int64_t k = p->extent[AX_K] > 0 ? p->extent[AX_K] : 1;
    int sector = (int)b->dev->memory[LEVEL_L2].transaction.value, n = 0;
    int word = slices * step_words(b, r), most = 40 * word;
    int unit = r->thread.extent[AX_K] * slices, least = 4 * word;
    for (int side = 0; side < p->n_operand; side++) {
        const RLoad *l = &r->load[side];
        if (l->along != AX_K) continue;
        if (l->vec > unit && k >= l->vec) unit = l->vec;
        int fill = sector / p->op[side].bytes;
        if (l->vec * p->op[side].bytes >= 4 && fill > least) least = fill;
    }
    for (int32_t target = 4 * word; target <= 32 * word; target *= 2) {
        int32_t best = 0;
        double waste = INFINITY;
        int32_t from = target * 5 / 8 < least ? least - 1 : target * 5 / 8;
        for (int32_t s = target * 5 / 4 / unit * unit; s > from; s -= unit) {
            double w = rtile_waste(k, s);
            if (w >= waste) continue;
            best = s;
            waste = w;
        }
        if (best && (best <= k || n == 0) && (n == 0 || out[n - 1] != best)) out[n++] = best;
    }
    int32_t whole = (int32_t)(k < most ? (k + unit - 1) / unit * unit : 0);
    bool known = whole == 0;
    for (int i = 0; i < n; i++) known |= out[i] == whole;
    if (!known) out[n++] = whole;
    return n;
}

/* The largest unrolled body of moderate length.  */
static int16_t choose_unroll(const Builder *b, const RProg *r) {
    if (rprog_matrix(b->dev, r)) return (int16_t)r->warp.extent[AX_K];
    enum { BODY = 512, DEEP = 16 };       /* multiply-adds: some 8 KB of the instruction cache; k */
    int k = r->warp.extent[AX_K], tk = r->thread.extent[AX_K], best = tk;
    int area = r->thread.extent[AX_M] * r->thread.extent[AX_N];
    int deep = DEEP;
    if (rprog_packed(b->dev, r)) {
        area = (area + 3) / 4;
        deep = 4 * DEEP;
    }
    for (int u = tk; u <= k && u <= deep && u * area <= BODY; u += tk) {
        if (k % u == 0) best = u;
    }
    return (int16_t)best;
}

/* A block tile with its k-step: loads, layouts, then the grid.  Steps that convert more words in
 * their fragments than CONVERTED_MAX gain little over shorter ones, and take long to compile.  */
static void with_step(Builder *b, RProg r, int32_t step, int slices) {
    enum { CONVERTED_MAX = 64 };
    if (step % slices || step / slices % r.thread.extent[AX_K]) return;
    r.block.extent[AX_K] = step;
    r.warp.extent[AX_K] = step / slices;
    r.unroll = choose_unroll(b, &r);
    if (rprog_matrix(b->dev, &r) &&
        (matrix_check(b->p, b->dev, &r) || matrix_converted(&r) > CONVERTED_MAX)) {
        build_reject(b, REJECT_UNROLL);
        return;
    }
    for (int side = 0; side < b->p->n_operand; side++) {
        if (!build_fit_load(b, &r, side)) {
            b->set->enumerated++;
            return;
        }
    }
    build_scale_out(b, &r);
}

/* Warps that share the outputs of a block and split its k-steps: only where the tiles alone do not
 * give the SMs enough warps.  */
static void with_block(Builder *b, const RProg *r) {
    enum { WARPS_WANTED = 8 };            /* per SM, two for each scheduler */
    int warps = count_along(&r->block, &r->warp, AX_M) * count_along(&r->block, &r->warp, AX_N);
    double resident = (double)(rprog_outer_tiles(b->p, r) * warps) / b->sms;
    for (int slices = 1; slices <= 8 && slices * warps <= WARPS_MAX; slices *= 2) {
        int32_t step[STEPS];
        if (slices > 1 && (b->p->stats || resident * slices / 2 >= WARPS_WANTED)) break;
        int n = choose_steps(b, r, slices, step);
        for (int i = 0; i < n; i++) with_step(b, *r, step[i], slices);
    }
}

void build_blocks(Builder *b, const RProg *start) {
    Walk w = {0};
    int32_t unit[2];
    for (int side = 0; side < 2; side++) {
        int axis = own_axis(side);
        unit[side] = start->warp.extent[axis];
        for (int i = 0; i < COUNTS; i++) {
            int32_t tile = counts[i] * unit[side];
            if (rtile_broken(padded_by(b, start, axis), tile, unit[side], 1, b->epsilon) ==
                RTILE_RULE_COUNT) {
                w.size[side][w.n[side]++] = counts[i];
            }
        }
    }
    visit(&w, 0, 0);
    while (w.head < w.tail && !b->full) {
        int i = w.queue[w.head][0], j = w.queue[w.head++][1];
        RProg r = *start;
        int32_t warps_m = w.size[0][i], warps_n = w.size[1][j];
        if (warps_m * warps_n > WARPS_MAX) {
            build_reject(b, REJECT_THREADS);
            continue;
        }
        r.block.extent[AX_M] = warps_m * unit[0];
        r.block.extent[AX_N] = warps_n * unit[1];
        with_block(b, &r);
        advance(b, &w, i, j, &r.block, unit);
    }
}

/* Shapes of the lane grid: the ones whose warps read little from shared memory.  */
static void lane_level(Builder *b, const RProg *start) {
    enum { BITS = 5, SHAPES = BITS + 1 }; /* of a lane's number, dealt to m and n */
    double traffic[SHAPES], best = INFINITY;
    double worse = b->strict ? LANE_BAND_NARROW : LANE_BAND;
    for (int i = 0; i < SHAPES; i++) {
        int32_t m = start->thread.extent[AX_M] << i, n = start->thread.extent[AX_N] << (BITS - i);
        bool fits = build_fits_axis(b, start, AX_M, m) && build_fits_axis(b, start, AX_N, n);
        traffic[i] = fits ? 1.0 / m + 1.0 / n : INFINITY;
        if (!fits) build_reject(b, REJECT_ALIGNMENT);
        if (traffic[i] < best) best = traffic[i];
    }
    for (int i = 0; i < SHAPES; i++) {
        if (isinf(traffic[i])) continue;
        if (traffic[i] > best * worse) {
            build_reject(b, REJECT_DOMINATED);
            continue;
        }
        RProg r = *start;
        r.warp.extent[AX_M] = start->thread.extent[AX_M] << i;
        r.warp.extent[AX_N] = start->thread.extent[AX_N] << (BITS - i);
        build_blocks(b, &r);
    }
}

static uint8_t fragment_vec(const Problem *p, const Device *dev, const RProg *r, int side) {
    int n = lowest_bit(r->thread.extent[own_axis(side)]);
    bool own_inner = r->load[side].layout.inner == own_axis(side);
    int most = own_inner ? RTILE_ACCESS / rprog_elem(p, dev, r, side) : side ? p->out_vec : 1;
    if (most > 4 && !own_inner) most = 4;
    return (uint8_t)(n < most ? n : most);
}

/* Outputs of a register tile too few to matter: much larger ones (eight times; less where there are
 * too many programs) exist and still give every SM work.  */
static bool too_small(const Builder *b, const Walk *w, int64_t area) {
    enum { THREADS_PER_SM = 512, LARGER = 8, LARGER_STRICT = 2 };    /* four warps a scheduler */
    int64_t larger = area * (b->strict ? LARGER_STRICT : LARGER);
    int words = hal_words(b->p->acc_bytes);
    int64_t hold = (int64_t)b->dev->limits.registers_per_thread.value / (2 * words);
    int64_t most = (int64_t)w->size[0][w->n[0] - 1] * w->size[1][w->n[1] - 1];
    if (b->thorough || larger > (most < hold ? most : hold)) return false;
    return (double)(larger * THREADS_PER_SM) * b->sms <= b->parallel;
}

/* The register tile with the ways to read fragments along k: as many k at once as 16 bytes hold,
 * and half of that where fragments would take the registers of a second block.  */
static void thread_level(Builder *b, const RProg *start) {
    bool k_inner = false, packed = rprog_packed(b->dev, start);
    int elem = 1;
    for (int side = 0; side < b->p->n_operand; side++) {
        if (start->load[side].layout.inner != AX_K) continue;
        int e = rprog_elem(b->p, b->dev, start, side);
        k_inner = true;
        if (e > elem) elem = e;
    }
    int most = k_inner ? RTILE_ACCESS / elem : 1, least = packed ? RPROG_PACKED : 1;
    enum { WORDS = 4, HALF = 96 };        /* of a fragment; what two blocks leave each */
    int64_t tm = start->thread.extent[AX_M], tn = start->thread.extent[AX_N];
    bool tight = tm * tn * hal_words(b->p->acc_bytes) + (tm + tn) * WORDS > HALF;
    for (int tk = most; tk >= least && tk >= (b->thorough ? 1 : tight || packed ? most / 2 : most);
         tk /= 2) {
        RProg r = *start;
        r.thread.extent[AX_K] = tk;
        r.vec_m = fragment_vec(b->p, b->dev, &r, 0);
        r.vec_n = fragment_vec(b->p, b->dev, &r, 1);
        r.store_vec = (uint8_t)(r.vec_n < b->p->out_vec ? r.vec_n : b->p->out_vec);
        lane_level(b, &r);
    }
}

/* Register tiles of one axis: UNIT wants whole vectors for fragments that lie along the axis,
 * PADDING that some block made of them divides the tensor well.  */
static int thread_sizes(const Builder *b, const RProg *start, int side, int32_t out[COUNTS]) {
    int axis = own_axis(side), n = 0;
    bool own_inner = start->load[side].layout.inner == axis;
    for (int i = 0; i < COUNTS; i++) {
        int32_t size = counts[i];
        bool fits = false;
        for (int lanes = 1; lanes <= WARP && !fits; lanes *= 2) {
            fits = build_fits_axis(b, start, axis, size * lanes);
        }
        if ((own_inner && size > 2 && size % 2) || !fits) {
            build_reject(b, REJECT_ALIGNMENT);
            continue;
        }
        out[n++] = size;
    }
    return n;
}

/* The register tile at a point of the walk.  */
static RProg at_point(const Walk *w, int point, const RProg *start) {
    RProg r = *start;
    r.thread.extent[AX_M] = w->size[0][w->queue[point][0]];
    r.thread.extent[AX_N] = w->size[1][w->queue[point][1]];
    return r;
}

/* Walks first, then builds in the order that build_occupies says.  */
void build_scale_up(Builder *b, const RProg *start) {
    static const int32_t one[2] = {1, 1};
    enum { TRANSPOSED_LEAST = 32, OTHERS = 24 };          /* outputs; registers beside the sums */
    Walk w = {0};
    int words = hal_words(b->p->acc_bytes);
    int limit = (int)b->dev->limits.registers_per_thread.value - OTHERS;
    bool skip[COUNTS * COUNTS] = {false};
    for (int side = 0; side < 2; side++) w.n[side] = thread_sizes(b, start, side, w.size[side]);
    /* Chunks transposed on the way to shared memory save registers; small tiles have them to
     * spare.  */
    bool transposed = start->load[0].along != start->load[0].layout.inner ||
                      start->load[1].along != start->load[1].layout.inner;
    b->full = b->full && !b->strict;
    visit(&w, 0, 0);
    for (; w.head < w.tail; w.head++) {
        RProg r = at_point(&w, w.head, start);
        int64_t tm = r.thread.extent[AX_M], tn = r.thread.extent[AX_N];
        bool too_large = tm * tn * words + tm + tn > limit;
        bool needless = transposed && tm * tn < TRANSPOSED_LEAST && !b->thorough;
        skip[w.head] = too_large || needless || too_small(b, &w, tm * tn);
        if (skip[w.head]) build_reject(b, too_large ? REJECT_REGISTERS : REJECT_DOMINATED);
        if (!too_large) {
            advance(b, &w, w.queue[w.head][0], w.queue[w.head][1], &r.thread, one);
        }
    }
    for (int i = 0; i < 2 * w.tail && !b->full; i++) {
        int point = i < w.tail ? w.tail - 1 - i : i - w.tail;
        RProg r = at_point(&w, point, start);
        int64_t area = (int64_t)r.thread.extent[AX_M] * r.thread.extent[AX_N] * WARP;
        if (!skip[point] && build_occupies(b, area) == (i < w.tail)) thread_level(b, &r);
    }
}
