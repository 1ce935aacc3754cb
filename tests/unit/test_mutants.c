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

/* What is spoiled behind the kernel's head: each occurrence of `find` makes one mutant, or
 *  all of them together make one (a guard of one operand alone does not matter while the other
 *  is zero).  */
typedef struct {
    const char *name, *find, *put;
    bool all;
    const char *also_find, *also_put;     /* spoiled with it, once; NULL: nothing */
} Spoiler;

static const Spoiler spoilers[] = {
    {"barrier removed", "__syncthreads();", ";", false, NULL, NULL},
    {"wait removed", "rl_cp_async_wait<", "if (false) rl_cp_async_wait<", false, NULL, NULL},
    {"group not closed", "rl_cp_async_commit();", ";", false, NULL, NULL},
    {"row guard dropped", " < M", " < M + 4096", true, NULL, NULL},
    {"column guard dropped", " < N", " < N + 4096", true, NULL, NULL},
    {"k guard dropped", " < K", " < K + 4096", true, NULL, NULL},
    {"row of a read elsewhere", "row * A_ROW", "row * A_ROW + 1", false, NULL, NULL},
    {"row of a stored elsewhere", "a_mn * A_ROW", "a_mn * A_ROW + 1", true, NULL, NULL},
    {"row of b shifted", "* B_ROW", "* B_ROW + 1", false, NULL, NULL},
    {"lane shifted", "lane_n * VN", "lane_n * VN + 1", false, NULL, NULL},
    {"tile shifted", "(int)tile_m * BM", "(int)tile_m * BM + 1", false, NULL, NULL},
    {"stage not advanced", "put + STAGE : 0", "put : 0", true, NULL, NULL},
    {"stage read too early", "take + STAGE : 0", "take : 0", true, NULL, NULL},
    {"one step short", "step < steps;", "step < steps - 1;", false, NULL, NULL},
    {"domain guard dropped", " < TOTAL", " < TOTAL + 64", true, NULL, NULL},
    {"one row too many", "kk < rows", "kk <= rows", false, NULL, NULL},
    {"tree cut short", "f > 0; f /= 2", "f > 1; f /= 2", false, NULL, NULL},
    {"tree of groups cut short", "u > 0; u /= 2", "u > 1; u /= 2", false, NULL, NULL},
    {"sum not cleared", "acc[i][j] = 0", "acc[i][j] = 1", false, NULL, NULL},
    {"sum of a matrix unit not cleared", "acc[i][j / 4][j % 4] = 0", "acc[i][j / 4][j % 4] = 1",
     false, NULL, NULL},
    {"matrix row elsewhere", "lane % 8u", "lane % 4u", false, NULL, NULL},
    {"slice of k read twice", "(kk + TK)", "kk", false, NULL, NULL},
    {"product left out", "rl_mma_", "if (j > 0) rl_mma_", false, NULL, NULL},
    {"warp barrier removed", "__syncwarp();", ";", false, NULL, NULL},
    {"lane's row shifted", "+ lane_m", "+ lane_m + 1", false, NULL, NULL},
    {"row guard and clamp dropped", " < M", " < M + 4096", true, "min(m, M - 1)", "m"},
    {"rows of blocks overlap", "* BM + tid / LN", "* (BM - 1) + tid / LN", false, NULL, NULL},
    {"row of a thread elsewhere", "BM + tid / LN", "BM + tid / LN + 1", false, NULL, NULL},
    {"guard of elements dropped", " < total", " < total + 64", true, NULL, NULL},
    {"elements left out", "(int)threadIdx.x) *", "(int)threadIdx.x + 1) *", false, NULL, NULL},
    {"element decoded elsewhere", " = at / ", " = (at + 1) / ", false, NULL, NULL},
    {"test of a read dropped", "(v0 < ", "(v0 - 1 < ", false, NULL, NULL},
    {"window elsewhere", "wx = col * 1 + ", "wx = col * 1 + 1 + ", true, NULL, NULL},
    {"row of a window elsewhere", "wy = row * 1 + ", "wy = row * 1 + 1 + ", true, NULL, NULL},
    {"test of columns dropped", "(unsigned)(wx", "(unsigned)(0 * wx", true, NULL, NULL},
    {"test of rows dropped", "(unsigned)(wy", "(unsigned)(0 * wy", true, NULL, NULL},
    {"tap elsewhere", "] * 1 + 1]", "] * 1 + 2]", false, NULL, NULL},
    {"loop cut short", "; i1++)", "; i1 += 2)", false, NULL, NULL},
    {"neighbour left out", "], 1)", "], 0)", false, NULL, NULL},
    {"warp left out", "for (int s = 1; s <", "for (int s = 2; s <", false, NULL, NULL},
    {"columns beyond the last one", "if (n < N) {", "if (true) {", false, NULL, NULL},
    {"value of another row", "value3[(int)(m - m0)]", "value3[0]", true, NULL, NULL},
    {"part not rescaled", " ? 1.0f : expf(", " ? 1.0f : 1.0f + 0.0f * expf(", false, NULL, NULL},
    {"part of a row left out", "for (int s = lane; s <", "for (int s = lane + 1; s <", false, NULL,
     NULL},
    {"loop begins late", "i1 = 0;", "i1 = 1;", false, NULL, NULL},
    {"means not followed", "d * d * (", "0 * d * (", false, NULL, NULL},
    {"mean of other rows", "/ (float)seen", "/ (float)(seen + 1)", false, NULL, NULL},
    {"rows not counted", "seen += ", "seen += 0 * ", false, NULL, NULL},
    {"partial rows miscounted", "int more = ", "int more = 1 + ", false, NULL, NULL},
    {"maximum not followed", "] *= (", "] *= (true ? 1.0f : ", false, NULL, NULL},
    {"partial maximum not followed", "x1.v[v] * (", "x1.v[v] * (true ? 1.0f : ", false, NULL,
     NULL},
    {"terms under another center", "0 : now0", "0 : 1 + now0", false, NULL, NULL},
    {"test of a region's lines dropped", "(unsigned)(p1", "(unsigned)(0 * p1", false, NULL, NULL},
    {"test of a region's columns dropped", "(unsigned)(p2", "(unsigned)(0 * p2", false, NULL, NULL},
    {"line of a region elsewhere", "a_src + (x", "a_src + (1 * 8 + x", false, NULL, NULL},
    {"zeros behind a region left out", " + i] = 0;", "] = 0;", false, NULL, NULL},
    {"place of k shifted", "_PLACES)[i] = (", "_PLACES)[i] = (1 + ", false, NULL, NULL},
    {"places of the first step again", "a_places += BK", "a_places += 0 * BK", false, NULL, NULL},
    {"place of a row elsewhere", "a_row[i] = A_REGION", "a_row[i] = 12 + A_REGION", false, NULL,
     NULL},
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

static bool spoil_also(Buf *b, const Spoiler *s) {
    const char *text = buf_str(b), *at = strstr(text, s->also_find);
    if (!at) return false;
    Buf out = buf_new(b->arena);
    buf_add(&out, text, (size_t)(at - text));
    buf_printf(&out, "%s%s", s->also_put, at + strlen(s->also_find));
    *b = out;
    return true;
}

/* The source with one or all occurrences replaced; NULL if there are not so many.  */
static const char *spoil(Arena *a, const char *source, Mutant *m) {
    const Spoiler *s = m->spoiler;
    const char *at = strstr(source, "extern \"C\" __global__"), *next;
    Buf b = buf_new(a);
    buf_add(&b, source, (size_t)(at - source));
    int found = 0;
    for (; (next = strstr(at, s->find)); at = next + strlen(s->find), found++) {
        buf_add(&b, at, (size_t)(next - at));
        buf_puts(&b, s->all || found == m->occurrence ? s->put : s->find);
        if (found == m->occurrence) m->harmless = is_harmless(m, next + strlen(s->find));
    }
    buf_puts(&b, at);
    if (s->also_find && !spoil_also(&b, s)) return NULL;
    return found > m->occurrence && (!s->all || m->occurrence == 0) ? buf_str(&b) : NULL;
}

static void count_occurrences(const char *source, Mutant *m) {
    for (int s = 0; s < SPOILERS; s++) {
        const char *find = spoilers[s].find, *at = strstr(source, "extern \"C\" __global__");
        int n = 0;
        while ((at = strstr(at, find))) at += strlen(find), n++;
        if (spoilers[s].all && n > 1) n = 1;
        m->occurrences[s] = n < MAX_OCCURRENCES ? n : MAX_OCCURRENCES;
    }
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

static void every_planted_bug_is_reported(void **state) {
    (void)state;
    static Mutant plain[SOURCE_VICTIMS], mutant[SOURCE_VICTIMS * SPOILERS * MAX_OCCURRENCES];
    sources_are_right(plain);
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
