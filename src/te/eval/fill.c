/* Inputs of a check: what the elements of each data set are.
 *
 * A page's elements follow from the seed, the tensor and the page's number alone, so that pages can
 * be made in any order, and none that nobody reads.  */
#include "te/eval/fill.h"
#include "te/access/access.h"
#include "te/access/span.h"
#include "base/hash.h"
#include <math.h>
#include <string.h>

/* Of the extreme data: a line's stretches of up to so many elements are ordinary or have something
 * special in them, no more than one of so many.  EDGE: how near to an end of its line a peak
 * is.  */
enum { STRETCH = 256, RAREST = 4, EDGE = 16 };

/* ---- Index tensors ---- */

/* The smallest dimension that a subscript with tensor t in it selects from; 0: none.  */
static int64_t indexed_extent(const Te *te, const TeExpr *e, int t) {
    int64_t least = 0, n;
    for (int i = 0; i < e->n_args; i++) {
        bool subscript = e->kind == TE_READ && access_reads_tensor(e->args[i], t);
        n = subscript ? te->tensor[e->v.ref].shape[i].value : indexed_extent(te, e->args[i], t);
        least = n > 0 && (least == 0 || n < least) ? n : least;
    }
    n = e->other ? indexed_extent(te, e->other, t) : 0;
    return n > 0 && (least == 0 || n < least) ? n : least;
}

static int64_t extent_selected(const Te *te, int t) {
    int64_t least = 0;
    for (int i = 0; i < te->n_stmt; i++) {
        int64_t n = indexed_extent(te, te->stmt[i].rhs, t);
        least = n > 0 && (least == 0 || n < least) ? n : least;
    }
    return least;
}

/* Stretches of a tensor's lines that one element of an output depends on.  */
static double stretches_read(const Te *te, int tensor) {
    TeSpan span[TE_MAX_TENSORS];
    memset(span, 0, (size_t)te->n_tensor * sizeof *span);
    for (int t = 0; t < te->n_tensor; t++) te_span_one(&te->tensor[t], &span[t]);
    te_spans(te, NULL, span);
    double n = 1;
    int last = te->tensor[tensor].rank - 1;
    for (int d = 0; d <= last; d++) {
        double along = span[tensor].along[d];
        n *= d < last ? along : fmax(1, along / STRETCH);
    }
    return n;
}

/* ---- Places ---- */

/* The dimensions of extent 2 and more by falling stride.  */
typedef struct {
    int n;
    int64_t shape[TE_MAX_RANK], stride[TE_MAX_RANK];
    bool apart;               /* no two elements share a place */
    int64_t end;              /* places from element 0 to behind the last element */
    int64_t line;             /* elements of a line */
} Places;

static Places places_of(const TeTensor *t) {
    Places p = {.apart = true, .end = 1};
    for (int d = 0; d < t->rank; d++) {
        int64_t shape = t->shape[d].value, stride = t->stride[d].value;
        if (shape == 0) return (Places){.apart = true};
        p.end += (shape - 1) * stride;
        if (shape == 1) continue;
        int k = p.n++;
        for (; k > 0 && p.stride[k - 1] < stride; k--) {
            p.shape[k] = p.shape[k - 1];
            p.stride[k] = p.stride[k - 1];
        }
        p.shape[k] = shape;
        p.stride[k] = stride;
    }
    for (int64_t k = p.n - 1, inner = 0; k >= 0; k--) {
        p.apart = p.apart && p.stride[k] > inner;
        inner += (p.shape[k] - 1) * p.stride[k];
    }
    p.line = p.n == 0 || !p.apart ? p.end : p.shape[p.n - 1];
    return p;
}

/* A line is the elements along the dimension with the least stride.  Where elements share places
 * every place is an element, and all of them are one line.  */
typedef struct {
    int64_t line, at;
    int64_t run;              /* elements in the places from here on; 0: a gap */
} Place;

static Place place_of(const Places *p, int64_t place) {
    if (p->n == 0 || !p->apart) return (Place){0, place, p->end - place};
    Place x = {0};
    int last = p->n - 1;
    for (int k = 0; k <= last; k++) {
        int64_t i = place / p->stride[k];
        if (i >= p->shape[k]) i = p->shape[k] - 1;
        place -= i * p->stride[k];
        if (k < last) x.line = x.line * p->shape[k] + i;
        else x.at = i;
    }
    x.run = place ? 0 : p->stride[last] == 1 ? p->shape[last] - x.at : 1;
    return x;
}

/* ---- Filling ---- */

struct TeSource {
    TeDtype type;             /* of a packed tensor that of its elements */
    bool packed;
    TeFill kind;
    TeRecipe recipe;
    bool real, scalar;
    int64_t extent;           /* of an index tensor; else 0 */
    double special;           /* share of special stretches */
    double density;           /* share of elements that are not 0 */
    uint64_t key;
    Places places;
};

typedef struct {
    const TeSource *s;
    Rng rng;
} Draw;

static uint32_t below(Draw *d, int64_t n) { return rng_below(&d->rng, (uint32_t)n); }

static int64_t small_integer(Draw *d) {
    const TeRecipe *r = &d->s->recipe;
    if (r->no_zero) {
        int64_t v = 1 + (int64_t)below(d, r->most);
        return below(d, 2) ? v : -v;
    }
    if (r->one_in > 1 && below(d, r->one_in) != 0)
        return 0;
    /* At density 1 zero is one of the values; at lower ones it is not drawn twice.  */
    if (r->one_in > 1)
        return below(d, 2) ? 1 : -1;
    return (int64_t)below(d, 2 * r->most + 1) - r->most;
}

static int64_t lowest(TeDtype t) {
    if (te_dtype_unsigned(t)) return 0;
    return t == TE_I64 ? INT64_MIN : -((int64_t)1 << (8 * te_dtype_bytes(t) - 1));
}

static int64_t highest(TeDtype t) {
    return te_dtype_unsigned(t) ? UINT8_MAX : -(lowest(t) + 1);
}

/* Some just outside: -1, the extent, or farther; of extreme data more, and as far as can be.  */
static int64_t index_value(Draw *d) {
    const TeSource *s = d->s;
    bool extreme = s->kind == TE_FILL_EXTREMES;
    int64_t n = s->extent, cap = s->type == TE_I64 && !extreme ? INT32_MAX : highest(s->type);
    if (below(d, extreme ? 4 : 16) == 0) {
        const int64_t far[] = {-1, n, n + 7, lowest(s->type), highest(s->type)};
        int64_t v = far[below(d, extreme ? 5 : 3)];
        return v > cap ? -1 : v;
    }
    n = n - 1 > cap ? cap : n;
    return (int64_t)(rng_next(&d->rng) % (uint64_t)n);
}

/* Of the extremes.  */
static double step_of(const TeSource *s) { return s->type == TE_F64 ? 256 : 32; }

/* Zeros of both signs, and few magnitudes, so that many are equal, of which exp(x) overflows.  */
static double large_real(Draw *d) {
    double v = below(d, 2) ? 0 : step_of(d->s) * (1 + below(d, 6));
    return below(d, 2) ? -v : v;
}

static int64_t large_integer(Draw *d) {
    TeDtype t = d->s->type;
    switch (below(d, 4)) {
    case 0: return (int64_t)rng_next(&d->rng);
    case 1: return below(d, 2) ? lowest(t) : highest(t);
    default: return 0;
    }
}

/* ---- sparse data ---- */

/* The exponent of the largest subnormal.  */
static int lowest_exponent(TeDtype t) {
    switch (t) {
    case TE_F64: return -1023;
    case TE_F16:
    case TE_F8E5M2: return -15;
    case TE_F8E4M3:
    case TE_F8UE4M3: return -7;
    case TE_F6E3M2: return -3;
    case TE_F6E2M3:
    case TE_F4E2M1: return -1;
    default: return -127;
    }
}

/* Half of the bits that a product has in f32 or f64, if the type has them.  */
static double half_full(Draw *d) {
    int bits = te_significand(d->s->type), most = d->s->type == TE_F64 ? 26 : 12;
    return 1 + 2 * (double)below(d, (int64_t)1 << ((bits < most ? bits : most) - 1));
}

static double sparse_real(Draw *d) {
    double v = 0;
    switch (below(d, 8)) {
    case 0:
    case 1:
    case 2: v = half_full(d); break;
    case 3: v = ldexp(half_full(d), -12); break;
    case 4: v = ldexp(rng_normal(&d->rng), lowest_exponent(d->s->type)); break;
    case 5: v = 1; break;
    default: v = rng_normal(&d->rng); break;
    }
    return below(d, 2) ? -v : v;
}

/* A third has all bits; others have 24, which reals keep.  */
static int64_t sparse_integer(Draw *d) {
    int64_t v = (int64_t)rng_next(&d->rng);
    if (te_dtype_bytes(d->s->type) < 4 || below(d, 3) == 0) return v;
    return v % (1 << 24) | 1;
}

static TeValue sparse_value(Draw *d) {
    TeValue v = {0};
    if ((double)below(d, 1 << 30) * 0x1p-30 >= d->s->density) return v;
    if (d->s->real) v.v = sparse_real(d);
    else v.i = sparse_integer(d);
    return v;
}

static TeValue next_value(Draw *d) {
    const TeSource *s = d->s;
    TeValue v = {0};
    if (s->type == TE_BOOL) {
        v.i = below(d, 2);
    } else if (s->extent > 0) {
        v.i = index_value(d);
    } else if (s->scalar && (!s->real || s->kind == TE_FILL_INTEGERS)) {
        v.i = 1 + below(d, 2);
        v.v = (double)v.i;
    } else if (s->scalar) {
        v.v = 0.25 + fabs(rng_normal(&d->rng)) / 2;
    } else if (s->kind == TE_FILL_EXTREMES) {
        if (s->real) v.v = large_real(d);
        else v.i = large_integer(d);
    } else if (s->kind == TE_FILL_SPARSE) {
        v = sparse_value(d);
    } else if (s->real && s->kind == TE_FILL_REALS) {
        v.v = rng_normal(&d->rng);
    } else {
        v.i = small_integer(d);
        if (te_dtype_unsigned(s->type) && v.i < 0)
            v.i = -v.i;
        v.v = (double)v.i;
    }
    return v;
}

/* What a type without a sign, or of powers of two alone, has in place of v.  */
static double unsigned_value(const TeSource *s, double v) {
    if (s->type == TE_F8UE4M3) return fabs(v);
    if (s->type != TE_F8UE8M0 || isnan(v) || isinf(v)) return v;
    if (s->kind == TE_FILL_INTEGERS) return v < 0 ? 2 : 1;
    return v == 0 ? 1 : fabs(v);
}

/* Of a line: some lie far below zero or above it, so that where nothing is read 0 is no more the
 * maximum than -1e30 is.  Each has one peak that exceeds all else by so much that the exponentials
 * of the rest vanish beside its own; often near an end, where vectors and masks end, too.  */
typedef struct {
    double shift;
    int64_t peak;
    TeValue top;
} Line;

static Line line_of(const TeSource *s, int64_t line) {
    const int64_t key[] = {line}, n = s->places.line;
    Draw d = {s, {hash64(key, sizeof key, s->key)}};
    uint32_t kind = below(&d, 8), place = below(&d, 3);
    double step = step_of(s);
    Line x = {.shift = kind == 0 ? -20 * step : kind == 1 ? 20 * step : 0};
    int64_t near = below(&d, n < EDGE ? n : EDGE);
    x.peak = place == 0 ? near : place == 1 ? n - 1 - near
                               : (int64_t)(rng_next(&d.rng) % (uint64_t)n);
    x.top.v = (below(&d, 2) ? -32 : 32) * step;
    x.top.i = x.top.v < 0 ? lowest(s->type) : highest(s->type);
    return x;
}

/* What is special in a stretch: the same value from `first` up to `end`.  */
typedef struct {
    int64_t first, end;
    TeValue value;
} Special;

static Special special_of(const TeSource *s, int64_t line, int64_t stretch) {
    const int64_t key[] = {line, stretch};
    Draw d = {s, {hash64(key, sizeof key, s->key)}};
    int64_t left = s->places.line - stretch * STRETCH, length = left < STRETCH ? left : STRETCH;
    int64_t place = below(&d, length);
    Special x = {0};
    if ((double)below(&d, 1 << 30) * 0x1p-30 >= s->special) return x;
    switch (below(&d, 6)) {
    case 0: x.end = 1; break;
    case 1: x.end = place; break;
    case 2: x.first = place, x.end = STRETCH; break;
    case 3: x.end = STRETCH; break;
    default: x.first = place, x.end = place + 1; break;
    }
    uint32_t kind = below(&d, 4);
    x.value.v = kind == 0 ? (double)NAN : kind == 1 ? (double)INFINITY : -(double)INFINITY;
    x.value.i = kind == 1 ? highest(s->type) : lowest(s->type);
    return x;
}

/* What is special in a line is so in the first elements of its pairs.  */
static void fill_second(Draw *d, uint8_t *pair) {
    TeValue v = next_value(d);
    uint8_t code;
    te_store(d->s->type, &v, &code);
    *pair = (uint8_t)(*pair | code << 4);
}

static void fill_run(Draw *d, Place x, int64_t n, char *to) {
    const TeSource *s = d->s;
    size_t size = (size_t)te_dtype_bytes(s->type);
    bool ordinary = s->kind != TE_FILL_EXTREMES || s->scalar || s->extent || s->type == TE_BOOL;
    Special special = {0};
    Line line = {.peak = -1};
    if (!ordinary) line = line_of(s, x.line);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = (x.at + i) % STRETCH;
        if (!ordinary && (i == 0 || at == 0))
            special = special_of(s, x.line, (x.at + i) / STRETCH);
        TeValue v = next_value(d);
        if (line.shift != 0) v.v += line.shift;
        if (x.at + i == line.peak) v = line.top;
        if (at >= special.first && at < special.end) v = special.value;
        v.v = unsigned_value(s, v.v);
        te_store(s->type, &v, to + (size_t)i * size);
        if (s->packed) fill_second(d, (uint8_t *)to + i);
    }
}

void te_source_make(const TeSource *s, size_t from, size_t bytes, void *to) {
    size_t size = (size_t)te_dtype_bytes(s->type);
    memset(to, 0xff, bytes);               /* gaps between elements: NaN, to be seen if read */
    for (size_t page = from; page < from + bytes; page += TE_PAGE) {
        const uint64_t key[] = {page / TE_PAGE};
        Draw d = {s, {hash64(key, sizeof key, s->key)}};
        int64_t first = (int64_t)(page / size), end = first + (int64_t)(TE_PAGE / size);
        int64_t last = (int64_t)((from + bytes) / size);
        if (last > s->places.end) last = s->places.end;
        if (end > last) end = last;
        for (int64_t at = first; at < end;) {
            Place x = place_of(&s->places, at);
            int64_t n = x.run < end - at ? x.run : end - at;
            if (n) fill_run(&d, x, n, (char *)to + ((size_t)at * size - from));
            at += n ? n : 1;
        }
    }
}

static TeSource source_of(const Te *te, int tensor, TeFill kind, uint64_t seed) {
    const TeTensor *t = &te->tensor[tensor];
    uint64_t key[2] = {seed, (uint64_t)tensor};
    bool packed = te_dtype_packed(t->dtype) != TE_DTYPE_COUNT;
    TeDtype type = packed ? te_dtype_packed(t->dtype) : t->dtype;
    TeSource s = {.type = type, .packed = packed, .kind = kind, .scalar = t->role == TE_VALUE,
                  .real = te_dtype_class(type) == TE_CLASS_REAL, .recipe = te_recipe(te),
                  .key = hash64(key, sizeof key, seed), .places = places_of(t)};
    if (te_dtype_class(type) == TE_CLASS_INT)
        s.extent = extent_selected(te, tensor);
    if (kind == TE_FILL_EXTREMES)
        s.special = 1 / fmax(RAREST, stretches_read(te, tensor));
    if (kind == TE_FILL_SPARSE) s.density = te_density(te, tensor);
    return s;
}

TeSource *te_source(Arena *a, const Te *te, int tensor, TeFill kind, uint64_t seed) {
    TeSource *s = ARENA_NEW(a, TeSource);
    *s = source_of(te, tensor, kind, seed);
    return s;
}

void te_fill(const Te *te, int tensor, TeFill kind, uint64_t seed, TeData out) {
    TeSource s = source_of(te, tensor, kind, seed);
    te_source_make(&s, 0, out.bytes, out.data);
}
