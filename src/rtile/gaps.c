/* Sectors that a map moves beside the bytes it needs.  */
#include "rtile/facts.h"


/* A span of a statement of the group in terms of the root's indices.  */
static Span by_root(const Problem *p, int which, Span own) {
    const KernelGroup *g = p->group;
    Span out = own;
    if (which < 0) return own;
    out.stmt = &p->te->stmt[g->root];
    for (int j = 0; j < TE_MAX_INDICES; j++) out.offset.coef[j] = 0;
    for (int j = 0; j < own.stmt->n_left; j++)
        out.offset.coef[g->perm[which][j]] = own.offset.coef[j];
    return out;
}

/* Bytes beside `bytes` where neighbours of the domain lie apart.  */
static double gaps(const Span *s, const FusedAxis *domain, double bytes) {
    int64_t stride = span_stride(s, domain), most = SECTOR / s->bytes;
    if (stride < 0) stride = -stride;
    if (stride > most) stride = most;
    return stride > 1 ? bytes * (double)(stride - 1) : 0;
}

void rtile_gaps(Problem *p, const FusedAxis *domain, const Access *counted) {
    const KernelGroup *g = p->group;
    for (int which = -1; which < g->n_fused; which++) {
        const TeStmt *s = &p->te->stmt[which < 0 ? g->root : g->fused[which]];
        const TeTensor *t = &p->te->tensor[s->tensor];
        ReadList read = access_reads(s->rhs);
        for (int i = 0; i < read.n; i++) {
            Access a;
            bool here = false;
            access_read(p->te, s, read.at[i], &a);
            for (int k = -1; k < g->n_fused; k++)
                here |= p->te->stmt[k < 0 ? g->root : g->fused[k]].tensor == a.tensor;
            if (!a.affine || here || (counted && a.read == counted->read)) continue;
            Span span = by_root(p, which, span_of_read(p->te, s, &a));
            p->gap_reads += gaps(&span, domain, (double)access_unique(p->te, s, &a) * span.bytes);
        }
        if (t->role != TE_OUTPUT) continue;
        Span span = by_root(p, which, span_of_write(p->te, s));
        p->gap_writes += gaps(&span, domain, (double)domain->extent * span.bytes);
    }
}
