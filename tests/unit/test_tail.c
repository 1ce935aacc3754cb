/* links: driver */
/* Tails: tiles whose k-steps are dealt out to several blocks.  Programs of a device with few SMs
 * on the simulator against te_eval, bit for bit, with their counters against the model's; the same
 * bits at every order of execution; rules, text and choice.  LONG=1 runs more of them.  */
#include "case_run.h"
#include "base/hash.h"
#include "driver/check/run.h"
#include "effort.h"
#include "kernel_fixture.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
    int sms;
    bool counted;             /* every program with whole tiles has the counters of the model */
} op[] = {
    {"f32", "op f(A: f32[96,128], B: f32[128,96]) -> C: f32[96,96] {"
     " C[m,n] += A[m,k] * B[k,n]; }", 5, true},
    {"f32 ragged", "op f(A: f32[75,51], B: f32[70,75]) -> C: f32[51,70] {"
     " C[m,n] += A[k,m] * B[n,k]; }", 4, false},
    {"least sums", "op f(A: f32[33,90], B: f32[47,90]) -> C: f32[33,47] {"
     " C[m,n] min= A[m,k] + B[n,k]; }", 5, false},
    {"bytes", "op f(A: i8[64,256], B: i8[80,256]) -> C: i32[64,80] {"
     " C[m,n] += i32(A[m,k]) * i32(B[n,k]); }", 7, false},
    {"f64", "op f(A: f64[40,96], B: f64[96,48], R: f64[40,48]) -> C: f64[40,48] {"
     " t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] + R[m,n]; }", 7, false},
    {"f16", "op f(A: f16[128,256], B: f16[96,256]) -> C: f16[128,96] {"
     " C[m,n] += A[m,k] * B[n,k]; }", 7, true},
    {"f16 ragged, epilogue", "op f(A: f16[72,144], B: f16[144,104], e: f32[104]) ->"
     " (C: f32[72,104], D: f16[72,104]) { t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] + e[n];"
     " D[m,n] = max(C[m,n], 0); }", 5, false},
    {"f16 odd", "op f(A: f16[33,75], B: f16[75,51]) -> C: f16[33,51] {"
     " C[m,n] += A[m,k] * B[k,n]; }", 5, false},
    {"f16 batch", "op f(A: f16[3,40,128], B: f16[3,24,128]) -> C: f32[3,40,24] {"
     " C[b,m,n] += A[b,m,k] * B[b,n,k]; }", 5, false},
    {"few rows", "op f(A: f16[8,256], B: f16[256,96]) -> C: f16[8,96] {"
     " C[m,n] += A[m,k] * B[k,n]; }", 5, false},
    {"conv nhwc", "op f(X: f16[2,9,9,32], W: f16[48,3,3,32]) -> Y: f16[2,9,9,48] {"
     " Y[n,p,q,f] += (X[n,p+r-1,q+s-1,c] else 0) * W[f,r,s,c]; }", 7, false},
    {"conv nchw", "op f(X: f32[2,16,8,8], W: f32[24,16,3,3]) -> Y: f32[2,24,8,8] {"
     " Y[n,f,p,q] += (X[n,c,p+r-1,q+s-1] else 0) * W[f,c,r,s]; }", 5, false},
    {"weights of bytes", "op f(A: f16[72,384], W: u8[56,384], z: f16[56]) -> C: f16[72,56] {"
     " C[m,n] += A[m,k] * f16(f32(W[n,k]) - z[n]); }", 5, false},
};
enum { OPS = sizeof op / sizeof *op };

static Device *small_device(Arena *a, int sms) {
    Device *dev = fixture_device(a, "a100");
    dev->limits.sm_count.value = sms;
    return dev;
}

/* A candidate with a tail, by seed; false: there is none.  */
static bool pick_tail(KernelCase *c, uint64_t seed) {
    const RProgSet *set = &c->set[0];
    int n = 0;
    for (int i = 0; i < set->n; i++) n += set->prog[i].tail > 0;
    if (n == 0) return false;
    int64_t want = (int64_t)(rng_next(&(Rng){seed}) % (uint64_t)n);
    for (int i = 0; i < set->n; i++) {
        if (set->prog[i].tail > 0 && want-- == 0) c->plan.prog[0] = set->prog[i];
    }
    return true;
}

/* Is every block's range as the contract says, and each tile's cover whole?  */
static void check_cover(const Problem *p, const RProg *r) {
    int64_t steps = rprog_tiles(p, r, AX_K), each = rprog_tail_steps(p, r), parts = 0, slot = -1;
    for (int64_t t = 0; t < r->tail; t++) {
        int64_t first, last, covered = 0;
        rprog_tail_blocks(p, r, t, &first, &last);
        for (int64_t u = first; u <= last; u++) {
            int64_t from = u * each, to = from + each;
            if (from < t * steps) from = t * steps;
            if (to > (t + 1) * steps) to = (t + 1) * steps;
            assert_true(from < to);
            assert_true(u + t > slot);
            slot = u + t;
            covered += to - from;
            parts++;
        }
        assert_int_equal(covered, steps);
        assert_in_range(last, first, r->tail_blocks - 1);
    }
    assert_int_equal(parts, rprog_tail_partials(p, r));
    assert_int_equal(slot + 1, r->tail_blocks + r->tail - 1);
    assert_int_equal(rprog_workspace(p, r), (slot + 1) * rprog_tail_slot(p, r));
}

/* ---- runs ---- */

/* Tiles of the output are whole, and rows of them whole sectors.  */
static bool whole_tiles(const Problem *p, const RProg *r, int bytes) {
    if (r->block.extent[AX_N] * bytes % 32) return false;
    for (int i = 0; i < AX_CLASSES; i++)
        if (p->extent[i] % r->block.extent[i]) return false;
    return true;
}

/* Counters of the computing kernel.  */
static int compare_counters(KernelCase *c) {
    const Problem *p = &c->plan.problem[0];
    const RProg *r = &c->plan.prog[0];
    Run run;
    Estimate e;
    if (!whole_tiles(p, r, te_dtype_bytes(c->te->tensor[c->te->n_in].dtype))) return 0;
    assert_int_equal(case_run(c, TE_FILL_INTEGERS, &(SimOptions){.threads = 1, .seed = 1}, &run),
                     ST_OK);
    mp_estimate(p, r, c->dev, &e);
    const SimCounters *t = &run.report.total;
    bool matrix = rprog_matrix(c->dev, r);
    assert_int_equal(run.report.faults, 0);
    assert_int_equal(t->global_load_sectors, e.load_sectors);
    assert_int_equal(t->global_store_sectors, e.store_sectors);
    assert_int_equal(t->shared_store_wavefronts, e.smem_store_wavefronts);
    assert_int_equal(t->pipe[matrix ? SIM_PIPE_TENSOR : SIM_PIPE_FFMA], e.fma);
    assert_true(32.0 * (double)(t->unique_load_sectors + t->unique_store_sectors) ==
                e.dram_bytes);
    return 1;
}

static void test_kernels(void **state) {
    (void)state;
    int each = effort_long() ? 40 : 3, compared = 0, failed = 0;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    assert_int_equal(nvrtc_open(a, &d, NULL, "sm_80", &nvrtc), ST_OK);
    for (int i = 0; i < OPS; i++) {
        for (int s = 0; s < each; s++) {
            ArenaMark mark = arena_mark(a);
            KernelCase c = {0};
            const char *wrong = kernel_open(&c, a, small_device(a, op[i].sms), op[i].text, NULL);
            if (!wrong && !pick_tail(&c, (uint64_t)(s * OPS + i))) wrong = "no program has a tail";
            if (!wrong) wrong = rprog_check(&c.plan.problem[0], c.dev, &c.plan.prog[0]);
            if (!wrong) check_cover(&c.plan.problem[0], &c.plan.prog[0]);
            if (!wrong) wrong = kernel_emit(&c);
            if (!wrong) wrong = kernel_compile(&c, nvrtc, false);
            if (!wrong) wrong = kernel_run(&c, TE_FILL_INTEGERS, (uint64_t)s + 1, true);
            if (!wrong && op[i].counted) compared += compare_counters(&c);
            failed += wrong != NULL;
            if (wrong) print_error("%s\n", kernel_report(&c, op[i].name, wrong));
            arena_reset(a, mark);
        }
    }
    print_message("%d programs, %d with counters compared\n", OPS * each, compared);
    assert_int_equal(failed, 0);
    assert_true(compared > 0);
    arena_destroy(a);
}

/* Sums of reals depend on their order, which no seed of the simulator may change.  */
static void test_same_bits(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    KernelCase c = {0};
    const void *first = NULL;
    assert_int_equal(nvrtc_open(a, &d, NULL, "sm_80", &nvrtc), ST_OK);
    assert_null(kernel_open(&c, a, small_device(a, 5), op[0].text, NULL));
    assert_true(pick_tail(&c, 7));
    assert_null(kernel_emit(&c));
    assert_null(kernel_compile(&c, nvrtc, false));
    size_t bytes = te_tensor_bytes(&c.te->tensor[c.te->n_in]);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        Run run;
        assert_int_equal(
            case_run(&c, TE_FILL_REALS, &(SimOptions){.threads = 1, .seed = seed}, &run), ST_OK);
        assert_int_equal(run_launch(&run, a, &c.diag, 1, NULL, 0), ST_OK);
        assert_null(run.fault);
        const void *out = run_read(&run, a, &c.diag, run_address(&run, c.te->n_in), bytes);
        assert_non_null(out);
        if (first) assert_memory_equal(first, out, bytes);
        first = out;
    }
    arena_destroy(a);
}

/* ---- plans ---- */

static void test_text(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    KernelCase c = {0};
    assert_null(kernel_open(&c, a, small_device(a, 5), op[5].text, NULL));
    assert_true(pick_tail(&c, 3));
    Buf text = buf_new(a), again = buf_new(a);
    rprog_print(&c.plan, c.dev, &text);
    assert_non_null(strstr(buf_str(&text), " tail "));
    RPlan back = {.te = c.plan.te, .group = c.plan.group, .problem = c.plan.problem, .n = 1};
    back.prog = ARENA_ARRAY(a, RProg, 1);
    assert_int_equal(rprog_read(a, &c.diag, (DiagText){"p", buf_str(&text), text.len}, c.dev,
                                &back), ST_OK);
    rprog_print(&back, c.dev, &again);
    assert_string_equal(buf_str(&text), buf_str(&again));
    arena_destroy(a);
}

static void test_rules(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    KernelCase c = {0};
    assert_null(kernel_open(&c, a, small_device(a, 5), op[5].text, NULL));
    assert_true(pick_tail(&c, 3));
    const Problem *p = &c.plan.problem[0];
    const RProg good = c.plan.prog[0];
    assert_null(rprog_check(p, c.dev, &good));
#define BREAK(change, words)                                                                       \
    {                                                                                              \
        RProg r = good;                                                                            \
        change;                                                                                    \
        const char *why = rprog_check(p, c.dev, &r);                                               \
        assert_non_null(why);                                                                      \
        assert_non_null(strstr(why, words));                                                       \
    }
    BREAK(r.split = 2; r.store_vec = 1, "split 1")
    BREAK(r.tail = 0, "tail is not")
    BREAK(r.tail = (int32_t)rprog_blocks(p, &r) + 1, "tail is not")
    BREAK(r.tail_blocks = 0, "no k-steps")
    BREAK(r.tail_blocks = 100000, "no k-steps")
#undef BREAK
    RPlanOptions none = {.workspace_limit = 0};
    RProgSet set;
    assert_int_equal(rprog_candidates(a, &c.diag, p, c.dev, &none, &set), ST_OK);
    for (int i = 0; i < set.n; i++) assert_int_equal(set.prog[i].tail, 0);
    arena_destroy(a);
}

/* A tail is taken where tiles fill a wave and a bit of the next one, and never at whole waves.  */
static void test_choice(void **state) {
    (void)state;
    static const struct {
        const char *profile, *type;
        int m, n, k;
        bool tail;
    } shape[] = {
        {"rtx5090", "f16", 2048, 5120, 5120, true},
        {"a100", "f32", 1024, 1024, 1024, true},
        {"a100", "f16", 1024, 1024, 256, false},
        {"a100", "f16", 3072, 4608, 4096, false},
    };
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        KernelCase c = {0};
        const Device *dev = fixture_device(a, shape[i].profile);
        const char *type = shape[i].type;
        const char *text = arena_printf(a, "op f(A: %s[%d,%d], B: %s[%d,%d]) -> C: %s[%d,%d]"
                                        " { C[m,n] += A[m,k] * B[n,k]; }", type, shape[i].m,
                                        shape[i].k, type, shape[i].n, shape[i].k, type, shape[i].m,
                                        shape[i].n);
        assert_null(kernel_open(&c, a, dev, text, NULL));
        assert_null(kernel_pick(&c, 0));
        const RProg *r = &c.plan.prog[0];
        assert_int_equal(r->tail > 0, shape[i].tail);
        if (!shape[i].tail) continue;
        Estimate with, without;
        RProg whole = *r;
        whole.tail = whole.tail_blocks = 0;
        mp_estimate(&c.plan.problem[0], r, dev, &with);
        mp_estimate(&c.plan.problem[0], &whole, dev, &without);
        assert_true(with.us < without.us);
        assert_true(with.wave_efficiency > without.wave_efficiency);
        assert_true(with.term[MP_SPLIT] > 0);
        Buf said = buf_new(a);
        Ranked best = {.prog = *r, .estimate = with};
        mp_explain(&c.plan.problem[0], dev, &c.set[0], &best, 1, &said);
        assert_non_null(strstr(buf_str(&said), "dealt out"));
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_text),    cmocka_unit_test(test_rules),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
