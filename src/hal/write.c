#include "base/json.h"
#include "hal/fields.h"

#include <string.h>

enum { WIDTH = 100 };

/* Members of an object: on one line as far as they fit, figures and curves on their own.  */
typedef struct {
    Buf *out;
    int indent;
    size_t line;              /* offset at which the current line begins */
    bool any;
} Members;

static void newline(Members *w) {
    buf_putc(w->out, '\n');
    w->line = w->out->len;
    for (int i = 0; i < w->indent; i++)
        buf_putc(w->out, ' ');
}

static Members members(Buf *out, int indent) {
    buf_putc(out, '{');
    size_t line = out->len;
    while (line > 0 && out->text[line - 1] != '\n')
        line--;
    return (Members){out, indent, line, false};
}

/* Begins a member whose value takes about `size` bytes.  */
static void key(Members *w, const char *name, size_t size, bool own_line) {
    if (w->any)
        buf_putc(w->out, ',');
    if (own_line || (w->any && w->out->len - w->line + strlen(name) + size + 6 > WIDTH))
        newline(w);
    else if (w->any)
        buf_putc(w->out, ' ');
    json_write_string(name, w->out);
    buf_puts(w->out, ": ");
    w->any = true;
}

static void count(double v, Buf *out) {
    buf_printf(out, "%.0f", v);
}

static void text(const char *name, const char *s, Buf *out) {
    buf_printf(out, ", \"%s\": ", name);
    json_write_string(s, out);
}

static void evidence(Origin origin, const char *ref, double spread, int samples, Buf *out) {
    text("source", hal_origin_names[origin], out);
    if (ref)
        text(origin == ORIGIN_DERIVED ? "formula" : "ref", ref, out);
    if (hal_timed(origin)) {
        buf_puts(out, ", \"spread\": ");
        hal_number(spread, out);
        buf_printf(out, ", \"samples\": %d", samples);
    }
}

static void write_figure(const Figure *f, bool counts, Buf *out) {
    buf_puts(out, "{\"value\": ");
    (counts ? count : hal_number)(f->value, out);
    text("unit", f->unit, out);
    evidence(f->origin, f->ref, f->spread, f->samples, out);
    if (f->noisy)
        buf_puts(out, ", \"noisy\": true");
    if (f->date)
        text("date", f->date, out);
    buf_putc(out, '}');
}

static void write_curve(const Curve *c, int indent, Buf *out) {
    buf_puts(out, "{\"of\": ");
    json_write_string(c->of, out);
    text("x", c->x, out);
    text("x_unit", c->x_unit, out);
    text("unit", c->unit, out);
    evidence(c->origin, c->ref, c->spread, c->samples, out);
    buf_printf(out, ",\n%*s\"points\": [", indent, "");
    size_t line = out->len;
    for (int i = 0; i < c->n; i++) {
        if (out->len - line > WIDTH - 30) {
            buf_printf(out, ",\n%*s", indent + 11, "");
            line = out->len - (size_t)indent - 11;
        } else if (i) {
            buf_puts(out, ", ");
        }
        buf_putc(out, '[');
        hal_number(c->px[i], out);
        buf_puts(out, ", ");
        hal_number(c->py[i], out);
        buf_putc(out, ']');
    }
    buf_puts(out, "]}");
}

static void write_range(const SizeRange *g, Buf *out) {
    if (g->from == g->to)
        buf_printf(out, "%d", g->from);
    else
        buf_printf(out, "{\"from\": %d, \"to\": %d, \"step\": %d}", g->from, g->to, g->step);
}

static void write_spans(uint32_t bits, Buf *out) {
    const char *gap = "[";
    for (int i = 0; i < 32; i++) {
        if (bits >> i & 1) {
            buf_printf(out, "%s%d", gap, 16 << i);
            gap = ", ";
        }
    }
    buf_putc(out, ']');
}

static const char *name_of(const Field *f, const void *at) {
    if (f->kind == FIELD_SCOPE)
        return hal_scope_names[*(const UnitScope *)at];
    if (f->kind == FIELD_PLACE)
        return hal_place_names[*(const Place *)at];
    if (f->kind == FIELD_DTYPE)
        return *(const TeDtype *)at == HAL_NO_DTYPE ? "none" : te_dtype_name(*(const TeDtype *)at);
    return *(const char *const *)at;
}

static void write_scalar(const Field *f, const void *at, Buf *out) {
    switch (f->kind) {
    case FIELD_RANGE:
        write_range(at, out);
        break;
    case FIELD_FLAG:
        buf_puts(out, *(const bool *)at ? "true" : "false");
        break;
    case FIELD_SPANS:
        write_spans(*(const uint32_t *)at, out);
        break;
    case FIELD_COUNT:
        buf_printf(out, "%d", *(const int *)at);
        break;
    case FIELD_NUMBER:
        hal_number(*(const double *)at, out);
        break;
    default:
        json_write_string(name_of(f, at), out);
        break;
    }
}

static bool present(const Field *f, const void *at) {
    switch (f->kind) {
    case FIELD_FIGURE:
        return hal_has(at);
    case FIELD_CURVE:
        return ((const Curve *)at)->n > 0;
    case FIELD_TEXT:
        return f->required || **(const char *const *)at;
    case FIELD_NUMBER:
        return f->required || *(const double *)at != 0;
    case FIELD_DTYPE:
        return f->required || *(const TeDtype *)at != HAL_NO_DTYPE;
    case FIELD_COUNT:
        return f->required || *(const int *)at != 0;
    case FIELD_FLAG:
        return f->required || *(const bool *)at;
    default:
        return true;
    }
}

static void write_fields(Members *w, const FieldTable *t, const void *base) {
    for (int i = 0; i < t->n; i++) {
        const Field *f = &t->field[i];
        const void *at = (const char *)base + f->offset;
        if (!present(f, at))
            continue;
        if (f->kind == FIELD_FIGURE || f->kind == FIELD_CURVE) {
            key(w, f->name, 0, true);
            if (f->kind == FIELD_FIGURE)
                write_figure(at, hal_field_counts(f), w->out);
            else
                write_curve(at, w->indent + 2, w->out);
            continue;
        }
        Buf b = buf_new(w->out->arena);
        write_scalar(f, at, &b);
        key(w, f->name, b.len, false);
        buf_add(w->out, buf_str(&b), b.len);
    }
}

static void write_section(Buf *out, const FieldTable *t, const void *base) {
    buf_printf(out, ",\n\"%s\": ", t->name);
    Members w = members(out, 2);
    write_fields(&w, t, base);
    buf_putc(out, '}');
}

static void write_level(const MemoryLevel *m, const char *name, Buf *out) {
    Members w = members(out, 3);
    key(&w, "level", 0, false);
    json_write_string(name, out);
    key(&w, "scope", 0, false);
    json_write_string(m->scope, out);
    write_fields(&w, &hal_memory_fields, m);
    for (int i = 0; i < m->n_curve; i++) {
        if (i == 0) {
            key(&w, "curves", 0, true);
            buf_putc(out, '[');
        } else {
            buf_puts(out, ",\n     ");
        }
        write_curve(&m->curve[i], 6, out);
    }
    buf_puts(out, m->n_curve ? "]}" : "}");
}

static void write_rows(Buf *out, const FieldTable *t, const void *rows, int n, size_t size) {
    buf_printf(out, ",\n\"%s\": [", t->name);
    for (int i = 0; i < n; i++) {
        buf_puts(out, i ? ",\n  " : "\n  ");
        Members w = members(out, 3);
        write_fields(&w, t, (const char *)rows + (size_t)i * size);
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
}

void hal_profile_write(const Device *dev, Buf *out) {
    buf_puts(out, "{\"schema\": \"roller-profile\", \"schema_version\": 1");
    text("name", dev->name, out);
    buf_puts(out, ",\n\"gpu\": {\"name\": ");
    json_write_string(dev->gpu, out);
    if (dev->language != LANGUAGE_CUDA) text("language", hal_language_name(dev->language), out);
    else text("arch", dev->arch, out);
    if (dev->language == LANGUAGE_CUDA)
        buf_printf(out, ", \"compute_capability\": \"%d.%d\"", dev->cc_major, dev->cc_minor);
    buf_putc(out, '}');
    write_section(out, &hal_made_fields, dev);
    write_section(out, &hal_limits_fields, &dev->limits);
    buf_puts(out, ",\n\"memory\": [");
    const char *gap = "\n  ";
    for (int i = 0; i < LEVEL_COUNT; i++) {
        if (dev->memory[i].present) {
            buf_puts(out, gap);
            write_level(&dev->memory[i], hal_level_names[i], out);
            gap = ",\n  ";
        }
    }
    buf_putc(out, ']');
    if (dev->n_family)
        write_rows(out, &hal_family_fields, dev->family, dev->n_family, sizeof *dev->family);
    write_rows(out, &hal_unit_fields, dev->unit, dev->n_unit, sizeof *dev->unit);
    write_rows(out, &hal_mover_fields, dev->mover, dev->n_mover, sizeof *dev->mover);
    write_section(out, &hal_overheads_fields, &dev->overheads);
    buf_puts(out, ",\n\"factors\": {");
    for (int i = 0; i < dev->n_factor; i++) {
        buf_puts(out, i ? ",\n  " : "\n  ");
        json_write_string(dev->factor[i].name, out);
        buf_puts(out, ": ");
        Members w = members(out, 4);
        write_fields(&w, &hal_factor_fields, &dev->factor[i]);
        buf_putc(out, '}');
    }
    buf_putc(out, '}');
    for (int i = 0; i < dev->n_missed; i++) {
        buf_puts(out, i ? ",\n  " : ",\n\"not_measured\": {\n  ");
        json_write_string(dev->missed[i].name, out);
        buf_puts(out, ": ");
        json_write_string(dev->missed[i].why, out);
    }
    buf_puts(out, dev->n_missed ? "}\n}\n" : "\n}\n");
}
