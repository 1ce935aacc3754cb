/* An op with run-time sizes split into kernels in several ways: which one a size takes, that each
 * is right with a workspace of its own, and that all are written, read and described.  */
#include "driver/check/check.h"
#include "driver/check/sample.h"
#include "driver/sizes/size_given.h"
#include "driver/pipeline/compile.h"
#include "driver/handle/handle.h"
#include "decide.h"
#include "plan_fixture.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    Arena *a;
    Diag d;
    const Device *dev;
    Te *te;
    CompileOptions o;
    PlanSet set;
    WholePlan whole;
    Build build;
} Case;

/* A statement that needs another one transposed: in one kernel while it is small.  */
static const char turned[] = "op f(X: f32[N,N]) -> (Y: f32[N,N], Z: f32[N,N]) {"
                             " Y[i,j] = exp(X[i,j]); Z[i,j] = X[i,j] + Y[j,i]; }";
/* A producer that is cheaper to compute again than to store while it is small.  */
static const char repeated[] = "op f(X: f32[N], W: f32[N,24]) -> Y: f32[N,24] {"
                               " t[i] = exp(X[i]) / (1.0 + X[i]); Y[i,j] = W[i,j] * t[i]; }";
/* Rows first, then what strides across them.  */
static const char channels[] = "op f(X: f16[N,64,56,56]) -> (S: f32[64], Q: f32[64]) {"
                               " S[c] = sum[n,h,w](X[n,c,h,w]);"
                               " Q[c] = sum[n,h,w](f32(X[n,c,h,w]) * X[n,c,h,w]); }";
/* At N = 1 nothing is left to compute.  */
static const char rest[] = "op f(X: f32[N,33]) -> Y: f32[N-1,33] {"
                           " Y[n,i] = sum[r](r <= i ? X[n+1,r] : 0) where r in 33; }";
/* Rows of a product, which are never stored.  */
static const char scores[] = "op f(Q: f16[8,N,64], K: f16[8,N,64]) -> P: f16[8,N,N] {"
                             " t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]); m[b,i] = max[j](t[b,i,j]);"
                             " z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));"
                             " P[b,i,j] = exp(t[b,i,j] - m[b,i]) / z[b,i]; }";

static void must(Case *c, Status s) {
    const DiagMessage *m = diag_first_error(&c->d);
    if (s) fail_msg("%d: %s", s, m ? m->message : "");
}

static void open_case(Case *c, const char *sizes, const char *op) {
    c->a = arena_create(NULL);
    assert_non_null(c->a);
    c->d = diag_new(c->a);
    c->dev = fixture_device(c->a, "h200");
    c->o = (CompileOptions){.top = 1, .align = 16, .workspace_limit = -1};
    const char *text = arena_printf(c->a, "param N = %s; %s", sizes, op);
    must(c, te_parse(c->a, &c->d, diag_text("t.te", text), NULL, NULL, &c->te));
}

static void plan(Case *c, const char *sizes, const char *op) {
    open_case(c, sizes, op);
    must(c, compile_plan(c->a, &c->d, &(PlanRequest){c->te, c->dev, &c->o}, &c->set));
    compile_choose(c->a, &c->set, 0, &c->whole);
}

static int64_t *size_of(const Case *c, int64_t n) {
    int64_t *v = ARENA_ARRAY(c->a, int64_t, c->te->n_size + 1);
    for (int i = 0; i < c->te->n_size; i++)
        v[i] = rplan_varies(c->te, i) ? n : c->te->size[i].extent.value;
    return v;
}

/* ---- the choice ---- */

/* A size takes hardly more than what is planned for it alone: splits are chosen for the sizes.  */
static void near_plans_of_each_size(const char *sizes, const char *op, int64_t first,
                                    int64_t last, bool several) {
    Case c;
    plan(&c, sizes, op);
    int programs = 0;
    for (const PlanSet *x = &c.set; x; x = x->other) {
        int most = 1;
        for (int g = 0; g < x->n_group; g++) {
            int n = 0;
            for (int i = 0; i < x->n_program; i++) n += x->plans[i].group == g;
            if (n > most) most = n;
        }
        programs += most;
    }
    assert_in_range(programs, 1, RPLAN_SET);
    assert_int_equal(c.set.other != NULL, several);
    assert_int_equal(strstr(c.set.sizes, "  strategy ") != NULL, several);
    must(&c, cg_emit(c.a, &c.d, &c.whole.rplan, c.dev, NULL, &c.build.program));
    for (int64_t n = first; n <= last; n *= 4) {
        Case one;
        plan(&one, arena_printf(c.a, "%lld", (long long)n), op);
        double us = 0;
        for (int g = 0; g < one.set.n_group; g++) us += one.set.plans[g].ranked->estimate.us;
        Estimate e;
        compile_estimate_at(c.a, &c.set, &c.whole, size_of(&c, n), &e);
        double mine = e.us;
        if (mine > 1.2 * us) fail_msg("N %lld: %.2f us, %.2f us", (long long)n, mine, us);
        arena_destroy(one.a);
    }
    arena_destroy(c.a);
}

/* Where an op has no points its kernels are launched all the same.  */
static void a_launch_where_nothing_is_left(void **state) {
    (void)state;
    Case c;
    Estimate e;
    plan(&c, "1..64", rest);
    compile_estimate_at(c.a, &c.set, &c.whole, size_of(&c, 1), &e);
    assert_true(fabs(e.us - c.dev->overheads.kernel_floor.value * 1e-3) < 1e-9);
    compile_estimate_at(c.a, &c.set, &c.whole, size_of(&c, 64), &e);
    assert_true(e.us > c.dev->overheads.kernel_floor.value * 1e-3);
    arena_destroy(c.a);
}

static void sizes_choose_the_strategy(void **state) {
    (void)state;
    near_plans_of_each_size("16..4096 % 16", turned, 16, 4096, true);
    near_plans_of_each_size("2..64", channels, 4, 64, false);
    near_plans_of_each_size("32..1024 % 32", scores, 64, 1024, true);
}

/* What is decided at different statements competes together, and not for the whole op at once.  */
static void sizes_choose_decisions(void **state) {
    Case c;
    (void)state;
    plan(&c, "1..8192",
         "op f(A: f16[N,2047], W: f16[8192,2047], Q: bf16[32,1024,128],"
         " K: bf16[32,1024,128]) -> (C: f16[N,8192], S: bf16[32,1024,1024]) {"
         " C[a,c] += A[a,k] * W[c,k]; t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]);"
         " m[b,i] = max[j](t[b,i,j]); z[b,i] = sum[j](exp(t[b,i,j] - m[b,i]));"
         " S[b,i,j] = exp(t[b,i,j] - m[b,i]) / z[b,i]; }");
    assert_int_equal(decided(c.set.normal), PACKED | JOINED);
    assert_non_null(c.set.other);
    assert_int_equal(decided(c.set.other->normal), JOINED);
    assert_null(c.set.other->other);
    assert_non_null(strstr(c.set.sizes, "strategy C packed + m joined, "));
    arena_destroy(c.a);
}

static void one_strategy_where_no_other_gains(void **state) {
    Case c;
    (void)state;
    plan(&c, "1..4096", "op f(X: f32[N,512]) -> Y: f32[N,512] {"
                        " M[n] = max[k](X[n,k]); E[n,k] = exp(X[n,k] - M[n]);"
                        " S[n] = sum[k](E[n,k]); Y[n,k] = E[n,k] / S[n]; }");
    assert_null(c.set.other);
    assert_int_equal(decided(c.set.normal), USUAL);
    arena_destroy(c.a);
    plan(&c, "2..64", channels);
    assert_null(c.set.other);
    assert_int_equal(decided(c.set.normal), TWO_STEP);
    arena_destroy(c.a);
    plan(&c, "32..128 % 32", scores);
    assert_null(c.set.other);
    assert_int_equal(decided(c.set.normal), JOINED);
    arena_destroy(c.a);
    plan(&c, "32..256 % 32", scores);    /* stored where they are longest */
    assert_non_null(c.set.other);
    assert_int_equal(decided(c.set.other->normal), JOINED);
    assert_null(c.set.other->other);
    arena_destroy(c.a);
}

/* ---- strategies for some multiples ---- */

/* Rows that begin where wide accesses may for multiples of 8 alone.  */
#define ROWS(n)                                                                                    \
    "op f(A: f16[" n ",N], B: f16[" n ",N]) -> C: f16[" n "," n "] { C[i,j] += A[i,k] * B[j,k]; }"

/* Sizes of both kinds are planned for as a plan of their own is.  */
static void multiples_have_programs(void **state) {
    static const int64_t size[] = {4096, 2048, 512};
    Case c;
    (void)state;
    plan(&c, "1..4096", ROWS("4096"));
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        Case one;
        Estimate e, alone;
        plan(&one, arena_printf(c.a, "%lld", (long long)size[i]), ROWS("4096"));
        compile_estimate(&one.whole, &alone);
        compile_estimate_at(c.a, &c.set, &c.whole, size_of(&c, size[i]), &e);
        if (e.us > 1.15 * alone.us)
            fail_msg("N %lld: %.1f, %.1f us", (long long)size[i], e.us, alone.us);
        arena_destroy(one.a);
    }
    Estimate largest, e;
    compile_estimate_largest(&c.set, &c.whole, &largest);
    compile_estimate_at(c.a, &c.set, &c.whole, size_of(&c, 4096), &e);
    assert_true(largest.us == e.us);
    assert_non_null(strstr(c.set.sizes, "strategy usual, N % 8 == 0, 1 kernel:"));
    assert_non_null(strstr(c.set.sizes, "N%8 == 0: strategy usual, N % 8 == 0, kernel "));
    arena_destroy(c.a);
}

/* A stride is a multiple anyway, or no stride has the size: nothing more is to be known.  */
static void needless_multiples_have_none(void **state) {
    static const char *const op[] = {
        "op f(X: f16[N,64]) -> Y: f16[N,64] { Y[n,i] = X[n,i] + 1; }",
        "op f(X: f16[4,N,64]) -> Y: f16[4,N,64] { Y[b,n,i] = X[b,n,63-i]; }",
        "op f(X: f16[N]) -> Y: f16[N] { Y[n] = X[n] + 1; }"};
    Case c;
    int n;
    (void)state;
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
        open_case(&c, "1..4096", op[i]);
        size_given(c.a, &(PlanSet){.te = c.te, .dev = c.dev}, 0, &(RSelector){0}, &n);
        assert_int_equal(n, 0);
        arena_destroy(c.a);
    }
    open_case(&c, "8..4096 % 8", ROWS("64"));
    size_given(c.a, &(PlanSet){.te = c.te, .dev = c.dev}, 0, &(RSelector){0}, &n);
    assert_int_equal(n, 0);
    arena_destroy(c.a);
    open_case(&c, "1..4096", "op f(X: f32[8,N,N]) -> Y: f32[8,N,N] { Y[c,i,j] = X[c,j,i]; }");
    Te **given = size_given(c.a, &(PlanSet){.te = c.te, .dev = c.dev}, 0, &(RSelector){0}, &n);
    assert_int_equal(n, 1);
    assert_int_equal(given[0]->size[0].extent.multiple, 4);
    arena_destroy(c.a);
}

/* Scores have rows of N, but in no memory: there is nothing to know of N.  */
static void multiples_of_what_is_not_stored(void **state) {
    Case c;
    (void)state;
    plan(&c, "1..96",
         "op f(Q: f16[8,N,64], K: f16[8,N,64], V: f16[8,N,64]) -> O: f16[8,N,64] {"
         " s[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]); m[b,i] = max[j](s[b,i,j]);"
         " z[b,i] = sum[j](exp(s[b,i,j] - m[b,i]));"
         " O[b,i,d] = sum[j](f16(exp(s[b,i,j] - m[b,i])) * V[b,j,d]) / z[b,i]; }");
    assert_null(c.set.other);
    assert_non_null(c.set.select);
    assert_null(strchr(strstr(c.set.sizes, "on average\n"), '%'));
    arena_destroy(c.a);
}

/* ---- plans that are given ---- */

/* The op by these decisions, its kernels planned at a size.  */
static const char *kernels_of(Case *c, unsigned taken, int64_t n) {
    Te *normal, whole = *c->te;
    RPlan p = {.align = 16};
    whole.decisions = decide(c->a, taken);
    must(c, te_normalize(c->a, &c->d, &whole, &normal));
    p.te = normal;
    p.n = access_groups(c->a, normal, &p.group);
    p.problem = ARENA_ARRAY(c->a, Problem, p.n);
    p.prog = ARENA_ARRAY(c->a, RProg, p.n);
    const Te *sized = te_sized(c->a, normal, size_of(c, n));
    for (int g = 0; g < p.n; g++) {
        Problem all;
        RProgSet set;
        Ranked *best;
        RPlanOptions o = {.align = 16, .workspace_limit = -1};
        must(c, rtile_problem(c->a, &c->d, normal, &p.group[g], 16, &all));
        rtile_resize(c->a, &all, sized, 16, &p.problem[g]);
        must(c, rprog_candidates(c->a, &c->d, &p.problem[g], c->dev, &o, &set));
        assert_int_equal(mp_rank(c->a, &p.problem[g], c->dev, &set, 1, &best), 1);
        p.prog[g] = best->prog;
    }
    Buf text = buf_new(c->a);
    rprog_print(&p, c->dev, &text);
    return strchr(buf_str(&text), '\n') + 1;
}

/* ` 0 1`: of all kernels of a text.  */
static const char *numbers_of(Case *c, const char *kernels) {
    Buf out = buf_new(c->a);
    for (int n = 0; (kernels = strstr(kernels, "kernel ")); kernels++) buf_printf(&out, " %d", n++);
    return buf_str(&out);
}

/* The usual split, another one up to `within`.  */
static const char *two_strategies(Case *c, unsigned taken, int64_t within) {
    const char *usual = kernels_of(c, USUAL, c->te->size[0].extent.value);
    const char *other = kernels_of(c, taken, within);
    return arena_printf(c->a,
                        "roller-plan 1\nupto s0 %lld take strategy 1%s\nelse take%s\n%sother\n%s",
                        (long long)within, numbers_of(c, other), numbers_of(c, usual), usual,
                        other);
}

static Status read_text(Case *c, const char *text) {
    c->d = diag_new(c->a);
    return compile_read_plan(c->a, &c->d, &(PlanRequest){c->te, c->dev, &c->o},
                             diag_text("plan", text), &c->set);
}

/* A text with one part of it replaced.  */
static const char *replaced(Case *c, const char *text, const char *part, const char *by) {
    const char *at = strstr(text, part);
    assert_non_null(at);
    return arena_printf(c->a, "%.*s%s%s", (int)(at - text), text, by, at + strlen(part));
}

/* Both sides of what a strategy asks for are proved, and its text is read back.  */
static void given_are_right(Case *c) {
    CheckOptions o = {.threads = 1};
    CheckResult r;
    assert_non_null(c->set.other);
    must(c, compile_build(c->a, &c->d, &c->whole, c->dev, &(BuildOptions){0}, &c->build));
    int sides[2] = {0, 0}, n;
    int64_t **set = sample_sizes(c->a, c->te, &c->build.program, &n);
    for (int i = 0; i < n; i++) sides[cg_taken(&c->build.program, set[i]).strategy > 0]++;
    assert_true(sides[0] > 0 && sides[1] > 0 && sides[0] + sides[1] > 2);
    must(c, check_kernel(c->a, &c->d, &(BuiltPlan){&c->set, &c->whole, &c->build}, &o, &r));
    assert_int_equal(r.compared, r.outputs);
    Buf text = buf_new(c->a), again = buf_new(c->a);
    rprog_print(&c->whole.rplan, c->dev, &text);
    must(c, read_text(c, buf_str(&text)));
    compile_choose(c->a, &c->set, 0, &c->whole);
    rprog_print(&c->whole.rplan, c->dev, &again);
    assert_string_equal(buf_str(&again), buf_str(&text));
}

/* Parts of the plan's text, what is wrong in their place, and what is said of it.  */
static void refused(Case *c, const char *const (*wrong)[3], size_t n) {
    Buf text = buf_new(c->a);
    rprog_print(&c->whole.rplan, c->dev, &text);
    for (size_t i = 0; i < n; i++) {
        const char *bad = replaced(c, buf_str(&text), wrong[i][0], wrong[i][1]);
        assert_int_equal(read_text(c, bad), ST_PLAN_TEXT);
        const char *said = diag_first_error(&c->d)->message;
        if (!strstr(said, wrong[i][2])) fail_msg("%s: %s", wrong[i][1], said);
    }
}

static void multiples_are_right(void **state) {
    static const char *const wrong[][3] = {
        {" s0%8 0 take strategy 1", " take strategy 1", "for sizes that it is not for"},
        {"given s0 8", "given s0 16", "no kernel depends on 's0%8'"},
        {"given s0 8", "given s0 8\ngiven s7 8", "no run-time size"},
        {"given s0 8", "given s0 512", "no kernel depends on 's0%8'"},
        {"kernel 0", "given s0 8\nkernel 0", "all sizes are planned for"}};
    Case c;
    (void)state;
    plan(&c, "1..600", ROWS("24"));
    given_are_right(&c);
    refused(&c, wrong, sizeof wrong / sizeof *wrong);
    arena_destroy(c.a);
}

/* Statistics of one image are those of neighbours, so its kernel does all.  */
static void one_has_a_program(void **state) {
    static const char *const wrong[][3] = {
        {"upto s0 1 take strategy 1", "upto s0 2 take strategy 1", "for sizes that it is not for"},
        {"given s0 upto 1", "given s0 upto 1\ngiven s7 upto 1", "no run-time size"}};
    Case c;
    (void)state;
    plan(&c, "1..16", "op f(X: f32[N,24,9,7]) -> Y: f32[N,24,9,7] {"
                      " S[c] = sum[n,h,w](X[n,c,h,w]); Q[c] = sum[n,h,w](X[n,c,h,w] * X[n,c,h,w]);"
                      " Y[n,c,h,w] = (X[n,c,h,w] - S[c]) * rsqrt(Q[c] + 0.5); }");
    assert_non_null(strstr(c.set.sizes, "strategy usual, N <= 1, 1 kernel:"));
    assert_non_null(strstr(c.set.sizes, "  N <= 1: strategy usual, N <= 1, kernel 0\n"));
    given_are_right(&c);
    refused(&c, wrong, sizeof wrong / sizeof *wrong);
    arena_destroy(c.a);
}

/* Partial sums of a few images are added by what reads their sum.  */
static void few_have_a_program(void **state) {
    static const char *const wrong[][3] = {
        {"given s0 upto 16", "given s0 upto 16\ngiven s7 upto 1", "no run-time size"}};
    Case c;
    (void)state;
    plan(&c, "2..40", "op f(X: f32[N,24,9,7]) -> Y: f32[N,24,9,7] {"
                      " S[c] = sum[n,h,w](X[n,c,h,w]); Q[c] = sum[n,h,w](X[n,c,h,w] * X[n,c,h,w]);"
                      " Y[n,c,h,w] = (X[n,c,h,w] - S[c]) * rsqrt(Q[c] + 0.5); }");
    assert_non_null(strstr(c.set.sizes, "+ Q unrolled, N <= 16, 2 kernels:"));
    given_are_right(&c);
    refused(&c, wrong, sizeof wrong / sizeof *wrong);
    arena_destroy(c.a);
}

/* Sizes made of others have other bounds and divisors in a strategy, but are not what is given.  */
static void sizes_made_of_others_are_not_given(void **state) {
    Case c;
    (void)state;
    plan(&c, "1..602", "let L = 2 * N; op f(A: f16[24,L], B: f16[N,L]) -> C: f16[24,N]"
                       " { C[i,j] += A[i,k] * B[j,k]; }");
    assert_non_null(c.set.other);
    const Te *strategy = c.set.other->te;
    const TeExtent *is = &strategy->size[1].extent, *of = &c.te->size[1].extent;
    assert_true(is->value < of->value && is->multiple > of->multiple);
    assert_int_equal(rplan_given(c.te, strategy, 0).multiple, 8);
    TeGiven made = rplan_given(c.te, strategy, 1);
    assert_true(made.multiple == 0 && made.most == 0);
    given_are_right(&c);
    arena_destroy(c.a);
}

static void given(Case *c, const char *sizes, const char *op, unsigned taken, int64_t within) {
    open_case(c, sizes, op);
    const char *text = two_strategies(c, taken, within);
    /* The word in earlier texts.  */
    must(c, read_text(c, replaced(c, text, "take strategy 1", "take split 1")));
    must(c, read_text(c, text));
    compile_choose(c->a, &c->set, 0, &c->whole);
    Buf again = buf_new(c->a);
    rprog_print(&c->whole.rplan, c->dev, &again);
    assert_string_equal(buf_str(&again), text);
    must(c, compile_build(c->a, &c->d, &c->whole, c->dev, &(BuildOptions){0}, &c->build));
}

/* Each split is right for the sizes that take it, and next to where the other one begins.  */
static void every_strategy_is_right(void **state) {
    static const struct {
        const char *op;
        unsigned taken;
        int64_t within;
    } table[] = {{turned, APART, 37},
                 {repeated, REPEATED, 30},
                 {scores, JOINED, 45}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Case c;
        CheckOptions o = {.threads = 1};
        CheckResult r;
        given(&c, "1..67", table[i].op, table[i].taken, table[i].within);
        must(&c, check_kernel(c.a, &c.d, &(BuiltPlan){&c.set, &c.whole, &c.build}, &o, &r));
        assert_in_range(r.size_sets, 5, 7);   /* both splits have some, and one less */
        assert_int_equal(r.compared, r.outputs);
        arena_destroy(c.a);
    }
}

/* All kernels of one split run, and none of another.  */
static void one_strategy_runs(void **state) {
    Case c;
    (void)state;
    given(&c, "0..67", turned, APART, 37);
    const KernelProgram *p = &c.build.program;
    assert_int_equal(p->n_strategy, 2);
    for (int64_t n = 0; n <= 67; n++) {
        int running[2] = {0, 0};
        for (int i = 0; i < p->n_kernel; i++) {
            bool runs = cg_blocks(c.te, p, &p->kernel[i], cg_taken(p, size_of(&c, n)),
                                  size_of(&c, n)) > 0;
            running[p->choice[p->kernel[i].group].strategy] += runs;
        }
        assert_int_equal(running[0], n > 37 ? 1 : 0);
        assert_int_equal(running[1], n == 0 || n > 37 ? 0 : 2);
    }
    arena_destroy(c.a);
}

/* What one split stores the other one does not need.  */
static void workspaces_differ(void **state) {
    Case c;
    (void)state;
    given(&c, "1..67", repeated, REPEATED, 30);
    const KernelProgram *p = &c.build.program;
    assert_int_equal(p->strategy[1].workspace.n, 0);
    assert_int_equal(p->workspace_bytes, 512);
    for (int64_t n = 1; n <= 67; n++)
        assert_int_equal(cg_workspace(c.te, p, size_of(&c, n)), n <= 30 ? 0 : 4 * n);
    arena_destroy(c.a);
}

static void wrong_texts_are_errors(void **state) {
    static const struct {
        const char *part, *by, *message;
    } wrong[] = {
        {"statement 1 apart", "statement 1 sideways", "unexpected '1'"},
        {"statement 1 apart", "statement 1", "unexpected '1'"},
        {"statement 1 apart", "statement 2 apart", "unexpected '1'"},
        {"statement 1 apart", "statement 1 apart\nstatement 1 joined", "cannot be 'joined'"},
        {"statement 1 apart", "split sideways", "unexpected '1'"},
        {"other\n", "other\nother\n", "expected 'kernel 0'"},
        {"other\n", "upto s0 37 split straight\n", "no such strategy"},
        {"take strategy 1 0 1", "take strategy 2 0 1", "no such strategy"},
        {"take strategy 1 0 1", "take strategy 1 0", "a number is missing"},
        {"take strategy 1 0 1", "take strategy 1 1 0", "not its own"},
        {"take strategy 1 0 1", "take strategy 1 0 2", "not its own"},
        {"take strategy 1 0 1", "take", "a number is missing"},
        {"upto s0 37 take", "upto s0 take", "expected a number"},
        {"upto s0 37 take", "upto s9 37 take", "no kernel depends on 's9'"},
        {"else take 0\n", "", "no line 'else take'"},
    };
    Case c;
    (void)state;
    open_case(&c, "1..67", turned);
    const char *good = two_strategies(&c, APART, 37);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *text = replaced(&c, good, wrong[i].part, wrong[i].by);
        assert_int_equal(read_text(&c, text), ST_PLAN_TEXT);
        const char *said = diag_first_error(&c.d)->message;
        if (!strstr(said, wrong[i].message)) fail_msg("%s: %s", wrong[i].by, said);
    }
    assert_int_equal(read_text(&c, good), ST_OK);
    /* What an earlier version wrote, or is for an op without run-time sizes.  */
    const char *usual = kernels_of(&c, USUAL, 67);
    const char *older = arena_printf(c.a, "roller-plan 1\n%skernel 1 of 0 upto s0 37\n%s", usual,
                                     usual);
    assert_int_equal(read_text(&c, older), ST_PLAN_TEXT);
    assert_non_null(strstr(diag_first_error(&c.d)->hint, "plan the op again"));
    arena_destroy(c.a);
    open_case(&c, "67", turned);
    assert_int_equal(read_text(&c, arena_printf(c.a, "roller-plan 1\nelse take 0\n%s",
                                                kernels_of(&c, USUAL, 67))),
                     ST_PLAN_TEXT);
    arena_destroy(c.a);
}

/* ---- the launch description ---- */

/* The first choice that allows the op's only size, which all measures grow with: `N*N`, `N`.  */
static const json_t *choice_of(const json_t *target, int64_t n) {
    const json_t *measures = json_object_get(target, "measures"), *c;
    size_t i;
    json_array_foreach(json_object_get(target, "choices"), i, c) {
        bool allowed = true;
        for (size_t m = 0; m < json_array_size(measures); m++) {
            const json_t *most = json_array_get(json_object_get(c, "upto"), m);
            bool square = strchr(json_string_value(json_array_get(measures, m)), '*') != NULL;
            allowed &= json_is_null(most) || (square ? n * n : n) <= json_integer_value(most);
        }
        if (allowed) return c;
    }
    return NULL;
}

static bool has_number(const json_t *list, json_int_t n) {
    bool has = false;
    for (size_t i = 0; i < json_array_size(list); i++)
        has |= json_integer_value(json_array_get(list, i)) == n;
    return has;
}

/* What the description of a kernel says to launch is what roller_launch does.  */
static void described_as_launched(void **state) {
    static const char file[] = "param N = 16..2048 % 16; op f(X: f32[N,N]) ->"
                               " (Y: f32[N,N], Z: f32[N,N]) {"
                               " Y[i,j] = exp(X[i,j]); Z[i,j] = X[i,j] + Y[j,i]; }";
    RollerCtx *ctx;
    RollerProfile *profile;
    RollerOp *op;
    RollerKernel *k;
    const void *text;
    size_t size;
    (void)state;
    assert_int_equal(roller_ctx_create(NULL, &ctx), ROLLER_OK);
    assert_int_equal(roller_profile_load(ctx, "profiles/h200.json", &profile), ROLLER_OK);
    assert_int_equal(roller_parse(ctx, file, sizeof file - 1, "t.te", NULL, &op), ROLLER_OK);
    assert_int_equal(roller_compile(ctx, op, profile, NULL, &k), ROLLER_OK);
    assert_int_equal(roller_kernel_get(k, ROLLER_JSON, &text, &size), ROLLER_OK);
    json_t *all = json_loads(text, 0, NULL);
    json_t *target = json_array_get(json_object_get(all, "targets"), 0);
    const json_t *splits = json_object_get(target, "splits");
    const json_t *kernels = json_object_get(target, "kernels");
    const KernelProgram *p = &k->build.program;
    assert_int_equal(json_array_size(splits), 2);
    assert_int_equal(json_array_size(kernels), roller_kernel_launches(k));
    for (int64_t n = 16; n <= 2048; n += 16) {
        const json_t *choice = choice_of(target, n);
        for (size_t i = 0; i < json_array_size(kernels); i++) {
            const json_t *x = json_array_get(kernels, i);
            int64_t value[TE_MAX_SIZES] = {n};
            json_int_t program = json_integer_value(json_object_get(x, "program"));
            bool launched = has_number(json_object_get(choice, "programs"), program);
            KernelTaken taken = cg_taken(p, value);
            assert_int_equal(cg_blocks(k->plans->op->te, p, &p->kernel[i], taken, value) > 0,
                             launched);
        }
    }
    json_decref(all);
    roller_kernel_destroy(k);
    roller_op_destroy(op);
    roller_profile_destroy(profile);
    roller_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_choose_the_strategy),
        cmocka_unit_test(a_launch_where_nothing_is_left),
        cmocka_unit_test(sizes_choose_decisions),
        cmocka_unit_test(one_strategy_where_no_other_gains),
        cmocka_unit_test(multiples_have_programs),
        cmocka_unit_test(needless_multiples_have_none),
        cmocka_unit_test(multiples_of_what_is_not_stored),
        cmocka_unit_test(multiples_are_right), cmocka_unit_test(one_has_a_program),
        cmocka_unit_test(few_have_a_program),
        cmocka_unit_test(sizes_made_of_others_are_not_given),
        cmocka_unit_test(every_strategy_is_right),
        cmocka_unit_test(one_strategy_runs),
        cmocka_unit_test(workspaces_differ),
        cmocka_unit_test(wrong_texts_are_errors),
        cmocka_unit_test(described_as_launched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
