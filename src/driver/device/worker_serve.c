/* The worker's side: one job, and its end.
 *
 * What a job holds goes with the process: giving it back to a driver could hang once more.  */
#include "driver/build/build.h"
#include "driver/device/worker_channel.h"
#include "driver/device/worker_spawn.h"
#include "roller.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static void end_now(int code) {
    _exit(code); /* lint: a worker's end: nothing is given back to the driver */
}

/* The host says nothing more, so that what ends this wait is its end.  */
static void *see_the_end(void *p) {
    const int *fd = p;
    char byte;
    while (worker_get(*fd, &byte, 1)) continue;
    end_now(1);
    return NULL;
}

/* ---- the job ---- */
typedef struct {
    Worker worker;
    Arena *arena, *kept;      /* of the job; of what is sent */
    bool done;
} Task;

static Status do_job(Task *t, WireReader *in, Diag *d, Buf *answer) {
    static const WorkerBody body[] = {
#define X(id, name) worker_##name,
        WORKER_JOBS(X)
#undef X
    };
    const char *magic = wire_read_text(in), *build = wire_read_text(in);
    if (!magic || strcmp(magic, worker_magic) != 0 || !build) return worker_misread(d);
    if (strcmp(build, build_id()) != 0)
        return diag_error(d, ST_IO, "worker", DIAG_NOWHERE,
                          "roller-worker is %s, and the library %.200s", build_id(), build);
    int64_t job = wire_read_within(in, 0, WORKER_JOB_COUNT - 1);
    return in->bad ? worker_misread(d) : body[job](&t->worker, in, t->arena, d, answer);
}

static void reply(int fd, Arena *a, Status s, const DiagMessage *m, const Buf *answer) {
    static const DiagMessage none;
    Buf b = buf_new(a);
    if (!m) m = &none;
    wire_int(&b, s);
    wire_text(&b, m->message);
    wire_text(&b, m->hint);
    wire_int(&b, m->code.of);
    wire_int(&b, m->code.number);
    wire_text(&b, m->code.name);
    wire_int(&b, (int64_t)answer->len);
    /* The answer may be large, and lies there already.  */
    const uint64_t length = b.len + answer->len;
    if (worker_put(fd, "R", 1) && worker_put(fd, &length, sizeof length) &&
        worker_put(fd, b.text, b.len))
        worker_put(fd, answer->text, answer->len);
}

static void work(void *p) {
    Task *t = p;
    uint64_t len;
    Diag d = diag_new(t->kept);
    Buf answer = buf_new(t->kept);
    if (!worker_get(t->worker.out, &len, sizeof len) || len > SIZE_MAX / 2) return;
    char *request = arena_alloc(t->kept, (size_t)len + 1);
    pthread_t thread;
    if (!worker_get(t->worker.out, request, (size_t)len)) return;
    if (!pthread_create(&thread, NULL, see_the_end, &t->worker.out)) pthread_detach(thread);
    WireReader in = wire_reader(request, (size_t)len);
    Status s = do_job(t, &in, &d, &answer);
    reply(t->worker.out, t->kept, s, diag_first_error(&d), &answer);
}

static void outer(void *p) {
    Task *t = p;
    t->done = arena_try(t->arena, work, t);
}

_Noreturn void worker_serve(int socket) {
    Task t = {.worker = {socket, 'O'}, .arena = arena_create(NULL), .kept = arena_create(NULL)};
    bool kept = t.arena && t.kept && arena_try(t.kept, outer, &t);
    if (!kept || !t.done) {
        Arena *last = arena_create(NULL);
        Diag d = {0};
        Buf none = {0};
        if (last) reply(socket, last, ST_NOMEM, diag_first_error(&d), &none);
    }
    end_now(0);
    for (;;) continue;
}

void roller_worker(int argc, char *const *argv) {
    if (argc == 2 && strcmp(argv[1], worker_argument) == 0) worker_serve(STDIN_FILENO);
}
