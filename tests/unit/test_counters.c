/* The model's traffic against the simulator's counters: equal for aligned tiles.
 *
 * The model derives its counts from the plan in closed form; the simulator counts what the compiled
 * PTX does, lane by lane.  Neither knows the other.  */
#include "case_run.h"
#include "driver/check/run.h"
#include "kernel_fixture.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"
#include "workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_JOBS = 400 };

typedef struct {
    const char *name, *text;
    const char *device;
    int picks;
    bool matrix;              /* programs of matrix units only */
    bool region;              /* programs that load an operand as a region only */
} Shape;

/* Sizes that many tiles divide.  */
static const Shape shapes[] = {
    {"matmul nn", "op f(A: f32[192,128], B: f32[128,256]) -> C: f32[192,256] "
                  "{ C[m,n] += A[m,k] * B[k,n]; }", "h200", 14, false, false},
    {"matmul nt", "op f(A: f32[128,64], B: f32[256,64]) -> C: f32[128,256] "
                  "{ C[m,n] += A[m,k] * B[n,k]; }", "a100", 10, false, false},
    {"matmul tn", "op f(A: f32[64,256], B: f32[64,128]) -> C: f32[256,128] "
                  "{ C[m,n] += A[k,m] * B[k,n]; }", "rtx4090", 10, false, false},
    {"matmul tt, staged", "op f(A: f32[64,256], B: f32[128,64]) -> C: f32[256,128] "
                          "{ C[m,n] += A[k,m] * B[n,k]; }", "v100", 10, false, false},
    {"batched", "op f(A: f32[3,64,64], B: f32[3,64,64]) -> C: f32[3,64,64] "
                "{ C[b,m,n] += A[b,m,k] * B[b,k,n]; }", "h200", 8, false, false},
    {"f64", "op f(A: f64[64,64], B: f64[64,128]) -> C: f64[64,128] "
            "{ C[m,n] += A[m,k] * B[k,n]; }", "a100", 6, false, false},
    {"i32", "op f(A: i32[64,64], B: i32[64,128]) -> C: i32[64,128] "
            "{ C[m,n] += A[m,k] * B[k,n]; }", "h200", 6, false, false},
    {"f16 nt", "op f(A: f16[192,128], B: f16[256,128]) -> C: f16[192,256] "
               "{ C[m,n] += A[m,k] * B[n,k]; }", "a100", 10, true, false},
    {"f16 nn", "op f(A: f16[128,128], B: f16[128,192]) -> C: f32[128,192] "
               "{ C[m,n] += A[m,k] * B[k,n]; }", "h200", 10, true, false},
    {"bf16 tn", "op f(A: bf16[128,128], B: bf16[128,128]) -> C: bf16[128,128] "
                "{ C[m,n] += A[k,m] * B[k,n]; }", "rtx4090", 6, true, false},
    {"f16 converted, nn", "op f(A: f16[192,64], B: f16[64,128]) -> C: f16[192,128] "
                          "{ C[m,n] += A[m,k] * B[k,n]; }", "h200", 12, false, false},
    {"f16 converted, nt", "op f(A: f16[192,64], B: f16[128,64]) -> C: f16[192,128] "
                          "{ C[m,n] += A[m,k] * B[n,k]; }", "rtx4090", 12, false, false},
    {"i8 nt", "op f(A: i8[128,256], B: i8[128,256]) -> C: i32[128,128] "
              "{ C[m,n] += A[m,k] * B[n,k]; }", "a100", 6, true, false},
    {"i8 nn, through registers", "op f(A: i8[128,2048], B: i8[2048,128]) -> C: i32[128,128] "
                                 "{ C[m,n] += A[m,k] * B[k,n]; }", "a100", 8, true, false},
    {"tf32 nt", "op f(A: f32[128,128], B: f32[128,128]) -> C: f32[128,128] "
                "{ C[m,n] += A[m,k] * B[n,k] @tf32; }", "a100", 6, true, false},
    {"weights of bytes", "op f(A: f16[64,256], W: i8[64,256]) -> C: f16[64,64] "
                         "{ C[m,n] += A[m,k] * f16(W[n,k]); }", "h200", 6, true, false},
    {"weights of half bytes", "op f(A: f16[64,256], W: u8[64,128]) -> C: f16[64,64] { C[m,n] += "
     "A[m,k] * f16((k % 2 == 0 ? W[n,k/2] % 16 : W[n,k/2] / 16) - 8); }", "a100", 6, true, false},
    {"stem, NHWC", "op f(X: f16[2,64,64,3], K: f16[7,7,3,32]) -> Y: f16[2,32,32,32] "
                   "{ Y[n,p,q,f] += (X[n,p*2+r-3,q*2+s-3,c] else 0) * K[r,s,c,f]; }", "h200", 6,
     true, true},
    {"3x3 convolution, NHWC", "op f(X: f16[2,32,32,32], K: f16[3,3,32,64]) -> Y: f16[2,32,32,64] "
                              "{ Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[r,s,c,f]; }", "a100",
     6, true, true},
    {"images of 14x14", "op f(X: f16[4,14,14,32], K: f16[3,3,32,64]) -> Y: f16[4,14,14,64] "
                        "{ Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * K[r,s,c,f]; }", "a100", 6,
     true, true},
    {"stem, NCHW", "op f(X: f32[2,3,64,64], K: f32[32,3,7,7]) -> Y: f32[2,32,32,32] "
                   "{ Y[n,f,p,q] += (X[n,c,p*2+r-3,q*2+s-3] else 0) * K[f,c,r,s]; }", "a100", 6,
     false, true},
    {"1x1 convolution, NHWC", "op f(X: f32[2,8,8,64], K: f32[64,64]) -> Y: f32[2,8,8,64] "
                              "{ Y[n,p,q,f] += X[n,p,q,c] * K[c,f]; }", "h200", 8, false, false},
};

typedef struct {
    const Shape *shape;
    uint64_t seed;
    char wrong[600];
    bool compared;
    bool split;               /* NVRTC reads shared memory by other pieces than the source */
} Job;

/* The last box of 128 bytes then reaches beyond the tile, and that of the last tile beyond the
 * tensor, where nothing is read.  */
static bool ends_within_box(const RProg *r, int side) {
    const RLoad *l = &r->load[side];
    bool boxes = !rprog_load_facts(l->kind).chunks && l->along != AX_K;
    return boxes && r->block.extent[l->along] % (8 * l->vec) != 0;
}

static bool aligned(const Problem *p, const RProg *r) {
    if (r->skeleton != SK_CONTRACT || r->split > 1) return false;
    for (int i = 0; i < AX_CLASSES; i++)
        if (p->extent[i] % r->block.extent[i]) return false;
    return !ends_within_box(r, LOAD_A) && !ends_within_box(r, LOAD_B);
}

static void expect(Job *j, const char *what, uint64_t counted, double predicted) {
    if ((double)counted == predicted || j->wrong[0]) return;
    snprintf(j->wrong, sizeof j->wrong, "%s: counted %llu, predicted %.0f", what,
             (unsigned long long)counted, predicted);
}

/* Equal within a share: where lines of a region begin and end, which of its blocks lie at the edge
 * of the image, and which rows of a matrix go on in the next line or image, is known on
 * average.  */
static void expect_near(Job *j, const char *what, uint64_t counted, double predicted,
                        double share) {
    double apart = (double)counted - predicted;
    if ((apart < 0 ? -apart : apart) > share * predicted) expect(j, what, counted, predicted);
}

static bool has_region(const RProg *r) { return r->load[0].region || r->load[1].region; }

/* Integer programs multiply and add for their addresses as well.  */
static void expect_fma(Job *j, const SimCounters *t, TeDtype type, bool matrix,
                       double predicted) {
    if (matrix) {
        expect(j, "products", t->pipe[SIM_PIPE_TENSOR], predicted);
        return;
    }
    if (type == TE_F64) expect(j, "multiply-adds", t->pipe[SIM_PIPE_DFMA], predicted);
    if (type == TE_F32) expect(j, "multiply-adds", t->pipe[SIM_PIPE_FFMA], predicted);
}

/* Rows of instructions read back by vectors, in pieces of at most 16 bytes.  */
static double staging_loads(const Problem *p, const RProg *r) {
    if (r->via != VIA_SHARED) return 0;
    int tiles = r->warp.extent[AX_M] / r->thread.extent[AX_M];
    int vectors = r->thread.extent[AX_M] * r->warp.extent[AX_N] / r->store_vec;
    int bytes = r->store_vec * p->acc_bytes;
    return (double)tiles * ((vectors + 31) / 32) * (bytes > 16 ? bytes / 16 : 1);
}

/* Sums of warps that share k-steps, in one access.  */
static int sums_at_once(const Problem *p, const Device *dev, const RProg *r) {
    int width = 16 / p->acc_bytes;
    int n = rprog_matrix(dev, r) ? rprog_unit_accumulators(dev, r) : r->thread.extent[AX_N];
    while (n % width != 0) width /= 2;
    return width;
}

/* Shared loads that the source asks for.  NVRTC at times makes two loads of one 16-byte load;
 * such a program is set aside, since the model prices the source.  */
static double asked_loads(const KernelCase *c, const Problem *p, const RProg *r) {
    double warps = r->threads / 32, blocks = (double)rprog_blocks(p, r);          /* tiles */
    double steps = (double)rprog_tiles(p, r, AX_K);
    double slices = r->block.extent[AX_K] / r->warp.extent[AX_K];
    double sums = (slices - 1) * warps / slices * r->warp.extent[AX_M] * r->warp.extent[AX_N] / 32;
    double reads = 0;
    sums /= sums_at_once(p, c->dev, r);
    if (r->via == VIA_SHARED) sums = 0;   /* added as pieces are read: each warp has one */
    for (int side = 0; side < p->n_operand; side++) {
        int own = side ? AX_N : AX_M, bytes = r->warp.extent[AX_K] * rprog_elem(p, c->dev, r, side);
        if (rprog_matrix(c->dev, r) && rprog_ldmatrix(p, c->dev, r, side)) {
            reads += r->warp.extent[own] / 8 * (bytes / 16); /* each matrix is a request */
            if (r->load[side].region) /* places of k */
                reads += r->warp.extent[AX_K] / r->thread.extent[AX_K];
        } else reads += rprog_fragment_reads(p, c->dev, r, side);
    }
    double parts = blocks + (r->tail > 0 ? (double)(rprog_tail_partials(p, r) - r->tail) : 0);
    if (rprog_matrix(c->dev, r) && rprog_fetched_ahead(c->dev, r, 0))
        steps += parts / blocks * r->split * r->thread.extent[AX_K] / r->warp.extent[AX_K];
    return blocks * (warps * steps * reads + sums) + parts * warps * staging_loads(p, r);
}

static void compare_region(Job *j, const KernelCase *c, const SimCounters *t, const Estimate *e) {
    /* Rows beyond M are not read back.  */
    const double ragged = 0.01;
    double asked = asked_loads(c, &c->plan.problem[0], &c->plan.prog[0]);
    double apart = (double)t->shared_load_requests - asked;
    j->split = (apart < 0 ? -apart : apart) > ragged * asked;
    expect(j, "global store sectors", t->global_store_sectors, (double)e->store_sectors);
    if (!j->split)
        expect_near(j, "shared load wavefronts", t->shared_load_wavefronts,
                    (double)e->smem_load_wavefronts, 0.03);
    expect_near(j, "shared store wavefronts", t->shared_store_wavefronts,
                (double)e->smem_store_wavefronts, 0.12);
    expect_near(j, "global load sectors", t->global_load_sectors, (double)e->load_sectors, 0.12);
}

static void compare_all(Job *j, KernelCase *c, const SimCounters *t, const Estimate *e) {
    const Problem *p = &c->plan.problem[0];
    const RProg *r = &c->plan.prog[0];
    expect(j, "global load sectors", t->global_load_sectors, (double)e->load_sectors);
    expect(j, "global store sectors", t->global_store_sectors, (double)e->store_sectors);
    bool matrix = rprog_matrix(c->dev, r);
    j->split = (double)t->shared_load_requests != asked_loads(c, p, r);
    if (!j->split)
        expect(j, "shared load wavefronts", t->shared_load_wavefronts,
               (double)e->smem_load_wavefronts);
    expect(j, "shared store wavefronts", t->shared_store_wavefronts,
           (double)e->smem_store_wavefronts);
    expect_fma(j, t, p->con.acc, matrix, (double)e->fma);
    expect(j, "DRAM bytes", 32 * (t->unique_load_sectors + t->unique_store_sectors),
           e->dram_bytes);
}

static void compare(Job *j, KernelCase *c) {
    const Problem *p = &c->plan.problem[0];
    const RProg *r = &c->plan.prog[0];
    if (c->plan.n != 1 || (!aligned(p, r) && !j->shape->region)) return;
    if (j->shape->matrix && !rprog_matrix(c->dev, r)) return;
    Nvrtc *n;
    Run run;
    const char *wrong = kernel_emit(c);
    if (!wrong && nvrtc_open(c->arena, &c->diag, NULL, c->dev->arch, &n)) {
        /* sm_70 where only CUDA 13 is installed: the oldest arch that it has.  */
        if (nvrtc_open(c->arena, &c->diag, NULL, NULL, &n)) wrong = "no NVRTC";
        else return;
    }
    if (!wrong) wrong = kernel_compile(c, n, false);
    if (!wrong &&
        case_run(c, TE_FILL_INTEGERS, &(SimOptions){.threads = 1, .no_races = true}, &run))
        wrong = "it does not run";
    if (wrong) {
        snprintf(j->wrong, sizeof j->wrong, "%.500s", wrong);
        return;
    }
    Estimate e;
    mp_estimate(p, r, c->dev, &e);
    const SimCounters *t = &run.report.total;
    expect(j, "faults", run.report.faults, 0);
    if (j->shape->region) compare_region(j, c, t, &e);
    else compare_all(j, c, t, &e);
    j->compared = true;
    if (!j->wrong[0]) return;
    Buf plan = buf_new(c->arena);
    rprog_print(&c->plan, c->dev, &plan);
    size_t used = strlen(j->wrong);
    snprintf(j->wrong + used, sizeof j->wrong - used, "\n%s", buf_str(&plan));
}

static void work(void *user) {
    Job *j = user;
    Arena *a = arena_create(NULL);
    KernelCase c;
    const char *wrong = kernel_open(&c, a, fixture_device(a, j->shape->device), j->shape->text,
                                    NULL);
    uint64_t seed = j->seed;
    if (!wrong) wrong = kernel_pick(&c, seed);
    while (!wrong && j->shape->region && seed < 400 && !has_region(&c.plan.prog[0]))
        wrong = kernel_pick(&c, seed += 7);
    if (wrong) snprintf(j->wrong, sizeof j->wrong, "%.500s", wrong);
    else compare(j, &c);
    arena_destroy(a);
}

static bool run_job(void *user, int64_t i, int worker) {
    (void)worker;
    Job *j = (Job *)user + i;
    workers_case("%s, seed %d", j->shape->name, (int)j->seed);
    Arena *guard = arena_create(NULL);
    bool done = guard && arena_try(guard, work, j);
    arena_destroy(guard);
    return done;
}

static void counts_equal_predictions(void **state) {
    (void)state;
    static Job job[MAX_JOBS];
    int n = 0, compared = 0, wrong = 0, split = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int i = 0; i < shapes[s].picks; i++)
            job[n++] = (Job){.shape = &shapes[s], .seed = (uint64_t)i};
    assert_true(workers_for(0, n, run_job, job));
    for (int i = 0; i < n; i++) {
        compared += job[i].compared;
        split += job[i].split;
        if (!job[i].wrong[0]) continue;
        wrong++;
        print_error("%s, seed %d: %s\n", job[i].shape->name, (int)job[i].seed, job[i].wrong);
    }
    print_message("%d programs, %d aligned and compared, %d with loads split by NVRTC\n", n,
                  compared, split);
    assert_int_equal(wrong, 0);
    assert_true(split <= compared / 10);
    assert_true(compared >= n / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_equal_predictions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
