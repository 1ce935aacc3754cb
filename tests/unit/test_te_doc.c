/* links: te */
/* The programs in docs/te.md and docs/te-reference.md: blocks `te` are accepted, blocks
 * `te-refused` give the messages of the block that follows.  */
#include "base/file.h"
#include "te_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *kind, *text;
} Block;

/* The next fenced block from *s on; false if there is none.  */
static bool next_block(Arena *a, const char **s, Block *b) {
    const char *open = strstr(*s, "\n```");
    if (!open) return false;
    const char *kind = open + 4, *text = strchr(kind, '\n');
    assert_non_null(text);
    const char *close = strstr(text, "\n```");
    assert_non_null(close);
    b->kind = arena_strndup(a, kind, (size_t)(text - kind));
    b->text = arena_strndup(a, text + 1, (size_t)(close - text));
    *s = close + 4;
    return true;
}

static const char *messages(Arena *a, const char *text, Status want) {
    Diag d = diag_new(a);
    Buf b = buf_new(a);
    Te **te;
    int n;
    Status s = te_parse_all(a, &d, diag_text("x.te", text), NULL, &te, &n);
    case_messages(&d, &b);
    if (s != want) fail_msg("%s\n%s", text, buf_str(&b));
    return buf_str(&b);
}

static void read_page(Arena *a, const char *page, int *accepted, int *refused) {
    Diag d = diag_new(a);
    char *text;
    size_t len;
    assert_int_equal(file_read(a, &d, page, 1 << 20, &text, &len), ST_OK);
    const char *s = text;
    for (Block b; next_block(a, &s, &b);) {
        if (strcmp(b.kind, "te") == 0) {
            assert_string_equal(messages(a, b.text, ST_OK), "");
            ++*accepted;
        } else if (strcmp(b.kind, "te-refused") == 0) {
            Block message;
            assert_true(next_block(a, &s, &message));
            assert_string_equal(message.kind, "message");
            assert_string_equal(messages(a, b.text, ST_TE), message.text);
            ++*refused;
        } else {
            assert_string_equal(b.kind, "ebnf");
        }
    }
}

static void test_guide(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    int accepted = 0, refused = 0;
    read_page(a, "docs/te.md", &accepted, &refused);
    read_page(a, "docs/te-reference.md", &accepted, &refused);
    assert_true(accepted >= 15 && refused >= 6);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_guide)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
