/* OpenCL kernels on the first device of this machine: what an independent compiler and runtime make
 * of a source (PoCL runs kernels on the CPU).
 *
 * libOpenCL is loaded when it is needed.  A job runs in a child of its own, with a bound on its
 * processor time, since a kernel whose barriers are wrong may never end; its buffers lie between
 * pages that nobody may touch.  */
#ifndef TEST_OPENCL_H
#define TEST_OPENCL_H
#include "base/arena.h"
#include <stddef.h>
#include <stdint.h>

/* In the parent's memory; read before the launches, written after them.  */
typedef struct {
    void *data;
    size_t bytes;
} OpenclBuffer;

typedef struct {
    const void *scalar;       /* the value; NULL: a buffer, from byte `at` on */
    int buffer;
    size_t at, bytes;
} OpenclArg;

typedef struct {
    const char *kernel;
    size_t grid[3], block[3]; /* 0 is 1 */
    const OpenclArg *arg;
    int n_arg;
} OpenclLaunch;

typedef struct {
    const char *source;
    OpenclBuffer *buffer;
    int n_buffer;
    const OpenclLaunch *launch;           /* in this order */
    int n_launch;
    int seconds;              /* of the processor; 0: what is enough for any test */
} OpenclJob;

/* Why no kernel can run here: no library, no platform, no device; NULL: they can.  */
const char *opencl_absent(Arena *a);
/* NULL, or what went wrong: what the compiler said, an error of the runtime, a signal, too long.
 * Then buffers are as they were.  */
const char *opencl_run(Arena *a, const OpenclJob *job);
#endif
