#include "base/json.h"

#include <stdint.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

static void release(void *p) { json_decref(p); }

/* The faults that jansson lets pass: bytes that are 0 and deep nesting, which it recurses into.  */
static Status scan(Diag *d, Status status, DiagPlace at) {
    int depth = 0;
    bool quoted = false;
    for (; at.pos < at.len; at.pos++) {
        char c = at.text[at.pos];
        if (c == 0) return diag_error(d, status, "json", at, "a NUL byte");
        if (quoted) {
            if (c == '\\') at.pos++;
            else if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > MAX_DEPTH)
                return diag_error(d, status, "json", at, "nested deeper than %d", MAX_DEPTH);
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return ST_OK;
}

Status json_read(Arena *a, Diag *d, Status status, const char *file, const char *text, size_t len,
                 size_t max_len, json_t **out) {
    DiagPlace at = {file, text, len, 0};
    if (len > max_len) {
        at.text = NULL;
        return diag_error(d, status, "json", at, "more than %zu bytes of JSON", max_len);
    }
    Status s = scan(d, status, at);
    if (s) return s;
    json_error_t error;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    if (root) {
        arena_defer(a, release, root);
        *out = root;
        return ST_OK;
    }
    /* jansson has a code for this but rarely uses it; what it leaves unexplained is lack of memory,
     * since every fault of the text has words.  */
    if (json_error_code(&error) == json_error_out_of_memory || !error.text[0]) arena_fail(a);
    /* jansson has read past the token that it refuses; its last byte is still on the line.  */
    at.pos = error.position > 0 ? (size_t)error.position - 1 : 0;
    return diag_error(d, status, "json", at, "%s", error.text);
}

/* Length of the UTF-8 sequence at s, 0 if it is not one (Unicode 15, table 3-7).  */
static int utf8_length(const unsigned char *s) {
    int n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n > 1 && (s[0] < 0xc2 || s[0] > 0xf4)) return 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] >= 0xa0;
    bool beyond = s[0] == 0xf4 && s[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

void json_write_string(const char *s, Buf *out) {
    const unsigned char *p = (const unsigned char *)s;
    buf_putc(out, '"');
    while (*p) {
        int n = utf8_length(p);
        if (*p == '"' || *p == '\\') buf_printf(out, "\\%c", *p);
        else if (*p == '\n') buf_puts(out, "\\n");
        else if (*p == '\t') buf_puts(out, "\\t");
        else if (*p < 32 || *p == 127) buf_printf(out, "\\u%04x", *p);
        else if (n) buf_add(out, (const char *)p, (size_t)n);
        else buf_puts(out, "\xef\xbf\xbd");   /* the replacement character */
        p += n ? n : 1;
    }
    buf_putc(out, '"');
}

static void new_line(int indent, int depth, Buf *out) {
    if (indent == 0) return;
    buf_putc(out, '\n');
    for (int i = indent * depth; i > 0; i--) buf_putc(out, ' ');
}

static void write_value(const json_t *v, int indent, int depth, Buf *out);

static void write_object(const json_t *v, int indent, int depth, Buf *out) {
    /* jansson's iteration takes no const, though it changes nothing.  */
    json_t *object = (json_t *)(uintptr_t)v;
    const char *key, *separator = "";
    json_t *item;
    buf_putc(out, '{');
    json_object_foreach(object, key, item) {
        buf_puts(out, separator);
        new_line(indent, depth + 1, out);
        json_write_string(key, out);
        buf_puts(out, ": ");
        write_value(item, indent, depth + 1, out);
        separator = indent ? "," : ", ";
    }
    if (*separator) new_line(indent, depth, out);
    buf_putc(out, '}');
}

static void write_array(const json_t *v, int indent, int depth, Buf *out) {
    buf_putc(out, '[');
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (i) buf_puts(out, indent ? "," : ", ");
        new_line(indent, depth + 1, out);
        write_value(json_array_get(v, i), indent, depth + 1, out);
    }
    if (json_array_size(v)) new_line(indent, depth, out);
    buf_putc(out, ']');
}

static void write_value(const json_t *v, int indent, int depth, Buf *out) {
    switch (v ? json_typeof(v) : JSON_NULL) {
    case JSON_OBJECT: write_object(v, indent, depth, out); break;
    case JSON_ARRAY: write_array(v, indent, depth, out); break;
    case JSON_STRING: json_write_string(json_string_value(v), out); break;
    case JSON_INTEGER: buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v)); break;
    case JSON_REAL: buf_real(out, json_real_value(v)); break;
    case JSON_TRUE: buf_puts(out, "true"); break;
    case JSON_FALSE: buf_puts(out, "false"); break;
    case JSON_NULL: buf_puts(out, "null"); break;
    }
}

void json_write(const json_t *v, int indent, Buf *out) { write_value(v, indent, 0, out); }
