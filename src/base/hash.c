#include "base/hash.h"
#include "base/sha.h"

#include <string.h>

const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

void sha256_init(Sha256 *s) {
    *s = (Sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                        0x1f83d9ab, 0x5be0cd19}};
}

/* One step; what is held in eight variables moves on by one when the next is called.  */
static inline __attribute__((always_inline)) void step(uint32_t a, uint32_t b, uint32_t c,
                                                       uint32_t *d, uint32_t e, uint32_t f,
                                                       uint32_t g, uint32_t *h, uint32_t word) {
    uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    uint32_t t = *h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + choice + word;
    *d += t;
    *h = t + (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + majority;
}

static void compress(uint32_t h[8], const uint8_t *p) {
    const uint32_t *k = sha256_constants;
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) + w[i - 7] +
               (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i += 8) {
        step(v[0], v[1], v[2], &v[3], v[4], v[5], v[6], &v[7], k[i] + w[i]);
        step(v[7], v[0], v[1], &v[2], v[3], v[4], v[5], &v[6], k[i + 1] + w[i + 1]);
        step(v[6], v[7], v[0], &v[1], v[2], v[3], v[4], &v[5], k[i + 2] + w[i + 2]);
        step(v[5], v[6], v[7], &v[0], v[1], v[2], v[3], &v[4], k[i + 3] + w[i + 3]);
        step(v[4], v[5], v[6], &v[7], v[0], v[1], v[2], &v[3], k[i + 4] + w[i + 4]);
        step(v[3], v[4], v[5], &v[6], v[7], v[0], v[1], &v[2], k[i + 5] + w[i + 5]);
        step(v[2], v[3], v[4], &v[5], v[6], v[7], v[0], &v[1], k[i + 6] + w[i + 6]);
        step(v[1], v[2], v[3], &v[4], v[5], v[6], v[7], &v[0], k[i + 7] + w[i + 7]);
    }
    for (int i = 0; i < 8; i++) h[i] += v[i];
}

void sha256_portable(uint32_t h[8], const uint8_t *p, size_t n) {
    for (; n > 0; n--, p += 64) compress(h, p);
}

static void take(Sha256 *s, const uint8_t *p, size_t n) {
    if (n && !sha256_blocks(s->h, p, n)) sha256_portable(s->h, p, n);
}

void sha256_add(Sha256 *s, const void *data, size_t len) {
    const uint8_t *p = data;
    size_t held = s->bytes % 64;
    s->bytes += len;
    if (held) {
        size_t part = len < 64 - held ? len : 64 - held;
        memcpy(s->block + held, p, part);
        if (held + part < 64) return;
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

static const uint64_t golden = 0x9e3779b97f4a7c15u;

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
