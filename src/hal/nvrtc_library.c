#include "hal/nvrtc_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVRTC loses some memory of its own whenever it is unloaded, so it stays in the process.  */
#ifdef RTLD_NODELETE
enum { STAY = RTLD_NODELETE };
#else
enum { STAY = 0 };
#endif

bool nvrtc_targets(const Nvrtc *n, const char *arch) {
    for (const char *const *at = n->archs; *at; at++)
        if (!strcmp(*at, arch))
            return true;
    return false;
}

static void unload(void *library) {
    dlclose(library);
}

/* The name of the first function that is missing; NULL if all are there.  */
static const char *resolve(Nvrtc *n) {
    static const char *const names[] = {
#define X(name, type, parameters) "nvrtc" #name,
        NVRTC_API(X)
#undef X
    };
    void **const at[] = {
#define X(name, type, parameters) (void **)&n->name,
        NVRTC_API(X)
#undef X
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(*at[i] = dlsym(n->library, names[i])))
            return names[i];
    *(void **)&n->SetFlowCallback = dlsym(n->library, "nvrtcSetFlowCallback");
    return NULL;
}

/* "sm_90", "sm_90a", ...: NVRTC lists numbers; the suffixes follow from its version.  False if it
 * does not.  */
static bool list_archs(Nvrtc *n, Arena *a) {
    int count = 0;
    if (n->GetNumSupportedArchs(&count) || count < 1 || count > 1000)
        return false;
    int *number = ARENA_ARRAY(a, int, count);
    if (n->GetSupportedArchs(number))
        return false;
    const char **archs = ARENA_ARRAY(a, const char *, 3 * count + 1);
    int k = 0;
    for (int i = 0; i < count; i++) {
        archs[k++] = arena_printf(a, "sm_%d", number[i]);
        if (number[i] >= 90 && n->major >= 12)
            archs[k++] = arena_printf(a, "sm_%da", number[i]);
        if (number[i] >= 100 && n->major * 100 + n->minor >= 1209)
            archs[k++] = arena_printf(a, "sm_%df", number[i]);
    }
    n->archs = archs;
    return true;
}

/* Does a reason of the loader's end in what the system says of an error?  */
static bool is_because(const char *why, int error) {
    return strstr(why, strerror(error)) != NULL;
}

/* NULL with a reason; lack of memory, which the loader often does not name, is none.  */
static void *open_library(Arena *a, const char *file, const char **why) {
    errno = 0;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | STAY);
    bool nomem = errno == ENOMEM;
    const char *said = library ? "" : dlerror();
    if (!library && (nomem || (said && is_because(said, ENOMEM))))
        arena_fail(a);
    *why = library ? NULL : arena_strdup(a, said ? said : "it cannot be loaded");
    return library;
}

/* NVRTC opens its builtins by name alone, so those of its own folder must be loaded before; if it
 * was found by name it only finds them loaded.  */
static void load_builtins(Arena *a, Nvrtc *n) {
    const char *slash = strrchr(n->file, '/');
    int folder = slash ? (int)(slash - n->file) + 1 : 0;
    const char *why;
    n->builtins = open_library(a, arena_printf(a, "%.*slibnvrtc-builtins.so.%d.%d", folder,
                                               n->file, n->major, n->minor), &why);
    if (n->builtins)
        arena_defer(a, unload, n->builtins);
}

/* Loads one file; NULL with a reason if it is not there or of no use.  */
static Nvrtc *load(Arena *a, const char *file, const char **why) {
    void *library = open_library(a, file, why);
    if (!library)
        return NULL;
    Nvrtc *n = ARENA_NEW(a, Nvrtc);
    n->library = library;
    arena_defer(a, unload, library);
    n->file = arena_strdup(a, file);
    const char *missing = resolve(n);
    if (missing) {
        *why = arena_printf(a, "%s has no function %s", file, missing);
        return NULL;
    }
    if (n->Version(&n->major, &n->minor)) {
        *why = arena_printf(a, "%s does not tell its version", file);
        return NULL;
    }
    nvrtc_bind_imports(library);
    nvrtc_await_at_exit();
    if (!list_archs(n, a)) {
        *why = arena_printf(a, "%s does not tell its architectures", file);
        return NULL;
    }
    load_builtins(a, n);
    return n;
}

static Status open_given(Arena *a, Diag *d, const NvrtcOptions *o, const char *path,
                         const char *arch, Nvrtc **out) {
    if (*path != '/')
        return diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE,
                          "the path of NVRTC must be absolute, not \"%.200s\"", path);
    const char *why = NULL;
    Nvrtc *n = load(a, path, &why);
    if (!n)
        return diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE, "NVRTC cannot be loaded: %s", why);
    if (arch && !nvrtc_targets(n, arch))
        return diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE, "%s; %s is %d.%d",
                          nvrtc_needs(a, arch), path, n->major, n->minor);
    if (!nvrtc_loads(o, n->major, n->minor)) {
        diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE,
                   "%s is NVRTC %d.%d, whose code does not load into %s", path, n->major, n->minor,
                   nvrtc_driver_name(a, o));
        nvrtc_advise(d, o, arch);
        return ST_NVRTC;
    }
    *out = n;
    return ST_OK;
}

const char *nvrtc_given(const NvrtcOptions *o) {
    const char *path = o && o->path ? o->path : nvrtc_alone(o) ? NULL : getenv("ROLLER_NVRTC");
    return path && *path ? path : NULL;
}

/* What a search saw and did not take.  */
typedef struct {
    Arena *arena;
    const NvrtcOptions *o;
    const char *arch;
    Buf seen;                 /* "13.0 (FILE), 11.8 (FILE)" */
    int last;                 /* the version named last */
    char broken[400];         /* why the first that is there cannot be used */
} Missed;

static void saw(Missed *m, int major, int minor, const char *file) {
    int version = major * 100 + minor;
    if (version == m->last)
        return;
    m->last = version;
    buf_printf(&m->seen, "%s%d.%d (%s)", m->seen.len ? ", " : "", major, minor, file);
}

/* Loads a candidate if it may do; NULL: the next one has its turn.  */
static Nvrtc *try(Arena *a, const NvrtcCandidate *c, Missed *m) {
    if (c->minor >= 0 && !nvrtc_loads(m->o, c->major, c->minor)) {
        saw(m, c->major, c->minor, c->file);
        return NULL;
    }
    ArenaMark mark = arena_mark(a);
    const char *why;
    Nvrtc *n = load(a, c->file, &why);
    if (n && nvrtc_loads(m->o, n->major, n->minor) && (!m->arch || nvrtc_targets(n, m->arch))) {
        if (n->builtins)
            return n;
        why = arena_printf(a, "%s has no libnvrtc-builtins.so.%d.%d beside it", c->file, n->major,
                           n->minor);
    }
    if (why && !*m->broken && !is_because(why, ENOENT))
        snprintf(m->broken, sizeof m->broken, "%s", why);
    int major = n && !why ? n->major : 0, minor = n ? n->minor : 0;
    arena_reset(a, mark);
    if (major)
        saw(m, major, minor, c->file);
    return NULL;
}

static Status none(Diag *d, Missed *m) {
    const NvrtcOptions *o = m->o;
    if (!m->seen.len && *m->broken) {
        diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE, "NVRTC cannot be loaded: %s", m->broken);
        diag_hint(d, "more memory may be needed (ulimit -v); ROLLER_NVRTC names another "
                     "libnvrtc.so.N by its full path");
        return ST_NVRTC;
    }
    if (!m->seen.len)
        diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE, "NVRTC was not found");
    else if (o && o->driver)
        diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE,
                   "no NVRTC makes code%s%s that loads into %s; found %s",
                   m->arch ? " for " : "",
                   m->arch ? m->arch : "", nvrtc_driver_name(m->arena, o), buf_str(&m->seen));
    else
        diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE, "%s; found %s",
                   nvrtc_needs(m->arena, m->arch), buf_str(&m->seen));
    nvrtc_advise(d, o, m->arch);
    return ST_NVRTC;
}

Status nvrtc_open(Arena *a, Diag *d, const NvrtcOptions *o, const char *arch, Nvrtc **out) {
    const char *path = nvrtc_given(o);
    *out = NULL;
    if (path)
        return open_given(a, d, o, path, arch, out);
    const NvrtcCandidate *c;
    int n = nvrtc_candidates(a, o, &c);
    Missed m = {.arena = a, .o = o, .arch = arch, .seen = buf_new(a)};
    for (int i = 0; i < n && !*out; i++)
        *out = try(a, &c[i], &m);
    return *out ? ST_OK : none(d, &m);
}

void nvrtc_version(const Nvrtc *n, int *major, int *minor) {
    *major = n->major;
    *minor = n->minor;
}

const char *nvrtc_file(const Nvrtc *n) {
    return n->file;
}

const char *const *nvrtc_archs(const Nvrtc *n) {
    return n->archs;
}
