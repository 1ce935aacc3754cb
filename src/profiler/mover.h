/* Movers: a kernel that moves as much as one SM can, and one that issues a few moves in a row.
 *
 * A source has two kernels with the parameters of unit.h, followed by a tensor map where there is
 * one: `rate` moves `bytes` in each of its n iterations, `burst` issues BURST moves (a macro) in
 * each and adds the clocks of the issue alone to clocks[0].  The cost of a move is the difference
 * of two bursts.  Internal to src/profiler.  */
#ifndef ROLLER_PROFILER_MOVER_H
#define ROLLER_PROFILER_MOVER_H
#include "profiler/bench.h"

enum { MOVER_MACROS = 13 };
typedef struct {
    const char *name, *rate;              /* of the mover, of its figure (NULL: "rate") */
    const char *source;
    const char *macros[MOVER_MACROS];     /* of both kernels, NULL-terminated */
    int threads, burst_threads;           /* of a block */
    int blocks;                           /* 1, or a cluster of so many */
    int64_t smem;
    size_t buffer;                        /* of `in` and of `out` */
    double bytes;                         /* of one SM in an iteration */
    const TensorMap *map;              /* or NULL; its address 0: `in`, 1: `out` */
} MoverKernel;

/* Compiles what mover_measure needs, of all of them at once.  */
Status mover_compile(Bench *b, const MoverKernel *k, int n);
/* Replaces rate and cost (which may be NULL), each an attempt of its own.  */
Status mover_measure(Bench *b, const MoverKernel *k, Figure *rate, Figure *cost);
/* What moves to and from Tensor Memory, as far as the profile has it.  */
Status tensor_moves(Bench *b, Device *dev);
/* Bytes, a power of two, that L2 holds with ease and L1 does not.  */
size_t mover_region(const Bench *b);
#endif
