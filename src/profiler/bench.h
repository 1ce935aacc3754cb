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
/* A simulated driver: its times are exact, so little work is enough, and its kernels are slow.  */
bool bench_simulated(const Bench *b);
int64_t bench_sms(const Bench *b);
int bench_threads(const Bench *b, int most);               /* of a block, as far as it may go */
int64_t bench_l2_bytes(const Bench *b);                    /* as the driver says; never 0 */

/* ---- what fails alone ---- */
/* An attempt at a figure (or several that hang together): between the two what fails leaves the
 * device as it was, is noted in its list `missed` and is no failure of the row.  bench_try is false
 * where no attempt can be made, which is noted as well.  So
 *     if (!s && bench_try(b, "dram.copy")) s = bench_tried(b, copy(b, dev));
 * bench_tried fails only where the run must end.  */
bool bench_try(Bench *b, const char *figure);
Status bench_tried(Bench *b, Status s);

/* ---- kernels and data ---- */
/* The kernel `symbol` of a source (extern "C", no #include) after `#define` lines for `macros`
 * ("N 8", ..., NULL), compiled for the device's architecture; the same text is compiled once.  */
Status bench_kernel(Bench *b, const char *source, const char *symbol, const char *const *macros,
                    CudaKernel *out);
/* The same of several sources at once, on all cores: bench_kernel then finds them compiled, or says
 * why one does not compile.  */
typedef struct {
    const char *source;
    const char *const *macros;
} BenchSource;
Status bench_compile(Bench *b, const BenchSource *source, int n);
/* Device memory with random bytes that are ordinary small numbers in every format, none of them 0;
 * freed with the row.  */
Status bench_buffer(Bench *b, size_t bytes, CudaAddress *out);
/* Resident blocks of `threads` with `smem` bytes of dynamic shared memory on the whole device.  */
Status bench_resident(Bench *b, const CudaKernel *k, int threads, int64_t smem, int64_t *out);

/* ---- time ---- */
/* A launch: up to 8 parameters, each by pointer.  */
enum { BENCH_PARAMS = 8 };
typedef struct {
    CudaKernel kernel;
    CudaLaunch launch;
    void *param[BENCH_PARAMS];
    CudaAddress clocks;       /* a 64-bit word to which thread 0 of block 0 adds its differences of
                               * clock64; 0: none */
} BenchLaunch;

/* One launch, not timed; waits for its end.  */
Status bench_run(Bench *b, const BenchLaunch *l);
/* Microseconds of one launch, as many of them back to back in a graph as make it measurable.  */
Status bench_time(Bench *b, const BenchLaunch *l, Sample *us);
/* The same, always of `repeats` launches: in a graph, while the device is busy so that the host
 * costs nothing; or submitted one by one to an idle device.  0 repeats: the time between two events
 * around nothing.  */
Status bench_repeat(Bench *b, const BenchLaunch *l, int repeats, bool graph, Sample *us);
/* Microseconds of one launch right after n other ones, which are not timed.  */
Status bench_after(Bench *b, const BenchLaunch *before, int n, const BenchLaunch *l, Sample *us);
/* Microseconds per iteration: `*count` (an int that is one of the parameters) is set to `few` and
 * to `many` in turn; (time(many) - time(few)) / (many - few).  Both are the least that make sense:
 * they are multiplied alike until the difference is long enough to be measured well.  */
Status bench_slope(Bench *b, const BenchLaunch *l, int *count, int few, int many, Sample *us);
/* The same with these counts and no multiples of them: where more iterations touch more memory.  */
Status bench_difference(Bench *b, const BenchLaunch *l, int *count, int few, int many, Sample *us);
/* The slope as bench_slope has it, but of what is added up at l->clocks, in clocks of one SM: for
 * latencies.  */
Status bench_clocks(Bench *b, const BenchLaunch *l, int *count, int few, int many, Sample *clk);
/* SM clock in Hz under load, from clock64 and globaltimer differences of a kernel where the device
 * has both, else as the driver states it.  Set by the row `clock`, used by all later ones.  */
double bench_hz(const Bench *b);
/* The same while one SM works, which may be more.  What the SM itself does takes as many clocks at
 * either; what takes a time of its own (DRAM) is stored in clocks of bench_hz.  */
double bench_light_hz(const Bench *b);
/* An error if a difference of times is none: noise was larger.  */
Status bench_positive(Bench *b, const Sample *s);
/* An error if what is counted is far from a whole number.  */
Status bench_whole(Bench *b, const Sample *s);

/* ---- results ---- */
/* A sample times a factor; a factor over a sample (a rate from a time).  */
Sample sample_times(const Sample *s, double factor);
Sample sample_over(double factor, const Sample *s);
/* figure = factor * value or, for `bench_rate`, factor / value (a rate from a time), with spread,
 * samples and an origin: measured, or simulated on such a driver; keeps the figure's unit.  */
void bench_figure(const Bench *b, Figure *f, const Sample *s, double factor);
void bench_rate(const Bench *b, Figure *f, const Sample *s, double factor);
/* Points of a curve: x ascending, y in its unit.  */
typedef struct {
    const double *x;
    const Sample *y;
    int n;
} BenchPoints;
/* Replaces the curve `of` over `x` of a level; the spread is the largest of the points'.  */
void bench_level_curve(Bench *b, MemoryLevel *m, LevelId level, const char *of, const char *x,
                       const BenchPoints *points);
/* The same for a curve that is one member of a struct: `member` is its row in HAL_MEMBER_CURVES,
 * `unit` one of that row's.  */
void bench_member_curve(Bench *b, Curve *c, const char *member, const char *unit,
                        const BenchPoints *points);
#endif
