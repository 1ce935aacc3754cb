#include "cli/option_table.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Status option_refuse(const OptionTable *t, const char *hint, const char *fmt, const char *what) {
    Status s = diag_error(t->d, ST_USAGE, NULL, DIAG_NOWHERE, fmt, what);
    if (hint) diag_hint(t->d, "%s", hint);
    return s;
}

/* ---- values ---- */
Status option_number(const OptionTable *t, const char *text, uint64_t lo, uint64_t hi,
                     uint64_t *out) {
    uint64_t v = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (digit > hi || v > (hi - digit) / 10) break;
        v = v * 10 + digit;
    }
    if (p == text || *p || v < lo || v > hi) {
        const char *hint = arena_printf(t->a, "a whole number from %llu to %llu is accepted",
                                        (unsigned long long)lo, (unsigned long long)hi);
        return option_refuse(t, hint, "'%s' is not accepted here", text);
    }
    *out = v;
    return ST_OK;
}

Status option_when(const OptionTable *t, const char *text, When *out) {
    static const char *const name[] = {"auto", "always", "never"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        *out = (When)i;
        return ST_OK;
    }
    return option_refuse(t, "WHEN is auto, always or never", "'%s' is not accepted here", text);
}

bool option_color(When when) {
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
    if (when != WHEN_AUTO) return when == WHEN_ALWAYS;
    return isatty(STDERR_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

Status option_binding(const OptionTable *t, const char *text, const char *hint, Binding **list,
                      int *n) {
    const char *eq = strchr(text, '=');
    if (!eq || eq == text || !eq[1]) return option_refuse(t, hint, "'%s' names no value", text);
    Binding *grown = ARENA_ARRAY(t->a, Binding, *n + 1);
    if (*n) memcpy(grown, *list, (size_t)*n * sizeof *grown);
    grown[(*n)++] = (Binding){arena_strndup(t->a, text, (size_t)(eq - text)), eq + 1};
    *list = grown;
    return ST_OK;
}

/* ---- the command line ---- */
static bool one_dash(const OptionRow *row) { return row->name[0] >= 'A' && row->name[0] <= 'Z'; }

/* The row of an option as written; *value is what is attached to it, or NULL.  */
static int find(const OptionTable *t, const char *text, const char **value) {
    bool single = text[1] != '-';
    const char *name = text + (single ? 1 : 2), *eq = single ? NULL : strchr(name, '=');
    size_t len = eq ? (size_t)(eq - name) : strlen(name);
    *value = eq ? eq + 1 : NULL;
    for (int i = 0; i < t->n; i++) {
        const OptionRow *row = &t->row[i];
        if (one_dash(row) == single && strlen(row->name) == len && !memcmp(row->name, name, len))
            return i;
    }
    for (int i = 0; single && i < t->n; i++) {
        const OptionRow *row = &t->row[i];
        if (!row->letter || row->letter != name[0] || (name[1] && !row->arg)) continue;
        *value = name[1] ? name + 1 : NULL;
        return i;
    }
    return -1;
}

/* Positions in which a and b differ, for "did you mean".  */
static size_t unlike(const char *a, const char *b) {
    size_t n = 0;
    for (; *a && *b; a++, b++) n += *a != *b;
    return n + strlen(a) + strlen(b);
}

static Status unknown(const OptionTable *t, const char *text) {
    const char *best = NULL;
    size_t least = 3;
    for (int i = 0; i < t->n; i++) {
        size_t far = unlike(text + strspn(text, "-"), t->row[i].name);
        if (far >= least) continue;
        least = far;
        best = t->row[i].name;
    }
    const char *hint = best ? arena_printf(t->a, "did you mean --%s?", best)
                            : arena_printf(t->a, "%s --help lists the options", t->tool);
    return option_refuse(t, hint, "unknown option '%s'", text);
}

Status option_scan(const OptionTable *t, int argc, char **argv) {
    bool words = false;
    Status s = ST_OK;
    for (int at = 1; at < argc && !s; at++) {
        const char *text = argv[at], *value;
        if (!words && !strcmp(text, "--")) {
            words = true;
        } else if (words || text[0] != '-' || !text[1]) {
            s = t->word(t->user, text);
        } else {
            int i = find(t, text, &value);
            if (i < 0) return unknown(t, text);
            const char *arg = t->row[i].arg;
            if (!arg && value) return option_refuse(t, NULL, "option '%s' takes no value", text);
            if (arg && !value && at + 1 < argc) value = argv[++at];
            if (arg && !value)
                return option_refuse(t, arena_printf(t->a, "write %s %s", text, arg),
                                     "option '%s' needs a value", text);
            s = t->take(t->user, i, value);
        }
    }
    return s;
}

void option_help(const OptionTable *t, int width, Buf *out) {
    for (int i = 0; i < t->n; i++) {
        const OptionRow *row = &t->row[i];
        Buf left = buf_new(out->arena);
        if (row->letter) buf_printf(&left, "-%c, ", row->letter);
        buf_printf(&left, "%s%s%s%s", one_dash(row) ? "-" : "--", row->name, row->arg ? " " : "",
                   row->arg ? row->arg : "");
        buf_printf(out, "  %-*s %s\n", width, buf_str(&left), row->text);
    }
}
