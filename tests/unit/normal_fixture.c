#include "normal_fixture.h"
#include "base/hash.h"
#include "te_adverse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int count_reductions(const TeExpr *e) {
    int n = e->kind == TE_REDUCE;
    for (int i = 0; i < e->n_args; i++) n += count_reductions(e->args[i]);
    return n + (e->other ? count_reductions(e->other) : 0);
}

void normal_check_form(Arena *a, const Te *normal, const char *source) {
    const char *broken = te_check(normal);
    if (broken) fail_msg("%s\n%s", broken, source);
    for (int i = 0; i < normal->n_stmt; i++) {
        const TeStmt *s = &normal->stmt[i];
        if (count_reductions(s->rhs) > (s->rhs->kind == TE_REDUCE))
            fail_msg("a reduction inside an expression\n%s", source);
        for (int k = 0; k < s->n_index; k++) assert_int_equal(s->index[k].lo.value, 0);
    }
    Buf first = buf_new(a), second = buf_new(a);
    for (int t = 0; t < normal->n_tensor; t++)
        if (normal->tensor[t].n_clip > 0) return;         /* the language has no word for that */
    te_print(normal, &first);
    te_print(fixture_te(a, buf_str(&first)), &second);
    assert_string_equal(buf_str(&first), buf_str(&second));
}

static void compare(Arena *a, const Te *te, const Te *normal, const TeData *in) {
    const char *differs = adverse_difference(a, te, normal, in);
    if (!differs) return;
    Buf b = buf_new(a);
    te_print(te, &b);
    te_print(normal, &b);
    fail_msg("%s\n%s", differs, buf_str(&b));
}

void normal_check_values(Arena *a, const Te *te, const Te *normal) {
    enum { ADVERSE = 4 };
    uint64_t seed = hash64(te->text, te->text_len, 0);
    compare(a, te, normal, fixture_inputs(a, te, TE_FILL_INTEGERS, 1));
    compare(a, te, normal, fixture_inputs(a, te, TE_FILL_REALS, 2));
    for (uint64_t i = 0; i < ADVERSE; i++)
        compare(a, te, normal, adverse_inputs(a, te, seed + i));
}

const Te *normal_check(Arena *a, const char *text, unsigned taken) {
    Te *te = fixture_te(a, text);
    te->decisions = decide(a, taken);
    const Te *normal = fixture_normal(a, te);
    normal_check_form(a, normal, text);
    if (!te->runtime) normal_check_values(a, te, normal);
    return normal;
}

void normal_check_text(unsigned taken, const char *head, const char *body, const char *want) {
    Arena *a = arena_create(NULL);
    const Te *normal = normal_check(a, arena_printf(a, "op f(%s { %s }", head, body), taken);
    Buf b = buf_new(a);
    te_print(normal, &b);
    const char *got = strstr(buf_str(&b), "{\n");
    assert_non_null(got);
    assert_string_equal(got + 2, arena_printf(a, "%s}\n", want));
    arena_destroy(a);
}
