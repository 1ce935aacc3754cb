/* Where roller's own data and programs lie: an installation may be moved as a whole, so that the
 * folder it was built for is only the last guess.  */
#define _GNU_SOURCE           /* dladdr */
#include "hal/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef ROLLER_DATADIR
#define ROLLER_DATADIR "/usr/local/share/roller"
#endif

#ifndef ROLLER_LIBEXECDIR
#define ROLLER_LIBEXECDIR "/usr/local/libexec"
#endif

const char *const hal_datadir = ROLLER_DATADIR;

/* The real name of the program or library that holds this code.  */
static bool own_file(char path[PATH_MAX]) {
    static const char here;
    Dl_info info;
    bool told = dladdr(&here, &info) && info.dli_fname && info.dli_fname[0] == '/';
    /* A program is told by the name that it was called by, which need not be a path.  */
    return realpath(told ? info.dli_fname : "/proc/self/exe", path);
}

static bool holds_code(const char *folder) {
    static const char *const name[] = {"bin", "lib", "lib64", "libexec"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!strcmp(folder, name[i])) return true;
    return false;
}

/* The program, if it is there.  */
static const char *executable(const char *file) { return access(file, X_OK) ? NULL : file; }

const char *hal_installed_program(Arena *a, const char *name) {
    char path[PATH_MAX];
    const char *found = NULL;
    if (own_file(path)) {
        *strrchr(path, '/') = 0;
        found = executable(arena_printf(a, "%s/%s", path, name));
        for (char *last; !found && (last = strrchr(path, '/')); *last = 0)
            if (holds_code(last + 1))
                found = executable(arena_printf(a, "%.*s/libexec/%s", (int)(last - path), path,
                                                name));
    }
    return found ? found : executable(arena_printf(a, ROLLER_LIBEXECDIR "/%s", name));
}

const char *hal_moved_datadir(Arena *a) {
    char path[PATH_MAX];
    const char *found = NULL;
    if (!own_file(path)) return NULL;
    /* What lies where it was built has its data beside it.  */
    const char *beside = arena_printf(a, "%.*s/share/roller",
                                      (int)(strrchr(path, '/') - path), path);
    if (!access(beside, F_OK)) found = beside;
    for (char *slash; !found && (slash = strrchr(path, '/')) && slash != path;) {
        *slash = 0;
        const char *last = strrchr(path, '/');
        if (last && holds_code(last + 1))
            found = arena_printf(a, "%.*s/share/roller", (int)(last - path), path);
    }
    /* The search path is parted by colons.  */
    return found && !strchr(found, ':') && strcmp(found, hal_datadir) ? found : NULL;
}
