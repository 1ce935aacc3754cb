#include "codegen/sizes.h"
#include "codegen/window.h"

/* Windows whose inputs lie in shared memory: the block loads them with their halo, as values,
 * what lies outside the tensor filled in, so that the sliding rows need no tests.  */

/* What the tile holds: the first source.  */
static const WindowSource *tiled(const Kernel *k) { return &window_view(k)->source[0]; }

static bool is_ragged(const Kernel *k) { return index_ragged(&k->l->map, 0); }

/* Points of the outer indices.  */
static const char *outer_text(const Kernel *k) {
    return text_number(k->cg, index_extent(k->cg->arena, &k->l->map, 0));
}

static bool has_idle(const Kernel *k, const WindowTile *t) {
    return t->down * t->across * t->planes != k->l->r->threads;
}

static bool is_wide(const Kernel *k, const WindowTile *t) {
    return place_wide(window_view(k)->outer, t->planes);
}

bool window_tile_tested(const Kernel *k) {
    WindowTile t = rprog_window_tile(k->l->p, k->l->r);
    return is_ragged(k) || has_idle(k, &t);
}

void window_tile_place(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->l->r;
    const WindowView *v = window_view(k);
    const WindowSource *w = tiled(k);
    WindowTile t = rprog_window_tile(k->l->p, r);
    const char *type = place_type(is_wide(k, &t));
    Ir tile[INDEX_DIGITS], patch[INDEX_DIGITS];
    int p = window_axis(k, AX_M), q = window_axis(k, AX_N), patches = t.down * t.across;
    cg_line(cg, "const unsigned tid = threadIdx.x, tile = blockIdx.x;");
    place_grid(k, ir_name(cg, ir_type(IR_U32), "tile"), tile);
    place_thread_digits(k, ir_name(cg, ir_type(IR_U32), "tid"), patch);
    cg_line(cg, "const int n0 = %s * %d;", text_of(cg, tile[q]), (int)r->block.extent[AX_N]);
    cg_line(cg, "const int m0 = %s * %d;", v->p < 0 ? "0" : text_of(cg, tile[p]),
            (int)r->block.extent[AX_M]);
    cg_line(cg, "const %s first = (%s)(%s) * %d;", type, type, text_of(cg, tile[0]), t.planes);
    cg_line(cg, "const int col = n0 + (int)(%s) * %d;", text_of(cg, patch[q]),
            (int)r->thread.extent[AX_N]);
    cg_line(cg, "const int row = m0 + (int)(%s) * %d;", v->p < 0 ? "0" : text_of(cg, patch[p]),
            (int)r->thread.extent[AX_M]);
    cg_line(cg, "const %s at = first + (int)(tid / %du);", type, patches);
    if (window_tile_tested(k)) {
        const char *test = NULL;
        if (has_idle(k, &t)) test = cg_text(cg, "tid < %du", patches * t.planes);
        if (is_ragged(k)) test = both(cg, test, cg_text(cg, "at < %s", outer_text(k)));
        cg_line(cg, "const bool live = %s;", test);
    }
    Ir outer = text_index(cg, t.planes > 1 ? "at" : "first", is_wide(k, &t));
    place_axis(k, 0, outer, is_wide(k, &t), k->at.index, k->at.wide);
    const char *element = cg_type(w->read->type);
    kernel_smem(k, 128);
    cg_line(cg, "%s *const part = reinterpret_cast<%s *>(smem);", element, element);
    cg_line(cg, "const int take = ((int)(tid / %du) * %lld + (row - m0) * %lld) * %lld + "
            "(col - n0) * %lld;", patches, (long long)t.rows, (long long)w->step_m,
            (long long)t.pitch, (long long)w->step_n);
}

/* The element at wy, wx of plane p: all indices but the sliding ones from the access.  */
static const char *source(Kernel *k, const WindowTile *t) {
    Cg *cg = k->cg;
    const WindowView *v = window_view(k);
    const WindowSource *w = tiled(k);
    const TeStmt *s = kernel_root(k);
    const TeTensor *x = &cg->te->tensor[w->access.tensor];
    const char *cast = rprog_wide(k->l->p, k->l->r, &w->access, -1) ? "(long long)" : "";
    uint32_t slides = 1u << w->dim_n;
    int64_t by[TE_MAX_RANK] = {0};
    by[w->dim_n] = w->base_n;
    const char *sum = cg_text(cg, "%s(n0 * %lld + x) * %s", cast, (long long)w->step_n,
                              text_extent(cg, &x->stride[w->dim_n]));
    if (w->dim_m >= 0) {
        slides |= 1u << w->dim_m;
        by[w->dim_m] = w->base_m;
        sum = cg_text(cg, "%s + %s(m0 * %lld + y) * %s", sum, cast, (long long)w->step_m,
                      text_extent(cg, &x->stride[w->dim_m]));
    }
    for (int i = 0; i < s->n_index; i++) {
        int64_t coef = w->access.offset.coef[i];
        bool sliding = i == v->q || i == v->p || i == v->s || i == v->r;
        bool flat = t->planes > 1 && i < s->n_left;
        if (coef == 0 || sliding || flat || s->index[i].hi.value == 1) continue;
        sum = cg_text(cg, "%s + %s%s * %s", sum, cast, text_of(cg, k->at.index[i]),
                      text_stride(cg, &w->access, i));
    }
    if (t->planes > 1)
        sum = cg_text(cg, "%s + %s(first + p) * %s", sum, cast,
                      text_int(cg, TE_I64, v->outer_step));
    return text_element(cg, w->access.tensor, text_offset_of(cg, &w->access, slides, sum), by);
}

/* Is the element inside the tensor?  NULL: always.  */
static const char *inside(Kernel *k) {
    Cg *cg = k->cg;
    const WindowSource *w = tiled(k);
    const TeTensor *x = &cg->te->tensor[w->access.tensor];
    CgPoint point = elements_point(k, k->l->p->group->root, true);
    uint32_t tested = rprog_window_tested(k->l->p, k->l->r, 0);
    const char *test = NULL;
    for (int d = 0; d < x->rank; d++) {
        if (!(tested >> d & 1)) continue;
        const char *at = d == w->dim_n   ? "wx"
                         : d == w->dim_m ? "wy"
                                         : text_expr(&point, w->read->args[d], TE_I64);
        test = both(cg, test, text_inside(cg, at, x->shape[d], window_wide(k, w, d)));
    }
    if (is_ragged(k)) test = both(cg, test, cg_text(cg, "first + p < %s", outer_text(k)));
    return test;
}

void window_tile_fill(Kernel *k) {
    Cg *cg = k->cg;
    const WindowSource *w = tiled(k);
    const TeTensor *x = &cg->te->tensor[w->access.tensor];
    WindowTile t = rprog_window_tile(k->l->p, k->l->r);
    long long rows = t.rows, columns = t.columns;
    cg_line(cg, "#pragma unroll 8");
    cg_open(cg, "for (int u = tid; u < %lld; u += %d)", t.planes * rows * columns,
            k->l->r->threads);
    cg_line(cg, "const int x = u %% %lldu, y = u / %lldu%s, p = %s;", columns, columns,
            t.planes > 1 ? cg_text(cg, " %% %lldu", rows) : "",
            t.planes > 1 ? cg_text(cg, "u / %lldu", rows * columns) : "0");
    cg_line(cg, "const %s wx = %s + x + (%lld);", place_type(window_wide(k, w, w->dim_n)),
            window_steps(k, w, w->dim_n, "n0"), (long long)w->base_n);
    if (w->dim_m >= 0)
        cg_line(cg, "const %s wy = %s + y + (%lld);", place_type(window_wide(k, w, w->dim_m)),
                window_steps(k, w, w->dim_m, "m0"), (long long)w->base_m);
    const char *test = inside(k), *value = text_decode(cg, x->dtype, source(k, &t));
    cg_line(cg, "const int to = (p * %lld + y) * %lld + x;", rows, (long long)t.pitch);
    if (test) {
        CgPoint point = elements_point(k, k->l->p->group->root, true);
        cg_line(cg, "%s value = %s;", cg_type(w->read->type),
                w->other ? text_expr(&point, w->other, w->read->type)
                         : text_int(cg, w->read->type, 0));
        cg_line(cg, "if (%s) value = %s;", test, value);
        value = "value";
    }
    cg_line(cg, "part[to] = %s;", value);
    cg_close(cg);
}

void window_tile_row(Kernel *k, const char *to) {
    Cg *cg = k->cg;
    const WindowSource *w = tiled(k);
    const RProg *r = k->l->r;
    WindowTile t = rprog_window_tile(k->l->p, r);
    int wide = r->vec_n, loads = (int)rprog_window_loads(k->l->p, r, 0);
    const char *row = "take";
    if (r->thread.extent[AX_M] > 1) row = cg_text(cg, "take + y * %lld", (long long)t.pitch);
    else if (w->dim_m >= 0) row = cg_text(cg, "take + kk * %lld", (long long)(w->dil_m * t.pitch));
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int u = 0; u < %d; u++)", loads);
    cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(part + (%s + u * %d));",
            cg_type(w->read->type), wide, wide, row, wide);
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int p = 0; p < %d; p++) %s[u * %d + p] = x.v[p];", wide, to, wide);
    cg_close(cg);
}
