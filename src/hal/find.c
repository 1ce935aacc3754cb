#include "base/file.h"
#include "base/nearest.h"
#include "hal/device.h"
#include "hal/located.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char suffix[] = ".json";
enum { SUFFIX = sizeof suffix - 1, MAX_NAMES = 1024, MAX_DEFAULT = 128 };

const char *hal_profile_home(Arena *a) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME"), *own = NULL;
    if (data && *data == '/')
        own = arena_printf(a, "%s/roller/profiles", data);
    else if (home && *home == '/')
        own = arena_printf(a, "%s/.local/share/roller/profiles", home);
    return own && !strchr(own, ':') ? own : NULL;
}

const char *hal_profile_path(Arena *a, bool ignore_environment) {
    const char *own = ignore_environment ? NULL : getenv("ROLLER_PROFILE_PATH");
    const char *home = ignore_environment ? NULL : hal_profile_home(a);
    const char *moved = hal_moved_datadir(a);
    Buf b = buf_new(a);
    if (own && *own)
        buf_printf(&b, "%s:", own);
    buf_puts(&b, "./profiles");
    if (home)
        buf_printf(&b, ":%s", home);
    if (moved)
        buf_printf(&b, ":%s/profiles", moved);
    buf_printf(&b, ":%s/profiles", hal_datadir);
    return buf_str(&b);
}

/* The next folder of a path; NULL at its end.  Empty entries are passed over.  */
static const char *next_folder(Arena *a, const char **path) {
    while (**path == ':')
        ++*path;
    size_t len = strcspn(*path, ":");
    if (!len)
        return NULL;
    const char *folder = arena_strndup(a, *path, len);
    *path += len;
    return folder;
}

static int by_name(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static bool listed(const char *const *names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

int hal_profile_list(Arena *a, const char *path, const char *const **out) {
    size_t n = 0, cap = 0;
    const char **names = NULL, *folder;
    while ((folder = next_folder(a, &path))) {
        size_t first = n;
        DIR *dir = opendir(folder);
        if (!dir && errno == ENOMEM)
            arena_fail(a);
        struct dirent *entry;
        while (dir && n < MAX_NAMES && (entry = readdir(dir))) {
            size_t len = strlen(entry->d_name);
            if (len <= SUFFIX || entry->d_name[0] == '.' ||
                strcmp(entry->d_name + len - SUFFIX, suffix))
                continue;
            const char *name = arena_strndup(a, entry->d_name, len - SUFFIX);
            if (listed(names, n, name))
                continue;
            names = arena_grow(a, names, &cap, n + 1, sizeof *names);
            names[n++] = name;
        }
        if (dir)
            closedir(dir);
        if (n > first)
            qsort(names + first, n - first, sizeof *names, by_name);
    }
    for (const HalBuiltin *b = hal_builtin; b->name; b++) {
        if (listed(names, n, b->name))
            continue;
        names = arena_grow(a, names, &cap, n + 1, sizeof *names);
        names[n++] = b->name;
    }
    *out = names;
    return (int)n;
}

static bool is_name(const char *s) {
    return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-")];
}

const char *hal_profile_default(Arena *a, const char *path) {
    const char *folder;
    while ((folder = next_folder(a, &path))) {
        const char *file = arena_printf(a, "%s/default", folder);
        Diag ignored = diag_new(a);
        char *text;
        size_t len;
        if (!file_exists(file) || file_read(a, &ignored, file, MAX_DEFAULT, &text, &len) != ST_OK)
            continue;
        text[strcspn(text, " \t\r\n")] = 0;
        if (!is_name(text))
            continue;
        /* Who chose a profile meant the one beside, not one of that name in an earlier folder.  */
        const char *beside = arena_printf(a, "%s/%s%s", folder, text, suffix);
        return file_exists(beside) ? beside : text;
    }
    return NULL;
}

const char *hal_profile_chosen(Arena *a, const char *path, bool ignore_environment) {
    const char *name = ignore_environment ? NULL : getenv("ROLLER_PROFILE");
    if (!name || !*name)
        name = hal_profile_default(a, path);
    return name ? name : "h200";
}

static Status not_found(Arena *a, Diag *d, const char *name, const char *path) {
    Status s = diag_error(d, ST_IO, "profile", DIAG_NOWHERE,
                          "there is no profile \"%.64s\" in %s", name, path);
    const char *const *names;
    int n = hal_profile_list(a, path, &names);
    Buf b = buf_new(a);
    Nearest near = {.name = name};
    for (int i = 0; i < n; i++) {
        buf_printf(&b, "%s%s", b.len ? ", " : "", names[i]);
        nearest_offer(&near, names[i]);
    }
    if (near.best)
        diag_hint(d, "did you mean %s?  There are %s", near.best, buf_str(&b));
    else if (b.len)
        diag_hint(d, "there are %s", buf_str(&b));
    else
        diag_hint(d, "there is none at all; ROLLER_PROFILE_PATH names folders to search");
    return s;
}

static bool names_file(const char *name) {
    size_t len = strlen(name);
    return strchr(name, '/') || (len > SUFFIX && !strcmp(name + len - SUFFIX, suffix));
}

/* A GPU is often written "H200".  */
static const char *plain_name(Arena *a, const char *name) {
    char *plain = arena_strdup(a, name);
    for (char *c = plain; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return plain;
}

static const char *locate(Arena *a, const char *name, const char *path) {
    const char *folder;
    while (is_name(name) && (folder = next_folder(a, &path))) {
        const char *file = arena_printf(a, "%s/%s%s", folder, name, suffix);
        if (file_exists(file))
            return file;
    }
    return NULL;
}

static const char *builtin_text(const char *name) {
    const HalBuiltin *b = hal_builtin;
    while (b->name && strcmp(b->name, name))
        b++;
    return b->text;
}

Status hal_profile_find(Arena *a, Diag *d, const char *name, const char *path, const char **file,
                        Device **out) {
    const char *plain = plain_name(a, name);
    const char *at = names_file(name) ? name : locate(a, plain, path);
    const char *builtin = at ? NULL : builtin_text(plain);
    *out = NULL;
    if (file)
        *file = NULL;
    if (builtin)
        return hal_profile_read(a, d, diag_text(arena_printf(a, "%s%s", plain, suffix), builtin),
                                out);
    if (!at)
        return not_found(a, d, name, path);
    at = arena_strdup(a, at);             /* the caller's name may go before the profile */
    if (file)
        *file = at;
    char *text;
    size_t len;
    Status s = file_read(a, d, at, LOCATED_MAX_BYTES, &text, &len);
    return s == ST_OK ? hal_profile_read(a, d, (DiagText){at, text, len}, out) : s;
}
