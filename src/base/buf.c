#include "base/buf.h"

#include "base/numeric.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Buf buf_new(Arena *a) { return (Buf){.arena = a}; }

/* Room for `len` more bytes and the NUL.  */
static void reserve(Buf *b, size_t len) {
    if (len > SIZE_MAX - b->len - 1) arena_fail(b->arena);
    b->text = arena_grow(b->arena, b->text, &b->cap, b->len + len + 1, 1);
}

void buf_add(Buf *b, const char *bytes, size_t len) {
    reserve(b, len);
    if (len) memcpy(b->text + b->len, bytes, len);
    b->len += len;
    b->text[b->len] = 0;
}

void buf_puts(Buf *b, const char *s) { buf_add(b, s, strlen(s)); }

void buf_putc(Buf *b, char c) { buf_add(b, &c, 1); }

void buf_vprintf(Buf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    reserve(b, 63);
    int len = vsnprintf(b->text + b->len, b->cap - b->len, fmt, ap);
    if (len < 0) arena_fail(b->arena);
    if ((size_t)len >= b->cap - b->len) {
        reserve(b, (size_t)len);
        vsnprintf(b->text + b->len, b->cap - b->len, fmt, again);
    }
    va_end(again);
    b->len += (size_t)len;
}

void buf_printf(Buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

/* The fewest decimal digits d1 d2 ... that read back v > 0; v = d1.d2... * 10^result.  */
static int shortest(double v, char digits[20]) {
    for (int n = 0;; n++) {
        char text[40];
        int len = snprintf(text, sizeof text, "%.*e", n, v);
        /* D<separator of the locale>DDD e+XX; the separator is dropped.  */
        const char *e = memchr(text, 'e', (size_t)len);
        digits[0] = text[0];
        if (n) memcpy(digits + 1, e - n, (size_t)n);
        digits[n + 1] = 0;
        int exponent = atoi(e + 1);
        char plain[48];
        double back;
        int plain_len = snprintf(plain, sizeof plain, "%se%d", digits, exponent - n);
        if (n == 16 || (num_real(plain, (size_t)plain_len, &back) && back == v)) {
            for (int i = n; i > 0 && digits[i] == '0'; i--) digits[i] = 0;
            return exponent;
        }
    }
}

void buf_real(Buf *b, double v) {
    if (isnan(v)) {
        buf_puts(b, "nan");
        return;
    }
    if (signbit(v)) buf_putc(b, '-');
    v = fabs(v);
    if (isinf(v) || v == 0) {
        buf_puts(b, v == 0 ? "0.0" : "inf");
        return;
    }
    char digits[20];
    int exponent = shortest(v, digits), n = (int)strlen(digits);
    if (exponent < -5 || exponent > 15) {
        buf_printf(b, "%c%s%se%d", digits[0], n > 1 ? "." : "", digits + 1, exponent);
    } else if (exponent < 0) {
        buf_printf(b, "0.%.*s%s", -exponent - 1, "0000", digits);
    } else if (n <= exponent + 1) {
        buf_printf(b, "%s%.*s.0", digits, exponent + 1 - n, "000000000000000");
    } else {
        buf_printf(b, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
    }
}

const char *buf_str(Buf *b) { return b->text ? b->text : ""; }
