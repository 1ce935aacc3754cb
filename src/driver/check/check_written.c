/* The op as written, beside its normal form, in which kernels compute it.
 *
 * A kernel's results are what the op as written makes of the inputs and of what the kernel was
 * given.  So tensors that both forms have, which are those of one name and shape, have one value;
 * what the normal form has alone is made as that says, and the op as written does without.  Values
 * that were drawn stand for what they are made of: both forms must depend on the same of them.  */
#include "driver/check/check_impl.h"
#include "te/access/span.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_same_tensor(const TeTensor *x, const TeTensor *y) {
    if (strcmp(x->name, y->name) != 0 || x->dtype != y->dtype || x->rank != y->rank) return false;
    for (int d = 0; d < x->rank; d++)
        if (x->shape[d].value != y->shape[d].value) return false;
    return !x->tested && !y->tested;
}

static const char *text_of(Arena *a, const Te *te) {
    Buf b = buf_new(a);
    te_print(te, &b);
    return buf_str(&b);
}

void check_find_written(Check *c) {
    const Te *te = c->te, *normal = c->normal;
    c->as_written = ARENA_ARRAY(c->a, int, normal->n_tensor + 1);
    for (int t = 0; t < normal->n_tensor; t++) {
        c->as_written[t] = t < te->n_in + te->n_out ? t : -1;
        for (int w = te->n_in + te->n_out; w < te->n_tensor && c->as_written[t] < 0; w++)
            if (is_same_tensor(&te->tensor[w], &normal->tensor[t])) c->as_written[t] = w;
    }
    c->rewritten = strcmp(text_of(c->a, te), text_of(c->a, normal)) != 0;
}

void check_bind_written(Check *c) {
    const Lazy **data = ARENA_ARRAY(c->a, const Lazy *, c->te->n_tensor + 1);
    c->loose = false;
    for (int t = 0; t < c->normal->n_tensor; t++) {
        if (c->data[t] && c->as_written[t] >= 0) data[c->as_written[t]] = c->data[t];
        else if (c->data[t]) c->loose = true;
    }
    c->written = (Reference){.te = c->te, .data = c->ref.data, .lazy = data, .exact = c->ref.exact,
                             .threads = c->ref.threads, .watch = c->ref.watch};
}

/* What an element depends on that was drawn: of the normal form, and of the op as written.  */
static bool depends_alike(const Check *c, int tensor) {
    const Te *te = c->te, *normal = c->normal;
    size_t n = (size_t)normal->n_tensor + 1, m = (size_t)te->n_tensor + 1;
    bool *stop = ARENA_ARRAY(c->a, bool, n), *stop_written = ARENA_ARRAY(c->a, bool, m);
    TeSpan *span = ARENA_ARRAY(c->a, TeSpan, n), *span_written = ARENA_ARRAY(c->a, TeSpan, m);
    for (int t = normal->n_in; t < normal->n_tensor; t++) {
        stop[t] = c->data[t] && c->drawn[t];
        if (stop[t] && c->as_written[t] >= 0) stop_written[c->as_written[t]] = true;
    }
    te_span_one(&normal->tensor[tensor], &span[tensor]);
    te_spans(normal, stop, span);
    te_span_one(&te->tensor[c->as_written[tensor]], &span_written[c->as_written[tensor]]);
    te_spans(te, stop_written, span_written);
    for (int t = normal->n_in; t < normal->n_tensor; t++) {
        if (!stop[t]) continue;
        int w = c->as_written[t];
        if (w < 0 ? span[t].read : span[t].read != span_written[w].read) return false;
    }
    return true;
}

/* Terms of as many places along each dimension; NULL: of one element.  */
static double work_of(const Check *c, int tensor, const double *places) {
    const Te *te = c->te;
    size_t n = (size_t)te->n_tensor + 1;
    bool *stop = ARENA_ARRAY(c->a, bool, n);
    TeSpan *span = ARENA_ARRAY(c->a, TeSpan, n);
    for (int t = te->n_in; t < te->n_tensor; t++) stop[t] = c->written.lazy[t] && t != tensor;
    if (places) te_span_take(&te->tensor[tensor], places, &span[tensor]);
    else te_span_one(&te->tensor[tensor], &span[tensor]);
    te_spans(te, stop, span);
    return te_span_work(te, stop, span);
}

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* How many places elements have along each dimension.  */
static void count_places(Arena *a, const CompareRow *row, int n, double *places) {
    int64_t *at = ARENA_ARRAY(a, int64_t, n);
    for (int d = 0; d < TE_MAX_RANK; d++) {
        for (int i = 0; i < n; i++) at[i] = row[i].at[d];
        qsort(at, (size_t)n, sizeof *at, by_value);
        places[d] = 1;
        for (int i = 1; i < n; i++) places[d] += at[i] != at[i - 1];
    }
}

/* Where both forms have different dimensions, an element lies at one place in memory.  */
static void to_written(const Check *c, int tensor, CompareRow *row) {
    const TeTensor *from = &c->normal->tensor[tensor], *to = &c->te->tensor[c->as_written[tensor]];
    int64_t offset = te_tensor_offset(from, row->at);
    memset(row->at, 0, sizeof row->at);
    te_tensor_at(to, offset, row->at);
}

/* Brings `first` of n rows, evenly spread, before the others.  */
static void bring_forward(CompareRow *row, int first, int n) {
    for (int i = 0; i < first; i++) {
        int from = (int)((int64_t)i * n / first);
        CompareRow x = row[i];
        row[i] = row[from];
        row[from] = x;
    }
}

int check_rows_written(Check *c, int tensor, CompareRow *row, int n, double share) {
    int w = c->as_written[tensor], fit = 0;
    double places[TE_MAX_RANK];
    if (w < 0 || n == 0) return 0;
    ArenaMark m = arena_mark(c->a);
    if (depends_alike(c, tensor)) {
        CompareRow *own = ARENA_ARRAY(c->a, CompareRow, n);
        memcpy(own, row, (size_t)n * sizeof *own);
        for (int i = 0; i < n; i++) to_written(c, tensor, &own[i]);
        count_places(c->a, own, n, places);
        bool all = work_of(c, w, places) <= share;
        fit = all ? n : (int)fmin(n, share / fmax(work_of(c, w, NULL), 1));
    }
    arena_reset(c->a, m);
    bring_forward(row, fit, n);
    for (int i = 0; i < fit; i++) to_written(c, tensor, &row[i]);
    return fit;
}
