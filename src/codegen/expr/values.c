#include "base/numeric.h"
#include "codegen/expr/expr.h"
#include "rprogram/derived.h"
#include <math.h>
#include <string.h>

/* The middle of prelude names: rl_f32_to_e4m3.  */
static const char *short_name(TeDtype t) {
    const char *name = te_dtype_name(t);
    bool small = te_dtype_class(t) == TE_CLASS_REAL && te_dtype_bytes(t) == 1;
    return small ? name + strlen("f8") : name;
}

static bool is_narrow_real(TeDtype t) {
    return te_dtype_class(t) == TE_CLASS_REAL && te_dtype_bytes(t) < te_dtype_bytes(TE_F32);
}

bool cg_range_of_storage(TeDtype t, int64_t *lo, int64_t *hi) {
    static const struct {
        TeDtype t;
        int64_t lo, hi;
    } row[] = {
        {TE_I64, INT64_MIN, INT64_MAX}, {TE_I32, INT32_MIN, INT32_MAX},
        {TE_I16, INT16_MIN, INT16_MAX}, {TE_I8, INT8_MIN, INT8_MAX},
        {TE_U8, 0, UINT8_MAX}, {TE_F4E2M1X2, 0, UINT8_MAX},
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

/* The function from one type to another.  */
static const char *conversion(const Cg *c, const char *from, const char *to) {
    return ir_joined(c, ir_joined(c, "rl_", from), ir_joined(c, "_to_", to));
}

static Ir called(const Cg *c, IrBase base, const char *from, const char *to, Ir x) {
    return ir_call(c, ir_type(base), conversion(c, from, to), 1, x);
}

Ir cg_decode(const Cg *c, TeDtype storage, Ir element) {
    if (is_narrow_real(storage)) return called(c, IR_F32, short_name(storage), "f32", element);
    if (storage == TE_BOOL) return called(c, IR_BOOL, "u8", "bool", element);
    return te_dtype_bytes(storage) < 4 ? ir_as(c, IR_I32, element) : element;
}

/* An f32 from which a narrower real is rounded as from the exact value.  */
static Ir single(const Cg *c, TeDtype from, Ir value) {
    if (from == TE_F32) return value;
    if (from == TE_BOOL) return ir_cast(c, IR_F32, value);
    return ir_call(c, ir_type(IR_F32), from == TE_F64 ? "rl_f64_to_odd" : "rl_i64_to_odd", 1,
                   value);
}

static Ir to_integer(const Cg *c, TeDtype storage, TeDtype from, Ir value) {
    if (from == TE_BOOL) return ir_cast(c, ir_compute(storage), value);
    if (te_dtype_class(from) == TE_CLASS_INT) {
        if (storage == TE_I64) return value;
        if (storage != TE_I32) value = ir_as(c, ir_storage(storage), value);
        return ir_as(c, IR_I32, value);
    }
    if (storage == TE_I64) return called(c, IR_I64, short_name(from), "i64", value);
    Ir whole = called(c, IR_I32, short_name(from), "i32", value);
    int64_t lo, hi;
    if (storage == TE_I32 || !cg_range_of_storage(storage, &lo, &hi)) return whole;
    whole = ir_call(c, ir_type(IR_I32), "max", 2, whole, ir_int(c, lo));
    return ir_call(c, ir_type(IR_I32), "min", 2, whole, ir_int(c, hi));
}

Ir cg_convert(const Cg *c, TeDtype to, TeDtype from, Ir value) {
    if (to == from || to == TE_BOOL) return value;
    if (te_dtype_class(to) == TE_CLASS_INT) return to_integer(c, to, from, value);
    return ir_as(c, ir_compute(to), value);
}

Ir cg_encode(const Cg *c, TeDtype storage, TeDtype from, Ir value) {
    if (is_narrow_real(storage))
        return called(c, ir_storage(storage), "f32", short_name(storage), single(c, from, value));
    if (storage == TE_BOOL) return ir_cast(c, IR_U8, cg_cast(c, TE_BOOL, from, value));
    TeDtype compute = te_dtype_compute(storage);
    if (te_dtype_class(storage) == TE_CLASS_INT && compute != storage)
        return ir_as(c, ir_storage(storage), cg_cast(c, storage, from, value));
    return cg_convert(c, compute, from, value);
}

bool cg_pairs(TeDtype storage, int width) { return is_narrow_real(storage) && width % 2 == 0; }

IrBase cg_waiting(TeDtype storage, bool pairs) { return pairs ? IR_F32 : ir_storage(storage); }

Ir cg_wait(const Cg *c, TeDtype storage, bool pairs, TeDtype from, Ir value) {
    return pairs ? single(c, from, value) : cg_encode(c, storage, from, value);
}

const char *cg_store(const Cg *c, TeDtype storage, bool pairs) {
    return pairs ? ir_joined(c, "rl_store_", short_name(storage)) : "rl_store";
}

const char *cg_widen(const Cg *c, TeDtype to, TeDtype from) {
    if (!rprog_widens(from, to)) return NULL;
    return conversion(c, ir_joined(c, short_name(from), "x4"), ir_joined(c, short_name(to), "x4"));
}

const char *cg_register(const Cg *c, TeDtype type, int n) {
    const char *from = te_dtype_name(te_dtype_compute(type));
    if (type == TE_F64) return NULL;
    return conversion(c, arena_printf(c->arena, "%sx%d", from, n), short_name(type));
}

Ir cg_cast(const Cg *c, TeDtype storage, TeDtype from, Ir value) {
    if (storage == from) return value;
    if (storage == TE_BOOL) return ir_binary(c, IR_NE, value, ir_int(c, 0));
    if (is_narrow_real(storage)) return cg_decode(c, storage, cg_encode(c, storage, from, value));
    if (te_dtype_class(storage) == TE_CLASS_INT) return to_integer(c, storage, from, value);
    return cg_convert(c, storage, from, value);
}

Ir cg_real(const Cg *c, TeDtype type, double v) {
    if (type == TE_F32) v = (double)num_f32_encode(v, ROUND_NEAREST_EVEN);
    return ir_real(c, type == TE_F32 ? IR_F32 : IR_F64, v);
}

Ir cg_int(const Cg *c, TeDtype type, int64_t v) {
    if (type == TE_BOOL) return ir_bool(c, v != 0);
    if (te_dtype_class(type) == TE_CLASS_REAL)
        return cg_real(c, type, type == TE_F32 ? (double)(float)v : (double)v);
    return ir_int(c, v);
}
