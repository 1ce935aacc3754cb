#include "codegen/elements/reduction.h"
#include "codegen/block/product.h"
#include "codegen/skeleton/row.h"

/* One pass over the columns of a row: loads, statements at each element, stores.  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->task->p, k->task->r); }

static bool runs(const Kernel *k, int i, int pass) { return facts(k)->eval[i] >> pass & 1; }

/* The number of vector u (or end) of a thread, among those of the row or the step.  */
static Ir number_of(const Kernel *k, Ir u) {
    return ir_add(k->cg, ir_mul(k->cg, u, product_size(k, 'L', AX_N)), k->walk.lane);
}

/* The first column of the step; NULL: 0.  */
static Ir step_column(const Kernel *k) {
    return row_loops(k) ? ir_mul(k->cg, k->walk.step, product_size(k, 'B', AX_N)) : NULL;
}

/* The first column of vector u.  */
static Ir first_column(const Kernel *k, Ir u) {
    const Cg *cg = k->cg;
    return ir_sum(cg, step_column(k), ir_mul(cg, number_of(k, u), product_size(k, 'V', AX_N)));
}

/* The same in 64 bits: a thread's place, once, and a number of the instruction.  */
static Ir place_and_number(const Kernel *k, Ir u) {
    const Cg *cg = k->cg;
    Ir vec = product_size(k, 'V', AX_N);
    Ir first = ir_sum(cg, step_column(k), ir_mul(cg, k->walk.lane, vec));
    Ir all = ir_cast(cg, IR_I64, ir_mul(cg, product_size(k, 'L', AX_N), vec));
    return ir_add(cg, first, ir_mul(cg, u, all));
}

static Ir test_of(const Kernel *k, Ir x, Ir end) { return ir_lt(k->cg, x, end); }

/* A column of a row's ends; of a row in slices the first slice has them.  */
static Ir place_end(Kernel *k, Ir u) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    Ir at = ir_let_as(cg, IR_I32, "at", number_of(k, u));
    Ir col = ir_select(cg, ir_lt(cg, at, w->head), at, ir_add(cg, at, w->body));
    w->piece = ir_let_as(cg, row_base(k), "col", col);
    bool slices = k->task->r->split > 1;
    Ir first = slices ? ir_binary(cg, IR_EQ, ir_block(cg, 1), ir_int(cg, 0)) : NULL;
    return ir_both(cg, first, test_of(k, w->piece, w->length));
}

/* Defines the first column of vector u; the test that it is there, NULL: it is.  */
static Ir place_vector(Kernel *k, Ir u) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    if (k->at.ends) return place_end(k, u);
    if (row_ends(k)) {
        Ir at = ir_let_as(cg, row_base(k), "at", first_column(k, u));
        w->piece = ir_let_as(cg, row_base(k), "col", ir_add(cg, w->head, at));
        return test_of(k, at, w->body);
    }
    /* A test would cost more in 64 bits.  */
    if (!row_ends_within(k)) {
        w->piece = ir_let_as(cg, IR_I64, "col", place_and_number(k, u));
        return NULL;
    }
    w->piece = ir_let_as(cg, row_base(k), "col", first_column(k, u));
    return test_of(k, w->piece, w->length);
}

/* Opens the loop over a thread's vectors, or columns of a row's ends.  */
static void open_vectors(Kernel *k) {
    Cg *cg = k->cg;
    Ir u = ir_count_of(k->cg, k->walk.u, row_vectors(k), IR_UNROLL_ALL);
    Ir inside = place_vector(k, u);
    Ir row = row_ragged(k) ? test_of(k, k->walk.at, k->walk.results) : NULL;
    Ir test = ir_both(cg, row, inside);
    k->at.open = test ? 2 : 1;
    if (test) ir_if(cg, test);
}

/* ---- statements at an element ---- */

/* Gives statement i the elements of its sources.  */
static void give_sources(Kernel *k, int i, int pass) {
    const RowFacts *f = facts(k);
    int stmt = f->group->stmt[i];
    ReadList reads = access_reads(k->cg->te->stmt[stmt].rhs);
    for (int j = 0; j < reads.n; j++) {
        int from = rtile_row_source(k->cg->te, f, i, reads.at[j]);
        if (from >= 0 && row_is_read(&f->source[from], pass) &&
            !elements_given(k, stmt, reads.at[j]))
            elements_give(k, stmt, reads.at[j], row_element(k, from));
    }
}

/* The place of value n at the element.  */
static Ir value_at(const Kernel *k, int n) {
    const Cg *cg = k->cg;
    Ir u = k->walk.u, at = elements_lane(k);
    if (row_vectors(k) > 1) at = ir_add(cg, ir_mul_n(cg, u, k->at.vec), at);
    return ir_element(cg, k->row->value[k->at.ends][n], at);
}

/* Makes the values that begin with this pass, and gives what there is of them.  */
static void give_values(Kernel *k, int pass) {
    const RowFacts *f = facts(k);
    for (int n = 0; n < f->n_value && rprog_row_keeps_values(k->task->r); n++) {
        const RowValue *v = &f->value[n];
        const TeExpr *e = v->expr[v->maker];
        int stmt = f->group->stmt[v->maker];
        if (pass != v->pass && !(v->later >> pass & 1)) continue;
        if (pass == v->pass) {
            CgPoint p = elements_point(k, stmt, false);
            Ir value = cg_expr(&p, e, e->type);
            ir_set(k->cg, value_at(k, n), value);
        }
        elements_give(k, stmt, e, value_at(k, n));
    }
}

/* Tied reductions have a turn of their own, which stores nothing.  */
static uint64_t mask_of(const Kernel *k, int pass, bool online) {
    const RowGroup *g = facts(k)->group;
    uint64_t mask = 0;
    for (int i = 0; i < g->n; i++) {
        if (runs(k, i, pass) && (g->role[i] == ROW_MAP || (g->follow[i] != FOLLOW_NONE) == online))
            mask |= (uint64_t)1 << i;
    }
    return mask;
}

static int width_of_write(const Kernel *k, const Access *x) {
    const RowFacts *f = facts(k);
    const TeStmt *frame = &k->cg->te->stmt[f->group->frame];
    int most = k->task->r->store_vec, align = k->cg->align;
    int vec = row_ends(k) ? rtile_peel_vector(k->cg->te, frame, &f->peel, x, align)
                          : rtile_row_vector(k->cg->te, frame, x, align);
    return vec < most ? vec : most;
}

/* A pass stores its own statements, not those that need it again.  What the kernel reads back is
 * rounded before.  */
static Output output_of(const Kernel *k, int i, int pass) {
    const RowFacts *f = facts(k);
    const RowGroup *g = f->group;
    int t = k->cg->te->stmt[g->stmt[i]].tensor;
    Output o = {0};
    bool read_back = false;
    Access x;
    if (g->role[i] != ROW_MAP) return o;
    row_write(k, i, &x);
    o.width = width_of_write(k, &x);
    o.stored = g->pass[i] == pass && elements_in_memory(k, t);
    for (int j = i + 1; j < g->n; j++) o.needed |= runs(k, j, pass);
    for (int n = 0; n < f->n_source; n++)
        read_back |= f->source[n].made && f->source[n].tensor == t;
    o.pairs = !o.needed && !read_back && cg_pairs(k->cg->te->tensor[t].dtype, o.width);
    return o;
}

/* Opens the loop over the elements v of a vector.  */
static void open_lanes(Kernel *k) {
    Cg *cg = k->cg;
    const TeStmt *frame = &cg->te->stmt[facts(k)->group->frame];
    Ir vec = product_size(k, 'V', AX_N);
    if (k->at.vec > 1) ir_for_of(cg, k->at.v, ir_int(cg, 0), vec, 1, IR_UNROLL_ALL);
    else ir_scope(cg);
    for (int i = 0; i < frame->n_left; i++) k->at.lane_index[i] = k->at.index[i];
    place_axis(k, 1, ir_add(cg, k->walk.piece, elements_lane(k)), row_wide(k), k->at.lane_index,
               k->at.wide);
}

/* Each element by itself: where the write does not follow the columns, and where it does.  */
static void store_lanes(Kernel *k, int i) {
    Cg *cg = k->cg;
    int stmt = facts(k)->group->stmt[i], t = cg->te->stmt[stmt].tensor;
    open_lanes(k);
    CgPoint p = elements_point(k, stmt, false);
    ir_set(cg, ir_element(cg, cg_tensor(cg, t), cg_offset(cg, t, p.index)),
           ir_element(cg, k->at.out[t], elements_lane(k)));
    ir_close(cg);
}

static void store_columns(Kernel *k, int t, Ir to, int64_t step) {
    Cg *cg = k->cg;
    Ir p = ir_count(cg, "p", k->at.vec, IR_UNROLL_ALL), col = ir_add(cg, k->walk.piece, p);
    if (row_wide(k)) col = ir_cast(cg, IR_I64, col);
    ir_set(cg, ir_element(cg, to, ir_mul(cg, col, cg_int(cg, TE_I64, step))),
           ir_element(cg, k->at.out[t], p));
    ir_close(cg);
}

static void store(Kernel *k, int i, const Output *o) {
    Cg *cg = k->cg;
    int stmt = facts(k)->group->stmt[i], t = cg->te->stmt[stmt].tensor;
    Access x;
    row_write(k, i, &x);
    int64_t step = rtile_row_step(cg->te, &cg->te->stmt[facts(k)->group->frame], &x);
    if (step == 0) {
        store_lanes(k, i);
        return;
    }
    TeDtype dtype = cg->te->tensor[t].dtype;
    const char *put = o->width > 1 ? cg_store(cg, dtype, o->pairs) : NULL;
    Ir to = k->at.pointer[t];
    Ir at = ir_mul(cg, k->walk.piece, cg_int(cg, TE_I64, step));
    if (!store_vector(k, stmt, o, put, to, at)) store_columns(k, t, to, step);
}

/* A map that stays becomes a source of later passes.  */
static void retain(Kernel *k, int n) {
    Cg *cg = k->cg;
    const RowSource *s = &facts(k)->source[n];
    int width = row_width(k, s), accesses = row_accesses(k, s);
    Ir out = k->at.out[s->tensor];
    if (row_in_shared(k, s)) {
        Ir p = ir_count(cg, "p", accesses, IR_UNROLL_ALL), by = ir_mul_n(cg, p, width);
        ir_store(cg, NULL, width, ir_add_parts(cg, k->row->held[n], ir_add(cg, k->walk.piece, by)),
                 ir_add(cg, out, by));
        ir_close(cg);
    } else if (row_in_registers(k, s)) {
        Ir all = k->at.ends ? ir_int(cg, 1) : product_size(k, 'V', AX_N);
        Ir v = ir_for_of(cg, k->at.v, ir_int(cg, 0), all, 1, IR_UNROLL_ALL);
        ir_set(cg, row_vector_lane(k, s, row_vector(k, n)), ir_element(cg, out, v));
        ir_close(cg);
    }
}

/* What is evaluated at the elements of a vector.  */
typedef struct {
    const Partials *partials;
    const Output *out;
    int pass;
    bool online;
} Lanes;

static void evaluate_lanes(Kernel *k, const void *of) {
    const Lanes *x = of;
    open_lanes(k);
    give_values(k, x->pass);
    elements_statements(k, facts(k)->group, mask_of(k, x->pass, x->online), x->partials, x->out);
    elements_forget(k, facts(k)->group);
    ir_close(k->cg);
}

/* By reciprocals, where that is right for all elements of the vector.  */
static void tested_lanes(Kernel *k, const Lanes *x) {
    Cg *cg = k->cg;
    const Ir *inverse = k->at.inverse;
    int given = k->at.n_vector;
    Ir near = ir_variable(cg, IR_BOOL, "near", k->walk.divides);
    open_lanes(k);
    give_values(k, x->pass);
    divide_test(k, facts(k)->group, mask_of(k, x->pass, false), near);
    ir_close(cg);
    k->at.n_vector = given;
    k->at.near = true;
    divide_either(k, near, inverse, evaluate_lanes, x);
    k->at.near = false;
    k->at.inverse = inverse;
}

static void compute(Kernel *k, const Partials *p, int pass, bool online) {
    Cg *cg = k->cg;
    const RowFacts *f = facts(k);
    const RowGroup *g = f->group;
    Output out[ROW_MAX_STMTS];
    open_vectors(k);
    k->at.vec = k->task->r->store_vec;
    if (!online && monoid_counts(p))
        ir_update(cg, IR_ADD, monoid_counted(cg, MONOID_FRESH, IR_I32), ir_int(cg, k->at.vec));
    for (int n = 0; n < f->n_source; n++) {
        if (!row_is_read(&f->source[n], pass) || row_is_array(k, &f->source[n])) continue;
        row_declare(k, n);
        row_load(k, n);
    }
    for (int n = 0; n < f->n_source; n++) row_widen(k, n, pass);
    for (int i = 0; i < g->n; i++) {
        out[i] = online ? (Output){0} : output_of(k, i, pass);
        store_declare(k, g->stmt[i], &out[i]);
        if (runs(k, i, pass)) give_sources(k, i, pass);
    }
    Lanes lanes = {p, out, pass, online};
    if (k->at.inverse && divide_tests(k, g, mask_of(k, pass, false))) tested_lanes(k, &lanes);
    else evaluate_lanes(k, &lanes);
    for (int i = 0; i < g->n; i++) {
        if (!out[i].stored) continue;
        store(k, i, &out[i]);
        for (int n = 0; n < f->n_source; n++) {
            if (f->source[n].made && f->source[n].tensor == cg->te->stmt[g->stmt[i]].tensor)
                retain(k, n);
        }
    }
    k->at.n_vector = 0;
    elements_end(k);
}

/* Registers of what is kept from this pass on.  */
static void declare_kept(Kernel *k, int pass) {
    const RowFacts *f = facts(k);
    for (int n = 0; n < f->n_value && rprog_row_keeps_values(k->task->r); n++) {
        const RowValue *v = &f->value[n];
        if (v->pass == pass)
            k->row->value[k->at.ends][n] =
                ir_array(k->cg, ir_type(ir_compute(v->expr[v->maker]->type)), row_value(k, n),
                         k->task->r->thread.extent[AX_N], 0, 0);
    }
    for (int n = 0; n < f->n_source; n++) {
        const RowSource *s = &f->source[n];
        if (row_in_registers(k, s) && (s->passes & (((uint64_t)2 << pass) - 1)) != 0 &&
            !(s->passes & (((uint64_t)1 << pass) - 1)) && !s->made)
            row_declare(k, n);
        if (row_in_registers(k, s) && s->made && row_makes(k, s->tensor, pass)) row_declare(k, n);
    }
}

static void fetch(Kernel *k, int pass) {
    const RowFacts *f = facts(k);
    bool any = false;
    for (int n = 0; n < f->n_source; n++) {
        bool fetched = row_is_fetched(k, &f->source[n], pass);
        if (fetched && !row_in_registers(k, &f->source[n])) row_declare(k, n);
        any |= fetched;
    }
    if (!any) return;
    open_vectors(k);
    for (int n = 0; n < f->n_source; n++) {
        if (row_is_fetched(k, &f->source[n], pass)) row_load(k, n);
    }
    elements_end(k);
}

static void evaluate_step(Kernel *k, const void *of) {
    int pass = *(const int *)of;
    Partials p = row_partials(k, pass);
    reduction_step(k, &p, 0, compute, pass);
}

static void evaluate(Kernel *k, int pass) {
    const RowGroup *g = facts(k)->group;
    uint64_t mask = mask_of(k, pass, false);
    Ir *inverse = ARENA_ARRAY(k->cg->arena, Ir, k->cg->te->n_tensor), test = NULL;
    bool any = divide_any(k, g, mask);
    if (any) {
        ir_scope(k->cg);
        test = divide_invert(k, g, mask, inverse);
    }
    if (any && divide_tests(k, g, mask)) {
        k->walk.divides = ir_let_as(k->cg, IR_BOOL, "divides", test);
        k->at.inverse = inverse;
        test = NULL;
    }
    divide_either(k, test, inverse, evaluate_step, &pass);
    k->at.inverse = NULL;
    if (any) ir_close(k->cg);
}

/* Opens the loop over steps, or what stands for it; false: nothing.  */
static bool open_steps(Kernel *k, int pass) {
    Cg *cg = k->cg;
    Walk *w = &k->walk;
    Ir one = ir_int(cg, 1);
    if (row_loops(k)) {
        Ir step = w->step = ir_name(cg, ir_type(row_base(k)), "step");
        /* Every second pass goes back: what L2 has last is what it meets first.  */
        if (pass % 2 && rprog_row_rereads(k->task->r))
            ir_loop(cg, step, ir_add_n(cg, w->end, -1), ir_binary(cg, IR_GE, step, w->first),
                    (IrNext){IR_SUB, one}, 1);
        else
            ir_loop(cg, step, w->first, ir_lt(cg, step, w->end), (IrNext){IR_ADD, one}, 1);
        return true;
    }
    if (k->task->r->keep == KEEP_REGISTERS) return false;
    ir_scope(cg);
    return true;
}

static void walk_steps(Kernel *k, int pass) {
    bool open = open_steps(k, pass);
    fetch(k, pass);
    evaluate(k, pass);
    if (open) ir_close(k->cg);
}

/* The ends of rows are a step of a program of their own: columns one by one, which are never in
 * shared memory.  */
typedef struct {
    const Task *whole;
    Task task;
    RProg r;
} Ends;

static void begin_ends(Kernel *k, Ends *e) {
    e->whole = k->task;
    e->task = *k->task;
    e->r = *k->task->r;
    e->task.r = &e->r;
    e->r.thread.extent[AX_N] = rprog_row_end_columns(k->task->p, k->task->r);
    e->r.store_vec = 1;
    if (e->r.keep == KEEP_SHARED) e->r.keep = KEEP_MEMORY;
    k->task = &e->task;
    k->at.ends = true;
}

static void finish_ends(Kernel *k, const Ends *e) {
    k->task = e->whole;
    k->at.ends = false;
}

/* The ends are fetched before everything else, and used behind it.  */
static void walk_with_ends(Kernel *k, int pass) {
    Ends e;
    begin_ends(k, &e);
    declare_kept(k, pass);
    ir_scope(k->cg);
    fetch(k, pass);
    finish_ends(k, &e);
    walk_steps(k, pass);
    begin_ends(k, &e);
    ir_note(k->cg, "ends: before the first aligned column, and behind the last whole vector");
    ir_scope(k->cg);
    evaluate(k, pass);
    ir_close(k->cg);
    finish_ends(k, &e);
    ir_close(k->cg);
}

static void row_walk(Kernel *k, const Node *n) {
    int pass = n->from;
    Partials p = row_partials(k, pass);
    ir_note(k->cg, "pass %d", pass);
    reduce_clear(k->cg, &p, 0);
    if (k->task->p->extent[AX_N] == 0) return;
    declare_kept(k, pass);
    if (row_ends(k)) walk_with_ends(k, pass);
    else walk_steps(k, pass);
    ir_simple(k->cg, IR_STMT_BLANK);
}

const KernelRow kernel_row = {
    .begin = row_constants,
    .resident = true,
    .rows = row_place,
    .copy = row_hold,
    .walk = row_walk,
    .map = row_map,
    .finish = row_finish,
};
