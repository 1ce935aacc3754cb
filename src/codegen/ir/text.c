#include "codegen/ir/cg.h"
#include <string.h>

const char *cg_text(const Cg *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *s = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
    return s;
}

void cg_scope(Cg *c) { ir_scope(c); }
void cg_close(Cg *c) { ir_close(c); }
void cg_blank(Cg *c) { ir_simple(c, IR_STMT_BLANK); }

void cg_comment(Buf *out, const char *text) {
    static const char allowed[] = " ._-+*/%,:;=<>()[]{}|@";
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, "\n");
        buf_puts(out, n > 0 ? "// " : "//");
        for (size_t i = 0; i < n; i++) {
            bool plain = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
                         (s[i] >= '0' && s[i] <= '9') || strchr(allowed, s[i]);
            buf_putc(out, plain ? s[i] : '?');
        }
        buf_putc(out, '\n');
        s += n + (s[n] == '\n');
    }
}
