#include "codegen/block/block.h"
#include "codegen/expr/sizes.h"

/* The index map as values: what a position, or the number of a block or of a thread, says of its
 * digits.  Every division by which a kernel finds its place is made here.  */

bool place_wide(int64_t extent, int64_t slack) { return extent > INT32_MAX - slack; }

IrBase place_base(bool wide) { return wide ? IR_I64 : IR_I32; }
IrBase place_along_base(const Kernel *k, AxisClass axis) {
    return place_base(place_wide(k->task->p->extent[axis], k->task->r->block.extent[axis]));
}

Ir place_part(const Cg *cg, Ir number, int64_t n, bool wide) {
    return ir_div(cg, number, size_divisor(cg, size_number(n), wide));
}

void place_digits(const Cg *cg, Ir number, const TeExtent *count, int n, bool wide, Ir *digit) {
    TeExtent below = size_number(1);
    int top = 0;
    while (top < n && count[top].value == 1) top++;
    for (int i = n - 1; i >= 0; i--) {
        digit[i] = ir_int(cg, 0);
        if (count[i].value == 1) continue;
        digit[i] = number;
        if (below.expr || below.value > 1)
            digit[i] = ir_div(cg, digit[i], size_divisor(cg, below, wide));
        if (i > top) digit[i] = ir_rem(cg, digit[i], size_divisor(cg, count[i], wide));
        below = size_times(cg->arena, below, count[i]);
    }
}

/* Neighbouring axes of the map, point by point or box by box.  */
typedef struct {
    int first, n;
    bool boxes;
} Axes;

/* Defines the indices of some axes from their joint position, or from the number of a box.  */
static void decode(const Kernel *k, Axes axes, Ir at, bool wide_at, Ir *index, bool *wide) {
    const IndexMap *m = &k->task->map;
    TeExtent count[TE_MAX_INDICES] = {{0}};
    Ir digit[TE_MAX_INDICES];
    int x[TE_MAX_INDICES], all = 0;
    for (int a = axes.first; a < axes.first + axes.n; a++) {
        const IndexAxis *axis = &m->axis[a];
        for (int i = 0; i < axis->n; i++, all++) {
            x[all] = axis->index[i];
            count[all] = axes.boxes && axis->n == 1 ? index_tiles(k->cg->arena, m, a)
                                               : m->root->index[x[all]].hi;
        }
    }
    place_digits(k->cg, at, count, all, wide_at, digit);
    for (int i = all - 1; i >= 0; i--) {
        wide[x[i]] = count[i].value > INT32_MAX;
        index[x[i]] = digit[i];
        if (count[i].value != 1)
            index[x[i]] = ir_let_as(k->cg, place_base(wide[x[i]]), ir_numbered(k->cg, "i", x[i]),
                                    digit[i]);
    }
}

void place_axis(const Kernel *k, int axis, Ir at, bool wide_at, Ir *index, bool *wide) {
    Axes axes = {axis, 1, false};
    if (axis == ALONG_ALL) axes = (Axes){0, k->task->map.n_axis, false};
    decode(k, axes, at, wide_at, index, wide);
}

void place_boxes(const Kernel *k, Ir at, bool wide_at, Ir *index, bool *wide) {
    decode(k, (Axes){0, k->task->map.n_axis, true}, at, wide_at, index, wide);
}

void place_grid(const Kernel *k, Ir number, Ir *digit) {
    const IndexMap *m = &k->task->map;
    TeExtent count[INDEX_DIGITS];
    for (int i = 0; i < m->n_grid; i++) count[i] = index_count(k->cg->arena, m, &m->grid[i]);
    place_digits(k->cg, number, count, m->n_grid, false, digit);
    for (int i = 0; i < m->n_grid; i++) {
        if (!(m->down >> i & 1) || count[i].value == 1) continue;
        Ir last = ir_sub(k->cg, size_divisor(k->cg, count[i], false), ir_int(k->cg, 1));
        digit[i] = ir_sub(k->cg, last, digit[i]);
    }
}

void place_thread_digits(const Kernel *k, Ir number, Ir *digit) {
    const IndexMap *m = &k->task->map;
    TeExtent count[INDEX_DIGITS];
    for (int i = 0; i < m->n_thread; i++) count[i] = index_count(k->cg->arena, m, &m->thread[i]);
    place_digits(k->cg, number, count, m->n_thread, false, digit);
}
