/* Dimensions and indices of extent 1 are left out.
 *
 * Holds for all types and data: a reduction over one point is what it reduces, in its type, and the
 * position 0.  A dimension that a read may leave stays.  */
#include "te/access/access.h"
#include "te/canon/canon.h"
#include "te/tree/tree.h"
#include <string.h>

typedef struct {
    Norm *n;
    uint8_t *dims;                        /* per tensor, bit d: dimension d goes */
    const TeStmt *s;                      /* at hand */
    uint32_t gone;                        /* its indices that go */
    uint8_t to[TE_MAX_INDICES];           /* new numbers of the others */
} Degenerate;

static bool is_zero(const Te *te, const TeStmt *s, const TeExpr *sub) {
    Affine f;
    int64_t lo, hi;
    if (!access_affine(te, s, sub, &f)) return false;
    access_range(s, &f, &lo, &hi);
    return lo == 0 && hi == 0;
}

/* A dimension that some read may leave has to stay.  */
static void keep_guarded(const Degenerate *u, const TeStmt *s, const TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) keep_guarded(u, s, e->args[i]);
    if (e->other) keep_guarded(u, s, e->other);
    if (e->kind != TE_READ || te_always_inside(e)) return;
    for (int d = 0; d < e->n_args; d++) {
        if ((u->dims[e->v.ref] >> d & 1) && !is_zero(u->n->te, s, e->args[d]))
            u->dims[e->v.ref] &= (uint8_t)~(1u << d);
    }
}

static void rewrite(const Degenerate *u, TeExpr **slot, bool subscript);

static void rewrite_read(const Degenerate *u, TeExpr *e) {
    uint8_t dims = u->dims[e->v.ref];
    int rank = 0;
    for (int d = 0; d < e->n_args; d++) {
        if (dims >> d & 1) continue;
        e->args[rank] = e->args[d];
        rewrite(u, &e->args[rank++], true);
    }
    e->n_args = rank;
}

static TeExpr *binary(Arena *a, TeKind kind, TeDtype type, TeExpr *x, TeExpr *y) {
    TeExpr *e = te_expr_node(a, kind, type, 2, x->pos);
    e->args[0] = x;
    e->args[1] = y;
    return e;
}

/* Of one point the reduction is its body, the position 0, what a map makes of 0.  */
static void rewrite_reduce(TeExpr **slot, Arena *a) {
    TeExpr *e = *slot, *body = e->args[0];
    if (te_positional(e)) body = te_expr_int(a, 0, e->type, e->pos);
    if (te_is_recurrence(e)) {
        TeExpr *zero = te_expr_zero(a, e->type, e->pos);
        body = binary(a, TE_ADD, e->type, binary(a, TE_MUL, e->type, e->args[1], zero), body);
    }
    if (body->type != e->type || !te_own_type(body)) {
        TeExpr *cast = te_expr_node(a, TE_CAST, e->type, 1, e->pos);
        cast->args[0] = body;
        body = cast;
    }
    *slot = body;
}

/* Of the text a 0 takes its type from what is beside it, but for subscripts.  */
static TeExpr *index_zero(Arena *a, bool subscript, uint32_t pos) {
    TeExpr *zero = te_expr_int(a, 0, TE_I64, pos), *cast;
    if (subscript) return zero;
    cast = te_expr_node(a, TE_CAST, TE_I64, 1, pos);
    cast->args[0] = zero;
    return cast;
}

static void rewrite(const Degenerate *u, TeExpr **slot, bool subscript) {
    TeExpr *e = *slot;
    if (e->kind == TE_INDEX) {
        if (u->gone >> e->v.ref & 1) *slot = index_zero(u->n->a, subscript, e->pos);
        else e->v.ref = u->to[e->v.ref];
        return;
    }
    if (e->other) rewrite(u, &e->other, false);
    if (e->kind == TE_READ) {
        rewrite_read(u, e);
        return;
    }
    for (int i = 0; i < e->n_args; i++) rewrite(u, &e->args[i], subscript);
    if (e->kind != TE_REDUCE) return;
    int left = 0;
    for (int i = 0; i < e->n_index; i++) {
        if (!(u->gone >> e->index[i] & 1)) e->index[left++] = u->to[e->index[i]];
    }
    e->n_index = (uint8_t)left;
    if (!left) rewrite_reduce(slot, u->n->a);
}

static bool reads_dropped(const Degenerate *u, const TeExpr *e) {
    if (e->kind == TE_READ && u->dims[e->v.ref]) return true;
    for (int i = 0; i < e->n_args; i++) {
        if (reads_dropped(u, e->args[i])) return true;
    }
    return e->other && reads_dropped(u, e->other);
}

static bool drop_indices(Degenerate *u, int k) {
    TeStmt *s = &u->n->te->stmt[k];
    int kept = 0, left = 0;
    u->gone = 0;
    for (int i = 0; i < s->n_index; i++) {
        bool one = te_extent_is_one(&s->index[i].hi);
        if (one && (i >= s->n_left || (u->dims[s->tensor] >> i & 1))) {
            u->gone |= 1u << i;
            continue;
        }
        u->to[i] = (uint8_t)kept++;
        left += i < s->n_left;
    }
    if (!u->gone && !reads_dropped(u, s->rhs)) return false;
    rewrite(u, &s->rhs, false);
    for (int i = 0; i < s->n_index; i++) {
        if (!(u->gone >> i & 1)) s->index[u->to[i]] = s->index[i];
    }
    s->n_index = kept;
    s->n_left = left;
    if (s->rhs->kind != TE_REDUCE) {
        s->accum = TE_DTYPE_COUNT;
        s->tf32 = s->fp32x3 = s->written = false;
    }
    u->n->changed[k] = true;
    return true;
}

static void drop_dimensions(Norm *n, TeTensor *t, uint8_t dims) {
    int rank = 0;
    for (int d = 0; d < t->rank; d++) {
        if (dims >> d & 1) continue;
        t->shape[rank] = t->shape[d];
        t->stride[rank++] = t->stride[d];
    }
    t->rank = rank;
    if (t->role == TE_TEMP) normalize_dense(n, t);
}

bool canon_degenerate_axes(Norm *n) {
    Te *te = n->te;
    Degenerate u = {.n = n, .dims = ARENA_ARRAY(n->a, uint8_t, te->n_tensor + 1)};
    bool any = false;
    for (int t = 0; t < te->n_tensor; t++) {
        for (int d = 0; d < te->tensor[t].rank; d++)
            u.dims[t] |= (uint8_t)(!te->tensor[t].held &&
                                   te_extent_is_one(&te->tensor[t].shape[d])) << d;
    }
    for (int k = 0; k < te->n_stmt; k++) keep_guarded(&u, &te->stmt[k], te->stmt[k].rhs);
    for (int k = 0; k < te->n_stmt; k++) any |= drop_indices(&u, k);
    for (int t = 0; t < te->n_tensor; t++) {
        if (u.dims[t]) drop_dimensions(n, &te->tensor[t], u.dims[t]);
    }
    return normalize_note(n, TE_MADE_DEGENERATE, any);
}
