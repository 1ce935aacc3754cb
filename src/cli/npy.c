#include "cli/npy.h"
#include "base/file.h"
#include <string.h>

static const NpyType types[] = {
    {"f64", "<f8", 8}, {"f32", "<f4", 4},    {"f16", "<f2", 2},    {"bf16", "<u2", 2},
    {"i64", "<i8", 8}, {"i32", "<i4", 4},    {"i16", "<i2", 2},    {"i8", "|i1", 1},
    {"u8", "|u1", 1},  {"f8e4m3", "|u1", 1}, {"f8e5m2", "|u1", 1},
    {"f6e3m2", "|u1", 1}, {"f6e2m3", "|u1", 1}, {"f4e2m1x2", "|u1", 1},
    {"f8ue4m3", "|u1", 1}, {"f8ue8m0", "|u1", 1}, {"bool", "|b1", 1}};
enum { TYPES = sizeof types / sizeof *types };

const NpyType *npy_type(const char *dtype, size_t len) {
    for (int i = 0; i < TYPES; i++)
        if (strlen(types[i].dtype) == len && !memcmp(types[i].dtype, dtype, len)) return &types[i];
    return NULL;
}

typedef struct {
    Diag *d;
    const char *path, *at, *end;
} Header;

static Status bad(Header *h, const char *what) {
    return diag_error(h->d, ST_ARGS, "npy", DIAG_NOWHERE, "%s: %s", h->path, what);
}

static void spaces(Header *h) {
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n')) h->at++;
}

static bool eat(Header *h, const char *word) {
    spaces(h);
    size_t n = strlen(word);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n) != 0) return false;
    h->at += n;
    return true;
}

/* 'text' of at most cap - 1 bytes.  */
static bool quoted(Header *h, char *out, size_t cap) {
    spaces(h);
    if (h->at >= h->end || (*h->at != '\'' && *h->at != '"')) return false;
    char quote = *h->at++;
    size_t n = 0;
    while (h->at < h->end && *h->at != quote && n + 1 < cap) out[n++] = *h->at++;
    out[n] = 0;
    return h->at < h->end && *h->at++ == quote;
}

static bool integer(Header *h, int64_t *out) {
    spaces(h);
    if (h->at >= h->end || *h->at < '0' || *h->at > '9') return false;
    int64_t v = 0;
    while (h->at < h->end && *h->at >= '0' && *h->at <= '9') {
        if (v > (INT64_MAX - 9) / 10) return false;
        v = v * 10 + (*h->at++ - '0');
    }
    *out = v;
    return true;
}

static bool tuple(Header *h, Npy *out) {
    if (!eat(h, "(")) return false;
    while (!eat(h, ")")) {
        if (out->rank == NPY_RANK || !integer(h, &out->shape[out->rank])) return false;
        out->rank++;
        if (!eat(h, ",") && h->at < h->end && *h->at != ')') return false;
    }
    return true;
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  */
static Status dictionary(Header *h, Arena *a, Npy *out) {
    bool descr = false, order = false, shape = false;
    if (!eat(h, "{")) return bad(h, "the header is no dictionary");
    while (!eat(h, "}")) {
        char key[32], value[32];
        if (!quoted(h, key, sizeof key) || !eat(h, ":")) return bad(h, "malformed header");
        if (strcmp(key, "descr") == 0) {
            if (!quoted(h, value, sizeof value)) return bad(h, "structured arrays not accepted");
            out->descr = arena_strdup(a, value);
            descr = true;
        } else if (strcmp(key, "fortran_order") == 0) {
            if (!eat(h, "False")) return bad(h, "Fortran order; save it in C order");
            order = true;
        } else if (strcmp(key, "shape") == 0) {
            if (!tuple(h, out)) return bad(h, "malformed shape (rank at most 8)");
            shape = true;
        } else {
            return bad(h, "unknown key in the header");
        }
        eat(h, ",");
    }
    if (descr && order && shape) return ST_OK;
    return bad(h, "the header lacks descr, fortran_order or shape");
}

static Status item_size(Header *h, Npy *out) {
    for (int i = 0; i < TYPES; i++) {
        if (strcmp(types[i].descr, out->descr) != 0) continue;
        out->itemsize = types[i].bytes;
        return ST_OK;
    }
    Status s = diag_error(h->d, ST_ARGS, "npy", DIAG_NOWHERE, "%s: type '%s' is not accepted",
                          h->path, out->descr);
    diag_hint(h->d, "accepted are <f8 <f4 <f2 <i8 <i4 <i2 <u2 |i1 |u1 |b1 (little-endian)");
    return s;
}

Status npy_read(Arena *a, Diag *d, const char *path, size_t max_bytes, Npy *out) {
    *out = (Npy){0};
    char *bytes;
    size_t len;
    Status s = file_read(a, d, path, max_bytes, &bytes, &len);
    if (s) return s;
    Header h = {.d = d, .path = path};
    const unsigned char *u = (const unsigned char *)bytes;
    if (len < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) return bad(&h, "not a .npy file");
    if (u[6] != 1 && u[6] != 2) return bad(&h, "only versions 1.0 and 2.0 are read");
    size_t start = u[6] == 1 ? 10 : 12;
    if (len < start) return bad(&h, "truncated header");
    size_t size = u[6] == 1 ? (size_t)u[8] | (size_t)u[9] << 8
                            : (size_t)u[8] | (size_t)u[9] << 8 | (size_t)u[10] << 16 |
                                  (size_t)u[11] << 24;
    if (size > NPY_MAX_HEADER || size > len - start) return bad(&h, "truncated header");
    h.at = bytes + start;
    h.end = h.at + size;
    s = dictionary(&h, a, out);
    if (!s) s = item_size(&h, out);
    if (s) return s;
    size_t want = (size_t)out->itemsize, have = len - start - size;
    for (int i = 0; i < out->rank; i++) {
        size_t n = (size_t)out->shape[i];
        if (n && want > SIZE_MAX / n) return bad(&h, "the shape is too large");
        want *= n;
    }
    if (want != have) return bad(&h, "the data does not fill the shape exactly");
    out->data = bytes + start + size;
    out->bytes = have;
    return ST_OK;
}

Status npy_write(Arena *a, Diag *d, const char *path, const Npy *array) {
    Buf b = buf_new(a);
    buf_printf(&b, "{'descr': '%s', 'fortran_order': False, 'shape': (", array->descr);
    for (int i = 0; i < array->rank; i++)
        buf_printf(&b, i + 1 < array->rank ? "%lld, " : "%lld", (long long)array->shape[i]);
    buf_puts(&b, array->rank == 1 ? ",), }" : "), }");
    while ((10 + b.len + 1) % 64) buf_putc(&b, ' ');
    buf_putc(&b, '\n');
    Buf file = buf_new(a);
    buf_add(&file, "\x93NUMPY\x01\x00", 8);
    buf_putc(&file, (char)(b.len & 255));
    buf_putc(&file, (char)(b.len >> 8));
    buf_add(&file, b.text, b.len);
    buf_add(&file, array->data, array->bytes);
    return file_write(d, path, file.text, file.len);
}
