/* links: sim */
/* Whole kernels as a generator would emit them, compiled by NVRTC: right under adversarial timing
 * with many seeds, and reported when a wait, a fence or a barrier is missing.  */
#include "base/file.h"
#include "base/numeric.h"
#include "hal/nvrtc.h"
#include "ptxrun.h"
#include "sim/async/tensormap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *defines, *file, *arch;
    int cluster;
    void (*arguments)(PtxRun *r, int cluster, int m, int n, int k);
    double (*result)(const PtxRun *r, int n, int row, int col);
    uint32_t threads, smem;
} Gemm;

/* Small integers: every order of summation is exact.  */
static int value_a(int row, int k) { return (row * 7 + k * 3 + row * k) % 5 - 2; }
static int value_b(int k, int col) { return (col * 5 + k * 11 + col * k) % 7 - 3; }

static double product(int row, int col, int k_size) {
    double sum = 0;
    for (int k = 0; k < k_size; k++) sum += value_a(row, k) * value_b(k, col);
    return sum;
}

static void *matrix(PtxRun *r, int rows, int cols, int bytes, uint64_t *at) {
    size_t size = (size_t)rows * (size_t)cols * (size_t)bytes;
    assert_int_equal(sim_malloc(r->gpu, &r->diag, size, at), ST_OK);
    void *host = sim_host(r->gpu, *at, size);
    assert_non_null(host);
    return host;
}

/* ---- cp.async, ldmatrix, mma.sync ---- */
typedef struct {
    uint64_t a, b, c;
    int32_t m, n, k;
} MmaParams;

static void mma_arguments(PtxRun *r, int cluster, int m, int n, int k) {
    (void)cluster;
    MmaParams *p = ARENA_NEW(r->arena, MmaParams);
    uint16_t *a = matrix(r, m, k, 2, &p->a), *b = matrix(r, k, n, 2, &p->b);
    matrix(r, m, n, 4, &p->c);
    for (int i = 0; i < m * k; i++) {
        a[i] = num_f16_encode(value_a(i / k, i % k), ROUND_NEAREST_EVEN, false);
    }
    for (int i = 0; i < k * n; i++) {
        b[i] = num_f16_encode(value_b(i / n, i % n), ROUND_NEAREST_EVEN, false);
    }
    p->m = m;
    p->n = n;
    p->k = k;
    r->launch.params = p;
    r->launch.params_bytes = sizeof *p;
    r->launch.grid[0] = (uint32_t)n / 128;
    r->launch.grid[1] = (uint32_t)m / 128;
}

static double mma_result(const PtxRun *r, int n, int row, int col) {
    const MmaParams *p = r->launch.params;
    const float *c = sim_host(r->gpu, p->c, 4);
    return (double)c[row * n + col];
}

/* ---- TMA, mbarriers, wgmma ---- */
typedef struct {
    unsigned char a[TM_BYTES], b[TM_BYTES], c[TM_BYTES];
    int32_t m, n, k;
    uint64_t out;
} WgmmaParams;

static void encode(unsigned char *out, uint64_t at, int inner, int outer, int box0, int box1,
                   int swizzle) {
    TensorMap map = {.type = TM_BF16, .rank = 2, .address = at,
                        .dim = {(uint64_t)inner, (uint64_t)outer}, .stride = {(uint64_t)inner * 2},
                        .box = {(uint32_t)box0, (uint32_t)box1}, .element_stride = {1, 1},
                        .swizzle = swizzle};
    assert_null(sim_tensormap_encode(&map, out));
}

static void wgmma_arguments(PtxRun *r, int cluster, int m, int n, int k) {
    WgmmaParams *p = ARENA_NEW(r->arena, WgmmaParams);
    uint64_t at_a, at_b;
    uint16_t *a = matrix(r, m, k, 2, &at_a), *b = matrix(r, n, k, 2, &at_b);
    matrix(r, m, n, 2, &p->out);
    for (int i = 0; i < m * k; i++) {
        a[i] = num_bf16_encode(value_a(i / k, i % k), ROUND_NEAREST_EVEN, false);
    }
    for (int i = 0; i < n * k; i++) {
        b[i] = num_bf16_encode(value_b(i % k, i / k), ROUND_NEAREST_EVEN, false);
    }
    encode(p->a, at_a, k, m, 64, 128, 3);
    encode(p->b, at_b, k, n, 64, 128 / cluster, 3);
    encode(p->c, p->out, n, m, 128, 64, 0);
    p->m = m;
    p->n = n;
    p->k = k;
    r->launch.params = p;
    r->launch.params_bytes = offsetof(WgmmaParams, out);
    r->launch.grid[0] = cluster == 1 ? 3 : 4;
    r->launch.cluster[0] = (uint32_t)cluster;
}

static double wgmma_result(const PtxRun *r, int n, int row, int col) {
    const WgmmaParams *p = r->launch.params;
    const uint16_t *c = sim_host(r->gpu, p->out, 2);
    return num_bf16_decode(c[row * n + col]);
}

static const Gemm mma = {"", "tests/sim/gemm_mma.cu", "sm_80", 1, mma_arguments, mma_result, 256,
                         4 * (128 * 80 + 32 * 272)};
static const Gemm wgmma = {"",  "tests/sim/gemm_wgmma.cu", "sm_90a",
                           1,   wgmma_arguments,           wgmma_result,
                           384, 4 * 32768 + 32768};

static const Gemm cluster = {"#define CLUSTER 2\n", "tests/sim/gemm_wgmma.cu", "sm_90a", 2,
                             wgmma_arguments, wgmma_result, 384, 4 * 32768 + 32768};

static const Gemm overlapped = {"#define IN_FLIGHT 1\n", "tests/sim/gemm_wgmma.cu", "sm_90a", 1,
                                wgmma_arguments, wgmma_result, 384, 4 * 32768 + 32768};

/* ---- Running ---- */
/* The source with the first `from` after `after` replaced; fails if there is none.  */
static const char *mutate(Arena *a, const char *source, const char *after, const char *from,
                          const char *to) {
    const char *place = strstr(source, after);
    place = place ? strstr(place, from) : NULL;
    if (!place) fail_msg("no %s after %s", from, after);
    return arena_printf(a, "%.*s%s%s", (int)(place - source), source, to, place + strlen(from));
}

static const char *source_of(Arena *a, const Gemm *g) {
    char *text;
    size_t len;
    Diag d = diag_new(a);
    assert_int_equal(file_read(a, &d, g->file, 1 << 20, &text, &len), ST_OK);
    return arena_printf(a, "%s%s", g->defines, text);
}

/* PTX of the source, or NULL when there is no NVRTC that can make it.  */
static const char *compile(Arena *a, const Gemm *g, const char *source) {
    Diag d = diag_new(a);
    NvrtcOptions o = {0};
    NvrtcRequest request = {.ptx = true, .line_info = true};
    Nvrtc *nvrtc;
    NvrtcOutput out;
    if (nvrtc_open(a, &d, &o, g->arch, &nvrtc) != ST_OK) return NULL;
    if (nvrtc_compile(nvrtc, a, &d, source, g->arch, &request, &out) != ST_OK) {
        fail_msg("%s", diag_first_error(&d)->message);
    }
    return out.ptx;
}

static void start(PtxRun *r, const Gemm *g, int m, int n, int k, uint64_t seed) {
    run_open(r);
    r->options.seed = seed;
    r->options.strict = true;
    r->launch.block[0] = g->threads;
    r->launch.dynamic_smem = g->smem;
    g->arguments(r, g->cluster, m, n, k);
}

static void launch(PtxRun *r, const char *ptx) {
    SimModule *module;
    Status s = sim_parse(r->arena, &r->diag, "gemm.ptx", ptx, strlen(ptx), &module);
    if (s == ST_OK) s = run_parsed(r, module, "gemm");
    if (s != ST_OK) fail_msg("%s", diag_first_error(&r->diag)->message);
}

static void check_right(const Gemm *g, const char *ptx, int m, int n, int k, uint64_t seed,
                        bool benign) {
    PtxRun r;
    start(&r, g, m, n, k, seed);
    r.options.benign = benign;
    launch(&r, ptx);
    if (r.report.faults) {
        Buf text = buf_new(r.arena);
        sim_fault_text(&r.report.fault[0], &text);
        fail_msg("seed %llu: %s", (unsigned long long)seed, buf_str(&text));
    }
    for (int row = 0; row < m; row++) {
        for (int col = 0; col < n; col++) {
            double got = g->result(&r, n, row, col), want = product(row, col, k);
            if (got != want) {
                fail_msg("seed %llu: c[%d][%d] is %g, not %g", (unsigned long long)seed, row, col,
                         got, want);
            }
        }
    }
    run_close(&r);
}

static void right_with_many_seeds(const Gemm *g, int m, int n, int k, uint64_t seeds) {
    Arena *a = arena_create(NULL);
    const char *ptx = compile(a, g, source_of(a, g));
    if (!ptx) {
        arena_destroy(a);
        skip();
    }
    for (uint64_t seed = 0; seed < seeds; seed++) check_right(g, ptx, m, n, k, seed, false);
    check_right(g, ptx, m, n, k, 0, true);
    arena_destroy(a);
}

static void mma_is_right(void **state) {
    (void)state;
    right_with_many_seeds(&mma, 128, 256, 192, 12);
}

static void wgmma_is_right(void **state) {
    (void)state;
    right_with_many_seeds(&wgmma, 256, 256, 320, 10);
}

static void wgmma_in_clusters_is_right(void **state) {
    (void)state;
    right_with_many_seeds(&cluster, 512, 256, 320, 8);
}

static void wgmma_in_flight_is_right(void **state) {
    (void)state;
    right_with_many_seeds(&overlapped, 256, 256, 320, 8);
}

/* The same seed gives the same counts, however many host threads run the blocks.  */
static void reports_repeat(void **state) {
    (void)state;
    const Gemm *both[] = {&mma, &wgmma, &cluster};
    for (int g = 0; g < 3; g++) {
        Arena *a = arena_create(NULL);
        const char *ptx = compile(a, both[g], source_of(a, both[g]));
        if (!ptx) {
            arena_destroy(a);
            skip();
        }
        SimCounters first;
        for (int run = 0; run < 3; run++) {
            PtxRun r;
            start(&r, both[g], 256, 256, 192, 5);
            r.options.threads = run + 1;
            launch(&r, ptx);
            assert_int_equal(r.report.faults, 0);
            if (run == 0) first = r.report.total;
            assert_memory_equal(&first, &r.report.total, sizeof first);
            run_close(&r);
        }
        arena_destroy(a);
    }
}

typedef struct {
    const char *after, *from, *to;
} Bug;

/* Every bug is reported, or shows in the result, with every seed.  */
static void every_bug_shows(const Gemm *g, const Bug *bugs, size_t n_bugs, int m, int n, int k) {
    for (size_t b = 0; b < n_bugs; b++) {
        Arena *a = arena_create(NULL);
        const char *source = mutate(a, source_of(a, g), bugs[b].after, bugs[b].from, bugs[b].to);
        const char *ptx = compile(a, g, source);
        if (!ptx) {
            arena_destroy(a);
            skip();
        }
        for (uint64_t seed = 0; seed < 3; seed++) {
            PtxRun r;
            start(&r, g, m, n, k, seed);
            launch(&r, ptx);
            if (r.report.faults == 0) {
                fail_msg("not reported with seed %llu: %s -> %s", (unsigned long long)seed,
                         bugs[b].from, bugs[b].to);
            }
            run_close(&r);
        }
        arena_destroy(a);
    }
}

static void bugs_of_mma_are_reported(void **state) {
    (void)state;
    static const Bug bugs[] = {
        {"for (int step",
         "asm volatile(\"cp.async.wait_group %0;\" ::\"n\"(STAGES - 2) : \"memory\");", ""},
        {"for (int step", "\"n\"(STAGES - 2)", "\"n\"(STAGES - 1)"},
        {"for (int step", "__syncthreads();", ""},
        {"int ahead", "ahead % STAGES", "(ahead + 1) % STAGES"},
        {"int ahead", "step % STAGES * STAGE", "(step + 1) % STAGES * STAGE"},
        {"load_stage(", "part * 8", "part * 8 + 4"},
        {"wm = ", "warp / 4 * 64", "warp / 4 * 65"},
        {"float *to", "8LL * n", "1000LL * n"},
        {"int ahead", "if (ahead < steps)", "if (true)"},
    };
    every_bug_shows(&mma, bugs, sizeof bugs / sizeof *bugs, 128, 128, 256);
}

static void bugs_of_wgmma_are_reported(void **state) {
    (void)state;
    static const Bug bugs[] = {
        {"if (threadIdx.x == 0)",
         "asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");", ""},
        {"fence.mbarrier_init", "sync_all();", ""},
        {"void produce", "mbarrier_wait(empty + 8 * stage, phase ^ 1);", ""},
        {"void produce", "phase ^ 1)", "phase)"},
        {"void produce", "mbarrier_expect(bar, STAGE)", "mbarrier_expect(bar, STAGE - 16)"},
        {"void produce", "mbarrier_expect(bar, STAGE)", "mbarrier_expect(bar, STAGE / 2)"},
        {"float acc", "mbarrier_wait(full + 8 * stage, phase);", ""},
        {"float acc", "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");", ""},
        {"float acc",
         "asm volatile(\"wgmma.wait_group.sync.aligned %0;\" ::\"n\"(IN_FLIGHT) : \"memory\");",
         ""},
        {"float acc", "asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");", ""},
        {"float acc", "if (leader && step >= IN_FLIGHT) release(empty + 8 * read);", ""},
        {"float acc", "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");", ""},
        {"fence.proxy.async.shared",
         "asm volatile(\"bar.sync %0, 128;\" ::\"r\"(consumer + 1) : \"memory\");", ""},
        {"stage = 0, phase",
         "if (leader) asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");", ""},
        {"bulk.wait_group.read",
         "asm volatile(\"bar.sync %0, 128;\" ::\"r\"(consumer + 1) : \"memory\");", ""},
        {"tma_store(c", "if (leader) asm volatile(\"cp.async.bulk.wait_group 0;\" ::: \"memory\");",
         ""},
        {"setmaxnreg.inc", "232", "240"},
        {"descriptor(unsigned at)", "1024 >> 4", "1024 >> 3"},
    };
    every_bug_shows(&wgmma, bugs, sizeof bugs / sizeof *bugs, 256, 256, 448);
}

static void bugs_of_clusters_are_reported(void **state) {
    (void)state;
    static const Bug bugs[] = {
        {"No block ends", "if (CLUSTER > 1) sync_all();", ""},
        {"fence.mbarrier_init", "sync_all();", "__syncthreads();"},
        {"mbarrier_init(full", "2 * CLUSTER", "2"},
        {"void release", "r < CLUSTER", "r < 1"},
        {"void release", "mbarrier_arrive_at(bar, r)", "mbarrier_arrive(bar)"},
        {"void produce", "(1 << CLUSTER) - 1", "1 << rank"},
        {"void produce", "(1 << CLUSTER) - 1", "7"},
        {"void produce", "A_BYTES + rank * (BN / CLUSTER) * BK * 2", "A_BYTES"},
    };
    every_bug_shows(&cluster, bugs, sizeof bugs / sizeof *bugs, 512, 128, 448);
}

static void bugs_of_wgmma_in_flight_are_reported(void **state) {
    (void)state;
    static const Bug bugs[] = {
        {"int read", "STAGES - IN_FLIGHT", "STAGES"},
        {"if (IN_FLIGHT) {", "asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");",
         ""},
        {"bool leader", "(IN_FLIGHT)", "(IN_FLIGHT + 1)"},
    };
    every_bug_shows(&overlapped, bugs, sizeof bugs / sizeof *bugs, 256, 256, 448);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mma_is_right),
        cmocka_unit_test(wgmma_is_right),
        cmocka_unit_test(wgmma_in_clusters_is_right),
        cmocka_unit_test(wgmma_in_flight_is_right),
        cmocka_unit_test(reports_repeat),
        cmocka_unit_test(bugs_of_mma_are_reported),
        cmocka_unit_test(bugs_of_wgmma_are_reported),
        cmocka_unit_test(bugs_of_clusters_are_reported),
        cmocka_unit_test(bugs_of_wgmma_in_flight_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
