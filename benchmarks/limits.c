/* limits: how far predicted times are from what physics allows, operator by operator.
 *
 *     limits [--profile h200,a100,...] [--sets FOLDER|none] [--above RATIO] [FILE.te ...]
 *
 * Every op of the files, and of every operator and type of the workload sets the row in the middle,
 * with its predicted time, the limit (a launch, and behind it, side by side, bytes of inputs and
 * outputs at the rate of DRAM's bus and arithmetic at the rate of the fastest unit), their ratio,
 * and the cause: what limits the kernel that takes longest, and what the time beyond the limit is.
 * The furthest come first; --above leaves out what is nearer.  No GPU is needed: all times are
 * predicted.
 *
 * Exit 1: an op has no plan, or is predicted to take less than its limit.  */
#include "base/file.h"
#include "gap.h"
#include "workload.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 64, MAX_PROFILES = 8, MAX_FAMILIES = 128 };

typedef struct {
    const char *op, *failure; /* NULL: it has a plan */
    RollerEstimate e;
    char cause[GAP_TEXT];
} Row;

typedef struct {
    Arena *a;
    RollerCtx *ctx;
    RollerProfile *profile;
    const char *name[MAX_PROFILES], *file[MAX_FILES], *sets;
    int n_profile, n_file;
    double above;
    Row *row;
    size_t cap;
    int n_row;
} Bench;

/* ---- one op ---- */

static const char *message(Bench *b) {
    const RollerError *e = roller_error(b->ctx);
    return arena_strdup(b->a, e ? e->message : "failed");
}

static void run_op(Bench *b, const char *shown, const char *te, const char *op) {
    RollerParseOptions o = {.struct_size = sizeof o, .op = op};
    Row r = {.op = arena_strdup(b->a, shown), .e = {.struct_size = sizeof r.e}};
    RollerOp *parsed = NULL;
    RollerPlans *plans = NULL;
    if (roller_parse(b->ctx, te, strlen(te), shown, &o, &parsed) ||
        roller_plan(b->ctx, parsed, b->profile, NULL, &plans))
        r.failure = message(b);
    if (!r.failure) {
        roller_plan_estimate(roller_plans_get(plans, 0), &r.e);
        gap_text(&r.e, r.cause);
    }
    if (plans) roller_plans_destroy(plans);
    if (parsed) roller_op_destroy(parsed);
    b->row = arena_grow(b->a, b->row, &b->cap, (size_t)b->n_row + 1, sizeof *b->row);
    b->row[b->n_row++] = r;
}

/* ---- where they come from ---- */

static bool run_file(Bench *b, Diag *d, const char *file) {
    const char *const *name, *stem = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    char *text;
    size_t len;
    int n;
    if (file_read(b->a, d, file, 1 << 20, &text, &len)) return false;
    if (roller_parse_names(b->ctx, text, len, file, NULL, &name, &n))
        return diag_error(d, ST_TE, "file", DIAG_NOWHERE, "%s: %s", file, message(b)), false;
    const char **op = ARENA_ARRAY(b->a, const char *, n);
    for (int i = 0; i < n; i++) op[i] = arena_strdup(b->a, name[i]);
    for (int i = 0; i < n; i++)
        run_op(b, arena_printf(b->a, "%.*s/%s", (int)strcspn(stem, "."), stem, op[i]), text, op[i]);
    return true;
}

/* Rows of a set that have one operator and type, in the order of the set.  */
typedef struct {
    const Workload *row[1024];
    int n;
} Family;

static Family *family_of(Family *family, int *n, const Workload *w) {
    for (int i = 0; i < *n; i++) {
        const Workload *v = family[i].row[0];
        if (strcmp(v->op, w->op) == 0 && strcmp(v->dtype, w->dtype) == 0) return &family[i];
    }
    return *n < MAX_FAMILIES ? &family[(*n)++] : NULL;
}

static bool run_set(Bench *b, Diag *d, const char *name) {
    WorkloadSet set;
    int n = 0;
    if (workload_read(b->a, d, arena_printf(b->a, "%s/%s.csv", b->sets, name), &set)) return false;
    Family *family = ARENA_ARRAY(b->a, Family, MAX_FAMILIES);
    for (int i = 0; i < set.n; i++) {
        Family *f = family_of(family, &n, &set.row[i]);
        if (f && f->n < 1024) f->row[f->n++] = &set.row[i];
    }
    for (int i = 0; i < n; i++) {
        const Workload *w = family[i].row[family[i].n / 2];
        Buf te = buf_new(b->a);
        if (workload_te(w, NULL, &te))
            run_op(b, arena_printf(b->a, "%s/%s %s %s", name, w->op, w->dtype, w->id),
                   buf_str(&te), NULL);
    }
    return true;
}

/* ---- the table ---- */

/* Nothing is read or computed before a launch has been made.  */
static double limit_us(const Row *r) {
    double memory = r->e.floor_dram_us, compute = r->e.floor_compute_us;
    return r->e.floor_launch_us + (memory > compute ? memory : compute);
}

static double ratio(const Row *r) { return r->failure ? 0 : r->e.us / limit_us(r); }

static int furthest_first(const void *x, const void *y) {
    double a = ratio(x), b = ratio(y);
    return (a < b) - (a > b);
}

static int print_rows(Bench *b, const char *profile) {
    int failed = 0, far = 0;
    qsort(b->row, (size_t)b->n_row, sizeof *b->row, furthest_first);
    printf("## %s\n\n| op | predicted us | limit us | ratio | skeleton, limited by | beyond |\n"
           "|---|--:|--:|--:|---|---|\n", profile);
    for (int i = 0; i < b->n_row; i++) {
        const Row *r = &b->row[i];
        failed += r->failure || ratio(r) < 1;
        far += ratio(r) > 1.5;
        if (r->failure) printf("| %s | FAILED: %s |\n", r->op, r->failure);
        else if (ratio(r) >= b->above || ratio(r) < 1)
            printf("| %s | %.1f | %.1f | %.2f | %s, %s | %s |\n", r->op, r->e.us, limit_us(r),
                   ratio(r), r->e.skeleton, r->e.limiter, r->cause);
    }
    printf("\n%s: %d ops, %d above 1.5 times their limit, %d without a plan or below it\n\n",
           profile, b->n_row, far, failed);
    fflush(stdout);
    return failed > 0;
}

static int run_profile(Bench *b, Diag *d, const char *profile) {
    static const char *const sets[] = {"roller119", "ansor", "tvm21", "bolt", "llm", "rowops"};
    bool ok = !roller_profile_load(b->ctx, profile, &b->profile);
    b->n_row = 0;
    if (!ok) diag_error(d, ST_TE, "profile", DIAG_NOWHERE, "%s: %s", profile, message(b));
    for (int i = 0; ok && i < b->n_file; i++) ok = run_file(b, d, b->file[i]);
    for (int i = 0; ok && strcmp(b->sets, "none") != 0 && i < 6; i++) ok = run_set(b, d, sets[i]);
    int code = ok ? print_rows(b, profile) : 3;
    if (b->profile) roller_profile_destroy(b->profile);
    b->profile = NULL;
    return code;
}

/* ---- the command line ---- */

static int names(char *list, const char **out, int most) {
    int n = 0;
    for (char *w = strtok(list, ","); w && n < most; w = strtok(NULL, ",")) out[n++] = w;
    return n;
}

static void options(Bench *b, int argc, char **argv) {
    static const char *const files[] = {"convolution", "gather", "product", "rows", "terms"};
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--profile") == 0 && more)
            b->n_profile = names(argv[++i], b->name, MAX_PROFILES);
        else if (strcmp(argv[i], "--sets") == 0 && more) b->sets = argv[++i];
        else if (strcmp(argv[i], "--above") == 0 && more) b->above = atof(argv[++i]);
        else if (b->n_file < MAX_FILES) b->file[b->n_file++] = argv[i];
    }
    int n = b->n_file ? 0 : (int)(sizeof files / sizeof *files);
    for (int i = 0; i < n; i++)
        b->file[b->n_file++] = arena_printf(b->a, "benchmarks/limits/%s.te", files[i]);
}

int main(int argc, char **argv) {
    Bench b = {.a = arena_create(NULL), .name = {"h200", "a100"}, .n_profile = 2,
               .sets = "benchmarks/workloads"};
    int code = 0;
    if (!b.a || roller_ctx_create(NULL, &b.ctx)) return 3;
    Diag d = diag_new(b.a);
    options(&b, argc, argv);
    for (int p = 0; p < b.n_profile && code < 3; p++) {
        int c = run_profile(&b, &d, b.name[p]);
        code = c > code ? c : code;
    }
    if (d.count) fprintf(stderr, "limits: %s\n", diag_first_error(&d)->message);
    roller_ctx_destroy(b.ctx);
    arena_destroy(b.a);
    return fflush(stdout) ? 3 : code;
}
