/* Which blocks of a big kernel are worth running, and which outputs they must then have computed.
 *
 * Follows from the program's index map alone, not from the emitted text.  */
#ifndef ROLLER_DRIVER_CHECK_SAMPLE_H
#define ROLLER_DRIVER_CHECK_SAMPLE_H
#include "base/hash.h"
#include "codegen/kernel.h"
#include "rprogram/index_map.h"

/* Points of block x: its corners and runs along the last axis, at most `want`; each is one position
 * per axis.  */
typedef struct {
    int64_t at[INDEX_AXES];
} BlockPoint;
int sample_points(Arena *a, const IndexMap *m, int64_t x, int want, Rng *rng, BlockPoint **out);
/* Points at which some tested subscript of the group is at an end of what is inside, or where its
 * low 32 bits alone are inside: those first.  */
enum { SAMPLE_ENDS = 16 };
typedef struct {
    BlockPoint at[SAMPLE_ENDS];
    int n, n_low;             /* n_low: of low bits */
} SampleEnds;
void sample_ends(const Problem *p, const IndexMap *m, SampleEnds *out);

/* Grid-x ids of blocks: the corners and edges of the grid, those of some of the points given, the
 * rest by seed; ascending, distinct, at most `want`.  */
int sample_blocks(Arena *a, const IndexMap *m, int want, uint64_t seed, const SampleEnds *ends,
                  int64_t **out);

/* What of a group is looked at: blocks, and points of theirs.  */
typedef struct {
    IndexMap map;
    int64_t *block;           /* grid-x ids */
    int n_block;
    BlockPoint *point;
    int n_point;
    int64_t across;           /* > 0: blocks that stay for several tiles */
    bool snake;               /* in which order (rprog_tile_behind) */
} Sample;
/* How many values each of the root's indices takes in what the blocks compute, at most.  */
void sample_extents(Arena *a, const Sample *s, double *n);
/* Grid-x ids of the kernel that adds a split reduction, `span` outputs a block, that cover the
 * points.  */
int sample_adding(Arena *a, const Sample *s, int64_t span, int64_t **out);
/* Grid-x ids of blocks that have steps of the blocks' tiles, or (span > 0) add what they left:
 * tiles of the tail have several.  */
int sample_tail(Arena *a, const Problem *p, const RProg *r, const Sample *s, int64_t span,
                int64_t **out);
/* Of a program whose rows lie in several blocks, grid-x ids of all that have rows of the blocks:
 * of the products, or (span > 0) of the kernels that make values of rows; ascending, distinct.  */
int sample_strips(Arena *a, const Sample *s, int64_t span, int64_t **out);

/* Makes of n ids of tiles those of the blocks that compute them, of `across` that stay: ascending,
 * distinct.  How many.  */
int sample_launched(int64_t *id, int n, int64_t across, bool snake);

/* The sizes at which an op is proved, *n of them, a value per size: one between, the smallest, the
 * largest; then for every program some that take it, and one less of each.
 * Static ops have one.  */
int64_t **sample_sizes(Arena *a, const Te *te, const KernelProgram *p, int *n);
#endif
