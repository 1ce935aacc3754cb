#include "codegen/elements/chain.h"

/* Where a thread has rows and columns of a product of a chain: as the unit deals its results.  */

const Chain *chain_of(const Kernel *k) { return k->l->p->group->chain; }

const TeStmt *chain_statement(const Kernel *k, int i) {
    return &k->cg->te->stmt[chain_of(k)->rows->stmt[i]];
}

static int tile_rows(const Kernel *k) { return fragment_slots(&k->c->matrix.results, FRAG_ROW); }

int chain_thread_rows(const Kernel *k) { return k->c->matrix.tiles[AX_M] * tile_rows(k); }

Ir chain_thread_row(const Kernel *k) {
    const Cg *cg = k->cg;
    return ir_add(cg, ir_mul_n(cg, k->var.i, tile_rows(k)), k->var.f);
}

void chain_open_rows(Kernel *k) {
    Cg *cg = k->cg;
    ir_count_of(cg, k->var.i, k->c->matrix.tiles[AX_M], IR_UNROLL_ALL);
    ir_count_of(cg, k->var.f, tile_rows(k), IR_UNROLL_ALL);
    ir_define(cg, k->var.x, chain_thread_row(k));
}

void chain_open_columns(Kernel *k) {
    ir_count_of(k->cg, k->var.j, k->c->matrix.tiles[AX_N], IR_UNROLL_ALL);
    ir_count_of(k->cg, k->var.g, fragment_slots(&k->c->matrix.results, FRAG_COL), IR_UNROLL_ALL);
}

void chain_close(Kernel *k, int loops) {
    for (int i = 0; i < loops; i++) ir_close(k->cg);
}

Ir chain_result(const Kernel *k, Ir all) {
    const Cg *cg = k->cg;
    Ir f = k->var.f, g = k->var.g;
    Ir tile = ir_element(cg, ir_element(cg, all, k->var.i), k->var.j);
    return ir_element(cg, tile, fragment_slot_number(cg, &k->c->matrix.results, f, g));
}

/* What the lane, the tile, and the slot at hand add to the first row, or column.  */
enum { PLACE_PARTS = 3 };
static void add_parts(const Kernel *k, AxisClass axis, Ir part[PLACE_PARTS]) {
    const Cg *cg = k->cg;
    const FragOrder *order = &k->c->matrix.order;
    bool m = axis == AX_M;
    FragDim side = m ? FRAG_ROW : FRAG_COL;
    part[0] = m ? k->var.lane_m : k->var.lane_n;
    part[1] = ir_mul(cg, m ? k->var.i : k->var.j, product_size(k, 'T', axis));
    part[2] = fragment_slot_place(cg, &k->c->matrix.results, side, m ? k->var.f : k->var.g);
    for (int i = 0; i < PLACE_PARTS && !m; i++) part[i] = fragment_column_at(cg, order, part[i]);
}

void chain_place(Kernel *k, AxisClass axis, bool inside) {
    Cg *cg = k->cg;
    bool m = axis == AX_M;
    Ir part[PLACE_PARTS], at = ir_add(cg, product_first(k, axis), m ? k->var.row : k->var.col);
    add_parts(k, axis, part);
    at = ir_add(cg, at, part[0]);
    IrBase base = place_along_base(k, axis);
    at = ir_add_parts(cg, at, ir_add_parts(cg, part[1], part[2]));
    Ir last = ir_sub(cg, product_extent(k, axis), ir_int(cg, 1));
    bool ragged = index_ragged(&k->task->map, (int)axis);
    if (inside && ragged) at = ir_min(cg, at, ir_as(cg, base, last));
    at = ir_let_as(cg, base, m ? "m" : "n", at);
    *(m ? &k->var.m : &k->var.n) = at;
    place_axis(k, (int)axis, at, base == IR_I64, k->at.index, k->at.wide);
}

bool chain_open_inside(Kernel *k, AxisClass axis) {
    Cg *cg = k->cg;
    if (!index_ragged(&k->task->map, (int)axis)) return false;
    Ir at = axis == AX_M ? k->var.m : k->var.n;
    ir_if(cg, ir_lt(cg, at, product_extent(k, axis)));
    return true;
}

Ir chain_row_leads(const Kernel *k) {
    return ir_binary(k->cg, IR_EQ, k->var.lane_n, ir_int(k->cg, 0));
}
