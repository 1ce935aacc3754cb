/* Deals: who holds what, as a layout algebra in mixed radix.
 *
 * A deal maps numbers to places.  A number of some space (a lane's, a register's, a position along
 * a side of a tile) is a sum of digits, the fastest first, and each digit moves along one axis of
 * another space by a step of its own; a place is the sum of what all digits add.  Step 0: what
 * differs in that digit alone has the same place, so an element may be in several.  This is what
 * CuTe calls a thread-value layout and Triton a distributed one, without nesting and not bound to
 * powers of two.
 *
 * The operations below say when they hold; where they do not they return false, and what they were
 * to give is undefined.  */
#ifndef ROLLER_RTILE_DEAL_H
#define ROLLER_RTILE_DEAL_H
#include "hal/device.h"
#include <stdbool.h>
#include <stdint.h>

/* Spaces of what holds elements; spaces of places are numbered by who uses them.  */
typedef enum { DEAL_LANE, DEAL_REGISTER, DEAL_WARP, DEAL_BLOCK, DEAL_SPACES } DealSpace;
enum { DEAL_DIGITS = 12, DEAL_ANY = -1, DEAL_LANES = WARP };
typedef struct {
    uint8_t from, to;         /* spaces */
    int32_t extent, step;
} DealDigit;
typedef struct {
    DealDigit digit[DEAL_DIGITS];         /* digits of a space: the fastest first */
    uint8_t n;
} Deal;

/* Adds the next digit of its space.  */
static inline void deal_add(Deal *d, int from, int to, int extent, int step) {
    d->digit[d->n++] = (DealDigit){(uint8_t)from, (uint8_t)to, extent, step};
}
/* Different places of the numbers of a space along `to`, or along all (DEAL_ANY).  */
int deal_extent(const Deal *d, int from, int to);
/* The place of one number of each space.  */
void deal_at(const Deal *d, const int number[DEAL_SPACES], int at[DEAL_SPACES]);
/* Bits of a number of the space that move along `to`, where extents are powers of two.  */
int deal_bits(const Deal *d, int from, int to);

/* Of places back to numbers.  Holds where every place from 0 on along each axis is that of one
 * number: no step is 0, and steps in ascending order are 1 and then all that lies below.  */
bool deal_inverse(const Deal *d, Deal *out);
/* First `inner`, then `outer`, which takes the axes of inner's places as spaces.  Holds where each
 * digit of inner either lies inside one digit of outer or covers some whole (its step divides, or
 * is divided by, what lies below and above it), and what its digits add never carries from one
 * digit of outer to the next.  */
bool deal_compose(const Deal *outer, const Deal *inner, Deal *out);
/* The places below `size` along `to` that d leaves out, as new digits of space `from`, so that both
 * together are all, each once.  Holds where each step is a multiple of all that lies below it, and
 * size of all.  */
bool deal_complement(const Deal *d, uint8_t to, int size, uint8_t from, Deal *out);
/* The numbers of a space in groups: digits below `size` stay its own, the others become those of
 * `rest`.  Holds where size ends a digit or divides one.  */
bool deal_divide(const Deal *d, uint8_t from, int size, uint8_t rest, Deal *out);

/* What takes elements from where one deal has them to where another wants them: nothing; other
 * names of registers, the same in all lanes; shuffles in a warp; shared memory.  */
typedef enum { MOVE_NONE, MOVE_REGISTERS, MOVE_LANES, MOVE_SHARED } DealMove;
/* In `order`, of MOVE_NONE and MOVE_REGISTERS: the register of `has` for each of `wants`, DEAL_MOST
 * at most.  */
enum { DEAL_MOST = 128 };
DealMove deal_move(const Deal *has, const Deal *wants, int order[DEAL_MOST]);
#endif
