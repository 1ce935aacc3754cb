/* Which bytes of a load something depends on.
 *
 * A compiler may read more than the source does: the rest of 4 or 16 aligned bytes, which no GPU
 * can tell from a load of fewer.  Where it says so by a pragma, that is taken (ptx_body.c); else
 * the bits of each register that some instruction needs are found backwards from what is stored,
 * compared or computed with.
 *
 *   need[source] |= the bits of it that reach a needed bit of the result
 *
 * to a fixed point, for moves, packing, logic, shifts by constants, fields and conversions between
 * integers; every other instruction needs all bits of what it reads.  A load of which nothing is
 * needed keeps all its bytes: no compiler left it there.  */
#include "sim/ptx/ptx_parse.h"
#include <string.h>

typedef struct {
    uint64_t *need;           /* of each register */
    bool changed;
} Demand;

static uint64_t low(int bits) { return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1; }

/* ---- operands ---- */

static void need(Demand *x, const PtxOpnd *o, uint64_t bits) {
    if (o->kind == OPND_REG) {
        uint64_t *of = &x->need[o->reg];
        x->changed |= (*of | bits) != *of;
        *of |= bits;
        return;
    }
    for (int k = 0; o->elem && k < o->n; k++) need(x, &o->elem[k], UINT64_MAX);
}

/* Bits of a value of `bits` bits; a vector has its elements side by side, the first lowest.  */
static void need_packed(Demand *x, const PtxOpnd *o, int bits, uint64_t asked) {
    if (o->kind != OPND_VECTOR) {
        need(x, o, asked);
        return;
    }
    for (int k = 0, each = bits / o->n; k < o->n; k++)
        need(x, &o->elem[k], asked >> (k * each) & low(each));
}

static uint64_t needed(const Demand *x, const PtxOpnd *o) {
    return o->kind == OPND_REG ? x->need[o->reg] : o->kind == OPND_NONE ? 0 : UINT64_MAX;
}

static uint64_t needed_packed(const Demand *x, const PtxOpnd *o, int bits) {
    if (o->kind != OPND_VECTOR) return needed(x, o);
    uint64_t all = 0;
    for (int k = 0, each = bits / o->n; k < o->n; k++)
        all |= (needed(x, &o->elem[k]) & low(each)) << (k * each);
    return all;
}

/* ---- instructions ---- */

/* The bits of x that reach the bits `asked` of x shifted by n; right: to lower places.  */
static uint64_t unshifted(uint64_t asked, int64_t n, int bits, bool right, bool is_signed) {
    if (n < 0 || n >= bits) return low(bits);
    asked &= low(bits);
    if (!right) return asked >> n;
    uint64_t top = is_signed && n > 0 && asked >> (bits - n) ? UINT64_C(1) << (bits - 1) : 0;
    return (asked << n & low(bits)) | top;
}

/* Of an integer that becomes one of another width.  */
static uint64_t unconverted(uint64_t asked, PtxType to, PtxType from) {
    int out = sim_type_bits(to), in = sim_type_bits(from);
    int meet = out < in ? out : in;
    bool copied = asked & ~low(meet) && (ptx_signed(from) || ptx_signed(to));
    return (asked & low(meet)) | (copied ? UINT64_C(1) << (meet - 1) : 0);
}

static uint64_t field(uint64_t asked, const PtxOpnd *at, const PtxOpnd *length, PtxType t) {
    int bits = sim_type_bits(t);
    bool known = at->kind == OPND_INT && length->kind == OPND_INT && !ptx_signed(t);
    if (!known || at->offset < 0 || length->offset < 0 || at->offset >= bits) return low(bits);
    return (asked & low((int)length->offset & 255)) << at->offset & low(bits);
}

/* prmt with a selector of plain bytes: those of the operand whose first byte is number `first`.  */
static uint64_t permuted(uint64_t asked, const PtxOpnd *selector, int first) {
    uint64_t of = 0;
    if (selector->kind != OPND_INT) return low(32);
    for (int k = 0; k < 4; k++) {
        int from = (int)(selector->offset >> (4 * k) & 7) - first;
        bool sign = selector->offset >> (4 * k) & 8;
        if (from < 0 || from > 3) continue;
        of |= (sign && asked >> (8 * k) & 255 ? 255 : asked >> (8 * k) & 255) << (8 * from);
    }
    return of;
}

static uint64_t masked(uint64_t asked, const PtxOpnd *by) {
    return by->kind == OPND_INT ? asked & (uint64_t)by->offset : asked;
}

/* False: an instruction that is not looked into.  */
static bool pass_on(Demand *x, const PtxInst *i) {
    const PtxOpnd *o = i->opnd;
    PtxType t = i->type[0];
    int bits = i->n_type ? sim_type_bits(t) : 0;
    bool plain = i->n_order == 0 && bits > 1 && bits <= 64;
    if (i->op == OP_ST && bits <= 64) {
        need(x, &o[0], UINT64_MAX);
        for (int k = 0; o[1].kind == OPND_VECTOR && k < o[1].n; k++)
            need(x, &o[1].elem[k], low(bits));
        if (o[1].kind != OPND_VECTOR) need(x, &o[1], low(bits));
        return i->n_opnd == 2;
    }
    if (!plain) return false;
    uint64_t asked = needed_packed(x, &o[0], bits);
    switch (i->op) {
    case OP_MOV: need_packed(x, &o[1], bits, asked & low(bits)); return true;
    case OP_NOT: need(x, &o[1], asked); return true;
    case OP_AND:
        need(x, &o[1], masked(asked, &o[2]));
        need(x, &o[2], masked(asked, &o[1]));
        return true;
    case OP_OR:
    case OP_XOR:
        need(x, &o[1], asked);
        need(x, &o[2], asked);
        return true;
    case OP_SHL:
    case OP_SHR:
        if (o[2].kind != OPND_INT) return false;
        need(x, &o[1], unshifted(asked, o[2].offset, bits, i->op == OP_SHR, ptx_signed(t)));
        return true;
    case OP_BFE:
        need(x, &o[1], field(asked, &o[2], &o[3], t));
        need(x, &o[2], UINT64_MAX);
        need(x, &o[3], UINT64_MAX);
        return true;
    case OP_PRMT:
        need(x, &o[1], permuted(asked, &o[3], 0));
        need(x, &o[2], permuted(asked, &o[3], 4));
        need(x, &o[3], UINT64_MAX);
        return true;
    case OP_SELP:
        need(x, &o[1], asked);
        need(x, &o[2], asked);
        need(x, &o[3], UINT64_MAX);
        return true;
    case OP_CVT:
        if (i->n_type != 2 || !ptx_is_int(t) || !ptx_is_int(i->type[1])) return false;
        need(x, &o[1], unconverted(asked, t, i->type[1]));
        return true;
    default: return false;
    }
}

/* The first operand of most instructions is what they write.  */
static void visit(Demand *x, const PtxInst *i) {
    const char *pattern = sim_op_pattern(i->op);
    if (i->guard >= 0) x->need[i->guard] = UINT64_MAX;
    if (pass_on(x, i)) return;
    for (int k = *pattern == 'd'; k < i->n_opnd; k++) need(x, &i->opnd[k], UINT64_MAX);
}

/* ---- loads ---- */

/* Bits of a result beyond the element's are copies of its highest one, or zeros.  */
static uint32_t bytes_of(const Demand *x, const PtxOpnd *o, int bytes) {
    uint64_t asked = needed(x, o);
    uint32_t of = 0;
    for (int b = 0; b < bytes; b++) {
        bool top = b == bytes - 1 && bytes < 8 && asked >> (8 * bytes);
        if (top || asked >> (8 * b) & 255) of |= 1u << b;
    }
    return of;
}

static uint32_t unused(const Demand *x, const PtxInst *i) {
    const PtxOpnd *to = &i->opnd[0];
    int bits = i->n_type ? sim_type_bits(i->type[0]) : 0, bytes = bits / 8;
    int n = to->kind == OPND_VECTOR ? to->n : 1;
    if (bits < 8 || bits > 64 || bytes * n > 32) return 0;
    uint32_t used = 0, all = (uint32_t)low(bytes * n);
    for (int k = 0; k < n; k++)
        used |= bytes_of(x, to->kind == OPND_VECTOR ? &to->elem[k] : to, bytes) << (k * bytes);
    return used ? all & ~used : 0;
}

void sim_ptx_demand(Arena *a, PtxFunc *f) {
    Demand x = {.need = arena_calloc(a, f->n_reg + 1, sizeof *x.need), .changed = true};
    while (x.changed) {
        x.changed = false;
        for (size_t k = f->n_inst; k-- > 0;) visit(&x, &f->inst[k]);
    }
    for (size_t k = 0; k < f->n_inst; k++) {
        PtxInst *i = &f->inst[k];
        if (i->op == OP_LD && !i->unused && i->n_opnd >= 2) i->unused = unused(&x, i);
    }
}
