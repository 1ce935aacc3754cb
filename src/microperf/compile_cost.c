/* What a program costs to compile: sums of what its text unrolls, fitted to measured times of NVRTC
 * 13.0.  docs/compile-time.md has the fit and how far single kernels are from it.  */
#include "microperf/compile_cost.h"
#include "microperf/matrix.h"

/* Accesses of a thread for one stage: all, and those whose addresses are decoded or tested.  */
typedef struct {
    double all, decoded;
} Accesses;

static Accesses accesses(const Problem *p, const RProg *r) {
    Accesses n = {0, 0};
    for (int side = 0; side < 2; side++) {
        const ROperand *op = &p->op[side];
        const RLoad *l = &r->load[side];
        if (!op->present || l->region || l->vec < 1) continue;
        double elements = (double)r->block.extent[side ? AX_N : AX_M] * r->block.extent[AX_K];
        double some = whole(elements / (l->vec * (double)r->threads));
        n.all += some;
        if (op->digits_k > 1 || op->digits_mn > 1 || op->guarded) n.decoded += some;
    }
    return n;
}

static int regions(const RProg *r) { return r->load[0].region + r->load[1].region; }

/* Do warps share the k-steps of the same outputs?  */
static bool shares_steps(const RProg *r) { return r->warp.extent[AX_K] < r->block.extent[AX_K]; }

/* Scheduling the products of a step and what leads to them.  At level 3 the time grows with their
 * square, but for those of one slice; beyond some 100 the compiler takes a simpler way in less time
 * than this, and may spill: nothing to prefer a program for.  Level 2 spares it where fragments are
 * fetched ahead; other loops, and all else of a kernel, take the same time.  */
static double products_ms(const Problem *p, const Device *dev, const RProg *r) {
    const double fixed = 60, single = 0.74, product = 0.91, pairs = 0.0226, more = 0.0148;
    const double quick_fixed = 51, quick = 0.66;
    double slices = (double)r->warp.extent[AX_K] / r->thread.extent[AX_K];
    double tiles = (double)(r->warp.extent[AX_M] / r->thread.extent[AX_M]) *
                   (r->warp.extent[AX_N] / r->thread.extent[AX_N]);
    double n = tiles * slices * rprog_products(p, dev, r);
    if (slices < 2) return fixed + single * n;
    if (r->quick && rprog_fetched_ahead(dev, r, 0)) return quick_fixed + quick * n;
    return fixed + product * n + (slices < 4 ? pairs : more) * n * n;
}

static double matrix_ms(const Problem *p, const Device *dev, const RProg *r) {
    const double access = 1.1, decoded = 0.9, region = 49, vector = 0.09, sum = 0.31;
    double ms = products_ms(p, dev, r) + region * regions(r);
    Accesses x = accesses(p, r);
    if (r->via == VIA_SHARED) ms += vector * r->store_vec * (double)p->epilogue_ops;
    else if (shares_steps(r)) ms += sum * mp_lane_sums(r);
    return ms + access * x.all + decoded * x.decoded;
}

/* Other units: the body of the loop, and everything that is done to each output.  */
static double simple_ms(const Problem *p, const RProg *r) {
    const double fixed = 46, product = 0.1, output = 0.09, operation = 0.07, share = 0.42;
    const double access = 1.4, decoded = 3.6, region = 55;
    double outputs = (double)r->thread.extent[AX_M] * r->thread.extent[AX_N];
    double each = output + operation * (double)p->epilogue_ops + (shares_steps(r) ? share : 0);
    Accesses x = accesses(p, r);
    return fixed + outputs * (product * r->unroll + each) + access * x.all + decoded * x.decoded +
           region * regions(r);
}

/* Windows whose rows are unrolled: a test for each load, and the products.  */
static double window_ms(const Problem *p, const RProg *r) {
    const double fixed = 40, product = 0.12, load = 0.65;
    double loads = (double)(rprog_window_rows(p, r, 0) * rprog_window_loads(p, r, 0));
    return fixed + product * (double)rprog_window_body(p, r) + load * loads;
}

int mp_compile_ms(const Problem *p, const Device *dev, const RProg *r) {
    if (r->skeleton == SK_WINDOW && !p->window.map && rprog_window_unrolls(p, r))
        return (int)(window_ms(p, r) + 0.5);
    if (r->skeleton != SK_CONTRACT) return 0;
    double ms = rprog_matrix(dev, r) ? matrix_ms(p, dev, r) : simple_ms(p, r);
    return (int)(ms + 0.5);
}

static int ms_at(const Problem *p, const Device *dev, const RProg *r, bool quick) {
    RProg x = *r;
    x.quick = quick;
    return mp_compile_ms(p, dev, &x);
}

bool mp_compile_quick(const Problem *p, const Device *dev, const RProg *r, int others) {
    int ms = ms_at(p, dev, r, false);
    return ms + others > MP_COMPILE_LIMIT && ms - ms_at(p, dev, r, true) >= MP_COMPILE_GAIN;
}

void mp_compile_explain(const Problem *p, const Device *dev, const RProg *r, Buf *out) {
    if (!r->quick) return;
    int full = ms_at(p, dev, r, false);
    buf_puts(out, "  compiled at level 2 of ptxas");
    if (full > 0) {
        buf_printf(out, ": about %d ms; level 3 would take about %d", ms_at(p, dev, r, true), full);
        if (full > MP_COMPILE_LIMIT) buf_puts(out, ", too long for a process of 250 ms");
    }
    buf_putc(out, '\n');
}
