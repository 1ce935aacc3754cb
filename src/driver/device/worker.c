/* The host's side of a worker.  */
#include "driver/device/worker.h"
#include "base/clock.h"
#include "driver/build/build.h"
#include "driver/device/worker_spawn.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 50, HEADER = 1 + sizeof(int64_t) };
static const size_t answer_most = (size_t)64 << 20, texts_most = (size_t)1 << 20;

typedef struct {
    int fd;
    pid_t pid;
    const WorkerLimits *limits;
    const WorkerRequest *request;
    size_t sent;              /* bytes of the part that is sent now: the length, head, spans */
    int span;
    uint64_t length;
    double begin, seen, ran, queued;      /* by the clock; of the processor, of the worker */
    double waited;                        /* so far, of a wait */
    char waiting;             /* for what: 'O', 'W', 'S'; 0: it does not */
    Buf in;                   /* bytes that are not taken yet */
    bool replied, garbled, ended;
    bool gone;                            /* the process has ended ... */
    int signal;                           /* ... by this one; 0: by itself */
} Watching;

/* ---- sending ---- */
static size_t most_of(const WorkerLimits *l) {
    return (l->answer_most ? l->answer_most : answer_most) + texts_most;
}

static WorkerSpan span_of(const Watching *w, int span) {
    const WorkerRequest *r = w->request;
    if (span == 0) return (WorkerSpan){&w->length, sizeof w->length};
    if (span == 1) return (WorkerSpan){r->head.text, r->head.len};
    return r->span[span - 2];
}

static bool is_sent(const Watching *w) { return w->span == w->request->n_span + 2; }

/* A worker that does not listen any more says so by its end.  */
static void send_some(Watching *w) {
    while (!is_sent(w)) {
        WorkerSpan s = span_of(w, w->span);
        if (w->sent == s.len) {
            w->span++;
            w->sent = 0;
            continue;
        }
        ssize_t n = send(w->fd, (const char *)s.data + w->sent, s.len - w->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
        if (n < 0) w->span = w->request->n_span + 2;
        else w->sent += (size_t)n;
    }
}

/* ---- receiving ---- */
/* Bytes of a frame that begins with a header; 0: more are needed to tell.  */
static size_t frame_size(Watching *w, const char *at, size_t have) {
    uint64_t len;
    if (have < HEADER) return 0;
    memcpy(&len, at + 1, sizeof len);
    if (len > most_of(w->limits)) w->garbled = true;
    return w->garbled ? 0 : HEADER + (size_t)len;
}

/* Takes the frames that are whole; the reply stays.  */
static void take_frames(Watching *w) {
    size_t at = 0;
    while (at < w->in.len && !w->replied && !w->garbled) {
        const char *frame = w->in.text + at;
        size_t have = w->in.len - at, size = 1;
        if (*frame && strchr("OWSH", *frame)) {
            w->waiting = *frame == 'H' ? 0 : *frame;
            w->waited = 0;
        } else if (*frame == 'N' || *frame == 'R') {
            size = frame_size(w, frame, have);
            if (size == 0 || size > have) break;
            w->replied = *frame == 'R';
            if (w->replied) break;
            if (w->limits->news) w->limits->news(w->limits->user, frame + HEADER, size - HEADER);
        } else {
            w->garbled = true;
        }
        at += size;
    }
    if (at == 0) return;
    memmove(w->in.text, w->in.text + at, w->in.len - at);
    w->in.len -= at;
}

/* ---- watching ---- */
/* Has it ended?  Its number stays its own until finish().  A host that has its children reaped by
 * the system is told nothing but that.  */
static void look(Watching *w) {
    siginfo_t is = {0};
    if (w->gone) return;
    if (waitid(P_PID, (id_t)w->pid, &is, WEXITED | WNOHANG | WNOWAIT)) {
        w->gone = errno == ECHILD;
        return;
    }
    w->gone = is.si_pid == w->pid;
    if (w->gone && is.si_code != CLD_EXITED) w->signal = is.si_status;
}

static double ran_s(pid_t pid) {
    clockid_t own;
    struct timespec t;
    if (clock_getcpuclockid(pid, &own) || clock_gettime(own, &t)) return 0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double patience_s(const Watching *w) {
    enum { OPENING_S = 60, DEVICE_S = 20 };
    const WorkerLimits *l = w->limits;
    if (w->waiting == 'O') return l->opening_s > 0 ? l->opening_s : OPENING_S;
    return l->watchdog_s > 0 ? l->watchdog_s : DEVICE_S;
}

/* How long its threads were kept from running by others, as far as the system tells: the second
 * number of schedstat, ns.  */
static double queued_s(pid_t pid) {
    char path[64], task[sizeof path + 280];
    double sum = 0;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        char line[96], *second;
        snprintf(task, sizeof task, "%s/%s/schedstat", path, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(task, "re");
        if (f && fgets(line, sizeof line, f) && (second = strchr(line, ' ')))
            sum += (double)strtoull(second, NULL, 10) * 1e-9;
        if (f) fclose(f);
    }
    if (folder) closedir(folder);
    return sum;
}

/* A worker that a busy machine keeps from running does not hang.  So a span counts as long as the
 * worker ran in it, and whole if it all but slept, as it does when a device hangs.  One that runs
 * may be simulating.  */
static void count_wait(Watching *w) {
    static const double asleep = 0.05;
    double now = clock_now_s(), ran = ran_s(w->pid), queued = queued_s(w->pid);
    double span = now - w->seen, share = ran - w->ran, kept = queued - w->queued;
    bool runs = share + fmax(kept, 0) > asleep * span;
    bool simulates = w->waiting == 'S' && w->limits->watchdog_s <= 0;
    if (w->waiting && !(runs && simulates)) w->waited += runs && share < span ? share : span;
    w->seen = now;
    w->ran = ran;
    w->queued = queued;
}

/* The end of the socket alone would not do: whatever the worker forked holds it open as well.  */
static void listen_and_send(Watching *w) {
    enum { CHUNK = 1 << 16 };
    char bytes[CHUNK];
    short wanted = is_sent(w) ? POLLIN : POLLIN | POLLOUT;
    struct pollfd p = {.fd = w->fd, .events = wanted};
    look(w);
    int ready = poll(&p, 1, w->gone ? 0 : POLL_MS);
    count_wait(w);
    if (ready == 0) w->ended = w->gone;
    if (ready <= 0) return;
    if (p.revents & POLLOUT) send_some(w);
    if (!(p.revents & (POLLIN | POLLHUP | POLLERR))) return;
    ssize_t n = recv(w->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
        buf_add(&w->in, bytes, (size_t)n);
        take_frames(w);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
        w->ended = true;
    }
}

/* How the watch must end now; WORKER_DONE: it goes on.  */
static WorkerEnd verdict(const Watching *w) {
    const WorkerLimits *l = w->limits;
    if (watch_ended(l->watch)) return WORKER_STOPPED;
    if (w->garbled) return WORKER_REFUSED;
    if (w->waiting && w->waited > patience_s(w)) return WORKER_HUNG;
    return l->limit_s > 0 && w->seen - w->begin > l->limit_s ? WORKER_STOPPED : WORKER_DONE;
}

/* Nothing of the worker survives the call, even one that runs out of memory: neither what it has
 * started, which is of its group, nor its number.  A call that a driver does not come back from may
 * not even be ended by SIGKILL; such a process is waited for no longer than that.  */
static void finish(void *p) {
    enum { PAUSES = 500, PAUSE_MS = 10 };
    Watching *w = p;
    if (w->fd >= 0) close(w->fd);
    w->fd = -1;
    if (w->pid <= 0) return;
    kill(-w->pid, SIGKILL);
    for (int i = 0; i < PAUSES; i++) {
        pid_t got = waitpid(w->pid, NULL, WNOHANG);
        if (got > 0 || (got < 0 && errno != EINTR)) break;
        poll(NULL, 0, i < PAUSE_MS ? 1 : PAUSE_MS);
    }
    w->pid = 0;
}

/* The socket ends a moment before the process does.  */
static void see_it_end(Watching *w) {
    enum { PAUSES = 100, PAUSE_MS = 10 };
    look(w);
    for (int i = 0; i < PAUSES && !w->gone; i++) {
        poll(NULL, 0, PAUSE_MS);
        look(w);
    }
}

static bool whole_reply(Watching *w) {
    return w->replied && frame_size(w, w->in.text, w->in.len) == w->in.len;
}

static void wait_for(Watching *w, WorkerResult *out) {
    out->end = WORKER_DONE;
    while (!w->ended && !w->replied && out->end == WORKER_DONE) {
        listen_and_send(w);
        out->end = verdict(w);
    }
    if (out->end == WORKER_HUNG) out->watchdog_s = patience_s(w);
    if (w->replied && out->end == WORKER_HUNG) out->end = WORKER_DONE;
    if (out->end != WORKER_DONE || whole_reply(w)) return;
    see_it_end(w);
    bool broken = w->replied || w->in.len;
    out->end = broken && !w->signal ? WORKER_REFUSED : WORKER_DIED;
    out->signal = w->signal;
}

static void open_reply(const Watching *w, WorkerResult *out) {
    WireReader r = wire_reader(w->in.text + HEADER, w->in.len - HEADER);
    out->status = (Status)wire_read_within(&r, 0, ST_COUNT - 1);
    out->message = wire_read_text(&r);
    out->hint = wire_read_text(&r);
    out->code.of = (DiagLibrary)wire_read_within(&r, 0, DIAG_NVRTC);
    out->code.number = (int)wire_read_within(&r, INT32_MIN, INT32_MAX);
    out->code.name = wire_read_text(&r);
    out->answer = wire_read_bytes(&r, &out->len);
    if (wire_read_all(&r) && (!out->code.number || out->code.name)) return;
    *out = (WorkerResult){.end = WORKER_REFUSED};
}

WorkerRequest worker_request(Arena *a, WorkerJob job) {
    WorkerRequest r = {.head = buf_new(a)};
    wire_text(&r.head, worker_magic);
    wire_text(&r.head, build_id());
    wire_int(&r.head, job);
    return r;
}

Status worker_run(Arena *a, Diag *d, const WorkerOptions *o, const WorkerRequest *request,
                  const WorkerLimits *limits, WorkerResult *out) {
    *out = (WorkerResult){.end = WORKER_DIED};
    const char *file;
    Status s = worker_find(a, d, o, &file);
    if (s) return s;
    Watching *w = ARENA_NEW(a, Watching);
    *w = (Watching){.fd = -1, .limits = limits, .request = request, .begin = clock_now_s(),
                    .length = request->head.len, .in = buf_new(a)};
    for (int i = 0; i < request->n_span; i++) w->length += request->span[i].len;
    arena_defer(a, finish, w);
    s = worker_spawn(d, file, &w->pid, &w->fd);
    if (s) return s;
    w->seen = w->begin;
    wait_for(w, out);
    if (out->end == WORKER_DONE) open_reply(w, out);
    finish(w);
    return ST_OK;
}
