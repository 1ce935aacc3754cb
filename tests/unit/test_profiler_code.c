/* links: profiler */
/* What compilers make of the profiler's kernels: of the instructions that a row measures as many as
 * it counts are in its loop or between its readings of the clock, for each architecture, and
 * nothing spills.  (A chain of them then is one: each takes the result of the one before it.)
 *
 * The rows run over a harness of this file instead of that in src/profiler (bench.c, kernels.c,
 * timed.c): it looks at the machine code of every kernel and runs none.  Some units and movers of
 * one architecture; LONG=1 takes all of four.  */
#include "effort.h"
#include "profiler/harness.h"
#include "sass.h"
#include "simulated.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { OPCODES = 4096, KINDS = 5 };

static Arena *arena;
static Diag diag;
static Cuda *cuda;
static bool slow;
static int checked, wrong;

/* ---- what has to be in a kernel ---- */
/* Where instructions are counted: in the innermost loop that has one of them, between two readings
 * of the clock, or in all of the kernel.  `MORE` than there have to be may be there, too.  */
typedef enum { LOOP, CLOCK, WHOLE, MORE } Where;
/* A text in the source of a kernel, the opcodes one of which it becomes (0: no other), and the
 * macro that says how many there are ("": as often as the text stands there), beside `fewest`.  */
static const struct {
    const char *symbol, *text;
    int opcode[KINDS];
    const char *macro;
    int fewest;
    Where where;
} rule[] = {
    {"unit", "OP \"fma.rn.f32", {0x223}, "STEPS", 0, LOOP},
    {"unit", "OP \"fma.rn.f64", {0x22b}, "STEPS", 0, LOOP},
    {"unit", "OP \"fma.rn.f16x2", {0x231, 0x235}, "STEPS", 0, LOOP},
    {"unit", "OP \"fma.rn.bf16x2", {0x231, 0x235}, "STEPS", 0, LOOP},
    {"unit", "OP \"mad.lo.s32", {0x224}, "STEPS", 0, LOOP},
    {"unit", "OP \"dp4a", {0x226}, "STEPS", 0, LOOP},
    {"unit", ".approx", {0x308}, "STEPS", 0, LOOP},
    {"unit", "BETWEEN(x) asm", {0x221}, "STEPS", 0, LOOP},
    {"unit", "OP \"shfl", {0xf89}, "STEPS", 0, LOOP},
    {"unit", "OP \"redux", {0x3c4}, "STEPS", 0, LOOP},
    {"unit", "mma.sync", {0x23c, 0x237, 0x23f, 0x27a}, "STEPS", 0, MORE},    /* f8: emulated */
    {"unit", "wgmma.mma_async", {0x9f0, 0x9f1, 0x9f3}, "", 0, LOOP},
    {"unit", "rl_tcgen05_m", {0x5ea}, "STEPS", 0, LOOP},
    {"rate", "GET asm volatile(\"ld.global", {0x381, 0x981}, "STEPS", 0, LOOP},
    {"rate", "PUT asm volatile(\"st.global", {0x386, 0x986}, "STEPS", 0, MORE},
    {"rate", "PUT asm volatile(\"st.shared", {0x388, 0x988}, "STEPS", 1, WHOLE},      /* fill */
    {"rate", "GET asm volatile(\"cp.async", {0xfae}, "STEPS", 0, LOOP},
    {"rate", "PUT asm volatile(\"red.", {0x98e, 0x9a6, 0x3a6}, "STEPS", 0, LOOP},
    {"rate", "PUT asm volatile(\"atom.", {0x9a8, 0x3a8}, "STEPS", 0, LOOP},
    {"rate", "GET asm volatile(\"ldmatrix", {0x83b}, "STEPS", 0, LOOP},
    {"rate", "PUT asm volatile(\"stmatrix", {0x844}, "STEPS", 0, LOOP},
    {"rate", "LOAD asm volatile(\"ld.shared::cluster", {0x980}, "LOADS", 0, LOOP},
    {"rate", "COPY asm volatile(\"cp.async.bulk.shared", {0x3ba}, NULL, 1, LOOP},
    {"rate", "COPY asm volatile(\"cp.async.bulk.tensor.2d.shared", {0x3b4, 0x5b4}, NULL, 1, LOOP},
    {"rate", "COPY asm volatile(\"cp.async.bulk.tensor.4d.shared", {0x3b4, 0x5b4}, NULL, 1, LOOP},
    {"rate", "COPY asm volatile(\"cp.async.bulk.tensor.2d.global", {0x3b5}, NULL, 1, LOOP},
    {"rate", "COPY asm volatile(\"cp.reduce", {0x3b6}, NULL, 1, LOOP},
    {"burst", "GET asm volatile(\"ld.global", {0x381, 0x981}, "BURST", 0, CLOCK},
    {"burst", "PUT asm volatile(\"st.global", {0x386, 0x986}, "BURST", 0, CLOCK},
    {"burst", "PUT asm volatile(\"st.shared", {0x388, 0x988}, "BURST", 0, CLOCK},
    {"burst", "GET asm volatile(\"cp.async", {0xfae}, "BURST", 0, CLOCK},
    {"burst", "PUT asm volatile(\"red.", {0x98e, 0x9a6, 0x3a6}, "BURST", 0, CLOCK},
    {"burst", "PUT asm volatile(\"atom.", {0x9a8, 0x3a8}, "BURST", 0, CLOCK},
    {"burst", "GET asm volatile(\"ldmatrix", {0x83b}, "BURST", 0, CLOCK},
    {"burst", "PUT asm volatile(\"stmatrix", {0x844}, "BURST", 0, CLOCK},
    {"burst", "LOAD asm volatile(\"ld.shared::cluster", {0x980}, "BURST", 0, CLOCK},
    {"burst", "COPY asm volatile(\"cp.async.bulk.shared", {0x3ba}, "BURST", 0, CLOCK},
    {"burst", "COPY asm volatile(\"cp.async.bulk.tensor.2d.shared", {0x3b4, 0x5b4}, "BURST", 0,
     CLOCK},
    {"burst", "COPY asm volatile(\"cp.async.bulk.tensor.4d.shared", {0x3b4, 0x5b4}, "BURST", 0,
     CLOCK},
    {"burst", "COPY asm volatile(\"cp.async.bulk.tensor.2d.global", {0x3b5}, "BURST", 0, CLOCK},
    {"burst", "COPY asm volatile(\"cp.reduce", {0x3b6}, "BURST", 0, CLOCK},
    {"issue", "MIX(c) ADD(c)", {0x421, 0x821}, "STEPS", 0, LOOP},
    {"issue", "MIX(c) ADD(c) SHIFT(c)", {0x819}, "STEPS", 0, LOOP},
    {"issue", "MIX(c) ADD(c) SHIFT(c) HALF(c)", {0x230, 0x835}, "STEPS", 0, LOOP},
    {"issue", "MIX(c) COUNT(c)", {0x309}, "STEPS", 0, LOOP},
    {"words", "ld.volatile.shared.u32", {0x984}, NULL, 8, LOOP},
    {"octets", "ld.volatile.shared.u8", {0x984}, NULL, 8, LOOP},
    {"vectors", "ld.volatile.shared.v4", {0x984}, NULL, 8, LOOP},
    {"chase", "ld.global.cg.u64", {0x381, 0x981}, NULL, 16, LOOP},
    {"chase_shared", "ld.shared.u32", {0x984}, NULL, 16, LOOP},
    {"chase", "ld.shared::cluster.u32", {0x980}, "LOADS", 0, LOOP},
    {"touch", "ld.global.cg.u32", {0x381, 0x981}, NULL, 1, LOOP},
    {"probe", "ld.global.cg.u32", {0x381, 0x981}, NULL, 1, LOOP},
    {"read", "TILES(BODY)", {0x381, 0x981}, "UNROLL", 0, LOOP},
    {"write", "TILES(BODY)", {0x386, 0x986}, "UNROLL", 0, LOOP},
    {"copy", "TILES(BODY)", {0x381, 0x981}, "UNROLL", 0, LOOP},
    {"copy", "TILES(BODY)", {0x386, 0x986}, "UNROLL", 0, LOOP},
    {"reread", "TILES(BODY)", {0x381, 0x981}, "UNROLL", 0, LOOP},
    {"rewrite", "TILES(BODY)", {0x386, 0x986}, "UNROLL", 0, LOOP},
    {"read", "REGIONS(BODY)", {0x381, 0x981}, NULL, 4, LOOP},
    {"write", "REGIONS(BODY)", {0x386, 0x986}, NULL, 4, LOOP},
    {"atomics", "red.global.add.f32", {0x98e, 0x9a6, 0x3a6}, "STEPS", 0, LOOP},
    {"barrier", "SYNC block_barrier", {0xb1d}, "STEPS", 0, LOOP},
    {"barrier", "SYNC mbarrier_meet", {0x9a7, 0xf8c}, "STEPS", 0, LOOP},
    {"barrier", "SYNC cluster_barrier", {0x9c7}, "STEPS", 0, LOOP},
    {"step", "LOAD(to, i) asm volatile(\"cp.async", {0xfae}, NULL, 1, LOOP},
    {"step", "__syncthreads", {0xb1d}, NULL, 1, LOOP},
    {"empty", "empty", {0x94d}, NULL, 1, WHOLE},
};

static int macro(const char *text, const char *name) {
    const char *define = arena_printf(arena, "#define %s ", name), *at = strstr(text, define);
    return at ? atoi(at + strlen(define)) : 0;
}

static int least_of(const char *text, size_t i) {
    int n = rule[i].fewest;
    if (!rule[i].macro) return n;
    if (*rule[i].macro) return n + macro(text, rule[i].macro);
    for (const char *at = text; (at = strstr(at, rule[i].text)); at++) n++;
    return n;
}

static void show(const uint32_t *count) {
    for (int i = 0; i < OPCODES; i++)
        if (count[i]) fprintf(stderr, " %03x:%u", (unsigned)i, (unsigned)count[i]);
    fprintf(stderr, "\n");
}

/* How many there are of the opcodes of a rule, where it looks for them.  */
static int found(size_t i, const NvrtcOutput *code, const char *symbol, int cc, uint32_t *count) {
    int n = 0;
    bool whole = rule[i].where == WHOLE || cc < 75;
    for (int k = 0; k < KINDS && rule[i].opcode[k] && !n; k++) {
        uint32_t op = (uint32_t)rule[i].opcode[k];
        bool there = whole ? sass_opcodes(code->cubin, code->cubin_len, symbol, count)
                     : rule[i].where == CLOCK
                         ? sass_clocked_opcodes(code->cubin, code->cubin_len, symbol, count)
                         : sass_loop_opcodes(code->cubin, code->cubin_len, symbol, cc, op, count);
        for (int m = 0; m < KINDS && there && count[op]; m++)
            if (rule[i].opcode[m]) n += (int)count[rule[i].opcode[m]];
    }
    return n;
}

/* A kernel whose instructions no rule counts measures what nobody looks at.  */
static bool looked_for(const char *symbol) {
    static const char *const other[] = {"link", "fill", "spin"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (!strcmp(symbol, other[i])) return false;
    return true;
}

/* Multiply-adds may be as fast as instructions are issued: what else is in their loop, where many
 * chains of them are, is no more than a percent.  */
static bool alone(const char *text, size_t r, const uint32_t count[OPCODES], int n) {
    uint32_t all = 0;
    for (int i = 0; i < OPCODES; i++) all += count[i];
    bool fast = strstr(rule[r].text, "fma.rn") && strstr(text, "CHAINS 16");
    return !fast || 100 * (all - (uint32_t)n) <= (uint32_t)n;
}

static void look(const char *text, const char *symbol, const char *arch, const NvrtcOutput *code) {
    uint32_t count[OPCODES];
    int cc = 0, looks = 0;
    char suffix;
    assert_true(hal_arch(arch, &cc, &suffix));
    for (int i = 0; i < code->n_kernel; i++) {
        if (strcmp(code->kernel[i].kernel, symbol) || !code->kernel[i].spill_stores) continue;
        fprintf(stderr, "%s %s: spills\n%.400s\n", arch, symbol, text);
        wrong++;
    }
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
        if (strcmp(rule[i].symbol, symbol) || !strstr(text, rule[i].text)) continue;
        int least = least_of(text, i), n = found(i, code, symbol, cc, count);
        checked++;
        looks++;
        bool enough = least > 0 && (n == least || (n > least && rule[i].where == MORE));
        if (enough && alone(text, i, count, n)) continue;
        fprintf(stderr, "%s %s of %s: %d, not %d:", arch, rule[i].text, symbol, n, least);
        show(count);
        wrong++;
    }
    if (looks || !looked_for(symbol)) return;
    fprintf(stderr, "%s %s: nothing was looked for in\n%.400s\n", arch, symbol, text);
    wrong++;
}

/* ---- the harness ---- */
Arena *bench_arena(Bench *b) { return b->row; }
Arena *bench_result(Bench *b) { return b->result; }
Diag *bench_diag(Bench *b) { return b->d; }
CudaContext *bench_context(Bench *b) { return b->x; }
bool bench_quick(const Bench *b) { return b->o->quick; }
const CudaDeviceInfo *bench_device(const Bench *b) { return b->info; }
bool bench_simulated(const Bench *b) { return b->simulated; }
int64_t bench_sms(const Bench *b) { return b->info->attribute[CUDA_ATTR_SM_COUNT]; }
int64_t bench_l2_bytes(const Bench *b) { return b->info->attribute[CUDA_ATTR_L2_BYTES]; }
double bench_hz(const Bench *b) { return b->hz; }
double bench_light_hz(const Bench *b) { return b->light_hz; }

int bench_threads(const Bench *b, int most) {
    int limit = b->info->attribute[CUDA_ATTR_THREADS_PER_BLOCK];
    return limit < most ? limit : most;
}

Status bench_open(Bench *b) {
    b->info = cuda_context_device(b->x);
    b->hz = 1e9;
    b->light_hz = 1.25e9;
    return ST_OK;
}

bool bench_try(Bench *b, const char *figure) {
    (void)b;
    (void)figure;
    return true;
}

Status bench_tried(Bench *b, Status s) {
    (void)b;
    return s;
}

Status bench_stopped(const Bench *b) {
    (void)b;
    return ST_OK;
}

Status bench_positive(Bench *b, const Sample *s) {
    (void)b;
    (void)s;
    return ST_OK;
}

Status bench_whole(Bench *b, const Sample *s) {
    (void)b;
    (void)s;
    return ST_OK;
}

/* Nothing runs: all share one.  */
Status bench_buffer(Bench *b, size_t bytes, CudaAddress *out) {
    (void)bytes;
    return cuda_alloc(b->x, b->row, b->d, 4096, out);
}

Status bench_resident(Bench *b, const CudaKernel *k, int threads, int64_t smem, int64_t *out) {
    (void)k;
    (void)threads;
    (void)smem;
    *out = bench_sms(b);
    return ST_OK;
}

Status bench_compile(Bench *b, const BenchSource *source, int n) {
    (void)b;
    (void)source;
    (void)n;
    return ST_OK;
}

Status bench_kernel(Bench *b, const char *source, const char *symbol, const char *const *macros,
                    CudaKernel *out) {
    Buf t = buf_new(b->work);
    NvrtcOutput code;
    CudaModule *module;
    for (int i = 0; macros && macros[i]; i++) buf_printf(&t, "#define %s\n", macros[i]);
    buf_puts(&t, source);
    const char *key = arena_printf(b->work, "%s:%s", symbol, buf_str(&t));
    for (size_t i = 0; i < b->n_loaded; i++)
        if (!strcmp(b->loaded[i].text, key))
            return cuda_kernel(b->loaded[i].module, b->d, symbol, out);
    Status s = nvrtc_compile(b->n, b->work, b->d, buf_str(&t), b->info->arch,
                             &(NvrtcRequest){.ptx = true, .cubin = true}, &code);
    if (s) return s;
    look(buf_str(&t), symbol, b->info->arch, &code);
    s = cuda_load(b->x, b->work, b->d, &(CudaImage){.ptx = code.ptx}, &module);
    b->loaded = arena_grow(b->work, b->loaded, &b->cap_loaded, b->n_loaded + 1, sizeof *b->loaded);
    b->loaded[b->n_loaded++] = (Loaded){.text = key, .module = module};
    return s ? s : cuda_kernel(module, b->d, symbol, out);
}

/* ---- a clock that times nothing ---- */
static Status constant(Sample *s) {
    *s = (Sample){1, 0, 5, false};
    return ST_OK;
}

Status bench_run(Bench *b, const BenchLaunch *l) {
    (void)b;
    (void)l;
    return ST_OK;
}

Status bench_time(Bench *b, const BenchLaunch *l, Sample *us) {
    (void)b;
    (void)l;
    return constant(us);
}

Status bench_repeat(Bench *b, const BenchLaunch *l, int repeats, bool graph, Sample *us) {
    (void)repeats;
    (void)graph;
    return bench_time(b, l, us);
}

Status bench_after(Bench *b, const BenchLaunch *before, int n, const BenchLaunch *l, Sample *us) {
    (void)before;
    (void)n;
    return bench_time(b, l, us);
}

Status bench_slope(Bench *b, const BenchLaunch *l, int *count, int few, int many, Sample *us) {
    (void)few;
    *count = many;
    return bench_time(b, l, us);
}

Status bench_difference(Bench *b, const BenchLaunch *l, int *count, int few, int many,
                        Sample *us) {
    return bench_slope(b, l, count, few, many, us);
}

Status bench_clocks(Bench *b, const BenchLaunch *l, int *count, int few, int many, Sample *clk) {
    return bench_slope(b, l, count, few, many, clk);
}

/* ---- the test ---- */
static bool taken(const char *name) {
    static const char *const some[] = {
        "ffma", "hfma2", "dp4a", "mufu.rcp", "mma.m16n8k16.f16.f32", "mma.m8n8k4.f64.f64",
        "wgmma.bf16.f32", "tcgen05.f16.f32", "tcgen05.mxf4nvf4.f4e2m1.f32.pair",
        "ldg.128", "stg.128", "cp.async.16", "ldmatrix", "tma.tile",
    };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (slow || !strcmp(name, some[i])) return true;
    return false;
}

static Device *profile(const char *name) {
    Device *d;
    int n = 0;
    if (hal_profile_find(arena, &diag, name, "profiles", NULL, &d))
        fail_msg("%s", diag_first_error(&diag)->message);
    for (int i = 0; i < d->n_unit; i++)
        if (taken(d->unit[i].name)) d->unit[n++] = d->unit[i];
    d->n_unit = n;
    n = 0;
    for (int i = 0; i < d->n_mover; i++)
        if (taken(d->mover[i].name)) d->mover[n++] = d->mover[i];
    d->n_mover = n;
    return d;
}

static Status (*const row[])(Bench *b, Device *dev) = {
    bench_issue,   bench_launch,   bench_latency,  bench_dram,    bench_granularity, bench_l2,
    bench_smem,    bench_simt,     bench_mma,     bench_wgmma,       bench_movers,
    bench_tma,     bench_barriers, bench_atomics, bench_clusters, bench_tcgen05,
};
enum { ROWS = (int)(sizeof row / sizeof *row) };

/* Of the rows from `first` on.  */
static Device *rows_of(int which, const char *name, int first) {
    ProfilerOptions o = {.quick = !slow, .seed = 1};
    Arena *work = arena_create(NULL), *rows = arena_create(NULL);
    Bench b = {.o = &o, .work = work, .row = rows, .result = arena, .d = &diag};
    CudaDeviceInfo info;
    Device *dev = profile(name);
    Status s = cuda_device_info(cuda, &diag, which, &info);
    if (!s) s = nvrtc_open(work, &diag, &(NvrtcOptions){0}, info.arch, &b.n);
    if (!s) s = cuda_context(cuda, work, &diag, which, &b.x);
    if (!s) s = cuda_enter(b.x, work, &diag);
    if (!s) s = bench_open(&b);
    for (int i = first; i < ROWS && !s; i++) {
        s = row[i](&b, dev);
        arena_reset(rows, (ArenaMark){0});
    }
    if (s) fail_msg("%s: %s", name, diag_first_error(&diag)->message);
    arena_destroy(rows);
    arena_destroy(work);
    return dev;
}

static void enough(int least) {
    int bad = wrong, good = checked;
    wrong = checked = 0;
    assert_int_equal(bad, 0);
    assert_true(good >= least);
}

static void machine_code(int which, const char *name) {
    Device *dev = rows_of(which, name, 0);
    /* A time of DRAM in clocks of all SMs, one of the SM itself in its own.  */
    const MemoryLevel *m = dev->memory;
    assert_true(fabs(m[LEVEL_DRAM].latency.value / m[LEVEL_SMEM].latency.value - 0.8) < 1e-3);
    assert_true(m[LEVEL_L2].latency.value == m[LEVEL_SMEM].latency.value);
    enough(11);
}

/* Products of Tensor Memory alone.  */
static void blackwell(void **state) {
    (void)state;
    rows_of(4, "b200", ROWS - 1);
    enough(2);
}

static void hopper(void **state) {
    (void)state;
    machine_code(0, "h200");
}

static void others(void **state) {
    static const char *const name[] = {"a100", "rtx4090", "t4"};
    int i = *(int *)*state;
    if (slow) machine_code(i + 1, name[i]);
}

static int setup(void **state) {
    (void)state;
    char here[2048];
    if (!getcwd(here, sizeof here)) return -1;
    slow = effort_long();
    arena = arena_create(NULL);
    diag = diag_new(arena);
    setenv("ROLLER_PROFILE_PATH", arena_printf(arena, "%s/profiles", here), 1);
    simulated_setup("h200,a100,rtx4090,t4,b200");
    return cuda_open(arena, &diag, NULL, &cuda) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    arena_destroy(arena);
    return 0;
}

int main(void) {
    static int which[] = {0, 1, 2};
    const struct CMUnitTest tests[] = {
        {"sm_90a", hopper, NULL, NULL, NULL},
        {"sm_100a", blackwell, NULL, NULL, NULL},
        {"sm_80", others, NULL, NULL, &which[0]},
        {"sm_89", others, NULL, NULL, &which[1]},
        {"sm_75", others, NULL, NULL, &which[2]},
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
