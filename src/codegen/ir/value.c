/* Types and values but for arithmetic.  */
#include "codegen/ir/value.h"
#include <assert.h>
#include <stdarg.h>

/* ---- types ---- */

IrBase ir_storage(TeDtype t) {
    switch (t) {
    case TE_F64: return IR_F64;
    case TE_F32: return IR_F32;
    case TE_F16:
    case TE_BF16: return IR_U16;
    case TE_I64: return IR_I64;
    case TE_I32: return IR_I32;
    case TE_I16: return IR_I16;
    case TE_I8: return IR_I8;
    default: return IR_U8;
    }
}

IrBase ir_compute(TeDtype t) {
    return t == TE_BOOL ? IR_BOOL : ir_storage(te_dtype_compute(t));
}

int ir_bytes(IrBase base) {
    static const int bytes[IR_BASE_COUNT] = {
#define X(id, cuda, opencl, middle, size, sign) [IR_##id] = size,
        IR_BASES(X)
#undef X
    };
    return bytes[base];
}

IrBase ir_rank(IrBase b) { return b < IR_I32 ? IR_I32 : b; }

/* C's usual conversions: a wide type before a narrow one, reals before integers, and of one width
 * the type without a sign.  That is the order of IR_BASES.  */
IrBase ir_meet(IrBase x, IrBase y) {
    IrBase a = ir_rank(x), b = ir_rank(y);
    return a > b ? a : b;
}

static bool is_scalar(IrType t) { return t.rank == 0 && t.lanes <= 1; }

bool ir_is_integer(IrType t) {
    return is_scalar(t) && t.base >= IR_BOOL && t.base <= IR_U64;
}

bool ir_same_type(IrType x, IrType y) {
    return x.base == y.base && x.lanes == y.lanes && x.rank == y.rank && x.space == y.space;
}

bool ir_fits(IrType t, int64_t v) {
    switch ((IrBase)t.base) {
    case IR_BOOL: return v == 0 || v == 1;
    case IR_I32: return v >= INT32_MIN && v <= INT32_MAX;
    case IR_U32: return v >= 0 && v <= UINT32_MAX;
    case IR_I64: return true;
    case IR_U64: return v >= 0;
    default: return false;
    }
}

/* ---- values ---- */

Ir ir_make(const Cg *c, IrValue v, int n, const Ir *arg) {
    IrValue *x = ARENA_NEW(c->arena, IrValue);
    Ir *own = n ? ARENA_ARRAY(c->arena, Ir, n) : NULL;
    for (int i = 0; i < n; i++) own[i] = arg[i];
    *x = v;
    x->n = n;
    x->arg = own;
    return x;
}

Ir ir_number(const Cg *c, IrBase base, int64_t v) {
    return ir_make(c, (IrValue){.op = IR_NUMBER, .type = ir_type(base), .i = v}, 0, NULL);
}

Ir ir_zero(const Cg *c, IrType type) {
    return ir_make(c, (IrValue){.op = IR_NUMBER, .type = type}, 0, NULL);
}

Ir ir_int(const Cg *c, int64_t v) {
    return ir_number(c, v < INT32_MIN || v > INT32_MAX ? IR_I64 : IR_I32, v);
}

Ir ir_real(const Cg *c, IrBase base, double v) {
    return ir_make(c, (IrValue){.op = IR_NUMBER, .type = ir_type(base), .r = v}, 0, NULL);
}

Ir ir_bool(const Cg *c, bool v) { return ir_number(c, IR_BOOL, v); }

Ir ir_named(const Cg *c, IrName *name) {
    return ir_make(c, (IrValue){.op = IR_NAME, .type = name->type, .name = name}, 0, NULL);
}

IrName *ir_new_name(const Cg *c, IrType type, const char *word) {
    IrName *name = ARENA_NEW(c->arena, IrName);
    *name = (IrName){.word = word, .type = type};
    return name;
}

const char *ir_numbered(const Cg *c, const char *stem, int number) {
    return arena_printf(c->arena, "%s%d", stem, number);
}

const char *ir_joined(const Cg *c, const char *stem, const char *end) {
    return arena_printf(c->arena, "%s%s", stem, end);
}

Ir ir_name(const Cg *c, IrType type, const char *word) {
    return ir_named(c, ir_new_name(c, type, word));
}

Ir ir_counter(const Cg *c, IrBase base, const char *word) {
    IrName *name = ir_new_name(c, ir_type(base), word);
    name->natural = true;
    return ir_named(c, name);
}

Ir ir_given(const Cg *c, IrType type, const char *text) {
    IrName *name = ir_new_name(c, type, text);
    name->text = text;
    return ir_named(c, name);
}

bool ir_is_number(Ir x, int64_t *v) {
    if (x->op != IR_NUMBER || !ir_is_integer(x->type)) return false;
    *v = x->i;
    return true;
}

bool ir_is(Ir x, int64_t v) {
    int64_t own;
    return ir_is_number(x, &own) && own == v;
}

Ir ir_unary(const Cg *c, IrOp op, Ir x) {
    IrType type = x->type;
    if (op == IR_NOT) type = ir_type(IR_BOOL);
    else if (op == IR_ADDRESS) type.rank = 1;
    else type = ir_type(ir_rank((IrBase)type.base));
    return ir_make(c, (IrValue){.op = op, .type = type}, 1, &x);
}

Ir ir_cast(const Cg *c, IrBase base, Ir x) {
    int64_t v;
    if (ir_is_number(x, &v) && ir_fits(ir_type(base), v)) return ir_number(c, base, v);
    return ir_make(c, (IrValue){.op = IR_CAST, .type = ir_type(base)}, 1, &x);
}

Ir ir_as(const Cg *c, IrBase base, Ir x) {
    return is_scalar(x->type) && x->type.base == base ? x : ir_cast(c, base, x);
}

Ir ir_view(const Cg *c, IrType pointer, Ir x) {
    return ir_make(c, (IrValue){.op = IR_CAST, .type = pointer}, 1, &x);
}

Ir ir_const(const Cg *c, Ir pointer) {
    IrValue x = *pointer;
    x.type.constant = true;
    return ir_make(c, x, x.n, x.arg);
}

Ir ir_select(const Cg *c, Ir test, Ir yes, Ir no) {
    bool same = ir_same_type(yes->type, no->type);
    if (same && test->op == IR_NUMBER) return test->i ? yes : no;
    IrType type = same ? yes->type : ir_type(ir_meet(yes->type.base, no->type.base));
    return ir_make(c, (IrValue){.op = IR_SELECT, .type = type}, 3, (const Ir[]){test, yes, no});
}

Ir ir_element(const Cg *c, Ir array, Ir index) {
    IrType type = array->type;
    type.rank--;
    if (type.rank == 0) type.space = IR_REGISTERS;
    return ir_make(c, (IrValue){.op = IR_ELEMENT, .type = type}, 2, (const Ir[]){array, index});
}

Ir ir_lane(const Cg *c, Ir vector, Ir lane) {
    if (vector->type.lanes <= 1) return vector;
    IrType type = ir_type((IrBase)vector->type.base);
    return ir_make(c, (IrValue){.op = IR_LANE, .type = type}, 2, (const Ir[]){vector, lane});
}

enum { MOST_ARGUMENTS = 8 };

static Ir call(const Cg *c, IrValue v, int n, va_list ap) {
    Ir arg[MOST_ARGUMENTS];
    assert(n <= MOST_ARGUMENTS);
    for (int i = 0; i < n; i++) arg[i] = va_arg(ap, Ir);
    v.op = IR_CALL;
    return ir_make(c, v, n, arg);
}

Ir ir_call(const Cg *c, IrType type, const char *function, int n, ...) {
    va_list ap;
    va_start(ap, n);
    Ir x = call(c, (IrValue){.type = type, .text = function}, n, ap);
    va_end(ap);
    return x;
}

Ir ir_hidden(const Cg *c, IrBase type, Ir x) {
    return ir_call(c, ir_type(type), "rl_hidden", 1, x);
}

Ir ir_call_n(const Cg *c, IrType type, const char *function, int number, int n, ...) {
    int *own = ARENA_NEW(c->arena, int);
    va_list ap;
    *own = number;
    va_start(ap, n);
    Ir x = call(c, (IrValue){.type = type, .text = function, .number = own, .n_number = 1}, n, ap);
    va_end(ap);
    return x;
}

Ir ir_call_in_place(const Cg *c, const char *function, int places, int n, ...) {
    va_list ap;
    va_start(ap, n);
    Ir x = call(c, (IrValue){.type = ir_type(IR_VOID), .text = function, .places = places}, n, ap);
    va_end(ap);
    return x;
}

static Ir extreme(const Cg *c, const char *function, Ir x, Ir y) {
    IrType type = ir_type(ir_meet((IrBase)x->type.base, (IrBase)y->type.base));
    return ir_call(c, type, function, 2, x, y);
}

Ir ir_min(const Cg *c, Ir x, Ir y) { return extreme(c, "min", x, y); }
Ir ir_max(const Cg *c, Ir x, Ir y) { return extreme(c, "max", x, y); }

Ir ir_load(const Cg *c, Ir pointer, int width) {
    if (width == 1) return ir_element(c, pointer, ir_int(c, 0));
    return ir_call_n(c, ir_vector((IrBase)pointer->type.base, width), "rl_load", width, 1, pointer);
}

static Ir special(const Cg *c, IrSpecial which) {
    return ir_make(c, (IrValue){.op = IR_SPECIAL, .type = ir_type(IR_U32), .i = which}, 0, NULL);
}

Ir ir_thread(const Cg *c) { return special(c, IR_THREAD); }
Ir ir_block(const Cg *c, int dim) { return special(c, dim ? IR_BLOCK_Y : IR_BLOCK_X); }
Ir ir_blocks(const Cg *c) { return special(c, IR_BLOCKS_X); }
