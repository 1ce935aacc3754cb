/* Which columns of a row have terms, from the conditions that let scores through.
 *
 * A score is -inf where a condition fails, by `condition ? score : -inf`, times positive numbers at
 * most: then no maximum sees it, and exponentials relative to the maximum are 0.  Of two products
 * back to back the made factor is a 0 that pads there (te_pads).  Where a finite number stands for
 * -inf, or a number is added to a score, what the score is counts (NaN, the same number everywhere
 * in a row): such columns have terms.  */
#include "te/group/groups.h"
#include "te/tree/tree.h"
#include <math.h>
#include <string.h>

typedef struct {
    Arena *a;
    const Te *te;
    const Groups *g;
    Chain *chain;
    int stmt;                             /* of what is looked at */
    bool all;                             /* the bounds say all of the conditions */
} Mask;

/* The root's index that index i of the statement runs with.  */
static int root_index(const Mask *m, int i) { return m->g->perm[m->stmt][i]; }

static bool is_column(const Mask *m, int i) {
    int at = root_index(m, i);
    return at < CHAIN_OWN && (m->chain->columns >> at & 1);
}

static uint32_t column_uses(const Mask *m, const TeExpr *e) {
    const TeStmt *s = &m->te->stmt[m->stmt];
    uint32_t uses = access_uses(e);
    for (int i = 0; i < s->n_index; i++)
        if (!is_column(m, i)) uses &= ~(1u << i);
    return uses;
}

/* ---- sums of a column and of what the row decides ---- */

typedef struct {
    int64_t column[TE_MAX_INDICES];       /* of the statement's indices */
    int64_t number;
    TeExpr *row;                          /* or NULL */
} Sum;

static bool every_read_stands(const TeExpr *e) {
    ReadList reads = access_reads(e);
    for (int i = 0; i < reads.n; i++)
        if (!te_always_inside(reads.at[i])) return false;
    return true;
}

static void add_row(const Mask *m, Sum *sum, const TeExpr *e, bool minus) {
    TeExpr *term = te_expr_copy(m->a, e);
    if (term->type != TE_I64) {
        TeExpr *wide = te_expr_node(m->a, TE_CAST, TE_I64, 1, e->pos);
        wide->store = TE_I64;
        wide->args[0] = term;
        term = wide;
    }
    if (!sum->row && !minus) {
        sum->row = term;
        return;
    }
    TeExpr *both = te_expr_node(m->a, minus ? TE_SUB : TE_ADD, TE_I64, 2, e->pos);
    both->args[0] = sum->row ? sum->row : te_expr_int(m->a, 0, TE_I64, e->pos);
    both->args[1] = term;
    sum->row = both;
}

/* sum += e or -= e.  False where columns stand in it in another way, or what decides is not known
 * for the whole row.  */
static bool add_terms(const Mask *m, Sum *sum, const TeExpr *e, bool minus) {
    const TeStmt *s = &m->te->stmt[m->stmt];
    Affine f;
    if (te_dtype_class(e->type) != TE_CLASS_INT) return false;
    if (e->type == TE_I64 && (e->kind == TE_ADD || e->kind == TE_SUB))
        return add_terms(m, sum, e->args[0], minus) &&
               add_terms(m, sum, e->args[1], minus != (e->kind == TE_SUB));
    if (e->kind == TE_INT) {
        sum->number += minus ? -e->v.i : e->v.i;
        return true;
    }
    if (column_uses(m, e) == 0) {
        if (!every_read_stands(e)) return false;
        add_row(m, sum, e, minus);
        return true;
    }
    if (!access_affine(m->te, s, e, &f)) return false;
    for (int i = 0; i < s->n_index; i++) {
        if (f.coef[i] != 0 && !is_column(m, i)) return false;
        sum->column[i] += minus ? -f.coef[i] : f.coef[i];
    }
    sum->number += minus ? -f.c : f.c;
    return true;
}

/* +1 or -1: the columns in the sum are the number of the column, or its negative; else 0.  */
static int column_sign(const Mask *m, const Sum *sum) {
    const TeStmt *s = &m->te->stmt[m->chain->second];
    const uint8_t *second = m->g->perm[m->chain->second];
    int64_t weight = 1, sign = 0;
    for (int j = s->n_index - 1; j >= s->n_left; j--) {
        int i = 0;
        while (i < TE_MAX_RANK && root_index(m, i) != second[j]) i++;
        int64_t coef = i < TE_MAX_RANK ? sum->column[i] : 0;
        if (sign == 0) sign = coef;
        if ((sign != 1 && sign != -1) || coef != sign * weight || s->index[j].hi.expr)
            return sign != 0 && j == s->n_left && coef == sign * weight ? (int)sign : 0;
        weight *= s->index[j].hi.value;
    }
    return (int)sign;
}

/* ---- conditions ---- */

static bool add_bound(const Mask *m, bool from, TeExpr *row, int64_t add, uint32_t pos) {
    ColumnBounds *b = &m->chain->bounds;
    int *n = from ? &b->n_from : &b->n_to;
    if (*n == CHAIN_MAX_BOUNDS) return false;
    if (!row) row = te_expr_int(m->a, 0, TE_I64, pos);
    te_expr_list_reads(m->a, row);
    (from ? b->from : b->to)[(*n)++] = (ColumnBound){m->stmt, row, add};
    return true;
}

/* A comparison that holds, or does not: a bound, where the column's number stands in it once.  */
static bool add_comparison(const Mask *m, const TeExpr *e, bool holds) {
    static const TeKind other[] = {[TE_LT] = TE_GE, [TE_GE] = TE_LT, [TE_LE] = TE_GT,
                                   [TE_GT] = TE_LE};
    static const TeKind turned[] = {[TE_LT] = TE_GT, [TE_GT] = TE_LT, [TE_LE] = TE_GE,
                                    [TE_GE] = TE_LE, [TE_EQ] = TE_EQ};
    TeKind kind = e->kind;
    Sum x = {.row = NULL}, rest = {.row = NULL};
    if ((kind != TE_EQ || !holds) && (kind < TE_LT || kind > TE_GE)) return false;
    if (!add_terms(m, &x, e->args[0], false) || !add_terms(m, &x, e->args[1], true)) return false;
    int sign = column_sign(m, &x);        /* x - y is the column, or its negative, and a rest */
    if (sign == 0) return false;
    add_terms(m, &rest, e->args[0], sign > 0);
    add_terms(m, &rest, e->args[1], sign < 0);
    if (!holds) kind = other[kind];
    if (sign < 0) kind = turned[kind];
    bool below = kind == TE_LT || kind == TE_LE, above = kind == TE_GT || kind == TE_GE;
    return (below || add_bound(m, true, rest.row, rest.number + (kind == TE_GT), e->pos)) &&
           (above || add_bound(m, false, rest.row, rest.number + (kind != TE_LT), e->pos));
}

static void add_condition(Mask *m, const TeExpr *e, bool holds) {
    if (e->kind == TE_NOT) {
        add_condition(m, e->args[0], !holds);
    } else if (e->kind == (holds ? TE_AND : TE_OR)) {
        add_condition(m, e->args[0], holds);
        add_condition(m, e->args[1], holds);
    } else if (!add_comparison(m, e, holds)) {
        m->all = false;
    }
}

/* ---- where the conditions stand ---- */

static bool is_minus_infinity(const TeExpr *e) {
    while (e->kind == TE_CAST) e = e->args[0];
    if (e->kind == TE_NEG) return e->args[0]->kind == TE_REAL && e->args[0]->v.r == INFINITY;
    return e->kind == TE_REAL && e->v.r == -INFINITY;
}

static bool scales(const TeExpr *e) {
    return e->kind == TE_REAL && e->v.r > 0 && e->v.r < INFINITY;
}

/* `nothing`: is it what a column without terms has?  */
static void look(Mask *m, const TeExpr *e, bool (*nothing)(const TeExpr *e)) {
    int maker = e->kind == TE_READ ? m->g->maker[e->v.ref] : -1;
    int own = m->stmt;
    bool scores = nothing == is_minus_infinity;
    switch (e->kind) {
    case TE_READ:
        if (maker < 0 || m->g->home[maker] != m->g->home[m->chain->second] ||
            m->te->stmt[maker].rhs->kind == TE_REDUCE)
            return;
        m->stmt = maker;
        look(m, m->te->stmt[maker].rhs, nothing);
        m->stmt = own;
        return;
    case TE_SELECT:                       /* a 0 that data decide on is a factor as any other */
        if (!scores && !te_pads(e)) return;
        if (nothing(e->args[2])) {
            add_condition(m, e->args[0], true);
            look(m, e->args[1], nothing);
        } else if (nothing(e->args[1])) {
            add_condition(m, e->args[0], false);
            look(m, e->args[2], nothing);
        }
        return;
    case TE_CAST:                         /* one to 8 bits saturates */
        if (te_dtype_bytes(e->store) > 1) look(m, e->args[0], nothing);
        return;
    case TE_MUL:
        if (!scores || scales(e->args[1])) look(m, e->args[0], nothing);
        if (!scores || scales(e->args[0])) look(m, e->args[1], nothing);
        return;
    case TE_DIV:
        if (scores && scales(e->args[1])) look(m, e->args[0], nothing);
        return;
    default: return;
    }
}

void chain_bounds(Arena *a, const Te *te, const Groups *g, Chain *c) {
    Mask m = {.a = a, .te = te, .g = g, .chain = c, .stmt = c->second, .all = true};
    const TeExpr *body = te->stmt[c->second].rhs->args[0];
    if (c->follow == FOLLOW_SCALE)
        look(&m, rows_difference(c->power)->args[0], is_minus_infinity);
    else if (!c->rows)
        look(&m, body, te_is_zero);
    c->bounds.tested = m.all;
}
