/* What rows of CUDA's prelude begin with, and rows of one instruction each.  */
#ifndef ROLLER_CODEGEN_PRELUDE_PRELUDE_CUDA_H
#define ROLLER_CODEGEN_PRELUDE_PRELUDE_CUDA_H
#include "codegen/prelude/prelude.h"

#define FN "__device__ __forceinline__ "

/* Without operands; of a number that is known; with operands.  Memory may change.  */
#define DO(name, since, op)                                                                        \
    {name, since, FN "void " name "() {\n    asm volatile(\"" op ";\" ::: \"memory\");\n}\n"}
#define DO_N(name, since, op)                                                                      \
    {name, since,                                                                                  \
     "template <int N> " FN "void " name "() {\n"                                                  \
     "    asm volatile(\"" op " %0;\" :: \"n\"(N) : \"memory\");\n"                                \
     "}\n"}
#define DO_WITH(name, since, parameters, op, operands)                                             \
    {name, since,                                                                                  \
     FN "void " name "(" parameters ") {\n"                                                        \
     "    asm volatile(\"" op ";\"\n"                                                              \
     "                 :: " operands " : \"memory\");\n"                                           \
     "}\n"}
#endif
