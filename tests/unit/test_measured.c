/* Published kernel times: rows, what they compute, and the tiles that kernels' names tell.  */
#include "arena_fixture.h"
#include "measured_row.h"
#include "te/te.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD "source,gpu,op,dtype,sizes,kernel,grid,time_us\n"

static Status read_text(Arena *a, Diag *d, const char *text, MeasuredRows *out) {
    char path[] = "/tmp/measured.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    Status s = measured_read(a, d, path, out);
    unlink(path);
    return s;
}

static void rows_are_read(void **state) {
    static const char *const bad[] = {HEAD "a,b,c\n", HEAD "s,g,bmm,f32,M=1;N=x,k,,1\n",
                                      HEAD "s,g,bmm,f32,M=1,k,,0\n",
                                      HEAD "s,g,bmm,f32,M=1,k,,1,2\n"};
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    MeasuredRows rows;
    const char *good = HEAD "s,g,bmm,f32,B=2;M=3;N=4;K=5,kern,1x2x3/64,7.5\r\n";
    assert_int_equal(read_text(a, &d, good, &rows), ST_OK);
    assert_int_equal(rows.n, 1);
    assert_int_equal(measured_size(&rows.row[0], "K", 0), 5);
    assert_int_equal(measured_size(&rows.row[0], "Z", 9), 9);
    assert_true(rows.row[0].us == 7.5 && measured_flop(&rows.row[0]) == 2.0 * 2 * 3 * 4 * 5);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(read_text(a, &d, bad[i], &rows), ST_IO);
    arena_destroy(a);
}

static MeasuredTile tile_of(const char *op, const char *kernel, const char *grid, int64_t m,
                            int64_t n) {
    MeasuredRow r = {.op = op, .kernel = kernel, .grid = grid, .n_size = 2, .name = {"M", "N"},
                     .value = {m, n}};
    MeasuredTile t;
    assert_true(measured_tile(&r, &t));
    return t;
}

/* The grid tells which side of the tile lies along N, and along which axis neighbours do.  */
static void tiles_are_told(void **state) {
    (void)state;
    MeasuredTile t = tile_of("linear", "volta_sgemm_128x64_tn", "4x3x2/128", 256, 384);
    assert_true(t.n == 128 && t.m == 64 && t.k == 8 && t.split == 2 && t.threads == 128);
    assert_int_equal(t.group, 1);
    t = tile_of("bmm", "xmma_sgemm_128x64x8_nn_stage3_warps2x2x1", "8x1x384/128", 1024, 64);
    assert_true(t.m == 128 && t.n == 64 && t.stages == 3 && t.split == 1 && t.group >= 8);
    t = tile_of("linear", "xmma_sgemm_128x64x8_tn_stage3_warps2x2x1", "8x16x1/128", 1024, 1024);
    assert_true(t.m == 128 && t.n == 64 && t.group >= 8);
    t = tile_of("linear", "ampere_sgemm_32x32_sliced1x4_tn", "2x2x1/128", 64, 64);
    assert_true(t.slices == 4 && t.stages == 2);
    t = tile_of("linear", "cutlass_80_simt_sgemm_128x256_8x4_tn_align1", "1x1x1/256", 128, 256);
    assert_true(t.stages == 4 && t.k == 8);
    t = tile_of("gemm_nt", "s1688_128x64x32x2x1", "", 1024, 1024);
    assert_true(t.matrix && t.n == 128 && t.m == 64 && t.k == 32 && t.warps_n == 2 &&
                t.warps_m == 1 && t.threads == 64 && t.group == 8);
    MeasuredRow other = {.op = "softmax", .kernel = "cunn_SoftMaxForward", .grid = "1x1x1/32"};
    assert_false(measured_tile(&other, &t));
}

/* Every operator and type of the files has an expression that the language takes.  */
static void files_have_expressions(void **state) {
    static const char *const file[] = {"cutlass_tiles", "deepbench", "neusight_conv",
                                       "neusight_gemm", "neusight_vector", "vidur_f16",
                                       "xla_gemm"};
    (void)state;
    Arena *a = arena_create(NULL);
    for (size_t f = 0; f < sizeof file / sizeof *file; f++) {
        Diag d = diag_new(a);
        MeasuredRows rows;
        char path[128];
        snprintf(path, sizeof path, "benchmarks/measured/data/%s.csv", file[f]);
        assert_int_equal(measured_read(a, &d, path, &rows), ST_OK);
        assert_true(rows.n > 50);
        const char *op = "", *dtype = "";
        for (int i = 0; i < rows.n; i++) {
            const MeasuredRow *r = &rows.row[i];
            Buf text = buf_new(a);
            Te *te;
            if (strcmp(op, r->op) == 0 && strcmp(dtype, r->dtype) == 0) continue;
            if (!measured_te(r, &text)) fail_msg("%s: no expression for %s", file[f], r->op);
            if (te_parse(a, &d, (DiagText){"row", buf_str(&text), text.len}, NULL, NULL, &te))
                fail_msg("%s\n%s", buf_str(&text), diag_first_error(&d)->message);
            op = r->op;
            dtype = r->dtype;
        }
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_read),
                                       cmocka_unit_test(tiles_are_told),
                                       cmocka_unit_test(files_have_expressions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
