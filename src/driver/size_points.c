#include "driver/size_points.h"

#include <math.h>
#include <string.h>

enum { POINTS_MAX = 48, LEVELS_MAX = 34, FEW = 16, BETWEEN = 96, TRIED = 16 };
static const double accepted_loss = 0.05, weight_beyond = 4;

/* ---- the sizes that are tried ---- */

static int64_t step_of(const TeExtent *e) { return e->multiple > 1 ? e->multiple : 1; }

/* The smallest that is not 0.  */
static int64_t least_of(const TeExtent *e) {
    int64_t q = step_of(e), lo = (e->min + q - 1) / q * q;
    return lo > 0 ? lo : q;
}

/* Ascending: the smallest size, powers of `ratio` and the largest one, multiples all.  */
static int levels_of(const TeExtent *e, int64_t ratio, int64_t *level) {
    int64_t q = step_of(e), hi = e->value / q * q, next = least_of(e);
    int n = 0;
    while (next < hi && n < LEVELS_MAX - 1) {
        level[n++] = next;
        int64_t power = 1;
        while (power <= next) power *= ratio;
        next = (power + q - 1) / q * q;
    }
    level[n++] = hi;
    return n;
}

typedef struct {
    const Te *te;
    int64_t level[TE_MAX_SIZES][LEVELS_MAX];
    int n[TE_MAX_SIZES];      /* levels of a size; 1: it does not vary */
    int *pick[POINTS_MAX];    /* a level per size */
    int n_point;
    Arena *arena;
} Design;

/* The levels of every size; how many points their grid has, POINTS_MAX + 1 standing for more.  */
static int set_levels(Design *x, int64_t ratio) {
    int total = 1;
    for (int s = 0; s < x->te->n_size; s++) {
        bool varies = rplan_varies(x->te, s);
        x->n[s] = varies ? levels_of(&x->te->size[s].extent, ratio, x->level[s]) : 1;
        total = total > POINTS_MAX ? total : total * x->n[s];
    }
    return total > POINTS_MAX ? POINTS_MAX + 1 : total;
}

/* Points in this order come after all that are nowhere larger.  */
static int order(const Design *x, const int *a, const int *b) {
    for (int s = x->te->n_size - 1; s >= 0; s--) {
        if (a[s] != b[s]) return a[s] < b[s] ? -1 : 1;
    }
    return 0;
}

/* Puts a point into its place, unless it is there or there is no room.  */
static void add_point(Design *x, const int *pick) {
    int at = 0;
    while (at < x->n_point && order(x, x->pick[at], pick) < 0) at++;
    bool known = at < x->n_point && order(x, x->pick[at], pick) == 0;
    if (known || x->n_point == POINTS_MAX) return;
    memmove(&x->pick[at + 1], &x->pick[at], (size_t)(x->n_point++ - at) * sizeof *x->pick);
    x->pick[at] = ARENA_ARRAY(x->arena, int, x->te->n_size + 1);
    memcpy(x->pick[at], pick, (size_t)x->te->n_size * sizeof *pick);
}

static void add_grid(Design *x, int total) {
    int *pick = ARENA_ARRAY(x->arena, int, x->te->n_size + 1);
    for (int i = 0; i < total; i++) {
        for (int s = 0, rest = i; s < x->te->n_size; rest /= x->n[s++]) pick[s] = rest % x->n[s];
        add_point(x, pick);
    }
}

/* All sizes at one end, but one (-1: none) at level `of`.  */
static void add_but_one(Design *x, bool largest, int one, int of) {
    int *pick = ARENA_ARRAY(x->arena, int, x->te->n_size + 1);
    for (int s = 0; s < x->te->n_size; s++)
        pick[s] = s == one ? of : largest ? x->n[s] - 1 : 0;
    add_point(x, pick);
}

static int n_varying(const Te *te) {
    int n = 0;
    for (int s = 0; s < te->n_size; s++) n += rplan_varies(te, s);
    return n;
}

/* Where point i of a sequence that fills a cube evenly lies along each size: multiples of powers of
 * the root of g^(d+1) = g + 1 (M. Roberts, "The unreasonable effectiveness of quasirandom
 * sequences", 2018).  */
static void spread(const Te *te, int i, double *along) {
    double g = 2, place = 1;
    for (int k = 0; k < 64; k++) g = pow(1 + g, 1.0 / (n_varying(te) + 1));
    for (int s = 0; s < te->n_size; s++) {
        if (!rplan_varies(te, s)) continue;
        place /= g;
        along[s] = 0.5 + place * i;
        along[s] -= floor(along[s]);
    }
}

/* Any sizes: as many of each order of magnitude as of another.  */
static void set_between(const Te *te, const double *along, int64_t *at) {
    for (int s = 0; s < te->n_size; s++) {
        const TeExtent *e = &te->size[s].extent;
        int64_t q = step_of(e), lo = least_of(e), hi = e->value / q * q;
        at[s] = e->value;
        if (!rplan_varies(te, s)) continue;
        double v = (double)lo * pow((double)(hi + q) / (double)lo, along[s]);
        at[s] = (int64_t)v / q * q;
        at[s] = at[s] < lo ? lo : at[s] > hi ? hi : at[s];
    }
}

/* The largest sizes but for two of them, which are at these levels.  */
static void add_but_two(Design *x, int one, int level, int two, int other) {
    int *pick = ARENA_ARRAY(x->arena, int, x->te->n_size + 1);
    for (int s = 0; s < x->te->n_size; s++) pick[s] = x->n[s] - 1;
    pick[one] = level;
    pick[two] = other;
    add_point(x, pick);
}

/* Where a grid would have too many points: what is far below the end in many sizes is hardly ever a
 * bound of anything, so the two ends, then one size below its largest, then two.  */
static void add_cross(Design *x) {
    int sizes = x->te->n_size;
    add_but_one(x, true, -1, 0);
    add_but_one(x, false, -1, 0);
    for (int k = 0; k < LEVELS_MAX; k++) {
        for (int s = 0; s < sizes; s++) {
            if (k + 1 < x->n[s]) add_but_one(x, true, s, k);
        }
    }
    for (int k = 1; k < LEVELS_MAX; k++) {
        for (int s = 0; s < sizes; s++) {
            for (int t = s + 1; t < sizes; t++) {
                if (k + 1 < x->n[s] && k + 1 < x->n[t]) add_but_two(x, s, k, t, k);
            }
        }
    }
}

/* Point i, and one below it.  */
static void set_point(const Design *x, int i, int64_t *at, int64_t *below) {
    for (int s = 0; s < x->te->n_size; s++) {
        const TeExtent *e = &x->te->size[s].extent;
        const int64_t *level = x->level[s];
        int k = x->pick[i][s];
        at[s] = below[s] = e->value;
        if (!rplan_varies(x->te, s)) continue;
        at[s] = level[k];
        int64_t under = k ? (level[k - 1] + level[k]) / 2 : level[0], q = step_of(e);
        below[s] = k && under / q * q > level[k - 1] ? under / q * q : level[k];
    }
}

void size_points_find(Arena *a, const Te *te, SizePoints *out) {
    enum { COARSE = 64, FINE = 8 };
    Design *x = ARENA_NEW(a, Design);
    *x = (Design){.te = te, .arena = a};
    int64_t ratio = 2;
    int varying = n_varying(te);
    int total = set_levels(x, ratio);
    while (total > POINTS_MAX && ratio < COARSE) total = set_levels(x, ratio *= 2);
    if (total <= POINTS_MAX) {
        add_grid(x, total);
    } else {
        set_levels(x, FINE);
        add_cross(x);
    }
    total = x->n_point;
    int between = varying > 1 ? BETWEEN : 0, n = 2 * total + between;
    *out = (SizePoints){ARENA_ARRAY(a, int64_t *, n + 1), total, between ? TRIED : 0, n};
    for (int i = 0; i < n; i++) out->value[i] = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < total; i++) set_point(x, i, out->value[i], out->value[total + i]);
    double *along = ARENA_ARRAY(a, double, te->n_size + 1);
    for (int i = 0; i < between; i++) {
        spread(te, i + 1, along);
        set_between(te, along, out->value[2 * total + i]);
    }
}

bool size_points_tiny(const Te *te, const int64_t *value) {
    bool tiny = true;
    for (int s = 0; s < te->n_size; s++) tiny &= !rplan_varies(te, s) || value[s] < FEW;
    return tiny;
}

/* ---- the choice ---- */

int size_taken(const SizeChoice *c, int point) {
    for (int k = 0; k < c->n; k++) {
        const SizeOption *x = &c->option[k];
        if (x->chosen && x->us[point] >= 0) return k;
    }
    return c->n - 1;
}

static void find_taken(const SizeChoice *c) {
    for (int i = 0; i < c->n_point; i++) c->taken[i] = size_taken(c, i);
}

/* The mean loss with what is taken, and one option more; what is beyond the accepted one counts
 * `beyond` times.  */
static double loss_with(const SizeChoice *c, int with, double beyond, double *worst) {
    double sum = 0;
    int points = 0;
    *worst = 0;
    for (int i = 0; i < c->n_point; i++) {
        if (c->counts && !c->counts[i]) continue;
        bool other = with >= 0 && with < c->taken[i] && c->option[with].us[i] >= 0;
        double loss = c->option[other ? with : c->taken[i]].us[i] / c->best[i] - 1;
        sum += loss > accepted_loss ? loss + (beyond - 1) * (loss - accepted_loss) : loss;
        points++;
        if (loss > *worst) *worst = loss;
    }
    return points ? sum / points : 0;
}

double size_loss(const SizeChoice *c, double *worst) {
    find_taken(c);
    return loss_with(c, -1, 1, worst);
}

static double weighed(const SizeChoice *c, double *worst) {
    find_taken(c);
    return loss_with(c, -1, weight_beyond, worst);
}

/* Drops options that others make superfluous; returns how many.  */
static int drop_idle(SizeChoice *c) {
    int dropped = 0;
    double most, worst, now = weighed(c, &most);
    for (int k = 0; k + 1 < c->n; k++) {
        if (!c->option[k].chosen) continue;
        c->option[k].chosen = false;
        bool idle = weighed(c, &worst) <= now && worst <= most;
        c->option[k].chosen = !idle;
        dropped += idle;
    }
    return dropped;
}

/* Is what the option takes chosen for other sizes?  */
static bool is_there(const SizeChoice *c, int option) {
    for (int k = 0; k < c->n; k++) {
        if (c->option[k].chosen && c->option[k].what == c->option[option].what) return true;
    }
    return false;
}

int size_choose(SizeChoice *c, int most) {
    int n = 1;
    double worst, w;
    c->option[c->n - 1].chosen = true;
    double now = weighed(c, &worst);
    while (n < most && worst > accepted_loss) {
        int best = -1;
        double gain = 0;
        for (int k = 0; k + 1 < c->n; k++) {
            if (c->option[k].chosen) continue;
            double more = now - loss_with(c, k, weight_beyond, &w);
            if (more <= gain || (more <= c->least_gain && !is_there(c, k))) continue;
            gain = more;
            best = k;
        }
        if (best < 0) break;
        c->option[best].chosen = true;
        now = weighed(c, &worst);
        n++;
    }
    return n - drop_idle(c);
}
