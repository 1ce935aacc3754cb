/* The roofline of a device, as numbers and as a picture.  */
#ifndef ROLLER_HAL_ROOFLINE_H
#define ROLLER_HAL_ROOFLINE_H
#include "hal/device.h"

/* FLOP/s of a unit on the whole device at the sustained clock; 0 for one that does not multiply and
 * add.  */
double hal_unit_flops(const Device *dev, const ComputeUnit *u);
/* B/s of a level; 0 if the profile does not tell.  */
double hal_level_rate(const Device *dev, LevelId level);
/* A number with an SI prefix: "3.89 T".  */
const char *hal_si(Arena *a, double v);

/* Something that runs on the device: what it computes, the bytes that it must move, the time that
 * is predicted for it, and a time that it cannot beat (0: not told).  */
typedef struct {
    const char *name;
    double flops, bytes, us, least_us;
} HalWork;
/* As SVG: levels, units, the ridge points of each with each, and a point for each work (n may be
 * 0; one without arithmetic has none).  It stands by itself, and within a page, and follows from
 * light to dark.  */
void hal_roofline(const Device *dev, const HalWork *work, int n, Buf *out);
#endif
