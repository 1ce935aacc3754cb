/* The `window` skeleton: a patch of outputs per thread, its inputs sliding through registers.  */
#include "rprogram/internal.h"

enum { THREADS_MAX = 1024, SIDE_MAX = 16, OUTPUTS_MAX = 64, LOADED_MAX = 128 };

RProg rprog_window_base(void) {
    RProg r = rprog_stream_base();
    r.skeleton = SK_WINDOW;
    return r;
}

static int64_t lanes_of(const Problem *p) {
    const WindowView *v = &p->window;
    if (v->lane < 0) return 1;
    return p->te->stmt[p->group->root].index[v->lane].hi.value;
}

int64_t rprog_window_patches(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    int64_t vec = v->lane < 0 ? 1 : r->vec_n;
    return v->outer * ceil_div(v->extent_p, r->thread.extent[AX_M]) *
           ceil_div(v->extent_q, r->thread.extent[AX_N]) * ceil_div(lanes_of(p), vec);
}

int rprog_window_shift(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    if (!v->along) return 0;
    int64_t rest = v->base_n % r->vec_n;
    return (int)(rest < 0 ? rest + r->vec_n : rest);
}

int64_t rprog_window_loads(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    int64_t span = (r->thread.extent[AX_N] - 1) * v->step_n + (v->extent_s - 1) * v->dil_n + 1;
    return v->along ? ceil_div(span + rprog_window_shift(p, r), r->vec_n) : span;
}

int64_t rprog_window_rows(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    if (r->thread.extent[AX_M] == 1) return v->extent_r;
    return (r->thread.extent[AX_M] - 1) * v->step_m + (v->extent_r - 1) * v->dil_m + 1;
}

bool rprog_window_unrolls(const Problem *p, const RProg *r) {
    enum { SHORT_BODY = 256 };
    return r->thread.extent[AX_M] > 1 ||
           rprog_window_body(p, r) * p->window.extent_r <= SHORT_BODY;
}

int64_t rprog_window_body(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    int64_t outputs = (int64_t)r->thread.extent[AX_M] * r->thread.extent[AX_N];
    int64_t rows = r->thread.extent[AX_M] > 1 ? v->extent_r : 1;
    return outputs * (v->lane < 0 ? 1 : r->vec_n) * v->extent_s * rows;
}

int64_t rprog_window_registers(const Problem *p, const RProg *r) {
    enum { FIXED = 30 };
    const WindowView *v = &p->window;
    int64_t vec = v->lane < 0 ? 1 : r->vec_n, words = (v->sum_bytes + 3) / 4;
    int64_t outputs = (int64_t)r->thread.extent[AX_M] * r->thread.extent[AX_N] * vec;
    int64_t loaded = rprog_window_loads(p, r) * r->vec_n;
    int64_t taps = p->n_reads > 1 ? v->extent_s * v->extent_r * vec : 0;
    return FIXED + words * (outputs + loaded + (taps < 64 ? taps : 64));
}

static const char *check_vector(const Problem *p, const RProg *r) {
    const WindowView *v = &p->window;
    if (!power_of_two(r->vec_n)) return "vec is not a power of two";
    if (!v->along) {
        if (r->vec_n > v->vec) return "a load is wider than the contiguous aligned run";
        if (r->store_vec != r->vec_n) return "store_vec is not the thread's vector";
        return NULL;
    }
    if (r->vec_n > v->load_vec || r->thread.extent[AX_N] * v->step_n % r->vec_n)
        return "loads do not begin at multiples of their width";
    if (!power_of_two(r->store_vec) || r->thread.extent[AX_N] % r->store_vec ||
        v->extent_q % r->store_vec || r->store_vec > v->out_vec)
        return "store_vec does not divide the thread's strip and the row";
    return NULL;
}

const char *rprog_window_check(const Problem *p, const Device *dev, const RProg *r) {
    const WindowView *v = &p->window;
    const char *why;
    int threads = count_along(&r->block, &r->thread, AX_M);
    if (!v->fits) return "the statement has no window that slides";
    if (threads < WARP || threads % WARP || threads > THREADS_MAX)
        return "threads are not whole warps";
    if (r->block.extent[AX_N] != r->thread.extent[AX_N] || r->block.extent[AX_K] != 1 ||
        r->thread.extent[AX_K] != 1)
        return "a window program's block is a column of patches";
    if (r->thread.extent[AX_M] > SIDE_MAX || r->thread.extent[AX_N] > SIDE_MAX ||
        r->thread.extent[AX_M] * r->thread.extent[AX_N] * r->vec_n > OUTPUTS_MAX)
        return "the thread's patch is too large";
    if (r->thread.extent[AX_M] > 1 && v->dim_m < 0) return "rows do not slide";
    if (v->others_move && (v->extent_p % r->thread.extent[AX_M] ||
                           v->extent_q % r->thread.extent[AX_N]))
        return "another read would leave its tensor where patches are ragged";
    if ((why = check_vector(p, r))) return why;
    if (rprog_window_loads(p, r) * r->vec_n > LOADED_MAX) return "too much of a row in registers";
    if (rprog_window_body(p, r) > UNROLL_MAX) return "the unrolled body is too long";
    if (r->split != 1) return "a window program has no split";
    if ((double)rprog_blocks(p, r) > dev->limits.grid_max.value)
        return "the grid is larger than the device allows";
    return NULL;
}

/* ---- candidates ---- */

typedef struct {
    Arena *arena;
    const Problem *p;
    const Device *dev;
    RProgSet *set;
    size_t cap;
} Windows;

static void keep(Windows *b, RProg r) {
    RProgSet *set = b->set;
    set->enumerated++;
    if (rprog_window_body(b->p, &r) > UNROLL_MAX) {
        set->rejected[REJECT_UNROLL]++;
        return;
    }
    rprog_derive(b->p, b->dev, &r);
    if (r.blocks_per_sm < 1) {
        set->rejected[REJECT_REGISTERS]++;
    } else if (rprog_window_check(b->p, b->dev, &r)) {
        set->rejected[(double)rprog_blocks(b->p, &r) > b->dev->limits.grid_max.value
                          ? REJECT_GRID : REJECT_ALIGNMENT]++;
    } else {
        set->prog = arena_grow(b->arena, set->prog, &b->cap, (size_t)set->n + 1, sizeof r);
        set->prog[set->n++] = r;
    }
}

static void with_threads(Windows *b, RProg r) {
    for (int threads = 64; threads <= 512; threads *= 2) {
        r.block.extent[AX_M] = threads * r.thread.extent[AX_M];
        r.block.extent[AX_N] = r.thread.extent[AX_N];
        keep(b, r);
    }
}

/* Wide stores where the strip allows them, the widest loads first.  */
static void with_vectors(Windows *b, RProg r) {
    const WindowView *v = &b->p->window;
    if (!v->along) {
        for (int vec = v->vec; vec >= 1; vec /= 2) {
            r.vec_n = r.store_vec = (uint8_t)vec;
            with_threads(b, r);
        }
        return;
    }
    int store = lowest_bit(r.thread.extent[AX_N]);
    while (store > v->out_vec || v->extent_q % store) store /= 2;
    r.store_vec = (uint8_t)store;
    for (int vec = v->load_vec; vec >= 1; vec /= 2) {
        r.vec_n = (uint8_t)vec;
        if (r.thread.extent[AX_N] * v->step_n % vec == 0) with_threads(b, r);
    }
}

void rprog_window_candidates(Arena *a, const Problem *p, const Device *dev, RProgSet *set) {
    static const int side[] = {1, 2, 3, 4, 6, 7, 8, 12, 16};
    enum { SIDES = sizeof side / sizeof *side };
    Windows b = {a, p, dev, set, (size_t)set->n};
    const WindowView *v = &p->window;
    RProg r = rprog_window_base();
    if (!v->fits || rprog_units(p, dev, &r.unit, 1) < 1) return;
    for (int i = 0; i < SIDES; i++) {
        if (i > 0 && (v->dim_m < 0 || side[i - 1] >= v->extent_p)) break;
        for (int j = 0; j < SIDES; j++) {
            if (j > 0 && side[j - 1] >= v->extent_q) break;
            if (side[i] * side[j] > OUTPUTS_MAX) break;
            r.thread.extent[AX_M] = side[i];
            r.thread.extent[AX_N] = side[j];
            with_vectors(&b, r);
        }
    }
}
