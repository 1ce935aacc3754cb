/* What the building blocks share: digits of numbers, shared memory, places in fragments.  */
#ifndef ROLLER_CODEGEN_BLOCK_BLOCK_H
#define ROLLER_CODEGEN_BLOCK_BLOCK_H
#include "codegen/block/building.h"

/* digits.c: what a number says of its digits, outermost first; 0 where there is but one value.  */
/* Of which `n` elements is a number one?  */
Ir place_part(const Cg *cg, Ir number, int64_t n, bool wide);
void place_digits(const Cg *cg, Ir number, const TeExtent *count, int n, bool wide, Ir *digit);
/* Defines the root's indices from `at`, the position along an axis of the map (or ALONG_ALL).
 * `wide`: which are long long.  */
void place_axis(const Kernel *k, int axis, Ir at, bool wide_at, Ir *index, bool *wide);
/* Do positions along an axis need 64 bits, with `slack` beyond its extent?  Their type.  */
bool place_wide(int64_t extent, int64_t slack);
IrBase place_base(bool wide);
/* What positions of a `contract` program need along an axis, also beyond its end in a tile.  */
IrBase place_along_base(const Kernel *k, AxisClass axis);

/* box.c: tid, and where the block's box begins along each axis (Kernel.box), or the thread's, where
 * it has one of its own; what its threads add to that; do positions need 64 bits?  */
void box_place(Kernel *k);
void box_place_thread(const Kernel *k, Ir *own);
bool box_wide(const Kernel *k, int axis);
/* The elements of a box, numbered in some order of its axes, innermost first.  */
typedef struct {
    int vec, unroll, n;
    bool domain;              /* those of the domain alone: the axes are the map's */
    int axis[INDEX_AXES];
    int64_t size[INDEX_AXES];
} Walked;
static inline void box_along(Walked *w, int axis, int64_t size) {
    w->axis[w->n] = axis;
    w->size[w->n++] = size;
}
enum { BOX_UNROLL = 8 };      /* turns of its loop: loads in flight */
/* A vector of a thread: its turn, the number of its first element, how far that is from where the
 * box begins along each axis, and how many scopes are open.  */
typedef struct {
    Ir u, n, d[INDEX_AXES];
    int open;
} BoxVector;
/* Turns of a thread; the loop over its vectors, what tests them further, its end; distances of the
 * element with a number; the position along an axis.  */
int64_t box_rounds(const Kernel *k, const Walked *w);
BoxVector box_open(Kernel *k, const Walked *w);
void box_open_if(Kernel *k, BoxVector *at, Ir test);
void box_close(Kernel *k, const BoxVector *at);
void box_decode(Kernel *k, const Walked *w, Ir number, Ir *d);
Ir box_point(const Kernel *k, const BoxVector *at, int axis);

/* smem.c: makes the names that are made at once; declares the kernel's shared memory, `smem`;
 * elements that begin at a byte of it.  */
void kernel_names(Kernel *k);
Ir kernel_smem(Kernel *k, int align);
Ir kernel_room(const Kernel *k, Ir smem, IrBase base, int64_t at);
/* Its address, for instructions that take one: `shared`.  */
void smem_address(Kernel *k);
/* The prelude's function of an operand's mover: its name, with rl_ before it.  */
const char *load_function(const Kernel *k, const Side *s);

/* fragment_place.c: places in fragments.  What the lane adds along a side, times `scale`; what the
 * x-th slot along it adds; the slot that is the row-th and col-th along the sides.  */
Ir fragment_lane_place(const Kernel *k, const Fragment *f, FragDim dim, int scale);
Ir fragment_slot_place(const Cg *cg, const Fragment *f, FragDim dim, Ir x);
Ir fragment_slot_number(const Cg *cg, const Fragment *f, Ir row, Ir col);
/* The column at place x (fragment_column).  */
Ir fragment_column_at(const Cg *cg, const FragOrder *o, Ir x);
/* What slot `x` adds along a side, times `scale`, x being a multiple of `multiple`, the extent of
 * the fastest digits; NULL: nothing.  */
Ir fragment_place_of(const Cg *cg, const Fragment *f, FragDim dim, Ir x, int multiple, int scale);
enum { MATRIX_ROWS = 8 };     /* of 16 bytes each: a matrix of ldmatrix */
/* Chunks of k that an instruction takes by ldmatrix.  Lanes 8 q .. 8 q + 7 give the rows of matrix
 * q of a group of four: its block of rows and its chunk of k; gives the row.  */
int fragment_matrix_chunks(const Kernel *k, const Side *s);
Ir fragment_matrix_of(const Kernel *k, const Side *s, Ir *block, Ir *chunk);
#endif
