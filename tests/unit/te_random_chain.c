/* links: base */
/* Softmax between two products, or nothing but a rounding.  */
#include "te_random_gen.h"

#include <string.h>

/* The last axis runs over another size from now on.  */
static void resize(Gen *g, int last, int size) {
    g->work = g->work / g->high[g->axis[last].size] * g->high[size];
    g->axis[last].size = size;
}

static bool has_room(const Gen *g, const Tensor *t, int columns) {
    int64_t count = g->high[columns];
    for (int d = 0; d + 1 < t->rank; d++) count *= g->high[t->dim[d]];
    int64_t work = g->work / g->high[t->dim[t->rank - 1]] * g->high[columns];
    return count <= gen_elements(g) && work <= gen_work(g) &&
           g->work * g->high[columns] <= gen_work(g) && g->n_axis < MAX_AXES;
}

/* The scores as they are, masked, or scaled; a read of them.  */
static const char *mapped(Gen *g, const Tensor *s, const char *p, bool wide) {
    uint32_t how = below(g, 4);
    if (how == 0) return p;
    const char *m = gen_begin(g, s, s->rank, wide);
    if (how == 1) {
        buf_printf(&g->out, "%s*0.125", p);
    } else {
        gen_index_value(g, s->rank - 1);
        put(g, how == 2 ? "<=" : "+3>");
        gen_index_value(g, s->rank - 2);
        buf_printf(&g->out, "?%s:-inf", p);
    }
    gen_end(g);
    return m;
}

/* Element of tensor `tensor` at the axes of its rows and at axis `column`.  */
static const char *at_column(Gen *g, int tensor, int column) {
    const Tensor *t = &g->tensor[tensor];
    size_t from = g->out.len;
    gen_name(g, 'T', tensor, "[");
    for (int d = 0; d < t->rank; d++) {
        int axis = gen_order(g, t, d);
        if (d) put(g, ",");
        gen_index_item(g, axis == t->rank - 1 ? column : axis);
    }
    put(g, "]");
    return gen_cut(g, from);
}

static const char *row_value(Gen *g, const Tensor *s, const char *e, bool wide, const char *max) {
    const char *v = gen_begin(g, s, s->rank - 1, wide);
    put(g, max ? "sum[" : "max[");
    gen_index_item(g, s->rank - 1);
    if (max) buf_printf(&g->out, "](exp(%s-%s))", e, max);
    else buf_printf(&g->out, "](%s)", e);
    gen_end(g);
    return v;
}

/* Divided before the sum, behind it, or not at all.  */
static void write_second(Gen *g, int k, const char *power, const char *z, const char *v,
                         const char *to) {
    uint32_t how = z ? below(g, 3) : 0;
    put(g, "sum[");
    gen_index_item(g, k);
    buf_printf(&g->out, "](%s(%s%s%s)*%s)", to, power, how == 1 ? "/" : "", how == 1 ? z : "", v);
    if (how == 2) buf_printf(&g->out, "/%s", z);
}

/* The statements of a row's scores, maximum and sum; false if there is no room.  */
typedef struct {
    int scores;               /* tensor */
    const char *max, *sum;
} Row;

enum { SINK = 2 };

/* Ends a statement that does not run over the columns.  */
static void end_row(Gen *g, const Tensor *s) {
    g->axis[s->rank - 1].where = false;
    gen_end(g);
    g->axis[s->rank - 1].where = true;
}

/* The maximum, or a number; the sum with that.  */
static const char *raised(Gen *g, const Tensor *s, const char *max, bool wide) {
    const char *v = gen_begin(g, s, s->rank - 1, wide);
    buf_printf(&g->out, "max(%s,%d)", max, SINK);
    end_row(g, s);
    return v;
}

static const char *with_sink(Gen *g, const Tensor *s, const Row *row, bool wide) {
    const char *v = gen_begin(g, s, s->rank - 1, wide);
    buf_printf(&g->out, "%s+exp(%d-%s)", row->sum, SINK, row->max);
    end_row(g, s);
    return v;
}

static bool write_row(Gen *g, const Tensor *s, uint32_t type, Row *row) {
    const char *e = gen_product(g, s, type);
    if (!e) return false;
    bool wide = g->tensor[g->n_tensor - 1].dtype == 1;
    e = mapped(g, s, e, wide);
    row->scores = g->n_tensor - 1;
    row->max = row_value(g, s, e, wide, NULL);
    bool sink = chance(g, 4);
    if (sink) row->max = raised(g, s, row->max, wide);
    row->sum = row_value(g, s, e, wide, row->max);
    if (sink && chance(g, 2)) row->sum = with_sink(g, s, row, wide);
    return true;
}

/* Results as they are, or none below 0.  */
static bool write_pair(Gen *g, const Tensor *s, uint32_t type, Row *row) {
    const char *p = gen_product(g, s, type);
    *row = (Row){.scores = g->n_tensor - 1};
    if (!p || chance(g, 2)) return p != NULL;
    bool wide = g->tensor[row->scores].dtype == 1;
    row->scores = g->n_tensor;
    gen_begin(g, s, s->rank, wide);
    buf_printf(&g->out, "max(%s,0)", p);
    gen_end(g);
    return true;
}

/* Types that the second product may have of the first one's results.  */
static uint32_t choose_type(Gen *g, Class cls, bool pair) {
    static const uint32_t reals[] = {2, 3, 2, 3, 0}, pairs[] = {2, 3, 4, 5, 1};
    static const uint32_t integers[] = {3, 4};
    if (cls == INT) return integers[below(g, 2)];
    return (pair ? pairs : reals)[below(g, 5)];
}

bool gen_chain(Gen *g, const Tensor *t, size_t *body) {
    if (t->cls == BOOLEAN || t->rank < 2 || (t->cls == REAL && g->limits.exact) ||
        g->n_input + 3 > MAX_INPUTS ||
        g->n_tensor + 10 > MAX_TENSORS)
        return false;
    int last = t->rank - 1, columns = gen_size(g);
    if (!has_room(g, t, columns)) return false;
    bool pair = t->cls == INT || chance(g, 3);
    uint32_t type = choose_type(g, t->cls, pair);
    Tensor s = *t;
    Row row;
    s.dim[last] = columns;
    resize(g, last, columns);
    for (int d = 0; d < t->rank; d++) g->axis[d].where = true;
    bool room = pair ? write_pair(g, &s, type, &row) : write_row(g, &s, type, &row);
    resize(g, last, t->dim[last]);
    for (int d = 0; d < t->rank; d++) g->axis[d].where = t->role == TEMPORARY;
    *body = g->out.len;
    if (!room) return false;
    int k = gen_add_axis(g, columns, true);
    g->work *= g->high[columns];
    g->scope[g->n_scope++] = k;
    uint32_t other = chance(g, 6) ? below(g, 4) : type;
    unsigned rows = chance(g, 2) ? 1U << (last - 1) : (1U << last) - 1;
    const char *v = gen_factor(g, t->cls, other, rows), *to = gen_dtype(g, t->cls, type);
    const char *x = at_column(g, row.scores, k);
    *body = g->out.len;
    if (!pair) x = arena_printf(g->out.arena, "exp(%s-%s)", x, row.max);
    write_second(g, k, x, row.sum, v, to);
    gen_leave_axis(g, k);
    return true;
}
