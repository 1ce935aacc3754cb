#include "sim/ptx/ptx_lex.h"
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool is_word(char c) { return is_word_start(c) || is_digit(c); }

static char peek(const PtxLex *x, size_t ahead) {
    return x->pos + ahead < x->len ? x->text[x->pos + ahead] : '\0';
}

void sim_lex_init(PtxLex *x, Diag *d, const char *file, const char *text, size_t len) {
    *x = (PtxLex){.file = file, .text = text, .len = len, .line = 1, .diag = d};
}

bool sim_lex_error(PtxLex *x, const char *fmt, ...) {
    if (!x->failed) {
        va_list ap;
        va_start(ap, fmt);
        const char *message = arena_vprintf(x->diag->arena, fmt, ap);
        va_end(ap);
        DiagPlace place = {x->file, x->text, x->len, x->at};
        diag_error(x->diag, ST_SIMULATOR, "ptx", place, "%s", message);
    }
    x->failed = true;
    return false;
}

bool sim_lex_word_is(const PtxLex *x, PtxTokKind kind, const char *word) {
    return x->kind == kind && x->n == strlen(word) && memcmp(x->word, word, x->n) == 0;
}

static void new_line(PtxLex *x) {
    x->line++;
    x->line_start = x->pos + 1;
}

static void skip_block_comment(PtxLex *x) {
    for (x->pos += 2; x->pos < x->len; x->pos++) {
        if (peek(x, 0) == '*' && peek(x, 1) == '/') {
            x->pos += 2;
            return;
        }
        if (peek(x, 0) == '\n') new_line(x);
    }
}

static void skip_space(PtxLex *x) {
    for (;;) {
        char c = peek(x, 0);
        if (x->pos >= x->len) return;
        if (c == '\n') {
            new_line(x);
            x->pos++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\0') {
            x->pos++;
        } else if (c == '/' && peek(x, 1) == '/') {
            while (x->pos < x->len && peek(x, 0) != '\n') x->pos++;
        } else if (c == '/' && peek(x, 1) == '*') {
            skip_block_comment(x);
        } else {
            return;
        }
    }
}

static int digit_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

/* Digits of an integer; false on overflow or when there is none.  */
static bool read_digits(PtxLex *x, unsigned base) {
    size_t start = x->pos;
    bool fits = true;
    for (; digit_value(peek(x, 0)) < (int)base; x->pos++) {
        uint64_t digit = (uint64_t)digit_value(peek(x, 0));
        if (x->value > (UINT64_MAX - digit) / base) fits = false;
        x->value = x->value * base + digit;
    }
    return fits && x->pos > start;
}

/* 0f and 0d are followed by the bits of a float or double.  */
static void lex_real_bits(PtxLex *x, bool single) {
    x->pos += 2;
    size_t start = x->pos;
    bool good = read_digits(x, 16) && x->pos - start == (single ? 8u : 16u);
    x->kind = TOK_REAL;
    x->single = single;
    if (single) {
        uint32_t bits = (uint32_t)x->value;
        float f;
        memcpy(&f, &bits, sizeof f);
        x->real = f;
    } else {
        memcpy(&x->real, &x->value, sizeof x->real);
    }
    if (!good) sim_lex_error(x, "a real constant needs %d hexadecimal digits", single ? 8 : 16);
}

/* Decimal reals occur in hand-written text only.  Exact while digits and power of ten are small,
 * which the error enforces: beyond that the text must use the bit form.  */
static void lex_real_decimal(PtxLex *x) {
    uint64_t digits = 0;
    int scale = 0, exponent = 0;
    bool fraction = false;
    for (;; x->pos++) {
        char c = peek(x, 0);
        if (c == '.' && !fraction) {
            fraction = true;
        } else if (is_digit(c)) {
            if (digits < (1ull << 53) / 10) digits = digits * 10 + (uint64_t)(c - '0');
            else if (c != '0' || !fraction) scale += 1000;
            scale -= fraction;
        } else {
            break;
        }
    }
    if (peek(x, 0) == 'e' || peek(x, 0) == 'E') {
        x->pos++;
        bool negative = peek(x, 0) == '-';
        if (negative || peek(x, 0) == '+') x->pos++;
        for (; is_digit(peek(x, 0)) && exponent < 1000; x->pos++) {
            exponent = exponent * 10 + (peek(x, 0) - '0');
        }
        if (negative) exponent = -exponent;
    }
    scale += exponent;
    double power = 1;
    for (int k = scale < 0 ? -scale : scale; k > 0 && k <= 22; k--) power *= 10;
    x->kind = TOK_REAL;
    x->real = scale < 0 ? (double)digits / power : (double)digits * power;
    if (digits != 0 && (scale > 22 || scale < -22)) {
        sim_lex_error(x, "write this real constant as 0d followed by its 16 hexadecimal digits");
    }
}

static bool number_is_real(const PtxLex *x) {
    size_t k = 0;
    while (is_digit(peek(x, k))) k++;
    return peek(x, k) == '.' || peek(x, k) == 'e' || peek(x, k) == 'E';
}

static void lex_number(PtxLex *x) {
    char c = peek(x, 0), next = peek(x, 1);
    x->value = 0;
    x->single = false;
    if (c == '0' && (next == 'f' || next == 'F')) {
        lex_real_bits(x, true);
        return;
    }
    if (c == '0' && (next == 'd' || next == 'D')) {
        lex_real_bits(x, false);
        return;
    }
    bool hex = c == '0' && (next == 'x' || next == 'X');
    bool binary = c == '0' && (next == 'b' || next == 'B');
    if (!hex && !binary && number_is_real(x)) {
        lex_real_decimal(x);
        return;
    }
    x->kind = TOK_INT;
    if (hex || binary) x->pos += 2;
    bool octal = !hex && !binary && c == '0' && is_digit(next);
    if (!read_digits(x, hex ? 16 : binary ? 2 : octal ? 8 : 10)) {
        sim_lex_error(x, "bad integer constant");
    }
    x->is_unsigned = peek(x, 0) == 'U';
    if (x->is_unsigned) x->pos++;
    if (is_word(peek(x, 0))) sim_lex_error(x, "bad integer constant");
}

static void lex_word(PtxLex *x, PtxTokKind kind) {
    x->kind = kind;
    size_t start = x->pos;
    while (is_word(peek(x, 0))) x->pos++;
    char c = peek(x, 1);
    bool component = x->text[start] == '%' && peek(x, 0) == '.' && c >= 'w' && c <= 'z';
    if (component && !is_word(peek(x, 2))) x->pos += 2;
    x->word = x->text + start;
    x->n = x->pos - start;
}

static void lex_string(PtxLex *x) {
    size_t start = ++x->pos;
    while (x->pos < x->len && peek(x, 0) != '"' && peek(x, 0) != '\n') {
        x->pos += peek(x, 0) == '\\' && x->pos + 1 < x->len ? 2 : 1;
    }
    x->kind = TOK_STRING;
    x->word = x->text + start;
    x->n = x->pos - start;
    if (peek(x, 0) == '"') x->pos++;
    else sim_lex_error(x, "a string without an end");
}

void sim_lex_next(PtxLex *x) {
    skip_space(x);
    x->at = x->pos;
    if (x->pos >= x->len || x->failed) {
        x->kind = TOK_END;
        return;
    }
    char c = peek(x, 0);
    if (is_digit(c)) {
        lex_number(x);
    } else if (is_word_start(c)) {
        lex_word(x, TOK_WORD);
    } else if (c == '.' && is_word(peek(x, 1))) {
        x->pos++;
        lex_word(x, TOK_DOT);
    } else if (c == '"') {
        lex_string(x);
    } else if (strchr("{}[]()<>,;:+-*/%&|^~!?=@", c)) {
        x->kind = TOK_PUNCT;
        x->punct = c;
        x->pos++;
    } else {
        sim_lex_error(x, "no PTX starts with this character");
        x->kind = TOK_END;
    }
}

void sim_lex_opcode(PtxLex *x) {
    for (;;) {
        bool dot = peek(x, 0) == '.' && is_word(peek(x, 1));
        bool colons = peek(x, 0) == ':' && peek(x, 1) == ':' && is_word(peek(x, 2));
        if (!dot && !colons) break;
        x->pos += dot ? 1 : 2;
        while (is_word(peek(x, 0))) x->pos++;
    }
    x->n = x->pos - x->at;
}
