#include "codegen/expr/survey.h"
#include "te/tree/tree.h"

/* What an integer expression can be.  Bounds that leave the type make the whole type possible.  */
typedef struct {
    int64_t lo, hi;
    bool exact; /* the arithmetic stayed inside 64 bits */
} Range;

static Range both(Range x, const Value *y) {
    return (Range){x.lo < y->lo ? x.lo : y->lo, x.hi > y->hi ? x.hi : y->hi, true};
}

static Interval range_at(const Survey *s, const Value *v, int i) {
    const Value *x = &s->value[v->child[i]];
    return (Interval){x->lo, x->hi};
}

static Range operation(const Survey *s, const Value *v) {
    int i = v->e->kind == TE_SELECT;
    Interval x = range_at(s, v, i);
    bool fits = true;
    do {
        Interval y = ++i < v->n_child ? range_at(s, v, i) : x;
        fits = te_operator_range(v->e, x, y, &x);
    } while (fits && i + 1 < v->n_child);
    return (Range){x.lo, x.hi, fits};
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
    switch (e->kind) {
    case TE_READ: {
        Range r = of_storage(s->cg->te->tensor[e->v.ref].dtype);
        return e->other && !v->value ? both(r, &s->value[v->child[e->n_args]]) : r;
    }
    case TE_CAST: return cast(s, v);
    default: return v->n_child > 0 ? operation(s, v) : leaf(s, e);
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
