#include "driver/trial.h"

#include <string.h>

typedef struct {
    Cuda *cuda;
    CudaDeviceInfo info;
    CudaContext *context;
    Cupti *cupti;
} Opened;

static Status find_device(Arena *a, Diag *d, const MeasureOptions *o, Opened *out) {
    Status s = cuda_open(a, d, &o->cuda, &out->cuda);
    return s ? s : cuda_device_find(out->cuda, a, d, o->device ? o->device : "0", &out->info);
}

Status trial_probe(Child *c, void *user, Arena *a, Diag *d, Buf *answer) {
    Opened x = {0};
    child_waits(c, true);
    Status s = find_device(a, d, user, &x);
    child_waits(c, false);
    if (s) return s;
    MeasurePlace place = {x.info, cuda_driver_version(x.cuda), cuda_simulated(x.cuda)};
    buf_add(answer, (const char *)&place, sizeof place);
    return ST_OK;
}

/* CUPTI is asked for only where there is a real driver to watch.  */
static void open_cupti(Arena *a, const MeasureOptions *o, Opened *x) {
    Diag quiet = diag_new(a);
    if (!cuda_simulated(x->cuda) && cupti_open(a, &quiet, o->cuda.ignore_environment, &x->cupti))
        x->cupti = NULL;
}

static Status open_device(Child *c, const MeasureOptions *o, bool timed, Arena *a, Diag *d,
                          Opened *x) {
    child_waits(c, true);
    Status s = find_device(a, d, o, x);
    if (!s && timed) open_cupti(a, o, x);
    if (!s) s = cuda_context(x->cuda, a, d, x->info.index, &x->context);
    if (!s) s = cuda_enter(x->context, a, d);
    child_waits(c, false);
    return s;
}

static Status check(const TrialTask *t, const RunPlace *place, Arena *a, Diag *d,
                    CheckResult *out) {
    CheckOptions o = {.seed = t->o->seed, .budget_s = t->o->budget_s, .threads = t->o->threads,
                      .place = place, .at = t->timed ? NULL : t->o->at};
    ArenaMark m = arena_mark(a);
    Diag own = diag_new(d->arena);
    Status s = check_kernel(a, &own, t->set, t->plan, t->build, &o, out);
    if (s == ST_CHECK) s = ST_OK;         /* the result says it */
    else if (s) *d = own;
    if (!s && out->ok) arena_reset(a, m);
    return s;
}

/* ---- timing: normal reals at the sizes asked for, or the largest ---- */
static Status create(const TrialTask *t, const RunPlace *place, Arena *a, Diag *d, Run *run) {
    const Te *te = t->set->te, *fixed, *normal;
    int64_t *size = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) {
        size[i] = t->o->at ? t->o->at[i] : te->size[i].extent.value;
    }
    Status s = te_specialize(a, d, te, size, &fixed);
    if (!s) s = te_specialize(a, d, t->set->normal, size, &normal);
    if (s) return s;
    TeData *in = ARENA_ARRAY(a, TeData, fixed->n_in + 1);
    for (int i = 0; i < fixed->n_in; i++) {
        size_t bytes = te_tensor_bytes(&fixed->tensor[i]);
        in[i] = (TeData){arena_alloc(a, bytes + 16), bytes};
        te_fill(fixed, i, TE_FILL_REALS, t->o->seed ? t->o->seed : 1, in[i]);
    }
    return run_create_at(a, d, place, fixed, normal, t->build, in, size, run);
}

static Status time_it(const TrialTask *t, const RunPlace *place, Cupti *cupti, Arena *a, Diag *d,
                      Timing *out) {
    Run run;
    Status s = create(t, place, a, d, &run);
    for (int i = 0; i < t->build->program.n_kernel && !s && !run.fault; i++)
        s = run_launch(&run, a, d, i, NULL, 0);
    if (s) return s;
    if (run.fault) return diag_error(d, ST_CUDA, NULL, DIAG_NOWHERE, "%s", run.fault);
    TimingOptions o = {.cupti = cupti, .best_us = t->best_us};
    if (!cupti) return timing_measure(&run, a, d, &o, out);
    Diag quiet = diag_new(a);
    s = timing_measure(&run, a, &quiet, &o, out);
    const DiagMessage *m = diag_first_error(&quiet);
    if (!s || !m->tag || strcmp(m->tag, "cupti") != 0) {
        if (s) *d = quiet;
        return s;
    }
    o.cupti = NULL;
    return timing_measure(&run, a, d, &o, out);
}

static void put_text(Buf *b, const char *text) {
    buf_add(b, text ? text : "", text ? strlen(text) : 0);
    buf_putc(b, 0);
}

Status trial_run(Child *c, void *user, Arena *a, Diag *d, Buf *answer) {
    const TrialTask *t = user;
    TrialAnswer out = {0};
    Opened x = {0};
    Status s = open_device(c, t->o, t->timed, a, d, &x);
    if (s) return s;
    RunPlace place = {.dev = t->set->dev, .context = x.context, .waits = child_waits, .user = c};
    s = check(t, &place, a, d, &out.check);
    if (!s && out.check.ok && t->timed) s = time_it(t, &place, x.cupti, a, d, &out.timing);
    if (s) return s;
    buf_add(answer, (const char *)&out, sizeof out);
    put_text(answer, out.check.where);
    put_text(answer, out.check.text);
    return ST_OK;
}

/* ---- counters, of the run that is timed ---- */
static Status counted_work(void *user, Diag *d) {
    Run *r = user;
    Status s = ST_OK;
    for (int i = 0; i < r->build->program.n_kernel && !s; i++) s = run_submit(r, d, i, NULL);
    return s ? s : cuda_synchronize(r->place.context, d);
}

Status trial_counters(Child *c, void *user, Arena *a, Diag *d, Buf *answer) {
    const TrialTask *t = user;
    Opened x = {0};
    double value[CUPTI_COUNTER_COUNT] = {0};
    Run run;
    Status s = open_device(c, t->o, false, a, d, &x);
    if (s) return s;
    RunPlace place = {.dev = t->set->dev, .context = x.context, .waits = child_waits, .user = c};
    s = create(t, &place, a, d, &run);
    for (int i = 0; i < t->build->program.n_kernel && !s && !run.fault; i++)
        s = run_launch(&run, a, d, i, NULL, 0);
    if (s) return s;
    if (run.fault) return diag_error(d, ST_CUDA, NULL, DIAG_NOWHERE, "%s", run.fault);
    child_waits(c, true);
    s = cupti_count(x.context, a, d, t->o->cuda.ignore_environment, counted_work, &run, value);
    child_waits(c, false);
    buf_add(answer, (const char *)value, sizeof value);
    return s;
}

Status trial_outputs(Child *c, void *user, Arena *a, Diag *d, Buf *answer) {
    const TrialOutputs *t = user;
    const DeviceRun *x = t->run;
    Opened opened = {0};
    Run run;
    Status s = open_device(c, t->o, false, a, d, &opened);
    if (s) return s;
    RunPlace place = {.dev = x->dev, .context = opened.context, .waits = child_waits, .user = c};
    s = run_create_at(a, d, &place, x->te, x->normal, x->build, x->in, x->size, &run);
    for (int i = 0; i < x->build->program.n_kernel && !s && !run.fault; i++)
        s = run_launch(&run, a, d, i, NULL, 0);
    if (!s && run.fault) return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s", run.fault);
    for (int i = 0; i < x->te->n_out && !s; i++) {
        if (!x->out[i].bytes) continue;
        const void *data = run_read(&run, a, d, run.at[x->te->n_in + i], x->out[i].bytes);
        if (!data) return diag_first_error(d)->status;
        buf_add(answer, data, x->out[i].bytes);
    }
    return s;
}

bool trial_read(const char *answer, size_t len, TrialAnswer *out) {
    if (len < sizeof *out + 2 || answer[len - 1]) return false;
    memcpy(out, answer, sizeof *out);
    const char *at = answer + sizeof *out;
    out->check.where = at;
    at += strlen(at) + 1;
    if (at >= answer + len) return false;
    out->check.text = at;
    out->check.counters = out->check.counters_json = "";
    out->check.table = NULL;
    return true;
}
