#include "rtile/facts.h"

enum { READS = 256, VECTOR_BYTES = 16 };

static int64_t extent_of(const TeStmt *s, int index) {
    int64_t n = s->index[index].hi.value - s->index[index].lo.value;
    return n > 0 ? n : 0;
}

static void add_digit(const TeStmt *s, int index, FusedAxis *axis) {
    axis->index[axis->n] = (uint8_t)index;
    axis->digit[axis->n_digit++] = (AxisDigit){axis->n++, 1, extent_of(s, index)};
    axis->extent *= extent_of(s, index);
}

/* The affine read below e that moves the most bytes and that `wanted` takes; NULL if there is
 * none.  */
static const TeExpr *widest(const Te *te, const TeStmt *s, const TeExpr *e,
                            bool (*wanted)(const TeStmt *, const Access *), Access *out) {
    const TeExpr *read[READS], *best = NULL;
    int n = access_reads(e, read, READS);
    int64_t most = -1;
    for (int i = 0; i < n && i < READS; i++) {
        Access a;
        access_read(te, s, read[i], &a);
        if (!a.affine || !wanted(s, &a)) continue;
        int64_t bytes = access_unique(te, s, &a) * te_dtype_bytes(te->tensor[a.tensor].dtype);
        if (bytes <= most) continue;
        most = bytes;
        best = read[i];
        *out = a;
    }
    return best;
}

/* The spatial index along which an access is contiguous; -1: none.  */
static int contiguous(const TeStmt *s, const Access *a) {
    for (int i = s->n_left - 1; i >= 0; i--) {
        if (a->offset.coef[i] == 1 && !(a->varies >> i & 1) && extent_of(s, i) > 1) return i;
    }
    return -1;
}

/* What stores allow along an axis of the root's indices: all statements of the group that are
 * stored, temporaries as if they were.  */
static void stores_along(const Problem *p, const FusedAxis *axis, int align, int *vec,
                         int64_t *run) {
    const KernelGroup *g = p->group;
    const TeStmt *root = &p->te->stmt[g->root];
    *vec = 0;
    *run = 0;
    for (int i = -1; i < g->n_fused; i++) {
        const TeStmt *s = &p->te->stmt[i < 0 ? g->root : g->fused[i]];
        if (i < 0 && g->n_fused > 0 && p->te->tensor[s->tensor].role != TE_OUTPUT) continue;
        Span span = span_of_write(p->te, s);
        if (i >= 0) span = span_through(&span, root, g->perm[i]);
        int v = span_vector(&span, axis, align);
        int64_t n = span_run(&span, axis);
        if (*vec == 0 || v < *vec) *vec = v;
        if (*run == 0 || n < *run) *run = n;
    }
}

/* Do both operands of a contraction move the result along axes of their own, so that tiles of
 * products reuse them?  */
static bool reuses(const Problem *p) {
    const Contraction *c = &p->con;
    return c->b.expr && c->axis[AX_M].extent > 1 && c->axis[AX_N].extent > 1;
}

static bool is_positional(const TeExpr *e) {
    return e->red == TE_RED_ARGMAX || e->red == TE_RED_ARGMIN;
}

/* ---- columns ---- */

static bool has_columns(const TeStmt *s, const Access *a) { return contiguous(s, a) >= 0; }

/* The group's reductions and what each leaves behind.  */
static void view_sums(Problem *p) {
    enum { POSITION_BYTES = 4 };
    const KernelGroup *g = p->group;
    ColumnView *v = &p->column;
    const TeExpr *e = p->te->stmt[g->root].rhs;
    v->positional = is_positional(e);
    v->sum_bytes = te_dtype_bytes(v->positional ? e->args[0]->type : e->type);
    v->sum[v->n_sum++] = g->root;
    v->part[v->n_part++] = v->sum_bytes;
    if (v->positional) v->part[v->n_part++] = POSITION_BYTES;
    for (int i = 0; i < g->n_fused; i++) {
        const TeStmt *s = &p->te->stmt[g->fused[i]];
        if (s->rhs->kind != TE_REDUCE) continue;
        v->sum[v->n_sum++] = g->fused[i];
        v->part[v->n_part++] = te_dtype_bytes(s->rhs->type);
    }
}

static void view_columns(Problem *p, int align) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    const TeExpr *e = s->rhs;
    ColumnView *v = &p->column;
    Access a;
    v->out.extent = v->red.extent = 1;
    view_sums(p);
    if ((!v->positional && reuses(p)) || !widest(p->te, s, e->args[0], has_columns, &a)) return;
    int last = contiguous(s, &a);
    for (int i = 0; i < s->n_left; i++) {
        if (i != last) add_digit(s, i, &v->out);
    }
    add_digit(s, last, &v->out);
    int order[TE_MAX_INDICES], n = e->n_index;
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && !v->positional; at--) {
            if (a.offset.coef[order[at - 1]] >= a.offset.coef[e->index[i]]) break;
            order[at] = order[at - 1];
        }
        order[at] = e->index[i];
    }
    for (int i = 0; i < n; i++) add_digit(s, order[i], &v->red);
    v->unit = access_unit(s, &v->out, 0, v->out.n);
    v->red_unit = access_unit(s, &v->red, 0, v->red.n);
    Span span = span_of_read(p->te, s, &a);
    v->bytes = span.bytes;
    v->run = span_run(&span, &v->out);
    v->vec = span.n_guard ? 1 : span_vector(&span, &v->out, align);
    stores_along(p, &v->out, align, &v->out_vec, &v->out_run);
    v->fits = v->out.extent > 0 && v->red.extent > 0 && v->red.extent <= INT32_MAX / 2;
}

/* ---- windows ---- */

/* The spatial (reduction) index that occurs in dimension d and in no other; -1 if there is not
 * exactly one.  */
static int only_index(const TeStmt *s, const Te *te, const Access *a, int d, bool reduction) {
    int found = -1;
    for (int i = reduction ? s->n_left : 0; i < (reduction ? s->n_index : s->n_left); i++) {
        if (a->sub[d].coef[i] == 0) continue;
        if (found >= 0) return -1;
        found = i;
    }
    for (int other = 0; found >= 0 && other < te->tensor[a->tensor].rank; other++) {
        if (other != d && a->sub[other].coef[found] != 0) return -1;
    }
    return found;
}

/* The sliding dimensions of a read, the last one with the smallest stride first.  */
static int sliding(const Te *te, const TeStmt *s, const Access *a, int dim[2]) {
    int n = 0;
    for (int d = te->tensor[a->tensor].rank - 1; d >= 0 && n < 2; d--) {
        int q = only_index(s, te, a, d, false), r = only_index(s, te, a, d, true);
        if (q < 0 || r < 0 || a->sub[d].coef[q] < 0 || a->sub[d].coef[r] < 0) continue;
        dim[n++] = d;
    }
    return n;
}

static void slide(const Te *te, const TeStmt *s, const Access *a, int d, int *q, int *r,
                  int64_t part[3]) {
    *q = only_index(s, te, a, d, false);
    *r = only_index(s, te, a, d, true);
    part[0] = a->sub[d].coef[*q];
    part[1] = a->sub[d].coef[*r];
    part[2] = a->sub[d].c;
}

/* An else value that is the same everywhere and cheap.  */
static bool constant_else(const TeExpr *read) {
    return !read->other || read->other->kind == TE_INT || read->other->kind == TE_REAL ||
           read->other->kind == TE_BOOLEAN;
}

/* Where rows are contiguous along the window: accesses that start at multiples of their width
 * are whole in the tensor or not at all.  */
static int aligned_loads(const Problem *p, const WindowView *v, int align) {
    const TeTensor *t = &p->te->tensor[v->access.tensor];
    int most = (align < VECTOR_BYTES ? align : VECTOR_BYTES) / v->bytes, vec = 1;
    for (int wider = 2; wider <= most; wider *= 2) {
        bool ok = te_extent_unit(&t->shape[v->dim_n]) % wider == 0;
        for (int d = 0; d < t->rank && ok; d++) {
            ok = d == v->dim_n || t->shape[d].value == 1 ||
                 te_extent_unit(&t->stride[d]) % wider == 0;
        }
        if (!ok) break;
        vec = wider;
    }
    return vec;
}

static void lanes_of(Problem *p, int align) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    const TeTensor *t = &p->te->tensor[p->window.access.tensor];
    WindowView *v = &p->window;
    FusedAxis axis = {.extent = 1};
    int64_t run;
    v->along = t->stride[v->dim_n].value == 1 && !t->stride[v->dim_n].expr;
    v->lane = v->along ? -1 : contiguous(s, &v->access);
    if (v->lane == v->q || v->lane == v->p) v->lane = -1;
    v->vec = v->load_vec = v->out_vec = 1;
    if (v->along) v->load_vec = aligned_loads(p, v, align);
    if (v->along || v->lane >= 0) {
        add_digit(s, v->along ? v->q : v->lane, &axis);
        stores_along(p, &axis, align, &v->out_vec, &run);
    }
    if (v->lane < 0) return;
    Span span = span_of_read(p->te, s, &v->access);
    span.n_guard = 0;
    bool tested = false;
    for (int d = 0; d < t->rank; d++) {
        tested |= v->access.guard[d] && v->access.sub[d].coef[v->lane] != 0;
    }
    if (!tested) v->vec = span_vector(&span, &axis, align);
}

static bool has_window(const TeStmt *s, const Access *a) {
    (void)s;
    return a->read && constant_else(a->read);
}

static bool others_move(const TeStmt *s, const WindowView *v) {
    const TeExpr *read[READS];
    int n = access_reads(s->rhs, read, READS);
    for (int i = 0; i < n && i < READS; i++) {
        if (access_same(read[i], v->read)) continue;
        uint32_t uses = access_uses(read[i]);
        if (uses >> v->q & 1 || (v->p >= 0 && uses >> v->p & 1)) return true;
    }
    return n > READS;
}

/* The read's step along the flattened outer indices.  */
static int64_t outer_step(const TeStmt *s, const Te *te, const WindowView *v) {
    int64_t step = -1, extent = 1;
    bool known = true;                    /* extent is the same at all sizes */
    for (int d = 0; d < te->tensor[v->access.tensor].rank; d++) {
        if (d != v->dim_n && d != v->dim_m && v->access.guard[d]) return -1;
    }
    for (int i = s->n_left - 1; i >= 0; i--) {
        if (i == v->q || i == v->p || i == v->lane || extent_of(s, i) == 1) continue;
        if ((v->access.varies >> i & 1) || (step >= 0 && !known)) return -1;
        known = !s->index[i].hi.expr;
        if (step < 0) step = v->access.offset.coef[i];
        else if (v->access.offset.coef[i] != step * extent) return -1;
        extent *= extent_of(s, i);
    }
    return step < 0 ? 0 : step;
}

static void view_window(Problem *p, int align) {
    enum { FEW = 8 };
    const TeStmt *s = &p->te->stmt[p->group->root];
    const TeExpr *e = s->rhs;
    WindowView *v = &p->window;
    int dim[2];
    int64_t part[3];
    if (is_positional(e) || p->column.n_sum > 1) return;
    int64_t m = p->con.axis[AX_M].extent, n = p->con.axis[AX_N].extent;
    if (reuses(p) && m > FEW && n > FEW) return;
    v->read = widest(p->te, s, e->args[0], has_window, &v->access);
    if (!v->read) return;
    int slides = sliding(p->te, s, &v->access, dim);
    if (slides == 0) return;
    v->bytes = te_dtype_bytes(p->te->tensor[v->access.tensor].dtype);
    v->sum_bytes = te_dtype_bytes(e->type);
    v->dim_n = dim[0];
    slide(p->te, s, &v->access, dim[0], &v->q, &v->s, part);
    v->step_n = part[0], v->dil_n = part[1], v->base_n = part[2];
    v->extent_q = extent_of(s, v->q);
    v->extent_s = extent_of(s, v->s);
    v->unit_q = te_extent_unit(&s->index[v->q].hi);
    v->unit_p = 1;
    v->dim_m = v->p = v->r = -1;
    v->extent_p = v->extent_r = 1;
    if (slides > 1) {
        v->dim_m = dim[1];
        slide(p->te, s, &v->access, dim[1], &v->p, &v->r, part);
        v->step_m = part[0], v->dil_m = part[1], v->base_m = part[2];
        v->extent_p = extent_of(s, v->p);
        v->extent_r = extent_of(s, v->r);
        v->unit_p = te_extent_unit(&s->index[v->p].hi);
    }
    lanes_of(p, align);
    v->others_move = others_move(s, v);
    v->rest = v->outer = 1;
    for (int i = 0; i < s->n_index; i++) {
        if (i >= s->n_left && i != v->s && i != v->r) v->rest *= extent_of(s, i);
        if (i < s->n_left && i != v->q && i != v->p && i != v->lane) v->outer *= extent_of(s, i);
    }
    v->outer_step = outer_step(s, p->te, v);
    v->value_bytes = te_dtype_bytes(v->read->type);
    int64_t lanes = v->lane < 0 ? 1 : extent_of(s, v->lane);
    v->fits = v->extent_q > 0 && v->extent_p > 0 && v->outer > 0 && lanes > 0 && v->rest > 0 &&
              v->extent_s > 0 && v->extent_r > 0 && v->step_n < INT16_MAX &&
              v->dil_n < INT16_MAX && v->step_m < INT16_MAX && v->dil_m < INT16_MAX &&
              !s->index[v->s].hi.expr && (v->r < 0 || !s->index[v->r].hi.expr);
}

void rtile_views(Problem *p, int align) {
    const TeStmt *s = &p->te->stmt[p->group->root];
    if (s->rhs->kind != TE_REDUCE) {
        rtile_permute(p, align);
        return;
    }
    view_columns(p, align);
    view_window(p, align);
}
