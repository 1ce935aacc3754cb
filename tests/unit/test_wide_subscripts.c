/* links: sim */
/* Subscripts that are tested and leave 32 bits: whatever kernel computes them finds nothing there,
 * also where their low 32 bits lie inside.  */
#include "effort.h"
#include "kernel_bench.h"
#include "te/access/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The program that is ranked first, and some others.  */
static void prove(const KernelBench *b, const char *text, Skeleton skeleton, int others) {
    ArenaMark mark = arena_mark(b->arena);
    bool seen = skeleton == SK_COUNT;
    for (int seed = 0; seed <= others; seed++) {
        KernelCase c;
        kernel_good(&c, text, kernel_open(&c, b->arena, b->dev, text, NULL));
        kernel_good(&c, text, kernel_pick(&c, (uint64_t)seed));
        kernel_good(&c, text, kernel_emit(&c));
        kernel_good(&c, text, kernel_compile(&c, b->nvrtc, false));
        kernel_good(&c, text, kernel_run(&c, TE_FILL_INTEGERS, 1, te_exact(c.te)));
        seen = seen || c.plan.prog[0].skeleton == skeleton;
        arena_reset(b->arena, mark);
    }
    if (!seen) fail_msg("another skeleton: %s", text);
}

static const struct {
    const char *text;
    Skeleton skeleton;        /* of one program at least; SK_COUNT: any */
} cases[] = {
    /* low bits inside at i = 128; between 2^31 and 2^32 before */
    {"op f(X: f16[200,32], W: f16[32,64]) -> Y: f16[160,64]"
     " { Y[i,j] = sum[k]((X[33554432*i + 7, k] else 0) * W[k,j]); }", SK_CONTRACT},
    {"op f(X: f32[1000], W: f32[32,24]) -> Y: f32[48,24]"
     " { Y[i,j] = sum[k]((X[4294967296*i + k] else 0) * W[k,j]); }", SK_CONTRACT},
    {"op f(X: f16[32,32], W: f16[32,32]) -> Y: f16[32,32]"
     " { Y[m,n] += (X[m, k*4294967296] else 0) * W[k,n]; }", SK_CONTRACT},
    {"op f(X: f16[32,32], W: f16[32,32]) -> Y: f16[32,32]"
     " { Y[m,n] += (X[m, 31 - k*1073741824] else 0) * W[k,n]; }", SK_CONTRACT},
    {"op f(X: f16[3,32,32], W: f16[3,32,32]) -> Y: f16[3,32,32]"
     " { Y[b,m,n] += (X[b*4294967296,m,k] else 0) * W[b,k,n]; }", SK_CONTRACT},
    {"op f(X: f16[2,9,12,16], K: f16[3,3,16,24]) -> Y: f16[2,9,12,24]"
     " { Y[n,h,w,f] += (X[n, h + 4294967296*n + r - 1, w + s - 1, c] else 0) * K[r,s,c,f]; }",
     SK_CONTRACT},
    {"op f(X: f16[2,9,12,16], K: f16[3,3,16,24]) -> Y: f16[2,9,12,24]"
     " { Y[n,h,w,f] += (X[n, h + 4294967296*r, w + s - 1, c] else 0) * K[r,s,c,f]; }", SK_CONTRACT},
    {"op f(X: f32[2,3,9,12], K: f32[8,3,3,3]) -> Y: f32[2,8,9,12]"
     " { Y[n,f,p,q] += (X[n, c, p + r - 1, q + 8589934592*n + s - 1] else 0) * K[f,c,r,s]; }",
     SK_CONTRACT},
    {"op f(X: f32[3,12,40]) -> Y: f32[3,12,40]"
     " { Y[n,h,w] max= X[n, h + 4294967296*n + r - 1, w + s - 1] else -inf"
     " where r in 3, s in 3; }", SK_WINDOW},
    {"op f(X: f32[3,12,40]) -> Y: f32[3,12,40]"
     " { Y[n,h,w] max= X[n, h + r - 1, w + 2147483648*n + s - 1] else -inf"
     " where r in 3, s in 3; }", SK_WINDOW},
    {"op f(X: f32[3,12,40]) -> Y: f32[3,12,40] {"
     " Y[n,h,w] = (X[n, h + 4294967296*n - 1, w] else 0) + (X[n, h + 4294967296*n, w] else 0); }",
     SK_COUNT},
    {"op f(X: f32[64,96]) -> Y: f32[96] { Y[c] = sum[n](X[n, c*4294967296] else 0); }", SK_COUNT},
    {"op f(X: f32[64,96]) -> Y: f32[96]"
     " { Y[c] = max[n](X[n*134217728, c] else -inf) where n in 64; }", SK_COUNT},
    {"op f(X: f32[40,36]) -> Y: f32[36,72] { Y[j,i] = X[i*67108864, j] else 0; }", SK_COUNT},
    {"op f(X: f32[40,36]) -> Y: f32[3,36,40] { Y[b,j,i] = X[i, j + 4294967296*b] else 0; }",
     SK_COUNT},
    {"op f(X: f32[40,32]) -> Y: f32[4,40,32] { Y[b,i,j] = X[i + 1073741824*b, j] else 1; }",
     SK_STREAM},
    {"op f(X: f32[40,64]) -> Y: f32[80,64] { S[i] = sum[j](X[i*107374183, j] else 2);"
     " Y[i,j] = (X[i*107374183, j] else 2) / S[i]; }", SK_COUNT},
    {"op f(X: i32[40,64]) -> Y: i32[80,64]"
     " { Y[i,j] = sum[r](r <= j ? (X[i*107374183, r] else 3) : 0) where r in 64; }", SK_COUNT},
    /* a constant takes them far below 0, and what is left without it far above */
    {"op f(X: f32[40,32]) -> Y: f32[40,32] { Y[i,j] = X[i*1000000007 - 5000000035, j] else 7; }",
     SK_STREAM},
    {"op f(X: f32[40,32]) -> Y: f32[32,40] { Y[j,i] = X[i*1000000007 - 5000000035, j] else 7; }",
     SK_COUNT},
    {"op f(X: f32[40,64]) -> Y: f32[40,64] { Y[i,j] = X[i*50331648 - 1509949440, j] else 7; }",
     SK_STREAM},
    {"op f(X: f32[40]) -> Y: f32[40,32] { Y[i,j] = X[j - i*67108864 + 2013265920] else 7; }",
     SK_COUNT},
    {"op f(X: f32[40,32], I: i32[40]) -> Y: f32[40,32]"
     " { Y[i,j] = X[(I[i] + i)*50331648 - 1509949440, j] else 7; }", SK_COUNT},
    {"op f(X: f16[40,32], I: i32[40], K: f16[32,24]) -> Y: f16[40,24]"
     " { Y[i,n] += (X[(I[i] + i)*50331648 - 1509949440, j] else 0) * K[j,n]; }", SK_CONTRACT},
    {"op f(X: f32[40,32]) -> Y: f32[40,32] {"
     " Y[i,j] = sum[r](X[i + r*2147483648 - 4294967296, j] else 0) where r in 9; }", SK_COUNT},
    {"op f(X: f32[3,12,40]) -> Y: f32[3,12,40]"
     " { Y[n,h,w] max= X[n, h + 4294967296*n + r - 4294967297, w + s - 1] else -inf"
     " where r in 3, s in 3; }", SK_WINDOW},
    {"op f(X: f32[40,64]) -> Y: f32[40,64] {"
     " S[i] = sum[r](X[i, r*67108864 - 2684354560] else 2) where r in 64;"
     " Y[i,j] = (X[i, j*67108864 - 2684354560] else 3) - S[i]; }", SK_COUNT},
    {"op f(X: i32[40,64]) -> Y: i32[40,64] { Y[i,j] = sum[r](r <= j ?"
     " (X[i, r*67108864 - 2684354560] else 3) : 0) where r in 64; }", SK_COUNT},
};

static void check_profile(const char *profile) {
    KernelBench b = kernel_bench(profile);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (effort_drawn((int)i, 2))
            prove(&b, cases[i].text, cases[i].skeleton, effort_long() ? 40 : 5);
    arena_destroy(b.arena);
}

static void on_ampere(void **state) {
    (void)state;
    check_profile("a100");
}

static void on_hopper(void **state) {
    (void)state;
    check_profile("h200");
}

static void on_turing(void **state) {
    (void)state;
    check_profile("t4");
}

/* Positions that need 64 bits themselves: what any program computes with them beside numbers of 32
 * bits compiles.  */
static const char *const far[] = {
    "op f(X: i8[2147483647]) -> Y: i8[2147483647] { Y[i] = X[i]; }",
    "op f(X: i8[2147483647,3]) -> Y: i8[2147483647,3]"
    " { S[n] = max[c](i32(X[n,c])); Y[n,c] = i8(i32(X[n,c]) - S[n]); }",
    "op f(X: f16[1610612741,8]) -> Y: f16[1610612741,8] { m[n] = max[c](X[n,c]);"
    " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
    "op f(X: f32[3,2147483645]) -> Y: f32[3,2147483645]"
    " { S[n] += X[n,c]; Y[n,c] = X[n,c] - S[n]; }",
    "op f(X: f32[3,2147483647]) -> Y: f32[2147483647] { Y[c] += X[n,c]; }",
    "op f(X: f32[2147483647,3]) -> Y: f32[3] { Y[c] += X[n,c]; }",
    "op f(X: f16[2147483647,5]) -> Y: f16[5,2147483647] { Y[b,a] = X[a,b]; }",
    "op f(X: f32[2147483647,5]) -> Y: f32[2147483647,5]"
    " { Y[i,j] = sum[r](r <= j ? X[i,r] : 0) where r in 5; }",
    "op f(X: f32[5,2147483647]) -> Y: f32[5,2147483647]"
    " { Y[j,i] = sum[r](r <= j ? X[r,i] : 0) where r in 5; }",
    "op f(X: f32[5,2147483647]) -> Y: f32[5,2147483647] { Y[h,w] max="
    " X[h + r - 1, w + s - 1] else -inf where r in 3, s in 3; }",
    "op f(A: f16[2147483647,8], B: f16[8,8]) -> C: f16[2147483647,8]"
    " { C[m,n] += A[m,k] * B[k,n]; }",
    "op f(A: f16[8,8], B: f16[8,2147483647]) -> C: f16[8,2147483647]"
    " { C[m,n] += A[m,k] * B[k,n]; }",
    "op f(A: f16[8,2147483640], B: f16[2147483640,8]) -> C: f16[8,8]"
    " { C[m,n] += A[m,k] * B[k,n]; }",
    "op f(A: f16[2147483647,2,8], B: f16[2147483647,8,2]) -> C: f16[2147483647,2,2]"
    " { C[b,m,n] += A[b,m,k] * B[b,k,n]; }",
};

static void far_positions(void **state) {
    (void)state;
    KernelBench b = kernel_bench("h200");
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        ArenaMark mark = arena_mark(b.arena);
        for (int seed = 0; seed <= (effort_long() ? 40 : 2); seed++) {
            KernelCase c;
            kernel_good(&c, far[i], kernel_open(&c, b.arena, b.dev, far[i], NULL));
            kernel_good(&c, far[i], kernel_pick(&c, (uint64_t)seed));
            kernel_good(&c, far[i], kernel_emit(&c));
            kernel_good(&c, far[i], kernel_compile(&c, b.nvrtc, false));
            arena_reset(b.arena, mark);
        }
    }
    arena_destroy(b.arena);
}

/* 32 bits are enough as long as every sum of terms fits, also behind the ends of indices.  */
static void widths(void **state) {
    static const struct {
        int64_t coef[2], c, beyond;
        bool wide;
    } table[] = {
        {{1, 1}, 0, 0, false},           {{1, 1}, INT32_MAX - 198, 0, false},
        {{1, 1}, INT32_MAX - 197, 0, true}, {{1, 1}, INT32_MAX - 198, 1, true},
        {{0, 1}, INT32_MAX - 99, 0, false}, {{-1, 1}, INT32_MIN + 99, 0, false},
        {{-1, 1}, INT32_MIN + 98, 0, true}, {{INT32_MAX, -INT32_MAX}, 0, 0, true},
        {{21691754, 0}, 0, 0, false},    {{21691754, 0}, 0, 1, true},
        {{(int64_t)1 << 61, 0}, 0, 0, true}, {{0, 0}, (int64_t)1 << 31, 0, true},
    };
    (void)state;
    TeStmt s = {.n_index = 2};
    for (int i = 0; i < 2; i++) s.index[i].hi = (TeExtent){.value = 100, .min = 100, .multiple = 1};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Affine f = {.coef = {table[i].coef[0], table[i].coef[1]}, .c = table[i].c};
        int64_t beyond[TE_MAX_INDICES] = {table[i].beyond, table[i].beyond};
        assert_int_equal(access_wide(&s, &f, beyond), table[i].wide);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths), cmocka_unit_test(on_turing), cmocka_unit_test(on_ampere),
        cmocka_unit_test(on_hopper), cmocka_unit_test(far_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
