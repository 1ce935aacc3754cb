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

/* The warps of a result through shared memory: base what comes before a warp's.  */
static void meet_warps(Kernel *k, const Partial *base, const Partial *carry, int warps) {
    Cg *cg = k->cg;
    const RowGroup *g = k->task->p->group->columns;
    Partials run = monoid_pass(cg, g, 0, MONOID_RUN, NULL);
    Partials every = monoid_pass(cg, g, 0, MONOID_ALL, NULL);
    const Partial all = every.at[0];
    Ir number = k->walk.number, tid = k->walk.tid, lane = k->walk.lane;
    Ir warp = ir_div(cg, tid, ir_int(cg, WARP));
    Ir first = ir_mul_n(cg, ir_div(cg, tid, ir_int(cg, warps * WARP)), warps);
    Ir from = ir_add(cg, first, number);
    ir_note(cg, "the warps of a result");
    reduce_put(cg, &run, 0, ir_binary(cg, IR_EQ, number, ir_int(cg, 0)), reduce_block, warp);
    ir_sync(cg, IR_SYNC_BLOCK, NULL);
    monoid_declare(cg, &all, 0);
    ir_if(cg, ir_lt(cg, number, ir_int(cg, warps)));
    reduce_get(cg, &every, reduce_block, from);
    ir_close(cg);
    reduce_scan(cg, &all, warps, k->walk.u, 1, number);
    Ir before = ir_add_n(cg, ir_div(cg, lane, ir_int(cg, WARP)), -1);
    before = ir_max(cg, before, ir_int(cg, 0));
    append_lane(k, base, &all, (IrOther){IR_LANE_NUMBER, before, WARP},
                ir_binary(cg, IR_GE, lane, ir_int(cg, WARP)));
    if (carry)
        append_lane(k, carry, &all, (IrOther){IR_LANE_NUMBER, ir_int(cg, warps - 1), WARP},
                    NULL);
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
    Partial base = scan_partial(k, MONOID_BEFORE, NULL), own = scan_partial(k, MONOID_OWN, NULL);
    Ir u = k->walk.u, s = k->var.s;
    Partial run = scan_partial(k, MONOID_RUN, NULL), pre = held(k, MONOID_PRE, u);
    if (vec > 1) {
        Partial x = held(k, MONOID_HELD, element(k, vec, s));
        Partial last = held(k, MONOID_HELD, element(k, vec, ir_add_n(cg, s, -1)));
        open_loop(k, k->walk.u, 0, scan_vectors(k));
        open_loop(k, k->var.s, 1, vec);
        prepend(k, &x, &last);
        ir_close(cg);
        ir_close(cg);
    }
    meet_vectors(k, lanes);
    monoid_declare(cg, &base, 0);
    if (carry) scan_copy(k, &base, carry);
    if (warps > 1) meet_warps(k, &base, carry, warps);
    else if (carry) append(k, carry, &run);
    open_loop(k, k->walk.u, 0, scan_vectors(k));
    monoid_declare(cg, &own, 0);
    scan_copy(k, &own, &base);
    append(k, &own, &pre);
    apply(k, &own, ir_mul_n(cg, u, vec), 1, vec);
    ir_close(cg);
}

/* ---- down ---- */

/* The groups of a block through shared memory.  */
static void meet_groups(Kernel *k, int groups, bool carries) {
    Cg *cg = k->cg;
    const RowGroup *g = k->task->p->group->columns;
    int vec = k->task->r->store_vec, wide = k->task->r->block.extent[AX_M];
    int end = (scan_vectors(k) - 1) * vec;
    Partials last = monoid_pass(cg, g, 0, MONOID_HELD, k->at.v);
    Partials base = monoid_pass(cg, g, 0, MONOID_BEFORE, k->at.v);
    Partials carry = monoid_pass(cg, g, 0, MONOID_CARRY, k->at.v);
    Ir group = k->var.g, row = k->walk.row, col = k->walk.col;
    ReducePartial part = {reduce_block, NULL, ir_add(cg, ir_mul_n(cg, group, wide), col)};
    if (end > 0) {
        Partial *x = &last.at[0];
        x->array = ir_add(cg, x->array, ir_int(cg, end));
        if (x->beside) x->beside_array = ir_add(cg, x->beside_array, ir_int(cg, end));
    }
    ir_note(cg, "the groups of the block");
    reduce_put(cg, &last, vec, NULL, reduce_block, ir_add(cg, ir_mul_n(cg, row, wide), col));
    ir_sync(cg, IR_SYNC_BLOCK, NULL);
    ir_for_of(cg, k->var.g, ir_int(cg, 0), row, 1, 1);
    reduce_partial(cg, &base, vec, &part);
    ir_close(cg);
    if (!carries) return;
    ir_count_of(cg, k->var.g, groups, 1);
    reduce_partial(cg, &carry, vec, &part);
    ir_close(cg);
}

static void meet_down(Kernel *k, bool carries) {
    Cg *cg = k->cg;
    int vec = k->task->r->store_vec, deep = scan_vectors(k);
    int groups = rprog_threads_along(k->task->r, AX_N);
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
    if (carries) {
        open_loop(k, k->at.v, 0, vec);
        scan_copy(k, &base, &carry);
        if (groups == 1) append(k, &carry, &end);
        ir_close(cg);
    }
    if (groups > 1) meet_groups(k, groups, carries);
    open_loop(k, k->at.v, 0, vec);
    apply(k, &base, v, vec, deep);
    ir_close(cg);
}

void scan_meet(Kernel *k) {
    bool carries = scan_carries(k->task->p, k->task->r);
    Partial carry = scan_partial(k, MONOID_CARRY, NULL);
    if (scan_view(k)->down) meet_down(k, carries);
    else meet_along(k, carries ? &carry : NULL);
    ir_simple(k->cg, IR_STMT_BLANK);
}
