/* SHA-256 by the block: inside of base.  */
#ifndef ROLLER_BASE_SHA_H
#define ROLLER_BASE_SHA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const uint32_t sha256_constants[64];
/* Takes n blocks of 64 bytes into the state h.  */
void sha256_portable(uint32_t h[8], const uint8_t *p, size_t n);
/* The same by instructions of the processor; false, and nothing is done, where it has none.  */
bool sha256_blocks(uint32_t h[8], const uint8_t *p, size_t n);
#endif
