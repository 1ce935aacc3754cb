/* Operands whose rows begin anywhere, as boxes of rows whose numbers are equal modulo a number.  */
#include "rprogram/internal.h"
#include "rprogram/matrix.h"

/* Is what moves the operand beside k and its own axis a multiple of 16 bytes?  */
static bool others_aligned(const Problem *p, const Access *x, const RBox *box) {
    RBox others = {.rank = box->rank - 1};
    for (int i = 1; i < others.rank; i++) others.dim[i] = box->dim[i + 1];
    return rprog_box_aligned(p, x, &others);
}

/* Of static sizes: by how much the beginnings of rows are rounded down is a part of the maps.  */
static bool may_be_boxes(const Problem *p, const Operand *o, const ROperand *op) {
    const Access *x = &o->access;
    if (!p->te || !rprog_static(p) || !op->affine || !o->read || x->varies || x->c_varies)
        return false;
    return !access_guarded(p->te, x) && op->stride_k == 1 && p->align % RTILE_ACCESS == 0;
}

int rprog_box_modulo(const Problem *p, int side, RBox *out) {
    const Operand *o = &p->con.operand[side];
    const Access *x = &o->access;
    enum { INNER, OWN, BOTH };
    *out = (RBox){.span = BOX_SPAN, .inner = AX_K, .own = OWN};
    if (!may_be_boxes(p, o, &p->op[side]) || !rprog_box_dims(p, x, AX_K, out) ||
        !rprog_box_dims(p, x, (AxisClass)own_axis(side), out) || out->rank != BOTH)
        return 0;
    const RBoxDim *k = &out->dim[INNER], *rows = &out->dim[OWN];
    int64_t apart = rows->stride * te_dtype_bytes(p->te->tensor[x->tensor].dtype);
    int64_t n = RTILE_ACCESS / gcd64(apart, RTILE_ACCESS);
    if (k->n == 0 || k->stride != 1 || rows->n == 0 || n < 2 || rows->extent < n) return 0;
    return rprog_box_dims(p, x, AX_B, out) && others_aligned(p, x, out) ? (int)n : 0;
}
