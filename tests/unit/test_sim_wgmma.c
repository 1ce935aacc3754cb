/* links: sim */
/* wgmma for every type, shape, layout and swizzle on random integers, and its rules.  */
#include "operands.h"
#include "ptxrun.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SMEM = 81920, A_AT = 0, B_AT = 16384 };

typedef struct {
    T a, b, d;
    int n;
    int span_a, span_b;       /* 16: no swizzle */
    bool a_regs, a_mn, b_mn, neg_a, neg_b, scale_d, sat;
    bool wide;                /* the looser of two choices of the strides */
} Case;

/* p0 image of shared memory, p1 accumulators [reg][128], p2 registers of A [4][128], p3 result,
 * p4/p5 descriptors relative to the start of shared memory, p6 scale-d.  */
static const char *fill_smem =
    "mov.u32 %r399, smem;\nshl.b32 %r398, %t, 4;\nmov.u32 %r397, %r398;\nFILL:\n"
    "cvt.u64.u32 %l0, %r397;\nadd.u64 %l1, %a0, %l0;\nld.global.v2.b64 {%l2, %l3}, [%l1];\n"
    "add.u32 %r396, %r399, %r397;\nst.shared.v2.b64 [%r396], {%l2, %l3};\n"
    "add.u32 %r397, %r397, 2048;\nsetp.lt.u32 %p1, %r397, 81920;\n@%p1 bra FILL;\n";

static void list(Buf *b, int base, int n) {
    for (int r = 0; r < n; r++) buf_printf(b, "%s%%r%d", r ? "," : "{", base + r);
    buf_puts(b, "}");
}

static const char *opcode(Arena *a, const Case *c) {
    return arena_printf(a, "wgmma.mma_async.sync.aligned.m64n%dk%d%s.%s.%s.%s", c->n,
                        32 / operand_types[c->a].bytes, c->sat ? ".satfinite" : "",
                        operand_types[c->d].name, operand_types[c->a].name,
                        operand_types[c->b].name);
}

static int acc_regs(const Case *c) { return c->n * operand_types[c->d].bytes / 8; }

static const char *immediates(const Case *c) {
    static const char *const signs[] = {", 1, 1", ", -1, 1", ", 1, -1", ", -1, -1"};
    return c->d == T_S32 ? "" : signs[c->neg_a + 2 * c->neg_b];
}

static const char *text(Arena *arena, const Case *c) {
    Buf b = buf_new(arena);
    int regs = acc_regs(c);
    buf_puts(&b, fill_smem);
    buf_puts(&b, "fence.proxy.async;\nbar.sync 0;\nshl.b32 %r398, %t, 2;\n"
                 "cvt.u64.u32 %l0, %r398;\nadd.u64 %l1, %a1, %l0;\nadd.u64 %l2, %a2, %l0;\n"
                 "shr.u32 %r397, %r399, 4;\ncvt.u64.u32 %l5, %r397;\nadd.u64 %l6, %a4, %l5;\n"
                 "add.u64 %l7, %a5, %l5;\nsetp.ne.u64 %p2, %a6, 0;\n");
    for (int r = 0; r < regs; r++) buf_printf(&b, "ld.global.b32 %%r%d, [%%l1+%d];\n", r, 512 * r);
    for (int r = 0; r < 4; r++)
        buf_printf(&b, "ld.global.b32 %%r%d, [%%l2+%d];\n", 200 + r, 512 * r);
    buf_printf(&b, "wgmma.fence.sync.aligned;\n%s ", opcode(arena, c));
    list(&b, 0, regs);
    buf_puts(&b, ", ");
    if (c->a_regs) list(&b, 200, 4);
    else buf_puts(&b, "%l6");
    buf_printf(&b, ", %%l7, %%p2%s", immediates(c));
    if (operand_types[c->a].bytes == 2) {
        if (!c->a_regs) buf_printf(&b, ", %d", c->a_mn);
        buf_printf(&b, ", %d", c->b_mn);
    }
    buf_puts(&b, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
                 "add.u64 %l3, %a3, %l0;\n");
    for (int r = 0; r < regs; r++) buf_printf(&b, "st.global.b32 [%%l3+%d], %%r%d;\n", 512 * r, r);
    return run_kernel(arena, 7, buf_str(&b));
}

typedef struct {
    unsigned char smem[SMEM];
    uint32_t acc[128][128], a_regs[4][128];
    double a[64][32], b[32][256], d[64][256];
} Data;

static void put_a_reg(Data *x, const Case *c, int row, int k, double v) {
    int bytes = operand_types[c->a].bytes, word = k * bytes / 4;
    int lane = row % 8 * 4 + word % 4, reg = row % 16 / 8 + word / 4 * 2,
        thread = row / 16 * 32 + lane;
    x->a_regs[reg][thread] |= operand_encode(c->a, v) << (k * bytes % 4 * 8);
}

static void make(Data *x, const Case *c, const Lay *la, const Lay *lb, uint64_t seed) {
    Rng rng = {seed};
    int k_size = 32 / operand_types[c->a].bytes;
    memset(x, 0, sizeof *x);
    for (int k = 0; k < k_size; k++) {
        for (int m = 0; m < 64; m++) {
            double v = x->a[m][k] = operand_draw(&rng, c->a);
            if (c->a_regs) put_a_reg(x, c, m, k, v);
            else operand_put(x->smem, SMEM, A_AT, la, c->a, m, k, v);
        }
        for (int n = 0; n < c->n; n++) {
            double v = x->b[k][n] = operand_draw(&rng, c->b);
            operand_put(x->smem, SMEM, B_AT, lb, c->b, n, k, v);
        }
    }
    int per = 4 / operand_types[c->d].bytes;
    for (int thread = 0; thread < 128; thread++) {
        for (int i = 0; i < c->n / 2; i++) {
            int row = thread / 32 * 16 + thread % 32 / 4 + (i & 2 ? 8 : 0);
            int col = (i / 4) * 8 + thread % 4 * 2 + (i & 1);
            double v = c->sat ? (i & 1 ? 2147483600.0 : -2147483600.0) : operand_draw(&rng, c->d);
            x->d[row][col] = v;
            x->acc[i / per][thread] |= operand_encode(c->d, v) << (per == 2 ? i % 2 * 16 : 0);
        }
    }
}

static double expected(const Data *x, const Case *c, int row, int col) {
    double sum = 0;
    for (int k = 0; k < 32 / operand_types[c->a].bytes; k++) sum += x->a[row][k] * x->b[k][col];
    if (c->neg_a != c->neg_b) sum = -sum;
    if (c->scale_d) sum += x->d[row][col];
    return c->sat ? fmax(fmin(sum, 2147483647.0), -2147483648.0) : sum;
}

static void check(const Case *c, uint64_t seed) {
    static Data x;
    PtxRun r;
    run_open(&r);
    r.options.seed = seed;
    Lay la = operand_lay(c->span_a, c->a_mn, 64, 2, c->wide);
    Lay lb = operand_lay(c->span_b, c->b_mn, c->n, 2, c->wide);
    make(&x, c, &la, &lb, seed);
    r.launch.block[0] = 128;
    r.launch.dynamic_smem = SMEM;
    run_memory(&r, x.smem, SMEM);
    run_memory(&r, x.acc, sizeof x.acc);
    run_memory(&r, x.a_regs, sizeof x.a_regs);
    run_memory(&r, NULL, sizeof x.acc);
    run_number(&r, operand_descriptor(&la, A_AT));
    run_number(&r, operand_descriptor(&lb, B_AT));
    run_number(&r, c->scale_d);
    run_clean(&r, text(r.arena, c));
    const uint32_t(*out)[128] = run_host(&r, 3);
    int per = 4 / operand_types[c->d].bytes;
    for (int thread = 0; thread < 128; thread++) {
        for (int i = 0; i < c->n / 2; i++) {
            int row = thread / 32 * 16 + thread % 32 / 4 + (i & 2 ? 8 : 0);
            int col = (i / 4) * 8 + thread % 4 * 2 + (i & 1);
            uint32_t bits = out[i / per][thread] >> (per == 2 ? i % 2 * 16 : 0);
            double got = operand_decode(c->d, bits), want = expected(&x, c, row, col);
            if (got != want) {
                fail_msg("%s span %d/%d mn %d/%d regs %d: d[%d][%d] is %g, not %g",
                         opcode(r.arena, c), c->span_a, c->span_b, c->a_mn, c->b_mn, c->a_regs, row,
                         col, got, want);
            }
        }
    }
    assert_int_equal(r.report.total.flops, 2 * 64 * c->n * (32 / operand_types[c->a].bytes));
    run_close(&r);
}

static void every_n(void **state) {
    (void)state;
    for (int n = 8; n <= 256; n += 8) {
        check(&(Case){T_F16, T_F16, T_F32, n, 128, 128, .scale_d = true, .wide = n % 16 == 0},
              (uint64_t)n);
    }
}

static void every_n_of_integers(void **state) {
    (void)state;
    for (int n = 8; n <= 256; n += n < 32 ? 8 : 16) {
        check(&(Case){T_S8, T_U8, T_S32, n, 64, 32, .scale_d = true}, (uint64_t)n);
    }
}

static const struct {
    T a, b, d;
} types[] = {
    {T_F16, T_F16, T_F32},   {T_F16, T_F16, T_F16},   {T_BF16, T_BF16, T_F32},
    {T_TF32, T_TF32, T_F32}, {T_E4M3, T_E4M3, T_F32}, {T_E4M3, T_E5M2, T_F32},
    {T_E5M2, T_E4M3, T_F32}, {T_E5M2, T_E5M2, T_F32}, {T_E4M3, T_E4M3, T_F16},
    {T_S8, T_S8, T_S32},     {T_S8, T_U8, T_S32},     {T_U8, T_S8, T_S32},
    {T_U8, T_U8, T_S32},
};

static void every_type_with_every_swizzle(void **state) {
    (void)state;
    static const int n[] = {8, 24, 96, 16, 256};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int s = 0; s < 16; s++) {
            Case c = {types[t].a, types[t].b, types[t].d, n[(t + (size_t)s) % 5], 16 << (s & 3),
                      16 << (s >> 2), .scale_d = s != 3, .wide = s % 3 == 1};
            check(&c, t * 100 + (uint64_t)s);
        }
    }
}

static void every_type_with_a_in_registers(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int s = 0; s < 4; s++) {
            Case c = {types[t].a, types[t].b, types[t].d, 16 + 16 * s, 16, 16 << s, .a_regs = true,
                      .scale_d = s != 1, .wide = s & 1};
            check(&c, t * 10 + (uint64_t)s);
        }
    }
}

static void transposed_operands(void **state) {
    (void)state;
    static const int n[] = {8, 64, 136, 256};
    for (int bf = 0; bf < 2; bf++) {
        for (int s = 0; s < 4; s++) {
            for (int mn = 1; mn < 4; mn++) {
                T t = bf ? T_BF16 : T_F16;
                Case c = {t, t, T_F32, n[(s + mn) % 4], 16 << s, 16 << (3 - s), .a_mn = mn & 1,
                          .b_mn = mn & 2, .scale_d = true, .wide = bf};
                check(&c, (uint64_t)(bf * 100 + s * 10 + mn));
                c.b_mn = true;
                c.a_mn = false;
                c.a_regs = true;
                check(&c, (uint64_t)(bf * 100 + s * 10 + mn));
            }
        }
    }
}

static void signs_and_scale(void **state) {
    (void)state;
    for (size_t t = 0; t < 9; t++) {
        for (int s = 0; s < 8; s++) {
            check(&(Case){types[t].a, types[t].b, types[t].d, 32, 128, 128, .neg_a = s & 1,
                          .neg_b = s & 2, .scale_d = s & 4}, (uint64_t)s);
        }
    }
}

static void integers_saturate(void **state) {
    (void)state;
    for (size_t t = 9; t < 13; t++) {
        check(
            &(Case){types[t].a, types[t].b, types[t].d, 64, 128, 128, .scale_d = true, .sat = true},
            t);
    }
}

static void refused(const char *instruction) {
    PtxRun r;
    run_open(&r);
    if (run_text(&r, run_kernel(r.arena, 0, instruction))) fail_msg("accepted: %s", instruction);
    run_close(&r);
}

static void shapes_that_do_not_exist(void **state) {
    (void)state;
    refused(
        "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%r0,%r1,%r2,%r3,%r4,%r5}, %l0, %l1, "
        "%p0, 1, 1, 0, 0;");
    refused(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 {%r0,%r1,%r2,%r3}, %l0, %l1, %p0, 1, "
        "1, 0, 0;");
    refused("wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16 {%r0,%r1,%r2,%r3}, %l0, %l1, %p0, 1, "
            "1, 0, 0;");
    refused(
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%r0,%r1,%r2,%r3}, %l0, %l1, %p0, 1, "
        "1, 0, 1;");
    refused("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8,"
            "%r9,%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17,%r18,%r19}, %l0, %l1, %p0;");
    refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0,%r1,%r2}, %l0, %l1, %p0, 1, 1, "
            "0, 0;");
    refused(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0,%r1,%r2,%r3}, %l0, %l1, %p0, 2, "
        "1, 0, 0;");
}

/* ---- Rules.  One product of f16, n 8, without swizzle: A at 0, B at 16384.  ---- */
#define PRODUCT "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0,%r1,%r2,%r3}, %l6, %l7, " \
                "%p2, 1, 1, 0, 0;\n"
#define PRODUCT_RS "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r0,%r1,%r2,%r3}, " \
                   "{%r20,%r21,%r22,%r23}, %l7, %p2, 1, 1, 0;\n"
#define ZERO "mov.b32 %r0, 0;\nmov.b32 %r1, 0;\nmov.b32 %r2, 0;\nmov.b32 %r3, 0;\n"             \
             "mov.b32 %r20, 0;\nmov.b32 %r21, 0;\nmov.b32 %r22, 0;\nmov.b32 %r23, 0;\n"
#define FENCE "wgmma.fence.sync.aligned;\n"
#define COMMIT "wgmma.commit_group.sync.aligned;\n"
#define WAIT(n) "wgmma.wait_group.sync.aligned " #n ";\n"
#define VISIBLE "fence.proxy.async;\nbar.sync 0;\n"
#define ARRIVE "and.b32 %r392, %t, 31;\nsetp.eq.u32 %p5, %r392, 0;\n" \
               "@%p5 mbarrier.arrive.shared::cta.b64 _, [%r390];\n"
#define USE "add.u64 %l3, %a1, %l4;\nst.global.b32 [%l3], %r0;\n"

static void rule(const char *body, int threads, uint64_t extra, int kind) {
    static unsigned char zero[SMEM];
    for (uint64_t seed = 0; seed < 6; seed++) {
        PtxRun r;
        run_open(&r);
        r.options.seed = seed;
        r.launch.block[0] = (uint32_t)threads;
        r.launch.dynamic_smem = SMEM;
        Lay l = {16, false, 8, 1024, 128};
        run_memory(&r, zero, SMEM);
        run_memory(&r, NULL, 4096);
        run_number(&r, operand_descriptor(&l, A_AT) + extra);
        run_number(&r, operand_descriptor(&l, B_AT));
        const char *ptx = run_kernel(r.arena, 4, arena_printf(r.arena,
            "%s"
            "shr.u32 %%r397, %%r399, 4;\ncvt.u64.u32 %%l5, %%r397;\nadd.u64 %%l6, %%a2, %%l5;\n"
            "add.u64 %%l7, %%a3, %%l5;\nsetp.eq.u32 %%p2, 0, 0;\nshl.b32 %%r398, %%t, 2;\n"
            "cvt.u64.u32 %%l4, %%r398;\n%s", fill_smem, body));
        if (kind == SIM_FAULT_COUNT) run_clean(&r, ptx);
        else run_faulty(&r, ptx, kind);
        run_close(&r);
    }
}
static void clean(const char *body) { rule(body, 128, 0, SIM_FAULT_COUNT); }
static void faulty(const char *body, int kind) { rule(body, 128, 0, kind); }

static void accumulators_are_left_alone_until_the_wait(void **state) {
    (void)state;
    clean(ZERO VISIBLE FENCE PRODUCT COMMIT WAIT(0) USE);
    faulty(ZERO VISIBLE FENCE PRODUCT COMMIT USE WAIT(0), SIM_WGMMA_OPERAND);
    faulty(ZERO VISIBLE FENCE PRODUCT COMMIT "mov.b32 %r2, 0;\n" WAIT(0) USE, SIM_WGMMA_OPERAND);
    faulty(ZERO VISIBLE FENCE PRODUCT COMMIT WAIT(1) USE, SIM_WGMMA_OPERAND);
    faulty(ZERO VISIBLE FENCE PRODUCT WAIT(0) USE, SIM_WGMMA_OPERAND);
    clean(ZERO VISIBLE FENCE PRODUCT COMMIT PRODUCT COMMIT WAIT(1) WAIT(0) USE);
    faulty(ZERO VISIBLE FENCE PRODUCT COMMIT PRODUCT COMMIT WAIT(1) USE, SIM_WGMMA_OPERAND);
}

static void registers_of_a_are_left_alone_until_the_wait(void **state) {
    (void)state;
    clean(ZERO VISIBLE FENCE PRODUCT_RS COMMIT WAIT(0) "mov.b32 %r21, 1;\n" USE);
    faulty(ZERO VISIBLE FENCE PRODUCT_RS COMMIT "mov.b32 %r21, 1;\n" WAIT(0) USE,
           SIM_WGMMA_OPERAND);
    clean(ZERO VISIBLE FENCE PRODUCT_RS COMMIT "mov.b32 %r30, %r21;\n" WAIT(0) USE);
}

static void registers_are_fenced(void **state) {
    (void)state;
    faulty(ZERO VISIBLE PRODUCT COMMIT WAIT(0) USE, SIM_WGMMA_OPERAND);
    faulty(ZERO VISIBLE FENCE PRODUCT COMMIT WAIT(0) "mov.b32 %r0, 7;\n" PRODUCT COMMIT WAIT(0) USE,
           SIM_WGMMA_OPERAND);
    clean(ZERO VISIBLE FENCE PRODUCT COMMIT WAIT(0) "mov.b32 %r0, 7;\n" FENCE PRODUCT COMMIT WAIT(0)
          USE);
}

static void operands_in_shared_memory_are_left_alone_until_the_wait(void **state) {
    (void)state;
    clean(ZERO VISIBLE FENCE PRODUCT COMMIT WAIT(0) "bar.sync 0;\nst.shared.b32 [%r399], %r1;\n");
    clean(ZERO VISIBLE FENCE PRODUCT COMMIT WAIT(0)
          "setp.eq.u32 %p3, %t, 5;\n@%p3 st.shared.b32 [%r399], 7;\n");
    faulty(ZERO VISIBLE FENCE PRODUCT COMMIT
           "setp.eq.u32 %p3, %t, 0;\n@%p3 st.shared.b32 [%r399], 7;\n" WAIT(0), SIM_WGMMA_OPERAND);
    /* The wait of a warp is for the products of the whole warpgroup; others must come after it.  */
    clean(ZERO VISIBLE FENCE PRODUCT COMMIT WAIT(0)
          "setp.eq.u32 %p3, %t, 0;\n@%p3 st.shared.b32 [%r399+16384], 7;\n");
    rule(ZERO VISIBLE "setp.ge.u32 %p3, %t, 128;\n@%p3 bra OTHERS;\n" FENCE PRODUCT COMMIT WAIT(0)
         "bra END;\nOTHERS:\nsetp.eq.u32 %p3, %t, 128;\n"
         "@%p3 st.shared.b32 [%r399+16384], 7;\nEND:\n", 160, 0, RUN_UNORDERED);
}

/* An mbarrier that a warp arrives at between its products and their wait tells nothing of them,
 * even if whoever waits there writes long after the wait.  */
static void an_arrival_before_the_wait_tells_nothing_of_products(void **state) {
    (void)state;
#define SIGNAL                                                                                     \
    "add.u32 %r390, %r399, 81912;\nsetp.eq.u32 %p3, %t, 0;\nbar.sync 0;\n"                         \
    "@%p3 mbarrier.init.shared::cta.b64 [%r390], 4;\n" ZERO VISIBLE                                \
    "setp.ge.u32 %p3, %t, 128;\n@%p3 bra OTHERS;\n" FENCE PRODUCT COMMIT
#define LATE_WRITE                                                                                 \
    "bra END;\nOTHERS:\n"                                                                          \
    "mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r390], 0;\n@!%p4 bra OTHERS;\n"              \
    "mov.u32 %r391, 0;\nLATE:\nadd.u32 %r391, %r391, 1;\nsetp.lt.u32 %p4, %r391, 4000;\n"         \
    "@%p4 bra LATE;\nsetp.eq.u32 %p3, %t, 128;\n@%p3 st.shared.b32 [%r399+16384], 7;\nEND:\n"
    rule(SIGNAL WAIT(0) ARRIVE LATE_WRITE, 160, 0, SIM_FAULT_COUNT);
    rule(SIGNAL ARRIVE WAIT(0) LATE_WRITE, 160, 0, SIM_WGMMA_OPERAND);
}

static void generic_writes_need_a_proxy_fence(void **state) {
    (void)state;
    faulty(ZERO "bar.sync 0;\n" FENCE PRODUCT COMMIT WAIT(0) USE, SIM_PROXY_FENCE);
    faulty(ZERO "fence.proxy.async;\n" FENCE PRODUCT COMMIT WAIT(0) USE, RUN_UNORDERED);
}

static void descriptors_are_checked(void **state) {
    (void)state;
    const char *body = ZERO VISIBLE FENCE PRODUCT COMMIT WAIT(0) USE;
    rule(body, 128, 1ull << 52, SIM_DESCRIPTOR);
    rule(body, 128, 0x3fff, SIM_DESCRIPTOR);
    rule(body, 128, 8 | 1ull << 62, SIM_DESCRIPTOR);
    rule(body, 128, 2ull << 49 | 1ull << 62, SIM_DESCRIPTOR);
}

static void a_warpgroup_multiplies_together(void **state) {
    (void)state;
    const char *body = ZERO VISIBLE FENCE PRODUCT COMMIT WAIT(0) USE;
    rule(body, 96, 0, SIM_DIVERGENT);
    rule(body, 256, 0, SIM_FAULT_COUNT);
    faulty(ZERO VISIBLE "setp.lt.u32 %p3, %t, 96;\n@!%p3 bra OUT;\n" FENCE PRODUCT COMMIT WAIT(0)
           "OUT:\n", SIM_DIVERGENT);
    faulty(ZERO VISIBLE "and.b32 %r50, %t, 31;\nsetp.lt.u32 %p3, %r50, 16;\n@!%p3 bra OUT;\n" FENCE
           PRODUCT COMMIT WAIT(0) "OUT:\n", SIM_DIVERGENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_n),
        cmocka_unit_test(every_n_of_integers),
        cmocka_unit_test(every_type_with_every_swizzle),
        cmocka_unit_test(every_type_with_a_in_registers),
        cmocka_unit_test(transposed_operands),
        cmocka_unit_test(signs_and_scale),
        cmocka_unit_test(integers_saturate),
        cmocka_unit_test(shapes_that_do_not_exist),
        cmocka_unit_test(accumulators_are_left_alone_until_the_wait),
        cmocka_unit_test(registers_of_a_are_left_alone_until_the_wait),
        cmocka_unit_test(registers_are_fenced),
        cmocka_unit_test(operands_in_shared_memory_are_left_alone_until_the_wait),
        cmocka_unit_test(an_arrival_before_the_wait_tells_nothing_of_products),
        cmocka_unit_test(generic_writes_need_a_proxy_fence),
        cmocka_unit_test(descriptors_are_checked),
        cmocka_unit_test(a_warpgroup_multiplies_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
