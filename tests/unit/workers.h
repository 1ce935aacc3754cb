/* Cases of a test on several threads.
 *
 * What breaks in a worker ends the program with a message that names the case: a failed assertion
 * as well as a signal.  Left to cmocka, both would leave the thread by `exit` while others compile
 * and compute, which loses the message and may hang.  */
#ifndef TESTS_WORKERS_H
#define TESTS_WORKERS_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

/* pool_for; a case is called by its index until fn says better.  Calls do not nest.  */
bool workers_for(int threads, int64_t n, bool (*fn)(void *user, int64_t i, int worker), void *user);
/* The same of cases that each get an arena of their own; `check` gives what is wrong with one, NULL
 * if nothing.  Says all of that, and how many are wrong.  */
int workers_check(int n, const char *(*check)(void *user, Arena *a, int i), void *user);
/* What the calling thread does from now on until its case ends.  */
void workers_case(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#endif
