/* Worker: work on a device, in a process that is executed for it, under a watchdog.
 *
 * A device may fault, hang or end the process that uses it, and a host that has the CUDA driver
 * open cannot fork one.  So each piece of such work is done by a program of its own, roller-worker,
 * which is started by posix_spawn, does one job and ends.  The host's driver is not touched;
 * neither are its signal handlers, and its handlers know nothing of the worker.
 *
 * The worker's standard input is a socket to the host, its standard output leads nowhere, its
 * arguments are `--roller-worker`.  The host sends one request, and keeps its end open until it has
 * the reply: when the host ends, however it does, the worker sees the end of the socket and ends,
 * too.  Numbers have 8 bytes, in the machine's order (base/wire.h):
 *
 *     request  length, then: text "roller-worker", text of the build, number of the job (below),
 *              and what the job asks for
 *     'O'      a driver is opened, 'W': a device is waited for, 'S': a simulated one is, each from
 *              now on: only this time counts for the watchdog
 *     'H'      work of the host from now on
 *     'N'      length, then news of the job
 *     'R'      length, then the reply, and nothing after it: status, message, hint, the code of a
 *              library that failed (of which one, number, name), and the bytes of the answer
 *
 * A reply is refused whole when it is truncated, longer than the job allows, or does not read; so
 * is a worker of another build than the host's library.  */
#ifndef ROLLER_DRIVER_DEVICE_WORKER_H
#define ROLLER_DRIVER_DEVICE_WORKER_H
#include "base/watch.h"
#include "base/wire.h"

#include <stdint.h>

/*    name       what it does (a WorkerBody of this name in lower case, worker_NAME) */
#define WORKER_JOBS(X)                                                                             \
    X(PROBE,     probe)     /* which device is it? */                                              \
    X(TRIAL,     trial)     /* prove a kernel, and time it */                                      \
    X(OUTPUTS,   outputs)   /* run a kernel on given data */                                       \
    X(COUNTERS,  counters)  /* the device's counters of a kernel */                                \
    X(PROFILE,   profile)   /* measure the device */
typedef enum {
#define X(id, name) WORKER_##id,
    WORKER_JOBS(X)
#undef X
        WORKER_JOB_COUNT
} WorkerJob;

/* ---- the host's side ---- */
typedef struct {
    const char *file;         /* absolute path of the program; NULL: search */
    bool ignore_environment;  /* set-uid callers */
} WorkerOptions;
/* The program: the given one, else $ROLLER_WORKER, else roller-worker beside this code or in the
 * libexec folder of the same installation.  ST_IO if there is none.  */
Status worker_find(Arena *a, Diag *d, const WorkerOptions *o, const char **file);

/* A request: what was added to `head`, then the spans as they lie.  */
typedef struct {
    const void *data;
    size_t len;
} WorkerSpan;
typedef struct {
    Buf head;
    const WorkerSpan *span;
    int n_span;
} WorkerRequest;
/* Begins a request; the job's own fields are added to its head.  */
WorkerRequest worker_request(Arena *a, WorkerJob job);

typedef enum {
    WORKER_DONE, WORKER_DIED, WORKER_HUNG, WORKER_STOPPED, WORKER_REFUSED
} WorkerEnd;
typedef struct {
    WorkerEnd end;
    int signal;               /* WORKER_DIED: the one that ended it; 0: none did */
    double watchdog_s;        /* WORKER_HUNG: what it waited for */
    Status status;            /* WORKER_DONE: what the job returned ... */
    const char *message, *hint;           /* ... and its first error, or NULL */
    DiagCode code;
    const char *answer;
    size_t len;
} WorkerResult;

typedef struct {
    /* The longest wait to 'H', less what others' work took.  From 'O' that is opening_s (0: 60,
     * since a driver wakes every GPU of a machine), else watchdog_s (0: 20; from 'S' only time of
     * rest counts then, since a simulation that works takes as long as it takes).  */
    double watchdog_s, opening_s;
    double limit_s;           /* of the whole worker; 0: none */
    Watch *watch;             /* NULL: nobody's */
    size_t answer_most;       /* bytes of a longer answer are refused; 0: 64 MiB */
    /* Told of news; may be NULL.  */
    void (*news)(void *user, const char *data, size_t len);
    void *user;
} WorkerLimits;

/* Has a worker do a job and waits for it.  ST_IO if there can be none.  Nothing of it survives the
 * call, but a process that a driver keeps from being killed for five seconds, which is left.  */
Status worker_run(Arena *a, Diag *d, const WorkerOptions *o, const WorkerRequest *request,
                  const WorkerLimits *limits, WorkerResult *out);

/* ---- the worker's side ---- */
typedef struct Worker Worker;
/* Reads what the job asks for; what it adds to *answer is what the host gets.  d and *answer lie on
 * an arena of their own, so `a` may be reset.  */
typedef Status (*WorkerBody)(Worker *w, WireReader *in, Arena *a, Diag *d, Buf *answer);
#define X(id, name) Status worker_##name(Worker *w, WireReader *in, Arena *a, Diag *d, Buf *answer);
WORKER_JOBS(X)
#undef X
/* Tells the watchdog that calls of the driver begin or have ended: those that open it, until
 * worker_opened has said what was.  */
void worker_waits(void *worker, bool waiting);
void worker_opened(Worker *w, bool simulated);
void worker_news(Worker *w, const char *data, size_t len);
/* What every job says of a request that does not read.  */
Status worker_misread(Diag *d);
/* Does the job that is asked for through the socket, and ends the process.  */
_Noreturn void worker_serve(int socket);
#endif
