/* ROLLER_SIM_LOG: why calls fail, a line each, to standard error ("stderr") or to the end of a
 * file; ROLLER_SIM_LAUNCHES: what kernels are launched with, to the same.
 *
 * A caller sees a number and often drops even that, so the line has the call, the name of its
 * result and what the driver has to say about it.  */
#include "simdriver/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *result_name(CUresult r) {
    switch (r) {
#define X(name, code, text)                                                                        \
    case name: return #name;
        SIMDRIVER_RESULTS(X)
#undef X
    }
    return "an unknown result";
}

enum { NOT_OPEN = -1, LINE = 1536 };

/* Opened again for each line, so that processes of one file do not disturb each other.  */
static int open_log(const char *where) {
    if (!strcmp(where, "stderr")) return STDERR_FILENO;
    return open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static void put_line(const char *where, const char *line, size_t len) {
    int to = open_log(where);
    if (to == NOT_OPEN) return;
    ssize_t written = write(to, line, len);
    (void)written;            /* there is nobody to tell */
    if (to != STDERR_FILENO) close(to);
}

/* Whether work is done is asked again and again.  */
static bool is_failure(CUresult r) { return r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY; }

void driver_log(Driver *d, const FunctionRow *row, CUresult r) {
    const char *where = is_failure(r) || d->said ? getenv("ROLLER_SIM_LOG") : NULL;
    if (where && *where) {
        char line[LINE];
        int len = snprintf(line, sizeof line, "simulated CUDA driver [%ld]: %s: %s%s%s\n",
                           (long)getpid(), row->symbol, result_name(r), d->said ? ": " : "",
                           d->said ? d->message : "");
        if (len >= LINE) len = LINE - 1;
        if (len > 0) put_line(where, line, (size_t)len);
    }
    d->said = false;
}

void driver_log_launch(const SimLaunch *l) {
    const char *where = getenv("ROLLER_SIM_LAUNCHES");
    char line[LINE];
    if (!where || !*where) return;
    int len = snprintf(line, sizeof line, "%s grid %u,%u,%u block %u,%u,%u cluster %u,%u,%u\n",
                       l->kernel, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                       l->block[2], l->cluster[0], l->cluster[1], l->cluster[2]);
    if (len > 0 && len < LINE) put_line(where, line, (size_t)len);
}
