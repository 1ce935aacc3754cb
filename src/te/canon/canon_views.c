/* A temporary that only shows another one in a different order or shape is read through: where
 * what it is read at is a sum of indices of what it shows, so that nobody has to divide.  Copies of
 * inputs stay, since it may be faster to store them (normalize_inline).
 *
 * Holds for all data where both are of one type, no read pads, and conditions ask indices alone and
 * are decided for all points of the reader.  */
#include "te/access/access.h"
#include "te/canon/canon.h"
#include "te/edit/cut.h"
#include "te/tree/tree.h"

/* A read, by statement s, of what statement `made` makes.  */
typedef struct {
    Norm *n;
    const TeStmt *made, *s;
    const TeExpr *read;
} Through;

/* e of statement `made` with the subscripts of the read for its indices.  */
static TeExpr *substitute(const Through *x, const TeExpr *e) {
    return te_expr_at(x->n->a, e, x->read->args);
}

static void add(Affine *sum, const Affine *f, int64_t k) {
    sum->c += k * f->c;
    for (int i = 0; i < TE_MAX_INDICES; i++) sum->coef[i] += k * f->coef[i];
}

/* f of made's indices, where c * (e / c) + e % c is e.  */
static bool compose(const Through *x, const Affine *f, Affine *out) {
    const Te *te = x->n->te;
    uint32_t done = 0;
    *out = (Affine){.c = f->c};
    for (int d = 0; d < x->made->n_left; d++) {
        Affine g;
        int64_t c;
        if (f->coef[d] == 0 || (done >> d & 1)) continue;
        if (access_affine(te, x->s, x->read->args[d], &g)) {
            add(out, &g, f->coef[d]);
            continue;
        }
        int low = 0;
        for (; low < x->made->n_left; low++) {
            bool found = access_digits(te, x->s, x->read->args[d], x->read->args[low], &c, &g);
            if (found && f->coef[d] == c * f->coef[low]) break;
        }
        if (low == x->made->n_left || low < d || (done >> low & 1)) return false;
        done |= 1u << low;
        add(out, &g, f->coef[low]);
    }
    return true;
}

/* What an expression of made's indices is for s.  */
static bool seen_as(const Through *x, const TeExpr *e, Affine *out) {
    Affine f;
    return access_affine(x->n->te, x->s, substitute(x, e), out) ||
           (access_affine(x->n->te, x->made, e, &f) && compose(x, &f, out));
}

static Interval seen_range(const Through *x, const TeExpr *e) {
    Affine f;
    Interval r;
    if (!seen_as(x, e, &f)) return te_range(x->n->te, x->s, substitute(x, e), NULL);
    access_range(x->s, &f, &r.lo, &r.hi);
    return r;
}

static bool holds(TeKind kind, int64_t difference) {
    return kind == TE_LT   ? difference < 0
           : kind == TE_LE ? difference <= 0
           : kind == TE_GT ? difference > 0
                           : difference >= 0;
}

/* The read that the conditions on indices leave of a right side; NULL: they leave more.  */
static const TeExpr *shown(const Through *x, const TeExpr *e) {
    while (e->kind == TE_SELECT) {
        const TeExpr *order = e->args[0];
        if (order->kind < TE_LT || order->kind > TE_GE ||
            te_dtype_class(order->args[0]->type) != TE_CLASS_INT ||
            te_dtype_class(order->args[1]->type) != TE_CLASS_INT)
            return NULL;
        TeExpr difference = {.kind = TE_SUB, .type = TE_I64, .n_args = 2, .args = order->args};
        Interval r = seen_range(x, &difference);
        if (r.lo > r.hi || holds(order->kind, r.lo) != holds(order->kind, r.hi)) return NULL;
        e = e->args[holds(order->kind, r.lo) ? 1 : 2];
    }
    return e->kind == TE_READ && !e->other ? e : NULL;
}

/* The read through it: a subscript that the temporary has for an index of its own is in the range
 * of that one, since the read is inside.  */
static bool stays_inside(const Through *x, const TeExpr *shown, const TeExpr *out) {
    const Te *te = x->n->te;
    const TeTensor *t = &te->tensor[out->v.ref];
    for (int d = 0; d < t->rank; d++) {
        const TeExpr *sub = shown->args[d];
        bool whole = sub->kind == TE_INDEX &&
                     te_extent_same(&x->made->index[sub->v.ref].hi, &t->shape[d]);
        if (!whole && !normalize_inside_along(te, x->s, out, d)) return false;
    }
    return true;
}

static bool has_sizes(const TeStmt *s) {
    for (int i = 0; i < s->n_index; i++) {
        if (s->index[i].hi.expr) return true;
    }
    return false;
}

static bool read_through(const Through *x, TeExpr *read) {
    Te *te = x->n->te;
    const TeExpr *e = shown(x, x->made->rhs);
    if (!e) return false;
    const TeTensor *t = &te->tensor[e->v.ref];
    if (t->role != TE_TEMP || t->dtype != te->tensor[x->made->tensor].dtype) return false;
    TeExpr *out = te_expr_node(x->n->a, TE_READ, read->type, e->n_args, read->pos);
    out->store = read->store;
    out->v.ref = e->v.ref;
    out->inside = TE_INSIDE_ALWAYS;
    for (int d = 0; d < e->n_args; d++) {
        Affine f;
        if (seen_as(x, e->args[d], &f)) out->args[d] = cut_affine(x->n->a, &f, read->pos);
        else if (e->args[d]->kind == TE_INDEX) out->args[d] = substitute(x, e->args[d]);
        else return false;
    }
    if (!stays_inside(x, e, out)) return false;
    *read = *out;
    return true;
}

static bool look_through(Norm *n, int k, TeExpr *e) {
    const Te *te = n->te;
    bool any = false;
    for (int i = 0; i < e->n_args; i++) any |= look_through(n, k, e->args[i]);
    if (e->other) any |= look_through(n, k, e->other);
    if (e->kind != TE_READ || !te_always_inside(e) || te->tensor[e->v.ref].role != TE_TEMP)
        return any;
    for (int i = 0; i < k; i++) {
        const TeStmt *made = &te->stmt[i];
        bool plain = made->tensor == e->v.ref &&
                     (made->rhs->kind == TE_READ || made->rhs->kind == TE_SELECT);
        if (!plain || has_sizes(made) || has_sizes(&te->stmt[k])) continue;
        any |= read_through(&(Through){n, made, &te->stmt[k], e}, e);
        break;
    }
    return any;
}

bool canon_views(Norm *n) {
    bool any = false;
    for (int k = 0; k < n->te->n_stmt; k++) {
        TeStmt *s = &n->te->stmt[k];
        if (!normalize_note(n, TE_MADE_VIEWS, look_through(n, k, s->rhs))) continue;
        te_expr_list_reads(n->a, s->rhs);
        n->changed[k] = any = true;
    }
    return any;
}
