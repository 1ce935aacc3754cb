/* links: sim */
/* Kernels of a program that begin before those before them have ended (griddepcontrol): all but the
 * first one wait, before they touch memory, and so they are right on the simulator, which takes
 * what stands before a wait for as early as can be; one that does not, or too late, is told of.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const char wait[] = "rl_previous_wait();", next[] = "rl_next_may_begin();";

/* ---- the simulator: chains of launches ---- */

/* %a %b: addresses of the thread's word in the two buffers; threads of two warps.  */
#define ENTRY(name, body)                                                                          \
    ".visible .entry " name "(.param .u64 p0, .param .u64 p1)\n{\n.reg .pred %p;\n.reg .b32 %t, "  \
    "%v;\n.reg .b64 %a, %b, %o;\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 32;\n"                  \
    "ld.param.u64 %a, [p0];\nadd.u64 %a, %a, %o;\nld.param.u64 %b, [p1];\nadd.u64 %b, %b, %o;\n"   \
    "mov.b32 %v, 7;\n" body "ret;\n}\n"
#define WAIT "griddepcontrol.wait;\n"
#define WAIT_OF_FIRST "setp.gt.u32 %p, %t, 0;\n@%p bra L;\n" WAIT "L:\n"
#define PUT_A "st.global.b32 [%a], %v;\n"
#define PUT_B "st.global.b32 [%b], %v;\n"
#define GET_A "ld.global.b32 %v, [%a];\n"
static const char ptx[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ENTRY("put", "griddepcontrol.launch_dependents;\n" PUT_A)
    ENTRY("get", WAIT GET_A PUT_B)
    ENTRY("get_early", GET_A WAIT PUT_B)
    ENTRY("get_without", GET_A PUT_B)
    ENTRY("put_early", PUT_A WAIT)
    ENTRY("read", WAIT GET_A)
    ENTRY("other_early", PUT_B WAIT)
    ENTRY("nothing", "")
    ENTRY("wait", WAIT)
    ENTRY("some_wait", "mov.u32 %t, %ctaid.x;\nsetp.ne.u32 %p, %t, 0;\n@%p bra M;\n" WAIT "M:\n")
    ENTRY("one_waits", WAIT_OF_FIRST "bar.sync 0;\n" GET_A PUT_B)
    ENTRY("one_waits_alone", WAIT_OF_FIRST GET_A PUT_B);

enum { CHAIN = 3 };
static const struct {
    const char *kernel[CHAIN];            /* each overlaps with those before it */
    int alone;                /* this one begins when all before it have ended; 0: none */
    bool wrong;
} chain[] = {
    {{"put", "get"}, 0, false},           {{"put", "get_early"}, 0, true},
    {{"put", "get_early"}, 1, false},     {{"put", "get_without"}, 0, true},
    {{"put", "get_without"}, 1, false},   {{"put", "put_early"}, 0, true},
    {{"put", "other_early"}, 0, false},   {{"put", "one_waits"}, 0, false},
    {{"put", "one_waits_alone"}, 0, true},
    /* What is read may not be written yet, either.  */
    {{"read", "put_early"}, 0, true},     {{"read", "put_early"}, 1, false},
    /* A wait is for the launch before, and for those that it has waited for.  */
    {{"put", "wait", "get"}, 0, false},   {{"put", "nothing", "get"}, 0, true},
    {{"put", "some_wait", "get"}, 0, true}, {{"put", "nothing", "get"}, 1, false},
    {{"put", "nothing", "get"}, 2, false}, {{"put", "wait", "get_early"}, 0, false},
};
enum { KERNELS = sizeof chain / sizeof *chain };

static void run_chain(Arena *a, const Device *dev, int c, uint64_t seed) {
    enum { THREADS = 64, BYTES = 2 * THREADS * 32 };
    Diag d = diag_new(a);
    SimGpu *gpu;
    SimModule *m;
    uint64_t param[2];
    assert_int_equal(sim_gpu_create(a, &d, dev, &gpu), ST_OK);
    assert_int_equal(sim_parse(a, &d, "chain.ptx", ptx, strlen(ptx), &m), ST_OK);
    for (int i = 0; i < 2; i++) {
        static const char zeros[BYTES];
        assert_int_equal(sim_malloc(gpu, &d, BYTES, &param[i]), ST_OK);
        assert_int_equal(sim_write(gpu, &d, param[i], zeros, BYTES), ST_OK);
    }
    uint64_t faults = 0;
    for (int i = 0; i < CHAIN && chain[c].kernel[i] && !faults; i++) {
        bool both = !strcmp(chain[c].kernel[i], "some_wait");
        SimLaunch l = {.module = m, .kernel = chain[c].kernel[i],
                       .grid = {both ? 2 : 1, 1, 1}, .block = {THREADS, 1, 1},
                       .overlaps = i > 0 && i != chain[c].alone,
                       .params = param, .params_bytes = sizeof param};
        SimReport report;
        SimOptions o = {.seed = seed, .threads = 1};
        assert_int_equal(sim_launch(gpu, a, &d, &l, &o, &report), ST_OK);
        faults = report.faults;
        if (faults) assert_int_equal(report.fault[0].kind, SIM_BEFORE_WAIT);
    }
    if ((faults > 0) != chain[c].wrong) fail_msg("chain %d: %d faults", c, (int)faults);
}

static void test_chains(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *dev = fixture_device(a, "h200");
    for (int c = 0; c < KERNELS; c++) {
        for (uint64_t seed = 0; seed < 4; seed++) {
            ArenaMark mark = arena_mark(a);
            run_chain(a, dev, c, seed);
            arena_reset(a, mark);
        }
    }
    arena_destroy(a);
}

/* ---- emitted programs ---- */

static const char *const op[] = {
    "op f(A: f16[128,256], B: f16[256,256], W: f16[256,256]) -> (C: f16[128,256],"
    " D: f16[128,256]) { C[m,n] += A[m,k] * B[n,k]; D[m,j] += C[m,n] * W[j,n]; }",
    "op f(A: f16[64,128], B: f16[72,128], W: f16[40,72]) -> D: f16[64,40] {"
    " C[m,n] += A[m,k] * B[n,k]; H[m,n] = f16(max(C[m,n], 0)); D[m,j] += H[m,n] * W[j,n]; }",
    "op f(X: f32[48,80]) -> (S: f32[80], Y: f32[48,80]) { S[n] = sum[m](X[m,n]);"
    " Y[m,n] = X[m,n] - S[n]; }",
    "op f(X: f16[2,8,9,64], W: f16[72,3,3,64]) -> (Y: f16[2,8,9,72], Z: f16[2,72,8,9]) {"
    " t[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]; Y[n,p,q,f] = max(t[n,p,q,f], 0);"
    " Z[n,f,p,q] = Y[n,p,q,f]; }",
    "op f(A: f16[16,1024], B: f16[64,1024]) -> C: f32[16,64] { C[m,n] += A[m,k] * B[n,k]; }",
    "op f(X: f32[4,3000]) -> (Y: f32[4,3000]) { m[i] = max[j](X[i,j]);"
    " s[i] = sum[j](max(X[i,j] - m[i], -4)); Y[i,j] = X[i,j] - m[i] + s[i]; }",
};
enum { OPS = sizeof op / sizeof *op };

static const char *kernel_text(Arena *a, const KernelProgram *p, int i) {
    const char *at = strstr(strstr(p->source, "__global__"), p->kernel[i].symbol);
    const char *end = strstr(at, "\n}\n");
    return arena_printf(a, "%.*s", (int)(end - at), at);
}

/* All kernels but the first wait, all but the last let the next one begin, behind that.  */
static void check_text(Arena *a, const KernelProgram *p) {
    for (int i = 0; i < p->n_kernel; i++) {
        const char *text = kernel_text(a, p, i), *waits = strstr(text, wait);
        const char *lets = strstr(text, next);
        assert_int_equal(waits != NULL, i > 0);
        assert_int_equal(p->kernel[i].waits, i > 0);
        assert_int_equal(lets != NULL, i + 1 < p->n_kernel);
        if (waits && lets) assert_true(waits < lets);
    }
}

static bool drop(KernelCase *c, bool late) {
    const char *from = strstr(strstr(c->program.source, "__global__"), wait), *end;
    if (!from) return false;
    end = strstr(from, "\n}\n") + 1;
    const char *rest = from + strlen(wait);
    c->program.source = arena_printf(c->arena, "%.*s%.*s%s%s", (int)(from - c->program.source),
                                     c->program.source, (int)(end - rest), rest, late ? wait : "",
                                     end);
    c->program.source_len = strlen(c->program.source);
    return true;
}

/* Wait 0: as it is, 1: dropped in the first kernel that has one, 2: at its end.  */
static int check_op(Arena *a, Nvrtc *nvrtc, const Device *dev, int i, uint64_t seed, int mutant) {
    KernelCase c = {0};
    assert_null(kernel_open(&c, a, dev, op[i], NULL));
    const char *wrong = kernel_pick(&c, seed);
    if (!wrong) wrong = kernel_emit(&c);
    if (wrong) fail_msg("op %d, seed %d: %s", i, (int)seed, wrong);
    check_text(a, &c.program);
    if (c.program.n_kernel == 1 || (mutant && !drop(&c, mutant > 1))) return 0;
    wrong = kernel_compile(&c, nvrtc, false);
    if (!wrong) wrong = kernel_run(&c, TE_FILL_INTEGERS, seed, true);
    bool told = wrong && strstr(wrong, "launch before");
    if (!mutant && wrong) fail_msg("%s", kernel_report(&c, op[i], wrong));
    if (mutant && !told)
        fail_msg("op %d, seed %d, wait %s: %s", i, (int)seed, mutant > 1 ? "at the end" : "dropped",
                 wrong ? wrong : "nothing is told");
    return c.program.n_kernel - 1;
}

static void test_programs(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    const Device *dev = fixture_device(a, "h200");
    Nvrtc *nvrtc;
    int waits = 0;
    assert_int_equal(nvrtc_open(a, &d, NULL, dev->arch, &nvrtc), ST_OK);
    for (int i = 0; i < OPS; i++) {
        uint64_t first = (uint64_t)effort_seed(), seeds = effort_long() ? 12 : 1;
        for (uint64_t seed = 0; seed <= seeds; seed++) {
            for (int mutant = 0; mutant < 3; mutant++) {
                ArenaMark mark = arena_mark(a);
                waits += check_op(a, nvrtc, dev, i, seed ? first + seed : 0, mutant);
                arena_reset(a, mark);
            }
        }
    }
    print_message("%d waits\n", waits);
    assert_true(waits > OPS);
    arena_destroy(a);
}

/* None where launches take pointers and scalars alone, or come one after the other.  */
static void test_without(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const Device *h200 = fixture_device(a, "h200");
    const Device *dev[] = {hal_device_plain(a, h200), fixture_device(a, "a100")};
    for (int i = 0; i < 2; i++) {
        KernelCase c = {0};
        assert_null(kernel_open(&c, a, dev[i], op[0], NULL));
        assert_null(kernel_pick(&c, 0));
        assert_null(kernel_emit(&c));
        assert_true(c.program.n_kernel > 1);
        assert_null(strstr(c.program.source, wait));
        assert_null(strstr(c.program.source, next));
        for (int k = 0; k < c.program.n_kernel; k++) assert_false(c.program.kernel[k].waits);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
