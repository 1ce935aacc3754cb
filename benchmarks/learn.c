/* learn: how few measurements find a fast plan, on published times of many tiles.
 *
 *     learn [--boards FILE] [--seed N] [--draws N] FILE.csv...
 *
 * Where a file has the times of many tiles of one size, it stands for the device: a tile's time is
 * seen by what chooses only when it is "measured".  Candidates are the tiles that could be a plan
 * of ours; regret is the time of the best that was measured over that of the best of all tiles.
 * docs/measuring.md explains the tables.  */
#include "base/hash.h"
#include "base/stats.h"
#include "learn_tiles.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OTHERS = 5, EACH = 8, RANDOM = 20 };
static const int64_t long_k = 8192;

/* ---- ways to choose ---- */

typedef enum {
    BY_RANK,                  /* as the model has them */
    BY_GAIN,                  /* expected to be better than the best so far */
    BY_DOUBT,                 /* telling most of the others */
    BY_CHANCE
} Way;

/* Draws below n.  */
static int draw(uint64_t *state, int n) {
    *state = hash64(state, sizeof *state, 1);
    return (int)(*state % (uint64_t)n);
}

/* A size's candidates in what is learned, from `at` on, and which of them were measured.  */
typedef struct {
    Learn *l;
    const Size *s;
    int at;
    bool *out;
} Tiles;

static Tiles tiles_new(Arena *a, Learn *l, const Size *s, int at) {
    return (Tiles){l, s, at, ARENA_ARRAY(a, bool, at + s->n + 1)};
}

/* Measures `count` of them; regret[m]: after the first m + 1.  */
static void measure_some(const Tiles *t, Way way, uint64_t *state, int count, double *regret) {
    Learn *l = t->l;
    const Size *s = t->s;
    int at = t->at;
    bool *out = t->out;
    LearnField field = {at, at + s->n, out, 0};
    double best = 0, gain;
    for (int m = 0; m < count; m++) {
        int i = at + draw(state, s->n);
        while (way == BY_CHANCE && out[i]) i = at + draw(state, s->n);
        if (way == BY_GAIN) field.best_us = best;
        if (way == BY_DOUBT) i = learn_doubtful(l, &field);
        else if (way != BY_CHANCE) i = learn_next(l, &field, &gain);
        double us = s->us[i - at];
        out[i] = true;
        if (way != BY_RANK) learn_tell(l, i, us);
        if (best == 0 || us < best) best = us;
        if (regret) regret[m] = best / s->best;
    }
}

/* How far expected times of the candidates are off, or of those that were not measured: the
 * median.  */
static double off(const Tiles *t, bool rest) {
    const Size *s = t->s;
    double *v = calloc((size_t)s->n, sizeof *v);
    int n = 0;
    if (!v) exit(3);
    for (int i = 0; i < s->n; i++) {
        if (rest && t->out[t->at + i]) continue;
        v[n++] = fabs(log(learn_us(t->l, t->at + i) / s->us[i]));
    }
    stats_sort(v, n);
    double middle = stats_median(v, n);
    free(v);
    return middle;
}

/* ---- tables ---- */

/* Values of all sizes, or draws, with a long k and without.  */
typedef struct {
    double *v[2];
    int n[2];
} Sample;

static Sample sample_new(const Replay *r) {
    size_t most = (size_t)r->n * (size_t)r->draws + 1;
    return (Sample){{ARENA_ARRAY(r->a, double, most), ARENA_ARRAY(r->a, double, most)}, {0, 0}};
}

static void add(Sample *x, const Size *s, double v) {
    int is_long = measured_size(s->row, "K", 0) > long_k;
    x->v[is_long][x->n[is_long]++] = v;
}

static double percentile(const double *sorted, int n, double share) {
    double at = share * (n - 1);
    int low = (int)at, high = low + 1 < n ? low + 1 : low;
    return n ? sorted[low] + (sorted[high] - sorted[low]) * (at - low) : NAN;
}

static void print_sample(Sample *x) {
    for (int k = 0; k < 2; k++) {
        stats_sort(x->v[k], x->n[k]);
        printf(" %.3f, %.3f |", stats_median(x->v[k], x->n[k]),
               percentile(x->v[k], x->n[k], 0.9));
    }
}

static const int after[] = {1, 2, 4, 8};
enum { STEPS = sizeof after / sizeof *after };

static void table_head(const Replay *r, const char *title, const char *first) {
    int n_long = 0;
    for (int i = 0; i < r->n; i++)
        n_long += measured_size(r->size[i].row, "K", 0) > long_k;
    printf("\n## %s\n\n| %s | K <= %lld (%d sizes): median, P90 | longer (%d) |\n|---|--:|--:|\n",
           title, first, (long long)long_k, r->n - n_long, n_long);
}

/* One size after the other, nothing learned of the rest.  */
static void table_one(const Replay *r, Way way, const char *title) {
    Sample found[STEPS];
    for (int k = 0; k < STEPS; k++) found[k] = sample_new(r);
    for (int i = 0; i < r->n; i++) {
        const Size *s = &r->size[i];
        double regret[EACH];
        uint64_t state = r->seed + (uint64_t)i;
        Arena *a = arena_create(NULL);
        if (!a) exit(3);
        Tiles tiles = tiles_new(a, learn_new(a, s->dev, s->plan, s->n), s, 0);
        measure_some(&tiles, way, &state, EACH, regret);
        for (int k = 0; k < STEPS; k++) add(&found[k], s, regret[after[k] - 1]);
        arena_destroy(a);
    }
    table_head(r, title, "measured");
    for (int k = 0; k < STEPS; k++) {
        printf("| %d |", after[k]);
        print_sample(&found[k]);
        printf("\n");
    }
}

/* What EACH that were chosen tell of the rest, and RANDOM by chance; and all.  */
static void table_against(const Replay *r) {
    static const struct {
        Way way;
        int count;
        const char *name;
    } row[] = {{BY_GAIN, EACH, "for the fastest"}, {BY_DOUBT, EACH, "where the model is unsure"},
               {BY_CHANCE, EACH, "by chance"}, {BY_CHANCE, RANDOM, "by chance"}};
    enum { ROWS = sizeof row / sizeof *row };
    Sample found[ROWS], error[ROWS], rest[ROWS];
    for (int k = 0; k < ROWS; k++) {
        found[k] = sample_new(r);
        error[k] = sample_new(r);
        rest[k] = sample_new(r);
    }
    for (int i = 0; i < r->n; i++) {
        const Size *s = &r->size[i];
        Arena *a = arena_create(NULL);
        if (!a) exit(3);
        Learn *l = learn_new(a, s->dev, s->plan, s->n);
        for (int k = 0; k < ROWS; k++) {
            int draws = row[k].way == BY_CHANCE ? r->draws : 1;
            for (int d = 0; d < draws; d++) {
                double regret[RANDOM];
                int count = row[k].count < s->n ? row[k].count : s->n;
                uint64_t state = r->seed + (uint64_t)(i * r->draws + d);
                Tiles tiles = tiles_new(a, l, s, 0);
                learn_reset(l);
                measure_some(&tiles, row[k].way, &state, count, regret);
                add(&found[k], s, regret[count - 1]);
                add(&error[k], s, off(&tiles, false));
                add(&rest[k], s, off(&tiles, true));
            }
        }
        arena_destroy(a);
    }
    table_head(r, "Chosen, by chance, and all of them", "measured");
    for (int k = 0; k < ROWS; k++) {
        printf("| %d %s: regret |", row[k].count, row[k].name);
        print_sample(&found[k]);
        printf("\n| %d %s: error |", row[k].count, row[k].name);
        print_sample(&error[k]);
        printf("\n| %d %s: error of those not measured |", row[k].count, row[k].name);
        print_sample(&rest[k]);
        printf("\n");
    }
    printf("| all %d, spills included | 1.000, 1.000 | 1.000, 1.000 |\n", r->size[0].all);
}

/* ---- transfer ---- */

/* Others of the same board and operator, by chance; how many there are.  */
static int choose_others(const Replay *r, int of, uint64_t *state, int chosen[OTHERS]) {
    int fit[MOST_SIZES], n = 0, taken = 0;
    for (int i = 0; i < r->n; i++) {
        const MeasuredRow *x = r->size[of].row, *y = r->size[i].row;
        if (i != of && !strcmp(x->gpu, y->gpu) && !strcmp(x->op, y->op)) fit[n++] = i;
    }
    while (taken < OTHERS && n > 0) {
        int at = draw(state, n);
        chosen[taken++] = fit[at];
        fit[at] = fit[--n];
    }
    return taken;
}

/* Plans of several sizes behind each other.  */
static Learn *learn_sizes(const Replay *r, Arena *a, const int *size, int n) {
    LearnPlan *plan;
    int at = 0, n_all = 0;
    for (int i = 0; i < n; i++) n_all += r->size[size[i]].n;
    plan = ARENA_ARRAY(a, LearnPlan, n_all + 1);
    for (int i = 0; i < n; i++) {
        const Size *s = &r->size[size[i]];
        memcpy(plan + at, s->plan, (size_t)s->n * sizeof *plan);
        at += s->n;
    }
    return learn_new(a, r->size[size[0]].dev, plan, n_all);
}

static void table_transfer(const Replay *r) {
    Sample found[STEPS];
    for (int k = 0; k < STEPS; k++) found[k] = sample_new(r);
    for (int i = 0; i < r->n; i++) {
        for (int d = 0; d < r->draws; d++) {
            int size[OTHERS + 1];
            double regret[EACH];
            uint64_t state = r->seed + (uint64_t)(i * r->draws + d);
            int n = choose_others(r, i, &state, size);
            size[n] = i;
            Arena *a = arena_create(NULL);
            if (!a) exit(3);
            Learn *l = learn_sizes(r, a, size, n + 1);
            for (int k = 0, at = 0; k <= n; k++) {
                Tiles tiles = tiles_new(a, l, &r->size[size[k]], at);
                measure_some(&tiles, BY_GAIN, &state, EACH, k == n ? regret : NULL);
                at += tiles.s->n;
            }
            for (int k = 0; k < STEPS; k++)
                add(&found[k], &r->size[i], regret[after[k] - 1]);
            arena_destroy(a);
        }
    }
    table_head(r, "After 8 measurements of each of 5 other sizes", "measured");
    for (int k = 0; k < STEPS; k++) {
        printf("| %d |", after[k]);
        print_sample(&found[k]);
        printf("\n");
    }
}

/* ---- a budget for all sizes ---- */

/* Sizes of one board as the kernels of a model, each run once.  */
typedef struct {
    Arena *a;
    Learn *learn;
    const Size *size[MOST_SIZES];
    LearnField field[MOST_SIZES];
    bool *out;
    int n;
} Model;

static void model_new(const Replay *r, Arena *a, Model *m) {
    int of[MOST_SIZES], at = 0;
    *m = (Model){.a = a};
    for (int i = 0; i < r->n; i++) {
        const Size *s = &r->size[i];
        if (strcmp(s->row->gpu, r->size[0].row->gpu) != 0) continue;
        of[m->n] = i;
        m->size[m->n] = s;
        m->field[m->n++] = (LearnField){.from = at, .to = at + s->n};
        at += s->n;
    }
    m->learn = learn_sizes(r, a, of, m->n);
    m->out = ARENA_ARRAY(a, bool, at + 1);
    for (int k = 0; k < m->n; k++) m->field[k].out = m->out;
}

static void model_measure(Model *m, int k) {
    double gain;
    LearnField *f = &m->field[k];
    int i = learn_next(m->learn, f, &gain);
    if (i < 0) return;
    double us = m->size[k]->us[i - f->from];
    m->out[i] = true;
    learn_tell(m->learn, i, us);
    if (f->best_us == 0 || us < f->best_us) f->best_us = us;
}

/* Where the next measurement is worth most.  */
static int model_worth(const Model *m) {
    double most = -1;
    int best = 0;
    for (int k = 0; k < m->n; k++) {
        double worth = learn_worth(m->learn, &m->field[k]);
        if (worth <= most) continue;
        most = worth;
        best = k;
    }
    return best;
}

/* What runs where nothing was measured.  */
static double first_us(const Size *s) {
    int first = 0;
    for (int i = 1; i < s->n; i++)
        if (s->plan[i].us < s->plan[first].us) first = i;
    return s->us[first];
}

/* The time of all over that of the fastest tiles.  */
static double model_regret(const Model *m) {
    double us = 0, best = 0;
    for (int k = 0; k < m->n; k++) {
        us += m->field[k].best_us > 0 ? m->field[k].best_us : first_us(m->size[k]);
        best += m->size[k]->best;
    }
    return us / best;
}

static double after_budget(const Replay *r, int trials, bool equal) {
    Model m;
    Arena *a = arena_create(NULL);
    if (!a) exit(3);
    model_new(r, a, &m);
    for (int t = 0; t < trials; t++) model_measure(&m, equal ? t % m.n : model_worth(&m));
    double regret = model_regret(&m);
    arena_destroy(a);
    return regret;
}

static void table_budget(const Replay *r) {
    static const int trials[] = {0, 5, 10, 20, 40, 80, 160};
    printf("\n## A budget for all sizes: their time over that of the fastest tiles\n\n"
           "| measured in all | equal shares | where it is worth most |\n|---|--:|--:|\n");
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        printf("| %d | %.4f | %.4f |\n", trials[i], after_budget(r, trials[i], true),
               after_budget(r, trials[i], false));
}

/* ---- the program ---- */

int main(int argc, char **argv) {
    const char *boards = "benchmarks/measured/boards.json";
    Replay r = {.a = arena_create(NULL), .seed = 1, .draws = 10};
    json_error_t e;
    int file = 1;
    if (!r.a) return 3;
    for (; file + 1 < argc && argv[file][0] == '-'; file += 2) {
        if (!strcmp(argv[file], "--boards")) boards = argv[file + 1];
        else if (!strcmp(argv[file], "--seed")) r.seed = strtoull(argv[file + 1], NULL, 10);
        else if (!strcmp(argv[file], "--draws")) r.draws = atoi(argv[file + 1]);
        else break;
    }
    if (file >= argc || argv[file][0] == '-' || r.draws < 1) {
        fputs("usage: learn [--boards FILE] [--seed N] [--draws N] FILE.csv...\n", stderr);
        return 2;
    }
    r.size = ARENA_ARRAY(r.a, Size, MOST_SIZES + 1);
    r.boards = json_load_file(boards, JSON_REJECT_DUPLICATES, &e);
    if (!r.boards) {
        fprintf(stderr, "learn: %s: %s\n", boards, e.text);
        return 3;
    }
    for (; file < argc; file++) {
        Diag d = diag_new(r.a);
        MeasuredRows rows;
        if (measured_read(r.a, &d, argv[file], &rows)) {
            fprintf(stderr, "learn: %s\n", diag_first_error(&d)->message);
            return 3;
        }
        learn_read_sizes(&r, &rows, EACH);
    }
    if (r.n == 0) {
        fputs("learn: no size of which many tiles were timed\n", stderr);
        return 3;
    }
    puts("# How few measurements find a fast plan: made by `make learn RESULTS=1`\n");
    printf("%d sizes, %d of %d tiles of the first could be plans of ours.\n", r.n, r.size[0].n,
           r.size[0].all);
    table_one(&r, BY_RANK, "Regret, in the order of the model");
    table_one(&r, BY_GAIN, "Regret, chosen by what was learned");
    table_transfer(&r);
    table_budget(&r);
    table_against(&r);
    json_decref(r.boards);
    arena_destroy(r.a);
    return 0;
}
