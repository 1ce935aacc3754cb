#include "te/grad/batch.h"
#include "te/edit/edit.h"
#include "te/tree/tree.h"

#include <string.h>

typedef struct {
    Arena *a;
    Diag *d;
    Te te;                    /* what is made */
    bool *batched;            /* per tensor */
    int by;                   /* indices that are added: 1, or 0 */
    const char *index;
    TeExtent extent;
} Batch;

/* Strides of the other dimensions stay; the new one steps over all that they span.  */
static void add_dimension(Batch *b, TeTensor *t) {
    for (int d = t->rank; d > 0; d--) {
        t->shape[d] = t->shape[d - 1];
        t->stride[d] = t->stride[d - 1];
    }
    t->shape[0] = b->extent;
    t->rank++;
    if (!t->strided) return;
    int64_t span = 1;
    for (int d = 1; d < t->rank; d++)
        if (t->shape[d].value > 0) span += (t->shape[d].value - 1) * t->stride[d].value;
    t->stride[0] = (TeExtent){.value = span, .min = span, .multiple = 1};
}

static void rewrite(Batch *b, TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) rewrite(b, e->args[i]);
    if (e->other) rewrite(b, e->other);
    if (e->kind == TE_INDEX) e->v.ref += b->by;
    for (int i = 0; i < e->n_index; i++) e->index[i] = (uint8_t)(e->index[i] + b->by);
    if (e->kind == TE_SCALAR) {
        e->kind = TE_READ;
        e->n_args = 0;
    }
    if (e->kind != TE_READ || !b->batched[e->v.ref]) return;
    TeExpr **args = ARENA_ARRAY(b->a, TeExpr *, e->n_args + 1);
    if (e->n_args) memcpy(args + 1, e->args, sizeof *args * (size_t)e->n_args);
    args[0] = te_expr_index(b->a, 0, e->pos);
    e->args = args;
    e->n_args++;
}

static Status statement(Batch *b, TeStmt *s) {
    s->rhs = te_expr_copy(b->a, s->rhs);
    rewrite(b, s->rhs);
    if (!b->by) return ST_OK;
    if (s->n_index == TE_MAX_INDICES || b->te.tensor[s->tensor].rank > TE_MAX_RANK)
        return diag_error(b->d, ST_TE, "limit", DIAG_NOWHERE,
                          "with a batch '%s' has too many dimensions",
                          b->te.tensor[s->tensor].name);
    memmove(s->index + 1, s->index, sizeof *s->index * (size_t)s->n_index);
    s->index[0] = (TeIndex){.name = b->index, .where = true, .lo = {.multiple = 1},
                            .hi = b->extent};
    s->n_left++;
    s->n_index++;
    return ST_OK;
}

static Status tensors(Batch *b, const Te *te, const bool *batched) {
    for (int i = 0; i < te->n_tensor; i++) {
        TeTensor *t = &b->te.tensor[i];
        b->batched[i] = b->by && (i >= te->n_in || batched[i]);
        if (t->role == TE_VALUE) t->role = TE_INPUT;
        if (!b->batched[i]) continue;
        if (t->rank == TE_MAX_RANK)
            return diag_error(b->d, ST_TE, "limit", DIAG_NOWHERE,
                              "with a batch '%s' has too many dimensions", t->name);
        add_dimension(b, t);
    }
    return ST_OK;
}

/* Strides beyond a size that is known when it runs are known then, too.  */
static Status check_strides(Batch *b, const Te *te) {
    for (int i = 0; i < te->n_tensor; i++)
        if (b->batched[i] && te->tensor[i].strided && te->runtime)
            return diag_error(b->d, ST_TE, "limit", DIAG_NOWHERE,
                              "'%s' has strides and run-time sizes: it cannot have a batch",
                              te->tensor[i].name);
    return ST_OK;
}

Status te_batch(Arena *a, Diag *d, const Te *te, const bool *batched, int64_t extent, Buf *out) {
    Batch b = {.a = a, .d = d, .te = *te, .by = extent >= 0, .index = "b",
               .extent = {.value = extent, .min = extent, .multiple = 1}};
    while (normalize_taken(te, b.index)) b.index = arena_printf(a, "%s_", b.index);
    b.batched = ARENA_ARRAY(a, bool, te->n_tensor + 1);
    b.te.tensor = ARENA_ARRAY(a, TeTensor, te->n_tensor + 1);
    b.te.stmt = ARENA_ARRAY(a, TeStmt, te->n_stmt + 1);
    memcpy(b.te.tensor, te->tensor, sizeof *te->tensor * (size_t)te->n_tensor);
    memcpy(b.te.stmt, te->stmt, sizeof *te->stmt * (size_t)te->n_stmt);
    Status s = tensors(&b, te, batched);
    if (!s) s = check_strides(&b, te);
    for (int i = 0; i < te->n_stmt && !s; i++) s = statement(&b, &b.te.stmt[i]);
    if (!s) te_print(&b.te, out);
    return s;
}
