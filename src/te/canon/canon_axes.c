/* An index whose quotient and remainder by a number are subscripts becomes two.
 *
 * Holds for all types and data, for only places are named otherwise: sums are taken in any order,
 * and positions, which have one, are not cut.  */
#include "te/access/access.h"
#include "te/tree/arith.h"
#include "te/canon/canon.h"
#include "te/edit/cut.h"
#include "te/tree/tree.h"
#include <string.h>

/* Index i of a statement is divided by `by` in some subscript: the smallest that there is.  */
typedef struct {
    int i;
    int64_t by;
} Divided;

/* Does a read have the index in a sum, undivided?  */
static bool is_read_whole(const Te *te, const TeStmt *s, const TeExpr *e, int i) {
    Affine f;
    for (int k = 0; k < e->n_args; k++) {
        if (e->kind == TE_READ && access_affine(te, s, e->args[k], &f) && f.coef[i]) return true;
        if (is_read_whole(te, s, e->args[k], i)) return true;
    }
    return e->other && is_read_whole(te, s, e->other, i);
}

static bool uses(const TeExpr *e, int i) {
    if (e->kind == TE_INDEX) return e->v.ref == i;
    for (int k = 0; k < e->n_args; k++)
        if (uses(e->args[k], i)) return true;
    return false;
}

static bool has_remainder(const TeExpr *e, int i) {
    if (e->kind == TE_MOD && uses(e->args[0], i)) return true;
    for (int k = 0; k < e->n_args; k++)
        if (has_remainder(e->args[k], i)) return true;
    return false;
}

/* A sum runs along what another read has whole, and this one's elements serve several in a row:
 * weights with a scale, or two numbers, to several k are read in chunks along k as they lie.  */
static bool stays_whole(const Te *te, const TeStmt *s, const TeExpr *read, int i) {
    return i >= s->n_left && !has_remainder(read, i) && is_read_whole(te, s, s->rhs, i);
}

/* e = (k * i + whole) / (k * by) or the remainder, where k * by divides what is whole.  */
static void find_quotient(const Te *te, const TeStmt *s, const TeExpr *read, const TeExpr *e,
                          Divided *least) {
    Affine f;
    int own = -1;
    int64_t d = canon_divisor(te, s, e);
    if (d && !access_affine(te, s, e, &f) && access_affine(te, s, e->args[0], &f)) {
        bool whole = f.c % d == 0;
        for (int i = 0; i < s->n_index && whole; i++) {
            if (f.coef[i] % d == 0) continue;
            whole = own < 0 && f.coef[i] > 0 && d % f.coef[i] == 0;
            own = i;
        }
        whole = whole && own >= 0 && !stays_whole(te, s, read, own);
        if (whole && (least->by == 0 || d / f.coef[own] < least->by))
            *least = (Divided){own, d / f.coef[own]};
    }
    for (int i = 0; i < e->n_args; i++) find_quotient(te, s, read, e->args[i], least);
}

/* Subscripts that are no sums of indices.  */
static int count_odd(const Te *te, const TeStmt *s, const TeExpr *e) {
    int n = e->other ? count_odd(te, s, e->other) : 0;
    for (int i = 0; i < e->n_args; i++) {
        Affine f;
        n += count_odd(te, s, e->args[i]);
        n += e->kind == TE_READ && !access_affine(te, s, e->args[i], &f);
    }
    return n;
}

static int all_odd(const Te *te) {
    int n = 0;
    for (int k = 0; k < te->n_stmt; k++) n += count_odd(te, &te->stmt[k], te->stmt[k].rhs);
    return n;
}

static int all_scans(const Te *te) {
    Scan scan;
    int n = 0;
    for (int k = 0; k < te->n_stmt; k++) n += access_scan(&te->stmt[k], &scan);
    return n;
}

/* ---- trying ---- */

typedef struct {
    TeTensor *tensor;
    TeStmt *stmt;
    bool *changed;
} Saved;

static Saved save(Norm *n) {
    const Te *te = n->te;
    Saved x = {ARENA_ARRAY(n->a, TeTensor, te->n_tensor), ARENA_ARRAY(n->a, TeStmt, te->n_stmt),
               ARENA_ARRAY(n->a, bool, te->n_stmt)};
    memcpy(x.tensor, te->tensor, (size_t)te->n_tensor * sizeof *x.tensor);
    memcpy(x.stmt, te->stmt, (size_t)te->n_stmt * sizeof *x.stmt);
    memcpy(x.changed, n->changed, (size_t)te->n_stmt * sizeof *x.changed);
    for (int k = 0; k < te->n_stmt; k++)
        te->stmt[k].rhs = te_expr_copy(n->a, te->stmt[k].rhs);
    return x;
}

static void restore(Norm *n, const Saved *x) {
    Te *te = n->te;
    memcpy(te->tensor, x->tensor, (size_t)te->n_tensor * sizeof *x->tensor);
    memcpy(te->stmt, x->stmt, (size_t)te->n_stmt * sizeof *x->stmt);
    memcpy(n->changed, x->changed, (size_t)te->n_stmt * sizeof *x->changed);
}

/* It is a form of the op only if what was divided is a plain index then, and all else still a sum,
 * or a scan along one index: whoever reads a tensor that is cut has to have its digits.  */
static bool try_cut(Norm *n, int k, const Divided *x, bool inputs, Cut *c) {
    int odd = all_odd(n->te), scans = all_scans(n->te);
    *c = (Cut){.n_digit = 1, .radix = {x->by}, .by = x->by};
    if (!cut_index(n->te, k, x->i, inputs, c)) return false;
    ArenaMark mark = arena_mark(n->a);
    Saved before = save(n);
    cut_apply(n, c);
    canon_spelling(n);
    if (all_odd(n->te) < odd && all_scans(n->te) == scans) return true;
    restore(n, &before);
    arena_reset(n->a, mark);
    return false;
}

/* Quotients in the subscripts of e's reads.  */
static void find_divided(const Te *te, const TeStmt *s, const TeExpr *e, Divided *least) {
    for (int i = 0; i < e->n_args; i++) {
        if (e->kind == TE_READ) find_quotient(te, s, e, e->args[i], least);
        else find_divided(te, s, e->args[i], least);
    }
    if (e->other) find_divided(te, s, e->other, least);
}

bool canon_cut_axes(Norm *n) {
    bool any = false;
    Cut *c = ARENA_NEW(n->a, Cut);
    for (int k = 0; k < n->te->n_stmt; k++) {
        for (bool more = true; more;) {
            Divided x = {0};
            find_divided(n->te, &n->te->stmt[k], n->te->stmt[k].rhs, &x);
            more = x.by > 0 && (try_cut(n, k, &x, true, c) || try_cut(n, k, &x, false, c));
            any |= more;
        }
    }
    return normalize_note(n, TE_MADE_CUT, any);
}
