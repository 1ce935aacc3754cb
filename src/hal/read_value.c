#include "base/nearest.h"
#include "hal/reader.h"

#include <math.h>
#include <string.h>

enum { MAX_POINTS = 4096, MAX_REF = 1024 };
static const double whole_max = 9007199254740992.0;    /* 2^53: every whole number is exact */

/* What backs a value: the part figures and curves share.  */
typedef struct {
    Origin origin;
    const char *ref;
    double spread;
    int samples;
} Evidence;

const char *reader_text(Reader *r, const Node *n, size_t min, size_t max) {
    if (!json_is_string(n->json)) {
        reader_fault(r, n, "type", "a text is expected");
        return NULL;
    }
    const char *s = json_string_value(n->json);
    size_t len = json_string_length(n->json);
    if (len < min || len > max) {
        reader_fault(r, n, "bounds", "a text of %zu bytes is outside %zu .. %zu", len, min, max);
        return NULL;
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f) {
            reader_fault(r, n, "text", "a control character in the text");
            return NULL;
        }
    }
    return arena_strndup(r->arena, s, len);
}

static bool is_date(const char *s) {
    static const char form[] = "dddd-dd-dd";
    if (strlen(s) != 10)
        return false;
    for (int i = 0; i < 10; i++)
        if (form[i] == 'd' ? s[i] < '0' || s[i] > '9' : s[i] != form[i])
            return false;
    int month = (s[5] - '0') * 10 + s[6] - '0', day = (s[8] - '0') * 10 + s[9] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

const char *reader_date(Reader *r, const Node *n) {
    const char *s = reader_text(r, n, 1, MAX_REF);
    if (!s || is_date(s))
        return s;
    reader_fault(r, n, "text", "a date is written YYYY-MM-DD");
    return NULL;
}

bool reader_number(Reader *r, const Node *n, double min, double max, double *out) {
    if (!json_is_number(n->json)) {
        reader_fault(r, n, "type", "a number is expected");
        if (json_is_string(n->json)) diag_hint(r->diag, "write it without quotes");
        return false;
    }
    double v = json_number_value(n->json);
    if (!isfinite(v) || v < min || v > max) {
        Buf b = buf_new(r->arena);
        const double part[3] = {v, min, max};
        for (int i = 0; i < 3; i++) {
            buf_puts(&b, i == 0 ? "" : i == 1 ? " is outside " : " .. ");
            hal_number(part[i], &b);
        }
        reader_fault(r, n, "bounds", "%s", buf_str(&b));
        return false;
    }
    *out = v;
    return true;
}

static bool whole(Reader *r, const Node *n, double v) {
    if (v == floor(v) && fabs(v) <= whole_max)
        return true;
    reader_fault(r, n, "bounds", "a whole number is expected");
    return false;
}

bool reader_whole(Reader *r, const Node *n, double min, double max, int *out) {
    double v;
    if (!reader_number(r, n, min, max, &v) || !whole(r, n, v))
        return false;
    *out = (int)v;
    return true;
}

static const char *listed(Arena *a, const char *const *names, int count) {
    Buf b = buf_new(a);
    for (int i = 0; i < count; i++) buf_printf(&b, "%s%s", i ? ", " : "", names[i]);
    return buf_str(&b);
}

int reader_choice(Reader *r, const Node *n, const char *const *names, int count) {
    const char *s = reader_text(r, n, 0, MAX_REF);
    if (!s)
        return -1;
    Nearest near = {.name = s};
    for (int i = 0; i < count; i++) {
        if (!strcmp(s, names[i])) return i;
        nearest_offer(&near, names[i]);
    }
    reader_fault(r, n, "choice", "\"%s\" is none of %s", s, listed(r->arena, names, count));
    if (near.best) diag_hint(r->diag, "did you mean \"%s\"?", near.best);
    return -1;
}

int reader_need_choice(Reader *r, const Node *object, const char *key, const char *const *names,
                       int count) {
    const char *hint = arena_printf(r->arena, "one of %s", listed(r->arena, names, count));
    const Node *n = reader_need(r, object, key, hint);
    return n ? reader_choice(r, n, names, count) : -1;
}

/* A text of one origin that the others may not have.  */
static const char *backing(Reader *r, const Node *n, const char *key, bool wanted,
                           const char *origin) {
    const Node *at = located_member(n, key);
    if (at && !wanted) {
        reader_fault(r, at, "origin", "a value with source \"%s\" has no %s", origin, key);
        diag_hint(r->diag, "\"datasheet\" has ref, \"derived\" has formula");
    }
    if (!at && wanted) {
        reader_fault(r, n, "origin", "a value with source \"%s\" needs \"%s\"", origin, key);
        diag_hint(r->diag, "%s", *key == 'r' ? "ref: the document, and the place in it"
                                             : "formula: from which figures it follows, and how");
    }
    return at && wanted ? reader_text(r, at, 1, MAX_REF) : NULL;
}

static bool evidence(Reader *r, const Node *n, Evidence *e) {
    int before = r->diag->errors;
    int origin = reader_need_choice(r, n, "source", hal_origin_names, ORIGIN_COUNT);
    if (origin < 0)
        return false;
    const char *name = hal_origin_names[origin];
    const char *ref = backing(r, n, "ref", origin == ORIGIN_DATASHEET, name);
    const char *formula = backing(r, n, "formula", origin == ORIGIN_DERIVED, name);
    *e = (Evidence){.origin = (Origin)origin, .ref = ref ? ref : formula};
    static const char *const keys[] = {"spread", "samples"};
    for (int i = 0; i < 2; i++) {
        const Node *at = located_member(n, keys[i]);
        if (!at && hal_timed((Origin)origin)) {
            reader_fault(r, n, "origin", "a %s value needs \"%s\"", name, keys[i]);
            diag_hint(r->diag, "roller-profile writes measured values; one that you enter is "
                               "datasheet or derived");
        } else if (at && !hal_timed((Origin)origin))
            reader_fault(r, at, "origin", "a value with source \"%s\" has no %s", name, keys[i]);
        else if (at && i == 0)
            reader_number(r, at, 0, 100, &e->spread);
        else if (at)
            reader_whole(r, at, 1, 1e9, &e->samples);
    }
    return r->diag->errors == before;
}

/* Units of which any will do: "FLOP/clk/SM" or "op/clk/SM".  */
static const char *unit_names(Arena *a, const char *wanted) {
    const char *bar = strchr(wanted, '|');
    if (!bar) return arena_printf(a, "\"%s\"", wanted);
    return arena_printf(a, "\"%.*s\" or \"%s\"", (int)(bar - wanted), wanted, bar + 1);
}

static const char *unit_of(Reader *r, const Node *n, const char *key, const char *wanted) {
    const char *names = unit_names(r->arena, wanted), *unit = NULL;
    const Node *at = reader_need(r, n, key, arena_printf(r->arena, "%s: %s", key, names));
    const char *s = at ? reader_text(r, at, 0, 32) : NULL;
    if (s && !hal_unit_of_measure(wanted, s, &unit)) {
        reader_fault(r, at, "unit", "the unit is %s, not \"%s\"", names, s);
        diag_hint(r->diag, "convert the value to this unit, and write %s", names);
    }
    return unit;
}

const char *reader_about(Reader *r, const Field *f) {
    if (f->kind != FIELD_FIGURE) return f->text;
    return arena_printf(r->arena,
                        "%s: {\"value\": ..., \"unit\": %s, "
                        "\"source\": \"datasheet\", \"ref\": ...}",
                        f->text, unit_names(r->arena, f->unit));
}

static void figure_value(Reader *r, const Node *n, const Field *f, double *out) {
    const char *about = strcmp(f->unit, "1") ? arena_printf(r->arena, "%s, in %s", f->text,
                                                            unit_names(r->arena, f->unit))
                                             : f->text;
    const Node *value = reader_need(r, n, "value", arena_printf(r->arena, "value: %s", about));
    if (!value) return;
    if (reader_number(r, value, f->min, f->max, out)) {
        if (hal_field_counts(f)) whole(r, value, *out);
    } else if (json_is_number(value->json)) {
        diag_hint(r->diag, "%s", about);
    }
}

static void date_and_noise(Reader *r, const Node *n, Figure *f) {
    const Node *date = located_member(n, "date");
    if (date)
        f->date = reader_date(r, date);
    const Node *noisy = located_member(n, "noisy");
    if (noisy && !json_is_boolean(noisy->json))
        reader_fault(r, noisy, "type", "true or false is expected");
    f->noisy = noisy && json_is_true(noisy->json);
    if (!hal_timed(f->origin) && noisy)
        reader_fault(r, noisy, "origin", "only a measured or simulated value is noisy");
    else if (hal_timed(f->origin) && f->noisy != (f->spread > 0.05))
        reader_fault(r, n, "origin", "\"noisy\" is true exactly when the spread is above 0.05");
}

void reader_figure(Reader *r, const Node *n, const Field *f, Figure *out) {
    static const char *const keys[] = {"value",   "unit",   "source", "ref",   "formula",
                                       "spread", "samples", "noisy",  "date", NULL};
    if (!reader_object(r, n)) {
        diag_hint(r->diag, "%s", reader_about(r, f));
        return;
    }
    int before = r->diag->errors;
    Figure g = {0};
    Evidence e = {0};
    reader_known(r, n, NULL, keys);
    figure_value(r, n, f, &g.value);
    g.unit = unit_of(r, n, "unit", f->unit);
    if (evidence(r, n, &e)) {
        g.origin = e.origin;
        g.ref = e.ref;
        g.spread = e.spread;
        g.samples = e.samples;
        date_and_noise(r, n, &g);
    }
    if (r->diag->errors == before)
        *out = g;
}

static void points(Reader *r, const Node *n, Curve *c) {
    if (!reader_array(r, n, MAX_POINTS))
        return;
    if (n->n_child < 2)
        reader_fault(r, n, "curve", "a curve needs at least 2 points");
    c->px = ARENA_ARRAY(r->arena, double, n->n_child);
    c->py = ARENA_ARRAY(r->arena, double, n->n_child);
    for (int i = 0; i < n->n_child; i++) {
        const Node *p = &n->child[i];
        if (!json_is_array(p->json) || p->n_child != 2) {
            reader_fault(r, p, "curve", "a point is [x, y]");
            continue;
        }
        /* Interpolation is in log2 x, and no rate or time of a curve can be 0.  */
        if (reader_number(r, &p->child[0], 1e-6, 1e18, &c->px[i]) && i > 0 &&
            !(c->px[i] > c->px[i - 1]))
            reader_fault(r, &p->child[0], "curve", "x does not ascend");
        reader_number(r, &p->child[1], 1e-6, 1e18, &c->py[i]);
    }
    c->n = n->n_child;
}

/* The kind a level's curve says it is.  */
static const CurveKind *curve_kind(Reader *r, const Node *n, LevelId level, const char *of,
                                   const char *x) {
    const CurveKind *k = hal_curve_kind(level, of, x);
    if (k)
        return k;
    Buf b = buf_new(r->arena);
    for (int i = 0; i < hal_n_curve_kinds; i++)
        if (hal_curve_kinds[i].level == level)
            buf_printf(&b, "%s%s over %s", b.len ? ", " : "", hal_curve_kinds[i].of,
                       hal_curve_kinds[i].x);
    reader_fault(r, n, "curve", "no curve of \"%s\" over \"%s\" is known here; there %s%s", of, x,
                 b.len ? "is " : "is none", buf_str(&b));
    return NULL;
}

void reader_curve(Reader *r, const Node *n, LevelId level, const CurveKind *kind, Curve *out) {
    static const char *const keys[] = {"of",      "x",      "x_unit",  "unit",   "source", "ref",
                                       "formula", "spread", "samples", "points", NULL};
    if (!reader_object(r, n))
        return;
    int before = r->diag->errors;
    Curve c = {0};
    Evidence e = {0};
    reader_known(r, n, NULL, keys);
    const Node *of = reader_need(r, n, "of", "of: what the curve gives, such as \"read\""),
               *x = reader_need(r, n, "x", "x: what it is given over, such as \"active_sms\"");
    c.of = of ? reader_text(r, of, 0, 64) : NULL;
    c.x = x ? reader_text(r, x, 0, 64) : NULL;
    if (!c.of || !c.x)
        return;
    if (!kind)
        kind = curve_kind(r, n, level, c.of, c.x);
    else if (strcmp(kind->of, c.of) || strcmp(kind->x, c.x))
        reader_fault(r, n, "curve", "the curve is of \"%s\" over \"%s\"", kind->of, kind->x);
    if (!kind)
        return;
    c.x_unit = unit_of(r, n, "x_unit", kind->x_unit);
    c.unit = unit_of(r, n, "unit", kind->unit);
    if (evidence(r, n, &e)) {
        c.origin = e.origin;
        c.ref = e.ref;
        c.spread = e.spread;
        c.samples = e.samples;
    }
    const Node *p = reader_need(r, n, "points", "points: [[x, y], [x, y], ...], x ascends");
    if (p)
        points(r, p, &c);
    if (r->diag->errors == before)
        *out = c;
}
