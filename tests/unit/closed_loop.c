/* links: profiler */
#include "closed_loop.h"
#include "base/file.h"
#include "effort.h"
#include "simulated.h"

#include <fnmatch.h>
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

const LoopGpu loop_gpu[LOOP_GPUS] = {
    {"a100", "NVIDIA A5-1GB", 5, 4, 3, 1400, 1250,
     2.4e10, 2.1e10, 2.0e10, 370, 131072, 114688, 128, 1.7e11, 9e10, 40, 210, 32, 4, 23,
     2600, 1450, 1900, 610, 0.83, 77, 0, 51, 6, 0},
    {"h200", "NVIDIA Odd 7", 7, 2, 4, 1100, 1000,
     3e10, 2.6e10, 2.5e10, 320, 262144, 196608, 64, 2.4e11, 1.2e11, 48, 230, 16, 8, 26,
     3100, 1700, 2100, 430, 0.77, 63, 209, 45, 7, 197},
    {"rtx4090", "NVIDIA GeForce RTX 4", 4, 2, 2, 2100, 1900,
     1.8e10, 1.7e10, 1.55e10, 520, 131072, 98304, 32, 2.2e11, 1e11, 56, 290, 32, 4, 31,
     4200, 2300, 3300, 520, 0.69, 91, 0, 38, 5, 0},
    {"h200", "NVIDIA H4", 4, 4, 5, 1600, 1410,
     2.7e10, 2.4e10, 2.2e10, 410, 131072, 98304, 128, 2.6e11, 1.3e11, 60, 250, 32, 4, 29,
     2900, 1500, 1700, 470, 0.71, 77, 241, 51, 6, 233},
    {"b200", "NVIDIA B4", 4, 4, 4, 1500, 1350,
     2.5e10, 2.3e10, 2.1e10, 430, 131072, 98304, 128, 2.5e11, 1.2e11, 58, 260, 32, 4, 28,
     2700, 1600, 1800, 450, 0.73, 71, 237, 47, 5, 227},
};
static const double tolerance = 0.05;

/* ---- the GPUs ---- */
static void must(const Diag *d, Status s) {
    const DiagMessage *m = diag_first_error(d);
    if (s) fail_msg("%d: %s", s, m ? m->message : "");
}

static void set(Figure *f, double v) {
    *f = (Figure){.value = v, .origin = ORIGIN_DERIVED, .unit = f->unit, .ref = "made up"};
}

static Curve *level_curve(MemoryLevel *m, const char *of, const char *x) {
    for (int i = 0; i < m->n_curve; i++)
        if (!strcmp(m->curve[i].of, of) && !strcmp(m->curve[i].x, x)) return &m->curve[i];
    fail_msg("no curve of %s over %s", of, x);
    return NULL;
}

typedef struct {
    double x, y;
} Point;

static void points(Arena *a, Curve *c, const Point *p, int n) {
    c->n = n;
    c->origin = ORIGIN_DERIVED;
    c->ref = "made up";
    c->px = ARENA_ARRAY(a, double, n);
    c->py = ARENA_ARRAY(a, double, n);
    for (int i = 0; i < n; i++) {
        c->px[i] = p[i].x;
        c->py[i] = p[i].y;
    }
}
#define POINTS(a, c, ...)                                                                          \
    points((a), (c), (const Point[]){__VA_ARGS__},                                                 \
           (int)(sizeof(Point[]){__VA_ARGS__} / sizeof(Point)))

/* Rates below what latency, ports and the level beyond allow.  */
static void dram(Arena *a, const LoopGpu *g, MemoryLevel *m) {
    double hz = g->sustained * 1e6, r = g->read, w = g->write;
    double slope = 0.7 * g->sms * hz / g->dram_latency, knee = r / slope;
    set(&m->capacity, 1 << 30);
    set(&m->read, r);
    set(&m->write, w);
    set(&m->copy, g->copy);
    set(&m->latency, g->dram_latency);
    set(&m->per_sm_max, 0.4 * r / hz);
    POINTS(a, level_curve(m, "read", "bytes_in_flight_per_sm"), {knee / 8, r / 8},
           {knee / 4, r / 4}, {knee / 2, r / 2}, {knee, r});
    POINTS(a, level_curve(m, "read", "run_length"), {4, .05 * r}, {8, .1 * r}, {16, .19 * r},
           {32, .4 * r}, {64, .8 * r}, {128, .9 * r}, {256, .96 * r}, {512, r});
    POINTS(a, level_curve(m, "write", "run_length"), {4, .03 * w}, {8, .06 * w}, {16, .11 * w},
           {32, .3 * w}, {64, .6 * w}, {128, .88 * w}, {256, .95 * w}, {512, w});
    POINTS(a, level_curve(m, "read", "active_sms"), {1, .4 * r}, {2, .6 * r}, {g->sms, r});
    Point p[8];
    for (int k = 0; k < 8; k++) {
        double bytes = ldexp(16384, 2 * k);
        p[k] = (Point){bytes, bytes / (2e-6 + bytes / r)};
    }
    points(a, level_curve(m, "read", "total_bytes"), p, 8);
}

static void l2(Arena *a, const LoopGpu *g, double scale, MemoryLevel *m) {
    double r = g->l2_read, one = g->port * g->sustained * 1e6;
    double c = g->l2 * scale, e = g->effective * scale;
    set(&m->capacity, c);
    set(&m->effective_capacity, e);
    set(&m->line, g->line);
    set(&m->read, r);
    set(&m->write, g->l2_write);
    set(&m->per_sm_max, g->port);
    set(&m->latency, g->l2_latency);
    POINTS(a, level_curve(m, "read", "footprint"), {c / 16, r}, {e, r}, {e * 1.03, .6 * r},
           {1.1 * c, .4 * r}, {2 * c, .25 * r}, {4 * c, g->read});
    POINTS(a, level_curve(m, "read", "active_sms"), {1, one}, {2, fmin(1.8 * one, r)},
           {g->sms, r});
}

static void smem(Arena *a, const LoopGpu *g, MemoryLevel *m) {
    double r = g->width * g->banks;
    set(&m->banks, g->banks);
    set(&m->bank_width, g->width);
    set(&m->per_sm_max, r);
    set(&m->latency, g->smem_latency);
    POINTS(a, level_curve(m, "read", "conflict_ways"), {1, r}, {2, r / 2}, {4, r / 4}, {8, r / 8},
           {16, r / 16}, {32, r / 32});
}

/* The rate over the columns of one instruction of tcgen05: the unit's, or what shared memory gives
 * of the operands, 32 bytes of k for each row of a block.  */
static void columns(Arena *a, const LoopGpu *g, ComputeUnit *u) {
    static const int n[] = {64, 128, 256};
    double r[3];
    for (int i = 0; i < 3; i++) {
        double clk = 2.0 * 128 * n[i] * u->k.to * te_dtype_values(u->a) / u->rate.value;
        double rows = 128 + n[i] / (u->blocks > 1 ? 2 : 1);
        r[i] = u->rate.value * fmin(1, clk * g->banks * g->width / (32 * rows));
    }
    u->columns = (Curve){.of = "rate", .x = "n", .x_unit = "1", .unit = u->rate.unit};
    POINTS(a, &u->columns, {64, r[0]}, {128, r[1]}, {256, r[2]});
}

/* Rates off by a factor of their own, and below what can be issued; latencies longer than a warp
 * keeps the unit busy; those of products in shared memory so long that the instructions around one,
 * five of integers of two clocks each and a branch, are within the tolerance; fewer warps than
 * there are schedulers have less than their share.  */
static void units(Arena *a, const LoopGpu *g, Device *d) {
    const double around = (5 * 2 + 1) / tolerance;
    double parts = d->limits.subpartitions.value;
    for (int i = 0; i < d->n_unit; i++) {
        ComputeUnit *u = &d->unit[i];
        bool group = u->scope == SCOPE_WARPGROUP;
        double per_result = u->b == HAL_NO_DTYPE ? 1 : 2.0 * u->k.to * te_dtype_values(u->a);
        double all = (u->scope == SCOPE_THREAD ? 32 : 1) * u->m.to * u->n.to * per_result;
        double r = fmin(u->rate.value * (g->scale + 0.03 * (i % 5)), 0.9 * g->issue * all);
        double busy = all * (group ? 1 : parts) / r;
        set(&u->rate, r);
        set(&u->latency, floor(1.3 * busy) + (u->tmem ? 500 : group ? around : 5) + i % 4);
        u->latency.unit = "clk";
        hal_own_family(a, d, u);
        if (u->tmem) {
            columns(a, g, u);
            continue;
        }
        u->warps = (Curve){.of = "rate", .x = "warps", .x_unit = "1", .unit = u->rate.unit};
        if (group) POINTS(a, &u->warps, {4, .55 * r}, {8, r});
        else POINTS(a, &u->warps, {1, .2 * r}, {4, .5 * r}, {8, .75 * r}, {16, r});
    }
}

/* What binds a mover is its own figure: rates are below those of the port, the banks and the lanes;
 * costs leave room for the rate and are no less than what an instruction takes to issue.  Where
 * ports are measured, movers stay as fast as they are.  */
static void movers(const LoopGpu *g, Device *d) {
    for (int i = 0; i < d->n_mover; i++) {
        Mover *m = &d->mover[i];
        bool far = m->from == PLACE_GLOBAL || m->to == PLACE_GLOBAL;
        bool near = m->from == PLACE_SMEM || m->to == PLACE_SMEM;
        double limit = m->rate.value;
        if (far) limit = fmin(limit, g->port);
        if (near) limit = fmin(limit, g->width * g->banks);
        double rate = limit * (g->scale - 0.1 + 0.02 * (i % 4)), least = ceil(g->parts / g->issue);
        bool bulk = m->async && m->granule == 16 && m->cost.value < 2;
        if (!bulk) rate = fmin(rate, 32 * m->granule / least);
        set(&m->rate, rate);
        set(&m->cost, bulk ? 3 : floor(32 * m->granule / rate));
        if (!strcmp(m->name, "dsmem")) set(&m->cost, 7);
        if (!strcmp(m->name, "red") || !strcmp(m->name, "atom")) {       /* as atomic_distinct */
            set(&m->cost, g->distinct);
            set(&m->rate, 128 / g->distinct);
        }
    }
}

static void overheads(const LoopGpu *g, Device *d) {
    DeviceOverheads *o = &d->overheads;
    set(&o->launch_stream, g->stream);
    set(&o->launch_graph, g->graph);
    set(&o->kernel_floor, g->floor);
    set(&o->block_start, g->start);
    set(&o->mbarrier, g->mbarrier);
    set(&o->atomic_same, g->same);
    set(&o->atomic_distinct, g->distinct);
    for (int i = 0; i < o->barrier.n; i++) o->barrier.py[i] = g->same / 2 + 9 * i;
    if (hal_has(&o->cluster_barrier)) set(&o->cluster_barrier, g->cluster);
    if (d->memory[LEVEL_DSMEM].present) set(&d->memory[LEVEL_DSMEM].latency, g->dsmem_latency);
}

/* As many clusters as there is room for.  */
static void clusters(const LoopGpu *g, Device *d) {
    Curve *c = &d->limits.clusters_resident;
    int n = 0;
    for (; n < c->n && c->px[n] <= g->sms; n++) c->py[n] = floor(g->sms / c->px[n]);
    if (n > 0) set(&d->limits.cluster_max, c->px[n - 1]);
    c->n = n;
}

/* One of eight: their products are long.  Those that are narrow throughout are not measured.  */
static void few_tensor_units(Device *d) {
    int n = 0, drawn = (int)(effort_seed() % 8);
    for (int i = 0; i < d->n_unit; i++) {
        const ComputeUnit *u = &d->unit[i];
        if (!u->tmem || (u->n.to > 128 && (effort_long() || i % 8 == drawn))) d->unit[n++] = *u;
    }
    d->n_unit = n;
}

Device *loop_device(Arena *a, Diag *d, int i, bool with_units) {
    enum { ROOMY = 16 };
    const LoopGpu *g = &loop_gpu[i];
    Device *dev;
    must(d, hal_profile_find(a, d, g->base, "profiles", NULL, &dev));
    dev->gpu = g->gpu;
    set(&dev->limits.sm_count, g->sms);
    set(&dev->limits.subpartitions, g->parts);
    set(&dev->limits.issue_per_clk, g->issue);
    set(&dev->limits.clock_sm, g->mhz);
    set(&dev->limits.clock_sm_sustained, g->sustained);
    clusters(g, dev);
    dram(a, g, &dev->memory[LEVEL_DRAM]);
    l2(a, g, with_units ? ROOMY : 1, &dev->memory[LEVEL_L2]);
    smem(a, g, &dev->memory[LEVEL_SMEM]);
    few_tensor_units(dev);
    units(a, g, dev);
    if (with_units) movers(g, dev);
    overheads(g, dev);
    return dev;
}

Device *loop_base(Arena *a, Diag *d, const Device *want) {
    int i = 0;
    Device *base;
    while (strcmp(loop_gpu[i].gpu, want->gpu)) i++;
    must(d, hal_profile_find(a, d, loop_gpu[i].base, "profiles", NULL, &base));
    int n = 0;
    for (int k = 0; k < base->n_unit; k++)
        if (hal_unit(want, base->unit[k].name)) base->unit[n++] = base->unit[k];
    base->n_unit = n;
    for (int k = 0; k < n; k++) hal_own_family(a, base, &base->unit[k]);
    n = 0;
    for (int k = 0; k < base->n_mover; k++)
        if (hal_mover(want, base->mover[k].name)) base->mover[n++] = base->mover[k];
    base->n_mover = n;
    return base;
}

void loop_open(Arena *a, Diag *d, Device *const *gpu, int n, Cuda **out) {
    char root[4096];
    simulated_path("", root, sizeof root);
    Buf list = buf_new(a);
    const char **file = ARENA_ARRAY(a, const char *, n);
    for (int i = 0; i < n; i++) {
        Buf text = buf_new(a);
        file[i] = arena_printf(a, "%sodd-%d-%ld.json", root, i, (long)getpid());
        hal_profile_write(gpu[i], &text);
        must(d, file_write(d, file[i], text.text, text.len));
        buf_printf(&list, "%s%s", i ? "," : "", file[i]);
    }
    setenv("ROLLER_SIM_PROFILE", buf_str(&list), 1);
    setenv("ROLLER_SIM_RACES", effort_long() ? "1" : "0", 1);
    simulated_set("ROLLER_LIBCUDA", "simdriver/libcuda.so.1");
    must(d, cuda_open(a, d, NULL, out));
    for (int i = 0; i < n; i++) unlink(file[i]);
}

/* ---- the rules ---- */
/* DRIVER: an attribute tells it, exactly.  BASE: no row looks for it, it stays as in the profile
 * that the run starts from.  UNUSED: the simulator does not go by it.  NOWHERE: only the levels
 * named above have it.  */
#define DRIVER  "driver"
#define BASE    "base"
#define UNUSED  "unused"
#define NOWHERE "nowhere"
/*    figure, the first that fits    row, or one of the four    reason */
#define RULES(X)                                                                                   \
    X("sm_count",                    DRIVER,  "")                                                  \
    X("warp_size",                   DRIVER,  "")                                                  \
    X("threads_per_*",               DRIVER,  "")                                                  \
    X("blocks_per_sm",               DRIVER,  "")                                                  \
    X("registers_per_sm",            DRIVER,  "")                                                  \
    X("registers_per_block",         DRIVER,  "")                                                  \
    X("smem_per_*",                  DRIVER,  "")                                                  \
    X("smem_reserved",               DRIVER,  "")                                                  \
    X("grid_max",                    DRIVER,  "")                                                  \
    X("clock_sm",                    DRIVER,  "")                                                  \
    X("subpartitions",               "issue", "")                                                  \
    X("issue_per_clk",               "issue", "")                                                  \
    X("barriers_per_block",          BASE,    "of the architecture")                               \
    X("registers_per_thread",        BASE,    "of the architecture")                               \
    X("register_granule",            BASE,    "of the architecture")                               \
    X("smem_granule",                BASE,    "of the architecture")                               \
    X("cluster_max",                 BASE,    "the portable size: of the architecture")            \
    X("clock_sm_max",                UNUSED,  "the driver tells the highest as clock_sm")          \
    X("clock_sm_sustained",          "clock", "")                                                  \
    X("clusters_resident",           "clusters", "")                                               \
    X("dsmem.capacity",              BASE,    "what a cluster's blocks add up to")                 \
    X("*.capacity",                  DRIVER,  "")                                                  \
    X("l2.line",                     "l2",    "")                                                  \
    X("*.line",                      UNUSED,  "L2 alone has lines")                                \
    X("*.transaction",               UNUSED,  "sectors are 32 bytes on every GPU")                 \
    X("dram.latency",                "latency", "")                                                \
    X("l2.latency",                  "latency", "")                                                \
    X("smem.latency",                "latency", "")                                                \
    X("dsmem.latency",               "clusters", "")                                               \
    X("dsmem.per_sm_max",            UNUSED,  "the rate of the mover dsmem is what binds")         \
    X("*.read over run_length",      "granularity", "")                                            \
    X("*.write over run_length",     "granularity", "")                                            \
    X("dram.read over total_bytes",  "dram",  "")                                                  \
    X("dram.read over bytes_in_flight_per_sm", "dram", "")                                         \
    X("dram.read over active_sms",   "dram",  "")                                                  \
    X("dram.peak",                   BASE,    "a simulated driver has no bus of some width")       \
    X("*.peak",                      NOWHERE, "")                                                  \
    X("dram.read",                   "dram",  "")                                                  \
    X("dram.write",                  "dram",  "")                                                  \
    X("dram.copy",                   "dram",  "")                                                  \
    X("dram.per_sm_max",             "dram",  "")                                                  \
    X("l2.read",                     "l2",    "")                                                  \
    X("l2.write",                    "l2",    "")                                                  \
    X("l2.per_sm_max",               "l2",    "")                                                  \
    X("l2.effective_capacity",       "l2",    "")                                                  \
    X("l2.read over footprint",      "l2",    "")                                                  \
    X("l2.read over active_sms",     "l2",    "")                                                  \
    X("smem.per_sm_max",             "smem",  "")                                                  \
    X("smem.banks",                  "smem",  "")                                                  \
    X("smem.bank_width",             "smem",  "")                                                  \
    X("smem.read over conflict_ways", "smem", "")                                                  \
    X("launch_stream",               "launch", "")                                                 \
    X("launch_graph",                "launch", "")                                                 \
    X("kernel_floor",                "launch", "")                                                 \
    X("block_start",                 "launch", "")                                                 \
    X("barrier",                     "barriers", "")                                               \
    X("mbarrier",                    "barriers", "")                                               \
    X("cluster_barrier",             "barriers", "")                                               \
    X("pipeline_step",               UNUSED,  "a sum of instructions that have their own times")   \
    X("atomic_same",                 "atomics", "")                                                \
    X("atomic_distinct",             "atomics", "")                                                \
    X("dsmem.rate",                  "clusters", "")                                               \
    X("dsmem.cost",                  "clusters", "")                                               \
    X("ldg_sts.*",                   UNUSED,  "a load and a store, which are movers themselves")   \
    X("tma.*.rate",                  "tma",   "")                                                  \
    X("tma.*.cost",                  "tma",   "")                                                  \
    X("cp.async.bulk.rate",          "tma",   "")                                                  \
    X("cp.async.bulk.cost",          "tma",   "")                                                  \
    X("*.cost",                      "movers", "")                                                 \
    X("ldg.*.rate",                  "movers", "")                                                 \
    X("stg.*.rate",                  "movers", "")                                                 \
    X("cp.async.*.rate",             "movers", "")                                                 \
    X("red.rate",                    "movers", "")                                                 \
    X("atom.rate",                   "movers", "")                                                 \
    X("ldmatrix.rate",               "movers", "")                                                 \
    X("stmatrix.rate",               "movers", "")                                                 \
    X("*.sustained",                 UNUSED,  "simulated clocks do not fall")                      \
    X("*.clock over busy",           UNUSED,  "simulated clocks do not fall")                      \
    X("wgmma.*.rate",                "wgmma", "")                                                  \
    X("wgmma.*.latency",             "wgmma", "")                                                  \
    X("wgmma.*.rate over warps",     "wgmma", "")                                                  \
    X("tcgen05.*.rate",              "tcgen05", "")                                                \
    X("tcgen05.*.latency",           "tcgen05", "")                                                \
    X("tcgen05.*.rate over n",       "tcgen05", "")                                                \
    X("*.rate over n",               UNUSED,  "what operands from shared memory limit")            \
    X("mma.*.rate",                  "mma",   "")                                                  \
    X("mma.*.latency",               "mma",   "")                                                  \
    X("mma.*.rate over warps",       "mma",   "")                                                  \
    X("reg.latency",                 NOWHERE, "")                                                  \
    X("*.rate",                      "simt",  "")                                                  \
    X("*.latency",                   "simt",  "")                                                  \
    X("*.rate over warps",           "simt",  "")                                                  \
    X("*.effective_capacity",        NOWHERE, "")                                                  \
    X("*.read",                      NOWHERE, "")                                                  \
    X("*.write",                     NOWHERE, "")                                                  \
    X("*.copy",                      NOWHERE, "")                                                  \
    X("*.per_sm_max",                NOWHERE, "")                                                  \
    X("*.banks",                     NOWHERE, "")                                                  \
    X("*.bank_width",                NOWHERE, "")

static const struct {
    const char *figure, *row, *reason;
} rule[] = {
#define X(figure, row, reason) {figure, row, reason},
    RULES(X)
#undef X
};
enum { N_RULE = (int)(sizeof rule / sizeof *rule) };
static int compared[N_RULE];

static int rule_of(const char *figure) {
    int i = 0;
    while (i < N_RULE && fnmatch(rule[i].figure, figure, 0)) i++;
    return i;
}

static bool listed(const char *rows, const char *row) {
    size_t len = strlen(row);
    for (const char *p = rows; *p; p += strcspn(p, ","), p += *p == ',')
        if (!strncmp(p, row, len) && (p[len] == ',' || !p[len])) return true;
    return false;
}

/* ---- comparing ---- */
typedef struct {
    Arena *a;
    const Device *got, *want;
    int wrong;
} Loop;

static void wrong(Loop *l, const char *name, const char *why) {
    fprintf(stderr, "%s %s: %s\n", l->want->gpu, name, why);
    l->wrong++;
}

static void near_to(Loop *l, const char *name, double got, double want, double most) {
    if (fabs(got / want - 1) <= most) return;
    wrong(l, name, arena_printf(l->a, "%g, not %g", got, want));
}

/* At the edge of the capacity the footprint's curve falls within a few lines.  */
static bool at_edge(const Loop *l, const HalFigure *f, double x) {
    double edge = l->want->memory[LEVEL_L2].effective_capacity.value;
    return strstr(f->name, "footprint") && x > edge * 0.98 && x <= edge * 1.2;
}

static void compare_curve(Loop *l, const HalFigure *got, const HalFigure *want) {
    const Curve *g = got->curve, *w = want->curve;
    if (g->n < 2 || g->origin != ORIGIN_SIMULATED) wrong(l, got->name, "not measured");
    for (int i = 0; i < g->n && !l->wrong; i++)
        if (!at_edge(l, got, g->px[i]))
            near_to(l, arena_printf(l->a, "%s at %g", got->name, g->px[i]), g->py[i],
                    hal_curve(w, g->px[i]), tolerance);
}

static void compare_measured(Loop *l, const HalFigure *got, const HalFigure *want) {
    if (got->curve) {
        compare_curve(l, got, want);
        return;
    }
    const Figure *g = got->figure;
    near_to(l, got->name, g->value, want->figure->value, tolerance);
    if (g->origin != ORIGIN_SIMULATED || g->samples < 1 || g->noisy)
        wrong(l, got->name, "not measured");
}

static void compare_told(Loop *l, int r, const HalFigure *got, const HalFigure *want) {
    const Figure *g = got->figure;
    if (!g || !want->figure) return;
    if (!strcmp(rule[r].row, NOWHERE) && hal_has(want->figure)) wrong(l, got->name, "has no row");
    if (strcmp(rule[r].row, DRIVER)) return;
    near_to(l, got->name, g->value, want->figure->value, 0);
    if (g->origin != ORIGIN_DRIVER) wrong(l, got->name, "not from the driver");
    compared[r]++;
}

static bool there(const HalFigure *f) { return f->curve ? f->curve->n > 0 : hal_has(f->figure); }

static const HalFigure *named(const HalFigure *f, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(f[i].name, name)) return &f[i];
    return NULL;
}

/* Figures that are there in one alone.  Of families, which nothing simulated measures, a device has
 * those of its profile and the other one for each unit.  */
static void compare_names(Loop *l, const HalFigure *f, int n, const HalFigure *other, int m) {
    for (int i = 0; i < n; i++)
        if (there(&f[i]) && !named(other, m, f[i].name)) wrong(l, f[i].name, "only one has it");
}

int loop_compare(Arena *a, const Device *got, const Device *want, const char *rows) {
    Loop l = {.a = a, .got = got, .want = want};
    const HalFigure *g, *w;
    int n = hal_figures(a, got, true, &g), m = hal_figures(a, want, true, &w), total = 0;
    compare_names(&l, g, n, w, m);
    compare_names(&l, w, m, g, n);
    for (int i = 0; i < m; i++) {
        const HalFigure *own = named(g, n, w[i].name);
        int r = rule_of(w[i].name);
        total += l.wrong;
        l.wrong = 0;
        if (r == N_RULE) {
            wrong(&l, w[i].name, "no rule says what finds it again");
        } else if (!own) {
            continue;
        } else if (listed(rows, rule[r].row) && there(&w[i])) {
            compare_measured(&l, own, &w[i]);
            compared[r]++;
        } else {
            compare_told(&l, r, own, &w[i]);
        }
    }
    return total + l.wrong;
}

int loop_left_out(const char *rows) {
    int n = 0;
    for (int r = 0; r < N_RULE; r++) {
        if (compared[r] || (!listed(rows, rule[r].row) && strcmp(rule[r].row, DRIVER))) continue;
        fprintf(stderr, "%s: nothing was compared by this rule\n", rule[r].figure);
        n++;
    }
    return n;
}
