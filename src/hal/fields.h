/* The tables of hal_fields.h as arrays, so that reader, writer and documentation are loops.
 * Internal to src/hal.  */
#ifndef ROLLER_HAL_FIELDS_H
#define ROLLER_HAL_FIELDS_H
#include "hal/device.h"

typedef enum {
    FIELD_TEXT, FIELD_SCOPE, FIELD_PLACE, FIELD_RANGE, FIELD_DTYPE, FIELD_FLAG, FIELD_SPANS,
    FIELD_COUNT, FIELD_NUMBER, FIELD_FIGURE, FIELD_CURVE
} FieldKind;

typedef struct {
    const char *name;         /* the JSON key */
    FieldKind kind;
    size_t offset;            /* of the member in its struct */
    const char *unit;         /* alternatives are separated by '|' */
    double min, max;          /* texts: of the length */
    bool required;
    const char *text;
} Field;

typedef struct {
    const char *name;
    const Field *field;
    int n;
} FieldTable;

typedef struct {
    LevelId level;            /* LEVEL_COUNT: a member curve */
    const char *member, *of, *x, *x_unit, *unit;
    bool required;
    const char *text;
} CurveKind;

extern const FieldTable hal_limits_fields, hal_memory_fields, hal_family_fields, hal_unit_fields,
    hal_mover_fields, hal_overheads_fields, hal_made_fields, hal_factor_fields;
extern const CurveKind hal_curve_kinds[];
extern const int hal_n_curve_kinds;
extern const char *const hal_level_names[LEVEL_COUNT], *const hal_origin_names[ORIGIN_COUNT],
    *const hal_place_names[PLACE_COUNT];
extern const char *const hal_memory_scopes[];
extern const int hal_n_memory_scopes;

/* The row of a level's curve; NULL if there is none.  */
const CurveKind *hal_curve_kind(LevelId level, const char *of, const char *x);
/* The row of the curve that is the member `name` of a struct.  */
const CurveKind *hal_member_curve(const char *name);
/* Whether `unit` (of `len` bytes) is one of `alternatives`; *out gets a string that lives on.  */
bool hal_unit_of_measure(const char *alternatives, const char *unit, const char **out);
/* Whole numbers without a point, round large ones as 3.888e12, all else the shortest way; reads
 * back exactly.  */
void hal_number(double v, Buf *out);
/* Whether figures of this field count things and so are whole numbers.  */
bool hal_field_counts(const Field *f);
#endif
