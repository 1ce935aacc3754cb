/* links: rtile */
/* Accesses to what is gathered: as wide as listed, and at every point side by side and aligned, by
 * the subscripts' values.  */
#include "base/diag.h"
#include "base/hash.h"
#include "rtile/rtile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int64_t floor_quotient(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q * b > a ? q - 1 : q;
}

/* What is read is any number of its place.  */
static int64_t value(const Te *te, const TeExpr *e, const int64_t *at) {
    int64_t x = e->n_args > 0 ? value(te, e->args[0], at) : 0;
    int64_t y = e->n_args > 1 ? value(te, e->args[1], at) : 0;
    switch (e->kind) {
    case TE_INT: return e->v.i;
    case TE_SIZE: return te->size[e->v.ref].extent.value;
    case TE_INDEX: return at[e->v.ref];
    case TE_CAST: return x;
    case TE_ADD: return x + y;
    case TE_SUB: return x - y;
    case TE_MUL: return x * y;
    case TE_DIV: return floor_quotient(x, y);
    case TE_MOD: return x - y * floor_quotient(x, y);
    case TE_READ: return (int64_t)(hash64(&x, sizeof x, (uint64_t)y) % 97);
    case TE_CALL: return (e->v.fn == TE_FN_MIN) == (x < y) ? x : y;
    default: fail_msg("kind %d", (int)e->kind); return 0;
    }
}

static int64_t place(const Te *te, const TeExpr *read, const int64_t *at) {
    int64_t sum = 0;
    for (int d = 0; d < read->n_args; d++)
        sum += te->tensor[read->v.ref].stride[d].value * value(te, read->args[d], at);
    return sum;
}

/* At all points of the statement's two indices.  */
static void assert_side_by_side(const Te *te, const TeStmt *s, const TeExpr *read, int width) {
    int64_t at[TE_MAX_INDICES] = {0};
    for (at[0] = 0; at[0] < s->index[0].hi.value; at[0]++) {
        for (int64_t x = 0; x < s->index[1].hi.value; x += width) {
            at[1] = x;
            int64_t first = place(te, read, at);
            assert_int_equal(first % width, 0);
            for (int v = 1; v < width; v++) {
                at[1] = x + v;
                assert_int_equal(place(te, read, at), first + v);
            }
        }
    }
}

static const struct {
    const char *read;
    int width;                /* of eight f16 */
    int64_t run;
} rows[] = {
    {"E[min(max(I[t], 0), 99), d]", 8, 64},
    {"E[I[t], d] else 0", 8, 64},
    {"E[I[t], 63 - d] else 0", 1, 1},
    {"E[I[t], d - 1] else 0", 1, 64},
    {"E[I[d], t] else 0", 1, 1},
    {"E[I[t] + d % 2, d] else 0", 1, 1},
    {"R[t, (d + 8) % 64]", 8, 32},
    {"R[t, (d + 12) % 64]", 4, 32},
    {"R[t, (d + 5) % 64]", 1, 32},
    {"E[t % 3, (d + 16) % 64]", 8, 32},
    {"O[I[t], d] else 0", 1, 64},
    {"F[I[t], t % 16, d] else 0", 8, 64},
    {"F[I[t], d % 16, d] else 0", 1, 1},
    {"S[I[t], d] else 0", 4, 64},
};

static void widths_are_those_of_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena *a = arena_create(NULL);
        Diag d = diag_new(a);
        Te *te;
        const char *text = arena_printf(
            a, "op f(E: f16[100,64], R: f16[64,64], O: f16[100,65], F: f16[10,16,64],\n"
               "     S: f16[100,64] strides(68,1), I: i32[64]) -> Y: f16[64,64] { Y[t,d] = %s; }",
            rows[i].read);
        if (te_parse(a, &d, diag_text("t", text), NULL, NULL, &te))
            fail_msg("%s: %s", text, diag_first_error(&d)->message);
        const TeStmt *s = &te->stmt[0];
        Access x;
        access_read(te, s, s->rhs, &x);
        assert_false(x.affine);
        int width = rtile_gathered_width(te, s, &x, 1, 8, 16);
        if (width != rows[i].width || rtile_gathered_run(te, s, s->rhs, 1) != rows[i].run)
            fail_msg("%s: %d in rows of %lld", rows[i].read, width,
                     (long long)rtile_gathered_run(te, s, s->rhs, 1));
        assert_side_by_side(te, s, s->rhs, width);
        assert_int_equal(rtile_gathered_width(te, s, &x, 1, 8, 2), 1);
        arena_destroy(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(widths_are_those_of_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
