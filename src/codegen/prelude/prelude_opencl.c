/* The prelude of OpenCL C 1.2: what operators and functions of the language mean.
 *
 * Names and meanings are those of CUDA's (prelude_arithmetic.c); what is a template there has the
 * type at the end of its name.  Shifts take their counts modulo the width in both (6.3.j).  */
#define PRELUDE_OPENCL
#include "codegen/prelude/prelude_shared.h"

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
    INTEGERS,
    PHILOX,
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

    DIV_BY,
    DIV_LOW,
    NOT_ONES,
    DIVIDES,

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
