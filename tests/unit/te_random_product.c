/* links: base */
#include "te_random_gen.h"

#include <string.h>

/* ---- rows of a product ---- */

const char *gen_factor(Gen *g, Class cls, uint32_t type, unsigned without) {
    int scope[MAX_AXES], n = g->n_scope;
    memcpy(scope, g->scope, sizeof scope);
    g->n_scope = 0;
    for (int i = 0; i < n; i++)
        if (!(without >> scope[i] & 1)) g->scope[g->n_scope++] = scope[i];
    size_t from = g->out.len;
    gen_read(g, gen_new_input(g, cls, type, (1U << g->n_scope) - 1), false, 0);
    memcpy(g->scope, scope, sizeof scope);
    g->n_scope = n;
    return gen_cut(g, from);
}

/* ---- operands that have names ---- */

/* An element for each place along the axes, for as many neighbours along one of them, or for all of
 * them; a read of it.  */
static const char *block_factor(Gen *g, const int *axis, int n) {
    static const uint32_t types[] = {0, 2, 3, 10};
    static const int block[] = {16, 8, 32, 64};
    size_t from = g->out.len;
    Tensor s = {.role = INPUT, .cls = REAL, .dtype = types[below(g, 4)]};
    gen_name(g, 'T', g->n_tensor, "[");
    for (int i = 0; i < n; i++) {
        uint32_t how = below(g, 3);
        if (how == 2 && s.rank + n - i > 1) continue;
        bool shared = how == 1 && gen_fixed(g, g->axis[axis[i]].size);
        if (s.rank) put(g, ",");
        gen_index_value(g, axis[i]);
        if (shared) buf_printf(&g->out, "/%d", s.block[s.rank] = block[below(g, 4)]);
        s.dim[s.rank++] = g->axis[axis[i]].size;
    }
    put(g, "]");
    g->n_input++;
    g->tensor[g->n_tensor++] = s;
    return gen_cut(g, from);
}

/* The product of both, perhaps rounded, as a temporary along the axes; a read of it.  */
static const char *assign_scaled(Gen *g, const Tensor *w, const int *axis, const char *x,
                                 const char *s) {
    size_t from = g->out.len;
    uint32_t how = below(g, 3);
    const char *type = gen_dtype(g, REAL, 2 + below(g, 2));
    gen_name(g, 'T', g->n_tensor, "[");
    for (int d = 0; d < w->rank; d++) {
        if (d) put(g, ",");
        gen_index_item(g, axis[gen_order(g, w, d)]);
    }
    put(g, "]");
    const char *point = gen_cut(g, from);
    buf_printf(&g->out, "%s=%s(%s*%s)", point, how == 1 ? type : "", g->style.swapped ? s : x,
               g->style.swapped ? x : s);
    gen_where(g);
    if (how == 2) buf_printf(&g->out, " @type(%s)", type);
    put(g, ";");
    g->tensor[g->n_tensor++] = *w;
    return point;
}

const char *gen_operand(Gen *g, Class cls, uint32_t type, unsigned without) {
    const char *x = gen_factor(g, cls, type, without);
    if (cls != REAL || g->n_input >= MAX_INPUTS || !chance(g, 4)) return x;
    int axis[MAX_AXES];
    Tensor w = {.role = TEMPORARY, .cls = cls, .dtype = type == 1};
    bool where[MAX_AXES];
    for (int k = 0; k < g->n_axis; k++) where[k] = g->axis[k].where;
    for (int i = 0; i < g->n_scope && w.rank < MAX_RANK; i++) {
        int k = g->scope[i];
        if (without >> k & 1) continue;
        axis[w.rank] = k;
        w.dim[w.rank++] = g->axis[k].size;
        g->axis[k].where = true;
    }
    const char *read = assign_scaled(g, &w, axis, x, block_factor(g, axis, w.rank));
    for (int k = 0; k < g->n_axis; k++) g->axis[k].where = where[k];
    return read;
}

const char *gen_begin(Gen *g, const Tensor *like, int rank, bool f64) {
    Tensor t = {.role = TEMPORARY, .cls = like->cls, .dtype = f64, .rank = rank};
    memcpy(t.dim, like->dim, sizeof t.dim);
    size_t from = g->out.len;
    gen_own_point(g, &t, g->n_tensor);
    const char *point = gen_cut(g, from);
    buf_printf(&g->out, "%s=", point);
    g->tensor[g->n_tensor++] = t;
    return point;
}

void gen_end(Gen *g) {
    gen_where(g);
    put(g, ";");
}

const char *gen_product(Gen *g, const Tensor *t, uint32_t type) {
    int axes = g->n_axis, k = gen_reduction_axis(g, true);
    if (k < 0) return NULL;
    bool batch = chance(g, 2);
    uint32_t other = chance(g, 6) ? below(g, DTYPES) : type;
    unsigned rows = batch ? 1U << (t->rank - 2) : (1U << (t->rank - 1)) - 1;
    const char *a = gen_operand(g, t->cls, type, 1U << (t->rank - 1));
    const char *b = gen_operand(g, t->cls, other, rows);
    const char *p = gen_begin(g, t, t->rank, type == 1 || other == 1);
    put(g, "sum[");
    gen_index_item(g, k);
    buf_printf(&g->out, "](%s*%s)", g->style.swapped ? b : a, g->style.swapped ? a : b);
    gen_end(g);
    gen_leave_axis(g, k);
    g->n_axis = axes;         /* without those of subscripts, too */
    return p;
}

/* An operand as it is read, or made of what is read.  */
static const char *made(Gen *g, const char *x, Class cls, uint32_t type) {
    uint32_t how = below(g, 12);
    if (cls != REAL || how < 9) return x;
    if (how == 9) return arena_printf(g->out.arena, "max(%s,0)", x);
    if (how == 10) return arena_printf(g->out.arena, "%s(%s)", gen_dtype(g, cls, type), x);
    return arena_printf(g->out.arena, "%s(%s*2)", gen_dtype(g, cls, type), x);
}

/* Elements of 8 bits or less, half of them with a scale of each row, which all of `without`
 * share.  */
static const char *scaled(Gen *g, const char *x, uint32_t type, unsigned without) {
    enum { E4M3 = 4, E2M1 = 8, UE8M0 = 10 };
    bool small = type >= E4M3 && type <= E2M1;
    if (!small || g->n_input >= MAX_INPUTS || chance(g, 2)) return x;
    return arena_printf(g->out.arena, "(%s*%s)", x, gen_factor(g, REAL, UE8M0, without));
}

/* A product alone, of types that matrix units have most of the time; axes before the rows as
 * above.  */
bool gen_matmul(Gen *g, const Tensor *t, size_t *body) {
    static const uint32_t real[] = {2, 3, 2, 3, 4, 5, 8, 8, 6, 7, 0}, integer[] = {3, 4, 0};
    if (t->cls == BOOLEAN || t->rank < 2 || g->n_input + 3 > MAX_INPUTS) return false;
    int k = gen_reduction_axis(g, true);
    if (k < 0) return false;
    bool batch = t->rank > 2 && chance(g, 2);
    uint32_t type = t->cls == REAL ? real[below(g, 7)] : integer[below(g, 3)], other = type;
    if (chance(g, 6)) other = below(g, DTYPES);
    unsigned rows = batch ? 1U << (t->rank - 2) : (1U << (t->rank - 1)) - 1;
    const char *a = made(g, gen_operand(g, t->cls, type, 1U << (t->rank - 1)), t->cls, type);
    const char *b = made(g, gen_operand(g, t->cls, other, rows), t->cls, type);
    if (t->cls == REAL) {
        a = scaled(g, a, type, 1U << (t->rank - 1) | 1U << k);
        b = scaled(g, b, other, rows | 1U << k);
    }
    *body = g->out.len;
    put(g, "sum[");
    gen_index_item(g, k);
    buf_printf(&g->out, "](%s*%s)", g->style.swapped ? b : a, g->style.swapped ? a : b);
    gen_leave_axis(g, k);
    return true;
}

/* A value of each row.  */
static const char *row_value(Gen *g, const Tensor *t, const char *p, const char *earlier) {
    static const char *const redop[] = {"max", "sum", "min"};
    bool exact = g->limits.exact, wide = g->tensor[g->n_tensor - 1].dtype == 1;
    uint32_t how = below(g, exact ? 3 : earlier ? 5 : 4);
    const char *v = gen_begin(g, t, t->rank - 1, wide);
    buf_printf(&g->out, "%s[", how < 3 ? redop[how] : "sum");
    gen_index_item(g, t->rank - 1);
    if (how < 3) buf_printf(&g->out, "](%s)", p);
    else if (how == 3) buf_printf(&g->out, "](%s*%s)", p, p);
    else buf_printf(&g->out, "](exp(%s-%s))", p, earlier);
    gen_end(g);
    return v;
}

bool gen_product_rows(Gen *g, const Tensor *t, size_t *body) {
    if (t->cls != REAL || t->rank < 2 || g->n_input + 2 > MAX_INPUTS) return false;
    bool open = t->role == TEMPORARY, two = chance(g, 2), mapped = chance(g, 3);
    for (int d = 0; d < t->rank; d++) g->axis[d].where = true;
    const char *p = gen_product(g, t, below(g, 4));
    if (p && mapped) {
        const char *was = p;
        p = gen_begin(g, t, t->rank, g->tensor[g->n_tensor - 1].dtype == 1);
        if (chance(g, 2)) buf_printf(&g->out, "%s*2", was);
        else buf_printf(&g->out, "max(%s,1)", was);
        gen_end(g);
    }
    const char *x = p ? row_value(g, t, p, NULL) : NULL;
    const char *y = p && two ? row_value(g, t, p, x) : x;
    for (int d = 0; d < t->rank; d++) g->axis[d].where = open;
    *body = g->out.len;
    if (!p) return false;
    if (chance(g, 4)) put(g, y);
    else if (g->limits.exact) buf_printf(&g->out, "%s-%s+%s", p, x, y);
    else if (two) buf_printf(&g->out, "(%s-%s)/(abs(%s)+1)", p, x, y);
    else buf_printf(&g->out, "exp(%s-%s)", p, x);
    return true;
}
