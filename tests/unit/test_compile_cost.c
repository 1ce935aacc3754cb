/* links: microperf */
/* Among programs whose predictions say nothing of which is faster, the one that is compiled soonest
 * comes first; what is faster by more does, whatever it costs.  */
#include "microperf/compile_cost.h"
#include "arena_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static Problem product(int64_t m, int64_t n, int64_t k) {
    return fixture_matmul(1, m, n, k, false, true, TE_F16);
}

static RProgSet candidates(Arena *a, const Problem *p, const Device *dev) {
    Diag d = diag_new(a);
    RProgSet set;
    assert_int_equal(rprog_candidates(a, &d, p, dev, NULL, &set), ST_OK);
    return set;
}

static Ranked *rank(Arena *a, const Problem *p, const Device *dev, const RProgSet *set, int k,
                    int *n) {
    Diag d = diag_new(a);
    Ranked *best;
    assert_int_equal(mp_rank(a, &d, p, dev, set, k, &best, n), ST_OK);
    return best;
}

/* Expected time of compilation; below 190 ms nothing is gained.  */
static int cost(const Problem *p, const Device *dev, const RProg *r) {
    int ms = mp_compile_ms(p, dev, r);
    return ms < 190 ? 190 : ms;
}

static double predicted(const Problem *p, const Device *dev, const RProg *r) {
    Estimate e;
    mp_estimate(p, r, dev, &e);
    return e.us;
}

/* Could it need eight registers more than expected, with as many blocks to an SM as fit, or as the
 * grid has for each (h200, a100)?  */
static bool has_room(const Problem *p, const Device *dev, const RProg *r) {
    int per_block = (r->threads + 31) / 32 * 32 * ((r->registers + 8 + 7) / 8 * 8);
    int64_t sms = dev->arch[3] == '9' ? 132 : 108;
    int64_t tiles = rprog_tiles(p, r, AX_M) * rprog_tiles(p, r, AX_N);
    int64_t there = (tiles * r->split - r->tail + r->units + sms - 1) / sms;
    if (there > r->blocks_per_sm) there = r->blocks_per_sm;
    return r->registers + 8 <= 255 && there * per_block <= 65536;
}

/* The winner, by the rule in words: the fastest of those within 1 % (4 % where nothing is measured)
 * of the fastest of all whose compilation takes less than 25 ms longer than the shortest of them,
 * and that have registers to spare; the fastest of all where that saves less than 25 ms.  */
static void check_rule(Arena *a, const Problem *p, const Device *dev) {
    RProgSet set = candidates(a, p, dev);
    int n, least = INT32_MAX;
    const Ranked *first = rank(a, p, dev, &set, 1, &n);
    double *us = ARENA_ARRAY(a, double, set.n), fastest = 1e300, limit, expected = 1e300;
    int at = 0;
    for (int i = 0; i < set.n; i++) {
        us[i] = predicted(p, dev, &set.prog[i]);
        if (us[i] < fastest) fastest = us[at = i];
    }
    limit = fastest * (dev->measured ? 1.01 : 1.04) + 1e-4;
    for (int i = 0; i < set.n; i++) {
        int ms = cost(p, dev, &set.prog[i]);
        if (us[i] <= limit - 2e-4 && ms < least && has_room(p, dev, &set.prog[i])) least = ms;
    }
    bool saves = cost(p, dev, &set.prog[at]) - least >= 25;
    for (int i = 0; i < set.n && saves; i++) {
        bool soon = cost(p, dev, &set.prog[i]) < least + 25 && has_room(p, dev, &set.prog[i]);
        if (us[i] <= limit && soon && us[i] < expected) expected = us[i];
    }
    if (!saves) expected = fastest;
    assert_true(first->estimate.us <= limit);
    assert_true(first->estimate.us >= expected - 2e-4 && first->estimate.us <= expected + 2e-4);
}

static void check_rules(Arena *a) {
    static const int64_t size[][3] = {{1280, 768, 3072}, {4096, 4096, 4096}};
    static const char *const name[] = {"h200", "a100"};
    for (int d = 0; d < 2; d++) {
        Device *dev = fixture_device(a, name[d]);
        for (int i = 0; i < 4; i++) {
            const int64_t *n = size[i / 2];
            Problem p = product(n[0], n[1], n[2]);
            dev->measured = i % 2;
            check_rule(a, &p, dev);
        }
    }
}

/* Two programs of one problem: the faster one, and one that is compiled much sooner and slower by
 * `least` to `most`; false if there are none.  */
static bool find_pair(Arena *a, const Problem *p, const Device *dev, double least, double most,
                      RProg out[2]) {
    RProgSet set = candidates(a, p, dev);
    double *us = ARENA_ARRAY(a, double, set.n);
    for (int i = 0; i < set.n; i++) us[i] = predicted(p, dev, &set.prog[i]);
    for (int i = 0; i < set.n; i++) {
        for (int k = 0; k < set.n; k++) {
            double more = us[k] / us[i] - 1;
            int saved = cost(p, dev, &set.prog[i]) - cost(p, dev, &set.prog[k]);
            if (more < least || more > most || saved < MP_COMPILE_GAIN) continue;
            if (!has_room(p, dev, &set.prog[k])) continue;
            out[0] = set.prog[i];
            out[1] = set.prog[k];
            return true;
        }
    }
    return false;
}

static void check_pairs(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    Problem p = product(2048, 2048, 2048);
    RProg pair[2];
    int n;
    dev->measured = true;
    assert_true(find_pair(a, &p, dev, 0.002, 0.009, pair));
    RProgSet set = {.prog = pair, .n = 2};
    Ranked *best = rank(a, &p, dev, &set, 2, &n);
    assert_int_equal(n, 2);
    assert_memory_equal(&best[0].prog, &pair[1], sizeof pair[1]);
    assert_memory_equal(&best[1].prog, &pair[0], sizeof pair[0]);
    assert_true(best[0].estimate.us > best[1].estimate.us);
    best = rank(a, &p, dev, &set, 1, &n);
    assert_int_equal(n, 1);
    assert_memory_equal(&best[0].prog, &pair[1], sizeof pair[1]);

    assert_true(find_pair(a, &p, dev, 0.011, 0.03, pair));
    best = rank(a, &p, dev, &set, 2, &n);
    assert_memory_equal(&best[0].prog, &pair[0], sizeof pair[0]);
    dev->measured = false;
    best = rank(a, &p, dev, &set, 2, &n);
    assert_memory_equal(&best[0].prog, &pair[1], sizeof pair[1]);
    assert_true(find_pair(a, &p, dev, 0.041, 0.08, pair));
    best = rank(a, &p, dev, &set, 2, &n);
    assert_memory_equal(&best[0].prog, &pair[0], sizeof pair[0]);
}

/* More products in a step cost more, up to where the compiler takes another way, at both levels of
 * ptxas, and never more at 2 than at 3; a kernel without products is not estimated.  */
static void check_cost(Arena *a) {
    const Device *dev = fixture_device(a, "h200");
    Problem p = product(2048, 2048, 2048), map = fixture_map(1 << 20, TE_F32);
    RProgSet set = candidates(a, &p, dev);
    int compared = 0;
    for (int i = 0; i < set.n && i < 2000; i++) {
        const RProg *r = &set.prog[i];
        int ms = mp_compile_ms(&p, dev, r);
        assert_true(ms > 0 && ms < 2000);
        RProg wider = *r, quick = *r;
        quick.quick = true;
        assert_true(mp_compile_ms(&p, dev, &quick) <= ms);
        int tiles = r->warp.extent[AX_M] / r->thread.extent[AX_M] *
                    (r->warp.extent[AX_N] / r->thread.extent[AX_N]) *
                    (r->warp.extent[AX_K] / r->thread.extent[AX_K]);
        if (!rprog_matrix(dev, r) || tiles > 40) continue;
        wider.warp.extent[AX_N] *= 2;
        wider.block.extent[AX_N] *= 2;
        assert_true(mp_compile_ms(&p, dev, &wider) > ms);
        wider.quick = true;
        assert_true(mp_compile_ms(&p, dev, &wider) > mp_compile_ms(&p, dev, &quick));
        compared++;
    }
    assert_true(compared > 100);
    set = candidates(a, &map, dev);
    assert_int_equal(mp_compile_ms(&map, dev, &set.prog[0]), 0);
}

static void test_rule(void **state) { run(state, check_rules); }
static void test_pairs(void **state) { run(state, check_pairs); }
static void test_cost(void **state) { run(state, check_cost); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rule, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pairs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cost, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
