#include "driver/profile/profile_apart.h"
#include "base/clock.h"
#include "driver/device/measure.h"
#include "profiler/profiler.h"

#include <string.h>

static const char *const rows[] = {
#define X(name, ...) #name,
    PROFILER_BENCHES(X)
#undef X
};
enum { ROWS = (int)(sizeof rows / sizeof *rows) };

typedef struct {
    RollerCtx *ctx;
    Arena *a;
    const RollerMeasureOptions *o;
    ProfileLeg leg;
    int row, attempts;        /* where this worker began */
    struct {
        int row, attempts;    /* where another one goes on; ROWS: it did not come that far */
        Buf json;
    } kept;
    const char *json;         /* so far */
    size_t len;
} Apart;

/* ---- which measurements ---- */
static int find(const char *row) {
    int i = 0;
    while (i < ROWS && strcmp(rows[i], row)) i++;
    return i;
}

/* The rows from `first` on that are wanted; NULL: none.  */
static const char *rows_from(const Apart *x, int first) {
    Buf list = buf_new(x->a);
    for (int i = first; i < ROWS; i++)
        if (profiler_chosen(x->o->only, rows[i]))
            buf_printf(&list, "%s%s", list.len ? "," : "", rows[i]);
    return list.len ? buf_str(&list) : NULL;
}

/* ---- one worker ---- */
/* What does not read is no news.  */
static void take_news(void *user, const char *data, size_t len) {
    Apart *x = user;
    ProfileNews n;
    if (!profile_news_get(data, len, &n)) return;
    if (n.kind == PROFILE_STEP) {
        watch_tell(&x->ctx->watch,
                   &(WatchStep){"profile", n.what, n.done, n.total, n.left_s});
        return;
    }
    x->kept.row = find(n.what);
    x->kept.attempts = n.done;
    x->kept.json.len = 0;
    buf_add(&x->kept.json, n.json ? n.json : "", n.len);
}

static Status run_worker(Apart *x, double left_s, WorkerResult *r) {
    enum { PATIENCE = 5 };                /* an attempt may take that part of the time */
    RollerCtx *ctx = x->ctx;
    WorkerRequest request = worker_request(x->a, WORKER_PROFILE);
    WorkerOptions program = {ctx->worker, ctx->ignore_environment};
    WorkerLimits limits = {.watchdog_s = x->o->limit_s / PATIENCE, .limit_s = left_s,
                           .watch = &ctx->watch, .news = take_news, .user = x};
    profile_leg_put(&request.head, &x->leg);
    x->kept.row = ROWS;
    return worker_run(x->a, &ctx->diag, &program, &request, &limits, r);
}

/* ---- what a worker left ---- */
static const char *reason(const Apart *x, const WorkerResult *r) {
    switch (r->end) {
    case WORKER_DONE: return r->message ? r->message : status_text(r->status);
    case WORKER_HUNG: return "the device did not answer";
    case WORKER_STOPPED: return "the time for it was over";
    case WORKER_REFUSED: return "its worker's answer does not read";
    case WORKER_DIED: break;
    }
    return arena_printf(x->a, "the process that measured it ended (signal %d)", r->signal);
}

/* Notes rows first..last as missed.  */
static Status note(Apart *x, int first, int last, const char *why) {
    Device *dev;
    Status s = hal_profile_read(x->a, &x->ctx->diag,
                                (DiagText){"measured profile", x->json, x->len}, &dev);
    if (s) return s;
    Missed *all = ARENA_ARRAY(x->a, Missed, dev->n_missed + ROWS);
    int n = 0;
    for (int i = 0; i < dev->n_missed; i++) {
        int row = find(dev->missed[i].name);
        if (row < first || row > last) all[n++] = dev->missed[i];
    }
    for (int i = first; i <= last; i++)
        if (profiler_chosen(x->o->only, rows[i])) all[n++] = (Missed){rows[i], why};
    dev->missed = all;
    dev->n_missed = n;
    Buf json = buf_new(x->a);
    hal_profile_write(dev, &json);
    x->json = buf_str(&json);
    x->len = json.len;
    return ST_OK;
}

static Status cancelled(Apart *x) {
    return diag_error(&x->ctx->diag, ST_CANCELLED, NULL, DIAG_NOWHERE,
                      "the measurement was cancelled");
}

static Status fail(Apart *x, const WorkerResult *r) {
    Diag *d = &x->ctx->diag;
    Status s = r->end == WORKER_DONE ? r->status : ST_DRIVER;
    diag_error(d, s, r->end == WORKER_DONE ? NULL : "cuda", DIAG_NOWHERE, "%s", reason(x, r));
    if (r->hint) diag_hint(d, "%s", r->hint);
    if (r->code.number) diag_code(d, r->code.of, r->code.number, r->code.name);
    return s;
}

/* Where to go on after a worker that has not come to the end; at row ROWS: nowhere.  */
static Status after(Apart *x, const WorkerResult *r, bool over) {
    bool any = x->kept.row < ROWS, first = !x->row && !x->attempts;
    bool ended = r->end == WORKER_DONE && !(any && r->status == ST_DEVICE);
    int row = any ? x->kept.row : x->row, attempts = any ? x->kept.attempts : x->attempts;
    if (any) {
        x->json = arena_strndup(x->a, x->kept.json.text, x->kept.json.len);
        x->len = x->kept.json.len;
    }
    if (first && (!any || ended)) return fail(x, r);
    if (over || ended) {
        x->row = ROWS;
        return note(x, row, ROWS - 1, over ? "the time was over" : reason(x, r));
    }
    bool stuck = !attempts || (row == x->row && attempts == x->attempts);
    x->row = stuck ? row + 1 : row;
    x->attempts = stuck ? 0 : attempts;
    return stuck ? note(x, row, row, reason(x, r)) : ST_OK;
}

static Status run(Apart *x) {
    double begun = clock_now_s(), limit = x->o->limit_s, own = 0.8 * limit;
    Status s = ST_OK;
    while (!s && (x->row == 0 || rows_from(x, x->row))) {
        double left = limit > 0 ? limit - (clock_now_s() - begun) : 0;
        WorkerResult r;
        x->leg.o.only = x->row ? rows_from(x, x->row) : x->o->only;
        x->leg.o.limit_s = left - (limit - own);
        x->leg.skip = x->attempts;
        s = run_worker(x, left, &r);
        if (s) break;
        if (watch_ended(&x->ctx->watch) || (r.end == WORKER_DONE && r.status == ST_CANCELLED))
            return cancelled(x);
        if (r.end == WORKER_DONE && !r.status) {
            x->json = r.answer;
            x->len = r.len;
            break;
        }
        s = after(x, &r, limit > 0 && clock_now_s() - begun >= own);
        x->leg.base = x->json;
    }
    return s;
}

Status profile_measure_apart(RollerCtx *ctx, int device, const RollerMeasureOptions *o,
                             const char **json, size_t *len) {
    Apart x = {.ctx = ctx, .a = ctx->call, .o = o,
               .leg = {.device = device, .o = *o, .base = o->base,
                       .profile_path = ctx->profile_path,
                       .nvrtc = ctx->nvrtc.path, .nvrtc_folders = ctx->nvrtc.folders,
                       .ignore_environment = ctx->ignore_environment}};
    x.kept.json = buf_new(ctx->call);
    Status s = run(&x);
    *json = x.json;
    *len = x.len;
    return s;
}
