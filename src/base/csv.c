#include "base/csv.h"

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool at_end(const CsvReader *r) { return r->pos >= r->text.len; }

static char now(const CsvReader *r) { return at_end(r) ? '\n' : r->text.text[r->pos]; }

static void skip_blanks(CsvReader *r) {
    while (blank(now(r))) r->pos++;
}

/* From behind the opening quote to behind the closing one.  */
static Status quoted(Diag *d, CsvReader *r, size_t open, Buf *out) {
    for (; !at_end(r); r->pos++) {
        if (now(r) != '"') {
            buf_putc(out, now(r));
            continue;
        }
        r->pos++;
        if (now(r) != '"') return ST_OK;
        buf_putc(out, '"');
    }
    diag_error(d, ST_ARGS, "csv", diag_place(r->text, open), "nothing closes this quote");
    diag_hint(d, "a quote inside of quotes is written twice");
    return ST_ARGS;
}

/* Up to the comma or the end of the line behind it.  */
static Status read_field(Arena *a, Diag *d, CsvReader *r, CsvField *out) {
    Buf text = buf_new(a);
    skip_blanks(r);
    out->at = r->pos;
    if (now(r) == '"') {
        r->pos++;
        Status s = quoted(d, r, out->at, &text);
        if (s) return s;
        skip_blanks(r);
        if (now(r) != ',' && now(r) != '\n')
            return diag_error(d, ST_ARGS, "csv", diag_place(r->text, r->pos),
                              "a comma is expected behind a field in quotes");
    } else {
        for (; now(r) != ',' && now(r) != '\n'; r->pos++) buf_putc(&text, now(r));
        while (text.len > 0 && blank(text.text[text.len - 1])) text.len--;
    }
    out->text = arena_strndup(a, text.text ? text.text : "", text.len);
    return ST_OK;
}

static void skip_line(CsvReader *r) {
    while (now(r) != '\n') r->pos++;
    r->pos++;
}

Status csv_next(Arena *a, Diag *d, CsvReader *r, CsvField **field, int *n) {
    size_t cap = 0;
    *field = NULL;
    *n = 0;
    for (skip_blanks(r); !at_end(r) && (now(r) == '\n' || now(r) == '#'); skip_blanks(r))
        skip_line(r);
    if (at_end(r)) return ST_OK;
    for (bool more = true; more; r->pos++) {
        *field = arena_grow(a, *field, &cap, (size_t)*n + 1, sizeof **field);
        Status s = read_field(a, d, r, &(*field)[(*n)++]);
        if (s) return s;
        more = now(r) == ',';
    }
    return ST_OK;
}
