/* links: sim */
/* Maps whose domain is no whole number of vectors: what is left at its end comes element by
 * element, nothing beyond it is touched, and the rest is moved 16 bytes at a time.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

typedef struct {
    Arena *arena;
    const Device *dev;
    Nvrtc *nvrtc;
} Bench;

static Bench bench(const char *profile) {
    Bench b = {.arena = arena_create(NULL)};
    Diag d = diag_new(b.arena);
    b.dev = fixture_device(b.arena, profile);
    assert_int_equal(nvrtc_open(b.arena, &d, NULL, b.dev->arch, &b.nvrtc), ST_OK);
    return b;
}

static void good(KernelCase *c, const char *what, const char *wrong) {
    if (wrong) fail_msg("%s", kernel_report(c, what, wrong));
}

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

static void build(const Bench *b, KernelCase *c, const char *text) {
    good(c, text, kernel_open(c, b->arena, b->dev, text, NULL));
    assert_int_equal(pick_rest(c), c->plan.n);
    for (int g = 0; g < c->plan.n; g++)
        good(c, text, rprog_check(&c->plan.problem[g], c->dev, &c->plan.prog[g]));
    good(c, text, kernel_emit(c));
    good(c, text, kernel_compile(c, b->nvrtc, false));
}

static void run(KernelCase *c, const char *text, uint64_t seed) {
    if (te_exact(c->te)) good(c, text, kernel_run(c, TE_FILL_INTEGERS, seed, true));
    good(c, text, kernel_run(c, TE_FILL_REALS, seed, false));
}

/* ---- every type ---- */

static void test_map_types(void **state) {
    (void)state;
    static const int columns[] = {7, 333};
    Bench b = bench("h200");
    for (TeDtype t = 0; t < TE_DTYPE_COUNT; t++) {
        const char *name = te_dtype_name(t);
        ArenaMark mark = arena_mark(b.arena);
        for (size_t i = 0; i < sizeof columns / sizeof *columns && te_dtype_bytes(t) < 8; i++) {
            KernelCase c;
            const char *text = arena_printf(
                b.arena, t == TE_BOOL ? "op f(X: %s[3,%d], b: %s[%d]) -> Y: %s[3,%d] {"
                                        " Y[i,j] = X[i,j] && !b[j]; }"
                                      : "op f(X: %s[3,%d], b: %s[%d]) -> Y: %s[3,%d] {"
                                        " Y[i,j] = %s(X[i,j] * 2 + b[j]); }",
                name, columns[i], name, columns[i], name, columns[i], name);
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
    Bench b = bench("a100");
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

static void sweep(const Bench *b, const char *text, int most) {
    static const int more[] = {1023, 1024, 1025, 4097, 50257};
    KernelCase c;
    build(b, &c, text);
    const Te *te = c.te;
    for (int n = 1; n <= 40; n++) {
        ArenaMark mark = arena_mark(b->arena);
        run_at(&c, te, text, 1 + n % 3, n);
        arena_reset(b->arena, mark);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more && more[i] <= most; i++) {
        ArenaMark mark = arena_mark(b->arena);
        run_at(&c, te, text, 3, more[i]);
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
    Bench b = bench("h200");
    for (size_t i = 0; i < sizeof op / sizeof *op; i++)
        sweep(&b, op[i], effort_long() ? INT32_MAX : 4097);
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
    Bench b = bench("h200");
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_map_types),
                                       cmocka_unit_test(test_maps),
                                       cmocka_unit_test(test_map_sizes),
                                       cmocka_unit_test(test_map_requests)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
