/* roller-profile: what its parts share.  */
#ifndef ROLLER_CLI_PROFILE_H
#define ROLLER_CLI_PROFILE_H
#include "cli/profile_options.h"
#include "hal/cuda.h"
#include "roller.h"
#include <signal.h>

typedef struct {
    Arena *a;
    Diag diag;
    ProfileOptions o;
    Buf report;               /* standard output */
    Buf messages;             /* standard error */
    RollerCtx *ctx;
    bool color;
    const volatile sig_atomic_t *signal;  /* that ended the measurement; NULL or 0: none */
} ProfileTool;

/* Both return the exit code: of a call of the library that failed, of what is in t->diag.  */
int profile_fail(ProfileTool *t, RollerStatus s);
int profile_fail_here(ProfileTool *t);
/* Reads a profile by name or file; faults go to the messages.  */
int profile_load(ProfileTool *t, const char *name, const char **file, Device **out);

typedef struct {
    const char *text;
    size_t len;
} ProfileText;
/* Measures device `index`.  */
typedef RollerStatus (*ProfileMeasure)(ProfileTool *t, int index, RollerProfile **out);

/* The device asked for, and its profile, by processes of their own: this one stays without driver,
 * as profile_calibrate needs it.  Both return the exit code.  */
int profile_probe(ProfileTool *t, CudaDeviceInfo *info);
int profile_measure_apart(ProfileTool *t, ProfileMeasure measure, int index, const bool *stop,
                          ProfileText *out);
/* Gives a measured profile its factors (driver/calibrate.h).  */
int profile_calibrate(ProfileTool *t, int (*progress)(void *user, const char *kernel, int done,
                      int total), void *user, const bool *stop, ProfileText *text);

int profile_measure(ProfileTool *t);
int profile_list(ProfileTool *t);
int profile_compare(ProfileTool *t);

/* A readable sheet: every figure with its unit, where it comes from, and ridge points.  */
void profile_sheet(const Device *dev, Buf *out);
/* Roofline as SVG: levels, units, and the ridge points of each with each.  */
void profile_roofline(const Device *dev, Buf *out);
/* FLOP/s of a unit on the whole device at the sustained clock; 0 for one that does not multiply and
 * add.  */
double profile_unit_flops(const Device *dev, const ComputeUnit *u);
/* B/s of a level; 0 if the profile does not tell.  */
double profile_level_rate(const Device *dev, LevelId level);
/* A number with an SI prefix: "3.89 T".  */
const char *profile_si(Arena *a, double v);

/* Table of the figures and curve points that differ; `json`: as a JSON array instead.  */
void profile_differences(const Device *old, const Device *now, bool json, Buf *out);
#endif
