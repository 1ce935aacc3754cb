#include "codegen/block/block.h"
#include "codegen/block/product.h"

Ir product_int(const Cg *cg, const char *name) { return ir_name(cg, ir_type(IR_I32), name); }

const char *product_name(const Cg *cg, const Side *s, const char *name) {
    return arena_printf(cg->arena, "%c_%s", s->id, name);
}

Ir product_own(const Cg *cg, const Side *s, const char *name) {
    return product_int(cg, product_name(cg, s, name));
}

const char *product_constant_name(const Cg *cg, const Side *s, const char *name) {
    return arena_printf(cg->arena, "%c_%s", "AB"[s->side], name);
}

Ir product_constant(const Cg *cg, const Side *s, const char *name) {
    return product_int(cg, product_constant_name(cg, s, name));
}

const char *product_size_name(const Cg *cg, char letter, AxisClass axis) {
    return arena_printf(cg->arena, "%c%c", letter, "BMNK"[axis]);
}

Ir product_size(const Cg *cg, char letter, AxisClass axis) {
    return product_int(cg, product_size_name(cg, letter, axis));
}

Ir product_smem(const Cg *cg) { return ir_name(cg, ir_pointer(IR_U8, IR_SHARED, false), "smem"); }

Ir product_place(const Cg *cg, const Side *s) { return product_int(cg, s->side ? "col" : "row"); }

Ir product_first(const Kernel *k, AxisClass axis) {
    return ir_name(k->cg, ir_type(place_along_base(k, axis)), axis == AX_M ? "m0" : "n0");
}

Ir product_extent(const Kernel *k, AxisClass axis) {
    static const char *const name[] = {[AX_B] = "B", [AX_M] = "M", [AX_N] = "N", [AX_K] = "K"};
    return ir_name(k->cg, ir_type(place_base(k->l->p->extent[axis] > INT32_MAX)), name[axis]);
}

Ir product_k_next(const Kernel *k) {
    bool wide = place_wide(k->l->p->extent[AX_K], 2 * (int64_t)k->l->r->block.extent[AX_K]);
    return ir_name(k->cg, ir_type(place_base(wide)), "k_next");
}
