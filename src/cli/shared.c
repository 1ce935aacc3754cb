/* STEM.so: the launcher in C, compiled by the system's compiler in a folder of its own.  */
#include "base/file.h"
#include "cli/gen.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { NO_COMMAND = 127, MOST_BYTES = 1 << 30 };

/* $CC may be several words, such as `ccache gcc`.  */
static const char command[] =
    "exec ${CC:-cc} -std=c11 -O2 -fPIC -shared -s -o launch.so launch.c -ldl";

static Status compile(Gen *g, const char *folder) {
    char *script = arena_printf(g->a, "cd '%s' && %s", folder, command);
    char *const argv[] = {(char *)"sh", (char *)"-c", script, NULL};
    pid_t child;
    int status = NO_COMMAND << 8;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ) == 0)
        while (waitpid(child, &status, 0) < 0) continue;
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
    const char *tmp = getenv("TMPDIR");
    char *folder = arena_printf(g->a, "%s/roller-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (strchr(folder, '\'') || !mkdtemp(folder))
        return diag_error(&g->diag, ST_IO, NULL, DIAG_NOWHERE,
                          "no folder for the C compiler can be made as %s", folder);
    const char *in = arena_printf(g->a, "%s/launch.c", folder);
    const char *made = arena_printf(g->a, "%s/launch.so", folder);
    char *text = NULL;
    Status s = file_write(&g->diag, in, source, len);
    if (!s) s = compile(g, folder);
    if (!s) s = file_read(g->a, &g->diag, made, MOST_BYTES, &text, size);
    (void)unlink(in);
    (void)unlink(made);
    (void)rmdir(folder);
    *data = text;
    return s;
}
