#include "codegen/sizes.h"
#include "codegen/window.h"

/* A row of the input that a patch touches, loaded into registers as values.  */

static int load_width(const Kernel *k, int n) {
    return window_view(k)->along ? window_row_vec(k, n) : 1;
}

/* Prints where a source's row lies: wy, wx, inside, from, which lacks the constants `by` of what is
 * tested; returns the test that each load needs or NULL.  */
static const char *place_row(Kernel *k, int n, int64_t *by) {
    Cg *cg = k->cg;
    const WindowSource *x = window_source(k, n);
    const TeTensor *t = &cg->te->tensor[x->access.tensor];
    CgPoint point = elements_point(k, k->l->p->group->root, true);
    const char *sub[TE_MAX_RANK], *test = NULL;
    uint32_t tested = rprog_window_tested(k->l->p, k->l->r, n);
    const char *down = window_rows(k) > 1 ? "y" : cg_text(cg, "kk * %lld", (long long)x->dil_m);
    const char *wy = cg_text(cg, "%s + %s", window_steps(k, x, x->dim_m, "row"), down);
    const char *wx = window_steps(k, x, x->dim_n, "col");
    int64_t first = x->base_n - window_row_shift(k, n);
    if (x->dim_m >= 0)
        cg_line(cg, "const %s wy = %s + (%lld);", place_type(window_wide(k, x, x->dim_m)), wy,
                (long long)x->base_m);
    cg_line(cg, "const %s wx = %s + (%lld);", place_type(window_wide(k, x, x->dim_n)), wx,
            (long long)first);
    for (int d = 0; d < t->rank; d++) {
        bool down_or_along = d == x->dim_n || d == x->dim_m;
        const char *at = d == x->dim_n   ? "wx"
                         : d == x->dim_m ? "wy"
                                         : text_expr(&point, x->read->args[d], TE_I64);
        if (d != x->dim_n && (tested >> d & 1))
            test = both(cg, test, text_inside(cg, at, t->shape[d], window_wide(k, x, d)));
        if (down_or_along) by[d] = d == x->dim_n ? first : x->base_m;
        sub[d] = down_or_along         ? cg_text(cg, "(%s)", d == x->dim_n ? wx : wy)
                 : x->access.guard[d]  ? text_tested(&point, x->read, d, &by[d])
                                       : at;
        if (!down_or_along && window_widens(k, x, d))
            sub[d] = cg_text(cg, "(long long)(%s)", sub[d]);
    }
    cg_line(cg, "const %s from = %s;",
            place_type(rprog_wide(k->l->p, k->l->r, &x->access, -1)),
            text_offset(cg, x->access.tensor, sub));
    if (test) cg_line(cg, "const bool inside = %s;", test);
    if (tested >> x->dim_n & 1)
        return both(cg, test ? "inside" : NULL,
                    text_inside(cg, cg_text(cg, "wx + u * %d", load_width(k, n)),
                                t->shape[x->dim_n], window_wide(k, x, x->dim_n)));
    return test ? "inside" : NULL;
}

/* The one element of a dimension of size 1 lies where its index 0 is, whatever index is tested.  */
static TeExtent stride_along(const TeTensor *t, int d) {
    bool single = !t->shape[d].expr && t->shape[d].value == 1;
    return single ? size_number(0) : t->stride[d];
}

void window_row_load(Kernel *k, int n, const char *to) {
    Cg *cg = k->cg;
    const WindowSource *x = window_source(k, n);
    const TeTensor *t = &cg->te->tensor[x->access.tensor];
    int wide = window_row_vec(k, n), loads = window_row_loads(k, n);
    if (rprog_window_tiled(k->l->r, n)) {
        window_tile_row(k, to);
        return;
    }
    int64_t by[TE_MAX_RANK] = {0};
    const char *test = place_row(k, n, by), *from = text_pointer(cg, x->access.tensor, "from", by);
    TeExtent along = size_times(cg->arena, size_number(load_width(k, n)),
                                stride_along(t, x->dim_n));
    const char *step = text_number(cg, along);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int u = 0; u < %d; u++)", loads);
    if (test) {
        CgPoint point = elements_point(k, k->l->p->group->root, true);
        const char *other = x->other ? text_expr(&point, x->other, x->read->type)
                                     : text_int(cg, x->read->type, 0);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) %s[u * %d + p] = %s;", wide, to, wide, other);
        cg_open(cg, "if (%s)", test);
    }
    if (wide > 1) {
        cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(%s + u * %s);", cg_storage(t->dtype),
                wide, wide, from, step);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) %s[u * %d + p] = %s;", wide, to, wide,
                text_decode(cg, t->dtype, "x.v[p]"));
    } else {
        cg_line(cg, "%s[u] = %s;", to,
                text_decode(cg, t->dtype, cg_text(cg, "(%s)[u * %s]", from, step)));
    }
    if (test) cg_close(cg);
    cg_close(cg);
}
