/* Which operands get tables of addresses.  */
#include "rprogram/contract.h"

void rprog_choose_tables(const Problem *p, const Device *dev, const BlockBytes *b,
                         const bool may[2], RProg *r) {
    for (int side = 0; side < p->n_operand; side++) {
        int blocks = r->blocks_per_sm;
        bool needed = rprog_keeps_places(p, dev, r, side);
        if (!may[side] || (r->late && !needed)) continue;
        r->load[side].table = true;
        contract_derive_smem(p, dev, b, r);
        if (r->blocks_per_sm == blocks || (needed && r->blocks_per_sm > 0)) continue;
        r->load[side].table = false;
        contract_derive_smem(p, dev, b, r);
    }
}
