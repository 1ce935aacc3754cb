/* Kernels in OpenCL C, run by a compiler and a runtime that are not ours (PoCL on the CPU) and
 * compared with the reference: examples at small sizes, operators by every form, random programs.
 * SEED draws a share of them; LONG=1 runs all operators and many random programs.
 *
 *   OPERATOR=NAME build/tests/test_opencl_kernels       some operators
 *   SEED=n COUNT=1 build/tests/test_opencl_kernels      one random program
 */
#include "effort.h"
#include "form_pick.h"
#include "opencl.h"
#include "opencl_program.h"
#include "plan_fixture.h"
#include "te_random.h"

#include "base/file.h"
#include "driver/pipeline/compile.h"
#include "microperf/microperf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int setup(void **state) { return (*state = arena_create(NULL)) ? 0 : -1; }

static int teardown(void **state) {
    arena_destroy(*state);
    return 0;
}

static void need_platform(Arena *a) {
    const char *absent = opencl_absent(a);
    if (!absent) return;
    print_message("skipped: %s\n", absent);
    skip();
}

/* ---- operators, by every form ---- */

/* How many forms were run; -1: one is wrong, which is told.  */
static int prove_operator(Arena *a, const Device *dev, const Operator *o, TeDtype type) {
    KernelCase all;
    int proved = 0;
    const char *wrong = kernel_open(&all, a, dev, operator_te(a, o, type), NULL);
    unsigned forms = wrong ? 0 : form_all(&all);
    for (int form = 0; form < FORM_COUNT && !wrong; form++) {
        KernelCase c = all;
        c.plan.problem = ARENA_ARRAY(a, Problem, c.plan.n);
        c.plan.prog = ARENA_ARRAY(a, RProg, c.plan.n);
        memcpy(c.plan.problem, all.plan.problem, (size_t)c.plan.n * sizeof *c.plan.problem);
        if (!(forms >> form & 1)) continue;
        wrong = form_pick(&c, (Form)form);
        if (!wrong) wrong = kernel_emit(&c);
        if (!wrong) wrong = opencl_prove(a, &c.diag, c.te, &c.program, NULL, 1);
        if (wrong)
            print_error("by %s: %s", form_name[form],
                        kernel_report(&c, operator_te(a, o, type), wrong));
        proved++;
    }
    return wrong ? -1 : proved;
}

static void operators_by_form(void **state) {
    enum { SHARE = 97 };
    const char *only = getenv("OPERATOR");
    const Device *dev = fixture_device(*state, "pocl");
    int failed = 0, proved = 0;
    need_platform(*state);
    for (int i = 0; i < n_operators; i++) {
        for (int t = 0; t < TE_DTYPE_COUNT; t++) {
            bool named = only && *only && strstr(operators[i].name, only);
            if (!(operators[i].types >> t & 1)) continue;
            if (only && *only ? !named : !effort_drawn(i * TE_DTYPE_COUNT + t, SHARE)) continue;
            ArenaMark before = arena_mark(*state);
            int n = prove_operator(*state, dev, &operators[i], (TeDtype)t);
            failed += n < 0;
            proved += n > 0 ? n : 0;
            arena_reset(*state, before);
        }
    }
    print_message("%d programs of operators proved\n", proved);
    assert_int_equal(failed, 0);
    assert_true(proved > 0);
}

/* ---- sums of a product whose parts meet ---- */

static bool is_split(const RProg *r) { return r->split > 1; }
static bool is_dealt(const RProg *r) { return r->tail > 0; }
static bool is_sliced(const RProg *r) { return r->block.extent[AX_K] > r->warp.extent[AX_K]; }
static bool has_stages(const RProg *r) { return r->stages > 1; }
static bool has_rows(const RProg *r) { return r->stats == STATS_WHOLE; }
static bool has_parts_of_rows(const RProg *r) { return r->stats == STATS_PARTIAL; }

#define PRODUCT                                                                                    \
    "op f(A: f32[72,512], B: f32[512,80]) -> C: f32[72,80] { C[m,n] += A[m,k] * B[k,n]; }"
#define SCORES                                                                                     \
    "op f(A: f32[64,32], B: f32[48,32]) -> C: f32[64,48] { s[m,n] += A[m,k] * B[n,k];"             \
    " t[m] max= s[m,n]; z[m] += exp(s[m,n] - t[m]); C[m,n] = exp(s[m,n] - t[m]) / z[m]; }"
#define TRUTHS                                                                                     \
    "op f(A: bool[900]) -> C: bool[900] { C[m] = all[k](A[m]) where k in 0:10; }"
static const struct {
    const char *name, *op;
    bool (*is)(const RProg *r);
} parts[] = {
    {"slices of blocks", PRODUCT, is_split},
    {"steps dealt out", PRODUCT, is_dealt},
    {"slices of warps", PRODUCT, is_sliced},
    {"truths kept across barriers", TRUTHS, has_stages},
    {"whole rows", SCORES, has_rows},
    {"parts of rows", SCORES, has_parts_of_rows},
};

/* Proves the best of the programs that meet so; false: one is wrong, or there is none.  */
static bool prove_parts(Arena *a, const Device *dev, int i) {
    KernelCase c;
    Ranked *best;
    const char *wrong = kernel_open_decided(&c, a, dev, parts[i].op, NULL, JOINED);
    RProgSet all = c.set[0], some = {.prog = ARENA_ARRAY(a, RProg, all.n + 1)};
    for (int n = 0; n < all.n; n++)
        if (parts[i].is(&all.prog[n])) some.prog[some.n++] = all.prog[n];
    if (!wrong && !(some.n > 0 && mp_rank(a, &c.plan.problem[0], dev, &some, 1, &best)))
        wrong = "no program";
    if (!wrong) {
        c.plan.prog[0] = best[0].prog;
        wrong = kernel_emit(&c);
    }
    if (!wrong) wrong = opencl_prove(a, &c.diag, c.te, &c.program, NULL, 1);
    if (wrong) print_error("%s: %s\n", parts[i].name, wrong);
    return !wrong;
}

static void sums_of_parts(void **state) {
    const Device *dev = fixture_device(*state, "pocl");
    int failed = 0;
    need_platform(*state);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ArenaMark before = arena_mark(*state);
        failed += !prove_parts(*state, dev, (int)i);
        arena_reset(*state, before);
    }
    assert_int_equal(failed, 0);
}

/* ---- whole ops, as they are planned ---- */

typedef struct {
    Arena *arena;
    Diag diag;
    const char *text, *op;
    TeDefines define;
    Te *te;
    PlanSet set;
    WholePlan plan;
    Build build;
} Way;

static const char *said(const Way *w, const char *stage) {
    const DiagMessage *m = diag_first_error(&w->diag);
    return arena_printf(w->arena, "%s: %s", stage, m ? m->message : "no message");
}

/* Some values of run-time sizes.  */
static int64_t *sizes_of(const Way *w, uint64_t seed) {
    Rng rng = {seed};
    int64_t *value = ARENA_ARRAY(w->arena, int64_t, w->te->n_size + 1);
    for (int i = 0; i < w->te->n_size; i++) {
        const TeExtent *e = &w->te->size[i].extent;
        int64_t q = e->multiple, lo = (e->min + q - 1) / q, hi = e->value / q;
        value[i] = e->value;
        if (rplan_varies(w->te, i))
            value[i] = (lo + (int64_t)rng_below(&rng, (uint32_t)(hi - lo + 1))) * q;
    }
    return value;
}

/* NULL if it is right.  */
static const char *prove(Way *w, const Device *dev, uint64_t seed, int *proved) {
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
    w->diag = diag_new(w->arena);
    if (te_parse(w->arena, &w->diag, diag_text("way.te", w->text), w->op, &w->define, &w->te))
        return said(w, "parse");
    if (compile_plan(w->arena, &w->diag, &(PlanRequest){w->te, dev, &o}, &w->set))
        return said(w, "plan");
    compile_choose(w->arena, &w->set, 0, &w->plan);
    if (compile_emit(w->arena, &w->diag, &w->plan, dev, &w->set.options, &w->build))
        return said(w, "emit");
    ++*proved;
    int64_t *size = w->te->runtime ? sizes_of(w, seed) : NULL;
    return opencl_prove(w->arena, &w->diag, w->te, &w->build.program, size, seed);
}

/* Ops of the examples with their sizes, small ones.  */
static const struct {
    const char *file, *op, *sizes;
} examples[] = {
    {"attention", NULL, "B=1 H=2 M=40 N=33 D=16"},
    {"bmm_nt", NULL, "B=3"},
    {"conv2d", NULL, "N=2 C=5 H=11 W=9 F=7"},
    {"conv2d_bias_relu", NULL, "N=2 H=9 W=7 C=8 F=10"},
    {"cumsum", "cumsum", "N=37 C=150"},
    {"cumsum", "cummax", "N=37 C=150"},
    {"depthwise", NULL, "N=2 C=6 H=19 W=17"},
    {"gather", NULL, "V=90 D=40 T=33"},
    {"layernorm", NULL, "N=19 C=200"},
    {"matmul", NULL, "M=70 N=50 K=90"},
    {"matmul_gelu", NULL, "M=40 N=72 K=48"},
    {"pool", "maxpool", "N=2 C=5 H=21 W=17"},
    {"pool", "avgpool", "N=2 C=5 H=21 W=17"},
    {"qlinear", NULL, "M=33 N=40 K=96"},
    {"reduce", NULL, "N=50 C=300"},
    {"softmax", NULL, "N=19 C=200"},
    {"transpose", "nhwc_to_nchw", "N=2 H=20 W=18"},
    {"transpose", "split_heads", "N=2 H=20 W=18"},
    {"mxfp8", "quantize", "M=19 K=96"},
    {"mxfp8", "product", "M=33 N=40 K=96"},
    {"nvfp4", "quantize", "M=19 K=96"},
    {"nvfp4", "product", "M=33 N=40 K=96"},
    {"weights_i8", NULL, "M=9 N=40 K=64"},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

/* NAME=N, each behind a space.  */
static TeDefines defines(Arena *a, const char *text) {
    enum { MOST = 8 };
    Diag d = diag_new(a);
    TeDefine *item = ARENA_ARRAY(a, TeDefine, MOST);
    int n = 0;
    for (const char *s = text; *s; s += *s == ' ') {
        size_t len = strcspn(s, " ");
        assert_int_equal(te_define_parse(a, &d, arena_strndup(a, s, len), &item[n++]), ST_OK);
        s += len;
    }
    return (TeDefines){item, n};
}

static void the_examples(void **state) {
    enum { SHARE = 6 };
    const Device *dev = fixture_device(*state, "pocl");
    int failed = 0, proved = 0;
    need_platform(*state);
    for (int i = 0; i < EXAMPLES; i++) {
        Way w = {.arena = *state, .op = examples[i].op};
        char *text;
        size_t len;
        if (!effort_drawn(i, SHARE)) continue;
        w.diag = diag_new(*state);
        const char *path = arena_printf(*state, "examples/%s.te", examples[i].file);
        assert_int_equal(file_read(*state, &w.diag, path, 1 << 20, &text, &len), ST_OK);
        w.text = text;
        w.define = defines(*state, examples[i].sizes);
        const char *wrong = prove(&w, dev, effort_seed(), &proved);
        if (wrong) print_error("%s: %s\n", path, wrong);
        failed += wrong != NULL;
    }
    print_message("%d examples proved\n", proved);
    assert_int_equal(failed, 0);
}

/* ---- random programs ---- */

static void random_programs(void **state) {
    enum { PROGRAMS = 6, MANY = 400 };
    const char *asked = getenv("COUNT");
    int count = asked && *asked ? atoi(asked) : effort_long() ? MANY : PROGRAMS;
    const Device *dev = fixture_device(*state, "pocl");
    int failed = 0, proved = 0;
    need_platform(*state);
    for (int i = 0; i < count; i++) {
        ArenaMark before = arena_mark(*state);
        uint64_t seed = (uint64_t)effort_seed() + (uint64_t)i;
        Choices *c = ARENA_NEW(*state, Choices);
        Way w = {.arena = *state};
        choices_random(c, seed);
        w.text = random_program(*state, c, &(RandomStyle){0},
                                (RandomLimits){.sized = seed % 2 != 0});
        const char *wrong = prove(&w, dev, seed, &proved);
        if (wrong) print_error("SEED=%llu COUNT=1: %s\n%s\n", (unsigned long long)seed, wrong,
                               w.text);
        failed += wrong != NULL;
        arena_reset(*state, before);
    }
    print_message("%d of %d random programs proved\n", proved, count);
    assert_int_equal(failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operators_by_form, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_of_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(the_examples, setup, teardown),
        cmocka_unit_test_setup_teardown(random_programs, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
