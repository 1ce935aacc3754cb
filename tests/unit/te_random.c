/* links: base */
#include "te_random_gen.h"

#include <string.h>

/* Of statements; the first ones are any expression.  */
enum {
    FOLLOWER = 3, STENCIL, WINDOW, SCAN, CONTRACTION, CONTRACTION_TOO, PRODUCT_ROWS, CONVOLUTION,
    KEPT_ROWS, MATMUL, KINDS, CHAIN, IMAGE
};

static void dimension(Gen *g, const Tensor *t, int d) {
    int64_t n = g->high[t->dim[d]], b = t->block[d];
    if (b > 1) {
        buf_printf(&g->out, "%lld", (long long)((n + b - 1) / b));
        return;
    }
    gen_name(g, 'S', t->dim[d], "");
    if (t->role >= TEMPORARY && gen_split(g, t->dim[d]))
        buf_printf(&g->out, "/%d,%d", g->style.split, g->style.split);
}

/* ---- statements ---- */

/* A product of new inputs, summed over one or two axes: what becomes tiles.  False if there is no
 * room.  */
static bool contraction(Gen *g, const Tensor *t) {
    if (t->cls == BOOLEAN || g->n_input + 2 > MAX_INPUTS) return false;
    int k = gen_reduction_axis(g, false), l = -1;
    if (k < 0) return false;
    if (chance(g, 3)) l = gen_reduction_axis(g, false);
    unsigned must = 1U << (g->n_scope - 1) | (l >= 0 ? 1U << (g->n_scope - 2) : 0);
    uint32_t type = below(g, DTYPES), type_b = chance(g, 3) ? below(g, DTYPES) : type;
    size_t from = g->out.len;
    if (!chance(g, 6) || g->n_input + 3 > MAX_INPUTS || !gen_joined(g, t->cls, type))
        gen_read(g, gen_new_input(g, t->cls, type, must), chance(g, 3), 0);
    const char *x = gen_cut(g, from);
    gen_read(g, gen_new_input(g, t->cls, type_b, must), chance(g, 5), 0);
    const char *y = gen_cut(g, from);
    put(g, "sum[");
    gen_index_item(g, k);
    if (l >= 0) put(g, ","), gen_index_item(g, l);
    buf_printf(&g->out, "](%s*%s)", g->style.swapped ? y : x, g->style.swapped ? x : y);
    if (l >= 0) gen_leave_axis(g, l);
    gen_leave_axis(g, k);
    return true;
}

/* A reduction over windows that move along the last one or two axes, over an input with one element
 * for each output, perhaps weighted: what becomes sliding windows.  */
static bool window(Gen *g, const Tensor *t) {
    static const char *const redop[] = {"sum", "max", "min"};
    if (t->cls == BOOLEAN || !t->rank || g->n_input + 2 > MAX_INPUTS) return false;
    int k[2] = {gen_reduction_axis(g, true), -1};
    if (k[0] < 0) return false;
    if (t->rank > 1 && chance(g, 2)) k[1] = gen_reduction_axis(g, true);
    int windows = k[1] < 0 ? 1 : 2;
    uint32_t type = below(g, DTYPES), op = below(g, 3);
    Tensor x = {.role = INPUT, .cls = t->cls, .dtype = type, .rank = t->rank};
    memcpy(x.dim, t->dim, sizeof x.dim);
    bool weighted = chance(g, 2);
    size_t from = g->out.len;
    if (weighted) {
        unsigned must = ((1U << windows) - 1) << t->rank;
        gen_read(g, gen_new_input(g, t->cls, type, must), false, 0);
    }
    const char *weight = gen_cut(g, from);
    buf_printf(&g->out, "%s[", redop[op]);
    for (int i = 0; i < windows; i++) {
        if (i) put(g, ",");
        gen_index_item(g, k[i]);
    }
    put(g, "]((");
    gen_name(g, 'T', g->n_tensor, "[");
    for (int d = 0; d < t->rank; d++) {
        if (d) put(g, ",");
        gen_index_value(g, d);
        int moves = d - (t->rank - windows);
        if (moves < 0) continue;
        buf_printf(&g->out, "*%d+", 1 + (int)below(g, 2));
        gen_index_value(g, k[moves]);
        buf_printf(&g->out, "-%d", (int)below(g, 3));
    }
    buf_printf(&g->out, "] else %s)", op == 1 && t->cls == REAL ? "-inf" : "0");
    if (weighted) buf_printf(&g->out, "*%s", weight);
    put(g, ")");
    g->wide |= type == 1;
    g->n_input++;
    g->tensor[g->n_tensor++] = x;
    for (int i = windows - 1; i >= 0; i--) gen_leave_axis(g, k[i]);
    return true;
}

/* The point, or one beside it along a dimension.  */
static void point(Gen *g, const Tensor *t, int tensor, int along, const char *by) {
    gen_name(g, 'T', tensor, "");
    put(g, "[");
    for (int d = 0; d < t->rank; d++) {
        if (d) put(g, ",");
        gen_index_item(g, gen_order(g, t, d));
        if (gen_order(g, t, d) == along) put(g, by);
    }
    put(g, "]");
}

void gen_own_point(Gen *g, const Tensor *t, int tensor) { point(g, t, tensor, -1, ""); }

/* The element before or behind, by a factor, and a term: of one element of the newest input.  */
static void recurrence(Gen *g, const Tensor *t, int along) {
    static const char *const other[] = {"0", "1.5", "-2"};
    size_t from = g->out.len;
    gen_name(g, 'T', g->n_tensor - 1, "[");
    for (int d = 0; d < t->rank; d++) {
        if (d) put(g, ",");
        gen_index_value(g, d);
    }
    put(g, "]");
    const char *element = gen_cut(g, from);
    const char *factor = chance(g, 2) ? "0.5" : chance(g, 2) ? "-1" : element;
    buf_printf(&g->out, "%s*(", factor);
    point(g, t, g->n_tensor, along, chance(g, 2) ? "+1" : "-1");
    buf_printf(&g->out, " else %s)+%s", other[below(g, 3)], element);
}

/* A reduction along one axis up to the element itself, or from it on, over an input with one
 * element for each output.  Axes that are written in parts are left out: these are two indices.  */
static bool scan(Gen *g, const Tensor *t) {
    static const char *const redop[] = {"sum", "max", "min"}, *const none[] = {"0", "-inf", "inf"};
    static const char *const order[] = {"<=", "<", ">=", ">"};
    static const char *const opposite[] = {">", ">=", "<", "<="};
    if (t->cls == BOOLEAN || !t->rank || g->n_input + 1 > MAX_INPUTS || g->n_axis == MAX_AXES)
        return false;
    int along = (int)below(g, (uint32_t)t->rank), size = t->dim[along];
    if (g->high[size] % 2 == 0 || g->high[size] % 3 == 0 || g->work * g->high[size] > gen_work(g))
        return false;
    uint32_t type = below(g, DTYPES), op = t->cls == REAL ? below(g, 3) : 0, way = below(g, 4);
    Tensor x = {.role = INPUT, .cls = t->cls, .dtype = type, .rank = t->rank};
    memcpy(x.dim, t->dim, sizeof x.dim);
    g->wide |= type == 1;
    g->n_input++;
    g->tensor[g->n_tensor++] = x;
    if (t->cls == REAL && chance(g, 3)) {
        recurrence(g, t, along);
        return true;
    }
    int k = gen_add_axis(g, size, true);
    size_t from = g->out.len;
    gen_name(g, 'T', g->n_tensor - 1, "[");
    for (int d = 0; d < t->rank; d++) {
        if (d) put(g, ",");
        gen_index_value(g, d == along ? k : d);
    }
    put(g, "]");
    const char *element = gen_cut(g, from);
    buf_printf(&g->out, "%s[", redop[op]);
    gen_index_item(g, k);
    put(g, "](");
    bool asks = chance(g, 4), factor = op == 0 && chance(g, 3);
    if (factor) put(g, "(");
    if (asks) put(g, g->style.swapped ? "!(" : "(");
    gen_index_value(g, k);
    put(g, g->style.swapped && !asks ? opposite[way] : order[way]);
    gen_index_value(g, along);
    if (asks) buf_printf(&g->out, "&&%s!=2)", element);
    const char *taken = factor ? t->cls == REAL ? "1.0" : "1" : element;
    buf_printf(&g->out, "?%s:%s)", g->style.swapped ? none[op] : taken,
               g->style.swapped ? taken : none[op]);
    if (factor) buf_printf(&g->out, "*%s)", element);
    return true;
}

/* A map of a new input at several shifts, with an element for each output: what becomes a stencil.
 */
static bool stencil(Gen *g, const Tensor *t) {
    if (t->cls == BOOLEAN || !t->rank || g->n_input + 1 > MAX_INPUTS) return false;
    uint32_t type = below(g, DTYPES);
    Tensor x = {.role = INPUT, .cls = t->cls, .dtype = type, .rank = t->rank};
    memcpy(x.dim, t->dim, sizeof x.dim);
    int taps = 2 + (int)below(g, 5), still = (int)below(g, (uint32_t)t->rank);
    const char *const other[] = {"0", "1", "-2"};
    const char *edge = other[below(g, 3)];
    int step = 1 + (int)chance(g, 6);
    put(g, "(");
    for (int i = 0; i < taps; i++) {
        if (i) put(g, chance(g, 3) ? "-" : "+");
        if (chance(g, 3)) buf_printf(&g->out, "%d*", 2 + (int)below(g, 3));
        put(g, "(");
        gen_name(g, 'T', g->n_tensor, "[");
        for (int d = 0; d < t->rank; d++) {
            int shift = d < still ? 0 : (int)below(g, 5) - 2;
            if (d) put(g, ",");
            gen_index_value(g, d);
            if (step > 1 && d >= still) buf_printf(&g->out, "*%d", step);
            if (shift) buf_printf(&g->out, "%+d", shift);
        }
        buf_printf(&g->out, "] else %s)", chance(g, 8) ? "3" : edge);
    }
    put(g, ")");
    g->wide |= type == 1;
    g->n_input++;
    g->tensor[g->n_tensor++] = x;
    return true;
}

/* An axis that a read of an earlier statement brought is none of this one.  */
static bool named(Gen *g, int k) {
    const char *prefix = g->style.prefix ? g->style.prefix : "";
    const char *name = arena_printf(g->out.arena, "%sx%d", prefix, k);
    return strstr(buf_str(&g->out) + g->begun, name) != NULL;
}

void gen_where(Gen *g) {
    const char *before = " where ";
    for (int k = 0; k < g->n_axis; k++) {
        const Axis *x = &g->axis[k];
        if (!x->where || !named(g, k)) continue;
        put(g, before);
        before = ", ";
        if (gen_split_axis(g, x)) {
            gen_name(g, 'x', k, "a");
            put(g, " in 0:");
            gen_name(g, 'S', x->size, "");
            buf_printf(&g->out, "/%d, ", g->style.split);
            gen_name(g, 'x', k, "b");
            buf_printf(&g->out, " in 0:%d", g->style.split);
            continue;
        }
        gen_name(g, 'x', k, "");
        if (gen_noise(g, 1, 1) && !x->from) put(g, " in ");
        else buf_printf(&g->out, " in %d:", x->from);
        gen_name(g, 'S', x->size, "");
    }
    g->begun = g->out.len;
}

static void annotations(Gen *g, const Tensor *t, bool sums) {
    static const char *const wider[] = {"f64", "i64"};
    if (sums && !g->wide && t->cls != BOOLEAN && chance(g, 6))
        buf_printf(&g->out, " @accum(%s)", wider[t->cls]);
    else if (sums && t->cls == REAL && chance(g, 8))
        put(g, " @tf32");
    if (t->role == TEMPORARY && t->dtype && t->cls != BOOLEAN)
        buf_printf(&g->out, " @type(%s)", gen_dtype(g, t->cls, t->dtype));
    if (!g->limits.exact && chance(g, 6)) put(g, " @fast");
}

/* The shape of what is assigned: often that of something earlier, or its first dimensions.  Of at
 * least as many if they fit.  */
static void choose_shape(Gen *g, Tensor *t, int least) {
    int64_t count = 1;
    const Tensor *like = g->n_tensor && !chance(g, 3)
                             ? &g->tensor[g->n_tensor - 1 - (int)below(g, (uint32_t)g->n_tensor)]
                             : NULL;
    int rank = (int)below(g, MAX_RANK);
    if (like && like->rank < least) like = NULL;
    if (rank < least) rank = least;
    g->n_axis = 0;
    for (int d = 0; d < rank && (!like || d < like->rank); d++) {
        int size = like ? like->dim[d] : gen_size(g);
        if (count * g->high[size] > gen_elements(g)) break;
        count *= g->high[size];
        if (g->limits.products) gen_add_axis(g, size, false);
        t->dim[t->rank++] = size;
    }
}

static void statement(Gen *g, bool last) {
    Tensor t = {.role = last || chance(g, 2) ? OUTPUT : TEMPORARY};
    static const uint32_t products[] = {MATMUL, MATMUL, MATMUL, PRODUCT_ROWS, CONVOLUTION, 0,
                                        CHAIN,  IMAGE,  IMAGE};
    uint32_t kind = g->limits.products ? products[below(g, 9)] : below(g, KINDS);
    if (kind == MATMUL) t.role = OUTPUT;
    bool real = kind == PRODUCT_ROWS || kind == CHAIN || (g->limits.products && !chance(g, 6));
    t.cls = real ? REAL : (Class)(below(g, 7) % 5 / 2);
    if (kind == CHAIN && chance(g, 3)) t.cls = INT;
    t.dtype = below(g, DTYPES);
    if (t.role == TEMPORARY && !chance(g, 4)) t.dtype = 0;
    if (kind == IMAGE) gen_image_shape(g, &t);
    else choose_shape(g, &t, kind == KEPT_ROWS ? 1 : kind >= PRODUCT_ROWS ? 2 : 0);
    if (t.role == OUTPUT && t.rank == 2 && chance(g, 12)) t.strides = 1;
    if (!gen_fixed(g, t.dim[0]) || !gen_fixed(g, t.dim[1])) t.strides = 0;
    g->n_axis = g->n_scope = 0;
    g->work = 1;
    g->wide = false;
    for (int d = 0; d < t.rank; d++) {
        g->scope[g->n_scope++] = gen_add_axis(g, t.dim[d], t.role == TEMPORARY);
        g->work *= g->high[t.dim[d]];
    }
    size_t lead = g->out.len;
    bool sums = (kind == CONTRACTION || kind == CONTRACTION_TOO) && contraction(g, &t);
    sums |= kind == CONVOLUTION && gen_convolution(g, &t);
    sums |= kind == MATMUL && gen_matmul(g, &t, &lead);
    bool folds = sums || (kind == WINDOW && window(g, &t)) || (kind == STENCIL && stencil(g, &t)) ||
                 (kind == SCAN && scan(g, &t)) ||
                 (kind == FOLLOWER && gen_follower(g, &t, &lead)) ||
                 (kind == KEPT_ROWS && gen_kept_rows(g, &t, &lead)) ||
                 (kind == PRODUCT_ROWS && gen_product_rows(g, &t, &lead)) ||
                 (kind == CHAIN && gen_chain(g, &t, &lead)) ||
                 (kind == IMAGE && gen_image(g, &t, &lead));
    if (!folds) gen_expr(g, t.cls, 1 + (int)below(g, 3));
    const char *body = gen_cut(g, lead);
    enum { F6E3M2 = 6 };      /* this and those behind it are so small that they refuse literals */
    bool small_real = t.cls == REAL && t.dtype >= F6E3M2;
    gen_own_point(g, &t, g->n_tensor);
    put(g, "=");
    if (t.cls == INT) buf_printf(&g->out, "%s(%s)", gen_dtype(g, INT, t.dtype), body);
    else if (small_real && !folds) buf_printf(&g->out, "f32(%s)", body);
    else put(g, body);
    gen_where(g);
    annotations(g, &t, sums);
    put(g, ";");
    gen_space(g);
    g->tensor[g->n_tensor++] = t;
}

/* ---- the file ---- */

static void choose_sizes(Gen *g) {
    enum { VALUES = 16 };
    static const int small[VALUES] = {1, 2, 3, 4, 8, 5, 7, 12, 16, 11, 13, 17, 24, 31, 32, 33};
    static const int tiles[VALUES] = {64, 32, 128, 16, 96, 48, 112, 80, 64, 128, 32, 8, 160, 72, 24,
                                      33};
    const int *value = g->limits.products ? tiles : small;
    static const int number[NUMBERS] = {1,  2,  3,  4,  5,  7,  8,  12,
                                        13, 14, 16, 20, 24, 28, 32, 48};
    for (int i = 0; i < NUMBERS; i++) g->low[SIZES + i] = g->high[SIZES + i] = number[i];
    bool runs = chance(g, 4) || g->limits.sized;
    for (int i = 0; i < BASE_SIZES; i++) {
        g->low[i] = g->high[i] = value[below(g, VALUES)];
        if (chance(g, 8)) g->low[i] = g->high[i] = 1;
        bool some = g->limits.sized ? !chance(g, 3) : chance(g, 2);
        if (runs && some && !g->limits.fixed) g->low[i] = 1 + below(g, 3);
        if (g->low[i] > g->high[i]) g->low[i] = g->high[i];
    }
    g->low[4] = 2 * g->low[0] + g->low[1];
    g->high[4] = 2 * g->high[0] + g->high[1];
    bool product = gen_fixed(g, 0) && gen_fixed(g, 2);
    g->low[5] = product ? g->low[0] * g->low[2] : g->low[0] + g->low[2];
    g->high[5] = product ? g->high[0] * g->high[2] : g->high[0] + g->high[2];
}

static void sizes(Gen *g) {
    static const int divisor[] = {8, 4, 3, 2};
    for (int i = 0; i < BASE_SIZES; i++) {
        put(g, "param ");
        gen_name(g, 'S', i, "");
        buf_printf(&g->out, "=%lld", (long long)g->low[i]);
        if (!gen_fixed(g, i)) buf_printf(&g->out, "..%lld", (long long)g->high[i]);
        for (int k = 0; !gen_fixed(g, i) && k < 4; k++) {
            if (g->high[i] % divisor[k]) continue;
            buf_printf(&g->out, "%%%d", divisor[k]);
            break;
        }
        put(g, ";");
        gen_space(g);
    }
    put(g, "let ");
    gen_name(g, 'S', 4, "=");
    gen_name(g, 'S', 0, "*2+");
    gen_name(g, 'S', 1, ";");
    put(g, "let ");
    gen_name(g, 'S', 5, "=");
    gen_name(g, 'S', 0, gen_fixed(g, 0) && gen_fixed(g, 2) ? "*" : "+");
    gen_name(g, 'S', 2, ";");
    gen_space(g);
}

/* Four bits where rows are of whole bytes, else six.  */
static uint32_t argument_type(const Gen *g, const Tensor *t) {
    enum { F6E2M3 = 7, F4E2M1 = 8 };
    int last = t->rank ? t->dim[t->rank - 1] : 0;
    bool even = t->rank && !t->strides && gen_fixed(g, last) && g->high[last] % 2 == 0;
    bool laid_anew = t->role == OUTPUT && g->limits.respelled;
    return t->cls == REAL && t->dtype == F4E2M1 && (!even || laid_anew) ? F6E2M3 : t->dtype;
}

static void argument(Gen *g, int i) {
    const Tensor *t = &g->tensor[i];
    gen_name(g, 'T', i, "");
    buf_printf(&g->out, ":%s", gen_dtype(g, t->cls, argument_type(g, t)));
    if (!t->rank && t->role != INPUT) return;
    put(g, "[");
    for (int d = 0; d < t->rank; d++) {
        if (d) put(g, ",");
        dimension(g, t, gen_order(g, t, d));
    }
    put(g, "]");
    bool rewritten = t->role == OUTPUT && (g->style.reversed || g->style.split > 1);
    if (!t->strides || rewritten) return;
    int64_t padded = g->high[t->dim[1]] + 3, column = g->high[t->dim[0]];
    if (t->strides == 3) put(g, " strides(0,1)");
    else if (t->strides == 2) buf_printf(&g->out, " strides(1,%lld)", (long long)column);
    else buf_printf(&g->out, " strides(%lld,1)", (long long)padded);
}

/* A launch reads run-time sizes from shapes: each is a dimension of some input.  */
static void show_sizes(Gen *g) {
    for (int s = 0; s < BASE_SIZES; s++) {
        bool shown = gen_fixed(g, s);
        for (int i = 0; i < g->n_tensor; i++)
            for (int d = 0; g->tensor[i].role == INPUT && d < g->tensor[i].rank; d++)
                shown |= g->tensor[i].dim[d] == s;
        if (!shown) g->tensor[g->n_tensor++] = (Tensor){.rank = 1, .dim = {s}};
    }
}

static void arguments(Gen *g, Role least, Role most) {
    bool any = false;
    put(g, "(");
    for (int i = 0; i < g->n_tensor; i++) {
        if (g->tensor[i].role < least || g->tensor[i].role > most) continue;
        if (any) put(g, ",");
        argument(g, i);
        any = true;
    }
    put(g, ")");
}

const char *random_program(Arena *a, Choices *c, const RandomStyle *style, RandomLimits limits) {
    Gen gen = {.c = c, .out = buf_new(a), .style = *style, .limits = limits}, *g = &gen;
    choose_sizes(g);
    int n = 1 + (int)below(g, limits.products ? MAX_PRODUCTS : MAX_STATEMENTS);
    for (int i = 0; i < n; i++) statement(g, i == n - 1);
    show_sizes(g);
    const char *body = gen_cut(g, 0);
    sizes(g);
    put(g, "op ");
    gen_name(g, 'f', 0, "");
    arguments(g, INPUT, SCALAR);
    put(g, "->");
    arguments(g, OUTPUT, OUTPUT);
    buf_printf(&g->out, "{%s}", body);
    return buf_str(&g->out);
}
