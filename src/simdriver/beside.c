/* Where the library lies: a program that was given nothing but its path finds profiles there.  */
#define _GNU_SOURCE           /* dladdr */
#include "simdriver/state.h"

#include <dlfcn.h>
#include <string.h>

const char *driver_profile_path(Arena *a) {
    static const char here;
    const char *path = hal_profile_path(a, false);
    Dl_info info;
    const char *slash = dladdr(&here, &info) ? strrchr(info.dli_fname, '/') : NULL;
    if (!slash) return path;
    return arena_printf(a, "%s:%.*s/profiles", path, (int)(slash - info.dli_fname),
                        info.dli_fname);
}
