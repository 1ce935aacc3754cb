#include "hal/fields.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIGURE_ROW(S, name, unit, min, max, required, text)                                        \
    {#name, FIELD_FIGURE, offsetof(S, name), unit, min, max, required, text},
#define MEMBER_ROW(S, kind, name, unit, min, max, required, text)                                  \
    {#name, FIELD_##kind, offsetof(S, name), unit, min, max, required, text},
#define TABLE(name) {#name, name##_rows, (int)(sizeof name##_rows / sizeof *name##_rows)}

static const Field limits_rows[] = {
#define X(...) FIGURE_ROW(DeviceLimits, __VA_ARGS__)
    HAL_LIMITS(X)
#undef X
    {"clusters_resident", FIELD_CURVE, offsetof(DeviceLimits, clusters_resident), "1", 0, 0, 0,
     "the fewest clusters that a board of the name holds at a time, over the blocks per cluster; "
     "only with clusters"},
};
static const Field memory_rows[] = {
#define X(...) FIGURE_ROW(MemoryLevel, __VA_ARGS__)
    HAL_MEMORY(X)
#undef X
};
static const Field families_rows[] = {
#define X(...) MEMBER_ROW(UnitFamily, __VA_ARGS__)
    HAL_FAMILY(X)
#undef X
};
static const Field units_rows[] = {
#define X(...) MEMBER_ROW(ComputeUnit, __VA_ARGS__)
    HAL_UNIT(X)
#undef X
};
static const Field movers_rows[] = {
#define X(...) MEMBER_ROW(Mover, __VA_ARGS__)
    HAL_MOVER(X)
#undef X
};
static const Field overheads_rows[] = {
#define X(...) FIGURE_ROW(DeviceOverheads, __VA_ARGS__)
    HAL_OVERHEADS(X)
#undef X
    {"barrier", FIELD_CURVE, offsetof(DeviceOverheads, barrier), "clk", 0, 0, 1,
     "__syncthreads over the threads of a block"},
};
static const Field made_rows[] = {
#define X(kind, name, key, unit, min, max, required, text)                                         \
    {key, FIELD_##kind, offsetof(Device, name), unit, min, max, required, text},
    HAL_MADE(X)
#undef X
};
static const Field factors_rows[] = {
#define X(...) MEMBER_ROW(Factor, __VA_ARGS__)
    HAL_FACTOR(X)
#undef X
};

const FieldTable hal_limits_fields = TABLE(limits), hal_memory_fields = TABLE(memory),
                 hal_family_fields = TABLE(families), hal_unit_fields = TABLE(units),
                 hal_mover_fields = TABLE(movers), hal_overheads_fields = TABLE(overheads),
                 hal_made_fields = TABLE(made), hal_factor_fields = TABLE(factors);

const CurveKind hal_curve_kinds[] = {
#define X(level, of, x, x_unit, unit, required, text)                                              \
    {LEVEL_##level, NULL, of, x, x_unit, unit, required, text},
    HAL_CURVES(X)
#undef X
#define X(member, of, x, x_unit, unit) {LEVEL_COUNT, #member, of, x, x_unit, unit, false, ""},
    HAL_MEMBER_CURVES(X)
#undef X
};
const int hal_n_curve_kinds = (int)(sizeof hal_curve_kinds / sizeof *hal_curve_kinds);

#define X(id, name) name,
const char *const hal_level_names[LEVEL_COUNT] = {HAL_LEVELS(X)};
const char *const hal_origin_names[ORIGIN_COUNT] = {HAL_ORIGINS(X)};
const char *const hal_scope_names[SCOPE_COUNT] = {HAL_SCOPES(X)};
const char *const hal_place_names[PLACE_COUNT] = {HAL_PLACES(X)};
#undef X
#define X(name) name,
const char *const hal_memory_scopes[] = {HAL_MEMORY_SCOPES(X)};
const int hal_n_memory_scopes = (int)(sizeof hal_memory_scopes / sizeof *hal_memory_scopes);
static const char *const units_of_measure[] = {HAL_UNITS_OF_MEASURE(X)};
#undef X

const CurveKind *hal_curve_kind(LevelId level, const char *of, const char *x) {
    for (int i = 0; i < hal_n_curve_kinds; i++) {
        const CurveKind *k = &hal_curve_kinds[i];
        if (k->level == level && !strcmp(k->of, of) && !strcmp(k->x, x))
            return k;
    }
    return NULL;
}

const CurveKind *hal_member_curve(const char *name) {
    for (int i = 0; i < hal_n_curve_kinds; i++)
        if (hal_curve_kinds[i].member && !strcmp(hal_curve_kinds[i].member, name))
            return &hal_curve_kinds[i];
    return NULL;
}

bool hal_unit_of_measure(const char *alternatives, const char *unit, const char **out) {
    size_t len = strlen(unit);
    const char *at = alternatives;
    while (strncmp(at, unit, len) || (at[len] && at[len] != '|')) {
        at = strchr(at, '|');
        if (!at)
            return false;
        at++;
    }
    for (size_t i = 0; i < sizeof units_of_measure / sizeof *units_of_measure; i++) {
        if (!strcmp(units_of_measure[i], unit)) {
            *out = units_of_measure[i];
            return true;
        }
    }
    return false;
}

bool hal_field_counts(const Field *f) {
    return !strcmp(f->unit, "1") || !strcmp(f->unit, "B");
}

void hal_number(double v, Buf *out) {
    if (v != floor(v) || fabs(v) > 1e18) {
        buf_real(out, v);
        return;
    }
    char digit[24];
    int len = snprintf(digit, sizeof digit, "%.0f", fabs(v)), used = len;
    while (used > 1 && digit[used - 1] == '0')
        used--;
    buf_puts(out, v < 0 ? "-" : "");
    if (len < 7 || len - used < 4)
        buf_puts(out, digit);
    else
        buf_printf(out, "%c%s%.*se%d", digit[0], used > 1 ? "." : "", used - 1, digit + 1, len - 1);
}
