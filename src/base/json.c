#include "base/json.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

void json_write_string(const char *s, Buf *out) {
    buf_putc(out, '"');
    for (size_t room = strlen(s), n; room; s += n ? n : 1, room -= n ? n : 1) {
        n = utf8_length(s, room);
        if (*s == '"' || *s == '\\') buf_printf(out, "\\%c", *s);
        else if (*s == '\n') buf_puts(out, "\\n");
        else if (*s == '\t') buf_puts(out, "\\t");
        else if (n == 1 && (*s < 32 || *s == 127)) buf_printf(out, "\\u%04x", *s);
        else if (n) buf_add(out, s, n);
        else buf_puts(out, "\xef\xbf\xbd");   /* the replacement character */
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
