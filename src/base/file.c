#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    int fd;
    const char *path;         /* its name for people */
    size_t size;              /* what the file system says */
} Handle;

static void handle_close(void *p) {
    Handle *h = p;
    if (h->fd >= 0) close(h->fd);
    h->fd = -1;
}

/* `verb` is "read", "write" or "make the folder".  */
static Status failed(Diag *d, const char *verb, const char *path, int error) {
    char text[128];
    if (strerror_r(error, text, sizeof text)) snprintf(text, sizeof text, "error %d", error);
    diag_error(d, ST_IO, NULL, DIAG_NOWHERE, "cannot %s '%s': %s", verb, path, text);
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        diag_hint(d, *verb == 'w' ? "check the name; the folder must exist" : "check the name");
        break;
    case EACCES:
    case EPERM:
    case EROFS:
        diag_hint(d, "choose a place where this user may %s", *verb == 'r' ? verb : "write");
        break;
    case ENOSPC:
    case EDQUOT: diag_hint(d, "free some space or choose another place"); break;
    case EISDIR: diag_hint(d, "this is a folder; name a file in it"); break;
    default: break;
    }
    return ST_IO;
}

static Status too_long(Diag *d, const char *path, size_t max_len) {
    return diag_error(d, ST_SIZE, "limit", DIAG_NOWHERE,
                      "'%s' has more than %zu bytes, and no more are read", path, max_len);
}

/* Everything from there on, at most max_len bytes.  */
static Status read_all(Arena *a, Diag *d, const Handle *h, size_t max_len, char **text,
                       size_t *len) {
    char *p = NULL;
    size_t cap = 0, n = 0, size = h->size;
    for (;;) {
        p = arena_grow(a, p, &cap, n + 2 > size + 2 ? n + 2 : size + 2, 1);
        ssize_t got = read(h->fd, p + n, cap - n - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed(d, "read", h->path, errno);
        if (got == 0) break;
        n += (size_t)got;
        if (n > max_len) return too_long(d, h->path, max_len);
    }
    p[n] = 0;
    *text = p;
    *len = n;
    return ST_OK;
}

/* Opens a regular file of at most max_len bytes.  */
static Status open_file(Diag *d, Handle *h, size_t max_len) {
    const char *path = h->path;
    struct stat st;
    /* Without O_NONBLOCK the open of a pipe would wait for a writer.  */
    h->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (h->fd < 0 || fstat(h->fd, &st)) return failed(d, "read", path, errno);
    if (S_ISDIR(st.st_mode)) return failed(d, "read", path, EISDIR);
    if (!S_ISREG(st.st_mode))
        return diag_error(d, ST_IO, NULL, DIAG_NOWHERE, "cannot read '%s': not a regular file",
                          path);
    if ((uint64_t)st.st_size > max_len) return too_long(d, path, max_len);
    h->size = (size_t)st.st_size;
    return ST_OK;
}

Status file_read(Arena *a, Diag *d, const char *path, size_t max_len, char **text, size_t *len) {
    if (max_len > SIZE_MAX / 4) max_len = SIZE_MAX / 4;
    if (strcmp(path, "-") == 0)
        return read_all(a, d, &(Handle){STDIN_FILENO, "standard input", 0}, max_len, text, len);
    Handle *h = ARENA_NEW(a, Handle);
    *h = (Handle){-1, path, 0};
    arena_defer(a, handle_close, h);
    Status s = open_file(d, h, max_len);
    if (!s) s = read_all(a, d, h, max_len, text, len);
    handle_close(h);
    return s;
}

/* False with errno set.  */
static bool write_all(int fd, const char *data, size_t len) {
    while (len) {
        ssize_t put = write(fd, data, len);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        data += put;
        len -= (size_t)put;
    }
    return true;
}

/* Writes and closes; 0 or an errno.  */
static int write_and_close(int fd, const void *data, size_t len, bool sync) {
    int error = write_all(fd, data, len) ? 0 : errno;
    /* Some file systems have none.  */
    if (!error && sync && fsync(fd) && errno != EINVAL && errno != ENOSYS) error = errno;
    if (close(fd) && !error) error = errno;
    return error;
}

static const char *folder_of(Arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    return !slash ? "." : slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

/* The name itself is on the disk when its folder is.  Not every file system can say so of a folder,
 * and the file is there already, so a failure is none.  */
static void sync_folder(Arena *a, const char *path) {
    int fd = open(folder_of(a, path), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

/* A new file beside `path`, its name in `temp`; -1 with errno set.  */
static int create_beside(int folder, const char *path, unsigned mode, char *temp, size_t size) {
    for (int i = 0; i < 1000; i++) {
        snprintf(temp, size, "%s.%ld-%d.tmp", path, (long)getpid(), i);
        int fd = openat(folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* Takes a signal that waits for this thread, which blocks it, so that it is never delivered.  */
static void drop_signal(int number) {
    const struct timespec now = {0};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigtimedwait(&one, NULL, &now);
}

/* A file to be written: its name in a folder, and its mode if it is new.  */
typedef struct {
    int folder;
    const char *path;
    unsigned mode;
} Target;

/* 0 or an errno.  A signal that ends the process has to wait, so that none leaves the temporary
 * file.  */
static int replace(Target to, char *temp, size_t size, const void *data, size_t len) {
    sigset_t all, was;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &was);
    int fd = create_beside(to.folder, to.path, to.mode, temp, size);
    int error = fd < 0 ? errno : write_and_close(fd, data, len, true);
    if (!error && renameat(to.folder, temp, to.folder, to.path)) error = errno;
    if (error && fd >= 0) unlinkat(to.folder, temp, 0);
    if (error == EFBIG) drop_signal(SIGXFSZ);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return error;
}

Status file_write(Diag *d, const char *path, const void *data, size_t len) {
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        /* A terminal, pipe or device keeps its place; there is nothing to replace.  */
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        int error = fd < 0 ? errno : write_and_close(fd, data, len, false);
        return error ? failed(d, "write", path, error) : ST_OK;
    }
    size_t size = strlen(path) + 48;
    char *temp = arena_alloc(d->arena, size);
    int error = replace((Target){AT_FDCWD, path, 0666}, temp, size, data, len);
    if (error) return failed(d, "write", path, error);
    sync_folder(d->arena, path);
    return ST_OK;
}

int file_write_at(int folder, const char *name, unsigned mode, const void *data, size_t len) {
    char temp[NAME_MAX + 1];
    if (strlen(name) + 48 > sizeof temp) return ENAMETOOLONG;
    int error = replace((Target){folder, name, mode}, temp, sizeof temp, data, len);
    if (!error) fsync(folder);          /* as in sync_folder */
    return error;
}

Status file_writable(Diag *d, const char *path) {
    struct stat st;
    const char *folder = folder_of(d->arena, path);
    size_t len = strlen(path);
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode)) return failed(d, "write", path, EISDIR);
        if (!S_ISREG(st.st_mode))
            return access(path, W_OK) ? failed(d, "write", path, errno) : ST_OK;
    } else if (!len || path[len - 1] == '/') {
        return failed(d, "write", path, len ? EISDIR : ENOENT);
    }
    if (stat(folder, &st)) return failed(d, "write", path, errno);
    if (!S_ISDIR(st.st_mode)) return failed(d, "write", path, ENOTDIR);
    return access(folder, W_OK | X_OK) ? failed(d, "write", path, errno) : ST_OK;
}

bool file_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

Status file_apart(Diag *d, const char *out, const char *const *in, int n) {
    struct stat to, from;
    if (strcmp(out, "-") == 0 || stat(out, &to) || !S_ISREG(to.st_mode)) return ST_OK;
    for (int i = 0; i < n; i++) {
        bool none = strcmp(in[i], "-") == 0 || stat(in[i], &from);
        if (none || from.st_dev != to.st_dev || from.st_ino != to.st_ino) continue;
        diag_error(d, ST_USAGE, NULL, DIAG_NOWHERE, "the output '%s' would replace the input '%s'",
                   out, in[i]);
        diag_hint(d, "name another file; nothing was written");
        return ST_USAGE;
    }
    return ST_OK;
}

Status file_make_folders(Diag *d, const char *path) {
    char *part = arena_strdup(d->arena, path);
    int error = 0;
    for (char *at = part + 1; *part;) {
        at += strcspn(at, "/");
        char was = *at;
        *at = 0;
        struct stat st;
        error = mkdir(part, S_IRWXU) && errno != EEXIST ? errno : 0;
        /* Of a folder that may not be made for some other reason it is enough that it is there.  */
        if (error && stat(part, &st) == 0 && S_ISDIR(st.st_mode)) error = 0;
        *at = was;
        if (error || !was) break;
        at++;
    }
    return error ? failed(d, "make the folder", path, error) : ST_OK;
}
