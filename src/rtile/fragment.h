/* Fragments: how operands and results of products are dealt to the lanes of a warp, by instructions
 * that multiply matrices, or by threads that multiply for themselves.  The one home of that
 * knowledge: planning, model and code generation ask here.
 *
 * A lane holds some elements of a tile, its slots, numbered in the order of its registers.  The
 * number of a lane, or of a slot, is a sum of digits in mixed radix, the fastest first, and each
 * moves along a side of the tile by a step of its own.  Step 0: lanes that differ in that digit
 * alone hold the same.  This is what CuTe calls a thread-value layout and Triton a distributed one,
 * without nesting and not bound to powers of two.  */
#ifndef ROLLER_RTILE_FRAGMENT_H
#define ROLLER_RTILE_FRAGMENT_H
#include "hal/device.h"
#include <stdbool.h>

/* Sides of a tile.  Rows of operands are m (of b: n), columns k; of results they are m and n.  */
typedef enum { FRAG_ROW, FRAG_COL, FRAG_DIMS } FragDim;
typedef enum { FRAG_A, FRAG_B, FRAG_RESULT } FragRole;

/* Of what a digit is one.  */
typedef enum { FRAG_LANE, FRAG_SLOT } FragOf;
enum { FRAG_DIGITS = 12 };         /* of all units at most 8 */

typedef struct {
    FragOf from;
    FragDim to;
    int extent, step;
} FragDigit;

typedef struct {
    FragDigit digit[FRAG_DIGITS];         /* of a lane's number, then of a slot's */
    int n;
    int per_register;         /* slots in a register (of 32 bits, f64: of 64) */
} Fragment;

/* What a warp multiplies with one instruction of a unit of warps, which has a fixed shape.  It is
 * the unit's m, n, k but for m8n8k4 of f16: each group of eight lanes has a product of its own, and
 * as two rows and two columns of groups they make 16 x 16 results.  */
typedef struct {
    int m, n, k;
} FragShape;
FragShape fragment_shape(const ComputeUnit *unit);
/* Has the instruction a form for either order of an operand in memory?  */
bool fragment_has_orders(const ComputeUnit *unit);
/* The fragment of an operand, whose elements lie side by side in memory along `inner`, or of the
 * results.  */
Fragment fragment_of(const ComputeUnit *unit, FragRole role, FragDim inner);
/* Registers that it takes.  */
int fragment_registers(const ComputeUnit *unit, FragRole role);
/* What a warp has of the results of a unit of warpgroups with n columns: a quarter of its rows,
 * warp by warp.  */
Fragment fragment_of_share(const ComputeUnit *unit, int n);
/* The same of its operand a where that is in registers.  */
Fragment fragment_of_operand_share(const ComputeUnit *unit);
/* Scales of blocks, of operands of both sides: a register of each lane has those of one row among
 * 32 (of b, 32 columns of the result), which are as many of the unit's tiles as have so many rows;
 * where they lie in Tensor Memory, the row of the lane's number.  */
enum { FRAG_SCALE_ROWS = 32, FRAG_SCALES = 4 };       /* FRAG_SCALES: bytes of a register */
Fragment fragment_of_scales(const ComputeUnit *unit);
/* The same with rows and columns exchanged.  */
Fragment fragment_transposed(Fragment f);
/* What threads of a warp have of its results where each multiplies for itself, in both directions:
 * lanes, powers of two whose bits are dealt alternately, columns first, so that neighbours read
 * the same; and elements of a thread, `vec` neighbours at a time, as far apart as there are lanes.
 */
typedef struct {
    int lanes, vec, elements;
} FragThreads;
Fragment fragment_of_threads(FragThreads rows, FragThreads cols);
/* What they read of an operand, `side` of the results as rows, by `k` columns.  */
Fragment fragment_read_by_threads(FragThreads rows, FragThreads cols, FragDim side, int k);
/* Do registers hold results of one product as they are operand a of another, in the same lanes?
 * `order`: column of the results that is at each k, in so many as are returned: 0: they do not.  In
 * order: the registers stay as they are.  Else the other operand has to give its k in this order,
 * so that registers take their places by name alone; or columns of the first product are computed
 * in another order (FragOrder).  */
enum { FRAG_MOST_K = 64 };
int fragment_passes(const Fragment *results, const Fragment *operand, int order[FRAG_MOST_K]);
/* An order of columns, the same in every `period` of them: digits of a place, the fastest first,
 * and what each adds to the column that is there.  No digits: all are in order.  */
enum { FRAG_ORDER_DIGITS = 6 };           /* of FRAG_MOST_K, each two places at least */
typedef struct {
    int extent[FRAG_ORDER_DIGITS], step[FRAG_ORDER_DIGITS];
    int n, period;
} FragOrder;
/* The order in which columns of the first product are to be computed, so that what is in registers
 * is the operand with its k in order.  False: there is none.  */
bool fragment_order(const Fragment *results, const Fragment *operand, FragOrder *out);
/* Are of every `every` columns `beside` neighbours next to each other, and the others behind those
 * of the whole period?  Then so they may be in `n` columns, some periods, at once; a lane has what
 * it had, of which the order is another: from the number of a column among the lane's to that of
 * its place.  */
bool fragment_parts(const FragOrder *o, int *beside, int *every);
FragOrder fragment_spread(const FragOrder *o, int n);
FragOrder fragment_spread_lane(const FragOrder *o, int n);
/* The fragment of tiles whose rows, or columns, are in an order.  No digit of a place carries from
 * one of the order to the next.  */
Fragment fragment_ordered(const Fragment *f, FragDim dim, const FragOrder *o);
/* The column at a place; the order from a column to its place.  */
int fragment_column(const FragOrder *o, int place);
FragOrder fragment_places(const FragOrder *o);

/* Slots, and lanes with other elements, along a side or (FRAG_DIMS) in all.  */
int fragment_slots(const Fragment *f, FragDim dim);
int fragment_lanes(const Fragment *f, FragDim dim);
/* Slots side by side along a side, from the first on.  */
int fragment_run(const Fragment *f, FragDim dim);
/* Have slots that are side by side numbers that follow each other?  */
bool fragment_follows(const Fragment *f, FragDim dim);
/* Comes digit i of a slot's number before digit j along a side, of whose places it makes less?  */
bool fragment_below(const Fragment *f, int i, int j);
/* Bits of a lane's number that move along a side.  */
int fragment_lane_bits(const Fragment *f, FragDim dim);
/* Row and column of an element.  */
void fragment_at(const Fragment *f, int lane, int slot, int at[FRAG_DIMS]);
/* Those of a slot of each lane.  */
void fragment_of_lanes(const Fragment *f, int slot, int at[WARP][FRAG_DIMS]);
#endif
