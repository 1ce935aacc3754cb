#include "codegen/operand/operand.h"
#include "codegen/block/product.h"
#include "codegen/expr/sizes.h"

/* A ring of stages that is filled by boxes: how they lie there, the tensor maps that describe
 * them, and the copies.  */

enum { SPAN = 128, UNIT = 16 };           /* bytes of a step's row; of a chunk */

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
        map.dim[i] = rprog_box_extent(a, p, d);
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

KernelMap ring_operand_map(Arena *a, const Contract *c, const Side *s) {
    if (s->box.pixels > 0) return pixels_map(a, c, s);
    int inner = s->span / s->elem;
    KernelMap map = ring_map(a, c->p, s->l->raw ? &s->raw.access : &s->o->access, &s->box);
    map.fixed.swizzle = TM_SWIZZLE_NONE + s->l->layout.bits;
    map.fixed.promotion = 2;
    for (int i = 0; i < s->box.rank; i++) {
        const RBoxDim *d = &s->box.dim[i];
        int rows = d->axis == AX_B ? 1 : c->r->block.extent[d->axis];
        if (d->axis == s->own) rows /= s->multicast;
        map.fixed.box[i] = (uint32_t)(i ? rows : inner);
    }
    if (packed(s) > 1) map.dim[0] = size_number(c->p->extent[AX_K] / packed(s));
    return map;
}

void ring_fetch(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    if (!n->from && rprog_cluster(k->c.r) > 1)
        ir_let_as(cg, IR_I32, "part", ir_call(cg, ir_type(IR_I32), "rl_cluster_rank", 0));
    for (int i = 0; i < k->l->launch.n_map && !n->to; i++) {
        bool some = k->c.varying_k && i < 2;                  /* else it is none */
        if (some) ir_if(cg, ir_binary(cg, IR_GT, product_int(cg, "steps"), ir_int(cg, 0)));
        ir_do(cg, ir_call(cg, ir_type(IR_VOID), "rl_map_fetch", 1, ring_map_at(cg, i)));
        if (some) ir_close(cg);
    }
}

/* ---- stages ---- */

static Ir counter(const Cg *cg, const char *name) { return ir_name(cg, ir_type(IR_U32), name); }

/* Counted, not divided out of the number of the step: that would be done in every one.  */
void ring_begin(Kernel *k, bool uses) {
    Cg *cg = k->cg;
    Ir from = counter(cg, "from"), stages = product_int(cg, "STAGES"), zero = ir_int(cg, 0);
    Ir round = ir_binary(cg, IR_AND, ir_div(cg, from, stages), ir_int(cg, 1));
    bool stays = k->c.stays;
    ir_variable(cg, IR_U32, "stage", stays ? ir_rem(cg, from, stages) : zero);
    ir_variable(cg, IR_U32, "phase", stays ? round : zero);
    if (uses) ir_variable(cg, IR_U32, "last", zero);
}

/* A barrier or a tile in shared memory, by address.  */
static Ir shared_at(const Cg *cg, Ir x, Ir y) {
    return ir_add(cg, ir_add(cg, ir_name(cg, ir_type(IR_U32), "shared"), x), y);
}

Ir ring_barrier_at(const Kernel *k, int id, Ir stage) {
    enum { BARRIER_BYTES = 8 };
    const Cg *cg = k->cg;
    Ir before = ir_mul(cg, ir_int(cg, id), product_int(cg, "STAGES"));
    Ir number = id ? ir_add(cg, before, stage) : stage;
    Ir place = ir_mul(cg, number, ir_int(cg, BARRIER_BYTES));
    return shared_at(cg, product_int(cg, "BARRIERS"), place);
}

Ir ring_barrier(const Kernel *k, int id) {
    return ring_barrier_at(k, id, counter(k->cg, "stage"));
}

void ring_next(Kernel *k, bool uses) {
    Cg *cg = k->cg;
    Ir stage = counter(cg, "stage"), one = ir_int(cg, 1);
    if (uses) ir_set(cg, counter(cg, "last"), ring_barrier(k, RING_EMPTY));
    ir_update(cg, IR_ADD, stage, one);
    ir_if(cg, ir_binary(cg, IR_EQ, stage, product_int(cg, "STAGES")));
    ir_set(cg, stage, ir_int(cg, 0));
    ir_update(cg, IR_XOR, counter(cg, "phase"), one);
    ir_close(cg);
}

/* ---- copies ---- */

Ir ring_map_at(const Cg *cg, int number) {
    const char *name = ir_numbered(cg, "map", number);
    return ir_unary(cg, IR_ADDRESS, ir_name(cg, ir_type(IR_VOID), name));
}

Ir ring_batch(const Kernel *k, const RBoxDim *d) {
    const Cg *cg = k->cg;
    if (d->axis != AX_B) return ir_int(cg, 0);
    TeExtent below = rprog_box_below(cg->arena, k->c.p, d);
    Ir b = ir_div(cg, product_int(cg, "b"), size_value(cg, below));
    return ir_rem(cg, b, size_value(cg, rprog_box_extent(cg->arena, k->c.p, d)));
}

static Ir k_next(const Kernel *k) {
    bool wide = place_wide(k->c.p->extent[AX_K], 2 * (int64_t)k->c.r->block.extent[AX_K]);
    return ir_name(k->cg, ir_type(place_base(wide)), "k_next");
}

/* The block's number in its cluster, times n.  */
static Ir part_of(const Cg *cg, int n) {
    return ir_mul(cg, product_int(cg, "part"), ir_int(cg, n));
}

/* The first row that the block copies.  */
static Ir first_row(const Kernel *k, const Side *s) {
    Ir at = product_first(k, s->own);
    return s->multicast > 1 ? ir_add(k->cg, at, part_of(k->cg, s->extent / s->multicast)) : at;
}

/* Coordinate along dimension i of box number `box`.  */
static Ir coordinate(const Kernel *k, const Side *s, int i, int box) {
    const Cg *cg = k->cg;
    const RBoxDim *d = &s->box.dim[i];
    int along = i == 0 ? box : 0;
    if (d->axis == AX_K) {
        Ir at = ir_div(cg, k_next(k), ir_int(cg, packed(s)));
        return ir_add_n(cg, at, along * s->span / s->elem);
    }
    if (d->axis == AX_B) return ring_batch(k, d);
    return ir_add_n(cg, first_row(k, s), along * SPAN / s->elem);
}

/* Where a box is in the tensor.  */
static void coordinates(const Kernel *k, const Side *s, int box, IrBox *x) {
    const Cg *cg = k->cg;
    x->rank = s->box.rank;
    if (s->box.pixels > 0) {
        Ir at_k = ir_add_n(cg, k_next(k), box * s->span / s->elem);
        pixels_box(k, s, &(PixelsAt){first_row(k, s), at_k, box == 0}, x);
        return;
    }
    for (int i = 0; i < s->box.rank; i++) x->at[i] = coordinate(k, s, i, box);
}

static void copy_box(Kernel *k, const Side *s, int box) {
    Cg *cg = k->cg;
    Ir stage = ir_mul(cg, counter(cg, "stage"), product_int(cg, "STAGE"));
    Ir to = shared_at(cg, stage, product_constant(cg, s, "TILE"));
    IrBox x = {.map = ring_map_at(cg, s->side), .barrier = ring_barrier(k, RING_FULL)};
    if (s->multicast > 1) {
        int part = s->inner_k ? s->box_bytes / s->multicast : s->boxes * s->box_bytes;
        to = ir_add(cg, to, part_of(cg, part));
        x.blocks = (1 << s->multicast) - 1;
    }
    x.shared = ir_add_n(cg, to, box * s->box_bytes);
    coordinates(k, s, box, &x);
    ir_box(cg, &x);
}

void ring_copy(Kernel *k, int side) {
    const Side *s = &k->c.side[side];
    for (int box = 0; box < s->boxes; box++) copy_box(k, s, box);
}
