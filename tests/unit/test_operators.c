/* Every operator kind of the workload sets and of the language's examples, in every element type
 * that it takes, by every skeleton that applies: the best program of that skeleton, compiled for
 * one generation of devices or another and run whole on the simulator, is right.
 *
 * Which skeletons must apply is in the table (operators.c), so that one that ceases to is noticed;
 * one that applies beyond it is run as well.  Without LONG every operator is planned in a few of
 * its types, and some of these cells are compiled and run.  OPERATOR=NAME picks some of them.  */
#include "effort.h"
#include "form_pick.h"
#include "operators.h"
#include "plan_fixture.h"
#include "workers.h"
#include "workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *profile, *arch;           /* NULL: the profile's */
} devices[] = {{"h200", NULL}, {"a100", NULL}, {"rtx4090", NULL}, {"rtx5090", NULL},
               {"t4", NULL},   {"v100", "sm_75"},         /* the newest NVRTC has no sm_70 */
               {"tiny", NULL}};                           /* it has no matrix units */
enum { DEVICES = sizeof devices / sizeof *devices };

/* An operator with elements of one type.  */
typedef struct {
    const Operator *o;
    TeDtype type;
    unsigned want, run;       /* bit Form: those that must apply; of them, to be run */
    unsigned seen, right;     /* that apply; that were run and are right */
    char wrong[1200];
} Cell;

typedef struct {
    Cell *cell;
    Nvrtc *nvrtc[DEVICES];
} Matrix;

typedef struct {
    Arena *arena;
    const Matrix *m;
    Cell *cell;
    int device;
} Task;

static void complain(Cell *c, const char *device, const char *what) {
    size_t at = strlen(c->wrong);
    snprintf(c->wrong + at, sizeof c->wrong - at, "%s %s %s: %.600s\n", c->o->name,
             te_dtype_name(c->type), device, what);
}

static const char *prove(KernelCase *c, Nvrtc *nvrtc, Form form) {
    const char *wrong = form_pick(c, form);
    if (!wrong) wrong = kernel_emit(c);
    if (!wrong) wrong = kernel_compile(c, nvrtc, false);
    return wrong ? wrong : kernel_prove(c, 1);
}

/* ---- cells ---- */

static const Device *device_of(const Task *t) {
    Device *dev;
    Diag d = diag_new(t->arena);
    const char *name = devices[t->device].profile, *arch = devices[t->device].arch;
    if (hal_profile_find(t->arena, &d, name, "profiles", NULL, &dev)) return NULL;
    if (arch) {
        dev->arch = arch;
        dev->cc_major = arch[3] - '0';
        dev->cc_minor = arch[4] - '0';
    }
    return dev;
}

/* Looks for what is still missing on one device, with one decision after the other.  */
static void visit(void *user) {
    Task *t = user;
    Cell *cell = t->cell;
    const Device *dev = device_of(t);
    const char *text = operator_te(t->arena, cell->o, cell->type);
    for (int d = -1; d < TE_DECISION_COUNT && (cell->want & ~cell->seen); d++) {
        KernelCase c;
        unsigned taken = d < 0 ? USUAL : 1u << d;
        const char *wrong = dev ? kernel_open_decided(&c, t->arena, dev, text, NULL, taken)
                                : "no profile";
        if (wrong && d < 0)
            complain(cell, devices[t->device].profile, wrong);
        unsigned forms = wrong ? 0 : form_all(&c) & ~cell->seen;
        cell->seen |= forms;
        for (int form = 0; form < FORM_COUNT; form++) {
            if (!(forms & (cell->run | ~cell->want) & 1u << form)) continue;
            KernelCase own = c;           /* choosing one form changes problems and programs */
            own.plan.problem = ARENA_ARRAY(t->arena, Problem, c.plan.n);
            own.plan.prog = ARENA_ARRAY(t->arena, RProg, c.plan.n);
            memcpy(own.plan.problem, c.plan.problem, (size_t)c.plan.n * sizeof(Problem));
            wrong = prove(&own, t->m->nvrtc[t->device], (Form)form);
            if (wrong) complain(cell, dev->name, kernel_report(&own, form_name[form], wrong));
            else cell->right |= 1u << form;
        }
    }
}

static bool prove_cell(void *user, int64_t i, int worker) {
    const Matrix *m = user;
    Cell *cell = &m->cell[i];
    (void)worker;
    workers_case("%s, %s", cell->o->name, te_dtype_name(cell->type));
    for (int k = 0; k < DEVICES && (cell->want & ~cell->seen); k++) {
        Task t = {arena_create(NULL), m, cell, (int)((i + k) % DEVICES)};
        if (!t.arena || !arena_try(t.arena, visit, &t)) complain(cell, "", "out of memory");
        if (t.arena) arena_destroy(t.arena);
    }
    for (int form = 0; form < FORM_COUNT; form++) {
        if (cell->want & ~cell->seen & 1u << form)
            complain(cell, form_name[form], "does not apply");
    }
    return true;
}

/* ---- the table ---- */

static bool is_legal(const Operator *o, TeDtype t) {
    Arena *a = arena_create(NULL);
    assert_non_null(a);
    Diag d = diag_new(a);
    Te *te;
    const char *text = operator_te(a, o, t);
    bool legal = text && !te_parse(a, &d, diag_text(o->name, text), NULL, NULL, &te);
    arena_destroy(a);
    return legal;
}

/* The types of an operator are all that the language allows it; an annotation is of interest for
 * one type only.  Scales of blocks stand beside elements of another type, and elements of less than
 * 8 bits beside scales: random programs draw them.  */
static bool is_apart(TeDtype t) {
    return te_dtype_scale(t) || t == TE_F6E3M2 || t == TE_F6E2M3 || t == TE_F4E2M1 ||
           t == TE_F4E2M1X2;
}

static void test_types(void **state) {
    (void)state;
    int failed = 0;
    for (int i = 0; i < n_operators; i++) {
        for (int t = 0; t < TE_DTYPE_COUNT && !strchr(operators[i].text, '@'); t++) {
            bool listed = operators[i].types >> t & 1;
            if (is_apart((TeDtype)t)) continue;
            if (is_legal(&operators[i], (TeDtype)t) == listed) continue;
            print_error("%s %s is %s\n", operators[i].name, te_dtype_name((TeDtype)t),
                        listed ? "not legal" : "legal, and not listed");
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

/* Every operator of the workload sets is in the table.  */
static void test_kinds(void **state) {
    (void)state;
    static const char *const sets[] = {"roller119", "ansor", "tvm21", "bolt", "llm", "rowops"};
    Arena *a = arena_create(NULL);
    assert_non_null(a);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        Diag d = diag_new(a);
        WorkloadSet set;
        const char *path = arena_printf(a, "benchmarks/workloads/%s.csv", sets[i]);
        assert_int_equal(workload_read(a, &d, path, &set), ST_OK);
        for (int k = 0; k < set.n; k++) {
            bool found = false;
            size_t len = strlen(set.row[k].op);
            for (int o = 0; o < n_operators && !found; o++)
                found = strncmp(operators[o].name, set.row[k].op, len) == 0 &&
                        strchr(" ", operators[o].name[len]);
            if (!found) fail_msg("%s of %s is not in the table", set.row[k].op, sets[i]);
        }
    }
    arena_destroy(a);
}

/* ---- the matrix ---- */

/* Cells of the table; without LONG of every operator FEW types, and one in SAMPLE of their forms to
 * be run.  */
static int list_cells(Cell *cell) {
    enum { FEW = 2, SAMPLE = 5 };
    bool all = effort_long();
    const char *only = getenv("OPERATOR");
    if (only && !*only) only = NULL;
    int n = 0, forms = 0;
    for (int i = 0; i < n_operators; i++) {
        const Operator *o = &operators[i];
        if (only && !strstr(o->name, only)) continue;
        for (int k = 0, taken = 0; k < TE_DTYPE_COUNT; k++) {
            int t = (i * 5 + k * 7) % TE_DTYPE_COUNT;     /* other ones first each time */
            if (!(o->types >> t & 1) || (!all && !only && taken == FEW)) continue;
            taken++;
            Cell *c = &cell[n++];
            *c = (Cell){.o = o, .type = (TeDtype)t, .want = operator_forms(o, (TeDtype)t)};
            for (int form = 0; form < FORM_COUNT; form++) {
                if (c->want >> form & 1 && (effort_drawn(forms++, SAMPLE) || only))
                    c->run |= 1u << form;
            }
        }
    }
    return n;
}

static int count(unsigned bits) {
    int n = 0;
    for (; bits; bits &= bits - 1) n++;
    return n;
}

static void test_matrix(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    assert_non_null(a);
    Diag d = diag_new(a);
    Matrix m = {.cell = ARENA_ARRAY(a, Cell, n_operators * TE_DTYPE_COUNT)};
    for (int i = 0; i < DEVICES; i++) {
        const Device *dev = fixture_device(a, devices[i].profile);
        assert_int_equal(nvrtc_open(a, &d, NULL, devices[i].arch ? devices[i].arch : dev->arch,
                                    &m.nvrtc[i]), ST_OK);
    }
    int n = list_cells(m.cell), want = 0, right = 0, beyond = 0, failed = 0;
    assert_true(workers_for(0, n, prove_cell, &m));
    for (int i = 0; i < n; i++) {
        Cell *c = &m.cell[i];
        want += count(c->want);
        right += count(c->right & c->want);
        beyond += count(c->right & ~c->want);
        failed += c->wrong[0] != 0;
        if (c->wrong[0]) print_error("%s", c->wrong);
        if (!c->wrong[0]) assert_int_equal(c->run & ~c->right, 0);
    }
    print_message("%d operators, %d with a type: of %d expected cells %d proved, and %d more\n",
                  n_operators, n, want, right, beyond);
    assert_int_equal(failed, 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types), cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_matrix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
