/* The state behind bench.h.  Internal to src/profiler.  */
#ifndef ROLLER_PROFILER_HARNESS_H
#define ROLLER_PROFILER_HARNESS_H
#include "profiler/bench.h"

/* A source that was compiled.  */
typedef struct {
    const char *text;         /* macros and source */
    const NvrtcOutput *code;
    CudaModule *module;       /* NULL: not needed yet */
    Status status;            /* of compiling it */
    const DiagMessage *why;   /* that failed */
} Loaded;

typedef struct Attempt Attempt;

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
    Device *dev;              /* what is measured so far, always a valid profile */
    const char *row_name;
    int attempts, skip;       /* of the row: made, and not to be made again */
    Attempt *attempt;         /* at a figure; NULL: none */
    Missed *missed;           /* of dev */
    size_t n_missed, cap_missed;
    const DiagMessage *first; /* of the first one, and ... */
    Status first_status;
    int succeeded;            /* figures measured by this run */
    double deadline_s;        /* of the row; 0: none */
    WatchStep step;           /* of the row; left_s: what comes after it takes */
    double row_begun_s, row_s;            /* by the clock; what it is expected to take */
    const char *lost;         /* the figure whose kernel cost the context; NULL: it is well */
};

/* Opens what every row needs; the context of `b->x` is current.  */
Status bench_open(Bench *b);
/* Figures per clock go by this one until bench_warm_up finds another; 0: it is not known.  */
void bench_clock_is(Bench *b, double hz);
/* A load that warms the device up, and its clocks meanwhile; what the row `clock` begins with.
 * ST_CUDA if its timers tell no clock.  */
Status bench_warm_up(Bench *b, Sample *hz);
/* What is told of a row, and how long it may take.  */
void bench_row_begins(Bench *b, const WatchStep *step, double row_s);
/* Tells which row runs, of it which figure (NULL: none yet), and the time left.  */
void bench_say(Bench *b, const char *figure);
/* ST_CANCELLED if the caller wants the run to end; ST_CUDA if the row has had its time.  */
Status bench_stopped(const Bench *b);
/* Attempts are at figures of `dev`; what it says is missed already stays so until measured.  */
void bench_begin(Bench *b, Device *dev);
/* Notes that `name` is not measured, because of what is in b->d.  The status goes on only if the
 * run must end: ST_CANCELLED, ST_NOMEM.  */
Status bench_missed(Bench *b, Status s, const char *name);
#endif
