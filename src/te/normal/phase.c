/* Sums most of whose terms have a 0 as a factor, as those of a transposed convolution of stride s:
 * a term counts only where (p + c - d * r) % s == 0, p being an index of the result and r one that
 * is summed over.  For p = s * p' + phase those are the r = s * r' + rho(phase), so the sum over r
 * gets s times shorter, what was divided by s is affine, and the phase an index like any other.
 *
 * Where d is a multiple of s, no r counts more than another: every s-th result is a sum, and all
 * others are 0.  These sums are a temporary, which is spread.
 *
 * The result is cut into p' and phase in place, and so is all that is made of it point by point;
 * where s does not divide the extent of p, the points that are too many are written to nowhere.
 * Where that cannot be, a temporary is cut, which is then copied.
 *
 * Holds for all data where the 0 is the term's own, a factor of integers, or one of reals that pads
 * (te_pads): others make NaN of an infinity.  Where r gets terms too many, both factors are 0.  */
#include "te/tree/arith.h"
#include "te/edit/cut.h"
#include "te/normal/normalize.h"
#include "te/tree/tree.h"
#include <string.h>

enum { PHASES_MAX = 64 };

typedef struct {
    const TeExpr *test;       /* (a * p + b * r + c) % s == 0, but for what s divides */
    int p, r;                 /* r < 0: b is 0 */
    int64_t s, a, b, c;
} Phase;

/* ---- where it applies ---- */

/* The i that solves b * i + v = 0 (mod s); -1: there is none.  */
static int64_t solve(int64_t b, int64_t v, int64_t s) {
    for (int64_t i = 0; i < s; i++) {
        if (floor_mod(b * i + v, s) == 0) return i;
    }
    return -1;
}

/* Finds p and r: the only indices that do not count in multiples of s; there may be no r.  */
static bool find_indices(const TeStmt *s, const Affine *f, Phase *x) {
    x->p = x->r = -1;
    for (int i = 0; i < s->n_index; i++) {
        int64_t k = floor_mod(f->coef[i], x->s);
        if (k == 0) continue;
        if (gcd64(k, x->s) != 1 || (i < s->n_left ? x->p : x->r) >= 0) return false;
        if (i < s->n_left) {
            x->p = i;
            x->a = k;
        } else {
            x->r = i;
            x->b = k;
        }
    }
    if (x->p >= 0 && x->r < 0)
        return !s->index[x->p].hi.expr && s->index[x->p].hi.value >= x->s;
    return x->p >= 0 && !s->index[x->r].hi.expr &&
           s->index[x->r].hi.value > ceil_div(s->index[x->r].hi.value, x->s);
}

static bool is_test(const Te *te, const TeStmt *s, const TeExpr *e, Phase *x) {
    if (e->kind != TE_EQ) return false;
    const TeExpr *rest = e->args[0], *value = e->args[1];
    if (rest->kind != TE_MOD) {
        rest = e->args[1];
        value = e->args[0];
    }
    Affine f, by, v;
    if (rest->kind != TE_MOD || !access_affine(te, s, rest->args[0], &f) ||
        !access_affine(te, s, rest->args[1], &by) || !access_affine(te, s, value, &v) ||
        access_uses(rest->args[1]) || access_uses(value) || by.c < 2 || by.c > PHASES_MAX ||
        v.c < 0 || v.c >= by.c)
        return false;
    *x = (Phase){.test = e, .s = by.c, .c = floor_mod(f.c - v.c, by.c)};
    return find_indices(s, &f, x);
}

static bool find_test(const Te *te, const TeStmt *s, const TeExpr *e, Phase *x) {
    if (e->kind == TE_AND)
        return find_test(te, s, e->args[0], x) || find_test(te, s, e->args[1], x);
    return is_test(te, s, e, x);
}

/* A test without which e is 0.  `scaled`: that is a factor of reals, and has to pad.  */
static bool find_phase(const Te *te, const TeStmt *s, const TeExpr *e, bool scaled, Phase *x) {
    switch (e->kind) {
    case TE_MUL:
        scaled |= te_dtype_class(e->type) == TE_CLASS_REAL;
        return find_phase(te, s, e->args[0], scaled, x) || find_phase(te, s, e->args[1], scaled, x);
    case TE_NEG:
    case TE_CAST:
        return find_phase(te, s, e->args[0], scaled, x);
    case TE_SELECT:
        return te_is_zero(e->args[2]) && (!scaled || te_pads(e)) &&
               (find_test(te, s, e->args[0], x) || find_phase(te, s, e->args[1], scaled, x));
    default:
        return false;
    }
}

/* ---- how the index is cut ---- */

/* The r of a value of phase.  */
static int64_t rho(const Phase *x, const Cut *c, int64_t phase) {
    return solve(x->b, x->a * (phase - c->shift) + x->c, x->s);
}

/* Is rho affine in the digits?  */
static bool is_affine(const Phase *x, const Cut *c) {
    int64_t first = rho(x, c, 0), low = c->radix[c->n_digit - 1];
    for (int64_t phase = 0; phase < x->s; phase++) {
        int64_t value = first + phase % low * (rho(x, c, 1) - first);
        if (phase >= low) value += phase / low * (rho(x, c, low) - first);
        if (rho(x, c, phase) != value) return false;
    }
    return true;
}

/* One digit, else two.  */
static bool find_digits(const Phase *x, Cut *c) {
    *c = (Cut){.n_digit = 1, .radix = {x->s}, .by = x->s};
    if (is_affine(x, c)) return true;
    c->n_digit = 2;
    for (int64_t low = 2; low < x->s; low++) {
        c->radix[0] = x->s / low;
        c->radix[1] = low;
        if (x->s % low == 0 && is_affine(x, c)) return true;
    }
    return false;
}

static bool find_shift(const Phase *x, Cut *c) {
    *c = (Cut){.n_digit = 1, .radix = {x->s}, .by = x->s};
    for (; c->shift < x->s; c->shift++) {
        if (is_affine(x, c)) return true;
    }
    return false;
}

/* What lies outside counts for nothing: the term has a 0, or nobody reads the sum.  */
static void guard_reads(Norm *n, const TeStmt *s, TeExpr *e, uint32_t indices) {
    for (int i = 0; i < e->n_args; i++) guard_reads(n, s, e->args[i], indices);
    if (e->other) guard_reads(n, s, e->other, indices);
    bool moved = access_uses(e) & indices;
    if (e->kind != TE_READ || e->other ||
        (te_always_inside(e) && (!moved || normalize_inside(n->te, s, e))))
        return;
    e->other = te_expr_zero(n->a, e->type, e->pos);
    e->inside = TE_INSIDE_ALWAYS;
}

/* Cuts p, of statement k.  Says how; false: it cannot be.  */
static bool cut_result(Norm *n, int k, const Phase *x, bool *own, Cut *c) {
    if (find_digits(x, c) && cut_spread(n->te, k, x->p, c)) {
        cut_apply(n, c);
        for (int i = 0; i < n->te->n_stmt && c->clips; i++)
            if (c->index[i]) guard_reads(n, &n->te->stmt[i], n->te->stmt[i].rhs, UINT32_MAX);
        return true;
    }
    if (!find_shift(x, c) || !cut_alone(n->te, k, x->p, c) || (!*own && !cut_copy(n, k)))
        return false;
    *own = true;
    cut_alone(n->te, k, x->p, c);
    cut_apply(n, c);
    return true;
}

/* ---- the sum ---- */

static void replace_index(Norm *n, TeExpr **slot, int index, const TeExpr *by) {
    TeExpr *e = *slot;
    if (e->kind == TE_INDEX && e->v.ref == index) {
        *slot = te_expr_copy(n->a, by);
        return;
    }
    for (int i = 0; i < e->n_args; i++) replace_index(n, &e->args[i], index, by);
    if (e->other) replace_index(n, &e->other, index, by);
}

/* The test, wherever it stands, becomes what is left of it.  */
static void replace_tests(Norm *n, TeExpr **slot, const TeExpr *test, const TeExpr *by) {
    if (te_expr_same(*slot, test)) {
        *slot = te_expr_copy(n->a, by);
        return;
    }
    for (int i = 0; i < (*slot)->n_args; i++) replace_tests(n, &(*slot)->args[i], test, by);
}

/* r as it is to be, in statement s that was cut at p.  */
static Affine new_r(const Phase *x, const Cut *c) {
    int r = x->r + c->n_digit;
    int64_t first = rho(x, c, 0);
    Affine f = {.c = first};
    f.coef[r] = x->s;
    f.coef[x->p + c->n_digit] = rho(x, c, 1) - first;
    if (c->n_digit == 2) f.coef[x->p + 1] = rho(x, c, c->radix[1]) - first;
    return f;
}

/* ---- what there is too much of ---- */

/* The r as they are to be; those from `range` on, below `upto`, are too many.  */
typedef struct {
    Affine value;
    int64_t range, upto;
} Range;

/* Is some subscript outside of its dimension for all that are too many?  */
static bool leaves(const Te *te, const TeStmt *s, const TeExpr *read, const Range *r) {
    for (int d = 0; d < read->n_args; d++) {
        const TeExtent *n = &te->tensor[read->v.ref].shape[d];
        Affine f;
        if (n->expr || !access_affine(te, s, read->args[d], &f)) continue;
        for (int sign = -1; sign <= 1; sign += 2) {
            bool same = true;
            for (int i = 0; i < s->n_index; i++)
                same = same && f.coef[i] == sign * r->value.coef[i];
            for (int64_t v = r->range; v < r->upto && same; v++) {
                int64_t at = f.c + sign * (v - r->value.c);
                same = at < 0 || at >= n->value;
            }
            if (same) return true;
        }
    }
    return false;
}

/* The read that a factor is, without what keeps a 0.  */
static TeExpr *read_of(TeExpr *e) {
    while (e->kind == TE_CAST || e->kind == TE_NEG ||
           (e->kind == TE_SELECT && te_is_zero(e->args[2])))
        e = e->args[e->kind == TE_SELECT];
    bool zero = e->kind == TE_READ && (!e->other || te_is_zero(e->other));
    return zero ? e : NULL;
}

static void add_subscript(Norm *n, TeExpr *e, int tensor) {
    for (int i = 0; i < e->n_args; i++) add_subscript(n, e->args[i], tensor);
    if (e->other) add_subscript(n, e->other, tensor);
    if (e->kind != TE_READ || e->v.ref != tensor) return;
    TeExpr **args = ARENA_ARRAY(n->a, TeExpr *, e->n_args + 1);
    memcpy(args, e->args, (size_t)e->n_args * sizeof *args);
    args[e->n_args++] = te_expr_int(n->a, 0, TE_I64, e->pos);
    e->args = args;
}

/* The tensor that is read gets a dimension of stride 0, which r leaves where it is too large.  */
static void add_dimension(Norm *n, TeExpr *read, const Range *r) {
    TeTensor *t = &n->te->tensor[read->v.ref];
    t->shape[t->rank] = (TeExtent){.value = r->range, .min = r->range, .multiple = 1};
    t->stride[t->rank++] = (TeExtent){.multiple = 1};
    t->tested++;
    t->strided |= t->role != TE_TEMP;
    for (int k = 0; k < n->te->n_stmt; k++) add_subscript(n, n->te->stmt[k].rhs, read->v.ref);
    read->args[read->n_args - 1] = cut_affine(n->a, &r->value, read->pos);
}

/* e where r is not too large, else 0.  */
static TeExpr *bounded(Norm *n, TeExpr *e, const Range *r) {
    TeExpr *test = te_expr_node(n->a, TE_LT, TE_BOOL, 2, e->pos);
    test->args[0] = cut_affine(n->a, &r->value, e->pos);
    test->args[1] = te_expr_int(n->a, r->range, TE_I64, e->pos);
    TeExpr *select = te_expr_node(n->a, TE_SELECT, e->type, 3, e->pos);
    select->args[0] = test;
    select->args[1] = e;
    select->args[2] = te_expr_zero(n->a, e->type, e->pos);
    return select;
}

/* Makes both factors of the product 0 for all r that are too many, or neither: an infinity times 0
 * is none.  What has no room for a dimension, or is seen by others, is tested.  */
static bool bound_factors(Norm *n, const TeStmt *s, TeExpr *body, const Range *r) {
    while (body->kind == TE_SELECT && te_is_zero(body->args[2])) body = body->args[1];
    if (body->kind != TE_MUL) return false;
    TeExpr *read[2];
    bool inside[2], tested[2];
    for (int i = 0; i < 2; i++) {
        read[i] = read_of(body->args[i]);
        if (!read[i]) return false;
        const TeTensor *t = &n->te->tensor[read[i]->v.ref];
        inside[i] = !leaves(n->te, s, read[i], r);
        tested[i] = inside[i] && (t->role == TE_OUTPUT || t->held || t->rank >= TE_MAX_RANK);
    }
    if (inside[0] && inside[1] && read[0]->v.ref == read[1]->v.ref) return false;
    for (int i = 0; i < 2; i++) {
        if (tested[i]) body->args[i] = bounded(n, body->args[i], r);
        else if (inside[i]) add_dimension(n, read[i], r);
        if (!read[i]->other) read[i]->other = te_expr_zero(n->a, read[i]->type, read[i]->pos);
    }
    return true;
}

static void shorten_sum(Norm *n, int k, const Phase *x, const Cut *c) {
    TeStmt *s = &n->te->stmt[k];
    int r = x->r + c->n_digit;
    int64_t range = s->index[r].hi.value, shorter = ceil_div(range, x->s);
    Range all = {.value = new_r(x, c), .range = range, .upto = shorter * x->s};
    uint32_t indices = 1u << r | ((2u << c->n_digit) - 1) << x->p;
    TeExpr *always = te_expr_node(n->a, TE_BOOLEAN, TE_BOOL, 0, x->test->pos);
    always->v.i = 1;
    replace_index(n, &s->rhs->args[0], r, cut_affine(n->a, &all.value, x->test->pos));
    replace_tests(n, &s->rhs->args[0], te_expr_copy(n->a, x->test), always);
    s->index[r].hi = (TeExtent){.value = shorter, .min = shorter, .multiple = 1};
    cut_tidy(n, s, s->rhs, indices);
    guard_reads(n, s, s->rhs, indices);
    if (range < all.upto && !bound_factors(n, s, s->rhs->args[0], &all))
        s->rhs->args[0] = bounded(n, s->rhs->args[0], &all);
    normalize_fold(n, &s->rhs);
}

/* ---- results that are 0 ---- */

/* p of statement k, which is own (*spread: from before), runs over what is no 0; the statement
 * behind it puts that in its places.  */
static bool narrow_result(Norm *n, int k, const Phase *x, bool *spread) {
    Te *te = n->te;
    int64_t first = solve(x->a, x->c, x->s), all = te->stmt[k].index[x->p].hi.value;
    if (first < 0 || first >= all || (!*spread && !cut_copy(n, k))) return false;
    *spread = true;
    TeStmt *sum = &te->stmt[k], *put = &te->stmt[k + 1];
    int64_t count = ceil_div(all - first, x->s);
    uint32_t pos = sum->pos;
    Affine place = {.c = first};
    place.coef[x->p] = x->s;
    TeExpr *always = te_expr_node(n->a, TE_BOOLEAN, TE_BOOL, 0, pos);
    always->v.i = 1;
    replace_tests(n, &sum->rhs->args[0], te_expr_copy(n->a, x->test), always);
    replace_index(n, &sum->rhs->args[0], x->p, cut_affine(n->a, &place, pos));
    sum->index[x->p].hi = (TeExtent){.value = count, .min = count, .multiple = count};
    te->tensor[sum->tensor].shape[x->p] = sum->index[x->p].hi;
    normalize_dense(n, &te->tensor[sum->tensor]);
    cut_tidy(n, sum, sum->rhs, 1u << x->p);
    guard_reads(n, sum, sum->rhs, 1u << x->p);
    normalize_fold(n, &sum->rhs);

    TeExpr *read = put->rhs, *select = te_expr_node(n->a, TE_SELECT, read->type, 3, pos);
    TeExpr *at = te_expr_node(n->a, TE_EQ, TE_BOOL, 2, pos);
    while (read->kind == TE_SELECT) read = read->args[1];
    for (int i = 0; i < 2; i++) {
        TeExpr *part = te_expr_node(n->a, i ? TE_MOD : TE_DIV, TE_I64, 2, pos);
        part->args[0] = te_expr_index(n->a, x->p, pos);
        part->args[1] = te_expr_int(n->a, x->s, TE_I64, pos);
        *(i ? &at->args[0] : &read->args[x->p]) = part;
    }
    at->args[1] = te_expr_int(n->a, first, TE_I64, pos);
    if ((all - 1) / x->s >= count && !read->other)
        read->other = te_expr_zero(n->a, read->type, pos);
    select->args[0] = at;
    select->args[1] = put->rhs;
    select->args[2] = te_expr_zero(n->a, read->type, pos);
    put->rhs = select;
    n->changed[k] = n->changed[k + 1] = true;
    return true;
}

static bool is_phased(const Te *te, const TeStmt *s, Phase *x) {
    return s->rhs->kind == TE_REDUCE && s->rhs->red == TE_RED_SUM &&
           find_phase(te, s, s->rhs->args[0], false, x);
}

void normalize_phase(Norm *n) {
    Te *te = n->te;
    bool any = false;
    Cut *c = ARENA_NEW(n->a, Cut);
    for (int k = 0; k < te->n_stmt; k++) {
        Phase x;
        bool own = false, spread = false;
        while (is_phased(te, &te->stmt[k], &x) && te_takes(te, &te->stmt[k], TE_PHASED)) {
            bool copied = own;
            if (x.r < 0 ? !narrow_result(n, k, &x, &spread) : !cut_result(n, k, &x, &own, c)) break;
            normalize_note(n, x.r < 0 ? TE_MADE_SPREAD : TE_MADE_PHASES, true);
            if (x.r >= 0) shorten_sum(n, k, &x, c);
            if (own && !copied) spread = false;           /* that is behind another one now */
            any = true;
        }
    }
    if (!any) return;
    normalize_inline(n);
    for (int k = 0; k < te->n_stmt; k++) n->changed[k] |= normalize_fold(n, &te->stmt[k].rhs);
}
