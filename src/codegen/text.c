#include "codegen/cg.h"
#include <string.h>

const char *cg_text(const Cg *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *s = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
    return s;
}

static void indent(Cg *c) {
    for (int i = 0; i < c->depth; i++) buf_puts(&c->out, "    ");
}

static void line(Cg *c, const char *fmt, va_list ap, const char *end) {
    indent(c);
    buf_vprintf(&c->out, fmt, ap);
    buf_puts(&c->out, end);
}

void cg_line(Cg *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    line(c, fmt, ap, "\n");
    va_end(ap);
}

void cg_open(Cg *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    line(c, fmt, ap, " {\n");
    va_end(ap);
    c->depth++;
}

void cg_scope(Cg *c) {
    cg_line(c, "{");
    c->depth++;
}

void cg_close(Cg *c) {
    c->depth--;
    indent(c);
    buf_puts(&c->out, "}\n");
}

void cg_blank(Cg *c) { buf_putc(&c->out, '\n'); }

void cg_comment(Cg *c, const char *text) {
    static const char allowed[] = " ._-+*/%,:;=<>()[]{}|@";
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, "\n");
        indent(c);
        buf_puts(&c->out, n > 0 ? "// " : "//");
        for (size_t i = 0; i < n; i++) {
            bool plain = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
                         (s[i] >= '0' && s[i] <= '9') || strchr(allowed, s[i]);
            buf_putc(&c->out, plain ? s[i] : '?');
        }
        buf_putc(&c->out, '\n');
        s += n + (s[n] == '\n');
    }
}
