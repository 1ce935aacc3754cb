/* Inside of scan kernels.
 *
 * Walk: N elements of length, TOTAL results beside it, at the thread's (first) result, first
 * and end of the block's slice, base the first element of a step, own the thread's first one
 * in it, piece that of the vector at hand (pos), in the order of the walk; u is the vector.
 * acc what elements come to, vector by vector in that order; carry what the steps before came
 * to. Along: lane the thread's number among those of its result. Down: row its group, col its
 * first result in the block.  */
#ifndef ROLLER_CODEGEN_SKELETON_SCAN_H
#define ROLLER_CODEGEN_SKELETON_SCAN_H
#include "codegen/elements/reduction.h"
#include "codegen/skeleton/skeleton.h"

static inline const ScanView *scan_view(const Kernel *k) { return &k->task->p->scan; }
/* Vectors of a thread in a step.  */
static inline int scan_vectors(const Kernel *k) {
    const RProg *r = k->task->r;
    return r->thread.extent[AX_N] / (scan_view(k)->down ? 1 : r->store_vec);
}
/* Does what steps come to go on to the next ones?  */
static inline bool scan_carries(const Problem *p, const RProg *r) {
    return r->split > 1 || p->scan.extent > r->block.extent[AX_N];
}
/* The reduction, held as `held`.  */
static inline Partial scan_partial(const Kernel *k, MonoidVariable held, Ir lane) {
    return monoid_pass(k->cg, k->task->p->group->columns, 0, held, lane).at[0];
}
static inline void scan_copy(Kernel *k, const Partial *to, const Partial *from) {
    ir_set(k->cg, to->value, from->value);
    if (to->beside) ir_set(k->cg, to->beside, from->beside);
}
/* scan_meet.c: how threads meet behind a step; what comes before them joins its elements.  */
ThreadMap scan_step_map(const Kernel *k);
void scan_finish(Kernel *k, const Node *n);
/* Results that a thread has beside each other, as arrays; 0: one.  */
static inline int scan_items(const Kernel *k) {
    return scan_view(k)->down ? k->task->r->store_vec : 0;
}
#endif
