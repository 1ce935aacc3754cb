#include "codegen/cg.h"

/* Elements from the first to the last, at the largest sizes.  */
static int64_t span(const TeTensor *t) {
    int64_t last = 0;
    for (int d = 0; d < t->rank; d++) last += (t->shape[d].value - 1) * t->stride[d].value;
    return last + 1;
}

bool cg_tensor_wide(const Cg *c, int tensor) { return span(&c->te->tensor[tensor]) > INT32_MAX; }

/* The sum of subscripts times strides; a subscript that is NULL adds nothing.  */
static const char *weighted(const Cg *c, int tensor, const char *const *sub) {
    const TeTensor *t = &c->te->tensor[tensor];
    const char *cast = cg_tensor_wide(c, tensor) ? "(long long)" : "";
    const char *sum = NULL;
    for (int d = 0; d < te_own_rank(t); d++) {
        if (!sub[d] || (!t->shape[d].expr && t->shape[d].value == 1)) continue;
        const TeExtent *stride = &t->stride[d];
        const char *term = sub[d];
        if (stride->expr) term = cg_text(c, "%s%s * (int)%s", cast, sub[d], cg_extent(c, stride));
        else if (stride->value != 1)
            term = cg_text(c, "%s%s * %s", cast, sub[d], cg_int(c, TE_I64, stride->value));
        sum = sum ? cg_text(c, "%s + %s", sum, term) : term;
    }
    return sum;
}

const char *cg_offset(const Cg *c, int tensor, const char *const *sub) {
    const char *sum = weighted(c, tensor, sub);
    return sum ? sum : "0";
}

/* What constants of subscripts add to an offset; NULL: nothing.  */
static const char *shift_of(const Cg *c, int tensor, const int64_t *by) {
    const TeTensor *t = &c->te->tensor[tensor];
    const char *sub[TE_MAX_RANK] = {0};
    int64_t known = 0;
    for (int d = 0; d < te_own_rank(t); d++) {
        bool varies = t->stride[d].expr != NULL;
        bool single = !t->shape[d].expr && t->shape[d].value == 1;
        sub[d] = by[d] && varies ? cg_int(c, TE_I64, by[d]) : NULL;
        if (!varies && !single) known += by[d] * t->stride[d].value;
    }
    const char *sum = weighted(c, tensor, sub);
    if (!known) return sum;
    const char *number = cg_int(c, TE_I64, known);
    return sum ? cg_text(c, "%s + %s", sum, number) : number;
}

const char *cg_element(const Cg *c, int tensor, const char *offset, const int64_t *by) {
    const char *name = cg_tensor(c, tensor), *shift = shift_of(c, tensor, by);
    return shift ? cg_text(c, "(%s + (%s))[%s]", name, offset, shift)
                 : cg_text(c, "%s[%s]", name, offset);
}

const char *cg_pointer(const Cg *c, int tensor, const char *offset, const int64_t *by) {
    const char *name = cg_tensor(c, tensor), *shift = shift_of(c, tensor, by);
    return shift ? cg_text(c, "%s + (%s) + (%s)", name, offset, shift)
                 : cg_text(c, "%s + (%s)", name, offset);
}
