/* A copy of an op, which needs nothing of what the original was made with.  */
#include "te/tree/tree.h"
#include <string.h>

static const TeExpr *expr_copy(Arena *a, const TeExpr *e) { return e ? te_expr_copy(a, e) : NULL; }

static void own_extent(Arena *a, TeExtent *e) {
    e->expr = expr_copy(a, e->expr);
    e->written = expr_copy(a, e->written);
}

static TeSize *sizes_copy(Arena *a, const Te *te) {
    TeSize *size = ARENA_ARRAY(a, TeSize, te->n_size);
    for (int i = 0; i < te->n_size; i++) {
        size[i] = te->size[i];
        size[i].name = arena_strdup(a, size[i].name);
        size[i].expr = expr_copy(a, size[i].expr);
        own_extent(a, &size[i].extent);
    }
    return size;
}

static TeTensor *tensors_copy(Arena *a, const Te *te) {
    TeTensor *tensor = ARENA_ARRAY(a, TeTensor, te->n_tensor);
    for (int t = 0; t < te->n_tensor; t++) {
        tensor[t] = te->tensor[t];
        tensor[t].name = arena_strdup(a, tensor[t].name);
        for (int d = 0; d < tensor[t].rank; d++) {
            own_extent(a, &tensor[t].shape[d]);
            own_extent(a, &tensor[t].stride[d]);
        }
    }
    return tensor;
}

static TeStmt *statements_copy(Arena *a, const Te *te) {
    TeStmt *stmt = ARENA_ARRAY(a, TeStmt, te->n_stmt);
    for (int s = 0; s < te->n_stmt; s++) {
        stmt[s] = te->stmt[s];
        stmt[s].rhs = te_expr_copy(a, stmt[s].rhs);
        te_expr_list_reads(a, stmt[s].rhs);
        for (int i = 0; i < stmt[s].n_index; i++) {
            TeIndex *x = &stmt[s].index[i];
            x->name = arena_strdup(a, x->name);
            own_extent(a, &x->lo);
            own_extent(a, &x->hi);
        }
    }
    return stmt;
}

Te *te_copy(Arena *a, const Te *te) {
    Te *copy = ARENA_NEW(a, Te);
    *copy = *te;
    copy->name = arena_strdup(a, te->name);
    copy->file = arena_strdup(a, te->file);
    copy->text = arena_strndup(a, te->text, te->text_len);
    copy->size = sizes_copy(a, te);
    copy->tensor = tensors_copy(a, te);
    copy->stmt = statements_copy(a, te);
    return copy;
}
