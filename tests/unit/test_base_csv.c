/* links: base */
/* Comma-separated values: what RFC 4180 allows, and where what is wrong stands.  */
#include "arena_fixture.h"
#include "base/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Fields as "a|b;" for each record, or the place and message of the error.  */
static const char *records(const char *text) {
    Diag d = diag_new(arena);
    Buf out = buf_new(arena);
    CsvReader r = {.text = diag_text("f.csv", text)};
    CsvField *field;
    int n;
    Status s = ST_OK;
    while (!(s = csv_next(arena, &d, &r, &field, &n)) && n > 0) {
        for (int i = 0; i < n; i++) {
            bool quoted = text[field[i].at] == '"';
            assert_true(quoted || !strncmp(text + field[i].at, field[i].text,
                                           strlen(field[i].text)));
            buf_printf(&out, "%s%s", i ? "|" : "", field[i].text);
        }
        buf_puts(&out, ";");
    }
    if (!s) return buf_str(&out);
    const DiagMessage *m = diag_first_error(&d);
    assert_int_equal(s, ST_ARGS);
    return arena_printf(arena, "%d:%d %s", m->line, m->column, m->message);
}

static void what_is_read(void **state) {
    (void)state;
    static const char *const row[][2] = {
        {"a,b\n1,2\n", "a|b;1|2;"},
        {"a,b\r\n 1 ,\t2", "a|b;1|2;"},
        {"\n# a comment, with a comma\n\na\n  # and another\n", "a;"},
        {",\n", "|;"},
        {"a,\n,b\n", "a|;|b;"},
        {"\"x, y\",2\n", "x, y|2;"},
        {"\"say \"\"no\"\"\" , \"\"\n", "say \"no\"|;"},
        {"\"two\nlines\",b\nc\n", "two\nlines|b;c;"},
        {"\"\"\n", ";"},
        {"a \"b\" c\n", "a \"b\" c;"},
        {"", ""},
        {"   \n\n", ""},
        {"a,b\n1,\"2\n", "2:3 nothing closes this quote"},
        {"a,\"b\"c\n", "1:6 a comma is expected behind a field in quotes"},
        {"\"a\nb\"x", "2:3 a comma is expected behind a field in quotes"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_string_equal(records(row[i][0]), row[i][1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_read)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
