/* links: sim */
/* mma.sync, ldmatrix, stmatrix and movmatrix against the definition of their fragments. The
 * layouts here are the tables of the PTX ISA, element by element, one function per shape.  */
#include "base/numeric.h"
#include "ptxrun.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef enum { T_F16, T_BF16, T_TF32, T_E4M3, T_E5M2, T_E3M2, T_E2M3, T_E2M1, T_S8, T_U8,
               T_F32, T_S32, T_F64 } T;
static const struct {
    const char *name;
    int bits;
} type[] = {{"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"e4m3", 8}, {"e5m2", 8},
            {"e3m2", 8}, {"e2m3", 8},  {"e2m1", 8},  {"s8", 8},   {"u8", 8},
            {"f32", 32}, {"s32", 32},  {"f64", 64}};

typedef struct {
    int row, col;
} At;
typedef At Layout(int lane, int i);

/* ---- A ---- */
static At a_m16k16_16(int l, int i) {
    int g = l >> 2, t = l % 4;
    return (At){(i < 2) || (i >= 4 && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
static At a_m16k8_16(int l, int i) {
    return (At){i < 2 ? l >> 2 : (l >> 2) + 8, (l % 4) * 2 + (i & 1)};
}
static At a_m16k4_32(int l, int i) { return (At){i == 0 ? l >> 2 : (l >> 2) + 8, l % 4}; }
static At a_m16k8_32(int l, int i) {
    return (At){i == 0 || i == 2 ? l >> 2 : (l >> 2) + 8, i < 2 ? l % 4 : l % 4 + 4};
}
static At a_m8k16_8(int l, int i) { return (At){l >> 2, (l % 4) * 4 + i}; }
static At a_m16k16_8(int l, int i) {
    return (At){i < 4 ? l >> 2 : (l >> 2) + 8, (l % 4) * 4 + (i & 3)};
}
static At a_m16k32_8(int l, int i) {
    int g = l >> 2;
    return (At){i < 4 || (i >= 8 && i < 12) ? g : g + 8,
                (l % 4) * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
}
static At a_m8k4_64(int l, int i) {
    (void)i;
    return (At){l >> 2, l % 4};
}
static At a_m16k16_64(int l, int i) {
    return (At){i % 2 == 0 ? l >> 2 : (l >> 2) + 8, i / 2 * 4 + l % 4};
}

/* ---- B ---- */
static At b_k16_16(int l, int i) {
    return (At){(l % 4) * 2 + (i & 1) + (i >= 2 ? 8 : 0), l >> 2};
}
static At b_k8_16(int l, int i) { return (At){(l % 4) * 2 + i, l >> 2}; }
static At b_k4(int l, int i) {
    (void)i;
    return (At){l % 4, l >> 2};
}
static At b_k8_32(int l, int i) { return (At){i == 0 ? l % 4 : l % 4 + 4, l >> 2}; }
static At b_k16_8(int l, int i) { return (At){(l % 4) * 4 + i, l >> 2}; }
static At b_k32_8(int l, int i) {
    return (At){(l % 4) * 4 + (i & 3) + (i >= 4 ? 16 : 0), l >> 2};
}
static At b_k16_64(int l, int i) { return (At){l % 4 + 4 * i, l >> 2}; }

/* ---- C and D ---- */
static At c_m16(int l, int i) {
    return (At){i < 2 ? l >> 2 : (l >> 2) + 8, (l % 4) * 2 + (i & 1)};
}
static At c_m8(int l, int i) { return (At){l >> 2, (l % 4) * 2 + i}; }

typedef struct {
    int m, n, k;
    T a, b, acc;
    Layout *at_a, *at_b;
} Case;

static const Case cases[] = {
    {16, 8, 8, T_F16, T_F16, T_F32, a_m16k8_16, b_k8_16},
    {16, 8, 8, T_F16, T_F16, T_F16, a_m16k8_16, b_k8_16},
    {16, 8, 8, T_BF16, T_BF16, T_F32, a_m16k8_16, b_k8_16},
    {16, 8, 16, T_F16, T_F16, T_F32, a_m16k16_16, b_k16_16},
    {16, 8, 16, T_F16, T_F16, T_F16, a_m16k16_16, b_k16_16},
    {16, 8, 16, T_BF16, T_BF16, T_F32, a_m16k16_16, b_k16_16},
    {16, 8, 4, T_TF32, T_TF32, T_F32, a_m16k4_32, b_k4},
    {16, 8, 8, T_TF32, T_TF32, T_F32, a_m16k8_32, b_k8_32},
    {16, 8, 32, T_E4M3, T_E4M3, T_F32, a_m16k32_8, b_k32_8},
    {16, 8, 32, T_E5M2, T_E5M2, T_F32, a_m16k32_8, b_k32_8},
    {16, 8, 32, T_E4M3, T_E5M2, T_F32, a_m16k32_8, b_k32_8},
    {16, 8, 32, T_E5M2, T_E4M3, T_F32, a_m16k32_8, b_k32_8},
    {16, 8, 32, T_E4M3, T_E4M3, T_F16, a_m16k32_8, b_k32_8},
    {16, 8, 16, T_E4M3, T_E4M3, T_F32, a_m16k16_8, b_k16_8},
    {8, 8, 16, T_S8, T_S8, T_S32, a_m8k16_8, b_k16_8},
    {8, 8, 16, T_U8, T_S8, T_S32, a_m8k16_8, b_k16_8},
    {16, 8, 16, T_S8, T_S8, T_S32, a_m16k16_8, b_k16_8},
    {16, 8, 16, T_U8, T_U8, T_S32, a_m16k16_8, b_k16_8},
    {16, 8, 32, T_S8, T_S8, T_S32, a_m16k32_8, b_k32_8},
    {16, 8, 32, T_S8, T_U8, T_S32, a_m16k32_8, b_k32_8},
    {16, 8, 32, T_U8, T_S8, T_S32, a_m16k32_8, b_k32_8},
    {16, 8, 32, T_U8, T_U8, T_S32, a_m16k32_8, b_k32_8},
    {8, 8, 4, T_F64, T_F64, T_F64, a_m8k4_64, b_k4},
    {16, 8, 4, T_F64, T_F64, T_F64, a_m16k16_64, b_k16_64},
    {16, 8, 8, T_F64, T_F64, T_F64, a_m16k16_64, b_k16_64},
    {16, 8, 16, T_F64, T_F64, T_F64, a_m16k16_64, b_k16_64},
};

/* ---- Encoding ---- */
static uint64_t encode(T t, double v) {
    float f = (float)v;
    uint32_t w;
    uint64_t d;
    memcpy(&w, &f, 4);
    memcpy(&d, &v, 8);
    switch (t) {
    case T_F16: return num_f16_encode(v, ROUND_NEAREST_EVEN, false);
    case T_BF16: return num_bf16_encode(v, ROUND_NEAREST_EVEN, false);
    case T_E4M3: return num_e4m3_encode(v, ROUND_NEAREST_EVEN);
    case T_E5M2: return num_e5m2_encode(v, ROUND_NEAREST_EVEN, false);
    case T_E3M2: return num_e3m2_encode(v);
    case T_E2M3: return num_e2m3_encode(v);
    case T_E2M1: return (uint64_t)num_e2m1_encode(v) << 2;
    case T_S8:
    case T_U8: return (uint8_t)(int)v;
    case T_S32: return (uint32_t)(int32_t)v;
    case T_F64: return d;
    default: return w;
    }
}

static double decode(T t, uint64_t bits) {
    uint32_t w = (uint32_t)bits;
    float f;
    double d;
    memcpy(&f, &w, 4);
    memcpy(&d, &bits, 8);
    switch (t) {
    case T_F16: return num_f16_decode((uint16_t)bits);
    case T_S32: return (int32_t)bits;
    case T_F64: return d;
    default: return f;
    }
}

/* A value the type holds exactly; small enough for exact sums.  */
static double draw(Rng *r, T t) {
    if (t == T_S8) return (double)(int)rng_below(r, 256) - 128;
    if (t == T_U8) return rng_below(r, 256);
    if (t == T_E2M1) return num_e2m1_decode((uint8_t)rng_below(r, 16));
    if (t == T_E2M3) return num_e2m3_decode((uint8_t)rng_below(r, 64));
    int most = t == T_E5M2 || t == T_E3M2 ? 4 : t == T_E4M3 || t == T_F16 ? 8 : 100;
    return (double)(int)rng_below(r, (uint32_t)(2 * most + 1)) - most;
}

/* Packs element i of a lane into register images of `unit` bits: image[register][lane].  */
static void pack(uint64_t *image, int bits, int lane, int i, uint64_t v) {
    int unit = bits == 64 ? 64 : 32, per = unit / bits;
    image[i / per * 32 + lane] |= v << (i % per * bits);
}

static uint64_t unpack(const uint64_t *image, int bits, int lane, int i) {
    int unit = bits == 64 ? 64 : 32, per = unit / bits;
    uint64_t v = image[i / per * 32 + lane] >> (i % per * bits);
    return bits == 64 ? v : v & (((uint64_t)1 << bits) - 1);
}

/* ---- The kernel: registers of a, b, c from p0, p1, p2 as images of 8 bytes, d to p3.  ---- */
static void names(Buf *b, const char *prefix, int base, int n) {
    buf_putc(b, '{');
    for (int r = 0; r < n; r++) buf_printf(b, "%s%%%s%d", r ? "," : "", prefix, base + r);
    buf_putc(b, '}');
}

static const char *mma_text(Arena *a, const char *opcode, bool wide, const int regs[4]) {
    Buf b = buf_new(a);
    const char *prefix = wide ? "d" : "r", *t = wide ? "f64" : "b32";
    buf_puts(&b, "shl.b32 %r399, %t, 3;\ncvt.u64.u32 %l0, %r399;\n");
    int base[4] = {0, regs[0], regs[0] + regs[1], regs[0] + regs[1] + regs[2]};
    for (int o = 0; o < 3; o++) {
        buf_printf(&b, "add.u64 %%l%d, %%a%d, %%l0;\n", o + 1, o);
        for (int r = 0; r < regs[o]; r++) {
            buf_printf(&b, "ld.global.%s %%%s%d, [%%l%d+%d];\n", t, prefix, base[o] + r, o + 1,
                       r * 256);
        }
    }
    buf_puts(&b, opcode);
    buf_putc(&b, ' ');
    int order[4] = {3, 0, 1, 2};
    for (int o = 0; o < 4; o++) {
        buf_puts(&b, o ? ", " : "");
        names(&b, prefix, base[order[o]], regs[order[o]]);
    }
    buf_puts(&b, ";\nadd.u64 %l4, %a3, %l0;\n");
    for (int r = 0; r < regs[3]; r++) {
        buf_printf(&b, "st.global.%s [%%l4+%d], %%%s%d;\n", t, r * 256, prefix, base[3] + r);
        if (!wide) buf_printf(&b, "st.global.b32 [%%l4+%d], 0;\n", r * 256 + 4);
    }
    return run_kernel(a, 4, buf_str(&b));
}

static void run_mma(PtxRun *r, const char *opcode, bool wide, const int regs[4],
                    uint64_t image[4][16 * 32]) {
    for (int o = 0; o < 3; o++) run_memory(r, image[o], sizeof image[o]);
    run_memory(r, NULL, sizeof image[3]);
    run_clean(r, mma_text(r->arena, opcode, wide, regs));
    memcpy(image[3], run_host(r, 3), sizeof image[3]);
}

static void check_case(const Case *c, bool sat, uint64_t seed) {
    static uint64_t image[4][16 * 32];
    double a[16][32], b[32][8], acc[16][8];
    Rng rng = {seed};
    PtxRun r;
    run_open(&r);
    memset(image, 0, sizeof image);
    Layout *at_c = c->m == 16 ? c_m16 : c_m8;
    int count[3] = {c->m * c->k / 32, c->k * c->n / 32, c->m * c->n / 32};
    for (int l = 0; l < 32; l++) {
        for (int i = 0; i < count[0]; i++) {
            At at = c->at_a(l, i);
            a[at.row][at.col] = draw(&rng, c->a);
            pack(image[0], type[c->a].bits, l, i, encode(c->a, a[at.row][at.col]));
        }
        for (int i = 0; i < count[1]; i++) {
            At at = c->at_b(l, i);
            b[at.row][at.col] = draw(&rng, c->b);
            pack(image[1], type[c->b].bits, l, i, encode(c->b, b[at.row][at.col]));
        }
        for (int i = 0; i < count[2]; i++) {
            At at = at_c(l, i);
            acc[at.row][at.col] = sat ? (l % 2 ? 2147483000.0 : -2147483000.0) : draw(&rng, T_F16);
            pack(image[2], type[c->acc].bits, l, i, encode(c->acc, acc[at.row][at.col]));
        }
    }
    int regs[4];
    for (int o = 0; o < 4; o++) {
        T t = o == 0 ? c->a : o == 1 ? c->b : c->acc;
        int bits = type[t].bits, n = count[o < 3 ? o : 2];
        regs[o] = bits == 64 ? n : n * bits / 32;
    }
    const char *opcode = arena_printf(r.arena, "mma.sync.aligned.m%dn%dk%d.row.col%s.%s.%s.%s.%s",
                                      c->m, c->n, c->k, sat ? ".satfinite" : "",
                                      type[c->acc].name, type[c->a].name, type[c->b].name,
                                      type[c->acc].name);
    run_mma(&r, opcode, c->acc == T_F64, regs, image);
    for (int l = 0; l < 32; l++) {
        for (int i = 0; i < count[2]; i++) {
            At at = at_c(l, i);
            double want = acc[at.row][at.col];
            for (int k = 0; k < c->k; k++) want += a[at.row][k] * b[k][at.col];
            if (sat) want = fmax(fmin(want, 2147483647.0), -2147483648.0);
            double got = decode(c->acc, unpack(image[3], type[c->acc].bits, l, i));
            if (got != want)
                fail_msg("%s: d[%d][%d] is %g, not %g", opcode, at.row, at.col, got, want);
        }
    }
    assert_int_equal(r.report.total.flops, 2 * c->m * c->n * c->k);
    run_close(&r);
}

static void every_shape_and_type(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (uint64_t seed = 0; seed < 3; seed++) check_case(&cases[k], false, seed * 100 + k);
    }
}

static void integers_saturate(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (cases[k].acc == T_S32) check_case(&cases[k], true, 7 + k);
    }
}

/* ---- scales of blocks ---- */

/* Registers 0..3 of a, 4, 5 of b, 6..9 of sums, 10 and 11 of scales: an image of each for every
 * lane, and sums to p1.  */
static const char *scaled_text(Arena *a, const char *opcode, const char *selectors[2]) {
    Buf b = buf_new(a);
    buf_puts(&b, "shl.b32 %r399, %t, 2;\ncvt.u64.u32 %l0, %r399;\nadd.u64 %l1, %a0, %l0;\n"
                 "add.u64 %l2, %a1, %l0;\n");
    for (int r = 0; r < 12; r++) buf_printf(&b, "ld.global.b32 %%r%d, [%%l1+%d];\n", r, r * 128);
    buf_printf(&b, "%s {%%r6,%%r7,%%r8,%%r9}, {%%r0,%%r1,%%r2,%%r3}, {%%r4,%%r5},"
                   " {%%r6,%%r7,%%r8,%%r9}, {%%r10}, {%s}, %%r11, {%s};\n",
               opcode, selectors[0], selectors[1]);
    for (int r = 0; r < 4; r++)
        buf_printf(&b, "st.global.b32 [%%l2+%d], %%r%d;\n", r * 128, 6 + r);
    return run_kernel(a, 2, buf_str(&b));
}

/* Where the ISA has the scales of row i of a, of column i of b.  */
static int lane_of_a(int i, int thread) { return 4 * (i % 8) + 2 * thread + i / 8; }
static int lane_of_b(int i, int thread) { return 4 * i + thread; }

static const char *mx(Arena *a, T x, T y) {
    return arena_printf(a, "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec"
                           "::1X.f32.%s.%s.f32.ue8m0", type[x].name, type[y].name);
}

static void check_scaled(T x, T y, int byte, int of_a, int of_b, uint64_t seed) {
    static uint32_t image[12][32];
    double a[16][32], b[32][8], c[16][8];
    Rng rng = {seed};
    PtxRun r;
    run_open(&r);
    memset(image, 0, sizeof image);
    for (int l = 0; l < 32; l++) {
        for (int i = 0; i < 16; i++) {
            At at = a_m16k32_8(l, i);
            a[at.row][at.col] = draw(&rng, x);
            image[i / 4][l] |= (uint32_t)encode(x, a[at.row][at.col]) << i % 4 * 8;
        }
        for (int i = 0; i < 8; i++) {
            At at = b_k32_8(l, i);
            b[at.row][at.col] = draw(&rng, y);
            image[4 + i / 4][l] |= (uint32_t)encode(y, b[at.row][at.col]) << i % 4 * 8;
        }
        for (int i = 0; i < 4; i++) {
            At at = c_m16(l, i);
            c[at.row][at.col] = draw(&rng, T_S8);
            image[6 + i][l] = (uint32_t)encode(T_F32, c[at.row][at.col]);
        }
        for (int i = 0; i < 8; i++)       /* 2^-3 .. 2^4 */
            image[10 + i / 4][l] |= (124 + rng_below(&rng, 8)) << i % 4 * 8;
    }
    const char *select[2] = {arena_printf(r.arena, "%d,%d", byte, of_a),
                             arena_printf(r.arena, "%d,%d", byte, of_b)};
    run_memory(&r, image, sizeof image);
    run_memory(&r, NULL, 4 * sizeof *image);
    run_clean(&r, scaled_text(r.arena, mx(r.arena, x, y), select));
    const float *d = run_host(&r, 1);
    for (int l = 0; l < 32; l++) {
        for (int i = 0; i < 4; i++) {
            At at = c_m16(l, i);
            uint32_t sa = image[10][lane_of_a(at.row, of_a)] >> 8 * byte & 0xff;
            uint32_t sb = image[11][lane_of_b(at.col, of_b)] >> 8 * byte & 0xff;
            double sum = 0;
            for (int k = 0; k < 32; k++) sum += a[at.row][k] * b[k][at.col];
            double want = c[at.row][at.col] + ldexp(sum, (int)(sa + sb) - 254);
            if (d[i * 32 + l] != want)
                fail_msg("%d, {%d,%d}: d[%d][%d] is %g, not %g", byte, of_a, of_b, at.row, at.col,
                         (double)d[i * 32 + l], want);
        }
    }
    run_close(&r);
}

static void scales_of_blocks(void **state) {
    (void)state;
    static const T of[] = {T_E4M3, T_E5M2, T_E3M2, T_E2M3, T_E2M1};
    for (int i = 0; i < 50; i++)
        check_scaled(of[i % 5], of[i / 5 % 5], i % 4, i / 4 % 2, i / 8 % 4, (uint64_t)i);
}

/* Products of pairs: row g and g + 8 of a are in registers 0, 2 and 1, 3 of lanes 4g .. 4g + 3, of
 * which each has eight neighbours along k in one register, and those 32 further in the next; b has
 * its columns so (PTX ISA, "Matrix fragments for mma.m16n8k64 with .e2m1").  */
static At pair_a(int l, int i) {
    return (At){l / 4 + i / 8 % 2 * 8, l % 4 * 8 + i % 8 + i / 16 * 32};
}
static At pair_b(int l, int i) { return (At){l % 4 * 8 + i % 8 + i / 8 * 32, l / 4}; }

typedef struct {
    const char *kind, *type;
    int scales, lowest, codes;            /* of a row; codes of scales that are drawn */
    double (*scale)(uint8_t code);
} Pairs;

static void check_pairs(const Pairs *p, int byte, int of_a, int of_b, uint64_t seed) {
    static uint32_t image[12][32];
    double a[16][64], b[64][8], c[16][8];
    Rng rng = {seed};
    PtxRun r;
    run_open(&r);
    memset(image, 0, sizeof image);
    for (int l = 0; l < 32; l++) {
        for (int i = 0; i < 48; i++) {
            uint32_t code = rng_below(&rng, 16);
            At at = i < 32 ? pair_a(l, i) : pair_b(l, i - 32);
            double *to = i < 32 ? &a[at.row][at.col] : &b[at.row][at.col];
            *to = num_e2m1_decode((uint8_t)code);
            image[i / 8][l] |= code << i % 8 * 4;
        }
        for (int i = 0; i < 4; i++) {
            At at = c_m16(l, i);
            c[at.row][at.col] = draw(&rng, T_S8);
            image[6 + i][l] = (uint32_t)encode(T_F32, c[at.row][at.col]);
        }
        for (int i = 0; i < 8; i++)
            image[10 + i / 4][l] |= ((uint32_t)p->lowest + rng_below(&rng, (uint32_t)p->codes))
                                    << i % 4 * 8;
    }
    const char *select[2] = {arena_printf(r.arena, "%d,%d", byte, of_a),
                             arena_printf(r.arena, "%d,%d", byte, of_b)};
    const char *op = arena_printf(r.arena, "mma.sync.aligned.m16n8k64.row.col.kind::%s.block_scale."
                                           "scale_vec::%dX.f32.e2m1.e2m1.f32.%s", p->kind,
                                  p->scales, p->type);
    run_memory(&r, image, sizeof image);
    run_memory(&r, NULL, 4 * sizeof *image);
    run_clean(&r, scaled_text(r.arena, op, select));
    const float *d = run_host(&r, 1);
    for (int l = 0; l < 32; l++) {
        for (int i = 0; i < 4; i++) {
            At at = c_m16(l, i);
            uint32_t sa = image[10][lane_of_a(at.row, of_a)];
            uint32_t sb = image[11][lane_of_b(at.col, of_b)];
            double want = c[at.row][at.col];
            for (int k = 0; k < 64; k++) {
                int shift = 8 * (byte + k / (64 / p->scales));
                want += a[at.row][k] * b[k][at.col] * p->scale((uint8_t)(sa >> shift)) *
                        p->scale((uint8_t)(sb >> shift));
            }
            if (d[i * 32 + l] != (float)want)
                fail_msg("%s: d[%d][%d] is %g, not %g", p->kind, at.row, at.col,
                         (double)d[i * 32 + l], want);
        }
    }
    run_close(&r);
}

static void scales_of_pairs(void **state) {
    (void)state;
    static const Pairs kind[] = {{"mxf4", "ue8m0", 2, 125, 6, num_ue8m0_decode},
                                 {"mxf4nvf4", "ue8m0", 2, 125, 6, num_ue8m0_decode},
                                 {"mxf4nvf4", "ue4m3", 4, 0x30, 16, num_ue4m3_decode}};
    for (int i = 0; i < 32; i++) {
        const Pairs *p = &kind[i % 3];
        check_pairs(p, p->scales == 2 ? i / 4 % 2 * 2 : 0, i / 8 % 2, i / 4 % 4, (uint64_t)i);
    }
}

static void refused_scales(void **state) {
    (void)state;
    static const char *const bad[][2] = {{"4,0", "0,0"}, {"0,2", "0,0"}, {"0,0", "0,4"}};
    static uint32_t image[16][32];
    for (int i = 0; i < 3; i++) {
        PtxRun r;
        run_open(&r);
        run_memory(&r, image, sizeof image);
        run_memory(&r, NULL, 4 * sizeof *image);
        const char *select[2] = {bad[i][0], bad[i][1]};
        run_faulty(&r, scaled_text(r.arena, mx(r.arena, T_E4M3, T_E4M3), select), SIM_DESCRIPTOR);
        run_close(&r);
    }
}

/* m8n8k4 of f16: four products, of lanes 4q..4q+3 with 16+4q..16+4q+3.  */
static At volta_a(bool col, int l, int i) {
    int high = l < 16 ? 0 : 4;
    return col ? (At){i % 4 + high, l % 4} : (At){l % 4 + high, i};
}
static At volta_b(bool row, int l, int i) {
    int high = l < 16 ? 0 : 4;
    return row ? (At){l % 4, i + high} : (At){i, l % 4 + high};
}
static At volta_c(T t, int l, int i) {
    int high = l < 16 ? 0 : 4;
    if (t == T_F16) return (At){l % 4 + high, i};
    return (At){(l & 1) + (i & 2) + high, (i & 4) + (l & 2) + (i & 1)};
}

static void check_volta(bool a_col, bool b_row, T c_type, T d_type, uint64_t seed) {
    static uint64_t image[4][16 * 32];
    double a[4][8][4], b[4][4][8], acc[4][8][8];
    Rng rng = {seed};
    PtxRun r;
    run_open(&r);
    memset(image, 0, sizeof image);
    for (int l = 0; l < 32; l++) {
        int q = l % 16 / 4;
        for (int i = 0; i < 4; i++) {
            At at = volta_a(a_col, l, i), bt = volta_b(b_row, l, i);
            a[q][at.row][at.col] = draw(&rng, T_F16);
            b[q][bt.row][bt.col] = draw(&rng, T_F16);
            pack(image[0], 16, l, i, encode(T_F16, a[q][at.row][at.col]));
            pack(image[1], 16, l, i, encode(T_F16, b[q][bt.row][bt.col]));
        }
        for (int i = 0; i < 8; i++) {
            At ct = volta_c(c_type, l, i);
            acc[q][ct.row][ct.col] = draw(&rng, T_F16);
            pack(image[2], type[c_type].bits, l, i, encode(c_type, acc[q][ct.row][ct.col]));
        }
    }
    int regs[4] = {2, 2, type[c_type].bits / 4, type[d_type].bits / 4};
    const char *opcode = arena_printf(r.arena, "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s",
                                      a_col ? "col" : "row", b_row ? "row" : "col",
                                      type[d_type].name, type[c_type].name);
    run_mma(&r, opcode, false, regs, image);
    for (int l = 0; l < 32; l++) {
        int q = l % 16 / 4;
        for (int i = 0; i < 8; i++) {
            At at = volta_c(d_type, l, i);
            double want = acc[q][at.row][at.col];
            for (int k = 0; k < 4; k++) want += a[q][at.row][k] * b[q][k][at.col];
            double got = decode(d_type, unpack(image[3], type[d_type].bits, l, i));
            if (got != want) fail_msg("%s: lane %d, %d: %g, not %g", opcode, l, i, got, want);
        }
    }
    run_close(&r);
}

static void volta_in_every_order(void **state) {
    (void)state;
    for (int order = 0; order < 4; order++) {
        check_volta(order & 1, order & 2, T_F32, T_F32, 1);
        check_volta(order & 1, order & 2, T_F16, T_F16, 2);
        check_volta(order & 1, order & 2, T_F16, T_F32, 3);
    }
}

/* Reals that do not sum exactly: one rounding of (nearly) the exact sum.  */
static void reals_round_once(void **state) {
    (void)state;
    static uint64_t image[4][16 * 32];
    for (int half = 0; half < 2; half++) {
        T acc_type = half ? T_F16 : T_F32;
        double a[16][16], b[16][8], acc[16][8];
        Rng rng = {11};
        PtxRun r;
        run_open(&r);
        memset(image, 0, sizeof image);
        for (int l = 0; l < 32; l++) {
            for (int i = 0; i < 8; i++) {
                At at = a_m16k16_16(l, i);
                uint64_t v = encode(T_F16, rng_normal(&rng));
                a[at.row][at.col] = decode(T_F16, v);
                pack(image[0], 16, l, i, v);
            }
            for (int i = 0; i < 4; i++) {
                At at = b_k16_16(l, i);
                uint64_t v = encode(T_F16, rng_normal(&rng));
                b[at.row][at.col] = decode(T_F16, v);
                pack(image[1], 16, l, i, v);
                At ct = c_m16(l, i);
                v = encode(acc_type, rng_normal(&rng));
                acc[ct.row][ct.col] = decode(acc_type, v);
                pack(image[2], type[acc_type].bits, l, i, v);
            }
        }
        int regs[4] = {4, 2, half ? 2 : 4, half ? 2 : 4};
        run_mma(&r, half ? "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
                         : "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", false, regs, image);
        for (int l = 0; l < 32; l++) {
            for (int i = 0; i < 4; i++) {
                At at = c_m16(l, i);
                long double exact = acc[at.row][at.col];
                for (int k = 0; k < 16; k++) exact += (long double)a[at.row][k] * b[k][at.col];
                double got = decode(acc_type, unpack(image[3], type[acc_type].bits, l, i));
                double ulp =
                    half ? num_ulp((double)exact, 10, -14) : num_ulp((double)exact, 23, -126);
                assert_true(fabs((double)((long double)got - exact)) <= 0.5001 * ulp);
            }
        }
        run_close(&r);
    }
}

static void refused(const char *instruction) {
    PtxRun r;
    run_open(&r);
    if (run_text(&r, run_kernel(r.arena, 0, instruction))) fail_msg("accepted: %s", instruction);
    assert_int_equal(diag_first_error(&r.diag)->status, ST_SIMULATOR);
    run_close(&r);
}

static void shapes_that_do_not_exist(void **state) {
    (void)state;
    refused(
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, "
        "{%r8,%r9}, {%r0,%r1,%r2,%r3};");
    refused(
        "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, "
        "{%r8,%r9}, {%r0,%r1,%r2,%r3};");
    refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%r0,%r1,%r2,%r3}, "
            "{%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3};");
    refused("mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16 {%r0,%r1}, {%r4,%r5,%r6,%r7}, "
            "{%r8,%r9}, {%r0,%r1};");
    refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1,%r2}, {%r4,%r5,%r6,%r7}, "
            "{%r8,%r9}, {%r0,%r1,%r2};");
    refused("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f16 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r8}, "
            "{%r10,%r11};");
    refused(
        "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r8,%r9}, "
        "{%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17};");
    refused("mma.sync.aligned.m16n8k32.row.col.f32.e2m1.e2m1.f32 {%r0,%r1,%r2,%r3}, "
            "{%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3};");
    refused("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1."
            "f32.ue8m0 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3}, {%r4}, "
            "{0,0}, {%r5}, {0,0};");
    refused("ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r0,%r1,%r2}, [%r3];");
    refused("ldmatrix.sync.aligned.m8n8.x4.global.b16 {%r0,%r1,%r2,%r4}, [%l3];");
}

static void a_part_of_a_warp_cannot_multiply(void **state) {
    (void)state;
    PtxRun r;
    run_open(&r);
    run_faulty(&r, run_kernel(r.arena, 0,
        "setp.lt.u32 %p0, %t, 8;\n@%p0 bra L;\n"
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r8}, "
        "{%r0,%r1,%r2,%r3};\nL:\n"), SIM_DIVERGENT);
    run_close(&r);
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */
/* Fills 1 KB of shared memory from p0 (two words per lane and step), then runs `body`.  */
static const char *shared_text(Arena *a, const char *body) {
    return run_kernel(a, 2, arena_printf(a,
        "mov.u32 %%r399, smem;\nshl.b32 %%r398, %%t, 3;\ncvt.u64.u32 %%l0, %%r398;\n"
        "add.u64 %%l1, %%a0, %%l0;\nadd.u32 %%r397, %%r399, %%r398;\n"
        "ld.global.b64 %%l2, [%%l1];\nst.shared.b64 [%%r397], %%l2;\n"
        "ld.global.b64 %%l2, [%%l1+256];\nst.shared.b64 [%%r397+256], %%l2;\n"
        "ld.global.b64 %%l2, [%%l1+512];\nst.shared.b64 [%%r397+512], %%l2;\n"
        "ld.global.b64 %%l2, [%%l1+768];\nst.shared.b64 [%%r397+768], %%l2;\n"
        "bar.sync 0;\nshl.b32 %%r396, %%t, 2;\ncvt.u64.u32 %%l3, %%r396;\n"
        "add.u64 %%l4, %%a1, %%l3;\n%s", body));
}

static void loads_matrices(void **state) {
    (void)state;
    for (int n = 1; n <= 4; n *= 2) {
        for (int trans = 0; trans < 2; trans++) {
            uint16_t data[512];
            for (int k = 0; k < 512; k++) data[k] = (uint16_t)(k * 77 + 5);
            PtxRun r;
            run_open(&r);
            r.launch.dynamic_smem = 1024;
            run_memory(&r, data, sizeof data);
            run_memory(&r, NULL, 4 * 128);
            Buf b = buf_new(r.arena);
            /* Row r of matrix j at (8j + r) * 32 bytes.  */
            buf_puts(&b, "shl.b32 %r100, %t, 5;\nadd.u32 %r100, %r100, %r399;\n");
            buf_printf(&b, "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 ", n,
                       trans ? ".trans" : "");
            names(&b, "r", 0, n);
            buf_puts(&b, ", [%r100];\n");
            for (int k = 0; k < n; k++) {
                buf_printf(&b, "st.global.b32 [%%l4+%d], %%r%d;\n", 128 * k, k);
            }
            run_clean(&r, shared_text(r.arena, buf_str(&b)));
            const uint32_t *out = run_host(&r, 1);
            for (int j = 0; j < n; j++) {
                for (int l = 0; l < 32; l++) {
                    for (int h = 0; h < 2; h++) {
                        int row = l / 4, col = 2 * (l % 4) + h;
                        int at = trans ? (8 * j + col) * 16 + row : (8 * j + row) * 16 + col;
                        assert_int_equal(out[32 * j + l] >> (16 * h) & 0xffff, data[at]);
                    }
                }
            }
            run_close(&r);
        }
    }
}

static void stores_matrices(void **state) {
    (void)state;
    for (int n = 1; n <= 4; n *= 2) {
        for (int trans = 0; trans < 2; trans++) {
            uint16_t data[512] = {0};
            PtxRun r;
            run_open(&r);
            r.launch.dynamic_smem = 1024;
            run_memory(&r, data, sizeof data);
            run_memory(&r, NULL, 1024);
            Buf b = buf_new(r.arena);
            buf_puts(&b, "shl.b32 %r100, %t, 5;\nadd.u32 %r100, %r100, %r399;\n");
            for (int k = 0; k < n; k++) {
                buf_printf(&b, "mul.lo.u32 %%r%d, %%t, 131074;\nadd.u32 %%r%d, %%r%d, %d;\n", k, k,
                           k, 65536 + 1000 * k * 65537);
            }
            buf_printf(&b, "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%%r100], ", n,
                       trans ? ".trans" : "");
            names(&b, "r", 0, n);
            buf_puts(&b, ";\nbar.sync 0;\nadd.u64 %l5, %a1, %l0;\n");
            for (int k = 0; k < 4; k++) {
                buf_printf(&b, "ld.shared.b64 %%l6, [%%r397+%d];\nst.global.b64 [%%l5+%d], %%l6;\n",
                           256 * k, 256 * k);
            }
            run_clean(&r, shared_text(r.arena, buf_str(&b)));
            const uint16_t *out = run_host(&r, 1);
            for (int j = 0; j < n; j++) {
                for (int row = 0; row < 8; row++) {
                    for (int col = 0; col < 8; col++) {
                        int i = trans ? col : row, h = trans ? row : col;
                        int lane = i * 4 + h / 2;
                        assert_int_equal(out[(8 * j + row) * 16 + col],
                                         (2 * lane + h % 2 + 1000 * j) & 0xffff);
                    }
                }
            }
            run_close(&r);
        }
    }
}

static void transposes_in_registers(void **state) {
    (void)state;
    PtxRun r;
    run_open(&r);
    run_memory(&r, NULL, 128);
    run_clean(&r, run_kernel(r.arena, 1,
        "mul.lo.u32 %r0, %t, 131074;\nadd.u32 %r0, %r0, 65536;\n"
        "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\n"
        "mul.wide.u32 %l0, %t, 4;\nadd.u64 %l1, %a0, %l0;\nst.global.b32 [%l1], %r1;\n"));
    const uint32_t *out = run_host(&r, 0);
    for (int l = 0; l < 32; l++) {
        for (int h = 0; h < 2; h++) {
            int row = 2 * (l % 4) + h, col = l / 4;
            assert_int_equal(out[l] >> (16 * h) & 0xffff, 8 * row + col);
        }
    }
    run_close(&r);
}

static void matrix_rows_are_aligned(void **state) {
    (void)state;
    uint16_t data[512] = {0};
    PtxRun r;
    run_open(&r);
    r.launch.dynamic_smem = 1024;
    run_memory(&r, data, sizeof data);
    run_memory(&r, NULL, 128);
    run_faulty(&r, shared_text(r.arena,
        "mad.lo.u32 %r100, %t, 24, %r399;\n"
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r100];\n"), SIM_MISALIGNED);
    run_close(&r);
}

/* 8 rows of 16 bytes: one wavefront when packed or 32 bytes apart by a swizzle, 4 at 64, 8 at
 * 128.  */
static void matrix_loads_conflict(void **state) {
    (void)state;
    static const struct {
        int stride, wavefronts;
    } expect[] = {{16, 1}, {32, 2}, {64, 4}, {128, 8}, {80, 1}, {144, 1}};
    for (size_t k = 0; k < sizeof expect / sizeof *expect; k++) {
        uint16_t data[512] = {0};
        PtxRun r;
        run_open(&r);
        r.launch.dynamic_smem = 4096;
        run_memory(&r, data, sizeof data);
        run_memory(&r, NULL, 128);
        run_clean(&r, run_kernel(r.arena, 2, arena_printf(r.arena,
            "mov.u32 %%r399, smem;\nmad.lo.u32 %%r100, %%t, 128, %%r399;\n"
            "mov.b32 %%r1, 0;\n"
            "st.shared.v4.b32 [%%r100], {%%r1,%%r1,%%r1,%%r1};\n"
            "st.shared.v4.b32 [%%r100+16], {%%r1,%%r1,%%r1,%%r1};\n"
            "st.shared.v4.b32 [%%r100+32], {%%r1,%%r1,%%r1,%%r1};\n"
            "st.shared.v4.b32 [%%r100+48], {%%r1,%%r1,%%r1,%%r1};\n"
            "st.shared.v4.b32 [%%r100+64], {%%r1,%%r1,%%r1,%%r1};\n"
            "st.shared.v4.b32 [%%r100+80], {%%r1,%%r1,%%r1,%%r1};\n"
            "st.shared.v4.b32 [%%r100+96], {%%r1,%%r1,%%r1,%%r1};\n"
            "st.shared.v4.b32 [%%r100+112], {%%r1,%%r1,%%r1,%%r1};\n"
            "bar.sync 0;\nand.b32 %%r2, %%t, 7;\nmad.lo.u32 %%r100, %%r2, %d, %%r399;\n"
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%%r0}, [%%r100];\n", expect[k].stride)));
        assert_int_equal(r.report.total.shared_load_wavefronts, expect[k].wavefronts);
        run_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_and_type),
        cmocka_unit_test(integers_saturate),
        cmocka_unit_test(scales_of_blocks),
        cmocka_unit_test(scales_of_pairs),
        cmocka_unit_test(refused_scales),
        cmocka_unit_test(volta_in_every_order),
        cmocka_unit_test(reals_round_once),
        cmocka_unit_test(shapes_that_do_not_exist),
        cmocka_unit_test(a_part_of_a_warp_cannot_multiply),
        cmocka_unit_test(loads_matrices),
        cmocka_unit_test(stores_matrices),
        cmocka_unit_test(transposes_in_registers),
        cmocka_unit_test(matrix_rows_are_aligned),
        cmocka_unit_test(matrix_loads_conflict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
