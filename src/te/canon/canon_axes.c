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

/* ---- trying ---- */

/* What a cut changes, as it was before.  */
typedef struct {
    TeTensor *tensor;         /* those that are cut, one after the other */
    int *which, n;            /* statements */
    TeStmt *stmt;
    bool *changed;
    int odd, scans;           /* of them */
} Tried;

static void count_forms(const Te *te, Tried *x) {
    Scan scan;
    x->odd = x->scans = 0;
    for (int i = 0; i < x->n; i++) {
        const TeStmt *s = &te->stmt[x->which[i]];
        x->odd += count_odd(te, s, s->rhs);
        x->scans += access_scan(s, &scan);
    }
}

static Tried save(Norm *n, const Cut *c) {
    const Te *te = n->te;
    Tried x = {.n = 0};
    int tensors = 0;
    for (int t = 0; t < te->n_tensor; t++) tensors += c->dims[t] != 0;
    x.tensor = ARENA_ARRAY(n->a, TeTensor, tensors);
    tensors = 0;
    for (int t = 0; t < te->n_tensor; t++)
        if (c->dims[t]) x.tensor[tensors++] = te->tensor[t];
    for (int k = 0; k < te->n_stmt; k++) x.n += cut_changes(te, c, k);
    x.which = ARENA_ARRAY(n->a, int, x.n);
    x.stmt = ARENA_ARRAY(n->a, TeStmt, x.n);
    x.changed = ARENA_ARRAY(n->a, bool, x.n);
    x.n = 0;
    for (int k = 0; k < te->n_stmt; k++) {
        if (!cut_changes(te, c, k)) continue;
        x.stmt[x.n] = te->stmt[k];
        x.changed[x.n] = n->changed[k];
        x.which[x.n++] = k;
    }
    count_forms(te, &x);
    for (int i = 0; i < x.n; i++)
        te->stmt[x.which[i]].rhs = te_expr_copy(n->a, x.stmt[i].rhs);
    return x;
}

static void restore(Norm *n, const Cut *c, const Tried *x) {
    Te *te = n->te;
    const TeTensor *next = x->tensor;
    for (int t = 0; t < te->n_tensor; t++)
        if (c->dims[t]) te->tensor[t] = *next++;
    for (int i = 0; i < x->n; i++) {
        te->stmt[x->which[i]] = x->stmt[i];
        n->changed[x->which[i]] = x->changed[i];
    }
}

/* It is a form of the op only if what was divided is a plain index then, and all else still a sum,
 * or a scan along one index: whoever reads a tensor that is cut has to have its digits.  */
static bool try_cut(Norm *n, int k, const Divided *x, bool inputs, Cut *c) {
    *c = (Cut){.n_digit = 1, .radix = {x->by}, .by = x->by};
    if (!cut_index(n->te, k, x->i, inputs, c)) return false;
    ArenaMark mark = arena_mark(n->a);
    Tried before = save(n, c), now = before;
    cut_apply(n, c);
    for (int i = 0; i < now.n; i++) canon_spell(n, now.which[i]);
    count_forms(n->te, &now);
    if (now.odd < before.odd && now.scans == before.scans) return true;
    restore(n, c, &before);
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
