/* Decimal text to double, exactly: big integers, one division, one rounding.  */
#include "base/numeric.h"

#include <math.h>

enum {
    DIGITS = 800,             /* no point halfway between two doubles has more than 767 */
    LIMBS = 160               /* of 32 bits: 10^(DIGITS + 330), with 115 bits to spare */
};

typedef struct {
    int n;                    /* limbs in use, the highest not 0 */
    uint32_t limb[LIMBS];     /* lowest first */
} Big;

static void muladd(Big *b, uint32_t factor, uint32_t add) {
    uint64_t carry = add;
    for (int i = 0; i < b->n; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) b->limb[b->n++] = (uint32_t)carry;
}

static void scale10(Big *b, int64_t power) {
    for (; power >= 9; power -= 9) muladd(b, 1000000000, 0);
    for (; power > 0; power--) muladd(b, 10, 0);
}

static void shift(Big *b, int bits) {
    for (; bits >= 31; bits -= 31) muladd(b, 1u << 31, 0);
    if (bits > 0) muladd(b, 1u << bits, 0);
}

static int bit_length(const Big *b) {
    int bits = 32 * b->n;
    for (uint32_t top = b->limb[b->n - 1]; !(top >> 31); top <<= 1) bits--;
    return bits;
}

static bool at_least(const Big *a, const Big *b) {
    if (a->n != b->n) return a->n > b->n;
    for (int i = a->n - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] > b->limb[i];
    return true;
}

/* a -= b, where a is at least b.  */
static void subtract(Big *a, const Big *b) {
    uint32_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        uint64_t take = (uint64_t)borrow + (i < b->n ? b->limb[i] : 0);
        borrow = a->limb[i] < take;
        a->limb[i] -= (uint32_t)take;
    }
    while (a->n && !a->limb[a->n - 1]) a->n--;
}

/* num / den to the nearest double; both are above 0.  */
static double divide(Big *num, Big *den) {
    /* The quotient by 2^e has 56 or 57 bits, found one at a time; num keeps the remainder.  */
    int e = bit_length(num) - bit_length(den) - 56;
    shift(num, -e);
    shift(den, e);
    shift(den, 57);
    uint64_t q = 0;
    for (int i = 57; i >= 0; i--) {
        q <<= 1;
        if (at_least(num, den)) {
            subtract(num, den);
            q |= 1;
        }
        shift(num, 1);
    }
    /* 53 bits are kept, fewer for a subnormal result.  */
    int drop = q >> 56 ? 4 : 3;
    if (drop < -1074 - e) drop = -1074 - e;
    if (drop > 62) return 0;
    uint64_t rest = q & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1);
    q >>= drop;
    q += rest > half || (rest == half && (num->n || (q & 1)));
    return ldexp((double)q, e + drop);
}

/* The number 0.d1d2... * 10^point.  */
typedef struct {
    char digits[DIGITS];      /* significant ones; d1 is not 0 */
    int n;
    int64_t point;
} Decimal;

static double convert(const Decimal *d) {
    if (d->n == 0 || d->point < -330) return 0;
    if (d->point > 310) return INFINITY;
    int64_t power = d->point - d->n;
    if (d->n <= 15 && power >= -22 && power <= 22) {
        /* Both factors are exact, so one operation rounds once.  */
        double digits = 0, ten = 1;
        for (int i = 0; i < d->n; i++) digits = digits * 10 + (d->digits[i] - '0');
        for (int64_t i = power < 0 ? -power : power; i > 0; i--) ten *= 10;
        return power < 0 ? digits / ten : digits * ten;
    }
    Big num = {0}, den = {.n = 1, .limb = {1}};
    for (int i = 0; i < d->n; i++) muladd(&num, 10, (uint32_t)(d->digits[i] - '0'));
    scale10(power < 0 ? &den : &num, power < 0 ? -power : power);
    return divide(&num, &den);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Adds the digits from s on; `place` is 1 before the point and 0 behind it.  */
static const char *take_digits(Decimal *d, const char *s, const char *end, int place) {
    for (; s < end && is_digit(*s); s++) {
        if (d->n == 0 && *s == '0') {
            d->point -= 1 - place;
            continue;
        }
        d->point += place;
        if (d->n < DIGITS) d->digits[d->n++] = *s;
        /* What does not fit can only break a tie, and any last digit but 0 does that.  */
        else if (*s != '0' && d->digits[DIGITS - 1] == '0') d->digits[DIGITS - 1] = '1';
    }
    return s;
}

bool num_real(const char *s, size_t len, double *out) {
    const char *end = s + len, *start = s;
    Decimal d = {.n = 0};
    s = take_digits(&d, s, end, 1);
    if (s == start) return false;
    if (s < end && *s == '.') {
        start = ++s;
        s = take_digits(&d, s, end, 0);
        if (s == start) return false;
    }
    if (s < end && (*s == 'e' || *s == 'E')) {
        bool negative = ++s < end && *s == '-';
        if (s < end && (*s == '-' || *s == '+')) s++;
        int64_t exponent = 0;
        for (start = s; s < end && is_digit(*s); s++)
            if (exponent < INT64_MAX / 20) exponent = exponent * 10 + (*s - '0');
        if (s == start) return false;
        d.point += negative ? -exponent : exponent;
    }
    if (s != end) return false;
    *out = convert(&d);
    return true;
}
