/* links: base */
#include "text_pattern.h"

#include <ctype.h>
#include <string.h>

enum { NAMES = 10 };
typedef struct {
    const char *at;           /* NULL: not met yet */
    size_t len;
} Name;

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool is_name(const char *pattern) {
    return pattern[0] == '~' && isdigit((unsigned char)pattern[1]);
}

/* The characters at `s` that are one name, as far as they are the one that is known.  */
static size_t name_here(const char *text, const char *s, Name *known) {
    size_t n = 0;
    if (isdigit((unsigned char)*s) || (s > text && in_name(s[-1]))) return 0;
    while (in_name(s[n])) n++;
    if (!known->at) *known = (Name){s, n};
    return n == known->len && memcmp(s, known->at, n) == 0 ? n : 0;
}

/* The end of what is as the pattern at `s`; NULL: nothing is.  */
static const char *matched(const char *text, const char *s, const char *pattern,
                           Name name[NAMES]) {
    memset(name, 0, NAMES * sizeof *name);
    for (const char *p = pattern; *p;) {
        size_t n = is_name(p) ? name_here(text, s, &name[p[1] - '0']) : *p == *s;
        if (n == 0) return NULL;
        p += is_name(p) ? 2 : 1;
        s += n;
    }
    return s;
}

bool pattern_begins(const char *text, const char *pattern) {
    Name name[NAMES];
    return matched(text, text, pattern, name) != NULL;
}

char *pattern_replaced(Arena *a, const char *text, const char *from, const char *to) {
    Name name[NAMES];
    for (const char *s = text; *s; s++) {
        const char *end = matched(text, s, from, name);
        if (!end) continue;
        Buf out = buf_new(a);
        buf_add(&out, text, (size_t)(s - text));
        for (const char *p = to; *p; p += is_name(p) ? 2 : 1) {
            if (is_name(p)) buf_add(&out, name[p[1] - '0'].at, name[p[1] - '0'].len);
            else buf_putc(&out, *p);
        }
        buf_puts(&out, end);
        return arena_strdup(a, buf_str(&out));
    }
    return NULL;
}
