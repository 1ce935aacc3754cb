/* Functions that the device's run-time system has: declared in PTX, without a body there.  */
#ifndef ROLLER_SIM_LANE_BUILTIN_H
#define ROLLER_SIM_LANE_BUILTIN_H
#include "sim/state/exec.h"

enum { SIM_BUILTIN_PARAMS = 5 };
/* What a call passes: offsets of variables in the caller's frame (link.h, SimFrame).  */
typedef struct {
    Slot base;
    int64_t in[SIM_BUILTIN_PARAMS], out;      /* out -1: none */
} SimBuiltinCall;

/* What executes a call of the function, or NULL: there is none of that name and shape.  */
SimExec *sim_builtin(const PtxFunc *f);
#endif
