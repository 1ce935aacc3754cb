/* Kernels that stream over a buffer, shared by the rows that measure memory.
 *
 * A pass covers the buffer once: blocks take tiles of threads x unroll vectors of 16 bytes in turn,
 * each thread issuing `unroll` independent accesses before it uses what it read.  The block that
 * reads (not: writes) a tile changes from pass to pass, so that over several passes every SM reads
 * all of it.
 * Loads go past L1.  Internal to src/profiler.  */
#ifndef ROLLER_PROFILER_STREAM_H
#define ROLLER_PROFILER_STREAM_H
#include "profiler/bench.h"

#define STREAM_KINDS(X) X(READ, "read") X(WRITE, "write") X(COPY, "copy")
typedef enum {
#define X(id, name) STREAM_##id,
    STREAM_KINDS(X)
#undef X
} StreamKind;

enum { STREAM_VECTOR = 16, STREAM_MOST_UNROLL = 8 };

/* A launch over `bytes` at `p` (and as much at `q`, for a copy).  What its launch points to lies in
 * it: it stays where it is.  */
typedef struct {
    BenchLaunch l;
    CudaAddress p, q;
    long long vectors;
    int passes;
    unsigned never;
    double bytes;             /* of a pass: what is asked for, in whole tiles */
} Stream;

/* `unroll` is a power of two up to STREAM_MOST_UNROLL.  */
Status stream_open(Bench *b, StreamKind kind, CudaAddress p, CudaAddress q, double bytes,
                   int64_t blocks, int threads, int unroll, Stream *out);
/* Bytes per microsecond, from the slope over passes; a copy counts what it reads and writes.  */
Status stream_rate(Bench *b, Stream *s, Sample *rate);

/* The shape with many bytes in flight: resident blocks of the kernel, `threads` each.  */
typedef struct {
    int64_t blocks;
    int threads, unroll;
} StreamShape;
/* One block on each SM that keeps `bytes` in flight, as nearly as can be.  */
StreamShape stream_shape(const Bench *b, double bytes);
/* As much in flight as helps: as many threads as an SM holds.  */
StreamShape stream_full(const Bench *b);
#endif
