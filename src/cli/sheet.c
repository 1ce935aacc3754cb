#include "cli/sheet.h"
#include <string.h>

Status sheet_form(const OptionTable *t, const char *text, SheetForm *out) {
    static const char *const name[] = {
#define X(id, name) name,
        SHEET_FORMS(X)
#undef X
    };
    for (int i = SHEET_MAN; i < SHEET_FORM_COUNT; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        *out = (SheetForm)i;
        return ST_OK;
    }
    return option_refuse(t, "it takes man, bash or zsh", "--generate does not take '%s'", text);
}

const char *sheet_flag(Arena *a, const OptionRow *row) {
    bool single = row->name[0] >= 'A' && row->name[0] <= 'Z';
    return arena_printf(a, "%s%s", single ? "-" : "--", row->name);
}

const char *sheet_identifier(Arena *a, const Sheet *s) {
    char *name = arena_strdup(a, s->tool);
    for (char *p = name; *p; p++)
        if (*p == '-') *p = '_';
    return name;
}

/* Does the text have this word, between characters that are no letters?  */
static bool mentions(const char *text, const char *word) {
    size_t len = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p++) {
        bool begins = p == text || p[-1] < 'A' || p[-1] > 'Z';
        if (begins && (p[len] < 'A' || p[len] > 'Z')) return true;
    }
    return false;
}

SheetArgument sheet_argument(Arena *a, const Sheet *s, int row) {
    const char *arg = s->row[row].arg;
    SheetArgument r = {.literal = ""};
    if (!arg) return r;
    r.list = strstr(arg, "[,...]") || mentions(arg, "LIST");
    r.files = mentions(arg, "FILE") || mentions(arg, "OLD.json");
    r.folders = mentions(arg, "DIR");
    for (const SheetWords *w = s->words; w->row >= 0; w++)
        if (w->row == row) r.words = w;
    if (mentions(arg, "WHEN")) {
        r.literal = "auto always never";
        return r;
    }
    Buf words = buf_new(a);
    for (const char *p = arg; !r.words && *p;) {
        size_t n = strcspn(p, "|");
        if (strspn(p, "abcdefghijklmnopqrstuvwxyz") == n)
            buf_printf(&words, "%s%.*s", words.len ? " " : "", (int)n, p);
        p += n + (p[n] == '|');
    }
    r.literal = buf_str(&words);
    return r;
}

OptionTable sheet_options(const Sheet *s, Arena *a, Diag *d) {
    return (OptionTable){.a = a, .d = d, .tool = s->tool, .row = s->row, .n = s->n};
}
