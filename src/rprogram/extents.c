/* Arithmetic of extents that may be known at run time only.  */
#include "rprogram/extents.h"
#include "te/tree/arith.h"
#include "te/tree/tree.h"

static TeExpr *as_expr(Arena *a, const TeExtent *e) {
    return e->expr ? te_expr_copy(a, e->expr) : te_expr_int(a, e->value, TE_I64, 0);
}

static const TeExpr *binary(Arena *a, TeKind kind, const TeExtent *x, const TeExtent *y) {
    if (!x->expr && !y->expr) return NULL;
    TeExpr *e = te_expr_node(a, kind, TE_I64, 2, 0);
    e->args[0] = as_expr(a, x);
    e->args[1] = as_expr(a, y);
    return e;
}

TeExtent size_number(int64_t v) { return (TeExtent){.value = v, .min = v, .multiple = 1}; }

TeExtent size_times(Arena *a, TeExtent x, TeExtent y) {
    if (!x.expr && x.value == 1) return y;
    if (!y.expr && y.value == 1) return x;
    return (TeExtent){.value = x.value * y.value, .min = x.min * y.min,
                      .multiple = te_extent_divisor(&x) * te_extent_divisor(&y),
                      .expr = binary(a, TE_MUL, &x, &y)};
}

TeExtent size_plus(Arena *a, TeExtent x, TeExtent y) {
    if (!x.expr && x.value == 0) return y;
    if (!y.expr && y.value == 0) return x;
    return (TeExtent){.value = x.value + y.value, .min = x.min + y.min,
                      .multiple = gcd64(te_extent_divisor(&x), te_extent_divisor(&y)),
                      .expr = binary(a, TE_ADD, &x, &y)};
}

TeExtent size_minus(Arena *a, TeExtent x, TeExtent y) {
    if (te_extent_same(&x, &y)) return size_number(0);
    if (!y.expr && y.value == 0) return x;
    return (TeExtent){.value = x.value - y.value,
                      .min = (x.expr ? x.min : x.value) - (y.expr ? y.min : y.value),
                      .multiple = gcd64(te_extent_divisor(&x), te_extent_divisor(&y)),
                      .expr = binary(a, TE_SUB, &x, &y)};
}

static const TeExpr *call(Arena *a, TeFn fn, const TeExtent *x, const TeExtent *y) {
    TeExpr *e = te_expr_node(a, TE_CALL, TE_I64, 2, 0);
    e->v.fn = fn;
    e->args[0] = as_expr(a, x);
    e->args[1] = as_expr(a, y);
    return e;
}

TeExtent size_max(Arena *a, TeExtent x, TeExtent y) {
    if (x.value <= y.min) return y;
    if (y.value <= x.min) return x;
    return (TeExtent){.value = x.value > y.value ? x.value : y.value,
                      .min = x.min > y.min ? x.min : y.min,
                      .multiple = 1, .expr = call(a, TE_FN_MAX, &x, &y)};
}

TeExtent size_min(Arena *a, TeExtent x, TeExtent y) {
    if (x.value <= y.min) return x;
    if (y.value <= x.min) return y;
    return (TeExtent){.value = x.value < y.value ? x.value : y.value,
                      .min = x.min < y.min ? x.min : y.min,
                      .multiple = 1, .expr = call(a, TE_FN_MIN, &x, &y)};
}

TeExtent size_ceil_div(Arena *a, TeExtent x, int64_t n) {
    TeExtent by = size_number(n), up = size_number(te_extent_divisor(&x) % n ? n - 1 : 0);
    if (n == 1) return x;
    TeExtent sum = size_plus(a, x, up);
    return (TeExtent){.value = (x.value + n - 1) / n, .min = (x.min + n - 1) / n, .multiple = 1,
                      .expr = binary(a, TE_DIV, &sum, &by)};
}

TeExtent size_product(Arena *a, const TeStmt *s, const uint8_t *index, int n) {
    TeExtent all = size_number(1);
    for (int i = 0; i < n; i++) all = size_times(a, all, s->index[index[i]].hi);
    return all;
}

/* ---- accesses ---- */

TeExtent size_stride(Arena *a, const Te *te, const Access *x, int index) {
    const TeTensor *t = &te->tensor[x->tensor];
    TeExtent sum = size_number(0);
    if (!(x->varies >> index & 1)) return size_number(x->offset.coef[index]);
    for (int d = 0; d < t->rank; d++) {
        int64_t k = x->sub[d].coef[index];
        if (k) sum = size_plus(a, sum, size_times(a, size_number(k), t->stride[d]));
    }
    return sum;
}

TeExtent size_offset(Arena *a, const Te *te, const Access *x) {
    const TeTensor *t = &te->tensor[x->tensor];
    TeExtent sum = size_number(0);
    if (!x->c_varies) return size_number(x->offset.c);
    for (int d = 0; d < t->rank; d++) {
        int64_t at = x->sub[d].c;
        if (at) sum = size_plus(a, sum, size_times(a, size_number(at), t->stride[d]));
    }
    return sum;
}
