/* links: sim */
/* The PTX front: what is accepted, and that whatever is unknown is refused by name and line.  Also
 * approximate functions, within the errors that the ISA documents, and what NVRTC emits.  */
#include "hal/nvrtc.h"
#include "ptxrun.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- refusals ---- */

typedef struct {
    const char *text;         /* after the head, which has 3 lines */
    int line;
    const char *message;      /* a part of it */
} Refusal;

#define ENTRY(body) ".entry k(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .b64 %l<4>;\n" \
                    ".reg .pred %p<2>;\n.reg .f32 %f<3>;\n" body "\n}\n"

static const Refusal refusals[] = {
    {ENTRY("frob.u32 %r0, %r1;"), 10, "unknown instruction frob.u32"},
    {ENTRY("add.frob.u32 %r0, %r1, %r2;"), 10, "unknown modifier .frob"},
    {ENTRY("add.wide.u32 %r0, %r1, %r2;"), 10, "add.wide.u32"},
    {ENTRY("add.ftz.u32 %r0, %r1, %r2;"), 10, "does not take .ftz"},
    {ENTRY("add.u32.u32 %r0, %r1, %r2;"), 10, "does not take .u32"},
    {ENTRY("add.u32 %r0, %r1;"), 10, "misses operands"},
    {ENTRY("add.u32 %r0, %r1, %r2, %r3, %r0;"), 10, "too many operands"},
    {ENTRY("add.u32 5, %r1, %r2;"), 10, "wrong operand 1"},
    {ENTRY("add.u64 %l0, %l1, %r2;"), 10, "register of 32 bits as operand 3"},
    {ENTRY("add.u32 %p0, %r1, %r2;"), 10, "register of 1 bits"},
    {ENTRY("setp.lt.u32 %r0, %r1, %r2;"), 10, "setp.lt.u32"},
    {ENTRY("setp.u32 %p0, %r1, %r2;"), 10, "needs a comparison"},
    {ENTRY("setp.lt.and.u32 %p0, %r1, %r2;"), 10, "needs a predicate"},
    {ENTRY("fma.f32 %f0, %f1, %f2, %f0;"), 10, "needs a rounding"},
    {ENTRY("cvt.s32.f32 %r0, %f0;"), 10, "needs a rounding"},
    {ENTRY("rcp.f32 %f0, %f1;"), 10, "needs .approx or a rounding"},
    {ENTRY("ld.global.v2.u32 {%r0}, [%l0];"), 10, "needs 2 values"},
    {ENTRY("ld.global.v4.b64 {%l0, %l1, %l2, %r0}, [%l0];"), 10, "different sizes"},
    {ENTRY("ld.global.u32 %r0, %l0;"), 10, "wrong operand 2"},
    {ENTRY("st.const.u32 [%l0], %r0;"), 10, "writes constant memory"},
    {ENTRY("shfl.bfly.b32 %r0, %r1, 1, 31;"), 10, "needs .sync"},
    {ENTRY("atom.global.mul.u32 %r0, [%l0], 1;"), 10, "unknown modifier"},
    {ENTRY("atom.global.inc.s32 %r0, [%l0], 1;"), 10, "no such operation"},
    {ENTRY("bar 0;"), 10, "needs .sync"},
    {ENTRY("bra NOWHERE;"), 10, "no label or variable 'NOWHERE'"},
    {ENTRY("mov.u32 %r9, 1;"), 10, "no register, variable or label '%r9'"},
    {ENTRY("mov.u32 %r0, 99999999999999999999;"), 10, "bad integer"},
    {ENTRY("mov.f32 %f0, 0f123;"), 10, "8 hexadecimal digits"},
    {ENTRY("@%r0 ret;"), 10, "not a predicate"},
    {ENTRY("mov.u32 %r0, %r1"), 11, "expected ','"},
    {ENTRY(".regg .b32 %q;"), 10, "unknown directive .regg"},
    {ENTRY("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f0}, [t, {%f0, %f1}];"), 10,
     "unknown instruction tex"},
    {ENTRY("call (%r0), nobody, (%r1);"), 10, "no register, variable or label 'nobody'"},
    {".func f()\n{\nfrob;\nret;\n}\n.entry k()\n{\ncall f;\nret;\n}\n", 6, "unknown instruction"},
    {".func f();\n.entry k()\n{\ncall f;\nret;\n}\n", 7, "no body"},
    {".global .u32 x[2] = {1, 2, 3};\n", 4, "more values"},
    {".shared .align 3 .b8 x[4];\n", 4, "power of two"},
    {".entry k(.param .u64 p) .frobs 1\n{\n}\n", 4, "unknown directive .frobs"},
    {".visible .texref t;\n", 4, "unknown directive .texref"},
    {"\x01\n", 4, "no PTX starts"},
};

static void unknown_text_is_refused(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        PtxRun r;
        SimModule *m;
        run_open(&r);
        const char *text = arena_printf(r.arena, PTX_HEAD "%s", refusals[k].text);
        Status s = sim_parse(r.arena, &r.diag, "x.ptx", text, strlen(text), &m);
        r.launch.block[0] = 1;
        r.launch.params = text;
        r.launch.params_bytes = 8;
        if (s == ST_OK) s = run_parsed(&r, m, "k");
        if (s != ST_SIMULATOR) fail_msg("accepted: %s", refusals[k].text);
        const DiagMessage *e = diag_first_error(&r.diag);
        if (!strstr(e->message, refusals[k].message) || e->line != refusals[k].line) {
            fail_msg("%s\nsays '%s' in line %d, expected '%s' in line %d", refusals[k].text,
                     e->message, e->line, refusals[k].message, refusals[k].line);
        }
        run_close(&r);
    }
}

/* ---- what is accepted ---- */

static const char everything[] =
    "// a comment\n.version 8.5\n.target sm_89, texmode_independent\n.address_size 64\n"
    "/* another\n   one */ .extern .shared .align 16 .b8 dyn[];\n"
    ".visible .const .align 16 .b8 table[8] = {0, 0x1, 0b11, 017, 5U, -1, (1<<3)|2, 7};\n"
    ".weak .global .v2 .f32 v;\n.global .align 4 .f32 reals[3] = {1.5, 0f40000000, -2e1};\n"
    ".section .debug_str { .b8 1 }\n.func helper(.param .align 8 .b8 "
    "x[16])\n.noreturn\n{\ntrap;\n}\n"
    ".visible .entry k(\n.param .u64 .ptr .global .align 16 p,\n.param .align 4 .b8 s[12]\n)\n"
    ".maxntid 32, 1, 1 .minnctapersm 2 .maxnreg 64\n.pragma \"nounroll\";\n{\n.pragma "
    "\"nounroll\";\n"
    ".reg .b32 %r<8>, %x;\n.reg .b32 alone;\n.reg .b64 %l<3>;\n.reg .pred yes, no;\n.loc 1 2 3\n{\n"
    ".reg .b32 %r<2>;\nmov.u32 %r1, 7;\nmov.u32 %x, %r1;\nbra L;\nL:\n}\nL: mov.u32 %r0, 1;\n"
    "ld.param.u64 %l0, [p];\nld.param.u32 %r2, [s+8];\nsetp.ne.or.u32 yes|no, %r0, 1, !no;\n"
    "@!yes bra.uni END;\nnanosleep.u32 20;\nEND:\nld.const.s8 alone, [table+5];\nadd.s32 %r3, %x, "
    "alone;\n"
    "st.global.u32 [%l0+-4+4], %r3;\nret;\n}\n.file 1 \"x.cu\", 123, 456\n";

static void everything_is_accepted(void **state) {
    (void)state;
    PtxRun r;
    SimModule *m;
    const SimParam *param;
    uint64_t params[4] = {0};
    run_open(&r);
    assert_int_equal(sim_parse(r.arena, &r.diag, "x", everything, strlen(everything), &m), ST_OK);
    assert_int_equal(sim_kernel_count(m), 1);
    assert_string_equal(sim_kernel_name(m, 0), "k");
    assert_null(sim_kernel_name(m, 1));
    assert_int_equal(sim_kernel_params(m, "none", &param), -1);
    assert_int_equal(sim_kernel_params(m, "k", &param), 2);
    assert_int_equal(param[1].bytes, 12);
    assert_int_equal(param[1].align, 4);
    assert_int_equal(param[1].offset, 8);
    assert_string_equal(param[0].name, "p");
    params[0] = run_memory(&r, NULL, 64);
    r.launch.params = params;
    r.launch.params_bytes = 20;
    assert_int_equal(run_parsed(&r, m, "k"), ST_OK);
    assert_int_equal(r.report.faults, 0);
    assert_int_equal(*(int32_t *)run_host(&r, 0), 7 - 1);
    r.launch.params_bytes = 19;
    assert_int_equal(run_parsed(&r, m, "k"), ST_ARGS);
    run_close(&r);
}

/* ---- approximate functions: the documented bounds ---- */

typedef struct {
    const char *inst;
    double (*exact)(double);
    double low, high, absolute, relative;
} Approx;

static double reciprocal(double x) { return 1 / x; }
static double root(double x) { return 1 / sqrt(x); }

static void approximations(void **state) {
    (void)state;
    static const Approx cases[] = {
        {"rcp.approx.f32", reciprocal, 1e-3, 1e3, 0, 0x1p-23},
        {"sqrt.approx.f32", sqrt, 1e-3, 1e6, 0, 0x1p-23},
        {"rsqrt.approx.f32", root, 1e-3, 1e6, 0, 0x1p-22},
        {"sin.approx.f32", sin, -3.14159, 3.14159, 0x1p-20, 0},
        {"cos.approx.f32", cos, -3.14159, 3.14159, 0x1p-20, 0},
        {"lg2.approx.f32", log2, 0.5, 2, 0x1p-22, 0},
        {"lg2.approx.ftz.f32", log2, 2, 1e9, 0, 0x1p-22},
        {"ex2.approx.f32", exp2, -20, 20, 0, 0x1p-22},
        {"ex2.approx.ftz.f32", exp2, -20, 20, 0, 0x1p-22},
        {"tanh.approx.f32", tanh, -5, 5, 0, 0x1p-11},
    };
    enum { N = 1024 };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const Approx *c = &cases[k];
        static float in[N];
        PtxRun r;
        run_open(&r);
        for (int i = 0; i < N; i++) in[i] = (float)(c->low + (c->high - c->low) * i / (N - 1));
        r.launch.grid[0] = N / 32;
        run_memory(&r, in, sizeof in);
        run_memory(&r, NULL, sizeof in);
        run_clean(&r, run_kernel(r.arena, 2, arena_printf(r.arena,
            "mov.u32 %%r0, %%ctaid.x; mad.lo.u32 %%r0, %%r0, 32, %%t; mul.wide.u32 %%l0, %%r0, 4;\n"
            "add.u64 %%l1, %%a0, %%l0; add.u64 %%l2, %%a1, %%l0; ld.global.f32 %%r1, [%%l1];\n"
            "%s %%r2, %%r1; st.global.f32 [%%l2], %%r2;", c->inst)));
        const float *out = run_host(&r, 1);
        for (int i = 0; i < N; i++) {
            double want = c->exact(in[i]), error = fabs(out[i] - want);
            if (error <= c->absolute + c->relative * fabs(want)) continue;
            fail_msg("%s of %g: %.9g, expected %.9g", c->inst, (double)in[i], (double)out[i], want);
        }
        run_close(&r);
    }
}

/* ---- CUDA, where NVRTC is there ---- */

static const char source[] =
    "__constant__ int weights[4] = {1, 2, 3, 4};\n__device__ int counter = 0;\n"
    "struct Pair { int a; float b; };\n"
    "__device__ __noinline__ int twist(int x, int n) { int s = x; for (int i = 0; i < n; i++) s = "
    "s * 31 + i; return s; }\n"
    "extern \"C\" __global__ void k(int *out, const int *in, Pair p, int n) {\n"
    "  __shared__ int s[128];\n  int t = threadIdx.x, local[8];\n"
    "  for (int i = 0; i < 8; i++) local[i] = in[(t + i) % n];\n"
    "  int pick = local[in[t] & 7];\n  s[t] = pick;\n  __syncthreads();\n"
    "  int v = s[(t + 1) % 128];\n  v += __shfl_xor_sync(~0u, v, 1);\n"
    "  switch (t & 3) { case 0: v += 5; break; case 1: v ^= 9; break; case 2: v *= 3; break; "
    "default: v -= 1; }\n"
    "  if (in[t] & 1) v = twist(v, t & 15);\n  v += weights[t & 3] + p.a + (int)(p.b * 2.0f);\n"
    "  v += __popc(v) + __clz(v | 1) + (int)__umulhi(v, 77u) + min(v, 1000) % 7;\n"
    "  out[t] = v;\n  atomicAdd(&counter, 1);\n}\n";

typedef struct {
    int a;
    float b;
} Pair;

static int bits(uint32_t v) {
    int n = 0;
    for (; v; v &= v - 1) n++;
    return n;
}

static int zeros(uint32_t v) {
    int n = 0;
    for (uint32_t m = 0x80000000; m && !(v & m); m >>= 1) n++;
    return n;
}

static void expected(const int *in, Pair p, int n, int *out) {
    int s[128], v[128];
    for (int t = 0; t < 128; t++) s[t] = in[(t + (in[t] & 7)) % n];
    for (int t = 0; t < 128; t++) v[t] = s[(t + 1) % 128];
    for (int t = 0; t < 128; t++) {
        uint32_t x = (uint32_t)v[t] + (uint32_t)v[t ^ 1];
        x = t % 4 == 0 ? x + 5 : t % 4 == 1 ? x ^ 9 : t % 4 == 2 ? x * 3 : x - 1;
        for (uint32_t i = 0; in[t] & 1 && i < (uint32_t)(t & 15); i++) x = x * 31 + i;
        x += (uint32_t)(t % 4 + 1 + p.a + (int)(p.b * 2));
        int low = (int32_t)x < 1000 ? (int32_t)x : 1000;
        out[t] = (int)(x + (uint32_t)bits(x) + (uint32_t)zeros(x | 1) +
                       (uint32_t)((uint64_t)x * 77 >> 32) + (uint32_t)(low % 7));
    }
}

static void compiled_cuda(void **state) {
    (void)state;
    static const char *const archs[] = {"sm_75", "sm_80", "sm_90a", "sm_120"};
    for (size_t k = 0; k < sizeof archs / sizeof *archs; k++) {
        PtxRun r;
        run_open(&r);
        NvrtcOptions o = {0};
        NvrtcRequest request = {.ptx = true, .line_info = true};
        NvrtcOutput output;
        Nvrtc *nvrtc;
        if (nvrtc_open(r.arena, &r.diag, &o, archs[k], &nvrtc) != ST_OK) {
            run_close(&r);
            continue;
        }
        assert_int_equal(
            nvrtc_compile(nvrtc, r.arena, &r.diag, source, archs[k], &request, &output), ST_OK);
        int in[128], want[128], n = 100;
        Rng rng = {k + 1};
        for (int t = 0; t < 128; t++) in[t] = (int)rng_below(&rng, 100000) - 50000;
        Pair p = {-3, 2.5f};
        run_memory(&r, NULL, sizeof want);
        run_memory(&r, in, sizeof in);
        memcpy(&r.arg[r.n_arg++], &p, sizeof p);
        run_number(&r, (uint64_t)n);
        r.launch.block[0] = 128;
        run_clean(&r, output.ptx);
        expected(in, p, n, want);
        assert_memory_equal(run_host(&r, 0), want, sizeof want);
        run_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_text_is_refused),
        cmocka_unit_test(everything_is_accepted),
        cmocka_unit_test(approximations),
        cmocka_unit_test(compiled_cuda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
