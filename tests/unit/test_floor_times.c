/* The floor is one: nothing that anybody has measured is faster.  Published times of kernels
 * (benchmarks/measured), as they were measured, against the floor of calls that follow each
 * other.  */
#include "arena_fixture.h"
#include "base/json.h"
#include "driver/plan/fusion.h"
#include "measured_library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* vidur tells whole microseconds.  */
static double at_most(const MeasuredRow *r) {
    return r->us + (strcmp(r->source, "vidur") == 0);
}

static Floor floor_of(Arena *a, const char *text, const Device *dev) {
    Diag d = diag_new(a);
    Te *te;
    PlanSet set;
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
    TeDecisions none = {0};
    Floor out;
    if (te_parse(a, &d, diag_text("row", text), NULL, NULL, &te) ||
        fusion_open(a, &d, &(PlanRequest){te, dev, &o}, &none, &set))
        fail_msg("%s\n%s", text, diag_first_error(&d)->message);
    Problem *problem = ARENA_ARRAY(a, Problem, set.n_group);
    for (int g = 0; g < set.n_group; g++) {
        const char *why;
        Problem *p = &set.plans[g].problem;
        if (!rtile_as_scaled(a, p, o.align, &problem[g], &why)) problem[g] = *p;
    }
    mp_floor(set.normal, problem, set.n_group, dev, &out);
    return out;
}

/* Devices of boards, by what their rows say.  */
static const Device *board(Arena *a, const json_t *boards, const char *gpu) {
    static const char *name[32];
    static const Device *dev[32];
    static int n;
    for (int i = 0; i < n; i++)
        if (strcmp(name[i], gpu) == 0) return dev[i];
    Diag d = diag_new(a);
    name[n] = gpu;
    dev[n] = measured_device(a, &d, boards, gpu);
    assert_non_null(dev[n]);
    return dev[n++];
}

static void nobody_is_faster(void **state) {
    static const char *const file[] = {"block_scales", "cutlass_tiles", "deepbench",
                                       "neusight_conv", "neusight_gemm", "neusight_vector",
                                       "vidur_f16", "xla_gemm"};
    Arena *a = arena_create(NULL), *scratch = arena_create(NULL);
    json_error_t e;
    json_t *boards = json_load_file("benchmarks/measured/boards.json", 0, &e);
    double closest = 0;
    ArenaMark empty = arena_mark(scratch);
    (void)state;
    assert_non_null(boards);
    for (size_t f = 0; f < sizeof file / sizeof *file; f++) {
        Diag d = diag_new(a);
        MeasuredRows rows;
        char path[128];
        snprintf(path, sizeof path, "benchmarks/measured/data/%s.csv", file[f]);
        assert_int_equal(measured_read(a, &d, path, &rows), ST_OK);
        for (int i = 0; i < rows.n; i++) {
            const MeasuredRow *r = &rows.row[i];
            Buf text = buf_new(scratch);
            assert_true(measured_te(r, &text));
            Floor least = floor_of(scratch, buf_str(&text), board(a, boards, r->gpu));
            double share = least.warm_us / at_most(r);
            if (share > 1)
                fail_msg("%s %s %s %s: %g us, floor %g", r->gpu, r->op, r->dtype, r->sizes, r->us,
                         least.warm_us);
            closest = share > closest ? share : closest;
            arena_reset(scratch, empty);
        }
    }
    printf("the closest is %.3f of its time\n", closest);
    json_decref(boards);
    arena_destroy(scratch);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_is_faster)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
