/* The `chain` skeleton: what its row is made of.  */
#ifndef ROLLER_RPROGRAM_CHAIN_H
#define ROLLER_RPROGRAM_CHAIN_H
#include "rprogram/skeleton.h"

enum { CHAIN_PRODUCTS = 2 };
enum { CHAIN_TURNS = 4 };     /* warpgroups that take turns (BETWEEN), at most: beside the one that
                               * copies, as many as kernel_check runs side by side */
/* The problem of product `number`.  */
static inline const Problem *chain_problem(const Problem *p, int number) {
    return number ? p->next : p;
}
extern const char chain_too_long[], chain_sizes_vary[];       /* reasons */
/* Are sizes known that no tile can leave open?  */
bool chain_static(const Problem *p);
/* A tile of the program as that of one product.  */
RTile chain_tile(const RTile *t, int number);
/* May u compute the first product, and v the second, results of the one being operands of the other
 * as registers have them?  */
bool chain_fits(const Problem *p, const ComputeUnit *u, const ComputeUnit *v);
/* The order in which columns of the first product lie, so that they do: of their instructions, of
 * a turn.  False: there is none.  */
bool chain_units_order(const ComputeUnit *u, const ComputeUnit *v, FragOrder *out);
FragOrder chain_order(const Device *dev, const RProg *r);
void chain_candidates(Keeper *k);
/* May results of the second product pass through shared memory?  */
bool chain_passes(const Problem *p);
/* All rules but those of the grid.  */
const char *chain_check(const Problem *p, const Device *dev, const RProg *r);
/* chain_groups.c, of units of warpgroups: may they compute the products; the first broken rule, of
 * one of the products; registers of a thread that computes.  */
bool chain_groups_fit(const Problem *p, const ComputeUnit *u, const ComputeUnit *v);
/* Can boxes bring columns of the first product in this order?  */
bool chain_groups_bring(const Problem *p, const FragOrder *order);
const char *chain_groups_check(const Problem *p, const Device *dev, const RProg *r);
const char *chain_groups_product(const Problem *p, const Device *dev, const RProg *r,
                                 bool streams);
/* ... of a block that stays for several tiles.  */
const char *chain_check_stays(const Problem *p, const Device *dev, const RProg *r);
int64_t chain_computing(const Problem *p, const Device *dev, const RProg *r);
int64_t chain_registers(const Problem *p, const Device *dev, const RProg *r);
/* `late`: fragments of two slices do not fit beside all else.  */
void chain_derive_late(const Problem *p, const Device *dev, RProg *r);
#endif
