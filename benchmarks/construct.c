/* construct: plan and compile every row of the workload sets, without a GPU.
 *
 *     construct [--profile h200,a100,...] [--set NAME,...] [--dtype f32] [--contractions]
 *               [--unique] [--plans-only] [--process roller-gen] [-j N] [--json FILE] [FOLDER]
 *
 * --unique leaves out rows whose expression an earlier row has (all rows of one shape are the same
 * with --dtype).
 *
 * --process also runs each row as its users would, in a process of that program, and the total time
 * is that from its start to its end: to be believed with one worker (-j 1) on an idle machine.
 *
 * Prints one Markdown table per profile, each row as soon as it and those before it are done: wall
 * time of planning, of NVRTC and in all, candidates, how many of them were compiled until one did
 * not spill, registers, spills, predicted time, its ratio to the floor that no plan beats, and for
 * ratios above 1.3 what the time beyond the floor is.  Exit 1 if a row fails or spills.  */
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/pool.h"
#include "gap.h"
#include "process.h"
#include "workload.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORKERS = 16, MAX_NAMES = 16, MAX_ROWS = 16384 };

typedef struct {
    const Workload *row;
    const char *profile;
    const char *failure;      /* NULL: it worked */
    bool done;
    double parse_ms, plan_ms, nvrtc_ms, total_ms;
    int64_t candidates, spills;
    int registers, kernels, tried;
    RollerEstimate e;
    char plan[200], message[200], reason[GAP_TEXT];
} Line;

typedef struct {
    Arena *a;
    const char *folder, *dtype, *json;
    const char *process;      /* the program to run for each row; NULL: none */
    const char *profile[MAX_NAMES], *set[MAX_NAMES];
    int n_profile, n_set, jobs;
    bool contractions, plans_only, unique;
    uint64_t *seen;           /* expressions, for --unique */
    int n_seen, shared;
    Line *line;
    int n_line, n_printed;
    pthread_mutex_t printing;
    RollerCtx *ctx[MAX_WORKERS];
    RollerProfile *loaded[MAX_WORKERS][MAX_NAMES];
} Bench;

static double now_ms(void) { return clock_now_s() * 1e3; }

/* ---- one row ---- */
static bool fail(Line *l, RollerCtx *ctx) {
    const RollerError *e = roller_error(ctx);
    snprintf(l->message, sizeof l->message, "%s", e ? e->message : "failed");
    l->failure = l->message;
    return true;
}

static void describe(Line *l, const RollerPlans *plans, const RollerPlan *plan) {
    RollerPlanStats stats = {.struct_size = sizeof stats};
    const char *text;
    size_t len;
    roller_plans_stats(plans, &stats);
    l->e.struct_size = sizeof l->e;
    roller_plan_estimate(plan, &l->e);
    roller_plan_text(plan, ROLLER_PLAN_SUMMARY, &text, &len);
    l->candidates = stats.legal;
    gap_text(&l->e, l->reason);
    snprintf(l->plan, sizeof l->plan, "%.*s", (int)strcspn(text, "\n"), text);
}

static void resources(Line *l, const RollerKernel *k) {
    l->kernels = roller_kernel_launches(k);
    for (int i = 0; i < l->kernels; i++) {
        RollerLaunchInfo info = {.struct_size = sizeof info};
        roller_kernel_launch_info(k, i, &info);
        if (info.registers > l->registers) l->registers = info.registers;
        l->spills += info.spill_bytes;
    }
}

static bool compile(Line *l, RollerCtx *ctx, const RollerPlans *plans) {
    RollerKernel *k;
    double emit;
    if (roller_build_best(ctx, plans, NULL, &k)) {
        roller_kernel_destroy(k);
        return fail(l, ctx);
    }
    roller_kernel_times(k, &emit, &l->nvrtc_ms);
    resources(l, k);
    l->tried = (int)roller_kernel_rank(k) + 1;
    describe(l, plans, roller_kernel_plan(k));
    roller_kernel_destroy(k);
    return true;
}

static bool construct(Bench *b, Line *l, RollerCtx *ctx, RollerProfile *profile, const char *te) {
    double start = now_ms();
    RollerOp *op;
    if (roller_parse(ctx, te, strlen(te), l->row->id, NULL, &op)) return fail(l, ctx);
    l->parse_ms = now_ms() - start;
    RollerPlans *plans;
    double planning = now_ms();
    if (roller_plan(ctx, op, profile, NULL, &plans)) {
        fail(l, ctx);
    } else {
        l->plan_ms = now_ms() - planning;
        if (b->plans_only) describe(l, plans, roller_plans_get(plans, 0));
        else compile(l, ctx, plans);
        roller_plans_destroy(plans);
    }
    l->total_ms = now_ms() - start;
    roller_op_destroy(op);
    return true;
}

static bool work_row(Bench *b, Line *l, int worker) {
    if (!b->ctx[worker] && roller_ctx_create(NULL, &b->ctx[worker])) return false;
    int p = 0;
    while (strcmp(b->profile[p], l->profile) != 0) p++;
    RollerProfile **profile = &b->loaded[worker][p];
    if (!*profile && roller_profile_load(b->ctx[worker], l->profile, profile))
        return fail(l, b->ctx[worker]);
    Arena *a = arena_create(NULL);
    if (!a) return false;
    Buf te = buf_new(a);
    if (!workload_te(l->row, b->dtype, &te)) {
        l->failure = "no expression for this operator";
    } else {
        construct(b, l, b->ctx[worker], *profile, buf_str(&te));
        if (b->process && !l->failure) {
            l->total_ms = process_ms(b->process, l->profile, buf_str(&te));
            if (l->total_ms < 0) l->failure = "the program failed";
        }
    }
    arena_destroy(a);
    return true;
}

/* ---- reporting ---- */
static void print_head(const char *profile) {
    printf("\n## %s\n\n| id | op | plan ms | nvrtc ms | total ms | candidates | tried | registers "
           "| spills | predicted us | floor us | ratio | limiter | skeleton | beyond the floor "
           "| plan |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|---|---|---|\n",
           profile);
}

static void print_line(const Line *l) {
    if (l->failure) {
        printf("| %s | %s | FAILED: %s |\n", l->row->id, l->row->op, l->failure);
        return;
    }
    printf("| %s | %s | %.2f | %.1f | %.1f | %lld | %d | %d | %lld | %.1f | %.1f | %.2f | %s | %s "
           "| %s | %s |\n", l->row->id, l->row->op, l->plan_ms, l->nvrtc_ms, l->total_ms,
           (long long)l->candidates, l->tried, l->registers, (long long)l->spills, l->e.us,
           l->e.floor_us, l->e.us / l->e.floor_us, l->e.limiter, l->e.skeleton, l->reason,
           l->plan);
}

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* How long single rows took from text to machine code.  */
static void print_times(Bench *b, const char *profile) {
    double *ms = ARENA_ARRAY(b->a, double, b->n_line);
    double *ratio = ARENA_ARRAY(b->a, double, b->n_line);
    int n = 0, compiled = 0, again = 0;
    for (int i = 0; i < b->n_line; i++) {
        const Line *l = &b->line[i];
        if (strcmp(l->profile, profile) != 0 || l->failure) continue;
        ms[n++] = l->total_ms;
        if (l->nvrtc_ms > 0) ratio[compiled++] = l->total_ms / l->nvrtc_ms;
        again += l->tried > 1;
    }
    if (n == 0) return;
    qsort(ms, (size_t)n, sizeof *ms, ascending);
    printf("%s: a row takes %.0f ms (median), %.0f ms at 95 %%, %.0f ms at most; %d tried a second "
           "plan\n", profile, ms[n / 2], ms[n * 95 / 100], ms[n - 1], again);
    if (compiled == 0) return;
    qsort(ratio, (size_t)compiled, sizeof *ratio, ascending);
    printf("%s: that is %.2f times NVRTC's own time (median), %.2f at 95 %%\n", profile,
           ratio[compiled / 2], ratio[compiled * 95 / 100]);
}

static void print_sums(Bench *b, const char *profile) {
    double plan = 0, nvrtc = 0, total = 0;
    int n = 0, failed = 0, spilled = 0, far = 0, stated = 0;
    for (int i = 0; i < b->n_line; i++) {
        const Line *l = &b->line[i];
        if (strcmp(l->profile, profile) != 0) continue;
        n++;
        failed += l->failure != NULL;
        spilled += l->spills > 0;
        far += !l->failure && l->e.us > GAP_IS_FAR * l->e.floor_us;
        stated += l->reason[0] != 0;
        plan += l->plan_ms;
        nvrtc += l->nvrtc_ms;
        total += l->total_ms;
    }
    printf("\n%s: %d rows, %d failed, %d spill, %d above %.1f x the floor (%d with a reason); plan "
           "%.0f ms, nvrtc %.0f ms, total %.0f ms\n", profile, n, failed, spilled, far, GAP_IS_FAR,
           stated, plan, nvrtc, total);
    print_times(b, profile);
}

/* Prints what can be printed in order.  */
static void print_done(Bench *b) {
    while (b->n_printed < b->n_line && b->line[b->n_printed].done) {
        const Line *l = &b->line[b->n_printed++];
        bool first = l == b->line || strcmp(l->profile, l[-1].profile) != 0;
        bool last = b->n_printed == b->n_line || strcmp(l->profile, l[1].profile) != 0;
        if (first) print_head(l->profile);
        print_line(l);
        if (last) print_sums(b, l->profile);
    }
    fflush(stdout);
}

static bool work(void *user, int64_t i, int worker) {
    Bench *b = user;
    bool ok = work_row(b, &b->line[i], worker);
    pthread_mutex_lock(&b->printing);
    b->line[i].done = true;
    print_done(b);
    pthread_mutex_unlock(&b->printing);
    return ok;
}

static Status write_json(Bench *b, Diag *d) {
    Buf out = buf_new(b->a);
    buf_puts(&out, "[\n");
    for (int i = 0; i < b->n_line; i++) {
        const Line *l = &b->line[i];
        buf_printf(&out, "{\"id\": \"%s\", \"set\": \"%s\", \"op\": \"%s\", \"profile\": \"%s\", "
                         "\"failure\": ", l->row->id, l->row->set, l->row->op, l->profile);
        if (l->failure) json_write_string(l->failure, &out);
        else buf_puts(&out, "null");
        buf_printf(&out, ", \"plan_ms\": %.3f, \"nvrtc_ms\": %.3f, \"total_ms\": %.3f, "
                         "\"candidates\": %lld, \"tried\": %d, \"registers\": %d, "
                         "\"spill_bytes\": %lld, \"kernels\": %d, "
                         "\"predicted_us\": %.3f, \"floor_us\": %.3f, "
                         "\"floor_dram_us\": %.3f, \"floor_compute_us\": %.3f, "
                         "\"floor_launch_us\": %.3f, \"limiter\": \"%s\", \"skeleton\": \"%s\", "
                         "\"reason\": \"%s\", \"plan\": ", l->plan_ms, l->nvrtc_ms, l->total_ms,
                   (long long)l->candidates, l->tried, l->registers, (long long)l->spills,
                   l->kernels, l->e.us, l->e.floor_us, l->e.floor_dram_us, l->e.floor_compute_us,
                   l->e.floor_launch_us, l->failure ? "" : l->e.limiter,
                   l->failure ? "" : l->e.skeleton, l->reason);
        json_write_string(l->plan, &out);
        buf_puts(&out, i + 1 < b->n_line ? "},\n" : "}\n");
    }
    buf_puts(&out, "]\n");
    return file_write(d, b->json, out.text, out.len);
}

/* ---- command line ---- */
static int split(char *list, const char **out) {
    int n = 0;
    for (char *p = strtok(list, ","); p && n < MAX_NAMES; p = strtok(NULL, ",")) out[n++] = p;
    return n;
}

static bool options(Bench *b, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--contractions") == 0) b->contractions = true;
        else if (strcmp(argv[i], "--plans-only") == 0) b->plans_only = true;
        else if (strcmp(argv[i], "--unique") == 0) b->unique = true;
        else if (argv[i][0] != '-') b->folder = argv[i];
        else if (!value) return false;
        else if (strcmp(argv[i], "--profile") == 0) b->n_profile = split(argv[++i], b->profile);
        else if (strcmp(argv[i], "--set") == 0) b->n_set = split(argv[++i], b->set);
        else if (strcmp(argv[i], "--dtype") == 0) b->dtype = argv[++i];
        else if (strcmp(argv[i], "--process") == 0) b->process = argv[++i];
        else if (strcmp(argv[i], "--json") == 0) b->json = argv[++i];
        else if (strcmp(argv[i], "-j") == 0) b->jobs = atoi(argv[++i]);
        else return false;
    }
    return true;
}

/* Has an earlier row the same expression?  */
static bool repeated(Bench *b, const Workload *row) {
    ArenaMark m = arena_mark(b->a);
    Buf te = buf_new(b->a);
    workload_te(row, b->dtype, &te);
    uint64_t hash = hash64(buf_str(&te), te.len, 0);
    arena_reset(b->a, m);
    for (int i = 0; i < b->n_seen; i++)
        if (b->seen[i] == hash) return true;
    b->seen[b->n_seen++] = hash;
    return false;
}

/* The rows of all sets, once for each profile.  */
static Status collect(Bench *b, Diag *d) {
    static const char *const all[] = {"roller119", "ansor", "tvm21", "bolt", "llm", "rowops"};
    if (!b->n_set)
        for (int i = 0; i < 6; i++) b->set[b->n_set++] = all[i];
    if (!b->n_profile) b->profile[b->n_profile++] = "h200";
    b->seen = ARENA_ARRAY(b->a, uint64_t, MAX_ROWS);
    size_t cap = 0;
    for (int i = 0; i < b->n_set; i++) {
        WorkloadSet set;
        Status s = workload_read(b->a, d, arena_printf(b->a, "%s/%s.csv", b->folder, b->set[i]),
                                 &set);
        if (s) return s;
        for (int k = 0; k < set.n; k++) {
            if (b->contractions && !workload_is_contraction(&set.row[k])) continue;
            if (b->unique && repeated(b, &set.row[k])) {
                b->shared++;
                continue;
            }
            b->line = arena_grow(b->a, b->line, &cap, (size_t)b->n_line + 1, sizeof *b->line);
            b->line[b->n_line++] = (Line){.row = &set.row[k], .profile = b->profile[0]};
        }
    }
    int rows = b->n_line;
    b->line = arena_grow(b->a, b->line, &cap, (size_t)(rows * b->n_profile), sizeof *b->line);
    for (b->n_line = rows; b->n_line < rows * b->n_profile; b->n_line++) {
        b->line[b->n_line] = b->line[b->n_line % rows];
        b->line[b->n_line].profile = b->profile[b->n_line / rows];
    }
    return ST_OK;
}

typedef struct {
    Bench *b;
    int argc;
    char **argv;
    int code;
} Main;

static void run(void *user) {
    Main *m = user;
    Bench *b = m->b;
    Diag d = diag_new(b->a);
    m->code = 2;
    if (!options(b, m->argc, m->argv)) {
        fputs("usage: construct [--profile LIST] [--set LIST] [--dtype T] [--contractions] "
              "[--unique] [--plans-only] [--process PROGRAM] [-j N] [--json FILE] [FOLDER]\n",
              stderr);
        return;
    }
    Status s = collect(b, &d);
    if (!s && !pool_for(b->jobs < MAX_WORKERS ? b->jobs : MAX_WORKERS, b->n_line, work, b))
        s = ST_NOMEM;
    if (b->shared) printf("%d rows have the expression of an earlier row\n", b->shared);
    if (!s && b->json) s = write_json(b, &d);
    if (d.count) fprintf(stderr, "construct: %s\n", d.messages[0].message);
    m->code = s != ST_OK;
    for (int i = 0; i < b->n_line; i++) m->code |= b->line[i].failure || b->line[i].spills > 0;
}

int main(int argc, char **argv) {
    static Bench bench = {.folder = "benchmarks/workloads", .jobs = 1,
                          .printing = PTHREAD_MUTEX_INITIALIZER};
    setenv("ROLLER_CACHE_DIR", "", 1);            /* processes compile, too */
    bench.a = arena_create(NULL);
    Main m = {.b = &bench, .argc = argc, .argv = argv, .code = 3};
    if (bench.a) arena_try(bench.a, run, &m);
    for (int w = 0; w < MAX_WORKERS; w++) {
        for (int p = 0; p < MAX_NAMES; p++) roller_profile_destroy(bench.loaded[w][p]);
        roller_ctx_destroy(bench.ctx[w]);
    }
    arena_destroy(bench.a);
    return m.code;
}
