/* links: sim */
/* wmma of every type and shape: loads from rows and columns, product, store, on small integers,
 * which are exact in every type, against sums of products.  */
#include "base/numeric.h"
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *a, *c, *types;            /* operands, accumulators; as written in wmma.mma */
    int m, n, k, a_regs, b_regs, c_regs;
} Case;

static const Case cases[] = {
    {"f16", "f32", "f32.f32", 16, 16, 16, 8, 8, 8},
    {"f16", "f32", "f32.f32", 8, 32, 16, 8, 8, 8},
    {"f16", "f16", "f16.f16", 32, 8, 16, 8, 8, 4},
    {"bf16", "f32", "f32.bf16.bf16.f32", 16, 16, 16, 4, 4, 8},
    {"bf16", "f32", "f32.bf16.bf16.f32", 8, 32, 16, 2, 8, 8},
    {"s8", "s32", "s32.s8.s8.s32", 16, 16, 16, 2, 2, 8},
    {"u8", "s32", "s32.u8.u8.s32", 32, 8, 16, 4, 1, 8},
    {"tf32", "f32", "f32.tf32.tf32.f32", 16, 16, 8, 4, 4, 8},
    {"f64", "f64", "f64.f64.f64.f64", 8, 8, 4, 1, 1, 2},
};

static int bytes_of(const char *type) {
    if (!strcmp(type, "f64")) return 8;
    if (strstr(type, "32")) return 4;
    return strstr(type, "16") ? 2 : 1;
}

static void encode(const char *type, int v, unsigned char *out) {
    float f = (float)v;
    double d = v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (!strcmp(type, "s8") || !strcmp(type, "u8") || !strcmp(type, "s32")) bits = (uint32_t)v;
    if (!strcmp(type, "f16")) bits = num_f16_encode(d, ROUND_NEAREST_EVEN, false);
    if (!strcmp(type, "bf16")) bits >>= 16;
    if (!strcmp(type, "f64")) memcpy(out, &d, 8);
    else memcpy(out, &bits, (size_t)bytes_of(type));
}

static const char *list(Arena *a, const char *name, int n) {
    Buf b = buf_new(a);
    for (int k = 0; k < n; k++) buf_printf(&b, "%s%s%d", k ? ", " : "{", name, k);
    buf_putc(&b, '}');
    return buf_str(&b);
}

static void product(const Case *c, bool a_col, bool b_col, bool shared) {
    enum { PAD = 8, BYTES = 8192 };
    static unsigned char a[BYTES], b[BYTES], acc[BYTES];
    int am[512], bm[512], cm[512];
    int ab = bytes_of(c->a), cb = bytes_of(c->c);
    int a_line = (a_col ? c->m : c->k) + PAD, b_line = (b_col ? c->k : c->n) + PAD;
    Rng rng = {7};
    for (int e = 0; e < c->m * c->k; e++) {
        am[e] = (int)rng_below(&rng, 6);
        encode(c->a, am[e], a + ab * (a_col ? e % c->k * a_line + e / c->k
                                            : e / c->k * a_line + e % c->k));
    }
    for (int e = 0; e < c->k * c->n; e++) {
        bm[e] = (int)rng_below(&rng, 6);
        encode(c->a, bm[e], b + ab * (b_col ? e % c->n * b_line + e / c->n
                                            : e / c->n * b_line + e % c->n));
    }
    for (int e = 0; e < c->m * c->n; e++) {
        cm[e] = (int)rng_below(&rng, 90);
        encode(c->c, cm[e], acc + cb * e);
    }
    PtxRun r;
    run_open(&r);
    r.launch.dynamic_smem = BYTES;
    run_memory(&r, a, BYTES);
    run_memory(&r, b, BYTES);
    run_memory(&r, acc, BYTES);
    run_memory(&r, NULL, BYTES);
    const char *wide = !strcmp(c->a, "f64") ? "%l" : "%r";
    const char *ra = list(r.arena, arena_printf(r.arena, "%s1", wide), c->a_regs);
    const char *rb = list(r.arena, arena_printf(r.arena, "%s2", wide), c->b_regs);
    const char *rc = list(r.arena, arena_printf(r.arena, "%s3", wide), c->c_regs);
    const char *rd = list(r.arena, arena_printf(r.arena, "%s4", wide), c->c_regs);
    const char *shape = arena_printf(r.arena, "m%dn%dk%d", c->m, c->n, c->k);
    Buf t = buf_new(r.arena);
    buf_puts(&t, "mov.u64 %l8, %a0;\n");
    if (shared) {
        buf_printf(&t, "mov.u32 %%r390, %%t;\nC: mul.wide.u32 %%l9, %%r390, 4;\n"
                       "add.u64 %%l8, %%a0, %%l9; ld.global.b32 %%r391, [%%l8];\n"
                       "mov.u32 %%r392, smem; mad.lo.u32 %%r392, %%r390, 4, %%r392;\n"
                       "st.shared.b32 [%%r392], %%r391; add.u32 %%r390, %%r390, 32;\n"
                       "setp.lt.u32 %%p0, %%r390, %d; @%%p0 bra C; bar.sync 0;\n"
                       "mov.u64 %%l8, smem;\n", BYTES / 4);
    }
    buf_printf(&t, "wmma.load.a.sync.aligned.%s.%s.%s.%s %s, [%%l8], %d;\n",
               a_col ? "col" : "row", shape, shared ? "shared" : "global", c->a, ra, a_line);
    buf_printf(&t, "mov.b32 %%r399, %d;\nwmma.load.b.sync.aligned.%s.%s.%s %s, [%%a1], %%r399;\n",
               b_line, b_col ? "col" : "row", shape, c->a, rb);
    buf_printf(&t, "wmma.load.c.sync.aligned.row.%s.global.%s %s, [%%a2];\n", shape, c->c, rc);
    buf_printf(&t, "wmma.mma.sync.aligned.%s.%s.%s.%s %s, %s, %s, %s;\n", a_col ? "col" : "row",
               b_col ? "col" : "row", shape, c->types, rd, ra, rb, rc);
    buf_printf(&t, "wmma.store.d.sync.aligned.col.%s.global.%s [%%a3], %s, %d;\n", shape, c->c, rd,
               c->m);
    run_clean(&r, run_kernel(r.arena, 4, buf_str(&t)));
    const unsigned char *got = run_host(&r, 3);
    for (int e = 0; e < c->m * c->n; e++) {
        unsigned char want[8];
        int sum = cm[e];
        for (int k = 0; k < c->k; k++) sum += am[e / c->n * c->k + k] * bm[k * c->n + e % c->n];
        encode(c->c, sum, want);
        assert_memory_equal(got + cb * (e % c->n * c->m + e / c->n), want, (size_t)cb);
    }
    run_close(&r);
}

static void products(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (int way = 0; way < 8; way++) product(&cases[k], way & 1, way & 2, way & 4);
    }
}

static void rules(void **state) {
    (void)state;
    PtxRun r;
    run_open(&r);
    run_memory(&r, NULL, 480);
    static const char row[] = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r10, %r11, "
                              "%r12, %r13, %r14, %r15, %r16, %r17}, [%a0];\n";
    run_faulty(&r, run_kernel(r.arena, 1, row), SIM_OUT_OF_BOUNDS);
    assert_false(run_text(&r, run_kernel(r.arena, 1, "wmma.load.a.sync.aligned.row.m16n8k16.global"
                          ".f16 {%r10, %r11, %r12, %r13}, [%a0];\n")));
    run_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
