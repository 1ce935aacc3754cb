/* Workers as the header of worker.h tells of them: this program is one, too, and misbehaves
 * as $FAKE says; what it writes is written down here byte for byte.  Then the real one: answers,
 * cut and spoiled requests, and a host that ends.  */
#include "arena_fixture.h"
#include "driver/device/worker.h"
#include "driver/device/worker_spawn.h"
#include "effort.h"
#include "simulated.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char self[4096];

/* ---- the fake ---- */
static void put(const void *data, size_t len) {
    for (size_t at = 0; at < len;) {
        ssize_t n = write(STDIN_FILENO, (const char *)data + at, len - at);
        if (n <= 0) _exit(3);
        at += (size_t)n;
    }
}

static void put_number(int64_t v) { put(&v, sizeof v); }

static void put_text(const char *s) {
    put_number(s ? (int64_t)strlen(s) + 1 : 0);
    if (s) put(s, strlen(s) + 1);
}

static size_t get(void *to, size_t len) {
    size_t at = 0;
    for (ssize_t n = 1; at < len && n > 0; at += n > 0 ? (size_t)n : 0)
        n = read(STDIN_FILENO, (char *)to + at, len - at);
    return at;
}

/* status, message, hint, code, answer */
static void put_reply(int64_t extra, int64_t status, const char *message, const char *answer) {
    size_t texts = message ? strlen(message) + 1 : 0, len = strlen(answer);
    put("R", 1);
    put_number((int64_t)(7 * 8 + texts + len) + extra);
    put_number(status);
    put_text(message);
    put_text(NULL);
    put_number(0);
    put_number(0);
    put_text(NULL);
    put_number((int64_t)len);
    put(answer, len);
}

static void wait_for_ever(void) {
    for (;;) pause();
}

static void sleep_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR) continue;
}

enum { PATIENCE_S = 25 };                  /* longer than a device is waited for */

static int fake(const char *how) {
    uint64_t len = 0;
    if (!strcmp(how, "deaf")) wait_for_ever();
    if (!strcmp(how, "gone")) return 0;
    get(&len, sizeof len);
    char *request = malloc((size_t)len + 1);
    if (!request || get(request, (size_t)len) != len) return 4;
    if (!strcmp(how, "answers")) put_reply(0, ST_SIZE, "said so", "got this");
    if (!strcmp(how, "echoes")) {
        request[len] = 0;
        put_reply(0, ST_OK, NULL, request + len - 4);
    }
    if (!strcmp(how, "dies")) {
        raise(SIGTERM);
    }
    if (!strcmp(how, "hangs")) {
        put("W", 1);
        wait_for_ever();
    }
    if (!strcmp(how, "opens for ever")) {
        put("O", 1);
        wait_for_ever();
    }
    if (!strcmp(how, "opens")) {
        put("O", 1);
        sleep_ms(400);
        put("H", 1);
        put_reply(0, ST_OK, NULL, "done");
    }
    if (!strcmp(how, "simulates")) {
        put("S", 1);
        while (clock() < (clock_t)PATIENCE_S * CLOCKS_PER_SEC) continue;
        put_reply(0, ST_OK, NULL, "done");
    }
    if (!strcmp(how, "works")) {
        put("WH", 2);
        sleep_ms(400);
        put("WHWHWH", 6);
        put_reply(0, ST_OK, NULL, "done");
    }
    if (!strcmp(how, "tells")) {
        put("N", 1);
        put_number(3);
        put("one", 3);
        sleep_ms(1);
        put("N", 1);
        put_number(0);
        put_reply(0, ST_OK, NULL, "");
    }
    if (!strcmp(how, "forks")) {
        if (fork() == 0) wait_for_ever();  /* ends with its group */
        put_reply(0, ST_OK, NULL, "done");
    }
    if (!strcmp(how, "orphans")) {
        if (fork() == 0) {
            sleep_ms(3000);
            _exit(0);
        }
    }
    if (!strcmp(how, "cut")) {
        put("R", 1);
        put_number(100);
        put("half", 4);
    }
    if (!strcmp(how, "cut header")) put("R\1\0", 3);
    if (!strcmp(how, "huge")) {
        put("R", 1);
        put_number(INT64_MAX);
        wait_for_ever();
    }
    if (!strcmp(how, "huge news")) {
        put("N", 1);
        put_number((int64_t)1 << 50);
        wait_for_ever();
    }
    if (!strcmp(how, "other kind")) {
        put("x", 1);
        wait_for_ever();
    }
    if (!strcmp(how, "short")) put_reply(-1, ST_OK, NULL, "done");
    if (!strcmp(how, "long")) {
        put_reply(1, ST_OK, NULL, "done");
        put("x", 1);
    }
    if (!strcmp(how, "status")) put_reply(0, ST_COUNT, NULL, "done");
    if (!strcmp(how, "negative")) put_reply(0, -1, NULL, "done");
    if (!strcmp(how, "no text")) {
        put("R", 1);
        put_number(7 * 8 + 2);
        put_number(0);
        put_number(2);
        put("ab", 2);                     /* no NUL */
        for (int i = 0; i < 5; i++) put_number(0);
    }
    if (!strcmp(how, "closes")) {
        close(STDIN_FILENO);
        sleep_ms(100);
    }
    return 0;
}

/* ---- the host ---- */

typedef struct {
    int n;
    char last[16];
} News;

static void hear(void *user, const char *data, size_t len) {
    News *x = user;
    x->n++;
    snprintf(x->last, sizeof x->last, "%.*s", (int)len, data);
}

static WorkerResult run_fake(const char *how, const WorkerLimits *l) {
    WorkerResult r;
    WorkerOptions o = {.file = self};
    WorkerRequest request = worker_request(arena, WORKER_PROBE);
    setenv("FAKE", how, 1);
    if (worker_run(arena, &diag, &o, &request, l, &r)) fail_msg("%s: %s", how, said());
    return r;
}

static bool no_children(void) { return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD; }

/* Who is to be found out waits for ever.  */
static void ends(void **state) {
    (void)state;
    WorkerLimits l = {.watchdog_s = 0.2};
    WorkerResult r = run_fake("answers", &l);
    assert_true(r.end == WORKER_DONE && r.status == ST_SIZE && r.len == 8);
    assert_memory_equal(r.answer, "got this", 8);
    assert_string_equal(r.message, "said so");
    assert_null(r.hint);
    r = run_fake("dies", &l);
    assert_true(r.end == WORKER_DIED && r.signal == SIGTERM);
    r = run_fake("gone", &l);
    assert_true(r.end == WORKER_DIED && r.signal == 0);
    r = run_fake("closes", &l);
    assert_true(r.end == WORKER_DIED && r.signal == 0);
    r = run_fake("hangs", &l);
    assert_int_equal(r.end, WORKER_HUNG);
    assert_true(r.watchdog_s == l.watchdog_s);
    r = run_fake("opens", &l);             /* longer, too, but opening has a time of its own */
    assert_true(r.end == WORKER_DONE && r.status == ST_OK);
    l.opening_s = 0.1;
    r = run_fake("opens for ever", &l);
    assert_true(r.end == WORKER_HUNG && r.watchdog_s == l.opening_s);
    if (effort_long()) {                   /* what works is no hang, unless that is asked for */
        r = run_fake("simulates", &(WorkerLimits){0});
        assert_true(r.end == WORKER_DONE && r.status == ST_OK);
    }
    r = run_fake("simulates", &(WorkerLimits){.watchdog_s = 0.2});
    assert_int_equal(r.end, WORKER_HUNG);
    r = run_fake("works", &l);             /* longer than the watchdog waits for a device */
    assert_true(r.end == WORKER_DONE && r.status == ST_OK && r.len == 4);
    r = run_fake("forks", &l);
    assert_true(r.end == WORKER_DONE && r.status == ST_OK);
    r = run_fake("orphans", &l);           /* another process holds the socket */
    assert_int_equal(r.end, WORKER_DIED);
    News news = {0};
    l.news = hear;
    l.user = &news;
    r = run_fake("tells", &l);
    assert_true(r.end == WORKER_DONE && news.n == 2);
    assert_string_equal(news.last, "");
    l.limit_s = 0.2;
    r = run_fake("deaf", &l);
    assert_int_equal(r.end, WORKER_STOPPED);
    assert_true(no_children());
}

static void replies_that_do_not_read(void **state) {
    (void)state;
    static const char *const how[] = {"cut",   "cut header", "huge",   "huge news", "other kind",
                                      "short", "long",       "status", "negative",  "no text"};
    WorkerLimits l = {.watchdog_s = 20};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        WorkerResult r = run_fake(how[i], &l);
        if (r.end != WORKER_REFUSED) fail_msg("%s: %d", how[i], r.end);
        assert_true(!r.answer && !r.len && !r.message);
    }
    l.answer_most = 1;
    assert_int_equal(run_fake("answers", &l).end, WORKER_DONE);       /* texts have their room */
    assert_true(no_children());
}

static void a_caller_ends_it(void **state) {
    (void)state;
    atomic_bool stop = true;
    Watch watch;
    watch_init(&watch, &(WatchCalls){.stop = &stop});
    WorkerLimits l = {.watchdog_s = 20, .watch = &watch};
    assert_int_equal(run_fake("deaf", &l).end, WORKER_STOPPED);
    watch_destroy(&watch);
    assert_true(no_children());
}

/* More than a socket holds, in several parts, to one that listens and to ones that do not.  */
static void large_requests(void **state) {
    (void)state;
    enum { LARGE = 5 << 20 };
    char *data = arena_alloc(arena, LARGE);
    memset(data, 'x', LARGE);
    memcpy(data + LARGE - 4, "tail", 4);
    const WorkerSpan span[] = {{data, LARGE}, {data, 0}, {data, LARGE}};
    WorkerOptions o = {.file = self};
    WorkerLimits l = {.watchdog_s = 20, .limit_s = 0.5};
    WorkerRequest request = worker_request(arena, WORKER_PROBE);
    WorkerResult r;
    request.span = span;
    request.n_span = 3;
    setenv("FAKE", "deaf", 1);
    assert_int_equal(worker_run(arena, &diag, &o, &request, &l, &r), ST_OK);
    assert_int_equal(r.end, WORKER_STOPPED);
    l.limit_s = 0;
    setenv("FAKE", "gone", 1);            /* and no SIGPIPE */
    assert_int_equal(worker_run(arena, &diag, &o, &request, &l, &r), ST_OK);
    assert_int_equal(r.end, WORKER_DIED);
    setenv("FAKE", "echoes", 1);
    assert_int_equal(worker_run(arena, &diag, &o, &request, &l, &r), ST_OK);
    assert_true(r.end == WORKER_DONE && r.len == 4);
    assert_memory_equal(r.answer, "tail", 4);
}

static Status find(const char *file, bool alone, const char **found) {
    diag = diag_new(arena);
    return worker_find(arena, &diag, &(WorkerOptions){file, alone}, found);
}

static void programs(void **state) {
    (void)state;
    const char *found, *real = getenv("ROLLER_WORKER");
    char *kept = arena_strdup(arena, real);
    assert_int_equal(find(NULL, false, &found), ST_OK);
    assert_string_equal(found, real);
    assert_int_equal(find(self, false, &found), ST_OK);
    assert_string_equal(found, self);
    assert_int_equal(find("/nowhere/roller-worker", false, &found), ST_IO);
    assert_non_null(strstr(said(), "/nowhere/roller-worker: No such file"));
    assert_non_null(strstr(diag_first_error(&diag)->hint, "ROLLER_WORKER"));
    assert_int_equal(find("build/roller-worker", false, &found), ST_IO);
    assert_non_null(strstr(said(), "must be absolute"));
    setenv("ROLLER_WORKER", "/nowhere", 1);
    assert_int_equal(find(NULL, false, &found), ST_IO);
    if (!find(NULL, true, &found)) assert_string_not_equal(found, "/nowhere");
    setenv("ROLLER_WORKER", kept, 1);
    /* Something that is there and is no program.  */
    char path[] = "/tmp/roller-no-worker-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "\177ELF", 4) == 4 && !fchmod(fd, 0700));
    close(fd);
    WorkerRequest request = worker_request(arena, WORKER_PROBE);
    WorkerLimits l = {.watchdog_s = 20};
    WorkerOptions o = {.file = path};
    WorkerResult r;
    diag = diag_new(arena);
    Status s = worker_run(arena, &diag, &o, &request, &l, &r);
    unlink(path);
    assert_true(s == ST_IO || (s == ST_OK && r.end == WORKER_DIED));
    if (s) assert_non_null(strstr(said(), "cannot be executed"));
    assert_true(no_children());
}

/* ---- the real one, spoken to by hand ---- */
typedef struct {
    int fd;
    pid_t pid;
} Real;

static Real begin_real(void) {
    const char *file;
    Real x;
    assert_int_equal(worker_find(arena, &diag, &(WorkerOptions){NULL, false}, &file), ST_OK);
    assert_int_equal(worker_spawn(&diag, file, &x.pid, &x.fd), ST_OK);
    return x;
}

/* Its whole reply, and how it ended.  */
static size_t end_real(Real *x, bool shut, char *to, size_t size, int *status) {
    size_t len = 0;
    if (shut) shutdown(x->fd, SHUT_WR);
    for (ssize_t n = 1; n > 0 && len < size; len += n > 0 ? (size_t)n : 0)
        n = read(x->fd, to + len, size - len);
    close(x->fd);
    assert_int_equal(waitpid(x->pid, status, 0), x->pid);
    return len;
}

/* A request that is cut anywhere ends the worker, without a reply and without a crash; one that is
 * spoiled is told so.  */
static void requests_that_do_not_read(void **state) {
    (void)state;
    enum { STEP = 7 };
    char reply[4096];
    WorkerRequest r = worker_request(arena, WORKER_TRIAL);
    int64_t length = (int64_t)r.head.len;
    Buf whole = buf_new(arena);
    int status;
    buf_add(&whole, (const char *)&length, sizeof length);
    buf_add(&whole, r.head.text, r.head.len);
    for (size_t cut = 0; cut < whole.len; cut += STEP) {
        Real x = begin_real();
        assert_true(send(x.fd, whole.text, cut, MSG_NOSIGNAL) == (ssize_t)cut);
        assert_int_equal(end_real(&x, true, reply, sizeof reply, &status), 0);
        assert_true(WIFEXITED(status));
    }
    for (size_t at = 0; at <= whole.len; at += STEP) {
        Real x = begin_real();
        if (at < 8) at = 8;
        if (at < whole.len) whole.text[at] ^= 1;          /* at the end: the job's fields lack */
        assert_true(send(x.fd, whole.text, whole.len, MSG_NOSIGNAL) == (ssize_t)whole.len);
        size_t n = end_real(&x, false, reply, sizeof reply, &status);
        if (at < whole.len) whole.text[at] ^= 1;
        assert_true(WIFEXITED(status) && n > 9 && reply[0] == 'R');
        WireReader in = wire_reader(reply + 9, n - 9);
        assert_int_not_equal(wire_read_int(&in), ST_OK);
        assert_non_null(wire_read_text(&in));
    }
}

/* A library of another build is told of by its name.  */
static void another_build(void **state) {
    (void)state;
    char reply[4096];
    Buf b = buf_new(arena), whole = buf_new(arena);
    wire_text(&b, "roller-worker");
    wire_text(&b, "0.0.1 of another time");
    wire_int(&b, WORKER_PROBE);
    wire_bytes(&whole, b.text, b.len);
    Real x = begin_real();
    int status;
    assert_true(send(x.fd, whole.text, whole.len, MSG_NOSIGNAL) == (ssize_t)whole.len);
    size_t n = end_real(&x, false, reply, sizeof reply, &status);
    WireReader in = wire_reader(reply + 9, n - 9);
    assert_int_equal(wire_read_int(&in), ST_IO);
    assert_non_null(strstr(wire_read_text(&in), "0.0.1 of another time"));
}

/* A host that ends takes its worker with it, whatever that is doing.  */
static void the_host_ends(void **state) {
    (void)state;
    int status;
    char byte;
    WorkerRequest r = worker_request(arena, WORKER_PROBE);
    for (int i = 0; i < 5; i++) wire_int(&r.head, 0);
    for (int i = 0; i < 2; i++) wire_int(&r.head, 0);
    int64_t length = (int64_t)r.head.len;
    setenv("ROLLER_SIM_FAULTS", "cuInit=hang", 1);
    Real x = begin_real();
    unsetenv("ROLLER_SIM_FAULTS");
    assert_true(send(x.fd, &length, sizeof length, MSG_NOSIGNAL) == sizeof length);
    assert_true(send(x.fd, r.head.text, r.head.len, MSG_NOSIGNAL) == (ssize_t)r.head.len);
    assert_true(read(x.fd, &byte, 1) == 1 && byte == 'O');
    close(x.fd);
    assert_int_equal(waitpid(x.pid, &status, 0), x.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(int argc, char *argv[]) {
    const char *how = getenv("FAKE");
    if (argc == 2 && !strcmp(argv[1], "--roller-worker")) return fake(how ? how : "");
    char here[2048];
    if (!getcwd(here, sizeof here)) return 1;
    snprintf(self, sizeof self, "%s%s%s", *argv[0] == '/' ? "" : here,
             *argv[0] == '/' ? "" : "/", argv[0]);
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        T(ends),
        T(replies_that_do_not_read),
        T(a_caller_ends_it),
        T(large_requests),
        T(programs),
        T(requests_that_do_not_read),
        T(another_build),
        T(the_host_ends),
    };
    simulated_setup("profiles/a100.json");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
