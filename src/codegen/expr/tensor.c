#include "codegen/expr/expr.h"
#include "te/tree/arith.h"

/* Elements from the first to the last, at the largest sizes.  */
static int64_t span(const TeTensor *t) {
    int64_t last = 0;
    for (int d = 0; d < t->rank; d++) last += (t->shape[d].value - 1) * t->stride[d].value;
    return last + 1;
}

bool cg_tensor_wide(const Cg *c, int tensor) { return span(&c->te->tensor[tensor]) > INT32_MAX; }

/* What is left of an offset inside the tensor lies as far outside as the constants reach.  */
bool cg_apart_wide(const Cg *c, int tensor, const int64_t *by) {
    const TeTensor *t = &c->te->tensor[tensor];
    int64_t reach = span(t), part;
    for (int d = 0; d < te_own_rank(t); d++) {
        if (!mul_fits(by[d], t->stride[d].value, &part) || part == INT64_MIN ||
            !add_fits(reach, part < 0 ? -part : part, &reach))
            return true;
    }
    return reach > INT32_MAX;
}

bool cg_single(const Cg *c, int tensor, int d) {
    const TeExtent *extent = &c->te->tensor[tensor].shape[d];
    return !extent->expr && extent->value == 1;
}

/* The sum of subscripts times strides; a subscript that is NULL adds nothing.  NULL: all are.  */
static Ir weighted(const Cg *c, int tensor, const Ir *sub, bool wide) {
    const TeTensor *t = &c->te->tensor[tensor];
    Ir sum = NULL;
    for (int d = 0; d < te_own_rank(t); d++) {
        if (!sub[d] || cg_single(c, tensor, d)) continue;
        const TeExtent *stride = &t->stride[d];
        Ir term = sub[d];
        bool moves = stride->expr || stride->value != 1;
        if (moves && wide) term = ir_as(c, IR_I64, term);
        if (stride->expr) term = ir_mul(c, term, ir_as(c, IR_I32, cg_extent(c, stride)));
        else term = ir_mul(c, term, cg_int(c, TE_I64, stride->value));
        sum = ir_sum(c, sum, term);
    }
    return sum;
}

Ir cg_offset_apart(const Cg *c, int tensor, const Ir *sub, const int64_t *by) {
    Ir sum = weighted(c, tensor, sub, cg_apart_wide(c, tensor, by));
    return sum ? sum : ir_int(c, 0);
}

Ir cg_offset(const Cg *c, int tensor, const Ir *sub) {
    static const int64_t none[TE_MAX_RANK];
    return cg_offset_apart(c, tensor, sub, none);
}

/* What constants of subscripts add to an offset; NULL: nothing.  */
static Ir shift_of(const Cg *c, int tensor, const int64_t *by) {
    const TeTensor *t = &c->te->tensor[tensor];
    Ir sub[TE_MAX_RANK] = {0};
    int64_t known = 0;
    for (int d = 0; d < te_own_rank(t); d++) {
        bool varies = t->stride[d].expr != NULL;
        sub[d] = by[d] && varies ? cg_int(c, TE_I64, by[d]) : NULL;
        if (!varies && !cg_single(c, tensor, d)) known += by[d] * t->stride[d].value;
    }
    Ir sum = weighted(c, tensor, sub, cg_apart_wide(c, tensor, by));
    return known ? ir_sum(c, sum, cg_int(c, TE_I64, known)) : sum;
}

Ir cg_element(const Cg *c, int tensor, Ir offset, const int64_t *by) {
    Ir t = cg_tensor(c, tensor), shift = shift_of(c, tensor, by);
    return shift ? ir_element(c, ir_add(c, t, offset), shift) : ir_element(c, t, offset);
}

Ir cg_pointer(const Cg *c, int tensor, Ir offset, const int64_t *by) {
    Ir at = ir_add(c, cg_tensor(c, tensor), offset), shift = shift_of(c, tensor, by);
    return shift ? ir_add(c, at, shift) : at;
}
