/* links: sim */
/* Programs at the edges of the language, planned, compiled and run: very many reads in one
 * statement.  */
#include "base/buf.h"
#include "effort.h"
#include "kernel_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The program that is ranked first, and its code, which is run if `runs`.  */
static void makes(const KernelBench *b, const char *text, unsigned taken, bool runs) {
    KernelCase c;
    ArenaMark mark = arena_mark(b->arena);
    kernel_good(&c, text, kernel_open_decided(&c, b->arena, b->dev, text, NULL, taken));
    kernel_good(&c, text, kernel_pick(&c, 0));
    kernel_good(&c, text, kernel_emit(&c));
    if (runs) {
        kernel_good(&c, text, kernel_compile(&c, b->nvrtc, false));
        kernel_good(&c, text, kernel_run(&c, TE_FILL_INTEGERS, 1, te_exact(c.te)));
    }
    arena_reset(b->arena, mark);
}

/* ---- reads ---- */

enum { MANY_READS = 300 };

/* X[n,c+0] + X[n,c+1] + ..., the subscripts as in `form`, in place of the % of a text.  */
static const char *with_sum(Arena *a, const char *text, const char *form) {
    Buf b = buf_new(a);
    for (const char *s = text; *s; s++) {
        for (int i = 0; *s == '%' && i < MANY_READS; i++) {
            buf_puts(&b, i ? " + " : "(");
            for (const char *f = form; *f; f++) {
                if (*f == '#') buf_printf(&b, "%d", i);
                else buf_putc(&b, *f);
            }
        }
        buf_putc(&b, *s == '%' ? ')' : *s);
    }
    return buf_str(&b);
}

static void test_many_reads(void **state) {
    (void)state;
    static const struct {
        const char *text, *form;
        unsigned taken;
    } cases[] = {
        {"op f(X: f32[4,308]) -> Y: f32[4,8] { Y[n,c] = %; }", "X[n,c+#]", USUAL},
        {"op f(X: f32[308,8]) -> Y: f32[8,8] { Y[n,c] = %; }", "X[c+#,n]", APART},
        {"op f(X: f32[4,308]) -> (Y: f32[4,8], M: f32[4]) { Y[n,c] = %; M[n] = max[c](Y[n,c]); }",
         "X[n,c+#]", REPEATED},
        {"op f(X: f32[308,8]) -> M: f32[8] { M[n] = sum[c](%) where c in 8; }", "X[c+#,n]",
         TWO_STEP},
        {"op f(X: f32[8,308], B: f32[8,8]) -> Y: f32[8,8] { Y[n,m] += % * B[c,m]; }", "X[n,c+#]",
         TILED},
        {"op f(A: f32[8,8], B: f32[8,8], X: f32[8,308]) -> Y: f32[8,8] { t[n,c] += A[n,k] * B[k,c];"
         " u[n,c] = t[n,c] + %; m[n] = max[c](u[n,c]); Y[n,c] = u[n,c] - m[n]; }", "X[n,c+#]",
         JOINED},
    };
    KernelBench b = kernel_bench("a100");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ArenaMark mark = arena_mark(b.arena);
        const char *text = with_sum(b.arena, cases[i].text, cases[i].form);
        makes(&b, text, cases[i].taken, i == 0 || effort_long());
        arena_reset(b.arena, mark);
    }
    arena_destroy(b.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
