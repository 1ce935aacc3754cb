/* Measuring a device in a worker: what it is asked, and what it tells on the way.  */
#ifndef ROLLER_DRIVER_DEVICE_PROFILE_WIRE_H
#define ROLLER_DRIVER_DEVICE_PROFILE_WIRE_H
#include "driver/device/worker.h"
#include "roller.h"

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
#endif
