/* STEM.so: the launcher in C, compiled by the system's compiler in a folder of its own.  */
#include "base/file.h"
#include "cli/gen.h"
#include "cli/process.h"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { NO_COMMAND = 127, MOST_BYTES = 1 << 30 };

/* $CC may be several words, such as `ccache gcc`.  */
static const char command[] =
    "exec ${CC:-cc} -std=c11 -O2 -fPIC -shared -s -o launch.so launch.c -ldl";

/* Begins a shell in a process group of its own; 0: there is none.  */
static pid_t begin(char *script) {
    char *const argv[] = {(char *)"sh", (char *)"-c", script, NULL};
    posix_spawnattr_t attr;
    pid_t child = 0;
    if (posix_spawnattr_init(&attr)) return 0;
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attr, 0);
    if (posix_spawn(&child, "/bin/sh", NULL, &attr, argv, environ)) child = 0;
    posix_spawnattr_destroy(&attr);
    return child;
}

/* Its status; a signal that asks this process to end ends the whole group.  */
static int end_of(pid_t child, const atomic_bool *stop) {
    const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
    int status = NO_COMMAND << 8;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (atomic_load(stop)) kill(-child, SIGKILL);
        nanosleep(&pause, NULL);
    }
    return status;
}

static Status compile(Gen *g, const char *folder, const atomic_bool *stop) {
    pid_t child = begin(arena_printf(g->a, "cd '%s' && %s", folder, command));
    int status = child ? end_of(child, stop) : NO_COMMAND << 8;
    if (atomic_load(stop))
        return diag_error(&g->diag, ST_CANCELLED, NULL, DIAG_NOWHERE,
                          "stopped while the C compiler works");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return ST_OK;
    const char *cc = getenv("CC");
    bool none = WIFEXITED(status) && WEXITSTATUS(status) >= NO_COMMAND - 1;
    diag_error(&g->diag, ST_IO, NULL, DIAG_NOWHERE,
               none ? "--emit so needs a C compiler, and '%s' is none"
                    : "the C compiler '%s' failed on the launcher",
               cc && *cc ? cc : "cc");
    diag_hint(&g->diag, "install one or name it in CC; --emit c writes what can be compiled "
                        "elsewhere, --emit py needs no compiler");
    return ST_IO;
}

Status gen_shared(Gen *g, const void *source, size_t len, const void **data, size_t *size) {
    const atomic_bool *stop = process_stop();              /* no signal leaves the folder */
    const char *tmp = getenv("TMPDIR");
    char *folder = arena_printf(g->a, "%s/roller-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (strchr(folder, '\'') || !mkdtemp(folder))
        return diag_error(&g->diag, ST_IO, NULL, DIAG_NOWHERE,
                          "no folder for the C compiler can be made as %s", folder);
    const char *in = arena_printf(g->a, "%s/launch.c", folder);
    const char *made = arena_printf(g->a, "%s/launch.so", folder);
    char *text = NULL;
    Status s = file_write(&g->diag, in, source, len);
    if (!s) s = compile(g, folder, stop);
    if (!s) s = file_read(g->a, &g->diag, made, MOST_BYTES, &text, size);
    (void)unlink(in);
    (void)unlink(made);
    (void)rmdir(folder);
    *data = text;
    return s;
}
