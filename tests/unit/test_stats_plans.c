/* links: driver */
/* Plans with statements over rows of a contraction's results: text, rules and choice, counters
 * against the model's, and the blocks that a sampled check runs.  */
#include "case_run.h"
#include "driver/pipeline/compile.h"
#include "driver/check/run.h"
#include "driver/check/sample.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"
#include "stats_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const char softmax_f16[] = "param B = 2, M = 40, N = 72, D = 32;"
                                  STATS_SOFTMAX("f16", "f16", "[B,M,D]", "[B,N,D]");

/* ---- what joins ---- */

static const struct {
    const char *name, *text;
    int groups;
    bool joined;              /* the last group has statements over rows */
} join[] = {
    {"rows of a product", "op f(A: f16[40,16], B: f16[24,16]) -> S: f32[40] {"
     " C[m,n] += A[m,k] * B[n,k]; S[m] = max[n](C[m,n]); }", 1, true},
    {"several indices of columns", "op f(A: f16[40,16], B: f16[6,4,16]) -> S: f32[40] {"
     " C[m,p,q] += A[m,k] * B[p,q,k]; S[m] = max[p,q](C[m,p,q]); }", 1, true},
    {"channels of an image", "op f(X: f16[2,9,9,16], W: f16[24,3,3,16]) -> Y: f16[2,7,7,24] {"
     " t[n,p,q,f] += X[n,p+r,q+s,c] * W[f,r,s,c]; m[n,p,q] = max[f](t[n,p,q,f]);"
     " Y[n,p,q,f] = t[n,p,q,f] - m[n,p,q]; }", 1, true},
    {"a statement that is needed comes later", "op f(A: f16[40,16], B: f16[24,16], X: f32[40,99])"
     " -> Y: f32[40,24] { C[m,n] += A[m,k] * B[n,k]; x[m] = sum[i](X[m,i]);"
     " s[m] = max[n](C[m,n] * x[m]); Y[m,n] = C[m,n] - s[m]; }", 2, true},
    {"a statement stands between", "op f(A: f16[40,16], B: f16[24,16], X: f32[24,99])"
     " -> Y: f32[40,24] { C[m,n] += A[m,k] * B[n,k]; x[m,i] = sum[n](C[m,n] * X[n,i]);"
     " s[m] = max[n](C[m,n] * x[m,0]); Y[m,n] = C[m,n] - s[m]; }", 3, false},
    {"positions", "op f(A: f16[40,16], B: f16[24,16]) -> S: i32[40] {"
     " C[m,n] += A[m,k] * B[n,k]; S[m] = argmax[n](C[m,n]); }", 2, false},
    {"columns", "op f(A: f16[40,16], B: f16[24,16]) -> (C: f32[40,24], S: f32[24]) {"
     " C[m,n] += A[m,k] * B[n,k]; S[n] = max[m](C[m,n]); }", 1, true},
    {"a part of the columns", "op f(A: f16[40,16], B: f16[24,16]) -> S: f32[40] {"
     " C[m,n] += A[m,k] * B[n,k]; S[m] = max[n](C[m,n]) where n in 0:12; }", 2, false},
    {"rows and columns", "op f(A: f16[40,16], B: f16[24,16]) -> S: f32 {"
     " C[m,n] += A[m,k] * B[n,k]; S[] = max[m,n](C[m,n]); }", 2, false},
    {"neighbours", "op f(A: f16[40,16], B: f16[24,16]) -> S: f32[40] { C[m,n] += A[m,k] * B[n,k];"
     " S[m] = max[n](C[m,n] + (C[m,n+1] else 0)); }", 2, false},
    {"one operand", "op f(A: f32[40,24,16]) -> S: f32[40] { C[m,n] += A[m,n,k];"
     " S[m] = max[n](C[m,n]); }", 2, false},
    {"sizes known at run time", "param M = 1..64; op f(A: f16[M,16], B: f16[24,16]) -> S: f32[M] {"
     " C[m,n] += A[m,k] * B[n,k]; S[m] = max[n](C[m,n]); }", 1, true},
    {"maybe no rows", "param M = 0..64; op f(A: f16[M,16], B: f16[24,16]) -> S: f32[M] {"
     " C[m,n] += A[m,k] * B[n,k]; S[m] = max[n](C[m,n]); }", 1, true},
    {"maybe no columns", "param N = 0..64; op f(A: f16[40,16], B: f16[N,16]) -> S: f32[40] {"
     " C[m,n] += A[m,k] * B[n,k]; S[m] = max[n](C[m,n]); }", 2, false},
};

static void test_shapes(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "a100");
    int wrong = 0;
    for (size_t i = 0; i < sizeof join / sizeof *join; i++) {
        KernelCase c;
        const char *why = kernel_open_decided(&c, a, dev, join[i].text, NULL, JOINED);
        bool joined = !why && c.plan.n > 0 && c.plan.group[c.plan.n - 1].stats;
        bool right = !why && c.plan.n == join[i].groups && joined == join[i].joined;
        if (!right)
            print_error("%s: %s, %d groups, %s\n", join[i].name, why ? why : "opened", c.plan.n,
                        joined ? "joined" : "apart");
        wrong += !right;
    }
    assert_int_equal(wrong, 0);
    arena_destroy(a);
}

/* Elements that are stored say in which order columns lie, though values of rows say which indices
 * are columns.  */
static void test_order(void **state) {
    static const char *const text[] = {
        "op f(A: f16[40,16], B: f16[8,6,16]) -> (S: f32[40], Y: f16[40,6,8]) {"
        " C[m,x,y] += A[m,k] * B[x,y,k]; S[m] = sum[x,y](C[m,x,y]);"
        " Y[m,y,x] = max(C[m,x,y], 0); }",
        "op f(A: f16[8,6,16], B: f16[40,16]) -> (Y: f16[40,6,8], S: f32[40]) {"
        " C[x,y,n] += A[x,y,k] * B[n,k]; Y[n,y,x] = max(C[x,y,n], 0);"
        " S[n] = sum[x,y](C[x,y,n]); }"};
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "a100");
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        KernelCase c;
        assert_null(kernel_open_decided(&c, a, dev, text[i], NULL, JOINED));
        assert_int_equal(c.plan.n, 1);
        assert_non_null(c.plan.group[0].stats);
        assert_int_equal(c.plan.problem[0].extent[AX_N], 48);
        assert_int_equal(c.plan.problem[0].out_vec, 8);
    }
    arena_destroy(a);
}

/* ---- counters ---- */

/* A program of a kind with whole rows in tiles that divide the product; rows of a thread that are
 * neighbours are left out, for the compiler joins their stores.  */
static bool pick_whole(KernelCase *c, StatsKind kind) {
    const Problem *p = &c->plan.problem[0];
    const RProg *r = &c->plan.prog[0];
    for (uint64_t seed = 1; seed < 60; seed++) {
        if (!stats_pick(c, kind, seed)) return false;
        if ((kind.matrix || r->vec_m == 1) && p->extent[AX_M] % r->block.extent[AX_M] == 0 &&
            p->extent[AX_K] % r->block.extent[AX_K] == 0 &&
            p->extent[AX_N] == r->block.extent[AX_N])
            return true;
    }
    return false;
}

static SimCounters counted(KernelCase *c) {
    Run run;
    assert_int_equal(case_run(c, TE_FILL_REALS, &(SimOptions){.threads = 1, .seed = 1}, &run),
                     ST_OK);
    return run.report.total;
}

static void test_counters(void **state) {
    (void)state;
    static const char *const text[] = {
        "param B = 2, M = 64, N = 128, D = 64;" STATS_SOFTMAX("f16", "f32", "[B,M,D]", "[B,N,D]"),
        "param B = 2, M = 64, N = 64, D = 32;" STATS_SOFTMAX("f32", "f32", "[B,M,D]", "[B,N,D]"),
        "op f(A: f16[64,32], B: f16[64,32], g: f32[64]) -> Y: f16[64,64] {"
        " C[m,n] += A[m,k] * B[n,k]; s[m] = sum[n](C[m,n] * C[m,n]) / 64;"
        " Y[m,n] = C[m,n] * rsqrt(s[m]) * g[n]; }",
        "op f(A: f16[64,32], B: f16[64,32]) -> S: f32[64] {"      /* whose columns nobody stores */
        " C[m,n] += A[m,k] * B[n,k]; S[m] = sum[n](max(C[m,n], 0)); }",
        "op f(A: f16[64,32], B: f16[64,32]) -> (Y: f16[64,64], S: f32[64]) {"     /* down columns */
        " C[m,n] += A[m,k] * B[n,k]; Y[m,n] = C[m,n]; S[n] = sum[m](C[m,n]); }",
    };
    int compared = 0;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    const Device *dev = fixture_device(a, "a100");
    assert_int_equal(nvrtc_open(a, &d, NULL, "sm_80", &nvrtc), ST_OK);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        for (int s = 0; s < STATS_KINDS; s++) {
            KernelCase c;
            Estimate e;
            assert_null(kernel_open_decided(&c, a, dev, text[i], NULL, JOINED));
            if (stats_kinds[s].stats != STATS_WHOLE || !pick_whole(&c, stats_kinds[s])) continue;
            assert_null(kernel_emit(&c));
            assert_null(kernel_compile(&c, nvrtc, false));
            SimCounters t = counted(&c);
            mp_estimate(&c.plan.problem[0], &c.plan.prog[0], dev, &e);
            /* those of the operands alone */
            if (i < 2) assert_int_equal(t.global_load_sectors, e.load_sectors);
            assert_int_equal(t.global_store_sectors, e.store_sectors);
            assert_int_equal(t.shared_load_wavefronts, e.smem_load_wavefronts);
            assert_int_equal(t.shared_store_wavefronts, e.smem_store_wavefronts);
            compared++;
        }
    }
    print_message("%d programs\n", compared);
    assert_true(compared > 4);
    arena_destroy(a);
}

/* ---- plans ---- */

static void test_text(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    KernelCase c;
    const Device *dev = fixture_device(a, "a100");
    assert_null(kernel_open_decided(&c, a, dev, softmax_f16, NULL, JOINED));
    for (int kind = 4; kind < 6; kind++) {
        assert_true(stats_pick(&c, stats_kinds[kind], 3));
        Buf text = buf_new(a), again = buf_new(a);
        rprog_print(&c.plan, c.dev, &text);
        assert_non_null(strstr(buf_str(&text), kind == 4 ? "rows whole\n" : "rows partial lanes "));
        RPlan back = {.te = c.plan.te, .group = c.plan.group, .problem = c.plan.problem, .n = 1};
        back.prog = ARENA_ARRAY(a, RProg, 1);
        assert_int_equal(rprog_read(a, &c.diag, (DiagText){"p", buf_str(&text), text.len}, dev,
                                    &back), ST_OK);
        rprog_print(&back, dev, &again);
        assert_string_equal(buf_str(&text), buf_str(&again));
    }
    arena_destroy(a);
}

static void test_rules(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    KernelCase c, plain;
    const Device *dev = fixture_device(a, "a100");
    assert_null(kernel_open_decided(&c, a, dev, softmax_f16, NULL, JOINED));
    assert_null(kernel_open_decided(&plain, a, dev, softmax_f16, NULL, USUAL));
    for (uint64_t seed = 1; seed < 100 && c.plan.prog[0].warp.extent[AX_K] != 32; seed++)
        assert_true(stats_pick(&c, stats_kinds[5], seed));
    const Problem *p = &c.plan.problem[0];
    const RProg good = c.plan.prog[0];
    assert_null(rprog_check(p, dev, &good));
#define BREAK(change, words)                                                                       \
    {                                                                                              \
        RProg r = good;                                                                            \
        change;                                                                                    \
        const char *why = rprog_check(p, dev, &r);                                                 \
        assert_non_null(why);                                                                      \
        assert_non_null(strstr(why, words));                                                       \
    }
    BREAK(r.stats = STATS_NONE, "rows are")
    BREAK(r.stats = STATS_WHOLE, "all columns")
    BREAK(r.split = 2; r.store_vec = 1; r.via = VIA_DIRECT, "all k-steps")
    BREAK(r.tail = 1; r.tail_blocks = 1; r.store_vec = 1, "all k-steps")
    BREAK(r.warp.extent[AX_K] /= 2; r.unroll /= 2, "share")
    BREAK(r.stats = STATS_TURNS; r.raster = RASTER_ROW, "`column`")
    BREAK(r.stats = STATS_TURNS; r.raster = RASTER_COLUMN; r.split = 2; r.store_vec = 1;
          r.via = VIA_DIRECT, "all k-steps")
#undef BREAK
    Problem many = *p;
    many.extent[AX_B] = INT32_MAX / p->extent[AX_M] + 1;
    assert_non_null(strstr(rprog_check(&many, dev, &good), "32 bits"));
    int in_turns = 0;
    for (int i = 0; i < c.set[0].n; i++) {
        const RProg *r = &c.set[0].prog[i];
        assert_true(r->split == 1 && r->tail == 0);
        assert_int_equal(r->block.extent[AX_N] >= p->extent[AX_N], r->stats == STATS_WHOLE);
        in_turns += r->stats == STATS_TURNS;
    }
    assert_true(in_turns > 0);
    assert_int_equal(plain.plan.n, 2);
    RProg r = plain.set[0].prog[0];
    r.stats = STATS_WHOLE;
    assert_non_null(strstr(rprog_check(&plain.plan.problem[0], dev, &r), "no statements"));
    arena_destroy(a);
}

/* No more workspace than is allowed, down to none.  */
static void test_workspace(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    KernelCase c;
    RProgSet some, none;
    const Device *dev = fixture_device(a, "a100");
    assert_null(kernel_open_decided(&c, a, dev, softmax_f16, NULL, JOINED));
    const Problem *p = &c.plan.problem[0];
    RPlanOptions little = {.align = 16, .workspace_limit = 2 * 40 * (3 * 2 + 2) * 4};
    RPlanOptions nothing = {.align = 16};
    assert_int_equal(rprog_candidates(a, &c.diag, p, dev, &little, &some), ST_OK);
    assert_int_equal(rprog_candidates(a, &c.diag, p, dev, &nothing, &none), ST_OK);
    int parts = 0;
    for (int i = 0; i < some.n; i++) {
        parts += some.prog[i].stats == STATS_PARTIAL;
        assert_true(rprog_workspace(p, &some.prog[i]) <= little.workspace_limit);
    }
    assert_true(parts > 0 && some.rejected[REJECT_WORKSPACE] > 0);
    for (int i = 0; i < none.n; i++) assert_int_not_equal(none.prog[i].stats, STATS_PARTIAL);
    arena_destroy(a);
}

/* Blocks that a sampled check needs: all of a row's, and those that make its values.  */
static void test_strips(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    KernelCase c;
    const Device *dev = fixture_device(a, "a100");
    assert_null(kernel_open_decided(&c, a, dev, softmax_f16, NULL, JOINED));
    const Problem *p = &c.plan.problem[0];
    for (int raster = RASTER_ROW; raster <= RASTER_GROUPED; raster++) {
        for (uint64_t seed = 1; seed < 20; seed++) {
            assert_true(stats_pick(&c, stats_kinds[1 + seed % 2 * 4], seed));
            RProg r = c.plan.prog[0];
            r.raster = (Raster)raster;
            r.group = raster == RASTER_GROUPED ? 2 : 0;
            IndexMap m;
            index_map(p, &r, 0, &m);
            int64_t total = rprog_blocks(p, &r), x[2] = {(int64_t)seed % total, total - 1}, *id;
            int n = sample_strips(a, &(Sample){.map = m, .block = x, .n_block = 2}, 0, &id),
                found = 0;
            for (int64_t i = 0; i < total; i++) {
                IndexBox block, wanted;
                bool same = false;
                index_box(&m, i, &block);
                for (int k = 0; k < 2; k++) {
                    index_box(&m, x[k], &wanted);
                    same |= wanted.lo[AX_M] == block.lo[AX_M] && wanted.lo[AX_B] == block.lo[AX_B];
                }
                if (same) assert_true(found < n && id[found] == i);
                found += same;
            }
            assert_int_equal(found, n);
            n = sample_strips(a, &(Sample){.map = m, .block = x, .n_block = 2}, 4, &id);
            for (int k = 0; k < 2; k++) {
                IndexBox wanted;
                index_box(&m, x[k], &wanted);
                int64_t first = wanted.lo[AX_B] * p->extent[AX_M] + wanted.lo[AX_M], at = 0;
                while (at < n && id[at] != first / 4) at++;
                assert_true(at < n);
            }
            for (int i = 1; i < n; i++) assert_true(id[i - 1] < id[i]);
        }
    }
    assert_false(rprog_stats_combines(p, &c.plan.prog[0], 0));
    assert_true(rprog_stats_combines(p, &c.plan.prog[0], 1));
    assert_false(rprog_stats_combines(p, &c.plan.prog[0], 2));
    arena_destroy(a);
}

/* Rows of a product join it where products are cheap beside storing them: scores of attention, but
 * not a norm behind a long sum that would be computed twice.  */
static void test_choice(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool joined, turns;
    } shape[] = {
        {"param B = 32, M = 2048, N = 2048, D = 128;"
         STATS_SOFTMAX("bf16", "bf16", "[B,M,D]", "[B,N,D]"),
         true, true},
        {"param B = 192, M = 64, N = 64, D = 128;"
         STATS_SOFTMAX("f32", "f32", "[B,M,D]", "[B,N,D]"),
         true, false},
        {"op f(A: f16[4096,4096], W: f16[4096,4096]) -> Y: f16[4096,4096] {"
         " C[m,n] += A[m,k] * W[k,n]; s[m] = sum[n](C[m,n] * C[m,n]);"
         " Y[m,n] = C[m,n] * rsqrt(s[m]); }", false, false},
    };
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h200");
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        Diag d = diag_new(a);
        Te *te;
        PlanSet set;
        WholePlan plan;
        CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
        assert_int_equal(te_parse(a, &d, diag_text("t.te", shape[i].text), NULL, NULL, &te), ST_OK);
        assert_int_equal(compile_plan(a, &d, &(PlanRequest){te, dev, &o}, &set), ST_OK);
        compile_choose(a, &set, 0, &plan);
        assert_int_equal(decided(set.normal) == JOINED, shape[i].joined);
        if (!shape[i].joined) continue;
        const RProg *r = &plan.rplan.prog[0];
        assert_int_equal(r->stats, shape[i].turns ? STATS_TURNS : STATS_WHOLE);
        Buf said = buf_new(a);
        Ranked best = {.prog = *r, .estimate = plan.estimate[0]};
        RProgSet none = {0};
        mp_explain(&plan.rplan.problem[0], dev, &none, &best, 1, &said);
        assert_non_null(strstr(buf_str(&said), shape[i].turns ? "again" : "whole rows"));
    }
    arena_destroy(a);
}

/* A division by a power of two is one product, e^x of a sum's terms five instructions.  */
static void test_work(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "a100");
    double ops[2];
    for (int i = 0; i < 2; i++) {
        KernelCase c;
        const char *text = arena_printf(
            a, "op f(A: f16[40,16], B: f16[1024,16]) -> S: f32[40] { C[m,n] += A[m,k] * B[n,k];"
            " x[m] = max[n](C[m,n] %s); S[m] = sum[n](exp(C[m,n] %s - x[m])); }",
            i ? "/ 8" : "* 0.25", i ? "/ 8" : "* 0.25");
        assert_null(kernel_open_decided(&c, a, dev, text, NULL, JOINED));
        const StatFacts *f = c.plan.problem[0].stats;
        ops[i] = f->fold_ops[1];
        assert_true(f->functions[0] == 0 && f->functions[1] == 1);
    }
    assert_true(ops[0] == ops[1] && ops[0] == 8);     /* product, difference, five, sum */
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),   cmocka_unit_test(test_rules),
        cmocka_unit_test(test_choice), cmocka_unit_test(test_strips),
        cmocka_unit_test(test_counters), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_order), cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
