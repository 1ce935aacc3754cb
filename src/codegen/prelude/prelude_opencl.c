/* The prelude of OpenCL C 1.2: what operators and functions of the language mean.
 *
 * Names and meanings are those of CUDA's (prelude_arithmetic.c); what is a template there has the
 * type at the end of its name.  */
#include "codegen/prelude/prelude.h"

#define FN "static inline "

/* Integers wrap; shifts take their counts modulo the width (6.3.j); division floors, and gives 0
 * for the divisor 0.  */
#define WRAP(name, type, wide, op)                                                                 \
    {                                                                                              \
        name, 0,                                                                                   \
            FN type " " name "(" type " x, " type " y) {\n"                                        \
               "    return (" type ")((" wide ")x " op " (" wide ")y);\n"                          \
               "}\n"                                                                               \
    }
#define INTEGERS(suffix, type, wide)                                                               \
    WRAP("rl_add_" suffix, type, wide, "+"), WRAP("rl_sub_" suffix, type, wide, "-"),              \
        WRAP("rl_mul_" suffix, type, wide, "*"),                                                   \
        {"rl_shl_" suffix, 0,                                                                      \
         FN type " rl_shl_" suffix "(" type " x, " type " n) {\n"                                  \
            "    return (" type ")((" wide ")x << (" wide ")n);\n"                                 \
            "}\n"},                                                                                \
        {"rl_shr_" suffix, 0,                                                                      \
         FN type " rl_shr_" suffix "(" type " x, " type " n) {\n"                                  \
            "    return x >> (" wide ")n;\n"                                                       \
            "}\n"},                                                                                \
        {"rl_mad_" suffix, 0,                                                                      \
         FN type " rl_mad_" suffix "(" type " x, " type " y, " type " z) {\n"                      \
            "    return (" type ")((" wide ")x * (" wide ")y + (" wide ")z);\n"                    \
            "}\n"},                                                                                \
        {"rl_abs_" suffix, 0,                                                                      \
         FN type " rl_abs_" suffix "(" type " x) {\n"                                              \
            "    return x < 0 ? (" type ")(0 - (" wide ")x) : x;\n"                                \
            "}\n"},                                                                                \
        {"rl_div_" suffix, 0,                                                                      \
         FN type " rl_div_" suffix "(" type " x, " type " y) {\n"                                  \
            "    if (y == 0) return 0;\n"                                                          \
            "    if (y == -1) return (" type ")(0 - (" wide ")x);\n"                               \
            "    const " type " q = x / y, r = x % y;\n"                                           \
            "    return q - (r != 0 && (r < 0) != (y < 0));\n"                                     \
            "}\n"},                                                                                \
        {"rl_mod_" suffix, 0,                                                                      \
         FN type " rl_mod_" suffix "(" type " x, " type " y) {\n"                                  \
            "    if (y == 0 || y == -1) return 0;\n"                                               \
            "    const " type " r = x % y;\n"                                                      \
            "    return r != 0 && (r < 0) != (y < 0) ? r + y : r;\n"                               \
            "}\n"}

/* NaN if either is.  */
#define EXTREME(name, type, sign)                                                                  \
    {                                                                                              \
        name, 0,                                                                                   \
            FN type " " name "(" type " x, " type " y) {\n"                                        \
               "    return x " sign " y || x != x ? x : y;\n"                                      \
               "}\n"                                                                               \
    }

/* The first NaN wins, then the best value, then the lowest position; where == INT_MAX: there is
 * none yet.  _next: x is behind all others.  */
#define ARG(name, suffix, type, better, worse)                                                     \
    {                                                                                              \
        name "_" suffix, 0,                                                                        \
            FN "void " name "_" suffix "(" type " *best, int *where, " type " x, int at) {\n"      \
               "    const bool was = *best != *best, is = x != x, first = at < *where;\n"          \
               "    if (was ? is && first\n"                                                       \
               "            : is || x " better " *best || (x == *best && first)) {\n"              \
               "        *best = x;\n"                                                              \
               "        *where = at;\n"                                                            \
               "    }\n"                                                                           \
               "}\n"                                                                               \
    },                                                                                             \
    {                                                                                              \
        name "_next_" suffix, 0,                                                                   \
            FN "void " name "_next_" suffix "(" type " *best, int *where, " type " x, int at) {\n" \
               "    if (*where == 2147483647 || (*best == *best && !(x " worse "= *best))) {\n"    \
               "        *best = x;\n"                                                              \
               "        *where = at;\n"                                                            \
               "    }\n"                                                                           \
               "}\n"                                                                               \
    }
#define ARGS(suffix, type)                                                                         \
    ARG("rl_argmax", suffix, type, ">", "<"), ARG("rl_argmin", suffix, type, "<", ">")

/* Functions of f32 whose error may be larger in OpenCL C than in the language (exp 3 ulp, tanh 5,
 * erf 16): through f64 they are within a bit of half an ulp.  A device without f64 has its own.  */
#define REAL(name)                                                                                 \
    {                                                                                              \
        "rl_" name "_f32", 0,                                                                      \
            FN "float rl_" name "_f32(float x) {\n"                                                \
               "    return " name "(x);\n"                                                         \
               "}\n"                                                                               \
    },                                                                                             \
    {                                                                                              \
        "rl_" name "_f32", PRELUDE_F64,                                                            \
            FN "float rl_" name "_f32(float x) {\n"                                                \
               "    return (float)" name "((double)x);\n"                                          \
               "}\n"                                                                               \
    }
/* What @fast allows to be approximated.  */
#define FAST(name, body)                                                                           \
    {                                                                                              \
        "rl_fast_" name, 0,                                                                        \
            FN "float rl_fast_" name "(float x) {\n"                                               \
               "    return " body ";\n"                                                            \
               "}\n"                                                                               \
    }

/* Four products of bytes and a sum; s and u say which operand is signed.  */
#define DP4A(name, x, y)                                                                           \
    {                                                                                              \
        name, 0,                                                                                   \
            FN "int " name "(int x, int y, int z) {\n"                                             \
               "    const int4 p = convert_int4(as_" x "4(x)) * convert_int4(as_" y "4(y));\n"     \
               "    return (int)((uint)z + (uint)(p.x + p.y + p.z + p.w));\n"                      \
               "}\n"                                                                               \
    }

const PreludeRow prelude_opencl[] = {
    INTEGERS("i32", "int", "uint"),
    INTEGERS("i64", "long", "ulong"),
    /* Philox4x32-10: number n of the seed's sequence.  */
    {"rl_philox", 0,
     FN "long rl_philox(long seed, long n) {\n"
        "    uint a = (uint)(n >> 2), b = (uint)(n >> 34);\n"
        "    uint c = (uint)(n >> 63), d = c;\n"
        "    uint k = (uint)seed, l = (uint)(seed >> 32);\n"
        "    for (int i = 0; i < 10; i++) {\n"
        "        const ulong x = 0xD2511F53ul * a, y = 0xCD9E8D57ul * c;\n"
        "        a = (uint)(y >> 32) ^ b ^ k;\n"
        "        b = (uint)y;\n"
        "        c = (uint)(x >> 32) ^ d ^ l;\n"
        "        d = (uint)x;\n"
        "        k += 0x9E3779B9u;\n"
        "        l += 0xBB67AE85u;\n"
        "    }\n"
        "    const uint even = n & 2 ? c : a, odd = n & 2 ? d : b;\n"
        "    return (long)(n & 1 ? odd : even);\n"
        "}\n"},
    EXTREME("rl_max_f32", "float", ">"),
    EXTREME("rl_min_f32", "float", "<"),
    EXTREME("rl_max_f64", "double", ">"),
    EXTREME("rl_min_f64", "double", "<"),
    ARGS("i32", "int"),
    ARGS("i64", "long"),
    ARGS("f32", "float"),
    ARGS("f64", "double"),

    REAL("exp"),
    REAL("exp2"),
    REAL("log"),
    REAL("log2"),
    REAL("tanh"),
    REAL("erf"),
    REAL("sin"),
    REAL("cos"),
    {"rl_pow_f32", 0,
     FN "float rl_pow_f32(float x, float y) {\n"
        "    return pow(x, y);\n"
        "}\n"},
    {"rl_pow_f32", PRELUDE_F64,
     FN "float rl_pow_f32(float x, float y) {\n"
        "    return (float)pow((double)x, (double)y);\n"
        "}\n"},

    /* e^x where x is at most 88.  */
    {"rl_exp_low", 0,
     FN "float rl_exp_low(float x) {\n"
        "    return rl_exp_f32(x);\n"
        "}\n"},
    /* The same without what the rounding of the product leaves.  */
    {"rl_exp_term", 0,
     FN "float rl_exp_term(float x) {\n"
        "    return exp2(x * 1.442695041f);\n"
        "}\n"},

    /* x / y, correctly rounded, by r, the reciprocal of y as it is rounded; row_divide.c says
     * where, and prelude_arithmetic.c how.  */
    {"rl_div_by", 0,
     FN "float rl_div_by(float x, float y, float r) {\n"
        "    const float q = x * r;\n"
        "    return fma(fma(q, -y, x), r, q);\n"
        "}\n"},
    {"rl_div_low", 0,
     FN "float rl_div_low(float x, float y, float r) {\n"
        "    const float many = 72057594037927936.0f, rest = fma(r, -y, 1.0f) * r;\n"
        "    const float q = x * r, left = fma(q, -y * many, x * many);\n"
        "    return fma(fma(left, r, left * rest), 1.0f / many, q);\n"
        "}\n"},
    {"rl_not_ones", 0,
     FN "bool rl_not_ones(float y) {\n"
        "    return (as_uint(y) & 0x7fffffu) != 0x7fffffu;\n"
        "}\n"},
    {"rl_divides", 0,
     FN "bool rl_divides(float x) {\n"
        "    const float size = fabs(x);\n"
        "    return (size >= 2.01948392e-28f && size <= 4.95176016e+27f) || as_uint(x) == 0u;\n"
        "}\n"},

    {"rl_fast_div", 0,
     FN "float rl_fast_div(float x, float y) {\n"
        "    return x / y;\n"
        "}\n"},
    FAST("exp2", "exp2(x)"),
    FAST("exp", "exp(x)"),
    FAST("sqrt", "sqrt(x)"),
    FAST("tanh", "tanh(x)"),
    FAST("sin", "sin(x)"),
    FAST("cos", "cos(x)"),

    DP4A("rl_dp4a_ss", "char", "char"),
    DP4A("rl_dp4a_su", "char", "uchar"),
    DP4A("rl_dp4a_us", "uchar", "char"),
    DP4A("rl_dp4a_uu", "uchar", "uchar"),

    {"rl_block_sync", 0,
     FN "void rl_block_sync(void) {\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "}\n"},
    /* A number that the compiler does not know.  */
    {"rl_hidden", 0,
     FN "int rl_hidden(int x) {\n"
        "    volatile int y = x;\n"
        "    return y;\n"
        "}\n"},
};
const int prelude_opencl_rows = sizeof prelude_opencl / sizeof *prelude_opencl;
