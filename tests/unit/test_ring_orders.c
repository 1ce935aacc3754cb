/* links: sim */
/* Rings of stages under many orders of warps, with slow producers and slow consumers: no kernel may
 * hang or go wrong.  Each block goes round its ring more than twice; the last tiles are ragged.
 * LONG=1 runs 380 kernels under 50 orders each, 200 of which have their results in Tensor Memory,
 * RING_CASE=N the one of this number.  */
#include "effort.h"
#include "plan_fixture.h"
#include "ring_fixture.h"
#include "text_pattern.h"
#include "workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 32, SPAN = 128 };        /* of an instruction at most; bytes of k in a step */

/* Who is slow: nobody; those that copy, where they wait for a stage; those that compute, where they
 * have one; one warp of these, which the others meet at every barrier, in every other round of the
 * ring.  (Pieces are as in text_pattern.h.)  */
/* What consumers do: products that a warpgroup begins, or that one thread has issued.  */
#define PRODUCTS "rl_wgmma_begin();"
#define ISSUED "rl_tcgen05_commit(~1 + ~2 + (~3 +"
#define ISSUED_SHARED "rl_tcgen05_commit_at(~1 + ~2 + (~3 +"
#define ISSUED_PAIRED "rl_tcgen05_commit_pair(~1 + ~2 + (~3 +"
static const struct {
    const char *who, *before, *when;
} slow[] = {
    {"nobody", NULL, NULL},
    {"producers", "rl_barrier_wait(~1 + ~2 + (~3 +", "true"},
    {"consumers", PRODUCTS, "true"},
    {"a warp", "rl_barrier_wait(~1 + ~2 + ~3 * 8, ~4)", "threadIdx.x / 32 % 4 == 1 && ~4 != 0"},
};
enum { SLOW = sizeof slow / sizeof *slow };

/* Units that take a scale of so many elements along k with them; elements of a byte.  */
static const struct {
    RingUnit unit;
    const char *scale;
    int block, packed;
} scaled[] = {
    {{"tcgen05.mxf8f6f4.f8e4m3.f32", "f8e4m3", "", "f32", false}, "f8ue8m0", 32, 1},
    {{"tcgen05.mxf4nvf4.f4e2m1.f32", "f4e2m1", "", "bf16", false}, "f8ue4m3", 16, 2},
    {{"tcgen05.mxf4.f4e2m1.f32.pair", "f4e2m1", "", "f32", false}, "f8ue8m0", 32, 2},
};
enum { SCALED = sizeof scaled / sizeof *scaled };

static int case_family(int i) { return i % RING_FAMILIES; }
static int case_number(int i) { return i / 3 % (RING_UNITS + SCALED); }
static int case_slow(int i) { return i % SLOW; }

static const RingUnit *case_unit(int i) {
    int n = case_number(i);
    return n < RING_UNITS ? &ring_unit[n] : &scaled[n - RING_UNITS].unit;
}

/* A product of so many steps of k, the last of which is not full.  */
static const char *product_text(Arena *a, int number, int m, int n, int steps) {
    const RingUnit *u = &ring_unit[number];
    int bytes = 1;
    for (int t = 0; t < TE_DTYPE_COUNT; t++)
        if (strcmp(te_dtype_name((TeDtype)t), u->type) == 0) bytes = te_dtype_bytes((TeDtype)t);
    int k = steps * SPAN / bytes - 16;
    return arena_printf(a, "op f(A: %s[%d,%d], B: %s[%d,%d]) -> C: %s[%d,%d] {"
                           " C[m,n] += A[m,k] * B[n,k] %s; }",
                        u->type, m, k, u->type, n, k, u->out, m, n, u->note);
}

static const char *scaled_text(Arena *a, int number, int m, int n, int steps) {
    const RingUnit *u = &scaled[number].unit;
    const char *scale = scaled[number].scale;
    int b = scaled[number].block, k = steps * SPAN * scaled[number].packed - 64;
    return arena_printf(a, "op f(A: %s[%d,%d], SA: %s[%d,%d], B: %s[%d,%d], SB: %s[%d,%d]) ->"
                           " C: %s[%d,%d] {"
                           " C[m,n] += (A[m,k] * SA[m,k/%d]) * (B[n,k] * SB[n,k/%d]); }",
                        u->type, m, k, scale, m, k / b, u->type, n, k, scale, n, k / b, u->out, m,
                        n, b, b);
}

/* Tiles that make a cluster whole, and several for each block that stays.  */
static const char *op_text(Arena *a, const Device *dev, const RingFamily *f, int number) {
    const RingUnit *u = case_unit(3 * number);
    int pair = dev->unit[ring_unit_of(dev, u->unit)].blocks;
    int together = pair > 1 ? pair : f->cluster > 1 ? f->cluster : 1;
    int others = f->grid == GRID_TILES ? 1 : f->grid == GRID_PINGPONG ? 7 : 5;
    int steps = f->grid == GRID_TILES ? f->split * (2 * f->stages + 1) : f->stages + 1;
    if (together > 1 && others > 1) others = others / 2 + 1;
    bool along_n = pair > 1 ? f->swapped : f->raster == RASTER_ROW;
    int each = dev->unit[ring_unit_of(dev, u->unit)].m.from;
    int rows = each > 64 ? each : f->tiles * each;
    int side[] = {rows, f->n < COLUMNS ? f->n : COLUMNS};    /* of a warpgroup */
    int m = side[f->swapped] * f->warps[0] * (along_n ? others : together);
    int n = side[!f->swapped] * f->warps[1] * (along_n ? together : others);
    *(f->swapped ? &n : &m) -= 24;
    return number < RING_UNITS ? product_text(a, number, m, n, steps)
                               : scaled_text(a, number - RING_UNITS, m, n, steps);
}

/* The text with a delay for those who are slow.  */
static const char *slowed(Arena *a, const char *text, int which) {
    const char *before = slow[which].before;
    if (!before) return text;
    if (!strcmp(before, PRODUCTS) && strstr(text, "rl_tcgen05_commit"))
        before = strstr(text, "rl_tcgen05_commit_pair") ? ISSUED_PAIRED
                 : strstr(text, "rl_tcgen05_commit_at") ? ISSUED_SHARED : ISSUED;
    const char *slower =
        arena_printf(a, "if (%s)\nfor (int s = 99; s > 0; s--) asm volatile(\"\" : \"+r\"(s));\n%s",
                     slow[which].when, before);
    return pattern_replaced(a, text, before, slower);
}

typedef struct {
    const Device *dev[2];     /* Hopper, Blackwell */
    Nvrtc *nvrtc;
    int kernels, seeds, first;            /* case i is number first + i * 97 */
} Orders;

static const char *run_case(const Orders *o, Arena *a, int i) {
    KernelCase c = {0};
    const RingFamily *f = &ring_family[case_family(i)];
    const RingUnit *u = case_unit(i);
    Device *dev = ARENA_ARRAY(a, Device, 1);
    *dev = *o->dev[ring_unit_of(o->dev[0], u->unit) < 0];
    dev->limits.sm_count.value = 2;
    if (!ring_has(dev, ring_unit_of(dev, u->unit), f)) return NULL;
    const char *wrong = kernel_open(&c, a, dev, op_text(a, dev, f, case_number(i)), NULL);
    if (!wrong) wrong = ring_plan(&c, ring_unit_of(dev, u->unit), f, COLUMNS);
    bool shares = f->cluster || dev->unit[ring_unit_of(dev, u->unit)].blocks > 1;
    if (!wrong && shares && !c.plan.prog[0].cluster) wrong = "its tiles make no cluster";
    if (!wrong) wrong = kernel_emit(&c);
    if (wrong) return wrong;
    c.program.source = slowed(a, c.program.source, case_slow(i));
    if (!c.program.source) return "nobody to slow down";
    c.program.source_len = strlen(c.program.source);
    wrong = kernel_compile(&c, o->nvrtc, false);
    if (!wrong) wrong = kernel_settle(&c, TE_FILL_INTEGERS, effort_seed());
    for (int seed = 1; seed <= o->seeds && !wrong; seed++) {
        wrong = kernel_run(&c, TE_FILL_INTEGERS, (uint64_t)seed, true);
        if (wrong) wrong = arena_printf(a, "seed %d: %s", seed, wrong);
    }
    return wrong;
}

static const char *check(void *user, Arena *a, int i) {
    const Orders *o = user;
    int n = o->first + i * 97;
    if (o->kernels > RING_FAMILIES) n = i;
    workers_case("kernel %d", n);
    const char *wrong = run_case(o, a, n);
    return wrong ? arena_printf(a, "%d: %s, %s, slow: %s: %s", n, ring_family[case_family(n)].name,
                                case_unit(n)->unit, slow[case_slow(n)].who, wrong)
                 : NULL;
}

static void test_orders(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    const char *only = getenv("RING_CASE");
    Orders o = {.dev = {fixture_device(a, "h100"), fixture_device(a, "b200")}, .kernels = 6,
                .seeds = 4};
    o.first = only ? atoi(only) : (int)(effort_seed() % 97u);
    if (effort_long()) o.kernels = 380;
    if (effort_long() || only) o.seeds = 50;
    if (only) o.kernels = 1;
    assert_int_equal(nvrtc_open(a, &d, NULL, o.dev[1]->arch, &o.nvrtc), ST_OK);
    assert_int_equal(workers_check(o.kernels, check, &o), 0);
    print_message("%d kernels under %d orders each\n", o.kernels, o.seeds);
    arena_destroy(a);
}

/* What hangs is reported with the barrier, its phase, and who waits.  */
static void test_watchdog(void **state) {
    (void)state;
    static const RingFamily alone = {"", 1, 128, {2, 1}, 2, 1, VIA_SHARED, RASTER_ROW, 0,
                                     GRID_TILES, false, false};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    KernelCase c = {0};
    Device *dev = fixture_device(a, "h100");
    Nvrtc *nvrtc;
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    assert_null(kernel_open(&c, a, dev, op_text(a, dev, &alone, 1), NULL));
    assert_null(ring_plan(&c, ring_unit_of(dev, ring_unit[1].unit), &alone, COLUMNS));
    assert_null(kernel_emit(&c));
#define ARRIVES " 0) {\n                rl_barrier_arrive("
    c.program.source = pattern_replaced(a, c.program.source, "~1 >" ARRIVES, "~1 <" ARRIVES);
    assert_non_null(c.program.source);
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
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_watchdog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
