/* links: sim */
/* Row kernels on the simulator against te_eval: every kind of reduction, type, way to hold a
 * row.  */
#include "base/hash.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;              /* a name with '-' is no row group */
} problem[] = {
    {"softmax f32", "op f(X: f32[7,96]) -> Y: f32[7,96] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }"},
    {"softmax f16", "op f(X: f16[5,264]) -> Y: f16[5,264] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }"},
    {"softmax odd", "op f(X: bf16[3,257]) -> Y: f32[3,257] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }"},
    {"softmax fast", "op f(X: f32[2,1000]) -> Y: f32[2,1000] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])) @fast; Y[n,c] = exp(X[n,c] - m[n]) / z[n] @fast; }"},
    {"log softmax", "op f(X: f32[9,50]) -> Y: f32[9,50] { m[n] = max[c](X[n,c]);"
     " l[n] = log(sum[c](exp(X[n,c] - m[n]))); Y[n,c] = X[n,c] - m[n] - l[n]; }"},
    {"layernorm", "op f(X: f16[6,768], g: f32[768], b: f32[768], eps: f32) -> Y: f16[6,768] {"
     " mu[n] = sum[c](X[n,c]) / 768; v[n] = sum[c]((X[n,c] - mu[n]) * (X[n,c] - mu[n])) / 768;"
     " Y[n,c] = (X[n,c] - mu[n]) * rsqrt(v[n] + eps) * g[c] + b[c]; }"},
    {"layernorm stats", "op f(X: f32[5,33]) -> (Y: f32[5,33], M: f32[5], V: f16[5]) {"
     " M[n] = sum[c](X[n,c]) / 33; V[n] = sum[c]((X[n,c] - M[n]) * (X[n,c] - M[n])) / 33;"
     " Y[n,c] = (X[n,c] - M[n]) * rsqrt(V[n] + 1.0); }"},
    {"rmsnorm residual", "op f(X: bf16[4,512], R: bf16[4,512], g: bf16[512], eps: f32) ->"
     " (Z: bf16[4,512], Y: bf16[4,512]) { Z[n,c] = X[n,c] + R[n,c];"
     " v[n] = sum[c](Z[n,c] * Z[n,c]) / 512; Y[n,c] = Z[n,c] * rsqrt(v[n] + eps) * g[c]; }"},
    {"rmsnorm residual odd", "op f(X: f16[3,75], R: f16[3,75]) -> (Z: f16[3,75], Y: f16[3,75]) {"
     " Z[n,c] = X[n,c] + R[n,c]; v[n] = sum[c](Z[n,c] * Z[n,c]);"
     " Y[n,c] = Z[n,c] * rsqrt(v[n] + 1.0); }"},
    /* What is made of a row needs a column of a map, which is not there any more.  */
    {"column of a map behind", "op f(X: f32[7,40]) -> Y: f32[7] { Z[n,c] = X[n,c] * 2;"
     " Y[n] = max[c](X[n,c] - Z[n,c]) + (Z[n,0] else 3); }"},
    {"rmsnorm f8", "op f(X: f8e4m3[3,160]) -> Y: f8e5m2[3,160] {"
     " v[n] = sum[c](X[n,c] * X[n,c]); Y[n,c] = X[n,c] * rsqrt(v[n] + 1.0); }"},
    {"argmax", "op f(X: f32[6,70]) -> (I: i32[6], J: i32[6]) { I[n] = argmax[c](X[n,c]);"
     " J[n] = argmin[c](X[n,c]); }"},
    {"argmax i8", "op f(X: i8[9,130]) -> (I: i32[9], M: i8[9]) { I[n] = argmax[c](X[n,c]);"
     " M[n] = max[c](X[n,c]); }"},
    {"argmax two axes", "op f(X: f16[4,6,10]) -> I: i32[4] { I[n] = argmax[a,b](X[n,a,b]); }"},
    {"argmin turned -", "op f(X: i32[4,6,10]) -> I: i32[4] { I[n] = argmin[b,a](X[n,a,b]); }"},
    {"norm", "op f(X: f16[4,12,20]) -> Y: f16[4] { Y[b] = sqrt(sum[i,j](X[b,i,j] * X[b,i,j])); }"},
    {"norm of one", "op f(X: f32[40,50]) -> Y: f32 { Y[] = sqrt(sum[i,j](X[i,j] * X[i,j])); }"},
    {"many", "op f(X: f32[5,65]) -> (S: f32[5], P: f32[5], M: f32[5], L: f32[5], I: i32[5]) {"
     " S[n] += X[n,c]; P[n] *= X[n,c]; M[n] max= X[n,c]; L[n] min= X[n,c];"
     " I[n] = argmax[c](X[n,c]); }"},
    {"flags", "op f(X: f32[5,65], b: bool[5,65]) -> (A: bool[5], E: bool[5]) {"
     " A[n] = all[c](X[n,c] > -3.0 || b[n,c]); E[n] = any[c](b[n,c] && X[n,c] > 1.0); }"},
    {"i64", "op f(X: i64[3,77]) -> (S: i64[3], M: i64[3]) { S[n] += X[n,c]; M[n] max= X[n,c]; }"},
    {"f64", "op f(X: f64[3,90]) -> Y: f64[3,90] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }"},
    {"i8 sum", "op f(X: i8[7,256]) -> Y: i32[7] { Y[n] += X[n,c]; }"},
    {"u8 sum", "op f(X: u8[7,250]) -> Y: i32[7] { Y[n] += X[n,c]; }"},
    {"accum", "op f(X: f32[3,200]) -> Y: f64[3] { Y[n] = sum[c](X[n,c] * X[n,c]) @accum(f64); }"},
    {"short rows", "op f(X: f32[200,3]) -> Y: f32[200] { Y[n] += X[n,c]; }"},
    {"short softmax", "op f(X: f16[300,8]) -> Y: f16[300,8] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }"},
    {"one column -", "op f(X: f32[70,1]) -> Y: f32[70] { Y[n] += X[n,c]; }"},
    {"no columns -", "op f(X: f32[5,0]) -> (Y: f32[5], M: f32[5]) { Y[n] += X[n,c];"
     " M[n] max= X[n,c]; }"},
    {"long row", "op f(X: f32[1,20000]) -> Y: f32[1,20000] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }"},
    {"long sum", "op f(X: f16[2,30000]) -> Y: f32[2] { Y[n] += X[n,c]; }"},
    {"long argmax", "op f(X: bf16[2,9001]) -> (I: i32[2], Y: f32[2]) { I[n] = argmax[c](X[n,c]);"
     " Y[n] = sum[c](X[n,c]); }"},
    {"long rmsnorm", "op f(X: f16[2,8200], R: f16[2,8200]) -> (Z: f16[2,8200], Y: f16[2,8200]) {"
     " Z[n,c] = X[n,c] + R[n,c]; v[n] = sum[c](Z[n,c] * Z[n,c]);"
     " Y[n,c] = Z[n,c] * rsqrt(v[n] + 1.0); }"},
    {"attention rows", "op f(S: f32[2,3,5,40]) -> P: f16[2,3,5,40] { m[b,h,i] = max[j](S[b,h,i,j]);"
     " z[b,h,i] = sum[j](exp(S[b,h,i,j] - m[b,h,i]));"
     " P[b,h,i,j] = exp(S[b,h,i,j] - m[b,h,i]) / z[b,h,i]; }"},
    {"masked", "op f(S: f32[4,40], k: i32[4]) -> P: f32[4,40] {"
     " u[i,j] = j <= k[i] ? S[i,j] : -inf; m[i] = max[j](u[i,j]);"
     " z[i] = sum[j](exp(u[i,j] - m[i])); P[i,j] = exp(u[i,j] - m[i]) / z[i]; }"},
    {"cross entropy", "op f(X: f32[6,100], y: i32[6]) -> L: f32[6] { m[n] = max[c](X[n,c]);"
     " l[n] = log(sum[c](exp(X[n,c] - m[n])));"
     " t[n] = sum[c](c == y[n] ? X[n,c] : 0.0) where c in 0:100; L[n] = l[n] + m[n] - t[n]; }"},
    {"gemv", "op f(A: f16[30,200], x: f16[200]) -> y: f32[30] { y[m] = sum[k](A[m,k] * x[k]); }"},
    {"dot", "op f(X: f32[8,100], Y: f32[8,100]) -> D: f32[8] {"
     " D[n] = sum[c](X[n,c] * Y[n,c])"
     " / sqrt(sum[c](X[n,c] * X[n,c]) * sum[c](Y[n,c] * Y[n,c])); }"},
    {"strided", "op f(X: f32[6,40] strides(48,1)) -> Y: f32[6,40] strides(44,1) {"
     " s[n] = sum[c](X[n,c]); Y[n,c] = X[n,c] - s[n]; }"},
    {"reversed", "op f(X: f32[6,40]) -> Y: f32[6,40] { s[n] = sum[c](X[n,c]);"
     " Y[n,c] = X[n,39 - c] - s[n]; }"},
    {"turned output", "op f(X: f32[6,4,10]) -> Y: f32[6,10,4] { s[n] = sum[a,b](X[n,a,b]);"
     " Y[n,b,a] = X[n,a,b] - s[n]; }"},
    {"rows last", "op f(X: f32[10,6]) -> (Y: f32[6,10], S: f32[10]) { S[n] = max[c](X[n,c]);"
     " Y[c,n] = X[n,c] - S[n]; }"},
    {"three passes back", "op f(X: f32[4,60]) -> (A: f32[4,60], B: f32[4,60]) {"
     " s[n] = sum[c](X[n,c]); A[n,c] = X[n,c] * s[n]; t[n] = max[c](A[n,c]);"
     " B[n,c] = A[n,c] - t[n] + X[n,c]; }"},
    {"guarded", "op f(X: f32[5,64]) -> Y: f32[5,64] { s[n] = sum[c](X[n,c]);"
     " Y[n,c] = (X[n,c-1] else 0.0) - s[n] + (X[n,c+1] else 1.0); }"},
    {"mixed widths", "op f(X: f16[3,128], W: f64[3,128]) -> Y: f64[3,128] {"
     " s[n] = sum[c](X[n,c]); Y[n,c] = W[n,c] * s[n] + X[n,c]; }"},
    {"position", "op f(X: f32[5,64]) -> Y: i32[5,64] { i[n] = argmax[c](X[n,c]);"
     " Y[n,c] = c == i[n] ? 1 : 0; }"},
};
enum { PROBLEMS = sizeof problem / sizeof *problem, PLANS = 5 };

static bool is_row(const KernelCase *c) { return c->plan.group[c->plan.n - 1].row != NULL; }

/* Every kind of plan at least once: the best, and some drawn from the candidates.  */
static const char *run_plan(KernelCase *c, Nvrtc *nvrtc, uint64_t seed) {
    const char *wrong = kernel_pick(c, seed);
    for (int g = 0; g < c->plan.n && !wrong; g++) {
        wrong = rprog_check(&c->plan.problem[g], c->dev, &c->plan.prog[g]);
    }
    if (!wrong) wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, nvrtc, false);
    return wrong ? wrong : kernel_prove(c, seed + 1);
}

static void test_kernels(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    const char *only = getenv("ROW_CASE");
    Device *dev = fixture_device(a, "h200");
    Nvrtc *nvrtc;
    int failed = 0;
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    for (int i = 0; i < PROBLEMS; i++) {
        if (only && !strstr(problem[i].name, only)) continue;
        for (uint64_t seed = 0; seed < PLANS; seed++) {
            ArenaMark mark = arena_mark(a);
            KernelCase c;
            const char *wrong = kernel_open(&c, a, dev, problem[i].text, NULL);
            if (!wrong && !is_row(&c) && !strchr(problem[i].name, '-')) wrong = "not a row group";
            if (!wrong) wrong = run_plan(&c, nvrtc, seed);
            if (wrong) {
                failed++;
                print_error("%s\n", kernel_report(&c, problem[i].name, wrong));
                if (only) print_error("%s\n", c.program.source);
                break;
            }
            arena_reset(a, mark);
        }
    }
    assert_int_equal(failed, 0);
    arena_destroy(a);
}

/* ---- random chains of statements over the same rows ---- */

typedef struct {
    Rng rng;
    Buf body;
    int n;                    /* statements so far: v0, v1, ... */
    bool per_row[8];
} RowText;

/* A value at row n and column c.  */
static void element(RowText *c, int depth) {
    static const char *const op[] = {" + ", " - ", " * "};
    uint32_t pick = rng_below(&c->rng, depth > 0 ? 6 : 3);
    if (pick < 2 || c->n == 0) {
        buf_puts(&c->body, pick == 0 ? "X[n,c]" : pick == 1 ? "W[n,c]" : "g[c]");
        return;
    }
    if (pick == 2) {
        int i = (int)rng_below(&c->rng, (uint32_t)c->n);
        buf_printf(&c->body, c->per_row[i] ? "v%d[n]" : "v%d[n,c]", i);
        return;
    }
    buf_puts(&c->body, pick == 5 ? "max(" : "(");
    element(c, depth - 1);
    buf_puts(&c->body, pick == 5 ? ", " : op[rng_below(&c->rng, 3)]);
    element(c, depth - 1);
    buf_puts(&c->body, ")");
}

static void statement(RowText *c, bool output) {
    static const char *const red[] = {"sum", "max", "min"};
    uint32_t kind = rng_below(&c->rng, 2);
    c->per_row[c->n] = kind == 0;
    if (kind == 0) {
        buf_printf(&c->body, " v%d[n] = %s[c](", c->n, red[rng_below(&c->rng, 3)]);
        element(c, 2);
        buf_puts(&c->body, " + g[c]) / 8 + X[n,0];");
    } else {
        buf_printf(&c->body, " v%d[n,c] = ", c->n);
        element(c, 2);
        buf_puts(&c->body, output ? ";" : " where n in R, c in C;");
    }
    c->n++;
}

static const char *chain(Arena *a, uint64_t seed) {
    static const int sizes[] = {1, 3, 8, 33, 64, 100, 256, 520};
    static const char *const type[] = {"f32", "f16", "bf16"};
    RowText c = {.rng = {seed}, .body = buf_new(a)};
    Buf out = buf_new(a);
    int statements = 2 + (int)rng_below(&c.rng, 4);
    buf_printf(&out, "param R = %d, C = %d; op f(", 1 + (int)rng_below(&c.rng, 9),
               sizes[1 + rng_below(&c.rng, 7)]);
    buf_printf(&out, "X: %s[R,C], W: %s[R,C], g: f32[C]) -> (", type[rng_below(&c.rng, 3)],
               type[rng_below(&c.rng, 3)]);
    for (int i = 0, outputs = 0; i < statements; i++) {
        bool output = i + 1 == statements || rng_below(&c.rng, 2) == 0;
        statement(&c, output);
        if (!output) continue;
        buf_printf(&out, "%sv%d: %s%s", outputs++ ? ", " : "", i, type[rng_below(&c.rng, 3)],
                   c.per_row[i] ? "[R]" : "[R,C]");
    }
    buf_printf(&out, ") {%s }", buf_str(&c.body));
    return buf_str(&out);
}

static void test_chains(void **state) {
    (void)state;
    enum { TEXTS = 60, LONG_TEXTS = 2000 };
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Device *dev = fixture_device(a, "a100");
    Nvrtc *nvrtc;
    int rows = 0, wrongs = 0;
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    for (uint64_t seed = 1; seed <= (effort_long() ? LONG_TEXTS : TEXTS); seed++) {
        ArenaMark mark = arena_mark(a);
        KernelCase c;
        const char *text = chain(a, seed), *wrong = kernel_open(&c, a, dev, text, NULL);
        if (!wrong) rows += c.plan.group[0].row != NULL;
        if (!wrong) wrong = run_plan(&c, nvrtc, seed);
        if (wrong)
            print_error("seed %d: %s\n%s\n", (int)seed, kernel_report(&c, "chain", wrong), text);
        wrongs += wrong != NULL;
        arena_reset(a, mark);
    }
    assert_int_equal(wrongs, 0);
    assert_true(rows > TEXTS / 2);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels),
                                       cmocka_unit_test(test_chains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
