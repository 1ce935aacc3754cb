/* links: sim */
/* What is counted, against counts made by hand or by an oracle that looks at single bytes; and that
 * nothing depends on host threads.  */
#include "ptxrun.h"
#include "wavefronts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef uint32_t u32;
typedef uint64_t u64;

/* ---- sectors and wavefronts of random requests ---- */

enum { SPAN = 8192 };

/* Lanes that are active read `width` bytes at p1[lane] in global or shared memory.  */
static void request(Rng *rng, int pattern, int width, u32 *offset, u32 *active) {
    u32 stride = (u32)width * (1 + rng_below(rng, 4)), base = rng_below(rng, 16) * 16;
    *active = rng_below(rng, 3) ? 0xffffffff : (u32)rng_next(rng) | 1;
    for (u32 l = 0; l < 32; l++) {
        u32 at = pattern == 0   ? base + l * stride
                 : pattern == 1 ? rng_below(rng, SPAN / 16) * 16
                 : pattern == 2 ? base + l / (1 + rng_below(rng, 2) * 3) * (u32)width
                 : pattern == 3 ? base + (l % 8) * 128 + l / 8 * (u32)width
                                : base + (l ^ 3) * (u32)width;
        offset[l] = at / (u32)width * (u32)width % SPAN;
    }
}

static const char *body(PtxRun *r, bool shared, bool store, int width) {
    const char *list = width == 16  ? "v4.u32 "
                       : width == 8 ? "v2.u32 "
                       : width == 4 ? "u32 "
                                    : "u16 ";
    const char *value = width == 16 ? "{%r1, %r1, %r1, %r1}" : width == 8 ? "{%r1, %r1}" : "%r1";
    if (!store && width == 16) value = "{%r1, %r2, %r3, %r4}";
    if (!store && width == 8) value = "{%r1, %r2}";
    if (width == 2) value = "%h1";
    const char *space = shared ? "shared" : "global", *at = shared ? "%r9" : "%l5";
    const char *access =
        store ? arena_printf(r->arena, "@%%p0 st.%s.%s [%s], %s;", space, list, at, value)
              : arena_printf(r->arena, "@%%p0 ld.%s.%s %s, [%s];", space, list, value, at);
    return arena_printf(
        r->arena,
        "mov.u32 %%r8, smem;\n%s"
        "mul.wide.u32 %%l1, %%t, 4; add.u64 %%l2, %%a1, %%l1; ld.global.u32 %%r0, [%%l2]; "
        "cvt.u64.u32 %%l4, %%r0;\n"
        "add.u64 %%l5, %%a0, %%l4; add.u32 %%r9, %%r8, %%r0; cvt.u32.u64 %%r5, %%a2; shr.u32 %%r5, "
        "%%r5, %%t;\n"
        "and.b32 %%r5, %%r5, 1; setp.eq.u32 %%p0, %%r5, 1; mov.u32 %%r1, 3; mov.u16 %%h1, 3;\n%s",
        shared && !store
            ? "mad.lo.u32 %r6, %t, 256, %r8; mov.u32 %r7, 0;\n"
              "F: st.shared.v4.u32 [%r6], {%r7, %r7, %r7, %r7}; add.u32 %r6, %r6, 16; "
              "add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 16; @%p1 bra F; bar.warp.sync -1;\n"
            : "",
        access);
}

/* Counters of the kernel with the request minus those of the kernel whose request has no lanes.  */
static SimCounters counted(const u32 *offset, u32 active, bool shared, bool store, int width) {
    SimCounters c[2];
    for (int k = 0; k < 2; k++) {
        static unsigned char zero[SPAN];
        PtxRun r;
        run_open(&r);
        r.launch.dynamic_smem = SPAN;
        run_memory(&r, zero, sizeof zero);
        run_memory(&r, offset, 32 * sizeof *offset);
        run_number(&r, k ? active : 0);
        run_clean(&r, run_kernel(r.arena, 3, body(&r, shared, store, width)));
        c[k] = r.report.total;
        run_close(&r);
    }
#define X(name, text) c[1].name -= c[0].name;
    SIM_COUNTERS(X)
#undef X
    return c[1];
}

static void requests(void **state) {
    (void)state;
    Rng rng = {11};
    for (int n = 0; n < 400; n++) {
        u32 offset[32], active;
        int width = 2 << rng_below(&rng, 4), pattern = (int)rng_below(&rng, 5);
        bool shared = rng_below(&rng, 2), store = rng_below(&rng, 2);
        int32_t shared_at[32];
        int64_t global_at[32];
        request(&rng, pattern, width, offset, &active);
        for (int l = 0; l < 32; l++)
            shared_at[l] = (int32_t)(offset[l] + 1024), global_at[l] = offset[l];
        SimCounters c = counted(offset, active, shared, store, width);
        u64 requests_now = shared ? c.shared_load_requests + c.shared_store_requests
                                  : c.global_load_requests + c.global_store_requests;
        assert_int_equal(requests_now, 1);
        if (shared) {
            int want = slow_wavefronts(shared_at, active, width);
            assert_int_equal(store ? c.shared_store_wavefronts : c.shared_load_wavefronts, want);
            assert_true(c.bank_conflicts < (u64)want);
        } else {
            int want = slow_sectors(global_at, active, width);
            assert_int_equal(store ? c.global_store_sectors : c.global_load_sectors, want);
            assert_int_equal(store ? c.unique_store_sectors : c.unique_load_sectors, want);
            u64 lanes = 0;
            for (u32 m = active; m; m >>= 1) lanes += m & 1;
            assert_int_equal(store ? c.global_store_bytes : c.global_load_bytes,
                             lanes * (u64)width);
        }
    }
}

/* ---- pipes ---- */

static void pipes(void **state) {
    (void)state;
    static const struct {
        const char *inst;
        SimPipe pipe;
        int flops;            /* per lane */
    } cases[] = {
        {"fma.rn.f32 %r1, %r2, %r3, %r1;", SIM_PIPE_FFMA, 2},
        {"add.f32 %r1, %r2, %r3;", SIM_PIPE_FFMA, 1},
        {"mul.rn.f32 %r1, %r2, %r3;", SIM_PIPE_FFMA, 1},
        {"fma.rn.f64 %d1, %d2, %d3, %d1;", SIM_PIPE_DFMA, 2},
        {"fma.rn.f16x2 %r1, %r2, %r3, %r1;", SIM_PIPE_HFMA, 4},
        {"add.f16 %h1, %h2, %h3;", SIM_PIPE_HFMA, 1},
        {"mad.lo.u32 %r1, %r2, %r3, %r1;", SIM_PIPE_IMAD, 0},
        {"dp4a.s32.s32 %r1, %r2, %r3, %r1;", SIM_PIPE_IMAD, 0},
        {"add.u32 %r1, %r2, %r3;", SIM_PIPE_ALU, 0},
        {"lop3.b32 %r1, %r2, %r3, %r4, 1;", SIM_PIPE_ALU, 0},
        {"setp.lt.s32 %p1, %r2, %r3;", SIM_PIPE_ALU, 0},
        {"min.f32 %r1, %r2, %r3;", SIM_PIPE_ALU, 0},
        {"cvt.rn.f32.s32 %r1, %r2;", SIM_PIPE_CVT, 0},
        {"ex2.approx.f32 %r1, %r2;", SIM_PIPE_MUFU, 0},
        {"rcp.approx.ftz.f32 %r1, %r2;", SIM_PIPE_MUFU, 0},
        {"ld.global.u32 %r1, [%a0];", SIM_PIPE_LSU, 0},
        {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", SIM_PIPE_SHFL, 0},
        {"bar.sync 0;", SIM_PIPE_CONTROL, 0},
        {"@%p7 add.u32 %r1, %r2, %r3;", SIM_PIPE_ALU, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        u64 pipe[2], flops[2], all[2];
        for (int on = 0; on < 2; on++) {
            PtxRun r;
            run_open(&r);
            r.launch.block[0] = 64;
            run_memory(&r, NULL, 256);
            const char *once = on ? cases[k].inst : "";
            run_clean(&r, run_kernel(r.arena, 1,
                                     arena_printf(r.arena, "setp.eq.u32 %%p7, 0, 1;\n%s\n%s", once,
                                                  once)));
            pipe[on] = r.report.total.pipe[cases[k].pipe];
            flops[on] = r.report.total.flops;
            all[on] = r.report.total.instructions;
            run_close(&r);
        }
        assert_int_equal(pipe[1] - pipe[0], 4);
        assert_int_equal(all[1] - all[0], 4);
        assert_int_equal(flops[1] - flops[0], 128 * cases[k].flops);
    }
}

/* ---- independence of host threads ---- */

static const char busy[] =
    ".shared .u32 s[64]; mov.u32 %r8, s; mad.lo.u32 %r9, %t, 4, %r8; mov.u32 %r20, %ctaid.x;\n"
    "mad.lo.u32 %r1, %r20, 64, %t; mul.wide.u32 %l1, %r1, 4; add.u64 %l1, %l1, %a0;\n"
    "st.shared.u32 [%r9], %r1; bar.sync 0; xor.b32 %r2, %t, 33; mad.lo.u32 %r2, %r2, 4, %r8;\n"
    "ld.shared.u32 %r3, [%r2]; rem.u32 %r4, %r20, 5; setp.ne.u32 %p0, %r4, 3; @%p0 bra OK;\n"
    "setp.eq.u32 %p1, %t, 9; @%p1 st.global.u32 [%l1+100000], %r3;\n"
    "OK: @%p0 st.global.u32 [%l1], %r3; rem.u32 %r4, %r20, 7; setp.eq.u32 %p1, %r4, 6; "
    "@%p1 st.global.u32 [%l1+256], %r3;";

static void same_on_any_threads(void **state) {
    (void)state;
    Buf texts[3];
    SimCounters total[3];
    Arena *a = arena_create(NULL);
    for (int n = 0; n < 3; n++) {
        static const int threads[] = {1, 2, 7};
        PtxRun r;
        run_open(&r);
        r.options.threads = threads[n];
        r.launch.block[0] = 64;
        r.launch.grid[0] = 60;
        run_memory(&r, NULL, 61 * 64 * 4);
        assert_true(run_text(&r, run_kernel(r.arena, 1, busy)));
        texts[n] = buf_new(a);
        assert_true(r.report.n_fault == SIM_MAX_FAULTS && r.report.faults > SIM_MAX_FAULTS);
        for (int k = 0; k < r.report.n_fault; k++) {
            sim_fault_text(&r.report.fault[k], &texts[n]);
            if (k > 0) assert_true(r.report.fault[k].block[0] >= r.report.fault[k - 1].block[0]);
        }
        total[n] = r.report.total;
        assert_string_equal(buf_str(&texts[n]), buf_str(&texts[0]));
        assert_memory_equal(&total[n], &total[0], sizeof total[0]);
        run_close(&r);
    }
    arena_destroy(a);
}

/* ---- a part of the blocks ---- */

static void chosen_blocks(void **state) {
    (void)state;
    static const int64_t blocks[] = {7, 2, 2, 0, 99};
    PtxRun r;
    run_open(&r);
    r.options.blocks = blocks;
    r.options.n_blocks = 5;
    r.launch.grid[0] = 4;
    r.launch.grid[1] = 2;
    u32 zero[8] = {0};
    run_memory(&r, zero, sizeof zero);
    run_clean(&r, run_kernel(r.arena, 1,
                             "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r1, %r2, "
                             "4, %r1; mul.wide.u32 %l1, %r1, 4;\n"
                             "add.u64 %l1, %l1, %a0; mov.u32 %r3, 1; st.global.u32 [%l1], %r3;"));
    const u32 want[8] = {1, 0, 1, 0, 0, 0, 0, 1};
    assert_memory_equal(run_host(&r, 0), want, sizeof want);
    assert_int_equal(r.report.blocks_run, 3);
    run_close(&r);
}

/* Blocks that wait for each other: a barrier of the whole grid.  */
static void blocks_communicate(void **state) {
    (void)state;
    PtxRun r;
    run_open(&r);
    r.launch.grid[0] = 20;
    u32 zero[64] = {0};
    run_memory(&r, zero, sizeof zero);
    run_clean(&r,
              run_kernel(
                  r.arena, 1,
                  "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p0, %t, 0; mul.wide.u32 %l1, %r1, 4; "
                  "add.u64 %l1, %l1, %a0;\n"
                  "add.u32 %r2, %r1, 5; @%p0 st.global.u32 [%l1+128], %r2; membar.gl; @%p0 "
                  "atom.global.add.u32 %r3, [%a0], 1;\n"
                  "W: ld.acquire.gpu.global.u32 %r4, [%a0]; setp.lt.u32 %p1, %r4, 20; @%p1 bra W;\n"
                  "xor.b32 %r5, %r1, 1; mul.wide.u32 %l2, %r5, 4; add.u64 %l2, %l2, %a0; "
                  "ld.global.u32 %r6, [%l2+128];\n"
                  "add.u32 %r7, %r5, 5; setp.ne.u32 %p2, %r6, %r7; @%p2 trap;"));
    run_close(&r);
}

/* Blocks that differ, two to a cluster: each block's counters are its own, and add up.  */
static void counters_of_every_block(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        PtxRun r;
        run_open(&r);
        r.options.per_block = true;
        r.options.threads = threads;
        r.launch.grid[0] = 4;
        r.launch.grid[1] = 2;
        r.launch.cluster[1] = 2;
        r.launch.dynamic_smem = 256;
        static u32 zero[32];
        run_memory(&r, zero, sizeof zero);
        run_clean(&r, run_kernel(
                          r.arena, 1,
                          "mov.u32 %r1, %ctaid.x; mov.u32 %r2, smem; add.u32 %r1, %r1, 1;\n"
                          "L: red.global.add.f32 [%a0], 0f3f800000; st.shared.u32 [%r2], %r1;\n"
                          "bar.sync 0; mad.lo.u32 %r3, %r1, %r1, %r1; sub.u32 %r1, %r1, 1;\n"
                          "setp.ne.u32 %p0, %r1, 0; @%p0 bra L; ld.global.u32 %r4, [%a0];"));
        assert_int_equal(r.report.blocks_run, 8);
        SimCounters sum = {0};
        for (int64_t b = 0; b < 8; b++) {
            const SimBlockCounters *x = &r.report.block[b];
            assert_int_equal(x->linear, b);
            assert_int_equal(x->count.barriers, b % 4 + 1);
            assert_int_equal(x->count.atomics, b % 4 + 1);
            assert_int_equal(x->count.global_load_requests, 1);
            for (int p = 0; p < SIM_PIPE_COUNT; p++) sum.pipe[p] += x->count.pipe[p];
#define X(name, text) sum.name += x->count.name;
            SIM_COUNTERS(X)
#undef X
            sum.flops += x->count.flops;
        }
        sum.unique_load_sectors = r.report.total.unique_load_sectors;
        sum.unique_store_sectors = r.report.total.unique_store_sectors;
        assert_memory_equal(&sum, &r.report.total, sizeof sum);
        run_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),
        cmocka_unit_test(pipes),
        cmocka_unit_test(same_on_any_threads),
        cmocka_unit_test(chosen_blocks),
        cmocka_unit_test(blocks_communicate),
        cmocka_unit_test(counters_of_every_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
