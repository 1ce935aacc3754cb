/* What the roles of a block do over time, by the model.  */
#ifndef ROLLER_MICROPERF_TIMELINE_H
#define ROLLER_MICROPERF_TIMELINE_H
#include "microperf/microperf.h"

/* ASKED: from asking for a copy to its first byte.  COPY: its bytes.  PRODUCT: the unit's.  POWERS:
 * what a chain does between its products.  END: behind the last turn of a tile.  SENT: until L2
 * has the outputs.  */
typedef enum { BAR_ASKED, BAR_COPY, BAR_PRODUCT, BAR_POWERS, BAR_END, BAR_SENT } MpBarKind;
typedef struct {
    MpBarKind kind;
    int of;                   /* ring of a copy, number of a product */
    int team;                 /* that computes */
    int tile, turn;           /* of the block; of the tile */
    double from, to;          /* clocks of the SM since the block began */
} MpBar;

typedef struct {
    MpBar *bar;               /* those of a role in order */
    int n;
    int rings, slots;         /* of each */
    int teams;                /* warpgroups; 1: all warps do the same */
    bool roles;               /* other warps copy */
    int tiles, turns;         /* shown; of a tile */
    MpTurn turn;
    double clock;             /* Hz */
} MpTimeline;

/* The blocks of a busy SM, from their start until outputs of the first tiles are stored, by the
 * terms of the estimate.  False: the program has no ring, or too many turns to show.  */
bool mp_timeline(Arena *a, const Problem *p, const RProg *r, const Device *dev, MpTimeline *out);
#endif
