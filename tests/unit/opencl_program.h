/* A program in OpenCL C, run as a host would run it and compared with the reference.  */
#ifndef TESTS_OPENCL_PROGRAM_H
#define TESTS_OPENCL_PROGRAM_H
#include "codegen/kernel.h"
#include "te/eval/eval.h"

/* NULL, or what is wrong with the outputs, on every kind of data: integers only where the op is
 * exact on them, and extremes bit for bit where the reference has no bound.  `size`: values of the
 * op's sizes, NULL where none is of run time.  */
const char *opencl_prove(Arena *a, Diag *d, const Te *te, const KernelProgram *program,
                         const int64_t *size, uint64_t seed);
#endif
