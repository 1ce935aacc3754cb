/* links: te */
#include "te_adverse.h"

#include "base/hash.h"
#include "te_fixture.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

/* ---- data ---- */

static double usual_real(Rng *r) { return (double)((int)rng_below(r, 9) - 4); }

static double odd_real(Rng *r) {
    static const double odd[] = {
        0.0,      -0.0,      INFINITY,  -INFINITY, NAN,      1.0,       -1.0,        0.5,
        1e-45,    -1e-45,    0x1p-126,  -0x1p-126, FLT_MAX,  -FLT_MAX,  0x1p64,      0x1p-64,
        0x1p-24,  65504,     65520,     448,       57344,    0x1p-149,  1 + 0x1p-23, 3.5,
        1 + 0x1p-11 + 0x1p-40,           1 + 0x1p-24 + 0x1p-50,            1 + 0x1p-8 + 0x1p-30,
        DBL_MAX,  -DBL_MAX,  0x1p-1074, 0x1p-1022, 16777217, -16777215, 0x1p31,      -0x1p63};
    return odd[rng_below(r, sizeof odd / sizeof *odd)];
}

static int64_t odd_integer(Rng *r) {
    static const int64_t odd[] = {0, 1, -1, 2, 127, -128, 255, 32767, -32768, INT32_MAX, INT32_MIN,
                                  INT64_MAX, INT64_MIN, 65536, -65536, 46341, 1 << 30, 3};
    return odd[rng_below(r, sizeof odd / sizeof *odd)];
}

/* One value in `rarity` is unusual; zeros: half of the others are zeros of both signs.  */
typedef struct {
    uint32_t rarity;
    bool zeros;
} Mix;

static TeValue draw(Rng *r, const Mix *m) {
    bool odd = m->rarity && rng_below(r, m->rarity) == 0;
    TeValue v = {.v = odd ? odd_real(r) : usual_real(r),
                 .i = odd ? odd_integer(r) : (int64_t)rng_below(r, 9) - 4};
    if (!odd && m->zeros && rng_below(r, 2)) {
        v.v = rng_below(r, 2) ? 0.0 : -0.0;
        v.i = 0;
    }
    return v;
}

TeData *adverse_inputs(Arena *a, const Te *te, uint64_t seed) {
    static const uint32_t rarity[] = {1, 2, 4, 16, 64, 0};
    TeData *in = ARENA_ARRAY(a, TeData, te->n_in + 1);
    Rng r = {seed};
    for (int t = 0; t < te->n_in; t++) {
        const TeTensor *x = &te->tensor[t];
        size_t bytes = te_tensor_bytes(x), each = (size_t)te_dtype_bytes(x->dtype);
        Mix m = {rarity[rng_below(&r, sizeof rarity / sizeof *rarity)], rng_below(&r, 2)};
        in[t] = (TeData){arena_alloc(a, bytes + each), bytes};
        for (size_t at = 0; at + each <= bytes; at += each) {
            TeValue v = draw(&r, &m);
            te_store(x->dtype, &v, (char *)in[t].data + at);
        }
    }
    return in;
}

/* ---- comparison ---- */

/* As it is stored.  */
static double rounded(TeDtype t, double v) {
    uint64_t element;
    te_store(t, &(TeValue){.v = v}, &element);
    return te_load(t, &element).v;
}

/* Steps may be open that the op as written does not have, as sums of parts next to the largest
 * number are: then the values that they have all the same are compared.  The 0 that a sum has over
 * nothing is +0 for all who sum.  */
static bool agrees(TeDtype t, const TeValue *x, const TeValue *y) {
    if (x->undecided) return true;
    if (te_dtype_class(t) != TE_CLASS_REAL) return x->i == y->i;
    double v = rounded(t, x->v), w = rounded(t, y->v);    /* not NaN where the type has none */
    if (isnan(v) || isnan(w)) return isnan(v) && isnan(w);
    if (x->bound > 0 || y->bound > 0)
        return rounded(t, x->v - x->bound) <= rounded(t, y->v + y->bound) &&
               rounded(t, y->v - y->bound) <= rounded(t, x->v + x->bound);
    if (v != 0 || w != 0 || x->any_zero) return v == w;
    if (y->any_zero) return !signbit(v);
    return !signbit(v) == !signbit(w);
}

/* Per place in memory the number of the element that lies there; -1: none does.  */
static int64_t *elements(Arena *a, const TeTensor *t) {
    size_t n = te_tensor_bytes(t) / (size_t)te_dtype_bytes(t->dtype);
    int64_t *number = ARENA_ARRAY(a, int64_t, n + 1), at[TE_MAX_RANK];
    for (size_t i = 0; i < n; i++) number[i] = -1;
    for (int64_t i = 0; i < te_tensor_count(t); i++) {
        fixture_point(t, i, at);
        number[te_tensor_offset(t, at)] = i;
    }
    return number;
}

/* Where element i of an output of the other op is in the op's own; -1: nowhere.  */
static int64_t own_place(const TeTensor *t, int64_t i, const int64_t *number) {
    int64_t at[TE_MAX_RANK];
    fixture_point(t, i, at);
    return te_tensor_has(t, at) ? number[te_tensor_offset(t, at)] : -1;
}

static const char *show(Arena *a, const TeValue *v) {
    return arena_printf(a, "%.17g (%lld)%s%s within %g", v->v, (long long)v->i,
                        v->undecided ? " undecided" : "", v->any_zero ? " any zero" : "", v->bound);
}

const char *adverse_difference(Arena *a, const Te *te, const Te *other, const TeData *in) {
    for (int t = te->n_in; t < te->n_in + te->n_out; t++) {
        TeValue *x = fixture_values(a, te, in, t), *y = fixture_values(a, other, in, t);
        int64_t n = te_tensor_count(&other->tensor[t]), seen = 0;
        const int64_t *number = elements(a, &te->tensor[t]);
        for (int64_t i = 0; i < n; i++) {
            int64_t k = own_place(&other->tensor[t], i, number);
            seen += k >= 0;
            if (k >= 0 && !agrees(te->tensor[t].dtype, &x[k], &y[i]))
                return arena_printf(a, "%s[%lld]: %s as written, %s rewritten", te->tensor[t].name,
                                    (long long)k, show(a, &x[k]), show(a, &y[i]));
        }
        if (seen != te_tensor_count(&te->tensor[t])) return "elements are missing";
    }
    return NULL;
}
