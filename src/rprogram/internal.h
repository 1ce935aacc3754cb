/* Shared by the files of rprogram; nothing outside includes it.  */
#ifndef ROLLER_RPROGRAM_INTERNAL_H
#define ROLLER_RPROGRAM_INTERNAL_H
#include "rprogram/rprog.h"

enum {
    WARP = 32,
    PIECE_MAX = 16,           /* widest access of one lane, bytes */
    UNROLL_MAX = 1024,        /* multiply-adds in an unrolled body */
    STAGES_MAX = 8,
    GRID_Y_MAX = 65535
};

static inline int own_axis(int side) { return side ? AX_N : AX_M; }
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline bool power_of_two(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }
static inline int lowest_bit(int v) { return v & -v; }

/* Lanes and warps of a program along an axis; 0 if the tiles do not divide.  */
static inline int count_along(const RTile *outer, const RTile *inner, int axis) {
    int o = outer->extent[axis], i = inner->extent[axis];
    return i > 0 && o % i == 0 ? o / i : 0;
}

/* Units that can compute the problem: exact types first, packed ones where the operands lie so, else
 * whatever ALU row is nearest.  Returns how many.  */
int rprog_units(const Problem *p, const Device *dev, int16_t *out, int cap);
/* The mover of the device for `bytes` per lane from global memory; -1 if there is none.  */
int16_t rprog_mover(const Device *dev, LoadKind kind, int bytes);
/* The layout of a load's tile with the fewest wavefronts for the program's reads and writes, the least
 * padding among those.  False if none meets the alignment of the accesses.  */
bool rprog_choose_layout(const Problem *p, const Device *dev, RProg *r, int side);
/* Do the accesses of fragments and chunks stay aligned under the load's layout?  */
bool rprog_layout_aligned(const Problem *p, const Device *dev, const RProg *r, int side);
/* Candidates of the `stream` skeleton.  */
void rprog_stream_candidates(const Problem *p, const Device *dev, RProgSet *set, RProg *room,
                             int cap);
#endif
