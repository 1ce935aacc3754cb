#include "codegen/operand/address.h"
#include "codegen/block/product.h"

/* The region of an operand: copied to shared memory before the first step, gathered from there.
 * Places are in bytes.  OperandAt.rows: of rows of the warp's tile, for the lane; the table: of k.
 */

enum { ENTRY = 4, LANE_ROWS = 16 };

void region_constants(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    int places = (int)rprog_room_at(k->l->layout, ROOM_PLACES, s->side);
    OperandAt *x = operand_at(k, s);
    x->region = ir_constant(cg, product_constant_name(cg, s, "REGION"), ir_int(cg, s->room->at));
    x->table = ir_constant(cg, product_constant_name(cg, s, "PLACES"), ir_int(cg, places));
    x->line = ir_constant(cg, product_constant_name(cg, s, "LINE"), ir_int(cg, s->region.pitch));
}

/* A loop over n things, of which each thread takes every THREADS-th.  */
static Ir open_shares(Kernel *k, int n) {
    Cg *cg = k->cg;
    Ir i = k->var.i;
    ir_loop(cg, i, k->var.tid, ir_lt(cg, i, ir_int(cg, n)),
            (IrNext){IR_ADD, k->var.threads}, IR_UNROLL_FREE);
    return i;
}

/* ---- before the first step ---- */

/* Subscript d of the region's first element.  */
static Ir first_of(Kernel *k, const Side *s, int d, const Ir *own) {
    const Access *x = &s->o->access;
    const Ir *batch = operand_at(k, s)->batch;
    Ir sum = address_combine(k, x, d, (AxisPlace){&k->c->p->con.axis[s->own], own, false}, NULL);
    if (batch)
        sum = address_combine(k, x, d, (AxisPlace){&k->c->p->con.axis[AX_B], batch, false}, sum);
    return address_plus_number(k->cg, sum, x->sub[d].c);
}

/* Defines where the region begins: the pointer, and subscripts that may be outside.  */
static void begin(Kernel *k, const Side *s, const Ir *own) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    const RRegion *g = &s->region;
    Ir sum =
        address_combine(k, x, OFFSET, (AxisPlace){&k->c->p->con.axis[s->own], own, true}, NULL);
    address_batch(k, s, address_plus_number(cg, sum, x->offset.c - g->shift));
    for (int d = 0; d < k->c->te->tensor[x->tensor].rank; d++) {
        if (!(g->tested >> d & 1)) continue;
        Ir at = first_of(k, s, d, own);
        if (d == g->line)
            at = address_plus_number(cg, ir_mul_n(cg, at, g->stride), -(int64_t)g->shift);
        operand_at(k, s)->at[d] = ir_let_as(cg, IR_I32, ir_numbered(cg, "p", d), at);
    }
}

static void fill_zeros(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    if (s->region_zeros == 0) return;
    Ir i = open_shares(k, s->region_zeros);
    Ir at = ir_add(cg, ir_int(cg, s->region.lines * s->region.pitch), i);
    Ir all = smem_at(k, ir_storage(s->o->storage), false, operand_at(k, s)->region);
    ir_set(cg, ir_element(cg, all, at),
           ir_int(cg, 0));
    ir_close(cg);
}

/* Defines the digits of position `at` of K.  */
static void digits_of_k(Kernel *k, const Side *s, Ir at, Ir *digit) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    TeExtent count[TE_MAX_INDICES] = {{0}};
    digit[0] = at;
    if (g->n_k <= 1) return;
    for (int n = 0; n < g->n_k; n++) count[n] = size_number(g->extent_k[n]);
    place_digits(cg, ir_cast(cg, IR_U32, at), count, g->n_k, false, digit);
    for (int n = g->n_k - 1; n >= 0; n--)
        digit[n] = ir_let_as(cg, IR_I32, ir_numbered(cg, product_name(cg, s, "k"), n), digit[n]);
}

/* Elements that position `at` of K adds to a row's place.  */
static Ir place_of_k(Kernel *k, const Side *s, Ir at) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    Ir digit[TE_MAX_INDICES], sum = NULL;
    digits_of_k(k, s, at, digit);
    for (int n = 0; n < g->n_k; n++)
        if (g->step_k[n]) sum = ir_sum(cg, sum, ir_mul(cg, digit[n], ir_int(cg, g->step_k[n])));
    return address_plus_number(cg, sum, g->shift);
}

static void fill_table(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    Ir i = open_shares(k, rprog_region_entries(k->c->p, k->c->r));
    Ir place = place_of_k(k, s, i);
    if (s->region_zeros)
        place = ir_select(cg, ir_lt(cg, i, product_extent(k, AX_K)), place,
                          ir_int(cg, g->lines * g->pitch));
    ir_set(cg, ir_element(cg, smem_at(k, IR_I32, false, operand_at(k, s)->table), i),
           ir_mul(cg, place, ir_int(cg, s->elem)));
    ir_close(cg);
}

/* What the thread's row i adds to its first.  */
static Ir row_step(const Kernel *k, const Side *s, Ir i) {
    if (s->vec == 1) return ir_mul(k->cg, i, product_size(k, 'L', s->own));
    return product_spread(k, s->own, i);
}

/* What the lane adds to the rows of a matrix unit's read.  */
static Ir lane_row(const Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    if (rprog_region_boxes(s->l)) return ir_rem(cg, k->var.lane, ir_int(cg, LANE_ROWS));
    if (!s->ldmatrix) return fragment_lane_place(k, &s->fragment, FRAG_ROW, 1);
    Ir block, chunk, row = fragment_matrix_of(k, s, &block, &chunk);
    return ir_add(cg, ir_mul(cg, block, ir_int(cg, MATRIX_ROWS)), row);
}

/* Row i of those in the block's tile, behind `first` (NULL: 0).  */
static Ir row_at(const Kernel *k, const Side *s, Ir first, Ir i) {
    const Cg *cg = k->cg;
    Ir at = ir_sum(cg, first, product_place(k, s));
    if (!k->c->matrix.used) return ir_add_parts(cg, at, row_step(k, s, i));
    at = ir_add(cg, at, ir_as(cg, IR_I32, lane_row(k, s)));
    return ir_add(cg, at, ir_mul(cg, i, ir_int(cg, s->region_group * s->region_rows)));
}

/* Bytes that lie between images, or parts, before a row of results, counted from the first on.  */
static Ir images_before(const Kernel *k, const Side *s, Ir row) {
    const Cg *cg = k->cg;
    Ir image = ir_div(cg, ir_as(cg, IR_U32, row), ir_number(cg, IR_U32, s->region.out));
    return ir_mul(cg, ir_as(cg, IR_I32, image), ir_int(cg, s->region.step_image * s->elem));
}

/* What all places of rows begin with: the region; of boxes, which of two chunks the lane has.  */
static Ir begin_of_rows(const Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    if (!rprog_region_boxes(s->l)) return operand_at(k, s)->region;
    Ir chunk = ir_div(cg, ir_as(cg, IR_U32, k->var.lane), ir_number(cg, IR_U32, LANE_ROWS));
    return ir_cast(cg, IR_I32, ir_mul(cg, chunk, ir_number(cg, IR_U32, RTILE_ACCESS)));
}

/* Of rows from `first` on, `row` of an image.  */
static void row_places(Kernel *k, const Side *s, Ir first, Ir row) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    Ir count = ir_number(cg, IR_U32, g->whole ? g->count_in : 1);
    Ir i = ir_count_of(cg, k->var.i, s->region_places, IR_UNROLL_ALL);
    Ir at = ir_let_as(cg, IR_U32, "at", row_at(k, s, first, i)), in = at, place;
    if (g->whole) in = ir_rem(cg, at, count);
    place = ir_add(cg, begin_of_rows(k, s),
                   ir_mul(cg, ir_cast(cg, IR_I32, in), ir_int(cg, g->step_in * s->elem)));
    if (g->whole) {
        Ir line = ir_let_as(cg, IR_I32, "down", ir_div(cg, at, count));
        place = ir_add(cg, place, ir_mul(cg, line, ir_int(cg, g->step_out * s->elem)));
        if (g->parts > 1) row = ir_int(cg, 0);
        if (row) place = ir_add(cg, place, images_before(k, s, ir_add(cg, row, line)));
    }
    ir_set(cg, ir_element(cg, operand_at(k, s)->rows, i), place);
    ir_close(cg);
}

static void declare_rows(Kernel *k, const Side *s) {
    operand_at(k, s)->rows =
        ir_array(k->cg, ir_type(IR_I32), product_name(k->cg, s, "row"), s->region_places, 0, 0);
}

/* The digits of the tile's first row: where the region begins; which of a line's results the first
 * one is, and of an image's rows of them, where regions have whole ones of these.  */
static void first_digits(Kernel *k, const Side *s, Ir *digit, Ir *first, Ir *row) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    const FusedAxis *own = &k->c->p->con.axis[s->own];
    address_digits(k, own, product_name(cg, s, "mn"), product_first(k, s->own),
                   address_axis_wide(k, s->own), digit);
    if (g->whole) {
        *first = ir_cast(cg, IR_U32, digit[own->n_digit - 1]);
        digit[own->n_digit - 1] = ir_int(cg, 0);
    }
    if (g->period > 0) {
        *row = ir_as(cg, IR_I32, digit[own->n_digit - 2]);
        digit[own->n_digit - 2] = ir_int(cg, 0);
    }
}

void region_place(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    Ir digit[TE_MAX_INDICES] = {ir_int(cg, 0)}, first = NULL, row = NULL;
    declare_rows(k, s);
    ir_scope(cg);
    first_digits(k, s, digit, &first, &row);
    row_places(k, s, first, row);
    ir_close(cg);
}

void region_load(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    const RRegion *g = &s->region;
    Ir digit[TE_MAX_INDICES] = {ir_int(cg, 0)}, first = NULL, row = NULL;
    ir_note(cg, "region: operand %c, %d lines of %d elements, each once", s->id, (int)g->lines,
            (int)g->row);
    declare_rows(k, s);
    operand_at(k, s)->places =
        ir_variable(cg, IR_I32, product_name(cg, s, "places"), operand_at(k, s)->table);
    ir_scope(cg);
    first_digits(k, s, digit, &first, &row);
    begin(k, s, digit);
    Ir above = row ? ir_mul(cg, row, ir_int(cg, g->by)) : NULL;
    region_chunks(k, s, above, NULL);
    fill_zeros(k, s);
    fill_table(k, s);
    row_places(k, s, first, row);
    ir_close(cg);
    ir_simple(cg, IR_STMT_BLANK);
}

void region_fill(Kernel *k, const Side *s, int ring) {
    Cg *cg = k->cg;
    Ir digit[TE_MAX_INDICES] = {ir_int(cg, 0)}, first = NULL, row = NULL;
    ir_note(cg, "region: operand %c, %d lines of %d elements", s->id, (int)s->region.lines,
            (int)s->region.row);
    ir_scope(cg);
    first_digits(k, s, digit, &first, &row);
    begin(k, s, digit);
    Ir slot = ir_let(cg, "to", ring_tile(k, s, ring));
    Ir above = row ? ir_mul(cg, row, ir_int(cg, s->region.by)) : NULL;
    region_chunks(k, s, above, slot);
    ir_close(cg);
}

void region_advance(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    ir_update(cg, IR_ADD, operand_at(k, s)->places,
              ir_mul(cg, product_size(k, 'B', AX_K), ir_int(cg, ENTRY)));
}

/* ---- fragments ---- */

/* What lies `bytes` beside each other is read as one.  */
static IrBase joined_base(int bytes) {
    return bytes == 8 ? IR_F64 : bytes == 4 ? IR_U32 : bytes == 2 ? IR_U16 : IR_U8;
}

/* A register of `per` elements: they are read `pair` at a time from row + the places at `from`.  */
static Ir joined(const Kernel *k, const Side *s, Ir row, Ir from, int per) {
    const Cg *cg = k->cg;
    int pair = s->region.pair, bytes = pair * s->elem;
    IrType type = ir_pointer(joined_base(bytes), IR_SHARED, true);
    Ir at = ir_add_parts(cg, k->var.smem, row), all = NULL;
    for (int i = 0; i < per / pair; i++) {
        Ir place = ir_add(cg, at, ir_lane(cg, from, ir_int(cg, i * pair)));
        Ir x = ir_element(cg, ir_view(cg, type, place), ir_int(cg, 0));
        if (per > pair) x = ir_cast(cg, IR_U32, x);
        if (i > 0) x = ir_binary(cg, IR_SHL, x, ir_int(cg, i * bytes * 8));
        all = all ? ir_binary(cg, IR_OR, all, x) : x;
    }
    return all;
}

/* Places of the elements of register g in the slice at kk.  */
static Ir places_of(Kernel *k, const Side *s, Ir kk, Ir g) {
    Cg *cg = k->cg;
    const Fragment *x = &s->fragment;
    int per = x->per_register;
    Ir at = smem_at(k, IR_I32, true, operand_at(k, s)->places);
    if (k->c->warps[AX_K] > 1) at = ir_add(cg, at, k->var.k_warp);
    at = ir_add_parts(cg, at, kk);
    at = ir_add(cg, at, ir_mul(cg, g, ir_int(cg, fragment_lanes(x, FRAG_COL) * per)));
    at = ir_add_parts(cg, at, fragment_lane_place(k, x, FRAG_COL, 1));
    return ir_let(cg, "from", ir_load(cg, at, per > s->region.pair ? per : 1));
}

void region_fetch_mma(Kernel *k, const Side *s, Ir kk, Ir to) {
    Cg *cg = k->cg;
    const Fragment *x = &s->fragment;
    int per = x->per_register, blocks = k->c->r->warp.extent[s->own] / s->region_rows;
    Ir rows = ir_int(cg, fragment_slots(x, FRAG_ROW)), group = ir_int(cg, s->region_group);
    Ir g = ir_count_of(cg, k->var.g, fragment_slots(x, FRAG_COL) / per, IR_UNROLL_ALL);
    Ir from = places_of(k, s, kk, g);
    Ir f = ir_count(cg, "f", blocks, IR_UNROLL_ALL);
    Ir row = ir_element(cg, operand_at(k, s)->rows, ir_div(cg, f, group));
    if (s->region_group > 1)
        row = ir_add(cg, row,
                     ir_mul(cg, ir_rem(cg, f, group),
                            ir_int(cg, s->region_rows * s->region.step_in * s->elem)));
    Ir at = ir_mul(cg, ir_div(cg, f, rows), ir_int(cg, s->registers));
    at = ir_add(cg, ir_add(cg, at, ir_mul(cg, g, rows)), ir_rem(cg, f, rows));
    ir_set(cg, ir_element(cg, to, at), joined(k, s, row, from, per));
    ir_close(cg);
    ir_close(cg);
}

Ir region_matrix_k(Kernel *k, const Side *s, Ir kk) {
    Cg *cg = k->cg;
    Ir block, chunk;
    fragment_matrix_of(k, s, &block, &chunk);
    Ir at = smem_at(k, IR_I32, true, operand_at(k, s)->places);
    if (k->c->warps[AX_K] > 1) at = ir_add(cg, at, k->var.k_warp);
    at = ir_add_parts(cg, at, kk);
    at = ir_add(cg, at, ir_mul(cg, chunk, ir_int(cg, RTILE_ACCESS / s->elem)));
    return ir_let(cg, "from", ir_load(cg, at, 1));
}

Ir region_matrix(const Kernel *k, const Side *s, Ir own, Ir from) {
    const Cg *cg = k->cg;
    Ir read = ir_div(cg, own, ir_int(cg, s->region_rows)), group = ir_int(cg, s->region_group);
    Ir at = ir_element(cg, operand_at(k, s)->rows, ir_div(cg, read, group));
    at = ir_add(cg, at, ir_add(cg, k->var.shared, from));
    Ir down = ir_int(cg, s->region_rows * s->region.step_in * s->elem);
    return ir_add(cg, at, ir_mul(cg, ir_rem(cg, read, group), down));
}

Ir region_element(const Kernel *k, const Side *s, Ir from, Ir i) {
    const Cg *cg = k->cg;
    bool straight = s->region_straight;
    Ir row = ir_element(cg, operand_at(k, s)->rows, straight ? ir_int(cg, 0) : i);
    if (straight)
        row = ir_add(cg, row, ir_mul(cg, row_step(k, s, i),
                                     ir_int(cg, s->region.step_in * s->elem)));
    Ir at = ir_add(cg, ir_add_parts(cg, k->var.smem, row), from);
    return ir_element(cg, ir_view(cg, ir_pointer(ir_storage(s->tile), IR_SHARED, true), at),
                      ir_int(cg, 0));
}

/* ---- by boxes ---- */

void region_read(Kernel *k, const Side *s, Ir from, Ir to) {
    Cg *cg = k->cg;
    enum { SLICE = 2 * RTILE_ACCESS };                /* bytes of a row that a load takes */
    Ir first = ir_mul(cg, k->var.step, product_size(k, 'B', AX_K));
    Ir place = ir_mul_n(cg, place_of_k(k, s, first), s->elem);
    place = ir_let_as(cg, IR_I32, product_name(cg, s, "place"), place);
    Ir i = ir_count_of(cg, k->var.i, s->region_places, IR_UNROLL_ALL);
    Ir row = ir_let(cg, "at", ir_add(cg, ir_element(cg, operand_at(k, s)->rows, i), place));
    Ir moved = ir_binary(cg, IR_SHR, row, ir_int(cg, RREGION_SHIFT));
    moved = ir_binary(cg, IR_AND, moved, ir_int(cg, rprog_region_swizzle(&s->region)));
    moved = ir_let(cg, "moved", moved);
    int slices = k->c->r->block.extent[AX_K] / k->c->r->thread.extent[AX_K];
    Ir kk = ir_count(cg, "kk", slices, IR_UNROLL_ALL);
    Ir at = ir_binary(cg, IR_XOR, ir_add(cg, row, ir_mul(cg, kk, ir_int(cg, SLICE))), moved);
    ir_matrices(cg, 4, false, ir_element(cg, ir_element(cg, to, kk), i), ir_add(cg, from, at));
    ir_close(cg);
    ir_close(cg);
}
