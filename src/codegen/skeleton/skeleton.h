/* The building blocks of each skeleton but `contract`, of which those of `row` are row.h's.  */
#ifndef ROLLER_CODEGEN_SKELETON_SKELETON_H
#define ROLLER_CODEGEN_SKELETON_SKELETON_H
#include "codegen/elements/elements.h"

/* column.c, column_fold.c */
void column_place(Kernel *k);
void column_fold(Kernel *k);
void column_groups_place(Kernel *k);
void column_groups_halves(Kernel *k);
Ir column_groups_give(const Kernel *k, bool half);        /* does the thread's group, or take? */
Ir column_groups_take(const Kernel *k);
void column_groups_put(Kernel *k, bool half);
void column_groups_add(Kernel *k, bool half);
void column_partial(Kernel *k);
void column_elements(Kernel *k);

void column_sums_elements(Kernel *k);
void column_sums_gather(Kernel *k);

/* scan.c, scan_meet.c */
void scan_place(Kernel *k);
void scan_clear(Kernel *k);
void scan_open_steps(Kernel *k);
void scan_fold(Kernel *k);
void scan_meet(Kernel *k);
void scan_elements(Kernel *k);
void scan_meet_slice(Kernel *k);          /* the threads of a result */
void scan_leave(Kernel *k);
void scan_combine(Kernel *k);             /* what the slices before come to */

/* window.c */
void window_place(Kernel *k);
void window_clear(Kernel *k);
int window_open_outer(Kernel *k);         /* how many loops */
void window_fold(Kernel *k);
void window_tile_fill(Kernel *k);
void window_elements(Kernel *k);

/* permute.c */
void permute_place(Kernel *k);
void permute_fill(Kernel *k, int source);
void permute_elements(Kernel *k);

/* stream.c */
/* The thread's vectors; those of a map that are none, at the end of the domain: `rest`.  */
void stream_elements(Kernel *k, bool rest);
void stream_fold(Kernel *k);
#endif
