/* The `contract` skeleton: what its row is made of.  */
#ifndef ROLLER_RPROGRAM_CONTRACT_H
#define ROLLER_RPROGRAM_CONTRACT_H
#include "rprogram/skeleton.h"

/* loads_rooms.c: an operand's tiles, which a product reads from the slots of a ring.  */
typedef struct {
    const Problem *p;         /* of that product, ... */
    const RProg *r;
    int side, number;         /* ... there, and among the operands of all products */
    int ring;                 /* in Loads.ring */
    int64_t bytes;            /* of a tile */
} Load;
/* All of a kernel, in the order in which they lie; loads of one ring are neighbours, whose tiles of
 * a turn lie side by side in its slot.  Rings are the first of the layout.  */
typedef struct {
    Load load[RPROG_LOADED];
    Ring ring[RPROG_LOADED];
    int n, n_ring;
} Loads;
void loads_add(Loads *x, Load load);
/* Their rings, and their rooms: tiles, and what waits in registers for its stage.  */
void loads_rooms(RoomWalk *w, const Loads *x);
void loads_wait(RoomWalk *w, const RLoad *l, int number);
DoneBy loads_filled_by(const RLoad *l);
/* Barriers of all rings, which warps behind the `warps` that compute fill.  */
void loads_barriers(RoomWalk *w, const Loads *x, int warps);

void contract_candidates(Keeper *k);
const char *contract_check(const Problem *p, const Device *dev, const RProg *r);
int64_t contract_registers(const Problem *p, const Device *dev, const RProg *r);
/* `late`, of units of matrices: two sets of fragments do not fit beside all else.  */
void contract_derive_late(const Problem *p, const Device *dev, RProg *r);
void contract_rooms(RoomWalk *w);
/* Operands that are loaded as a region, their zeros and tables.  */
void contract_regions(RoomWalk *w, const BlockBytes *b);
/* Rooms of what is in registers before its products; of sums on their way out; of the address of
 * its Tensor Memory.  */
void contract_fragments(RoomWalk *w, const BlockBytes *b);
void contract_results(RoomWalk *w, const BlockBytes *b);
void contract_tensor(RoomWalk *w);
/* The first rule that a load, the loads of all stages, or the way to store, break.  */
const char *contract_check_load(const Problem *p, const Device *dev, const RProg *r, int side);
const char *contract_check_loads(const Problem *p, const Device *dev, const RProg *r);
const char *contract_check_store(const Problem *p, const Device *dev, const RProg *r);
/* What shared memory decides, given the sizes of the program's block.  */
void contract_derive_smem(const Problem *p, const Device *dev, const BlockBytes *b, RProg *r);
#endif
