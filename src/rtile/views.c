/* A reduction seen by columns, and which views a problem has.  */
#include "rtile/facts.h"

static bool has_columns(const TeStmt *s, const Access *a) { return view_contiguous(s, a) >= 0; }

static void view_sums(Problem *p) {
    const KernelGroup *g = p->group;
    ColumnView *v = &p->column;
    const TeExpr *e = p->te->stmt[g->root].rhs;
    v->positional = te_positional(e);
    v->sum_bytes = te_dtype_bytes(te_reduced_type(e));
    v->n_sum = 1;
    for (int i = 0; i < g->n_fused; i++)
        v->n_sum += p->te->stmt[g->fused[i]].rhs->kind == TE_REDUCE;
    for (int i = 0; g->columns && i < g->columns->n; i++)
        v->followers += g->columns->follow[i] != FOLLOW_NONE;
}

static void view_columns(Problem *p, int align) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    const TeExpr *e = s->rhs;
    ColumnView *v = &p->column;
    Access a;
    v->out.extent = v->red.extent = 1;
    view_sums(p);
    if (!v->positional && view_reuses(p)) return;
    if (!view_widest(p->te, s, e->args[0], has_columns, &a)) return;
    int last = view_contiguous(s, &a);
    for (int i = 0; i < s->n_left; i++) {
        if (i != last) view_digit(s, i, &v->out);
    }
    view_digit(s, last, &v->out);
    int order[TE_MAX_INDICES], n = e->n_index;
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && !v->positional; at--) {
            if (a.offset.coef[order[at - 1]] >= a.offset.coef[e->index[i]]) break;
            order[at] = order[at - 1];
        }
        order[at] = e->index[i];
    }
    for (int i = 0; i < n; i++) view_digit(s, order[i], &v->red);
    v->divisor = access_divisor(s, &v->out, 0, v->out.n);
    v->red_divisor = access_divisor(s, &v->red, 0, v->red.n);
    Span span = span_of_read(p->te, s, &a);
    v->bytes = span.bytes;
    v->run = span_run(&span, &v->out);
    v->vec = span.n_guard ? 1 : span_vector(&span, &v->out, align);
    view_stores(p, &v->out, align, &v->out_vec, &v->out_run);
    v->fits = v->out.extent > 0 && v->red.extent > 0 && v->red.extent <= INT32_MAX / 2;
}

void rtile_views(Problem *p, int align) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    if (s->rhs->kind != TE_REDUCE) {
        rtile_permute(p, align);
        rtile_stencil(p, align);
        return;
    }
    rtile_scan(p, align);
    if (p->scan.fits || te_is_recurrence(s->rhs)) return;
    view_columns(p, align);
    rtile_window(p, align);
}
