/* links: sim */
/* Units of warpgroups on the simulator against te_eval: every type, operand layout, family of
 * tiles, number of stages and ragged shape, bit for bit, compiled without spills and without
 * products that the assembler serialises.  LONG=1 takes all of them, RING_CASE=TEXT those whose
 * name has it.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* Instructions of a warpgroup along M, columns of each, warpgroups of a block.  */
typedef struct {
    const char *name;
    int tiles, n, warps[2];
    int stages, split;
    StoreVia via;
    Raster raster;
    int cluster;              /* where tiles allow it */
    Grid grid;
} Family;
static const Family family[] = {
    {"64x8", 1, 8, {1, 1}, 1, 1, VIA_DIRECT, RASTER_ROW, 0, GRID_TILES},
    {"64x64", 1, 64, {1, 1}, 2, 1, VIA_SHARED, RASTER_COLUMN, 0, GRID_TILES},
    {"64x256", 1, 256, {1, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES},
    {"128x72", 2, 72, {1, 1}, 4, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES},
    {"2 of 64x128", 1, 128, {2, 1}, 2, 1, VIA_DIRECT, RASTER_GROUPED, 0, GRID_TILES},
    {"2 of 64x256", 1, 256, {2, 1}, 4, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES},
    {"2 of 128x192", 2, 192, {2, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES},
    {"2 of 128x64 side by side", 2, 64, {1, 2}, 3, 1, VIA_SHARED, RASTER_GROUPED, 0, GRID_TILES},
    {"2 of 64x64, one stage", 1, 64, {2, 1}, 1, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES},
    {"64x128, split", 1, 128, {1, 1}, 2, 2, VIA_SHARED, RASTER_ROW, 0, GRID_TILES},
    {"2 of 64x40, split", 1, 40, {2, 1}, 3, 3, VIA_DIRECT, RASTER_ROW, 0, GRID_TILES},
    {"64x64, pairs below each other", 1, 64, {1, 1}, 3, 1, VIA_SHARED, RASTER_GROUPED, 2,
     GRID_TILES},
    {"2 of 64x64, pairs side by side", 1, 64, {2, 1}, 2, 1, VIA_SHARED, RASTER_ROW, 2, GRID_TILES},
    {"64x96, fours", 1, 96, {1, 1}, 4, 1, VIA_DIRECT, RASTER_COLUMN, 4, GRID_TILES},
    {"128x128, fours, one stage", 2, 128, {1, 1}, 1, 1, VIA_SHARED, RASTER_COLUMN, 4, GRID_TILES},
    {"64x128, persistent", 1, 128, {1, 1}, 3, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT},
    {"2 of 64x256, persistent", 1, 256, {2, 1}, 4, 1, VIA_BOXES, RASTER_GROUPED, 0,
     GRID_PERSISTENT},
    {"2 of 128x96, persistent", 2, 96, {2, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT},
    {"2 of 64x64, persistent, pieces", 1, 64, {2, 1}, 2, 1, VIA_SHARED, RASTER_COLUMN, 0,
     GRID_PERSISTENT},
    {"64x40, persistent, one stage", 1, 40, {1, 1}, 1, 1, VIA_DIRECT, RASTER_ROW, 0,
     GRID_PERSISTENT},
    {"64x64, persistent pairs", 1, 64, {1, 1}, 3, 1, VIA_BOXES, RASTER_GROUPED, 2,
     GRID_PERSISTENT},
    {"2 of 64x32, persistent fours", 1, 32, {2, 1}, 2, 1, VIA_BOXES, RASTER_COLUMN, 4,
     GRID_PERSISTENT},
    {"64x128, pingpong", 1, 128, {1, 1}, 3, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PINGPONG},
    {"64x80, pingpong, one stage", 1, 80, {1, 1}, 1, 1, VIA_DIRECT, RASTER_COLUMN, 0,
     GRID_PINGPONG},
    {"128x64, pingpong pairs", 2, 64, {1, 1}, 4, 1, VIA_BOXES, RASTER_ROW, 2, GRID_PINGPONG},
    {"64x96, pingpong fours, pieces", 1, 96, {1, 1}, 2, 1, VIA_SHARED, RASTER_COLUMN, 4,
     GRID_PINGPONG},
};
enum { FAMILIES = sizeof family / sizeof *family };

static const struct {
    const char *unit, *type, *note, *out;
    bool turns;               /* operands may lie along M and N */
} unit[] = {
    {"wgmma.f16.f32", "f16", "", "f32", true},
    {"wgmma.bf16.f32", "bf16", "", "bf16", true},
    {"wgmma.f16.f16", "f16", "@accum(f16)", "f16", true},
    {"wgmma.tf32.f32", "f32", "@tf32", "f32", false},
    {"wgmma.i8.i32", "i8", "", "i32", false},
    {"wgmma.u8.i32", "u8", "", "i32", false},
    {"wgmma.f8e4m3.f32", "f8e4m3", "", "f32", false},
    {"wgmma.f8e5m2.f32", "f8e5m2", "", "f16", false},
};
enum { UNITS = sizeof unit / sizeof *unit };

/* Aligned, ragged in every axis, and less than a tile.  */
static const struct {
    int m, n, k;
} shape[] = {{512, 384, 256}, {208, 144, 336}, {48, 32, 48}};
enum { SHAPES = sizeof shape / sizeof *shape };

static const char *const layout[] = {"A[m,k] * B[n,k]", "A[m,k] * B[k,n]", "A[k,m] * B[n,k]",
                                     "A[k,m] * B[k,n]"};
enum { LAYOUTS = 4 };

static const char *op_text(Arena *a, int u, int s, int l) {
    const char *ta = l < 2 ? "M,K" : "K,M", *tb = l % 2 ? "K,N" : "N,K";
    return arena_printf(a, "param M = %d, N = %d, K = %d; op f(A: %s[%s], B: %s[%s]) -> C: %s[M,N]"
                           " { C[m,n] += %s %s; }",
                        shape[s].m, shape[s].n, shape[s].k, unit[u].type, ta, unit[u].type, tb,
                        unit[u].out, layout[l], unit[u].note);
}

/* What the grid above does not have.  */
static const char *const special[][2] = {
    {"bias, activation", "op f(A: f16[136,96], B: f16[80,96], b: f16[80]) -> C: f16[136,80] {"
     " t[m,n] += A[m,k] * B[n,k]; C[m,n] = max(t[m,n] + b[n], 0); }"},
    {"residual, two outputs", "op f(A: f16[72,64], B: f16[64,72], R: f32[72,72], s: f32[72]) ->"
     " (C: f32[72,72], D: f16[72,72]) { t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] + R[m,n];"
     " D[m,n] = C[m,n] * s[m]; }"},
    {"turned output", "op f(A: f16[48,64], B: f16[64,64]) -> C: f16[64,48] {"
     " C[n,m] += A[m,k] * B[n,k]; }"},
    {"batch", "op f(A: f16[3,72,96], B: f16[3,24,96]) -> C: f32[3,72,24] {"
     " C[b,m,n] += A[b,m,k] * B[b,n,k]; }"},
    {"grouped batch", "op f(A: f16[2,3,72,64], B: f16[2,64,40]) -> C: f32[2,3,72,40] {"
     " C[b,h,m,n] += A[b,h,m,k] * B[b,k,n]; }"},
    {"two batches", "op f(A: f16[2,72,3,64], B: f16[2,3,64,40]) -> C: f32[2,3,72,40] {"
     " C[b,h,m,n] += A[b,m,h,k] * B[b,h,k,n]; }"},
    {"conv nhwc 1x1", "op f(X: f16[2,9,9,32], W: f16[48,32]) -> Y: f16[2,9,9,48] {"
     " Y[n,p,q,f] += X[n,p,q,c] * W[f,c]; }"},
    {"strided, part", "op f(A: f16[40,64] strides(72,1), B: f16[48,80]) -> C: f16[40,48]"
     " strides(56,1) { C[m,n] += A[m,k] * B[n,k+8]; }"},
    {"own product", "op f(A: f16[72,64]) -> C: f32[72,72] { C[m,n] += A[m,k] * A[n,k]; }"},
};
enum { SPECIALS = sizeof special / sizeof *special };

/* ---- plans ---- */

static int16_t named_unit(const Device *dev, const char *name) {
    for (int i = 0; i < dev->n_unit; i++) {
        if (strcmp(dev->unit[i].name, name) == 0) return (int16_t)i;
    }
    return -1;
}

static int16_t boxes(const Device *dev) {
    for (int i = 0; i < dev->n_mover; i++) {
        if (strcmp(dev->mover[i].name, "tma.tile") == 0) return (int16_t)i;
    }
    return -1;
}

static void choose_load(const KernelCase *c, RProg *r, int side) {
    const ROperand *op = &c->plan.problem[0].op[side];
    int own = side ? AX_N : AX_M, inner = op->vec_k * op->bytes >= 16 ? AX_K : own;
    r->load[side] = (RLoad){.kind = LOAD_TILE, .mover = boxes(c->dev),
                            .vec = (uint8_t)(16 / op->bytes), .along = (uint8_t)inner,
                            .layout = {.inner = (uint8_t)inner, .bits = 3}};
}

/* Columns that this family has, at most `most`, if the unit does; boxes of what lies along N are
 * 128 bytes wide.  */
static int columns(const KernelCase *c, const RProg *r, const Family *f, int most) {
    const SizeRange *n = &c->dev->unit[r->unit].n;
    int each = r->load[1].along == AX_K ? n->step : 128 / c->plan.problem[0].op[1].bytes;
    int wanted = f->n < most ? f->n : most;
    return wanted < each ? each : wanted / each * each;
}

static const char *planned(KernelCase *c, int16_t which, const Family *f, int most) {
    const Problem *p = &c->plan.problem[0];
    const ComputeUnit *u = &c->dev->unit[which];
    RProg *r = &c->plan.prog[0];
    *r = (RProg){.skeleton = SK_CONTRACT, .unit = which, .via = f->via, .split = f->split,
                 .stages = (uint8_t)f->stages, .raster = f->raster, .grid = f->grid,
                 .group = f->raster == RASTER_GROUPED ? 2 : 0};
    for (int i = 0; i < RT_AXES; i++)
        r->thread.extent[i] = r->warp.extent[i] = r->block.extent[i] = 1;
    for (int side = 0; side < 2; side++) choose_load(c, r, side);
    int n = columns(c, r, f, most), k = 128 / p->op[0].bytes;
    const int thread[] = {u->m.from, n, u->k.from}, warp[] = {f->tiles * u->m.from, n, k};
    for (int i = 0; i < 3; i++) {
        r->thread.extent[AX_M + i] = thread[i];
        r->warp.extent[AX_M + i] = warp[i];
        r->block.extent[AX_M + i] = warp[i] * (i < 2 ? f->warps[i] : 1);
    }
    r->unroll = (int16_t)k;
    const Fragment results = rprog_results(c->dev, r);
    r->vec_m = (uint8_t)fragment_run(&results, FRAG_ROW);
    r->vec_n = (uint8_t)fragment_run(&results, FRAG_COL);
    r->cluster = (uint8_t)f->cluster;
    if (r->cluster && !rprog_cluster_fits(p, r)) r->cluster = 0;
    if (r->via == VIA_BOXES && rprog_box_row(p, r) == 0) r->via = VIA_DIRECT;
    int64_t steps = rprog_tiles(p, r, AX_K);
    if (r->split > steps) r->split = (int32_t)steps;
    int least = r->via == VIA_BOXES ? r->vec_n : 1;
    for (int vec = least > 1 ? least : 8; vec >= least; vec /= 2) {
        r->store_vec = (uint8_t)vec;
        rprog_derive(p, c->dev, r);
        if (!rprog_check(p, c->dev, r)) break;
    }
    return rprog_check(p, c->dev, r);
}

/* Sums of a wide unit that are added elsewhere need the registers of both.  */
static const char *plan(KernelCase *c, int16_t which, const Family *f) {
    const char *why = planned(c, which, f, 256);
    for (int most = 128; why && strstr(why, "registers") && most >= 32; most /= 2)
        why = planned(c, which, f, most);
    return why;
}

/* ---- runs ---- */

typedef struct {
    Arena *a;
    Nvrtc *nvrtc;
    Device *dev;
    const char *only;
    double sms;
    int kernels, failed;
} Run;

static const char *compiled(Run *run, KernelCase *c) {
    const char *wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, run->nvrtc, true);
    if (wrong) return wrong;
    for (int i = 0; i < c->code.n_kernel; i++) {
        if (c->code.kernel[i].spill_loads) return "it spills";
    }
    return NULL;
}

static void one(Run *run, const char *which, const Family *f, const char *name,
                const char *text) {
    KernelCase c = {0};
    if (run->only && !strstr(name, run->only)) return;
    /* Few SMs, so that blocks which stay have several tiles.  */
    run->dev->limits.sm_count.value = f->grid == GRID_TILES ? run->sms : 4;
    uint64_t seed = (uint64_t)effort_seed() + (unsigned)run->kernels++;
    const char *wrong = kernel_open(&c, run->a, run->dev, text, NULL);
    if (!wrong) wrong = plan(&c, named_unit(run->dev, which), f);
    if (!wrong) wrong = compiled(run, &c);
    if (!wrong) wrong = kernel_run(&c, TE_FILL_INTEGERS, seed, true);
    if (!wrong) return;
    run->failed++;
    print_error("%s\n", kernel_report(&c, name, wrong));
    if (run->only && c.program.source) fputs(c.program.source, stderr);
}

static void one_matrix(Run *run, int u, int s, int l, int f) {
    ArenaMark mark = arena_mark(run->a);
    const char *name = arena_printf(run->a, "%s, %dx%dx%d, %s, %s", unit[u].unit, shape[s].m,
                                    shape[s].n, shape[s].k, layout[l], family[f].name);
    one(run, unit[u].unit, &family[f], name, op_text(run->a, u, s, l));
    arena_reset(run->a, mark);
}

static void test_kernels(void **state) {
    (void)state;
    enum { DRAWN = 61 };
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Run run = {.a = a, .only = getenv("RING_CASE"), .dev = fixture_device(a, "h100")};
    bool all = effort_long() || run.only;
    run.sms = run.dev->limits.sm_count.value;
    int at = 0;
    assert_int_equal(nvrtc_open(a, &d, NULL, run.dev->arch, &run.nvrtc), ST_OK);
    for (int u = 0; u < UNITS; u++)
        for (int s = 0; s < SHAPES; s++)
            for (int l = 0; l < (unit[u].turns ? LAYOUTS : 1); l++)
                for (int f = 0; f < FAMILIES; f++)
                    if (all || effort_drawn(at++, DRAWN)) one_matrix(&run, u, s, l, f);
    for (int i = 0; i < SPECIALS; i++) {
        for (int f = 0; f < FAMILIES; f++) {
            ArenaMark mark = arena_mark(a);
            const char *name = arena_printf(a, "%s, %s", special[i][0], family[f].name);
            if (all || effort_drawn(at++, DRAWN))
                one(&run, unit[0].unit, &family[f], name, special[i][1]);
            arena_reset(a, mark);
        }
    }
    print_message("%d kernels\n", run.kernels);
    assert_int_equal(run.failed, 0);
    arena_destroy(a);
}

/* ---- mutants ---- */

/* Kernels that are changed: of one tile to a block, of blocks that stay, of such in pingpong.  */
enum { ALONE, STAYS, TURNS };
static const Family changed[] = {
    {"mutant", 1, 128, {2, 1}, 2, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES},
    {"mutant", 1, 128, {2, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT},
    {"mutant", 1, 128, {1, 1}, 2, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PINGPONG},
};

/* A piece of the text of a kernel, and what takes its place.  */
static const struct {
    int of;
    const char *piece, *other;
} mutant[] = {
    {ALONE, "rl_barrier_wait(shared + BARRIERS + (0", "rl_barrier_over(shared + BARRIERS + (0"},
    {ALONE, "rl_barrier_wait(shared + BARRIERS + (1", "rl_barrier_over(shared + BARRIERS + (1"},
    {ALONE, "taken / STAGES & 1", "(taken / STAGES + 1) & 1"},
    {ALONE, "(done / STAGES + 1) & 1", "done / STAGES & 1"},
    {ALONE, "rl_wgmma_begin();", ""},
    {ALONE, "rl_wgmma_wait<1>();", ""},
    {ALONE, "        rl_wgmma_wait<0>();", ""},
    {ALONE, "taken > 0", "taken >= 0"},
    {ALONE, "rl_fence_proxy();", ""},
    {ALONE, "rl_bar_sync<1, 256>();", ""},
    {ALONE, "rl_wgmma_tile<16, 1024>(shared", "rl_wgmma_tile<16, 512>(shared"},
    {ALONE, ", 32768);", ", 32752);"},
    {ALONE, ", 32768);", ", 32784);"},
    {ALONE, "k_next += BK;", ""},
    {ALONE, "warp % 4u) * 16", "warp % 4u) * 8"},
    {STAYS, "taken > from", "taken >= from"},
    {STAYS, "            if (lane == 0) rl_barrier_arrive", "if (lane > 32) rl_barrier_arrive"},
    {STAYS, "rl_bulk_wait<1>();", "rl_bulk_wait<2>();"},
    {STAYS, "rl_bulk_wait<0>();", ""},
    {STAYS, "                        rl_fence_proxy();", ""},
    {STAYS, "if (lane == 0) rl_bulk_commit();", ""},
    {STAYS, "(lane_m) * 16 ^", "(lane_m & 3) * 16 ^"},
    {STAYS, "box, n0 + col + c * 64", "box, n0 + col + c * 32"},
    {STAYS, "number += GRID, from += steps", "number += GRID, from += 0"},
    {TURNS, "if (from > 0) rl_bar_sync_at<256>(team + 2);", ""},
    {TURNS, "if (number + GRID < 8u) rl_bar_arrive_at<256>(3 - team);", ""},
    {TURNS, "team * steps", "0"},
    {TURNS, "from += 2 * steps", "from += steps"},
};
enum { MUTANTS = sizeof mutant / sizeof *mutant };

/* The text with the piece replaced, once; NULL: it is not there.  */
static char *mutated(Arena *a, const char *text, int i) {
    const char *at = strstr(text, mutant[i].piece);
    if (!at) return NULL;
    return arena_printf(a, "%.*s%s%s", (int)(at - text), text, mutant[i].other,
                        at + strlen(mutant[i].piece));
}

/* Does any of some orders of events tell the mutant from what is right?  Those without a change:
 * i < 0, of kernel -1 - i.  */
static bool is_caught(Run *run, int i) {
    static const char *const text[] = {
        "op f(A: bf16[128,512], B: bf16[128,512]) -> C: bf16[128,128] {"
        " C[m,n] += A[m,k] * B[n,k]; }",
        "op f(A: bf16[512,192], B: bf16[256,192]) -> C: bf16[512,256] {"
        " C[m,n] += A[m,k] * B[n,k]; }",
        "op f(A: bf16[256,192], B: bf16[256,192]) -> C: bf16[256,256] {"
        " C[m,n] += A[m,k] * B[n,k]; }",
    };
    int of = i < 0 ? -1 - i : mutant[i].of;
    enum { SEEDS = 12 };
    KernelCase c = {0};
    if (of != ALONE) run->dev->limits.sm_count.value = 2;
    assert_null(kernel_open(&c, run->a, run->dev, text[of], NULL));
    assert_null(plan(&c, named_unit(run->dev, "wgmma.bf16.f32"), &changed[of]));
    assert_null(kernel_emit(&c));
    if (i >= 0) {
        c.program.source = mutated(run->a, c.program.source, i);
        if (!c.program.source) fail_msg("no '%s' to change", mutant[i].piece);
        c.program.source_len = strlen(c.program.source);
    }
    if (kernel_compile(&c, run->nvrtc, false)) return true;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        if (kernel_run(&c, TE_FILL_INTEGERS, seed, true)) return true;
    return false;
}

static void test_mutants(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Run run = {.a = a, .dev = fixture_device(a, "h100")};
    assert_int_equal(nvrtc_open(a, &d, NULL, run.dev->arch, &run.nvrtc), ST_OK);
    for (int of = ALONE; of <= TURNS; of++)
        if (effort_drawn(of, TURNS + 1)) assert_false(is_caught(&run, -1 - of));
    for (int i = 0; i < MUTANTS; i++) {
        ArenaMark mark = arena_mark(a);
        if (effort_drawn(i, 9) && !is_caught(&run, i))
            fail_msg("nobody notices '%s' as '%s'", mutant[i].piece, mutant[i].other);
        arena_reset(a, mark);
    }
    arena_destroy(a);
}

/* ---- orders of warps ---- */

/* Warps that are slow where they wait for a stage, or have one: those that copy, that compute.  */
static const char *const slow[][2] = {
    {"", ""},
    {"rl_barrier_wait(shared + BARRIERS + (1", "(1"},
    {"rl_wgmma_begin();", ";"},
};

static char *slowed(Arena *a, const char *text, int which) {
    const char *at = strstr(text, slow[which][0]);
    assert_non_null(at);
    return which == 0 ? (char *)text
                      : arena_printf(a, "%.*sfor (int s = rl_hidden(99); s > 0; s = rl_hidden(s - "
                                     "1)) continue;\n%s", (int)(at - text), text, at);
}

/* Many kernels under many orders, none of which may hang or go wrong.  */
static void test_orders(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Run run = {.a = a, .dev = fixture_device(a, "h100")};
    int kernels = effort_long() ? 200 : 2, seeds = effort_long() ? 50 : 4;
    assert_int_equal(nvrtc_open(a, &d, NULL, run.dev->arch, &run.nvrtc), ST_OK);
    for (int i = 0; i < kernels; i++) {
        int n = effort_long() ? i : i * 97 + (int)(effort_seed() % 97u);
        int f = n % FAMILIES, u = n / 3 % UNITS;
        ArenaMark mark = arena_mark(a);
        KernelCase c = {0};
        run.dev->limits.sm_count.value = 2;
        assert_null(kernel_open(&c, a, run.dev, op_text(a, u, 1, 0), NULL));
        assert_null(plan(&c, named_unit(run.dev, unit[u].unit), &family[f]));
        assert_null(kernel_emit(&c));
        c.program.source = slowed(a, c.program.source, n % 3);
        c.program.source_len = strlen(c.program.source);
        assert_null(kernel_compile(&c, run.nvrtc, true));
        for (int seed = 1; seed <= seeds; seed++) {
            const char *wrong = kernel_run(&c, TE_FILL_INTEGERS, (uint64_t)seed, true);
            if (wrong) fail_msg("%s, %s, slow %d, seed %d: %s", family[f].name, unit[u].unit, n % 3,
                                seed, wrong);
        }
        arena_reset(a, mark);
    }
    arena_destroy(a);
}

/* What hangs is reported with the barrier, its phase, and who waits.  */
static void test_watchdog(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    KernelCase c = {0};
    Device *dev = fixture_device(a, "h100");
    Nvrtc *nvrtc;
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    assert_null(kernel_open(&c, a, dev, op_text(a, 1, 1, 0), NULL));
    assert_null(plan(&c, named_unit(dev, unit[1].unit), &changed[ALONE]));
    assert_null(kernel_emit(&c));
    const char *text = c.program.source, *at = strstr(text, "rl_barrier_arrive(shared");
    assert_non_null(at);
    c.program.source = arena_printf(a, "%.*sif (taken < 1) %s", (int)(at - text), text, at);
    c.program.source_len = strlen(c.program.source);
    assert_null(kernel_compile(&c, nvrtc, false));
    const char *wrong = kernel_run(&c, TE_FILL_INTEGERS, 1, true);
    assert_non_null(wrong);
    if (!strstr(wrong, "mbarrier at 0x") || !strstr(wrong, "8 of 8 arrivals") ||
        !strstr(wrong, "awaited by warps 8"))
        fail_msg("%s", wrong);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_watchdog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
