#include "driver/device/measure.h"
#include "base/clock.h"
#include "base/hash.h"
#include "driver/device/learn.h"
#include "driver/device/measure_ask.h"

#include <string.h>

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
    WorkerLimits limits = measure_limits(o, left);
    WorkerResult r;
    trial_request(&request, &(BuiltPlan){x->set, x->c[i].plan, x->c[i].build}, o, true,
                  *x->best < 0 ? 0 : x->trial[*x->best].timing.cold_us);
    Status s = measure_ask(x->a, x->d, o, &request, &limits, &r);
    if (s) return s;
    if (measure_unable(&r)) return measure_refused(x->d, &r);
    measure_judge(x->a, &r, &limits, t);
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
