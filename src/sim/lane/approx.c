#include "sim/lane/approx.h"
#include "base/hash.h"
#include <float.h>
#include <math.h>

/* What a bound is: units in the last place, a part of the result, a difference.  */
typedef enum { ULPS, RELATIVE, ABSOLUTE } Kind;

/* op, type, operands up to this magnitude, bound, section of the PTX ISA.  The first row that fits
 * holds.  Ulps of ex2 are counted from the result rounded correctly, which adds half of one;
 * beyond 100 pi nothing is promised of sin and cos; of the f64 instructions there is no bound, but
 * they have 20 bits of fraction.  That 2^n is exact for integers n is not written there either, but
 * NVIDIA's own functions of f64 (exp, tanh) are wrong without it.  */
#define APPROXIMATIONS(X)                                                                          \
    X(RCP,   F32,  INFINITY,       ULPS,     1,           "9.7.3.13")                              \
    X(SQRT,  F32,  INFINITY,       RELATIVE, 0x1p-23,     "9.7.3.15")                              \
    X(RSQRT, F32,  INFINITY,       RELATIVE, 1.2776e-7,   "9.7.3.16: 2^-22.9")                     \
    X(SIN,   F32,  6.283185307,    ABSOLUTE, 6.7435e-7,   "9.7.3.18: 2^-20.5")                     \
    X(SIN,   F32,  314.1592653,    ABSOLUTE, 3.7572e-5,   "9.7.3.18: 2^-14.7")                     \
    X(SIN,   F32,  INFINITY,       ABSOLUTE, 1,           "9.7.3.18")                              \
    X(COS,   F32,  6.283185307,    ABSOLUTE, 6.7435e-7,   "9.7.3.19: 2^-20.5")                     \
    X(COS,   F32,  314.1592653,    ABSOLUTE, 3.7572e-5,   "9.7.3.19: 2^-14.7")                     \
    X(COS,   F32,  INFINITY,       ABSOLUTE, 1,           "9.7.3.19")                              \
    X(LG2,   F32,  0.5,            RELATIVE, 0x1p-22,     "9.7.3.20")                              \
    X(LG2,   F32,  1.999999881,    ABSOLUTE, 0x1p-22,     "9.7.3.20")                              \
    X(LG2,   F32,  INFINITY,       RELATIVE, 0x1p-22,     "9.7.3.20")                              \
    X(EX2,   F32,  INFINITY,       ULPS,     2.5,         "9.7.3.21")                              \
    X(TANH,  F32,  0x1.fffffcp-127, ABSOLUTE, 0,          "9.7.3.22: passed through")              \
    X(TANH,  F32,  INFINITY,       RELATIVE, 0x1p-11,     "9.7.3.22")                              \
    X(DIV,   F32,  INFINITY,       ULPS,     2,           "9.7.3.8")                               \
    X(TANH,  F16,  INFINITY,       ABSOLUTE, 4.9276e-4,   "9.7.4.9: 2^-10.987")                    \
    X(TANH,  BF16, INFINITY,       ABSOLUTE, 0x1p-8,      "9.7.4.9")                               \
    X(EX2,   F16,  INFINITY,       RELATIVE, 1.0466e-3,   "9.7.4.10: 2^-9.9")                      \
    X(EX2,   BF16, INFINITY,       RELATIVE, 0x1p-7,      "9.7.4.10")                              \
    X(RCP,   F64,  INFINITY,       RELATIVE, 0x1p-20,     "9.7.3.14")                              \
    X(RSQRT, F64,  INFINITY,       RELATIVE, 0x1p-20,     "9.7.3.17")

typedef struct {
    PtxOp op;
    PtxType type;
    double most;
    Kind kind;
    double bound;
} Row;
static const Row rows[] = {
#define X(op, type, most, kind, bound, section) {OP_##op, PTX_##type, most, kind, bound},
    APPROXIMATIONS(X)
#undef X
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static const Row *row_of(PtxOp op, PtxType t, double x) {
    for (int k = 0; k < N_ROWS; k++) {
        if (rows[k].op == op && rows[k].type == t && fabs(x) <= rows[k].most) return &rows[k];
    }
    return NULL;
}

/* Fraction bits of a result, and its least normal exponent.  */
typedef struct {
    int bits, least;
} Format;
static Format format_of(PtxType t) {
    switch (t) {
    case PTX_F16: return (Format){10, -14};
    case PTX_BF16: return (Format){7, -126};
    case PTX_F64: return (Format){20, -1022};
    default: return (Format){23, -126};
    }
}

static double ulp_of(Format f, double v) {
    int e;
    frexp(v, &e);
    e = e - 1 < f.least ? f.least : e - 1;
    return ldexp(1, e - f.bits);
}

/* From -1 to 1, both of them often.  */
static double drawn(uint64_t seed, PtxOp op, uint64_t operands) {
    uint64_t h = hash64(&operands, sizeof operands, seed * 0x9e3779b97f4a7c15ull + (uint64_t)op);
    if (h >> 62 == 0) return h & 1 ? 1 : -1;
    return (double)(h & 0xffffffff) / 2147483647.5 - 1;
}

double sim_approximate(const SimRun *run, PtxOp op, PtxType t, uint64_t operands, double x,
                       double exact) {
    uint64_t seed = run->options->errors;
    if (!seed || x == 0 || exact == 0 || !isfinite(exact)) return exact;
    if (op == OP_EX2 && x == floor(x)) return exact;
    const Row *row = row_of(op, t, x);
    if (!row) return exact;
    double room = row->bound;
    if (row->kind == ULPS) room *= ulp_of(format_of(t), exact);
    if (row->kind == RELATIVE) room *= fabs(exact);
    room -= ulp_of(format_of(t), fabs(exact) + room) / 2;    /* rounding takes the rest */
    if (room <= 0) return exact;
    double v = exact + room * drawn(seed, op, operands);
    if (row->kind != ABSOLUTE && v * exact < 0) return 0 * exact;
    bool fits = fabs(exact) <= (double)FLT_MAX;          /* an error makes no infinity */
    return t == PTX_F32 && fits && fabs(v) > (double)FLT_MAX ? copysign((double)FLT_MAX, v) : v;
}
