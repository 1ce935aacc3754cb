/* Proofs of p >= 0 by elimination.  An atom that is not a size is replaced, newest first, by the
 * end of its range that makes p least (quotients, minima and maxima know more about themselves
 * than a range); what is left over sizes alone is shifted to their smallest values and decided
 * by interval arithmetic.  */
#include "te/prove/poly.h"

enum { DEPTH = 40 };

static bool ge0(Polys *ps, const Poly *p, int depth);

static const Poly *negated(Polys *ps, const Poly *p) {
    return poly_add(ps, poly_const(ps, 0), p, -1);
}

/* The sign of a slope: 1 for >= 0, -1 for <= 0, 0 if unknown.  */
static int sign_of(Polys *ps, const Poly *slope, int depth) {
    if (ge0(ps, slope, depth - 1)) return 1;
    return ge0(ps, negated(ps, slope), depth - 1) ? -1 : 0;
}

static const Poly *bound(Polys *ps, const Poly *p, bool greatest, int depth);

/* The greatest or least value of atom x, over atoms older than it; NULL if not known.  */
static const Poly *atom_end(Polys *ps, int x, bool greatest, int depth) {
    Atom a = ps->atom[x];
    if (a.kind == ATOM_INDEX) return greatest ? a.b : a.a;
    if (a.kind == ATOM_OPAQUE) {
        const Poly *known = greatest ? a.b : a.a;
        int64_t end = greatest ? a.range.hi : a.range.lo;
        if (known) return known;
        return end == INT64_MIN || end == INT64_MAX ? NULL : poly_const(ps, end);
    }
    if (a.kind == ATOM_QUOTIENT && poly_newest(ps, a.b, true) >= 0) return NULL;
    if (a.kind == ATOM_MODULO) {
        const Poly *last = poly_add(ps, bound(ps, a.b, true, depth - 1), poly_const(ps, 1), -1);
        return greatest ? last : poly_const(ps, 0);
    }
    if (!a.open) return NULL;
    const Poly *first = bound(ps, a.a, greatest, depth - 1);
    if (a.kind == ATOM_QUOTIENT) return poly_quotient(ps, first, a.b);
    const Poly *second = bound(ps, a.b, greatest, depth - 1);
    return a.kind == ATOM_MIN ? poly_least(ps, first, second) : poly_greatest(ps, first, second);
}

/* Does p rise (1) or fall (-1) with x >= 0, in every power of it?  0 if that is not known.  */
static int trend(Polys *ps, const Poly *p, int x, int depth) {
    int all = 0;
    for (int power = 1; power <= POLY_DEGREE; power++) {
        const Poly *coef = poly_coef(ps, p, x, power);
        if (coef && coef->n == 0) continue;
        int sign = sign_of(ps, coef, depth);
        if (!sign || (all && sign != all) || (power > 1 && ps->atom[x].range.lo < 0)) return 0;
        all = sign;
    }
    return all;
}

static const Poly *bound(Polys *ps, const Poly *p, bool greatest, int depth) {
    while (p && depth > 0 && ps->left > 1) {
        ps->left--;
        int x = poly_newest(ps, p, true);
        if (x < 0) return p;
        int rises = trend(ps, p, x, depth);
        if (!rises) return NULL;
        p = poly_replace(ps, p, x, atom_end(ps, x, (rises > 0) == greatest, depth));
    }
    return NULL;
}

/* Steps for a proof that begins.  A proof inside a proof has none of its own; the last step is
 * never taken, so that `left` tells the two apart.  */
static int begin(Polys *ps) {
    if (ps->left) return 0;
    int share = ps->steps < FEW_STEPS ? FEW_STEPS : ps->steps;
    return ps->left = share < PROOF_STEPS ? share : PROOF_STEPS;
}

static void end(Polys *ps, int given) {
    if (!given) return;
    ps->steps -= given - ps->left;
    ps->left = 0;
}

const Poly *poly_bound(Polys *ps, const Poly *p, bool greatest) {
    int given = begin(ps);
    p = bound(ps, p, greatest, DEPTH);
    end(ps, given);
    return p;
}

/* p = slope * floor(a / d) + rest, by d * floor(a / d) <= a <= d * floor(a / d) + d - 1.  Since
 * p is an integer, d * p > -d will do.  */
static bool ge0_quotient(Polys *ps, const Atom *x, const Poly *slope, const Poly *rest, bool up,
                         int depth) {
    const Poly *a = x->a;
    const Poly *last = poly_add(ps, x->b, poly_const(ps, 1), -1);
    if (up) a = poly_add(ps, a, last, -1);
    rest = poly_add(ps, poly_mul(ps, rest, x->b), last, 1);
    return ge0(ps, poly_add(ps, rest, poly_mul(ps, slope, a), 1), depth - 1);
}

/* floor(a / d) grows with a, so another quotient by d may stand for x.  */
static bool ge0_other(Polys *ps, int x, const Poly *slope, const Poly *rest, bool up, int depth) {
    for (int y = 0; y < ps->n_atom; y++) {
        const Atom *a = &ps->atom[x], *b = &ps->atom[y];
        if (y == x || b->kind != ATOM_QUOTIENT || !poly_same(a->b, b->b) || !poly_has(rest, y))
            continue;
        const Poly *more = up ? poly_add(ps, a->a, b->a, -1) : poly_add(ps, b->a, a->a, -1);
        const Poly *p = poly_add(ps, rest, poly_mul(ps, slope, poly_atom(ps, y, 1)), 1);
        if (ge0(ps, more, depth - 1) && ge0(ps, p, depth - 1)) return true;
    }
    return false;
}

/* p = slope * x + rest where x is a quotient, remainder, minimum or maximum, by what it is made
 * of.  */
static bool ge0_inside(Polys *ps, const Poly *p, int x, bool up, int depth) {
    const Poly *slope, *rest;
    Atom atom = ps->atom[x];
    if (!poly_linear(ps, p, x, &slope, &rest)) return false;
    if (atom.kind == ATOM_QUOTIENT)
        return ge0_quotient(ps, &atom, slope, rest, up, depth) ||
               ge0_other(ps, x, slope, rest, up, depth);
    if (atom.kind == ATOM_MODULO) {
        const Poly *q = poly_mul(ps, atom.b, poly_quotient(ps, atom.a, atom.b));
        return ge0(ps, poly_replace(ps, p, x, poly_add(ps, atom.a, q, -1)), depth - 1);
    }
    if (atom.kind != ATOM_MIN && atom.kind != ATOM_MAX) return false;
    bool first = ge0(ps, poly_add(ps, rest, poly_mul(ps, slope, atom.a), 1), depth - 1);
    bool either = (atom.kind == ATOM_MIN) != up;
    if (first == either) return first;
    return ge0(ps, poly_add(ps, rest, poly_mul(ps, slope, atom.b), 1), depth - 1);
}

static bool ge0_without(Polys *ps, const Poly *p, int x, int depth) {
    int rises = trend(ps, p, x, depth);
    if (!rises) return false;
    const Poly *end = atom_end(ps, x, rises < 0, depth);
    if (end && ge0(ps, poly_replace(ps, p, x, end), depth - 1)) return true;
    return ge0_inside(ps, p, x, rises > 0, depth);
}

/* Over sizes alone: each is its smallest value plus something in 0..hi-lo, which interval
 * arithmetic handles well once the product is multiplied out.  */
static bool ge0_sizes(Polys *ps, const Poly *p) {
    Interval saved[POLY_TERMS * POLY_DEGREE];
    int atom[POLY_TERMS * POLY_DEGREE], n = 0;
    const Poly *shifted = p;
    for (int i = 0; i < p->n; i++) {
        for (int j = 0; j < p->term[i].degree; j++) {
            int x = p->term[i].atom[j];
            bool seen = false;
            for (int k = 0; k < n; k++) seen = seen || atom[k] == x;
            if (seen) continue;
            const Poly *by = poly_add(ps, poly_atom(ps, x, 1),
                                      poly_const(ps, ps->atom[x].range.lo), 1);
            shifted = poly_replace(ps, shifted, x, by);
            saved[n] = ps->atom[x].range;
            atom[n++] = x;
        }
    }
    for (int k = 0; k < n; k++)
        ps->atom[atom[k]].range = (Interval){0, saved[k].hi - saved[k].lo};
    bool yes = shifted && poly_range(ps, shifted).lo >= 0;
    for (int k = 0; k < n; k++) ps->atom[atom[k]].range = saved[k];
    return yes;
}

/* A minimum counted up or a maximum counted down: p >= 0 follows from both of its sides, and
 * nothing is lost by looking at them first.  */
static int both_sides(const Polys *ps, const Poly *p) {
    for (int i = 0; i < p->n; i++) {
        const PolyTerm *t = &p->term[i];
        AtomKind kind = t->degree == 1 ? ps->atom[t->atom[0]].kind : ATOM_SIZE;
        if (kind == ATOM_MIN ? t->coef > 0 : kind == ATOM_MAX && t->coef < 0) return t->atom[0];
    }
    return -1;
}

static bool ge0(Polys *ps, const Poly *p, int depth) {
    if (!p || depth <= 0) return false;
    Interval r = poly_range(ps, p);
    if (r.lo >= 0) return true;
    if (r.hi < 0 || ps->left <= 1) return false;
    ps->left--;
    int x = both_sides(ps, p);
    if (x >= 0)
        return ge0(ps, poly_replace(ps, p, x, ps->atom[x].a), depth - 1) &&
               ge0(ps, poly_replace(ps, p, x, ps->atom[x].b), depth - 1);
    x = poly_newest(ps, p, true);
    if (x < 0) x = poly_newest(ps, p, false);
    return x < 0 ? ge0_sizes(ps, p) : ge0_without(ps, p, x, depth);
}

/* A proof leaves nothing behind but its answer.  */
bool poly_ge0(Polys *ps, const Poly *p) {
    ArenaMark mark = arena_mark(ps->arena);
    int n_atom = ps->n_atom, given = begin(ps);
    bool yes = ge0(ps, p, DEPTH);
    end(ps, given);
    ps->n_atom = n_atom;
    arena_reset(ps->arena, mark);
    return yes;
}

bool poly_le(Polys *ps, const Poly *a, const Poly *b) {
    return poly_ge0(ps, poly_add(ps, b, a, -1));
}
