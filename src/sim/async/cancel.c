/* clusterlaunchcontrol: a block asks for the place of a cluster that has not begun (PTX ISA,
 * clusterlaunchcontrol.try_cancel and .query_cancel).
 *
 * Whether a request succeeds, and which cluster it takes, is drawn from the seed: any that waits
 * may go, and a request may be refused while some still wait, as a device may start them first.
 * The answer comes to shared memory as an asynchronous copy does.  */
#include "sim/async/async_data.h"
#include "sim/async/async_target.h"
#include <string.h>

enum {
    ANSWER_BYTES = 16,
    REFUSED = 0x5e05ed00,     /* values of Answer.tag */
    TAKEN = 0x7a4e2000,
    REFUSES = 8               /* one of so many requests is refused while clusters wait */
};

/* What a block may look at by query_cancel alone.  */
typedef struct {
    uint32_t first[3];        /* ctaid of the cluster's first block */
    uint32_t tag;
} Answer;
_Static_assert(sizeof(Answer) == ANSWER_BYTES, "an answer has 16 bytes");

static Answer answer_of(SimCluster *c) {
    SimWaiting *x = &c->run->waiting;
    bool refused = !c->run->options->benign && rng_below(&c->rng, REFUSES) == 0;
    if (x->n == 0 || refused) return (Answer){.tag = REFUSED};
    int64_t *taken = &x->cluster[rng_below(&c->rng, (uint32_t)x->n)];
    uint64_t rest = (uint64_t)*taken;
    Answer a = {.tag = TAKEN};
    for (int d = 0; d < 3; d++) {
        uint32_t size = c->run->cluster[d], n = c->run->grid[d] / size;
        a.first[d] = (uint32_t)(rest % n) * size;
        rest /= n;
    }
    memmove(taken, taken + 1, (size_t)(x->cluster + --x->n - taken) * sizeof *taken);
    return a;
}

static bool send(SimLane by, const AsyncTarget *t, int rank, const Answer *a) {
    AsyncOp *op = async_new(by, ASYNC_VALUE, 1);
    op->segment[0] = (AsyncSegment){.offset = t->offset, .bytes = ANSWER_BYTES,
                                    .end = ANSWER_BYTES, .lane = (uint8_t)by.lane};
    memcpy(async_buffer(by.w->block->cluster, op), a, ANSWER_BYTES);
    return async_aim(op, t, rank) && async_issue(op);
}

/* flags 1: each block of the cluster gets the answer, at the same place.  */
static void exec_try(SimWarp *w, const SimInst *i, uint32_t active) {
    SimBlock *b = w->block;
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        AsyncTarget t = {0};
        if (async_block(b)->refused) {
            sim_fault(by, SIM_LAUNCH_CONTROL, "a request by a block that has seen one refused");
            return;
        }
        if (!async_target(by, &i->opnd[0], &i->opnd[1], ANSWER_BYTES, ANSWER_BYTES, &t)) return;
        if (t.block != b) {
            sim_fault(by, SIM_OUT_OF_BOUNDS, "the answer goes to another block of the cluster");
            return;
        }
        Answer a = answer_of(b->cluster);
        for (int rank = 0; rank < b->cluster->n_block; rank++)
            if ((i->flags || rank == b->rank) && !send(by, &t, rank, &a)) return;
    }
}

/* The answer in a lane's register; false after a fault.  */
static bool read_answer(SimLane by, Answer *out) {
    memcpy(out, sim_u64(by.w, by.i->opnd[1].slot[0]) + 2 * by.lane, ANSWER_BYTES);
    if (out->tag == TAKEN || out->tag == REFUSED) return true;
    sim_fault(by, SIM_LAUNCH_CONTROL, "what try_cancel has not written is no answer of it");
    return false;
}

static void exec_canceled(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t taken = 0;
    Answer a;
    SIM_EACH(l, active) {
        if (!read_answer(sim_lane(w, i, l), &a)) return;
        if (a.tag == TAKEN) taken |= 1u << l;
        else async_block(w->block)->refused = true;
    }
    sim_set_pred(w, i->opnd[0].slot[0], active, taken);
}

/* arg: the first of the dimensions that go to the results.  */
static void exec_first(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimOpnd *to = &i->opnd[0];
    Answer a;
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        if (!read_answer(by, &a)) return;
        if (a.tag == REFUSED) {
            sim_fault(by, SIM_LAUNCH_CONTROL, "the first block of a request that was refused");
            return;
        }
        for (int k = 0; k < to->n && k < 3; k++)
            if (to->slot[k] != SLOT_NONE) sim_u32(w, to->slot[k])[l] = a.first[i->arg + k];
    }
}

static SimExec *pick_try(SimPick *k) {
    if (!sim_take(k, MOD_ASYNC) || !sim_take(k, MOD_COMPLETE_TX) || sim_take_type(k) != PTX_B128)
        return sim_pick_fail(k, "needs .async, .mbarrier::complete_tx::bytes and .b128");
    sim_take(k, MOD_SHARED_CTA);
    k->i->flags = sim_take(k, MOD_MULTICAST_ALL);
    return async_want(k, "aa") ? exec_try : NULL;
}

/* Is operand 1 the register of an answer?  */
static bool has_answer(const SimPick *k) { return k->i->opnd[1].bits == 128; }

static SimExec *pick_canceled(SimPick *k) {
    bool typed = sim_take_type(k) == PTX_PRED && sim_take_type(k) == PTX_B128;
    bool fits = typed && k->i->opnd[0].bits == 1 && has_answer(k);
    return fits ? exec_canceled : sim_pick_fail(k, "needs .pred.b128 and such operands");
}

static SimExec *pick_first(SimPick *k) {
    bool all = k->p->op == OP_CLC_FIRST;
    bool fits = !all || sim_take(k, MOD_V4);
    fits = fits && sim_take_type(k) == PTX_B32 && sim_take_type(k) == PTX_B128 && has_answer(k);
    if (!fits || k->i->opnd[0].n != (all ? 4 : 1))
        return sim_pick_fail(k, "needs .v4.b32.b128, or .b32.b128 of one dimension");
    k->i->arg = (uint16_t)(all ? 0 : k->p->op - OP_CLC_FIRST_X);
    return exec_first;
}

SimExec *sim_pick_cancel(SimPick *k) {
    switch (k->p->op) {
    case OP_CLC_TRY: return pick_try(k);
    case OP_CLC_CANCELED: return pick_canceled(k);
    default: return pick_first(k);
    }
}
