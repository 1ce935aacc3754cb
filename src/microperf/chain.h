/* Programs of chains, for the files of microperf.  */
#ifndef ROLLER_MICROPERF_CHAIN_H
#define ROLLER_MICROPERF_CHAIN_H
#include "microperf/ending.h"
#include "microperf/matrix.h"
#include "microperf/story.h"

/* What a block does in one turn.  */
typedef struct {
    RProg prog[MP_PRODUCTS];
    Model of[MP_PRODUCTS];
    StepCounts counts[MP_PRODUCTS];
    Step step[MP_PRODUCTS];
    double warps, teams;      /* that compute; of these a warp tile each */
    double folds, powers, power_issue;    /* warp instructions; exponentials; instructions */
    double meet;              /* clocks until lanes have a row's leader */
    bool apart;               /* sums lie in Tensor Memory: no thread that folds waits for them */
    double moves;             /* clocks of loads and stores of it */
    double wavefronts, bytes;             /* of shared memory; from L2 */
    double a_bytes;           /* of operand a before the first turn: from L2; wavefronts, ... */
    double a_reads, a_stores; /* ... reads of fragments that registers keep */
} ChainTurn;
/* Its steps know counts that lie beside them, so that it stays where it is made.  */
void mp_chain_turn(const Model *m, const RProg *r, CountMemo *memo, ChainTurn *t);

/* Clocks of a turn of `resident` blocks: of the unit for either product; of folds; of powers; of
 * all of them as they overlap, with what they wait for; and what the first turn of a block and its
 * last one take beyond that, since nothing overlaps with them.  */
typedef struct {
    double unit[MP_PRODUCTS], folds, powers, all, ends;
} ChainClocks;
ChainClocks mp_chain_clocks(const Model *m, const RProg *r, const ChainTurn *t, double resident);

/* What is left of a turn's clocks if nothing waits for anything else than overlap allows.  */
double mp_chain_busy(const RProg *r, const ChainClocks *c);

/* Turns that blocks visit: the mean, at most all.  */
double mp_chain_turns(const Model *m, const RProg *r);

/* chain_text.c: a program in words; why it is so, with the times of what else could overlap (0: it
 * cannot).  */
void mp_chain_summary(const Problem *p, const Device *dev, const RProg *r, Buf *out);
void mp_chain_explain(const Story *s, const double us[OVERLAP_COUNT]);
#endif
