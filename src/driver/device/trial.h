/* Trial: what a worker does with a kernel.  Its jobs are worker_trial, worker_counters and
 * worker_outputs (worker.h); here is what asks for them.  */
#ifndef ROLLER_DRIVER_DEVICE_TRIAL_H
#define ROLLER_DRIVER_DEVICE_TRIAL_H
#include "driver/device/measure.h"
#include "driver/device/worker.h"

/* Proves it, and with `timed` times it, unless it is far slower than `best_us`.  The answer is
 * worker_get_trial's.  */
void trial_request(WorkerRequest *r, const BuiltPlan *b, const MeasureOptions *o, bool timed,
                   double best_us);
/* The answer is a real per CuptiCounter.  */
void trial_counters_request(WorkerRequest *r, const BuiltPlan *b, const MeasureOptions *o);
/* The answer is the bytes of all outputs.  */
void trial_outputs_request(Arena *a, WorkerRequest *r, const DeviceRun *x, const MeasureOptions *o);
#endif
