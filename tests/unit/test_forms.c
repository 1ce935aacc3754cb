/* Spellings of one computation (tests/forms): every op of a file has about the predicted time of
 * its first, and what it becomes is right on small sizes, as a line `# small: N=3, C=8` of the file
 * gives them.
 *
 *   LIST=1 build/tests/test_forms      what is predicted of each
 *   LONG=1 build/tests/test_forms      runs all of them, not a share
 *   SEED=490 COUNT=1 build/tests/test_forms   one random program, written again
 */
#include "base/file.h"
#include "driver/pipeline/compile.h"
#include "effort.h"
#include "plan_fixture.h"
#include "random_trip.h"
#include "te_random.h"
#include "te_rewrite.h"
#include "workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FORMS_DEFINES = 16, SHARE = 6 };
static const double near = 1.05;

static const char *const forms[] = {"batch_norm", "conv_transposed", "cumsum", "cumsum_exclusive",
                                    "cumsum_reversed", "grouped_conv", "grouped_query",
                                    "instance_norm", "pool", "slices", "softmax", "softmax_long",
                                    "triplet", "views", "views_chosen"};
enum { FORMS = sizeof forms / sizeof *forms };

typedef struct {
    const char *path, *text;
    size_t len;
    Te **op;
    int n_op;
    TeDefine small[FORMS_DEFINES];
    int n_small;
} Form;

static void said(const Form *f, const char *op, Diag *d, const char *stage) {
    const DiagMessage *m = diag_first_error(d);
    fail_msg("%s, %s: %s: %s", f->path, op, stage, m ? m->message : "no message");
}

static void read_small(Arena *a, Diag *d, Form *f) {
    const char *line = strstr(f->text, "# small: ");
    assert_non_null(line);
    line += strlen("# small: ");
    for (bool more = true; more;) {
        size_t n = strcspn(line, ",\n");
        assert_true(f->n_small < FORMS_DEFINES);
        if (te_define_parse(a, d, arena_strndup(a, line, n), &f->small[f->n_small++]))
            said(f, "small", d, "sizes");
        more = line[n] == ',';
        line += n + 1 + strspn(line + n + 1, " ");
    }
}

static void read_form(Arena *a, const char *name, Form *out) {
    Diag d = diag_new(a);
    char *text;
    *out = (Form){.path = arena_printf(a, "tests/forms/%s.te", name)};
    if (file_read(a, &d, out->path, 1 << 20, &text, &out->len)) said(out, "", &d, "read");
    out->text = text;
    read_small(a, &d, out);
    if (te_parse_all(a, &d, (DiagText){out->path, text, out->len}, NULL, &out->op, &out->n_op))
        said(out, "", &d, "parse");
    assert_true(out->n_op > 1);
}

/* ---- what is predicted ---- */

static double predicted(const Form *f, const Te *te, const Device *dev, int *kernels) {
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    PlanSet set;
    WholePlan whole;
    Estimate e;
    CompileOptions o = {.workspace_limit = -1};
    if (compile_plan(a, &d, &(PlanRequest){te, dev, &o}, &set)) said(f, te->name, &d, "plan");
    compile_choose(a, &set, 0, &whole);
    compile_estimate(&whole, &e);
    *kernels = set.n_group;
    arena_destroy(a);
    return e.us;
}

static void compare_predicted(const Form *f, const Device *dev, const char *device) {
    double first = 0;
    for (int i = 0; i < f->n_op; i++) {
        int kernels;
        double us = predicted(f, f->op[i], dev, &kernels);
        if (i == 0) first = us;
        if (getenv("LIST"))
            print_message("# %-28s %-16s %s %10.2f us %2d kernels %6.3f\n", f->path,
                          f->op[i]->name, device, us, kernels, us / first);
        else if (us > first * near || first > us * near)
            fail_msg("%s: %s takes %.2f us on %s, %s %.2f", f->path, f->op[i]->name, us, device,
                     f->op[0]->name, first);
    }
}

static void test_predicted(void **state) {
    static const char *const devices[] = {"h100", "h200"};
    for (int i = 0; i < FORMS; i++) {
        Arena *a = arena_create(NULL);
        Form f;
        read_form(a, forms[i], &f);
        for (int k = 0; k < 2; k++) {
            if (k == 0 || effort_drawn(i, SHARE) || getenv("LIST"))
                compare_predicted(&f, fixture_device(a, devices[k]), devices[k]);
        }
        arena_destroy(a);
    }
    (void)state;
}

/* ---- random programs and workload rows, written again ---- */

static const double rewritten_near = 1.02;
enum { PROGRAMS = 40, PROGRAMS_LONG = 2000, ROWS_SHARE = 60 };

static Te *parsed(Arena *a, const char *what, const char *text) {
    Diag d = diag_new(a);
    Te *te;
    Form f = {.path = what};
    if (te_parse(a, &d, diag_text("f.te", text), NULL, NULL, &te)) {
        print_message("%s\n", text);
        said(&f, "", &d, "parse");
    }
    return te;
}

/* Is the predicted time of the text written again near its own?  */
static bool is_near_rewritten(const char *what, const char *text, const Device *dev,
                              uint64_t seed) {
    Arena *a = arena_create(NULL);
    Form f = {.path = what};
    Rng rng = {seed};
    int kernels;
    double first = predicted(&f, parsed(a, what, text), dev, &kernels);
    const char *again = te_rewrite(a, parsed(a, what, text), &rng);
    double us = predicted(&f, parsed(a, what, again), dev, &kernels);
    bool is_near = us <= first * rewritten_near && first <= us * rewritten_near;
    if (!is_near)
        print_message("# %s, seed %llu: %.3f us, rewritten %.3f\n%s\n%s\n", what,
                      (unsigned long long)seed, first, us, text, again);
    arena_destroy(a);
    return is_near;
}

static void test_programs_rewritten(void **state) {
    Choices *c = malloc(sizeof *c);
    assert_non_null(c);
    const char *count = getenv("COUNT");
    int n = count ? atoi(count) : effort_long() ? PROGRAMS_LONG : PROGRAMS, off = 0;
    for (int i = 0; i < n; i++) {
        Arena *a = arena_create(NULL);
        uint64_t seed = (uint64_t)effort_seed() + (uint64_t)i;
        choices_random(c, seed);
        const char *text = random_program(a, c, &(RandomStyle){0}, (RandomLimits){.fixed = true});
        off += !is_near_rewritten("random program", text, fixture_device(a, "h200"), seed);
        arena_destroy(a);
    }
    free(c);
    if (off) fail_msg("%d of %d programs are off", off, n);
    (void)state;
}

static void test_rows_rewritten(void **state) {
    static const char *const sets[] = {"rowops", "bolt", "roller119", "llm"};
    for (int i = 0, n = 0; i < 4; i++) {
        Arena *a = arena_create(NULL);
        Diag d = diag_new(a);
        WorkloadSet set;
        const Device *dev = fixture_device(a, "h200");
        const char *path = arena_printf(a, "benchmarks/workloads/%s.csv", sets[i]);
        assert_int_equal(workload_read(a, &d, path, &set), ST_OK);
        for (int r = 0; r < set.n; r++, n++) {
            Buf text = buf_new(a);
            if (effort_drawn(n, ROWS_SHARE) && workload_te(&set.row[r], NULL, &text))
                assert_true(is_near_rewritten(set.row[r].id, buf_str(&text), dev, effort_seed()));
        }
        arena_destroy(a);
    }
    (void)state;
}

/* ---- what it computes ---- */

static void run_small(const Form *f, const char *op, const Targets *targets, int target) {
    Arena *a = arena_create(NULL);
    Trip t = {.arena = a, .diag = diag_new(a), .targets = targets, .seed = effort_seed(),
              .target = target, .op = op, .text = f->text};
    const char *wrong = trip_plan_sized(&t, f->small, f->n_small);
    for (int plan = 0; plan < 2 && !wrong; plan++) {
        wrong = plan ? trip_choose_any(&t, t.seed) : trip_choose(&t, 0);
        if (!wrong) wrong = trip_build(&t);
        if (!wrong) wrong = trip_check(&t);
    }
    if (wrong) fail_msg("%s, %s on %s: %s", f->path, op, targets->name[target], wrong);
    arena_destroy(a);
}

static void test_right(void **state) {
    Arena *a = arena_create(NULL);
    Targets targets;
    targets_open(a, &targets);
    for (int i = 0, n = 0; i < FORMS; i++) {
        Form f;
        read_form(a, forms[i], &f);
        for (int k = 0; k < f.n_op; k++) {
            for (int target = 0; target < TARGETS; target++, n++)
                if (effort_drawn(n, SHARE * TARGETS))
                    run_small(&f, f.op[k]->name, &targets, target);
        }
    }
    arena_destroy(a);
    (void)state;
}

int main(int argc, char **argv) {
    families_child(argc, argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_predicted),
                                       cmocka_unit_test(test_programs_rewritten),
                                       cmocka_unit_test(test_rows_rewritten),
                                       cmocka_unit_test(test_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
