/* The prelude: asynchronous copies.  */
#include "codegen/prelude/prelude_cuda.h"

const PreludeRow prelude_async[] = {
    /* A tensor map as a parameter, as CUtensorMap of cuda.h; its address is what TMA takes.  */
    {"rl_map", 90, "struct __align__(64) rl_map { unsigned long long v[16]; };\n"},

    /* The first n bytes of a word, zeros behind them.  */
    {"rl_first", 70,
     FN "unsigned rl_first(unsigned x, int n) {\n"
        "    asm(\"bfe.u32 %0, %0, 0, %1;\" : \"+r\"(x) : \"r\"(n > 0 ? n * 8 : 0));\n"
        "    return x;\n"
        "}\n"},

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
    /* 16 bytes where they are `wanted`, else zeros, without a branch.  */
    {"rl_load_wanted", 70,
     FN "uint4 rl_load_wanted(const void *from, bool wanted) {\n"
        "    uint4 x = make_uint4(0, 0, 0, 0);\n"
        "    asm(\"{ .reg .pred p; setp.ne.b32 p, %5, 0;\"\n"
        "        \" @p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }\"\n"
        "        : \"+r\"(x.x), \"+r\"(x.y), \"+r\"(x.z), \"+r\"(x.w) : \"l\"(from), "
        "\"r\"((int)wanted));\n"
        "    return x;\n"
        "}\n"},
    /* n words to w[at ...], zeros where they are not wanted.  */
    {"rl_words_4", 70,
     "template <int N> " FN "void rl_words_4(unsigned (&w)[N], int at, const void *from, "
     "bool wanted) {\n"
     "    const uint4 x = rl_load_wanted(from, wanted);\n"
     "    w[at] = x.x, w[at + 1] = x.y, w[at + 2] = x.z, w[at + 3] = x.w;\n"
     "}\n"},
    {"rl_words_2", 70,
     "template <int N> " FN "void rl_words_2(unsigned (&w)[N], int at, const void *from, "
     "bool wanted) {\n"
     "    const uint2 x = wanted ? __ldg((const uint2 *)from) : make_uint2(0, 0);\n"
     "    w[at] = x.x, w[at + 1] = x.y;\n"
     "}\n"},
    {"rl_words_1", 70,
     "template <int N> " FN "void rl_words_1(unsigned (&w)[N], int at, const void *from, "
     "bool wanted) {\n"
     "    w[at] = wanted ? __ldg((const unsigned *)from) : 0;\n"
     "}\n"},
    {"rl_store_16", 70,
     FN "void rl_store_16(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {\n"
        "    asm volatile(\"st.shared.v4.b32 [%0], {%1, %2, %3, %4};\"\n"
        "                 :: \"r\"(to), \"r\"(a), \"r\"(b), \"r\"(c), \"r\"(d) : \"memory\");\n"
        "}\n"},
    /* Column `at` of a matrix of 16 bytes of rows, of elements of 4, 2 or 1 bytes; w has the rows,
     * one after the other.  */
    {"rl_turn_4", 70,
     "template <int N> " FN "void rl_turn_4(unsigned to, const unsigned (&w)[N], int at) {\n"
     "    const int row = N / 4;\n"
     "    rl_store_16(to, w[at], w[row + at], w[2 * row + at], w[3 * row + at]);\n"
     "}\n"},
    {"rl_turn_2", 70,
     "template <int N> " FN "void rl_turn_2(unsigned to, const unsigned (&w)[N], int at) {\n"
     "    const int row = N / 8, halves = at % 2 ? 0x7632 : 0x5410;\n"
     "    const unsigned *const x = w + at / 2;\n"
     "    rl_store_16(to, __byte_perm(x[0], x[row], halves),\n"
     "                __byte_perm(x[2 * row], x[3 * row], halves),\n"
     "                __byte_perm(x[4 * row], x[5 * row], halves),\n"
     "                __byte_perm(x[6 * row], x[7 * row], halves));\n"
     "}\n"},
    {"rl_turn_1", 70,
     "template <int N> " FN "void rl_turn_1(unsigned to, const unsigned (&w)[N], int at) {\n"
     "    const int row = N / 16, bytes = 0x40 + at % 4 * 0x11;\n"
     "    unsigned x[4];\n"
     "#pragma unroll\n"
     "    for (int i = 0; i < 4; i++) {\n"
     "        const unsigned *const y = w + 4 * i * row + at / 4;\n"
     "        x[i] = __byte_perm(__byte_perm(y[0], y[row], bytes),\n"
     "                           __byte_perm(y[2 * row], y[3 * row], bytes), 0x5410);\n"
     "    }\n"
     "    rl_store_16(to, x[0], x[1], x[2], x[3]);\n"
     "}\n"},
    /* 16 bytes from anywhere, `bytes` of them and zeros behind: w has the words of the two accesses
     * that they lie in, zeros where they are not `inside`, and the byte where they begin.  */
    {"rl_two_16", 70,
     FN "void rl_two_16(unsigned (&w)[9], const void *from, int bytes, bool inside) {\n"
        "    const int by = (int)((unsigned long long)from & 15);\n"
        "    const char *p = (const char *)from - by;\n"
        "    const uint4 x = rl_load_wanted(p, inside);\n"
        "    const uint4 y = rl_load_wanted(p + 16, inside && by + bytes > 16);\n"
        "    w[0] = x.x, w[1] = x.y, w[2] = x.z, w[3] = x.w;\n"
        "    w[4] = y.x, w[5] = y.y, w[6] = y.z, w[7] = y.w, w[8] = by;\n"
        "}\n"},
    {"rl_join_16", 70,
     FN "void rl_join_16(unsigned to, const unsigned (&w)[9], int bytes) {\n"
        "    const int by = w[8];\n"
        "    const bool two = by & 8, one = by & 4;\n"
        "    unsigned a = two ? w[2] : w[0], b = two ? w[3] : w[1], c = two ? w[4] : w[2];\n"
        "    unsigned d = two ? w[5] : w[3], e = two ? w[6] : w[4], f = two ? w[7] : w[5];\n"
        "    a = one ? b : a, b = one ? c : b, c = one ? d : c, d = one ? e : d, e = one ? f : e;\n"
        "    a = rl_first(__funnelshift_r(a, b, by % 4 * 8), bytes);\n"
        "    b = rl_first(__funnelshift_r(b, c, by % 4 * 8), bytes - 4);\n"
        "    c = rl_first(__funnelshift_r(c, d, by % 4 * 8), bytes - 8);\n"
        "    d = rl_first(__funnelshift_r(d, e, by % 4 * 8), bytes - 12);\n"
        "    rl_store_16(to, a, b, c, d);\n"
        "}\n"},
    DO("rl_cp_async_commit", 80, "cp.async.commit_group"),
    DO_N("rl_cp_async_wait", 80, "cp.async.wait_group"),
    /* Arrives at a barrier when all of the thread's copies so far are there.  */
    DO_WITH("rl_cp_async_arrive", 80, "unsigned bar",
            "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0]", "\"r\"(bar)"),
};
const int prelude_async_rows = sizeof prelude_async / sizeof *prelude_async;
