/* The prelude: asynchronous copies.  */
#include "codegen/prelude/prelude_cuda.h"

const PreludeRow prelude_async[] = {
    /* A tensor map as a parameter, as CUtensorMap of cuda.h; its address is what TMA takes.  */
    {"rl_map", 90, "struct __align__(64) rl_map { unsigned long long v[16]; };\n"},

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
    DO("rl_cp_async_commit", 80, "cp.async.commit_group"),
    DO_N("rl_cp_async_wait", 80, "cp.async.wait_group"),
    /* Arrives at a barrier when all of the thread's copies so far are there.  */
    DO_WITH("rl_cp_async_arrive", 80, "unsigned bar",
            "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0]", "\"r\"(bar)"),
};
const int prelude_async_rows = sizeof prelude_async / sizeof *prelude_async;
