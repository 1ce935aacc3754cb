/* Fragments: how an instruction that multiplies matrices deals its operands and results to the
 * lanes of a warp.  The one home of that knowledge: planning, model and code generation ask here.
 *
 * A lane holds some elements of a tile, its slots, numbered in the order of its registers.  Numbers
 * of lanes and of slots have digits, and each digit moves along one side of the tile, so that an
 * element's place is the sum of what all digits of its lane and its slot add.  */
#ifndef ROLLER_RTILE_FRAGMENT_H
#define ROLLER_RTILE_FRAGMENT_H
#include "hal/device.h"

/* Sides of a tile.  Rows of operands are m (of b: n), columns k; of results they are m and n.  */
typedef enum { FRAG_ROW, FRAG_COL, FRAG_DIMS } FragDim;
typedef enum { FRAG_A, FRAG_B, FRAG_RESULT } FragRole;

enum { FRAG_DIGITS = 3 };
typedef struct {
    FragDim dim;
    int extent, step;         /* extent 0: there is no such digit, and none behind it */
} FragDigit;
typedef struct {
    FragDigit lane[FRAG_DIGITS], slot[FRAG_DIGITS];       /* the fastest digit first */
    int per_register;         /* slots in a register (of 32 bits, f64: of 64) */
} Fragment;

/* The fragment of an operand or of the results of a unit of warps; `unit` has a fixed shape.  */
Fragment fragment_of(const ComputeUnit *unit, FragRole role);
/* The same with rows and columns exchanged.  */
Fragment fragment_turned(Fragment f);

/* Slots, and lanes, along a side or (FRAG_DIMS) in all.  */
int fragment_slots(const Fragment *f, FragDim dim);
int fragment_lanes(const Fragment *f, FragDim dim);
/* Slots side by side along a side, beginning with the first: 1, or the fastest digit's extent.  */
int fragment_run(const Fragment *f, FragDim dim);
/* Bits of a lane's number that move along a side.  */
int fragment_lane_bits(const Fragment *f, FragDim dim);
/* Row and column of an element.  */
void fragment_at(const Fragment *f, int lane, int slot, int at[FRAG_DIMS]);
#endif
