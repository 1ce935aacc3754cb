/* links: te */
#include "te_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void fail_with(Arena *a, const Diag *d, const char *text) {
    Buf b = buf_new(a);
    for (int i = 0; i < d->count; i++)
        diag_render(&d->messages[i], "test", false, &b);
    fail_msg("%s\n%s", buf_str(&b), text);
}

Te *fixture_te(Arena *a, const char *text) {
    Diag d = diag_new(a);
    Te *te = NULL;
    if (te_parse(a, &d, diag_text("test.te", text), NULL, NULL, &te) != ST_OK)
        fail_with(a, &d, text);
    return te;
}

Te *fixture_normal(Arena *a, const Te *te) {
    Diag d = diag_new(a);
    Te *out = NULL;
    if (te_normalize(a, &d, te, &out) != ST_OK)
        fail_with(a, &d, te->text);
    return out;
}

TeData *fixture_inputs(Arena *a, const Te *te, TeFill kind, uint64_t seed) {
    TeData *in = ARENA_ARRAY(a, TeData, te->n_in + 1);
    for (int i = 0; i < te->n_in; i++) {
        in[i].bytes = te_tensor_bytes(&te->tensor[i]);
        in[i].data = arena_alloc(a, in[i].bytes + 1);
        te_fill(te, i, kind, seed, in[i]);
    }
    return in;
}

void fixture_point(const TeTensor *t, int64_t flat, int64_t *at) {
    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = flat % t->shape[d].value;
        flat /= t->shape[d].value;
    }
}

TeValue *fixture_values(Arena *a, const Te *te, const TeData *in, int t) {
    const TeTensor *x = &te->tensor[t];
    int64_t count = te_tensor_count(x), row = x->rank ? x->shape[x->rank - 1].value : 1;
    TeValue *v = ARENA_ARRAY(a, TeValue, count + 1);
    Diag d = diag_new(a);
    TeEval *ev = NULL;
    assert_int_equal(te_eval_create(a, &d, te, in, &ev), ST_OK);
    for (int64_t i = 0; i < count; i += row) {
        int64_t at[TE_MAX_RANK] = {0};
        fixture_point(x, i, at);
        assert_int_equal(te_eval_row(ev, t, at, row, v + i), ST_OK);
    }
    return v;
}

TeValue *fixture_run(Arena *a, const char *text, const void *const *in) {
    Te *te = fixture_te(a, text);
    TeData *data = ARENA_ARRAY(a, TeData, te->n_in + 1);
    for (int i = 0; i < te->n_in; i++) {
        data[i].bytes = te_tensor_bytes(&te->tensor[i]);
        data[i].data = arena_alloc(a, data[i].bytes + 1);
        memcpy(data[i].data, in[i], data[i].bytes);
    }
    return fixture_values(a, te, data, te->n_in);
}
