/* links: te */
/* Einsum notation: the text that it stands for, and what it does not take.  */
#include "te/front/einsum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static Arena *arena;
static Diag diag;

static int set_up(void **state) {
    (void)state;
    arena = arena_create(NULL);
    return arena ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    arena_destroy(arena);
    return 0;
}

static Status translate(const char *spec, const char *const *type, int n, const char **text) {
    Buf out = buf_new(arena);
    diag = diag_new(arena);
    Status s = te_einsum(arena, &diag, spec, type, n, &out);
    *text = buf_str(&out);
    return s;
}

/* The lines between the braces, or all of it where it is longer.  */
static void becomes(const char *spec, const char *header, const char *body) {
    const char *text;
    assert_int_equal(translate(spec, NULL, 0, &text), ST_OK);
    const char *op = strstr(text, "op einsum(");
    assert_string_equal(op, arena_printf(arena, "op einsum(%s {\n%s}\n", header, body));
    Te *te;
    TeDefine define[26];
    int n = 0;
    for (const char *p = text; p < op; p++)
        if (p[1] == ',' || p[1] == ';')
            define[n++] = (TeDefine){.name = arena_strndup(arena, p, 1), .lo = 3, .hi = 3,
                                     .multiple = 1};
    Status s = te_parse(arena, &diag, diag_text("einsum.te", text), NULL, &(TeDefines){define, n},
                        &te);
    assert_int_equal(s, ST_OK);
}

static void translations(void **state) {
    (void)state;
    becomes("bmk,bkn->bmn", "in0: f32[b,m,k], in1: f32[b,k,n]) -> out: f32[b,m,n]",
            "  out[_b,_m,_n] += in0[_b,_m,_k] * in1[_b,_k,_n];\n");
    becomes(" m k : f16 , kn:half -> mn : f32", "in0: f16[m,k], in1: f16[k,n]) -> out: f32[m,n]",
            "  out[_m,_n] += in0[_m,_k] * in1[_k,_n];\n");
    /* Without a result: letters that stand once, upper case first.  */
    becomes("aB,aC", "in0: f32[a,B], in1: f32[a,C]) -> out: f32[B,C]",
            "  out[_B,_C] += in0[_a,_B] * in1[_a,_C];\n");
    becomes("ii", "in0: f32[i,i]) -> out: f32[]", "  out[] += in0[_i,_i];\n");
    becomes("ij->ji", "in0: f32[i,j]) -> out: f32[j,i]", "  out[_j,_i] = in0[_i,_j];\n");
    becomes("", "in0: f32[]) -> out: f32[]", "  out[] = in0[];\n");
    /* A letter is summed as soon as nothing to the right has it.  */
    becomes("ij,jk,kl->il", "in0: f32[i,j], in1: f32[j,k], in2: f32[k,l]) -> out: f32[i,l]",
            "  t0[_i,_k] += in0[_i,_j] * in1[_j,_k];\n  out[_i,_l] += t0[_i,_k] * in2[_k,_l];\n");
    becomes("ij,k->k", "in0: f32[i,j], in1: f32[k]) -> out: f32[k]",
            "  t0[] += in0[_i,_j];\n  out[_k] = t0[] * in1[_k];\n");
    becomes("i,j,k->ijk", "in0: f32[i], in1: f32[j], in2: f32[k]) -> out: f32[i,j,k]",
            "  out[_i,_j,_k] = in0[_i] * in1[_j] * in2[_k];\n");
    /* Integers below 32 bits are summed in 32.  */
    becomes("k:i8,k:i8", "in0: i8[k], in1: i8[k]) -> out: i32[]",
            "  out[] += in0[_k] * in1[_k];\n");
}

static void given_types(void **state) {
    (void)state;
    const char *const two[] = {"bf16", NULL}, *text;
    assert_int_equal(translate("k:f32,k", two, 2, &text), ST_OK);
    assert_non_null(strstr(text, "in0: f32[k], in1: f32[k]) -> out: f32[]"));
    assert_int_equal(translate("k,k->:f64", two, 2, &text), ST_OK);
    assert_non_null(strstr(text, "in0: bf16[k], in1: f32[k]) -> out: f64[]"));
    assert_int_equal(translate("k,k", two, 2, &text), ST_TE);
    assert_int_equal(translate("k", two, 2, &text), ST_TE);
    const char *const none[] = {"float99"};
    assert_int_equal(translate("k", none, 1, &text), ST_TE);
}

static void refuses(const char *spec, int column, const char *why) {
    const char *text;
    assert_int_equal(translate(spec, NULL, 0, &text), ST_TE);
    const DiagMessage *m = diag_first_error(&diag);
    assert_int_equal(m->column, column);
    assert_string_equal(m->file, "<einsum>");
    if (!strstr(m->message, why)) fail_msg("%s: %s", spec, m->message);
}

static void refusals(void **state) {
    (void)state;
    refuses("i...,j", 2, "'...' is not taken");
    refuses("a+b", 2, "does not belong here");
    refuses("i->j->k", 5, "does not belong here");
    refuses("i->i,", 5, "does not belong here");
    refuses("i\xc3\xa9", 2, "does not belong here");
    refuses("i:f17", 3, "'f17' is no type");
    refuses("i:", 3, "a type belongs here");
    refuses("ij->ik", 5, "no operand has the 'k'");
    refuses("ij->ii", 5, "'i' stands twice");
    refuses("i,j:f16", 3, "do not tell the result's type");
    refuses("i:bool", 1, "bools have no products");
    refuses("abcdefghi", 9, "more than 8 dimensions");
    refuses("a,b,c,d,e,f,g,h,i", 18, "more than 8 dimensions");
    char many[TE_MAX_ARGS + 1] = "";
    for (int i = 0; i < TE_MAX_ARGS; i++) many[i] = ',';
    refuses(many, TE_MAX_ARGS, "more than 2047 operands");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(translations),
        cmocka_unit_test(given_types),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
