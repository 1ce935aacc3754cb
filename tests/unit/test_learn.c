/* Learning from few measurements: synthetic devices whose rates are known.  */
#include "driver/device/learn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PLANS = 40 };

static Arena *arena;
static Device *dev;
enum { SIZES = 3 };
static LearnPlan plan[SIZES * PLANS];

static int setup(void **state) {
    (void)state;
    arena = arena_create(NULL);
    Diag d = diag_new(arena);
    return hal_profile_find(arena, &d, "a100", "profiles", NULL, &dev) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    arena_destroy(arena);
    return 0;
}

/* Plans that ask less of DRAM the more they compute; the first is the fastest as predicted.  */
static LearnPlan made(int i, uint64_t sizes) {
    double compute = 100 + 0.25 * i, dram = 95 - 2 * i;
    LearnPlan p = {.us = compute, .plan = (uint64_t)i, .sizes = sizes,
                   .trait = {(uint64_t)i % 5, (uint64_t)i % 2, (uint64_t)i % 3}};
    p.term[MP_COMPUTE] = compute;
    p.term[MP_DRAM] = dram;
    return p;
}

/* A device that hides less of the DRAM's time than the model: `share` of it is felt.  */
static double device(const LearnPlan *p, double share) {
    return p->term[MP_COMPUTE] + share * p->term[MP_DRAM];
}

static int fastest(double share) {
    int best = 0;
    for (int i = 1; i < PLANS; i++)
        if (device(&plan[i], share) < device(&plan[best], share)) best = i;
    return best;
}

static Learn *fresh(int n) {
    for (int i = 0; i < n; i++) plan[i] = made(i % PLANS, (uint64_t)(i / PLANS));
    return learn_new(arena, dev, plan, n);
}

/* Of the first n plans.  */
static int next(const Learn *l, int n, const bool *out, double best_us) {
    double gain;
    int i = learn_next(l, &(LearnField){0, n, out, best_us}, &gain);
    assert_true(gain >= 0);
    return i;
}

/* What is not known is as predicted, and the fastest comes first.  */
static void nothing_told(void **state) {
    (void)state;
    Learn *l = fresh(PLANS);
    bool out[PLANS] = {false};
    assert_int_equal(next(l, PLANS, out, 0), 0);
    for (int i = 0; i < PLANS; i++) assert_float_equal(learn_us(l, i), plan[i].us, 1e-9);
    assert_true(learn_spread(l, 0) > 0.1 && learn_spread(l, 0) < 0.3);
    out[0] = true;
    assert_int_equal(next(l, PLANS, out, 0), 1);
    for (int i = 0; i < PLANS; i++) out[i] = true;
    assert_int_equal(next(l, PLANS, out, 100), -1);
    assert_int_equal(learn_doubtful(l, &(LearnField){0, PLANS, out, 0}), -1);
}

/* Terms that are off by known shares are found again: plans that were not measured are
 * predicted.  */
static void shares_of_a_known_device(void **state) {
    (void)state;
    Learn *l = fresh(PLANS);
    double before = learn_spread(l, 20);
    for (int i = 0; i < PLANS; i += 3)
        learn_tell(l, i, plan[i].us * exp(0.08 + 0.15 * plan[i].term[MP_DRAM] / plan[i].us));
    for (int i = 1; i < PLANS; i += 3) {
        double real = plan[i].us * exp(0.08 + 0.15 * plan[i].term[MP_DRAM] / plan[i].us);
        if (fabs(learn_us(l, i) / real - 1) > 0.03)
            fail_msg("plan %d: %g us, not %g", i, learn_us(l, i), real);
    }
    assert_true(learn_spread(l, 20) < before / 2);
    learn_reset(l);
    assert_float_equal(learn_us(l, 1), plan[1].us, 1e-9);
}

/* The fastest plan is the last of the model's list, and 30 of 40 come first that are slower by more
 * than a 50th: it is found in half as many measurements.  */
static void search(void **state) {
    (void)state;
    static const double share = 0.25;
    Learn *l = fresh(PLANS);
    bool out[PLANS] = {false};
    double best = 0, real = device(&plan[fastest(share)], share);
    int n = 0;
    assert_int_equal(fastest(share), PLANS - 1);
    assert_true(device(&plan[29], share) > 1.02 * real);
    while (best == 0 || best > 1.02 * real) {
        int i = next(l, PLANS, out, best);
        assert_true(i >= 0 && !out[i]);
        out[i] = true;
        double us = device(&plan[i], share);
        learn_tell(l, i, us);
        best = best == 0 ? us : fmin(best, us);
        n++;
    }
    if (n > 15) fail_msg("%d measurements", n);
}

/* Some plans of all sizes but the last are told, on a device of share[size]; the time of the first
 * plan of the last one, over that of its best.  */
static double first_elsewhere(const double share[SIZES]) {
    Learn *l = fresh(SIZES * PLANS);
    bool out[SIZES * PLANS] = {false};
    double last = share[SIZES - 1];
    for (int i = 0; i < (SIZES - 1) * PLANS; i++) {
        out[i] = true;
        if (i % 5 == 0) learn_tell(l, i, 1.4 * device(&plan[i], share[i / PLANS]));
    }
    return device(&plan[next(l, SIZES * PLANS, out, 0)], last) / device(&plan[fastest(last)], last);
}

/* What was measured at two sizes orders the plans of another.  */
static void transfer(void **state) {
    (void)state;
    double x = first_elsewhere((double[]){0.25, 0.25, 0.25});
    if (x > 1.05) fail_msg("the first plan takes %g of the best", x);
}

/* Sizes that contradict each other say nothing of a third: the model's order stays.  */
static void no_transfer(void **state) {
    (void)state;
    double model = first_elsewhere((double[]){0, 0, 0});
    assert_true(model == 1);
    assert_true(first_elsewhere((double[]){0.25, 0, 0}) == model);
    assert_true(first_elsewhere((double[]){0, 0.25, 0}) == model);
}

/* A measurement of an op that takes ten times as long is worth ten times as much, and less once
 * half of its plans took what was predicted.  */
static void worth(void **state) {
    (void)state;
    enum { ALL = 2 * PLANS };
    bool out[ALL] = {false};
    LearnField short_one = {0, PLANS, out, 0}, long_one = {PLANS, ALL, out, 0};
    for (int i = 0; i < ALL; i++) {
        plan[i] = made(i % PLANS, (uint64_t)(i / PLANS));
        if (i < PLANS) continue;
        plan[i].us *= 10;
        for (int t = 0; t < MP_COUNT; t++) plan[i].term[t] *= 10;
    }
    Learn *l = learn_new(arena, dev, plan, ALL);
    double least = learn_worth(l, &short_one), most = learn_worth(l, &long_one);
    assert_true(least > 0);
    assert_true(fabs(most - 10 * least) <= 1e-6 * most);
    for (int i = PLANS; i < ALL; i += 2) {
        out[i] = true;
        learn_tell(l, i, plan[i].us);
    }
    long_one.best_us = plan[PLANS].us;
    assert_true(learn_worth(l, &long_one) < most);
    for (int i = PLANS; i < ALL; i++) out[i] = true;
    assert_true(learn_worth(l, &long_one) == LEARN_NONE);
}

/* Where much is far off, so may the rest be.  */
static void doubt(void **state) {
    (void)state;
    Learn *as_told = fresh(PLANS), *far_off = fresh(PLANS);
    for (int i = 0; i < 6; i++) {
        learn_tell(as_told, 5 * i, plan[5 * i].us);
        learn_tell(far_off, 5 * i, plan[5 * i].us * (i % 2 ? 2 : 0.5));
    }
    assert_true(learn_spread(far_off, 33) > 3 * learn_spread(as_told, 33));
}

/* A plan like many others tells more than one that is alone.  */
static void most_telling(void **state) {
    (void)state;
    static LearnPlan few[4];
    bool out[4] = {false};
    const LearnField field = {0, 4, out, 0};
    for (int i = 0; i < 4; i++) {
        few[i] = made(0, (uint64_t)(i == 3));
        few[i].plan = (uint64_t)i;
        few[i].term[MP_COMPUTE] = few[i].term[MP_DRAM] = 0;
        for (int t = 0; t < LEARN_TRAITS; t++) few[i].trait[t] = i == 3 ? 7 : 1;
    }
    Learn *l = learn_new(arena, dev, few, 4);
    assert_int_equal(learn_doubtful(l, &field), 0);
    out[0] = true;
    learn_tell(l, 0, few[0].us);
    assert_int_equal(learn_doubtful(l, &field), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_told),
        cmocka_unit_test(shares_of_a_known_device),
        cmocka_unit_test(search),
        cmocka_unit_test(transfer),
        cmocka_unit_test(no_transfer),
        cmocka_unit_test(worth),
        cmocka_unit_test(doubt),
        cmocka_unit_test(most_telling),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
