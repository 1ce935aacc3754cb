#include "codegen/print/source_check.h"
#include "codegen/prelude/prelude.h"
#include <stdio.h>
#include <string.h>

/* The allow-list: the language, the prelude, and the names that the printer has defined.  All else,
 * above all the preprocessor, strings, backslashes and asm, is refused, so that no text of a user
 * can reach the compiler as code.  */

static const char words[] =
    /* the language */
    " bool break char const constexpr continue do double else extern false float for if int long"
    " return short signed true unsigned void while reinterpret_cast"
    /* CUDA */
    " __align__ __cluster_dims__"
    " __global__ __grid_constant__ __launch_bounds__ __restrict__ __shared__"
    " __syncthreads __syncwarp"
    " __int_as_float __float_as_uint __longlong_as_double __shfl_xor_sync __shfl_up_sync"
    " __shfl_sync blockIdx threadIdx gridDim min max"
    /* mathematics */
    " exp expf exp2 exp2f log logf log2 log2f sqrt sqrtf rsqrt rsqrtf tanh tanhf erf erff sin sinf"
    " cos cosf pow powf floor floorf ceil ceilf rint rintf fabs fabsf fma fmaf ";

/* Members of the language's structs and of the prelude's vectors.  */
static const char members[] = " x y v ";

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_name(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Is it a word of a list, in which each stands between spaces?  */
static bool is_listed(const char *list, const char *s, size_t len) {
    for (const char *p = list; *p; p++) {
        size_t n = 0;
        if (p[0] != ' ' || p[1] != s[0]) continue;
        while (n < len && p[1 + n] && p[1 + n] == s[n]) n++;
        if (n > 0 && n == len && p[1 + n] == ' ') return true;
    }
    return false;
}

/* rk_, 16 hexadecimal digits, _, a number.  */
static bool is_symbol(const char *s, size_t len) {
    if (len < 21 || memcmp(s, "rk_", 3) != 0 || s[19] != '_') return false;
    for (size_t i = 3; i < len; i++) {
        bool hex = is_digit(s[i]) || (i < 19 && s[i] >= 'a' && s[i] <= 'f');
        if (!hex && i != 19) return false;
    }
    return true;
}

/* What OpenCL C has by other names.  */
static const char opencl_words[] =
    " __kernel __global __local __attribute__ reqd_work_group_size aligned restrict uchar ushort"
    " uint ulong get_local_id get_group_id get_num_groups INFINITY NAN exp2 rsqrt fabs rint ";

/* Names of the text that are known to be allowed: most come often.  */
enum { SEEN = 1024 };
typedef struct {
    const char *name;
    size_t len;
} Seen;

typedef struct {
    HalLanguage language;
    const WordSet *defined;
    Seen seen[SEEN];
} Check;

bool source_word(HalLanguage language, const char *s, size_t len) {
    return is_listed(words, s, len) ||
           (language == LANGUAGE_OPENCL && is_listed(opencl_words, s, len));
}

static bool is_allowed_name(const Check *c, const char *s, size_t len) {
    return source_word(c->language, s, len) || is_symbol(s, len) || words_has(c->defined, s, len) ||
           prelude_has(c->language, s, len);
}

/* Fixed texts with bytes that are refused elsewhere; they begin with '#' or 'e'.  Returns how long
 * the text at s is.  */
static size_t fixed_text(const char *s, size_t left) {
    static const char *const fixed[] = {"#pragma unroll\n",   "#pragma unroll 1\n",
                                        "#pragma unroll 3\n", "#pragma unroll 4\n",
                                        "#pragma unroll 5\n", "#pragma unroll 7\n",
                                        "#pragma unroll 8\n", "extern \"C\" __global__"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        size_t n = strlen(fixed[i]);
        if (n <= left && memcmp(fixed[i], s, n) == 0) return n;
    }
    return 0;
}

/* A comment up to the end of its line: plain bytes only.  */
static size_t comment(const char *s, size_t left) {
    size_t n = 0;
    while (n < left && s[n] != '\n') {
        if (s[n] < ' ' || s[n] > '~' || strchr("#\"'\\", s[n])) return 0;
        n++;
    }
    return n;
}

static size_t number(const char *s, size_t left) {
    size_t n = 0;
    while (n < left &&
           (is_name(s[n]) || s[n] == '.' || ((s[n] == '+' || s[n] == '-') && (s[n - 1] == 'e'))))
        n++;
    return n;
}

static bool is_seen(Check *c, const char *s, size_t len) {
    unsigned at = (unsigned)len;
    for (size_t i = 0; i < len; i++) at = at * 31 + (unsigned char)s[i];
    Seen *one = &c->seen[at % SEEN];
    if (one->len == len && memcmp(one->name, s, len) == 0) return true;
    if (!is_allowed_name(c, s, len)) return false;
    *one = (Seen){s, len};
    return true;
}

/* Behind a '.' stands a member, which is no name of its own.  */
static size_t member(const char *s, size_t left) {
    size_t n = 1;
    while (n < left && is_name(s[n])) n++;
    return is_listed(members, s + 1, n - 1) ? n : 0;
}

/* Length of the token at s; 0 if it is not allowed.  */
static size_t token(Check *c, const char *s, size_t left, bool line) {
    size_t n = *s == '#' || *s == 'e' ? fixed_text(s, left) : 0;
    if (n == 0 && line && is_name(*s)) n = prelude_match(c->language, s, left);
    if (n > 0) return n;
    if (left > 1 && s[0] == '/' && s[1] == '/') return comment(s, left);
    if (left > 1 && s[0] == '/' && s[1] == '*') return 0;
    if (is_digit(*s)) return number(s, left);
    if (left > 1 && s[0] == '.' && is_name(s[1])) return member(s, left);
    if (is_name(*s)) {
        while (n < left && is_name(s[n])) n++;
        return is_seen(c, s, n) ? n : 0;
    }
    if (*s == ' ' || *s == '\n') return 1;
    /* digraphs and trigraphs are other spellings of what is refused */
    bool begins = *s == '%' || *s == '<' || *s == ':' || *s == '?';
    if (begins && left > 1 && is_listed(" %: <: <% :> %> ?? ", s, 2)) return 0;
    return strchr(" \n+-*/%&|^!=<>?:;,.()[]{}", *s) && *s ? 1 : 0;
}

const char *source_check(HalLanguage language, const WordSet *defined, const char *source,
                         size_t len) {
    Check c = {.language = language, .defined = defined};
    for (size_t at = 0; at < len;) {
        bool line = at == 0 || source[at - 1] == '\n';
        size_t n = token(&c, source + at, len - at, line);
        if (n == 0) return source + at;
        at += n;
    }
    return NULL;
}
