/* links: driver */
/* Statements over rows of a product whose sizes are known at run time: every kind of program at
 * sizes of 1, odd ones, those beside its tiles and the largest, on the simulator against te_eval,
 * in no more workspace than is promised for them.  LONG=1 runs every kind for every op.  */
#include "effort.h"
#include "plan_fixture.h"
#include "stats_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const struct {
    const char *name, *text;
    bool exact;
    unsigned kinds;           /* bit k: stats_kinds[k] is run every time */
} op[] = {
    {"rows", "param M = 0..70; op f(A: f16[M,32], B: f16[32,88], g: f16[88]) ->"
     " (C: f32[M,88], S: f32[M], Y: f16[M,88]) { C[m,n] += A[m,k] * B[k,n];"
     " S[m] = max[n](C[m,n]); Y[m,n] = (C[m,n] - S[m]) * g[n]; }",
     false, 0x003},
    {"batches and rows", "param B = 0..3, M = 1..40; op f(Q: f16[B,M,32], K: f16[B,72,32]) ->"
     " S: f32[B,M,72] { t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]) / 4; m[b,i] = max[j](t[b,i,j]);"
     " z[b,i] = sum[j](exp(t[b,i,j] - m[b,i])); S[b,i,j] = exp(t[b,i,j] - m[b,i]) / z[b,i]; }",
     false, 0x80c},
    {"columns", "param N = 1..150; op f(A: f32[37,20], B: f32[N,20]) -> (S: f32[37], H: f32[37],"
     " Y: f32[37,N]) { C[m,n] += A[m,k] * B[n,k]; S[m] = sum[n](C[m,n]); H[m] = max[n](C[m,n]);"
     " Y[m,n] = C[m,n] - H[m]; }",
     true, 0x403},
    {"promised columns", "param M = 1..40, N = 8..144 % 8; op f(A: f16[M,32], B: f16[32,N]) ->"
     " Y: f16[M,N] { C[m,n] += A[m,k] * B[k,n]; s[m] = max[n](C[m,n]); Y[m,n] = C[m,n] - s[m]; }",
     true, 0x1030},
    {"scores", "param B = 1..2, S = 1..140, D = 8..24 % 8; op f(Q: f16[B,S,3,D], K: f16[B,S,3,D])"
     " -> P: f16[B,3,S,S] { t[b,h,i,j] = sum[d](Q[b,i,h,d] * K[b,j,h,d]) * 0.25;"
     " m[b,h,i] = max[j](t[b,h,i,j]); z[b,h,i] = sum[j](exp(t[b,h,i,j] - m[b,h,i]));"
     " P[b,h,i,j] = exp(t[b,h,i,j] - m[b,h,i]) / z[b,h,i]; }",
     false, 0x02a},
    {"few rows", "param M = 1..8, N = 8..104 % 8; op f(A: f16[M,48], B: f16[N,48]) -> Y: f32[M,N]"
     " { C[m,n] += A[m,k] * B[n,k]; s[m] = min[n](C[m,n]); Y[m,n] = C[m,n] - s[m]; }",
     true, 0x63c0},
    {"moments", "param M = 0..30, N = 1..140; op f(A: f32[M,24], B: f32[N,24], R: f32[M,N]) ->"
     " (V: f32[M], Y: f32[M,N]) { C[m,n] += A[m,k] * B[n,k]; T[m,n] = C[m,n] + R[m,n];"
     " a[m] = sum[n](T[m,n]) / N; V[m] = sum[n]((T[m,n] - a[m]) * (T[m,n] - a[m])) / N;"
     " Y[m,n] = (T[m,n] - a[m]) * rsqrt(V[m] + 1.0); }",
     false, 0x003},
    {"f64", "param M = 1..20, N = 1..60; op f(A: f64[M,24], B: f64[24,N]) -> (S: f64[M],"
     " Y: f64[M,N]) { C[m,n] += A[m,k] * B[k,n]; S[m] = sum[n](C[m,n]); Y[m,n] = C[m,n] - S[m]; }",
     true, 0x002},
};
enum { OPS = sizeof op / sizeof *op };

/* The run-time size that an axis of the product is; -1: none.  */
static int size_along(const KernelCase *c, AxisClass axis) {
    const Problem *p = &c->plan.problem[0];
    const FusedAxis *x = &p->con.axis[axis];
    for (int i = 0; i < x->n; i++) {
        const TeExpr *e = p->te->stmt[p->group->root].index[x->index[i]].hi.expr;
        if (e && e->kind == TE_SIZE) return e->v.ref;
    }
    return -1;
}

/* Number `which` of the sizes that are tried: the largest, the smallest, beside a tile's end, and
 * others by seed.  */
static bool sizes_of(const KernelCase *c, const Te *te, int which, Rng *rng, int64_t *size) {
    const RProg *r = &c->plan.prog[0];
    int m = size_along(c, AX_M), n = size_along(c, AX_N);
    for (int z = 0; z < te->n_size; z++) {
        const TeSize *s = &te->size[z];
        if (s->kind != TE_SIZE_RUNTIME) continue;
        int64_t q = s->extent.multiple, tile = r->block.extent[z == n ? AX_N : AX_M];
        int64_t lo = s->extent.min / q * q, hi = s->extent.value / q * q, v = hi;
        if (lo < s->extent.min) lo += q;
        if (which == 1) v = lo;
        if (which > 1 && which < 5) v = z == m || z == n ? tile + (which - 3) * q : hi;
        if (which > 4) v = lo + rng_below(rng, (uint32_t)((hi - lo) / q) + 1) * q;
        v = v / q * q;
        size[z] = v < lo ? lo : v > hi ? hi : v;
    }
    return which < (effort_long() ? 9 : 6);
}

static const char *run_sizes(KernelCase *c, bool exact, uint64_t seed) {
    Rng rng = {seed};
    const Te *te = c->te, *fixed;
    int64_t size[TE_MAX_SIZES] = {0}, smallest = INT64_MAX, most = 0;
    const char *wrong = NULL;
    for (int which = 0; !wrong && sizes_of(c, te, which, &rng, size); which++) {
        if (te_specialize(c->arena, &c->diag, te, size, &fixed)) return "sizes";
        KernelCase x = *c;
        x.te = (Te *)(uintptr_t)fixed;
        x.size = size;
        int64_t bytes = cg_workspace(te, &c->program, size);
        if (c->program.strategy->workspace.n == 1) {         /* what the launch description says */
            int64_t said = te_extent_eval(te, c->program.strategy->buffer_bytes, size);
            if (said < bytes || said > c->program.workspace_bytes) return "another workspace";
        }
        smallest = bytes < smallest ? bytes : smallest;
        most = bytes > most ? bytes : most;
        wrong = kernel_run(&x, exact ? TE_FILL_INTEGERS : TE_FILL_REALS, seed, exact);
        for (int z = 0; z < te->n_size && wrong; z++)
            wrong = arena_printf(c->arena, "%s = %lld, %s", te->size[z].name, (long long)size[z],
                                 wrong);
    }
    if (!wrong && c->plan.prog[0].stats == STATS_PARTIAL && smallest == most)
        wrong = "the workspace does not grow";
    return wrong;
}

static void test_kernels(void **state) {
    (void)state;
    enum { MANY = 6 };
    bool all = effort_long();
    int failed = 0, ran[STATS_KINDS] = {0};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    const Device *dev = fixture_device(a, "a100");
    assert_int_equal(nvrtc_open(a, &d, NULL, "sm_80", &nvrtc), ST_OK);
    for (int i = 0; i < OPS; i++) {
        ArenaMark outer = arena_mark(a);
        KernelCase c = {0};
        const char *wrong = kernel_open_decided(&c, a, dev, op[i].text, NULL, JOINED);
        if (!wrong && (c.plan.n != 1 || !c.plan.group[0].stats)) wrong = "not one kernel group";
        if (wrong) print_error("%s: %s\n", op[i].name, wrong);
        failed += wrong != NULL;
        for (int s = 0; s < (all ? MANY : 1) * STATS_KINDS && !wrong; s++) {
            ArenaMark mark = arena_mark(a);
            KernelCase x = c;
            RProg own;
            int kind = s % STATS_KINDS;
            if (!all && !(op[i].kinds >> kind & 1)) continue;
            x.plan.prog = &own;
            if (!stats_pick(&x, stats_kinds[kind], (uint64_t)(s * OPS + i + 1))) continue;
            wrong = rprog_check(&x.plan.problem[0], x.dev, &x.plan.prog[0]);
            if (!wrong) wrong = kernel_emit(&x);
            if (!wrong) wrong = kernel_compile(&x, nvrtc, false);
            if (!wrong) wrong = run_sizes(&x, op[i].exact, (uint64_t)(i + s) + 1);
            ran[kind]++;
            failed += wrong != NULL;
            if (wrong) print_error("%s\n", kernel_report(&x, op[i].name, wrong));
            arena_reset(a, mark);
        }
        arena_reset(a, outer);
    }
    assert_int_equal(failed, 0);
    for (int i = 0; i < STATS_KINDS; i++) {
        if (ran[i] == 0) fail_msg("no program of kind %d", i);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
