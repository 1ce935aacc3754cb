/* Bank conflicts of the boxes of the `permute` skeleton.  */
#include "rprogram/internal.h"

/* Every request of a box is looked at while there are no more than EXACT of a kind; of more, EXACT
 * that are evenly spread stand for all.  */
enum { EXACT = 64, FEW = 4 };

typedef struct {
    const Problem *p;
    const RProg *r;
    int source, bytes;
    int32_t step[PERMUTE_AXES];           /* of the part in shared memory */
    int64_t row, part, points;
} Part;

static Part part_of(const Problem *p, const RProg *r, int source) {
    Part x = {.p = p, .r = r, .source = source, .bytes = p->permute.source[source].bytes};
    rprog_permute_steps(p, r, source, x.step);
    x.row = rprog_permute_row(p, r, source);
    x.part = rprog_permute_part(p, r, source);
    x.points = rprog_permute_points(p, r);
    return x;
}

static int32_t byte_of(const Part *x, int32_t at) {
    return rtile_at(x->r->load[x->source].layout, (int)x->row, x->bytes, (int)(at / x->row),
                    (int)(at % x->row));
}

/* Where element n of the source's order lies in the part, before padding.  */
static int32_t filled_at(const Part *x, int64_t n) {
    const PermuteSource *s = &x->p->permute.source[x->source];
    int32_t at = 0;
    for (int i = 0; i < s->n_order; i++) {
        int tile = x->r->block.extent[s->order[i]];
        at += (int32_t)(n % tile) * x->step[s->order[i]];
        n /= tile;
    }
    return at;
}

/* Where what output n of the box reads lies in the part.  */
static int32_t read_at(const Part *x, int64_t n) {
    int32_t at = 0;
    for (int a = x->p->permute.out.n_digit - 1; a >= 0; a--) {
        int tile = x->r->block.extent[a];
        at += (int32_t)(n % tile) * x->step[a];
        n /= tile;
    }
    return at;
}

/* Wavefronts of request `which`: 32 vectors of `vec` elements, accessed `width` at once at
 * neighbours `lane` of each.  */
static int request(const Part *x, bool fill, int64_t which, int vec, int lane, int width) {
    int32_t addr[WARP] = {0};
    uint32_t active = 0;
    for (int l = 0; l < WARP; l++) {
        int64_t n = (which * WARP + l) * vec + lane;
        if (n >= (fill ? x->part : x->points)) break;
        addr[l] = byte_of(x, fill ? filled_at(x, n) : read_at(x, n));
        active |= 1u << l;
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
