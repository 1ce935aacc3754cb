/* The jobs of a worker that have a kernel: proving, timing, counting, running it.  */
#include "driver/device/trial.h"
#include "driver/device/worker_kernel.h"

#include <string.h>

typedef struct {
    Cuda *cuda;
    CudaDeviceInfo info;
    CudaContext *context;
    Cupti *cupti;
} Opened;

/* A kernel, where it runs, and how.  */
typedef struct {
    SentKernel kernel;
    MeasureOptions o;
    Opened opened;
    RunPlace place;
} Trying;

static Status find_device(Arena *a, Diag *d, const MeasureOptions *o, Opened *out) {
    Status s = cuda_open(a, d, &o->cuda, &out->cuda);
    return s ? s : cuda_device_find(out->cuda, a, d, o->device ? o->device : "0", &out->info);
}

Status worker_probe(Worker *w, WireReader *in, Arena *a, Diag *d, Buf *answer) {
    Opened x = {0};
    MeasureOptions o;
    worker_get_options(in, a, NULL, &o);
    if (!wire_read_all(in)) return worker_misread(d);
    worker_waits(w, true);
    Status s = find_device(a, d, &o, &x);
    worker_waits(w, false);
    if (s) return s;
    MeasurePlace place = {x.info, cuda_device_count(x.cuda), cuda_driver_version(x.cuda),
                          cuda_simulated(x.cuda)};
    worker_put_place(answer, &place);
    return ST_OK;
}

/* CUPTI is asked for only where there is a real driver to watch.  */
static void open_cupti(Arena *a, const MeasureOptions *o, Opened *x) {
    Diag quiet = diag_new(a);
    if (!cuda_simulated(x->cuda) && cupti_open(a, &quiet, o->cuda.ignore_environment, &x->cupti))
        x->cupti = NULL;
}

static Status open_device(Worker *w, const MeasureOptions *o, bool timed, Arena *a, Diag *d,
                          Opened *x) {
    worker_waits(w, true);
    Status s = find_device(a, d, o, x);
    if (!s && timed) open_cupti(a, o, x);
    if (!s) s = cuda_context(x->cuda, a, d, x->info.index, &x->context);
    if (!s) s = cuda_enter(x->context, a, d);
    worker_waits(w, false);
    if (!s) worker_opened(w, cuda_simulated(x->cuda));
    return s;
}

/* Reads kernel and options.  */
static Status read_trying(WireReader *in, Arena *a, Diag *d, Trying *t) {
    Status s = worker_get_kernel(in, a, d, &t->kernel);
    if (s) return s;
    worker_get_options(in, a, t->kernel.set.te, &t->o);
    return in->bad ? worker_misread(d) : ST_OK;
}

static Status begin(Worker *w, bool timed, Arena *a, Diag *d, Trying *t) {
    t->opened = (Opened){0};
    Status s = open_device(w, &t->o, timed, a, d, &t->opened);
    t->place = (RunPlace){.dev = t->kernel.set.dev, .context = t->opened.context,
                          .waits = worker_waits, .user = w};
    return s;
}

static Status check(const Trying *t, bool timed, Arena *a, Diag *d, CheckResult *out) {
    CheckOptions o = {.seed = t->o.seed, .budget_s = t->o.budget_s, .threads = t->o.threads,
                      .place = &t->place, .at = timed ? NULL : t->o.at};
    ArenaMark m = arena_mark(a);
    Diag own = diag_new(d->arena);
    const SentKernel *k = &t->kernel;
    Status s = check_kernel(a, &own, &(BuiltPlan){&k->set, &k->plan, &k->build}, &o, out);
    if (s == ST_CHECK) s = ST_OK;         /* the result says it */
    else if (s) *d = own;
    if (!s && out->ok) arena_reset(a, m);
    return s;
}

/* ---- a run ---- */
/* Of an op, its sizes and its data, which the run has.  */
static Status create(const Trying *t, Arena *a, Diag *d, Run *run) {
    run->build = &t->kernel.build;
    run->place = t->place;
    Status s = te_specialize(a, d, t->kernel.set.normal, run->size, &run->normal);
    return s ? s : run_create(run, a, d);
}

/* For timing: normal reals at the sizes asked for, or the largest.  */
static Status create_filled(const Trying *t, Arena *a, Diag *d, Run *run) {
    const Te *te = t->kernel.set.te, *fixed;
    int64_t *size = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++)
        size[i] = t->o.at ? t->o.at[i] : te->size[i].extent.value;
    Status s = te_specialize(a, d, te, size, &fixed);
    if (s) return s;
    TeData *in = ARENA_ARRAY(a, TeData, fixed->n_in + 1);
    for (int i = 0; i < fixed->n_in; i++) {
        size_t bytes = te_tensor_bytes(&fixed->tensor[i]);
        in[i] = (TeData){arena_alloc(a, bytes + 16), bytes};
        te_fill(fixed, i, TE_FILL_REALS, t->o.seed ? t->o.seed : 1, in[i]);
    }
    *run = (Run){.te = fixed, .data = in, .size = size};
    return create(t, a, d, run);
}

static Status launch_all(Run *run, Arena *a, Diag *d, Status faulted) {
    Status s = ST_OK;
    for (int i = 0; i < run->build->program.n_kernel && !s && !run->fault; i++)
        s = run_launch(run, a, d, i, NULL, 0);
    return !s && run->fault ? diag_error(d, faulted, NULL, DIAG_NOWHERE, "%s", run->fault) : s;
}

static Status time_it(const Trying *t, double best_us, Arena *a, Diag *d, Timing *out) {
    Run run;
    Status s = create_filled(t, a, d, &run);
    if (!s) s = launch_all(&run, a, d, ST_CUDA);
    if (s) return s;
    TimingOptions o = {.cupti = t->opened.cupti, .best_us = best_us};
    if (!o.cupti) return timing_measure(&run, a, d, &o, out);
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

/* ---- the jobs ---- */
void trial_request(WorkerRequest *r, const BuiltPlan *b, const MeasureOptions *o, bool timed,
                   double best_us) {
    worker_put_kernel(&r->head, b);
    worker_put_options(&r->head, o, b->set->te);
    wire_int(&r->head, timed);
    wire_real(&r->head, best_us);
}

Status worker_trial(Worker *w, WireReader *in, Arena *a, Diag *d, Buf *answer) {
    Trying t;
    CheckResult result = {0};
    Timing timing = {0};
    Status s = read_trying(in, a, d, &t);
    if (s) return s;
    bool timed = wire_read_bool(in);
    double best_us = wire_read_real(in);
    if (!wire_read_all(in)) return worker_misread(d);
    s = begin(w, timed, a, d, &t);
    if (!s) s = check(&t, timed, a, d, &result);
    if (!s && result.ok && timed) s = time_it(&t, best_us, a, d, &timing);
    if (!s) worker_put_trial(answer, &result, &timing);
    return s;
}

static Status counted_work(void *user, Diag *d) {
    Run *r = user;
    Status s = ST_OK;
    for (int i = 0; i < r->build->program.n_kernel && !s; i++) s = run_submit(r, d, i, NULL);
    return s ? s : cuda_synchronize(r->place.context, d);
}

void trial_counters_request(WorkerRequest *r, const BuiltPlan *b, const MeasureOptions *o) {
    worker_put_kernel(&r->head, b);
    worker_put_options(&r->head, o, b->set->te);
}

/* Of the run that is timed.  */
Status worker_counters(Worker *w, WireReader *in, Arena *a, Diag *d, Buf *answer) {
    Trying t;
    double value[CUPTI_COUNTER_COUNT] = {0};
    Run run;
    Status s = read_trying(in, a, d, &t);
    if (!s && !wire_read_all(in)) s = worker_misread(d);
    if (!s) s = begin(w, false, a, d, &t);
    if (!s) s = create_filled(&t, a, d, &run);
    if (!s) s = launch_all(&run, a, d, ST_CUDA);
    if (s) return s;
    worker_waits(w, true);
    s = cupti_count(t.opened.context, a, d, t.o.cuda.ignore_environment, counted_work, &run, value);
    worker_waits(w, false);
    for (int i = 0; i < CUPTI_COUNTER_COUNT; i++) wire_real(answer, value[i]);
    return s;
}

/* ---- the caller's data ---- */
void trial_outputs_request(Arena *a, WorkerRequest *r, const DeviceRun *x,
                           const MeasureOptions *o) {
    const Te *te = x->kernel.set->te;
    WorkerSpan *span = ARENA_ARRAY(a, WorkerSpan, te->n_in + 1);
    worker_put_kernel(&r->head, &x->kernel);
    worker_put_options(&r->head, o, te);
    for (int i = 0; i < te->n_size; i++) wire_int(&r->head, x->size[i]);
    for (int i = 0; i < te->n_in; i++) {
        wire_int(&r->head, (int64_t)x->in[i].bytes);
        span[i] = (WorkerSpan){x->in[i].data, x->in[i].bytes};
    }
    r->span = span;
    r->n_span = te->n_in;
}

/* The inputs lie behind the rest, one after the other.  */
static Status read_inputs(WireReader *in, const Te *fixed, Arena *a, Diag *d, TeData *out) {
    for (int i = 0; i < fixed->n_in; i++) {
        out[i].bytes = te_tensor_bytes(&fixed->tensor[i]);
        if (wire_read_int(in) != (int64_t)out[i].bytes) return worker_misread(d);
    }
    for (int i = 0; i < fixed->n_in; i++) {
        size_t bytes = out[i].bytes;
        if (in->bad || bytes > in->left) return worker_misread(d);
        out[i].data = arena_alloc(a, bytes + 16);
        if (bytes) memcpy(out[i].data, in->at, bytes);
        in->at += bytes;
        in->left -= bytes;
    }
    return wire_read_all(in) ? ST_OK : worker_misread(d);
}

static Status give_outputs(Run *run, Arena *a, Diag *d, Buf *answer) {
    const Te *te = run->te;
    for (int i = te->n_in; i < te->n_in + te->n_out; i++) {
        size_t bytes = te_tensor_bytes(&te->tensor[i]);
        if (!bytes) continue;
        const void *data = run_read(run, a, d, run->at[i], bytes);
        if (!data) return diag_first_error(d)->status;
        buf_add(answer, data, bytes);
    }
    return ST_OK;
}

Status worker_outputs(Worker *w, WireReader *in, Arena *a, Diag *d, Buf *answer) {
    Trying t;
    const Te *fixed = NULL;
    Status s = read_trying(in, a, d, &t);
    if (s) return s;
    const Te *te = t.kernel.set.te;
    int64_t *size = ARENA_ARRAY(a, int64_t, te->n_size + 1);
    for (int i = 0; i < te->n_size; i++) size[i] = wire_read_within(in, 0, INT32_MAX);
    TeData *data = ARENA_ARRAY(a, TeData, te->n_in + 1);
    s = in->bad ? worker_misread(d) : te_specialize(a, d, te, size, &fixed);
    if (!s) s = read_inputs(in, fixed, a, d, data);
    if (!s) s = begin(w, false, a, d, &t);
    Run run = {.te = fixed, .data = data, .size = size};
    if (!s) s = create(&t, a, d, &run);
    if (!s) s = launch_all(&run, a, d, ST_CHECK);
    return s ? s : give_outputs(&run, a, d, answer);
}
