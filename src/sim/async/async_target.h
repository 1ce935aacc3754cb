/* Where bulk and tensor copies go and whom they tell: shared by bulk.c, tma.c and cluster.c.  */
#ifndef ROLLER_SIM_ASYNC_ASYNC_TARGET_H
#define ROLLER_SIM_ASYNC_ASYNC_TARGET_H
#include "sim/async/async.h"

/* A destination in shared memory of the cluster with the mbarrier that is told.  */
typedef struct {
    bool pair;                /* given: they may be in the two blocks of a pair */
    SimBlock *block;
    uint32_t offset, bytes;
    SimBlock *mbar_block;
    uint32_t mbar;
} AsyncTarget;

/* Resolves and checks destination and mbarrier of one lane; both must be in the same block, or
 * of a pair.  False after a fault.  */
bool async_target(SimLane by, const SimOpnd *to, const SimOpnd *mbar, uint32_t bytes,
                  uint32_t align, AsyncTarget *t);
/* Points op at block `rank` of the cluster, at the offsets of the target; where destination and
 * mbarrier are in different blocks of a pair, so they are here.  False after a fault.  */
bool async_aim(AsyncOp *op, const AsyncTarget *t, int rank);
/* The ctaMask of a multicast; 0 after a fault.  */
uint64_t async_mask(SimLane by, const SimOpnd *o);
/* Checks a global destination and logs the write.  */
bool async_global_target(SimLane by, uint64_t at, uint32_t bytes, const AsyncReduce *reduce);
/* Whether the first space written, that of the destination, is .global.  */
bool async_to_global(const PtxInst *p);
/* Makes op a member of its lane's open bulk group.  */
void async_join_bulk_group(AsyncOp *op);

/* Takes the operator, and the type, of a reduction; a tensor copy has its type in the tensor
 * map. False after sim_pick_fail.  */
bool async_take_operator(SimPick *k, AsyncReduce *out);
bool async_take_reduce(SimPick *k, AsyncReduce *out);
/* Whether a copy to global memory can reduce so.  */
bool async_reduce_exists(const AsyncReduce *r);
/* to[] = op(to[], from[]) element by element.  */
void async_reduce(const AsyncReduce *r, unsigned char *to, const unsigned char *from,
                  uint32_t bytes);
#endif
