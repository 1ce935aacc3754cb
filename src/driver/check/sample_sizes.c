/* Values of run-time sizes at which an op is proved.  */
#include "base/hash.h"
#include "driver/check/sample.h"

#include <math.h>
#include <string.h>

static int64_t step_of(const TeExtent *e) { return e->multiple > 1 ? e->multiple : 1; }

/* Values of the run-time sizes: a ragged one between, the smallest, the largest.  */
static int64_t *size_set(Arena *a, const Te *te, int which) {
    int64_t *value = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) {
        const TeExtent *e = &te->size[i].extent;
        int64_t q = step_of(e), lo = (e->min + q - 1) / q * q;
        int64_t steps = (e->value - lo) / q;
        value[i] = te->size[i].kind != TE_SIZE_RUNTIME ? e->value
                   : which == 0                        ? lo + steps / 2 * q
                   : which == 1                        ? lo
                                                       : lo + steps * q;
    }
    return value;
}

/* The ragged ones, but one size is 0; NULL: it cannot be.  */
static int64_t *one_empty(Arena *a, const Te *te, int size) {
    if (!rplan_varies(te, size) || te->size[size].extent.min > 0) return NULL;
    int64_t *value = size_set(a, te, 0);
    value[size] = 0;
    return value;
}

/* The multiples below that strategies are for, where the sizes may be these.  */
static void round_down(const RSelector *s, int64_t *value) {
    for (int m = 0; m < s->n_measure; m++) {
        const TeExpr *e = s->measure[m].expr;
        if (!rplan_is_rest(&s->measure[m])) continue;
        int size = e->args[0]->v.ref;
        int64_t below = value[size] - value[size] % e->args[1]->v.i;
        if (below > 0 && below >= s->te->size[size].extent.min) value[size] = below;
    }
}

/* Some sizes: every order of magnitude is as likely as another, the ends more.  */
static int64_t *any_sizes(Arena *a, const Te *te, Rng *rng) {
    enum { STEPS = 64 };
    int64_t *value = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) {
        const TeExtent *e = &te->size[i].extent;
        int64_t q = step_of(e), lo = (e->min + q - 1) / q * q, hi = e->value / q * q;
        double from = log((double)(lo > 0 ? lo : q)), to = log((double)(hi > 0 ? hi : q));
        double along = ((double)rng_below(rng, STEPS + 17) - 8) / STEPS;
        int64_t v = (int64_t)exp(from + (to - from) * (along < 0 ? 0 : along > 1 ? 1 : along));
        value[i] = rplan_varies(te, i) ? v / q * q : e->value;
        if (value[i] < lo && rplan_varies(te, i)) value[i] = lo;
    }
    return value;
}

static bool takes(const KernelProgram *p, const int64_t *size, int program) {
    KernelTaken t = cg_taken(p, size);
    const KernelChoice *c = &p->choice[program];
    return t.strategy == c->strategy && cg_program(p, t, c->group) == program;
}

/* Of some sizes for which a launch takes a program those with the most work, as far as sums of
 * logarithms tell; NULL: none were found.  */
static int64_t *sizes_of(Arena *a, const Te *te, const KernelProgram *p, int program) {
    enum { TRIES = 500 };
    int64_t *best = NULL;
    double most = -1;
    Rng rng = {1};
    for (int i = 0; i < TRIES; i++) {
        int64_t *at = any_sizes(a, te, &rng);
        double work = 0;
        if (i % 2) round_down(p->select, at);
        for (int s = 0; s < te->n_size; s++) work += log((double)at[s] + 1);
        if (work <= most || !takes(p, at, program)) continue;
        best = at;
        most = work;
    }
    return best;
}

static int64_t *one_less(Arena *a, const Te *te, const int64_t *value) {
    int64_t *less = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) {
        const TeExtent *e = &te->size[i].extent;
        int64_t q = step_of(e);
        less[i] = rplan_varies(te, i) && value[i] - q >= e->min ? value[i] - q : value[i];
    }
    return less;
}

typedef struct {
    const Te *te;
    int64_t **set;
    int n;
} Sets;

static void add_set(Sets *x, int64_t *size) {
    for (int i = 0; i < x->n; i++)
        if (memcmp(x->set[i], size, (size_t)x->te->n_size * sizeof *size) == 0) return;
    x->set[x->n++] = size;
}

int64_t **sample_sizes(Arena *a, const Te *te, const KernelProgram *p, int *n) {
    enum { ALWAYS = 3 };
    Sets x = {te, ARENA_ARRAY(a, int64_t *, ALWAYS + 2 * p->n_choice + te->n_size), 0};
    for (int i = 0; i < (te->runtime ? ALWAYS : 1); i++) add_set(&x, size_set(a, te, i));
    for (int i = 0; i < p->n_choice && p->select; i++) {
        int64_t *at = sizes_of(a, te, p, i);
        if (!at) continue;
        add_set(&x, at);
        add_set(&x, one_less(a, te, at));
    }
    for (int i = 0; te->runtime && i < te->n_size; i++) {
        int64_t *at = one_empty(a, te, i);
        if (at) add_set(&x, at);
    }
    *n = x.n;
    return x.set;
}
