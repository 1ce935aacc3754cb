#include "codegen/window.h"

/* Subscripts of what a window slides along, and their widths.  */

bool window_wide(const Kernel *k, const WindowSource *x, int d) {
    Access first = x->access, last = x->access;
    bool along = d == x->dim_n;
    if (along || d == x->dim_m) {
        first.sub[d].c = along ? x->base_n : x->base_m;
        last.sub[d].c = first.sub[d].c + (along ? x->dil_n * x->extent_s : x->dil_m * x->extent_r);
    }
    return rprog_wide(k->l->p, k->l->r, &first, d) || rprog_wide(k->l->p, k->l->r, &last, d);
}

/* Are the subscript, or offsets that it goes into, long longs?  */
bool window_widens(const Kernel *k, const WindowSource *x, int d) {
    return window_wide(k, x, d) || (rprog_wide(k->l->p, k->l->r, &x->access, -1) &&
                                    !cg_tensor_wide(k->cg, x->access.tensor));
}

const char *window_steps(const Kernel *k, const WindowSource *x, int d, const char *at) {
    return cg_text(k->cg, "%s%s * %lld", window_widens(k, x, d) ? "(long long)" : "", at,
                   (long long)(d == x->dim_n ? x->step_n : x->step_m));
}
