/* links: rtile */
/* The layout algebra of deals, by enumeration: what each operation promises holds for every number,
 * and where it refuses, what it promises cannot be had or its conditions are not met.  LIST=1
 * prints cases for tests/layouts.py.  */
#include "rtile/deal.h"
#include "rtile/fragment.h"
#include "arena_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 20000, MOST = 4096 };

static uint64_t state = 1;
static int draw(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static int count(const Deal *d, int from) {
    int n = 1;
    for (int i = 0; i < d->n; i++) n *= d->digit[i].from == from ? d->digit[i].extent : 1;
    return n;
}

static int place(const Deal *d, int x, int to) {
    int at[DEAL_SPACES];
    deal_at(d, (const int[DEAL_SPACES]){x}, at);
    return at[to];
}

/* Digits of space 0 along one axis.  `whole`: each place below the end once, in some order.  */
static Deal draw_line(int most, bool whole) {
    Deal d = {.n = 0};
    int n = 1 + draw(most), order[DEAL_DIGITS], extent[DEAL_DIGITS], step[DEAL_DIGITS], all = 1;
    for (int i = 0; i < n; i++) {
        int k = draw(i + 1);
        order[i] = order[k];
        order[k] = i;
        extent[i] = 1 + draw(4);
        step[i] = whole || draw(3) ? all : draw(20);
        all *= extent[i];
    }
    for (int i = 0; i < n; i++) deal_add(&d, 0, 0, extent[order[i]], step[order[i]]);
    return d;
}

static bool is_whole(const Deal *d) {
    uint8_t seen[MOST] = {0};
    int n = count(d, 0);
    for (int x = 0; x < n; x++) {
        int at = place(d, x, 0);
        if (at >= n || seen[at]++) return false;
    }
    return true;
}

static void inverses(void **unused) {
    (void)unused;
    int done = 0;
    for (int i = 0; i < CASES; i++) {
        Deal d = draw_line(5, i % 2), back;
        bool has = deal_inverse(&d, &back);
        assert_int_equal(has, is_whole(&d));
        for (int x = 0; has && x < count(&d, 0); x++)
            assert_int_equal(place(&back, place(&d, x, 0), 0), x);
        done += has;
    }
    assert_in_range(done, CASES / 2, CASES - CASES / 8);
}

static void print_line(const char *name, const Deal *d) {
    printf("%s", name);
    for (int i = 0; i < d->n; i++) printf(" %d:%d", d->digit[i].extent, d->digit[i].step);
}

static void compositions(void **unused) {
    (void)unused;
    int done = 0, refused = 0;
    for (int i = 0; i < CASES; i++) {
        Deal outer = draw_line(4, i % 2), inner = draw_line(3, i % 4 < 2), both;
        int end = 0;
        for (int k = 0; k < inner.n; k++)
            end += (inner.digit[k].extent - 1) * inner.digit[k].step;
        if (!deal_compose(&outer, &inner, &both)) {
            refused++;
            continue;
        }
        assert_true(end < count(&outer, 0));
        assert_int_equal(count(&both, 0), count(&inner, 0));
        for (int x = 0; x < count(&inner, 0); x++)
            assert_int_equal(place(&both, x, 0), place(&outer, place(&inner, x, 0), 0));
        if (getenv("LIST") && done % 16 == 0) {
            print_line("compose", &outer);
            print_line(" |", &inner);
            print_line(" |", &both);
            printf("\n");
        }
        done++;
    }
    assert_true(done > CASES / 16 && refused > CASES / 16);
    /* Digits that cover whole ones, or lie in one, are taken apart.  */
    Deal outer = {.n = 0}, inner = {.n = 0}, both;
    deal_add(&outer, 0, 1, 4, 100);
    deal_add(&outer, 0, 2, 6, 1);
    deal_add(&inner, 1, 0, 2, 12);
    deal_add(&inner, 1, 0, 6, 2);
    assert_true(deal_compose(&outer, &inner, &both));
    assert_int_equal(both.n, 3);
}

static void complements(void **unused) {
    (void)unused;
    int done = 0;
    for (int i = 0; i < CASES; i++) {
        Deal d = draw_line(3, false), rest;
        uint8_t seen[MOST] = {0};
        int size = count(&d, 0) * (1 + draw(12));
        if (!deal_complement(&d, 0, size, 1, &rest)) continue;
        for (int x = 0; x < count(&d, 0); x++) {
            for (int y = 0; y < count(&rest, 1); y++) {
                int at[DEAL_SPACES];
                deal_at(&rest, (const int[DEAL_SPACES]){0, y}, at);
                int sum = at[0] + place(&d, x, 0);
                assert_true(sum < size);
                seen[sum]++;
            }
        }
        bool once = true;
        for (int k = 0; k < d.n; k++) once &= d.digit[k].step > 0 || d.digit[k].extent == 1;
        for (int x = 0; x < size && once; x++) assert_int_equal(seen[x], 1);
        if (getenv("LIST") && once && done % 16 == 0) {
            print_line("complement", &d);
            printf(" | %d", size);
            print_line(" |", &rest);
            printf("\n");
        }
        done += once;
    }
    assert_true(done > CASES / 16);
}

static void divisions(void **unused) {
    (void)unused;
    int done = 0;
    for (int i = 0; i < CASES; i++) {
        Deal d = draw_line(4, false), parts;
        int size = 1 + draw(12), all = count(&d, 0);
        if (!deal_divide(&d, 0, size, 1, &parts)) continue;
        assert_true(all % size == 0 && count(&parts, 0) == size);
        for (int x = 0; x < all; x++) {
            int at[DEAL_SPACES];
            deal_at(&parts, (const int[DEAL_SPACES]){x % size, x / size}, at);
            assert_int_equal(at[0], place(&d, x, 0));
        }
        done++;
    }
    assert_true(done > CASES / 8);
}

/* ---- moves ---- */

static DealMove slow_move(const Deal *has, const Deal *wants) {
    int n = count(has, DEAL_REGISTER), k = count(wants, DEAL_REGISTER), from[DEAL_MOST];
    bool same = true, named = true;
    for (int slot = 0; slot < k; slot++) {
        from[slot] = -1;
        for (int lane = 0; lane < DEAL_LANES; lane++) {
            int want[DEAL_SPACES], at[DEAL_SPACES], own = -1;
            bool any = false;
            deal_at(wants, (const int[DEAL_SPACES]){lane, slot}, want);
            for (int x = 0; x < n * DEAL_LANES; x++) {
                deal_at(has, (const int[DEAL_SPACES]){x % DEAL_LANES, x / DEAL_LANES}, at);
                if (memcmp(at, want, sizeof at) != 0) continue;
                any = true;
                if (x % DEAL_LANES == lane && own < 0) own = x / DEAL_LANES;
            }
            if (!any) return MOVE_SHARED;
            if (lane == 0) from[slot] = own;
            named &= own >= 0 && own == from[slot];
            same &= own == slot;
        }
    }
    return same ? MOVE_NONE : named ? MOVE_REGISTERS : MOVE_LANES;
}

/* A tile of 8 x 16, its bits dealt to lanes and registers as drawn, or lanes all to its end.  */
static Deal draw_tile(void) {
    enum { BITS = 7, LANE_BITS = 5 };
    Deal d = {.n = 0};
    int bit[BITS];
    for (int i = 0; i < BITS; i++) {
        int k = draw(3) ? i : draw(i + 1);
        bit[i] = bit[k];
        bit[k] = i;
    }
    for (int i = 0; i < BITS; i++)
        deal_add(&d, i < LANE_BITS ? DEAL_LANE : DEAL_REGISTER, bit[i] >= 4, 2,
                 1 << (bit[i] >= 4 ? bit[i] - 4 : bit[i]));
    return d;
}

static void moves(void **unused) {
    (void)unused;
    int met[MOVE_SHARED + 1] = {0}, order[DEAL_MOST];
    for (int i = 0; i < 2000; i++) {
        Deal has = draw_tile(), wants = i % 2 ? draw_tile() : has;
        if (i % 4 == 0) {                 /* other names of registers */
            DealDigit x = wants.digit[5];
            wants.digit[5] = wants.digit[6];
            wants.digit[6] = x;
        }
        if (i % 8 == 2) wants.digit[6].step *= 16;        /* beyond the tile */
        DealMove move = deal_move(&has, &wants, order);
        assert_int_equal(move, slow_move(&has, &wants));
        met[move]++;
    }
    for (int i = 0; i <= MOVE_SHARED; i++) assert_true(met[i] > 50);
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
    for (int i = 0; i < DEAL_LANES * slots * (k / wide); i++) {
        int lane = i % DEAL_LANES, slot = i / DEAL_LANES, at[FRAG_DIMS], found = 0;
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
    for (int i = 0; i < f.deal.n; i++) {
        const DealDigit *d = &f.deal.digit[i];
        printf(" %s:%s:%d:%d", d->from == DEAL_LANE ? "lane" : "slot",
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverses), cmocka_unit_test(compositions),
        cmocka_unit_test(complements), cmocka_unit_test(divisions),
        cmocka_unit_test(moves), cmocka_unit_test(passes), cmocka_unit_test(shares_pass)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
