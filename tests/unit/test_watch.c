/* How calls are followed and ended: log, progress and cancel of planning, building, checking; a
 * call that is ended says so, leaves nothing behind, and the context goes on.  */
#include "roller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char text[] =
    "param M = 64, N = 48, K = 1..64;\n"
    "op matmul(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }\n";

typedef enum { PLAN, BUILD, CHECK, STAGES } Stage;
static const char *const stages[STAGES] = {"plan", "build", "check"};

typedef struct {
    int steps[STAGES];
    int notes, errors, asked;
    int at;                   /* the step or question that ends the call; < 0: none */
    int seen;
    char last[512];
    bool entered;             /* a callback runs */
    atomic_int live;          /* allocations */
    RollerStop stop;
} Seen;

static void enter(Seen *s) {
    assert_false(s->entered);
    s->entered = true;
}

static bool leave(Seen *s) {
    s->entered = false;
    return s->seen++ == s->at;
}

static int progress(void *user, const RollerProgress *p) {
    Seen *s = user;
    enter(s);
    int i = 0;
    while (i < STAGES && strcmp(stages[i], p->stage)) i++;
    assert_in_range(i, 0, STAGES - 1);
    assert_true(p->done >= 0 && p->done < p->total && *p->what);
    s->steps[i]++;
    return leave(s);
}

static int cancel(void *user) {
    Seen *s = user;
    enter(s);
    s->asked++;
    return leave(s);
}

static void said(void *user, RollerSay what, const char *line) {
    Seen *s = user;
    assert_false(s->entered);
    if (what == ROLLER_SAY_NOTE) s->notes++;
    if (what == ROLLER_SAY_ERROR) s->errors++;
    snprintf(s->last, sizeof s->last, "%s", line);
}

static void *counted_alloc(size_t size, void *user) {
    Seen *s = user;
    atomic_fetch_add(&s->live, 1);
    return malloc(size);
}

static void counted_free(void *p, void *user) {
    Seen *s = user;
    if (p) atomic_fetch_sub(&s->live, 1);
    free(p);
}

static RollerCtx *context(Seen *s) {
    RollerCtxOptions o = {.struct_size = sizeof o, .profile_path = "profiles", .threads = 1,
                          .alloc = counted_alloc, .free = counted_free, .alloc_user = s};
    RollerCtx *ctx;
    assert_int_equal(roller_ctx_create(&o, &ctx), ROLLER_OK);
    return ctx;
}

typedef struct {
    RollerProfile *profile;
    RollerOp *op;
    RollerPlans *plans;
    RollerKernel *kernel;
} Made;

static void drop(Made *m) {
    roller_kernel_destroy(m->kernel);
    roller_plans_destroy(m->plans);
    roller_op_destroy(m->op);
    roller_profile_destroy(m->profile);
    *m = (Made){0};
}

/* One stage, of what those before it have made; the first call that fails.  */
static RollerStatus make_stage(RollerCtx *ctx, Stage stage, Made *m) {
    RollerCheckReport report = {.struct_size = sizeof report};
    if (stage == BUILD) return roller_build_best(ctx, m->plans, NULL, &m->kernel);
    if (stage == CHECK) return roller_check(ctx, m->kernel, NULL, &report);
    RollerStatus s = roller_profile_load(ctx, "a100", &m->profile);
    if (!s) s = roller_parse(ctx, text, strlen(text), "test.te", NULL, &m->op);
    return s ? s : roller_plan(ctx, m->op, m->profile, NULL, &m->plans);
}

/* Everything up to a stage.  */
static RollerStatus make(RollerCtx *ctx, Stage upto, Made *m) {
    RollerStatus s = ROLLER_OK;
    for (Stage stage = PLAN; !s && stage <= upto; stage++) s = make_stage(ctx, stage, m);
    return s;
}

static void drop_stage(Stage stage, Made *m) {
    if (stage == PLAN) drop(m);
    if (stage == BUILD) roller_kernel_destroy(m->kernel);
    if (stage == BUILD) m->kernel = NULL;
}

static void every_stage_is_told(void **state) {
    (void)state;
    Seen s = {.at = -1};
    Made m = {0};
    RollerCtx *ctx = context(&s);
    RollerWatch w = {.struct_size = sizeof w, .log = said, .progress = progress,
                     .cancel = cancel, .user = &s};
    roller_ctx_watch(ctx, &w);
    assert_int_equal(make(ctx, CHECK, &m), ROLLER_OK);
    for (int i = 0; i < STAGES; i++) assert_true(s.steps[i] > 0);
    assert_true(s.steps[CHECK] >= 6 && s.asked > 0);       /* sizes, each with three data sets */
    assert_true(s.notes > 0 && !s.errors);
    assert_non_null(strstr(s.last, "check: ok"));
    roller_ctx_watch(ctx, NULL);                          /* nobody any more */
    int told = s.seen;
    drop(&m);
    assert_int_equal(make(ctx, PLAN, &m), ROLLER_OK);
    assert_int_equal(s.seen, told);
    drop(&m);
    roller_ctx_destroy(ctx);
    assert_int_equal(atomic_load(&s.live), 0);
}

static void ends_once(RollerCtx *ctx, const Seen *s, RollerStatus got) {
    assert_int_equal(got, ROLLER_CANCELLED);
    assert_int_equal(roller_error(ctx)->status, ROLLER_CANCELLED);
    assert_int_equal(s->errors, 1);
    assert_true(s->seen <= s->at + 1);
}

/* Each step of a stage, or its first questions, end its call; the context goes on.  */
static void can_end(Stage stage, bool asks) {
    enum { QUESTIONS = 8 };
    Seen heap = {.at = -1}, whole = {.at = -1};
    Made m = {0};
    RollerCtx *ctx = context(&heap);
    RollerWatch w = {.struct_size = sizeof w, .user = &whole};
    w.progress = asks ? NULL : progress;
    w.cancel = asks ? cancel : NULL;
    if (stage > PLAN) assert_int_equal(make(ctx, stage - 1, &m), ROLLER_OK);
    roller_ctx_watch(ctx, &w);
    assert_int_equal(make_stage(ctx, stage, &m), ROLLER_OK);
    int n = asks && whole.seen > QUESTIONS ? QUESTIONS : whole.seen;
    assert_true(n > 0);
    w.log = said;
    for (int at = 0; at < n; at++) {
        Seen s = {.at = at};
        w.user = &s;
        drop_stage(stage, &m);
        roller_ctx_watch(ctx, &w);
        RollerStatus got = make_stage(ctx, stage, &m);
        if (got || !asks) ends_once(ctx, &s, got);
    }
    roller_ctx_watch(ctx, NULL);
    drop_stage(stage, &m);
    assert_int_equal(make_stage(ctx, stage, &m), ROLLER_OK);
    drop(&m);
    roller_ctx_destroy(ctx);
    assert_int_equal(atomic_load(&heap.live), 0);
}

static void every_step_can_end_it(void **state) {
    (void)state;
    for (Stage stage = PLAN; stage < STAGES; stage++) {
        can_end(stage, false);
        can_end(stage, true);
    }
}

static void a_flag_ends_all_calls_that_take_long(void **state) {
    (void)state;
    Seen s = {.at = -1};
    Made m = {0};
    RollerCtx *ctx = context(&s);
    RollerCheckReport report = {.struct_size = sizeof report};
    RollerKernel *k;
    RollerPlans *plans;
    RollerWatch w = {.struct_size = sizeof w, .stop = &s.stop};
    roller_ctx_watch(ctx, &w);
    assert_int_equal(make(ctx, BUILD, &m), ROLLER_OK);
    atomic_store(&s.stop, true);
    assert_int_equal(roller_plan(ctx, m.op, m.profile, NULL, &plans), ROLLER_CANCELLED);
    assert_null(plans);
    assert_int_equal(roller_build_best(ctx, m.plans, NULL, &k), ROLLER_CANCELLED);
    assert_null(k);
    assert_int_equal(roller_check(ctx, m.kernel, NULL, &report), ROLLER_CANCELLED);
    assert_false(report.ok);
    atomic_store(&s.stop, false);
    assert_int_equal(roller_check(ctx, m.kernel, NULL, &report), ROLLER_OK);
    drop(&m);
    roller_ctx_destroy(ctx);
    assert_int_equal(atomic_load(&s.live), 0);
}

/* What a foreign library returned is in the error, by number and name.  */
static void codes_are_told(void **state) {
    (void)state;
    Seen s = {.at = -1};
    Made m = {0};
    RollerCtx *ctx = context(&s);
    assert_int_equal(make(ctx, PLAN, &m), ROLLER_OK);
    assert_null(roller_error(ctx));
    assert_int_equal(roller_build(ctx, roller_plans_get(m.plans, 0), "sm_1", &m.kernel),
                     ROLLER_NVRTC);
    const RollerError *e = roller_error(ctx);
    assert_true(e->struct_size == sizeof *e && !e->cuda && !e->nvrtc);
    assert_string_equal(e->code_name, "");
    drop(&m);
    roller_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stage_is_told),
        cmocka_unit_test(every_step_can_end_it),
        cmocka_unit_test(a_flag_ends_all_calls_that_take_long),
        cmocka_unit_test(codes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
