#include "base/philox.h"

void philox4x32(uint32_t counter[4], const uint32_t key[2]) {
    uint32_t k = key[0], l = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t x = 0xD2511F53ull * counter[0], y = 0xCD9E8D57ull * counter[2];
        counter[0] = (uint32_t)(y >> 32) ^ counter[1] ^ k;
        counter[1] = (uint32_t)y;
        counter[2] = (uint32_t)(x >> 32) ^ counter[3] ^ l;
        counter[3] = (uint32_t)x;
        k += 0x9E3779B9u;
        l += 0xBB67AE85u;
    }
}

uint32_t philox_number(int64_t seed, int64_t n) {
    uint64_t block = (uint64_t)n >> 2 | (n < 0 ? 3ull << 62 : 0);
    uint32_t above = n < 0 ? UINT32_MAX : 0;
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), above, above};
    philox4x32(counter, (const uint32_t[2]){(uint32_t)seed, (uint32_t)((uint64_t)seed >> 32)});
    return counter[(uint64_t)n & 3];
}
