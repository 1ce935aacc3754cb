#include "driver/size_points.h"

enum { POINTS_MAX = 36, LEVELS_MAX = 34, FEW = 16 };
static const double accepted_loss = 0.05, weight_beyond = 4;

/* ---- the sizes that are tried ---- */

static int64_t step_of(const TeExtent *e) { return e->multiple > 1 ? e->multiple : 1; }

/* Ascending: the smallest size that is not 0, powers of `ratio` and the largest one, multiples
 * all.  */
static int levels_of(const TeExtent *e, int64_t ratio, int64_t *level) {
    int64_t q = step_of(e), lo = (e->min + q - 1) / q * q, hi = e->value / q * q;
    int64_t next = lo > 0 ? lo : q;
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

/* Point i of a grid of levels, and one below it.  */
static void set_point(const Te *te, int64_t level[][LEVELS_MAX], const int *n, int i, int64_t *at,
                      int64_t *below) {
    for (int s = 0; s < te->n_size; s++) {
        const TeExtent *e = &te->size[s].extent;
        at[s] = below[s] = e->value;
        if (!rplan_varies(te, s)) continue;
        int k = i % n[s];
        i /= n[s];
        at[s] = level[s][k];
        int64_t under = k ? (level[s][k - 1] + level[s][k]) / 2 : level[s][0], q = step_of(e);
        below[s] = k && under / q * q > level[s][k - 1] ? under / q * q : level[s][k];
    }
}

void size_points_find(Arena *a, const Te *te, SizePoints *out) {
    int64_t level[TE_MAX_SIZES][LEVELS_MAX];
    int n[TE_MAX_SIZES], total = 0;
    for (int64_t ratio = 2; total == 0 || (total > POINTS_MAX && ratio <= (int64_t)1 << 32);
         ratio *= 2) {
        total = 1;
        for (int s = 0; s < te->n_size; s++) {
            n[s] = rplan_varies(te, s) ? levels_of(&te->size[s].extent, ratio, level[s]) : 1;
            total = total > POINTS_MAX ? total : total * n[s];
        }
    }
    if (total > POINTS_MAX) total = 0;
    *out = (SizePoints){ARENA_ARRAY(a, int64_t *, 2 * total + 1), total, 2 * total};
    for (int i = 0; i < 2 * total; i++) out->value[i] = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < total; i++)
        set_point(te, level, n, i, out->value[i], out->value[total + i]);
}

bool size_points_tiny(const Te *te, const int64_t *value) {
    bool tiny = true;
    for (int s = 0; s < te->n_size; s++) tiny &= !rplan_varies(te, s) || value[s] < FEW;
    return tiny;
}

/* ---- the choice ---- */

static int taken_with(const SizeChoice *c, int point, int with) {
    for (int k = 0; k < c->n; k++) {
        const SizeOption *x = &c->option[k];
        if ((x->chosen || k == with) && x->us[point] >= 0) return k;
    }
    return c->n - 1;
}

int size_taken(const SizeChoice *c, int point) { return taken_with(c, point, -1); }

/* The mean loss; what is beyond the accepted one counts `beyond` times.  */
static double loss_with(const SizeChoice *c, int with, double beyond, double *worst) {
    double sum = 0;
    int points = 0;
    *worst = 0;
    for (int i = 0; i < c->n_point; i++) {
        if (c->counts && !c->counts[i]) continue;
        double loss = c->option[taken_with(c, i, with)].us[i] / c->best[i] - 1;
        sum += loss > accepted_loss ? loss + (beyond - 1) * (loss - accepted_loss) : loss;
        points++;
        if (loss > *worst) *worst = loss;
    }
    return points ? sum / points : 0;
}

double size_loss(const SizeChoice *c, double *worst) { return loss_with(c, -1, 1, worst); }

static double weighed(const SizeChoice *c, int with, double *worst) {
    return loss_with(c, with, weight_beyond, worst);
}

/* Drops options that others make superfluous; returns how many.  */
static int drop_idle(SizeChoice *c) {
    int dropped = 0;
    double most, worst, now = weighed(c, -1, &most);
    for (int k = 0; k + 1 < c->n; k++) {
        if (!c->option[k].chosen) continue;
        c->option[k].chosen = false;
        bool idle = weighed(c, -1, &worst) <= now && worst <= most;
        c->option[k].chosen = !idle;
        dropped += idle;
    }
    return dropped;
}

int size_choose(SizeChoice *c, int most) {
    int n = 1;
    double worst, now;
    c->option[c->n - 1].chosen = true;
    now = weighed(c, -1, &worst);
    while (n < most && worst > accepted_loss) {
        int best = -1;
        double least = now - c->least_gain, w;
        for (int k = 0; k + 1 < c->n; k++) {
            double loss = c->option[k].chosen ? now : weighed(c, k, &w);
            if (loss >= least) continue;
            least = loss;
            best = k;
        }
        if (best < 0) break;
        c->option[best].chosen = true;
        now = weighed(c, -1, &worst);
        n++;
    }
    return n - drop_idle(c);
}
