#include "hal/fields.h"

static const char intro[] =
    "# Device profiles\n"
    "\n"
    "Generated from `src/hal/hal_fields.h` (`UPDATE=1 make unit TEST=test_hal_profile`); "
    "do not edit.\n"
    "\n"
    "A profile is one JSON file for one GPU and the only source of facts about it. Reading is "
    "strict: every\n"
    "key that is unknown, missing, doubled or out of bounds is an error with line and column.\n"
    "[adding-a-device.md](../adding-a-device.md) makes a profile.\n"
    "\n"
    "- **Figure**: `value`, `unit`, `source` and what the source needs; `date` where it differs "
    "from that of\n"
    "  `made`. Units `1` and `B` count: their values are whole numbers.\n"
    "  - `datasheet` needs `ref`, a public document; `derived` needs `formula`; `driver` is an "
    "attribute that\n"
    "    the driver reports.\n"
    "  - `measured` needs `spread` (relative) and `samples`, and `\"noisy\": true` exactly when "
    "the spread is\n"
    "    above 0.05. `simulated`, by the simulated driver's clock, needs the same; one such "
    "figure, or a `gpu`\n"
    "    whose name ends in `(simulated)`, makes the whole profile a simulated one.\n"
    "- **Curve**: `of`, `x`, `x_unit`, `unit`, `source` and what it needs, `points` as "
    "`[[x, y], ...]` with x\n"
    "  ascending, at least two. Linear in log2 x between points, constant outside.\n"
    "- A unit or mover that is not in the file does not exist for planning.\n"
    "\n"
    "The file has `schema` (`\"roller-profile\"`), `schema_version` (1), `name` (lower case, as "
    "the file), `gpu`\n"
    "(`name` as the driver says it, `arch` like `sm_90a`, `compute_capability` like `9.0`) and the "
    "sections\n"
    "below. What is not marked *optional* must be there.\n"
    "\n"
    "A `gpu` with the `language` `opencl c 1.2` takes OpenCL C in the place of CUDA C++. It has "
    "neither `arch`\n"
    "nor `compute_capability`, and no matrix units, asynchronous copies or clusters. An SM is a "
    "compute unit,\n"
    "a block a work-group, shared memory local memory.\n";

static const char *kind_text(FieldKind k) {
    static const char *const names[] = {
        [FIELD_TEXT] = "text",     [FIELD_SCOPE] = "scope",   [FIELD_PLACE] = "place",
        [FIELD_RANGE] = "range",   [FIELD_DTYPE] = "type",    [FIELD_FLAG] = "bool",
        [FIELD_SPANS] = "list",    [FIELD_COUNT] = "integer", [FIELD_NUMBER] = "number",
        [FIELD_FIGURE] = "figure", [FIELD_CURVE] = "curve"};
    return names[k];
}

static void bounds(const Field *f, Buf *out) {
    if (f->max <= 0 || f->kind == FIELD_DTYPE) return;
    buf_puts(out, ", ");
    hal_number(f->min, out);
    if (f->max > f->min) {
        buf_puts(out, "..");
        hal_number(f->max, out);
    }
    buf_puts(out, f->kind == FIELD_TEXT ? " bytes" : "");
}

static const char *optional(bool required) {
    return required ? "" : "*optional*: ";
}

static void table(const FieldTable *t, Buf *out) {
    buf_puts(out, "\n| field | kind, unit, bounds | |\n|---|---|---|\n");
    for (int i = 0; i < t->n; i++) {
        const Field *f = &t->field[i];
        buf_printf(out, "| `%s` | %s%s", f->name, kind_text(f->kind), *f->unit ? ", " : "");
        for (const char *c = f->unit; *c; c++)
            buf_puts(out, *c == '|' ? " or " : (char[2]){*c, 0});
        bounds(f, out);
        buf_printf(out, " | %s%s |\n", optional(f->required), f->text);
    }
}

static void names(const char *what, const char *const *name, int n, Buf *out) {
    buf_printf(out, "%s", what);
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s`%s`", i ? ", " : " ", name[i]);
    buf_puts(out, ".");
}

static void memory(Buf *out) {
    buf_puts(out, "\n## memory\n\nA list of levels. Each has `level` and `scope`, the figures "
                  "below and a list `curves`.\n");
    names("Levels:", hal_level_names, LEVEL_COUNT, out);
    names(" Scopes:", hal_memory_scopes, hal_n_memory_scopes, out);
    buf_puts(out, " `dsmem` is there exactly when\nthere are clusters; the capacity of `smem` "
                  "and `reg` is that of one SM.\n");
    table(&hal_memory_fields, out);
    buf_puts(out, "\nBeside those, a level needs:\n\n");
    static const struct {
        LevelId level;
        const char *field;
    } needs[] = {
#define X(level, field) {LEVEL_##level, #field},
        HAL_MEMORY_NEEDS(X)
#undef X
    };
    for (int i = 0; i < LEVEL_COUNT; i++) {
        const char *gap = " ";
        for (size_t k = 0; k < sizeof needs / sizeof *needs; k++) {
            if (needs[k].level != (LevelId)i)
                continue;
            if (*gap == ' ')
                buf_printf(out, "- `%s`:", hal_level_names[i]);
            buf_printf(out, "%s`%s`", gap, needs[k].field);
            gap = ", ";
        }
        buf_puts(out, *gap == ',' ? "\n" : "");
    }
    buf_puts(out, "\n| curve | over | |\n|---|---|---|\n");
    for (int i = 0; i < hal_n_curve_kinds; i++) {
        const CurveKind *c = &hal_curve_kinds[i];
        if (c->level < LEVEL_COUNT)
            buf_printf(out, "| `%s.%s`, %s | `%s`, %s | %s%s |\n", hal_level_names[c->level], c->of,
                       c->unit, c->x, c->x_unit, optional(c->required), c->text);
    }
}

void hal_fields_doc(Buf *out) {
    buf_puts(out, intro);
    buf_puts(out, "\n## made\n");
    table(&hal_made_fields, out);
    buf_puts(out, "\n## limits\n");
    table(&hal_limits_fields, out);
    memory(out);
    buf_puts(out, "\n## families\n\nA list, where there is any: what power leaves of units "
                  "that it slows alike.\n");
    table(&hal_family_fields, out);
    buf_puts(out, "\n## units\n\nA list with one row per instruction shape and type. ");
    names("Scopes:", hal_scope_names, SCOPE_COUNT, out);
    buf_puts(out, "\nA range is a number or `{\"from\", \"to\", \"step\"}`; types are those of the "
                  "language, and `none` for an\noperand the unit does not have.\n");
    table(&hal_unit_fields, out);
    buf_puts(out, "\n## movers\n\nA list with one row per way to move data. ");
    names("Places:", hal_place_names, PLACE_COUNT, out);
    buf_puts(out, "\n");
    table(&hal_mover_fields, out);
    buf_puts(out, "\n## overheads\n");
    table(&hal_overheads_fields, out);
    buf_puts(out, "\n## factors\n\nAn object whose keys name what is multiplied: a unit, a mover, "
                  "a level, a rate of a level as\nin `dram.read`, or `issue`, the rate at "
                  "which instructions are issued. What is absent has the\nfactor 1.\n");
    table(&hal_factor_fields, out);
    buf_puts(out, "\n## not_measured\n\nAn object, where there is any: figures, or rows of "
                  "`roller-profile`, that the measurement could not\ntell, each with the reason. "
                  "They are those of the profile it started from.\n");
}
