/* Measuring over the simulated driver: the fastest right candidate wins; one that faults, hangs or
 * computes something wrong costs only itself.  */
#include "arena_fixture.h"
#include "base/stats.h"
#include "driver/device/measure.h"
#include "driver/pipeline/compile.h"
#include "simulated.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 3, CASES = 7 };
static const char matmul[] =
    "op mm(A: f32[32,16], B: f32[16,32]) -> C: f32[32,32] { C[m,n] += A[m,k] * B[k,n]; }";

static Device *dev;
static PlanSet set;
static WholePlan plan[RANKS];
static Build build[RANKS];

static int setup(void **state) {
    (void)state;
    simulated_setup("profiles/a100.json");
    arena = arena_create(NULL);
    diag = diag_new(arena);
    Te *te;
    CompileOptions o = {.top = RANKS, .align = 16, .workspace_limit = -1};
    must(hal_profile_find(arena, &diag, "a100", "profiles", NULL, &dev));
    must(te_parse(arena, &diag, diag_text("mm.te", matmul), NULL, NULL, &te));
    must(compile_plan(arena, &diag, &(PlanRequest){te, dev, &o}, &set));
    if (set.n_rank < RANKS) return -1;
    for (int i = 0; i < RANKS; i++) {
        compile_choose(arena, &set, i, &plan[i]);
        must(compile_build(arena, &diag, &plan[i], dev, &(BuildOptions){0}, &build[i]));
    }
    return 0;
}

static int fresh(void **state) {
    (void)state;
    diag = diag_new(arena);
    unsetenv("ROLLER_SIM_FAULTS");
    return 0;
}

/* The build of rank 0 with other code: `body` behind PTX of the same interface.  */
static const Build *altered(const char *body) {
    Build *b = ARENA_NEW(arena, Build);
    *b = build[0];
    char *cubin = arena_alloc(arena, b->nvrtc.cubin_len + 1);
    memcpy(cubin, b->nvrtc.cubin, b->nvrtc.cubin_len);
    cubin[b->nvrtc.cubin_len - 1] ^= body[0];             /* another image */
    b->nvrtc.cubin = cubin;
    b->nvrtc.ptx = arena_printf(arena,
                                ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry "
                                "%s(.param .u64 a, .param .u64 b, .param .u64 c) {\n%s\n}\n",
                                b->program.kernel[0].symbol, body);
    return b;
}

/* The same machine code with kernels of another name, as another plan would give it.  */
static const Build *renamed(const Build *from) {
    Build *b = ARENA_NEW(arena, Build);
    *b = *from;
    size_t len = b->nvrtc.cubin_len;
    char *cubin = arena_alloc(arena, len + 1);
    memcpy(cubin, b->nvrtc.cubin, len);
    int names = 0;
    for (size_t i = 0; i + 16 <= len; i++) {
        if (memcmp(cubin + i, from->program.hash, 16) != 0) continue;
        memcpy(cubin + i, "0123456789abcdef", 16);
        names++;
    }
    assert_true(names > 0);
    memcpy(b->program.hash, "0123456789abcdef", 17);
    b->nvrtc.cubin = cubin;
    return b;
}

/* The watchdog is far from what a busy machine needs where nothing hangs.  */
static MeasureOptions options(void) {
    return (MeasureOptions){.watchdog_s = 60, .threads = 1};
}

/* Of the op, n candidates.  */
static Status measure(Candidate *c, int n, const MeasureOptions *o, Trial *t, int *best) {
    Candidates all = {.set = &set, .c = c, .n = n, .trial = t};
    Status s = measure_candidates(arena, &diag, &all, 1, o);
    *best = all.best;
    return s;
}

/* Time of a candidate on the simulator itself, without driver or worker.  */
static double simulated_us(int i) {
    const Te *te = set.te;
    TeData in[2];
    Run run = {
        .te = te, .normal = set.normal, .build = &build[i], .place = {.dev = dev}, .data = in};
    for (int t = 0; t < 2; t++) {
        size_t bytes = te_tensor_bytes(&te->tensor[t]);
        in[t] = (TeData){arena_alloc(arena, bytes), bytes};
        te_fill(te, t, TE_FILL_REALS, 1, in[t]);
    }
    must(run_create(&run, arena, &diag));
    run.options.timed = true;
    for (int k = 0; k < build[i].program.n_kernel; k++)
        must(run_launch(&run, arena, &diag, k, NULL, 0));
    assert_null(run.fault);
    return run.report.time_us;
}

static double children_ran_s(void) {
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* Seconds of the processor, which are what the watchdog counts, far beyond what a right candidate
 * needs.  */
static double patience(void) {
    MeasureOptions o = options();
    Candidate c = {&plan[0], &build[0], NULL};
    Trial t;
    int best;
    double begin = children_ran_s();
    must(measure(&c, 1, &o, &t, &best));
    return 1 + floor(4 * (children_ran_s() - begin));
}

static void the_fastest_right_one_wins(void **state) {
    (void)state;
    const char *forever = "L: bra L;", *wild = ".reg .u64 %a; mov.u64 %a, 64; "
                                               "st.global.u32 [%a], 1; ret;";
    Candidate c[CASES] = {
        {&plan[0], altered(wild), NULL},  {&plan[0], altered(forever), NULL},
        {&plan[0], altered("ret;   "), NULL}, {&plan[0], &build[0], NULL},
        {&plan[1], &build[1], NULL},      {&plan[1], renamed(&build[1]), NULL},
        {.why = "no compiler"},
    };
    static const TrialEnd want[CASES] = {TRIAL_FAULT, TRIAL_HANG, TRIAL_WRONG, TRIAL_RIGHT,
                                         TRIAL_RIGHT, TRIAL_SAME, TRIAL_BUILD};
    MeasureOptions o = options();
    Trial t[CASES];
    int best;
    o.watchdog_s = patience();
    must(measure(c, CASES, &o, t, &best));
    for (int i = 0; i < CASES; i++)
        if (t[i].end != want[i])
            fail_msg("candidate %d: %d, not %d: %s", i, t[i].end, want[i], t[i].reason);
    assert_non_null(strstr(t[0].reason, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_string_equal(t[1].reason,
                        arena_printf(arena, "it did not end within %g s", o.watchdog_s));
    assert_non_null(strstr(t[2].reason, "C["));
    assert_string_equal(t[5].reason, "the same machine code as plan 5");
    assert_string_equal(t[6].reason, "no compiler");
    double first = simulated_us(0), second = simulated_us(1);
    assert_true(best == 3 || best == 4);
    if (first != second) assert_int_equal(best, first < second ? 3 : 4);
    assert_true(t[best].timing.cold_us <= t[7 - best].timing.cold_us);
    assert_true(t[3].timing.samples >= 5 && t[3].timing.by_events);
    assert_true(t[3].timing.spread == 0 && t[3].timing.clock_mhz > 0);
}

/* What is measured is the simulator's own time, the same in every process.  */
static void times_are_simulated_times(void **state) {
    (void)state;
    MeasureOptions o = options();
    Trial t[2][RANKS];
    int best[2];
    Candidate c[RANKS];
    for (int i = 0; i < RANKS; i++) c[i] = (Candidate){&plan[i], &build[i], NULL};
    for (int k = 0; k < 2; k++)
        must(measure(c, RANKS, &o, t[k], &best[k]));
    assert_int_equal(best[0], best[1]);
    for (int i = 0; i < RANKS; i++) {
        if (t[0][i].end != TRIAL_RIGHT) continue;
        double own = simulated_us(i);
        assert_true(t[0][i].timing.cold_us == t[1][i].timing.cold_us);
        assert_true(t[0][i].timing.warm_us == t[1][i].timing.warm_us);
        assert_true(t[0][i].timing.cold_us >= own * 0.999);
        assert_true(t[0][i].timing.cold_us <= own + 0.02);
        /* In a graph each kernel takes its launch there, and with warm L2 at most its time.  */
        double launch = dev->overheads.launch_graph.value * 1e-3;
        assert_true(t[0][i].timing.warm_us >= launch);
        assert_true(t[0][i].timing.warm_us <= own + launch);
    }
}

static void limits(void **state) {
    (void)state;
    atomic_bool stop = true;
    Watch watch;
    MeasureOptions o = options();
    Candidate c = {&plan[0], &build[0], NULL};
    Trial t;
    int best;
    watch_init(&watch, &(WatchCalls){.stop = &stop});
    o.watch = &watch;
    assert_int_equal(measure(&c, 1, &o, &t, &best),
                     ST_CANCELLED);
    assert_true(t.end == TRIAL_STOPPED && best == -1);
    fresh(NULL);
    o = options();
    o.limit_s = 1e-6;
    assert_int_equal(measure(&c, 1, &o, &t, &best),
                     ST_CANCELLED);
    assert_int_equal(t.end, TRIAL_TIME);
    fresh(NULL);
    o = options();
    c.build = altered("ret;   ");
    assert_int_equal(measure(&c, 1, &o, &t, &best),
                     ST_CHECK);
    assert_non_null(strstr(said(), "wrong"));
}

typedef struct {
    int asked, kept;
} Kept;

static bool second_is_known(void *user, int op, int i, Timing *out) {
    Kept *k = user;
    (void)op;
    k->asked++;
    *out = (Timing){.cold_us = 1e-3, .warm_us = 1e-3, .samples = 9};
    return i == 1;
}

static void keep(void *user, int op, int i, const Timing *t) {
    Kept *k = user;
    (void)op;
    k->kept += i == 0 && t->samples > 0 ? 1 : 100;
}

/* A candidate whose time is known is not run; what is measured is handed out.  */
static void what_is_known_is_not_measured(void **state) {
    (void)state;
    Candidate c[] = {{&plan[0], &build[0], NULL}, {&plan[1], altered("ret;   "), NULL}};
    Kept kept = {0, 0};
    MeasureOptions o = options();
    o.known = second_is_known;
    o.keep = keep;
    o.user = &kept;
    Trial t[2];
    int best;
    must(measure(c, 2, &o, t, &best));
    assert_true(best == 1 && t[1].end == TRIAL_RIGHT && t[1].timing.samples == 9);
    assert_int_equal(t[0].end, TRIAL_RIGHT);
    assert_true(kept.asked == 2 && kept.kept == 1);
}

/* A driver that fails is no candidate's fault; calls that fail are.  */
/* Of all plans two may be timed: the first one, and one that what was seen makes likely.  One that
 * is known costs no trial.  */
static void few_trials(void **state) {
    (void)state;
    MeasureOptions o = options();
    Candidate c[RANKS];
    Trial t[RANKS];
    int best, timed = 0, left = 0;
    for (int i = 0; i < RANKS; i++) c[i] = (Candidate){&plan[i], &build[i], NULL};
    o.trials = 2;
    must(measure(c, RANKS, &o, t, &best));
    for (int i = 0; i < RANKS; i++) {
        timed += t[i].end == TRIAL_RIGHT;
        left += t[i].end == TRIAL_UNLIKELY;
        if (t[i].end == TRIAL_UNLIKELY)
            assert_string_equal(t[i].reason, "others were more likely to be the fastest");
        if (t[i].end == TRIAL_RIGHT)
            assert_true(t[best].timing.cold_us <= t[i].timing.cold_us);
    }
    assert_true(timed == 2 && left >= 1 && t[0].end == TRIAL_RIGHT);
    Kept kept = {0, 0};
    o.trials = 1;
    o.known = second_is_known;
    o.user = &kept;
    must(measure(c, RANKS, &o, t, &best));
    assert_int_equal(best, 1);
    timed = 0;
    for (int i = 0; i < RANKS; i++) timed += t[i].end == TRIAL_RIGHT;
    assert_int_equal(timed, 2);
}

/* Of several ops that share trials the one that runs most often is timed first, and as long as its
 * plans may gain most; what is not timed is said to be so, and costs no error.  */
static void trials_go_where_they_are_worth_most(void **state) {
    (void)state;
    enum { OPS = 3 };
    MeasureOptions o = options();
    Candidate c[OPS][RANKS];
    Trial t[OPS][RANKS];
    Candidates all[OPS];
    for (int k = 0; k < OPS; k++) {
        for (int i = 0; i < RANKS; i++) c[k][i] = (Candidate){&plan[i], &build[i], NULL};
        all[k] = (Candidates){.set = &set, .c = c[k], .n = RANKS, .trial = t[k],
                              .weight = k == 1 ? 1000 : 1};
    }
    o.trials = 2;
    must(measure_candidates(arena, &diag, all, OPS, &o));
    assert_true(all[0].best == -1 && all[1].best >= 0 && all[2].best == -1);
    for (int k = 0; k < OPS; k++)
        for (int i = 0; i < RANKS; i++)
            assert_true(t[k][i].end == TRIAL_UNLIKELY || (k == 1 && t[k][i].end <= TRIAL_SAME));
    /* Of an op nothing runs right: that is an error, and the others have their times.  */
    for (int i = 0; i < RANKS; i++) c[2][i] = (Candidate){.plan = &plan[i], .why = "no compiler"};
    for (int k = 0; k < 2; k++) all[k].n = 1;
    o.trials = 0;
    assert_int_equal(measure_candidates(arena, &diag, all, OPS, &o), ST_CHECK);
    assert_true(all[0].best == 0 && all[1].best == 0 && all[2].best == -1);
    assert_true(t[0][0].timing.cold_us == t[1][0].timing.cold_us);
}

typedef struct {
    int made;
    bool first_fails;
} Made;

static void make_one(void *user, int op, int i, Candidate *c) {
    Made *m = user;
    (void)op;
    m->made++;
    if (i == 0 && m->first_fails) *c = (Candidate){.why = "it was not to be"};
    else c->build = &build[i];
}

/* What is timed is compiled, and no more; what cannot be compiled costs no trial.  */
static void what_is_not_timed_is_not_compiled(void **state) {
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        MeasureOptions o = options();
        Candidate c[RANKS];
        Trial t[RANKS];
        Made made = {0, fails};
        int best, timed = 0;
        for (int i = 0; i < RANKS; i++) c[i] = (Candidate){&plan[i], NULL, NULL};
        o.trials = 2;
        o.make = make_one;
        o.user = &made;
        must(measure(c, RANKS, &o, t, &best));
        for (int i = 0; i < RANKS; i++) timed += t[i].end == TRIAL_RIGHT;
        assert_int_equal(timed, 2);
        assert_int_equal(t[0].end, fails ? TRIAL_BUILD : TRIAL_RIGHT);
        assert_true(made.made == 2 + fails && t[best].end == TRIAL_RIGHT);
    }
}

static void drivers_that_fail(void **state) {
    (void)state;
    static const struct {
        const char *fault;
        Status status;
        TrialEnd end;
    } row[] = {
        {"cuInit=100", ST_DEVICE, TRIAL_RIGHT},
        {"version=11020", ST_DRIVER, TRIAL_RIGHT},
        {"cuLibraryLoadData=222", ST_DRIVER, TRIAL_RIGHT},
        {"cuLibraryLoadData=999", ST_CHECK, TRIAL_FAULT},
        {"cuMemcpyDtoH=719", ST_CHECK, TRIAL_FAULT},
        {"cuEventElapsedTime=999", ST_CHECK, TRIAL_FAULT},
        {"cuGraphLaunch=hang", ST_CHECK, TRIAL_HANG},
        {"kernel@2=hang", ST_CHECK, TRIAL_HANG},
        {"cuLibraryUnload=hang", ST_CHECK, TRIAL_HANG},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fresh(NULL);
        setenv("ROLLER_SIM_FAULTS", row[i].fault, 1);
        MeasureOptions o = options();
        if (row[i].end == TRIAL_HANG) o.watchdog_s = 1;
        Candidate c = {&plan[0], &build[0], NULL};
        Trial t;
        int best;
        Status s = measure(&c, 1, &o, &t, &best);
        if (s != row[i].status || t.end != row[i].end)
            fail_msg("%s: status %d, end %d: %s", row[i].fault, s, t.end, said());
    }
}

static void places(void **state) {
    (void)state;
    MeasureOptions o = options();
    MeasurePlace p;
    must(measure_probe(arena, &diag, &o, &p));
    assert_true(p.simulated && p.driver_version == 13000);
    assert_string_equal(p.info.name, "NVIDIA A100-SXM4-80GB (simulated)");
    measure_compare(&diag, dev, &p);
    assert_int_equal(diag.count, 0);
    snprintf(p.info.name, sizeof p.info.name, "another");
    measure_compare(&diag, dev, &p);
    assert_true(diag.count == 1 && diag.errors == 0);
    setenv("ROLLER_SIM_FAULTS", "cuInit=hang", 1);
    o.opening_s = 0.3;
    fresh(NULL);
    setenv("ROLLER_SIM_FAULTS", "cuInit=hang", 1);
    assert_int_equal(measure_probe(arena, &diag, &o, &p), ST_DRIVER);
    assert_non_null(strstr(said(), "did not answer"));
}

static void statistics(void **state) {
    (void)state;
    double five[] = {5, 1, 4, 2, 3}, two[] = {1, 3}, one[] = {7};
    stats_sort(five, 5);
    assert_true(stats_median(five, 5) == 3);
    assert_true(stats_spread(five, 5) == 2.0 / 3);
    assert_true(stats_median(two, 2) == 2 && stats_spread(two, 2) == 0.5);
    assert_true(stats_median(one, 1) == 7 && stats_spread(one, 1) == 0);
    assert_true(stats_median(one, 0) == 0 && stats_spread(one, 0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics),
        cmocka_unit_test_setup(places, fresh),
        cmocka_unit_test_setup(the_fastest_right_one_wins, fresh),
        cmocka_unit_test_setup(times_are_simulated_times, fresh),
        cmocka_unit_test_setup(limits, fresh),
        cmocka_unit_test_setup(what_is_known_is_not_measured, fresh),
        cmocka_unit_test_setup(few_trials, fresh),
        cmocka_unit_test_setup(trials_go_where_they_are_worth_most, fresh),
        cmocka_unit_test_setup(what_is_not_timed_is_not_compiled, fresh),
        cmocka_unit_test_setup(drivers_that_fail, fresh),
    };
    return cmocka_run_group_tests(tests, setup, tear_down);
}
