/* Timing: how long a program takes on a device (docs/measuring.md).  */
#ifndef ROLLER_DRIVER_DEVICE_TIMING_H
#define ROLLER_DRIVER_DEVICE_TIMING_H
#include "driver/check/run.h"
#include "hal/cupti.h"

typedef struct {
    double cold_us, warm_us;  /* medians: L2 flushed before each run, and not */
    double spread;            /* of the cold samples: interquartile range over median */
    int samples;              /* cold ones */
    double clock_mhz;         /* of the SMs meanwhile; where nothing tells it, as specified */
    bool by_events;           /* else by activity records of the kernels alone */
} Timing;

typedef struct {
    Cupti *cupti;             /* NULL: events */
    double best_us;           /* cold, of the fastest so far; 0: none.  3 times it ends early */
    double budget_s;          /* of the host's time for each of the two series; 0: 1 */
} TimingOptions;

/* The run is on a device; its kernels have run once already.  */
Status timing_measure(Run *r, Arena *a, Diag *d, const TimingOptions *o, Timing *out);
#endif
