/* SHA-256 by the block, in plain C (NIST, FIPS 180-4).  */
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
