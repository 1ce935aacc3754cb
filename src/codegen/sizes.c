/* Numbers that may be known at run time only, as texts of the kernel's size arguments.  */
#include "codegen/sizes.h"

const char *size_text(const Cg *c, TeExtent e) { return cg_extent(c, &e); }

const char *size_divisor(const Cg *c, TeExtent e, bool wide) {
    if (!e.expr) return cg_text(c, "%lld%s", (long long)e.value, wide ? "ull" : "u");
    return cg_text(c, "(%s)%s", wide ? "unsigned long long" : "unsigned", cg_extent(c, &e));
}

const char *size_inside(const Cg *c, const char *at, TeExtent e, bool wide) {
    return cg_text(c, "(%s)(%s) < %s", wide ? "unsigned long long" : "unsigned", at,
                   size_divisor(c, e, wide));
}

const char *size_stride_text(const Cg *c, const Access *x, int index) {
    TeExtent e = size_stride(c->arena, c->te, x, index);
    return e.expr ? cg_extent(c, &e) : cg_int(c, TE_I64, e.value);
}

const char *size_offset_text(const Cg *c, const Access *x, uint32_t without, const char *sum) {
    const TeTensor *t = &c->te->tensor[x->tensor];
    int64_t fixed = 0;
    for (int d = 0; d < t->rank; d++) {
        int64_t at = without >> d & 1 ? 0 : x->sub[d].c, steps = at < 0 ? -at : at;
        if (!t->stride[d].expr) fixed += at * t->stride[d].value;
        if (!t->stride[d].expr || at == 0) continue;
        TeExtent part = size_times(c->arena, size_number(steps), t->stride[d]);
        const char *text = cg_extent(c, &part);
        sum = cg_text(c, "%s%s%s", sum ? sum : "", at < 0 ? " - " : sum ? " + " : "", text);
    }
    if (fixed == 0) return sum;
    const char *number = cg_int(c, TE_I64, sum && fixed < 0 ? -fixed : fixed);
    return sum ? cg_text(c, "%s %c %s", sum, fixed < 0 ? '-' : '+', number) : number;
}
