/* The `window` skeleton: a patch of outputs per thread, its inputs sliding through registers, read
 * directly or from a tile with its halo in shared memory.  */
#include "rprogram/skeleton.h"
#include "te/tree/arith.h"

enum { SIDE_MAX = 16, OUTPUTS_MAX = 64, LOADED_MAX = 128 };       /* of a thread, in registers */
enum { BLOCK = 512 };         /* threads: four of such fill an SM, larger ones part it coarsely */

static int64_t lanes_of(const Problem *p) {
    const WindowView *v = &p->window;
    if (v->lane < 0) return 1;
    return p->te->stmt[p->group->root].index[v->lane].hi.value;
}

int64_t rprog_window_patches(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    return v->outer * ceil_div(v->extent_alike, r->thread.extent[AX_K]) *
           ceil_div(v->extent_p, r->thread.extent[AX_M]) *
           ceil_div(v->extent_q, r->thread.extent[AX_N]) *
           ceil_div(lanes_of(p), rprog_window_lanes(p, r));
}

int rprog_window_width(const Problem *p, const RProg *r, int source) {
    const WindowView *v = &p->window;
    const WindowSource *x = &v->source[source];
    int width = v->beside ? 1 : r->vec_n;
    if (!v->along || rprog_window_tiled(r, source)) return width;
    while (width > x->load_vec || r->thread.extent[AX_N] * x->step_n % width) width /= 2;
    return width;
}

int rprog_window_shift(const Problem *p, const RProg *r, int source) {
    if (!p->window.along || rprog_window_tiled(r, source)) return 0;
    int width = rprog_window_width(p, r, source);
    int64_t rest = p->window.source[source].base_n % width;
    return (int)(rest < 0 ? rest + width : rest);
}

int64_t rprog_window_loads(const Problem *p, const RProg *r, int source) {
    const WindowSource *x = &p->window.source[source];
    int64_t span = (r->thread.extent[AX_N] - 1) * x->step_n + (x->extent_s - 1) * x->dil_n + 1;
    if (!p->window.along) return span;
    return ceil_div(span + rprog_window_shift(p, r, source), rprog_window_width(p, r, source));
}

WindowTile rprog_window_tile(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    const WindowSource *x = &v->source[0];
    WindowTile t = {.down = count_along(&r->block, &r->thread, AX_M),
                    .across = count_along(&r->block, &r->thread, AX_N),
                    .planes = count_along(&r->block, &r->thread, AX_K)};
    t.rows = (r->block.extent[AX_M] - 1) * x->step_m + (x->extent_r - 1) * x->dil_m + 1;
    t.columns = (r->block.extent[AX_N] - 1) * x->step_n + (x->extent_s - 1) * x->dil_n + 1;
    /* The last thread's loads may reach beyond what it needs.  */
    int64_t reach = (int64_t)(t.across - 1) * r->thread.extent[AX_N] * x->step_n +
                    rprog_window_loads(p, r, 0) * r->vec_n;
    if (reach > t.columns) t.columns = reach;
    t.pitch = ceil_div(t.columns, r->vec_n) * r->vec_n;
    return t;
}

static int64_t threads_of(const RProg *r) {
    int64_t patches = count_along(&r->block, &r->thread, AX_M);
    if (r->keep != KEEP_SHARED) return patches;
    patches *= count_along(&r->block, &r->thread, AX_N);
    if (patches > INT16_MAX) return INT16_MAX;
    return ceil_div(patches * count_along(&r->block, &r->thread, AX_K), WARP) * WARP;
}

static void rooms(RoomWalk *w) {
    enum { MOST = 1 << 16 };  /* rows: far beyond what shared memory holds; products stay small */
    if (w->r->keep != KEEP_SHARED) return;
    WindowTile t = rprog_window_tile(w->p, w->r);
    Room x = layout_one(ROOM_BOX, 0, 0, INT32_MAX);
    x.row = t.pitch * w->p->window.source[0].value_bytes;
    if (t.rows <= MOST && t.pitch <= MOST) x.bytes = t.planes * t.rows * x.row;
    layout_room(w, x);
}

/* What patches (tiles) of `tile` outputs along an index load of a dimension: `loaded` elements in
 * all, `first` from where their outputs begin, `step` on from output to output.  */
typedef struct {
    int index;                /* -1: none */
    int64_t tile, step, first, loaded;
} Reach;

/* Does it stay inside of the dimension at all sizes?  */
static bool stays_inside(const Problem *p, const Reach *x, const TeExtent *bound) {
    const TeExtent *e = x->index < 0 ? NULL : &p->te->stmt[p->group->root].index[x->index].hi;
    if (bound->expr || (e && e->expr)) return false;
    int64_t last = e ? (ceil_div(e->value, x->tile) - 1) * x->tile * x->step : 0;
    return x->first >= 0 && last + x->first + x->loaded <= bound->value;
}

uint32_t rprog_window_tested(const Problem *p, const RProg *r, int source) {
    const WindowView *v = &p->window;
    const WindowSource *x = &v->source[source];
    const TeTensor *t = &p->te->tensor[x->access.tensor];
    bool tiled = rprog_window_tiled(r, source);
    const RTile *tile = tiled ? &r->block : &r->thread;
    int64_t rows = (tile->extent[AX_M] - 1) * x->step_m + (x->extent_r - 1) * x->dil_m + 1;
    int64_t columns = rprog_window_loads(p, r, source) *
                      (v->along ? rprog_window_width(p, r, source) : 1);
    if (tiled) columns = rprog_window_tile(p, r).columns;
    int64_t first = x->base_n - rprog_window_shift(p, r, source);
    Reach along_n = {v->q, tile->extent[AX_N], x->step_n, first, columns};
    Reach along_m = {v->p, tile->extent[AX_M], x->step_m, x->base_m, rows};
    uint32_t tested = 0;
    for (int d = 0; d < t->rank; d++) {
        bool inside = !x->access.guard[d];
        if (d == x->dim_n) inside = stays_inside(p, &along_n, &t->shape[d]);
        else if (d == x->dim_m) inside = stays_inside(p, &along_m, &t->shape[d]);
        if (!inside) tested |= 1u << d;
    }
    return tested;
}

int64_t rprog_window_rows(const Problem *p, const RProg *r, int source) {
    const WindowSource *x = &p->window.source[source];
    if (r->thread.extent[AX_M] == 1) return x->extent_r;
    return (r->thread.extent[AX_M] - 1) * x->step_m + (x->extent_r - 1) * x->dil_m + 1;
}

/* The element of a source's rows, counted over all of them, that output i, j of the patch needs for
 * a tap; of lanes, their number.  */
static int64_t element_of(const Problem *p, const RProg *r, const WindowTap *tap, int64_t row_size,
                          int i, int j) {
    const WindowSource *x = &p->window.source[tap->source];
    int64_t row = r->thread.extent[AX_M] == 1 ? tap->r : i * x->step_m + tap->r * x->dil_m;
    return row * row_size + rprog_window_shift(p, r, tap->source) + j * x->step_n +
           tap->s * x->dil_n;
}

/* Places that neighbouring outputs need along a dimension: each one's taps without those that it
 * shares with the next output before it whose taps lie at the same places.  */
static int64_t places(int64_t outputs, int64_t step, int64_t taps, int64_t dil) {
    int64_t apart = dil / gcd64(dil, step), moved = apart * step / dil;
    int64_t shared = moved < taps ? taps - moved : 0;
    return outputs * taps - (outputs > apart ? outputs - apart : 0) * shared;
}

/* What a reduction uses; a load of one element that no tap needs is not made.  */
static int64_t used_of_sum(const Problem *p, const RProg *r, bool loads) {
    const WindowSource *x = &p->window.source[0];
    int64_t m = r->thread.extent[AX_M];
    int64_t rows = m == 1 ? x->extent_r : places(m, x->step_m, x->extent_r, x->dil_m);
    if (loads && p->window.along) return rows * rprog_window_loads(p, r, 0);
    return rows * places(r->thread.extent[AX_N], x->step_n, x->extent_s, x->dil_n);
}

/* Loads, or places.  */
static int64_t used(const Problem *p, const RProg *r, int source, bool loads) {
    enum { WORDS = 128, BITS = 64 };      /* a bit for each element that a thread may load */
    const WindowView *v = &p->window;
    int width = v->along ? rprog_window_width(p, r, source) : 1;
    int64_t row_size = rprog_window_loads(p, r, source) * width;
    int64_t all = rprog_window_rows(p, r, source) * row_size, count = 0;
    uint64_t seen[WORDS] = {0};
    int run = loads ? width : 1;
    if (!v->map) return used_of_sum(p, r, loads);
    if (all > WORDS * BITS) return all / run;
    for (int t = 0; t < v->n_tap; t++) {
        if (v->tap[t].source != source) continue;
        for (int i = 0; i < r->thread.extent[AX_M]; i++) {
            for (int j = 0; j < r->thread.extent[AX_N]; j++) {
                int64_t n = element_of(p, r, &v->tap[t], row_size, i, j) / run;
                count += !(seen[n / BITS] >> n % BITS & 1);
                seen[n / BITS] |= UINT64_C(1) << n % BITS;
            }
        }
    }
    return count;
}

int64_t rprog_window_used(const Problem *p, const RProg *r, int source, bool loads) {
    bool several = !loads && !p->window.beside;
    return used(p, r, source, loads) * (several ? rprog_window_lanes(p, r) : 1);
}

/* Multiply-adds (taps) of the body that is unrolled.  */
int64_t rprog_window_body(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    int64_t outputs = rprog_window_outputs(p, r);
    if (v->map) return outputs * v->n_tap;
    return outputs * v->source[0].extent_s *
           (r->thread.extent[AX_M] > 1 ? v->source[0].extent_r : 1);
}

bool rprog_window_unrolls(const Problem *p, const RProg *r) {
    enum { SHORT_BODY = 256 };            /* operations: a few KB of the instruction cache */
    return p->window.map || r->thread.extent[AX_M] > 1 ||
           rprog_window_body(p, r) * p->window.source[0].extent_r <= SHORT_BODY;
}

/* Words of a map's inputs that wait for their outputs: of vectors, what is needed of them.  */
static int64_t words_of_inputs(const Problem *p, const RProg *r) {
    int64_t words = 0;
    for (int k = 0; k < p->window.n_source; k++)
        words += rprog_window_used(p, r, k, false) *
                 hal_words(p->window.source[k].value_bytes);
    return words;
}

static int64_t registers(const Problem *p, const Device *dev, const RProg *r) {
    (void)dev;
    enum { FIXED = 22, TAPS = 32 };       /* fitted to what compiled kernels need */
    const WindowView *v = &p->window;
    const WindowSource *x = &v->source[0];
    int64_t words = hal_words(v->sum_bytes);
    int64_t filters = (int64_t)rprog_window_lanes(p, r) * r->thread.extent[AX_K];
    /* The compiler loads late, or folds early, a part of what all outputs need.  */
    if (v->map) return FIXED + words_of_inputs(p, r) * 3 / 4 + words * 2 * r->store_vec;
    int64_t outputs = rprog_window_outputs(p, r);
    int64_t loaded = rprog_window_loads(p, r, 0) * rprog_window_width(p, r, 0);
    int64_t taps = p->n_reads > 1 ? x->extent_s * x->extent_r * filters : 0;
    /* Narrow elements land before they become values.  */
    int64_t landing = x->bytes < 4 && r->keep != KEEP_SHARED ? (loaded * x->bytes + 3) / 4 : 0;
    return FIXED + landing + words * (outputs + loaded + (taps < TAPS ? taps : TAPS));
}

static const char *check_vector(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    const WindowSource *x = &v->source[0];
    if (!power_of_two(r->vec_n)) return "vec is not a power of two";
    if (r->keep == KEEP_SHARED) {
        if (!v->along) return "rows in shared memory must be contiguous in the tensor";
        if (r->vec_n * x->value_bytes > RTILE_ACCESS ||
            r->thread.extent[AX_N] * x->step_n % r->vec_n)
            return "reads of shared memory do not begin at multiples of their width";
    } else if (!v->along) {
        if (r->vec_n > v->vec) return "a load is wider than the contiguous aligned run";
        if (r->store_vec != r->vec_n) return "store_vec is not the thread's vector";
        return NULL;
    } else if (r->vec_n > x->load_vec || r->thread.extent[AX_N] * x->step_n % r->vec_n) {
        return "loads do not begin at multiples of their width";
    }
    if (!power_of_two(r->store_vec) || r->thread.extent[AX_N] % r->store_vec ||
        v->divisor_q % r->store_vec || r->store_vec > v->out_vec)
        return "store_vec does not divide the thread's strip and the row";
    return NULL;
}

static const char *check_block(const Problem *p, const Device *dev, const RProg *r) {
    int64_t threads = threads_of(r);
    if (r->keep != KEEP_REGISTERS && r->keep != KEEP_SHARED) return "inputs are not kept there";
    if (!rprog_whole_warps(dev, threads)) return rprog_no_whole_warps;
    int own = r->thread.extent[AX_K], planes = count_along(&r->block, &r->thread, AX_K);
    if (p->window.extent_alike % own) return "what is alike is not dealt out evenly";
    if (planes * own != r->block.extent[AX_K]) return "a block has no whole planes";
    if (r->keep == KEEP_SHARED) {
        if (planes > 1 && p->window.outer_step < 0)
            return "planes of a block do not lie at even distances";
        return NULL;
    }
    if (r->block.extent[AX_N] != r->thread.extent[AX_N] || planes != 1)
        return "a window program's block is a column of patches";
    return NULL;
}

/* Do patches or tiles reach beyond the end of p or q, the map's axes behind the first?  */
static bool has_ragged(const Problem *p, const RProg *r) {
    IndexMap m;
    skeleton_map(&rprog_window, p, r, 0, &m);
    return (p->window.p >= 0 && index_ragged(&m, rprog_window_axis(p, AX_M))) ||
           index_ragged(&m, rprog_window_axis(p, AX_N));
}

static const char *check(const Problem *p, const Device *dev, const RProg *r) {
    const WindowView *v = &p->window;
    const char *why;
    if (!v->fits) return "the statement has no window that slides";
    if ((why = check_block(p, dev, r))) return why;
    if (r->thread.extent[AX_M] > SIDE_MAX || r->thread.extent[AX_N] > SIDE_MAX ||
        r->thread.extent[AX_K] > SIDE_MAX || rprog_window_outputs(p, r) > OUTPUTS_MAX)
        return "the thread's patch is too large";
    if (r->thread.extent[AX_M] > 1 && v->p < 0) return "rows do not slide";
    if (v->others_move && has_ragged(p, r))
        return "another read would leave its tensor where patches are ragged";
    if ((why = check_vector(p, r))) return why;
    int64_t row = rprog_window_loads(p, r, 0) * rprog_window_width(p, r, 0);
    if ((v->map ? words_of_inputs(p, r) : row) > LOADED_MAX)
        return "too much of the input in registers";
    if (rprog_window_body(p, r) > UNROLL_MAX) return "the unrolled body is too long";
    if (r->split != 1) return "a window program has no split";
    return skeleton_grid_check(&rprog_window, p, dev, r, 1);
}

static int64_t threads(const Device *dev, RProg *r) {
    (void)dev;
    r->warp = r->thread;
    return threads_of(r);
}

static int64_t evaluations(const Problem *p, const RProg *r) {
    (void)r;
    return p->extent[AX_K] * (p->window.map ? p->window.n_tap : 1);
}

static int64_t divisor_of(const TeStmt *s, const uint8_t *index, int n) {
    int64_t divisor = 1;
    for (int i = 0; i < n; i++) divisor *= te_extent_divisor(&s->index[index[i]].hi);
    return divisor;
}

/* Blocks are tiles of the window's indices and of planes, threads their patches; or patches are
 * numbered through.  */
static void map(const Problem *p, const RProg *r, int64_t span, IndexMap *m) {
    const WindowView *v = &p->window;
    bool shared = r->keep == KEEP_SHARED;
    const RTile *tile = shared ? &r->block : &r->thread;
    (void)span;
    int down = -1, patches = count_along(&r->block, &r->thread, AX_M);
    int planes = index_add_dealt(m, (IndexAxis){v->other, v->n_other, v->outer,
                                                divisor_of(m->root, v->other, v->n_other),
                                                shared ? count_along(&r->block, &r->thread, AX_K)
                                                       : 1});
    if (v->alike >= 0)
        index_add_dealt(m, (IndexAxis){&index_all[v->alike], 1, v->extent_alike, v->extent_alike,
                                       r->thread.extent[AX_K]});
    if (v->p >= 0)
        down = index_add_dealt(m, (IndexAxis){&index_all[v->p], 1, v->extent_p, v->divisor_p,
                                              tile->extent[AX_M]});
    int across = index_add_dealt(m, (IndexAxis){&index_all[v->q], 1, v->extent_q, v->divisor_q,
                                                tile->extent[AX_N]});
    if (v->lane >= 0)
        index_add_dealt(m, (IndexAxis){&index_all[v->lane], 1,
                                       m->root->index[v->lane].hi.value,
                                       te_extent_divisor(&m->root->index[v->lane].hi), r->vec_n});
    if (!shared) {
        m->each = patches > 0 ? patches : 1;
        return;
    }
    index_deal_thread(m, (IndexDigit){planes, 1, m->axis[planes].tile});
    if (down >= 0) index_deal_thread(m, (IndexDigit){down, r->thread.extent[AX_M], patches});
    int along = count_along(&r->block, &r->thread, AX_N);
    index_deal_thread(m, (IndexDigit){across, r->thread.extent[AX_N], along});
}

/* ---- candidates ---- */

static void keep(Keeper *b, RProg r) {
    if (rprog_window_body(b->p, &r) <= UNROLL_MAX) {
        rprog_keep(b, r);
    } else {
        b->set->enumerated++;
        b->set->rejected[REJECT_UNROLL]++;
    }
}

/* Shared tiles of about `wanted` patches: whole rows where they fit, then whole planes, then
 * several planes, in even parts.  */
static void add_tile(Keeper *b, RProg r, int64_t wanted) {
    const WindowView *v = &b->p->window;
    int64_t tm = r.thread.extent[AX_M], tn = r.thread.extent[AX_N];
    int64_t across = ceil_div(v->extent_q, tn), down = ceil_div(v->extent_p, tm), planes = 1;
    int own = r.thread.extent[AX_K];
    across = ceil_div(across, ceil_div(across, wanted));
    int64_t fit = wanted / across > 0 ? wanted / across : 1;
    bool whole = down <= fit && across * tn >= v->extent_q;
    if (whole && v->outer_step >= 0) planes = wanted / (across * down);
    if (planes > v->outer) planes = v->outer;
    down = ceil_div(down, ceil_div(down, fit));
    r.block.extent[AX_M] = (int32_t)(down * tm);
    r.block.extent[AX_N] = (int32_t)(across * tn);
    r.block.extent[AX_K] = (int32_t)(planes > 1 ? planes : 1) * own;
    keep(b, r);
}

static void with_tiles(Keeper *b, RProg r) {
    const WindowView *v = &b->p->window;
    int widest = RTILE_ACCESS / v->source[0].value_bytes, vec = 1;
    while (vec < widest && r.thread.extent[AX_N] * v->source[0].step_n % (2 * vec) == 0) vec *= 2;
    r.keep = KEEP_SHARED;
    r.vec_n = (uint8_t)vec;
    for (int64_t wanted = WARP; wanted <= BLOCK; wanted *= 2) add_tile(b, r, wanted);
}

static void with_threads(Keeper *b, RProg r) {
    for (int threads = 2 * WARP; threads <= BLOCK; threads *= 2) {
        r.block.extent[AX_M] = threads * r.thread.extent[AX_M];
        r.block.extent[AX_N] = r.thread.extent[AX_N];
        keep(b, r);
    }
}

/* Wide stores where the strip allows them, the widest loads first.  */
static void with_vectors(Keeper *b, RProg r) {
    const WindowView *v = &b->p->window;
    if (!v->along) {
        for (int vec = v->vec; vec >= 1; vec /= 2) {
            r.vec_n = r.store_vec = (uint8_t)vec;
            with_threads(b, r);
        }
        return;
    }
    int store = lowest_bit(r.thread.extent[AX_N]);
    while (store > v->out_vec || v->divisor_q % store) store /= 2;
    r.store_vec = (uint8_t)store;
    with_tiles(b, r);
    for (int vec = v->source[0].load_vec; vec >= 1; vec /= 2) {
        r.vec_n = (uint8_t)vec;
        if (r.thread.extent[AX_N] * v->source[0].step_n % vec == 0) with_threads(b, r);
    }
}

static const int side[] = {1, 2, 3, 4, 6, 7, 8, 12, 16};
enum { SIDES = sizeof side / sizeof *side };

static void with_sides(Keeper *b, RProg r) {
    const WindowView *v = &b->p->window;
    for (int i = 0; i < SIDES; i++) {
        if (i > 0 && (v->p < 0 || side[i - 1] >= v->extent_p)) break;
        for (int j = 0; j < SIDES; j++) {
            if (j > 0 && side[j - 1] >= v->extent_q) break;
            if (side[i] * side[j] * r.thread.extent[AX_K] > OUTPUTS_MAX) break;
            r.thread.extent[AX_M] = side[i];
            r.thread.extent[AX_N] = side[j];
            with_vectors(b, r);
        }
    }
}

static void candidates(Keeper *b) {
    const WindowView *v = &b->p->window;
    RProg r = rprog_base(SK_WINDOW);
    if (!v->fits || rprog_units(b->p, b->dev, &r.unit, 1) < 1) return;
    for (int i = 0; i < SIDES && side[i] <= v->extent_alike; i++) {
        if (v->extent_alike % side[i]) continue;
        r.thread.extent[AX_K] = r.block.extent[AX_K] = side[i];
        with_sides(b, r);
    }
}

const SkeletonRow rprog_window = {
    .keys = 1 << KEY_BLOCK | 1 << KEY_THREAD | 1 << KEY_VEC | 1 << KEY_KEEP,
    .takes = skeleton_takes_views,
    .candidates = candidates,
    .check = check,
    .threads = threads,
    .registers = registers,
    .rooms = rooms,
    .map = map,
    .evaluations = evaluations,
};
