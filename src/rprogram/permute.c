/* The `permute` skeleton: boxes of points whose inputs are read as they lie in memory, and whose
 * outputs are written as theirs do; shared memory turns one order into the other.  */
#include "rprogram/skeleton.h"

enum { POINTS_MIN = 256, POINTS_MAX = 16384, ROUNDS_MAX = 16,
       LOADED_MAX = 128 /* bytes of a source that a thread has under way */ };

static int axes_of(const Problem *p) { return p->permute.out.n_digit; }

static int64_t extent_of(const Problem *p, int axis) { return p->permute.out.digit[axis].extent; }

/* Does a box reach from end to end of the axis at all sizes?  */
static bool is_whole(const Problem *p, const RProg *r, int axis) {
    return !p->permute.varies[axis] && r->block.extent[axis] == extent_of(p, axis);
}

static bool is_one(const Problem *p, int axis) {
    return !p->permute.varies[axis] && extent_of(p, axis) == 1;
}

static void rooms(RoomWalk *w) {
    if (rprog_permute_points(w->p, w->r) > POINTS_MAX) w->end = INT32_MAX;
    for (int i = 0; i < w->p->permute.n_source && w->end < INT32_MAX; i++) {
        int bytes = w->p->permute.source[i].bytes;
        Room x = layout_one(ROOM_BOX, i, w->end, rprog_permute_elements(w->p, w->r, i) * bytes);
        x.bytes = ceil_div(x.bytes, RTILE_ACCESS) * RTILE_ACCESS;
        x.row = rprog_permute_row(w->p, w->r, i) * bytes;
        layout_room(w, x);
    }
}

/* Axis i of the source's order, innermost first; of the outputs' for source < 0; -1 at the end.  */
static int inner_axis(const Problem *p, int source, int i) {
    const PermuteView *v = &p->permute;
    if (source < 0) return i < axes_of(p) ? axes_of(p) - 1 - i : -1;
    return i < v->source[source].n_order ? v->source[source].order[i] : -1;
}

/* Walks from the innermost axis out as long as the box is one run in memory.  `divides`: is the
 * run, and what ragged boxes have of it, a multiple of vec, and what lies inside of an axis that is
 * tested, since a vector is read or left out as a whole?  */
static int64_t run_of(const Problem *p, const RProg *r, int source, int vec, bool *divides) {
    int64_t run = 1, axis;
    *divides = true;
    for (int i = 0; (axis = inner_axis(p, source, i)) >= 0; i++) {
        const PermuteSource *x = source < 0 ? NULL : &p->permute.source[source];
        bool together = !x || (x->stride[axis] == run && !x->varies[axis]);
        bool whole = is_whole(p, r, (int)axis);
        if (is_one(p, (int)axis)) continue;
        if (!together) break;
        if (x && access_tests(p->te, &x->access, p->permute.moving[axis]))
            *divides &= run % vec == 0;
        if (!whole) *divides &= run * p->permute.divisor[axis] % vec == 0;
        run *= r->block.extent[axis];
        if (!whole) break;
    }
    *divides &= run % vec == 0;
    return run;
}

int64_t rprog_permute_run(const Problem *p, const RProg *r, int source) {
    bool divides;
    return run_of(p, r, source, 1, &divides);
}

/* Do the source's vectors begin at multiples of their width wherever the box lies?  */
static bool reads_fit(const Problem *p, const RProg *r, int source) {
    const PermuteSource *x = &p->permute.source[source];
    int vec = r->load[source].vec;
    bool divides;
    int64_t run = run_of(p, r, source, vec, &divides);
    if (!power_of_two(vec) || vec > x->vec || !divides || x->access.c_divisor % vec) return false;
    for (int i = 0; i < x->n_order; i++) {
        int axis = x->order[i];
        int64_t tile = r->block.extent[axis];
        bool inside = x->stride[axis] < run && !x->varies[axis], moves = !is_whole(p, r, axis);
        if (!inside && x->divisor[axis] % vec) return false;
        if (inside && moves && x->stride[axis] * tile % vec) return false;
    }
    return true;
}

/* The vector of outputs reads neighbours of every part.  */
static bool stores_fit(const Problem *p, const RProg *r) {
    bool divides;
    if (!power_of_two(r->store_vec) || r->store_vec > p->out_vec) return false;
    run_of(p, r, -1, r->store_vec, &divides);
    for (int i = 0; i < p->permute.n_source; i++) {
        int64_t together = 1;
        for (int a = axes_of(p) - 1; a >= 0; a--) {
            if (!is_one(p, a) && !p->permute.source[i].stride[a]) break;
            together *= r->block.extent[a];
        }
        divides &= together % r->store_vec == 0;
    }
    return divides;
}

static bool layout_fits(const Problem *p, const RProg *r, int source) {
    const RLayout *l = &r->load[source].layout;
    int bytes = p->permute.source[source].bytes;
    int64_t row = rprog_permute_row(p, r, source), all = rprog_permute_elements(p, r, source);
    int64_t line = (int64_t)RTILE_ACCESS / bytes << (l->base + l->bits);
    return !l->pad && (!l->bits || (row % line == 0 && all % row == 0));
}

static int64_t registers(const Problem *p, const Device *dev, const RProg *r) {
    (void)dev;
    enum { FIXED = 32 };      /* fitted as those of contract_registers */
    int64_t loaded = 0, out = 0;
    for (int i = 0; i < p->permute.n_source; i++) {
        const PermuteSource *x = &p->permute.source[i];
        int64_t vectors = ceil_div(rprog_permute_elements(p, r, i),
                                   (int64_t)r->load[i].vec * r->threads);
        loaded += vectors * ceil_div((int64_t)r->load[i].vec * x->bytes, 4);
        out += r->store_vec;
    }
    int64_t words = te_dtype_bytes(p->type) > 4 ? 2 : 1;
    return FIXED + (loaded > out * words ? loaded : out * words) + words * r->store_vec;
}

static const char *check_rounds(const Problem *p, const RProg *r) {
    for (int i = 0; i < p->permute.n_source; i++) {
        int64_t vectors = ceil_div(rprog_permute_elements(p, r, i),
                                   (int64_t)r->load[i].vec * r->threads);
        if (vectors * r->load[i].vec * p->permute.source[i].bytes > LOADED_MAX)
            return "a thread reads more than 128 bytes of a source at once";
    }
    return NULL;
}

static const char *check(const Problem *p, const Device *dev, const RProg *r) {
    const PermuteView *v = &p->permute;
    if (!v->fits) return "the statement changes no layout";
    if (!rprog_whole_warps(dev, r->threads)) return rprog_no_whole_warps;
    for (int a = 0; a < RT_AXES; a++) {
        if (r->block.extent[a] > (a < axes_of(p) ? extent_of(p, a) : 1))
            return "the box is larger than the domain";
        if (r->thread.extent[a] != 1 || r->warp.extent[a] != 1)
            return "a permute program tiles its box only";
    }
    if (rprog_permute_points(p, r) > POINTS_MAX) return "the box is too large";
    if (!stores_fit(p, r)) return "store_vec does not divide what boxes have of the outputs' runs";
    for (int i = 0; i < v->n_source; i++) {
        if (!reads_fit(p, r, i))
            return "a read is wider than the contiguous aligned run of its source";
        if (!layout_fits(p, r, i))
            return "rows in shared memory cannot be laid out so";
    }
    if (r->split != 1) return "a permute program has no split";
    const char *why = skeleton_grid_check(&rprog_permute, p, dev, r, 1);
    return why ? why : check_rounds(p, r);
}

static int64_t threads(const Device *dev, RProg *r) {
    (void)dev;
    return r->threads;
}

static void map(const Problem *p, const RProg *r, int64_t span, IndexMap *m) {
    const PermuteView *v = &p->permute;
    (void)span;
    for (int a = 0; a < v->out.n_digit; a++) {
        const AxisDigit *d = &v->out.digit[a];
        index_add_dealt(m, (IndexAxis){v->out.index + d->first, d->n, d->extent, v->divisor[a],
                                       r->block.extent[a]});
    }
}

/* ---- candidates ---- */

typedef struct {
    Keeper *kept;
    RTile *seen;              /* boxes so far */
    int n_seen;
    size_t cap_seen;
} Boxes;

static void with_threads(Keeper *b, RProg r) {
    int64_t vectors = rprog_permute_points(b->p, &r) / r.store_vec;
    enum { LEAST = 2 * WARP, MOST = 512 };            /* as in window.c */
    for (int threads = LEAST; threads <= MOST; threads *= 2) {
        r.threads = (int16_t)threads;
        if (threads > LEAST && vectors < threads) break;
        if (vectors > (int64_t)ROUNDS_MAX * threads) continue;
        rprog_keep(b, r);
    }
}

/* The widest accesses that fit, and up to two halvings of them: narrow ones may have fewer
 * conflicts.  */
static void with_vectors(Keeper *b, RProg r) {
    enum { HALVINGS = 3, LEAST = 4 };     /* widths of stores; part of the widest load */
    const PermuteView *v = &b->p->permute;
    BoxTried tried;
    int stores = 0;
    rprog_permute_begin(&tried);
    for (int store = b->p->out_vec; store >= 1 && stores < HALVINGS; store /= 2) {
        r.store_vec = (uint8_t)store;
        if (!stores_fit(b->p, &r)) continue;
        stores++;
        for (int halved = 1, widest = 1; halved <= LEAST && widest; halved *= 2) {
            widest = 0;
            for (int i = 0; i < v->n_source; i++) {
                int vec = v->source[i].vec;
                for (;; vec /= 2) {
                    r.load[i].vec = (uint8_t)vec;
                    if (vec == 1 || reads_fit(b->p, &r, i)) break;
                }
                vec = vec > halved ? vec / halved : 1;
                widest |= vec > 1;
                r.load[i].vec = (uint8_t)vec;
                rprog_permute_layout(b->p, &r, i, &tried);
            }
            with_threads(b, r);
        }
    }
}

static int32_t grown(int64_t extent, int64_t wanted, bool even) {
    enum { STEP = 4 };        /* elements: vectors of even parts are aligned */
    if (wanted >= extent) return (int32_t)extent;
    if (!even) return (int32_t)wanted;
    int64_t parts = ceil_div(extent, wanted), size = ceil_div(extent, parts);
    size = ceil_div(size, STEP) * STEP;
    return (int32_t)(size < extent ? size : extent);
}

/* Extends the box until runs of the source (the outputs, if it is negative) have `wanted`
 * elements, in even parts of their axis or as wanted.  */
static void grow(const Problem *p, RTile *t, int source, int64_t wanted, bool even) {
    int axis;
    for (int i = 0; wanted > 1 && (axis = inner_axis(p, source, i)) >= 0; i++) {
        int32_t size = grown(extent_of(p, axis), wanted, even);
        if (size > t->extent[axis]) t->extent[axis] = size;
        if (t->extent[axis] < extent_of(p, axis)) break;
        wanted = ceil_div(wanted, extent_of(p, axis));
    }
}

static bool is_new(Boxes *b, const RTile *t) {
    for (int i = 0; i < b->n_seen; i++) {
        bool same = true;
        for (int a = 0; a < RT_AXES; a++) same &= b->seen[i].extent[a] == t->extent[a];
        if (same) return false;
    }
    b->seen = arena_grow(b->kept->arena, b->seen, &b->cap_seen, (size_t)b->n_seen + 1, sizeof *t);
    b->seen[b->n_seen++] = *t;
    return true;
}

static void candidates(Keeper *k) {
    enum { LEAST = 16, MOST = 4096, FAR = 512 };      /* elements of a run in outputs, in sources */
    const Problem *p = k->p;
    const PermuteView *v = &p->permute;
    Boxes b = {.kept = k};
    RProg r = rprog_base(SK_PERMUTE);
    if (!v->fits || v->out.extent < 1 || rprog_units(p, k->dev, &r.unit, 1) < 1) return;
    for (int64_t out = LEAST; out <= MOST; out *= 2) {
        for (int64_t in = LEAST; in <= FAR; in *= 2) {
            for (int even = 0; even < 2; even++) {
                for (int axis = 0; axis < RT_AXES; axis++) r.block.extent[axis] = 1;
                grow(p, &r.block, -1, out, even);
                for (int i = 0; i < v->n_source; i++) grow(p, &r.block, i, in, even);
                int64_t points = rprog_permute_points(p, &r);
                bool whole = points == v->out.extent;
                if (points > POINTS_MAX || (points < POINTS_MIN && !whole)) continue;
                if (is_new(&b, &r.block)) with_vectors(k, r);
            }
        }
    }
}

const SkeletonRow rprog_permute = {
    .keys = 1 << KEY_BOX | 1 << KEY_THREADS | 1 << KEY_READ_A | 1 << KEY_READ_B,
    .box = true,
    .takes = skeleton_takes_views,
    .candidates = candidates,
    .check = check,
    .threads = threads,
    .registers = registers,
    .rooms = rooms,
    .map = map,
};
