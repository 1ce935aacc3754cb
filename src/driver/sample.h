/* Which blocks of a big kernel are worth running, and which outputs they must then have computed.
 *
 * Follows from the plan alone (rprog.h: raster, tiles, slices), not from the emitted text.  */
#ifndef ROLLER_DRIVER_SAMPLE_H
#define ROLLER_DRIVER_SAMPLE_H
#include "base/hash.h"
#include "codegen/kernel.h"

/* Half-open ranges of the fused axes that block x of a kernel group computes.  */
typedef struct {
    int64_t lo[AX_CLASSES], hi[AX_CLASSES];
} BlockRange;
void sample_range(const Problem *p, const RProg *r, int64_t span, int64_t x, BlockRange *out);

/* Grid-x ids of blocks: the corners and edges of the tile space, the rest by seed; ascending,
 * distinct, at most `want`.  */
int sample_blocks(Arena *a, const Problem *p, const RProg *r, int64_t span, int want, uint64_t seed,
                  int64_t **out);

/* Points of a range: its corners and whole runs along n, at most `want`; each point is one index
 * per class.  */
typedef struct {
    int64_t at[AX_CLASSES];
} BlockPoint;
int sample_points(Arena *a, const BlockRange *range, int want, Rng *rng, BlockPoint **out);

/* The root statement's spatial indices at a point, of a row group's frame all indices; false if
 * a ragged tile has no output there.  */
bool sample_indices(const Problem *p, const RProg *r, const BlockPoint *at, int64_t *index);

/* Grid-x ids of the kernel that adds a split reduction, `span` outputs a block, that cover these
 * points.  */
int sample_adding(Arena *a, const Problem *p, const RProg *r, const BlockPoint *at, int n,
                  int64_t span, int64_t **out);
/* Grid-x ids of blocks that have steps of these tiles, or (span > 0) add what they left: tiles of
 * the tail have several.  */
int sample_tail(Arena *a, const Problem *p, const RProg *r, const int64_t *tile, int n,
                int64_t span, int64_t **out);
/* Of a program whose rows lie in several blocks, grid-x ids of all that have rows of these n: of
 * the products, or (span > 0) of the kernels that make values of rows; ascending, distinct.  */
int sample_strips(Arena *a, const Problem *p, const RProg *r, const int64_t *x, int n, int64_t span,
                  int64_t **out);

/* The same for column and window programs: their blocks tile M, whose points are columns, or
 * patches with their outputs along N.  */
void sample_view_extents(const Problem *p, const RProg *r, int64_t extent[AX_CLASSES]);
void sample_view_range(const Problem *p, const RProg *r, int64_t x, BlockRange *out);
bool sample_view_indices(const Problem *p, const RProg *r, const BlockPoint *at, int64_t *index);
/* The sizes at which an op is proved, *n of them, a value per size: one between, the smallest, the
 * largest; then for every program some that take it, and one less of each.
 * Static ops have one.  */
int64_t **sample_sizes(Arena *a, const Te *te, const KernelProgram *p, int *n);
#endif
