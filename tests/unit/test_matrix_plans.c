/* links: microperf */
/* Programs of matrix units: which units an expression may use, what is legal, and that known
 * problems get the plans that the best known kernels have.  */
#include "microperf/microperf.h"
#include "arena_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static RProgSet candidates(Arena *a, const Problem *p, const Device *dev) {
    Diag d = diag_new(a);
    RProgSet set;
    if (rprog_candidates(a, &d, p, dev, NULL, &set)) fail_msg("%s", d.messages[0].message);
    return set;
}

static Ranked best(Arena *a, const Problem *p, const Device *dev) {
    RProgSet set = candidates(a, p, dev);
    Ranked *r;
    assert_int_equal(mp_rank(a, p, dev, &set, 1, &r), 1);
    return r[0];
}

static Problem problem_of(Arena *a, const char *text) {
    Diag d = diag_new(a);
    Te *te, *normal;
    KernelGroup *group;
    Problem p;
    if (te_parse(a, &d, diag_text("x", text), NULL, NULL, &te) ||
        te_normalize(a, &d, te, &normal)) {
        fail_msg("%s: %s", text, d.messages[0].message);
    }
    assert_int_equal(access_groups(a, normal, &group), 1);
    assert_int_equal(rtile_problem(a, &d, normal, &group[0], 16, &p), ST_OK);
    return p;
}

/* ---- units ---- */

/* The matrix units that some candidate has, in the order of the profile.  */
static const char *units_of(Arena *a, const Problem *p, const Device *dev) {
    RProgSet set = candidates(a, p, dev);
    Buf out = buf_new(a);
    for (int u = 0; u < dev->n_unit; u++) {
        bool used = false;
        for (int i = 0; i < set.n && !used; i++) {
            used = set.prog[i].unit == u && rprog_matrix(dev, &set.prog[i]);
        }
        if (used) buf_printf(&out, "%s ", dev->unit[u].name);
    }
    return buf_str(&out);
}

#define MATMUL(a, b, c, body)                                                                      \
    "op f(A: " a "[256,128], B: " b "[128,256]) -> C: " c "[256,256] { " body "; }"

static void units(Arena *a) {
    static const struct {
        const char *device, *text, *units;
    } rows[] = {
        {"h200", MATMUL("f16", "f16", "f16", "C[m,n] += A[m,k]*B[k,n]"),
         "mma.m16n8k16.f16.f32 wgmma.f16.f32 "},
        {"h200", MATMUL("f16", "f16", "f16", "C[m,n] += A[m,k]*B[k,n] @accum(f16)"),
         "mma.m16n8k16.f16.f16 mma.m16n8k16.f16.f32 wgmma.f16.f16 wgmma.f16.f32 "},
        {"h200", MATMUL("bf16", "bf16", "f32", "C[m,n] += A[m,k]*B[k,n]"),
         "mma.m16n8k16.bf16.f32 wgmma.bf16.f32 "},
        /* Boxes of memory and columns of pixels in whole chunks, and rows along k at odd places:
         * nothing that is converted, or lies there along n.  */
        {"h200", "op f(A: f16[256,131], B: f16[131,256]) -> C: f16[256,256] {"
                 " C[m,n] += A[m,k]*B[k,n]; }", "mma.m16n8k16.f16.f32 wgmma.f16.f32 "},
        {"h200", "op f(A: f16[256,128], B: f16[128,132]) -> C: f16[256,132] {"
                 " C[m,n] += A[m,k]*B[k,n]; }", "mma.m16n8k16.f16.f32 "},
        {"h200", "op f(A: f16[9,9,64], B: f16[256,3,64]) -> C: f16[7,9,256] {"
                 " C[p,q,n] += A[p+r,q,k]*B[n,r,k]; }", "mma.m16n8k16.f16.f32 wgmma.f16.f32 "},
        {"h200", "op f(A: f16[9,9,48], B: f16[256,3,48]) -> C: f16[7,9,256] {"
                 " C[p,q,n] += A[p+r,q,k]*B[n,r,k]; }", "mma.m16n8k16.f16.f32 wgmma.f16.f32 "},
        {"h200", "op f(A: f16[9,9,52], B: f16[256,3,52]) -> C: f16[7,9,256] {"
                 " C[p,q,n] += A[p+r,q,k]*B[n,r,k]; }", "mma.m16n8k16.f16.f32 "},
        {"h200", "op f(A: f16[9,9,2,24], B: f16[2,256,3,24]) -> C: f16[7,9,2,256] {"
                 " C[p,q,g,n] += A[p+r,q,g,k]*B[g,n,r,k]; }",
         "mma.m16n8k16.f16.f32 wgmma.f16.f32 "},
        /* Registers of bytes that are made.  */
        {"h200", "op f(A: f16[256,128], B: f8e4m3[256,128]) -> C: f16[256,256] {"
                 " C[m,n] += f8e4m3(A[m,k]) * B[n,k]; }",
         "mma.m16n8k32.f8e4m3.f32 wgmma.f8e4m3.f32 "},
        /* Two of a byte; not where a register has one of them alone.  */
        {"h200", "op f(A: f16[256,128], B: u8[256,64]) -> C: f16[256,256] { C[m,n] += A[m,k] *"
                 " f16((k % 2 == 0 ? B[n,k/2] % 16 : B[n,k/2] / 16) * 0.3); }",
         "mma.m16n8k16.f16.f32 wgmma.f16.f32 "},
        {"h200", "op f(A: f32[256,128], B: u8[256,64]) -> C: f32[256,256] { C[m,n] += A[m,k] *"
                 " ((k % 2 == 0 ? B[n,k/2] % 16 : B[n,k/2] / 16) * 0.3) @tf32; }",
         "mma.m16n8k8.tf32.f32 "},
        /* Units that read other than 16 bits have no form for what lies along M and N.  */
        {"h200", "op f(A: i8[256,128], B: i8[256,128]) -> C: i32[256,256] {"
                 " C[m,n] += A[m,k]*B[n,k]; }",
         "mma.m16n8k32.i8.i32 wgmma.i8.i32 wgmma.i8.i32.n8 "},
        {"h200", "op f(A: f32[256,128], B: f32[256,128]) -> C: f32[256,256] {"
                 " C[m,n] += A[m,k]*B[n,k] @tf32; }", "mma.m16n8k8.tf32.f32 wgmma.tf32.f32 "},
        {"h200", "op f(A: f8e4m3[256,128], B: f8e4m3[256,128]) -> C: bf16[256,256] {"
                 " C[m,n] += A[m,k]*B[n,k]; }", "mma.m16n8k32.f8e4m3.f32 wgmma.f8e4m3.f32 "},
        {"h200", MATMUL("f32", "f32", "f32", "C[m,n] += A[m,k]*B[k,n]"), ""},
        {"h200", MATMUL("f32", "f32", "f32", "C[m,n] += A[m,k]*B[k,n] @tf32"),
         "mma.m16n8k8.tf32.f32 "},
        {"h200", MATMUL("f32", "f32", "f32", "C[m,n] += A[m,k]*B[k,n] @fp32x3"),
         "mma.m16n8k8.tf32.f32 "},
        {"a100", MATMUL("f64", "f64", "f64", "C[m,n] += A[m,k]*B[k,n]"), "mma.m8n8k4.f64.f64 "},
        {"h200", MATMUL("f64", "f64", "f64", "C[m,n] += A[m,k]*B[k,n]"),
         "mma.m8n8k4.f64.f64 mma.m16n8k4.f64.f64 mma.m16n8k8.f64.f64 mma.m16n8k16.f64.f64 "},
        {"rtx4090", MATMUL("f64", "f64", "f64", "C[m,n] += A[m,k]*B[k,n]"), ""},
        {"h200", MATMUL("f32", "f32", "f64", "C[m,n] += A[m,k]*B[k,n] @accum(f64)"),
         "mma.m16n8k4.f64.f64 "},
        /* Values, not types, decide: an exact factor may be of another type.  */
        {"h200", MATMUL("f16", "bf16", "f32", "C[m,n] += A[m,k]*B[k,n]"), "mma.m16n8k8.tf32.f32 "},
        {"h200", MATMUL("bf16", "i8", "bf16", "C[m,n] += A[m,k]*B[k,n]"), "mma.m16n8k16.bf16.f32 "},
        {"h200", MATMUL("f16", "u8", "f16", "C[m,n] += A[m,k]*f16(B[k,n]%16)"),
         "mma.m16n8k16.f16.f32 "},
        {"h200", MATMUL("f16", "i8", "f16", "C[m,n] += A[m,k]*(B[k,n]+0.1)"), ""},
        {"h200", MATMUL("i8", "i8", "i32", "C[m,n] += A[m,k]*B[k,n]"), "mma.m16n8k32.i8.i32 "},
        {"h200", MATMUL("u8", "u8", "i32", "C[m,n] += A[m,k]*B[k,n]"), "mma.m16n8k32.u8.i32 "},
        {"h200", MATMUL("i8", "u8", "i32", "C[m,n] += A[m,k]*B[k,n]"), ""},
        {"h200", MATMUL("i32", "i32", "i32", "C[m,n] += A[m,k]*B[k,n]"), ""},
        {"h200", MATMUL("f8e4m3", "f8e4m3", "bf16", "C[m,n] += A[m,k]*B[k,n]"),
         "mma.m16n8k32.f8e4m3.f32 "},
        {"h200", MATMUL("f8e4m3", "f8e4m3", "bf16", "C[m,n] += A[m,k]*B[k,n] @accum(f32)"),
         "mma.m16n8k16.f16.f32 "},
        {"h200", MATMUL("f8e4m3", "f8e5m2", "bf16", "C[m,n] += A[m,k]*B[k,n]"),
         "mma.m16n8k32.f8e4m3.f8e5m2.f32 "},
        /* The units of these two in the other order would be of warpgroups, too.  */
        {"h200", "op f(A: f8e4m3[256,128], B: f8e5m2[256,128]) -> C: bf16[256,256] {"
                 " C[m,n] += A[m,k]*B[n,k]; }",
         "mma.m16n8k32.f8e4m3.f8e5m2.f32 wgmma.f8e4m3.f8e5m2.f32 "},
        {"b200", "op f(A: f8e5m2[256,128], B: f8e4m3[256,128]) -> C: bf16[256,256] {"
                 " C[m,n] += A[m,k]*B[n,k]; }",
         "tcgen05.f8e5m2.f8e4m3.f32 tcgen05.f8e5m2.f8e4m3.f32.pair "},
        {"a100", MATMUL("f8e4m3", "f8e5m2", "bf16", "C[m,n] += A[m,k]*B[k,n]"),
         "mma.m16n8k16.f16.f32 "},
        {"a100", MATMUL("f8e4m3", "f8e4m3", "bf16", "C[m,n] += A[m,k]*B[k,n]"),
         "mma.m16n8k16.f16.f32 "},
        {"h200", MATMUL("f16", "f16", "f32", "C[m,n] max= A[m,k]*B[k,n]"), ""},
        {"h200", MATMUL("f16", "f16", "f32", "C[m,n] += A[m,k]*B[k,n]+1"), ""},
        {"v100", MATMUL("f16", "f16", "f16", "C[m,n] += A[m,k]*B[k,n]"), "mma.m8n8k4.f16.f32 "},
        {"tiny", MATMUL("f16", "f16", "f16", "C[m,n] += A[m,k]*B[k,n]"), ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ArenaMark mark = arena_mark(a);
        Problem p = problem_of(a, rows[i].text);
        const char *got = units_of(a, &p, fixture_device(a, rows[i].device));
        if (strcmp(got, rows[i].units) != 0) {
            fail_msg("%s on %s: '%s', not '%s'", rows[i].text, rows[i].device, got, rows[i].units);
        }
        arena_reset(a, mark);
    }
}

static void test_units(void **state) { run(state, units); }

/* Three products where f32 factors keep their precision, partial sums where the unit would cut sums
 * of more than 128 products.  */
static void numerics(Arena *a) {
    static const struct {
        const char *text;
        int products;
        bool promotes;
    } rows[] = {
        {MATMUL("f32", "f32", "f32", "C[m,n] += A[m,k]*B[k,n] @tf32"), 1, false},
        {MATMUL("f32", "f32", "f32", "C[m,n] += A[m,k]*B[k,n] @fp32x3"), 3, false},
        {MATMUL("f32", "f32", "f32", "C[m,n] += A[m,k]*B[k,n] @fp32x3 @tf32"), 1, false},
        {MATMUL("f32", "bf16", "f32", "C[m,n] += A[m,k]*B[k,n] @fp32x3"), 3, false},
        {MATMUL("f16", "bf16", "f32", "C[m,n] += A[m,k]*B[k,n] @fp32x3"), 1, false},
        {"op f(A: f8e4m3[256,144], B: f8e4m3[144,256]) -> C: f32[256,256] {"
         " C[m,n] += A[m,k]*B[k,n]; }", 1, true},
        {MATMUL("f8e4m3", "f8e4m3", "f32", "C[m,n] += A[m,k]*B[k,n]"), 1, false},
        {MATMUL("f8e4m3", "f8e4m3", "f32", "C[m,n] += A[m,k]*B[k,n] @accum(f16)"), 1, false},
    };
    const Device *dev = fixture_device(a, "h200");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Problem p = problem_of(a, rows[i].text);
        RProgSet set = candidates(a, &p, dev);
        int seen = 0;
        for (int j = 0; j < set.n; j++) {
            const RProg *r = &set.prog[j];
            if (!rprog_matrix(dev, r) || dev->unit[r->unit].a == TE_F16) continue;
            assert_int_equal(rprog_products(&p, dev, r), rows[i].products);
            assert_int_equal(rprog_promotes(&p, dev, r), rows[i].promotes);
            if (rows[i].promotes) assert_true(r->warp.extent[AX_K] <= 128);
            seen++;
        }
        assert_true(seen > 0);
    }
}

static void test_numerics(void **state) { run(state, numerics); }

/* ---- legality ---- */

static RProg read_plan(Arena *a, Problem *p, const Device *dev, const char *text) {
    RPlan plan = {.problem = p, .n = 1};
    Diag d = diag_new(a);
    if (rprog_read(a, &d, diag_text("good", text), dev, &plan)) {
        fail_msg("%s: %s", d.messages[0].message, d.messages[0].hint ? d.messages[0].hint : "");
    }
    return plan.prog[0];
}

static RProg good(Arena *a, Problem *p, const Device *dev) {
    static const char text[] =
        "roller-plan 1\nkernel 0\n  skeleton contract\n  unit mma.m16n8k16.f16.f32\n"
        "  block 1 128 128 32\n  warp 1 64 64 32\n  thread 1 16 8 16\n  vec 1 2\n  unroll 32\n"
        "  stages 4\n  a async cp.async.16 vec 8 along k inner k swizzle 2 1 0\n"
        "  b async cp.async.16 vec 8 along n inner n swizzle 3 0 0\n  store 8 shared\n"
        "  raster row\n  split 1\n  blocks_per_sm 2\n";
    return read_plan(a, p, dev, text);
}

/* The same with operands that fragments convert from bytes, or the right one only.  */
static RProg good_bytes(Arena *a, Problem *p, const Device *dev, bool both) {
    const char *text = arena_printf(a,
        "roller-plan 1\nkernel 0\n  skeleton contract\n  unit mma.m16n8k16.f16.f32\n"
        "  block 1 64 64 64\n  warp 1 32 32 64\n  thread 1 16 8 16\n  vec 1 2\n  unroll 64\n"
        "  stages 4\n  a async cp.async.16 vec %s along k inner k swizzle 2 %s\n"
        "  b async cp.async.16 vec 16 bytes along k inner k swizzle 2 1 0\n  store 2\n"
        "  raster row\n  split 1\n  blocks_per_sm 2\n", both ? "16 bytes" : "8",
        both ? "1 0" : "0 1");
    return read_plan(a, p, dev, text);
}

#define UNIT(name) (int16_t)(hal_unit(dev, name) - dev->unit)
#define BROKEN(p, fine, change, words)                                                             \
    {                                                                                              \
        RProg r = fine;                                                                            \
        const char *said = words;                                                                  \
        change;                                                                                    \
        const char *why = rprog_check(&p, dev, &r);                                                \
        if (!said ? why != NULL : !why || !strstr(why, said)) {                                    \
            fail_msg("%s: %s", #change, why ? why : "accepted");                                   \
        }                                                                                          \
    }

#define BREAKS(X)                                                                                  \
    X(r.unit = UNIT("mma.m16n8k16.bf16.f32"), "unit does not compute")                             \
    X(r.unit = UNIT("mma.m16n8k16.f16.f16"), "unit does not compute")                              \
    X(r.unit = UNIT("wgmma.f16.f32"), "unit does not compute")                                     \
    X(r.unit = UNIT("shfl"), "unit does not compute")                                              \
    X(r.unit = UNIT("ffma"), "only prog")                                                          \
    X(r.thread.extent[AX_M] = 8, "not the unit's tile")                                            \
    X(r.thread.extent[AX_K] = 8, "not the unit's tile")                                            \
    X(r.swapped = true, "not the unit's tile")                                                     \
    X(r.warp.extent[AX_M] = 8; r.block.extent[AX_M] = 16, "not a multiple of the unit's")          \
    X(r.warp.extent[AX_K] = 8; r.unroll = 8, "not a multiple of the unit's")                       \
    X(r.block.extent[AX_N] = 96, "multiple of the warp tile")                                      \
    X(r.warp.extent[AX_M] = r.warp.extent[AX_N] = 16, "more threads")                              \
    X(r.unroll = 16, "unroll is not warp.k")                                                       \
    X(r.vec_m = 2, "what a lane of the unit holds")                                                \
    X(r.vec_n = 1, "what a lane of the unit holds")                                                \
    X(r.via = (StoreVia)7, "unknown way to store")                                                 \
    X(r.via = VIA_DIRECT, "store_vec")                                                             \
    X(r.store_vec = 16, "wider than the output's")                                                 \
    X(r.load[0].layout.inner = AX_M, "cannot turn")                                                \
    X(r.load[1].layout.pad = 4; r.load[1].layout.bits = r.load[1].layout.shift = 0, "alignment")   \
    X(r.load[1].layout.bits = 0; r.load[1].layout.pad = 8; r.smem += 2048, NULL)                   \
    X(r.load[0].kind = LOAD_STAGED, "no such mover")                                               \
    X(r.stages = 1, "two stages")                                                                  \
    X(r.split = 2, "workspace is not aligned")                                                     \
    X(r.split = 2; r.store_vec = 4, NULL)                                                          \
    X(r.warp.extent[AX_M] = r.warp.extent[AX_N] = 128, "derived")                                  \
    X(r.blocks_per_sm = 9, "promised")

#define BREAKS_BYTES(X)                                                                            \
    X(r.load[0].bytes = false, "copies unchanged")                                                 \
    X(r.load[0].kind = LOAD_STAGED, "no such mover")                                               \
    X(r.load[0].layout.inner = AX_M, "lie along k")                                                \
    X(r.load[0].along = AX_M, "lie along k")                                                       \
    X(r.load[1].region = true, "lie along k")                                                      \
    X(r.unit = UNIT("mma.m16n8k16.bf16.f32"), NULL)                                                \
    X(r.unit = UNIT("ffma"), "lanes of a warp")

#define BREAKS_BESIDE(X)                                                                           \
    X(r.load[0].bytes = true, "not converted from such bytes")                                     \
    X(r.load[0].layout.inner = AX_M, "beside bytes lies along k")                                  \
    X(r.load[0].region = true, "beside bytes lies along k")                                        \
    X(r.load[0].layout.base = r.load[0].layout.bits = 0; r.load[0].layout.pad = 8; r.smem += 4096, \
      NULL)

static void broken_rules(Arena *a) {
    const Device *dev = fixture_device(a, "h200");
    Problem p = fixture_matmul(1, 512, 512, 512, false, false, TE_F16);
    const RProg fine = good(a, &p, dev);
    assert_null(rprog_check(&p, dev, &fine));
#define X(change, words) BROKEN(p, fine, change, words)
    BREAKS(X)
#undef X
}

static void broken_bytes(Arena *a) {
    const Device *dev = fixture_device(a, "a100");
    Problem p = fixture_matmul(1, 512, 512, 512, false, true, TE_F8E4M3);
    Problem beside = fixture_matmul(1, 512, 512, 512, false, true, TE_F16);
    beside.op[1] = p.op[1];
    beside.con.operand[1] = p.con.operand[1];
    const RProg both = good_bytes(a, &p, dev, true), one = good_bytes(a, &beside, dev, false);
    assert_null(rprog_check(&p, dev, &both));
    assert_null(rprog_check(&beside, dev, &one));
#define X(change, words) BROKEN(p, both, change, words)
    BREAKS_BYTES(X)
#undef X
#define X(change, words) BROKEN(beside, one, change, words)
    BREAKS_BESIDE(X)
#undef X
}

static void test_broken_bytes(void **state) { run(state, broken_bytes); }

static void test_broken_rules(void **state) { run(state, broken_rules); }

/* Every candidate passes the referee and is read back from its text as it was.  */
static void legal_and_readable(Arena *a) {
    static const struct {
        const char *device, *text;
    } rows[] = {
        {"a100", MATMUL("f16", "f16", "f16", "C[m,n] += A[m,k]*B[k,n]")},
        {"a100", MATMUL("f32", "f32", "f32", "C[m,n] += A[m,k]*B[k,n] @fp32x3")},
        {"a100", MATMUL("f64", "f64", "f64", "C[m,n] += A[m,k]*B[k,n]")},
        {"h200", MATMUL("bf16", "i8", "bf16", "C[m,n] += A[m,k]*B[k,n]")},
        {"h200", "op f(A: f16[9,136], B: f16[100,136]) -> C: f16[9,100] "
                 "{ C[m,n] += A[m,k]*B[n,k]; }"},
        {"rtx4090", "op f(A: f16[3,33,47], B: f16[3,47,35]) -> C: f16[3,33,35] "
                    "{ C[b,m,n] += A[b,m,k]*B[b,k,n]; }"},
        {"rtx4090", "op f(A: f8e4m3[8,512], B: f8e4m3[256,512]) -> C: bf16[8,256] "
                    "{ C[m,n] += A[m,k]*B[n,k]; }"},
        {"a100", "op f(A: f8e4m3[16,512], B: f8e5m2[256,512]) -> C: bf16[16,256] "
                 "{ C[m,n] += A[m,k]*B[n,k]; }"},
        {"h200", "op f(A: i8[40,512], B: bf16[256,512]) -> C: bf16[40,256] "
                 "{ C[m,n] += A[m,k]*B[n,k]; }"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ArenaMark mark = arena_mark(a);
        Problem p = problem_of(a, rows[i].text);
        const Device *dev = fixture_device(a, rows[i].device);
        RProgSet set = candidates(a, &p, dev);
        int matrix = 0;
        for (int j = 0; j < set.n; j++) {
            RProg *r = &set.prog[j];
            const char *why = rprog_check(&p, dev, r);
            if (why) fail_msg("%s: %s", rows[i].text, why);
            matrix += rprog_matrix(dev, r);
            if (j % 17) continue;
            ArenaMark inner = arena_mark(a);
            RPlan plan = {.problem = &p, .prog = r, .n = 1}, back = {.problem = &p, .n = 1};
            Buf text = buf_new(a), again = buf_new(a);
            Diag d = diag_new(a);
            rprog_print(&plan, dev, &text);
            if (rprog_read(a, &d, (DiagText){"x", buf_str(&text), text.len}, dev, &back)) {
                fail_msg("%s\n%s", d.messages[0].message, buf_str(&text));
            }
            rprog_print(&back, dev, &again);
            assert_string_equal(buf_str(&again), buf_str(&text));
            assert_int_equal(back.prog[0].via, r->via);
            assert_int_equal(back.prog[0].swapped, r->swapped);
            assert_int_equal(back.prog[0].smem, r->smem);
            arena_reset(a, inner);
        }
        if (matrix == 0) fail_msg("%s: no matrix unit", rows[i].text);
        arena_reset(a, mark);
    }
}

static void test_legal_and_readable(void **state) { run(state, legal_and_readable); }

/* Any number in the text changed: a legal program or an error, never more.  */
static void damaged_texts(Arena *a) {
    static const char *const numbers[] = {"0", "1", "3", "7", "17", "1048576", "99999999999"};
    const Device *dev = fixture_device(a, "h200");
    Problem p = fixture_matmul(1, 512, 512, 512, false, false, TE_F16);
    RProg r = good(a, &p, dev);
    RPlan plan = {.problem = &p, .prog = &r, .n = 1};
    Buf text = buf_new(a);
    rprog_print(&plan, dev, &text);
    const char *whole = buf_str(&text);
    size_t digits = 0;
    for (size_t at = strlen("roller-plan 1"); at < text.len; at += digits + 1) {
        digits = strspn(whole + at, "0123456789");
        for (size_t i = 0; digits > 0 && i < sizeof numbers / sizeof *numbers; i++) {
            ArenaMark mark = arena_mark(a);
            Buf bad = buf_new(a);
            buf_printf(&bad, "%.*s%s%s", (int)at, whole, numbers[i], whole + at + digits);
            RPlan back = {.problem = &p, .n = 1};
            Diag d = diag_new(a);
            Status s = rprog_read(a, &d, (DiagText){"x", buf_str(&bad), bad.len}, dev, &back);
            if (s == ST_OK) assert_null(rprog_check(&p, dev, &back.prog[0]));
            else assert_int_equal(s, ST_PLAN_TEXT);
            arena_reset(a, mark);
        }
    }
}

static void test_damaged_texts(void **state) { run(state, damaged_texts); }

/* ---- known answers ---- */

static bool between(int v, int lo, int hi) { return v >= lo && v <= hi; }

/* Large squares: the family of 128x256x32 and 256x128x32 with warps of 64x64.  */
static void large_squares(Arena *a) {
    static const struct {
        const char *device;
        int64_t n;
        TeDtype type;
        int least, most;      /* outputs of a block */
        double roof;          /* share of the unit's rate */
    } rows[] = {
        {"a100", 4096, TE_F16, 32768, 40960, 0.75},  {"a100", 8192, TE_F16, 32768, 40960, 0.85},
        {"a100", 8192, TE_BF16, 32768, 40960, 0.85}, {"rtx4090", 4096, TE_BF16, 16384, 40960, 0.85},
        {"rtx4090", 8192, TE_F16, 16384, 40960, 0.90},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ArenaMark mark = arena_mark(a);
        const Device *dev = fixture_device(a, rows[i].device);
        for (int turned = 0; turned < 2; turned++) {
            Problem p = fixture_matmul(1, rows[i].n, rows[i].n, rows[i].n, false, turned,
                                       rows[i].type);
            Ranked x = best(a, &p, dev);
            const RProg *r = &x.prog;
            const int32_t *block = r->block.extent, *warp = r->warp.extent;
            int64_t area = (int64_t)block[AX_M] * block[AX_N];
            bool is_kin = rprog_matrix(dev, r) && area >= rows[i].least && area <= rows[i].most &&
                          block[AX_M] <= 2 * block[AX_N] && block[AX_N] <= 2 * block[AX_M] &&
                          between(block[AX_K], 32, 64) &&
                          between(r->stages * block[AX_K], 96, 192) &&
                          between(warp[AX_M], 64, 80) && between(warp[AX_N], 64, 80) &&
                          between(r->threads, 128, 256) && r->split == 1 && !r->swapped &&
                          r->via == VIA_SHARED && r->load[0].kind == LOAD_ASYNC;
            Buf text = buf_new(a);
            mp_summary(&p, dev, r, &text);
            if (!is_kin) fail_msg("%s %d: %s", rows[i].device, (int)rows[i].n, buf_str(&text));
            double peak = dev->unit[r->unit].rate.value * hal_clock_hz(dev) *
                          dev->limits.sm_count.value;
            double share = p.flops / x.estimate.us * 1e6 / peak;
            if (share < rows[i].roof || share > 1) {
                fail_msg("%s %d: %d %% of the unit", rows[i].device, (int)rows[i].n,
                         (int)(share * 100));
            }
        }
        arena_reset(a, mark);
    }
}

static void test_large_squares(void **state) { run(state, large_squares); }

/* The same by warpgroups: the family of 128x256x64 and 256x128x64, which two of them share, or as
 * many results in two tiles, with all the stages that shared memory has room for.  */
static void large_rings(Arena *a) {
    static const char *const devices[] = {"h100", "h200"};
    for (int i = 0; i < 2; i++) {
        const Device *dev = fixture_device(a, devices[i]);
        for (int64_t n = 4096; n <= 8192; n *= 2) {
            ArenaMark mark = arena_mark(a);
            int s = (int)n;
            Problem p = problem_of(a, arena_printf(a, "op f(A: bf16[%d,%d], B: bf16[%d,%d]) -> "
                                                   "C: bf16[%d,%d] { C[m,n] += A[m,k]*B[n,k]; }",
                                                   s, s, s, s, s, s));
            Ranked x = best(a, &p, dev);
            const RProg *r = &x.prog;
            int64_t area = (int64_t)r->block.extent[AX_M] * r->block.extent[AX_N];
            if (r->grid == GRID_PINGPONG) area *= 2;
            bool is_kin = dev->unit[r->unit].b_smem && between((int)area, 28672, 49152) &&
                          rprog_computing(dev, r) == 256 && r->stages >= 3 &&
                          r->block.extent[AX_K] == 64 && r->via != VIA_DIRECT && r->split == 1;
            Buf text = buf_new(a);
            mp_summary(&p, dev, r, &text);
            if (!is_kin) fail_msg("%s %d: %s", devices[i], (int)n, buf_str(&text));
            double rate = p.flops / x.estimate.us * 1e6;
            if (rate < 600e12 || rate > 830e12)
                fail_msg("%s %d: %d TFLOP/s", devices[i], (int)n, (int)(rate * 1e-12));
            arena_reset(a, mark);
        }
    }
}

static void test_large_rings(void **state) { run(state, large_rings); }

/* Few rows: the weights are read once at DRAM's rate, by copies far enough ahead; the unit's wide
 * side takes them.  */
static void few_rows(Arena *a) {
    static const char *const devices[] = {"h200", "a100", "rtx4090"};
    for (int i = 0; i < 3; i++) {
        const Device *dev = fixture_device(a, devices[i]);
        for (int64_t m = 2; m <= 16; m++) {
            ArenaMark mark = arena_mark(a);
            Problem p = fixture_matmul(1, m, 4096, 4096, false, true, TE_F16);
            Ranked x = best(a, &p, dev);
            const RProg *r = &x.prog;
            double dram = dev->memory[LEVEL_DRAM].read.value;
            double floor = (double)p.read_bytes / dram * 1e6;
            if (x.estimate.us > 1.15 * floor + 3) {
                fail_msg("%s M=%d: %d ns, DRAM alone %d", devices[i], (int)m,
                         (int)(x.estimate.us * 1e3), (int)(floor * 1e3));
            }
            if (rprog_matrix(dev, r)) assert_int_equal(r->swapped, m <= 8);
            arena_reset(a, mark);
        }
    }
}

static void test_few_rows(void **state) { run(state, few_rows); }

/* Bytes that a unit takes as 16-bit elements: of few rows they are copied as they are, steps ahead;
 * and programs that convert them once for all warps are still there.  */
static void few_rows_of_bytes(Arena *a) {
    static const struct {
        const char *device;
        TeDtype wide, narrow;
    } rows[] = {
        {"a100", TE_F8E4M3, TE_F8E4M3}, {"a100", TE_F16, TE_F8E5M2}, {"a100", TE_BF16, TE_I8},
        {"h200", TE_BF16, TE_F8E4M3},   {"a100", TE_BF16, TE_U8},
        {"h200", TE_BF16, TE_I8},       {"h200", TE_F16, TE_U8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ArenaMark mark = arena_mark(a);
        const Device *dev = fixture_device(a, rows[i].device);
        Problem p = fixture_matmul(1, 16, 8192, 8192, false, true, rows[i].wide);
        Problem bytes = fixture_matmul(1, 16, 8192, 8192, false, true, rows[i].narrow);
        p.op[1] = bytes.op[1];
        p.con.operand[1] = bytes.con.operand[1];
        Ranked x = best(a, &p, dev);
        const RProg *r = &x.prog;
        bool deep = r->load[0].kind == LOAD_ASYNC && r->load[1].kind == LOAD_ASYNC;
        if (!r->load[1].bytes || r->load[0].bytes != (rows[i].wide == rows[i].narrow) || !deep) {
            Buf text = buf_new(a);
            mp_summary(&p, dev, r, &text);
            fail_msg("row %d: %s", (int)i, buf_str(&text));
        }
        RProgSet set = candidates(a, &p, dev);
        int once = 0;
        for (int j = 0; j < set.n; j++)
            once += rprog_matrix(dev, &set.prog[j]) && !set.prog[j].load[1].bytes;
        assert_true(once > 0);
        arena_reset(a, mark);
    }
}

static void test_few_rows_of_bytes(void **state) { run(state, few_rows_of_bytes); }

/* For one and the same program more work takes no less time (but for what another shape of
 * the waves may save in DRAM traffic).  */
static void grows(Arena *a) {
    const Device *dev = fixture_device(a, "a100");
    Problem base = fixture_matmul(1, 1024, 1024, 1024, false, false, TE_F16);
    const RProg r = good(a, &base, dev);
    double last[3] = {0, 0, 0};
    for (int64_t n = 1024; n <= 16384; n += 128) {
        Problem p[3] = {fixture_matmul(1, n, 1024, 1024, false, false, TE_F16),
                        fixture_matmul(1, 1024, n, 1024, false, false, TE_F16),
                        fixture_matmul(1, 1024, 1024, n, false, false, TE_F16)};
        for (int i = 0; i < 3; i++) {
            Estimate e;
            mp_estimate(&p[i], &r, dev, &e);
            if (e.us < last[i] * 0.998) {
                fail_msg("axis %d, %d: %d ns after %d", i, (int)n, (int)(e.us * 1e3),
                         (int)(last[i] * 1e3));
            }
            last[i] = e.us;
        }
    }
}

static void test_grows(void **state) { run(state, grows); }

/* What --explain says of the best program of a matrix unit.  */
static const char *story_of(Arena *a, const char *device) {
    const Device *dev = fixture_device(a, device);
    Problem p = fixture_matmul(1, 8, 4096, 4096, false, true, TE_F8E4M3);
    RProgSet set = candidates(a, &p, dev);
    Ranked *r;
    Buf out = buf_new(a);
    int n = mp_rank(a, &p, dev, &set, 5, &r);
    for (int i = 0; i < n; i++) {
        if (!rprog_matrix(dev, &r[i].prog)) continue;
        mp_explain(&p, dev, &set, &r[i], 1, &out);
        break;
    }
    return buf_str(&out);
}

/* The words of --explain that a reader looks for.  */
static void explains(Arena *a) {
    static const struct {
        const char *device, *words;
    } rows[] = {
        {"h200", "per warp"}, {"h200", "swapped"}, {"h200", "reads of fragments"},
        {"h200", "added in f32 registers"}, {"h200", "keeps the unit busy"},
        {"h200", "M is small"}, {"h200", "times the sectors"}, {"h200", "per 8x8 matrix"},
        {"a100", "bytes until fragments are read and converted"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *story = story_of(a, rows[i].device);
        if (!strstr(story, rows[i].words)) fail_msg("no '%s' in\n%s", rows[i].words, story);
    }
}

static void test_explains(void **state) { run(state, explains); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_units, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numerics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_rules, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_legal_and_readable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_squares, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_rings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_few_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_few_rows_of_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_explains, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
