#include "codegen/expr/sizes.h"
#include "codegen/operand/address.h"
#include "codegen/skeleton/window.h"

/* A row of the input that a patch touches, loaded into registers as values.  */

static int load_width(const Kernel *k, int n) {
    return window_view(k)->along ? window_row_vec(k, n) : 1;
}

/* Where a source's row lies: its first element, without the constants `by` of what is tested, and
 * the position of that along the row.  */
typedef struct {
    int64_t by[TE_MAX_RANK];
    Ir from, down, along;
    Ir inside;                /* the test that all elements share, or NULL */
} RowPlace;

/* A position along a sliding dimension, which begins at `first`, and the subscript as it is.  */
static Ir define_slide(Kernel *k, const WindowSource *x, int d, Ir at, int64_t first) {
    bool along = d == x->dim_n;
    return ir_let_as(k->cg, place_base(window_wide(k, x, d)), along ? "wx" : "wy",
                     ir_add(k->cg, at, ir_int(k->cg, first)));
}

/* The row's offset, and the tests of all dimensions but the one along it.  */
static void define_from(Kernel *k, int n, Ir wy, Ir wx, RowPlace *out) {
    Cg *cg = k->cg;
    const WindowSource *x = window_source(k, n);
    const TeTensor *t = &cg->te->tensor[x->access.tensor];
    CgPoint point = elements_point(k, k->task->p->group->root, true);
    uint32_t tested = rprog_window_tested(k->task->p, k->task->r, n);
    Ir sub[TE_MAX_RANK];
    for (int d = 0; d < t->rank; d++) {
        bool slides = d == x->dim_n || d == x->dim_m;
        Ir at = d == x->dim_n   ? out->along
                : d == x->dim_m ? out->down
                                : cg_expr(&point, x->read->args[d], TE_I64);
        if (d != x->dim_n && (tested >> d & 1))
            out->inside = ir_both(cg, out->inside,
                                  size_inside(cg, at, t->shape[d], window_wide(k, x, d)));
        sub[d] = slides               ? (d == x->dim_n ? wx : wy)
                 : x->access.guard[d] ? cg_tested(&point, x->read, d, &out->by[d])
                                      : at;
        if (!slides && window_widens(k, x, d)) sub[d] = ir_as(cg, IR_I64, sub[d]);
    }
    IrBase base = place_base(rprog_wide(k->task->p, k->task->r, &x->access, -1));
    out->from = ir_let_as(cg, base, "from", cg_offset_apart(cg, x->access.tensor, sub, out->by));
    if (out->inside) out->inside = ir_let(cg, "inside", out->inside);
}

static RowPlace place_row(Kernel *k, int n) {
    Cg *cg = k->cg;
    const WindowAt *w = k->window;
    const WindowSource *x = window_source(k, n);
    int64_t first = x->base_n - window_row_shift(k, n);
    Ir wx = window_steps(k, x, x->dim_n, w->col), wy = NULL;
    RowPlace out = {0};
    out.by[x->dim_n] = first;
    if (x->dim_m >= 0) {
        Ir down = window_rows(k) > 1 ? w->y : ir_mul_n(cg, w->kk, x->dil_m);
        wy = ir_add(cg, window_steps(k, x, x->dim_m, w->row), down);
        out.down = define_slide(k, x, x->dim_m, wy, x->base_m);
        out.by[x->dim_m] = x->base_m;
    }
    out.along = define_slide(k, x, x->dim_n, wx, first);
    define_from(k, n, wy, wx, &out);
    return out;
}

/* The test that load u needs, or NULL.  */
static Ir load_test(const Kernel *k, int n, const RowPlace *at, Ir u) {
    const Cg *cg = k->cg;
    const WindowSource *x = window_source(k, n);
    uint32_t tested = rprog_window_tested(k->task->p, k->task->r, n);
    if (!(tested >> x->dim_n & 1)) return at->inside;
    Ir along = ir_add(cg, at->along, ir_mul_n(cg, u, load_width(k, n)));
    TeExtent end = cg->te->tensor[x->access.tensor].shape[x->dim_n];
    return ir_both(cg, at->inside, size_inside(cg, along, end, window_wide(k, x, x->dim_n)));
}

/* The one element of a dimension of size 1 lies where its index 0 is, whatever index is tested.  */
static TeExtent stride_along(const TeTensor *t, int d) {
    bool single = !t->shape[d].expr && t->shape[d].value == 1;
    return single ? size_number(0) : t->stride[d];
}

/* What stands for elements outside, in load u of `width`.  */
static void put_other(Kernel *k, const WindowSource *x, Ir to, Ir u, int width) {
    Cg *cg = k->cg;
    CgPoint point = elements_point(k, k->task->p->group->root, true);
    Ir other = cg_outside(&point, x->other, x->read->type);
    Ir p = ir_count(cg, "p", width, IR_UNROLL_ALL);
    ir_set(cg, ir_element(cg, to, ir_add(cg, ir_mul_n(cg, u, width), p)), other);
    ir_close(cg);
}

/* Elements at a pointer, or zeros where the test fails.  */
static Ir define_load(Kernel *k, TeDtype dtype, int width, Ir from, Ir test) {
    Cg *cg = k->cg;
    Ir x = travel_load(cg, dtype, width, from);
    if (!test) return ir_let(cg, "x", x);
    Ir v = ir_variable_of(cg, "x", ir_zero(cg, x->type));
    ir_if(cg, test);
    ir_set(cg, v, x);
    ir_close(cg);
    return v;
}

/* A load's elements as values.  Bytes of 0 that stand for those outside, fewer than values, are
 * converted with the others.  */
static void load_values(Kernel *k, int n, Ir to, Ir u, Ir from, Ir test) {
    Cg *cg = k->cg;
    const WindowSource *x = window_source(k, n);
    int width = window_row_vec(k, n);
    bool apart = test && !x->zeros;
    TeDtype dtype = cg->te->tensor[x->access.tensor].dtype;
    if (apart) put_other(k, x, to, u, width);
    if (apart) ir_if(cg, test);
    window_row_put(k, to, u, width, define_load(k, dtype, width, from, apart ? NULL : test),
                   dtype);
    if (apart) ir_close(cg);
}

void window_row_load(Kernel *k, int n, Ir to) {
    Cg *cg = k->cg;
    const WindowSource *x = window_source(k, n);
    const TeTensor *t = &cg->te->tensor[x->access.tensor];
    if (rprog_window_tiled(k->task->r, n)) {
        window_tile_row(k, to);
        return;
    }
    RowPlace at = place_row(k, n);
    Ir from = cg_pointer(cg, x->access.tensor, at.from, at.by);
    TeExtent step = size_times(cg->arena, size_number(load_width(k, n)),
                               stride_along(t, x->dim_n));
    Ir u = ir_count(cg, "u", window_row_loads(k, n), IR_UNROLL_ALL);
    Ir test = load_test(k, n, &at, u), by = ir_mul(cg, u, size_value(cg, step));
    load_values(k, n, to, u, ir_add(cg, from, by), test);
    ir_close(cg);
}
