/* The folder of the kernel cache.  */
#include "base/file.h"
#include "driver/cache/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MIN_SECRET = 16, MAX_SECRET = 4096, OTHERS_WRITE = S_IWGRP | S_IWOTH };

const char *cache_place(Arena *a, const char *given, bool ignore_environment) {
    if (given || ignore_environment) return given && *given ? given : NULL;
    const char *own = getenv("ROLLER_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (own) return *own ? arena_strdup(a, own) : NULL;
    if (xdg && *xdg == '/') return arena_printf(a, "%s/roller", xdg);
    return home && *home == '/' ? arena_printf(a, "%s/.cache/roller", home) : NULL;
}

void cache_note(Cache *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(c->notes, fmt, ap);
    va_end(ap);
    buf_putc(c->notes, '\n');
}

static void close_folder(void *p) {
    close(*(int *)p);
}

/* Says once per context why no cache is used.  */
static Cache *refuse(RollerCtx *ctx, const char *path, const char *why, const char *hint) {
    if (!ctx->cache.warned) {
        diag_warning(&ctx->diag, "cache", DIAG_NOWHERE, "the cache '%s' is not used: %s", path,
                     why);
        diag_hint(&ctx->diag, "%s", hint);
    }
    ctx->cache.warned = true;
    return NULL;
}

/* A key file tells whoever has it apart from whoever only writes to the folder, so it must be
 * nobody else's to write.  NULL: it will do.  */
static const char *read_secret(RollerCtx *ctx, Cache *c) {
    const char *file = ctx->cache.key_file;
    struct stat st;
    char *text;
    size_t len;
    Diag quiet = diag_new(ctx->call);
    if (stat(file, &st)) return "its key file cannot be read";
    if (st.st_uid != geteuid() && st.st_uid != 0) return "its key file is somebody else's";
    if (st.st_mode & (OTHERS_WRITE | S_IROTH)) return "its key file is open to others";
    if (file_read(ctx->call, &quiet, file, MAX_SECRET, &text, &len))
        return "its key file cannot be read";
    if (len < MIN_SECRET) return "its key file has less than 16 bytes";
    c->secret = text;
    c->secret_len = len;
    return NULL;
}

Cache *cache_open(RollerCtx *ctx, bool make) {
    Arena *a = ctx->call;
    const char *path = ctx->cache.path;
    struct stat st;
    if (!path) return NULL;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        if (!make) return NULL;
        Diag quiet = diag_new(a);
        file_make_folders(&quiet, path);              /* what that cannot do, the next line tells */
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0)
        return refuse(ctx, path, "it is no folder that can be made or read",
                      "name another with --cache-dir or ROLLER_CACHE_DIR, or use --no-cache");
    Cache *c = ARENA_NEW(a, Cache);
    *c = (Cache){.path = path, .fd = fd, .arena = a, .diag = &ctx->diag,
                 .notes = &ctx->cache.notes};
    arena_defer(a, close_folder, &c->fd);
    const char *why = NULL;
    if (ctx->cache.key_file) why = read_secret(ctx, c);
    else if (fstat(fd, &st) || st.st_uid != geteuid()) why = "it is somebody else's";
    else if (st.st_mode & OTHERS_WRITE) why = "others may write to it";
    if (!why) return c;
    return refuse(ctx, path, why, "whoever writes to the cache can run code: use a folder of "
                                  "your own with mode 0700");
}
