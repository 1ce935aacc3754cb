/* sizes: what programs for run-time sizes lose to a plan that is made for the sizes of a launch.
 *
 *     sizes [--profile h200,a100,...] [--samples N] [--programs N] [--made N] [-v] [FILE.te ...]
 *
 * Every op is planned once with its run-time sizes (`plan s`: CPU time), and at each sample of them
 * with static ones, which is the plan to compare with.  Samples are as dense in every order of
 * magnitude, and some of their sizes are an end of the range, a power of two, or one beside it.  A
 * static plan knows more than what a launch may choose from, for example that rows are aligned; so
 * the best program that is right for the promises of the op and planned for just these sizes, in
 * the splits that the op has, is told, too (`fitted`), and the best of those that the plan has,
 * whatever a launch chooses (`picked`).
 *
 * `At hand` is what launches take once the sample's sizes have a kernel of their own behind the
 * handle (roller_specialize), planned of the op's canonical text: with whatever workspace it wants
 * (`any`), or no more than the handle says that launches need (`lent`).  --made N: of the first N
 * samples such kernels are made, and the processor's and the wall's time that one takes, planning
 * and NVRTC without the cache, are told.
 *
 * Prints one Markdown table per profile; -v: every sample, too.  Times of kernels are
 * predicted.  */
#include "base/file.h"
#include "base/hash.h"
#include "base/clock.h"
#include "driver/pipeline/compile.h"
#include "driver/sizes/size_values.h"
#include "roller.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_FILES = 64, MAX_PROFILES = 8, SAMPLES = 64, LOSSES = 6 };

typedef struct {
    Arena *a;
    const char *file[MAX_FILES], *profile[MAX_PROFILES];
    int n_file, n_profile, samples, programs, made;
    bool verbose;
} Bench;

static _Noreturn void stop(const Diag *d, const char *what) {
    const DiagMessage *m = diag_first_error(d);
    fprintf(stderr, "sizes: %s: %s\n", what, m ? m->message : "failed");
    exit(1);
}

/* ---- samples ---- */

/* One value of a size: any, an end, a power of two, or one beside it.  */
static int64_t draw(Rng *rng, const TeExtent *e) {
    int64_t q = e->multiple > 1 ? e->multiple : 1, lo = (e->min + q - 1) / q * q;
    int64_t hi = e->value / q * q;
    lo = lo > 0 ? lo : q;
    double at = log((double)lo) + log((double)(hi + q) / (double)lo) * rng_below(rng, 1 << 20) /
                                      (1 << 20);
    int64_t v = (int64_t)exp(at);
    uint32_t kind = rng_below(rng, 8);
    if (kind == 0) v = lo;
    if (kind == 1) v = hi;
    if (kind >= 2 && kind < 6) {
        int64_t power = 1;
        while (2 * power <= v) power *= 2;
        v = kind == 4 ? power - q : kind == 5 ? power + q : power;
    }
    v = v / q * q;
    return v < lo ? lo : v > hi ? hi : v;
}

static int64_t *sample(Arena *a, const Te *te, Rng *rng) {
    int64_t *v = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int s = 0; s < te->n_size; s++)
        v[s] = rplan_varies(te, s) ? draw(rng, &te->size[s].extent) : te->size[s].extent.value;
    return v;
}

/* ---- one op on one device ---- */

typedef struct {
    double mean, p99, worst;
} Loss;

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static Loss loss_of(double *loss, int n) {
    Loss l = {0};
    qsort(loss, (size_t)n, sizeof *loss, ascending);
    for (int i = 0; i < n; i++) l.mean += loss[i] / n;
    l.worst = loss[n - 1];
    l.p99 = loss[(99 * n - 1) / 100];
    return l;
}

static int64_t workspace_of(const RPlan *plan) {
    int64_t most = 0;
    for (; plan; plan = plan->other) {
        Arena *a = arena_create(NULL);
        Workspace w;
        rprog_plan_workspace(a, plan, &w);
        if (w.bytes > most) most = w.bytes;
        arena_destroy(a);
    }
    return most;
}

/* Of an op, known by its text, with these sizes and no others; workspace -1: any.  */
static double static_us(const Te *te, DiagText text, const Device *dev, const int64_t *size,
                        int64_t workspace) {
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    TeDefine *define = ARENA_ARRAY(a, TeDefine, te->n_size + 1);
    int n = 0;
    for (int s = 0; s < te->n_size; s++)
        if (rplan_varies(te, s))
            define[n++] = (TeDefine){te->size[s].name, size[s], size[s], 1};
    Te *fixed;
    PlanSet set;
    WholePlan whole;
    Estimate e;
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = workspace};
    if (te_parse(a, &d, text, NULL, &(TeDefines){define, n}, &fixed) ||
        compile_plan(a, &d, &(PlanRequest){fixed, dev, &o}, &set))
        stop(&d, text.file);
    compile_choose(a, &set, 0, &whole);
    compile_estimate(&whole, &e);
    arena_destroy(a);
    return e.us;
}

/* The best program planned for these sizes.  */
static double best_planned(Arena *a, const PlanSet *set, const Te *sized, int group) {
    Diag d = diag_new(a);
    RPlanOptions o = {.align = 16, .workspace_limit = -1};
    RProgSet all;
    Ranked *ranked;
    Problem p;
    rtile_resize(a, &set->plans[group].problem, sized, 16, &p);
    if (rprog_candidates(a, &d, &p, set->dev, &o, &all) ||
        !mp_rank(a, &p, set->dev, &all, 1, &ranked))
        return INFINITY;
    return ranked->estimate.us;
}

/* The best of a group's programs that is right at these sizes.  */
static double best_picked(Arena *a, const PlanSet *set, const Te *sized, int group) {
    double best = INFINITY;
    for (int i = 0; i < set->n_program; i++) {
        const GroupPlans *x = &set->plans[i];
        Problem p;
        Estimate e;
        if (x->group != group) continue;
        rtile_resize(a, &set->plans[group].problem, sized, 16, &p);
        if (i != group && rprog_check(&p, set->dev, &x->ranked->prog)) continue;
        mp_estimate(&p, &x->ranked->prog, set->dev, &e);
        if (e.us < best) best = e.us;
    }
    return best;
}

/* Of programs of each group, in the best of the splits that the plan has.  */
typedef double BestOfGroup(Arena *a, const PlanSet *set, const Te *sized, int group);
static double best_us(const PlanSet *set, const int64_t *size, BestOfGroup *of) {
    Arena *a = arena_create(NULL);
    double best = INFINITY;
    for (; set; set = set->other) {
        double us = 0;
        if (!te_gives(set->te, size)) continue;
        const Te *sized = te_sized(a, set->normal, size);
        for (int g = 0; g < set->n_group; g++) us += of(a, set, sized, g);
        if (us < best) best = us;
    }
    arena_destroy(a);
    return best;
}

static int programs(const PlanSet *set) {
    int n = 0;
    for (; set; set = set->other) n += set->n_program;
    return n;
}

/* ---- kernels that are made ---- */

static double processor_s(void) {
    double s = 0;
    for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
        struct rusage r;
        getrusage(who, &r);
        s += (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
             (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
    }
    return s;
}

static void must(RollerCtx *ctx, RollerStatus s) {
    if (!s) return;
    fprintf(stderr, "%s", roller_error(ctx)->rendered);
    exit(1);
}

/* The values as roller_specialize takes them.  */
static int64_t *values_of(Arena *a, const Te *te, const int64_t *size) {
    int64_t *value = ARENA_ARRAY(a, int64_t, te->n_size + 1), n = 0;
    for (int s = 0; s < te->n_size; s++)
        if (size_is_param(&te->size[s])) value[n++] = size[s];
    return value;
}

/* What one takes on average; the kernel that they are made of has one program.  */
static void make_some(const Bench *b, const Device *dev, const char *text, const Te *te,
                      const PlanSet *set) {
    RollerPlanOptions o = {.struct_size = sizeof o, .programs = 1};
    RollerCtx *ctx;
    RollerProfile *profile;
    RollerOp *op;
    RollerKernel *of, *k;
    Arena *a = arena_create(NULL);
    Rng rng = {1};
    must(NULL, roller_ctx_create(NULL, &ctx));
    must(ctx, roller_profile_load(ctx, dev->name, &profile));
    must(ctx, roller_parse(ctx, text, strlen(text), "op", NULL, &op));
    must(ctx, roller_compile(ctx, op, profile, &o, &of));
    double processor = processor_s(), wall = clock_now_s();
    for (int i = 0; i < b->made; i++) {
        must(ctx, roller_specialize(ctx, of, values_of(a, te, sample(a, set->normal, &rng)),
                                    NULL, &k));
        roller_kernel_destroy(k);
    }
    printf("| %.2f | %.2f ", (processor_s() - processor) / b->made,
           (clock_now_s() - wall) / b->made);
    roller_kernel_destroy(of);
    roller_op_destroy(op);
    roller_profile_destroy(profile);
    roller_ctx_destroy(ctx);
    arena_destroy(a);
}

static void run_op(const Bench *b, const char *file, const Device *dev) {
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    size_t len;
    char *text;
    Te *te;
    PlanSet set;
    WholePlan whole;
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1, .programs = b->programs};
    if (file_read(a, &d, file, 1 << 20, &text, &len) ||
        te_parse(a, &d, (DiagText){file, text, len}, NULL, NULL, &te))
        stop(&d, file);
    Buf canonical = buf_new(a);
    te_print(te, &canonical);
    clock_t start = clock();
    if (compile_plan(a, &d, &(PlanRequest){te, dev, &o}, &set)) stop(&d, file);
    double plan_s = (double)(clock() - start) / CLOCKS_PER_SEC;
    compile_choose(a, &set, 0, &whole);
    if (b->verbose) printf("%s", set.sizes);
    int64_t lent = workspace_of(&whole.rplan);
    Rng rng = {1};
    double *loss[LOSSES];
    for (int k = 0; k < LOSSES; k++) loss[k] = ARENA_ARRAY(a, double, b->samples);
    for (int i = 0; i < b->samples; i++) {
        const int64_t *size = sample(a, set.normal, &rng);
        Estimate e;
        Arena *scratch = arena_create(NULL);
        compile_estimate_at(scratch, &set, &whole, size, &e);
        DiagText written = diag_text(file, text), printed = diag_text(file, canonical.text);
        double fixed = static_us(te, written, dev, size, -1);
        double any = static_us(te, printed, dev, size, -1);
        double bounded = static_us(te, printed, dev, size, lent);
        double picked = fmin(best_us(&set, size, best_picked), e.us);
        double fitted = fmin(best_us(&set, size, best_planned), picked);
        loss[0][i] = e.us / fixed - 1;
        loss[1][i] = e.us / picked - 1;
        loss[2][i] = picked / fitted - 1;
        loss[3][i] = fitted / fixed - 1;
        loss[4][i] = any / fixed - 1;
        loss[5][i] = bounded / fixed - 1;
        arena_destroy(scratch);
        if (!b->verbose) continue;
        for (int s = 0; s < te->n_size; s++)
            if (rplan_varies(te, s)) printf("%s=%lld ", te->size[s].name, (long long)size[s]);
        printf(": %.2f us, picked %.2f, fitted %.2f, static %.2f, at hand %.2f, lent %.2f\n",
               e.us, picked, fitted, fixed, any, bounded);
    }
    printf("| %s | %d | %.1f ", te->name, programs(&set), plan_s);
    for (int k = 0; k < LOSSES; k++) {
        Loss l = loss_of(loss[k], b->samples);
        printf("| %.1f | %.0f | %.0f ", l.mean * 100, l.p99 * 100, l.worst * 100);
    }
    if (b->made) make_some(b, dev, canonical.text, te, &set);
    printf("|\n");
    fflush(stdout);
    arena_destroy(a);
}

/* ---- the command line ---- */

static int names(char *list, const char **out, int most) {
    int n = 0;
    for (char *w = strtok(list, ","); w && n < most; w = strtok(NULL, ",")) out[n++] = w;
    return n;
}

static const char *const files[] = {
    "gemm_m", "mnk", "softmax", "three", "layernorm", "mlp", "heads", "conv", "bmm", "attention",
    "elementwise", "norm_nchw", "conv5", "six",
};

int main(int argc, char **argv) {
    Bench b = {.a = arena_create(NULL), .profile = {"h200", "a100", "t4"}, .n_profile = 3,
               .samples = SAMPLES};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--profile") == 0 && i + 1 < argc)
            b.n_profile = names(argv[++i], b.profile, MAX_PROFILES);
        else if (strcmp(argv[i], "--samples") == 0 && i + 1 < argc) b.samples = atoi(argv[++i]);
        else if (strcmp(argv[i], "--programs") == 0 && i + 1 < argc) b.programs = atoi(argv[++i]);
        else if (strcmp(argv[i], "--made") == 0 && i + 1 < argc) b.made = atoi(argv[++i]);
        else if (strcmp(argv[i], "-v") == 0) b.verbose = true;
        else if (b.n_file < MAX_FILES) b.file[b.n_file++] = argv[i];
    }
    if (!b.n_file)
        for (; b.n_file < (int)(sizeof files / sizeof *files); b.n_file++)
            b.file[b.n_file] = arena_printf(b.a, "benchmarks/sizes/%s.te", files[b.n_file]);
    if (b.samples < 1) b.samples = 1;
    for (int p = 0; p < b.n_profile; p++) {
        Diag d = diag_new(b.a);
        Device *dev;
        if (hal_profile_find(b.a, &d, b.profile[p], "profiles", NULL, &dev))
            stop(&d, b.profile[p]);
        printf("## %s\n\n%d sizes of each; loss in %%: mean, P99, worst\n\n"
               "| op | programs | plan s | to static | | | to picked | | | picked to fitted | | "
               "| fitted to static | | | at hand, any | | | at hand, lent | | |%s\n"
               "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
               "---|%s\n", b.profile[p], b.samples, b.made ? " made s | wall s |" : "",
               b.made ? "---|---|" : "");
        for (int f = 0; f < b.n_file; f++) run_op(&b, b.file[f], dev);
    }
    arena_destroy(b.a);
    return fflush(stdout) ? 3 : 0;
}
