/* The sizes at which an op with run-time sizes is planned, and priced.
 *
 * The time of a kernel depends on the extents of its fused axes.  Sizes that are factors of the
 * same ones, such as A, B, C of a product whose rows are A*B*C, move together: points differ in the
 * product, and only by chance in how it is made up.  So six sizes of a product with three axes are
 * as easy as three.  */
#ifndef ROLLER_DRIVER_SIZES_SIZE_POINTS_H
#define ROLLER_DRIVER_SIZES_SIZE_POINTS_H
#include "rprogram/plan.h"

/* Point 0 is the largest sizes, 1 the smallest that are not 0.  At the first n_planned of them
 * programs are planned, at all they are priced: spread evenly over all orders of magnitude, a part
 * of them at ends, at powers of two, or at multiples that are worth knowing of (per size).  One
 * point: no size varies.  The more programs there may be, the more points are planned.  */
typedef struct {
    int64_t **value;          /* per point, per size of the op */
    int n_planned, n;
} SizePoints;
void size_points_find(Arena *a, const Te *te, const RSelector *measures, const int64_t *multiple,
                      int programs, SizePoints *out);
#endif
