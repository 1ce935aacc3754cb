/* CUPTI behind dlopen: when each kernel began and ended, on the device's own clock.
 *
 * CUPTI calls back without saying for whom, so a process has one Cupti at most, and one thread uses
 * it.  Open it before the driver.  Whatever is missing or not permitted is an error that the caller
 * may ignore: events measure the same, only less exactly.  */
#ifndef ROLLER_HAL_CUPTI_H
#define ROLLER_HAL_CUPTI_H
#include "base/diag.h"
#include <stdint.h>

typedef struct Cupti Cupti;

/* libcupti by versioned soname, then in the toolkit of $CUDA_PATH or in its default folder.  Starts
 * to record kernels; stops with the arena.  */
Status cupti_open(Arena *a, Diag *d, bool ignore_environment, Cupti **out);

typedef struct {
    uint64_t begin_ns, end_ns;
} CuptiKernel;
/* Forgets what was recorded so far.  All work must have ended.  */
Status cupti_reset(Cupti *c, Diag *d);
/* The kernels since, in order of their beginning.  All work must have ended.  Good until the next
 * call.  */
Status cupti_kernels(Cupti *c, Diag *d, const CuptiKernel **out, int *n);
#endif
