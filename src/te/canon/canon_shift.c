/* A scan that is read one place behind is an exclusive one: a 0 in front of the sums, the last of
 * which is cut off, or sums that are padded.
 *
 * Holds for all data where what stands in front is what the reduction gives over nothing, of a sum
 * +0, and where nobody reads the scan in place.  Not for positions.  */
#include "te/access/access.h"
#include "te/canon/canon.h"
#include "te/edit/scan.h"
#include "te/tree/tree.h"

typedef struct {
    Norm *n;
    int tensor, dim, step;    /* its reads have j + step in the dimension */
    TeRedop red;
    const TeExtent *extent;   /* of j, the same for all reads; NULL: none is known yet */
} Shift;

/* The j of a read whose subscript is j + step; -1: it is none.  */
static int shifted_index(const Shift *x, const TeStmt *s, const TeExpr *read) {
    Affine f;
    int j = -1;
    if (!access_affine(x->n->te, s, read->args[x->dim], &f) || f.c != x->step) return -1;
    for (int i = 0; i < s->n_index; i++) {
        if (f.coef[i] == 0) continue;
        if (j >= 0 || f.coef[i] != 1) return -1;
        j = i;
    }
    return j;
}

static bool is_shifted(Shift *x, const TeStmt *s, const TeExpr *e) {
    for (int i = 0; i < e->n_args; i++) {
        if (!is_shifted(x, s, e->args[i])) return false;
    }
    if (e->other && !is_shifted(x, s, e->other)) return false;
    if (e->kind != TE_READ || e->v.ref != x->tensor) return true;
    int j = shifted_index(x, s, e);
    if (j < 0 || (e->other && !scan_is_identity(x->red, e->other))) return false;
    if (e->type != te_dtype_compute(x->n->te->tensor[x->tensor].dtype)) return false;
    if (!x->extent) x->extent = &s->index[j].hi;
    return te_extent_same(x->extent, &s->index[j].hi);
}

/* Does `difference` to 0, as the comparison has it, hold?  */
static bool holds(TeKind kind, int64_t difference) {
    switch (kind) {
    case TE_LT: return difference < 0;
    case TE_LE: return difference <= 0;
    case TE_GT: return difference > 0;
    case TE_GE: return difference >= 0;
    case TE_EQ: return difference == 0;
    default: return difference != 0;
    }
}

/* Is the comparison `truth` at the end of j where nothing is behind, and elsewhere not?  */
static bool is_end(const Shift *x, const TeStmt *s, const TeExpr *e, int j, bool truth) {
    Affine f;
    if (e->kind < TE_EQ || e->kind > TE_GE || s->index[j].hi.expr ||
        te_dtype_class(e->args[0]->type) != TE_CLASS_INT ||
        te_dtype_class(e->args[1]->type) != TE_CLASS_INT)
        return false;
    TeExpr difference = {.kind = TE_SUB, .type = TE_I64, .n_args = 2, .args = e->args};
    if (!access_affine(x->n->te, s, &difference, &f)) return false;
    for (int i = 0; i < s->n_index; i++) {
        if (i != j && f.coef[i] != 0) return false;
    }
    for (int64_t at = 0, last = s->index[j].hi.value - 1; at <= last; at++) {
        bool end = at == (x->step < 0 ? 0 : last);
        if (holds(e->kind, f.coef[j] * at + f.c) != (truth == end)) return false;
        if (at == 2 && last > 4) at = last - 3;             /* it turns once or twice */
    }
    return true;
}

/* The read itself, where a condition sets the identity at the end, which it has there now.  */
static bool drop_choice(const Shift *x, const TeStmt *s, TeExpr **slot) {
    const TeExpr *e = *slot;
    for (int i = 1; e->kind == TE_SELECT && i < 3; i++) {
        TeExpr *read = e->args[3 - i];
        if (read->kind != TE_READ || read->v.ref != x->tensor || read->type != e->type ||
            !scan_is_identity(x->red, e->args[i]) ||
            !is_end(x, s, e->args[0], read->args[x->dim]->v.ref, i == 1))
            continue;
        *slot = read;
        return true;
    }
    return false;
}

static bool read_in_place(const Shift *x, const TeStmt *s, TeExpr **slot) {
    TeExpr *e = *slot;
    bool any = false;
    for (int i = 0; i < e->n_args; i++) any |= read_in_place(x, s, &e->args[i]);
    if (e->other) any |= read_in_place(x, s, &e->other);
    if (e->kind == TE_SELECT) drop_choice(x, s, slot);
    if (e->kind != TE_READ || e->v.ref != x->tensor) return any;
    e->args[x->dim] = te_expr_index(x->n->a, shifted_index(x, s, e), e->pos);
    if (normalize_inside(x->n->te, s, e)) {
        e->other = NULL;
        e->inside = TE_INSIDE_ALWAYS;
    }
    return true;
}

/* The term may be asked for beyond its end, where no result counts it.  */
static void guard_term(Norm *n, const TeStmt *s, TeExpr *e) {
    if (e->kind == TE_READ && te_always_inside(e) && !normalize_inside(n->te, s, e))
        e->other = te_expr_zero(n->a, e->type, e->pos);
    for (int i = 0; i < e->n_args; i++) guard_term(n, s, e->args[i]);
}

/* Would it leave a temporary, which may be a copy of more?  */
static bool leaves_temporary(const Te *te, const TeStmt *s, const TeExpr *e) {
    if (e->kind == TE_READ && te->tensor[e->v.ref].role == TE_TEMP && te_always_inside(e) &&
        !normalize_inside(te, s, e))
        return true;
    for (int i = 0; i < e->n_args; i++) {
        if (leaves_temporary(te, s, e->args[i])) return true;
    }
    return false;
}

static bool make_exclusive(Norm *n, int k) {
    Te *te = n->te;
    TeStmt *s = &te->stmt[k];
    TeTensor *t = &te->tensor[s->tensor];
    Scan scan;
    if (t->role != TE_TEMP || !access_scan(s, &scan) || scan.exclusive || te_is_paired(s->rhs))
        return false;
    Shift x = {.n = n, .tensor = s->tensor, .dim = scan.index, .step = scan.reversed ? 1 : -1,
               .red = (TeRedop)s->rhs->red};
    TeExtent *own = &t->shape[scan.index];
    for (int i = k + 1; i < te->n_stmt; i++) {
        if (!is_shifted(&x, &te->stmt[i], te->stmt[i].rhs)) return false;
    }
    if (!x.extent) return false;
    bool more = !scan.reversed && !own->expr && !x.extent->expr &&
                x.extent->value <= own->value + 1;
    if (!more && !te_extent_same(x.extent, own)) return false;
    TeExpr *body = s->rhs->args[0];
    TeStmt grown = *s;
    grown.index[scan.over].hi = *x.extent;
    if (leaves_temporary(te, &grown, body->args[1])) return false;
    *own = s->index[scan.index].hi = s->index[scan.over].hi = *x.extent;
    normalize_dense(n, t);
    body->args[0]->kind = scan.reversed ? TE_GT : TE_LT;
    guard_term(n, s, body->args[1]);
    te_expr_list_reads(n->a, s->rhs);
    n->changed[k] = true;
    for (int i = k + 1; i < te->n_stmt; i++) {
        if (!read_in_place(&x, &te->stmt[i], &te->stmt[i].rhs)) continue;
        te_expr_list_reads(n->a, te->stmt[i].rhs);
        n->changed[i] = true;
    }
    return true;
}

bool canon_exclusive_scan(Norm *n) {
    bool any = false;
    for (int k = 0; k < n->te->n_stmt; k++) any |= make_exclusive(n, k);
    return normalize_note(n, TE_MADE_EXCLUSIVE, any);
}
