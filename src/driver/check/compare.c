#include "driver/check/compare.h"
#include "base/pool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORKERS = 16, STRIP = 256 };

typedef struct {
    Arena *arena;
    Diag diag;
    TeEval *eval;
    CompareResult result;
    Status status;
} Worker;

typedef struct {
    const Reference *ref;
    const CompareRows *rows;
    Worker worker[MAX_WORKERS];
} Job;

typedef struct {
    Job *job;
    Worker *worker;
    int64_t row;
    bool ok;
} Step;

static double distance(const TeTensor *t, const TeValue *got, const TeValue *want) {
    if (te_dtype_class(t->dtype) != TE_CLASS_REAL) {
        double far = fabs((double)got->i - (double)want->i);
        return far / (want->bound + 1);
    }
    double far = fabs(got->v - want->v);
    if (isnan(far)) return INFINITY;
    return far / (want->bound + fabs(want->v) * 1e-7 + 1e-300);
}

/* The larger excess, then the lower position: the same element however the work was dealt out.  */
static bool worse(const CompareResult *r, double excess, const int64_t *at) {
    if (!r->has_worst || excess != r->excess) return !r->has_worst || excess > r->excess;
    for (int i = 0; i < TE_MAX_RANK; i++)
        if (at[i] != r->worst[i]) return at[i] < r->worst[i];
    return false;
}

static void judge(const Job *job, Worker *w, const int64_t *at, const TeValue *want) {
    const Stored *stored = job->rows->stored;
    const TeTensor *t = &job->ref->te->tensor[stored->tensor];
    size_t size = (size_t)te_dtype_bytes(t->dtype), offset = (size_t)te_tensor_offset(t, at) * size;
    const void *p = (const unsigned char *)stored->data + offset;
    CompareResult *r = &w->result;
    r->compared++;
    bool written = !stored->run || run_was_written(stored->run, stored->at + offset, size);
    TeVerdict verdict = written ? te_judge(t->dtype, p, want, job->ref->exact) : TE_WRONG;
    if (verdict == TE_UNDECIDED) r->undecided++;
    if (verdict != TE_WRONG) return;
    r->wrong++;
    TeValue got = te_load(t->dtype, p);
    double excess = written ? distance(t, &got, want) : INFINITY;
    if (!worse(r, excess, at)) return;
    r->has_worst = true;
    r->unwritten = !written;
    r->excess = excess;
    r->got = got;
    r->want = *want;
    memcpy(r->worst, at, sizeof r->worst);
}

static void compare_row(void *user) {
    Step *s = user;
    Job *job = s->job;
    const CompareRow *row = &job->rows->row[s->row];
    int tensor = job->rows->stored->tensor, last = job->ref->te->tensor[tensor].rank - 1;
    int64_t at[TE_MAX_RANK];
    memcpy(at, row->at, sizeof at);
    for (int64_t done = 0; done < row->count; done += STRIP) {
        TeValue want[STRIP];
        int64_t n = row->count - done < STRIP ? row->count - done : STRIP;
        s->worker->status = te_eval_row(s->worker->eval, tensor, at, n, want);
        if (s->worker->status) return;
        for (int64_t i = 0; i < n; i++) {
            judge(job, s->worker, at, &want[i]);
            if (last >= 0) at[last]++;
        }
    }
    s->ok = true;
}

static void open_eval(void *user) {
    Step *s = user;
    Worker *w = s->worker;
    const Reference *ref = s->job->ref;
    w->diag = diag_new(w->arena);
    w->status = te_eval_create(w->arena, &w->diag, ref->te, ref->data, &w->eval);
    if (!w->status) te_eval_watch(w->eval, ref->watch);
    for (int t = 0; !w->status && ref->lazy && t < ref->te->n_tensor; t++)
        if (ref->lazy[t]) te_eval_bind(w->eval, t, ref->lazy[t]);
    s->ok = w->status == ST_OK;
}

static bool work(void *user, int64_t i, int worker) {
    Job *job = user;
    Worker *w = &job->worker[worker];
    Step s = {.job = job, .worker = w, .row = i};
    if (!w->eval && (!arena_try(w->arena, open_eval, &s) || !s.ok)) {
        if (!w->status) w->status = ST_NOMEM;
        return false;
    }
    s.ok = false;
    if (!arena_try(w->arena, compare_row, &s)) w->status = ST_NOMEM;
    return s.ok;
}

static void close_arena(void *p) { arena_destroy(p); }

static void add(CompareResult *to, const CompareResult *r) {
    to->compared += r->compared;
    to->undecided += r->undecided;
    to->wrong += r->wrong;
    if (!r->has_worst || !worse(to, r->excess, r->worst)) return;
    to->has_worst = true;
    to->unwritten = r->unwritten;
    to->excess = r->excess;
    to->got = r->got;
    to->want = r->want;
    memcpy(to->worst, r->worst, sizeof to->worst);
}

Status compare_rows(Arena *a, Diag *d, const Reference *ref, const CompareRows *rows,
                    CompareResult *out) {
    Job *job = ARENA_NEW(a, Job);
    *job = (Job){.ref = ref, .rows = rows};
    int threads = pool_threads(ref->threads);
    if (threads > MAX_WORKERS) threads = MAX_WORKERS;
    for (int i = 0; i < threads; i++) {
        job->worker[i].arena = arena_create(NULL);
        if (!job->worker[i].arena) arena_fail(a);
        arena_defer(a, close_arena, job->worker[i].arena);
    }
    pool_for(threads, rows->n, work, job);
    Status s = ST_OK;
    for (int i = 0; i < threads; i++) {
        add(out, &job->worker[i].result);
        if (!s && job->worker[i].status) s = job->worker[i].status;
    }
    if (s == ST_NOMEM) arena_fail(a);
    if (s == ST_CANCELLED)
        return diag_error(d, s, NULL, DIAG_NOWHERE, "the reference evaluator was stopped");
    return s ? diag_error(d, s, NULL, DIAG_NOWHERE, "the reference evaluator failed") : ST_OK;
}

Status compare_all(Arena *a, Diag *d, const Reference *ref, const Stored *stored,
                   CompareResult *out) {
    const TeTensor *t = &ref->te->tensor[stored->tensor];
    int own = te_own_rank(t);
    int64_t count = te_tensor_count(t), last = own ? t->shape[own - 1].value : 1;
    int64_t n = count ? count / last : 0;
    CompareRow *row = ARENA_ARRAY(a, CompareRow, n + 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        for (int k = own - 2; k >= 0; k--) {
            row[i].at[k] = rest % t->shape[k].value;
            rest /= t->shape[k].value;
        }
        row[i].count = last;
    }
    return compare_rows(a, d, ref, &(CompareRows){stored, row, n}, out);
}
