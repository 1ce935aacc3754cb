#include "codegen/blocks.h"
#include "codegen/sizes.h"

/* Windows: a thread computes a patch of outputs.  Each row of the input that the patch touches is
 * loaded once into registers.  Of a reduction it adds to every output row whose window covers it; a
 * map has all its rows when it begins.  What lies outside the tensor, or beyond ragged patches, is
 * the read's else value.  */

static const TeStmt *root_of(const Kernel *k) { return &k->cg->te->stmt[k->l->p->group->root]; }

/* The indices that number the patches, outermost first, and their statement with extents in
 * patches.  */
static void patch_axis(Arena *a, const Problem *p, const RProg *r, TeStmt *s, FusedAxis *axis) {
    const WindowView *v = &p->window;
    const int last[] = {v->p, v->q, v->lane};
    const int size[] = {r->thread.extent[AX_M], r->thread.extent[AX_N], v->lane < 0 ? 1 : r->vec_n};
    *s = p->te->stmt[p->group->root];
    *axis = (FusedAxis){.extent = rprog_window_patches(p, r)};
    for (int i = 0; i < s->n_left; i++) {
        if (i != v->p && i != v->q && i != v->lane) axis->index[axis->n++] = (uint8_t)i;
    }
    for (int i = 0; i < 3; i++) {
        if (last[i] < 0) continue;
        axis->index[axis->n++] = (uint8_t)last[i];
        s->index[last[i]].hi = size_parts(a, s->index[last[i]].hi, size[i]);
    }
}

TeExtent window_blocks(Arena *a, const Problem *p, const RProg *r) {
    TeStmt s;
    FusedAxis axis;
    if (r->keep == KEEP_SHARED) return window_tile_blocks(a, p, r);
    patch_axis(a, p, r, &s, &axis);
    return size_parts(a, size_axis(a, &s, &axis), r->threads);
}

static const WindowView *view_of(const Kernel *k) { return &k->l->p->window; }

static int rows_of(const Kernel *k) { return k->l->r->thread.extent[AX_M]; }

static int strip_of(const Kernel *k) { return k->l->r->thread.extent[AX_N]; }

static int lanes_of(const Kernel *k) { return view_of(k)->lane < 0 ? 1 : k->l->r->vec_n; }

static const WindowSource *source_of(const Kernel *k, int n) { return &view_of(k)->source[n]; }

static bool is_shared(const Kernel *k) { return k->l->r->keep == KEEP_SHARED; }

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

void window_place(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = view_of(k);
    TeStmt s;
    FusedAxis axis;
    at->n_order = 0;
    if (v->along || v->lane >= 0) at->order[at->n_order++] = v->along ? v->q : v->lane;
    if (is_shared(k)) {
        cg_line(cg, "// place: patches of %d x %d outputs", rows_of(k), strip_of(k));
        window_tile_place(k);
        if (v->p >= 0) at->index[v->p] = "(row + i)";
        at->index[v->q] = "(col + j)";
        return;
    }
    patch_axis(cg->arena, k->l->p, k->l->r, &s, &axis);
    TeExtent patches = size_axis(cg->arena, &s, &axis);
    bool wide = place_wide(axis.extent, k->l->r->threads);
    const char *type = place_type(wide);
    cg_line(cg, "// place: patches of %d x %d outputs", rows_of(k), strip_of(k) * lanes_of(k));
    cg_line(cg, "const %s at = (%s)blockIdx.x * %d + (int)threadIdx.x;", type, type,
            k->l->r->threads);
    if (te_extent_unit(&patches) % k->l->r->threads)
        cg_line(cg, "if (at >= %s) return;", size_text(cg, patches));
    place_decode(cg, &s, &axis, "at", wide, at->index, at->wide);
    if (v->p >= 0) cg_line(cg, "const int row = (int)%s * %d;", at->index[v->p], rows_of(k));
    cg_line(cg, "const int col = (int)%s * %d;", at->index[v->q], strip_of(k));
    if (lanes_of(k) > 1) {
        cg_line(cg, "const int n = (int)%s * %d;", at->index[v->lane], lanes_of(k));
        at->index[v->lane] = "n";
    }
    if (v->p >= 0) at->index[v->p] = "(row + i)";
    at->index[v->q] = "(col + j)";
}

void window_clear(Kernel *k) {
    Cg *cg = k->cg;
    const TeExpr *e = root_of(k)->rhs;
    int outputs = strip_of(k) * lanes_of(k);
    cg_line(cg, "%s acc[%d][%d];", cg_type(e->type), rows_of(k), outputs);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", rows_of(k));
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int j = 0; j < %d; j++) acc[i][j] = %s;", outputs,
            cg_identity(cg, (TeRedop)e->red, e->type));
    cg_close(cg);
}

/* ---- a row of the input ---- */

static const char *and_also(const Cg *cg, const char *x, const char *y) {
    return x ? cg_text(cg, "%s && %s", x, y) : y;
}

static const char *in_bounds(const Cg *cg, const char *at, TeExtent bound) {
    return cg_text(cg, "(unsigned)(%s) < %s", at, size_divisor(cg, bound, false));
}

/* Where an extent is known at run time patches may leave the tensor at some sizes.  */
static bool varies(const Kernel *k, int index, const TeExtent *bound) {
    return bound->expr || (index >= 0 && root_of(k)->index[index].hi.expr);
}

/* Can the rows (columns) that patches touch leave the tensor?  */
static bool rows_leave(const Kernel *k, int n, const TeExtent *bound) {
    const WindowView *v = view_of(k);
    const WindowSource *x = source_of(k, n);
    if (varies(k, v->p, bound)) return true;
    int64_t last = ceil_div(v->extent_p, rows_of(k)) * rows_of(k) - 1;
    return x->base_m < 0 ||
           last * x->step_m + (x->extent_r - 1) * x->dil_m + x->base_m >= bound->value;
}

static int load_vec(const Kernel *k, int n) {
    return rprog_window_width(k->l->p, k->l->r, n);
}

static int load_width(const Kernel *k, int n) { return view_of(k)->along ? load_vec(k, n) : 1; }

static int row_loads(const Kernel *k, int n) {
    return (int)rprog_window_loads(k->l->p, k->l->r, n);
}

static int row_shift(const Kernel *k, int n) { return rprog_window_shift(k->l->p, k->l->r, n); }

static bool columns_leave(const Kernel *k, int n, const TeExtent *bound) {
    const WindowView *v = view_of(k);
    const WindowSource *x = source_of(k, n);
    if (varies(k, v->q, bound)) return true;
    int64_t last = (ceil_div(v->extent_q, strip_of(k)) - 1) * strip_of(k);
    int64_t first = x->base_n - row_shift(k, n);
    int64_t loaded = (int64_t)row_loads(k, n) * load_width(k, n);
    return first < 0 || last * x->step_n + first + loaded > bound->value;
}

/* The number of the row in the patch, or in the window where that is a loop.  */
static const char *row_number(const Kernel *k) {
    return rows_of(k) > 1 ? "y" : view_of(k)->p >= 0 ? "kk" : "0";
}

/* Prints where a source's row lies: wy, wx, inside, from; returns the test that each load needs or
 * NULL.  */
static const char *place_row(Kernel *k, int n) {
    Cg *cg = k->cg;
    const WindowSource *x = source_of(k, n);
    const TeTensor *t = &cg->te->tensor[x->access.tensor];
    CgPoint point = elements_point(k, k->l->p->group->root, true);
    const char *sub[TE_MAX_RANK], *test = NULL;
    if (x->dim_m >= 0)
        cg_line(cg, "const int wy = row * %lld + %s + (%lld);", (long long)x->step_m,
                rows_of(k) > 1 ? "y" : cg_text(cg, "kk * %lld", (long long)x->dil_m),
                (long long)x->base_m);
    cg_line(cg, "const int wx = col * %lld + (%lld);", (long long)x->step_n,
            (long long)(x->base_n - row_shift(k, n)));
    for (int d = 0; d < t->rank; d++) {
        sub[d] = d == x->dim_n   ? "wx"
                 : d == x->dim_m ? "wy"
                                 : cg_expr(&point, x->read->args[d], TE_I64);
        if (d == x->dim_m ? rows_leave(k, n, &t->shape[d])
                          : d != x->dim_n && x->access.guard[d])
            test = and_also(cg, test, in_bounds(cg, sub[d], t->shape[d]));
    }
    cg_line(cg, "const %s from = %s;", place_type(cg_tensor_wide(cg, x->access.tensor)),
            cg_offset(cg, x->access.tensor, sub));
    if (test) cg_line(cg, "const bool inside = %s;", test);
    if (columns_leave(k, n, &t->shape[x->dim_n]))
        return and_also(cg, test ? "inside" : NULL,
                        in_bounds(cg, cg_text(cg, "wx + u * %d", load_width(k, n)),
                                  t->shape[x->dim_n]));
    return test ? "inside" : NULL;
}

/* The one element of a dimension of size 1 lies where its index 0 is, whatever index is tested.  */
static TeExtent stride_along(const TeTensor *t, int d) {
    bool single = !t->shape[d].expr && t->shape[d].value == 1;
    return single ? size_number(0) : t->stride[d];
}

/* A source's row as values in the array `to`; load u fills to[u * N ..].  */
static void load_row(Kernel *k, int n, const char *to) {
    Cg *cg = k->cg;
    const WindowSource *x = source_of(k, n);
    const TeTensor *t = &cg->te->tensor[x->access.tensor];
    int wide = load_vec(k, n), loads = row_loads(k, n);
    if (rprog_window_tiled(k->l->r, n)) {
        window_tile_row(k, to);
        return;
    }
    const char *test = place_row(k, n);
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
        cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(t%d + (from + u * %s));",
                cg_storage(t->dtype), wide, wide, x->access.tensor, step);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) %s[u * %d + p] = %s;", wide, to, wide,
                cg_decode(cg, t->dtype, "x.v[p]"));
    } else {
        cg_line(cg, "%s[u] = %s;", to,
                cg_decode(cg, t->dtype,
                          cg_text(cg, "t%d[from + u * %s]", x->access.tensor, step)));
    }
    if (test) cg_close(cg);
    cg_close(cg);
}

static void declare_row(Kernel *k) {
    cg_line(k->cg, "%s x0[%d];", cg_type(source_of(k, 0)->read->type),
            row_loads(k, 0) * load_vec(k, 0));
}

/* ---- multiply-adds ---- */

/* Adds the row to the outputs of patch row i, whose window it meets in row kk.  */
static void add_row(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowSource *from = source_of(k, 0);
    const TeExpr *e = root_of(k)->rhs;
    int lanes = lanes_of(k), root = k->l->p->group->root;
    const char *x = cg_text(cg, "j * %lld + f * %lld + %d", (long long)from->step_n,
                            (long long)from->dil_n, row_shift(k, 0));
    if (lanes > 1) x = cg_text(cg, "(%s) * %d + v", x, lanes);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = 0; f < %lld; f++)", (long long)from->extent_s);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int j = 0; j < %d; j++)", strip_of(k));
    at->vec = lanes;
    at->vector[0] = (CgGiven){from->read, cg_text(cg, "x0[%s]", x)};
    at->n_vector = 1;
    elements_load_vectors(k, root, e->args[0]);
    elements_open_lanes(k);
    CgPoint point = elements_point(k, root, false);
    const char *acc = lanes > 1 ? cg_text(cg, "acc[i][j * %d + v]", lanes) : "acc[i][j]";
    cg_line(cg, "%s = %s;", acc,
            cg_fold(cg, (TeRedop)e->red, e->type, acc, cg_expr(&point, e->args[0], e->type)));
    elements_close_lanes(k);
    at->n_vector = 0;
    cg_close(cg);
    cg_close(cg);
}

/* Input row y meets window row kk of patch row i where y = i * step + kk * dil.  */
static void add_to_rows(Kernel *k) {
    Cg *cg = k->cg;
    const WindowSource *x = source_of(k, 0);
    long long step = x->step_m, dil = x->dil_m;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", rows_of(k));
    cg_line(cg, "const int kk = (y - i * %lld) / %lld;", step, dil);
    cg_open(cg, "if (y >= i * %lld && y == i * %lld + kk * %lld && kk < %lld)", step, step, dil,
            (long long)x->extent_r);
    add_row(k);
    cg_close(cg);
    cg_close(cg);
}

static void open_rows(Kernel *k, int n) {
    Cg *cg = k->cg;
    bool unrolled = rprog_window_unrolls(k->l->p, k->l->r);
    if (view_of(k)->p < 0) {
        cg_scope(cg);
        return;
    }
    cg_line(cg, unrolled ? "#pragma unroll" : "#pragma unroll 1");
    cg_open(cg, "for (int %s = 0; %s < %lld; %s++)", row_number(k), row_number(k),
            (long long)rprog_window_rows(k->l->p, k->l->r, n), row_number(k));
}

static void walk_rows(Kernel *k) {
    open_rows(k, 0);
    if (rows_of(k) == 1) cg_line(k->cg, "constexpr int i = 0;");
    declare_row(k);
    load_row(k, 0, "x0");
    if (rows_of(k) > 1) add_to_rows(k);
    else add_row(k);
    cg_close(k->cg);
}

static void fold_reduction(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = view_of(k);
    const TeStmt *s = root_of(k);
    int loops = 0;
    cg_line(cg, "// fold: rows of %d x %d elements in registers",
            row_loads(k, 0), k->l->r->vec_n);
    at->index[v->s] = "f";
    if (v->r >= 0) at->index[v->r] = "kk";
    for (int x = s->n_left; x < s->n_index; x++) {
        if (x == v->s || x == v->r) continue;
        at->wide[x] = s->index[x].hi.value > INT32_MAX;
        at->index[x] = cg_text(cg, "i%d", x);
        cg_line(cg, "#pragma unroll 1");
        cg_open(cg, "for (%s i%d = 0; i%d < %s; i%d++)", place_type(at->wide[x]), x, x,
                cg_extent(cg, &s->index[x].hi), x);
        loops++;
    }
    if (is_shared(k)) {
        window_tile_fill(k);
        if (window_tile_tested(k)) cg_open(cg, "if (live)");
        else cg_scope(cg);
    }
    walk_rows(k);
    if (is_shared(k)) {
        cg_close(cg);
        if (loops > 0) cg_line(cg, "__syncthreads();");
    }
    while (loops-- > 0) cg_close(cg);
}

/* ---- maps ---- */

/* All that the patch reads of the sources: arrays y0, y1, ....  */
static void load_sources(Kernel *k) {
    Cg *cg = k->cg;
    cg_line(cg, "// fold: inputs of %d sources in registers", view_of(k)->n_source);
    if (is_shared(k)) {
        window_tile_fill(k);
        if (window_tile_tested(k)) cg_line(cg, "if (!live) return;");
    }
    for (int n = 0; n < view_of(k)->n_source; n++) {
        cg_line(cg, "%s y%d[%lld][%d];", cg_type(source_of(k, n)->read->type), n,
                (long long)rprog_window_rows(k->l->p, k->l->r, n),
                row_loads(k, n) * load_vec(k, n));
        open_rows(k, n);
        load_row(k, n, cg_text(cg, "y%d[%s]", n, row_number(k)));
        cg_close(cg);
    }
}

/* The value of a tap for element v of outputs i, j.  */
static const char *tap_value(const Kernel *k, const WindowTap *tap) {
    const Cg *cg = k->cg;
    const WindowSource *x = source_of(k, tap->source);
    int lanes = lanes_of(k);
    long long at = tap->s * (long long)x->dil_n + row_shift(k, tap->source);
    const char *row = cg_text(cg, "%d", (int)tap->r);
    if (rows_of(k) > 1)
        row = cg_text(cg, "i * %lld + %lld", (long long)x->step_m, (long long)(tap->r * x->dil_m));
    const char *j = lanes == 1 && k->at.vec > 1 ? "(j + v)" : "j";
    const char *column = cg_text(cg, "%s * %lld + %lld", j, (long long)x->step_n, at);
    if (lanes > 1) column = cg_text(cg, "(%s) * %d + v", column, lanes);
    return cg_text(cg, "y%d[%s][%s]", tap->source, row, column);
}

static void give_taps(Kernel *k) {
    const WindowView *v = view_of(k);
    const KernelGroup *g = k->l->p->group;
    for (int i = 0; i < v->n_tap; i++) {
        const WindowTap *tap = &v->tap[i];
        int stmt = tap->which < 0 ? g->root : g->fused[tap->which];
        if (!elements_given(k, stmt, tap->read))
            elements_give(k, stmt, tap->read, tap_value(k, tap));
    }
}

void window_fold(Kernel *k) {
    if (view_of(k)->map) load_sources(k);
    else fold_reduction(k);
}

/* ---- outputs ---- */

void window_elements(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = view_of(k);
    const RTile *tile = is_shared(k) ? &k->l->r->block : &k->l->r->thread;
    int lanes = lanes_of(k);
    at->vec = k->l->vec;
    cg_line(cg, "// elements: %d outputs of the patch at a time", at->vec);
    if (!v->map && is_shared(k) && window_tile_tested(k)) cg_line(cg, "if (!live) return;");
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", rows_of(k));
    at->open = 2;
    const TeStmt *s = root_of(k);
    if (v->unit_p % tile->extent[AX_M]) {
        cg_open(cg, "if (row + i < %s)", cg_extent(cg, &s->index[v->p].hi));
        at->open++;
    }
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int j = 0; j < %d; j += %d)", strip_of(k), v->along ? at->vec : 1);
    if (v->unit_q % tile->extent[AX_N]) {
        cg_open(cg, "if (col + j < %s)", cg_extent(cg, &s->index[v->q].hi));
        at->open++;
    }
    if (v->map) {
        give_taps(k);
        return;
    }
    at->root = lanes > 1     ? cg_text(cg, "acc[i][j * %d + v]", lanes)
               : at->vec > 1 ? "acc[i][j + v]"
                             : "acc[i][j]";
    at->root_type = root_of(k)->rhs->type;
}
