/* links: microperf */
/* Estimates and ranking: how times move with the problem, what wins, and that it always does.  */
#include "microperf/microperf.h"
#include "arena_fixture.h"
#include "plan_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    RProgSet set;
    Ranked *best;
    int n;
} Plans;

static Plans plans_with(Arena *a, const Problem *p, const Device *dev, const RPlanOptions *o,
                        int k) {
    Plans out;
    Diag d = diag_new(a);
    if (rprog_candidates(a, &d, p, dev, o, &out.set)) fail_msg("%s", d.messages[0].message);
    out.n = mp_rank(a, p, dev, &out.set, k, &out.best);
    return out;
}

static Plans plans_of(Arena *a, const Problem *p, const Device *dev, int k) {
    return plans_with(a, p, dev, NULL, k);
}

static const RProg *top(Arena *a, const Problem *p, const Device *dev, Estimate *e) {
    Plans x = plans_of(a, p, dev, 1);
    *e = x.best[0].estimate;
    return &x.best[0].prog;
}

static void sane(const Problem *p, const Device *dev, const Ranked *r) {
    const Estimate *e = &r->estimate;
    assert_null(rprog_check(p, dev, &r->prog));
    assert_true(e->us > 0 && e->us < 1e12);
    double largest = 0, rest = 0;
    for (MpTerm t = 0; t < MP_COUNT; t++) {
        assert_true(e->term[t] >= 0 && !isnan(e->term[t]) && !isinf(e->term[t]));
        if (t > MP_LATENCY) rest += e->term[t];
        else if (e->term[t] > largest) largest = e->term[t];
    }
    assert_true(fabs(largest + rest - e->us) <= 1e-9 * e->us);
    assert_true(e->limiter <= MP_LATENCY);
    assert_true(e->wave_efficiency > 0 && e->wave_efficiency <= 1 + 1e-9);
    assert_true(e->padding_waste >= -1e-9);
    assert_true(e->blocks >= 1 && e->blocks_per_sm >= 1);
    assert_true(e->load_sectors >= 0 && e->store_sectors >= 0 && e->dram_bytes >= 0);
}

/* Rates no kernel passes: the unit's peak, and DRAM for what must be moved once.  */
static void within_roofs(const Problem *p, const Device *dev, const Ranked *r) {
    const ComputeUnit *u = &dev->unit[r->prog.unit];
    double peak = u->rate.value * dev->limits.sm_count.value * hal_clock_hz(dev);
    double least = p->contraction ? p->flops / peak * 1e6 : 0;
    assert_true(r->estimate.us >= least);
    double bytes = (double)p->out_bytes;
    for (int side = 0; side < 2; side++) {
        bytes += (double)p->op[side].unique * p->op[side].bytes;
    }
    const MemoryLevel *dram = &dev->memory[LEVEL_DRAM];
    double rate = fmax(dram->read.value, dram->write.value);
    assert_true(r->estimate.us >= bytes / rate * 1e6 * 0.999);
}

/* By which plans are ranked: their times, and a hundredth of the time of every pipe.  */
static double order(const Ranked *r) {
    const double *t = r->estimate.term;
    double pipes = t[MP_DRAM] + t[MP_L2] + t[MP_SMEM] + fmax(t[MP_COMPUTE], t[MP_ISSUE]);
    return r->estimate.us + pipes / 100;
}

static void sweep(Arena *a) {
    static const int64_t sizes[] = {1, 2, 3, 7, 16, 31, 64, 97, 128, 1000, 4099};
    static const char *const names[] = {"h200", "a100", "rtx4090", "v100"};
    enum { N = sizeof sizes / sizeof *sizes };
    for (int d = 0; d < 4; d++) {
        Device *dev = fixture_device(a, names[d]);
        for (int i = 0; i < N * N * N; i += d ? 17 : 5) {
            ArenaMark mark = arena_mark(a);
            Problem p = fixture_matmul(1 + i % 2, sizes[i % N], sizes[i / N % N], sizes[i / N / N],
                                       i % 3 == 0, i % 5 == 0, i % 7 ? TE_F32 : TE_F16);
            Plans x = plans_of(a, &p, dev, 4);
            for (int j = 0; j < x.n; j++) {
                sane(&p, dev, &x.best[j]);
                within_roofs(&p, dev, &x.best[j]);
                if (j > 1) assert_true(order(&x.best[j]) >= order(&x.best[j - 1]) - 1e-4);
                assert_true(x.best[0].estimate.us <= x.best[j].estimate.us * 1.04 + 1e-4);
            }
            arena_reset(a, mark);
        }
    }
}

static void test_sweep(void **state) { run(state, sweep); }

/* For one and the same program more work never takes less time.  */
static void grows(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    Problem base = fixture_matmul(1, 1024, 1024, 1024, false, false, TE_F32);
    Plans x = plans_of(a, &base, dev, 8);
    for (int j = 0; j < x.n; j++) {
        double last[3] = {0, 0, 0};
        for (int64_t n = 1024; n <= 16384; n += 256) {
            Problem p[3] = {fixture_matmul(1, n, 1024, 1024, false, false, TE_F32),
                            fixture_matmul(1, 1024, n, 1024, false, false, TE_F32),
                            fixture_matmul(1, 1024, 1024, n, false, false, TE_F32)};
            for (int i = 0; i < 3; i++) {
                Estimate e;
                mp_estimate(&p[i], &x.best[j].prog, dev, &e);
                assert_true(e.us >= last[i] * (1 - 1e-9));
                last[i] = e.us;
            }
        }
    }
}

static void test_grows(void **state) { run(state, grows); }

/* A sum over nothing, as run-time sizes may leave it, takes its launch.  */
static void empty_sums(Arena *a) {
    static const char *const names[] = {"h200", "a100"};
    for (int d = 0; d < 2; d++) {
        Device *dev = fixture_device(a, names[d]);
        Problem base = fixture_matmul(1, 64, 96, 512, false, false, TE_F16);
        Problem none = fixture_matmul(1, 64, 96, 0, false, false, TE_F16);
        Plans x = plans_of(a, &base, dev, 50);
        assert_true(x.n > 20);
        for (int j = 0; j < x.n; j++) {
            Estimate e;
            mp_estimate(&none, &x.best[j].prog, dev, &e);
            assert_true(isfinite(e.us) && e.us > 0 && e.us <= x.best[j].estimate.us);
        }
    }
}

static void test_empty_sums(void **state) { run(state, empty_sums); }

/* The estimate alone and the ranking give the same figures.  */
static void rank_agrees(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    Problem p = fixture_matmul(1, 1000, 1200, 999, false, true, TE_F32);
    Plans x = plans_of(a, &p, dev, 50), y = plans_of(a, &p, dev, 50);
    assert_int_equal(x.n, y.n);
    assert_true(x.n >= 20);
    for (int j = 0; j < x.n; j++) {
        Estimate e;
        mp_estimate(&p, &x.best[j].prog, dev, &e);
        assert_true(e.us == x.best[j].estimate.us);
        assert_int_equal(e.load_sectors, x.best[j].estimate.load_sectors);
        assert_true(y.best[j].estimate.us == e.us && y.best[j].prog.smem == x.best[j].prog.smem);
    }
    Plans one = plans_of(a, &p, dev, 1);
    assert_true(one.best[0].estimate.us == x.best[0].estimate.us);
    double least = x.best[0].estimate.us;
    assert_true(least <= x.best[1].estimate.us + 1e-4);
    for (int i = 0; i < x.set.n; i++) {
        Estimate e;
        mp_estimate(&p, &x.set.prog[i], dev, &e);
        assert_true(e.us >= least - 1e-4);
    }
}

static void test_rank_agrees(void **state) { run(state, rank_agrees); }

/* No other order of tiles is faster, by the estimate of the whole program.  */
static void orders_of_tiles(Arena *a) {
    const char *const profile[] = {"a100", "h200", "t4"};
    int orders = 0, chosen = 0;
    for (int d = 0; d < 3; d++) {
        Device *dev = fixture_device(a, profile[d]);
        Problem p = fixture_matmul(1 + d, 5000, 8192, 4096, true, false, d < 2 ? TE_F16 : TE_F32);
        Plans x = plans_of(a, &p, dev, 40);
        for (int j = 0; j < x.n; j++) {
            RProg r = x.best[j].prog;
            chosen += r.raster != RASTER_ROW;
            for (int64_t rows = 1; rows < 2 * rprog_tiles(&p, &r, AX_M); rows *= 2, orders++) {
                Estimate e;
                rprog_set_raster(&p, rows, &r);
                assert_null(rprog_check(&p, dev, &r));
                mp_estimate(&p, &r, dev, &e);
                assert_true(e.us >= x.best[j].estimate.us);
            }
        }
    }
    assert_true(chosen > 20 && orders > 400);
}

static void test_orders_of_tiles(void **state) { run(state, orders_of_tiles); }

/* Best known fp32 kernels: 128x128 to 256x128 tiles, 64 to 128 outputs per thread, k-step 8 to
 * 32.  */
static void large_square(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    for (int i = 0; i < 4; i++) {
        Problem p = fixture_matmul(1, 4096, 4096, 4096, i & 1, i & 2, TE_F32);
        Plans x = plans_of(a, &p, dev, 10);
        const RProg *r = &x.best[0].prog;
        int64_t area = (int64_t)r->block.extent[AX_M] * r->block.extent[AX_N];
        int64_t outputs = (int64_t)r->thread.extent[AX_M] * r->thread.extent[AX_N];
        assert_true(x.set.n >= 1000);
        assert_in_range(area, 128 * 128, 256 * 128);
        assert_in_range(outputs, 64, 128);
        assert_in_range(r->block.extent[AX_K], 8, 32);
        assert_in_range(r->stages, 3, 6);
        assert_int_equal(r->load[0].kind, LOAD_ASYNC);
        assert_int_equal(r->split, 1);
        assert_int_equal(x.best[0].estimate.limiter, MP_COMPUTE);
        double peak = p.flops / (256.0 * 132 * hal_clock_hz(dev)) * 1e6;
        assert_true(x.best[0].estimate.us < 1.2 * peak);
        print_message("4096^3: %d candidates\n", x.set.n);
    }
}

static void test_large_square(void **state) { run(state, large_square); }

static void busy_enough(const Device *dev, const Problem *p, const RProg *r, const Estimate *e) {
    double sms = dev->limits.sm_count.value;
    (void)p;
    assert_true((double)e->blocks >= 0.7 * sms);
    assert_true(e->wave_efficiency >= 0.7);
    assert_true(r->threads >= 32);
}

/* Few outputs and long sums need slices of K; matrix-vector products run at the rate of DRAM.  */
static void skinny(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    static const int64_t rows[][4] = {
        {1, 4096, 16384, 1},   {8, 6144, 4096, 1},  {1, 6144, 4096, 0},      {64, 64, 65536, 0},
        {128, 1000, 4032, 0},  {1024, 1024, 1024, 0}, {16, 28672, 8192, 1},  {32, 512, 131072, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Problem p = fixture_matmul(1, rows[i][0], rows[i][1], rows[i][2], false, rows[i][3] != 0,
                                   TE_F32);
        Estimate e;
        const RProg *r = top(a, &p, dev, &e);
        busy_enough(dev, &p, r, &e);
    }
    Problem small = fixture_matmul(1, 64, 64, 65536, false, false, TE_F32);
    Estimate e;
    assert_true(top(a, &small, dev, &e)->split > 1);
    Problem vector = fixture_matmul(1, 1, 28672, 8192, false, true, TE_F32);
    const RProg *r = top(a, &vector, dev, &e);
    double bytes = (double)vector.op[1].unique * 4;
    assert_true(e.us < 1.25 * bytes / dev->memory[LEVEL_DRAM].read.value * 1e6);
    assert_int_equal(r->block.extent[AX_M], 1);
    RPlanOptions none = {.workspace_limit = 0};
    RProgSet set;
    Diag d = diag_new(a);
    assert_int_equal(rprog_candidates(a, &d, &small, dev, &none, &set), ST_OK);
    for (int i = 0; i < set.n; i++) assert_int_equal(set.prog[i].split, 1);
    assert_true(set.rejected[REJECT_WORKSPACE] > 0);
}

static void test_skinny(void **state) { run(state, skinny); }

/* 70 W do not hold the boost clock through a long product; a short one ends before, and one that
 * waits for DRAM draws less.  */
static void clock_of_power(Arena *a) {
    Device *dev = fixture_device(a, "t4"), cold = *dev, warm = *dev;
    double boost = hal_clock_hz(dev);
    const ComputeUnit *ffma = hal_unit(dev, "ffma");
    cold.family = ARENA_ARRAY(a, UnitFamily, dev->n_family);
    for (int i = 0; i < dev->n_family; i++) {
        cold.family[i] = dev->family[i];
        cold.family[i].clock.n = 0;
    }
    Problem large = fixture_matmul(1, 8192, 8192, 8192, false, true, TE_F32);
    Problem small = fixture_matmul(1, 512, 512, 512, false, true, TE_F32);
    Problem vector = fixture_matmul(1, 1, 65536, 65536, false, true, TE_F32);
    Estimate e, at_boost;
    RProg r = *top(a, &large, dev, &e);
    mp_estimate(&large, &r, &cold, &at_boost);
    double share = at_boost.term[MP_COMPUTE] / at_boost.us;
    double allowed = hal_busy_hz(dev, ffma, e.us) / cbrt(share);
    assert_true(e.clock < 0.6 * boost && at_boost.clock == boost);
    assert_true(fabs(e.clock / allowed - 1) < 0.03);
    assert_true(fabs(e.us / at_boost.us * e.clock / boost - 1) < 0.02);
    r = *top(a, &small, dev, &e);
    assert_true(e.clock == boost);
    warm.calls = 10000;       /* the same again and again */
    mp_estimate(&small, &r, &warm, &at_boost);
    assert_true(at_boost.clock < 0.7 * boost && at_boost.us > 1.3 * e.us);
    top(a, &vector, dev, &e);
    assert_true(e.us > 5e4 && e.clock == boost);
}

static void test_clock_of_power(void **state) { run(state, clock_of_power); }

/* Few warps do not fill a unit whose row says so: the same plan takes longer there, as many times
 * as the unit is slower; where warps are enough, nothing changes.  */
static void few_warps(Arena *a) {
    Device *dev = fixture_device(a, "t4"), slow = *dev;
    Problem p = fixture_matmul(1, 2048, 2048, 2048, false, true, TE_F32);
    Estimate e, filled, starved;
    RProg r = *top(a, &p, dev, &e);
    double warps = r.threads / 32.0 * r.blocks_per_sm, full = dev->unit[r.unit].rate.value;
    double x[] = {1, warps}, y[] = {full / 4, full};
    slow.unit = ARENA_ARRAY(a, ComputeUnit, dev->n_unit);
    memcpy(slow.unit, dev->unit, (size_t)dev->n_unit * sizeof *slow.unit);
    slow.unit[r.unit].warps = (Curve){.n = 2, .px = x, .py = y};
    mp_estimate(&p, &r, &slow, &filled);
    assert_true(fabs(filled.us / e.us - 1) < 0.2);        /* the last wave has fewer */
    x[1] = 64 * warps;
    mp_estimate(&p, &r, &slow, &starved);
    double share = hal_curve(&slow.unit[r.unit].warps, warps) / full;
    assert_true(starved.term[MP_COMPUTE] > 0.9 * e.term[MP_COMPUTE] / share);
    assert_true(starved.us > 1.2 * e.us);
}

static void test_few_warps(void **state) { run(state, few_warps); }

/* Sizes that powers of two pad badly get tiles of their own.  */
static void odd_tiles(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    static const int64_t sizes[] = {672, 1008, 336, 84, 2688};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Problem p = fixture_matmul(1, sizes[i], 16384, 1024, false, false, TE_F32);
        Estimate e;
        top(a, &p, dev, &e);
        assert_true(e.padding_waste < 0.03);
    }
}

static void test_odd_tiles(void **state) { run(state, odd_tiles); }

/* Packed bytes beat one product at a time where the unit exists and the operands lie along k.  */
static void packed_bytes(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    const RPlanOptions scalar = {.workspace_limit = -1, .no_matrix = true};
    Problem p = fixture_matmul(1, 2048, 2048, 2048, false, true, TE_I8);
    assert_true(rprog_packed(dev, &plans_with(a, &p, dev, &scalar, 1).best[0].prog));
    Problem across = fixture_matmul(1, 2048, 2048, 2048, false, false, TE_I8);
    assert_false(rprog_packed(dev, &plans_with(a, &across, dev, &scalar, 1).best[0].prog));
}

static void test_packed_bytes(void **state) { run(state, packed_bytes); }

/* What a block stores is stored when L2 has it: DRAM that writes slower makes the end of a product
 * of few k-steps no longer.  */
static void ends_in_l2(Arena *a) {
    Device *dev = fixture_device(a, "a100");
    Problem p = fixture_matmul(1, 2048, 2048, 4096, false, false, TE_F32);
    Estimate fast, slow;
    const RProg *best = top(a, &p, dev, &fast);
    dev->memory[LEVEL_DRAM].write.value /= 4;
    mp_estimate(&p, best, dev, &slow);
    assert_true(fast.term[MP_DRAM] < slow.term[MP_DRAM]);
    assert_true(slow.term[MP_DRAM] < slow.term[slow.limiter]);
    assert_true(fast.term[MP_EPILOGUE] == slow.term[MP_EPILOGUE]);
    dev->memory[LEVEL_L2].write.value /= 4;
    mp_estimate(&p, best, dev, &slow);
    assert_true(fast.term[MP_EPILOGUE] < slow.term[MP_EPILOGUE]);
}
static void test_ends_in_l2(void **state) { run(state, ends_in_l2); }

static void maps(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    Estimate e;
    Problem p = fixture_map(334540800, TE_F32);
    const RProg *r = top(a, &p, dev, &e);
    assert_int_equal(e.limiter, MP_DRAM);
    assert_int_equal(r->store_vec, 4);
    assert_in_range(r->threads, 128, 512);
}

static void test_maps(void **state) { run(state, maps); }

static void explains(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    Problem p = fixture_matmul(1, 4096, 4096, 4096, false, false, TE_F32);
    Plans x = plans_of(a, &p, dev, 5);
    Buf text = buf_new(a), line = buf_new(a);
    mp_explain(&p, dev, &x.set, x.best, x.n, &text);
    static const char *const words[] = {
        "limited by: compute unit", "why this shape", "accumulators", "wavefronts per read",
        "FLOP per byte", "waves", "runners-up", "loses by", "programs met", "registers",
        "bank conflicts", "padding waste", "stages", "cp.async.16",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strstr(buf_str(&text), words[i])) fail_msg("no '%s' in\n%s", words[i], buf_str(&text));
    }
    for (MpTerm t = 0; t < MP_COUNT; t++) {
        static const char *const key[] = {
#define X(id, name, text) name,
            MP_TERMS(X)
#undef X
        };
        assert_non_null(strstr(buf_str(&text), key[t]));
    }
    mp_summary(&p, dev, &x.best[0].prog, &line);
    assert_null(strchr(buf_str(&line), '\n'));
    assert_non_null(strstr(buf_str(&line), "per thread"));
}

static void test_explains(void **state) { run(state, explains); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sweep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rank_agrees, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_orders_of_tiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_square, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_skinny, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clock_of_power, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_few_warps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_odd_tiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_packed_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ends_in_l2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_maps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_explains, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
