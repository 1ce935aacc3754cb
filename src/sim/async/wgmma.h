/* wgmma in flight: products queued in order, accumulators held aside, registers watched.  */
#ifndef ROLLER_SIM_ASYNC_WGMMA_H
#define ROLLER_SIM_ASYNC_WGMMA_H
#include "sim/async/async.h"
#include "sim/async/matrix.h"

typedef struct {
    SimWgmma shape;
    bool a_regs, scale_known; /* scale-d is an immediate, not a predicate */
} WgmmaInst;

/* The accumulators of one set of registers.  */
typedef struct AsyncAcc AsyncAcc;
struct AsyncAcc {
    AsyncAcc *next;
    const SimOpnd *regs;      /* of the last product into it */
    bool flying;
    int products;             /* not waited for */
    uint32_t fences;          /* wgmma.fence executed when the registers were last read */
    SimReg reg[128];          /* the values, also after the wait */
};

typedef struct AsyncProduct AsyncProduct;
struct AsyncProduct {
    AsyncProduct *next;
    const SimInst *inst;
    SimWgmma shape;
    AsyncAcc *acc;
    uint32_t group, issued, serial; /* serial: how many the warp had executed, this one included */
    bool done;                /* multiplied */
    int n_a, n_b;             /* chunks; n_a 0: A is in registers */
    uint32_t a_at[32], b_at[SIM_MAX_CHUNKS];      /* offsets in shared memory */
};

/* Per warp; made when the first wgmma instruction is executed.  */
struct AsyncWgmma {
    AsyncAcc *acc;
    AsyncProduct *first, *last, *spare;
    uint32_t group, fences, executed;
    uint32_t read;            /* time up to which its operands have been read */
    const SimInst *latest;
    uint8_t *touch; /* per 128 bytes of the register file: 1 accumulator, 2 A, in flight */
};

AsyncWgmma *async_wgmma(SimWarp *w);
/* The accumulators of an instruction, in flight afterwards.  NULL after a fault.  */
AsyncAcc *async_acc(SimWarp *w, const SimInst *i);
AsyncProduct *async_product_new(SimWarp *w, const SimInst *i, AsyncAcc *acc);
void async_product_issue(SimWarp *w, AsyncProduct *p);
/* Finishes all groups but the `pending` newest.  A product is the work of the whole warpgroup: the
 * wait parks the warp until the other warps have issued theirs.  */
void async_product_wait(SimWarp *w, const SimInst *i, uint32_t pending);
#endif
