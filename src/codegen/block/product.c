#include "codegen/block/block.h"
#include "codegen/block/product.h"
#include <string.h>

const char *product_name(const Cg *cg, const Side *s, const char *name) {
    return arena_printf(cg->arena, "%c_%s", s->id, name);
}

const char *product_constant_name(const Cg *cg, const Side *s, const char *name) {
    return arena_printf(cg->arena, "%c_%s", s->id - 'a' + 'A', name);
}

/* Names of a second product end with its number.  */
const char *product_word(const Kernel *k, const char *name) {
    return k->product ? ir_numbered(k->cg, name, k->product + 1) : name;
}

static const char levels[PRODUCT_LEVELS + 1] = "BWTILV";

static int level_of(char letter) { return (int)(strchr(levels, letter) - levels); }

void product_put_size(Kernel *k, char letter, AxisClass axis, int64_t n) {
    const char *word = arena_printf(k->cg->arena, "%c%c", letter, "BMNK"[axis]);
    k->own.size[level_of(letter)][axis] =
        ir_constant(k->cg, product_word(k, word), ir_int(k->cg, n));
}

Ir product_size(const Kernel *k, char letter, AxisClass axis) {
    return k->own.size[level_of(letter)][axis];
}

Ir product_spread(const Kernel *k, AxisClass axis, Ir i) {
    const Cg *cg = k->cg;
    Ir lanes = product_size(k, 'L', axis), vec = product_size(k, 'V', axis);
    return ir_add(cg, ir_mul(cg, ir_div(cg, i, vec), ir_mul(cg, lanes, vec)), ir_rem(cg, i, vec));
}

const Ring *product_ring(const Kernel *k) { return &k->c.layout->ring[k->product]; }

const char *product_ring_word(const Kernel *k, int ring, const char *name) {
    return ring ? ir_numbered(k->cg, name, ring + 1) : name;
}

bool product_resident(const Side *s) { return s->room->ring < 0; }

bool product_bounded(const Kernel *k) {
    if (!k->other) return false;
    const Lowered *first = k->product ? k->other->l : k->l;
    const ColumnBounds *b = &first->p->group->chain->bounds;
    return b->n_from > 0 || b->n_to > 0;
}

bool product_parted(const Kernel *k) {
    return k->other && (product_bounded(k) || k->c.r->split > 1);
}

Ir product_inside(const Kernel *k, const Side *s, AxisClass axis, Ir at) {
    const Cg *cg = k->cg;
    bool columns = product_bounded(k) && s->moves == axis && !product_resident(s);
    if (!columns) return ir_lt(cg, at, product_extent(k, axis));
    /* A chunk may begin before the first column that it is needed for.  */
    Ir last = ir_add(cg, at, ir_int(cg, s->l->along == axis ? s->l->vec - 1 : 0));
    return ir_both(cg, ir_lt(cg, at, k->var.n_end),
                   ir_binary(cg, IR_GE, last, k->var.n_begin));
}

/* What is at hand of a product, and what another one has, change places.  */
static void exchange(Kernel *k, OfProduct *x) {
    OfProduct own = {k->l, k->c, k->acc, k->sum, k->part, {k->frag[0], k->frag[1]},
                     {k->low[0], k->low[1]}, k->made, {k->tile[0], k->tile[1]},
                     {k->chunks[0], k->chunks[1]}, k->own};
    k->l = x->l;
    k->c = x->c;
    k->acc = x->acc;
    k->sum = x->sum;
    k->part = x->part;
    k->made = x->made;
    k->own = x->at;
    for (int i = 0; i < 2; i++) {
        k->frag[i] = x->frag[i];
        k->low[i] = x->low[i];
        k->tile[i] = x->tile[i];
        k->chunks[i] = x->chunks[i];
    }
    *x = own;
}

void product_select(Kernel *k, int number) {
    if (number == k->product) return;
    exchange(k, k->other);
    k->product = number;
}

Ir product_place(const Kernel *k, const Side *s) { return s->side ? k->var.col : k->var.row; }

Ir product_first(const Kernel *k, AxisClass axis) { return axis == AX_M ? k->var.m0 : k->own.n0; }

Ir product_loads_from(const Kernel *k, const Side *s) {
    return s->moves == s->own ? k->own.n_next : product_first(k, s->own);
}

Ir product_extent(const Kernel *k, AxisClass axis) { return k->own.extent[axis]; }
