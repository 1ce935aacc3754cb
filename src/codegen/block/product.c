#include "codegen/block/block.h"
#include "codegen/block/product.h"

Ir product_int(const Cg *cg, const char *name) { return ir_name(cg, ir_type(IR_I32), name); }

const char *product_name(const Cg *cg, const Side *s, const char *name) {
    return arena_printf(cg->arena, "%c_%s", s->id, name);
}

Ir product_own(const Cg *cg, const Side *s, const char *name) {
    return product_int(cg, product_name(cg, s, name));
}

const char *product_constant_name(const Cg *cg, const Side *s, const char *name) {
    return arena_printf(cg->arena, "%c_%s", s->id - 'a' + 'A', name);
}

Ir product_constant(const Cg *cg, const Side *s, const char *name) {
    return product_int(cg, product_constant_name(cg, s, name));
}

/* Names of a second product end with its number.  */
const char *product_word(const Kernel *k, const char *name) {
    return k->product ? ir_numbered(k->cg, name, k->product + 1) : name;
}

Ir product_of(const Kernel *k, const char *name) {
    return product_int(k->cg, product_word(k, name));
}

const char *product_size_name(const Kernel *k, char letter, AxisClass axis) {
    return product_word(k, arena_printf(k->cg->arena, "%c%c", letter, "BMNK"[axis]));
}

Ir product_size(const Kernel *k, char letter, AxisClass axis) {
    return product_int(k->cg, product_size_name(k, letter, axis));
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

Ir product_ring_int(const Kernel *k, int ring, const char *name) {
    return product_int(k->cg, product_ring_word(k, ring, name));
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
    return ir_both(cg, ir_lt(cg, at, product_int(cg, "n_end")),
                   ir_binary(cg, IR_GE, last, product_int(cg, "n_begin")));
}

/* What is at hand of a product, and what another one has, change places.  */
static void exchange(Kernel *k, OfProduct *x) {
    OfProduct own = {k->l, k->c, k->acc, k->sum, k->part, {k->frag[0], k->frag[1]},
                     {k->low[0], k->low[1]}, k->made, {k->tile[0], k->tile[1]},
                     {k->chunks[0], k->chunks[1]}};
    k->l = x->l;
    k->c = x->c;
    k->acc = x->acc;
    k->sum = x->sum;
    k->part = x->part;
    k->made = x->made;
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

Ir product_smem(const Cg *cg) { return ir_name(cg, ir_pointer(IR_U8, IR_SHARED, false), "smem"); }

Ir product_place(const Cg *cg, const Side *s) { return product_int(cg, s->side ? "col" : "row"); }

Ir product_first(const Kernel *k, AxisClass axis) {
    return ir_name(k->cg, ir_type(place_along_base(k, axis)),
                   axis == AX_M ? "m0" : product_word(k, "n0"));
}

Ir product_loads_from(const Kernel *k, const Side *s) {
    return s->moves == s->own ? product_of(k, "n_next") : product_first(k, s->own);
}

Ir product_extent(const Kernel *k, AxisClass axis) {
    static const char *const name[] = {[AX_B] = "B", [AX_M] = "M", [AX_N] = "N", [AX_K] = "K"};
    return ir_name(k->cg, ir_type(place_base(k->l->p->extent[axis] > INT32_MAX)),
                   product_word(k, name[axis]));
}

Ir product_k_next(const Kernel *k) {
    bool wide = place_wide(k->l->p->extent[AX_K], 2 * (int64_t)k->l->r->block.extent[AX_K]);
    return ir_name(k->cg, ir_type(place_base(wide)), product_word(k, "k_next"));
}
