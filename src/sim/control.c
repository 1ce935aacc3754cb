/* Branches, calls, ends of threads.  */
#include "sim/link.h"
#include "sim/warp.h"
#include <string.h>

static void exec_bra(SimWarp *w, const SimInst *i, uint32_t active) {
    if (active == w->mask) w->pc = i->target;
    else sim_diverge(w, active, i->target, i->join);
}

static void exec_brx(SimWarp *w, const SimInst *i, uint32_t active) {
    const uint32_t *index = sim_u32(w, i->d), *table = i->extra;
    uint32_t target[LANES], first = SLOT_NONE;
    bool same = active == w->mask;
    SIM_EACH(l, active) {
        if (index[l] >= i->arg) {
            sim_fault(w, SIM_BAD_JUMP, i, l, "index %u of a table of %d targets", index[l], i->arg);
            return;
        }
        target[l] = table[index[l]];
        if (first == SLOT_NONE) first = target[l];
        same = same && target[l] == first;
    }
    if (same) w->pc = first;
    else sim_scatter(w, active, target, i->join);
}

static void copy_values(SimWarp *w, const SimCopy *c, int n, uint32_t lanes) {
    size_t frame = (size_t)w->block->cluster->run->kernel->local_bytes;
    for (int k = 0; k < n; k++) {
        SIM_EACH(l, lanes) {
            unsigned char *local = w->local + (size_t)l * frame;
            memcpy(local + c[k].to, local + c[k].from, (size_t)c[k].bytes);
        }
    }
}

/* The lanes come back to the instruction after the call, which copies the results; after that one
 * is the join.  */
static void exec_call(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimCall *c = i->extra;
    uint32_t *link = sim_u32(w, c->link), back = w->pc;
    if (active != w->mask) {                 /* the lanes without the call wait at the join */
        sim_diverge(w, active, back - 1, back + 1);
        w->pc = back + 1;
        return;
    }
    sim_enter(w, back + 1);
    copy_values(w, c->in, c->n_in, active);
    SIM_EACH(l, active) link[l] = back;
    w->pc = i->target;
}

void sim_exec_return_values(SimWarp *w, const SimInst *i, uint32_t active) {
    const SimCall *c = i->extra;
    copy_values(w, c->out, c->n_out, active);
}

static void exec_ret(SimWarp *w, const SimInst *i, uint32_t active) {
    if (i->arg) {                            /* of the kernel itself */
        sim_lanes_exit(w, active);
        return;
    }
    sim_scatter(w, active, sim_u32(w, i->d), SLOT_NONE);
}

static void exec_exit(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)i;
    sim_lanes_exit(w, active);
}

static void exec_trap(SimWarp *w, const SimInst *i, uint32_t active) {
    sim_fault(w, SIM_TRAP, i, sim_first_lane(active), "%s was executed", i->ptx->text);
}

static void exec_nanosleep(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)i;
    (void)active;
    w->yield = true;
}

static void exec_nothing(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)w;
    (void)i;
    (void)active;
}

SimExec *sim_pick_control(SimPick *k) {
    sim_take(k, MOD_UNI);
    switch (k->p->op) {
    case OP_BRA: return exec_bra;
    case OP_BRX: return sim_want_bits(k, 0, 32) ? exec_brx : NULL;
    case OP_CALL: return exec_call;
    case OP_RET: return exec_ret;
    case OP_EXIT: return exec_exit;
    case OP_NANOSLEEP: sim_take_type(k); return exec_nanosleep;
    case OP_PMEVENT: sim_take(k, MOD_CP_MASK); return exec_nothing;
    default: return exec_trap;
    }
}
