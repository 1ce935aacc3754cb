/* links: hal */
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "hal/device.h"

#include "arena_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *load(const char *path, size_t *len) {
    char *text = NULL;
    assert_int_equal(file_read(arena, &diag, path, 4 << 20, &text, len), ST_OK);
    return text;
}

static Status read_text(const char *text, size_t len) {
    Device *dev;
    Status s = hal_profile_read(arena, &diag, (DiagText){"p.json", text, len}, &dev);
    assert_true((s == ST_OK) == (dev != NULL));
    assert_true((s == ST_OK) == (diag.errors == 0));
    return s;
}

/* The text at a line and column, both from 1.  */
static const char *place(const char *text, int line, int column) {
    for (; line > 1; line--)
        text = strchr(text, '\n') + 1;
    return text + column - 1;
}

/* `text` with `old`, which is there, replaced.  */
static const char *replace(const char *text, const char *old, const char *new) {
    const char *at = strstr(text, old);
    if (!at)
        fail_msg("not there: %s", old);
    return arena_printf(arena, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

static const char *apply(const json_t *edits, const char *text) {
    for (size_t i = 0; i < json_array_size(edits); i++) {
        const json_t *edit = json_array_get(edits, i);
        const char *old = json_string_value(json_array_get(edit, 0));
        const char *at = strstr(text, old);
        if (at && strstr(at + 1, old))
            fail_msg("more than once there: %s", old);
        text = replace(text, old, json_string_value(json_array_get(edit, 1)));
    }
    return text;
}

/* Every message is expected, in this order, at a place that begins with the text given, and with
 * the hint given third.  A message after `*` need only be contained.  */
static void compare(const char *name, const json_t *expect, const char *text) {
    for (int i = 0; i < diag.count || i < (int)json_array_size(expect); i++) {
        const json_t *e = json_array_get(expect, (size_t)i);
        const char *want = e ? json_string_value(json_array_get(e, 0)) : "nothing";
        const char *at = e ? json_string_value(json_array_get(e, 1)) : "";
        if (i >= diag.count)
            fail_msg("%s: missing message: %s", name, want);
        const DiagMessage *m = &diag.messages[i];
        if (*want == '*' ? !strstr(m->message, want + 1) : strcmp(m->message, want) != 0)
            fail_msg("%s: message %d: %s\nexpected: %s", name, i, m->message, want);
        assert_int_equal(m->status, ST_PROFILE);
        assert_true(m->line >= 1 && m->column >= 1);
        const char *hint = e ? json_string_value(json_array_get(e, 2)) : NULL;
        assert_string_equal(m->hint ? m->hint : "no hint", hint ? hint : "no hint");
        if (strncmp(place(text, m->line, m->column), at, strlen(at)))
            fail_msg("%s: %s: at %d:%d, expected at %s", name, want, m->line, m->column, at);
    }
}

static void check_case(const char *name, const char *tiny) {
    size_t len;
    char *file = load(arena_printf(arena, "tests/profiles/invalid/%s", name), &len);
    json_t *test = NULL;
    assert_int_equal(json_read(arena, &diag, ST_TE, (DiagText){name, file, len}, 1 << 20,
                               &test), ST_OK);
    const char *text = apply(json_object_get(test, "edits"), tiny);
    diag = diag_new(arena);
    assert_int_equal(read_text(text, strlen(text)), ST_PROFILE);
    compare(name, json_object_get(test, "expect"), text);
}

static void test_invalid_files(void **state) {
    (void)state;
    size_t len;
    const char *tiny = load("profiles/tiny.json", &len);
    DIR *dir = opendir("tests/profiles/invalid");
    assert_non_null(dir);
    struct dirent *entry;
    int n = 0;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        ArenaMark mark = arena_mark(arena);
        check_case(entry->d_name, tiny);
        arena_reset(arena, mark);
        diag = diag_new(arena);
        n++;
    }
    closedir(dir);
    assert_true(n >= 60);
}

/* Whatever is cut off, it is an error and never a crash.  */
static void test_truncated(void **state) {
    (void)state;
    size_t len;
    char *text = load("profiles/tiny.json", &len);
    for (size_t n = 0; n + 2 < len; n += n < 100 ? 1 : 37) {
        ArenaMark mark = arena_mark(arena);
        char *part = malloc(n + 1);
        assert_non_null(part);
        memcpy(part, text, n);
        part[n] = 0;
        assert_int_equal(read_text(part, n), ST_PROFILE);
        free(part);
        arena_reset(arena, mark);
        diag = diag_new(arena);
    }
}

static void test_damaged_bytes(void **state) {
    (void)state;
    size_t len;
    const char *text = load("profiles/tiny.json", &len);
    Rng rng = {7};
    static const char bytes[] = "{}[]\",:0-19eE.+\\ntrue\x80\xff\x01 ";
    char *copy = arena_alloc(arena, len + 1);
    for (int i = 0; i < 1500; i++) {
        ArenaMark mark = arena_mark(arena);
        memcpy(copy, text, len);
        for (uint32_t k = 1 + rng_below(&rng, 4); k > 0; k--)
            copy[rng_below(&rng, (uint32_t)len)] = bytes[rng_below(&rng, sizeof bytes - 1)];
        read_text(copy, len);
        arena_reset(arena, mark);
        diag = diag_new(arena);
    }
}

static const char *repeated(const char *before, const char *what, int times, const char *after) {
    Buf b = buf_new(arena);
    buf_puts(&b, before);
    for (int i = 0; i < times; i++)
        buf_puts(&b, what);
    buf_puts(&b, after);
    return buf_str(&b);
}

static void test_hostile(void **state) {
    (void)state;
    const struct {
        const char *text, *message;
    } cases[] = {
        {"", ""},
        {" \n ", ""},
        {"null", ""},
        {"[]", "an object is expected"},
        {"{}", "\"schema\" is missing"},
        {"\"text\"", ""},
        {"{\"a\": nan}", ""},
        {"{\"a\": 1e400}", ""},
        {"{\"a\": -1e999}", ""},
        {"{\"a\": 99999999999999999999999}", ""},
        {"{\"a\": 01}", ""},
        {"{\"a\": \"\xff\xfe\"}", ""},
        {"{\"a\": \"\\u0000\"}", ""},
        {"{\"a\\u0000b\": 1}", ""},
        {"{\"a\": 1,}", ""},
        {"{\"a\": 1} x", ""},
        {"{'a': 1}", ""},
        {"/* */ {}", ""},
        {repeated("", "[", 1000000, ""), "nested deeper than 64 levels"},
        {repeated("", "{\"a\":", 500000, ""), "nested deeper than 64 levels"},
        {repeated("{\"x\": ", "[", 64, repeated("", "]", 64, "}")), "nested deeper"},
        {repeated("", " ", 4 << 20, "{}"), ""},
        {repeated("{\"", "k", 1 << 20, "\": 1}"), "\"schema\" is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        diag = diag_new(arena);
        assert_int_equal(read_text(cases[i].text, strlen(cases[i].text)), ST_PROFILE);
        bool found = false;
        for (int k = 0; k < diag.count; k++)
            found |= strstr(diag.messages[k].message, cases[i].message) != NULL;
        if (!found)
            fail_msg("case %d: %s", (int)i, diag.messages[0].message);
    }
}

/* Braces in texts do not count as nesting.  */
static void test_brackets_in_texts(void **state) {
    (void)state;
    size_t len;
    const char *text = load("profiles/tiny.json", &len);
    text = replace(text, "a device made up for tests", repeated("\\\"", "[{", 100, "\\\\"));
    assert_int_equal(read_text(text, strlen(text)), ST_OK);
}

/* A file full of faults: as many messages as are kept, the rest counted, and all of it quickly.  */
static void test_many_faults(void **state) {
    (void)state;
    Buf b = buf_new(arena);
    buf_puts(&b, "{");
    for (int i = 0; i < 100000; i++)
        buf_printf(&b, "\"key%d\": 1,\n", i);
    buf_puts(&b, "\"limits\": 1}");
    assert_int_equal(read_text(b.text, b.len), ST_PROFILE);
    assert_int_equal(diag.count, DIAG_MAX);
    assert_true(diag.dropped > 99900);
    diag = diag_new(arena);
    const char *rows = repeated("{\"units\": [{}", ",{}", 500000, "]}");
    assert_int_equal(read_text(rows, strlen(rows)), ST_PROFILE);
    diag = diag_new(arena);
    rows = repeated("{\"units\": [{\"name\": \"x\"}", ",{\"name\": \"x\"}", 1023, "]}");
    assert_int_equal(read_text(rows, strlen(rows)), ST_PROFILE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_invalid_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_brackets_in_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_faults, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
