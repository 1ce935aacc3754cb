/* Predicates, carries, mov, selp and slct.  */
#include "sim/lane/alu.h"
#include "sim/lane/lanes.h"
#include <string.h>

/* ---- logic on predicates ---- */

/* A constant predicate is a lane mask as well: 0 or else as written becomes none or all.  */
static uint32_t pred_source(const SimWarp *w, const SimOpnd *o) {
    if (o->bits == 1) return sim_pred_of(w, o);
    return *sim_u32(w, o->slot[0]) ? FULL_WARP : 0;
}

static void pred_logic(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t a = pred_source(w, &i->opnd[1]);
    uint32_t b = i->n_opnd > 2 ? pred_source(w, &i->opnd[2]) : 0, v;
    switch (i->ptx->op) {
    case OP_AND: v = a & b; break;
    case OP_OR: v = a | b; break;
    case OP_XOR: v = a ^ b; break;
    case OP_NOT: v = ~a; break;
    default: v = a; break;
    }
    sim_set_pred(w, i->d, active, v);
}

SimExec *sim_pick_predicate(SimPick *k) {
    for (int n = 0; n < k->i->n_opnd; n++) {
        if (k->i->opnd[n].bits == 1 || (n > 0 && k->i->opnd[n].kind == OPND_INT)) continue;
        return sim_pick_fail(k, "needs predicates");
    }
    return pred_logic;
}

/* ---- carry chains: one flag per lane, in a place of the warp ---- */

typedef struct {
    uint64_t sum;
    bool carry;
} Sum;

static Sum add_with(uint64_t a, uint64_t b, bool carry, int bits) {
    uint64_t mask = bits == 32 ? UINT32_MAX : UINT64_MAX;
    uint64_t s = (a + b) & mask, t = (s + carry) & mask;
    return (Sum){t, s < (a & mask) || t < s};
}

/* Product of the given part.  */
static uint64_t product(uint64_t a, uint64_t b, bool high, PtxType t) {
    if (t == PTX_U32) return high ? a * b >> 32 : a * b;
    if (t == PTX_S32) {
        int64_t p = (int64_t)(int32_t)(uint32_t)a * (int32_t)(uint32_t)b;
        return high ? (uint64_t)p >> 32 : (uint64_t)p;
    }
    if (!high) return a * b;
    return sim_high64(a, b, t == PTX_S64);
}

/* SimInst.flags of a carry instruction.  */
enum { USES_CARRY = 1, SETS_CARRY = 2, HIGH_PART = 4 };

static Sum carry_step(const SimInst *i, uint64_t a, uint64_t b, uint64_t c, bool flag) {
    PtxType t = i->ptx->type[0];
    int bits = sim_type_bits(t);
    uint64_t mask = bits == 32 ? UINT32_MAX : UINT64_MAX;
    bool in = i->flags & USES_CARRY && flag;
    switch (i->ptx->op) {
    case OP_ADD:
    case OP_ADDC: return add_with(a, b, in, bits);
    case OP_SUB:
    case OP_SUBC: {                          /* the flag is a borrow */
        uint64_t d = (a - b) & mask, e = (d - in) & mask;
        return (Sum){e, (a & mask) < (b & mask) || d < in};
    }
    default: return add_with(product(a, b, i->flags & HIGH_PART, t) & mask, c, in, bits);
    }
}

static uint64_t lane_value(const SimWarp *w, Slot s, int lane, bool wide) {
    return wide ? sim_u64(w, s)[lane] : sim_u32(w, s)[lane];
}

static void exec_carry(SimWarp *w, const SimInst *i, uint32_t active) {
    bool wide = sim_type_bits(i->ptx->type[0]) == 64;
    uint32_t carry = w->carry;
    SIM_EACH(l, active) {
        uint64_t c = i->n_opnd > 3 ? lane_value(w, i->c, l, wide) : 0;
        Sum s = carry_step(i, lane_value(w, i->a, l, wide), lane_value(w, i->b, l, wide), c,
                           carry >> l & 1);
        if (wide) sim_u64(w, i->d)[l] = s.sum;
        else sim_u32(w, i->d)[l] = (uint32_t)s.sum;
        carry = (carry & ~(1u << l)) | (uint32_t)s.carry << l;
    }
    if (i->flags & SETS_CARRY) w->carry = carry;
}

SimExec *sim_pick_carry(SimPick *k, PtxType t) {
    PtxOp op = k->p->op;
    int bits = sim_type_bits(t);
    bool chained = op == OP_ADDC || op == OP_SUBC || op == OP_MADC;
    for (int n = 0; n < k->i->n_opnd; n++) {
        if (!sim_want_bits(k, n, bits)) return NULL;
    }
    if (t != PTX_U32 && t != PTX_S32 && t != PTX_U64 && t != PTX_S64 && t != PTX_B32 &&
        t != PTX_B64) {
        return NULL;
    }
    bool sets = !chained || sim_take(k, MOD_CC);         /* add.cc: taken by the caller */
    bool high = sim_take(k, MOD_HI);
    if ((op == OP_MAD || op == OP_MADC) && !high && !sim_take(k, MOD_LO)) {
        return sim_pick_fail(k, "needs .lo or .hi");
    }
    k->i->flags = (uint8_t)((chained ? USES_CARRY : 0) | (sets ? SETS_CARRY : 0) |
                            (high ? HIGH_PART : 0));
    return exec_carry;
}

/* ---- mov ---- */

SIM_UNARY(mov_32, u32, u32, a)
SIM_UNARY(mov_64, u64, u64, a)
SIM_UNARY(mov_16, u16, u16, a)

static void mov_128(SimWarp *w, const SimInst *i, uint32_t active) {
    uint64_t *d = sim_u64(w, i->d);
    const uint64_t *a = sim_u64(w, i->a);
    SIM_EACH(l, active) {
        d[2 * l] = a[2 * l];
        d[2 * l + 1] = a[2 * l + 1];
    }
}

/* Bytes of one operand, element by element, each of i->bytes (source) or i->count (destination). */
static void read_bytes(const SimWarp *w, const SimOpnd *o, int lane, int bytes,
                       unsigned char *out) {
    for (int e = 0; e < o->n; e++, out += bytes) {
        if (bytes == 16) memcpy(out, sim_u64(w, o->slot[e]) + 2 * lane, 16);
        else if (bytes == 8) memcpy(out, sim_u64(w, o->slot[e]) + lane, 8);
        else memcpy(out, sim_u32(w, o->slot[e]) + lane, (size_t)bytes);
    }
}

static void write_bytes(SimWarp *w, const SimOpnd *o, int lane, int bytes,
                        const unsigned char *from) {
    for (int e = 0; e < o->n; e++, from += bytes) {
        if (o->slot[e] == SLOT_NONE) continue;
        if (bytes == 16) {
            memcpy(sim_u64(w, o->slot[e]) + 2 * lane, from, 16);
        } else if (bytes == 8) {
            memcpy(sim_u64(w, o->slot[e]) + lane, from, 8);
        } else {
            uint32_t v = 0;
            memcpy(&v, from, (size_t)bytes);
            sim_u32(w, o->slot[e])[lane] = v;
        }
    }
}

/* mov.b64 {a, b}, d and the like.  */
static void mov_vector(SimWarp *w, const SimInst *i, uint32_t active) {
    SIM_EACH(l, active) {
        unsigned char all[64];
        read_bytes(w, &i->opnd[1], l, i->bytes, all);
        write_bytes(w, &i->opnd[0], l, i->count, all);
    }
}

static SimExec *pick_mov_vector(SimPick *k, PtxType t) {
    SimInst *i = k->i;
    const SimOpnd *d = &i->opnd[0], *s = &i->opnd[1];
    int total = sim_type_bits(t) / 8;
    if (total % d->n || total % s->n) return NULL;
    i->count = (uint8_t)(total / d->n);
    i->bytes = (uint8_t)(total / s->n);
    if (i->count == 0 || i->bytes == 0 || d->kind == OPND_PAIR) return NULL;
    if (!sim_want_bits(k, 0, i->count * 8) || !sim_want_bits(k, 1, i->bytes * 8)) return NULL;
    return mov_vector;
}

static SimExec *pick_mov(SimPick *k, PtxType t) {
    const PtxOpnd *from = &k->p->opnd[1];
    if (k->p->n_opnd < 2) return NULL;
    if (from->kind == OPND_SREG) {
        bool predicate = from->reg == SREG_IS_EXPLICIT_CLUSTER;
        k->i->arg = (uint16_t)from->reg;
        if (!sim_want_bits(k, 0, predicate ? 1 : sim_type_bits(t))) return NULL;
        return sim_type_bits(t) == 64 ? sim_exec_sreg64 : sim_exec_sreg32;
    }
    if (t == PTX_PRED) return sim_pick_predicate(k);
    if (k->i->opnd[0].n > 1 || k->i->opnd[1].n > 1) return pick_mov_vector(k, t);
    int bits = sim_type_bits(t);
    if (!sim_want_bits(k, 0, bits) || !sim_want_bits(k, 1, bits)) return NULL;
    switch (bits) {
    case 8:
    case 16: return mov_16;
    case 32: return mov_32;
    case 64: return mov_64;
    default: return mov_128;
    }
}

/* ---- selection ---- */

HOT static void selp_32(SimWarp *w, const SimInst *i, uint32_t active) {
    uint32_t *d = sim_u32(w, i->d), p = sim_pred_of(w, &i->opnd[3]);
    const uint32_t *a = sim_u32(w, i->a), *b = sim_u32(w, i->b);
    SIM_LANES(l) {
        uint32_t v = p >> l & 1 ? a[l] : b[l];
        d[l] = active >> l & 1 ? v : d[l];
    }
}

HOT static void selp_64(SimWarp *w, const SimInst *i, uint32_t active) {
    uint64_t *d = sim_u64(w, i->d);
    uint32_t p = sim_pred_of(w, &i->opnd[3]);
    const uint64_t *a = sim_u64(w, i->a), *b = sim_u64(w, i->b);
    SIM_LANES(l) {
        uint64_t v = p >> l & 1 ? a[l] : b[l];
        d[l] = active >> l & 1 ? v : d[l];
    }
}

/* slct: a where c >= 0, else b; a NaN selects b.  */
SIM_TERNARY(slct_32, u32, u32, u32, s32, c >= 0 ? a : b)
SIM_TERNARY(slct_64, u64, u64, u64, s32, c >= 0 ? a : b)
SIM_TERNARY(slct_32_f, u32, u32, u32, f32, c >= 0 ? a : b)
SIM_TERNARY(slct_64_f, u64, u64, u64, f32, c >= 0 ? a : b)

static SimExec *pick_slct(SimPick *k, int bits) {
    PtxType c = sim_take_type(k);
    bool wide = bits == 64;
    sim_take(k, MOD_FTZ); /* a subnormal keeps its sign, and -0 >= 0 either way */
    if (!sim_want_bits(k, 3, 32)) return NULL;
    if (c == PTX_S32) return wide ? slct_64 : slct_32;
    return c == PTX_F32 ? (wide ? slct_64_f : slct_32_f) : NULL;
}

SimExec *sim_pick_move(SimPick *k) {
    PtxType t = sim_take_type(k);
    int bits = sim_type_bits(t);
    if (k->p->op == OP_MOV) return pick_mov(k, t);
    for (int n = 0; n < 3; n++) {
        if (!sim_want_bits(k, n, bits)) return NULL;
    }
    if (bits < 16 || bits > 64) return NULL;
    if (k->p->op == OP_SLCT) return pick_slct(k, bits);
    if (k->i->opnd[3].bits != 1) return sim_pick_fail(k, "needs a predicate");
    return bits == 64 ? selp_64 : selp_32;
}
