/* Sums of exponentials times something, as second products of a chain (group/chain.c): the divisor
 * of a softmax goes behind the sum, and exponentials are relative to their maximum.
 *
 *   sum[j](exp(E - m) / z * V)            ->  sum[j](exp(E - m) * V) / z
 *   sum[j](exp(E - (m + log(z))) * V)     ->  the same; exp2 and log2 likewise
 *   sum[j](f16(exp(E - m) / z) * V)       ->  sum[j](f16(exp(E - m)) * V) / z, bf16 likewise
 *
 * Holds where m is the maximum of E over the row and z the sum of its exp(E - m), to which nothing
 * negative is added: then z is at least 1, or NaN as all terms are.  m may be raised, to max(m, c)
 * of a value c that the row does not decide on, where exp(c - m) is added.  (Where another divisor
 * is 0, or infinite, terms that are 0 would tell.)  The language leaves it open: roundings differ,
 * and the sum, as large as z times what it was, may leave the range of numbers
 * (docs/te-reference.md, "Sums of exponentials").  A rounding to 8 bits saturates and stays where
 * it is; so does a divisor within a choice, where all terms of a row may be 0 and z NaN.  */
#include "te/access/access.h"
#include "te/group/groups.h"
#include "te/normal/normalize.h"
#include "te/tree/tree.h"
#include <math.h>
#include <string.h>

enum { MAX_DIVISORS = 4, NODES = 1 << 12, DEPTH = 56 };

typedef struct {
    Norm *n;
    const TeStmt *s;
    int maker[TE_MAX_TENSORS];
    uint32_t summed;                      /* indices */
    TeExpr *divisor[MAX_DIVISORS];
    int n_divisor;
    int center;                           /* tensor of the maximum; -1: not found yet */
    const TeExpr *raise;                  /* what else that is at least; NULL: nothing */
    const char *why;
} Rewrite;

static bool refuse(Rewrite *r, const char *why) {
    if (!r->why) r->why = why;
    return false;
}

static bool is_summed(const Rewrite *r, const TeExpr *e) { return access_uses(e) & r->summed; }

/* Does e depend on what some statement made of the row?  */
static bool has_value(const Rewrite *r, const TeExpr *e) {
    if (e->kind == TE_READ && r->maker[e->v.ref] >= 0 && !is_summed(r, e)) return true;
    for (int i = 0; i < e->n_args; i++)
        if (has_value(r, e->args[i])) return true;
    return e->other && has_value(r, e->other);
}

/* The map that a read takes its element of, if it may stand here in its place.  */
static const TeStmt *map_of(const Rewrite *r, const TeExpr *e) {
    int maker = e->kind == TE_READ ? r->maker[e->v.ref] : -1;
    const TeStmt *m = maker >= 0 ? &r->n->te->stmt[maker] : NULL;
    bool is = m && m->rhs->kind != TE_REDUCE && te_always_inside(e) && m->fast == r->s->fast &&
              te_expr_depth(m->rhs) < DEPTH && te_expr_nodes(m->rhs) < NODES;
    return is ? m : NULL;
}

/* e with temporaries open that depend on values of the row.  */
static TeExpr *open_maps(Rewrite *r, TeExpr *e) {
    const TeStmt *m = is_summed(r, e) ? map_of(r, e) : NULL;
    if (m && te_is_passing(&r->n->te->tensor[m->tensor])) {
        TeExpr *body = open_maps(r, normalize_instance(r->n, m, e));
        return has_value(r, body) ? body : e;
    }
    for (int i = 0; i < e->n_args && e->kind != TE_READ; i++)
        e->args[i] = open_maps(r, e->args[i]);
    return e;
}

/* ---- what is known of values of the row ---- */

static const TeStmt *reduction_of(const Rewrite *r, const TeExpr *e, TeRedop red) {
    int maker = e->kind == TE_READ ? r->maker[e->v.ref] : -1;
    const TeStmt *m = maker >= 0 ? &r->n->te->stmt[maker] : NULL;
    return m && m->rhs->kind == TE_REDUCE && m->rhs->red == red && te_always_inside(e) ? m : NULL;
}

/* A map's element, where that is stored as it is computed: what it is made of.  */
static TeExpr *opened(const Rewrite *r, const TeExpr *e) {
    const TeStmt *m = map_of(r, e);
    return m && r->n->te->tensor[m->tensor].dtype == m->rhs->type ? normalize_instance(r->n, m, e)
                                                                   : NULL;
}

static const TeExpr *through_casts(const TeExpr *e) {
    while (e->kind == TE_CAST && rows_cast_moves(e)) e = e->args[0];
    return e;
}

static bool is_not_negative(const Rewrite *r, const TeExpr *e) {
    if (e->kind == TE_REAL) return e->v.r >= 0;
    return te_real_range(r->n->te, r->s, e).lo >= 0;
}

/* The maximum of the row, or what that is raised to: max(m, *raise).  */
static bool is_center(const Rewrite *r, const TeExpr *e, const TeExpr **raise) {
    const TeExpr *open = opened(r, e);
    *raise = NULL;
    if (!open) return reduction_of(r, e, TE_RED_MAX) != NULL;
    if (open->kind != TE_CALL || open->v.fn != TE_FN_MAX || open->n_args != 2) return false;
    int own = reduction_of(r, open->args[0], TE_RED_MAX) ? 0 : 1;
    *raise = open->args[!own];
    return reduction_of(r, open->args[own], TE_RED_MAX) && !has_value(r, *raise);
}

static bool set_center(Rewrite *r, const TeExpr *e) {
    if (!is_center(r, e, &r->raise)) return false;
    r->center = e->v.ref;
    return true;
}

/* What has been found in a divisor.  */
typedef struct {
    bool sum, raise;          /* all exponentials relative to the center; that of what raises it */
} Partition;

/* Of a power: what it is relative to the center.  */
static const TeExpr *exponent_of(const Rewrite *r, const TeExpr *power) {
    const TeExpr *d = rows_power(power) == power ? rows_difference(power) : NULL;
    return d && d->args[1]->v.ref == r->center ? d->args[0] : NULL;
}

/* Terms of a sum, none of which is negative.  */
static bool add_terms(const Rewrite *r, const TeExpr *e, Partition *found) {
    const TeStmt *sum = reduction_of(r, e, TE_RED_SUM);
    const TeExpr *open = opened(r, e), *exponent = exponent_of(r, e);
    if (sum && exponent_of(r, through_casts(sum->rhs->args[0]))) {
        found->sum = true;
        return true;
    }
    if (open) return add_terms(r, open, found);
    if (e->kind == TE_ADD)
        return add_terms(r, e->args[0], found) && add_terms(r, e->args[1], found);
    for (int i = 0; i < 2 && e->kind == TE_CALL && e->v.fn == TE_FN_MAX && e->n_args == 2; i++)
        if (e->args[i]->kind == TE_REAL) return add_terms(r, e->args[!i], found);
    found->raise |= exponent && r->raise && te_expr_same(exponent, r->raise);
    return is_not_negative(r, e);
}

/* The sum of all exponentials relative to the center, or more.  */
static bool is_partition(const Rewrite *r, const TeExpr *e) {
    Partition found = {.sum = false};
    return add_terms(r, e, &found) && found.sum && (found.raise || !r->raise);
}

static bool add_divisor(Rewrite *r, TeExpr *e) {
    if (r->n_divisor == MAX_DIVISORS) return refuse(r, "it has too many divisors");
    r->divisor[r->n_divisor++] = e;
    return true;
}

/* ---- exponents ---- */

/* A term of an exponent that the row decides, taken off: the maximum, or the logarithm of a
 * divisor.  */
static bool take_off(Rewrite *r, TeFn log, TeExpr *e, TeExpr **maximum) {
    const TeExpr *raise;
    bool center = is_center(r, e, &raise);
    TeExpr *open = center ? NULL : opened(r, e);
    if (open) return take_off(r, log, open, maximum);
    if (e->kind == TE_ADD)
        return take_off(r, log, e->args[0], maximum) && take_off(r, log, e->args[1], maximum);
    if (e->kind == TE_CALL && e->v.fn == log) return add_divisor(r, e->args[0]);
    if (*maximum || !center)
        return refuse(r, "its exponents are not relative to a maximum of the row");
    *maximum = e;
    return true;
}

/* exp(E - m - ...): divisors go, exp(E - m) stays.  */
static bool strip_power(Rewrite *r, TeExpr *e) {
    const TeExpr *difference = rows_difference(e);
    TeExpr *at = e->args[0], *maximum = NULL;
    TeFn log = e->v.fn == TE_FN_EXP ? TE_FN_LOG : TE_FN_LOG2;
    if (difference && set_center(r, difference->args[1])) return true;
    while (at->kind == TE_SUB && !is_summed(r, at->args[1])) {
        if (!take_off(r, log, at->args[1], &maximum)) return false;
        at = at->args[0];
    }
    if (!maximum) return refuse(r, "its exponents are not relative to a maximum of the row");
    TeExpr *sub = te_expr_node(r->n->a, TE_SUB, e->args[0]->type, 2, e->pos);
    sub->args[0] = at;
    sub->args[1] = maximum;
    e->args[0] = sub;
    return set_center(r, maximum);
}

/* ---- factors ---- */

static bool is_one(const TeExpr *e) { return e->kind == TE_REAL && e->v.r == 1; }

/* 1 / z, as it stands or by its name: z.  */
static TeExpr *reciprocal(const Rewrite *r, TeExpr *e) {
    TeExpr *open = opened(r, e);
    if (open) e = open;
    return e->kind == TE_DIV && is_one(e->args[0]) ? e->args[1] : NULL;
}

/* Takes off the divisors of the factor *slot that the row decides.  */
static bool strip(Rewrite *r, TeExpr **slot, bool chosen) {
    TeExpr *e = *slot, *z;
    if (!has_value(r, e)) return true;
    switch (e->kind) {
    case TE_CALL:
        if (e->v.fn != TE_FN_EXP && e->v.fn != TE_FN_EXP2) break;
        if (!strip_power(r, e)) return false;
        return !chosen || r->n_divisor == 0 || refuse(r, "a divisor is within a choice");
    case TE_NEG: return strip(r, &e->args[0], chosen);
    case TE_CAST:
        if (!rows_cast_moves(e)) break;
        return strip(r, &e->args[0], chosen);
    case TE_SELECT:
        if (has_value(r, e->args[0])) break;
        return strip(r, &e->args[1], true) && strip(r, &e->args[2], true);
    case TE_DIV:
        if (is_summed(r, e->args[1])) break;
        if (!has_value(r, e->args[1])) return strip(r, &e->args[0], chosen);
        if (chosen) return refuse(r, "a divisor is within a choice");
        *slot = e->args[0];
        return add_divisor(r, e->args[1]) && strip(r, slot, chosen);
    case TE_MUL:
        for (int i = 0; i < 2 && !chosen; i++) {
            z = is_summed(r, e->args[i]) ? NULL : reciprocal(r, e->args[i]);
            if (!z || !has_value(r, z)) continue;
            *slot = e->args[1 - i];
            return add_divisor(r, z) && strip(r, slot, chosen);
        }
        return strip(r, &e->args[0], chosen) && strip(r, &e->args[1], chosen);
    default: break;
    }
    return refuse(r, "it depends on values of the row by more than exponentials and divisors");
}

/* ---- the statement ---- */

static bool divisors_fit(Rewrite *r) {
    for (int i = 0; i < r->n_divisor; i++) {
        if (r->center < 0 || !is_partition(r, r->divisor[i]))
            return refuse(r, "what divides it is no sum of the exponentials of its row");
        if (r->divisor[i]->type != r->s->rhs->type)
            return refuse(r, "what divides it has another type than its sum");
    }
    return true;
}

/* Statement k with the new terms, divided as a whole.  */
static bool replace(Rewrite *r, int k, TeExpr *terms) {
    Norm *n = r->n;
    TeStmt s = n->te->stmt[k];
    s.rhs = te_expr_copy(n->a, s.rhs);
    s.rhs->args[0] = terms;
    n->changed[k] = true;
    if (r->n_divisor == 0) {
        n->te->stmt[k] = s;
        return true;
    }
    for (int i = r->n_divisor - 1; i >= 0; i--) {
        TeExpr *div = te_expr_node(n->a, TE_DIV, s.rhs->type, 2, s.rhs->pos);
        div->args[0] = s.rhs;
        div->args[1] = r->divisor[i];
        s.rhs = div;
    }
    TeExpr **sum = &s.rhs->args[0];
    while ((*sum)->kind != TE_REDUCE) sum = &(*sum)->args[0];
    HoistFrom from = {NULL, &s, n->origin[k]};
    if (n->te->n_stmt + 1 >= TE_MAX_STMTS || normalize_hoist(n, &from, k, sum, false)) return false;
    normalize_indices(&s);
    s.asg = TE_ASSIGN;
    s.accum = TE_DTYPE_COUNT;
    s.tf32 = s.fp32x3 = s.written = false;
    n->te->stmt[n->te->n_stmt > k + 1 && n->te->stmt[k].tensor != s.tensor ? k + 1 : k] = s;
    return true;
}

/* The terms of the sum as a chain has them.  */
static bool read_terms(Rewrite *r, TeExpr **out) {
    const TeStmt *s = r->s;
    TeExpr *body = te_expr_copy(r->n->a, s->rhs->args[0]);
    if (s->written) return refuse(r, "it is to be made as it is written");
    for (int i = s->n_left; i < s->n_index; i++) r->summed |= 1u << i;
    body = open_maps(r, body);
    if (te_expr_nodes(body) > NODES || te_expr_depth(body) > DEPTH) return false;
    if (!strip(r, &body, false) || !divisors_fit(r)) return false;
    *out = body;
    return true;
}

/* ---- all of it, and back ---- */

typedef struct {
    TeStmt *stmt;
    TeTensor *tensor;
    int n_stmt, n_tensor;
    int *origin;
    bool *changed;
    uint64_t rewritten;
} Saved;

/* What is there now; the op goes on with copies of its expressions.  */
static Saved save(Norm *n) {
    size_t count = (size_t)n->te->n_stmt, tensors = (size_t)n->te->n_tensor;
    Saved x = {ARENA_ARRAY(n->a, TeStmt, count), ARENA_ARRAY(n->a, TeTensor, tensors),
               n->te->n_stmt, n->te->n_tensor, ARENA_ARRAY(n->a, int, count),
               ARENA_ARRAY(n->a, bool, count), n->te->rewritten};
    memcpy(x.stmt, n->te->stmt, count * sizeof *x.stmt);
    memcpy(x.tensor, n->te->tensor, tensors * sizeof *x.tensor);
    memcpy(x.origin, n->origin, count * sizeof *x.origin);
    memcpy(x.changed, n->changed, count * sizeof *x.changed);
    for (size_t k = 0; k < count; k++)
        n->te->stmt[k].rhs = te_expr_copy(n->a, n->te->stmt[k].rhs);
    normalize_list_reads(n);
    return x;
}

static void restore(Norm *n, const Saved *x) {
    size_t count = (size_t)x->n_stmt, tensors = (size_t)x->n_tensor;
    n->te->n_stmt = x->n_stmt;
    n->te->n_tensor = x->n_tensor;
    n->te->rewritten = x->rewritten;
    memcpy(n->te->stmt, x->stmt, count * sizeof *x->stmt);
    memcpy(n->te->tensor, x->tensor, tensors * sizeof *x->tensor);
    memcpy(n->origin, x->origin, count * sizeof *x->origin);
    memcpy(n->changed, x->changed, count * sizeof *x->changed);
}

/* The sum of a site; -1: it is dead.  */
static int sum_of(const Te *te, int site) {
    for (int k = 0; k < te->n_stmt; k++)
        if (te->stmt[k].site == site && te->stmt[k].rhs->kind == TE_REDUCE) return k;
    return -1;
}

static bool is_candidate(const TeStmt *s) {
    return s->rhs->kind == TE_REDUCE && s->rhs->red == TE_RED_SUM &&
           s->rhs->args[0]->kind == TE_MUL;
}

/* The groups of the op as it is, found when somebody asks; no decision is noted.  */
typedef struct {
    Groups *g;                /* NULL: they are not known */
    const RowGroup **row;
} Kinds;

static Kinds kinds_of(Norm *n) {
    Kinds x = {ARENA_NEW(n->a, Groups), NULL};
    TeDecisions *given = n->te->decisions;
    n->te->decisions = ARENA_NEW(n->a, TeDecisions);
    *n->te->decisions = *given;
    x.row = groups_by_kinds(n->a, n->te, x.g);
    n->te->decisions = given;
    return x;
}

static const char *refusal(Norm *n, const Kinds *x, int k) {
    return chain_refusal(n->a, n->te, x->g, x->row, k);
}

static Rewrite *begin(Norm *n, const TeStmt *s) {
    Rewrite *r = ARENA_NEW(n->a, Rewrite);
    *r = (Rewrite){.n = n, .s = s, .center = -1};
    memset(r->maker, -1, sizeof r->maker);
    for (int i = 0; i < n->te->n_stmt; i++) r->maker[n->te->stmt[i].tensor] = i;
    return r;
}

/* Makes statement k, of site `site`, with other terms: why it is no second product then.  */
static const char *with_terms(Rewrite *r, int k, int site, TeExpr *terms) {
    Norm *n = r->n;
    if (!replace(r, k, terms)) return "its expressions are too long";
    normalize_dead(n);
    normalize_list_reads(n);
    Kinds kinds = kinds_of(n);
    return refusal(n, &kinds, sum_of(n->te, site));
}

/* Why statement k is no second product as it is, of which the terms could not be read, or are.  */
static const char *as_it_is(Rewrite *r, const Kinds *kinds, int k, bool readable) {
    const char *why = refusal(r->n, kinds, k);
    if (readable || why == chain_alone) return why;
    return r->why ? r->why : "its expressions are too long";
}

/* Only a sum that is made otherwise changes the op, so that its groups are found anew.  */
void normalize_chain(Norm *n) {
    Te *te = n->te;
    Kinds kinds = {NULL, NULL};
    if (!te->decisions || !te->decisions->chains) return;
    normalize_list_reads(n);
    for (int k = 0; k < te->n_stmt; k++) {
        if (!is_candidate(&te->stmt[k])) continue;
        if (!kinds.g) kinds = kinds_of(n);
        ArenaMark mark = arena_mark(n->a);
        TeStmt own = te->stmt[k];
        Rewrite *r = begin(n, &own);
        TeExpr *terms = NULL;
        bool readable = read_terms(r, &terms);
        bool rewrites = readable && !te_expr_same(own.rhs->args[0], terms);
        Saved was = {.n_stmt = 0};
        if (rewrites) was = save(n);
        const char *why = rewrites ? with_terms(r, k, own.site, terms)
                                   : as_it_is(r, &kinds, k, readable);
        if (!why && te_takes(te, &te->stmt[k], TE_JOINED)) {
            normalize_note(n, TE_MADE_CHAINED, rewrites);
            k = sum_of(te, own.site);
            if (rewrites) kinds.g = NULL;
            continue;
        }
        if (rewrites) restore(n, &was);
        arena_reset(n->a, mark);
        te->stmt[k].unchained = why == chain_alone ? NULL : why;
    }
}
