/* links: te */
#include "judge.h"

#include <string.h>

int64_t judge_rows(const TeTensor *t, int64_t *last) {
    *last = t->rank ? t->shape[t->rank - 1].value : 1;
    int64_t count = te_tensor_count(t);
    return count > 0 ? count / *last : 0;
}

void judge_row_at(const TeTensor *t, int64_t row, int64_t at[TE_MAX_RANK]) {
    memset(at, 0, TE_MAX_RANK * sizeof *at);
    for (int d = t->rank - 2; d >= 0; d--) {
        at[d] = row % t->shape[d].value;
        row /= t->shape[d].value;
    }
}

const char *judge_row(Arena *a, const Te *te, int tensor, const int64_t *at, const TeValue *want,
                      int64_t n, const char *got, bool exact) {
    const TeTensor *x = &te->tensor[tensor];
    int64_t p[TE_MAX_RANK];
    memcpy(p, at, sizeof p);
    for (int64_t i = 0; i < n; i++) {
        if (x->rank > 0) p[x->rank - 1] = i;
        const char *e = got + te_tensor_offset(x, p) * te_dtype_bytes(x->dtype);
        if (te_judge(x->dtype, e, &want[i], exact) != TE_WRONG) continue;
        TeValue v = te_load(x->dtype, e);
        Buf where = buf_new(a);
        for (int d = 0; d < x->rank; d++) buf_printf(&where, " %lld", (long long)p[d]);
        return arena_printf(a, "output %d at%s: got %.9g (%lld), expected %.9g (%lld), bound %g",
                            tensor - te->n_in, buf_str(&where), v.v, (long long)v.i, want[i].v,
                            (long long)want[i].i, want[i].bound);
    }
    return NULL;
}

const char *judge_outputs(Arena *a, Diag *d, const Te *te, const TeData *in, const TeData *got,
                          bool exact) {
    TeEval *e;
    const char *wrong = NULL;
    if (te_eval_create(a, d, te, in, &e)) return "evaluate: it cannot be";
    for (int i = 0; i < te->n_out && !wrong; i++) {
        const TeTensor *t = &te->tensor[te->n_in + i];
        int64_t last, rows = judge_rows(t, &last), at[TE_MAX_RANK];
        TeValue *want = ARENA_ARRAY(a, TeValue, last + 1);
        for (int64_t row = 0; row < rows && !wrong; row++) {
            judge_row_at(t, row, at);
            if (te_eval_row(e, te->n_in + i, at, last, want)) return "evaluate: it cannot be";
            wrong = judge_row(a, te, te->n_in + i, at, want, last, got[i].data, exact);
        }
    }
    return wrong;
}
