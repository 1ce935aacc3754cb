/* Planted bugs in PTX: of kernels of every skeleton and mover, one barrier, commit, wait, guard,
 * mask, maximum, bit of an index, stage, stride or offset changed.
 *
 *   SEED=7 build/tests/test_ptx_mutants             draws others
 *   LONG=1 build/tests/test_ptx_mutants             at least 2,000 of them, of all kernels
 *   VICTIM=attention build/tests/test_ptx_mutants   of kernels whose name has it
 *
 * Every mutant must be reported: as a fault, or as a wrong result on one of the data sets of a
 * check.  One that is not must be shown to be the same program on them, by running others:
 *   never different   the original with a trap where the mutant's result differs runs to its end;
 *   not used          where it differs, zeros, ones and flipped bits give the right results, too;
 *   same bits         on further data, under other orders of the warps and moments at which copies
 *                     arrive, no bit of an output is another than the original's: what is changed
 *                     reaches only what is masked, clamped, rounded away, ordered or copied anyway.
 *   another order     on that data every result is right, but has other last bits: terms of a sum
 *                     are added in another order, by another of the kernel's loops.  On integers
 *                     that make sums exact there may be no difference, and a sum there must be.
 * Each of these is listed with LIST=1.  */
#include "victims.h"

#include "effort.h"
#include "plan_fixture.h"
#include "ptx_mutants.h"
#include "workers.h"

#include "base/hash.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    FEW_VICTIMS = 5, EACH = 12, EACH_LONG = 90,           /* mutants of a victim */
    SEEDS = 2, MORE_SEEDS = 6, RUNS = TE_FILLS * SEEDS, KINDS = MUT_KIND_COUNT
};

static const char *const kind_name[] = {
#define X(id, text) text,
    MUT_KINDS(X)
#undef X
};

/* ---- victims ---- */

/* One data set with one seed.  */
typedef struct {
    const TeData *in;
    const TeValue *const *want;
    bool exact;
} DataSet;

typedef struct {
    const Victim *victim;
    Arena *arena;
    KernelCase c;
    DataSet set[RUNS];
    PtxMutant *all;
    int n;
    const char *wrong;
} Patient;

static void evaluate(Patient *p, TeFill fill, uint64_t seed, DataSet *s) {
    const Te *te = p->c.te;
    TeData *in = ARENA_ARRAY(p->arena, TeData, te->n_in + 1);
    const TeValue **want = ARENA_ARRAY(p->arena, const TeValue *, te->n_out);
    for (int i = 0; i < te->n_in; i++) {
        in[i].bytes = te_tensor_bytes(&te->tensor[i]);
        in[i].data = arena_alloc(p->arena, in[i].bytes + 1);
        te_fill(te, i, fill, seed, in[i]);
    }
    TeEval *e;
    if (te_eval_create(p->arena, &p->c.diag, te, in, &e)) p->wrong = "not evaluated";
    for (int o = 0; o < te->n_out && !p->wrong; o++) {
        const TeTensor *t = &te->tensor[te->n_in + o];
        int64_t count = te_tensor_count(t), last = t->rank ? t->shape[t->rank - 1].value : 1;
        TeValue *v = ARENA_ARRAY(p->arena, TeValue, count + 1);
        for (int64_t row = 0; row < count / last; row++) {
            int64_t at[TE_MAX_RANK] = {0}, rest = row;
            for (int d = t->rank - 2; d >= 0; d--) {
                at[d] = rest % t->shape[d].value;
                rest /= t->shape[d].value;
            }
            if (te_eval_row(e, te->n_in + o, at, last, v + row * last)) p->wrong = "not evaluated";
        }
        want[o] = v;
    }
    *s = (DataSet){in, want, fill >= TE_FILL_EXTREMES ||
                                 (fill == TE_FILL_INTEGERS && te_exact(te))};
}

/* Runs a program on a data set; NULL if nothing is reported.  */
static const char *run_set(KernelCase *c, const Patient *p, int set) {
    c->in = p->set[set].in;
    c->want = p->set[set].want;
    return kernel_run(c, TE_FILL_INTEGERS, (uint64_t)(set % SEEDS) + 1, p->set[set].exact);
}

static void prepare(void *user) {
    Patient *p = user;
    Nvrtc *nvrtc;
    p->wrong = victim_emit(&p->c, p->arena, p->victim);
    if (!p->wrong && nvrtc_open(p->arena, &p->c.diag, NULL, p->c.dev->arch, &nvrtc))
        p->wrong = "no NVRTC";
    if (!p->wrong) p->wrong = kernel_compile(&p->c, nvrtc, false);
    uint64_t most = 0;
    for (int i = 0; i < RUNS && !p->wrong; i++) {
        evaluate(p, (TeFill)(i / SEEDS), (uint64_t)(i % SEEDS) + 1, &p->set[i]);
        if (!p->wrong) p->wrong = run_set(&p->c, p, i);
        if (p->c.counted.instructions > most) most = p->c.counted.instructions;
    }
    p->c.most = 2 * most + 10000;
    if (!p->wrong) p->n = ptx_mutants(p->arena, p->c.code.ptx, &p->all);
}

static bool prepare_one(void *user, int64_t i, int worker) {
    (void)worker;
    Patient *p = (Patient *)user + i;
    workers_case("%s", p->victim->name);
    return arena_try(p->arena, prepare, p);
}

/* ---- mutants ---- */

typedef enum {
    LOST,                     /* could not be run */
    FAULT, WRONG_INTEGERS, WRONG_REALS, WRONG_EXTREMES, WRONG_SPARSE,
    WRONG_LATER, NEVER_DIFFERENT, NOT_USED, SAME_BITS, ANOTHER_ORDER, SURVIVED, ENDS
} End;
static const char *const end_name[ENDS] = {
    "not run", "faults", "wrong on integers", "wrong on reals alone", "wrong on extremes alone",
    "wrong on sparse data alone",
    "wrong on further data alone",
    "never different", "not used where different", "the same bits", "another order of a sum",
    "survived"};

typedef struct {
    const Patient *patient;
    const PtxMutant *m;
    End end;
} Mutant;

/* Runs a form of the mutant on every data set; -1: nothing was reported, -2: it has no such form,
 * else the data set on which it was, and how.  */
static int run_form(Arena *a, const Mutant *x, PtxForm form, const char **how) {
    KernelCase c = x->patient->c;
    c.arena = a;
    c.diag = diag_new(a);
    c.code.ptx = ptx_mutant_text(a, x->patient->c.code.ptx, x->m, form);
    if (!c.code.ptx) return -2;
    c.code.ptx_len = strlen(c.code.ptx);
    for (int i = 0; i < RUNS; i++) {
        ArenaMark mark = arena_mark(a);
        *how = run_set(&c, x->patient, i);
        if (*how) return i;
        arena_reset(a, mark);
    }
    return -1;
}

static bool sums(const TeExpr *e) {
    bool some = e->kind == TE_REDUCE && e->red == TE_RED_SUM && te_dtype_class(e->type) ==
                                                                    TE_CLASS_REAL;
    for (int i = 0; i < e->n_args; i++) some |= sums(e->args[i]);
    return some;
}

static bool has_sum(const Te *te) {
    bool some = false;
    for (int i = 0; i < te->n_stmt; i++) some |= sums(te->stmt[i].rhs);
    return some;
}

/* On data set `set` of the further ones: right by the reference, and bit for bit what the original
 * gives?  */
static void run_further(Arena *a, const Mutant *x, int set, bool *right, bool *same) {
    const Te *te = x->patient->c.te;
    KernelCase c = x->patient->c;
    TeFill fill = (TeFill)(set % TE_FILLS);
    uint64_t seed = (uint64_t)(SEEDS + 1 + set);
    bool exact = fill >= TE_FILL_EXTREMES || (fill == TE_FILL_INTEGERS && te_exact(te));
    c.arena = a;
    c.diag = diag_new(a);
    TeData *in = ARENA_ARRAY(a, TeData, te->n_in + 1);
    TeValue **values = ARENA_ARRAY(a, TeValue *, te->n_out);
    for (int t = 0; t < te->n_in; t++) {
        in[t].bytes = te_tensor_bytes(&te->tensor[t]);
        in[t].data = arena_alloc(a, in[t].bytes + 1);
        te_fill(te, t, fill, seed, in[t]);
    }
    for (int o = 0; o < te->n_out; o++)
        values[o] = ARENA_ARRAY(a, TeValue, te_tensor_count(&te->tensor[te->n_in + o]) + 1);
    c.in = in;
    c.want = NULL;
    c.got = values;
    kernel_run(&c, fill, seed, exact);
    c.code.ptx = ptx_mutant_text(a, x->patient->c.code.ptx, x->m, PTX_SPOILED);
    c.code.ptx_len = strlen(c.code.ptx);
    c.got = NULL;
    c.want = (const TeValue *const *)values;
    *same = kernel_run(&c, fill, seed, true) == NULL;
    c.want = NULL;
    *right = *same || kernel_run(&c, fill, seed, exact) == NULL;
}

static End judge_further(Arena *a, const Mutant *x) {
    bool all_same = true, ordered = has_sum(x->patient->c.te);
    for (int i = 0; i < TE_FILLS * MORE_SEEDS; i++) {
        ArenaMark mark = arena_mark(a);
        bool right, same;
        run_further(a, x, i, &right, &same);
        arena_reset(a, mark);
        if (!right) return WRONG_LATER;
        bool exact = i % TE_FILLS == TE_FILL_INTEGERS && te_exact(x->patient->c.te);
        ordered = ordered && (same || !exact);
        all_same = all_same && same;
    }
    return all_same ? SAME_BITS : ordered ? ANOTHER_ORDER : SURVIVED;
}

static End judge(Arena *a, Mutant *x) {
    const char *how;
    int set = run_form(a, x, PTX_SPOILED, &how);
    if (set == -2 || (set >= 0 && (strncmp(how, "simulator", 9) == 0 ||
                                   strncmp(how, "memory", 6) == 0)))
        return LOST;
    if (set >= 0 && strncmp(how, "output", 6) != 0) return FAULT;
    if (set >= 0) return WRONG_INTEGERS + (End)(set / SEEDS);
    if (run_form(a, x, PTX_DIFFERS, &how) == -1) return NEVER_DIFFERENT;
    bool used = false, some = false;
    for (PtxForm f = PTX_ZEROS; f <= PTX_FLIPPED && !used; f++) {
        set = run_form(a, x, f, &how);
        used = set >= 0;
        some |= set == -1;
    }
    if (some && !used) return NOT_USED;
    return judge_further(a, x);
}

typedef struct {
    Mutant *mutant;
    Arena *arena;
} Judging;

static void judge_one(void *user) {
    Judging *j = user;
    j->mutant->end = judge(j->arena, j->mutant);
}

static bool run_one(void *user, int64_t i, int worker) {
    (void)worker;
    Arena *a = arena_create(NULL);
    Judging j = {(Mutant *)user + i, a};
    workers_case("%s, line %d: %s", j.mutant->patient->victim->name, j.mutant->m->line,
                 j.mutant->m->put);
    bool ok = arena_try(a, judge_one, &j);
    arena_destroy(a);
    return ok;
}

/* `want` mutants of a victim: of each kind in turn one that was not drawn yet.  */
static int draw(Arena *a, const Patient *p, Rng *rng, int want, Mutant *out) {
    int *order = ARENA_ARRAY(a, int, p->n + 1), taken[KINDS] = {0}, n = 0;
    for (int i = 0; i < p->n; i++) {
        int k = (int)rng_below(rng, (uint32_t)i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (int none = 0, kind = 0; n < want && none < KINDS; kind = (kind + 1) % KINDS) {
        int i = taken[kind];
        while (i < p->n && (int)p->all[order[i]].kind != kind) i++;
        none = i < p->n ? 0 : none + 1;
        if (i < p->n) out[n++] = (Mutant){.patient = p, .m = &p->all[order[i++]]};
        taken[kind] = i;
    }
    return n;
}

static void tell(const Mutant *x) {
    print_error("%s: %s, line %d, %s: %s %s -> %s %s\n", end_name[x->end],
                x->patient->victim->name, x->m->line, kind_name[x->m->kind], x->m->guard, x->m->was,
                x->m->new_guard, *x->m->put ? x->m->put : "nothing");
}

/* Some victims, drawn; all where there is time, or those that are asked for.  */
static int admit(Arena *a, Rng *rng, Patient **out) {
    Patient *p = *out = ARENA_ARRAY(a, Patient, VICTIMS);
    const char *only = getenv("VICTIM");
    int all = 0;
    for (int v = 0; v < VICTIMS; v++) {
        if (only && !strstr(victims[v].name, only)) continue;
        int k = (int)rng_below(rng, (uint32_t)all + 1);
        p[all] = p[k];
        p[k] = (Patient){.victim = &victims[v]};
        all++;
    }
    int n = effort_long() || only ? all : FEW_VICTIMS;
    for (int v = 0; v < n; v++) p[v].arena = arena_create(NULL);
    assert_true(workers_for(0, n, prepare_one, p));
    for (int v = 0; v < n; v++)
        if (p[v].wrong) fail_msg("%s: %s", p[v].victim->name, p[v].wrong);
    return n;
}

static void mutants_of_ptx_are_reported(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Rng rng = {effort_seed()};
    Patient *patient;
    bool list = getenv("LIST") != NULL;
    int patients = admit(a, &rng, &patient), each = effort_long() ? EACH_LONG : EACH;
    int n = 0, ends[KINDS][ENDS] = {0}, sum[ENDS] = {0};
    Mutant *mutant = ARENA_ARRAY(a, Mutant, patients * each);
    for (int v = 0; v < patients; v++) n += draw(a, &patient[v], &rng, each, mutant + n);
    assert_true(workers_for(0, n, run_one, mutant));
    for (int i = 0; i < n; i++) {
        End end = mutant[i].end;
        ends[mutant[i].m->kind][end]++;
        sum[end]++;
        if (end == SURVIVED || end == LOST || (list && end >= WRONG_LATER)) tell(&mutant[i]);
    }
    print_message("%d mutants, SEED=%llu\n", n, effort_seed());
    for (int k = 0; k < KINDS && list; k++)
        for (int e = 0; e < ENDS; e++)
            if (ends[k][e]) print_message("  %s: %d %s\n", kind_name[k], ends[k][e], end_name[e]);
    for (int e = 0; e < ENDS; e++) print_message("%d %s\n", sum[e], end_name[e]);
    for (int v = 0; v < patients; v++) arena_destroy(patient[v].arena);
    assert_true(getenv("VICTIM") || n >= (effort_long() ? 2000 : FEW_VICTIMS * EACH / 2));
    assert_int_equal(sum[SURVIVED] + sum[LOST], 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mutants_of_ptx_are_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
