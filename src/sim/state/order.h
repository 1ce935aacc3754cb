/* Order among blocks that communicate, and races on global memory between them.
 *
 * For kernels with global atomics or with volatile, relaxed or acquire loads, which run on one host
 * thread.  Such an access to an address synchronises: it publishes what its block has done so far
 * under that address (release) and learns what others have published there (acquire); order and
 * scope written or not, so that what is reported is a race under any reading of the kernel.  Plain
 * accesses are checked as they happen: a write of what another block wrote, or a read of it, must
 * come after that write.  */
#ifndef ROLLER_SIM_STATE_ORDER_H
#define ROLLER_SIM_STATE_ORDER_H
#include "sim/state/exec.h"

typedef struct SimBlockOrder SimBlockOrder;
SimBlockOrder *sim_order_new(Arena *a, SimGpu *g);
/* A plain access by a thread of block b; a race is kept, one for a block.  */
void sim_order_wrote(SimBlock *b, const SimInst *i, int thread, uint64_t at, uint64_t bytes);
void sim_order_read(SimBlock *b, const SimInst *i, int thread, uint64_t at, uint64_t bytes);
/* A synchronising access.  */
void sim_order_sync(SimBlock *b, uint64_t at, bool acquire, bool release);
/* Gives back what the launch kept beside the device's memory.  */
void sim_order_forget(SimGpu *g);
/* The races found, in the order they happened; returns how many.  */
size_t sim_order_races(const SimBlockOrder *o, const SimFault **out);
#endif
