/* links: sim */
/* Every op of tests/cases becomes code that compiles for four generations of devices, one of them
 * drawn by SEED, or all with LONG; tiled kernels use no local memory.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "workers.h"

#include "microperf/microperf.h"
#include "te_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *profile, *arch;
    int cc;
} targets[] = {{"v100", "sm_75", 75}, {"a100", NULL, 0}, {"rtx4090", NULL, 0}, {"h200", NULL, 0}};
enum { TARGETS = sizeof targets / sizeof *targets, FILES_MAX = 256, PLANS = 8,
       SHARE = 3 * TARGETS };

typedef struct {
    char *text[FILES_MAX]; /* malloc */
    char *name[FILES_MAX];
    int n;
    Nvrtc *nvrtc[TARGETS];
    char *wrong[FILES_MAX * TARGETS];
    int kernels[FILES_MAX * TARGETS];
} All;
static All all;

static char *copy(const char *s) {
    char *p = malloc(strlen(s) + 1);
    if (p) strcpy(p, s);
    return p;
}

static void remember(Arena *a, const Case *c) {
    (void)a;
    assert_true(all.n < FILES_MAX);
    all.text[all.n] = copy(c->text);
    all.name[all.n++] = copy(c->name);
}

typedef struct {
    Arena *arena;
    int file, target;
    const char *wrong;
} Task;

/* A kernel of the group in local memory: what a compiler would replace by the next plan.  */
static int spilling_group(const KernelCase *c) {
    for (int i = 0; i < c->code.n_kernel; i++) {
        const KernelResources *r = &c->code.kernel[i];
        for (int k = 0; k < c->program.n_kernel; k++) {
            const KernelLaunch *l = &c->program.kernel[k];
            bool tiled = strcmp(l->symbol, r->kernel) == 0 && l->span == 0;
            if (tiled && (r->spill_stores > 0 || r->spill_loads > 0)) return l->group;
        }
    }
    return -1;
}

static const char *compile_op(Task *t, const Device *dev, const char *op) {
    KernelCase c;
    const char *wrong = kernel_open(&c, t->arena, dev, all.text[t->file], op);
    if (wrong && strstr(wrong, "sizes that are set")) return NULL; /* a run-time op */
    if (wrong) return kernel_report(&c, all.name[t->file], wrong);
    Ranked **ranked = ARENA_ARRAY(t->arena, Ranked *, c.plan.n);
    int *n = ARENA_ARRAY(t->arena, int, c.plan.n), *at = ARENA_ARRAY(t->arena, int, c.plan.n);
    for (int g = 0; g < c.plan.n; g++) {
        n[g] = mp_rank(t->arena, &c.plan.problem[g], dev, &c.set[g], PLANS, &ranked[g]);
    }
    for (;;) {
        for (int g = 0; g < c.plan.n; g++) c.plan.prog[g] = ranked[g][at[g]].prog;
        wrong = kernel_emit(&c);
        if (!wrong) wrong = kernel_compile(&c, all.nvrtc[t->target], true);
        if (wrong) return kernel_report(&c, all.name[t->file], wrong);
        if (c.code.n_kernel != c.program.n_kernel)
            return kernel_report(&c, all.name[t->file], "kernels are missing");
        int g = spilling_group(&c);
        if (g < 0) break;
        if (++at[g] == n[g]) return kernel_report(&c, all.name[t->file], "every plan spills");
    }
    all.kernels[t->file * TARGETS + t->target] += c.program.n_kernel;
    return NULL;
}

static void run_task(void *user) {
    Task *t = user;
    Diag d = diag_new(t->arena);
    Device *dev;
    Te **op;
    int n;
    if (hal_profile_find(t->arena, &d, targets[t->target].profile, "profiles", NULL, &dev)) {
        t->wrong = "no profile";
        return;
    }
    if (targets[t->target].arch) {
        dev->arch = targets[t->target].arch;
        dev->cc_major = targets[t->target].cc / 10;
        dev->cc_minor = targets[t->target].cc % 10;
    }
    if (te_parse_all(t->arena, &d, diag_text(all.name[t->file], all.text[t->file]), NULL, &op,
                     &n)) {
        t->wrong = d.messages[0].message;
        return;
    }
    for (int i = 0; i < n && !t->wrong; i++) t->wrong = compile_op(t, dev, op[i]->name);
}

static bool compile_one(void *user, int64_t i, int worker) {
    (void)user;
    (void)worker;
    int file = (int)i / TARGETS, target = (int)i % TARGETS;
    if (!effort_drawn(file + target, SHARE)) return true;
    Task t = {.arena = arena_create(NULL), .file = file, .target = target};
    workers_case("%s for %s", all.name[t.file], targets[t.target].profile);
    if (!t.arena) return false;
    if (!arena_try(t.arena, run_task, &t)) t.wrong = "out of memory";
    if (t.wrong) all.wrong[i] = copy(t.wrong);
    arena_destroy(t.arena);
    return true;
}

static void every_case_compiles(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    assert_non_null(a);
    Diag d = diag_new(a);
    assert_true(case_each("tests/cases", remember) > 0);
    for (int k = 0; k < TARGETS; k++) {
        if (nvrtc_open(a, &d, NULL, targets[k].arch, &all.nvrtc[k]))
            fail_msg("%s", d.messages[0].message);
    }
    assert_true(workers_for(0, all.n * TARGETS, compile_one, NULL));
    int failed = 0, kernels = 0;
    for (int i = 0; i < all.n * TARGETS; i++) {
        if (all.wrong[i]) print_error("%s: %s\n", targets[i % TARGETS].profile, all.wrong[i]);
        failed += all.wrong[i] != NULL;
        kernels += all.kernels[i];
        free(all.wrong[i]);
    }
    for (int i = 0; i < all.n; i++) {
        free(all.text[i]);
        free(all.name[i]);
    }
    arena_destroy(a);
    assert_int_equal(failed, 0);
    assert_true(kernels > (effort_long() ? TARGETS * all.n : all.n / 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case_compiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
