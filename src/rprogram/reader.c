#include "rprogram/reader.h"

#include <string.h>

Status reader_fail(Reader *r, size_t pos, const char *message, Word w) {
    DiagPlace at = r->at;
    at.pos = pos;
    int shown = w.len < 40 ? (int)w.len : 40;
    diag_error(r->diag, ST_PLAN_TEXT, "plan", at, message, shown, w.text ? w.text : "");
    diag_hint(r->diag, "a plan is what roller-gen --dump=plan prints of the op for the device");
    return ST_PLAN_TEXT;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

Word reader_word(DiagPlace *at) {
    size_t i = at->pos, n = at->len;
    const char *text = at->text;
    while (i < n && is_blank(text[i])) i++;
    size_t start = i;
    while (i < n && !is_blank(text[i]) && text[i] != '\n' && text[i] != '#') i++;
    at->pos = i;
    return (Word){text + start, i - start, start};
}

bool reader_is(Word w, const char *s) {
    return w.len == strlen(s) && memcmp(w.text, s, w.len) == 0;
}

bool reader_means(Word w, const char *name) {
    static const struct {
        const char *was, *is;
    } renamed[] = {{"parts", "partial"}, {"staged", "two-step"}, {"units", "blocks"},
                   {"split", "strategy"}};
    if (reader_is(w, name)) return true;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        if (reader_is(w, renamed[i].was) && strcmp(name, renamed[i].is) == 0) return true;
    }
    return false;
}

Status reader_int(Reader *r, int64_t lo, int64_t hi, int64_t *out) {
    Word w = reader_word(&r->at);
    int64_t v = 0;
    if (w.len == 0) return reader_fail(r, w.pos, "a number is missing%.*s", w);
    for (size_t i = 0; i < w.len; i++) {
        if (w.text[i] < '0' || w.text[i] > '9') {
            return reader_fail(r, w.pos, "expected a number, got '%.*s'", w);
        }
        v = v * 10 + (w.text[i] - '0');
        if (v > hi) break;
    }
    if (v < lo || v > hi) {
        Status s = reader_fail(r, w.pos, "%.*s is out of range", w);
        diag_hint(r->diag, "it can be %lld to %lld", (long long)lo, (long long)hi);
        return s;
    }
    *out = v;
    return ST_OK;
}

void reader_hint(Reader *r, const char *const *names, int n) {
    Buf list = buf_new(r->diag->arena);
    for (int i = 0; i < n; i++) {
        buf_puts(&list, i ? ", " : "");
        buf_puts(&list, names[i]);
    }
    diag_hint(r->diag, "one of: %s", buf_str(&list));
}

Status reader_name(Reader *r, const char *const *names, int n, int *out) {
    Word w = reader_word(&r->at);
    for (int i = 0; i < n; i++) {
        if (reader_means(w, names[i])) {
            *out = i;
            return ST_OK;
        }
    }
    Status s = reader_fail(r, w.pos, w.len ? "unknown word '%.*s'" : "a word is missing%.*s", w);
    reader_hint(r, names, n);
    return s;
}
