#include "hal/nvrtc_library.h"

#include "hal/device.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char soname[] = "libnvrtc.so.";
enum { NEWEST = 19, OLDEST = 11, MAX_FOUND = 64 };

/* NVRTC loses some memory of its own whenever it is unloaded, so it stays in the process.  */
#ifdef RTLD_NODELETE
enum { STAY = RTLD_NODELETE };
#else
enum { STAY = 0 };
#endif

typedef struct {
    const char *file;
    int major;
} Candidate;

typedef struct {
    Arena *arena;
    Candidate found[MAX_FOUND];
    int n;
} Search;

/* NVRTC versions, as major * 100 + minor, that know an architecture; last 0: still known.  */
static const struct {
    int sm, first, last;
} known[] = {
    {50, 1100, 1209}, {52, 1100, 1209}, {53, 1100, 1209}, {60, 1100, 1209}, {61, 1100, 1209},
    {62, 1100, 1209}, {70, 1100, 1209}, {72, 1100, 1209}, {75, 1100, 0},    {80, 1100, 0},
    {86, 1101, 0},    {87, 1104, 0},    {88, 1300, 0},    {89, 1108, 0},    {90, 1108, 0},
    {100, 1208, 0},   {101, 1208, 1209}, {103, 1209, 0},  {110, 1300, 0},   {120, 1208, 0},
    {121, 1209, 0},
};

const char *nvrtc_needs(Arena *a, const char *arch) {
    int sm;
    char suffix;
    if (!hal_arch(arch, &sm, &suffix))
        return arena_printf(a, "\"%.32s\" is no architecture", arch);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].sm != sm)
            continue;
        int first = known[i].first, last = known[i].last;
        if (suffix == 'a' && first < 1200)
            first = 1200;
        if (suffix == 'f' && first < 1209)
            first = 1209;
        if (last)
            return arena_printf(a, "%s needs NVRTC %d.%d or older", arch, last / 100, last % 100);
        return arena_printf(a, "%s needs NVRTC %d.%d or newer", arch, first / 100, first % 100);
    }
    return arena_printf(a, "no known version of NVRTC targets %s", arch);
}

bool nvrtc_targets(const Nvrtc *n, const char *arch) {
    for (const char *const *at = n->archs; *at; at++)
        if (!strcmp(*at, arch))
            return true;
    return false;
}

static void add(Search *s, const char *file, int major) {
    if (s->n < MAX_FOUND)
        s->found[s->n++] = (Candidate){file, major};
}

static int ascending(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Names in a folder that begin with `prefix`, ascending; returns how many.  */
static size_t entries(Arena *a, const char *folder, const char *prefix, const char ***out) {
    size_t n = 0, cap = 0;
    const char **names = NULL;
    DIR *dir = opendir(folder);
    if (!dir && errno == ENOMEM)
        arena_fail(a);
    struct dirent *e;
    while (dir && n < MAX_FOUND && (e = readdir(dir))) {
        if (strncmp(e->d_name, prefix, strlen(prefix)))
            continue;
        names = arena_grow(a, names, &cap, n + 1, sizeof *names);
        names[n++] = arena_strdup(a, e->d_name);
    }
    if (dir)
        closedir(dir);
    if (n)
        qsort(names, n, sizeof *names, ascending);
    *out = names;
    return n;
}

/* libnvrtc.so.13, libnvrtc.so.11.2; longer names are what these link to.  */
static void add_folder(Search *s, const char *folder) {
    const char **names;
    size_t n = entries(s->arena, folder, soname, &names);
    for (size_t i = 0; i < n; i++) {
        int major = atoi(names[i] + sizeof soname - 1);
        bool short_name = !strchr(names[i] + sizeof soname - 1, '.') || major == OLDEST;
        if (major >= OLDEST && short_name)
            add(s, arena_printf(s->arena, "%s/%s", folder, names[i]), major);
    }
}

static void add_below(Search *s, const char *folder, const char *prefix, const char *tail) {
    const char **names;
    size_t n = entries(s->arena, folder, prefix, &names);
    for (size_t i = 0; i < n; i++)
        add_folder(s, arena_printf(s->arena, "%s/%s%s", folder, names[i], tail));
}

/* The folder of the running program and the one above it.  */
static void add_own(Search *s) {
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len <= 0)
        return;
    path[len] = 0;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return;
        *slash = 0;
        add_below(s, arena_strdup(s->arena, path), "nvrtc", "");
    }
}

static void add_folders(Search *s, const char *folders) {
    for (size_t n; folders && *folders; folders += n + (folders[n] != 0)) {
        n = strcspn(folders, ":");
        if (*folders == '/')
            add_folder(s, arena_strndup(s->arena, folders, n));
    }
}

/* All places where NVRTC may be, newest first, equal versions in order of the search.  */
static void search(Search *s, const NvrtcOptions *o) {
    for (int major = NEWEST; major > OLDEST; major--)
        add(s, arena_printf(s->arena, "%s%d", soname, major), major);
    add(s, "libnvrtc.so.11.2", OLDEST);
    if (o)
        add_folders(s, o->folders);
    const char *toolkit = nvrtc_alone(o) ? NULL : getenv("CUDA_PATH");
    if (toolkit && *toolkit == '/') {
        add_folder(s, arena_printf(s->arena, "%s/lib64", toolkit));
        add_folder(s, arena_printf(s->arena, "%s/lib", toolkit));
    }
    add_below(s, "/usr/local", "cuda", "/lib64");
    add_own(s);
    for (int i = 1; i < s->n; i++) {
        Candidate c = s->found[i];
        int k = i;
        for (; k > 0 && s->found[k - 1].major < c.major; k--)
            s->found[k] = s->found[k - 1];
        s->found[k] = c;
    }
}

int nvrtc_candidates(Arena *a, const NvrtcOptions *o, const char *const **out) {
    Search s = {.arena = a};
    search(&s, o);
    const char **file = ARENA_ARRAY(a, const char *, s.n);
    for (int i = 0; i < s.n; i++)
        file[i] = s.found[i].file;
    *out = file;
    return s.n;
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
    nvrtc_keep_signals(library);
    if (!list_archs(n, a)) {
        *why = arena_printf(a, "%s does not tell its architectures", file);
        return NULL;
    }
    load_builtins(a, n);
    return n;
}

static Status open_given(Arena *a, Diag *d, const char *path, const char *arch, Nvrtc **out) {
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
    *out = n;
    return ST_OK;
}

bool nvrtc_alone(const NvrtcOptions *o) {
    return o && o->ignore_environment;
}

const char *nvrtc_given(const NvrtcOptions *o) {
    const char *path = o && o->path ? o->path : nvrtc_alone(o) ? NULL : getenv("ROLLER_NVRTC");
    return path && *path ? path : NULL;
}

Status nvrtc_open(Arena *a, Diag *d, const NvrtcOptions *o, const char *arch, Nvrtc **out) {
    const char *path = nvrtc_given(o);
    *out = NULL;
    if (path)
        return open_given(a, d, path, arch, out);
    Search s = {.arena = a};
    search(&s, o);
    Buf seen = buf_new(a);
    const char *last = NULL;
    char broken[400] = "";    /* why the first that is there cannot be loaded */
    for (int i = 0; i < s.n; i++) {
        ArenaMark mark = arena_mark(a);
        const char *why;
        Nvrtc *n = load(a, s.found[i].file, &why);
        if (n && (!arch || nvrtc_targets(n, arch))) {
            *out = n;
            return ST_OK;
        }
        int major = n ? n->major : 0, minor = n ? n->minor : 0;
        if (!n && !*broken && !is_because(why, ENOENT))
            snprintf(broken, sizeof broken, "%s", why);
        arena_reset(a, mark);
        if (major && (!last || s.found[i].major != atoi(last))) {
            last = arena_printf(a, "%d.%d", major, minor);
            buf_printf(&seen, "%s%s (%s)", seen.len ? ", " : "", last, s.found[i].file);
        }
    }
    if (!seen.len && *broken) {
        diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE, "NVRTC cannot be loaded: %s", broken);
        diag_hint(d, "more memory may be needed (ulimit -v); ROLLER_NVRTC names another "
                     "libnvrtc.so.N by its full path");
        return ST_NVRTC;
    }
    if (!seen.len) {
        diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE, "NVRTC was not found");
        diag_hint(d, "install the CUDA toolkit, or set ROLLER_NVRTC to the full path of "
                     "libnvrtc.so.N");
        return ST_NVRTC;
    }
    diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE, "%s; found %s", nvrtc_needs(a, arch),
               buf_str(&seen));
    diag_hint(d, "set ROLLER_NVRTC to the full path of a version that fits");
    return ST_NVRTC;
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
