#include "codegen/expr/survey.h"
#include "te/tree/arith.h"

/* What an integer expression can be.  Bounds that leave the type make the whole type possible.  */
typedef struct {
    int64_t lo, hi;
    bool exact; /* the arithmetic stayed inside 64 bits */
} Range;

static Range add(const Value *x, const Value *y) {
    Range r = {0, 0, true};
    r.exact = add_fits(x->lo, y->lo, &r.lo) && add_fits(x->hi, y->hi, &r.hi);
    return r;
}

static Range sub(const Value *x, const Value *y) {
    Range r = {0, 0, true};
    r.exact = y->hi > INT64_MIN && y->lo > INT64_MIN && add_fits(x->lo, -y->hi, &r.lo) &&
              add_fits(x->hi, -y->lo, &r.hi);
    return r;
}

static Range mul(const Value *x, const Value *y) {
    Range r = {INT64_MAX, INT64_MIN, true};
    for (int i = 0; i < 4 && r.exact; i++) {
        int64_t p;
        r.exact = mul_fits(i & 1 ? x->hi : x->lo, i & 2 ? y->hi : y->lo, &p);
        if (!r.exact) break;
        if (p < r.lo) r.lo = p;
        if (p > r.hi) r.hi = p;
    }
    return r;
}

/* The quotient is no larger than the dividend, and lowest / -1 wraps.  */
static Range divide(const Value *x, const Value *y) {
    if (y->lo > 0) {
        int64_t a = floor_div(x->lo, y->lo), b = floor_div(x->lo, y->hi);
        int64_t c = floor_div(x->hi, y->lo), d = floor_div(x->hi, y->hi);
        return (Range){a < b ? a : b, c > d ? c : d, true};
    }
    if (x->lo == INT64_MIN) return (Range){0, 0, false};
    int64_t m = x->hi > -x->lo ? x->hi : -x->lo;
    return (Range){-m, m, true};
}

static Range modulo(const Value *x, const Value *y) {
    if (x->lo >= 0 && y->lo > x->hi) return (Range){x->lo, x->hi, true};
    return (Range){y->lo < 0 ? y->lo + 1 : 0, y->hi > 0 ? y->hi - 1 : 0, true};
}

/* Shifts by what is known, within the type's width less the sign.  */
static Range bitwise(const Value *v, const Value *x, const Value *y) {
    Interval a = {x->lo, x->hi}, b = {y->lo, y->hi}, r = {INT64_MIN, INT64_MAX};
    int width = v->e->type == TE_I32 ? 31 : 63;
    bool known = y->lo == y->hi && y->lo >= 0 && y->lo < width;
    if (v->e->kind == TE_SHL && known)
        r = interval_mul(a, (Interval){INT64_C(1) << y->lo, INT64_C(1) << y->lo});
    else if (v->e->kind == TE_SHR)
        r = known ? interval_shr(a, (int)y->lo) : interval_union(a, (Interval){-1, 0});
    else if (v->e->kind != TE_SHL)
        r = interval_bits(a, b, v->e->kind == TE_BITAND);
    return (Range){r.lo, r.hi, r.lo != INT64_MIN && r.hi != INT64_MAX};
}

static Range both(Range x, const Value *y) {
    return (Range){x.lo < y->lo ? x.lo : y->lo, x.hi > y->hi ? x.hi : y->hi, true};
}

static Range call(const Survey *s, const Value *v) {
    const Value *x = &s->value[v->child[0]];
    Range r = {x->lo, x->hi, true};
    if (v->e->v.fn == TE_FN_PHILOX) return (Range){0, TE_PHILOX_MAX, true};
    if (v->e->v.fn == TE_FN_ABS) {
        if (x->lo == INT64_MIN) return (Range){0, 0, false};
        int64_t m = x->hi > -x->lo ? x->hi : -x->lo;
        return (Range){x->lo > 0 ? x->lo : 0, m, true};
    }
    for (int i = 1; i < v->n_child; i++) {
        const Value *y = &s->value[v->child[i]];
        bool max = v->e->v.fn == TE_FN_MAX;
        r.lo = max == (y->lo > r.lo) ? y->lo : r.lo;
        r.hi = max == (y->hi > r.hi) ? y->hi : r.hi;
    }
    return r;
}

static Range leaf(const Survey *s, const TeExpr *e) {
    const TeSize *size;
    int64_t last;
    switch (e->kind) {
    case TE_INT: return (Range){e->v.i, e->v.i, true};
    case TE_SIZE:
        size = &s->cg->te->size[e->v.ref];
        return (Range){size->extent.min, size->extent.value, true};
    case TE_INDEX:
        last = s->at->stmt->index[e->v.ref].hi.value - 1;
        return (Range){0, last > 0 ? last : 0, true};
    default: return (Range){0, 0, false};
    }
}

static Range of_storage(TeDtype t) {
    Range r = {0, 0, true};
    r.exact = cg_range_of_storage(t, &r.lo, &r.hi);
    return r;
}

static Range cast(const Survey *s, const Value *v) {
    const Value *x = &s->value[v->child[0]];
    Range r = of_storage(v->e->store);
    if (x->e->type == TE_BOOL) return (Range){0, 1, true};
    bool fits = te_dtype_class(x->e->type) == TE_CLASS_INT && x->lo >= r.lo && x->hi <= r.hi;
    return fits ? (Range){x->lo, x->hi, true} : r;
}

static Range range_of(const Survey *s, const Value *v) {
    const TeExpr *e = v->e;
    const Value *x = v->n_child > 0 ? &s->value[v->child[0]] : NULL;
    const Value *y = v->n_child > 1 ? &s->value[v->child[1]] : NULL;
    switch (e->kind) {
    case TE_READ: {
        Range r = of_storage(s->cg->te->tensor[e->v.ref].dtype);
        return e->other && !v->value ? both(r, &s->value[v->child[e->n_args]]) : r;
    }
    case TE_NEG: return sub(&(Value){.lo = 0, .hi = 0}, x);
    case TE_ADD: return add(x, y);
    case TE_SUB: return sub(x, y);
    case TE_MUL: return mul(x, y);
    case TE_DIV: return divide(x, y);
    case TE_MOD: return modulo(x, y);
    case TE_SHL:
    case TE_SHR:
    case TE_BITAND:
    case TE_BITXOR:
    case TE_BITOR: return bitwise(v, x, y);
    case TE_SELECT: return both((Range){y->lo, y->hi, true}, &s->value[v->child[2]]);
    case TE_CALL: return call(s, v);
    case TE_CAST: return cast(s, v);
    default: return leaf(s, e);
    }
}

/* A count of 32 or more shifts all bits of 64 away that an int has, and is 32 less for an int.  */
static bool shifts_far(const Survey *s, const Value *v) {
    const Value *by = &s->value[v->child[v->n_child - 1]];
    bool shift = v->e->kind == TE_SHL || v->e->kind == TE_SHR;
    return shift && v->e->type == TE_I64 && (by->lo < 0 || by->hi > 31);
}

/* Is the text an int?  It is where all parts are and the value fits.  */
static bool is_narrow(const Survey *s, const Value *v) {
    const TeExpr *e = v->e;
    if (v->wraps || v->lo < INT32_MIN || v->hi > INT32_MAX || v->value) return false;
    if (e->kind == TE_INT || e->kind == TE_SIZE) return true;
    if (e->kind == TE_INDEX) return !s->at->wide[e->v.ref];
    if (e->kind == TE_READ || e->kind == TE_SCALAR || v->n_child == 0) return false;
    if (shifts_far(s, v)) return false;
    for (int i = e->kind == TE_SELECT ? 1 : 0; i < v->n_child; i++) {
        const Value *x = &s->value[v->child[i]];
        if (x->e->type != TE_I32 && !x->narrow) return false;
    }
    return true;
}

void value_range(const Survey *s, Value *v) {
    if (te_dtype_class(v->e->type) != TE_CLASS_INT) return;
    Range full = of_storage(v->e->type);
    Range r = v->value && v->e->kind != TE_READ ? full : range_of(s, v);
    bool fits = r.exact && r.lo >= full.lo && r.hi <= full.hi;
    v->wraps = !fits;
    v->lo = fits ? r.lo : full.lo;
    v->hi = fits ? r.hi : full.hi;
    v->narrow = v->e->type == TE_I64 && is_narrow(s, v);
}
