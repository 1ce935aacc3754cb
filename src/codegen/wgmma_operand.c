/* How a product of warpgroups names its operands in shared memory.  */
#include "codegen/blocks.h"
#include "codegen/prelude.h"

/* Where the slice at kk begins: boxes of less than a step's row lie one behind the other.  */
const char *wgmma_slice(const Kernel *k, const Side *s) {
    if (!s->inner_k || s->boxes == 1)
        return cg_text(k->cg, "%c_at + kk / TK * %d", s->id, s->on / 16);
    int around = s->span / s->elem;
    return cg_text(k->cg, "%c_at + kk / %d * %d + kk %% %d / %d", s->id, around, s->box_bytes / 16,
                   around, 16 / s->elem);
}

/* What stands behind the product's name: orders of operands of 16 bits, and how they lie where that
 * is not the usual way.  */
const char *wgmma_orders(const Kernel *k, const Side *a, const Side *b) {
    const Cg *cg = k->cg;
    const char *text = "";
    bool two = te_dtype_bytes(k->c.matrix.unit->a) == 2;
    bool usual = (!a || a->span == 128) && b->span == 128;
    if (two && a) text = cg_text(cg, "%d, ", !a->inner_k);
    if (two) text = cg_text(cg, "%s%d", text, !b->inner_k);
    if (usual) return two ? cg_text(cg, "<%s>", text) : "";
    if (two) text = cg_text(cg, "%s, ", text);
    if (a) text = cg_text(cg, "%s0x%x, ", text, prelude_high(a->span));
    return cg_text(cg, "<%s0x%x>", text, prelude_high(b->span));
}
