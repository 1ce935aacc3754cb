/* What predicted time consists of beyond what no plan can beat.  */
#ifndef ROLLER_BENCHMARKS_GAP_H
#define ROLLER_BENCHMARKS_GAP_H
#include "roller.h"

enum { GAP_TEXT = 160 };
#define GAP_IS_FAR 1.3                    /* times the floor */

/* The largest parts first: the limiter counts with what it is longer than the floor, the terms
 * behind it (from `overlap` on) in full.  "": the estimate is not far from the floor.  */
void gap_text(const RollerEstimate *e, char out[GAP_TEXT]);
#endif
