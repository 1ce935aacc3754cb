/* links: profiler */
/* The rows of units, movers, barriers, atomics and clusters, on simulated GPUs whose constants no
 * shipped profile has: each finds again what the simulator was told, within 5 %.
 *
 * Some units and movers of each kind; LONG=1 takes all.  */
#include "base/file.h"
#include "profiler/profiler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOPPER, AMPERE, GPUS };
static const char *const base_name[GPUS] = {"h200", "a100"};
static const double tolerance = 0.05;

static Arena *arena;
static Diag diag;
static Device *odd[GPUS];                 /* what the simulated GPUs are */
static Device *told[GPUS];                /* the profile the measurement starts from */
static Cuda *cuda;
static bool slow;

static void must(Status s) {
    const DiagMessage *m = diag_first_error(&diag);
    if (s) fail_msg("%d: %s", s, m ? m->message : "");
}

/* ---- the GPUs ---- */
static bool taken(const char *name) {
    static const char *const some[] = {
        "ffma", "dfma", "hfma2", "imad", "dp4a.u8", "mufu.ex2", "mufu.rcp", "shfl", "redux",
        "mma.m16n8k16.f16.f32", "mma.m16n8k16.f16.f16", "mma.m8n8k4.f64.f64",
        "mma.m16n8k32.i8.i32", "wgmma.bf16.f32", "wgmma.i8.i32.n8", "ldg.8", "ldg.128",
        "cp.async.16", "stg.16", "stg.128", "red", "atom", "ldmatrix", "stmatrix", "cp.async.bulk",
        "tma.tile", "tma.im2col", "tma.multicast", "tma.store", "tma.reduce", "dsmem",
    };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (slow || !strcmp(name, some[i])) return true;
    return false;
}

static void keep_some(Device *d) {
    int n = 0;
    for (int i = 0; i < d->n_unit; i++)
        if (taken(d->unit[i].name)) d->unit[n++] = d->unit[i];
    d->n_unit = n;
    n = 0;
    for (int i = 0; i < d->n_mover; i++)
        if (taken(d->mover[i].name)) d->mover[n++] = d->mover[i];
    d->n_mover = n;
}

static void set(Figure *f, double v, const char *unit) {
    *f = (Figure){.value = v, .origin = ORIGIN_DERIVED, .unit = unit, .ref = "made up"};
}

/* Rates off by a factor of their own, latencies longer than a warp keeps the unit busy.  */
static void odd_units(Device *d, double scale) {
    double parts = d->limits.subpartitions.value;
    for (int i = 0; i < d->n_unit; i++) {
        ComputeUnit *u = &d->unit[i];
        set(&u->rate, u->rate.value * (scale + 0.03 * (i % 5)), u->rate.unit);
        double per_result = u->b == HAL_NO_DTYPE ? 1 : 2.0 * u->k.to;
        double all = (u->scope == SCOPE_THREAD ? 32 : 1) * u->m.to * u->n.to * per_result;
        double busy = all * (u->scope == SCOPE_WARPGROUP ? 1 : parts) / u->rate.value;
        set(&u->latency, floor(1.3 * busy) + 5 + i % 4, "clk");
        if (hal_has(&u->sustained)) u->sustained = u->rate;
    }
}

/* A cost leaves room for the rate: 32 threads move a granule each.  */
static void odd_movers(Device *d, double scale) {
    for (int i = 0; i < d->n_mover; i++) {
        Mover *m = &d->mover[i];
        double rate = m->rate.value * (scale + 0.02 * (i % 4));
        double most = 32 * m->granule / rate;
        set(&m->rate, rate, m->rate.unit);
        bool bulk = m->async && m->granule == 16 && m->cost.value < 2;
        set(&m->cost, bulk ? 3 : floor(most) > 1 ? floor(most) : 1, m->cost.unit);
        if (!strcmp(m->name, "dsmem")) set(&m->cost, 7, m->cost.unit);
        if (!strcmp(m->name, "red") || !strcmp(m->name, "atom")) {       /* as atomic_distinct */
            set(&m->cost, 6, m->cost.unit);
            set(&m->rate, 128.0 / 6, m->rate.unit);
        }
    }
}

static void odd_overheads(Device *d) {
    DeviceOverheads *o = &d->overheads;
    set(&o->mbarrier, 77, "clk");
    set(&o->atomic_same, 51, "clk");
    set(&o->atomic_distinct, 6, "clk");
    if (hal_has(&o->cluster_barrier)) set(&o->cluster_barrier, 241, "clk");
    for (int i = 0; i < o->barrier.n; i++) o->barrier.py[i] = 31 + 9 * i;
    MemoryLevel *near = &d->memory[LEVEL_DSMEM];
    if (near->present) set(&near->latency, 233, "clk");
}

static void odd_gpu(int which, int sms, double mhz, double scale) {
    Device *d;
    must(hal_profile_find(arena, &diag, base_name[which], "profiles", NULL, &d));
    must(hal_profile_find(arena, &diag, base_name[which], "profiles", NULL, &told[which]));
    keep_some(told[which]);
    keep_some(d);
    d->limits.sm_count.value = sms;
    d->limits.clock_sm.value = d->limits.clock_sm_sustained.value = mhz;
    Curve *clusters = &d->limits.clusters_resident;
    int n = 0;
    while (n < clusters->n && clusters->px[n] <= sms) {
        clusters->py[n] = floor(sms / clusters->px[n]);
        n++;
    }
    clusters->n = n;
    if (n > 0) d->limits.cluster_max.value = clusters->px[n - 1];
    odd_units(d, scale);
    odd_movers(d, scale);
    odd_overheads(d);
    odd[which] = d;
}

static int setup(void **state) {
    (void)state;
    const char *build = getenv("BUILD"), *all = getenv("LONG");
    char here[2048];
    if (!getcwd(here, sizeof here)) return -1;
    if (!build) build = "build";
    slow = all && *all;
    arena = arena_create(NULL);
    diag = diag_new(arena);
    const char *root = *build == '/' ? build : arena_printf(arena, "%s/%s", here, build);
    odd_gpu(HOPPER, 4, 1410, 0.71);
    odd_gpu(AMPERE, 3, 1130, 0.83);
    Buf list = buf_new(arena);
    for (int i = 0; i < GPUS; i++) {
        Buf text = buf_new(arena);
        const char *file = arena_printf(arena, "%s/odd-%s-%ld.json", root, base_name[i],
                                        (long)getpid());
        hal_profile_write(odd[i], &text);
        must(file_write(&diag, file, text.text, text.len));
        buf_printf(&list, "%s%s", i ? "," : "", file);
    }
    setenv("ROLLER_SIM_PROFILE", buf_str(&list), 1);
    setenv("ROLLER_SIM_RACES", slow ? "1" : "0", 1);
    setenv("ROLLER_LIBCUDA", arena_printf(arena, "%s/simdriver/libcuda.so.1", root), 1);
    must(cuda_open(arena, &diag, NULL, &cuda));
    for (int i = 0; i < GPUS; i++)
        unlink(arena_printf(arena, "%s/odd-%s-%ld.json", root, base_name[i], (long)getpid()));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_destroy(arena);
    return 0;
}

/* ---- measuring ---- */
static const Device *measured(int which, const char *rows) {
    CudaDeviceInfo info;
    CudaContext *x;
    Nvrtc *n;
    Device *out = NULL;
    ProfilerOptions o = {.quick = !slow, .seed = 7, .only = rows, .date = "2026-01-01",
                         .tool = "test"};
    must(cuda_device_info(cuda, &diag, which, &info));
    must(nvrtc_open(arena, &diag, &(NvrtcOptions){0}, info.arch, &n));
    must(cuda_context(cuda, arena, &diag, which, &x));
    must(cuda_enter(x, arena, &diag));
    must(profiler_run(arena, &diag, x, n, told[which], &o, &out));
    return out;
}

static int wrong;

static void near_to(const Figure *got, const Figure *want, const char *name, const char *what) {
    double off = fabs(got->value / want->value - 1);
    bool measured_now = got->origin == ORIGIN_MEASURED && got->samples > 0;
    if (off <= tolerance && measured_now) return;
    fprintf(stderr, "%s %s: %g, not %g%s\n", name, what, got->value, want->value,
            measured_now ? "" : " (not measured)");
    wrong++;
}

/* Of a curve over warps the end is the full rate, and nothing exceeds it.  */
static void curve_ends(const ComputeUnit *got, const ComputeUnit *want) {
    const Curve *c = &got->warps;
    bool ends = c->n >= 2 && fabs(c->py[c->n - 1] / want->rate.value - 1) <= tolerance;
    for (int i = 1; i < c->n; i++) ends = ends && c->py[i] >= c->py[i - 1] * (1 - tolerance);
    if (ends) return;
    fprintf(stderr, "%s: its curve over warps does not rise to the rate\n", got->name);
    wrong++;
}

static void same_units(const Device *got, const Device *want, const char *kind) {
    int n = 0;
    for (int i = 0; i < got->n_unit; i++) {
        const ComputeUnit *u = &got->unit[i], *w = &want->unit[i];
        bool matrix = !strncmp(u->name, "mma.", 4), group = !strncmp(u->name, "wgmma.", 6);
        if (strcmp(kind, group ? "wgmma" : matrix ? "mma" : "simt")) continue;
        near_to(&u->rate, &w->rate, u->name, "rate");
        /* Of a product as small as n = 24 the instructions around it are a part.  */
        bool tiny = group && u->n.to < 64;
        if (!tiny && (!group || slow)) near_to(&u->latency, &w->latency, u->name, "latency");
        curve_ends(u, w);
        n++;
    }
    assert_true(n > 0);
}

/* A load and a store are two movers to the simulator.  */
static void same_movers(const Device *got, const Device *want, bool bulk) {
    for (int i = 0; i < got->n_mover; i++) {
        const Mover *m = &got->mover[i], *w = &want->mover[i];
        bool is_bulk = !strncmp(m->name, "tma.", 4) || !strcmp(m->name, "cp.async.bulk");
        bool two = !strncmp(m->name, "ldg_sts.", 8), other = !strcmp(m->name, "dsmem");
        if (two || other || is_bulk != bulk) continue;
        near_to(&m->rate, &w->rate, m->name, "rate");
        near_to(&m->cost, &w->cost, m->name, "cost");
    }
}

static void finish(void) {
    int n = wrong;
    wrong = 0;
    assert_int_equal(n, 0);
}

static void units(int which) {
    const Device *got = measured(which, "clock,simt,mma");
    same_units(got, odd[which], "simt");
    same_units(got, odd[which], "mma");
    finish();
}

static void units_of_hopper(void **state) {
    (void)state;
    units(HOPPER);
}

static void units_of_ampere(void **state) {
    (void)state;
    units(AMPERE);
}

static void warpgroups(void **state) {
    (void)state;
    same_units(measured(HOPPER, "clock,wgmma"), odd[HOPPER], "wgmma");
    finish();
}

static void movers(void **state) {
    (void)state;
    const Device *got = measured(HOPPER, "clock,movers,tma");
    same_movers(got, odd[HOPPER], false);
    same_movers(got, odd[HOPPER], true);
    if (slow) same_movers(measured(AMPERE, "clock,movers"), odd[AMPERE], false);
    finish();
}

static void barriers_and_atomics(void **state) {
    (void)state;
    for (int which = 0; which < GPUS; which++) {
        const Device *got = measured(which, "clock,barriers,atomics");
        const DeviceOverheads *o = &got->overheads, *w = &odd[which]->overheads;
        near_to(&o->mbarrier, &w->mbarrier, base_name[which], "mbarrier");
        near_to(&o->atomic_same, &w->atomic_same, base_name[which], "atomic_same");
        near_to(&o->atomic_distinct, &w->atomic_distinct, base_name[which], "atomic_distinct");
        if (which == HOPPER)
            near_to(&o->cluster_barrier, &w->cluster_barrier, "h200", "cluster_barrier");
        for (int threads = 32; threads <= 1024; threads *= 2) {
            Figure g = {.value = hal_curve(&o->barrier, threads), .samples = 1,
                        .origin = o->barrier.origin};
            Figure v = {.value = hal_curve(&w->barrier, threads)};
            near_to(&g, &v, base_name[which], "barrier");
        }
        assert_true(o->pipeline_step.origin == ORIGIN_MEASURED && o->pipeline_step.value > 0);
    }
    finish();
}

static void clusters(void **state) {
    (void)state;
    const Device *got = measured(HOPPER, "clock,clusters"), *want = odd[HOPPER];
    const Mover *m = hal_mover(got, "dsmem"), *w = hal_mover(want, "dsmem");
    near_to(&m->rate, &w->rate, "dsmem", "rate");
    near_to(&m->cost, &w->cost, "dsmem", "cost");
    near_to(&got->memory[LEVEL_DSMEM].latency, &want->memory[LEVEL_DSMEM].latency, "dsmem",
            "latency");
    const Curve *c = &got->limits.clusters_resident, *v = &want->limits.clusters_resident;
    assert_int_equal(c->origin, ORIGIN_MEASURED);
    for (int i = 0; i < v->n; i++) assert_float_equal(hal_curve(c, v->px[i]), v->py[i], 0);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_of_hopper), cmocka_unit_test(units_of_ampere),
        cmocka_unit_test(warpgroups),      cmocka_unit_test(movers),
        cmocka_unit_test(clusters),        cmocka_unit_test(barriers_and_atomics),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
