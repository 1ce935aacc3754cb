/* What threads wait for: each other, or what is under way.  */
#ifndef ROLLER_CODEGEN_IR_SYNC_KINDS_H
#define ROLLER_CODEGEN_IR_SYNC_KINDS_H

typedef enum { SYNC_WARP, SYNC_BLOCK, SYNC_NAMED, SYNC_BARRIER, SYNC_CLUSTER, SYNC_COPIES,
               SYNC_PRODUCTS, SYNC_BULK, SYNC_PROXY, SYNC_TENSOR, SYNC_GRID,
               SYNC_SCOPES } SyncScope;
/* GRID: WAIT until the kernel before has ended; ARRIVE: the next one may begin.
 * BOTH: arrive and wait.  Barriers in shared memory (SYNC_BARRIER) are rings: INIT says how many
 * arrivals complete one, of which barriers they are; a COMMIT arrives when the thread's products,
 * or its copies, have ended.  Groups are closed by COMMIT.  TENSOR: fences of Tensor Memory, before
 * (ARRIVE) and behind (WAIT) what synchronises threads.  */
typedef enum { SYNC_BOTH, SYNC_ARRIVE, SYNC_WAIT, SYNC_INIT, SYNC_COMMIT } SyncOp;
#endif
