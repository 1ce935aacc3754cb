/* Arithmetic.  Index values are simplified as they are built: sums of products, quotients and
 * remainders of numbers and counters.
 *
 * Integers of C: those with a sign do not wrap, since a program in which one did would have no
 * meaning; those without one wrap at a power of two, so that of what divides a product only powers
 * of two divide it for sure.  Quotients are rounded towards 0.  */
#include "codegen/ir/value.h"
#include "te/tree/arith.h"

static bool is_signed(IrType t) {
    return t.base == IR_I8 || t.base == IR_I16 || t.base == IR_I32 || t.base == IR_I64;
}

/* ---- numbers ---- */

/* The result of two known integers; false where it is no number of the type.  */
static bool compute(IrOp op, int64_t x, int64_t y, int64_t *v) {
    switch (op) {
    case IR_ADD: return !__builtin_add_overflow(x, y, v);
    case IR_SUB: return !__builtin_sub_overflow(x, y, v);
    case IR_MUL: return !__builtin_mul_overflow(x, y, v);
    case IR_LT: *v = x < y; return true;
    case IR_LE: *v = x <= y; return true;
    case IR_GT: *v = x > y; return true;
    case IR_GE: *v = x >= y; return true;
    case IR_EQ: *v = x == y; return true;
    case IR_NE: *v = x != y; return true;
    case IR_DIV:
    case IR_REM:
        if (x < 0 || y <= 0) return false;
        *v = op == IR_DIV ? x / y : x % y;
        return true;
    default: return false;
    }
}

/* x op y where one of them is neutral, so that the other is left as it is; NULL: none is.  */
static Ir neutral(IrOp op, Ir x, Ir y, IrType type) {
    bool keeps_x = ir_same_type(x->type, type), keeps_y = ir_same_type(y->type, type);
    if (keeps_x && (op == IR_ADD || op == IR_SUB || op == IR_XOR) && ir_is(y, 0)) return x;
    if (keeps_y && (op == IR_ADD || op == IR_XOR) && ir_is(x, 0)) return y;
    if (keeps_x && (op == IR_MUL || op == IR_DIV) && ir_is(y, 1)) return x;
    if (keeps_y && op == IR_MUL && ir_is(x, 1)) return y;
    if (keeps_x && op == IR_MUL && ir_is(x, 0)) return x;
    return NULL;
}

/* ---- multiples ---- */

bool ir_is_natural(Ir x) {
    if (!is_signed(x->type)) return ir_is_integer(x->type);
    switch (x->op) {
    case IR_NUMBER: return x->i >= 0;
    case IR_NAME: return x->name->natural;
    case IR_ADD:
    case IR_MUL:
    case IR_DIV:
    case IR_REM: return ir_is_natural(x->arg[0]) && ir_is_natural(x->arg[1]);
    default: return false;
    }
}

/* What divides m for sure as a value of the type.  */
static int64_t divides_in(IrType t, int64_t m) { return is_signed(t) ? m : m & -m; }

/* A number that x is a multiple of; 0: x is 0.  */
static int64_t factor(Ir x) {
    int64_t m = 1, a, b;
    if (!ir_is_integer(x->type)) return 1;
    if (x->op == IR_NUMBER) m = x->i == INT64_MIN ? 1 : x->i < 0 ? -x->i : x->i;
    if (x->op == IR_MUL || x->op == IR_ADD || x->op == IR_SUB) {
        a = factor(x->arg[0]);
        b = factor(x->arg[1]);
        if (x->op != IR_MUL) m = gcd64(a, b);
        else if (__builtin_mul_overflow(a, b, &m)) m = a;
    }
    return divides_in(x->type, m);
}

static bool divides(int64_t d, IrType type, Ir x) { return divides_in(type, factor(x)) % d == 0; }

/* (d y + z) % d is z % d where C's remainder is that of a quotient rounded down, or where d divides
 * what the sum wraps at.  */
static Ir remainder_of(const Cg *c, IrType type, Ir x, Ir d) {
    int64_t n = d->i;
    bool down = is_signed(type) ? ir_is_natural(x) : (n & (n - 1)) == 0;
    if (divides(n, type, x)) return ir_number(c, (IrBase)type.base, 0);
    if (x->op != IR_ADD || !down || !ir_same_type(x->type, type)) return NULL;
    for (int i = 0; i < 2; i++) {
        Ir rest = x->arg[!i];
        bool typed = ir_same_type(rest->type, type);
        if (typed && divides(n, type, x->arg[i])) return ir_rem(c, rest, d);
    }
    return NULL;
}

/* (d e y) / d is e y where the product does not wrap.  */
static Ir quotient_of(const Cg *c, IrType type, Ir x, Ir d) {
    int64_t e;
    if (!is_signed(type) || x->op != IR_MUL || !ir_same_type(x->type, type)) return NULL;
    for (int i = 0; i < 2; i++) {
        Ir y = x->arg[!i];
        if (ir_is_number(x->arg[i], &e) && e % d->i == 0 && ir_same_type(y->type, type))
            return ir_mul(c, y, ir_number(c, (IrBase)type.base, e / d->i));
    }
    return NULL;
}

static Ir simplify(const Cg *c, IrOp op, IrType type, Ir x, Ir y) {
    int64_t a, b, v;
    bool number = ir_is_number(y, &b);
    if (number && ir_is_number(x, &a) && compute(op, a, b, &v) && ir_fits(type, v))
        return ir_number(c, (IrBase)type.base, v);
    Ir kept = neutral(op, x, y, type);
    if (kept || !number || b <= 0 || !ir_is_integer(type) || !ir_is_integer(x->type)) return kept;
    if (op == IR_REM) return remainder_of(c, type, x, y);
    return op == IR_DIV ? quotient_of(c, type, x, y) : NULL;
}

/* ---- building ---- */

static bool is_comparison(IrOp op) { return op >= IR_LT && op <= IR_NE; }

static IrType type_of(IrOp op, Ir x, Ir y) {
    if (is_comparison(op) || op == IR_BOTH || op == IR_EITHER) return ir_type(IR_BOOL);
    if (x->type.rank > 0) return x->type;
    if (y->type.rank > 0) return y->type;
    if (op == IR_SHL || op == IR_SHR) return ir_type(ir_rank((IrBase)x->type.base));
    return ir_type(ir_meet(x->type.base, y->type.base));
}

Ir ir_binary(const Cg *c, IrOp op, Ir x, Ir y) {
    IrType type = type_of(op, x, y);
    Ir simple = simplify(c, op, type, x, y);
    return simple ? simple : ir_make(c, (IrValue){.op = op, .type = type}, 2, (const Ir[]){x, y});
}

Ir ir_add_parts(const Cg *c, Ir x, Ir y) {
    if (!x) return y;
    if (y->op != IR_ADD && y->op != IR_SUB) return ir_add(c, x, y);
    return ir_binary(c, y->op, ir_add_parts(c, x, y->arg[0]), y->arg[1]);
}

Ir ir_both(const Cg *c, Ir x, Ir y) { return !x ? y : !y ? x : ir_binary(c, IR_BOTH, x, y); }

static Ir number_beside(const Cg *c, Ir x, int64_t n) {
    bool fit = x->type.rank == 0 && ir_fits(ir_type(ir_rank((IrBase)x->type.base)), n);
    return fit && ir_rank((IrBase)x->type.base) < IR_F32
               ? ir_number(c, ir_rank((IrBase)x->type.base), n)
               : ir_int(c, n);
}

Ir ir_add_n(const Cg *c, Ir x, int64_t n) { return ir_add(c, x, number_beside(c, x, n)); }
Ir ir_mul_n(const Cg *c, Ir x, int64_t n) { return ir_mul(c, x, number_beside(c, x, n)); }
