/* Floor quotients, minima and maxima of polynomials: simplified where that is provable, else an
 * atom of their own.  */
#include "te/prove/poly.h"

static const Poly *atom_of(Polys *ps, AtomKind kind, const Poly *a, const Poly *b, Interval range) {
    if (!a || !b) return NULL;
    bool open = poly_newest(ps, a, true) >= 0 || poly_newest(ps, b, true) >= 0;
    Atom atom = {.kind = kind, .a = a, .b = b, .range = range, .open = open};
    return poly_atom(ps, polys_atom(ps, &atom), 1);
}

/* The terms of p whose coefficients d divides, divided; the others, with what is left of the
 * constant in 0..d-1, are added to *rest.  */
static const Poly *divide_terms(Polys *ps, const Poly *p, int64_t d, const Poly **rest) {
    const Poly *whole = poly_const(ps, 0);
    *rest = whole;
    for (int i = 0; i < p->n; i++) {
        const PolyTerm *t = &p->term[i];
        int64_t in = t->degree && t->coef % d ? 0 : floor_div(t->coef, d);
        int64_t out = t->degree ? (in ? 0 : t->coef) : floor_mod(t->coef, d);
        const Poly *monomial = poly_const(ps, 1);
        for (int j = 0; j < t->degree; j++)
            monomial = poly_mul(ps, monomial, poly_atom(ps, t->atom[j], 1));
        whole = poly_add(ps, whole, monomial, in);
        *rest = poly_add(ps, *rest, monomial, out);
    }
    return whole;
}

/* floor(p / d) where no coefficient of p is divisible by d.  */
static const Poly *rest_quotient(Polys *ps, const Poly *p, int64_t d) {
    int64_t g = d;
    Interval r = poly_range(ps, p);
    if (r.lo != INT64_MIN && r.hi != INT64_MAX && floor_div(r.lo, d) == floor_div(r.hi, d))
        return poly_const(ps, floor_div(r.lo, d));
    if (poly_ge0(ps, p) && poly_ge0(ps, poly_add(ps, poly_const(ps, d - 1), p, -1)))
        return poly_const(ps, 0);
    for (int i = 0; i < p->n; i++) {
        if (p->term[i].degree) g = gcd64(g, p->term[i].coef);
    }
    if (g > 1) {
        const Poly *rest;
        return poly_quotient(ps, divide_terms(ps, p, g, &rest), poly_const(ps, d / g));
    }
    if (p->n == 1 && p->term[0].degree == 1 && p->term[0].coef == 1) {
        const Atom *x = &ps->atom[p->term[0].atom[0]];
        int64_t inner, both;
        if (x->kind == ATOM_QUOTIENT && !x->open && poly_is_const(x->b, &inner) &&
            mul_fits(inner, d, &both))
            return poly_quotient(ps, x->a, poly_const(ps, both));
    }
    return atom_of(ps, ATOM_QUOTIENT, p, poly_const(ps, d), interval_div(r, (Interval){d, d}));
}

static bool divisible(const PolyTerm *t, const PolyTerm *d) {
    int j = 0;
    if (t->coef % d->coef) return false;
    for (int i = 0; i < t->degree && j < d->degree; i++) j += t->atom[i] == d->atom[j];
    return j == d->degree;
}

static const Poly *term_quotient(Polys *ps, const PolyTerm *t, const PolyTerm *d) {
    const Poly *q = poly_const(ps, t->coef / d->coef);
    int j = 0;
    for (int i = 0; i < t->degree; i++) {
        if (j < d->degree && t->atom[i] == d->atom[j])
            j++;
        else
            q = poly_mul(ps, q, poly_atom(ps, t->atom[i], 1));
    }
    return q;
}

/* floor(a / b) for a single term b: whole terms leave, a rest in 0..b-1 vanishes.  */
static const Poly *by_monomial(Polys *ps, const Poly *a, const Poly *b) {
    const Poly *whole = poly_const(ps, 0), *rest = a;
    for (int i = 0; i < a->n; i++) {
        if (!divisible(&a->term[i], &b->term[0])) continue;
        const Poly *q = term_quotient(ps, &a->term[i], &b->term[0]);
        whole = poly_add(ps, whole, q, 1);
        rest = poly_add(ps, rest, poly_mul(ps, q, b), -1);
    }
    const Poly *last = poly_add(ps, poly_add(ps, b, poly_const(ps, 1), -1), rest, -1);
    if (poly_ge0(ps, rest) && poly_ge0(ps, last)) return whole;
    Interval range = poly_range(ps, b);
    if (range.lo < 1) range.lo = 1;
    range = interval_div(poly_range(ps, rest), range);
    return poly_add(ps, whole, atom_of(ps, ATOM_QUOTIENT, rest, b, range), 1);
}

const Poly *poly_quotient(Polys *ps, const Poly *a, const Poly *b) {
    int64_t d;
    if (!a || !b) return NULL;
    if (poly_same(a, b)) return poly_const(ps, 1);
    if (poly_is_const(b, &d)) {
        const Poly *rest, *whole = divide_terms(ps, a, d, &rest);
        return rest ? poly_add(ps, whole, rest_quotient(ps, rest, d), 1) : NULL;
    }
    if (b->n == 1) return by_monomial(ps, a, b);
    Interval range = poly_range(ps, b);
    if (range.lo < 1) range.lo = 1;
    return atom_of(ps, ATOM_QUOTIENT, a, b, interval_div(poly_range(ps, a), range));
}

/* a - b * floor(a / b) where its range tells that it is in 0..b-1, else an unknown that has this
 * range.  */
const Poly *poly_modulo(Polys *ps, const Poly *a, const Poly *b) {
    int64_t last = poly_range(ps, b).hi;
    if (last != INT64_MAX) last--;
    const Poly *p = poly_add(ps, a, poly_mul(ps, b, poly_quotient(ps, a, b)), -1);
    if (p && interval_within(poly_range(ps, p), (Interval){0, last})) return p;
    return atom_of(ps, ATOM_MODULO, a, b, (Interval){0, last});
}

const Poly *poly_least(Polys *ps, const Poly *a, const Poly *b) {
    if (poly_le(ps, a, b)) return a;
    if (poly_le(ps, b, a)) return b;
    Interval x = poly_range(ps, a), y = poly_range(ps, b);
    Interval range = {x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
    return atom_of(ps, ATOM_MIN, a, b, range);
}

const Poly *poly_greatest(Polys *ps, const Poly *a, const Poly *b) {
    if (poly_le(ps, a, b)) return b;
    if (poly_le(ps, b, a)) return a;
    Interval x = poly_range(ps, a), y = poly_range(ps, b);
    Interval range = {x.lo > y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
    return atom_of(ps, ATOM_MAX, a, b, range);
}
