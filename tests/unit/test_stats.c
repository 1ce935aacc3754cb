/* links: driver */
/* Statements over rows of a contraction's results, in its kernel: programs with whole rows in a
 * block and with parts of them, on units of threads and of warps, on the simulator against te_eval;
 * infinities and NaN; random ops.  LONG=1 runs more of them.  */
#include "effort.h"
#include "plan_fixture.h"
#include "stats_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
    bool exact;
} op[] = {
    {"softmax f32", "param B = 3, M = 24, N = 21, D = 16;"
     STATS_SOFTMAX("f32", "f32", "[B,M,D]", "[B,N,D]"), false},
    {"softmax f16", "param B = 2, M = 40, N = 72, D = 32;"
     STATS_SOFTMAX("f16", "f16", "[B,M,D]", "[B,N,D]"), false},
    {"softmax bf16, odd", "param B = 1, M = 33, N = 51, D = 24;"
     STATS_SOFTMAX("bf16", "f32", "[B,M,D]", "[B,N,D]"), false},
    {"softmax tf32", "param B = 2, M = 32, N = 48, D = 16;"
     "op f(Q: f32[B,M,D], K: f32[B,N,D]) -> S: f32[B,M,N] {"
     " t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]) @tf32; m[b,i] = max[j](t[b,i,j]);"
     " z[b,i] = sum[j](exp(t[b,i,j] - m[b,i])); S[b,i,j] = exp(t[b,i,j] - m[b,i]) / z[b,i]; }",
     false},
    {"heads inside", "op f(Q: f16[2,24,3,16], K: f16[2,40,3,16]) -> S: f16[2,3,24,40] {"
     " t[b,h,i,j] = sum[d](Q[b,i,h,d] * K[b,j,h,d]); m[b,h,i] = max[j](t[b,h,i,j]);"
     " z[b,h,i] = sum[j](exp(t[b,h,i,j] - m[b,h,i]));"
     " S[b,h,i,j] = exp(t[b,h,i,j] - m[b,h,i]) / z[b,h,i]; }", false},
    {"mask and scale", "op f(Q: f16[2,24,16], K: f16[2,40,16], B: f32[24,40]) -> S: f16[2,24,40] {"
     " t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]); u[b,i,j] = t[b,i,j] * 0.25 + B[i,j];"
     " m[b,i] = max[j](u[b,i,j]); z[b,i] = sum[j](exp(u[b,i,j] - m[b,i]));"
     " S[b,i,j] = exp(u[b,i,j] - m[b,i]) / z[b,i]; }", false},
    {"row sums", "op f(A: f16[50,40], B: f16[72,40]) -> (C: f32[50,72], S: f32[50], Q: f32[50]) {"
     " C[m,n] += A[m,k] * B[n,k]; S[m] = sum[n](C[m,n]); Q[m] = sum[n](C[m,n] * C[m,n]); }", true},
    {"sums alone", "op f(A: f32[37,20], B: f32[20,45]) -> (S: f32[37], H: f32[37]) {"
     " C[m,n] += A[m,k] * B[k,n]; S[m] = sum[n](C[m,n]); H[m] = max[n](C[m,n]); }", true},
    {"column sums",
     "op f(A: f16[50,40], B: f16[40,72]) -> (C: f16[50,72], S: f32[72], Q: f32[72]) {"
     " t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n]; S[n] = sum[m](t[m,n]);"
     " Q[n] = sum[m](t[m,n] * t[m,n]); }", true},
    {"exponentials of columns",
     "op f(A: f16[2,45,24], B: f16[2,24,40]) -> (X: f32[2,40], Z: f32[2,40]) {"
     " t[b,m,n] += A[b,m,k] * B[b,k,n]; X[b,n] = max[m](t[b,m,n]);"
     " Z[b,n] = sum[m](exp(t[b,m,n] - X[b,n])); }", false},
    {"rmsnorm", "op f(A: f16[30,32], B: f16[32,88], g: f16[88], e: f32) -> Y: f16[30,88] {"
     " C[m,n] += A[m,k] * B[k,n]; s[m] = sum[n](C[m,n] * C[m,n]) / 88;"
     " Y[m,n] = C[m,n] * rsqrt(s[m] + e) * g[n]; }", false},
    {"layernorm and residual", "op f(A: f32[26,24], B: f32[60,24], R: f32[26,60], g: f32[60])"
     " -> (T: f32[26,60], Y: f32[26,60]) { C[m,n] += A[m,k] * B[n,k]; T[m,n] = C[m,n] + R[m,n];"
     " a[m] = sum[n](T[m,n]) / 60; v[m] = sum[n]((T[m,n] - a[m]) * (T[m,n] - a[m])) / 60;"
     " Y[m,n] = (T[m,n] - a[m]) * rsqrt(v[m] + 1.0) * g[n]; }", false},
    {"least sums", "op f(A: f32[30,12], B: f32[44,12]) -> (Y: f32[30,44]) {"
     " C[m,n] min= A[m,k] + B[n,k]; s[m] = max[n](C[m,n]); Y[m,n] = C[m,n] - s[m]; }", true},
    {"bytes", "op f(A: i8[40,64], B: i8[48,64]) -> (Y: i32[40,48]) {"
     " C[m,n] += i32(A[m,k]) * i32(B[n,k]); s[m] = max[n](C[m,n]); Y[m,n] = C[m,n] - s[m]; }",
     true},
    {"f64", "op f(A: f64[20,24], B: f64[24,40]) -> (Y: f64[20,40]) {"
     " C[m,n] += A[m,k] * B[k,n]; s[m] = sum[n](C[m,n]); Y[m,n] = C[m,n] * 40 - s[m]; }", true},
    {"few rows", "op f(A: f16[6,64], B: f16[64,96]) -> Y: f16[6,96] { C[m,n] += A[m,k] * B[k,n];"
     " s[m] = max[n](C[m,n]); Y[m,n] = C[m,n] - s[m]; }", true},
    {"few columns", "op f(A: f16[40,16], B: f16[3,16]) -> Y: f32[40,3] { C[m,n] += A[m,k] * B[n,k];"
     " s[m] = sum[n](C[m,n]); Y[m,n] = C[m,n] - 2 * s[m]; }", true},
};
enum { OPS = sizeof op / sizeof *op };

static void test_kernels(void **state) {
    (void)state;
    int each = effort_long() ? 12 : 1, failed = 0, ran[STATS_KINDS] = {0};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    const Device *dev = fixture_device(a, "a100");
    assert_int_equal(nvrtc_open(a, &d, NULL, "sm_80", &nvrtc), ST_OK);
    for (int i = 0; i < OPS; i++) {
        ArenaMark outer = arena_mark(a);
        KernelCase c = {0};
        const char *wrong = kernel_open_decided(&c, a, dev, op[i].text, NULL, JOINED);
        if (!wrong && (c.plan.n != 1 || !c.plan.group[0].stats)) wrong = "not one kernel group";
        if (wrong) print_error("%s: %s\n", op[i].name, wrong);
        failed += wrong != NULL;
        for (int s = 0; s < each * STATS_KINDS && !wrong; s++) {
            ArenaMark mark = arena_mark(a);
            KernelCase x = c;
            RProg own;
            x.plan.prog = &own;
            if (!stats_pick(&x, stats_kinds[s % STATS_KINDS], (uint64_t)(s * OPS + i))) continue;
            wrong = rprog_check(&x.plan.problem[0], x.dev, &x.plan.prog[0]);
            if (!wrong) wrong = kernel_emit(&x);
            if (!wrong) wrong = kernel_compile(&x, nvrtc, false);
            if (!wrong)
                wrong = kernel_run(&x, op[i].exact ? TE_FILL_INTEGERS : TE_FILL_REALS,
                                   (uint64_t)s + 1, op[i].exact);
            ran[s % STATS_KINDS]++;
            failed += wrong != NULL;
            if (wrong) print_error("%s\n", kernel_report(&x, op[i].name, wrong));
            arena_reset(a, mark);
        }
        arena_reset(a, outer);
    }
    assert_int_equal(failed, 0);
    for (int i = 0; i < STATS_KINDS; i++) assert_true(ran[i] > 0);
    arena_destroy(a);
}

/* ---- values that naive forms get wrong ---- */

typedef enum { REALS, RISING, FALLING, FAR, OUTLIER, NOTHING, LATE, INFINITE, NAN_LAST, DATA } Data;

static double value_at(Data data, int64_t c, int64_t n) {
    double wave = (double)((c * 37 + 11) % 101) / 50 - 1;
    switch (data) {
    case RISING: return 0.05 * (double)c + wave;
    case FALLING: return -0.05 * (double)c + wave;
    case FAR: return 4096 + wave;
    case OUTLIER: return c == 0 ? 1024 : wave;
    case NOTHING: return -(double)INFINITY;
    case LATE: return c < n - 2 ? -(double)INFINITY : wave;
    case INFINITE: return c == n / 2 ? (double)INFINITY : wave;
    case NAN_LAST: return c == n - 1 ? (double)NAN : wave;
    default: return 3 * wave;
    }
}

/* Row j of the second operand is a value and zeros, the first one's are 1 or 0.5 and zeros:
 * products are the values.  */
static TeData *values(Arena *a, const Te *te, Data data) {
    TeData *in = ARENA_ARRAY(a, TeData, 2);
    for (int side = 0; side < 2; side++) {
        const TeTensor *t = &te->tensor[side];
        int64_t rows = t->shape[0].value, k = t->shape[1].value;
        in[side] = (TeData){arena_calloc(a, te_tensor_bytes(t) + 16, 1), te_tensor_bytes(t)};
        for (int64_t i = 0; i < rows; i++) {
            double v = side ? value_at(data, i, rows) : i % 2 ? 0.5 : 1;
            size_t at = (size_t)(i * k * te_dtype_bytes(t->dtype));
            te_store(t->dtype, &(TeValue){.v = v}, (char *)in[side].data + at);
        }
    }
    return in;
}

enum { WHOLE_OR_PARTS = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3, IN_TURNS = 1 << 10 | 1 << 11 };

#define MOMENTS(n)                                                                                 \
    "op f(Q: %s[18,16], K: %s[" n ",16]) -> (Y: f32[18," n "], A: f32[18], V: f32[18]) {"          \
    " t[i,j] = sum[d](Q[i,d] * K[j,d]); A[i] = sum[j](t[i,j]) / " n ";"                            \
    " V[i] = sum[j]((t[i,j] - A[i]) * (t[i,j] - A[i])) / " n ";"                                   \
    " Y[i,j] = (t[i,j] - A[i]) * rsqrt(V[i] + 0.25); }"

/* Turns in which columns are counted are whole.  */
static const struct {
    const char *name, *text;
    Data last;
    int kinds;                /* bits */
} value_op[] = {
    {"softmax", "op f(Q: %s[18,16], K: %s[57,16]) -> (S: f32[18,57], Z: f32[18], H: f32[18]) {"
     " t[i,j] = sum[d](Q[i,d] * K[j,d]); H[i] = max[j](t[i,j]); Z[i] = sum[j](exp(t[i,j] - H[i]));"
     " S[i,j] = exp(t[i,j] - H[i]) / Z[i]; }", NAN_LAST, WHOLE_OR_PARTS | IN_TURNS},
    {"moments", MOMENTS("57"), OUTLIER, WHOLE_OR_PARTS},
    {"moments in turns", MOMENTS("48"), OUTLIER, IN_TURNS},
};
enum { VALUE_OPS = sizeof value_op / sizeof *value_op };

static void test_values(void **state) {
    (void)state;
    int failed = 0, ran = 0;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    const Device *dev = fixture_device(a, "a100");
    assert_int_equal(nvrtc_open(a, &d, NULL, "sm_80", &nvrtc), ST_OK);
    for (int kind = 0; kind < STATS_KINDS; kind++) {
        for (int i = 0; i < VALUE_OPS; i++) {
            if (!(value_op[i].kinds >> kind & 1)) continue;
            ArenaMark mark = arena_mark(a);
            KernelCase c;
            const char *type = stats_kinds[kind].matrix ? "f16" : "f32";
            const char *text = arena_printf(a, value_op[i].text, type, type);
            const char *wrong = kernel_open_decided(&c, a, dev, text, NULL, JOINED);
            bool found = !wrong && stats_pick(&c, stats_kinds[kind], (uint64_t)kind + 3);
            if (!wrong && !found) wrong = "no program of this kind";
            if (!wrong) wrong = kernel_emit(&c);
            if (!wrong) wrong = kernel_compile(&c, nvrtc, false);
            for (Data data = REALS; data <= value_op[i].last && !wrong; data++) {
                c.in = values(a, c.te, data);
                wrong = kernel_run(&c, TE_FILL_REALS, 1, false);
                if (wrong) wrong = arena_printf(a, "data %d: %s", data, wrong);
                ran++;
            }
            failed += wrong != NULL;
            if (wrong) print_error("%s\n", kernel_report(&c, value_op[i].name, wrong));
            arena_reset(a, mark);
        }
    }
    print_message("%d runs\n", ran);
    assert_int_equal(failed, 0);
    arena_destroy(a);
}

/* ---- random ops ---- */

static const char *some(Rng *rng, const char *const *of, uint32_t n) {
    return of[rng_below(rng, n)];
}

/* A product with any layout and types, maps of it, one or two reductions, what follows.  */
static const char *random_op(Arena *a, Rng *rng) {
    static const char *const types[] = {"f32", "f16", "bf16", "f16", "f64"};
    static const char *const outs[] = {"f32", "f16", "bf16"};
    static const char *const maps[] = {"t[b,i,j]", "t[b,i,j] * 0.5", "t[b,i,j] + R[i,j]",
                                       "max(t[b,i,j], g[j])", "t[b,i,j] / sqrt(f32(D))"};
    static const char *const sums[] = {"max[j](u[b,i,j])", "sum[j](u[b,i,j])",
                                       "sum[j](u[b,i,j] * u[b,i,j])", "min[j](u[b,i,j] * g[j])"};
    static const char *const seconds[] = {"sum[j](exp(u[b,i,j] - x[b,i]))", "max[j](u[b,i,j])",
                                          "sum[j]((u[b,i,j] - x[b,i]) * g[j])"};
    static const char *const ends[] = {"(u[b,i,j] - x[b,i]) / (abs(y[b,i]) + 1)",
                                       "min(abs(u[b,i,j]), 100.0) / y[b,i]",
                                       "u[b,i,j] + y[b,i] * 0.25", "g[j] * x[b,i] + t[b,i,j]"};
    bool ta = rng_below(rng, 3) == 0, tb = rng_below(rng, 2) == 0;
    bool stored = rng_below(rng, 3) == 0;
    const char *type = some(rng, types, 5);
    return arena_printf(
        a, "param B = %d, M = %d, N = %d, D = %d; op f(P: %s[B,%s], Q: %s[B,%s], R: f32[M,N],"
        " g: f32[N]) -> (Y: %s[B,M,N], y: f32[B,M]%s) { t[b,i,j] += P[b,%s] * Q[b,%s];"
        " u[b,i,j] = %s; x[b,i] = %s; y[b,i] = %s; Y[b,i,j] = %s;%s }",
        1 + (int)rng_below(rng, 3), 1 + (int)rng_below(rng, 40), 2 + (int)rng_below(rng, 70),
        1 + (int)rng_below(rng, 40), type, ta ? "D,M" : "M,D", type, tb ? "N,D" : "D,N",
        some(rng, outs, 3), stored ? ", C: f32[B,M,N]" : "", ta ? "d,i" : "i,d",
        tb ? "j,d" : "d,j", some(rng, maps, 5), some(rng, sums, 4), some(rng, seconds, 3),
        some(rng, ends, 4), stored ? " C[b,i,j] = u[b,i,j];" : "");
}

static void test_random(void **state) {
    (void)state;
    int programs = effort_long() ? 400 : 12, failed = 0, joined = 0;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    const Device *dev = fixture_device(a, "a100");
    assert_int_equal(nvrtc_open(a, &d, NULL, "sm_80", &nvrtc), ST_OK);
    for (int i = 0; i < programs; i++) {
        ArenaMark mark = arena_mark(a);
        Rng rng = {(uint64_t)i + 1};
        KernelCase c;
        const char *text = random_op(a, &rng);
        const char *wrong = kernel_open_decided(&c, a, dev, text, NULL, JOINED);
        if (!wrong) wrong = kernel_pick(&c, (uint64_t)i + 1);
        for (int g = 0; g < c.plan.n && !wrong; g++) {
            joined += c.plan.group[g].stats != NULL;
            wrong = rprog_check(&c.plan.problem[g], dev, &c.plan.prog[g]);
        }
        if (!wrong) wrong = kernel_emit(&c);
        if (!wrong) wrong = kernel_compile(&c, nvrtc, false);
        if (!wrong) wrong = kernel_run(&c, TE_FILL_REALS, (uint64_t)i + 1, false);
        failed += wrong != NULL;
        if (wrong) print_error("%s\n%s\n", text, kernel_report(&c, "random", wrong));
        arena_reset(a, mark);
    }
    print_message("%d programs, %d with rows of a product\n", programs, joined);
    assert_int_equal(failed, 0);
    assert_true(joined > programs / 2);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
