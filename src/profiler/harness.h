/* The state behind bench.h.  Internal to src/profiler.  */
#ifndef ROLLER_PROFILER_HARNESS_H
#define ROLLER_PROFILER_HARNESS_H
#include "profiler/bench.h"

/* A source that was compiled.  */
typedef struct {
    const char *text;         /* macros and source */
    const NvrtcOutput *code;
    CudaModule *module;       /* NULL: not needed yet */
} Loaded;

struct Bench {
    const ProfilerOptions *o;
    Arena *work;              /* of the run: stream, events, kernels */
    Arena *row, *result;
    Diag *d;
    CudaContext *x;
    const CudaDeviceInfo *info;
    Nvrtc *n;
    bool simulated;
    CudaStream stream;
    CudaEvent begin, end;
    double hz, light_hz;
    double busy_s;            /* when the device last had work, by the host's clock */
    uint64_t filled;          /* buffers so far, so that each has other data */
    Loaded *loaded;
    size_t n_loaded, cap_loaded;
};

/* Opens what every row needs; the context of `b->x` is current.  */
Status bench_open(Bench *b);
/* A load that warms the device up, and its clocks meanwhile; what the row `clock` begins with.  */
Status bench_warm_up(Bench *b, Sample *hz);
/* ST_CANCELLED if the caller wants the run to end.  */
Status bench_stopped(const Bench *b);
#endif
