/* A map seen as windows that slide: what it reads of a tensor at several shifts.  */
#include "rtile/facts.h"

#include <string.h>

enum { SPAN_MAX = 64, DRAFTS = 16 };

/* What reads of a source have outside of the tensor: they are not there, 0, or an else value.  */
typedef enum { OUTSIDE_NEVER, OUTSIDE_ZERO, OUTSIDE_ELSE } Outside;

/* A source while its taps are still coming in.  */
typedef struct {
    WindowSource x;
    Outside outside;
    int64_t last_n, last_m;   /* largest constants of the sliding subscripts */
    int n_shift;              /* taps at different places */
} Draft;

typedef struct {
    const TeExpr *read;
    int which, draft;
    int64_t n, m;             /* constants of its sliding subscripts */
} Shift;

typedef struct {
    Problem *p;
    Draft draft[DRAFTS];
    int n_draft;
    Shift shift[WINDOW_TAPS];
    int n_shift;
} Stencil;

/* Does the statement run with the root's indices in its order?  */
static bool runs_alike(const Problem *p, int which) {
    for (int j = 0; which >= 0 && j < view_root(p)->n_left; j++) {
        if (p->group->perm[which][j] != j) return false;
    }
    return true;
}

static bool is_tap(const Problem *p, const Access *a) {
    return a->affine && !a->joined && window_constant_else(a->read) && !view_makes(p, a->tensor);
}

/* The same but for constants?  */
static bool are_parallel(const Te *te, const Access *a, const Access *b) {
    if (a->tensor != b->tensor) return false;
    for (int d = 0; d < te->tensor[a->tensor].rank; d++) {
        if (memcmp(a->sub[d].coef, b->sub[d].coef, sizeof a->sub[d].coef) != 0) return false;
    }
    return true;
}

/* ---- the window ---- */

typedef void (*Visit)(Stencil *s, int which, const Access *a, void *user);

/* All reads that could be taps.  */
static void visit_reads(Stencil *s, Visit visit, void *user) {
    for (int which = -1; which < s->p->group->n_fused; which++) {
        const TeStmt *stmt = view_statement(s->p, which);
        ReadList read = access_reads(stmt->rhs);
        for (int i = 0; i < read.n && runs_alike(s->p, which); i++) {
            Access a;
            access_read(s->p->te, stmt, read.at[i], &a);
            if (is_tap(s->p, &a)) visit(s, which, &a, user);
        }
    }
}

/* The dimensions in which reads parallel to `of` lie apart, and how many there are.  */
typedef struct {
    Access of;
    uint32_t apart;
    int n;
} Family;

static void meet_relative(Stencil *s, int which, const Access *a, void *user) {
    Family *f = user;
    (void)which;
    if (!are_parallel(s->p->te, a, &f->of)) return;
    for (int d = 0; d < s->p->te->tensor[a->tensor].rank; d++) {
        if (a->sub[d].c != f->of.sub[d].c) f->apart |= 1u << d;
    }
    f->n++;
}

/* The index that moves dimension d alone and forward; -1: none.  */
static int moves_with(const Problem *p, const Access *a, int d) {
    int index = window_index(p->te, a, d, 0, view_root(p)->n_left);
    return index >= 0 && a->sub[d].coef[index] > 0 ? index : -1;
}

/* The read with the most relatives that lie apart in a dimension that can slide.  */
static void meet_read(Stencil *s, int which, const Access *a, void *user) {
    Family f = {.of = *a}, *best = user;
    bool slides = false;
    (void)which;
    if (best->n > 0 && are_parallel(s->p->te, a, &best->of)) return;
    visit_reads(s, meet_relative, &f);
    for (int d = 0; d < s->p->te->tensor[a->tensor].rank; d++)
        slides |= (f.apart >> d & 1) && moves_with(s->p, a, d) >= 0;
    if (slides && f.n > best->n) *best = f;
}

/* q and p: the last indices along which the family's reads lie apart.  */
static bool choose_indices(Stencil *s) {
    WindowView *v = &s->p->window;
    Family best = {.n = 0};
    v->q = v->p = v->s = v->r = -1;
    visit_reads(s, meet_read, &best);
    if (best.n == 0) return false;
    for (int d = s->p->te->tensor[best.of.tensor].rank - 1; d >= 0 && v->p < 0; d--) {
        int index = best.apart >> d & 1 ? moves_with(s->p, &best.of, d) : -1;
        if (index >= 0) *(v->q < 0 ? &v->q : &v->p) = index;
    }
    return true;
}

/* ---- sources ---- */

static int dimension_of(const Problem *p, const Access *a, int index) {
    for (int d = 0; index >= 0 && d < p->te->tensor[a->tensor].rank; d++) {
        if (moves_with(p, a, d) == index) return d;
    }
    return -1;
}

static bool is_along(const Problem *p, const Access *a, int d) {
    const TeExtent *stride = &p->te->tensor[a->tensor].stride[d];
    return stride->value == 1 && !stride->expr;
}

static Outside outside_of(const TeExpr *read) {
    return read->other ? OUTSIDE_ELSE : te_always_inside(read) ? OUTSIDE_NEVER : OUTSIDE_ZERO;
}

/* Is the read one of the draft's, the sliding dimensions aside?  */
static bool belongs(const Problem *p, const Draft *d, const Access *a) {
    Outside out = outside_of(a->read);
    if (!are_parallel(p->te, a, &d->x.access)) return false;
    for (int i = 0; i < p->te->tensor[a->tensor].rank; i++) {
        bool slides = i == d->x.dim_n || i == d->x.dim_m;
        if (!slides && a->sub[i].c != d->x.access.sub[i].c) return false;
    }
    if (out == OUTSIDE_NEVER || d->outside == OUTSIDE_NEVER) return true;
    return out == d->outside && (out == OUTSIDE_ZERO || access_same(a->read->other, d->x.other));
}

/* All that can leave the tensor is tested: rows are loaded where no output may need them.  */
static void test_all(const Problem *p, Access *a) {
    const TeTensor *t = &p->te->tensor[a->tensor];
    for (int d = 0; d < t->rank; d++)
        a->guard[d] = access_leaves(view_root(p), a->read->args[d], &a->sub[d], &t->shape[d]);
}

/* The draft that takes a read; -1: none.  */
static int draft_for(Stencil *s, const Access *a) {
    const WindowView *v = &s->p->window;
    for (int i = 0; i < s->n_draft; i++) {
        if (belongs(s->p, &s->draft[i], a)) return i;
    }
    int n = dimension_of(s->p, a, v->q), m = dimension_of(s->p, a, v->p);
    if (n < 0 || (v->p >= 0 && m < 0) || s->n_draft == DRAFTS) return -1;
    Draft *d = &s->draft[s->n_draft];
    *d = (Draft){.x = {.read = a->read, .access = *a, .dim_n = n, .dim_m = m, .extent_r = 1},
                 .last_n = a->sub[n].c};
    test_all(s->p, &d->x.access);
    d->x.step_n = a->sub[n].coef[v->q];
    d->x.base_n = a->sub[n].c;
    if (m >= 0) {
        d->x.step_m = a->sub[m].coef[v->p];
        d->x.base_m = d->last_m = a->sub[m].c;
    }
    return s->n_draft++;
}

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }

static void add_shift(Stencil *s, int which, const Access *a, void *user) {
    (void)user;
    int i = s->n_shift < WINDOW_TAPS ? draft_for(s, a) : -1;
    if (i < 0) return;
    Draft *d = &s->draft[i];
    int m = d->x.dim_m;
    Shift one = {a->read, which, i, a->sub[d->x.dim_n].c, m < 0 ? 0 : a->sub[m].c};
    bool again = false;
    for (int k = 0; k < s->n_shift; k++) {
        const Shift *x = &s->shift[k];
        again |= x->draft == i && x->n == one.n && x->m == one.m;
    }
    d->n_shift += !again;
    d->x.base_n = lesser(d->x.base_n, one.n);
    d->last_n = greater(d->last_n, one.n);
    d->x.base_m = lesser(d->x.base_m, one.m);
    d->last_m = greater(d->last_m, one.m);
    if (outside_of(a->read) != OUTSIDE_NEVER) {
        d->outside = outside_of(a->read);
        d->x.other = a->read->other;
    }
    s->shift[s->n_shift++] = one;
}

/* Steps from shift to shift.  */
static void measure(const Stencil *s, int i, WindowSource *x) {
    const Draft *d = &s->draft[i];
    *x = d->x;
    x->dil_n = x->dil_m = 0;
    for (int k = 0; k < s->n_shift; k++) {
        if (s->shift[k].draft != i) continue;
        x->dil_n = gcd64(x->dil_n, s->shift[k].n - x->base_n);
        x->dil_m = gcd64(x->dil_m, s->shift[k].m - x->base_m);
    }
    if (x->dil_n == 0) x->dil_n = 1;
    if (x->dil_m == 0) x->dil_m = 1;
    x->extent_s = (d->last_n - x->base_n) / x->dil_n + 1;
    x->extent_r = (d->last_m - x->base_m) / x->dil_m + 1;
}

/* Reads at one place gain nothing from a window; what lies far apart shares nothing.  */
static bool is_useful(const Problem *p, const Draft *d, const Draft *first) {
    bool along = is_along(p, &d->x.access, d->x.dim_n);
    const TeStmt *s = view_root(p);
    if (d->n_shift < 2 || d->last_n - d->x.base_n >= SPAN_MAX ||
        d->last_m - d->x.base_m >= SPAN_MAX)
        return false;
    if (along != is_along(p, &first->x.access, first->x.dim_n)) return false;
    return along || view_contiguous(s, &d->x.access) == view_contiguous(s, &first->x.access);
}

/* Of the drafts that are left the one with the most shifts; -1: none.  */
static int next_draft(const Stencil *s) {
    int best = -1;
    for (int i = 0; i < s->n_draft; i++) {
        int most = best < 0 ? 0 : s->draft[best].n_shift;
        if (s->draft[i].n_shift > most) best = i;
    }
    return best;
}

static void add_source(Stencil *s, int draft) {
    WindowView *v = &s->p->window;
    WindowSource *x = &v->source[v->n_source];
    measure(s, draft, x);
    for (int k = 0; k < s->n_shift; k++) {
        const Shift *one = &s->shift[k];
        if (one->draft != draft) continue;
        v->tap[v->n_tap++] = (WindowTap){one->read, one->which, v->n_source,
                                         (int32_t)((one->n - x->base_n) / x->dil_n),
                                         (int32_t)((one->m - x->base_m) / x->dil_m)};
    }
    v->n_source++;
}

static bool is_taken(const Problem *p, const TeExpr *read) {
    for (int i = 0; i < p->window.n_tap; i++) {
        if (access_same(p->window.tap[i].read, read)) return true;
    }
    return false;
}

/* What codegen loads by itself.  */
static void describe_others(Problem *p, int align) {
    WindowView *v = &p->window;
    FusedAxis axis = {.extent = 1};
    view_digit(view_root(p), v->along ? v->q : v->lane, &axis);
    v->others = rtile_widths(p, &axis, align, is_taken, &v->others_bytes);
}

void rtile_stencil(Problem *p, int align) {
    Stencil s = {.p = p};
    WindowView *v = &p->window;
    if (view_root(p)->n_left < 1 || !choose_indices(&s)) return;
    visit_reads(&s, add_shift, NULL);
    int first = next_draft(&s);
    for (int i = first; i >= 0 && v->n_source < WINDOW_SOURCES; i = next_draft(&s)) {
        if (is_useful(p, &s.draft[i], &s.draft[first])) add_source(&s, i);
        else if (i == first) return;
        s.draft[i].n_shift = 0;
    }
    v->map = true;
    if (v->n_source > 0) window_describe(p, align);
    if (v->fits) describe_others(p, align);
}
