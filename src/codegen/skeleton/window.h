/* Inside of window kernels: the thread's patch, and a row of the input as it lies in registers.  */
#ifndef ROLLER_CODEGEN_SKELETON_WINDOW_H
#define ROLLER_CODEGEN_SKELETON_WINDOW_H
#include "codegen/skeleton/skeleton.h"

/* What is defined for all of a kernel.  */
typedef struct WindowAt {
    Ir row, col, first;       /* first output of the patch, of those alike ... */
    Ir i, j;                  /* ... and one in it: loops name these */
    Ir e;                     /* which of those alike (window_alike) */
    Ir y, kk, f;              /* input row; row and column of the window: likewise */
    Ir source[WINDOW_SOURCES];   /* a map's inputs: values of rows */
    Ir take, live;            /* the patch in shared memory, has the thread outputs (or NULL) */
} WindowAt;

static inline const WindowView *window_view(const Kernel *k) { return &k->task->p->window; }
static inline const WindowSource *window_source(const Kernel *k, int n) {
    return &window_view(k)->source[n];
}
/* Rows and columns of a patch, and neighbours at each of them.  */
static inline int window_rows(const Kernel *k) { return k->task->r->thread.extent[AX_M]; }
static inline int window_strip(const Kernel *k) { return k->task->r->thread.extent[AX_N]; }
static inline int window_lanes(const Kernel *k) {
    return rprog_window_lanes(k->task->p, k->task->r);
}
/* Outputs at the same place that share what they read of the window.  */
static inline int window_alike(const Kernel *k) { return k->task->r->thread.extent[AX_K]; }
static inline bool window_shared(const Kernel *k) { return k->task->r->keep == KEEP_SHARED; }

static inline int window_axis(const Kernel *k, AxisClass axis) {
    return rprog_window_axis(k->task->p, axis);
}

/* What is of the map's axis of p (AX_M), q or alike; 0 if there is none.  */
static inline Ir window_along(const Kernel *k, const Ir *at, AxisClass axis) {
    const WindowView *v = window_view(k);
    bool none = (axis == AX_M && v->p < 0) || (axis == AX_K && v->alike < 0);
    return none ? ir_int(k->cg, 0) : at[window_axis(k, axis)];
}

/* A row of source n: elements of a load, loads, elements before the first that is needed.  */
static inline int window_row_vec(const Kernel *k, int n) {
    return rprog_window_width(k->task->p, k->task->r, n);
}
static inline int window_row_loads(const Kernel *k, int n) {
    return (int)rprog_window_loads(k->task->p, k->task->r, n);
}
static inline int window_row_shift(const Kernel *k, int n) {
    return rprog_window_shift(k->task->p, k->task->r, n);
}
/* The number of the row in the patch, or in the window where that is a loop.  */
static inline Ir window_row_number(const Kernel *k) {
    return window_rows(k) > 1          ? k->window->y
           : window_view(k)->p >= 0 ? k->window->kk
                                       : ir_int(k->cg, 0);
}

/* window_index.c: is subscript d a long long; how far it is at a position along the dimension's
 * axis (sliding dimensions).  */
bool window_wide(const Kernel *k, const WindowSource *x, int d);
bool window_widens(const Kernel *k, const WindowSource *x, int d);     /* or offsets with it */
Ir window_steps(const Kernel *k, const WindowSource *x, int d, Ir at);
/* What load u of a row gave, `width` elements of `dtype`, becomes values in the array `to`.  */
void window_row_put(Kernel *k, Ir to, Ir u, int width, Ir x, TeDtype dtype);
/* window_row.c: a source's row as values in the array `to`; load u fills to[u * N ..].  */
void window_row_load(Kernel *k, int n, Ir to);

/* window_tile.c: inputs in shared memory.  */
void window_tile_place(Kernel *k);
/* The array `to` from input row y, or kk of the window.  */
void window_tile_row(Kernel *k, Ir to);
void window_tile_fill(Kernel *k, const Node *n);         /* window_tile.c: NODE_COPY */
#endif
