/* Work whose order can be told: every step maps each of N numbers x to x * by + plus.  */
#ifndef TESTS_SIMDRIVER_STEPS_H
#define TESTS_SIMDRIVER_STEPS_H
#include "simdriver.h"

enum { N = 64, BYTES = 4 * N };
extern const char steps_source[];         /* kernels affine(p, by, plus) and empty() */
extern CUdeviceptr data;                  /* the numbers, all 1 at first */
extern int *pinned;                       /* page-locked memory for as many */
extern CUfunction empty;

/* Test setup: a fresh context with these.  */
int steps_fresh(void **state);
void step(CUstream s, int by, int plus);
int value(void);                          /* of one number, by a copy in the legacy stream */
CUstream stream(unsigned flags);
CUevent event(void);
#endif
