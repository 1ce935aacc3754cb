/* Bank conflicts of the boxes of the `permute` skeleton.  */
#include "rprogram/internal.h"

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
    int64_t part, points;
    Order fill, read;                     /* as the source lies in memory, and as the outputs do */
} Part;

static void add_axis(Order *o, int32_t tile, int32_t step) {
    if (tile == 1) return;
    o->tile[o->n] = tile;
    o->step[o->n++] = step;
}

static Part part_of(const Problem *p, const RProg *r, int source) {
    const PermuteSource *s = &p->permute.source[source];
    Part x = {.p = p, .r = r, .source = source, .bytes = s->bytes};
    int32_t step[PERMUTE_AXES];
    rprog_permute_steps(p, r, source, step);
    x.row = (int32_t)rprog_permute_row(p, r, source);
    x.part = rprog_permute_part(p, r, source);
    x.points = rprog_permute_points(p, r);
    for (int i = 0; i < s->n_order; i++)
        add_axis(&x.fill, r->block.extent[s->order[i]], step[s->order[i]]);
    for (int a = p->permute.out.n_digit - 1; a >= 0; a--)
        add_axis(&x.read, r->block.extent[a], step[a]);
    return x;
}

static int32_t byte_of(const Part *x, int32_t at) {
    return rtile_at(x->r->load[x->source].layout, x->row, x->bytes, at / x->row, at % x->row);
}

/* Sets `digit` to the place of element n; returns where that lies in the part, before padding.  */
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

/* Wavefronts of request `which`: 32 vectors of `vec` elements, accessed `width` at once at
 * neighbours `lane` of each.  */
static int request(const Part *x, bool fill, int64_t which, int vec, int lane, int width) {
    const Order *o = fill ? &x->fill : &x->read;
    int32_t addr[WARP] = {0}, digit[PERMUTE_AXES];
    int64_t first = which * WARP * vec + lane, all = fill ? x->part : x->points;
    int32_t at = place_of(o, first, digit);
    uint32_t active = 0;
    for (int l = 0; l < WARP && first + (int64_t)l * vec < all; l++) {
        addr[l] = byte_of(x, at);
        active |= 1u << l;
        at = advance(o, at, vec, digit);
    }
    return active ? rtile_wavefronts(addr, active, width * x->bytes) : 0;
}

static double requests(const Part *x, bool fill, int most) {
    int vec = fill ? x->r->load[x->source].vec : x->r->store_vec;
    int width = fill ? 1 : rprog_permute_width(x->p, x->r, x->source);
    int64_t n = ceil_div(fill ? x->part : x->points, (int64_t)vec * WARP);
    int64_t vectors = most * (int64_t)width / vec;
    if (vectors < 1) vectors = 1;
    int64_t looked = n < vectors ? n : vectors, sum = 0;
    for (int64_t i = 0; i < looked; i++) {
        for (int lane = 0; lane < vec; lane += width)
            sum += request(x, fill, i * n / looked, vec, lane, width);
    }
    return (double)sum * (double)n / (double)looked;
}

double rprog_permute_stores(const Problem *p, const RProg *r, int source) {
    Part x = part_of(p, r, source);
    return requests(&x, true, EXACT);
}

double rprog_permute_loads(const Problem *p, const RProg *r, int source) {
    Part x = part_of(p, r, source);
    return requests(&x, false, EXACT);
}

/* Takes the layout if it is better than the best so far.  */
static void try(const Problem *p, RProg *r, int source, RLayout layout, RLayout *best,
                double *least) {
    const PermuteSource *s = &p->permute.source[source];
    int64_t row = rprog_permute_row(p, r, source), all = rprog_permute_part(p, r, source);
    int64_t line = (int64_t)PIECE_MAX / s->bytes << (layout.base + layout.bits);
    int width = rprog_permute_width(p, r, source);
    if (layout.pad % width || (layout.pad && row % width)) return;
    if (layout.bits && (row % line || all % row)) return;
    r->load[source].layout = layout;
    Part x = part_of(p, r, source);
    double n = requests(&x, true, FEW) + requests(&x, false, FEW);
    if (*least >= 0 && n >= *least) return;
    *least = n;
    *best = layout;
}

void rprog_permute_layout(const Problem *p, RProg *r, int source) {
    static const int pad[] = {4, 8, 16, 32, 48, 64, 80};
    RLayout best = {0};
    double least = -1, ideal;
    int bytes = p->permute.source[source].bytes;
    int64_t stores = ceil_div(rprog_permute_part(p, r, source), WARP);
    int64_t loads = rprog_permute_points(p, r) * bytes / 128;
    ideal = (double)(stores * (bytes > 4 ? bytes / 4 : 1) + loads);
    try(p, r, source, best, &best, &least);
    for (int bits = 1; bits <= 3; bits++) {
        for (int shift = 0; shift <= 4 && least > ideal; shift++)
            try(p, r, source, (RLayout){.bits = (uint8_t)bits, .shift = (uint8_t)shift}, &best,
                &least);
    }
    for (size_t i = 0; i < sizeof pad / sizeof *pad && least > ideal; i++) {
        if (pad[i] % bytes == 0)
            try(p, r, source, (RLayout){.pad = (int16_t)(pad[i] / bytes)}, &best, &least);
    }
    r->load[source].layout = best;
}
