/* What a program costs to compile: sums of what its text unrolls, fitted to measured times of NVRTC
 * 13.0.  docs/compile-time.md has the fit and how far single kernels are from it.  */
#include "microperf/compile_cost.h"
#include "microperf/compile_rows.h"
#include "microperf/matrix.h"

/* Of the loads of a stage by a thread: copies, those of them whose addresses are decoded or tested,
 * and those that are or are shorter than others.  What passes through registers, as often as it is
 * printed: accesses, those whose addresses are decoded or tested, those whose places in the tile do
 * not come again from one to the next, and elements that are converted.  */
typedef struct {
    double copies, decoded, narrow;
    double staged, staged_decoded, staged_apart, converted;
} Accesses;

static bool is_decoded(const ROperand *op) {
    return op->digits_k > 1 || op->digits_mn > 1 || op->guarded;
}

/* Loads one step ahead stand before the loop and in it, or in the loop alone.  */
static double printed(const RProg *r) { return r->fill_in_loop ? 1 : 2; }

static Accesses accesses(const Problem *p, const Device *dev, const RProg *r) {
    Accesses n = {0};
    for (int side = 0; side < 2; side++) {
        const ROperand *op = &p->op[side];
        const RLoad *l = &r->load[side];
        if (!op->present || l->region || l->vec < 1) continue;
        double some = (double)rprog_load_chunks(r, side), decoded = is_decoded(op) ? some : 0;
        if (l->kind == LOAD_ASYNC) {
            n.copies += some;
            n.decoded += decoded;
            if (is_decoded(op) || l->vec * op->bytes < 16) n.narrow += some;
            continue;
        }
        some *= printed(r);
        n.staged += some;
        n.staged_decoded += decoded * printed(r);
        if (rprog_load_period(r, side) > 1) n.staged_apart += some;
        if (!rprog_copyable(p, dev, r, side)) n.converted += some * l->vec;
    }
    return n;
}

static int regions(const RProg *r) { return r->load[0].region + r->load[1].region; }

/* Do warps share the k-steps of the same outputs?  */
static bool shares_steps(const RProg *r) { return r->warp.extent[AX_K] < r->block.extent[AX_K]; }

/* Does the loop hold more than copies of one pointer: what finds places or tests them, stores of
 * what waited in registers, reads of a region?  */
static bool busy_loop(const Problem *p, const Device *dev, const RProg *r) {
    for (int side = 0; side < 2; side++) {
        const RLoad *l = &r->load[side];
        int axis = side ? AX_N : AX_M;
        if (!p->op[side].present) continue;
        bool ragged = p->multiple[axis] % r->block.extent[axis] != 0 ||
                      p->multiple[AX_K] % r->block.extent[AX_K] != 0;
        bool placed = ragged || is_decoded(&p->op[side]);
        if (l->region || (l->kind == LOAD_ASYNC && placed)) return true;
        if (l->kind == LOAD_STAGED && rprog_copyable(p, dev, r, side)) return true;
    }
    return false;
}

/* Scheduling the products of a step and what stands between them.  Where fragments are fetched
 * ahead the time at level 3 grows with their square; beyond some 100 the compiler takes a simpler
 * way in less time than this, and may spill: nothing to prefer a program for.  Level 2 spares it;
 * other loops, and all else of a kernel, take the same time.  */
static double products_ms(const Problem *p, const Device *dev, const RProg *r) {
    const double alone = 0.5, alone_pairs = 0.005;
    const double product = 0.7, pairs = 0.0185, more = 0.0069, busy = 0.92;
    const double quick = 0.53, quick_busy = 0.46;
    double slices = (double)r->warp.extent[AX_K] / r->thread.extent[AX_K];
    double tiles = (double)(r->warp.extent[AX_M] / r->thread.extent[AX_M]) *
                   (r->warp.extent[AX_N] / r->thread.extent[AX_N]);
    double n = tiles * slices * rprog_products(p, dev, r);
    bool is_busy = busy_loop(p, dev, r);
    bool ahead = rprog_fetched_ahead(dev, r, 0);
    double between = !is_busy ? 0 : ahead && r->quick ? quick_busy : busy;
    if (!ahead) return n * (alone + between + alone_pairs * n);
    if (r->quick) return n * (quick + between);
    return n * (product + between + (slices < 4 ? pairs : more) * n);
}

/* Converting the bytes of a step in registers: words of a lane, and instructions on them.  */
static double widening_ms(const Problem *p, const Device *dev, const RProg *r) {
    const double word = 0.1, instruction = 0.03;
    double ms = 0;
    for (int side = 0; side < 2; side++) {
        if (!r->load[side].bytes) continue;
        TeDtype from = (side ? &p->con.b : &p->con.a)->storage;
        double each = mp_widened(dev, from, dev->unit[r->unit].a);
        double words = (double)r->warp.extent[side ? AX_N : AX_M] * r->warp.extent[AX_K] / 128;
        ms += words * (word + 4 * each * instruction);
    }
    return ms;
}

/* Are the places of both operands' copies found by several digits of k?  Steps lie within a digit
 * of one at most: positions go through tables, whose entries are made once a step.  */
static bool has_tables(const Problem *p, const RProg *r) {
    for (int side = 0; side < 2; side++) {
        bool copied = p->op[side].present && !r->load[side].region;
        if (!copied || r->load[side].kind != LOAD_ASYNC || p->op[side].digits_k < 2) return false;
    }
    return true;
}

static double matrix_ms(const Problem *p, const Device *dev, const RProg *r) {
    const double fixed = 55, copy = 0.6, narrow = 2, region = 40, vector = 0.09, sum = 0.15;
    const double through = 8, staged = 0.7, apart = 0.6, converted = 0.25, part = 0.3;
    const double tables = 28;
    double ms = fixed + products_ms(p, dev, r) + region * regions(r) + widening_ms(p, dev, r);
    Accesses x = accesses(p, dev, r);
    if (r->via == VIA_SHARED && !r->stats) ms += vector * r->store_vec * (double)p->epilogue_ops;
    if (shares_steps(r)) {
        double parts = (double)r->block.extent[AX_K] / r->warp.extent[AX_K];
        ms += r->via == VIA_SHARED ? part * r->store_vec * parts : sum * mp_lane_sums(r);
    }
    ms += copy * x.copies + narrow * x.narrow;
    if (has_tables(p, r)) ms += tables;
    if (x.staged > 0) ms += through;
    return ms + staged * x.staged + apart * x.staged_apart + converted * x.converted;
}

/* Other units: the body of the loop, and everything that is done to each output.  */
static double simple_ms(const Problem *p, const Device *dev, const RProg *r) {
    const double fixed = 38, product = 0.116, operation = 0.02, share = 0.23, region = 42;
    const double copy = 0.8, decoded = 3.2;
    const double staged = 0.4, staged_decoded = 2.2, converted = 0.3;
    double outputs = (double)r->thread.extent[AX_M] * r->thread.extent[AX_N];
    double each = product * r->unroll;
    Accesses x = accesses(p, dev, r);
    if (shares_steps(r)) each += share;
    if (!r->stats) each += operation * (double)p->epilogue_ops;
    double ms = fixed + outputs * each + region * regions(r);
    ms += (copy * x.copies + decoded * x.decoded) * printed(r) / 2;
    return ms + staged * x.staged + staged_decoded * x.staged_decoded + converted * x.converted;
}

/* Windows whose rows are unrolled: a test for each load, and the products, more where neighbours
 * lie along another index than the window slides, so that each has weights of its own, and where
 * elements are converted.  */
static double window_ms(const Problem *p, const RProg *r) {
    const double fixed = 25, product = 0.13, own = 0.12, converted = 0.1, load = 0.35;
    const Access *x = &p->window.source[0].access;
    double loads = (double)(rprog_window_rows(p, r, 0) * rprog_window_loads(p, r, 0));
    double each = product + (p->window.along ? 0 : own);
    if (te_dtype_bytes(p->te->tensor[x->tensor].dtype) < 4) each += converted;
    return fixed + each * (double)rprog_window_body(p, r) + load * loads;
}

static int expected_ms(const Problem *p, const Device *dev, const RProg *r, RowKernels of) {
    if (r->skeleton == SK_WINDOW && !p->window.map && rprog_window_unrolls(p, r))
        return (int)(window_ms(p, r) + 0.5);
    if (r->skeleton != SK_CONTRACT) return 0;
    double ms = rprog_matrix(dev, r) ? matrix_ms(p, dev, r) : simple_ms(p, dev, r);
    if (r->stats) ms = mp_compile_rows_ms(p, r, ms, of);
    return (int)(ms + 0.5);
}

int mp_compile_ms(const Problem *p, const Device *dev, const RProg *r) {
    return expected_ms(p, dev, r, ROW_KERNELS_EACH);
}

int mp_compile_longest_ms(const Problem *p, const Device *dev, const RProg *r) {
    return expected_ms(p, dev, r, ROW_KERNELS_LONGEST);
}

static int ms_at(const Problem *p, const Device *dev, const RProg *r, bool quick, bool in_loop) {
    RProg x = *r;
    x.quick = quick;
    x.fill_in_loop = in_loop;
    return mp_compile_longest_ms(p, dev, &x);
}

void mp_compile_sooner(const Problem *p, const Device *dev, RProg *r) {
    int ms = ms_at(p, dev, r, false, false), quick = ms_at(p, dev, r, true, false);
    r->quick = ms > MP_COMPILE_LIMIT && ms - quick >= MP_LEVEL_GAIN;
    if (r->quick) ms = quick;
    r->fill_in_loop = ms > MP_COMPILE_LIMIT && rprog_may_fill_in_loop(p, dev, r) &&
                      ms - ms_at(p, dev, r, r->quick, true) >= MP_LEVEL_GAIN;
}

void mp_compile_explain(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    static const char *const how[2][2] = {{"", "the loop loads its first step"},
                                          {"compiled at level 2 of ptxas",
                                           "the loop loads its first step, level 2 of ptxas"}};
    if (!r->quick && !r->fill_in_loop) return;
    int full = ms_at(p, dev, r, false, false);
    buf_printf(out, "  %s", how[r->quick][r->fill_in_loop]);
    if (full > 0) {
        buf_printf(out, ": about %d ms to compile; else about %d", mp_compile_ms(p, dev, r), full);
        if (full > MP_COMPILE_LIMIT) buf_puts(out, ", too long for a process of 250 ms");
    }
    buf_putc(out, '\n');
}
