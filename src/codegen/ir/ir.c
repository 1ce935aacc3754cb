#include "codegen/ir/ir.h"
#include "codegen/ir/cg.h"
#include "codegen/ir/simplify.h"
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

static IrBase rank_of(IrBase b) { return b < IR_I32 ? IR_I32 : b; }

/* C's usual conversions: a wide type before a narrow one, reals before integers, and of one width
 * the type without a sign.  That is the order of IR_BASES.  */
static IrBase meet(IrBase x, IrBase y) {
    IrBase a = rank_of(x), b = rank_of(y);
    return a > b ? a : b;
}

/* ---- values ---- */

static Ir make(const Cg *c, IrValue v, int n, const Ir *arg) {
    IrValue *x = ARENA_NEW(c->arena, IrValue);
    Ir *own = n ? ARENA_ARRAY(c->arena, Ir, n) : NULL;
    for (int i = 0; i < n; i++) own[i] = arg[i];
    *x = v;
    x->n = n;
    x->arg = own;
    return x;
}

Ir ir_number(const Cg *c, IrBase base, int64_t v) {
    return make(c, (IrValue){.op = IR_NUMBER, .type = ir_type(base), .i = v}, 0, NULL);
}

Ir ir_zero(const Cg *c, IrType type) {
    return make(c, (IrValue){.op = IR_NUMBER, .type = type}, 0, NULL);
}

Ir ir_int(const Cg *c, int64_t v) {
    return ir_number(c, v < INT32_MIN || v > INT32_MAX ? IR_I64 : IR_I32, v);
}

Ir ir_real(const Cg *c, IrBase base, double v) {
    return make(c, (IrValue){.op = IR_NUMBER, .type = ir_type(base), .r = v}, 0, NULL);
}

Ir ir_bool(const Cg *c, bool v) { return ir_number(c, IR_BOOL, v); }

Ir ir_named(const Cg *c, IrName *name) {
    return make(c, (IrValue){.op = IR_NAME, .type = name->type, .name = name}, 0, NULL);
}

static IrName *new_name(const Cg *c, IrType type, const char *word) {
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
    return ir_named(c, new_name(c, type, word));
}

Ir ir_counter(const Cg *c, IrBase base, const char *word) {
    IrName *name = new_name(c, ir_type(base), word);
    name->natural = true;
    return ir_named(c, name);
}

Ir ir_given(const Cg *c, IrType type, const char *text) {
    IrName *name = new_name(c, type, text);
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

static bool is_comparison(IrOp op) { return op >= IR_LT && op <= IR_NE; }

static IrType type_of(IrOp op, Ir x, Ir y) {
    if (is_comparison(op) || op == IR_BOTH || op == IR_EITHER) return ir_type(IR_BOOL);
    if (x->type.rank > 0) return x->type;
    if (y->type.rank > 0) return y->type;
    if (op == IR_SHL || op == IR_SHR) return ir_type(rank_of((IrBase)x->type.base));
    return ir_type(meet(x->type.base, y->type.base));
}

Ir ir_binary(const Cg *c, IrOp op, Ir x, Ir y) {
    IrType type = type_of(op, x, y);
    Ir simple = ir_simplify(c, op, type, x, y);
    return simple ? simple : make(c, (IrValue){.op = op, .type = type}, 2, (const Ir[]){x, y});
}

Ir ir_add_parts(const Cg *c, Ir x, Ir y) {
    if (!x) return y;
    if (y->op != IR_ADD && y->op != IR_SUB) return ir_add(c, x, y);
    return ir_binary(c, y->op, ir_add_parts(c, x, y->arg[0]), y->arg[1]);
}

Ir ir_unary(const Cg *c, IrOp op, Ir x) {
    IrType type = x->type;
    if (op == IR_NOT) type = ir_type(IR_BOOL);
    else if (op == IR_ADDRESS) type.rank = 1;
    else type = ir_type(rank_of((IrBase)type.base));
    return make(c, (IrValue){.op = op, .type = type}, 1, &x);
}

Ir ir_cast(const Cg *c, IrBase base, Ir x) {
    int64_t v;
    if (ir_is_number(x, &v) && ir_fits(ir_type(base), v)) return ir_number(c, base, v);
    return make(c, (IrValue){.op = IR_CAST, .type = ir_type(base)}, 1, &x);
}

Ir ir_as(const Cg *c, IrBase base, Ir x) {
    return ir_is_scalar(x->type) && x->type.base == base ? x : ir_cast(c, base, x);
}

Ir ir_view(const Cg *c, IrType pointer, Ir x) {
    return make(c, (IrValue){.op = IR_CAST, .type = pointer}, 1, &x);
}

Ir ir_const(const Cg *c, Ir pointer) {
    IrValue x = *pointer;
    x.type.constant = true;
    return make(c, x, x.n, x.arg);
}

Ir ir_select(const Cg *c, Ir test, Ir yes, Ir no) {
    bool same = ir_same_type(yes->type, no->type);
    if (same && test->op == IR_NUMBER) return test->i ? yes : no;
    IrType type = same ? yes->type : ir_type(meet(yes->type.base, no->type.base));
    return make(c, (IrValue){.op = IR_SELECT, .type = type}, 3, (const Ir[]){test, yes, no});
}

Ir ir_element(const Cg *c, Ir array, Ir index) {
    IrType type = array->type;
    type.rank--;
    if (type.rank == 0) type.space = IR_REGISTERS;
    return make(c, (IrValue){.op = IR_ELEMENT, .type = type}, 2, (const Ir[]){array, index});
}

Ir ir_lane(const Cg *c, Ir vector, Ir lane) {
    if (vector->type.lanes <= 1) return vector;
    IrType type = ir_type((IrBase)vector->type.base);
    return make(c, (IrValue){.op = IR_LANE, .type = type}, 2, (const Ir[]){vector, lane});
}

enum { MOST_ARGUMENTS = 8 };

static Ir call(const Cg *c, IrValue v, int n, va_list ap) {
    Ir arg[MOST_ARGUMENTS];
    assert(n <= MOST_ARGUMENTS);
    for (int i = 0; i < n; i++) arg[i] = va_arg(ap, Ir);
    v.op = IR_CALL;
    return make(c, v, n, arg);
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
    IrType type = ir_type(meet((IrBase)x->type.base, (IrBase)y->type.base));
    return ir_call(c, type, function, 2, x, y);
}

Ir ir_min(const Cg *c, Ir x, Ir y) { return extreme(c, "min", x, y); }
Ir ir_max(const Cg *c, Ir x, Ir y) { return extreme(c, "max", x, y); }

Ir ir_load(const Cg *c, Ir pointer, int width) {
    if (width == 1) return ir_element(c, pointer, ir_int(c, 0));
    return ir_call_n(c, ir_vector((IrBase)pointer->type.base, width), "rl_load", width, 1, pointer);
}

Ir ir_both(const Cg *c, Ir x, Ir y) { return !x ? y : !y ? x : ir_binary(c, IR_BOTH, x, y); }

static Ir number_beside(const Cg *c, Ir x, int64_t n) {
    bool fit = x->type.rank == 0 && ir_fits(ir_type(rank_of((IrBase)x->type.base)), n);
    return fit && rank_of((IrBase)x->type.base) < IR_F32
               ? ir_number(c, rank_of((IrBase)x->type.base), n)
               : ir_int(c, n);
}

Ir ir_add_n(const Cg *c, Ir x, int64_t n) { return ir_add(c, x, number_beside(c, x, n)); }
Ir ir_mul_n(const Cg *c, Ir x, int64_t n) { return ir_mul(c, x, number_beside(c, x, n)); }

static Ir special(const Cg *c, IrSpecial which) {
    return make(c, (IrValue){.op = IR_SPECIAL, .type = ir_type(IR_U32), .i = which}, 0, NULL);
}

Ir ir_thread(const Cg *c) { return special(c, IR_THREAD); }
Ir ir_block(const Cg *c, int dim) { return special(c, dim ? IR_BLOCK_Y : IR_BLOCK_X); }
Ir ir_blocks(const Cg *c) { return special(c, IR_BLOCKS_X); }

/* ---- statements ---- */

void ir_begin(Cg *c) {
    c->open = ARENA_NEW(c->arena, IrStmt);
    c->open->kind = IR_STMT_BLOCK;
    c->open->end = &c->open->child;
    c->wait = NULL;
}

static IrStmt *add(Cg *c, IrKind kind) {
    IrStmt *s = ARENA_NEW(c->arena, IrStmt);
    s->kind = kind;
    s->parent = c->open;
    *c->open->end = s;
    c->open->end = &s->next;
    return s;
}

static IrStmt *open(Cg *c, IrKind kind) {
    IrStmt *s = add(c, kind);
    s->end = &s->child;
    return c->open = s;
}

void ir_close(Cg *c) { c->open = c->open->parent; }

static IrStmt *definition(Cg *c, IrKind kind, IrType type, const char *name, Ir value) {
    IrStmt *s = add(c, kind);
    s->name = new_name(c, type, name);
    s->value = value;
    return s;
}

static Ir define(Cg *c, IrKind kind, IrType type, const char *name, Ir value) {
    return ir_named(c, definition(c, kind, type, name, value)->name);
}

Ir ir_let(Cg *c, const char *name, Ir value) {
    return define(c, IR_STMT_LET, value->type, name, value);
}

Ir ir_let_as(Cg *c, IrBase base, const char *name, Ir value) {
    return define(c, IR_STMT_LET, ir_type(base), name, value);
}

Ir ir_constant(Cg *c, const char *name, Ir value) {
    return define(c, value->op == IR_NUMBER ? IR_STMT_CONSTANT : IR_STMT_LET, value->type, name,
                  value);
}

void ir_define(Cg *c, Ir name, Ir value) {
    IrStmt *s = add(c, IR_STMT_LET);
    s->name = name->name;
    s->value = value;
}

Ir ir_variable(Cg *c, IrBase base, const char *name, Ir value) {
    return define(c, IR_STMT_VARIABLE, ir_type(base), name, value);
}

Ir ir_variable_of(Cg *c, const char *name, Ir value) {
    return define(c, IR_STMT_VARIABLE, value->type, name, value);
}

static IrStmt *declare(Cg *c, IrType type, const char *name, const int64_t n[IR_RANK]) {
    IrStmt *s = add(c, IR_STMT_VARIABLE);
    s->name = new_name(c, type, name);
    for (int i = 0; i < IR_RANK && n[i]; i++, s->name->type.rank++) s->extent[i] = n[i];
    return s;
}

Ir ir_array(Cg *c, IrType type, const char *name, int64_t n0, int64_t n1, int64_t n2) {
    return ir_named(c, declare(c, type, name, (const int64_t[]){n0, n1, n2})->name);
}

Ir ir_zeros(Cg *c, IrType type, const char *name, int64_t n) {
    IrStmt *s = declare(c, type, name, (const int64_t[]){n, 0, 0});
    s->zero = true;
    return ir_named(c, s->name);
}

void ir_declare(Cg *c, Ir name, Ir value) {
    IrStmt *s = add(c, IR_STMT_VARIABLE);
    s->name = name->name;
    s->value = value;
}

void ir_declare_array(Cg *c, Ir name, int64_t n) {
    IrStmt *s = add(c, IR_STMT_VARIABLE);
    s->name = name->name;
    s->extent[0] = n;
}

Ir ir_shared_array(Cg *c, IrBase base, const char *name, int64_t n) {
    Ir array = ir_name(c, ir_pointer(base, IR_SHARED, false), name);
    ir_declare_array(c, array, n);
    return array;
}

void ir_set(Cg *c, Ir place, Ir value) { ir_update(c, IR_NUMBER, place, value); }

void ir_update(Cg *c, IrOp op, Ir place, Ir value) {
    IrStmt *s = add(c, IR_STMT_SET);
    s->op = op;
    s->to = place;
    s->value = value;
}

void ir_do(Cg *c, Ir call) { add(c, IR_STMT_DO)->value = call; }

void ir_store(Cg *c, const char *function, int width, Ir pointer, Ir array) {
    ir_do(c, ir_call_n(c, ir_type(IR_VOID), function ? function : "rl_store", width, 2, pointer,
                       array));
}

static IrStmt *act(Cg *c, IrKind kind, Ir to, int n, const Ir *arg) {
    IrStmt *s = add(c, kind);
    Ir *own = ARENA_ARRAY(c->arena, Ir, n);
    for (int i = 0; i < n; i++) own[i] = arg[i];
    s->to = to;
    s->arg = own;
    s->n = n;
    return s;
}

static void count(Cg *c, IrStmt *s, int n, const int *number) {
    int *own = ARENA_ARRAY(c->arena, int, n);
    for (int i = 0; i < n; i++) own[i] = number[i];
    s->number = own;
    s->n_number = n;
}

void ir_multiply(Cg *c, const IrUnit *unit, Ir to, Ir a, Ir b) {
    Ir arg[2 + IR_SCALES] = {a, b, unit->adds};
    int n = unit->adds ? 3 : 2;
    for (int i = 0; unit->scale && i < IR_SCALES; i++) arg[n++] = unit->scale[i];
    IrStmt *s = act(c, IR_STMT_MULTIPLY, to, n, arg);
    s->text = unit->instruction;
    count(c, s, unit->forms, unit->form);
}

void ir_matrices(Cg *c, int n, bool transposed, Ir to, Ir from) {
    count(c, act(c, IR_STMT_MATRICES, to, 1, &from), 2, (const int[]){n, transposed});
}

void ir_sync_of(Cg *c, const IrSyncOf *x) {
    int n = 0;
    while (n < 2 && x->arg[n]) n++;
    IrStmt *s = act(c, IR_STMT_SYNC, NULL, n, x->arg);
    s->scope = x->scope;
    s->sync = x->op;
    s->text = x->note;
    count(c, s, 1, &x->number);
}

void ir_copy(Cg *c, const IrCopy *x) {
    const Ir arg[] = {x->to, x->from, x->inside, x->wanted};
    act(c, IR_STMT_COPY, NULL, x->wanted ? 4 : 3, arg)->text = x->mover;
}

void ir_box(Cg *c, const IrBox *x) {
    Ir arg[2 * IR_BOX + 3] = {x->map, x->shared};
    int n = 2;
    for (int i = 0; i < x->rank; i++) arg[n++] = x->at[i];
    for (int i = 0; i < x->offsets; i++) arg[n++] = x->offset[i];
    if (x->barrier) arg[n++] = x->barrier;
    IrStmt *s = act(c, IR_STMT_BOX, NULL, n, arg);
    count(c, s, 4, (const int[]){x->rank, x->offsets, x->blocks, x->barrier != NULL});
}

void ir_settle(Cg *c, Ir registers) { act(c, IR_STMT_SETTLE, registers, 0, NULL); }

void ir_registers(Cg *c, int n, bool fewer) {
    count(c, add(c, IR_STMT_REGISTERS), 2, (const int[]){n, fewer});
}

void ir_loop(Cg *c, Ir var, Ir from, Ir test, IrNext next, int unroll) {
    IrStmt *s = open(c, IR_STMT_FOR);
    s->name = var->name;
    s->value = from;
    s->test = test;
    s->op = next.op;
    s->by = next.by;
    s->unroll = unroll;
}

void ir_go_on(Cg *c, Ir var, Ir test, IrNext next, int unroll) {
    ir_loop(c, var, NULL, test, next, unroll);
}

Ir ir_for(Cg *c, const char *name, Ir from, Ir end, int64_t by, int unroll) {
    IrBase base = meet((IrBase)from->type.base, (IrBase)end->type.base);
    Ir var = ir_is_natural(from) ? ir_counter(c, base, name) : ir_name(c, ir_type(base), name);
    return ir_for_of(c, var, from, end, by, unroll);
}

Ir ir_for_of(Cg *c, Ir var, Ir from, Ir end, int64_t by, int unroll) {
    ir_loop(c, var, from, ir_lt(c, var, end), (IrNext){IR_ADD, ir_int(c, by)}, unroll);
    return var;
}

Ir ir_count(Cg *c, const char *name, int64_t n, int unroll) {
    return ir_for(c, name, ir_int(c, 0), ir_int(c, n), 1, unroll);
}

Ir ir_count_of(Cg *c, Ir var, int64_t n, int unroll) {
    return ir_for_of(c, var, ir_int(c, 0), ir_int(c, n), 1, unroll);
}

void ir_until_begin(Cg *c, int unroll) { open(c, IR_STMT_UNTIL)->unroll = unroll; }

void ir_until_end(Cg *c, Ir go_on) {
    c->open->test = go_on;
    ir_close(c);
}

void ir_until_count(Cg *c, Ir var, Ir end) {
    c->open->name = var->name;
    ir_until_end(c, ir_lt(c, var, end));
}

void ir_if(Cg *c, Ir test) { open(c, IR_STMT_IF)->test = test; }

void ir_else(Cg *c) { c->open->end = &c->open->other; }

void ir_scope(Cg *c) { open(c, IR_STMT_BLOCK); }

void ir_simple(Cg *c, IrKind kind) { add(c, kind); }

void ir_sync(Cg *c, IrSync scope, const char *note) {
    ir_sync_of(c, &(IrSyncOf){.scope = (SyncScope)scope, .op = SYNC_BOTH, .note = note});
}

Ir ir_exchange(Cg *c, const char *name, Ir value, IrOther other) {
    IrBase base = value->type.base == IR_BOOL ? IR_I32 : (IrBase)value->type.base;
    IrStmt *s = definition(c, IR_STMT_EXCHANGE, ir_type(base), name, ir_as(c, base, value));
    s->lane = other;
    return ir_named(c, s->name);
}

Ir ir_room(Cg *c, const char *name, int align, int64_t bytes) {
    IrStmt *s = add(c, IR_STMT_ROOM);
    s->name = new_name(c, ir_pointer(IR_U8, IR_SHARED, false), name);
    s->extent[0] = bytes;
    s->unroll = align;
    return ir_named(c, s->name);
}

void ir_wait(Cg *c) {
    c->wait = add(c, IR_STMT_WAIT);
    c->wait->end = &c->wait->child;
}

void ir_note(Cg *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add(c, IR_STMT_NOTE)->text = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
}
