/* The text of -D: NAME=N or NAME=LO..HI[%Q].  */
#include "te/tree/arith.h"
#include "te/te.h"
#include <string.h>

static bool integer(const char **s, int64_t *out) {
    const char *p = *s;
    *out = 0;
    while (*p >= '0' && *p <= '9') {
        if (!mul_fits(*out, 10, out) || !add_fits(*out, *p - '0', out)) return false;
        p++;
    }
    bool some = p != *s;
    *s = p;
    return some;
}

static bool letter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static size_t name_length(const char *s) {
    size_t n = 0;
    if (letter(*s)) {
        while (letter(s[n]) || (s[n] >= '0' && s[n] <= '9')) n++;
    }
    return n <= TE_MAX_NAME ? n : 0;
}

static bool value(const char *s, TeDefine *out) {
    out->multiple = 1;
    if (!integer(&s, &out->lo)) return false;
    out->hi = out->lo;
    if (s[0] == '.' && s[1] == '.') {
        s += 2;
        if (!integer(&s, &out->hi) || out->hi < out->lo) return false;
        if (*s == '%') {
            s++;
            if (!integer(&s, &out->multiple) || out->multiple < 1) return false;
        }
    }
    return *s == '\0';
}

Status te_define_parse(Arena *a, Diag *d, const char *text, TeDefine *out) {
    size_t n = name_length(text);
    *out = (TeDefine){0};
    if (n && text[n] == '=' && value(text + n + 1, out)) {
        out->name = arena_strndup(a, text, n);
        return ST_OK;
    }
    diag_error(d, ST_USAGE, NULL, DIAG_NOWHERE, "-D '%s' is not understood", text);
    size_t digits = n && text[n] == '=' ? strspn(text + n + 1, "0123456789") : 0;
    const char *suffix = text + n + 1 + digits;
    bool kilo = digits && digits < 12 && strchr("kKmM", *suffix) && *suffix && !suffix[1];
    long long scale = kilo && (*suffix == 'm' || *suffix == 'M') ? 1000000 : 1000, v = 0;
    for (size_t i = 0; kilo && i < digits; i++) v = v * 10 + (text[n + 1 + i] - '0');
    if (kilo)
        diag_hint(d, "sizes are decimal integers: write %.*s=%lld, or %.*s=%lld", (int)n, text,
                  v * scale, (int)n, text, v * (scale == 1000 ? 1024 : 1048576));
    else
        diag_hint(d, "write -D NAME=N or -D NAME=LO..HI[%%Q] with decimal integers");
    return ST_USAGE;
}
