/* links: sim */
/* Contractions of every kind, small and awkward, by several programs each: what the emitted kernels
 * compute on the simulator is bit for bit what the reference computes, and they have no fault.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "workers.h"


#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *name, *text;
} Small;

/* Matrix products: sizes, both operands straight or transposed, types.  */
#define A_N "[M,K]"
#define A_T "[K,M]"
#define B_N "[K,N]"
#define B_T "[N,K]"
#define AT_A_N "[m,k]"
#define AT_A_T "[k,m]"
#define AT_B_N "[k,n]"
#define AT_B_T "[n,k]"
#define PRODUCT(m, n, k, ta, tb, a, b, c)                                                          \
    {                                                                                              \
        a " * " b " " #m "x" #n "x" #k " " #ta #tb,                                                \
            "param M=" #m ", N=" #n ", K=" #k "; op f(A: " a A_##ta ", B: " b B_##tb               \
            ") -> C: " c "[M,N] { C[m,n] += A" AT_A_##ta " * B" AT_B_##tb "; }"                    \
    }
#define MATMUL(m, n, k, ta, tb) PRODUCT(m, n, k, ta, tb, "f32", "f32", "f32")

/* Convolutions: N, C, H, W, F, R, S and stride, padding, dilation.  */
#define SIZES(n, c, h, w, f, r, s, st, pad, dil)                                                   \
    "param N=" #n ", C=" #c ", H=" #h ", W=" #w ", F=" #f ", R=" #r ", S=" #s ", st=" #st          \
    ", pad=" #pad ", dil=" #dil "; let P = (H + 2*pad - dil*(R-1) - 1) / st + 1;"                  \
    "let Q = (W + 2*pad - dil*(S-1) - 1) / st + 1; "
#define NCHW(t, o, ...)                                                                            \
    {                                                                                              \
        "nchw " t " " #__VA_ARGS__, SIZES(__VA_ARGS__)                                             \
            "op f(X: " t "[N,C,H,W], K: " t "[F,C,R,S]) -> Y: " o "[N,F,P,Q] { Y[n,f,p,q] += "     \
            "(X[n,c,p*st+r*dil-pad,q*st+s*dil-pad] else 0) * K[f,c,r,s]; }"                        \
    }
#define NHWC(t, o, ...)                                                                            \
    {                                                                                              \
        "nhwc " t " " #__VA_ARGS__, SIZES(__VA_ARGS__)                                             \
            "op f(X: " t "[N,H,W,C], K: " t "[F,R,S,C]) -> Y: " o "[N,P,Q,F] { Y[n,p,q,f] += "     \
            "(X[n,p*st+r*dil-pad,q*st+s*dil-pad,c] else 0) * K[f,r,s,c]; }"                        \
    }

#define MNK(m, n, k) "param M=" #m ", N=" #n ", K=" #k "; "

static const Small table[] = {
    MATMUL(64, 48, 32, N, N), MATMUL(64, 48, 32, N, T), MATMUL(64, 48, 32, T, N),
    MATMUL(64, 48, 32, T, T), MATMUL(33, 17, 29, N, N), MATMUL(33, 17, 29, N, T),
    MATMUL(33, 17, 29, T, N), MATMUL(33, 17, 29, T, T), MATMUL(130, 68, 12, N, N),
    MATMUL(130, 68, 12, T, T), MATMUL(1, 64, 64, N, N), MATMUL(64, 1, 33, N, T),
    MATMUL(7, 1, 1, N, N), MATMUL(1, 1, 1, T, T), MATMUL(20, 24, 0, N, N),
    MATMUL(24, 16, 999, N, N), MATMUL(16, 24, 1024, T, N), MATMUL(96, 112, 8, N, N),
    PRODUCT(40, 24, 16, N, N, "f64", "f64", "f64"), PRODUCT(19, 23, 31, T, N, "f64", "f64", "f64"),
    PRODUCT(64, 64, 32, N, T, "f16", "f16", "f32"), PRODUCT(19, 23, 31, N, N, "f16", "f16", "f16"),
    PRODUCT(32, 40, 24, N, N, "bf16", "bf16", "bf16"),
    PRODUCT(32, 40, 32, N, T, "f8e4m3", "f8e4m3", "f32"),
    PRODUCT(17, 40, 24, T, N, "f8e5m2", "f8e5m2", "f16"),
    PRODUCT(32, 24, 20, N, N, "i64", "i64", "i64"), PRODUCT(33, 24, 20, N, N, "i32", "i32", "i32"),
    PRODUCT(32, 24, 20, T, T, "i16", "i16", "i32"), PRODUCT(64, 64, 64, N, T, "i8", "i8", "i32"),
    PRODUCT(48, 32, 64, N, T, "u8", "u8", "i32"), PRODUCT(32, 48, 64, N, T, "i8", "u8", "i32"),
    PRODUCT(19, 23, 36, N, T, "u8", "i8", "i32"), PRODUCT(19, 23, 31, N, N, "i8", "i8", "i32"),
    PRODUCT(32, 48, 40, N, T, "f16", "f32", "f16"),
    {"f64 sums of f32", MNK(32, 48, 40) "op f(A: f32[M,K], B: f32[N,K]) -> C: f64[M,N] {"
                        " C[m,n] = sum[k](A[m,k] * B[n,k]) @accum(f64); }"},
    {"i64 sums of i8", MNK(32, 48, 40) "op f(A: i8[M,K], B: i8[N,K]) -> C: i64[M,N] {"
                       " C[m,n] = sum[k](A[m,k] * B[n,k]) @accum(i64); }"},
    {"i8 as f32", MNK(33, 40, 32) "op f(A: f32[M,K], B: i8[N,K]) -> C: f32[M,N] {"
                  " C[m,n] += A[m,k] * f32(B[n,k]); }"},
    {"bytes as f16", MNK(32, 24, 19) "op f(A: u8[M,K], B: f8e4m3[K,N]) -> C: f32[M,N] {"
                     " C[m,n] += bf16(A[m,k]) * f16(B[k,n]); }"},
    {"padded i8 as f32", MNK(20, 24, 16) "op f(A: i8[M,K], B: f32[N,K]) -> C: f32[M,N] {"
                         " C[m,n] += f32(A[m,k-2] else 0) * B[n,k]; }"},
    {"batched", "param B=3, M=33, N=20, K=24; op f(A: f32[B,M,K], W: f32[B,K,N]) -> C: f32[B,M,N]"
                " { C[b,m,n] += A[b,m,k] * W[b,k,n]; }"},
    {"two batch axes", "param B=2, H=3, M=17, N=20, K=24; op f(A: f32[B,M,H,K], W: f32[B,N,H,K])"
                       " -> C: f32[B,H,M,N] { C[b,h,m,n] += A[b,m,h,k] * W[b,n,h,k]; }"},
    {"broadcast right", "param B=3, M=33, N=20, K=24; op f(A: f32[B,M,K], W: f32[K,N]) ->"
                        " C: f32[B,M,N] { C[b,m,n] += A[b,m,k] * W[k,n]; }"},
    {"broadcast left", "param B=3, M=33, N=20, K=24; op f(A: f32[M,K], W: f32[B,K,N]) ->"
                       " C: f32[B,M,N] { C[b,m,n] += A[m,k] * W[b,k,n]; }"},
    {"output permuted", "param B=3, M=32, N=20, K=24; op f(A: f32[B,M,K], W: f32[B,K,N]) ->"
                        " C: f32[N,B,M] { C[n,b,m] += A[b,m,k] * W[b,k,n]; }"},
    {"matrix vector", "param M=65, K=96; op f(A: f32[M,K], x: f32[K]) -> y: f32[M] {"
                      " y[m] += A[m,k] * x[k]; }"},
    {"one operand twice", "param M=40, K=24; op f(A: f32[M,K]) -> C: f32[M,M] {"
                          " C[m,n] += A[m,k] * A[n,k]; }"},
    {"strides", MNK(20, 20, 12) "op f(A: f32[M,K] strides(20,1), B: f32[K,N] strides(33,1)) ->"
                " C: f32[M,N] strides(24,1) { C[m,n] += A[m,k] * B[k,n]; }"},
    {"k in the middle", MNK(20, 24, 16) "op f(A: f32[M,40], B: f32[40,N]) -> C: f32[M,N] {"
                        " C[m,n] = sum[k](A[m,k] * B[k,n]) where k in 7:39; }"},
    {"two k axes", "param M=20, N=24, K=6, L=4; op f(A: f32[M,K,L], B: f32[L,K,N]) -> C: f32[M,N]"
                   " { C[m,n] += A[m,k,l] * B[l,k,n]; }"},
    {"tensor times matrix", "param I=6, J=7, L=8, K=9; op f(A: f32[I,K,J], B: f32[K,L]) ->"
                            " C: f32[I,J,L] { C[i,j,l] += A[i,k,j] * B[k,l]; }"},
    NCHW("f32", "f32", 2, 4, 9, 9, 8, 3, 3, 1, 1, 1),
    NCHW("f32", "f32", 2, 4, 11, 13, 8, 3, 3, 2, 1, 1),
    NCHW("f32", "f32", 1, 4, 9, 9, 6, 3, 3, 1, 2, 2),
    NCHW("f32", "f32", 2, 8, 6, 6, 8, 1, 1, 1, 0, 1),
    NCHW("f32", "f32", 1, 3, 14, 14, 16, 7, 7, 2, 3, 1),
    NCHW("i8", "i32", 1, 8, 7, 7, 8, 3, 3, 1, 1, 1),
    NHWC("f32", "f32", 2, 4, 9, 9, 8, 3, 3, 1, 1, 1),
    NHWC("f32", "f32", 1, 32, 6, 6, 32, 3, 3, 1, 1, 1),
    NHWC("f32", "f32", 2, 8, 9, 9, 8, 3, 3, 2, 1, 1),
    NHWC("f32", "f32", 2, 3, 9, 9, 8, 3, 3, 1, 1, 1),
    NHWC("f16", "f16", 2, 8, 9, 9, 8, 3, 3, 1, 1, 1),
    NHWC("i8", "i32", 1, 32, 6, 6, 16, 3, 3, 1, 1, 1),
    {"conv 1-d", "param N=2, C=5, W=20, F=6, S=3; op f(X: f32[N,C,W], K: f32[F,C,S]) ->"
                 " Y: f32[N,F,W] { Y[n,f,q] += (X[n,c,q+s-1] else 0) * K[f,c,s]; }"},
    {"conv 3-d", "param N=1, C=3, D=5, H=6, W=7, F=4, R=3; op f(X: f32[N,C,D,H,W],"
                 " K: f32[F,C,R,R,R]) -> Y: f32[N,F,D,H,W] { Y[n,f,d,p,q] +="
                 " (X[n,c,d+t-1,p+r-1,q+s-1] else 0) * K[f,c,t,r,s]; }"},
    {"conv in groups", "param N=2, G=3, C=4, H=6, W=6, F=5, R=3; op f(X: f32[N,G,C,H,W],"
                       " K: f32[G,F,C,R,R]) -> Y: f32[N,G,F,H,W] { Y[n,g,f,p,q] +="
                       " (X[n,g,c,p+r-1,q+s-1] else 0) * K[g,f,c,r,s]; }"},
    {"conv transposed", "param N=2, C=4, H=5, W=5, F=6, R=3, st=2; let P = H*st; let Q = W*st;"
                        "op f(X: f32[N,C,H,W], K: f32[C,F,R,R]) -> Y: f32[N,F,P,Q] { Y[n,f,p,q] +="
                        " ((p+1-r) % st == 0 && (q+1-s) % st == 0 ?"
                        " (X[n,c,(p+1-r)/st,(q+1-s)/st] else 0) : 0) * K[c,f,r,s]; }"},
    {"depthwise", "param N=2, C=6, H=9, W=9, R=3; op f(X: f32[N,C,H,W], K: f32[C,R,R]) ->"
                  " Y: f32[N,C,H,W] { Y[n,c,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[c,r,s]; }"},
    {"capsules", "param N=2, P=3, Q=3, C=3, F=4, R=3, M=4, V=4, T=4; op f(X: f32[N,5,5,C,M,T],"
                 " K: f32[R,R,C,F,T,V]) -> Y: f32[N,P,Q,F,M,V] { Y[n,p,q,f,i,j] +="
                 " X[n,p+r,q+s,c,i,t] * K[r,s,c,f,t,j]; }"},
    {"bias, residual, cast", MNK(33, 40, 24)
     "op f(A: f16[M,K], W: f16[N,K], bias: f16[N], R: f16[M,N]) -> Y: f16[M,N] {"
     " t[m,n] += A[m,k] * W[n,k]; u[m,n] = t[m,n] + bias[n]; Y[m,n] = max(u[m,n], 0) + R[m,n]; }"},
    {"three outputs", MNK(32, 40, 24)
     "op f(A: f32[M,K], W: f32[N,K], bias: f32[N]) -> (Y: f32[M,N], Z: f16[N,M], S: i8[M,N]) {"
     " t[m,n] += A[m,k] * W[n,k]; Y[m,n] = t[m,n] + bias[n]; Z[n,m] = Y[m,n] * 2.0;"
     " S[m,n] = i8(t[m,n]); }"},
    {"scaled i8", MNK(32, 48, 64)
     "op f(A: i8[M,K], B: i8[N,K], s: f32[N]) -> Y: f16[M,N] { acc[m,n] += A[m,k] * B[n,k];"
     " Y[m,n] = f32(acc[m,n]) * s[n]; }"},
    {"scalars", MNK(20, 24, 16)
     "op f(A: f32[M,K], B: f32[K,N], a: f32, C: f32[M,N], b: f32) -> Y: f32[M,N] {"
     " t[m,n] += A[m,k] * B[k,n]; Y[m,n] = a * t[m,n] + b * C[m,n]; }"},
    {"four-bit weights", MNK(32, 48, 64)
     "op f(A: f32[M,K], P: u8[K/2,N], s: f32[N]) -> Y: f32[M,N] { Y[m,n] = sum[k](A[m,k] *"
     " ((f32(k % 2 == 0 ? P[k/2,n] % 16 : P[k/2,n] / 16) - 8.0) * s[n])); }"},
    {"eight-bit weights", MNK(33, 48, 60)
     "op f(A: f16[M,K], P: i8[N,K], s: f32[N]) -> Y: f32[M,N] {"
     " Y[m,n] = sum[k](A[m,k] * (f32(P[n,k]) * s[n])); }"},
    {"max plus", MNK(33, 20, 29)
     "op f(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] max= A[m,k] + B[k,n]; }"},
    {"min plus", MNK(32, 20, 29)
     "op f(A: i32[M,K], B: i32[K,N]) -> C: i32[M,N] { C[m,n] min= A[m,k] + B[k,n]; }"},
    {"distances", MNK(33, 20, 29) "op f(A: f32[M,K], B: f32[N,K]) -> C: f32[M,N] {"
                  " C[m,n] = sum[k]((A[m,k] - B[n,k]) * (A[m,k] - B[n,k])); }"},
    {"any and all", MNK(20, 20, 29)
     "op f(A: bool[M,K], B: bool[K,N]) -> (C: bool[M,N], D: bool[M,N]) {"
     " C[m,n] = any[k](A[m,k] && B[k,n]); D[m,n] = all[k](A[m,k] || B[k,n]); }"},
    {"products", MNK(20, 20, 5)
     "op f(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] *= A[m,k] + B[k,n]; }"},
    {"a constant beside the product", MNK(20, 20, 9)
     "op f(A: i32[M,K], B: i32[K,N]) -> C: i32[M,N] { C[m,n] = sum[k](A[m,k] * B[k,n] + 1); }"},
    {"chain", "param M=24, N=20, K=16, L=12; op f(A: f32[M,K], B: f32[K,N], D: f32[N,L]) ->"
              " C: f32[M,L] { t[m,n] += A[m,k] * B[k,n]; C[m,l] += t[m,n] * D[n,l]; }"},
    {"attention without softmax", "param B=2, M=16, N=12, D=8; op f(Q: f32[B,M,D], K: f32[B,N,D],"
     " V: f32[B,N,D]) -> O: f32[B,M,D] { s[b,m,n] += Q[b,m,d] * K[b,n,d];"
     " r[b,m,n] = max(s[b,m,n], 0); O[b,m,e] += r[b,m,n] * V[b,n,e]; }"},
};
enum { CASES = sizeof table / sizeof *table };

typedef struct {
    const char *profile, *arch;           /* arch: another than the profile's own */
    int plans;                /* the best by the model, then random ones; one is drawn */
    uint64_t seed;
    Nvrtc *nvrtc;
    int ran[CASES];
} Check;

typedef struct {
    Check *check;
    Arena *arena;
    int i;
    const char *wrong;
} Task;

static const char *run_plan(Task *t, const Device *dev, int plan) {
    const Check *c = t->check;
    const Small *small = &table[t->i];
    KernelCase k;
    const char *wrong = kernel_open(&k, t->arena, dev, small->text, NULL);
    uint64_t seed = c->seed + (uint64_t)(100 * t->i + plan);
    if (!wrong) wrong = kernel_pick(&k, plan == 0 ? 0 : seed);
    if (!wrong) wrong = kernel_emit(&k);
    if (!wrong) wrong = kernel_compile(&k, c->nvrtc, false);
    if (!wrong) wrong = kernel_run(&k, TE_FILL_INTEGERS, seed, true);
    return wrong ? kernel_report(&k, small->name, wrong) : NULL;
}

static void run_task(Task *t) {
    Device *dev;
    Diag d = diag_new(t->arena);
    if (hal_profile_find(t->arena, &d, t->check->profile, "profiles", NULL, &dev)) {
        t->wrong = "no profile";
        return;
    }
    if (t->check->arch) {
        dev->arch = t->check->arch;
        dev->cc_major = 7;
        dev->cc_minor = 5;
    }
    for (int plan = 0; plan < t->check->plans && !t->wrong; plan++) {
        if (!effort_drawn(t->i + plan, t->check->plans)) continue;
        t->wrong = run_plan(t, dev, plan);
        t->check->ran[t->i]++;
    }
}

static const char *check_one(void *user, Arena *a, int i) {
    Task t = {.check = user, .arena = a, .i = i};
    run_task(&t);
    return t.wrong;
}

static void check_all(const char *profile, const char *arch, int plans, uint64_t seed) {
    static Check c;
    Arena *a = arena_create(NULL);
    assert_non_null(a);
    c = (Check){.profile = profile, .arch = arch, .plans = plans, .seed = seed};
    Diag d = diag_new(a);
    if (nvrtc_open(a, &d, NULL, arch, &c.nvrtc) != ST_OK) fail_msg("%s", d.messages[0].message);
    assert_int_equal(workers_check(CASES, check_one, &c), 0);
    for (int i = 0; i < CASES; i++) assert_true(c.ran[i] > 0);
    arena_destroy(a);
}

static void check_h200(void **state) {
    (void)state;
    check_all("h200", NULL, 3, 1);
}

/* Staged loads only.  */
static void check_sm75(void **state) {
    (void)state;
    check_all("v100", "sm_75", 1, 2);
}

/* Limits that make odd tiles common.  */
static void check_tiny(void **state) {
    (void)state;
    check_all("tiny", NULL, 1, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_h200),
        cmocka_unit_test(check_sm75),
        cmocka_unit_test(check_tiny),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
