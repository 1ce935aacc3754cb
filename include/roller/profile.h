/* Device profiles: the facts of a GPU that plans are made from (docs/reference/profile.md).  */
#ifndef ROLLER_PROFILE_H
#define ROLLER_PROFILE_H
#include "roller/context.h"

#ifdef __cplusplus
extern "C" {
#endif
/* A name along the search path, or a file.  NULL: $ROLLER_PROFILE, else the name in a file
 * `default` along the path, else "h200".  */
ROLLER_API RollerStatus roller_profile_load(RollerCtx *ctx, const char *name_or_file,
                                            RollerProfile **out);
/* The first profile along the search path whose arch is `arch` ("sm_80").  */
ROLLER_API RollerStatus roller_profile_for_arch(RollerCtx *ctx, const char *arch,
                                                RollerProfile **out);
/* The first profile of this very GPU ("NVIDIA H200").  ROLLER_PROFILE if there is none.  */
ROLLER_API RollerStatus roller_profile_for_gpu(RollerCtx *ctx, const char *gpu,
                                               RollerProfile **out);
/* The folder of the user's own profiles, where every search finds them.  Lives until the context's
 * next call.  NULL: neither XDG_DATA_HOME nor HOME says where that is.  */
ROLLER_API const char *roller_profile_home(RollerCtx *ctx);
/* Names of the profiles found; they live until the context's next call.  */
ROLLER_API RollerStatus roller_profile_names(RollerCtx *ctx, const char *const **names, int *n);
/* Architectures that the newest NVRTC can target, NULL-terminated.  They live as long as names.  */
ROLLER_API RollerStatus roller_archs(RollerCtx *ctx, const char *const **archs,
                                     const char **nvrtc_version);
ROLLER_API RollerStatus roller_profile_text(const RollerProfile *p, const char **json, size_t *len);
ROLLER_API const char *roller_profile_name(const RollerProfile *p);
ROLLER_API const char *roller_profile_arch(const RollerProfile *p);
/* The language of its kernels: "cuda", or "opencl c 1.2", whose arch is "cl1.2".  */
ROLLER_API const char *roller_profile_language(const RollerProfile *p);
ROLLER_API const char *roller_profile_sha256(const RollerProfile *p);
ROLLER_API const char *roller_profile_origin(const RollerProfile *p);     /* "measured" ... */
/* Does it have factors that were fitted to timed kernels?  */
ROLLER_API int roller_profile_calibrated(const RollerProfile *p);
/* The file it was read from.  NULL: it is part of the program.  */
ROLLER_API const char *roller_profile_file(const RollerProfile *p);
ROLLER_API const char *roller_profile_gpu(const RollerProfile *p);        /* "NVIDIA H200" */
ROLLER_API const char *roller_profile_date(const RollerProfile *p);
/* The outcome of a measurement.  Texts and lists live until the context's next call.  */
typedef struct {
    size_t struct_size;
    const char *mode;         /* "full", "quick" */
    int simulated;            /* by a simulated GPU, whose figures are those of its own profile */
    int measured;             /* figures that were */
    int noisy;                /* of them: with a spread above 5 % */
    const char *const *noisy_name;
    int missed;               /* figures that could not be, and stay as they were */
    const char *const *missed_name;
    const char *const *missed_why;
} RollerProfileReport;
ROLLER_API RollerStatus roller_profile_report(RollerCtx *ctx, const RollerProfile *p,
                                              RollerProfileReport *out);
/* A sheet for people: every figure with unit and origin.  Then the figures in which two profiles
 * differ, as a table or as a JSON array.  Texts live until the context's next call.  */
ROLLER_API RollerStatus roller_profile_sheet(RollerCtx *ctx, const RollerProfile *p,
                                             const char **text, size_t *len);
ROLLER_API RollerStatus roller_profile_differences(RollerCtx *ctx, const RollerProfile *old,
                                                   const RollerProfile *now, int json,
                                                   const char **text, size_t *len);
ROLLER_API void roller_profile_destroy(RollerProfile *p);

/* ---- measuring ---- */
/* Describes measurement i, in order of execution; ROLLER_USAGE behind the last.  */
typedef struct {
    size_t struct_size;
    const char *name, *text;
    double quick_s, full_s;   /* on a large GPU */
} RollerMeasurement;
ROLLER_API RollerStatus roller_profile_measurement(int i, RollerMeasurement *out);
typedef struct {
    size_t struct_size;
    int quick;                /* about 10 s, with fewer points, instead of up to 90 */
    const char *only;         /* comma-separated measurements (docs/roller-profile.md); NULL: all */
    const char *date;         /* YYYY-MM-DD; NULL: today */
    uint64_t seed;            /* of the data that is read; 0: 1 */
    double limit_s;           /* what has not begun by then is not measured; 0: no limit */
    const char *base;         /* JSON of a profile of this GPU to start from; NULL: the nearest one
                               * along the search path */
} RollerMeasureOptions;
/* Measures a device by micro-benchmarks, starting from a profile.  A figure that cannot be measured
 * stays as it was, and is named under "not_measured".  The call fails only if nothing could be
 * measured.  ROLLER_CANCELLED if it was ended.  */
ROLLER_API RollerStatus roller_profile_measure(RollerCtx *ctx, int device,
                                               const RollerMeasureOptions *o,
                                               RollerProfile **out);
typedef struct {
    size_t struct_size;
    const char *device;       /* number or UUID; NULL: device 0 */
    uint64_t seed;            /* of the data; 0: 1 */
    const char *from;         /* a file of times (docs/roller-profile.md), not a device; or NULL */
    double limit_s;           /* no kernel is begun after it, but two are timed; 0: none */
} RollerCalibrateOptions;
typedef struct {
    size_t struct_size;
    int kernels, failed;      /* timed; of others */
    double before, after;     /* how far predictions are off: mean of |predicted / timed - 1| */
    const char *text;         /* the lines to print: that, and why kernels were not timed */
    const char *details;      /* each factor and each kernel, a line each */
    double left_out_before, left_out_after;   /* the same of kernels left out of the fit: root mean
                                               * square; equal where no factor is kept */
} RollerCalibration;
/* Fits the profile's factors to kernels that are timed on its device, or to the times in the file
 * `from`, which needs no device.  Texts live until the context's next call.  ROLLER_CHECK if too
 * few kernels could be timed, ROLLER_ARGS if the file is wrong.  */
ROLLER_API RollerStatus roller_profile_calibrate(RollerCtx *ctx, const RollerProfile *p,
                                                 const RollerCalibrateOptions *o,
                                                 RollerCalibration *report, RollerProfile **out);

#ifdef __cplusplus
}
#endif
#endif
