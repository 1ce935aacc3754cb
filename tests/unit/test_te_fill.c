/* links: te */
#include "base/hash.h"
#include "te_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* -- inputs ------------------------------------------------------------------------------------ */

static void the_seed_decides_the_data(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, "op f(A: f32[64], B: f32[64], s: f32) -> Y: f32[64] {"
                           " Y[i] = A[i] * B[i] + s; }");
    for (int kind = TE_FILL_INTEGERS; kind < TE_FILLS; kind++) {
        TeData *x = fixture_inputs(a, te, (TeFill)kind, 7);
        TeData *y = fixture_inputs(a, te, (TeFill)kind, 7);
        TeData *z = fixture_inputs(a, te, (TeFill)kind, 8);
        assert_memory_equal(x[0].data, y[0].data, x[0].bytes);
        assert_memory_not_equal(x[0].data, z[0].data, x[0].bytes);
        assert_memory_not_equal(x[0].data, x[1].data, x[0].bytes);
        assert_true(te_load(TE_F32, x[2].data).v > 0);
    }
    arena_destroy(a);
}

static void integers_are_small_and_of_both_signs(void **state) {
    (void)state;
    static const char *const types[] = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2",
                                        "i64", "i32", "i16", "i8",   "u8"};
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        Te *te = fixture_te(a, arena_printf(a, "op f(A: %s[4096]) -> Y: %s[4096] { Y[i] = A[i]; }",
                                            types[i], types[i]));
        TeDtype t = te->tensor[0].dtype;
        TeData in = *fixture_inputs(a, te, TE_FILL_INTEGERS, 1);
        int seen[17] = {0};
        for (int k = 0; k < 4096; k++) {
            TeValue v = te_load(t, (char *)in.data + k * te_dtype_bytes(t));
            double x = te_dtype_class(t) == TE_CLASS_REAL ? v.v : (double)v.i;
            assert_true(x == floor(x) && fabs(x) <= 8);
            seen[(int)x + 8]++;
        }
        assert_true(seen[9] > 50 && seen[8] > 50);
        assert_int_equal(seen[7] > 50, t != TE_U8);
    }
    arena_destroy(a);
}

static void reals_are_normal_deviates(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, "op f(A: f16[100,100]) -> Y: f16[100,100] { Y[i,j] = A[i,j]; }");
    TeData in = *fixture_inputs(a, te, TE_FILL_REALS, 1);
    double sum = 0, square = 0;
    for (int k = 0; k < 10000; k++) {
        double v = te_load(TE_F16, (char *)in.data + 2 * k).v;
        sum += v;
        square += v * v;
    }
    assert_true(fabs(sum / 10000) < 0.05 && fabs(square / 10000 - 1) < 0.05);
    arena_destroy(a);
}

static void extremes_have_what_the_other_data_lack(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, "op f(A: f16[100,100], I: i8[4096]) -> (Y: f16[100,100], J: i8[4096]) {"
                           " Y[i,j] = A[i,j]; J[k] = I[k]; }");
    TeData *in = fixture_inputs(a, te, TE_FILL_EXTREMES, 1);
    int zeros[2] = {0}, infinite[2] = {0}, nans = 0, large = 0, most = 0, ends[2] = {0};
    for (int k = 0; k < 10000; k++) {
        double v = te_load(TE_F16, (char *)in[0].data + 2 * k).v;
        zeros[signbit(v) != 0] += v == 0;
        infinite[v < 0] += isinf(v) != 0;
        nans += isnan(v) != 0;
        large += isfinite(v) && fabs(v) >= 40;
        most += v == 192;
    }
    assert_true(zeros[0] > 1000 && zeros[1] > 1000 && large > 2000 && most > 200);
    assert_true(infinite[0] > 0 && infinite[1] > 0 && nans > 0);
    assert_true(infinite[0] + infinite[1] + nans < 2500);
    for (int k = 0; k < 4096; k++) {
        ends[0] += ((int8_t *)in[1].data)[k] == INT8_MIN;
        ends[1] += ((int8_t *)in[1].data)[k] == INT8_MAX;
    }
    assert_true(ends[0] > 100 && ends[1] > 100);
    arena_destroy(a);
}

/* Of a product some outputs stay finite, whichever operand lies which way.  */
static void extremes_leave_finite_outputs(void **state) {
    (void)state;
    static const char *const ops[] = {
        "op f(A: f32[64,500], B: f32[500,64]) -> C: f32[64,64] { C[m,n] += A[m,k] * B[k,n]; }",
        "op f(A: f32[500,64], B: f32[64,500]) -> C: f32[64,64] { C[m,n] += A[k,m] * B[n,k]; }",
        "op f(X: f32[4,9,11], K: f32[8,9,3]) -> Y: f32[4,8,9] { Y[n,f,p] += X[n,c,p+r]*K[f,c,r]; }",
        "op f(X: f32[64,700]) -> Y: f32[64] { t[n,c] = X[n,c] * 2; Y[n] = sum[c](t[n,c]); }",
    };
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        int64_t finite = 0, count = 0;
        for (uint64_t seed = 1; seed <= 4; seed++) {
            Te *te = fixture_te(a, ops[i]);
            TeData *in = fixture_inputs(a, te, TE_FILL_EXTREMES, seed);
            TeValue *v = fixture_values(a, te, in, te->n_in);
            count += te_tensor_count(&te->tensor[te->n_in]);
            for (int64_t k = 0; k < te_tensor_count(&te->tensor[te->n_in]); k++)
                finite += isfinite(v[k].v) && !v[k].undecided;
        }
        if (finite < count / 8 || finite == count)
            fail_msg("%lld of %lld are finite: %s", (long long)finite, (long long)count, ops[i]);
    }
    arena_destroy(a);
}

/* Of sums over sparse data many have one term, whichever operand lies which way, and those are
 * known to two units in the last place, unlike dense ones.  */
static void sparse_data_leave_sums_a_term(void **state) {
    (void)state;
    static const char *const ops[] = {
        "op f(A: f32[64,500], B: f32[500,64]) -> C: f32[64,64] { C[m,n] += A[m,k] * B[k,n]; }",
        "op f(A: bf16[500,64], B: bf16[64,500]) -> C: f32[64,64] { C[m,n] += A[k,m] * B[n,k]; }",
        "op f(X: f16[4,9,40], K: f16[8,9,3]) -> Y: f32[4,8,38] {"
        " Y[n,f,p] += X[n,c,p+r] * K[f,c,r]; }",
        "op f(X: f32[400,700]) -> Y: f32[400] { t[n,c] = X[n,c] * 2; Y[n] = sum[c](t[n,c]); }",
        "op f(A: f32[64,90], B: f32[90,64], C: f32[64,50]) -> D: f32[64,50] {"
        " t[m,n] += A[m,k] * B[k,n]; D[m,n] += t[m,k] * C[k,n]; }",
    };
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        Te *te = fixture_te(a, ops[i]);
        TeValue *v = fixture_values(a, te, fixture_inputs(a, te, TE_FILL_SPARSE, 1), te->n_in);
        int64_t count = te_tensor_count(&te->tensor[te->n_in]), close = 0, zero = 0;
        for (int64_t k = 0; k < count; k++) {
            zero += v[k].v == 0;
            close += v[k].v != 0 && v[k].bound <= fabs(v[k].v) * 0x1p-22 + 0x1p-148;
        }
        if (close < count / 6 || zero > count * 3 / 4)
            fail_msg("%lld zero, %lld close of %lld: %s", (long long)zero, (long long)close,
                     (long long)count, ops[i]);
    }
    arena_destroy(a);
}

/* What shows lost bits: full significands, halves of them, subnormals; integers of any size.  */
static void sparse_data_fill_significands(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, "op f(A: f32[4096], I: i32[4096]) -> (Y: f32[4096], J: i32[4096]) {"
                           " Y[k] = A[k]; J[k] = I[k]; }");
    TeData *in = fixture_inputs(a, te, TE_FILL_SPARSE, 1);
    int full = 0, half = 0, tiny = 0, wide = 0, most = 0;
    for (int k = 0; k < 4096; k++) {
        float x = ((float *)in[0].data)[k];
        int32_t i = ((int32_t *)in[1].data)[k];
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        tiny += x != 0 && fabsf(x) < 0x1p-126f;
        half += x == floorf(x) && fabsf(x) < 4096 && fmodf(x, 2) != 0;
        full += (bits & 0x1fff) != 0 && fabsf(x) > 0x1p-126f;
        wide += abs(i) < 1 << 24 && i % 2 != 0;
        most += abs(i) > 1 << 24;
    }
    assert_true(full > 1000 && half > 1000 && tiny > 300 && wide > 2000 && most > 1000);
    arena_destroy(a);
}

/* Whatever order the pages are made in, and where elements lie apart or share places.  */
static void pages_do_not_depend_on_each_other(void **state) {
    (void)state;
    static const struct {
        const char *type, *read;
    } cases[] = {
        {"f16[3,7,100]", "A[0,0,0]"}, {"f32[40,33] strides(40,1)", "A[0,0]"},
        {"f64[7,90] strides(1,7)", "A[0,0]"}, {"i8[50,60] strides(0,3)", "A[0,0]"},
        {"bf16[11,9,8] strides(1,11,200)", "A[0,0,0]"}, {"f32[30,30] strides(2,1)", "A[0,0]"},
    };
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Te *te = fixture_te(a, arena_printf(a, "op f(A: %s) -> Y: f32[1] { Y[i] = %s; }",
                                            cases[i].type, cases[i].read));
        for (int kind = 0; kind < TE_FILLS; kind++) {
            TeData whole = *fixture_inputs(a, te, (TeFill)kind, 3);
            TeSource *s = te_source(a, te, 0, (TeFill)kind, 3);
            for (size_t from = (whole.bytes - 1) / TE_PAGE * TE_PAGE;; from -= TE_PAGE) {
                char page[TE_PAGE];
                size_t n = whole.bytes - from < TE_PAGE ? whole.bytes - from : TE_PAGE;
                te_source_make(s, from, n, page);
                assert_memory_equal(page, (char *)whole.data + from, n);
                if (from == 0) break;
            }
        }
    }
    arena_destroy(a);
}

static void gaps_between_elements_are_poison(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Te *te = fixture_te(a, "op f(A: f32[4,3] strides(5,1)) -> Y: f32[4,3] { Y[i,j] = A[i,j]; }");
    TeData in = *fixture_inputs(a, te, TE_FILL_INTEGERS, 1);
    const float *x = in.data;
    assert_int_equal(in.bytes, 18 * sizeof(float));
    for (int k = 0; k < 18; k++) assert_int_equal(isnan(x[k]) != 0, k % 5 >= 3);
    arena_destroy(a);
}

static void index_tensors_are_mostly_legal(void **state) {
    (void)state;
    static const struct {
        const char *type, *value;
    } ops[] = {
        {"i32", "E[id[t],d] else 0"}, {"i8", "E[i64(id[t]),d] else 0"},
        {"i64", "id[t] >= 0 && id[t] < 30 ? E[id[t],d] : 0"},
    };
    Arena *a = arena_create(NULL);
    for (int i = 0; i < 3; i++) {
        const char *text = "op f(E: f32[30,4], id: %s[2000]) -> Y: f32[2000,4] { Y[t,d] = %s; }";
        Te *te = fixture_te(a, arena_printf(a, text, ops[i].type, ops[i].value));
        TeDtype t = te->tensor[1].dtype;
        TeData in = fixture_inputs(a, te, TE_FILL_INTEGERS, 1)[1];
        int legal = 0, below = 0, above = 0;
        for (int k = 0; k < 2000; k++) {
            int64_t v = te_load(t, (char *)in.data + k * te_dtype_bytes(t)).i;
            below += v < 0;
            above += v >= 30;
            legal += v >= 0 && v < 30;
        }
        assert_true(legal > 1700 && below > 10 && above > 10);
    }
    arena_destroy(a);
}

/* -- exactness --------------------------------------------------------------------------------- */

/* Where te_exact promises it, no element has a bound; the ops are of every kind of contraction.  */
static void exact_ops_have_exact_values(void **state) {
    (void)state;
    static const struct {
        const char *op;
        bool exact;
    } cases[] = {
        {"op f(A: f16[4,4096], B: f16[4096,4]) -> Y: f16[4,4] {"
         " Y[m,n] += A[m,k] * B[k,n]; }", true},
        {"op f(A: f8e4m3[4,999], B: f8e4m3[4,999]) -> Y: bf16[4,4] {"
         " Y[m,n] += A[m,k] * B[n,k]; }", true},
        {"op f(A: i8[4,999], B: i8[4,999]) -> Y: i32[4,4] { Y[m,n] += A[m,k] * B[n,k]; }", true},
        {"op f(X: f32[2,64,6,6], W: f32[8,64,3,3]) -> Y: f32[2,8,6,6] {"
         " Y[n,f1,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f1,c,r,s]; }", true},
        {"op f(A: f16[4,64], B: f16[64,64], C: f16[64,4]) -> Y: f16[4,4] {"
         " t[m,k] += A[m,j] * B[j,k]; u[m,k] = max(t[m,k], 0); Y[m,n] += u[m,k] * C[k,n]; }", true},
        {"op f(A: f16[4,64], B: f16[64,4], b: f16[4]) -> Y: f16[4,4] {"
         " t[m,n] += A[m,k] * B[k,n]; Y[m,n] = max(t[m,n] + b[n], 0) * 0.5; }", true},
        {"op f(A: f32[4,64]) -> Y: i32[4] { Y[m] = argmax[k](A[m,k]); }", true},
        {"op f(A: f32[4,64]) -> Y: f32[4] { Y[m] = sum[k](A[m,k]) / 64; }", true},
        {"op f(A: f16[4,64], B: f16[64,4]) -> Y: f16[4,4] {"
         " Y[m,n] += A[m,k] * B[k,n] @accum(f16); }", true},
        {"op f(A: f32[4,64], B: f32[64,4]) -> Y: f32[4,4] {"
         " Y[m,n] += A[m,k] * B[k,n] @tf32; }", true},
        {"op f(A: f64[4,64], B: f64[64,4]) -> Y: f64[4,4] { Y[m,n] += A[m,k] * B[k,n]; }", true},
        {"op f(A: f32[4,64]) -> Y: f32[4] { Y[m] = sum[k](A[m,k]) / 65; }", false},
        {"op f(A: f32[4,64]) -> Y: f32[4] { Y[m] = exp(sum[k](A[m,k])); }", false},
        {"op f(A: f32[4,64]) -> Y: f32[4] { Y[m] = sum[k](A[m,k] * 0.1); }", false},
        {"op f(A: f32[4,64]) -> Y: f32[4] { Y[m] *= A[m,k]; }", true},
        {"op f(A: f32[4,64]) -> Y: f32[4] { Y[m] *= A[m,k] * 3; }", false},
        {"op f(A: f32[4,64]) -> Y: f32[4,64] { Y[m,k] = A[m,k] / A[m,63-k]; }", false},
    };
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Te *te = fixture_te(a, cases[i].op);
        if (te_exact(te) != cases[i].exact)
            fail_msg("te_exact is %d: %s", te_exact(te), cases[i].op);
        TeData *in = fixture_inputs(a, te, TE_FILL_INTEGERS, 3);
        TeValue *v = fixture_values(a, te, in, te->n_in);
        int64_t n = te_tensor_count(&te->tensor[te->n_in]), zeros = 0;
        for (int64_t k = 0; k < n && cases[i].exact; k++) {
            if (v[k].bound != 0 || v[k].undecided) fail_msg("element %d: %s", (int)k, cases[i].op);
            zeros += v[k].v == 0 && v[k].i == 0;
        }
        assert_true(zeros < n);
    }
    arena_destroy(a);
}

/* Results of long sums still fit where they are stored, so that a check sees every bit.  */
static void data_suits_the_output(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f16", "bf16"};
    static const double most[] = {0x1p24, 0x1p11, 0x1p8};
    Arena *a = arena_create(NULL);
    for (int i = 0; i < 3; i++) {
        Te *te = fixture_te(
            a, arena_printf(a, "op f(A: %s[8,4096], B: %s[4096,8]) -> Y: %s[8,8] {"
                               " Y[m,n] += A[m,k] * B[k,n]; }", types[i], types[i], types[i]));
        TeData *in = fixture_inputs(a, te, TE_FILL_INTEGERS, 3);
        TeValue *v = fixture_values(a, te, in, 2);
        int outside = 0;
        for (int k = 0; k < 64; k++) outside += fabs(v[k].v) > most[i];
        assert_true(outside <= 1);
    }
    arena_destroy(a);
}

/* -- elements ---------------------------------------------------------------------------------- */

static void every_short_pattern_survives(void **state) {
    (void)state;
    static const TeDtype types[] = {TE_F16, TE_BF16, TE_F8E4M3, TE_F8E5M2, TE_I16, TE_I8, TE_U8};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        int bytes = te_dtype_bytes(types[i]);
        for (uint32_t bits = 0; bits < (bytes == 2 ? 65536u : 256u); bits++) {
            uint8_t in[2] = {(uint8_t)bits, (uint8_t)(bits >> 8)}, out[2] = {0};
            TeValue v = te_load(types[i], in);
            te_store(types[i], &v, out);
            bool nan = te_dtype_class(types[i]) == TE_CLASS_REAL && isnan(v.v);
            bool infinite = types[i] == TE_F8E5M2 && isinf(v.v);       /* stores saturate */
            if (nan)
                assert_true(isnan(te_load(types[i], out).v));
            else if (!infinite)
                assert_memory_equal(in, out, (size_t)bytes);
        }
    }
}

static void wide_values_survive(void **state) {
    (void)state;
    Rng rng = {5};
    for (int i = 0; i < 10000; i++) {
        uint64_t bits = rng_next(&rng), back = 0;
        TeValue v = te_load(TE_F64, &bits);
        te_store(TE_F64, &v, &back);
        if (!isnan(v.v)) assert_true(bits == back);
        v = te_load(TE_I64, &bits);
        te_store(TE_I64, &v, &back);
        assert_true(bits == back);
        uint32_t low = (uint32_t)bits, low_back = 0;
        v = te_load(TE_F32, &low);
        te_store(TE_F32, &v, &low_back);
        if (!isnan(v.v)) assert_true(low == low_back);
        v = te_load(TE_I32, &low);
        te_store(TE_I32, &v, &low_back);
        assert_true(low == low_back);
    }
    uint8_t truth = 200;
    assert_int_equal(te_load(TE_BOOL, &truth).i, 1);
    te_store(TE_BOOL, &(TeValue){.i = 1}, &truth);
    assert_int_equal(truth, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_decides_the_data),
        cmocka_unit_test(integers_are_small_and_of_both_signs),
        cmocka_unit_test(reals_are_normal_deviates),
        cmocka_unit_test(extremes_have_what_the_other_data_lack),
        cmocka_unit_test(extremes_leave_finite_outputs),
        cmocka_unit_test(sparse_data_leave_sums_a_term),
        cmocka_unit_test(sparse_data_fill_significands),
        cmocka_unit_test(pages_do_not_depend_on_each_other),
        cmocka_unit_test(gaps_between_elements_are_poison),
        cmocka_unit_test(index_tensors_are_mostly_legal),
        cmocka_unit_test(exact_ops_have_exact_values),
        cmocka_unit_test(data_suits_the_output),
        cmocka_unit_test(every_short_pattern_survives),
        cmocka_unit_test(wide_values_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
