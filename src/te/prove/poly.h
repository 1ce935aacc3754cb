/* Polynomials with integer coefficients over atoms: run-time sizes, indices, and what does not
 * simplify (quotients, minima, maxima, opaque expressions), each an unknown of its own with a
 * range.
 *
 * A polynomial is normal (sorted terms, none 0), so equal polynomials are equal term by term.
 * NULL is the polynomial about which nothing is known: too long, too high, or past 64 bits.
 * Every function takes NULL, and everything lives on the arena of the Polys.  */
#ifndef ROLLER_TE_PROVE_POLY_H
#define ROLLER_TE_PROVE_POLY_H
#include "te/tree/arith.h"
#include "te/te.h"

enum {
    POLY_TERMS = 32,
    POLY_DEGREE = 8,
    POLY_ATOMS = 2048,
    PROOF_STEPS = 2000,       /* of one proof */
    FEW_STEPS = 32,           /* of one proof, when those of the file are spent */
    FILE_STEPS = 100000       /* of all proofs, so that a hostile file ends */
};

typedef struct {
    int64_t coef;
    uint8_t degree;
    uint16_t atom[POLY_DEGREE];           /* ascending */
} PolyTerm;

typedef struct {
    int n;
    PolyTerm term[];
} Poly;

typedef enum {
    ATOM_SIZE, ATOM_INDEX, ATOM_QUOTIENT, ATOM_MODULO, ATOM_MIN, ATOM_MAX, ATOM_OPAQUE
} AtomKind;
typedef struct {
    AtomKind kind;
    int ref;                  /* SIZE: the size; INDEX: the index */
    int64_t divisor;          /* SIZE: the size is unit * atom */
    const Poly *a, *b;        /* QUOTIENT, MODULO: of a by b >= 1; MIN, MAX; INDEX: first, last;
                               * OPAQUE: bounds in sizes, NULL where there is none but its range */
    const TeExpr *expr;       /* OPAQUE */
    Interval range;
    bool open;                /* an index or an opaque expression is in it */
} Atom;

/* Atoms 0..TE_MAX_INDICES-1 are the indices of the statement at hand; the caller sets them.  */
typedef struct {
    Arena *arena;
    Atom *atom;
    int n_atom;
    int steps;                /* left for the file */
    int left;                 /* for the proof at hand; 0 outside */
} Polys;

void polys_init(Polys *ps, Arena *a);
int polys_atom(Polys *ps, const Atom *atom);               /* new, or the equal one; -1: too many */

const Poly *poly_const(Polys *ps, int64_t v);
const Poly *poly_atom(Polys *ps, int atom, int64_t coef);
const Poly *poly_add(Polys *ps, const Poly *a, const Poly *b, int64_t k);      /* a + k * b */
const Poly *poly_mul(Polys *ps, const Poly *a, const Poly *b);
const Poly *poly_quotient(Polys *ps, const Poly *a, const Poly *b);            /* floor; b >= 1 */
const Poly *poly_modulo(Polys *ps, const Poly *a, const Poly *b);              /* b >= 1 */
const Poly *poly_least(Polys *ps, const Poly *a, const Poly *b);
const Poly *poly_greatest(Polys *ps, const Poly *a, const Poly *b);
/* p with the atom x replaced.  */
const Poly *poly_replace(Polys *ps, const Poly *p, int x, const Poly *by);
const Poly *poly_coef(Polys *ps, const Poly *p, int x, int power);             /* of x^power */
/* p = slope * x + rest, x in neither.  False if p is not linear in x.  */
bool poly_linear(Polys *ps, const Poly *p, int x, const Poly **slope, const Poly **rest);

bool poly_is_const(const Poly *p, int64_t *v);
bool poly_same(const Poly *a, const Poly *b);              /* false for NULL */
int64_t poly_multiple(const Poly *p);                      /* divides every value; >= 1 */
Interval poly_range(const Polys *ps, const Poly *p);       /* by interval arithmetic */
bool poly_has(const Poly *p, int x);
/* The newest atom of p that is open, or that is not a size; -1 if there is none.  */
int poly_newest(const Polys *ps, const Poly *p, bool open);

/* Proofs (prove.c): true only if it holds for all values of the atoms in their ranges.  */
bool poly_ge0(Polys *ps, const Poly *p);
bool poly_le(Polys *ps, const Poly *a, const Poly *b);
/* Bound in sizes alone: greatest (or least) value of p over the other atoms; NULL if not found.  */
const Poly *poly_bound(Polys *ps, const Poly *p, bool greatest);

/* As an expression of sizes.  */
const TeExpr *poly_expr(Polys *ps, const Poly *p);
#endif
