/* Trial: what the child of one candidate does.  */
#ifndef ROLLER_DRIVER_TRIAL_H
#define ROLLER_DRIVER_TRIAL_H
#include "driver/child.h"
#include "driver/measure.h"

typedef struct {
    const PlanSet *set;
    const WholePlan *plan;
    const Build *build;
    const MeasureOptions *o;
    bool timed;               /* else only proved */
    double best_us;
} TrialTask;

typedef struct {
    const DeviceRun *run;
    const MeasureOptions *o;
} TrialOutputs;

/* What comes back: this, then the texts of the check, each with its NUL.  */
typedef struct {
    CheckResult check;        /* its texts are not valid here */
    Timing timing;
} TrialAnswer;

/* All are ChildBody; the answer of the first is a MeasurePlace, of the second the bytes of all
 * outputs.  */
Status trial_probe(Child *c, void *user, Arena *a, Diag *d, Buf *answer);
Status trial_outputs(Child *c, void *user, Arena *a, Diag *d, Buf *answer);
/* Of a TrialTask; the answer is a value per CuptiCounter.  */
Status trial_counters(Child *c, void *user, Arena *a, Diag *d, Buf *answer);
Status trial_run(Child *c, void *user, Arena *a, Diag *d, Buf *answer);
/* Reads an answer; texts point into it.  False if it is none.  */
bool trial_read(const char *answer, size_t len, TrialAnswer *out);
#endif
