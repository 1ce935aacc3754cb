/* links: base */
#include "base/diag.h"

#include "arena_fixture.h"
#include "oom.h"
#include "roller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static DiagPlace place(const char *text, const char *mark) {
    return (DiagPlace){"x.te", text, strlen(text), (size_t)(strstr(text, mark) - text)};
}

static const char *render(const Diag *d, int i, bool color) {
    Buf b = buf_new(d->arena);
    diag_render(&d->messages[i], "roller-gen", color, &b);
    return buf_str(&b);
}

static void statuses(void **state) {
    (void)state;
    assert_string_equal(status_name(ST_OK), "OK");
    assert_string_equal(status_name(ST_NO_PLAN), "NO_PLAN");
    assert_string_equal(status_text(ST_NOMEM), "out of memory");
    assert_int_equal(status_exit(ST_OK), 0);
    assert_int_equal(status_exit(ST_TE), 1);
    assert_int_equal(status_exit(ST_USAGE), 2);
    assert_int_equal(status_exit(ST_NVRTC), 3);
    assert_int_equal(status_exit(ST_INTERNAL), 4);
    assert_int_equal(status_exit(ST_CHECK), 5);
    assert_int_equal(status_exit(ST_COUNT), 4);
    for (int s = 0; s < ST_COUNT; s++)
        for (int t = 0; t < s; t++)
            assert_string_not_equal(status_name((Status)s), status_name((Status)t));
}

static void statuses_of_the_public_header(void **state) {
    (void)state;
    int rows = 0;
#define X(name, code, text)                                                                        \
    rows++;                                                                                        \
    assert_int_equal((int)ROLLER_##name, (int)ST_##name);
    STATUS_LIST(X)
#undef X
    assert_int_equal(rows, (int)ROLLER_CANCELLED + 1);
}

static void message_source_caret_and_hint(void **state) {
    (void)state;
    const char *text = "param M = 64, N = 64, K = 64, L = 60;\n"
                       "op f(A: f16[M,K], B: f16[L,N]) -> C: f16[M] { C[m] = 2 * A[m,k]; }\n";
    Diag d = diag_new(arena);
    Status s = diag_error(&d, ST_TE, "axis", place(text, "k];"), "index '%s' is only on the %s",
                          "k", "right of '='");
    diag_hint(&d, "write sum[k](...), or %s to sum the whole right side", "+=");
    assert_int_equal(s, ST_TE);
    assert_int_equal(d.errors, 1);
    assert_ptr_equal(diag_first_error(&d), &d.messages[0]);
    assert_string_equal(
        render(&d, 0, false),
        "x.te:2:62: error: index 'k' is only on the right of '=' [axis]\n"
        "  op f(A: f16[M,K], B: f16[L,N]) -> C: f16[M] { C[m] = 2 * A[m,k]; }\n"
        "                                                               ^\n"
        "x.te:2:62: hint: write sum[k](...), or += to sum the whole right side\n");
}

static void without_a_place_the_program_speaks(void **state) {
    (void)state;
    Diag d = diag_new(arena);
    diag_error(&d, ST_USAGE, NULL, DIAG_NOWHERE, "unknown option '--top-k'");
    diag_hint(&d, "did you mean --top?");
    diag_warning(&d, "data", DIAG_NOWHERE, "slow");
    DiagPlace named = {.file = "h200.json"};
    diag_error(&d, ST_PROFILE, NULL, named, "no file");
    assert_string_equal(render(&d, 0, false), "roller-gen: error: unknown option '--top-k'\n"
                                              "roller-gen: hint: did you mean --top?\n");
    assert_string_equal(render(&d, 1, false), "roller-gen: warning: slow [data]\n");
    assert_string_equal(render(&d, 2, false), "h200.json: error: no file\n");
    assert_int_equal(d.count, 3);
    assert_int_equal(d.errors, 2);
}

static void places_at_the_ends(void **state) {
    (void)state;
    Diag d = diag_new(arena);
    DiagPlace at = {"f", "ab\n\ncd", 6, 0};
    static const struct {
        size_t pos;
        int line, column;
        const char *text;
    } row[] = {{0, 1, 1, "ab"}, {1, 1, 2, "ab"}, {2, 1, 3, "ab"}, {3, 2, 1, ""},
               {4, 3, 1, "cd"}, {5, 3, 2, "cd"}, {6, 3, 3, "cd"}, {99, 3, 3, "cd"}};
    for (int i = 0; i < 8; i++) {
        at.pos = row[i].pos;
        diag_error(&d, ST_TE, NULL, at, "x");
        assert_int_equal(d.messages[i].line, row[i].line);
        assert_int_equal(d.messages[i].column, row[i].column);
        assert_string_equal(d.messages[i].source_line, row[i].text);
    }
    assert_string_equal(render(&d, 7, false), "f:3:3: error: x\n  cd\n    ^\n");
    assert_string_equal(render(&d, 3, false), "f:2:1: error: x\n  \n  ^\n");
}

/* The byte above the caret, by columns of the screen.  */
static char above_caret(const char *text) {
    const char *line = strchr(text, '\n') + 1, *caret = strchr(line, '\n') + 1;
    size_t column = strcspn(caret, "^");
    for (; column; line++)
        if (((unsigned char)line[1] & 0xc0) != 0x80) column--;
    return *line;
}

static void long_lines_are_cut_around_the_caret(void **state) {
    (void)state;
    char text[1001];
    memset(text, '.', 1000);
    text[1000] = 0;
    for (size_t pos = 0; pos < 1000; pos += 37) {
        Diag d = diag_new(arena);
        text[pos] = '!';
        diag_error(&d, ST_TE, NULL, (DiagPlace){"f", text, 1000, pos}, "x");
        const char *out = render(&d, 0, false);
        assert_true(strlen(out) < 260);
        assert_int_equal(above_caret(out), '!');
        text[pos] = '.';
    }
}

static void wide_characters_keep_the_caret_in_place(void **state) {
    (void)state;
    Diag d = diag_new(arena);
    diag_error(&d, ST_TE, NULL, place("\xc3\xa4\xe2\x82\xac = !", "!"), "x");
    assert_string_equal(render(&d, 0, false),
                        "x.te:1:9: error: x\n  \xc3\xa4\xe2\x82\xac = !\n       ^\n");
    char text[400];
    for (size_t i = 0; i < 396; i += 2) memcpy(text + i, "\xc3\xa4", 3);
    text[201] = '!';
    text[200] = 'a';
    diag_error(&d, ST_TE, NULL, place(text, "!"), "x");
    const char *out = render(&d, 1, false);
    assert_int_equal(above_caret(out), '!');
    const char *line = strchr(out, '\n') + 6;
    assert_int_equal((unsigned char)line[0], 0xc3);
}

static void control_bytes_do_not_reach_the_terminal(void **state) {
    (void)state;
    Diag d = diag_new(arena);
    DiagPlace at = place("\ta\033[2Jb\rc!", "!");
    at.file = "bad\033name";
    diag_error(&d, ST_TE, NULL, at, "odd \007 byte\n");
    diag_hint(&d, "\033]0;title");
    assert_string_equal(render(&d, 0, false), "bad\\x1bname:1:10: error: odd \\x07 byte\\x0a\n"
                                              "   a\\x1b[2Jb\\x0dc!\n"
                                              "                 ^\n"
                                              "bad\\x1bname:1:10: hint: \\x1b]0;title\n");
    /* C1, directions, an empty mark, bytes that are no UTF-8, half a sequence at the end.  */
    diag_error(&d, ST_TE, NULL,
               place("\xc2\x9b" "2J\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf\xff\x80\xc3\xa4!\xe2\x80",
                     "!"),
               "\x9b\xc2\x85");
    assert_string_equal(render(&d, 1, false),
                        "x.te:1:18: error: \\x9b\\u0085\n"
                        "  \\u009b2J\\u202e\\u2066\\ufeff\\xff\\x80\xc3\xa4!\\xe2\\x80\n"
                        "                                     ^\n");
}

static void colour_adds_only_escapes(void **state) {
    (void)state;
    Diag d = diag_new(arena);
    diag_error(&d, ST_TE, "name", place("a = b", "b"), "x");
    diag_hint(&d, "y");
    const char *painted = render(&d, 0, true);
    Buf bare = buf_new(arena);
    int escapes = 0;
    for (const char *p = painted; *p; p++) {
        if (*p != '\033') {
            buf_putc(&bare, *p);
            continue;
        }
        escapes++;
        p += strcspn(p, "m");
    }
    assert_true(escapes >= 4);
    assert_string_equal(buf_str(&bare), render(&d, 0, false));
}

static void too_many_messages(void **state) {
    (void)state;
    Diag d = diag_new(arena);
    for (int i = 0; i < DIAG_MAX + 5; i++) {
        diag_warning(&d, NULL, DIAG_NOWHERE, "warning %d", i);
        diag_hint(&d, "hint %d", i);
    }
    assert_int_equal(d.count, DIAG_MAX);
    assert_int_equal(d.dropped, 5);
    assert_string_equal(d.messages[DIAG_MAX - 1].hint, "hint 19");
    assert_null(diag_first_error(&d));
    /* The first error is never lost; those after it may be.  */
    diag_error(&d, ST_TE, NULL, DIAG_NOWHERE, "error");
    diag_hint(&d, "its hint");
    diag_error(&d, ST_IO, NULL, DIAG_NOWHERE, "another");
    diag_hint(&d, "its hint too");
    assert_int_equal(d.errors, 2);
    assert_int_equal(d.dropped, 7);
    assert_int_equal(diag_first_error(&d)->status, ST_TE);
    assert_string_equal(diag_first_error(&d)->message, "error");
    assert_string_equal(diag_first_error(&d)->hint, "its hint");
}

static void report(Arena *a, void *user) {
    (void)user;
    Diag d = diag_new(a);
    diag_error(&d, ST_TE, "name", place("a = b", "b"), "%0300d", 1);
    diag_hint(&d, "hint");
    assert_true(strlen(render(&d, 0, true)) > 300);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    oom_sweep(report, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses),
        cmocka_unit_test(statuses_of_the_public_header),
        cmocka_unit_test(message_source_caret_and_hint),
        cmocka_unit_test(without_a_place_the_program_speaks),
        cmocka_unit_test(places_at_the_ends),
        cmocka_unit_test(long_lines_are_cut_around_the_caret),
        cmocka_unit_test(wide_characters_keep_the_caret_in_place),
        cmocka_unit_test(control_bytes_do_not_reach_the_terminal),
        cmocka_unit_test(colour_adds_only_escapes),
        cmocka_unit_test(too_many_messages),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
