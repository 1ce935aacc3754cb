/* Small programs that rewrites look for, and those that look like them: each is written by a
 * sentence with choices in it.  */
#ifndef TESTS_TE_IDIOMS_H
#define TESTS_TE_IDIOMS_H
#include "te_random.h"

extern const int te_idioms;   /* how many sentences there are */
/* A program by sentence i.  Not all of them are legal: types may not fit.  */
const char *te_idiom(Arena *a, Choices *c, int i);
#endif
