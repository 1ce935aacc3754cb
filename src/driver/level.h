/* The level of ptxas' optimizer that a plan is compiled at: 3, or 2, which takes a fraction of the
 * time and schedules loops of matrix units a little worse.  docs/compile-time.md has figures.  */
#ifndef ROLLER_DRIVER_LEVEL_H
#define ROLLER_DRIVER_LEVEL_H
#include "driver/compile.h"

/* Sets the level of every candidate: that of the options, else 2 for those that would take too long
 * at 3.  Each kernel is judged by itself, for NVRTC compiles those of a plan side by side.  */
void level_choose(PlanSet *set);
/* All kernels of a plan are compiled together: at 2 if any of its programs asks for it.  */
int level_of(const RPlan *p);
#endif
