/* The clock that power allows.
 *
 * A board of 70 W cannot feed all its multipliers at the boost clock: after some milliseconds its
 * clock falls, the further the longer it lasts.  A unit's family in the profile may say so (clock:
 * the mean clock f(t) of SMs that do nothing but this for a time t).  With t the kernel's time,
 * times the calls in a row that the question is about (Device.calls: one, from rest, unless a
 * benchmark says how it measured), and u = COMPUTE / time the share for which the unit works, the
 * SMs run at
 *
 * f = min(sustained clock, f(t) / u^(1/3)):
 *
 * power goes with the work done per clock, the clock, and the square of the voltage, which follows
 * the clock.  All terms but DRAM, SPLIT and LAUNCH are clocks of the SMs (L2 has theirs) and grow
 * by the same factor, so that the order of plans of one unit stays; a kernel that waits for DRAM
 * draws little and keeps its clock.  f depends on the time and the time on f: four iterations.
 * --explain tells a clock below the usual one.  */
#include "microperf/phases.h"

#include <math.h>

double mp_allowed_clock(const Model *m, const ComputeUnit *u, const Estimate *e) {
    double share = lesser(e->term[MP_COMPUTE] / e->us, 1);
    double hz = hal_busy_hz(m->dev, u, e->us * greater(m->dev->calls, 1));
    return share > 0 ? lesser(m->clock, hz / cbrt(share)) : m->clock;
}
