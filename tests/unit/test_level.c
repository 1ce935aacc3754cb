/* What makes plans compile sooner is a part of them.  Level 2 of ptxas where 3 would take too long,
 * for all that is compiled together; loops that load their own first step where that is not enough.
 * The code computes the same, and plans that spill give way at either level.  */
#include "arena_fixture.h"
#include "driver/level.h"
#include "microperf/compile_cost.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const CompileOptions usual = {.top = 1, .align = 16, .workspace_limit = -1};

/* ---- the rule ---- */

static int ms_at(const Problem *p, const Device *dev, const RProg *r, bool quick, bool in_loop) {
    RProg x = *r;
    x.quick = quick;
    x.fill_in_loop = in_loop;
    return mp_compile_ms(p, dev, &x);
}

typedef struct {
    int quick, brief, slow;   /* at 2; at 3 since it is brief; at 3 since 2 saves nothing */
    int filled, copied;       /* in the loop; before it, since it may not be */
} Seen;

/* Level 2 for what takes more than 190 ms at 3 and 20 ms less at 2, to the millisecond; then the
 * loop for what takes more even so, if there is text to save.  */
static void check_program(const Problem *p, const Device *dev, const RProg *r, Seen *seen) {
    enum { LIMIT = 190, GAIN = 20 };
    int full = ms_at(p, dev, r, false, false), quick = ms_at(p, dev, r, true, false);
    bool saves = full - quick >= GAIN, may = rprog_may_fill_in_loop(p, dev, r);
    bool at_2 = full > LIMIT && saves;
    int now = at_2 ? quick : full, filled = ms_at(p, dev, r, at_2, true);
    bool in_loop = now > LIMIT && may && now - filled >= GAIN;
    assert_true(quick > 0 && quick <= full && filled > 0 && filled <= now);
    for (int said = 0; said < 4; said++) {  /* what it says already makes no difference */
        RProg x = *r;
        x.quick = said & 1;
        x.fill_in_loop = said >> 1;
        mp_compile_sooner(p, dev, &x);
        assert_int_equal(x.quick, at_2);
        assert_int_equal(x.fill_in_loop, in_loop);
    }
    seen->quick += at_2;
    seen->brief += full <= LIMIT && saves;
    seen->slow += full > LIMIT && !saves;
    seen->filled += in_loop;
    seen->copied += now > LIMIT && !may;
}

static void check_problem(Arena *a, const Problem *p, const Device *dev, Seen *seen) {
    Diag d = diag_new(a);
    RProgSet set;
    assert_int_equal(rprog_candidates(a, &d, p, dev, NULL, &set), ST_OK);
    for (int i = 0; i < set.n; i++) {
        const RProg *r = &set.prog[i];
        check_program(p, dev, r, seen);
        int slices = r->warp.extent[AX_K] / r->thread.extent[AX_K];
        if (!rprog_matrix(dev, r) || slices % 2)
            assert_int_equal(ms_at(p, dev, r, true, false), ms_at(p, dev, r, false, false));
    }
}

static void check_rule(Arena *a) {
    static const TeDtype type[] = {TE_F16, TE_F32};
    Seen seen[2] = {{0}}, converted = {0};
    for (int t = 0; t < 2; t++) {
        Problem p = fixture_matmul(1, 2048, 2048, 2048, false, true, type[t]);
        check_problem(a, &p, fixture_device(a, "h200"), &seen[t]);
        assert_true(seen[t].filled == 0 && seen[t].copied > 0);
    }
    assert_true(seen[0].quick > 10 && seen[0].brief > 10);
    assert_true(seen[1].quick == 0 && seen[1].brief == 0 && seen[1].slow > 0);
    Problem p = fixture_matmul(1, 16, 2048, 4096, false, true, TE_F8E4M3);
    check_problem(a, &p, fixture_device(a, "a100"), &converted);
    assert_true(converted.filled > 10);
}

static void test_rule(void **state) { run(state, check_rule); }

/* ---- plans ---- */

static PlanSet plan(Arena *a, const char *text, const CompileOptions *o) {
    Diag d = diag_new(a);
    Te *te;
    PlanSet set;
    assert_int_equal(te_parse(a, &d, "t.te", text, strlen(text), NULL, NULL, 0, &te), ST_OK);
    assert_int_equal(compile_plan(a, &d, te, fixture_device(a, "h200"), o, &set), ST_OK);
    return set;
}

static const char large[] = "op f(A: bf16[2048,8192], B: bf16[5120,8192]) -> C: bf16[2048,5120] {"
                            " C[m,n] += A[m,k] * B[n,k]; }";
static const char small[] = "op f(A: bf16[512,512], B: bf16[512,512]) -> C: bf16[512,512] {"
                            " C[m,n] += A[m,k] * B[n,k]; }";
/* The second product needs all of the first one: two kernels, the second one of f32.  */
static const char two[] =
    "op f(A: bf16[2048,2048], B: bf16[2048,2048], D: bf16[2048,2048]) -> E: bf16[2048,2048] {"
    " C[m,n] += A[m,k] * B[n,k]; E[m,n] += C[m,k] * D[n,k]; }";

/* Candidates of all groups at level 2, and whether each is there for its own sake.  */
static int count_quick(const PlanSet *set, int *own) {
    int n = 0;
    *own = 0;
    for (int g = 0; g < set->n_program; g++) {
        const GroupPlans *p = &set->plans[g];
        for (int i = 0; i < p->n; i++) {
            RProg x = p->ranked[i].prog;
            n += x.quick;
            mp_compile_sooner(&p->problem, set->dev, &x);
            *own += x.quick;
        }
    }
    return n;
}

static void check_plans(Arena *a) {
    int own, n;
    PlanSet set = plan(a, large, &usual);
    assert_true(set.plans[0].ranked[0].prog.quick);
    n = count_quick(&set, &own);
    assert_int_equal(n, own);
    set = plan(a, small, &usual);
    assert_false(set.plans[0].ranked[0].prog.quick);
    n = count_quick(&set, &own);
    assert_int_equal(n, own);
    for (int level = 2; level <= 3; level++) {
        CompileOptions given = usual;
        given.level = level;
        set = plan(a, level == 2 ? small : large, &given);
        assert_int_equal(count_quick(&set, &own), level == 2 ? set.plans[0].n : 0);
    }
    set = plan(a, two, &usual);             /* each by itself, as they are compiled side by side */
    assert_int_equal(set.n_group, 2);
    n = count_quick(&set, &own);
    assert_int_equal(n, own);
    assert_false(set.plans[0].ranked[0].prog.quick);
}

static void test_plans(void **state) { run(state, check_plans); }

/* A text says the level itself, whatever the rule would, and keeps it.  */
static void check_text(Arena *a) {
    PlanSet set = plan(a, large, &usual), again;
    for (int quick = 0; quick <= 1; quick++) {
        Diag d = diag_new(a);
        Buf text = buf_new(a);
        WholePlan whole;
        compile_choose(a, &set, 0, &whole);
        whole.rplan.prog[0].quick = quick;
        rprog_print(&whole.rplan, set.dev, &text);
        assert_int_equal(strstr(buf_str(&text), "level 2") != NULL, quick);
        assert_int_equal(compile_read_plan(a, &d, set.te, set.dev, &usual, "plan", buf_str(&text),
                                           text.len, &again), ST_OK);
        assert_int_equal(again.plans[0].ranked[0].prog.quick, quick);
        Buf why = buf_new(a);
        mp_explain(&again.plans[0].problem, set.dev, &again.plans[0].set, again.plans[0].ranked, 1,
                   &why);
        assert_int_equal(strstr(buf_str(&why), "compiled at level 2 of ptxas:") != NULL, quick);
        assert_int_equal(strstr(buf_str(&why), "too long") != NULL, quick);
    }
}

static void test_text(void **state) { run(state, check_text); }

/* ---- code ---- */

enum { OP_HMMA = 0x23c };

static Build build(Arena *a, const PlanSet *set, const WholePlan *plan, const bool *only) {
    Diag d = diag_new(a);
    Build b;
    BuildOptions o = {.only = only};
    assert_int_equal(compile_build(a, &d, plan, set->dev, 16, &o, &b), ST_OK);
    for (int i = 0; i < b.nvrtc.n_kernel; i++) {
        const KernelResources *r = &b.nvrtc.kernel[i];
        assert_int_equal(r->spill_stores + r->spill_loads, 0);
    }
    return b;
}

/* The same products at both levels, by other instructions around them or in another order.  */
static void check_code(Arena *a) {
    PlanSet set = plan(a, large, &usual);
    Build at[2];
    for (int quick = 0; quick <= 1; quick++) {
        WholePlan whole;
        uint32_t count[4096];
        compile_choose(a, &set, 0, &whole);
        whole.rplan.prog[0].quick = quick;
        Build *b = &at[quick];
        *b = build(a, &set, &whole, NULL);
        assert_int_equal(b->level, quick ? 2 : 3);
        const NvrtcOutput *o = &b->nvrtc;
        assert_true(nvrtc_loop_opcodes(o->cubin, o->cubin_len, b->program.kernel[0].symbol, 90,
                                       OP_HMMA, count));
        const RTile *warp = &whole.rplan.prog[0].warp, *one = &whole.rplan.prog[0].thread;
        uint32_t products = 1;
        for (int axis = AX_M; axis <= AX_K; axis++)
            products *= (uint32_t)(warp->extent[axis] / one->extent[axis]);
        assert_int_equal(count[OP_HMMA], products);
    }
    assert_string_not_equal(at[0].program.hash, at[1].program.hash);
    bool same_size = at[0].nvrtc.cubin_len == at[1].nvrtc.cubin_len;
    assert_false(same_size && !memcmp(at[0].nvrtc.cubin, at[1].nvrtc.cubin, at[0].nvrtc.cubin_len));
}

static void test_code(void **state) { run(state, check_code); }

/* One compilation has one level, the least, also while a part of it is tried.  */
static void check_together(Arena *a) {
    PlanSet set = plan(a, two, &usual);
    for (int quick = 0; quick < 3; quick++) {
        static const bool second[] = {false, true};
        WholePlan whole;
        compile_choose(a, &set, 0, &whole);
        for (int g = 0; g < 2; g++) whole.rplan.prog[g].quick = quick == g;
        assert_int_equal(level_of(&whole.rplan), quick < 2 ? 2 : 3);
        if (quick == 0) assert_int_equal(build(a, &set, &whole, second).level, 2);
    }
}

static void test_together(void **state) { run(state, check_together); }

/* A first plan at level 2 that has too few registers gives way to the next one, at its level.  */
static void check_spills(Arena *a) {
    PlanSet set = plan(a, large, &usual);
    for (int quick = 0; quick <= 1; quick++) {
        Ranked *first = set.plans[0].ranked;
        Diag d = diag_new(a);
        WholePlan whole;
        Build b;
        first[0].prog.quick = true;
        first[0].prog.blocks_per_sm = (int16_t)(65536 / (96 * first[0].prog.threads));
        first[1].prog.quick = quick;
        assert_int_equal(compile_best(a, &d, &set, 0, &(BuildOptions){0}, &whole, &b), ST_OK);
        assert_int_equal(b.spilled, 1);
        assert_int_equal(whole.choice[0], 1);
        assert_int_equal(b.level, quick ? 2 : 3);
    }
}

static void test_spills(void **state) { run(state, check_spills); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rule, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plans, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spills, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
