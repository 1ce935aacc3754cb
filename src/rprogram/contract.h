/* The `contract` skeleton: what its row is made of.  */
#ifndef ROLLER_RPROGRAM_CONTRACT_H
#define ROLLER_RPROGRAM_CONTRACT_H
#include "rprogram/skeleton.h"

void contract_candidates(Keeper *k);
const char *contract_check(const Problem *p, const Device *dev, const RProg *r);
int64_t contract_registers(const Problem *p, const Device *dev, const RProg *r);
/* `late`, of units of matrices: two sets of fragments do not fit beside all else.  */
void contract_derive_late(const Problem *p, const Device *dev, RProg *r);
void contract_rooms(RoomWalk *w);
/* Adds the ring of k-steps, which it returns, and the rooms of both operands; rooms of what waits
 * in registers for its stage, or is there before its products.  */
int contract_stages(RoomWalk *w, const BlockBytes *b);
void contract_fragments(RoomWalk *w);
/* Of an operand's tile, bytes from row to row; how it is filled.  Adds the room of sums on their
 * way out; false: there are more than can be counted.  */
int64_t contract_tile_row(const RoomWalk *w, int side);
DoneBy contract_filled_by(const RLoad *l);
bool contract_results(RoomWalk *w, const BlockBytes *b);
/* The first rule that a load, the loads of all stages, or the way to store, break.  */
const char *contract_check_load(const Problem *p, const Device *dev, const RProg *r, int side);
const char *contract_check_loads(const Problem *p, const Device *dev, const RProg *r);
const char *contract_check_store(const Problem *p, const Device *dev, const RProg *r);
/* Adds the product to the layout of a program that is kept.  */
void contract_product(Arena *a, const Problem *p, const Device *dev, const RProg *r, Layout *l);
/* What there is to say of one of the layout's products, given its program and its rooms.  */
struct Contract;
void product_facts(const Problem *p, const Device *dev, const RProg *r, const Layout *l,
                   struct Contract *out);
/* What shared memory decides, given the sizes of the program's block.  */
void contract_derive_smem(const Problem *p, const Device *dev, const BlockBytes *b, RProg *r);
#endif
