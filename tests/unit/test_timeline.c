/* links: microperf */
/* The time line of a ring: whatever the model's times are, nothing reads a stage before it is
 * copied, nothing is copied into one that is still read, no unit does two things at a time, and a
 * turn of the steady state takes what the estimate says.  */
#include "microperf/timeline.h"
#include "arena_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chain_case.h"

enum { SOME = 40 };           /* programs of a set */
static const double rounding = 1e-6;

static int number(const MpTimeline *t, const MpBar *b) { return b->tile * t->turns + b->turn; }

/* The bar of a kind that a fill has; of all teams the first, or the last where `last`.  */
static const MpBar *find(const MpTimeline *t, MpBarKind kind, int of, int fill, bool last) {
    const MpBar *found = NULL;
    for (int i = 0; i < t->n; i++) {
        const MpBar *b = &t->bar[i];
        if (b->kind != kind || b->of != of || number(t, b) != fill) continue;
        if (!found || (last ? b->to > found->to : b->from < found->from)) found = b;
    }
    return found;
}

static void stages_are_whole(const MpTimeline *t) {
    for (int ring = 0; ring < t->rings; ring++)
        for (int i = 0; i < t->tiles * t->turns; i++) {
            const MpBar *asked = find(t, BAR_ASKED, ring, i, false);
            const MpBar *copy = find(t, BAR_COPY, ring, i, false);
            const MpBar *use = find(t, BAR_PRODUCT, ring, i, false);
            assert_true(asked && copy && use);
            assert_true(asked->to <= copy->from && copy->to <= use->from + rounding);
            if (i < t->slots) continue;
            const MpBar *before = find(t, BAR_PRODUCT, ring, i - t->slots, true);
            assert_true(before->to <= asked->from + rounding);
        }
}

/* Bars of these kinds follow each other; with `team` those of each alone.  */
static void one_by_one(const MpTimeline *t, MpBarKind kind, bool team) {
    for (int k = 0; k < t->n; k++)
        for (int i = 0; i < t->n; i++) {
            const MpBar *x = &t->bar[k], *y = &t->bar[i];
            if (k == i || x->kind != kind || y->kind != kind) continue;
            if (team && x->team != y->team) continue;
            assert_true(x->to <= y->from + rounding || y->to <= x->from + rounding);
        }
}

static void chains_are_in_order(const MpTimeline *t) {
    for (int i = 0; i < t->n; i++) {
        const MpBar *powers = &t->bar[i];
        if (powers->kind != BAR_POWERS) continue;
        int seen = 0;
        for (int k = 0; k < t->n; k++) {
            const MpBar *b = &t->bar[k];
            if (b->kind != BAR_PRODUCT || b->team != powers->team || b->turn != powers->turn)
                continue;
            seen++;
            const MpBar *first = b->of ? powers : b, *second = b->of ? b : powers;
            assert_true(first->to <= second->from + rounding);
        }
        assert_int_equal(seen, 2);
    }
}

/* From the scores of one turn to those of the next, late in the first tile: the longest of what
 * copies, the unit and powers take.  */
static void steady(const MpTimeline *t, const RProg *r) {
    const MpTurn *x = &t->turn;
    if (t->turns < t->slots + 6 || t->turns * t->tiles > 200) return;
    int late = t->turns - 2;
    double is = find(t, BAR_PRODUCT, 0, late, false)->from;
    is -= find(t, BAR_PRODUCT, 0, late - 1, false)->from;
    double unit = x->product[0] + x->product[1], copies = x->copy[0] + x->copy[1];
    double all = unit + x->powers;
    if (r->overlap == OVERLAP_WITHIN)
        all = x->product[0] + (x->product[1] > x->powers ? x->product[1] : x->powers);
    else if (r->overlap != OVERLAP_NONE) all = unit > x->powers ? unit : x->powers;
    all += x->wait;
    assert_true(is > 0.999 * all && is > 0.999 * copies);
    double copied = (x->latency + 2 * copies) / t->slots, most = all > copies ? all : copies;
    if (copied < 0.5 * most) assert_true(is < 1.001 * most);
}

static int check(Arena *a, const Problem *p, const Device *dev, const RProg *r) {
    MpTimeline t;
    if (!mp_timeline(a, p, r, dev, &t) || t.n > 1500) return 0;
    bool shared = !rprog_overlaps_between(r) && r->grid != GRID_PINGPONG;
    stages_are_whole(&t);
    one_by_one(&t, BAR_COPY, false);
    one_by_one(&t, BAR_PRODUCT, shared);
    one_by_one(&t, BAR_POWERS, shared);
    one_by_one(&t, BAR_END, true);
    chains_are_in_order(&t);
    steady(&t, r);
    return 1;
}

static int check_some(Arena *a, const Problem *p, const Device *dev, const RProgSet *set) {
    int seen = 0, every = set->n / SOME + 1;
    for (int i = 0; i < set->n; i += every) seen += check(a, p, dev, &set->prog[i]);
    return seen;
}

static void products(void **state) {
    static const char *const device[] = {"h100", "a100", "t4", "rtx5090"};
    Arena *a = *state;
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) {
        Device *dev = fixture_device(a, device[i]);
        Diag d = diag_new(a);
        RProgSet set;
        Problem p = fixture_matmul(1, 4096, 3072, 1536, false, false, TE_F16);
        must(rprog_candidates(a, &d, &p, dev, NULL, &set));
        assert_true(check_some(a, &p, dev, &set) > SOME / 2);
    }
}

static void chains(void **state) {
    static const char *const device[] = {"h200", "a100"};
    Arena *a = *state;
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) {
        Case c = open_case(a, device[i], attention(a, 2048, 128, "s[b,i,j]"));
        assert_true(check_some(a, &c.p, c.dev, &c.set) > SOME / 2);
    }
}

static void others_have_none(void **state) {
    Arena *a = *state;
    Device *dev = fixture_device(a, "h100");
    Problem p = fixture_map(1 << 20, TE_F32);
    Diag d = diag_new(a);
    RProgSet set;
    MpTimeline t;
    must(rprog_candidates(a, &d, &p, dev, NULL, &set));
    assert_false(mp_timeline(a, &p, &set.prog[0], dev, &t));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(products, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chains, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_have_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
