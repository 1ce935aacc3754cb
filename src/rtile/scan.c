/* A reduction that runs to its own place, as one walk along an index.  */
#include "rtile/facts.h"

/* A term is made at its own place: what moves with the index that is reduced moves with the walk.
 * Reads that are tested go element by element.  */
static void count_reads(Problem *p, int align) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    ScanView *v = &p->scan;
    int order[TE_MAX_INDICES], n = 0, widest = 0;
    uint8_t to[TE_MAX_INDICES];
    for (int i = 0; i < s->n_index; i++) to[i] = (uint8_t)(i == v->of.over ? v->of.index : i);
    if (!v->down) order[n++] = v->of.index;
    for (int i = v->out.n - 1; i >= 0 && v->down; i--)
        if (v->out.digit[i].extent != 1) order[n++] = v->out.index[i];
    while (widest + 1 < READ_WIDTHS && 2 << widest <= v->vec) widest++;
    ReadList reads = access_reads(s->rhs);
    for (int i = 0; i < reads.n; i++) {
        int width = 1, log = 0;
        Access x;
        access_read(p->te, s, reads.at[i], &x);
        Neighbours near = {s, order, n, v->vec, false};
        if (x.affine) rtile_row_access(to, s->n_index, &x);
        bool still = x.affine && n > 0 && x.offset.coef[order[0]] == 0;
        if (!access_guarded(p->te, &x)) width = rtile_neighbour_width(p->te, &near, &x, align);
        while (2 << log <= width) log++;
        v->widths.of[still || log > widest ? widest : log]++;
    }
}

void rtile_scan(Problem *p, int align) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    ScanView *v = &p->scan;
    int64_t run;
    if (!p->group->columns || !access_scan(s, &v->of)) return;
    int last = s->n_left - 1, along = v->of.index;
    while (last > 0 && te_extent_is_one(&s->index[last].hi)) last--;
    v->out.extent = 1;
    for (int i = 0; i < s->n_left; i++) {
        if (i != along) view_digit(s, i, &v->out);
    }
    FusedAxis walk = {.extent = 1};
    view_digit(s, along, &walk);
    v->down = last != along;
    v->extent = walk.extent;
    v->divisor = access_divisor(s, &walk, 0, 1);
    v->out_divisor = access_divisor(s, &v->out, 0, v->out.n);
    view_stores(p, v->down ? &v->out : &walk, align, &v->vec, &run);
    v->term_ops = expr_ops(v->of.term) + 1;
    if (v->of.factor) v->term_ops += expr_ops(v->of.factor) + 2;
    count_reads(p, align);
    /* Each term is met once.  */
    p->flops = (double)v->out.extent * (double)v->extent * v->term_ops;
    v->fits = v->out.extent > 0 && v->extent > 0 && v->extent <= INT32_MAX / 2;
}
