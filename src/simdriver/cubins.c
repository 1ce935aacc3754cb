/* The PTX behind the cubins of a process.
 *
 * Clients compile for the machine of the device they see: NVRTC and nvJitLink hand them cubins, and
 * those go to the driver.  The simulator runs PTX, which both compilers had in their hands a moment
 * before.  So where this library was loaded before them (LD_PRELOAD), it stands between a client
 * and the few functions of theirs that give cubins out: the client gets what it asked for, and the
 * driver is told which PTX that is.  They are found with dlsym, whoever asks: that is what is
 * replaced here, for these names alone.  Otherwise the definition below is never reached, since a
 * process binds dlsym to its C library first.  */
#include "simdriver/cubins.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char *const plain_name[CUBINS_COUNT] = {
#define X(plain, own) #plain,
    CUBINS_FUNCTIONS(X)
#undef X
};

/* nvJitLink gives each of its versions names of its own: "__nvJitLinkCreate_13_0".  */
static AnyFunction *ours(void *handle, const char *name) {
    const char *prefix = strncmp(name, "__", 2) ? "" : "__", *s = name + strlen(prefix);
    for (int f = 0; f < CUBINS_COUNT; f++) {
        const char *tail = s + strlen(plain_name[f]);
        if (strncmp(s, plain_name[f], strlen(plain_name[f]))) continue;
        if (!*tail || (*tail == '_' && isdigit((unsigned char)tail[1]))) {
            return cubins_ours((CubinsFunction)f, handle, prefix, tail);
        }
    }
    return NULL;
}

SIMDRIVER_API void *dlsym(void *restrict handle, const char *restrict name) {
    Lookup *real = cubins_lookup();
    if (strncmp(name, "nvrtc", 5) && strncmp(name, "nvJit", 5) && strncmp(name, "__nvJit", 7)) {
        return real(handle, name);        /* a tail call: RTLD_NEXT means the caller's next */
    }
    void *at = real(handle, name);
    AnyFunction *f = at ? ours(handle, name) : NULL;
    if (f) memcpy(&at, &f, sizeof at);
    return at;
}
