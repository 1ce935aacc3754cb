/* What measurements and single kernels share that run in a worker.  */
#ifndef ROLLER_DRIVER_DEVICE_MEASURE_ASK_H
#define ROLLER_DRIVER_DEVICE_MEASURE_ASK_H
#include "driver/device/measure.h"
#include "driver/device/trial.h"
#include "driver/device/worker_kernel.h"

/* left_s: seconds that are left; 0: no limit.  */
WorkerLimits measure_limits(const MeasureOptions *o, double left_s);
Status measure_ask(Arena *a, Diag *d, const MeasureOptions *o, const WorkerRequest *request,
                   const WorkerLimits *limits, WorkerResult *r);
/* The worker's own error, as ours.  */
Status measure_refused(Diag *d, const WorkerResult *r);
/* An error of the environment (no memory, no permission ...), which is no kernel's fault.  */
bool measure_unable(const WorkerResult *r);
/* How a trial ended, and why.  */
void measure_judge(Arena *a, const WorkerResult *r, const WorkerLimits *limits, Trial *out);
#endif
