/* links: driver */
/* Products that read copies of their operands (split `relaid`): right on the simulator against
 * te_eval, in every type that takes part; chosen where the model says so.  LONG=1 runs more
 * programs of each.  */
#include "base/hash.h"
#include "driver/pipeline/compile.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *name, *text;
    int kernels;
    bool exact;
} op[] = {
    {"conv2d", "op f(X: f16[2,8,7,9], W: f16[12,8,3,3]) -> Y: f16[2,12,7,9] {"
     " Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f,c,r,s]; }", 3, false},
    {"strides and an epilogue", "op f(X: bf16[2,16,9,9], W: bf16[9,16,3,3], b: f32[9])"
     " -> Y: bf16[2,9,5,5] { t[n,f,p,q] += (X[n,c,2*p+r-1,2*q+s-1] else 0) * W[f,c,r,s];"
     " Y[n,f,p,q] = max(t[n,f,p,q] + b[f], 0); }", 3, false},
    {"odd channels last", "op f(X: f16[2,5,6,13], W: f16[9,3,3,13]) -> Y: f16[2,5,6,9] {"
     " Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]; }", 3, false},
    {"groups", "op f(X: f16[2,16,5,7], W: f16[2,8,8,3,3]) -> Y: f16[2,2,8,5,7] {"
     " Y[n,g,f,p,q] += (X[n,g*8+c,p+r-1,q+s-1] else 0) * W[g,f,c,r,s]; }", 3, false},
    {"odd matrices", "op f(A: f16[33,21], B: f16[21,27]) -> C: f32[33,27] {"
     " C[m,n] += A[m,k] * B[k,n]; }", 3, true},
    {"a tested operand", "op f(A: f16[33,21], B: f16[21,32]) -> C: f32[33,32] {"
     " C[m,n] += A[m,k] * B[k,n]; }", 2, true},
    {"batches", "op f(A: f16[3,17,13], B: f16[3,19,13]) -> C: f32[3,17,19] {"
     " C[b,m,n] += A[b,m,k] * B[b,n,k]; }", 3, true},
    {"bytes", "op f(A: i8[20,30], B: i8[24,30]) -> C: i32[20,24] {"
     " C[m,n] += i32(A[m,k]) * B[n,k]; }", 3, true},
    {"unsigned bytes", "op f(X: u8[2,16,6,5], W: i8[8,16,3,3]) -> Y: i32[2,8,6,5] {"
     " Y[n,f,p,q] += i32(X[n,c,p+r-1,q+s-1] else 0) * W[f,c,r,s]; }", 3, true},
    {"f8", "op f(A: f8e4m3[20,45], B: f8e4m3[24,45]) -> C: f32[20,24] {"
     " C[m,n] += A[m,k] * B[n,k]; }", 3, false},
    {"bytes across", "op f(A: i8[20,32], B: i8[32,48]) -> C: i32[20,48] {"
     " C[m,n] += A[m,k] * B[k,n]; }", 2, true},
    {"TF32 across", "op f(A: f32[16,20], B: f32[16,24]) -> C: f32[20,24] {"
     " C[m,n] += A[k,m] * B[k,n] @tf32; }", 3, true},
    {"i16", "op f(A: i16[20,11], B: i16[24,11]) -> C: i32[20,24] {"
     " C[m,n] += A[m,k] * B[n,k]; }", 3, true},
    {"two sizes", "op f(A: f32[20,11], B: f16[24,11]) -> C: f32[20,24] {"
     " C[m,n] += A[m,k] * B[n,k]; }", 3, true},
    {"with itself", "op f(A: f16[30,13]) -> C: f32[30,30] { C[i,j] += A[i,k] * A[j,k]; }", 2, true},
    {"strides", "op f(A: f16[20,16] strides(17,1), B: f16[24,16]) -> C: f32[20,24] {"
     " C[m,n] += A[m,k] * B[n,k]; }", 2, true},
    {"a product of a product", "op f(A: f16[20,16], B: f16[16,21], C: f16[21,24])"
     " -> (T: f16[20,21], Z: f32[20,24]) { T[m,n] += A[m,k] * B[k,n];"
     " Z[m,j] += T[m,n] * C[n,j]; }", 4, false},
    {"behind its maker", "op f(X: f16[2,8,5,7], W: f16[8,8,3,3], V: f16[8,8,3,3])"
     " -> Z: f16[2,8,5,7] { Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f,c,r,s]"
     " where p in 0:5, q in 0:7 @type(f16);"
     " Z[n,f,p,q] += (Y[n,c,p+r-1,q+s-1] else 0) * V[f,c,r,s]; }", 4, false},
};
enum { OPS = sizeof op / sizeof *op };

static const char *prove(KernelCase *c, Nvrtc *nvrtc, bool exact, uint64_t seed) {
    const char *wrong = kernel_pick(c, seed);
    if (!wrong) wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, nvrtc, false);
    if (!wrong)
        wrong = kernel_run(c, exact ? TE_FILL_INTEGERS : TE_FILL_REALS, seed + 1, exact);
    return wrong;
}

static void kernels_are_right(void **state) {
    (void)state;
    int each = effort_long() ? 16 : 1, failed = 0;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    const Device *dev = fixture_device(a, "rtx4090");
    assert_int_equal(nvrtc_open(a, &d, NULL, "sm_89", &nvrtc), ST_OK);
    for (int i = 0; i < OPS; i++) {
        ArenaMark outer = arena_mark(a);
        KernelCase c = {0};
        const char *wrong = kernel_open_decided(&c, a, dev, op[i].text, NULL, RELAID);
        if (!wrong && c.plan.n != op[i].kernels)
            wrong = arena_printf(a, "%d kernel groups", c.plan.n);
        if (wrong) print_error("%s: %s\n", op[i].name, wrong);
        failed += wrong != NULL;
        for (int s = 0; s < each && !wrong; s++) {
            ArenaMark mark = arena_mark(a);
            KernelCase x = c;
            x.plan.prog = ARENA_ARRAY(a, RProg, c.plan.n);
            wrong = prove(&x, nvrtc, op[i].exact, (uint64_t)(s * OPS + (s ? i : 0)));
            failed += wrong != NULL;
            if (wrong) print_error("%s\n", kernel_report(&x, op[i].name, wrong));
            arena_reset(a, mark);
        }
        arena_reset(a, outer);
    }
    assert_int_equal(failed, 0);
    arena_destroy(a);
}

/* ---- random products ---- */

static const char *random_type(Rng *rng, const char **sum) {
    static const char *const type[] = {"f16", "bf16", "f8e4m3", "i8", "u8", "i16"};
    uint32_t i = rng_below(rng, 6);
    *sum = i < 3 ? "f32" : "i32";
    return type[i];
}

static const char *random_matmul(Arena *a, Rng *rng) {
    static const char *const left[] = {"[B,M,K]", "b,m,k", "[B,K,M]", "b,k,m"};
    static const char *const right[] = {"[B,K,N]", "b,k,n", "[B,N,K]", "b,n,k"};
    const char *sum, *type = random_type(rng, &sum);
    uint32_t x = 2 * rng_below(rng, 2), y = 2 * rng_below(rng, 2), b = 1 + rng_below(rng, 3);
    uint32_t m = 5 + rng_below(rng, 40), n = 5 + rng_below(rng, 40), k = 8 + rng_below(rng, 40);
    return arena_printf(a, "param B = %u, M = %u, N = %u, K = %u; op f(X: %s%s, Y: %s%s)"
                        " -> Z: %s[B,M,N] { Z[b,m,n] += X[%s] * Y[%s]; }", b, m, n, k, type,
                        left[x], type, right[y], sum, left[x + 1], right[y + 1]);
}

static const char *random_conv(Arena *a, Rng *rng) {
    const char *sum, *type = random_type(rng, &sum);
    uint32_t r = 1 + 2 * rng_below(rng, 2), stride = 1 + rng_below(rng, 2);
    bool last = rng_below(rng, 2), weight = rng_below(rng, 2);
    uint32_t n = 1 + rng_below(rng, 2), c = 8 + rng_below(rng, 20), f = 4 + rng_below(rng, 12);
    uint32_t h = 3 + rng_below(rng, 7), w = 3 + rng_below(rng, 7);
    return arena_printf(a, "param N = %u, C = %u, H = %u, W = %u, F = %u, R = %u, T = %u;"
                        " let P = (H - 1) / T + 1; let Q = (W - 1) / T + 1;"
                        " op f(X: %s%s, K: %s%s) -> Y: %s[N,F,P,Q] {"
                        " Y[n,f,p,q] += (X[%s] else 0) * K[%s]; }", n, c, h, w, f, r, stride,
                        type, last ? "[N,H,W,C]" : "[N,C,H,W]",
                        type, weight ? "[F,R,R,C]" : "[F,C,R,R]", sum,
                        last ? "n,p*T+r-R/2,q*T+s-R/2,c" : "n,c,p*T+r-R/2,q*T+s-R/2",
                        weight ? "f,r,s,c" : "f,c,r,s");
}

/* Any programs of any copies and their product give what the op does, bit for bit.  */
static void random_products_are_right(void **state) {
    (void)state;
    int n = effort_long() ? 200 : 8, copied = 0, failed = 0;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    const Device *dev = fixture_device(a, "rtx4090");
    assert_int_equal(nvrtc_open(a, &d, NULL, "sm_89", &nvrtc), ST_OK);
    for (int i = 0; i < n; i++) {
        ArenaMark mark = arena_mark(a);
        Rng rng = {(uint64_t)i + 1};
        KernelCase c = {0};
        const char *text = rng_below(&rng, 2) ? random_matmul(a, &rng) : random_conv(a, &rng);
        const char *wrong = kernel_open_decided(&c, a, dev, text, NULL, RELAID);
        copied += !wrong && c.normal->n_stmt > 1;
        if (!wrong) wrong = prove(&c, nvrtc, true, (uint64_t)i + 1);
        failed += wrong != NULL;
        if (wrong) print_error("%s\n%s\n", text, kernel_report(&c, "random", wrong));
        arena_reset(a, mark);
    }
    assert_int_equal(failed, 0);
    assert_true(copied > n / 4);
    arena_destroy(a);
}

/* The narrowest of the widest accesses that operands of products allow, in bytes.  */
static int narrowest(Arena *a, const Device *dev, const char *text, unsigned taken) {
    KernelCase c = {0};
    int least = 16;
    assert_null(kernel_open_decided(&c, a, dev, text, NULL, taken));
    for (int g = 0; g < c.plan.n; g++) {
        const Problem *p = &c.plan.problem[g];
        for (int side = 0; p->contraction && side < p->n_operand; side++) {
            const ROperand *o = &p->op[side];
            int bytes = (o->vec_k > o->vec_mn ? o->vec_k : o->vec_mn) * o->bytes;
            if (bytes < least) least = bytes;
        }
    }
    return least;
}

/* What is copied could be read by less than 4 bytes only, or across, and is read 16 bytes at once
 * then.  */
static void accesses_get_wide(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h200");
    for (int i = 0; i < OPS; i++) {
        int before = narrowest(a, dev, op[i].text, USUAL);
        int after = narrowest(a, dev, op[i].text, RELAID);
        bool across = strstr(op[i].name, "across");
        if ((before >= 4) != across || after < 16)
            fail_msg("%s: %d, %d bytes", op[i].name, before, after);
    }
    arena_destroy(a);
}

/* Zeros behind the end of a dimension whose neighbours lie one after the other: no vector may begin
 * before that end and go on behind it.  */
static void vectors_end_with_their_tensor(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "rtx4090");
    for (int n = 26; n <= 27; n++) {
        KernelCase c = {0};
        const char *text = arena_printf(a, "op f(X: f16[21,%d]) -> Y: f16[%d,24] {"
                                        " Y[n,k] = X[k,n] else 0 where k in 0:24; }", n, n);
        assert_null(kernel_open(&c, a, dev, text, NULL));
        int most = 0;
        for (int i = 0; i < c.set[0].n; i++) {
            const RProg *r = &c.set[0].prog[i];
            if (r->skeleton == SK_PERMUTE && r->load[0].vec > most) most = r->load[0].vec;
        }
        assert_int_equal(most, n % 2 ? 1 : 2);
    }
    arena_destroy(a);
}

static PlanSet planned(Arena *a, const char *text, const char *device) {
    Diag d = diag_new(a);
    Te *te;
    PlanSet set;
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
    assert_int_equal(te_parse(a, &d, diag_text("t.te", text), NULL, NULL, &te), ST_OK);
    assert_int_equal(compile_plan(a, &d, &(PlanRequest){te, fixture_device(a, device), &o}, &set),
                     ST_OK);
    return set;
}

static double predicted(const PlanSet *set) {
    double us = 0;
    for (int g = 0; g < set->n_group; g++) us += set->plans[g].ranked[0].estimate.us;
    return us;
}

/* The model decides: gathers of many 2-byte elements are worth a copy, few are not.  */
static void the_model_decides(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    static const char conv[] = "op f(X: f16[%d,256,14,14], W: f16[%d,256,3,3])"
                               " -> Y: f16[%d,%d,14,14] {"
                               " Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f,c,r,s]; }";
    PlanSet large = planned(a, arena_printf(a, conv, 128, 256, 128, 256), "h200");
    assert_int_equal(decided(large.normal), PACKED);
    assert_int_equal(large.n_group, 3);
    assert_non_null(strstr(large.decisions, "decisions: Y packed\n  3 kernels in "));
    assert_int_equal(large.plans[0].ranked[0].prog.skeleton, SK_PERMUTE);
    for (int side = 0; side < 2; side++) {
        const Mover *m = &large.dev->mover[large.plans[2].ranked[0].prog.load[side].mover];
        assert_true(m->async && m->granule == 16);
    }
    PlanSet small = planned(a, arena_printf(a, conv, 1, 16, 1, 16), "h200");
    assert_int_equal(decided(small.normal), USUAL);
    assert_null(small.decisions);
    /* What only units of 16 bits take along N, beside that which they do not.  */
    static const char product[] = "op f(A: %s[%d,%d], B: %s[%d,%d]) -> C: %s[%d,%d] {"
                                  " C[m,n] += A[m,k] * B[k,n] %s; }";
    static const struct {
        const char *type, *out, *note;
        int n;
        unsigned decided;
    } row[] = {{"f32", "f32", "@tf32", 4096, PACKED}, {"i8", "i32", "", 4096, PACKED},
               {"f8e4m3", "f32", "", 4096, PACKED},   {"f32", "f32", "@tf32", 256, USUAL},
               {"f16", "f32", "", 4096, USUAL},       {"f32", "f32", "", 4096, USUAL}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int n = row[i].n;
        PlanSet set = planned(a, arena_printf(a, product, row[i].type, n, n, row[i].type, n, n,
                                              row[i].out, n, n, row[i].note), "h200");
        assert_int_equal(decided(set.normal), row[i].decided);
        if (row[i].decided == USUAL) continue;
        const RProg *r = &set.plans[set.n_group - 1].ranked[0].prog;
        assert_int_equal(set.dev->unit[r->unit].scope, SCOPE_WARPGROUP);
    }
    arena_destroy(a);
}

/* No bound that ends planning early is above what planning would find.  */
static void bounds_are_bounds(void **state) {
    (void)state;
    static const char *const device[] = {"h200", "a100", "rtx4090"};
    Arena *a = arena_create(NULL);
    for (int i = 0; i < OPS * 3; i++) {
        PlanSet set = planned(a, op[i / 3].text, device[i % 3]);
        double least = 0;
        for (int g = 0; g < set.n_group; g++)
            least += mp_least_us(&set.plans[g].problem, set.dev);
        if (least > predicted(&set) || least <= 0)
            fail_msg("%s: %g, %g", op[i / 3].name, least, predicted(&set));
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_right),
        cmocka_unit_test(random_products_are_right),
        cmocka_unit_test(accesses_get_wide),
        cmocka_unit_test(vectors_end_with_their_tensor),
        cmocka_unit_test(the_model_decides),
        cmocka_unit_test(bounds_are_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
