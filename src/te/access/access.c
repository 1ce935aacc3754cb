#include "te/access/access.h"
#include "te/tree/arith.h"
#include "te/tree/tree.h"
#include <string.h>

/* Sizes and offsets stay below 2^62 in any op that te_check accepts; a subscript whose coefficients
 * leave this range is treated as not affine instead of being computed wrong.  */
#define COEF_LIMIT ((int64_t)1 << 62)

static bool add_ok(int64_t x, int64_t y, int64_t *out) {
    return add_fits(x, y, out) && *out < COEF_LIMIT && *out > -COEF_LIMIT;
}

static bool mul_ok(int64_t x, int64_t y, int64_t *out) {
    return mul_fits(x, y, out) && *out < COEF_LIMIT && *out > -COEF_LIMIT;
}

static bool is_constant(const Affine *f) {
    for (int i = 0; i < TE_MAX_INDICES; i++) {
        if (f->coef[i] != 0)
            return false;
    }
    return true;
}

/* Arithmetic in i32 wraps; only constants that do not are taken.  */
static bool fits_i32(const Affine *f) {
    return is_constant(f) && f->c >= INT32_MIN && f->c <= INT32_MAX;
}

/* out = x + scale * y.  */
static bool add_scaled(const Affine *x, const Affine *y, int64_t scale, Affine *out) {
    int64_t t;
    if (!mul_ok(y->c, scale, &t) || !add_ok(x->c, t, &out->c))
        return false;
    for (int i = 0; i < TE_MAX_INDICES; i++) {
        out->coef[i] = x->coef[i];
        if (y->coef[i] == 0) continue;
        if (!mul_ok(y->coef[i], scale, &t) || !add_ok(x->coef[i], t, &out->coef[i]))
            return false;
    }
    return true;
}

/* f / d or f % d, when f = d * whole + rest and the rest's quotient is the same all over the
 * ranges.  */
static bool divide(const TeStmt *s, const Affine *f, int64_t d, bool remainder, Affine *out) {
    if (d <= 0)
        return false;
    Affine whole = {.c = floor_div(f->c, d)}, rest = {.c = f->c - d * floor_div(f->c, d)};
    for (int i = 0; i < TE_MAX_INDICES; i++) {
        whole.coef[i] = f->coef[i] / d;
        rest.coef[i] = f->coef[i] % d;
    }
    int64_t lo, hi;
    access_range(s, &rest, &lo, &hi);
    if (lo > hi)
        lo = hi = rest.c;
    if (floor_div(lo, d) != floor_div(hi, d))
        return false;
    Affine quotient = {.c = floor_div(lo, d)};
    if (remainder)
        return add_scaled(&rest, &quotient, -d, out);
    return add_scaled(&whole, &quotient, 1, out);
}

/* `figures`: sizes have the values at hand.  */
static bool affine(const Te *te, const TeStmt *s, const TeExpr *e, bool figures, Affine *out);

static bool affine_binary(const Te *te, const TeStmt *s, const TeExpr *e, bool figures,
                          Affine *out) {
    static const Affine zero = {0};
    Affine x, y;
    if (!affine(te, s, e->args[0], figures, &x) || !affine(te, s, e->args[1], figures, &y))
        return false;
    switch (e->kind) {
    case TE_ADD:
        return add_scaled(&x, &y, 1, out);
    case TE_SUB:
        return add_scaled(&x, &y, -1, out);
    case TE_MUL:
        if (is_constant(&y))
            return add_scaled(&zero, &x, y.c, out);
        return is_constant(&x) && add_scaled(&zero, &y, x.c, out);
    default:
        return is_constant(&y) && divide(s, &x, y.c, e->kind == TE_MOD, out);
    }
}

static bool affine(const Te *te, const TeStmt *s, const TeExpr *e, bool figures, Affine *out) {
    *out = (Affine){0};
    switch (e->kind) {
    case TE_INT:
        out->c = e->v.i;
        return out->c > -COEF_LIMIT && out->c < COEF_LIMIT;
    case TE_SIZE:
        out->c = te->size[e->v.ref].extent.value;
        return figures || !te->size[e->v.ref].extent.expr;
    case TE_INDEX:
        out->coef[e->v.ref] = 1;
        return true;
    case TE_NEG: {
        Affine x, zero = {0};
        return affine(te, s, e->args[0], figures, &x) && add_scaled(&zero, &x, -1, out);
    }
    case TE_CAST:
        return e->store == TE_I64 && te_dtype_class(e->args[0]->type) == TE_CLASS_INT &&
               affine(te, s, e->args[0], figures, out);
    case TE_ADD:
    case TE_SUB:
    case TE_MUL:
    case TE_DIV:
    case TE_MOD:
        return te_dtype_class(e->type) == TE_CLASS_INT && affine_binary(te, s, e, figures, out) &&
               (e->type == TE_I64 || fits_i32(out));
    default:
        return false;
    }
}

bool access_affine(const Te *te, const TeStmt *s, const TeExpr *e, Affine *out) {
    return affine(te, s, e, false, out);
}

bool access_affine_figures(const Te *te, const TeStmt *s, const TeExpr *e, Affine *out) {
    return affine(te, s, e, true, out);
}

/* Ranges saturate at the limit, so that a bound is never reported tighter than it is.  */
void access_range(const TeStmt *s, const Affine *f, int64_t *lo, int64_t *hi) {
    bool empty = false;
    int64_t low = f->c, high = f->c;
    for (int i = 0; i < s->n_index; i++) {
        int64_t first = s->index[i].lo.value, last = s->index[i].hi.value - 1;
        int64_t k = f->coef[i], p, q;
        if (k == 0)
            continue;
        empty = empty || first > last;
        if (!mul_ok(k, k > 0 ? first : last, &p) || !add_ok(low, p, &low))
            low = -COEF_LIMIT;
        if (!mul_ok(k, k > 0 ? last : first, &q) || !add_ok(high, q, &high))
            high = COEF_LIMIT;
    }
    *lo = empty ? 0 : low;
    *hi = empty ? -1 : high;
}

bool access_wide(const TeStmt *s, const Affine *f, const int64_t *beyond) {
    int64_t sum[] = {0, 0}, term;         /* of what is below 0, and of the rest */
    if (!add_ok(0, f->c, &sum[f->c > 0])) return true;
    for (int i = 0; i < s->n_index; i++) {
        int64_t last = s->index[i].hi.value - 1;
        if (f->coef[i] == 0) continue;
        if (!add_ok(last > 0 ? last : 0, beyond[i], &last) || !mul_ok(f->coef[i], last, &term) ||
            !add_ok(sum[term > 0], term, &sum[term > 0]))
            return true;
    }
    return sum[0] < INT32_MIN || sum[1] > INT32_MAX;
}

uint32_t access_uses(const TeExpr *e) {
    uint32_t uses = e->kind == TE_INDEX ? 1u << e->v.ref : 0;
    for (int i = 0; i < e->n_args; i++)
        uses |= access_uses(e->args[i]);
    if (e->other)
        uses |= access_uses(e->other);
    return uses;
}

/* Adds what dimension d contributes to the divisors.  False if terms that vary could cancel out. */
static bool add_divisors(const TeExtent *stride, const Affine *sub, Access *x) {
    int64_t divisor = te_extent_divisor(stride);
    for (int i = 0; i < TE_MAX_INDICES; i++) {
        int64_t k = sub->coef[i], t;
        if (k == 0)
            continue;
        bool varies = stride->expr || (x->varies >> i & 1);
        if (varies && x->divisor[i] != 0 && (k < 0) != (x->offset.coef[i] < 0))
            return false;
        x->varies |= (uint32_t)varies << i;
        if (!mul_ok(divisor, k, &t))
            return false;
        x->divisor[i] = gcd64(x->divisor[i], t);
    }
    return true;
}

/* Offset from subscripts; false when it leaves the range of coefficients.  */
static bool offset_of(const TeTensor *t, Access *x) {
    x->offset = (Affine){0};
    for (int d = 0; d < t->rank; d++) {
        Affine sum;
        const TeExtent *stride = &t->stride[d];
        int64_t part;
        if (!mul_ok(te_extent_divisor(stride), x->sub[d].c, &part))
            return false;
        x->c_divisor = gcd64(x->c_divisor, part);
        x->c_varies |= stride->expr && x->sub[d].c != 0;
        if (!add_divisors(stride, &x->sub[d], x) ||
            !add_scaled(&x->offset, &x->sub[d], stride->value, &sum))
            return false;
        x->offset = sum;
    }
    if (!x->c_varies)
        x->c_divisor = x->offset.c;
    return true;
}

bool access_leaves(const TeStmt *s, const TeExpr *sub, const Affine *f, const TeExtent *n) {
    int64_t lo, hi;
    bool varies = n->expr != NULL;
    access_range(s, f, &lo, &hi);
    for (int i = 0; i < s->n_index; i++) varies |= f->coef[i] != 0 && s->index[i].hi.expr;
    if (!varies)
        return lo <= hi && (lo < 0 || hi >= n->value);
    if (sub->kind == TE_INDEX && te_extent_same(&s->index[sub->v.ref].hi, n))
        return false;
    return lo > hi || lo < 0 || hi >= n->min;
}

/* The number that an expression is at all points; 0: there is none.  */
static int64_t constant_of(const Te *te, const TeStmt *s, const TeExpr *e) {
    Affine f;
    if (!access_affine(te, s, e, &f)) return 0;
    for (int i = 0; i < s->n_index; i++) {
        if (f.coef[i] != 0) return 0;
    }
    return f.c;
}

bool access_digits(const Te *te, const TeStmt *s, const TeExpr *high, const TeExpr *low,
                   int64_t *c, Affine *e) {
    Affine f;
    int64_t lo, hi;
    if (high->kind != TE_DIV || low->kind != TE_MOD) return false;
    *c = constant_of(te, s, low->args[1]);
    if (*c < 1 || *c != constant_of(te, s, high->args[1]) ||
        !access_affine(te, s, low->args[0], e) || !access_affine(te, s, high->args[0], &f) ||
        memcmp(&f, e, sizeof f) != 0)
        return false;
    access_range(s, e, &lo, &hi);
    return lo >= 0;
}

/* Do dimensions d and d + 1 of the read have e / c and e % c, so that together they are e, c being
 * what lies between two rows of the inner one?  */
static bool reads_digits(const Te *te, const TeStmt *s, const TeExpr *read, int d, Affine *e) {
    const TeTensor *t = &te->tensor[read->v.ref];
    int64_t c;
    return d + 1 < t->rank && !t->shape[d + 1].expr && !t->stride[d].expr &&
           !t->stride[d + 1].expr &&
           access_digits(te, s, read->args[d], read->args[d + 1], &c, e) &&
           c == t->shape[d + 1].value && t->stride[d].value == c * t->stride[d + 1].value;
}

void access_read(const Te *te, const TeStmt *s, const TeExpr *read, Access *out) {
    const TeTensor *t = &te->tensor[read->v.ref];
    bool tested = !te_always_inside(read);
    *out = (Access){.read = read, .tensor = read->v.ref, .affine = true};
    for (int d = 0; d < t->rank; d++) {
        out->uses |= access_uses(read->args[d]);
        out->guard[d] = tested;
        if (!tested && reads_digits(te, s, read, d, &out->sub[d + 1])) {
            out->uses |= access_uses(read->args[++d]);
            out->sub[d - 1] = (Affine){0};
            out->joined |= (uint16_t)(1u << (d - 1));
            out->guard[d] = false;
        } else if (access_affine(te, s, read->args[d], &out->sub[d]))
            out->guard[d] = tested && access_leaves(s, read->args[d], &out->sub[d], &t->shape[d]);
        else
            out->affine = false;
    }
    if (out->affine)
        out->affine = offset_of(t, out);
}

/* The dimension that the index moves by one, the only one; -1: there is none.  */
static int dimension_of(const Te *te, const Access *x, int index) {
    int found = -1;
    for (int d = 0; d < te->tensor[x->tensor].rank; d++) {
        if (x->sub[d].coef[index] == 0) continue;
        if (found >= 0 || x->sub[d].coef[index] != 1) return -1;
        found = d;
    }
    return found;
}

bool access_as_one(const Te *te, const TeStmt *s, const Access *x, int outer, int inner) {
    const TeTensor *t = &te->tensor[x->tensor];
    const TeExtent *n = &s->index[inner].hi;
    const int64_t *step = x->offset.coef;
    if (step[outer] != step[inner] * n->value) return false;
    if (!step[inner] || !(n->expr || ((x->varies >> outer | x->varies >> inner) & 1))) return true;
    int from = dimension_of(te, x, outer), to = dimension_of(te, x, inner);
    return !t->strided && from >= 0 && to == from + 1 && te_extent_same(n, &t->shape[to]);
}

int64_t access_extent(const Te *te, const Access *x, int d) {
    const TeExtent *shape = te->tensor[x->tensor].shape;
    if (x->joined >> d & 1) return 1;
    return d > 0 && (x->joined >> (d - 1) & 1) ? shape[d - 1].value * shape[d].value
                                               : shape[d].value;
}

void access_write(const Te *te, const TeStmt *s, Access *out) {
    *out = (Access){.tensor = s->tensor, .affine = true};
    for (int d = 0; d < s->n_left; d++) {
        out->sub[d].coef[d] = 1;
        out->uses |= 1u << d;
    }
    out->affine = offset_of(&te->tensor[s->tensor], out);
}

bool access_reads_tensor(const TeExpr *e, int tensor) {
    if (e->kind == TE_READ && e->v.ref == tensor) return true;
    for (int i = 0; i < e->n_args; i++) {
        if (access_reads_tensor(e->args[i], tensor)) return true;
    }
    return e->other && access_reads_tensor(e->other, tensor);
}

bool access_same(const TeExpr *x, const TeExpr *y) { return te_expr_same(x, y); }

uint32_t access_moving(const TeExpr *e) {
    uint32_t indices = e->kind == TE_INDEX ? 1u << e->v.ref : 0;
    if (e->kind == TE_DIV && e->args[1]->kind == TE_INT) return 0;
    for (int i = 0; i < e->n_args; i++) indices |= access_moving(e->args[i]);
    return indices;
}

bool access_apart(const Te *te, const TeExpr *x, const TeExpr *y) {
    const TeTensor *t = &te->tensor[x->v.ref];
    for (int d = 0; d < t->rank; d++) {
        const TeExpr *a = x->args[d], *b = y->args[d];
        bool moves = t->stride[d].expr || t->stride[d].value != 0;
        if (moves && a->kind == TE_INT && b->kind == TE_INT && a->v.i != b->v.i) return true;
    }
    return false;
}

bool access_unconditional(const TeExpr *e, const TeExpr *read) {
    if (e == read) return true;
    int n = e->kind == TE_SELECT || e->kind == TE_READ ? 0 : e->n_args;
    for (int i = 0; i < n; i++) {
        if (access_unconditional(e->args[i], read)) return true;
    }
    return false;
}

bool access_again(const Te *te, const TeExpr *e, int i) {
    ReadList read = access_reads(e);
    bool again = false, sure = access_unconditional(e, read.at[i]);
    for (int j = 0; j < i && !again; j++)
        again = read.at[j]->v.ref == read.at[i]->v.ref &&
                !(sure && access_apart(te, read.at[j], read.at[i]));
    return again;
}

bool access_permutes(const Te *te, const TeStmt *s, uint8_t *at) {
    const TeExpr *e = s->rhs;
    uint32_t seen = 0;
    if (e->kind != TE_READ || !te_always_inside(e) || e->n_args != s->n_left) return false;
    for (int d = 0; d < e->n_args; d++) {
        const TeExpr *sub = e->args[d];
        if (sub->kind != TE_INDEX || (seen >> sub->v.ref & 1) ||
            !te_extent_same(&s->index[sub->v.ref].hi, &te->tensor[e->v.ref].shape[d]))
            return false;
        seen |= 1u << sub->v.ref;
        at[d] = (uint8_t)sub->v.ref;
    }
    return true;
}

bool access_tests(const Te *te, const Access *x, int index) {
    for (int d = 0; d < te->tensor[x->tensor].rank; d++) {
        if (x->guard[d] && x->sub[d].coef[index]) return true;
    }
    return false;
}

bool access_guarded(const Te *te, const Access *x) {
    for (int d = 0; d < te->tensor[x->tensor].rank; d++) {
        if (x->guard[d]) return true;
    }
    return false;
}
