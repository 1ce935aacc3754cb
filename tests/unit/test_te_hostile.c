/* links: te */
/* Hostile texts: a clear error and little memory, whatever the input.  */
#include "base/hash.h"
#include "arena_fixture.h"
#include "oom.h"
#include "te_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MIB = 1 << 20 };

static const char head[] = "param M = 4;\nop f(A: f32[M]) -> C: f32[M] { C[m] = ";

/* head, `count` times `part`, tail */
static Buf repeated(const char *before, const char *part, int count, const char *tail) {
    Buf b = buf_new(arena);
    buf_puts(&b, before);
    for (int i = 0; i < count; i++) buf_puts(&b, part);
    buf_puts(&b, tail);
    return b;
}

static void refuse_bytes(const char *text, size_t len, const char *tag) {
    Diag d = diag_new(arena);
    Te *te;
    size_t before = arena_bytes(arena);
    assert_int_equal(te_parse(arena, &d, (DiagText){"x.te", text, len}, NULL, NULL, &te), ST_TE);
    assert_true(arena_bytes(arena) - before < (size_t)len + 128 * MIB);
    assert_string_equal(diag_first_error(&d)->tag, tag);
    Buf b = buf_new(arena);
    case_messages(&d, &b);
    assert_true(b.len < 20000);
}

static void refuse(Buf b, const char *tag) { refuse_bytes(b.text, b.len, tag); }

static Te *accept(const char *text, size_t len) {
    Diag d = diag_new(arena);
    Te *te;
    if (te_parse(arena, &d, (DiagText){"x.te", text, len}, NULL, NULL, &te) != ST_OK)
        fail_msg("%s", diag_first_error(&d)->message);
    assert_null(te_check(te));
    return te;
}

static void test_long_names(void **state) {
    (void)state;
    refuse(repeated("op f(", "x", 65536, ""), "limit");
    refuse(repeated(head, "x", 65536, "; }"), "limit");
    refuse(repeated(head, "9", 65536, "; }"), "limit");
    refuse(repeated(head, "9", 64, "; }"), "lex");
    Buf longest = repeated("op ", "x", 64, "(A: f32[4]) -> C: f32[4] { C[m] = A[m]; }");
    accept(longest.text, longest.len);
}

static void test_nesting(void **state) {
    (void)state;
    refuse(repeated(head, "(", 1000000, ""), "limit");
    refuse(repeated(head, "-", 1000000, ""), "limit");
    refuse(repeated(head, "A[", 300000, ""), "limit");
    refuse(repeated(head, "A[m] else ", 100000, ""), "limit");
    refuse(repeated(head, "true ? 1 : ", 90000, ""), "limit");
    refuse(repeated(head, "max(1,", 100000, ""), "limit");
    refuse(repeated(head, "sum[k](", 100000, ""), "limit");
}

static void test_nesting_limit(void **state) {
    (void)state;
    for (int n = TE_MAX_DEPTH; n <= TE_MAX_DEPTH + 1; n++) {
        Buf b = repeated(head, "(", n, "A[m");
        buf_putc(&b, ']');
        for (int i = 0; i < n; i++) buf_putc(&b, ')');
        buf_puts(&b, "; }");
        if (n <= TE_MAX_DEPTH - 1)
            accept(b.text, b.len);
        else if (n > TE_MAX_DEPTH)
            refuse(b, "limit");
    }
}

static void test_long_chain(void **state) {
    (void)state;
    Buf b = repeated(head, "A[m] + ", TE_MAX_TREE - 3, "1; }");
    Te *te = accept(b.text, b.len);
    Buf out = buf_new(arena);
    te_print(te, &out);
    accept(out.text, out.len);
    refuse(repeated(head, "A[m] + ", TE_MAX_TREE, "1; }"), "limit");
    refuse(repeated(head, "1+", 500000, "1; }"), "limit");
}

static void test_bytes(void **state) {
    (void)state;
    static const char nul[] = "param M = 4;\0op f";
    char *nuls = arena_alloc(arena, 65536);
    refuse_bytes(nul, sizeof nul - 1, "lex");
    refuse_bytes(nuls, 65536, "lex");
    refuse_bytes("# \0", 3, "lex");
    refuse_bytes("", 0, "syntax");
    refuse_bytes("\xef\xbb\xbfparam", 8, "lex");
    Buf big = repeated("", "# a comment of thirty-two bytes\n", 32768, " ");
    refuse(big, "limit");
    refuse_bytes(big.text, MIB, "syntax");
}

static void test_extents(void **state) {
    (void)state;
    static const char *const texts[] = {
        "op f(A: f32[4611686018427387904]) -> C: f32 { C[] = A[0]; }",
        "op f(A: f32[4611686018427387904,4611686018427387904]) -> C: f32 { C[] = A[0,0]; }",
        "op f(A: f32[0,9223372036854775807,9223372036854775807]) -> C: f32 { C[] = 0; }",
        "op f(A: f32[2] strides(9223372036854775807)) -> C: f32 { C[] = A[1]; }",
        "op f(A: f32[4611686018427387903+4611686018427387903+2]) -> C: f32 { C[] = A[0]; }",
        "param M = 1..2147483647, N = 1..2147483647; op f(A: f32[M,N]) -> C: f32[N] { C[n] = 0; }",
        "param M = 1..2147483647; let N = M * M * M; op f(A: f32[M]) -> C: f32[N] { C[n] = 0; }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        refuse_bytes(texts[i], strlen(texts[i]), "size");
}

static void test_limits(void **state) {
    (void)state;
    Buf stmts = repeated("op f(A: f32[4]) -> C: f32[4] { ", "", 0, "");
    Buf sizes = buf_new(arena), ops = buf_new(arena), args = repeated("op f(", "", 0, "");
    for (int i = 0; i < TE_MAX_STMTS; i++) buf_printf(&stmts, "t%d[m] = A[m];", i);
    buf_puts(&stmts, "C[m] = A[m]; }");
    refuse(stmts, "limit");
    for (int i = 0; i <= TE_MAX_SIZES; i++) buf_printf(&sizes, "param M%d = 4;", i);
    buf_puts(&sizes, "op f(A: f32[M0]) -> C: f32[M0] { C[m] = A[m]; }");
    refuse(sizes, "limit");
    for (int i = 0; i <= TE_MAX_OPS; i++)
        buf_printf(&ops, "op q%d(A: f32[4]) -> C: f32[4] { C[m] = A[m]; }\n", i);
    refuse(ops, "limit");
    for (int i = 0; i < TE_MAX_ARGS; i++) buf_printf(&args, "A%d: f32[4],", i);
    buf_puts(&args, "Z: f32) -> C: f32 { C[] = 0; }");
    refuse(args, "limit");
    Buf chain = repeated("op f(A: f32[4]) -> C: f32[4] { t0[m] = A[m];", "", 0, "");
    for (int i = 1; i < 1000; i++) {
        buf_printf(&chain, "t%d[m] = ", i);
        for (int k = 0; k < 16; k++) buf_puts(&chain, "-");
        buf_printf(&chain, "t%d[m];", i - 1);
    }
    buf_puts(&chain, "C[m] = t999[m]; }");
    accept(chain.text, chain.len);
    Buf nodes = repeated("op f(A: f32[4]) -> C: f32[4] { ", "", 0, "");
    for (int i = 0; i < 500; i++) {
        buf_printf(&nodes, "t%d[m]=", i);
        for (int k = 0; k < 400; k++) buf_puts(&nodes, "A[m]+");
        buf_puts(&nodes, "1;");
    }
    buf_puts(&nodes, "C[m] = 0; }");
    refuse(nodes, "limit");
}

/* Lets that double what they mention must not double the work.  */
static void test_let_chains(void **state) {
    (void)state;
    Buf b = repeated("param a0 = 1..4;", "", 0, "");
    for (int i = 0; i < 58; i++) buf_printf(&b, "let a%d = a%d + a%d;", i + 1, i, i);
    buf_puts(&b, "op f(A: f32[a0]) -> C: i64[a0] { C[m] = a58 + i64(A[m]); }");
    Te *te = accept(b.text, b.len);
    int64_t value[TE_MAX_SIZES] = {3};
    assert_int_equal(te_extent_eval(te, &te->size[58].extent, value), (int64_t)3 << 58);
    Buf square = repeated("param a0 = 1..4;", "", 0, "");
    for (int i = 0; i < 200; i++) buf_printf(&square, "let a%d = a%d * a%d;", i + 1, i, i);
    buf_puts(&square, "op f(A: f32[a0]) -> C: f32[a0] { C[m] = A[m]; }");
    refuse(square, "size");
}

/* Proofs have a budget; what it does not reach is "cannot prove".  */
static void test_proofs_end(void **state) {
    (void)state;
    Buf b = repeated("param M = 1..64;op f(A: f32[M], I: i32[M]) -> C: f32[M] {", "", 0, "");
    for (int i = 0; i < 60; i++) {
        buf_printf(&b, "t%d[m] = ", i);
        for (int k = 0; k < 30; k++) buf_printf(&b, "I[m] > %d %s", k, k < 29 ? "&& " : "? ");
        for (int k = 0; k < 60; k++)
            buf_printf(&b, "A[min(I[m], M - %d) * I[m] / %d] + ", k, k + 1);
        buf_puts(&b, "0 : 0;");
    }
    buf_puts(&b, "C[m] = 0; }");
    Te *te = accept(b.text, b.len);
    assert_int_equal(te->n_stmt, 61);
    assert_true(arena_bytes(arena) < 128 * MIB);
}

/* Random bytes and random edits of legal programs: refused or accepted, and what is accepted obeys
 * the laws.  (Under the sanitizers this is where crashes would show.)  */
static void survive(Arena *a, const char *text, size_t len) {
    Diag d = diag_new(a);
    Te **te;
    int n;
    if (te_parse_all(a, &d, (DiagText){"x.te", text, len}, NULL, &te, &n) != ST_OK) {
        assert_non_null(diag_first_error(&d));
        return;
    }
    for (int i = 0; i < n; i++) {
        Buf b = buf_new(a);
        Te *again;
        assert_null(te_check(te[i]));
        te_print(te[i], &b);
        if (te_parse(a, &d, (DiagText){"y.te", b.text, b.len}, NULL, NULL, &again) != ST_OK)
            fail_msg("not read back: %s", b.text);
        const char *differs = te_difference(te[i], again);
        if (differs) fail_msg("%s: %s", differs, b.text);
    }
}

static const char *const pieces[] = {
    "[", "]", "(", ")", "{", "}", ";", ",", ":", "?", "+", "-", "*", "/", "%", "=", "!", "<", ">",
    "&&", "||", "..", "else", "where", "in", "0", "1", "9223372036854775807", "0.5", "inf", "true",
    "sum[k](", "max", "max=", "+=", "@fast", "@accum(f64)", "i8(", "i", "M", "N", "A", "\n",
    "param Z = 1..9 % 3;", "let Q = M / 2;", "strides(1,1)", "bool", "min(", " ", "1e3", "#",
    "\x80",
};

static void mutate(Rng *r, Buf *b) {
    int edits = 1 + (int)rng_below(r, 4);
    while (edits-- > 0 && b->len > 0) {
        size_t at = rng_below(r, (uint32_t)b->len), n = rng_below(r, 8);
        const char *piece = pieces[rng_below(r, sizeof pieces / sizeof pieces[0])];
        Buf out = buf_new(b->arena);
        if (n > b->len - at) n = b->len - at;
        buf_add(&out, b->text, at);
        if (rng_below(r, 3)) buf_puts(&out, piece);
        if (rng_below(r, 2)) n = rng_below(r, 2);
        buf_add(&out, b->text + at + n, b->len - at - n);
        *b = out;
    }
}

static void mutate_case(Arena *a, const Case *c) {
    Rng r = {hash64(c->name, strlen(c->name), 7)};
    for (int i = 0; i < 60; i++) {
        ArenaMark mark = arena_mark(a);
        const char *end = strstr(c->text, "\n#$");
        Buf b = buf_new(a);
        buf_add(&b, c->text, end ? (size_t)(end - c->text) : c->len);
        mutate(&r, &b);
        survive(a, buf_str(&b), b.len);
        arena_reset(a, mark);
    }
}

static void test_mutations(void **state) {
    (void)state;
    case_each("tests/cases", mutate_case);
    case_each("tests/errors", mutate_case);
}

static void test_truncation(void **state) {
    (void)state;
    static const char text[] =
        "param M = 1..64 % 8, N = 4;let P = (M + 3) / 4;\n"
        "op f(A: f16[M,N], s: f32) -> (C: f32[M], D: i32) {\n  let Q = N * 2;\n"
        "  C[m] += (A[m-1,n] else 0) * s where n in 0:N @accum(f64) @fast;\n"
        "  D[] = argmax[m](C[m] > 1.5e-3 && !(C[m] < s) ? C[m] : -inf) + 1;\n}\n";
    accept(text, sizeof text - 1);
    for (size_t len = 0; len < sizeof text; len++) {
        ArenaMark mark = arena_mark(arena);
        survive(arena, text, len);
        arena_reset(arena, mark);
    }
}

static void parse_body(Arena *a, void *user) {
    const char *text = user;
    Diag d = diag_new(a);
    Te *te;
    Buf b = buf_new(a);
    te_parse(a, &d, diag_text("x.te", text), NULL, NULL, &te);
    case_messages(&d, &b);
    if (d.errors == 0) te_print(te, &b);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    char good[] = "param M = 1..64 % 8;op f(A: f16[M], I: i32[M]) -> C: f32[M] {"
                  "t[m] += (A[m+k] else 0) where k in 3; C[m] = I[m] > 0 ? A[I[m]] : t[m]; }";
    char bad[] = "op f(A: f16[M]) -> C: f32[4] { C[m] = A[m] + Q; D[i] = @; }";
    oom_sweep(parse_body, good);
    oom_sweep(parse_body, bad);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_long_names), TEST(test_nesting), TEST(test_nesting_limit), TEST(test_long_chain),
        TEST(test_bytes), TEST(test_extents), TEST(test_limits), TEST(test_let_chains),
        TEST(test_proofs_end), TEST(test_mutations), TEST(test_truncation),
        TEST(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
