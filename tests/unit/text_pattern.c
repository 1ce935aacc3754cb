/* links: base */
#include "text_pattern.h"

#include <ctype.h>
#include <string.h>

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool stands_for(const char *pattern, char kind) {
    return pattern[0] == kind && isdigit((unsigned char)pattern[1]);
}

/* The characters at `s` that are one name, or number, as far as they are the one that is known.  */
static size_t word_here(const char *text, const char *s, bool number, PatternName *known) {
    size_t n = 0;
    if ((isdigit((unsigned char)*s) != 0) != number || (s > text && in_name(s[-1]))) return 0;
    while (number ? isdigit((unsigned char)s[n]) != 0 : in_name(s[n])) n++;
    if (!known->at) *known = (PatternName){s, n};
    return n == known->len && memcmp(s, known->at, n) == 0 ? n : 0;
}

/* The end of what is as the pattern at `s`; NULL: nothing is.  */
static const char *matched(const char *text, const char *s, const char *pattern,
                           PatternKnown *known) {
    for (const char *p = pattern; *p;) {
        bool name = stands_for(p, '~'), number = stands_for(p, '#');
        size_t n = *p == *s;
        if (name) n = word_here(text, s, false, &known->name[p[1] - '0']);
        if (number) n = word_here(text, s, true, &known->number[p[1] - '0']);
        if (n == 0) return NULL;
        p += name || number ? 2 : 1;
        s += n;
    }
    return s;
}

const char *pattern_find(const char *text, const char *from, const char *pattern,
                         PatternKnown *known, const char **begin) {
    PatternKnown before = *known;
    for (const char *s = from; *s; s++) {
        const char *end = matched(text, s, pattern, known);
        *begin = s;
        if (end) return end;
        *known = before;
    }
    return NULL;
}

void pattern_put(Buf *out, const char *pattern, const PatternKnown *known) {
    for (const char *p = pattern; *p;) {
        bool name = stands_for(p, '~'), number = stands_for(p, '#');
        const PatternName *x = name ? &known->name[p[1] - '0'] : &known->number[p[1] - '0'];
        if (name || number) buf_add(out, x->at, x->len);
        else buf_putc(out, *p);
        p += name || number ? 2 : 1;
    }
}

bool pattern_begins(const char *text, const char *pattern) {
    PatternKnown known = {0};
    return matched(text, text, pattern, &known) != NULL;
}

char *pattern_replaced(Arena *a, const char *text, const char *from, const char *to) {
    PatternKnown known = {0};
    const char *begin, *end = pattern_find(text, text, from, &known, &begin);
    if (!end) return NULL;
    Buf out = buf_new(a);
    buf_add(&out, text, (size_t)(begin - text));
    pattern_put(&out, to, &known);
    buf_puts(&out, end);
    return arena_strdup(a, buf_str(&out));
}
