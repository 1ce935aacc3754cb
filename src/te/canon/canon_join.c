/* Two indices of a sum that some read has as the digits of one, A[m,2*j+e], become that one.
 *
 *   sum[j,e](A[m,2*j+e] * f(W[n,j], e))    ->  sum[k](A[m,k] * f(W[n,k/2], k%2))
 *
 * Where every read with the low digit has the whole: what is left then are quotients, by which one
 * element serves several in a row (canon_axes.c leaves these alone).  Holds for all types and data,
 * for only places are named otherwise: a sum takes its terms in any order, and so do maxima;
 * positions, which have one, are not joined.  */
#include "te/access/access.h"
#include "te/canon/canon.h"
#include "te/edit/cut.h"
#include "te/tree/arith.h"
#include "te/tree/tree.h"
#include <string.h>

typedef struct {
    int high, low;            /* indices; high becomes high * radix + low */
    int64_t radix;
    bool whole, fits;         /* some read has the whole; none has it otherwise */
} Digits;

static void look_at_read(const Te *te, const TeStmt *s, const TeExpr *read, Digits *x) {
    int whole = 0, high = 0;
    for (int d = 0; d < read->n_args; d++) {
        Affine f;
        uint32_t uses = access_uses(read->args[d]);
        if (!(uses >> x->low & 1)) {
            high += (uses >> x->high & 1) != 0;
            continue;
        }
        int64_t low = access_affine(te, s, read->args[d], &f) ? f.coef[x->low] : 0, all;
        x->fits = x->fits && low != 0 && mul_fits(low, x->radix, &all) && f.coef[x->high] == all;
        whole++;
    }
    x->whole |= whole > 0;
    x->fits = x->fits && (whole == 0 || (whole == 1 && high == 0));
}

static void look(const Te *te, const TeStmt *s, const TeExpr *e, Digits *x) {
    if (e->kind == TE_READ) look_at_read(te, s, e, x);
    for (int i = 0; i < e->n_args; i++) look(te, s, e->args[i], x);
    if (e->other) look(te, s, e->other, x);
}

static TeExpr *digit(Norm *n, TeKind kind, const Digits *x, int64_t by, uint32_t pos) {
    TeExpr *e = te_expr_node(n->a, kind, TE_I64, 2, pos);
    e->args[0] = te_expr_index(n->a, x->high, pos);
    e->args[1] = te_expr_int(n->a, by, TE_I64, pos);
    return e;
}

/* high / c: what divides the new index for it; 0: e is none.  */
static int64_t divisor_of(const TeExpr *e, const Digits *x) {
    bool is = e->kind == TE_DIV && e->args[0]->kind == TE_INDEX && e->args[0]->v.ref == x->high &&
              e->args[1]->kind == TE_INT && e->args[1]->v.i > 0;
    int64_t by;
    return is && mul_fits(e->args[1]->v.i, x->radix, &by) ? by : 0;
}

static void join(Norm *n, const TeStmt *s, const Digits *x, TeExpr **slot) {
    TeExpr *e = *slot;
    if (e->kind == TE_INDEX && (e->v.ref == x->high || e->v.ref == x->low)) {
        *slot = digit(n, e->v.ref == x->high ? TE_DIV : TE_MOD, x, x->radix, e->pos);
        return;
    }
    int64_t by = divisor_of(e, x);
    if (by > 0) {
        *slot = digit(n, TE_DIV, x, by, e->pos);
        return;
    }
    for (int i = 0; i < e->n_args; i++) {
        Affine f;
        bool whole = e->kind == TE_READ && (access_uses(e->args[i]) >> x->low & 1) &&
                     access_affine(n->te, s, e->args[i], &f);
        if (!whole) {
            join(n, s, x, &e->args[i]);
            continue;
        }
        f.coef[x->high] = f.coef[x->low];
        f.coef[x->low] = 0;
        e->args[i] = cut_affine(n->a, &f, e->args[i]->pos);
    }
    if (e->other) join(n, s, x, &e->other);
}

static bool is_static(const TeIndex *x) { return !x->hi.expr && !x->lo.expr && x->lo.value == 0; }

static bool try_join(Norm *n, int k, Digits x) {
    TeStmt *s = &n->te->stmt[k];
    TeExpr *sum = s->rhs;
    int64_t all;
    if (!mul_fits(s->index[x.high].hi.value, x.radix, &all)) return false;
    look(n->te, s, sum->args[0], &x);
    if (!x.whole || !x.fits) return false;
    sum = s->rhs = te_expr_copy(n->a, sum);
    join(n, s, &x, &sum->args[0]);
    s->index[x.high].hi = (TeExtent){.value = all, .min = all, .multiple = 1};
    s->index[x.high].where = true;
    int kept = 0;
    for (int i = 0; i < sum->n_index; i++)
        if (sum->index[i] != x.low) sum->index[kept++] = sum->index[i];
    sum->n_index = (uint8_t)kept;
    normalize_indices(s);
    n->changed[k] = true;
    return true;
}

static bool join_some(Norm *n, int k) {
    const TeStmt *s = &n->te->stmt[k];
    const TeExpr *sum = s->rhs;
    if (sum->kind != TE_REDUCE || te_is_paired(sum)) return false;
    for (int i = 0; i < sum->n_index * sum->n_index; i++) {
        Digits x = {.high = sum->index[i / sum->n_index], .low = sum->index[i % sum->n_index],
                    .fits = true};
        const TeIndex *low = &s->index[x.low];
        x.radix = low->hi.value;
        if (x.high == x.low || x.radix < 2 || !is_static(low) || !is_static(&s->index[x.high]))
            continue;
        if (try_join(n, k, x)) return true;
    }
    return false;
}

bool canon_join_axes(Norm *n) {
    bool any = false;
    for (int k = 0; k < n->te->n_stmt; k++)
        while (join_some(n, k)) any = true;
    return normalize_note(n, TE_MADE_DIGITS, any);
}
