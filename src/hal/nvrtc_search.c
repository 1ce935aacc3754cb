/* Where NVRTC may be: libraries that the loader finds, toolkits, wheels of Python, folders of ours.
 * Nothing is loaded; which version a file is, is told from names.  */

/* dladdr is no part of POSIX.  */
#define _GNU_SOURCE

#include "hal/nvrtc_library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char soname[] = "libnvrtc.so.", builtins[] = "libnvrtc-builtins.so.";
enum { NEWEST = 19, OLDEST = 11, MAX_FOUND = 64 };

typedef struct {
    Arena *arena;
    NvrtcCandidate found[MAX_FOUND];
    int n;
} Search;

static void add(Search *s, NvrtcCandidate c) {
    if (s->n < MAX_FOUND)
        s->found[s->n++] = c;
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
        if (*e->d_name == '.' || strncmp(e->d_name, prefix, strlen(prefix)))
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

/* The number that follows a prefix; -1: there is none.  */
static int minor_after(const char *name, const char *prefix) {
    size_t len = strlen(prefix);
    bool number = !strncmp(name, prefix, len) && name[len] >= '0' && name[len] <= '9';
    return number ? atoi(name + len) : -1;
}

/* The minor version of a library, from the name behind its links (libnvrtc.so.12.4.127), else from
 * that of the only builtins of its major version beside it; -1: they do not tell.  */
static int minor_of(Arena *a, const char *folder, const char *name, int major) {
    char *real = arena_alloc(a, PATH_MAX);
    if (realpath(arena_printf(a, "%s/%s", folder, name), real)) {
        const char *file = strrchr(real, '/');
        int minor = minor_after(file ? file + 1 : real, arena_printf(a, "%s%d.", soname, major));
        if (minor >= 0)
            return minor;
    }
    const char **names, *prefix = arena_printf(a, "%s%d.", builtins, major);
    size_t n = entries(a, folder, prefix, &names);
    int known = -1;
    for (size_t i = 0; i < n; i++) {
        int minor = minor_after(names[i], prefix);
        if (minor < 0 || minor == known)
            continue;
        if (known >= 0)
            return -1;
        known = minor;
    }
    return known;
}

/* libnvrtc.so.13, libnvrtc.so.11.2; longer names are what these link to.  */
static void add_folder(Search *s, const char *folder) {
    const char **names;
    size_t n = entries(s->arena, folder, soname, &names);
    for (size_t i = 0; i < n; i++) {
        int major = atoi(names[i] + sizeof soname - 1);
        bool short_name = !strchr(names[i] + sizeof soname - 1, '.') || major == OLDEST;
        if (major >= OLDEST && short_name)
            add(s, (NvrtcCandidate){arena_printf(s->arena, "%s/%s", folder, names[i]), major,
                                    minor_of(s->arena, folder, names[i], major)});
    }
}

static void add_folders(Search *s, const char *folders) {
    for (size_t n; folders && *folders; folders += n + (folders[n] != 0)) {
        n = strcspn(folders, ":");
        if (*folders == '/')
            add_folder(s, arena_strndup(s->arena, folders, n));
    }
}

static void add_below(Search *s, const char *folder, const char *prefix, const char *tail) {
    const char **names;
    size_t n = entries(s->arena, folder, prefix, &names);
    for (size_t i = 0; i < n; i++)
        add_folder(s, arena_printf(s->arena, "%s/%s%s", folder, names[i], tail));
}

/* NVIDIA's wheels: nvidia/cuda_nvrtc/lib, since version 13 nvidia/cu13/lib.  */
static void add_wheels(Search *s, const char *packages) {
    add_below(s, arena_printf(s->arena, "%s/nvidia", packages), "cu", "/lib");
}

static void add_python(Search *s, const char *prefix) {
    const char *lib = arena_printf(s->arena, "%s/lib", prefix), **names;
    size_t n = entries(s->arena, lib, "python3", &names);
    for (size_t i = 0; i < n; i++) {
        add_wheels(s, arena_printf(s->arena, "%s/%s/site-packages", lib, names[i]));
        add_wheels(s, arena_printf(s->arena, "%s/%s/dist-packages", lib, names[i]));
    }
}

/* Folders around a file of ours: nvrtc* beside it or one above, and where it is part of a wheel,
 * the wheels beside that.  */
static void add_around(Search *s, char *path) {
    for (int i = 0; *path; i++) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return;
        *slash = 0;
        if (i < 2)
            add_below(s, arena_strdup(s->arena, path), "nvrtc", "");
        const char *name = strrchr(path, '/');
        if (name && (!strcmp(name, "/site-packages") || !strcmp(name, "/dist-packages")))
            add_wheels(s, arena_strdup(s->arena, path));
    }
}

/* The running program, which may be a Python, and the library that this is part of.  */
static void add_own(Search *s) {
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len > 0) {
        path[len] = 0;
        const char *bin = strstr(path, "/bin/python");
        if (bin)
            add_python(s, arena_strndup(s->arena, path, (size_t)(bin - path)));
        add_around(s, path);
    }
    Dl_info self;
    if (dladdr(soname, &self) && self.dli_fname && realpath(self.dli_fname, path))
        add_around(s, path);
}

/* What the environment names, by absolute paths.  */
static void add_environment(Search *s) {
    const char *toolkit = getenv("CUDA_PATH"), *venv = getenv("VIRTUAL_ENV"),
               *conda = getenv("CONDA_PREFIX"), *home = getenv("HOME");
    if (toolkit && *toolkit == '/') {
        add_folder(s, arena_printf(s->arena, "%s/lib64", toolkit));
        add_folder(s, arena_printf(s->arena, "%s/lib", toolkit));
    }
    if (venv && *venv == '/')
        add_python(s, venv);
    if (conda && *conda == '/') {
        add_folder(s, arena_printf(s->arena, "%s/lib", conda));
        add_python(s, conda);
    }
    if (home && *home == '/')
        add_python(s, arena_printf(s->arena, "%s/.local", home));
}

/* Is x to be tried before y?  What the loader finds by name comes before the other files of its
 * major version, since somebody chose it.  */
static bool before(const NvrtcCandidate *x, const NvrtcCandidate *y) {
    bool x_named = !strchr(x->file, '/'), y_named = !strchr(y->file, '/');
    if (x->major != y->major)
        return x->major > y->major;
    if (x_named != y_named)
        return x_named;
    return x->minor > y->minor;
}

bool nvrtc_alone(const NvrtcOptions *o) {
    return o && o->ignore_environment;
}

int nvrtc_candidates(Arena *a, const NvrtcOptions *o, const NvrtcCandidate **out) {
    Search *s = ARENA_NEW(a, Search);
    s->arena = a;
    for (int major = NEWEST; major > OLDEST; major--)
        add(s, (NvrtcCandidate){arena_printf(a, "%s%d", soname, major), major, -1});
    add(s, (NvrtcCandidate){"libnvrtc.so.11.2", OLDEST, -1});
    if (o)
        add_folders(s, o->folders);
    if (!nvrtc_alone(o))
        add_environment(s);
    add_own(s);
    add_below(s, "/usr/local", "cuda", "/lib64");
    add_python(s, "/usr/local");
    add_python(s, "/usr");
    for (int i = 1; i < s->n; i++) {
        NvrtcCandidate c = s->found[i];
        int k = i;
        for (; k > 0 && before(&c, &s->found[k - 1]); k--)
            s->found[k] = s->found[k - 1];
        s->found[k] = c;
    }
    *out = s->found;
    return s->n;
}
