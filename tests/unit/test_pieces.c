/* links: sim */
/* Maps that read beyond the edge of a tensor, or another one behind it: paddings, concatenations,
 * stencils; and those whose vectors cross rows.  Where vectors lie inside or outside as a whole
 * they are read as such, and every width computes what the reference does, bit for bit.  */
#include "kernel_fixture.h"
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *name, *text;
    int most;                 /* widest store that is planned */
    int whole;                /* vectors read under a condition, at that width */
} Map;

static const Map maps[] = {
    {"padding", "op f(X: f16[6,10,64]) -> Y: f16[6,12,80] { Y[n,i,j] = X[n,i-1,j-8] else 0; }", 8,
     1},
    {"padding with a value", "op f(X: i8[6,10,64]) -> Y: i8[6,12,96] {"
                             " Y[n,i,j] = X[n,i-1,j-16] else -3; }", 16, 1},
    {"padding by half a vector", "op f(X: f32[6,10,64]) -> Y: f32[6,12,68] {"
                                 " Y[n,i,j] = X[n,i-1,j-2] else 1.5; }", 4, 1},
    {"padding by one", "op f(X: f32[6,10,64]) -> Y: f32[6,10,66] {"
                       " Y[n,i,j] = X[n,i,j-1] else 1.5; }", 2, 0},
    {"concatenation", "op f(A: f32[33,32], B: f32[33,96]) -> Y: f32[33,128] {"
                      " Y[i,j] = j < 32 ? A[i,j] : B[i,j-32]; }", 4, 2},
    {"three types of rows", "op f(A: bf16[33,64], B: bf16[33,8], C: bf16[33,56]) -> Y: f32[33,128]"
                            " { Y[i,j] = j < 64 ? A[i,j] : j < 72 ? B[i,j-64] : C[i,j-72]; }", 4,
     3},
    {"planes", "op f(A: f32[5,3,40], B: f32[5,4,40]) -> Y: f32[5,7,40] {"
               " Y[n,i,j] = i < 3 ? A[n,i,j] : B[n,i-3,j]; }", 4, 2},
    {"stencil", "op f(X: f32[20,48]) -> Y: f32[20,48] { Y[i,j] = (X[i-1,j] else 0) +"
                " (X[i+1,j] else 2) + (X[i,j-1] else 0) + (X[i,j+1] else 0) - 4.0 * X[i,j]; }", 4,
     2},
    /* Vectors that cross the end of an index carry into the next ones.  */
    {"carry", "op f(X: f16[8,3,7], b: f32[3], c: f32[7], d: f32[8]) -> Y: f32[8,3,7] {"
              " Y[n,i,j] = X[n,i,j] * b[i] + c[j] - d[n]; }", 4, 0},
    {"carry over an index of one value", "op f(X: f32[8,2,1,9], b: f32[8], c: f32[9]) ->"
     " Y: f32[8,2,1,9] { Y[n,i,k,j] = X[n,i,k,j] * b[n] + c[j]; }", 4, 0},
    {"carry of bytes", "op f(X: i8[64,2,33], b: i32[64], c: i32[33]) -> Y: i8[64,2,33] {"
                       " Y[n,i,j] = i8(X[n,i,j] * b[n] + c[j]); }", 16, 0},
    {"vectors longer than rows", "op f(X: f32[16,3], b: f32[16], c: f32[3]) -> Y: f32[16,3] {"
                                 " Y[i,j] = X[i,j] * b[i] + c[j]; }", 4, 0},
    {"odd edge", "op f(X: f32[20,30]) -> Y: f32[20,32] { Y[i,j] = X[i,j] else 0; }", 4, 1},
};
enum { MAPS = sizeof maps / sizeof *maps };

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++) n++;
    return n;
}

/* A candidate with stores of this width as the only one.  */
static bool keep_width(KernelCase *c, int vec) {
    RProgSet *set = &c->set[0];
    for (int i = 0; i < set->n; i++) {
        if (set->prog[i].skeleton != SK_STREAM || set->prog[i].store_vec != vec) continue;
        c->plan.prog[0] = set->prog[i];
        return true;
    }
    return false;
}

static void check_width(Arena *a, Nvrtc *n, const Map *m, int vec) {
    KernelCase c;
    const char *wrong = kernel_open(&c, a, fixture_device(a, "h200"), m->text, NULL);
    if (!wrong && !keep_width(&c, vec)) wrong = "no stream program of the width";
    if (!wrong) wrong = kernel_emit(&c);
    /* What lies outside of them is 0, and is not read.  */
    if (!wrong && vec == m->most && count(c.program.source, "] = {};") != m->whole)
        wrong = "other vectors read under a condition than expected";
    if (!wrong) wrong = kernel_compile(&c, n, false);
    if (!wrong) wrong = kernel_run(&c, TE_FILL_INTEGERS, 7, te_exact(c.te));
    if (wrong) fail_msg("%s", kernel_report(&c, m->name, wrong));
}

static void vectors_at_edges_are_whole(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    Nvrtc *n;
    assert_non_null(a);
    assert_int_equal(nvrtc_open(a, &d, NULL, NULL, &n), ST_OK);
    for (int i = 0; i < MAPS; i++) {
        check_width(a, n, &maps[i], maps[i].most);
        check_width(a, n, &maps[i], maps[i].most / 2);
    }
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors_at_edges_are_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
