#include "codegen/expr/sizes.h"
#include "codegen/operand/address.h"
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

static const WindowTile *tile_of(const Kernel *k) {
    WindowTile *t = ARENA_NEW(k->cg->arena, WindowTile);
    *t = rprog_window_tile(k->task->p, k->task->r);
    return t;
}

/* Has the thread outputs?  NULL: all have.  */
static Ir define_live(Kernel *k, const WindowTile *t, Ir at) {
    Cg *cg = k->cg;
    Ir test = NULL;
    if (has_idle(k, t))
        test = ir_lt(cg, k->var.tid,
                     ir_number(cg, IR_U32, (int64_t)t->down * t->across * t->planes));
    if (is_ragged(k)) test = ir_both(cg, test, ir_lt(cg, at, outer_points(k)));
    return test ? ir_let(cg, "live", test) : NULL;
}

/* The part of shared memory, and where the thread's patch begins in it.  */
static void define_part(Kernel *k, const WindowTile *t, const Ir *own) {
    Cg *cg = k->cg;
    const WindowSource *x = tiled(k);
    Ir smem = kernel_smem(k, 128);
    k->part[0] = ir_let(cg, "part", kernel_room(k, smem, ir_storage(x->read->type), 0));
    Ir down = ir_mul_n(cg, window_along(k, own, AX_M), x->step_m);
    Ir row = ir_mul_n(cg, ir_add(cg, ir_mul_n(cg, own[0], t->rows), down), t->pitch);
    Ir along = ir_mul_n(cg, window_along(k, own, AX_N), x->step_n);
    k->window->take = ir_let_as(cg, IR_I32, "take", ir_add(cg, row, along));
}

void window_tile_place(Kernel *k) {
    Cg *cg = k->cg;
    const WindowTile *t = tile_of(k);
    Ir own[INDEX_AXES] = {0}, at[INDEX_AXES];
    box_place_thread(k, own);
    for (int a = 0; a < k->task->map.n_axis; a++)
        at[a] = own[a] ? ir_add(cg, k->box[a], own[a]) : k->box[a];
    k->window->row = ir_let_as(cg, IR_I32, "row", window_along(k, at, AX_M));
    k->window->col = ir_let_as(cg, IR_I32, "col", window_along(k, at, AX_N));
    k->window->first = ir_as(cg, IR_I32, window_along(k, at, AX_K));
    Ir plane = ir_let_as(cg, place_base(box_wide(k, 0)), "at", at[0]);
    k->window->live = define_live(k, t, plane);
    place_axis(k, 0, plane, box_wide(k, 0), k->at.index, k->at.wide);
    define_part(k, t, own);
}

/* ---- filling ---- */

/* An element of the tile: its place in it, and the subscripts of what slides.  */
typedef struct {
    Ir x, y, plane;
    Ir along, down;           /* down: NULL if nothing slides along y */
} TilePoint;

/* What a sliding dimension adds to an offset.  */
static Ir slide_term(const Kernel *k, AxisClass axis, Ir at, bool wide) {
    const Cg *cg = k->cg;
    const WindowSource *x = tiled(k);
    bool down = axis == AX_M;
    int d = down ? x->dim_m : x->dim_n;
    if (cg_single(cg, x->access.tensor, d)) return ir_int(cg, 0);
    TeExtent stride = cg->te->tensor[x->access.tensor].stride[d];
    Ir first = ir_mul_n(cg, window_along(k, k->box, axis), down ? x->step_m : x->step_n);
    Ir sum = ir_add(cg, first, at);
    return ir_mul(cg, wide ? ir_as(cg, IR_I64, sum) : sum, size_value(cg, stride));
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
    const WindowSource *x = tiled(k);
    bool wide = rprog_wide(k->task->p, k->task->r, &x->access, -1);
    uint32_t slides = 1u << x->dim_n;
    int64_t by[TE_MAX_RANK] = {0};
    by[x->dim_n] = x->base_n;
    Ir sum = slide_term(k, AX_N, at->x, wide);
    if (x->dim_m >= 0) {
        slides |= 1u << x->dim_m;
        by[x->dim_m] = x->base_m;
        sum = ir_add(cg, sum, slide_term(k, AX_M, at->y, wide));
    }
    sum = add_indices(k, t, sum, wide);
    if (t->planes > 1) {
        Ir plane = ir_add(cg, k->box[0], at->plane);
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
        test = ir_both(cg, test, ir_lt(cg, ir_add(cg, k->box[0], at->plane), outer_points(k)));
    return test;
}

/* Defines the subscript of a sliding dimension, so far behind the box's first.  */
static Ir slid(Kernel *k, const WindowSource *x, int d, Ir by) {
    bool along = d == x->dim_n;
    Ir first = window_steps(k, x, d, window_along(k, k->box, along ? AX_N : AX_M));
    Ir base = ir_int(k->cg, along ? x->base_n : x->base_m);
    return ir_let_as(k->cg, place_base(window_wide(k, x, d)), along ? "wx" : "wy",
                     ir_add(k->cg, ir_add(k->cg, first, by), base));
}

/* Defines the element with a number.  */
static TilePoint define_point(Kernel *k, const WindowTile *t, Ir number) {
    const WindowSource *w = tiled(k);
    const TeExtent size[] = {size_number(t->planes), size_number(t->rows), size_number(t->columns)};
    Ir d[3];
    place_digits(k->cg, number, size, 3, false, d);
    TilePoint at = {.x = ir_let_as(k->cg, IR_I32, "x", d[2]),
                    .y = ir_let_as(k->cg, IR_I32, "y", d[1]),
                    .plane = ir_let_as(k->cg, IR_I32, "p", d[0])};
    at.along = slid(k, w, w->dim_n, at.x);
    if (w->dim_m >= 0) at.down = slid(k, w, w->dim_m, at.y);
    return at;
}

/* The value of an element that is read where it is inside.  */
static Ir tested_value(Kernel *k, Ir test, Ir value) {
    Cg *cg = k->cg;
    const WindowSource *w = tiled(k);
    CgPoint point = elements_point(k, k->task->p->group->root, true);
    Ir x = ir_variable(cg, ir_compute(w->read->type), "value",
                       cg_outside(&point, w->other, w->read->type));
    ir_if(cg, test);
    ir_set(cg, x, value);
    ir_close(cg);
    return x;
}

void window_tile_fill(Kernel *k, const Node *n) {
    (void)n;
    Cg *cg = k->cg;
    const TeTensor *x = &cg->te->tensor[tiled(k)->access.tensor];
    const WindowTile *t = tile_of(k);
    int64_t all = (int64_t)t->planes * t->rows * t->columns;
    Ir u = ir_name(cg, ir_type(IR_I32), "u");
    ir_loop(cg, u, k->var.tid, ir_lt(cg, u, ir_int(cg, all)),
            (IrNext){IR_ADD, ir_int(cg, k->task->r->threads)}, BOX_UNROLL);
    TilePoint at = define_point(k, t, u);
    Ir test = inside(k, &at), value = cg_decode(cg, x->dtype, source(k, t, &at));
    Ir row = ir_add(cg, ir_mul_n(cg, at.plane, t->rows), at.y);
    Ir to = ir_let_as(cg, IR_I32, "to", ir_add(cg, ir_mul_n(cg, row, t->pitch), at.x));
    if (test) value = tested_value(k, test, value);
    ir_set(cg, ir_element(cg, k->part[0], to), value);
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
    Ir from = ir_add(cg, k->part[0], ir_add(cg, row, ir_mul_n(cg, u, width)));
    TeDtype type = tiled(k)->read->type;
    window_row_put(k, to, u, width, ir_let(cg, "x", travel_load(cg, type, width, from)), type);
    ir_close(cg);
}
