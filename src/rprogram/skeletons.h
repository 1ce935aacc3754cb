/* What follows from a program that is no contraction, skeleton by skeleton: threads, widths, steps,
 * bytes and wavefronts.  What all programs have in common is in derived.h.  */
#ifndef ROLLER_RPROGRAM_SKELETONS_H
#define ROLLER_RPROGRAM_SKELETONS_H
#include "rprogram/rprog.h"

/* `stream`: is the end of the domain no whole vector, and made element by element?  */
static inline bool rprog_stream_rest(const Problem *p, const RProg *r) {
    return r->store_vec > p->out_vec;
}

/* `row`: the facts that the program goes by; is what several passes need read again by each?  */
const RowFacts *rprog_row_facts(const Problem *p, const RProg *r);
static inline bool rprog_row_rereads(const RProg *r) {
    return r->keep == KEEP_MEMORY || r->keep == KEEP_ONLINE;
}
/* Are values that several passes need (RowFacts.value) kept?  */
static inline bool rprog_row_keeps_values(const RProg *r) {
    return r->keep == KEEP_REGISTERS && r->split == 1;
}
/* Instructions of pass p for one element.  */
double rprog_row_ops(const Problem *p, const RProg *r, int pass);
/* Does the block hold the source's rows in shared memory?  */
static inline bool rprog_row_holds(const RProg *r, const RowSource *s) {
    return r->keep == KEEP_FLAT ? s->by_row : r->keep == KEEP_SHARED && s->kept;
}
/* Do vectors begin at the first aligned column of a row (RowFacts.peel), so that it has ends?  */
static inline bool rprog_row_ends(const Problem *p, const RProg *r) {
    return r->store_vec > p->row->vec;
}
/* Columns that a thread has of the ends of its row, at most; elements of an access to a source.  */
int rprog_row_end_columns(const Problem *p, const RProg *r);
int rprog_row_width(const Problem *p, const RProg *r, const RowSource *s);
/* Threads of a row; steps of a pass over a slice; kernels; bytes of source k in shared memory.  In
 * the workspace the slices' values lie as [row][slice].  */
int rprog_row_threads(const RProg *r);
int64_t rprog_row_steps(const Problem *p, const RProg *r);
int rprog_row_kernels(const Problem *p, const RProg *r);
int64_t rprog_row_bytes(const Problem *p, const RProg *r, int source);
/* Elements of a copy of source k to shared memory, and the mover that makes it: an asynchronous one
 * where the device has it, which needs no registers; -1: loads and stores.  */
int rprog_row_copy_width(const Problem *p, const RProg *r, int source);
int rprog_row_mover(const Device *dev, const Problem *p, const RProg *r, int source);

/* `column`, `scan`: threads of a block along an axis.  */
int rprog_threads_along(const RProg *r, int axis);

/* `column`: rows of a slice, whole steps.  */
/* Partial results of the whole block in shared memory: all groups but the first, which adds them in
 * order; of more than 8 groups the upper half, which the lower one adds, and so on.  */
int rprog_column_copies(const RProg *r);
int64_t rprog_column_slice(const Problem *p, const RProg *r);

/* `scan`: elements of a step from one vector of a thread to its
 * next, and threads that meet by shuffles; threads that hand each other results through shared
 * memory, as warps or groups; steps of a slice; partial results that a slice leaves of each.  */
int rprog_scan_lanes(const Problem *p, const RProg *r);
int rprog_scan_meets(const Problem *p, const RProg *r);
int64_t rprog_scan_steps(const Problem *p, const RProg *r);
int rprog_scan_partials(const Problem *p, const RProg *r);

/* `window`: patches; neighbours along window.lane; what a thread loads of an input row of a source:
 * elements of a load, loads, elements before the first that is needed; input rows of a patch (the
 * window's where they are a loop); multiply-adds (taps) of the body that is unrolled, and whether
 * the loop over the window's rows is too.  */
int64_t rprog_window_patches(const Problem *p, const RProg *r);
static inline int rprog_window_lanes(const Problem *p, const RProg *r) {
    return p->window.lane < 0 ? 1 : r->vec_n;
}
int rprog_window_width(const Problem *p, const RProg *r, int source);
int64_t rprog_window_loads(const Problem *p, const RProg *r, int source);
int rprog_window_shift(const Problem *p, const RProg *r, int source);
/* KEEP_SHARED: patches of a block down, across and over planes (points of the outer indices); rows,
 * columns and row pitch of its inputs in elements.  */
typedef struct {
    int down, across, planes;
    int64_t rows, columns, pitch;
} WindowTile;
WindowTile rprog_window_tile(const Problem *p, const RProg *r);
int64_t rprog_window_rows(const Problem *p, const RProg *r, int source);
/* Loads of a patch from a source, or elements (of lanes, their vectors); those of a map that no tap
 * needs are left out: the compiler does, and narrows loads.  */
int64_t rprog_window_used(const Problem *p, const RProg *r, int source, bool loads);
/* Which subscripts of what a thread loads of a source, or a block of its tile, may lie outside of
 * the tensor at some size and so are tested; bit d: dimension d.  */
uint32_t rprog_window_tested(const Problem *p, const RProg *r, int source);
static inline bool rprog_window_tiled(const RProg *r, int source) {
    return r->keep == KEEP_SHARED && source == 0;
}
int64_t rprog_window_body(const Problem *p, const RProg *r);
bool rprog_window_unrolls(const Problem *p, const RProg *r);

/* `permute`: points of a box; of source i: elements of its part of the box, elements of a row in
 * shared memory, bytes from its beginning to the next source's; elements that lie together in
 * memory: of source i, of the outputs (source < 0).  */
int64_t rprog_permute_points(const Problem *p, const RProg *r);
int64_t rprog_permute_elements(const Problem *p, const RProg *r, int source);
int64_t rprog_permute_row(const Problem *p, const RProg *r, int source);
int64_t rprog_permute_bytes(const Problem *p, const RProg *r, int source);
int64_t rprog_permute_run(const Problem *p, const RProg *r, int source);
/* Elements from point to point along each axis in source i's part, before padding; 0: not moved.
 * Elements of one access of the part by outputs.  */
void rprog_permute_steps(const Problem *p, const RProg *r, int source,
                         int32_t step[PERMUTE_AXES]);
int rprog_permute_width(const Problem *p, const RProg *r, int source);
/* Wavefronts of filling the part of source i and of reading it for the outputs, by one full box.
 * Of many requests a part is looked at and stands for the rest.  */
double rprog_permute_stores(const Problem *p, const RProg *r, int source);
double rprog_permute_loads(const Problem *p, const RProg *r, int source);
#endif
