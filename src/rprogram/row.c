/* The `row` skeleton: threads per row, vectors, where the row stays, slices of long rows.  */
#include "rprogram/skeleton.h"

enum {
    KEPT_MAX = 48,            /* words of a row in the registers of a thread */
    STEP_VECTORS = 8,         /* vectors of a thread in flight */
    FLAT_BYTES = 24 << 10,    /* of a block's rows: other blocks load while one computes */
    ENDS_MAX = 4,             /* columns of a thread at the ends of its row */
    CANDIDATES = 6000
};

const RowFacts *rprog_row_facts(const Problem *p, const RProg *r) {
    return r->keep == KEEP_ONLINE && p->online ? p->online : p->row;
}

int rprog_row_threads(const RProg *r) { return count_along(&r->block, &r->thread, AX_N); }

/* Neighbouring threads that leave a part of each of their rows.  */
static int part_threads(const Problem *p, const RProg *r) {
    int rows = r->block.extent[AX_M];
    return rprog_row_strips(p) && rows > WARP ? rows : WARP;
}

int rprog_row_parts(const Problem *p, const RProg *r) {
    int rows = rprog_row_strips(p) ? r->block.extent[AX_M] : 1;
    int parts = rprog_row_threads(r) * rows / part_threads(p, r);
    return parts > 1 ? parts : 1;
}

int rprog_row_takers(const Problem *p, const RProg *r) {
    int lanes = part_threads(p, r) / r->block.extent[AX_M], parts = rprog_row_parts(p, r);
    return lanes < parts ? lanes : parts;
}

int rprog_row_end_columns(const Problem *p, const RProg *r) {
    int most = 2 * (r->store_vec - 1), threads = rprog_row_threads(r);
    return rprog_row_ends(p, r) ? (most + threads - 1) / threads : 0;
}

int rprog_row_width(const Problem *p, const RProg *r, const RowSource *s) {
    int vec = rprog_row_ends(p, r) ? s->peel_vec : s->vec;
    return vec < r->store_vec ? vec : r->store_vec;
}

int64_t rprog_row_steps(const Problem *p, const RProg *r) {
    return ceil_div(ceil_div(p->extent[AX_N], r->block.extent[AX_N]), r->split);
}

int rprog_row_kernels(const Problem *p, const RProg *r) {
    const RowFacts *f = rprog_row_facts(p, r);
    if (r->split <= 1) return 1;
    return f->group->n_pass + (f->reduces[f->group->n_pass - 1] > 0);
}

int rprog_row_copy_width(const Problem *p, const RProg *r, int source) {
    const RowSource *s = &rprog_row_facts(p, r)->source[source];
    return r->keep == KEEP_FLAT ? RTILE_ACCESS / s->bytes : rprog_row_width(p, r, s);
}

int rprog_row_mover(const Device *dev, const Problem *p, const RProg *r, int source) {
    int bytes = rprog_row_facts(p, r)->source[source].bytes;
    return rprog_mover(dev, LOAD_ASYNC, rprog_row_copy_width(p, r, source) * bytes);
}

/* Bytes from row to row of a source that the block holds.  */
static int64_t row_pitch(const Problem *p, const RProg *r, const RowSource *s) {
    if (r->keep == KEEP_FLAT) return p->row->columns * s->bytes;
    int64_t columns = p->row->columns + (rprog_row_ends(p, r) ? r->store_vec - 1 : 0);
    return ceil_div(columns * s->bytes, RTILE_ACCESS) * RTILE_ACCESS;
}

static void rooms(RoomWalk *w) {
    const RowFacts *f = rprog_row_facts(w->p, w->r);
    int64_t rows = w->r->block.extent[AX_M];
    for (int i = 0; i < f->n_source; i++) {
        if (!rprog_row_holds(w->r, &f->source[i])) continue;
        int64_t row = row_pitch(w->p, w->r, &f->source[i]);
        int64_t bytes = ceil_div(row * rows, RTILE_ACCESS) * RTILE_ACCESS;
        Room x = layout_one(ROOM_ROWS, i, w->end, bytes);
        x.row = row;
        if (w->out && rprog_row_mover(w->dev, w->p, w->r, i) >= 0) x.filled = DONE_COPIES;
        if (bytes > 0) layout_room(w, x);
    }
    int64_t parts = rprog_row_parts(w->p, w->r);
    if (parts > 1) layout_partials(w, w->end, f->group, parts * rows);
}

double rprog_row_ops(const Problem *p, const RProg *r, int pass) {
    const RowFacts *f = rprog_row_facts(p, r);
    double ops = f->ops[pass];
    for (int k = 0; k < f->n_value && rprog_row_keeps_values(r); k++) {
        if (f->value[k].later >> pass & 1) ops -= f->value[k].ops;
    }
    return ops;
}

/* Words that are there from pass `first` on, until the last of `passes` has them.  */
static void wait_until(int first, uint64_t passes, double words, double *change) {
    int last = 0;
    while (passes >> last >> 1) last++;
    if (last <= first) return;
    change[first] += words;
    change[last] -= words;
}

/* The most words per column that a thread keeps behind a pass.  */
static double kept_words(const Problem *p, const RProg *r) {
    const RowFacts *f = rprog_row_facts(p, r);
    bool values = rprog_row_keeps_values(r);
    double change[64] = {0}, words = 0, most = 0;         /* by pass, as bits of passes are */
    for (int k = 0; k < f->n_source; k++) {
        const RowSource *s = &f->source[k];
        int first = 0;
        while (!s->made && !(s->passes >> first & 1)) first++;
        if (s->kept)
            wait_until(first, values ? s->bare : s->passes, s->bytes > 4 ? 2 : 1, change);
    }
    for (int k = 0; k < f->n_value && values; k++)
        wait_until(f->value[k].pass, f->value[k].later, p->acc_bytes / 4.0, change);
    for (int pass = 0; pass < f->group->n_pass; pass++) {
        words += change[pass];
        most = words > most ? words : most;
    }
    return most;
}

/* Words per column that a thread holds: what is kept as values, what waits for its pass as it
 * came.  */
static double words_per_column(const Problem *p, const RProg *r) {
    const RowFacts *f = rprog_row_facts(p, r);
    bool keeps = r->keep == KEEP_REGISTERS;
    double words = 0;
    for (int k = 0; k < f->n_source; k++) {
        const RowSource *s = &f->source[k];
        if (!(keeps && s->kept) && s->by_row && (s->passes & 1) && !rprog_row_holds(r, s))
            words += (double)s->bytes / 4;
    }
    return words + (keeps ? kept_words(p, r) : 0);
}

static int64_t registers(const Problem *p, const Device *dev, const RProg *r) {
    (void)dev;
    enum { FIXED = 30, VALUES = 2, ENDS = 8 };        /* fitted as those of contract_registers */
    double words = words_per_column(p, r) *
                   (r->thread.extent[AX_N] + rprog_row_end_columns(p, r));
    int wide = hal_words(te_dtype_bytes(p->type));
    if (r->keep == KEEP_ONLINE) words += 4 * wide * rprog_row_facts(p, r)->followers;
    if (rprog_row_ends(p, r)) words += ENDS;              /* before and behind the whole vectors */
    /* Single elements are no vectors that come and go one by one.  */
    if (r->keep == KEEP_REGISTERS && r->store_vec == 1) words += r->thread.extent[AX_N] / 2;
    return FIXED + (int64_t)words + VALUES * wide * r->store_vec + 2 * p->row->n_source;
}

/* Neighbouring threads do not share a word of shared memory.  */
static bool whole_words(const Problem *p, const RProg *r) {
    for (int k = 0; k < p->row->n_source; k++) {
        const RowSource *s = &p->row->source[k];
        if (s->kept && rprog_row_width(p, r, s) * s->bytes < 4) return false;
    }
    return true;
}

/* Ranges of rows that are whole 16 bytes.  */
static bool whole_ranges(const Problem *p, const RProg *r) {
    for (int k = 0; k < p->row->n_source; k++) {
        const RowSource *s = &p->row->source[k];
        if (s->by_row && r->block.extent[AX_M] * p->row->columns * s->bytes % RTILE_ACCESS)
            return false;
    }
    return p->row->flat && rprog_row_threads(r) <= WARP;
}

/* Single elements of neighbouring rows side by side, of whole rows.  */
static bool is_strip(const RProg *r) {
    return r->keep != KEEP_SHARED && r->keep != KEEP_FLAT && r->store_vec == 1 && r->split == 1 &&
           power_of_two(r->block.extent[AX_M]);
}

static const char *check(const Problem *p, const Device *dev, const RProg *r) {
    int threads = rprog_row_threads(r), rows = r->block.extent[AX_M];
    int64_t columns = p->extent[AX_N], steps = ceil_div(columns, r->block.extent[AX_N]);
    if (r->thread.extent[AX_M] != 1 || r->thread.extent[AX_K] != 1 || r->block.extent[AX_K] != 1)
        return "a row program's threads work on one row";
    if (!power_of_two(threads)) return "the threads of a row are not a power of two";
    if (!rprog_whole_warps(dev, (int64_t)threads * rows)) return rprog_no_whole_warps;
    if (!power_of_two(r->store_vec) || r->thread.extent[AX_N] % r->store_vec)
        return "store_vec is not a power of two that divides the thread's columns";
    if (r->store_vec > p->row->vec && r->store_vec > p->row->peel_vec)
        return "vectors are wider than any access to a row allows";
    if (rprog_row_end_columns(p, r) > ENDS_MAX) return "the ends of a row have too few threads";
    if (r->thread.extent[AX_N] > 256) return "the thread tile is too large";
    if ((int)r->keep < 0 || r->keep >= KEEP_COUNT) return "unknown place of the row";
    if (r->keep == KEEP_ONLINE && !p->online) return "no reductions of the rows can be online";
    if (r->keep == KEEP_REGISTERS && steps > 1)
        return "a row in registers must be one step";
    if (r->keep == KEEP_SHARED && !whole_words(p, r))
        return "rows in shared memory are accessed in parts of a word";
    if (r->keep == KEEP_FLAT && (rprog_row_ends(p, r) || !whole_ranges(p, r)))
        return "the rows of a block are no range of whole 16 bytes";
    if (rprog_row_strips(p) && !is_strip(r)) return "strips of rows are read by single elements";
    if (r->split > 1 && !rprog_row_rereads(r)) return "split rows stay in memory";
    return skeleton_grid_check(&rprog_row, p, dev, r, steps);
}

static bool takes(const Problem *p) { return p->row; }

static const RowGroup *partials(const Problem *p) { return p->row->group; }

static int64_t left(const Problem *p, const RProg *r) {
    (void)r;
    return p->row->rows;
}

static int64_t threads(const Device *dev, RProg *r) {
    (void)dev;
    int n = rprog_row_threads(r), lanes = n < WARP ? n : WARP;
    r->warp = r->thread;
    r->warp.extent[AX_M] *= WARP / (lanes > 0 ? lanes : 1);
    r->warp.extent[AX_N] *= lanes;
    return (int64_t)n * r->block.extent[AX_M];
}

static void map(const Problem *p, const RProg *r, int64_t span, IndexMap *m) {
    int left = m->root->n_left, n = m->root->n_index;
    (void)span;
    int rows = index_add_dealt(m, (IndexAxis){index_all, left, p->extent[AX_M],
                                              p->multiple[AX_M], r->block.extent[AX_M]});
    index_add(m, (IndexAxis){index_all + left, n - left, p->extent[AX_N], p->multiple[AX_N],
                             r->block.extent[AX_N]});
    index_deal_thread(m, (IndexDigit){rows, 1, r->block.extent[AX_M]});
}

/* ---- candidates ---- */

static void set_row(RProg *r, int threads, int vectors) {
    r->thread.extent[AX_N] = vectors * r->store_vec;
    r->block.extent[AX_N] = threads * vectors * r->store_vec;
}

static void add_slices(Keeper *b, const RProg *r) {
    enum { FILLED = 2 };
    rprog_keep_slices(b, *r, ceil_div(b->p->extent[AX_N], r->block.extent[AX_N]), FILLED);
}

/* Ways to hold a row for the threads and vectors of r.  */
static void add_places(Keeper *b, RProg *r, int threads) {
    const RowFacts *f = b->p->row;
    int64_t vectors = ceil_div(f->columns, (int64_t)threads * r->store_vec);
    bool several = f->group->n_pass > 1;
    if (vectors < 1) vectors = 1;
    r->keep = KEEP_REGISTERS;
    if (vectors * r->store_vec <= KEPT_MAX) {
        set_row(r, threads, (int)vectors);
        if (words_per_column(b->p, r) * r->thread.extent[AX_N] <= KEPT_MAX) rprog_keep(b, *r);
        else b->set->enumerated++, b->set->rejected[REJECT_REGISTERS]++;
    }
    for (int n = 1; n <= STEP_VECTORS; n *= 2) {
        if (n > 1 && n / 2 >= vectors) break;
        if (n * r->store_vec > KEPT_MAX) break;
        set_row(r, threads, n);
        for (int again = 0; again < (b->p->online ? 2 : 1); again++) {
            r->keep = again ? KEEP_ONLINE : KEEP_MEMORY;
            if (n < vectors) rprog_keep(b, *r);
            if (r->block.extent[AX_M] == 1 && !rprog_row_strips(b->p)) add_slices(b, r);
        }
        r->keep = KEEP_SHARED;
        if (several && !rprog_row_strips(b->p)) rprog_keep(b, *r);
    }
    r->keep = KEEP_FLAT;
    if (rprog_row_ends(b->p, r)) return;
    set_row(r, threads, vectors * r->store_vec <= KEPT_MAX ? (int)vectors : STEP_VECTORS);
    if (!f->flat || !whole_ranges(b->p, r)) return;
    if (skeleton_shared(&rprog_row, b->p, b->dev, r) <= FLAT_BYTES) rprog_keep(b, *r);
}

static int widest(const Problem *p) {
    return p->row->vec > p->row->peel_vec ? p->row->vec : p->row->peel_vec;
}

static void candidates(Keeper *b) {
    const Problem *p = b->p;
    RProg r = rprog_base(SK_ROW);
    b->most = CANDIDATES;
    /* Part of the widest access; threads of several rows: larger blocks part an SM coarsely.  */
    enum { NARROW = 8, BLOCK = 512 };
    if (rprog_units(p, b->dev, &r.unit, 1) < 1) return;
    for (int threads = 1; threads <= rprog_most_threads(b->dev); threads *= 2) {
        for (int vec = widest(p); vec >= 1; vec /= 2) {
            bool idle = threads > 1 && (int64_t)threads / 2 * vec >= p->extent[AX_N];
            bool ends = vec > p->row->vec;
            if (ends && (idle || vec * 2 < p->row->peel_vec)) continue;
            if ((idle && threads > WARP) || vec * NARROW < p->row->vec) break;
            if (idle) continue;
            r.store_vec = (uint8_t)vec;
            for (int all = 2 * WARP; all <= rprog_most_threads(b->dev); all *= 2) {
                bool large = all > BLOCK && !rprog_row_strips(p);     /* strips fill sectors */
                if (all < threads || (all > threads && large)) continue;
                if (all > threads && p->extent[AX_M] <= all / threads / 2) continue;
                r.block.extent[AX_M] = all / threads;
                add_places(b, &r, threads);
            }
        }
    }
    if (b->set->n > 0) return;
    r.store_vec = 1;
    r.block.extent[AX_M] = 1;
    set_row(&r, WARP, 1);
    r.keep = KEEP_MEMORY;
    rprog_keep(b, r);
}

const SkeletonRow rprog_row = {
    .keys = 1 << KEY_BLOCK | 1 << KEY_THREAD | 1 << KEY_SPLIT | 1 << KEY_KEEP,
    .takes = takes,
    .candidates = candidates,
    .check = check,
    .threads = threads,
    .registers = registers,
    .rooms = rooms,
    .map = map,
    .partials = partials,
    .left = left,
};
