#include "codegen/block/block.h"
#include "codegen/expr/sizes.h"

/* What a number says of its digits, and a position of the root's indices.  Every division by which
 * a kernel finds its place is made here.  */

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

void place_axis(const Kernel *k, int axis, Ir at, bool wide_at, Ir *index, bool *wide) {
    const IndexMap *m = &k->task->map;
    TeExtent count[TE_MAX_INDICES] = {{0}};
    Ir digit[TE_MAX_INDICES];
    int x[TE_MAX_INDICES], all = 0, first = axis, end = axis + 1;
    if (axis == ALONG_ALL) first = 0, end = m->n_axis;
    for (int a = first; a < end; a++) {
        for (int i = 0; i < m->axis[a].n; i++, all++) {
            x[all] = m->axis[a].index[i];
            count[all] = m->root->index[x[all]].hi;
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
