/* bench_roller: the 119 operators of the Roller paper on its V100, by prediction.
 *
 *     bench_roller [-v]
 *
 * Published times of its figure 10 (benchmarks/workloads/roller119.csv) are milliseconds of
 * TensorFlow with cuDNN and cuBLAS, AutoTVM and Ansor after 1000 trials each, and Roller's first
 * program and best of ten.  Beside them stands what the model says of our first plan: that is no
 * measurement.  Then the profile is calibrated to the fastest published times of a few rows, as if
 * our first plans had taken them, and all other rows are predicted again; rows that tell most of
 * the factors (calibrate_order) stand beside rows drawn by chance.  -v: every row.  */
#include "base/hash.h"
#include "base/stats.h"
#include "driver/pipeline/compile.h"
#include "driver/profile/calibrate_samples.h"
#include "workload.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 128, DRAWS = 9 };
static const double near = 1.1;           /* the paper's "within 10 %" */

typedef struct {
    Arena *a;
    Diag d;
    Device *dev;
    const Workload *row[MOST];
    double us[MOST], library[MOST], tuned[MOST], first[MOST], ten[MOST];
    CalibrateSample sample[MOST];         /* the fastest of all, and our first plan */
    int n;
} Bench;

static int fail(const Bench *b, const char *what) {
    const DiagMessage *m = diag_first_error(&b->d);
    fprintf(stderr, "bench_roller: %s: %s\n", what, m ? m->message : "failed");
    return 1;
}

static bool plan(Bench *b, const Workload *w) {
    Buf text = buf_new(b->a);
    Te *te;
    PlanSet *set = ARENA_NEW(b->a, PlanSet);
    WholePlan *whole = ARENA_NEW(b->a, WholePlan);
    Estimate e;
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
    int k = b->n++;
    if (!workload_te(w, NULL, &text) ||
        te_parse(b->a, &b->d, (DiagText){w->id, buf_str(&text), text.len}, NULL, NULL, &te) ||
        compile_plan(b->a, &b->d, &(PlanRequest){te, b->dev, &o}, set))
        return false;
    compile_choose(b->a, set, 0, whole);
    compile_estimate(whole, &e);
    b->row[k] = w;
    b->us[k] = e.us;
    b->library[k] = workload_peer_ms(w, "cudalib") * 1e3;
    b->tuned[k] = fmin(workload_peer_ms(w, "autotvm"), workload_peer_ms(w, "ansor")) * 1e3;
    b->first[k] = workload_peer_ms(w, "roller1") * 1e3;
    b->ten[k] = workload_peer_ms(w, "roller10") * 1e3;
    b->sample[k] = (CalibrateSample){.name = w->id, .family = w->op, .plan = &whole->rplan,
                                     .us = fmin(b->ten[k], fmin(b->library[k], b->tuned[k])),
                                     .samples = 1};
    return true;
}

/* ---- beside the three others ---- */

static double share(const Bench *b, const double *us) {
    int within = 0, all = 0;
    for (int k = 0; k < b->n; k++) {
        double best = fmin(b->library[k], b->tuned[k]);
        if (!isfinite(best) || !isfinite(us[k])) continue;
        all++;
        within += us[k] <= near * best;
    }
    return all ? 100.0 * within / all : 0;
}

/* Predicted over the fastest published time, by the letter with which ids begin.  */
static void medians(const Bench *b) {
    static const char *const kind[] = {"C convolutions", "D depthwise ones", "E element-wise",
                                       "M products", "P pooling", "R reductions"};
    printf("| | rows | predicted over the fastest published time, median |\n|---|--:|--:|\n");
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        double ratio[MOST];
        int n = 0;
        for (int k = 0; k < b->n; k++)
            if (b->row[k]->id[0] == kind[i][0]) ratio[n++] = b->us[k] / b->sample[k].us;
        stats_sort(ratio, n);
        printf("| %s | %d | %.2f |\n", kind[i] + 2, n, n ? stats_median(ratio, n) : NAN);
    }
}

static void compare(Bench *b) {
    printf("\n## Roller's 119 operators on V100: predicted beside published times\n\n");
    printf("| | within 10 %% of the best of library, AutoTVM and Ansor |\n|---|--:|\n");
    printf("| Roller, first program, measured | %.1f %% |\n", share(b, b->first));
    printf("| Roller, best of ten, measured | %.1f %% |\n", share(b, b->ten));
    printf("| our first plan, predicted | %.1f %% |\n\n", share(b, b->us));
    medians(b);
}

/* Where the library is faster than our plan is predicted to be, by more than a tenth.  */
static void losses(const Bench *b, bool all) {
    printf("\n| id | op | predicted ms | library | tuned | Roller 1, 10 |\n"
           "|---|---|--:|--:|--:|--:|\n");
    for (int k = 0; k < b->n; k++) {
        if (!all && b->us[k] <= near * fmin(b->library[k], b->tuned[k])) continue;
        printf("| %s | %s | %.3f | %.3f | %.3f | %.3f, %.3f |\n", b->row[k]->id, b->row[k]->op,
               b->us[k] * 1e-3, b->library[k] * 1e-3, b->tuned[k] * 1e-3, b->first[k] * 1e-3,
               b->ten[k] * 1e-3);
    }
}

/* ---- calibrated ---- */

/* Root mean square of log(predicted / fastest published) of the rows that were not fitted.  */
static double error_of_others(const Bench *b, const Device *dev, const bool *fitted) {
    double sum = 0;
    int n = 0;
    for (int k = 0; k < b->n; k++) {
        const RPlan *p = b->sample[k].plan;
        double us = 0;
        if (fitted[k]) continue;
        for (int g = 0; g < rplan_groups(p); g++) {
            Estimate e;
            mp_estimate(&p->problem[g], &p->prog[g], dev, &e);
            us += e.us;
        }
        sum += log(us / b->sample[k].us) * log(us / b->sample[k].us);
        n++;
    }
    return sqrt(sum / n);
}

/* After a fit to these rows; NAN if there is none.  */
static double fitted_to(Bench *b, const int *of, int n, Calibration *c) {
    CalibrateSample some[MOST];
    bool fitted[MOST] = {false};
    for (int i = 0; i < n; i++) {
        some[i] = b->sample[of[i]];
        fitted[of[i]] = true;
    }
    if (calibrate_samples(b->a, &b->d, b->dev, some, n, c)) return NAN;
    return error_of_others(b, c->dev, fitted);
}

static void draw(Rng *rng, int n, int of[MOST]) {
    for (int i = 0; i < n; i++) of[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(rng, (uint32_t)i + 1), was = of[i];
        of[i] = of[j];
        of[j] = was;
    }
}

static void calibrate_to_few(Bench *b) {
    static const int rows[] = {8, 20};
    const bool none[MOST] = {false};
    int *order = calibrate_order(b->a, b->dev, b->sample, b->n), of[MOST];
    Calibration c = {0};
    printf("\nRoot mean square of log(predicted / fastest published) of rows that were not fitted, "
           "and factors:\n\n| rows fitted | error | factors |\n|---|--:|---|\n");
    printf("| none | %.3f | |\n", error_of_others(b, b->dev, none));
    for (int i = 0; i < 2; i++) {
        double error[DRAWS];
        printf("| %d by uncertainty | %.3f |", rows[i], fitted_to(b, order, rows[i], &c));
        for (int f = 0; c.dev && f < c.dev->n_factor; f++)
            printf(" %s %.3f", c.dev->factor[f].name, c.dev->factor[f].value);
        Rng rng = {1};
        for (int k = 0; k < DRAWS; k++) {
            draw(&rng, b->n, of);
            error[k] = fitted_to(b, of, rows[i], &c);
        }
        stats_sort(error, DRAWS);
        printf(" |\n| %d by chance, %d draws | %.3f (%.3f to %.3f) | |\n", rows[i], DRAWS,
               stats_median(error, DRAWS), error[0], error[DRAWS - 1]);
    }
}

int main(int argc, char **argv) {
    bool all = argc > 1 && strcmp(argv[1], "-v") == 0;
    Bench *b = calloc(1, sizeof *b);
    WorkloadSet set;
    if (!b || !(b->a = arena_create(NULL))) return 1;
    b->d = diag_new(b->a);
    if (hal_profile_find(b->a, &b->d, "v100", "profiles", NULL, &b->dev)) return fail(b, "v100");
    if (workload_read(b->a, &b->d, "benchmarks/workloads/roller119.csv", &set))
        return fail(b, "roller119.csv");
    for (int k = 0; k < set.n && k < MOST; k++)
        if (!plan(b, &set.row[k])) return fail(b, set.row[k].id);
    compare(b);
    losses(b, all);
    calibrate_to_few(b);
    arena_destroy(b->a);
    free(b);
    return 0;
}
