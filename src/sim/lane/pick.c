/* Helpers of the pick functions: modifiers and types are taken one by one.  */
#include "sim/lane/pick.h"

bool sim_take(SimPick *k, PtxMod m) {
    uint64_t bit = (uint64_t)1 << ((unsigned)m % 64);
    bool written = ptx_has(&k->left, m);
    k->left.w[(unsigned)m / 64] &= ~bit;
    return written;
}

PtxType sim_take_type(SimPick *k) {
    return k->next_type < k->p->n_type ? k->p->type[k->next_type++] : PTX_NONE;
}

void sim_take_hints(SimPick *k) {
    for (int m = MOD_CA; m <= MOD_NC; m++) sim_take(k, (PtxMod)m);
    for (int m = MOD_L1_EVICT_NORMAL; m <= MOD_L2_256B; m++) sim_take(k, (PtxMod)m);
}

SimOrder sim_take_order(SimPick *k) {
    SimOrder o = {MOD_COUNT, MOD_COUNT};
    for (int m = MOD_WEAK; m <= MOD_MMIO; m++) {
        if (sim_take(k, (PtxMod)m)) o.order = (PtxMod)m;
    }
    for (int m = MOD_CTA; m <= MOD_SYS; m++) {
        if (sim_take(k, (PtxMod)m)) o.scope = (PtxMod)m;
    }
    return o;
}

PtxSpace sim_take_space(SimPick *k) {
    static const struct {
        PtxMod mod;
        PtxSpace space;
    } spaces[] = {{MOD_GLOBAL, SPACE_GLOBAL}, {MOD_SHARED, SPACE_SHARED},
                  {MOD_SHARED_CTA, SPACE_SHARED}, {MOD_SHARED_CLUSTER, SPACE_SHARED_CLUSTER},
                  {MOD_LOCAL, SPACE_LOCAL}, {MOD_CONST, SPACE_CONST}, {MOD_PARAM, SPACE_PARAM},
                  {MOD_PARAM_ENTRY, SPACE_PARAM}, {MOD_PARAM_FUNC, SPACE_PARAM}};
    for (size_t n = 0; n < sizeof spaces / sizeof spaces[0]; n++) {
        if (sim_take(k, spaces[n].mod)) return spaces[n].space;
    }
    return SPACE_GENERIC;
}

SimExec *sim_pick_fail(SimPick *k, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    k->why = arena_vprintf(k->arena, fmt, ap);
    va_end(ap);
    return NULL;
}

bool sim_want_bits(SimPick *k, int operand, int bits) {
    const SimOpnd *o = &k->i->opnd[operand];
    if (operand >= k->i->n_opnd) {
        sim_pick_fail(k, "misses operand %d", operand + 1);
        return false;
    }
    int have = o->bits;
    int want = bits == 1 ? 1 : bits <= 32 ? 32 : bits <= 64 ? 64 : 128;
    if (have != 0) have = have == 1 ? 1 : have <= 32 ? 32 : have <= 64 ? 64 : 128;
    if (have == 0 || have == want) return true;
    sim_pick_fail(k, "has a register of %d bits as operand %d, where %d are needed", o->bits,
                  operand + 1, bits);
    return false;
}
