#include "sim/async/async.h"

#include <string.h>

static bool is_scalar(const PtxOpnd *o) {
    return o->kind == OPND_REG || o->kind == OPND_INT || o->kind == OPND_REAL ||
           o->kind == OPND_SREG || o->kind == OPND_SYMBOL;
}

/* Elements of a vector: registers of a class of `bits`, or constants where they are only read.  */
static bool elements_fit(const SimPick *k, const PtxOpnd *o, int bits, bool written) {
    for (int e = 0; e < o->n; e++) {
        const PtxOpnd *x = &o->elem[e];
        if (x->kind == OPND_INT || x->kind == OPND_REAL) {
            if (written) return false;
            continue;
        }
        if (x->kind != OPND_REG) return false;
        int have = sim_type_bits(k->func->reg[x->reg].type);
        if (have == 1 || (bits == 32 ? have > 32 : have != bits)) return false;
    }
    return true;
}

static bool address_fits(const SimPick *k, const PtxOpnd *o) {
    return o->kind == OPND_ADDRESS && (o->n < 2 || (o->elem[1].kind == OPND_VECTOR &&
                                                    elements_fit(k, &o->elem[1], 32, false)));
}

static bool fits(SimPick *k, int operand, char letter) {
    const PtxOpnd *o = &k->p->opnd[operand];
    bool vector = o->kind == OPND_VECTOR;
    switch (letter) {
    case 'a': return address_fits(k, o);
    case 'i': return is_scalar(o) && sim_want_bits(k, operand, 32);
    case 'l': return is_scalar(o) && sim_want_bits(k, operand, 64);
    case 'p': return o->kind == OPND_REG && sim_want_bits(k, operand, 1);
    case 'I': return o->kind == OPND_REG && sim_want_bits(k, operand, 32);
    case 'L': return o->kind == OPND_NONE || (o->kind == OPND_REG && sim_want_bits(k, operand, 64));
    case 'P': return o->kind == OPND_REG && sim_want_bits(k, operand, 1);
    case 'v': return vector && elements_fit(k, o, 32, false);
    case 's':                 /* of matrix units: a register of scales, alone or as a vector */
        return vector ? o->n == 1 && elements_fit(k, o, 32, false)
                      : is_scalar(o) && sim_want_bits(k, operand, 32);
    case 'h': return vector && o->n == 2 && elements_fit(k, o, 16, false);
    case 'V': return vector && elements_fit(k, o, 32, true);
    case 'd': return vector && elements_fit(k, o, 64, false);
    case 'D': return vector && elements_fit(k, o, 64, true);
    default: return false;
    }
}

bool async_want(SimPick *k, const char *pattern) {
    int n = (int)strlen(pattern);
    if (k->p->n_opnd != n) {
        sim_pick_fail(k, "needs %d operands", n);
        return false;
    }
    for (int operand = 0; operand < n; operand++) {
        if (fits(k, operand, pattern[operand])) continue;
        sim_pick_fail(k, "has a wrong operand %d", operand + 1);
        return false;
    }
    return true;
}
