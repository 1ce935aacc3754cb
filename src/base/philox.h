/* Philox4x32-10: random numbers by a counter (Salmon, Moraes, Dror, Shaw, "Parallel random numbers:
 * as easy as 1, 2, 3", SC11).  */
#ifndef ROLLER_BASE_PHILOX_H
#define ROLLER_BASE_PHILOX_H
#include <stdint.h>

/* Ten rounds: `counter` becomes the four numbers of the block that it counts; lowest words
 * first.  */
void philox4x32(uint32_t counter[4], const uint32_t key[2]);
/* The n-th number of the seed's sequence: word n mod 4 of block n div 4, whose 128-bit counter is
 * negative where n is.  */
uint32_t philox_number(int64_t seed, int64_t n);
#endif
