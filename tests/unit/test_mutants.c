/* Planted bugs: emitted sources with one barrier, wait, guard or index spoiled.  A share of them,
 * drawn by the commit; all with LONG=1.  (test_ptx_mutants.c: the same of PTX, drawn from all
 * instructions.)
 *
 * Every mutant that still compiles must be reported by the simulator or by the comparison with the
 * reference; the unspoiled source gives no report.  A spoiling that cannot matter is listed with
 * its reason.  */
#include "victims.h"
#include "effort.h"
#include "text_pattern.h"
#include "workers.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What is spoiled behind the kernel's head, as patterns (text_pattern.h), which name no variable:
 * each piece that is as `find` makes one mutant, or all of them together make one (a guard of one
 * operand alone does not matter while the other is zero).  Some ask for a variable, which is found
 * where it is defined.  */
typedef struct {
    const char *name, *find, *put;
    bool all;
    const char *defined;      /* what ~1, ... are found in before; NULL: nothing */
    const char *also_find, *also_put;     /* spoiled with it, once; NULL: nothing */
} Spoiler;

/* The constants of a kernel: M, N and K stand first; of columns: their number and their rows.  */
#define M_IS_1 "{\n    constexpr int ~1 = #9;"
#define N_IS_1 "{\n    constexpr int ~9 = #9;\n    constexpr int ~1 = #8;"
#define K_IS_1                                                                                     \
    "{\n    constexpr int ~9 = #9;\n    constexpr int ~8 = #8;\n    constexpr int ~1 = #7;"
#define COLUMNS_ARE_1_OF_2                                                                         \
    "    constexpr int ~1 = #9;\n    constexpr int ~2 = #8;\n    const unsigned ~9 = threadIdx.x;"

static const Spoiler spoilers[] = {
    {"barrier removed", "__syncthreads();", ";", false, NULL, NULL, NULL},
    {"wait removed",
     "rl_cp_async_wait<", "if (false) rl_cp_async_wait<", false, NULL, NULL, NULL},
    {"group not closed", "rl_cp_async_commit();", ";", false, NULL, NULL, NULL},
    {"row guard dropped", " < ~1", " < ~1 + 4096", true, M_IS_1, NULL, NULL},
    {"column guard dropped", " < ~1", " < ~1 + 4096", true, N_IS_1, NULL, NULL},
    {"k guard dropped", " < ~1", " < ~1 + 4096", true, K_IS_1, NULL, NULL},
    {"rows of columns beyond the last one",
     " < ~2", " < ~2 + 4096", true, COLUMNS_ARE_1_OF_2, NULL, NULL},
    {"domain guard dropped", " < ~1", " < ~1 + 64", true, COLUMNS_ARE_1_OF_2, NULL, NULL},
    {"row of a read elsewhere",
     "(~1 + ~2 + ~3) + (~4 * ~5 + ~6)", "(~1 + ~2 + ~3) + (~4 * ~5 + 1 + ~6)", false, NULL,
     NULL, NULL},
    {"row of a stored elsewhere",
     "const int ~1 = ~2 * ~3 + ~4;", "const int ~1 = ~2 * ~3 + 1 + ~4;", false, NULL, NULL, NULL},
    {"row of a swizzled tile shifted", "= ~1 * ~2 + (~3 ^ (~1 >> #1 & #2) << 3);",
     "= ~1 * ~2 + 1 + (~3 ^ (~1 >> #1 & #2) << 3);", false, NULL, NULL, NULL},
    {"lane shifted",
     "(int)(~1 % #1u) * ~2 + ~3 * ~4;", "(int)(~1 % #1u) * ~2 + ~3 * ~4 + 1;", false, NULL,
     NULL, NULL},
    {"tile shifted", "= (int)~1 * ~2;", "= (int)~1 * ~2 + 1;", false, NULL, NULL, NULL},
    {"stage not advanced", "~1 + ~2 : 0;", "~1 : 0;", false, NULL, NULL, NULL},
    {"one step short", "(++~1 < ~2);", "(++~1 < ~2 - 1);", false, NULL, NULL, NULL},
    {"one step of rows short",
     "; ~1 < ~2; ~1++)", "; ~1 < ~2 - 1; ~1++)", false, NULL, NULL, NULL},
    {"one row too many",
     "; ~1 < ~2; ~1 += #1)", "; ~1 <= ~2; ~1 += #1)", false, NULL, NULL, NULL},
    {"tree cut short", "~1 > #1; ~1 /= 2", "~1 > 16; ~1 /= 2", false, NULL, NULL, NULL},
    {"sum not cleared", "~1[~2][~3] = 0", "~1[~2][~3] = 1", false, NULL, NULL, NULL},
    {"sum of a matrix unit not cleared",
     "~1[~2][~3 / 4][~3 % 4] = 0", "~1[~2][~3 / 4][~3 % 4] = 1", false, NULL, NULL, NULL},
    {"matrix row elsewhere", "* 8 + ~1 % 8u", "* 8 + ~1 % 4u", false, NULL, NULL, NULL},
    {"slice of k read twice", "^ (~1 + ~2) * 2", "^ ~1 * 2", false, NULL, NULL, NULL},
    {"product left out", "rl_mma_", "if (blockIdx.x > 65535u) rl_mma_", false, NULL, NULL, NULL},
    {"warp barrier removed", "__syncwarp();", ";", false, NULL, NULL, NULL},
    {"lane's row shifted",
     "const int ~1 = ~2 + ~3 + (int)(~4 / #1u);",
     "const int ~1 = ~2 + ~3 + (int)(~4 / #1u) + 1;", false, NULL, NULL, NULL},
    {"row guard and clamp dropped",
     " < ~1", " < ~1 + 4096", true, M_IS_1, "min(~2, ~1 + (-1))", "~2"},
    {"rows of blocks overlap",
     "(int)blockIdx.x * ~1 + ~2 / #1u", "(int)blockIdx.x * (~1 - 1) + ~2 / #1u", false, NULL,
     NULL, NULL},
    {"row of a thread elsewhere",
     "(int)blockIdx.x * ~1 + ~2 / #1u", "(int)blockIdx.x * ~1 + ~2 / #1u + 1", false, NULL,
     NULL, NULL},
    {"guard of elements dropped",
     "~1 + (int)~2 < #1) {\n            const int ~3 = ~1 + (int)~2;",
     "~1 + (int)~2 < #1 + 64) {\n            const int ~3 = ~1 + (int)~2;", false, NULL, NULL,
     NULL},
    {"elements left out",
     "(~1 * #1u + ~2) *", "(~1 * #1u + ~2 + 1u) *", false, NULL, NULL, NULL},
    {"element decoded elsewhere", "const int ~1 = ~2 / #1u;\n            float ",
     "const int ~1 = (~2 + 1) / #1u;\n            float ", false, NULL, NULL, NULL},
    {"test of a read dropped", "(~1 < #1 ? ", "(~1 - 1 < #1 ? ", false, NULL, NULL, NULL},
    {"window elsewhere",
     "const int ~1 = ~2 + ~3 + (-1);", "const int ~1 = ~2 + ~3 + (-2);", false, NULL, NULL, NULL},
    {"test of a window dropped",
     "(unsigned)~1 < #1u", "(unsigned)(0 * ~1) < #1u", false, NULL, NULL, NULL},
    {"tap elsewhere", "[~1 + 1][~2 + 1]", "[~1 + 1][~2 + 2]", false, NULL, NULL, NULL},
    {"loop cut short",
     "}\n            for (int ~1 = 0; ~1 < #1; ~1++) {",
     "}\n            for (int ~1 = 0; ~1 < #1; ~1 += 2) {", false, NULL, NULL, NULL},
    {"loop begins late",
     "}\n            for (int ~1 = 0; ~1 < #1; ~1++) {",
     "}\n            for (int ~1 = 1; ~1 < #1; ~1++) {", false, NULL, NULL, NULL},
    {"warp left out",
     "for (int ~1 = 1; ~1 < #1; ~1++)", "for (int ~1 = 2; ~1 < #1; ~1++)", false, NULL, NULL,
     NULL},
    {"columns beyond the last one", "~3 % ~4);\n                    if (~2 < ~1) {",
     "~3 % ~4);\n                    if (true) {", false, N_IS_1, NULL, NULL},
    {"value of another row", "= ~1[(int)(~2 - ~3)]", "= ~1[0]", false, NULL, NULL, NULL},
    {"part not rescaled",
     " ? 1.0f : expf(", " ? 1.0f : 1.0f + 0.0f * expf(", false, NULL, NULL, NULL},
    {"part of a row left out",
     "for (int ~1 = ~2; ~1 < #1; ~1 += 2)", "for (int ~1 = ~2 + 1; ~1 < #1; ~1 += 2)", false,
     NULL, NULL, NULL},
    {"means not followed", "~1 * ~1 * (", "0 * ~1 * (", false, NULL, NULL, NULL},
    {"mean of other rows",
     "(1.0f / (float)~1)", "(1.0f / (float)(~1 + 1))", false, NULL, NULL, NULL},
    {"rows not counted",
     "            ~1 += #1;\n        }", "            ~1 += 0 * #1;\n        }", false, NULL,
     NULL, NULL},
    {"partial rows miscounted", " + min(max(", " + 1 + min(max(", false, NULL, NULL, NULL},
    {"maximum not followed",
     "~1[0] *= ~2 == ~3[0] ? ", "~1[0] *= true ? ", false, NULL, NULL, NULL},
    {"partial maximum not followed",
     "(~1 == ~2 ? 1.0f : ~3)", "(true ? 1.0f : ~3)", false, NULL, NULL, NULL},
    {"terms under another center",
     "? 0.0f : ~1[0];", "? 0.0f : 1 + ~1[0];", false, NULL, NULL, NULL},
    {"test of a region's columns dropped",
     "(unsigned)(~1 + ~2) < #1u && ", "", false, NULL, NULL, NULL},
    {"test of a region's lines dropped",
     " && (unsigned)(~1 + ~2) < #1u)", ")", false, NULL, NULL, NULL},
    {"line of a region elsewhere",
     "~1 + (~2 + ~3 * #1), (unsigned)", "~1 + (8 + ~2 + ~3 * #1), (unsigned)", false, NULL,
     NULL, NULL},
    {"zeros behind a region left out", "[#1 + ~1] = 0;", "[#1] = 0;", false, NULL, NULL, NULL},
    {"place of k shifted",
     "[~1] = (~1 < ~2 ? ", "[~1] = (~1 + 1 < ~2 ? 2 + ", false, NULL, NULL, NULL},
    {"places of the first step again",
     "~1 += ~2 * 4;", "~1 += 0 * ~2 * 4;", false, NULL, NULL, NULL},
    {"place of a row elsewhere",
     "~1[~2] = ~3 + (int)(~4", "~1[~2] = 12 + ~3 + (int)(~4", false, NULL, NULL, NULL},
};

/* Spoilings that change nothing: in which skeleton, what follows the occurrence (text_pattern.h),
 * and why.  */
static const struct {
    const char *spoiler;
    Skeleton skeleton;
    const char *context, *reason;
} harmless[] = {
    {"barrier removed", SK_CONTRACT, "if (~1 > 0) {",
     "only fetches ahead that nobody uses can still be reading, and not where sums are stored"},
    {"barrier removed", SK_CONTRACT, "{\n        float *const ~1 =",
     "only fetches ahead that nobody uses can still be reading"},
    {"barrier removed", SK_CONTRACT, "// stages become parts",
     "only fetches ahead that nobody uses can still be reading"},
    {"row guard dropped", SK_ROW, "",
     "threads beyond the last row take it as theirs, clamped, and store what its own threads do"},
};

enum { SPOILERS = sizeof spoilers / sizeof *spoilers, MAX_OCCURRENCES = 5, SHARE = 6 };
typedef struct {
    const Victim *victim;
    const Spoiler *spoiler;   /* NULL: unspoiled */
    int occurrence;
    int occurrences[SPOILERS];            /* of the unspoiled one: in its source */
    bool exists, compiled, reported, harmless;
    char how[200];
} Mutant;

static bool is_harmless(const Mutant *m, const char *behind) {
    const Spoiler *s = m->spoiler;
    behind += strspn(behind, " \n");
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strcmp(s->name, harmless[i].spoiler) == 0 &&
            m->victim->skeleton == harmless[i].skeleton &&
            pattern_begins(behind, harmless[i].context))
            return true;
    return false;
}

static bool spoil_also(Buf *b, const Spoiler *s, PatternKnown known) {
    const char *text = buf_str(b), *begin;
    const char *end = pattern_find(text, text, s->also_find, &known, &begin);
    if (!end) return false;
    Buf out = buf_new(b->arena);
    buf_add(&out, text, (size_t)(begin - text));
    pattern_put(&out, s->also_put, &known);
    buf_puts(&out, end);
    *b = out;
    return true;
}

/* The kernels of a source, and what is known of their variables.  NULL: the one asked for is not
 * there.  */
static const char *kernels_of(const char *source, const Spoiler *s, PatternKnown *known) {
    const char *at = strstr(source, "extern \"C\" __global__"), *begin;
    *known = (PatternKnown){0};
    return s->defined && !pattern_find(at, at, s->defined, known, &begin) ? NULL : at;
}

/* The source with one or all occurrences replaced; NULL if there are not so many.  */
static const char *spoil(Arena *a, const char *source, Mutant *m) {
    const Spoiler *s = m->spoiler;
    PatternKnown known, own;
    const char *at = kernels_of(source, s, &known), *begin, *end;
    Buf b = buf_new(a);
    int found = 0;
    if (!at) return NULL;
    buf_add(&b, source, (size_t)(at - source));
    const char *text = at;
    for (own = known; (end = pattern_find(text, at, s->find, &own, &begin)); found++) {
        buf_add(&b, at, (size_t)(begin - at));
        if (s->all || found == m->occurrence) pattern_put(&b, s->put, &own);
        else buf_add(&b, begin, (size_t)(end - begin));
        if (found == m->occurrence) m->harmless = is_harmless(m, end);
        at = end;
        own = known;
    }
    buf_puts(&b, at);
    if (s->also_find && !spoil_also(&b, s, known)) return NULL;
    return found > m->occurrence && (!s->all || m->occurrence == 0) ? buf_str(&b) : NULL;
}

static int occurrences(const char *source, const Spoiler *s) {
    PatternKnown known, own;
    const char *at = kernels_of(source, s, &known), *text = at, *begin;
    int n = 0;
    for (own = known; at && (at = pattern_find(text, at, s->find, &own, &begin)); n++) own = known;
    if (s->all && n > 1) n = 1;
    return n < MAX_OCCURRENCES ? n : MAX_OCCURRENCES;
}

static void count_occurrences(const char *source, Mutant *m) {
    for (int s = 0; s < SPOILERS; s++) m->occurrences[s] = occurrences(source, &spoilers[s]);
}

static void note(Mutant *m, const char *text) { snprintf(m->how, sizeof m->how, "%.190s", text); }

/* Runs the case on integer data, or reals, under several interleavings until something is
 * reported.  */
static const char *judge(KernelCase *c, bool inexact) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const char *wrong = kernel_run(c, inexact ? TE_FILL_REALS : TE_FILL_INTEGERS, seed,
                                       !inexact);
        if (wrong) return wrong;
    }
    return NULL;
}

static void make(Mutant *m, Arena *a) {
    KernelCase c;
    Nvrtc *n;
    const char *wrong = victim_emit(&c, a, m->victim);
    if (!wrong && nvrtc_open(a, &c.diag, NULL, c.dev->arch, &n)) wrong = "no NVRTC";
    if (wrong) {
        note(m, wrong);
        return;
    }
    if (m->spoiler) {
        const char *source = spoil(a, c.program.source, m);
        if (!source) return;
        c.program.source = source;
        c.program.source_len = strlen(source);
    }
    if (!m->spoiler) count_occurrences(c.program.source, m);
    m->exists = true;
    m->compiled = kernel_compile(&c, n, false) == NULL;
    if (!m->compiled) return;
    wrong = judge(&c, m->victim->inexact);
    m->reported = wrong != NULL;
    if (wrong) note(m, wrong);
}

static void work(void *user) {
    Arena *a = arena_create(NULL);
    make(user, a);
    arena_destroy(a);
}

static bool run_mutant(void *user, int64_t i, int worker) {
    (void)worker;
    Mutant *m = (Mutant *)user + i;
    Arena *guard = arena_create(NULL);
    workers_case("%s, %s, occurrence %d", m->victim->name,
                 m->spoiler ? m->spoiler->name : "as it is", m->occurrence);
    bool ok = arena_try(guard, work, m);
    arena_destroy(guard);
    return ok;
}

/* The mutants of the sources that were emitted for the victims.  */
static int collect(const Mutant *plain, Mutant *m) {
    Rng rng = {effort_seed()};
    int n = 0;
    for (int v = 0; v < SOURCE_VICTIMS; v++)
        for (int s = 0; s < SPOILERS; s++)
            for (int i = 0; i < plain[v].occurrences[s]; i++)
                if (effort_long() || rng_below(&rng, SHARE) == 0)
                    m[n++] = (Mutant){.victim = &victims[v], .spoiler = &spoilers[s],
                                      .occurrence = i};
    return n;
}

static void sources_are_right(Mutant *plain) {
    for (int v = 0; v < SOURCE_VICTIMS; v++) plain[v] = (Mutant){.victim = &victims[v]};
    assert_true(workers_for(0, SOURCE_VICTIMS, run_mutant, plain));
    for (int v = 0; v < SOURCE_VICTIMS; v++) {
        const Mutant *m = &plain[v];
        if (!m->compiled || m->reported) print_error("%s: %s\n", m->victim->name, m->how);
        assert_true(m->compiled && !m->reported);
    }
}

/* A spoiler whose text is in no source plants nothing: what it looks for has another name now.  */
static void every_spoiler_finds_something(const Mutant *plain) {
    int lost = 0;
    for (int s = 0; s < SPOILERS; s++) {
        int n = 0;
        for (int v = 0; v < SOURCE_VICTIMS; v++) n += plain[v].occurrences[s];
        if (n > 0) continue;
        lost++;
        print_error("'%s' looks for '%s', which no source has\n", spoilers[s].name,
                    spoilers[s].find);
    }
    assert_int_equal(lost, 0);
}

static void every_planted_bug_is_reported(void **state) {
    (void)state;
    static Mutant plain[SOURCE_VICTIMS], mutant[SOURCE_VICTIMS * SPOILERS * MAX_OCCURRENCES];
    sources_are_right(plain);
    every_spoiler_finds_something(plain);
    int n = collect(plain, mutant), made = 0, survived = 0;
    assert_true(workers_for(0, n, run_mutant, mutant));
    for (int i = 0; i < n; i++) {
        const Mutant *m = &mutant[i];
        if (!m->exists || !m->compiled) continue;
        made++;
        if (m->reported || m->harmless) continue;
        survived++;
        print_error("survived: %s, %s, occurrence %d\n", m->victim->name, m->spoiler->name,
                    m->occurrence);
    }
    print_message("%d mutants, %d survived\n", made, survived);
    assert_true(made >= (effort_long() ? 150 : 20));
    assert_int_equal(survived, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_planted_bug_is_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
