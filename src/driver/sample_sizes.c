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

/* The largest sizes for which a program of the plan is taken, and ragged ones below.  */
static int64_t *program_sizes(Arena *a, const Te *te, const int64_t *upto, bool below) {
    int64_t *value = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) {
        const TeExtent *e = &te->size[i].extent;
        int64_t q = step_of(e);
        value[i] = upto[i];
        if (!rplan_varies(te, i)) continue;
        value[i] = value[i] / q * q;
        if (below && value[i] - q >= e->min) value[i] -= q;
    }
    return value;
}

int64_t *sample_sizes(Arena *a, const Te *te, const KernelProgram *p, int which) {
    enum { ALWAYS = 3 };
    if (which > 0 && !te->runtime) return NULL;
    if (which < ALWAYS) return size_set(a, te, which);
    which -= ALWAYS;
    if (which / 2 >= p->n_choice - p->n_group) return NULL;
    return program_sizes(a, te, p->choice[p->n_group + which / 2].upto, which % 2);
}
