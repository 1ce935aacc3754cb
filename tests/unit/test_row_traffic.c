/* Global traffic of row kernels, maps and windows, counted by the simulator: every input is read
 * and every output written once, for rows up to 64 K elements, unless the plan says that passes
 * read again or patches read each other's halo.  */
#include "driver/pipeline/compile.h"
#include "driver/check/run.h"
#include "operators.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

enum { SHORT = 8192 };       /* rows with more programs than are ranked */

static const char softmax[] =
    "op f(X: $T[R,C]) -> Y: $T[R,C] { m[n] = max[c](X[n,c]); z[n] = sum[c](exp(X[n,c] - m[n]));"
    " Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }";
static const char layernorm[] =
    "op f(X: $T[R,C], g: $T[C], b: $T[C]) -> Y: $T[R,C] { u[n] = sum[c](X[n,c]) / C;"
    " v[n] = sum[c]((X[n,c] - u[n]) * (X[n,c] - u[n])) / C;"
    " Y[n,c] = (X[n,c] - u[n]) * rsqrt(v[n] + 1.0) * g[c] + b[c]; }";
static const char rmsnorm[] =
    "op f(X: $T[R,C], R1: $T[R,C], g: $T[C]) -> (Z: $T[R,C], Y: $T[R,C]) {"
    " Z[n,c] = X[n,c] + R1[n,c]; v[n] = sum[c](Z[n,c] * Z[n,c]) / C;"
    " Y[n,c] = Z[n,c] * rsqrt(v[n] + 1.0) * g[c]; }";

static const char sums[] = "op f(X: f32[R,C]) -> Y: f32[R] { Y[n] += X[n,c]; }";
static const char squares[] =
    "op f(X: f16[R,C]) -> (Y: f32[R], Z: f32[R]) { Y[n] = sum[c](X[n,c] * X[n,c]);"
    " Z[n] = max[c](X[n,c]); }";

static void run(Arena *a, Diag *d, const Te *te, const PlanSet *set, const Build *build, Run *out) {
    TeData *in = ARENA_ARRAY(a, TeData, te->n_in);
    for (int i = 0; i < te->n_in; i++) {
        size_t bytes = te_tensor_bytes(&te->tensor[i]);
        in[i] = (TeData){arena_alloc(a, bytes + 16), bytes};
        te_fill(te, i, TE_FILL_REALS, 1, in[i]);
    }
    *out = (Run){
        .te = te, .normal = set->normal, .build = build, .place = {.dev = set->dev}, .data = in};
    assert_int_equal(run_create(out, a, d), ST_OK);
    out->options = (SimOptions){.seed = 1, .threads = 1};
    for (int i = 0; i < build->program.n_kernel; i++)
        assert_int_equal(run_launch(out, a, d, i, NULL, 0), ST_OK);
    assert_int_equal(out->report.faults, 0);
}

/* Sectors of all tensors of a range, and of those that differ between rows.  */
static uint64_t sectors(const Te *te, int from, int n, int least_rank) {
    uint64_t sum = 0;
    for (int i = from; i < from + n; i++) {
        if (te->tensor[i].rank >= least_rank) sum += te_tensor_bytes(&te->tensor[i]) / SECTOR;
    }
    return sum;
}

static void plan(Arena *a, Diag *d, const Device *dev, const char *op, int64_t rows,
                 int64_t columns, const Te **out, PlanSet *set) {
    const TeDefine sizes[] = {{"R", rows, rows, 1}, {"C", columns, columns, 1}};
    const char *text = arena_printf(a, "param R, C; %s", op);
    Te *te;
    assert_int_equal(te_parse(a, d, diag_text("", text), NULL, &(TeDefines){sizes, 2}, &te), ST_OK);
    CompileOptions o = {.workspace_limit = -1, .top = 400};
    assert_int_equal(compile_plan(a, d, &(PlanRequest){te, dev, &o}, set), ST_OK);
    assert_int_equal(set->n_group, 1);
    *out = te;
}

/* With `keep` other than KEEP_COUNT: the best program that keeps rows so.  False if there is none.
 * Elements that the text calls $T have type t.  */
static bool traffic(Arena *a, const Device *dev, const char *op, TeDtype t, int64_t rows,
                    int64_t columns, int keep) {
    Diag d = diag_new(a);
    const Te *te;
    PlanSet set;
    WholePlan whole;
    Build build;
    Run r;
    plan(a, &d, dev, operator_fill(a, op, t), rows, columns, &te, &set);
    int rank = 0;
    for (; keep < KEEP_COUNT && rank < set.n_rank; rank++) {
        if (set.plans[0].ranked[rank].prog.keep == (RowKeep)keep) break;
    }
    if (rank == set.n_rank) return false;
    compile_choose(a, &set, rank, &whole);
    assert_int_equal(compile_build(a, &d, &whole, dev, &(BuildOptions){0}, &build), ST_OK);
    run(a, &d, te, &set, &build, &r);
    const SimCounters *n = &r.report.total;
    const RProg *prog = &whole.rplan.prog[0];
    uint64_t by_row = sectors(te, 0, te->n_in, 2), all = sectors(te, 0, te->n_in, 1);
    uint64_t outputs = sectors(te, te->n_in, te->n_out, 1);
    if (prog->split > 1) {                /* also values of slices, which are few */
        assert_in_range(n->unique_store_sectors, outputs,
                        outputs + (uint64_t)build.program.workspace_bytes);
        assert_true(n->unique_load_sectors >= all);
        return true;
    }
    assert_int_equal(n->unique_store_sectors, outputs);
    /* A program other than the best may touch a sector in two parts.  */
    uint64_t parts = keep < KEEP_COUNT ? 2 : 1, stored = n->unique_store_sectors;
    /* Values of neighbouring rows may come from different warps.  */
    uint64_t pieces = keep == KEEP_FLAT ? SECTOR / 4 : parts;
    assert_in_range(n->global_store_sectors, stored, stored * pieces);
    if (!rprog_row_rereads(prog)) {
        assert_int_equal(n->unique_load_sectors, all);
        uint64_t most = by_row + (uint64_t)rows * (all - by_row);
        assert_in_range(n->global_load_sectors, all, most * parts);
    } else {
        assert_true(n->unique_load_sectors >= all);
        assert_true(n->global_load_sectors >= by_row);
    }
    return true;
}

/* Rows that later passes need fit into shared memory up to its size, beyond that they are read
 * again.  */
static void test_every_place(void **state) {
    (void)state;
    static const struct {
        const char *op;
        TeDtype type;
        int64_t rows, columns;
    } cases[] = {{softmax, TE_F16, 40, 64},     {softmax, TE_F32, 9, 1024},
                 {softmax, TE_F16, 3, 16384},   {softmax, TE_F16, 2, 65536},
                 {softmax, TE_F32, 2, 65536},   {layernorm, TE_F32, 16, 96},
                 {layernorm, TE_F16, 5, 4096},  {layernorm, TE_F32, 2, 32768},
                 {layernorm, TE_F16, 2, 65536}, {layernorm, TE_F32, 1, 65536},
                 {rmsnorm, TE_BF16, 33, 128},   {rmsnorm, TE_F32, 6, 2880},
                 {rmsnorm, TE_F16, 3, 8192},    {rmsnorm, TE_F16, 1, 65536},
                 {rmsnorm, TE_F32, 1, 65536}};
    Arena *a = arena_create(NULL);
    Device *dev = fixture_device(a, "h200");
    int found[KEEP_COUNT + 1] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t bytes = cases[i].columns * te_dtype_bytes(cases[i].type);
        for (int keep = 0; keep <= KEEP_COUNT; keep++) {
            ArenaMark mark = arena_mark(a);
            bool some = traffic(a, dev, cases[i].op, cases[i].type, cases[i].rows,
                                cases[i].columns, keep);
            if (keep == KEEP_SHARED && cases[i].columns > SHORT)
                assert_int_equal(some, bytes <= (int64_t)dev->limits.smem_per_block_optin.value);
            if (keep == KEEP_COUNT) assert_true(some);
            found[keep] += some;
            arena_reset(a, mark);
        }
    }
    for (int keep = 0; keep <= KEEP_COUNT; keep++)
        assert_true(found[keep] >= (keep == KEEP_FLAT ? 3 : 6));
    arena_destroy(a);
}

/* Rows that begin anywhere in a sector: a block's range of them still is read once.  */
static void test_odd_rows(void **state) {
    (void)state;
    static const struct {
        const char *op;
        int64_t rows, columns;
    } cases[] = {{squares, 256, 3}, {sums, 512, 17}, {sums, 128, 121}, {squares, 256, 49},
                 {squares, 96, 130}};
    Arena *a = arena_create(NULL);
    Device *dev = fixture_device(a, "h200");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ArenaMark mark = arena_mark(a);
        assert_true(traffic(a, dev, cases[i].op, TE_F32, cases[i].rows, cases[i].columns,
                            KEEP_FLAT));
        arena_reset(a, mark);
    }
    arena_destroy(a);
}

/* Maps and pools: the same of the best plan, whatever its skeleton.  */
static void test_maps_and_pools(void **state) {
    (void)state;
    static const char chain[] =
        "op f(X: f16[R,C], W: f16[R,C]) -> (Y: f16[R,C], Z: f32[R,C]) {"
        " Y[i,j] = max(X[i,j] + W[i,j], 0); Z[i,j] = exp(Y[i,j]) * W[i,j]; }";
    static const char cast[] = "op f(X: i8[R,C]) -> Y: f32[R,C] { Y[i,j] = X[i,j] * 0.5; }";
    static const char shift[] =
        "op f(X: f32[R,8,C]) -> Y: f32[R,8,C] { Y[i,j,k] = X[i,j,k] * 2 + 1; }";
    static const char broadcast[] =
        "op f(X: f32[R,C], b: f32[C]) -> Y: f16[R,C] { Y[i,j] = max(X[i,j] + b[j], 0); }";
    static const char turn[] = "op f(X: f32[R,C]) -> Y: f32[C,R] { Y[j,i] = X[i,j]; }";
    static const char pool[] =
        "op f(X: f32[R,C,64]) -> Y: f32[R/2,C/2,64] {"
        " Y[p,q,k] max= X[2*p+r,2*q+s,k] where r in 0:2, s in 0:2; }";
    static const struct {
        const char *op;
        int64_t rows, columns;
    } cases[] = {{chain, 64, 512}, {chain, 1, 65536}, {cast, 96, 256}, {pool, 16, 12},
                 {pool, 2, 64},   {shift, 16, 256}, {broadcast, 40, 192}, {turn, 256, 512}};
    Arena *a = arena_create(NULL);
    Device *dev = fixture_device(a, "h200");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ArenaMark mark = arena_mark(a);
        assert_true(traffic(a, dev, cases[i].op, TE_F32, cases[i].rows, cases[i].columns,
                            KEEP_COUNT));
        arena_reset(a, mark);
    }
    arena_destroy(a);
}

/* The best window with inputs kept so: elements beside the halo are asked for once.  */
static void window_traffic(Arena *a, const Device *dev, const char *op, int64_t rows,
                           int64_t columns, RowKeep keep) {
    Diag d = diag_new(a);
    const Te *te;
    PlanSet set;
    WholePlan whole;
    Build build;
    Run r;
    plan(a, &d, dev, op, rows, columns, &te, &set);
    int rank = 0;
    while (rank < set.n_rank) {
        const RProg *x = &set.plans[0].ranked[rank].prog;
        if (x->skeleton == SK_WINDOW && x->keep == keep) break;
        rank++;
    }
    assert_true(rank < set.n_rank);
    compile_choose(a, &set, rank, &whole);
    assert_int_equal(compile_build(a, &d, &whole, dev, &(BuildOptions){0}, &build), ST_OK);
    run(a, &d, te, &set, &build, &r);
    const SimCounters *t = &r.report.total;
    const Problem *p = &whole.rplan.problem[0];
    const RProg *prog = &whole.rplan.prog[0];
    uint64_t inputs = sectors(te, 0, te->n_in, 1), outputs = sectors(te, te->n_in, te->n_out, 1);
    assert_int_equal(t->unique_load_sectors, inputs);
    assert_int_equal(t->unique_store_sectors, outputs);
    assert_in_range(t->global_store_sectors, outputs, 2 * outputs);
    /* Tiles are filled once, patches ask for what their rows hold; runs begin within sectors.  */
    double asked, blocks = (double)rprog_blocks(p, prog);
    if (keep == KEEP_SHARED) {
        WindowTile tile = rprog_window_tile(p, prog);
        asked = blocks * tile.planes * (double)(tile.rows * tile.pitch);
    } else {
        asked = blocks * prog->threads *
                (double)(rprog_window_rows(p, prog, 0) * rprog_window_loads(p, prog, 0) *
                         rprog_window_width(p, prog, 0));
    }
    double most = 3 * asked * p->window.source[0].bytes / SECTOR;
    assert_in_range(t->global_load_sectors, inputs, (uint64_t)most);
}

static void test_windows(void **state) {
    (void)state;
    static const char cross[] =
        "op f(X: f32[R,C]) -> Y: f32[R,C] { Y[i,j] = (X[i-1,j] else 0) + (X[i+1,j] else 0)"
        " + (X[i,j-1] else 0) + (X[i,j+1] else 0) - 4 * X[i,j]; }";
    static const char blur[] =
        "op f(X: f16[R,C]) -> Y: f16[R,C] { Y[i,j] = (X[i-1,j-1] else 0) + (X[i-1,j+1] else 0)"
        " + (X[i+1,j-1] else 0) + (X[i+1,j+1] else 0) + X[i,j]; }";
    static const char pool[] =
        "op f(X: f32[R,C,32]) -> Y: f32[R,C,32] {"
        " Y[n,p,q] max= X[n,p+r-1,q+s-1] else -inf where r in 0:3, s in 0:3; }";
    static const struct {
        const char *op;
        int64_t rows, columns;
    } cases[] = {{cross, 64, 128}, {cross, 33, 512}, {blur, 48, 256}, {pool, 6, 40}};
    Arena *a = arena_create(NULL);
    Device *dev = fixture_device(a, "h200");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (RowKeep keep = KEEP_REGISTERS; keep <= KEEP_SHARED; keep++) {
            ArenaMark mark = arena_mark(a);
            window_traffic(a, dev, cases[i].op, cases[i].rows, cases[i].columns, keep);
            arena_reset(a, mark);
        }
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_place),
                                       cmocka_unit_test(test_odd_rows),
                                       cmocka_unit_test(test_maps_and_pools),
                                       cmocka_unit_test(test_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
