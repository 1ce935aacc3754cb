/* SHA-256 (FIPS 180-4) for names and integrity, and a 64-bit mix for tables and seeds.  */
#ifndef ROLLER_BASE_HASH_H
#define ROLLER_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t h[8];
    uint64_t bytes;
    uint8_t block[64];
} Sha256;

void sha256_init(Sha256 *s);
void sha256_add(Sha256 *s, const void *data, size_t len);
void sha256_digest(Sha256 *s, uint8_t out[32]);            /* finishes */
void sha256_hex(Sha256 *s, char out[65]);                  /* finishes; lower case with a NUL */
void sha256_text(const void *data, size_t len, char out[65]);

/* HMAC (RFC 2104) with SHA-256.  */
void hmac_sha256(const void *key, size_t key_len, const void *data, size_t len, uint8_t out[32]);

uint64_t hash64(const void *data, size_t len, uint64_t seed);
/* 2^64 over the golden ratio: products by it differ in their high bits (Knuth, The Art of Computer
 * Programming 3, 6.4).  */
#define HASH_GOLDEN 0x9e3779b97f4a7c15u
static inline uint64_t hash_spread(uint64_t x) { return x * HASH_GOLDEN; }

/* SplitMix64: the deterministic random source of tests, data sets and the simulator.  */
typedef struct {
    uint64_t state;
} Rng;
uint64_t rng_next(Rng *r);
uint32_t rng_below(Rng *r, uint32_t n);                    /* uniform in 0..n-1; n > 0 */
double rng_normal(Rng *r);                                 /* mean 0, deviation 1 */
#endif
