/* Time since some moment in the past, in seconds: for what takes how long, never for what is
 * computed.  */
#ifndef ROLLER_BASE_CLOCK_H
#define ROLLER_BASE_CLOCK_H
#include <time.h>

static inline double clock_now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
#endif
