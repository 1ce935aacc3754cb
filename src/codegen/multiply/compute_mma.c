#include "codegen/multiply/multiply.h"
#include "codegen/prelude/prelude.h"
#include "codegen/block/product.h"

/* Products of matrix units: slices of TK k, each a product of every pair of fragments.  */

static IrBase accumulator_base(const Kernel *k) {
    return k->c->matrix.unit->acc == TE_F16 ? IR_U32 : ir_compute(k->c->matrix.unit->acc);
}

/* Registers of an instruction's accumulators.  */
static int accumulator_registers(const Matrix *x) {
    return x->accumulators / x->results.per_register;
}

/* Registers of all accumulators, one after the other: number j of a row of instructions.  */
static Ir register_at(const Cg *cg, Ir all, Ir i, Ir j, int n) {
    Ir each = ir_int(cg, n);
    return ir_element(cg, ir_element(cg, ir_element(cg, all, i), ir_div(cg, j, each)),
                      ir_rem(cg, j, each));
}

/* Opens the loops over them.  */
typedef struct {
    Ir i, j;
} Register;

static Register open_registers(Kernel *k, int n) {
    Cg *cg = k->cg;
    Register at;
    at.i = ir_count_of(cg, k->var.i, k->c->matrix.tiles[AX_M], IR_UNROLL_ALL);
    at.j = ir_count_of(cg, k->var.j, k->c->matrix.tiles[AX_N] * n, IR_UNROLL_ALL);
    return at;
}

static void close_registers(Kernel *k) {
    ir_close(k->cg);
    ir_close(k->cg);
}

static Ir declare(Kernel *k, IrBase base, const char *name, int n) {
    const Matrix *x = &k->c->matrix;
    return ir_array(k->cg, ir_type(base), product_word(k, name), x->tiles[AX_M], x->tiles[AX_N], n);
}

static Ir cleared(Kernel *k, IrBase base, const char *name, bool begun) {
    Cg *cg = k->cg;
    int n = accumulator_registers(&k->c->matrix);
    Ir all = declare(k, base, name, n);
    if (begun) return all;
    Register at = open_registers(k, n);
    ir_set(cg, register_at(cg, all, at.i, at.j, n), ir_int(cg, 0));
    close_registers(k);
    return all;
}

/* Accumulators that are no values yet have a name of their own.  */
void mma_clear(Kernel *k, bool begun) {
    bool values = contract_sums_values(k->c);
    IrBase base = values ? ir_compute(k->c->p->con.acc) : accumulator_base(k);
    k->own->sum = cleared(k, base, values ? "acc" : "sum", begun);
    if (values) k->own->acc = k->own->sum;
}

void mma_partial(Kernel *k) {
    sum_scales_load(k);
    k->own->part = cleared(k, accumulator_base(k), "part", false);
}

/* How the unit's operand that side i is lies in memory, where the instruction has a form for each
 * order.  */
static const char *order_of(const Kernel *k, int i) {
    return fragment_run(&k->c->side[i].fragment, FRAG_ROW) > 1 ? "across" : "along";
}

static const char *instruction(const Kernel *k) {
    const ComputeUnit *u = k->c->matrix.unit;
    Arena *a = k->cg->arena;
    bool swapped = k->c->r->swapped;
    const char *orders = "";
    if (fragment_has_orders(u))
        orders = arena_printf(a, "_%s_%s", order_of(k, swapped), order_of(k, !swapped));
    return prelude_mma_name(a, u, orders);
}

/* What is issued between the products of a loop over slice `slice`: behind row r of them the share
 * of row `first` + r among `rows`, of each of the copies.  */
typedef struct {
    const Node *copies;       /* or NULL */
    Ir first;                 /* or NULL: 0 */
    int rows;
    Ir slice;
} Between;

/* The product of a pair of instruction tiles.  */
static void multiply_pair(Kernel *k, const Between *x, Ir r, Ir j, Ir a, Ir b) {
    Cg *cg = k->cg;
    bool swapped = k->c->r->swapped;
    Ir all = k->c->matrix.promotes ? k->own->part : k->own->sum, scale[IR_SCALES];
    IrUnit unit = {.instruction = instruction(k)};
    if (k->c->matrix.unit->scale_k > 0) {
        scales_of(k, r, j, x->slice, scale);
        unit.scale = scale;
        unit.scales = IR_SCALES;
    }
    ir_multiply(cg, &unit, ir_element(cg, ir_element(cg, all, r), j), swapped ? b : a,
                swapped ? a : b);
}

static void issue_row(Kernel *k, const Between *x, Ir r) {
    if (x->copies)
        load_row(k, x->copies, ir_sum(k->cg, x->first, r), x->rows);
}

/* Registers of instruction tile `tile` of an operand.  */
static Ir tile_of(const Kernel *k, int side, Ir all, Ir tile) {
    return ir_add(k->cg, all, ir_mul(k->cg, tile, ir_int(k->cg, k->c->side[side].registers)));
}

/* Products of two sets of fragments.  */
static void multiply(Kernel *k, Ir a, Ir b, const Between *x) {
    Cg *cg = k->cg;
    Ir r = ir_count(cg, "r", k->c->matrix.tiles[AX_M], IR_UNROLL_ALL);
    Ir j = ir_count_of(cg, k->var.j, k->c->matrix.tiles[AX_N], IR_UNROLL_ALL);
    multiply_pair(k, x, r, j, tile_of(k, 0, a, r), tile_of(k, 1, b, j));
    ir_close(cg);
    issue_row(k, x, r);
    ir_close(cg);
}

/* Tile r of the first operand, tile j of the second, with bytes converted: of the second once.  */
static Ir widened_a(Kernel *k, Ir r, Ir buffer) {
    const Side *a = &k->c->side[0];
    if (!a->bytes) return tile_of(k, 0, ir_element(k->cg, k->own->operand[0].frag, buffer), r);
    Ir wide = ir_array(k->cg, ir_type(IR_U32), "a_wide", a->registers, 0, 0);
    fragment_mma_widen(k, a, r, buffer, wide);
    return wide;
}

static Ir widened_b(Kernel *k, Ir wide, Ir r, Ir j, Ir buffer) {
    Cg *cg = k->cg;
    if (!wide) return tile_of(k, 1, ir_element(cg, k->own->operand[1].frag, buffer), j);
    ir_if(cg, ir_binary(cg, IR_EQ, r, ir_int(cg, 0)));
    fragment_mma_widen(k, &k->c->side[1], j, buffer, ir_element(cg, wide, j));
    ir_close(cg);
    return ir_element(cg, wide, j);
}

/* The same where bytes are converted, each tile right before its first product, so that the unit
 * has something to do beside it.  */
static void multiply_widened(Kernel *k, Ir buffer, const Between *x) {
    Cg *cg = k->cg;
    const Side *b = &k->c->side[1];
    int columns = k->c->matrix.tiles[AX_N];
    Ir wide = b->bytes ? ir_array(cg, ir_type(IR_U32), "b_wide", columns, b->registers, 0) : NULL;
    Ir r = ir_count(cg, "r", k->c->matrix.tiles[AX_M], IR_UNROLL_ALL);
    Ir of_a = widened_a(k, r, buffer), j = ir_count_of(cg, k->var.j, columns, IR_UNROLL_ALL);
    multiply_pair(k, x, r, j, of_a, widened_b(k, wide, r, j, buffer));
    ir_close(cg);
    issue_row(k, x, r);
    ir_close(cg);
}

/* Splits the fragments of a buffer into what tf32 holds and the rest.  */
static void split(Kernel *k, Ir buffer) {
    Cg *cg = k->cg;
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        Ir f = ir_count_of(cg, k->var.f, k->c->matrix.tiles[s->own] * s->registers, IR_UNROLL_ALL);
        Ir from = ir_element(cg, ir_element(cg, operand_at(k, s)->frag, buffer), f);
        ir_do(cg, ir_call_in_place(cg, "rl_tf32_split", 2, 2, from,
                                   ir_element(cg, operand_at(k, s)->rest, f)));
        ir_close(cg);
    }
}

/* Products of what is in the buffer; of registers that stay, those of slice `number`.  */
static void products(Kernel *k, Ir buffer, Ir number, const Between *x) {
    const Between nothing = {.slice = x->slice};
    const Cg *cg = k->cg;
    Ir a = ir_element(cg, k->own->operand[0].frag,
                      fragment_mma_stays(k, &k->c->side[0]) ? number : buffer);
    Ir b = ir_element(cg, k->own->operand[1].frag, buffer);
    if (k->c->side[0].bytes || k->c->side[1].bytes) {
        multiply_widened(k, buffer, x);
        return;
    }
    if (k->c->matrix.products > 1) {
        bool swapped = k->c->r->swapped;
        split(k, buffer);
        multiply(k, swapped ? a : k->own->operand[0].rest, swapped ? k->own->operand[1].rest : b,
                 &nothing);
        multiply(k, swapped ? k->own->operand[0].rest : a, swapped ? b : k->own->operand[1].rest,
                 &nothing);
    }
    multiply(k, a, b, x);
}

/* Sums of one step join the others.  */
void mma_promote(Kernel *k) {
    Cg *cg = k->cg;
    if (k->c->matrix.scales) {
        sum_scales_join(k);
        return;
    }
    int n = accumulator_registers(&k->c->matrix);
    Register at = open_registers(k, n);
    ir_update(cg, IR_ADD, register_at(cg, k->own->sum, at.i, at.j, n),
              register_at(cg, k->own->part, at.i, at.j, n));
    close_registers(k);
}

/* The slices of a body.  Where any fragments are ahead they are without the last one, and the first
 * one's are there already, or all, and the first one's are fetched.  */
static void slices(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    int slice = k->c->r->thread.extent[AX_K], count = (int)(n->to / slice);
    int rows = k->c->matrix.tiles[AX_M];
    Ir tk = product_size(k, 'T', AX_K), two = ir_int(cg, 2), buffer = ir_int(cg, 0);
    ir_note(cg, "compute: slices of %d k", slice);
    bool ahead = k->c->any_ahead, whole = ahead && n->to == k->c->r->unroll;
    if (whole) fragment_mma_fetch(k, ir_int(cg, 0), ir_int(cg, 0));
    Ir kk = ir_for(cg, "kk", ir_int(cg, 0), ir_int(cg, n->to), slice, IR_UNROLL_ALL);
    Ir number = ir_div(cg, kk, tk);
    if (ahead) {
        Ir next = ir_add(cg, kk, tk);
        if (whole) ir_if(cg, ir_lt(cg, next, ir_int(cg, n->to)));
        buffer = ir_rem(cg, number, two);
        fragment_mma_fetch(k, next, ir_rem(cg, ir_add_n(cg, number, 1), two));
        if (whole) ir_close(cg);
    } else {
        fragment_mma_fetch(k, kk, buffer);
    }
    Ir first = count > 1 ? ir_mul(cg, number, ir_int(cg, rows)) : NULL;
    products(k, buffer, number, &(Between){n->child, first, count * rows, number});
    ir_close(cg);
}

void compute_mma(Kernel *k, const Node *n) {
    Cg *cg = k->cg;
    if (n->from > 0) {
        ir_note(cg, "compute: the last slice, with fragments of the next stage under way");
        fragment_mma_fetch(k, ir_int(cg, 0), ir_int(cg, 0));
        int last = k->c->matrix.tiles[AX_K] - 1;
        products(k, ir_int(cg, 1), NULL, &(Between){.slice = ir_int(cg, last)});
    } else if (n->to > 0) {
        slices(k, n);
    }
    if (n->to == k->c->r->unroll && k->c->matrix.promotes) mma_promote(k);
}

/* Half j % 2 of a register.  */
static Ir half_of(const Cg *cg, Ir pair, Ir j) {
    Ir bits = ir_binary(cg, IR_SHR, pair,
                        ir_mul(cg, ir_rem(cg, j, ir_int(cg, 2)), ir_int(cg, 16)));
    return ir_call(cg, ir_type(IR_F32), "rl_f16_to_f32", 1, ir_cast(cg, IR_U16, bits));
}

void mma_finish(Kernel *k) {
    Cg *cg = k->cg;
    const Matrix *x = &k->c->matrix;
    TeDtype from = x->unit->acc, to = k->c->p->con.acc;
    int n = x->accumulators;
    Ir each = ir_int(cg, n), slot;
    ir_note(cg, "sums: accumulators as %s", te_dtype_name(to));
    k->own->acc = declare(k, ir_compute(to), "acc", n);
    Register at = open_registers(k, n);
    Ir tile = ir_element(cg, ir_element(cg, k->own->sum, at.i), ir_div(cg, at.j, each));
    slot = ir_rem(cg, at.j, each);
    Ir value = from == TE_F16
                   ? half_of(cg, ir_element(cg, tile, ir_div(cg, slot, ir_int(cg, 2))), at.j)
                   : ir_element(cg, tile, slot);
    ir_set(cg, register_at(cg, k->own->acc, at.i, at.j, n),
           cg_convert(cg, to, te_dtype_compute(from), value));
    close_registers(k);
    ir_simple(cg, IR_STMT_BLANK);
}
