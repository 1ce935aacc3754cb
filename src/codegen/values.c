#include "base/numeric.h"
#include "codegen/cg.h"
#include "rprogram/derived.h"
#include <math.h>

const char *cg_storage(TeDtype t) {
    switch (t) {
    case TE_F64: return "double";
    case TE_F32: return "float";
    case TE_F16:
    case TE_BF16: return "unsigned short";
    case TE_I64: return "long long";
    case TE_I32: return "int";
    case TE_I16: return "short";
    case TE_I8: return "signed char";
    default: return "unsigned char";
    }
}

const char *cg_type(TeDtype compute) { return compute == TE_BOOL ? "bool" : cg_storage(compute); }

/* The middle of prelude names: rl_f32_to_e4m3.  */
static const char *short_name(TeDtype t) {
    return t == TE_F8E4M3 ? "e4m3" : t == TE_F8E5M2 ? "e5m2" : te_dtype_name(t);
}

static bool is_narrow_real(TeDtype t) {
    return t == TE_F16 || t == TE_BF16 || t == TE_F8E4M3 || t == TE_F8E5M2;
}

bool cg_range_of_storage(TeDtype t, int64_t *lo, int64_t *hi) {
    static const struct {
        TeDtype t;
        int64_t lo, hi;
    } row[] = {
        {TE_I64, INT64_MIN, INT64_MAX}, {TE_I32, INT32_MIN, INT32_MAX},
        {TE_I16, INT16_MIN, INT16_MAX}, {TE_I8, INT8_MIN, INT8_MAX},
        {TE_U8, 0, UINT8_MAX},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (row[i].t == t) {
            *lo = row[i].lo;
            *hi = row[i].hi;
            return true;
        }
    }
    return false;
}

const char *cg_decode(const Cg *c, TeDtype storage, const char *element) {
    if (is_narrow_real(storage))
        return cg_text(c, "rl_%s_to_f32(%s)", short_name(storage), element);
    if (storage == TE_BOOL) return cg_text(c, "(%s != 0)", element);
    return te_dtype_bytes(storage) < 4 ? cg_text(c, "(int)%s", element) : element;
}

/* An f32 from which a narrower real is rounded as from the exact value.  */
static const char *single(const Cg *c, TeDtype from, const char *value) {
    if (from == TE_F32) return value;
    if (from == TE_BOOL) return cg_text(c, "(float)%s", value);
    return cg_text(c, "rl_%s_to_odd(%s)", from == TE_F64 ? "f64" : "i64", value);
}

static const char *to_integer(const Cg *c, TeDtype storage, TeDtype from, const char *value) {
    if (from == TE_BOOL) return cg_text(c, "(%s)%s", cg_type(te_dtype_compute(storage)), value);
    if (te_dtype_class(from) == TE_CLASS_INT) {
        if (storage == TE_I64) return value;
        return storage == TE_I32 ? cg_text(c, "(int)%s", value)
                                 : cg_text(c, "(int)(%s)%s", cg_storage(storage), value);
    }
    const char *name = te_dtype_name(from);
    if (storage == TE_I64) return cg_text(c, "rl_%s_to_i64(%s)", name, value);
    const char *whole = cg_text(c, "rl_%s_to_i32(%s)", name, value);
    int64_t lo, hi;
    if (storage == TE_I32 || !cg_range_of_storage(storage, &lo, &hi)) return whole;
    return cg_text(c, "min(max(%s, %d), %d)", whole, (int)lo, (int)hi);
}

const char *cg_convert(const Cg *c, TeDtype to, TeDtype from, const char *value) {
    if (to == from || to == TE_BOOL) return value;
    if (te_dtype_class(to) == TE_CLASS_INT) return to_integer(c, to, from, value);
    return cg_text(c, "(%s)%s", cg_type(to), value);
}

const char *cg_encode(const Cg *c, TeDtype storage, TeDtype from, const char *value) {
    if (is_narrow_real(storage))
        return cg_text(c, "rl_f32_to_%s(%s)", short_name(storage), single(c, from, value));
    if (storage == TE_BOOL)
        return cg_text(c, "(unsigned char)%s", cg_cast(c, TE_BOOL, from, value));
    TeDtype compute = te_dtype_compute(storage);
    if (te_dtype_class(storage) == TE_CLASS_INT && compute != storage)
        return cg_text(c, "(%s)%s", cg_storage(storage), cg_cast(c, storage, from, value));
    return cg_convert(c, compute, from, value);
}

bool cg_pairs(TeDtype storage, int width) { return is_narrow_real(storage) && width % 2 == 0; }

const char *cg_waiting(TeDtype storage, bool pairs) { return cg_storage(pairs ? TE_F32 : storage); }

const char *cg_wait(const Cg *c, TeDtype storage, bool pairs, TeDtype from, const char *value) {
    return pairs ? single(c, from, value) : cg_encode(c, storage, from, value);
}

const char *cg_store(const Cg *c, TeDtype storage, bool pairs, int width) {
    if (!pairs) return cg_text(c, "rl_store<%d>", width);
    return cg_text(c, "rl_store_%s<%d>", short_name(storage), width);
}

const char *cg_widen(const Cg *c, TeDtype to, TeDtype from) {
    if (!rprog_widens(from, to)) return NULL;
    return cg_text(c, "rl_%sx4_to_%sx4", short_name(from), short_name(to));
}

const char *cg_cast(const Cg *c, TeDtype storage, TeDtype from, const char *value) {
    if (storage == from) return value;
    if (storage == TE_BOOL) return cg_text(c, "(%s != 0)", value);
    if (is_narrow_real(storage)) return cg_decode(c, storage, cg_encode(c, storage, from, value));
    if (te_dtype_class(storage) == TE_CLASS_INT) return to_integer(c, storage, from, value);
    return cg_convert(c, storage, from, value);
}

const char *cg_real(const Cg *c, TeDtype type, double v) {
    Buf b = buf_new(c->arena);
    if (type == TE_F32) v = (double)num_f32_encode(v, ROUND_NEAREST_EVEN);
    if (isnan(v) || isinf(v)) {
        const char *sign = v < 0 ? "-" : "";
        if (type == TE_F32)
            buf_printf(&b, "(%s__int_as_float(%s))", sign, isnan(v) ? "0x7fc00000" : "0x7f800000");
        else
            buf_printf(&b, "(%s__longlong_as_double(%s))", sign,
                       isnan(v) ? "0x7ff8000000000000ll" : "0x7ff0000000000000ll");
        return buf_str(&b);
    }
    if (signbit(v)) buf_putc(&b, '(');
    buf_real(&b, v);
    if (type == TE_F32) buf_putc(&b, 'f');
    if (signbit(v)) buf_putc(&b, ')');
    return buf_str(&b);
}

const char *cg_int(const Cg *c, TeDtype type, int64_t v) {
    if (type == TE_BOOL) return v ? "true" : "false";
    if (te_dtype_class(type) == TE_CLASS_REAL)
        return type == TE_F32 ? cg_real(c, type, (double)(float)v) : cg_real(c, type, (double)v);
    if (v == INT64_MIN) return "(-9223372036854775807ll - 1)";
    if (v == INT32_MIN) return "(-2147483647 - 1)";
    const char *suffix = v > INT32_MAX || v < INT32_MIN ? "ll" : "";
    return v < 0 ? cg_text(c, "(%lld%s)", (long long)v, suffix)
                 : cg_text(c, "%lld%s", (long long)v, suffix);
}
