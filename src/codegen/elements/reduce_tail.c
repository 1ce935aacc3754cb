#include "codegen/block/product.h"
#include "codegen/elements/reduction.h"

/* Tiles whose k-steps are dealt out to several blocks (stream-K): a block goes through the tiles
 * that it has steps of, partial sums lie in the workspace by block and tile, and a second kernel
 * adds them in order of the block.  */

static int64_t full_tiles(const Kernel *k) {
    return rprog_blocks(k->task->p, k->task->r) - k->task->r->tail;
}

static int tile_size(const Kernel *k) {
    const RTile *t = &k->task->r->block;
    return t->extent[AX_M] * t->extent[AX_N];
}

static Ir number(const Kernel *k, int64_t n) { return ir_int(k->cg, n); }
static Ir divisor(const Kernel *k, int64_t n) { return ir_number(k->cg, IR_U32, n); }
static Ir block_at(const Kernel *k) { return ir_cast(k->cg, IR_I32, ir_block(k->cg, 0)); }

/* Which of all steps, tile by tile, are the block's: those from `at` on, up to an end.  */
static Ir steps_at(const Kernel *k, Ir u, int64_t each) {
    return ir_mul(k->cg, u, number(k, each));
}

void reduce_tail_segments(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->task->r;
    int64_t steps = k->c->steps, full = full_tiles(k), all = full + r->tail;
    int64_t each = rprog_tail_steps(k->task->p, r);
    ir_note(cg, "segments: k-steps of the last %d of %lld tiles, %lld to a block", (int)r->tail,
            (long long)all, (long long)each);
    Ir u = k->var.share = ir_let(cg, "u", ir_sub(cg, block_at(k), number(k, full)));
    Ir whole = ir_lt(cg, u, number(k, 0));
    Ir behind = ir_add(cg, number(k, full * steps), steps_at(k, u, each));
    Ir at = ir_variable(cg, IR_I32, "at",
                        ir_select(cg, whole, steps_at(k, block_at(k), steps), behind));
    Ir last = ir_min(cg, ir_add(cg, at, number(k, each)), number(k, all * steps));
    Ir end = ir_let_as(cg, IR_I32, "end",
                       ir_select(cg, whole, ir_add(cg, at, number(k, steps)), last));
    Ir own = k->var.steps = ir_variable(cg, IR_I32, "steps", number(k, 0));
    ir_go_on(cg, at, ir_lt(cg, at, end), (IrNext){IR_ADD, own}, 1);
    k->var.number = ir_let_as(cg, IR_U32, "number", ir_div(cg, at, divisor(k, steps)));
    Ir first = k->var.first = ir_let_as(cg, IR_I32, "first", ir_rem(cg, at, divisor(k, steps)));
    ir_set(cg, own, ir_min(cg, ir_sub(cg, number(k, steps), first), ir_sub(cg, end, at)));
}

/* The first step of share `own`, which none behind the last one has.  */
static Ir share_at(const Kernel *k, Ir own) {
    const Cg *cg = k->cg;
    const RProg *r = k->task->r;
    Ir share = ir_min(cg, own, number(k, r->tail_blocks));
    return ir_add(cg, number(k, full_tiles(k) * k->c->steps),
                  steps_at(k, share, rprog_tail_steps(k->task->p, r)));
}

static Ir share_end(const Kernel *k, Ir own) {
    const Cg *cg = k->cg;
    int64_t all = (full_tiles(k) + k->task->r->tail) * k->c->steps;
    return ir_min(cg, share_at(k, ir_add(cg, own, number(k, 1))), number(k, all));
}

/* On to the next whole tile, or in the share, or to the next one.  */
static void go_on(Kernel *k, Ir whole, Ir next, Ir own, Ir at, Ir end) {
    Cg *cg = k->cg;
    Ir grid = k->var.grid, steps = k->var.steps;
    ir_if(cg, whole);
    ir_update(cg, IR_ADD, next, grid);
    ir_else(cg);
    ir_update(cg, IR_ADD, at, steps);
    ir_if(cg, ir_binary(cg, IR_EQ, at, end));
    ir_update(cg, IR_ADD, own, grid);
    ir_set(cg, at, share_at(k, own));
    ir_set(cg, end, share_end(k, own));
    ir_close(cg);
    ir_close(cg);
}

/* A block takes shares of these steps as it does tiles: several, where fewer blocks are launched.
 */
void reduce_tail_stays(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->task->r;
    int64_t steps = k->c->steps, full = full_tiles(k);
    ir_note(cg, "segments: whole tiles, then k-steps of the last %d of %lld, %lld to a share",
            (int)r->tail, (long long)(full + r->tail), (long long)rprog_tail_steps(k->task->p, r));
    Ir next = ir_variable(cg, IR_U32, "next", ir_block(cg, 0));
    Ir from = k->var.from = ir_variable(cg, IR_U32, "from", number(k, 0));
    Ir own = ir_variable(cg, IR_I32, "own", block_at(k));
    Ir at = ir_variable(cg, IR_I32, "at", share_at(k, own));
    Ir end = ir_variable(cg, IR_I32, "end", share_end(k, own));
    Ir length = k->var.steps = ir_variable(cg, IR_I32, "steps", number(k, 0));
    Ir more = ir_lt(cg, next, divisor(k, full));
    ir_go_on(cg, from, ir_binary(cg, IR_EITHER, more, ir_lt(cg, at, end)),
             (IrNext){IR_ADD, length}, 1);
    Ir whole = ir_let(cg, "whole", more);
    k->var.number = ir_let_as(cg, IR_U32, "number",
                              ir_select(cg, whole, next, ir_div(cg, at, divisor(k, steps))));
    k->var.share = ir_let(cg, "u", own);
    Ir first = k->var.first = ir_let_as(cg, IR_I32, "first", ir_select(cg, whole, number(k, 0),
                                                        ir_rem(cg, at, divisor(k, steps))));
    Ir rest = ir_min(cg, ir_sub(cg, number(k, steps), first), ir_sub(cg, end, at));
    ir_set(cg, length, ir_select(cg, whole, number(k, steps), rest));
    go_on(k, whole, next, own, at, end);
}

void reduce_tail_sums(Kernel *k) {
    Cg *cg = k->cg;
    Ir tile = ir_cast(cg, IR_I64, k->var.number);
    Ir part = ir_sub(cg, ir_add(cg, k->var.share, tile), number(k, full_tiles(k)));
    ir_note(cg, "partial: sums of this segment to the workspace");
    sums_pointer(k, NULL, ir_mul(cg, part, number(k, tile_size(k))));
}

/* ---- the kernel that adds them ---- */

/* The tile's first unit with steps of it, and how many others there are.  */
static void units(Kernel *k, Ir y) {
    Cg *cg = k->cg;
    const Problem *p = k->task->p;
    int64_t steps = rprog_tiles(p, k->task->r, AX_K);
    Ir each = divisor(k, rprog_tail_steps(p, k->task->r)), all = ir_mul(cg, y, number(k, steps));
    k->walk.first = ir_let_as(cg, IR_I32, "first", ir_div(cg, all, each));
    all = ir_add(cg, all, number(k, steps - 1));
    k->walk.end = ir_let_as(cg, IR_I32, "total", ir_div(cg, all, each));
}

/* The tile of the thread, and its elements in it.  */
static void place_vector(Kernel *k) {
    Cg *cg = k->cg;
    int64_t adders = rprog_tail_adders(k->task->r, k->l->launch.span);
    int columns = k->task->r->block.extent[AX_N];
    Ir block = ir_block(cg, 0), thread = ir_mul(cg, ir_thread(cg), number(k, k->at.vec));
    Ir y = k->walk.row = ir_let_as(cg, IR_I32, "y", ir_div(cg, block, divisor(k, adders)));
    place_tile(k, ir_let_as(cg, IR_U32, "number", ir_add(cg, y, number(k, full_tiles(k)))));
    Ir span = ir_mul(cg, ir_rem(cg, block, divisor(k, adders)), number(k, k->l->launch.span));
    k->walk.at = ir_let_as(cg, IR_I32, "at", ir_add(cg, span, thread));
    Ir row = ir_div(cg, k->walk.at, number(k, columns));
    Ir column = ir_rem(cg, k->walk.at, number(k, columns));
    row = ir_add(cg, product_first(k, AX_M), row);
    column = ir_add(cg, product_first(k, AX_N), column);
    k->var.m = ir_let_as(cg, place_along_base(k, AX_M), "m", row);
    k->var.n = ir_let_as(cg, place_along_base(k, AX_N), "n", column);
    units(k, y);
}

void reduce_tail_elements(Kernel *k) {
    Cg *cg = k->cg;
    const Problem *p = k->task->p;
    elements_columns(k, k->task->vec);
    ir_note(cg, "elements: %d at a time, of tiles that several blocks have steps of", k->at.vec);
    product_put_size(k, 'B', AX_M, k->task->r->block.extent[AX_M]);
    product_put_size(k, 'B', AX_N, k->task->r->block.extent[AX_N]);
    sums_pointer(k, NULL, NULL);
    place_vector(k);
    Ir m = k->var.m, n = k->var.n;
    Ir test = ir_lt(cg, k->walk.first, k->walk.end);
    test = ir_both(cg, test, ir_lt(cg, k->walk.at, number(k, tile_size(k))));
    test = ir_both(cg, test, ir_lt(cg, m, number(k, p->extent[AX_M])));
    ir_if(cg, ir_both(cg, test, ir_lt(cg, n, number(k, p->extent[AX_N]))));
    k->at.open = 1;
    sums_elements(k, (const Ir[AX_K]){[AX_B] = k->var.b, [AX_M] = m, [AX_N] = n});
}

void reduce_tail_gather(Kernel *k) {
    Cg *cg = k->cg;
    ThreadMap m = sums_map(k);
    ir_note(cg, "gather: the units in order");
    m.second = k->walk.first;
    m.n_partial = k->walk.end;
    m.begin = m.at = number(k, 0);
    m.moves = number(k, tile_size(k));
    Ir unit = ir_mul(cg, ir_add(cg, k->walk.row, m.second), ir_number(cg, IR_I64, tile_size(k)));
    ir_declare(cg, sums_left(k), ir_add(cg, ir_add(cg, k->var.sums, unit), k->walk.at));
    sums_combine(k, &m);
}
