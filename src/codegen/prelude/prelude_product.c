/* Products of matrix units: their names say shape and types, and their definitions are made of
 * these.  */
#include "codegen/prelude/prelude.h"
#include "rtile/fragment.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Types as names of definitions have them, and as instructions do.  */
static const struct {
    const char *name, *op;
    TeDtype type;
    bool tf32;
} types[] = {
    {"f16", "f16", TE_F16, false},       {"bf16", "bf16", TE_BF16, false},
    {"tf32", "tf32", TE_F32, true},      {"f32", "f32", TE_F32, false},
    {"f64", "f64", TE_F64, false},       {"e4m3", "e4m3", TE_F8E4M3, false},
    {"e5m2", "e5m2", TE_F8E5M2, false},  {"i8", "s8", TE_I8, false},
    {"u8", "u8", TE_U8, false},          {"i32", "s32", TE_I32, false},
    {"e3m2", "e3m2", TE_F6E3M2, false},  {"e2m3", "e2m3", TE_F6E2M3, false},
    {"e2m1x2", "e2m1", TE_F4E2M1X2, false},
    {"ue8m0", "ue8m0", TE_F8UE8M0, false}, {"ue4m3", "ue4m3", TE_F8UE4M3, false},
};
enum { TYPES = sizeof types / sizeof *types };

static int type_of(TeDtype type, bool tf32) {
    int i = 0;
    while (i < TYPES - 1 && (types[i].type != type || types[i].tf32 != tf32)) i++;
    return i;
}

static const char *operand_name(const ComputeUnit *u) { return types[type_of(u->a, u->tf32)].name; }

const char *prelude_op_operand(const ComputeUnit *u) { return types[type_of(u->a, u->tf32)].op; }

const char *prelude_op_second(const ComputeUnit *u) { return types[type_of(u->b, u->tf32)].op; }

const char *prelude_op_scale(const ComputeUnit *u) { return types[type_of(u->scale, false)].op; }

const char *prelude_op_sums(const ComputeUnit *u) { return types[type_of(u->acc, false)].op; }

const char *prelude_constraint(TeDtype type) {
    return type == TE_F32 ? "f" : type == TE_F64 ? "d" : "r";
}

const char *prelude_register(TeDtype type) {
    switch (type) {
    case TE_F32: return "float";
    case TE_F64: return "double";
    case TE_I32: return "int";
    default: return "unsigned";
    }
}

const char *prelude_types(Arena *a, const ComputeUnit *u) {
    if (u->scale_k > 0)
        return arena_printf(a, "%s_%s_%s_%s", operand_name(u),
                            types[type_of(u->b, u->tf32)].name,
                            te_dtype_name(u->acc), prelude_op_scale(u));
    if (u->a != u->b)
        return arena_printf(a, "%s_%s_%s", operand_name(u), types[type_of(u->b, u->tf32)].name,
                            te_dtype_name(u->acc));
    return arena_printf(a, "%s_%s", operand_name(u), te_dtype_name(u->acc));
}

const char *prelude_mma_name(Arena *a, const ComputeUnit *u, const char *orders) {
    FragShape s = fragment_shape(u);
    return arena_printf(a, PRELUDE_MMA "%dn%dk%d_%s%s", s.m, s.n, s.k, prelude_types(a, u),
                        u->scale_k > 0 ? "" : orders);
}

static bool take(const char **s, const char *end, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(end - *s) < n || memcmp(*s, word, n) != 0) return false;
    *s += n;
    return true;
}

static bool take_number(const char **s, const char *end, const char *before, SizeRange *number) {
    enum { MOST = 256 };
    int n = 0;
    if (!take(s, end, before)) return false;
    for (; *s < end && **s >= '0' && **s <= '9' && n <= MOST; (*s)++) n = n * 10 + (**s - '0');
    *number = (SizeRange){.from = n, .to = n, .step = 1};
    return n > 0 && n <= MOST;
}

/* The longest name that stands here whole; -1: none.  */
static int take_type(const char **s, const char *end) {
    const char *from = *s;
    if (!take(&from, end, "_")) return -1;
    for (int i = 0; i < TYPES; i++) {
        const char *at = from;
        if (!take(&at, end, types[i].name) || (at < end && *at != '_')) continue;
        *s = at;
        return i;
    }
    return -1;
}

/* Sums are as wide as the products, or in the type of the class that is computed in.  */
static bool sums(TeDtype type, TeDtype acc) {
    if (te_dtype_class(type) == TE_CLASS_INT) return acc == TE_I32;
    if (type == TE_F64) return acc == TE_F64;
    return acc == TE_F32 || (acc == TE_F16 && type != TE_BF16 && type != TE_F32);
}

/* Behind the types of both operands and of the sums that of their scales: numbers along k that
 * share one are as PTX has them (hal_scaled_kind).  */
static bool take_scales(const int type[4], ComputeUnit *u) {
    enum { LONG = 32, SHORT = 16 };
    u->scale = types[type[3]].type;
    if (!te_dtype_scale(u->scale) || types[type[2]].type != TE_F32) return false;
    u->a = types[type[0]].type;
    u->b = types[type[1]].type;
    u->scale_k = (u->scale == TE_F8UE8M0 ? LONG : SHORT) / te_dtype_values(u->a);
    u->acc = TE_F32;
    return true;
}

const char *prelude_read_product(const char *name, size_t len, const char *stem, ComputeUnit *u) {
    const char *s = name, *end = name + len;
    int type[4], n = 0;
    *u = (ComputeUnit){.scale = HAL_NO_DTYPE};
    if (!take(&s, end, stem) || !take_number(&s, end, "", &u->m) ||
        !take_number(&s, end, "n", &u->n) || !take_number(&s, end, "k", &u->k))
        return NULL;
    while (n < 4 && (type[n] = take_type(&s, end)) >= 0) n++;
    if (n == 4) return take_scales(type, u) ? s : NULL;
    if (n < 2 || types[type[n - 1]].tf32) return NULL;
    u->a = types[type[0]].type;
    u->b = types[type[n - 2]].type;
    u->tf32 = types[type[0]].tf32;
    u->acc = types[type[n - 1]].type;
    bool mixed = n == 2 || (u->a != u->b && hal_mixes(u->a, u->b));
    return mixed && !te_dtype_scale(u->a) && sums(u->a, u->acc) ? s : NULL;
}

void prelude_put(PreludeText *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->text + t->len, PRELUDE_TEXT - t->len, format, args);
    va_end(args);
    t->len += (size_t)n;
}
