/* A reduction seen as a window that slides over a tensor.  */
#include "rtile/facts.h"
#include "te/tree/tree.h"

int window_index(const Te *te, const Access *a, int d, int first, int end) {
    int found = -1;
    for (int i = first; i < end; i++) {
        if (a->sub[d].coef[i] == 0) continue;
        if (found >= 0) return -1;
        found = i;
    }
    for (int other = 0; found >= 0 && other < te->tensor[a->tensor].rank; other++) {
        if (other != d && a->sub[other].coef[found] != 0) return -1;
    }
    return found;
}

bool window_constant_else(const TeExpr *read) {
    return !read->other || te_is_literal(read->other);
}

/* ---- lanes ---- */

/* Where rows are contiguous along the window: accesses that start at multiples of their width
 * are whole in the tensor or not at all.  */
static int aligned_loads(const Problem *p, const WindowSource *x, int align) {
    const TeTensor *t = &p->te->tensor[x->access.tensor];
    int most = rtile_widest(t, align), vec = 1;
    for (int wider = 2; wider <= most; wider *= 2) {
        bool ok = te_extent_divisor(&t->shape[x->dim_n]) % wider == 0;
        for (int d = 0; d < t->rank && ok; d++) {
            ok = d == x->dim_n || t->shape[d].value == 1 ||
                 te_extent_divisor(&t->stride[d]) % wider == 0;
        }
        if (!ok) break;
        vec = wider;
    }
    return vec;
}

/* Neighbours along the lane that one access can read; those outside are so as a whole.  */
static int lane_vector(const Problem *p, const WindowSource *x, const FusedAxis *axis, int align) {
    const WindowView *v = &p->window;
    Span span = span_of_read(p->te, view_root(p), &x->access);
    span.n_guard = 0;
    if (access_tests(p->te, &x->access, v->lane)) return 1;
    return span_vector(&span, axis, align);
}

/* The last index that neither the window nor tests of it see, as filters of a convolution.  */
static int alike_of(const TeStmt *s, const WindowView *v) {
    uint32_t uses = access_uses(v->source[0].read);
    for (int i = s->n_left - 1; i >= 0 && !v->map; i--) {
        bool taken = i == v->q || i == v->p || i == v->lane;
        if (!taken && !(uses >> i & 1) && !s->index[i].hi.expr && view_extent(s, i) > 1) return i;
    }
    return -1;
}

/* Neighbours along an index that one store, and one load of each read beside the window, can have;
 * 1: none.  */
static int vector_beside(const Problem *p, int index, int align) {
    const TeStmt *s = view_root(p);
    ReadList read = access_reads(s->rhs);
    FusedAxis axis = {.extent = 1};
    int64_t run;
    int vec = 1;
    if (index < 0) return 1;
    view_digit(s, index, &axis);
    view_stores(p, &axis, align, &vec, &run);
    for (int i = 0; i < read.n && vec > 1; i++) {
        Access a;
        access_read(p->te, s, read.at[i], &a);
        if (!(access_uses(read.at[i]) >> index & 1)) continue;
        Span span = span_of_read(p->te, s, &a);
        int most = a.affine ? span_vector(&span, &axis, align) : 1;
        if (most < vec) vec = most;
    }
    return vec;
}

static void describe_lanes(Problem *p, int align) {
    const TeStmt *s = view_root(p);
    WindowView *v = &p->window;
    const WindowSource *first = &v->source[0];
    const TeExtent *stride = &p->te->tensor[first->access.tensor].stride[first->dim_n];
    FusedAxis axis = {.extent = 1};
    int64_t run;
    v->along = stride->value == 1 && !stride->expr;
    v->lane = v->along ? -1 : view_contiguous(s, &first->access);
    if (v->lane == v->q || v->lane == v->p) v->lane = -1;
    v->vec = v->out_vec = 1;
    int filters = v->along || v->lane >= 0 ? -1 : alike_of(s, v);
    int beside = vector_beside(p, filters, align);
    v->beside = beside > 1;
    if (v->beside) v->lane = filters;
    if (v->along || v->lane >= 0) {
        view_digit(s, v->along ? v->q : v->lane, &axis);
        view_stores(p, &axis, align, &v->out_vec, &run);
    }
    for (int i = 0; i < v->n_source; i++) {
        WindowSource *x = &v->source[i];
        x->load_vec = v->along ? aligned_loads(p, x, align) : 1;
        if (v->lane < 0) continue;
        int vec = v->beside ? beside : lane_vector(p, x, &axis, align);
        if (i == 0 || vec < v->vec) v->vec = vec;
    }
}

/* ---- the rest of the view ---- */

static bool others_move(const TeStmt *s, const WindowView *v) {
    ReadList read = access_reads(s->rhs);
    for (int i = 0; i < read.n; i++) {
        if (access_same(read.at[i], v->source[0].read)) continue;
        uint32_t uses = access_uses(read.at[i]);
        if (uses >> v->q & 1 || (v->p >= 0 && uses >> v->p & 1)) return true;
    }
    return false;
}

/* The first source's step along the flattened outer indices.  */
static int64_t outer_step(const TeStmt *s, const Te *te, const WindowView *v) {
    const WindowSource *x = &v->source[0];
    int64_t step = -1, extent = 1;
    bool known = true;                    /* extent is the same at all sizes */
    for (int d = 0; d < te->tensor[x->access.tensor].rank; d++) {
        if (d != x->dim_n && d != x->dim_m && x->access.guard[d]) return -1;
    }
    for (int k = v->n_other - 1; k >= 0; k--) {
        int i = v->other[k];
        if (view_extent(s, i) == 1) continue;
        if ((x->access.varies >> i & 1) || (step >= 0 && !known)) return -1;
        known = !s->index[i].hi.expr;
        if (step < 0) step = x->access.offset.coef[i];
        else if (x->access.offset.coef[i] != step * extent) return -1;
        extent *= view_extent(s, i);
    }
    return step < 0 ? 0 : step;
}

static bool slides_little(const WindowSource *x) {
    return x->extent_s > 0 && x->extent_r > 0 && x->step_n < INT16_MAX &&
           x->dil_n < INT16_MAX && x->step_m < INT16_MAX && x->dil_m < INT16_MAX;
}

void window_describe(Problem *p, int align) {
    const TeStmt *s = view_root(p);
    WindowView *v = &p->window;
    v->extent_q = view_extent(s, v->q);
    v->divisor_q = te_extent_divisor(&s->index[v->q].hi);
    v->extent_p = v->p < 0 ? 1 : view_extent(s, v->p);
    v->divisor_p = v->p < 0 ? 1 : te_extent_divisor(&s->index[v->p].hi);
    v->sum_bytes = te_dtype_bytes(s->rhs->type);
    bool little = true;
    for (int i = 0; i < v->n_source; i++) {
        WindowSource *x = &v->source[i];
        x->bytes = te_dtype_bytes(p->te->tensor[x->access.tensor].dtype);
        x->value_bytes = te_dtype_bytes(x->read->type);
        x->zeros = te_dtype_zero(p->te->tensor[x->access.tensor].dtype) &&
                   (!x->other || te_is_zero(x->other));
        little &= slides_little(x);
    }
    describe_lanes(p, align);
    v->others_move = !v->map && others_move(s, v);
    v->alike = alike_of(s, v);
    v->extent_alike = v->alike < 0 ? 1 : view_extent(s, v->alike);
    v->rest = v->outer = 1;
    v->n_other = 0;
    for (int i = 0; i < s->n_index; i++) {
        if (i >= s->n_left && i != v->s && i != v->r) v->rest *= view_extent(s, i);
        if (i >= s->n_left || i == v->q || i == v->p || i == v->lane || i == v->alike) continue;
        v->other[v->n_other++] = (uint8_t)i;
        v->outer *= view_extent(s, i);
    }
    v->outer_step = outer_step(s, p->te, v);
    int64_t lanes = v->lane < 0 ? 1 : view_extent(s, v->lane);
    v->fits = little && (!v->map || v->along || v->lane >= 0) && v->extent_q > 0 &&
              v->extent_p > 0 && v->outer > 0 && lanes > 0 &&
              v->rest > 0 && (v->s < 0 || !s->index[v->s].hi.expr) &&
              (v->r < 0 || !s->index[v->r].hi.expr);
}

/* ---- reductions ---- */

static bool has_window(const TeStmt *s, const Access *a) {
    (void)s;
    return a->read && window_constant_else(a->read);
}

static int spatial(const Te *te, const TeStmt *s, const Access *a, int d) {
    return window_index(te, a, d, 0, s->n_left);
}

static int reduced(const Te *te, const TeStmt *s, const Access *a, int d) {
    return window_index(te, a, d, s->n_left, s->n_index);
}

/* The sliding dimensions of a read, the last one with the smallest stride first.  */
static int sliding(const Te *te, const TeStmt *s, const Access *a, int dim[2]) {
    int n = 0;
    for (int d = te->tensor[a->tensor].rank - 1; d >= 0 && n < 2; d--) {
        int q = spatial(te, s, a, d), r = reduced(te, s, a, d);
        if (q < 0 || r < 0 || a->sub[d].coef[q] < 0 || a->sub[d].coef[r] < 0) continue;
        dim[n++] = d;
    }
    return n;
}

void rtile_window(Problem *p, int align) {
    /* Of both sides and of channels, so that tiles in shared memory reuse something.  */
    enum { FEW = 8 };
    const TeStmt *s = view_root(p);
    const Te *te = p->te;
    WindowView *v = &p->window;
    int dim[2];
    if (te_positional(s->rhs) || p->column.n_sum > 1) return;
    WindowSource x = {.dim_m = -1, .extent_r = 1};
    x.read = v->source[0].read;           /* of rtile_resize: the same at other sizes */
    if (x.read) access_read(te, s, x.read, &x.access);
    else x.read = view_widest(te, s, s->rhs->args[0], has_window, &x.access);
    if (!x.read) return;
    int slides = sliding(te, s, &x.access, dim);
    if (slides == 0) return;
    x.other = x.read->other;
    x.dim_n = dim[0];
    v->q = spatial(te, s, &x.access, x.dim_n);
    v->s = reduced(te, s, &x.access, x.dim_n);
    v->p = v->r = -1;
    const Affine *f = &x.access.sub[x.dim_n];
    x.step_n = f->coef[v->q], x.dil_n = f->coef[v->s], x.base_n = f->c;
    x.extent_s = view_extent(s, v->s);
    if (slides > 1) {
        x.dim_m = dim[1];
        v->p = spatial(te, s, &x.access, x.dim_m);
        v->r = reduced(te, s, &x.access, x.dim_m);
        f = &x.access.sub[x.dim_m];
        x.step_m = f->coef[v->p], x.dil_m = f->coef[v->r], x.base_m = f->c;
        x.extent_r = view_extent(s, v->r);
    }
    v->n_source = 1;
    v->source[0] = x;
    window_describe(p, align);
    int64_t m = p->con.axis[AX_M].extent, n = p->con.axis[AX_N].extent;
    v->fits &= !view_reuses(p) || m <= FEW || n <= FEW || v->rest <= FEW;
}
