/* Scales of blocks along k, to Tensor Memory.
 *
 * A warp has them in registers, four neighbours of a row in each (scales.c).  They wait in a slot
 * beside the stage of their step as the unit reads them: 16 bytes for each of 32 lanes, a register
 * of each group of 32 rows, so that 128 rows are 512 bytes (PTX ISA, "Scale factor layout"; the
 * tiles of 128 x 4 of cuBLAS).  The thread that issues products copies them to columns behind the
 * sums before those of a step.  Copies and products of a thread are worked out in order (PTX ISA,
 * "Pipelined tcgen05 instructions"), so that one set of columns is enough.  */
#include "codegen/multiply/multiply.h"
#include "codegen/block/product.h"
#include "te/tree/arith.h"

enum { LANE = 16, LANES = 32, ROWS = TENSOR_LANES, GROUPS = ROWS / FRAG_SCALE_ROWS };

/* Copies of one operand: 128 rows each, all of a word one behind the other.  */
static int copies_of(const Kernel *k, const Side *s) {
    return rprog_tensor_scales(k->cg->dev, k->c->r, s->side) / TENSOR_SCALE_COLUMNS;
}

static int parts_of(const Side *s) { return (int)ceil_div(s->extent, ROWS); }

/* Copy `n` in a slot of the ring.  */
static Ir slot_at(const Kernel *k, const Side *s, int ring, int n) {
    const Cg *cg = k->cg;
    const Room *room = rprog_room(k->c->layout, ROOM_SCALES, s->number);
    Ir slot = ir_mul(cg, k->ring[ring].slot, ir_number(cg, IR_U32, room->apart));
    Ir at = ir_add(cg, k->var.shared, ir_number(cg, IR_U32, room->at));
    return ir_add(cg, ir_add(cg, at, slot), ir_number(cg, IR_U32, (int64_t)n * LANE * LANES));
}

/* What the lane has of group g; groups behind the tile are none of its rows.  */
static Ir word_of(const Kernel *k, const Side *s, int g, int word) {
    const Cg *cg = k->cg;
    if (!s->scales.read) return scales_ones(k);
    if (g >= s->scales.groups) return ir_number(cg, IR_U32, 0);
    Ir group = ir_element(cg, operand_at(k, s)->scale, ir_int(cg, g));
    return ir_element(cg, group, ir_int(cg, word));
}

void tensor_scales_stage(Kernel *k, int ring) {
    Cg *cg = k->cg;
    Ir lane = ir_mul(cg, ir_cast(cg, IR_U32, k->var.lane), ir_number(cg, IR_U32, LANE));
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        for (int n = 0; n < copies_of(k, s); n++) {
            int word = n / parts_of(s), first = n % parts_of(s) * GROUPS;
            Ir arg[1 + GROUPS] = {ir_add(cg, slot_at(k, s, ring, n), lane)};
            for (int g = 0; g < GROUPS; g++) arg[1 + g] = word_of(k, s, first + g, word);
            ir_do(cg, ir_call(cg, ir_type(IR_VOID), "rl_tcgen05_put_scales", 1 + GROUPS, arg[0],
                              arg[1], arg[2], arg[3], arg[4]));
        }
    }
}

/* The first column of an operand's scales: behind all sums, those of a behind those of b.  */
static Ir column_of(const Kernel *k, const Side *s) {
    const Cg *cg = k->cg;
    int at = rprog_tensor_slots(cg->dev, k->c->r) * rprog_tensor_tile(k->c->r);
    if (s->side == 0) at += rprog_tensor_scales(cg->dev, k->c->r, 1);
    return ir_add(cg, k->var.tensor, ir_number(cg, IR_U32, at));
}

void tensor_scales_copy(Kernel *k) {
    Cg *cg = k->cg;
    const char *name = tensor_function(k, "rl_tcgen05_copy_scales");
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        for (int n = 0; n < copies_of(k, s); n++) {
            Ir to = ir_add(cg, column_of(k, s),
                           ir_number(cg, IR_U32, (int64_t)n * TENSOR_SCALE_COLUMNS));
            ir_do(cg, ir_call(cg, ir_type(IR_VOID), name, 2, to, slot_at(k, s, s->ring, n)));
        }
    }
}

void tensor_scales_of(const Kernel *k, Ir i, Ir j, Ir slice, Ir out[IR_TENSOR_SCALES]) {
    const Cg *cg = k->cg;
    const ComputeUnit *u = k->c->matrix.unit;
    Ir tile[] = {i, j}, each = ir_int(cg, FRAG_SCALES);
    Ir at = ir_mul_n(cg, slice, u->k.from / u->scale_k);
    out[2] = ir_rem(cg, at, each);
    for (const Side *s = k->c->side; s < k->c->end; s++) {
        int which = rprog_unit_side(k->c->r, s->side), word = parts_of(s) * TENSOR_SCALE_COLUMNS;
        Ir column = ir_add(cg, ir_mul_n(cg, ir_div(cg, at, each), word),
                           ir_mul_n(cg, tile[which], s->thread / FRAG_SCALE_ROWS));
        out[which] = ir_add(cg, column_of(k, s), column);
    }
}
