#include "cli/process.h"
#include "base/status.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the beginning ---- */
static const char *program;

static void say(const char *text) {
    ssize_t n = write(STDERR_FILENO, text, strlen(text));
    (void)n;
}

static const struct {
    int number;
    const char *name;
} crash[] = {{SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"},
             {SIGSEGV, "SIGSEGV"}};
enum { N_CRASH = sizeof crash / sizeof *crash };

/* Last words where there would be none.  The signal is raised again, and then does what it does
 * without a handler.  */
static void on_crash(int number) {
    say(program);
    say(": error: ended by ");
    for (int i = 0; i < N_CRASH; i++)
        if (crash[i].number == number) say(crash[i].name);
    say("\n");
    say(program);
    say(": hint: NVRTC ends so where it finds no memory; otherwise this is our fault\n");
    raise(number);
}

static void catch_crashes(void) {
    const struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
    for (int i = 0; i < N_CRASH; i++) {
        struct sigaction was;
        if (!sigaction(crash[i].number, NULL, &was) && was.sa_handler == SIG_DFL)
            sigaction(crash[i].number, &action, NULL);
    }
}

static void open_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        /* Open, but not for what it is used for, so that using it fails as before.  */
        open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

const char *process_worker(Arena *a) {
    char path[4096];
    const char *other = getenv("ROLLER_WORKER");
    ssize_t len = other && *other ? -1 : readlink("/proc/self/exe", path, sizeof path);
    return len > 0 && len < (ssize_t)sizeof path ? arena_strndup(a, path, (size_t)len) : NULL;
}

/* ---- streams ---- */
int process_put(FILE *f, const Buf *text) {
    errno = 0;
    bool whole = !text->len || fwrite(text->text, 1, text->len, f) == text->len;
    if (fflush(f) == 0 && whole) return 0;
    const char *why = strerror(errno);
    clearerr(f);
    if (f == stdout) fprintf(stderr, "%s: error: cannot write standard output: %s\n", program, why);
    return status_exit(ST_IO);
}

int process_nomem(void) {
    fprintf(stderr, "%s: error: out of memory\n", program);
    return status_exit(ST_NOMEM);
}

/* ---- signals ---- */
static volatile sig_atomic_t caught;
static atomic_bool stop;

static void on_signal(int number) {
    caught = number;
    atomic_store(&stop, true);
}

const atomic_bool *process_stop(void) {
    static const int number[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = on_signal};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        struct sigaction was;
        bool ignored = !sigaction(number[i], NULL, &was) && was.sa_handler == SIG_IGN;
        if (!ignored) sigaction(number[i], &action, NULL);
    }
    return &stop;
}

int process_signal(void) { return caught; }

int process_code(int code) { return caught ? 128 + caught : code; }

static void end_by_signal(void) {
    if (!caught) return;
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    sigaction(caught, &normal, NULL);
    raise(caught);
}

/* ---- a tool ---- */
typedef struct {
    const ProcessTool *p;
    Arena *a;
    int argc;
    char **argv;
    void *tool;
    int code;
} Main;

static void run(void *user) {
    Main *m = user;
    m->code = m->p->run(m->a, m->argc, m->argv, m->tool);
}

int process_main(const ProcessTool *p, int argc, char **argv, void *tool) {
    Main m = {.p = p, .a = arena_create(NULL), .argc = argc, .argv = argv, .tool = tool};
    program = p->name;
    catch_crashes();
    open_streams();
    if (!m.a || !arena_try(m.a, run, &m)) m.code = process_nomem();
    if (p->done) p->done(tool);
    arena_destroy(m.a);
    end_by_signal();
    return m.code;
}
