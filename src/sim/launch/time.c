/* A time from what a launch did and a profile; docs/simulator.md, "Timing", has the ideas.
 *
 * Blocks run in waves of sm_count x blocks per SM, or clusters_resident x blocks of a cluster x
 * blocks per SM; the rest that fills no wave has ceil(rest / SMs) on an SM.  From the second wave
 * on each takes at least block_start + the time of a block alone; its blocks are not in step, so
 * that it is as long as the busiest thing that they share, or as one of them.  Blocks of an SM have
 * run on the same pipes (server.c), from the first to all of them, so that the time of each number
 * of them is known; what has no pipe of its own there, or more blocks than have run, is shared by
 * sums.
 * L2: the largest of loaded bytes / rate, and loaded / read + stored / write, of what L1 does not
 * serve.  The rate is that of the curve over the footprint at what is touched between two uses of a
 * line.  Uses are told apart by 128ths of a warp's instructions: blocks that run together ask for a
 * line at about the same time and find it in L2; a line that comes again later is there as far as
 * what all resident blocks touched meanwhile leaves it.  With fewer SMs at work the curve over
 * active_sms is a limit.
 * DRAM reads the sectors that L2 did not hold before the launch, whole ones; of those that lie
 * alone the bytes asked for.  The rate is `read`, at most the curves over active_sms and over
 * bytes_in_flight_per_sm, times the share that the curve over run_length gives to the mean run.  No
 * launch is faster than the curve over total_bytes, between whose points time is linear, and all
 * have the time for which it leaves DRAM idle.  Stored sectors that L2 did not hold take bytes /
 * (write x share of the run length).  Reading and writing for as long as each other runs at `copy`;
 * x of the time reading, the difference counts 4x(1 - x).
 * The launch itself is kernel_floor, which includes the start of the first blocks.  */
#include "sim/state/memory_state.h"
#include "sim/timing/timing.h"
#include <math.h>

static double most(double a, double b) { return a > b ? a : b; }
static double least(double a, double b) { return a < b ? a : b; }

static double figure(const Figure *f, double otherwise) {
    return f->value > 0 ? f->value : otherwise;
}

/* The launch as all its blocks make it.  */
typedef struct {
    const SimRun *run;
    const Device *dev;
    const SimCounters *count;
    const SimSlices *work;
    const SimFootprint *f;
    double run_blocks, blocks;            /* simulated; of the grid */
    double sms, per_sm, slots, warps;     /* warps: of a block */
    double active, together;              /* SMs that get a block; blocks on one of them */
    double cold;                          /* share of an SM's sectors that are DRAM's */
    double sectors;                       /* of a block */
    double l2, dram;                      /* seconds that they take */
    uint64_t *whole;          /* sums over all slices */
    double *clk, *excess;     /* scratch: of each of n_shared things to share */
    int n_shared;
} Launch;

static double each(const Launch *l, uint64_t sum) { return (double)sum / l->run_blocks; }

/* A sum over all slices, of one block.  */
static double total(const Launch *l, int sum) {
    return each(l, l->whole[sim_work_sum(l->run->timing, sum)]);
}

/* ---- one SM ---- */

/* Clocks of so many blocks of an SM along their dependences and pipes: of as many as ran, or of
 * the first of more.  */
static double path_of(const Launch *l, double blocks) {
    int n = (int)least(blocks, SIM_RESIDENT);
    const SimPaths *p = &l->work->last[n - 1];
    if (!p->n) p = &l->work->nth[n - 1];
    if (!p->n && n > 1) return path_of(l, n - 1);
    return (double)p->ticks / (double)p->n / SIM_TICKS;
}

/* A slice of a block's time.  */
typedef struct {
    const Launch *launch;
    const uint64_t *sum;
} Slice;

static double of(const Slice *s, int work) { return each(s->launch, s->sum[work]); }
static double sum_of(const Slice *s, int sum) {
    return of(s, sim_work_sum(s->launch->run->timing, sum));
}

/* Clocks that one block takes of the shared memory of its SM, `l1` of them for global memory.  */
static double shared_clocks(const Slice *s, double *l1) {
    const MemoryLevel *m = &s->launch->dev->memory[LEVEL_SMEM];
    double passes = sum_of(s, SUM_PASSES), fewest = passes - sum_of(s, SUM_CONFLICTS);
    double bytes = figure(&m->banks, 32) * figure(&m->bank_width, 4);
    *l1 = sum_of(s, SUM_L1) * bytes / figure(&m->per_sm_max, bytes);
    const Curve *ways = hal_level_curve(m, "read", "conflict_ways");
    if (ways && fewest > 0) return fewest * bytes / hal_curve(ways, passes / fewest);
    return passes * bytes / figure(&m->per_sm_max, bytes);
}

/* Clocks that one block takes of everything that blocks share, in an order of its own: *n of them.
 * `memory` are those of L2 and DRAM in all its slices.  */
static void clocks_of(const Slice *s, double memory, double *clk, int *n) {
    const Launch *l = s->launch;
    const SimTiming *t = l->run->timing;
    double lsu = 0, l1, bytes = 32 * sum_of(s, SUM_SECTORS);
    *n = 0;
    clk[(*n)++] = sum_of(s, SUM_ISSUED) / figure(&l->dev->limits.issue_per_clk, 4);
    for (int u = 0; u < t->n_unit; u++) {
        const ComputeUnit *x = &l->dev->unit[u];
        double rate = x->warps.n ? hal_curve(&x->warps, l->warps * l->together) : x->rate.value;
        clk[(*n)++] = of(s, u) / rate;
    }
    for (int p = 0; p < SIM_PIPE_COUNT; p++) {
        clk[(*n)++] = of(s, sim_work_pipe(t, p)) / sim_pipe_rate(p);
    }
    for (int m = 0; m < t->n_mover; m++) {
        const Mover *x = &l->dev->mover[m];
        lsu += of(s, sim_work_moves(t, m)) * x->cost.value;
        clk[(*n)++] = of(s, sim_work_bytes(t, m)) / x->rate.value;
    }
    clk[(*n)++] = lsu;
    clk[(*n)++] = sum_of(s, SUM_ATOMIC) / SIM_TICKS;
    double shared = shared_clocks(s, &l1);
    clk[(*n)++] = shared;
    const MemoryLevel *level = l->dev->memory;
    clk[(*n)++] = bytes / figure(&level[LEVEL_L2].per_sm_max, INFINITY);
    clk[(*n)++] = bytes * l->cold / figure(&level[LEVEL_DRAM].per_sm_max, INFINITY);
    clk[(*n)++] = shared + l1;
    if (l->sectors > 0) clk[(*n)++] = memory * sum_of(s, SUM_SECTORS) / l->sectors;
}

/* Clocks of `blocks` resident blocks of an SM: what they take along dependences and pipes; or one
 * of them, and longer by what keeps something shared busy beyond that, in the stretch of slices
 * where it is most.  Not both: when the first one has waited, it computes while others wait.  */
static double wave_clocks(const Launch *l, double blocks, double memory) {
    double path = path_of(l, 1), all = total(l, SUM_PATH), longest = 0;
    for (int r = 0; r < l->n_shared; r++) l->excess[r] = 0;
    for (int k = 0; k < l->work->used; k++) {
        Slice s = {l, l->work->sum + k * l->work->n_work};
        double time = path * sum_of(&s, SUM_PATH) / all;
        int n;
        clocks_of(&s, memory / blocks, l->clk, &n);
        for (int r = 0; r < n; r++) {
            l->excess[r] = most(0, l->excess[r] + l->clk[r] * blocks - time);
            longest = most(longest, l->excess[r]);
        }
    }
    return most(path_of(l, blocks), path + longest);
}

/* Clocks of a wave behind another one.  Its blocks begin as others end, so that they are not at the
 * same place, and while one waits for memory the others use what it will use then.  */
static double next_wave(const Launch *l, double blocks, double memory) {
    Slice all = {l, l->whole};
    double start = figure(&l->dev->overheads.block_start, 0);
    double longest = most(start + path_of(l, 1), wave_clocks(l, 1, memory / blocks));
    int n;
    clocks_of(&all, memory / blocks, l->clk, &n);
    for (int r = 0; r < n; r++) longest = most(longest, l->clk[r] * blocks);
    return most(longest, path_of(l, blocks));
}

/* Clocks of the grid after its first blocks have started.  The start of later ones hides behind
 * blocks that are resident.  */
static double grid_clocks(const Launch *l, double memory_clocks) {
    double full = floor(l->blocks / l->slots), rest = l->blocks - full * l->slots, clk = 0;
    if (full > 0) {
        double memory = memory_clocks * l->slots / l->blocks;
        clk = wave_clocks(l, l->per_sm, memory);
        if (full > 1) clk += (full - 1) * next_wave(l, l->per_sm, memory);
    }
    if (rest > 0) {
        double blocks = ceil(rest / least(rest, l->sms)), memory = memory_clocks * rest / l->blocks;
        clk += full > 0 ? next_wave(l, blocks, memory) : wave_clocks(l, blocks, memory);
    }
    return clk;
}

/* ---- the device ---- */

/* No kernel reads this much from DRAM in less.  `idle`: what that is longer than DRAM's own time,
 * or that of the SMs' ports, the start of a block and its first access.  */
static double dram_ramp(const Launch *l, double hz, double *idle) {
    const MemoryLevel *m = &l->dev->memory[LEVEL_DRAM];
    const Curve *c = hal_level_curve(m, "read", "total_bytes");
    double bytes = 32 * l->f->cold_loads, start = figure(&l->dev->overheads.block_start, 0);
    double whole = c ? hal_curve_seconds(c, bytes) : 0;
    double port = l->active * figure(&m->per_sm_max, INFINITY) * hz;
    double own = most(l->dram, bytes / port) + (start + figure(&m->latency, 0)) / hz;
    *idle = most(whole - own, 0);
    return whole;
}

/* The share of its full rate that a level has for runs of this length.  */
static double run_share(const MemoryLevel *m, const char *of, double length) {
    const Curve *c = hal_level_curve(m, of, "run_length");
    return c ? hal_curve(c, length) / c->py[c->n - 1] : 1;
}

/* Bytes of cold sectors.  Of sectors that lie alone the curve over the run length tells what a part
 * of one costs: then it is those asked for of all that were touched, each once.  */
static double moved(const Launch *l, uint64_t asked, double touched, double runs, double cold) {
    double share = (double)asked * l->blocks / l->run_blocks / (32 * most(touched, 1));
    return 32 * cold * (touched > runs ? 1 : least(share, 1));
}

static double dram_read(const Launch *l) {
    const MemoryLevel *m = &l->dev->memory[LEVEL_DRAM];
    if (l->f->cold_loads <= 0) return 0;
    const SimFootprint *f = l->f;
    double bytes = moved(l, l->count->global_load_bytes, f->loaded, f->load_runs, f->cold_loads);
    double whole = figure(&m->read, 1e12), rate = whole;
    const Curve *sms = hal_level_curve(m, "read", "active_sms");
    if (sms && l->active < l->sms) rate = least(rate, hal_curve(sms, l->active));
    const Curve *flight = hal_level_curve(m, "read", "bytes_in_flight_per_sm");
    double under_way = total(l, SUM_IN_FLIGHT) * l->together;
    if (flight && under_way < flight->px[flight->n - 1]) {
        double share = hal_curve(flight, under_way) * least(1, under_way / flight->px[0]);
        rate = least(rate, share * l->active / l->sms);
    }
    double length = bytes / most(l->f->load_runs, 1) * l->f->loaded / l->f->cold_loads;
    return bytes / (rate * run_share(m, "read", length));
}

static double dram_write(const Launch *l) {
    const MemoryLevel *m = &l->dev->memory[LEVEL_DRAM];
    if (l->f->cold_stores <= 0) return 0;
    const SimFootprint *f = l->f;
    double bytes = moved(l, l->count->global_store_bytes, f->stored, f->store_runs, f->cold_stores);
    double length = bytes / most(l->f->store_runs, 1) * l->f->stored / l->f->cold_stores;
    return bytes / (figure(&m->write, figure(&m->read, 1e12)) * run_share(m, "write", length));
}

/* Reading and writing at once: with as much time for each as for the other, the rate of a copy.  */
static double dram_seconds(const Launch *l) {
    const MemoryLevel *m = &l->dev->memory[LEVEL_DRAM];
    double r = dram_read(l), w = dram_write(l);
    if (r + w <= 0 || m->copy.value <= 0) return r + w;
    double apart = 1 / figure(&m->read, 1e12) + 1 / figure(&m->write, figure(&m->read, 1e12));
    double x = r / (r + w);
    return (r + w) * (1 + (2 / m->copy.value / apart - 1) * 4 * x * (1 - x));
}

/* Bytes per second of lines that come again when so many others have been touched, by all blocks
 * that are resident.  */
static double l2_rate(const Launch *l, double lines) {
    const MemoryLevel *m = &l->dev->memory[LEVEL_L2];
    const Curve *over = hal_level_curve(m, "read", "footprint");
    const Curve *sms = hal_level_curve(m, "read", "active_sms");
    double held = least(lines, l->f->lines) * least(1, l->slots / l->blocks);
    double rate = figure(&m->read, 5e12);
    if (over) rate = hal_curve(over, held * (double)l->run->gpu->line);
    return sms && l->active < l->sms ? least(rate, hal_curve(sms, l->active)) : rate;
}

/* Blocks that ask for a line at about the same time find it in L2 as far as what is touched in that
 * time leaves it there; who comes again later, as far as what was touched meanwhile does.  */
static double l2_seconds(const Launch *l) {
    const MemoryLevel *m = &l->dev->memory[LEVEL_L2];
    const SimFootprint *f = l->f;
    double scale = l->blocks / l->run_blocks * 32, hits = total(l, SUM_HITS) * l->run_blocks;
    double loads = scale * ((double)l->count->global_load_sectors - hits);
    double stores = scale * (double)l->count->global_store_sectors;
    double visited = 32 * (f->loaded + f->stored) / most(f->lines, 1) * f->visits;
    double again = f->visits - f->lines, gap = again > 0 ? f->gaps / again : 0;
    double later = l2_rate(l, f->visits * gap), soon = l2_rate(l, f->visits / most(f->pieces, 1));
    double far = least(loads, visited), read = figure(&m->read, 5e12);
    return most(far / later + (loads - far) / soon,
                loads / most(read, soon) + stores / figure(&m->write, read));
}

/* ---- the launch ---- */

static double volume(const uint32_t n[3]) { return (double)n[0] * n[1] * n[2]; }

static double seconds_at(const Launch *l, double hz) {
    double memory = most(l->dram, l->l2), idle, ramp = dram_ramp(l, hz, &idle);
    return most(most(memory, grid_clocks(l, memory * hz) / hz) + idle, ramp);
}

/* The clock that the board's power allows a launch that took so many seconds at `hz`: power goes
 * with the share of the time for which a unit works, and with the cube of the clock.  A slower
 * clock makes the launch longer, and that the clock slower: of some iterations the last one changes
 * little.  */
enum { CLOCK_ITERATIONS = 4 };
static double allowed_hz(const Launch *l, double hz, double seconds) {
    double allowed = hal_clock_hz(l->dev);
    for (int u = 0; u < l->dev->n_unit; u++) {
        const ComputeUnit *x = &l->dev->unit[u];
        double clk = each(l, l->whole[u]) * l->blocks / l->active / x->rate.value;
        double share = least(1, clk / hz / seconds);
        if (share > 0 && hal_slows(l->dev, x))
            allowed = least(allowed, hal_busy_hz(l->dev, x, seconds * 1e6) / cbrt(share));
    }
    return allowed;
}

static uint64_t *whole_of(Arena *a, const SimSlices *work) {
    uint64_t *sum = ARENA_ARRAY(a, uint64_t, work->n_work);
    for (int k = 0; k < work->used; k++)
        for (int n = 0; n < work->n_work; n++) sum[n] += work->sum[k * work->n_work + n];
    return sum;
}

double sim_time(Arena *a, const SimRun *r, const SimCounters *c, const SimSlices *work,
                const SimFootprint *f, int64_t blocks) {
    if (blocks == 0) return 0;
    Launch l = {.run = r, .dev = r->dev, .count = c, .work = work, .f = f,
                .run_blocks = (double)blocks, .blocks = volume(r->grid)};
    l.warps = ceil(volume(r->ntid) / 32.0);
    l.sms = r->dev->limits.sm_count.value;
    l.per_sm = sim_resident(r);
    l.slots = sim_slots(r);
    l.active = least(l.sms, l.blocks);
    l.together = least(l.per_sm, ceil(l.blocks / l.active));
    l.whole = whole_of(a, work);
    l.sectors = total(&l, SUM_SECTORS);
    l.cold = l.sectors > 0 ? (f->cold_loads + f->cold_stores) / (l.sectors * l.blocks) : 0;
    l.n_shared = work->n_work + 8;
    l.clk = ARENA_ARRAY(a, double, l.n_shared);
    l.excess = ARENA_ARRAY(a, double, l.n_shared);
    l.l2 = l2_seconds(&l);
    l.dram = dram_seconds(&l);
    double hz = hal_clock_hz(r->dev), seconds = seconds_at(&l, hz);
    for (int n = 0; n < CLOCK_ITERATIONS; n++) {
        hz = allowed_hz(&l, hz, seconds);
        seconds = seconds_at(&l, hz);
    }
    return seconds * 1e6 + r->dev->overheads.kernel_floor.value * 1e-3;
}
