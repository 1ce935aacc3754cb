/* Kernels with tensor maps, written by hand, as programs of ops: what code generation would hand to
 * everything that launches.
 *
 * boxes: tiles with a swizzle, moved by a shift, out of bounds 0, to the workspace and from there;
 * windows: columns of pixels; sums: an input by a map of rank 3 that may have no elements, in a
 * cluster whose blocks store half of the columns each, by one of rank 1.  */
#ifndef TESTS_MAP_KERNELS_H
#define TESTS_MAP_KERNELS_H
#include "driver/artefact/artefact.h"

enum { MAP_KERNELS = 3 };
extern const char *const map_kernel_name[MAP_KERNELS];
/* The code of all of them.  */
Status map_kernels_compile(Arena *a, Diag *d, NvrtcOutput *out);
/* Kernel `which` for h200, as if roller_compile had made it, with this code.  NULL: *why says what
 * went wrong.  */
RollerKernel *map_kernel(RollerCtx *ctx, int which, const NvrtcOutput *code, const char **why);
#endif
