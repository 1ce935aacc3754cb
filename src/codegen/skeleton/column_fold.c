#include "codegen/skeleton/column.h"
#include "codegen/elements/reduction.h"

/* The walk down the columns of a thread, in steps of some rows.  What the leaders of online
 * reductions take of a step is kept until those have followed.  */

static Ir taken_of(const Cg *cg, const Partial *leader) {
    IrBase base = ir_compute(te_reduced_type(leader->e));
    return monoid_variable(cg, MONOID_TAKEN, leader->tensor, ir_array_of(base));
}

/* The leader's element of the row at hand in a step of `deep`.  */
static Ir taken(const Kernel *k, const Partial *leader, int deep, Ir lane) {
    const Cg *cg = k->cg;
    if (deep > 1) lane = ir_add(cg, ir_mul_n(cg, k->walk.u, k->at.vec), lane);
    return ir_element(cg, taken_of(cg, leader), lane);
}

static Ir open_rows(Kernel *k, int deep) {
    return deep > 1 ? ir_count_of(k->cg, k->walk.u, deep, IR_UNROLL_ALL) : NULL;
}

static void close_rows(Kernel *k, int deep) {
    if (deep > 1) ir_close(k->cg);
}

/* One row of the thread's columns, `now`; positions grow from call to call.  */
static void fold_row(Kernel *k, int deep, Ir now) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    Ir lane = column_lane(k);
    Partials p = column_partials(k, lane);
    place_axis(k, 1, now, false, at->index, at->wide);
    for (int i = 0; i < p.n; i++)
        elements_load_vectors(k, column_group(k)->stmt[p.at[i].number], p.at[i].e->args[0]);
    elements_open_lanes(k);
    for (int i = 0; i < p.n; i++) {
        const Partial *x = &p.at[i];
        if (x->follow) continue;
        if (!monoid_is_leader(&p, i)) {
            elements_fold(k, column_group(k), x, now, FOLD_BEHIND);
            continue;
        }
        CgPoint point = elements_point(k, column_group(k)->stmt[x->number], false);
        Ir value = cg_expr(&point, x->e->args[0], x->e->type);
        ir_set(cg, taken(k, x, deep, lane), value);
    }
    elements_close_lanes(k);
    at->n_vector = 0;
}

static Ir taken_value(const Kernel *k, const Partial *x, int deep) {
    return taken(k, x, deep, column_lane(k));
}

/* The term of an online sum: what the leader took of a row stands in it as it was.  */
static void fold_term(Kernel *k, const Partials *p, const Partial *online, int deep) {
    const TeExpr *term = online->e->args[0], *difference = term->args[0];
    CgGiven given = {difference->args[0], taken_value(k, &p->at[online->leader], deep)};
    CgPoint point = elements_point(k, column_group(k)->stmt[online->number], false);
    point.given = &given;
    point.n_given = 1;
    monoid_fold(k->cg, online, cg_expr(&point, term, online->e->type), NULL, FOLD_ASIDE);
}

static void fold_half(Kernel *k, const Partials *p, int deep, bool online) {
    open_rows(k, deep);
    for (int i = 0; i < p->n; i++) {
        const Partial *x = &p->at[i];
        if (online && x->follow) fold_term(k, p, x, deep);
        if (!online && monoid_is_leader(p, i))
            monoid_fold(k->cg, x, taken_value(k, x, deep), NULL, FOLD_ASIDE);
    }
    close_rows(k, deep);
}

static void follow(Kernel *k, int deep) {
    Partials p = column_partials(k, column_lane(k));
    if (!column_view(k)->followers) return;
    elements_open_lanes(k);
    reduction_step(k, &p, deep, fold_half, deep);
    elements_close_lanes(k);
    if (monoid_counts(&p))
        ir_update(k->cg, IR_ADD, monoid_counted(k->cg, MONOID_SEEN, p.count), ir_int(k->cg, deep));
}

/* Steps of `deep` rows from `kk` on, while there are so many.  */
static void fold_steps(Kernel *k, int deep, Ir kk) {
    Cg *cg = k->cg;
    int groups = column_groups(k);
    Partials p = column_partials(k, column_any(k));
    Ir last = ir_add_n(cg, kk, (deep - 1) * groups);
    ir_go_on(cg, kk, ir_lt(cg, last, k->walk.end),
             (IrNext){IR_ADD, ir_int(cg, deep * groups)}, 1);
    for (int i = 0; i < p.n; i++) {
        if (monoid_is_leader(&p, i))
            ir_declare_array(cg, taken_of(cg, &p.at[i]), deep * k->at.vec);
    }
    Ir u = open_rows(k, deep);
    Ir now = ir_let(cg, "k_now", u ? ir_add(cg, kk, ir_mul_n(cg, u, groups)) : kk);
    fold_row(k, deep, now);
    close_rows(k, deep);
    follow(k, deep);
    ir_close(cg);
}

void column_fold(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->task->r;
    int deep = r->thread.extent[AX_K];
    bool ragged = index_ragged(&k->task->map, 0);
    Partials p = column_partials(k, column_any(k));
    ir_note(cg, "fold: every %d. row, %d in flight", column_groups(k), deep);
    reduce_clear(cg, &p, r->thread.extent[AX_M]);
    if (ragged) ir_if(cg, ir_lt(cg, k->walk.at, k->walk.results));
    Ir kk = ir_variable(cg, IR_I32, "kk", ir_add(cg, k->walk.first, k->walk.row));
    if (deep > 1) fold_steps(k, deep, kk);
    if (deep == 1 || index_ragged(&k->task->map, 1)) fold_steps(k, 1, kk);
    if (ragged) ir_close(cg);
}
