/* links: sim */
/* Planted bugs in what kernels for Tensor Memory do asynchronously (async_mutants.h): of every unit
 * and form of grid, with scales of blocks and without, of one block and of pairs.  A mutant must be
 * reported, or give a wrong result, under one of some orders of events; one that is not must be
 * among those that are known to be as good, each with its reason.
 *
 *   SEED=7 build/tests/test_async_mutants            draws others
 *   LONG=1 build/tests/test_async_mutants            at least 500, of all kernels
 *   VICTIM=nvfp4 build/tests/test_async_mutants      of kernels whose name has it
 *   LIST=1                                           says which were as good  */
#include "async_mutants.h"
#include "effort.h"
#include "plan_fixture.h"
#include "ring_fixture.h"
#include "workers.h"

#include "base/hash.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { FEW_VICTIMS = 2, EACH = 14, EACH_LONG = 56, ORDERS = 12, COLUMNS = 256 };

static const char plain[] = "C[m,n] += A[m,k] * B[n,k]; }";
static const char mx[] = "C[m,n] += (A[m,k] * SA[m,k/32]) * (B[n,k] * SB[n,k/32]); }";
static const char nv[] = "C[m,n] += (A[m,k] * SA[m,k/16]) * (B[n,k] * SB[n,k/16]); }";
static const char nv_tiles[] = "C[m,n] += (A[m,k] * SA[m/128,k/64,m%32,m/32%4,k/16%4])"
                               " * (B[n,k] * SB[n/128,k/64,n%32,n/32%4,k/16%4]); }";

/* Kernels with more steps than stages; of blocks that stay more tiles than accumulators.  */
static const struct {
    const char *name, *unit, *head, *body;
    RingFamily family;
    int sms;
} victim[] = {
    {"bf16", "tcgen05.bf16.f32", "op f(A: bf16[256,320], B: bf16[64,320]) -> C: bf16[256,64] {",
     plain, {"", 1, 64, {2, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false}, 0},
    {"bf16, stays", "tcgen05.bf16.f32",
     "op f(A: bf16[512,192], B: bf16[192,192]) -> C: bf16[512,192] {", plain,
     {"", 1, 64, {1, 1}, 3, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT, false, false}, 2},
    {"bf16, shares copies", "tcgen05.bf16.f32",
     "op f(A: bf16[512,192], B: bf16[192,192]) -> C: bf16[512,192] {", plain,
     {"", 1, 64, {1, 1}, 3, 1, VIA_BOXES, RASTER_ROW, 2, GRID_PERSISTENT, false, false}, 2},
    {"bf16, pairs, stays", "tcgen05.bf16.f32.pair",
     "op f(A: bf16[512,192], B: bf16[256,192]) -> C: bf16[512,256] {", plain,
     {"", 1, 64, {1, 1}, 3, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT, false, false}, 2},
    {"i8", "tcgen05.i8.i32", "op f(A: i8[256,640], B: i8[640,128]) -> C: i32[256,128] {",
     "C[m,n] += A[m,k] * B[k,n]; }",
     {"", 1, 128, {1, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false}, 0},
    {"mxfp8", "tcgen05.mxf8f6f4.f8e4m3.f32",
     "op f(A: f8e4m3[256,640], SA: f8ue8m0[256,20], B: f8e4m3[128,640], SB: f8ue8m0[128,20]) ->"
     " C: f32[256,128] {", mx,
     {"", 1, 64, {2, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false}, 0},
    {"mxfp8, pairs", "tcgen05.mxf8f6f4.f8e4m3.f32.pair",
     "op f(A: f8e4m3[256,640], SA: f8ue8m0[256,20], B: f8e4m3[128,640], SB: f8ue8m0[128,20]) ->"
     " C: f32[256,128] {", mx,
     {"", 1, 64, {1, 2}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false}, 0},
    {"mxfp4", "tcgen05.mxf4.f4e2m1.f32",
     "op f(A: f4e2m1[256,1280], SA: f8ue8m0[256,40], B: f4e2m1[128,1280], SB: f8ue8m0[128,40]) ->"
     " C: f32[256,128] {", mx,
     {"", 1, 128, {1, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false}, 0},
    {"mxfp4, pairs, stays", "tcgen05.mxf4.f4e2m1.f32.pair",
     "op f(A: f4e2m1[512,768], SA: f8ue8m0[512,24], B: f4e2m1[128,768], SB: f8ue8m0[128,24]) ->"
     " C: bf16[512,128] {", mx,
     {"", 1, 64, {1, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_PERSISTENT, false, false}, 2},
    {"nvfp4", "tcgen05.mxf4nvf4.f4e2m1.f32",
     "op f(A: f4e2m1[256,1280], SA: f8ue4m3[256,80], B: f4e2m1[128,1280], SB: f8ue4m3[128,80]) ->"
     " C: f32[256,128] {", nv,
     {"", 1, 128, {1, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false}, 0},
    {"nvfp4 in tiles, stays", "tcgen05.mxf4nvf4.f4e2m1.f32",
     "op f(A: f4e2m1[256,768], SA: f8ue4m3[2,12,32,4,4], B: f4e2m1[256,768],"
     " SB: f8ue4m3[2,12,32,4,4]) -> C: bf16[256,256] {", nv_tiles,
     {"", 1, 64, {1, 1}, 3, 1, VIA_BOXES, RASTER_ROW, 0, GRID_PERSISTENT, false, false}, 2},
    {"nvfp4 in tiles, pairs", "tcgen05.mxf4nvf4.f4e2m1.f32.pair",
     "op f(A: f4e2m1[256,1280], SA: f8ue4m3[2,20,32,4,4], B: f4e2m1[128,1280],"
     " SB: f8ue4m3[1,20,32,4,4]) -> C: f32[256,128] {", nv_tiles,
     {"", 1, 128, {1, 1}, 3, 1, VIA_SHARED, RASTER_ROW, 0, GRID_TILES, false, false}, 0},
};
enum { VICTIMS = sizeof victim / sizeof *victim };

/* ---- mutants that are as good as the kernel ---- */

/* Of all such instructions of a text; directly behind the fence that tells of loads.  */
typedef enum { ANY, FIRST, LAST, BEHIND } Which;
#define LOADED "tcgen05.fence::before_thread_sync;"

/* Kernels with a block for each tile; without clusters.  */
typedef enum { ALL, TILES, LONE } Scope;

/* By what is flipped (operand 0: the instruction is lost), and in which kernels.  */
static const struct {
    const char *op;
    int operand, from, to;    /* bits */
    Which which;
    Scope scope;
    const char *why;
} as_good[] = {
    {"tcgen05.relinquish", 0, 0, 0, ANY, ALL,
     "a block that takes no more columns may keep the right to"},
    {"mov.b64 a", 1, 16, 29, ANY, ALL, "rows of at most 128 bytes have no leading offset"},
    {"mov.b64 b", 1, 16, 29, ANY, ALL, "rows of at most 128 bytes have no leading offset"},
    {"mov.b64 s", 1, 16, 29, ANY, ALL, "rows of 16 bytes have no leading offset"},
    {"mov.b64 s", 2, 17, 19, ANY, ALL, "without a swizzle its pattern begins nowhere"},
    {"", 1, 24, 24, ANY, LONE, "block 0 of the cluster is the block itself"},
    {"cp.async.bulk.tensor", 5, 24, 24, ANY, LONE, "block 0 of the cluster is the block itself"},
    {"tcgen05.commit", 1, 24, 25, ANY, ALL, "all blocks of a multicast have the same offset"},
    {"mbarrier.init", 1, 3, 3, ANY, ALL, "two threads take each other's slot of a ring of two"},
    {"tcgen05.fence::after", 0, 0, 0, FIRST, TILES,
     "nothing but the allocation, which is synchronous, comes before the first product"},
    {"bar.warp.sync", 0, 0, 0, BEHIND, ALL, "whole warps load, and wait for their loads"},
    {"bar.sync \t0", 0, 0, 0, LAST, TILES, "the warps that load have met behind their loads"},
    {"bar.sync 1,", 0, 0, 0, ANY, TILES,
     "these warps wait for all products, which read the stages, and at the end for each other"},
};
enum { AS_GOOD = sizeof as_good / sizeof *as_good };

static bool is_at(const char *ptx, const AsyncMutant *m, const char *op, Which which) {
    enum { NEAR = 120 };      /* characters, with the line that a statement is of */
    const char *at = ptx + m->at, *loaded = strstr(at - NEAR, LOADED);
    if (which == FIRST) return strstr(ptx, op) == at;
    if (which == LAST) return !strstr(at + 1, op);
    return which == ANY || (loaded && loaded < at);
}

static bool is_in(const RProg *r, Scope scope) {
    return scope == ALL || (scope == TILES ? r->grid == GRID_TILES : r->cluster <= 1);
}

static const char *why_as_good(const char *ptx, const AsyncMutant *m, const RProg *r) {
    for (int i = 0; i < AS_GOOD; i++) {
        const char *op = as_good[i].op;
        bool bits = m->operand == as_good[i].operand &&
                    (!m->operand || (as_good[i].from <= m->bit && m->bit <= as_good[i].to));
        if (bits && strncmp(m->was, op, strlen(op)) == 0 && is_in(r, as_good[i].scope) &&
            is_at(ptx, m, op, as_good[i].which))
            return as_good[i].why;
    }
    return NULL;
}

/* ---- kernels ---- */

typedef struct {
    Arena *arena;
    const char *name, *wrong;
    KernelCase c;
    AsyncMutant *all;
    int which, n;
} Patient;

static const char *emitted(Patient *p) {
    Device *dev = fixture_device(p->arena, "b200");
    if (victim[p->which].sms) dev->limits.sm_count.value = victim[p->which].sms;
    const char *text = arena_printf(p->arena, "%s%s", victim[p->which].head,
                                    victim[p->which].body);
    const char *wrong = kernel_open(&p->c, p->arena, dev, text, NULL);
    if (wrong) return wrong;
    p->c.resident = victim[p->which].sms;
    int16_t unit = ring_unit_of(dev, victim[p->which].unit);
    wrong = ring_plan(&p->c, unit, &victim[p->which].family, COLUMNS);
    if (!wrong && p->c.plan.prog[0].unit != unit) wrong = "its tiles make no pair";
    return wrong ? wrong : kernel_emit(&p->c);
}

static const char *runs(KernelCase *c, int orders) {
    const char *wrong = NULL;
    for (int seed = 1; seed <= orders && !wrong; seed++)
        wrong = kernel_run(c, TE_FILL_INTEGERS, (uint64_t)seed, true);
    return wrong;
}

static void prepare(void *user) {
    Patient *p = user;
    Nvrtc *nvrtc;
    p->wrong = emitted(p);
    if (!p->wrong && nvrtc_open(p->arena, &p->c.diag, NULL, p->c.dev->arch, &nvrtc))
        p->wrong = "no NVRTC";
    if (!p->wrong) p->wrong = kernel_compile(&p->c, nvrtc, false);
    if (!p->wrong) p->wrong = kernel_settle(&p->c, TE_FILL_INTEGERS, effort_seed());
    if (!p->wrong) p->wrong = runs(&p->c, ORDERS);
    p->c.module = NULL;       /* of every mutant its own */
    p->c.most = 4 * p->c.counted.instructions + 10000;
    if (!p->wrong) p->n = async_mutants(p->arena, p->c.code.ptx, &p->all);
    if (!p->wrong && !p->n) p->wrong = "no mutants";
}

static bool prepare_one(void *user, int64_t i, int worker) {
    (void)worker;
    Patient *p = (Patient *)user + i;
    workers_case("%s", p->name);
    return arena_try(p->arena, prepare, p);
}

/* Some, drawn; all where there is time, or those that are asked for.  */
static int admit(Rng *rng, Patient p[VICTIMS]) {
    const char *only = getenv("VICTIM");
    int n = 0;
    for (int v = 0; v < VICTIMS; v++) {
        if (only && !strstr(victim[v].name, only)) continue;
        int k = (int)rng_below(rng, (uint32_t)n + 1);
        p[n++] = p[k];
        p[k] = (Patient){.which = v, .name = victim[v].name};
    }
    if (!effort_long() && !only && n > FEW_VICTIMS) n = FEW_VICTIMS;
    for (int i = 0; i < n; i++) p[i].arena = arena_create(NULL);
    assert_true(workers_for(0, n, prepare_one, p));
    for (int i = 0; i < n; i++)
        if (p[i].wrong) fail_msg("%s: %s", p[i].name, p[i].wrong);
    assert_true(n > 0);
    return n;
}

/* ---- mutants ---- */

typedef struct {
    const Patient *patient;
    const AsyncMutant *m;
    const char *why;          /* why it is as good; NULL: it was noticed, or nobody knows */
    bool noticed;
} Mutant;

static bool judge(void *user, int64_t i, int worker) {
    (void)worker;
    Mutant *x = (Mutant *)user + i;
    Arena *a = arena_create(NULL);
    KernelCase c = x->patient->c;
    workers_case("%s: %s -> %s", x->patient->name, x->m->was, x->m->put);
    c.arena = a;
    c.diag = diag_new(a);
    c.code.ptx = async_mutant_text(a, x->patient->c.code.ptx, x->m);
    c.code.ptx_len = strlen(c.code.ptx);
    x->noticed = runs(&c, ORDERS) != NULL;
    if (!x->noticed)
        x->why = why_as_good(x->patient->c.code.ptx, x->m, &x->patient->c.plan.prog[0]);
    arena_destroy(a);
    return true;
}

/* `want` mutants of a kernel: of each kind in turn any one.  */
static int draw(const Patient *p, Rng *rng, int want, Mutant *out) {
    int of[ASYNC_KIND_COUNT] = {0}, n = 0;
    for (int i = 0; i < p->n; i++) of[p->all[i].kind]++;
    for (int kind = 0; n < want; kind = (kind + 1) % ASYNC_KIND_COUNT) {
        if (!of[kind]) continue;
        int at = (int)rng_below(rng, (uint32_t)of[kind]), i = 0;
        for (; (int)p->all[i].kind != kind || at-- > 0; i++) {}
        out[n++] = (Mutant){.patient = p, .m = &p->all[i]};
    }
    return n;
}

static int line_of(const Mutant *x) {
    int line = 1;
    for (size_t i = 0; i < x->m->at; i++) line += x->patient->c.code.ptx[i] == '\n';
    return line;
}

static void tell(const Mutant *x) {
    print_error("%s, line %d: %s -> %s: %s\n", x->patient->name, line_of(x), x->m->was,
                *x->m->put ? x->m->put : "nothing", x->why ? x->why : "nobody notices");
}

static int survivors(const Mutant *mutant, int n) {
    static const char *const kind_name[] = {
#define X(id, text) text,
        ASYNC_KINDS(X)
#undef X
    };
    int of[ASYNC_KIND_COUNT][3] = {{0}}, unknown = 0;
    for (int i = 0; i < n; i++) {
        const Mutant *x = &mutant[i];
        of[x->m->kind][x->noticed ? 0 : x->why ? 1 : 2]++;
        unknown += !x->noticed && !x->why;
        if (!x->noticed && (!x->why || getenv("LIST"))) tell(x);
    }
    for (int k = 0; k < ASYNC_KIND_COUNT; k++)
        print_message("# %s: %d noticed, %d as good, %d unknown\n", kind_name[k], of[k][0],
                      of[k][1], of[k][2]);
    return unknown;
}

static void mutants_are_noticed(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Rng rng = {effort_seed()};
    Patient patient[VICTIMS];
    int patients = admit(&rng, patient), each = effort_long() ? EACH_LONG : EACH, n = 0;
    Mutant *mutant = ARENA_ARRAY(a, Mutant, patients * each);
    for (int v = 0; v < patients; v++) n += draw(&patient[v], &rng, each, mutant + n);
    assert_true(workers_for(0, n, judge, mutant));
    print_message("# %d mutants of %d kernels, SEED=%llu\n", n, patients, effort_seed());
    assert_true(!effort_long() || getenv("VICTIM") || n >= 500);
    int unknown = survivors(mutant, n);
    for (int v = 0; v < patients; v++) arena_destroy(patient[v].arena);
    assert_int_equal(unknown, 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mutants_are_noticed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
