#include "codegen/elements/reduction.h"
#include "codegen/block/product.h"
#include "codegen/skeleton/row.h"
#include "codegen/expr/sizes.h"

/* The thread map of rows, and values per row.  */

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->task->p, k->task->r); }

static const TeStmt *statement(const Kernel *k, int i) {
    return &k->cg->te->stmt[facts(k)->group->stmt[i]];
}

Partials row_partials(const Kernel *k, int pass) {
    return monoid_pass(k->cg, facts(k)->group, pass, MONOID_HELD, NULL);
}

bool row_makes(const Kernel *k, int tensor, int pass) {
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        if (statement(k, i)->tensor == tensor) return g->pass[i] == pass;
    }
    return false;
}

static Ir columns_of_step(const Kernel *k, Ir step) {
    return ir_mul(k->cg, step, product_size(k, 'B', AX_N));
}

/* The columns of a row's ends, which one slice has: that of which `first` says so.  */
static Ir and_ends(const Kernel *k, Ir columns, Ir slice) {
    const Cg *cg = k->cg;
    if (!row_ends(k)) return columns;
    Ir first = ir_binary(cg, IR_EQ, slice, ir_int(cg, 0));
    Ir ends = ir_sub(cg, k->walk.length, k->walk.body);
    return ir_add(cg, columns, ir_select(cg, first, ends, ir_int(cg, 0)));
}

static Ir columns_of_vectors(const Kernel *k) {
    return row_ends(k) ? k->walk.body : k->walk.length;
}

/* Elements that the threads of a row have seen in this block.  */
static Ir count_of_block(const Kernel *k) {
    const Cg *cg = k->cg;
    const Walk *w = &k->walk;
    if (k->task->r->split == 1) return w->length;
    Ir end = ir_min(cg, columns_of_step(k, w->end), columns_of_vectors(k));
    return and_ends(k, ir_sub(cg, end, columns_of_step(k, w->first)), ir_block(cg, 1));
}

/* Columns of slice s.  */
static Ir count_of_slice(const Kernel *k) {
    const Cg *cg = k->cg;
    TeExtent slice = index_slice(cg->arena, &k->task->map, 1, k->task->r->split);
    Ir columns = ir_as(cg, IR_I64, size_value(cg, slice)), s = k->var.s;
    Ir end = ir_min(cg, ir_mul(cg, ir_add_n(cg, s, 1), columns),
                    ir_as(cg, IR_I64, columns_of_vectors(k)));
    Ir own = ir_max(cg, ir_sub(cg, end, ir_mul(cg, s, columns)), ir_number(cg, IR_I64, 0));
    return and_ends(k, own, s);
}

static ThreadMap row_map(const Kernel *k) {
    const Cg *cg = k->cg;
    const Walk *w = &k->walk;
    int64_t split = k->task->r->split;
    bool none = k->task->p->extent[AX_N] == 0 || row_columns(k).expr;
    return (ThreadMap){.group = facts(k)->group,
                       .held = MONOID_HELD,
                       .count = row_base(k),
                       .threads = rprog_row_threads(k->task->r),
                       .block = k->task->r->threads,
                       .total = w->length,
                       .live = none ? ir_binary(cg, IR_GT, w->length, ir_int(cg, 0)) : NULL,
                       .partials = facts(k)->rows * split,
                       .first = ir_mul(cg, w->read, ir_number(cg, IR_I64, split)),
                       .own = ir_block(cg, 1),
                       .only = row_leads(k),
                       .rank = w->lane,
                       .n_partial = ir_int(cg, split),
                       .at = k->var.s,
                       .elements = split > 1 ? count_of_slice(k) : NULL,
                       .under_way = RPROG_PARTIALS};
}

/* What a pass reduces; where its warps meet, if they do.  */
static Partials place_partials(const Kernel *k, const ThreadMap *m, int pass) {
    Partials p = reduction_partials(k, m, pass);
    if (m->threads > WARP) reduce_rooms(k->cg, &p, k->l->layout, k->var.smem);
    return p;
}

void row_meet(Kernel *k, const Node *n) {
    int pass = n->from;
    ThreadMap m = row_map(k);
    Partials p = place_partials(k, &m, pass);
    reduction_meet(k, &m, &p, count_of_block(k));
}

void row_finish(Kernel *k, const Node *n) {
    int pass = n->from;
    ThreadMap m = row_map(k);
    Partials p = reduction_partials(k, &m, pass);
    reduction_settle(k, &m, &p);
    row_known(k, pass, true);
    ir_simple(k->cg, IR_STMT_BLANK);
}

void row_leave(Kernel *k, const Node *n) {
    int pass = n->from;
    ThreadMap m = row_map(k);
    Partials p = reduction_partials(k, &m, pass);
    reduction_leave(k, &m, &p);
}

void row_combine(Kernel *k, const Node *n) {
    int pass = n->from;
    bool stores = n->to;
    ThreadMap m = row_map(k);
    Partials p = place_partials(k, &m, pass);
    ir_note(k->cg, "combine: the slices of pass %d", pass);
    reduction_left(k, &m, &p);
    reduction_combine(k, &m, &p);
    row_known(k, pass, stores);
    ir_simple(k->cg, IR_STMT_BLANK);
}
