#include "codegen/expr/sizes.h"
#include "codegen/skeleton/skeleton.h"

/* Maps, and reductions as loops: any program, extents known at run time included.  */

/* Vectors of the block's elements; where the domain may end in one, those that are whole.  */
static Ir open_vectors(Kernel *k, Ir total) {
    Cg *cg = k->cg;
    bool folds = kernel_root(k)->rhs->kind == TE_REDUCE;
    bool rest = rprog_stream_rest(k->task->p, k->task->r);
    Walked w = {.vec = k->task->vec, .unroll = folds ? 1 : BOX_UNROLL, .domain = !rest};
    ir_note(cg, "elements: %d at a time", w.vec);
    box_along(&w, 0, k->l->launch.span);
    BoxVector v = box_open(k, &w);
    Ir at = ir_let(cg, "at", box_point(k, &v, 0));
    if (rest) box_open_if(k, &v, ir_binary(cg, IR_LE, at, ir_add_n(cg, total, -w.vec)));
    k->at.open = v.open;
    return at;
}

/* Fewer elements than a vector has: a thread for each, of the block whose vector they would be.  */
static Ir open_rest(Kernel *k, Ir total) {
    Cg *cg = k->cg;
    ir_note(cg, "rest: less than %d elements", k->task->vec);
    ir_scope(cg);
    Ir whole = ir_binary(cg, IR_AND, total, ir_int(cg, -k->task->vec));
    Ir at = ir_let(cg, "at", ir_add(cg, whole, ir_as(cg, IR_I32, k->var.tid)));
    Ir block = place_part(cg, at, k->l->launch.span, box_wide(k, 0));
    ir_if(cg, ir_both(cg, ir_lt(cg, at, total), ir_binary(cg, IR_EQ, block, ir_block(cg, 0))));
    k->at.open = 2;
    return at;
}

static void stream_elements(Kernel *k, const Node *n) {
    const IndexAxis *domain = &k->task->map.axis[0];
    bool wide = box_wide(k, 0);
    TeExtent all = index_extent(k->cg->arena, &k->task->map, 0);
    Ir total = ir_as(k->cg, place_base(wide), size_value(k->cg, all));
    elements_order(k, domain->index, domain->n, n->rest ? 1 : k->task->vec);
    k->at.flat = true;
    Ir at = (n->rest ? open_rest : open_vectors)(k, total);
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
    .place = box_place,
    .fold = stream_fold,
    .elements = stream_elements,
};
