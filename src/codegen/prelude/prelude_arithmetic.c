/* The prelude: what operators and functions of the language mean.  */
#include "codegen/prelude/prelude.h"

#define FN "__device__ __forceinline__ "

const PreludeRow prelude_arithmetic[] = {
    /* Integers wrap; division floors, and gives 0 for the divisor 0.  */
    {"rl_add_i32", 0,
     FN "int rl_add_i32(int x, int y) {\n"
        "    return (int)((unsigned)x + (unsigned)y);\n"
        "}\n"},
    {"rl_sub_i32", 0,
     FN "int rl_sub_i32(int x, int y) {\n"
        "    return (int)((unsigned)x - (unsigned)y);\n"
        "}\n"},
    {"rl_mul_i32", 0,
     FN "int rl_mul_i32(int x, int y) {\n"
        "    return (int)((unsigned)x * (unsigned)y);\n"
        "}\n"},
    /* Counts of shifts are taken modulo the width.  */
    {"rl_shl_i32", 0,
     FN "int rl_shl_i32(int x, int n) {\n"
        "    return (int)((unsigned)x << (n & 31));\n"
        "}\n"},
    {"rl_shr_i32", 0,
     FN "int rl_shr_i32(int x, int n) {\n"
        "    return x >> (n & 31);\n"
        "}\n"},
    {"rl_shl_i64", 0,
     FN "long long rl_shl_i64(long long x, long long n) {\n"
        "    return (long long)((unsigned long long)x << (n & 63));\n"
        "}\n"},
    {"rl_shr_i64", 0,
     FN "long long rl_shr_i64(long long x, long long n) {\n"
        "    return x >> (n & 63);\n"
        "}\n"},
    {"rl_mad_i32", 0,
     FN "int rl_mad_i32(int x, int y, int z) {\n"
        "    return (int)((unsigned)x * (unsigned)y + (unsigned)z);\n"
        "}\n"},
    {"rl_abs_i32", 0,
     FN "int rl_abs_i32(int x) {\n"
        "    return x < 0 ? (int)(0u - (unsigned)x) : x;\n"
        "}\n"},
    {"rl_div_i32", 0,
     FN "int rl_div_i32(int x, int y) {\n"
        "    if (y == 0) return 0;\n"
        "    if (y == -1) return (int)(0u - (unsigned)x);\n"
        "    const int q = x / y, r = x % y;\n"
        "    return q - (r != 0 && (r < 0) != (y < 0));\n"
        "}\n"},
    {"rl_mod_i32", 0,
     FN "int rl_mod_i32(int x, int y) {\n"
        "    if (y == 0 || y == -1) return 0;\n"
        "    const int r = x % y;\n"
        "    return r != 0 && (r < 0) != (y < 0) ? r + y : r;\n"
        "}\n"},
    {"rl_add_i64", 0,
     FN "long long rl_add_i64(long long x, long long y) {\n"
        "    return (long long)((unsigned long long)x + (unsigned long long)y);\n"
        "}\n"},
    {"rl_sub_i64", 0,
     FN "long long rl_sub_i64(long long x, long long y) {\n"
        "    return (long long)((unsigned long long)x - (unsigned long long)y);\n"
        "}\n"},
    {"rl_mul_i64", 0,
     FN "long long rl_mul_i64(long long x, long long y) {\n"
        "    return (long long)((unsigned long long)x * (unsigned long long)y);\n"
        "}\n"},
    {"rl_mad_i64", 0,
     FN "long long rl_mad_i64(long long x, long long y, long long z) {\n"
        "    return (long long)((unsigned long long)x * (unsigned long long)y +\n"
        "                       (unsigned long long)z);\n"
        "}\n"},
    /* Philox4x32-10: number n of the seed's sequence.  Its rounds stay a loop: a product's epilogue
     * has a hundred of them.  */
    {"rl_philox", 0,
     FN "long long rl_philox(long long seed, long long n) {\n"
        "    unsigned a = (unsigned)(n >> 2), b = (unsigned)(n >> 34);\n"
        "    unsigned c = (unsigned)(n >> 63), d = c;\n"
        "    unsigned k = (unsigned)seed, l = (unsigned)(seed >> 32);\n"
        "#pragma unroll 1\n"
        "    for (int i = 0; i < 10; i++) {\n"
        "        const unsigned long long x = 0xD2511F53ull * a, y = 0xCD9E8D57ull * c;\n"
        "        a = (unsigned)(y >> 32) ^ b ^ k;\n"
        "        b = (unsigned)y;\n"
        "        c = (unsigned)(x >> 32) ^ d ^ l;\n"
        "        d = (unsigned)x;\n"
        "        k += 0x9E3779B9u;\n"
        "        l += 0xBB67AE85u;\n"
        "    }\n"
        "    const unsigned even = n & 2 ? c : a, odd = n & 2 ? d : b;\n"
        "    return (long long)(n & 1 ? odd : even);\n"
        "}\n"},
    {"rl_abs_i64", 0,
     FN "long long rl_abs_i64(long long x) {\n"
        "    return x < 0 ? (long long)(0ull - (unsigned long long)x) : x;\n"
        "}\n"},
    {"rl_div_i64", 0,
     FN "long long rl_div_i64(long long x, long long y) {\n"
        "    if (y == 0) return 0;\n"
        "    if (y == -1) return (long long)(0ull - (unsigned long long)x);\n"
        "    const long long q = x / y, r = x % y;\n"
        "    return q - (r != 0 && (r < 0) != (y < 0));\n"
        "}\n"},
    {"rl_mod_i64", 0,
     FN "long long rl_mod_i64(long long x, long long y) {\n"
        "    if (y == 0 || y == -1) return 0;\n"
        "    const long long r = x % y;\n"
        "    return r != 0 && (r < 0) != (y < 0) ? r + y : r;\n"
        "}\n"},

    /* NaN if either is.  */
    {"rl_max_f32", 0,
     FN "float rl_max_f32(float x, float y) {\n"
        "    return x > y || x != x ? x : y;\n"
        "}\n"},
    {"rl_max_f32", 80,
     FN "float rl_max_f32(float x, float y) {\n"
        "    float z;\n"
        "    asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(z) : \"f\"(x), \"f\"(y));\n"
        "    return z;\n"
        "}\n"},
    {"rl_min_f32", 0,
     FN "float rl_min_f32(float x, float y) {\n"
        "    return x < y || x != x ? x : y;\n"
        "}\n"},
    {"rl_min_f32", 80,
     FN "float rl_min_f32(float x, float y) {\n"
        "    float z;\n"
        "    asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(z) : \"f\"(x), \"f\"(y));\n"
        "    return z;\n"
        "}\n"},
    {"rl_max_f64", 0,
     FN "double rl_max_f64(double x, double y) {\n"
        "    return x > y || x != x ? x : y;\n"
        "}\n"},
    {"rl_min_f64", 0,
     FN "double rl_min_f64(double x, double y) {\n"
        "    return x < y || x != x ? x : y;\n"
        "}\n"},

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

    /* x / y, correctly rounded, by r, the reciprocal of y as it is rounded; row_divide.c says
     * where.  */
    {"rl_div_by", 0,
     FN "float rl_div_by(float x, float y, float r) {\n"
        "    const float q = x * r;\n"
        "    return fmaf(fmaf(q, -y, x), r, q);\n"
        "}\n"},

    /* The same where the quotient may be subnormal: the remainder is scaled by 2^56, and divided
     * with what the reciprocal was rounded by, so that the middle of two quotients is one.  It is
     * wrong for divisors whose bits are all ones.  */
    {"rl_div_low", 0,
     FN "float rl_div_low(float x, float y, float r) {\n"
        "    const float many = 72057594037927936.0f, rest = fmaf(r, -y, 1.0f) * r;\n"
        "    const float q = x * r, left = fmaf(q, -y * many, x * many);\n"
        "    return fmaf(fmaf(left, r, left * rest), 1.0f / many, q);\n"
        "}\n"},
    {"rl_not_ones", 0,
     FN "bool rl_not_ones(float y) {\n"
        "    return (__float_as_uint(y) & 0x7fffffu) != 0x7fffffu;\n"
        "}\n"},
    /* Are quotients by rl_div_by normal, and remainders exact, for divisors between 2^-32 and 2^32?
     * Those of -0 would lose the sign.  */
    {"rl_divides", 0,
     FN "bool rl_divides(float x) {\n"
        "    const float size = fabsf(x);\n"
        "    return (size >= 2.01948392e-28f && size <= 4.95176016e+27f) ||\n"
        "           __float_as_uint(x) == 0u;\n"
        "}\n"},

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
