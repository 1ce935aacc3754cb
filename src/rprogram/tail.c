/* Tiles whose k-steps are dealt out (rprog.h: tail).  */
#include "rprogram/internal.h"

int64_t rprog_tail_steps(const Problem *p, const RProg *r) {
    return ceil_div(r->tail * rprog_tiles(p, r, AX_K), r->tail_blocks);
}

/* Every end of a block or of a tile ends one; in `both` places the two fall together.  */
int64_t rprog_tail_partials(const Problem *p, const RProg *r) {
    int64_t steps = rprog_tiles(p, r, AX_K), each = rprog_tail_steps(p, r);
    int64_t both = (r->tail - 1) / (each / gcd64(each, steps));
    return (int64_t)r->tail + r->tail_blocks - 1 - both;
}

int64_t rprog_tail_slot(const Problem *p, const RProg *r) {
    return (int64_t)r->block.extent[AX_M] * r->block.extent[AX_N] * p->acc_bytes;
}

int64_t rprog_tail_adders(const RProg *r, int64_t span) {
    return ceil_div((int64_t)r->block.extent[AX_M] * r->block.extent[AX_N], span);
}

void rprog_tail_blocks(const Problem *p, const RProg *r, int64_t t, int64_t *first, int64_t *last) {
    int64_t steps = rprog_tiles(p, r, AX_K), each = rprog_tail_steps(p, r);
    *first = t * steps / each;
    *last = ((t + 1) * steps - 1) / each;
}
