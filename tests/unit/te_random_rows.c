/* links: base */
#include "te_random_gen.h"

#include <string.h>

/* ---- statistics ---- */

/* How many terms a reduction over the axes has.  */
static void count(Gen *g, const int *k, int n, bool literal) {
    int64_t all = 1;
    for (int i = 0; i < n; i++) all *= g->high[g->axis[k[i]].size];
    if (literal) {
        buf_printf(&g->out, "/%lld", (long long)all);
        return;
    }
    put(g, "/");
    if (n > 1) put(g, "(");
    for (int i = 0; i < n; i++) gen_name(g, 'S', g->axis[k[i]].size, i + 1 < n ? "*" : "");
    if (n > 1) put(g, ")");
}

static void reduce(Gen *g, const char *redop, const int *k, int n) {
    buf_printf(&g->out, "%s[", redop);
    for (int i = 0; i < n; i++) {
        if (i) put(g, ",");
        gen_index_item(g, k[i]);
    }
    put(g, "]");
}

/* A mean or a maximum as a statement before this one, which then sums squared deviations from it or
 * exponentials under it, from *body on: what can be made in one pass.  */
bool gen_follower(Gen *g, const Tensor *t, size_t *body) {
    bool real = t->cls == REAL, fixed = true;
    if (t->cls == BOOLEAN || (real && g->limits.exact) || g->n_input + 2 > MAX_INPUTS) return false;
    int k[2] = {gen_reduction_axis(g, true), -1}, n = 1;
    if (k[0] < 0) return false;
    if (chance(g, 3) && (k[1] = gen_reduction_axis(g, true)) >= 0) n = 2;
    bool mean = !real || chance(g, 2);
    uint32_t type = below(g, DTYPES);
    size_t from = g->out.len;
    if (!chance(g, 4) || !gen_joined(g, t->cls, type))
        gen_read(g, gen_new_input(g, t->cls, type, (1U << g->n_scope) - 1), chance(g, 4), 0);
    const char *e = gen_cut(g, from);
    for (int i = 0; i < n; i++) fixed &= gen_fixed(g, g->axis[k[i]].size);
    Tensor lead = {.role = chance(g, 3) && (!real || type != 1) ? OUTPUT : TEMPORARY,
                   .cls = t->cls, .dtype = real ? type == 1 : 1, .rank = t->rank};
    memcpy(lead.dim, t->dim, sizeof lead.dim);
    bool open = t->role == TEMPORARY;
    for (int d = 0; d < t->rank; d++) g->axis[d].where = lead.role == TEMPORARY;
    gen_own_point(g, &lead, g->n_tensor);
    put(g, "=");
    reduce(g, mean ? "sum" : "max", k, n);
    buf_printf(&g->out, "(%s)", e);
    if (mean) count(g, k, n, fixed && chance(g, 2));
    gen_where(g);
    put(g, ";");
    for (int d = 0; d < t->rank; d++) g->axis[d].where = open;
    g->tensor[g->n_tensor++] = lead;
    from = g->out.len;
    gen_own_point(g, &lead, g->n_tensor - 1);
    const char *x = gen_cut(g, from);
    *body = from;
    reduce(g, "sum", k, n);
    if (mean) buf_printf(&g->out, "((%s-%s)*(%s-%s))", e, x, e, x);
    else buf_printf(&g->out, "(%s(%s-%s))", chance(g, 3) ? "exp2" : "exp", e, x);
    while (n > 0) gen_leave_axis(g, k[--n]);
    return true;
}

/* ---- rows that are read again ---- */

/* A statement before the one at hand assigns a tensor over its first `rank` axes; a read of
 * that.  */
static const char *assign(Gen *g, Tensor *x, const Tensor *like, int rank, const char *value) {
    size_t from = g->out.len;
    x->rank = rank;
    memcpy(x->dim, like->dim, sizeof x->dim);
    gen_own_point(g, x, g->n_tensor);
    const char *point = gen_cut(g, from);
    const char *type = gen_dtype(g, x->cls, x->dtype);
    buf_printf(&g->out, "%s=", point);
    if (x->cls == INT) buf_printf(&g->out, "%s(%s)", type, value);
    else put(g, value);
    gen_where(g);
    if (x->role == TEMPORARY && x->dtype) buf_printf(&g->out, " @type(%s)", type);
    put(g, ";");
    g->tensor[g->n_tensor++] = *x;
    return point;
}

/* One of some maps of two reads.  */
static const char *map_of(Gen *g, const char *x, const char *y) {
    const char *a = g->style.swapped ? y : x, *b = g->style.swapped ? x : y;
    switch (below(g, 5)) {
    case 0: return arena_printf(g->out.arena, "%s+%s", a, b);
    case 1: return arena_printf(g->out.arena, "%s*3", x);
    case 2: return arena_printf(g->out.arena, "%s-%s", x, y);
    case 3: return arena_printf(g->out.arena, "max(%s,%s)", x, y);
    default: return arena_printf(g->out.arena, "-%s", y);
    }
}

enum { KEPT_MOST = 4 };

/* The rows; how many there are.  */
static int some_rows(Gen *g, const Tensor *t, const char **at) {
    int n = 1 + (int)below(g, KEPT_MOST);
    uint32_t type = below(g, DTYPES);
    const char *in[2];
    size_t from = g->out.len;
    for (int i = 0; i < 2; i++) {
        gen_read(g, gen_new_input(g, t->cls, type, (1U << g->n_scope) - 1), false, 0);
        in[i] = gen_cut(g, from);
    }
    for (int i = 0; i < n; i++) {
        Tensor x = {.role = chance(g, 4) ? TEMPORARY : OUTPUT, .cls = t->cls, .dtype = type};
        if (chance(g, 3)) x.dtype = below(g, DTYPES);
        at[i] = assign(g, &x, t, t->rank, map_of(g, in[0], in[1]));
    }
    return n;
}

/* A value of each row.  */
static const char *row_value(Gen *g, const Tensor *t, const char *const *at, int n) {
    static const char *const redop[] = {"max", "sum", "min"};
    Tensor row = {.role = chance(g, 3) ? OUTPUT : TEMPORARY, .cls = t->cls};
    size_t from = g->out.len;
    int last = t->rank - 1;
    reduce(g, redop[below(g, 3)], &last, 1);
    put(g, "(");
    for (int i = 0; i < n; i++) buf_printf(&g->out, "%s%s", !i ? "" : i % 2 ? "+" : "-", at[i]);
    put(g, ")");
    return assign(g, &row, t, last, gen_cut(g, from));
}

/* Maps of the same rows, most of them outputs, a value of each row of them, and what is made of
 * both: what a kernel keeps to read it again, and what kernels behind it read.  */
bool gen_kept_rows(Gen *g, const Tensor *t, size_t *body) {
    if (t->cls == BOOLEAN || !t->rank || g->n_input + 2 > MAX_INPUTS) return false;
    bool open = t->role == TEMPORARY;
    for (int d = 0; d < t->rank; d++) g->axis[d].where = true;
    const char *at[KEPT_MOST];
    int n = some_rows(g, t, at);
    const char *value = row_value(g, t, at, n);
    for (int d = 0; d < t->rank; d++) g->axis[d].where = open;
    *body = g->out.len;
    if (t->cls == REAL && !g->limits.exact && chance(g, 3))
        buf_printf(&g->out, "exp(%s-%s)", at[0], value);
    else if (chance(g, 3)) buf_printf(&g->out, "(%s-%s)*%s", at[0], value, at[n - 1]);
    else buf_printf(&g->out, "%s-%s", at[below(g, (uint32_t)n)], value);
    return true;
}
