/* links: te */
/* What hints say to write in the place of other languages' functions is accepted as it stands.  */
#include "te_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *message_of(Arena *a, Status want, const char *body) {
    const char *text = arena_printf(a, "param N = 4; op f(X: f32[N,N], x: f32, y: f32, low: f32, "
                                       "high: f32) -> Y: f32[N,N] { %s }", body);
    Diag d = diag_new(a);
    Te *te;
    Status s = te_parse(a, &d, diag_text("x.te", text), NULL, NULL, &te);
    if (s != want) fail_msg("%s: %s", body, d.count ? d.messages[0].message : "accepted");
    return s == ST_OK ? NULL : diag_first_error(&d)->hint;
}

static const char *after(const char *text, const char *word) {
    const char *at = strstr(text, word);
    if (!at) fail_msg("no '%s' in: %s", word, text);
    return at + strlen(word);
}

static void test_functions(void **state) {
    (void)state;
    static const char *const names[] = {"relu", "sigmoid", "silu", "swish", "gelu", "softplus",
                                        "sinh", "cosh", "tan", "log10", "reciprocal", "square",
                                        "fabs", "where", "clamp", "clip"};
    Arena *a = arena_create(NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *hint =
            message_of(a, ST_TE, arena_printf(a, "Y[i,j] = %s(X[i,j]);", names[i]));
        message_of(a, ST_OK, arena_printf(a, "Y[i,j] = X[i,j] + (%s);", after(hint, "write ")));
    }
    arena_destroy(a);
}

static void test_axes(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    const char *mean = message_of(a, ST_TE, "Y[i,k] = mean[j](X[i,j]);");
    const char *form = arena_strndup(a, after(mean, "write "),
                         (size_t)(strstr(mean, ", N being") - after(mean, "write ")));
    message_of(a, ST_OK, arena_printf(a, "u[i] = %s; Y[i,j] = u[i] + X[i,j];", form));
    const char *softmax = message_of(a, ST_TE, "Y[i,k] = softmax[j](X[i,j]);");
    message_of(a, ST_OK, after(softmax, "statements: "));
    const char *var = message_of(a, ST_TE, "Y[i,k] = var[j](X[i,j]);");
    var = arena_printf(a, "%s Y[i,j] = v[i] + X[i,j];", after(var, "statements: "));
    message_of(a, ST_OK, var);
    const char *norm = after(message_of(a, ST_TE, "Y[i,k] = norm[j](X[i,j]);"), "write ");
    message_of(a, ST_OK, arena_printf(a, "u[i] = %s; Y[i,j] = u[i] + X[i,j];", norm));
    const char *running = after(message_of(a, ST_TE, "Y[i,j] = cumsum[j](X[i,j]);"), "write ");
    message_of(a, ST_OK, arena_printf(a, "Y[i,j] = %s;", running));
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions),
                                       cmocka_unit_test(test_axes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
