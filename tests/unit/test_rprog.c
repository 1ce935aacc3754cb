/* links: microperf */
/* Programs: all candidates are legal and survive their text form; the referee names what is
 * broken.  */
#include "arena_fixture.h"
#include "plan_fixture.h"
#include "open_choices.h"

#include "base/hash.h"
#include "rprogram/index_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Only a device whose grid is too small for the tensor may have no program.  */
static RProgSet candidates(Arena *a, const Problem *p, const Device *dev) {
    Diag d = diag_new(a);
    RProgSet set;
    Status s = rprog_candidates(a, &d, p, dev, NULL, &set);
    if (s && !set.rejected[REJECT_GRID]) fail_msg("no program: %s", d.messages[0].message);
    if (s) assert_int_equal(s, ST_NO_PLAN);
    return set;
}

static RPlan plan_of(Problem *p, RProg *r) { return (RPlan){.problem = p, .prog = r, .n = 1}; }

/* Every field by itself: structs may have holes.  */
static bool same_tile(const RTile *x, const RTile *y) {
    return memcmp(x->extent, y->extent, sizeof x->extent) == 0;
}

static bool same_load(const RLoad *x, const RLoad *y) {
    return x->kind == y->kind && x->mover == y->mover && x->vec == y->vec && x->along == y->along &&
           x->layout.inner == y->layout.inner && x->layout.pad == y->layout.pad &&
           x->layout.bits == y->layout.bits && x->layout.shift == y->layout.shift &&
           x->layout.base == y->layout.base;
}

static bool same(const RProg *x, const RProg *y) {
    return x->skeleton == y->skeleton && x->unit == y->unit && same_tile(&x->block, &y->block) &&
           same_tile(&x->warp, &y->warp) && same_tile(&x->thread, &y->thread) &&
           x->vec_m == y->vec_m && x->vec_n == y->vec_n && x->stages == y->stages &&
           x->unroll == y->unroll && same_load(&x->load[0], &y->load[0]) &&
           same_load(&x->load[1], &y->load[1]) && x->store_vec == y->store_vec &&
           x->raster == y->raster && x->group == y->group && x->split == y->split &&
           x->late == y->late && x->lanes == y->lanes &&
           x->swapped == y->swapped && x->via == y->via &&
           x->threads == y->threads && x->blocks_per_sm == y->blocks_per_sm &&
           x->registers == y->registers && x->smem == y->smem;
}

/* What the sweeps plan: sizes around powers of two, primes, ones, skinny ones, convolutions.  */
static int problems(Problem *out, int cap) {
    static const struct {
        int64_t b, m, n, k;
        bool ta, tb;
        TeDtype type;
    } mm[] = {
        {1, 4096, 4096, 4096, false, false, TE_F32}, {1, 1024, 1024, 1024, false, true, TE_F32},
        {1, 1024, 512, 2048, true, false, TE_F32},   {1, 512, 512, 512, true, true, TE_F32},
        {1, 1, 1, 1, false, false, TE_F32},          {1, 1, 1, 100000, false, false, TE_F32},
        {1, 1, 6144, 4096, false, true, TE_F32},     {1, 6144, 1, 4096, false, false, TE_F32},
        {1, 1, 4096, 4096, false, false, TE_F32},    {1, 7, 13, 17, false, false, TE_F32},
        {1, 97, 89, 101, true, true, TE_F32},        {3, 33, 65, 31, false, true, TE_F32},
        {1, 65536, 1024, 2, false, false, TE_F32},   {1, 65536, 1024, 30522, false, false, TE_F32},
        {64, 128, 128, 64, false, true, TE_F32},     {1, 8, 6144, 4096, false, true, TE_F16},
        {1, 1024, 1024, 1024, false, true, TE_I8},   {1, 1000, 1000, 1001, false, true, TE_I8},
        {1, 256, 256, 256, false, false, TE_I8},     {1, 512, 512, 512, false, false, TE_F64},
        {1, 300, 200, 100, false, true, TE_I64},     {1, 256, 384, 192, false, false, TE_BF16},
        {1, 2000000000, 1, 1, false, false, TE_F32}, {1, 5, 3, 2000000000, false, false, TE_F32},
    };
    int n = 0;
    for (size_t i = 0; i < sizeof mm / sizeof *mm && n < cap; i++) {
        out[n++] = fixture_matmul(mm[i].b, mm[i].m, mm[i].n, mm[i].k, mm[i].ta, mm[i].tb,
                                  mm[i].type);
    }
    static const int64_t conv[][7] = {
        {128, 128, 28, 128, 3, 1, 1}, {1, 64, 56, 64, 1, 1, 0}, {1, 3, 224, 64, 7, 2, 3},
        {128, 256, 30, 256, 3, 2, 0}, {1, 512, 7, 512, 3, 1, 1},
    };
    for (size_t i = 0; i < sizeof conv / sizeof *conv && n < cap; i++) {
        const int64_t *c = conv[i];
        out[n++] = fixture_conv(c[0], c[1], c[2], c[3], c[4], c[5], c[6]);
    }
    static const int64_t maps[] = {1, 31, 4096, 1000003, 334540800};
    for (size_t i = 0; i < sizeof maps / sizeof *maps && n < cap; i++) {
        out[n++] = fixture_map(maps[i], i % 2 ? TE_F16 : TE_F32);
    }
    return n;
}

static void every_candidate_is_legal(Arena *a) {
    static const char *const names[] = {"h200", "a100", "rtx4090", "v100", "tiny"};
    Problem p[64];
    int n = problems(p, 64);
    for (size_t d = 0; d < sizeof names / sizeof *names; d++) {
        Device *dev = fixture_device(a, names[d]);
        for (int i = 0; i < n; i++) {
            ArenaMark mark = arena_mark(a);
            RProgSet set = candidates(a, &p[i], dev);
            assert_true(set.n <= 20000 + 20000 / 2);
            assert_true(set.n > 0 || d == 4);
            int64_t dropped = 0;
            for (int r = 0; r < REJECT_COUNT; r++) dropped += set.rejected[r];
            assert_true(set.enumerated == set.n + dropped);
            for (int j = 0; j < set.n; j++) {
                const char *why = rprog_check(&p[i], dev, &set.prog[j]);
                if (why) fail_msg("%s, problem %d, program %d: %s", names[d], i, j, why);
            }
            arena_reset(a, mark);
        }
    }
}

static void test_candidates(void **state) { run(state, every_candidate_is_legal); }

static void text_round_trip(Arena *a) {
    static const char *const names[] = {"h200", "v100", "tiny"};
    Problem p[64];
    int n = problems(p, 64);
    for (size_t d = 0; d < sizeof names / sizeof *names; d++) {
        Device *dev = fixture_device(a, names[d]);
        for (int i = 0; i < n; i++) {
            ArenaMark mark = arena_mark(a);
            RProgSet set = candidates(a, &p[i], dev);
            for (int j = 0; j < set.n; j += d ? 37 : 1) {
                ArenaMark inner = arena_mark(a);
                RProg given = set.prog[j];
                draw_choices(&p[i], dev, (uint64_t)j, &given);
                RPlan plan = plan_of(&p[i], &given), back = plan_of(&p[i], NULL);
                Buf text = buf_new(a), again = buf_new(a);
                Diag own = diag_new(a);
                rprog_print(&plan, dev, &text);
                if (rprog_read(a, &own, (DiagText){"x", buf_str(&text), text.len}, dev, &back)) {
                    fail_msg("%s\n%s", own.messages[0].message, buf_str(&text));
                }
                if (!same(&back.prog[0], &given)) {
                    fail_msg("%s, problem %d changed:\n%s", names[d], i, buf_str(&text));
                }
                assert_true(rprog_same(&back.prog[0], &given));
                for (int k = j; k >= 0 && k > j - 4; k--)
                    assert_int_equal(rprog_same(&set.prog[k], &given), same(&set.prog[k], &given));
                rprog_print(&back, dev, &again);
                assert_string_equal(buf_str(&again), buf_str(&text));
                arena_reset(a, inner);
            }
            arena_reset(a, mark);
        }
    }
}

static void test_round_trip(void **state) { run(state, text_round_trip); }

static void two_runs_agree(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    Problem p[64];
    int n = problems(p, 64);
    for (int i = 0; i < n; i += 3) {
        RProgSet x = candidates(a, &p[i], dev), y = candidates(a, &p[i], dev);
        assert_int_equal(x.n, y.n);
        for (int j = 0; j < x.n; j++) assert_true(same(&x.prog[j], &y.prog[j]));
    }
}

/* The last position of a box along each axis, in its place.  */
static const int64_t *last_of(IndexBox *box) {
    for (int i = AX_B; i <= AX_N; i++) box->lo[i] = box->hi[i] - 1;
    return box->lo;
}

/* Tiles in the order that rprog.h says, told by loops.  */
static void orders_of_tiles(Arena *a) {
    (void)a;
    enum { B = 2, ROWS = 7, COLUMNS = 5 };
    for (int64_t group = 1; group <= 9; group++) {
        Problem p = fixture_matmul(B, 32 * ROWS - 3, 64 * COLUMNS - 1, 64, false, false, TE_F32);
        RProg r = {.skeleton = SK_CONTRACT, .block = {{1, 32, 64, 8}}};
        int64_t x = 0;
        IndexMap map;
        IndexBox box;
        rprog_set_raster(&p, group, &r);
        index_map(&p, &r, 0, &map);
        assert_int_equal(rprog_raster_rows(&p, &r), group < ROWS ? group : ROWS);
        for (int b = 0; b < B; b++) {
            for (int64_t top = 0; top < ROWS; top += group) {
                for (int n = 0; n < COLUMNS; n++) {
                    for (int64_t m = top; m < top + group && m < ROWS; m++) {
                        index_box(&map, x++, &box);
                        assert_int_equal(box.lo[AX_B], b);
                        assert_int_equal(box.lo[AX_M], m * 32);
                        assert_int_equal(box.lo[AX_N], n * 64);
                        assert_int_equal(index_number(&map, box.lo), x - 1);
                        assert_int_equal(index_number(&map, last_of(&box)), x - 1);
                    }
                }
            }
        }
        assert_int_equal(x, rprog_blocks(&p, &r));
    }
}

static void test_orders_of_tiles(void **state) { run(state, orders_of_tiles); }

static void test_deterministic(void **state) { run(state, two_runs_agree); }

/* A good program for 512^3, and what each broken rule says.  */
static RProg good(Arena *a, Problem *p, Device *dev) {
    static const char text[] =
        "roller-plan 1\nkernel 0\n  skeleton contract\n  unit ffma\n  block 1 128 128 16\n"
        "  warp 1 64 32 16\n  thread 1 8 8 4\n  vec 1 4\n  unroll 8\n  stages 4\n"
        "  a async cp.async.16 vec 4 along k inner k swizzle 1 1 0\n"
        "  b async cp.async.16 vec 4 along n inner n\n  store 4\n  raster grouped 8\n  split 2\n"
        "  blocks_per_sm 1\n";
    RPlan plan = plan_of(p, NULL);
    Diag d = diag_new(a);
    if (rprog_read(a, &d, diag_text("good", text), dev, &plan)) {
        fail_msg("%s: %s", d.messages[0].message, d.messages[0].hint ? d.messages[0].hint : "");
    }
    return plan.prog[0];
}

#define BREAKS(X)                                                                                  \
    X(r.skeleton = SK_STREAM, "skeleton")                                                          \
    X(r.unit = -1, "no such unit")                                                                 \
    X(r.unit = 9999, "no such unit")                                                               \
    X(r.unit = (int16_t)(hal_unit(dev, "imad") - dev->unit), "unit does not compute")              \
    X(r.block.extent[AX_M] = 0, "extent")                                                          \
    X(r.thread.extent[AX_N] = -4, "extent")                                                        \
    X(r.block.extent[5] = 2, "unused axis")                                                        \
    X(r.block.extent[AX_B] = 2, "batch")                                                           \
    X(r.warp.extent[AX_M] = 72; r.block.extent[AX_M] = 144, "power of two")                        \
    X(r.warp.extent[AX_M] = 128, "not 32")                                                         \
    X(r.block.extent[AX_M] = 96, "multiple of the warp tile")                                      \
    X(r.block.extent[AX_M] = 2048, "threads")                                                      \
    X(r.vec_m = 3, "vec")                                                                          \
    X(r.vec_n = 16, "vec")                                                                         \
    X(r.thread.extent[AX_K] = 3, "thread.k")                                                       \
    X(r.thread.extent[AX_K] = 8; r.unroll = 8, "16 bytes")                                         \
    X(r.unroll = 3, "unroll")                                                                      \
    X(r.unroll = 32, "unroll")                                                                     \
    X(r.stages = 0, "stages")                                                                      \
    X(r.stages = 9, "stages")                                                                      \
    X(r.stages = 1, "two stages")                                                                  \
    X(r.load[0].along = AX_N, "axis of the other operand")                                         \
    X(r.load[1].layout.inner = AX_M, "axis of the other operand")                                  \
    X(r.load[0].vec = 8, "wider than")                                                             \
    X(r.load[0].along = AX_M; r.load[0].vec = 4, "wider than")                                     \
    X(r.load[0].layout.inner = AX_M; r.load[0].layout.bits = 0, "cannot turn")                     \
    X(r.load[1].mover = 0, "no such mover")                                                        \
    X(r.load[1].vec = 2, "no such mover")                                                          \
    X(r.load[0].layout.pad = 1; r.load[0].layout.bits = 0; r.load[0].layout.shift = 0, "alignment")\
    X(r.load[0].layout.bits = 3, "alignment")                                                      \
    X(r.load[0].layout.pad = 4, "alignment")                                                       \
    X(r.load[0].raw = true, "such boxes and teams")                                                \
    X(r.load[1].team = 4, "such boxes and teams")                                                  \
    X(r.load[0].modulo = 8, "such boxes and teams")                                                \
    X(r.store_vec = 3, "store_vec")                                                                \
    X(r.store_vec = 8; r.vec_n = 8, "16 bytes")                                                    \
    X(r.raster = (Raster)7, "raster")                                                              \
    X(r.group = 0, "group size")                                                                   \
    X(r.raster = RASTER_ROW, "group size")                                                         \
    X(r.split = 0, "split")                                                                        \
    X(r.split = 33, "split")                                                                       \
    X(r.lanes = 8, "lanes")                                                                        \
    X(r.threads = 128, "derived")                                                                  \
    X(r.smem -= 16, "derived")                                                                     \
    X(r.registers += 8, "derived")                                                                 \
    X(r.blocks_per_sm = 0, "promised")                                                             \
    X(r.blocks_per_sm = 9, "promised")

static void broken_rules(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    Problem p = fixture_matmul(1, 512, 512, 512, false, false, TE_F32);
    const RProg fine = good(a, &p, dev);
    assert_null(rprog_check(&p, dev, &fine));
#define X(change, words)                                                                           \
    {                                                                                              \
        RProg r = fine;                                                                            \
        change;                                                                                    \
        const char *why = rprog_check(&p, dev, &r);                                                \
        if (!why || !strstr(why, words)) fail_msg("%s: %s", #change, why ? why : "accepted");      \
    }
    BREAKS(X)
#undef X
}

static void test_broken_rules(void **state) { run(state, broken_rules); }

/* Rules that need another problem or device.  */
static void rules_of_problems(Arena *a) {
    Device *dev = fixture_device(a, "h200"), *tiny = fixture_device(a, "tiny");
    Problem p = fixture_matmul(1, 512, 512, 512, false, false, TE_F32);
    RProg r = good(a, &p, dev);
    Problem odd = fixture_matmul(1, 512, 510, 512, false, false, TE_F32);
    assert_non_null(strstr(rprog_check(&odd, dev, &r), "wider than"));
    Problem other = p;
    other.con.red = TE_RED_MAX;
    other.con.product = false;
    assert_null(rprog_check(&other, dev, &r));
    other.extent[AX_K] = other.multiple[AX_K] = 508;
    assert_non_null(strstr(rprog_check(&other, dev, &r), "fills with zero"));
    Problem half = fixture_matmul(1, 512, 512, 512, false, false, TE_F16);
    RProg narrow = r;
    narrow.load[0].vec = narrow.load[1].vec = 8;
    assert_non_null(strstr(rprog_check(&half, dev, &narrow), "converted"));
    assert_non_null(rprog_check(&p, tiny, &r));
    Problem map = fixture_map(4096, TE_F32);
    assert_non_null(strstr(rprog_check(&map, dev, &r), "skeleton"));
}

static void test_rules_of_problems(void **state) { run(state, rules_of_problems); }

typedef struct {
    const char *text, *message, *hint;
    int line, column;
} Wrong;

#define HEAD "roller-plan 1\nkernel 0\n"
#define START HEAD "skeleton contract\nunit ffma\n"
static const Wrong wrong[] = {
    {"", "expected 'roller-plan 1'", "--dump=plan", 1, 1},
    {"# only a comment\n", "expected 'roller-plan 1'", NULL, 1, 1},
    {"plan 1\n", "expected 'roller-plan 1', got 'plan'", NULL, 1, 1},
    {"roller-plan 2\n", "2 is out of range", "it can be 1 to 1", 1, 13},
    {"roller-plan\n", "a number is missing", NULL, 1, 12},
    {"roller-plan 1\n", "the plan ends too early", "needs 1 kernels", 2, 1},
    {"roller-plan 1\nunit ffma\n", "expected 'kernel 0', got 'unit'", NULL, 2, 1},
    {"roller-plan 1\nkernel 1\n", "kernels are not in order", NULL, 2, 8},
    {"roller-plan 1\nkernel 0\n", "the kernel has no line 'skeleton'", NULL, 2, 1},
    {HEAD "unit ffma\n", "line 'unit' before 'skeleton'", NULL, 3, 1},
    {HEAD "skeleton loom\n", "unknown word 'loom'", "one of: contract, stream", 3, 10},
    {HEAD "skeleton contract stream\n", "unexpected 'stream'", NULL, 3, 19},
    {START "colour red\n", "unknown line 'colour'", "one of: skeleton, unit, block", 5, 1},
    {START "unit ffma\n", "second line 'unit'", "--dump=plan", 5, 1},
    {HEAD "skeleton contract\n  unit wgmma9\n", "no unit 'wgmma9'", "one of: ", 4, 8},
    {START "block 1 2 3\n", "a number is missing", NULL, 5, 12},
    {START "block 1 2 3 x\n", "expected a number, got 'x'", NULL, 5, 13},
    {START "block 1 2 3 -4\n", "expected a number, got '-4'", NULL, 5, 13},
    {START "block 1 2 3 99999999999999999999999\n", "is out of range", "1 to 1048576", 5, 13},
    {START "stages 256\n", "256 is out of range", "it can be 1 to 255", 5, 8},
    {START "a fast cp.async.16\n", "unknown word 'fast'", "one of: staged, async", 5, 3},
    {START "a async teleport\n", "no mover 'teleport'", "one of: ", 5, 9},
    {START "a async cp.async.16 vec 4 along n\n", "unknown word 'n'", "one of: m, k", 5, 33},
    {START "a async cp.async.16 vec 4 along k inner k pad\n", "a number is missing", NULL, 5, 46},
    {START "a async cp.async.16 vec 4 along k inner k wrap 1\n", "unknown word 'wrap'",
     "one of: pad, swizzle", 5, 43},
    {START "raster grouped\n", "a number is missing", NULL, 5, 15},
    {START "raster snake\n", "unknown word 'snake'", "one of: row, column, grouped", 5, 8},
    {START "block 1 8 8 8\n", "the kernel has no line 'warp'", NULL, 2, 1},
    {HEAD "skeleton row\nunit ffma\nblock 1 8 8 1\nthread 1 1 1 1\nstore 1\nsplit 1\n"
          "keep registers\nblocks_per_sm 1\n",
     "not a legal program", "the skeleton does not fit the statement", 2, 1},
};

static void malformed_texts(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    Problem p = fixture_matmul(1, 512, 512, 512, false, false, TE_F32);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Diag d = diag_new(a);
        RPlan plan = plan_of(&p, NULL);
        const Wrong *w = &wrong[i];
        Status s = rprog_read(a, &d, diag_text("x.plan", w->text), dev, &plan);
        if (s != ST_PLAN_TEXT) fail_msg("accepted: %s", w->text);
        const DiagMessage *m = diag_first_error(&d);
        if (!strstr(m->message, w->message)) fail_msg("%s\ngave %s", w->text, m->message);
        if (w->hint) assert_non_null(strstr(m->hint ? m->hint : "", w->hint));
        if (m->line != w->line || m->column != w->column) {
            fail_msg("%s\n%s at %d:%d", w->text, m->message, m->line, m->column);
        }
    }
}

static void test_malformed_texts(void **state) { run(state, malformed_texts); }

/* Lines of earlier versions, about how a program was compiled, change nothing.  */
static void retired_lines(Arena *a) {
    static const char *const line[] = {"level 2", "level 3", "fill loop", "fill before"};
    Device *dev = fixture_device(a, "h200");
    Problem p = fixture_matmul(1, 512, 512, 512, false, false, TE_F32);
    RProg r = good(a, &p, dev);
    RPlan plan = plan_of(&p, &r);
    Buf usual = buf_new(a);
    rprog_print(&plan, dev, &usual);
    for (int i = 0; i < 4; i++) {
        const char *text = arena_printf(a, "%s  %s\n", buf_str(&usual), line[i]);
        RPlan back = plan_of(&p, NULL);
        Diag d = diag_new(a);
        assert_int_equal(rprog_read(a, &d, diag_text("x", text), dev, &back), ST_OK);
        Buf again = buf_new(a);
        rprog_print(&back, dev, &again);
        assert_string_equal(buf_str(&again), buf_str(&usual));
    }
}

static void test_retired_lines(void **state) { run(state, retired_lines); }

/* Cut, doubled and changed bytes of a good text: an error or a legal program, never a crash.  */
static void damaged_texts(Arena *a) {
    Device *dev = fixture_device(a, "h200");
    Problem p = fixture_matmul(1, 512, 512, 512, false, false, TE_F32);
    RProg r = good(a, &p, dev);
    RPlan plan = plan_of(&p, &r);
    Buf text = buf_new(a);
    rprog_print(&plan, dev, &text);
    Rng rng = {11};
    for (int i = 0; i < 3000; i++) {
        ArenaMark mark = arena_mark(a);
        char *bytes = arena_strndup(a, buf_str(&text), text.len);
        size_t len = text.len;
        for (uint32_t j = rng_below(&rng, 3); j < 3; j++) {
            uint32_t at = rng_below(&rng, (uint32_t)len);
            if (j == 0) len = at + 1;
            else bytes[at] = (char)(j == 1 ? '0' + rng_below(&rng, 10) : rng_below(&rng, 256));
        }
        RPlan back = plan_of(&p, NULL);
        Diag d = diag_new(a);
        Status s = rprog_read(a, &d, (DiagText){"x", bytes, len}, dev, &back);
        if (s == ST_OK) assert_null(rprog_check(&p, dev, &back.prog[0]));
        else assert_int_equal(s, ST_PLAN_TEXT);
        arena_reset(a, mark);
    }
}

static void test_damaged_texts(void **state) { run(state, damaged_texts); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_candidates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deterministic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_orders_of_tiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_rules, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rules_of_problems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_malformed_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_retired_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_texts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
