/* roller-profile: what its parts share.  */
#ifndef ROLLER_CLI_PROFILE_H
#define ROLLER_CLI_PROFILE_H
#include "cli/profile_options.h"
#include "roller.h"

typedef struct {
    Arena *a;
    Diag diag;                /* of the command line and the files; library errors are in ctx */
    ProfileOptions o;
    Buf report;               /* standard output */
    Buf messages;             /* standard error */
    RollerCtx *ctx;
    bool color;
} ProfileTool;

/* Tells what is in t->diag, or what the library's last call said; the exit code.  */
int profile_fail_here(ProfileTool *t);
int profile_fail(ProfileTool *t, RollerStatus s);
/* Reads a profile by name or file, which the caller destroys; faults go to the messages.  */
int profile_load(ProfileTool *t, const char *name, RollerProfile **out);

int profile_measure(ProfileTool *t);
int profile_list(ProfileTool *t);
int profile_compare(ProfileTool *t);
#endif
