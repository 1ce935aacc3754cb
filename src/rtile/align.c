#include "rtile/rtile.h"

const char *rtile_rule_text(RTileRule rule) {
    static const char *const text[] = {
#define X(id, words) words,
        RTILE_RULES(X)
#undef X
    };
    return rule < RTILE_RULE_COUNT ? text[rule] : "no rule";
}

double rtile_waste(int64_t n, int32_t s) {
    if (n <= 0) return 0;
    if (n < INT32_MAX / 2 && s < INT32_MAX / 2) {         /* shorter divisions */
        int32_t m = (int32_t)n, padded = (m + s - 1) / s * s;
        return (double)(padded - m) / (double)m;
    }
    int64_t tiles = (n + s - 1) / s;
    return (double)(tiles * s - n) / (double)n;
}

RTileRule rtile_broken(int64_t n, int32_t s, int unit, int mover, double epsilon) {
    if (s % unit) return RTILE_RULE_UNIT;
    if (s % mover) return RTILE_RULE_MOVER;
    if (rtile_waste(n, s) > epsilon) return RTILE_RULE_PADDING;
    return RTILE_RULE_COUNT;
}

int rtile_sizes(int64_t n, int unit, int max, double epsilon, int32_t *out, int cap) {
    int count = 0;
    for (int32_t s = unit; s <= max && count < cap; s += unit) {
        if (rtile_broken(n, s, unit, 1, epsilon) == RTILE_RULE_COUNT) out[count++] = s;
    }
    return count;
}
