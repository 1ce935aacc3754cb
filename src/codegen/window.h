/* Inside of window kernels: the thread's patch, and a row of the input as it lies in registers.
 *
 * Names in the text: row, col first output of the patch, i, j an output in it, y the input row, kk,
 * f row and column of the window, u the load of a row, v the lane, x0, y0, y1 values of rows.  */
#ifndef ROLLER_CODEGEN_WINDOW_H
#define ROLLER_CODEGEN_WINDOW_H
#include "codegen/blocks.h"

static inline const WindowView *window_view(const Kernel *k) { return &k->l->p->window; }
static inline const WindowSource *window_source(const Kernel *k, int n) {
    return &window_view(k)->source[n];
}
/* Rows and columns of a patch, and neighbours at each of them.  */
static inline int window_rows(const Kernel *k) { return k->l->r->thread.extent[AX_M]; }
static inline int window_strip(const Kernel *k) { return k->l->r->thread.extent[AX_N]; }
static inline int window_lanes(const Kernel *k) { return rprog_window_lanes(k->l->p, k->l->r); }
static inline bool window_shared(const Kernel *k) { return k->l->r->keep == KEEP_SHARED; }

/* The map's axis of p (AX_M) or q; the first one is that of the other indices.  */
static inline int window_axis(const Kernel *k, AxisClass axis) {
    return axis == AX_M || window_view(k)->p < 0 ? 1 : 2;
}

/* A row of source n: elements of a load, loads, elements before the first that is needed.  */
static inline int window_row_vec(const Kernel *k, int n) {
    return rprog_window_width(k->l->p, k->l->r, n);
}
static inline int window_row_loads(const Kernel *k, int n) {
    return (int)rprog_window_loads(k->l->p, k->l->r, n);
}
static inline int window_row_shift(const Kernel *k, int n) {
    return rprog_window_shift(k->l->p, k->l->r, n);
}
/* The number of the row in the patch, or in the window where that is a loop.  */
static inline const char *window_row_number(const Kernel *k) {
    return window_rows(k) > 1 ? "y" : window_view(k)->p >= 0 ? "kk" : "0";
}

/* window_row.c: is subscript d a long long; how far it is at a position along the dimension's axis
 * (sliding dimensions).  */
bool window_wide(const Kernel *k, const WindowSource *x, int d);
bool window_widens(const Kernel *k, const WindowSource *x, int d);     /* or offsets with it */
const char *window_steps(const Kernel *k, const WindowSource *x, int d, const char *at);
/* A source's row as values in the array `to`; load u fills to[u * N ..].  */
void window_row_load(Kernel *k, int n, const char *to);

/* window_tile.c: inputs in shared memory.  */
void window_tile_place(Kernel *k);
/* The array `to` from input row y, or kk of the window.  */
void window_tile_row(Kernel *k, const char *to);
bool window_tile_tested(const Kernel *k); /* are some threads without outputs: not `live`? */
#endif
