/* Kernels of which only the tile is known: the best program of ours that has it stands for
 * each.  */
#include "driver/profile/calibrate_samples.h"

#include <math.h>
#include <stdlib.h>

enum { NEAR = 4 };

/* Numbers with `x` between them; false if one is missing.  Moves *at behind them.  */
static bool numbers(const char **at, int *const out[], int n) {
    enum { MOST = 1 << 20 };
    for (int i = 0; i < n; i++) {
        if (i > 0 && *(*at)++ != 'x') return false;
        if (**at < '1' || **at > '9') return false;
        char *end;
        long v = strtol(*at, &end, 10);
        if (v > MOST) return false;
        *out[i] = (int)v;
        *at = end;
    }
    return true;
}

bool calibrate_tile_read(const char *text, CalibrateTile *out) {
    if (!numbers(&text, (int *const[]){&out->m, &out->n, &out->k}, 3)) return false;
    if (!*text) return true;
    return *text++ == '/' && numbers(&text, (int *const[]){&out->warp_m, &out->warp_n}, 2) &&
           !*text;
}

static bool has_tile(const RProg *p, const CalibrateTile *t) {
    bool warp = p->warp.extent[AX_M] == t->warp_m && p->warp.extent[AX_N] == t->warp_n;
    return p->block.extent[AX_M] == t->m && p->block.extent[AX_N] == t->n &&
           p->block.extent[AX_K] == t->k && (t->warp_m == 0 || warp);
}

static double apart(const RProg *p, const CalibrateTile *t) {
    return fabs(log2((double)p->block.extent[AX_M] / t->m)) +
           fabs(log2((double)p->block.extent[AX_N] / t->n)) +
           fabs(log2((double)p->block.extent[AX_K] / t->k)) / 2;
}

/* Up to NEAR block tiles that there are, the nearest first, as the blocks of programs.  */
static int near_tiles(const RProgSet *all, const CalibrateTile *t, RTile out[NEAR]) {
    int n = 0;
    for (double beyond = -1; n < NEAR; n++) {
        const RProg *best = NULL;
        for (int i = 0; i < all->n; i++) {
            double d = apart(&all->prog[i], t);
            if (d > beyond && (!best || d < apart(best, t))) best = &all->prog[i];
        }
        if (!best) break;
        beyond = apart(best, t);
        out[n] = best->block;
    }
    return n;
}

static const char *no_tile(Arena *a, const CalibrateTile *t, const RTile *near, int n) {
    Buf out = buf_new(a);
    buf_printf(&out, "no plan of ours has the tile %s; near it are", t->text);
    for (int i = 0; i < n; i++)
        buf_printf(&out, "%s %dx%dx%d", i ? "," : "", near[i].extent[AX_M], near[i].extent[AX_N],
                   near[i].extent[AX_K]);
    return buf_str(&out);
}

/* Tiles of one op: what is kept of each of them.  */
typedef struct {
    RProg prog;
    RTile near[NEAR];
    int n_near;
    bool found;
} Found;

static void find(Arena *a, const PlanSet *set, const RProgSet *all, const CalibrateTile *t,
                 Found *out) {
    RProgSet some = *all;
    Ranked *best;
    some.prog = ARENA_ARRAY(a, RProg, all->n + 1);
    some.n = 0;
    for (int i = 0; i < all->n; i++)
        if (has_tile(&all->prog[i], t)) some.prog[some.n++] = all->prog[i];
    out->found = some.n > 0;
    if (!out->found) {
        out->n_near = near_tiles(all, t, out->near);
        return;
    }
    mp_rank(a, &set->plans[0].problem, set->dev, &some, 1, &best);
    out->prog = best->prog;
}

/* Programs of an op are many: they are forgotten when its tiles were found.  */
static Status find_all(Arena *a, Diag *d, const PlanSet *set, const CalibrateTile *t, int n,
                       Found *found) {
    RPlanOptions o = {.align = set->options.align, .workspace_limit = -1};
    RProgSet all;
    Status s = rprog_candidates(a, d, &set->plans[0].problem, set->dev, &o, &all);
    for (int i = 0; !s && i < n; i++) {
        ArenaMark mark = arena_mark(a);
        find(a, set, &all, &t[i], &found[i]);
        arena_reset(a, mark);
    }
    return s;
}

Status calibrate_tiles(Arena *a, Diag *d, const PlanSet *set, const CalibrateTile *t, int n,
                       CalibrateSample *sample) {
    Found *found = ARENA_ARRAY(a, Found, n + 1);
    ArenaMark mark = arena_mark(a);
    Status s = find_all(a, d, set, t, n, found);
    if (s) return s;
    arena_reset(a, mark);
    for (int i = 0; i < n; i++) {
        CalibrateSample *out = &sample[t[i].sample];
        if (!found[i].found) {
            out->failed = no_tile(a, &t[i], found[i].near, found[i].n_near);
            continue;
        }
        RPlan *plan = ARENA_NEW(a, RPlan);
        *plan = (RPlan){.te = set->normal, .group = set->group, .n = 1, .n_group = 1,
                        .problem = &set->plans[0].problem, .prog = &found[i].prog};
        out->plan = plan;
    }
    return ST_OK;
}
