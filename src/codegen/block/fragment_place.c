/* Places in fragments (rtile/fragment.h), as values.  */
#include "codegen/block/block.h"
#include "codegen/block/product.h"

static Ir times(const Cg *cg, Ir x, int n) { return ir_mul(cg, x, ir_int(cg, n)); }
static Ir over(const Cg *cg, Ir x, int n) { return ir_div(cg, x, ir_int(cg, n)); }
static Ir modulo(const Cg *cg, Ir x, int n) { return ir_rem(cg, x, ir_int(cg, n)); }

Ir fragment_lane_place(const Kernel *k, const Fragment *f, FragDim dim, int scale) {
    const Cg *cg = k->cg;
    Ir sum = NULL, lane = k->var.lane;
    int below = 1;
    for (int i = 0; below < WARP; i++) {
        const FragDigit *d = &f->digit[i];
        bool last = below * d->extent == WARP;
        Ir at = below > 1 ? ir_div(cg, lane, ir_number(cg, IR_U32, below)) : lane;
        if (!last) at = ir_rem(cg, at, ir_number(cg, IR_U32, d->extent));
        if (d->to == dim && d->step) sum = ir_sum(cg, sum, times(cg, at, d->step * scale));
        below *= d->extent;
    }
    return sum ? sum : ir_int(cg, 0);
}

Ir fragment_column_at(const Cg *cg, const FragOrder *o, Ir x) {
    Ir sum = NULL;
    int below = 1;
    if (o->n == 0) return x;
    for (int i = 0; i < o->n; below *= o->extent[i++])
        sum = ir_sum(cg, sum, times(cg, modulo(cg, over(cg, x, below), o->extent[i]), o->step[i]));
    return ir_add(cg, sum, times(cg, over(cg, x, o->period), o->period));
}

/* The first digit of a slot's number.  */
static int first_slot(const Fragment *f) {
    int i = 0;
    while (f->digit[i].from == FRAG_LANE) i++;
    return i;
}

/* Is digit i of a slot's number the last one along its side?  */
static bool is_last(const Fragment *f, int i) {
    for (int k = first_slot(f); k < f->n; k++) {
        if (fragment_below(f, i, k)) return false;
    }
    return true;
}

/* Slots along its side that make less than digit i.  */
static int slots_below(const Fragment *f, int i) {
    int n = 1;
    for (int k = first_slot(f); k < f->n; k++)
        if (fragment_below(f, k, i)) n *= f->digit[k].extent;
    return n;
}

Ir fragment_slot_place(const Cg *cg, const Fragment *f, FragDim dim, Ir x) {
    Ir sum = NULL;
    for (int i = first_slot(f); i < f->n; i++) {
        const FragDigit *d = &f->digit[i];
        if (d->to != dim) continue;
        Ir at = over(cg, x, slots_below(f, i));
        if (!is_last(f, i)) at = modulo(cg, at, d->extent);
        sum = ir_sum(cg, sum, times(cg, at, d->step));
    }
    return sum ? sum : ir_int(cg, 0);
}

Ir fragment_slot_number(const Cg *cg, const Fragment *f, Ir row, Ir col) {
    Ir sum = NULL;
    for (int i = first_slot(f), below = 1; i < f->n; i++) {
        const FragDigit *d = &f->digit[i];
        Ir x = over(cg, d->to == FRAG_ROW ? row : col, slots_below(f, i));
        if (!is_last(f, i)) x = modulo(cg, x, d->extent);
        x = times(cg, x, below);
        sum = sum ? ir_add_parts(cg, x, sum) : x;
        below *= d->extent;
    }
    return sum;
}

Ir fragment_place_of(const Cg *cg, const Fragment *f, FragDim dim, Ir x, int multiple,
                     int scale) {
    Ir sum = NULL;
    for (int i = first_slot(f), below = 1; i < f->n; i++) {
        const FragDigit *d = &f->digit[i];
        bool last = i + 1 == f->n;
        int step = d->step * scale, under = below;
        below *= d->extent;
        if (d->to != dim || below <= multiple) continue;
        if (last && under == multiple && step % under == 0) {
            sum = ir_sum(cg, sum, times(cg, x, step / under));
            continue;
        }
        Ir at = over(cg, x, under);
        if (!last) at = modulo(cg, at, d->extent);
        sum = ir_sum(cg, sum, times(cg, at, step));
    }
    return sum;
}

/* ---- matrices ---- */

/* x / n, the quotient's last digit of `digits`; of unsigned numbers.  */
static Ir lane_digit(const Kernel *k, int n, int digits) {
    const Cg *cg = k->cg;
    Ir x = k->var.lane;
    if (n > 1) x = ir_div(cg, x, ir_number(cg, IR_U32, n));
    return digits > 1 ? ir_rem(cg, x, ir_number(cg, IR_U32, digits)) : x;
}

int fragment_matrix_chunks(const Kernel *k, const Side *s) {
    return k->c->r->thread.extent[AX_K] * s->elem / RTILE_ACCESS;
}

Ir fragment_matrix_of(const Kernel *k, const Side *s, Ir *block, Ir *chunk) {
    const Cg *cg = k->cg;
    int chunks = fragment_matrix_chunks(k, s), blocks = fragment_slots(&s->fragment, FRAG_ROW);
    *chunk = ir_int(cg, 0);
    *block = lane_digit(k, MATRIX_ROWS, 0);
    if (chunks > 1 && blocks > 1) {
        *chunk = lane_digit(k, MATRIX_ROWS * blocks, chunks);
        if (blocks * chunks == 4) *block = lane_digit(k, MATRIX_ROWS, blocks);
    } else if (chunks > 1) {
        *chunk = lane_digit(k, MATRIX_ROWS, chunks);
        *block = lane_digit(k, MATRIX_ROWS * chunks, 0);
    }
    return lane_digit(k, 1, MATRIX_ROWS);
}
