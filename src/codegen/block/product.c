#include "codegen/block/block.h"
#include "codegen/block/product.h"
#include "codegen/reduce/monoid.h"
#include <string.h>

const char *product_name(const Cg *cg, const Side *s, const char *name) {
    return arena_printf(cg->arena, "%c_%s", s->id, name);
}

const char *product_constant_name(const Cg *cg, const Side *s, const char *name) {
    return arena_printf(cg->arena, "%c_%s", s->id - 'a' + 'A', name);
}

/* Names of a second product end with its number.  */
const char *product_word(const Kernel *k, const char *name) {
    return k->c && k->c->number ? ir_numbered(k->cg, name, k->c->number + 1) : name;
}

static const char levels[PRODUCT_LEVELS + 1] = "BWTILV";

static int level_of(char letter) { return (int)(strchr(levels, letter) - levels); }

void product_put_size(Kernel *k, char letter, AxisClass axis, int64_t n) {
    const char *word = arena_printf(k->cg->arena, "%c%c", letter, "BMNK"[axis]);
    k->own->size[level_of(letter)][axis] =
        ir_constant(k->cg, product_word(k, word), ir_int(k->cg, n));
}

Ir product_size(const Kernel *k, char letter, AxisClass axis) {
    return k->own->size[level_of(letter)][axis];
}

Ir product_spread(const Kernel *k, AxisClass axis, Ir i) {
    const Cg *cg = k->cg;
    Ir lanes = product_size(k, 'L', axis), vec = product_size(k, 'V', axis);
    return ir_add(cg, ir_mul(cg, ir_div(cg, i, vec), ir_mul(cg, lanes, vec)), ir_rem(cg, i, vec));
}

const char *product_ring_word(const Kernel *k, int ring, const char *name) {
    return ring ? ir_numbered(k->cg, name, ring + 1) : name;
}

bool product_counts(const Kernel *k) {
    if (product_moves(k) != AX_K) return false;
    return !product_chains(k) || k->c->number == 0 || k->c->layout->product[0].steps <= 1;
}

bool product_turns(const Kernel *k) {
    return product_chains(k) && !rprog_chain_streams(k->l->p, k->l->r);
}

bool product_bounded(const Kernel *k) {
    if (!product_chains(k)) return false;
    const ColumnBounds *b = &k->l->p->group->chain->bounds;
    return b->n_from > 0 || b->n_to > 0;
}

bool product_parted(const Kernel *k) {
    return product_chains(k) && (product_bounded(k) || k->c->r->split > 1);
}

Ir product_inside(const Kernel *k, const Side *s, AxisClass axis, Ir at) {
    const Cg *cg = k->cg;
    bool columns = product_bounded(k) && s->moves == axis && !s->stays;
    if (!columns) return ir_lt(cg, at, product_extent(k, axis));
    /* A chunk may begin before the first column that it is needed for.  */
    Ir last = ir_add(cg, at, ir_int(cg, s->l->along == axis ? s->l->vec - 1 : 0));
    return ir_both(cg, ir_lt(cg, at, k->var.n_end),
                   ir_binary(cg, IR_GE, last, k->var.n_begin));
}

void product_select(Kernel *k, int number) {
    if (!k->product) return;
    k->own = &k->product[number];
    k->task = &k->l->task[number];
    k->c = &k->l->layout->product[number];
}

Ir product_place(const Kernel *k, const Side *s) { return s->side ? k->var.col : k->var.row; }

Ir product_first(const Kernel *k, AxisClass axis) { return axis == AX_M ? k->var.m0 : k->own->n0; }

Ir product_warp_first(const Kernel *k, AxisClass axis) {
    return ir_add(k->cg, product_first(k, axis), axis == AX_M ? k->var.row : k->var.col);
}

Ir product_loads_from(const Kernel *k, const Side *s) {
    return s->moves == s->own ? k->own->n_next : product_first(k, s->own);
}

TileFrom product_tile_next(const Kernel *k, const Side *s) {
    return (TileFrom){product_loads_from(k, s), k->own->k_next};
}

TileFrom product_tile_waiting(const Kernel *k, const Side *s) {
    TileFrom from = product_tile_next(k, s);
    Ir *moved = s->moves == s->own ? &from.own : &from.k;
    if (!s->stays) *moved = ir_sub(k->cg, *moved, product_size(k, 'B', s->moves));
    return from;
}

Ir product_extent(const Kernel *k, AxisClass axis) { return k->own->extent[axis]; }

void product_clear(Kernel *k, TeRedop red, TeDtype type, int rows, int columns) {
    Cg *cg = k->cg;
    k->own->acc = ir_array(cg, ir_type(ir_compute(type)), "acc", rows, columns, 0);
    Ir i = ir_count(cg, "i", rows, IR_UNROLL_ALL), j = ir_count(cg, "j", columns, IR_UNROLL_ALL);
    ir_set(cg, product_sum(k, i, j), monoid_identity(cg, red, type));
    ir_close(cg);
    ir_close(cg);
}
