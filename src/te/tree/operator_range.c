/* What integer operators give of operands in ranges.  */
#include "te/tree/tree.h"

Interval te_type_range(TeDtype t) {
    switch (t) {
    case TE_I32: return (Interval){INT32_MIN, INT32_MAX};
    case TE_I16: return (Interval){INT16_MIN, INT16_MAX};
    case TE_I8: return (Interval){INT8_MIN, INT8_MAX};
    case TE_F4E2M1X2:
    case TE_U8: return (Interval){0, UINT8_MAX};
    case TE_BOOL: return (Interval){0, 1};
    default: return INTERVAL_ALL;
    }
}

int64_t te_last_whole(TeDtype t) {
    switch (t) {
    case TE_F64: return (int64_t)1 << 53;
    case TE_F32: return 1 << 24;
    case TE_F16: return 1 << 11;
    case TE_BF16: return 1 << 8;
    default: return 0;
    }
}

static bool add(Interval x, Interval y, Interval *r) {
    return add_fits(x.lo, y.lo, &r->lo) && add_fits(x.hi, y.hi, &r->hi);
}

static bool sub(Interval x, Interval y, Interval *r) {
    return y.lo > INT64_MIN && y.hi > INT64_MIN && add(x, (Interval){-y.hi, -y.lo}, r);
}

static bool mul(Interval x, Interval y, Interval *r) {
    *r = (Interval){INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        int64_t p;
        if (!mul_fits(i & 1 ? x.hi : x.lo, i & 2 ? y.hi : y.lo, &p)) return false;
        *r = interval_union(*r, (Interval){p, p});
    }
    return true;
}

/* The lowest integer has no magnitude.  */
static bool magnitude(Interval x, Interval *r) {
    if (x.lo == INT64_MIN) return false;
    *r = x.lo >= 0 ? x : (Interval){x.hi < 0 ? -x.hi : 0, x.hi > -x.lo ? x.hi : -x.lo};
    return true;
}

/* The quotient is no larger than the dividend, and lowest / -1 wraps.  */
static bool divide(Interval x, Interval y, Interval *r) {
    if (y.lo < 1) {
        if (!magnitude(x, r)) return false;
        *r = (Interval){-r->hi, r->hi};
    } else {
        *r = interval_div(x, y);
    }
    return true;
}

/* Between 0 and the divisor; by 0 it is 0.  */
static Interval modulo(Interval x, Interval y) {
    if (x.lo >= 0 && y.lo > x.hi) return x;
    return (Interval){y.lo < 0 ? y.lo + 1 : 0, y.hi > 0 ? y.hi - 1 : 0};
}

/* By what is known, within the type's width less the sign.  */
static bool shift(const TeExpr *e, Interval x, Interval by, Interval *r) {
    int width = e->type == TE_I32 ? 31 : 63;
    bool known = by.lo == by.hi && by.lo >= 0 && by.lo < width;
    Interval power = {known ? INT64_C(1) << by.lo : 0, known ? INT64_C(1) << by.lo : 0};
    if (e->kind == TE_SHL) return known && mul(x, power, r);
    *r = known ? interval_div(x, power) : interval_union(x, (Interval){-1, 0});
    return true;
}

/* x & y, x ^ y, x | y of integers that are not negative: below the next power of two of both.  */
static bool bits(const TeExpr *e, Interval x, Interval y, Interval *r) {
    bool both = e->kind == TE_BITAND;
    if (both ? x.lo < 0 && y.lo < 0 : x.lo < 0 || y.lo < 0) return false;
    uint64_t most = (uint64_t)x.hi | (uint64_t)y.hi;
    for (int i = 1; i < 64; i *= 2) most |= most >> i;
    *r = (Interval){0, (int64_t)most};
    if (both) r->hi = x.lo < 0 || (y.lo >= 0 && y.hi < x.hi) ? y.hi : x.hi;
    return true;
}

static bool call(const TeExpr *e, Interval x, Interval y, Interval *r) {
    bool max = e->v.fn == TE_FN_MAX;
    if (e->v.fn == TE_FN_ABS) return magnitude(x, r);
    if (e->v.fn == TE_FN_E2M1_CODE) *r = (Interval){0, 15};
    else if (e->v.fn == TE_FN_PHILOX) *r = (Interval){0, TE_PHILOX_MAX};
    else *r = (Interval){max == (y.lo > x.lo) ? y.lo : x.lo, max == (y.hi > x.hi) ? y.hi : x.hi};
    return true;
}

bool te_operator_range(const TeExpr *e, Interval x, Interval y, Interval *r) {
    switch (e->kind) {
    case TE_NEG: return sub((Interval){0, 0}, x, r);
    case TE_ADD: return add(x, y, r);
    case TE_SUB: return sub(x, y, r);
    case TE_MUL: return mul(x, y, r);
    case TE_DIV: return divide(x, y, r);
    case TE_MOD: *r = modulo(x, y); return true;
    case TE_SHL:
    case TE_SHR: return shift(e, x, y, r);
    case TE_BITAND:
    case TE_BITXOR:
    case TE_BITOR: return bits(e, x, y, r);
    case TE_SELECT: *r = interval_union(x, y); return true;
    case TE_CALL: return call(e, x, y, r);
    default: return false;
    }
}
