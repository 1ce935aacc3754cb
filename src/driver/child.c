#include "driver/child.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

/* What goes through the pipe: announcements of one byte, then 'R', a Reply and its texts.  */
enum { WAITING = 'W', WORKING = 'H', REPLY = 'R', POLL_MS = 50 };
typedef struct {
    Status status;
    DiagLibrary of;
    int code;
    size_t message, hint, name, answer;   /* bytes of each text; 0: none */
} Reply;

struct Child {
    int out;
};

/* ---- the child ---- */
static bool put(int fd, const void *data, size_t len) {
    for (const char *at = data; len;) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

void child_waits(void *child, bool waiting) {
    char c = waiting ? WAITING : WORKING;
    put(((Child *)child)->out, &c, 1);
}

typedef struct {
    Child child;
    ChildBody body;
    void *user;
    Arena *arena, *kept;      /* of the body; of what is sent */
    bool done;
} Task;

static void work(void *p) {
    Task *t = p;
    Diag d = diag_new(t->kept);
    Buf answer = buf_new(t->kept);
    Reply r = {.status = t->body(&t->child, t->user, t->arena, &d, &answer)};
    const DiagMessage *m = diag_first_error(&d);
    const char *message = m ? m->message : "", *hint = m && m->hint ? m->hint : "";
    const char *name = m && m->code.number ? m->code.name : "";
    r.message = strlen(message);
    r.hint = strlen(hint);
    r.name = strlen(name);
    if (m) r.of = m->code.of;
    if (m) r.code = m->code.number;
    r.answer = answer.len;
    char kind = REPLY;
    if (put(t->child.out, &kind, 1) && put(t->child.out, &r, sizeof r) &&
        put(t->child.out, message, r.message) && put(t->child.out, hint, r.hint) &&
        put(t->child.out, name, r.name))
        put(t->child.out, answer.text, answer.len);
}

static void outer(void *p) {
    Task *t = p;
    t->done = arena_try(t->arena, work, t);
}

/* Keys that end the parent must not end the child first: the parent decides.  What else ends the
 * child ends it alone: handlers of the caller know nothing of this process.  What the child holds
 * goes with its process: giving it back to a driver could hang once more.  */
static void be_child(pid_t parent, int fd, ChildBody body, void *user) {
#ifdef __linux__
    /* A parent that was killed watches no longer.  */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) return;
#else
    (void)parent;
#endif
    static const int ends[] = {SIGTERM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, normal = {.sa_handler = SIG_DFL};
    sigaction(SIGINT, &ignore, NULL);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) sigaction(ends[i], &normal, NULL);
    Task t = {.child = {fd}, .body = body, .user = user, .arena = arena_create(NULL),
              .kept = arena_create(NULL)};
    if (t.arena && t.kept && arena_try(t.kept, outer, &t) && t.done) return;
    char kind = REPLY;
    if (put(fd, &kind, 1)) put(fd, &(Reply){.status = ST_NOMEM}, sizeof(Reply));
}

/* ---- the parent ---- */
typedef struct {
    int fd;
    pid_t pid;
    const ChildLimits *limits;
    double begin, seen, ran;              /* by the clock; of the processor, of the child */
    double waited;                        /* so far, of a wait */
    bool waiting;
    Buf text;                             /* from 'R' on */
    bool replying, ended;
    bool gone;                            /* the process has ended, by `status` */
    int status;
} Watching;

static void take(Watching *w, const char *bytes, size_t n) {
    for (size_t i = 0; i < n && !w->replying; i++) {
        w->waiting = bytes[i] == WAITING;
        w->waited = 0;
        if (bytes[i] != REPLY) continue;
        w->replying = true;
        buf_add(&w->text, bytes + i + 1, n - i - 1);
        return;
    }
    if (w->replying) buf_add(&w->text, bytes, n);
}

static void reap(Watching *w, bool wait) {
    pid_t pid = 0;
    while (!w->gone && (pid = waitpid(w->pid, &w->status, wait ? 0 : WNOHANG)) < 0)
        if (errno != EINTR) break;
    w->gone = w->gone || pid;
}

static double ran_s(pid_t pid) {
    clockid_t own;
    struct timespec t;
    if (clock_getcpuclockid(pid, &own) || clock_gettime(own, &t)) return 0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A child that a busy machine keeps from running does not hang.  So a span counts as long as the
 * child ran in it, and whole if it all but slept, as it does when a device hangs.  */
static void count_wait(Watching *w) {
    static const double asleep = 0.05;
    double now = clock_now_s(), ran = ran_s(w->pid), span = now - w->seen, share = ran - w->ran;
    if (w->waiting) w->waited += share > asleep * span && share < span ? share : span;
    w->seen = now;
    w->ran = ran;
}

/* The end of the pipe alone would not do: whatever was forked meanwhile holds it open as well.  */
static void listen(Watching *w) {
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
    char bytes[4096];
    reap(w, false);
    int ready = poll(&p, 1, w->gone ? 0 : POLL_MS);
    count_wait(w);
    if (ready == 0) w->ended = w->gone;
    if (ready <= 0) return;
    ssize_t n = read(w->fd, bytes, sizeof bytes);
    if (n > 0) take(w, bytes, (size_t)n);
    else if (n == 0 || errno != EINTR) w->ended = true;
}

/* How the watch must end now; CHILD_DONE: it goes on.  */
static ChildEnd verdict(const Watching *w) {
    const ChildLimits *l = w->limits;
    if (watch_ended(l->watch)) return CHILD_STOPPED;
    if (w->waiting && w->waited > l->watchdog_s) return CHILD_HUNG;
    return l->limit_s > 0 && w->seen - w->begin > l->limit_s ? CHILD_STOPPED : CHILD_DONE;
}

/* Ends the child, however it does.  */
static void end_child(Watching *w) {
    if (!w->gone) kill(w->pid, SIGKILL);
    reap(w, true);
}

/* Nothing of the child survives the call, even one that runs out of memory.  */
static void finish(void *p) {
    Watching *w = p;
    if (w->fd >= 0) close(w->fd);
    w->fd = -1;
    if (w->pid > 0) end_child(w);
}

static void wait_for(Watching *w, ChildResult *out) {
    ChildEnd end = CHILD_DONE;
    while (!w->ended && end == CHILD_DONE) {
        listen(w);
        end = verdict(w);
    }
    if (end == CHILD_DONE) reap(w, true);
    else end_child(w);
    out->end = end;
    if (end == CHILD_DONE && !w->replying) {
        out->end = CHILD_DIED;
        out->signal = WIFSIGNALED(w->status) ? WTERMSIG(w->status) : 0;
    }
}

static void open_reply(Arena *a, const Watching *w, ChildResult *out) {
    Reply r;
    if (out->end != CHILD_DONE) return;
    out->end = CHILD_DIED;
    if (w->text.len < sizeof r) return;
    memcpy(&r, w->text.text, sizeof r);
    const char *at = w->text.text + sizeof r;
    if (w->text.len - sizeof r != r.message + r.hint + r.name + r.answer) return;
    out->end = CHILD_DONE;
    out->status = r.status;
    out->message = r.message ? arena_strndup(a, at, r.message) : NULL;
    out->hint = r.hint ? arena_strndup(a, at + r.message, r.hint) : NULL;
    at += r.message + r.hint;
    out->code = (DiagCode){r.of, r.code, arena_strndup(a, at, r.name)};
    out->answer = arena_strndup(a, at + r.name, r.answer);
    out->len = r.answer;
}

Status child_run(Arena *a, Diag *d, ChildBody body, void *user, const ChildLimits *limits,
                 ChildResult *out) {
    int end[2];
    *out = (ChildResult){.end = CHILD_DIED};
    Watching *w = ARENA_NEW(a, Watching);
    *w = (Watching){.fd = -1, .limits = limits, .begin = clock_now_s(), .text = buf_new(a)};
    arena_defer(a, finish, w);
    if (pipe(end))
        return diag_error(d, ST_IO, NULL, DIAG_NOWHERE, "no pipe: %s", strerror(errno));
    const pid_t parent = getpid();
    w->pid = fork();
    if (w->pid == 0) {
        close(end[0]);
        be_child(parent, end[1], body, user);
        _exit(0); /* lint: the child's end must not run what the parent registered */
    }
    close(end[1]);
    w->fd = end[0];
    if (w->pid < 0)
        return diag_error(d, ST_IO, NULL, DIAG_NOWHERE, "no process: %s", strerror(errno));
    w->seen = w->begin;
    wait_for(w, out);
    open_reply(a, w, out);
    finish(w);
    return ST_OK;
}
