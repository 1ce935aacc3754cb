/* How many elements of an input may be other than 0 for few terms of each sum to be so.  */
#include "te/eval/fill.h"
#include "te/access/access.h"
#include <math.h>
#include <string.h>

/* Terms of a sum that are not 0, expected: a third of the sums then have one.  */
static const double wanted_terms = 1;

typedef struct {
    const Te *te;
    double share[TE_MAX_TENSORS];         /* of elements that are not 0 */
    bool settled[TE_MAX_TENSORS];         /* it can't be chosen any more */
    const TeExpr *made[TE_MAX_TENSORS];   /* what a statement assigns */
} Survey;

static double share_of(Survey *v, const TeStmt *s, const TeExpr *e);

static bool is_zero(const TeExpr *e) {
    return (e->kind == TE_INT && e->v.i == 0) || (e->kind == TE_REAL && e->v.r == 0);
}

static double terms_of(const TeStmt *s, const TeExpr *sum) {
    double n = 1;
    for (int i = 0; i < sum->n_index; i++) n *= (double)te_index_extent(&s->index[sum->index[i]]);
    return n;
}

static bool runs_along(const TeExpr *read, const TeExpr *sum) {
    uint32_t used = access_uses(read);
    for (int i = 0; i < sum->n_index; i++)
        if (used >> sum->index[i] & 1) return true;
    return false;
}

/* Inputs that can be thinned out, each once, tensors that statements make being followed.  */
typedef struct {
    int input[TE_MAX_RANK], n;
    bool seen[TE_MAX_TENSORS];
} Free;

static void add_free(const Survey *v, const TeExpr *e, const TeExpr *sum, Free *f);

static void add_read(const Survey *v, const TeExpr *read, const TeExpr *sum, Free *f) {
    int t = read->v.ref;
    if ((sum && !runs_along(read, sum)) || f->seen[t] || f->n == TE_MAX_RANK) return;
    f->seen[t] = true;
    if (v->made[t]) add_free(v, v->made[t], NULL, f);
    else if (t < v->te->n_in && !v->settled[t]) f->input[f->n++] = t;
}

/* Those that e is 0 with, if they vary among the terms of the sum (NULL: they all do).  */
static void add_free(const Survey *v, const TeExpr *e, const TeExpr *sum, Free *f) {
    int first = e->kind == TE_SELECT, end = 0;
    switch (e->kind) {
    case TE_READ: add_read(v, e, sum, f); return;
    case TE_NEG:
    case TE_CAST:
    case TE_DIV:
    case TE_REDUCE: end = 1; break;
    case TE_MUL:
    case TE_ADD:
    case TE_SUB: end = 2; break;
    case TE_SELECT: end = 3; break;
    default: break;
    }
    for (int i = first; i < end; i++) add_free(v, e->args[i], sum, f);
}

static double share_of_sum(Survey *v, const TeStmt *s, const TeExpr *e) {
    Free f;
    double expected = terms_of(s, e) * share_of(v, s, e->args[0]);
    if (expected <= wanted_terms) return expected;
    f.n = 0;
    memset(f.seen, 0, sizeof f.seen);
    add_free(v, e->args[0], e, &f);
    for (int i = 0; i < f.n; i++) {
        v->share[f.input[i]] *= pow(wanted_terms / expected, 1.0 / f.n);
        v->settled[f.input[i]] = true;
    }
    return 1;
}

static double share_of(Survey *v, const TeStmt *s, const TeExpr *e) {
    double x;
    switch (e->kind) {
    case TE_INT:
    case TE_REAL: return is_zero(e) ? 0 : 1;
    case TE_READ: return e->other && !is_zero(e->other) ? 1 : v->share[e->v.ref];
    case TE_NEG:
    case TE_CAST: return share_of(v, s, e->args[0]);
    case TE_MUL: x = share_of(v, s, e->args[0]); return x * share_of(v, s, e->args[1]);
    case TE_DIV: x = share_of(v, s, e->args[0]); share_of(v, s, e->args[1]); return x;
    case TE_ADD:
    case TE_SUB: x = share_of(v, s, e->args[0]); return fmin(1, x + share_of(v, s, e->args[1]));
    case TE_SELECT: x = share_of(v, s, e->args[1]); return fmax(x, share_of(v, s, e->args[2]));
    case TE_REDUCE:
        if (e->red == TE_RED_SUM) return share_of_sum(v, s, e);
        break;
    default: break;
    }
    for (int i = 0; i < e->n_args; i++) share_of(v, s, e->args[i]);
    return 1;
}

double te_density(const Te *te, int tensor) {
    Survey v = {.te = te};
    for (int t = 0; t < te->n_tensor; t++) v.share[t] = 1;
    for (int i = 0; i < te->n_stmt; i++) {
        const TeStmt *s = &te->stmt[i];
        v.made[s->tensor] = s->rhs;
        v.share[s->tensor] = share_of(&v, s, s->rhs);
    }
    return v.share[tensor];
}
