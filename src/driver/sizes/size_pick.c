#include "driver/sizes/size_pick.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 3 };
static const double accepted_loss = 0.05, high_loss = 0.25;

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

/* ---- what may be added ---- */

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

static bool may_add(const SizePick *x, int s, int g) {
    bool beside = x->open[s] && x->n_picked[size_slot(x, s, g)] < most_of_strategy(x, s);
    return beside || most_in_all(x) < x->most;
}

/* What a program of one group would change: us per point. */
typedef struct {
    double *others;           /* of the strategy's other groups */
    double *rest;             /* of the best other strategy */
    double *without;          /* of the group's best program */
} Around;

static void look_at_rest(const SizePick *x, int strategy, Around *out) {
    for (int i = 0; i < x->at->n; i++) out->rest[i] = INFINITY;
    for (int s = 0; s < x->n_strategy; s++)
        for (int i = 0; x->open[s] && s != strategy && i < x->at->n; i++)
            out->rest[i] = fmin(out->rest[i], strategy_us(x, s, i));
}

/* Of a strategy that is not open the group has no program yet, and the others the best.  */
static void look_at_group(const SizePick *x, int strategy, int group, Around *out) {
    const SizedSet *set = &x->strategy[strategy];
    const SizedGroup *own = &set->group[group];
    for (int i = 0; i < x->at->n; i++) {
        bool open = x->open[strategy], right = isfinite(set->us[i]);
        out->without[i] = open ? x->own[size_slot(x, strategy, group)][i] : INFINITY;
        if (open) out->others[i] = others_us(x, strategy, group, i);
        else out->others[i] = right ? set->us[i] - own->count * own->best[i] : INFINITY;
    }
}

/* The mean weighed loss with this program of `count` equal groups beside the others.  */
static double loss_with(const SizePick *x, const Around *r, const double *us, int count) {
    double sum = 0;
    for (int i = 0; i < x->at->n; i++) {
        double own = us[i] * count < r->without[i] ? us[i] * count : r->without[i];
        double all = r->others[i] + own < r->rest[i] ? r->others[i] + own : r->rest[i];
        sum += size_weight(all / x->best[i] - 1);
    }
    return sum / x->at->n;
}

/* The program of the group with which least is lost, if that is less than *least; -1: none.  */
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

/* ---- changes ---- */

static double mean_loss(const SizePick *x) {
    double sum = 0;
    for (int i = 0; i < x->at->n; i++) sum += size_weight(size_loss(x, i));
    return sum / x->at->n;
}

/* What is lost, and what the kernels must gain to be there.  */
static double cost_of_picks(const SizePick *x) {
    int kernels = 0;
    for (int s = 0; s < x->n_strategy; s++)
        for (int g = 0; x->open[s] && g < x->strategy[s].n; g++)
            kernels += x->n_picked[size_slot(x, s, g)];
    return mean_loss(x) + x->least_gain * kernels;
}

/* A program of a group of an open strategy, or a strategy with one of each group.  */
typedef struct {
    int strategy, group;      /* -1: none; all groups */
    int *program;             /* per group */
    double cost;              /* of all picks with it */
} Change;

static void add_pick(SizePick *x, int strategy, int group, int program) {
    int slot = size_slot(x, strategy, group);
    x->picked[slot][x->n_picked[slot]++] = program;
    set_sums(x, strategy, group);
}

static void open_strategy(SizePick *x, int strategy, const int *program) {
    const SizedSet *set = &x->strategy[strategy];
    x->open[strategy] = true;
    for (int g = 0; g < set->n; g++) {
        int slot = size_slot(x, strategy, g);
        x->n_picked[slot] = 1;
        x->picked[slot][0] = program[g];
        for (int i = 0; i < x->at->n; i++) x->own[slot][i] = group_us(x, strategy, g, i);
    }
    if (set->n > 0) set_sums(x, strategy, 0);
}

static void close_strategy(SizePick *x, int strategy) {
    x->open[strategy] = false;
    for (int g = 0; g < x->strategy[strategy].n; g++) x->n_picked[size_slot(x, strategy, g)] = 0;
}

static void make_change(SizePick *x, const Change *c) {
    if (c->group < 0) open_strategy(x, c->strategy, c->program);
    else add_pick(x, c->strategy, c->group, c->program[c->group]);
}

/* `kernels`: what the picks so far must gain.  */
static void try_programs(const SizePick *x, Around *r, int s, double kernels, Change *best) {
    double least = best->cost - kernels - x->least_gain;
    for (int g = 0; g < x->strategy[s].n; g++) {
        if (!may_add(x, s, g)) continue;
        look_at_group(x, s, g, r);
        int k = best_beside(x, r, &x->strategy[s].group[g], &least);
        if (k < 0) continue;
        best->strategy = s;
        best->group = g;
        best->program[g] = k;
        best->cost = least + kernels + x->least_gain;
    }
}

/* Each group gets the program that is best while the others have theirs.  */
static void try_strategy(SizePick *x, Around *r, int s, Change *best) {
    int *program = ARENA_ARRAY(x->a, int, x->groups);
    for (int g = 0; g < x->strategy[s].n; g++) {
        double least = INFINITY;
        look_at_group(x, s, g, r);
        program[g] = best_beside(x, r, &x->strategy[s].group[g], &least);
        if (program[g] < 0) return;
    }
    open_strategy(x, s, program);
    double cost = cost_of_picks(x);
    close_strategy(x, s);
    if (cost < best->cost) *best = (Change){s, -1, program, cost};
}

/* What costs least of all that may be added, if that is less than without.  */
static Change best_change(SizePick *x, Around *r) {
    double now = cost_of_picks(x), kernels = now - mean_loss(x);
    Change best = {-1, -1, ARENA_ARRAY(x->a, int, x->groups), now};
    for (int s = 0; s < x->n_strategy; s++) {
        look_at_rest(x, s, r);
        if (x->open[s]) try_programs(x, r, s, kernels, &best);
        else if (most_in_all(x) < x->most) try_strategy(x, r, s, &best);
    }
    return best;
}

/* ---- exchanges ---- */

/* After something was taken out: is it better so, or with something in its place?  */
static bool is_better(SizePick *x, Around *r, double before) {
    Change best = best_change(x, r);
    if (best.strategy < 0 || best.cost >= before - x->least_gain / 4)
        return cost_of_picks(x) <= before;
    make_change(x, &best);
    return true;
}

static bool exchange_pick(SizePick *x, Around *r, int s, int g, int k) {
    int slot = size_slot(x, s, g), program = x->picked[slot][k];
    double before = cost_of_picks(x);
    x->picked[slot][k] = x->picked[slot][--x->n_picked[slot]];
    set_sums(x, s, g);
    if (is_better(x, r, before)) return true;
    add_pick(x, s, g, program);
    return false;
}

static bool exchange_strategy(SizePick *x, Around *r, int s) {
    int *program = ARENA_ARRAY(x->a, int, x->groups);
    double before = cost_of_picks(x);
    for (int g = 0; g < x->strategy[s].n; g++) program[g] = x->picked[size_slot(x, s, g)][0];
    close_strategy(x, s);
    if (is_better(x, r, before)) return true;
    open_strategy(x, s, program);
    return false;
}

/* All picks; the first of the first strategy stays, since it is right at all sizes.  */
static bool exchange(SizePick *x, Around *r) {
    bool any = false;
    for (int s = 0; s < x->n_strategy; s++) {
        for (int g = 0; x->open[s] && g < x->strategy[s].n; g++) {
            int *n = &x->n_picked[size_slot(x, s, g)];
            for (int k = *n - 1; k >= (s == 0) && *n > 1; k--) any |= exchange_pick(x, r, s, g, k);
        }
        if (s > 0 && x->open[s] && most_of_strategy(x, s) == 1) any |= exchange_strategy(x, r, s);
    }
    return any;
}

static double worst_loss(const SizePick *x) {
    double worst = 0;
    for (int i = 0; i < x->at->n; i++) worst = fmax(worst, size_loss(x, i));
    return worst;
}

/* Adds what gains enough while any size loses more than what is accepted.  */
static void add_more(SizePick *x, Around *r) {
    while (x->all || worst_loss(x) > accepted_loss) {
        Change best = best_change(x, r);
        if (best.strategy < 0) break;
        make_change(x, &best);
    }
}

static void open_picks(SizePick *x) {
    int slots = x->n_strategy * x->groups;
    x->open = ARENA_ARRAY(x->a, bool, x->n_strategy);
    x->n_picked = ARENA_ARRAY(x->a, int, slots);
    x->picked = ARENA_ARRAY(x->a, int *, slots);
    x->own = ARENA_ARRAY(x->a, double *, slots);
    x->sum = ARENA_ARRAY(x->a, SizeSum *, x->n_strategy);
    for (int k = 0; k < slots; k++) x->picked[k] = ARENA_ARRAY(x->a, int, x->most + 1);
    for (int k = 0; k < slots; k++) x->own[k] = ARENA_ARRAY(x->a, double, x->at->n);
    for (int s = 0; s < x->n_strategy; s++) x->sum[s] = ARENA_ARRAY(x->a, SizeSum, x->at->n);
}

SizePick size_pick_new(Arena *a, const SizedSet *strategy, int n, const SizePoints *at) {
    SizePick x = {.a = a, .strategy = strategy, .n_strategy = n, .at = at, .most = RPLAN_SET,
                  .best = ARENA_ARRAY(a, double, at->n)};
    for (int i = 0; i < at->n; i++) x.best[i] = INFINITY;
    for (int s = 0; s < n; s++) {
        if (strategy[s].n > x.groups) x.groups = strategy[s].n;
        for (int i = 0; i < at->n; i++) x.best[i] = fmin(x.best[i], strategy[s].us[i]);
    }
    return x;
}

void size_pick(SizePick *x) {
    int points = x->at->n, *first = ARENA_ARRAY(x->a, int, x->groups);
    Around r = {ARENA_ARRAY(x->a, double, points), ARENA_ARRAY(x->a, double, points),
                ARENA_ARRAY(x->a, double, points)};
    open_picks(x);
    open_strategy(x, 0, first);
    add_more(x, &r);
    for (int round = 0; !x->all && round < ROUNDS && exchange(x, &r); round++) add_more(x, &r);
}
