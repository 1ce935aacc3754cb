/* The prelude: what operators and functions of the language mean.  */
#include "codegen/prelude/prelude_shared.h"

const PreludeRow prelude_arithmetic[] = {
    INTEGERS,
    PHILOX,

    EXTREME("rl_max_f32", "float", ">"),
    {"rl_max_f32", 80,
     FN "float rl_max_f32(float x, float y) {\n"
        "    float z;\n"
        "    asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(z) : \"f\"(x), \"f\"(y));\n"
        "    return z;\n"
        "}\n"},
    EXTREME("rl_min_f32", "float", "<"),
    {"rl_min_f32", 80,
     FN "float rl_min_f32(float x, float y) {\n"
        "    float z;\n"
        "    asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(z) : \"f\"(x), \"f\"(y));\n"
        "    return z;\n"
        "}\n"},
    EXTREME("rl_max_f64", "double", ">"),
    EXTREME("rl_min_f64", "double", "<"),

    /* The first NaN wins, then the best value, then the lowest position; where == INT_MAX: there is
     * none yet.  _next: x is behind all others.  */
#define ARG(name, better, worse)                                                                   \
    {                                                                                              \
        name, 0,                                                                                   \
            "template <typename T> " FN "void " name "(T &best, int &where, T x, int at) {\n"      \
            "    const bool was = best != best, is = x != x, first = at < where;\n"                \
            "    if (was ? is && first : is || x " better " best || (x == best && first)) {\n"     \
            "        best = x;\n"                                                                  \
            "        where = at;\n"                                                                \
            "    }\n"                                                                              \
            "}\n"                                                                                  \
    },                                                                                             \
    {                                                                                              \
        name "_next", 0,                                                                           \
            "template <typename T> " FN "void " name "_next(T &best, int &where, T x, int at) {\n" \
            "    if (where == 2147483647 || (best == best && !(x " worse "= best))) {\n"           \
            "        best = x;\n"                                                                  \
            "        where = at;\n"                                                                \
            "    }\n"                                                                              \
            "}\n"                                                                                  \
    }
    ARG("rl_argmax", ">", "<"),
    ARG("rl_argmin", "<", ">"),
#undef ARG

    /* e^x where x is at most 88: 2^t for t = x log2(e) rounded, times 1 + r for what the rounding
     * left, r = x - t ln(2) by two products (ln(2) to 48 bits).  2^t has the error that exp2f has,
     * and the last rounding adds half an ulp; r is below 2^-17, so r^2 / 2 is nothing.
     * Below -104 e^x is 0, and r would be no number at -inf.  */
    {"rl_exp_low", 0,
     FN "float rl_exp_low(float x) {\n"
        "    const float y = rl_max_f32(x, -104.0f), t = y * 1.442695041f;\n"
        "    float z;\n"
        "    asm(\"ex2.approx.f32 %0, %1;\" : \"=f\"(z) : \"f\"(t));\n"
        "    const float r = fmaf(t, -0.6931471825f, y);\n"
        "    return fmaf(z, fmaf(t, 1.904654300e-9f, r), z);\n"
        "}\n"},

    /* The same without what the rounding of t leaves.  */
    {"rl_exp_term", 0,
     FN "float rl_exp_term(float x) {\n"
        "    float z;\n"
        "    asm(\"ex2.approx.f32 %0, %1;\" : \"=f\"(z) : \"f\"(x * 1.442695041f));\n"
        "    return z;\n"
        "}\n"},

    /* 2^x, where results below 2^-126 may be 0.  */
    {"rl_exp2_term", 0,
     FN "float rl_exp2_term(float x) {\n"
        "    float z;\n"
        "    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(z) : \"f\"(x));\n"
        "    return z;\n"
        "}\n"},

    /* Is it so in any lane of the warp?  */
    {"rl_any", 0,
     FN "bool rl_any(bool x) {\n"
        "    return __any_sync(0xffffffffu, x);\n"
        "}\n"},

    DIV_BY,

    DIV_LOW,
    NOT_ONES,
    DIVIDES,

    /* Approximations for @fast.  */
    {"rl_fast_div", 0,
     FN "float rl_fast_div(float x, float y) {\n"
        "    float z;\n"
        "    asm(\"div.full.f32 %0, %1, %2;\" : \"=f\"(z) : \"f\"(x), \"f\"(y));\n"
        "    return z;\n"
        "}\n"},
    {"rl_fast_exp2", 0,
     FN "float rl_fast_exp2(float x) {\n"
        "    float y;\n"
        "    asm(\"ex2.approx.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n"
        "    return y;\n"
        "}\n"},
    {"rl_fast_exp", 0,
     FN "float rl_fast_exp(float x) {\n"
        "    return rl_fast_exp2(x * 1.442695041f);\n"
        "}\n"},
    {"rl_fast_sqrt", 0,
     FN "float rl_fast_sqrt(float x) {\n"
        "    float y;\n"
        "    asm(\"sqrt.approx.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n"
        "    return y;\n"
        "}\n"},
    {"rl_fast_tanh", 0,
     FN "float rl_fast_tanh(float x) {\n"
        "    return tanhf(x);\n"
        "}\n"},
    {"rl_fast_tanh", 75,
     FN "float rl_fast_tanh(float x) {\n"
        "    float y;\n"
        "    asm(\"tanh.approx.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n"
        "    return y;\n"
        "}\n"},
    {"rl_fast_sin", 0,
     FN "float rl_fast_sin(float x) {\n"
        "    return fabsf(x) <= 3.1415927f ? __sinf(x) : sinf(x);\n"
        "}\n"},
    {"rl_fast_cos", 0,
     FN "float rl_fast_cos(float x) {\n"
        "    return fabsf(x) <= 3.1415927f ? __cosf(x) : cosf(x);\n"
        "}\n"},

/* Four products of bytes and a sum; s and u say which operand is signed.  */
#define DP4A(name, types)                                                                          \
    {                                                                                              \
        name, 0,                                                                                   \
            FN "int " name "(int x, int y, int z) {\n"                                             \
               "    int d;\n"                                                                      \
               "    asm(\"dp4a." types                                                             \
               " %0, %1, %2, %3;\" : \"=r\"(d) : \"r\"(x), \"r\"(y), \"r\"(z));\n"                 \
               "    return d;\n"                                                                   \
               "}\n"                                                                               \
    }
    DP4A("rl_dp4a_ss", "s32.s32"),
    DP4A("rl_dp4a_su", "s32.u32"),
    DP4A("rl_dp4a_us", "u32.s32"),
    DP4A("rl_dp4a_uu", "u32.u32"),
#undef DP4A
};
const int prelude_arithmetic_rows = sizeof prelude_arithmetic / sizeof *prelude_arithmetic;
