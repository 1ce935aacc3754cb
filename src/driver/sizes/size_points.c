#include "driver/sizes/size_points.h"
#include "base/hash.h"

#include <math.h>
#include <string.h>

/* Points at which programs are planned and priced: so many, and more for each further class.  For
 * each program that there may be at least some are planned.  */
enum { PLANNED = 48, PLANNED_MORE = 8, PRICED = 960, PRICED_MORE = 960, CLASSES = 4 };
enum { PLANNED_EACH = 4 };

/* Sizes that move together; one that does so with no other is a class of its own.  */
typedef struct {
    const Te *te;
    int *size;                /* of all classes, one behind the other */
    int *first;               /* per class, and the end */
    int n;
    const int64_t *multiple;  /* per size: worth knowing of */
    Rng rng;
} Classes;

/* ---- which move together ---- */

/* How often a size is a factor of a product; -1: it is in it in another way.  */
static int factor(const TeExpr *e, int size) {
    int sum = 0, inside = 0;
    if (e->kind == TE_SIZE) return e->v.ref == size;
    for (int i = 0; i < e->n_args; i++) {
        int n = factor(e->args[i], size);
        inside |= n != 0;
        sum = n < 0 || sum < 0 ? -1 : sum + n;
    }
    return e->kind == TE_MUL || !inside ? sum : -1;
}

static bool move_together(const RSelector *m, int s, int t) {
    bool same = true;
    for (int k = 0; k < m->n_axis; k++) {
        int x = factor(m->measure[k].expr, s), y = factor(m->measure[k].expr, t);
        same &= x >= 0 && x == y;
    }
    /* Sizes made of others may hide them.  */
    for (int i = 0; i < m->te->n_size; i++) {
        const TeExpr *e = m->te->size[i].extent.expr;
        same &= m->te->size[i].kind != TE_SIZE_LET || !e ||
                (factor(e, s) == 0 && factor(e, t) == 0);
    }
    return same;
}

static Classes classes_of(Arena *a, const Te *te, const RSelector *m) {
    Classes c = {.te = te, .size = ARENA_ARRAY(a, int, te->n_size + 1),
                 .first = ARENA_ARRAY(a, int, te->n_size + 2), .rng = {1}};
    bool *known = ARENA_ARRAY(a, bool, te->n_size + 1);
    int n = 0;
    for (int s = 0; s < te->n_size; s++) {
        if (!rplan_varies(te, s) || known[s]) continue;
        for (int t = s; t < te->n_size; t++) {
            if (!rplan_varies(te, t) || known[t] || (t != s && !move_together(m, s, t))) continue;
            known[t] = true;
            c.size[n++] = t;
        }
        known[s] = true;
        c.first[++c.n] = n;
    }
    return c;
}

/* ---- values ---- */

static int64_t step_of(const TeExtent *e) { return e->multiple > 1 ? e->multiple : 1; }

/* The smallest that is not 0.  */
static int64_t least_of(const TeExtent *e) {
    int64_t q = step_of(e), lo = (e->min + q - 1) / q * q;
    return lo > 0 ? lo : q;
}

static int64_t most_of(const TeExtent *e) { return e->value / step_of(e) * step_of(e); }

static const TeExtent *size_of(const Classes *c, int i) { return &c->te->size[c->size[i]].extent; }

static int64_t in_range(const TeExtent *e, double v) {
    int64_t lo = least_of(e), hi = most_of(e), n = (int64_t)(v + 0.5) / step_of(e) * step_of(e);
    return n < lo ? lo : n > hi ? hi : n;
}

/* The power of two below that the size may be.  */
static int64_t power_below(const TeExtent *e, int64_t v) {
    int64_t p = 1;
    while (2 * p <= v) p *= 2;
    return p % step_of(e) == 0 && p >= least_of(e) ? p : v;
}

/* The multiple below that the size may be.  */
static int64_t multiple_below(const TeExtent *e, int64_t v, int64_t q) {
    int64_t m = q > 1 ? v / q * q : v;
    return m % step_of(e) == 0 && m >= least_of(e) ? m : v;
}

/* What is drawn: any sizes, powers of two, multiples that are worth knowing of, these of some.  */
typedef enum { DRAW_ANY, DRAW_POWERS, DRAW_MULTIPLES, DRAW_SOME, DRAWS } Draw;

static int64_t drawn(Classes *c, int size, int64_t v, Draw draw) {
    const TeExtent *e = &c->te->size[size].extent;
    if (draw == DRAW_POWERS) return power_below(e, v);
    if (draw == DRAW_ANY || (draw == DRAW_SOME && rng_below(&c->rng, 2))) return v;
    return multiple_below(e, v, c->multiple[size]);
}

/* Sizes of a class whose product lies `along` its range: how far of what is left each goes is
 * drawn, the last one takes the rest.  */
static void set_class(Classes *c, int class, double along, Draw draw, int64_t *at) {
    double room = 0, left;
    for (int i = c->first[class]; i < c->first[class + 1]; i++) {
        room += log((double)most_of(size_of(c, i)) / (double)least_of(size_of(c, i)));
    }
    left = along * room;
    for (int i = c->first[class]; i < c->first[class + 1]; i++) {
        const TeExtent *e = size_of(c, i);
        double own = log((double)most_of(e) / (double)least_of(e)), least, most;
        room -= own;
        least = left > room ? left - room : 0;
        most = left < own ? left : own;
        double goes = least + (most - least) * rng_below(&c->rng, 1 << 16) / (1 << 16);
        if (i + 1 == c->first[class + 1]) goes = left;
        int64_t v = in_range(e, (double)least_of(e) * exp(goes));
        v = drawn(c, c->size[i], v, draw);
        at[c->size[i]] = v;
        left -= log((double)v / (double)least_of(e));
        if (left < 0) left = 0;
    }
}

/* Where point i of a sequence that fills a cube evenly lies along class k: multiples of powers of
 * the root of g^(d+1) = g + 1 (M. Roberts, "The unreasonable effectiveness of quasirandom
 * sequences", 2018).  A part of the range at each end is the end.  */
static double along_class(const Classes *c, int i, int k) {
    const double end = 1.0 / 12;
    double g = 2;
    for (int r = 0; r < 64; r++) g = pow(1 + g, 1.0 / (c->n + 1));
    double x = 0.5 + pow(g, -1 - k) * i;
    x = (x - floor(x) - end) / (1 - 2 * end);
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static void set_fixed(const Classes *c, int64_t *at) {
    for (int s = 0; s < c->te->n_size; s++) at[s] = c->te->size[s].extent.value;
}

void size_points_find(Arena *a, const Te *te, const RSelector *measures, const int64_t *multiple,
                      int programs, SizePoints *out) {
    Classes c = classes_of(a, te, measures);
    c.multiple = multiple;
    int many = c.n < CLASSES ? c.n : CLASSES, corners = 1 << many;
    *out = (SizePoints){.n_planned = corners, .n = corners};
    if (c.n > 0) {
        int each = PLANNED_EACH * programs;
        out->n_planned += (each > PLANNED ? each : PLANNED) + (many - 1) * PLANNED_MORE;
        out->n = out->n_planned + PRICED + (many - 1) * PRICED_MORE;
    }
    out->value = ARENA_ARRAY(a, int64_t *, out->n);
    for (int i = 0; i < out->n; i++) {
        int64_t *at = out->value[i] = ARENA_ARRAY(a, int64_t, te->n_size + 1);
        set_fixed(&c, at);
        for (int k = 0; k < c.n; k++) {
            int low = i == 1 ? 1 : i == corners - 1 ? k == 0 : i >> k % CLASSES & 1;
            if (i < corners) set_class(&c, k, low ? 0 : 1, DRAW_ANY, at);
            else set_class(&c, k, along_class(&c, i - corners + 1, k), (Draw)(i % DRAWS), at);
        }
    }
}
