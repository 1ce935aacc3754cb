/* links: sim */
/* Machine code of the chosen plans for matrix units: no spills, no local memory, and as many
 * products, matrix loads and copies as the plan says, in all and in each k-step.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"
#include "sass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
} problem[] = {
    {"gemm f16 4096", "param M = 4096, N = 4096, K = 4096; op f(A: f16[M,K], B: f16[N,K]) ->"
     " C: f16[M,N] { C[m,n] += A[m,k] * B[n,k]; }"},
    {"gemm bf16 nn", "param M = 2048, N = 5120, K = 5120; op f(A: bf16[M,K], B: bf16[K,N]) ->"
     " C: bf16[M,N] { C[m,n] += A[m,k] * B[k,n]; }"},
    {"decode", "param M = 16, N = 4096, K = 11008; op f(A: f16[M,K], B: f16[N,K]) ->"
     " C: f16[M,N] { C[m,n] += A[m,k] * B[n,k]; }"},
    /* 18 steps of a short body: the whole loop fits what ptxas unrolls.  */
    {"few steps", "op f(A: f16[16,2880], B: f16[5760,2880]) -> C: f16[16,5760] {"
     " C[m,n] += A[m,k] * B[n,k]; }"},
    /* A short body in slices of k, which are a number of steps that the compiler could see.  */
    {"i8 weights", "op f(A: f16[16,25600], B: i8[5120,25600]) -> C: f16[16,5120] {"
     " C[m,n] += A[m,k] * B[n,k]; }"},
    {"weights beside bf16", "param M = 16, N = 5120, K = 8192; op f(A: bf16[M,K], B: i8[N,K],"
     " s: f32[N]) -> C: bf16[M,N] { t[m,n] += A[m,k] * B[n,k]; C[m,n] = t[m,n] * s[n]; }"},
    {"decode f8", "param M = 32, N = 4096, K = 11008; op f(A: f8e4m3[M,K], B: f8e4m3[N,K]) ->"
     " C: bf16[M,N] { C[m,n] += A[m,k] * B[n,k] @accum(f32); }"},
    {"gemm i8", "param M = 1024, N = 4096, K = 4096; op f(A: i8[M,K], B: i8[N,K], s: f32[N]) ->"
     " C: f16[M,N] { t[m,n] += A[m,k] * B[n,k]; C[m,n] = f32(t[m,n]) * s[n]; }"},
    {"bias gelu", "param M = 1280, N = 3072, K = 768; op f(A: f16[M,K], B: f16[K,N], b: f16[N]) ->"
     " C: f16[M,N] { t[m,n] += A[m,k] * B[k,n]; u[m,n] = t[m,n] + b[n];"
     " C[m,n] = 0.5 * u[m,n] * (1.0 + erf(u[m,n] * 0.70710678)); }"},
    {"bmm", "op f(A: f16[384,80,64], B: f16[384,80,64]) -> C: f16[384,80,80] {"
     " C[b,m,n] += A[b,m,k] * B[b,n,k]; }"},
    {"conv", "param N=32, C=64, H=56, W=56, F=64; op f(X: f16[N,H,W,C], K: f16[F,3,3,C]) ->"
     " Y: f16[N,H,W,F] { Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[f,r,s,c]; }"},
    {"stem", "op f(X: f16[32,224,224,3], K: f16[7,7,3,64]) -> Y: f16[32,112,112,64] {"
     " Y[n,p,q,f] += (X[n,p*2+r-3,q*2+s-3,c] else 0) * K[r,s,c,f]; }"},
    {"stem nchw", "op f(X: f16[32,3,224,224], K: f16[64,3,7,7]) -> Y: f16[32,64,112,112] {"
     " Y[n,f,p,q] += (X[n,c,p*2+r-3,q*2+s-3] else 0) * K[f,c,r,s]; }"},
    {"gemm tf32", "param M = 1024, N = 1024, K = 1024; op f(A: f32[M,K], B: f32[N,K]) ->"
     " C: f32[M,N] { C[m,n] += A[m,k] * B[n,k] @tf32; }"},
};
enum { PROBLEMS = sizeof problem / sizeof *problem };
static const char *const device[] = {"t4", "a100", "rtx4090", "h200", "rtx5090"};
enum { DEVICES = sizeof device / sizeof *device };

enum { HMMA = 0x23c, IMMA = 0x237, LDSM = 0x83b, LDS = 0x984, LDGSTS = 0xfae, LDL = 0x983,
       STL = 0x387, BRA = 0x947, BRA_UNIFORM = 0x547,
       F2I = 0x305 };  /* part of every division by an integer that is no constant */

static int64_t along(const RTile *outer, const RTile *inner, int axis) {
    return outer->extent[axis] / inner->extent[axis];
}

/* Of an operand's reads in a k-step those that are no ldmatrix: places of k in a region.  */
static int64_t places(const RProg *r, int side) {
    return r->load[side].region ? along(&r->warp, &r->thread, AX_K) : 0;
}

/* Of the k-loop, and the first slice's fragments and the first stages in front of it.  */
static const char *count(KernelCase *c, const uint32_t *code) {
    const Problem *p = &c->plan.problem[0];
    const RProg *r = &c->plan.prog[0];
    int64_t products = 1, reads = 0, copies = 0;
    bool region = false;
    if (rprog_tiles(p, r, AX_K) == 1) return NULL; /* no loop */
    for (int axis = AX_M; axis <= AX_K; axis++) products *= along(&r->warp, &r->thread, axis);
    products *= rprog_products(p, c->dev, r);
    for (int side = 0; side < 2; side++) {
        int64_t n = rprog_fragment_reads(p, c->dev, r, side) - places(r, side);
        int own = side ? AX_N : AX_M;
        int64_t elements = (int64_t)r->block.extent[own] * r->block.extent[AX_K];
        int64_t vectors = elements / r->load[side].vec;
        if (!rprog_ldmatrix(p, c->dev, r, side)) return NULL;
        reads += n;
        if (rprog_fetched_ahead(c->dev, r, side)) reads += n / along(&r->warp, &r->thread, AX_K);
        region |= r->load[side].region;
        if (r->load[side].kind == LOAD_ASYNC && !r->load[side].region)
            copies += 2 * ((vectors + r->threads - 1) / r->threads);
    }
    int64_t got[] = {code[HMMA] + code[IMMA], code[LDSM], code[LDGSTS]};
    int64_t want[] = {products, reads, copies};
    static const char *const what[] = {"products", "matrix loads", "copies"};
    for (int i = 0; i < 3; i++) {
        /* Many copies of the first stages are a loop of groups, those of a region a loop of its
         * own beside them.  */
        bool grouped = i == 2 && got[i] > want[i] / 2 && (got[i] < want[i] || region);
        if (got[i] != want[i] && !grouped)
            return arena_printf(c->arena, "%lld %s, expected %lld", (long long)got[i], what[i],
                                (long long)want[i]);
    }
    return NULL;
}

/* Do all loads of a step go to shared memory by themselves, so that it needs no branch?  */
static bool copies_only(const KernelCase *c) {
    const RProg *r = &c->plan.prog[0];
    for (int side = 0; side < 2; side++) {
        if (!r->load[side].region && r->load[side].kind != LOAD_ASYNC) return false;
    }
    return true;
}

/* Instructions of one k-step; false: they cannot be told.  */
static bool count_step(KernelCase *c, const char **wrong) {
    const Problem *p = &c->plan.problem[0];
    const RProg *r = &c->plan.prog[0];
    uint32_t code[4096];
    int cc = c->dev->cc_major * 10 + c->dev->cc_minor;
    const char *kernel = c->program.kernel[0].symbol;
    bool found = false;
    for (int i = 0; i < 2 && !found; i++)
        found = sass_loop_opcodes(c->code.cubin, c->code.cubin_len, kernel, cc, i ? IMMA : HMMA,
                                   code);
    *wrong = NULL;
    if (rprog_tiles(p, r, AX_K) == 1) return false;
    if (!found) *wrong = "no loop over k-steps";
    if (!found) return true;
    int64_t want[4] = {rprog_products(p, c->dev, r), 0, 0, 0};
    for (int axis = AX_M; axis <= AX_K; axis++) want[0] *= along(&r->warp, &r->thread, axis);
    for (int side = 0; side < 2; side++) {
        int64_t elements = (int64_t)r->block.extent[side ? AX_N : AX_M] * r->block.extent[AX_K];
        int64_t vectors = elements / r->load[side].vec;
        int64_t reads = rprog_fragment_reads(p, c->dev, r, side);
        if (r->load[side].region) {
            bool matrices = rprog_ldmatrix(p, c->dev, r, side);
            if (matrices) want[1] += reads - places(r, side);
            want[3] += matrices ? places(r, side) : reads;
            continue;
        }
        bool fours = rprog_reads_fours(r, side);
        if (!fours && !rprog_ldmatrix(p, c->dev, r, side)) return false;
        want[fours ? 3 : 1] += reads;
        if (r->load[side].kind == LOAD_ASYNC)
            want[2] += (vectors + r->threads - 1) / r->threads;
    }
    int64_t got[4] = {code[HMMA] + code[IMMA], code[LDSM], code[LDGSTS], code[LDS]};
    for (int i = 0; i < 3 + (want[3] > 0); i++) {
        if (got[i] != want[i])
            *wrong = arena_printf(c->arena, "a k-step has %lld, %lld, %lld, %lld products, matrix "
                                  "loads, copies, reads, expected %lld, %lld, %lld, %lld",
                                  (long long)got[0], (long long)got[1], (long long)got[2],
                                  (long long)got[3], (long long)want[0], (long long)want[1],
                                  (long long)want[2], (long long)want[3]);
    }
    uint32_t branches = code[BRA] + code[BRA_UNIFORM];
    if (copies_only(c) && branches != 1)
        *wrong = arena_printf(c->arena, "%u branches in the loop over k-steps", branches);
    return true;
}

/* Is there a unit for the types of the problem?  */
static bool has_unit(const Device *dev, const char *text) {
    const char *wanted = strstr(text, "bf16") ? ".bf16." : strstr(text, "@tf32") ? ".tf32." : ".";
    for (int i = 0; i < dev->n_unit; i++) {
        if (strncmp(dev->unit[i].name, "mma.", 4) == 0 && strstr(dev->unit[i].name, wanted))
            return true;
    }
    return false;
}

/* Where the last group of tile rows is smaller, a block finds its tile by one division.  */
static uint32_t divisions(const KernelCase *c) {
    const RProg *r = &c->plan.prog[0];
    return r->raster == RASTER_GROUPED && rprog_tiles(&c->plan.problem[0], r, AX_M) % r->group != 0;
}

/* Leaves the programs for units of warps, which this is about.  */
static void keep_warps(KernelCase *c) {
    RProgSet *set = &c->set[0];
    int n = 0;
    for (int i = 0; i < set->n; i++)
        if (!c->dev->unit[set->prog[i].unit].b_smem) set->prog[n++] = set->prog[i];
    set->n = n;
}

static const char *judge(KernelCase *c, int *loops) {
    uint32_t code[4096];
    const RProg *r = &c->plan.prog[0];
    if (r->skeleton != SK_CONTRACT || !rprog_matrix(c->dev, r)) return "no matrix unit was chosen";
    for (int i = 0; i < c->code.n_kernel; i++) {
        const KernelResources *x = &c->code.kernel[i];
        if (x->spill_loads || x->spill_stores || x->stack) return "spills";
        if (!sass_opcodes(c->code.cubin, c->code.cubin_len, x->kernel, code)) return "no code";
        if (code[LDL] || code[STL]) return "local memory";
        if (code[F2I] > divisions(c)) return "a division";
    }
    if (!sass_opcodes(c->code.cubin, c->code.cubin_len, c->program.kernel[0].symbol, code))
        return "no code";
    const char *wrong = count(c, code), *in_step;
    *loops += count_step(c, &in_step);
    return wrong ? wrong : in_step;
}

/* A plan that needs 264 registers where 232 are expected: rows may lie beyond the end, and where K
 * is a power of two ptxas keeps a pointer for each of their copies.  The units of warpgroups, which
 * are left out here, are faster there.  */
static bool is_known_to_spill(const Device *dev, const char *name) {
    return strcmp(dev->name, "h200") == 0 && strcmp(name, "gemm tf32") == 0;
}

static void test_code(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    const char *only = getenv("MMA_CASE");
    int failed = 0, loops = 0;
    for (int v = 0; v < DEVICES; v++) {
        Device *dev = fixture_device(a, device[v]);
        Nvrtc *nvrtc;
        assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
        for (int i = 0; i < PROBLEMS; i++) {
            if (only && !strstr(problem[i].name, only)) continue;
            if (!has_unit(dev, problem[i].text) || !effort_drawn(i + v, 5)) continue;
            ArenaMark mark = arena_mark(a);
            KernelCase c;
            const char *wrong = kernel_open(&c, a, dev, problem[i].text, NULL);
            if (!wrong) keep_warps(&c);
            if (!wrong) wrong = kernel_pick(&c, 0);
            if (!wrong) wrong = kernel_emit(&c);
            if (!wrong) wrong = kernel_compile(&c, nvrtc, true);
            if (!wrong) wrong = judge(&c, &loops);
            if (is_known_to_spill(dev, problem[i].name))
                wrong = wrong && strcmp(wrong, "spills") == 0 ? NULL : "spills no more";
            failed += wrong != NULL;
            if (wrong)
                print_error("%s: %s\n", dev->name, kernel_report(&c, problem[i].name, wrong));
            arena_reset(a, mark);
        }
    }
    print_message("%d loops over k-steps\n", loops);
    assert_int_equal(failed, 0);
    assert_true(loops > 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
