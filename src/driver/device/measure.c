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

/* What needs no device: true if candidate i goes on to a trial.  */
static bool admit(Arena *a, const Candidates *x, int i, Print *print) {
    const Candidate *c = x->c;
    Trial *out = &x->trial[i];
    *out = (Trial){.end = TRIAL_RIGHT, .reason = ""};
    if (!c[i].build || !c[i].build->compiled) {
        out->end = TRIAL_BUILD;
        out->reason = c[i].why ? c[i].why : "it was not compiled";
        return false;
    }
    if (spills(c[i].build) && any_without_spills(c, x->n)) {
        out->end = TRIAL_SPILL;
        out->reason = "it spills registers";
        return false;
    }
    fingerprint(a, c[i].build, print[i]);
    for (int k = 0; k < x->n; k++) {
        if (k == i || !print[k][0] || strcmp(print[k], print[i]) != 0) continue;
        out->end = TRIAL_SAME;
        out->reason = arena_printf(a, "the same machine code as plan %d", k + 1);
        print[i][0] = 0;
        return false;
    }
    return true;
}

/* ---- how far a measurement is ---- */
typedef struct {
    Candidates *of;
    Print *print;
    LearnField field;         /* its plans in what is learned; .out: their end is known */
} Entry;

typedef struct {
    Arena *a;
    Diag *d;
    const MeasureOptions *o;
    Entry *entry;
    Learn *learn;
    bool *out;                /* per candidate of all */
    int n, n_all, done;       /* ops; their candidates; trials */
    double begun;
} Contest;

static void timed(Contest *x, Entry *e, int i) {
    double us = e->of->trial[i].timing.cold_us;
    if (e->of->best < 0 || us < e->field.best_us) {
        e->of->best = i;
        e->field.best_us = us;
    }
    learn_tell(x->learn, e->field.from + i, us);
}

static LearnPlan describe(const Contest *x, const Entry *e, int i) {
    const WholePlan *plan = e->of->c[i].plan;
    Estimate p = {.us = 1};
    if (plan && e->of->at) compile_estimate_at(x->a, e->of->set, plan, e->of->at, &p);
    else if (plan) compile_estimate(plan, &p);
    if (!(p.us > 0)) p.us = 1;
    LearnPlan out = plan ? learn_plan(&plan->rplan, &p, e->field.from + i) : (LearnPlan){.us = 1};
    out.sizes = (uint64_t)(e - x->entry);
    return out;
}

/* Is it left to be compiled when it is to be timed?  */
static bool unmade(const Contest *x, const Entry *e, int i) {
    return x->o->make && !e->of->c[i].build && !e->of->c[i].why;
}

static bool admitted(Contest *x, Entry *e, int i) { return admit(x->a, e->of, i, e->print); }

/* What needs no device, and what is known.  */
static void begin_op(Contest *x, Entry *e) {
    bool *out = x->out + e->field.from;
    for (int i = 0; i < e->of->n; i++) {
        e->of->trial[i] = (Trial){.end = TRIAL_RIGHT, .reason = ""};
        out[i] = !unmade(x, e, i) && !admitted(x, e, i);
    }
    for (int i = 0; i < e->of->n; i++) {
        if (out[i] || unmade(x, e, i) || !x->o->known ||
            !x->o->known(x->o->user, (int)(e - x->entry), i, &e->of->trial[i].timing))
            continue;
        out[i] = true;
        timed(x, e, i);
    }
}

static void begin(Contest *x, Candidates *all) {
    x->entry = ARENA_ARRAY(x->a, Entry, x->n + 1);
    for (int k = 0; k < x->n; k++) {
        Entry *e = &x->entry[k];
        *e = (Entry){.of = &all[k], .field = {.from = x->n_all, .to = x->n_all + all[k].n}};
        e->print = ARENA_ARRAY(x->a, Print, all[k].n + 1);
        e->of->best = -1;
        x->n_all += all[k].n;
    }
    LearnPlan *plan = ARENA_ARRAY(x->a, LearnPlan, x->n_all + 1);
    x->out = ARENA_ARRAY(x->a, bool, x->n_all + 1);
    for (int k = 0; k < x->n; k++) {
        Entry *e = &x->entry[k];
        e->field.out = x->out;
        for (int i = 0; i < e->of->n; i++) plan[e->field.from + i] = describe(x, e, i);
    }
    if (x->n) x->learn = learn_new(x->a, all->set->dev, plan, x->n_all);
    for (int k = 0; k < x->n; k++) begin_op(x, &x->entry[k]);
}

/* Compiled, if it was not yet, and worth a trial.  */
static bool ready(Contest *x, Entry *e, int i) {
    if (!unmade(x, e, i)) return true;
    x->o->make(x->o->user, (int)(e - x->entry), i, &e->of->c[i]);
    return admitted(x, e, i);
}

/* The op whose next trial is expected to gain most time; NULL: none has a plan left.  */
static Entry *worth_most(const Contest *x) {
    Entry *best = NULL;
    double most = -1;
    for (Entry *e = x->entry; e < x->entry + x->n; e++) {
        double weight = e->of->weight > 0 ? e->of->weight : 1;
        double worth = learn_worth(x->learn, &e->field);
        if (worth == LEARN_NONE || weight * worth <= most) continue;
        most = weight * worth;
        best = e;
    }
    return best;
}

/* Why no other candidate is tried; TRIAL_RIGHT: one is.  */
static TrialEnd over(const Contest *x) {
    if (watch_ended(x->o->watch)) return TRIAL_STOPPED;
    if (x->o->limit_s > 0 && clock_now_s() - x->begun >= x->o->limit_s) return TRIAL_TIME;
    return x->o->trials > 0 && x->done >= x->o->trials ? TRIAL_UNLIKELY : TRIAL_RIGHT;
}

static void leave(Contest *x, TrialEnd why) {
    for (Entry *e = x->entry; e < x->entry + x->n; e++) {
        for (int i = 0; i < e->of->n; i++) {
            if (x->out[e->field.from + i]) continue;
            e->of->trial[i].end = why;
            e->of->trial[i].reason = why == TRIAL_STOPPED ? "stopped"
                                     : why == TRIAL_TIME
                                         ? "the time was over"
                                         : "others were more likely to be the fastest";
        }
    }
}

static const char *label(const Contest *x, const Entry *e, int i) {
    const char *plan = arena_printf(x->a, "plan %d", i + 1);
    return x->n > 1 ? arena_printf(x->a, "%s, %s", e->of->set->te->name, plan) : plan;
}

static Status try_one(Contest *x, Entry *e, int i) {
    MeasureOptions o = *x->o;
    Trial *t = &e->of->trial[i];
    double left = o.limit_s > 0 ? o.limit_s - (clock_now_s() - x->begun) : 0;
    int all = o.trials > 0 && o.trials < x->n_all ? o.trials : x->n_all;
    watch_step(o.watch, "measure", x->done++, all, label(x, e, i));
    WorkerRequest request = worker_request(x->a, WORKER_TRIAL);
    WorkerLimits limits = measure_limits(&o, left);
    WorkerResult r;
    o.at = e->of->at;
    trial_request(&request, &(BuiltPlan){e->of->set, e->of->c[i].plan, e->of->c[i].build}, &o,
                  true, e->field.best_us);
    Status s = measure_ask(x->a, x->d, &o, &request, &limits, &r);
    if (s) return s;
    if (measure_unable(&r)) return measure_refused(x->d, &r);
    measure_judge(x->a, &r, &limits, t);
    if (t->end != TRIAL_RIGHT) return ST_OK;
    timed(x, e, i);
    if (o.keep) o.keep(o.user, (int)(e - x->entry), i, &t->timing);
    return ST_OK;
}

/* ---- the verdict ---- */
static Status none_right(Diag *d, const Candidates *x) {
    const Trial *t = &x->trial[0];
    return diag_error(d, ST_CHECK, NULL, DIAG_NOWHERE,
                      "no plan of %d runs right on the device; the first: %s: %s", x->n,
                      x->n ? trial_name(t->end) : "", x->n ? t->reason : "");
}

static bool any_ends(const Candidates *x, TrialEnd least) {
    for (int i = 0; i < x->n; i++)
        if (x->trial[i].end >= least) return true;
    return false;
}

/* Of the first op none of which is right and, with `tried`, none is left to be tried.  */
static const Candidates *failed(const Contest *x, bool tried) {
    for (const Entry *e = x->entry; e < x->entry + x->n; e++)
        if (e->of->best < 0 && !(tried && any_ends(e->of, TRIAL_UNLIKELY))) return e->of;
    return NULL;
}

static Status verdict(const Contest *x) {
    const Candidates *none = failed(x, true);
    bool any = false, late = false;
    for (const Entry *e = x->entry; e < x->entry + x->n; e++) {
        any |= e->of->best >= 0;
        late |= any_ends(e->of, TRIAL_TIME);
    }
    if (any || x->n == 0) return none ? none_right(x->d, none) : ST_OK;
    if (watch_ended(x->o->watch))
        return diag_error(x->d, ST_CANCELLED, NULL, DIAG_NOWHERE,
                          "stopped before a plan was measured");
    if (late)
        return diag_error(x->d, ST_CANCELLED, NULL, DIAG_NOWHERE,
                          "the time limit was over before a plan was measured");
    return none_right(x->d, failed(x, false));
}

Status measure_candidates(Arena *a, Diag *d, Candidates *all, int n, const MeasureOptions *o) {
    Contest x = {.a = a, .d = d, .o = o, .n = n, .begun = clock_now_s()};
    TrialEnd why;
    Entry *e;
    begin(&x, all);
    while ((why = over(&x)) == TRIAL_RIGHT && (e = worth_most(&x))) {
        double gain;
        int i = learn_next(x.learn, &e->field, &gain) - e->field.from;
        x.out[e->field.from + i] = true;
        Status s = ready(&x, e, i) ? try_one(&x, e, i) : ST_OK;
        if (s) return s;
    }
    leave(&x, why);
    return verdict(&x);
}
