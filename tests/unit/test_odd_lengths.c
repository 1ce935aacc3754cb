/* links: sim */
/* Maps and rows that are no whole number of vectors: what is left at the end of a map, and at both
 * ends of a row, comes element by element, nothing beyond it is touched, and the rest is moved 16
 * bytes at a time.  */
#include "base/hash.h"
#include "effort.h"
#include "kernel_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

/* Of each group the first program that leaves a rest, the widest and largest ones first; how many
 * groups have one.  */
static int pick_rest(KernelCase *c) {
    int found = 0;
    for (int g = 0; g < c->plan.n; g++) {
        const RProg *best = NULL;
        for (int i = 0; i < c->set[g].n; i++) {
            const RProg *r = &c->set[g].prog[i];
            bool rest = r->skeleton == SK_STREAM && rprog_stream_rest(&c->plan.problem[g], r);
            if (rest && (!best || r->store_vec > best->store_vec)) best = r;
        }
        c->plan.prog[g] = best ? *best : c->set[g].prog[0];
        found += best != NULL;
    }
    return found;
}

/* Some program whose rows have ends and are kept so, in slices or not; false: there is none.  */
static bool pick_ends(KernelCase *c, RowKeep keep, bool sliced, uint64_t seed) {
    const Problem *p = &c->plan.problem[0];
    Rng rng = {seed};
    int n = 0;
    if (c->plan.n != 1 || !p->row) return false;
    for (int i = 0; i < c->set[0].n; i++) {
        const RProg *r = &c->set[0].prog[i];
        if (r->keep != keep || (r->split > 1) != sliced || !rprog_row_ends(p, r)) continue;
        if (rng_below(&rng, (uint32_t)++n) == 0) c->plan.prog[0] = *r;
    }
    return n > 0;
}

static void compile(const KernelBench *b, KernelCase *c, const char *text) {
    for (int g = 0; g < c->plan.n; g++)
        kernel_good(c, text, rprog_check(&c->plan.problem[g], c->dev, &c->plan.prog[g]));
    kernel_good(c, text, kernel_emit(c));
    kernel_good(c, text, kernel_compile(c, b->nvrtc, false));
}

static void build(const KernelBench *b, KernelCase *c, const char *text) {
    kernel_good(c, text, kernel_open(c, b->arena, b->dev, text, NULL));
    assert_int_equal(pick_rest(c), c->plan.n);
    compile(b, c, text);
}

static void run(KernelCase *c, const char *text, uint64_t seed) {
    if (te_exact(c->te)) kernel_good(c, text, kernel_run(c, TE_FILL_INTEGERS, seed, true));
    kernel_good(c, text, kernel_run(c, TE_FILL_REALS, seed, false));
}

/* ---- every type ---- */

static void test_map_types(void **state) {
    (void)state;
    static const int columns[] = {7, 333};
    KernelBench b = kernel_bench("h200");
    for (TeDtype t = 0; t < TE_DTYPE_COUNT; t++) {
        const char *name = te_dtype_name(t);
        ArenaMark mark = arena_mark(b.arena);
        for (size_t i = 0; i < sizeof columns / sizeof *columns && te_dtype_bytes(t) < 8; i++) {
            KernelCase c;
            int n = columns[i] + (t == TE_F4E2M1);    /* whose rows are of whole bytes */
            const char *text = arena_printf(
                b.arena, t == TE_BOOL ? "op f(X: %s[3,%d], b: %s[%d]) -> Y: %s[3,%d] {"
                                        " Y[i,j] = X[i,j] && !b[j]; }"
                                      : "op f(X: %s[3,%d], b: %s[%d]) -> Y: %s[3,%d] {"
                                        " Y[i,j] = %s(X[i,j] * 2 + b[j]); }",
                name, n, name, n, name, n, name);
            build(&b, &c, text);
            run(&c, text, i + 1);
        }
        arena_reset(b.arena, mark);
    }
    arena_destroy(b.arena);
}

/* ---- static sizes ---- */

static const char *const maps[] = {
    "op f(X: f16[4097], W: f16[4097]) -> (Y: f16[4097], Z: f32[4097]) {"
    " Y[n] = X[n] * W[n]; Z[n] = Y[n] + 1.0; }",
    "op f(X: f64[1023], I: i64[1023]) -> Y: f64[1023] { Y[n] = I[n] > 0 ? X[n] : -X[n]; }",
    "op f(X: i8[5,5,7], s: f32) -> (Y: f16[5,5,7], Z: i8[5,5,7]) {"
    " Y[i,j,k] = X[i,j,k] * s; Z[i,j,k] = i8(-X[i,j,k]); }",
    "op f(X: f32[3,5], a: f32[3], b: f32[5]) -> Y: f32[3,5] { Y[i,j] = X[i,j] * a[i] + b[j]; }",
    "op f(X: f16[1025], T: f16[31], I: i32[1025]) -> Y: f16[1025] { Y[n] = X[n] + T[I[n] % 31]; }",
    "op f(X: f16[5,67], W: f16[67,5]) -> Y: f16[5,67] { Y[i,j] = X[i,j] + W[j,i]; }",
    "op f(X: f16[9,33]) -> Y: f16[9,33] { Y[i,j] = X[i,j] + (X[i,j-1] else 0); }",
    "op f(X: u8[300], W: u8[333]) -> Y: u8[297] {"
    " Y[n] = u8(X[n+3] + W[n+32]) where n in 0:297; }",
    "op f(X: f16[129]) -> Y: f16[129] { Y[n] = n < 3 ? 0 : X[n]; }",
    "op f(X: f32[1]) -> Y: f32[1] { Y[n] = X[n] + 1; }",
    "op f(X: f32[3]) -> Y: f32[3] { Y[n] = X[n] + 1; }",
};

static void test_maps(void **state) {
    (void)state;
    KernelBench b = kernel_bench("a100");
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        ArenaMark mark = arena_mark(b.arena);
        KernelCase c;
        build(&b, &c, maps[i]);
        run(&c, maps[i], i);
        arena_reset(b.arena, mark);
    }
    arena_destroy(b.arena);
}

/* ---- run-time sizes: one kernel for all of them ---- */

static void run_at(KernelCase *c, const Te *te, const char *text, int64_t rows, int64_t columns) {
    int64_t size[TE_MAX_SIZES] = {0};
    const Te *fixed;
    for (int z = 0; z < te->n_size; z++) {
        if (te->size[z].kind != TE_SIZE_RUNTIME) continue;
        size[z] = *te->size[z].name == 'M' ? rows : columns;
    }
    assert_int_equal(te_specialize(c->arena, &c->diag, te, size, &fixed), ST_OK);
    c->te = (Te *)(uintptr_t)fixed;
    c->size = size;
    run(c, text, (uint64_t)columns);
}

static void sweep(const KernelBench *b, KernelCase *c, const char *text, int most) {
    static const int more[] = {1023, 1024, 1025, 4097, 50257};
    const Te *te = c->te;
    for (int n = 1; n <= 40; n++) {
        ArenaMark mark = arena_mark(b->arena);
        run_at(c, te, text, 1 + n % 3, n);
        arena_reset(b->arena, mark);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more && more[i] <= most; i++) {
        ArenaMark mark = arena_mark(b->arena);
        run_at(c, te, text, 3, more[i]);
        arena_reset(b->arena, mark);
    }
}

static void test_map_sizes(void **state) {
    (void)state;
    static const char *const op[] = {
        "param N = 1..60000; op f(X: f16[N], W: f16[N]) -> Y: f16[N] { Y[n] = X[n] - W[n]; }",
        "param M = 1..8; param N = 1..60000; op f(X: i8[M,N], b: i8[N]) -> Y: i8[M,N] {"
        " Y[m,n] = i8(X[m,n] + b[n]); }",
        "param M = 1..8; param N = 1..60000; op f(X: f32[N,M,3]) -> Y: f16[N,M,3] {"
        " Y[n,m,k] = X[n,m,k] * 0.5; }",
    };
    KernelBench b = kernel_bench("h200");
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
        KernelCase c;
        build(&b, &c, op[i]);
        sweep(&b, &c, op[i], effort_long() ? INT32_MAX : 4097);
    }
    arena_destroy(b.arena);
}

/* ---- what is moved ---- */

/* A warp asks once for 32 vectors; beside that the rest is one request.  */
static void test_map_requests(void **state) {
    (void)state;
    static const struct {
        const char *type;
        int64_t n;
    } cases[] = {{"f16", 100003}, {"f32", 33333}, {"i8", 50257}};
    KernelBench b = kernel_bench("h200");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        KernelCase c;
        ArenaMark mark = arena_mark(b.arena);
        const char *type = cases[i].type;
        int n = (int)cases[i].n;
        const char *text = arena_printf(
            b.arena, "op f(X: %s[%d], W: %s[%d]) -> Y: %s[%d] { Y[n] = max(X[n], W[n]); }", type, n,
            type, n, type, n);
        build(&b, &c, text);
        run(&c, text, 1);
        int bytes = te_dtype_bytes(c.te->tensor[0].dtype), vec = 16 / bytes;
        uint64_t requests = (uint64_t)((n / vec + 31) / 32 + 1);
        uint64_t sectors = (uint64_t)((n * bytes + 31) / 32);
        assert_int_equal(c.counted.global_load_requests, 2 * requests);
        assert_int_equal(c.counted.global_store_requests, requests);
        assert_int_equal(c.counted.unique_load_sectors, 2 * sectors);
        assert_int_equal(c.counted.unique_store_sectors, sectors);
        /* The rest may share its sector with the last vector.  */
        assert_in_range(c.counted.global_load_sectors, 2 * sectors, 2 * sectors + 2);
        assert_in_range(c.counted.global_store_sectors, sectors, sectors + 1);
        arena_reset(b.arena, mark);
    }
    arena_destroy(b.arena);
}

/* ---- rows ---- */

static const struct {
    const char *text;
    bool other;               /* some tensor's rows begin elsewhere */
} rows[] = {
    {"op f(X: f16[5,1023]) -> Y: f16[5,1023] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }", false},
    {"op f(X: f32[7,333]) -> Y: f16[7,333] { m[n] = max[c](X[n,c]);"
     " z[n] = sum[c](exp(X[n,c] - m[n])); Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }", false},
    {"op f(X: bf16[6,771], g: f32[771], b: bf16[771]) -> Y: bf16[6,771] {"
     " u[n] = sum[c](X[n,c]) / 771; v[n] = sum[c]((X[n,c] - u[n]) * (X[n,c] - u[n])) / 771;"
     " Y[n,c] = (X[n,c] - u[n]) * rsqrt(v[n] + 1.0) * g[c] + b[c]; }", true},
    {"op f(X: f16[4,517], R: f16[4,517]) -> (Z: f16[4,517], Y: f16[4,517]) {"
     " Z[n,c] = X[n,c] + R[n,c]; v[n] = sum[c](Z[n,c] * Z[n,c]) / 517;"
     " Y[n,c] = Z[n,c] * rsqrt(v[n] + 1.0); }", false},
    {"op f(X: i8[9,515]) -> (I: i32[9], M: i8[9]) { I[n] = argmax[c](X[n,c]);"
     " M[n] = max[c](X[n,c]); }", false},
    {"op f(X: f8e4m3[3,161]) -> Y: f8e5m2[3,161] { v[n] = sum[c](X[n,c] * X[n,c]);"
     " Y[n,c] = X[n,c] * rsqrt(v[n] + 1.0); }", false},
    {"op f(X: f64[3,333]) -> (Y: f64[3,333], A: i32[3]) { s[n] = sum[c](X[n,c]);"
     " Y[n,c] = X[n,c] - s[n]; A[n] = argmin[c](X[n,c]); }", false},
    {"op f(X: bool[5,403], Y: bool[5,403]) -> (A: bool[5], E: bool[5]) {"
     " A[n] = all[c](X[n,c] || !Y[n,c]); E[n] = any[c](X[n,c] && Y[n,c]); }", false},
    {"op f(X: f16[4,7,45]) -> (I: i32[4], S: f32[4]) { I[n] = argmax[a,b](X[n,a,b]);"
     " S[n] = sum[a,b](X[n,a,b]); }", false},
    {"op f(X: f16[2,3,302], W: f16[2,3,302] strides(1000,311,1)) -> Y: f16[2,3,302] {"
     " m[a,n] = max[c](X[a,n,c] + W[a,n,c]); Y[a,n,c] = X[a,n,c] + W[a,n,c] - m[a,n]; }", true},
    {"op f(X: f16[4,400]) -> Y: f16[4,391] { s[n] = sum[c](X[n,c+3]) where c in 0:391;"
     " Y[n,c] = X[n,c+3] - s[n] where c in 0:391; }", true},
    {"op f(X: f16[1,70001]) -> S: f32[1] { S[n] = sum[c](X[n,c]); }", false},
    {"op f(X: f16[3,9001]) -> (I: i32[3], Y: f32[3]) { I[n] = argmax[c](X[n,c]);"
     " Y[n] = sum[c](X[n,c]); }", false},
};

static void test_rows(void **state) {
    (void)state;
    int found[KEEP_COUNT][2] = {{0}};
    KernelBench b = kernel_bench("h200");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int way = 0; way < 2 * KEEP_COUNT; way++) {
            ArenaMark mark = arena_mark(b.arena);
            KernelCase c;
            RowKeep keep = (RowKeep)(way / 2);
            const char *text = rows[i].text;
            kernel_good(&c, text, kernel_open(&c, b.arena, b.dev, text, NULL));
            if (pick_ends(&c, keep, way % 2, i + 1)) {
                compile(&b, &c, text);
                run(&c, text, i);
                found[keep][way % 2]++;
            }
            arena_reset(b.arena, mark);
        }
    }
    assert_true(found[KEEP_REGISTERS][0] > 8 && found[KEEP_SHARED][0] > 5);
    assert_true(found[KEEP_MEMORY][0] > 8 && found[KEEP_MEMORY][1] > 8);
    assert_true(found[KEEP_ONLINE][0] > 2 && found[KEEP_ONLINE][1] > 2);
    assert_int_equal(found[KEEP_FLAT][0] + found[KEEP_FLAT][1], 0);
    arena_destroy(b.arena);
}

static void test_row_sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        RowKeep keep;
        bool sliced;
    } cases[] = {
        {"param M = 1..4; param N = 1..2000; op f(X: f16[M,N]) -> Y: f16[M,N] {"
         " m[n] = max[c](X[n,c]); z[n] = sum[c](exp(X[n,c] - m[n]));"
         " Y[n,c] = exp(X[n,c] - m[n]) / z[n]; }", KEEP_REGISTERS, false},
        {"param M = 1..4; param N = 1..60000; op f(X: f16[M,N], g: f16[N]) -> Y: f16[M,N] {"
         " v[n] = sum[c](X[n,c] * X[n,c]) / N; Y[n,c] = X[n,c] * rsqrt(v[n] + 1.0) * g[c]; }",
         KEEP_SHARED, false},
        {"param M = 1..4; param N = 1..60000; op f(X: f16[M,N], W: f16[M,N]) -> Y: f16[M,N] {"
         " m[n] = max[c](X[n,c] + W[n,c]); z[n] = sum[c](exp(X[n,c] + W[n,c] - m[n]));"
         " Y[n,c] = exp(X[n,c] + W[n,c] - m[n]) / z[n]; }", KEEP_ONLINE, false},
        {"param M = 1..4; param N = 1..60000; op f(X: i8[M,N]) -> (I: i32[M], S: i32[M]) {"
         " I[n] = argmax[c](X[n,c]); S[n] = sum[c](i32(X[n,c])); }", KEEP_MEMORY, true},
        {"param M = 1..4; param N = 1..60000; op f(X: f32[M,N]) -> Y: f32[M] {"
         " u[n] = sum[c](X[n,c]) / N; Y[n] = sum[c]((X[n,c] - u[n]) * (X[n,c] - u[n])); }",
         KEEP_ONLINE, true},
    };
    KernelBench b = kernel_bench("a100");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        KernelCase c;
        const char *text = cases[i].text;
        kernel_good(&c, text, kernel_open(&c, b.arena, b.dev, text, NULL));
        assert_true(pick_ends(&c, cases[i].keep, cases[i].sliced, i));
        compile(&b, &c, text);
        sweep(&b, &c, text, cases[i].keep == KEEP_REGISTERS ? 1100
                            : effort_long()                 ? INT32_MAX : 4097);
    }
    arena_destroy(b.arena);
}

/* With 128 threads to a row and one vector each, a warp asks once for its vectors, and the first
 * one once more for the ends.  A request that begins anywhere in a sector takes one more, the ends
 * two.  */
static void test_row_requests(void **state) {
    (void)state;
    enum { ROWS = 40, THREADS = 128, WARPS = 4 };
    static const struct {
        const char *type;
        int columns;
    } cases[] = {{"f16", 1023}, {"f16", 1009}, {"f32", 511}, {"i8", 2041}};
    KernelBench b = kernel_bench("h200");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ArenaMark mark = arena_mark(b.arena);
        KernelCase c;
        const char *type = cases[i].type;
        int n = cases[i].columns, found = 0;
        const char *text = arena_printf(
            b.arena, "op f(X: %s[%d,%d]) -> Y: %s[%d,%d] { m[n] = max[c](X[n,c]);"
            " Y[n,c] = %s(X[n,c] - m[n]); }", type, ROWS, n, type, ROWS, n, type);
        kernel_good(&c, text, kernel_open(&c, b.arena, b.dev, text, NULL));
        int bytes = te_dtype_bytes(c.te->tensor[0].dtype), vec = 16 / bytes;
        for (int k = 0; k < c.set[0].n; k++) {
            const RProg *r = &c.set[0].prog[k];
            if (r->keep != KEEP_REGISTERS || r->store_vec != vec || r->threads != THREADS ||
                rprog_row_threads(r) != THREADS)
                continue;
            c.plan.prog[0] = *r;
            found++;
        }
        assert_int_equal(found, 1);
        compile(&b, &c, text);
        run(&c, text, 1);
        uint64_t requests = ROWS * (WARPS + 1), sectors = (uint64_t)((ROWS * n * bytes + 31) / 32);
        assert_int_equal(c.counted.global_load_requests, requests);
        assert_int_equal(c.counted.global_store_requests, requests);
        assert_int_equal(c.counted.unique_load_sectors, sectors);
        assert_int_equal(c.counted.unique_store_sectors, sectors);
        assert_in_range(c.counted.global_load_sectors, sectors, sectors + ROWS * (WARPS + 2));
        assert_in_range(c.counted.global_store_sectors, sectors, sectors + ROWS * (WARPS + 2));
        arena_reset(b.arena, mark);
    }
    arena_destroy(b.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_map_types),
                                       cmocka_unit_test(test_maps),
                                       cmocka_unit_test(test_map_sizes),
                                       cmocka_unit_test(test_map_requests),
                                       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_row_sizes),
                                       cmocka_unit_test(test_row_requests)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
