/* The estimate of the `stream` skeleton: bytes, latency and issue.  */
#include "microperf/model.h"

/* Requests and wavefronts of the loads and stores of 32 elements on one trip, and the bytes that L2
 * sends for one element.  The widest read stands for itself, the others coalesce.  */
typedef struct {
    double requests, wavefronts, bytes;
} Loads;

static Loads loads_of(const Model *m, const RProg *r) {
    const Problem *p = m->p;
    const ROperand *op = &p->op[0];
    double step = op->stride_mn < 0 ? (double)-op->stride_mn : (double)op->stride_mn;
    double vec = r->store_vec, reads = greater(p->n_reads, op->present);
    bool whole_vectors = op->affine && op->vec_mn >= r->store_vec;
    Loads l = {.requests = reads / vec, .wavefronts = reads * op->bytes / 4};
    if (!whole_vectors) {
        double spread = lesser(greater(step * vec * op->bytes * WARP / 128, 1), WARP);
        l.requests = (reads - 1) / vec + 1;
        l.wavefronts = greater(reads - 1, 0) + spread;
    }
    l.bytes = lesser(greater(step, op->affine ? 0 : SECTOR) * op->bytes, SECTOR);
    return l;
}

void mp_estimate_stream(const Model *m, const RProg *r, Estimate *out) {
    const Problem *p = m->p;
    double outputs = greater((double)p->extent[AX_M], 1);
    double trips = greater((double)p->extent[AX_K], 1);
    double blocks = (double)rprog_blocks(p, r), items = r->thread.extent[AX_M];
    double slots = m->sms * r->blocks_per_sm, per_sm = whole(blocks / m->sms);
    double reads = m->total_unique + (double)p->epilogue_bytes + p->gap_reads;
    double writes = m->out_bytes + p->gap_writes;
    *out = (Estimate){.blocks = (int64_t)blocks, .blocks_per_sm = r->blocks_per_sm,
                      .dram_bytes = reads + writes, .waves = blocks / slots};
    out->wave_efficiency = blocks / (per_sm * m->sms);
    out->padding_waste = blocks * r->block.extent[AX_M] / outputs - 1;

    Loads l = loads_of(m, r);
    /* Of one SM: warps' worth of 32 elements on one trip; windows overlap in L1.  */
    double steps = per_sm * r->block.extent[AX_M] / WARP * trips;
    double l2_bytes = outputs * trips * l.bytes;
    if (trips > 1) l2_bytes = lesser(l2_bytes, 2 * reads);
    l2_bytes = greater(l2_bytes, reads) + writes;
    double to_us = 1e6 / m->clock, share = lesser(m->l2_port, m->l2_rate / m->clock /
                                                              lesser(blocks, m->sms));
    double stores = per_sm * r->block.extent[AX_M] / WARP;
    double test = p->op[0].guarded ? 3 : 0;
    double ops = steps * (1 + p->body_ops + test + 3 * l.requests) +
                 stores * (p->epilogue_ops + 6.0 / r->store_vec) +
                 per_sm * r->threads / WARP * 30;
    out->term[MP_DRAM] = (reads / m->dram_read + writes / m->dram_write) * 1e6;
    out->term[MP_L2] = l2_bytes / lesser(blocks, m->sms) / share * to_us;
    out->term[MP_SMEM] = (steps * l.wavefronts + stores) / m->smem_rate * to_us;
    out->term[MP_COMPUTE] = steps * (1 + p->body_ops) / m->issue * to_us;
    out->term[MP_ISSUE] = ops / m->issue * to_us;
    /* A loop keeps a few trips under way; a block's loads are not under way while it starts.  */
    double chain = greater(trips / 4, 1) * m->dram_latency;
    double alone = chain + m->block_start;
    out->term[MP_LATENCY] = whole(out->waves) * alone * to_us;
    double resident = lesser(r->blocks_per_sm, per_sm);
    double in_flight = resident * r->threads * items * reads / (outputs * trips) *
                       lesser(trips, 4) * (chain / alone);
    out->in_flight = in_flight;
    if (m->in_flight && in_flight > 0) {
        double us = reads / hal_curve(m->in_flight, in_flight) * 1e6;
        out->term[MP_LATENCY] = greater(out->term[MP_LATENCY], us);
    }
    out->term[MP_FILL] = (m->block_start + m->dram_latency) * to_us;
    out->term[MP_LAUNCH] = m->launch_us;
    out->load_sectors = (int64_t)(outputs * trips * l.bytes / SECTOR);
    out->store_sectors = (int64_t)(m->out_bytes / SECTOR);
    mp_finish(out);
}
