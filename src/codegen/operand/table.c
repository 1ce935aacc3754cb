#include "codegen/operand/address.h"
#include "codegen/block/product.h"

/* Tables of positions, for operands whose indices would have to be decoded for many chunks in every
 * step: one entry for each row of the block's tile, made once, and one for each k of a step, made
 * while the step before is loaded.  An entry is an offset and a word of bits.  Each value that the
 * digits of k can give a guarded subscript has a bit: a row marks those that would lie outside,
 * a k marks its own, and the element is inside where no bit meets.  Two more bits are for the ends
 * of the axes.  */

static const unsigned BEYOND_ROWS = 0x80000000u, BEYOND_K = 0x40000000u;

static Ir bits_of(const Kernel *k, unsigned bits) { return ir_number(k->cg, IR_U32, bits); }

/* Entry `index` of the table that begins at a byte of shared memory.  */
static Ir entry_at(const Kernel *k, Ir table, Ir index) {
    const Cg *cg = k->cg;
    return ir_add(cg, smem_at(k, IR_I32, false, table), ir_mul(cg, index, ir_int(cg, 2)));
}

static Ir constant(Kernel *k, const Side *s, const char *name, int64_t n) {
    return ir_constant(k->cg, product_constant_name(k->cg, s, name), ir_int(k->cg, n));
}

void table_constants(Kernel *k, const Side *s) {
    const Room *table = rprog_room(k->l->layout, ROOM_TABLE, s->side);
    const Room *rows = rprog_room(k->l->layout, ROOM_ROW_TABLE, s->side);
    OperandAt *x = operand_at(k, s);
    x->k_table = constant(k, s, "KTABLE", table->at);
    x->k_entries = constant(k, s, "KENTRIES", s->k_entries);
    if (!rows) return;
    x->row_table = constant(k, s, "RTABLE", rows->at);
    x->row_entries = constant(k, s, "RENTRIES", s->row_entries);
}

/* ---- rows ---- */

/* The number of a value that digits of k give to a subscript: `index` of those before.  */
static Ir joined(const Kernel *k, Ir index, int64_t n, Ir digit) {
    const Cg *cg = k->cg;
    return index ? ir_add(cg, ir_mul(cg, index, ir_int(cg, n)), digit) : digit;
}

static Ir bit_at(const Kernel *k, const Side *s, int d, Ir index) {
    const Cg *cg = k->cg;
    Ir first = ir_int(cg, s->guard_bit[d]);
    return ir_binary(cg, IR_SHL, ir_number(cg, IR_U32, 1),
                     index ? ir_add(cg, first, index) : first);
}

/* Subscript d at the row's digits, where those of k are 0.  */
static Ir row_subscript(const Kernel *k, const Side *s, int d, const Ir *digit) {
    const Access *x = &s->o->access;
    const Ir *batch = operand_at(k, s)->batch;
    bool wide = address_wide(k, s, d);
    Ir at = address_combine(k, x, d, (AxisPlace){address_axis(k, s, s->own), digit, wide}, NULL);
    if (batch)
        at = address_combine(k, x, d, (AxisPlace){address_axis(k, s, AX_B), batch, wide}, at);
    return address_plus_number(k->cg, at, x->sub[d].c);
}

/* Marks, for every value of the digits of k in guarded subscript d, whether it lies outside.  */
static void mark_outside(Kernel *k, const Side *s, int d, const Ir *digit, Ir bits) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    bool wide = address_wide(k, s, d);
    Ir at = row_subscript(k, s, d, digit), index = NULL;
    int loops = 0;
    for (int i = 0; i < s->k_axis.n_digit; i++) {
        int64_t stride = rprog_stride(&x->sub[d], &s->k_axis, i), n = s->k_axis.digit[i].extent;
        if (stride == 0) continue;
        Ir q = ir_count(cg, ir_numbered(cg, "q", loops++), n, IR_UNROLL_ALL);
        at = ir_add(cg, at, ir_mul(cg, wide ? ir_as(cg, IR_I64, q) : q, ir_int(cg, stride)));
        index = joined(k, index, n, q);
    }
    Ir inside = size_inside(cg, at, k->c->te->tensor[x->tensor].shape[d], wide);
    ir_if(cg, ir_unary(cg, IR_NOT, inside));
    ir_update(cg, IR_OR, bits, bit_at(k, s, d, index));
    ir_close(cg);
    for (; loops > 0; loops--) ir_close(cg);
}

/* The entry of the row or column at global position `at`, put into two places.  */
static void row_entry(Kernel *k, const Side *s, Ir at, const Ir to[2]) {
    Cg *cg = k->cg;
    const Access *x = &s->o->access;
    Ir digit[TE_MAX_INDICES], marks = bits_of(k, BEYOND_K);
    const FusedAxis *own = address_axis(k, s, s->own);
    bool wide = address_axis_wide(k, s->own);
    at = ir_let_as(cg, place_base(wide), "at", at);
    address_digits(k, own, product_name(cg, s, "mn"), at, wide, digit);
    Ir off = address_combine(k, x, OFFSET, (AxisPlace){own, digit, false}, NULL);
    off = x->c_varies ? size_add_offset(cg, x, 0, off) : address_plus_number(cg, off, x->offset.c);
    if (s->ragged) {
        Ir inside = ir_lt(cg, at, product_extent(k, s->own));
        Ir beyond = ir_select(cg, inside, bits_of(k, 0), bits_of(k, BEYOND_ROWS));
        marks = ir_binary(cg, IR_OR, beyond, marks);
    }
    Ir bits = ir_variable(cg, IR_U32, "bits", marks);
    for (int d = 0; d < address_rank(k, s); d++) {
        if (x->guard[d]) mark_outside(k, s, d, digit, bits);
    }
    ir_set(cg, to[0], off);
    ir_set(cg, to[1], ir_cast(cg, IR_I32, bits));
}

/* An entry on its way to its table.  */
static Ir declare_entry(Kernel *k, Ir to[2]) {
    Cg *cg = k->cg;
    Ir entry = ir_array(cg, ir_type(IR_I32), "entry", 2, 0, 0);
    for (int i = 0; i < 2; i++) to[i] = ir_element(cg, entry, ir_int(cg, i));
    return entry;
}

static Ir loop_of_threads(Kernel *k, Ir n) {
    Cg *cg = k->cg;
    Ir r = ir_name(cg, ir_type(IR_I32), "r");
    IrNext next = {IR_ADD, k->var.threads};
    ir_loop(cg, r, k->var.tid, ir_lt(cg, r, n), next, IR_UNROLL_FREE);
    return r;
}

static void rows_to_memory(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    Ir to[2], r = loop_of_threads(k, operand_at(k, s)->row_entries);
    Ir entry = declare_entry(k, to), at = ir_mul_n(cg, r, s->extent / s->row_entries);
    row_entry(k, s, ir_add(cg, product_first(k, s->own), at), to);
    ir_store(cg, NULL, 2, entry_at(k, operand_at(k, s)->row_table, r), entry);
    ir_close(cg);
}

/* Entry `number` of the rows that a thread keeps.  */
static Ir kept_row(const Kernel *k, const Side *s, Ir number) {
    return ir_element(k->cg, operand_at(k, s)->rows, number);
}

void table_rows(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    OperandAt *x = operand_at(k, s);
    bool one = s->period == 1;
    address_batch(k, s, NULL);
    if (s->row_entries > 0) {
        rows_to_memory(k, s);
        return;
    }
    x->rows = ir_array(cg, ir_vector(IR_I32, 2), product_name(cg, s, "row"), s->period, 0, 0);
    if (one) ir_scope(cg);
    chunk_open_period(k, s->period);
    Ir i = one ? ir_int(cg, 0) : k->var.i;
    Ir mn = one ? x->mn : ir_element(cg, x->mn, i), row = kept_row(k, s, i);
    row_entry(k, s, ir_add(cg, product_first(k, s->own), mn),
              (const Ir[]){ir_lane(cg, row, ir_int(cg, 0)), ir_lane(cg, row, ir_int(cg, 1))});
    chunk_close_period(k, s->period);
    if (one) ir_close(cg);
}

/* ---- k ---- */

/* Bits of the values that the digits of k at `at` give to guarded subscripts.  */
static Ir k_bits(const Kernel *k, const Side *s, Ir at, const Ir *digit) {
    const Cg *cg = k->cg;
    const Access *x = &s->o->access;
    Ir bits = bits_of(k, BEYOND_ROWS);
    for (int d = 0; d < address_rank(k, s); d++) {
        if (!x->guard[d]) continue;
        Ir index = NULL;
        for (int i = 0; i < s->k_axis.n_digit; i++) {
            if (rprog_stride(&x->sub[d], &s->k_axis, i) == 0) continue;
            index = joined(k, index, s->k_axis.digit[i].extent, digit[i]);
        }
        bits = ir_binary(cg, IR_OR, bits, bit_at(k, s, d, index));
    }
    if (!k->c->k_ragged) return bits;
    return ir_select(cg, ir_lt(cg, at, product_extent(k, AX_K)), bits, bits_of(k, BEYOND_K));
}

/* Entry r of the table of k of the load at hand.  */
static Ir k_entry_at(const Kernel *k, const Side *s, Ir r) {
    const Cg *cg = k->cg;
    Ir first = ir_mul(cg, k->var.turn, operand_at(k, s)->k_entries);
    return entry_at(k, operand_at(k, s)->k_table, ir_add(cg, first, r));
}

static void next_entries(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    Ir digit[TE_MAX_INDICES], to[2], tid = k->var.tid, r = tid;
    const FusedAxis *axis = address_axis(k, s, AX_K);
    Ir n = operand_at(k, s)->k_entries;
    bool wide = address_axis_wide(k, AX_K), several = s->k_entries > k->c->r->threads;
    if (several) r = loop_of_threads(k, n);
    else ir_if(cg, ir_lt(cg, tid, n));
    Ir each = ir_mul_n(cg, r, k->c->r->block.extent[AX_K] / s->k_entries);
    Ir at = ir_let_as(cg, place_base(wide), "at", ir_add(cg, k->own->k_next, each));
    address_digits(k, axis, product_name(cg, s, "k"), at, wide, digit);
    Ir off = address_combine(k, &s->o->access, OFFSET, (AxisPlace){axis, digit, false}, NULL);
    Ir entry = declare_entry(k, to);
    ir_set(cg, to[0], off ? off : ir_int(cg, 0));
    ir_set(cg, to[1], ir_cast(cg, IR_I32, k_bits(k, s, at, digit)));
    ir_store(cg, NULL, 2, k_entry_at(k, s, r), entry);
    ir_close(cg);
}

void table_next(Kernel *k) {
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        if (s->table) next_entries(k, s);
    }
}

/* ---- chunks ---- */

static bool one_k(const Side *s) { return s->period == 1 && s->step_k == 0; }

/* Position `at` in the tile as the number of an entry, of which there are n along `extent`.  */
static Ir entry_of(const Kernel *k, Ir at, int extent, int n) {
    return ir_div(k->cg, at, ir_int(k->cg, extent / n));
}

static void read_entry(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    Ir number = entry_of(k, address_k(k, s), k->c->r->block.extent[AX_K], s->k_entries);
    operand_at(k, s)->k_entry =
        ir_let(cg, product_name(cg, s, "e"), ir_load(cg, k_entry_at(k, s, number), 2));
}

void table_step(Kernel *k, const Side *s) {
    if (one_k(s)) read_entry(k, s);
}

static Ir row_of(const Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    Ir i = k->var.i;
    if (s->row_entries == 0)
        return kept_row(k, s, s->period > 1 ? ir_rem(cg, i, ir_int(cg, s->period)) : ir_int(cg, 0));
    Ir number = entry_of(k, address_mn(k, s), s->extent, s->row_entries);
    return ir_load(cg, entry_at(k, operand_at(k, s)->row_table, number), 2);
}

Ir table_source(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    OperandAt *x = operand_at(k, s);
    Ir zero = ir_int(cg, 0);
    if (!one_k(s)) read_entry(k, s);
    x->row_entry = ir_let(cg, product_name(cg, s, "r"), row_of(k, s));
    return ir_add(cg, x->src, ir_add(cg, ir_lane(cg, x->row_entry, zero),
                                     ir_lane(cg, x->k_entry, zero)));
}

Ir table_test(const Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    const OperandAt *x = operand_at(k, s);
    Ir one = ir_int(cg, 1), zero = ir_int(cg, 0);
    Ir meets = ir_binary(cg, IR_AND, ir_lane(cg, x->row_entry, one), ir_lane(cg, x->k_entry, one));
    return ir_binary(cg, IR_EQ, meets, zero);
}
