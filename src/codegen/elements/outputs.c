#include "codegen/block/product.h"
#include "codegen/elements/elements.h"

/* The outputs of a thread of `contract`: the loops over them, and statements there.  */

void elements_place_outputs(Kernel *k) {
    Cg *cg = k->cg;
    int vec = k->task->vec, columns = k->task->r->thread.extent[AX_N];
    k->at.open = 0;
    k->at.turns = (Turns){0};
    if (k->c->matrix.used) {
        mma_place_outputs(k);
        return;
    }
    Ir j = k->var.j, row = product_spread(k, AX_M, k->var.i);
    Ir column = product_spread(k, AX_N, j);
    ir_scope(cg);
    k->at.open = 1;
    store_position(k, AX_M, ir_add(cg, product_first(k, AX_M), k->var.row), row);
    store_position(k, AX_N, ir_add(cg, product_first(k, AX_N), k->var.col), column);
    store_turns(k, &(Turns){.var = k->var.j,
                            .end = columns,
                            .by = vec,
                            .count = columns / vec,
                            .turn = ir_div(cg, j, ir_int(cg, vec)),
                            .part = {NULL, column},
                            .rest = row});
}

void elements_open_rows(Kernel *k) {
    if (k->c->matrix.used) {
        mma_open_rows_of(k);
        return;
    }
    ir_count_of(k->cg, k->var.i, k->task->r->thread.extent[AX_M], IR_UNROLL_ALL);
    k->at.open++;
    store_open_inside(k, AX_M, index_ragged(&k->task->map, AX_M));
    stats_rows(k);
}

void elements_open_columns(Kernel *k) {
    Cg *cg = k->cg;
    if (k->c->matrix.used) {
        mma_open_columns_of(k);
        return;
    }
    ir_for_of(cg, k->var.j, ir_int(cg, 0), ir_int(cg, k->task->r->thread.extent[AX_N]),
              k->at.walk ? k->at.walk : k->task->vec, IR_UNROLL_ALL);
    k->at.open++;
    store_open_inside(k, AX_N, index_ragged(&k->task->map, AX_N));
}

void elements_open_outputs(Kernel *k) {
    elements_open_rows(k);
    elements_open_columns(k);
}

void elements_open_row(Kernel *k) {
    StoreVia via = k->c->r->via;
    k->at.in_row = false;
    if (via == VIA_BOXES) ring_open_row(k);
    else if (via == VIA_SHARED) mma_open_vector(k);
    else elements_open_columns(k);
    elements_indices(k);
}

/* The result at element v; of those that pass through shared memory it is what a turn reads.  */
static Ir result_of(const Kernel *k) {
    const Cg *cg = k->cg;
    Ir lane = elements_lane(k);
    bool passes = k->c->r->via == VIA_SHARED && !k->at.walk;
    if (k->c->matrix.used) return passes ? NULL : mma_element(k, lane);
    return product_sum(k, k->var.i, ir_add(cg, k->var.j, lane));
}

void elements_begin(Kernel *k) {
    Elements *at = &k->at;
    elements_columns(k, at->walk ? at->walk : k->task->vec);
    at->root = result_of(k);
    at->root_type = k->task->p->con.acc;
    if (!at->walk)
        ir_note(k->cg, "elements: %d outputs of the thread at a time%s", at->vec,
                k->c->r->via == VIA_SHARED ? ", through shared memory" : "");
    place_axis(k, AX_B, k->var.b, false, at->index, at->wide);
}

void elements_contract(Kernel *k) {
    elements_begin(k);
    elements_place_outputs(k);
    store_pointers(k);
    elements_open_rows(k);
    k->at.in_row = true;
}

void elements_end(Kernel *k) {
    for (; k->at.open > 0; k->at.open--) ir_close(k->cg);
    k->at.own[0] = k->at.own[1] = NULL;
}

/* ---- the statements of a pass ---- */

void elements_statements(Kernel *k, const RowGroup *g, uint64_t mask, const Partials *all,
                         const Output *out) {
    for (int i = 0; i < g->n; i++) {
        const TeExpr *e = k->cg->te->stmt[g->stmt[i]].rhs;
        if (!(mask >> i & 1)) continue;
        if (g->role[i] == ROW_MAP) {
            CgPoint p = elements_point(k, g->stmt[i], false);
            store_define(k, g->stmt[i], e->type, cg_expr(&p, e, e->type), &out[i]);
        } else {
            elements_fold(k, g, monoid_of(all, e), NULL, FOLD_ASIDE);
        }
    }
}

void elements_forget(Kernel *k, const RowGroup *g) {
    for (int i = 0; i < g->n; i++) {
        if (g->role[i] == ROW_MAP) k->at.made[k->cg->te->stmt[g->stmt[i]].tensor] = NULL;
    }
}
