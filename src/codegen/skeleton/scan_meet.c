#include "codegen/elements/reduction.h"
#include "codegen/skeleton/scan.h"

/* What the elements of a step come to: in a thread, across the threads of a result, and with the
 * steps before.  Partial results are folded in the order of the walk, always the same one.  */

static Ir open_loop(Kernel *k, Ir var, int from, int to) {
    return ir_for_of(k->cg, var, ir_int(k->cg, from), ir_int(k->cg, to), 1, IR_UNROLL_ALL);
}

/* What comes right behind `to`, or right before it.  */
static void append(Kernel *k, const Partial *to, const Partial *from) {
    monoid_fold(k->cg, to, from->value, from->beside, FOLD_BEHIND);
}

static void prepend(Kernel *k, const Partial *to, const Partial *from) {
    monoid_fold(k->cg, to, from->value, from->beside, FOLD_BEFORE);
}

/* What another lane has, of elements behind those of `to`.  */
static void append_lane(Kernel *k, const Partial *to, const Partial *from, IrOther lane, Ir test) {
    reduce_lane(k->cg, to, from, (ReduceOther){lane, FOLD_BEHIND}, test);
}

/* ---- along ---- */

static Partial held(const Kernel *k, MonoidVariable held, Ir lane) {
    return scan_partial(k, held, lane);
}

/* Element x of vector u, of n each.  */
static Ir element(const Kernel *k, int n, Ir x) {
    return ir_add(k->cg, ir_mul_n(k->cg, k->walk.u, n), x);
}

/* Pieces one behind the other: sum their values by lane, pre what comes before a lane's, run all.
 *  */
static void meet_vectors(Kernel *k, int lanes) {
    Cg *cg = k->cg;
    int vec = k->task->r->store_vec, vectors = scan_vectors(k);
    Ir u = k->walk.u;
    Partial sum = held(k, MONOID_SUMS, u), pre = held(k, MONOID_PRE, u);
    Partial run = scan_partial(k, MONOID_RUN, NULL);
    Partial end = held(k, MONOID_HELD, element(k, vec, ir_int(cg, vec - 1)));
    monoid_declare(cg, &sum, vectors);
    monoid_declare(cg, &pre, vectors);
    monoid_declare(cg, &run, 0);
    Ir number = NULL;
    if (lanes > 1)
        number = k->walk.number = ir_let_as(cg, IR_I32, "number",
                                            ir_rem(cg, k->walk.tid, ir_number(cg, IR_U32, lanes)));
    open_loop(k, k->walk.u, 0, vectors);
    scan_copy(k, &sum, &end);
    ir_close(cg);
    reduce_scan(cg, &sum, lanes, u, vectors, number);
    open_loop(k, k->walk.u, 0, vectors);
    scan_copy(k, &pre, &run);
    if (lanes > 1) {
        append_lane(k, &pre, &sum, (IrOther){IR_LANE_BELOW, ir_int(cg, 1), lanes},
                    ir_binary(cg, IR_GT, number, ir_int(cg, 0)));
        append_lane(k, &run, &sum, (IrOther){IR_LANE_NUMBER, ir_int(cg, lanes - 1), lanes},
                    NULL);
    } else {
        append(k, &run, &sum);
    }
    ir_close(cg);
}

/* acc[first + s * step] for s in 0..n-1, and what comes before them all.  */
static void apply(Kernel *k, const Partial *before, Ir first, int step, int n) {
    Cg *cg = k->cg;
    Ir s = k->var.s, less = ir_add_n(cg, s, -1);
    Partial x = held(k, MONOID_HELD, ir_add(cg, first, ir_mul_n(cg, s, step)));
    Partial last = held(k, MONOID_HELD, ir_add(cg, first, ir_mul_n(cg, less, step)));
    Partial start = held(k, MONOID_HELD, first);
    if (!scan_view(k)->of.exclusive) {
        open_loop(k, k->var.s, 0, n);
        prepend(k, &x, before);
        ir_close(cg);
        return;
    }
    if (n > 1) {
        ir_loop(cg, s, ir_int(cg, n - 1), ir_binary(cg, IR_GT, s, ir_int(cg, 0)),
                (IrNext){IR_SUB, ir_int(cg, 1)}, IR_UNROLL_ALL);
        scan_copy(k, &x, &last);
        prepend(k, &x, before);
        ir_close(cg);
    }
    scan_copy(k, &start, before);
}

static void meet_along(Kernel *k, const Partial *carry) {
    Cg *cg = k->cg;
    int vec = k->task->r->store_vec, lanes = rprog_scan_lanes(k->task->p, k->task->r);
    int warps = rprog_scan_meets(k->task->p, k->task->r);
    Partial base = scan_partial(k, MONOID_BEFORE, NULL), run = scan_partial(k, MONOID_RUN, NULL);
    Ir u = k->walk.u, s = k->var.s;
    if (vec > 1) {
        Partial x = held(k, MONOID_HELD, element(k, vec, s));
        Partial last = held(k, MONOID_HELD, element(k, vec, ir_add_n(cg, s, -1)));
        open_loop(k, u, 0, scan_vectors(k));
        open_loop(k, s, 1, vec);
        prepend(k, &x, &last);
        ir_close(cg);
        ir_close(cg);
    }
    meet_vectors(k, lanes);
    monoid_declare(cg, &base, 0);
    if (!carry) return;
    scan_copy(k, &base, carry);
    if (warps == 1) append(k, carry, &run);
}

/* The warps of a result, as those of a row do.  */
static void map_along(const Kernel *k, Meeting *x) {
    const Cg *cg = k->cg;
    Ir warp = ir_int(cg, WARP);
    *x = meeting_of_neighbours(k, rprog_threads_along(k->task->r, AX_N));
    x->take[0].end = ir_div(cg, k->walk.lane, warp);
    x->take[0].test = ir_binary(cg, IR_GE, k->walk.lane, warp);
}

static void finish_along(Kernel *k) {
    Cg *cg = k->cg;
    int vec = k->task->r->store_vec;
    Partial base = scan_partial(k, MONOID_BEFORE, NULL), own = scan_partial(k, MONOID_OWN, NULL);
    Partial pre = held(k, MONOID_PRE, k->walk.u);
    open_loop(k, k->walk.u, 0, scan_vectors(k));
    monoid_declare(cg, &own, 0);
    scan_copy(k, &own, &base);
    append(k, &own, &pre);
    apply(k, &own, ir_mul_n(cg, k->walk.u, vec), 1, vec);
    ir_close(cg);
}

/* ---- down ---- */

static void meet_down(Kernel *k, bool carries) {
    Cg *cg = k->cg;
    int vec = k->task->r->store_vec, deep = scan_vectors(k);
    Ir v = k->at.v, less = ir_add_n(cg, k->walk.u, -1);
    Partial base = held(k, MONOID_BEFORE, v), carry = held(k, MONOID_CARRY, v);
    Partial x = held(k, MONOID_HELD, element(k, vec, v));
    Partial before = held(k, MONOID_HELD, ir_add(cg, ir_mul_n(cg, less, vec), v));
    Partial end = held(k, MONOID_HELD, ir_add(cg, ir_int(cg, (deep - 1) * vec), v));
    if (deep > 1) {
        open_loop(k, k->walk.u, 1, deep);
        open_loop(k, k->at.v, 0, vec);
        prepend(k, &x, &before);
        ir_close(cg);
        ir_close(cg);
    }
    monoid_declare(cg, &base, vec);
    if (!carries) return;
    open_loop(k, k->at.v, 0, vec);
    scan_copy(k, &base, &carry);
    if (rprog_threads_along(k->task->r, AX_N) == 1) append(k, &carry, &end);
    ir_close(cg);
}

/* The groups of the block: each leaves what its last elements have come to.  */
static void map_down(const Kernel *k, ThreadMap *m) {
    const Cg *cg = k->cg;
    Meeting *x = &m->meeting;
    Ir row = k->walk.row, col = k->walk.col;
    int wide = k->task->r->block.extent[AX_M];
    m->items = k->task->r->store_vec;
    m->lane = k->at.v;
    m->behind = (scan_vectors(k) - 1) * m->items;
    x->at = ir_add(cg, ir_mul_n(cg, row, wide), col);
    x->part = k->var.g;
    x->from = ir_add(cg, ir_mul_n(cg, k->var.g, wide), col);
    x->take[0].end = row;
    x->under_way = 1;
}

static void finish_down(Kernel *k) {
    int vec = k->task->r->store_vec;
    Partial base = held(k, MONOID_BEFORE, k->at.v);
    open_loop(k, k->at.v, 0, vec);
    apply(k, &base, k->at.v, vec, scan_vectors(k));
    ir_close(k->cg);
}

/* ---- both ---- */

void scan_meet(Kernel *k) {
    bool carries = scan_carries(k->task->p, k->task->r);
    Partial carry = scan_partial(k, MONOID_CARRY, NULL);
    if (scan_view(k)->down) meet_down(k, carries);
    else meet_along(k, carries ? &carry : NULL);
}

ThreadMap scan_step_map(const Kernel *k) {
    const Problem *p = k->task->p;
    const RProg *r = k->task->r;
    bool down = scan_view(k)->down;
    ThreadMap m = {.group = p->group->columns, .held = down ? MONOID_HELD : MONOID_RUN,
                   .count = IR_I32};
    Meeting *x = &m.meeting;
    if (down) map_down(k, &m);
    else map_along(k, x);
    x->parts = rprog_scan_meets(p, r);
    x->take[0].into = MONOID_BEFORE;
    x->take[1].into = MONOID_CARRY;
    x->take[1].end = ir_int(k->cg, x->parts);
    x->n_take = 1 + scan_carries(p, r);
    return m;
}

void scan_finish(Kernel *k, const Node *n) {
    (void)n;
    if (scan_view(k)->down) finish_down(k);
    else finish_along(k);
    ir_simple(k->cg, IR_STMT_BLANK);
}
