/* Allocations of a simulated device; private to memory.c, count.c and launch.c.  */
#ifndef ROLLER_SIM_STATE_MEMORY_STATE_H
#define ROLLER_SIM_STATE_MEMORY_STATE_H
#include "base/lazy.h"
#include "sim/state/memory.h"
#include <stdatomic.h>

/* Sectors that launches before have touched: the last one; those that it has not waited for.  */
typedef enum { PAST_LOADED, PAST_STORED, OLDER_LOADED, OLDER_STORED, SIM_PASTS } SimPast;

/* When blocks of the last timed launch touched a line: a bit for each 128th of the instructions of
 * a block's longest warp.  */
enum { SIM_PIECES = 128 };
typedef struct {
    _Atomic uint64_t when[SIM_PIECES / 64];
} SimUse;

/* Who wrote bytes of a word last.  A word whose bytes have several writers has a list of them, no
 * byte in two.  */
typedef struct {
    uint32_t block;           /* + 1; 0: nobody in this launch */
    uint32_t segment : 28, bytes : 4;
    uint32_t inst;            /* index in the kernel's code */
    uint32_t more;            /* number of the next one in SimBlockOrder.more, 0: none */
} SimOwner;

/* Addresses are given upwards and never reused, with a gap after every allocation: what is freed or
 * overrun is told for sure.  Mapped memory lies where the caller has it, and is forgotten when it
 * is freed.  */
typedef struct SimAlloc {
    uint64_t base, bytes;
    Lazy memory;              /* its data: NULL once freed */
    bool mapped;              /* the memory is the caller's */
    uint64_t *loaded, *stored;            /* one bit per sector; touched by several host threads */
    atomic_uchar *marked;     /* per SIM_MARKED words of these: some of them are not 0 */
    uint64_t *past[SIM_PASTS];            /* overlap.c: of launches that may still run, else NULL */
    _Atomic uint64_t *written;            /* one bit per byte, once that is watched; else NULL */
    uint64_t *touched;        /* l2.c: per line of L2, when it was touched last */
    SimUse *use;              /* l2.c: the same, when in the last timed launch */
    SimOwner *owner;          /* order.c: one per word, while a launch needs them; else NULL */
} SimAlloc;

/* Of shared memory.  */
typedef struct {
    uint32_t n, width;        /* width in bytes */
} SimBanks;

struct SimGpu {
    Arena *arena;
    const Device *dev;
    SimAlloc *alloc;          /* ascending */
    size_t n_alloc, cap_alloc;
    uint64_t next;
    SimBanks banks;
    uint32_t line;            /* bytes of a line of L2 */
    uint64_t l2_lines;        /* that it keeps */
    uint64_t brought;         /* lines brought into it so far */
    bool watches;             /* the writes to some allocation */
    struct SimLoaded *loaded; /* launch.c: modules whose variables are in memory */
    bool waited;              /* the last launch ended behind all before it */
};

enum { SIM_SECTOR = 32, SIM_RED_ZONE = 4096, SIM_MARKED = 64 };

/* Words of loaded and stored, and the piece of them, 1 of `marked`, that begins at `word`.  What
 * was not touched is not looked at either: most of a large tensor when a sample of blocks runs.  */
static inline size_t sim_sector_words(const SimAlloc *x) {
    return (size_t)(x->bytes / SIM_SECTOR / 64 + 1);
}
static inline bool sim_is_marked(const SimAlloc *x, size_t word) {
    return atomic_load_explicit(&x->marked[word / SIM_MARKED], memory_order_relaxed);
}
/* Bytes of `owner`.  */
static inline size_t sim_owner_room(const SimAlloc *x) {
    return (size_t)(x->bytes / 4 + 1) * sizeof *x->owner;
}

/* The allocation whose bytes at .. at + bytes - 1 are, or NULL.  */
const SimAlloc *sim_find(const SimGpu *g, uint64_t at, uint64_t bytes);
/* The allocation before an address, freed ones included, for messages; NULL if there is none.  */
const SimAlloc *sim_nearest(const SimGpu *g, uint64_t at);
/* Device memory for the simulator itself (variables of a module); unwinds when there is none.  */
uint64_t sim_reserve(SimGpu *g, size_t bytes);
/* A kernel writes these bytes: noted where that is watched.  */
void sim_note_written(SimBlock *b, uint64_t at, uint64_t bytes);
/* Forgets which sectors of all allocations were touched, and when; counts the distinct ones.  */
void sim_clear_sectors(SimGpu *g);
uint64_t sim_sum_sectors(const SimGpu *g, bool stored);
/* overlap.c.  Before a launch: keeps the sectors that launches which may still run have touched, if
 * it overlaps with them.  Behind it: what is known then.  */
void sim_overlap_begin(SimGpu *g, const SimRun *r);
void sim_overlap_end(SimGpu *g, const SimRun *r, int64_t blocks);
void sim_overlap_forget(SimAlloc *x);
/* A lane touches a sector of x, of which launches before may still make use.  */
void sim_overlap_touch(SimWarp *w, int lane, const SimAlloc *x, uint64_t sector, bool store);
#endif
