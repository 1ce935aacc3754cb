#include "codegen/elements/chain.h"
#include <math.h>

/* A chain behind its last turn: values of its rows, for the maps of the second product's results
 * and for memory.  */

static IrBase base_of(const Kernel *k, int t) {
    return ir_compute(te_dtype_compute(k->cg->te->tensor[t].dtype));
}

static Ir top_of_row(const Kernel *k) {
    return ir_element(k->cg, k->rows.top, k->var.x);
}

/* Rows without a score: each term is exp(-inf + inf).  */
static void settle(Kernel *k, const Partials *p) {
    Cg *cg = k->cg;
    ir_if(cg, ir_binary(cg, IR_EQ, top_of_row(k), cg_real(cg, TE_F32, -(double)INFINITY)));
    for (int i = 0; i < p->n; i++)
        if (p->at[i].follow) ir_set(cg, p->at[i].value, cg_real(cg, p->at[i].e->type, (double)NAN));
    product_select(k, 1);
    chain_open_columns(k);
    ir_set(cg, chain_result(k, k->own->acc), cg_real(cg, TE_F32, (double)NAN));
    chain_close(k, COLUMN_LOOPS);
    product_select(k, 0);
    ir_close(cg);
}

/* Is the leader raised behind the walk?  */
static bool is_raised(const Kernel *k) {
    return chain_statement(k, chain_of(k)->leader)->tensor != chain_of(k)->center;
}

Ir chain_center(Kernel *k, const Partials *p) {
    Cg *cg = k->cg;
    const RowGroup *g = chain_of(k)->rows;
    const TeStmt *own = chain_statement(k, chain_of(k)->leader);
    Ir leader = monoid_of(p, own->rhs)->value;
    if (!is_raised(k)) return leader;
    int stmt = g->stmt[row_group_maker(cg->te, g, chain_of(k)->center)];
    const TeExpr *e = cg->te->stmt[stmt].rhs;
    CgPoint at = elements_point(k, stmt, true);
    k->at.made[own->tensor] = leader;
    Ir center = ir_let_as(cg, IR_F32, "center", cg_expr(&at, e, e->type));
    k->at.made[own->tensor] = NULL;
    return center;
}

static void store(Kernel *k, int t, const CgPoint *p, Ir only) {
    Cg *cg = k->cg;
    TeDtype dtype = cg->te->tensor[t].dtype;
    ir_if(cg, only);
    ir_set(cg, ir_element(cg, cg_tensor(cg, t), cg_offset(cg, t, p->index)),
           cg_encode(cg, dtype, te_dtype_compute(dtype), k->at.made[t]));
    ir_close(cg);
}

void chain_define(Kernel *k, const Partials *p, Ir only) {
    const RowGroup *g = chain_of(k)->rows;
    for (int i = 0; g && i < g->n; i++) {
        const TeStmt *s = chain_statement(k, i);
        bool reduced = g->role[i] == ROW_REDUCE;
        if (g->role[i] == ROW_MAP) continue;
        CgPoint at = elements_point(k, g->stmt[i], true);
        elements_define(k, s->tensor, s->rhs->type,
                        reduced ? monoid_result(monoid_of(p, s->rhs))
                                : cg_expr(&at, s->rhs, s->rhs->type));
        if (elements_in_memory(k, s->tensor)) store(k, s->tensor, &at, only);
    }
}

/* For the maps of the second product's results.  */
static void keep_values(Kernel *k) {
    Cg *cg = k->cg;
    const RowGroup *g = chain_of(k)->rows;
    for (int i = 0; i < g->n; i++) {
        int t = chain_statement(k, i)->tensor;
        if (g->role[i] != ROW_MAP)
            ir_set(cg, ir_element(cg, k->at.rows[t], k->var.x), k->at.made[t]);
    }
}

static void declare_values(Kernel *k) {
    const RowGroup *g = chain_of(k)->rows;
    int rows = chain_thread_rows(k);
    for (int i = 0; i < g->n; i++) {
        int t = chain_statement(k, i)->tensor;
        if (g->role[i] != ROW_MAP)
            k->at.rows[t] = ir_array(k->cg, ir_type(base_of(k, t)), cg_name(k->cg, "r", t), rows,
                                     0, 0);
    }
}

static void forget_values(Kernel *k) {
    const RowGroup *g = chain_of(k)->rows;
    for (int i = 0; i < g->n; i++) {
        int t = chain_statement(k, i)->tensor;
        k->at.made[t] = k->at.factor[t] = NULL;
    }
}

/* Is statement i a sum of nothing but the powers, one of which is 1?  It is 1 at least, or NaN; not
 * where the leader is raised beyond all scores.  */
static bool sums_powers(const Kernel *k, int i) {
    const TeStmt *s = chain_statement(k, i);
    const TeExpr *term = s->rhs->args[0];
    bool sum = chain_of(k)->rows->role[i] == ROW_REDUCE && s->rhs->red == TE_RED_SUM;
    return sum && s->rhs->type == TE_F32 && !s->written && rows_power(term) == term &&
           !is_raised(k);
}

/* Quotients by such sums at the row at hand are products (te-reference.md, "Divide the whole").  */
static void invert_sums(Kernel *k) {
    Cg *cg = k->cg;
    const RowGroup *g = chain_of(k)->rows;
    for (int i = 0; i < g->n; i++) {
        int t = chain_statement(k, i)->tensor;
        if (sums_powers(k, i))
            k->at.factor[t] = ir_let(cg, cg_name(cg, "inverse", t),
                                     ir_div(cg, cg_real(cg, TE_F32, 1), k->at.made[t]));
    }
}

/* ---- results in place ---- */

/* The map of the second product's results that takes their place before they pass through shared
 * memory, since other lanes have the values of its rows behind that; -1: none reads these.  */
static int map_in_place(const Kernel *k) {
    const Contract *last = k->c + 1;
    bool takes = last->r->via == VIA_SHARED && k->c->p->chain->row_maps > 0;
    return takes ? last->p->group->fused[0] : -1;
}

/* At row f of tile i, whose values are defined.  */
static void put_in_place(Kernel *k, int stmt) {
    Cg *cg = k->cg;
    const TeStmt *s = &cg->te->stmt[stmt];
    product_select(k, 1);
    k->at.vec = 1;
    k->at.n_vector = 0;
    chain_open_columns(k);
    place_axis(k, AX_B, k->var.b, false, k->at.index, k->at.wide);
    chain_place(k, AX_M, false);
    chain_place(k, AX_N, false);
    bool tested = chain_open_inside(k, AX_N);
    Ir to = chain_result(k, k->own->acc);
    elements_open_lanes(k);
    elements_define(k, k->c->root->tensor, k->c->p->con.acc, to);
    CgPoint p = elements_point(k, stmt, false);
    ir_set(cg, to, cg_expr(&p, s->rhs, s->rhs->type));
    elements_close_lanes(k);
    k->at.made[k->c->root->tensor] = NULL;
    chain_close(k, tested + COLUMN_LOOPS);
    product_select(k, 0);
}

/* Where the leaders are now, and what they are as scores.  */
static void top_values(Kernel *k, const Partials *p) {
    Cg *cg = k->cg;
    double by = k->task->p->chain->multiple;
    const Partial *leader = monoid_of(p, chain_statement(k, chain_of(k)->leader)->rhs);
    ir_count_of(cg, k->var.x, chain_thread_rows(k), IR_UNROLL_ALL);
    ir_set(cg, top_of_row(k), chain_top(k, leader));
    if (by > 0) ir_update(cg, IR_MUL, leader->value, cg_real(cg, TE_F32, by));
    ir_close(cg);
}

/* Tops of rows whose leaders are raised.  */
static void raise_tops(Kernel *k, const Partials *p) {
    Cg *cg = k->cg;
    const Partial *leader = monoid_of(p, chain_statement(k, chain_of(k)->leader)->rhs);
    if (!is_raised(k)) return;
    ir_scope(cg);
    place_axis(k, AX_B, k->var.b, false, k->at.index, k->at.wide);
    chain_open_rows(k);
    chain_place(k, AX_M, true);
    Ir center = chain_center(k, p);
    ir_if(cg, ir_binary(cg, IR_NE, center, leader->value));
    ir_set(cg, top_of_row(k), chain_exponent(k, center));
    chain_close(k, 1 + ROW_LOOPS);
    ir_close(cg);
}

void chain_finish(Kernel *k) {
    Cg *cg = k->cg;
    int map = map_in_place(k);
    Partials p = chain_held(k);
    Partials online = monoid_select(&p, true);
    ir_note(cg, "rows: their values");
    ir_count_of(cg, k->var.x, chain_thread_rows(k), IR_UNROLL_ALL);
    reduce_threads(cg, &online, MEET_ALL, fragment_lane_bits(&k->c->matrix.results, FRAG_COL),
                   NULL);
    ir_close(cg);
    top_values(k, &p);
    if (k->c->r->split == 1) raise_tops(k, &p);
    chain_rescale(k, &p);
    if (k->c->r->split > 1) return; /* chain_leave */
    declare_values(k);
    ir_scope(cg);
    place_axis(k, AX_B, k->var.b, false, k->at.index, k->at.wide);
    chain_open_rows(k);
    chain_place(k, AX_M, false);
    settle(k, &p);
    bool tested = chain_open_inside(k, AX_M);
    chain_define(k, &p, chain_row_leads(k));
    keep_values(k);
    if (map >= 0) {
        invert_sums(k);
        put_in_place(k, map);
    }
    chain_close(k, tested + ROW_LOOPS);
    ir_close(cg);
    forget_values(k);
    k->at.kept = map >= 0;
}

void chain_rows(Kernel *k) {
    Cg *cg = k->cg;
    const RowGroup *g = chain_of(k)->rows;
    bool asked = k->c->r->via != VIA_SHARED && k->c->r->split == 1;
    for (int i = 0; g && asked && i < g->n; i++) {
        int t = chain_statement(k, i)->tensor;
        if (g->role[i] == ROW_MAP) continue;
        k->at.made[t] = ir_let(cg, cg_name(cg, "e", t),
                               ir_element(cg, k->at.rows[t], chain_thread_row(k)));
    }
    if (g && asked) invert_sums(k);
}
