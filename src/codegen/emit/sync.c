#include "codegen/emit/emit.h"
#include "codegen/block/product.h"

/* Syncs: barriers of warps, blocks, roles, clusters, barriers in shared memory, and waits for
 * groups of what is under way.  */

/* The slot of a ring of barriers: of the step, or what frees the stage before.  */
static Ir slot(const Kernel *k, const Sync *s) {
    return s->lag > 0 ? k->ring[s->ring].last : ring_barrier(k, s->ring, s->id);
}

/* The parity of the round that is waited for: slots are empty before the first.  */
static Ir parity(const Kernel *k, const Sync *s) {
    Ir phase = k->ring[s->ring].phase;
    return s->id == RING_EMPTY ? ir_binary(k->cg, IR_XOR, phase, ir_int(k->cg, 1)) : phase;
}

/* The number of the block's barriers that this one is; with teams each has one.  */
static Ir named(const Kernel *k, const Sync *s) {
    const Cg *cg = k->cg;
    Ir team = k->teams.own, id = ir_int(cg, s->id);
    if (s->team == TEAM_NONE) return id;
    if (s->team == TEAM_OTHER && k->teams.n == 2) return ir_sub(cg, ir_add_n(cg, id, 1), team);
    if (s->team == TEAM_OTHER)
        team = ir_rem(cg, ir_add_n(cg, team, 1), ir_number(cg, IR_U32, k->teams.n));
    return ir_add(cg, team, id);
}

/* Of each stage one thread makes the barrier.  */
static Ir made(const Kernel *k, const Sync *s) {
    const Cg *cg = k->cg;
    Ir tid = k->var.tid;
    ir_if(k->cg, ir_lt(cg, tid, ring_slots(k, s->ring)));
    return ring_barrier_at(k, s->ring, s->id, tid);
}

static IrSyncOf barrier_of(const Kernel *k, const Sync *s) {
    if (s->op == SYNC_INIT) return (IrSyncOf){.number = s->count, .arg = {made(k, s)}};
    if (s->op == SYNC_WAIT) return (IrSyncOf){.arg = {slot(k, s), parity(k, s)}};
    if (s->op == SYNC_COMMIT && s->after == DONE_COPIES)
        return (IrSyncOf){.arg = {slot(k, s)}, .copies = true};
    if (s->op == SYNC_COMMIT)             /* a mask of blocks */
        return (IrSyncOf){.number = s->blocks ? (1 << s->blocks) - 1 : 0, .arg = {slot(k, s)},
                          .pair = s->pair > 0};
    if (s->pair && s->bytes)
        return (IrSyncOf){.number = (int)s->bytes, .arg = {ring_leading(k, slot(k, s))},
                          .pair = true};
    if (s->pair) return (IrSyncOf){.arg = {slot(k, s), ir_int(k->cg, 0)}};
    if (s->bytes) return (IrSyncOf){.number = (int)s->bytes, .arg = {slot(k, s)}};
    return (IrSyncOf){.arg = {slot(k, s), s->blocks ? k->var.lane : NULL}};
}

static IrSyncOf sync_of(const Kernel *k, const Sync *s) {
    if (s->scope == SYNC_BARRIER) return barrier_of(k, s);
    if (s->scope == SYNC_NAMED) return (IrSyncOf){.number = s->count, .arg = {named(k, s)}};
    return (IrSyncOf){.number = s->count};
}

/* The threads that arrive, commit or wait; NULL: all.  */
static Ir who(const Kernel *k, const Sync *s) {
    const Cg *cg = k->cg;
    Ir lane = k->var.lane;
    if (s->scope < SYNC_BARRIER || s->op == SYNC_INIT) return NULL;
    if (s->scope == SYNC_BARRIER && s->op != SYNC_ARRIVE) return NULL;
    if (s->blocks > 0) return ir_lt(cg, lane, ir_int(cg, s->blocks));
    return s->by != BY_THREADS ? ir_binary(cg, IR_EQ, lane, ir_int(cg, 0)) : NULL;
}

static Ir when(const Kernel *k, const Node *n) {
    const Cg *cg = k->cg;
    Ir zero = ir_int(cg, 0);
    bool barrier = n->sync.scope == SYNC_BARRIER;
    switch (n->when) {
    case WHEN_LATER:
        if (barrier && n->sync.lag == 0) return NULL;
        return ir_binary(cg, IR_GT, barrier ? k->var.step : k->var.i, zero);
    case WHEN_AGAIN: return k->teams.again;
    case WHEN_FOLLOWED: return k->teams.follows;
    default: return NULL;
    }
}

void sync_make(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    const Sync *s = &n->sync;
    if (s->scope == SYNC_GRID && s->op == SYNC_WAIT) {
        ir_wait(cg);
        return;
    }
    Ir test = ir_both(cg, who(k, s), when(k, n));
    if (test) ir_if(cg, test);
    IrSyncOf x = sync_of(k, s);
    x.scope = s->scope;
    x.op = s->op;
    x.note = n->note;
    ir_sync_of(cg, &x);
    if (s->scope == SYNC_BARRIER && s->op == SYNC_INIT) ir_close(cg);
    if (test) ir_close(cg);
}
