/* Matrix units, shared by the files that construct and check programs for them.  */
#ifndef ROLLER_RPROGRAM_MATRIX_H
#define ROLLER_RPROGRAM_MATRIX_H
#include "rprogram/internal.h"

/* Type of the unit's operand that `side` is.  */
TeDtype matrix_unit_type(const Device *dev, const RProg *r, int side);

enum { PROMOTED_MAX = 128 };              /* terms that an f8 unit sums by itself, ... */
int matrix_promoted_most(const ComputeUnit *u);           /* ... of so many elements along k */
enum { BYTES_K = 16 };                    /* k of a unit whose operands may be bytes */

/* The unit's tile in the problem's axes.  */
RTile matrix_tile(const ComputeUnit *u, bool swapped);
/* May the unit compute the problem, as it is or swapped: types, exact products, an accumulator the
 * expression allows?  */
bool matrix_fits(const Problem *p, const ComputeUnit *u);
/* The same, wherever the operands lie; and in this order alone.  */
bool matrix_takes(const Problem *p, const ComputeUnit *u);
bool matrix_takes_as(const Problem *p, const ComputeUnit *u, bool swapped);
/* Is the unit of the kind that `contract` programs use: of a warp, or of warpgroups with one type
 * of operands, or with two of f8?  */
bool matrix_usable(const ComputeUnit *u);
/* Do its operands hold those of these sides (bit 0: a, bit 1: b), as they are or swapped?  */
bool matrix_holds_sides(const ComputeUnit *u, const Problem *p, int sides);

/* Do operands have scales that the unit knows nothing of, so that sums of a step are multiplied by
 * them (scales.c)?  Does the unit apply those that there are, or are there steps with one for each
 * row?  Registers for them.  */
bool matrix_scales_sums(const Problem *p, const ComputeUnit *u);
bool matrix_scales(const Problem *p, const ComputeUnit *u);
const char *matrix_check_scales(const Problem *p, const Device *dev, const RProg *r);
int64_t matrix_scale_registers(const Problem *p, const Device *dev, const RProg *r);
/* The widest access to neighbouring scales of a row, each of `block` k, of which k is a multiple.
 * Scales by which sums are multiplied: bytes of a step that are staged for a side; registers of a
 * lane that does so.  */
int matrix_scales_width(const Problem *p, const TeExpr *read, int block, int k);
int64_t matrix_sum_scale_bytes(const Problem *p, const Device *dev, const RProg *r, int side);
int64_t matrix_staging_registers(const Problem *p, const Device *dev, const RProg *r);

/* May operand `side` lie in shared memory as bytes (RLoad.bytes)?  */
bool matrix_keeps_bytes(const Problem *p, const Device *dev, const RProg *r, int side);

/* Words of four bytes that a lane converts in a step.  */
int matrix_converted(const RProg *r);

/* Bytes of a box along the inner axis, the widest swizzle; lines after which it repeats.  */
enum { BOX_SPAN = 128, BOX_LINES = 8, BOX_STRIDE = 8 };   /* bytes; rows; most elements of a step */
enum { BOX_SWIZZLES = 0xe };              /* of 32, 64, 128 bytes */

/* Fragments of `side` that one warp reads in a k-step: instructions, requests of 32 lanes or
 * matrices of 8 rows, and wavefronts of each of those.  */
int matrix_reads(const Problem *p, const Device *dev, const RProg *r, int side);
/* Matrices that an ldmatrix loads at once, but for what is left of a tile: four.  Lanes keep places
 * in a region for each load, not for a second one of what is left: where that would be three
 * matrices, loads have two.  */
int matrix_at_once(const Problem *p, const Device *dev, const RProg *r, int side);
int64_t matrix_passes(const Problem *p, const Device *dev, const RProg *r, int side);
int fragment_wavefronts(const Problem *p, const Device *dev, const RProg *r, int side);
/* The same of an operand that is gathered from its region, of any unit: reads of one warp in a
 * k-step.  */
int region_reads(const Problem *p, const Device *dev, const RProg *r, int side);
/* Neighbours that a lane reads at once where it reads for itself.  */
int fragment_access(const Device *dev, const RProg *r, int side);
/* Bytes that a lane (a row of a matrix) reads at once.  */
int fragment_read_bytes(const Problem *p, const Device *dev, const RProg *r, int side);
/* Registers but for those of the loads; what the loads of a side need beyond those of other units,
 * `chunks` being how many a thread has.  */
int64_t matrix_registers(const Problem *p, const Device *dev, const RProg *r);
int64_t matrix_load_registers(const Problem *p, const Device *dev, const RProg *r, int side,
                              int64_t chunks);
/* Units of warpgroups (b_smem), in the files of that name.  Can the operand be copied by boxes as
 * the unit takes it from shared memory?  */
bool warpgroup_copies(const Problem *p, const ComputeUnit *u, int side);
/* Maps of operands: they are parameters, 128 bytes each, of which any kernel may have 4096, with
 * others.  */
enum { WARPGROUP_MAPS = 24 };
/* The same by boxes of rows whose numbers are equal modulo that; 0: it cannot.  */
int warpgroup_modulo(const Problem *p, const ComputeUnit *u, int side, RBox *out);
/* Can threads, if not boxes: chunk by chunk, 16 bytes each, by places of their own?  */
bool warpgroup_gathers(const Problem *p, const ComputeUnit *u, int side);
bool warpgroup_fits(const Problem *p, const ComputeUnit *u);
/* Does a unit that fits take an operand from registers, of which that is made?  */
bool warpgroup_converts(const Problem *p, const ComputeUnit *u);
/* Registers of a thread that computes, where the copying warps may leave theirs to it, of one that
 * copies, and as the launch gives them to all (more than there are: too many are needed).  Where
 * they move, in so many resident blocks, what those who compute have then; false: all have enough.
 */
enum { WARPGROUP_OTHERS = 40 };           /* beside sums and operands, of compiled kernels */
int64_t warpgroup_computing(const Problem *p, const Device *dev, const RProg *r);
int warpgroup_copying(const Problem *p, const Device *dev, const RProg *r);
int64_t warpgroup_launched(const Problem *p, const Device *dev, const RProg *r, int64_t need);
bool warpgroup_moves(const Device *dev, const RProg *r, int64_t need, int64_t copying,
                     int64_t blocks, int *computing);
/* The copies of an operand; false: there are none.  */
bool warpgroup_load(const Problem *p, const Device *dev, const RProg *r, int side, RLoad *out);
/* The same as a region, of which lanes make the unit's first operand; may it be one?  */
bool warpgroup_regions(const Problem *p, const ComputeUnit *u, int side);
/* Is it one whose chunks threads make, as lines begin anywhere or channels lie apart?  */
bool warpgroup_joins(const Problem *p, const ComputeUnit *u, int side);
bool warpgroup_region(const Problem *p, const Device *dev, const RProg *r, int side, RLoad *out);
/* Elements along k of a step: those of a box, or the channels that a region has of a pixel.  */
int32_t warpgroup_step(const Problem *p, const Device *dev, const RProg *r);
/* Can the blocks of a cluster copy equal parts of an operand's shared tile?  They are lines of each
 * box where not every block has as many boxes.  */
bool warpgroup_shares(const RProg *r, int side);
bool warpgroup_shares_lines(const RProg *r, int side);
const char *warpgroup_check(const Problem *p, const Device *dev, const RProg *r);
/* grid.c: the first broken rule of the grid, and of stores by boxes; NULL: none.  */
const char *grid_check(const Problem *p, const Device *dev, const RProg *r);
/* The first broken rule of what is special to matrix units; NULL: none.  */
const char *matrix_check(const Problem *p, const Device *dev, const RProg *r);
#endif
