/* links: sim */
/* Rings of stages whose tensor maps depend on run-time sizes: every family of tiles and grids at
 * the smallest and the largest sizes, beside its tiles' ends and between, on the simulator against
 * te_eval, bit for bit.  The first op's sizes leave blocks of clusters without a tile.  LONG=1
 * takes every family for every op, RING_CASE=TEXT those whose name has it.  */
#include "base/hash.h"
#include "effort.h"
#include "plan_fixture.h"
#include "ring_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *unit, *text;
} op[] = {
    {"all three", "wgmma.f16.f32",
     "param M = 0..400, N = 8..200 % 8, K = 0..272 % 8; op f(A: f16[M,K], B: f16[N,K]) ->"
     " C: f32[M,N] { C[m,n] += A[m,k] * B[n,k]; }"},
    {"batch and rows", "wgmma.bf16.f32",
     "param B = 0..3, S = 1..150, K = 64..320 % 64; op f(A: bf16[B,S,K], W: bf16[K,72],"
     " z: bf16[72]) -> C: bf16[B,S,72] { t[b,s,n] += A[b,s,k] * W[k,n];"
     " C[b,s,n] = max(t[b,s,n] + z[n], 0); }"},
    {"batches", "wgmma.f16.f32",
     "param B = 1..2, H = 1..3, M = 8..136 % 8, N = 16..80 % 8; op f(Q: f16[B,M,H,64],"
     " T: f16[B,N,H,64]) -> S: f16[B,H,M,N] { S[b,h,m,n] += Q[b,m,h,k] * T[b,n,h,k]; }"},
    {"a part", "wgmma.i8.i32",
     "param M = 16..272 % 16, K = 32..400 % 16; op f(A: i8[M+8,K+32], B: i8[48,K]) -> C: i32[M,48]"
     " { C[m,n] += A[m+8,k+16] * B[n,k]; }"},
    {"images", "wgmma.f16.f32",
     "param N = 0..5, F = 8..136 % 8; op f(X: f16[N,9,8,64], W: f16[F,3,3,64]) -> Y: f16[N,5,4,F]"
     " { Y[n,p,q,f] += (X[n,2*p+r-1,2*q+s-1,c] else 0) * W[f,r,s,c]; }"},
    {"images of any size", "wgmma.f16.f32",
     "param N = 0..5, H = 1..12, W = 2..15; op f(X: f16[N,H,W,64], F: f16[72,3,3,64]) ->"
     " Y: f16[N,H,W,72] { Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * F[f,r,s,c]; }"},
    {"corners of any size", "wgmma.f16.f32",
     "param N = 1..4, H = 3..12, W = 4..15; let P = (H + 1) / 2; let Q = W - 3;"
     " op f(X: f16[N,H,W,64], F: f16[72,3,3,64]) -> Y: f16[N,P,Q,72]"
     " { Y[n,p,q,f] += (X[n,2*p+r-1,q+s+1,c] else 0) * F[f,r,s,c]; }"},
    {"guarded ends", "wgmma.f16.f32",
     "param M = 8..264 % 8; op f(A: f16[M,192], B: f16[180,200]) -> C: f16[M,208]"
     " { C[m,n] += A[m,k] * (B[k,n] else 0) where n in 208, k in 192; }"},
    {"its own product", "wgmma.f16.f32",
     "param M = 8..264 % 8; op f(A: f16[136,M]) -> C: f16[M,M] { C[m,n] += A[k,m] * A[k,n]; }"},
};
enum { OPS = sizeof op / sizeof *op, SIZES = 7 };

/* Number `which` of the sizes that are tried.  */
static void sizes_of(const Te *te, const RProg *r, int which, Rng *rng, int64_t *size) {
    for (int z = 0; z < te->n_size; z++) {
        const TeSize *s = &te->size[z];
        if (s->kind != TE_SIZE_RUNTIME) continue;
        int64_t q = s->extent.multiple, lo = s->extent.min, hi = s->extent.value / q * q;
        lo = (lo + q - 1) / q * q;
        int64_t tile = r->block.extent[AX_M + z % 3];
        int64_t v = which == 0 ? hi : which == 1 ? lo : which < 4 ? (tile + q * (which - 2)) / q * q
                    : lo + rng_below(rng, (uint32_t)((hi - lo) / q) + 1) * q;
        size[z] = v < lo ? lo : v > hi ? hi : v;
    }
}

static const char *run_sizes(KernelCase *c, uint64_t seed) {
    Rng rng = {seed};
    const char *wrong = NULL;
    for (int which = 0; which < SIZES && !wrong; which++) {
        int64_t size[TE_MAX_SIZES] = {0};
        const Te *fixed;
        sizes_of(c->te, &c->plan.prog[0], which, &rng, size);
        if (te_specialize(c->arena, &c->diag, c->te, size, &fixed)) return "sizes";
        KernelCase x = *c;
        x.te = (Te *)(uintptr_t)fixed;
        x.size = size;
        wrong = kernel_run(&x, TE_FILL_INTEGERS, seed, true);
        for (int z = 0; z < c->te->n_size && wrong; z++)
            wrong = arena_printf(c->arena, "%s = %lld, %s", c->te->size[z].name,
                                 (long long)size[z], wrong);
    }
    return wrong;
}

static const char *run(Arena *a, Nvrtc *nvrtc, const Device *dev, int i, const RingFamily *f) {
    KernelCase c = {0};
    const char *wrong = kernel_open(&c, a, dev, op[i].text, NULL);
    if (!wrong) wrong = ring_plan(&c, ring_unit_of(dev, op[i].unit), f, 256);
    if (!wrong && i == 0 && c.plan.prog[0].cluster != f->cluster) wrong = "it has no clusters";
    if (!wrong) wrong = kernel_emit(&c);
    if (!wrong) wrong = kernel_compile(&c, nvrtc, true);
    if (!wrong && c.code.kernel[0].spill_loads) wrong = "it spills";
    if (!wrong) wrong = run_sizes(&c, effort_seed());
    return wrong ? kernel_report(&c, arena_printf(a, "%s, %s", op[i].name, f->name), wrong) : NULL;
}

static void test_sizes(void **state) {
    (void)state;
    enum { DRAWN = 31 };
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    Device *dev = fixture_device(a, "h100");
    const char *only = getenv("RING_CASE");
    int failed = 0, kernels = 0;
    dev->limits.sm_count.value = 4;           /* so that blocks which stay have several tiles */
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    for (int i = 0; i < OPS; i++) {
        for (int f = 0; f < RING_FAMILIES; f++) {
            if (ring_family[f].tail) continue;            /* for static sizes */
            ArenaMark mark = arena_mark(a);
            const char *name = arena_printf(a, "%s, %s", op[i].name, ring_family[f].name);
            if (only ? !strstr(name, only) : !effort_drawn(i * RING_FAMILIES + f, DRAWN)) continue;
            const char *wrong = run(a, nvrtc, dev, i, &ring_family[f]);
            if (wrong) print_error("%s\n", wrong);
            failed += wrong != NULL;
            kernels++;
            arena_reset(a, mark);
        }
    }
    print_message("%d kernels at %d sizes each\n", kernels, SIZES);
    assert_int_equal(failed, 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
