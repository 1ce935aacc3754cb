/* links: base */
#include "wavefronts.h"

/* The most distinct 4-byte words in one bank over all bytes that the lanes of `mask` access.  */
static int ways(const int32_t *addr, uint32_t mask, int width) {
    int32_t words[32][32];    /* of a bank; a lane has one of them at most */
    int n[32] = {0}, most = 0;
    for (int lane = 0; lane < 32; lane++) {
        if (!((mask >> lane) & 1)) continue;
        for (int32_t word = addr[lane] / 4; word <= (addr[lane] + width - 1) / 4; word++) {
            int bank = word % 32, known = 0;
            for (int i = 0; i < n[bank]; i++) known |= words[bank][i] == word;
            if (known) continue;
            words[bank][n[bank]++] = word;
            if (n[bank] > most) most = n[bank];
        }
    }
    return most;
}

static int merges(const int32_t *addr, uint32_t mask) {
    for (int step = 1; step <= 2; step++) {
        int all = 1;
        for (int lane = 0; lane < 32; lane++) {
            if (!((mask >> lane) & 1)) continue;
            int other = lane ^ step;
            all &= (mask >> other & 1) && addr[other] == addr[lane];
        }
        if (all) return 1;
    }
    return 0;
}

static int two(const int32_t *addr, uint32_t low, uint32_t high, int width) {
    if (merges(addr, low | high)) return ways(addr, low | high, width);
    return ways(addr, low, width) + ways(addr, high, width);
}

int slow_wavefronts(const int32_t addr[32], uint32_t active, int width) {
    if (width <= 4) return ways(addr, active, width);
    if (width == 8) return two(addr, active & 0xffff, active & 0xffff0000u, 8);
    return two(addr, active & 0xff, active & 0xff00, 16) +
           two(addr, active & 0xff0000, active & 0xff000000u, 16);
}

int slow_sectors(const int64_t addr[32], uint32_t active, int width) {
    int64_t seen[64];
    int n = 0;
    for (int lane = 0; lane < 32; lane++) {
        if (!((active >> lane) & 1)) continue;
        for (int64_t s = addr[lane] / 32; s <= (addr[lane] + width - 1) / 32; s++) {
            int known = 0;
            for (int i = 0; i < n; i++) known |= seen[i] == s;
            if (!known) seen[n++] = s;
        }
    }
    return n;
}
