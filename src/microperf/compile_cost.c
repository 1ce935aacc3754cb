/* What a program costs to compile: sums of what its text unrolls, fitted to measured times of NVRTC
 * 13.0.  docs/compile-time.md has the fit and how far single kernels are from it.  */
#include "microperf/compile_cost.h"
#include "microperf/matrix.h"

/* Accesses of a thread for one stage whose addresses are decoded or tested.  */
static double decoded_accesses(const Problem *p, const RProg *r) {
    double n = 0;
    for (int side = 0; side < 2; side++) {
        const ROperand *op = &p->op[side];
        const RLoad *l = &r->load[side];
        if (!op->present || l->region || l->vec < 1) continue;
        if (op->digits_k <= 1 && op->digits_mn <= 1 && !op->guarded) continue;
        double elements = (double)r->block.extent[side ? AX_N : AX_M] * r->block.extent[AX_K];
        n += whole(elements / (l->vec * (double)r->threads));
    }
    return n;
}

static int regions(const RProg *r) { return r->load[0].region + r->load[1].region; }

/* The compiler schedules the products of a step in a time that grows with their square, but for
 * those of one slice, and takes a simpler way where there are very many.  */
static double matrix_ms(const Problem *p, const Device *dev, const RProg *r) {
    enum { MANY = 100 };
    const double fixed = 35, single = 1.3, product = 1.5, pairs = 0.017, more = 0.023, many = 225;
    const double decoded = 1.7, region = 30, result = 0.08, vector = 0.2;
    double slices = (double)r->warp.extent[AX_K] / r->thread.extent[AX_K], ms = fixed;
    double tiles = (double)(r->warp.extent[AX_M] / r->thread.extent[AX_M]) *
                   (r->warp.extent[AX_N] / r->thread.extent[AX_N]);
    double n = tiles * slices * rprog_products(p, dev, r), ops = (double)p->epilogue_ops;
    if (slices < 2) ms += single * n;
    else if (n > MANY) ms += many;
    else ms += product * n + (slices < 4 ? pairs : more) * n * n;
    if (r->via == VIA_SHARED) ms += vector * r->store_vec * ops;
    else ms += result * mp_lane_sums(r) * (1 + ops);
    return ms + decoded * decoded_accesses(p, r) + region * regions(r);
}

/* Other units: the body of the loop, and everything that is done to each output.  */
static double simple_ms(const Problem *p, const RProg *r) {
    const double fixed = 47, product = 0.043, output = 0.4, operation = 0.08, slice = 0.6;
    const double decoded = 3.1, region = 29;
    double outputs = (double)r->thread.extent[AX_M] * r->thread.extent[AX_N];
    double each = output + operation * (double)p->epilogue_ops;
    if (r->warp.extent[AX_K] < r->block.extent[AX_K]) each += slice;
    return fixed + product * outputs * r->unroll + each * outputs +
           decoded * decoded_accesses(p, r) + region * regions(r);
}

int mp_compile_ms(const Problem *p, const Device *dev, const RProg *r) {
    if (r->skeleton != SK_CONTRACT) return 0;
    double ms = rprog_matrix(dev, r) ? matrix_ms(p, dev, r) : simple_ms(p, r);
    return (int)(ms + 0.5);
}
