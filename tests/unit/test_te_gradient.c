/* links: te */
/* Gradients against differences: of every element of every input, by the reference evaluator.  */
#include "te/grad/batch.h"
#include "te/grad/gradient.h"
#include "effort.h"
#include "te_fixture.h"
#include "te_random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define OP(args, out, body) "op f(" args ") -> " out " { " body " }"
static const char *const cases[] = {
    /* products */
    OP("A: f64[4,3], B: f64[3,5]", "C: f64[4,5]", "C[m,n] += A[m,k] * B[k,n];"),
    OP("A: f64[4,3]", "C: f64[4,4]", "C[m,n] += A[m,k] * A[n,k];"),
    OP("A: f64[2,3,4], B: f64[2,4,5]", "C: f64[5,2,3]", "C[n,b,m] += A[b,m,k] * B[b,k,n];"),
    /* maps and functions */
    OP("X: f64[6]", "Y: f64[6]", "Y[i] = 0.5 * X[i] * (1 + erf(X[i] * 0.70710678));"),
    OP("X: f64[6]", "Y: f64[6]",
       "Y[i] = exp(X[i]) + exp2(X[i]) * log(X[i]) - log2(X[i]) / sqrt(X[i]) + rsqrt(X[i]);"),
    OP("X: f64[6]", "Y: f64[6]",
       "Y[i] = tanh(X[i]) * sin(X[i]) - cos(-X[i]) + abs(X[i] - 1) + pow(X[i], 3);"),
    OP("X: f64[6], P: f64[6]", "Y: f64[6]", "Y[i] = pow(X[i], P[i]) / (X[i] + P[i] * P[i]);"),
    OP("X: f64[6], P: f64[6]", "Y: f64[6]",
       "Y[i] = max(X[i], P[i], 1.1) - min(X[i] * P[i], 1.3) + floor(X[i]) + round(P[i]);"),
    OP("X: f64[6]", "Y: f64[6]", "Y[i] = max(X[i] - 1, 0) * (X[i] > 1.5 ? X[i] : 2 * X[i]);"),
    /* what a condition excludes is 0, not NaN */
    OP("X: f64[6]", "Y: f64[6]", "Y[i] = X[i] < 1 ? sqrt(1 - X[i]) : 0;"),
    OP("X: f64[6]", "Y: f64[6]", "Y[i] = i > 0 ? X[i] - X[i-1] : 0;"),
    OP("X: f64[6], W: f64[6]", "Y: f64[6]", "Y[i] = i > 0 ? X[i-1] * W[i-1] : X[i];"),
    /* rows */
    OP("X: f64[3,5]", "Y: f64[3,5]",
       "m[i] max= X[i,j]; e[i,j] = exp(X[i,j] - m[i]); s[i] += e[i,j]; Y[i,j] = e[i,j] / s[i];"),
    OP("X: f64[3,5]", "Y: f64[3]", "Y[i] = log(sum[j](exp(X[i,j])));"),
    OP("X: f64[3,5], g: f64[5], b: f64[5], eps: f64", "Y: f64[3,5]",
       "m[i] = sum[j](X[i,j]) / 5; v[i] = sum[j]((X[i,j] - m[i]) * (X[i,j] - m[i])) / 5; "
       "Y[i,j] = (X[i,j] - m[i]) * rsqrt(v[i] + eps) * g[j] + b[j];"),
    OP("X: f64[3,5]", "(Y: f64[3], Z: f64[5])", "Y[i] = max[j](X[i,j]); Z[j] = min[i](X[i,j]);"),
    OP("X: f64[3,4]", "Y: f64[3]", "Y[i] = prod[j](X[i,j]);"),
    OP("X: f64[3,4]", "Y: f64[3]", "Y[i] = prod[j](X[i,j] - X[i,0]) + max[j](X[i,j] * X[i,j]);"),
    OP("X: f64[2,3,4]", "s: f64", "s[] += X[i,j,k] * X[i,j,k];"),
    OP("X: f64[5]", "Y: f64[5]", "Y[i] = sum[j](j <= i ? X[j] : 0) * X[i] where j in 5;"),
    OP("X: f64[5]", "(Y: f64[5], Z: f64[5])", "Y[i] = X[i] * X[i]; Z[i] = Y[i] * X[i] + Y[0];"),
    /* recurrences */
    OP("A: f64[2,6], X: f64[2,6], s: f64[2]", "Y: f64[2,6]",
       "Y[b,t] = A[b,t] * (Y[b,t-1] else s[b]) + X[b,t] * A[b,t];"),
    OP("A: f64[5], X: f64[5]", "(Y: f64[5], Z: f64[5])",
       "Y[t] = t == 4 ? X[t] * X[t] : Y[t+1] + A[t] * (X[t] - Y[t+1]); Z[t] = Y[t] * Y[t];"),
    OP("A: f64[3,2], X: f64[5,3]", "Y: f64[5]",
       "h[t,d] = exp(-sum[n](A[d,n])) * (h[t-1,d] else 0) + X[t,d]; Y[t] += h[t,d] * A[d,0];"),
    /* subscripts */
    OP("X: f64[2,3,6,5], K: f64[4,3,3,3]", "Y: f64[2,4,6,5]",
       "Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[f,c,r,s];"),
    OP("X: f64[2,3,7], K: f64[4,3,3]", "Y: f64[2,4,3]", "Y[n,f,p] += X[n,c,2*p+r] * K[f,c,r];"),
    OP("X: f64[2,9]", "Y: f64[2,4]", "Y[n,p] max= X[n,2*p+r] else -inf where r in 3;"),
    OP("X: f64[7]", "Y: f64[7]", "Y[i] = X[6-i] * (X[i+2] else X[i]);"),
    OP("X: f64[4,4]", "(Y: f64[4], Z: f64[8])", "Y[i] = X[i,i]; Z[i] = X[i/2,i%4];"),
    OP("X: f64[3,4]", "Y: f64[12]", "Y[i] = X[i/4,i%4] * X[0,1];"),
    OP("X: f64[6]", "Y: f64[4]", "Y[i] = sum[k](X[i+k]) where k in 1:3, i in 4;"),
    OP("W: f64[5,3], I: i32[4]", "Y: f64[4,3]", "Y[t,d] = W[I[t],d] else 0;"),
    OP("W: f64[5,3], I: i32[4], on: bool[4]", "Y: f64[4,3]",
       "Y[t,d] = on[t] ? W[min(max(I[t], 0), 4),d] * W[0,d] : 2 * W[1,d];"),
    OP("X: f64[3], Z: f64[4]", "Y: f64[7]", "Y[i] = i < 3 ? X[i] : Z[i-3] * X[0];"),
    /* attention */
    OP("Q: f64[4,3], K: f64[5,3], V: f64[5,2]", "O: f64[4,2]",
       "s[i,j] += Q[i,k] * K[j,k]; m[i] max= s[i,j]; p[i,j] = exp(s[i,j] - m[i]); "
       "z[i] += p[i,j]; O[i,d] = sum[j](p[i,j] * V[j,d]) / z[i];"),
    /* names that it would take, sizes that are known when it runs */
    OP("x0: f64[3,2]", "C: f64[2]", "C[x1] = sum[x2](x0[x2,x1] * x0[x2,x1]);"),
    ("param M = 1..4, N = 2; let H = M * N; op f(X: f64[M,N], Z: f64[H]) -> Y: f64[M] "
     "{ Y[i] = sum[j](X[i,j] * Z[i*N+j]); }"),
};

/* ---- data ---- */
static double value(int64_t i, int salt) {
    double x = sin((double)(i + 1) * 12.9898 + salt * 78.233) * 43758.5453;
    return 0.4 + 1.5 * (x - floor(x));
}

static TeData *data_for(Arena *a, const Te *te) {
    TeData *in = ARENA_ARRAY(a, TeData, te->n_in + 1);
    for (int t = 0; t < te->n_in; t++) {
        const TeTensor *x = &te->tensor[t];
        int64_t n = te_tensor_count(x);
        in[t].bytes = te_tensor_bytes(x);
        in[t].data = arena_alloc(a, in[t].bytes + 8);
        for (int64_t i = 0; i < n; i++) {
            if (x->dtype == TE_F64) ((double *)in[t].data)[i] = value(i, t);
            if (x->dtype == TE_I32) ((int32_t *)in[t].data)[i] = (int32_t)(i * 3 % 6);
            if (x->dtype == TE_BOOL) ((char *)in[t].data)[i] = i % 3 != 1;
        }
    }
    return in;
}

static int find(const Te *te, const char *name) {
    for (int t = 0; t < te->n_in + te->n_out; t++)
        if (strcmp(te->tensor[t].name, name) == 0) return t;
    return -1;
}

/* Sum of outputs, each element with a weight of its own.  */
static double total(Arena *a, const Te *te, const TeData *in) {
    double sum = 0;
    for (int o = te->n_in; o < te->n_in + te->n_out; o++) {
        const TeValue *v = fixture_values(a, te, in, o);
        for (int64_t i = 0; i < te_tensor_count(&te->tensor[o]); i++)
            sum += v[i].v * value(i, 100 + o - te->n_in);
    }
    return sum;
}

static const Te *sized(Arena *a, const Te *te) {
    Diag d = diag_new(a);
    int64_t size[TE_MAX_SIZES];
    for (int i = 0; i < te->n_size; i++) size[i] = 3;
    const Te *out;
    assert_int_equal(te_specialize(a, &d, te, size, &out), ST_OK);
    return out;
}

static const char *gradient_text(Arena *a, const Te *te, const char *const *wrt, int n) {
    Diag d = diag_new(a);
    Buf out = buf_new(a);
    if (te_gradient(a, &d, te, wrt, n, &out)) fail_msg("%s", diag_first_error(&d)->message);
    return buf_str(&out);
}

/* Inputs of the gradient: the op's own, and the weights.  */
static TeData *gradient_data(Arena *a, const Te *te, const TeData *in, const Te *grad) {
    TeData *out = data_for(a, grad);
    for (int t = 0; t < grad->n_in; t++) {
        int own = find(te, grad->tensor[t].name);
        if (own >= 0) {
            out[t] = in[own];
            continue;
        }
        int o = find(te, grad->tensor[t].name + 2);
        assert_true(o >= te->n_in);
        for (int64_t i = 0; i < te_tensor_count(&grad->tensor[t]); i++)
            ((double *)out[t].data)[i] = value(i, 100 + o - te->n_in);
    }
    return out;
}

static void compare(const char *text, const char *derived, double want, double got) {
    if (fabs(want - got) > 2e-6 * (1 + fabs(want)))
        fail_msg("%g, not %g\n%s\n%s", got, want, text, derived);
}

static void try_case(Arena *a, const char *text) {
    const double h = 1e-5;
    const Te *whole = fixture_te(a, text), *te = sized(a, whole);
    const char *derived = gradient_text(a, whole, NULL, 0);
    const Te *grad = sized(a, fixture_te(a, derived));
    TeData *in = data_for(a, te), *given = gradient_data(a, te, in, grad);
    for (int o = grad->n_in; o < grad->n_in + grad->n_out; o++) {
        int t = find(te, grad->tensor[o].name + 2);
        assert_true(t >= 0 && t < te->n_in);
        const TeValue *v = fixture_values(a, grad, given, o);
        for (int64_t i = 0; i < te_tensor_count(&te->tensor[t]); i++) {
            double *x = (double *)in[t].data + i, was = *x;
            ArenaMark mark = arena_mark(a);
            *x = was + h;
            double up = total(a, te, in);
            *x = was - h;
            double down = total(a, te, in);
            *x = was;
            compare(text, derived, (up - down) / (2 * h), v[i].v);
            arena_reset(a, mark);
        }
    }
}

static void differences(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *a = arena_create(NULL);
        try_case(a, cases[i]);
        arena_destroy(a);
    }
}

static double one(Arena *a, const char *op, const double *x, int64_t n, int64_t at) {
    const Te *grad = fixture_te(a, gradient_text(a, fixture_te(a, op), NULL, 0));
    TeData *in = data_for(a, grad);
    for (int t = 0; t < grad->n_in; t++)
        for (int64_t i = 0; i < te_tensor_count(&grad->tensor[t]); i++)
            ((double *)in[t].data)[i] = grad->tensor[t].name[0] == 'd' ? 1 : x[i < n ? i : 0];
    return fixture_values(a, grad, in, grad->n_in)[at].v;
}

/* Where there is no derivative, or differences do not tell it.  */
static void conventions(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const double equal[3] = {2, 2, 1}, zero[3] = {0, 3, 4}, edge[3] = {0, 0, 0};
#define ONE(body, x, at) one(a, OP("X: f64[3]", "Y: f64[3]", body), x, 3, at)
    assert_true(ONE("Y[i] = max[j](X[j]);", equal, 0) == 3);
    assert_true(ONE("Y[i] = max[j](X[j]);", equal, 1) == 0);
    assert_true(ONE("Y[i] = max(X[i], 0);", edge, 0) == 0);
    assert_true(ONE("Y[i] = max(X[i], X[0]);", equal, 1) == 0.5);
    assert_true(ONE("Y[i] = abs(X[i]);", edge, 0) == 0);
    assert_true(ONE("Y[i] = X[i] > 0 ? log(X[i]) : X[i];", zero, 0) == 1);
    assert_true(ONE("Y[i] = floor(X[i]);", zero, 1) == 0);
    assert_true(ONE("Y[i] = prod[j](X[j]);", zero, 0) == 36);      /* 3 * 12 */
    assert_true(ONE("Y[i] = prod[j](X[j]);", zero, 1) == 0);
    arena_destroy(a);
}

/* What is not needed is not taken; narrow types are kept, and read back as they were rounded.  */
static void is_as_small_as_can_be(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const char *const by[] = {"A"};
    const Te *mm = fixture_te(a, OP("A: f16[4,3], B: f16[3,5], c: f16[5], s: f32", "C: f16[4,5]",
                                    "C[m,n] = sum[k](A[m,k] * B[k,n]) * s + c[n] @tf32;"));
    const char *text = gradient_text(a, mm, by, 1);
    const Te *grad = fixture_te(a, text);
    assert_int_equal(grad->n_in, 3);
    assert_string_equal(grad->tensor[0].name, "B");
    assert_string_equal(grad->tensor[1].name, "s");
    assert_string_equal(grad->tensor[2].name, "d_C");
    assert_string_equal(grad->tensor[3].name, "d_A");
    assert_int_equal(grad->tensor[3].dtype, TE_F16);
    assert_string_equal(grad->name, "f_gradient");
    arena_destroy(a);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *op, *by, *why;
    } wrong[] = {
        {OP("A: f64[4], s: f64", "C: f64[4]", "C[i] = A[i] * s;"), "B", "'B' is no input"},
        {OP("A: f64[4], s: f64", "C: f64[4]", "C[i] = A[i] * s;"), "s", "is a scalar"},
        {OP("A: f64[4], I: i32[4]", "C: f64[4]", "C[i] = A[i] * I[i];"), "I", "is not real"},
        {OP("I: i32[4]", "C: i32[4]", "C[i] = I[i];"), NULL, "no real input"},
        {"param N = 0..4; op f(A: f64[N]) -> C: f64 { C[] = max[i](A[i]); }", "A",
         "the range of 'i' may be empty"},
        {OP("A: f64[4], d_A: f64[4]", "C: f64[4]", "C[i] = A[i] * d_A[i];"), "A",
         "is the name of a derivative"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Arena *a = arena_create(NULL);
        Diag d = diag_new(a);
        Buf out = buf_new(a);
        const Te *te = fixture_te(a, wrong[i].op);
        assert_int_equal(te_gradient(a, &d, te, &wrong[i].by, wrong[i].by != NULL, &out), ST_TE);
        assert_non_null(strstr(diag_first_error(&d)->message, wrong[i].why));
        arena_destroy(a);
    }
}

/* ---- programs as they come ---- */
/* Whatever the program, its gradient is one, or is refused; and that is derived again.  */
static bool derives(Arena *a, const Te *te, int times) {
    Diag d = diag_new(a);
    Buf out = buf_new(a);
    if (te_gradient(a, &d, te, NULL, 0, &out)) {
        const DiagMessage *m = diag_first_error(&d);
        if (strcmp(m->tag, "gradient") != 0) fail_msg("%s", m->message);
        return false;
    }
    Te *grad = NULL;
    const char *text = buf_str(&out);
    if (te_parse(a, &d, diag_text("gradient.te", text), NULL, NULL, &grad)) {
        const DiagMessage *m = diag_first_error(&d);
        Buf whole = buf_new(a);
        if (m->tag && strcmp(m->tag, "limit") == 0) return false;
        te_print(te, &whole);
        fail_msg("%s\n%s\n%s", m->message, buf_str(&whole), text);
    }
    return times > 1 ? derives(a, grad, times - 1) : true;
}

/* An index that a later subscript says is within its range where an earlier one reads by it.  */
static void conditions_stand_before_what_reads_by_them(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const char *text = "op f(T: f32[8,17,1], I: i32[1,8,3], E: f32[17,1,8,3]) -> Y: f32[17,1,8] {"
                       " Y[i,j,k] = sum[l](T[I[j,k,l]+i,i+j-1,j-k*2147483648] else E[i,j,k,l])"
                       " where l in 0:3; }";
    assert_true(derives(a, fixture_te(a, text), 1));
    arena_destroy(a);
}

static void random_programs(void **state) {
    (void)state;
    static Choices c;
    int n = effort_long() ? 20000 : 300, derived = 0;
    for (int i = 0; i < n; i++) {
        Arena *a = arena_create(NULL);
        Diag d = diag_new(a);
        Te *te = NULL;
        choices_random(&c, effort_seed() * 100000 + (unsigned long long)i);
        const char *text = random_program(a, &c, &(RandomStyle){0}, (RandomLimits){0});
        if (te_parse(a, &d, diag_text("test.te", text), NULL, NULL, &te))
            fail_msg("%s\n%s", diag_first_error(&d)->message, text);
        derived += derives(a, te, 1 + i % 2);
        arena_destroy(a);
    }
    printf("# %d of %d programs, SEED=%llu\n", derived, n, effort_seed());
    assert_true(derived > n / 4);
}

/* ---- batches ---- */
/* Each place of a batch has the values that the op has there.  */
static void try_batch(Arena *a, const char *text) {
    enum { PLACES = 3 };
    const Te *whole = fixture_te(a, text), *te = sized(a, whole);
    bool batched[TE_MAX_ARGS] = {false};
    Buf out = buf_new(a);
    Diag d = diag_new(a);
    for (int i = 0; i < te->n_in; i += 2) batched[i] = true;
    if (te_batch(a, &d, whole, batched, PLACES, &out))
        fail_msg("%s", diag_first_error(&d)->message);
    const Te *many = sized(a, fixture_te(a, buf_str(&out)));
    TeData *all = data_for(a, many), *in = data_for(a, te);
    for (int p = 0; p < PLACES; p++) {
        for (int i = 0; i < te->n_in; i++)
            memcpy(in[i].data, (char *)all[i].data + (batched[i] ? (size_t)p * in[i].bytes : 0),
                   in[i].bytes);
        for (int o = te->n_in; o < te->n_in + te->n_out; o++) {
            const TeValue *one = fixture_values(a, te, in, o);
            const TeValue *of = fixture_values(a, many, all, o);
            int64_t n = te_tensor_count(&te->tensor[o]);
            for (int64_t i = 0; i < n; i++)
                compare(text, buf_str(&out), one[i].v, of[p * n + i].v);
        }
    }
}

static void batches(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *a = arena_create(NULL);
        try_batch(a, cases[i]);
        arena_destroy(a);
    }
}

/* Scalars are arrays, and then have derivatives.  */
static void scalars(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Buf out = buf_new(a);
    Diag d = diag_new(a);
    const Te *te = fixture_te(a, OP("X: f64[4], s: f64", "Y: f64[4]", "Y[i] = X[i] * s * s;"));
    assert_int_equal(te_batch(a, &d, te, NULL, -1, &out), ST_OK);
    const Te *arrays = fixture_te(a, buf_str(&out));
    assert_int_equal(arrays->tensor[1].role, TE_INPUT);
    assert_int_equal(arrays->tensor[1].rank, 0);
    try_case(a, buf_str(&out));
    arena_destroy(a);
}

static void batches_too_deep(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Buf out = buf_new(a);
    Diag d = diag_new(a);
    bool batched[1] = {true};
    const Te *te = fixture_te(a, OP("X: f64[1,1,1,1,1,1,1,2]", "s: f64",
                                    "s[] += X[a,b,c,d,e,f,g,h];"));
    assert_int_equal(te_batch(a, &d, te, batched, 2, &out), ST_TE);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences),
        cmocka_unit_test(conventions),
        cmocka_unit_test(is_as_small_as_can_be),
        cmocka_unit_test(refusals),
        cmocka_unit_test(conditions_stand_before_what_reads_by_them),
        cmocka_unit_test(random_programs),
        cmocka_unit_test(batches),
        cmocka_unit_test(scalars),
        cmocka_unit_test(batches_too_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
