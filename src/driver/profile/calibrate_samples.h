/* Samples that a profile is calibrated to, wherever their times come from.  Inside the driver.  */
#ifndef ROLLER_DRIVER_PROFILE_CALIBRATE_SAMPLES_H
#define ROLLER_DRIVER_PROFILE_CALIBRATE_SAMPLES_H
#include "driver/profile/calibrate.h"

enum { CALIBRATE_FEWEST = 2 };            /* timed samples */

typedef struct {
    const char *name;         /* of the kernel, in reports */
    const char *family;       /* what factors are said to come from; many may have one */
    const char *failed;       /* NULL: it was timed */
    const RPlan *plan;        /* NULL: there is none, and it failed */
    double us;
    int samples;              /* timings that `us` is the median of */
} CalibrateSample;

/* The order in which times of n plans tell most of the factors: each the one behind which the
 * predictions of all are the surest (base/belief.h).  */
int *calibrate_order(Arena *a, const Device *dev, const CalibrateSample *s, int n);
/* Fits the factors to those that did not fail.  ST_CHECK where they are too few.  */
Status calibrate_samples(Arena *a, Diag *d, const Device *dev, const CalibrateSample *s, int n,
                         Calibration *out);

/* A kernel of which the tile is known: a block's m, n and k-step, a warp's m and n (0: any).  */
typedef struct {
    const char *text;
    int m, n, k, warp_m, warp_n;
    int sample;               /* whose plan it is to be */
} CalibrateTile;
/* "128x128x32", "128x128x32/64x64".  */
bool calibrate_tile_read(const char *text, CalibrateTile *out);
/* Plans for tiles of one product; a sample without one has failed.  */
Status calibrate_tiles(Arena *a, Diag *d, const PlanSet *set, const CalibrateTile *t, int n,
                       CalibrateSample *sample);
#endif
