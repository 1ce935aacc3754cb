/* A maximum that a kernel is given beside what it is of.
 *
 * Code may rely on no term being above its maximum (te_real_range), so the two can't be drawn
 * apart.  */
#include "driver/check_impl.h"
#include <pthread.h>

typedef struct {
    Arena *arena;
    Diag diag;
    TeEval *eval;
    const Te *te;
    int tensor;
    pthread_mutex_t one;      /* page at a time: a TeEval serves one thread */
    Check *check;
} Maximum;

typedef struct {
    Maximum *m;
    size_t from, bytes;
    unsigned char *to;
} Page;

static void make_elements(void *user) {
    enum { STRIP = 64 };
    const Page *p = user;
    const TeTensor *t = &p->m->te->tensor[p->m->tensor];
    size_t size = (size_t)te_dtype_bytes(t->dtype);
    int own = te_own_rank(t);
    int64_t row = own ? t->shape[own - 1].value : 1, n;
    int64_t first = (int64_t)(p->from / size), end = first + (int64_t)(p->bytes / size);
    for (int64_t i = first; i < end; i += n) {
        int64_t at[TE_MAX_RANK] = {0}, rest = i;
        TeValue v[STRIP];
        for (int d = own - 1; d >= 0; d--) {
            at[d] = rest % t->shape[d].value;
            rest /= t->shape[d].value;
        }
        n = row - i % row;
        if (n > end - i) n = end - i;
        if (n > STRIP) n = STRIP;
        if (te_eval_row(p->m->eval, p->m->tensor, at, n, v)) return;   /* the check ends, too */
        for (int64_t k = 0; k < n; k++)
            te_store(t->dtype, &v[k], p->to + (size_t)(i - first + k) * size);
    }
}

static void make_page(void *user, size_t from, size_t bytes, unsigned char *to) {
    Maximum *m = user;
    pthread_mutex_lock(&m->one);
    if (!arena_try(m->arena, make_elements, &(Page){m, from, bytes, to}))
        atomic_store(&m->check->no_memory, true);
    pthread_mutex_unlock(&m->one);
}

static void close_maximum(void *user) {
    Maximum *m = user;
    pthread_mutex_destroy(&m->one);
    arena_destroy(m->arena);
}

static void open_eval(void *user) {
    Maximum *m = user;
    const Check *c = m->check;
    m->diag = diag_new(m->arena);
    if (te_eval_create(m->arena, &m->diag, m->te, c->ref.data, &m->eval)) m->eval = NULL;
    if (!m->eval) return;
    te_eval_watch(m->eval, c->o->watch);
    for (int t = 0; t < m->te->n_tensor; t++)
        if (c->data[t]) te_eval_bind(m->eval, t, c->data[t]);
}

const Lazy *check_maximum(Check *c, const Te *te, int tensor) {
    Maximum *m = ARENA_NEW(c->a, Maximum);
    *m = (Maximum){.arena = arena_create(NULL), .te = te, .tensor = tensor, .check = c};
    if (!m->arena) arena_fail(c->a);
    pthread_mutex_init(&m->one, NULL);
    arena_defer(c->a, close_maximum, m);
    if (!arena_try(m->arena, open_eval, m) || !m->eval) arena_fail(c->a);
    return check_lazy(c, te, tensor, make_page, m);
}
