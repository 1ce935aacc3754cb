/* links: base */
/* Convolutions: over any axes, and of images as networks have them.  */
#include "te_random_gen.h"

/* ---- over any axes ---- */

typedef struct {
    int scale[MAX_RANK], shift[MAX_RANK]; /* per axis of places */
    int stride;                           /* of a transposed convolution; else 0 */
} Windows;

static Windows choose_windows(Gen *g, int n) {
    Windows w = {0};
    for (int i = 0; i < n; i++) {
        w.scale[i] = 1 + (int)chance(g, 3);
        w.shift[i] = (int)below(g, 3);
    }
    if (w.shift[0] == 2 && w.scale[0] == 1) w.stride = 2 + w.shift[n - 1] % 2;
    return w;
}

/* The subscripts of x, which gets its dimensions; without x, what has to hold of them.  */
static void put_windows(Gen *g, const Tensor *t, int filter, const int *k, const Windows *w,
                        Tensor *x) {
    for (int d = 0, i = 0; d < t->rank; d++) {
        if (d == filter) continue;
        if (i) put(g, x ? "," : "&&");
        if (w->stride) put(g, "(");
        gen_index_value(g, d);
        if (w->stride) buf_printf(&g->out, "+%d-", w->shift[i]);
        else buf_printf(&g->out, "*%d+", w->scale[i]);
        gen_index_value(g, k[i]);
        if (!w->stride) buf_printf(&g->out, "-%d", w->shift[i]);
        else buf_printf(&g->out, x ? ")/%d" : ")%%%d==0", w->stride);
        if (x) x->dim[x->rank++] = t->dim[d];
        i++;
    }
}

/* t is [filters, places] or [places, filters], of one axis of places or two; perhaps channels,
 * perhaps transposed.  */
bool gen_convolution(Gen *g, const Tensor *t) {
    if (t->cls == BOOLEAN || t->rank < 2 || g->n_input + 2 > MAX_INPUTS) return false;
    bool last = chance(g, 2);
    int filter = last ? t->rank - 1 : 0, windows = t->rank - 1, k[MAX_RANK], n = 0;
    for (int want = windows + (int)chance(g, 2); n < want; n++)
        if ((k[n] = gen_reduction_axis(g, true)) < 0) break;
    if (n < windows) {
        while (n > 0) gen_leave_axis(g, k[--n]), g->n_axis--;
        return false;
    }
    uint32_t type = below(g, DTYPES);
    unsigned places = ((1U << t->rank) - 1) & ~(1U << filter);
    const char *weight = gen_factor(g, t->cls, type, places);
    Tensor x = {.role = INPUT, .cls = t->cls, .dtype = type};
    put(g, "sum[");
    for (int i = 0; i < n; i++) {
        if (i) put(g, ",");
        gen_index_item(g, k[i]);
    }
    put(g, "]((");
    Windows w = choose_windows(g, windows);
    if (w.stride) {
        put_windows(g, t, filter, k, &w, NULL);
        if (chance(g, 4)) buf_printf(&g->out, "&&%s!=2", weight);
        put(g, "?(");
    }
    gen_name(g, 'T', g->n_tensor, "[");
    put_windows(g, t, filter, k, &w, &x);
    if (n > windows) {
        put(g, ",");
        gen_index_value(g, k[windows]);
        x.dim[x.rank++] = g->axis[k[windows]].size;
    }
    buf_printf(&g->out, "] else 0)%s*%s)", w.stride ? ":0)" : "", weight);
    g->wide |= type == 1;
    g->n_input++;
    g->tensor[g->n_tensor++] = x;
    while (n > 0) gen_leave_axis(g, k[--n]);
    return true;
}

/* ---- of images: small windows, a few channels, that lie last or before the places ---- */

/* Two sides that are mostly the same, and filters.  */
void gen_image_shape(Gen *g, Tensor *t) {
    static const int extent[] = {16, 24, 32, 8, 16, 12, 14, 7, 20, 13, 5};
    int rank = chance(g, 3) ? MAX_RANK : MAX_RANK - 1, first = rank - 3;
    int64_t count = 1, n = 1;
    for (int d = 0; d < rank; d++) {
        if (d < first) n = 2 + (int)below(g, 2);
        else if (d != first + 1 || chance(g, 4)) n = extent[below(g, 11)];
        if (count * n > gen_elements(g)) n = 5;
        count *= n;
        t->dim[t->rank++] = gen_number(g, n);
    }
}

typedef struct {
    int place, filter, k[3];  /* axes: of two places and of filters; of a window and of channels */
    int stride, dilation, pad;
} Image;

static bool add_sums(Gen *g, Image *m) {
    static const int window[] = {3, 2, 1, 5};
    static const int channels[] = {16, 8, 32, 3, 12, 5, 24, 4, 20, 7, 48};
    int n = 0, r = window[below(g, 4)];
    int64_t last = channels[below(g, 11)], size[] = {r, chance(g, 4) ? 1 : r, last};
    for (; n < 3; n++)
        if ((m->k[n] = gen_axis_over(g, gen_number(g, size[n]))) < 0) break;
    if (n == 3) return true;
    while (n > 0) gen_leave_axis(g, m->k[--n]), g->n_axis--;
    return false;
}

/* Element of a new input that the window has at the place; nothing beyond the edges.  */
static const char *pixel(Gen *g, const Tensor *t, const Image *m, uint32_t type) {
    bool last = !chance(g, 3);
    size_t from = g->out.len;
    Tensor x = {.role = INPUT, .cls = t->cls, .dtype = type};
    put(g, "(");
    gen_name(g, 'T', g->n_tensor, "[");
    if (t->rank == MAX_RANK) {
        gen_index_value(g, 0);
        put(g, ",");
        x.dim[x.rank++] = t->dim[0];
    }
    for (int i = 0; i < 3; i++) {
        int d = last ? i : (i + 2) % 3;       /* places 0 and 1, channels 2 */
        if (i) put(g, ",");
        if (d < 2) {
            int64_t side = m->stride * g->high[t->dim[m->place + d]];
            gen_index_value(g, m->place + d);
            buf_printf(&g->out, "*%d+", m->stride);
            gen_index_value(g, m->k[d]);
            buf_printf(&g->out, "*%d-%d", m->dilation, m->pad);
            x.dim[x.rank++] = gen_number(g, side);
        } else {
            gen_index_value(g, m->k[2]);
            x.dim[x.rank++] = g->axis[m->k[2]].size;
        }
    }
    put(g, "] else 0)");
    g->wide |= type == 1;
    g->n_input++;
    g->tensor[g->n_tensor++] = x;
    return gen_cut(g, from);
}

/* A new input that has an element for each place in the window, channel and filter.  */
static const char *weight(Gen *g, const Tensor *t, const Image *m, uint32_t type) {
    static const int order[][MAX_RANK] = {{3, 0, 1, 2}, {0, 1, 2, 3}, {3, 2, 0, 1}, {2, 0, 1, 3}};
    const int *at = order[below(g, 4)], axis[] = {m->k[0], m->k[1], m->k[2], m->filter};
    size_t from = g->out.len;
    Tensor w = {.role = INPUT, .cls = t->cls, .dtype = type, .rank = MAX_RANK};
    gen_name(g, 'T', g->n_tensor, "[");
    for (int i = 0; i < MAX_RANK; i++) {
        if (i) put(g, ",");
        gen_index_value(g, axis[at[i]]);
        w.dim[i] = g->axis[axis[at[i]]].size;
    }
    put(g, "]");
    g->n_input++;
    g->tensor[g->n_tensor++] = w;
    return gen_cut(g, from);
}

static Image choose_image(Gen *g, const Tensor *t) {
    int batch = t->rank == MAX_RANK;
    bool last = !chance(g, 3);
    Image m = {.place = last ? batch : batch + 1, .filter = last ? t->rank - 1 : batch};
    m.stride = 1 + (int)chance(g, 4);
    for (int i = 0; i < 2; i++)
        if (gen_number(g, m.stride * g->high[t->dim[m.place + i]]) < 0) m.stride = 1;
    m.dilation = 1 + (int)chance(g, 8);
    m.pad = (int)below(g, 3);
    return m;
}

/* Perhaps none below 0, or a number for each filter is added.  */
bool gen_image(Gen *g, const Tensor *t, size_t *body) {
    static const uint32_t real[] = {2, 3, 4, 0, 5, 2}, integer[] = {3, 4, 0};
    if (t->cls == BOOLEAN || g->n_input + 3 > MAX_INPUTS) return false;
    Image m = choose_image(g, t);
    if (!add_sums(g, &m)) return false;
    uint32_t type = t->cls == REAL ? real[below(g, 6)] : integer[below(g, 3)];
    unsigned places = ((1U << t->rank) - 1) & ~(1U << m.filter);
    const char *w = weight(g, t, &m, type), *x = pixel(g, t, &m, type);
    bool open = t->role == TEMPORARY, mapped = chance(g, 3);
    for (int d = 0; d < t->rank; d++) g->axis[d].where = open || mapped;
    const char *p = mapped ? gen_begin(g, t, t->rank, false) : NULL;
    put(g, "sum[");
    for (int i = 0; i < 3; i++) {
        if (i) put(g, ",");
        gen_index_item(g, m.k[i]);
    }
    buf_printf(&g->out, "](%s*%s)", g->style.swapped ? w : x, g->style.swapped ? x : w);
    for (int i = 2; i >= 0; i--) gen_leave_axis(g, m.k[i]);
    if (!mapped) return true;
    gen_end(g);
    for (int d = 0; d < t->rank; d++) g->axis[d].where = open;
    const char *bias = chance(g, 2) ? gen_factor(g, t->cls, 0, places) : NULL;
    *body = g->out.len;
    if (bias) buf_printf(&g->out, "max(%s+%s,0)", p, bias);
    else buf_printf(&g->out, "max(%s,0)", p);
    return true;
}
