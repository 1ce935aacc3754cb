/* What requests of a worker carry: a kernel as the texts that it follows from and its code, how it
 * is measured, and what is found.  The worker makes the kernel again from its texts; it refuses one
 * whose source then is another.  */
#ifndef ROLLER_DRIVER_DEVICE_WORKER_KERNEL_H
#define ROLLER_DRIVER_DEVICE_WORKER_KERNEL_H
#include "driver/device/measure.h"
#include "driver/device/worker.h"

typedef struct {
    PlanSet set;
    WholePlan plan;
    Build build;
} SentKernel;
void worker_put_kernel(Buf *out, const BuiltPlan *b);
Status worker_get_kernel(WireReader *in, Arena *a, Diag *d, SentKernel *out);

/* With `at` a value per size of `te`; NULL: of a probe, which has none.  */
void worker_put_options(Buf *out, const MeasureOptions *o, const Te *te);
/* Needs the kernel's te; the watch and the worker's program are nobody's.  */
void worker_get_options(WireReader *in, Arena *a, const Te *te, MeasureOptions *out);

void worker_put_place(Buf *out, const MeasurePlace *place);
bool worker_get_place(const char *answer, size_t len, MeasurePlace *out);
void worker_put_trial(Buf *out, const CheckResult *check, const Timing *timing);
/* Texts point into the answer.  False if it is none.  */
bool worker_get_trial(const char *answer, size_t len, CheckResult *check, Timing *timing);
#endif
