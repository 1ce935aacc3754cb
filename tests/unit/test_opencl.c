/* links: base */
/* The runner of OpenCL kernels: results, and what becomes of kernels that are wrong.  */
#include "opencl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 100, THREADS = 64, ROOM = 2 * THREADS };

static int setup(void **state) { return (*state = arena_create(NULL)) ? 0 : -1; }

static int teardown(void **state) {
    arena_destroy(*state);
    return 0;
}

/* A job of one kernel `f(x, y, n)`; y keeps -1 where nothing is written.  */
static const char *run(Arena *a, const char *body, float *x, float *y, int seconds) {
    int n = N;
    for (int i = 0; i < ROOM; i++) {
        x[i] = (float)i;
        y[i] = -1;
    }
    OpenclBuffer buffer[] = {{x, ROOM * sizeof *x}, {y, N * sizeof *y}};
    OpenclArg arg[] = {{.buffer = 0, .at = 0}, {.buffer = 1}, {.scalar = &n, .bytes = sizeof n}};
    OpenclLaunch launch = {"f", {2}, {THREADS}, arg, 3};
    const char *source = arena_printf(
        a, "__kernel void f(__global const float *x, __global float *y, int n) {\n%s}\n", body);
    return opencl_run(a, &(OpenclJob){source, buffer, 2, &launch, 1, seconds});
}

static void skip_without(Arena *a) {
    const char *absent = opencl_absent(a);
    if (!absent) return;
    print_message("skipped: %s\n", absent);
    skip();
}

static void threads_meet(void **state) {
    float x[ROOM], y[ROOM];
    skip_without(*state);
    const char *wrong = run(*state,
                            "    __local float t[64];\n"
                            "    const int i = get_global_id(0), l = get_local_id(0);\n"
                            "    t[l] = x[i];\n"
                            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                            "    if (i < n) y[i] = t[l ^ 1] / 3.0f;\n", x, y, 0);
    if (wrong) fail_msg("%s", wrong);
    for (int i = 0; i < N; i++) assert_true(y[i] == (float)(i ^ 1) / 3.0f);
    assert_true(y[N] == -1);
}

/* Temporaries are parts of one buffer; another one may be empty.  */
static void parts_of_a_buffer(void **state) {
    enum { PART = 256, FLOATS = 3 * PART / sizeof(float) };
    float w[FLOATS] = {0};
    int seven = 7;
    skip_without(*state);
    OpenclBuffer buffer[] = {{w, sizeof w}, {w, 0}};
    OpenclArg first[] = {{.buffer = 0, .at = PART, .bytes = PART},
                         {.scalar = &seven, .bytes = sizeof seven}};
    OpenclArg second[] = {{.buffer = 0, .at = PART, .bytes = PART},
                          {.buffer = 0, .at = 2 * PART, .bytes = PART}};
    OpenclLaunch launch[] = {{"f", {1}, {8}, first, 2}, {"g", {1}, {8}, second, 2}};
    const char *wrong = opencl_run(*state, &(OpenclJob){
        "__kernel void f(__global float *x, int y) { x[get_local_id(0)] = y; }\n"
        "__kernel void g(__global const float *x, __global float *y) {\n"
        "    y[get_local_id(0)] = x[get_local_id(0)] + get_local_id(0);\n"
        "}\n", buffer, 2, launch, 2, 0});
    if (wrong) fail_msg("%s", wrong);
    const float *last = &w[2 * PART / sizeof *w];
    for (int i = 0; i < 8; i++) assert_true(last[i] == (float)(7 + i));
    assert_true(w[0] == 0);
}

static void wrong_kernels(void **state) {
    static const struct {
        const char *body, *said;
    } bad[] = {
        {"    y[8 * n] = 0;\n", "signal"},
        {"    y[-1000] = 0;\n", "signal"},
        {"    y[n] = 0;\n", "writes outside of buffer 1"},
        {"    y[-1] = 0;\n", "writes outside of buffer 1"},
        {"    volatile int i = 0;\n    while (i < n) i -= i;\n", "does not end"},
        {"    y[0] = nothing;\n", "undeclared"},
    };
    float x[ROOM], y[ROOM];
    skip_without(*state);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *wrong = run(*state, bad[i].body, x, y, 2);
        if (!wrong || !strstr(wrong, bad[i].said))
            fail_msg("%s: %s", bad[i].body, wrong ? wrong : "right");
        assert_true(y[0] == -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_meet, setup, teardown),
        cmocka_unit_test_setup_teardown(parts_of_a_buffer, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_kernels, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
