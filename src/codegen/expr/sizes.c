/* Numbers that may be known at run time only, as values of the kernel's size arguments.  */
#include "codegen/expr/sizes.h"

Ir size_value(const Cg *c, TeExtent e) { return cg_extent(c, &e); }

Ir size_named(Cg *c, const char *name, IrBase base, TeExtent e) {
    return ir_constant(c, name, ir_as(c, base, cg_extent(c, &e)));
}

Ir size_divisor(const Cg *c, TeExtent e, bool wide) {
    return ir_cast(c, wide ? IR_U64 : IR_U32, cg_extent(c, &e));
}

Ir size_inside(const Cg *c, Ir at, TeExtent e, bool wide) {
    return ir_lt(c, ir_cast(c, wide ? IR_U64 : IR_U32, at), size_divisor(c, e, wide));
}

Ir size_of_stride(const Cg *c, const Access *x, int index) {
    TeExtent e = size_stride(c->arena, c->te, x, index);
    return cg_extent(c, &e);
}

Ir size_add_offset(const Cg *c, const Access *x, uint32_t without, Ir sum) {
    const TeTensor *t = &c->te->tensor[x->tensor];
    int64_t fixed = 0;
    for (int d = 0; d < t->rank; d++) {
        int64_t at = without >> d & 1 ? 0 : x->sub[d].c, steps = at < 0 ? -at : at;
        if (!t->stride[d].expr) fixed += at * t->stride[d].value;
        if (!t->stride[d].expr || at == 0) continue;
        TeExtent part = size_times(c->arena, size_number(steps), t->stride[d]);
        Ir value = cg_extent(c, &part);
        if (at > 0) sum = ir_sum(c, sum, value);
        else sum = sum ? ir_sub(c, sum, value) : ir_unary(c, IR_NEG, value);
    }
    if (fixed == 0) return sum;
    if (sum && fixed < 0) return ir_sub(c, sum, cg_int(c, TE_I64, -fixed));
    return ir_sum(c, sum, cg_int(c, TE_I64, fixed));
}
