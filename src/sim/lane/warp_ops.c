/* Instructions among the lanes of a warp.  Lanes of the member mask that are elsewhere are waited
 * for.  */
#include "sim/lane/lanes.h"
#include "sim/lane/pick.h"
#include "sim/state/race.h"
#include "sim/lane/warp.h"

/* The member mask (the same in all lanes that name each other); 0 after parking or a fault.  */
static uint32_t members(SimWarp *w, const SimInst *i, uint32_t active, int operand,
                        uint32_t *lanes) {
    const uint32_t *m = sim_u32(w, i->opnd[operand].slot[0]);
    uint32_t mask = m[sim_first_lane(active)];
    SIM_EACH(l, active) {
        if ((m[l] >> l & 1) == 0) {
            sim_fault(sim_lane(w, i, l), SIM_DIVERGENT,
                      "member mask 0x%08x without the lane itself", m[l]);
            return 0;
        }
        mask |= m[l];
    }
    *lanes = sim_gather(w, active, mask);
    return *lanes ? mask : 0;
}

/* ---- shfl ---- */

typedef enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX } ShflMode;

static void exec_shfl(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t lanes = active;
    if (i->n_opnd > 4 && !members(w, i, active, 4, &lanes)) return;
    const uint32_t *a = sim_u32(w, i->a), *b = sim_u32(w, i->b), *c = sim_u32(w, i->c);
    uint32_t value[LANES], in_range = 0;
    SIM_EACH(l, lanes) {
        uint32_t clamp = c[l] & 31, seg = c[l] >> 8 & 31, lane = (uint32_t)l, from = b[l] & 31;
        uint32_t most = (lane & seg) | (clamp & ~seg), j;
        bool good;
        switch ((ShflMode)i->arg) {
        case SHFL_UP: j = lane - from; good = (int32_t)j >= (int32_t)most; break;
        case SHFL_DOWN: j = lane + from; good = j <= most; break;
        case SHFL_BFLY: j = lane ^ from; good = j <= most; break;
        default: j = (lane & seg) | (from & ~seg); good = j <= most; break;
        }
        if (!good) j = lane;
        else in_range |= 1u << l;
        value[l] = a[j];
    }
    uint32_t *d = i->opnd[0].slot[0] == SLOT_NONE ? NULL : sim_u32(w, i->opnd[0].slot[0]);
    SIM_EACH(l, lanes) {
        if (d) d[l] = value[l];
    }
    if (i->opnd[0].n > 1 && i->opnd[0].slot[1] != SLOT_NONE) {
        sim_set_pred(w, i->opnd[0].slot[1], lanes, in_range);
    }
}

static SimExec *pick_shfl(SimPick *k) {
    static const PtxMod modes[] = {MOD_UP, MOD_DOWN, MOD_BFLY, MOD_IDX};
    int mode = 0;
    while (mode < 4 && !sim_take(k, modes[mode])) mode++;
    if (mode == 4 || sim_take_type(k) != PTX_B32) return sim_pick_fail(k, "needs a mode and .b32");
    if (!sim_take(k, MOD_SYNC) || k->i->n_opnd != 5)
        return sim_pick_fail(k, "needs .sync and 5 operands");
    k->i->arg = (uint16_t)mode;
    return exec_shfl;
}

/* ---- vote, match, redux ---- */

static void exec_vote(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t lanes, mask = members(w, i, active, 2, &lanes);
    if (!mask) return;
    uint32_t p = sim_pred_of(w, &i->opnd[1]) & lanes;
    switch (i->arg) {
    case MOD_ALL: sim_set_pred(w, i->d, lanes, p == lanes ? FULL_WARP : 0); break;
    case MOD_ANY: sim_set_pred(w, i->d, lanes, p ? FULL_WARP : 0); break;
    case MOD_UNI: sim_set_pred(w, i->d, lanes, p == lanes || !p ? FULL_WARP : 0); break;
    default: {
        uint32_t *d = sim_u32(w, i->d);
        SIM_EACH(l, lanes) d[l] = p;
        break;
    }
    }
}

static SimExec *pick_vote(SimPick *k) {
    static const PtxMod modes[] = {MOD_ALL, MOD_ANY, MOD_UNI, MOD_BALLOT};
    int mode = 0;
    while (mode < 4 && !sim_take(k, modes[mode])) mode++;
    if (mode == 4 || !sim_take(k, MOD_SYNC) || k->i->n_opnd != 3) {
        return sim_pick_fail(k, "needs a mode, .sync and 3 operands");
    }
    bool ballot = modes[mode] == MOD_BALLOT;
    if (sim_take_type(k) != (ballot ? PTX_B32 : PTX_PRED)) return NULL;
    k->i->arg = (uint16_t)modes[mode];
    bool good = k->i->opnd[1].bits == 1 && k->p->opnd[0].kind == OPND_REG;
    return good && sim_want_bits(k, 0, ballot ? 32 : 1) && sim_want_bits(k, 2, 32) ? exec_vote
                                                                                   : NULL;
}

static uint64_t lane_value(const SimWarp *w, Slot s, int lane, bool wide) {
    return wide ? sim_u64(w, s)[lane] : sim_u32(w, s)[lane];
}

static void exec_match(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t lanes, mask = members(w, i, active, 2, &lanes), result[LANES], all = FULL_WARP;
    if (!mask) return;
    bool wide = i->ptx->type[0] == PTX_B64;
    SIM_EACH(l, lanes) {
        result[l] = 0;
        SIM_EACH(o, lanes) {
            if (lane_value(w, i->a, o, wide) == lane_value(w, i->a, l, wide)) result[l] |= 1u << o;
        }
        if (result[l] != lanes) all = 0;
    }
    uint32_t *d = i->opnd[0].slot[0] == SLOT_NONE ? NULL : sim_u32(w, i->opnd[0].slot[0]);
    bool whole = i->arg == MOD_ALL;
    SIM_EACH(l, lanes) {
        if (d) d[l] = whole ? (all ? lanes : 0) : result[l];
    }
    if (whole && i->opnd[0].n > 1 && i->opnd[0].slot[1] != SLOT_NONE) {
        sim_set_pred(w, i->opnd[0].slot[1], lanes, all);
    }
}

static SimExec *pick_match(SimPick *k) {
    PtxType t = sim_take_type(k);
    k->i->arg = sim_take(k, MOD_ALL) ? MOD_ALL : MOD_ANY;
    if (k->i->arg == MOD_ANY && !sim_take(k, MOD_ANY))
        return sim_pick_fail(k, "needs .any or .all");
    if (!sim_take(k, MOD_SYNC) || (t != PTX_B32 && t != PTX_B64)) return NULL;
    return sim_want3(k, 32, sim_type_bits(t), 32) ? exec_match : NULL;
}

static uint32_t redux_int(PtxMod op, bool s, uint32_t a, uint32_t b) {
    switch (op) {
    case MOD_ADD: return a + b;
    case MOD_MIN: return s ? ((int32_t)a < (int32_t)b ? a : b) : a < b ? a : b;
    case MOD_MAX: return s ? ((int32_t)a > (int32_t)b ? a : b) : a > b ? a : b;
    case MOD_AND: return a & b;
    case MOD_OR: return a | b;
    default: return a ^ b;
    }
}

/* SimInst.flags of redux.f32.  */
enum { REDUX_ABS = 1, REDUX_NAN = 2 };

static uint32_t redux_real(PtxMod op, int flags, uint32_t a, uint32_t b) {
    uint32_t mask = flags & REDUX_ABS ? 0x7fffffffu : UINT32_MAX;
    a &= mask;
    b &= mask;
    bool na = (a & 0x7fffffffu) > 0x7f800000u, nb = (b & 0x7fffffffu) > 0x7f800000u;
    if (na || nb) return flags & REDUX_NAN || (na && nb) ? 0x7fffffffu : na ? b : a;
    uint32_t ka = a & 0x80000000u ? ~a : a | 0x80000000u;    /* orders like the reals, -0 first */
    uint32_t kb = b & 0x80000000u ? ~b : b | 0x80000000u;
    return (ka < kb) == (op == MOD_MIN) ? a : b;
}

static void exec_redux(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t lanes;
    if (!members(w, i, active, 2, &lanes)) return;
    const uint32_t *a = sim_u32(w, i->a);
    PtxType t = i->ptx->type[0];
    int first = sim_first_lane(lanes);
    uint32_t v = t == PTX_F32 && i->flags & REDUX_ABS ? a[first] & 0x7fffffffu : a[first];
    SIM_EACH(l, lanes & ~(1u << first)) {
        v = t == PTX_F32 ? redux_real((PtxMod)i->arg, i->flags, v, a[l])
                         : redux_int((PtxMod)i->arg, t == PTX_S32, v, a[l]);
    }
    uint32_t *d = sim_u32(w, i->d);
    SIM_EACH(l, lanes) d[l] = v;
}

static SimExec *pick_redux(SimPick *k) {
    static const PtxMod ops[] = {MOD_ADD, MOD_MIN, MOD_MAX, MOD_AND, MOD_OR, MOD_XOR};
    PtxType t = sim_take_type(k);
    int op = 0;
    while (op < 6 && !sim_take(k, ops[op])) op++;
    if (op == 6 || !sim_take(k, MOD_SYNC)) return sim_pick_fail(k, "needs an operation and .sync");
    bool bits = ops[op] == MOD_AND || ops[op] == MOD_OR || ops[op] == MOD_XOR;
    bool real = t == PTX_F32 && (ops[op] == MOD_MIN || ops[op] == MOD_MAX);
    bool word = bits ? t == PTX_B32 : t == PTX_U32 || t == PTX_S32;
    if (!real && !word) return NULL;
    if (real && sim_take(k, MOD_ABS)) k->i->flags |= REDUX_ABS;
    if (real && sim_take(k, MOD_NAN)) k->i->flags |= REDUX_NAN;
    k->i->arg = (uint16_t)ops[op];
    return sim_want3(k, 32, 32, 32) ? exec_redux : NULL;
}

/* ---- activemask, bar.warp.sync ---- */

static void exec_activemask(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t *d = sim_u32(w, i->d);
    SIM_EACH(l, active) d[l] = active;
}

/* The lanes' earlier accesses to memory are ordered before their later ones.  */
static void exec_bar_warp(SimWarp *w, const SimInst *i, uint32_t active) {
    const uint32_t *m = sim_u32(w, i->opnd[0].slot[0]);
    uint32_t lanes;
    if (!members(w, i, active, 0, &lanes)) return;
    for (uint32_t rest = lanes, met; rest; rest &= ~met) {
        met = m[sim_first_lane(rest)] & lanes;
        sim_meet(w, met);
    }
}

SimExec *sim_pick_warp(SimPick *k) {
    switch (k->p->op) {
    case OP_SHFL: return pick_shfl(k);
    case OP_VOTE: return pick_vote(k);
    case OP_MATCH: return pick_match(k);
    case OP_REDUX: return pick_redux(k);
    case OP_ACTIVEMASK:
        return sim_take_type(k) == PTX_B32 && sim_want_bits(k, 0, 32) ? exec_activemask : NULL;
    default: return sim_want_bits(k, 0, 32) ? exec_bar_warp : NULL;
    }
}
