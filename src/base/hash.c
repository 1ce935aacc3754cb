#include "base/hash.h"
#include "base/sha.h"

#include <string.h>

void sha256_init(Sha256 *s) {
    *s = (Sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                        0x1f83d9ab, 0x5be0cd19}};
}

static void take(Sha256 *s, const uint8_t *p, size_t n) {
    if (n && !sha256_blocks(s->h, p, n)) sha256_portable(s->h, p, n);
}

void sha256_add(Sha256 *s, const void *data, size_t len) {
    const uint8_t *p = data;
    size_t filled = s->bytes % 64;
    s->bytes += len;
    if (filled) {
        size_t part = len < 64 - filled ? len : 64 - filled;
        memcpy(s->block + filled, p, part);
        if (filled + part < 64) return;
        take(s, s->block, 1);
        p += part;
        len -= part;
    }
    take(s, p, len / 64);
    if (len % 64) memcpy(s->block, p + len / 64 * 64, len % 64);
}

void sha256_digest(Sha256 *s, uint8_t out[32]) {
    uint64_t bits = s->bytes * 8;
    uint8_t tail[72] = {0x80};
    size_t pad = (s->bytes % 64 < 56 ? 56 : 120) - s->bytes % 64;
    for (int i = 0; i < 8; i++) tail[pad + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(s, tail, pad + 8);
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(Sha256 *s, char out[65]) {
    uint8_t digest[32];
    sha256_digest(s, digest);
    for (int i = 0; i < 64; i++)
        out[i] = "0123456789abcdef"[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
    out[64] = 0;
}

void sha256_text(const void *data, size_t len, char out[65]) {
    Sha256 s;
    sha256_init(&s);
    sha256_add(&s, data, len);
    sha256_hex(&s, out);
}

void hmac_sha256(const void *key, size_t key_len, const void *data, size_t len, uint8_t out[32]) {
    uint8_t block[64] = {0}, inner[32];
    Sha256 s;
    if (key_len > sizeof block) {
        sha256_init(&s);
        sha256_add(&s, key, key_len);
        sha256_digest(&s, block);
    } else if (key_len) {
        memcpy(block, key, key_len);
    }
    for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36;
    sha256_init(&s);
    sha256_add(&s, block, sizeof block);
    sha256_add(&s, data, len);
    sha256_digest(&s, inner);
    for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36 ^ 0x5c;
    sha256_init(&s);
    sha256_add(&s, block, sizeof block);
    sha256_add(&s, inner, sizeof inner);
    sha256_digest(&s, out);
}

/* The output function of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, OOPSLA 2014).  */
static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const uint64_t golden = HASH_GOLDEN;

/* The same on machines of either byte order; one load on those that are little-endian.  */
static uint64_t load64(const uint8_t *p) {
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

uint64_t hash64(const void *data, size_t len, uint64_t seed) {
    const uint8_t *p = data;
    uint64_t h = mix(seed + golden * (len + 1)), tail = 0;
    for (; len >= 8; p += 8, len -= 8) h = mix(h ^ load64(p)) + golden;
    for (size_t i = 0; i < len; i++) tail |= (uint64_t)p[i] << 8 * i;
    return len ? mix(h ^ tail) + golden : h;
}

uint64_t rng_next(Rng *r) { return mix(r->state += golden); }

uint32_t rng_below(Rng *r, uint32_t n) {
    /* The lowest 2^32 mod n values are refused, so that every result is as likely.  */
    uint32_t refuse = (0u - n) % n;
    for (;;) {
        uint32_t x = (uint32_t)(rng_next(r) >> 32);
        if (x >= refuse) return x % n;
    }
}

/* Twelve uniform numbers of 21 bits added up, less their mean: exact integer arithmetic, so the
 * same on every machine, which no logarithm of a C library promises.  */
double rng_normal(Rng *r) {
    int64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t x = rng_next(r);
        sum += (int64_t)(x >> 43) + (int64_t)(x >> 22 & 0x1fffff) + (int64_t)(x & 0x1fffff);
    }
    return (double)(sum - 6 * 0x1fffff) / 0x1p21;
}
