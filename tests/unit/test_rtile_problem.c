/* links: microperf */
/* Facts about operands, read off expressions: vectors, runs, guards, footprints.  */
#include "microperf/microperf.h"
#include "arena_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    Arena *arena;
    const char *text;
    int align, group;
    Problem out;
} Job;

static void analyse(void *user) {
    Job *j = user;
    Arena *a = j->arena;
    Diag d = diag_new(a);
    Te *te, *normal;
    KernelGroup *groups;
    if (te_parse(a, &d, diag_text("x.te", j->text), NULL, NULL, &te) ||
        te_normalize(a, &d, te, &normal)) {
        fail_msg("%s\n%s", d.messages[0].message, j->text);
    }
    assert_true(access_groups(a, normal, &groups) > j->group);
    assert_int_equal(rtile_problem(a, &d, normal, &groups[j->group], j->align, &j->out), ST_OK);
}

static Problem problem_of(Arena *a, const char *text, int align, int group) {
    Job j = {.arena = a, .text = text, .align = align, .group = group};
    assert_true(arena_try(a, analyse, &j));
    return j.out;
}

static void extents(const Problem *p, int64_t b, int64_t m, int64_t n, int64_t k) {
    assert_true(p->contraction);
    assert_int_equal(p->extent[AX_B], b);
    assert_int_equal(p->extent[AX_M], m);
    assert_int_equal(p->extent[AX_N], n);
    assert_int_equal(p->extent[AX_K], k);
}

static void vectors(const ROperand *op, int mn, int k) {
    assert_int_equal(op->vec_mn, mn);
    assert_int_equal(op->vec_k, k);
}

static void plain_matmul(void **state) {
    Problem p = problem_of(*state, "param M = 64, N = 96, K = 40;\n"
        "op f(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }", 0, 0);
    extents(&p, 1, 64, 96, 40);
    vectors(&p.op[0], 1, 4);
    vectors(&p.op[1], 4, 1);
    assert_true(p.op[0].copyable && p.op[0].affine && !p.op[0].guarded);
    assert_int_equal(p.op[0].run_k, 40);
    assert_int_equal(p.op[1].run_mn, 96);
    assert_int_equal(p.op[0].stride_mn, 40);
    assert_int_equal(p.op[1].stride_k, 96);
    assert_int_equal(p.op[0].unique, 64 * 40);
    assert_int_equal(p.out_vec, 4);
    assert_int_equal(p.out_bytes, 64 * 96 * 4);
    assert_int_equal(p.read_bytes, (64 * 40 + 40 * 96) * 4);
    assert_true(p.body_ops == 0 && p.epilogue_ops == 0 && p.flops == 2.0 * 64 * 96 * 40);
    Problem hand = fixture_matmul(1, 64, 96, 40, false, false, TE_F32);
    for (int side = 0; side < 2; side++) {
        assert_int_equal(hand.op[side].vec_mn, p.op[side].vec_mn);
        assert_int_equal(hand.op[side].vec_k, p.op[side].vec_k);
        assert_int_equal(hand.op[side].stride_mn, p.op[side].stride_mn);
        assert_int_equal(hand.op[side].stride_k, p.op[side].stride_k);
    }
}

/* Vectors shrink with the extents, the strides and the promised alignment.  */
static void ragged_vectors(void **state) {
    static const char *const text = "param M = 64, N = %s, K = %s;\n"
        "op f(A: %s[M,K], B: %s[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }";
    static const struct {
        const char *n, *k, *type;
        int align, vec_k, vec_n, out_vec;
    } rows[] = {
        {"96", "42", "f32", 16, 2, 4, 4}, {"97", "43", "f32", 16, 1, 1, 1},
        {"98", "44", "f32", 16, 4, 2, 2}, {"96", "40", "f32", 8, 2, 2, 2},
        {"96", "40", "f32", 4, 1, 1, 1},  {"96", "40", "f16", 16, 8, 8, 4},
        {"100", "36", "f16", 16, 4, 4, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena *a = *state;
        Problem p = problem_of(a, arena_printf(a, text, rows[i].n, rows[i].k, rows[i].type,
                                               rows[i].type), rows[i].align, 0);
        vectors(&p.op[0], 1, rows[i].vec_k);
        vectors(&p.op[1], rows[i].vec_n, 1);
        assert_int_equal(p.out_vec, rows[i].out_vec);
        assert_int_equal(p.op[0].copyable, rows[i].type[1] == '3');
    }
}

/* Rows that data choose are copied in vectors that all lengths allow.  */
static void gathered(void **state) {
    static const char *const text = "param K = %s;\n"
        "op f(A: f16[50,K], row: i32[24], B: f16[40,K]) -> C: f32[24,40] {\n"
        "  C[m,n] += (A[row[m],k]%s) * B[n,k]; }";
    static const struct {
        const char *k, *other;
        int vec;
    } rows[] = {
        {"96", " else 0", 8}, {"36", " else 0", 4}, {"37", " else 0", 1},
        {"8..4096 % 8", " else 0", 8}, {"4..4096 % 4", " else 0", 4}, {"1..4096", " else 0", 1},
        {"96", " else 1", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena *a = *state;
        Problem p = problem_of(a, arena_printf(a, text, rows[i].k, rows[i].other), 0, 0);
        vectors(&p.op[0], 1, rows[i].vec);
        assert_int_equal(p.op[0].gathered, rows[i].vec > 1);
    }
}

/* A padded convolution: pixels shift by one, filters are contiguous over c, r, s.  */
static void convolution(void **state) {
    Problem p = problem_of(*state, "param N = 2, C = 8, H = 14, F = 16, R = 3;\n"
        "op f(X: f32[N,C,H,H], K: f32[F,C,R,R]) -> Y: f32[N,F,H,H] {\n"
        "  Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[f,c,r,s]; }", 0, 0);
    extents(&p, 1, 16, 2 * 14 * 14, 72);
    vectors(&p.op[0], 1, 4);
    assert_int_equal(p.op[0].run_k, 72);
    vectors(&p.op[1], 1, 1);
    assert_true(p.op[1].guarded && p.op[1].affine && p.op[1].copyable);
    assert_int_equal(p.op[1].unique, 2 * 8 * 14 * 14);
    assert_int_equal(p.op[1].stride_mn, 1);
    assert_int_equal(p.out_run, 14 * 14);
    assert_int_equal(p.out_vec, 4);
}

/* 1x1 without padding: pixels of an image are one run; with stride 2 every other one.  */
static void pointwise(void **state) {
    static const char *const text = "param N = 2, C = 8, H = 14, F = 16, P = %s;\n"
        "op f(X: f32[N,C,H,H], K: f32[F,C]) -> Y: f32[N,F,P,P] {\n"
        "  Y[n,f,p,q] += X[n,c,%sp,%sq] * K[f,c]; }";
    Arena *a = *state;
    Problem p = problem_of(a, arena_printf(a, text, "14", "", ""), 0, 0);
    vectors(&p.op[1], 4, 1);
    assert_int_equal(p.op[1].run_mn, 196);
    assert_false(p.op[1].guarded);
    p = problem_of(a, arena_printf(a, text, "7", "2*", "2*"), 0, 0);
    vectors(&p.op[1], 1, 1);
    assert_int_equal(p.op[1].stride_mn, 2);
    assert_int_equal(p.op[1].unique, 2 * 8 * 7 * 7);
}

static void channels_last(void **state) {
    Problem p = problem_of(*state, "param N = 2, C = 8, H = 14, F = 16, R = 3;\n"
        "op f(X: f32[N,H,H,C], K: f32[R,R,C,F]) -> Y: f32[N,H,H,F] {\n"
        "  Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[r,s,c,f]; }", 0, 0);
    extents(&p, 1, 2 * 14 * 14, 16, 72);
    vectors(&p.op[0], 1, 4);
    vectors(&p.op[1], 4, 1);
    assert_int_equal(p.op[0].run_k, 24);
    assert_int_equal(p.out_vec, 4);
}

/* A fused bias and activation, a residual, and their traffic.  */
static void epilogue(void **state) {
    Problem p = problem_of(*state, "param M = 64, N = 32, K = 16;\n"
        "op f(A: f16[M,K], B: f16[K,N], b: f16[N], R: f16[M,N]) -> Y: f16[M,N] {\n"
        "  t[m,n] += A[m,k] * B[k,n];\n  Y[m,n] = max(t[m,n] + b[n] + R[m,n], 0); }", 0, 0);
    extents(&p, 1, 64, 32, 16);
    assert_int_equal(p.epilogue_bytes, 32 * 2 + 64 * 32 * 2);
    assert_int_equal(p.out_bytes, 64 * 32 * 2);
    assert_true(p.epilogue_ops >= 3);
    assert_false(p.op[0].copyable);
    assert_int_equal(p.op[0].elem, 4);
    assert_int_equal(p.out_vec, 8);
}

/* Expressions have the vectors of what they read, if all of it can be read so; bodies that are no
 * product cost their own work.  */
static void expressions(void **state) {
    Problem p = problem_of(*state, "param M = 64, N = 32, K = 16;\n"
        "op f(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] {\n"
        "  C[m,n] += abs(A[m,k]) * B[k,n]; }", 0, 0);
    assert_false(p.op[0].affine);
    assert_false(p.op[0].copyable);
    vectors(&p.op[0], 1, 4);
    assert_true(p.op[0].ops >= 1);
    p = problem_of(*state, "param M = 64, N = 32, K = 16;\n"
        "op f(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] {\n"
        "  C[m,n] max= abs(A[m,k] - B[k,n]); }", 0, 0);
    /* The maximum takes the magnitude as it reads its operand; one of integers is made.  */
    assert_true(p.contraction && p.body_ops == 1);
    p = problem_of(*state, "param M = 64, N = 32, K = 16;\n"
        "op f(A: i32[M,K], B: i32[K,N]) -> C: i32[M,N] {\n"
        "  C[m,n] max= abs(A[m,k] - B[k,n]); }", 0, 0);
    assert_true(p.contraction && p.body_ops == 2);
}

/* Chunks of weights with scales: along k (or n) as long as every read allows.  */
static void chunks(void **state) {
    static const struct {
        const char *tensors, *value;
        int mn, k;
    } row[] = {
        {"W: i8[N,K], s: f16[N,K/32]", "W[n,k] * s[n,k/32]", 1, 16},
        {"W: i8[N,K], s: f16[N,K/8]", "W[n,k] * s[n,k/8]", 1, 16},
        {"W: i8[N,K], s: f16[N,K/3]", "W[n,k] * s[n,k/3]", 1, 1},
        {"W: i8[N,K], s: f16[N]", "W[n,k] * s[n]", 1, 16},
        {"W: i8[N,K], s: f32[N,K]", "W[n,k] * s[n,k]", 1, 4},
        {"W: u8[N,K/2], s: f16[N]", "(k % 2 == 0 ? W[n,k/2] % 16 : W[n,k/2] / 16) * s[n]", 1, 16},
        {"W: i8[K,N], s: f16[K/32,N]", "W[k,n] * s[k/32,n]", 8, 1},
        {"W: i8[N,K] strides(100,1), s: f16[N]", "W[n,k] * s[n]", 1, 4},
        {"W: i8[N,K] strides(200,2), s: f16[N]", "W[n,k] * s[n]", 1, 1},
        {"W: i8[N,K+1], s: f16[N]", "W[n,k+1] * s[n]", 1, 1},
        {"W: i8[N,K+16], s: f16[N]", "W[n,k+16] * s[n]", 1, 16},
        {"W: i8[N,K], s: f16[N]", "(W[n,k-8] else 0) * s[n]", 1, 1},
        {"W: i8[N,K], i: i32[K]", "(W[n,i[k]] else 0)", 1, 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *text = arena_printf(*state, "param M = 8, N = 64, K = 96; op f(A: f16[M,K], %s)"
                                        " -> C: f16[M,N] { C[m,n] += A[m,k] * f16(%s); }",
                                        row[i].tensors, row[i].value);
        Problem p = problem_of(*state, text, 0, 0);
        assert_false(p.op[1].affine);
        vectors(&p.op[1], row[i].mn, row[i].k);
    }
}

/* Chunks at run-time sizes are those of what divides these at all sizes.  */
static void chunks_of_any_size(void **state) {
    static const struct {
        const char *sizes;
        int along_k;
    } row[] = {
        {"M = 1..64, N = 96, K = 128", 16},
        {"M = 64, N = 1..96, K = 128", 16},
        {"M = 64, N = 96, K = 64..512 % 64", 16},
        {"M = 64, N = 96, K = 8..512 % 8", 8},
        {"M = 64, N = 96, K = 2..512 % 2", 2},
        {"M = 64, N = 96, K = 1..512", 1},
    };
    static const char weights[] = "op f(A: f16[M,K], W: i8[N,K], s: f16[N]) -> C: f16[M,N]"
                                  " { C[m,n] += A[m,k] * f16(W[n,k] * s[n]); }";
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *text = arena_printf(*state, "param %s; %s", row[i].sizes, weights);
        Problem p = problem_of(*state, text, 0, 0);
        vectors(&p.op[1], 1, row[i].along_k);
    }
    Problem p = problem_of(*state, "param M = 1..64, N = 4..96 % 4, K = 1..128; op f(A: f16[M,K],"
        " W: i8[K,N], s: f16[N]) -> C: f16[M,N] { C[m,n] += A[m,k] * f16(W[k,n] * s[n]); }", 0, 0);
    vectors(&p.op[1], 4, 1);
    /* Groups of k that share a scale end within no chunk.  */
    p = problem_of(*state, "param M = 1..64, K = 48..480 % 48; op f(A: f16[M,K], W: i8[8,K],"
        " s: f16[8,K/24]) -> C: f16[M,8] { C[m,n] += A[m,k] * f16(W[n,k] * s[n,k/24]); }", 0, 0);
    vectors(&p.op[1], 1, 8);
}

/* Batches, broadcast operands and strides that are declared.  */
static void batches(void **state) {
    Problem p = problem_of(*state, "param B = 3, M = 64, N = 32, K = 16;\n"
        "op f(A: f32[B,M,K], W: f32[B,N,K]) -> C: f32[B,M,N] {\n"
        "  C[b,m,n] += A[b,m,k] * W[b,n,k]; }", 0, 0);
    extents(&p, 3, 64, 32, 16);
    vectors(&p.op[1], 1, 4);
    p = problem_of(*state, "param M = 64, N = 32, K = 16;\n"
        "op f(A: f32[M,K] strides(18,1), W: f32[K,N] strides(32,1)) -> C: f32[M,N] {\n"
        "  C[m,n] += A[m,k] * W[k,n]; }", 0, 0);
    vectors(&p.op[0], 1, 2);
    vectors(&p.op[1], 4, 1);
}

/* Sums whose tiles reuse nothing are domains with a reduction, too.  */
static void streams(void **state) {
    Problem tiled = problem_of(*state, "param N = 4, C = 64, H = 56, R = 3;\n"
        "op f(X: f32[N,C,H,H], K: f32[C,R,R]) -> Y: f32[N,C,H,H] {\n"
        "  Y[n,c,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[c,r,s]; }", 0, 0), p;
    assert_true(tiled.contraction);
    assert_false(rtile_reuses(&tiled));
    rtile_as_stream(*state, &tiled, 0, &p);
    assert_false(p.contraction);
    assert_int_equal(p.extent[AX_M], 4 * 64 * 56 * 56);
    assert_int_equal(p.extent[AX_K], 9);
    assert_int_equal(p.out_vec, 4);
    assert_int_equal(p.n_reads, 2);
    p = problem_of(*state, "param N = 1000;\n"
        "op f(X: f32[N], Y: f32[N]) -> Z: f16[N] { Z[i] = X[i] + Y[i]; }", 0, 0);
    assert_false(p.contraction);
    assert_int_equal(p.out_vec, 8);
    assert_int_equal(p.read_bytes, 8000);
    assert_int_equal(p.out_bytes, 2000);
    p = problem_of(*state, "param N = 70000, C = 100;\n"
        "op f(X: f32[N,C]) -> I: i32[N] { I[n] = argmax[c](X[n,c]); }", 0, 0);
    assert_false(p.contraction);
    p = problem_of(*state, "param N = 70000, C = 100;\n"
        "op f(X: f32[N,C]) -> I: f32[N] { I[n] = sum[c](X[n,c]); }", 0, 0);
    assert_non_null(p.row);
    assert_false(p.contraction);
    p = problem_of(*state, "param N = 8, C = 100;\n"
        "op f(X: f32[C,N]) -> I: f32[N] { I[n] max= X[c,n]; }", 0, 0);
    assert_true(p.contraction);
}

/* Packed weights: read by chunks, the half of a byte is a constant for each element of a chunk, so
 * what is done is one shift or mask, the subtraction and the cast; not where every element has its
 * own access, nor for other conditions.  */
static void packed_weights(void **state) {
    static const struct {
        const char *weight;
        double least, most;
    } row[] = {
        {"k % 2 == 0 ? W[n,k/2] % 16 : W[n,k/2] / 16", 3, 3},
        {"k % 2 != 0 && k % 4 >= 0 ? W[n,k/2] / 16 : W[n,k/2] % 16", 3, 3},
        {"k % 3 == 0 ? W[n,k/2] % 16 : W[n,k/2] / 16", 6, 20},
        {"n % 2 == 0 ? W[n,k/2] % 16 : W[n,k/2] / 16", 6, 20},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *text = arena_printf(
            *state, "op f(A: f16[64,128], W: u8[64,64]) -> C: f32[64,64]"
                    " { C[m,n] += A[m,k] * f16((%s) - 8); }", row[i].weight);
        Problem p = problem_of(*state, text, 0, 0);
        const ROperand *w = &p.op[1];
        if (w->vec_k < 4 || w->ops < row[i].least || w->ops > row[i].most)
            fail_msg("%d along k, %g operations: %s", w->vec_k, w->ops, row[i].weight);
    }
}

/* Every group of some ops plans on every profile.  */
static void plans(void *user) {
    Arena *a = user;
    static const char *const texts[] = {
        "param N = 64, C = 100; op f(X: f32[N,C]) -> Y: f32[N,C] { m[n] = max[c](X[n,c]);\n"
        "  z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }",
        "param M = 5, N = 7, K = 3; op f(A: bool[M,K], B: bool[K,N]) -> C: bool[M,N] {\n"
        "  C[m,n] = any[k](A[m,k] && B[k,n]); }",
        "param M = 30, N = 50, K = 70; op f(A: i64[M,K], B: i64[K,N]) -> C: i64[M,N] {\n"
        "  C[m,n] += A[m,k] * B[k,n]; }",
        "param M = 0, N = 50, K = 70; op f(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] {\n"
        "  C[m,n] += A[m,k] * B[k,n]; }",
        "param M = 30, N = 50, K = 0; op f(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] {\n"
        "  C[m,n] += A[m,k] * B[k,n]; }",
        "param K = 1000; op f(A: f32[K], B: f32[K]) -> C: f32 { C[] += A[k] * B[k]; }",
        "param M = 9; op f(A: f8e4m3[M]) -> C: f8e4m3[M] { C[i] = A[8-i]; }",
        "param M = 40, N = 48, K = 64; op f(A: i8[M,K], B: u8[N,K]) -> C: i32[M,N] {\n"
        "  C[m,n] += A[m,k] * B[n,k]; }",
    };
    static const char *const names[] = {"h200", "v100", "tiny"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        for (int d = 0; d < 3; d++) {
            Device *dev = fixture_device(a, names[d]);
            Diag own = diag_new(a);
            Te *te, *normal;
            KernelGroup *groups;
            if (te_parse(a, &own, diag_text("x", texts[t]), NULL, NULL, &te) ||
                te_normalize(a, &own, te, &normal)) {
                fail_msg("%s", own.messages[0].message);
            }
            int n = access_groups(a, normal, &groups);
            for (int g = 0; g < n; g++) {
                Problem p;
                RProgSet set;
                Ranked *best;
                rtile_problem(a, &own, normal, &groups[g], 16, &p);
                if (rprog_candidates(a, &own, &p, dev, NULL, &set))
                    fail_msg("%s on %s: %s", texts[t], names[d], own.messages[0].message);
                int got = mp_rank(a, &p, dev, &set, 3, &best);
                for (int i = 0; i < got; i++) assert_null(rprog_check(&p, dev, &best[i].prog));
            }
        }
    }
}

static void whole_ops_plan(void **state) { assert_true(arena_try(*state, plans, *state)); }

/* The widest accesses to `count` neighbours in the domain's order that are whole and aligned
 * wherever they begin, told by trying all points.  */
static int widest_of(const TeStmt *s, const Access *x, int count, int most) {
    int64_t columns = s->index[1].hi.value, all = s->index[0].hi.value * columns;
    int best = 1;
    for (int w = 2; w <= count && w <= most; w *= 2) {
        bool fits = all % count == 0;
        for (int64_t n = 0; n < all && fits; n++) {
            int64_t first = n - n % w;
            int64_t here = x->offset.c + x->offset.coef[0] * (n / columns) +
                           x->offset.coef[1] * (n % columns);
            int64_t begins = x->offset.c + x->offset.coef[0] * (first / columns) +
                             x->offset.coef[1] * (first % columns);
            fits = begins % w == 0 && here - begins == n - first;
        }
        if (fits) best = w;
    }
    return best;
}

static void neighbours(void **state) {
    static const char *const text[] = {
        "op f(X: f16[6,24]) -> Y: f16[6,24] { Y[i,j] = X[i,j]; }",
        "op f(X: f16[24,6]) -> Y: f16[6,24] { Y[i,j] = X[j,i]; }",
        "op f(X: f16[8,40]) -> Y: f16[6,24] { Y[i,j] = X[i+1,j+8]; }",
        "op f(X: f16[6,36]) -> Y: f16[6,24] { Y[i,j] = X[i,j+4]; }",
        "op f(X: f16[6,25]) -> Y: f16[6,24] { Y[i,j] = X[i,j+1]; }",
        "op f(X: f16[13,48]) -> Y: f16[6,24] { Y[i,j] = X[2*i+1,2*j]; }",
        "op f(X: f16[6,3]) -> Y: f16[6,3] { Y[i,j] = X[i,j] + 1; }",
        "op f(X: f32[12,2]) -> Y: f32[12,2] { Y[i,j] = exp(X[i,j]); }"};
    static const int order[] = {1, 0};
    int wide = 0;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        Problem p = problem_of(*state, text[i], 0, 0);
        const TeStmt *s = &p.te->stmt[p.group->root];
        ReadList reads = access_reads(s->rhs);
        Access x;
        access_read(p.te, s, reads.at[0], &x);
        if (s->n_left < 2) continue;
        for (int count = 1; count <= 16; count *= 2) {
            for (int align = 2; align <= 32; align *= 2) {
                int bytes = te_dtype_bytes(p.te->tensor[x.tensor].dtype);
                int most = (align < 16 ? align : 16) / bytes;
                Neighbours n = {s, order, 2, count, false};
                int w = rtile_neighbour_width(p.te, &n, &x, align);
                int widest = widest_of(s, &x, count, most);
                assert_true(w <= widest);
                if (i == 0) assert_int_equal(w, widest);
                wide += w > 1;
            }
        }
    }
    assert_true(wide > 20);
}

/* No access to a tensor that is given is wider than its alignment is promised to be.  */
static void promises(void **state) {
    static const char *const text[] = {
        "op f(X: f16[8,64,64,3], W: f16[64,7,7,3]) -> Y: f16[8,32,32,64] {"
        " Y[n,p,q,f] += (X[n,2*p+r-3,2*q+s-3,c] else 0) * W[f,r,s,c]; }",
        "op f(X: f16[8,16,32,32], W: f16[64,16,3,3]) -> Y: f16[8,64,32,32] {"
        " Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f,c,r,s]; }",
        "op f(A: f16[256,512], B: f16[512,128]) -> C: f16[256,128] { C[m,n] += A[m,k] * B[k,n]; }"};
    Arena *a = *state;
    Diag d = diag_new(a);
    Device *dev = fixture_device(a, "h200");
    int regions = 0;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        for (int align = 2; align <= 16; align *= 2) {
            ArenaMark mark = arena_mark(a);
            Problem p = problem_of(a, text[i], align, 0);
            RPlanOptions o = {.align = align, .workspace_limit = -1, .max_candidates = 1000};
            RProgSet set;
            assert_int_equal(rprog_candidates(a, &d, &p, dev, &o, &set), ST_OK);
            for (int k = 0; k < set.n; k++) {
                const RProg *r = &set.prog[k];
                if (r->skeleton != SK_CONTRACT) continue;
                for (int side = 0; side < 2; side++) {
                    assert_true(r->load[side].vec * p.op[side].bytes <= align);
                    regions += r->load[side].region;
                }
                if (r->split == 1) assert_true(r->store_vec * 2 <= align);
            }
            arena_reset(a, mark);
        }
    }
    assert_true(regions > 0);
}

/* Where scales of neighbouring rows lie: a row `step` bytes behind the one before, or of `share`
 * rows at once; `wide` rows, 32 apart, whose scales of four blocks lie side by side.  */
static void rows_of_scales(void **state) {
    static const struct {
        const char *tensor, *read;
        int step, share, wide;
    } row[] = {
        {"[N,K/32]", "[n,k/32]", 8, 1, 1},
        {"[K/32,N]", "[k/32,n]", 1, 1, 1},
        {"[N/16,K/32]", "[n/16,k/32]", 8, 16, 1},
        {"[2,2,32,4,4]", "[n/128,k/128,n%32,n/32%4,k/32%4]", 16, 1, 4},
        {"[4,2,32,2,4]", "[n/64,k/128,n%32,n/32%2,k/32%4]", 8, 1, 2},
        {"[2,2,32,4,4]", "[n/128,k/128,n%32,k/32%4,n/32%4]", 16, 1, 1},
        {"[2,2,32,4,4] strides(1024,512,16,4,1)", "[n/128,k/128,n%32,n/32%4,k/32%4]", 16, 1, 4},
        {"[2,2,32,4,4] strides(1088,520,16,4,1)", "[n/128,k/128,n%32,n/32%4,k/32%4]", 16, 1, 2},
    };
    for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
        const char *text = arena_printf(
            *state, "param N = %d, K = 256; op f(A: f8e4m3[64,K], B: f8e4m3[N,K], S: f8ue8m0%s) ->"
                    " C: f32[64,N] { C[m,n] += A[m,k] * (B[n,k] * S%s); }",
            i % 2 ? 256 : 240, row[i / 2].tensor, row[i / 2].read);
        Problem p = problem_of(*state, text, 0, 0), scaled;
        const char *why;
        assert_true(rtile_as_scaled(*state, &p, p.align, &scaled, &why));
        int side = scaled.con.operand[1].scale != NULL, wide = 1;
        const TeExpr *read = scaled.con.operand[side].scale;
        const TeStmt *s = &scaled.te->stmt[scaled.con.stmt];
        const FusedAxis *own = &scaled.con.axis[side ? AX_N : AX_M];
        int64_t place[32];
        assert_true(rtile_row_places(scaled.te, s, read, own, 32, place));
        for (int j = 0; j < 32; j++)
            assert_int_equal(place[j], j / row[i / 2].share * row[i / 2].step);
        for (int n = 2; n <= 4; n *= 2)
            if (rtile_beside(scaled.te, s, read, own, (Spread){n, 32}, 4)) wide = n;
        assert_int_equal(wide, row[i / 2].wide);
    }
}

/* Which read has the columns of a reduction may be another one at other sizes, but kernels are for
 * all.  */
static void columns_are_those_of_all_sizes(void **state) {
    Arena *a = *state;
    Problem p = problem_of(a, "param K = 2..5;\n"
        "op f(X: u8[32,K,7], M: f32[7,32]) -> Y: f32[7,32] {"
        " Y[i,j] = sum[k](X[j,k,i] - M[i,j]) where k in 0:K; }", 0, 0), small;
    rtile_resize(a, &p, te_sized(a, p.te, (const int64_t[]){2}), 0, &small);
    const FusedAxis *x = &p.column.out, *y = &small.column.out;
    assert_true(p.column.fits && small.column.fits && x->n == 2 && y->n == 2);
    assert_memory_equal(x->index, y->index, 2 * sizeof *x->index);
    assert_int_equal(small.column.red.extent, 2);
}

/* So may the one that has the window: here the weights are the larger ones at small sizes.  */
static void windows_are_those_of_all_sizes(void **state) {
    Arena *a = *state;
    Problem p = problem_of(a, "param H = 4..64;\n"
        "op f(X: f16[H,H,64], K: f16[8,3,3,64]) -> Y: f16[H,H,8] {"
        " Y[p,q,f] += (X[p+r-1,q+s-1,c] else 0) * K[f,r,s,c]; }", 0, 0), small;
    rtile_resize(a, &p, te_sized(a, p.te, (const int64_t[]){4}), 0, &small);
    const WindowView *x = &p.window, *y = &small.window;
    assert_true(x->fits && y->fits && x->source[0].read == y->source[0].read);
    assert_int_equal(y->source[0].dil_n, 1);
    assert_int_equal(y->q, x->q);
    assert_int_equal(y->extent_q, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plain_matmul, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ragged_vectors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gathered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(convolution, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pointwise, set_up, tear_down),
        cmocka_unit_test_setup_teardown(channels_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(epilogue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(expressions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chunks_of_any_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(batches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(streams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packed_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whole_ops_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(neighbours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(promises, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_of_scales, set_up, tear_down),
        cmocka_unit_test_setup_teardown(columns_are_those_of_all_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_are_those_of_all_sizes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
