/* cvta, isspacep, and the instructions that are hints.  */
#include "sim/lane/lanes.h"
#include "sim/state/memory.h"
#include "sim/lane/pick.h"

static uint64_t window(PtxSpace s) {
    switch (s) {
    case SPACE_SHARED:
    case SPACE_SHARED_CLUSTER: return SIM_SHARED_WINDOW;
    case SPACE_LOCAL: return SIM_LOCAL_WINDOW;
    case SPACE_PARAM: return SIM_PARAM_WINDOW;
    default: return 0;
    }
}

SIM_UNARY(same_address, u64, u64, a)

static void to_generic(SimWarp *w, const SimInst *i, uint32_t active) {
    uint64_t *d = sim_u64(w, i->d), base = window((PtxSpace)i->space);
    if (i->opnd[1].bits == 32) {
        const uint32_t *a = sim_u32(w, i->a);
        SIM_EACH(l, active) d[l] = a[l] + base;
    } else {
        const uint64_t *a = sim_u64(w, i->a);
        SIM_EACH(l, active) d[l] = (a[l] & 0xffffffffu) + base;
    }
}

static void from_generic(SimWarp *w, const SimInst *i, uint32_t active) {
    uint64_t *d = sim_u64(w, i->d), base = window((PtxSpace)i->space);
    const uint64_t *a = sim_u64(w, i->a);
    SIM_EACH(l, active) d[l] = a[l] - base;
}

/* A shared address is in the window of the cluster, and in that of the block if it names it.  */
static void exec_isspacep(SimWarp *w, const SimInst *i, uint32_t active) {
    const uint64_t *a = sim_u64(w, i->a);
    uint32_t p = 0, own = (uint32_t)w->block->rank + 1;
    SIM_EACH(l, active) {
        PtxSpace s = sim_classify(a[l]);
        uint32_t rank = (uint32_t)a[l] >> SIM_RANK_SHIFT;
        bool mine = rank == 0 || rank == own;
        bool in = s == (PtxSpace)i->space && (s != SPACE_SHARED || mine);
        if (s == SPACE_SHARED && i->space == SPACE_SHARED_CLUSTER) in = true;
        if (in) p |= 1u << l;
    }
    sim_set_pred(w, i->d, active, p);
}

SimExec *sim_pick_address(SimPick *k) {
    bool to = sim_take(k, MOD_TO);
    k->i->space = (uint8_t)sim_take_space(k);
    if (k->i->space == SPACE_GENERIC) return sim_pick_fail(k, "needs a space");
    if (k->p->op == OP_ISSPACEP) {
        return k->i->opnd[0].bits == 1 && sim_want_bits(k, 1, 64) ? exec_isspacep : NULL;
    }
    PtxType t = sim_take_type(k);
    if (t != PTX_U64) return sim_pick_fail(k, "needs .u64");
    if (!sim_want_bits(k, 0, 64) || !sim_want_bits(k, 1, 64)) return NULL;
    if (!window((PtxSpace)k->i->space)) return same_address;
    return to ? from_generic : to_generic;
}

/* ---- hints: no effect on what is computed ---- */

static void exec_nothing(SimWarp *w, const SimInst *i, uint32_t active) {
    (void)w;
    (void)i;
    (void)active;
}

static void exec_policy(SimWarp *w, const SimInst *i, uint32_t active) {
    uint64_t *d = sim_u64(w, i->d);
    SIM_EACH(l, active) d[l] = 0;
}

SimExec *sim_pick_hint(SimPick *k) {
    sim_take_hints(k);
    sim_take_space(k);
    sim_take(k, MOD_L1);
    sim_take(k, MOD_L2);
    sim_take(k, MOD_FRACTIONAL);
    sim_take(k, MOD_RANGE);
    sim_take(k, MOD_TENSORMAP);
    sim_take(k, MOD_CVT);
    if (k->p->op != OP_CREATEPOLICY) return exec_nothing;
    sim_take_type(k);
    if (k->i->n_opnd < 1 || k->i->n_opnd > 4) return sim_pick_fail(k, "has 1 to 4 operands");
    return sim_want_bits(k, 0, 64) ? exec_policy : NULL;
}
