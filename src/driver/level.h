/* What makes plans compile sooner.  The level of ptxas' optimizer: 3, or 2, which takes a fraction
 * of the time and schedules loops of matrix units a little worse; and loops that load their own
 * first step, which is less text.  docs/compile-time.md has figures.  */
#ifndef ROLLER_DRIVER_LEVEL_H
#define ROLLER_DRIVER_LEVEL_H
#include "driver/compile.h"

/* Sets both for every candidate: the level of the options, and nothing else if that is 3; else as
 * little as keeps those from taking too long that would.  Each kernel is judged by itself, for
 * NVRTC compiles those of a plan side by side.  */
void level_choose(PlanSet *set);
/* All kernels of a plan are compiled together: at 2 if any of its programs asks for it.  */
int level_of(const RPlan *p);
#endif
