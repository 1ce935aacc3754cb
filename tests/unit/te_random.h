/* Random legal programs, made from a sequence of choices so that a failing one can be shrunk: every
 * change of the sequence is another legal program, smaller numbers are simpler choices, and what is
 * missing is 0.  */
#ifndef TESTS_TE_RANDOM_H
#define TESTS_TE_RANDOM_H
#include "base/buf.h"
#include "base/hash.h"

enum { CHOICES_MAX = 4096 };

typedef struct {
    uint32_t v[CHOICES_MAX];
    int n;                    /* made so far, or to be replayed */
    int at;
    bool replay;
    Rng rng;
} Choices;

void choices_random(Choices *c, uint64_t seed);
void choices_replay(Choices *c);
uint32_t choices_below(Choices *c, uint32_t n);

/* Writes a program again that must compute the same.  */
typedef struct {
    const char *prefix;       /* of every name; NULL: none */
    bool noisy;               /* superfluous parentheses, white space, comments, aliases */
    bool reversed;            /* dimensions of all that is assigned in the opposite order */
    bool swapped;             /* operands of + and * in the opposite order */
    int split;                /* > 1: indices over sizes that this divides are two, and so are the
                               * dimensions of what is assigned */
} RandomStyle;

typedef struct {
    bool exact;               /* only what integer data keeps exact */
    bool fixed;               /* no run-time sizes */
    bool sized;               /* some of most sizes */
    bool respelled;           /* in several styles: what is assigned lies elsewhere in some */
    bool products;            /* most statements are products, of sizes for matrix units */
} RandomLimits;

/* A file with one op of 1 to 6 statements.  */
const char *random_program(Arena *a, Choices *c, const RandomStyle *style, RandomLimits limits);

/* Makes the choices smaller while fails(user, choices) holds, trying at most `tries` times.  */
void choices_shrink(Choices *c, int tries, bool (*fails)(void *user, Choices *c), void *user);
#endif
