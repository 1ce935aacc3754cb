/* What micro-benchmarks are made of: kernels from small sources, launches that are timed, figures.
 *
 * Every time is that of many launches: warmed up, repeated until the median holds, and measured
 * again when its spread exceeds 5 %; what stays so is marked noisy.  Throughputs come from slopes:
 * the difference of two launches that differ only in their number of iterations, so that launch,
 * ramp and drain cancel.  A figure per clock is a slope times the SM clock under the same load.
 * Internal to src/profiler.  */
#ifndef ROLLER_PROFILER_BENCH_H
#define ROLLER_PROFILER_BENCH_H
#include "profiler/profiler.h"

typedef struct Bench Bench;

/* A measured quantity; the unit is the caller's.  */
typedef struct {
    double value;             /* median */
    double spread;            /* interquartile range over median */
    int samples;
    bool noisy;               /* the spread stayed above 5 % */
} Sample;

#define X(name, ...) Status bench_##name(Bench *b, Device *dev);
PROFILER_BENCHES(X)
#undef X

/* ---- surroundings ---- */
Arena *bench_arena(Bench *b);                              /* of the row; reset after it */
Arena *bench_result(Bench *b);                             /* lives as long as the Device */
Diag *bench_diag(Bench *b);
CudaContext *bench_context(Bench *b);
bool bench_quick(const Bench *b);
const CudaDeviceInfo *bench_device(const Bench *b);

/* ---- kernels and data ---- */
/* The kernel `symbol` of a source (extern "C", no #include) after `#define` lines for `macros`
 * ("N 8", ..., NULL), compiled for the device's architecture; the same text is compiled once.  */
Status bench_kernel(Bench *b, const char *source, const char *symbol, const char *const *macros,
                    CudaKernel *out);
/* Device memory with random bytes that are ordinary small numbers in every format; freed with the
 * row.  */
Status bench_buffer(Bench *b, size_t bytes, CudaAddress *out);

/* ---- time ---- */
/* A launch: up to 8 parameters, each by pointer.  */
enum { BENCH_PARAMS = 8 };
typedef struct {
    CudaKernel kernel;
    CudaLaunch launch;
    void *param[BENCH_PARAMS];
} BenchLaunch;

/* Microseconds of one launch, as many of them back to back in a graph as make it measurable.  */
Status bench_time(Bench *b, const BenchLaunch *l, Sample *us);
/* Microseconds per iteration: `*count` (an int that is one of the parameters) is set to `few` and
 * to `many` in turn; (time(many) - time(few)) / (many - few).  */
Status bench_slope(Bench *b, const BenchLaunch *l, int *count, int few, int many, Sample *us);
/* The same in clocks of one SM, from clock64 differences that thread 0 of block 0 adds up in the
 * 64-bit word at `clocks`: for latencies.  */
Status bench_clocks(Bench *b, const BenchLaunch *l, CudaAddress clocks, int *count, int few,
                    int many, Sample *clk);
/* SM clock in Hz while the launch runs, from its own clock64 and globaltimer differences where the
 * device has both, else as the driver states it.  Set by bench_clock, used by all later rows.  */
double bench_hz(const Bench *b);

/* ---- results ---- */
/* figure = factor * value or, for `bench_rate`, factor / value (a rate from a time), with origin
 * measured, spread and samples; keeps the figure's unit.  */
void bench_figure(Figure *f, const Sample *s, double factor);
void bench_rate(Figure *f, const Sample *s, double factor);
/* Replaces the curve `of` over `x` of a level by n points (x ascending); the spread is the largest
 * of the points'.  */
void bench_level_curve(Bench *b, MemoryLevel *m, LevelId level, const char *of, const char *x,
                       const double *px, const Sample *y, const double *factor, int n);
#endif
