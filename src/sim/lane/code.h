/* Linked code: frames, calls, and the instructions that linking adds.  */
#ifndef ROLLER_SIM_LANE_CODE_H
#define ROLLER_SIM_LANE_CODE_H
#include "sim/state/exec.h"

/* Bytes of one frame that go into another, at offsets from the bases of the two.  */
typedef struct {
    int64_t from, to, bytes;
} SimCopy;
/* A register of a function that may call itself, kept in its frame meanwhile.  */
typedef struct {
    Slot slot;
    uint8_t bits;
} SimSaved;
/* Frames: those of functions that cannot call themselves have fixed places, and no base register.
 * The others lie in the stack of each thread: variables, then the caller's values of `saved`.  */
typedef struct {
    Slot base;                /* register: where the frame starts; SLOT_NONE: at a fixed place */
    uint32_t bytes, variables;            /* of a frame in the stack; of its variables alone */
    const SimSaved *saved;
    int n_saved;
} SimFrame;
/* A function that a call may reach.  */
typedef struct {
    uint64_t address;
    uint32_t start;           /* index in the code */
    SimCopy *in, *out;        /* arguments before the call, results after the return */
    Slot link;                /* register of the callee that holds the return address */
    const SimFrame *frame;
} SimCallee;
typedef struct {
    SimCallee *callee;
    int n_callee, n_in, n_out;
    Slot base;                /* of the caller's frame */
} SimCall;

/* Instructions the linker adds; not counted.  */
SimExec sim_exec_join, sim_exec_read_sreg, sim_exec_frame_address;
/* Calls: an instruction, what follows it, and the return.  */
SimExec sim_exec_call, sim_exec_call_indirect, sim_exec_return_values, sim_exec_ret;
/* Stands for an instruction that is refused; extra is why.  */
SimExec sim_exec_refused;
#endif
