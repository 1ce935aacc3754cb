/* A time from counters and a profile.  docs/simulator.md, "Timing", has the same formulas in
 * words.  */
#include "sim/sim.h"
#include <math.h>

/* Warp instructions per clock and SM of every pipe, where the profile has no unit for it.  */
static const struct {
    SimPipe pipe;
    const char *unit;         /* in the profile; its rate is per thread operation */
    double otherwise;         /* operations per clock and SM */
    double per_op;            /* FLOP of one operation */
} pipes[] = {
    {SIM_PIPE_FFMA, "ffma", 128, 2},      {SIM_PIPE_DFMA, "dfma", 2, 2},
    {SIM_PIPE_HFMA, "hfma2", 128, 4},     {SIM_PIPE_IMAD, "imad", 64, 1},
    {SIM_PIPE_ALU, "alu", 64, 1},         {SIM_PIPE_CVT, "cvt", 16, 1},
    {SIM_PIPE_MUFU, "mufu.ex2", 16, 1},   {SIM_PIPE_SHFL, "shfl", 32, 1},
    {SIM_PIPE_LSU, "lsu", 32, 1},         {SIM_PIPE_CONTROL, "control", 64, 1},
    {SIM_PIPE_UNIFORM, "uniform", 64, 1},
};

static double at_least(double v, double least) { return v > least ? v : least; }

static double figure(const Figure *f, double otherwise) {
    return f->value > 0 ? f->value : otherwise;
}

/* Clocks per SM that the busiest pipe needs, work spread over `sms`.  */
static double pipe_clocks(const Device *dev, const SimCounters *c, double sms) {
    double most = (double)c->instructions / sms / figure(&dev->limits.issue_per_clk, 4);
    for (size_t n = 0; n < sizeof pipes / sizeof pipes[0]; n++) {
        const ComputeUnit *u = hal_unit(dev, pipes[n].unit);
        double rate = u && u->rate.value > 0 ? u->rate.value / pipes[n].per_op : pipes[n].otherwise;
        most = at_least((double)c->pipe[pipes[n].pipe] * 32 / sms / rate, most);
    }
    return most;
}

/* Clocks of the tensor units: all FLOP that no scalar pipe accounts for, at the best matrix
 * rate.  */
static double tensor_clocks(const Device *dev, const SimCounters *c, double sms) {
    if (c->pipe[SIM_PIPE_TENSOR] == 0) return 0;
    double best = 1024;
    for (int n = 0; n < dev->n_unit; n++) {
        if (dev->unit[n].scope != SCOPE_THREAD) best = at_least(dev->unit[n].rate.value, best);
    }
    return (double)c->flops / sms / best;
}

double sim_time(const Device *dev, const SimCounters *c, const SimLaunch *l, int registers) {
    double blocks = (double)l->grid[0] * l->grid[1] * l->grid[2];
    int threads = (int)(l->block[0] * l->block[1] * l->block[2]);
    int per_sm = hal_blocks_per_sm(dev, threads, registers, l->dynamic_smem);
    double all = dev->limits.sm_count.value, slots = all * at_least(per_sm, 1);
    double sms = blocks < all ? at_least(blocks, 1) : all;
    double waves = ceil(blocks / slots), fill = blocks / (waves * slots);
    if (blocks < slots) fill = 1;                        /* `sms` says it already */
    double shared = (double)(c->shared_load_wavefronts + c->shared_store_wavefronts) / sms;
    double clocks = at_least(pipe_clocks(dev, c, sms), tensor_clocks(dev, c, sms));
    clocks = at_least(shared, clocks) / fill;
    const MemoryLevel *dram = &dev->memory[LEVEL_DRAM], *l2 = &dev->memory[LEVEL_L2];
    double sectors = (double)(c->global_load_sectors + c->global_store_sectors) * 32;
    double unique = (double)(c->unique_load_sectors + c->unique_store_sectors) * 32;
    double hz = hal_clock_hz(dev);
    double seconds = clocks / hz;
    seconds = at_least(sectors / figure(&l2->read, 5e12), seconds);
    seconds = at_least(unique / figure(&dram->read, 1e12), seconds);
    double latency = figure(&dram->latency, 600) + dev->overheads.block_start.value;
    seconds += waves * latency / hz + dev->overheads.kernel_floor.value * 1e-9;
    return seconds * 1e6;
}
