/* A clock that stands still while a program works, and goes on by what it sleeps: limits of time
 * hold or do not, however fast the machine is.
 *
 * It takes the place of CLOCK_MONOTONIC, nanosleep and poll.  A test that links it starts it; as a
 * library that is preloaded it is shared by all processes that find its name in $STILL_CLOCK, a
 * file of 4096 zeros.  There who sleeps goes on when another process has waited in vain for so
 * long.  */
#ifndef TESTS_STILL_CLOCK_H
#define TESTS_STILL_CLOCK_H

/* Stands still from now on, for this process.  */
void still_clock_start(void);
#endif
