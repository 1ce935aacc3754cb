/* links: microperf */
/* DRAM's bus turns round between reads and writes, and has a ramp at both ends of a kernel: what
 * gpu-benches published of both comes back out of the model.  */
#include "microperf/microperf.h"
#include "arena_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Estimate first(Arena *a, const Problem *p, const Device *dev) {
    Diag d = diag_new(a);
    RProgSet set;
    Ranked *best;
    if (rprog_candidates(a, &d, p, dev, NULL, &set)) fail_msg("%s", d.messages[0].message);
    assert_in_range(mp_rank(a, p, dev, &set, 1, &best), 1, 1);
    return best[0].estimate;
}

/* GB/s of the steady state: a map of so many reads of 4 bytes for each write.  */
static double streams_at(Arena *a, const Device *dev, int reads) {
    enum { N = 1 << 28 };
    Problem p = fixture_map(N, TE_F32);
    p.read_bytes *= reads;
    Estimate e = first(a, &p, dev);
    assert_int_equal(e.limiter, MP_DRAM);
    return e.dram_bytes / e.term[MP_DRAM] * 1e-3;
}

static bool near(double is, double expected, double by) {
    return is > expected * (1 - by) && is < expected * (1 + by);
}

/* Copies (`scale`) and triads of gpu-stream, GB/s: v100.txt, a40.txt by share of an A10's nominal
 * rate (600 of 696).  Triads are in no profile.  */
static void turns(Arena *a) {
    const Device *v100 = fixture_device(a, "v100"), *a10 = fixture_device(a, "a10");
    assert_true(near(streams_at(a, v100, 1), 802, 0.01));
    assert_true(near(streams_at(a, v100, 2), 814, 0.015));
    assert_true(near(streams_at(a, a10, 1), 652.0 * 600 / 696, 0.01));
    assert_true(near(streams_at(a, a10, 2), 653.0 * 600 / 696, 0.015));
}
static void test_turns(void **state) { run(state, turns); }

/* A profile whose copies are faster than its reads and writes has no loss.  */
static void no_gain(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    MemoryLevel *dram = &dev->memory[LEVEL_DRAM];
    double apart = 2 / (1 / dram->read.value + 1 / dram->write.value);
    dram->copy.value = 1.1 * apart;
    assert_true(near(streams_at(a, dev, 1), apart * 1e-9, 1e-3));
}
static void test_no_gain(void **state) { run(state, no_gain); }

/* Kernels of a graph that stream from DRAM (gpu-small-kernels): 3.2 us and bytes / rate on A100,
 * 1.8 on H200.  A line through two sizes has that where it meets no bytes.  */
static void ramps(Arena *a) {
    static const struct {
        const char *name;
        double us;
    } gpu[] = {{"a100", 3.2}, {"h200", 1.8}};
    for (int i = 0; i < 2; i++) {
        const Device *dev = fixture_device(a, gpu[i].name);
        Problem few = fixture_map(1 << 24, TE_F32), many = fixture_map(1 << 26, TE_F32);
        double x = first(a, &few, dev).us, y = first(a, &many, dev).us;
        assert_true(near(x - (y - x) / 3, gpu[i].us, 0.1));
    }
}
static void test_ramps(void **state) { run(state, ramps); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_gain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ramps, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
