#include "codegen/expr/sizes.h"
#include "codegen/skeleton/window.h"

/* Windows: a thread computes a patch of outputs.  Each row of the input that the patch touches is
 * loaded once into registers.  Of a reduction it adds to every output row whose window covers it; a
 * map has all its rows when it begins.  What lies outside the tensor, or beyond ragged patches, is
 * the read's else value.  */

static Ir loop_name(const Kernel *k, const char *text) {
    return ir_name(k->cg, ir_type(IR_I32), text);
}

static void name_loops(Kernel *k) {
    WindowAt *w = k->window = ARENA_NEW(k->cg->arena, WindowAt);
    w->i = loop_name(k, "i");
    w->j = loop_name(k, "j");
    w->e = loop_name(k, "e");
    w->y = loop_name(k, "y");
    w->kk = loop_name(k, "kk");
    w->f = loop_name(k, "f");
}

/* Rows, columns and what is alike are those of the patch at hand.  */
static void point_to_patch(Kernel *k) {
    const WindowView *v = window_view(k);
    const WindowAt *w = k->window;
    if (v->p >= 0) k->at.index[v->p] = ir_add(k->cg, w->row, w->i);
    k->at.index[v->q] = ir_add(k->cg, w->col, w->j);
    if (v->alike >= 0)
        k->at.index[v->alike] = window_alike(k) > 1 ? ir_add(k->cg, w->first, w->e) : w->first;
}

static void place_patch(Kernel *k) {
    const WindowView *v = window_view(k);
    place_axis(k, 0, k->box[0], box_wide(k, 0), k->at.index, k->at.wide);
    k->window->row = ir_as(k->cg, IR_I32, window_along(k, k->box, AX_M));
    k->window->col = ir_as(k->cg, IR_I32, window_along(k, k->box, AX_N));
    k->window->first = ir_as(k->cg, IR_I32, window_along(k, k->box, AX_K));
    if (v->lane >= 0) k->at.index[v->lane] = k->box[window_axis(k, AX_N) + 1];
}

static void window_place(Kernel *k) {
    Elements *at = &k->at;
    const WindowView *v = window_view(k);
    at->n_order = 0;
    if (v->along || v->lane >= 0) at->order[at->n_order++] = v->along ? v->q : v->lane;
    ir_note(k->cg, "place: patches of %d x %d outputs", window_rows(k),
            window_strip(k) * (window_shared(k) ? 1 : window_lanes(k)));
    name_loops(k);
    box_place(k);
    if (window_shared(k)) window_tile_place(k);
    else place_patch(k);
    point_to_patch(k);
}

static void window_clear(Kernel *k, const Node *n) {
    (void)n;
    const TeExpr *e = kernel_root(k)->rhs;
    product_clear(k, (TeRedop)e->red, e->type, window_rows(k) * window_alike(k),
                  window_strip(k) * window_lanes(k));
}

static Ir declare_row(Kernel *k) {
    return ir_array(k->cg, ir_type(ir_compute(window_source(k, 0)->read->type)), "x0",
                    window_row_loads(k, 0) * window_row_vec(k, 0), 0, 0);
}

/* Element `at` of each position of a row is `lanes` elements: the one of the lane at hand.  */
static Ir lane_of(const Kernel *k, Ir at) {
    int lanes = window_lanes(k);
    return lanes > 1 ? ir_add(k->cg, ir_mul_n(k->cg, at, lanes), k->at.v) : at;
}

/* Opens a loop over what is alike, if there are several.  */
static int open_alike(Kernel *k) {
    if (window_alike(k) == 1) return 0;
    ir_count_of(k->cg, k->window->e, window_alike(k), IR_UNROLL_ALL);
    return 1;
}

/* The accumulator of output i, j.  */
static Ir accumulator(const Kernel *k, Ir j) {
    const WindowAt *w = k->window;
    Ir row = w->i;
    if (window_alike(k) > 1)
        row = ir_add(k->cg, ir_mul_n(k->cg, w->e, window_rows(k)), row);
    return product_sum(k, row, lane_of(k, j));
}

/* ---- multiply-adds ---- */

/* Adds the row `x` to the outputs of patch row i, whose window it meets in row kk.  */
static void add_row(Kernel *k, Ir x) {
    Cg *cg = k->cg;
    const WindowSource *from = window_source(k, 0);
    const TeExpr *e = kernel_root(k)->rhs;
    int root = k->task->p->group->root, loops = 2 + open_alike(k);
    Ir f = ir_count_of(cg, k->window->f, from->extent_s, IR_UNROLL_ALL);
    Ir j = ir_count_of(cg, k->window->j, window_strip(k), IR_UNROLL_ALL);
    Ir at = ir_add(cg, ir_mul_n(cg, j, from->step_n), ir_mul_n(cg, f, from->dil_n));
    at = ir_add_n(cg, at, window_row_shift(k, 0));
    if (!window_view(k)->beside) at = lane_of(k, at);
    k->at.vec = window_lanes(k);
    elements_give(k, root, from->read, ir_element(cg, x, at));
    elements_load_vectors(k, root, e->args[0]);
    elements_open_lanes(k);
    CgPoint point = elements_point(k, root, false);
    Ir acc = accumulator(k, j);
    Ir value = cg_expr(&point, e->args[0], e->type);
    ir_set(cg, acc, cg_fold(cg, (TeRedop)e->red, e->type, acc, value));
    elements_close_lanes(k);
    k->at.n_vector = 0;
    while (loops-- > 0) ir_close(cg);
}

/* Input row y meets window row kk of patch row i where y = i * step + kk * dil.  */
static void add_to_rows(Kernel *k, Ir x) {
    Cg *cg = k->cg;
    const WindowSource *from = window_source(k, 0);
    Ir y = k->window->y, kk = k->window->kk;
    Ir i = ir_count_of(cg, k->window->i, window_rows(k), IR_UNROLL_ALL);
    Ir first = ir_mul_n(cg, i, from->step_m);
    ir_define(cg, kk, ir_div(cg, ir_sub(cg, y, first), ir_int(cg, from->dil_m)));
    Ir same = ir_binary(cg, IR_EQ, y, ir_add(cg, first, ir_mul_n(cg, kk, from->dil_m)));
    Ir meets = ir_both(cg, ir_binary(cg, IR_GE, y, first), same);
    ir_if(cg, ir_both(cg, meets, ir_lt(cg, kk, ir_int(cg, from->extent_r))));
    add_row(k, x);
    ir_close(cg);
    ir_close(cg);
}

static void open_rows(Kernel *k, int n) {
    bool unrolled = rprog_window_unrolls(k->task->p, k->task->r);
    if (window_view(k)->p < 0) ir_scope(k->cg);
    else
        ir_count_of(k->cg, window_row_number(k), rprog_window_rows(k->task->p, k->task->r, n),
                    unrolled ? IR_UNROLL_ALL : 1);
}

static void walk_rows(Kernel *k) {
    open_rows(k, 0);
    if (window_rows(k) == 1) ir_define(k->cg, k->window->i, ir_int(k->cg, 0));
    Ir x = declare_row(k);
    window_row_load(k, 0, x);
    if (window_rows(k) > 1) add_to_rows(k, x);
    else add_row(k, x);
    ir_close(k->cg);
}

int window_open_outer(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = window_view(k);
    const TeStmt *s = kernel_root(k);
    int loops = 0;
    if (v->map) {
        ir_note(cg, "fold: inputs of %d sources in registers", v->n_source);
        return 0;
    }
    ir_note(cg, "fold: rows of %d x %d elements in registers", window_row_loads(k, 0),
            k->task->r->vec_n);
    at->index[v->s] = k->window->f;
    if (v->r >= 0) at->index[v->r] = k->window->kk;
    for (int x = s->n_left; x < s->n_index; x++) {
        if (x == v->s || x == v->r) continue;
        at->wide[x] = s->index[x].hi.value > INT32_MAX;
        at->index[x] = ir_for(cg, ir_numbered(cg, "i", x),
                              ir_number(cg, place_base(at->wide[x]), 0),
                              cg_extent(cg, &s->index[x].hi), 1, 1);
        loops++;
    }
    return loops;
}

/* Threads without outputs leave a kernel whose block does not meet again.  */
static void leave_idle(Kernel *k) {
    Cg *cg = k->cg;
    if (!k->window->live) return;
    ir_if(cg, ir_unary(cg, IR_NOT, k->window->live));
    ir_simple(cg, IR_STMT_RETURN);
    ir_close(cg);
}

static void fold_reduction(Kernel *k) {
    if (!window_shared(k)) {
        walk_rows(k);
        return;
    }
    if (k->window->live) ir_if(k->cg, k->window->live);
    else ir_scope(k->cg);
    walk_rows(k);
    ir_close(k->cg);
}

/* ---- maps ---- */

/* All that the patch reads of the sources: arrays y0, y1, ....  */
static void load_sources(Kernel *k) {
    Cg *cg = k->cg;
    leave_idle(k);
    for (int n = 0; n < window_view(k)->n_source; n++) {
        Ir y = ir_array(cg, ir_type(ir_compute(window_source(k, n)->read->type)),
                        ir_numbered(cg, "y", n), rprog_window_rows(k->task->p, k->task->r, n),
                        window_row_loads(k, n) * window_row_vec(k, n), 0);
        k->window->source[n] = y;
        open_rows(k, n);
        window_row_load(k, n, ir_element(cg, y, window_row_number(k)));
        ir_close(cg);
    }
}

/* The value of a tap for element v of outputs i, j.  */
static Ir tap_value(const Kernel *k, const WindowTap *tap) {
    const Cg *cg = k->cg;
    const WindowSource *x = window_source(k, tap->source);
    Ir row = ir_int(cg, tap->r), j = k->window->j;
    if (window_rows(k) > 1)
        row = ir_add_n(cg, ir_mul_n(cg, k->window->i, x->step_m), tap->r * x->dil_m);
    if (window_lanes(k) == 1) j = ir_add(cg, j, elements_lane(k));
    Ir column = ir_add_n(cg, ir_mul_n(cg, j, x->step_n),
                         tap->s * x->dil_n + window_row_shift(k, tap->source));
    return ir_element(cg, ir_element(cg, k->window->source[tap->source], row),
                      lane_of(k, column));
}

static void give_taps(Kernel *k) {
    const WindowView *v = window_view(k);
    const KernelGroup *g = k->task->p->group;
    for (int i = 0; i < v->n_tap; i++) {
        const WindowTap *tap = &v->tap[i];
        int stmt = tap->which < 0 ? g->root : g->fused[tap->which];
        if (!elements_given(k, stmt, tap->read))
            elements_give(k, stmt, tap->read, tap_value(k, tap));
    }
}

static void window_fold(Kernel *k) {
    if (window_view(k)->map) load_sources(k);
    else fold_reduction(k);
}

/* ---- outputs ---- */

/* Where patches are ragged along an axis: its outputs end there.  */
static void open_ragged(Kernel *k, AxisClass axis, int index, Ir at) {
    if (index < 0 || !index_ragged(&k->task->map, window_axis(k, axis))) return;
    ir_if(k->cg, ir_lt(k->cg, at, cg_extent(k->cg, &kernel_root(k)->index[index].hi)));
    k->at.open++;
}

static void window_elements(Kernel *k, const Node *n) {
    (void)n;
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = window_view(k);
    at->vec = k->task->vec;
    ir_note(cg, "elements: %d outputs of the patch at a time", at->vec);
    if (!v->map) leave_idle(k);
    at->open = 2 + open_alike(k);
    ir_count_of(cg, k->window->i, window_rows(k), IR_UNROLL_ALL);
    if (v->p >= 0) open_ragged(k, AX_M, v->p, at->index[v->p]);
    ir_for_of(cg, k->window->j, ir_int(cg, 0), ir_int(cg, window_strip(k)),
              v->along ? at->vec : 1, IR_UNROLL_ALL);
    open_ragged(k, AX_N, v->q, at->index[v->q]);
    if (v->map) {
        give_taps(k);
        return;
    }
    bool lanes = window_lanes(k) > 1;
    at->root_type = kernel_root(k)->rhs->type;
    at->root = accumulator(k, lanes ? k->window->j : ir_add(cg, k->window->j, elements_lane(k)));
}

const KernelRow kernel_window = {
    .place = window_place,
    .clear = window_clear,
    .copy = window_tile_fill,
    .fold = window_fold,
    .elements = window_elements,
};
