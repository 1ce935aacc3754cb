/* Statements.  */
#include "codegen/ir/value.h"
#include <stdarg.h>

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
    s->name = ir_new_name(c, type, name);
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
    s->name = ir_new_name(c, type, name);
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
    for (int i = 0; i < unit->scales; i++) arg[n++] = unit->scale[i];
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
    count(c, s, 3, (const int[]){x->number, x->pair, x->copies});
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
    count(c, s, 5, (const int[]){x->rank, x->offsets, x->blocks, x->barrier != NULL, x->pair});
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
    IrBase base = ir_meet((IrBase)from->type.base, (IrBase)end->type.base);
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
    s->name = ir_new_name(c, ir_pointer(IR_U8, IR_SHARED, false), name);
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
