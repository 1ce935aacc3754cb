/* Every op of tests/cases for every family: its default plan for a device becomes a source, which
 * is compiled for each architecture that has its instructions, and simulated there.  A compiler
 * may hide a mistake of the source for one architecture and show it for another.
 *
 * SEED draws an op in forty, the device of each and an architecture; LONG=1 runs all ops for all
 * architectures.  */
#include "effort.h"
#include "random_trip.h"
#include "te_case.h"
#include "workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { OPS_MAX = 1024, ONE_IN = 40 };
static const double budget_s = 5;          /* of a check: what is large is sampled */

static struct {
    Arena *arena;
    Targets targets;
    const char *file[OPS_MAX], *text[OPS_MAX], *op[OPS_MAX];
    int n;
    char *wrong[OPS_MAX];                  /* malloc */
    int checked[OPS_MAX];
} all;

static void remember(Arena *a, const Case *c) {
    Diag d = diag_new(a);
    Te **op;
    int n;
    const char *text = arena_strdup(all.arena, c->text), *file = arena_strdup(all.arena, c->name);
    assert_int_equal(te_parse_all(a, &d, (DiagText){c->name, c->text, c->len}, NULL, &op,
                                  &n), ST_OK);
    for (int i = 0; i < n; i++, all.n++) {
        assert_in_range(all.n, 0, OPS_MAX - 1);
        all.file[all.n] = file;
        all.text[all.n] = text;
        all.op[all.n] = arena_strdup(all.arena, op[i]->name);
    }
}

static const char *every_family(Trip *t, int *checked) {
    const Family *family[FAMILIES_MAX];
    int least = t->build.program.least_cc;
    int n = families_from(&t->targets->families, least, family);
    if (!effort_long()) family[0] = families_draw(&t->targets->families, least, t->seed);
    for (int i = 0; i < (effort_long() ? n : 1); i++) {
        bool crashed;
        const char *wrong = trip_compile(t, family[i], &crashed);
        if (crashed) continue;
        if (!wrong) wrong = trip_check(t);
        if (wrong) return wrong;
        ++*checked;
    }
    return NULL;
}

static bool one(void *user, int64_t i, int worker) {
    (void)user, (void)worker;
    if (!effort_drawn((int)i, ONE_IN)) return true;
    uint64_t seed = effort_seed() + (uint64_t)i;
    Trip t = {.arena = arena_create(NULL), .targets = &all.targets, .seed = seed,
              .target = (int)(seed / ONE_IN % TARGETS), .text = all.text[i], .op = all.op[i],
              .budget_s = budget_s};
    workers_case("%s, op %s", all.file[i], all.op[i]);
    t.diag = diag_new(t.arena);
    const char *wrong = trip_plan(&t);
    if (!wrong) wrong = trip_choose(&t, 0);
    if (!wrong) wrong = trip_emit(&t);
    if (!wrong && t.build.program.n_kernel > 0) wrong = every_family(&t, &all.checked[i]);
    if (wrong) {
        Buf b = buf_new(t.arena);
        trip_describe(&t, wrong, &b);
        all.wrong[i] = malloc(b.len + 1);
        if (all.wrong[i]) memcpy(all.wrong[i], b.text, b.len + 1);
    }
    arena_destroy(t.arena);
    return true;
}

/* Reads of neighbours that are tested: an address made from another's must not rest on that one's
 * test.  CUDA 13.0's compiler for sm_100 and newer would, where offsets were negative.  For every
 * device, whose default plans differ; the newest architecture, or all with LONG.  */
static void neighbours_that_are_tested(void **state) {
    static const char text[] =
        "param S = 2..64;"
        "op f(X: i8[64,S,4]) -> (Y: i8[64,S,4]) {"
        " Y[i,j,k] = i8(i32(X[i,j-1,k-1] else 0) + i32(X[i,j-2,k] else 0)); }";
    (void)state;
    Arena *a = arena_create(NULL);
    Targets targets;
    targets_open(a, &targets);
    for (int target = 0; target < TARGETS; target++) {
        Trip t = {.arena = a, .diag = diag_new(a), .targets = &targets, .seed = 1,
                  .target = target, .text = text};
        const char *wrong = trip_plan(&t);
        if (!wrong) wrong = trip_choose(&t, 0);
        if (!wrong) wrong = trip_emit(&t);
        const Family *family[FAMILIES_MAX];
        int n = wrong ? 0 : families_from(&targets.families, t.build.program.least_cc, family);
        for (int i = effort_long() ? 0 : n - 1; i < n && !wrong; i++) {
            bool crashed;
            wrong = trip_compile(&t, family[i], &crashed);
            assert_false(crashed);
            if (!wrong) wrong = trip_check(&t);
            if (wrong) fail_msg("%s for %s: %s", targets.name[target], family[i]->arch, wrong);
        }
        if (wrong) fail_msg("%s: %s", targets.name[target], wrong);
    }
    arena_destroy(a);
}

static void every_case(void **state) {
    (void)state;
    int failed = 0, checked = 0;
    all.arena = arena_create(NULL);
    targets_open(all.arena, &all.targets);
    assert_true(case_each("tests/cases", remember) > 0);
    workers_for(0, all.n, one, NULL);
    for (int i = 0; i < all.n; i++) {
        if (all.wrong[i])
            fprintf(stderr, "%s, op %s:\n%s\nagain: %sSEED=%llu build/tests/test_families\n",
                    all.file[i], all.op[i], all.wrong[i], effort_long() ? "LONG=1 " : "",
                    effort_seed());
        failed += all.wrong[i] != NULL;
        checked += all.checked[i];
        free(all.wrong[i]);
    }
    print_message("# %d ops, %d architectures, %d checks\n", all.n, all.targets.families.n,
                  checked);
    arena_destroy(all.arena);
    assert_int_equal(failed, 0);
    assert_true(checked >= all.n / ONE_IN / 2);
}

int main(int argc, char **argv) {
    families_child(argc, argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(neighbours_that_are_tested),
                                       cmocka_unit_test(every_case)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
