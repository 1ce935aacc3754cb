/* links: microperf */
/* Chains of two products: what is constructed for them, that plan texts and rooms say it, and that
 * known problems get the tiles that the best known kernels have, for what the formulas ask.  */
#include "base/csv.h"
#include "base/file.h"
#include "microperf/microperf.h"
#include "rprogram/index_map.h"
#include "rprogram/product.h"
#include "te/tree/arith.h"
#include "arena_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chain_case.h"

/* ---- candidates ---- */

static void all_are_legal(Arena *a) {
    static const char *const devices[] = {"a100", "h200", "rtx4090", "a10"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        Case c = open_case(a, devices[i], attention(a, 1000, 72, "s[b,i,j]"));
        assert_true(c.set.n > 16);
        for (int k = 0; k < c.set.n; k++) {
            const RProg *r = &c.set.prog[k];
            const char *why = rprog_check(&c.p, c.dev, r);
            if (why) fail_msg("%s: %s", devices[i], why);
            assert_int_equal(r->skeleton, SK_CHAIN);
            assert_true(r->block.extent[AX_K] == 80 && r->block.extent[AX_E] == 72);
            assert_int_equal(rprog_blocks(&c.p, r),
                             32 * ((1000 + r->block.extent[AX_M] - 1) / r->block.extent[AX_M]));
        }
    }
}

/* Each breaks one rule.  */
static void broken_ones_are_refused(Arena *a) {
    Case c = open_case(a, "a100", attention(a, 1024, 128, "s[b,i,j]"));
    RProg r = c.set.prog[c.set.n / 2];
    assert_null(rprog_check(&c.p, c.dev, &r));
    RProg x = r;
    x.block.extent[AX_N] += 8;
    assert_non_null(rprog_check(&c.p, c.dev, &x));
    x = r;
    x.block.extent[AX_E] += 8;
    assert_non_null(rprog_check(&c.p, c.dev, &x));
    x = r;
    x.split = (int32_t)rprog_chain_turns(&c.p, &r) + 1;
    assert_non_null(rprog_check(&c.p, c.dev, &x));
    x = r;
    x.keep = KEEP_MEMORY;
    assert_non_null(rprog_check(&c.p, c.dev, &x));
    x = r;
    x.load[LOAD_V].layout.pad = 3;
    assert_non_null(rprog_check(&c.p, c.dev, &x));
    x = r;
    x.skeleton = SK_CONTRACT;
    assert_non_null(rprog_check(&c.p, c.dev, &x));
}

/* Scores of f8, values of bf16: programs of the unit of bytes have another for the values.  */
static const char *narrow_scores(Arena *a, int head) {
    return arena_printf(a, "param D = %d; op f(Q: f8e4m3[32,1000,D], T: f8e4m3[32,1000,D],"
                        " V: bf16[32,1000,64]) -> O: bf16[32,1000,64] {"
                        " s[b,i,j] = sum[d](Q[b,i,d] * T[b,j,d]) * 0.125;"
                        " m[b,i] = max[j](s[b,i,j]);"
                        " z[b,i] = sum[j](exp(s[b,i,j] - m[b,i]));"
                        " O[b,i,e] = sum[j](bf16(exp(s[b,i,j] - m[b,i])) * V[b,j,e]) / z[b,i]; }",
                        head);
}

/* Programs whose scores are made by a unit of bytes.  */
static int of_bytes(const Case *c) {
    int n = 0;
    for (int i = 0; i < c->set.n; i++) {
        const RProg *r = &c->set.prog[i];
        const ComputeUnit *u = &c->dev->unit[r->unit], *v = &c->dev->unit[r->unit_v];
        assert_true(te_dtype_bytes(v->a) == 2 && u->scope == v->scope);
        n += te_dtype_bytes(u->a) == 1;
    }
    return n;
}

static void each_product_has_its_unit(Arena *a) {
    static const char *const device[] = {"rtx4090", "h200", "rtx5090"};
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) {
        Case few = open_case(a, device[i], narrow_scores(a, 128));
        Case many = open_case(a, device[i], narrow_scores(a, 160));
        assert_true(of_bytes(&few) > 0);
        assert_int_equal(of_bytes(&many), 0);        /* more terms than it sums exactly enough */
    }
}

static void come_back(Arena *a, Case c) {
    enum { EVERY = 13 };
    for (int k = 0; k < c.set.n; k += EVERY) {
        RProg prog = c.set.prog[k];
        RPlan plan = {.te = c.normal, .group = c.group, .problem = &c.p, .prog = &prog, .n = 1,
                      .align = 16};
        RPlan back = plan;
        Buf text = buf_new(a), again = buf_new(a);
        Diag d = diag_new(a);
        rprog_print(&plan, c.dev, &text);
        if (rprog_read(a, &d, diag_text("x", buf_str(&text)), c.dev, &back))
            fail_msg("%s\n%s; %s", buf_str(&text), d.messages[0].message, d.messages[0].hint);
        rprog_print(&back, c.dev, &again);
        assert_string_equal(buf_str(&text), buf_str(&again));
        RProg *x = &back.prog[0];
        assert_true(x->unit == prog.unit && x->unit_v == prog.unit_v);
        assert_true(x->keep == prog.keep && x->late == prog.late && x->smem == prog.smem);
        assert_memory_equal(&x->load[LOAD_V].layout, &prog.load[LOAD_V].layout, sizeof(RLayout));
    }
}

static void texts_come_back(Arena *a) {
    come_back(a, open_case(a, "a100", attention(a, 1000, 72, "s[b,i,j]")));
    come_back(a, open_case(a, "rtx4090", narrow_scores(a, 64)));
}

/* ---- the layout ---- */

static bool apart(const Room *x, const Room *y) {
    return rprog_room_end(x) <= y->at || rprog_room_end(y) <= x->at;
}

static void rooms_lie_apart(Arena *a) {
    enum { EVERY = 7 };
    Case c = open_case(a, "a100", attention(a, 1000, 72, "s[b,i,j]"));
    for (int k = 0; k < c.set.n; k += EVERY) {
        const RProg *r = &c.set.prog[k];
        const Layout *l = rprog_layout(a, &c.p, c.dev, r);
        const Room *room[] = {rprog_room(l, ROOM_STAGE, 0), rprog_room(l, ROOM_STAGE, 1),
                              rprog_room(l, ROOM_STAGE, 3)};
        assert_int_equal(l->shared, r->smem);
        assert_true(l->n_ring >= 2 && l->n_product == 2);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(room[i]->slots, i ? r->stages : 1);
            assert_int_equal(room[i]->ring, i ? i - 1 : 2);
            assert_int_equal(ring_stays(&l->ring[room[i]->ring]), i == 0);
            assert_true(apart(room[i], room[(i + 1) % 3]));
            assert_true(rprog_room_end(room[i]) <= l->shared);
        }
        /* Rows of 72 of 16 bits, or columns of a turn by these.  */
        assert_true(room[0]->bytes >= r->block.extent[AX_M] * 80 * 2);
        assert_true(room[1]->bytes >= r->block.extent[AX_N] * 80 * 2);
        assert_true(room[2]->bytes >= r->block.extent[AX_N] * 72 * 2);
        const Contract *second = &l->product[1];
        assert_true(second->side[0].made && !second->side[0].room && second->side[1].number == 3);
        assert_int_equal(second->side[1].ring, 1);
        assert_int_equal(second->steps, rprog_chain_turns(&c.p, r));
        assert_int_equal(l->product[0].steps, 1);
    }
}

/* ---- prices ---- */

/* Of heads of 128 the tile of FlashAttention-2 on sm_80 (csrc/flash_attn/src,
 * flash_fwd_launch_template.h); of heads of 64 the widest below its 128 x 128 that leaves a step of
 * registers.  */
static void known_tiles_are_among_the_best(Arena *a) {
    static const struct {
        int head, rows, columns, threads;
    } known[] = {{128, 128, 64, 128}, {64, 128, 112, 128}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Case c = open_case(a, "a100", attention(a, 2048, known[i].head, "s[b,i,j]"));
        double best = best_us(a, &c, 0, 0, 0);
        double us = best_us(a, &c, known[i].rows, known[i].columns, known[i].threads);
        if (us < 0 || us > 1.03 * best)
            fail_msg("head %d: %g us, the best has %g", known[i].head, us, best);
    }
}

/* The matrix unit and exponentials one after the other (the larger of both, of warpgroups) are the
 * least, and most of the time: e scores, 2 (K + E) FLOP and one power each.  */
static void prices_follow_the_formulas(Arena *a) {
    static const struct {
        const char *device;
        int64_t keys, head;
    } rows[] = {{"a100", 2048, 128}, {"a100", 4096, 64}, {"h200", 4096, 128},
                {"rtx4090", 2048, 64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Case c = open_case(a, rows[i].device,
                           attention(a, rows[i].keys, rows[i].head, "s[b,i,j]"));
        Ranked *r;
        assert_int_equal(mp_rank(a, &c.p, c.dev, &c.set, 1, &r), 1);
        double e = 32.0 * (double)(rows[i].keys * rows[i].keys), f = r->estimate.clock * 1e-6;
        double sms = c.dev->limits.sm_count.value;
        const ComputeUnit *u = &c.dev->unit[r->prog.unit];
        double mma = 4 * e * (double)rows[i].head / (u->rate.value * sms * f);
        double powers = e / (16 * sms * f), larger = mma > powers ? mma : powers;
        double least = u->scope == SCOPE_WARP ? mma + powers : larger;
        if (r->estimate.us < least || r->estimate.us > 1.6 * least)
            fail_msg("%s: %g us for %g", rows[i].device, r->estimate.us, least);
    }
}

/* ---- masks ---- */

/* Turns with a column that some row of the tile sees, one by one.  */
static int64_t turns_by_hand(const RProg *r, int64_t keys, int64_t tile, int64_t back) {
    int64_t rows = r->block.extent[AX_M], columns = r->block.extent[AX_N], n = 0;
    for (int64_t first = 0; first < keys; first += columns) {
        bool any = false;
        for (int64_t i = tile * rows; i < (tile + 1) * rows && i < keys; i++) {
            for (int64_t j = first; j < first + columns && j < keys; j++)
                any |= j <= i && j > i - back;
        }
        n += any;
    }
    return n;
}

static void turns_are_those_of_the_mask(Arena *a) {
    enum { KEYS = 700, BACK = 200, EVERY = 41 };
    Case c[] = {open_case(a, "a100", attention(a, KEYS, 64, "j <= i ? s[b,i,j] : -inf")),
                open_case(a, "a100", attention(a, KEYS, 64,
                                               "j <= i && j > i - 200 ? s[b,i,j] : -inf"))};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < c[i].set.n; k += EVERY) {
            const RProg *r = &c[i].set.prog[k];
            for (int64_t tile = 0; tile < rprog_tiles(&c[i].p, r, AX_M); tile++)
                assert_int_equal(rprog_chain_visited(&c[i].p, r, tile),
                                 turns_by_hand(r, KEYS, tile, i ? BACK : KEYS));
        }
    }
}

/* Tiles with the most turns come first; numbers and tiles are each other's inverse.  */
static void the_longest_come_first(Arena *a) {
    Case c = open_case(a, "a100", attention(a, 700, 64, "j <= i ? s[b,i,j] : -inf"));
    const RProg *r = &c.set.prog[0];
    IndexMap m;
    IndexBox box;
    index_map(&c.p, r, 0, &m);
    index_box(&m, 0, &box);
    assert_int_equal(box.lo[AX_M] / r->block.extent[AX_M], rprog_tiles(&c.p, r, AX_M) - 1);
    for (int64_t i = 0; i < index_blocks(&m); i++) {
        index_box(&m, i, &box);
        assert_int_equal(index_number(&m, box.lo), i);
    }
}

/* Half of the scores and those of the tiles that the diagonal cuts.  */
static void causal_is_half(Arena *a) {
    static const struct {
        const char *device;
        int64_t keys;
    } rows[] = {{"a100", 2048}, {"a100", 8192}, {"h200", 2048}, {"h200", 8192}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Case all = open_case(a, rows[i].device, attention(a, rows[i].keys, 128, "s[b,i,j]"));
        Case half = open_case(a, rows[i].device,
                              attention(a, rows[i].keys, 128, "j <= i ? s[b,i,j] : -inf"));
        double ratio = best_us(a, &half, 0, 0, 0) / best_us(a, &all, 0, 0, 0);
        if (ratio < 0.5 || ratio > 0.62) fail_msg("%s: %g", rows[i].device, ratio);
    }
}

/* One query of 32 heads on 8 key heads takes little more than its keys and values take from
 * memory, in pages too.  */
static void decoding_takes_as_long_as_memory(Arena *a) {
    static const char *const key[] = {"%c[b,h/4,j,d]", "(%c[table[b,j/16],j%%16,h/4,d] else 0)"};
    static const char *const device[] = {"a100", "h200"};
    for (int i = 0; i < 4; i++) {
        const char *shape = i / 2 ? "[4096,16,8,128]" : "[8,8,8192,128]";
        const char *k = arena_printf(a, key[i / 2], 'K'), *v = arena_printf(a, key[i / 2], 'V');
        Case c = open_case(a, device[i % 2], arena_printf(a,
            "op f(Q: f16[8,32,128], K: f16%s, V: f16%s, table: i32[8,512]) -> O: f16[8,32,128] {"
            " s[b,h,j] = sum[d](Q[b,h,d] * %s) * 0.0883 where j in 0:8192;"
            " m[b,h] = max[j](s[b,h,j]); z[b,h] = sum[j](exp(s[b,h,j] - m[b,h]));"
            " O[b,h,d] = sum[j](f16(exp(s[b,h,j] - m[b,h])) * %s) / z[b,h]; }",
            shape, shape, k, v));
        Ranked *r;
        assert_true(mp_rank(a, &c.p, c.dev, &c.set, 1, &r) > 0);
        double ratio = r[0].estimate.us / r[0].estimate.term[MP_DRAM];
        if (ratio > 1.08) fail_msg("%s, %s: %g", device[i % 2], k, ratio);
    }
}

/* ---- published times ---- */

static int by_size(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

typedef struct {
    const char *kernel;       /* how its name begins */
    UnitScope scope;          /* of the unit that it multiplies by */
    int rows;                 /* of its blocks for heads of 64, of 128 columns a turn; 0: unknown */
    double least, most;       /* predicted over published, of all */
} Published;

/* Scores that blocks of so many rows and columns a turn make for a head.  */
static double visited(int64_t keys, bool causal, int64_t rows, int64_t columns) {
    int64_t sum = 0;
    for (int64_t end = rows; end < keys + rows; end += rows)
        sum += rows * ceil_div(causal && end < keys ? end : keys, columns) * columns;
    return (double)sum;
}

/* Predicted over published, of as many scores; returns how many.  */
enum { MOST_ROWS = 64 };
static int ratios_of(Arena *a, const Published *x, double ratio[MOST_ROWS]) {
    enum { GPU = 1, OP = 2, SIZES = 4, KERNEL = 5, US = 7, FIELDS = 8, CALLS = 30 };
    char *text;
    size_t len;
    int n = 0, fields;
    CsvField *f;
    must(file_read(a, &diag, "benchmarks/measured/data/flash_attention.csv", 1 << 20, &text,
                   &len));
    CsvReader r = {.text = {"flash_attention.csv", text, len}};
    for (must(csv_next(a, &diag, &r, &f, &fields)); fields > 0;
         must(csv_next(a, &diag, &r, &f, &fields))) {
        long long heads, keys, head;
        if (fields != FIELDS || strncmp(f[KERNEL].text, x->kernel, strlen(x->kernel)) != 0)
            continue;
        assert_int_equal(sscanf(f[SIZES].text, "B=%lld;L=%lld;D=%lld", &heads, &keys, &head), 3);
        bool causal = strcmp(f[OP].text, "attention_causal") == 0;
        Case c = open_case(a, f[GPU].text[0] == 'B' ? "b200" : "h100",
                           attention_of(a, heads, keys, head,
                                        causal ? "j <= i ? s[b,i,j] : -inf" : "s[b,i,j]"));
        c = only(a, c, x->scope);
        c.dev->calls = CALLS;
        Ranked *best;
        assert_true(mp_rank(a, &c.p, c.dev, &c.set, 1, &best) > 0 && n < MOST_ROWS);
        double us = best->estimate.us;
        assert_true((causal ? 2 : 4) * 1e-6 * (double)(heads * keys * keys * head) / us < 800);
        ratio[n] = us / strtod(f[US].text, NULL);
        const int32_t *own = best->prog.block.extent;
        double made = visited(keys, causal, own[AX_M], own[AX_N]);
        if (x->rows) ratio[n] *= visited(keys, causal, head == 64 ? x->rows : 128, 128) / made;
        n++;
    }
    return n;
}

static void published_times_are_met(Arena *a) {
    static const Published set[] = {{"fa2", SCOPE_WARP, 0, 0.7, 1.4},
                                    /* hopper/flash_fwd_launch_template.h */
                                    {"fa3", SCOPE_WARPGROUP, 192, 0.8, 1.1}};
    for (int i = 0; i < 2; i++) {
        double ratio[MOST_ROWS];
        int n = ratios_of(a, &set[i], ratio);
        assert_true(n >= 12);
        qsort(ratio, (size_t)n, sizeof *ratio, by_size);
        if (ratio[n / 2] < 0.85 || ratio[n / 2] > 1.15) fail_msg("median %g", ratio[n / 2]);
        if (ratio[0] < set[i].least || ratio[n - 1] > set[i].most)
            fail_msg("%g to %g", ratio[0], ratio[n - 1]);
    }
}

#define TEST(name) static void test_##name(void **state) { run(state, name); }
TEST(all_are_legal)
TEST(broken_ones_are_refused)
TEST(texts_come_back)
TEST(each_product_has_its_unit)
TEST(rooms_lie_apart)
TEST(known_tiles_are_among_the_best)
TEST(prices_follow_the_formulas)
TEST(turns_are_those_of_the_mask)
TEST(the_longest_come_first)
TEST(causal_is_half)
TEST(decoding_takes_as_long_as_memory)
TEST(published_times_are_met)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_are_legal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_ones_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_texts_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_product_has_its_unit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rooms_lie_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_known_tiles_are_among_the_best, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prices_follow_the_formulas, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_turns_are_those_of_the_mask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_longest_come_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_causal_is_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_decoding_takes_as_long_as_memory, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_published_times_are_met, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
