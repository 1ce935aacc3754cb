#include "rtile/rtile.h"

enum { BANK_SHIFT = 2, BANK_ROW_SHIFT = 7 };

int rtile_pad(int banks, int bank_width, int elem, int row, int tile) {
    int cycle = banks * bank_width;
    int read = (tile * elem + bank_width - 1) / bank_width * bank_width;
    return (cycle + read - row * elem % cycle) % cycle / elem;
}

/* Lanes first..first+n-1 of a request; a lane accesses 1 << shift bytes, at least a bank's
 * word.  */
typedef struct {
    const int32_t *addr;
    uint32_t active;
    int shift;
} Request;

/* The most distinct words in one bank.  A lane wider than a bank takes neighbouring banks as one.
 * Addresses mostly ascend: a word above all that its bank has seen is new without a look at
 * them.  */
static int distinct_per_bank(const Request *q, int first, int n) {
    int mask = (1 << (BANK_ROW_SHIFT - q->shift)) - 1, most = 0;
    int8_t head[WARP], next[WARP], count[WARP];
    int32_t highest[WARP];
    uint32_t used = 0;
    for (int lane = first; lane < first + n; lane++) {
        if (!((q->active >> lane) & 1)) continue;
        int32_t word = q->addr[lane] >> q->shift;
        int bank = word & mask, seen = -1;
        if (!((used >> bank) & 1)) {
            used |= 1u << bank;
            head[bank] = -1;
            count[bank] = 0;
            highest[bank] = word;
        } else if (word > highest[bank]) {
            highest[bank] = word;
        } else {
            for (seen = head[bank]; seen >= 0 && q->addr[seen] >> q->shift != word;)
                seen = next[seen];
        }
        if (seen >= 0) continue;
        next[lane] = head[bank];
        head[bank] = (int8_t)lane;
        if (++count[bank] > most) most = count[bank];
    }
    return most;
}

/* Has every active lane of the range the address of its neighbour lane ^ step?  */
static bool paired(const Request *q, int first, int n, int step) {
    for (int lane = first; lane < first + n; lane++) {
        if (!((q->active >> lane) & 1)) continue;
        int other = lane ^ step;
        if (!((q->active >> other) & 1) || q->addr[other] != q->addr[lane]) return false;
    }
    return true;
}

/* The halves of a range of lanes, served together where neighbours agree.  */
static int halves(const Request *q, int first, int n) {
    if (paired(q, first, n, 1) || paired(q, first, n, 2)) return distinct_per_bank(q, first, n);
    return distinct_per_bank(q, first, n / 2) + distinct_per_bank(q, first + n / 2, n / 2);
}

int rtile_wavefronts(const int32_t addr[32], uint32_t active, int width) {
    Request q = {.addr = addr, .active = active, .shift = BANK_SHIFT};
    while (1 << q.shift < width) q.shift++;
    if (q.shift == BANK_SHIFT) return distinct_per_bank(&q, 0, WARP);
    if (q.shift == BANK_SHIFT + 1) return halves(&q, 0, WARP);
    return halves(&q, 0, WARP / 2) + halves(&q, WARP / 2, WARP / 2);
}
