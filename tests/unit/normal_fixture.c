#include "normal_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int count_reductions(const TeExpr *e) {
    int n = e->kind == TE_REDUCE;
    for (int i = 0; i < e->n_args; i++) n += count_reductions(e->args[i]);
    return n + (e->other ? count_reductions(e->other) : 0);
}

void normal_check_form(Arena *a, const Te *normal, const char *source) {
    const char *broken = te_check(normal);
    if (broken) fail_msg("%s\n%s", broken, source);
    for (int i = 0; i < normal->n_stmt; i++) {
        const TeStmt *s = &normal->stmt[i];
        if (count_reductions(s->rhs) > (s->rhs->kind == TE_REDUCE))
            fail_msg("a reduction inside an expression\n%s", source);
        for (int k = 0; k < s->n_index; k++) assert_int_equal(s->index[k].lo.value, 0);
    }
    Buf first = buf_new(a), second = buf_new(a);
    for (int t = 0; t < normal->n_tensor; t++)
        if (normal->tensor[t].n_clip > 0) return;         /* the language has no word for that */
    te_print(normal, &first);
    te_print(fixture_te(a, buf_str(&first)), &second);
    assert_string_equal(buf_str(&first), buf_str(&second));
}

static bool same_value(TeDtype t, const TeValue *x, const TeValue *y) {
    if (x->undecided || y->undecided) return true;
    if (te_dtype_class(t) != TE_CLASS_REAL) return x->i == y->i;
    if (isnan(x->v) || isnan(y->v)) return isnan(x->v) && isnan(y->v);
    return x->v == y->v || fabs(x->v - y->v) <= x->bound + y->bound;
}

/* Where element i of an output of the normal form is in the op's own; -1: nowhere.  */
static int64_t own_place(const TeTensor *t, int64_t i) {
    int64_t at[TE_MAX_RANK], rest = i;
    if (t->n_clip == 0) return i;
    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = rest % t->shape[d].value;
        rest /= t->shape[d].value;
    }
    return te_tensor_has(t, at) ? te_tensor_offset(t, at) : -1;
}

static void same_values(Arena *a, const Te *te, const Te *normal, TeFill kind, uint64_t seed) {
    TeData *in = fixture_inputs(a, te, kind, seed);
    for (int t = te->n_in; t < te->n_in + te->n_out; t++) {
        TeValue *x = fixture_values(a, te, in, t), *y = fixture_values(a, normal, in, t);
        int64_t n = te_tensor_count(&normal->tensor[t]), seen = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t k = own_place(&normal->tensor[t], i);
            seen += k >= 0;
            if (k < 0 || same_value(te->tensor[t].dtype, &x[k], &y[i])) continue;
            Buf b = buf_new(a);
            te_print(normal, &b);
            fail_msg("%s[%d]: %.17g %d, normal %.17g %d\n%s", te->tensor[t].name, (int)k, x[k].v,
                     (int)x[k].i, y[i].v, (int)y[i].i, buf_str(&b));
        }
        assert_int_equal(seen, te_tensor_count(&te->tensor[t]));
    }
}

void normal_check_values(Arena *a, const Te *te, const Te *normal) {
    same_values(a, te, normal, TE_FILL_INTEGERS, 1);
    same_values(a, te, normal, TE_FILL_REALS, 2);
}

const Te *normal_check(Arena *a, const char *text, unsigned taken) {
    Te *te = fixture_te(a, text);
    te->decisions = decide(a, taken);
    const Te *normal = fixture_normal(a, te);
    normal_check_form(a, normal, text);
    if (!te->runtime) normal_check_values(a, te, normal);
    return normal;
}

void normal_check_text(unsigned taken, const char *head, const char *body, const char *want) {
    Arena *a = arena_create(NULL);
    const Te *normal = normal_check(a, arena_printf(a, "op f(%s { %s }", head, body), taken);
    Buf b = buf_new(a);
    te_print(normal, &b);
    const char *got = strstr(buf_str(&b), "{\n");
    assert_non_null(got);
    assert_string_equal(got + 2, arena_printf(a, "%s}\n", want));
    arena_destroy(a);
}
