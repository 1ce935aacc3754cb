/* links: base */
#include "ptx_edit.h"

#include <ctype.h>
#include <string.h>

enum { MOST_OPERANDS = 36 };

typedef struct {
    const char *at;
    size_t len;
} Piece;

/* An instruction: from its name up to its semicolon.  */
typedef struct {
    Piece all, operand[MOST_OPERANDS];
    int n;
} Inst;

static void read_operands(const char *p, const char *end, Inst *x) {
    x->n = 0;
    while (p < end && x->n < MOST_OPERANDS) {
        while (p < end && (isspace((unsigned char)*p) || strchr(",{}", *p))) p++;
        const char *from = p;
        if (p < end && *p == '[')
            while (p < end && *p++ != ']') {}
        else
            while (p < end && !isspace((unsigned char)*p) && !strchr(",{}", *p)) p++;
        if (p > from) x->operand[x->n++] = (Piece){from, (size_t)(p - from)};
    }
}

static bool read_inst(const char *p, const char *op, Inst *x) {
    size_t len = strlen(op);
    const char *end = strchr(p, ';');
    if (!end || strncmp(p, op, len) != 0) return false;
    if (p[len] != '.' && !isspace((unsigned char)p[len])) return false;
    x->all = (Piece){p, (size_t)(end + 1 - p)};
    while (!isspace((unsigned char)*p)) p++;
    read_operands(p, end, x);
    return true;
}

static const Piece *named(const Inst *x, char name) {
    if (name == 'i') return &x->all;
    int k = isdigit((unsigned char)name) ? name - '0' : name - 'a' + 10 - (name > 'i');
    return k >= 0 && k < x->n ? &x->operand[k] : NULL;
}

static void put(Buf *b, const char *with, const Inst *x) {
    for (const char *s = with; *s; s++) {
        const Piece *p = s[0] == '$' ? named(x, s[1]) : NULL;
        if (p) buf_printf(b, "%.*s", (int)p->len, p->at), s++;
        else buf_putc(b, *s);
    }
}

const char *ptx_edit(Arena *a, const char *ptx, const char *op, const char *with, int *n) {
    Buf b = buf_new(a);
    Inst x;
    *n = 0;
    for (const char *p = ptx; *p;) {
        bool starts = p == ptx || isspace((unsigned char)p[-1]) || p[-1] == '{';
        if (starts && read_inst(p, op, &x)) {
            put(&b, with, &x);
            p += x.all.len;
            ++*n;
        } else {
            buf_putc(&b, *p++);
        }
    }
    return buf_str(&b);
}

const char *ptx_replace(Arena *a, const char *ptx, const char *piece, const char *with, int *n) {
    Buf b = buf_new(a);
    size_t len = strlen(piece);
    *n = 0;
    while (*ptx) {
        bool here = strncmp(ptx, piece, len) == 0;
        if (here) buf_puts(&b, with);
        else buf_putc(&b, *ptx);
        *n += here;
        ptx += here ? len : 1;
    }
    return buf_str(&b);
}
