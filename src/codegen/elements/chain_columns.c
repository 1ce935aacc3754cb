#include "codegen/elements/chain.h"

/* The columns of a chain that a block's rows have terms in, where a mask decides on that
 * (ColumnBounds): turns begin and end with them, and only tiles that the mask cuts test it.  */

static const ColumnBounds *bounds_of(const Kernel *k) {
    return &k->task->p->group->chain->bounds;
}

/* Ends as they become narrower: of columns of any row of the block, and of those of each.  */
typedef struct {
    Ir begin, end, from, to;
} Ends;

/* ---- an end at a row ---- */

/* Defines the indices of the root at row m.  */
static void define_row(Kernel *k, Ir m) {
    IrBase base = place_along_base(k, AX_M);
    place_axis(k, AX_B, k->var.b, false, k->at.index, k->at.wide);
    place_axis(k, AX_M, ir_let_as(k->cg, base, "m", m), base == IR_I64, k->at.index, k->at.wide);
}

static Ir end_at(Kernel *k, const ColumnBound *x) {
    CgPoint p = elements_point(k, x->stmt, true);
    Ir e = ir_as(k->cg, IR_I64, cg_expr(&p, x->e, TE_I64));
    return x->add ? ir_add(k->cg, e, ir_number(k->cg, IR_I64, x->add)) : e;
}

static void narrow(Kernel *k, Ir to, Ir value, bool from) {
    Cg *cg = k->cg;
    ir_set(cg, to, ir_call(cg, ir_type(IR_I64), from ? "max" : "min", 2, to, value));
}

/* ---- ends of a block ---- */

/* Do rows decide on a part of the bound?  */
static bool of_rows(const Kernel *k, const ColumnBound *x, const TeExpr *e) {
    const FusedAxis *axis = &k->c->p->con.axis[AX_M];
    const TeStmt *s = &k->cg->te->stmt[x->stmt];
    uint32_t uses = access_uses(e);
    bool any = false;
    for (int j = 0; j < s->n_index; j++)
        for (int i = 0; i < axis->n && (uses >> j & 1); i++)
            any |= elements_root_index(k, x->stmt, j) == axis->index[i];
    return any;
}

/* Is it a sum of multiples of the rows' indices and of what rows do not decide on?  */
static bool is_linear(const Kernel *k, const ColumnBound *x, const TeExpr *e) {
    Affine f;
    const TeStmt *s = &k->cg->te->stmt[x->stmt];
    if (!of_rows(k, x, e) || access_affine(k->cg->te, s, e, &f)) return true;
    return e->type == TE_I64 && (e->kind == TE_ADD || e->kind == TE_SUB) &&
           is_linear(k, x, e->args[0]) && is_linear(k, x, e->args[1]);
}

/* Is it one for all rows, or a number that grows or falls with them, so that the first and the last
 * row have the ends of all?  */
static bool is_monotonic(const Kernel *k, const ColumnBound *x) {
    return !of_rows(k, x, x->e) || (k->c->p->con.axis[AX_M].n_digit <= 1 && is_linear(k, x, x->e));
}

/* The end that a bound gives the block (`all`: each of its rows), at two rows.  */
static void narrow_block(Kernel *k, const ColumnBound *x, Ir to, bool from, bool all) {
    Cg *cg = k->cg;
    ir_scope(cg);
    Ir first = product_first(k, AX_M), last = NULL;
    Ir rows = product_extent(k, AX_M);
    Ir end = ir_min(cg, ir_add(cg, first, product_size(k, 'B', AX_M)), rows);
    Ir one = ir_variable(cg, IR_I64, "one", NULL), other = ir_variable(cg, IR_I64, "other", NULL);
    for (int i = 0; i < 2; i++) {
        ir_scope(cg);
        define_row(k, i ? ir_sub(cg, end, ir_int(cg, 1)) : first);
        ir_set(cg, i ? other : one, end_at(k, x));
        ir_close(cg);
    }
    last = ir_call(cg, ir_type(IR_I64), from == all ? "max" : "min", 2, one, other);
    narrow(k, to, last, from);
    ir_close(cg);
}

static void narrow_all(Kernel *k, const Ends *e, const ColumnBound *x, int n, bool from) {
    for (int i = 0; i < n; i++) {
        Ir any = from ? e->begin : e->end, each = from ? e->from : e->to;
        bool known = is_monotonic(k, &x[i]);
        if (known) narrow_block(k, &x[i], any, from, false);
        if (known) narrow_block(k, &x[i], each, from, true);
        else narrow(k, each, ir_number(k->cg, IR_I64, from ? INT32_MAX : 0), from);
    }
}

static Ir define_int(Kernel *k, const char *word, Ir x) {
    Cg *cg = k->cg;
    Ir zero = ir_number(cg, IR_I64, 0);
    x = ir_call(cg, ir_type(IR_I64), "max", 2, x, zero);
    return ir_let_as(cg, IR_I32, word, ir_cast(cg, IR_I32, x));
}

/* Columns of the block's rows; their turns, from the first on.  */
static Ir mask_turns(Kernel *k, Ir *first) {
    Cg *cg = k->cg;
    const ColumnBounds *b = bounds_of(k);
    Ir all = ir_as(cg, IR_I64, product_extent(k, AX_N)), one = ir_int(cg, 1);
    Ir tile = product_size(k, 'B', AX_N);
    ir_note(cg, "columns: those that rows of the block have terms in");
    Variables *v = &k->var;
    Ends e;
    e.begin = ir_variable(cg, IR_I64, "begin", ir_number(cg, IR_I64, 0));
    e.from = ir_variable(cg, IR_I64, "from", ir_number(cg, IR_I64, 0));
    e.end = ir_variable(cg, IR_I64, "end", all);
    e.to = ir_variable(cg, IR_I64, "to", all);
    narrow_all(k, &e, b->from, b->n_from, true);
    narrow_all(k, &e, b->to, b->n_to, false);
    narrow(k, e.begin, ir_sub(cg, all, ir_number(cg, IR_I64, 1)), false);
    narrow(k, e.from, ir_number(cg, IR_I64, INT32_MAX), false);
    v->n_begin = define_int(k, "n_begin", e.begin);
    v->n_from = define_int(k, "n_from", e.from);
    v->n_end = define_int(k, "n_end", e.end);
    v->n_to = define_int(k, "n_to", e.to);
    *first = ir_let_as(cg, IR_I32, "mask_first", ir_div(cg, v->n_begin, tile));
    Ir last = ir_div(cg, ir_sub(cg, ir_add(cg, v->n_end, tile), one), tile);
    return ir_max(cg, ir_sub(cg, last, *first), one);
}

/* Those of all columns.  */
static Ir all_turns(const Kernel *k) {
    const Cg *cg = k->cg;
    const Contract *last = k->c + 1;
    Ir tile = product_size(k, 'B', AX_N), columns = product_extent(k, AX_N);
    if (!last->varying_k) return ir_int(cg, last->steps);
    return ir_div(cg, ir_sub(cg, ir_add(cg, columns, tile), ir_int(cg, 1)), tile);
}

/* Those of the block's slice, of which one may be left without any: it has one, of no columns.  */
static Ir slice_turns(Kernel *k, Ir turns, Ir *first) {
    Cg *cg = k->cg;
    Ir split = ir_int(cg, k->c->r->split), one = ir_int(cg, 1);
    Ir all = ir_let_as(cg, IR_I32, "turns", turns);
    Ir each = ir_let_as(cg, IR_I32, "slice",
                        ir_div(cg, ir_sub(cg, ir_add(cg, all, split), one), split));
    Ir own = ir_let_as(cg, IR_I32, "slice_first", ir_mul(cg, ir_block(cg, 1), each));
    *first = ir_add(cg, *first, own);
    return ir_max(cg, ir_min(cg, ir_sub(cg, all, own), each), one);
}

void chain_columns(Kernel *k) {
    Cg *cg = k->cg;
    Ir first = ir_int(cg, 0);
    Ir turns = product_bounded(k) ? mask_turns(k, &first) : all_turns(k);
    if (k->c->r->split > 1) turns = slice_turns(k, turns, &first);
    first = k->var.turn_first = ir_let_as(cg, IR_I32, "turn_first", first);
    k->var.steps = ir_let_as(cg, IR_I32, "steps", turns);
    product_select(k, 1);
    ir_set(cg, k->own->k_next, ir_mul(cg, first, product_size(k, 'B', AX_K)));
    product_select(k, 0);
    ir_simple(cg, IR_STMT_BLANK);
}

/* ---- ends of a row ---- */

Ir chain_cut(const Kernel *k) {
    const Cg *cg = k->cg;
    const ColumnBounds *b = bounds_of(k);
    Ir first = product_first(k, AX_N), end = ir_add(cg, first, product_size(k, 'B', AX_N)), test;
    if (!product_bounded(k)) {
        if (!k->c->side[1].ragged) return NULL;
        return ir_binary(cg, IR_GT, end, product_extent(k, AX_N));
    }
    test = ir_binary(cg, IR_GT, end, k->var.n_to);
    if (b->n_from == 0) return test;
    return ir_binary(cg, IR_EITHER, test, ir_lt(cg, first, k->var.n_from));
}

void chain_row_ends(Kernel *k) {
    Cg *cg = k->cg;
    const ColumnBounds *b = bounds_of(k);
    Ir to = ir_variable(cg, IR_I64, "to", ir_as(cg, IR_I64, product_extent(k, AX_N)));
    Ir from = ir_variable(cg, IR_I64, "from", ir_number(cg, IR_I64, 0));
    for (int i = 0; i < b->n_from; i++) narrow(k, from, end_at(k, &b->from[i]), true);
    for (int i = 0; i < b->n_to; i++) narrow(k, to, end_at(k, &b->to[i]), false);
    k->var.row_from = define_int(k, "row_from", from);
    k->var.row_to = define_int(k, "row_to", to);
}

Ir chain_outside(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir n = k->var.n;
    Ir behind = ir_binary(cg, IR_GE, n, k->var.row_to);
    if (bounds_of(k)->n_from == 0) return behind;
    return ir_binary(cg, IR_EITHER, behind, ir_lt(cg, n, k->var.row_from));
}
