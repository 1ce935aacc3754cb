/* Tensors and statements of the op that is made.  */
#include "te/edit/edit.h"
#include "te/grad/grad.h"

#include <string.h>

static bool is_real(TeDtype t) { return te_dtype_class(t) == TE_CLASS_REAL; }

void grad_refuse(Grad *g, const char *what, int has, int most) {
    if (g->failed) return;
    g->failed = diag_error(g->d, ST_TE, "gradient", DIAG_NOWHERE,
                           "the derivative of %s needs %d dimensions, and %d are the most", what,
                           has, most);
}

GradTensor *grad_add(Grad *g) {
    g->tensor = arena_grow(g->a, g->tensor, &g->tensor_room, g->n_tensor + 1, sizeof *g->tensor);
    g->tensor[g->n_tensor] = (GradTensor){0};
    return &g->tensor[g->n_tensor++];
}

int grad_tensor(Grad *g, int like, TeDtype type, int rank, const TeExtent *shape) {
    const char *base = g->tensor[like].t.name;
    TeTensor *t = &grad_add(g)->t;
    *t = (TeTensor){.role = TE_TEMP, .dtype = type, .rank = rank};
    do t->name = arena_printf(g->a, "%.40s_g%d", base, ++g->names);
    while (normalize_taken(g->in, t->name));
    if (rank) memcpy(t->shape, shape, sizeof *shape * (size_t)rank);
    return (int)g->n_tensor - 1;
}

TeStmt *grad_assign(Grad *g, int tensor, const TeStmt *like) {
    const TeTensor *t = &g->tensor[tensor].t;
    TeStmt *s = ARENA_NEW(g->a, TeStmt);
    if (like) *s = *like;
    s->tensor = tensor;
    s->n_left = s->n_index = t->rank;
    s->accum = s->temp_type = TE_DTYPE_COUNT;
    s->asg = TE_ASSIGN;
    for (int d = 0; d < t->rank; d++)
        s->index[d] = (TeIndex){.name = arena_printf(g->a, "%s%d", g->letter, d), .where = true,
                                .lo = {.multiple = 1}, .hi = t->shape[d]};
    return s;
}

void grad_push(Grad *g, TeStmt *s) {
    GradTensor *t = &g->tensor[s->tensor];
    g->stmt = arena_grow(g->a, g->stmt, &g->stmt_room, g->n_stmt + 1, sizeof *g->stmt);
    g->stmt[g->n_stmt++] = s;
    t->active = is_real(t->t.dtype) && grad_depends(g, s->rhs);
}
