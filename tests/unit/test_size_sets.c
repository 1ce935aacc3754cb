/* Programs for run-time sizes: how many there are, which one a size takes, that each is right, and
 * that they are written and read.  */
#include "arena_fixture.h"
#include "driver/check/check.h"
#include "driver/pipeline/compile.h"
#include "driver/check/sample.h"
#include "driver/sizes/size_points.h"
#include "base/hash.h"
#include "effort.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static Device *dev, *tiny;
static PlanSet set;
static WholePlan whole;
static Build build;

static int setup(void **state) {
    (void)state;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    return hal_profile_find(arena, &diag, "h200", "profiles", NULL, &dev) ||
           hal_profile_find(arena, &diag, "tiny", "profiles", NULL, &tiny) ? -1 : 0;
}

/* With at most so many programs for run-time sizes; 0: as many as pay.  */
static void plan_with(const char *text, int programs) {
    CompileOptions o = {.top = 100, .align = 16, .workspace_limit = -1, .programs = programs};
    Te *te;
    diag = diag_new(arena);
    must(te_parse(arena, &diag, diag_text("case.te", text), NULL, NULL, &te));
    must(compile_plan(arena, &diag, &(PlanRequest){te, dev, &o}, &set));
    compile_choose(arena, &set, 0, &whole);
}

static void plan(const char *text) { plan_with(text, 0); }

static int64_t *sizes_of(int64_t first, int64_t second) {
    int64_t *v = ARENA_ARRAY(arena, int64_t, set.te->n_size + 1);
    int64_t given[] = {first, second};
    for (int i = 0, n = 0; i < set.te->n_size; i++)
        v[i] = rplan_varies(set.te, i) && n < 2 ? given[n++] : set.te->size[i].extent.value;
    return v;
}

/* ---- how many ---- */

static const char products[] =
    "param M = 2..600; op f(A: f16[M,256], B: f16[256,256]) -> C: f16[M,256]"
    " { C[m,n] += A[m,k] * B[k,n]; }";
static const char rows[] =
    "param N = 1..64, C = 8..2048 % 8; op f(X: f32[N,C]) -> (S: f32[N], Y: f32[N,C])"
    " { S[n] += X[n,c]; Y[n,c] = X[n,c] - S[n]; }";

static void test_as_few_as_needed(void **state) {
    (void)state;
    plan("param M = 1..64; op f(X: f32[M]) -> Y: f32[M] { Y[m] = X[m] * 2; }");
    assert_int_equal(set.n_program, 1);
    assert_null(set.select);
    assert_non_null(strstr(set.sizes, "one program for all"));
    plan("op f(X: f32[64]) -> Y: f32[64] { Y[m] = X[m] * 2; }");
    assert_int_equal(set.n_program, 1);
    assert_null(set.sizes);
    plan("param N = 1..64, H = 2..512 % 2; op f(X: f32[N,H,H]) -> Y: f32[N,H/2,H/2]"
         " { Y[n,p,q] = sum[r,s](X[n,2*p+r,2*q+s]) where r in 2, s in 2; }");
    assert_in_range(set.n_program, 2, RPLAN_SET / 2);     /* others gain nearly nothing */
    plan(products);
    assert_in_range(set.n_program, 2, RPLAN_SET);
    for (int i = set.n_group; i < set.n_program; i++) assert_int_equal(set.plans[i].group, 0);
}

/* As many as are wanted, if more would pay; each that there is takes something off.  */
static void test_as_few_as_wanted(void **state) {
    static const char text[] =
        "param M = 2..600, N = 8..512 % 8; op f(A: f16[M,256], B: f16[256,N]) -> C: f16[M,N]"
        " { C[m,n] += A[m,k] * B[k,n]; }";
    double mean[3];
    (void)state;
    for (int most = 1; most <= 3; most++) {
        plan_with(text, most);
        assert_int_equal(set.n_program, most);
        const char *words = strstr(set.sizes, "prediction, ");
        assert_non_null(words);
        mean[most - 1] = strtod(words + strlen("prediction, "), NULL);
    }
    assert_true(mean[0] > mean[1] && mean[1] > mean[2]);
}

/* One program is all there is where it loses less than 5 % at every size, and only there.  */
static void test_one_program_where_it_is_near(void **state) {
    static const int columns[] = {64, 256, 1024, 4096};
    int alone = 0, several = 0;
    (void)state;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        plan(arena_printf(arena, "param M = 16..1024; op f(X: f32[M,%d]) -> Y: f32[M,%d]"
                                 " { S[m] += X[m,n]; Y[m,n] = X[m,n] - S[m]; }",
                          columns[i], columns[i]));
        double most = 0;
        for (int64_t m = 16; m <= 1024; m *= 2) {
            int64_t *size = sizes_of(m, 0);
            RPlanOptions o = {.align = 16, .workspace_limit = -1};
            RProgSet all;
            Ranked *best;
            Problem p;
            Estimate one;
            rtile_resize(arena, &set.plans[0].problem, te_sized(arena, set.normal, size), 16, &p);
            must(rprog_candidates(arena, &diag, &p, dev, &o, &all));
            assert_int_equal(mp_rank(arena, &p, dev, &all, 1, &best), 1);
            mp_estimate(&p, &set.plans[0].ranked->prog, dev, &one);
            if (one.us / best->estimate.us - 1 > most) most = one.us / best->estimate.us - 1;
        }
        if (most < 0.05) assert_int_equal(set.n_program, 1);
        else assert_true(set.n_program > 1);
        alone += most < 0.05;
        several += most >= 0.05;
    }
    assert_true(alone > 0 && several > 0);
}

/* Programs for different sizes whose kernels are the same text share one.  */
static void test_equal_kernels_are_emitted_once(void **state) {
    (void)state;
    plan(products);
    compile_choose(arena, &set, 0, &whole);
    must(cg_emit(arena, &diag, &whole.rplan, dev, &(CgOptions){.align = 16}, &build.program));
    int kernels = build.program.n_kernel;
    RPlan *p = &whole.rplan;
    rplan_extend(arena, p, 1);            /* the first of those for some sizes once more */
    int last = p->n++, same = p->n_group;
    p->group_of[last] = 0;
    p->group[last] = p->group[same];
    p->problem[last] = p->problem[same];
    p->prog[last] = p->prog[same];
    p->outs[last] = p->outs[same];
    must(cg_emit(arena, &diag, p, dev, &(CgOptions){.align = 16}, &build.program));
    assert_true(build.program.n_kernel > kernels);
    int distinct = 0;
    for (int i = 0; i < build.program.n_kernel; i++) {
        const char *symbol = build.program.kernel[i].symbol, *text = build.program.source;
        bool first = true;
        for (int k = 0; k < i; k++) first &= strcmp(build.program.kernel[k].symbol, symbol) != 0;
        distinct += first;
        int bodies = 0;
        const char *call = arena_printf(arena, "%s(", symbol);
        while ((text = strstr(text, call))) text++, bodies++;
        assert_int_equal(bodies, 1);
    }
    assert_int_equal(distinct, kernels);
}

/* A part of the programs, as where some spill: the others are described but not there.  */
static void test_some_are_emitted(void **state) {
    (void)state;
    plan(products);
    bool *only = ARENA_ARRAY(arena, bool, set.n_program);
    only[1] = true;
    must(cg_emit(arena, &diag, &whole.rplan, dev, &(CgOptions){16, only, 0}, &build.program));
    for (int i = 0; i < build.program.n_kernel; i++) {
        const KernelLaunch *k = &build.program.kernel[i];
        const char *call = arena_printf(arena, "%s(", k->symbol);
        assert_int_equal(k->symbol[0] != 0, k->group == 1);
        if (k->group == 1) assert_non_null(strstr(build.program.source, call));
        assert_true(k->block[0] >= 32 && k->grid[0] >= 1);
    }
}

/* ---- sizes that nobody planned for ---- */

static int64_t *random_sizes(Rng *rng) {
    int64_t *v = ARENA_ARRAY(arena, int64_t, set.te->n_size + 1);
    for (int i = 0; i < set.te->n_size; i++) {
        const TeExtent *e = &set.te->size[i].extent;
        double lo = log((double)e->min + 1), hi = log((double)e->value + 2);
        double x = lo + (hi - lo) * rng_below(rng, 1 << 20) / (1 << 20);
        v[i] = ((int64_t)exp(x) - 1) / te_extent_divisor(e) * te_extent_divisor(e);
        v[i] = v[i] < e->min ? e->min : v[i] > e->value ? e->value : v[i];
    }
    return v;
}

typedef struct {
    double mean, worst;
} Loss;

static void add_loss(Loss *x, double us, double best, int tries) {
    double loss = us > best ? us / best - 1 : 0;
    x->mean += loss / tries;
    if (loss > x->worst) x->worst = loss;
}

/* By prediction: what is taken, and the programs for all sizes alone, against the plan of the op
 * with just the sizes at hand, which knows nothing of the others.  */
static void losses(const char *text, int tries, Loss *mine, Loss *one) {
    Rng rng = {7};
    *mine = *one = (Loss){0};
    for (int i = 0; i < tries; i++) {
        const int64_t *size = random_sizes(&rng);
        PlanSet fixed;
        WholePlan best;
        Estimate own, least, alone = {0};
        TeDefine define[TE_MAX_SIZES];
        CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
        int n = 0;
        Te *te;
        for (int s = 0; s < set.te->n_size; s++)
            if (rplan_varies(set.te, s))
                define[n++] = (TeDefine){set.te->size[s].name, size[s], size[s], 1};
        must(te_parse(arena, &diag, diag_text("case.te", text), NULL, &(TeDefines){define, n},
                      &te));
        must(compile_plan(arena, &diag, &(PlanRequest){te, dev, &o}, &fixed));
        compile_choose(arena, &fixed, 0, &best);
        compile_estimate(&best, &least);
        compile_estimate_at(arena, &set, &whole, size, &own);
        add_loss(mine, own.us, least.us, tries);
        for (int g = 0; g < set.n_group; g++) {
            Problem p;
            Estimate e;
            const Te *sized = te_sized(arena, set.normal, size);
            rtile_resize(arena, &set.plans[g].problem, sized, 16, &p);
            mp_estimate(&p, &set.plans[g].ranked->prog, dev, &e);
            alone.us += e.us;
        }
        add_loss(one, alone.us, least.us, tries);
    }
}

/* Sizes that nobody planned for, one to six of them: no cliffs against plans that are made for just
 * these sizes and know that they are multiples of something, which no launch does.  */
static void test_sizes_between(void **state) {
    static const struct {
        const char *text;
        double mean, worst;   /* what may be lost */
    } table[] = {
        {"param M = 1..8192; op f(A: f16[M,4096], B: f16[4096,4096]) -> C: f16[M,4096]"
         " { C[m,n] += A[m,k] * B[k,n]; }", 0.12, 0.5},
        {"param B = 1..64, S = 1..2048, C = 64..4096 % 8; op f(X: f32[B,S,C]) -> Y: f32[B,S,C]"
         " { T[b,s] += X[b,s,c]; Y[b,s,c] = X[b,s,c] - T[b,s]; }", 0.12, 0.6},
        {"param A = 8, B = 8, C = 8, D = 1..64, E = 1..512, F = 1..512;"
         " op f(X: f16[A,B,C,D,E], Y: f16[F,E]) -> Z: f16[A,B,C,D,F]"
         " { Z[a,b,c,d,f] += X[a,b,c,d,e] * Y[f,e]; }", 0.45, 1.6},
        {"param A = 1..64, B = 1..64, C = 1..64, D = 1..64, E = 8..512 % 8, F = 8..512 % 8;"
         " op f(X: f16[A,B,C,D,E], Y: f16[F,E]) -> Z: f16[A,B,C,D,F]"
         " { Z[a,b,c,d,f] += X[a,b,c,d,e] * Y[f,e]; }", 0.25, 0.9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Loss mine, one;
        plan(table[i].text);
        losses(table[i].text, effort_long() ? 200 : 16, &mine, &one);
        print_message("# %d programs lose %.0f %%, at most %.0f %%; one %.0f %%, %.0f %%\n",
                      set.n_program, mine.mean * 100, mine.worst * 100, one.mean * 100,
                      one.worst * 100);
        assert_in_range(set.n_program, 2, RPLAN_SET);
        assert_true(mine.mean < table[i].mean && mine.worst < table[i].worst);
        assert_true(mine.mean < 0.6 * one.mean && mine.worst <= one.worst);
    }
}

static int points_tried(const char *text) {
    int n = 0;
    plan(text);
    assert_int_equal(sscanf(set.sizes, "sizes: tried at %d,", &n), 1);
    return n;
}

/* Sizes that are factors of the same axes are one dimension, and a launch chooses by their product;
 * one that is a factor of another axis, too, is a dimension of its own.  */
static void test_sizes_that_move_together(void **state) {
    (void)state;
    int one = points_tried("param M = 1..4096; op f(A: f16[M,256], B: f16[256,256]) ->"
                           " C: f16[M,256] { C[m,n] += A[m,k] * B[k,n]; }");
    int three = points_tried("param L = 1..16, M = 1..16, N = 1..16;"
                             " op f(A: f16[L,M,N,256], B: f16[256,256]) -> C: f16[L,M,N,256]"
                             " { C[l,m,n,o] += A[l,m,n,k] * B[k,o]; }");
    assert_int_equal(one, three);
    assert_non_null(strstr(set.sizes, "  L*M*N <= "));
    int two = points_tried("param L = 1..16, M = 1..16, N = 1..16;"
                           " op f(A: f16[L,M,N,256], B: f16[L,256,256]) -> C: f16[L,M,N,256]"
                           " { C[l,m,n,o] += A[l,m,n,k] * B[l,k,o]; }");
    assert_true(two > three);
    assert_non_null(strstr(set.sizes, "M*N <= "));
}

/* A size of which kernels know half alone has values of its own, as any other.  */
static void test_divided_sizes_vary(void **state) {
    SizePoints at;
    RSelector halves = {.n_measure = 1, .n_axis = 1};
    Te *te;
    (void)state;
    diag = diag_new(arena);
    must(te_parse(arena, &diag,
                  diag_text("case.te", "param H = 2..512 % 2; op f(X: f32[H]) -> Y: f32[H/2]"
                                       " { Y[i] = X[2*i]; }"),
                  NULL, NULL, &te));
    halves.te = te;
    halves.measure = &te->tensor[1].shape[0];
    size_points_find(arena, te, &halves, (int64_t[]){1}, RPLAN_USUAL, &at);
    assert_int_equal(at.value[0][0], 512);
    assert_int_equal(at.value[1][0], 2);
}

static Status read_back(const char *text, PlanSet *out) {
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
    diag = diag_new(arena);
    return compile_read_plan(arena, &diag, &(PlanRequest){set.te, dev, &o}, diag_text("plan", text),
                             out);
}

/* The plan as text is read as the same plan.  */
static void round_trip(void) {
    Buf text = buf_new(arena), again = buf_new(arena);
    PlanSet other;
    WholePlan read;
    rprog_print(&whole.rplan, dev, &text);
    must(read_back(buf_str(&text), &other));
    assert_int_equal(other.n_program, set.n_program);
    compile_choose(arena, &other, 0, &read);
    rprog_print(&read.rplan, dev, &again);
    assert_string_equal(buf_str(&text), buf_str(&again));
}

/* ---- right at all sizes ---- */

static void check_whole(void) {
    CheckOptions o = {.threads = 1};
    CheckResult r;
    must(compile_build(arena, &diag, &whole, dev, &(BuildOptions){0}, &build));
    must(check_kernel(arena, &diag, &(BuiltPlan){&set, &whole, &build}, &o, &r));
    int sets;                 /* every program is tried at some of them */
    int64_t **size = sample_sizes(arena, set.normal, &build.program, &sets);
    assert_int_equal(r.size_sets, sets);
    for (int i = 0; i < build.program.n_choice; i++) {
        bool tried = false;
        for (int k = 0; k < sets; k++) {
            KernelTaken t = cg_taken(&build.program, size[k]);
            const KernelChoice *c = &build.program.choice[i];
            tried |= t.strategy == c->strategy && cg_program(&build.program, t, c->group) == i;
        }
        if (!tried && i >= set.n_group) fail_msg("program %d is taken at no sizes", i);
    }
    assert_int_equal(r.compared, r.outputs);
}

static void prove(const char *text) {
    plan(text);
    check_whole();
}

/* Programs of one group of which one has tiles and the other none: a sample is of the tiles of the
 * one that is taken.  */
static void test_tiles_for_some_sizes(void **state) {
    static const char text[] =
        "roller-plan 1\nupto take 1\nelse take 0\n"
        "kernel 0\n skeleton column\n unit dfma\n block 1 64 1 16\n thread 1 1 1 4\n store 1\n"
        " split 1\n blocks_per_sm 2\n"
        "kernel 1 of 0\n skeleton contract\n unit mma.m8n8k4.f64.f64\n block 1 8 8 16\n"
        " warp 1 8 8 16\n thread 1 8 8 4\n vec 1 2\n unroll 16\n stages 2\n"
        " a async cp.async.8 vec 1 along k inner k swizzle 2 0 1\n"
        " b async cp.async.8 vec 1 along k inner k swizzle 2 0 1\n"
        " store 1\n raster row\n split 1\n blocks_per_sm 14\n";
    CheckOptions o = {.threads = 1, .sampled = true};
    CheckResult r;
    (void)state;
    plan("param S = 8..16 % 8; op f(X: f64[48,24,S], W: f64[48,24]) -> Y: f64[S,24]"
         " { Y[i,j] = sum[k](X[k,j,i] * W[k,j]); }");
    must(read_back(text, &set));
    compile_choose(arena, &set, 0, &whole);
    must(compile_build(arena, &diag, &whole, dev, &(BuildOptions){0}, &build));
    assert_int_equal(build.program.n_choice, 2);
    must(check_kernel(arena, &diag, &(BuiltPlan){&set, &whole, &build}, &o, &r));
}

static void test_every_program_is_right(void **state) {
    (void)state;
    prove("param M = 1..200; op f(A: f16[M,64], B: f16[64,96]) -> C: f16[M,96]"
          " { C[m,n] += A[m,k] * B[k,n]; }");
    prove("param N = 1..24, C = 8..1024 % 8; op f(X: f32[N,C]) -> (S: f32[N], Y: f32[N,C])"
          " { S[n] += X[n,c]; Y[n,c] = X[n,c] - S[n]; }");
    prove("param N = 1..400; op f(X: f32[N,24]) -> (S: f32[24], I: i32[24])"
          " { S[c] += X[n,c]; I[c] = argmax[n](X[n,c]); }");
    prove("param N = 1..3; op f(X: f32[N,8,14,14], K: f32[8,3,3]) -> Y: f32[N,8,14,14]"
          " { Y[n,c,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[c,r,s]; }");
    /* i64 values that are made as i32 */
    prove("param K = 2..17, N = 3..33 % 3; let L = 62 + K; let M = 31 + N;"
          " op f(X: i64[M,1], Y: f16[M], Z: f32[K], W: f32[N]) -> A: i16 {"
          " A[] = i16(argmin[k](Y[0]) % min(min[i,j](M), 81, N))"
          " where k in 0:K, i in 0:1, j in 0:L; }");
    prove("param N = 1..4, H = 4..20 % 2; op f(X: f16[N,H,10,16], K: f16[24,3,3,16]) ->"
          " Y: f16[N,H,10,24] { Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[f,r,s,c]; }");
}

/* Both lengths of attention: each launch of a chain is one kernel.  */
static void test_every_chain_is_right(void **state) {
    (void)state;
    prove("param H = 1..2, M = 1..130, N = 1..130; op f(Q: f16[H,M,32], K: f16[H,N,32],"
          " V: f16[H,N,32]) -> O: f16[H,M,32] { s[h,i,j] = sum[d](Q[h,i,d] * K[h,j,d]) / 8;"
          " t[h,i,j] = j <= i + N - M ? s[h,i,j] : -inf; m[h,i] = max[j](t[h,i,j]);"
          " z[h,i] = sum[j](exp(t[h,i,j] - m[h,i]));"
          " O[h,i,e] = sum[j](f16(exp(t[h,i,j] - m[h,i])) * V[h,j,e]) / z[h,i]; }");
    assert_int_equal(whole.rplan.n_group, 1);
    for (int i = 0; i < whole.rplan.n; i++)
        assert_int_equal(whole.rplan.prog[i].skeleton, SK_CHAIN);
}

/* Offsets that are a constant number of rows, whose length is known at run time only, keep nobody
 * from the skeletons of static sizes.  */
static void test_offsets_of_rows(void **state) {
    static const struct {
        const char *text;
        Skeleton skeleton;
    } table[] = {
        {"param N = 1..2, H = 4..20, W = 4..24; op f(X: f16[N,H,W,16], K: f16[24,3,3,16]) ->"
         " Y: f16[N,H,W,24] { Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[f,r,s,c]; }",
         SK_CONTRACT},
        {"param N = 1..2, H = 4..12, W = 4..12; op f(X: f32[N,8,H,W], K: f32[16,8,3,3]) ->"
         " Y: f32[N,16,H,W] { Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * K[f,c,r,s]; }",
         SK_CONTRACT},
        {"param N = 1..2, H = 4..60 % 4, W = 4..60 % 2; op f(X: f32[N,8,H,W]) -> Y: f32[N,8,H,W]"
         " { Y[n,c,p,q] = max[r,s](X[n,c,p+r-1,q+s-1] else -1.0) where r in 3, s in 3; }",
         SK_WINDOW},
        {"param N = 1..2, H = 4..30, W = 4..30; op f(X: f16[N,H,W,24], K: f16[3,3,24]) ->"
         " Y: f16[N,H,W,24] { Y[n,p,q,c] += (X[n,p+r-1,q+s-1,c] else 0) * K[r,s,c]; }",
         SK_WINDOW},
        {"param M = 2..70, N = 8..256 % 8; op f(X: f32[M+3,N]) -> Y: f32[M,N]"
         " { T[m] += X[m+3,n]; Y[m,n] = X[m+3,n] - T[m]; }", SK_ROW},
        {"param N = 516..600; op f(X: f32[514,N]) -> Y: f32[512,512] { Y[i,j] = X[j+2,i+4]; }",
         SK_PERMUTE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        prove(table[i].text);
        const RProg *r = &set.plans[0].ranked->prog;
        assert_int_equal(r->skeleton, table[i].skeleton);
        if (i == 0) assert_int_equal(r->load[0].kind, LOAD_ASYNC);
    }
}

/* Every skeleton at sizes 0 and 1, at primes, at powers and beside them, with and without a
 * promise.  */
static void test_every_skeleton_at_odd_sizes(void **state) {
    static const struct {
        const char *text;
        Skeleton skeleton;
    } table[] = {
        {"param M = 0..67, K = 0..64 % 8; op f(A: f16[M,K], B: f16[K,40]) -> C: f16[M,40]"
         " { C[m,n] += A[m,k] * B[k,n]; }", SK_CONTRACT},
        {"param M = 0..67, K = 0..64 % 8; op f(X: f32[M,K]) -> Y: f32[M,K]"
         " { S[m] = max[k](X[m,k]); Y[m,k] = exp(X[m,k] - S[m]); }", SK_ROW},
        {"param M = 0..67, K = 0..64 % 8; op f(X: f32[M,K]) -> (S: f32[K], T: f32[K])"
         " { S[k] = max[m](X[m,k]); T[k] = min[m](X[m,k]); }", SK_COLUMN},
        {"param M = 0..67, K = 0..64 % 8; op f(X: f32[2,M,K]) -> Y: f32[2,M,K]"
         " { Y[n,p,q] = max[r,s](X[n,p+r-1,q+s-1] else -1.0) where r in 3, s in 3; }", SK_WINDOW},
        {"param M = 0..67, K = 0..64 % 8; op f(X: f16[M,K]) -> Y: f16[K,M] { Y[k,m] = X[m,k]; }",
         SK_PERMUTE},
        {"param M = 0..67, K = 0..64 % 8; op f(X: f16[M,K], b: f16[K]) -> Y: f16[M,K]"
         " { Y[m,k] = X[m,k] * 2.0 + b[k]; }", SK_STREAM},
    };
    static const int64_t odd[] = {0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33, 61, 64, 66, 67};
    enum { SIZES = sizeof odd / sizeof *odd };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        plan(table[i].text);
        GroupPlans *p = &set.plans[0];
        int best = 0;                     /* the skeleton's, whatever else there is */
        while (best < p->n && p->ranked[best].prog.skeleton != table[i].skeleton) best++;
        if (best == p->n) fail_msg("%s", table[i].text);
        p->ranked[0] = p->ranked[best];
        compile_choose(arena, &set, 0, &whole);
        must(compile_build(arena, &diag, &whole, dev, &(BuildOptions){0}, &build));
        for (int k = 0; k < SIZES; k++) {
            CheckOptions o = {.threads = 1, .at = sizes_of(odd[k], 8 * (3 * k % 9))};
            CheckResult r;
            must(check_kernel(arena, &diag, &(BuiltPlan){&set, &whole, &build}, &o, &r));
            assert_int_equal(r.compared, r.outputs);
            assert_int_equal(r.size_sets, 1);
        }
    }
}

/* Layouts are changed by boxes at all sizes: ragged ones, strides that vary, a size of 0, two
 * sources, several outputs.  */
static void test_layouts_are_right(void **state) {
    static const char *const text[] = {
        "param M = 1..100, N = 1..70; op f(X: f32[M,N]) -> Y: f32[N,M] { Y[n,m] = X[m,n]; }",
        "param M = 8..96 % 8, N = 8..80 % 8; op f(X: f16[M,N]) -> Y: f16[N,M]"
        " { Y[n,m] = X[m,n]; }",
        "param B = 1..3, T = 1..70; op f(X: f16[B,T,4,16]) -> Y: f16[B,4,16,T]"
        " { Y[b,h,d,t] = X[b,t,h,d]; }",
        "param N = 1..3, W = 2..30 % 2; op f(X: u8[N,9,W,3]) -> Y: f32[N,3,9,W]"
        " { Y[n,c,h,w] = X[n,h,w,c] / 255.0; }",
        "param M = 0..60, N = 0..20; op f(X: f32[M,N,3], Z: f32[M,3,N], b: f32[M]) ->"
        " (Y: f32[3,N,M], Q: bf16[3,N,M]) { Y[c,n,m] = X[m,n,c] * b[m] + Z[m,c,n];"
        " Q[c,n,m] = Y[c,n,m] + X[m,n,c]; }",
        "param M = 1..64; op f(X: f32[M,M]) -> Y: f32[M,M] { Y[i,j] = X[i,j] + X[j,i]; }",
        "param M = 40..90; op f(X: f32[64,M]) -> Y: f32[36,64] { Y[i,j] = X[j,i+4]; }",
    };
    (void)state;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        plan(text[i]);
        GroupPlans *p = &set.plans[0];
        int boxes = 0;
        for (int k = 0; k < p->n; k++) {  /* the skeleton's best, whatever else there is */
            bool first = p->ranked[k].prog.skeleton == SK_PERMUTE && boxes++ == 0;
            if (first) p->ranked[0] = p->ranked[k];
        }
        if (boxes == 0) fail_msg("no boxes: %s", text[i]);
        compile_choose(arena, &set, 0, &whole);
        check_whole();
        round_trip();
    }
}

static int64_t blocks_at(const int64_t *size, int kernel) {
    const KernelProgram *p = &build.program;
    return cg_blocks(set.normal, p, &p->kernel[kernel], cg_taken(p, size), size);
}

/* One program of a group runs at any size, and where there is nothing to do none.  */
static void test_one_program_runs(void **state) {
    (void)state;
    plan("param M = 0..600 % 4; op f(A: f16[M,256], B: f16[256,256]) -> C: f16[M,256]"
         " { C[m,n] += A[m,k] * B[k,n]; }");
    must(cg_emit(arena, &diag, &whole.rplan, dev, &(CgOptions){.align = 16}, &build.program));
    for (int64_t m = 0; m <= 600; m += 4) {
        int64_t *size = sizes_of(m, 0);
        KernelTaken taken = cg_taken(&build.program, size);
        int program = cg_program(&build.program, taken, 0), running = 0;
        for (int i = 0; i < build.program.n_kernel; i++) {
            int64_t blocks = blocks_at(size, i);
            assert_in_range(blocks, 0, 1 << 16);
            if (blocks) assert_int_equal(build.program.kernel[i].group, program);
            running += blocks > 0;
        }
        assert_true(m ? running >= 1 : running == 0);
    }
}

/* ---- texts ---- */

static void test_texts(void **state) {
    (void)state;
    plan(products);
    round_trip();
    plan(rows);
    round_trip();
}

/* Small sizes touch less of the workspace, and none more than all of it.  */
static void test_workspace_follows_sizes(void **state) {
    static const struct {
        const char *text;
        int64_t step, least;  /* least: bytes at the smallest size, < 0: none is known */
    } table[] = {
        {"param M = 1..4096; op f(A: f16[M,16384], B: f16[16384,512]) -> C: f16[M,512]"
         " { C[m,n] += A[m,k] * B[k,n]; }", 1, -1},
        {"param M = 8..800 % 8; op f(A: f32[M,64], B: f32[64,48]) -> C: f32[M,48]"
         " { T[m,n] += A[m,k] * B[k,n]; C[m,n] = T[m,n] - T[m,47-n]; }", 8, 8 * 48 * 4},
    };
    (void)state;
    for (int i = 0; i < 2; i++) {
        plan(table[i].text);
        KernelProgram *p = &build.program;
        must(cg_emit(arena, &diag, &whole.rplan, dev, &(CgOptions){.align = 16}, p));
        int64_t least = INT64_MAX, most = 0, last = set.te->size[0].extent.value;
        for (int64_t m = set.te->size[0].extent.min; m <= last; m += table[i].step) {
            int64_t bytes = cg_workspace(set.normal, p, sizes_of(m, 0));
            if (bytes < least) least = bytes;
            if (bytes > most) most = bytes;
        }
        assert_true(p->workspace_bytes > 0 && least < most / 8);
        assert_in_range(most, p->workspace_bytes - WORKSPACE_STEP + 1, p->workspace_bytes);
        if (table[i].least >= 0) assert_in_range(least, table[i].least, most / 8);
    }
}

/* A device without room for any tile computes element by element, as many sizes as there are.  */
static void test_last_resort(void **state) {
    static const char *const sizes[] = {"M = 1..8192, N = 8..8192 % 8, K = 8192",
                                        "M = 8192, N = 8192, K = 8192"};
    Device *other = dev;
    (void)state;
    dev = tiny;
    for (int i = 0; i < 2; i++) {
        plan(arena_printf(arena, "param %s; op f(A: f16[M,K], B: f16[K,N]) -> C: f16[M,N]"
                                 " { C[m,n] += A[m,k] * B[k,n]; }", sizes[i]));
        assert_int_equal(set.plans[0].ranked->prog.skeleton, SK_STREAM);
        must(cg_emit(arena, &diag, &whole.rplan, dev, &(CgOptions){.align = 16}, &build.program));
        for (int k = 0; k < build.program.n_kernel; k++)
            assert_in_range(build.program.kernel[k].grid[0], 1, 65535);
        round_trip();
    }
    dev = other;
}

static const struct {
    const char *line, *message;
} wrong[] = {
    {"kernel 1 of 1", "out of range"},
    {"kernel 1 of", "a number is missing"},
    {"kernel 1", "a word is missing"},
    {"kernel 1 of 0 upto s0 64", "unexpected 'upto'"},
    {"kernel 2 of 0", "not in order"},
};

static void test_wrong_texts(void **state) {
    (void)state;
    plan(products);
    Buf text = buf_new(arena);
    rprog_print(&whole.rplan, dev, &text);
    const char *end = strstr(buf_str(&text), "kernel 1");
    assert_non_null(end);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        PlanSet other;
        const char *bad = arena_printf(arena, "%.*s%s\n", (int)(end - buf_str(&text)),
                                       buf_str(&text), wrong[i].line);
        assert_int_equal(read_back(bad, &other), ST_PLAN_TEXT);
        const char *said = diag_first_error(&diag)->message;
        if (!strstr(said, wrong[i].message)) fail_msg("%s: %s", wrong[i].line, said);
    }
}

/* A program that walks along an index may be taken where there is one of it.  */
static void test_columns_of_one(void **state) {
    static const char format[] = "%s\n  skeleton column\n  unit ffma\n  block 1 %d 1 %d\n"
                                 "  thread 1 1 1 8\n  store 1\n  split 1\n  blocks_per_sm 4\n";
    (void)state;
    plan("param M = 1..8, K = 2..24, N = 1..31; op f(X: f32[M,K,N]) -> Y: f32[M,N]"
         " { Y[m,n] += X[m,r,n]; }");
    Buf text = buf_new(arena);
    buf_puts(&text, "roller-plan 1\nupto s2 1 take 0\nelse take 1\n");
    buf_printf(&text, format, "kernel 0", 64, 8);
    buf_printf(&text, format, "kernel 1 of 0", 32, 16);
    PlanSet read;
    must(read_back(buf_str(&text), &read));
    set = read;
    compile_choose(arena, &set, 0, &whole);
    check_whole();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_divided_sizes_vary), cmocka_unit_test(test_as_few_as_needed),
        cmocka_unit_test(test_as_few_as_wanted), cmocka_unit_test(test_sizes_between),
        cmocka_unit_test(test_sizes_that_move_together), cmocka_unit_test(test_columns_of_one),
        cmocka_unit_test(test_one_program_where_it_is_near),
        cmocka_unit_test(test_equal_kernels_are_emitted_once),
        cmocka_unit_test(test_some_are_emitted),
        cmocka_unit_test(test_tiles_for_some_sizes),
        cmocka_unit_test(test_every_program_is_right), cmocka_unit_test(test_every_chain_is_right),
        cmocka_unit_test(test_layouts_are_right),
        cmocka_unit_test(test_offsets_of_rows), cmocka_unit_test(test_every_skeleton_at_odd_sizes),
        cmocka_unit_test(test_one_program_runs), cmocka_unit_test(test_workspace_follows_sizes),
        cmocka_unit_test(test_texts), cmocka_unit_test(test_last_resort),
        cmocka_unit_test(test_wrong_texts),
    };
    return cmocka_run_group_tests(tests, setup, tear_down);
}
