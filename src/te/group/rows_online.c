/* Reductions that can follow another one of their row in the same pass: they run with what that has
 * found so far, and are put right when it finds more.
 *
 * Holds for sums of f32 and f64 whose leader is of the same type, and so stored: what they are put
 * right by is as exact as they are.  Both compute their common terms by the same rules.  A factor
 * exp((E - x) * k) needs a k of which it is known that it is positive: else it grows with x.  A
 * rounding of it to 16 bits may be made before it is put right, one to 8 bits may not: that
 * saturates.  */
#include "te/group/groups.h"
#include "te/access/mean.h"
#include "te/tree/tree.h"
#include <string.h>

typedef struct {
    const Te *te;
    const TeStmt *x, *y;
    const uint8_t *x_axis, *y_axis;
} Pair;

static bool same_leaf(const Pair *p, const TeExpr *x, const TeExpr *y) {
    switch (x->kind) {
    case TE_INT: case TE_BOOLEAN: return x->v.i == y->v.i;
    case TE_REAL: return memcmp(&x->v.r, &y->v.r, sizeof x->v.r) == 0;
    case TE_INDEX: return p->x_axis[x->v.ref] == p->y_axis[y->v.ref];
    case TE_SIZE: case TE_SCALAR: case TE_READ: return x->v.ref == y->v.ref;
    case TE_CALL: return x->v.fn == y->v.fn;
    case TE_CAST: return x->store == y->store;
    case TE_REDUCE: return false;
    default: return true;
    }
}

/* Do two expressions of statements that run over the same rows have the same value everywhere?  */
static bool same(const Pair *p, const TeExpr *x, const TeExpr *y) {
    if (x->kind != y->kind || x->type != y->type || x->n_args != y->n_args ||
        x->inside != y->inside || !x->other != !y->other || !same_leaf(p, x, y))
        return false;
    if (x->other && !same(p, x->other, y->other))
        return false;
    for (int i = 0; i < x->n_args; i++) {
        if (!same(p, x->args[i], y->args[i]))
            return false;
    }
    return true;
}

/* Is the tensor stored as it is computed, in f32 or f64, so that memory changes no value?  */
static bool is_exact(const Te *te, int tensor, TeDtype type) {
    return te->tensor[tensor].dtype == type && (type == TE_F32 || type == TE_F64);
}

static bool is_reduction(const Te *te, const RowGroup *g, int i, TeRedop red) {
    const TeExpr *e = te->stmt[g->stmt[i]].rhs;
    return g->role[i] == ROW_REDUCE && e->red == red && e->type == e->args[0]->type;
}

/* Is the body of reduction j what e is in statement x?  */
static bool reduces(const Te *te, const RowGroup *g, int j, const TeStmt *x, const uint8_t *axis,
                    const TeExpr *e) {
    const TeStmt *y = &te->stmt[g->stmt[j]];
    Pair p = {te, x, y, axis, g->axis[j]};
    return same(&p, e, y->rhs->args[0]) && te_same_rules(x, y);
}

bool rows_is_maximum(const Te *te, const RowGroup *g, int leader, const TeStmt *x,
                     const uint8_t *axis, const TeExpr *e) {
    return leader >= 0 && is_reduction(te, g, leader, TE_RED_MAX) &&
           is_exact(te, te->stmt[g->stmt[leader]].tensor, e->type) &&
           reduces(te, g, leader, x, axis, e);
}

/* The statement whose sum over the row, divided by the row's length, statement i is; -1: none.  */
static int sum_of_mean(const Te *te, const RowGroup *g, int i) {
    if (g->role[i] != ROW_SCALAR) return -1;
    int sum = te_mean_of(te, &te->stmt[g->stmt[i]], &te->stmt[g->frame]);
    return sum < 0 ? -1 : row_group_maker(te, g, sum);
}

/* ---- exponentials ---- */

static bool is_positive(const TeExpr *e) {
    while (e->kind == TE_CAST) e = e->args[0];
    return e->kind == TE_REAL ? e->v.r > 0 && e->v.r < 0x1p100 : e->kind == TE_INT && e->v.i > 0;
}

const TeExpr *rows_difference(const TeExpr *power) {
    const TeExpr *e = power->args[0];
    if (e->kind == TE_MUL && is_positive(e->args[0])) e = e->args[1];
    else if (e->kind == TE_MUL && is_positive(e->args[1])) e = e->args[0];
    return e->kind == TE_SUB && e->args[1]->kind == TE_READ ? e : NULL;
}

bool rows_cast_moves(const TeExpr *e) {
    TeDtype from = e->args[0]->type;
    bool real = te_dtype_class(e->store) == TE_CLASS_REAL && te_dtype_class(from) == TE_CLASS_REAL;
    bool narrow = e->store == TE_F16 || e->store == TE_BF16;
    return real && (narrow || te_meet(e->store, from) == e->store);
}

const TeExpr *rows_power(const TeExpr *e) {
    const TeExpr *found;
    switch (e->kind) {
    case TE_CALL:
        return (e->v.fn == TE_FN_EXP || e->v.fn == TE_FN_EXP2) && rows_difference(e) ? e : NULL;
    case TE_NEG: return rows_power(e->args[0]);
    case TE_CAST: return rows_cast_moves(e) ? rows_power(e->args[0]) : NULL;
    case TE_MUL:
        found = rows_power(e->args[0]);
        return found ? found : rows_power(e->args[1]);
    case TE_SELECT:
        if (te_is_zero(e->args[2])) return rows_power(e->args[1]);
        return te_is_zero(e->args[1]) ? rows_power(e->args[2]) : NULL;
    default: return NULL;
    }
}

static int reads_of(const TeExpr *e, int tensor) {
    ReadList reads = access_reads(e);
    int n = 0;
    for (int i = 0; i < reads.n; i++) n += reads.at[i]->v.ref == tensor;
    return n;
}

/* The one reduction of the group that max(...) is at least, beside what reads nothing of the group;
 * -1: there is none.  */
static int maximum_in(const Te *te, const RowGroup *g, const TeExpr *e) {
    int found = -1;
    if (e->kind != TE_CALL || e->v.fn != TE_FN_MAX) return -1;
    for (int a = 0; a < e->n_args; a++) {
        ReadList reads = access_reads(e->args[a]);
        for (int j = 0; j < reads.n; j++) {
            int i = row_group_maker(te, g, reads.at[j]->v.ref);
            if (i < 0) continue;
            if (found >= 0 || reads.at[j] != e->args[a] || g->role[i] != ROW_REDUCE) return -1;
            found = i;
        }
    }
    return found;
}

int rows_leader(const Te *te, const RowGroup *g, int center, bool raised) {
    int i = row_group_maker(te, g, center);
    if (i < 0 || g->role[i] != ROW_SCALAR) return i;
    const TeExpr *e = te->stmt[g->stmt[i]].rhs;
    return raised && is_exact(te, center, e->type) ? maximum_in(te, g, e) : -1;
}

/* sum of terms with a factor exp(E - x): x is the maximum of E, or (raised) larger.  */
static void follow_scale(const Te *te, RowGroup *g, int i, bool raised) {
    const TeStmt *s = &te->stmt[g->stmt[i]];
    const TeExpr *term = s->rhs->args[0], *power = rows_power(term);
    const TeExpr *diff = power ? rows_difference(power) : NULL;
    if (s->written || !diff || diff->type != s->rhs->type) return;
    int center = diff->args[1]->v.ref, j = rows_leader(te, g, center, raised);
    if (reads_of(term, center) != 1 ||
        !rows_is_maximum(te, g, j, s, g->axis[i], diff->args[0]))
        return;
    g->follow[i] = FOLLOW_SCALE;
    g->leader[i] = j;
    g->center[i] = center;
}

/* sum of (E - x) * (E - x): x is the mean of E.  */
static void follow_shift(const Te *te, RowGroup *g, int i) {
    const TeExpr *s = te->stmt[g->stmt[i]].rhs, *square = s->args[0];
    Pair own = {te, NULL, NULL, g->axis[i], g->axis[i]};
    if (square->kind != TE_MUL || !same(&own, square->args[0], square->args[1]))
        return;
    const TeExpr *diff = square->args[0];
    if (diff->kind != TE_SUB || diff->args[1]->kind != TE_READ)
        return;
    int center = diff->args[1]->v.ref, mean = row_group_maker(te, g, center);
    int j = mean < 0 ? -1 : sum_of_mean(te, g, mean);
    if (j < 0 || !is_reduction(te, g, j, TE_RED_SUM) || !is_exact(te, center, s->type) ||
        !is_exact(te, te->stmt[g->stmt[j]].tensor, s->type) ||
        !reduces(te, g, j, &te->stmt[g->stmt[i]], g->axis[i], diff->args[0]))
        return;
    g->follow[i] = FOLLOW_SHIFT;
    g->leader[i] = j;
    g->center[i] = center;
}

int row_group_maker(const Te *te, const RowGroup *g, int tensor) {
    for (int i = 0; i < g->n; i++) {
        if (te->stmt[g->stmt[i]].tensor == tensor) return i;
    }
    return -1;
}

bool rows_online(const Te *te, RowGroup *g, bool raised) {
    bool any = false;
    for (int i = 0; i < g->n; i++) {
        if (!is_reduction(te, g, i, TE_RED_SUM))
            continue;
        follow_scale(te, g, i, raised);
        follow_shift(te, g, i);
        any |= g->follow[i] != FOLLOW_NONE;
    }
    return any;
}

const RowGroup *rows_with_online(Arena *a, const Te *te, const RowGroup *g, bool raised) {
    RowGroup *x = ARENA_NEW(a, RowGroup);
    *x = *g;
    rows_online(te, x, raised);
    rows_passes(te, x);
    return x->n_pass < g->n_pass ? x : NULL;
}
