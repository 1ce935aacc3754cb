/* A kernel for a language without shuffles and barriers of warps: lanes and warps meet through
 * local memory, and every meeting is a barrier of the block.
 *
 *   exchange y = value of lane f          room[tid] = value;  barrier;  y = room[f];  barrier
 *   sync warp                             barrier
 *
 * The second barrier keeps the room until all have read it.
 *
 * All threads of the block have to come to a barrier, and a kernel with shuffles promises less:
 * that all lanes of a warp come to each.  So meetings leave the tests above them.  Where a test may
 * differ between the threads of a block,
 *
 *   if (test) { A; meeting; B }           on = test;  if (on) A;  meeting;  if (on) B
 *   for (v = a; test; next) { .. }        go = test;  do { .. under go ..; next; go = test }
 *                                         while (go holds for any thread of the block)
 *
 * with what A defines as variables outside of the test, and `break` as go = false.  Threads outside
 * only take part in barriers: they put nothing into rooms, and read nothing there.
 *
 * That is right since all lanes of a warp come to an exchange, or none: so a test above it is the
 * same for the lanes that it is between, and a lane that is read from has put its value there.
 * Where the same kernel runs with shuffles of whole warps it has to be so.  A fold that some lanes
 * shall not take part in has the identity there, or a test behind the exchange.  For a barrier of a
 * warp it is right since one of the block orders more.
 *
 * A test is the same for all threads of a block if nothing in it comes from the thread's number,
 * from memory, from another lane, or from a name that was defined or changed under a test that is
 * not.  What cannot be seen to be the same is taken to differ, which is right, and costs time.
 * Under `on` a name that is defined there has a value for the threads inside alone, so it differs.
 *
 * Refused are kernels in which threads may return before a meeting, go on with the next turn of a
 * loop (`continue`) that has one for others, or leave it from the middle of a list; and what
 * the language has nothing for.  Rooms lie at the head of the kernel, as
 * OpenCL C demands.  */
#include "codegen/ir/cg.h"

typedef struct Varying {
    const IrName *name;
    const struct Varying *next;
} Varying;

typedef struct {
    Cg *c;
    int threads, names;
    const Varying *varying;   /* names whose values may differ between threads */
    IrStmt rooms;             /* a block */
    Ir lanes[IR_BASE_COUNT], any;         /* rooms that meetings go through */
    Ir go;                    /* of the loop whose breaks are at hand */
    bool left, wrong;         /* threads may have returned; it cannot be made */
} Pass;

/* ---- what is the same for all threads ---- */

static bool is_varying(const Pass *x, const IrName *name) {
    const Varying *v = x->varying;
    while (v && v->name != name) v = v->next;
    return v != NULL;
}

static bool varies(const Pass *x, Ir e) {
    if (!e) return false;
    if (e->op == IR_SPECIAL && e->i == IR_THREAD) return true;
    if (e->op == IR_NAME) return is_varying(x, e->name);
    bool array = e->op == IR_ELEMENT && e->arg[0]->type.space == IR_REGISTERS;
    if (e->op == IR_ELEMENT && !array) return true;
    for (int i = 0; i < e->n; i++) {
        bool memory = e->op == IR_CALL && e->arg[i]->type.rank > 0;
        if (memory || varies(x, e->arg[i])) return true;
    }
    return false;
}

static bool is_loop(const IrStmt *s) {
    return s->kind == IR_STMT_FOR || s->kind == IR_STMT_UNTIL;
}

static bool has(const IrStmt *first, bool (*is)(const IrStmt *s)) {
    for (const IrStmt *s = first; s; s = s->next) {
        if (is(s) || has(s->child, is) || has(s->other, is)) return true;
    }
    return false;
}

static bool is_meeting(const IrStmt *s) {
    return s->kind == IR_STMT_SYNC || s->kind == IR_STMT_EXCHANGE;
}

static bool meets(const IrStmt *s) {
    return is_meeting(s) || has(s->child, is_meeting) || has(s->other, is_meeting);
}

/* What such a language has nothing for: matrix units, copies without registers, roles.  */
static bool is_foreign(const IrStmt *s) {
    switch (s->kind) {
    case IR_STMT_MULTIPLY:
    case IR_STMT_MATRICES:
    case IR_STMT_COPY:
    case IR_STMT_BOX:
    case IR_STMT_SETTLE:
    case IR_STMT_REGISTERS:
    case IR_STMT_WAIT: return true;
    case IR_STMT_SYNC: return s->scope != SYNC_WARP && s->scope != SYNC_BLOCK;
    default: return false;
    }
}

static bool is_return(const IrStmt *s) { return s->kind == IR_STMT_RETURN; }

/* Is the loop around these statements left, or gone on with, from here, by threads that may be some
 * of those in it (`some`), or by any?  */
static bool leaves(const Pass *x, const IrStmt *first, bool some) {
    for (const IrStmt *s = first; s; s = s->next) {
        if (some && (s->kind == IR_STMT_BREAK || s->kind == IR_STMT_CONTINUE)) return true;
        bool under = some || (s->kind == IR_STMT_IF && varies(x, s->test));
        if (!is_loop(s) && (leaves(x, s->child, under) || leaves(x, s->other, under))) return true;
    }
    return false;
}

static bool head_varies(const Pass *x, const IrStmt *s) {
    return varies(x, s->test) || (s->kind == IR_STMT_FOR && (varies(x, s->value) ||
                                                             varies(x, s->by)));
}

/* ---- names that vary ---- */

static bool add(Pass *x, const IrName *name) {
    if (is_varying(x, name)) return false;
    Varying *v = ARENA_NEW(x->c->arena, Varying);
    *v = (Varying){name, x->varying};
    x->varying = v;
    return true;
}

/* The name behind a place.  */
static bool add_place(Pass *x, Ir place) {
    while (place->op != IR_NAME && place->n > 0) place = place->arg[0];
    return place->op == IR_NAME && add(x, place->name);
}

static bool add_call(Pass *x, Ir call, bool some) {
    bool more = false;
    for (int i = 0; i < call->places; i++) {
        if (some || varies(x, call)) more |= add_place(x, call->arg[i]);
    }
    return more;
}

/* Finds more names, in statements that maybe some threads come to.  */
static bool find_varying(Pass *x, const IrStmt *first, bool some) {
    bool more = false;
    for (const IrStmt *s = first; s; s = s->next) {
        bool under = some || (s->kind != IR_STMT_WAIT && head_varies(x, s)) ||
                     (is_loop(s) && leaves(x, s->child, false));
        bool set = s->kind == IR_STMT_SET, counts = s->kind == IR_STMT_FOR && s->value;
        if (set && (some || varies(x, s->value) || varies(x, s->to))) more |= add_place(x, s->to);
        else if (s->kind == IR_STMT_DO) more |= add_call(x, s->value, some);
        else if (counts ? head_varies(x, s) : s->name && (some || varies(x, s->value)))
            more |= add(x, s->name);
        if (s->kind == IR_STMT_EXCHANGE) more |= add(x, s->name);
        more |= find_varying(x, s->child, under);
        more |= find_varying(x, s->other, under);
    }
    return more;
}

/* ---- rooms ---- */

static bool is_room(const IrStmt *s) {
    bool shared = s->kind == IR_STMT_VARIABLE && s->name->type.space == IR_SHARED;
    return s->kind == IR_STMT_ROOM || (shared && s->extent[0] > 0);
}

/* Adds a statement as it stands.  */
static IrStmt *put(Cg *c, const IrStmt *s) {
    IrStmt *own = ARENA_NEW(c->arena, IrStmt);
    *own = *s;
    own->next = NULL;
    own->parent = c->open;
    *c->open->end = own;
    c->open->end = &own->next;
    return own;
}

static void put_head(Cg *c, const IrStmt *s) {
    IrStmt *own = put(c, s);
    own->child = own->other = NULL;
    own->end = &own->child;
    c->open = own;
}

static void move_room(Pass *x, const IrStmt *s) {
    IrStmt *at = x->c->open;
    x->c->open = &x->rooms;
    put(x->c, s);
    x->c->open = at;
}

static Ir new_room(Pass *x, IrBase base, const char *name, int n) {
    IrStmt *at = x->c->open;
    x->c->open = &x->rooms;
    Ir room = ir_shared_array(x->c, base, name, n);
    x->c->open = at;
    return room;
}

/* A value of each thread.  */
static Ir lanes_of(Pass *x, IrBase base) {
    int n = (x->threads + WARP - 1) / WARP * WARP;
    if (!x->lanes[base])
        x->lanes[base] = new_room(x, base, ir_numbered(x->c, "lanes", (int)base), n);
    return x->lanes[base];
}

/* ---- meetings ---- */

static void statements(Pass *x, const IrStmt *first, Ir live);

static Ir of_threads(const Cg *c, int64_t v) { return ir_number(c, IR_U32, v); }

static Ir other_thread(const Cg *c, const IrOther *o) {
    Ir tid = ir_thread(c), by = ir_as(c, IR_U32, o->by);
    if (o->which == IR_LANE_XOR) return ir_binary(c, IR_XOR, tid, by);
    Ir number = ir_rem(c, tid, of_threads(c, o->lanes));
    if (o->which == IR_LANE_NUMBER)
        return ir_add(c, ir_sub(c, tid, number), ir_rem(c, by, of_threads(c, o->lanes)));
    Ir there = ir_binary(c, IR_GE, number, by);
    return ir_sub(c, tid, ir_select(c, there, by, of_threads(c, 0)));
}

static void begin(Cg *c, Ir live) {
    if (live) ir_if(c, live);
}

static void end(Cg *c, Ir live) {
    if (live) ir_close(c);
}

/* A variable where `s` defines a name: threads outside do not make its value.  */
static Ir declare(Cg *c, const IrStmt *s) {
    IrStmt *own = put(c, s);
    own->kind = IR_STMT_VARIABLE;
    own->value = NULL;
    return ir_named(c, s->name);
}

static void exchange(Pass *x, const IrStmt *s, Ir live) {
    Cg *c = x->c;
    Ir room = lanes_of(x, (IrBase)s->name->type.base), own = declare(c, s);
    begin(c, live);
    ir_set(c, ir_element(c, room, ir_thread(c)), s->value);
    end(c, live);
    ir_sync(c, IR_SYNC_BLOCK, NULL);
    begin(c, live);
    ir_set(c, own, ir_element(c, room, other_thread(c, &s->lane)));
    end(c, live);
    ir_sync(c, IR_SYNC_BLOCK, NULL);
}

/* ---- tests ---- */

static void divided(Pass *x, const IrStmt *s, Ir live) {
    Cg *c = x->c;
    int number = x->names++;
    ir_scope(c);
    Ir on = ir_let(c, ir_numbered(c, "on", number), ir_both(c, live, s->test));
    ir_scope(c);
    statements(x, s->child, on);
    ir_close(c);
    if (s->other) {
        Ir not_on = ir_unary(c, IR_NOT, on);
        Ir other = ir_let(c, ir_numbered(c, "other", number), ir_both(c, live, not_on));
        statements(x, s->other, other);
    }
    ir_close(c);
}

static void condition(Pass *x, const IrStmt *s, Ir live) {
    if (varies(x, s->test)) {
        divided(x, s, live);
        return;
    }
    put_head(x->c, s);
    statements(x, s->child, live);
    if (s->other) ir_else(x->c);
    statements(x, s->other, live);
    ir_close(x->c);
}

/* ---- loops ---- */

/* Does `go` hold for any thread?  */
static void vote(Pass *x, Ir go, Ir any) {
    Cg *c = x->c;
    if (!x->any) x->any = new_room(x, IR_I32, "any", 1);
    Ir room = ir_element(c, x->any, ir_int(c, 0));
    ir_sync(c, IR_SYNC_BLOCK, NULL);
    ir_if(c, ir_binary(c, IR_EQ, ir_thread(c), of_threads(c, 0)));
    ir_set(c, room, ir_int(c, 0));
    ir_close(c);
    ir_sync(c, IR_SYNC_BLOCK, NULL);
    ir_if(c, go);
    ir_set(c, room, ir_int(c, 1));
    ir_close(c);
    ir_sync(c, IR_SYNC_BLOCK, NULL);
    ir_set(c, any, ir_binary(c, IR_NE, room, ir_int(c, 0)));
}

/* The name that runs through a loop, at its first value.  */
static Ir first_value(Cg *c, const IrStmt *s, Ir live) {
    if (!s->value) return ir_named(c, s->name);
    Ir var = declare(c, &(IrStmt){.name = s->name});
    begin(c, live);
    ir_set(c, var, s->value);
    end(c, live);
    return var;
}

static void together(Pass *x, const IrStmt *s, Ir live) {
    Cg *c = x->c;
    int number = x->names++;
    Ir outer = x->go, var = NULL;
    bool counts = s->kind == IR_STMT_FOR;
    ir_scope(c);
    if (counts) var = first_value(c, s, live);
    Ir start = counts ? ir_both(c, live, s->test) : live ? live : ir_bool(c, true);
    Ir go = x->go = ir_variable(c, IR_BOOL, ir_numbered(c, "go", number), start);
    Ir any = ir_variable(c, IR_BOOL, ir_numbered(c, "more", number), NULL);
    ir_until_begin(c, 1);
    statements(x, s->child, go);
    ir_if(c, go);
    if (counts) ir_update(c, s->op, var, s->by);
    ir_set(c, go, s->test);
    ir_close(c);
    vote(x, go, any);
    ir_until_end(c, any);
    ir_close(c);
    x->go = outer;
}

/* Its turns are not copies: a compiler that runs threads one after the other between barriers makes
 * code for each way from one barrier to another.  */
static void loop(Pass *x, const IrStmt *s, Ir live) {
    if (head_varies(x, s) || leaves(x, s->child, live != NULL)) {
        together(x, s, live);
        return;
    }
    put_head(x->c, s);
    x->c->open->unroll = 1;
    statements(x, s->child, live);
    ir_close(x->c);
}

/* ---- statements ---- */

static bool is_break(const IrStmt *s) { return s->kind == IR_STMT_BREAK; }

/* The same without breaks of the loop at hand.  */
static void put_going(Pass *x, const IrStmt *s) {
    if (is_break(s)) {
        if (s->next || !x->go) x->wrong = true;
        else ir_set(x->c, x->go, ir_bool(x->c, false));
        return;
    }
    x->wrong |= s->kind == IR_STMT_CONTINUE;
    if (is_loop(s) || !(s->child || s->other)) {
        put(x->c, s);
        return;
    }
    put_head(x->c, s);
    for (const IrStmt *n = s->child; n; n = n->next) {
        x->wrong |= n->next && !is_loop(n) && has(n->child, is_break);
        put_going(x, n);
    }
    if (s->other) ir_else(x->c);
    for (const IrStmt *n = s->other; n; n = n->next) put_going(x, n);
    ir_close(x->c);
}

static void meeting(Pass *x, const IrStmt *s, Ir live) {
    x->wrong |= x->left || (is_loop(s) && has(s->child, is_return));
    switch (s->kind) {
    case IR_STMT_SYNC:
        x->wrong |= s->scope != SYNC_WARP && s->scope != SYNC_BLOCK;
        ir_sync(x->c, IR_SYNC_BLOCK, s->text);
        return;
    case IR_STMT_EXCHANGE: exchange(x, s, live); return;
    case IR_STMT_IF: condition(x, s, live); return;
    case IR_STMT_FOR:
    case IR_STMT_UNTIL: loop(x, s, live); return;
    default:
        put_head(x->c, s);
        statements(x, s->child, live);
        ir_close(x->c);
    }
}

/* A statement of threads that are `live`, in the test that is open for them.  */
static void put_live(Pass *x, const IrStmt *s, Ir live, bool *open) {
    bool defines = s->name && s->kind != IR_STMT_FOR;
    Ir own = NULL;
    if (*open && defines) {
        ir_close(x->c);
        *open = false;
    }
    if (defines) own = declare(x->c, s);
    if (defines && !s->value) return;
    if (!*open) ir_if(x->c, live);
    *open = true;
    if (defines) ir_set(x->c, own, s->value);
    else put_going(x, s);
    if (!has(s->child, is_break) && !is_break(s)) return;
    ir_close(x->c);
    *open = false;
}

/* `live`: of those threads for which this holds; NULL: of all.  */
static void statements(Pass *x, const IrStmt *first, Ir live) {
    bool open = false;
    for (const IrStmt *s = first; s; s = s->next) {
        bool all = meets(s), room = is_room(s);
        x->wrong |= !all && !room && (has(s->child, is_room) || has(s->other, is_room));
        x->left |= !all && (is_return(s) || has(s->child, is_return) || has(s->other, is_return));
        if (open && (all || room)) {
            ir_close(x->c);
            open = false;
        }
        if (room) move_room(x, s);
        else if (all) meeting(x, s, live);
        else if (live) put_live(x, s, live, &open);
        else put(x->c, s);
    }
    if (open) ir_close(x->c);
}

const IrStmt *ir_legalize(Cg *c, const IrStmt *body, int threads) {
    Pass x = {.c = c, .threads = threads};
    IrStmt *own = ARENA_NEW(c->arena, IrStmt);
    if (has(body->child, is_foreign)) return NULL;
    *own = (IrStmt){.kind = IR_STMT_BLOCK};
    x.rooms = *own;
    x.rooms.end = &x.rooms.child;
    own->end = &own->child;
    while (find_varying(&x, body->child, false)) {}
    c->open = own;
    statements(&x, body->child, NULL);
    if (x.rooms.child) {
        *x.rooms.end = own->child;
        own->child = x.rooms.child;
    }
    return x.wrong ? NULL : own;
}
