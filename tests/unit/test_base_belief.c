/* links: base */
/* Bayesian linear regression, against numbers that were worked out in fractions from the normal
 * equations, all observations at once.  */
#include "arena_fixture.h"
#include "base/belief.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void near(double v, double expected) {
    double most = 1e-12 * fmax(1, fabs(expected));
    if (fabs(v - expected) > most) fail_msg("%.17g, not %.17g", v, expected);
}

/* A prior of variance 4, noise of 1, 3 is seen: 4 / 5 of it is believed.  */
static void one_weight(void **state) {
    (void)state;
    const double sd = 2, x = 1;
    Belief b = belief_new(arena, 1, &sd, 1, 4);
    near(belief_variance(&b, &x), 4);
    near(belief_scale(&b), 1);
    belief_learn(&b, &x, 3);
    near(belief_mean(&b, &x), 2.4);
    near(belief_scale(&b), (4 + 9.0 / 5) / 5);
    near(belief_variance(&b, &x), 0.8 * belief_scale(&b));
}

static const double sd[] = {1, 0.5}, noise = 0.3;
static const double xs[3][2] = {{1, 2}, {0.5, -1}, {0, 1.5}}, ys[] = {3, -1, 2.5};

static Belief seen(const int order[3]) {
    Belief b = belief_new(arena, 2, sd, noise, 4);
    for (int i = 0; i < 3; i++) belief_learn(&b, xs[order[i]], ys[order[i]]);
    return b;
}

static void two_weights(void **state) {
    (void)state;
    static const int order[2][3] = {{0, 1, 2}, {2, 0, 1}};
    const double first[] = {1, 0}, second[] = {0, 1}, both[] = {1, 1};
    for (int i = 0; i < 2; i++) {
        Belief b = seen(order[i]);
        near(belief_mean(&b, first), 0.36489921232101064);
        near(belief_mean(&b, second), 1.3406900369932304);
        near(belief_scale(&b), 2.0402128119368976);
        near(belief_variance(&b, both) / belief_scale(&b), 0.06738052696479352);
    }
}

static void what_would_be_learned(void **state) {
    (void)state;
    const double x[] = {1, 0.5}, rows[] = {1, 1, 0, 2};
    Belief b = seen((const int[]){0, 1, 2}), again = belief_new(arena, 2, sd, noise, 4);
    near(belief_lesson(&b, x, rows, 2) / belief_scale(&b), 0.030778270032553894);
    belief_copy(&again, &b);
    belief_learn(&again, x, 7);
    double fell = 0;
    for (int i = 0; i < 2; i++)
        fell += belief_variance(&b, rows + 2 * i) / belief_scale(&b) -
                belief_variance(&again, rows + 2 * i) / belief_scale(&again);
    near(fell, 0.030778270032553894);
}

/* At best, 1 / sqrt(2 pi) of the deviation; far below it all; nothing where it is sure.  The last
 * one: 0.5 Phi(0.5) + phi(0.5).  */
static void improvement(void **state) {
    (void)state;
    near(belief_improvement(5, 2, 5), 2 * 0.3989422804014327);
    near(belief_improvement(1, 0.01, 5), 4);
    near(belief_improvement(5, 0, 7), 2);
    near(belief_improvement(7, 0, 5), 0);
    near(belief_improvement(1, 1, 1.5), 0.5 * 0.6914624612740131 + 0.3520653267642995);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_weight),
        cmocka_unit_test(two_weights),
        cmocka_unit_test(what_would_be_learned),
        cmocka_unit_test(improvement),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
