#include "cli/process.h"
#include "base/status.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* ---- streams ---- */
void process_begin(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        /* Open, but not for what it is used for, so that using it fails as before.  */
        open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

int process_put(const char *tool, FILE *f, const Buf *text) {
    errno = 0;
    bool whole = !text->len || fwrite(text->text, 1, text->len, f) == text->len;
    if (fflush(f) == 0 && whole) return 0;
    const char *why = strerror(errno);
    clearerr(f);
    if (f == stdout) fprintf(stderr, "%s: error: cannot write standard output: %s\n", tool, why);
    return status_exit(ST_IO);
}

int process_nomem(const char *tool) {
    fprintf(stderr, "%s: error: out of memory\n", tool);
    return status_exit(ST_NOMEM);
}

/* ---- signals ---- */
static volatile sig_atomic_t caught;
static volatile bool stop;

static void on_signal(int number) {
    caught = number;
    stop = true;
}

const volatile bool *process_stop(void) {
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

void process_end(void) {
    if (!caught) return;
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    sigaction(caught, &normal, NULL);
    raise(caught);
}
