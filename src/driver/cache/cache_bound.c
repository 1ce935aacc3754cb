/* What is in the folder of the kernel cache, and how much may be.  */
#include "driver/cache/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A writer that is at work for longer was killed.  */
enum { HASH = 64, STALE_S = 3600 };

/* Is a name one that cache_write gives, or its temporary file?  All else in the folder is left
 * alone.  */
static bool is_own(const char *name, bool *temporary) {
    if (strspn(name, "0123456789abcdef") != HASH || strncmp(name + HASH, ".rk", 3) != 0)
        return false;
    const char *rest = name + HASH + 3;
    *temporary = *rest == '.';
    if (!*rest) return true;
    if (!*temporary) return false;
    rest += 1 + strspn(rest + 1, "0123456789-");
    return strcmp(rest, ".tmp") == 0 && strlen(name) < sizeof((CacheFile *)0)->name;
}

static int older(const void *x, const void *y) {
    const CacheFile *a = x, *b = y;
    if (a->used != b->used) return a->used < b->used ? -1 : 1;
    if (a->used_ns != b->used_ns) return a->used_ns < b->used_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void close_dir(void *p) {
    closedir(p);
}

size_t cache_files(Cache *c, CacheFile **out) {
    size_t n = 0, cap = 0;
    CacheFile *list = NULL;
    int fd = openat(c->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    *out = NULL;
    if (!dir) {
        if (fd >= 0) close(fd);
        return 0;
    }
    arena_defer(c->arena, close_dir, dir);
    const struct dirent *e;
    while ((e = readdir(dir))) {
        struct stat st;
        bool temporary;
        if (!is_own(e->d_name, &temporary)) continue;
        if (fstatat(c->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || S_ISDIR(st.st_mode)) continue;
        list = arena_grow(c->arena, list, &cap, n + 1, sizeof *list);
        list[n] = (CacheFile){.bytes = st.st_size, .used = st.st_mtim.tv_sec,
                              .used_ns = st.st_mtim.tv_nsec, .temporary = temporary};
        memcpy(list[n++].name, e->d_name, strlen(e->d_name) + 1);
    }
    if (n) qsort(list, n, sizeof *list, older);
    *out = list;
    return n;
}

void cache_bound(Cache *c, const char *keep, int64_t bytes, size_t entries) {
    CacheFile *file;
    struct timespec now;
    size_t n = cache_files(c, &file), left = n;
    int64_t sum = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < n; i++) sum += file[i].bytes;
    for (size_t i = 0; i < n; i++) {
        bool fresh = file[i].temporary && now.tv_sec - file[i].used < STALE_S;
        bool full = sum > bytes || left > entries;
        if (fresh || !strcmp(file[i].name, keep) || !(full || file[i].temporary)) continue;
        if (unlinkat(c->fd, file[i].name, 0)) continue;
        sum -= file[i].bytes;
        left--;
    }
}

size_t cache_clear(Cache *c, int64_t *bytes) {
    CacheFile *file;
    size_t n = cache_files(c, &file), removed = 0;
    *bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (unlinkat(c->fd, file[i].name, 0)) continue;
        *bytes += file[i].bytes;
        removed++;
    }
    return removed;
}
