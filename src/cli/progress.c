#include "cli/progress.h"
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static const char clear[] = "\r\033[K";

Progress progress_new(When when, int verbosity) {
    bool terminal = isatty(STDERR_FILENO);
    bool wanted = when == WHEN_ALWAYS || (when == WHEN_AUTO && terminal);
    return (Progress){wanted && verbosity >= 0, terminal};
}

void progress_say(const Progress *p, const char *fmt, ...) {
    if (!p->shown) return;
    va_list ap;
    va_start(ap, fmt);
    if (p->terminal) fputs(clear, stderr);
    vfprintf(stderr, fmt, ap);
    if (!p->terminal) fputc('\n', stderr);
    va_end(ap);
    fflush(stderr);
}

void progress_end(const Progress *p) {
    if (p->shown && p->terminal) fputs(clear, stderr);
}
