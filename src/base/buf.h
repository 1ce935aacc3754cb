/* A growing text on an arena.  `text` is always NUL-terminated once something was added.  */
#ifndef ROLLER_BASE_BUF_H
#define ROLLER_BASE_BUF_H
#include "base/arena.h"

typedef struct {
    Arena *arena;
    char *text;
    size_t len, cap;
} Buf;

Buf buf_new(Arena *a);
void buf_add(Buf *b, const char *bytes, size_t len);
void buf_puts(Buf *b, const char *s);
void buf_putc(Buf *b, char c);
void buf_printf(Buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(Buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* The shortest decimal text that reads back the same double, independent of the locale; it always
 * has a point or an exponent.  inf, -inf and nan are spelled so.  */
void buf_real(Buf *b, double v);
/* The text as a string; "" for an empty buffer.  */
const char *buf_str(Buf *b);
#endif
