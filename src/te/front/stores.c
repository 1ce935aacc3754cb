/* Which storage type an expression's values keep, and what may be stored where.  */
#include "base/numeric.h"
#include "te/front/front.h"
#include "te/tree/tree.h"
#include <inttypes.h>
#include <math.h>

static bool holds(TeDtype to, int64_t v) {
    switch (to) {
    case TE_I64: return true;
    case TE_I32: return v >= INT32_MIN && v <= INT32_MAX;
    case TE_I16: return v >= INT16_MIN && v <= INT16_MAX;
    case TE_I8: return v >= INT8_MIN && v <= INT8_MAX;
    default: return v >= 0 && v <= UINT8_MAX;
    }
}

static bool holds_all(TeDtype to, TeDtype from) {
    if (te_dtype_unsigned(from)) return to != TE_I8;
    return !te_dtype_unsigned(to) && te_dtype_bytes(to) >= te_dtype_bytes(from);
}

static double rounded(TeDtype to, double v) {
    Round r = ROUND_NEAREST_EVEN;
    switch (to) {
    case TE_F16: return num_f16_decode(num_f16_encode(v, r, false));
    case TE_BF16: return num_bf16_decode(num_bf16_encode(v, r, false));
    case TE_F8E4M3: return num_e4m3_decode(num_e4m3_encode(v, r));
    case TE_F8E5M2: return num_e5m2_decode(num_e5m2_encode(v, r, false));
    case TE_F6E3M2: return num_e3m2_decode(num_e3m2_encode(v));
    case TE_F6E2M3: return num_e2m3_decode(num_e2m3_encode(v));
    case TE_F4E2M1: return num_e2m1_decode(num_e2m1_encode(v));
    case TE_F8UE4M3: return num_ue4m3_decode(num_ue4m3_encode(v));
    case TE_F8UE8M0: return num_ue8m0_decode(num_ue8m0_encode(v));
    case TE_F32: return (double)(float)v;
    default: return v;
    }
}

/* The operands whose values e hands on unchanged: args[first..], for READ the else value.  */
static bool hands_on(const TeExpr *e, int *first) {
    *first = e->kind == TE_SELECT;
    return e->kind == TE_SELECT ||
           (e->kind == TE_CALL && (e->v.fn == TE_FN_MAX || e->v.fn == TE_FN_MIN));
}

static bool constant(const TeExpr *e) {
    int first;
    if (te_is_literal(e)) return true;
    if (!hands_on(e, &first)) return false;
    for (int i = first; i < e->n_args; i++) {
        if (!constant(e->args[i])) return false;
    }
    return true;
}

/* Does type `to` hold the constant e exactly?  */
static bool constant_fits(const TeExpr *e, TeDtype to) {
    int first;
    if (e->kind == TE_INT)
        return te_dtype_class(to) == TE_CLASS_INT && holds(to, e->v.i);
    if (e->kind == TE_REAL)
        return te_dtype_class(to) == TE_CLASS_REAL && rounded(to, e->v.r) == e->v.r;
    if (e->kind == TE_BOOLEAN) return to == TE_BOOL;
    hands_on(e, &first);
    for (int i = first; i < e->n_args; i++) {
        if (!constant_fits(e->args[i], to)) return false;
    }
    return true;
}

static bool keeps(const TeExpr *part, TeDtype to) {
    return constant(part) ? constant_fits(part, to) : part->store == to;
}

void keep_storage(TeExpr *e) {
    int first;
    for (int i = 0; i < e->n_args; i++) keep_storage(e->args[i]);
    if (e->other) keep_storage(e->other);
    if (e->kind == TE_CAST) return;
    if (e->kind == TE_READ) {
        bool kept = te_dtype_compute(e->store) == e->type;
        if (e->other && !(kept && keeps(e->other, e->store))) e->store = e->type;
        return;
    }
    e->store = e->type;
    if (e->kind == TE_CALL && e->v.fn == TE_FN_E2M1) e->store = TE_F4E2M1;
    if (e->kind == TE_REDUCE && (e->red == TE_RED_MAX || e->red == TE_RED_MIN))
        e->store = constant(e->args[0]) ? e->type : e->args[0]->store;
    if (!hands_on(e, &first)) return;
    TeDtype kept = TE_DTYPE_COUNT;
    for (int i = first; i < e->n_args && kept == TE_DTYPE_COUNT; i++) {
        if (!constant(e->args[i])) kept = e->args[i]->store;
    }
    for (int i = first; i < e->n_args && kept != TE_DTYPE_COUNT; i++) {
        if (!keeps(e->args[i], kept)) kept = TE_DTYPE_COUNT;
    }
    if (kept != TE_DTYPE_COUNT && te_dtype_compute(kept) == e->type) e->store = kept;
}

static bool literal_check(Op *op, const TeExpr *e, uint32_t pos, TeDtype to) {
    Buf b = buf_new(op->f->arena);
    double most = fabs(e->v.r);
    bool saturates = (to == TE_F8E4M3 && most > 464) || (to == TE_F6E3M2 && most > 30) ||
                     (to == TE_F6E2M3 && most > 7.75) || (to == TE_F4E2M1 && most > 7) ||
                     (to == TE_F8UE4M3 && (e->v.r < 0 || e->v.r > 464)) ||
                     (to == TE_F8UE8M0 && !(e->v.r >= 0x1p-127 && e->v.r < 0x1.8p127));
    if (isinf(e->v.r) || (isfinite(rounded(to, e->v.r)) && !saturates)) return true;
    if (e->whole)
        buf_printf(&b, "%.0f", e->v.r);
    else
        buf_real(&b, e->v.r);
    return complain(op->f, "type", pos, "%s does not fit %s", buf_str(&b), te_dtype_name(to));
}

static const char *loss(TeDtype to, TeClass from) {
    if (to == TE_BOOL) return "it is x != 0";
    if (from == TE_CLASS_BOOL) return "it is 0 or 1";
    return from == TE_CLASS_REAL ? "it rounds toward zero and saturates" : "it keeps the low bits";
}

bool store_check(Op *op, TeExpr *rhs, uint32_t pos, TeDtype to, const char *name) {
    TeClass target = te_dtype_class(to), from = te_dtype_class(rhs->type);
    if (rhs->kind == TE_REAL && target == TE_CLASS_REAL) return literal_check(op, rhs, pos, to);
    if (rhs->kind == TE_INT && target == TE_CLASS_INT && !holds(to, rhs->v.i))
        return complain(op->f, "type", pos, "%" PRId64 " does not fit %s", rhs->v.i,
                        te_dtype_name(to));
    if (target == from) {
        if (target != TE_CLASS_INT) return true;
        if (constant(rhs) ? constant_fits(rhs, to) : holds_all(to, rhs->store)) return true;
    }
    if (target == TE_CLASS_REAL && from == TE_CLASS_INT) return true;
    TeDtype shown = from == TE_CLASS_INT ? rhs->store : rhs->type;
    complain(op->f, "type", pos, "%s value stored into %s '%s'", te_dtype_name(shown),
             te_dtype_name(to), name);
    hint(op->f, "write %s(...): %s", te_dtype_name(to), loss(to, from));
    return false;
}
