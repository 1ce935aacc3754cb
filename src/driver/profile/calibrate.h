/* Calibration: the few efficiency factors of a profile that no micro-benchmark isolates.
 *
 * Fits the factors that the model multiplies rates by to times of kernels: least squares of
 * log(predicted / measured) over the logarithms of those factors that make predictions of kernels
 * better that the fit has not seen.  Either a few kernels are planned where the model's terms are
 * least certain, proved right and timed (measure.h, so the caller must not have opened the
 * driver), or the times are read from a file.  */
#ifndef ROLLER_DRIVER_PROFILE_CALIBRATE_H
#define ROLLER_DRIVER_PROFILE_CALIBRATE_H
#include "driver/device/measure.h"

typedef struct {
    MeasureOptions measure;               /* its watch is told of each kernel */
    const NvrtcOptions *nvrtc;            /* NULL: defaults */
    const char *only;         /* comma-separated names of kernels; NULL: all */
    double limit_s;           /* no kernel is begun after it, but two are timed; 0: none */
} CalibrateOptions;

/* A kernel that was timed, or why it was not.  */
typedef struct {
    const char *name;
    const char *failed;       /* NULL: it was timed */
    int samples;
    double us;                /* measured, L2 flushed */
    double before_us, after_us;           /* predicted without and with the factors */
    bool outlier;             /* the factors are not fitted to it */
} CalibratedKernel;

/* Root mean squares of log(predicted / measured) of samples that were left out of the fit.  */
typedef struct {
    double without, with;     /* all factors 1; those that are kept */
} CalibrateVerdict;

typedef struct {
    Device *dev;              /* the profile with its factors */
    CalibratedKernel *kernel;
    int n;
    CalibrateVerdict verdict;
} Calibration;

/* Factors that `dev` has already are forgotten.  ST_CHECK if too few kernels could be timed.  */
Status calibrate(Arena *a, Diag *d, const Device *dev, const CalibrateOptions *o,
                 Calibration *out);
/* The same to the times of a file (docs/roller-profile.md), without a device.  ST_ARGS with the
 * place of what is wrong in it.  */
Status calibrate_times(Arena *a, Diag *d, const Device *dev, const char *path, Calibration *out);

/* The fit alone: `predict` gives the time of sample k with the factors.  */
typedef struct {
    double (*predict)(void *user, int k, const double *factor);
    void *user;
    const double *us;         /* measured, per sample */
    int n_sample, n_factor;
} CalibrateFit;
/* Factors that do not lower the error of samples left out of the fit stay 1.  dropped[k]: sample k
 * is an outlier, and was not fitted.  */
CalibrateVerdict calibrate_fit(Arena *a, const CalibrateFit *f, double *factor, bool *dropped);
/* Does it lie at an end of what the fit allows?  */
bool calibrate_at_bound(double factor);
/* |d log(time) / d log(factor i)| of sample k.  */
double calibrate_sensitivity(Arena *a, const CalibrateFit *f, const double *factor, int k, int i);
#endif
