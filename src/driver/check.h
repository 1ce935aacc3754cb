/* Check: is a compiled kernel right?
 *
 * Runs it on a device, or its PTX in the simulator with every asynchronous operation as late as its
 * waits allow, on two data sets: small integers (compared bit for bit where every intermediate is
 * exact) and normal reals (compared under the reference's error bound).  Of small problems all is
 * compared; of big ones each kernel group is judged by itself on sampled blocks, its temporaries
 * filled like inputs.  */
#ifndef ROLLER_DRIVER_CHECK_H
#define ROLLER_DRIVER_CHECK_H
#include "driver/run.h"

typedef struct {
    uint64_t seed;            /* 0: 1 */
    double budget_s;          /* scales the sample; 0: 60 */
    int threads;
    bool counters;
    const bool *stop;         /* polled; may be NULL */
    const RunPlace *place;    /* NULL: the simulator */
} CheckOptions;

typedef struct {
    bool ok;
    bool fault;               /* it did not even run to its end */
    bool exact;               /* integer data was compared bit for bit */
    int64_t compared, outputs, undecided;
    int size_sets, data_sets;
    const char *where;        /* "simulator", "NVIDIA H200" */
    const char *text;         /* one line; on failure also the worst element or fault */
    const char *counters;     /* "" if not asked for */
} CheckResult;

/* te is the op as parsed, possibly with run-time sizes.  ST_CHECK if the kernel is wrong (the
 * result is filled); other errors if it could not be judged.  */
Status check_kernel(Arena *a, Diag *d, const PlanSet *set, const WholePlan *plan,
                    const Build *build, const CheckOptions *o, CheckResult *out);
/* Counted by the simulator beside the model's terms for the blocks that ran, as a table.  */
const char *check_counters(const PlanSet *set, const WholePlan *plan, const Run *run, Arena *a);
#endif
