/* Published times beside the rows of the workload sets: of Roller's 119 operators its best of ten
 * programs is within 10 % of the best of library, AutoTVM and Ansor for 62.2 %, as its paper has
 * it.  */
#include "arena_fixture.h"
#include "workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void roller(Arena *a) {
    WorkloadSet set;
    int within = 0;
    diag = diag_new(a);
    must(workload_read(a, &diag, "benchmarks/workloads/roller119.csv", &set));
    assert_int_equal(set.n, 119);
    for (int i = 0; i < set.n; i++) {
        const Workload *w = &set.row[i];
        double best = fmin(workload_peer_ms(w, "cudalib"),
                           fmin(workload_peer_ms(w, "autotvm"), workload_peer_ms(w, "ansor")));
        assert_true(best > 0 && isfinite(workload_peer_ms(w, "roller10")));
        assert_true(workload_peer_ms(w, "roller") == INFINITY);       /* a name is a whole one */
        within += workload_peer_ms(w, "roller10") <= 1.1 * best;
    }
    assert_int_equal(within, 74);         /* 62.2 % of 119 */
}
static void test_roller(void **state) { run(state, roller); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_roller, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
