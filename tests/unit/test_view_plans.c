/* Programs by columns, over windows and by boxes: what they move, and that those of real sizes
 * compile.
 *
 * A program that needs each input element needs each of its sectors once: the simulator counts
 * distinct sectors and bytes of the compiled PTX, the expected figures come from the shapes
 * alone.  Boxes of whole axes also take the wavefronts of shared memory that the model counts.  */
#include "case_run.h"
#include "driver/pipeline/compile.h"
#include "driver/check/run.h"
#include "driver/check/sample.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"
#include "workers.h"
#include "workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PICKS = 3, SECTOR_BYTES = 32 };

typedef struct {
    const char *name, *text;
    Skeleton skeleton;
} Shape;

static const Shape shapes[] = {
    {"max pool", "op f(X: f32[2,3,24,32]) -> Y: f32[2,3,12,16] { Y[n,c,p,q] max= "
                 "X[n,c,2*p+r-1,2*q+s-1] else -inf where r in 3, s in 3; }", SK_WINDOW},
    {"max pool, channels last", "op f(X: f16[2,14,14,32]) -> Y: f16[2,7,7,32] { Y[n,p,q,c] max= "
                                "X[n,2*p+r-1,2*q+s-1,c] else -inf where r in 3, s in 3; }",
     SK_WINDOW},
    {"average pool", "op f(X: f32[4,8,20,24]) -> Y: f32[4,8,10,12] { Y[n,c,p,q] = sum[r,s]("
                     "X[n,c,2*p+r,2*q+s]) / 4.0 where r in 2, s in 2; }", SK_WINDOW},
    {"odd rows", "op f(X: f32[8,2,11,11]) -> Y: f32[8,2,11,11] { Y[n,c,p,q] = sum[r,s]("
                 "X[n,c,p+r-1,q+s-1] else 0) where r in 3, s in 3; }", SK_WINDOW},
    {"depthwise", "op f(X: f32[2,4,16,16], K: f32[4,3,3]) -> Y: f32[2,4,16,16] { Y[n,c,p,q] += "
                  "(X[n,c,p+r-1,q+s-1] else 0) * K[c,r,s]; }", SK_WINDOW},
    {"column sums", "op f(X: f32[96,64]) -> Y: f32[64] { Y[c] = sum[r](X[r,c]); }", SK_COLUMN},
    {"middle axis", "op f(X: f16[4,40,48]) -> Y: f16[4,48] { Y[o,c] = sum[r](X[o,r,c]); }",
     SK_COLUMN},
    {"transpose", "op f(X: f32[128,192]) -> Y: f32[192,128] { Y[m,n] = X[n,m]; }", SK_PERMUTE},
    {"transpose of halves", "op f(X: f16[128,128]) -> Y: f16[128,128] { Y[m,n] = X[n,m]; }",
     SK_PERMUTE},
    {"transpose of bytes", "op f(X: i8[128,256]) -> Y: i8[256,128] { Y[m,n] = X[n,m]; }",
     SK_PERMUTE},
    {"channels first", "op f(X: f32[2,32,32,3]) -> Y: f32[2,3,32,32] { Y[n,c,h,w] = X[n,h,w,c]; }",
     SK_PERMUTE},
    {"channels last", "op f(X: f16[2,16,32,32]) -> Y: f16[2,32,32,16] { Y[n,h,w,c] = X[n,c,h,w];"
                      " }", SK_PERMUTE},
    {"inner axes", "op f(X: f32[64,8,16]) -> Y: f32[64,16,8] { Y[n,b,a] = X[n,a,b]; }",
     SK_PERMUTE},
    {"batch statistics", "op f(X: f16[4,6,6,64]) -> (M: f32[64], V: f32[64], L: f32[64]) {"
                         " M[c] = sum[n,h,w](X[n,h,w,c]); L[c] = max[n,h,w](X[n,h,w,c]);"
                         " V[c] = sum[n,h,w](X[n,h,w,c] * X[n,h,w,c]) - M[c] * M[c]; }", SK_COLUMN},
    {"argmax", "op f(X: i8[60,96]) -> Y: i32[96] { Y[c] = argmax[r](X[r,c]); }", SK_COLUMN},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Rows of the workload sets, each for every device below.  */
static const struct {
    const char *set, *id;
} rows[] = {
    {"roller119", "D1"}, {"roller119", "D17"}, {"roller119", "P2"}, {"tvm21", "MOB-4-b128-f32"},
    {"bolt", "RN50-pool-b32"}, {"rowops", "reduce_sum-013"}, {"rowops", "reduce_sum-021"},
};
static const char *const devices[] = {"h200", "a100", "rtx4090"};
enum { ROWS = sizeof rows / sizeof *rows, DEVICES = sizeof devices / sizeof *devices };

typedef struct {
    int i, pick;
    int compared;
    Arena *arena;
    char wrong[600];
} Job;

static void fail_job(Job *j, const char *name, const char *what) {
    snprintf(j->wrong, sizeof j->wrong, "%.60s: %.500s", name, what);
}

static bool run_jobs(Job *job, int n, bool (*one)(void *, int64_t, int)) {
    bool ok = workers_for(0, n, one, job);
    for (int i = 0; i < n; i++) {
        if (job[i].wrong[0]) print_error("%s\n", job[i].wrong);
        ok &= !job[i].wrong[0];
    }
    return ok;
}

/* ---- traffic ---- */

static uint64_t sectors(const Te *te, int from, int to, uint64_t *bytes) {
    uint64_t n = 0;
    *bytes = 0;
    for (int t = from; t < to; t++) {
        uint64_t size = te_tensor_bytes(&te->tensor[t]);
        *bytes += size;
        n += (size + SECTOR_BYTES - 1) / SECTOR_BYTES;
    }
    return n;
}

/* The pick-th program of the skeleton that has no second kernel; the model's best first.  */
static bool choose(KernelCase *c, Skeleton skeleton, int pick) {
    RProgSet *set = &c->set[0];
    RProgSet some = {.prog = ARENA_ARRAY(c->arena, RProg, set->n + 1)};
    for (int i = 0; i < set->n; i++) {
        const RProg *r = &set->prog[i];
        if (r->skeleton == skeleton && r->split == 1) some.prog[some.n++] = *r;
    }
    *set = some;
    return some.n > 0 && !kernel_pick(c, (uint64_t)pick);
}

static const char *compile_and_run(KernelCase *c, Run *run) {
    Nvrtc *n;
    const char *wrong = kernel_emit(c);
    if (!wrong && nvrtc_open(c->arena, &c->diag, NULL, c->dev->arch, &n)) return "no NVRTC";
    if (!wrong) wrong = kernel_compile(c, n, false);
    if (wrong) return wrong;
    return case_run(c, TE_FILL_INTEGERS, &(SimOptions){.threads = 1}, run) ? "it does not run"
                                                                           : run->fault;
}

/* Does shared memory take the wavefronts that the model counts?  Boxes that cut no axis into
 * uneven parts, and of a size at which it looks at all requests.  */
static bool as_counted(const KernelCase *c, const SimCounters *t) {
    enum { ALL_COUNTED = 2048 };
    const Problem *p = &c->plan.problem[0];
    const RProg *r = &c->plan.prog[0];
    Estimate e;
    if (rprog_permute_points(p, r) > ALL_COUNTED) return true;
    for (int a = 0; a < p->permute.out.n_digit; a++) {
        if (p->permute.out.digit[a].extent % r->block.extent[a]) return true;
    }
    mp_estimate(p, r, c->dev, &e);
    return (int64_t)t->shared_load_wavefronts == e.smem_load_wavefronts &&
           (int64_t)t->shared_store_wavefronts == e.smem_store_wavefronts;
}

static void measure(void *user) {
    Job *j = user;
    const Shape *s = &shapes[j->i];
    KernelCase c;
    Run run;
    const char *wrong = kernel_open(&c, j->arena, fixture_device(j->arena, "h200"), s->text, NULL);
    if (!wrong && !choose(&c, s->skeleton, j->pick)) wrong = "no program of the skeleton";
    if (!wrong) wrong = compile_and_run(&c, &run);
    if (wrong) {
        fail_job(j, s->name, wrong);
        return;
    }
    const Te *te = c.te;
    const SimCounters *t = &run.report.total;
    uint64_t in, out, loads = sectors(te, 0, te->n_in, &in);
    uint64_t stores = sectors(te, te->n_in, te->n_in + te->n_out, &out);
    bool once = s->skeleton == SK_WINDOW || t->global_load_bytes == in;
    if (t->unique_load_sectors != loads || t->unique_store_sectors != stores ||
        t->global_store_bytes != out || t->global_load_bytes < in || !once) {
        const char *text = arena_printf(
            j->arena, "sectors read %llu of %llu, written %llu of %llu; bytes read %llu of %llu, "
            "written %llu of %llu", (unsigned long long)t->unique_load_sectors,
            (unsigned long long)loads, (unsigned long long)t->unique_store_sectors,
            (unsigned long long)stores, (unsigned long long)t->global_load_bytes,
            (unsigned long long)in, (unsigned long long)t->global_store_bytes,
            (unsigned long long)out);
        fail_job(j, s->name, kernel_report(&c, s->name, text));
    }
    if (s->skeleton == SK_PERMUTE && !as_counted(&c, t))
        fail_job(j, s->name, kernel_report(&c, s->name, "other wavefronts than counted"));
    j->compared++;
}

static bool one_measure(void *user, int64_t i, int worker) {
    (void)worker;
    Job *j = (Job *)user + i;
    j->arena = arena_create(NULL);
    bool done = j->arena && arena_try(j->arena, measure, j);
    arena_destroy(j->arena);
    return done;
}

static void inputs_are_read_once(void **state) {
    (void)state;
    static Job job[SHAPES * PICKS];
    for (int i = 0; i < SHAPES * PICKS; i++) job[i] = (Job){.i = i / PICKS, .pick = i % PICKS};
    assert_true(run_jobs(job, SHAPES * PICKS, one_measure));
}

/* ---- which outputs a block computes ---- */

/* Every output belongs to one point of one block.  */
static const char *cover(KernelCase *c, const RProg *r) {
    const Problem *p = &c->plan.problem[0];
    const TeTensor *out = &c->te->tensor[c->te->n_in];
    int64_t total = te_tensor_count(out);
    unsigned char *seen = arena_calloc(c->arena, (size_t)total, 1);
    Rng rng = {1};
    IndexMap m;
    index_map(p, r, 0, &m);
    if (index_grid(c->arena, &m).value != index_blocks(&m)) return "two counts of blocks";
    for (int64_t x = 0; x < index_blocks(&m); x++) {
        BlockPoint *at;
        int n = sample_points(c->arena, &m, x, 1 << 20, &rng, &at);
        for (int i = 0; i < n; i++) {
            int64_t index[TE_MAX_INDICES] = {0}, flat = 0;
            index_point(&m, at[i].at, index);
            for (int k = 0; k < out->rank; k++) {
                if (index[k] < 0 || index[k] >= out->shape[k].value) return "an index is outside";
                flat = flat * out->shape[k].value + index[k];
            }
            if (seen[flat]++) return "an output belongs to two blocks";
        }
    }
    for (int64_t i = 0; i < total; i++) {
        if (!seen[i]) return "an output belongs to no block";
    }
    return NULL;
}

static void cover_outputs(const char *name, const char *text) {
    Arena *a = arena_create(NULL);
    KernelCase c;
    assert_null(kernel_open(&c, a, fixture_device(a, "h200"), text, NULL));
    for (int k = 0; k < c.set[0].n; k += 1 + c.set[0].n / 64) {
        const RProg *r = &c.set[0].prog[k];
        const char *wrong = cover(&c, r);
        c.plan.prog[0] = *r;
        if (wrong) fail_msg("%s", kernel_report(&c, name, wrong));
    }
    arena_destroy(a);
}

static void blocks_cover_outputs(void **state) {
    (void)state;
    static const char *const others[] = {
        ("op f(A: f32[3,70,40], B: f32[3,40,90]) -> C: f32[3,70,90] {"
         " C[b,m,n] += A[b,m,k] * B[b,k,n]; }"),
        "op f(A: f16[200,64], B: f16[64,72]) -> C: f16[200,72] { C[m,n] += A[m,k] * B[k,n]; }",
        "op f(X: f32[37,75]) -> Y: f32[37,75] { m[i] = max[j](X[i,j]); Y[i,j] = X[i,j] - m[i]; }",
        "op f(X: f16[5,1033]) -> Y: f16[5,1033] { Y[i,j] = X[i,j] + 1.0; }"};
    for (int i = 0; i < SHAPES; i++) cover_outputs(shapes[i].name, shapes[i].text);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) cover_outputs("other", others[i]);
}

/* Blocks that stay for several tiles: each tile's block is there, once.  */
static void blocks_of_tiles(void **state) {
    (void)state;
    for (int i = 2; i < 24; i++) {
        int64_t across = i / 2;
        bool snake = i % 2;
        int64_t tile[] = {0, 3, 4, 7, 11, 30}, id[6];
        int n = sizeof tile / sizeof *tile, count;
        memcpy(id, tile, sizeof id);
        count = sample_launched(id, n, across, snake);
        for (int k = 1; k < count; k++) assert_true(id[k - 1] < id[k]);
        for (int x = 0; x < n; x++) {
            int made = 0;
            for (int k = 0; k < count; k++) {
                int64_t round = 0, t = id[k];
                for (; t <= tile[x]; round++) {
                    made += t == tile[x];
                    bool back = snake && round % 2 == 0;
                    t = (round + 1) * across + (back ? across - 1 - id[k] : id[k]);
                }
            }
            assert_int_equal(made, 1);
        }
    }
}

/* ---- real sizes ---- */

static const Workload *find_row(Arena *a, Diag *d, int i) {
    WorkloadSet set;
    const char *file = arena_printf(a, "benchmarks/workloads/%s.csv", rows[i].set);
    if (workload_read(a, d, file, &set)) return NULL;
    for (int k = 0; k < set.n; k++) {
        if (strcmp(set.row[k].id, rows[i].id) == 0) return &set.row[k];
    }
    return NULL;
}

static void construct(void *user) {
    Job *j = user;
    const char *name = rows[j->i / DEVICES].id, *device = devices[j->i % DEVICES];
    Diag d = diag_new(j->arena);
    const Workload *row = find_row(j->arena, &d, j->i / DEVICES);
    Buf text = buf_new(j->arena);
    Te *te;
    PlanSet set;
    WholePlan plan;
    Build build;
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
    BuildOptions b = {0};
    Status s = ST_INTERNAL;
    if (row && workload_te(row, NULL, &text))
        s = te_parse(j->arena, &d, (DiagText){"row.te", text.text, text.len}, NULL, NULL, &te);
    if (!s)
        s = compile_plan(j->arena, &d, &(PlanRequest){te, fixture_device(j->arena, device), &o},
                         &set);
    if (!s) {
        compile_choose(j->arena, &set, 0, &plan);
        s = compile_best(j->arena, &d, &set, &b, &plan, &build);
    }
    if (s) {
        fail_job(j, name, d.count ? d.messages[0].message : "no such row");
        return;
    }
    Skeleton skeleton = plan.rplan.prog[set.dominant].skeleton;
    bool known = skeleton == SK_COLUMN || skeleton == SK_WINDOW || skeleton == SK_STREAM;
    if (!known) fail_job(j, name, "another skeleton");
    if (build.spilled) fail_job(j, name, "the first plan spills");
    for (int i = 0; i < build.nvrtc.n_kernel; i++) {
        const KernelResources *r = &build.nvrtc.kernel[i];
        if (r->spill_stores + r->spill_loads > 0) fail_job(j, name, "it spills");
    }
    j->compared++;
}

static bool one_construct(void *user, int64_t i, int worker) {
    (void)worker;
    Job *j = (Job *)user + i;
    j->arena = arena_create(NULL);
    bool done = j->arena && arena_try(j->arena, construct, j);
    arena_destroy(j->arena);
    return done;
}

static void real_sizes_compile(void **state) {
    (void)state;
    static Job job[ROWS * DEVICES];
    for (int i = 0; i < ROWS * DEVICES; i++) job[i] = (Job){.i = i};
    assert_true(run_jobs(job, ROWS * DEVICES, one_construct));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_read_once),
        cmocka_unit_test(blocks_cover_outputs),
        cmocka_unit_test(blocks_of_tiles),
        cmocka_unit_test(real_sizes_compile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
