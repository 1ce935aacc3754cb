/* links: te */
/* Chains: which products of rows of another product share its kernel, by whatever spelling, with
 * which columns, and why others do not; what is free in sums of exponentials. */
#include "te/access/access.h"
#include "decide.h"
#include "te_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const Te *te;
    KernelGroup *group;
    int n;
} Parted;

static Parted part(Arena *a, const char *text, unsigned taken) {
    Te *te = fixture_te(a, text), *normal;
    Diag d = diag_new(a);
    te->decisions = decide(a, taken);
    te->decisions->chains = true;
    if (te_normalize(a, &d, te, &normal)) fail_msg("%s: no normal form", text);
    const char *broken = te_check(normal);
    if (broken) fail_msg("%s: %s", text, broken);
    Parted p = {.te = normal};
    p.n = access_groups(a, normal, &p.group);
    return p;
}

static const KernelGroup *chain_of(const Parted *p) {
    for (int k = 0; k < p->n; k++)
        if (p->group[k].chain) return &p->group[k];
    return NULL;
}

static const char *chain_text(Arena *a, const char *text) {
    Parted p = part(a, text, JOINED);
    const char **texts = ARENA_ARRAY(a, const char *, p.n);
    const KernelGroup *g = chain_of(&p);
    if (!g) fail_msg("%s: no chain", text);
    access_group_texts(a, p.te, p.group, p.n, texts);
    return texts[g - p.group];
}

/* ---- spellings ---- */

#define HEAD "op f(Q: bf16[3,20,16], K: bf16[3,24,16], V: bf16[3,24,8]) -> O: bf16[3,20,8] { " \
    "t[b,i,j] = sum[d](Q[b,i,d] * K[b,j,d]) * 0.25; m[b,i] = max[j](t[b,i,j]); "
#define SUM "z[b,i] = sum[j](exp(t[b,i,j] - m[b,i])); "
#define POWER "exp(t[b,i,j] - m[b,i])"

static void all_spellings_of_attention_are_one(void **state) {
    static const char *const rest[] = {
        SUM "p[b,i,j] = " POWER " / z[b,i] @type(bf16); O[b,i,e] = sum[j](p[b,i,j] * V[b,j,e]);",
        SUM "O[b,i,e] = sum[j](bf16(" POWER ") * V[b,j,e]) / z[b,i];",
        SUM "l[b,i] = m[b,i] + log(z[b,i]); p[b,i,j] = exp(t[b,i,j] - l[b,i]) @type(bf16);"
            "O[b,i,e] = sum[j](p[b,i,j] * V[b,j,e]);",
        SUM "O[b,i,e] = sum[j](bf16(exp(t[b,i,j] - m[b,i] - log(z[b,i]))) * V[b,j,e]);",
        "l[b,i] = m[b,i] + log(sum[j](" POWER "));"
            "O[b,i,e] = sum[j](bf16(exp(t[b,i,j] - l[b,i])) * V[b,j,e]);",
        "u[b,i,j] = " POWER "; z[b,i] = sum[j](u[b,i,j]); p[b,i,j] = u[b,i,j] / z[b,i];"
        "O[b,i,e] = sum[j](bf16(p[b,i,j]) * V[b,j,e]);",
        SUM "p[b,i,j] = " POWER " @type(bf16); o[b,i,e] = sum[j](p[b,i,j] * V[b,j,e]);"
            "O[b,i,e] = o[b,i,e] / z[b,i];",
        SUM "r[b,i] = 1 / z[b,i]; O[b,i,e] = sum[j](bf16(" POWER " * r[b,i]) * V[b,j,e]);",
        SUM "O[b,i,e] = sum[j](bf16(" POWER ") / z[b,i] * V[b,j,e]);"};
    Arena *a = arena_create(NULL);
    const char *first = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        const char *text = chain_text(a, arena_printf(a, HEAD "%s }", rest[i]));
        if (!first) first = text;
        if (strcmp(text, first) != 0) fail_msg("%s:\n%s\nfor\n%s", rest[i], text, first);
    }
    arena_destroy(a);
}

/* ---- what is joined ---- */

#define DATA "Q: f16[2,8,20,16], K: f16[2,8,24,16], V: f16[2,8,24,12], n: i32[2], x: f32, " \
    "M: f32[2,8,20,24], W: f32[2,8,20]"
#define SCORE "t[b,h,i,j] = sum[d](Q[b,h,i,d] * K[b,h,j,d]) * 0.25; "
#define MAX "m[b,h,i] = max[j](t[b,h,i,j]); "
#define Z "z[b,h,i] = sum[j](exp(t[b,h,i,j] - m[b,h,i])); "
#define P "f16(exp(t[b,h,i,j] - m[b,h,i]))"
#define OUT "O[b,h,i,e] = sum[j](" P " * V[b,h,j,e]) / z[b,h,i];"

static const struct {
    const char *what, *result, *body;
    const char *why;          /* NULL: it is joined */
} cases[] = {
    {"plain", "O: f16[2,8,20,12]", SCORE MAX Z OUT, NULL},
    {"transposed result", "O: f16[2,8,12,20]",
     SCORE MAX Z "O[b,h,e,i] = sum[j](V[b,h,j,e] * " P ") / z[b,h,i];", NULL},
    {"second output", "(O: f16[2,8,20,12], L: f32[2,8,20])",
     SCORE MAX Z OUT "L[b,h,i] = m[b,h,i] + log(z[b,h,i]);", NULL},
    {"soft cap and slope", "O: f16[2,8,20,12]",
     "s[b,h,i,j] = sum[d](Q[b,h,i,d] * K[b,h,j,d]);"
     "t[b,h,i,j] = tanh(s[b,h,i,j] * 0.02) * 50 + x * (j - i) + M[b,h,i,j];" MAX Z OUT, NULL},
    {"scaled after the difference", "O: f16[2,8,20,12]",
     SCORE MAX "z[b,h,i] = sum[j](exp((t[b,h,i,j] - m[b,h,i]) * 0.5));"
     "O[b,h,i,e] = sum[j](f16(exp((t[b,h,i,j] - m[b,h,i]) * 0.5)) * V[b,h,j,e]) / z[b,h,i];", NULL},
    {"more beside the sum", "O: f16[2,8,20,12]",
     SCORE MAX Z "y[b,h,i] = max(z[b,h,i] + 0.5, 1e-9);"
     "p[b,h,i,j] = exp(t[b,h,i,j] - m[b,h,i]) / y[b,h,i] @type(f16);"
     "O[b,h,i,e] = sum[j](p[b,h,i,j] * V[b,h,j,e]) + W[b,h,i];", NULL},
    {"a sink", "O: f16[2,8,20,12]",
     SCORE MAX "w[b,h,i] = max(m[b,h,i], x); "
     "z[b,h,i] = sum[j](exp(t[b,h,i,j] - w[b,h,i])) + exp(x - w[b,h,i]);"
     "O[b,h,i,e] = sum[j](f16(exp(t[b,h,i,j] - w[b,h,i])) * V[b,h,j,e]) / z[b,h,i];", NULL},
    {"a sink, divided first", "O: f16[2,8,20,12]",
     SCORE "w[b,h,i] = max(W[b,h,i], max[j](t[b,h,i,j]));"
     "z[b,h,i] = exp(W[b,h,i] - w[b,h,i]) + sum[j](exp(t[b,h,i,j] - w[b,h,i]));"
     "p[b,h,i,j] = exp(t[b,h,i,j] - w[b,h,i]) / z[b,h,i] @type(f16);"
     "O[b,h,i,e] = sum[j](p[b,h,i,j] * V[b,h,j,e]);", NULL},
    {"back to back", "O: f16[2,8,20,12]",
     SCORE "u[b,h,i,j] = max(t[b,h,i,j], 0) @type(f16);"
     "O[b,h,i,e] = max(sum[j](u[b,h,i,j] * V[b,h,j,e]), 0);", NULL},
    {"back to back, rounded by a cast", "O: f16[2,8,20,12]",
     SCORE "u[b,h,i,j] = f16(max(t[b,h,i,j], 0));"
     "O[b,h,i,e] = max(sum[j](u[b,h,i,j] * V[b,h,j,e]), 0);", NULL},

    {"scale of unknown sign after the difference", "O: f16[2,8,20,12]",
     SCORE MAX "z[b,h,i] = sum[j](exp((t[b,h,i,j] - m[b,h,i]) * x));"
     "O[b,h,i,e] = sum[j](f16(exp((t[b,h,i,j] - m[b,h,i]) * x)) * V[b,h,j,e]) / z[b,h,i];",
     "its exponents are not relative to a maximum of the row"},
    {"no maximum", "O: f16[2,8,20,12]",
     SCORE "z[b,h,i] = sum[j](exp(t[b,h,i,j]));"
     "O[b,h,i,e] = sum[j](f16(exp(t[b,h,i,j]) / z[b,h,i]) * V[b,h,j,e]);",
     "what divides it is no sum of the exponentials of its row"},
    {"a sink that is not in the sum", "O: f16[2,8,20,12]",
     SCORE MAX "w[b,h,i] = max(m[b,h,i], x); z[b,h,i] = sum[j](exp(t[b,h,i,j] - w[b,h,i]));"
     "O[b,h,i,e] = sum[j](f16(exp(t[b,h,i,j] - w[b,h,i]) / z[b,h,i]) * V[b,h,j,e]);",
     "what divides it is no sum of the exponentials of its row"},
    {"a sink that a row's values decide", "O: f16[2,8,20,12]",
     SCORE MAX "w[b,h,i] = max(m[b,h,i], m[b,h,i] * 0.5);"
     "O[b,h,i,e] = sum[j](f16(exp(t[b,h,i,j] - w[b,h,i])) * V[b,h,j,e]);",
     "its exponents are not relative to a maximum of the row"},
    {"another divisor", "O: f16[2,8,20,12]",
     SCORE MAX "O[b,h,i,e] = sum[j](f16(exp(t[b,h,i,j] - m[b,h,i]) / m[b,h,i]) * V[b,h,j,e]);",
     "what divides it is no sum of the exponentials of its row"},
    {"divisor that something may make small", "O: f16[2,8,20,12]",
     SCORE MAX Z "y[b,h,i] = z[b,h,i] + x;"
     "O[b,h,i,e] = sum[j](f16(exp(t[b,h,i,j] - m[b,h,i]) / y[b,h,i]) * V[b,h,j,e]);",
     "what divides it is no sum of the exponentials of its row"},
    {"division in a choice", "O: f16[2,8,20,12]",
     SCORE MAX Z "p[b,h,i,j] = j < n[b] ? exp(t[b,h,i,j] - m[b,h,i]) / z[b,h,i] : 0 @type(f16);"
     "O[b,h,i,e] = sum[j](p[b,h,i,j] * V[b,h,j,e]);", "a divisor is within a choice"},
    {"8 bits", "O: f16[2,8,20,12]",
     SCORE MAX Z "p[b,h,i,j] = exp(t[b,h,i,j] - m[b,h,i]) / z[b,h,i] @type(f8e4m3);"
     "O[b,h,i,e] = sum[j](p[b,h,i,j] * V[b,h,j,e]);",
     "it depends on values of the row by more than exponentials and divisors"},
    {"as written", "O: f16[2,8,20,12]",
     SCORE MAX Z "o[b,h,i,e] = sum[j](" P " * V[b,h,j,e]) @written;"
     "O[b,h,i,e] = o[b,h,i,e] / z[b,h,i];", "it is to be made as it is written"},
    {"exponents of f64", "O: f16[2,8,20,12]",
     "d[b,h,i,j] = sum[c](f64(Q[b,h,i,c]) * K[b,h,j,c]); m[b,h,i] = max[j](d[b,h,i,j]);"
     "O[b,h,i,e] = sum[j](f16(exp(d[b,h,i,j] - m[b,h,i])) * V[b,h,j,e]);",
     "its exponentials are of f64, and a turn makes those of f32"},
    {"another reduction of the row", "(O: f16[2,8,20,12], R: f32[2,8,20])",
     SCORE MAX Z OUT "R[b,h,i] = min[j](t[b,h,i,j]);",
     "its rows have reductions that do not follow their maximum"},
    {"deviation of the row", "(O: f16[2,8,20,12], R: f32[2,8,20])",
     SCORE MAX Z OUT "u[b,h,i] = sum[j](t[b,h,i,j]) / 24;"
     "R[b,h,i] = sum[j]((t[b,h,i,j] - u[b,h,i]) * (t[b,h,i,j] - u[b,h,i]));",
     "its rows have reductions that do not follow their maximum"},
    {"a row's value behind products back to back", "O: f16[2,8,20,12]",
     SCORE MAX "u[b,h,i,j] = max(t[b,h,i,j], 0) @type(f16);"
     "O[b,h,i,e] = sum[j](u[b,h,i,j] * V[b,h,j,e]) + m[b,h,i];",
     "its rows have reductions that do not follow their maximum"},
    {"stored probabilities", "(O: f16[2,8,20,12], R: f16[2,8,20,24])",
     SCORE MAX Z "R[b,h,i,j] = exp(t[b,h,i,j] - m[b,h,i]) / z[b,h,i];" OUT,
     "what it reads of its rows takes several walks over them"},
    {"stored scores", "(O: f16[2,8,20,12], R: f32[2,8,20,24])",
     SCORE MAX Z OUT "R[b,h,i,j] = t[b,h,i,j];", "the rows are stored"},
    {"a row's values besides", "O: f16[2,8,20,12]",
     SCORE MAX Z "O[b,h,i,e] = sum[j](f16(exp(t[b,h,i,j] - m[b,h,i]) + m[b,h,i]) * V[b,h,j,e]);",
     "it depends on values of the row by more than exponentials and divisors"},
    {"one batch of values", "O: f16[2,8,20,12]",
     SCORE MAX Z "O[b,h,i,e] = sum[j](" P " * V[0,0,j,e]) / z[b,h,i];",
     "the two products have other batches"},
    {"maxima of columns", "O: f16[2,8,20,12]",
     SCORE "w[b,h,j] = max[i](t[b,h,i,j]);"
     "O[b,h,i,e] = sum[j](f16(exp(t[b,h,i,j] - w[b,h,j])) * V[b,h,j,e]);",
     "what it needs besides depends on the first product"},
    {"a position beside", "(O: f16[2,8,20,12], R: i32[2,8,20])",
     SCORE MAX Z OUT "R[b,h,i] = argmax[j](t[b,h,i,j]);",
     "its rows have values that lanes cannot pass on"},
};

static const char *refusal(const Parted *p) {
    for (int k = 0; k < p->te->n_stmt; k++) {
        if (p->te->stmt[k].unchained) return p->te->stmt[k].unchained;
    }
    return "none is said";
}

static void check_case(Arena *a, size_t i) {
    const char *text = arena_printf(a, "op f(" DATA ") -> %s { %s }", cases[i].result,
                                    cases[i].body);
    Parted p = part(a, text, JOINED);
    const KernelGroup *g = chain_of(&p);
    if (!g != (cases[i].why != NULL))
        fail_msg("%s: %s", cases[i].what, g ? "joined" : refusal(&p));
    if (cases[i].why) {
        if (strcmp(refusal(&p), cases[i].why) != 0) fail_msg("%s: %s", cases[i].what, refusal(&p));
        return;
    }
    Contraction c;
    const char *why;
    assert_true(access_chain_contraction(p.te, g, &c, &why));
    assert_true(c.product);
    assert_string_equal(p.te->tensor[c.operand[1].read->v.ref].name, "V");
    assert_int_equal(c.axis[AX_K].extent, 24);
    assert_int_equal(c.axis[AX_N].extent, 12);
    assert_int_equal(c.axis[AX_M].extent, 20);
    assert_int_equal(c.axis[AX_B].extent, 16);
    Parted apart = part(a, text, USUAL);
    assert_null(chain_of(&apart));
}

static void chains_are_joined_or_not_with_the_reason(void **state) {
    Arena *a = arena_create(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(a, i);
    arena_destroy(a);
}

/* ---- columns ---- */

static void print_bounds(const Parted *p, const ColumnBound *b, int n, Buf *out) {
    for (int i = 0; i < n; i++) {
        te_print_expr(p->te, &p->te->stmt[b[i].stmt], b[i].e, out);
        buf_printf(out, "%+d ", (int)b[i].add);
    }
}

/* `from... | before... |`, and `?` where columns within are tested.  */
static void check_bounds(const char *mask, const char *want) {
    Arena *a = arena_create(NULL);
    const char *text = arena_printf(a, "op f(" DATA ") -> O: f16[2,8,20,12] { "
        "t[b,h,i,j] = %s; " MAX Z OUT " }", mask);
    Parted p = part(a, text, JOINED);
    const KernelGroup *g = chain_of(&p);
    Buf out = buf_new(a);
    if (!g) fail_msg("%s: %s", mask, refusal(&p));
    const ColumnBounds *b = &g->chain->bounds;
    print_bounds(&p, b->from, b->n_from, &out);
    buf_puts(&out, "| ");
    print_bounds(&p, b->to, b->n_to, &out);
    buf_puts(&out, b->tested ? "|" : "| ?");
    assert_string_equal(buf_str(&out), want);
    arena_destroy(a);
}

#define S "sum[d](Q[b,h,i,d] * K[b,h,j,d]) * 0.25"

static void masks_bound_the_columns(void **state) {
    (void)state;
    check_bounds(S, "| |");
    check_bounds("j <= i ? " S " : -inf", "| i+1 |");
    check_bounds("j > i ? -inf : " S, "| i+1 |");
    check_bounds("i >= j && j > i - 4 ? " S " : -inf", "i-3 | i+1 |");
    check_bounds("j < n[b] ? (j <= i + 4 ? " S " : -inf) : -inf", "| i64(n[b])+0 i+5 |");
    check_bounds("!(j < i || j >= n[b]) ? " S " : -inf", "i+0 | i64(n[b])+0 |");
    check_bounds("(j <= i ? " S " : -inf) * 2.0", "| i+1 |");
    check_bounds("j <= i && M[b,h,i,j] > 0 ? " S " : -inf", "| i+1 | ?");
    check_bounds("j % 3 == 0 ? " S " : -inf", "| | ?");
    check_bounds("j <= i || j < n[b] ? " S " : -inf", "| | ?");
    /* a number that stands for -inf counts; NaN + -inf is NaN; a negative scale makes it inf */
    check_bounds("j <= i ? " S " : -1e9", "| |");
    check_bounds(S " + (j <= i ? 0 : -inf)", "| |");
    check_bounds("(j <= i ? " S " : -inf) * -1.0", "| |");
    check_bounds("(j <= i ? " S " : -inf) * x", "| |");
}

/* ---- values ---- */

#define TINY "op f(S: f32[1,3], V: f32[3], n: i32[1]) -> O: f32[1] { " \
    "t[i,j] = j < n[i] ? S[i,j] : -inf; m[i] = max[j](t[i,j]); " \
    "z[i] = sum[j](exp(t[i,j] - m[i])); O[i] = sum[j](exp(t[i,j] - m[i]) / z[i] * V[j])"

static TeValue tiny(const char *end, const float *scores, const float *values, int32_t n) {
    Arena *a = arena_create(NULL);
    const void *in[] = {scores, values, &n};
    TeValue v = fixture_run(a, arena_printf(a, TINY "%s; }", end), in)[0];
    arena_destroy(a);
    return v;
}

static void what_is_masked_may_be_left_out(void **state) {
    static const float one[] = {1, 1, NAN}, stale[] = {2, 4, NAN}, good[] = {2, 4, 8};
    (void)state;
    assert_true(tiny("", one, stale, 2).undecided);
    assert_false(tiny(" @written", one, stale, 2).undecided);
    assert_true(isnan(tiny(" @written", one, stale, 2).v));
    assert_false(tiny("", one, good, 2).undecided);
    assert_true(fabs(tiny("", one, good, 2).v - 3) < 1e-6);
    /* a row that has nothing is NaN, whatever the values are */
    TeValue nothing = tiny("", one, good, 0);
    assert_true(isnan(nothing.v) && !nothing.undecided);
    /* NaN that no condition hides is one */
    TeValue seen = tiny("", one, stale, 3);
    assert_true(isnan(seen.v) && !seen.undecided);
}

static void as_written_is_narrower(void **state) {
    static const float scores[] = {0.5F, 1.25F, -0.75F}, values[] = {2, 4, 8};
    (void)state;
    TeValue free = tiny("", scores, values, 3), written = tiny(" @written", scores, values, 3);
    assert_true(free.v == written.v && free.bound > written.bound && written.bound > 0);
}

/* The sum before it is divided may leave the range of numbers.  */
static void undivided_sums_may_be_infinite(void **state) {
    static const float scores[] = {1, 1, 1}, values[] = {3e38F, 3e38F, 3e38F};
    (void)state;
    assert_true(tiny("", scores, values, 3).undecided);
    assert_false(tiny(" @written", scores, values, 3).undecided);
}

static void roundings_to_16_bits_may_move(void **state) {
    Arena *a = arena_create(NULL);
    static const float scores[] = {0.5F, 1.25F, -0.75F}, values[] = {1, 0, 0};
    static const int32_t n = 3;
    const void *in[] = {scores, values, &n};
    static const char *const text = "op f(S: f32[1,3], V: f32[3], n: i32[1]) -> O: f32[1] { "
        "m[i] = max[j](S[i,j]); z[i] = sum[j](exp(S[i,j] - m[i])); "
        "O[i] = sum[j](%s(exp(S[i,j] - m[i]) / z[i]) * V[j])%s; }";
    static const char *const named = "op f(S: f32[1,3], V: f32[3], n: i32[1]) -> O: f32[1] { "
        "m[i] = max[j](S[i,j]); z[i] = sum[j](exp(S[i,j] - m[i])); "
        "e[i,j] = exp(S[i,j] - m[i]); p[i,j] = bf16(e[i,j] / z[i]); "
        "O[i] = %s(p[i,j] * V[j]); }";
    (void)state;
    TeValue bf16 = fixture_run(a, arena_printf(a, text, "bf16", ""), in)[0];
    TeValue kept = fixture_run(a, arena_printf(a, text, "bf16", " @written"), in)[0];
    TeValue summed = fixture_run(a, arena_printf(a, named, "sum[j]"), in)[0];
    TeValue chosen = fixture_run(a, arena_printf(a, named, "max[j]"), in)[0];
    TeValue f8 = fixture_run(a, arena_printf(a, text, "f8e5m2", ""), in)[0];
    double z = exp(-0.75) + 1 + exp(-2), p = exp(-0.75) / z;
    assert_true(bf16.bound >= 0x1p-8 * p && bf16.bound < 0x1p-6 * p);
    assert_true(summed.bound >= 0x1p-8 * p && summed.bound < 0x1p-6 * p);
    assert_true(chosen.bound < 0x1p-18 * p);
    assert_true(kept.bound < 0x1p-18 * p && f8.bound < 0x1p-14 * p);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_spellings_of_attention_are_one),
        cmocka_unit_test(chains_are_joined_or_not_with_the_reason),
        cmocka_unit_test(masks_bound_the_columns),
        cmocka_unit_test(what_is_masked_may_be_left_out),
        cmocka_unit_test(as_written_is_narrower),
        cmocka_unit_test(undivided_sums_may_be_infinite),
        cmocka_unit_test(roundings_to_16_bits_may_move)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
