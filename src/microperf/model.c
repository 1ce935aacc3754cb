/* What all estimates share: rates of the device, L2, and what ends an estimate.
 *
 * The steady state is the largest term.  limiter names it; where issue is the largest and the
 * unit's inner loop makes at least 85 % of it, the limiter is called compute, which is what the
 * kernel does.
 *
 * OVERLAP: warps go to and fro between shared memory and the unit (or issue), and now and then all
 * of them are at one of the two.  With N turns under way on an SM, two for each resident warp that
 * fetches fragments ahead, else one, and q = the smaller of the two times over the larger, both
 * take larger * (1 + q^N / (1 + q + .. + q^(N-1))): a closed queueing network of two stations
 * (Buzen, CACM 16(9), 1973). OVERLAP is what that exceeds the largest term by.  It is nothing
 * unless both are full: q = 1 and 8 warps, 6 %; q = 0.8, 0.7 %.
 *
 * Copies, products and stores are queues of their own, with S - 1 stages between them: a wait of
 * one for another is felt when those run dry, so a pipe that is busy for a share u of the time adds
 * 0.1 / (S - 1) u^2 of it (OVERLAP). The form is that of the latency of a step in XLA's GPU cost
 * model, which a pipeline of S stages divides by S - 1.
 *
 * DRAM is bytes / rate, and more by what its bus turns round between reads and writes: with x of
 * the time for reads 1 + (2 / copy / (1 / read + 1 / write) - 1) 4 x (1 - x) times as much, so that
 * a copy has the profile's rate.  V100 reads at 866 GB/s, writes at 895, copies at 802; a triad,
 * which reads twice what it writes, has 814 (github.com/te42kyfo/gpu-benches gpu-stream/v100.txt)
 * where this says 806.
 *
 * FILL has the ramp, for which a kernel that reads does not have DRAM at its rate, while its blocks
 * start and while its last ones wait: n/2 / read by the profile's curve over the bytes of a kernel,
 * n/2 being the amount at which that is half of the full rate (Hockney, Parallel Computing 10(2),
 * 1989), less the start of a block and one access, which FILL has anyway.  Here are seconds, in
 * terms 1e6 of each.
 *
 * Of all skeletons but contract L2 = max((loaded + stored) / port, (loaded / read rate + stored /
 * write rate) * SMs at work), of the SM with the most blocks.  Stored are the sectors.c of every
 * store: of lanes side by side those of their run, half a sector more on average where it begins
 * anywhere in one.  */
#include "microperf/model.h"

#include <string.h>

static double factor(const Device *dev, const char *name) {
    return dev->n_factor ? hal_factor(dev, name) : 1;
}

/* Do the terms of a sum fall into the gaps of each other's neighbours, as taps 3 apart do where
 * outputs are 2 apart?  */
static bool terms_fill_gaps(const ROperand *op) {
    return op->stride_mn > 1 && op->stride_k > 1 && op->room > 0 &&
           op->stride_k % op->stride_mn != 0 && op->stride_mn % op->stride_k != 0;
}

/* DRAM moves whole sectors: an operand read with gaps costs as much as its sectors, but no more
 * than its tensor where terms fill the gaps.  */
static double gap_factor(const ROperand *op) {
    int64_t step = op->stride_mn, most = SECTOR / op->bytes;
    if (op->stride_k > 0 && (op->stride_k < step || step <= 0)) step = op->stride_k;
    if (!op->affine || step <= 1) return 1;
    double factor = (double)(step < most ? step : most);
    return terms_fill_gaps(op) ? lesser(factor, op->room) : factor;
}

/* What a copy takes longer than its reads and its writes.  */
static double turn_of(const MemoryLevel *dram) {
    double apart = 1 / dram->read.value + 1 / dram->write.value;
    return dram->copy.value > 0 ? greater(2 / dram->copy.value / apart - 1, 0) : 0;
}

/* Seconds that a kernel which reads so many bytes takes longer than they do at `rate`, what its SMs
 * can take.  */
static double ramp_of(const MemoryLevel *dram, double rate, double bytes) {
    const Curve *c = hal_level_curve(dram, "read", "total_bytes");
    int half = 0;
    if (!c || bytes <= 0) return 0;
    while (half < c->n - 1 && c->py[half] < dram->read.value / 2) half++;
    double amount = lesser(bytes, c->px[half]);
    return hal_curve_seconds(c, amount) - amount / rate;
}

/* A unit of 32 bits has another pipe beside it for what is no multiply-add, so that all may issue
 * (CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"); that of f64 does
 * everything.  Integers of 64 bits take two instructions of 32.  */
static void set_arithmetic(Model *m) {
    TeDtype t = m->p->contraction ? m->p->con.acc : m->p->type;
    int16_t unit = rprog_scalar_unit(m->dev, t);
    double rate = unit < 0 ? m->issue : m->dev->unit[unit].rate.value / (2 * WARP);
    m->slots = t == TE_I64 ? 2 : 1;
    m->unit = lesser(rate, m->issue) / m->slots;
    m->arithmetic = t == TE_F64 ? m->unit : m->issue / m->slots;
}

double mp_unit_rate(const Device *dev, const char *name) {
    for (int i = 0; i < dev->n_unit; i++)
        if (strcmp(dev->unit[i].name, name) == 0) return dev->unit[i].rate.value;
    return 0;
}

Model mp_model(const Problem *p, const Device *dev) {
    const DeviceLimits *l = &dev->limits;
    const MemoryLevel *dram = &dev->memory[LEVEL_DRAM], *l2 = &dev->memory[LEVEL_L2];
    const MemoryLevel *smem = &dev->memory[LEVEL_SMEM];
    Model m = {.p = p, .dev = dev, .clock = hal_clock_hz(dev), .sms = l->sm_count.value,
               .schedulers = l->subpartitions.value};
    m.issue = l->issue_per_clk.value * factor(dev, "issue");
    set_arithmetic(&m);
    m.functions = mp_unit_rate(dev, "mufu.ex2");
    m.dram_read = dram->read.value * factor(dev, "dram.read");
    m.dram_write = dram->write.value * factor(dev, "dram.write");
    m.l2_rate = l2->read.value * factor(dev, "l2.read");
    m.l2_write = hal_has(&l2->write) ? l2->write.value : m.l2_rate / 2;
    m.l2_port = l2->per_sm_max.value;
    double port = dram->per_sm_max.value > 0 ? dram->per_sm_max.value : m.l2_port;
    m.dram_port = lesser(port, m.l2_port) * m.clock;
    m.l2_capacity = l2->effective_capacity.value;
    m.smem_rate = smem->per_sm_max.value * factor(dev, "smem") /
                  (smem->banks.value * smem->bank_width.value);
    m.dram_latency = dram->latency.value;
    m.l2_latency = l2->latency.value;
    m.smem_latency = smem->latency.value;
    m.step_tax = dev->overheads.pipeline_step.value;
    m.block_start = dev->overheads.block_start.value;
    m.floor_us = dev->overheads.kernel_floor.value * 1e-3;
    m.launch_us = greater(0, m.floor_us - m.block_start / m.clock * 1e6);
    m.in_flight = hal_level_curve(dram, "read", "bytes_in_flight_per_sm");
    for (int side = 0; side < p->n_operand; side++) {
        const ROperand *op = &p->op[side];
        m.unique[side] = (double)op->unique * op->bytes * gap_factor(op);
        m.total_unique += m.unique[side];
    }
    if (!p->contraction) {
        double gaps = p->n_operand > 0 ? m.unique[0] * (1 - 1 / gap_factor(&p->op[0])) : 0;
        m.total_unique = (double)p->read_bytes + gaps;
    }
    m.out_bytes = (double)p->out_bytes;
    m.turn = turn_of(dram);
    double first = (m.block_start + m.dram_latency) / m.clock;
    double rate = lesser(dram->read.value, m.sms * m.dram_port);
    m.ramp_us = greater(ramp_of(dram, rate, m.total_unique) - first, 0) * 1e6;
    return m;
}

double mp_dram_us(const Model *m, double reads, double read_rate, double writes,
                  double write_rate) {
    double r = reads / m->dram_read, w = writes / m->dram_write, both = r + w;
    double bus = both > 0 ? both + m->turn * 4 * r * w / both : 0;
    return greater(bus, reads / read_rate + writes / write_rate) * 1e6;
}

double mp_l2_clocks(const Model *m, double active, double loaded, double stored) {
    double device = (loaded / m->l2_rate + stored / m->l2_write) * m->clock * active;
    return greater((loaded + stored) / m->l2_port, device);
}

void mp_finish(Estimate *e) {
    e->limiter = MP_DRAM;
    for (MpTerm t = MP_DRAM; t <= MP_LATENCY; t++) {
        if (e->term[t] > e->term[e->limiter]) e->limiter = t;
    }
    e->us = e->term[e->limiter];
    e->term[MP_OVERLAP] = 0;
    for (MpTerm t = MP_LATENCY + 1; t < MP_COUNT; t++) e->us += e->term[t];
    /* Issue slots that mostly carry the unit's own instructions: the unit is what limits.  */
    if (e->limiter == MP_ISSUE && e->term[MP_COMPUTE] >= 0.85 * e->term[MP_ISSUE]) {
        e->limiter = MP_COMPUTE;
    }
}

void mp_finish_turns(Estimate *e, double turns) {
    mp_finish(e);
    double work = greater(e->term[MP_COMPUTE], e->term[MP_ISSUE]), smem = e->term[MP_SMEM];
    double most = greater(work, smem), power = 1, sum = 0, longest = 0;
    for (MpTerm t = MP_DRAM; t <= MP_LATENCY; t++) longest = greater(longest, e->term[t]);
    if (most <= 0) return;
    for (int i = 0; i < turns; i++) {
        sum += power;
        power *= lesser(work, smem) / most;
    }
    e->term[MP_OVERLAP] = greater(most * (1 + power / sum) - longest, 0);
    e->us += e->term[MP_OVERLAP];
}

/* Of a queue that is busy for a share u of the time, the share of u * u for which others wait.  */
#define OVERLAP 0.1

void mp_finish_ring(Estimate *e, double ahead) {
    double squares = 0, longest = 0, largest = 0;
    mp_finish(e);
    for (MpTerm t = MP_DRAM; t <= MP_LATENCY; t++) longest = greater(longest, e->term[t]);
    const double pipe[] = {e->term[MP_DRAM], e->term[MP_L2], e->term[MP_SMEM],
                           greater(e->term[MP_COMPUTE], e->term[MP_ISSUE])};
    for (int i = 0; i < 4; i++) {
        squares += pipe[i] * pipe[i];
        largest = greater(largest, pipe[i]);
    }
    if (largest == longest) squares -= largest * largest;
    if (squares > 0) e->term[MP_OVERLAP] = OVERLAP / ahead * squares / longest;
    e->us += e->term[MP_OVERLAP];
}

void mp_fixed(Buf *out, double v, int decimals) {
    int64_t scale = 1;
    for (int i = 0; i < decimals; i++) scale *= 10;
    if (!(v < 9e12)) {
        buf_puts(out, "inf");
        return;
    }
    if (v < 0) {
        buf_putc(out, '-');
        v = -v;
    }
    int64_t whole = (int64_t)(v * (double)scale + 0.5);
    buf_printf(out, "%lld", (long long)(whole / scale));
    if (decimals > 0) buf_printf(out, ".%0*lld", decimals, (long long)(whole % scale));
}
