#include "codegen/operand/address.h"
#include "codegen/skeleton/window.h"

/* What rows of windows share, in memory and in shared memory: subscripts of what a window slides
 * along, their widths, and how a load becomes values.  */

bool window_wide(const Kernel *k, const WindowSource *x, int d) {
    Access first = x->access, last = x->access;
    bool along = d == x->dim_n;
    if (along || d == x->dim_m) {
        first.sub[d].c = along ? x->base_n : x->base_m;
        last.sub[d].c = first.sub[d].c + (along ? x->dil_n * x->extent_s : x->dil_m * x->extent_r);
    }
    return rprog_wide(k->task->p, k->task->r, &first, d) ||
           rprog_wide(k->task->p, k->task->r, &last, d);
}

/* Are the subscript, or offsets that it goes into, long longs?  */
bool window_widens(const Kernel *k, const WindowSource *x, int d) {
    return window_wide(k, x, d) || (rprog_wide(k->task->p, k->task->r, &x->access, -1) &&
                                    !cg_tensor_wide(k->cg, x->access.tensor));
}

Ir window_steps(const Kernel *k, const WindowSource *x, int d, Ir at) {
    return ir_mul(k->cg, window_widens(k, x, d) ? ir_as(k->cg, IR_I64, at) : at,
                  ir_int(k->cg, d == x->dim_n ? x->step_n : x->step_m));
}

void window_row_put(Kernel *k, Ir to, Ir u, int width, Ir x, TeDtype dtype) {
    Cg *cg = k->cg;
    Ir p = ir_count(cg, "p", width, IR_UNROLL_ALL);
    ir_set(cg, ir_element(cg, to, ir_add(cg, ir_mul_n(cg, u, width), p)),
           cg_decode(cg, dtype, travel_element(cg, dtype, width, x, p)));
    ir_close(cg);
}
