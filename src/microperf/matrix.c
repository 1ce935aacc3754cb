/* Matrix units: what one group of fragments costs, and their plans in words.
 *
 * Units of a warp (mma.sync) compute the same contract skeleton; only what a warp does in a k-step
 * is another.  TM x TN x TK is then the unit's tile (16x8x16 for 16-bit types, M and N exchanged
 * where the program is swapped), WM x WN is what a warp accumulates, t = WM/TM * WN/TN its tiles.
 *
 *   groups (slices of a step): g = WK / TK
 *   unit instructions of a group: t * x; x = 3 for f32 by three TF32 products, else 1
 *   COMPUTE, clk per instruction and scheduler: schedulers * 2*m*n*k / rate; rate: the
 *       unit's under load (hal_sustained), with its factor
 *   one warp alone, per group: at least the shared-memory latency if fragments are fetched ahead,
 *       plus it if not; at least the unit's latency (33 clk); at least the unit's time and its
 *       conversions of bytes
 *   ldmatrix of a side, per group: matrices / 4, the rest by x2 and x1; matrices = WM/8 * TK
 *       bytes/16
 *   wavefronts: of one matrix (8 rows of 16 bytes, 1 if its layout is free of conflicts) *
 *       matrices; else of one 32-lane read * registers; counters have one group more for each part
 *       of a tile's k-steps: where fragments are fetched ahead, the last step fetches its first
 *       group once more
 *   reads of a side beside bytes, per group: WM/8, of 8 bytes a lane, 2 wavefronts each
 *   also issued, per group: an operand that stays bytes in shared memory: WM * 16 / 32 elements, as
 *       many instructions each as in a chunk (step.c); 2 for each fragment register that is split
 *       in two (x = 3); accumulators / g where partial sums are added (f8; the first products of a
 *       step have zero as an operand)
 *   tax: + wavefronts of a slice / v where fragments are not fetched ahead (step.c)
 *   EPILOGUE: + WM/TM * (wavefronts of all warps' pieces + 2 latencies) for stores through the
 *       epilogue staging buffer; of boxes 2 latencies for every `slots` of them, since the next one
 *       waits until the copy has read its slot; warps that share the k-steps of a block add their
 *       sums there: each writes a piece, each reads its share of the outputs from all of them, and
 *       a pipeline_step takes the place of one latency; bytes stored are whole sectors touched, of
 *       outputs with gaps between neighbours (phases of a transposed convolution) too: their rows
 *       are also collected, one element a store  */
#include "microperf/matrix.h"

double mp_lane_sums(const Model *m, const RProg *r) {
    int lanes = WARP * rprog_team(m->dev, r);
    return (double)r->warp.extent[AX_M] * r->warp.extent[AX_N] / lanes;
}

double mp_product_flops(const Model *m, const RProg *r) {
    const int32_t *t = r->thread.extent;
    return 2.0 * t[AX_M] * t[AX_N] * t[AX_K] * te_dtype_values(m->dev->unit[r->unit].a);
}

double mp_matrix_products(const Model *m, const RProg *r) {
    double tiles = (double)r->warp.extent[AX_M] / r->thread.extent[AX_M] * r->warp.extent[AX_N] /
                   r->thread.extent[AX_N];
    return tiles * rprog_products(m->p, m->dev, r);
}

/* The table: of two elements, by the prelude's rl_*x4_to_*.  */
double mp_widened(const Device *dev, TeDtype from, TeDtype to) {
    static const struct {
        TeDtype from, to;
        double old, now;                  /* without an instruction for e4m3, and with it */
    } two[] = {
        {TE_F8E4M3, TE_F16, 7, 1},   {TE_F8E5M2, TE_F16, 1, 1},  {TE_I8, TE_F16, 2.5, 2.5},
        {TE_U8, TE_F16, 2, 2},       {TE_I8, TE_BF16, 4, 4},     {TE_U8, TE_BF16, 5, 5},
        {TE_F8E4M3, TE_BF16, 10, 4}, {TE_F8E5M2, TE_BF16, 4, 4},
    };
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
        if (two[i].from != from || two[i].to != to) continue;
        return (hal_widens_e4m3(dev) ? two[i].now : two[i].old) / 2;
    }
    return 0;
}

double mp_matrix_widening(const Model *m, const RProg *r) {
    double n = 0;
    for (int side = 0; side < m->p->n_operand; side++) {
        if (!r->load[side].bytes) continue;
        TeDtype from = m->p->con.operand[side].storage;
        double elements = (double)r->warp.extent[side ? AX_N : AX_M] * r->thread.extent[AX_K];
        n += elements / WARP * mp_widened(m->dev, from, m->dev->unit[r->unit].a);
    }
    return n;
}

double mp_matrix_extra(const Model *m, const RProg *r) {
    double n = mp_matrix_widening(m, r);
    double slices = (double)r->warp.extent[AX_K] / r->thread.extent[AX_K];
    for (int side = 0; side < m->p->n_operand && rprog_products(m->p, m->dev, r) > 1; side++) {
        int axis = side ? AX_N : AX_M;
        n += 2.0 * rprog_unit_registers(m->dev, r, side) * r->warp.extent[axis] /
             r->thread.extent[axis];
    }
    if (rprog_promotes(m->p, m->dev, r)) n += (mp_lane_sums(m, r) + mp_scaled_sums(m, r)) / slices;
    return n;
}

static void tell_fragments(const Model *m, const RProg *r, const StepCounts *c, Buf *out) {
    double slices = (double)r->warp.extent[AX_K] / r->thread.extent[AX_K];
    double products = mp_matrix_products(m, r) * slices;
    int64_t reads = c->of[0].reads + c->of[1].reads;
    buf_printf(out, "  warp tile %dx%d: %d accumulators per lane; a k-step is ",
               (int)r->warp.extent[AX_M], (int)r->warp.extent[AX_N], (int)mp_lane_sums(m, r));
    mp_fixed(out, products, 0);
    buf_printf(out, " %s for %lld reads of fragments", m->dev->unit[r->unit].name,
               (long long)reads);
    buf_puts(out, rprog_fetched_ahead(m->dev, r, 0) ? ", made one slice ahead" : "");
    buf_printf(out, "; about %d of %d registers\n", r->registers,
               (int)m->dev->limits.registers_per_thread.value);
    if (rprog_products(m->p, m->dev, r) > 1) {
        buf_puts(out, "  f32 by three products of halves of each element (@fp32x3)\n");
    }
    if (rprog_promotes(m->p, m->dev, r)) {
        buf_printf(out, "  sums of %d products are added in f32 registers of their own\n",
                   (int)r->warp.extent[AX_K] * te_dtype_values(m->dev->unit[r->unit].a));
    }
}

/* How much of a step the unit takes, and how much its operands keep shared memory busy.  */
static void tell_balance(const Model *m, const RProg *r, const StepCounts *c, Buf *out) {
    const ComputeUnit *u = &m->dev->unit[r->unit];
    double rate = hal_sustained(m->dev, u);
    double slices = (double)r->warp.extent[AX_K] / r->thread.extent[AX_K];
    double warps = r->threads / WARP;
    double unit = warps * slices * mp_matrix_products(m, r) * mp_product_flops(m, r) / rate;
    double reads = warps * (c->of[0].fragment_wavefronts + c->of[1].fragment_wavefronts);
    double stores = (double)(c->of[0].store_wavefronts + c->of[1].store_wavefronts);
    buf_puts(out, "  a block's step keeps the unit busy for ");
    mp_fixed(out, unit, 0);
    buf_puts(out, " clk, shared memory for ");
    mp_fixed(out, reads / m->smem_rate, 0);
    buf_puts(out, " with reads and ");
    mp_fixed(out, stores / m->smem_rate, 0);
    buf_puts(out, " with copies\n");
}

void mp_fragments_explain(const Model *m, const RProg *r, const StepCounts *c, Buf *out) {
    tell_fragments(m, r, c, out);
    tell_balance(m, r, c, out);
}
