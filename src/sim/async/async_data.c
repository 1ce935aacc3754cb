#include "sim/async/async_data.h"

#include "sim/async/async_target.h"
#include "sim/async/matrix.h"

#include <string.h>

/* A row as wide as the swizzle is permuted within itself.  Of one that reaches out of the tensor a
 * store reads a part.  */
static bool self_contained(const AsyncOp *op, const AsyncSegment *p) {
    if (op->kind == ASYNC_STORE && (p->begin > 0 || p->end < p->bytes)) return false;
    return op->span == 16 || (p->bytes == (uint32_t)op->span &&
                              (op->block->smem_base + p->offset) % p->bytes == 0);
}

static uint32_t swizzled(const AsyncOp *op, const AsyncSegment *p, uint32_t at) {
    uint32_t base = op->block->smem_base;
    return op->span == 16 ? p->offset + at
                          : sim_swizzle(base + p->offset + at, op->span, op->atom, 0) - base;
}

uint32_t async_step(const AsyncOp *op, const AsyncSegment *p) {
    return self_contained(op, p) ? p->bytes : 16;
}

uint32_t async_place(const AsyncOp *op, const AsyncSegment *p, uint32_t at) {
    return self_contained(op, p) ? p->offset + at : swizzled(op, p, at);
}

unsigned char *async_buffer(SimCluster *c, AsyncOp *op) {
    size_t need = 0;
    for (size_t p = 0; p < op->n_segment; p++) need += op->segment[p].bytes;
    op->buffer = arena_grow(c->arena, op->buffer, &op->cap_buffer, need, 1);
    return op->buffer;
}

/* Between a segment's place in shared memory and its bytes in the buffer.  */
static void shared_bytes(const AsyncOp *op, const AsyncSegment *p, unsigned char *buffer,
                         bool store) {
    uint32_t step = op->span == 16 ? p->bytes : 16;
    for (uint32_t at = 0; at < p->bytes; at += step) {
        unsigned char *shared = op->block->smem + swizzled(op, p, at);
        if (store) {
            memcpy(shared, buffer + at, step);
        } else {
            memcpy(buffer + at, shared, step);
        }
    }
}

static void fill(const AsyncOp *op, unsigned char *to, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        to[i] = op->fill_bytes ? op->fill[i % (uint32_t)op->fill_bytes] : 0;
    }
}

void async_read_source(SimCluster *c, AsyncOp *op) {
    unsigned char *to = async_buffer(c, op);
    for (size_t n = 0; n < op->n_segment; n++) {
        const AsyncSegment *p = &op->segment[n];
        if (op->kind == ASYNC_STORE) {
            shared_bytes(op, p, to, false);
        } else if (op->kind == ASYNC_PEER) {
            memcpy(to, op->source->smem + op->from + p->begin, p->bytes);
        } else {
            const unsigned char *from =
                p->end > p->begin
                    ? sim_global_raw(c->run->gpu, p->global + p->begin, p->end - p->begin)
                    : NULL;
            fill(op, to, 0, from ? p->begin : p->bytes);
            if (from) {
                memcpy(to + p->begin, from, p->end - p->begin);
                fill(op, to, p->end, p->bytes);
            }
        }
        to += p->bytes;
    }
}

void async_write(SimCluster *c, AsyncOp *op) {
    unsigned char *from = op->buffer;
    for (size_t n = 0; n < op->n_segment; n++) {
        const AsyncSegment *p = &op->segment[n];
        if (op->kind != ASYNC_STORE) {
            if (op->reduce.type != PTX_NONE) {
                async_reduce(&op->reduce, op->block->smem + p->offset, from, p->bytes);
            } else {
                shared_bytes(op, p, from, true);
            }
        } else if (p->end > p->begin) {
            unsigned char *to =
                sim_global_raw(c->run->gpu, p->global + p->begin, p->end - p->begin);
            if (to && op->reduce.type != PTX_NONE) {
                async_reduce(&op->reduce, to, from + p->begin, p->end - p->begin);
            } else if (to) {
                memcpy(to, from + p->begin, p->end - p->begin);
            }
        }
        from += p->bytes;
    }
}
