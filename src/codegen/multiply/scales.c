/* Scales of blocks along k, in registers (rprog_scales): x_scale[g][w] has four neighbours of row
 * 32 g + what the lane adds.  Those of the next step are on their way while a step is computed, or
 * while a slot of the ring is waited for.  */
#include "codegen/multiply/multiply.h"
#include "codegen/operand/address.h"

/* Scales that the lane reads: word w from scale `part` on, or the words from w on, of the groups
 * from g on, which lie side by side.  */
typedef struct {
    const Side *s;
    Ir g, w;
    int part;
    Ir step;                  /* the first k of the step */
} ScalePlace;

static bool has_scales(const Side *s) { return s->scales.read != NULL; }

/* Of the warp's tile or, where they go on to Tensor Memory, of the block's.  */
static Ir first_row(const Kernel *k, const Side *s) {
    Ir block = product_first(k, s->own);
    return k->c->matrix.tensor ? block : ir_add(k->cg, block, product_place(k, s));
}

/* Rows of a group beyond the warp's part are none of its tiles, and may be none at all.  */
static Ir inside(const Kernel *k, const Side *s, Ir own, Ir kk) {
    const Cg *cg = k->cg;
    Ir test = ir_lt(cg, kk, product_extent(k, AX_K));
    const RTile *part = k->c->matrix.tensor ? &k->c->r->block : &k->c->r->warp;
    bool over = part->extent[s->own] % FRAG_SCALE_ROWS != 0;
    if (!over && !s->ragged) return test;
    return ir_both(cg, ir_lt(cg, own, product_extent(k, s->own)), test);
}

/* Words of a group that are read at once.  */
static int words_at_once(const RScales *x) {
    return x->width > FRAG_SCALES ? x->width / FRAG_SCALES : 1;
}

/* Scales of a row that are read at once, as bits of its word.  */
static Ir bits_of(const Cg *cg, const ScalePlace *x, Ir read) {
    int n = x->s->scales.width;
    Ir all = NULL;
    if (n >= FRAG_SCALES) return read;
    for (int i = 0; i < n; i++) {
        Ir each = ir_cast(cg, IR_U32, n > 1 ? ir_lane(cg, read, ir_int(cg, i)) : read);
        int up = 8 * (x->part + i);
        each = up ? ir_binary(cg, IR_SHL, each, ir_int(cg, up)) : each;
        all = all ? ir_binary(cg, IR_OR, all, each) : each;
    }
    return all;
}

/* Words of the groups, 0 where they have no scales.  */
static Ir read_part(Kernel *k, const ScalePlace *x) {
    Cg *cg = k->cg;
    const Side *s = x->s;
    const Fragment f = fragment_of_scales(k->c->matrix.unit);
    int n = s->scales.width, rows = s->scales.rows, block = s->scales.block;
    int lanes = rows * words_at_once(&s->scales);
    Ir own = ir_add_parts(cg, first_row(k, s), fragment_lane_place(k, &f, FRAG_ROW, 1));
    own = address_point_own(k, s, ir_add(cg, own, ir_mul_n(cg, x->g, FRAG_SCALE_ROWS)));
    Ir kk = ir_add(cg, x->step, ir_mul_n(cg, x->w, FRAG_SCALES * block));
    kk = address_point_k(k, ir_add_n(cg, kk, x->part * block));
    Ir bits = ir_variable_of(cg, "scale", ir_zero(cg, ir_vector(IR_U32, lanes))), within;
    ir_if(cg, inside(k, s, own, kk));
    CgPoint at = address_indices(k, s, own, kk);
    Ir from = travel_place(&at, s->scales.read, &within);
    if (within) ir_if(cg, within);
    TeDtype type = s->scales.read->store;
    ir_set(cg, bits, bits_of(cg, x, ir_let(cg, "x", travel_load(cg, type, n * rows, from))));
    if (within) ir_close(cg);
    ir_close(cg);
    return bits;
}

/* The words of some groups, joined to what they have so far.  */
static void put_part(Kernel *k, const ScalePlace *x, Ir to) {
    Cg *cg = k->cg;
    int words = words_at_once(&x->s->scales), lanes = x->s->scales.rows * words;
    Ir bits = read_part(k, x);
    for (int i = 0; i < lanes; i++) {
        Ir group = ir_element(cg, to, ir_add_n(cg, x->g, i / words));
        Ir word = ir_element(cg, group, ir_add_n(cg, x->w, i % words));
        Ir read = lanes > 1 ? ir_lane(cg, bits, ir_int(cg, i)) : bits;
        ir_set(cg, word, x->part ? ir_binary(cg, IR_OR, word, read) : read);
    }
}

static void load_side(Kernel *k, const Side *s, Ir to, Ir step) {
    Cg *cg = k->cg;
    const RScales *x = &s->scales;
    int parts = x->width < FRAG_SCALES ? FRAG_SCALES / x->width : 1;
    int last = k->c->r->warp.extent[AX_K] / x->block % FRAG_SCALES;   /* of a word not full */
    if (x->words == 1 && last) parts = (last + x->width - 1) / x->width;
    ScalePlace at = {.s = s, .step = step};
    at.g = ir_for(cg, "g", ir_int(cg, 0), ir_int(cg, x->groups), x->rows, IR_UNROLL_ALL);
    at.w = ir_for(cg, "w", ir_int(cg, 0), ir_int(cg, x->words), words_at_once(x), IR_UNROLL_ALL);
    for (int i = 0; i < parts; i++) {
        ir_scope(cg);
        at.part = i * x->width;
        put_part(k, &at, to);
        ir_close(cg);
    }
    ir_close(cg);
    ir_close(cg);
}

Ir scales_first(const Kernel *k, Ir step) {
    const Cg *cg = k->cg;
    if (k->c->sliced) step = ir_add(cg, k->var.first, step);
    step = ir_mul(cg, step, product_size(k, 'B', AX_K));
    return k->c->warps[AX_K] > 1 ? ir_add(cg, step, k->var.k_warp) : step;
}

Ir scales_step(const Kernel *k, int ahead) {
    return scales_first(k, ir_add_n(k->cg, k->var.step, ahead));
}

void scales_load(Kernel *k, bool first) {
    Cg *cg = k->cg;
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (!has_scales(s)) continue;
        const char *word = product_name(cg, s, first ? "scale" : "next_scale");
        Ir to = ir_array(cg, ir_type(IR_U32), word, s->scales.groups, s->scales.words, 0);
        *(first ? &operand_at(k, s)->scale : &operand_at(k, s)->next_scale) = to;
        load_side(k, s, to, first ? scales_first(k, ir_int(cg, 0)) : scales_step(k, 1));
    }
}

void scales_turn(Kernel *k) {
    Cg *cg = k->cg;
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (!has_scales(s)) continue;
        Ir g = ir_count(cg, "g", s->scales.groups, IR_UNROLL_ALL);
        Ir w = ir_count(cg, "w", s->scales.words, IR_UNROLL_ALL);
        ir_set(cg, ir_element(cg, ir_element(cg, operand_at(k, s)->scale, g), w),
               ir_element(cg, ir_element(cg, operand_at(k, s)->next_scale, g), w));
        ir_close(cg);
        ir_close(cg);
    }
}

/* Four times 1.  */
Ir scales_ones(const Kernel *k) {
    enum { EACH = 0x01010101, UE8M0 = 0x7f, UE4M3 = 0x38 };
    bool exponent = k->c->matrix.unit->scale == TE_F8UE8M0;
    return ir_number(k->cg, IR_U32, (int64_t)EACH * (exponent ? UE8M0 : UE4M3));
}

void scales_of(const Kernel *k, Ir i, Ir j, Ir slice, Ir out[IR_SCALES]) {
    const Cg *cg = k->cg;
    const ComputeUnit *u = k->c->matrix.unit;
    Ir each = ir_int(cg, FRAG_SCALES), tile[] = {i, j};
    Ir at = ir_mul_n(cg, slice, u->k.from / u->scale_k);
    out[2] = ir_rem(cg, at, each);
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        int which = rprog_unit_side(k->c->r, s->side);
        Ir in_group = ir_int(cg, FRAG_SCALE_ROWS / s->thread);
        out[which] = scales_ones(k);
        out[3 + which] = ir_rem(cg, tile[s->side], in_group);
        if (!has_scales(s)) continue;
        Ir all = ir_element(cg, operand_at(k, s)->scale, ir_div(cg, tile[s->side], in_group));
        out[which] = ir_element(cg, all, ir_div(cg, at, each));
    }
}
