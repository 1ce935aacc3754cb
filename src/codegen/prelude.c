#include "codegen/prelude.h"
#include <string.h>

#define FN "__device__ __forceinline__ "

static const PreludeRow table[] = {
    /* Vectors of elements: one access each.  */
    {"rl_vec", 0,
     "template <typename T, int N> struct __align__(sizeof(T) * N) rl_vec { T v[N]; };\n"},
    {"rl_load", 0,
     "template <int N, typename T> " FN "rl_vec<T, N> rl_load(const T *p) {\n"
     "    return *reinterpret_cast<const rl_vec<T, N> *>(p);\n"
     "}\n"},

    /* A tensor map as a parameter, as CUtensorMap of cuda.h; its address is what TMA takes.  */
    {"rl_map", 90, "struct __align__(64) rl_map { unsigned long long v[16]; };\n"},

    /* Narrow reals to f32: exact.  */
    {"rl_f16_to_f32", 0,
     FN "float rl_f16_to_f32(unsigned short x) {\n"
        "    float y;\n"
        "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x));\n"
        "    return y;\n"
        "}\n"},
    {"rl_bf16_to_f32", 0,
     FN "float rl_bf16_to_f32(unsigned short x) {\n"
        "    return __uint_as_float((unsigned)x << 16);\n"
        "}\n"},
    {"rl_e4m3_to_f32", 0,
     FN "float rl_e4m3_to_f32(unsigned char x) {\n"
        "    const unsigned magnitude = x & 0x7fu;\n"
        "    const float y = rl_f16_to_f32((unsigned short)((x & 0x80u) << 8 | magnitude << 7));\n"
        "    return magnitude == 0x7fu ? __uint_as_float(0x7fc00000u) : y * 256.0f;\n"
        "}\n"},
    {"rl_e4m3_to_f32", 89,
     FN "float rl_e4m3_to_f32(unsigned char x) {\n"
        "    unsigned pair;\n"
        "    asm(\"cvt.rn.f16x2.e4m3x2 %0, %1;\" : \"=r\"(pair) : \"h\"((unsigned short)x));\n"
        "    return rl_f16_to_f32((unsigned short)pair);\n"
        "}\n"},
    {"rl_e5m2_to_f32", 0,
     FN "float rl_e5m2_to_f32(unsigned char x) {\n"
        "    return rl_f16_to_f32((unsigned short)(x << 8));\n"
        "}\n"},

    /* Integers below 2^22 to f32 through the mantissa of 1.5 * 2^23: exact, and two instructions
     * of the usual rate where a conversion has a quarter of it or less.  */
    {"rl_small_to_f32", 0,
     FN "float rl_small_to_f32(int x) {\n"
        "    return __int_as_float(x + 0x4b400000) - 12582912.0f;\n"
        "}\n"},

    /* To f32 by rounding to odd: the next rounding, to a narrower real, is then as from the exact
     * value (Boldo and Melquiond, 2008).  */
    {"rl_f64_to_odd", 0,
     FN "float rl_f64_to_odd(double x) {\n"
        "    const float y = __double2float_rz(x);\n"
        "    return x == x && (double)y != x ? __uint_as_float(__float_as_uint(y) | 1u) : y;\n"
        "}\n"},
    {"rl_i64_to_odd", 0,
     FN "float rl_i64_to_odd(long long x) {\n"
        "    const float y = __ll2float_rz(x);\n"
        "    return __float2ll_rz(y) != x ? __uint_as_float(__float_as_uint(y) | 1u) : y;\n"
        "}\n"},

    /* f32 to narrow reals: nearest, ties to even; f8 saturates.  */
    {"rl_f32_to_f16", 0,
     FN "unsigned short rl_f32_to_f16(float x) {\n"
        "    unsigned short y;\n"
        "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n"
        "    return y;\n"
        "}\n"},
    {"rl_f32_to_bf16", 0,
     FN "unsigned short rl_f32_to_bf16(float x) {\n"
        "    const unsigned u = __float_as_uint(x);\n"
        "    return x != x ? 0x7fff : (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);\n"
        "}\n"},
    {"rl_f32_to_bf16", 80,
     FN "unsigned short rl_f32_to_bf16(float x) {\n"
        "    unsigned short y;\n"
        "    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n"
        "    return y;\n"
        "}\n"},
    {"rl_f32_to_e4m3", 0,
     FN
     "unsigned char rl_f32_to_e4m3(float x) {\n"
     "    const unsigned sign = __float_as_uint(x) >> 24 & 0x80u;\n"
     "    const float y = fminf(fabsf(x), 448.0f);\n"
     "    const unsigned u = __float_as_uint(y);\n"
     "    const unsigned code = y < 0.015625f ? (unsigned)__float2int_rn(y * 512.0f)\n"
     "                                        : ((u + 0x7ffffu + (u >> 20 & 1u)) >> 20) - 960u;\n"
     "    return (unsigned char)(x != x ? 0x7fu : sign | code);\n"
     "}\n"},
    {"rl_f32_to_e4m3", 89,
     FN "unsigned char rl_f32_to_e4m3(float x) {\n"
        "    unsigned short pair;\n"
        "    asm(\"cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;\" : \"=h\"(pair) : \"f\"(0.0f), "
        "\"f\"(x));\n"
        "    return (unsigned char)pair;\n"
        "}\n"},
    {"rl_f32_to_e5m2", 0,
     FN "unsigned char rl_f32_to_e5m2(float x) {\n"
        "    const unsigned sign = __float_as_uint(x) >> 24 & 0x80u;\n"
        "    const float y = fminf(fabsf(x), 57344.0f);\n"
        "    const unsigned u = __float_as_uint(y);\n"
        "    const unsigned code = y < 0.00006103515625f\n"
        "                              ? (unsigned)__float2int_rn(y * 65536.0f)\n"
        "                              : ((u + 0xfffffu + (u >> 21 & 1u)) >> 21) - 448u;\n"
        "    return (unsigned char)(x != x ? 0x7fu : sign | code);\n"
        "}\n"},
    {"rl_f32_to_e5m2", 89,
     FN "unsigned char rl_f32_to_e5m2(float x) {\n"
        "    unsigned short pair;\n"
        "    asm(\"cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;\" : \"=h\"(pair) : \"f\"(0.0f), "
        "\"f\"(x));\n"
        "    return (unsigned char)pair;\n"
        "}\n"},

    /* Reals to integers: toward zero, saturating, NaN to 0.  */
    {"rl_f32_to_i32", 0,
     FN "int rl_f32_to_i32(float x) {\n"
        "    return __float2int_rz(x);\n"
        "}\n"},
    {"rl_f32_to_i64", 0,
     FN "long long rl_f32_to_i64(float x) {\n"
        "    return x != x ? 0 : __float2ll_rz(x);\n"
        "}\n"},
    {"rl_f64_to_i32", 0,
     FN "int rl_f64_to_i32(double x) {\n"
        "    return x != x ? 0 : __double2int_rz(x);\n"
        "}\n"},
    {"rl_f64_to_i64", 0,
     FN "long long rl_f64_to_i64(double x) {\n"
        "    return x != x ? 0 : __double2ll_rz(x);\n"
        "}\n"},

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

    /* Asynchronous copies from global to shared memory; nothing is read where `inside` is false and
     * zeros arrive.  The second form copies only where `wanted`, without a branch.  */
    {"rl_shared", 0,
     FN "unsigned rl_shared(const void *p) {\n"
        "    return (unsigned)__cvta_generic_to_shared(p);\n"
        "}\n"},
#define CP_ASYNC(bytes, cache)                                                                     \
    {                                                                                              \
        "rl_cp_async_" bytes, 80,                                                                  \
            FN "void rl_cp_async_" bytes "(unsigned to, const void *from, bool inside) {\n"        \
               "    asm volatile(\"cp.async." cache ".shared.global [%0], [%1], " bytes            \
               ", %2;\"\n"                                                                         \
               "                 :: \"r\"(to), \"l\"(from), \"r\"(inside ? " bytes                 \
               " : 0) : \"memory\");\n"                                                            \
               "}\n"                                                                               \
    },                                                                                             \
    {                                                                                              \
        "rl_cp_async_" bytes "_if", 80,                                                            \
            FN "void rl_cp_async_" bytes "_if(bool wanted, unsigned to, const void *from, "        \
               "bool inside) {\n"                                                                  \
               "    asm volatile(\"{ .reg .pred p; setp.ne.b32 p, %0, 0;\"\n"                      \
               "                 \" @p cp.async." cache ".shared.global [%1], [%2], " bytes        \
               ", %3; }\"\n"                                                                       \
               "                 :: \"r\"((int)wanted), \"r\"(to), \"l\"(from), \"r\"(inside ? "   \
               bytes " : 0) : \"memory\");\n"                                                     \
               "}\n"                                                                               \
    }
    CP_ASYNC("16", "cg"),
    CP_ASYNC("8", "ca"),
    CP_ASYNC("4", "ca"),
#undef CP_ASYNC
    {"rl_cp_async_commit", 80,
     FN "void rl_cp_async_commit() {\n"
        "    asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n"
        "}\n"},
    {"rl_cp_async_wait", 80,
     "template <int N> " FN "void rl_cp_async_wait() {\n"
     "    asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(N) : \"memory\");\n"
     "}\n"},
};
enum { ROWS = sizeof table / sizeof *table };

static bool is_name(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_';
}

static int rows(void) {
    return ROWS + prelude_matrix_rows + prelude_pairs_rows + prelude_stores_rows;
}

static const PreludeRow *row(int i) {
    int n = i - ROWS, pairs = n - prelude_matrix_rows, stores = pairs - prelude_pairs_rows;
    if (pairs < 0) return n < 0 ? &table[i] : &prelude_matrix[n];
    return stores < 0 ? &prelude_pairs[pairs] : &prelude_stores[stores];
}

static int find(const char *name, size_t len, int cc) {
    int best = -1;
    for (int i = 0; i < rows(); i++) {
        if (strlen(row(i)->name) == len && memcmp(row(i)->name, name, len) == 0 &&
            row(i)->cc <= cc)
            best = i;
    }
    return best;
}

/* Marks what `text` uses; returns the first name without a row.  */
static const char *mark(const char *text, int cc, bool *used) {
    for (const char *s = strstr(text, "rl_"); s; s = strstr(s, "rl_")) {
        size_t len = 0;
        while (is_name(s[len])) len++;
        bool whole = s == text || !is_name(s[-1]);
        int found = find(s, len, cc);
        if (whole && found < 0) return s;
        if (whole && !used[found]) {
            used[found] = true;
            const char *missing = mark(row(found)->text, cc, used);
            if (missing) return missing;
        }
        s += len;
    }
    return NULL;
}

const char *prelude_print(Arena *a, const char *body, int cc, int *least, Buf *out) {
    bool *used = ARENA_ARRAY(a, bool, rows());
    const char *missing = mark(body, cc, used);
    if (missing) return arena_strndup(a, missing, strcspn(missing, "( <\n"));
    *least = 0;
    for (int i = 0; i < rows(); i++) {
        if (!used[i]) continue;
        if (*least < row(i)->cc) *least = row(i)->cc;
        buf_puts(out, row(i)->text);
        buf_putc(out, '\n');
    }
    return NULL;
}

size_t prelude_match(const char *text, size_t len) {
    for (int i = 0; i < rows() && len > 0; i++) {
        if (row(i)->text[0] != text[0]) continue;
        size_t n = strlen(row(i)->text);
        if (n <= len && memcmp(row(i)->text, text, n) == 0) return n;
    }
    return 0;
}

bool prelude_has(const char *name, size_t len) { return find(name, len, 1 << 30) >= 0; }
