/* Measuring a device in workers: this process stays without driver, and a worker whose device is
 * lost (a kernel that faults or hangs, a driver that crashes) is followed by another one, which
 * goes on with the next figure.  Each tells what it has before every attempt.  */
#ifndef ROLLER_DRIVER_PROFILE_APART_H
#define ROLLER_DRIVER_PROFILE_APART_H
#include "driver/handle.h"
#include "driver/worker.h"

/* What one worker measures.  */
typedef struct {
    int device;
    RollerMeasureOptions o;   /* `only` and `limit_s` are those of the leg */
    const char *base;         /* JSON of the profile to start from; NULL: nearest along the path */
    int skip;                 /* attempts of the first measurement that another worker has made */
    const char *profile_path, *nvrtc, *nvrtc_folders;
    bool ignore_environment;
} ProfileLeg;
void profile_leg_put(Buf *out, const ProfileLeg *leg);
bool profile_leg_get(WireReader *in, ProfileLeg *out);

/* What a worker tells on the way.  */
typedef enum { PROFILE_STEP, PROFILE_SO_FAR } ProfileNewsKind;
typedef struct {
    ProfileNewsKind kind;
    const char *what;         /* text of the step; name of the measurement that is at work */
    int done, total;          /* steps; attempts at it that are made */
    double left_s;
    const char *json;         /* PROFILE_SO_FAR: the profile */
    size_t len;
} ProfileNews;
void profile_news_put(Buf *out, const ProfileNews *n);
bool profile_news_get(const char *data, size_t len, ProfileNews *out);

/* The profile as JSON, on ctx->call.  */
Status profile_measure_apart(RollerCtx *ctx, int device, const RollerMeasureOptions *o,
                             const char **json, size_t *len);
#endif
