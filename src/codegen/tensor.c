#include "codegen/cg.h"

const char *cg_tensor(const Cg *c, int tensor) { return cg_text(c, "t%d", tensor); }

/* Elements from the first to the last, at the largest sizes.  */
static int64_t span(const TeTensor *t) {
    int64_t last = 0;
    for (int d = 0; d < t->rank; d++) last += (t->shape[d].value - 1) * t->stride[d].value;
    return last + 1;
}

bool cg_tensor_wide(const Cg *c, int tensor) { return span(&c->te->tensor[tensor]) > INT32_MAX; }

const char *cg_offset(const Cg *c, int tensor, const char *const *sub) {
    const TeTensor *t = &c->te->tensor[tensor];
    const char *cast = cg_tensor_wide(c, tensor) ? "(long long)" : "";
    const char *sum = NULL;
    for (int d = 0; d < t->rank; d++) {
        if (!t->shape[d].expr && t->shape[d].value == 1) continue;
        const TeExtent *stride = &t->stride[d];
        const char *term = sub[d];
        if (stride->expr) term = cg_text(c, "%s%s * (int)%s", cast, sub[d], cg_extent(c, stride));
        else if (stride->value != 1)
            term = cg_text(c, "%s%s * %s", cast, sub[d], cg_int(c, TE_I64, stride->value));
        sum = sum ? cg_text(c, "%s + %s", sum, term) : term;
    }
    return sum ? sum : "0";
}
