/* roller-profile: what its parts share.  */
#ifndef ROLLER_CLI_PROFILE_H
#define ROLLER_CLI_PROFILE_H
#include "cli/profile_options.h"
#include "driver/measure.h"
#include "roller.h"

typedef struct {
    Arena *a;
    Diag diag;
    ProfileOptions o;
    Buf report;               /* standard output */
    Buf messages;             /* standard error */
    RollerCtx *ctx;
    bool color;
} ProfileTool;

/* Tells what is in t->diag; the exit code.  */
int profile_fail_here(ProfileTool *t);
/* Reads a profile by name or file; faults go to the messages.  *file is what to call it.  */
int profile_load(ProfileTool *t, const char *name, const char **file, Device **out);

typedef struct {
    const char *text;
    size_t len;
} ProfileText;
/* Gives a measured profile its factors (driver/calibrate.h).  */
int profile_calibrate(ProfileTool *t, Watch *watch, ProfileText *text);

int profile_measure(ProfileTool *t);
int profile_list(ProfileTool *t);
int profile_compare(ProfileTool *t);

/* A readable sheet: every figure with its unit, where it comes from, and ridge points.  */
void profile_sheet(const Device *dev, Buf *out);
/* Table of the figures and curve points that differ; `json`: as a JSON array instead.  */
void profile_differences(const Device *old, const Device *now, bool json, Buf *out);
#endif
