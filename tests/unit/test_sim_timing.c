/* links: sim */
/* Simulated time: small kernels on devices unlike any other, from whose times the constants of
 * their profiles are worked out again.  */
#include "ptxrun.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SMS = 7, MHZ = 900, UNITS = 12, MOVERS = 2 };
static PtxRun r;
static ComputeUnit units[UNITS];
static UnitFamily families[1];
static Mover movers[MOVERS];

static Figure of(double v) { return (Figure){.value = v, .unit = "1"}; }

static Curve *curve(Arena *a, const char *what, const char *x, int n, const double *px,
                    const double *py) {
    Curve *c = ARENA_NEW(a, Curve);
    c->of = what;
    c->x = x;
    c->n = n;
    c->px = ARENA_ARRAY(a, double, n);
    c->py = ARENA_ARRAY(a, double, n);
    memcpy(c->px, px, (size_t)n * sizeof *px);
    memcpy(c->py, py, (size_t)n * sizeof *py);
    return c;
}

static void unit(int k, const char *name, UnitScope scope, int m, int n, int kk, TeDtype a,
                 TeDtype acc, bool product, double rate, double latency) {
    units[k] = (ComputeUnit){.name = name, .family = name, .scope = scope, .m = {m, m, 1},
                             .n = {n, n, 1}, .k = {kk, kk, 1}, .a = a,
                             .b = product ? a : HAL_NO_DTYPE, .acc = acc, .rate = of(rate),
                             .latency = of(latency)};
    if (latency <= 0) units[k].latency = (Figure){0};
    if (k >= r.dev.n_unit) r.dev.n_unit = k + 1;
}

/* 7 SMs, 16 banks, a port of 48 B/clk: like no device.  */
static void odd_memory(Device *d) {
    MemoryLevel *m = d->memory;
    m[LEVEL_SMEM].latency = of(37);
    m[LEVEL_SMEM].banks = of(16);
    m[LEVEL_SMEM].bank_width = of(4);
    m[LEVEL_SMEM].per_sm_max = of(64);
    m[LEVEL_DSMEM].latency = of(240);
    m[LEVEL_L2].latency = of(311);
    m[LEVEL_L2].line = of(128);
    m[LEVEL_L2].capacity = of(1 << 18);
    m[LEVEL_L2].effective_capacity = of(200000);
    m[LEVEL_L2].read = of(250e9);
    m[LEVEL_L2].write = of(150e9);
    m[LEVEL_L2].per_sm_max = of(48);
    m[LEVEL_DRAM].latency = of(799);
    m[LEVEL_DRAM].read = of(41e9);
    m[LEVEL_DRAM].write = of(37e9);
    m[LEVEL_DRAM].copy = of(33e9);
}

static void odd_units(Device *d) {
    d->unit = units;
    d->n_unit = UNITS;
    d->family = families;
    families[0] = (UnitFamily){.name = "ffma"};
    d->n_family = 1;
    unit(0, "ffma", SCOPE_THREAD, 1, 1, 1, TE_F32, TE_F32, true, 192, 5);
    unit(1, "dfma", SCOPE_THREAD, 1, 1, 1, TE_F64, TE_F64, true, 6, 58);
    unit(2, "hfma2", SCOPE_THREAD, 1, 2, 1, TE_F16, TE_F16, true, 144, 7);
    unit(3, "imad", SCOPE_THREAD, 1, 1, 1, TE_I32, TE_I32, true, 80, 6);
    unit(4, "mufu.ex2", SCOPE_THREAD, 1, 1, 1, TE_F32, TE_F32, false, 12, 23);
    unit(5, "mufu.lg2", SCOPE_THREAD, 1, 1, 1, TE_F32, TE_F32, false, 5, 31);
    unit(6, "shfl", SCOPE_WARP, 1, 32, 1, TE_I32, TE_I32, false, 24, 19);
    unit(7, "redux", SCOPE_WARP, 1, 32, 1, TE_I32, TE_I32, false, 9, 27);
    unit(8, "mma.m16n8k16.f16.f32", SCOPE_WARP, 16, 8, 16, TE_F16, TE_F32, true, 1500, 29);
    unit(9, "mma.m16n8k32.i8.i32", SCOPE_WARP, 16, 8, 32, TE_I8, TE_I32, true, 2700, 26);
    unit(10, "dp4a", SCOPE_THREAD, 1, 1, 4, TE_I8, TE_I32, true, 210, 9);
    unit(11, "wgmma.f16.f32", SCOPE_WARPGROUP, 64, 64, 16, TE_F16, TE_F32, true, 3300, 150);
    d->mover = movers;
    d->n_mover = MOVERS;
    movers[0] = (Mover){.name = "ldg.32", .granule = 4, .rate = of(64), .cost = of(1)};
    movers[1] = (Mover){.name = "cp.async.16", .granule = 16, .rate = of(30), .cost = of(3)};
}

static void odd_overheads(DeviceOverheads *o) {
    const double threads[] = {32, 128, 1024}, clk[] = {31, 43, 140};
    o->kernel_floor = of(1700);
    o->block_start = of(333);
    o->atomic_same = of(77);
    o->atomic_distinct = of(13);
    o->mbarrier = of(91);
    o->cluster_barrier = of(207);
    o->barrier = *curve(r.arena, "barrier", "threads", 3, threads, clk);
}

static int open_odd(void **state) {
    (void)state;
    run_open(&r);
    Device *d = &r.dev;
    d->limits.sm_count = of(SMS);
    d->limits.clock_sm_sustained = of(MHZ);
    odd_memory(d);
    odd_units(d);
    odd_overheads(&d->overheads);
    assert_int_equal(sim_gpu_create(r.arena, &r.diag, d, &r.gpu), ST_OK);
    r.options.timed = r.options.no_races = true;
    return 0;
}

static int close_odd(void **state) {
    (void)state;
    run_close(&r);
    return 0;
}

static void near_to(double got, double want, const char *what) {
    if (fabs(got - want) <= 0.05 * want) return;
    fail_msg("%s: %g, not %g", what, got, want);
}

/* ---- slopes ---- */

/* Clocks of a launch beyond an empty one; argument `at` is the number of iterations.  */
static double clocks(const char *text, int at, int iterations) {
    r.arg[at] = (uint64_t)iterations;
    run_clean(&r, text);
    return r.report.time_us * MHZ;
}

/* Clocks that one of `copies` copies of `body` takes in a loop; the number of iterations is the
 * argument after those there are.  `body` may have one %d: the number of the copy.  */
static double slope(const char *setup, const char *body, int copies) {
    int at = r.n_arg++;
    Buf b = buf_new(r.arena);
    buf_printf(&b, "cvt.u32.u64 %%r399, %%a%d;\n%s\nL:\n", at, setup);
    for (int k = 0; k < copies; k++) {
        for (const char *c = body; *c; c++) {
            if (*c == '#') buf_printf(&b, "%d", k);
            else buf_putc(&b, *c);
        }
        buf_putc(&b, '\n');
    }
    buf_puts(&b, "sub.u32 %r399, %r399, 1; setp.ne.u32 %p9, %r399, 0; @%p9 bra L;\n");
    const char *text = run_kernel(r.arena, r.n_arg, buf_str(&b));
    clocks(text, at, 22);                 /* both series find in L2 what the few touch, */
    clocks(text, at, 2);                  /* and all where L2 holds all */
    double few = clocks(text, at, 2), many = clocks(text, at, 22);
    r.n_arg--;
    return (many - few) / (20.0 * copies);
}

/* ---- units ---- */

static const struct {
    int unit;
    const char *setup, *step;             /* # is the register of a chain */
    double ops;                           /* of a warp */
} steps[] = {
    {0, "", "fma.rn.f32 %r#, %r#, %r#, %r#;", 64},
    {0, "", "add.f32 %r#, %r#, %r#;", 64},
    {1, "", "fma.rn.f64 %d#, %d#, %d#, %d#;", 64},
    {2, "", "fma.rn.f16x2 %r#, %r#, %r#, %r#;", 128},
    {3, "", "mad.lo.s32 %r#, %r#, %r#, %r#;", 64},
    {4, "", "ex2.approx.f32 %r#, %r#;", 32},
    {5, "", "lg2.approx.f32 %r#, %r#;", 32},
    {6, "", "shfl.sync.bfly.b32 %r#, %r#, 1, 31, -1;", 32},
    {7, "", "redux.sync.add.u32 %r#, %r#, -1;", 32},
    {8, "", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r#, %r1#, %r2#, %r3#}, "
            "{%r80, %r81, %r82, %r83}, {%r80, %r81}, {%r#, %r1#, %r2#, %r3#};", 4096},
    {9, "", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r#, %r1#, %r2#, %r3#}, "
            "{%r80, %r81, %r82, %r83}, {%r80, %r81}, {%r#, %r1#, %r2#, %r3#};", 8192},
    {10, "", "dp4a.s32.s32 %r#, %r#, %r#, %r#;", 256},
};

static void rates_and_latencies(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        const ComputeUnit *u = &units[steps[k].unit];
        r.launch.block[0] = 1024;
        double busy = slope(steps[k].setup, steps[k].step, 8);
        near_to(32 * steps[k].ops / busy, u->rate.value, arena_printf(r.arena, "%s", u->name));
        r.launch.block[0] = 32;
        Buf one = buf_new(r.arena);
        for (const char *c = steps[k].step; *c; c++) buf_putc(&one, *c == '#' ? '7' : *c);
        double chain = slope(steps[k].setup, buf_str(&one), 32);
        near_to(chain, u->latency.value, arena_printf(r.arena, "%s latency", u->name));
    }
}

/* m64n64k16 out of shared memory; the last of a group is waited for.  */
static const char *wgmma(int products) {
    Buf b = buf_new(r.arena);
    buf_puts(&b, "wgmma.fence.sync.aligned; ");
    for (int k = 0; k < products; k++) {
        buf_puts(&b, "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {");
        for (int e = 0; e < 32; e++) buf_printf(&b, "%s%%r%d", e ? ", " : "", 100 + e);
        buf_puts(&b, "}, %l10, %l10, 1, 1, 1, 0, 0; ");
    }
    buf_puts(&b, "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
    return buf_str(&b);
}

static void wgmma_rate_and_latency(void **state) {
    (void)state;
    enum { OPS = 2 * 64 * 64 * 16 };
    Buf setup = buf_new(r.arena);
    for (int e = 0; e < 32; e++) buf_printf(&setup, "mov.u32 %%r%d, 0; ", 100 + e);
    buf_puts(&setup, "mad.lo.u32 %r0, %t, 32, 1024; mov.u32 %r1, 0; "
                     "st.shared.v4.u32 [%r0], {%r1, %r1, %r1, %r1}; "
                     "st.shared.v4.u32 [%r0+16], {%r1, %r1, %r1, %r1}; "
                     "fence.proxy.async; bar.sync 0; mov.u64 %l10, 0x0000000800080040;");
    r.launch.block[0] = 128;
    r.launch.dynamic_smem = 16384;
    double one = slope(buf_str(&setup), wgmma(1), 8), ten = slope(buf_str(&setup), wgmma(10), 2);
    near_to(9 * OPS / (ten - one), 3300, "wgmma rate");
    near_to(one, 150, "wgmma latency");
}

/* Two warps take turns around a barrier: what is behind it begins when the last one has come.  */
static void work_behind_a_barrier(void **state) {
    (void)state;
    static const char turn[] = "setp.lt.u32 %p1, %t, 32; @!%p1 bra S#; CHAIN S#: bar.sync 0;"
                               "@%p1 bra T#; CHAIN T#: bar.sync 0;";
    enum { CHAIN = 100, FFMA = 5, BARRIER = 35 };
    Buf body = buf_new(r.arena);
    for (const char *c = turn; *c; c++) {
        bool chain = !strncmp(c, "CHAIN", 5);
        for (int k = 0; k < CHAIN && chain; k++)
            buf_puts(&body, "fma.rn.f32 %r7, %r7, %r7, %r7; ");
        if (chain) c += 4;
        else buf_putc(&body, *c);
    }
    r.launch.block[0] = 64;
    near_to(slope("", buf_str(&body), 1), 2 * (CHAIN * FFMA + BARRIER), "two turns");
}

/* ---- memory ---- */

/* A ring of `n` words `stride` bytes apart, of addresses (global) or offsets.  */
static uint64_t ring(int n, int stride, bool global) {
    size_t bytes = (size_t)n * (size_t)stride;
    unsigned char *host = arena_alloc(r.arena, bytes);
    memset(host, 0, bytes);
    uint64_t at = run_memory(&r, host, bytes);
    for (int k = 0; k < n; k++) {
        uint64_t next = (uint64_t)((k * 7 + 7) % (7 * n) / 7 * stride) + (global ? at : 0);
        memcpy(sim_host(r.gpu, at + (uint64_t)(k * stride), 8), &next, 8);
    }
    return at;
}

static void latency_of_global_memory(void **state) {
    (void)state;
    ring(64, 128, true);                  /* stays in L2 */
    near_to(slope("mov.u64 %l0, %a0;", "ld.global.cg.u64 %l0, [%l0];", 16), 311, "L2 latency");
    r.n_arg = 0;
    ring(4096, 128, true);                /* twice the L2 */
    near_to(slope("mov.u64 %l0, %a0;", "ld.global.cg.u64 %l0, [%l0];", 300), 799, "DRAM latency");
}

/* L1 is what shared memory leaves, and 28 KiB more.  */
static void latency_of_l1(void **state) {
    (void)state;
    static const char load[] = "ld.global.u64 %l0, [%l0];";
    r.dev.limits.smem_per_sm = of(20 << 10);
    ring(950, 32, true);                  /* 30400 bytes */
    near_to(slope("mov.u64 %l0, %a0;", load, 500), 37, "L1 latency");
    r.launch.dynamic_smem = 19 << 10;
    r.n_arg = 0;
    ring(950, 32, true);
    near_to(slope("mov.u64 %l0, %a0;", load, 500), 311, "latency beside shared memory");
}

/* All blocks read memory of twice the L2: at the same time, so that one of 14 waits for DRAM; then
 * each another part of it, so that a line comes again when all others were read.  */
static void reuse_in_l2(void **state) {
    (void)state;
    enum { BYTES = 1 << 19, STEP = 1024 * 16 };
    const double at[] = {1e5, 2e5, 4e5, 1e6}, rate[] = {250e9, 250e9, 41e9, 41e9};
    const char *begin[] = {"mov.u32 %r0, 0;", "mov.u32 %r1, %ctaid.x; mul.lo.u32 %r0, %r1, 32768;"};
    const double want[] = {14 / (1 / 41e9 + 13 / 250e9), 41e9};
    r.dev.memory[LEVEL_L2].curve = curve(r.arena, "read", "footprint", 4, at, rate);
    r.dev.memory[LEVEL_L2].n_curve = 1;
    r.launch.grid[0] = 2 * SMS;
    r.launch.block[0] = 1024;
    run_memory(&r, NULL, BYTES);
    for (int k = 0; k < 2; k++) {
        double clk = slope(begin[k], "and.b32 %r2, %r0, 524287; mad.lo.u32 %r2, %t, 16, %r2;"
                           "cvt.u64.u32 %l0, %r2; add.u64 %l0, %l0, %a0;"
                           "ld.global.cg.v4.u32 {%r10, %r11, %r12, %r13}, [%l0];"
                           "add.u32 %r0, %r0, 16384;", 8);
        near_to(2 * SMS * STEP / clk * MHZ * 1e6, want[k], k ? "L2 rate, apart" : "at once");
    }
}

/* What some blocks touch stands for what all do: inputs that all of them read, outputs that each
 * has its own part of.  */
static void some_blocks(void **state) {
    (void)state;
    enum { BLOCKS = 300 };
    static const int64_t some[] = {0, 1, 149, 150, 298, 299};
    run_memory(&r, NULL, 1 << 16);
    run_memory(&r, NULL, BLOCKS * 4096);
    r.launch.grid[0] = BLOCKS;
    r.launch.block[0] = 1024;
    const char *text = run_kernel(
        r.arena, 2, "mov.u32 %r0, %ctaid.x; mad.lo.u32 %r1, %r0, 1024, %t;"
        "mul.wide.u32 %l1, %r1, 4; add.u64 %l1, %l1, %a1; and.b32 %r1, %r1, 16383;"
        "mul.wide.u32 %l0, %r1, 4;"
        "add.u64 %l0, %l0, %a0; ld.global.u32 %r2, [%l0]; st.global.u32 [%l1], %r2;");
    double us[2];
    for (int k = 0; k < 2; k++) {
        assert_int_equal(sim_gpu_create(r.arena, &r.diag, &r.dev, &r.gpu), ST_OK);
        r.n_arg = 0;
        run_memory(&r, NULL, 1 << 16);
        run_memory(&r, NULL, BLOCKS * 4096);
        r.options.blocks = k ? some : NULL;
        r.options.n_blocks = k ? 6 : 0;
        run_clean(&r, text);
        us[k] = r.report.time_us;
    }
    near_to(us[1], us[0], "time of some blocks");
}

/* Instructions hide behind shared memory that is busy for longer.  */
static void busy_pipes(void **state) {
    (void)state;
    static const char fma[] = "fma.rn.f32 %r#, %r#, %r#, %r#; fma.rn.f32 %r1#, %r1#, %r1#, %r1#;";
    static const char load[] = "ld.shared.u32 %r2#, [%r90];";
    const char *both = arena_printf(r.arena, "%s %s", fma, load), *at = "mad.lo.u32 %r90, %t, 4, "
                       "1024; st.shared.u32 [%r90], %r90; bar.sync 0;";
    r.launch.dynamic_smem = 8192;
    r.launch.block[0] = 1024;
    near_to(slope(at, both, 8), slope(at, load, 8), "loads, and what hides behind them");
}

/* A unit at work for all of the time has the clock that its curve says.  */
static void clock_of_a_busy_unit(void **state) {
    (void)state;
    const double us[] = {1, 10, 1000}, mhz[] = {MHZ, MHZ / 2, MHZ / 2};
    double usual = slope("", "fma.rn.f32 %r#, %r#, %r#, %r#;", 64);
    r.launch.block[0] = 1024;
    usual = slope("", "fma.rn.f32 %r#, %r#, %r#, %r#;", 64);
    families[0].clock = *curve(r.arena, "clock", "us", 3, us, mhz);
    near_to(slope("", "fma.rn.f32 %r#, %r#, %r#, %r#;", 64), 2 * usual, "time at half the clock");
}

static void shared_memory(void **state) {
    (void)state;
    r.launch.dynamic_smem = 32768;
    const char *zero = "mov.u32 %r0, smem; mad.lo.u32 %r1, %t, 4, %r0; st.shared.u32 [%r0], %r0;";
    near_to(slope(zero, "ld.shared.u32 %r0, [%r0];", 32), 37, "shared latency");
    const char *fill = "mov.u32 %r1, smem; mov.u32 %r2, 0; Z: mad.lo.u32 %r3, %r2, 32, %t; "
                       "mad.lo.u32 %r3, %r3, 4, %r1; st.shared.u32 [%r3], %r2; add.u32 %r2, %r2, 1;"
                       "setp.lt.u32 %p1, %r2, 128; @%p1 bra Z; bar.sync 0;";
    for (int ways = 1; ways <= 16; ways *= 2) {
        const char *setup = arena_printf(
            r.arena, "%s mov.u32 %%r4, %%laneid; mad.lo.u32 %%r4, %%r4, %d, %%r1;", fill, 4 * ways);
        r.launch.block[0] = 512;
        double busy = slope(setup, "ld.shared.u32 %r10#, [%r4];", 8);
        /* 32 words on 16 banks: two passes, times the ways */
        near_to(busy, 16 * 2 * ways, arena_printf(r.arena, "%d-way conflicts", ways));
    }
}

/* Every thread of the grid advances by all of them, `bytes` each, from argument 0 on.  */
static const char *place(int bytes) {
    return arena_printf(
        r.arena, "mov.u32 %%r0, %%ctaid.x; mov.u32 %%r1, %%ntid.x; mov.u32 %%r2, %%nctaid.x;"
        "mad.lo.u32 %%r3, %%r0, %%r1, %%t; mul.wide.u32 %%l0, %%r3, %d; add.u64 %%l0, %%l0, %%a0;"
        "mul.lo.u32 %%r4, %%r1, %%r2; mul.wide.u32 %%l1, %%r4, %d;", bytes, bytes);
}

enum { BIG = 8 << 20 };

static double rate_of(const char *step, int bytes) {
    double clk = slope(place(4), step, 4);
    return (double)(r.launch.grid[0] * r.launch.block[0]) * bytes / clk * MHZ * 1e6;
}

static void dram_rates(void **state) {
    (void)state;
    r.launch.grid[0] = 2 * SMS;
    r.launch.block[0] = 1024;
    run_memory(&r, NULL, BIG);
    near_to(rate_of("ld.global.u32 %r#, [%l0]; add.u64 %l0, %l0, %l1;", 4), 41e9, "DRAM read");
    near_to(rate_of("st.global.u32 [%l0], %r4; add.u64 %l0, %l0, %l1;", 4), 37e9, "DRAM write");
    uint64_t from = r.arg[0], to = run_memory(&r, NULL, BIG);
    const char *copy = "ld.global.u32 %r#, [%l0]; st.global.u32 [%l2], %r#; "
                       "add.u64 %l0, %l0, %l1; add.u64 %l2, %l2, %l1;";
    const char *setup = arena_printf(r.arena, "%s add.u64 %%l2, %%l0, %llu;", place(4),
                                     (unsigned long long)(to - from));
    double clk = slope(setup, copy, 4);
    near_to(2.0 * 14 * 1024 * 4 / clk * MHZ * 1e6, 33e9, "DRAM copy");
}

static void l2_rates(void **state) {
    (void)state;
    r.launch.grid[0] = 2 * SMS;
    r.launch.block[0] = 1024;
    run_memory(&r, NULL, BIG);
    near_to(rate_of("ld.global.cg.u32 %r#, [%l0];", 4), 250e9, "L2 read");
    near_to(rate_of("st.global.u32 [%l0], %r4;", 4), 150e9, "L2 write");
    r.launch.grid[0] = 2;                 /* an SM each */
    near_to(rate_of("ld.global.cg.u32 %r#, [%l0];", 4), 2 * 48 * MHZ * 1e6, "L2 port");
}

static void movers_of_shared_memory(void **state) {
    (void)state;
    r.launch.dynamic_smem = 16384;
    r.launch.block[0] = 1024;
    run_memory(&r, NULL, BIG);
    double clk = slope("mad.lo.u32 %r0, %t, 16, 1024; mul.wide.u32 %l0, %t, 16; "
                       "add.u64 %l0, %l0, %a0;",
                       "cp.async.cg.shared.global [%r0], [%l0], 16; cp.async.wait_all;", 4);
    near_to(1024 * 16 / clk, 30, "cp.async");
}

/* ---- synchronisation ---- */

static void barriers(void **state) {
    (void)state;
    r.launch.block[0] = 128;
    near_to(slope("", "bar.sync 0;", 16), 43, "barrier of 128");
    r.launch.block[0] = 1024;
    near_to(slope("", "bar.sync 0;", 16), 140, "barrier of 1024");
    r.launch.block[0] = 32;
    r.launch.dynamic_smem = 1024;
    near_to(slope("mov.u32 %r0, smem; setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%r0], "
                  "32; bar.sync 0; mov.u32 %r1, 0;",
                  "mbarrier.arrive.shared.b64 _, [%r0]; W#: mbarrier.try_wait.parity.shared.b64 "
                  "%p1, [%r0], %r1; @!%p1 bra W#; xor.b32 %r1, %r1, 1;", 16), 91, "mbarrier");
    r.launch.grid[0] = r.launch.cluster[0] = 2;
    near_to(slope("", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;", 16), 207,
            "cluster barrier");
}

static void atomics(void **state) {
    (void)state;
    static uint32_t zero[64];
    run_memory(&r, zero, sizeof zero);
    near_to(slope("", "red.global.add.u32 [%a0], 1;", 16), 77, "atomics on one address");
    near_to(slope("mul.wide.u32 %l0, %t, 4; add.u64 %l0, %l0, %a0;",
                  "red.global.add.u32 [%l0], 1;", 16), 13, "atomics on distinct addresses");
}

/* ---- launches ---- */

static void launches(void **state) {
    (void)state;
    const char *text = run_kernel(r.arena, 0, "");
    run_clean(&r, text);
    near_to(r.report.time_us, 1.7, "kernel floor");
    double one = r.report.time_us;
    r.launch.block[0] = 1024;             /* two blocks on an SM */
    r.launch.grid[0] = SMS * 2 * 50;
    run_clean(&r, text);
    near_to((r.report.time_us - one) * MHZ / 49, 333, "block start");
}

/* Waves of a kernel whose PTX has 200 values at once, in blocks of 256 threads: what it declares
 * bounds the registers, and so the blocks of an SM; so does what its cubin is said to have.  */
static void resident_blocks(void **state) {
    (void)state;
    static const uint64_t zero[2];
    Buf b = buf_new(r.arena);
    run_memory(&r, zero, sizeof zero);
    for (int k = 0; k < 200; k++) buf_printf(&b, "add.u32 %%r%d, %%t, %d;\n", k, k);
    for (int k = 0; k < 40; k++)
        buf_puts(&b, "ld.global.cg.u64 %l0, [%a0]; add.u64 %a0, %a0, %l0;\n");
    for (int k = 1; k < 200; k++) buf_printf(&b, "xor.b32 %%r0, %%r0, %%r%d;\n", k);
    const char *plain = run_kernel(r.arena, 1, buf_str(&b)), *body = strstr(plain, ")\n{");
    const char *bounded = arena_printf(r.arena, "%.*s)\n.maxntid 256\n.minnctapersm 4%s",
                                       (int)(body - plain), plain, body + 1);
    const struct {
        const char *text;
        int registers;
        double waves;
    } launch[] = {{plain, 0, 4}, {bounded, 0, 1}, {plain, 60, 1}, {bounded, 120, 2}};
    r.launch.block[0] = 256;
    r.launch.grid[0] = SMS;
    run_clean(&r, plain);                 /* brings the data into L2 */
    run_clean(&r, plain);
    double one = r.report.time_us - 1.7;
    r.launch.grid[0] = SMS * 4;
    for (size_t k = 0; k < sizeof launch / sizeof *launch; k++) {
        r.launch.registers = launch[k].registers;
        run_clean(&r, launch[k].text);
        double waves = (r.report.time_us - 1.7) / one;
        /* Blocks that share an SM take longer, and later waves start theirs.  */
        if (waves < 0.9 * launch[k].waves || waves > 1.9 * launch[k].waves)
            fail_msg("launch %zu: %g waves", k, waves);
    }
}

/* Of two blocks of an SM one keeps its port to L2 busy, the other loads once and then computes for
 * long.  It does not matter which of them comes first.  */
static void blocks_side_by_side(void **state) {
    (void)state;
    enum { LOADS = 800, CHAIN = 1500 };
    static const uint32_t data[128];
    double us[2];
    run_memory(&r, data, sizeof data);
    r.launch.grid[0] = 2 * SMS;
    r.launch.block[0] = 32;
    for (int first = 0; first < 2; first++) {
        Buf b = buf_new(r.arena);
        buf_printf(&b, "mad.wide.u32 %%a0, %%t, 16, %%a0; mov.u32 %%r0, %%ctaid.x;"
                       "and.b32 %%r0, %%r0, 1; setp.eq.u32 %%p1, %%r0, %d; @%%p1 bra MANY;"
                       "ld.global.cg.u32 %%r1, [%%a0];", first);
        for (int k = 0; k < CHAIN; k++) buf_puts(&b, "fma.rn.f32 %r1, %r1, %r1, %r1;");
        buf_puts(&b, "bra END; MANY:");
        for (int k = 0; k < LOADS; k++)
            buf_puts(&b, "ld.global.cg.v4.u32 {%r2, %r3, %r4, %r5}, [%a0];");
        buf_puts(&b, "add.u32 %r2, %r2, 1; END:");
        run_clean(&r, run_kernel(r.arena, 1, buf_str(&b)));
        us[first] = r.report.time_us - 1.7;
    }
    near_to(us[0], us[1], "the other order");
}

/* Loads wait for the port, which no compiler knows.  What waits for the last of them keeps back a
 * chain behind it, for as long as the port takes longer than to issue them.  */
static void issue_in_order(void **state) {
    (void)state;
    enum { LOADS = 100, CHAIN = 400 };
    static const uint32_t data[128];
    double clk[2];
    run_memory(&r, data, sizeof data);
    for (int use = 0; use < 2; use++) {
        Buf b = buf_new(r.arena);
        buf_puts(&b, "mad.wide.u32 %a0, %t, 16, %a0;");
        for (int k = 0; k < LOADS; k++)
            buf_puts(&b, "ld.global.cg.v4.u32 {%r2, %r3, %r4, %r5}, [%a0];");
        if (use) buf_puts(&b, "add.u32 %r6, %r5, 1;");
        for (int k = 0; k < CHAIN; k++) buf_puts(&b, "fma.rn.f32 %r1, %r1, %r1, %r1;");
        run_clean(&r, run_kernel(r.arena, 1, buf_str(&b)));
        clk[use] = r.report.time_us * MHZ;
    }
    near_to(clk[1] - clk[0], (LOADS - 1) * (sizeof data / 48.0 - 1), "what waits is in the way");
}

/* Neither host threads nor the order of warps matter.  */
static void time_is_repeatable(void **state) {
    (void)state;
    static const float zero[1024];
    run_memory(&r, zero, sizeof zero);
    r.launch.grid[0] = 30;
    r.launch.block[0] = 96;
    r.launch.dynamic_smem = 1024;
    const char *text = run_kernel(
        r.arena, 1, "mul.wide.u32 %l0, %t, 4; add.u64 %l0, %l0, %a0; ld.global.u32 %r0, [%l0]; "
                    "mov.u32 %r1, smem; mad.lo.u32 %r1, %t, 4, %r1; st.shared.u32 [%r1], %r0; "
                    "bar.sync 0; xor.b32 %r1, %r1, 4; ld.shared.u32 %r2, [%r1];");
    run_clean(&r, text);                  /* brings the data into L2 */
    double us = 0;
    for (int k = 0; k < 4; k++) {
        r.options.threads = 1 + k % 2;
        r.options.seed = (uint64_t)k;
        run_clean(&r, text);
        if (k > 0) assert_true(r.report.time_us == us);
        us = r.report.time_us;
    }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_odd, close_odd)
    const struct CMUnitTest tests[] = {
        TEST(rates_and_latencies), TEST(wgmma_rate_and_latency),
        TEST(work_behind_a_barrier), TEST(latency_of_global_memory), TEST(shared_memory),
        TEST(dram_rates), TEST(latency_of_l1), TEST(reuse_in_l2), TEST(some_blocks),
        TEST(clock_of_a_busy_unit), TEST(busy_pipes), TEST(l2_rates), TEST(movers_of_shared_memory),
        TEST(barriers), TEST(atomics), TEST(launches), TEST(resident_blocks),
        TEST(blocks_side_by_side), TEST(issue_in_order), TEST(time_is_repeatable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
