/* Logs of global writes, and the search for bytes that two blocks wrote.  */
#ifndef ROLLER_SIM_STATE_WRITES_H
#define ROLLER_SIM_STATE_WRITES_H
#include "sim/state/exec.h"

/* Bytes at .. end - 1, written by a thread of a block with an instruction.  */
typedef struct {
    uint64_t at, end;
    const SimInst *inst;
    int thread;
} SimWrite;
struct SimWrites {
    Arena *arena;             /* outlives the block */
    int64_t block;            /* linear number */
    uint32_t ctaid[3];
    SimWrite *write;
    size_t n, cap, merged;    /* merged: the first ones are sorted and do not overlap */
};

/* Sorts and merges what is there.  */
void sim_merge_writes(SimWrites *w);
/* Finds overlaps between different blocks: one fault per block that wrote where an earlier block
 * (in linear order) wrote.  Calls found(user, earlier, later, later's write) in order of the later
 * block.  */
void sim_find_overlaps(Arena *a, SimWrites **blocks, int64_t n,
                       void (*found)(void *user, const SimWrites *earlier, const SimWrite *first,
                                     const SimWrites *later, const SimWrite *second),
                       void *user);
#endif
