/* Run on a device: what run.c and run_device.c share.  */
#ifndef ROLLER_DRIVER_RUN_DEVICE_H
#define ROLLER_DRIVER_RUN_DEVICE_H
#include "driver/run.h"

/* Tells the place's listener, if it has one.  */
void run_waits(const Run *r, bool waiting);
/* The value of parameter i of a kernel, as bytes.  */
Status run_param(const Run *r, Diag *d, const KernelLaunch *k, int i, unsigned char *to);
/* Of all tensors and the workspace.  */
double run_bytes(const Te *te, const KernelProgram *p);
Status device_create(Run *r, Arena *a, Diag *d);
/* Launches, waits, looks at the guard zones.  */
Status device_launch(Run *r, Arena *a, Diag *d, int i);
#endif
