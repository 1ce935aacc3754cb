/* A map seen as a change of layout.  */
#include "rtile/facts.h"
#include "te/tree/tree.h"

#include <string.h>

enum { EXTENT_MAX = 1 << 30, TILE_MAX = 1 << 14 };

static int64_t extent_of(const Problem *p, int index) {
    return view_root(p)->index[index].hi.value;
}

/* Is it so at all sizes?  */
static bool is_one(const Problem *p, int index) {
    return te_extent_is_one(&view_root(p)->index[index].hi);
}

/* Do all statements run with the root's indices in its order?  */
static bool is_map(const Problem *p) {
    const KernelGroup *g = p->group;
    const TeStmt *s = view_root(p);
    if (g->row || s->n_left < 2) return false;
    for (int i = 0; i < s->n_left; i++) {
        if (extent_of(p, i) < 1 || extent_of(p, i) > EXTENT_MAX) return false;
    }
    for (int i = 0; i < g->n_fused; i++) {
        for (int j = 0; j < s->n_left; j++) {
            if (g->perm[i][j] != j) return false;
        }
    }
    return true;
}

/* The index along which outputs are contiguous.  */
static int inner_of(const Problem *p) {
    int inner = view_root(p)->n_left - 1;
    while (inner > 0 && is_one(p, inner)) inner--;
    return inner;
}

/* Tests what can leave the tensor; false if that is not provided for: numbers that do not fit,
 * sizes known at run time.  */
static bool guard_all(const Problem *p, const TeStmt *s, PermuteSource *x) {
    const TeTensor *t = &p->te->tensor[x->access.tensor];
    int64_t beyond[TE_MAX_INDICES];
    for (int i = 0; i < TE_MAX_INDICES; i++) beyond[i] = TILE_MAX;
    for (int d = 0; d < t->rank; d++) {
        Affine *f = &x->access.sub[d];
        x->access.guard[d] = access_leaves(s, x->read->args[d], f, &t->shape[d]);
        if (!x->access.guard[d]) continue;
        if (t->shape[d].value > EXTENT_MAX || access_wide(s, f, beyond)) return false;
        x->guarded = true;
    }
    return !x->guarded || (!p->te->runtime && te_zero_outside(p->te, x->read));
}

/* Values of an index at which the read may be inside of its tensor.  */
static int64_t inside_extent(const Problem *p, const PermuteSource *x, int index) {
    int64_t n = extent_of(p, index);
    const TeTensor *t = &p->te->tensor[x->access.tensor];
    for (int d = 0; d < t->rank; d++) {
        int64_t step = x->access.sub[d].coef[index];
        if (!x->access.guard[d] || step <= 0) continue;
        int64_t most = (t->shape[d].value + step - 1) / step;
        if (most < n) n = most;
    }
    return n;
}

/* Distances along the indices are such that no element is read twice, and one of them is 1 but not
 * that of the inner index: the read runs along another index than the outputs do.  */
static bool is_turned(const Problem *p, const PermuteSource *source) {
    const Access *x = &source->access;
    int64_t reach = 1;
    uint32_t seen = 0;
    const TeStmt *s = view_root(p);
    if (x->offset.coef[inner_of(p)] < 2) return false;
    for (int i = 0; i < s->n_left; i++) {
        if (x->offset.coef[i] < 0) return false;
        if (x->offset.coef[i] == 0 || is_one(p, i)) seen |= 1u << i;
    }
    for (;;) {
        int next = -1;
        for (int i = 0; i < s->n_left; i++) {
            bool less = next < 0 || x->offset.coef[i] < x->offset.coef[next];
            if (!(seen >> i & 1) && less) next = i;
        }
        if (next < 0) return reach > 1;
        if (reach == 1 && (x->offset.coef[next] != 1 || x->varies >> next & 1)) return false;
        if (x->offset.coef[next] < reach) return false;
        seen |= 1u << next;
        reach = x->offset.coef[next] * inside_extent(p, source, next);
    }
}

/* Where strides depend on sizes, equal subscripts are what makes offsets equal at all of them.  */
static bool same_offset(const Te *te, const Access *x, const Access *y) {
    if (x->tensor != y->tensor || x->offset.c != y->offset.c) return false;
    size_t subs = (size_t)te->tensor[x->tensor].rank * sizeof *x->sub;
    bool vary = x->varies || y->varies || x->c_varies || y->c_varies;
    if (vary && memcmp(x->sub, y->sub, subs) != 0) return false;
    for (int i = 0; i < TE_MAX_INDICES; i++) {
        if (x->offset.coef[i] != y->offset.coef[i]) return false;
    }
    return true;
}

static bool leaves(const Problem *p, const TeStmt *s, const Access *x) {
    const TeTensor *t = &p->te->tensor[x->tensor];
    for (int d = 0; d < t->rank; d++) {
        if (access_leaves(s, x->read->args[d], &x->sub[d], &t->shape[d])) return true;
    }
    return false;
}

/* The source that a read of statement s is; -1 if it is none.  */
int rtile_permute_source(const Problem *p, const TeStmt *s, const TeExpr *read) {
    Access x;
    access_read(p->te, s, read, &x);
    for (int k = 0; x.affine && !x.joined && k < p->permute.n_source; k++) {
        const PermuteSource *from = &p->permute.source[k];
        if (!same_offset(p->te, &x, &from->access)) continue;
        size_t subs = (size_t)p->te->tensor[x.tensor].rank * sizeof *x.sub;
        bool same = memcmp(x.sub, from->access.sub, subs) == 0;
        bool zero = from->guarded && te_zero_outside(p->te, read);
        if (from->guarded ? same && zero : same || !leaves(p, s, &x)) return k;
    }
    return -1;
}

/* Reads of tensors that another kernel or nobody makes.  */
static void add_source(Problem *p, const TeStmt *s, const TeExpr *read, int align) {
    PermuteView *v = &p->permute;
    const TeTensor *t = &p->te->tensor[read->v.ref];
    PermuteSource one = {.read = read, .bytes = te_dtype_bytes(t->dtype)};
    access_read(p->te, s, read, &one.access);
    if (!one.access.affine || one.access.joined || view_makes(p, read->v.ref)) return;
    if (!guard_all(p, s, &one)) return;
    if (!is_turned(p, &one) || rtile_permute_source(p, s, read) >= 0) return;
    one.vec = rtile_widest(t, align);
    for (int i = 0; i < view_root(p)->n_left; i++) {
        if (one.access.offset.coef[i] == 1 && access_tests(p->te, &one.access, i)) one.vec = 1;
    }
    if (v->n_source < PERMUTE_SOURCES) v->source[v->n_source++] = one;
}

/* Do neighbours i and i + 1 lie in every output and source as one index would?  Of run-time sizes
 * that is not proved.  */
static bool are_one(const Problem *p, int i) {
    const TeIndex *x = &view_root(p)->index[i];
    int64_t n = extent_of(p, i + 1);
    if (x[0].hi.expr || x[1].hi.expr || extent_of(p, i) * n > EXTENT_MAX) return false;
    for (int k = 0; k < p->permute.n_source; k++) {
        const Access *a = &p->permute.source[k].access;
        if (access_tests(p->te, a, i) || access_tests(p->te, a, i + 1)) return false;
        if (a->varies >> i & 3 || a->offset.coef[i] != a->offset.coef[i + 1] * n) return false;
    }
    for (int k = -1; k < p->group->n_fused; k++) {
        const TeExtent *stride = &p->te->tensor[view_statement(p, k)->tensor].stride[i];
        if (stride[0].expr || stride[1].expr || stride[0].value != stride[1].value * n)
            return false;
    }
    return true;
}

/* Axes from the indices; those of extent 1 join the axis before or behind them.  */
static bool build_axes(Problem *p) {
    const TeStmt *s = view_root(p);
    FusedAxis *out = &p->permute.out;
    *out = (FusedAxis){.extent = 1};
    int last = -1;            /* the last index of an extent beyond 1 */
    for (int i = 0; i < s->n_left; i++) {
        int64_t n = extent_of(p, i);
        bool one = is_one(p, i) || last < 0 || (last == i - 1 && are_one(p, last));
        bool joins = out->n_digit > 0 && one;
        if (!joins) {
            if (out->n_digit == PERMUTE_AXES) return false;
            out->digit[out->n_digit++] = (AxisDigit){out->n, 0, 1};
        }
        AxisDigit *d = &out->digit[out->n_digit - 1];
        out->index[out->n++] = (uint8_t)i;
        d->n++;
        d->extent *= n;
        if (!is_one(p, i)) last = i;
        out->extent *= n;
    }
    return true;
}

/* The index that an axis moves with: its last one of an extent beyond 1.  */
static uint8_t moving_index(const Problem *p, const AxisDigit *d) {
    int i = d->first + d->n - 1;
    while (i > d->first && is_one(p, p->permute.out.index[i])) i--;
    return p->permute.out.index[i];
}

static void describe_axes(Problem *p) {
    PermuteView *v = &p->permute;
    for (int a = 0; a < v->out.n_digit; a++) {
        const AxisDigit *d = &v->out.digit[a];
        v->moving[a] = moving_index(p, d);
        v->divisor[a] = access_divisor(view_root(p), &v->out, d->first, d->n);
        v->varies[a] = access_varies(view_root(p), &v->out, d->first, d->n);
    }
}

static void order_axes(const Problem *p, PermuteSource *x) {
    const PermuteView *v = &p->permute;
    for (int a = 0; a < v->out.n_digit; a++) {
        if (v->out.digit[a].extent == 1 && !v->varies[a]) continue;
        x->stride[a] = x->access.offset.coef[v->moving[a]];
        x->divisor[a] = x->access.divisor[v->moving[a]];
        x->varies[a] = x->access.varies >> v->moving[a] & 1;
        if (x->stride[a] == 0) continue;
        int at = x->n_order++;
        for (; at > 0 && x->stride[x->order[at - 1]] > x->stride[a]; at--)
            x->order[at] = x->order[at - 1];
        x->order[at] = (uint8_t)a;
    }
}

/* Other sizes than those that the view was made for: the same axes and sources.  */
static void resize(Problem *p) {
    PermuteView *v = &p->permute;
    v->out.extent = 1;
    for (int a = 0; a < v->out.n_digit; a++) {
        AxisDigit *d = &v->out.digit[a];
        d->extent = 1;
        for (int i = d->first; i < d->first + d->n; i++)
            d->extent *= extent_of(p, v->out.index[i]);
        v->out.extent *= d->extent;
    }
    for (int k = 0; k < v->n_source; k++) {
        PermuteSource *x = &v->source[k];
        access_read(p->te, view_root(p), x->read, &x->access);
        for (int i = 0; i < x->n_order; i++)
            x->stride[x->order[i]] = x->access.offset.coef[v->moving[x->order[i]]];
    }
}

void rtile_permute(Problem *p, int align) {
    PermuteView *v = &p->permute;
    if (v->fits) resize(p);
    if (v->fits || !is_map(p)) return;
    for (int i = -1; i < p->group->n_fused; i++) {
        const TeStmt *s = view_statement(p, i);
        ReadList read = access_reads(s->rhs);
        for (int k = 0; k < read.n; k++) add_source(p, s, read.at[k], align);
    }
    if (v->n_source == 0 || !build_axes(p)) return;
    describe_axes(p);
    for (int k = 0; k < v->n_source; k++) order_axes(p, &v->source[k]);
    v->fits = true;
}
