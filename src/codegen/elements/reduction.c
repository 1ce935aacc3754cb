#include "codegen/elements/reduction.h"
#include "codegen/expr/sizes.h"

bool reduction_wide(const Kernel *k) {
    return place_wide(k->task->map.axis[0].extent, k->task->r->block.extent[AX_M]);
}

IrBase reduction_base(const Kernel *k) { return place_base(reduction_wide(k)); }

void reduction_place(Kernel *k, Ir own) {
    Cg *cg = k->cg;
    Ir results = ir_int(cg, k->task->r->block.extent[AX_M]);
    Ir first = ir_mul(cg, ir_as(cg, reduction_base(k), ir_block(cg, 0)), results);
    k->walk.at = ir_let_as(cg, reduction_base(k), "at", ir_add(cg, first, own));
}

void reduction_place_across(Kernel *k, int across, int vec) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    Ir all = ir_number(cg, IR_U32, across);
    w->tid = ir_let(cg, "tid", ir_thread(cg));
    w->col = ir_let_as(cg, IR_I32, "col", ir_mul_n(cg, ir_rem(cg, w->tid, all), vec));
    w->row = ir_let_as(cg, IR_I32, "row", ir_div(cg, w->tid, all));
    reduction_place(k, w->col);
}

void reduction_place_slice(Kernel *k) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    int64_t split = k->task->r->split;
    w->first = ir_int(cg, 0);
    w->end = w->length;
    if (split <= 1) return;
    Ir slice = size_value(cg, index_slice(cg->arena, &k->task->map, 1, split));
    Ir first = ir_mul(cg, ir_cast(cg, IR_I64, ir_block(cg, 1)), slice);
    first = ir_min(cg, first, ir_cast(cg, IR_I64, w->length));
    w->first = ir_let(cg, "first", ir_cast(cg, IR_I32, first));
    w->end = ir_let(cg, "last", ir_min(cg, ir_add(cg, w->first, slice), w->length));
}

void reduction_place_elements(Kernel *k, const FusedAxis *out, int vec) {
    elements_order(k, out->index, out->n, vec);
    elements_along(k, 0, k->walk.at, reduction_wide(k));
}

Partials reduction_partials(const Kernel *k, const ThreadMap *m, int pass) {
    const Cg *cg = k->cg;
    if (!m->group) {
        const TeExpr *e = kernel_root(k)->rhs;
        IrBase base = ir_compute(te_reduced_type(e));
        Partials one =
            monoid_alone(e, monoid_variable(cg, m->held, -1, ir_array_of(base)));
        monoid_at(cg, &one.at[0], m->lane);
        return one;
    }
    Partials p = monoid_pass(cg, m->group, pass, m->held, m->lane);
    p.count = m->count;
    for (int i = 0; i < p.n && m->behind > 0; i++) {
        Partial *x = &p.at[i];
        x->array = ir_add(cg, x->array, ir_int(cg, m->behind));
        if (x->beside) x->beside_array = ir_add(cg, x->beside_array, ir_int(cg, m->behind));
    }
    return p;
}

/* ---- what follows another reduction of its pass (RowFollow) ---- */

static Ir past(const Cg *cg, const Partial *leader) {
    return monoid_value(cg, MONOID_PAST, leader);
}

/* Leaders as they were are kept as past.  */
static void begin_step(Cg *cg, const Partials *p) {
    for (int i = 0; i < p->n; i++) {
        const Partial *leader = &p->at[i];
        if (!monoid_is_leader(p, i)) continue;
        ir_define(cg, past(cg, leader), leader->value);
        if (monoid_restarts(leader)) ir_set(cg, leader->value, ir_int(cg, 0));
    }
}

/* Does anything follow?  Its terms are made with `base` then.  */
static bool follow(Kernel *k, const Partials *p, int deep) {
    bool any = false;
    for (int i = 0; i < p->n; i++) {
        const Partial *online = &p->at[i], *leader = &p->at[online->leader];
        if (!online->follow) continue;
        monoid_follow(k->cg, online, past(k->cg, leader), leader->value, deep);
        k->at.made[online->center] =
            monoid_value(k->cg, MONOID_CENTER, online);
        any = true;
    }
    return any;
}

static void end_step(Kernel *k, const Partials *p) {
    for (int i = 0; i < p->n; i++) {
        const Partial *leader = &p->at[i];
        if (leader->follow) k->at.made[leader->center] = NULL;
        if (monoid_is_leader(p, i) && monoid_restarts(leader))
            ir_update(k->cg, IR_ADD, leader->value, past(k->cg, leader));
    }
}

void reduction_step(Kernel *k, const Partials *p, int deep, ReductionFold *fold, int of) {
    Cg *cg = k->cg;
    bool counts = deep == 0 && monoid_counts(p);
    Ir fresh = counts ? monoid_counted(cg, MONOID_FRESH, IR_I32) : NULL;
    if (counts) ir_declare(cg, fresh, ir_int(cg, 0));
    begin_step(cg, p);
    fold(k, p, of, false);
    if (follow(k, p, deep)) fold(k, p, of, true);
    end_step(k, p);
    if (counts) ir_update(cg, IR_ADD, monoid_counted(cg, MONOID_SEEN, p->count), fresh);
}

/* ---- meetings ---- */

void reduction_open_items(Kernel *k, const ThreadMap *m) {
    if (m->items > 0) ir_count_of(k->cg, m->lane, m->items, IR_UNROLL_ALL);
}

void reduction_close_items(Kernel *k, const ThreadMap *m) {
    if (m->items > 0) ir_close(k->cg);
}

void reduction_meet(Kernel *k, const ThreadMap *m, const Partials *p, int which) {
    int lanes = m->threads > 1 ? (m->threads < WARP ? m->threads : WARP) - 1 : m->lanes;
    if (lanes == 0 && !m->meeting.spread) return;
    reduction_open_items(k, m);
    reduce_threads(k->cg, p, which, lanes, m->seen);
    reduction_close_items(k, m);
}

void reduction_rooms(Kernel *k, const RowGroup *g, int pass) {
    Partials p = monoid_pass(k->cg, g, pass, MONOID_HELD, NULL);
    reduce_rooms(k->cg, &p, k->l->layout, k->var.smem);
}

void reduction_settle(Kernel *k, const ThreadMap *m, const Partials *p) {
    if (!monoid_scales(p)) return;
    reduction_open_items(k, m);
    monoid_settle(k->cg, p, m->live);
    reduction_close_items(k, m);
}

const ReduceArrays reduction_slices = {.what = MONOID_LEFT, .space = IR_GLOBAL};

void reduction_left(Kernel *k, const ThreadMap *m, const Partials *p) {
    reduce_arrays(k->cg, p, reduction_slices, cg_partials(k->cg), m->partials, m->first);
}

void reduction_open_results(Kernel *k, const ThreadMap *m, IrBase base) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    int64_t span = k->l->launch.span;
    int vec = k->task->vec;
    Ir u = k->walk.u, first = ir_thread(cg);
    if (m->threads > 1) first = ir_div(cg, first, ir_int(cg, m->threads));
    ir_loop(cg, u, first, ir_lt(cg, u, ir_int(cg, span / vec)),
            (IrNext){IR_ADD, ir_int(cg, m->block / m->threads)}, 1);
    Ir block = ir_mul(cg, ir_as(cg, base, ir_block(cg, 0)), ir_int(cg, span));
    w->at = ir_let_as(cg, base, "at", ir_add(cg, block, ir_mul_n(cg, u, vec)));
    ir_if(cg, ir_binary(cg, IR_GE, w->at, w->results));
    ir_simple(cg, IR_STMT_BREAK);
    ir_close(cg);
    k->at.open = 1;
}

void reduction_gather(Kernel *k, const ThreadMap *m, const Partials *p) {
    ReducePartial partial = {reduction_slices, m->elements, m->at};
    Ir first = m->begin ? m->second : m->threads > 1 ? m->rank : ir_int(k->cg, 0);
    ReducePartial begin = {reduction_slices, NULL, m->begin};
    if (m->begin) reduce_begin(k->cg, p, m->items, &begin);
    else reduce_clear(k->cg, p, m->items);
    reduce_gather(k->cg, p, m->items, &partial,
                  (ReduceRange){k->var.s, first, m->n_partial, m->threads, m->under_way, m->moves});
}

void reduction_combine(Kernel *k, const ThreadMap *m, const Partials *p) {
    reduction_gather(k, m, p);
    reduction_meet(k, m, p, MEET_ALL);
    reduction_settle(k, m, p);
}

/* ---- values ---- */

static void keep(Kernel *k, const ReductionKept *kept, int t) {
    const Cg *cg = k->cg;
    IrBase base = ir_compute(te_dtype_compute(cg->te->tensor[t].dtype));
    Ir value = monoid_variable(cg, MONOID_VALUES, t, ir_pointer(base, kept->space, false));
    ir_set(k->cg, ir_element(cg, value, kept->at), k->at.made[t]);
}

static void store(Kernel *k, int t, const CgPoint *p) {
    const Cg *cg = k->cg;
    TeDtype dtype = cg->te->tensor[t].dtype;
    ir_set(k->cg, ir_element(cg, cg_tensor(cg, t), cg_offset(cg, t, p->index)),
           cg_encode(cg, dtype, te_dtype_compute(dtype), k->at.made[t]));
}

void reduction_values(Kernel *k, const RowGroup *g, int pass, Ir live, const ReductionKept *kept,
                      bool stores) {
    Cg *cg = k->cg;
    Partials now = monoid_pass(cg, g, pass, MONOID_HELD, NULL);
    Ir where = kept ? kept->stores : NULL;
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = &cg->te->stmt[g->stmt[i]];
        int t = s->tensor;
        bool reduced = g->role[i] == ROW_REDUCE && g->pass[i] == pass;
        if (!reduced && !(g->role[i] == ROW_SCALAR && g->pass[i] == pass + 1)) continue;
        CgPoint p = elements_point(k, g->stmt[i], true);
        elements_define(k, t, s->rhs->type,
                        reduced ? monoid_result(monoid_of(&now, s->rhs))
                                : cg_expr(&p, s->rhs, s->rhs->type));
        bool stored = stores && elements_in_memory(k, t);
        if (!kept && !stored) continue;
        if (live) ir_if(cg, live);
        if (kept) keep(k, kept, t);
        if (stored && where) ir_if(cg, where);
        if (stored) store(k, t, &p);
        if (stored && where) ir_close(cg);
        if (live) ir_close(cg);
    }
}

Ir reduction_column(const Kernel *k, int stmt) {
    Partials p = monoid_pass(k->cg, k->task->p->group->columns, 0, MONOID_HELD, elements_lane(k));
    return monoid_result(monoid_of(&p, k->cg->te->stmt[stmt].rhs));
}
