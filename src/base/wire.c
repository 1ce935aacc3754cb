#include "base/wire.h"

#include <string.h>

void wire_int(Buf *b, int64_t v) { buf_add(b, (const char *)&v, sizeof v); }

void wire_real(Buf *b, double v) { buf_add(b, (const char *)&v, sizeof v); }

void wire_bytes(Buf *b, const void *data, size_t len) {
    wire_int(b, (int64_t)len);
    if (len) buf_add(b, data, len);
}

void wire_text(Buf *b, const char *s) { wire_bytes(b, s, s ? strlen(s) + 1 : 0); }

WireReader wire_reader(const void *data, size_t len) { return (WireReader){data, len, false}; }

/* NULL: there are not as many.  */
static const char *take(WireReader *r, size_t len) {
    const char *at = r->at;
    if (r->bad || len > r->left) {
        r->bad = true;
        return NULL;
    }
    r->at += len;
    r->left -= len;
    return at;
}

static void number(WireReader *r, void *to) {
    const char *at = take(r, sizeof(int64_t));
    if (at) memcpy(to, at, sizeof(int64_t));
}

int64_t wire_read_int(WireReader *r) {
    int64_t v = 0;
    number(r, &v);
    return v;
}

double wire_read_real(WireReader *r) {
    double v = 0;
    number(r, &v);
    return v;
}

int64_t wire_read_within(WireReader *r, int64_t least, int64_t most) {
    int64_t v = wire_read_int(r);
    if (!r->bad && v >= least && v <= most) return v;
    r->bad = true;
    return least;
}

bool wire_read_bool(WireReader *r) { return wire_read_within(r, 0, 1) != 0; }

const void *wire_read_bytes(WireReader *r, size_t *len) {
    *len = (size_t)wire_read_within(r, 0, INT64_MAX);
    const char *at = *len ? take(r, *len) : NULL;
    if (!at) *len = 0;
    return at;
}

const char *wire_read_text(WireReader *r) {
    size_t len;
    const char *s = wire_read_bytes(r, &len);
    if (!s || memchr(s, 0, len) == s + len - 1) return s;
    r->bad = true;
    return NULL;
}

bool wire_read_all(const WireReader *r) { return !r->bad && r->left == 0; }
