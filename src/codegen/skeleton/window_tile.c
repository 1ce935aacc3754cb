#include "codegen/expr/sizes.h"
#include "codegen/skeleton/window.h"

/* Windows whose inputs lie in shared memory: the block loads them with their halo, as values,
 * what lies outside the tensor filled in, so that the sliding rows need no tests.  */

/* What the tile holds: the first source.  */
static const WindowSource *tiled(const Kernel *k) { return &window_view(k)->source[0]; }

static bool is_ragged(const Kernel *k) { return index_ragged(&k->task->map, 0); }

static Ir outer_points(const Kernel *k) {
    return size_value(k->cg, index_extent(k->cg->arena, &k->task->map, 0));
}

static bool has_idle(const Kernel *k, const WindowTile *t) {
    return t->down * t->across * t->planes != k->task->r->threads;
}

static bool is_wide(const Kernel *k, const WindowTile *t) {
    return place_wide(window_view(k)->outer, t->planes);
}

static const WindowTile *tile_of(const Kernel *k) {
    WindowTile *t = ARENA_NEW(k->cg->arena, WindowTile);
    *t = rprog_window_tile(k->task->p, k->task->r);
    return t;
}

/* First output of the block along an axis, whose tile has this number.  */
static Ir block_first(Kernel *k, AxisClass axis, Ir tile) {
    return ir_let_as(k->cg, IR_I32, axis == AX_M ? "m0" : "n0",
                     ir_mul(k->cg, tile, ir_int(k->cg, k->task->r->block.extent[axis])));
}

/* The thread's.  */
static Ir thread_first(Kernel *k, AxisClass axis, Ir first, Ir patch) {
    Ir own = ir_mul_n(k->cg, ir_as(k->cg, IR_I32, patch), k->task->r->thread.extent[axis]);
    return ir_let_as(k->cg, IR_I32, axis == AX_M ? "row" : "col", ir_add(k->cg, first, own));
}

/* Has the thread outputs?  NULL: all have.  */
static Ir define_live(Kernel *k, const WindowTile *t, Ir at) {
    Cg *cg = k->cg;
    Ir test = NULL;
    if (has_idle(k, t))
        test = ir_lt(cg, k->window->tid,
                     ir_number(cg, IR_U32, (int64_t)t->down * t->across * t->planes));
    if (is_ragged(k)) test = ir_both(cg, test, ir_lt(cg, at, outer_points(k)));
    return test ? ir_let(cg, "live", test) : NULL;
}

/* The part of shared memory, and where the thread's patch begins in it.  */
static void define_part(Kernel *k, const WindowTile *t) {
    Cg *cg = k->cg;
    const WindowSource *x = tiled(k);
    WindowAt *w = k->window;
    Ir smem = kernel_smem(k, 128);
    w->part = ir_let(cg, "part", kernel_room(k, smem, ir_storage(x->read->type), 0));
    Ir plane = ir_as(cg, IR_I32, place_part(cg, w->tid, (int64_t)t->down * t->across, false));
    Ir down = ir_mul_n(cg, ir_sub(cg, w->row, w->row0), x->step_m);
    Ir row = ir_mul_n(cg, ir_add(cg, ir_mul_n(cg, plane, t->rows), down), t->pitch);
    Ir along = ir_mul_n(cg, ir_sub(cg, w->col, w->col0), x->step_n);
    w->take = ir_let_as(cg, IR_I32, "take", ir_add(cg, row, along));
}

void window_tile_place(Kernel *k) {
    Cg *cg = k->cg;
    const WindowView *v = window_view(k);
    const WindowTile *t = tile_of(k);
    WindowAt *w = k->window;
    IrBase base = place_base(is_wide(k, t));
    Ir tile[INDEX_DIGITS], patch[INDEX_DIGITS], none = ir_int(cg, 0);
    int p = window_axis(k, AX_M), q = window_axis(k, AX_N);
    w->tid = ir_let(cg, "tid", ir_thread(cg));
    place_grid(k, ir_let(cg, "tile", ir_block(cg, 0)), tile);
    place_thread_digits(k, w->tid, patch);
    w->col0 = block_first(k, AX_N, tile[q]);
    w->row0 = block_first(k, AX_M, v->p < 0 ? none : tile[p]);
    w->first = ir_let_as(cg, base, "first",
                         ir_mul_n(cg, ir_cast(cg, base, tile[0]), t->planes));
    w->col = thread_first(k, AX_N, w->col0, patch[q]);
    w->row = thread_first(k, AX_M, w->row0, v->p < 0 ? none : patch[p]);
    Ir plane = ir_as(cg, IR_I32, place_part(cg, w->tid, (int64_t)t->down * t->across, false));
    Ir at = ir_let_as(cg, base, "at", ir_add(cg, w->first, plane));
    w->live = define_live(k, t, at);
    place_axis(k, 0, t->planes > 1 ? at : w->first, is_wide(k, t), k->at.index, k->at.wide);
    define_part(k, t);
}

/* ---- filling ---- */

/* An element of the tile: its place in it, and the subscripts of what slides.  */
typedef struct {
    Ir x, y, plane;
    Ir along, down;           /* down: NULL if nothing slides along y */
} TilePoint;

/* What a sliding dimension adds to an offset.  */
static Ir slide_term(const Kernel *k, int d, Ir first, int64_t step, Ir at, bool wide) {
    const Cg *cg = k->cg;
    Ir sum = ir_add(cg, ir_mul_n(cg, first, step), at);
    return ir_mul(cg, wide ? ir_as(cg, IR_I64, sum) : sum,
                  cg_extent(cg, &cg->te->tensor[tiled(k)->access.tensor].stride[d]));
}

/* What the indices that neither slide nor number the planes add to `sum`.  */
static Ir add_indices(const Kernel *k, const WindowTile *t, Ir sum, bool wide) {
    const Cg *cg = k->cg;
    const WindowView *v = window_view(k);
    const TeStmt *s = kernel_root(k);
    for (int i = 0; i < s->n_index; i++) {
        bool sliding = i == v->q || i == v->p || i == v->s || i == v->r;
        bool flat = t->planes > 1 && i < s->n_left;
        if (tiled(k)->access.offset.coef[i] == 0 || sliding || flat || s->index[i].hi.value == 1)
            continue;
        Ir index = wide ? ir_as(cg, IR_I64, k->at.index[i]) : k->at.index[i];
        sum = ir_add(cg, sum, ir_mul(cg, index, size_of_stride(cg, &tiled(k)->access, i)));
    }
    return sum;
}

/* The element in memory: all indices but the sliding ones from the access.  */
static Ir source(const Kernel *k, const WindowTile *t, const TilePoint *at) {
    const Cg *cg = k->cg;
    const WindowAt *w = k->window;
    const WindowSource *x = tiled(k);
    bool wide = rprog_wide(k->task->p, k->task->r, &x->access, -1);
    uint32_t slides = 1u << x->dim_n;
    int64_t by[TE_MAX_RANK] = {0};
    by[x->dim_n] = x->base_n;
    Ir sum = slide_term(k, x->dim_n, w->col0, x->step_n, at->x, wide);
    if (x->dim_m >= 0) {
        slides |= 1u << x->dim_m;
        by[x->dim_m] = x->base_m;
        sum = ir_add(cg, sum, slide_term(k, x->dim_m, w->row0, x->step_m, at->y, wide));
    }
    sum = add_indices(k, t, sum, wide);
    if (t->planes > 1) {
        Ir plane = ir_add(cg, w->first, at->plane);
        sum = ir_add(cg, sum, ir_mul(cg, wide ? ir_as(cg, IR_I64, plane) : plane,
                                     cg_int(cg, TE_I64, window_view(k)->outer_step)));
    }
    return cg_element(cg, x->access.tensor, size_add_offset(cg, &x->access, slides, sum), by);
}

/* Is the element inside the tensor?  NULL: always.  */
static Ir inside(const Kernel *k, const TilePoint *at) {
    Cg *cg = k->cg;
    const WindowSource *x = tiled(k);
    const TeTensor *t = &cg->te->tensor[x->access.tensor];
    CgPoint point = elements_point(k, k->task->p->group->root, true);
    uint32_t tested = rprog_window_tested(k->task->p, k->task->r, 0);
    Ir test = NULL;
    for (int d = 0; d < t->rank; d++) {
        if (!(tested >> d & 1)) continue;
        Ir sub = d == x->dim_n   ? at->along
                 : d == x->dim_m ? at->down
                                 : cg_expr(&point, x->read->args[d], TE_I64);
        test = ir_both(cg, test, size_inside(cg, sub, t->shape[d], window_wide(k, x, d)));
    }
    if (is_ragged(k))
        test = ir_both(cg, test, ir_lt(cg, ir_add(cg, k->window->first, at->plane),
                                       outer_points(k)));
    return test;
}

/* Defines the element that has number `u` in the tile.  */
static TilePoint define_point(Kernel *k, const WindowTile *t, Ir u) {
    Cg *cg = k->cg;
    const WindowSource *w = tiled(k);
    TilePoint at = {0};
    Ir row = place_part(cg, u, t->columns, false);
    if (t->planes > 1) row = ir_rem(cg, row, ir_number(cg, IR_U32, t->rows));
    at.x = ir_let_as(cg, IR_I32, "x", ir_rem(cg, u, ir_number(cg, IR_U32, t->columns)));
    at.y = ir_let_as(cg, IR_I32, "y", row);
    at.plane = ir_let_as(cg, IR_I32, "p",
                         t->planes > 1 ? place_part(cg, u, (int64_t)t->rows * t->columns, false)
                                       : ir_int(cg, 0));
    at.along = ir_let_as(cg, place_base(window_wide(k, w, w->dim_n)), "wx",
                         ir_add(cg, ir_add(cg, window_steps(k, w, w->dim_n, k->window->col0), at.x),
                                ir_int(cg, w->base_n)));
    if (w->dim_m < 0) return at;
    at.down = ir_let_as(cg, place_base(window_wide(k, w, w->dim_m)), "wy",
                        ir_add(cg, ir_add(cg, window_steps(k, w, w->dim_m, k->window->row0), at.y),
                               ir_int(cg, w->base_m)));
    return at;
}

/* The value of an element that is read where it is inside.  */
static Ir tested_value(Kernel *k, Ir test, Ir value) {
    Cg *cg = k->cg;
    const WindowSource *w = tiled(k);
    CgPoint point = elements_point(k, k->task->p->group->root, true);
    Ir other = w->other ? cg_expr(&point, w->other, w->read->type) : cg_int(cg, w->read->type, 0);
    Ir x = ir_variable(cg, ir_compute(w->read->type), "value", other);
    ir_if(cg, test);
    ir_set(cg, x, value);
    ir_close(cg);
    return x;
}

void window_tile_fill(Kernel *k, const Node *n) {
    (void)n;
    enum { UNROLLED = 8 };
    Cg *cg = k->cg;
    const TeTensor *x = &cg->te->tensor[tiled(k)->access.tensor];
    const WindowTile *t = tile_of(k);
    int64_t all = (int64_t)t->planes * t->rows * t->columns;
    Ir u = ir_name(cg, ir_type(IR_I32), "u");
    ir_loop(cg, u, k->window->tid, ir_lt(cg, u, ir_int(cg, all)),
            (IrNext){IR_ADD, ir_int(cg, k->task->r->threads)}, UNROLLED);
    TilePoint at = define_point(k, t, u);
    Ir test = inside(k, &at), value = cg_decode(cg, x->dtype, source(k, t, &at));
    Ir row = ir_add(cg, ir_mul_n(cg, at.plane, t->rows), at.y);
    Ir to = ir_let_as(cg, IR_I32, "to", ir_add(cg, ir_mul_n(cg, row, t->pitch), at.x));
    if (test) value = tested_value(k, test, value);
    ir_set(cg, ir_element(cg, k->window->part, to), value);
    ir_close(cg);
}

void window_tile_row(Kernel *k, Ir to) {
    Cg *cg = k->cg;
    const WindowAt *w = k->window;
    const WindowTile *t = tile_of(k);
    int width = k->task->r->vec_n;
    Ir row = w->take;
    if (window_rows(k) > 1) row = ir_add(cg, row, ir_mul_n(cg, w->y, t->pitch));
    else if (tiled(k)->dim_m >= 0)
        row = ir_add(cg, row, ir_mul_n(cg, w->kk, tiled(k)->dil_m * t->pitch));
    Ir u = ir_count(cg, "u", rprog_window_loads(k->task->p, k->task->r, 0), IR_UNROLL_ALL);
    window_row_put(k, to, u, width, ir_add(cg, w->part, ir_add(cg, row, ir_mul_n(cg, u, width))),
                   tiled(k)->read->type);
    ir_close(cg);
}
