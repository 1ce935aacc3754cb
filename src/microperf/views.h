/* What the estimates of `stream`, `column`, `scan`, `window` and `permute` share.  Inside
 * microperf.  */
#ifndef ROLLER_MICROPERF_VIEWS_H
#define ROLLER_MICROPERF_VIEWS_H
#include "microperf/model.h"

/* The work of a memory-bound kernel, counted for all its blocks.  */
typedef struct {
    double blocks;            /* with slices */
    double reads, writes;     /* bytes of DRAM */
    double l2, sent;          /* bytes from L2 to the SMs, and to it: whole sectors of every
                               * store */
    double wavefronts;        /* passes of loads and stores through L1, and of shared memory */
    double ops, compute;      /* warp instructions; operations of the unit among them, */
    double products;          /* and multiply-adds among these */
    double chain, tail;       /* clk of a block on its own; of them those behind its last loads */
    double run;               /* neighbouring bytes that a block reads before it jumps; 0: many */
    double flying;            /* bytes that one thread has under way, on average over its life */
} ViewWork;

/* Sets every term but SPLIT from the work.  */
void mp_view_terms(const Model *m, const RProg *r, const ViewWork *w, Estimate *out);
/* Passes through L1 of a request of 32 neighbouring threads: `width` bytes each, `step` bytes
 * apart, in runs of `run` threads that begin `pitch` bytes apart; 0: in any bank.  */
double mp_view_passes(double width, double step, double run, double pitch);
/* Requests per element of the reads of a map whose elements go by `vec`.  */
double mp_map_requests(ReadWidths w, int vec);
#endif
