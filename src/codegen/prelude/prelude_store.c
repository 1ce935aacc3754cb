#include "codegen/prelude/prelude_cuda.h"

/* Stores of vectors of elements, one access each.  Those to a known space are instructions in the
 * text: a compiler that is given hundreds of plain stores spends half of its time on how they might
 * overlap each other and on which of them to join.  Places in shared memory are a base and an
 * index, whose sum is made in 32 bits: there constants find their way into the instruction.  */

/* Registers of elements, and one instruction for n of them.  */
#define X1(c) "\"" c "\"(x[0])"
#define X2(c) X1(c) ", \"" c "\"(x[1])"
#define X4(c) X2(c) ", \"" c "\"(x[2]), \"" c "\"(x[3])"
#define INSTRUCTION(test, type, registers, to, x)                                                  \
    "if constexpr (" test ")\n"                                                                    \
    "        asm volatile(\"st." type " [%0], " registers ";\"\n"                                  \
    "                     :: " to ", " x " : \"memory\");\n"

#define WORDS(space, test, to, c)                                                                  \
    INSTRUCTION(test "N == 1", space ".b32", "%1", to, X1(c))                                      \
    "    else " INSTRUCTION(test "N == 2", space ".v2.b32", "{%1, %2}", to, X2(c))                 \
    "    else " INSTRUCTION(test "N == 4", space ".v4.b32", "{%1, %2, %3, %4}", to, X4(c))

/* `index`: a parameter behind the pointer; `plain`: pointer to the place; `to`: its register.  */
#define STORE(space, index, plain, to)                                                             \
    {                                                                                              \
        "rl_store_" space, 0,                                                                      \
            "template <int N, typename T>\n" FN "void rl_store_" space                             \
            "(T *p, " index "const T *x) {\n"                                                      \
            "    " INSTRUCTION("sizeof(T) == 2 && N == 1", space ".b16", "%1", to, X1("h"))        \
            "    else " WORDS(space, "sizeof(T) == 4 && ", to, "r")                                \
            "    else rl_store<N>(" plain ", x);\n"                                                \
            "}\n"                                                                                  \
            "template <int N>\n" FN "void rl_store_" space                                         \
            "(float *p, " index "const float *x) {\n"                                              \
            "    " WORDS(space, "", to, "f")                                                       \
            "    else rl_store<N>(" plain ", x);\n"                                                \
            "}\n"                                                                                  \
    }

const PreludeRow prelude_store[] = {
    {"rl_store", 0,
     "template <int N, typename T> " FN "void rl_store(T *p, const T *x) {\n"
     "    rl_vec<T, N> y;\n"
     "    #pragma unroll\n"
     "    for (int i = 0; i < N; i++) y.v[i] = x[i];\n"
     "    *reinterpret_cast<rl_vec<T, N> *>(p) = y;\n"
     "}\n"},
    STORE("global", "", "p", "\"l\"(p)"),
    STORE("shared", "int at, ", "p + at", "\"r\"(rl_shared(p) + at * (int)sizeof *p)"),
};
const int prelude_store_rows = sizeof prelude_store / sizeof *prelude_store;
