/* Branches, ends of threads, and what is refused.  */
#include "sim/lane/code.h"
#include "sim/lane/pick.h"
#include "sim/lane/warp.h"
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
            sim_fault(sim_lane(w, i, l), SIM_BAD_JUMP, "index %u of a table of %d targets",
                      index[l], i->arg);
            return;
        }
        target[l] = table[index[l]];
        if (first == SLOT_NONE) first = target[l];
        same = same && target[l] == first;
    }
    if (same) w->pc = first;
    else sim_scatter(w, active, target, i->join);
}

static void exec_exit(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)i;
    sim_lanes_exit(w, active);
}

static void exec_trap(SimWarp *w, const SimInst *i, uint32_t active) {
    sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_TRAP, "%s was executed", i->ptx->text);
}

void sim_exec_refused(SimWarp *w, const SimInst *i, uint32_t active) {
    sim_fault(sim_lane(w, i, sim_first_lane(active)), SIM_NOT_SIMULATED, "%s",
              (const char *)i->extra);
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
    case OP_CALL: return sim_exec_call;
    case OP_RET: return sim_exec_ret;
    case OP_EXIT: return exec_exit;
    case OP_NANOSLEEP: sim_take_type(k); return exec_nanosleep;
    case OP_PMEVENT: sim_take(k, MOD_CP_MASK); return exec_nothing;
    default: return exec_trap;
    }
}
