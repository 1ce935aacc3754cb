/* Diagnostics as text for people: place, message, source line with a caret, hint.  */
#include "base/diag.h"
#include "base/utf8.h"

#include <string.h>

enum { WIDTH = 96 };          /* bytes of a source line that are shown */

static const char bold[] = "\033[1m", red[] = "\033[1;31m", magenta[] = "\033[1;35m",
                  green[] = "\033[1;32m", cyan[] = "\033[1;36m", plain[] = "\033[0m";

static bool is_continuation(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Bytes of any origin on one line and without effect on a terminal: what is not to be seen, and
 * what is no UTF-8, by its number.  Returns the columns taken.  */
static size_t add_clean(Buf *out, const char *s, size_t len) {
    size_t columns = 0;
    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        n = utf8_length(s + i, len - i);
        uint32_t point = n ? utf8_point(s + i, n) : (unsigned char)s[i];
        const char *number = !n || point < 0x80 ? "\\x%02x" : "\\u%04x";
        size_t before = out->len;
        if (s[i] == '\t') buf_putc(out, ' ');
        else if (!n || utf8_is_control(point)) buf_printf(out, number, (unsigned)point);
        else buf_add(out, s + i, n);
        columns += n > 1 && !utf8_is_control(point) ? 1 : out->len - before;
    }
    return columns;
}

static void add_heading(const DiagMessage *m, const char *program, const char *kind,
                        const char *paint, bool color, Buf *out) {
    if (color) buf_puts(out, bold);
    const char *name = m->file ? m->file : program;
    add_clean(out, name, strlen(name));
    if (m->line) buf_printf(out, ":%d:%d", m->line, m->column);
    buf_printf(out, ":%s %s%s:%s ", color ? plain : "", color ? paint : "", kind,
               color ? plain : "");
}

/* The source line, shortened around the caret if it is long, and the caret under it.  UTF-8
 * sequences stay whole; one that is shown counts as one column on the screen.  */
static void add_source(const DiagMessage *m, bool color, Buf *out) {
    const char *line = m->source_line;
    size_t len = strlen(line), at = (size_t)m->column - 1, begin = 0, end = len;
    if (at > len) at = len;
    if (len > WIDTH) {
        begin = at > WIDTH / 2 ? at - WIDTH / 2 : 0;
        if (begin > len - WIDTH) begin = len - WIDTH;
        end = begin + WIDTH;
        while (begin < at && is_continuation(line[begin])) begin++;
        while (end < len && is_continuation(line[end])) end++;
    }
    buf_puts(out, begin ? "  ..." : "  ");
    size_t columns = add_clean(out, line + begin, at - begin);
    add_clean(out, line + at, end - at);
    buf_puts(out, end < len ? "...\n  " : "\n  ");
    if (begin) buf_puts(out, "   ");
    while (columns--) buf_putc(out, ' ');
    buf_printf(out, "%s^%s\n", color ? green : "", color ? plain : "");
}

void diag_render(const DiagMessage *m, const char *program, bool color, Buf *out) {
    bool error = m->kind == DIAG_ERROR;
    add_heading(m, program, error ? "error" : "warning", error ? red : magenta, color, out);
    add_clean(out, m->message, strlen(m->message));
    if (m->tag) buf_printf(out, " [%s]", m->tag);
    buf_putc(out, '\n');
    if (m->source_line) add_source(m, color, out);
    if (!m->hint) return;
    add_heading(m, program, "hint", cyan, color, out);
    add_clean(out, m->hint, strlen(m->hint));
    buf_putc(out, '\n');
}
