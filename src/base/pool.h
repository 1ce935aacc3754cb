/* Data parallelism over host threads: run fn(i) for i in 0..n-1.  */
#ifndef ROLLER_BASE_POOL_H
#define ROLLER_BASE_POOL_H
#include <stdbool.h>
#include <stdint.h>

/* Calls fn(user, i, worker) for every i in 0..n-1 on up to `threads` threads (0: one per core, at
 * most 16).  `worker` is in 0..threads-1 and two calls with the same worker never overlap.  A fn
 * that returns false stops the hand-out of further indices.  Returns true if all returned true.
 * Falls back to fewer threads when the system gives none; with one thread the order is ascending.
 * An arena_fail may not leave fn.  */
bool pool_for(int threads, int64_t n, bool (*fn)(void *user, int64_t i, int worker), void *user);
int pool_threads(int threads);                             /* what a request resolves to */
int pool_share(int threads, int n);                        /* of these, for each of n at a time */
#endif
