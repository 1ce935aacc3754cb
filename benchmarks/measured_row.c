#include "measured_row.h"
#include "base/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, MAX_BYTES = 1 << 26 };

/* Cuts the line at `*at` into its fields; returns how many, and moves *at to the next line.  */
static int cut(char **at, char *field[COLUMNS]) {
    char *line = *at, *end = strchr(line, '\n');
    int n = 0;
    *at = end ? end + 1 : line + strlen(line);
    if (end) *end = 0;
    line[strcspn(line, "\r")] = 0;
    while (line && n < COLUMNS) {
        field[n++] = line;
        line = strchr(line, ',');
        if (line) *line++ = 0;
    }
    return line ? COLUMNS + 1 : n;
}

static bool read_sizes(Arena *a, MeasuredRow *r) {
    char *text = arena_strdup(a, r->sizes);
    for (char *next = text; next && *next; text = next) {
        next = strchr(text, ';');
        if (next) *next++ = 0;
        char *equals = strchr(text, '='), *end;
        if (!equals || r->n_size == MEASURED_SIZES) return false;
        *equals = 0;
        r->name[r->n_size] = text;
        r->value[r->n_size++] = strtoll(equals + 1, &end, 10);
        if (*end || end == equals + 1) return false;
    }
    return r->n_size > 0;
}

static bool read_row(Arena *a, char *const field[COLUMNS], MeasuredRow *r) {
    char *end;
    *r = (MeasuredRow){.source = field[0], .gpu = field[1], .op = field[2], .dtype = field[3],
                       .sizes = field[4], .kernel = field[5], .grid = field[6]};
    r->us = strtod(field[7], &end);
    return end != field[7] && !*end && r->us > 0 && read_sizes(a, r);
}

Status measured_read(Arena *a, Diag *d, const char *path, MeasuredRows *out) {
    char *text, *field[COLUMNS];
    size_t len, cap = 0;
    Status s = file_read(a, d, path, MAX_BYTES, &text, &len);
    if (s) return s;
    *out = (MeasuredRows){0};
    for (int line = 1; *text; line++) {
        int n = cut(&text, field);
        if (line == 1 || (n == 1 && !*field[0])) continue;
        out->row = arena_grow(a, out->row, &cap, (size_t)out->n + 1, sizeof *out->row);
        if (n != COLUMNS || !read_row(a, field, &out->row[out->n++]))
            return diag_error(d, ST_IO, NULL, DIAG_NOWHERE, "%s: line %d is no measurement", path,
                              line);
    }
    return ST_OK;
}

int64_t measured_size(const MeasuredRow *r, const char *name, int64_t otherwise) {
    for (int i = 0; i < r->n_size; i++) {
        if (strcmp(r->name[i], name) == 0) return r->value[i];
    }
    return otherwise;
}
