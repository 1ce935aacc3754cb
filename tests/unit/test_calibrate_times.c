/* Calibration from files of times: a GPU of known rates is found again, and what is wrong in a file
 * is told with its place.  Needs no device.  */
#include "arena_fixture.h"
#include "base/file.h"
#include "driver/profile/calibrate.h"
#include "driver/profile/calibrate_samples.h"
#include "driver/pipeline/compile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PRODUCT "op product(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] " \
                "{ C[m,n] += A[m,k] * B[k,n]; }"
#define ADD "op add(X: f32[N], Y: f32[N]) -> Z: f32[N] { Z[n] = X[n] + Y[n]; }"

static Device *dev, slow;
static const char *folder;

static int setup(void **state) {
    (void)state;
    const char *build = getenv("BUILD");
    arena = arena_create(NULL);
    diag = diag_new(arena);
    folder = arena_printf(arena, "%s/times-%ld", build ? build : "build", (long)getpid());
    must(file_make_folders(&diag, folder));
    must(hal_profile_find(arena, &diag, "a100", "profiles", NULL, &dev));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    static const char *const name[] = {"times.csv", "add.te", "add.plan"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        unlink(arena_printf(arena, "%s/%s", folder, name[i]));
    rmdir(folder);
    arena_destroy(arena);
    return 0;
}

static int fresh(void **state) {
    (void)state;
    diag = diag_new(arena);
    return 0;
}

static const char *file(const char *name, const char *text) {
    const char *path = arena_printf(arena, "%s/%s", folder, name);
    must(file_write(&diag, path, text, strlen(text)));
    return path;
}

/* The first plan of an op: its predicted time on the slow GPU, its text, its product's tile.  */
static double planned(const char *text, const char **plan, const char **tile) {
    Te *te;
    PlanSet set;
    WholePlan whole;
    double us = 0;
    CompileOptions o = {.top = 1, .workspace_limit = -1};
    must(te_parse(arena, &diag, diag_text("op", text), NULL, NULL, &te));
    must(compile_plan(arena, &diag, &(PlanRequest){te, dev, &o}, &set));
    compile_choose(arena, &set, 0, &whole);
    for (int g = 0; g < rplan_groups(&whole.rplan); g++) {
        Estimate e;
        mp_estimate(&whole.rplan.problem[g], &whole.rplan.prog[g], &slow, &e);
        us += e.us;
    }
    Buf out = buf_new(arena);
    rprog_print(&whole.rplan, dev, &out);
    *plan = buf_str(&out);
    const RProg *r = &whole.rplan.prog[0];
    *tile = arena_printf(arena, "%dx%dx%d/%dx%d", r->block.extent[AX_M], r->block.extent[AX_N],
                         r->block.extent[AX_K], r->warp.extent[AX_M], r->warp.extent[AX_N]);
    return us;
}

static const Factor *factor_of(const Calibration *c, const char *name) {
    for (int i = 0; i < c->dev->n_factor; i++)
        if (!strcmp(c->dev->factor[i].name, name)) return &c->dev->factor[i];
    return NULL;
}

/* A GPU with 0.7 of the multiply-adds: products by their tiles, in a file with a comment and a
 * column of its own.  One row is no kernel of ours, and is told.  */
static void a_slower_unit(void **state) {
    (void)state;
    static const int size[] = {1024, 2048, 3072, 4096, 6144};
    Buf csv = buf_new(arena);
    const char *plan, *tile;
    slow = *dev;
    slow.unit = ARENA_ARRAY(arena, ComputeUnit, dev->n_unit);
    memcpy(slow.unit, dev->unit, (size_t)dev->n_unit * sizeof *slow.unit);
    for (int i = 0; i < slow.n_unit; i++) {
        if (strcmp(slow.unit[i].name, "ffma") != 0) continue;
        slow.unit[i].rate.value *= 0.7;
    }
    buf_puts(&csv, "# from nowhere\nsizes,us,note,tile,op\n");
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        double us = planned(arena_printf(arena, "param M = %d, N = %d, K = %d; " PRODUCT, size[i],
                                         size[i], 1024), &plan, &tile);
        buf_printf(&csv, "M=%d;N=%d;K=1024,%.6f,x,%s,\"" PRODUCT "\"\n", size[i], size[i], us,
                   tile);
    }
    buf_puts(&csv, "M=512;N=512;K=512,10,,7x128x32,\"" PRODUCT "\"\n");
    Calibration c;
    must(calibrate_times(arena, &diag, dev, file("times.csv", buf_str(&csv)), &c));
    assert_int_equal(c.n, 6);
    const Factor *ffma = factor_of(&c, "ffma");
    assert_true(ffma && c.dev->calibrated);
    if (fabs(ffma->value - 0.7) > 0.03) fail_msg("ffma %g", ffma->value);
    assert_string_equal(ffma->kernels, "product");
    assert_int_equal(ffma->samples, 5);
    assert_string_equal(c.kernel[0].name, "product, line 3");
    assert_null(c.kernel[0].failed);
    for (int i = 0; i < 5; i++)
        if (fabs(c.kernel[i].after_us / c.kernel[i].us - 1) > 0.03) fail_msg("row %d", i);
    assert_non_null(strstr(c.kernel[5].failed, "no plan of ours has the tile 7x128x32; near it"));
}

/* A GPU with 0.8 of the DRAM, by plans in files.  */
static void slower_memory(void **state) {
    (void)state;
    Buf csv = buf_new(arena);
    const char *plan = "", *tile;
    slow = *dev;
    MemoryLevel *dram = &slow.memory[LEVEL_DRAM];
    dram->read.value *= 0.8;
    dram->write.value *= 0.8;
    dram->copy.value *= 0.8;
    buf_puts(&csv, "op,sizes,plan,us\n");
    for (int n = 1 << 24; n <= 1 << 27; n *= 2) {
        double us = planned(arena_printf(arena, "param N = %d; " ADD, n), &plan, &tile);
        buf_printf(&csv, "add.te,N=%d,add.plan,%.6f\n", n, us);
    }
    file("add.te", "param N = 1;\n" ADD "\n");
    file("add.plan", plan);
    Calibration c;
    must(calibrate_times(arena, &diag, dev, file("times.csv", buf_str(&csv)), &c));
    const Factor *read = factor_of(&c, "dram.read");
    assert_true(read && fabs(read->value - 0.8) < 0.03);
    assert_string_equal(read->kernels, "add");
    assert_true(c.verdict.with < 0.1 * c.verdict.without);
}

static void what_is_wrong(void **state) {
    (void)state;
#define ROW "\"" PRODUCT "\",M=512;N=512;K=512"
    static const struct {
        const char *text;
        Status status;
        int line, column;
        const char *message;
    } row[] = {
        {"", ST_ARGS, 1, 1, "no column 'op'"},
        {"op,us\n", ST_ARGS, 1, 1, "no column 'plan'"},
        {"op,plan\n", ST_ARGS, 1, 1, "no column 'us'"},
        {"op,tile,us\nx.te,8x8x8\n", ST_ARGS, 2, 1, "2 fields, where the first line names more"},
        {"op,tile,us\nx.te,8x8x8,0\n", ST_ARGS, 2, 12, "'0' is no time"},
        {"op,tile,us\n\nx.te,8x8x8,1e\n", ST_ARGS, 3, 12, "'1e' is no time"},
        {"op,sizes,us,tile\nx.te,M,1,8x8x8\n", ST_ARGS, 2, 6, "'M' is no size"},
        {"op,sizes,us,tile\nx.te,M=1..9,1,8x8x8\n", ST_ARGS, 2, 6, "'M=1..9' is no size"},
        {"us,op,sizes,tile\n1," ROW ",8x8\n", ST_ARGS, 2, 106, "'8x8' is no tile"},
        {"us,op,sizes,tile\n1," ROW ",8x8x8/4\n", ST_ARGS, 2, 106, "'8x8x8/4' is no tile"},
        {"us,op,sizes,tile\n1," ROW ",\n", ST_ARGS, 2, 106, "neither a plan nor a tile"},
        {"us,op,sizes,tile,plan\n1," ROW ",8x8x8,p\n", ST_ARGS, 2, 106,
         "a plan and a tile: one of them is wanted"},
        {"op,tile,us\n\"op k(A: f32[M])\",8x8x8,1\n", ST_TE, 1, 16,
         "expected '->' before the end of the file"},
        {"op,tile,us\n", ST_CHECK, 0, 0, "only 0 kernels could be timed"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Calibration c;
        fresh(NULL);
        Status s = calibrate_times(arena, &diag, dev, file("times.csv", row[i].text), &c);
        const DiagMessage *m = diag_first_error(&diag);
        if (s != row[i].status || !m || m->line != row[i].line || m->column != row[i].column ||
            strcmp(m->message, row[i].message) != 0)
            fail_msg("row %d: %d, %d:%d %s", (int)i, s, m ? m->line : 0, m ? m->column : 0,
                     m ? m->message : "");
    }
}

/* What is wrong with a file that a row names lies there; which row it was is told.  */
static void wrong_for_a_file(void **state) {
    (void)state;
    Calibration c;
    file("add.te", "param N = 1;\n" ADD "\n");
    const char *csv = file("times.csv", "op,sizes,tile,us\n\nadd.te,M=4,8x8x8,1\n");
    assert_int_equal(calibrate_times(arena, &diag, dev, csv, &c), ST_TE);
    const DiagMessage *m = diag_first_error(&diag);
    assert_string_equal(m->message, "-D M: the file has no such param");
    assert_non_null(strstr(m->hint, "its params are N; line 3 of "));
}

/* Of five times an addition, and one product, the product comes among the first two: another
 * addition tells nothing new.  */
static void order(void **state) {
    (void)state;
    enum { N = 6, ODD = 4 };
    CalibrateSample s[N];
    for (int i = 0; i < N; i++) {
        Te *te;
        PlanSet *set = ARENA_NEW(arena, PlanSet);
        WholePlan *whole = ARENA_NEW(arena, WholePlan);
        CompileOptions o = {.top = 1, .workspace_limit = -1};
        const char *text = i == ODD ? "param M = 4096, N = 4096, K = 1024; " PRODUCT
                                    : arena_printf(arena, "param N = %d; " ADD, 1 << (20 + i));
        must(te_parse(arena, &diag, diag_text("op", text), NULL, NULL, &te));
        must(compile_plan(arena, &diag, &(PlanRequest){te, dev, &o}, set));
        compile_choose(arena, set, 0, whole);
        s[i] = (CalibrateSample){.name = "k", .family = "k", .plan = &whole->rplan};
    }
    s[0].failed = "it did";
    int *first = calibrate_order(arena, dev, s, N);
    assert_true(first[0] == ODD || first[1] == ODD);
    assert_int_equal(first[N - 1], 0);
    unsigned seen = 0;
    for (int i = 0; i < N; i++) seen |= 1u << first[i];
    assert_int_equal(seen, (1u << N) - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_slower_unit, fresh),
        cmocka_unit_test_setup(slower_memory, fresh),
        cmocka_unit_test_setup(what_is_wrong, fresh),
        cmocka_unit_test_setup(wrong_for_a_file, fresh),
        cmocka_unit_test_setup(order, fresh),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
