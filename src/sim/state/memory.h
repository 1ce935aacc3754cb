/* Memory spaces of the simulated device, as executing functions see them.
 *
 * Every access is checked before a byte moves.  A failed check records the fault (sim_fault) and
 * the function returns NULL or false: the caller returns at once, the block has stopped.  */
#ifndef ROLLER_SIM_STATE_MEMORY_H
#define ROLLER_SIM_STATE_MEMORY_H
#include "sim/state/exec.h"

/* Host pointer to `bytes` bytes of global memory at a device address, for a lane's access (bounds
 * and alignment checked); `store` logs the write for the inter-block race check.  `align` 1:
 * any.  */
unsigned char *sim_global(SimLane by, uint64_t at, uint32_t bytes, uint32_t align, bool store);
/* Without a lane, for landing asynchronous operations; NULL when out of bounds (no fault made).  */
unsigned char *sim_global_raw(SimGpu *g, uint64_t at, uint64_t bytes);
/* Logs a write of an asynchronous operation of block b (for races between blocks).  */
void sim_global_wrote(SimBlock *b, const SimInst *i, int thread, uint64_t at, uint64_t bytes);

/* The block and offset in its smem that a 32-bit shared address names; NULL after a fault (outside
 * the block's shared memory, no such block in the cluster, misaligned).  */
SimBlock *sim_shared(SimLane by, uint32_t at, uint32_t bytes, uint32_t align, uint32_t *offset);
/* Host pointers to a thread's local memory and to the parameters; as above.  */
unsigned char *sim_local(SimLane by, uint64_t at, uint32_t bytes, uint32_t align);
const unsigned char *sim_param(SimLane by, uint64_t at, uint32_t bytes, uint32_t align);
/* The space a generic address is in.  */
PtxSpace sim_classify(uint64_t at);
/* Shared address of a 32-bit or 64-bit address operand of one lane (a generic address of the shared
 * window is accepted where the instruction's space is generic).  */
uint64_t sim_address(const SimWarp *w, const SimOpnd *o, int lane);
/* One element of an atomic operation or a reduction (.add .min .max .inc .dec .and .or .xor .exch):
 * the value that takes the place of `old`.  */
uint64_t sim_atomic_op(PtxMod op, PtxType t, uint64_t old, uint64_t b);
#endif
