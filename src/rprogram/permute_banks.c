/* Bank conflicts of the boxes of the `permute` skeleton.  */
#include "rprogram/internal.h"

#include <math.h>

/* Every request of a box is looked at while there are no more than EXACT of a kind; of more, EXACT
 * that are evenly spread stand for all.  */
enum { EXACT = 64, FEW = 4 };

/* Elements of a box one after the other: the extents of the axes that have more than one element,
 * innermost first, and how far a step along each goes in the part.  */
typedef struct {
    int n;
    int32_t tile[PERMUTE_AXES], step[PERMUTE_AXES];
} Order;

typedef struct {
    const Problem *p;
    const RProg *r;
    int source, bytes;
    int32_t row;                          /* elements of a row in shared memory */
    int64_t elements, points;
    Order fill, read;                     /* as the source lies in memory, and as the outputs do */
} Tile;

static void add_axis(Order *o, int32_t tile, int32_t step) {
    if (tile == 1) return;
    o->tile[o->n] = tile;
    o->step[o->n++] = step;
}

static Tile tile_of(const Problem *p, const RProg *r, int source) {
    const PermuteSource *s = &p->permute.source[source];
    Tile x = {.p = p, .r = r, .source = source, .bytes = s->bytes};
    int32_t step[PERMUTE_AXES];
    rprog_permute_steps(p, r, source, step);
    x.row = (int32_t)rprog_permute_row(p, r, source);
    x.elements = rprog_permute_elements(p, r, source);
    x.points = rprog_permute_points(p, r);
    for (int i = 0; i < s->n_order; i++)
        add_axis(&x.fill, r->block.extent[s->order[i]], step[s->order[i]]);
    for (int a = p->permute.out.n_digit - 1; a >= 0; a--)
        add_axis(&x.read, r->block.extent[a], step[a]);
    return x;
}

/* Sets `digit` to the place of element n; returns where that lies in the part, without swizzle.  */
static int32_t place_of(const Order *o, int64_t n, int32_t *digit) {
    int32_t at = 0;
    for (int i = 0; i < o->n; i++) {
        digit[i] = (int32_t)(n % o->tile[i]);
        at += digit[i] * o->step[i];
        n /= o->tile[i];
    }
    return at;
}

/* The place `by` elements further.  */
static int32_t advance(const Order *o, int32_t at, int32_t by, int32_t *digit) {
    for (int i = 0; i < o->n && by > 0; i++) {
        int32_t to = digit[i] + by, before = digit[i];
        by = 0;
        for (; to >= o->tile[i]; to -= o->tile[i]) by++;
        digit[i] = to;
        at += (to - before) * o->step[i];
    }
    return at;
}

/* Which elements the lanes of a request access: row and place in it.  */
typedef struct {
    int n;                                /* lanes */
    int32_t row[WARP], at[WARP];
} Lanes;

/* The requests of a kind that are looked at: of vectors of `vec` elements, accessed `width` at
 * once.  */
typedef struct {
    int vec, width;
    int64_t n, looked;
} Kind;

static Kind kind_of(const Tile *x, bool fill, int most) {
    Kind k = {.vec = fill ? x->r->load[x->source].vec : x->r->store_vec,
              .width = fill ? 1 : rprog_permute_width(x->p, x->r, x->source)};
    k.n = ceil_div(fill ? x->elements : x->points, (int64_t)k.vec * WARP);
    int64_t vectors = most * (int64_t)k.width / k.vec;
    if (vectors < 1) vectors = 1;
    k.looked = k.n < vectors ? k.n : vectors;
    return k;
}

/* Request `which`: 32 vectors, accessed at neighbours `lane` of each.  */
static void lanes_of(const Tile *x, bool fill, const Kind *k, int64_t which, int lane,
                     Lanes *out) {
    const Order *o = fill ? &x->fill : &x->read;
    int32_t digit[PERMUTE_AXES];
    int64_t first = which * WARP * k->vec + lane, all = fill ? x->elements : x->points;
    int32_t at = place_of(o, first, digit);
    for (out->n = 0; out->n < WARP && first + (int64_t)out->n * k->vec < all; out->n++) {
        out->row[out->n] = at / x->row;
        out->at[out->n] = at % x->row;
        at = advance(o, at, k->vec, digit);
    }
}

static int wavefronts(const Tile *x, const Lanes *l, RLayout layout, int width) {
    int32_t addr[WARP] = {0};
    uint32_t active = l->n < WARP ? (1u << l->n) - 1 : UINT32_MAX;
    for (int i = 0; i < l->n; i++)
        addr[i] = rtile_at(layout, x->row, x->bytes, l->row[i], l->at[i]);
    return l->n ? rtile_wavefronts(addr, active, width * x->bytes) : 0;
}

static double requests(const Tile *x, bool fill) {
    Kind k = kind_of(x, fill, EXACT);
    Lanes l;
    int64_t sum = 0;
    for (int64_t i = 0; i < k.looked; i++) {
        for (int lane = 0; lane < k.vec; lane += k.width) {
            lanes_of(x, fill, &k, i * k.n / k.looked, lane, &l);
            sum += wavefronts(x, &l, x->r->load[x->source].layout, k.width);
        }
    }
    return (double)sum * (double)k.n / (double)k.looked;
}

double rprog_permute_stores(const Problem *p, const RProg *r, int source) {
    Tile x = tile_of(p, r, source);
    return requests(&x, true);
}

double rprog_permute_loads(const Problem *p, const RProg *r, int source) {
    Tile x = tile_of(p, r, source);
    return requests(&x, false);
}

/* What layouts are tried on: a few requests of a kind, looked at when they are needed.  */
enum { TRIED = 16 };
typedef struct {
    Kind kind;
    int n;                                /* 0: not yet */
    double *known;                        /* of each layout */
    Lanes lanes[TRIED];
} Sample;

/* The best layout so far, and what it takes.  */
typedef struct {
    Tile tile;
    Sample fill, read;
    RLayout best;
    double least;
} Search;

static void take_sample(const Tile *x, bool fill, Sample *s) {
    for (int64_t i = 0; i < s->kind.looked; i++) {
        for (int lane = 0; lane < s->kind.vec && s->n < TRIED; lane += s->kind.width)
            lanes_of(x, fill, &s->kind, i * s->kind.n / s->kind.looked, lane, &s->lanes[s->n++]);
    }
}

/* Wavefronts of all requests of the kind, under layout number `which`.  */
static double sampled(const Tile *x, bool fill, Sample *s, RLayout layout, int which) {
    int64_t sum = 0;
    if (s->known[which] >= 0) return s->known[which];
    if (s->n == 0) take_sample(x, fill, s);
    for (int i = 0; i < s->n; i++) sum += wavefronts(x, &s->lanes[i], layout, s->kind.width);
    s->known[which] = (double)sum * (double)s->kind.n / (double)s->kind.looked;
    return s->known[which];
}

/* Takes the layout if it is better than the best so far.  */
static void try(Search *s, RLayout layout, int which) {
    int64_t row = s->tile.row, line = (int64_t)RTILE_ACCESS / s->tile.bytes
                                      << (layout.base + layout.bits);
    if (layout.bits && (row % line || s->tile.elements % row)) return;
    double n = sampled(&s->tile, true, &s->fill, layout, which);
    if (n < s->least) n += sampled(&s->tile, false, &s->read, layout, which);
    if (n >= s->least) return;
    s->least = n;
    s->best = layout;
}

void rprog_permute_begin(BoxTried *tried) {
    for (int i = 0; i < PERMUTE_SOURCES; i++) {
        for (int w = 0; w < BOX_WIDTHS; w++) {
            for (int k = 0; k < BOX_LAYOUTS; k++) tried->fill[i][w][k] = tried->read[i][w][k] = -1;
        }
    }
}

static int power_of(int vec) {
    int n = 0;
    while (1 << n < vec && n < BOX_WIDTHS - 1) n++;
    return n;
}

void rprog_permute_layout(const Problem *p, RProg *r, int source, BoxTried *tried) {
    enum { SHIFTS = 5 };      /* row bits that a swizzle may begin at */
    Search s;
    s.tile = tile_of(p, r, source);
    s.fill.kind = kind_of(&s.tile, true, FEW);
    s.read.kind = kind_of(&s.tile, false, FEW);
    s.fill.known = tried->fill[source][power_of(s.fill.kind.vec)];
    s.read.known = tried->read[source][power_of(s.read.kind.vec)];
    s.fill.n = s.read.n = 0;
    s.best = (RLayout){0};
    s.least = INFINITY;
    enum { LINE = 128 };      /* bytes of a wavefront */
    int bytes = s.tile.bytes, which = 0;
    int64_t stores = ceil_div(s.tile.elements, WARP), loads = s.tile.points * bytes / LINE;
    double ideal = (double)(stores * (bytes > 4 ? bytes / 4 : 1) + loads);
    try(&s, (RLayout){0}, which++);
    for (int bits = 1; bits <= 3; bits++) {
        for (int shift = 0; shift < SHIFTS; shift++, which++) {
            RLayout layout = {.bits = (uint8_t)bits, .shift = (uint8_t)shift};
            if (s.least > ideal) try(&s, layout, which);
        }
    }
    r->load[source].layout = s.best;
}
