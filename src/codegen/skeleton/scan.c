#include "codegen/skeleton/scan.h"
#include "codegen/elements/reduction.h"
#include "codegen/expr/sizes.h"

/* Reductions that run to their own place: where a block's elements lie, their terms, and the
 * statements behind them.  */

static TeExtent walk_of(const Kernel *k) { return index_extent(k->cg->arena, &k->task->map, 1); }

/* ---- place ---- */

static void place_along_walk(Kernel *k) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    const RProg *r = k->task->r;
    int threads = rprog_threads_along(r, AX_N), lanes = rprog_scan_lanes(k->task->p, r);
    int vec = r->store_vec, each = lanes * (int)r->thread.extent[AX_N];
    ir_note(cg, "place: %d threads of a result, %d pieces of %d elements", threads,
            scan_vectors(k), vec);
    Ir all = ir_number(cg, IR_U32, threads), some = ir_int(cg, lanes);
    w->tid = ir_let_as(cg, IR_I32, "tid", ir_thread(cg));
    w->lane = ir_let_as(cg, IR_I32, "lane", ir_rem(cg, w->tid, all));
    reduction_place(k, ir_div(cg, w->tid, all));
    Ir group = ir_mul_n(cg, ir_div(cg, w->lane, some), each);
    w->own = ir_let(cg, "own", ir_add(cg, group, ir_mul_n(cg, ir_rem(cg, w->lane, some), vec)));
}

static void place_down(Kernel *k) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    const RProg *r = k->task->r;
    int across = rprog_threads_along(r, AX_M), vec = r->store_vec;
    ir_note(cg, "place: %d x %d results, %d groups of %d elements", across, vec,
            rprog_threads_along(r, AX_N), (int)r->thread.extent[AX_N]);
    reduction_place_across(k, across, vec);
    w->own = ir_let(cg, "own", ir_mul_n(cg, w->row, r->thread.extent[AX_N]));
}

static void scan_place(Kernel *k) {
    Cg *cg = k->cg;
    const ScanView *v = scan_view(k);
    Walk *w = &k->walk;
    const RProg *r = k->task->r;
    w->length = size_named(cg, "N", IR_I32, walk_of(k));
    w->results = size_named(cg, "TOTAL", reduction_base(k),
                            index_extent(cg->arena, &k->task->map, 0));
    (v->down ? place_down : place_along_walk)(k);
    reduction_place_slice(k);
    if (scan_carries(k->task->p, r)) w->base = ir_name(cg, ir_type(IR_I32), "base");
    else w->base = ir_constant(cg, "base", ir_int(cg, 0));
    if (k->l->layout->shared > 0) {
        kernel_smem(k, 128);
        reduction_rooms(k, k->task->p->group->columns, 0);
    }
    reduction_place_elements(k, &v->out, r->store_vec);
    if (!v->down) {
        k->at.order[0] = v->of.index;
        k->at.n_order = 1;
    }
    ir_simple(cg, IR_STMT_BLANK);
}

/* ---- vectors of a step ---- */

void scan_open_steps(Kernel *k) {
    const Walk *w = &k->walk;
    Cg *cg = k->cg;
    ir_loop(cg, w->base, w->first, ir_lt(cg, w->base, w->end),
            (IrNext){IR_ADD, ir_int(cg, k->task->r->block.extent[AX_N])}, 1);
}

static Ir is_result(const Kernel *k) { return ir_lt(k->cg, k->walk.at, k->walk.results); }

/* The test that a vector has elements; NULL: it always has.  */
static Ir vector_test(const Kernel *k) {
    const Cg *cg = k->cg;
    /* A walk that may have no elements at run time has no loop to say so.  */
    bool ends = index_ragged(&k->task->map, 1) ||
                (!scan_carries(k->task->p, k->task->r) && walk_of(k).min == 0);
    return ir_both(cg, ends ? ir_lt(cg, k->walk.piece, k->walk.length) : NULL,
                   index_ragged(&k->task->map, 0) ? is_result(k) : NULL);
}

/* A loop over vectors, in which those have their indices that have elements; returns how many
 * scopes are open.  */
static int open_vectors(Kernel *k) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    const ScanView *v = scan_view(k);
    int vec = k->task->r->store_vec, along = v->of.index;
    int step = v->down ? 1 : rprog_scan_lanes(k->task->p, k->task->r) * vec;
    Ir u = ir_count_of(cg, k->walk.u, scan_vectors(k), IR_UNROLL_ALL);
    Ir own = ir_add(cg, w->base, w->own);
    w->piece = ir_let(cg, "pos", ir_add(cg, own, ir_mul_n(cg, u, step)));
    Ir test = vector_test(k), back = ir_sub(cg, w->length, ir_int(cg, v->down ? 1 : vec));
    if (test) ir_if(cg, test);
    k->at.index[along] = ir_let(cg, ir_numbered(cg, "i", along),
                                v->of.reversed ? ir_sub(cg, back, w->piece) : w->piece);
    k->at.wide[along] = false;
    k->at.n_vector = 0;
    return 1 + (test != NULL);
}

/* Where element v of vector u is.  */
static Ir place_of(const Kernel *k) {
    const Cg *cg = k->cg;
    int vec = k->task->r->store_vec;
    Ir u = k->walk.u, v = k->at.v;
    if (vec == 1) return u;
    if (scan_view(k)->of.reversed && !scan_view(k)->down) v = ir_sub(cg, ir_int(cg, vec - 1), v);
    return ir_add(cg, ir_mul_n(cg, u, vec), v);
}

/* What an element has beside its term; NULL: nothing.  */
static Ir beside_of(const Kernel *k, const CgPoint *p, const Partial *x) {
    const Scan *of = &scan_view(k)->of;
    if (of->factor) return cg_expr(p, of->factor, te_beside_type(x->e));
    return x->beside ? ir_as(k->cg, IR_I32, p->index[of->over]) : NULL;
}

/* The terms of a vector: each is held apart (`each`), or folded into its result.  */
static void fold_vectors(Kernel *k, bool each) {
    Cg *cg = k->cg;
    Ir lane = scan_items(k) == 0 ? NULL : elements_lane(k);
    Partial x = scan_partial(k, MONOID_HELD, each ? place_of(k) : lane);
    int stmt = k->task->p->group->root, open = open_vectors(k);
    elements_load_vectors(k, stmt, kernel_root(k)->rhs);
    elements_open_lanes(k);
    CgPoint p = elements_point(k, stmt, false);
    Ir value = cg_expr(&p, scan_view(k)->of.term, te_reduced_type(x.e));
    Ir beside = beside_of(k, &p, &x);
    if (each) {
        ir_set(cg, x.value, value);
        if (beside) ir_set(cg, x.beside, beside);
    } else {
        monoid_fold(cg, &x, value, beside, FOLD_BEHIND);
    }
    elements_close_lanes(k);
    for (; open > 0; open--) ir_close(cg);
    k->at.n_vector = 0;
}

static void scan_fold(Kernel *k) {
    Cg *cg = k->cg;
    bool each = k->l->kind == KERNEL_SCAN;
    Partials p = monoid_pass(cg, k->task->p->group->columns, 0, MONOID_HELD,
                             scan_items(k) || each ? k->walk.u : NULL);
    ir_note(cg, each ? "terms: one for each element" : "fold: the elements of the slice");
    reduce_clear(cg, &p, each ? scan_vectors(k) * k->task->r->store_vec : scan_items(k));
    if (!each) scan_open_steps(k);
    fold_vectors(k, each);
    if (!each) ir_close(cg);
    ir_simple(cg, IR_STMT_BLANK);
}

static void scan_elements(Kernel *k, const Node *n) {
    (void)n;
    ir_note(k->cg, "elements: %d at a time", k->at.vec);
    Partial x = scan_partial(k, MONOID_HELD, place_of(k));
    k->at.open = open_vectors(k);
    k->at.root = monoid_result(&x);
    k->at.root_type = kernel_root(k)->rhs->type;
}

/* ---- slices ---- */

/* The slices of results beside each other lie behind each other, by group.  */
static void map_down(const Kernel *k, ThreadMap *m) {
    const Cg *cg = k->cg;
    const Walk *w = &k->walk;
    int groups = rprog_scan_partials(k->task->p, k->task->r), vec = k->task->r->store_vec;
    Ir slice = ir_add(cg, ir_mul(cg, ir_cast(cg, IR_I64, ir_block(cg, 1)), ir_int(cg, groups)),
                      w->row);
    Ir last = ir_sub(cg, w->results, ir_int(cg, vec));
    Ir at = index_ragged(&k->task->map, 0) ? ir_min(cg, w->at, last) : w->at;
    m->items = vec;
    m->lane = k->at.v;
    m->own = ir_add(cg, ir_mul(cg, slice, w->results), w->at);
    m->only = is_result(k);
    m->n_partial = ir_mul(cg, ir_cast(cg, IR_I32, ir_block(cg, 1)), ir_int(cg, groups));
    m->at = ir_add(cg, ir_mul(cg, ir_cast(cg, IR_I64, k->var.s), w->results), at);
}

static void map_along(const Kernel *k, ThreadMap *m) {
    const Cg *cg = k->cg;
    const Walk *w = &k->walk;
    bool ragged = index_ragged(&k->task->map, 0);
    Ir last = ir_sub(cg, w->results, ir_int(cg, 1));
    Ir first = ir_binary(cg, IR_EQ, w->lane, ir_int(cg, 0));
    m->first = ir_mul(cg, ragged ? ir_min(cg, w->at, last) : w->at,
                      ir_number(cg, IR_I64, k->task->r->split));
    m->own = ir_block(cg, 1);
    m->only = ir_both(cg, first, ragged ? is_result(k) : NULL);
    m->n_partial = ir_cast(cg, IR_I32, ir_block(cg, 1));
    m->at = k->var.s;
    m->rank = w->lane;
    m->meeting = meeting_of_neighbours(k, m->threads);
}

static ThreadMap scan_map(const Kernel *k, MonoidVariable held) {
    const RProg *r = k->task->r;
    const ScanView *v = scan_view(k);
    int partials = rprog_scan_partials(k->task->p, r);
    ThreadMap m = {.group = k->task->p->group->columns, .held = held, .count = IR_I32,
                   .threads = v->down ? 1 : rprog_threads_along(r, AX_N),
                   .block = r->threads, .partials = r->split * partials * v->out.extent};
    (v->down ? map_down : map_along)(k, &m);
    return m;
}

/* Threads meet for the value of a slice, or (KERNEL_SCAN) with slices before the block's.  */
static ThreadMap node_map(const Kernel *k, const Node *n) {
    if (n->to == MEET_EACH) return scan_step_map(k);
    return scan_map(k, k->l->kind == KERNEL_SCAN ? MONOID_CARRY : MONOID_HELD);
}

static void scan_clear(Kernel *k, const Node *n) {
    (void)n;
    Ir lane = scan_items(k) ? k->at.v : NULL;
    Partials p = monoid_pass(k->cg, k->task->p->group->columns, 0, MONOID_CARRY, lane);
    reduce_clear(k->cg, &p, scan_items(k));
}

const KernelRow kernel_scan = {
    .place = scan_place,
    .clear = scan_clear,
    .fold = scan_fold,
    .elements = scan_elements,
    .map = node_map,
    .finish = scan_finish,
};
const KernelRow kernel_scan_sums = {
    .place = scan_place,
    .clear = scan_clear,
    .fold = scan_fold,
    .map = node_map,
};
