/* links: base */
#include "base/numeric.h"

#include "base/hash.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const round_name[] = {"even", "zero", "down", "up", "away"};

static double double_of(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint32_t float_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static bool same(double a, double b) { return isnan(a) ? isnan(b) : bits_of(a) == bits_of(b); }

/* -- a second opinion: search among all values of a format ------------------------------------ */

typedef struct {
    const char *name;
    int mant, bias, width;
    uint32_t max, inf, nan;   /* inf 0: there is none */
    bool always_saturates;
    int count;
    double value[32770];      /* by encoding; the one after max is what overflow rounds to */
} Table;

static Table f16 = {"f16", 10, 15, 16, 0x7bff, 0x7c00, 0x7fff, false, 0, {0}};
static Table bf16 = {"bf16", 7, 127, 16, 0x7f7f, 0x7f80, 0x7fff, false, 0, {0}};
static Table e4m3 = {"e4m3", 3, 7, 8, 0x7e, 0, 0x7f, true, 0, {0}};
static Table e5m2 = {"e5m2", 2, 15, 8, 0x7b, 0x7c, 0x7f, false, 0, {0}};

/* Counts up from 0 in the steps of each binade.  */
static void fill(Table *t) {
    double v = 0, quantum = pow(2, 1 - t->bias - t->mant);
    for (uint32_t code = 0; code <= t->max + 1; code++) {
        t->value[code] = v;
        v += quantum;
        if (code >= 1u << t->mant && (code + 1) % (1u << t->mant) == 0) quantum *= 2;
    }
    t->count = (int)t->max + 2;
}

static uint32_t search(const Table *t, double v, Round r, bool sat) {
    if (isnan(v)) return t->nan;
    bool negative = signbit(v);
    double x = fabs(v);
    int low = 0, high = t->count;                       /* value[low] <= x < value[high] */
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (t->value[middle] <= x) low = middle;
        else high = middle;
    }
    bool outward = r == (negative ? ROUND_DOWN : ROUND_UP);
    if (low < t->count - 1 && t->value[low] < x) {
        double half = (t->value[low] + t->value[low + 1]) / 2;
        bool nearest = r == ROUND_NEAREST_EVEN || r == ROUND_NEAREST_AWAY;
        bool tie_up = r == ROUND_NEAREST_AWAY || low % 2 == 1;
        if (nearest ? x > half || (x == half && tie_up) : outward) low++;
    }
    uint32_t code = (uint32_t)low;
    if (code > t->max) {
        bool nearest = r == ROUND_NEAREST_EVEN || r == ROUND_NEAREST_AWAY;
        bool finite = sat || t->always_saturates || (!isinf(v) && !nearest && !outward);
        code = finite ? t->max : t->inf;
    }
    return code | (uint32_t)negative << (t->width - 1);
}

static uint32_t encode(const Table *t, double v, Round r, bool sat) {
    if (t == &f16) return num_f16_encode(v, r, sat);
    if (t == &bf16) return num_bf16_encode(v, r, sat);
    if (t == &e4m3) return num_e4m3_encode(v, r);
    return num_e5m2_encode(v, r, sat);
}

static double decode(const Table *t, uint32_t code) {
    if (t == &f16) return num_f16_decode((uint16_t)code);
    if (t == &bf16) return num_bf16_decode((uint16_t)code);
    return t == &e4m3 ? num_e4m3_decode((uint8_t)code) : num_e5m2_decode((uint8_t)code);
}

static void check(const Table *t, double v) {
    for (int sign = 0; sign < 2; sign++, v = -v)
        for (Round r = ROUND_NEAREST_EVEN; r <= ROUND_NEAREST_AWAY; r++)
            for (int sat = 0; sat < 2; sat++) {
                uint32_t got = encode(t, v, r, sat), want = search(t, v, r, sat);
                if (got != want)
                    fail_msg("%s of %a, %s, sat %d: got %x, want %x", t->name, v, round_name[r],
                             sat, got, want);
            }
}

static void check_format(Table *t) {
    fill(t);
    uint32_t sign = 1u << (t->width - 1);
    for (uint32_t code = 0; code < sign; code++) {
        double want = code <= t->max ? t->value[code] : code == t->inf ? INFINITY : NAN;
        assert_true(same(decode(t, code), want));
        assert_true(same(decode(t, code | sign), -want));
        if (!isnan(want))
            for (Round r = ROUND_NEAREST_EVEN; r <= ROUND_NEAREST_AWAY; r++)
                assert_int_equal(encode(t, want, r, false), code);
    }
    /* Every value, every midpoint, what lies just beside them, and something in between.  */
    Rng rng = {11};
    for (int code = 0; code + 1 < t->count; code++) {
        double low = t->value[code], high = t->value[code + 1], middle = (low + high) / 2;
        check(t, low);
        check(t, nextafter(low, INFINITY));
        check(t, nextafter(middle, 0));
        check(t, middle);
        check(t, nextafter(middle, INFINITY));
        check(t, nextafter(high, 0));
        check(t, low + (high - low) * (double)rng_below(&rng, 1000) / 1000);
    }
    static const double far[] = {INFINITY, NAN, 1e300, 0x1p128, 0x1.fffffffffffffp1023,
                                 0x1p-140, 0x1p-1074, 0x1p-1022, 0x1.8p-1023, 1e-300};
    check(t, t->value[t->max + 1]);
    check(t, t->value[t->max + 1] * 1.5);
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) check(t, far[i]);
}

static void every_f16(void **state) { (void)state, check_format(&f16); }
static void every_bf16(void **state) { (void)state, check_format(&bf16); }
/* The nearest of all values, the even code of two as near; the least and the largest for what lies
 * beyond them.  */
static int nearest_code(double v, int codes, double (*value)(uint8_t)) {
    int best = 0;
    for (int code = 1; code < codes; code++) {
        double now = fabs(value((uint8_t)code) - v), before = fabs(value((uint8_t)best) - v);
        if (now < before || (now == before && code % 2 == 0)) best = code;
    }
    return best;
}

static void scales(void **state) {
    (void)state;
    for (int code = 0; code < 255; code++) {
        double v = num_ue8m0_decode((uint8_t)code);
        assert_true(v == ldexp(1, code - 127));
        for (int eighth = 0; eighth < 16; eighth++) {
            double beside[] = {v * (1 + eighth / 16.0), nextafter(v * (1 + eighth / 16.0), 0),
                               nextafter(v * (1 + eighth / 16.0), INFINITY)};
            for (int i = 0; i < 3; i++)
                assert_int_equal(num_ue8m0_encode(beside[i]),
                                 nearest_code(beside[i], 255, num_ue8m0_decode));
        }
    }
    assert_true(isnan(num_ue8m0_decode(255)));
    assert_int_equal(num_ue8m0_encode(NAN), 255);
    assert_int_equal(num_ue8m0_encode(0), 0);
    assert_int_equal(num_ue8m0_encode(-INFINITY), 0);
    assert_int_equal(num_ue8m0_encode(INFINITY), 254);
    for (double v = -1; v < 600; v += 1.0 / 64)
        assert_int_equal(num_ue4m3_encode(v), nearest_code(v, 127, num_ue4m3_decode));
    assert_int_equal(num_ue4m3_encode(-0.0), 0);
    assert_int_equal(num_ue4m3_encode(-NAN), 0x7f);
    for (int code = 0; code < 128; code++)
        assert_true(same(num_ue4m3_decode((uint8_t)(code + 128)), num_e4m3_decode((uint8_t)code)));
}

/* The 16 values of OCP Microscaling Formats 1.0, table 5; those of 6 bits by its formula.  */
static void small_types(void **state) {
    (void)state;
    static const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
    for (int code = 0; code < 256; code++)
        assert_true(same(num_e2m1_decode((uint8_t)code), e2m1[code % 16]));
    for (int code = 0; code < 256; code++) {
        double sign = code & 32 ? -1 : 1;
        int e2 = code >> 3 & 3, e3 = code >> 2 & 7;
        double low = (code % 8) / 8.0, few = (code % 4) / 4.0;
        assert_true(same(num_e2m3_decode((uint8_t)code),
                         sign * (e2 ? ldexp(1 + low, e2 - 1) : low)));
        assert_true(same(num_e3m2_decode((uint8_t)code),
                         sign * (e3 ? ldexp(1 + few, e3 - 3) : ldexp(few, -2))));
    }
    static const struct {
        uint8_t (*encode)(double v);
        double (*decode)(uint8_t code);
        int codes;
    } type[] = {{num_e2m1_encode, num_e2m1_decode, 8}, {num_e2m3_encode, num_e2m3_decode, 32},
                {num_e3m2_encode, num_e3m2_decode, 32}};
    for (size_t t = 0; t < sizeof type / sizeof *type; t++) {
        int codes = type[t].codes;
        for (double v = 0; v < 33; v += 1.0 / 256) {
            int want = nearest_code(v, codes, type[t].decode);
            assert_int_equal(type[t].encode(v), want);
            assert_int_equal(type[t].encode(-v), want | codes);
        }
        assert_int_equal(type[t].encode(INFINITY), codes - 1);
        assert_int_equal(type[t].encode(-INFINITY), 2 * codes - 1);
        assert_int_equal(type[t].encode(NAN), codes - 1);
        assert_int_equal(type[t].encode(0x1p-1074), 0);
    }
}

static void every_e4m3(void **state) { (void)state, check_format(&e4m3); }
static void every_e5m2(void **state) { (void)state, check_format(&e5m2); }

/* -- a third opinion: the compiler and the processor ------------------------------------------ */

static void f16_agrees_with_the_compiler(void **state) {
    (void)state;
#ifdef __FLT16_MANT_DIG__
    __extension__ typedef _Float16 Half;
    for (uint32_t code = 0; code < 65536; code++) {
        uint16_t bits = (uint16_t)code;
        Half h;
        memcpy(&h, &bits, sizeof h);
        assert_true(same(num_f16_decode(bits), (double)h));
    }
    Rng rng = {5};
    for (int i = 0; i < 1000000; i++) {
        /* Exponents around the range of f16, all fraction bits random.  */
        uint64_t exponent = 1023 - 30 + rng_below(&rng, 50), x = rng_next(&rng);
        double v = double_of((x & 0x800fffffffffffff) | exponent << 52);
        volatile double source = v;
        Half h = (Half)source;
        uint16_t bits;
        memcpy(&bits, &h, sizeof bits);
        assert_int_equal(num_f16_encode(v, ROUND_NEAREST_EVEN, false), bits);
    }
#else
    skip();
#endif
}

static void f32_agrees_with_the_processor(void **state) {
    (void)state;
    static const struct {
        Round round;
        int mode;
    } row[] = {{ROUND_NEAREST_EVEN, FE_TONEAREST},
               {ROUND_TO_ZERO, FE_TOWARDZERO},
               {ROUND_DOWN, FE_DOWNWARD},
               {ROUND_UP, FE_UPWARD}};
    Rng rng = {9};
    for (size_t m = 0; m < 4; m++) {
        for (int i = 0; i < 300000; i++) {
            uint64_t x = rng_next(&rng);
            /* Half of them any double, half near the range of f32; many with a short fraction.  */
            if (i % 2) x = (x & 0x800fffffffffffff) | (uint64_t)(850 + rng_below(&rng, 320)) << 52;
            if (i % 3 == 0) x &= 0xfffffffff0000000;
            volatile double v = double_of(x);
            volatile float want;
            fesetround(row[m].mode);
            want = (float)v;
            fesetround(FE_TONEAREST);
            float got = num_f32_encode(v, row[m].round);
            if (isnan(want)) assert_int_equal(float_bits(got), 0x7fffffff);
            else assert_int_equal(float_bits(got), float_bits(want));
        }
    }
}

static void f32_ties_away(void **state) {
    (void)state;
    Rng rng = {13};
    for (int i = 0; i < 200000; i++) {
        uint32_t code = rng_below(&rng, 0x7f7fffff);
        double low = (double)float_of(code), high = (double)float_of(code + 1);
        double middle = low + (high - low) / 2;
        assert_int_equal(float_bits(num_f32_encode(middle, ROUND_NEAREST_AWAY)), code + 1);
        assert_int_equal(float_bits(num_f32_encode(-middle, ROUND_NEAREST_AWAY)),
                         (code + 1) | 0x80000000);
        middle = nextafter(middle, 0);
        assert_int_equal(float_bits(num_f32_encode(middle, ROUND_NEAREST_AWAY)), code);
    }
}

/* On the bits of an f32: adding below the cut carries into the kept part.  */
static uint32_t tf32_by_bits(uint32_t x, Round r) {
    bool negative = x >> 31;
    uint32_t low = 0x1fff, add = 0;
    if (r == ROUND_NEAREST_EVEN) add = 0xfff + (x >> 13 & 1);
    if (r == ROUND_NEAREST_AWAY) add = 0x1000;
    if (r == (negative ? ROUND_DOWN : ROUND_UP)) add = low;
    uint32_t y = ((x & 0x7fffffff) + add) & ~low;
    bool inward = r == ROUND_TO_ZERO || r == (negative ? ROUND_UP : ROUND_DOWN);
    if (y == 0x7f800000 && inward && (x & 0x7fffffff) < 0x7f800000) y = 0x7f7fe000;
    return y | (x & 0x80000000);
}

static void tf32_in_every_mode(void **state) {
    (void)state;
    Rng rng = {17};
    for (int i = 0; i < 500000; i++) {
        uint32_t x = (uint32_t)rng_next(&rng);
        if (i % 4 == 0) x = (x & ~0x1fffu) | 0x1000;
        if (i % 7 == 0) x |= 0x7f000000;
        if (i % 11 == 0) x &= 0x80ffffff;
        if ((x & 0x7fffffff) > 0x7f800000) x &= 0xff800000;
        for (Round r = ROUND_NEAREST_EVEN; r <= ROUND_NEAREST_AWAY; r++)
            assert_int_equal(num_tf32(float_of(x), r), tf32_by_bits(x, r));
    }
    assert_int_equal(num_tf32(NAN, ROUND_NEAREST_EVEN), 0x7fffe000);
}

static void ulp_is_the_step_to_the_next_number(void **state) {
    (void)state;
    Rng rng = {19};
    for (int i = 0; i < 100000; i++) {
        double v = fabs(double_of(rng_next(&rng) & 0x7fdfffffffffffff));
        assert_true(num_ulp(v, 52, -1022) == nextafter(v, INFINITY) - v);
        float f = float_of(rng_below(&rng, 0x7f000000));
        double step = (double)nextafterf(f, INFINITY) - (double)f;
        assert_true(num_ulp((double)f, 23, -126) == step);
        assert_true(num_ulp(-(double)f, 23, -126) == step);
    }
    for (uint32_t code = 0; code < 0x7bff; code++) {
        double step = num_f16_decode((uint16_t)(code + 1)) - num_f16_decode((uint16_t)code);
        assert_true(num_ulp(num_f16_decode((uint16_t)code), 10, -14) == step);
    }
    assert_true(num_ulp(1.5, 7, -126) == 0x1p-7);
    assert_true(num_ulp(0, 7, -126) == 0x1p-133);
    assert_true(isinf(num_ulp(-INFINITY, 10, -14)));
    assert_true(isnan(num_ulp(NAN, 10, -14)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_f16),
        cmocka_unit_test(every_bf16),
        cmocka_unit_test(every_e4m3),
        cmocka_unit_test(scales),
        cmocka_unit_test(small_types),
        cmocka_unit_test(every_e5m2),
        cmocka_unit_test(f16_agrees_with_the_compiler),
        cmocka_unit_test(f32_agrees_with_the_processor),
        cmocka_unit_test(f32_ties_away),
        cmocka_unit_test(tf32_in_every_mode),
        cmocka_unit_test(ulp_is_the_step_to_the_next_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
