/* Blocks that stay for several tiles are as many as the device holds: roller_load asks, and
 * roller_launch has so many, on boards whose GPCs have other SMs than the profile says.  */
#define _XOPEN_SOURCE 700
#include "base/arena.h"
#include "hal/cuda.h"
#include "plan_fixture.h"
#include "roller.h"
#include "simulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { M = 2048, N = 1024, K = 64, TILE_M = 64, TILE_N = 128, TILES = M / TILE_M * (N / TILE_N) };
static const char te[] = "op f(A: f16[2048,64], B: f16[1024,64]) -> C: f16[2048,1024] {"
                         " C[m,n] += A[m,k] * B[n,k]; }";
static const char plan[] =
    "roller-plan 1\nkernel 0\n  skeleton contract\n  unit wgmma.f16.f32\n"
    "  block 1 64 128 64\n  warp 1 64 128 64\n  thread 1 64 128 16\n  vec 1 2\n  unroll 64\n"
    "  stages 6\n"
    "  a tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
    "  b tile tma.tile vec 8 along k inner k swizzle 3 0 0\n"
    "  store 2 boxes\n  raster row %spersistent\n  split 1\n  blocks_per_sm 1\n";

/* SMs of the GPCs of a board.  */
enum { GPCS = 8 };
typedef struct {
    const char *name;
    int sms[GPCS];
} Board;
static const Board board[] = {
    {"even", {16, 16, 16, 16, 16, 16, 18, 18}},
    {"uneven", {14, 16, 16, 16, 16, 18, 18, 18}},
    {"short", {6, 18, 18, 18, 18, 18, 18, 18}},
    {"few", {10, 10, 10, 10, 10, 10, 10, 8}},
};
enum { BOARDS = sizeof board / sizeof *board, SIZES = 4 };
static const int cluster[SIZES] = {1, 2, 4, 8};

static char folder[] = "/tmp/roller-resident-XXXXXX";
static Arena *arena;
static RollerCtx *ctx;

/* Clusters of so many blocks, each of which lies in one GPC.  */
static int held(const Board *b, int size) {
    int n = 0;
    for (int i = 0; i < GPCS; i++) n += b->sms[i] / size;
    return n;
}

static const char *file(const char *name) { return arena_printf(arena, "%s/%s", folder, name); }

static void write_board(const Board *b) {
    Device *d = fixture_device(arena, "h200");
    Curve *c = &d->limits.clusters_resident;
    c->px = ARENA_ARRAY(arena, double, SIZES);
    c->py = ARENA_ARRAY(arena, double, SIZES);
    c->n = SIZES;
    for (int i = 0; i < SIZES; i++) {
        c->px[i] = cluster[i];
        c->py[i] = held(b, cluster[i]);
    }
    d->limits.sm_count.value = held(b, 1);
    d->name = b->name;
    Buf text = buf_new(arena);
    hal_profile_write(d, &text);
    FILE *f = fopen(file(arena_printf(arena, "%s.json", b->name)), "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.text, 1, text.len, f), text.len);
    fclose(f);
}

static int setup(void **state) {
    (void)state;
    arena = arena_create(NULL);
    if (!mkdtemp(folder)) return -1;
    const char *all = "";
    for (int i = 0; i < BOARDS; i++) {
        write_board(&board[i]);
        const char *path = file(arena_printf(arena, "%s.json", board[i].name));
        all = arena_printf(arena, "%s%s%s", all, i ? "," : "", path);
    }
    simulated_setup(all);
    setenv("ROLLER_PROFILE_PATH", "profiles", 1);
    setenv("ROLLER_SIM_LAUNCHES", file("launches"), 1);
    return roller_ctx_create(NULL, &ctx) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    roller_ctx_destroy(ctx);
    for (int i = 0; i < BOARDS; i++)
        unlink(file(arena_printf(arena, "%s.json", board[i].name)));
    unlink(file("launches"));
    rmdir(folder);
    arena_destroy(arena);
    return 0;
}

static RollerKernel *compile(int size) {
    const char *text = arena_printf(arena, plan, size > 1 ? arena_printf(arena, "cluster %d ", size)
                                                          : "");
    RollerProfile *profile;
    RollerOp *op = NULL;
    RollerPlans *plans = NULL;
    RollerKernel *k = NULL;
    RollerStatus s = roller_profile_load(ctx, "h200", &profile);
    if (!s) s = roller_parse(ctx, te, strlen(te), "f.te", NULL, &op);
    if (!s) s = roller_plan_read(ctx, op, profile, text, strlen(text), "f.plan", NULL, &plans);
    if (!s) s = roller_build(ctx, roller_plans_get(plans, 0), NULL, &k);
    if (s) fail_msg("%s", roller_error(ctx)->message);
    roller_plans_destroy(plans);
    roller_op_destroy(op);
    roller_profile_destroy(profile);
    return k;
}

/* Blocks of the newest launch.  */
static int launched(void) {
    char line[256] = "";
    int blocks = 0;
    FILE *f = fopen(file("launches"), "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) sscanf(line, "%*s grid %d,1,1", &blocks);
    fclose(f);
    return blocks;
}

static void launch(RollerExec *exec, int device) {
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Cuda *cuda;
    CudaContext *context;
    CudaAddress at[3];
    int64_t shape[3][2] = {{M, K}, {N, K}, {M, N}};
    RollerTensor t[3];
    assert_int_equal(cuda_open(a, &d, NULL, &cuda), ST_OK);
    assert_int_equal(cuda_context(cuda, a, &d, device, &context), ST_OK);
    assert_int_equal(cuda_enter(context, a, &d), ST_OK);
    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)(2 * shape[i][0] * shape[i][1]);
        assert_int_equal(cuda_alloc(context, a, &d, bytes, &at[i]), ST_OK);
        assert_int_equal(cuda_fill(context, &d, NULL, at[i], 0, bytes), ST_OK);
        t[i] = (RollerTensor){.data = (void *)(uintptr_t)at[i], .device = {2, device}, .ndim = 2,
                              .dtype = {2, 16, 1}, .shape = shape[i]};
    }
    assert_int_equal(roller_launch(exec, t, 2, &t[2], 1, NULL, 0, NULL), ROLLER_OK);
    assert_int_equal(cuda_synchronize(context, &d), ST_OK);
    arena_destroy(a);
}

static void asks_the_device(void **state) {
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        RollerKernel *k = compile(cluster[s]);
        RollerLaunchInfo info = {.struct_size = sizeof info};
        assert_int_equal(roller_kernel_launch_info(k, 0, &info), ROLLER_OK);
        assert_true(info.resident);
        for (int b = 0; b < BOARDS; b++) {
            int most = held(&board[b], cluster[s]) * cluster[s];
            RollerExec *exec;
            assert_int_equal(roller_load(k, b, &exec), ROLLER_OK);
            launch(exec, b);
            assert_int_equal(launched(), most < TILES ? most : TILES);
            roller_exec_destroy(exec);
        }
        roller_kernel_destroy(k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(asks_the_device)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
