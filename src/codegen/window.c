#include "codegen/blocks.h"
#include "codegen/sizes.h"

/* Reductions over windows: a thread computes a patch of outputs.  Each row of the input that
 * the patch touches is loaded once into registers and adds to every output row whose window
 * covers it.  What lies outside the tensor, or beyond ragged patches, is the read's else value.  */

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
static bool rows_leave(const Kernel *k, const TeExtent *bound) {
    const WindowView *v = view_of(k);
    if (varies(k, v->p, bound)) return true;
    int64_t last = ceil_div(v->extent_p, rows_of(k)) * rows_of(k) - 1;
    return v->base_m < 0 ||
           last * v->step_m + (v->extent_r - 1) * v->dil_m + v->base_m >= bound->value;
}

static int load_width(const Kernel *k) { return view_of(k)->along ? k->l->r->vec_n : 1; }

static bool columns_leave(const Kernel *k, const TeExtent *bound) {
    const WindowView *v = view_of(k);
    if (varies(k, v->q, bound)) return true;
    int64_t last = (ceil_div(v->extent_q, strip_of(k)) - 1) * strip_of(k);
    int64_t first = v->base_n - rprog_window_shift(k->l->p, k->l->r);
    int64_t loaded = rprog_window_loads(k->l->p, k->l->r) * load_width(k);
    return first < 0 || last * v->step_n + first + loaded > bound->value;
}

/* Prints where the row lies: wy, wx, inside, from; returns the test that each load needs or
 * NULL.  */
static const char *place_row(Kernel *k) {
    Cg *cg = k->cg;
    const WindowView *v = view_of(k);
    const TeTensor *t = &cg->te->tensor[v->access.tensor];
    CgPoint point = elements_point(k, k->l->p->group->root, true);
    const char *sub[TE_MAX_RANK], *test = NULL;
    if (v->dim_m >= 0)
        cg_line(cg, "const int wy = row * %lld + %s + (%lld);", (long long)v->step_m,
                rows_of(k) > 1 ? "y" : cg_text(cg, "kk * %lld", (long long)v->dil_m),
                (long long)v->base_m);
    cg_line(cg, "const int wx = col * %lld + (%lld);", (long long)v->step_n,
            (long long)(v->base_n - rprog_window_shift(k->l->p, k->l->r)));
    for (int d = 0; d < t->rank; d++) {
        sub[d] = d == v->dim_n   ? "wx"
                 : d == v->dim_m ? "wy"
                                 : cg_expr(&point, v->read->args[d], TE_I64);
        if (d == v->dim_m ? rows_leave(k, &t->shape[d])
                          : d != v->dim_n && v->access.guard[d])
            test = and_also(cg, test, in_bounds(cg, sub[d], t->shape[d]));
    }
    cg_line(cg, "const %s from = %s;", place_type(cg_tensor_wide(cg, v->access.tensor)),
            cg_offset(cg, v->access.tensor, sub));
    if (test) cg_line(cg, "const bool inside = %s;", test);
    if (columns_leave(k, &t->shape[v->dim_n]))
        return and_also(cg, test ? "inside" : NULL,
                        in_bounds(cg, cg_text(cg, "wx + u * %d", load_width(k)),
                                  t->shape[v->dim_n]));
    return test ? "inside" : NULL;
}

/* The one element of a dimension of size 1 lies where its index 0 is, whatever index is tested.  */
static TeExtent stride_along(const TeTensor *t, int d) {
    bool single = !t->shape[d].expr && t->shape[d].value == 1;
    return single ? size_number(0) : t->stride[d];
}

/* x0: the row's elements as values; load u fills x0[u * N ..].  */
static void load_row(Kernel *k) {
    if (is_shared(k)) {
        window_tile_row(k);
        return;
    }
    Cg *cg = k->cg;
    const WindowView *v = view_of(k);
    const TeTensor *t = &cg->te->tensor[v->access.tensor];
    int wide = k->l->r->vec_n, loads = (int)rprog_window_loads(k->l->p, k->l->r);
    const char *test = place_row(k), *type = cg_type(v->read->type);
    TeExtent along = size_times(cg->arena, size_number(load_width(k)), stride_along(t, v->dim_n));
    const char *step = size_text(cg, along);
    cg_line(cg, "%s x0[%d];", type, loads * wide);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int u = 0; u < %d; u++)", loads);
    if (test) {
        CgPoint point = elements_point(k, k->l->p->group->root, true);
        const char *other = v->read->other ? cg_expr(&point, v->read->other, v->read->type)
                                           : cg_int(cg, v->read->type, 0);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) x0[u * %d + p] = %s;", wide, wide, other);
        cg_open(cg, "if (%s)", test);
    }
    if (wide > 1) {
        cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(t%d + (from + u * %s));",
                cg_storage(t->dtype), wide, wide, v->access.tensor, step);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) x0[u * %d + p] = %s;", wide, wide,
                cg_decode(cg, t->dtype, "x.v[p]"));
    } else {
        cg_line(cg, "x0[u] = %s;",
                cg_decode(cg, t->dtype,
                          cg_text(cg, "t%d[from + u * %s]", v->access.tensor, step)));
    }
    if (test) cg_close(cg);
    cg_close(cg);
}

/* ---- multiply-adds ---- */

/* Adds the row to the outputs of patch row i, whose window it meets in row kk.  */
static void add_row(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = view_of(k);
    const TeExpr *e = root_of(k)->rhs;
    int lanes = lanes_of(k), root = k->l->p->group->root;
    const char *x = cg_text(cg, "j * %lld + f * %lld + %d", (long long)v->step_n,
                            (long long)v->dil_n, rprog_window_shift(k->l->p, k->l->r));
    if (lanes > 1) x = cg_text(cg, "(%s) * %d + v", x, lanes);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = 0; f < %lld; f++)", (long long)v->extent_s);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int j = 0; j < %d; j++)", strip_of(k));
    at->vec = lanes;
    at->vector[0] = (CgGiven){v->read, cg_text(cg, "x0[%s]", x)};
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
    const WindowView *v = view_of(k);
    long long step = v->step_m, dil = v->dil_m;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", rows_of(k));
    cg_line(cg, "const int kk = (y - i * %lld) / %lld;", step, dil);
    cg_open(cg, "if (y >= i * %lld && y == i * %lld + kk * %lld && kk < %lld)", step, step, dil,
            (long long)v->extent_r);
    add_row(k);
    cg_close(cg);
    cg_close(cg);
}

static void walk_rows(Kernel *k) {
    Cg *cg = k->cg;
    const WindowView *v = view_of(k);
    if (rows_of(k) > 1) {
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int y = 0; y < %lld; y++)",
                (long long)rprog_window_rows(k->l->p, k->l->r));
        load_row(k);
        add_to_rows(k);
    } else {
        if (v->dim_m >= 0) {
            cg_line(cg, rprog_window_unrolls(k->l->p, k->l->r) ? "#pragma unroll"
                                                                : "#pragma unroll 1");
            cg_open(cg, "for (int kk = 0; kk < %lld; kk++)", (long long)v->extent_r);
        } else {
            cg_scope(cg);
        }
        cg_line(cg, "constexpr int i = 0;");
        load_row(k);
        add_row(k);
    }
    cg_close(cg);
}

void window_fold(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = view_of(k);
    const TeStmt *s = root_of(k);
    int loops = 0;
    cg_line(cg, "// fold: rows of %d x %d elements in registers",
            (int)rprog_window_loads(k->l->p, k->l->r), k->l->r->vec_n);
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

/* ---- outputs ---- */

void window_elements(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = view_of(k);
    const RTile *tile = is_shared(k) ? &k->l->r->block : &k->l->r->thread;
    int lanes = lanes_of(k);
    at->vec = k->l->vec;
    cg_line(cg, "// elements: %d outputs of the patch at a time", at->vec);
    if (is_shared(k) && window_tile_tested(k)) cg_line(cg, "if (!live) return;");
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
    at->root = lanes > 1     ? cg_text(cg, "acc[i][j * %d + v]", lanes)
               : at->vec > 1 ? "acc[i][j + v]"
                             : "acc[i][j]";
    at->root_type = root_of(k)->rhs->type;
}
