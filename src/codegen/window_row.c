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
    const char *wy = cg_text(cg, "row * %lld + %s", (long long)x->step_m, down);
    const char *wx = cg_text(cg, "col * %lld", (long long)x->step_n);
    int64_t first = x->base_n - window_row_shift(k, n);
    if (x->dim_m >= 0)
        cg_line(cg, "const int wy = %s + (%lld);", wy, (long long)x->base_m);
    cg_line(cg, "const int wx = %s + (%lld);", wx, (long long)first);
    for (int d = 0; d < t->rank; d++) {
        bool down_or_along = d == x->dim_n || d == x->dim_m;
        const char *at = d == x->dim_n   ? "wx"
                         : d == x->dim_m ? "wy"
                                         : cg_expr(&point, x->read->args[d], TE_I64);
        if (d != x->dim_n && (tested >> d & 1))
            test = both(cg, test, size_inside(cg, at, t->shape[d], false));
        if (down_or_along) by[d] = d == x->dim_n ? first : x->base_m;
        sub[d] = down_or_along         ? cg_text(cg, "(%s)", d == x->dim_n ? wx : wy)
                 : x->access.guard[d]  ? cg_tested(&point, x->read, d, &by[d])
                                       : at;
    }
    cg_line(cg, "const %s from = %s;", place_type(cg_tensor_wide(cg, x->access.tensor)),
            cg_offset(cg, x->access.tensor, sub));
    if (test) cg_line(cg, "const bool inside = %s;", test);
    if (tested >> x->dim_n & 1)
        return both(cg, test ? "inside" : NULL,
                    size_inside(cg, cg_text(cg, "wx + u * %d", load_width(k, n)),
                                t->shape[x->dim_n], false));
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
    const char *test = place_row(k, n, by), *from = cg_pointer(cg, x->access.tensor, "from", by);
    TeExtent along = size_times(cg->arena, size_number(load_width(k, n)),
                                stride_along(t, x->dim_n));
    const char *step = size_text(cg, along);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int u = 0; u < %d; u++)", loads);
    if (test) {
        CgPoint point = elements_point(k, k->l->p->group->root, true);
        const char *other = x->other ? cg_expr(&point, x->other, x->read->type)
                                     : cg_int(cg, x->read->type, 0);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) %s[u * %d + p] = %s;", wide, to, wide, other);
        cg_open(cg, "if (%s)", test);
    }
    if (wide > 1) {
        cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(%s + u * %s);", cg_storage(t->dtype),
                wide, wide, from, step);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) %s[u * %d + p] = %s;", wide, to, wide,
                cg_decode(cg, t->dtype, "x.v[p]"));
    } else {
        cg_line(cg, "%s[u] = %s;", to,
                cg_decode(cg, t->dtype, cg_text(cg, "(%s)[u * %s]", from, step)));
    }
    if (test) cg_close(cg);
    cg_close(cg);
}
