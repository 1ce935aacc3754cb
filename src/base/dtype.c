#include "base/dtype.h"
#include <string.h>

static const struct {
    const char *name;
    int bytes;
    TeDtype compute;
    TeClass cls;
} dtypes[] = {
#define X(id, name, bytes, compute, cls) {name, bytes, TE_##compute, TE_CLASS_##cls},
    TE_DTYPES(X)
#undef X
};

static const struct {
    const char *alias;
    TeDtype type;
} aliases[] = {
    {"double", TE_F64},      {"float64", TE_F64},  {"float", TE_F32},   {"float32", TE_F32},
    {"half", TE_F16},        {"float16", TE_F16},  {"bfloat16", TE_BF16},
    {"float8_e4m3fn", TE_F8E4M3},                  {"float8_e5m2", TE_F8E5M2},
    {"float8_e8m0fnu", TE_F8UE8M0},                {"float6_e3m2fn", TE_F6E3M2},
    {"float6_e2m3fn", TE_F6E2M3},                  {"float4_e2m1fn", TE_F4E2M1},
    {"float4_e2m1fn_x2", TE_F4E2M1X2},
    {"int64", TE_I64},       {"int32", TE_I32},    {"int16", TE_I16},   {"int8", TE_I8},
    {"uint8", TE_U8},
};

const char *te_dtype_name(TeDtype t) { return dtypes[t].name; }
int te_dtype_bytes(TeDtype t) { return dtypes[t].bytes; }
TeDtype te_dtype_compute(TeDtype t) { return dtypes[t].compute; }
TeClass te_dtype_class(TeDtype t) { return dtypes[t].cls; }
bool te_dtype_scale(TeDtype t) { return t == TE_F8UE4M3 || t == TE_F8UE8M0; }
bool te_dtype_narrow(TeDtype t) {
    return dtypes[t].cls == TE_CLASS_REAL && dtypes[t].bytes == 1 && !te_dtype_scale(t);
}
bool te_dtype_unsigned(TeDtype t) { return t == TE_U8 || t == TE_F4E2M1X2; }
TeDtype te_dtype_packed(TeDtype t) { return t == TE_F4E2M1X2 ? TE_F4E2M1 : TE_DTYPE_COUNT; }
int te_dtype_values(TeDtype t) { return te_dtype_packed(t) == TE_DTYPE_COUNT ? 1 : 2; }
bool te_dtype_zero(TeDtype t) { return t != TE_F8UE8M0; }

static bool is(const char *name, const char *s, size_t len) {
    return strlen(name) == len && memcmp(name, s, len) == 0;
}

bool te_dtype_parse(const char *s, size_t len, TeDtype *out) {
    for (int t = 0; t < TE_DTYPE_COUNT; t++) {
        if (is(dtypes[t].name, s, len)) {
            *out = (TeDtype)t;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (is(aliases[i].alias, s, len)) {
            *out = aliases[i].type;
            return true;
        }
    }
    return false;
}
