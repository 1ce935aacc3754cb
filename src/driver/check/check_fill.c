#include "driver/check/check_impl.h"
#include "base/pool.h"

static void close_lazy(void *m) { lazy_close(m); }

static void make_page(void *user, size_t from, size_t bytes, unsigned char *to) {
    te_source_make(user, from, bytes, to);
}

void check_count_filled(Check *c, const Te *te, const Lazy *const *data, int first, int end) {
    for (int t = first; t < end; t++)
        if (data[t])
            c->out->filled += (int64_t)(lazy_made(data[t]) * LAZY_PAGE /
                                        (size_t)te_dtype_bytes(te->tensor[t].dtype));
}

typedef struct {
    const Lazy *data;
    size_t step;
} Making;

static bool make_step(void *user, int64_t i, int worker) {
    (void)worker;
    const Making *m = user;
    size_t from = (size_t)i * m->step, left = m->data->bytes - from;
    lazy_at(m->data, from, left < m->step ? left : m->step);
    return true;
}

/* All of it, which a device needs, on several threads.  */
static void make_all(const Check *c, const Lazy *data) {
    Making m = {data, 256 * LAZY_PAGE};
    pool_for(c->o->threads, (int64_t)((data->bytes + m.step - 1) / m.step), make_step, &m);
}

const Lazy *check_lazy(Check *c, const Te *te, int tensor, LazyMake *make, void *user) {
    Lazy *m = ARENA_NEW(c->a, Lazy);
    if (!lazy_open(m, te_tensor_bytes(&te->tensor[tensor]), make, user)) arena_fail(c->a);
    arena_defer(c->a, close_lazy, m);
    bool on_device = c->o->place && c->o->place->context;
    if (on_device || te->tensor[tensor].role == TE_VALUE) make_all(c, m);
    return m;
}

const Lazy *check_fill(Check *c, const Te *te, int tensor) {
    TeSource *s = te_source(c->a, te, tensor, c->fill, check_seed(c));
    return check_lazy(c, te, tensor, make_page, s);
}
