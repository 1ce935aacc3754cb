/* links: sim */
/* Maps that change the layout, small and awkward, by several programs of the `permute` skeleton
 * each: what the emitted kernels compute on the simulator is what the reference computes, inputs
 * are read and outputs written once, and shared memory takes the wavefronts that were counted
 * beforehand.  Every program is legal and its text reads back.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "workers.h"

#include "microperf/microperf.h"
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *name, *text;
} table[] = {
    {"f16", "op f(X: f16[100,72]) -> Y: f16[72,100] { Y[n,m] = X[m,n]; }"},
    {"i8", "op f(X: i8[160,96]) -> Y: i8[96,160] { Y[n,m] = X[m,n]; }"},
    {"odd f64", "op f(X: f64[33,47]) -> Y: f64[47,33] { Y[n,m] = X[m,n]; }"},
    {"bool", "op f(X: bool[128,64]) -> Y: bool[64,128] { Y[n,m] = !X[m,n]; }"},
    {"i64 to i32", "op f(X: i64[37,53]) -> Y: i32[53,37] { Y[n,m] = i32(X[m,n]); }"},
    {"f8 scaled", "op f(X: f8e4m3[64,128], s: f32) -> Y: f16[128,64] { Y[n,m] = X[m,n] * s; }"},
    {"channels first", "op f(X: f32[5,30,28,3]) -> Y: f32[5,3,30,28] { Y[n,c,h,w] = X[n,h,w,c]; }"},
    {"channels last", "op f(X: f32[5,3,30,28]) -> Y: f32[5,30,28,3] { Y[n,h,w,c] = X[n,c,h,w]; }"},
    {"pixels", "op f(X: u8[2,17,19,3]) -> Y: f32[2,3,17,19] {"
               " Y[n,c,h,w] = (X[n,h,w,c] / 255.0 - 0.5) * 2.0; }"},
    {"inner axes", "op f(X: f16[64,4,8]) -> Y: f16[64,8,4] { Y[n,b,a] = X[n,a,b]; }"},
    {"space to depth", "op f(X: f32[2,8,32,32]) -> Y: f32[2,8,2,2,16,16] {"
                       " Y[n,c,i,j,h,w] = X[n,c,2*h+i,2*w+j]; }"},
    {"reversed", "op f(X: f32[6,5,4,7,3]) -> Y: f32[3,7,4,5,6] {"
                 " Y[e,d,c,b,a] = X[a,b,c,d,e]; }"},
    {"six axes", "op f(X: f16[3,5,7,11,2,3]) -> Y: f16[3,2,7,5,3,11] {"
                 " Y[a,e,c,b,f,d] = X[a,b,c,d,e,f]; }"},
    {"batch in the middle", "op f(X: f32[16,12,20,24]) -> Y: f32[16,24,20,12] {"
                            " Y[a,d,c,b] = X[a,b,c,d]; }"},
    {"bias and residual", "op f(X: f32[64,48], b: f32[64], Z: f32[48,64]) -> Y: f16[48,64] {"
                          " Y[n,m] = X[m,n] * b[m] + Z[n,m]; }"},
    {"two sources", "op f(X: f32[64,48], Z: f16[64,48]) -> Y: f32[48,64] {"
                    " Y[n,m] = X[m,n] + Z[m,n]; }"},
    {"padded", "op f(X: f32[30,41]) -> Y: f32[43,33] { Y[j,i] = X[i-1,j-1] else 0; }"},
    {"padded in the middle", "op f(X: f16[3,20,24,8]) -> Y: f16[3,8,22,27] {"
     " Y[n,c,h,w] = X[n,h-1,w-2,c] else 0; }"},
    {"concatenated", "op f(X: f16[40,24], Z: f16[40,32]) -> Y: f16[56,40] {"
     " Y[j,i] = j < 24 ? X[i,j] : Z[i,j-24]; }"},
    {"beyond the end", "op f(X: i32[33,40]) -> Y: i32[40,33] {"
     " Y[j,i] = X[i,j] * 2 + (X[i+1,j] else 0); }"},
    {"every other row", "op f(X: u8[40,40]) -> Y: u8[45,25] { Y[j,i] = X[2*i-3,j] else 0; }"},
    {"padded flags", "op f(X: bool[32,32]) -> Y: bool[40,32] {"
     " Y[j,i] = X[i,j-4] else false; }"},
    {"the same place by other subscripts", "op f(X: f32[33,40]) -> Y: f32[40,32] {"
     " Y[j,i] = X[i+1,j] + (X[i,j+40] else 0); }"},
    {"both ways", "op f(X: f32[64,64]) -> Y: f32[64,64] { Y[i,j] = X[i,j] + X[j,i]; }"},
    {"two outputs", "op f(X: bf16[40,24]) -> (Y: f32[24,40], Z: bf16[24,40]) {"
                    " Y[n,m] = X[m,n] * 2.0; Z[n,m] = Y[n,m] + X[m,n]; }"},
    {"repeated", "op f(X: f32[31,64]) -> Y: f32[7,64,31] { Y[b,n,m] = X[m,n] + 1.0; }"},
    {"strides", "op f(X: f32[128,64] strides(1,132)) -> Y: f32[128,64] strides(68,1) {"
                " Y[n,m] = X[n,m]; }"},
    {"a part", "op f(X: f32[64,80]) -> Y: f32[72,64] { Y[i,j] = X[j,i+4]; }"},
    {"an odd part", "op f(X: f32[64,80]) -> Y: f32[75,64] { Y[i,j] = X[j,i+5]; }"},
    {"size 1", "op f(X: f32[24,1,40,1]) -> Y: f32[1,40,1,24] { Y[a,b,c,d] = X[d,a,b,c]; }"},
};
enum { CASES = sizeof table / sizeof *table };

typedef struct {
    const char *profile;
    bool optional;            /* the device may have no program of the skeleton for a case */
    int plans;                /* the skeleton's best by the model, then random ones; one is drawn */
    Nvrtc *nvrtc;
} Check;

typedef struct {
    Check *check;
    Arena *arena;
    int i;
    const char *wrong;
} Task;

/* Candidates of the skeleton alone.  */
static RProgSet only(Arena *a, const RProgSet *set) {
    RProgSet out = {.prog = ARENA_ARRAY(a, RProg, set->n + 1), .epsilon = set->epsilon};
    for (int i = 0; i < set->n; i++) {
        if (set->prog[i].skeleton == SK_PERMUTE) out.prog[out.n++] = set->prog[i];
    }
    return out;
}

static const char *run_plan(Task *t, const Device *dev, int plan) {
    const Check *c = t->check;
    KernelCase k;
    const char *wrong = kernel_open(&k, t->arena, dev, table[t->i].text, NULL);
    uint64_t seed = (uint64_t)(100 * t->i + plan);
    if (wrong) return wrong;
    k.set[0] = only(t->arena, &k.set[0]);
    if (k.set[0].n == 0)
        return c->optional ? NULL : kernel_report(&k, table[t->i].name, "no such program");
    wrong = kernel_pick(&k, plan == 0 ? 0 : seed);
    if (!wrong) wrong = kernel_examine(&k);
    if (!wrong) wrong = kernel_emit(&k);
    if (!wrong) wrong = kernel_compile(&k, c->nvrtc, false);
    if (!wrong) wrong = kernel_run(&k, TE_FILL_INTEGERS, seed, te_exact(k.te));
    return wrong ? kernel_report(&k, table[t->i].name, wrong) : NULL;
}

static void run_task(Task *t) {
    Device *dev;
    Diag d = diag_new(t->arena);
    if (hal_profile_find(t->arena, &d, t->check->profile, "profiles", NULL, &dev)) {
        t->wrong = "no profile";
        return;
    }
    for (int plan = 0; plan < t->check->plans && !t->wrong; plan++)
        if (effort_drawn(t->i + plan, t->check->plans)) t->wrong = run_plan(t, dev, plan);
}

static const char *check_one(void *user, Arena *a, int i) {
    Task t = {.check = user, .arena = a, .i = i};
    run_task(&t);
    return t.wrong;
}

static void check_all(const char *profile, int plans, bool optional) {
    static Check c;
    Arena *a = arena_create(NULL);
    assert_non_null(a);
    c = (Check){.profile = profile, .optional = optional, .plans = plans};
    Diag d = diag_new(a);
    if (nvrtc_open(a, &d, NULL, NULL, &c.nvrtc) != ST_OK) fail_msg("%s", d.messages[0].message);
    assert_int_equal(workers_check(CASES, check_one, &c), 0);
    arena_destroy(a);
}

static void check_h200(void **state) {
    (void)state;
    check_all("h200", 5, false);
}

/* Limits that make odd boxes common.  */
static void check_tiny(void **state) {
    (void)state;
    check_all("tiny", 1, true);
}

/* Statements of a kernel may run with its indices in another order: reads with equal subscripts
 * are then of other elements.  */
static void indices_of_statements_differ(void **state) {
    (void)state;
    static const char text[] = "op f(X: f32[16,16,16]) -> (Y: f32[16,16,16], Z: f32[16,16,16]) {"
                               " Y[i,j,k] = X[i,j,k] + 1.0; Z[a,b,k] = Y[b,a,k] * X[a,b,k]; }";
    Arena *a = arena_create(NULL);
    Device *dev;
    Diag d = diag_new(a);
    Nvrtc *nvrtc;
    assert_int_equal(hal_profile_find(a, &d, "h200", "profiles", NULL, &dev), ST_OK);
    assert_int_equal(nvrtc_open(a, &d, NULL, NULL, &nvrtc), ST_OK);
    for (int vec = 1; vec <= 4; vec *= 2) {
        KernelCase k;
        const char *wrong = kernel_open(&k, a, dev, text, NULL);
        assert_null(wrong);
        RProgSet *set = &k.set[0];
        int at = 0;
        while (at < set->n && set->prog[at].store_vec != vec) at++;
        assert_true(at < set->n);
        set->prog += at;
        set->n = 1;
        wrong = kernel_pick(&k, 0);
        if (!wrong) wrong = kernel_emit(&k);
        if (!wrong) wrong = kernel_compile(&k, nvrtc, false);
        if (!wrong) wrong = kernel_run(&k, TE_FILL_INTEGERS, 1, true);
        if (wrong) fail_msg("%s", kernel_report(&k, "indices", wrong));
    }
    arena_destroy(a);
}

/* ---- broken rules ---- */

static void broken_rules_are_named(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Device *dev;
    Diag d = diag_new(a);
    KernelCase k;
    assert_int_equal(hal_profile_find(a, &d, "h200", "profiles", NULL, &dev), ST_OK);
    assert_null(kernel_open(&k, a, dev, table[0].text, NULL));
    RProgSet some = only(a, &k.set[0]);
    assert_true(some.n > 0);
    const Problem *p = &k.plan.problem[0];
    const RProg good = some.prog[0];
    assert_null(rprog_check(p, dev, &good));
#define BREAK(change, words)                                                                       \
    {                                                                                              \
        RProg r = good;                                                                            \
        change;                                                                                    \
        const char *why = rprog_check(p, dev, &r);                                                 \
        assert_non_null(why);                                                                      \
        if (!strstr(why, words)) fail_msg("'%s' does not say '%s'", why, words);                   \
    }
    BREAK(r.unit = 1000, "unit")
    BREAK(r.split = 2, "split")
    BREAK(r.threads = 48, "whole warps")
    BREAK(r.block.extent[0] = 1000, "larger than the domain")
    BREAK(r.block.extent[4] = 2, "larger than the domain")
    BREAK(r.thread.extent[AX_M] = 2, "box only")
    BREAK(r.store_vec = 16, "store_vec")
    BREAK(r.load[0].vec = 16, "wider than")
    BREAK(r.load[0].layout.bits = 7, "laid out")
    BREAK(r.load[0].layout.pad = 1, "laid out")
    BREAK(r.smem += 16, "derived")
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_rules_are_named),
        cmocka_unit_test(indices_of_statements_differ),
        cmocka_unit_test(check_h200),
        cmocka_unit_test(check_tiny),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
