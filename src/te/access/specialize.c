/* Run-time sizes take their values.  */
#include "te/access/access.h"
#include "te/tree/arith.h"
#include "te/tree/tree.h"
#include <inttypes.h>
#include <string.h>

/* The values of all sizes; a let is evaluated once, whatever refers to it.  */
typedef struct {
    const Te *te;
    Arena *a;                 /* for what is made of them */
    int64_t size[TE_MAX_SIZES];
} Values;

static int64_t evaluate(const TeExpr *e, const Values *v);

static int64_t extreme(const TeExpr *e, const Values *v) {
    int64_t best = evaluate(e->args[0], v);
    for (int i = 1; i < e->n_args; i++) {
        int64_t x = evaluate(e->args[i], v);
        if (e->v.fn == TE_FN_MIN ? x < best : x > best) best = x;
    }
    return best;
}

/* te_parse proved that nothing overflows and no divisor is 0, for sizes in their ranges; out of
 * them the result is 0.  */
static int64_t evaluate(const TeExpr *e, const Values *v) {
    int64_t x, y, r = 0;
    switch (e->kind) {
    case TE_INT: return e->v.i;
    case TE_SIZE: return v->size[e->v.ref];
    case TE_NEG: return mul_fits(evaluate(e->args[0], v), -1, &r) ? r : 0;
    case TE_CALL: return extreme(e, v);
    default: break;
    }
    x = evaluate(e->args[0], v);
    y = evaluate(e->args[1], v);
    switch (e->kind) {
    case TE_ADD: return add_fits(x, y, &r) ? r : 0;
    case TE_SUB: return y > INT64_MIN && add_fits(x, -y, &r) ? r : 0;
    case TE_MUL: return mul_fits(x, y, &r) ? r : 0;
    default: break;
    }
    if (y == 0 || (y == -1 && x == INT64_MIN)) return 0;
    return e->kind == TE_DIV ? floor_div(x, y) : floor_mod(x, y);
}

static void values(const Te *te, const int64_t *given, Values *v) {
    v->te = te;
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        if (s->kind == TE_SIZE_RUNTIME)
            v->size[i] = given[i];
        else if (s->kind == TE_SIZE_LET && s->extent.expr)
            v->size[i] = evaluate(s->extent.expr, v);
        else
            v->size[i] = s->extent.value;
    }
}

int64_t te_extent_eval(const Te *te, const TeExtent *e, const int64_t *value) {
    Values v;
    if (!e->expr) return e->value;
    values(te, value, &v);
    return evaluate(e->expr, &v);
}

static void set(TeExtent *e, const Values *v) {
    if (!e->expr) return;
    e->value = e->min = evaluate(e->expr, v);
    e->multiple = e->value > 1 ? e->value : 1;
    if (!e->written) e->written = e->expr;
    e->expr = NULL;
}

static Status value_check(Diag *d, const TeSize *s, int64_t v) {
    const char *name = s->name;
    if (v < s->lo || v > s->hi)
        return diag_error(d, ST_SIZE, "size", DIAG_NOWHERE,
                          "%s = %" PRId64 " is not in %" PRId64 "..%" PRId64, name, v, s->lo,
                          s->hi);
    if (v % s->extent.multiple)
        return diag_error(d, ST_SIZE, "size", DIAG_NOWHERE,
                          "%s = %" PRId64 " is not a multiple of %" PRId64, name, v,
                          s->extent.multiple);
    return ST_OK;
}

typedef void (*Setter)(TeExtent *e, const Values *v);

static TeStmt *statements(Arena *a, const Te *te, const Values *v, Setter put) {
    TeStmt *stmt = ARENA_ARRAY(a, TeStmt, te->n_stmt);
    for (int s = 0; s < te->n_stmt; s++) {
        stmt[s] = te->stmt[s];
        for (int i = 0; i < stmt[s].n_index; i++) {
            put(&stmt[s].index[i].lo, v);
            put(&stmt[s].index[i].hi, v);
        }
    }
    return stmt;
}

static TeTensor *tensors(Arena *a, const Te *te, const Values *v, Setter put) {
    TeTensor *tensor = ARENA_ARRAY(a, TeTensor, te->n_tensor);
    for (int t = 0; t < te->n_tensor; t++) {
        tensor[t] = te->tensor[t];
        for (int k = 0; k < tensor[t].rank; k++) {
            put(&tensor[t].shape[k], v);
            put(&tensor[t].stride[k], v);
        }
    }
    return tensor;
}

Status te_specialize(Arena *a, Diag *d, const Te *te, const int64_t *value, const Te **out) {
    Values v;
    *out = te;
    if (!te->runtime) return ST_OK;
    for (int i = 0; i < te->n_size; i++) {
        const TeSize *s = &te->size[i];
        if (s->kind != TE_SIZE_RUNTIME || !s->used) continue;
        Status st = value_check(d, s, value[i]);
        if (st != ST_OK) return st;
    }
    values(te, value, &v);
    Te *copy = ARENA_NEW(a, Te);
    *copy = *te;
    copy->runtime = false;
    copy->size = ARENA_ARRAY(a, TeSize, te->n_size);
    memcpy(copy->size, te->size, (size_t)te->n_size * sizeof *te->size);
    for (int i = 0; i < te->n_size; i++) {
        TeSize *s = &copy->size[i];
        if (s->kind == TE_SIZE_RUNTIME && !s->used) continue;
        set(&s->extent, &v);
        if (s->kind != TE_SIZE_RUNTIME) continue;
        s->kind = TE_SIZE_STATIC;
        s->extent.written = NULL;
    }
    copy->tensor = tensors(a, te, &v, set);
    copy->stmt = statements(a, te, &v, set);
    *out = copy;
    return ST_OK;
}

/* ---- figures at other sizes ---- */

/* Sums, products and minima of sizes grow with them; so do quotients by a number, and differences
 * from one where no product could turn them round.  */
static bool grows(const Te *te, const TeExpr *e, bool factor) {
    const TeExpr *last = e->n_args > 1 ? e->args[1] : NULL;
    switch (e->kind) {
    case TE_INT: return e->v.i >= 0;
    case TE_SIZE: {
        const TeSize *s = &te->size[e->v.ref];
        return s->kind != TE_SIZE_LET || !s->extent.expr || grows(te, s->extent.expr, factor);
    }
    case TE_SUB: return !factor && last->kind == TE_INT && grows(te, e->args[0], factor);
    case TE_DIV: return last->kind == TE_INT && last->v.i > 0 && grows(te, e->args[0], factor);
    case TE_ADD:
    case TE_MUL:
    case TE_CALL: break;
    default: return false;
    }
    for (int i = 0; i < e->n_args; i++) {
        if (!grows(te, e->args[i], factor || e->kind == TE_MUL)) return false;
    }
    return true;
}

static void resize(TeExtent *e, const Values *v) {
    if (e->expr && grows(v->te, e->expr, false)) e->value = evaluate(e->expr, v);
}

Te *te_sized(Arena *a, const Te *te, const int64_t *value) {
    Values v;
    values(te, value, &v);
    Te *copy = ARENA_NEW(a, Te);
    *copy = *te;
    if (!te->runtime) return copy;
    copy->size = ARENA_ARRAY(a, TeSize, te->n_size);
    memcpy(copy->size, te->size, (size_t)te->n_size * sizeof *te->size);
    for (int i = 0; i < te->n_size; i++) resize(&copy->size[i].extent, &v);
    copy->tensor = tensors(a, te, &v, resize);
    copy->stmt = statements(a, te, &v, resize);
    return copy;
}

/* ---- sizes of which more is known ---- */

/* A number that divides every value, by what is known of the sizes; 0: it is always 0.  */
static int64_t divisor(const Te *te, const TeExpr *e) {
    int64_t d = 0;
    switch (e->kind) {
    case TE_INT: return e->v.i < 0 ? -e->v.i : e->v.i;
    case TE_SIZE: return te_extent_divisor(&te->size[e->v.ref].extent);
    case TE_MUL:
        return mul_fits(divisor(te, e->args[0]), divisor(te, e->args[1]), &d) ? d : 1;
    case TE_DIV:
        d = e->args[1]->kind == TE_INT && e->args[1]->v.i > 0 ? e->args[1]->v.i : 0;
        return d && divisor(te, e->args[0]) % d == 0 ? divisor(te, e->args[0]) / d : 1;
    default:                              /* sums, rests, one of several: what divides all */
        for (int i = 0; i < e->n_args; i++) d = gcd64(d, divisor(te, e->args[i]));
        return d;
    }
}

static int64_t multiple_above(int64_t v, int64_t q) { return -floor_div(-v, q) * q; }

static bool is_fixed(const TeExtent *e) { return e->min == e->value; }

/* Is it the same at all sizes that are left?  */
static bool all_fixed(const Te *te, const TeExpr *e) {
    bool fixed = e->kind != TE_SIZE || is_fixed(&te->size[e->v.ref].extent);
    for (int i = 0; i < e->n_args && fixed; i++) fixed = all_fixed(te, e->args[i]);
    return fixed;
}

static bool is_one(const TeExpr *e) { return e->kind == TE_INT && e->v.i == 1; }

/* With a number for what is the same at all sizes, and without factors of 1.  */
static const TeExpr *simpler(Arena *a, const Te *te, const TeExpr *e, const Values *v) {
    if (all_fixed(te, e)) return te_expr_int(a, evaluate(e, v), TE_I64, e->pos);
    if (e->n_args == 0) return e;
    TeExpr *copy = te_expr_node(a, e->kind, e->type, e->n_args, e->pos);
    copy->v = e->v;
    for (int i = 0; i < e->n_args; i++)
        copy->args[i] = te_expr_copy(a, simpler(a, te, e->args[i], v));
    if (e->kind == TE_MUL && is_one(copy->args[0])) return copy->args[1];
    if (e->kind == TE_MUL && is_one(copy->args[1])) return copy->args[0];
    return copy;
}

/* Every value of e is a multiple of q, too.  */
static void restrict_to(TeExtent *e, int64_t q) {
    int64_t all = e->multiple / gcd64(e->multiple, q);
    if (!mul_fits(all, q, &e->multiple)) e->multiple = q;
    e->min = multiple_above(e->min, e->multiple);
    e->value = floor_div(e->value, e->multiple) * e->multiple;
}

/* v: the largest values of the sizes.  */
static void give(TeExtent *e, const Values *v) {
    int64_t q = e->expr ? divisor(v->te, e->expr) : 1;
    if (e->expr && all_fixed(v->te, e->expr)) {
        set(e, v);
        return;
    }
    resize(e, v);
    if (q > 1) restrict_to(e, q);
    if (e->expr) e->expr = simpler(v->a, v->te, e->expr, v);
}

static void give_size(TeExtent *e, const TeGiven *given) {
    if (given->most > 0 && given->most < e->value) e->value = given->most;
    if (given->multiple > 1) restrict_to(e, given->multiple);
}

/* Does it hold of all the sizes already?  */
static bool gives_nothing(const Te *te, const TeGiven *given) {
    bool nothing = true;
    for (int i = 0; i < te->n_size && nothing; i++) {
        const TeExtent *e = &te->size[i].extent;
        if (te->size[i].kind != TE_SIZE_RUNTIME) continue;
        nothing = (given[i].most <= 0 || given[i].most >= e->value) &&
                  (given[i].multiple <= 1 || e->multiple % given[i].multiple == 0);
    }
    return nothing;
}

Te *te_given(Arena *a, const Te *te, const TeGiven *given) {
    int64_t largest[TE_MAX_SIZES] = {0};
    Te *copy = ARENA_NEW(a, Te);
    Values v;
    *copy = *te;
    if (gives_nothing(te, given)) return copy;
    copy->size = ARENA_ARRAY(a, TeSize, te->n_size);
    memcpy(copy->size, te->size, (size_t)te->n_size * sizeof *te->size);
    for (int i = 0; i < te->n_size; i++) {
        TeExtent *e = &copy->size[i].extent;
        if (te->size[i].kind == TE_SIZE_RUNTIME) give_size(e, &given[i]);
        if (e->min > e->value) return NULL;
        largest[i] = e->value;
    }
    values(copy, largest, &v);
    v.a = a;
    for (int i = 0; i < te->n_size; i++)
        if (te->size[i].kind == TE_SIZE_LET) give(&copy->size[i].extent, &v);
    copy->tensor = tensors(a, te, &v, give);
    copy->stmt = statements(a, te, &v, give);
    return copy;
}

bool te_gives(const Te *te, const int64_t *value) {
    for (int i = 0; i < te->n_size; i++) {
        const TeExtent *e = &te->size[i].extent;
        if (te->size[i].kind != TE_SIZE_RUNTIME) continue;
        if (value[i] % e->multiple || value[i] > e->value) return false;
    }
    return true;
}

struct TeSizedAt {
    const int64_t *value;
    const Te *te;
    struct TeSizedAt *next;
};

const Te *te_sized_once(TeSized *x, const int64_t *value) {
    size_t bytes = (size_t)x->te->n_size * sizeof *value;
    struct TeSizedAt *known = x->known;
    while (known && memcmp(known->value, value, bytes) != 0) known = known->next;
    if (known) return known->te;
    int64_t *kept = ARENA_ARRAY(x->a, int64_t, x->te->n_size + 1);
    memcpy(kept, value, bytes);
    known = ARENA_NEW(x->a, struct TeSizedAt);
    *known = (struct TeSizedAt){kept, te_sized(x->a, x->te, value), x->known};
    x->known = known;
    return known->te;
}

static void resize_tensor(TeTensor *t, const Values *v) {
    for (int k = 0; k < t->rank; k++) {
        resize(&t->shape[k], v);
        resize(&t->stride[k], v);
    }
}

void te_resize(Te *sized, const int *stmt, int n, const int64_t *value) {
    Values v;
    if (!sized->runtime) return;
    values(sized, value, &v);
    for (int i = 0; i < sized->n_size; i++) resize(&sized->size[i].extent, &v);
    for (int k = 0; k < n; k++) {
        TeStmt *s = &sized->stmt[stmt[k]];
        ReadList reads = access_reads(s->rhs);
        for (int i = 0; i < s->n_index; i++) {
            resize(&s->index[i].lo, &v);
            resize(&s->index[i].hi, &v);
        }
        resize_tensor(&sized->tensor[s->tensor], &v);
        for (int i = 0; i < reads.n; i++) resize_tensor(&sized->tensor[reads.at[i]->v.ref], &v);
    }
}
