/* links: sim */
/* Reductions that run to their own place, in every spelling, by programs of the `scan` skeleton of
 * each kind: what the emitted kernels compute on the simulator is what the statement says when it
 * is evaluated as it stands, bit for bit where every intermediate is exact, and they have no
 * fault. Every program is legal and its text reads back.
 *
 *   LONG=1 build/tests/test_scan_kernels      all kinds of each case, on all data
 */
#include "effort.h"
#include "kernel_fixture.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"
#include "workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *name, *text;
} Small;

#define ROWS(name, m, n, in, out, value)                                                           \
    {name, "op f(X: " in "[" #m "," #n "]) -> Y: " out "[" #m "," #n "] { Y[m,i] = " value         \
           " where r in " #n "; }"}
#define DOWN(name, b, n, m, in, out, value)                                                        \
    {name " down", "op f(X: " in "[" #b "," #n "," #m "]) -> Y: " out "[" #b "," #n "," #m "] {"   \
                   " Y[b,i,m] = " value " where r in " #n "; }"}
#define SUM "sum[r](r <= i ? X[m,r] : 0)"
#define SUM_DOWN "sum[r](r <= i ? X[b,r,m] : 0)"

#define RECUR(name, m, n, type, in, out, value)                                                    \
    {name, "op f(A: " type "[" #m "," #n "], X: " in "[" #m "," #n "]) -> Y: " out                 \
           "[" #m "," #n "] { Y[m,i] = " value "; }"}

static const Small table[] = {
    ROWS("sum", 6, 300, "f32", "f32", SUM),
    ROWS("sum of odd rows", 5, 1027, "f32", "f32", SUM),
    ROWS("sum of short rows", 41, 7, "f32", "f32", SUM),
    ROWS("sum of halves", 6, 264, "f16", "f16", SUM),
    ROWS("sum of doubles", 3, 130, "f64", "f64", SUM),
    ROWS("sum of bytes", 6, 320, "i8", "i32", SUM),
    ROWS("sum of pairs of words", 5, 77, "i64", "i64", SUM),
    ROWS("one row", 1, 5000, "f32", "f32", SUM),
    ROWS("exclusive", 6, 300, "f32", "f32", "sum[r](r < i ? X[m,r] : 0)"),
    ROWS("reversed", 6, 612, "f32", "f32", "sum[r](r >= i ? X[m,r] : 0)"),
    ROWS("reversed and exclusive", 6, 303, "f16", "f32", "sum[r](i < r ? X[m,r] : 0)"),
    ROWS("product", 6, 300, "i32", "i32", "prod[r](r <= i ? X[m,r] : 1)"),
    ROWS("maximum", 6, 300, "f16", "f16", "max[r](r <= i ? X[m,r] : -inf)"),
    ROWS("minimum", 6, 301, "f32", "f32", "min[r](r >= i ? X[m,r] : inf)"),
    ROWS("position", 6, 300, "f32", "i32", "argmax[r](r <= i ? X[m,r] : -inf)"),
    ROWS("position of bytes", 3, 1300, "i8", "i32", "argmin[r](r <= i ? X[m,r] : 2147483647)"),
    ROWS("any", 6, 300, "bool", "bool", "any[r](r <= i && X[m,r])"),
    ROWS("all", 6, 300, "bool", "bool", "all[r](r > i || X[m,r])"),
    ROWS("the other way round", 6, 300, "f32", "f32", "sum[r](r > i ? 0 : X[m,r])"),
    ROWS("denied", 6, 300, "f32", "f32", "sum[r](!(r > i) ? X[m,r] : 0)"),
    ROWS("by a difference", 6, 300, "f32", "f32", "sum[r](i - r - 1 >= 0 ? X[m,r] : 0)"),
    ROWS("by a factor", 6, 300, "f32", "f32", "sum[r](X[m,r] * (r <= i ? 1 : 0))"),
    ROWS("by a weight", 6, 300, "f32", "f32", "sum[r]((r <= i ? 2.0 : 0) * X[m,r])"),
    ROWS("by distance", 6, 300, "f32", "f32", "sum[r](X[m,i-r] else 0)"),
    ROWS("by distance up", 6, 300, "f32", "f32", "max[r](X[m,i+r+1] else -inf)"),
    ROWS("masked", 6, 300, "f32", "f32", "sum[r](r <= i && r % 3 != 1 ? X[m,r] : 0)"),
    ROWS("masked outside", 6, 300, "f32", "f32",
         "sum[r](X[m,r] > 0 ? (i >= r ? X[m,r] : 0) : 0)"),
    ROWS("of neighbours", 6, 300, "f32", "f32",
         "sum[r](r <= i ? (r >= 1 ? X[m,r-1] : 0) + X[m,r] : 0)"),
    DOWN("sum", 3, 70, 36, "f32", "f32", SUM_DOWN),
    DOWN("sum of odd columns", 1, 300, 7, "f32", "f32", SUM_DOWN),
    DOWN("sum of halves", 2, 130, 40, "f16", "f16", SUM_DOWN),
    DOWN("one column of each", 5, 200, 2, "f64", "f64", SUM_DOWN),
    DOWN("exclusive", 3, 71, 20, "f32", "f32", "sum[r](r < i ? X[b,r,m] : 0)"),
    DOWN("reversed", 3, 90, 24, "f32", "f32", "sum[r](r >= i ? X[b,r,m] : 0)"),
    DOWN("reversed, exclusive", 3, 90, 24, "f32", "f32", "sum[r](r > i ? X[b,r,m] : 0)"),
    DOWN("maximum", 3, 90, 24, "bf16", "bf16", "max[r](r <= i ? X[b,r,m] : -inf)"),
    DOWN("position", 2, 300, 12, "f32", "i32", "argmin[r](r <= i ? X[b,r,m] : inf)"),
    DOWN("any", 2, 60, 32, "bool", "bool", "any[r](r <= i && X[b,r,m])"),
    RECUR("recurrence", 6, 300, "f32", "f32", "f32", "A[m,i] * (Y[m,i-1] else 0) + X[m,i]"),
    RECUR("recurrence of halves, from the end", 5, 1027, "bf16", "f16", "f16",
          "X[m,i] - A[m,i] * (Y[m,i+1] else 1)"),
    RECUR("recurrence of bytes", 41, 7, "i8", "i8", "i32", "A[m,i] * (Y[m,i-1] else 3) + X[m,i]"),
    RECUR("gated recurrence", 3, 2100, "f64", "f64", "f64",
          "i == 0 ? X[m,0] : Y[m,i-1] + A[m,i-1] * (X[m,i] - Y[m,i-1])"),
    {"recurrence down", "op f(A: f32[70,9], X: f16[3,70,9,4])"
     " -> (Y: f32[3,70,9,4], Z: f16[3,70,9,4]) {"
     " Y[b,i,d,n] = exp(-A[i,d] * A[i,d]) * (Y[b,i-1,d,n] else 0) + X[b,i,d,n] * A[i,d];"
     " Z[b,i,d,n] = Y[b,i,d,n] * X[b,i,d,n]; }"},
    {"recurrence up", "op f(A: f32[3,90,24], X: f32[3,90,24]) -> Y: f32[3,90,24] {"
     " Y[b,i,m] = A[b,i,m] * (Y[b,i+1,m] else X[b,0,m]) + X[b,i,m]; }"},
    {"terms and results of others", "op f(X: f32[6,300], B: f32[300]) -> Y: f16[6,300] {"
     " u[m,r] = X[m,r] * B[r]; t[m,i] = sum[r](r <= i ? u[m,r] : 0) where r in 300;"
     " Y[m,i] = max(t[m,i], 0) + B[i] * 2.0; }"},
    {"results of both", "op f(X: f32[6,300]) -> (Y: f32[6,300], Z: f16[6,300]) {"
     " Y[m,i] = sum[r](r <= i ? X[m,r] : 0) where r in 300; Z[m,i] = Y[m,i] * 0.5; }"},
    {"read across", "op f(X: f32[300,20]) -> Y: f32[20,300] {"
     " Y[m,i] = sum[r](r <= i ? X[r,m] : 0) where r in 300; }"},
    {"written across", "op f(X: f32[20,300]) -> Y: f32[300,20] {"
     " t[m,i] = sum[r](r <= i ? X[m,r] : 0) where r in 300; Y[i,m] = t[m,i] + 1.0; }"},
    {"wide sum of bytes", "op f(X: i8[6,320]) -> Y: i64[6,320] {"
     " Y[m,i] = sum[r](r <= i ? X[m,r] : 0) where r in 320 @accum(i64); }"},
    {"vectors over two axes", "op f(X: f32[2,90,4,6]) -> Y: f32[2,90,4,6] {"
     " Y[b,i,p,q] = sum[r](r <= i ? X[b,r,p,q] : 0) where r in 90; }"},
    {"from the other end", "op f(X: f32[6,300]) -> Y: f32[6,300] {"
     " t[m,i] = sum[r](r <= i ? X[m,299-r] : 0) where i in 300, r in 300;"
     " Y[m,i] = t[m,299-i] * 2.0; }"},
    {"gaps", "op f(X: f32[6,300] strides(308,1)) -> Y: f32[6,300] strides(304,1) {"
     " Y[m,i] = sum[r](r <= i ? X[m,r] : 0) where r in 300; }"},
    {"two ways", "op f(X: f32[40,64]) -> Y: f32[40,64] {"
     " t[m,i] = sum[r](r <= i ? X[m,r] : 0) where r in 64;"
     " Y[i,m] = sum[r](r <= i ? t[r,m] : 0) where r in 40; }"},
};
enum { CASES = sizeof table / sizeof *table };

/* Kinds of programs: bits, of those that take other ways through a kernel.  */
enum { STEPS = 1, MEETS = 2, SLICES = 4, VECTORS = 8, PIECES = 16, KINDS = 32 };

static int kind_of(const Problem *p, const RProg *r) {
    return (p->scan.extent > r->block.extent[AX_N] ? STEPS : 0) |
           (rprog_scan_meets(p, r) > 1 ? MEETS : 0) | (r->split > 1 ? SLICES : 0) |
           (r->store_vec > 1 ? VECTORS : 0) |
           (r->thread.extent[AX_M] * r->thread.extent[AX_N] > r->store_vec ? PIECES : 0);
}

typedef struct {
    const char *profile;
    int plans;                /* kinds of each case; 0: all that there are */
    uint64_t seed;
    Nvrtc *nvrtc;
    atomic_int ran[KINDS];
} Check;

typedef struct {
    Check *check;
    Arena *arena;
    int i;
} Task;

/* Programs of one kind of the skeleton.  */
static RProgSet only(Arena *a, const Problem *p, const RProgSet *set, int kind) {
    RProgSet out = {.prog = ARENA_ARRAY(a, RProg, set->n + 1), .epsilon = set->epsilon};
    for (int i = 0; i < set->n; i++) {
        if (set->prog[i].skeleton == SK_SCAN && (kind < 0 || kind_of(p, &set->prog[i]) == kind))
            out.prog[out.n++] = set->prog[i];
    }
    return out;
}

/* Runs a program of each group of this kind, or if there is none of any.  *ran: some group has
 * it.  */
static const char *run_kind(const Task *t, const Device *dev, int kind, bool *ran) {
    Check *c = t->check;
    KernelCase k;
    const char *wrong = kernel_open(&k, t->arena, dev, table[t->i].text, NULL);
    uint64_t seed = c->seed + (uint64_t)(100 * t->i + kind);
    bool scan = false;
    *ran = false;
    for (int g = 0; !wrong && g < k.plan.n; g++) {
        RProgSet any = only(t->arena, &k.plan.problem[g], &k.set[g], -1);
        RProgSet some = only(t->arena, &k.plan.problem[g], &k.set[g], kind);
        scan |= any.n > 0;
        *ran |= some.n > 0;
        if (any.n) k.set[g] = some.n ? some : any;
    }
    if (!wrong && !scan) wrong = "no scan";
    if (wrong) return kernel_report(&k, table[t->i].name, wrong);
    if (!*ran) return NULL;
    atomic_fetch_add(&c->ran[kind], 1);
    wrong = kernel_pick(&k, seed + 1);
    if (!wrong) wrong = kernel_examine(&k);
    if (!wrong) wrong = kernel_emit(&k);
    if (!wrong) wrong = kernel_compile(&k, c->nvrtc, false);
    if (!wrong)
        wrong = effort_long() ? kernel_prove(&k, seed)
                              : kernel_run(&k, TE_FILL_INTEGERS, seed, te_exact(k.te));
    return wrong ? kernel_report(&k, table[t->i].name, wrong) : NULL;
}

/* Kinds one after the other, begun with another one for each case.  */
static const char *check_one(void *user, Arena *a, int i) {
    Task t = {.check = user, .arena = a, .i = i};
    Device *dev;
    Diag d = diag_new(a);
    const char *wrong = NULL;
    if (hal_profile_find(a, &d, t.check->profile, "profiles", NULL, &dev)) return "no profile";
    int first = (int)((t.check->seed + 7 * (uint64_t)i) % KINDS), plans = 0;
    for (int n = 0; n < KINDS && !wrong && (!t.check->plans || plans < t.check->plans); n++) {
        bool ran = false;
        wrong = run_kind(&t, dev, (first + 5 * n) % KINDS, &ran);
        plans += ran;
    }
    return wrong;
}

static void check_all(const char *profile, int plans) {
    static Check c;
    Arena *a = arena_create(NULL);
    assert_non_null(a);
    c = (Check){.profile = profile, .plans = plans, .seed = effort_seed()};
    Diag d = diag_new(a);
    if (nvrtc_open(a, &d, NULL, NULL, &c.nvrtc) != ST_OK) fail_msg("%s", d.messages[0].message);
    assert_int_equal(workers_check(CASES, check_one, &c), 0);
    int kinds = 0;
    for (int k = 0; k < KINDS; k++) kinds += c.ran[k] > 0;
    if (kinds < KINDS / 2) fail_msg("only %d kinds of programs", kinds);
    arena_destroy(a);
}

static void check_h200(void **state) {
    (void)state;
    check_all("h200", effort_long() ? 0 : 1);
}

static void check_tiny(void **state) {
    (void)state;
    if (!effort_long()) skip();
    check_all("tiny", 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_h200),
        cmocka_unit_test(check_tiny),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
