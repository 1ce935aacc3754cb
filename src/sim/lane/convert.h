/* cvt: what a pick function found out, shared by cvt.c and cvt_small.c.  */
#ifndef ROLLER_SIM_LANE_CONVERT_H
#define ROLLER_SIM_LANE_CONVERT_H
#include "base/numeric.h"
#include "sim/lane/pick.h"

typedef struct {
    PtxType to, from;
    Round round;
    bool rounded, integral, ftz, sat, relu, satfinite;
} SimCvt;

/* The bits of v in a real type (or an element of a packed one), rounded once.  */
uint64_t sim_encode(const SimCvt *c, PtxType t, double v);
SimExec *sim_pick_cvt_small(SimPick *k, SimCvt *c);       /* packed and small formats, tf32 */
SimExec *sim_pick_cvt_pack(SimPick *k, SimCvt *c);        /* cvt.pack.sat */
#endif
