#include "driver/device/worker_spawn.h"
#include "hal/device.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

const char worker_magic[] = "roller-worker", worker_argument[] = "--roller-worker";

/* ---- which program ---- */
Status worker_find(Arena *a, Diag *d, const WorkerOptions *o, const char **file) {
    const char *given = o->file;
    if (!given && !o->ignore_environment) given = getenv("ROLLER_WORKER");
    *file = given && *given ? given : hal_installed_program(a, worker_magic);
    if (*file && **file != '/')
        return diag_error(d, ST_IO, "worker", DIAG_NOWHERE,
                          "the path of roller-worker must be absolute, not \"%.200s\"", *file);
    if (*file && access(*file, X_OK) == 0) return ST_OK;
    diag_error(d, ST_IO, "worker", DIAG_NOWHERE, "%s: %s",
               *file ? *file : "roller-worker was not found beside this program or library",
               *file ? strerror(errno) : "it is what uses a device for them");
    diag_hint(d, "it is installed with roller, in PREFIX/libexec; ROLLER_WORKER, or `worker` of "
                 "the context's options, names it by its full path");
    return ST_IO;
}

/* ---- starting it ---- */
/* Above the standard streams, which the caller may have closed, and not for other programs.  */
static int raised(int fd) {
    int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd >= 0) close(fd);
    return up;
}

static bool make_sockets(int end[2]) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, end)) return false;
    end[0] = raised(end[0]);
    end[1] = raised(end[1]);
    if (end[0] >= 0 && end[1] >= 0) return true;
    for (int i = 0; i < 2; i++)
        if (end[i] >= 0) close(end[i]);
    return false;
}

/* Signals do what they do to a fresh program, and the keys that end the host, whose terminal it may
 * share, do not end it first: the host decides.  */
static int describe(posix_spawnattr_t *attr) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    int e = posix_spawnattr_setsigmask(attr, &none);
    if (!e) e = posix_spawnattr_setsigdefault(attr, &all);
    if (!e) e = posix_spawnattr_setpgroup(attr, 0);
    if (!e)
        e = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                               POSIX_SPAWN_SETPGROUP);
    return e;
}

static int start(const char *file, int socket, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    char *const argv[] = {(char *)(uintptr_t)file, (char *)(uintptr_t)worker_argument, NULL};
    int e = posix_spawn_file_actions_init(&files);
    if (e) return e;
    e = posix_spawnattr_init(&attr);
    if (!e) {
        e = posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
        if (!e)
            e = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        if (!e) e = describe(&attr);
        if (!e) e = posix_spawn(pid, file, &files, &attr, argv, environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&files);
    return e;
}

Status worker_spawn(Diag *d, const char *file, pid_t *pid, int *fd) {
    int end[2];
    *pid = 0;
    if (!make_sockets(end))
        return diag_error(d, ST_IO, "worker", DIAG_NOWHERE, "no socket: %s", strerror(errno));
    int e = start(file, end[1], pid);
    close(end[1]);
    *fd = end[0];
    if (!e) return ST_OK;
    *pid = 0;
    return diag_error(d, ST_IO, "worker", DIAG_NOWHERE, "%s cannot be executed: %s", file,
                      strerror(e));
}
