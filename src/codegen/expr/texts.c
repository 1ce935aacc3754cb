#include "codegen/expr/texts.h"

static const char *const name[IR_BASE_COUNT] = {
#define X(id, cuda, opencl, middle, bytes, sign) [IR_##id] = cuda,
    IR_BASES(X)
#undef X
};

const char *cg_storage(TeDtype t) { return name[ir_storage(t)]; }

Ir text_index(const Cg *c, const char *text, bool wide) {
    return ir_text(c, ir_type(wide ? IR_I64 : IR_I32), text);
}
Ir text_value(const Cg *c, TeDtype compute, const char *text) {
    return ir_text(c, ir_type(ir_compute(compute)), text);
}
static Ir stored(const Cg *c, TeDtype storage, const char *text) {
    return ir_text(c, ir_type(ir_storage(storage)), text);
}

const char *text_decode(const Cg *c, TeDtype storage, const char *element) {
    return ir_string(c, cg_decode(c, storage, stored(c, storage, element)));
}
const char *text_wait(const Cg *c, TeDtype storage, bool pairs, TeDtype from, const char *value) {
    return ir_string(c, cg_wait(c, storage, pairs, from, text_value(c, from, value)));
}
const char *text_waiting(TeDtype storage, bool pairs) { return name[cg_waiting(storage, pairs)]; }
const char *text_int(const Cg *c, TeDtype type, int64_t v) {
    return ir_string(c, cg_int(c, type, v));
}
const char *text_expr(const CgPoint *p, const TeExpr *e, TeDtype to) {
    return ir_string(p->cg, cg_expr(p, e, to));
}
const char *text_extent(const Cg *c, const TeExtent *e) { return ir_string(c, cg_extent(c, e)); }
const char *text_offset(const Cg *c, int tensor, const char *const *sub) {
    Ir x[TE_MAX_RANK] = {0};
    for (int d = 0; d < te_own_rank(&c->te->tensor[tensor]); d++)
        x[d] = sub[d] ? text_index(c, sub[d], false) : NULL;
    return ir_string_sum(c, cg_offset(c, tensor, x));
}
const char *text_tested(const CgPoint *p, const TeExpr *read, int d, int64_t *by) {
    return ir_string(p->cg, cg_tested(p, read, d, by));
}
const char *text_pointer(const Cg *c, int tensor, const char *offset, const int64_t *by) {
    return ir_string_sum(
        c, cg_pointer(c, tensor, text_index(c, offset, cg_tensor_wide(c, tensor)), by));
}
