/* Measuring in processes of their own: this one stays without driver, as the kernels of a
 * calibration need it, and a process whose device is lost (a kernel that faults or hangs, a driver
 * that crashes) is followed by another one, which goes on with the next figure.  Each leaves what
 * it has before every attempt in a file without a name.  */
#include "base/clock.h"
#include "cli/profile.h"
#include "driver/child.h"
#include "driver/measure.h"
#include "profiler/profiler.h"

#include <stdio.h>
#include <string.h>

static const char *const rows[] = {
#define X(name, ...) #name,
    PROFILER_BENCHES(X)
#undef X
};
enum { ROWS = (int)(sizeof rows / sizeof *rows) };

int profile_probe(ProfileTool *t, MeasurePlace *place) {
    MeasureOptions o = {.device = t->o.device};
    return measure_probe(t->a, &t->diag, &o, place) ? profile_fail_here(t) : 0;
}

bool profile_chosen(const char *only, const char *row) {
    size_t len = strlen(row);
    if (!only) return true;
    for (const char *p = only; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, row, len) && (!p[len] || p[len] == ',')) return true;
    return false;
}

static int find(const char *row) {
    int i = 0;
    while (i < ROWS && strcmp(rows[i], row)) i++;
    return i;
}

/* The rows from `first` on that are wanted; NULL: none.  */
static const char *from(const ProfileTool *t, int first) {
    Buf list = buf_new(t->a);
    for (int i = first; i < ROWS; i++)
        if (profile_chosen(t->o.only, rows[i]))
            buf_printf(&list, "%s%s", list.len ? "," : "", rows[i]);
    return list.len ? buf_str(&list) : NULL;
}

/* ---- one process ---- */
typedef struct {
    ProfileTool *t;
    const ProfileLeg *leg;
    FILE *file;
    Child *child;
} Job;

typedef struct {
    int row, attempts;        /* where another process goes on */
    size_t len;
} Mark;

static void keep(void *user, const char *row, int attempts, const char *json, size_t len) {
    const Job *j = user;
    Mark m = {find(row), attempts, len};
    rewind(j->file);
    fwrite(&m, sizeof m, 1, j->file);
    fwrite(json, 1, len, j->file);
    fflush(j->file);
    if (j->leg->limit_s > 0) child_waits(j->child, true);
}

static void clear(FILE *file) {
    rewind(file);
    fwrite(&(Mark){.row = ROWS}, sizeof(Mark), 1, file);
    fflush(file);
}

/* False: the process did not come that far.  */
static bool kept(const ProfileTool *t, FILE *file, Mark *m, ProfileText *out) {
    rewind(file);
    if (fread(m, sizeof *m, 1, file) != 1 || m->row >= ROWS) return false;
    char *text = arena_alloc(t->a, m->len + 1);
    *out = (ProfileText){text, m->len};
    return fread(text, 1, m->len, file) == m->len;
}

static Status in_child(Child *c, void *user, Arena *a, Diag *d, Buf *answer) {
    Job *j = user;
    RollerProfile *p = NULL;
    ProfileLeg leg = *j->leg;
    (void)a;
    j->child = c;
    leg.resume.so_far = keep;
    leg.resume.user = j;
    RollerStatus s = leg.measure(j->t, &leg, &p);
    if (s) {
        const RollerError *e = roller_error(j->t->ctx);
        diag_error(d, (Status)s, NULL, DIAG_NOWHERE, "%s", e ? e->message : "it failed");
        if (e && e->hint) diag_hint(d, "%s", e->hint);
        return (Status)s;
    }
    const char *text;
    size_t len;
    roller_profile_text(p, &text, &len);
    buf_add(answer, text, len);
    return ST_OK;
}

/* ---- what a process left ---- */
static const char *reason(const ProfileTool *t, const ChildResult *r) {
    switch (r->end) {
    case CHILD_DONE: return r->message ? r->message : status_text(r->status);
    case CHILD_HUNG: return "the device did not answer";
    case CHILD_STOPPED: return "the time for it was over";
    default: return arena_printf(t->a, "the process that measured it ended (signal %d)", r->signal);
    }
}

/* Notes rows first..last as missed.  */
static Status note(ProfileTool *t, ProfileText *p, int first, int last, const char *why) {
    Device *dev;
    Status s = hal_profile_read(t->a, &t->diag, "measured profile", p->text, p->len, &dev);
    if (s) return s;
    Missed *all = ARENA_ARRAY(t->a, Missed, dev->n_missed + ROWS);
    int n = 0;
    for (int i = 0; i < dev->n_missed; i++) {
        int row = find(dev->missed[i].name);
        if (row < first || row > last) all[n++] = dev->missed[i];
    }
    for (int i = first; i <= last; i++)
        if (profile_chosen(t->o.only, rows[i])) all[n++] = (Missed){rows[i], why};
    dev->missed = all;
    dev->n_missed = n;
    Buf json = buf_new(t->a);
    hal_profile_write(dev, &json);
    *p = (ProfileText){buf_str(&json), json.len};
    return ST_OK;
}

static Status fail(ProfileTool *t, const ChildResult *r, bool stopped) {
    if (stopped)
        return diag_error(&t->diag, ST_CANCELLED, NULL, DIAG_NOWHERE,
                          "the measurement was cancelled");
    Status s = r->end == CHILD_DONE ? r->status : ST_DRIVER;
    diag_error(&t->diag, s, r->end == CHILD_DONE ? NULL : "cuda", DIAG_NOWHERE, "%s", reason(t, r));
    if (r->hint) diag_hint(&t->diag, "%s", r->hint);
    return s;
}

/* Where to go on after a process that has not come to the end; at row ROWS: nowhere.  */
static Status after(ProfileTool *t, const ChildResult *r, FILE *file, bool over, ProfileText *out,
                    Mark *at) {
    Mark m = *at;
    bool any = kept(t, file, &m, out), first = !at->row && !at->attempts;
    bool ended = r->end == CHILD_DONE && !(any && r->status == ST_DEVICE);
    if (first && (!any || ended)) return fail(t, r, false);
    if (over || ended) {
        *at = (Mark){.row = ROWS};
        return note(t, out, m.row, ROWS - 1, over ? "the time was over" : reason(t, r));
    }
    bool stuck = !m.attempts || (m.row == at->row && m.attempts == at->attempts);
    *at = stuck ? (Mark){.row = m.row + 1} : m;
    return stuck ? note(t, out, m.row, m.row, reason(t, r)) : ST_OK;
}

static Status run(ProfileTool *t, ProfileLeg *leg, FILE *file, Watch *watch, ProfileText *out) {
    enum { PATIENCE = 5 };                /* an attempt may take that part of the time */
    double begun = clock_now_s(), limit = leg->limit_s, own = 0.8 * limit;
    Status s = ST_OK;
    Mark at = {0};
    while (!s && (at.row == 0 || from(t, at.row))) {
        double left = limit > 0 ? limit - (clock_now_s() - begun) : 0;
        ChildLimits limits = {.watchdog_s = limit / PATIENCE, .limit_s = left, .watch = watch};
        Job j = {.t = t, .leg = leg, .file = file};
        ChildResult r;
        clear(file);
        leg->only = at.row ? from(t, at.row) : t->o.only;
        leg->resume.skip = at.attempts;
        leg->limit_s = left - (limit - own);
        s = child_run(t->a, &t->diag, in_child, &j, &limits, &r);
        if (s) break;
        if (watch_ended(watch) || (r.end == CHILD_DONE && r.status == ST_CANCELLED))
            return fail(t, &r, true);
        if (r.end == CHILD_DONE && !r.status) {
            *out = (ProfileText){r.answer, r.len};
            break;
        }
        s = after(t, &r, file, limit > 0 && clock_now_s() - begun >= own, out, &at);
        leg->resume.base = out->text;
    }
    return s;
}

int profile_measure_apart(ProfileTool *t, ProfileLeg *leg, Watch *watch, ProfileText *out) {
    FILE *file = tmpfile();
    if (!file) {
        diag_error(&t->diag, ST_IO, NULL, DIAG_NOWHERE, "no temporary file");
        return profile_fail_here(t);
    }
    Status s = run(t, leg, file, watch, out);
    fclose(file);
    return s ? profile_fail_here(t) : 0;
}
