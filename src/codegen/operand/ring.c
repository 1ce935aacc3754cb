#include "codegen/operand/operand.h"
#include "codegen/block/product.h"
#include "codegen/expr/sizes.h"

/* A ring of stages that is filled by boxes: how they lie there, the tensor maps that describe
 * them, and the copies.  */

enum { UNIT = 16 };       /* bytes of a chunk */

/* ---- tensor maps ---- */

/* Where the elements of a box are in memory.  */
KernelMap ring_map(Arena *a, const Problem *p, const Access *x, const RBox *box) {
    TeDtype type = p->te->tensor[x->tensor].dtype;
    TeExtent elem = size_number(te_dtype_bytes(type)), first;
    KernelMap map = {.tensor = x->tensor,
                     .offset = size_times(a, size_offset(a, p->te, x), elem),
                     .fixed = {.type = tensor_map_type(type, false), .rank = box->rank}};
    for (int i = 0; i < box->rank; i++) {
        const RBoxDim *d = &box->dim[i];
        map.dim[i] = rprog_box_bound(a, p, x, d);
        map.fixed.element_stride[i] = 1;
        if (i == 0) continue;
        if (d->n > 0) first = size_stride(a, p->te, x, rprog_box_index(p, d));
        else first = size_times(a, map.dim[0], size_number(UNIT));        /* of one point: any */
        map.stride[i - 1] = size_times(a, first, elem);
    }
    return map;
}

/* k that share an element of the tensor.  */
static int packed(const Side *s) { return s->l->raw ? s->raw.pack : 1; }

int ring_map_number(const Layout *l, const Side *s) {
    int n = 0;
    for (int i = 0; i < l->n_product; i++) {
        const Contract *c = &l->product[i];
        for (const Side *at = c->side; at < c->end; at++) {
            if (at == s) return n;
            n += side_maps(at);
        }
    }
    return n;
}

/* Rows of the tile as two dimensions: `beside` of every `every`.  */
static void part_rows(Arena *a, const Side *s, KernelMap *map) {
    int own = s->box.own;
    uint32_t *box = map->fixed.box;
    for (int i = map->fixed.rank++; i > own; i--) {
        map->dim[i] = map->dim[i - 1];
        map->stride[i - 1] = map->stride[i - 2 < own - 1 ? own - 1 : i - 2];
        box[i] = box[i - 1];
        map->fixed.element_stride[i] = 1;
    }
    map->dim[own + 1] = size_number(map->dim[own].value / s->every);
    map->stride[own] = size_times(a, map->stride[own - 1], size_number(s->every));
    box[own + 1] /= (uint32_t)s->every;
    map->dim[own] = size_number(s->every);
    box[own] = (uint32_t)s->beside;
}

/* Elements from where map c of rows modulo a number begins to where its rows do.  */
static int rows_shift(const Side *s, int c) {
    int64_t at = (s->o->access.offset.c + c * s->box.dim[s->box.own].stride) * s->elem;
    return (int)(at % UNIT / s->elem);
}

/* Rows c, c + n, ... of those of the map of all.  */
static void rows_modulo(Arena *a, const Side *s, int c, KernelMap *map) {
    int own = s->box.own, n = s->l->modulo, shift = rows_shift(s, c);
    int64_t first = c * s->box.dim[own].stride - shift;
    map->offset = size_number(map->offset.value + first * s->elem);
    map->dim[0] = size_number(map->dim[0].value + shift);
    map->dim[own] = size_number((map->dim[own].value - c + n - 1) / n);
    map->stride[own - 1] = size_times(a, map->stride[own - 1], size_number(n));
    map->fixed.box[own] /= (uint32_t)n;
}

/* The axis whose parts blocks of a cluster copy.  */
static AxisClass parted(const Side *s) { return s->lines && !s->inner_k ? AX_K : s->own; }

KernelMap ring_operand_map(Arena *a, const Contract *c, const Side *s, int number) {
    if (s->box.pixels > 0) return pixels_map(a, c, s);
    if (s->l->region) return region_map(a, c, s);
    int inner = s->span / s->elem;
    KernelMap map = ring_map(a, c->p, s->l->raw ? &s->raw.access : &s->o->access, &s->box);
    map.fixed.swizzle = (int)rprog_box_swizzle(&s->l->layout);
    map.fixed.promotion = 2;
    for (int i = 0; i < s->box.rank; i++) {
        const RBoxDim *d = &s->box.dim[i];
        int rows = d->axis == AX_B ? 1 : c->r->block.extent[d->axis];
        if (d->axis == parted(s)) rows /= s->parts;
        map.fixed.box[i] = (uint32_t)(i ? rows : inner);
    }
    if (packed(s) > 1) map.dim[0] = size_number(c->p->extent[AX_K] / packed(s));
    if (s->every) part_rows(a, s, &map);
    if (s->l->modulo) rows_modulo(a, s, number, &map);
    return map;
}

void ring_fetch(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    if (!n->from && rprog_cluster(k->c->r) > 1)
        k->var.part = ir_let_as(cg, IR_I32, "part",
                                ir_call(cg, ir_type(IR_I32), "rl_cluster_rank", 0));
    int operands = ring_map_number(k->l->layout, NULL);
    for (int i = 0; i < k->l->launch.n_map && !n->to; i++) {
        bool some = k->c->varying_k && i < operands;      /* else it is none */
        if (some) ir_if(cg, ir_binary(cg, IR_GT, k->var.steps, ir_int(cg, 0)));
        ir_do(cg, ir_call(cg, ir_type(IR_VOID), "rl_map_fetch", 1, cg_map(cg, i)));
        if (some) ir_close(cg);
    }
}

/* ---- stages ---- */

/* Do teams take the slots of tiles in turn?  */
static bool is_dealt(const Kernel *k, int ring) {
    return k->teams.own && rprog_in_turn(k->c->r) > 1 &&
           k->c->layout->ring[ring].turn == TURN_TILES;
}

/* Counted, not divided out of the number of the step: that would be done in every one.  */
void ring_begin(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    RingAt *x = &k->ring[n->ring];
    Ir from = k->var.from, zero = ir_int(cg, 0), slot = zero, round = zero;
    const Ring *of = &k->c->layout->ring[n->ring];
    if (from && of->turn == TURN_STEPS) {
        slot = ir_rem(cg, from, x->slots);
        round = ir_binary(cg, IR_AND, ir_div(cg, from, x->slots), ir_int(cg, 1));
    }
    if (is_dealt(k, n->ring)) slot = k->teams.own;
    x->slot = ir_variable(cg, IR_U32, product_ring_word(k, n->ring, "stage"), slot);
    x->phase = ir_variable(cg, IR_U32, product_ring_word(k, n->ring, "phase"), round);
    x->last = NULL;
    if (n->to > 0)
        x->last = ir_variable(cg, IR_U32, product_ring_word(k, n->ring, "last"), zero);
}

/* A barrier or a tile in shared memory, by address.  */
static Ir shared_at(const Kernel *k, Ir x, Ir y) {
    return ir_add(k->cg, ir_add(k->cg, k->var.shared, x), y);
}

Ir ring_slots(const Kernel *k, int ring) {
    int shares = k->c->layout->ring[ring].shares;
    return ir_mul(k->cg, ir_int(k->cg, shares), k->ring[ring].slots);
}

Ir ring_barrier_at(const Kernel *k, int ring, int id, Ir slot) {
    const Cg *cg = k->cg;
    Ir before = ir_mul(cg, ir_int(cg, id), ring_slots(k, ring));
    Ir number = id ? ir_add(cg, before, slot) : slot;
    Ir place = ir_mul(cg, number, ir_int(cg, RING_BARRIER));
    return shared_at(k, k->ring[ring].barriers, place);
}

Ir ring_barrier(const Kernel *k, int ring, int id) {
    const Cg *cg = k->cg;
    Ir slot = k->ring[ring].slot;
    if (k->c->layout->ring[ring].shares > 1)
        slot = ir_add(cg, ir_mul(cg, k->teams.own, k->ring[ring].slots), slot);
    return ring_barrier_at(k, ring, id, slot);
}

Ir ring_leading(const Kernel *k, Ir barrier) {
    return ir_call(k->cg, ir_type(IR_U32), "rl_leading", 1, barrier);
}

/* Slots of the tiles between are other teams'; where there are as many, each team has its own.  */
static void next_dealt(Kernel *k, int ring) {
    Cg *cg = k->cg;
    const RingAt *x = &k->ring[ring];
    bool own = k->c->layout->ring[ring].slots == k->teams.n;
    if (!own) {
        ir_update(cg, IR_ADD, x->slot, ir_int(cg, k->teams.n));
        ir_if(cg, ir_binary(cg, IR_GE, x->slot, x->slots));
        ir_update(cg, IR_SUB, x->slot, x->slots);
    }
    ir_update(cg, IR_XOR, x->phase, ir_int(cg, 1));
    if (!own) ir_close(cg);
}

void ring_next(Kernel *k, int ring) {
    Cg *cg = k->cg;
    const RingAt *x = &k->ring[ring];
    Ir one = ir_int(cg, 1);
    if (is_dealt(k, ring)) {
        next_dealt(k, ring);
        return;
    }
    if (x->last) ir_set(cg, x->last, ring_barrier(k, ring, RING_EMPTY));
    ir_update(cg, IR_ADD, x->slot, one);
    ir_if(cg, ir_binary(cg, IR_EQ, x->slot, k->ring[ring].slots));
    ir_set(cg, x->slot, ir_int(cg, 0));
    ir_update(cg, IR_XOR, x->phase, one);
    ir_close(cg);
}

/* ---- copies ---- */

Ir ring_batch(const Kernel *k, const RBoxDim *d) {
    const Cg *cg = k->cg;
    if (d->axis != AX_B) return ir_int(cg, 0);
    TeExtent below = rprog_box_below(cg->arena, k->c->p, d);
    Ir b = ir_div(cg, k->var.b, size_value(cg, below));
    return ir_rem(cg, b, size_value(cg, rprog_box_extent(cg->arena, k->c->p, d)));
}

/* The outermost digit goes on behind its end, where nothing is stored.  */
Ir ring_digit(const Kernel *k, const RBoxDim *d, Ir row) {
    const Cg *cg = k->cg;
    TeExtent below = rprog_box_below(cg->arena, k->c->p, d);
    if (d->n == k->c->p->con.axis[d->axis].n) return row;
    Ir at = ir_div(cg, ir_as(cg, IR_U32, row), ir_number(cg, IR_U32, below.value));
    if (d->first > 0) at = ir_rem(cg, at, ir_number(cg, IR_U32, d->extent));
    return ir_as(cg, IR_I32, at);
}

/* The block's number in its cluster, times n.  */
static Ir part_of(const Kernel *k, int n) {
    return ir_mul(k->cg, k->var.part, ir_int(k->cg, n));
}

/* The first row, or k, that the block copies.  */
static Ir first_of(const Kernel *k, const Side *s, AxisClass axis) {
    Ir at = axis == AX_K ? ir_div(k->cg, k->own->k_next, ir_int(k->cg, packed(s)))
                         : product_loads_from(k, s);
    int part = k->c->r->block.extent[axis] / s->parts;
    return s->parts > 1 && axis == parted(s) ? ir_add(k->cg, at, part_of(k, part)) : at;
}

/* Coordinate along dimension i of box number `box`.  */
static Ir coordinate(const Kernel *k, const Side *s, int i, int box) {
    const Cg *cg = k->cg;
    const RBoxDim *d = &s->box.dim[i];
    int along = i == 0 ? box : 0;
    if (d->axis == AX_B) return ring_batch(k, d);
    return ir_add_n(cg, first_of(k, s, d->axis), along * s->span / s->elem);
}

/* Where a box is in the tensor.  */
static void coordinates(const Kernel *k, const Side *s, int box, IrBox *x) {
    const Cg *cg = k->cg;
    x->rank = s->box.rank;
    if (s->box.pixels > 0) {
        Ir at_k = ir_add_n(cg, k->own->k_next, box * s->span / s->elem);
        if (s->l->region) pixels_plane(k, s, box, x);
        else pixels_box(k, s, &(PixelsAt){first_of(k, s, s->own), at_k, box == 0}, x);
        return;
    }
    for (int i = 0; i < s->box.rank && !s->l->region; i++) x->at[i] = coordinate(k, s, i, box);
}

/* ... of the rows of part `part` (part_rows).  */
static void part_coordinates(const Kernel *k, const Side *s, int part, IrBox *x) {
    int own = s->box.own;
    for (int i = x->rank++; i > own; i--) x->at[i] = x->at[i - 1];
    x->at[own + 1] = ir_div(k->cg, x->at[own], ir_int(k->cg, s->every));
    x->at[own] = ir_int(k->cg, part * s->beside);
}

/* ... of the rows of map c (rows_modulo).  */
static void modulo_coordinates(const Kernel *k, const Side *s, int c, IrBox *x) {
    int own = s->box.own;
    x->at[0] = ir_add_n(k->cg, x->at[0], rows_shift(s, c));
    x->at[own] = ir_div(k->cg, x->at[own], ir_int(k->cg, s->l->modulo));
}

static int parts_of(const Side *s) {
    if (s->l->region) return s->region.parts;
    return s->every ? s->every / s->beside : s->l->modulo ? s->l->modulo : 1;
}

Ir ring_tile(const Kernel *k, const Side *s, int ring) {
    Ir tile = operand_at(k, s)->tile;
    bool once = s->stays && k->c->layout->ring[ring].slots == 1;
    if (once) return ir_add(k->cg, k->var.shared, tile);
    return shared_at(k, ir_mul(k->cg, k->ring[ring].slot, k->ring[ring].bytes), tile);
}

static void copy_box(Kernel *k, const Side *s, int ring, int number) {
    Cg *cg = k->cg;
    int parts = parts_of(s), box = number / parts;
    Ir to = ring_tile(k, s, ring);
    int map = ring_map_number(k->l->layout, s) + (s->l->modulo ? number % parts : 0);
    IrBox x = {.map = cg_map(cg, map),
               .barrier = ring_barrier(k, ring, RING_FULL),
               .pair = k->c->matrix.blocks > 1};
    if (x.pair) x.barrier = ring_leading(k, x.barrier);
    if (s->parts > 1 && !s->apart) {
        int part = s->lines ? s->box_bytes / s->parts : s->boxes * s->box_bytes;
        if (s->l->modulo) part /= s->l->modulo;
        to = ir_add(cg, to, part_of(k, part));
        x.blocks = (1 << s->parts) - 1;
    }
    x.shared = ir_add_n(cg, to, number * (s->box_bytes / parts));
    coordinates(k, s, box, &x);
    if (s->l->region && s->box.pixels == 0) region_plane(k, s, number, &x);
    if (s->every) part_coordinates(k, s, number % parts, &x);
    if (s->l->modulo) modulo_coordinates(k, s, number % parts, &x);
    ir_box(cg, &x);
}

void ring_copy(Kernel *k, const Node *n) {
    const Side *s = &k->c->side[n->of];
    for (int i = 0; i < s->boxes * parts_of(s); i++) copy_box(k, s, n->ring, i);
}
