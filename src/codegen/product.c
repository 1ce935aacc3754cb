#include "codegen/blocks.h"
#include "codegen/product.h"

Ir product_int(const Cg *cg, const char *name) { return ir_name(cg, ir_type(IR_I32), name); }

const char *product_name(const Cg *cg, const Side *s, const char *name) {
    return arena_printf(cg->arena, "%c_%s", s->id, name);
}

Ir product_own(const Cg *cg, const Side *s, const char *name) {
    return product_int(cg, product_name(cg, s, name));
}

Ir product_constant(const Cg *cg, const Side *s, const char *name) {
    return product_int(cg, arena_printf(cg->arena, "%c_%s", "AB"[s->side], name));
}

Ir product_size(const Cg *cg, char letter, AxisClass axis) {
    return product_int(cg, arena_printf(cg->arena, "%c%c", letter, "BMNK"[axis]));
}

Ir product_place(const Cg *cg, const Side *s) { return product_int(cg, s->side ? "col" : "row"); }

Ir product_first(const Kernel *k, AxisClass axis) {
    return ir_name(k->cg, ir_type(place_along_base(k, axis)), axis == AX_M ? "m0" : "n0");
}
