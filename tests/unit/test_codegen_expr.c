/* links: sim */
/* Expressions as code: every operator, cast, intrinsic and reduction, on values that hurt, computed
 * by the emitted kernels as the reference computes them.  sm_75 takes the software forms of the
 * conversions, sm_90a the instructions.  */
#include "kernel_fixture.h"

#include "base/hash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    Arena *arena;
    const Device *dev;
    Nvrtc *nvrtc;
} Target;

static const struct {
    const char *profile, *arch;
} targets[] = {{"h200", NULL}, {"v100", "sm_75"}};
enum { TARGETS = sizeof targets / sizeof *targets };

static void open_profile(Target *t, const char *profile, const char *arch) {
    t->arena = arena_create(NULL);
    assert_non_null(t->arena);
    Diag d = diag_new(t->arena);
    Device *dev;
    if (hal_profile_find(t->arena, &d, profile, "profiles", NULL, &dev))
        fail_msg("%s", d.messages[0].message);
    if (arch) {
        dev->arch = arch;
        dev->cc_major = 7;
        dev->cc_minor = 5;
    }
    t->dev = dev;
    if (nvrtc_open(t->arena, &d, NULL, dev->arch, &t->nvrtc)) fail_msg("%s", d.messages[0].message);
}

static void open_target(Target *t, int which) {
    open_profile(t, targets[which].profile, targets[which].arch);
}

typedef struct {
    Target *target;
    const char *text;
    const TeData *in;
    bool exact;
    const char *uses;         /* what the source must hold; NULL: anything */
    char wrong[4096];
} Job;

static void run_job(void *user) {
    Job *j = user;
    KernelCase c;
    const char *wrong = kernel_open(&c, j->target->arena, j->target->dev, j->text, NULL);
    c.in = j->in;
    if (!wrong) wrong = kernel_pick(&c, 0);
    if (!wrong) wrong = kernel_emit(&c);
    if (!wrong && j->uses && !strstr(c.program.source, j->uses)) wrong = "other code than meant";
    if (!wrong) wrong = kernel_compile(&c, j->target->nvrtc, false);
    if (!wrong) wrong = kernel_run(&c, j->exact ? TE_FILL_INTEGERS : TE_FILL_REALS, 1, j->exact);
    if (!wrong) return;
    strncpy(j->wrong, kernel_report(&c, j->target->dev->arch, wrong), sizeof j->wrong - 1);
}

static void prove_job(Job j) {
    assert_true(arena_try(j.target->arena, run_job, &j));
    if (!j.wrong[0]) return;
    print_error("%s\n", j.wrong);
    fail_msg("%.300s", j.text);
}

/* `in` NULL: data made for the op.  */
static void prove(Target *t, const char *text, const TeData *in, bool exact) {
    prove_job((Job){.target = t, .text = text, .in = in, .exact = exact});
}

/* ---- values that hurt ---- */

static const double hard[] = {
    0.0, -0.0, 1, -1, 2, 3, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, -0.3, 7, 100, -127, 127.5, 128, 255,
    256, 448, 449, 463.9, 464, 465, 480, 57344, 61439, 61440, 61441, 65504, 65519, 65520, 65536,
    1e-3, -1e-3, 0.001953125, 0.0009765625, 0.00097656251, 0.00146484375, 1.52587890625e-05,
    7.62939453125e-06, 7.6e-06, 6e-8, 2.98e-8, 5.96046447753906e-8, 1e-30, 1e-38, 1e-40, 1.4e-45,
    7e-46, 3.3e38, -3.3e38, 3.4028235677973366e38, 1e300, -1e300, 5e-324, 2147483647, 2147483648.0,
    -2147483648.0, -2147483649.0, 4294967296.0, 9223372036854775807.0, -9223372036854775808.0, 1e19,
    16777217, 33554433, 257, 1.00390625, 1.001953125, 1.00390625000001, 1.0009765625, 1.00048828125,
    1.00048828126, 3.14159265358979, 1.0000001, 0.99999994,
};
enum { HARD = sizeof hard / sizeof *hard, POINTS = 512 };

static int64_t integer_at(int i, Rng *r) {
    static const int64_t at[] = {
        0, 1, -1, 2, -2, 3, -3, 7, -7, 16, -16, 127, -128, 128, 255, 256, 257, -257, 32767, -32768,
        65535, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 16777217, -16777217, 33554435, 1LL << 53,
        (1LL << 53) + 1, (1LL << 40) + 1, -(1LL << 40) - 1, (1LL << 62) + (1LL << 38) + 1,
    };
    int n = (int)(sizeof at / sizeof *at);
    if (i < n) return at[i];
    return (int64_t)rng_next(r) >> rng_below(r, 64);
}

static double real_at(int i, Rng *r) {
    if (i < HARD) return hard[i];
    if (i == HARD) return NAN;
    if (i == HARD + 1) return INFINITY;
    if (i == HARD + 2) return -INFINITY;
    return rng_normal(r) * exp2((double)rng_below(r, 60) - 30);
}

/* n elements of a type: all bit patterns of the 1-byte types come first.  */
static TeData fill(Arena *a, TeDtype t, int n, uint64_t seed, bool shuffle) {
    int bytes = te_dtype_bytes(t);
    TeData d = {arena_calloc(a, (size_t)n, (size_t)bytes), (size_t)n * (size_t)bytes};
    Rng r = {seed};
    for (int i = 0; i < n; i++) {
        int k = shuffle ? (int)rng_below(&r, (uint32_t)n) : i;
        TeValue v = {.v = real_at(k, &r), .i = integer_at(k, &r)};
        char *p = (char *)d.data + i * bytes;
        if (bytes == 1 && t != TE_BOOL) *p = (char)k;
        else if (t == TE_BOOL) *p = (char)(k % 3 == 0 ? 0 : k % 7);
        else te_store(t, &v, p);
    }
    return d;
}

/* ---- operators ---- */

static void check_operators(void **state) {
    (void)state;
    static const char *const ints =
        "(A: @[M], B: @[M], C: @[M], D: @[M], E: @[M], F: @[M], G: @[M], H: @[M], I: bool[M], "
        "J: bool[M], K: @[M]) { A[i] = x[i] + y[i]; B[i] = x[i] - y[i]; C[i] = x[i] * y[i]; "
        "D[i] = x[i] / y[i]; E[i] = x[i] % y[i]; F[i] = -x[i]; G[i] = abs(x[i]); "
        "H[i] = max(x[i], y[i], 3) - min(x[i], y[i]); I[i] = x[i] < y[i] || x[i] == y[i]; "
        "J[i] = !(x[i] >= y[i]) && x[i] != 2; K[i] = x[i] > y[i] ? x[i] / 7 : y[i] % 16; }";
    static const char *const reals =
        "(A: @[M], B: @[M], C: @[M], D: @[M], E: @[M], F: @[M], G: @[M], H: @[M], I: bool[M], "
        "J: bool[M], K: @[M]) { A[i] = x[i] + y[i]; B[i] = x[i] - y[i]; C[i] = x[i] * y[i]; "
        "D[i] = x[i] / y[i]; E[i] = max(x[i], y[i]); F[i] = -x[i]; G[i] = abs(x[i]); "
        "H[i] = min(x[i], y[i]); I[i] = x[i] < y[i] || x[i] == y[i]; "
        "J[i] = !(x[i] >= y[i]) && x[i] != 2; K[i] = floor(x[i]) + ceil(y[i]) - round(x[i]); }";
    static const TeDtype types[] = {TE_I64, TE_I32, TE_F64, TE_F32};
    for (int k = 0; k < TARGETS; k++) {
        Target t;
        open_target(&t, k);
        for (int i = 0; i < 4; i++) {
            const char *name = te_dtype_name(types[i]), *body = i < 2 ? ints : reals;
            Buf b = buf_new(t.arena);
            buf_printf(&b, "param M = %d; op f(x: %s[M], y: %s[M]) -> ", POINTS, name, name);
            for (const char *s = body; *s; s++) {
                if (*s == '@') buf_puts(&b, name);
                else buf_putc(&b, *s);
            }
            TeData in[2] = {fill(t.arena, types[i], POINTS, 1, true),
                            fill(t.arena, types[i], POINTS, 2, true)};
            prove(&t, buf_str(&b), in, i < 2);
        }
        arena_destroy(t.arena);
    }
}

/* Integers that fit no i32, and narrow ones that need no wrapping.  */
static void check_integers(void **state) {
    (void)state;
    Target t;
    open_target(&t, 0);
    const char *text =
        "param M = 512; op f(x: i8[M], y: u8[M], z: i16[M], w: i64[M]) -> (A: i32[M], B: i64[M], "
        "C: i32[M], D: i64[M], E: i8[M], F: u8[M], G: i64[M]) { A[i] = x[i] * z[i] + y[i]; "
        "B[i] = (w[i] + i) * 3 - i * 100000000000; C[i] = (x[i] - y[i]) / 5 % 3; "
        "D[i] = i64(z[i]) * z[i] + i * i; E[i] = i8(x[i] * y[i]); F[i] = u8(z[i] - 1); "
        "G[i] = max(w[i], i) / (i - 200) + w[i] % (i - 300) - abs(i - 256); }";
    TeData in[4] = {fill(t.arena, TE_I8, 512, 3, true), fill(t.arena, TE_U8, 512, 4, true),
                    fill(t.arena, TE_I16, 512, 5, true), fill(t.arena, TE_I64, 512, 6, true)};
    prove(&t, text, in, true);
    arena_destroy(t.arena);
}

/* ---- casts: every type to every type, through a store and in an expression ---- */

static void check_casts(void **state) {
    (void)state;
    for (int k = 0; k < TARGETS; k++) {
        for (TeDtype from = 0; from < TE_DTYPE_COUNT; from++) {
            Target t;
            open_target(&t, k);
            Buf b = buf_new(t.arena);
            const char *name = te_dtype_name(from);
            buf_printf(&b, "param M = %d; op f(x: %s[M]) -> (", POINTS, name);
            for (TeDtype to = 0; to < TE_DTYPE_COUNT; to++)
                buf_printf(&b, "%sO%d: %s[M], P%d: %s[M]", to ? ", " : "", (int)to,
                           te_dtype_name(to), (int)to, te_dtype_name(te_dtype_compute(to)));
            buf_puts(&b, ") { ");
            for (TeDtype to = 0; to < TE_DTYPE_COUNT; to++)
                buf_printf(&b, "O%d[i] = %s(x[i]); P%d[i] = %s(x[i]); ", (int)to,
                           te_dtype_name(to), (int)to, te_dtype_name(to));
            buf_puts(&b, "}");
            TeData in = fill(t.arena, from, POINTS, 7, false);
            prove(&t, buf_str(&b), &in, true);
            arena_destroy(t.arena);
        }
    }
}

/* Vectors of narrow reals are rounded in pairs by their store.  */
static void check_pairs(void **state) {
    (void)state;
    enum { MANY = 32768 };
    static const TeDtype from[] = {TE_F32, TE_F64, TE_I32, TE_BF16};
    static const struct {
        TeDtype to;
        const char *uses;
    } stores[] = {{TE_F16, "rl_store_f16<"},
                  {TE_BF16, "rl_store_bf16<"},
                  {TE_F8E4M3, "rl_store_e4m3<"},
                  {TE_F8E5M2, "rl_store_e5m2<"}};
    for (int k = 0; k < TARGETS; k++) {
        Target t;
        open_target(&t, k);
        for (int i = 0; i < 4; i++) {
            TeData in = fill(t.arena, from[i], MANY, 9, false);
            for (int n = 0; n < 4; n++) {
                if (from[i] == stores[n].to) continue;
                Buf b = buf_new(t.arena);
                buf_printf(&b, "op f(x: %s[%d]) -> Y: %s[%d] { Y[i] = %s(x[i]); }",
                           te_dtype_name(from[i]), MANY, te_dtype_name(stores[n].to), MANY,
                           te_dtype_name(stores[n].to));
                prove_job((Job){.target = &t, .text = buf_str(&b), .in = &in, .exact = true,
                                .uses = stores[n].uses});
            }
        }
        arena_destroy(t.arena);
    }
}

/* Operands of matrix units that are widened on their way to shared memory, four elements at once:
 * every value at every place of a word.  */
static void check_operands(void **state) {
    (void)state;
    enum { M = 256, N = 64, K = 64 };
    static const struct {
        const char *from, *to, *device, *uses;
    } row[] = {
        {"f8e4m3", "f16", "t4", "rl_e4m3x4_to_f16x4("},
        {"f8e4m3", "f16", "a100", "rl_e4m3x4_to_f16x4("},
        {"f8e4m3", "f16", "rtx4090", "rl_e4m3x4_to_f16x4("},
        {"f8e5m2", "f16", "a100", "rl_e5m2x4_to_f16x4("},
        {"f8e5m2", "f16", "rtx4090", "rl_e5m2x4_to_f16x4("},
        {"i8", "f16", "a100", "rl_i8x4_to_f16x4("},
        {"u8", "f16", "a100", "rl_u8x4_to_f16x4("},
        {"i8", "bf16", "a100", "rl_i8x4_to_bf16x4("},
        {"u8", "bf16", "a100", "rl_u8x4_to_bf16x4("},
        {"f8e4m3", "bf16", "a100", "rl_e4m3x4_to_bf16x4("},
        {"f8e4m3", "bf16", "rtx4090", "rl_e4m3x4_to_bf16x4("},
        {"f8e5m2", "bf16", "h200", "rl_e5m2x4_to_bf16x4("},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Target t;
        open_profile(&t, row[i].device, NULL);
        bool f16 = strcmp(row[i].to, "f16") == 0;
        unsigned char *a = arena_calloc(t.arena, M, K);
        uint16_t *b = arena_calloc(t.arena, (size_t)N * K, sizeof *b);
        for (int m = 0; m < M; m++) a[m * K + m % K] = (unsigned char)m;
        for (int n = 0; n < N * K; n++)                       /* 1 and -2 */
            b[n] = (uint16_t)(n % 3 ? f16 ? 0x3c00 : 0x3f80 : 0xc000);
        TeData in[] = {{a, (size_t)M * K}, {b, (size_t)N * K * sizeof *b}};
        Buf text = buf_new(t.arena);
        buf_printf(&text, "op f(A: %s[%d,%d], B: %s[%d,%d]) -> C: f32[%d,%d]"
                          " { C[m,n] += A[m,k] * B[n,k]; }",
                   row[i].from, M, K, row[i].to, N, K, M, N);
        prove_job((Job){.target = &t, .text = buf_str(&text), .in = in, .exact = true,
                        .uses = row[i].uses});
        arena_destroy(t.arena);
    }
}

/* ---- intrinsics ---- */

static void check_intrinsics(void **state) {
    (void)state;
    static const char *const one[] = {"exp", "exp2", "log",  "log2", "sqrt", "rsqrt",
                                      "tanh", "erf", "sin", "cos"};
    static const char *const mode[] = {"f32", "f64", "f32 @fast"};
    for (int m = 0; m < 3; m++) {
        Target t;
        open_target(&t, 0);
        const char *type = m == 1 ? "f64" : "f32", *note = m == 2 ? " @fast" : "";
        (void)mode;
        Buf b = buf_new(t.arena);
        buf_printf(&b, "param M = 256; op f(x: %s[M], y: %s[M]) -> (Q: %s[M], V: %s[M]", type, type,
                   type, type);
        for (int i = 0; i < 10; i++) buf_printf(&b, ", O%d: %s[M]", i, type);
        buf_printf(&b, ") { Q[i] = pow(abs(x[i]) + 0.5, y[i])%s; V[i] = x[i] / (abs(y[i]) + 1)%s; ",
                   note, note);
        for (int i = 0; i < 10; i++) {
            bool positive = i >= 2 && i <= 5;
            buf_printf(&b, "O%d[i] = %s(%s)%s; ", i, one[i], positive ? "abs(x[i])" : "x[i]", note);
        }
        buf_puts(&b, "}");
        prove(&t, buf_str(&b), NULL, false);
        arena_destroy(t.arena);
    }
}

/* ---- reductions, reads and statements ---- */

static const char *const programs[] = {
    /* every reduction of reals, NaN and ties included */
    "param N = 16, K = 32; op f(X: f32[N,K]) -> (A: f32[N], B: f32[N], C: f32[N], D: i32[N], "
    "E: i32[N], F: bool[N], G: bool[N]) { A[n] += X[n,k]; B[n] max= X[n,k]; C[n] min= X[n,k]; "
    "D[n] = argmax[k](X[n,k]); E[n] = argmin[k](X[n,k]); F[n] = any[k](X[n,k] > 2); "
    "G[n] = all[k](X[n,k] > -3); }",
    "param N = 16, K = 9; op f(X: i16[N,K]) -> (A: i32[N], B: i64[N], C: i32[N], D: i32[N], "
    "E: i32[N], F: i16[N]) { A[n] *= X[n,k]; B[n] = sum[k](X[n,k]) @accum(i64); "
    "C[n] = argmax[k](X[n,k]); D[n] = argmin[k](X[n,k]); E[n] min= X[n,k] * X[n,k]; "
    "F[n] max= X[n,k]; }",
    /* two axes in one position, empty ranges, rank 0 */
    "param N = 6, K = 5, L = 7, Z = 0; op f(X: f32[K,N,L]) -> (A: i32[N], B: f32, C: f32[N], "
    "D: f32[N]) { A[n] = argmax[l,k](X[k,n,l]); B[] = sum[k,n,l](X[k,n,l]); "
    "C[n] = max[z](X[z,n,0]) where z in 0:Z; D[n] = B[] + X[0,n,0]; }",
    /* reads with tests, data-dependent ones, conditions that keep reads inside */
    "param V = 20, D = 12, T = 30; op f(E: f16[V,D], id: i32[T], k: i64[T]) -> (Y: f16[T,D], "
    "Z: f32[T,D]) { Y[t,d] = (id[t] >= 0 && id[t] < V) ? E[id[t], d] * 2.0 : 0; "
    "Z[t,d] = E[k[t], d] else (E[t-3, d] else -1.0); }",
    "param M = 13, N = 11, L = 8; op f(X: f32[M,L], Y: f32[N,L]) -> (Z: f32[M+N,L], W: f32[M,L]) {"
    " Z[i,j] = i < M ? X[i,j] : Y[i-M,j]; W[i,j] = j > 0 && X[i,j-1] > 0 ? X[i,j-1] : X[i,j]; }",
    /* groups, permuted writes, types of temporaries */
    "param M = 24, N = 20; op f(X: f32[M,N], b: f32[N]) -> (Y: f16[N,M], Z: i8[M,N], "
    "W: bool[M,N]) { t[m,n] = X[m,n] + b[n] @type(f16); u[n,m] = t[m,n] * 3.0; Y[n,m] = u[n,m];"
    " Z[m,n] = i8(t[m,n]); W[m,n] = t[m,n] > 0; }",
    "param N = 9, C = 24; op f(X: f32[N,C]) -> Y: f32[N,C] { m[n] = max[c](X[n,c]);"
    " z[n] = sum[c](X[n,c] - m[n]); Y[n,c] = X[n,c] - m[n] + z[n]; }",
    "param N = 3, H = 8, W = 6, C = 4; op f(X: f32[N,H,W,C]) -> (Y: f32[N,C,H,W], "
    "Z: f32[N,H,W*C]) { Y[n,c,h,w] = X[n,h,w,c]; Z[n,h,j] = X[n,h,j/C,j%C]; }",
    "param M = 64; op f(x: bool[M], y: f32[M], s: f32, k: i32) -> (A: f32[M], B: bool[M], "
    "C: i64[M]) { A[i] = x[i] ? y[i] * s : -y[i]; B[i] = !x[i] && y[i] >= 0; "
    "C[i] = i * 5 - (i % 7) * k; }",
    "param N = 40, C = 12; op f(X: f32[N,C]) -> (S: f32[C], I: i32[C]) { S[c] += X[n,c];"
    " I[c] = argmax[n](X[n,c]); }",
    "param N=2, C=4, H=12, W=12; op f(X: i8[N,C,H,W]) -> Y: i8[N,C,6,6] { Y[n,c,p,q] max="
    " X[n,c,2*p+r-1,2*q+s-1] else -100 where r in 3, s in 3; }",
    "param N = 5, Z = 0; op f(X: f32[N,Z]) -> (Y: f32[N,Z], S: f32[N]) { Y[n,z] = X[n,z] + 1.0;"
    " S[n] += X[n,z]; }",
    /* an index as what is compared; a temporary without elements; reads that their else widens */
    "param N = 33; op f(p: bool[N], X: i32[N]) -> I: i32 { I[] = argmax[n](p[n] ? n : X[n]); }",
    "param N = 3, Z = 0; op f(X: f32[N,Z]) -> Y: f32[N] { t[z] = sum[n](X[n,z]);"
    " Y[n] = sum[z](X[n,z] * t[z]); }",
    "param N = 24; op f(X: i16[N], Z: i64[N]) -> (A: i64[N], B: i64[N]) {"
    " A[n] = (X[n] else Z[n]) * 100000 * 100000; t[n] = i32(X[n] * 3);"
    " B[n] = (t[n] else Z[n]) * 100000 * 100000; }",
    /* narrow neighbours in a tile that is no multiple of 16 bytes */
    "param N = 5, K = 11; op f(T: i32[N], X: bool[K,N,10]) -> Y: bool[10,N] {"
    " Y[i,j] = all[k](X[k,j,i] || T[0] >= k); }",
    /* two signs of minus */
    "op f(X: f32[7]) -> (A: f32[7], B: f32) { A[n] = X[n] - -abs(2.5); B[] = --abs(1.5); }",
};

static void check_programs(void **state) {
    (void)state;
    Target t;
    open_target(&t, 0);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        prove(&t, programs[i], NULL, true);
    arena_destroy(t.arena);
}

/* What an else value makes f64 is computed as such, whatever tensor it is read from.  */
static void check_widened(void **state) {
    (void)state;
    Target t;
    open_target(&t, 0);
    prove(&t, "param N = 24, M = 12; op f(X: f32[N], Z: f64[N], W: f8e5m2[M]) -> (A: f64[N],"
              " B: f32[N,M]) { A[n] = exp(X[n] else Z[n]); B[n,m] = tanh(W[m] else Z[n]); }",
          NULL, false);
    arena_destroy(t.arena);
}

/* NaN and ties in reductions: chosen data.  */
static void check_order(void **state) {
    (void)state;
    Target t;
    open_target(&t, 0);
    const float x[4][6] = {{1, 5, 5, 2, 5, 0}, {3, NAN, 9, NAN, 1, 2},
                           {-0.0f, 0, -0.0f, 0, 0, 0}, {-INFINITY, -INFINITY, NAN, 1, 2, 3}};
    TeData in = {(void *)(uintptr_t)x, sizeof x};
    prove(&t,
          "param N = 4, K = 6; op f(X: f32[N,K]) -> (A: i32[N], B: i32[N], C: f32[N], D: f32[N]) {"
          " A[n] = argmax[k](X[n,k]); B[n] = argmin[k](X[n,k]); C[n] max= X[n,k];"
          " D[n] = sum[k](X[n,k]); }",
          &in, true);
    arena_destroy(t.arena);
}

/* A chain of hundreds of additions, and one value used in many places.  */
static void check_long(void **state) {
    (void)state;
    Target t;
    open_target(&t, 0);
    Buf b = buf_new(t.arena);
    buf_puts(&b, "param M = 32; op f(x: f32[M], y: i32[M]) -> (A: f32[M], B: i32[M]) {");
    buf_puts(&b, " A[i] = x[i]");
    for (int i = 0; i < 900; i++) buf_printf(&b, " + %d.0 * x[i]", i % 7);
    buf_puts(&b, "; B[i] = y[i] > 0 ? (y[i] * 3) * (y[i] * 3) + (y[i] * 3) / (y[i] * 3) : 0");
    for (int i = 0; i < 300; i++) buf_puts(&b, " - (y[i] * 3)");
    buf_puts(&b, "; }");
    prove(&t, buf_str(&b), NULL, true);
    arena_destroy(t.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_operators),  cmocka_unit_test(check_integers),
        cmocka_unit_test(check_casts),      cmocka_unit_test(check_pairs),
        cmocka_unit_test(check_intrinsics), cmocka_unit_test(check_programs),
        cmocka_unit_test(check_order),      cmocka_unit_test(check_long),
        cmocka_unit_test(check_widened),    cmocka_unit_test(check_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
