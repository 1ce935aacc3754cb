#include "base/numeric.h"
#include "te/front/front.h"
#include <math.h>
#include <string.h>

static const struct {
    const char *text;
    TokenKind kind;
} marks[] = {
#define X(id, text) {text, TOK_##id},
    TOKEN_MARKS(X)
#undef X
};

const char *token_text(TokenKind k) { return marks[k - TOK_REAL - 1].text; }

static bool digit(char c) { return c >= '0' && c <= '9'; }

static bool letter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* The text ends in a NUL that is not part of it, so looking one byte ahead is safe.  */
static bool skip_space(Front *f, size_t *pos) {
    const char *s = f->text;
    size_t i = *pos;
    while (i < f->len) {
        if (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
            i++;
        } else if (s[i] == '#') {
            while (i < f->len && s[i] != '\n' && s[i] != '\0') i++;
            if (i < f->len && s[i] == '\0')
                return complain(f, "lex", (uint32_t)i, "byte 0x00 in a comment");
        } else {
            break;
        }
    }
    *pos = i;
    return true;
}

static bool too_long(Front *f, const Token *t, const char *what) {
    complain(f, "limit", t->pos, "%s of %u bytes, the limit is %d", what, (unsigned)t->len,
             TE_MAX_NAME);
    return false;
}

static bool lex_id(Front *f, Token *t) {
    const char *s = f->text + t->pos;
    while (letter(s[t->len]) || digit(s[t->len])) t->len++;
    t->kind = TOK_ID;
    if (t->len > TE_MAX_NAME) return too_long(f, t, "name");
    t->sym = symbol(&f->symbols, s, t->len);
    return true;
}

static bool lex_integer(Front *f, Token *t) {
    const char *s = f->text + t->pos;
    t->kind = TOK_INT;
    for (uint32_t i = 0; i < t->len; i++) {
        int d = s[i] - '0';
        if (t->i > (INT64_MAX - d) / 10)
            return complain(f, "lex", t->pos, "integer beyond 2^63-1");
        t->i = t->i * 10 + d;
    }
    return true;
}

static bool lex_number(Front *f, Token *t) {
    const char *s = f->text + t->pos;
    uint32_t n = 0;
    bool real = false;
    while (digit(s[n])) n++;
    if (s[n] == '.' && s[n + 1] != '.') {
        real = true;
        n++;
        if (!digit(s[n]))
            return complain(f, "lex", t->pos + n, "digits are needed after the point");
        while (digit(s[n])) n++;
    }
    if (s[n] == 'e' || s[n] == 'E') {
        uint32_t sign = s[n + 1] == '+' || s[n + 1] == '-';
        if (digit(s[n + 1 + sign])) {
            real = true;
            n += 1 + sign;
            while (digit(s[n])) n++;
        }
    }
    t->len = n;
    if (letter(s[n])) return complain(f, "lex", t->pos + n, "a letter touches a number");
    if (n > TE_MAX_NAME) return too_long(f, t, "number");
    if (!real) return lex_integer(f, t);
    t->kind = TOK_REAL;
    num_real(s, n, &t->r);
    if (!isfinite(t->r)) return complain(f, "lex", t->pos, "number beyond the range of f64");
    return true;
}

static bool lex_mark(Front *f, Token *t) {
    const char *s = f->text + t->pos;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        size_t len = strlen(marks[i].text);
        if (len <= f->len - t->pos && memcmp(s, marks[i].text, len) == 0) {
            t->kind = marks[i].kind;
            t->len = (uint32_t)len;
            return true;
        }
    }
    if (*s == '.' && digit(s[1]))
        return complain(f, "lex", t->pos, "digits are needed before the point");
    if (*s > ' ' && *s <= '~')
        return complain(f, "lex", t->pos, "'%c' has no meaning here", *s);
    return complain(f, "lex", t->pos, "byte 0x%02x is not allowed", (unsigned)(unsigned char)*s);
}

bool lex(Front *f, size_t *pos, Token *out) {
    *out = (Token){0};
    out->pos = (uint32_t)*pos;
    if (!skip_space(f, pos)) return false;
    bool ok = true;
    if (*pos < f->len) {
        out->pos = (uint32_t)*pos;
        char c = f->text[*pos];
        ok = letter(c) ? lex_id(f, out) : digit(c) ? lex_number(f, out) : lex_mark(f, out);
    }
    *pos += out->len;
    return ok;
}
