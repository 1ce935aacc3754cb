/* Kernels that make results of the partial ones which blocks leave in the workspace.  */
#include "rprogram/skeleton.h"

bool rprog_meets(const RProg *r) {
    return (rprog_skeleton(r->skeleton)->slices_meet && r->split > 1) ||
           r->stats == STATS_PARTIAL;
}

static RMeeting meeting_of(const Problem *p, const RProg *r) {
    return rprog_skeleton(r->skeleton)->meeting(p, r);
}

/* Where slices meet, a warp shares a result or none does: a loop over results ends for whole
 * warps.  */
int rprog_meeting_lanes(const Problem *p, const RProg *r, uint8_t lanes[MEETING_LANES]) {
    RMeeting m = meeting_of(p, r);
    int n = 0;
    for (int x = 1; x <= WARP && (n == 0 || x < 2 * m.parts); x *= m.step) lanes[n++] = (uint8_t)x;
    return n;
}

const char *rprog_meeting_check(const Problem *p, const RProg *r) {
    uint8_t lanes[MEETING_LANES];
    if (!rprog_meets(r)) return r->lanes > 1 ? "no kernel has lanes that share a result" : NULL;
    for (int i = rprog_meeting_lanes(p, r, lanes) - 1; i >= 0; i--)
        if (r->lanes == lanes[i]) return NULL;
    return "`lanes` are no power of two up to a warp and the parts (of columns: 1 or 32)";
}

/* Chosen by rule before plan texts said it.  */
uint8_t rprog_unsaid_lanes(const Problem *p, const RProg *r) {
    enum { ENOUGH = 1 << 15 };            /* threads: those texts were made by this figure */
    int64_t rows = p->extent[AX_B] * p->extent[AX_M];
    int n = 1;
    if (!rprog_meets(r)) return 1;
    while (n < WARP && n < meeting_of(p, r).parts && rows * n < ENOUGH) n *= 2;
    return (uint8_t)n;
}

int rprog_meeting_vec(const Problem *p, const RProg *r) {
    RMeeting m = meeting_of(p, r);
    while (m.vec * m.bytes > RTILE_ACCESS) m.vec /= 2;
    while (r->tail > 0 && r->block.extent[AX_N] % m.vec) m.vec /= 2;
    return m.vec;
}
