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

/* Threads of neighbouring rows stand side by side.  A part is what so many threads leave of each of
 * their rows; those of a warp that share a row take parts by turns, and meet.  */
static Meeting meeting_of_strips(const Kernel *k) {
    const Cg *cg = k->cg;
    const Problem *p = k->task->p;
    const RProg *r = k->task->r;
    int rows = r->block.extent[AX_M], parts = rprog_row_parts(p, r);
    int takers = rprog_row_takers(p, r), whole = rows > WARP ? rows : WARP;
    Ir tid = k->walk.tid, n = ir_number(cg, IR_U32, rows), all = ir_number(cg, IR_U32, whole);
    if (parts <= 1) return (Meeting){0};
    Ir row = ir_rem(cg, tid, n), own = ir_rem(cg, tid, all);
    Ir first = ir_mul_n(cg, ir_rem(cg, ir_div(cg, own, n), ir_number(cg, IR_U32, takers)), rows);
    Ir leaves = rows < WARP ? ir_lt(cg, own, n) : NULL, from = ir_add(cg, first, row);
    return (Meeting){.parts = parts,
                     .leaves = leaves,
                     .at = ir_add(cg, ir_mul_n(cg, ir_div(cg, tid, all), rows), row),
                     .spread = true,
                     .from = from,
                     .lanes = (takers - 1) * rows,
                     .rounds = parts / takers,
                     .more = ir_add(cg, from, ir_mul_n(cg, k->walk.u, takers * rows))};
}

static void map_strips(const Kernel *k, ThreadMap *m) {
    int rows = k->task->r->block.extent[AX_M], all = rprog_row_threads(k->task->r) * rows;
    m->threads = 1;
    m->lanes = rows < WARP ? (all < WARP ? all : WARP) - rows : 0;
    m->meeting = meeting_of_strips(k);
}

/* Of a pass, in which slices meet (those before the kernel's), or threads of one.  */
ThreadMap row_map(const Kernel *k, const Node *n) {
    const Cg *cg = k->cg;
    const Walk *w = &k->walk;
    int64_t split = k->task->r->split;
    bool slices = split > 1 && n->from < k->l->pass;
    bool none = k->task->p->extent[AX_N] == 0 || row_columns(k).expr;
    ThreadMap m = {.group = facts(k)->group,
                       .held = MONOID_HELD,
                       .count = row_base(k),
                       .threads = rprog_row_threads(k->task->r),
                       .block = k->task->r->threads,
                       .seen = slices ? w->length : count_of_block(k),
                       .meeting = meeting_of_neighbours(k, rprog_row_threads(k->task->r)),
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
    if (rprog_row_strips(k->task->p)) map_strips(k, &m);
    return m;
}

void row_finish(Kernel *k, const Node *n) {
    bool stores = n->to;
    ThreadMap m = row_map(k, n);
    Partials p = reduction_partials(k, &m, n->from);
    reduction_settle(k, &m, &p);
    row_known(k, n->from, stores);
    ir_simple(k->cg, IR_STMT_BLANK);
}
