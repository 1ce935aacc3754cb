/* links: te */
#include "te_fixture.h"
#include "workers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Operators as anyone would write them in loops over f64, against the evaluator.  */

typedef struct {
    Arena *a;
    const Te *te;
    TeData *in;
    TeValue *got;
    double *want;
    int64_t n;
} Trial;

static Trial begin(const char *text, uint64_t seed) {
    Trial t = {.a = arena_create(NULL)};
    t.te = fixture_te(t.a, text);
    t.in = fixture_inputs(t.a, t.te, TE_FILL_REALS, seed);
    t.got = fixture_values(t.a, t.te, t.in, t.te->n_in);
    t.n = te_tensor_count(&t.te->tensor[t.te->n_in]);
    t.want = ARENA_ARRAY(t.a, double, t.n);
    return t;
}

static void finish(Trial *t) {
    for (int64_t i = 0; i < t->n; i++) {
        double far = fabs(t->got[i].v - t->want[i]);
        if (!(far <= 1e-12 * (1 + fabs(t->want[i]))) || t->got[i].undecided)
            fail_msg("element %d: %.17g, not %.17g", (int)i, t->got[i].v, t->want[i]);
        assert_true(t->got[i].bound < 1e-2);
    }
    arena_destroy(t->a);
}

static double in_f32(const Trial *t, int tensor, int64_t i) {
    return (double)((const float *)t->in[tensor].data)[i];
}

static void matrix_product(void **state) {
    (void)state;
    enum { M = 33, N = 70, L = 129 };
    Trial t = begin("op f(A: f32[33,129], B: f32[129,70]) -> Y: f32[33,70] {"
                    " Y[m,n] += A[m,k] * B[k,n]; }", 1);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            for (int k = 0; k < L; k++)
                t.want[m * N + n] += in_f32(&t, 0, m * L + k) * in_f32(&t, 1, k * N + n);
    finish(&t);
}

static void convolution(void **state) {
    (void)state;
    enum { N = 2, C = 3, H = 9, W = 11, F = 4, R = 3, S = 2, P = 4, Q = 6 };
    Trial t = begin("param N=2, C=3, H=9, W=11, F=4, R=3, S=2, P=4, Q=6;\n"
                    "op f(X: f32[N,C,H,W], K: f32[F,C,R,S]) -> Y: f32[N,F,P,Q] {"
                    " Y[n,f1,p,q] += (X[n,c,p*2+r*2-1,q*2+s*3-1] else 0) * K[f1,c,r,s]; }", 2);
    double *y = t.want;
    for (int n = 0; n < N; n++)
        for (int f = 0; f < F; f++)
            for (int p = 0; p < P; p++)
                for (int q = 0; q < Q; q++, y++)
                    for (int c = 0; c < C; c++)
                        for (int r = 0; r < R; r++)
                            for (int s = 0; s < S; s++) {
                                int h = p * 2 + r * 2 - 1, w = q * 2 + s * 3 - 1;
                                if (h < 0 || h >= H || w < 0 || w >= W) continue;
                                *y += in_f32(&t, 0, ((n * C + c) * H + h) * W + w) *
                                      in_f32(&t, 1, ((f * C + c) * R + r) * S + s);
                            }
    finish(&t);
}

/* Written as a gather under a condition, computed here as a scatter.  */
static void transposed_convolution(void **state) {
    (void)state;
    enum { C = 3, H = 5, W = 4, F = 2, R = 3, S = 3, P = 11, Q = 9 };
    Trial t = begin("param C=3, H=5, W=4, F=2, R=3, S=3, P=11, Q=9;\n"
                    "op f(X: f32[C,H,W], K: f32[C,F,R,S]) -> Y: f32[F,P,Q] { Y[f1,p,q] +="
                    " ((p-r) % 2 == 0 && (q-s) % 2 == 0 ? (X[c,(p-r)/2,(q-s)/2] else 0) : 0)"
                    " * K[c,f1,r,s]; }", 3);
    for (int c = 0; c < C; c++)
        for (int h = 0; h < H; h++)
            for (int w = 0; w < W; w++)
                for (int f = 0; f < F; f++)
                    for (int r = 0; r < R; r++)
                        for (int s = 0; s < S; s++)
                            t.want[(f * P + h * 2 + r) * Q + w * 2 + s] +=
                                in_f32(&t, 0, (c * H + h) * W + w) *
                                in_f32(&t, 1, ((c * F + f) * R + r) * S + s);
    finish(&t);
}

static void pooling(void **state) {
    (void)state;
    Trial t = begin("op f(X: f32[3,20]) -> Y: f32[3,10] {"
                    " Y[c,q] max= X[c,2*q+s-1] else -inf where s in 3; }", 4);
    for (int c = 0; c < 3; c++)
        for (int q = 0; q < 10; q++) {
            double *y = &t.want[c * 10 + q];
            *y = -INFINITY;
            for (int w = 2 * q - 1; w < 2 * q + 2; w++)
                if (w >= 0 && w < 20) *y = fmax(*y, in_f32(&t, 0, c * 20 + w));
        }
    finish(&t);
}

static void softmax_of_rows(void **state) {
    (void)state;
    enum { N = 5, C = 200 };
    Trial t = begin("op f(X: f32[5,200]) -> Y: f32[5,200] { m[n] = max[c](X[n,c]);"
                    " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }", 5);
    for (int n = 0; n < N; n++) {
        double z = 0;
        for (int c = 0; c < C; c++) z += exp(in_f32(&t, 0, n * C + c));
        for (int c = 0; c < C; c++) t.want[n * C + c] = exp(in_f32(&t, 0, n * C + c)) / z;
    }
    finish(&t);
}

/* The same softmax in one expression, its reductions inside others.  */
static void softmax_in_one_expression(void **state) {
    (void)state;
    enum { N = 3, C = 70 };
    Trial t = begin("op f(X: f32[3,70]) -> Y: f32[3,70] { Y[n,c] = exp(X[n,c] - max[d](X[n,d])) /"
                    " sum[e](exp(X[n,e] - max[d](X[n,d]))); }", 6);
    for (int n = 0; n < N; n++) {
        double z = 0;
        for (int c = 0; c < C; c++) z += exp(in_f32(&t, 0, n * C + c));
        for (int c = 0; c < C; c++) t.want[n * C + c] = exp(in_f32(&t, 0, n * C + c)) / z;
    }
    finish(&t);
}

/* Elements of a temporary are asked for in every order.  */
static void temporaries_at_any_place(void **state) {
    (void)state;
    enum { N = 150 };
    Trial t = begin("op f(X: f32[150]) -> Y: f32[150,150] {"
                    " t[i] = X[i] * 3; u[j,i] = t[149-i] + t[j];"
                    " Y[i,j] = u[i,149-j] - t[j] + u[(i*7+j*5)%150,j]; }", 7);
    double x3[N];
    for (int i = 0; i < N; i++) x3[i] = in_f32(&t, 0, i) * 3;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            t.want[i * N + j] =
                x3[j] + x3[i] - x3[j] + x3[149 - j] + x3[(i * 7 + j * 5) % 150];
    finish(&t);
}

/* Neighbouring lanes read across the ends of rows.  */
static void a_reshaped_temporary(void **state) {
    (void)state;
    Trial t = begin("op f(X: f32[9,7]) -> Y: f32[63] {"
                    " t[i,j] = X[i,j] * i; Y[k] = t[k/7,k%7]; }", 8);
    for (int k = 0; k < 63; k++) t.want[k] = in_f32(&t, 0, k) * (k / 7);
    finish(&t);
}

static void reductions_of_every_length(void **state) {
    (void)state;
    for (int n = 1; n < 140; n += 9) {
        for (int k = 1; k < 300; k += 61) {
            Arena *a = arena_create(NULL);
            const char *text = "op f(X: f32[%d,%d]) -> Y: f32[%d] { Y[i] += X[i,k]; }";
            Trial t = begin(arena_printf(a, text, n, k, n), (uint64_t)(n * k));
            for (int i = 0; i < n; i++)
                for (int j = 0; j < k; j++) t.want[i] += in_f32(&t, 0, i * k + j);
            finish(&t);
            arena_destroy(a);
        }
    }
}

/* -- threads ----------------------------------------------------------------------------------- */

enum { THREADS = 4, ROWS = 64 };

typedef struct {
    const Te *te;
    const TeData *in;
    Arena *arena[THREADS];
    TeEval *eval[THREADS];
    TeValue value[ROWS * ROWS];
} Shared;

static bool compute_row(void *user, int64_t i, int worker) {
    Shared *s = user;
    int64_t at[2] = {i, 0};
    return te_eval_row(s->eval[worker], s->te->n_in, at, ROWS, s->value + i * ROWS) == ST_OK;
}

static void threads_share_data(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Shared *s = ARENA_NEW(a, Shared);
    s->te = fixture_te(a, "op f(X: f16[64,99], W: f16[99,64]) -> Y: f16[64,64] {"
                          " t[m,n] += X[m,k] * W[k,n]; z[m] = sum[n](exp(t[m,n]));"
                          " Y[m,n] = exp(t[m,n]) / z[m]; }");
    s->in = fixture_inputs(a, s->te, TE_FILL_REALS, 9);
    for (int i = 0; i < THREADS; i++) {
        s->arena[i] = arena_create(NULL);
        Diag d = diag_new(s->arena[i]);
        assert_int_equal(te_eval_create(s->arena[i], &d, s->te, s->in, &s->eval[i]), ST_OK);
    }
    assert_true(workers_for(THREADS, ROWS, compute_row, s));
    TeValue *want = fixture_values(a, s->te, s->in, s->te->n_in);
    for (int i = 0; i < ROWS * ROWS; i++)
        assert_true(want[i].v == s->value[i].v && want[i].bound == s->value[i].bound);
    for (int i = 0; i < THREADS; i++) arena_destroy(s->arena[i]);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_product),
        cmocka_unit_test(convolution),
        cmocka_unit_test(transposed_convolution),
        cmocka_unit_test(pooling),
        cmocka_unit_test(softmax_of_rows),
        cmocka_unit_test(softmax_in_one_expression),
        cmocka_unit_test(temporaries_at_any_place),
        cmocka_unit_test(a_reshaped_temporary),
        cmocka_unit_test(reductions_of_every_length),
        cmocka_unit_test(threads_share_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
