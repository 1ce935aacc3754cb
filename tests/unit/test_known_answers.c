/* links: microperf */
/* Products on h200 for which the best published kernels are known: the plan that is chosen is of
 * their class, or one of the class is predicted to take at most 3 % more.  A class is what the
 * kernels have in common.  */
#include "microperf/microperf.h"
#include "plan_fixture.h"
#include "rprogram/derived.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

/* Tiles of a block from..to, warpgroups that compute in it; do blocks stay for several tiles?  */
typedef struct {
    int m[2], n[2], groups[2];
    enum { ALONE, STAYS, EITHER } grid;
    int cluster;              /* at most */
} Class;

/* FAST.CU kernel 12 and ThunderKittens (128x256, one after the other), QuACK's tuner set, CUTLASS
 * pingpong: large squares.  Halves of them for a short sum, in turn.  */
static const Class large = {{128, 256}, {128, 256}, {2, 2}, STAYS, 4};
/* DeepGEMM: 128 rows or fewer with a few hundred columns, whose partial sums join f32 ones; two
 * warpgroups that compute, clusters of two.  */
static const Class narrow = {{64, 128}, {112, 208}, {2, 2}, STAYS, 2};
/* Small ones, DeepGEMM's rule: as many tiles of 64 or 128 rows as SMs, or twice that.  */
static const Class wave = {{64, 128}, {64, 144}, {1, 2}, EITHER, 4};
/* TileOPs and DeepGEMM for few rows: 64 rows, as many columns as fill the SMs once or more; QuACK
 * swaps the operands, which leaves the rows there are.  */
static const Class few = {{16, 64}, {16, 128}, {1, 2}, ALONE, 1};
static const Class some = {{64, 128}, {64, 256}, {1, 2}, ALONE, 2};

static const struct {
    const char *type;
    int m, n, k;
    const Class *class;
} product[] = {
    {"bf16", 8192, 8192, 8192, &large},     {"bf16", 4096, 4096, 4096, &large},
    {"bf16", 8192, 8192, 512, &large},      {"bf16", 1024, 1024, 1024, &wave},
    {"bf16", 16, 8192, 8192, &few},         {"bf16", 128, 8192, 8192, &some},
    {"f8e4m3", 4096, 7168, 16384, &narrow},
};
enum { PRODUCTS = sizeof product / sizeof *product };

static bool within(const int range[2], int x) { return x >= range[0] && x <= range[1]; }

static bool is_of(const Class *c, const Device *dev, const RProg *r) {
    int groups = dev->unit[r->unit].b_smem ? rprog_computing(dev, r) / 128 : 0;
    return within(c->m, r->block.extent[AX_M]) && within(c->n, r->block.extent[AX_N]) &&
           within(c->groups, groups) &&
           (c->grid == EITHER || rprog_persistent(r) == (c->grid == STAYS)) &&
           rprog_cluster(r) <= c->cluster;
}

static double best(Arena *a, const Problem *p, const Device *dev, const RProgSet *set, Buf *text) {
    Ranked *found;
    if (set->n == 0) return 1e30;
    assert_int_equal(mp_rank(a, p, dev, set, 1, &found), 1);
    mp_summary(p, dev, &found[0].prog, text);
    return found[0].estimate.us;
}

static void ask(Arena *a, const Device *dev, int i) {
    Diag d = diag_new(a);
    const char *text = arena_printf(a, "op f(A: %s[%d,%d], B: %s[%d,%d]) -> C: bf16[%d,%d] {"
                                    " C[m,n] += A[m,k] * B[n,k]; }", product[i].type, product[i].m,
                                    product[i].k, product[i].type, product[i].n, product[i].k,
                                    product[i].m, product[i].n);
    Te *te, *normal;
    KernelGroup *group;
    Problem p;
    RProgSet all;
    Buf chosen = buf_new(a), known = buf_new(a);
    assert_int_equal(te_parse(a, &d, diag_text("f", text), NULL, NULL, &te), ST_OK);
    assert_int_equal(te_normalize(a, &d, te, &normal), ST_OK);
    assert_int_equal(access_groups(a, normal, &group), 1);
    assert_int_equal(rtile_problem(a, &d, normal, group, 16, &p), ST_OK);
    assert_int_equal(rprog_candidates(a, &d, &p, dev, NULL, &all), ST_OK);
    double us = best(a, &p, dev, &all, &chosen);
    RProgSet of = all;
    of.n = 0;
    for (int x = 0; x < all.n; x++)
        if (is_of(product[i].class, dev, &all.prog[x])) of.prog[of.n++] = all.prog[x];
    double own = best(a, &p, dev, &of, &known);
    print_message("%s %dx%dx%d: %.1f us, known class %.1f us\n", product[i].type, product[i].m,
                  product[i].n, product[i].k, us, own);
    if (own > us * 1.03)
        fail_msg("chosen: %s, %.1f us; known: %s, %.1f us", buf_str(&chosen), us, buf_str(&known),
                 own);
}

static void test_known(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h200");
    for (int i = 0; i < PRODUCTS; i++) {
        ArenaMark mark = arena_mark(a);
        ask(a, dev, i);
        arena_reset(a, mark);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
