/* Measuring a device in workers: this process stays without driver, and a worker whose device is
 * lost (a kernel that faults or hangs, a driver that crashes) is followed by another one, which
 * goes on with the next figure.  Each tells what it has before every attempt.  */
#ifndef ROLLER_DRIVER_PROFILE_PROFILE_APART_H
#define ROLLER_DRIVER_PROFILE_PROFILE_APART_H
#include "driver/handle/handle.h"
#include "driver/device/profile_wire.h"

/* The profile as JSON, on ctx->call.  */
Status profile_measure_apart(RollerCtx *ctx, int device, const RollerMeasureOptions *o,
                             const char **json, size_t *len);
#endif
