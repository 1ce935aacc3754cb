/* Properties of plans that hold whatever their times are, of the operators of benchmarks/limits:
 * no plan is predicted to be faster than its floor.  */
#include "base/file.h"
#include "base/diag.h"
#include "roller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const files[] = {"convolution", "gather", "product", "rows"};
enum { FILES = sizeof files / sizeof *files };

static RollerEstimate estimate_of(RollerCtx *ctx, const RollerProfile *profile, const char *text,
                                  const char *op) {
    RollerParseOptions o = {.struct_size = sizeof o, .op = op};
    RollerEstimate e = {.struct_size = sizeof e};
    RollerOp *parsed;
    RollerPlans *plans;
    if (roller_parse(ctx, text, strlen(text), "t", &o, &parsed) ||
        roller_plan(ctx, parsed, profile, NULL, &plans))
        fail_msg("%s: %s", op ? op : text, roller_error(ctx)->message);
    roller_plan_estimate(roller_plans_get(plans, 0), &e);
    roller_plans_destroy(plans);
    roller_op_destroy(parsed);
    return e;
}

static void none_is_below_its_floor(void **state) {
    static const char *const profiles[] = {"h200", "a100", "rtx4090", "v100"};
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    RollerCtx *ctx;
    (void)state;
    assert_int_equal(roller_ctx_create(NULL, &ctx), ROLLER_OK);
    for (int f = 0; f < FILES; f++) {
        const char *const *op;
        char *text;
        size_t len;
        int n;
        assert_int_equal(file_read(a, &d, arena_printf(a, "benchmarks/limits/%s.te", files[f]),
                                   1 << 20, &text, &len), ST_OK);
        assert_int_equal(roller_parse_names(ctx, text, len, "t", NULL, &op, &n), ROLLER_OK);
        const char **name = ARENA_ARRAY(a, const char *, n);
        for (int i = 0; i < n; i++) name[i] = arena_strdup(a, op[i]);
        for (int k = 0; k < 4; k++) {
            RollerProfile *profile;
            assert_int_equal(roller_profile_load(ctx, profiles[k], &profile), ROLLER_OK);
            for (int i = 0; i < n; i++) {
                RollerEstimate e = estimate_of(ctx, profile, text, name[i]);
                if (e.us < e.floor_us)
                    fail_msg("%s on %s: %g us, floor %g", name[i], profiles[k], e.us, e.floor_us);
            }
            roller_profile_destroy(profile);
        }
    }
    roller_ctx_destroy(ctx);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(none_is_below_its_floor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
