/* A reduction that runs to its own place, as one walk along an index.  */
#include "rtile/facts.h"

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
    v->unit = access_unit(s, &walk, 0, 1);
    v->out_unit = access_unit(s, &v->out, 0, v->out.n);
    view_stores(p, v->down ? &v->out : &walk, align, &v->vec, &run);
    v->term_ops = expr_ops(v->of.term, NULL, NULL) + 1;
    v->n_read = access_reads(v->of.term).n;
    /* Each term is met once.  */
    p->flops = (double)v->out.extent * (double)v->extent * v->term_ops;
    v->fits = v->out.extent > 0 && v->extent > 0 && v->extent <= INT32_MAX / 2;
}
