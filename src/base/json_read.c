/* JSON text to a jansson tree.  jansson's own reader takes lack of memory for a fault of the text,
 * or for a shorter text; and it knows the place of a fault only nearly.  */
#include "base/json.h"
#include "base/numeric.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

typedef struct {
    Arena *a;
    Diag *d;
    Status status;
    DiagPlace at;             /* the next byte */
} Reader;

static void release(void *p) { json_decref(p); }

static json_t *need(Reader *r, json_t *v) {
    if (!v) arena_fail(r->a);
    return v;
}

static int peek(const Reader *r) {
    return r->at.pos < r->at.len ? (unsigned char)r->at.text[r->at.pos] : -1;
}

static bool take(Reader *r, char c) {
    if (peek(r) != c) return false;
    r->at.pos++;
    return true;
}

static void skip_blank(Reader *r) {
    while (peek(r) >= 0 && memchr(" \t\r\n", peek(r), 4)) r->at.pos++;
}

static Status refuse(Reader *r, const char *why) {
    int c = peek(r);
    return diag_error(r->d, r->status, "json", r->at, "%s%s", c ? why : "a NUL byte",
                      c < 0 ? ", not the end" : "");
}

/* ---- strings ---- */
/* The unit written as "\uXXXX" at pos; -1: there is none.  */
static int unit(const Reader *r, size_t pos) {
    int v = 0;
    if (pos + 6 > r->at.len || memcmp(r->at.text + pos, "\\u", 2) != 0) return -1;
    for (size_t i = pos + 2; i < pos + 6; i++) {
        int c = r->at.text[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        v = v * 16 + digit;
    }
    return v;
}

static void add_utf8(Buf *out, uint32_t v) {
    static const unsigned char mark[] = {0, 0, 0xc0, 0xe0, 0xf0};
    int n = v < 0x80 ? 1 : v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;
    if (n == 1) buf_putc(out, (char)v);
    for (int i = n; n > 1 && i > 0; i--)
        buf_putc(out, (char)(i == n ? mark[n] | v >> 6 * (n - 1) : 0x80 | (v >> 6 * (i - 1) & 63)));
}

/* One code point, as one unit or two: "\u00e4", "\ud83d\ude00".  */
static Status read_code_unit(Reader *r, Buf *out) {
    int v = unit(r, r->at.pos), low = unit(r, r->at.pos + 6);
    if (v < 0) return refuse(r, "four hexadecimal digits expected behind \\u");
    if (v == 0) return refuse(r, "\\u0000 is not allowed");
    bool pair = v >= 0xd800 && v < 0xe000;
    if (pair && (v >= 0xdc00 || low < 0xdc00 || low >= 0xe000))
        return refuse(r, "half of a surrogate pair");
    r->at.pos += pair ? 12 : 6;
    add_utf8(out, pair ? 0x10000 + ((uint32_t)v - 0xd800) * 0x400 + ((uint32_t)low - 0xdc00)
                       : (uint32_t)v);
    return ST_OK;
}

static Status read_escape(Reader *r, Buf *out) {
    static const char name[] = "\"\\/bfnrt", byte[] = "\"\\/\b\f\n\r\t";
    int c = r->at.pos + 1 < r->at.len ? r->at.text[r->at.pos + 1] : 0;
    const char *found = c ? strchr(name, c) : NULL;
    if (c == 'u') return read_code_unit(r, out);
    if (!found) return refuse(r, "invalid escape");
    r->at.pos += 2;
    buf_putc(out, byte[found - name]);
    return ST_OK;
}

/* Behind the first quote.  The text is valid UTF-8 without NUL.  */
static Status read_string(Reader *r, Buf *out) {
    Status s = ST_OK;
    *out = buf_new(r->a);
    while (!s && !take(r, '"')) {
        int c = peek(r);
        size_t n = c < 0 ? 0 : utf8_length(r->at.text + r->at.pos, r->at.len - r->at.pos);
        if (c < 0) return refuse(r, "'\"' expected");
        if (!n)
            return diag_error(r->d, r->status, "json", r->at, "unable to decode byte 0x%02x", c);
        if (c < 32) return refuse(r, "control character in a string");
        if (c == '\\') {
            s = read_escape(r, out);
            continue;
        }
        buf_add(out, r->at.text + r->at.pos, n);
        r->at.pos += n;
    }
    return s;
}

/* ---- numbers and words ---- */
static size_t digits(const char *s, size_t n) {
    size_t i = 0;
    while (i < n && s[i] >= '0' && s[i] <= '9') i++;
    return i;
}

/* The length of a number at s, 0 if there is none.  */
static size_t number_length(const char *s, size_t n, bool *real) {
    size_t i = n && s[0] == '-', whole = digits(s + i, n - i), more;
    *real = false;
    if (!whole || (whole > 1 && s[i] == '0')) return 0;
    i += whole;
    if (i < n && s[i] == '.') {
        if (!(more = digits(s + i + 1, n - i - 1))) return 0;
        i += 1 + more;
        *real = true;
    }
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        size_t sign = i + 1 < n && (s[i + 1] == '+' || s[i + 1] == '-');
        if (!(more = digits(s + i + 1 + sign, n - i - 1 - sign))) return 0;
        i += 1 + sign + more;
        *real = true;
    }
    return i;
}

static Status read_integer(Reader *r, const char *s, size_t n, json_t **out) {
    bool minus = *s == '-';
    uint64_t v = 0, most = (uint64_t)INT64_MAX + minus;
    for (size_t i = minus; i < n; i++) {
        uint64_t digit = (uint64_t)(s[i] - '0');
        if (v > (most - digit) / 10)
            return refuse(r, minus ? "too big negative integer" : "too big integer");
        v = v * 10 + digit;
    }
    int64_t whole = !minus ? (int64_t)v : v > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)v;
    *out = need(r, json_integer(whole));
    return ST_OK;
}

static Status read_number(Reader *r, const char *s, size_t n, bool real, json_t **out) {
    if (!real) return read_integer(r, s, n, out);
    bool minus = *s == '-';
    double v;
    if (!num_real(s + minus, n - minus, &v)) return refuse(r, "invalid token");
    if (v - v != 0) return refuse(r, "real number overflow");
    *out = need(r, json_real(minus ? -v : v));
    return ST_OK;
}

/* A number, true, false or null: everything up to what can follow one.  */
static Status read_word(Reader *r, json_t **out) {
    static const char *const word[] = {"null", "false", "true"};
    const char *s = r->at.text + r->at.pos;
    size_t n = 0, room = r->at.len - r->at.pos;
    bool real;
    while (n < room && s[n] && !strchr(" \t\r\n,:[]{}\"", s[n])) n++;
    *out = NULL;
    for (int i = 0; i < 3; i++)
        if (n == strlen(word[i]) && !memcmp(s, word[i], n))
            *out = i ? json_boolean(i == 2) : json_null();
    if (!*out && n && number_length(s, n, &real) == n) {
        Status status = read_number(r, s, n, real, out);
        if (status) return status;
    }
    if (!*out && n)
        return diag_error(r->d, r->status, "json", r->at, "invalid token '%.*s'",
                          n < 40 ? (int)n : 40, s);
    if (!*out) return refuse(r, "value expected");
    r->at.pos += n;
    return ST_OK;
}

/* ---- containers ---- */
static Status read_items(Reader *r, json_t *into, int depth);

static void attach(Reader *r, json_t *into, const char *key, json_t *v) {
    int failed = key ? json_object_set_new_nocheck(into, key, v) : json_array_append_new(into, v);
    if (failed) arena_fail(r->a);
}

/* A value, which belongs to `into` from the first moment on.  */
static Status read_value(Reader *r, json_t *into, const char *key, int depth) {
    json_t *v;
    Status s = ST_OK;
    size_t begin = r->at.pos;
    if (take(r, '{') || take(r, '[')) {
        bool object = r->at.text[begin] == '{';
        if (depth == MAX_DEPTH) {
            r->at.pos = begin;
            return diag_error(r->d, r->status, "json", r->at, "nested deeper than %d", MAX_DEPTH);
        }
        attach(r, into, key, v = need(r, object ? json_object() : json_array()));
        return read_items(r, v, depth + 1);
    }
    if (take(r, '"')) {
        Buf text;
        s = read_string(r, &text);
        if (!s) v = need(r, json_stringn_nocheck(buf_str(&text), text.len));
    } else {
        s = read_word(r, &v);
    }
    if (!s) attach(r, into, key, v);
    return s;
}

static Status read_member(Reader *r, json_t *into, int depth) {
    Buf key;
    DiagPlace place = r->at;
    if (!take(r, '"')) return refuse(r, "string expected");
    Status s = read_string(r, &key);
    if (s) return s;
    if (json_object_get(into, buf_str(&key)))
        return diag_error(r->d, r->status, "json", place, "duplicate object key");
    skip_blank(r);
    if (!take(r, ':')) return refuse(r, "':' expected");
    skip_blank(r);
    return read_value(r, into, buf_str(&key), depth);
}

/* Behind the bracket that opens `into`; its depth is `depth`.  */
static Status read_items(Reader *r, json_t *into, int depth) {
    bool object = json_is_object(into);
    char close = object ? '}' : ']';
    skip_blank(r);
    if (take(r, close)) return ST_OK;
    for (;;) {
        ArenaMark mark = arena_mark(r->a);
        Status s = object ? read_member(r, into, depth) : read_value(r, into, NULL, depth);
        if (s) return s;
        arena_reset(r->a, mark);
        skip_blank(r);
        if (take(r, close)) return ST_OK;
        if (!take(r, ',')) return refuse(r, object ? "',' or '}' expected" : "',' or ']' expected");
        skip_blank(r);
    }
}

Status json_read(Arena *a, Diag *d, Status status, DiagText text, size_t max_len, json_t **out) {
    Reader r = {a, d, status, diag_place(text, 0)};
    if (text.len > max_len) {
        r.at.text = NULL;
        return diag_error(d, status, "json", r.at, "more than %zu bytes of JSON", max_len);
    }
    skip_blank(&r);
    bool object = take(&r, '{');
    if (!object && !take(&r, '[')) return refuse(&r, "'[' or '{' expected");
    json_t *root = need(&r, object ? json_object() : json_array());
    arena_defer(a, release, root);
    Status s = read_items(&r, root, 1);
    skip_blank(&r);
    if (!s && r.at.pos < text.len) s = refuse(&r, "end of file expected");
    if (!s) *out = root;
    return s;
}
