/* atom and red on global and shared memory.
 *
 * The lanes of a request act one after another, in ascending order.  Blocks run on several host
 * threads only where nothing else than these instructions could tell (see link.c), so no host
 * atomics are needed.  */
#include "sim/lane/alu.h"
#include "sim/lane/half.h"
#include "sim/lane/lanes.h"
#include "sim/state/memory_state.h"
#include "sim/state/order.h"
#include "sim/state/race.h"
#include "sim/timing/timing.h"
#include <string.h>

/* SimInst.flags.  */
enum { ATOM_RESULT = 1, ATOM_NOFTZ = 2 };

/* ---- one element ---- */

static uint64_t int_op(PtxMod op, PtxType t, uint64_t old, uint64_t b) {
    bool wide = sim_type_bits(t) == 64;
    int64_t so = wide ? (int64_t)old : (int32_t)(uint32_t)old;
    int64_t sb = wide ? (int64_t)b : (int32_t)(uint32_t)b;
    bool s = ptx_signed(t);
    switch (op) {
    case MOD_ADD: return old + b;
    case MOD_AND: return old & b;
    case MOD_OR: return old | b;
    case MOD_XOR: return old ^ b;
    case MOD_EXCH: return b;
    case MOD_MIN: return s ? (so < sb ? old : b) : old < b ? old : b;
    case MOD_MAX: return s ? (so > sb ? old : b) : old > b ? old : b;
    case MOD_INC: return old >= b ? 0 : old + 1;
    default: return old == 0 || old > b ? b : old - 1;      /* dec */
    }
}

static uint32_t half_op(PtxMod op, PtxType t, uint32_t old, uint32_t b) {
    double x = sim_half_value(t, old, false), y = sim_half_value(t, b, false);
    double v = op == MOD_ADD ? sim_add_odd(x, y)
               : x != x      ? y
               : y != y      ? x
                             : ((x < y) == (op == MOD_MIN) ? x : y);
    return sim_half_bits(t, v, ROUND_NEAREST_EVEN, false);
}

static float f32_add(float a, float b) {
    float v = a + b;
    return v != v ? sim_float(0x7fffffffu) : v;
}

uint64_t sim_atomic_op(PtxMod op, PtxType t, uint64_t old, uint64_t b) {
    switch (t) {
    case PTX_F32: return sim_bits32(f32_add(sim_float((uint32_t)old), sim_float((uint32_t)b)));
    case PTX_F64: return sim_bits64(sim_double(old) + sim_double(b));
    case PTX_F16:
    case PTX_BF16: return half_op(op, t, (uint32_t)old, (uint32_t)b);
    case PTX_F16X2:
    case PTX_BF16X2:
        return half_op(op, t, (uint32_t)old, (uint32_t)b) |
               (uint64_t)half_op(op, t, (uint32_t)old >> 16, (uint32_t)b >> 16) << 16;
    default: return int_op(op, t, old, b);
    }
}

/* ---- one lane ---- */

typedef struct {
    const SimOpnd *result, *value, *swap;     /* swap: of cas */
} Operands;

static Operands operands(const SimInst *i) {
    int at = i->flags & ATOM_RESULT ? 2 : 1;
    return (Operands){i->flags & ATOM_RESULT ? &i->opnd[0] : NULL, &i->opnd[at],
                      i->arg == MOD_CAS ? &i->opnd[at + 1] : NULL};
}

static uint64_t get(const SimWarp *w, const SimOpnd *o, int e, int lane, int bytes) {
    if (bytes == 8) return sim_u64(w, o->slot[e])[lane];
    uint32_t v = sim_u32(w, o->slot[e])[lane];
    return bytes == 2 ? v & 0xffff : v;
}

static void put(SimWarp *w, const SimOpnd *o, int e, int lane, int bytes, uint64_t v) {
    if (!o || o->slot[e] == SLOT_NONE) return;
    if (bytes == 8) sim_u64(w, o->slot[e])[lane] = v;
    else sim_u32(w, o->slot[e])[lane] = (uint32_t)v;
}

static void apply(SimLane by, unsigned char *host, Operands o) {
    PtxType t = by.i->ptx->type[0];
    for (int e = 0; e < by.i->count; e++, host += by.i->bytes) {
        uint64_t old = 0, b = get(by.w, o.value, e, by.lane, by.i->bytes), now;
        memcpy(&old, host, by.i->bytes);
        if (o.swap) now = old == b ? get(by.w, o.swap, e, by.lane, by.i->bytes) : old;
        else now = sim_atomic_op((PtxMod)by.i->arg, t, old, b);
        memcpy(host, &now, by.i->bytes);
        put(by.w, o.result, e, by.lane, by.i->bytes, old);
    }
}

/* 128-bit exchange and compare-and-swap.  */
static void apply_wide(SimWarp *w, int lane, unsigned char *host, Operands o) {
    uint64_t old[2], now[2];
    memcpy(old, host, 16);
    memcpy(now, sim_u64(w, o.value->slot[0]) + 2 * lane, 16);
    if (o.swap) {
        bool same = memcmp(old, now, 16) == 0;
        memcpy(now, same ? sim_u64(w, o.swap->slot[0]) + 2 * lane : old, 16);
    }
    memcpy(host, now, 16);
    if (o.result && o.result->slot[0] != SLOT_NONE) {
        memcpy(sim_u64(w, o.result->slot[0]) + 2 * lane, old, 16);
    }
}

static unsigned char *place(SimLane by, uint64_t at, bool shared) {
    uint32_t bytes = (uint32_t)by.i->bytes * by.i->count, offset;
    if (!shared) {
        /* sums of reals tell nobody anything */
        bool flag = by.i->count == 1 && ptx_is_int(by.i->ptx->type[0]);
        bool tells = flag && by.w->block->cluster->run->order;
        if (tells) sim_order_sync(by.w->block, at, by.i->ptx->op == OP_ATOM, true);
        sim_note_written(by.w->block, at, bytes);
        return sim_global(by, at, bytes, bytes, false);
    }
    SimBlock *b = sim_shared(by, (uint32_t)at, bytes, bytes, &offset);
    if (!b || !sim_shadow_atomic(by, b, offset, bytes)) return NULL;
    if (b != by.w->block) sim_touch_remote(by, b);
    return b->smem + offset;
}

static bool on_one_address(uint32_t active, const uint64_t at[LANES]) {
    int first = sim_first_lane(active);
    SIM_EACH(l, active) {
        if (at[l] != at[first]) return false;
    }
    return sim_popcount(active) > 1;
}

/* The lanes whose address is in shared memory.  */
static uint32_t in_shared_space(const SimInst *i, uint32_t active, const uint64_t at[LANES]) {
    uint32_t lanes = 0;
    SIM_EACH(l, active) {
        PtxSpace space = (PtxSpace)i->space;
        if (space == SPACE_GENERIC) space = sim_classify(at[l]);
        if (space == SPACE_SHARED || space == SPACE_SHARED_CLUSTER) lanes |= 1u << l;
    }
    return lanes;
}

static void exec_atom(SimWarp *w, const SimInst *i, uint32_t active) {
    Operands o = operands(i);
    const SimOpnd *address = &i->opnd[i->flags & ATOM_RESULT ? 1 : 0];
    uint64_t at[LANES];
    uint32_t in_shared[LANES];
    SIM_EACH(l, active) {
        at[l] = sim_address(w, address, l);
        in_shared[l] = (uint32_t)at[l];
    }
    uint32_t shared_lanes = in_shared_space(i, active, at), global = active & ~shared_lanes;
    if (shared_lanes) sim_strong_begin(w, shared_lanes);
    SIM_EACH(l, active) {
        SimLane by = sim_lane(w, i, l);
        unsigned char *host = place(by, at[l], shared_lanes >> l & 1);
        if (!host) return;
        if (i->bytes == 16) apply_wide(w, l, host, o);
        else apply(by, host, o);
    }
    if (shared_lanes) sim_strong_end(w, shared_lanes);
    SimBlock *b = w->block;
    if (global && o.result) sim_poll(w);
    b->count.atomics++;
    if (b->timing) b->timing->same = on_one_address(active, at);
    int bytes = i->bytes * i->count;
    if (!b->cluster->run->options->no_counters) {
        if (global) sim_count_global(w, global, at, bytes, true);
        if (shared_lanes) sim_count_shared(w, shared_lanes, in_shared, bytes, true);
    }
}

/* ---- choice ---- */

static bool allowed(PtxMod op, PtxType t, int count) {
    bool half = t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2;
    bool bits = t == PTX_B32 || t == PTX_B64;
    bool word = t == PTX_U32 || t == PTX_S32 || t == PTX_U64 || t == PTX_S64;
    if (count > 1 && t != PTX_F32 && !half) return false;
    switch (op) {
    case MOD_ADD: return word || half || t == PTX_F32 || t == PTX_F64;
    case MOD_MIN:
    case MOD_MAX: return word || (half && count > 1);
    case MOD_AND:
    case MOD_OR:
    case MOD_XOR: return bits;
    case MOD_INC:
    case MOD_DEC: return t == PTX_U32;
    case MOD_CAS: return bits || t == PTX_B16 || t == PTX_B128 || word;
    case MOD_EXCH: return bits || t == PTX_B128 || word;
    default: return false;
    }
}

SimExec *sim_pick_atom(SimPick *k) {
    static const PtxMod ops[] = {MOD_ADD, MOD_MIN, MOD_MAX, MOD_AND, MOD_OR, MOD_XOR, MOD_INC,
                                 MOD_DEC, MOD_CAS, MOD_EXCH};
    SimInst *i = k->i;
    bool result = k->p->op == OP_ATOM;
    PtxType t = sim_take_type(k);
    int op = 0, bits = sim_type_bits(t);
    sim_take_order(k);
    sim_take_hints(k);
    sim_take(k, MOD_NOFTZ);
    i->space = (uint8_t)sim_take_space(k);
    i->count = sim_take(k, MOD_V2) ? 2 : sim_take(k, MOD_V4) ? 4 : sim_take(k, MOD_V8) ? 8 : 1;
    while (op < 10 && !sim_take(k, ops[op])) op++;
    if (op == 10 || !allowed(ops[op], t, i->count))
        return sim_pick_fail(k, "has no such operation");
    bool swap = ops[op] == MOD_CAS;
    int first = result ? 2 : 1, need = first + (swap ? 2 : 1);
    if (i->n_opnd < need || (i->n_opnd > need + 1)) return sim_pick_fail(k, "has wrong operands");
    for (int n = 0; n < need; n++) {
        if (i->opnd[n].kind == OPND_ADDRESS) continue;
        if (!sim_want_bits(k, n, bits) || i->opnd[n].n != i->count) return NULL;
    }
    i->bytes = (uint8_t)(bits / 8);
    i->arg = (uint16_t)ops[op];
    i->flags = result ? ATOM_RESULT : 0;
    return exec_atom;
}
