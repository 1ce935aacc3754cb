/* Points at which tests of subscripts have to be right: at the ends of what is inside, and where 32
 * bits of a subscript would be inside though it is not.  */
#include "driver/check/sample.h"
#include "te/tree/arith.h"
#include <string.h>

typedef struct {
    const Problem *p;
    const IndexMap *map;
    SampleEnds *out;
} Ends;

/* A subscript along one index of its statement, which runs with index `root` of the root; the rest
 * are 0.  */
typedef struct {
    int root;
    int64_t step, first, extent, bound;
} Line;

static bool is_inside(int64_t v, int64_t bound) { return v >= 0 && v < bound; }

static void add(Ends *x, const Line *l, int64_t index) {
    BlockPoint at = {{0}};
    SampleEnds *out = x->out;
    if (!is_inside(index, l->extent) || out->n == SAMPLE_ENDS) return;
    for (int a = 0; a < x->map->n_axis; a++) {
        const IndexAxis *axis = &x->map->axis[a];
        for (int i = 0; i < axis->n; i++)
            at.at[a] = at.at[a] * x->map->root->index[axis->index[i]].hi.value +
                       (axis->index[i] == l->root ? index : 0);
    }
    for (int i = 0; i < out->n; i++)
        if (memcmp(&out->at[i], &at, sizeof at) == 0) return;
    out->at[out->n++] = at;
}

/* The first value at which the low 32 bits lie inside, but not the subscript.  */
static void add_low_bits(Ends *x, const Line *l) {
    enum { TRIES = 1 << 20 };
    int64_t beyond = (int64_t)1 << 31, v = l->first;
    int64_t left = l->step > 0 ? beyond - v : beyond + v;
    int64_t size = l->step > 0 ? l->step : -l->step;
    int64_t i = left > 0 ? ceil_div(left, size) : 0, last = i + TRIES;
    for (; i < l->extent && i < last; i++) {
        if (!mul_fits(i, l->step, &v) || !add_fits(v, l->first, &v)) return;
        if (is_inside((int64_t)(uint32_t)v, l->bound) && !is_inside(v, l->bound)) break;
    }
    if (i < last) add(x, l, i);
}

/* The last value inside and its neighbours, at both ends.  */
static void add_ends(Ends *x, const Line *l) {
    int64_t low = floor_div(-l->first, l->step), high = floor_div(l->bound - 1 - l->first, l->step);
    for (int i = 0; i <= 1; i++) {
        add(x, l, high + i);
        add(x, l, low + i);
    }
    add(x, l, low - 1);
}

typedef void (*Adder)(Ends *x, const Line *l);

/* Of what statement `which` of the group reads; -1: the root.  */
static void add_statement(Ends *x, int which, Adder put) {
    const Te *te = x->p->te;
    const KernelGroup *g = x->p->group;
    const TeStmt *s = &te->stmt[which < 0 ? g->root : g->fused[which]];
    ReadList reads = access_reads(s->rhs);
    for (int k = 0; k < reads.n; k++) {
        Access a;
        access_read(te, s, reads.at[k], &a);
        for (int d = 0; a.affine && d < te->tensor[a.tensor].rank; d++) {
            const Affine *f = &a.sub[d];
            for (int j = 0; j < s->n_left && a.guard[d]; j++) {
                if (f->coef[j] == 0 || f->coef[j] == INT64_MIN) continue;
                put(x, &(Line){which < 0 ? j : g->perm[which][j], f->coef[j], f->c,
                               s->index[j].hi.value, te->tensor[a.tensor].shape[d].value});
            }
        }
    }
}

void sample_ends(const Problem *p, const IndexMap *m, SampleEnds *out) {
    Ends x = {p, m, out};
    *out = (SampleEnds){.n = 0};
    for (int i = -1; i < p->group->n_fused; i++) add_statement(&x, i, add_low_bits);
    out->n_low = out->n;
    for (int i = -1; i < p->group->n_fused; i++) add_statement(&x, i, add_ends);
}
