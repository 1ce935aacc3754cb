/* What an op asks for whatever its kernels are: a bound from below, so what some kernel could
 * leave out does not count.
 *
 *   bytes: each element of an input that is read, and of an output, once
 *   share: 1 less the shares of points at which conditions on indices, or ends of tensors, make a
 *       constant of a term (masks of attention, zeros around a convolution); they may overlap, so
 *       all are taken off. Maps that read each other have their masks in common, and a product has
 *       those of the maps that it reads and of those that read it.
 *   flops, functions: of the statement that asks for most, since another one may have made the same
 *       value; equal subexpressions once, each for the indices that it depends on; no products
 *
 * A condition on data is taken to hold.  One on indices that nobody counts here is taken never to
 * hold where that makes the bound smaller.  */
#include "rtile/facts.h"
#include "te/tree/tree.h"

/* ---- conditions on indices ---- */

enum { MOST_STEPS = 1 << 20 };

typedef struct {
    const TeStmt *s;
    const Affine *f;
    int64_t lo, hi;           /* lo <= f < hi */
    int index[TE_MAX_INDICES], n;         /* those that f depends on, the longest first */
} Range;

static int64_t down(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* For how many x of 0..n-1 is lo <= base + c * x < hi?  */
static double inside_along(int64_t n, int64_t c, int64_t base, int64_t lo, int64_t hi) {
    int64_t first = c > 0 ? -down(base - lo, c) : -down(hi - 1 - base, -c);
    int64_t end = c > 0 ? down(hi - 1 - base, c) + 1 : down(base - lo, -c) + 1;
    if (first < 0) first = 0;
    if (end > n) end = n;
    return end > first ? (double)(end - first) : 0;
}

static double inside(const Range *r, int n, int64_t base) {
    if (n == 0) return r->lo <= base && base < r->hi;
    int i = r->index[n - 1];
    int64_t extent = te_index_extent(&r->s->index[i]), c = r->f->coef[i];
    double points = 0;
    if (n == 1) return inside_along(extent, c, base, r->lo, r->hi);
    for (int64_t x = 0; x < extent; x++) points += inside(r, n - 1, base + c * x);
    return points;
}

/* The share of the points of a statement at which lo <= f < hi; 0 if there are too many.  */
static double share_inside(const TeStmt *s, const Affine *f, int64_t lo, int64_t hi) {
    Range r = {.s = s, .f = f, .lo = lo, .hi = hi};
    double points = 1, steps = 1;
    for (int i = 0; i < s->n_index; i++) {
        int64_t extent = te_index_extent(&s->index[i]);
        if (extent <= 0) return 0;
        if (f->coef[i] == 0) continue;
        points *= (double)extent;
        r.index[r.n++] = i;
        if (extent <= te_index_extent(&s->index[r.index[0]])) continue;
        r.index[r.n - 1] = r.index[0];
        r.index[0] = i;
    }
    for (int k = 1; k < r.n; k++) steps *= (double)te_index_extent(&s->index[r.index[k]]);
    return steps > MOST_STEPS ? 0 : inside(&r, r.n, f->c) / points;
}

/* x < y for affine x and y, or x <= y.  */
static double share_less(const Te *te, const TeStmt *s, const TeExpr *x, const TeExpr *y,
                         bool equal) {
    Affine a, b;
    if (!access_affine(te, s, x, &a) || !access_affine(te, s, y, &b)) return 0;
    for (int i = 0; i < TE_MAX_INDICES; i++) a.coef[i] -= b.coef[i];
    a.c -= b.c;
    return share_inside(s, &a, INT32_MIN, equal);
}

static bool on_data(const TeExpr *e) {
    bool any = e->kind == TE_READ || e->kind == TE_SCALAR;
    for (int i = 0; i < e->n_args && !any; i++) any = on_data(e->args[i]);
    return any;
}

/* The share of points at which the condition is `value`, at the least.  */
static double share_of(const Te *te, const TeStmt *s, const TeExpr *e, bool value) {
    const TeExpr *x = e->n_args > 0 ? e->args[0] : NULL, *y = e->n_args > 1 ? e->args[1] : NULL;
    if (e->kind == TE_BOOLEAN) return (e->v.i != 0) == value;
    if (e->kind == TE_NOT) return share_of(te, s, x, !value);
    if (e->kind == TE_AND || e->kind == TE_OR) {
        double a = share_of(te, s, x, value), b = share_of(te, s, y, value);
        bool both = (e->kind == TE_AND) == value;
        double most = a > b ? a : b, least = a + b - 1;
        return !both ? most : least > 0 ? least : 0;
    }
    if (on_data(e)) return 1;
    switch (e->kind) {
    case TE_LT: return value ? share_less(te, s, x, y, false) : share_less(te, s, y, x, true);
    case TE_LE: return value ? share_less(te, s, x, y, true) : share_less(te, s, y, x, false);
    case TE_GT: return value ? share_less(te, s, y, x, false) : share_less(te, s, x, y, true);
    case TE_GE: return value ? share_less(te, s, y, x, true) : share_less(te, s, x, y, false);
    default: return 0;
    }
}

/* ---- masks ---- */

static double outside_read(const Te *te, const TeStmt *s, const TeExpr *read) {
    Access a;
    double n = 0;
    access_read(te, s, read, &a);
    for (int d = 0; d < te->tensor[a.tensor].rank; d++) {
        Affine f;
        if (!a.guard[d] || on_data(read->args[d])) continue;
        n += access_affine(te, s, read->args[d], &f)
                 ? 1 - share_inside(s, &f, 0, te->tensor[a.tensor].shape[d].value) : 1;
    }
    return n;
}

/* Shares of points, all added up, at which something below e is a constant.  Ends of tensors count
 * in products alone: what a product reads as zero adds nothing.  */
static double masked(const Te *te, const TeStmt *s, const TeExpr *e, bool product) {
    double n = product && e->kind == TE_READ ? outside_read(te, s, e) : 0;
    if (e->kind == TE_SELECT && (te_is_literal(e->args[1]) || te_is_literal(e->args[2])))
        n += 1 - share_of(te, s, e->args[0], !te_is_literal(e->args[1]));
    for (int i = 0; i < e->n_args && e->kind != TE_READ; i++)
        n += masked(te, s, e->args[i], product);
    return n;
}

/* Statements that are no products, joined where one reads what the other makes.  */
typedef struct {
    const Te *te;
    int maker[TE_MAX_TENSORS];            /* of a tensor; -1: none */
    bool product[TE_MAX_STMTS];
    int up[TE_MAX_STMTS];     /* towards the one that stands for all it is joined with */
    double masked[TE_MAX_STMTS];          /* of that one: of all */
    int seen[TE_MAX_STMTS];   /* the last product that counted it */
} Joined;

static int standing(Joined *x, int i) {
    while (x->up[i] != i) i = x->up[i] = x->up[x->up[i]];
    return i;
}

static double of_neighbour(Joined *x, int product, int i) {
    int j = standing(x, i);
    if (x->product[i] || x->seen[j] == product) return 0;
    x->seen[j] = product;
    return x->masked[j];
}

static void join(Joined *x) {
    const Te *te = x->te;
    for (int t = 0; t < te->n_tensor; t++) x->maker[t] = -1;
    for (int i = 0; i < te->n_stmt; i++) {
        Contraction c;
        const char *why;
        x->maker[te->stmt[i].tensor] = x->up[i] = i;
        x->seen[i] = -1;
        x->product[i] = access_contraction(te, i, &c, &why) && c.product && c.n_operand > 1;
        ReadList read = access_reads(te->stmt[i].rhs);
        for (int k = 0; k < read.n && !x->product[i]; k++) {
            int j = x->maker[read.at[k]->v.ref];
            if (j >= 0 && !x->product[j]) x->up[standing(x, j)] = i;
        }
    }
    for (int i = 0; i < te->n_stmt; i++)
        if (!x->product[i])
            x->masked[standing(x, i)] += masked(te, &te->stmt[i], te->stmt[i].rhs, false);
}

static void count_shares(Joined *x, double *share) {
    const Te *te = x->te;
    for (int i = 0; i < te->n_stmt; i++) {
        const TeExpr *e = te->stmt[i].rhs;
        ReadList read = access_reads(e);
        share[i] = 1 - (x->product[i] ? masked(te, &te->stmt[i], e, true)
                                      : x->masked[standing(x, i)]);
        for (int k = 0; k < read.n; k++) {
            int j = x->maker[read.at[k]->v.ref];
            if (j < 0 || x->product[i] == x->product[j]) continue;
            if (x->product[i]) share[i] -= of_neighbour(x, i, j);
            else share[j] -= of_neighbour(x, j, i);
        }
    }
    for (int i = 0; i < te->n_stmt; i++)
        if (share[i] < 0) share[i] = 0;
}

/* ---- arithmetic ---- */

enum { MOST_NODES = 64 };

typedef struct {
    const Te *te;
    const TeStmt *s;
    const TeExpr *seen[MOST_NODES];
    int n;
    double flops, functions;
} Arithmetic;

static double points_of(const TeStmt *s, uint32_t indices) {
    double n = 1;
    for (int i = 0; i < s->n_index; i++)
        if (indices >> i & 1) n *= (double)te_index_extent(&s->index[i]);
    return n;
}

/* The indices of the points at which a term is added: a walk meets each term once.  */
static uint32_t folded(const TeStmt *s, const TeExpr *reduce) {
    Scan scan;
    bool walk = reduce == s->rhs && access_scan(s, &scan);
    return walk ? ~((uint32_t)1 << scan.over) : UINT32_MAX;
}

static void count(Arithmetic *x, const TeExpr *e, bool product, double share) {
    bool sum = e->type == TE_F32 && (e->kind == TE_ADD || e->kind == TE_SUB || e->kind == TE_MUL);
    sum &= !product;
    if (e->kind == TE_READ) return;
    if (e->kind == TE_SELECT) {
        count(x, e->args[1], product, share * share_of(x->te, x->s, e->args[0], true));
        count(x, e->args[2], product, share * share_of(x->te, x->s, e->args[0], false));
        return;
    }
    if (sum || expr_is_function(e)) {
        for (int i = 0; i < x->n; i++)
            if (access_same(x->seen[i], e)) return;
        if (x->n == MOST_NODES) return;
        x->seen[x->n++] = e;
        *(sum ? &x->flops : &x->functions) += share * points_of(x->s, access_uses(e));
    }
    if (e->kind == TE_REDUCE && e->type == TE_F32 && !product)
        x->flops += share * points_of(x->s, folded(x->s, e));
    for (int i = 0; i < e->n_args; i++) count(x, e->args[i], product, share);
}

/* ---- bytes ---- */

/* Elements that a read touches.  Where data say which, it may be one.  */
static double touched(const Te *te, const TeStmt *s, const TeExpr *read) {
    Access a;
    access_read(te, s, read, &a);
    double points = points_of(s, a.uses), n = 1;
    if (a.affine) n = (double)access_unique(te, s, &a);
    for (int d = 0; d < te->tensor[a.tensor].rank && !a.affine; d++) {
        const TeTensor *t = &te->tensor[a.tensor];
        bool moves = t->stride[d].expr || t->stride[d].value != 0;
        if (moves && !on_data(read->args[d])) n *= (double)t->shape[d].value;
    }
    return n < points ? n : points;
}

/* Reads of a tensor of which no two touch the same element.  */
typedef struct {
    const Te *te;
    int tensor, n;
    const TeExpr *read[MOST_NODES];
} Apart;

/* May the read be one more of them?  The first may be any.  */
static bool is_apart(const Apart *x, const TeStmt *s, const TeExpr *read) {
    bool apart = read->v.ref == x->tensor && (x->n == 0 || access_unconditional(s->rhs, read));
    for (int i = 0; i < x->n && apart; i++) apart = access_apart(x->te, x->read[i], read);
    return apart;
}

/* Adds the one that touches most; its elements, 0: there is no other.  */
static double add_apart(Apart *x) {
    double most = 0;
    for (int i = 0; i < x->te->n_stmt; i++) {
        const TeStmt *s = &x->te->stmt[i];
        ReadList read = access_reads(s->rhs);
        for (int j = 0; j < read.n; j++) {
            double n = is_apart(x, s, read.at[j]) ? touched(x->te, s, read.at[j]) : 0;
            if (n <= most) continue;
            most = n;
            x->read[x->n] = read.at[j];
        }
    }
    x->n += most > 0;
    return most;
}

/* Of reads that may share elements the one that touches most stands for all.  */
static double read_of(const Te *te, int tensor) {
    Apart x = {.te = te, .tensor = tensor};
    double n = 0, more = 1;
    while (more > 0 && x.n < MOST_NODES) n += more = add_apart(&x);
    return n * te_dtype_bytes(te->tensor[tensor].dtype);
}

static void count_bytes(const Te *te, RWork *out) {
    for (int t = 0; t < te->n_in; t++) {
        if (te->tensor[t].role == TE_INPUT) out->reads += read_of(te, t);
    }
    for (int i = 0; i < te->n_stmt; i++) {
        const TeStmt *s = &te->stmt[i];
        if (te->tensor[s->tensor].role != TE_OUTPUT) continue;
        out->writes += points_of(s, ((uint32_t)1 << s->n_left) - 1) *
                       te_dtype_bytes(te->tensor[s->tensor].dtype);
    }
}

void rtile_op_work(const Te *te, RWork *out) {
    Joined joined = {.te = te};
    *out = (RWork){0};
    count_bytes(te, out);
    join(&joined);
    count_shares(&joined, out->share);
    for (int i = 0; i < te->n_stmt; i++) {
        Arithmetic x = {.te = te, .s = &te->stmt[i]};
        count(&x, te->stmt[i].rhs, joined.product[i], out->share[i]);
        if (x.functions > out->functions) out->functions = x.functions;
        if (x.flops > out->flops) out->flops = x.flops;
    }
}
