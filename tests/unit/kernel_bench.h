/* Kernels compiled and run for a device of the profiles, one after the other; what goes wrong fails
 * the test.  */
#ifndef TESTS_KERNEL_BENCH_H
#define TESTS_KERNEL_BENCH_H
#include "kernel_fixture.h"

typedef struct {
    Arena *arena;
    const Device *dev;
    Nvrtc *nvrtc;
} KernelBench;
/* The caller destroys the arena.  */
KernelBench kernel_bench(const char *profile);
/* `wrong`: what a step of kernel_fixture.h says; NULL: nothing is wrong.  */
void kernel_good(KernelCase *c, const char *what, const char *wrong);
#endif
