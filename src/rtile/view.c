/* Facts that all views ask of a statement and its reads.  */
#include "rtile/facts.h"

int64_t view_extent(const TeStmt *s, int index) {
    return te_index_extent(&s->index[index]);
}

bool view_makes(const Problem *p, int tensor) {
    for (int i = -1; i < p->group->n_fused; i++) {
        if (view_statement(p, i)->tensor == tensor) return true;
    }
    return false;
}

void view_digit(const TeStmt *s, int index, FusedAxis *axis) {
    axis->index[axis->n] = (uint8_t)index;
    axis->digit[axis->n_digit++] = (AxisDigit){axis->n++, 1, view_extent(s, index)};
    axis->extent *= view_extent(s, index);
}

const TeExpr *view_widest(const Te *te, const TeStmt *s, const TeExpr *e,
                          bool (*wanted)(const TeStmt *, const Access *), Access *out) {
    const TeExpr *best = NULL;
    ReadList read = access_reads(e);
    int64_t most = -1;
    for (int i = 0; i < read.n; i++) {
        Access a;
        access_read(te, s, read.at[i], &a);
        if (!a.affine || a.joined || !wanted(s, &a)) continue;
        int64_t bytes = access_unique(te, s, &a) * te_dtype_bytes(te->tensor[a.tensor].dtype);
        if (bytes <= most) continue;
        most = bytes;
        best = read.at[i];
        *out = a;
    }
    return best;
}

int view_contiguous(const TeStmt *s, const Access *a) {
    for (int i = s->n_left - 1; i >= 0; i--) {
        if (a->offset.coef[i] == 1 && !(a->varies >> i & 1) && !te_extent_is_one(&s->index[i].hi))
            return i;
    }
    return -1;
}

void view_stores(const Problem *p, const FusedAxis *axis, int align, int *vec, int64_t *run) {
    const KernelGroup *g = p->group;
    const TeStmt *root = &p->te->stmt[g->root];
    *vec = 0;
    *run = 0;
    for (int i = -1; i < g->n_fused; i++) {
        const TeStmt *s = &p->te->stmt[i < 0 ? g->root : g->fused[i]];
        if (i < 0 && g->n_fused > 0 && p->te->tensor[s->tensor].role != TE_OUTPUT) continue;
        Span span = span_of_write(p->te, s);
        if (i >= 0) span = span_through(&span, root, g->perm[i]);
        int v = span_vector(&span, axis, align);
        int64_t n = span_run(&span, axis);
        if (*vec == 0 || v < *vec) *vec = v;
        if (*run == 0 || n < *run) *run = n;
    }
}

bool view_reuses(const Problem *p) {
    const Contraction *c = &p->con;
    return c->n_operand > 1 && c->axis[AX_M].extent > 1 && c->axis[AX_N].extent > 1;
}
