/* What a worker is asked, and what its answers mean.  */
#include "driver/device/measure_ask.h"

const char *trial_name(TrialEnd e) {
    static const char *const name[] = {
#define X(id, text, meaning) text,
        TRIAL_ENDS(X)
#undef X
    };
    return name[e];
}

WorkerLimits measure_limits(const MeasureOptions *o, double left_s) {
    return (WorkerLimits){.watchdog_s = o->watchdog_s, .opening_s = o->opening_s,
                          .limit_s = left_s, .watch = o->watch};
}

Status measure_ask(Arena *a, Diag *d, const MeasureOptions *o, const WorkerRequest *request,
                   const WorkerLimits *limits, WorkerResult *r) {
    WorkerOptions program = {o->worker, o->cuda.ignore_environment};
    return worker_run(a, d, &program, request, limits, r);
}

Status measure_refused(Diag *d, const WorkerResult *r) {
    diag_error(d, r->status, "cuda", DIAG_NOWHERE, "%s",
               r->message ? r->message : status_text(r->status));
    if (r->hint) diag_hint(d, "%s", r->hint);
    if (r->code.number) diag_code(d, r->code.of, r->code.number, r->code.name);
    return r->status;
}

/* The first line of a check's text is the summary, what is wrong comes after it.  */
static const char *after_line(const char *text) {
    const char *line = strchr(text, '\n');
    return line ? line + 1 : text;
}

void measure_judge(Arena *a, const WorkerResult *r, const WorkerLimits *limits, Trial *out) {
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

/* An error of the environment (no memory, no permission ...) is nobody's fault among the
 * candidates.  */
bool measure_unable(const WorkerResult *r) {
    return r->end == WORKER_DONE &&
           (r->status == ST_DRIVER || r->status == ST_DEVICE || r->status == ST_ARCH ||
            r->status == ST_NOMEM || r->status == ST_IO || r->status == ST_INTERNAL);
}
