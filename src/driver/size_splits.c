#include "driver/size_splits.h"
#include "driver/size_sets.h"

enum { NEAR = 50, SPLITS_MAX = RPLAN_SET / 3 };
static const double least_gain = 0.02;

typedef struct {
    Arena *arena;
    SizePoints at;
    SizedSet *split;          /* those that compete */
    int n;
    double *best;             /* per point */
    SizeOption *option;       /* splits for some sizes, then those for all */
    int *of, *point;          /* per option: its split, the sizes up to which it is taken */
    int n_option;
} Splits;

/* ---- which compete ---- */

/* Marks the splits that are the fastest at some point; an earlier one is, where another gains
 * little.  */
static void find_winners(const Splits *x, bool *wins) {
    for (int i = 0; i < x->at.n; i++) {
        int best = 0;
        for (int s = 1; s < x->n; s++) {
            if (x->split[s].us[i] < x->split[best].us[i] * (1 - 1.0 / NEAR)) best = s;
        }
        wins[best] = true;
    }
}

/* Drops the splits that never win; `keep` is the number of one that stays, and becomes its new
 * number.  */
static void drop_losers(Splits *x, int *keep) {
    bool *wins = ARENA_ARRAY(x->arena, bool, x->n);
    int n = 0, kept = 0;
    find_winners(x, wins);
    for (int s = 0; s < x->n; s++) {
        if (s == *keep) kept = n;
        if (wins[s] || s == *keep) x->split[n++] = x->split[s];
    }
    *keep = kept;
    x->n = n;
}

/* ---- the choice ---- */

/* Options for some sizes in order of the points; `whole` for all sizes is the last one.  */
static void make_options(Splits *x, int whole) {
    int most = x->n * x->at.n_planned + 1;
    x->option = ARENA_ARRAY(x->arena, SizeOption, most);
    x->of = ARENA_ARRAY(x->arena, int, most);
    x->point = ARENA_ARRAY(x->arena, int, most);
    x->n_option = 0;
    for (int i = 0; i + 1 < x->at.n_planned; i++) {
        for (int s = 0; s < x->n; s++) {
            const Te *te = x->split[s].set->normal;
            if (!size_sets_has(&x->split[s], &x->at, i)) continue;
            double *us = ARENA_ARRAY(x->arena, double, x->at.n);
            for (int k = 0; k < x->at.n; k++) {
                bool allowed = rplan_allows(te, x->at.value[i], x->at.value[k]);
                us[k] = allowed ? x->split[s].us[k] : -1;
            }
            x->of[x->n_option] = s;
            x->point[x->n_option] = i;
            x->option[x->n_option] = (SizeOption){.us = us, .what = x->n_option};
            x->n_option++;
        }
    }
    x->of[x->n_option] = whole;
    x->point[x->n_option] = x->at.n_planned - 1;
    x->option[x->n_option] = (SizeOption){.us = x->split[whole].us, .what = x->n_option};
    x->n_option++;
}

static SizeChoice choice_of(const Splits *x) {
    return (SizeChoice){.option = x->option, .n = x->n_option, .best = x->best,
                        .taken = ARENA_ARRAY(x->arena, int, x->at.n), .n_point = x->at.n,
                        .least_gain = least_gain};
}

static void find_best(Splits *x) {
    x->best = ARENA_ARRAY(x->arena, double, x->at.n);
    for (int i = 0; i < x->at.n; i++) {
        x->best[i] = x->split[0].us[i];
        for (int s = 1; s < x->n; s++) {
            if (x->split[s].us[i] < x->best[i]) x->best[i] = x->split[s].us[i];
        }
    }
}

/* ---- words ---- */

static const char *split_name(const Splits *x, int s) {
    return te_decisions_text(x->arena, x->split[s].set->normal);
}

static void print_taken(const Splits *x, int option, Buf *b) {
    int s = x->of[option], n = x->split[s].set->n_group;
    if (option + 1 < x->n_option)
        size_sets_print(x->split[s].set->normal, x->at.value[x->point[option]], "<= ", b);
    else buf_puts(b, "else");
    buf_printf(b, ": %s, %d kernel%s\n", split_name(x, s), n, n == 1 ? "" : "s");
}

static void explain(const Splits *x, int n, Buf *b) {
    SizeChoice c = choice_of(x);
    double worst;
    size_loss(&c, &worst);
    buf_printf(b, "sizes: split into kernels in %d way%s; tried at %d sizes, each takes at most\n"
               "  %.1f %% more than the best split found for it by prediction\n", n,
               n == 1 ? "" : "s", x->at.n, worst * 100);
    for (int k = 0; k < x->n_option; k++) {
        if (!x->option[k].chosen) continue;
        buf_puts(b, "  ");
        print_taken(x, k, b);
    }
    for (int i = 0; i < x->at.n_planned; i++) {
        buf_puts(b, "    ");
        size_sets_print(x->split[0].set->normal, x->at.value[i], "", b);
        buf_puts(b, ": predicted");
        for (int s = 0; s < x->n; s++)
            buf_printf(b, "%s %s %.2f us", s ? "," : "", split_name(x, s), x->split[s].us[i]);
        buf_putc(b, '\n');
    }
}

/* ---- all of it ---- */

/* Programs for the splits that were chosen, those for the smallest sizes first.  */
static void choose_programs(Splits *x, int n_split, PlanSet *out, Buf *why) {
    Arena *a = x->arena;
    SizeChoice c = choice_of(x);
    bool *counts = ARENA_ARRAY(a, bool, x->at.n);
    PlanSet all, *other = NULL, **end = &other;
    int left = RPLAN_SET;
    for (int k = 0, behind = n_split - 1; k < x->n_option; k++) {
        if (!x->option[k].chosen) continue;
        bool whole = k + 1 == x->n_option;
        PlanSet *set = whole ? &all : ARENA_NEW(a, PlanSet);
        for (int i = 0; i < x->at.n; i++) counts[i] = size_taken(&c, i) == k;
        if (n_split > 1) print_taken(x, k, why);
        left -= size_sets_choose(a, &x->split[x->of[k]], &x->at, x->point[k], counts,
                                 left - behind--, set, why);
        if (whole) continue;
        *end = set;
        end = &set->other;
    }
    *out = all;
    out->other = other;
}

/* The arrangement with the least loss: another split for all sizes than `whole` must gain.  */
static int choose_splits(Splits *x, int whole) {
    double worst, least = 0;
    int best = whole;
    for (int s = -1; s < x->n; s++) {
        int now = s < 0 ? whole : s;
        make_options(x, now);
        SizeChoice c = choice_of(x);
        size_choose(&c, SPLITS_MAX);
        double loss = size_loss(&c, &worst) + (s < 0 ? 0 : least_gain);
        if (s < 0 || loss < least) {
            least = loss;
            best = now;
        }
    }
    make_options(x, best);
    SizeChoice c = choice_of(x);
    return size_choose(&c, SPLITS_MAX);
}

Status size_splits_plan(Arena *a, Diag *d, PlanSet *set, int n, PlanSet *out) {
    Splits x = {.arena = a};
    Buf why = buf_new(a);
    int whole = 0;
    if (out->n_group > 0) size_points_find(a, out->normal, &x.at);
    if (x.at.n_planned < 2) return ST_OK;
    x.split = ARENA_ARRAY(a, SizedSet, n);
    for (; x.n < n; x.n++) {
        if (set[x.n].normal == out->normal) whole = x.n;
        size_sets_open(a, &set[x.n], &x.at, &x.split[x.n]);
    }
    drop_losers(&x, &whole);
    for (int i = 0; i < x.n; i++) size_sets_fill(a, &x.at, &x.split[i]);
    Status s = watch_check(out->options.watch, d);
    if (s) return s;
    find_best(&x);
    int n_split = choose_splits(&x, whole);
    if (x.n > 1) explain(&x, n_split, &why);
    choose_programs(&x, n_split, out, &why);
    out->sizes = buf_str(&why);
    return ST_OK;
}
