#include "te/access/span.h"
#include "te/access/access.h"
#include <math.h>

void te_span_take(const TeTensor *t, const double *n, TeSpan *x) {
    x->read = true;
    for (int d = 0; d < t->rank; d++)
        x->along[d] = fmax(x->along[d], fmin(n[d], (double)t->shape[d].value));
}

void te_span_one(const TeTensor *t, TeSpan *x) {
    double one[TE_MAX_RANK];
    for (int d = 0; d < TE_MAX_RANK; d++) one[d] = 1;
    te_span_take(t, one, x);
}

/* Values that the subscript's indices take together: each of `bound` all of its own, one of the
 * left side as many as the statement's tensor spans.  */
static double values_of(const TeStmt *s, const TeExpr *sub, uint32_t bound, const TeSpan *made) {
    uint32_t used = access_uses(sub);
    double n = 1;
    for (int i = 0; i < s->n_index; i++) {
        if (!(used >> i & 1)) continue;
        n *= bound >> i & 1 ? (double)te_index_extent(&s->index[i])
             : i < s->n_left ? made->along[i] : 1;
    }
    return n;
}

static void add_reads(const Te *te, const TeStmt *s, const TeExpr *e, uint32_t bound,
                      TeSpan *span) {
    double n[TE_MAX_RANK];
    if (e->kind == TE_REDUCE)
        for (int i = 0; i < e->n_index; i++) bound |= 1u << e->index[i];
    for (int i = 0; i < e->n_args; i++) {
        if (e->kind == TE_READ) n[i] = values_of(s, e->args[i], bound, &span[s->tensor]);
        add_reads(te, s, e->args[i], bound, span);
    }
    if (e->kind == TE_READ || e->kind == TE_SCALAR)
        te_span_take(&te->tensor[e->v.ref], n, &span[e->v.ref]);
    if (e->other) add_reads(te, s, e->other, bound, span);
}

void te_spans(const Te *te, const bool *stop, TeSpan *span) {
    for (int i = te->n_stmt - 1; i >= 0; i--) {
        const TeStmt *s = &te->stmt[i];
        if (span[s->tensor].read && !(stop && stop[s->tensor]))
            add_reads(te, s, s->rhs, 0, span);
    }
}

static double terms_of(const TeStmt *s, const TeExpr *e) {
    double n = 0, each = 1;
    for (int i = 0; i < e->n_args; i++) n += terms_of(s, e->args[i]);
    if (e->other) n += terms_of(s, e->other);
    if (e->kind != TE_REDUCE) return n;
    for (int i = 0; i < e->n_index; i++) each *= (double)te_index_extent(&s->index[e->index[i]]);
    return each * fmax(n, 1);
}

double te_span_work(const Te *te, const bool *stop, const TeSpan *span) {
    double work = 0;
    for (int i = 0; i < te->n_stmt; i++) {
        const TeStmt *s = &te->stmt[i];
        if (!span[s->tensor].read || (stop && stop[s->tensor])) continue;
        double elements = 1;
        for (int d = 0; d < te_own_rank(&te->tensor[s->tensor]); d++)
            elements *= span[s->tensor].along[d];
        work += elements * fmax(terms_of(s, s->rhs), 1);
    }
    return work;
}
