#include "cli/option_table.h"
#include "base/nearest.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Status option_refuse(const OptionTable *t, const char *hint, const char *fmt, const char *what) {
    Status s = diag_error(t->d, ST_USAGE, NULL, DIAG_NOWHERE, fmt, what);
    if (hint) diag_hint(t->d, "%s", hint);
    return s;
}

/* ---- values ---- */
/* A value that the option being read does not take.  */
static Status refuse_value(const OptionTable *t, const char *hint, const char *text) {
    Status s = diag_error(t->d, ST_USAGE, NULL, DIAG_NOWHERE, "%s does not take '%s'", t->option,
                          text);
    diag_hint(t->d, "%s", hint);
    return s;
}

typedef struct {
    const char *name;
    uint64_t factor;
} Suffix;

/* What may follow a number, and its name for people.  */
typedef struct {
    const Suffix *suffix;
    size_t n;
    const char *name;
} Kind;

static Status number(const OptionTable *t, const char *text, uint64_t lo, uint64_t hi,
                     const Kind *kind, uint64_t *out) {
    uint64_t v = 0, factor = 0;
    size_t digits = strspn(text, "0123456789");
    bool fits = digits > 0;
    for (size_t i = 0; i < digits && fits; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        fits = digit <= hi && v <= (hi - digit) / 10;
        v = v * 10 + digit;
    }
    for (size_t i = 0; i < kind->n; i++)
        if (!strcmp(text + digits, kind->suffix[i].name)) factor = kind->suffix[i].factor;
    if (!fits || !factor || v > hi / factor || v * factor < lo) {
        const char *hint = arena_printf(t->a, "it takes a whole number%s from %llu to %llu",
                                        kind->name, (unsigned long long)lo, (unsigned long long)hi);
        return refuse_value(t, hint, text);
    }
    *out = v * factor;
    return ST_OK;
}

Status option_number(const OptionTable *t, const char *text, uint64_t lo, uint64_t hi,
                     uint64_t *out) {
    static const Suffix suffix[] = {{"", 1}};
    return number(t, text, lo, hi, &(Kind){suffix, 1, ""}, out);
}

Status option_seconds(const OptionTable *t, const char *text, uint64_t lo, uint64_t hi,
                      uint64_t *out) {
    static const Suffix suffix[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    const Kind kind = {suffix, sizeof suffix / sizeof *suffix, " of seconds (or 5m, 2h, 1d)"};
    return number(t, text, lo, hi, &kind, out);
}

Status option_bytes(const OptionTable *t, const char *text, uint64_t lo, uint64_t hi,
                    uint64_t *out) {
    static const Suffix suffix[] = {{"", 1}, {"K", 1 << 10}, {"KiB", 1 << 10}, {"M", 1 << 20},
                                    {"MiB", 1 << 20}, {"G", 1 << 30}, {"GiB", 1 << 30}};
    const Kind kind = {suffix, sizeof suffix / sizeof *suffix,
                       " of bytes (or 64K, 16M, 1G, of 1024)"};
    return number(t, text, lo, hi, &kind, out);
}

Status option_when(const OptionTable *t, const char *text, When *out) {
    static const char *const name[] = {"auto", "always", "never"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        *out = (When)i;
        return ST_OK;
    }
    return refuse_value(t, "it takes auto, always or never", text);
}

bool option_color(When when) {
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
    if (when != WHEN_AUTO) return when == WHEN_ALWAYS;
    return isatty(STDERR_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

Status option_binding(const OptionTable *t, const char *text, const char *hint, Binding **list,
                      int *n) {
    const char *eq = strchr(text, '=');
    if (!eq || eq == text || !eq[1]) return refuse_value(t, hint, text);
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

static Status unknown(const OptionTable *t, const char *text) {
    size_t dashes = strspn(text, "-");
    const char *name = arena_strndup(t->a, text + dashes, strcspn(text + dashes, "="));
    Nearest near = {.name = name};
    for (int i = 0; i < t->n; i++) {
        /* One dash too few or too many is no other name.  */
        if (strlen(name) > 1 && !strcmp(name, t->row[i].name)) near.best = t->row[i].name;
        if (near.best != t->row[i].name) nearest_offer(&near, t->row[i].name);
    }
    bool single = near.best && near.best[0] >= 'A' && near.best[0] <= 'Z';
    const char *hint = near.best
                           ? arena_printf(t->a, "did you mean -%s%s?", single ? "" : "-", near.best)
                           : arena_printf(t->a, "%s --help lists the options", t->tool);
    return option_refuse(t, hint, "unknown option '%s'", text);
}

Status option_scan(OptionTable *t, int argc, char **argv) {
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
            const char *eq = text[1] == '-' ? strchr(text, '=') : NULL;
            t->option = eq ? arena_strndup(t->a, text, (size_t)(eq - text)) : text;
            if (text[1] != '-' && value) t->option = arena_strndup(t->a, text, 2);
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
