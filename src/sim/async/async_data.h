/* Moving the bytes of an asynchronous operation.  */
#ifndef ROLLER_SIM_ASYNC_ASYNC_DATA_H
#define ROLLER_SIM_ASYNC_ASYNC_DATA_H
#include "sim/async/async.h"

/* Bytes of a segment that stay together in shared memory as far as flags are concerned: all of
 * them, or a 16-byte chunk where the swizzle carries chunks out of the row.  */
uint32_t async_step(const AsyncOp *op, const AsyncSegment *p);
/* Offset in the block's shared memory of byte `at` of a segment, for flags (async_step at a
 * time).  */
uint32_t async_place(const AsyncOp *op, const AsyncSegment *p, uint32_t at);
/* Source to op->buffer; op->buffer to the destination, with the reduction if there is one.  */
void async_read_source(SimCluster *c, AsyncOp *op);
void async_write(SimCluster *c, AsyncOp *op);
/* Room for the bytes of all segments in op->buffer.  */
unsigned char *async_buffer(SimCluster *c, AsyncOp *op);
#endif
