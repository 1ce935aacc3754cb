/* Inside of run.h: what a kernel is handed, and the side of a device.  */
#ifndef ROLLER_DRIVER_CHECK_RUN_DEVICE_H
#define ROLLER_DRIVER_CHECK_RUN_DEVICE_H
#include "driver/check/run.h"

/* Tells the place's listener, if it has one.  */
void run_waits(const Run *r, bool waiting);
/* The value of parameter i of a kernel, as bytes.  */
Status run_param(const Run *r, Diag *d, const KernelLaunch *k, int i, unsigned char *to);
/* Of all tensors and the workspace.  */
double run_bytes(const Te *te, const KernelProgram *p);
Status device_create(Run *r, Arena *a, Diag *d);
const void *device_read(Run *r, Arena *a, Diag *d, uint64_t from, size_t bytes);
bool device_was_written(const Run *r, uint64_t at, size_t bytes);
/* Launches, waits, looks at the guard zones.  */
Status device_launch(Run *r, Arena *a, Diag *d, int i);
#endif
