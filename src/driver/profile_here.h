/* Measuring a device in this process, from where another one has ended.  */
#ifndef ROLLER_DRIVER_PROFILE_HERE_H
#define ROLLER_DRIVER_PROFILE_HERE_H
#include "roller.h"

typedef struct {
    const char *base;         /* JSON of the profile to start from; NULL: nearest along the path */
    int skip;                 /* attempts of the first measurement that another process has made */
    /* Before each measurement, and each attempt at a figure of it: the profile so far, and how many
     * attempts are made.  So another process can go on where a kernel costs one its device, which
     * ends the call with ROLLER_DEVICE then, or hangs.  May be NULL.  */
    void (*so_far)(void *user, const char *measurement, int attempts, const char *json, size_t len);
    void *user;
} ProfileResume;
RollerStatus profile_measure_here(RollerCtx *ctx, int device, const RollerMeasureOptions *o,
                                  const ProfileResume *resume, RollerProfile **out);
#endif
