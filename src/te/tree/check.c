#include "te/tree/check.h"

static const char *extent(const TeExtent *e, int n_size) {
    const char *bad = e->expr ? check_size_expr(e->expr, n_size) : NULL;
    if (!bad && e->written) bad = check_size_expr(e->written, n_size);
    if (bad) return bad;
    if (e->min > e->value) return "a size is smaller than its smallest value";
    if (!e->expr && e->min != e->value) return "a static size has two values";
    if (e->multiple < 1 || e->value % e->multiple || e->min % e->multiple)
        return "a size is no multiple of its multiple";
    return NULL;
}

static const char *sizes(const Te *te) {
    if (te->n_size < 0 || te->n_size > TE_MAX_SIZES) return "too many sizes";
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        const char *bad = extent(&s->extent, s->kind == TE_SIZE_RUNTIME ? i + 1 : i);
        if (!s->name) return "a size has no name";
        if (!bad && s->kind == TE_SIZE_LET) bad = check_size_expr(s->expr, i);
        if (bad) return bad;
        if (s->extent.min < 0) return "a size is negative";
        if (s->stmt > te->n_stmt || (s->stmt >= 0 && s->kind != TE_SIZE_LET))
            return "a size in a body is no let";
        if (s->kind == TE_SIZE_RUNTIME && (s->lo > s->extent.min || s->hi < s->extent.value))
            return "a run-time size leaves its declared range";
    }
    return NULL;
}

static const char *strides(const TeTensor *t) {
    int64_t dense = 1;
    bool constant = true;
    if (t->tested < 0 || t->tested > t->rank) return "a tensor has a wrong rank";
    for (int d = te_own_rank(t) - 1; d >= 0 && !t->strided; d--) {
        constant = constant && !t->stride[d].expr;
        if (constant && t->stride[d].value != dense) return "a tensor is neither dense nor strided";
        constant = constant && !t->shape[d].expr;
        if (constant) dense *= t->shape[d].value;
    }
    return NULL;
}

static const char *tensor(const Te *te, int i) {
    const TeTensor *t = &te->tensor[i];
    TeRole want = i < te->n_in ? TE_INPUT : i < te->n_in + te->n_out ? TE_OUTPUT : TE_TEMP;
    if (!t->name) return "a tensor has no name";
    if (t->role != want && !(t->role == TE_VALUE && want == TE_INPUT))
        return "a tensor's role does not fit its place";
    if (t->dtype >= TE_DTYPE_COUNT) return "a tensor has no type";
    if (t->rank < 0 || t->rank > TE_MAX_RANK || (t->role == TE_VALUE && t->rank))
        return "a tensor has a wrong rank";
    for (int d = 0; d < t->rank; d++) {
        const char *bad = extent(&t->shape[d], te->n_size);
        if (!bad) bad = extent(&t->stride[d], te->n_size);
        if (bad) return bad;
        if (t->shape[d].min < 0 || t->stride[d].min < 0) return "an extent or stride is negative";
    }
    return strides(t);
}

static const char *indices(const Te *te, const TeStmt *s) {
    const TeTensor *t = &te->tensor[s->tensor];
    if (s->n_left != te_own_rank(t)) return "the left side has a wrong number of indices";
    if (s->n_index < s->n_left || s->n_index > TE_MAX_INDICES) return "too many indices";
    for (int i = 0; i < s->n_index; i++) {
        const TeIndex *x = &s->index[i];
        const char *bad = extent(&x->lo, te->n_size);
        if (!bad) bad = extent(&x->hi, te->n_size);
        if (bad) return bad;
        if (!x->name) return "an index has no name";
        if (x->reduction != (i >= s->n_left)) return "an index is on the wrong side";
        if (x->lo.value > x->hi.value && !x->lo.expr && !x->hi.expr)
            return "a range ends before it begins";
        if (i >= s->n_left) continue;
        if (x->lo.value != 0 || x->lo.min != 0) return "a left index does not start at 0";
        if (x->hi.value != t->shape[i].value || x->hi.min != t->shape[i].min)
            return "a left index does not span its dimension";
    }
    return NULL;
}

static bool storable(TeDtype to, TeDtype from) {
    TeClass a = te_dtype_class(to), b = te_dtype_class(from);
    return a == b || (a == TE_CLASS_REAL && b == TE_CLASS_INT);
}

static const char *statement(const Te *te, const TeStmt *s, bool *assigned) {
    if (s->tensor < te->n_in || s->tensor >= te->n_tensor) return "a statement assigns no tensor";
    if (assigned[s->tensor]) return "a tensor is assigned twice";
    const char *bad = indices(te, s);
    if (!bad) bad = check_rhs(te, s, assigned);
    if (bad) return bad;
    bool foldable = s->rhs->kind == TE_REDUCE && s->rhs->red <= TE_RED_MIN;
    if (s->asg == TE_ACCUMULATE && !foldable) return "an accumulation is no reduction";
    if (!storable(te->tensor[s->tensor].dtype, s->rhs->type))
        return "a value does not fit its tensor";
    assigned[s->tensor] = true;
    return NULL;
}

const char *te_check(const Te *te) {
    bool assigned[TE_MAX_TENSORS] = {0};
    const char *bad = sizes(te);
    if (bad) return bad;
    if (te->n_in < 0 || te->n_out < 1 || te->n_in + te->n_out > TE_MAX_ARGS)
        return "wrong arguments";
    if (te->n_stmt < 1 || te->n_stmt > TE_MAX_STMTS) return "wrong number of statements";
    if (te->n_tensor != te->n_out + te->n_in + (te->n_stmt - te->n_out))
        return "tensors and statements do not match";
    for (int i = 0; i < te->n_tensor; i++) {
        if ((bad = tensor(te, i))) return bad;
        assigned[i] = i < te->n_in;
    }
    for (int i = 0; i < te->n_stmt; i++) {
        if ((bad = statement(te, &te->stmt[i], assigned))) return bad;
    }
    for (int i = 0; i < te->n_tensor; i++) {
        if (!assigned[i]) return "a tensor is never assigned";
    }
    return NULL;
}
