/* links: te */
#include "base/hash.h"
#include "base/numeric.h"
#include "te_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a permitted computation gives must be right, what breaks the rules must be found wrong.  The
 * computations here are of f32 and narrower arithmetic, written out.  */

enum { K = 512, N = 24 };

static float to_f32(double v) { return num_f32_encode(v, ROUND_NEAREST_EVEN); }
static float to_f16(double v) {
    return (float)num_f16_decode(num_f16_encode(v, ROUND_NEAREST_EVEN, false));
}

static void shuffle(Rng *r, int *order, int n) {
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(r, (uint32_t)i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* How a kernel may sum products.  */
typedef enum { CHAIN, FUSED, TREE, CUT, HALF, CHOP13, TF32, TF32X3 } Style;

static float cut(double v) { return num_f32_encode(v, ROUND_TO_ZERO); }

static float tf32(float v) {
    uint32_t bits = num_tf32(v, ROUND_TO_ZERO);
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float tree_sum(const float *t, int n) {
    return n == 1 ? t[0] : to_f32((double)tree_sum(t, n / 2) + tree_sum(t + n / 2, n - n / 2));
}

/* Groups of 128 with terms cut to 13 bits below the largest; groups added in f32.  */
static float chopped_sum(const float *t, int n) {
    float sum = 0;
    for (int i = 0; i < n; i += 128) {
        int m = n - i < 128 ? n - i : 128, e = -200;
        double group = 0;
        for (int j = i; j < i + m; j++) {
            int x;
            frexp(t[j], &x);
            e = t[j] != 0 && x > e ? x : e;
        }
        for (int j = i; j < i + m; j++) group += ldexp(trunc(ldexp(t[j], 14 - e)), e - 14);
        sum = to_f32((double)sum + cut(group));
    }
    return sum;
}

static float sum_of(Style style, const float *a, const float *b, const int *order, int terms) {
    float term[K], s = 0;
    for (int i = 0; i < terms; i++) {
        float x = a[order[i]], y = b[order[i]];
        double small = (double)tf32(x - tf32(x)) * tf32(y) + (double)tf32(x) * tf32(y - tf32(y));
        switch (style) {
        case FUSED: s = to_f32(fma(x, y, s)); break;
        case CUT: s = cut((double)x * y + s); break;
        case HALF: s = to_f16((double)s + (double)x * y); break;
        case TF32: s = cut((double)tf32(x) * tf32(y) + s); break;
        case TF32X3: s = cut(cut((double)s + small) + (double)tf32(x) * tf32(y)); break;
        default: s = to_f32((double)s + to_f32((double)x * y)); break;
        }
        term[i] = to_f32((double)x * y);
    }
    return style == TREE ? tree_sum(term, terms) : style == CHOP13 ? chopped_sum(term, terms) : s;
}

typedef struct {
    int right, wrong, undecided;
} Count;

static void tally(Count *c, TeVerdict v) {
    c->right += v == TE_RIGHT;
    c->wrong += v == TE_WRONG;
    c->undecided += v == TE_UNDECIDED;
}

/* N dot products of `terms` terms of `type` inputs under `annotation`, computed in a style.  */
static Count dot_products(const char *type, const char *annotation, Style style, int terms,
                          uint64_t seed) {
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, arena_printf(a, "op f(A: %s[%d,%d], B: %s[%d,%d]) -> Y: f32[%d] {"
                                           " Y[n] += A[n,k] * B[n,k] %s; }",
                                        type, N, terms, type, N, terms, N, annotation));
    TeData *in = fixture_inputs(a, te, TE_FILL_REALS, seed);
    TeValue *want = fixture_values(a, te, in, 2);
    TeDtype t = te->tensor[0].dtype;
    Rng rng = {seed};
    Count c = {0};
    for (int n = 0; n < N; n++) {
        float x[K], y[K];
        int order[K];
        for (int k = 0; k < terms; k++) {
            size_t at = (size_t)((n * terms + k) * te_dtype_bytes(t));
            x[k] = (float)te_load(t, (char *)in[0].data + at).v;
            y[k] = (float)te_load(t, (char *)in[1].data + at).v;
        }
        shuffle(&rng, order, terms);
        float got = sum_of(style, x, y, order, terms);
        tally(&c, te_judge(TE_F32, &got, &want[n], false));
        /* A term left out is seen, but in f16 sums.  */
        double dropped = (double)got + 0.9 * terms * (style == HALF ? 0 : 1);
        float off = (float)dropped;
        if (style != HALF) assert_int_equal(te_judge(TE_F32, &off, &want[n], false), TE_WRONG);
    }
    arena_destroy(a);
    return c;
}

static void every_permitted_sum_is_right(void **state) {
    (void)state;
    static const struct {
        const char *type, *annotation;
        Style style;
    } cases[] = {
        {"f32", "", CHAIN}, {"f32", "", FUSED}, {"f32", "", TREE}, {"f16", "", CUT},
        {"bf16", "", CUT},
        {"f16", "", TREE}, {"f32", "@tf32", TF32}, {"f32", "@fp32x3", TF32X3},
        {"f16", "@accum(f16)", HALF}, {"f8e4m3", "", CHOP13}, {"f8e5m2", "", CHOP13},
        {"f8e4m3", "@accum(f32)", TREE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int terms = 1; terms <= K; terms *= 8) {
            Count c = dot_products(cases[i].type, cases[i].annotation, cases[i].style, terms, 1);
            if (c.right != N)
                fail_msg("%s %s: %d right", cases[i].type, cases[i].annotation, c.right);
        }
    }
}

/* Without its annotation, nearly every element of a loose sum is outside the bound.  */
static void permissions_are_needed(void **state) {
    (void)state;
    assert_true(dot_products("f32", "", TF32, 8, 1).wrong > N / 2);
    assert_true(dot_products("f16", "", HALF, 64, 1).wrong > N / 2);
    assert_true(dot_products("f8e4m3", "@accum(f32)", CHOP13, 16, 1).wrong > 0);
}

/* One product, so that nothing hides the width that each annotation gives.  */
static void permissions_are_as_wide_as_stated(void **state) {
    (void)state;
    static const struct {
        const char *type, *annotation;
        double low, high;
    } cases[] = {
        {"f32", "", 0x1p-25, 0x1p-23}, {"f32", "@tf32", 0x1p-9, 0x1p-8},
        {"f32", "@fp32x3", 0x1p-20, 0x1p-19}, {"f32", "@accum(f16)", 0x1p-11, 0x1p-9},
        {"f32", "@accum(bf16)", 0x1p-8, 0x1p-6}, {"f64", "", 0x1p-53, 0x1p-51},
        {"f64", "@accum(f32)", 0x1p-24, 0x1p-21}, {"f32", "@accum(f64)", 0x1p-25, 0x1p-23},
    };
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const float x = 1.1f;
        const double y = 1.1;
        const void *in[] = {cases[i].type[1] == '3' ? (const void *)&x : &y};
        const char *text = arena_printf(a, "op f(X: %s[1]) -> Y: f64 { Y[] += X[k] * X[k] %s; }",
                                        cases[i].type, cases[i].annotation);
        TeValue v = *fixture_run(a, text, in);
        if (!(v.bound >= cases[i].low && v.bound <= 1.22 * cases[i].high))
            fail_msg("%s %s: bound %g", cases[i].type, cases[i].annotation, v.bound);
    }
    arena_destroy(a);
}

/* The hardest case for 13 fraction bits: many small terms of one sign that each lose a part.  */
static void chopped_groups_are_right(void **state) {
    (void)state;
    enum { TERMS = 256 };
    Arena *a = arena_create(NULL);
    uint8_t x[TERMS], y[TERMS];
    float term[TERMS];
    for (int k = 0; k < TERMS; k++) {
        TeValue one = {.v = k % 128 ? 1.875 * 0x1p-4 : 1};
        TeValue two = {.v = k % 128 ? 1.875 * 0x1p-5 : 1};
        te_store(TE_F8E4M3, &one, &x[k]);
        te_store(TE_F8E4M3, &two, &y[k]);
        term[k] = (float)(one.v * two.v);
    }
    const void *in[] = {x, y};
    TeValue want = *fixture_run(a, "op f(A: f8e4m3[256], B: f8e4m3[256]) -> Y: f32 {"
                                   " Y[] += A[k] * B[k]; }", in);
    float got = chopped_sum(term, TERMS);
    assert_true(fabs((double)got - want.v) > 0x1p-12 * want.v);
    assert_int_equal(te_judge(TE_F32, &got, &want, false), TE_RIGHT);
    arena_destroy(a);
}

/* -- whole formulas in f32 --------------------------------------------------------------------- */

static void softmax_in_f32_is_right(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    for (uint64_t seed = 1; seed < 20; seed++) {
        Rng rng = {seed};
        float x[K], m = -INFINITY, z = 0;
        /* The first data makes a new maximum of every element.  */
        for (int k = 0; k < K; k++)
            x[k] = seed == 1 ? (float)k * 0.013f : (float)(rng_normal(&rng) * 4);
        const void *in[] = {x};
        const TeValue *want = fixture_run(
            a, "op f(X: f32[512]) -> Y: f32[512] { m[] = max[k](X[k]);"
               " z[] = sum[k](exp(X[k] - m[])); Y[k] = exp(X[k] - m[]) / z[]; }", in);
        /* With a running rescale.  */
        for (int k = 0; k < K; k++) {
            float next = x[k] > m ? x[k] : m;
            z = z * expf(m - next) + expf(x[k] - next);
            m = next;
        }
        for (int k = 0; k < K; k++) {
            float got = expf(x[k] - m) / z, off = got * 1.001f;
            assert_int_equal(te_judge(TE_F32, &got, &want[k], false), TE_RIGHT);
            assert_int_equal(te_judge(TE_F32, &off, &want[k], false), TE_WRONG);
        }
    }
    arena_destroy(a);
}

/* Every term a new maximum, every rescaling off by as much as exp may be.  */
static void a_running_rescale_is_right(void **state) {
    (void)state;
    enum { TERMS = 24 };
    Arena *a = arena_create(NULL);
    float x[TERMS], m = -INFINITY, z = 0;
    for (int k = 0; k < TERMS; k++) x[k] = (float)k * 0x1p-12f;
    const void *in[] = {x};
    TeValue want = *fixture_run(a, "op f(X: f32[24]) -> Y: f32 { m[] = max[k](X[k]);"
                                   " Y[] = sum[k](exp(X[k] - m[])); }", in);
    for (int k = 0; k < TERMS; k++) {
        double scale = exp((double)(m - x[k]));
        z = to_f32((double)to_f32((double)z * to_f32(scale * (1 + 0x1.7p-23))) + 1);
        m = x[k];
    }
    assert_int_equal(te_judge(TE_F32, &z, &want, false), TE_RIGHT);
    arena_destroy(a);
}

static void layernorm_in_f32_is_right(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    for (uint64_t seed = 1; seed < 20; seed++) {
        Rng rng = {seed};
        float x[K], mu = 0, var = 0;
        for (int k = 0; k < K; k++) mu += x[k] = (float)(rng_normal(&rng) + 3);
        mu /= K;
        for (int k = 0; k < K; k++) var += (x[k] - mu) * (x[k] - mu);
        var /= K;
        const void *in[] = {x};
        const TeValue *want = fixture_run(
            a, "op f(X: f32[512]) -> Y: f16[512] { mu[] = sum[k](X[k]) / 512.0;"
               " v[] = sum[k]((X[k] - mu[]) * (X[k] - mu[])) / 512.0;"
               " Y[k] = (X[k] - mu[]) * rsqrt(v[] + 0.00001); }", in);
        for (int k = 0; k < K; k++) {
            float got = (x[k] - mu) * (1 / sqrtf(var + 0.00001f));
            uint16_t h = num_f16_encode((double)got, ROUND_NEAREST_EVEN, false);
            uint16_t off = num_f16_encode((double)got + 0.01, ROUND_NEAREST_EVEN, false);
            assert_int_equal(te_judge(TE_F16, &h, &want[k], false), TE_RIGHT);
            assert_int_equal(te_judge(TE_F16, &off, &want[k], false), TE_WRONG);
        }
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_permitted_sum_is_right),
        cmocka_unit_test(permissions_are_needed),
        cmocka_unit_test(permissions_are_as_wide_as_stated),
        cmocka_unit_test(chopped_groups_are_right),
        cmocka_unit_test(a_running_rescale_is_right),
        cmocka_unit_test(softmax_in_f32_is_right),
        cmocka_unit_test(layernorm_in_f32_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
