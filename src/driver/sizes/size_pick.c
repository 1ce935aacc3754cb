#include "driver/sizes/size_pick.h"

#include <math.h>
#include <string.h>

enum { STRATEGIES_MOST = 4, ROUNDS = 3 };
static const double accepted_loss = 0.05, high_loss = 0.25;
static const double least_gain = 0.005, least_gain_strategy = 0.02;

double size_weight(double loss) {
    double w = loss;
    if (loss > accepted_loss) w += 3 * (loss - accepted_loss);
    if (loss > high_loss) w += 12 * (loss - high_loss);
    return w;
}

/* us of the best that is picked for a group and those that are the same, at a point.  */
static double group_us(const SizePick *x, int strategy, int group, int point) {
    int slot = size_slot(x, strategy, group);
    double us = INFINITY;
    for (int k = 0; k < x->n_picked[slot]; k++) {
        double is = x->strategy[strategy].group[group].program[x->picked[slot][k]].us[point];
        if (is < us) us = is;
    }
    return us * x->strategy[strategy].group[group].count;
}

/* After a group's picks have changed.  */
static void set_sums(SizePick *x, int strategy, int group) {
    double *own = x->own[size_slot(x, strategy, group)];
    for (int i = 0; i < x->at->n; i++) {
        SizeSum sum = {0};
        own[i] = group_us(x, strategy, group, i);
        for (int g = 0; g < x->strategy[strategy].n; g++) {
            double us = x->own[size_slot(x, strategy, g)][i];
            if (isfinite(us)) sum.us += us;
            else sum.never++;
        }
        x->sum[strategy][i] = sum;
    }
}

static double strategy_us(const SizePick *x, int strategy, int point) {
    const SizeSum *sum = &x->sum[strategy][point];
    return sum->never ? INFINITY : sum->us;
}

/* us of all groups of a strategy but one.  */
static double others_us(const SizePick *x, int strategy, int group, int point) {
    SizeSum sum = x->sum[strategy][point];
    double own = x->own[size_slot(x, strategy, group)][point];
    if (isfinite(own)) sum.us -= own;
    else sum.never--;
    return sum.never ? INFINITY : sum.us;
}

double size_loss(const SizePick *x, int point) {
    double us = INFINITY;
    for (int s = 0; s < x->n_strategy; s++) {
        double is = x->open[s] ? strategy_us(x, s, point) : INFINITY;
        if (is < us) us = is;
    }
    return us / x->best[point] - 1;
}

/* ---- strategies ---- */

/* With all their programs, these n strategies lose so much.  */
static double loss_of(const SizePick *x, const int *strategy, int n) {
    double sum = 0;
    for (int i = 0; i < x->at->n; i++) {
        double us = INFINITY;
        for (int k = 0; k < n; k++) us = fmin(us, x->strategy[strategy[k]].us[i]);
        sum += size_weight(us / x->best[i] - 1);
    }
    return sum / x->at->n;
}

/* The first one, then those that gain most beside all before them; returns how many gain enough.
 */
static int order_strategies(const SizePick *x, int *order) {
    int n = 1;
    order[0] = 0;
    for (double now = loss_of(x, order, 1); n < STRATEGIES_MOST && n < x->most; n++) {
        int best = 0;
        double least = now - least_gain_strategy;
        for (int s = 1; s < x->n_strategy; s++) {
            order[n] = s;
            double loss = loss_of(x, order, n + 1);
            if (loss >= least) continue;
            least = loss;
            best = s;
        }
        if (best == 0) break;
        order[n] = best;
        now = least;
    }
    return n;
}

/* Is the strategy the fastest of the open ones there, with all programs?  */
static bool wins(const SizePick *x, int strategy, int point) {
    bool first = true;
    for (int s = 0; s < x->n_strategy; s++)
        first &= !x->open[s] || x->strategy[s].us[point] >=
                                    x->strategy[strategy].us[point];
    return first;
}

/* The program that alone serves a group best where its strategy wins.  */
static int best_alone(const SizePick *x, int strategy, int group) {
    const SizedGroup *g = &x->strategy[strategy].group[group];
    int best = 0;
    double least = INFINITY;
    for (int k = 0; k < g->n; k++) {
        double sum = 0;
        for (int i = 0; i < x->at->n; i++) {
            if (!wins(x, strategy, i)) continue;
            double loss = g->count * (g->program[k].us[i] - g->best[i]) / x->best[i];
            sum += isfinite(loss) ? size_weight(loss) : 1e3;
        }
        if (sum >= least) continue;
        least = sum;
        best = k;
    }
    return best;
}

/* ---- programs ---- */

/* The programs of an open strategy that compute one thing.  */
static int most_of_strategy(const SizePick *x, int strategy) {
    int most = 0;
    for (int g = 0; g < x->strategy[strategy].n; g++) {
        int n = x->n_picked[size_slot(x, strategy, g)];
        if (n > most) most = n;
    }
    return most;
}

static int most_in_all(const SizePick *x) {
    int sum = 0;
    for (int s = 0; s < x->n_strategy; s++) sum += x->open[s] ? most_of_strategy(x, s) : 0;
    return sum;
}

/* What a program of one group would change: us per point. */
typedef struct {
    double *others;           /* of the strategy's other groups */
    double *rest;             /* of the best other strategy */
    double *without;          /* of the group's best other program */
} Around;

/* `left_out`: a pick of the group that does not count; -1: none.  */
static void look_around(const SizePick *x, int strategy, int group, int left_out, Around *out) {
    int slot = size_slot(x, strategy, group);
    const SizedGroup *all = &x->strategy[strategy].group[group];
    for (int i = 0; i < x->at->n; i++) {
        double rest = INFINITY, without = INFINITY;
        for (int s = 0; s < x->n_strategy; s++) {
            double us = x->open[s] && s != strategy ? strategy_us(x, s, i) : INFINITY;
            if (us < rest) rest = us;
        }
        for (int k = 0; k < x->n_picked[slot]; k++) {
            double us = all->program[x->picked[slot][k]].us[i] * all->count;
            if (k != left_out && us < without) without = us;
        }
        out->others[i] = others_us(x, strategy, group, i);
        out->rest[i] = rest;
        out->without[i] = without;
    }
}

/* The mean weighed loss with this program of `count` equal groups (0: none) beside the others.  */
static double loss_with(const SizePick *x, const Around *r, const double *us, int count) {
    double sum = 0;
    for (int i = 0; i < x->at->n; i++) {
        double own = count && us[i] * count < r->without[i] ? us[i] * count : r->without[i];
        double all = r->others[i] + own < r->rest[i] ? r->others[i] + own : r->rest[i];
        sum += size_weight(all / x->best[i] - 1);
    }
    return sum / x->at->n;
}

/* The program of the group with which least is lost, if that is less than *least.  */
static int best_beside(const SizePick *x, const Around *r, const SizedGroup *g, double *least) {
    int best = -1;
    for (int k = 0; k < g->n; k++) {
        double loss = loss_with(x, r, g->program[k].us, g->count);
        if (loss >= *least) continue;
        *least = loss;
        best = k;
    }
    return best;
}

static bool may_add(const SizePick *x, int s, int g) {
    int n = x->n_picked[size_slot(x, s, g)];
    return n < most_of_strategy(x, s) || most_in_all(x) < x->most;
}

static void add_pick(SizePick *x, int strategy, int group, int program) {
    int slot = size_slot(x, strategy, group);
    x->picked[slot][x->n_picked[slot]++] = program;
    set_sums(x, strategy, group);
}

/* Adds the program that gains most; false: none gains enough.  */
static bool add_best(SizePick *x, Around *r) {
    double least = INFINITY;
    int strategy = -1, group = 0, program = 0;
    for (int s = 0; s < x->n_strategy; s++) {
        for (int g = 0; x->open[s] && g < x->strategy[s].n; g++) {
            if (!may_add(x, s, g)) continue;
            look_around(x, s, g, -1, r);
            if (least == INFINITY) least = loss_with(x, r, NULL, 0) - least_gain;
            int k = best_beside(x, r, &x->strategy[s].group[g], &least);
            if (k < 0) continue;
            strategy = s;
            group = g;
            program = k;
        }
    }
    if (strategy < 0) return false;
    add_pick(x, strategy, group, program);
    return true;
}

/* Puts the best program in the place of pick k, or none, if hardly anything is lost without.  */
static bool exchange_one(SizePick *x, Around *r, int s, int g, int k) {
    const SizedGroup *group = &x->strategy[s].group[g];
    int slot = size_slot(x, s, g);
    look_around(x, s, g, k, r);
    double now = loss_with(x, r, group->program[x->picked[slot][k]].us, group->count);
    double least = now - least_gain / 4;
    if (x->n_picked[slot] > 1 && loss_with(x, r, NULL, 0) < now + least_gain) {
        x->picked[slot][k] = x->picked[slot][--x->n_picked[slot]];
    } else {
        int best = best_beside(x, r, group, &least);
        if (best < 0) return false;
        x->picked[slot][k] = best;
    }
    set_sums(x, s, g);
    return true;
}

/* All picks; the first of the first strategy stays, since it is right at all sizes.  */
static bool exchange(SizePick *x, Around *r) {
    bool any = false;
    for (int s = 0; s < x->n_strategy; s++) {
        for (int g = 0; x->open[s] && g < x->strategy[s].n; g++) {
            for (int k = x->n_picked[size_slot(x, s, g)] - 1; k >= (s == 0); k--)
                any |= exchange_one(x, r, s, g, k);
        }
    }
    return any;
}

static double worst_loss(const SizePick *x) {
    double worst = 0;
    for (int i = 0; i < x->at->n; i++) worst = fmax(worst, size_loss(x, i));
    return worst;
}

/* Adds programs while they gain enough and any size loses more than what is accepted.  */
static void add_more(SizePick *x, Around *r) {
    while (worst_loss(x) > accepted_loss && add_best(x, r)) continue;
}

/* One program of each group of the open strategies.  */
static void pick_first(SizePick *x) {
    for (int s = 0; s < x->n_strategy; s++) {
        for (int g = 0; x->open[s] && g < x->strategy[s].n; g++) {
            int slot = size_slot(x, s, g);
            x->n_picked[slot] = 1;
            x->picked[slot][0] = s ? best_alone(x, s, g) : 0;
            for (int i = 0; i < x->at->n; i++) x->own[slot][i] = group_us(x, s, g, i);
        }
        if (x->open[s] && x->strategy[s].n > 0) set_sums(x, s, 0);
    }
}

static void open_picks(SizePick *x) {
    int slots = x->n_strategy * x->groups;
    x->open = ARENA_ARRAY(x->a, bool, x->n_strategy);
    x->n_picked = ARENA_ARRAY(x->a, int, slots);
    x->picked = ARENA_ARRAY(x->a, int *, slots);
    x->own = ARENA_ARRAY(x->a, double *, slots);
    x->sum = ARENA_ARRAY(x->a, SizeSum *, x->n_strategy);
    for (int k = 0; k < slots; k++) x->picked[k] = ARENA_ARRAY(x->a, int, RPLAN_SET + 1);
    for (int k = 0; k < slots; k++) x->own[k] = ARENA_ARRAY(x->a, double, x->at->n);
    for (int s = 0; s < x->n_strategy; s++) x->sum[s] = ARENA_ARRAY(x->a, SizeSum, x->at->n);
}

/* Picks of the first n strategies alone.  */
static void pick_of(SizePick *x, const int *order, int n, Around *r) {
    open_picks(x);
    for (int k = 0; k < n; k++) x->open[order[k]] = true;
    pick_first(x);
    add_more(x, r);
    for (int round = 0; round < ROUNDS && exchange(x, r); round++) add_more(x, r);
}

/* What is lost, and what the programs must gain to be there.  */
static double cost_of_picks(const SizePick *x) {
    double sum = 0;
    for (int i = 0; i < x->at->n; i++) sum += size_weight(size_loss(x, i));
    return sum / x->at->n + least_gain * most_in_all(x);
}

/* A strategy takes programs from the others: where there are too few, fewer strategies may lose
 * less.  */
void size_pick(SizePick *x) {
    int points = x->at->n, order[STRATEGIES_MOST], n = order_strategies(x, order);
    double least = INFINITY;
    Around r = {ARENA_ARRAY(x->a, double, points), ARENA_ARRAY(x->a, double, points),
                ARENA_ARRAY(x->a, double, points)};
    for (bool few = true; few && n > 0; n--) {
        SizePick now = *x;
        pick_of(&now, order, n, &r);
        double cost = cost_of_picks(&now);
        if (cost >= least) continue;
        least = cost;
        *x = now;
        few = most_in_all(x) == x->most;
    }
}
