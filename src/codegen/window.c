#include "codegen/sizes.h"
#include "codegen/window.h"

/* Windows: a thread computes a patch of outputs.  Each row of the input that the patch touches is
 * loaded once into registers.  Of a reduction it adds to every output row whose window covers it; a
 * map has all its rows when it begins.  What lies outside the tensor, or beyond ragged patches, is
 * the read's else value.  */

void window_place(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = window_view(k);
    at->n_order = 0;
    if (v->along || v->lane >= 0) at->order[at->n_order++] = v->along ? v->q : v->lane;
    if (window_shared(k)) {
        cg_line(cg, "// place: patches of %d x %d outputs", window_rows(k), window_strip(k));
        window_tile_place(k);
        if (v->p >= 0) at->index[v->p] = text_index(cg, "(row + i)", false);
        at->index[v->q] = text_index(cg, "(col + j)", false);
        return;
    }
    TeExtent patches = index_numbers(cg->arena, &k->l->map);
    bool wide = place_wide(patches.value, k->l->r->threads);
    const char *type = place_type(wide);
    cg_line(cg, "// place: patches of %d x %d outputs", window_rows(k),
            window_strip(k) * window_lanes(k));
    cg_line(cg, "const %s at = (%s)blockIdx.x * %d + (int)threadIdx.x;", type, type,
            k->l->r->threads);
    if (index_rest(cg->arena, &k->l->map))
        cg_line(cg, "if (at >= %s) return;", text_number(cg, patches));
    place_boxes(k, text_index(cg, "at", wide), wide, at->index, at->wide);
    if (v->p >= 0)
        cg_line(cg, "const int row = (int)%s * %d;", text_of(cg, at->index[v->p]), window_rows(k));
    cg_line(cg, "const int col = (int)%s * %d;", text_of(cg, at->index[v->q]), window_strip(k));
    if (window_lanes(k) > 1) {
        cg_line(cg, "const int n = (int)%s * %d;", text_of(cg, at->index[v->lane]),
                window_lanes(k));
        at->index[v->lane] = text_index(cg, "n", false);
    }
    if (v->p >= 0) at->index[v->p] = text_index(cg, "(row + i)", false);
    at->index[v->q] = text_index(cg, "(col + j)", false);
}

void window_clear(Kernel *k) {
    const TeExpr *e = kernel_root(k)->rhs;
    k->acc = monoid_declare_tile(k->cg, (TeRedop)e->red, e->type, window_rows(k),
                                 window_strip(k) * window_lanes(k));
}

static void declare_row(Kernel *k) {
    cg_line(k->cg, "%s x0[%d];", cg_type(window_source(k, 0)->read->type),
            window_row_loads(k, 0) * window_row_vec(k, 0));
}

/* ---- multiply-adds ---- */

/* Adds the row to the outputs of patch row i, whose window it meets in row kk.  */
static void add_row(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowSource *from = window_source(k, 0);
    const TeExpr *e = kernel_root(k)->rhs;
    int lanes = window_lanes(k), root = k->l->p->group->root;
    const char *x = cg_text(cg, "j * %lld + f * %lld + %d", (long long)from->step_n,
                            (long long)from->dil_n, window_row_shift(k, 0));
    if (lanes > 1) x = cg_text(cg, "(%s) * %d + v", x, lanes);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = 0; f < %lld; f++)", (long long)from->extent_s);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int j = 0; j < %d; j++)", window_strip(k));
    at->vec = lanes;
    at->vector[0] =
        (CgGiven){from->read, text_value(cg, from->read->type, cg_text(cg, "x0[%s]", x))};
    at->n_vector = 1;
    elements_load_vectors(k, root, e->args[0]);
    elements_open_lanes(k);
    CgPoint point = elements_point(k, root, false);
    const char *acc = lanes > 1 ? cg_text(cg, "acc[i][j * %d + v]", lanes) : "acc[i][j]";
    cg_line(cg, "%s = %s;", acc,
            text_fold(cg, (TeRedop)e->red, e->type, acc, cg_expr(&point, e->args[0], e->type)));
    elements_close_lanes(k);
    at->n_vector = 0;
    cg_close(cg);
    cg_close(cg);
}

/* Input row y meets window row kk of patch row i where y = i * step + kk * dil.  */
static void add_to_rows(Kernel *k) {
    Cg *cg = k->cg;
    const WindowSource *x = window_source(k, 0);
    long long step = x->step_m, dil = x->dil_m;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", window_rows(k));
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
    if (window_view(k)->p < 0) {
        cg_scope(cg);
        return;
    }
    cg_line(cg, unrolled ? "#pragma unroll" : "#pragma unroll 1");
    cg_open(cg, "for (int %s = 0; %s < %lld; %s++)", window_row_number(k), window_row_number(k),
            (long long)rprog_window_rows(k->l->p, k->l->r, n), window_row_number(k));
}

static void walk_rows(Kernel *k) {
    open_rows(k, 0);
    if (window_rows(k) == 1) cg_line(k->cg, "constexpr int i = 0;");
    declare_row(k);
    window_row_load(k, 0, "x0");
    if (window_rows(k) > 1) add_to_rows(k);
    else add_row(k);
    cg_close(k->cg);
}

int window_open_outer(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = window_view(k);
    const TeStmt *s = kernel_root(k);
    int loops = 0;
    if (v->map) {
        cg_line(cg, "// fold: inputs of %d sources in registers", v->n_source);
        return 0;
    }
    cg_line(cg, "// fold: rows of %d x %d elements in registers",
            window_row_loads(k, 0), k->l->r->vec_n);
    at->index[v->s] = text_index(cg, "f", false);
    if (v->r >= 0) at->index[v->r] = text_index(cg, "kk", false);
    for (int x = s->n_left; x < s->n_index; x++) {
        if (x == v->s || x == v->r) continue;
        at->wide[x] = s->index[x].hi.value > INT32_MAX;
        at->index[x] = text_index(cg, cg_text(cg, "i%d", x), at->wide[x]);
        cg_line(cg, "#pragma unroll 1");
        cg_open(cg, "for (%s i%d = 0; i%d < %s; i%d++)", place_type(at->wide[x]), x, x,
                text_extent(cg, &s->index[x].hi), x);
        loops++;
    }
    return loops;
}

static void fold_reduction(Kernel *k) {
    if (!window_shared(k)) {
        walk_rows(k);
        return;
    }
    if (window_tile_tested(k)) cg_open(k->cg, "if (live)");
    else cg_scope(k->cg);
    walk_rows(k);
    cg_close(k->cg);
}

/* ---- maps ---- */

/* All that the patch reads of the sources: arrays y0, y1, ....  */
static void load_sources(Kernel *k) {
    Cg *cg = k->cg;
    if (window_shared(k) && window_tile_tested(k)) cg_line(cg, "if (!live) return;");
    for (int n = 0; n < window_view(k)->n_source; n++) {
        cg_line(cg, "%s y%d[%lld][%d];", cg_type(window_source(k, n)->read->type), n,
                (long long)rprog_window_rows(k->l->p, k->l->r, n),
                window_row_loads(k, n) * window_row_vec(k, n));
        open_rows(k, n);
        window_row_load(k, n, cg_text(cg, "y%d[%s]", n, window_row_number(k)));
        cg_close(cg);
    }
}

/* The value of a tap for element v of outputs i, j.  */
static const char *tap_value(const Kernel *k, const WindowTap *tap) {
    const Cg *cg = k->cg;
    const WindowSource *x = window_source(k, tap->source);
    int lanes = window_lanes(k);
    long long at = tap->s * (long long)x->dil_n + window_row_shift(k, tap->source);
    const char *row = cg_text(cg, "%d", (int)tap->r);
    if (window_rows(k) > 1)
        row = cg_text(cg, "i * %lld + %lld", (long long)x->step_m, (long long)(tap->r * x->dil_m));
    const char *j = lanes == 1 && k->at.vec > 1 ? "(j + v)" : "j";
    const char *column = cg_text(cg, "%s * %lld + %lld", j, (long long)x->step_n, at);
    if (lanes > 1) column = cg_text(cg, "(%s) * %d + v", column, lanes);
    return cg_text(cg, "y%d[%s][%s]", tap->source, row, column);
}

static void give_taps(Kernel *k) {
    const WindowView *v = window_view(k);
    const KernelGroup *g = k->l->p->group;
    for (int i = 0; i < v->n_tap; i++) {
        const WindowTap *tap = &v->tap[i];
        int stmt = tap->which < 0 ? g->root : g->fused[tap->which];
        if (!elements_given(k, stmt, tap->read))
            elements_give(k, stmt, tap->read,
                          text_value(k->cg, tap->read->type, tap_value(k, tap)));
    }
}

void window_fold(Kernel *k) {
    if (window_view(k)->map) load_sources(k);
    else fold_reduction(k);
}

/* ---- outputs ---- */

void window_elements(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const WindowView *v = window_view(k);
    int lanes = window_lanes(k);
    at->vec = k->l->vec;
    cg_line(cg, "// elements: %d outputs of the patch at a time", at->vec);
    if (!v->map && window_shared(k) && window_tile_tested(k)) cg_line(cg, "if (!live) return;");
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", window_rows(k));
    at->open = 2;
    const TeStmt *s = kernel_root(k);
    if (v->p >= 0 && index_ragged(&k->l->map, window_axis(k, AX_M))) {
        cg_open(cg, "if (row + i < %s)", text_extent(cg, &s->index[v->p].hi));
        at->open++;
    }
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int j = 0; j < %d; j += %d)", window_strip(k), v->along ? at->vec : 1);
    if (index_ragged(&k->l->map, window_axis(k, AX_N))) {
        cg_open(cg, "if (col + j < %s)", text_extent(cg, &s->index[v->q].hi));
        at->open++;
    }
    if (v->map) {
        give_taps(k);
        return;
    }
    const char *root = lanes > 1     ? cg_text(cg, "acc[i][j * %d + v]", lanes)
                       : at->vec > 1 ? "acc[i][j + v]"
                                     : "acc[i][j]";
    at->root_type = kernel_root(k)->rhs->type;
    at->root = text_value(cg, at->root_type, root);
}
