/* links: te */
#include "te_case.h"

#include <string.h>

#define SAME(what, x, y)          \
    do {                          \
        if ((x) != (y)) return what; \
    } while (0)

static const char *expr(const TeExpr *x, const TeExpr *y) {
    if (!x || !y) return x == y ? NULL : "an expression is missing";
    SAME("kind", x->kind, y->kind);
    SAME("type", x->type, y->type);
    SAME("store", x->store, y->store);
    SAME("whole", x->whole, y->whole);
    SAME("inside", x->inside, y->inside);
    SAME("n_args", x->n_args, y->n_args);
    SAME("red", x->red, y->red);
    SAME("n_index", x->n_index, y->n_index);
    SAME("value", memcmp(&x->v, &y->v, sizeof x->v), 0);
    SAME("index", memcmp(x->index, y->index, x->n_index), 0);
    for (int i = 0; i < x->n_args; i++) {
        const char *bad = expr(x->args[i], y->args[i]);
        if (bad) return bad;
    }
    return expr(x->other, y->other);
}

static const char *extent(const TeExtent *x, const TeExtent *y) {
    SAME("extent value", x->value, y->value);
    SAME("extent min", x->min, y->min);
    SAME("extent multiple", x->multiple, y->multiple);
    const char *bad = expr(x->expr, y->expr);
    return bad ? bad : expr(x->written, y->written);
}

static const char *size(const TeSize *x, const TeSize *y) {
    SAME("size name", strcmp(x->name, y->name), 0);
    SAME("size kind", x->kind, y->kind);
    SAME("size lo", x->lo, y->lo);
    SAME("size hi", x->hi, y->hi);
    SAME("size stmt", x->stmt, y->stmt);
    SAME("size used", x->used, y->used);
    const char *bad = extent(&x->extent, &y->extent);
    return bad ? bad : expr(x->expr, y->expr);
}

static const char *tensor(const TeTensor *x, const TeTensor *y) {
    SAME("tensor name", strcmp(x->name, y->name), 0);
    SAME("role", x->role, y->role);
    SAME("dtype", x->dtype, y->dtype);
    SAME("rank", x->rank, y->rank);
    SAME("strided", x->strided, y->strided);
    for (int d = 0; d < x->rank; d++) {
        const char *bad = extent(&x->shape[d], &y->shape[d]);
        if (!bad) bad = extent(&x->stride[d], &y->stride[d]);
        if (bad) return bad;
    }
    return NULL;
}

static const char *index_difference(const TeIndex *x, const TeIndex *y) {
    SAME("index name", strcmp(x->name, y->name), 0);
    SAME("reduction", x->reduction, y->reduction);
    SAME("where", x->where, y->where);
    const char *bad = extent(&x->lo, &y->lo);
    return bad ? bad : extent(&x->hi, &y->hi);
}

static const char *stmt(const TeStmt *x, const TeStmt *y) {
    SAME("statement tensor", x->tensor, y->tensor);
    SAME("n_left", x->n_left, y->n_left);
    SAME("statement n_index", x->n_index, y->n_index);
    SAME("asg", x->asg, y->asg);
    SAME("accum", x->accum, y->accum);
    SAME("temp_type", x->temp_type, y->temp_type);
    SAME("tf32", x->tf32, y->tf32);
    SAME("fp32x3", x->fp32x3, y->fp32x3);
    SAME("fast", x->fast, y->fast);
    for (int i = 0; i < x->n_index; i++) {
        const char *bad = index_difference(&x->index[i], &y->index[i]);
        if (bad) return bad;
    }
    return expr(x->rhs, y->rhs);
}

const char *te_difference(const Te *x, const Te *y) {
    const char *bad = NULL;
    SAME("op name", strcmp(x->name, y->name), 0);
    SAME("n_size", x->n_size, y->n_size);
    SAME("n_tensor", x->n_tensor, y->n_tensor);
    SAME("n_in", x->n_in, y->n_in);
    SAME("n_out", x->n_out, y->n_out);
    SAME("n_stmt", x->n_stmt, y->n_stmt);
    SAME("runtime", x->runtime, y->runtime);
    for (int i = 0; i < x->n_size && !bad; i++) bad = size(&x->size[i], &y->size[i]);
    for (int i = 0; i < x->n_tensor && !bad; i++) bad = tensor(&x->tensor[i], &y->tensor[i]);
    for (int i = 0; i < x->n_stmt && !bad; i++) bad = stmt(&x->stmt[i], &y->stmt[i]);
    return bad;
}
