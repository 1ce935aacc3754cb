/* Matrix units of warps: mma.sync, its text made from the shape and the types of the profile's
 * row.
 *
 * Accumulator c of a warp takes fragments a[c % 2] and b[c / 2], as the tiles of a warp do.  */
#include "profiler/unit.h"
#include "rtile/fragment.h"

#include <string.h>

enum { CHAINS = 8 };

/* How PTX calls a type of the profile.  */
static const char *type_name(TeDtype t) {
    switch (t) {
    case TE_F16: return "f16";
    case TE_BF16: return "bf16";
    case TE_F32: return "f32";
    case TE_F64: return "f64";
    case TE_F8E4M3: return "e4m3";
    case TE_F8E5M2: return "e5m2";
    case TE_I8: return "s8";
    case TE_U8: return "u8";
    case TE_I32: return "s32";
    default: return NULL;
    }
}

/* Registers of one lane: 32 bits each, or 64 for f64.  */
typedef struct {
    int d, a, b;
    const char *d_type, *d_constraint, *type, *constraint;
} Registers;

static int registers(const ComputeUnit *u, FragRole role) {
    Fragment f = fragment_of(u, role, FRAG_COL);
    return fragment_slots(&f, FRAG_DIMS) / f.per_register;
}

/* Products of the shape that the instruction is called by.  */
static int products(const ComputeUnit *u) {
    FragShape s = fragment_shape(u);
    return s.m * s.n / (u->m.to * u->n.to);
}

static Registers registers_of(const ComputeUnit *u) {
    Registers r = {registers(u, FRAG_RESULT), registers(u, FRAG_A), registers(u, FRAG_B),
                   "unsigned", "r", "unsigned", "r"};
    if (u->acc == TE_F32) { r.d_type = "float"; r.d_constraint = "f"; }
    if (u->acc == TE_F64) { r.d_type = "double"; r.d_constraint = "d"; }
    if (u->a == TE_F64) { r.type = "double"; r.constraint = "d"; }
    return r;
}

static void operand(Buf *t, int first, int n) {
    for (int i = 0; i < n; i++) buf_printf(t, "%s%%%d", i ? ", " : "{", first + i);
    buf_puts(t, "}");
}

static void constraints(Buf *t, const char *lead, const char *constraint, const char *x, int n) {
    for (int i = 0; i < n; i++)
        buf_printf(t, "%s\"%s%s\"(%s[%d])", i ? ", " : "", lead, constraint, x, i);
}

/* d += a * b.  */
static const char *step(Arena *arena, const ComputeUnit *u, const Registers *r) {
    const char *ab = u->tf32 ? "tf32" : type_name(u->a), *sum = type_name(u->acc);
    Buf t = buf_new(arena);
    buf_printf(&t,
               "__device__ __forceinline__ void step(%s *d, const %s *a, const %s *b) {\n"
               "    asm volatile(\"mma.sync.aligned.m%dn%dk%d.row.col.%s.%s.%s.%s ", r->d_type,
               r->type, r->type, u->m.to, u->n.to, u->k.to, sum, ab, ab, sum);
    operand(&t, 0, r->d);
    buf_puts(&t, ", ");
    operand(&t, r->d, r->a);
    buf_puts(&t, ", ");
    operand(&t, r->d + r->a, r->b);
    buf_puts(&t, ", ");
    operand(&t, 0, r->d);
    buf_puts(&t, ";\" : ");
    constraints(&t, "+", r->d_constraint, "d", r->d);
    buf_puts(&t, " : ");
    constraints(&t, "", r->constraint, "a", r->a);
    buf_puts(&t, ", ");
    constraints(&t, "", r->constraint, "b", r->b);
    buf_puts(&t, ");\n}\n");
    return buf_str(&t);
}

static const char source[] =
    "extern \"C\" __global__ void __launch_bounds__(512)\n"
    "unit(const unsigned *in, unsigned *out, u64 *clocks, int n, unsigned never) {\n"
    "    const TYPE *from = (const TYPE *)in + threadIdx.x;\n"
    "    TYPE a[2][NA], b[4][NB];\n"
    "    TYPE_D d[CHAINS][ND];\n"
    "    for (int i = 0; i < 2 * NA; i++) a[i / NA][i % NA] = from[32 * i];\n"
    "    for (int i = 0; i < 4 * NB; i++) b[i / NB][i % NB] = from[256 + 32 * i];\n"
    "    for (int c = 0; c < CHAINS; c++) {\n"
    "        for (int i = 0; i < ND; i++) d[c][i] = 0;\n"
    "    }\n"
    "    BEGIN\n"
    "    #pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        #pragma unroll\n"
    "        for (int s = 0; s < STEPS; s++) {\n"
    "            step(d[s % CHAINS], a[s % 2], b[s % CHAINS / 2]);\n"
    "            CHANGE(a[s % 2][0]);\n"
    "        }\n"
    "    }\n"
    "    END\n"
    "    unsigned all = 0;\n"
    "    for (int c = 0; c < CHAINS; c++) {\n"
    "        for (int i = 0; i < ND; i++) all ^= bits(d[c][i]);\n"
    "    }\n"
    "    if (all == never) out[threadIdx.x] = all;\n"
    "}\n";

/* Where products of f8 become products of f16 and additions (sm_90), compilers make the products of
 * the same operands once: so one operand changes from step to step.  */
static bool emulated(const ComputeUnit *u) { return u->a == TE_F8E4M3 || u->a == TE_F8E5M2; }

static UnitKernel kernel(Bench *b, const ComputeUnit *u) {
    enum { STEPS = 32, ONE_CHAIN = 16, MACROS = 8 };
    Arena *a = bench_arena(b);
    Registers r = registers_of(u);
    int steps = bench_simulated(b) ? CHAINS : STEPS;
    int alone = bench_simulated(b) ? 4 : ONE_CHAIN;
    const char **rate = ARENA_ARRAY(a, const char *, MACROS + 1);
    const char **latency = ARENA_ARRAY(a, const char *, MACROS + 1);
    rate[0] = latency[0] = arena_printf(a, "TYPE %s", r.type);
    rate[1] = latency[1] = arena_printf(a, "TYPE_D %s", r.d_type);
    rate[2] = latency[2] = arena_printf(a, "ND %d", r.d);
    rate[3] = latency[3] = arena_printf(a, "NA %d", r.a);
    rate[4] = latency[4] = arena_printf(a, "NB %d", r.b);
    rate[5] = arena_printf(a, "CHAINS %d", CHAINS);
    latency[5] = "CHAINS 1";
    rate[6] = arena_printf(a, "STEPS %d", steps);
    latency[6] = arena_printf(a, "STEPS %d", alone);
    rate[7] = latency[7] = emulated(u) ? "CHANGE(x) asm volatile(\"add.u32 %0, %0, 0x10001;\" : "
                                         "\"+r\"(x))"
                                       : "CHANGE(x) (void)0";
    const char *text = arena_printf(a, "%s%s%s", unit_prelude, step(a, u, &r), source);
    return (UnitKernel){.rate_source = text, .latency_source = text, .rate_macros = rate,
                        .latency_macros = latency, .rate_steps = steps,
                        .latency_steps = alone, .warps = 1, .most_warps = 16,
                        .copies = products(u)};
}

Status bench_mma(Bench *b, Device *dev) {
    UnitKernel *k = ARENA_ARRAY(bench_arena(b), UnitKernel, dev->n_unit + 1);
    ComputeUnit **unit = ARENA_ARRAY(bench_arena(b), ComputeUnit *, dev->n_unit + 1);
    int n = 0;
    for (int i = 0; i < dev->n_unit; i++) {
        if (strncmp(dev->unit[i].name, "mma.", 4) != 0) continue;
        unit[n] = &dev->unit[i];
        k[n++] = kernel(b, &dev->unit[i]);
    }
    return unit_measure(b, dev, unit, k, n);
}
