/* bench_planning: what planning whole files takes, without a GPU.
 *
 *     bench_planning PROFILE FILE.te...
 *
 * Prints for each file its statements, kernels, the predicted time and the processor time of
 * planning.  benchmarks/graphs.py writes networks as such files.  */
#include "base/file.h"
#include "driver/pipeline/compile.h"
#include <stdio.h>
#include <time.h>

static int fail(const char *file, Diag *d) {
    const DiagMessage *m = diag_first_error(d);
    fprintf(stderr, "%s: %s\n", file, m ? m->message : "no message");
    return 1;
}

static int plan(const Device *dev, const char *file) {
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    char *text;
    size_t len;
    Te *te;
    PlanSet set;
    WholePlan whole;
    Estimate e;
    CompileOptions o = {.workspace_limit = -1};
    if (file_read(a, &d, file, 1 << 26, &text, &len)) return fail(file, &d);
    clock_t start = clock();
    if (te_parse(a, &d, (DiagText){file, text, len}, NULL, NULL, &te)) return fail(file, &d);
    clock_t parsed = clock();
    if (compile_plan(a, &d, &(PlanRequest){te, dev, &o}, &set)) return fail(file, &d);
    compile_choose(a, &set, 0, &whole);
    compile_estimate(&whole, &e);
    printf("%s: %d statements, %d kernels, %.2f us, parsed in %.2f s, planned in %.2f s\n", file,
           te->n_stmt, set.n_group, e.us, (double)(parsed - start) / CLOCKS_PER_SEC,
           (double)(clock() - parsed) / CLOCKS_PER_SEC);
    arena_destroy(a);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: bench_planning PROFILE FILE.te...\n");
        return 2;
    }
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Device *dev = NULL;
    char *text;
    size_t len;
    const char *file = arena_printf(a, "profiles/%s.json", argv[1]);
    if (file_read(a, &d, file, 1 << 22, &text, &len) ||
        hal_profile_read(a, &d, (DiagText){file, text, len}, &dev))
        return fail(file, &d);
    int failed = 0;
    for (int i = 2; i < argc; i++) failed |= plan(dev, argv[i]);
    arena_destroy(a);
    return failed;
}
