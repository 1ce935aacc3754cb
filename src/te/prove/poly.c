#include "te/prove/poly.h"
#include "te/tree/tree.h"
#include <string.h>

typedef struct {
    bool unknown;
    int n;
    PolyTerm term[2 * POLY_TERMS];
} Sum;

void polys_init(Polys *ps, Arena *a) {
    ps->arena = a;
    ps->atom = ARENA_ARRAY(a, Atom, POLY_ATOMS);
    ps->n_atom = TE_MAX_INDICES;
    ps->steps = FILE_STEPS;
}

static bool same_atom(const Atom *x, const Atom *y) {
    if (x->kind != y->kind) return false;
    switch (x->kind) {
    case ATOM_SIZE:
    case ATOM_INDEX:
        return x->ref == y->ref;
    case ATOM_OPAQUE:
        return te_expr_same(x->expr, y->expr);
    default:
        return poly_same(x->a, y->a) && poly_same(x->b, y->b);
    }
}

int polys_atom(Polys *ps, const Atom *atom) {
    for (int i = TE_MAX_INDICES; i < ps->n_atom; i++) {
        if (same_atom(&ps->atom[i], atom)) return i;
    }
    if (ps->n_atom == POLY_ATOMS) return -1;
    ps->atom[ps->n_atom] = *atom;
    return ps->n_atom++;
}

/* A monomial order that multiplication keeps: by degree, then by the first atom that differs.  */
static int compare(const PolyTerm *x, const PolyTerm *y) {
    if (x->degree != y->degree) return x->degree < y->degree ? -1 : 1;
    for (int i = 0; i < x->degree; i++) {
        if (x->atom[i] != y->atom[i]) return x->atom[i] < y->atom[i] ? -1 : 1;
    }
    return 0;
}

static bool multiply(const PolyTerm *x, const PolyTerm *y, PolyTerm *out) {
    int i = 0, j = 0, n = x->degree + y->degree;
    if (n > POLY_DEGREE || !mul_fits(x->coef, y->coef, &out->coef)) return false;
    out->degree = (uint8_t)n;
    for (int k = 0; k < n; k++) {
        bool first = j == y->degree || (i < x->degree && x->atom[i] <= y->atom[j]);
        out->atom[k] = first ? x->atom[i++] : y->atom[j++];
    }
    return true;
}

/* Coefficients can be negated, so that no quotient of two overflows.  */
static const Poly *finish(Polys *ps, const Sum *s) {
    if (s->unknown || s->n > POLY_TERMS) return NULL;
    for (int i = 0; i < s->n; i++)
        if (s->term[i].coef == INT64_MIN) return NULL;
    Poly *p = arena_alloc(ps->arena, sizeof *p + (size_t)s->n * sizeof(PolyTerm));
    p->n = s->n;
    memcpy(p->term, s->term, (size_t)s->n * sizeof(PolyTerm));
    return p;
}

/* s += p * k; the order of p's terms survives the multiplication.  */
static void add_product(Sum *s, const Poly *p, const PolyTerm *k) {
    Sum old = *s;
    int i = 0, j = 0;
    s->n = 0;
    if (old.n > POLY_TERMS || !p) s->unknown = true;
    while (!s->unknown && (i < old.n || j < p->n)) {
        PolyTerm t;
        if (j < p->n && !multiply(&p->term[j], k, &t)) {
            s->unknown = true;
            return;
        }
        int c = i == old.n ? 1 : j == p->n ? -1 : compare(&old.term[i], &t);
        PolyTerm *out = &s->term[s->n];
        *out = c <= 0 ? old.term[i] : t;
        if (c == 0 && !add_fits(out->coef, t.coef, &out->coef)) s->unknown = true;
        i += c <= 0;
        j += c >= 0;
        s->n += out->coef != 0;
    }
}

static void add_term(Sum *s, const PolyTerm *t) {
    s->term[s->n] = *t;
    s->n += t->coef != 0;
}

const Poly *poly_const(Polys *ps, int64_t v) {
    Sum s = {0};
    add_term(&s, &(PolyTerm){.coef = v});
    return finish(ps, &s);
}

const Poly *poly_atom(Polys *ps, int atom, int64_t coef) {
    Sum s = {0};
    if (atom < 0) return NULL;
    add_term(&s, &(PolyTerm){.coef = coef, .degree = 1, .atom = {(uint16_t)atom}});
    return finish(ps, &s);
}

const Poly *poly_add(Polys *ps, const Poly *a, const Poly *b, int64_t k) {
    Sum s = {0};
    add_product(&s, a, &(PolyTerm){.coef = 1});
    if (k) add_product(&s, b, &(PolyTerm){.coef = k});
    return finish(ps, &s);
}

const Poly *poly_mul(Polys *ps, const Poly *a, const Poly *b) {
    Sum s = {0};
    if (!a || !b) return NULL;
    for (int i = 0; i < b->n; i++) add_product(&s, a, &b->term[i]);
    return finish(ps, &s);
}

static int degree_in(const PolyTerm *t, int x) {
    int n = 0;
    for (int i = 0; i < t->degree; i++) n += t->atom[i] == x;
    return n;
}

/* t without its factors x.  */
static PolyTerm without(const PolyTerm *t, int x) {
    PolyTerm r = {.coef = t->coef};
    for (int i = 0; i < t->degree; i++) {
        if (t->atom[i] != x) r.atom[r.degree++] = t->atom[i];
    }
    return r;
}

bool poly_has(const Poly *p, int x) {
    for (int i = 0; p && i < p->n; i++) {
        if (degree_in(&p->term[i], x)) return true;
    }
    return false;
}

const Poly *poly_coef(Polys *ps, const Poly *p, int x, int power) {
    Sum s = {0};
    for (int i = 0; p && i < p->n; i++) {
        PolyTerm t = without(&p->term[i], x);
        if (degree_in(&p->term[i], x) == power) add_term(&s, &t);
    }
    return p ? finish(ps, &s) : NULL;
}

bool poly_linear(Polys *ps, const Poly *p, int x, const Poly **slope, const Poly **rest) {
    for (int i = 0; p && i < p->n; i++) {
        if (degree_in(&p->term[i], x) > 1) return false;
    }
    *slope = poly_coef(ps, p, x, 1);
    *rest = poly_coef(ps, p, x, 0);
    return p;
}

const Poly *poly_replace(Polys *ps, const Poly *p, int x, const Poly *by) {
    const Poly *sum = poly_const(ps, 0);
    for (int i = 0; p && i < p->n; i++) {
        PolyTerm t = without(&p->term[i], x);
        Sum one = {0};
        add_term(&one, &t);
        const Poly *product = finish(ps, &one);
        for (int n = degree_in(&p->term[i], x); n > 0; n--) product = poly_mul(ps, product, by);
        sum = poly_add(ps, sum, product, 1);
    }
    return p ? sum : NULL;
}

bool poly_is_const(const Poly *p, int64_t *v) {
    if (!p || p->n > 1 || (p->n && p->term[0].degree)) return false;
    *v = p->n ? p->term[0].coef : 0;
    return true;
}

bool poly_same(const Poly *a, const Poly *b) {
    if (!a || !b || a->n != b->n) return false;
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].coef != b->term[i].coef || compare(&a->term[i], &b->term[i])) return false;
    }
    return true;
}

int64_t poly_multiple(const Poly *p) {
    int64_t g = 0;
    for (int i = 0; p && i < p->n; i++) g = gcd64(g, p->term[i].coef);
    return g ? g : 1;
}

Interval poly_range(const Polys *ps, const Poly *p) {
    Interval sum = {0, 0};
    if (!p) return INTERVAL_ALL;
    for (int i = 0; i < p->n; i++) {
        const PolyTerm *t = &p->term[i];
        Interval v = {1, 1};
        for (int j = 0; j < t->degree; j++) v = interval_mul(v, ps->atom[t->atom[j]].range);
        sum = interval_add(sum, interval_mul(v, (Interval){t->coef, t->coef}));
    }
    return sum;
}

int poly_newest(const Polys *ps, const Poly *p, bool open) {
    int newest = -1;
    for (int i = 0; p && i < p->n; i++) {
        for (int j = 0; j < p->term[i].degree; j++) {
            int x = p->term[i].atom[j];
            if (x > newest && (open ? ps->atom[x].open : ps->atom[x].kind != ATOM_SIZE)) newest = x;
        }
    }
    return newest;
}

static const TeExpr *int_expr(Polys *ps, int64_t v) { return te_expr_int(ps->arena, v, TE_I64, 0); }

static const TeExpr *binary(Polys *ps, TeKind kind, const TeExpr *a, const TeExpr *b) {
    TeExpr *e = te_expr_node(ps->arena, kind, TE_I64, 2, 0);
    e->args[0] = te_expr_copy(ps->arena, a);
    e->args[1] = te_expr_copy(ps->arena, b);
    return e;
}

static const TeExpr *atom_expr(Polys *ps, const Atom *x) {
    if (x->kind == ATOM_OPAQUE) return x->expr;
    if (x->kind == ATOM_QUOTIENT || x->kind == ATOM_MODULO)
        return binary(ps, x->kind == ATOM_QUOTIENT ? TE_DIV : TE_MOD, poly_expr(ps, x->a),
                      poly_expr(ps, x->b));
    if (x->kind == ATOM_SIZE) {
        TeExpr *e = te_expr_node(ps->arena, TE_SIZE, TE_I64, 0, 0);
        e->v.ref = x->ref;
        return e;
    }
    TeExpr *e = te_expr_node(ps->arena, TE_CALL, TE_I64, 2, 0);
    e->v.fn = x->kind == ATOM_MIN ? TE_FN_MIN : TE_FN_MAX;
    e->args[0] = te_expr_copy(ps->arena, poly_expr(ps, x->a));
    e->args[1] = te_expr_copy(ps->arena, poly_expr(ps, x->b));
    return e;
}

/* coef * atoms; a size that is a multiple of its unit takes the unit from the coefficient.  */
static const TeExpr *term_expr(Polys *ps, const PolyTerm *t, int64_t coef) {
    const TeExpr *e = NULL;
    for (int i = 0; i < t->degree; i++) {
        const Atom *x = &ps->atom[t->atom[i]];
        const TeExpr *factor = atom_expr(ps, x);
        if (x->kind == ATOM_SIZE && x->divisor > 1) {
            if (coef % x->divisor == 0)
                coef /= x->divisor;
            else
                factor = binary(ps, TE_DIV, factor, int_expr(ps, x->divisor));
        }
        e = e ? binary(ps, TE_MUL, e, factor) : factor;
    }
    if (!e) return int_expr(ps, coef);
    return coef == 1 ? e : binary(ps, TE_MUL, int_expr(ps, coef), e);
}

const TeExpr *poly_expr(Polys *ps, const Poly *p) {
    const TeExpr *e = NULL;
    for (int i = p->n - 1; i >= 0; i--) {
        int64_t coef = p->term[i].coef;
        bool minus = e && coef < 0 && coef > INT64_MIN;
        const TeExpr *t = term_expr(ps, &p->term[i], minus ? -coef : coef);
        e = e ? binary(ps, minus ? TE_SUB : TE_ADD, e, t) : t;
    }
    return e ? e : int_expr(ps, 0);
}
