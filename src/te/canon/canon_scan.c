/* One spelling for reductions that run to their own place: red[r](r <= i ? term : identity), with
 * <, >= and > likewise.  The order may be written in any way that is affine, be one of several
 * conditions, stand around or inside of others, be the 0 of a factor, or a conjunct below `any`.
 *
 * Holds for all data where the term itself is what the reduction gives over nothing wherever the
 * order does not hold.  A factor may be 0 there for integers; for reals, whose other factor may be
 * infinite or NaN, that 0 has to pad: indices alone choose it (te_pads).  A maximum over terms and
 * a literal, which stands wherever the order does not hold, is that of the walk and, where it does
 * not hold somewhere, the literal.  Terms are taken in any order, so a scan may begin at either
 * end, but for positions.  */
#include "te/access/access.h"
#include "te/canon/canon.h"
#include "te/edit/scan.h"
#include "te/tree/tree.h"

typedef struct {
    Norm *n;
    const TeStmt *s;
    const TeExpr *reduce;
} Rule;

/* What an expression is of the reduction: its terms, or a factor of the terms of a sum, of integers
 * or of reals.  A term may be left out where a factor is 0: of integers any 0, of reals one that
 * pads (te_pads).  */
typedef enum { TERM, FACTOR, REAL_FACTOR } Place;

/* What a condition or a body comes to: an order of indices, and what is left without it.  */
typedef struct {
    TeExpr *order, *rest;     /* rest: NULL: nothing */
} Parts;

static TeExpr *node2(const Rule *x, TeKind kind, TeDtype type, TeExpr *a, TeExpr *b) {
    TeExpr *e = te_expr_node(x->n->a, kind, type, 2, a->pos);
    e->args[0] = a;
    e->args[1] = b;
    return e;
}

static TeExpr *choice(const Rule *x, TeDtype type, TeExpr *condition, TeExpr *value,
                      TeExpr *other) {
    TeExpr *e = te_expr_node(x->n->a, TE_SELECT, type, 3, value->pos);
    e->args[0] = condition;
    e->args[1] = value;
    e->args[2] = other;
    return e;
}

/* The same value in the type that it had in its place.  */
static TeExpr *typed(const Rule *x, TeExpr *e, TeDtype type) {
    if (e->type == type) return e;
    TeExpr *cast = te_expr_node(x->n->a, TE_CAST, type, 1, e->pos);
    cast->args[0] = e;
    return cast;
}

static bool is_reduced(const Rule *x, int index) {
    for (int i = 0; i < x->reduce->n_index; i++) {
        if (x->reduce->index[i] == index) return true;
    }
    return false;
}

/* The two indices of f = +-(over - left) + c.  */
static bool two_indices(const Rule *x, const Affine *f, int *over, int *left) {
    *over = *left = -1;
    for (int i = 0; i < x->s->n_index; i++) {
        if (f->coef[i] == 0) continue;
        int *which = is_reduced(x, i) ? over : left;
        if (*which >= 0 || (f->coef[i] != 1 && f->coef[i] != -1)) return false;
        *which = i;
    }
    return *over >= 0 && *left >= 0 && *left < x->s->n_left &&
           f->coef[*over] == -f->coef[*left] &&
           te_extent_same(&x->s->index[*over].hi, &x->s->index[*left].hi);
}

static TeKind inverse(TeKind kind) {
    return kind == TE_LT ? TE_GE : kind == TE_LE ? TE_GT : kind == TE_GT ? TE_LE : TE_LT;
}

/* A comparison (`not`: its opposite) as one of r with i; NULL: it is none.  */
static TeExpr *order_of(const Rule *x, const TeExpr *e, bool not) {
    Affine f;
    int over, left;
    if (e->kind < TE_LT || e->kind > TE_GE || te_dtype_class(e->args[0]->type) != TE_CLASS_INT ||
        te_dtype_class(e->args[1]->type) != TE_CLASS_INT)
        return NULL;
    TeKind kind = not ? inverse(e->kind) : e->kind;
    bool up = kind == TE_LT || kind == TE_LE, strict = kind == TE_LT || kind == TE_GT;
    TeExpr difference = {.kind = TE_SUB, .type = TE_I64, .n_args = 2, .args = e->args};
    if (!access_affine(x->n->te, x->s, &difference, &f) || !two_indices(x, &f, &over, &left))
        return NULL;
    /* As over - left + c <= 0, or left - over + c <= 0.  */
    bool forward = (f.coef[over] > 0) == up;
    int64_t c = (up ? f.c : -f.c) + strict;
    if (c != 0 && c != 1) return NULL;
    return node2(x, forward ? (c ? TE_LT : TE_LE) : c ? TE_GT : TE_GE, TE_BOOL,
                 te_expr_index(x->n->a, over, e->pos), te_expr_index(x->n->a, left, e->pos));
}

/* A conjunction of an order and others; `not`: its opposite is.  */
static bool part_condition(const Rule *x, TeExpr *e, bool not, Parts *out) {
    if (e->kind == TE_NOT) return part_condition(x, e->args[0], !not, out);
    out->rest = NULL;
    if ((out->order = order_of(x, e, not))) return true;
    if (e->kind != (not ? TE_OR : TE_AND)) return false;
    for (int i = 0; i < 2; i++) {
        TeExpr *other = e->args[!i];
        if (!part_condition(x, e->args[i], not, out)) continue;
        if (not) {
            TeExpr *opposite = te_expr_node(x->n->a, TE_NOT, TE_BOOL, 1, other->pos);
            opposite->args[0] = other;
            other = opposite;
        }
        out->rest = out->rest ? node2(x, TE_AND, TE_BOOL, other, out->rest) : other;
        return true;
    }
    return false;
}

static bool is_one(const TeExpr *e) {
    return (e->kind == TE_REAL && e->v.r == 1) || (e->kind == TE_INT && e->v.i == 1);
}

static bool part_body(const Rule *x, TeExpr *e, Place place, Parts *out);

static bool part_product(const Rule *x, TeExpr *e, Place place, Parts *out) {
    bool real = place == REAL_FACTOR || te_dtype_class(e->type) == TE_CLASS_REAL;
    for (int i = 0; i < 2; i++) {
        TeExpr *other = e->args[!i];
        if (!part_body(x, e->args[i], real ? REAL_FACTOR : FACTOR, out)) continue;
        bool alone = is_one(out->rest) && other->type == e->type && te_own_type(other);
        TeExpr *rest = typed(x, out->rest, e->type), *by = typed(x, other, e->type);
        out->rest = alone ? other : node2(x, TE_MUL, e->type, i ? by : rest, i ? rest : by);
        return true;
    }
    return false;
}

static bool part_choice(const Rule *x, TeExpr *e, Place place, Parts *out) {
    TeRedop red = (TeRedop)x->reduce->red;
    if (place == REAL_FACTOR && !te_pads(e)) return false;
    for (int i = 1; i < 3; i++) {
        Parts of;
        if (!scan_is_identity(red, e->args[i]) ||
            !part_condition(x, e->args[0], i == 1, &of))
            continue;
        out->order = of.order;
        out->rest = typed(x, e->args[3 - i], e->type);
        if (of.rest) out->rest = choice(x, e->type, of.rest, out->rest, e->args[i]);
        return true;
    }
    /* An order inside of another condition goes out of it.  */
    if (!scan_is_identity(red, e->args[2]) || !part_body(x, e->args[1], place, out)) return false;
    out->rest = choice(x, e->type, e->args[0], out->rest, e->args[2]);
    return true;
}

/* any[r](r <= i && e), all[r](r > i || e).  */
static bool part_logic(const Rule *x, TeExpr *e, Parts *out) {
    bool all = x->reduce->red == TE_RED_ALL;
    for (int i = 0; i < 2; i++) {
        Parts of;
        if (!part_condition(x, e->args[i], all, &of) || (all && of.rest)) continue;
        out->order = of.order;
        out->rest = of.rest ? node2(x, TE_AND, TE_BOOL, of.rest, e->args[!i]) : e->args[!i];
        return true;
    }
    return false;
}

/* X[i - r], X[i + r] with the identity outside: where r is what the read has there, X[r].  */
static bool part_shift(const Rule *x, TeExpr *e, Parts *out) {
    const TeTensor *t = &x->n->te->tensor[e->v.ref];
    int over, left, at = -1;
    Affine f;
    if (!e->other || !scan_is_identity((TeRedop)x->reduce->red, e->other)) return false;
    for (int d = 0; d < e->n_args; d++) {
        if (!(access_uses(e->args[d]) >> x->reduce->index[0] & 1)) continue;
        if (at >= 0) return false;
        at = d;
    }
    if (at < 0 || !access_affine(x->n->te, x->s, e->args[at], &f)) return false;
    over = x->reduce->index[0];
    for (left = 0; left < x->s->n_left && f.coef[left] == 0;) left++;
    bool down = f.coef[over] == 1;
    if (left == x->s->n_left || f.coef[left] != 1 || (f.coef[over] != -1 && !down)) return false;
    f.coef[left] = f.coef[over] = 0;
    for (int i = 0; i < x->s->n_index; i++) {
        if (f.coef[i] != 0) return false;
    }
    if (f.c != 0 && f.c != (down ? 1 : -1)) return false;
    if (!te_extent_same(&x->s->index[over].hi, &x->s->index[left].hi) ||
        !te_extent_same(&x->s->index[over].hi, &t->shape[at]))
        return false;
    TeExpr *read = te_expr_copy(x->n->a, e);
    read->args[at] = te_expr_index(x->n->a, over, e->pos);
    *out = (Parts){node2(x, down ? (f.c ? TE_GT : TE_GE) : f.c ? TE_LT : TE_LE, TE_BOOL,
                         te_expr_index(x->n->a, over, e->pos),
                         te_expr_index(x->n->a, left, e->pos)),
                   read};
    return true;
}

/* What is the identity (a factor: 0) wherever an order of indices does not hold.  */
static bool part_body(const Rule *x, TeExpr *e, Place place, Parts *out) {
    TeRedop red = (TeRedop)x->reduce->red;
    if (e->kind == TE_SELECT) return part_choice(x, e, place, out);
    if (e->kind == TE_MUL && red == TE_RED_SUM) return part_product(x, e, place, out);
    if (place != TERM) return false;
    if (e->kind == TE_READ && !te_positional(x->reduce)) return part_shift(x, e, out);
    return ((e->kind == TE_AND && red == TE_RED_ANY) || (e->kind == TE_OR && red == TE_RED_ALL)) &&
           part_logic(x, e, out);
}

static TeExpr *identity_of(const Rule *x) {
    const TeExpr *e = x->reduce->args[0];
    TeExpr *v = te_expr_zero(x->n->a, e->type, e->pos);
    TeRedop red = x->reduce->red == TE_RED_ARGMAX   ? TE_RED_MAX
                  : x->reduce->red == TE_RED_ARGMIN ? TE_RED_MIN
                                                    : (TeRedop)x->reduce->red;
    int64_t i;
    double r;
    te_identity(red, e->type, &i, &r);
    if (v->kind == TE_REAL) v->v.r = r;
    else v->v.i = i;
    return v;
}

static bool respell(Norm *n, int k) {
    TeStmt *s = &n->te->stmt[k];
    Rule x = {n, s, s->rhs};
    Parts p;
    Scan scan;
    if (s->rhs->kind != TE_REDUCE || s->rhs->n_index != 1 || te_is_recurrence(s->rhs) ||
        access_scan(s, &scan) ||
        !part_body(&x, s->rhs->args[0], TERM, &p))
        return false;
    if (access_uses(p.rest) >> p.order->args[1]->v.ref & 1) return false;
    p.rest = te_expr_copy(n->a, p.rest);
    normalize_guard_reads(n, p.rest);
    s->rhs->args[0] = choice(&x, s->rhs->args[0]->type, p.order, p.rest, identity_of(&x));
    te_expr_list_reads(n->a, s->rhs);
    n->changed[k] = true;
    return access_scan(s, &scan);
}

/* ---- a number instead of the identity ---- */

/* Is there a place at which the order does not hold?  NULL: at every i.  */
static TeExpr *some_beyond(const Rule *x, const TeExpr *order) {
    TeExpr *i = te_expr_copy(x->n->a, order->args[1]);
    const TeExtent *n = &x->s->index[i->v.ref].hi;
    uint32_t pos = order->pos;
    if (order->kind == TE_GE)
        return node2(x, TE_GT, TE_BOOL, i, te_expr_int(x->n->a, 0, TE_I64, pos));
    if (order->kind != TE_LE) return NULL;
    TeExpr *end = n->expr ? te_expr_copy(x->n->a, n->expr)
                          : te_expr_int(x->n->a, n->value, TE_I64, pos);
    TeExpr *next = node2(x, TE_ADD, TE_I64, i, te_expr_int(x->n->a, 1, TE_I64, pos));
    return node2(x, TE_LT, TE_BOOL, next, end);
}

/* The reduction of (order ? term : floor), as that of (order ? term : identity) and the floor.  */
static TeExpr *with_floor(const Rule *x, const TeExpr *order, const TeExpr *term,
                          const TeExpr *floor) {
    Arena *a = x->n->a;
    TeDtype type = x->reduce->type;
    TeExpr *beyond = some_beyond(x, order), *value = te_expr_copy(a, floor);
    TeExpr *all = te_expr_node(a, TE_CALL, type, 2, x->reduce->pos);
    if (beyond) value = choice(x, type, beyond, value, identity_of(x));
    all->v.fn = x->reduce->red == TE_RED_MAX ? TE_FN_MAX : TE_FN_MIN;
    all->args[0] = te_expr_copy(a, x->reduce);
    all->args[0]->args[0] = choice(x, type, te_expr_copy(a, order), te_expr_copy(a, term),
                                   identity_of(x));
    all->args[1] = value;
    return all;
}

/* Statement k becomes two: the walk, and what it is no less (no more) than.  */
static bool part_floor(Norm *n, int k) {
    TeStmt s = n->te->stmt[k];
    Rule x = {n, &s, s.rhs};
    const TeExpr *body = s.rhs->kind == TE_REDUCE && s.rhs->n_index == 1 ? s.rhs->args[0] : NULL;
    bool extreme = body && (s.rhs->red == TE_RED_MAX || s.rhs->red == TE_RED_MIN);
    if (!extreme || body->kind != TE_SELECT || n->te->n_stmt + 1 >= TE_MAX_STMTS) return false;
    for (int i = 1; i < 3; i++) {
        const TeExpr *floor = body->args[i], *term = body->args[3 - i];
        Parts p;
        bool literal = floor->kind == TE_REAL || floor->kind == TE_INT;
        if (!literal || floor->type != s.rhs->type || term->type != s.rhs->type ||
            scan_is_identity((TeRedop)s.rhs->red, floor) ||
            !part_condition(&x, body->args[0], i == 1, &p) || p.rest ||
            access_uses(term) >> p.order->args[1]->v.ref & 1)
            continue;
        HoistFrom from = {NULL, &s, n->origin[k]};
        int before = n->te->n_stmt;
        s.rhs = with_floor(&x, p.order, term, floor);
        if (normalize_hoist(n, &from, k, &s.rhs->args[0], false)) return false;
        te_expr_list_reads(n->a, n->te->stmt[k].rhs);
        te_expr_list_reads(n->a, s.rhs);
        normalize_indices(&s);
        s.asg = TE_ASSIGN;
        s.accum = TE_DTYPE_COUNT;
        k += n->te->n_stmt > before;
        n->te->stmt[k] = s;
        n->changed[k] = true;
        return true;
    }
    return false;
}

/* ---- from the other end ---- */

/* Reads of a tensor that have extent - 1 - j in dimension d.  */
typedef struct {
    int tensor, d;
    bool turns;               /* they get j instead */
    int count;                /* those seen */
} Mirrored;

/* Are all reads of the tensor below e such?  */
static bool reads_mirrored(Norm *n, const TeStmt *s, TeExpr *e, Mirrored *x) {
    bool all = true;
    for (int i = 0; i < e->n_args; i++) all &= reads_mirrored(n, s, e->args[i], x);
    if (e->other) all &= reads_mirrored(n, s, e->other, x);
    if (e->kind != TE_READ || e->v.ref != x->tensor) return all;
    Affine f;
    int moving = 0, j = 0;
    if (!access_affine(n->te, s, e->args[x->d], &f)) return false;
    for (int i = 0; i < s->n_index; i++) {
        if (f.coef[i] == 0) continue;
        moving++;
        j = i;
    }
    if (moving != 1 || f.coef[j] != -1 || f.c != n->te->tensor[x->tensor].shape[x->d].value - 1)
        return false;
    if (x->turns) e->args[x->d] = te_expr_index(n->a, j, e->pos);
    x->count++;
    return all;
}

static void mirror_index(Norm *n, TeExpr **slot, int index, int64_t extent) {
    TeExpr *e = *slot;
    if (e->kind == TE_INDEX && e->v.ref == index) {
        *slot = te_expr_node(n->a, TE_SUB, TE_I64, 2, e->pos);
        (*slot)->args[0] = te_expr_int(n->a, extent - 1, TE_I64, e->pos);
        (*slot)->args[1] = e;
        return;
    }
    for (int i = 0; i < e->n_args; i++) mirror_index(n, &e->args[i], index, extent);
    if (e->other) mirror_index(n, &e->other, index, extent);
}

/* A scan that is read from its end on is one from there: flip(cumsum(flip(x))).  */
static bool mirror(Norm *n, int k) {
    Te *te = n->te;
    TeStmt *s = &te->stmt[k];
    const TeTensor *t = &te->tensor[s->tensor];
    Scan scan;
    bool all = te_is_passing(t) && access_scan(s, &scan) && !te_is_paired(s->rhs) &&
               !t->shape[scan.index].expr;
    if (!all) return false;
    Mirrored x = {.tensor = s->tensor, .d = scan.index};
    for (int i = k + 1; i < te->n_stmt && all; i++)
        all = reads_mirrored(n, &te->stmt[i], te->stmt[i].rhs, &x);
    if (!all || x.count == 0) return false;
    x.turns = true;
    for (int i = k + 1; i < te->n_stmt; i++) {
        x.count = 0;
        reads_mirrored(n, &te->stmt[i], te->stmt[i].rhs, &x);
        if (x.count > 0) te_expr_list_reads(n->a, te->stmt[i].rhs);
        n->changed[i] |= x.count > 0;
    }
    TeExpr *body = s->rhs->args[0], *order = body->args[0];
    order->kind = scan.reversed ? (scan.exclusive ? TE_LT : TE_LE)
                                : scan.exclusive ? TE_GT : TE_GE;
    mirror_index(n, &body->args[1], scan.over, t->shape[scan.index].value);
    te_expr_list_reads(n->a, s->rhs);
    n->changed[k] = true;
    return true;
}

/* A recurrence comes as a scan, but for reads that only the conditions around them keep inside.  */
static bool guard_recurrence(Norm *n, int k) {
    TeStmt *s = &n->te->stmt[k];
    Scan scan;
    if (!te_is_recurrence(s->rhs) || access_scan(s, &scan)) return false;
    normalize_guard_reads(n, s->rhs);
    te_expr_list_reads(n->a, s->rhs);
    n->changed[k] = true;
    return access_scan(s, &scan);
}

bool canon_scan(Norm *n) {
    bool any = false;
    for (int k = 0; k < n->te->n_stmt; k++) {
        any |= normalize_note(n, TE_MADE_SCANS, part_floor(n, k));
        any |= normalize_note(n, TE_MADE_SCANS, respell(n, k) || guard_recurrence(n, k));
        any |= normalize_note(n, TE_MADE_MIRRORED, mirror(n, k));
    }
    return any;
}
