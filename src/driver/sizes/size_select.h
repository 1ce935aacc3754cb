/* Which programs a launch takes at which sizes: the selector, learned from prices.
 *
 * The points are parted in two where that helps most, by a bound on one measure or by all those
 * that make a program right, each part likewise, until nothing is gained; all points of a part take
 * the same programs.  Of such a tree the upper bounds on the way to each part are enough where
 * parts are tried in order, lower ones first: who comes to a part has been turned away by those
 * below.  */
#ifndef ROLLER_DRIVER_SIZES_SIZE_SELECT_H
#define ROLLER_DRIVER_SIZES_SIZE_SELECT_H
#include "driver/sizes/size_pick.h"

/* Fills `out`, whose measures are set.  Programs are numbered as they are picked.  */
void size_select(const SizePick *x, RSelector *out);
#endif
