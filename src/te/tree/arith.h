/* 64-bit arithmetic that says when it does not fit, floors its quotients, or saturates.  */
#ifndef ROLLER_TE_TREE_ARITH_H
#define ROLLER_TE_TREE_ARITH_H
#include <stdbool.h>
#include <stdint.h>

static inline bool add_fits(int64_t a, int64_t b, int64_t *out) {
    if (b >= 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
    *out = a + b;
    return true;
}

static inline bool mul_fits(int64_t a, int64_t b, int64_t *out) {
    if (a > 0 ? (b > INT64_MAX / a || b < INT64_MIN / a)
              : (a < -1 ? (b > INT64_MIN / a || b < INT64_MAX / a) : (a && b == INT64_MIN)))
        return false;
    *out = a * b;
    return true;
}

/* b is not 0, and a / b is not 2^63.  */
static inline int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static inline int64_t floor_mod(int64_t a, int64_t b) {
    if (b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* Of what is not negative, by a positive number.  */
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static inline int64_t gcd64(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (x <= UINT32_MAX && y <= UINT32_MAX) {   /* of which a division is much cheaper */
        uint32_t u = (uint32_t)x, v = (uint32_t)y;
        while (v) {
            uint32_t t = u % v;
            u = v;
            v = t;
        }
        return u;
    }
    while (y) {
        uint64_t t = x % y;
        x = y;
        y = t;
    }
    return x > INT64_MAX ? 1 : (int64_t)x;
}

/* All integers from lo to hi; the ends of int64_t stand for "without bound".  */
typedef struct {
    int64_t lo, hi;
} Interval;

#define INTERVAL_ALL ((Interval){INT64_MIN, INT64_MAX})

/* Sums and products of ends; "without bound" stays so.  */
static inline int64_t end_add(int64_t a, int64_t b) {
    if (a == INT64_MIN || a == INT64_MAX) return a;
    if (b == INT64_MIN || b == INT64_MAX) return b;
    int64_t r;
    return add_fits(a, b, &r) ? r : b > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t end_mul(int64_t a, int64_t b) {
    bool wide = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
    int64_t r;
    if (a == 0 || b == 0) return 0;
    return !wide && mul_fits(a, b, &r) ? r : (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static inline Interval interval_add(Interval a, Interval b) {
    return (Interval){end_add(a.lo, b.lo), end_add(a.hi, b.hi)};
}

static inline Interval interval_mul(Interval a, Interval b) {
    int64_t p[4] = {end_mul(a.lo, b.lo), end_mul(a.lo, b.hi), end_mul(a.hi, b.lo),
                    end_mul(a.hi, b.hi)};
    Interval r = {p[0], p[0]};
    for (int i = 1; i < 4; i++) {
        if (p[i] < r.lo) r.lo = p[i];
        if (p[i] > r.hi) r.hi = p[i];
    }
    return r;
}

static inline Interval interval_union(Interval a, Interval b) {
    return (Interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static inline bool interval_within(Interval a, Interval b) { return a.lo >= b.lo && a.hi <= b.hi; }

/* floor(end / d), d >= 1; "without bound" stays so.  */
static inline int64_t end_div(int64_t a, int64_t d) {
    if (a == INT64_MIN || a == INT64_MAX) return a;
    return d == INT64_MAX ? (a < 0 ? -1 : 0) : floor_div(a, d);
}

static inline Interval interval_div(Interval a, Interval d) {
    Interval x = {end_div(a.lo, d.lo), end_div(a.hi, d.lo)};
    Interval y = {end_div(a.lo, d.hi), end_div(a.hi, d.hi)};
    return interval_union(x, y);
}

#endif
