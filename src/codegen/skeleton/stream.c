#include "codegen/expr/sizes.h"
#include "codegen/skeleton/skeleton.h"

/* Maps, and reductions as loops: any program, extents known at run time included.  */

/* Vectors of the block's elements; where the domain may end in one, those that are whole.  */
static Ir open_vectors(Kernel *k, TeExtent all, IrBase base) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    int threads = k->l->launch.block[0];
    int64_t span = k->l->launch.span, rounds = span / threads / at->vec;
    bool folds = kernel_root(k)->rhs->kind == TE_REDUCE;
    bool rest = rprog_stream_rest(k->task->p, k->task->r);
    ir_note(cg, "elements: %d at a time", at->vec);
    Ir total = k->walk.results = ir_let_as(cg, base, "total", size_value(cg, all));
    Ir u = ir_count(cg, "u", rounds, folds || rounds > 8 ? 1 : IR_UNROLL_ALL);
    Ir vector = ir_add(cg, ir_mul_n(cg, u, threads), ir_as(cg, IR_I32, ir_thread(cg)));
    Ir first = ir_mul(cg, ir_as(cg, base, ir_block(cg, 0)), ir_int(cg, span));
    Ir own = ir_let_as(cg, base, "at", ir_add(cg, first, ir_mul_n(cg, vector, at->vec)));
    at->open = 1;
    if (!index_ragged(&k->task->map, 0)) return own;
    if (rest) ir_if(cg, ir_binary(cg, IR_LE, own, ir_add_n(cg, total, -at->vec)));
    else ir_if(cg, ir_lt(cg, own, total));
    at->open++;
    return own;
}

/* Fewer elements than a vector has: a thread for each, of the block whose vector they would be.  */
static Ir open_rest(Kernel *k, bool wide, IrBase base) {
    Cg *cg = k->cg;
    Ir total = k->walk.results;
    ir_note(cg, "rest: less than %d elements", k->task->vec);
    ir_scope(cg);
    Ir whole = ir_binary(cg, IR_AND, total, ir_int(cg, -k->task->vec));
    Ir own = ir_let_as(cg, base, "at", ir_add(cg, whole, ir_as(cg, IR_I32, ir_thread(cg))));
    Ir block = place_part(cg, own, k->l->launch.span, wide);
    ir_if(cg, ir_both(cg, ir_lt(cg, own, total), ir_binary(cg, IR_EQ, block, ir_block(cg, 0))));
    k->at.open = 2;
    return own;
}

static void stream_elements(Kernel *k, const Node *n) {
    const IndexAxis *domain = &k->task->map.axis[0];
    TeExtent all = index_total(k->cg->arena, &k->task->map);
    bool wide = place_wide(all.value, k->l->launch.span);
    elements_order(k, domain->index, domain->n, n->rest ? 1 : k->task->vec);
    k->at.flat = true;
    Ir at = n->rest ? open_rest(k, wide, place_base(wide)) : open_vectors(k, all, place_base(wide));
    elements_along(k, 0, at, wide);
}

/* ---- reductions ---- */

/* A recurrence from the end, whose places are met from the first one on.  */
static bool runs_down(const TeExpr *e) {
    return te_is_recurrence(e) && te_recurrence_order(e)->kind == TE_GE;
}

static void stream_fold(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    int stmt = k->task->p->group->root;
    const TeExpr *e = kernel_root(k)->rhs;
    const RowGroup *g = k->task->p->group->columns;
    Partials p = monoid_pass(cg, g, 0, MONOID_HELD, elements_lane(k));
    ir_note(cg, "fold: the reduction");
    reduce_clear(cg, &p, at->vec);
    for (int i = 0; i < e->n_index; i++) {
        int j = e->index[i];
        const TeExtent *n = &kernel_root(k)->index[j].hi;
        at->wide[j] = n->value > INT32_MAX;
        Ir first = ir_number(cg, place_base(at->wide[j]), 0);
        at->index[j] = ir_for(cg, ir_numbered(cg, "i", j), first, cg_extent(cg, n), 1,
                              IR_UNROLL_FREE);
    }
    elements_load_vectors(k, stmt, e);
    elements_open_lanes(k);
    elements_fold(k, g, &p.at[0], NULL, runs_down(e) ? FOLD_BEFORE : FOLD_BEHIND);
    elements_close_lanes(k);
    at->n_vector = 0;
    for (int i = 0; i < e->n_index; i++) ir_close(cg);
    at->root = monoid_result(&p.at[0]);
    at->root_type = e->type;
}

const KernelRow kernel_stream = {
    .fold = stream_fold,
    .elements = stream_elements,
};
