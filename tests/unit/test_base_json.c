/* links: base */
#include "base/json.h"

#include "arena_fixture.h"
#include "oom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *read_json(const char *text) {
    json_t *v = NULL;
    Status s = json_read(arena, &diag, ST_PROFILE, diag_text("p.json", text), 1 << 20, &v);
    assert_int_equal(s, ST_OK);
    assert_int_equal(diag.errors, 0);
    return v;
}

static const char *write_json(const json_t *v, int indent) {
    Buf b = buf_new(arena);
    json_write(v, indent, &b);
    return buf_str(&b);
}

static void trees_come_back_as_written(void **state) {
    (void)state;
    static const char *const row[] = {
        "{}",
        "[]",
        "{\"z\": 1, \"a\": [true, false, null, \"x\"], \"m\": {\"k\": -7}}",
        "[0.1, 4096.0, 1e23, 1.5e-7, -0.0, 9223372036854775807, -9223372036854775808]",
        "[\"\\\"\\\\/ \\n\\t\\u0001\\u007f \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"]",
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_string_equal(write_json(read_json(row[i]), 0), row[i]);
    assert_string_equal(write_json(read_json(" [ \"\\u00e4\\u20AC\\ud83d\\ude00\\/\\b\","
                                             " 1E2, -0 ] "), 0),
                        "[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80/\\u0008\", 100.0, 0]");
    assert_string_equal(write_json(read_json(row[2]), 2), "{\n"
                                                          "  \"z\": 1,\n"
                                                          "  \"a\": [\n"
                                                          "    true,\n"
                                                          "    false,\n"
                                                          "    null,\n"
                                                          "    \"x\"\n"
                                                          "  ],\n"
                                                          "  \"m\": {\n"
                                                          "    \"k\": -7\n"
                                                          "  }\n"
                                                          "}");
    assert_string_equal(write_json(read_json("{\"a\": [], \"b\": {}}"), 2),
                        "{\n  \"a\": [],\n  \"b\": {}\n}");
    assert_string_equal(write_json(NULL, 0), "null");
}

static void trees_are_built(void **state) {
    (void)state;
    json_t *o = json_tree(arena);
    json_t *list = json_set(arena, o, "list", json_array());
    json_set(arena, json_push(arena, list, json_object()), "none", json_text(NULL));
    json_push(arena, list, json_text("x"));
    json_set(arena, o, "three", json_triple(arena, 1, INT64_MIN, INT64_MAX));
    assert_string_equal(write_json(o, 0),
                        "{\"list\": [{\"none\": null}, \"x\"], "
                        "\"three\": [1, -9223372036854775808, 9223372036854775807]}");
}

static void strings_are_always_utf8(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *text;
    } row[] = {
        {"plain", "\"plain\""},
        {"\x80", "\"\xef\xbf\xbd\""},                              /* a stray continuation */
        {"\xc3", "\"\xef\xbf\xbd\""},                              /* cut short */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},              /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* a surrogate */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xff" "a", "\"\xef\xbf\xbd" "a\""},
        {"\xf0\x90\x80\x80", "\"\xf0\x90\x80\x80\""},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Buf b = buf_new(arena);
        json_write_string(row[i].bytes, &b);
        assert_string_equal(buf_str(&b), row[i].text);
    }
}

static void faults_name_their_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int line, column;
        const char *part;
    } row[] = {
        {"{\n  \"a\": 1,\n  \"a\": 2\n}", 3, 3, "duplicate"},
        {"{\n  \"a\": tru\n}", 2, 8, "invalid token"},
        {"{\"a\": 1} x", 1, 10, "end of file"},
        {"{\"a\": 1", 1, 8, "'}' expected"},
        {"{\"a\" 1}", 1, 6, "':' expected"},
        {"{\"a\": 1,}", 1, 9, "string expected"},
        {"{\"a\": NaN}", 1, 7, "invalid token"},
        {"{\"a\": 1e999}", 1, 7, "real number overflow"},
        {"{\"a\": 99999999999999999999}", 1, 7, "too big"},
        {"{\"a\": \"\xff\"}", 1, 8, "unable to decode"},
        {"{\"a\": \"\\u0000\"}", 1, 8, "\\u0000"},
        {"{\"a\": 01}", 1, 7, "invalid token"},
        {"", 1, 1, "'[' or '{' expected"},
        {"3", 1, 1, "'[' or '{' expected"},
        {"{\"a\": -9223372036854775809}", 1, 7, "too big negative"},
        {"{\"a\": -}", 1, 7, "invalid token"},
        {"{\"a\": 1.}", 1, 7, "invalid token"},
        {"{\"a\": }", 1, 7, "value expected"},
        {"[1 2]", 1, 4, "']' expected"},
        {"[1", 1, 3, "not the end"},
        {"[\"a", 1, 4, "'\"' expected, not the end"},
        {"[\"\\x\"]", 1, 3, "invalid escape"},
        {"[\"\\u12\"]", 1, 3, "four hexadecimal digits"},
        {"[\"\\ud800\"]", 1, 3, "half of a surrogate pair"},
        {"[\"\\udc00\\ud800\"]", 1, 3, "half of a surrogate pair"},
        {"[\"\t\"]", 1, 3, "control character"},
        {"[\"\xe2\x82\"]", 1, 3, "unable to decode"},
        {"// no\n{}", 1, 1, "'[' or '{' expected"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        diag = diag_new(arena);
        json_t *v = NULL;
        Status s = json_read(arena, &diag, ST_PLAN_TEXT, diag_text("f.json", row[i].text), 1000,
                             &v);
        const DiagMessage *m = diag_first_error(&diag);
        assert_int_equal(s, ST_PLAN_TEXT);
        assert_null(v);
        assert_string_equal(m->file, "f.json");
        bool there = m->line == row[i].line && m->column == row[i].column;
        if (!there || !strstr(m->message, row[i].part))
            fail_msg("%s: %d:%d %s", row[i].text, m->line, m->column, m->message);
    }
}

static Status read_bytes(const char *text, size_t len, size_t max_len) {
    json_t *v;
    diag = diag_new(arena);
    return json_read(arena, &diag, ST_PROFILE, (DiagText){"f", text, len}, max_len, &v);
}

static void limits(void **state) {
    (void)state;
    char deep[200];
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    assert_int_equal(read_bytes(deep, 130, 1000), ST_PROFILE);
    assert_int_equal(diag_first_error(&diag)->column, 65);
    assert_int_equal(read_bytes(deep + 1, 128, 1000), ST_OK);
    /* Brackets in strings do not nest, escaped quotes do not end them.  */
    char quoted[300] = "[\"\\\"";
    memset(quoted + 4, '[', 100);
    strcpy(quoted + 104, "\"]");
    assert_int_equal(read_bytes(quoted, strlen(quoted), 1000), ST_OK);
    assert_int_equal(read_bytes("[1]", 3, 2), ST_PROFILE);
    assert_int_equal(read_bytes("[1\0]", 4, 1000), ST_PROFILE);
    assert_string_equal(diag_first_error(&diag)->message, "a NUL byte");
    assert_int_equal(diag_first_error(&diag)->column, 3);
    assert_int_equal(read_bytes("[\"a\0\"]", 6, 1000), ST_PROFILE);
    assert_int_equal(read_bytes("[\"\\\0\"]", 6, 1000), ST_PROFILE);
    /* A million brackets are refused before anything recurses.  */
    size_t n = 1000000;
    char *many = arena_alloc(arena, n);
    memset(many, '[', n);
    assert_int_equal(read_bytes(many, n, n), ST_PROFILE);
}

static void read_and_write(Arena *a, void *user) {
    (void)user;
    Diag d = diag_new(a);
    json_t *v;
    const char *text = "{\"a\": [1, 2.5, \"x\"], \"b\": {\"c\": null}}";
    assert_int_equal(json_read(a, &d, ST_PROFILE, diag_text("f", text), 1000, &v), ST_OK);
    Buf b = buf_new(a);
    json_write(v, 0, &b);
    assert_string_equal(buf_str(&b), text);
}

static void every_arena_allocation_may_fail(void **state) {
    (void)state;
    oom_sweep(read_and_write, NULL);
}

static int foreign_fail, foreign_asked, foreign_live;

static void *foreign_alloc(size_t size) {
    if (++foreign_asked == foreign_fail) return NULL;
    foreign_live++;
    return malloc(size);
}

static void foreign_free(void *p) {
    foreign_live -= p != NULL;
    free(p);
}

static void read_only(void *a) {
    Diag d = diag_new(a);
    json_t *v = NULL;
    const char *text = "{\"a\": [1, 2.5, \"x\"], \"b\": {\"c\": null}}";
    assert_int_equal(json_read(a, &d, ST_PROFILE, diag_text("f", text), 1000, &v), ST_OK);
}

static void every_allocation_of_jansson_may_fail(void **state) {
    (void)state;
    json_set_alloc_funcs(foreign_alloc, foreign_free);
    bool done = false;
    for (foreign_fail = 1; !done; foreign_fail++) {
        foreign_asked = 0;
        Arena *a = arena_create(NULL);
        done = arena_try(a, read_only, a);
        assert_int_equal(done, foreign_asked < foreign_fail);
        arena_destroy(a);
        if (foreign_live) fail_msg("failure %d: %d not freed", foreign_fail, foreign_live);
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(foreign_fail > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(trees_come_back_as_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trees_are_built, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strings_are_always_utf8, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults_name_their_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits, set_up, tear_down),
        cmocka_unit_test(every_arena_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_jansson_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
