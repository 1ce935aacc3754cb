#include "codegen/multiply/multiply.h"
#include "codegen/block/product.h"

void contract_add(Kernel *k, Ir acc, int n, Ir from) {
    Partials p = monoid_alone(k->cg->te->stmt[k->task->p->con.stmt].rhs, NULL);
    p.at[0].value = acc;
    reduce_add(k->cg, &p.at[0], k->at.v, n, from);
}

/* ---- slices of warps ---- */

/* Warps that worked on other k of every step hand their sums to those of slice 0, which adds them
 * in order of the slice and goes on alone.  (Sums of matrices that pass through shared memory on
 * their way out meet there: store_smem.c.)  */

/* Accumulators of a thread: so many neighbours in each of rows and columns.  */
typedef struct {
    int rows, columns, items;
} Tile;

static Tile tile_of(const Kernel *k) {
    const Contract *c = k->c;
    if (c->matrix.used)
        return (Tile){c->matrix.tiles[AX_M], c->matrix.tiles[AX_N], c->matrix.accumulators};
    return (Tile){c->r->thread.extent[AX_M], 1, c->r->thread.extent[AX_N]};
}

/* Threads of a slice, which take turns.  */
static int threads_of(const Kernel *k) { return k->c->r->threads / k->c->warps[AX_K]; }

static ReduceArrays copies(const Kernel *k) {
    return (ReduceArrays){MONOID_COPIES, IR_SHARED, threads_of(k)};
}

static Ir copies_at(const Kernel *k) {
    IrType type = ir_pointer(ir_compute(k->task->p->con.acc), IR_SHARED, false);
    return monoid_variable(k->cg, MONOID_COPIES, -1, type);
}

/* Moves the pointer to the thread's copies by so many slices.  */
static void move_copies(Kernel *k, Ir slices) {
    Tile t = tile_of(k);
    ir_update(k->cg, IR_ADD, copies_at(k),
              ir_mul_n(k->cg, slices, t.rows * t.columns * t.items * threads_of(k)));
}

/* Opens loops over neighbours of a thread, which lie `at` of a slice's.  */
static Partials open_all(Kernel *k, Ir *at) {
    Cg *cg = k->cg;
    Tile t = tile_of(k);
    Ir number = ir_count_of(cg, k->var.i, t.rows, IR_UNROLL_ALL);
    Ir array = product_row(k, number);
    if (k->c->matrix.used) {
        Ir j = ir_count_of(cg, k->var.j, t.columns, IR_UNROLL_ALL);
        array = ir_element(cg, array, j);
        number = ir_add(cg, ir_mul_n(cg, number, t.columns), j);
    }
    *at = ir_mul_n(cg, number, t.items * threads_of(k));
    return monoid_alone(k->cg->te->stmt[k->task->p->con.stmt].rhs, array);
}

static void close_all(Kernel *k) {
    if (k->c->matrix.used) ir_close(k->cg);
    ir_close(k->cg);
}

void reduce_slices_place(Kernel *k) {
    Cg *cg = k->cg;
    int items = tile_of(k).items, width = RTILE_ACCESS / k->c->p->acc_bytes;
    while (items % width) width /= 2;
    Ir own = ir_rem(cg, k->var.tid, ir_int(cg, threads_of(k)));
    Ir from = smem_at(k, ir_compute(k->c->p->con.acc), false, ir_int(cg, 0));
    ir_declare(cg, copies_at(k), ir_add(cg, from, ir_mul_n(cg, own, width)));
}

void reduce_slices_put(Kernel *k) {
    Cg *cg = k->cg;
    Ir slice = ir_div(cg, k->var.k_warp, ir_int(cg, k->c->r->warp.extent[AX_K]));
    Ir at;
    move_copies(k, ir_add_n(cg, slice, -1));
    Partials p = open_all(k, &at);
    reduce_put(cg, &p, tile_of(k).items, copies(k), at);
    close_all(k);
}

void reduce_slices(Kernel *k) {
    Cg *cg = k->cg;
    int others = k->c->warps[AX_K] - 1;
    Ir at;
    if (others > 1) ir_count_of(cg, k->var.s, others, 1);
    Partials p = open_all(k, &at);
    reduce_partial(cg, &p, tile_of(k).items, &(ReducePartial){copies(k), NULL, at});
    close_all(k);
    if (others == 1) return;
    move_copies(k, ir_int(cg, 1));
    ir_close(cg);
}
