#include "codegen/elements/chain.h"
#include "codegen/expr/sizes.h"

/* Slices of a chain's turns: what each leaves of its rows in the workspace (rprog_chain_left), and
 * the elements of the kernel that merges it.  All that have a row see what its leader is in the
 * whole, so what follows it is made to fit that, and added in order of the slices.  */

static const ReduceArrays left = {.what = MONOID_LEFT, .space = IR_GLOBAL};

static Ir wide(const Cg *cg, Ir x) { return ir_cast(cg, IR_I64, x); }

static Ir extent(const Kernel *k, int axis) {
    TeExtent n = index_extent(k->cg->arena, &k->task->map, axis);
    return n.expr ? wide(k->cg, size_value(k->cg, n)) : ir_number(k->cg, IR_I64, n.value);
}

static Ir all_rows(const Kernel *k) {
    return ir_mul(k->cg, extent(k, AX_B), extent(k, AX_M));
}

/* The row's number over all batches.  */
static Ir row_number(const Kernel *k, Ir b, Ir m) {
    const Cg *cg = k->cg;
    return ir_add(cg, ir_mul(cg, wide(cg, b), extent(k, AX_M)), wide(cg, m));
}

static int64_t parts_of(const Problem *p, const RProg *r) {
    return r->split * p->extent[AX_B] * p->extent[AX_M];
}

void chain_leave(Kernel *k) {
    Cg *cg = k->cg;
    const Problem *of = k->task->p;
    Partials p = chain_held(k);
    ir_note(cg, "rows: what the slice leaves of them");
    Ir base = ir_add(cg, cg_partials(cg), ir_number(cg, IR_I64, rprog_chain_left(of, k->c->r, 0)));
    ir_scope(cg);
    reduce_arrays(cg, &p, left, base, parts_of(of, k->c->r), NULL);
    place_axis(k, AX_B, k->var.b, false, k->at.index, k->at.wide);
    chain_open_rows(k);
    chain_place(k, AX_M, false);
    bool tested = chain_open_inside(k, AX_M);
    Ir b = of->extent[AX_B] > 1 ? k->var.b : ir_int(cg, 0);
    Ir slice = ir_mul(cg, wide(cg, ir_block(cg, 1)), all_rows(k));
    Ir at = ir_add(cg, slice, row_number(k, b, k->var.m));
    ir_if(cg, chain_row_leads(k));
    reduce_put(cg, &p, 0, left, at);
    ir_close(cg);
    chain_close(k, tested + ROW_LOOPS);
    ir_close(cg);
}

/* ---- the merge ---- */

/* What is held of the row, and neighbouring results of the second product.  */
static Partials parts(const Kernel *k) {
    const RowGroup *g = k->l->p->chain->slices;
    Partials p = monoid_pass(k->cg, g, 0, MONOID_HELD, NULL);
    Partials results = monoid_pass(k->cg, g, 0, MONOID_HELD, elements_lane(k));
    p.at[p.n - 1] = results.at[p.n - 1];
    return p;
}

static Ir left_of(const Kernel *k, const Partial *x) {
    const Cg *cg = k->cg;
    return ir_element(cg, reduce_array(cg, x, left, false),
                      ir_mul(cg, wide(cg, k->var.s), k->var.rows));
}

static void fold(Kernel *k, const Partials *p, int i, Ir value) {
    Cg *cg = k->cg;
    const Partial *x = &p->at[i], *leader = &p->at[x->leader];
    if (x->follow) {
        Ir own = monoid_value(cg, MONOID_ALONE, leader);
        value = monoid_fit(cg, x, value, (PartialLeader){own, NULL},
                           (PartialLeader){leader->value, NULL});
    }
    monoid_fold(cg, x, value, NULL, FOLD_ASIDE);
}

/* The neighbours of the slice.  */
static void fold_results(Kernel *k, const Partials *p) {
    Cg *cg = k->cg;
    Ir s = wide(cg, k->var.s), total = k->walk.results;
    Ir from = ir_add(cg, sums_left(k),
                     ir_add(cg, ir_mul(cg, s, wide(cg, total)), wide(cg, k->walk.at)));
    int n = k->at.vec;
    Ir all = ir_let(cg, "sums", n > 1 ? ir_load(cg, from, n)
                                      : ir_element(cg, from, ir_int(cg, 0)));
    Ir v = ir_count_of(cg, k->at.v, n, IR_UNROLL_ALL);
    fold(k, p, p->n - 1, n > 1 ? ir_lane(cg, all, v) : all);
    ir_close(cg);
}

/* All slices of what leads, or of what follows.  */
static void merge(Kernel *k, const Partials *p, bool online) {
    Cg *cg = k->cg;
    Ir s = k->var.s;
    int last = p->n - 1;
    for (int i = 0; i < p->n; i++)
        if ((p->at[i].follow != FOLLOW_NONE) == online)
            monoid_declare(cg, &p->at[i], i == last ? k->at.vec : 0);
    ir_loop(cg, s, ir_int(cg, 0), ir_lt(cg, s, ir_int(cg, k->task->r->split)),
            (IrNext){IR_ADD, ir_int(cg, 1)}, RPROG_PARTIALS);
    for (int i = 0; i < p->n && online; i++)
        if (monoid_is_leader(p, i))
            ir_define(cg, monoid_value(cg, MONOID_ALONE, &p->at[i]), left_of(k, &p->at[i]));
    for (int i = 0; i < p->n; i++) {
        if ((p->at[i].follow != FOLLOW_NONE) != online) continue;
        if (i == last) fold_results(k, p);
        else fold(k, p, i, left_of(k, &p->at[i]));
    }
    ir_close(cg);
}

void chain_gather(Kernel *k) {
    Cg *cg = k->cg;
    const Problem *of = k->l->p;
    Partials p = parts(k), rows = p;
    int leader = of->chain->chain->leader;
    bool online = p.at[p.n - 1].follow != FOLLOW_NONE;
    ir_note(cg, "gather: the slices in order, leaders first");
    rows.n--;
    Ir base = ir_add(cg, cg_partials(cg),
                     ir_number(cg, IR_I64, rprog_chain_left(of, k->task->r, 0)));
    Ir row = ir_let_as(cg, IR_I64, "row_at", row_number(k, k->var.b, k->var.m));
    k->var.rows = ir_let_as(cg, IR_I64, "ROWS", all_rows(k));
    reduce_arrays(cg, &rows, left, base, parts_of(of, k->task->r), row);
    if (online) merge(k, &p, false);
    for (int i = 0; i < p.n && online; i++)
        if (p.at[i].number == leader) p.at[i].value = chain_center(k, &rows);
    merge(k, &p, online);
    ir_count_of(cg, k->at.v, k->at.vec, IR_UNROLL_ALL);
    monoid_settle(cg, &p, NULL);
    ir_close(cg);
    chain_define(k, &rows, ir_binary(cg, IR_EQ, k->var.n, ir_int(cg, 0)));
    k->at.root = p.at[p.n - 1].value;
    k->at.root_type = k->task->p->con.acc;
}
