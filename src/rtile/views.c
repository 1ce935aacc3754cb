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

/* The indices of an axis, in the order that they have there.  */
static void resize_axis(const TeStmt *s, FusedAxis *x) {
    FusedAxis old = *x;
    *x = (FusedAxis){.extent = 1};
    for (int i = 0; i < old.n; i++) view_digit(s, old.index[i], x);
}

static void order_columns(const TeStmt *s, const Access *a, FusedAxis *out) {
    int last = view_contiguous(s, a);
    for (int i = 0; i < s->n_left; i++) {
        if (i != last) view_digit(s, i, out);
    }
    view_digit(s, last, out);
}

static void order_rows(const TeStmt *s, const Access *a, bool positional, FusedAxis *out) {
    const TeExpr *e = s->rhs;
    int order[TE_MAX_INDICES], n = e->n_index;
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && !positional; at--) {
            if (a->offset.coef[order[at - 1]] >= a->offset.coef[e->index[i]]) break;
            order[at] = order[at - 1];
        }
        order[at] = e->index[i];
    }
    for (int i = 0; i < n; i++) view_digit(s, order[i], out);
}

/* The read, and both axes.  Other sizes than those that the view was made for change neither: a
 * kernel is for all.  */
static bool view_read(Problem *p, Access *a) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    ColumnView *v = &p->column;
    if (v->read) {
        access_read(p->te, s, v->read, a);
        resize_axis(s, &v->out);
        resize_axis(s, &v->red);
        return true;
    }
    v->out.extent = v->red.extent = 1;
    v->read = view_widest(p->te, s, s->rhs->args[0], has_columns, a);
    if (!v->read) return false;
    order_columns(s, a, &v->out);
    order_rows(s, a, v->positional, &v->red);
    return true;
}

static void view_columns(Problem *p, int align) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    ColumnView *v = &p->column;
    Access a;
    view_sums(p);
    bool reuses = !v->positional && view_reuses(p);
    if (reuses) v->out = v->red = (FusedAxis){.extent = 1};
    if (reuses || !view_read(p, &a)) return;
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
