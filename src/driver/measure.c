#include "driver/measure.h"
#include "base/clock.h"
#include "base/hash.h"
#include "driver/learn.h"
#include "driver/trial.h"
#include "driver/worker_kernel.h"

#include <string.h>

const char *trial_name(TrialEnd e) {
    static const char *const name[] = {
#define X(id, text, meaning) text,
        TRIAL_ENDS(X)
#undef X
    };
    return name[e];
}

static WorkerLimits limits_of(const MeasureOptions *o, double left_s) {
    return (WorkerLimits){.watchdog_s = o->watchdog_s, .opening_s = o->opening_s,
                          .limit_s = left_s, .watch = o->watch};
}

static Status run(Arena *a, Diag *d, const MeasureOptions *o, const WorkerRequest *request,
                  const WorkerLimits *limits, WorkerResult *r) {
    WorkerOptions program = {o->worker, o->cuda.ignore_environment};
    return worker_run(a, d, &program, request, limits, r);
}

static Status pass_on(Diag *d, const WorkerResult *r) {
    diag_error(d, r->status, "cuda", DIAG_NOWHERE, "%s",
               r->message ? r->message : status_text(r->status));
    if (r->hint) diag_hint(d, "%s", r->hint);
    if (r->code.number) diag_code(d, r->code.of, r->code.number, r->code.name);
    return r->status;
}

/* ---- the device ---- */
Status measure_probe(Arena *a, Diag *d, const MeasureOptions *o, MeasurePlace *out) {
    WorkerResult r;
    WorkerLimits limits = limits_of(o, 0);
    WorkerRequest request = worker_request(a, WORKER_PROBE);
    worker_put_options(&request.head, o, NULL);
    Status s = run(a, d, o, &request, &limits, &r);
    if (s) return s;
    if (r.end == WORKER_STOPPED) return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE, "stopped");
    if (r.end == WORKER_HUNG)
        return diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE,
                          "the CUDA driver did not answer within %.0f s", r.watchdog_s);
    if (r.end == WORKER_DIED)
        return diag_error(d, ST_DRIVER, "cuda", DIAG_NOWHERE,
                          "the CUDA driver ended the process that opened it (signal %d)", r.signal);
    if (r.end == WORKER_DONE && r.status) return pass_on(d, &r);
    if (r.end == WORKER_DONE && worker_get_place(r.answer, r.len, out)) return ST_OK;
    return diag_error(d, ST_IO, "worker", DIAG_NOWHERE, "the worker's answer does not read");
}

void measure_compare(Diag *d, const Device *dev, const MeasurePlace *place) {
    DeviceLimits own;
    cuda_limits(&place->info, &own);
    const struct {
        const char *what;
        double profile, device;
    } row[] = {
        {"SMs", dev->limits.sm_count.value, own.sm_count.value},
        {"bytes of shared memory per block", dev->limits.smem_per_block_optin.value,
         own.smem_per_block_optin.value},
        {"registers per SM", dev->limits.registers_per_sm.value, own.registers_per_sm.value},
        {"threads per SM", dev->limits.threads_per_sm.value, own.threads_per_sm.value},
    };
    const char *gpu = hal_gpu_simulated(dev->gpu) ? place->info.name
                                                  : hal_gpu_model(d->arena, place->info.name);
    if (strcmp(dev->gpu, gpu) != 0) {
        diag_warning(d, "profile", DIAG_NOWHERE, "the profile %s describes %s; the device is %s",
                     dev->name, dev->gpu, place->info.name);
        diag_hint(d, "take the profile of this device (--list-profiles), or write one "
                     "(docs/adding-a-device.md)");
        return;
    }
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].device > 0 && row[i].profile != row[i].device)
            diag_warning(d, "profile", DIAG_NOWHERE,
                         "the profile %s says %.0f %s; the device has %.0f", dev->name,
                         row[i].profile, row[i].what, row[i].device);
}

/* ---- candidates ---- */
static bool spills(const Build *b) {
    for (int i = 0; i < b->nvrtc.n_kernel; i++)
        if (b->nvrtc.kernel[i].spill_stores + b->nvrtc.kernel[i].spill_loads > 0) return true;
    return false;
}

/* Of the machine code: the plan's hash is in the names of the kernels and counts for nothing.  */
static void fingerprint(Arena *a, const Build *b, char out[65]) {
    size_t len = b->nvrtc.cubin_len, width = strlen(b->program.hash);
    ArenaMark m = arena_mark(a);
    char *copy = arena_alloc(a, len + 1);
    if (len) memcpy(copy, b->nvrtc.cubin, len);
    for (size_t i = 0; width && i + width <= len; i++)
        if (copy[i] == b->program.hash[0] && memcmp(copy + i, b->program.hash, width) == 0)
            memset(copy + i, '0', width);
    sha256_text(copy, len, out);
    arena_reset(a, m);
}

typedef char Print[65];

static bool any_without_spills(const Candidate *c, int n) {
    for (int i = 0; i < n; i++)
        if (c[i].build && c[i].build->compiled && !spills(c[i].build)) return true;
    return false;
}

/* What needs no device: true if candidate i of n goes on to a trial.  */
static bool admit(Arena *a, const Candidate *c, int i, int n, Print *print, Trial *out) {
    *out = (Trial){.end = TRIAL_RIGHT, .reason = ""};
    if (!c[i].build || !c[i].build->compiled) {
        out->end = TRIAL_BUILD;
        out->reason = c[i].why ? c[i].why : "it was not compiled";
        return false;
    }
    if (spills(c[i].build) && any_without_spills(c, n)) {
        out->end = TRIAL_SPILL;
        out->reason = "it spills registers";
        return false;
    }
    fingerprint(a, c[i].build, print[i]);
    for (int k = 0; k < n; k++) {
        if (k == i || !print[k][0] || strcmp(print[k], print[i]) != 0) continue;
        out->end = TRIAL_SAME;
        out->reason = arena_printf(a, "the same machine code as plan %d", k + 1);
        print[i][0] = 0;
        return false;
    }
    return true;
}

/* The first line of a check's text is the summary, what is wrong comes after it.  */
static const char *after_line(const char *text) {
    const char *line = strchr(text, '\n');
    return line ? line + 1 : text;
}

static void judge(Arena *a, const WorkerResult *r, const WorkerLimits *limits, Trial *out) {
    CheckResult check;
    switch (r->end) {
    case WORKER_HUNG:
        out->end = TRIAL_HANG;
        out->reason = arena_printf(a, "it did not end within %.0f s", r->watchdog_s);
        return;
    case WORKER_STOPPED:
        out->end = watch_ended(limits->watch) ? TRIAL_STOPPED : TRIAL_TIME;
        out->reason = out->end == TRIAL_TIME ? "the time was over" : "stopped";
        return;
    case WORKER_DIED:
        out->end = TRIAL_FAULT;
        out->reason = arena_printf(a, "its process ended with signal %d", r->signal);
        return;
    case WORKER_REFUSED:
        out->end = TRIAL_FAULT;
        out->reason = "its worker's answer does not read";
        return;
    case WORKER_DONE: break;
    }
    if (r->status) {
        out->end = TRIAL_FAULT;
        out->reason = r->message ? r->message : status_text(r->status);
    } else if (!worker_get_trial(r->answer, r->len, &check, &out->timing)) {
        out->end = TRIAL_FAULT;
        out->reason = "its worker's answer does not read";
    } else if (!check.ok) {
        out->end = check.fault ? TRIAL_FAULT : TRIAL_WRONG;
        out->reason = after_line(check.text);
    }
}

static Status none_right(Diag *d, const Trial *trial, int n, const MeasureOptions *o) {
    if (watch_ended(o->watch))
        return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE,
                          "stopped before a plan was measured");
    for (int i = 0; i < n; i++)
        if (trial[i].end == TRIAL_TIME)
            return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE,
                              "the time limit was over before a plan was measured");
    const Trial *t = &trial[0];
    return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE,
                      "no plan of %d runs right on the device; the first: %s: %s", n,
                      n ? trial_name(t->end) : "", n ? t->reason : "");
}

/* An error of the environment (no memory, no permission ...) is nobody's fault among the
 * candidates.  */
static bool environment(const WorkerResult *r) {
    return r->end == WORKER_DONE &&
           (r->status == ST_DRIVER || r->status == ST_DEVICE || r->status == ST_ARCH ||
            r->status == ST_NOMEM || r->status == ST_IO || r->status == ST_INTERNAL);
}

static void take_faster(const Trial *trial, int i, int *best) {
    if (*best < 0 || trial[i].timing.cold_us < trial[*best].timing.cold_us) *best = i;
}

/* A measurement of several candidates, and how far it is.  */
typedef struct {
    Arena *a;
    Diag *d;
    const PlanSet *set;
    Candidate *c;
    const MeasureOptions *o;
    Trial *trial;
    Print *print;
    Learn *learn;
    bool *out;                /* per candidate: its end is known */
    int *best;
    int n, done;              /* done: trials */
    double begun;
} Contest;

static void timed(Contest *x, int i) {
    take_faster(x->trial, i, x->best);
    learn_tell(x->learn, i, x->trial[i].timing.cold_us);
}

static LearnPlan describe(const Contest *x, int i) {
    const WholePlan *plan = x->c[i].plan;
    Estimate e = {.us = 1};
    if (plan && x->o->at) compile_estimate_at(x->a, x->set, plan, x->o->at, &e);
    else if (plan) compile_estimate(plan, &e);
    if (!(e.us > 0)) e.us = 1;
    return plan ? learn_plan(&plan->rplan, &e, i) : (LearnPlan){.us = 1};
}

/* Is it left to be compiled when it is to be timed?  */
static bool unmade(const Contest *x, int i) {
    return x->o->make && !x->c[i].build && !x->c[i].why;
}

static bool admitted(Contest *x, int i) {
    return admit(x->a, x->c, i, x->n, x->print, &x->trial[i]);
}

/* What needs no device.  */
static void begin(Contest *x) {
    LearnPlan *plan = ARENA_ARRAY(x->a, LearnPlan, x->n + 1);
    x->print = ARENA_ARRAY(x->a, Print, x->n + 1);
    x->out = ARENA_ARRAY(x->a, bool, x->n + 1);
    for (int i = 0; i < x->n; i++) {
        x->trial[i] = (Trial){.end = TRIAL_RIGHT, .reason = ""};
        x->out[i] = !unmade(x, i) && !admitted(x, i);
        plan[i] = describe(x, i);
    }
    x->learn = learn_new(x->a, x->set->dev, plan, x->n);
    for (int i = 0; i < x->n; i++) {
        if (x->out[i] || unmade(x, i) || !x->o->known ||
            !x->o->known(x->o->user, i, &x->trial[i].timing))
            continue;
        x->out[i] = true;
        timed(x, i);
    }
}

/* Compiled, if it was not yet, and worth a trial.  */
static bool ready(Contest *x, int i) {
    if (!unmade(x, i)) return true;
    x->o->make(x->o->user, i, &x->c[i]);
    return admitted(x, i);
}

/* Why no other candidate is tried; TRIAL_RIGHT: one is.  */
static TrialEnd over(const Contest *x) {
    if (watch_ended(x->o->watch)) return TRIAL_STOPPED;
    if (x->o->limit_s > 0 && clock_now_s() - x->begun >= x->o->limit_s) return TRIAL_TIME;
    return x->o->trials > 0 && x->done >= x->o->trials ? TRIAL_UNLIKELY : TRIAL_RIGHT;
}

static void leave(Contest *x, TrialEnd why) {
    for (int i = 0; i < x->n; i++) {
        if (x->out[i]) continue;
        x->trial[i].end = why;
        x->trial[i].reason = why == TRIAL_STOPPED ? "stopped"
                             : why == TRIAL_TIME  ? "the time was over"
                                                  : "others were more likely to be the fastest";
    }
}

static Status try_one(Contest *x, int i) {
    const MeasureOptions *o = x->o;
    Trial *t = &x->trial[i];
    double left = o->limit_s > 0 ? o->limit_s - (clock_now_s() - x->begun) : 0;
    int all = o->trials > 0 && o->trials < x->n ? o->trials : x->n;
    watch_step(o->watch, "measure", x->done++, all, arena_printf(x->a, "plan %d", i + 1));
    WorkerRequest request = worker_request(x->a, WORKER_TRIAL);
    WorkerLimits limits = limits_of(o, left);
    WorkerResult r;
    trial_request(&request, &(BuiltPlan){x->set, x->c[i].plan, x->c[i].build}, o, true,
                  *x->best < 0 ? 0 : x->trial[*x->best].timing.cold_us);
    Status s = run(x->a, x->d, o, &request, &limits, &r);
    if (s) return s;
    if (environment(&r)) return pass_on(x->d, &r);
    judge(x->a, &r, &limits, t);
    if (t->end != TRIAL_RIGHT) return ST_OK;
    timed(x, i);
    if (o->keep) o->keep(o->user, i, &t->timing);
    return ST_OK;
}

Status measure_candidates(Arena *a, Diag *d, const Candidates *all, const MeasureOptions *o,
                          Trial *trial, int *best) {
    Contest x = {.a = a, .d = d, .set = all->set, .n = all->n, .o = o,
                 .trial = trial, .best = best, .begun = clock_now_s()};
    x.c = ARENA_ARRAY(a, Candidate, x.n + 1);
    for (int i = 0; i < x.n; i++) x.c[i] = all->c[i];
    TrialEnd why;
    double gain;
    *best = -1;
    begin(&x);
    while ((why = over(&x)) == TRIAL_RIGHT) {
        double least = *best < 0 ? 0 : trial[*best].timing.cold_us;
        int i = learn_next(x.learn, x.out, least, &gain);
        if (i < 0) break;
        x.out[i] = true;
        Status s = ready(&x, i) ? try_one(&x, i) : ST_OK;
        if (s) return s;
    }
    leave(&x, why);
    return *best < 0 ? none_right(d, trial, all->n, o) : ST_OK;
}

/* ---- a check alone ---- */
Status measure_check(Arena *a, Diag *d, const BuiltPlan *b, const MeasureOptions *o,
                     CheckResult *out) {
    WorkerRequest request = worker_request(a, WORKER_TRIAL);
    WorkerLimits limits = limits_of(o, 0);
    WorkerResult r;
    Trial t = {.reason = ""};
    CheckResult told;
    Timing none;
    *out = (CheckResult){.where = "device", .counters = "", .counters_json = ""};
    trial_request(&request, b, o, false, 0);
    Status s = run(a, d, o, &request, &limits, &r);
    if (s) return s;
    if (environment(&r)) return pass_on(d, &r);
    if (r.end == WORKER_DONE && !r.status && worker_get_trial(r.answer, r.len, &told, &none)) {
        *out = told;
        if (out->ok) return ST_OK;
        return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s", out->text);
    }
    judge(a, &r, &limits, &t);
    if (t.end == TRIAL_STOPPED)
        return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE, "stopped");
    out->fault = true;
    out->text = arena_printf(d->arena, "check: FAILED (device)\n%s: %s", trial_name(t.end),
                             t.reason);
    return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s: %s", trial_name(t.end), t.reason);
}

/* ---- a run on the caller's data ---- */
static size_t bytes_out(const DeviceRun *r) {
    size_t n = 0;
    for (int i = 0; i < r->kernel.set->te->n_out; i++) n += r->out[i].bytes;
    return n;
}

static void take_outputs(const DeviceRun *x, const char *at) {
    for (int i = 0; i < x->kernel.set->te->n_out; i++) {
        if (x->out[i].bytes) memcpy(x->out[i].data, at, x->out[i].bytes);
        at += x->out[i].bytes;
    }
}

Status measure_run(Arena *a, Diag *d, const DeviceRun *x, const MeasureOptions *o) {
    WorkerRequest request = worker_request(a, WORKER_OUTPUTS);
    WorkerLimits limits = limits_of(o, 0);
    WorkerResult r;
    Trial t = {.reason = ""};
    limits.answer_most = bytes_out(x) + 1;
    trial_outputs_request(a, &request, x, o);
    Status s = run(a, d, o, &request, &limits, &r);
    if (s) return s;
    if (r.end == WORKER_DONE && r.status == ST_OK) {
        if (r.len != bytes_out(x))
            return diag_error(d, ST_IO, "worker", DIAG_NOWHERE,
                              "the worker's answer does not read");
        take_outputs(x, r.answer);
        return ST_OK;
    }
    if (r.end == WORKER_DONE && r.status != ST_CHECK) return pass_on(d, &r);
    judge(a, &r, &limits, &t);
    if (t.end == TRIAL_STOPPED)
        return diag_error(d, ST_CANCELLED, NULL, DIAG_NOWHERE, "stopped");
    return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE, "%s: %s", trial_name(t.end), t.reason);
}

/* ---- counters ---- */
Status measure_counters(Arena *a, Diag *d, const BuiltPlan *b, const MeasureOptions *o,
                        double value[CUPTI_COUNTER_COUNT]) {
    WorkerRequest request = worker_request(a, WORKER_COUNTERS);
    WorkerLimits limits = limits_of(o, 0);
    WorkerResult r;
    Trial t = {.reason = ""};
    trial_counters_request(&request, b, o);
    Status s = run(a, d, o, &request, &limits, &r);
    if (s) return s;
    if (r.end == WORKER_DONE && r.status) return pass_on(d, &r);
    WireReader in = wire_reader(r.answer, r.end == WORKER_DONE ? r.len : 0);
    for (int i = 0; i < CUPTI_COUNTER_COUNT; i++) value[i] = wire_read_real(&in);
    if (r.end == WORKER_DONE && wire_read_all(&in)) return ST_OK;
    judge(a, &r, &limits, &t);
    return diag_error(d, ST_CUDA, "counters", DIAG_NOWHERE, "counting: %s", t.reason);
}
