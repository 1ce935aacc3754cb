/* Operands of linked code: constants, addresses of variables, slots; and what an operand may be. */
#include "base/hash.h"
#include "sim/linker/link.h"
#include "sim/ptx/ptx_parse.h"
#include <string.h>

/* ---- refusals ---- */

bool sim_link_error(SimLinker *l, const PtxInst *i, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *message = arena_vprintf(l->arena, fmt, ap);
    va_end(ap);
    if (!l->why) l->why = arena_printf(l->arena, "%s %s", i->text, message);
    return false;
}

/* ---- constants ---- */

static void rehash(SimLinker *l) {
    size_t cap = l->cap_table ? 2 * l->cap_table : 64;
    l->konst_table = ARENA_ARRAY(l->arena, uint32_t, cap);
    l->cap_table = cap;
    for (size_t k = 0; k < l->n_konst; k++) {
        size_t h = hash64(&l->konst[k].bits64, 8, l->konst[k].bits32) % cap;
        while (l->konst_table[h]) h = (h + 1) % cap;
        l->konst_table[h] = (uint32_t)k + 1;
    }
}

static Slot constant(SimLinker *l, SimConst c) {
    if (2 * (l->n_konst + 1) > l->cap_table) rehash(l);
    size_t h = hash64(&c.bits64, 8, c.bits32) % l->cap_table;
    for (; l->konst_table[h]; h = (h + 1) % l->cap_table) {
        uint32_t k = l->konst_table[h] - 1;
        const SimConst *o = &l->konst[k];
        if (o->bits64 == c.bits64 && o->bits32 == c.bits32 && o->symbol == c.symbol &&
            o->add == c.add) {
            return SLOT_CONST | k * 256;
        }
    }
    l->konst = arena_grow(l->arena, l->konst, &l->cap_konst, l->n_konst + 1, sizeof *l->konst);
    l->konst[l->n_konst] = c;
    l->konst_table[h] = (uint32_t)l->n_konst + 1;
    return SLOT_CONST | (uint32_t)(l->n_konst++) * 256;
}

static Slot int_const(SimLinker *l, int64_t v) {
    return constant(l, (SimConst){.bits64 = (uint64_t)v, .bits32 = (uint32_t)v});
}

static Slot real_const(SimLinker *l, double v) {
    SimConst c = {0};
    float f = (float)v;
    memcpy(&c.bits64, &v, sizeof v);
    memcpy(&c.bits32, &f, sizeof f);
    return constant(l, c);
}

/* The place of a variable in the shared memory of the kernel: in order of first use.  */
static int64_t place_shared(SimLink *k, const PtxSymbol *s) {
    for (size_t n = 0; n < k->n_shared; n++) {
        if (k->shared[n].symbol == s) return k->shared[n].at;
    }
    k->shared = arena_grow(k->l.arena, k->shared, &k->cap_shared, k->n_shared + 1,
                           sizeof *k->shared);
    int64_t at = 0;
    if (s->external) {
        if (s->align > k->l.kernel->dynamic_align) k->l.kernel->dynamic_align = (uint32_t)s->align;
    } else {
        at = sim_ptx_place(&k->shared_bytes, s->bytes, s->align);
    }
    k->shared[k->n_shared++] = (SimSharedPlace){s, at};
    return at;
}

/* The address of a variable; in local memory it is known here.  */
static Slot symbol_const(SimLink *k, const SimFuncCode *u, const PtxSymbol *s, int64_t add) {
    if (s->space == SPACE_SHARED) add += place_shared(k, s);
    if (s->space == SPACE_LOCAL) return int_const(&k->l, u->at + s->offset + add);
    if (s->space == SPACE_PARAM) return int_const(&k->l, s->offset + add);
    return constant(&k->l, (SimConst){.symbol = s, .add = add});
}

/* ---- operands ---- */

static Slot element(SimLink *k, const SimFuncCode *u, const PtxOpnd *o, uint8_t *bits) {
    *bits = 0;
    switch (o->kind) {
    case OPND_REG:
        *bits = (uint8_t)sim_type_bits(u->f->reg[o->reg].type);
        return u->slot[o->reg];
    case OPND_INT: return int_const(&k->l, o->offset);
    case OPND_REAL: return real_const(&k->l, o->real);
    case OPND_SYMBOL: return symbol_const(k, u, o->symbol, o->offset);
    case OPND_FUNC: return int_const(&k->l, (int64_t)sim_code_address(o->func));
    default: return SLOT_NONE;
    }
}

static void address_operand(SimLink *k, const SimFuncCode *u, const PtxOpnd *o, SimOpnd *out) {
    int n = 1;
    for (int e = 1; e < o->n; e++) n += o->elem[e].n > 0 ? o->elem[e].n : 1;
    Slot *slot = ARENA_ARRAY(k->l.arena, Slot, n);
    const PtxSymbol *s = o->elem[0].symbol;
    if (s && s->space == SPACE_LOCAL && u->recursive) {
        slot[0] = u->frame.base;
        out->bits = 32;
        out->offset += s->offset;
    } else {
        slot[0] = element(k, u, &o->elem[0], &out->bits);
    }
    out->wide = out->bits == 0 || out->bits == 64;
    int at = 1;
    uint8_t bits;
    for (int e = 1; e < o->n; e++) {
        const PtxOpnd *x = &o->elem[e];
        if (x->kind != OPND_VECTOR) slot[at++] = element(k, u, x, &bits);
        for (int c = 0; c < x->n; c++) slot[at++] = element(k, u, &x->elem[c], &bits);
    }
    out->slot = slot;
    out->n = n;
}

void sim_link_operand(SimLink *k, const SimFuncCode *u, const PtxOpnd *o, SimOpnd *out) {
    *out = (SimOpnd){.kind = o->kind, .negate = o->negate, .offset = o->offset};
    if (o->kind == OPND_ADDRESS) {
        address_operand(k, u, o, out);
        return;
    }
    bool list = o->kind == OPND_VECTOR || o->kind == OPND_PAIR;
    out->n = list ? o->n : 1;
    Slot *slot = ARENA_ARRAY(k->l.arena, Slot, out->n + 1);
    for (int e = 0; e < out->n; e++) {
        uint8_t bits;
        slot[e] = element(k, u, list ? &o->elem[e] : o, &bits);
        if (out->bits == 0) out->bits = bits;
    }
    out->wide = out->bits == 64;
    out->slot = slot;
}

/* A vector whose registers differ in size, or a predicate where none may be, would run over
 * places.  */
bool sim_check_operand(SimLinker *l, const SimFuncCode *u, const PtxInst *i, const PtxOpnd *o) {
    if (o->kind == OPND_REG && o->offset != 0) {
        return sim_link_error(l, i, "has an offset outside an address");
    }
    if (o->kind == OPND_REG && o->negate && u->f->reg[o->reg].type != PTX_PRED) {
        return sim_link_error(l, i, "negates what is not a predicate");
    }
    const PtxOpnd *second = o->kind == OPND_PAIR ? &o->elem[1] : NULL;
    bool predicate = second && second->kind == OPND_REG && !second->negate &&
                     u->f->reg[second->reg].type == PTX_PRED;
    if (second && !predicate && second->kind != OPND_NONE) {
        return sim_link_error(l, i, "needs a predicate after '|'");
    }
    int bits = 0;
    for (int e = 0; o->kind == OPND_VECTOR && e < o->n; e++) {
        if (o->elem[e].kind > OPND_REAL) {
            return sim_link_error(l, i, "has a vector of what are neither registers nor numbers");
        }
        if (o->elem[e].kind != OPND_REG) continue;
        int now = sim_type_bits(u->f->reg[o->elem[e].reg].type);
        if (bits && (now == 1 || bits == 1 || (now + 31) / 32 != (bits + 31) / 32)) {
            return sim_link_error(l, i, "has a vector of registers of different sizes");
        }
        bits = now;
    }
    return true;
}

/* Number and kinds of operands against the pattern of the opcode.  */
bool sim_check_pattern(SimLinker *l, const PtxInst *i) {
    const char *p = sim_op_pattern(i->op);
    if (*p == '*') return true;
    bool optional = false;
    for (int k = 0; k < i->n_opnd; k++) {
        if (*p == '/') {
            optional = true;
            p++;
        }
        if (!*p) return sim_link_error(l, i, "has too many operands");
        const PtxOpnd *o = &i->opnd[k];
        bool writable = o->kind == OPND_REG || o->kind == OPND_VECTOR || o->kind == OPND_PAIR ||
                        o->kind == OPND_NONE;
        bool readable = o->kind != OPND_NONE;
        for (int e = 0; e < o->n; e++) {
            if (o->elem[e].kind != OPND_REG && o->elem[e].kind != OPND_NONE) {
                writable = writable && o->kind == OPND_ADDRESS;
            }
            readable = readable && o->elem[e].kind != OPND_NONE;
        }
        char c = *p++;
        bool good = c == 'm'   ? o->kind == OPND_ADDRESS
                    : c == 'l' ? o->kind == OPND_LABEL
                    : c == 'n' ? o->kind == OPND_TABLE
                    : c == 's' ? readable && o->kind != OPND_ADDRESS && o->kind != OPND_LABEL
                               : writable;
        if (!good) return sim_link_error(l, i, "has a wrong operand %d", k + 1);
    }
    return *p == '\0' || *p == '/' || optional || sim_link_error(l, i, "misses operands");
}
