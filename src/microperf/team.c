/* Loads chunk by chunk: instructions of one, and operands that warps which fill a ring copy so
 * (RLoad.team), such as rows that data choose.
 *
 *   wavefronts, sectors: of copies (counts.c, sectors.c); the chunks lie as boxes would bring them,
 *       so that eight lanes write a row of all banks
 *   instructions of a warp: those of each chunk, and 24 of a step: to wait for a slot, say that it
 *       is full and move on
 *   a warp is longer at a step than max(chunks of a thread, 4) * those of a chunk, and behind the
 *       wait for a slot it waits for L1 where a table says which row: instructions of a chunk
 *       follow each other, 4 clk apart (Jia et al., Dissecting the Volta GPU architecture), those
 *       of others fill the gaps
 *
 * What the fence takes that the computing warps need before the unit reads what threads have copied
 * is not published, and left out: products of the step before are under way meanwhile.  */
#include "microperf/matrix.h"
#include "microperf/sectors.h"
#include "microperf/step.h"

/* Instructions to test and combine the subscripts of a chunk that is gathered.  */
enum { GATHER_ISSUE = 12 };

/* Instructions that bring one element of a chunk into the form that it has in the tile.  */
static double element_conversion(const Model *m, const RProg *r, int side) {
    const Problem *p = m->p;
    const RLoad *l = &r->load[side];
    TeDtype from = p->con.operand[side].storage;
    if (rprog_copyable(p, m->dev, r, side)) return 0;
    bool straight = p->op[side].affine && l->along == l->layout.inner;
    double widened = 0;
    if (straight && rprog_matrix(m->dev, r))
        widened = mp_widened(m->dev, from, rprog_tile_type(p, m->dev, r, side));
    return widened > 0 ? widened : 1 + p->op[side].ops;
}

double mp_chunk_issue(const Model *m, const RProg *r, int side) {
    const Problem *p = m->p;
    const ROperand *op = &p->op[side];
    const RLoad *l = &r->load[side];
    double n = 3;                         /* access, pointer, its carry */
    if (op->digits_k > 1) n += 5.0 * (op->digits_k - 1);
    if (op->digits_mn > 1) n += 1;
    if (op->guarded) n += 4;
    if (op->gathered) n += GATHER_ISSUE + op->ops;
    if (rprog_through_registers(l)) {
        bool transposed = l->along != l->layout.inner;
        n += transposed ? l->vec : (l->vec * rprog_elem(p, m->dev, r, side) + 15) / 16;
        n += l->vec * element_conversion(m, r, side);
    }
    return n;
}

/* A copy has one way: what comes from different lines is stored one behind the other.  */
double mp_load_passes(const RLoad *l, double passes, double stores) {
    return rprog_through_registers(l) ? passes : greater(passes - stores, 0);
}

OperandCounts mp_team_counts(const Model *m, const RProg *r, int side, StagePasses *kept) {
    StageTraffic t = mp_stage_traffic(m, r, side, kept);
    return (OperandCounts){.sectors = t.sectors, .requests = t.requests, .passes = t.passes,
                           .store_wavefronts = rprog_tile_bytes(m->p, m->dev, r, side) /
                                               MP_WAVEFRONT};
}

/* Of a step, whose share of the region the team brings.  */
static double region_makes(const Model *m, const RProg *r, const StepCounts *c) {
    double steps = greater((double)rprog_tiles(m->p, r, AX_K), 1);
    return c->region_made / steps;
}

double mp_team_issue(const Model *m, const RProg *r, const StepCounts *c) {
    enum { STEP_ISSUE = 24 };             /* counted in compiled kernels */
    double chunks = 0, step = 0;
    for (int side = 0; side < m->p->n_operand; side++) {
        if (r->load[side].team == 0) continue;
        step = r->load[side].team * STEP_ISSUE;
        if (r->load[side].region) chunks += region_makes(m, r, c);
        if (r->load[side].region) continue;
        chunks += (double)c->of[side].requests * mp_chunk_issue(m, r, side);
    }
    return step + chunks;
}

double mp_team_clocks(const Model *m, const RProg *r, const StepCounts *c) {
    enum { DEPENDENT = 4 };               /* clocks from an instruction to the next one */
    double clocks = 0;
    for (int side = 0; side < m->p->n_operand; side++) {
        if (r->load[side].team == 0) continue;
        if (r->load[side].region) clocks += region_makes(m, r, c) / r->load[side].team;
        if (r->load[side].region) continue;
        double chunks = (double)c->of[side].requests / r->load[side].team;
        clocks += greater(chunks, DEPENDENT) * mp_chunk_issue(m, r, side);
        if (m->p->op[side].gathered) clocks += m->smem_latency;
    }
    return clocks;
}
