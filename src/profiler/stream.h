/* Kernels that stream over memory, shared by the rows that measure it.
 *
 * Blocks take tiles of threads x unroll vectors of 16 bytes in turn, each thread issuing `unroll`
 * independent accesses before it uses what it read.  read, write and copy touch n vectors that the
 * launches before have not touched: those from units x n to 2 x units x n.  reread and rewrite
 * touch the same n again and again, a tile of each block per unit; of reread every block reads
 * every tile sooner or later, so that every SM reads all of them.  Loads go past L1.  Internal to
 * src/profiler.  */
#ifndef ROLLER_PROFILER_STREAM_H
#define ROLLER_PROFILER_STREAM_H
#include "profiler/bench.h"

#define STREAM_KINDS(X)                                                                            \
    X(READ, "read") X(WRITE, "write") X(COPY, "copy") X(REREAD, "reread") X(REWRITE, "rewrite")
typedef enum {
#define X(id, name) STREAM_##id,
    STREAM_KINDS(X)
#undef X
} StreamKind;

enum { STREAM_VECTOR = 16, STREAM_MOST_UNROLL = 4 };

/* How much is in flight.  */
typedef struct {
    int64_t blocks;
    int threads, unroll;      /* unroll: a power of two up to STREAM_MOST_UNROLL */
    bool uneven;              /* blocks may get different numbers of tiles */
} StreamShape;
/* One block on each SM that keeps `bytes` in flight, as nearly as can be.  */
StreamShape stream_shape(const Bench *b, double bytes);
/* As much in flight as helps: as many threads as an SM holds (a simulated one needs fewer).  */
StreamShape stream_full(const Bench *b);
/* The same threads in smaller blocks, so that `bytes` are many tiles.  */
void stream_refine(StreamShape *s, double bytes);

/* A launch over the memory at `p` (and at `q`, for a copy).  What the launch points to lies in it:
 * it stays where it is.  */
typedef struct {
    BenchLaunch l;
    CudaAddress p, q;
    long long vectors;
    int units;
    unsigned never;
    bool again;               /* rereads or rewrites */
    double bytes;             /* what was asked for, in whole tiles */
    double moved;             /* by a unit; of a copy what it reads and what it writes */
} Stream;
/* Buffers, the second of a copy alone (else 0).  `bytes` are those of a unit; of reread and rewrite
 * all that there are.  read, write and copy need STREAM_UNITS times as many in each buffer.  */
enum { STREAM_UNITS = 6 };
typedef struct {
    CudaAddress p, q;
    double bytes;
} StreamMemory;
Status stream_open(Bench *b, StreamKind kind, StreamMemory memory, const StreamShape *shape,
                   Stream *out);
/* Compiles the kernels of all shapes at once.  */
Status stream_compile(Bench *b);
/* Bytes per microsecond: the slope over units.  Where memory itself is measured, a unit is larger
 * than L2.  */
Status stream_rate(Bench *b, Stream *s, Sample *rate);
#endif
