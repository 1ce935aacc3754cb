/* Fragments of matrix units: every element of a tile is held, and once, where the PTX ISA has it
 * ("Matrix Fragments for mma.m16n8k16" and the sections of the other shapes, whose formulas stand
 * here); and which results are operands where they are.  LIST=1 prints cases for
 * tests/layouts.py.  */
#include "arena_fixture.h"
#include "plan_fixture.h"
#include "rtile/fragment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 512 };

/* Row and column of a0, a1, ... (b0, ...; c0, ...) as the ISA writes them.  */
static void of_isa(const ComputeUnit *u, FragRole role, int lane, int i, int at[FRAG_DIMS]) {
    int group = lane >> 2, in_group = lane & 3, bytes = te_dtype_bytes(u->a);
    int each = bytes >= 4 ? 1 : 4 / bytes;             /* neighbouring k in a register */
    int part = i / each;                               /* the register */
    if (role == FRAG_RESULT) {
        at[FRAG_ROW] = i < 2 ? group : group + 8;
        at[FRAG_COL] = in_group * 2 + (i & 1);
    } else if (role == FRAG_A && u->m.from == 16) {
        at[FRAG_ROW] = part % 2 ? group + 8 : group;
        at[FRAG_COL] = in_group * each + i % each + part / 2 * 4 * each;
    } else {
        at[FRAG_ROW] = group;
        at[FRAG_COL] = in_group * each + i % each + part * 4 * each;
    }
}

/* m8n8k4 of f16: the same of the eight lanes of a product, whose operands lie row by column or (k
 * apart) column by row.  */
static void of_isa_group(const ComputeUnit *u, FragRole role, FragDim inner, int lane, int i,
                         int at[FRAG_DIMS]) {
    int upper = lane < 16 ? 0 : 4, group = lane / 4 % 4;
    if (role != FRAG_RESULT) {
        at[FRAG_ROW] = (inner == FRAG_COL ? lane % 4 : i % 4) + upper;
        at[FRAG_COL] = inner == FRAG_COL ? i : lane % 4;
    } else if (u->acc == TE_F16) {
        at[FRAG_ROW] = lane % 4 + upper;
        at[FRAG_COL] = i;
    } else {
        at[FRAG_ROW] = (lane & 1) + (i & 2) + upper;
        at[FRAG_COL] = (i & 4) + (lane & 2) + (i & 1);
    }
    /* Where roller puts the product of each group.  */
    at[FRAG_ROW] += role == FRAG_B ? group / 2 * 8 : group % 2 * 8;
    at[FRAG_COL] += role == FRAG_RESULT ? group / 2 * 8 : 0;
}

static void one_group_role(const ComputeUnit *u, FragRole role, FragDim inner) {
    Fragment f = fragment_of(u, role, inner);
    int cols = role == FRAG_RESULT ? 16 : 4, slots = fragment_slots(&f, FRAG_DIMS);
    int times = role == FRAG_RESULT ? 1 : 2;           /* two groups take the same operand */
    uint8_t held[MAX] = {0};
    assert_int_equal(slots * WARP, 16 * cols * times);
    assert_int_equal(fragment_registers(u, role), slots / f.per_register);
    assert_int_equal(fragment_lanes(&f, FRAG_DIMS) * times, WARP);
    assert_int_equal(fragment_slots(&f, FRAG_ROW) * fragment_lanes(&f, FRAG_ROW), 16);
    for (int lane = 0; lane < WARP; lane++) {
        for (int slot = 0; slot < slots; slot++) {
            int at[FRAG_DIMS], wanted[FRAG_DIMS], all[WARP][FRAG_DIMS];
            fragment_at(&f, lane, slot, at);
            fragment_of_lanes(&f, slot, all);
            of_isa_group(u, role, inner, lane, slot, wanted);
            assert_int_equal(at[FRAG_ROW], wanted[FRAG_ROW]);
            assert_int_equal(at[FRAG_COL], wanted[FRAG_COL]);
            assert_memory_equal(all[lane], wanted, sizeof wanted);
            held[at[FRAG_ROW] * cols + at[FRAG_COL]]++;
        }
    }
    for (int i = 0; i < 16 * cols; i++) assert_int_equal(held[i], times);
}

static void groups_of_lanes(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "v100");
    int n = 0;
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        if (!fragment_has_orders(u)) continue;
        FragShape s = fragment_shape(u);
        assert_true(s.m == 16 && s.n == 16 && s.k == 4);
        for (FragRole role = FRAG_A; role <= FRAG_RESULT; role++) {
            one_group_role(u, role, FRAG_COL);
            if (role != FRAG_RESULT) one_group_role(u, role, FRAG_ROW);
        }
        n++;
    }
    assert_int_equal(n, 2);
    arena_destroy(a);
}

static void one_role(const ComputeUnit *u, FragRole role) {
    Fragment f = fragment_of(u, role, FRAG_COL), turned = fragment_transposed(f);
    int rows = role == FRAG_B ? u->n.from : u->m.from;
    int cols = role == FRAG_RESULT ? u->n.from : u->k.from;
    int slots = fragment_slots(&f, FRAG_DIMS);
    uint8_t held[MAX] = {0};
    assert_int_equal(slots * WARP, rows * cols);
    assert_int_equal(fragment_lanes(&f, FRAG_DIMS), WARP);
    assert_int_equal(fragment_slots(&f, FRAG_ROW) * fragment_lanes(&f, FRAG_ROW), rows);
    assert_int_equal(slots % f.per_register, 0);
    assert_int_equal(fragment_registers(u, role), slots / f.per_register);
    for (int lane = 0; lane < WARP; lane++) {
        for (int slot = 0; slot < slots; slot++) {
            int at[FRAG_DIMS], wanted[FRAG_DIMS], other[FRAG_DIMS];
            fragment_at(&f, lane, slot, at);
            of_isa(u, role, lane, slot, wanted);
            assert_int_equal(at[FRAG_ROW], wanted[FRAG_ROW]);
            assert_int_equal(at[FRAG_COL], wanted[FRAG_COL]);
            assert_int_equal(held[at[FRAG_ROW] * cols + at[FRAG_COL]]++, 0);
            fragment_at(&turned, lane, slot, other);
            assert_true(other[FRAG_ROW] == at[FRAG_COL] && other[FRAG_COL] == at[FRAG_ROW]);
        }
    }
}

static void all_units(void **state) {
    static const char *const name[] = {"h200", "a100", "t4", "rtx4090"};
    (void)state;
    Arena *a = arena_create(NULL);
    int n = 0;
    for (size_t d = 0; d < sizeof name / sizeof *name; d++) {
        const Device *dev = fixture_device(a, name[d]);
        for (int i = 0; i < dev->n_unit; i++) {
            const ComputeUnit *u = &dev->unit[i];
            if (u->scope != SCOPE_WARP || u->b == HAL_NO_DTYPE) continue;
            for (FragRole role = FRAG_A; role <= FRAG_RESULT; role++) one_role(u, role);
            n++;
        }
    }
    assert_true(n > 10);
    arena_destroy(a);
}

/* Sums of a warpgroup (PTX ISA, "Register Fragments" of wgmma.mma_async): d0, d1, ... of a lane of
 * its first warp lie in rows 0 to 15.  */
static void shares(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h100");
    int units = 0;
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        if (u->scope != SCOPE_WARPGROUP) continue;
        units++;
        for (int n = u->n.from; n <= u->n.to; n += u->n.step) {
            Fragment f = fragment_of_share(u, n);
            assert_int_equal(fragment_slots(&f, FRAG_DIMS), n / 2);
            assert_int_equal(f.per_register, u->acc == TE_F16 ? 2 : 1);
            for (int x = 0; x < WARP * n / 2; x++) {
                int lane = x % WARP, slot = x / WARP, at[FRAG_DIMS];
                fragment_at(&f, lane, slot, at);
                assert_int_equal(at[FRAG_ROW], lane / 4 + slot / 2 % 2 * 8);
                assert_int_equal(at[FRAG_COL], slot / 4 * 8 + lane % 4 * 2 + slot % 2);
            }
        }
    }
    assert_true(units > 8);
    arena_destroy(a);
}

/* Bits of lanes that move along a side, and what a lane holds side by side.  */
static void sides(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "a100");
    for (int i = 0; i < dev->n_unit; i++) {
        if (strcmp(dev->unit[i].name, "mma.m16n8k16.f16.f32") != 0) continue;
        Fragment f = fragment_of(&dev->unit[i], FRAG_RESULT, FRAG_COL), t = fragment_transposed(f);
        assert_int_equal(fragment_lane_bits(&f, FRAG_COL), 1 | 2);
        assert_int_equal(fragment_lane_bits(&t, FRAG_COL), 4 | 8 | 16);
        assert_true(fragment_run(&f, FRAG_COL) == 2 && fragment_run(&f, FRAG_ROW) == 1);
        assert_true(fragment_run(&t, FRAG_COL) == 1 && fragment_run(&t, FRAG_ROW) == 2);
    }
    arena_destroy(a);
}

/* ---- from product to product ---- */

/* Does every lane hold, of the results in its registers, what it has to give as the operand?  */
static void check_order(const Fragment *results, const Fragment *operand, const int *order, int k) {
    int slots = fragment_slots(operand, FRAG_DIMS), has = fragment_slots(results, FRAG_DIMS);
    int wide = fragment_slots(operand, FRAG_COL) * fragment_lanes(operand, FRAG_COL);
    int made = fragment_slots(results, FRAG_COL) * fragment_lanes(results, FRAG_COL);
    uint64_t seen = 0;
    for (int i = 0; i < k; i++) seen |= (uint64_t)1 << order[i];
    assert_true(seen == (k == 64 ? UINT64_MAX : ((uint64_t)1 << k) - 1));
    for (int i = 0; i < WARP * slots * (k / wide); i++) {
        int lane = i % WARP, slot = i / WARP, at[FRAG_DIMS], found = 0;
        fragment_at(operand, lane, slot % slots, at);
        int column = order[at[FRAG_COL] + slot / slots * wide];
        for (int x = 0; x < has * (k / made); x++) {
            int own[FRAG_DIMS];
            fragment_at(results, lane, x % has, own);
            found += own[FRAG_ROW] == at[FRAG_ROW] && own[FRAG_COL] + x / has * made == column;
        }
        assert_int_equal(found, 1);
    }
}

static const ComputeUnit *find_unit(const Device *dev, TeDtype type, int n, int k) {
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        if (u->scope == SCOPE_WARP && u->a == type && u->b == type && u->n.from == n &&
            u->k.from == k)
            return u;
    }
    return NULL;
}

static void print_fragment(const char *unit, const ComputeUnit *u, const char *role, Fragment f) {
    printf("fragment %s %dx%dx%d %s", unit, u->m.from, u->n.from, u->k.from, role);
    for (int i = 0; i < f.n; i++) {
        const FragDigit *d = &f.digit[i];
        printf(" %s:%s:%d:%d", d->from == FRAG_LANE ? "lane" : "slot",
               d->to == FRAG_ROW ? "row" : "col", d->extent, d->step);
    }
    printf("\n");
}

static void passes(void **unused) {
    (void)unused;
    static const struct {
        const char *profile;
        TeDtype type;
        int n, k;
        int columns, order[16];           /* 0: through shared memory */
    } table[] = {
        {"t4", TE_F16, 8, 8, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
        {"h200", TE_F16, 8, 16, 16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
        {"h200", TE_BF16, 8, 16, 16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
        {"h200", TE_F32, 8, 8, 8, {0, 2, 4, 6, 1, 3, 5, 7}},
        {"a100", TE_F64, 8, 4, 8, {0, 2, 4, 6, 1, 3, 5, 7}},
        {"h200", TE_I8, 8, 32, 32, {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15}},
        {"v100", TE_F16, 8, 4, 0, {0}}};
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const Device *dev = fixture_device(a, table[i].profile);
        const ComputeUnit *u = find_unit(dev, table[i].type, table[i].n, table[i].k);
        int order[FRAG_MOST_K];
        assert_non_null(u);
        Fragment results = fragment_of(u, FRAG_RESULT, FRAG_COL);
        Fragment operand = fragment_of(u, FRAG_A, FRAG_COL);
        int n = fragment_passes(&results, &operand, order);
        if (getenv("LIST")) {
            print_fragment(table[i].profile, u, te_dtype_name(u->a), operand);
            print_fragment(table[i].profile, u, "result", results);
        }
        assert_int_equal(n, table[i].columns);
        for (int k = 0; k < n && k < 16; k++) assert_int_equal(order[k], table[i].order[k]);
        if (n > 0) check_order(&results, &operand, order, n);
    }
    arena_destroy(a);
}

/* Of warpgroups: sums of any width, as they are.  */
static void shares_pass(void **unused) {
    (void)unused;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h200");
    int units = 0;
    for (int i = 0; i < dev->n_unit; i++) {
        const ComputeUnit *u = &dev->unit[i];
        int order[FRAG_MOST_K];
        if (u->scope != SCOPE_WARPGROUP || te_dtype_bytes(u->a) != 2) continue;
        for (int n = 16; n <= FRAG_MOST_K; n += 16) {
            Fragment results = fragment_of_share(u, n), operand = fragment_of_operand_share(u);
            assert_int_equal(fragment_passes(&results, &operand, order), n);
            for (int k = 0; k < n; k++) assert_int_equal(order[k], k);
            check_order(&results, &operand, order, n);
        }
        units++;
    }
    assert_true(units >= 2);
    arena_destroy(a);
}

/* ---- orders ---- */

/* The columns of the first product, computed in that order, are the operand with k as it is.  */
static void columns_in_order(void **unused) {
    (void)unused;
    static const char *const device[] = {"t4", "a100", "rtx4090", "h200", "v100"};
    Arena *a = arena_create(NULL);
    int ordered = 0;
    for (int i = 0; i < 5; i++) {
        const Device *dev = fixture_device(a, device[i]);
        for (const ComputeUnit *u = dev->unit; u < dev->unit + dev->n_unit; u++) {
            if (u->scope != SCOPE_WARP || u->m.from < 8 || u->scale_k) continue;
            FragOrder order, places;
            int passed[FRAG_MOST_K], place[FRAG_MOST_K];
            Fragment results = fragment_of(u, FRAG_RESULT, FRAG_COL);
            Fragment operand = fragment_of(u, FRAG_A, FRAG_COL);
            int n = fragment_passes(&results, &operand, passed);
            assert_int_equal(fragment_order(&results, &operand, &order), n > 0);
            if (n == 0) continue;
            places = fragment_places(&order);
            for (int k = 0; k < n; k++) {
                place[k] = fragment_column(&places, k);
                assert_int_equal(fragment_column(&order, place[k]), k);
            }
            check_order(&results, &operand, place, n);
            ordered += order.n > 0;
            assert_true(order.n > 0 || te_dtype_bytes(u->a) == 2);
        }
    }
    assert_true(ordered >= 10);
    arena_destroy(a);
}

/* What a lane of a warpgroup has as its `number`-th column of the operand, in the results.  */
static int spread_column(const Fragment *results, const FragOrder *own, int lane, int number) {
    int at[FRAG_DIMS], place = fragment_column(own, number);
    enum { NEIGHBOURS = 2, ROWS = 2 };
    fragment_at(results, lane, place % NEIGHBOURS + place / NEIGHBOURS * NEIGHBOURS * ROWS, at);
    return at[FRAG_COL];
}

static void columns_spread(void **unused) {
    (void)unused;
    enum { K = 32, EACH = 8 };            /* columns of a slice, of a lane */
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h200");
    int units = 0;
    for (const ComputeUnit *u = dev->unit; u < dev->unit + dev->n_unit; u++) {
        if (u->scope != SCOPE_WARPGROUP || te_dtype_bytes(u->a) != 1) continue;
        Fragment slice = fragment_of_share(u, K), operand = fragment_of_operand_share(u);
        FragOrder order;
        int beside, every;
        assert_true(fragment_order(&slice, &operand, &order));
        assert_true(fragment_parts(&order, &beside, &every) && beside == 2 && every == 4);
        for (int n = K; n <= 256; n += K) {
            FragOrder all = fragment_spread(&order, n), own = fragment_spread_lane(&order, n);
            Fragment results = fragment_of_share(u, n);
            for (int i = 0; i < WARP * n / 4; i++) {
                int lane = i % WARP, number = i / WARP, at[FRAG_DIMS], x = number % EACH;
                fragment_at(&operand, lane, x % 4 + x / 4 * EACH, at);
                int column = spread_column(&results, &own, lane, number);
                assert_int_equal(fragment_column(&all, column), number / EACH * K + at[FRAG_COL]);
            }
        }
        units++;
    }
    assert_true(units >= 3);
    arena_destroy(a);
}

/* Columns side by side of row 0 that lane 0 holds, from the first one on.  */
static int held_beside(const Fragment *f) {
    bool held[256] = {false};
    int n = 0, at[FRAG_DIMS];
    for (int slot = 0; slot < fragment_slots(f, FRAG_DIMS); slot++) {
        fragment_at(f, 0, slot, at);
        if (at[FRAG_ROW] == 0) held[at[FRAG_COL]] = true;
    }
    while (n < 256 && held[n]) n++;
    return n;
}

/* Columns modulo a number, those of each remainder side by side, as rows of operands may be.  */
static void columns_modulo(void **unused) {
    (void)unused;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h200");
    const ComputeUnit *u = dev->unit;
    while (u->scope != SCOPE_WARPGROUP) u++;
    for (int modulo = 2; modulo <= 16; modulo *= 2) {
        for (int n = 8 * modulo; n <= 256; n += 8 * modulo) {
            int each = n / modulo, in[FRAG_DIMS], at[FRAG_DIMS];
            FragOrder order = {.extent = {each, modulo}, .step = {modulo, 1}, .n = 2, .period = n};
            Fragment places = fragment_of_share(u, n);
            Fragment f = fragment_ordered(&places, FRAG_COL, &order);
            for (int i = 0; i < WARP * n / 4; i++) {
                fragment_at(&places, i % WARP, i / WARP, in);
                fragment_at(&f, i % WARP, i / WARP, at);
                int column = in[FRAG_COL] % each * modulo + in[FRAG_COL] / each;
                assert_int_equal(at[FRAG_COL], column);
                assert_int_equal(at[FRAG_ROW], in[FRAG_ROW]);
            }
            assert_int_equal(fragment_run(&f, FRAG_COL), held_beside(&f));
            assert_true(fragment_follows(&places, FRAG_COL) && !fragment_follows(&f, FRAG_COL));
        }
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_units), cmocka_unit_test(sides), cmocka_unit_test(shares),
        cmocka_unit_test(groups_of_lanes), cmocka_unit_test(passes), cmocka_unit_test(shares_pass),
        cmocka_unit_test(columns_in_order), cmocka_unit_test(columns_spread),
        cmocka_unit_test(columns_modulo)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
