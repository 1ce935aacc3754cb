/* "Did you mean ...?"  */
#ifndef ROLLER_BASE_NEAREST_H
#define ROLLER_BASE_NEAREST_H

enum { NEAREST_MAX_NAME = 64 };           /* longer names are not near to anything */

/* Of the names offered, the one most like `name`; NULL if none is near.  */
typedef struct {
    const char *name, *best;
    int distance;
} Nearest;
void nearest_offer(Nearest *n, const char *candidate);
#endif
