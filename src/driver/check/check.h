/* Check: is a compiled kernel right?
 *
 * Runs it on a device, or its PTX in the simulator with every asynchronous operation as late as its
 * waits allow, on four data sets: small integers (compared bit for bit where every intermediate is
 * exact), normal reals (compared under the reference's error bound), extremes: large magnitudes,
 * zeros of both signs, equal values, infinities and NaN, compared wherever the reference defines
 * the result, and sparse data, on which sums have so few terms that every bit of them counts.
 * Each shows what the others hide: a wrong index or term is seen at once among integers, a lost
 * rescaling among reals; among extremes a mask that multiplies by 0 what it should not read, a
 * maximum that is missing, the wrong one of equals; among few terms a factor or a sum of fewer
 * bits.  Of small problems all is compared; of big ones each kernel group is judged by itself on
 * sampled blocks, given what earlier groups store: values that are made as the op says where that
 * is little work, else drawn like inputs.  */
#ifndef ROLLER_DRIVER_CHECK_CHECK_H
#define ROLLER_DRIVER_CHECK_CHECK_H
#include "driver/check/run.h"
#include "hal/cupti.h"

typedef struct {
    uint64_t seed;            /* 0: 1 */
    double budget_s;          /* scales what is run and evaluated; 0: 60 */
    int threads;
    bool counters;
    Watch *watch;             /* NULL: nobody's */
    const RunPlace *place;    /* NULL: the simulator */
    const int64_t *at;        /* value per size: at these alone; NULL: at all of sample_sizes */
    bool sampled;             /* small problems, too */
} CheckOptions;

/* What the simulator counted in the main kernels' blocks that ran, and what the model says of
 * them.  */
enum { COUNTER_LINES = 12 };
typedef struct {
    const char *name;
    double counted;           /* < 0: the simulator has no such counter */
    double predicted;         /* < 0: the model has no such term */
    bool whole;               /* means something only where all blocks ran */
    CuptiCounter device[2];   /* their sum, times scale; CUPTI_COUNTER_COUNT: none */
    double scale;
    double least, mean, most; /* of the blocks that ran; not of what means the whole */
} CounterLine;
typedef struct {
    int program;              /* of the plan */
    int64_t linear;           /* number in the grid */
    double counted[COUNTER_LINES];
} BlockCount;
typedef struct {
    double blocks, blocks_run;
    CounterLine line[COUNTER_LINES];
    int n;
    const BlockCount *block;  /* those that ran, by program and number */
    int64_t n_block;
} CounterTable;

typedef struct {
    bool ok;
    bool fault;               /* it did not even run to its end */
    bool exact;               /* integer data was compared bit for bit */
    int64_t compared, outputs, undecided;
    int64_t by_normal;        /* elements of outputs that were not compared with the op as written,
                               * but with its normal form */
    int64_t filled;           /* elements of inputs and temporaries that were made */
    int runs, left_out;       /* of sampled kernels on a data set; those beyond the budget */
    double needed_s;          /* the budget that has room for all */
    int size_sets, data_sets;
    const char *where;        /* "simulator", "NVIDIA H200" */
    const char *text;         /* one line; on failure also the worst element or fault */
    const char *counters;     /* "" if not asked for */
    const char *counters_json;            /* the same with those of every block */
    const CounterTable *table;            /* what they are made of; NULL: nothing was counted */
} CheckResult;

/* The data sets that were tried, in words: "integer, real, extreme and sparse"; integers are named
 * where they were compared bit for bit.  */
const char *check_data(const CheckResult *r);
/* ST_CHECK if the kernel is wrong (the
 * result is filled); other errors if it could not be judged.  */
Status check_kernel(Arena *a, Diag *d, const BuiltPlan *b, const CheckOptions *o, CheckResult *out);

/* Outputs that somebody made: are they right for these inputs?  Sizes are static.  */
typedef struct {
    const Te *te;
    const TeData *in, *out;
    int threads;
    Watch *watch;             /* NULL: nobody's */
} CheckOutputs;
typedef struct {
    int64_t compared, undecided, wrong;   /* elements */
    double excess;            /* of the worst wrong one: its distance over what is allowed */
} OutputsResult;
Status check_outputs(Arena *a, Diag *d, const CheckOutputs *x, OutputsResult *out);

void check_counters(Arena *a, const PlanSet *set, const WholePlan *plan, const Run *run,
                    CounterTable *out);
/* As a table: the simulator's counters beside the model's terms for the blocks that ran; with those
 * of a device (one per CuptiCounter) all beside each other, for all blocks.  */
const char *counters_text(const CounterTable *t, Arena *a);
const char *counters_device_text(const CounterTable *t, const double *device, const char *where,
                                 Arena *a);
/* As a JSON object, with every block; device: NULL or one per CuptiCounter.  */
const char *counters_json(const CounterTable *t, const double *device, Arena *a);
#endif
