/* What a block does in one k-step of a contract program.
 *
 *   unit instructions of all warps: F = w * TM * TN * WK / p
 *   fragment reads of one warp: k inner: TM (or TN) * WK / TK; own axis inner: TM / vec_m (TN /
 *       vec_n) * WK
 *   groups of a warp (fragments used together): g = WK / TK
 *   instructions of a group: G = TM*TN*TK/p * (1 + body) + reads of a group; body: operations
 *       beyond one multiply-add
 *   load requests of an operand: q = ceil(BM * BK / vec / 32)
 *   issued: I = w * (g * G + 40 + [U < WK] * 14 * WK/U + one per group and swizzled operand) + sum
 *       of q * c
 *
 * c, instructions per load request: 3 (access, 64-bit pointer); + 5 for each digit of K that the
 * operand tells apart beyond the first, + 1 if the row has digits to decode, + 4 if subscripts are
 * tested at run time; register-staged loads add their stores and conversions (1 an element and its
 * arithmetic; bytes that become f16 or bf16 along the rows of the tile 1/2 to 5/2, e4m3 before
 * sm_89, which has no instruction for it, 7/2 or 5). 40, 14 and c were counted in compiled kernels.
 *
 * What it waits for beside.
 *
 * ahead = S - 1 for async copies, else 1: the steps whose loads are under way.  wait =
 * pipeline_step / ahead is what a block waits in a step (barrier); a deeper pipeline shares one
 * wait among more steps (the form is that of XLA's GPU cost model). With one stage it is 2 *
 * pipeline_step, and the wavefronts of the stores are added: nobody computes while the buffer is
 * filled.
 *
 * - SMEM has a queue of requests, which other blocks fill while one waits: one wait for a step of
 *   all r blocks.
 * - COMPUTE and ISSUE have none: r waits.  (Without them f32 tiles on A100 lack 39 to 98 clk for
 *   each step of a block, whether its work is 300 clk or 2085 and 2 blocks are resident or 8; tiles
 *   of the RTX 2080 Ti that shared memory limits lack nothing.)
 * - Between its products of two steps a warp stores its part of a stage, where that passes through
 *   registers, and reads the fragments of the first k (slice), where they are not fetched ahead.
 *   Other warps of its scheduler compute meanwhile, so that r * wavefronts / max(1, v) are felt, v
 *   = r * w / schedulers.
 *
 * u, the unit's rate under load, is no more than its curve over the warps of an SM has for the r
 * blocks (warps): few warps do not fill a unit.  */
#include "microperf/step.h"
#include "microperf/matrix.h"
#include "microperf/sectors.h"

/* Instructions of a warp around the arithmetic, counted in compiled kernels: of one k-step (wait,
 * barrier, moving on in the ring of stages) and of one pass of a loop over its k.  */
enum { STEP_ISSUE = 40, BODY_ISSUE = 14 };
/* Instructions of one access to a region, and of one entry of its table of places.  */
enum { REGION_ISSUE = 16, ENTRY_ISSUE = 24 };
/* Clocks from a product of matrices to the next one with the same accumulators, where the profile
 * does not say.  */
enum { MMA_LATENCY = 33 };

/* Instructions of the unit that one warp executes for one group of fragments.  */
static double group_products(const Model *m, const RProg *r) {
    if (rprog_matrix(m->dev, r)) return mp_matrix_products(m, r);
    double area = (double)r->thread.extent[AX_M] * r->thread.extent[AX_N];
    return area * r->thread.extent[AX_K] / (rprog_packed(m->dev, r) ? RPROG_PACKED : 1);
}

/* A region that is loaded once: its part of each step.  */
static void share_region(const Model *m, const RProg *r, const StepCounts *c, Step *s) {
    double steps = greater((double)rprog_tiles(m->p, r, AX_K), 1);
    double entries = whole((double)rprog_region_entries(m->p, r) / WARP);
    if (c->region_requests <= 0) return;
    double issue = c->region_made > 0 ? c->region_made : c->region_requests * REGION_ISSUE;
    s->issue += (issue + entries * ENTRY_ISSUE) / steps;
    s->wavefronts += c->region_stores / steps;
    s->sectors += c->region_sectors / steps;
    s->region = c->region_sectors * SECTOR;
    if (c->region_passes <= 0) return;
    s->passes += c->region_passes / steps;
    s->filling = issue / m->issue;
    s->trips = whole(c->region_rounds / s->warps);
}

Step mp_step(const Model *m, const RProg *r, const StepCounts *c) {
    const Problem *p = m->p;
    if (m->dev->unit[r->unit].b_smem) return mp_ring_step(m, r, c);
    double wk = r->warp.extent[AX_K], tk = r->thread.extent[AX_K];
    Step s = {.counts = c, .warps = r->threads / WARP};
    double reads = (double)(c->of[0].reads + c->of[1].reads);
    s.loads = s.warps * reads;
    s.groups = wk / tk;
    s.group_fma = group_products(m, r);
    s.fma = s.warps * s.groups * s.group_fma;
    s.group_issue = s.group_fma * (1 + p->body_ops) + reads / s.groups;
    if (rprog_matrix(m->dev, r)) s.group_issue += mp_matrix_extra(m, r);
    s.group_issue += c->region_extra / s.groups;
    double bodies = wk / r->unroll;
    double loop = s.warps * (STEP_ISSUE + (bodies > 1 ? BODY_ISSUE * bodies : 0));
    for (int side = 0; side < p->n_operand; side++)
        if (r->load[side].layout.bits) loop += s.warps * s.groups;
    s.issue = s.warps * s.groups * s.group_issue + loop;
    for (int side = 0; side < p->n_operand; side++) {
        if (!r->load[side].region)
            s.issue += (double)c->of[side].requests * mp_chunk_issue(m, r, side);
        s.wavefronts += s.warps * c->of[side].fragment_wavefronts +
                        (double)c->of[side].store_wavefronts;
        s.stored += (double)c->of[side].store_wavefronts;
        s.passes += mp_load_passes(&r->load[side], (double)c->of[side].passes,
                                   (double)c->of[side].store_wavefronts);
        s.sectors += c->of[side].sectors;
    }
    share_region(m, r, c, &s);
    mp_add_scales(m, r, s.warps, &s);
    mp_add_sum_scales(m, r, &s);
    s.bytes = s.sectors * SECTOR;
    return s;
}

/* FLOP per clock of an SM with so many warps: few do not fill the unit.  */
static double unit_rate(const Model *m, const ComputeUnit *u, double warps) {
    double rate = hal_sustained(m->dev, u);
    if (u->warps.n > 0) rate = lesser(rate, hal_curve(&u->warps, warps));
    return m->dev->n_factor ? rate * hal_factor(m->dev, u->name) : rate;
}

double mp_unit_clocks(const Model *m, const RProg *r, const Step *s, double resident) {
    const ComputeUnit *u = &m->dev->unit[r->unit];
    double rate = unit_rate(m, u, resident * rprog_computing(m->dev, r) / WARP);
    bool matrix = rprog_matrix(m->dev, r);
    if (m->dev->unit[r->unit].b_smem)
        return greater(greater(resident * mp_ring_clocks(m, r, rate),
                               mp_joining_clocks(m, r, rate)),
                       greater(mp_made_clocks(m, r, s) / s->teams, mp_copying_clocks(m, r, s)));
    double flops = matrix ? mp_product_flops(m, r) : 2.0 * u->k.from * WARP;
    double per_clk = rate / (flops * m->schedulers);
    double warps = whole(resident * s->warps / m->schedulers);
    double issue = s->group_issue * m->schedulers / m->issue;
    double unit = s->group_fma * (1 + m->p->body_ops) / per_clk, busy = greater(unit, issue);
    bool ahead = rprog_fetched_ahead(m->dev, r, 0) && rprog_fetched_ahead(m->dev, r, 1);
    double alone = ahead ? greater(busy, m->smem_latency) : busy + m->smem_latency;
    if (matrix) alone = greater(alone, hal_has(&u->latency) ? u->latency.value : MMA_LATENCY);
    /* A warp's products wait for its own conversions.  */
    if (matrix)
        alone = greater(alone, unit + mp_matrix_widening(m, r) * m->schedulers / m->issue);
    return s->groups * greater(warps * busy, alone);
}

/* Wavefronts of what each warp does between its products of two steps: it stores its part of a
 * stage, and reads the fragments of the first slice (k) unless they are fetched ahead.  */
static double between_products(const Model *m, const RProg *r, const Step *s) {
    double n = 0, first = 0;
    for (int side = 0; side < m->p->n_operand; side++) {
        double stores = (double)s->counts->of[side].store_wavefronts;
        if (rprog_through_registers(&r->load[side])) n += stores;
        if (!rprog_fetched_ahead(m->dev, r, side)) first = (s->wavefronts - s->stored) / s->groups;
    }
    return n + first;
}

/* Clocks that a block waits in a step.  A pipeline shares its wait among the steps ahead; a single
 * buffer has two barriers.  */
static double block_wait(const Model *m, const RProg *r) {
    /* A ring's barriers are waited for while the products of the step before are under way.  */
    if (m->dev->unit[r->unit].b_smem && r->stages > 1) return 0;
    return m->step_tax * (r->stages == 1 ? 2 : 1.0 / rprog_steps_ahead(m->p, r));
}

double mp_queue_waits(const Model *m, const RProg *r, const Step *s) {
    /* Nobody computes while a single buffer is filled.  */
    return block_wait(m, r) + (r->stages == 1 ? s->stored / m->smem_rate : 0);
}

double mp_step_waits(const Model *m, const RProg *r, const Step *s, double resident) {
    double all = mp_queue_waits(m, r, s) + (resident - 1) * block_wait(m, r);
    if (m->dev->unit[r->unit].b_smem) return mp_queue_waits(m, r, s);
    if (r->stages == 1) return all;
    /* Other warps of the scheduler compute meanwhile.  */
    double warps = greater(resident * s->warps / m->schedulers, 1);
    return all + resident * between_products(m, r, s) / m->smem_rate / warps;
}
