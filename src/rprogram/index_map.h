/* Index map: which points of a group's domain a block has.
 *
 * The domain has axes: runs of the root's indices that a program takes as one number, the position.
 * A position is a sum of digits times strides, and each place of a kernel deals out some of them:
 * the digits of the grid, outermost first, are those of blockIdx.x (or, where blocks take `each`
 * of its numbers, of blockIdx.x * each + threadIdx.x), those of the threads are those of
 * threadIdx.x.  What they leave of an axis, a box of `tile` positions, is the loops' of a thread.
 *
 * Counts of blocks, tests of ragged ends, the text that decodes blocks and threads, and the inverse
 * by which a check knows what a block must have computed, all follow from this.  */
#ifndef ROLLER_RPROGRAM_INDEX_MAP_H
#define ROLLER_RPROGRAM_INDEX_MAP_H
#include "rprogram/derived.h"
#include "rprogram/extents.h"
#include "rprogram/rprog.h"

enum { INDEX_AXES = PERMUTE_AXES, INDEX_DIGITS = INDEX_AXES + 1 };

typedef struct {
    const uint8_t *index;     /* n of the root's, outermost first */
    int n;
    int64_t extent, divisor;  /* positions, at the sizes at hand; what divides them at all sizes */
    int64_t tile;             /* a box's: where no digit of the grid moves it, those of a step */
} IndexAxis;

typedef struct {
    int axis;
    int64_t stride;           /* positions from one value to the next */
    int64_t count;            /* values; 0: as many as the axis has; of inner digits of an axis the
                               * last one may have fewer */
} IndexDigit;

typedef struct {
    const TeStmt *root;
    /* n_axis of outputs (of rows, with their columns), then that of the reduction, if it is dealt
     * out.  Axes of `contract` are numbered by class.  */
    IndexAxis axis[INDEX_AXES + 1];
    int n_axis;
    IndexDigit grid[INDEX_DIGITS], thread[INDEX_DIGITS];
    int n_grid, n_thread;
    uint32_t down;            /* bit i: digit i of the grid, of all of an axis, goes from its last
                               * value to the first */
    int64_t each;             /* of the grid's numbers a block has; 1, or its threads */
    int shared;               /* an axis whose boxes come in multiples of `together` (1: there is */
    int64_t together;         /* none), the last ones maybe empty */
} IndexMap;

/* `span`: elements of a block of `stream`; 0: as the program says.  */
void index_map(const Problem *p, const RProg *r, int64_t span, IndexMap *out);
/* Blocks along x at the sizes at hand, without split and tail.  */
int64_t index_blocks(const IndexMap *m);
/* Do boxes reach beyond the end of an axis, at some size?  Then what goes there is tested.  */
bool index_ragged(const IndexMap *m, int axis);
/* Do whole boxes lie beyond it?  */
bool index_spare(const IndexMap *m, int axis);
/* index_ragged of a class of axes of `contract`, without a map.  */
static inline bool rprog_ragged(const Problem *p, const RProg *r, int axis) {
    int64_t tile = axis == AX_M ? rprog_grid_rows(r) : r->block.extent[axis];
    return p->multiple[axis] % (tile * rprog_together(r, axis)) != 0;
}
/* Has the last block fewer boxes than the others, at some size?  */
bool index_rest(Arena *a, const IndexMap *m);
/* Does a digit of the grid move the axis?  */
bool index_dealt(const IndexMap *m, int axis);

/* As numbers or expressions of the sizes: positions of an axis; boxes along it; values of a digit;
 * points of all axes, in which the domain is flattened; numbers of the grid; blocks.  */
TeExtent index_extent(Arena *a, const IndexMap *m, int axis);
TeExtent index_tiles(Arena *a, const IndexMap *m, int axis);
TeExtent index_count(Arena *a, const IndexMap *m, const IndexDigit *d);
TeExtent index_total(Arena *a, const IndexMap *m);
TeExtent index_numbers(Arena *a, const IndexMap *m);
TeExtent index_grid(Arena *a, const IndexMap *m);
/* One of n slices of an axis: steps of `tile`, all of their positions.  */
TeExtent index_slice_steps(Arena *a, const IndexMap *m, int axis, int64_t n);
TeExtent index_slice(Arena *a, const IndexMap *m, int axis, int64_t n);

/* The inverse, at the sizes at hand.  */
typedef struct {
    int64_t lo[INDEX_AXES], hi[INDEX_AXES];               /* half open */
} IndexBox;
/* The box of a number of the grid; how many a block has, the last one maybe fewer.  */
void index_box(const IndexMap *m, int64_t number, IndexBox *out);
int64_t index_boxes(const IndexMap *m, int64_t block);
/* The number whose box has these positions along all axes.  */
int64_t index_number(const IndexMap *m, const int64_t *at);
/* The root's indices at positions along all axes.  */
void index_point(const IndexMap *m, const int64_t *at, int64_t *index);
#endif
