#include "codegen/block/product.h"
#include "codegen/emit/emit.h"

/* The rows of kernels of products: the products themselves, what adds their slices, and what makes
 * values of rows of what blocks leave of them.  */

static void begin(Kernel *k) {
    const Layout *x = k->l->layout;
    k->ring = ARENA_ARRAY(k->cg->arena, RingAt, x->n_ring);
    k->product = ARENA_ARRAY(k->cg->arena, ProductAt, x->n_product);
    product_select(k, 0);
    place_constants(k);
    if (k->c->async || k->c->matrix.used) smem_address(k);
}

static RoomKind room_written(const Node *n) {
    for (int i = 0; i < n->n_use; i++) {
        if (n->use[i].writes) return n->use[i].room->kind;
    }
    return ROOM_NONE;
}

static void copy(Kernel *k, const Node *n) {
    if (k->c->ring) {
        if (n->of < 0) ring_put(k);
        else if (room_written(n) == ROOM_STAGED) made_read(k);
        else if (room_written(n) == ROOM_FRAGMENTS) made_make(k);
        else if (k->c->side[n->of].l->team > 0 && k->c->side[n->of].l->region)
            region_fill(k, &k->c->side[n->of], n->ring);
        else if (k->c->side[n->of].l->team > 0) load_copy(k, n);
        else ring_copy(k, n);
        return;
    }
    switch (room_written(n)) {
    case ROOM_REGION: region_load(k, &k->c->side[n->of]); break;
    case ROOM_FRAGMENTS:
        if (k->c->matrix.used) fragment_mma_fetch(k, ir_int(k->cg, 0), ir_int(k->cg, 0));
        else fragment_first(k);
        break;
    default: load_copy(k, n);
    }
}

/* ---- rows of results ---- */

static void rows(Kernel *k, const Node *n) {
    (void)n;
    if (product_chains(k)) chain_clear(k);
    else stats_place(k);
}

static void walk(Kernel *k, const Node *n) {
    if (n->to == MEET_ALL) stats_turn(k, n->from);
    else stats_walk(k, n->from, n->to);
}

static void clear(Kernel *k, const Node *n) {
    if (n->from == CLEAR_ROWS) stats_clear(k, n);
    else clear_accumulators(k, n);
}

static void finish(Kernel *k, const Node *n) {
    if (product_chains(k)) chain_finish(k);
    else stats_finish(k, n);
}

/* ---- outputs ---- */

static void elements(Kernel *k, const Node *n) {
    if (n->from) sums_open(k);
    else elements_contract(k);
}

static void slices_elements(Kernel *k, const Node *n) {
    (void)n;
    (k->task->r->tail > 0 ? reduce_tail_elements : reduce_split_elements)(k);
}

static void slices_gather(Kernel *k) {
    if (kernel_merges(k)) chain_gather(k);
    else (k->task->r->tail > 0 ? reduce_tail_gather : reduce_split_gather)(k);
}

const KernelRow kernel_contract = {
    .resident = true,
    .begin = begin,
    .place = place_thread,
    .rows = rows,
    .clear = clear,
    .copy = copy,
    .walk = walk,
    .finish = finish,
    .map = stats_map,
    .elements = elements,
};
const KernelRow kernel_sums = {
    .elements = slices_elements,
    .gather = slices_gather,
};
const KernelRow kernel_stats = {0};
