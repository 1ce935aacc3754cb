/* Profiler: a device's figures, measured by micro-benchmarks.
 *
 * profiler_run starts from a Device that knows the instruction set (the shipped profile of the same
 * architecture), takes the limits from the driver and lets every row of PROFILER_BENCHES replace
 * the figures it measures.  What no micro-benchmark isolates keeps its datasheet or derived origin.
 * The result passes hal_profile_read.  Needs no counters and no privileges.  */
#ifndef ROLLER_PROFILER_PROFILER_H
#define ROLLER_PROFILER_PROFILER_H
#include "hal/cuda.h"
#include "hal/nvrtc.h"

/* In order of execution: later rows use what earlier ones measured (first of all the clock).  Each
 * is the function bench_NAME in bench_NAME.c.
 *    name         quick  full (seconds on a large GPU)  text */
#define PROFILER_BENCHES(X)                                                                        \
    X(clock,       0.2,   1,   "SM clock under load")                                              \
    X(issue,       0.2,   1,   "instructions issued per clock, subpartitions of an SM")            \
    X(launch,      0.2,   1,   "launch costs of stream and graph, empty kernel, block start")      \
    X(latency,     0.3,   2,   "load-to-use latencies of DRAM, L2, shared memory")                 \
    X(dram,        1,     10,  "DRAM read, write, copy; over bytes in flight and active SMs")      \
    X(granularity, 0.5,   6,   "DRAM rates over the length of contiguous runs")                    \
    X(l2,          0.6,   8,   "L2 rate over footprint and active SMs, its effective capacity")    \
    X(smem,        0.2,   2,   "shared memory rate and the cost of n-way conflicts")               \
    X(simt,        1.5,   10,  "units of single threads: rate, latency, saturation over warps")    \
    X(mma,         1.5,   10,  "matrix units of warps")                                            \
    X(wgmma,       1.5,   10,  "matrix units of warpgroups")                                       \
    X(tcgen05,     1.5,   10,  "matrix units of Tensor Memory, what moves to and from it")         \
    X(movers,      0.8,   8,   "loads, stores, asynchronous copies")                               \
    X(tma,         0.5,   5,   "bulk and tensor copies, multicast")                                \
    X(barriers,    0.3,   3,   "barriers of blocks and clusters, mbarriers, pipeline steps")       \
    X(atomics,     0.2,   2,   "atomic operations on one and on distinct addresses")               \
    X(clusters,    0.2,   2,   "resident clusters, distributed shared memory")

typedef struct {
    bool quick;               /* fewer samples, curves keep only their ends and knee */
    uint64_t seed;            /* of the data that is read */
    const char *only;         /* comma-separated rows of PROFILER_BENCHES; NULL: all */
    const char *name;         /* of the profile; NULL: profiler_name of the GPU */
    const char *date, *tool;  /* what `made` says: YYYY-MM-DD, version of roller */
    Watch *watch;             /* asked between launches, told of each row; NULL: nobody's */
    double limit_s;           /* of the run; what is left then is not measured; 0: none */
    double row_s;             /* the same of each row; 0: three times what the table says and 6 s,
                               * which means nothing on a simulated device: none */
    int skip;                 /* attempts of the first row that another run has made */
    /* Called before each row and each attempt at a figure with what is measured so far; `attempts`
     * of the row are made, the one that begins counted and noted as missed.  Another process can
     * go on there if this one ends or hangs.  With it a kernel that costs the context ends the run
     * with ST_DEVICE; without, all that would follow is noted as missed.  */
    void (*so_far)(void *user, const char *row, int attempts, const Device *dev);
    void (*compiles)(void *user, bool compiling);         /* told around compiling; may be NULL */
    void *user;
} ProfilerOptions;

/* The device: its context, current on this thread, the compiler for it, and a profile, which is not
 * changed.  */
typedef struct {
    CudaContext *context;
    Nvrtc *nvrtc;
    const Device *base;
} ProfilerPlace;
/* Measures it.  A figure that cannot be measured (noise, a kernel that does not compile or that
 * faults, too little memory, a row that takes several times as long as the table says) stays as in
 * `base` and is named, with the reason, in the list `missed`.  If there is nothing else, the run
 * fails with the first reason.  */
Status profiler_run(Arena *a, Diag *d, const ProfilerPlace *on, const ProfilerOptions *o,
                    Device **out);
/* The profile along `path` whose instruction set is that of the device: by the GPU's name, else by
 * compute capability, else the nearest older one; never one of a GPU made up for tests, but for
 * itself.  ST_PROFILE if there is none.  */
Status profiler_base(Arena *a, Diag *d, const CudaDeviceInfo *info, const char *path,
                     const Device **out);
/* "NVIDIA GeForce RTX 4090" -> "rtx4090": lower case, without vendor and brand words.  */
const char *profiler_name(Arena *a, const char *gpu);
/* The same, and where `path` has a profile of that name for another architecture (a device that
 * only calls itself that), with its own: "h200sm75".  */
const char *profiler_own_name(Arena *a, const CudaDeviceInfo *info, const char *path);
/* Is it the same model, simulated or not?  */
bool profiler_same_gpu(Arena *a, const char *one, const char *other);
/* Is the row one of a comma-separated list?  NULL: all are.  */
bool profiler_chosen(const char *only, const char *row);
/* ST_USAGE if a comma-separated list names a measurement that there is not; NULL: all.  */
Status profiler_known(Diag *d, const char *only);
#endif
