/* What kernels hand each other: one value per tensor of a data set, whichever kernel asks.
 *
 * A tensor is what its statement makes of the inputs and of tensors that are handed over before it,
 * where the sample needs so little of it that this is affordable; else it is drawn like an input,
 * and what follows from it is judged by that.  A maximum is always made: code may rely on no term
 * being above its maximum (te_real_range), so the two can't be drawn apart.  */
#include "driver/check/check_impl.h"
#include "te/access/span.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

/* Tensors that are made of made ones in a row: each takes a stack of its own.  */
enum { DEEPEST = 48 };

/* ---- values that are made ---- */

typedef struct {
    Arena *arena;
    Diag diag;
    TeEval *eval;
    const Te *te;
    int tensor;
    pthread_mutex_t one;      /* page at a time: a TeEval serves one thread */
    Check *check;
} Made;

typedef struct {
    Made *m;
    size_t from, bytes;
    unsigned char *to;
} Page;

/* Elements from a place on that lie next to each other, `most` or fewer; 0: there is none.  */
static int64_t run_at(const TeTensor *t, int64_t place, int64_t most, int64_t *at) {
    memset(at, 0, TE_MAX_RANK * sizeof *at);
    if (!te_tensor_at(t, place, at)) return 0;
    int last = te_own_rank(t) - 1;
    if (last < 0 || t->n_clip || t->stride[last].value != 1) return 1;
    int64_t left = t->shape[last].value - at[last];
    return left < most ? left : most;
}

static void make_elements(void *user) {
    enum { STRIP = 64 };
    const Page *p = user;
    const TeTensor *t = &p->m->te->tensor[p->m->tensor];
    size_t size = (size_t)te_dtype_bytes(t->dtype);
    int64_t first = (int64_t)(p->from / size), end = first + (int64_t)(p->bytes / size), n;
    memset(p->to, 0xff, p->bytes);         /* gaps */
    for (int64_t i = first; i < end; i += n ? n : 1) {
        int64_t at[TE_MAX_RANK];
        TeValue v[STRIP];
        n = run_at(t, i, end - i < STRIP ? end - i : STRIP, at);
        if (n == 0) continue;
        if (te_eval_row(p->m->eval, p->m->tensor, at, n, v)) return;   /* the check ends, too */
        for (int64_t k = 0; k < n; k++)
            te_store(t->dtype, &v[k], p->to + (size_t)(i - first + k) * size);
    }
}

static void make_page(void *user, size_t from, size_t bytes, unsigned char *to) {
    Made *m = user;
    pthread_mutex_lock(&m->one);
    if (!arena_try(m->arena, make_elements, &(Page){m, from, bytes, to}))
        atomic_store(&m->check->no_memory, true);
    pthread_mutex_unlock(&m->one);
}

static void close_made(void *user) {
    Made *m = user;
    pthread_mutex_destroy(&m->one);
    arena_destroy(m->arena);
}

static void open_eval(void *user) {
    Made *m = user;
    const Check *c = m->check;
    m->diag = diag_new(m->arena);
    if (te_eval_create(m->arena, &m->diag, m->te, c->ref.data, &m->eval)) m->eval = NULL;
    if (!m->eval) return;
    te_eval_watch(m->eval, c->o->watch);
    for (int t = 0; t < m->te->n_tensor; t++) {
        const Lazy *values = t < m->te->n_in ? c->data[t] : c->given[t];
        if (values) te_eval_bind(m->eval, t, values);
    }
}

static const Lazy *make(Check *c, const Te *te, int tensor) {
    Made *m = ARENA_NEW(c->a, Made);
    *m = (Made){.arena = arena_create(NULL), .te = te, .tensor = tensor, .check = c};
    if (!m->arena) arena_fail(c->a);
    pthread_mutex_init(&m->one, NULL);
    arena_defer(c->a, close_made, m);
    if (!arena_try(m->arena, open_eval, m) || !m->eval) arena_fail(c->a);
    return check_lazy(c, te, tensor, make_page, m);
}

/* ---- which are made ---- */

/* Per tensor of the normal form.  */
typedef struct {
    bool *handed, *stop;
    int *depth;
    TeSpan *need;             /* by the sample, of what is handed over */
} Plan;

static const TeStmt *stmt_of(const Check *c, const KernelGroup *g, int i) {
    return &c->normal->stmt[i < 0 ? g->root : g->fused[i]];
}

bool check_makes(const Check *c, const KernelGroup *g, int tensor) {
    for (int i = -1; i < g->n_fused; i++)
        if (stmt_of(c, g, i)->tensor == tensor) return true;
    return false;
}

bool check_reads(const Check *c, const KernelGroup *g, int tensor) {
    for (int i = -1; i < g->n_fused; i++)
        if (access_reads_tensor(stmt_of(c, g, i)->rhs, tensor)) return true;
    return false;
}

bool check_in_memory(const Check *c, int t) {
    const Te *te = c->normal;
    return t >= te->n_in && (t < te->n_in + te->n_out || c->run.strategy->temp_offset[t] >= 0);
}

static void find_handed(const Check *c, bool *handed) {
    for (int k = 0; k < c->set->n_group; k++) {
        const KernelGroup *g = &c->set->group[k];
        for (int i = -1; i < g->n_fused; i++) {
            ReadList reads = access_reads(stmt_of(c, g, i)->rhs);
            for (int r = 0; r < reads.n; r++) {
                int t = reads.at[r]->v.ref;
                if (!handed[t] && check_in_memory(c, t)) handed[t] = !check_makes(c, g, t);
            }
        }
    }
}

static void merge(const Check *c, const bool *handed, const TeSpan *span, TeSpan *need) {
    for (int t = 0; t < c->normal->n_tensor; t++)
        if (handed[t] && span[t].read) te_span_take(&c->normal->tensor[t], span[t].along, &need[t]);
}

/* What a group's sampled blocks read.  */
static void add_needs(Check *c, int k, const Sample *s, Plan *p) {
    const Te *te = c->normal;
    const KernelGroup *g = &c->set->group[k];
    double n[TE_MAX_INDICES], at[TE_MAX_RANK];
    TeSpan *span = ARENA_ARRAY(c->a, TeSpan, te->n_tensor + 1);
    sample_extents(c->a, s, n);
    memcpy(p->stop, p->handed, (size_t)te->n_tensor * sizeof *p->stop);
    for (int i = -1; i < g->n_fused; i++) {
        const TeStmt *x = stmt_of(c, g, i);
        for (int d = 0; d < x->n_left; d++) at[d] = n[i < 0 ? d : g->perm[i][d]];
        te_span_take(&te->tensor[x->tensor], at, &span[x->tensor]);
        p->stop[x->tensor] = false;
    }
    te_spans(te, p->stop, span);
    for (int i = -1; i < g->n_fused; i++) span[stmt_of(c, g, i)->tensor].read = false;
    merge(c, p->handed, span, p->need);
}

/* A device is given all of a tensor.  */
static void need_all(const Te *te, int t, TeSpan *need) {
    double n[TE_MAX_RANK];
    for (int d = 0; d < te->tensor[t].rank; d++) n[d] = (double)te->tensor[t].shape[d].value;
    te_span_take(&te->tensor[t], n, &need[t]);
}

static bool is_extreme(const TeExpr *e) {
    return e->kind == TE_REDUCE && (e->red == TE_RED_MAX || e->red == TE_RED_MIN);
}

/* Is statement i's tensor made within `share` of the work?  If so, those before it are needed
 * for it, too.  */
static bool is_made(Check *c, int i, double share, Plan *p) {
    const Te *te = c->normal;
    int t = te->stmt[i].tensor;
    TeSpan *span = ARENA_ARRAY(c->a, TeSpan, te->n_tensor + 1);
    memcpy(p->stop, p->handed, (size_t)te->n_tensor * sizeof *p->stop);
    p->stop[t] = false;
    span[t] = p->need[t];
    te_spans(te, p->stop, span);
    if (te_span_work(te, p->stop, span) > share && !is_extreme(te->stmt[i].rhs)) return false;
    merge(c, p->handed, span, p->need);
    return true;
}

/* Made ones that a tensor is made of, one of the other.  */
static int depth_of(const Check *c, int i, const int *depth) {
    ReadList reads = access_reads(c->normal->stmt[i].rhs);
    int most = 0;
    for (int r = 0; r < reads.n; r++)
        if (depth[reads.at[r]->v.ref] > most) most = depth[reads.at[r]->v.ref];
    return most;
}

void check_hand_over(Check *c, const Sample *sample, double share) {
    const Te *te = c->normal;
    bool on_device = c->o->place && c->o->place->context;
    size_t n = (size_t)te->n_tensor + 1;
    Plan p = {ARENA_ARRAY(c->a, bool, n), ARENA_ARRAY(c->a, bool, n), ARENA_ARRAY(c->a, int, n),
              ARENA_ARRAY(c->a, TeSpan, n)};
    bool *made = ARENA_ARRAY(c->a, bool, n);
    c->drawn = ARENA_ARRAY(c->a, bool, n);
    c->given = ARENA_ARRAY(c->a, const Lazy *, n);
    find_handed(c, p.handed);
    for (int g = 0; g < c->set->n_group; g++)
        if (sample[g].n_block) add_needs(c, g, &sample[g], &p);
    for (int i = te->n_stmt - 1; i >= 0; i--) {
        int t = te->stmt[i].tensor;
        if (!p.handed[t] || !p.need[t].read) continue;
        if (on_device) need_all(te, t, p.need);
        made[t] = is_made(c, i, share, &p);
    }
    for (int i = 0; i < te->n_stmt; i++) {
        int t = te->stmt[i].tensor, below = depth_of(c, i, p.depth);
        c->drawn[t] = p.handed[t] && (!made[t] || below >= DEEPEST);
        if (c->drawn[t]) {
            c->given[t] = check_fill(c, te, t);
        } else {
            p.depth[t] = below + (p.handed[t] ? 1 : 0);
            if (p.handed[t]) c->given[t] = make(c, te, t);
        }
    }
}
