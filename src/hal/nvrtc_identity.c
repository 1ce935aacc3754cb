/* dlinfo is no part of POSIX.  */
#define _GNU_SOURCE

#include "hal/nvrtc_identity.h"

#include "base/file.h"
#include "base/hash.h"
#include "hal/nvrtc_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Builtins have a few megabytes.  */
enum { MAX_BUILTINS = 1 << 28 };

/* "PATH SIZE INODE TIME"; false: there is none.  */
static bool describe(const char *path, char *out, size_t size) {
    struct stat st;
    if (stat(path, &st))
        return false;
    int n = snprintf(out, size, "%s %lld %llu %lld.%09ld", path, (long long)st.st_size,
                     (unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec,
                     st.st_mtim.tv_nsec);
    return n > 0 && (size_t)n < size;
}

/* A file as it is, behind links, on a line; nothing where there is none.  */
static void add_file(Arena *a, const char *path, Buf *out) {
    char *real = arena_alloc(a, PATH_MAX), text[PATH_MAX + 96];
    if (realpath(path, real) && describe(real, text, sizeof text))
        buf_printf(out, "%s = %s\n", path, text);
}

/* Names that the loader searches for, in folders that it looks into.  What else it knows is in its
 * table of the installed libraries.  */
static void add_folders(Arena *a, const char *folders, const char *file, Buf *out) {
    for (size_t n; *folders; folders += n + (folders[n] != 0)) {
        n = strcspn(folders, ":;");
        add_file(a, arena_printf(a, "%.*s/%s", n ? (int)n : 1, n ? folders : ".", file), out);
    }
}

/* Is one loaded that a name without a path would mean?  */
static bool is_loaded(const char *name) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library != NULL;
}

const char *nvrtc_surroundings(Arena *a, const NvrtcOptions *o, const char *arch) {
    Buf text = buf_new(a);
    const char *given = nvrtc_given(o);
    buf_printf(&text, "arch %s, driver %d%s, below %d\n", arch, o ? o->driver : 0,
               o && o->jit ? " by PTX" : "", o ? o->below : 0);
    if (given) {
        buf_printf(&text, "given %s\n", given);
        add_file(a, given, &text);
        return buf_str(&text);
    }
    const char *paths = getenv("LD_LIBRARY_PATH");
    const NvrtcCandidate *c;
    int n = nvrtc_candidates(a, o, &c);
    if (paths)
        buf_printf(&text, "LD_LIBRARY_PATH %s\n", paths);
    add_file(a, "/etc/ld.so.cache", &text);
    for (int i = 0; i < n; i++) {
        bool name = !strchr(c[i].file, '/');
        if (name && is_loaded(c[i].file))
            return NULL;
        if (!name)
            add_file(a, c[i].file, &text);
        else
            add_folders(a, paths ? paths : "", c[i].file, &text);
        if (name)
            add_folders(a, "/lib:/usr/lib:/lib64:/usr/lib64:/usr/local/lib", c[i].file, &text);
    }
    return buf_str(&text);
}

/* The file that a library was loaded from, behind links.  */
static bool file_of(void *library, char out[PATH_MAX]) {
    struct link_map *map;
    return library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name &&
           realpath(map->l_name, out);
}

void nvrtc_files(const Nvrtc *n, char out[NVRTC_FILES]) {
    char path[PATH_MAX];
    *out = 0;
    if (!file_of(n->library, path) || !describe(path, out, NVRTC_FILES))
        return;
    size_t len = strlen(out);
    bool whole = !n->builtins;
    if (n->builtins && file_of(n->builtins, path) && len + 1 < NVRTC_FILES) {
        out[len] = '\n';
        whole = describe(path, out + len + 1, NVRTC_FILES - len - 1);
    }
    if (!whole)
        *out = 0;
}

/* The path at the begin of a line of `files`.  */
static const char *path_of(Arena *a, const char *line) {
    size_t n = strcspn(line, "\n");
    for (int fields = 0; n > 0 && fields < 3; n--)
        fields += line[n - 1] == ' ';
    return arena_strndup(a, line, n);
}

Status nvrtc_identify(Arena *a, Diag *d, const NvrtcOptions *o, const char *arch,
                      NvrtcIdentity *out) {
    Nvrtc *n;
    *out = (NvrtcIdentity){0};
    Status s = nvrtc_open(a, d, o, arch, &n);
    if (s)
        return s;
    nvrtc_files(n, out->files);
    if (!*out->files)
        return diag_error(d, ST_NVRTC, "nvrtc", DIAG_NOWHERE, "the files of %s cannot be told",
                          n->file);
    struct stat st;
    char hash[65] = "none";
    const char *second = strchr(out->files, '\n');
    if (stat(path_of(a, out->files), &st))
        st.st_size = 0;
    if (second) {
        char *text;
        size_t len;
        s = file_read(a, d, path_of(a, second + 1), MAX_BUILTINS, &text, &len);
        if (s)
            return s;
        sha256_text(text, len, hash);
    }
    snprintf(out->version, sizeof out->version, "%d.%d of %lld bytes, builtins %s", n->major,
             n->minor, (long long)st.st_size, hash);
    return ST_OK;
}

bool nvrtc_same_files(const NvrtcIdentity *kept) {
    char path[NVRTC_FILES], now[NVRTC_FILES];
    for (const char *line = kept->files; *line;) {
        size_t len = strcspn(line, "\n"), n = len;
        for (int fields = 0; n > 0 && fields < 3; n--)
            fields += line[n - 1] == ' ';
        memcpy(path, line, n);
        path[n] = 0;
        if (!describe(path, now, sizeof now) || strlen(now) != len || memcmp(now, line, len) != 0)
            return false;
        line += len + (line[len] == '\n');
    }
    return *kept->files;
}
