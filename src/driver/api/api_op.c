/* roller.h: what an op says of itself: its texts, arguments and sizes.  */
#include "driver/handle/arguments.h"
#include "driver/handle/handle.h"
#include "driver/sizes/size_values.h"
#include <string.h>

RollerStatus roller_op_text(const RollerOp *op, RollerOpText what, const char **text,
                            size_t *len) {
    switch (what) {
    case ROLLER_OP_NAME: *text = op->te->name; break;
    case ROLLER_OP_TE: *text = op->text; break;
    case ROLLER_OP_ACCESS: *text = op->access; break;
    default: return ROLLER_USAGE;
    }
    *len = strlen(*text);
    return ROLLER_OK;
}

int roller_op_args(const RollerOp *op) { return op->te->n_in + op->te->n_out; }

static const TeSize *used_param(const Te *te, int i) {
    for (int k = 0; k < te->n_size; k++)
        if (size_is_param(&te->size[k]) && i-- == 0) return &te->size[k];
    return NULL;
}

/* Which of roller_op_size a dimension is; -1: none, or one that is known.  */
static int size_of(const Te *te, const TeExtent *e) {
    bool alone = e->expr && e->expr->kind == TE_SIZE;
    const TeSize *s = alone ? &te->size[e->expr->v.ref] : NULL, *param;
    for (int i = 0; s && s->kind == TE_SIZE_RUNTIME && (param = used_param(te, i)); i++)
        if (param == s) return i;
    return -1;
}

RollerStatus roller_op_arg(const RollerOp *op, int i, RollerArg *out) {
    if (i < 0 || i >= roller_op_args(op)) return ROLLER_USAGE;
    const TeTensor *t = &op->te->tensor[i];
    RollerArg arg = {.name = t->name, .dtype = te_dtype_name(t->dtype), .rank = t->rank};
    arg.role = t->role == TE_VALUE    ? ROLLER_SCALAR
               : t->role == TE_OUTPUT ? ROLLER_OUTPUT
                                      : ROLLER_INPUT;
    arg.code = arguments_code(t->dtype);
    arg.bits = (uint8_t)(8 * te_dtype_bytes(t->dtype));
    for (int k = 0; k < t->rank; k++) {
        arg.shape[k] = t->shape[k].value;
        arg.strides[k] = t->stride[k].value;
        arg.size[k] = size_of(op->te, &t->shape[k]);
    }
    api_report(out, &arg, sizeof arg);
    return ROLLER_OK;
}

RollerStatus roller_op_arg_at(const RollerOp *op, int i, const int64_t *value, RollerArg *out) {
    RollerArg arg = {.struct_size = sizeof arg};
    int64_t size[TE_MAX_SIZES];
    const TeSize *param;
    RollerStatus s = roller_op_arg(op, i, &arg);
    if (s) return s;
    for (int k = 0; k < op->te->n_size; k++) size[k] = op->te->size[k].extent.value;
    for (int k = 0; (param = used_param(op->te, k)); k++) size[param - op->te->size] = value[k];
    const TeTensor *t = &op->te->tensor[i];
    for (int k = 0; k < t->rank; k++) {
        arg.shape[k] = te_extent_eval(op->te, &t->shape[k], size);
        arg.strides[k] = te_extent_eval(op->te, &t->stride[k], size);
    }
    api_report(out, &arg, sizeof arg);
    return ROLLER_OK;
}

int roller_op_sizes(const RollerOp *op) {
    int n = 0;
    while (used_param(op->te, n)) n++;
    return n;
}

RollerStatus roller_op_size(const RollerOp *op, int i, RollerSize *out) {
    const TeSize *s = i < 0 ? NULL : used_param(op->te, i);
    if (!s) return ROLLER_USAGE;
    RollerSize size = {.name = s->name,
                       .value = s->extent.value,
                       .min = s->extent.min,
                       .multiple = s->extent.multiple,
                       .runtime = s->kind == TE_SIZE_RUNTIME};
    api_report(out, &size, sizeof size);
    return ROLLER_OK;
}
