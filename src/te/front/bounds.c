/* Every unguarded read is inside its tensor, provably; and what else ranges decide: the length
 * of an argmax, the number of iterations.  */
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <inttypes.h>

enum { FACTS = 32, FACT_DEPTH = 2, CASES = 6 };
static const int64_t iteration_limit = (int64_t)1 << 62, position_limit = (int64_t)1 << 31;

/* The conditions around a place, innermost first.  */
typedef struct Cond Cond;
struct Cond {
    const TeExpr *e;
    bool truth;
    const Cond *outer;
};

/* Polynomials that the conditions make >= 0.  */
typedef struct {
    const Poly *poly[FACTS];
    int n;
} Facts;

static void add_fact(Facts *f, const Poly *p) {
    if (p && f->n < FACTS) f->poly[f->n++] = p;
}

/* d is not 0: useful if its sign is known.  */
static void add_unequal(Polys *ps, Facts *f, const Poly *d) {
    const Poly *one = poly_const(ps, 1), *minus = poly_add(ps, poly_const(ps, 0), d, -1);
    if (poly_ge0(ps, d)) add_fact(f, poly_add(ps, d, one, -1));
    if (poly_ge0(ps, minus)) add_fact(f, poly_add(ps, minus, one, -1));
}

static TeKind opposite(TeKind k) {
    switch (k) {
    case TE_EQ: return TE_NE;
    case TE_NE: return TE_EQ;
    case TE_LT: return TE_GE;
    case TE_LE: return TE_GT;
    case TE_GT: return TE_LE;
    default: return TE_LT;
    }
}

static void add_comparison(Op *op, Facts *f, const TeExpr *e, bool truth) {
    Polys *ps = &op->f->polys;
    const Poly *x = expr_poly(op, e->args[0]), *y = expr_poly(op, e->args[1]);
    const Poly *d = poly_add(ps, x, y, -1), *minus = poly_add(ps, y, x, -1),
               *one = poly_const(ps, 1);
    TeKind kind = truth ? e->kind : opposite(e->kind);
    if (kind == TE_NE) add_unequal(ps, f, d);
    if (kind == TE_EQ || kind == TE_GE) add_fact(f, d);
    if (kind == TE_EQ || kind == TE_LE) add_fact(f, minus);
    if (kind == TE_LT) add_fact(f, poly_add(ps, minus, one, -1));
    if (kind == TE_GT) add_fact(f, poly_add(ps, d, one, -1));
}

static void add_facts(Op *op, Facts *f, const TeExpr *e, bool truth) {
    if (f->n == FACTS) return;
    if (e->kind == TE_NOT) {
        add_facts(op, f, e->args[0], !truth);
    } else if (e->kind == (truth ? TE_AND : TE_OR)) {
        add_facts(op, f, e->args[0], truth);
        add_facts(op, f, e->args[1], truth);
    } else if (e->kind >= TE_EQ && e->kind <= TE_GE) {
        add_comparison(op, f, e, truth);
    }
}

/* A fact about one opaque expression and sizes narrows its range for this place, so that arithmetic
 * on it may turn out not to wrap.  */
static void narrow(Polys *ps, const Facts *f) {
    for (int i = 0; i < f->n; i++) {
        const Poly *slope, *rest;
        int64_t k;
        int x = poly_newest(ps, f->poly[i], true);
        if (x < 0 || ps->atom[x].kind != ATOM_OPAQUE) continue;
        if (!poly_linear(ps, f->poly[i], x, &slope, &rest) || !poly_is_const(slope, &k)) continue;
        int64_t room = poly_range(ps, rest).hi;
        Interval *r = &ps->atom[x].range;
        if (room == INT64_MAX || room == INT64_MIN || k == INT64_MIN) continue;
        if (k > 0 && -floor_div(room, k) > r->lo) r->lo = -floor_div(room, k);
        if (k < 0 && floor_div(room, -k) < r->hi) r->hi = floor_div(room, -k);
    }
}

/* The factor by which `fact` helps with p: what makes their first common term cancel.  */
static int64_t factor(const Poly *p, const Poly *fact) {
    for (int i = 0; p && i < p->n; i++) {
        const PolyTerm *a = &p->term[i];
        for (int j = 0; a->degree && j < fact->n; j++) {
            const PolyTerm *b = &fact->term[j];
            bool same = a->degree == b->degree;
            for (int k = 0; same && k < a->degree; k++) same = a->atom[k] == b->atom[k];
            if (same && (a->coef < 0) == (b->coef < 0) && a->coef % b->coef == 0)
                return a->coef / b->coef;
        }
    }
    return 0;
}

/* p >= 0, perhaps because it is a fact, or a sum of facts and something >= 0.  */
static bool provable(Polys *ps, const Poly *p, const Facts *f, int depth) {
    if (!p) return false;
    if (poly_ge0(ps, p)) return true;
    for (int i = 0; i < f->n && depth > 0; i++) {
        int64_t k = factor(p, f->poly[i]);
        if (k && provable(ps, poly_add(ps, p, f->poly[i], -k), f, depth - 1)) return true;
    }
    return false;
}

/* GIVEN: inside where the conditions hold.  */
typedef enum { INSIDE, GIVEN, BELOW, ABOVE } Side;

/* What a subscript must be less than.  */
typedef struct {
    const Poly *poly;
    int64_t min;
} End;

/* floor(x / d) is from 0 on and less than n just where x is so of n * d: x, and its end.  */
static const TeExpr *undivided(Op *op, const TeExpr *sub, End *end) {
    Polys *ps = &op->f->polys;
    while (sub->kind == TE_DIV && sub->args[1]->kind == TE_INT && sub->args[1]->v.i > 0) {
        end->poly = poly_mul(ps, end->poly, poly_const(ps, sub->args[1]->v.i));
        end->min = end_mul(end->min, sub->args[1]->v.i);
        sub = sub->args[0];
    }
    return sub;
}

static Side side(Op *op, const TeExpr *sub, const End *end, const Facts *f) {
    Polys *ps = &op->f->polys;
    const Poly *p = expr_poly(op, sub), *one = poly_const(ps, 1);
    const Poly *last = poly_add(ps, end->poly, one, -1);
    Interval r = expr_range(op, sub);
    if (r.lo < 0 && !provable(ps, p, f, FACT_DEPTH)) return BELOW;
    if (r.hi < end->min || provable(ps, poly_add(ps, last, p, -1), f, FACT_DEPTH)) return INSIDE;
    return ABOVE;
}

/* Is one of them false, so that they never hold together?  */
static bool contradict(const Polys *ps, const Facts *f) {
    for (int i = 0; i < f->n; i++) {
        if (poly_range(ps, f->poly[i]).hi < 0) return true;
    }
    return false;
}

static Side by_cases(Op *op, const TeExpr *sub, const End *end, const Facts *f, int depth);

/* Where a choice of the subscript's own takes one of its sides.  */
static Side one_case(Op *op, const TeExpr *sub, const End *end, const Facts *f, bool truth,
                     int depth) {
    Polys *ps = &op->f->polys;
    const TeExpr *choice = case_find(sub);
    int n_atom = ps->n_atom;
    Interval *range = ARENA_ARRAY(ps->arena, Interval, n_atom);
    Facts more = *f;
    for (int i = 0; i < n_atom; i++) range[i] = ps->atom[i].range;
    add_facts(op, &more, case_condition(ps->arena, choice), truth);
    narrow(ps, &more);
    Side s = INSIDE;
    if (!contradict(ps, &more))
        s = by_cases(op, case_take(ps->arena, sub, choice, truth), end, &more, depth);
    ps->n_atom = n_atom;
    for (int i = 0; i < n_atom; i++) ps->atom[i].range = range[i];
    return s;
}

static Side by_cases(Op *op, const TeExpr *sub, const End *end, const Facts *f, int depth) {
    Side s = side(op, sub, end, f);
    if (s == INSIDE || depth == 0 || !case_find(sub)) return s;
    s = one_case(op, sub, end, f, true, depth - 1);
    return s == INSIDE ? one_case(op, sub, end, f, false, depth - 1) : s;
}

/* As it stands, then with what the conditions say.  */
static Side side_at_all(Op *op, const TeExpr *sub, const TeExtent *dim, const Cond *conds) {
    Facts facts = {.n = 0};
    End end = {extent_poly(op, dim), dim->min};
    sub = undivided(op, sub, &end);
    Side s = by_cases(op, sub, &end, &facts, CASES);
    if (s == INSIDE || !conds) return s;
    for (const Cond *c = conds; c; c = c->outer) add_facts(op, &facts, c->e, c->truth);
    narrow(&op->f->polys, &facts);
    s = by_cases(op, sub, &end, &facts, CASES);
    return s == INSIDE ? GIVEN : s;
}

static bool runs(const TeStmt *s, const TeExpr *sub) {
    uint32_t uses = indices_in(sub);
    for (int i = 0; i < s->n_index; i++) {
        if ((uses >> i & 1) && s->index[i].hi.value <= s->index[i].lo.min) return false;
    }
    return true;
}

static bool static_ranges(const TeStmt *s, const TeExpr *sub, const TeExtent *dim) {
    uint32_t uses = indices_in(sub);
    for (int i = 0; i < s->n_index; i++) {
        if ((uses >> i & 1) && (s->index[i].lo.expr || s->index[i].hi.expr)) return false;
    }
    return !dim->expr;
}

static const char *outside_text(Op *op, const TeExpr *e, int d, Side which, Interval at) {
    const TeTensor *t = &op->te->tensor[e->v.ref];
    const TeExtent *dim = &t->shape[d];
    Arena *a = op->f->arena;
    if (!static_ranges(op->cur, e->args[d], dim)) {
        const char *sub = expr_text(op->f, op->cur, e->args[d]);
        const char *fact = which == BELOW
                               ? arena_printf(a, "0 <= %s", sub)
                               : arena_printf(a, "%s < %s", sub, extent_text(op->f, dim));
        return arena_printf(a, "cannot prove %s where '%s' is read, dimension %d", fact, t->name,
                            d);
    }
    const char *from = arena_printf(a, "%" PRId64, at.lo);
    const char *to = at.lo == at.hi ? "" : arena_printf(a, "..%" PRId64, at.hi);
    return arena_printf(a, "'%s' is read at %s%s, dimension %d has extent %" PRId64, t->name, from,
                        to, d, dim->value);
}

/* What is proved is forgotten, so that a long op needs little memory.  */
static Side read_side(Op *op, const TeExpr *e, int d, const Cond *conds, Interval *at) {
    Polys *ps = &op->f->polys;
    const TeExtent *dim = &op->te->tensor[e->v.ref].shape[d];
    ArenaMark mark = arena_mark(ps->arena);
    int n_atom = ps->n_atom;
    Side s = side_at_all(op, e->args[d], dim, conds);
    Interval tree = expr_range(op, e->args[d]);
    *at = poly_range(ps, expr_poly(op, e->args[d]));
    if (tree.lo > at->lo) at->lo = tree.lo;
    if (tree.hi < at->hi) at->hi = tree.hi;
    if (s == ABOVE && at->lo < 0) at->lo = 0;
    ps->n_atom = n_atom;
    arena_reset(ps->arena, mark);
    return s;
}

static void hint_inside(Op *op, const TeExpr *sub, const char *name) {
    TeDtype as;
    const TeExpr *x = real_inexact(op, sub, &as);
    if (!x) {
        hint(op->f, "write (%s[...] else 0) if padding is meant", name);
        return;
    }
    hint(op->f, "%s has all integers up to %" PRId64 " only, and %s may be beyond: "
         "limit integers, as in min(max(i32(x), 0), n)",
         te_dtype_name(as), te_last_whole(as), expr_text(op->f, op->cur, x));
}

static void read_check(Op *op, TeExpr *e, const Cond *conds) {
    Front *f = op->f;
    const char *name = op->te->tensor[e->v.ref].name;
    for (int d = 0; d < e->n_args && e->inside != TE_INSIDE_TESTED; d++) {
        Interval at;
        if (!runs(op->cur, e->args[d])) continue;
        Side s = read_side(op, e, d, conds, &at);
        if (s == INSIDE) continue;
        if (s == GIVEN) {
            e->inside = TE_INSIDE_GIVEN;
            continue;
        }
        if (conds && f->diag->count == DIAG_MAX) {
            e->inside = TE_INSIDE_TESTED;
            continue;
        }
        const char *text = outside_text(op, e, d, s, at);
        if (conds) {
            diag_warning(f->diag, "bounds", place(f, e->pos), "%s; outside it gives 0", text);
            e->inside = TE_INSIDE_TESTED;
        } else {
            complain(f, "bounds", e->pos, "%s", text);
            hint_inside(op, e->args[d], name);
            op->info->bad = true;
            return;
        }
    }
}

/* argmax and argmin: positions count from 0, and there is one.  */
static bool position_check(Op *op, const TeExpr *e) {
    Front *f = op->f;
    int64_t n = 1, zero;
    for (int i = 0; i < e->n_index; i++) {
        const TeIndex *x = &op->cur->index[e->index[i]];
        if (!poly_is_const(extent_poly(op, &x->lo), &zero) || zero != 0)
            return complain(f, "range", e->pos, "index '%s' must start at 0 here", x->name);
        if (x->hi.min < 1)
            return complain(f, "range", e->pos, "the range of '%s' may be empty", x->name);
        n = end_mul(n, x->hi.value);
    }
    if (n < position_limit) return true;
    return complain(f, "limit", e->pos, "%" PRId64 " positions, the limit is below 2^31", n);
}

static void check(Op *op, TeExpr *e, const Cond *conds) {
    bool branches = e->kind == TE_SELECT || e->kind == TE_AND || e->kind == TE_OR;
    for (int i = 0; i < e->n_args; i++) {
        Cond c = {.e = e->args[0], .truth = e->kind == TE_AND || (e->kind == TE_SELECT && i == 1),
                  .outer = conds};
        check(op, e->args[i], branches && i ? &c : conds);
    }
    if (e->other)
        check(op, e->other, conds);
    else if (e->kind == TE_READ)
        read_check(op, e, conds);
    if (e->kind == TE_REDUCE && (e->red == TE_RED_ARGMAX || e->red == TE_RED_ARGMIN) &&
        !position_check(op, e))
        op->info->bad = true;
}

static int64_t length(const TeIndex *x) {
    int64_t n = x->hi.value - x->lo.min;
    return n > 0 ? n : 0;
}

/* Times the body runs for one left point, nested reductions multiplied.  */
static int64_t iterations(const TeStmt *s, const TeExpr *e) {
    int64_t most = 1;
    for (int i = 0; i < e->n_args + (e->other != NULL); i++) {
        int64_t n = iterations(s, i < e->n_args ? e->args[i] : e->other);
        if (n > most) most = n;
    }
    for (int i = 0; i < e->n_index; i++) most = end_mul(most, length(&s->index[e->index[i]]));
    return most;
}

/* A bound in sizes of the file, which the next statement knows, too.  */
static const Poly *lasting(const Op *op, const Poly *p) {
    for (int i = 0; p && i < p->n; i++) {
        for (int k = 0; k < p->term[i].degree; k++) {
            if (p->term[i].atom[k] >= op->n_atom) return NULL;
        }
    }
    return p;
}

/* Integers of a temporary.  */
static void note_integers(Op *op, const TeStmt *s, TensorInfo *t) {
    Interval r = op->range[s->tensor] = expr_range(op, s->rhs);
    bool any = r.lo == INT64_MIN && r.hi == INT64_MAX;
    if (any || !interval_within(r, te_type_range(op->te->tensor[s->tensor].dtype))) return;
    value_bounds(op, s->rhs, &t->least, &t->most);
}

/* What the elements of a temporary can be, for those who read it in a subscript.  */
static void note_range(Op *op) {
    const TeStmt *s = op->cur;
    TensorInfo *t = &op->tensor[s->tensor];
    const TeTensor *made = &op->te->tensor[s->tensor];
    if (made->role != TE_TEMP) return;
    TeClass cls = te_dtype_class(s->rhs->type);
    if (cls == TE_CLASS_INT) note_integers(op, s, t);
    if (cls == TE_CLASS_REAL) real_bounds(op, s->rhs, made->dtype, &t->least, &t->most);
    t->least = lasting(op, t->least);
    t->most = lasting(op, t->most);
}

bool bounds_check(Op *op, int stmt) {
    polys_enter(op, stmt);
    TeStmt *s = op->cur;
    int64_t n = iterations(s, s->rhs);
    for (int i = 0; i < s->n_left; i++) n = end_mul(n, length(&s->index[i]));
    if (n >= iteration_limit) {
        complain(op->f, "limit", s->pos, "the statement has 2^62 iterations or more");
        op->info->bad = true;
    }
    check(op, s->rhs, NULL);
    if (!op->info->bad) note_range(op);
    return !op->info->bad;
}
