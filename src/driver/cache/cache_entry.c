/* One file of the kernel cache.
 *
 *     0   8   "ROLLERKC"
 *     8   4   format, 1
 *    12   4   sections, the key being the first
 *    16  64   length of each, 8 bytes; 0 of those there are not
 *    80  32   SHA-256 of the first 80 bytes and of the sections
 *   112  32   HMAC-SHA256 of the first 112 bytes by the key file; 0 without one
 *   144       the sections
 *
 * Numbers are little-endian.  */
#include "base/file.h"
#include "base/hash.h"
#include "driver/cache/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FORMAT = 1, AT_FORMAT = 8, AT_COUNT = 12, AT_LENGTHS = 16, AT_HASH = 80, AT_TAG = 112,
    HEADER = 144, DIGEST = 32, MAX_ENTRY = 1 << 26
};
static const char magic[] = "ROLLERKC", ending[] = ".rk";
static const int64_t most_bytes = (int64_t)1 << 30;
static const size_t most_entries = 10000;

static void put(uint8_t *to, int bytes, uint64_t v) {
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t get(const uint8_t *from, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)from[i] << 8 * i;
    return v;
}

void cache_name(const char *key, char out[CACHE_NAME]) {
    sha256_text(key, strlen(key), out);
    memcpy(out + 64, ending, sizeof ending);
}

static void seal(const Cache *c, uint8_t *file, size_t len, uint8_t hash[DIGEST],
                 uint8_t tag[DIGEST]) {
    Sha256 s;
    sha256_init(&s);
    sha256_add(&s, file, AT_HASH);
    sha256_add(&s, file + HEADER, len - HEADER);
    sha256_digest(&s, hash);
    memset(tag, 0, DIGEST);
    if (!c->secret) return;
    uint8_t signed_part[AT_TAG];
    memcpy(signed_part, file, AT_HASH);
    memcpy(signed_part + AT_HASH, hash, DIGEST);
    hmac_sha256(c->secret, c->secret_len, signed_part, sizeof signed_part, tag);
}

/* In a time that does not tell where they differ.  */
static bool same(const uint8_t *x, const uint8_t *y) {
    unsigned differ = 0;
    for (int i = 0; i < DIGEST; i++) differ |= x[i] ^ y[i];
    return differ == 0;
}

/* ---- reading ---- */
static void close_file(void *p) {
    int *fd = p;
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static bool hostile(Cache *c, const char *name, const char *what) {
    diag_warning(c->diag, "cache", DIAG_NOWHERE, "'%s/%s' is not used: it is %s", c->path, name,
                 what);
    return false;
}

/* Opens a regular file of the user's; with a key file the tag vouches for it.  */
static bool open_entry(Cache *c, const char *name, int *fd, size_t *size) {
    struct stat st;
    *fd = openat(c->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0 && errno == ENOENT) return false;
    if (*fd < 0 && errno == ELOOP) return hostile(c, name, "a symbolic link");
    if (*fd < 0 || fstat(*fd, &st)) {
        cache_note(c, "'%s/%s' cannot be read: %s", c->path, name, strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode)) return hostile(c, name, "no regular file");
    if (!c->secret && st.st_uid != geteuid()) return hostile(c, name, "somebody else's");
    if (!c->secret && st.st_mode & (S_IWGRP | S_IWOTH))
        return hostile(c, name, "a file that others may write to");
    *size = (size_t)st.st_size;
    if (st.st_size <= MAX_ENTRY) return true;
    cache_note(c, "'%s/%s' is too large", c->path, name);
    return false;
}

/* The bytes of an entry; NULL: they cannot be read.  Marks it as used.  */
static uint8_t *read_entry(Cache *c, const char *name, size_t *len, bool use) {
    int *fd = ARENA_NEW(c->arena, int);
    *fd = -1;
    arena_defer(c->arena, close_file, fd);
    bool opened = open_entry(c, name, fd, len);
    uint8_t *file = opened ? ARENA_ROOM(c->arena, uint8_t, *len + 1) : NULL;
    for (size_t at = 0; opened && at < *len;) {
        ssize_t n = read(*fd, file + at, *len - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            cache_note(c, "'%s/%s' cannot be read: %s", c->path, name,
                       n ? strerror(errno) : "it ends early");
            opened = false;
            break;
        }
        at += (size_t)n;
    }
    if (opened && use) futimens(*fd, NULL);       /* of a read-only folder it stays as it is */
    close_file(fd);
    return opened ? file : NULL;
}

/* Why the bytes are no entry with n sections behind the key; NULL: they are.  */
static const char *judge(const Cache *c, uint8_t *file, size_t len, int n) {
    uint8_t hash[DIGEST], tag[DIGEST];
    if (len < HEADER || memcmp(file, magic, AT_FORMAT) != 0) return "it is no entry";
    if (get(file + AT_FORMAT, 4) != FORMAT || get(file + AT_COUNT, 4) != (uint64_t)n + 1)
        return "it has another format";
    uint64_t sum = 0;
    for (int i = 0; i < CACHE_SECTIONS; i++) {
        uint64_t one = get(file + AT_LENGTHS + 8 * i, 8);
        if (one > MAX_ENTRY || (i > n && one)) return "its lengths are wrong";
        sum += one;
    }
    if (sum != len - HEADER) return "its lengths are wrong";
    seal(c, file, len, hash, tag);
    if (!same(hash, file + AT_HASH)) return "its bytes have changed";
    return c->secret && !same(tag, file + AT_TAG) ? "the key file does not vouch for it" : NULL;
}

static bool read_sections(Cache *c, const char *name, bool use, CacheSection *section, int n) {
    size_t len;
    uint8_t *file = read_entry(c, name, &len, use);
    const char *why = file ? judge(c, file, len, n) : NULL;
    if (why) cache_note(c, "'%s/%s' is not used: %s", c->path, name, why);
    if (!file || why) return false;
    size_t at = HEADER;
    for (int i = 0; i <= n; i++) {
        section[i].len = (size_t)get(file + AT_LENGTHS + 8 * i, 8);
        section[i].data = arena_strndup(c->arena, (const char *)file + at, section[i].len);
        at += section[i].len;
    }
    return true;
}

bool cache_read_named(Cache *c, const char *name, CacheSection *section, int n) {
    return read_sections(c, name, false, section, n);
}

bool cache_read(Cache *c, const char *key, CacheSection *section, int n) {
    char name[CACHE_NAME];
    CacheSection all[CACHE_SECTIONS];
    cache_name(key, name);
    if (!read_sections(c, name, true, all, n)) return false;
    if (all[0].len != strlen(key) || memcmp(all[0].data, key, all[0].len) != 0) {
        cache_note(c, "'%s/%s' is not used: it is for something else", c->path, name);
        return false;
    }
    memcpy(section, all + 1, (size_t)n * sizeof *section);
    return true;
}

/* ---- writing ---- */
bool cache_write(Cache *c, const char *key, const CacheSection *section, int n) {
    enum { OWN = S_IRUSR | S_IWUSR, SHARED = OWN | S_IRGRP | S_IROTH };
    char name[CACHE_NAME];
    uint8_t head[HEADER] = {0};
    Buf file = buf_new(c->arena);
    cache_name(key, name);
    memcpy(head, magic, AT_FORMAT);
    put(head + AT_FORMAT, 4, FORMAT);
    put(head + AT_COUNT, 4, (uint64_t)n + 1);
    put(head + AT_LENGTHS, 8, strlen(key));
    for (int i = 0; i < n; i++) put(head + AT_LENGTHS + 8 * (i + 1), 8, section[i].len);
    buf_add(&file, (const char *)head, HEADER);
    buf_puts(&file, key);
    for (int i = 0; i < n; i++)
        if (section[i].len) buf_add(&file, section[i].data, section[i].len);
    int error = EFBIG;
    if (file.len <= MAX_ENTRY) {
        uint8_t *bytes = (uint8_t *)file.text;
        seal(c, bytes, file.len, bytes + AT_HASH, bytes + AT_TAG);
        error = file_write_at(c->fd, name, c->secret ? SHARED : OWN, bytes, file.len);
    }
    if (error)
        cache_note(c, "'%s/%s' cannot be written: %s", c->path, name, strerror(error));
    else
        cache_bound(c, name, most_bytes, most_entries);
    return !error;
}
