/* Which subscripts and offsets of a program leave 32 bits, also beyond the ends of its tensors.  */
#include "rprogram/extents.h"
#include "rprogram/skeleton.h"
#include "te/tree/arith.h"
#include "te/tree/tree.h"

static const TeStmt *root_of(const Problem *p) { return &p->te->stmt[p->con.stmt]; }

/* How far the outermost digit of an axis goes on for positions of a tile beyond the end.  */
static void digits_beyond(const Problem *p, const RProg *r, AxisClass k, int64_t *beyond) {
    const FusedAxis *axis = &p->con.axis[k];
    int64_t inner = 1;
    for (int i = axis->n_digit - 1; i >= 0; i--) {
        const AxisDigit *d = &axis->digit[i];
        if (i > 0) inner *= d->extent;
        if (access_varies(root_of(p), axis, d->first, d->n)) inner = 1;
        if (i == 0) beyond[axis->index[d->first + d->n - 1]] = 1 + r->block.extent[k] / inner;
    }
}

/* The same of an axis of other programs, the digits of which are its indices.  */
void index_beyond(const IndexMap *m, int axis, int64_t *beyond) {
    const IndexAxis *x = &m->axis[axis];
    int64_t inner = 1;
    for (int i = x->n - 1; i > 0; i--) {
        const TeExtent *e = &m->root->index[x->index[i]].hi;
        inner = e->expr || e->value < 1 ? 1 : inner * e->value;
    }
    if (x->n > 0) beyond[x->index[0]] = 1 + x->tile / inner;
}

bool rprog_wide_beyond(const Problem *p, const Access *x, int d, int64_t *beyond) {
    const TeTensor *t = &p->te->tensor[x->tensor];
    int64_t whole = 1;
    for (int i = 0; i < t->rank; i++) whole += (t->shape[i].value - 1) * t->stride[i].value;
    if ((d < 0 ? whole : t->shape[d].value) > INT32_MAX) return true;
    return access_wide(&p->te->stmt[p->group->root], d < 0 ? &x->offset : &x->sub[d], beyond);
}

bool rprog_wide_product(const Problem *p, const RProg *r, const Access *x, int d) {
    int64_t beyond[TE_MAX_INDICES] = {0};
    for (int k = AX_M; k <= AX_K; k++) digits_beyond(p, r, (AxisClass)k, beyond);
    return rprog_wide_beyond(p, x, d, beyond);
}
