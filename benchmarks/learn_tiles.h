/* Published times of many tiles of one size, which stand for a device.  */
#ifndef ROLLER_BENCHMARKS_LEARN_TILES_H
#define ROLLER_BENCHMARKS_LEARN_TILES_H
#include "driver/device/learn.h"
#include "measured_library.h"

enum { MOST_SIZES = 512 };

/* One size, and its tiles.  */
typedef struct {
    const MeasuredRow *row;   /* one of its rows */
    const Device *dev;
    LearnPlan *plan;
    double *us;
    int n, all;               /* candidates; tiles that were timed */
    double best;              /* of all */
} Size;

typedef struct {
    Arena *a;
    json_t *boards;
    uint64_t seed;
    int draws;
    Size *size;
    int n;
} Replay;

/* Of these rows all sizes of which many tiles were timed, and more than `least` could be plans of
 * ours.  */
void learn_read_sizes(Replay *r, const MeasuredRows *rows, int least);
#endif
