#include "codegen/expr/sizes.h"
#include "codegen/elements/reduction.h"
#include "codegen/block/product.h"

/* Sums of a product that several blocks have a part of: each stores its own in the workspace, a
 * second kernel adds them in a fixed order.  Of split reductions they lie as [split][B][M][N].  */

void sums_pointer(Kernel *k, Ir name, Ir offset) {
    Cg *cg = k->cg;
    IrType type = ir_pointer(ir_compute(k->task->p->con.acc), IR_GLOBAL, false);
    Ir from = ir_view(cg, type, cg_partials(cg));
    if (offset) from = ir_add(cg, from, offset);
    if (name) ir_define(cg, name, from);
    else k->var.sums = ir_let(cg, "sums", from);
}

void sums_open(Kernel *k) {
    elements_place_outputs(k);
    sums_pointers(k);
    elements_open_outputs(k);
}

/* Where a vector of sums is, brought together where it is apart.  */
static Ir sums_beside(Kernel *k) {
    Cg *cg = k->cg;
    int vec = k->task->vec;
    bool apart = k->c->matrix.used && !fragment_follows(&k->c->matrix.results, FRAG_COL);
    if (!apart || vec == 1) {
        Ir first =
            k->c->matrix.used ? mma_element(k, ir_int(cg, 0)) : product_sum(k, k->var.i, k->var.j);
        return ir_unary(cg, IR_ADDRESS, first);
    }
    Ir all = ir_array(cg, ir_type(ir_compute(k->task->p->con.acc)), "beside", vec, 0, 0);
    Ir v = ir_count(cg, "v", vec, IR_UNROLL_ALL);
    ir_set(cg, ir_element(cg, all, v), mma_element(k, v));
    ir_close(cg);
    return all;
}

void sums_store(Kernel *k) {
    ir_store(k->cg, "rl_store_global", k->task->vec, k->at.sums, sums_beside(k));
}

/* ---- the kernel that adds them ---- */

void sums_elements(Kernel *k, const Ir at[AX_K]) {
    for (int x = AX_B; x <= AX_N; x++)
        elements_along(k, x, at[x], place_wide(k->task->p->extent[x], 0));
}

Ir sums_left(const Kernel *k) {
    IrType type = ir_pointer(ir_compute(k->task->p->con.acc), IR_GLOBAL, false);
    return monoid_variable(k->cg, MONOID_LEFT, -1, type);
}

ThreadMap sums_map(const Kernel *k) {
    return (ThreadMap){.held = MONOID_SUMS,
                       .items = k->at.vec,
                       .lane = elements_lane(k),
                       .count = IR_I32,
                       .threads = 1,
                       .block = k->l->launch.block[0],
                       .under_way = RPROG_PARTIALS};
}

void sums_combine(Kernel *k, const ThreadMap *m) {
    Partials p = reduction_partials(k, m, 0);
    reduction_combine(k, m, &p);
    k->at.root = p.at[0].value;
    k->at.root_type = k->task->p->con.acc;
}

void reduce_split_sums(Kernel *k) {
    ir_note(k->cg, "partial: sums of this slice to the workspace");
    sums_pointer(k, NULL, NULL);
}

void reduce_split_elements(Kernel *k) {
    static const char *const name[] = {[AX_B] = "b", [AX_M] = "m", [AX_N] = "n"};
    Ir *const at[] = {[AX_B] = &k->var.b, [AX_M] = &k->var.m, [AX_N] = &k->var.n};
    Cg *cg = k->cg;
    TeExtent size[AX_K], total = index_total(cg->arena, &k->task->map);
    Ir digit[AX_K];
    for (int x = AX_B; x <= AX_N; x++) size[x] = index_extent(cg->arena, &k->task->map, x);
    bool wide = place_wide(total.value, k->l->launch.span);
    elements_columns(k, k->task->vec);
    ir_note(cg, "elements: %d at a time, the domain is [B][M][N]", k->at.vec);
    k->walk.results =
        ir_constant(cg, "TOTAL", ir_as(cg, place_base(wide), size_value(cg, total)));
    sums_pointer(k, sums_left(k), NULL);
    ThreadMap m = sums_map(k);
    reduction_open_results(k, &m, place_base(wide));
    place_digits(cg, k->walk.at, size, AX_K, wide, digit);
    for (int x = AX_B; x <= AX_N; x++)
        *at[x] = digit[x] =
            ir_let_as(cg, place_base(place_wide(k->task->p->extent[x], 0)), name[x], digit[x]);
    sums_elements(k, digit);
}

void reduce_split_gather(Kernel *k) {
    Cg *cg = k->cg;
    ThreadMap m = sums_map(k);
    ir_note(cg, "gather: the slices in order");
    m.begin = place_taken(k, IR_I64, k->walk.at);
    m.second = ir_int(cg, 1);
    m.n_partial = ir_int(cg, k->task->r->split);
    Ir slice = ir_cast(cg, IR_I64, k->var.s);
    m.at = ir_add(cg, ir_mul(cg, slice, k->walk.results), m.begin);
    sums_combine(k, &m);
}
