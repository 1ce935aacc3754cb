/* Kernels of every skeleton and mover, small and with every part in use, for planting bugs.  */
#ifndef TESTS_VICTIMS_H
#define TESTS_VICTIMS_H
#include "kernel_fixture.h"

typedef struct {
    const char *name, *text, *device;
    bool slices;              /* warps share out the k-steps */
    bool matrix, shared;      /* a matrix unit; stores through shared memory */
    bool several;             /* rows of a block */
    Skeleton skeleton;
    RowStats stats;           /* statements over rows of a product: split `joined` */
    bool inexact;             /* on reals */
    bool region;              /* an operand is loaded as one */
    bool groups;              /* units of warpgroups */
} Victim;

/* Those whose source is spoiled, too, come first.  */
enum { SOURCE_VICTIMS = 21, VICTIMS = 33 };
extern const Victim victims[VICTIMS];
/* Plans and emits it: a plan in which what is spoiled matters.  NULL, or what went wrong.  */
const char *victim_emit(KernelCase *c, Arena *a, const Victim *v);
#endif
