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
/* Adds the product to the layout of a program that is kept.  */
void contract_product(Arena *a, const Problem *p, const Device *dev, const RProg *r, Layout *l);
/* What shared memory decides, given the sizes of the program's block.  */
void contract_derive_smem(const Problem *p, const Device *dev, const BlockBytes *b, RProg *r);
#endif
