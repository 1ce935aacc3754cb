/* links: te */
/* Every file of tests/cases and examples is accepted and obeys the laws of the canonical text;
 * every file of tests/errors is refused with the messages that it names.  */
#include "te_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void compare(const Case *c, const char *got, const char *want) {
    if (strcmp(got, want) != 0) fail_msg("%s: got\n%s\nexpected\n%s", c->path, got, want);
}

static const char *print(Arena *a, const Te *te) {
    Buf b = buf_new(a);
    te_print(te, &b);
    return buf_str(&b);
}

/* parse(print(t)) == t and print(parse(print(t))) == print(t), for the values that t was given.  */
static void laws(Arena *a, const Case *c, const Te *te) {
    Diag d = diag_new(a);
    Te *again;
    const char *text = print(a, te), *broken = te_check(te);
    if (broken) fail_msg("%s: %s: te_check: %s", c->path, te->name, broken);
    if (te_parse(a, &d, diag_text("printed", text), NULL, NULL, &again) != ST_OK)
        fail_msg("%s: %s: %s\n%s", c->path, te->name, d.messages[0].message, text);
    const char *differs = te_difference(te, again);
    if (differs) fail_msg("%s: %s: read back, differs in %s\n%s", c->path, te->name, differs, text);
    compare(c, print(a, again), text);
}

static void accepted(Arena *a, const Case *c) {
    Diag d = diag_new(a);
    Te **te;
    int n;
    if (te_parse_all(a, &d, (DiagText){c->name, c->text, c->len}, NULL, &te, &n) != ST_OK) {
        Buf b = buf_new(a);
        case_messages(&d, &b);
        fail_msg("%s: refused:\n%s", c->path, buf_str(&b));
    }
    assert_true(n > 0);
    for (int i = 0; i < n; i++) laws(a, c, te[i]);
    for (int i = 0; i < c->n_block; i++) {
        const CaseBlock *b = &c->block[i];
        Diag own = diag_new(a);
        Te *one;
        Buf got = buf_new(a);
        if (!b->plain || !b->dump) continue;
        Status s = te_parse(a, &own, (DiagText){c->name, c->text, c->len}, b->op,
                            &(TeDefines){b->define, b->n_define}, &one);
        case_messages(&own, &got);
        if (s == ST_OK) laws(a, c, one);
        buf_puts(&got, s == ST_OK ? print(a, one) : "exit 1\n");
        compare(c, buf_str(&got), b->want);
    }
}

static void refused(Arena *a, const Case *c) {
    assert_true(c->n_block > 0);
    for (int i = 0; i < c->n_block; i++) {
        const CaseBlock *b = &c->block[i];
        Diag d = diag_new(a);
        Te *te = NULL;
        Buf got = buf_new(a);
        if (!b->plain) continue;          /* of a plan's text: tests/golden.sh */
        Status s = te_parse(a, &d, (DiagText){c->name, c->text, c->len}, b->op,
                            &(TeDefines){b->define, b->n_define}, &te);
        assert_int_equal(s, ST_TE);
        assert_null(te);
        assert_true(d.errors > 0);
        assert_int_equal(diag_first_error(&d)->status, ST_TE);
        case_messages(&d, &got);
        buf_puts(&got, "exit 1\n");
        compare(c, buf_str(&got), b->want);
    }
}

static void test_cases(void **state) {
    (void)state;
    assert_true(case_each("tests/cases", accepted) >= 30);
}

static void test_examples(void **state) {
    (void)state;
    assert_true(case_each("examples", accepted) >= 8);
}

static void test_errors(void **state) {
    (void)state;
    assert_true(case_each("tests/errors", refused) >= 150);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
