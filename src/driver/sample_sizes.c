/* Values of run-time sizes at which an op is proved.  */
#include "driver/sample.h"

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

/* The ragged ones, but size number `which` of those that can be 0 is; NULL: there are no more.  */
static int64_t *one_empty(Arena *a, const Te *te, int which) {
    for (int i = 0; i < te->n_size; i++) {
        if (!rplan_varies(te, i) || te->size[i].extent.min > 0 || which-- > 0) continue;
        int64_t *value = size_set(a, te, 0);
        value[i] = 0;
        return value;
    }
    return NULL;
}

/* Around the sizes up to which something is taken: those, one below and one above.  */
static int64_t *sizes_near(Arena *a, const Te *te, const int64_t *upto, int which) {
    int64_t *value = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) {
        const TeExtent *e = &te->size[i].extent;
        int64_t q = step_of(e);
        value[i] = upto[i];
        if (!rplan_varies(te, i)) continue;
        value[i] = value[i] / q * q;
        if (which == 1 && value[i] - q >= e->min) value[i] -= q;
        if (which == 2 && value[i] + q <= e->value) value[i] += q;
    }
    return value;
}

/* Limit number `which` of all that programs and splits have; NULL: there are no more.  */
static const int64_t *limit(const KernelProgram *p, int which) {
    for (int i = 1; i < p->n_split; i++) {
        if (which-- == 0) return p->split[i].within;
    }
    for (int i = 0; i < p->n_choice; i++) {
        if (p->choice[i].upto && which-- == 0) return p->choice[i].upto;
    }
    return NULL;
}

int64_t *sample_sizes(Arena *a, const Te *te, const KernelProgram *p, int which) {
    enum { ALWAYS = 3, NEAR = 3 };
    if (which > 0 && !te->runtime) return NULL;
    if (which < ALWAYS) return size_set(a, te, which);
    which -= ALWAYS;
    const int64_t *upto = limit(p, which / NEAR);
    if (upto) return sizes_near(a, te, upto, which % NEAR);
    int limits = 0;
    while (limit(p, limits)) limits++;
    return one_empty(a, te, which - NEAR * limits);
}
