/* The estimate of the `stream` skeleton: bytes, latency and issue.  */
#include "microperf/model.h"

static double greater(double a, double b) { return a > b ? a : b; }
static double lesser(double a, double b) { return a < b ? a : b; }

static double whole(double v) {
    double n = (double)(int64_t)v;
    return n < v ? n + 1 : n;
}

void mp_estimate_stream(const Model *m, const RProg *r, Estimate *out) {
    const Problem *p = m->p;
    double outputs = (double)p->extent[AX_M], trips = greater((double)p->extent[AX_K], 1);
    double blocks = (double)rprog_blocks(p, r), items = r->thread.extent[AX_M];
    double warps = blocks * r->threads / WARP, slots = m->sms * r->blocks_per_sm;
    double reads = m->total_unique + (double)p->epilogue_bytes;
    *out = (Estimate){.blocks = (int64_t)blocks, .blocks_per_sm = r->blocks_per_sm,
                      .dram_bytes = reads + m->out_bytes, .waves = blocks / slots};
    double per_sm = whole(blocks / m->sms);
    out->wave_efficiency = blocks / (per_sm * m->sms);
    out->padding_waste = outputs > 0 ? blocks * r->block.extent[AX_M] / outputs - 1 : 0;

    /* Bytes one element asks for on one trip; a loop's loads wait for nobody.  */
    double asked = outputs > 0 ? greater(reads, outputs * trips * p->op[0].bytes) : 0;
    double per_item = outputs > 0 ? asked / (outputs * trips) : 0;
    double resident = lesser(r->blocks_per_sm, per_sm);
    /* A block's loads are on their way for the latency only, not while it starts.  */
    double under_way = m->dram_latency / (m->dram_latency + m->block_start);
    double in_flight = resident * r->threads * items * per_item * (trips > 1 ? 4 : under_way);
    double to_us = 1e6 / m->clock;
    double share = lesser(m->l2_port, m->l2_rate / m->clock / lesser(blocks, m->sms));
    double block_bytes = (asked + m->out_bytes) / blocks;
    double accesses = 1 + items / r->store_vec * (trips > 1 ? 1 : 2);
    double ops = items * trips * (2 + p->body_ops) + items * (p->epilogue_ops + 1) +
                 accesses * 4 + 24;
    out->term[MP_DRAM] = (reads / m->dram_read + m->out_bytes / m->dram_write) * 1e6;
    out->term[MP_L2] = per_sm * block_bytes / share * to_us;
    out->term[MP_ISSUE] = warps / m->sms * ops / m->issue / greater(out->wave_efficiency, 0.01) *
                          to_us;
    out->term[MP_COMPUTE] = warps / m->sms * items * trips * (1 + p->body_ops) / m->issue * to_us;
    double chain = trips > 1 ? trips / 4 : 1;
    double alone = chain * m->dram_latency + m->block_start;
    out->term[MP_LATENCY] = whole(out->waves) * alone * to_us;
    if (m->in_flight && in_flight > 0) {
        double us = reads / hal_curve(m->in_flight, in_flight) * 1e6;
        out->term[MP_LATENCY] = greater(out->term[MP_LATENCY], us);
    }
    out->term[MP_FILL] = (m->block_start + m->dram_latency) * to_us;
    out->term[MP_LAUNCH] = m->launch_us;
    out->load_sectors = (int64_t)(asked / SECTOR);
    out->store_sectors = (int64_t)(m->out_bytes / SECTOR);
    mp_finish(out);
}
