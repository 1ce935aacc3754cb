/* setp and set.  */
#include "sim/lane/alu.h"
#include "sim/lane/lanes.h"
#include "sim/lane/half.h"

/* A comparison is a set of outcomes.  */
enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

static int outcomes(PtxMod m) {
    switch (m) {
    case MOD_EQ: return EQUAL;
    case MOD_NE: return LESS | GREATER;
    case MOD_LT:
    case MOD_LO: return LESS;
    case MOD_LE:
    case MOD_LS: return LESS | EQUAL;
    case MOD_GT:
    case MOD_HI: return GREATER;
    case MOD_GE:
    case MOD_HS: return GREATER | EQUAL;
    case MOD_EQU: return EQUAL | UNORDERED;
    case MOD_NEU: return LESS | GREATER | UNORDERED;
    case MOD_LTU: return LESS | UNORDERED;
    case MOD_LEU: return LESS | EQUAL | UNORDERED;
    case MOD_GTU: return GREATER | UNORDERED;
    case MOD_GEU: return GREATER | EQUAL | UNORDERED;
    case MOD_NUM: return LESS | EQUAL | GREATER;
    case MOD_ISNAN: return UNORDERED;
    default: return 0;
    }
}

/* What a pick function found out, in SimInst.extra.  */
typedef struct {
    uint32_t (*test)(const SimWarp *w, const SimInst *i, int want);
    int want;
    PtxMod combine;           /* MOD_AND, MOD_OR, MOD_XOR with the last operand, or MOD_COUNT */
    bool ftz, real;           /* set: 1.0 instead of all ones */
    bool half;                /* set: the result has 16 bits */
    bool pair;                /* packed operands: two predicates */
} Compare;

#define COMPARE(name, K)                                                                           \
    HOT static uint32_t name(const SimWarp *w, const SimInst *i, int want) {                       \
        const S_##K *x = P_##K(w, i->a), *y = P_##K(w, i->b);                                      \
        uint32_t bit[LANES], mask = 0;                                                             \
        uint32_t lt = want & LESS ? 1u : 0, eq = want & EQUAL ? 1u : 0;                            \
        uint32_t gt = want & GREATER ? 1u : 0, un = want & UNORDERED ? 1u : 0;                     \
        SIM_LANES(l) {                                                                             \
            T_##K a = (T_##K)x[l], b = (T_##K)y[l];                                                \
            bit[l] = a < b ? lt : a == b ? eq : a > b ? gt : un;                                   \
        }                                                                                          \
        for (int l = 0; l < LANES; l++) mask |= bit[l] << l;                                       \
        return mask;                                                                               \
    }
COMPARE(test_u16, u16)
COMPARE(test_s16, s16)
COMPARE(test_u32, u32)
COMPARE(test_s32, s32)
COMPARE(test_u64, u64)
COMPARE(test_s64, s64)
COMPARE(test_f32, f32)
COMPARE(test_f64, f64)

static uint32_t test_f32_ftz(const SimWarp *w, const SimInst *i, int want) {
    const float *x = sim_f32(w, i->a), *y = sim_f32(w, i->b);
    uint32_t mask = 0;
    for (int l = 0; l < LANES; l++) {
        float a = sim_ftz(x[l]), b = sim_ftz(y[l]);
        int is = a < b ? LESS : a == b ? EQUAL : a > b ? GREATER : UNORDERED;
        if (want & is) mask |= 1u << l;
    }
    return mask;
}

/* Half formats: element `part` of every lane (0 also for the scalar types).  */
static uint32_t test_half(const SimWarp *w, const SimInst *i, int want, int part) {
    const Compare *c = i->extra;
    const uint32_t *x = sim_u32(w, i->a), *y = sim_u32(w, i->b);
    PtxType t = i->ptx->type[i->ptx->n_type - 1];
    uint32_t mask = 0;
    for (int l = 0; l < LANES; l++) {
        double a = sim_half_value(t, x[l] >> (16 * part), c->ftz);
        double b = sim_half_value(t, y[l] >> (16 * part), c->ftz);
        int is = a < b ? LESS : a == b ? EQUAL : a > b ? GREATER : UNORDERED;
        if (want & is) mask |= 1u << l;
    }
    return mask;
}

static uint32_t test_half_low(const SimWarp *w, const SimInst *i, int want) {
    return test_half(w, i, want, 0);
}

static uint32_t combine(const SimWarp *w, const SimInst *i, const Compare *c, uint32_t v) {
    if (c->combine == MOD_COUNT) return v;
    uint32_t q = sim_pred_of(w, &i->opnd[3]);
    return c->combine == MOD_AND ? v & q : c->combine == MOD_OR ? v | q : v ^ q;
}

/* p|q: q gets the complement of the comparison, combined alike; of packed operands, the upper
 * half.  */
static void exec_setp(SimWarp *w, const SimInst *i, uint32_t active) {
    const Compare *c = i->extra;
    const SimOpnd *d = &i->opnd[0];
    uint32_t v = c->test(w, i, c->want), other = ~v;
    if (c->pair) other = test_half(w, i, c->want, 1);
    uint32_t p = combine(w, i, c, v), q = combine(w, i, c, other);
    if (d->slot[0] != SLOT_NONE) sim_set_pred(w, d->slot[0], active, p);
    if (d->n > 1 && d->slot[1] != SLOT_NONE) sim_set_pred(w, d->slot[1], active, q);
}

static void exec_set(SimWarp *w, const SimInst *i, uint32_t active) {
    const Compare *c = i->extra;
    uint32_t p = combine(w, i, c, c->test(w, i, c->want)), *d = sim_u32(w, i->d);
    uint32_t yes = c->real ? sim_half_one(i->ptx->type[0]) : UINT32_MAX;
    if (c->half) yes &= 0xffff;
    uint32_t high = c->pair ? combine(w, i, c, test_half(w, i, c->want, 1)) : 0;
    SIM_EACH(l, active) {
        uint32_t v = p >> l & 1 ? yes : 0;
        if (c->pair) v = (p >> l & 1 ? yes & 0xffff : 0) | (high >> l & 1 ? yes << 16 : 0);
        d[l] = v;
    }
}

static uint32_t (*test_of(PtxType t, bool ftz))(const SimWarp *, const SimInst *, int) {
    switch (t) {
    case PTX_B16:
    case PTX_U16: return test_u16;
    case PTX_S16: return test_s16;
    case PTX_B32:
    case PTX_U32: return test_u32;
    case PTX_S32: return test_s32;
    case PTX_B64:
    case PTX_U64: return test_u64;
    case PTX_S64: return test_s64;
    case PTX_F32: return ftz ? test_f32_ftz : test_f32;
    case PTX_F64: return test_f64;
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2: return test_half_low;
    default: return NULL;
    }
}

static int take_comparison(SimPick *k) {
    static const PtxMod mods[] = {MOD_LO, MOD_HI};
    for (int m = MOD_EQ; m <= MOD_ISNAN; m++) {
        if (sim_take(k, (PtxMod)m)) return outcomes((PtxMod)m);
    }
    for (int m = 0; m < 2; m++) {
        if (sim_take(k, mods[m])) return outcomes(mods[m]);
    }
    return 0;
}

static bool check_result(SimPick *k, Compare *c, PtxType to) {
    if (k->p->op == OP_SETP) {
        bool pair = k->i->opnd[0].kind == OPND_PAIR;
        if (k->i->opnd[0].n > 1 && !pair) return false;
        return k->i->opnd[0].bits == 1 && (!c->pair || pair);
    }
    c->real = to == PTX_F32 || to == PTX_F16 || to == PTX_BF16 || to == PTX_F16X2 ||
              to == PTX_BF16X2;
    c->half = sim_type_bits(to) == 16;
    return sim_want_bits(k, 0, sim_type_bits(to)) && sim_type_bits(to) <= 32;
}

SimExec *sim_pick_compare(SimPick *k) {
    Compare *c = ARENA_NEW(k->arena, Compare);
    PtxType to = k->p->op == OP_SET ? sim_take_type(k) : PTX_PRED, t = sim_take_type(k);
    c->want = take_comparison(k);
    if (!c->want) return sim_pick_fail(k, "needs a comparison");
    c->ftz = sim_take(k, MOD_FTZ);
    c->combine = sim_take(k, MOD_AND)  ? MOD_AND
                 : sim_take(k, MOD_OR) ? MOD_OR
                 : sim_take(k, MOD_XOR) ? MOD_XOR
                                        : MOD_COUNT;
    c->pair = t == PTX_F16X2 || t == PTX_BF16X2;
    c->test = test_of(t, c->ftz);
    if (!c->test || !check_result(k, c, to)) return NULL;
    int bits = sim_type_bits(t);
    if (!sim_want_bits(k, 1, bits) || !sim_want_bits(k, 2, bits)) return NULL;
    bool third = k->i->n_opnd > 3;
    if (third != (c->combine != MOD_COUNT) || (third && k->i->opnd[3].bits != 1)) {
        return sim_pick_fail(k, "needs a predicate with .and, .or and .xor, and only then");
    }
    k->i->extra = c;
    return k->p->op == OP_SET ? exec_set : exec_setp;
}
