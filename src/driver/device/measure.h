/* Measure: which of several candidates is the fastest right one on a device, for one op or several
 * that share a limit.
 *
 * The order is that of what each time says of those that are left (learn.h), so that a
 * measurement that ends early, by its limit or its number of trials, has seen the most likely.  The
 * next trial goes to the op that is expected to gain most time by it: by the share by which its
 * fastest plan may be beaten, times that plan's time, as often as the op runs.
 * Each candidate runs in a worker of its own (worker.h): it is proved right, then timed.
 * One that faults, hangs or computes something wrong ends its worker and nothing else.  The calling
 * process never opens the driver, and may have it open.  */
#ifndef ROLLER_DRIVER_DEVICE_MEASURE_H
#define ROLLER_DRIVER_DEVICE_MEASURE_H
#include "driver/check/check.h"
#include "driver/device/timing.h"

/*    id        name        what it means */
#define TRIAL_ENDS(X)                                                                              \
    X(RIGHT,    NULL,       "right, and timed")                                                    \
    X(WRONG,    "wrong",    "it computes something else")                                          \
    X(FAULT,    "fault",    "the device stopped it")                                               \
    X(HANG,     "hang",     "it did not end")                                                      \
    X(SPILL,    "spill",    "it spills registers")                                                 \
    X(SAME,     "same",     "the same machine code as another")                                    \
    X(BUILD,    "build",    "it was not compiled")                                                 \
    X(UNLIKELY, "unlikely", "others were more likely to be the fastest, and no more may be timed") \
    X(TIME,     "time",     "the time was over before its turn")                                   \
    X(STOPPED,  "stopped",  "stopped by the caller")
typedef enum {
#define X(id, name, text) TRIAL_##id,
    TRIAL_ENDS(X)
#undef X
        TRIAL_END_COUNT
} TrialEnd;
const char *trial_name(TrialEnd e);       /* NULL for TRIAL_RIGHT */

typedef struct {
    const WholePlan *plan;
    const Build *build;       /* NULL: not compiled, ... */
    const char *why;          /* ... for this reason; NULL: yet (MeasureOptions.make) */
} Candidate;
typedef struct {
    TrialEnd end;
    const char *reason;       /* one sentence, "" for TRIAL_RIGHT */
    Timing timing;            /* TRIAL_RIGHT */
} Trial;

/* Those of one op, and what becomes of them.  */
typedef struct {
    const PlanSet *set;
    Candidate *c;
    int n;
    const int64_t *at;        /* value per size, to time at; NULL: the largest */
    double weight;            /* how often it runs; 0: once */
    Trial *trial;             /* per candidate */
    int best;                 /* the fastest right one, -1 if there is none */
} Candidates;

/* Where kernels run, as a worker has told.  */
typedef struct {
    CudaDeviceInfo info;
    int count;                /* devices that the driver sees */
    int driver_version;
    bool simulated;
} MeasurePlace;

typedef struct {
    const char *device;       /* number or UUID; NULL: 0 */
    CudaOptions cuda;
    const char *worker;       /* path of the worker's program; NULL: search */
    double limit_s;           /* 0: none */
    int trials;               /* candidates of all ops that may be timed; 0: all */
    double watchdog_s, opening_s;         /* as WorkerLimits has them */
    uint64_t seed;
    double budget_s;          /* of the proof, as CheckOptions */
    int threads;
    Watch *watch;             /* NULL: nobody's */
    const int64_t *at;        /* value per size: to time at, and for a check alone to be at; NULL */
    /* Of candidate i of op k: was it measured before?  And what was measured now.  NULL: nobody
     * keeps it.  */
    bool (*known)(void *user, int k, int i, Timing *out);
    void (*keep)(void *user, int k, int i, const Timing *t);
    /* Compiles a candidate that is about to be timed.  NULL: all have been that can be.  */
    void (*make)(void *user, int k, int i, Candidate *c);
    void *user;
} MeasureOptions;

/* Asks the driver for the device; an error is the driver's own.  */
Status measure_probe(Arena *a, Diag *d, const MeasureOptions *o, MeasurePlace *out);
/* Warns where a profile disagrees with the device it is said to describe.  */
void measure_compare(Diag *d, const Device *dev, const MeasurePlace *place);
/* Of n ops, whose own `at` counts.  An error where an op has no right candidate though none is
 * left, or where no candidate of any op was measured.  */
Status measure_candidates(Arena *a, Diag *d, Candidates *all, int n, const MeasureOptions *o);
/* The device's counters of one run: a value per CuptiCounter.  An error says why there
 * are none.  */
Status measure_counters(Arena *a, Diag *d, const BuiltPlan *b, const MeasureOptions *o,
                        double value[CUPTI_COUNTER_COUNT]);
/* A kernel with the data of one run of it, all in the caller's memory.  */
typedef struct {
    BuiltPlan kernel;
    const int64_t *size;      /* value per size */
    TeData *in, *out;         /* per input, scalars included; per output */
} DeviceRun;
/* Runs it on a device and fills `out`.  ST_CHECK if it faults or hangs.  */
Status measure_run(Arena *a, Diag *d, const DeviceRun *r, const MeasureOptions *o);
/* A check on a device: as check_kernel.  */
Status measure_check(Arena *a, Diag *d, const BuiltPlan *b, const MeasureOptions *o,
                     CheckResult *out);
#endif
