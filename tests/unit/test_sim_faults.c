/* links: sim */
/* Every kind of fault: a kernel that has it is reported with its place, its corrected form is
 * silent. (Descriptors, proxies and wgmma operands are in test_sim_async, _tma and _wgmma.) */
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 6, BYTES = 4096 };

typedef struct {
    SimFaultKind kind;
    const char *faulty, *corrected;   /* bodies; %l1 = p0 + 4 tid, %r9 = smem + 4 tid */
    uint32_t threads, grid;
    const char *text;                 /* occurs in the message, or NULL */
} Canary;

static const char *text(PtxRun *r, const char *body) {
    return run_kernel(r->arena, 1, arena_printf(r->arena,
        "mov.u32 %%r8, smem; mad.lo.u32 %%r9, %%t, 4, %%r8; mul.wide.u32 %%l9, %%t, 4;\n"
        "add.u64 %%l1, %%a0, %%l9; mov.u32 %%r20, %%ctaid.x; mov.u32 %%r0, 7;\n%s", body));
}

static void start(PtxRun *r, const Canary *c, uint64_t seed) {
    static const unsigned char zero[BYTES];
    run_open(r);
    r->options.seed = seed;
    r->options.threads = 1 + (int)(seed % 2);
    r->options.max_instructions = 100000;
    r->launch.block[0] = c->threads ? c->threads : 32;
    r->launch.grid[0] = c->grid ? c->grid : 1;
    r->launch.dynamic_smem = 1024;
    run_memory(r, zero, BYTES);
}

static void check(const Canary *c, int n) {
    for (int k = 0; k < n; k++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            PtxRun r;
            start(&r, &c[k], seed);
            run_faulty(&r, text(&r, c[k].faulty), (int)c[k].kind);
            const SimFault *f = &r.report.fault[0];
            assert_string_equal(f->kernel, "k");
            assert_true(f->ptx_line > 0);
            Buf b = buf_new(r.arena);
            sim_fault_text(f, &b);
            if (c[k].text && !strstr(buf_str(&b), c[k].text)) {
                fail_msg("'%s' does not say '%s'", buf_str(&b), c[k].text);
            }
            run_close(&r);
            if (!c[k].corrected) continue;
            start(&r, &c[k], seed);
            run_clean(&r, text(&r, c[k].corrected));
            run_close(&r);
        }
    }
}
#define CHECK(canaries) check(canaries, (int)(sizeof(canaries) / sizeof((canaries)[0])))

static void bounds(void **state) {
    (void)state;
    static const Canary canaries[] = {
        {SIM_OUT_OF_BOUNDS, "ld.global.u32 %r1, [%l1+4096];", "ld.global.u32 %r1, [%l1+3968];", 0,
         0, "load of 4 bytes"},
        {SIM_OUT_OF_BOUNDS, "st.global.u32 [%l1-4], %r0;", "st.global.u32 [%l1], %r0;", 0, 0,
         "store"},
        {SIM_OUT_OF_BOUNDS,
         "setp.eq.u32 %p0, %t, 31; selp.u64 %l2, 8192, 0, %p0; add.u64 %l2, %l1, %l2;\n"
         "ld.global.u32 %r1, [%l2];",
         "ld.global.u32 %r1, [%l1];", 0, 0, "thread (31,0,0)"},
        {SIM_OUT_OF_BOUNDS, "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a0+4096];",
         "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a0+4080];", 0, 0, NULL},
        {SIM_OUT_OF_BOUNDS, "mov.u64 %l2, 0; ld.u32 %r1, [%l2];", "ld.u32 %r1, [%l1];", 0, 0,
         "no device memory"},
        {SIM_OUT_OF_BOUNDS, "st.shared.u32 [%r9+1024], %r0;", "st.shared.u32 [%r9], %r0;", 0, 0,
         "shared address"},
        {SIM_OUT_OF_BOUNDS, "st.shared.u32 [%r9-4], %r0;", "st.shared.u32 [%r9], %r0;", 0, 0, NULL},
        {SIM_OUT_OF_BOUNDS, ".local .u32 x; mov.u32 %r1, x; st.local.u32 [%r1+8], %r0;",
         ".local .u32 x; st.local.u32 [x], %r0;", 0, 0, "local address"},
        {SIM_OUT_OF_BOUNDS, "mov.u32 %r1, 64; ld.param.u32 %r2, [%r1];",
         "mov.u32 %r1, 0; "
         "ld.param.u32 %r2, [%r1];",
         0, 0, "parameter address"},
        {SIM_OUT_OF_BOUNDS, "atom.global.add.u32 %r1, [%l1+4096], 1;",
         "atom.global.add.u32 %r1, [%l1], 1;", 0, 0, NULL},
        {SIM_MISALIGNED, "ld.global.u32 %r1, [%l1+2];", "ld.global.u16 %r1, [%l1+2];", 0, 0,
         "multiple of 4"},
        {SIM_MISALIGNED, "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a0+8];",
         "ld.global.v2.u32 {%r1, %r2}, [%a0+8];", 0, 0, "multiple of 16"},
        {SIM_MISALIGNED, "st.shared.u64 [%r8+4], %l1;",
         "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u64 [%r8+8], %l1;", 0, 0, NULL},
        {SIM_MISALIGNED, "red.global.add.u64 [%a0+4], 1;", "red.global.add.u64 [%a0+8], 1;", 0, 0,
         NULL},
    };
    CHECK(canaries);
}

/* A load of 16 bytes of which 12 are there, and that is told to need 12 of them or 13.  */
static void needed_bytes(void **state) {
    (void)state;
    static const char *const loads[] = {
        "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a0+32]; st.global.u32 [%a0], %r3;",
        "ld.global.v2.u64 {%l1, %l2}, [%a0+32]; st.global.u64 [%a0], %l1;",
        "mov.b32 %r1, 1; st.shared.v2.b32 [smem+16], {%r1, %r1}; st.shared.b32 [smem+24], %r1;\n"
        "bar.warp.sync -1; %s ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [smem+16];",
        "mov.u64 %l1, smem; cvta.shared.u64 %l1, %l1; mov.b32 %r1, 1; st.v2.b32 [%l1+16], {%r1, "
        "%r1};\n"
        "st.b32 [%l1+24], %r1; bar.warp.sync -1; %s ld.v4.b32 {%r1, %r2, %r3, %r4}, [%l1+16];",
        ".local .align 16 .b8 x[44]; %s ld.local.v4.b32 {%r1, %r2, %r3, %r4}, [x+32];",
    };
    for (size_t k = 0; k < sizeof loads / sizeof *loads; k++) {
        for (int wrong = 0; wrong < 2; wrong++) {
            PtxRun r;
            run_open(&r);
            r.launch.block[0] = 1;
            r.launch.dynamic_smem = 28;
            run_memory(&r, NULL, 44);
            const char *mask = wrong ? ".pragma \"used_bytes_mask 0x1f0f\";"
                                     : ".pragma \"used_bytes_mask 0xf0f\";";
            const char *at = strstr(loads[k], "%s");
            size_t head = at ? (size_t)(at - loads[k]) : 0;
            const char *body = arena_printf(r.arena, "%.*s%s%s", (int)head, loads[k], mask,
                                            at ? at + 2 : loads[k]);
            if (wrong) run_faulty(&r, run_kernel(r.arena, 1, body), SIM_OUT_OF_BOUNDS);
            else run_clean(&r, run_kernel(r.arena, 1, body));
            run_close(&r);
        }
    }
}

/* Compilers widen loads of neighbours to 16 bytes: what nothing depends on may lie outside of what
 * a load begins in, or be written by nobody; it is poison.  */
enum { CLEAN = -1 };
static void widened_loads(void **state) {
    (void)state;
    static const struct {
        const char *body;
        int fault;
    } cases[] = {
        {"ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%a0+32]; st.global.u32 [%a0], %r3;", CLEAN},
        {"ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%a0+32]; st.global.u32 [%a0], %r4;",
         SIM_OUT_OF_BOUNDS},
        {"ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%a0+32];", SIM_OUT_OF_BOUNDS},
        {"ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%a0+48]; st.global.u32 [%a0], %r1;",
         SIM_OUT_OF_BOUNDS},
        {"mov.u32 %r1, 0; st.global.v4.u32 [%a0+32], {%r1, %r1, %r1, %r1};", SIM_OUT_OF_BOUNDS},
        {"ld.global.u64 %l1, [%a0+40]; st.global.u32 [%a0], %l1;", CLEAN},
        {"ld.global.u64 %l1, [%a0+40]; shr.u64 %l2, %l1, 24; st.global.u8 [%a0], %l2;", CLEAN},
        {"ld.global.u64 %l1, [%a0+40]; shr.u64 %l2, %l1, 25; st.global.u8 [%a0], %l2;",
         SIM_OUT_OF_BOUNDS},
#define HALF "mov.u32 %r9, smem; st.shared.u16 [%r9], %h0; ld.shared.u32 %r1, [%r9]; "
        {HALF "cvt.u16.u32 %h1, %r1; st.global.u16 [%a0], %h1;", CLEAN},
        {HALF "and.b32 %r2, %r1, 65535; st.global.u32 [%a0], %r2;", CLEAN},
        {HALF "bfe.u32 %r2, %r1, 8, 8; add.u32 %r2, %r2, 1; st.global.u32 [%a0], %r2;", CLEAN},
        {HALF "prmt.b32 %r2, %r1, 0, 0x4440; st.global.u32 [%a0], %r2;", CLEAN},
        {HALF "mov.b32 {%h1, %h2}, %r1; st.global.u16 [%a0], %h1;", CLEAN},
        {HALF "mov.b32 {%h1, %h2}, %r1; st.global.u16 [%a0], %h2;", SIM_UNINIT_SHARED},
        {HALF "cvt.u64.u32 %l1, %r1; shl.b64 %l2, %l1, 48; shr.u64 %l3, %l2, 48;"
              "st.global.u64 [%a0], %l3;", CLEAN},
        {HALF "bfe.u32 %r2, %r1, 9, 8; st.global.u32 [%a0], %r2;", SIM_UNINIT_SHARED},
        {HALF "prmt.b32 %r2, %r1, 0, 0x4442; st.global.u32 [%a0], %r2;", SIM_UNINIT_SHARED},
        {HALF "prmt.b32 %r2, %r1, 0, 0x444a; st.global.u32 [%a0], %r2;", SIM_UNINIT_SHARED},
        {HALF "add.u32 %r2, %r1, 1; st.global.u16 [%a0], %r2;", SIM_UNINIT_SHARED},
        {HALF "shr.s32 %r2, %r1, 16; st.global.u16 [%a0], %r2;", SIM_UNINIT_SHARED},
#undef HALF
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        PtxRun r;
        run_open(&r);
        r.launch.block[0] = 1;
        r.launch.dynamic_smem = 16;
        run_memory(&r, NULL, 44);
        char *text = arena_printf(r.arena, "%s", run_kernel(r.arena, 1, cases[k].body));
        if (cases[k].fault == CLEAN) run_clean(&r, text);
        else run_faulty(&r, text, cases[k].fault);
        run_close(&r);
    }
}

static void freed_memory(void **state) {
    (void)state;
    PtxRun r;
    Canary c = {0};
    start(&r, &c, 0);
    sim_free(r.gpu, r.arg[0]);
    run_faulty(&r, text(&r, "ld.global.u32 %r1, [%l1];"), SIM_OUT_OF_BOUNDS);
    assert_non_null(strstr(r.report.fault[0].text, "freed"));
    run_close(&r);
}

static void shared_memory(void **state) {
    (void)state;
    static const Canary canaries[] = {
        {SIM_UNINIT_SHARED, "ld.shared.u32 %r1, [%r9];",
         "st.shared.u32 [%r9], %r0; ld.shared.u32 %r1, [%r9];", 0, 0, "nothing was written"},
        {SIM_UNINIT_SHARED, "st.shared.u16 [%r9], %h0; ld.shared.u32 %r1, [%r9];",
         "st.shared.u16 [%r9], %h0; st.shared.u16 [%r9+2], %h0; ld.shared.u32 %r1, [%r9];", 0, 0,
         NULL},
        /* A load that needs some of what it reads.  */
        {SIM_UNINIT_SHARED,
         "mad.lo.u32 %r9, %t, 16, %r8; st.shared.v2.u32 [%r9], {%r0, %r0}; "
         ".pragma \"used_bytes_mask 4095\"; ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r9];",
         "mad.lo.u32 %r9, %t, 16, %r8; st.shared.v2.u32 [%r9], {%r0, %r0}; "
         ".pragma \"used_bytes_mask 0xff\"; ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r9];",
         0, 0, "nothing was written"},
        {SIM_UNINIT_SHARED,
         "mad.lo.u32 %r9, %t, 8, %r8; .pragma \"used_bytes_mask 15\"; mov.u32 %r1, 0; "
         "st.shared.u32 [%r9], %r0; ld.shared.v2.u32 {%r1, %r2}, [%r9];",
         "mad.lo.u32 %r9, %t, 8, %r8; st.shared.u32 [%r9], %r0; "
         ".pragma \"used_bytes_mask 15\"; ld.shared.v2.u32 {%r1, %r2}, [%r9];",
         0, 0, NULL},
        /* Written by the other warp, no barrier: a race, or not there yet, as the warps happen to
         * run.  */
        {SIM_RACE_SHARED,
         "st.shared.u32 [%r9], %r0; mov.u32 %r5, 2000;\n"
         "W: sub.u32 %r5, %r5, 1; setp.ne.u32 %p0, %r5, 0; @%p0 bra W;\n"
         "xor.b32 %r2, %t, 32; mad.lo.u32 %r2, %r2, 4, %r8; ld.shared.u32 %r1, [%r2];",
         "st.shared.u32 [%r9], %r0; bar.sync 0; xor.b32 %r2, %t, 32; mad.lo.u32 %r2, %r2, 4, %r8; "
         "ld.shared.u32 %r1, [%r2];",
         64, 0, "not ordered by a barrier"},
        /* Lanes of one warp. */
        {SIM_RACE_SHARED,
         "st.shared.u32 [%r9], %r0; xor.b32 %r2, %t, 1; mad.lo.u32 %r2, %r2, 4, %r8; "
         "ld.shared.u32 %r1, [%r2];",
         "st.shared.u32 [%r9], %r0; bar.warp.sync -1; xor.b32 %r2, %t, 1; "
         "mad.lo.u32 %r2, %r2, 4, %r8; ld.shared.u32 %r1, [%r2];",
         0, 0, NULL},
        /* Lanes that share a word own their bytes of it.  */
        {SIM_RACE_SHARED,
         "add.u32 %r2, %t, %r8; st.shared.u8 [%r2], %t; xor.b32 %r2, %t, 1; add.u32 %r2, %r2, %r8; "
         "ld.shared.u8 %r1, [%r2];",
         "add.u32 %r2, %t, %r8; st.shared.u8 [%r2], %r0; st.shared.u8 [%r2], %t; "
         "ld.shared.u8 %r1, [%r2];",
         0, 0, NULL},
        /* Halves of words, by two warps that read their own or each other's.  */
        {SIM_RACE_SHARED,
         "and.b32 %r2, %t, 31; shr.u32 %r3, %t, 5; mad.lo.u32 %r2, %r2, 2, %r3;\n"
         "mad.lo.u32 %r2, %r2, 2, %r8; st.shared.u16 [%r2], %h0; bar.warp.sync -1;\n"
         "xor.b32 %r2, %r2, 4; ld.shared.u16 %r1, [%r2]; and.b32 %r2, %r2, -4;\n"
         "st.shared.u16 [%r2], %t;",
         "and.b32 %r2, %t, 31; shr.u32 %r3, %t, 5; mad.lo.u32 %r2, %r2, 2, %r3;\n"
         "mad.lo.u32 %r2, %r2, 2, %r8; st.shared.u16 [%r2], %h0; bar.warp.sync -1;\n"
         "xor.b32 %r2, %r2, 4; ld.shared.u16 %r1, [%r2];",
         64, 0, NULL},
        /* An atomic on a half beside a plain store to the other.  */
        {SIM_RACE_SHARED,
         "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [%r8], %r0; bar.sync 0; mov.u16 %h0, 5;\n"
         "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u16 [%r8+2], %h0; setp.lt.u32 %p0, %t, 32;\n"
         "@!%p0 atom.shared.cas.b16 %h1, [%r8+2], %h0, %h0;",
         "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [%r8], %r0; bar.sync 0; mov.u16 %h0, 5;\n"
         "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u16 [%r8+2], %h0; setp.lt.u32 %p0, %t, 32;\n"
         "@!%p0 atom.shared.cas.b16 %h1, [%r8], %h0, %h0;",
         64, 0, NULL},
        /* Two lanes store different values with one instruction. */
        {SIM_RACE_SHARED, "st.shared.u32 [%r8], %t;", "st.shared.u32 [%r8], %r0;", 0, 0, "write"},
        /* Read, then overwritten by others without a barrier between. */
        {SIM_RACE_SHARED,
         "st.shared.u32 [%r9], %r0; bar.sync 0; ld.shared.u32 %r1, [%r8+128];\n"
         "add.u32 %r1, %r1, 1; st.shared.u32 [%r9], %r1;",
         "st.shared.u32 [%r9], %r0; bar.sync 0; ld.shared.u32 %r1, [%r8+128]; add.u32 %r1, %r1, "
         "1;\n"
         "bar.sync 0; st.shared.u32 [%r9], %r1;",
         64, 0, NULL},
        /* Named barriers of two halves order each half only. */
        {SIM_RACE_SHARED,
         "st.shared.u32 [%r9], %r0; shr.u32 %r1, %t, 6; add.u32 %r1, %r1, 1; mov.u32 %r5, 2000;\n"
         "W: sub.u32 %r5, %r5, 1; setp.ne.u32 %p0, %r5, 0; @%p0 bra W;\n"
         "bar.sync %r1, 64; xor.b32 %r2, %t, 64; mad.lo.u32 %r2, %r2, 4, %r8; ld.shared.u32 %r1, "
         "[%r2];",
         "st.shared.u32 [%r9], %r0; shr.u32 %r1, %t, 6; add.u32 %r1, %r1, 1; bar.sync %r1, 64;\n"
         "xor.b32 %r2, %t, 32; mad.lo.u32 %r2, %r2, 4, %r8; ld.shared.u32 %r1, [%r2];",
         128, 0, NULL},
        /* Atomics do not race with each other, but with plain stores. */
        {SIM_RACE_SHARED, "st.shared.u32 [%r8], %r0; atom.shared.add.u32 %r1, [%r8], 1;",
         "st.shared.u32 [%r8], %r0; bar.sync 0; atom.shared.add.u32 %r1, [%r8], 1;", 64, 0, NULL},
    };
    CHECK(canaries);
}

static void global_races(void **state) {
    (void)state;
    static const Canary canaries[] = {
        {SIM_RACE_GLOBAL, "st.global.u32 [%l1], %r20;",
         "mul.wide.u32 %l2, %r20, 128; add.u64 %l1, %l1, %l2; st.global.u32 [%l1], %r20;", 0, 4,
         "block (0,0,0) writes"},
        /* Tiles that overlap by one element. */
        {SIM_RACE_GLOBAL,
         "mul.wide.u32 %l2, %r20, 124; add.u64 %l1, %l1, %l2; st.global.u32 [%l1], %r0;",
         "mul.wide.u32 %l2, %r20, 124; add.u64 %l1, %l1, %l2; setp.lt.u32 %p0, %t, 31;\n"
         "@%p0 st.global.u32 [%l1], %r0;",
         0, 3, NULL},
        {SIM_RACE_GLOBAL, "st.global.u16 [%a0], %h0;", "red.global.add.u32 [%a0], 1;", 0, 2, NULL},
    };
    CHECK(canaries);
}

/* Blocks that pass a turn around by a flag at p0 + 2048.  */
#define ONE_THREAD "setp.ne.u32 %p7, %t, 0; @%p7 bra END;\n"
#define MY_TURN \
    "W: ld.acquire.gpu.global.u32 %r1, [%a0+2048]; setp.ne.u32 %p0, %r1, %r20; @%p0 bra W;\n"
#define NEXT_TURN "add.u32 %r1, %r20, 1; st.release.gpu.global.u32 [%a0+2048], %r1;\n"

static void global_order(void **state) {
    (void)state;
    static const Canary canaries[] = {
        {SIM_RACE_GLOBAL,
         ONE_THREAD "atom.global.add.u32 %r1, [%a0+2048], 1; st.global.u32 [%a0], %r20; END:",
         ONE_THREAD MY_TURN "st.global.u32 [%a0], %r20;\n" NEXT_TURN "END:", 0, 4,
         "nothing orders the two"},
        {SIM_RACE_GLOBAL,
         ONE_THREAD "ld.global.u32 %r2, [%a0]; add.u32 %r2, %r2, 1; st.global.u32 [%a0], %r2;\n"
                    "atom.global.add.u32 %r1, [%a0+2048], 1; END:",
         ONE_THREAD MY_TURN "ld.global.u32 %r2, [%a0]; add.u32 %r2, %r2, 1;\n"
                            "st.global.u32 [%a0], %r2;\n" NEXT_TURN "END:",
         0, 4, "reads"},
        /* The flag is set before the data is there. */
        {SIM_RACE_GLOBAL,
         ONE_THREAD MY_TURN "ld.global.u32 %r2, [%a0];\n" NEXT_TURN
                            "st.global.u32 [%a0], %r20; END:",
         ONE_THREAD MY_TURN "ld.global.u32 %r2, [%a0]; st.global.u32 [%a0], %r20;\n" NEXT_TURN
                            "END:",
         0, 3, NULL},
        /* The block that comes last, by a ticket, sums what the others wrote. */
        {SIM_RACE_GLOBAL,
         ONE_THREAD "mul.wide.u32 %l2, %r20, 4; add.u64 %l2, %l2, %a0; st.global.u32 [%l2], %r0;\n"
                    "setp.ne.u32 %p0, %r20, 3; @%p0 bra OUT; ld.global.u32 %r2, [%a0];\n"
                    "OUT: atom.global.inc.u32 %r1, [%a0+2048], 3; END:",
         ONE_THREAD "mul.wide.u32 %l2, %r20, 4; add.u64 %l2, %l2, %a0; st.global.u32 [%l2], %r0;\n"
                    "membar.gl; atom.global.inc.u32 %r1, [%a0+2048], 3; setp.ne.u32 %p0, %r1, 3;\n"
                    "@%p0 bra END; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%a0]; END:",
         0, 4, NULL},
    };
    CHECK(canaries);
}

static void progress(void **state) {
    (void)state;
    static const Canary canaries[] = {
        {SIM_DIVERGENT, "setp.lt.u32 %p0, %t, 16; @%p0 bar.sync 0;", "bar.sync 0;", 64, 0,
         "threads"},
        {SIM_DIVERGENT, "setp.lt.u32 %p0, %t, 32; @%p0 bar.sync 0;", "bar.sync 0;", 64, 0,
         "32 of 64 threads"},
        {SIM_DIVERGENT, "setp.lt.u32 %p0, %t, 16; @%p0 bra A; bar.sync 0; bra E; A: bar.sync 0; E:",
         "bar.sync 0;", 32, 0, "lanes"},
        {SIM_DIVERGENT, "setp.ge.u32 %p0, %t, 40; @%p0 ret; bar.sync 0;",
         "bar.sync 0; setp.ge.u32 %p0, %t, 40; @%p0 ret;", 64, 0, NULL},
        {SIM_DIVERGENT,
         "setp.lt.u32 %p0, %t, 16; @%p0 shfl.sync.bfly.b32 %r1, %t, 1, 31, -1; @%p0 bra E;\n"
         "W: ld.volatile.global.u32 %r2, [%a0]; E:",
         "shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;", 32, 0, NULL},
        {SIM_DEADLOCK,
         "setp.lt.u32 %p0, %t, 32; @%p0 bra A; bar.sync 1; bar.sync 2; bra E;\n"
         "A: bar.sync 2; bar.sync 1; E:",
         "bar.sync 1; bar.sync 2;", 64, 0, "no other can come"},
        {SIM_DIVERGENT, "setp.lt.u32 %p0, %t, 32; selp.u32 %r1, 64, 96, %p0; bar.sync 1, %r1;",
         "bar.sync 1, 64;", 64, 0, NULL},
        {SIM_RUNAWAY, "W: ld.volatile.global.u32 %r2, [%a0]; setp.eq.u32 %p0, %r2, 0; @%p0 bra W;",
         "ld.volatile.global.u32 %r2, [%a0];", 0, 0, "instructions"},
        {SIM_TRAP, "setp.eq.u32 %p0, %t, 5; @%p0 trap;", "setp.eq.u32 %p0, %t, 99; @%p0 trap;", 0,
         0, "thread (5,0,0)"},
        {SIM_BAD_JUMP, "T: .branchtargets A, B; brx.idx %t, T; A: mov.u32 %r1, 1; B:",
         "T: .branchtargets A, B; and.b32 %r1, %t, 1; brx.idx %r1, T; A: mov.u32 %r1, 1; B:", 0, 0,
         "index 2"},
        {SIM_LIMIT, "mov.u32 %r1, 16; bar.sync %r1;", "mov.u32 %r1, 15; bar.sync %r1;", 0, 0,
         "barrier 16"},
    };
    CHECK(canaries);
}

typedef struct {
    uint32_t grid[3], block[3], smem;
    const char *directive;
} Shape;

static void launches(void **state) {
    (void)state;
    static const Shape bad[] = {
        {{1, 1, 1}, {1025, 1, 1}, 0, ""}, {{1, 70000, 1}, {32, 1, 1}, 0, ""},
        {{1, 1, 1}, {32, 1, 1}, 240000, ""}, {{1, 1, 1}, {64, 1, 1}, 0, ".maxntid 32"},
        {{1, 1, 1}, {64, 1, 1}, 0, ".reqntid 32, 2, 1"}, {{0, 1, 1}, {32, 1, 1}, 0, ""},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        PtxRun r;
        run_open(&r);
        memcpy(r.launch.grid, bad[k].grid, sizeof r.launch.grid);
        memcpy(r.launch.block, bad[k].block, sizeof r.launch.block);
        r.launch.dynamic_smem = bad[k].smem;
        run_faulty(&r,
                   arena_printf(r.arena, PTX_HEAD ".visible .entry k() %s\n{\nret;\n}\n",
                                bad[k].directive),
                   SIM_LIMIT);
        assert_int_equal(r.report.blocks_run, 0);
        run_close(&r);
    }
}

/* The place: PTX line, source line, block and thread.  */
static void places(void **state) {
    (void)state;
    PtxRun r;
    run_open(&r);
    r.launch.grid[0] = r.launch.grid[1] = 2;
    r.launch.block[0] = 8;
    r.launch.block[1] = 8;
    run_faulty(&r,
               PTX_HEAD ".visible .entry k()\n{\n.reg .pred %p;\n.reg .b32 %r<3>;\n.loc 1 12 3\n"
                        "mov.u32 %r0, %tid.y;\nmov.u32 %r1, %ctaid.y;\nadd.u32 %r0, %r0, "
                        "%r1;\nsetp.eq.u32 %p, %r0, 8;\n"
                        ".loc 1 17 9, function_name $L, inlined_at 1 20 1\n@%p "
                        "trap;\nret;\n}\n.file 1 \"dir/x.cu\"\n",
               SIM_TRAP);
    Buf b = buf_new(r.arena);
    sim_fault_text(&r.report.fault[0], &b);
    assert_string_equal(buf_str(&b),
                        "kernel k, block (0,1,0), thread (0,7,0): trap: trap was executed "
                        "(ptx line 14, dir/x.cu line 17)");
    assert_int_equal(r.report.faults, 2);
    assert_int_equal(r.report.fault[1].block[0], 1);
    run_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),        cmocka_unit_test(needed_bytes),
        cmocka_unit_test(widened_loads), cmocka_unit_test(freed_memory),
        cmocka_unit_test(shared_memory), cmocka_unit_test(global_races),
        cmocka_unit_test(global_order),  cmocka_unit_test(progress),
        cmocka_unit_test(launches),
        cmocka_unit_test(places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
