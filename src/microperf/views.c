/* Terms of kernels whose time is that of their bytes (stream, column, window, scan, permute).
 *
 * DRAM is bytes / rate, L2 as mp_l2_clocks has it, but that the SM with the most blocks gets its
 * share of all bytes through its own port to DRAM (six blocks on five SMs: a third); SMEM = passes
 * of requests through L1 plus wavefronts of shared memory, ISSUE = all warp instructions, LATENCY =
 * the larger of waves * (one block on its own) and bytes / rate(bytes in flight); the SM with the
 * most blocks counts.  Passes of a request: 32 threads access width bytes step apart in runs; the
 * banks take the wavefronts of these addresses (sectors.c), and the lines of 128 bytes that they
 * touch are looked up four at a time; of runs longer than a warp some requests have two.  So says
 * gpu-strides: on A100 words 15 apart, in 15 different lines and all banks, take 4.4 clk, words 16
 * apart 16. Where patches are as wide (high) as the outputs, what is outside of the source for
 * every thread takes none.  */
#include "microperf/views.h"

enum { LINE = 128, BANK = 4, TAGS = 4 };

/* Of runs of so many threads that begin `next` bytes apart.  L1 has the banks of shared memory, and
 * looks up four lines at once.  */
static double passes_of(int bytes, int step, int threads, int next) {
    int32_t addr[WARP];
    int access = bytes & -bytes, lines = 0;
    if (access > 16) access = 16;
    for (int lane = 0; lane < WARP; lane++) {
        int at = lane / threads * next + lane % threads * step;
        addr[lane] = at / access * access;
        lines += lane == 0 || addr[lane] / LINE != addr[lane - 1] / LINE;
    }
    double passes = (double)bytes / access * rtile_wavefronts(addr, UINT32_MAX, access);
    return greater(passes, whole((double)lines / TAGS));
}

/* Runs that are longer than a warp, but no number of warps, end in some of its requests.  */
double mp_view_passes(double width, double step, double run, double pitch) {
    int bytes = (int)greater(width, 1), apart = (int)step, near = (int)((int64_t)pitch % (1 << 20));
    int threads = (int)lesser(greater(run, 1), WARP);
    if (run <= WARP || pitch <= 0 || (int)run % WARP == 0) {
        int next = pitch > 0 ? near : (threads - 1) * apart + bytes + BANK;
        return passes_of(bytes, apart, threads, next);
    }
    enum { HALF = WARP / 2 };
    int next = near - ((int)lesser(run, 1 << 15) - HALF) * apart;
    double broken = (WARP - 1) / run, one = passes_of(bytes, apart, WARP, 0);
    if (next < 0) next = -next;           /* the banks are the same ones */
    return one + broken * (passes_of(bytes, apart, HALF, next) - one);
}

double mp_map_requests(ReadWidths w, int vec) {
    double requests = 0;
    for (int i = 0; i < READ_WIDTHS; i++)
        requests += (double)w.of[i] / (1 << i < vec ? 1 << i : vec);
    return requests;
}

/* Microseconds of DRAM, which reads at `read` B/s; `share` of all bytes are those of the SM with
 * the most blocks, and come through its own port.  */
static double dram_us(const Model *m, const ViewWork *w, double read, double share) {
    double port = m->dram_port / share;
    return mp_dram_us(m, w->reads, lesser(read, port), w->writes, lesser(m->dram_write, port));
}

void mp_view_terms(const Model *m, const RProg *r, const ViewWork *w, Estimate *out) {
    double blocks = greater(w->blocks, 1), per_sm = whole(blocks / m->sms);
    double slots = m->sms * r->blocks_per_sm, busy = lesser(blocks, m->sms);
    double to_us = MP_US / m->clock, share = per_sm / blocks;
    *out = (Estimate){.blocks = (int64_t)blocks, .blocks_per_sm = r->blocks_per_sm,
                      .waves = blocks / slots, .dram_bytes = w->reads + w->writes};
    out->wave_efficiency = blocks / (per_sm * m->sms);
    const Curve *runs = hal_level_curve(&m->dev->memory[LEVEL_DRAM], "read", "run_length");
    double read = runs && w->run > 0 ? lesser(m->dram_read, hal_curve(runs, w->run)) : m->dram_read;
    out->term[MP_DRAM] = dram_us(m, w, read, share);
    out->term[MP_L2] = mp_l2_clocks(m, busy, w->l2 * share, w->sent * share) * to_us;
    out->term[MP_SMEM] = w->wavefronts * share / m->smem_rate * to_us;
    out->term[MP_COMPUTE] = greater(w->products / m->unit, w->compute / m->arithmetic) *
                            share * to_us;
    out->term[MP_ISSUE] = w->ops * share / m->issue * to_us;
    double resident = lesser(r->blocks_per_sm, per_sm);
    double in_flight = resident * r->threads * w->flying;
    out->term[MP_LATENCY] = whole(out->waves) * w->chain * to_us;
    out->in_flight = in_flight;
    if (m->in_flight && in_flight > 0) {
        double us = dram_us(m, w, hal_curve(m->in_flight, in_flight), share);
        /* At the full rate it is DRAM's own time, rounded another way.  */
        if (us < out->term[MP_DRAM] * (1 + 1e-9)) us = lesser(us, out->term[MP_DRAM]);
        out->term[MP_LATENCY] = greater(out->term[MP_LATENCY], us);
    }
    out->term[MP_FILL] = (m->block_start + m->dram_latency) * to_us + m->ramp_us;
    double longest = 0;
    for (MpTerm t = MP_DRAM; t < MP_LATENCY; t++) longest = greater(longest, out->term[t]);
    double all = greater(longest, out->term[MP_LATENCY]);
    out->term[MP_EPILOGUE] = greater(longest + w->tail * to_us - all, 0);
    out->term[MP_LAUNCH] = m->launch_us;
    out->load_sectors = (int64_t)(w->l2 / SECTOR);
    out->store_sectors = (int64_t)(w->sent / SECTOR);
}
