#include "driver/handle/arguments.h"

#include <inttypes.h>
#include <stdio.h>

enum { DLPACK_CPU = 1, DLPACK_CUDA = 2, DLPACK_MANAGED = 13 };

uint8_t arguments_code(TeDtype t) {
    switch (t) {
    case TE_BF16: return 4;
    case TE_BOOL: return 6;
    case TE_F8E4M3: case TE_F8UE4M3: return 10;   /* the codes are the same where the sign is 0 */
    case TE_F8E5M2: return 12;
    case TE_F8UE8M0: return 14;
    case TE_F6E3M2: case TE_F6E2M3: case TE_F4E2M1X2:     /* bytes, whatever they hold */
    case TE_U8: return 1;
    case TE_I64: case TE_I32: case TE_I16: case TE_I8: return 0;
    default: return 2;
    }
}

void *arguments_data(const RollerTensor *t) { return (char *)t->data + t->byte_offset; }

const RollerTensor *arguments_at(const Arguments *x, int tensor) {
    return tensor < x->te->n_in ? &x->in[tensor] : &x->out[tensor - x->te->n_in];
}

/* Where the value of a size was found.  */
typedef struct {
    int tensor, dimension;
    bool known;
} Source;

typedef struct {
    const Arguments *x;
    ArgumentReport *out;
    int n;                    /* tensors that are there: inputs, or outputs as well */
    Source source[TE_MAX_SIZES];
} Check;

static Status place(Check *c, const TeTensor *t, const RollerTensor *given) {
    bool on_host = t->role == TE_VALUE || c->x->device == ARGUMENTS_ON_HOST;
    int type = given->device.type;
    if (c->x->device == ARGUMENTS_ANYWHERE) return ST_OK;
    if (on_host ? type == DLPACK_CPU
                : type == DLPACK_MANAGED ||
                      (type == DLPACK_CUDA && given->device.id == c->x->device))
        return ST_OK;
    snprintf(c->out->why, sizeof c->out->why,
             "argument '%s' is on device %d of type %d, not %s", t->name, (int)given->device.id,
             type, on_host ? "in host memory (type 1)" : "on the kernel's (type 2)");
    return ST_ARGS;
}

/* What PyTorch calls float4_e2m1fn_x2.  */
static bool is_pair(const RollerTensor *given) {
    return given->dtype.code == 17 && given->dtype.bits == 4 && given->dtype.lanes == 2;
}

static bool is_dtype(const RollerTensor *given, TeDtype t) {
    if (t == TE_F4E2M1X2 && is_pair(given)) return true;
    return given->dtype.code == arguments_code(t) && given->dtype.bits == 8 * te_dtype_bytes(t) &&
           given->dtype.lanes <= 1;
}

static Status dtype(Check *c, const TeTensor *t, const RollerTensor *given) {
    if (is_dtype(given, t->dtype)) return ST_OK;
    for (int k = 0; k < TE_DTYPE_COUNT; k++) {
        if (!is_dtype(given, (TeDtype)k)) continue;
        snprintf(c->out->why, sizeof c->out->why, "argument '%s' is %s, not %s", t->name,
                 te_dtype_name((TeDtype)k), te_dtype_name(t->dtype));
        return ST_DTYPE;
    }
    snprintf(c->out->why, sizeof c->out->why,
             "argument '%s' has dtype code %d of %d bits and %d lanes; '%s' is code %d of %d",
             t->name, given->dtype.code, given->dtype.bits, given->dtype.lanes,
             te_dtype_name(t->dtype), arguments_code(t->dtype), 8 * te_dtype_bytes(t->dtype));
    return ST_DTYPE;
}

static Status rank(Check *c, const TeTensor *t, const RollerTensor *given) {
    if (given->ndim == t->rank && (t->rank == 0 || given->shape)) return ST_OK;
    snprintf(c->out->why, sizeof c->out->why, "argument '%s' has rank %d, not %d", t->name,
             (int)given->ndim, t->rank);
    return ST_RANK;
}

static Status shape(Check *c, const TeTensor *t, const RollerTensor *given) {
    for (int i = 0; i < t->rank; i++) {
        int64_t want = te_extent_eval(c->x->te, &t->shape[i], c->out->size);
        if (given->shape[i] == want) continue;
        snprintf(c->out->why, sizeof c->out->why,
                 "dimension %d of argument '%s' is %" PRId64 ", not %" PRId64, i, t->name,
                 given->shape[i], want);
        return ST_SIZE;
    }
    return ST_OK;
}

/* Those of a tensor without elements mean nothing.  */
static Status strides(Check *c, const TeTensor *t, const RollerTensor *given) {
    for (int i = 0; i < given->ndim; i++)
        if (given->shape[i] == 0) return ST_OK;
    int64_t dense = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        int64_t want = te_extent_eval(c->x->te, &t->stride[i], c->out->size);
        int64_t has = given->strides ? given->strides[i] : dense;
        dense *= given->shape[i];
        if (given->shape[i] <= 1 || has == want) continue;
        snprintf(c->out->why, sizeof c->out->why,
                 "dimension %d of argument '%s' has stride %" PRId64 ", not %" PRId64, i, t->name,
                 has, want);
        snprintf(c->out->hint, sizeof c->out->hint,
                 "roller_op_for makes the op for these strides: compile that; or copy the tensor");
        return ST_STRIDE;
    }
    return ST_OK;
}

static bool has_elements(const RollerTensor *t) {
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] == 0) return false;
    return true;
}

static Status alignment(Check *c, const TeTensor *t, const RollerTensor *given) {
    if (!c->x->align || t->role == TE_VALUE || !has_elements(given) ||
        (uintptr_t)arguments_data(given) % (uintptr_t)c->x->align == 0)
        return ST_OK;
    snprintf(c->out->why, sizeof c->out->why, "argument '%s' is not aligned to %d bytes", t->name,
             c->x->align);
    snprintf(c->out->hint, sizeof c->out->hint,
             "compile a kernel with the alignment that roller_op_for tells: `align` of "
             "RollerPlanOptions, --align of roller-gen");
    return ST_ALIGN;
}

static Status pointer(Check *c, const TeTensor *t, const RollerTensor *given) {
    if (given->data || !has_elements(given)) return ST_OK;
    snprintf(c->out->why, sizeof c->out->why, "argument '%s' has no data", t->name);
    return ST_NULLPTR;
}

typedef Status (*Rule)(Check *c, const TeTensor *t, const RollerTensor *given);

static Status every(Check *c, Rule rule) {
    const Te *te = c->x->te;
    Status s = ST_OK;
    for (int i = 0; i < c->n && !s; i++)
        s = rule(c, &te->tensor[i], arguments_at(c->x, i));
    return s;
}

/* ---- sizes ---- */
/* A run-time size is what stands where the declaration has it alone.  */
static void read_size(const Te *te, const TeExtent *e, int64_t given, Source from, int64_t *size,
                      Source *source) {
    if (!e->expr || e->expr->kind != TE_SIZE || source[e->expr->v.ref].known) return;
    if (te->size[e->expr->v.ref].kind != TE_SIZE_RUNTIME) return;
    size[e->expr->v.ref] = given;
    source[e->expr->v.ref] = from;
}

/* What a kernel was made for its sizes must keep.  */
static Status promise(Check *c, int size, Source from) {
    const TeSize *s = &c->x->te->size[size];
    int64_t v = c->out->size[size], q = s->extent.multiple;
    bool inside = v >= s->lo && v <= s->hi;
    if (inside && v % q == 0) return ST_OK;
    char what[64], where[96] = "";
    if (inside) snprintf(what, sizeof what, "a multiple of %" PRId64, q);
    else snprintf(what, sizeof what, "in %" PRId64 "..%" PRId64, s->lo, s->hi);
    if (from.known)
        snprintf(where, sizeof where, " (dimension %d of argument '%.48s')", from.dimension,
                 c->x->te->tensor[from.tensor].name);
    snprintf(c->out->why, sizeof c->out->why, "%.48s = %" PRId64 " is not %s%s", s->name, v, what,
             where);
    if (inside)
        snprintf(c->out->hint, sizeof c->out->hint,
                 "the kernel relies on the %% %" PRId64 " of this param: pad the tensors, or "
                 "compile one without it", q);
    else
        snprintf(c->out->hint, sizeof c->out->hint,
                 "the kernel relies on the range of this param: compile one for a wider range");
    return ST_SIZE;
}

static Status sizes(Check *c) {
    const Te *te = c->x->te;
    Source *source = c->source;
    for (int i = 0; i < te->n_size; i++) c->out->size[i] = te->size[i].extent.value;
    for (int t = 0; t < c->n; t++) {
        const RollerTensor *given = arguments_at(c->x, t);
        const TeTensor *own = &te->tensor[t];
        for (int i = 0; i < own->rank; i++)
            read_size(te, &own->shape[i], given->shape[i], (Source){t, i, true}, c->out->size,
                      source);
    }
    for (int t = 0; t < c->n; t++) {
        const RollerTensor *given = arguments_at(c->x, t);
        const TeTensor *own = &te->tensor[t];
        for (int i = 0; given->strides && i < own->rank; i++)
            if (given->shape[i] > 1)
                read_size(te, &own->stride[i], given->strides[i], (Source){t, i, true},
                          c->out->size, source);
    }
    Status s = ST_OK;
    for (int i = 0; i < te->n_size && !s; i++) {
        if (te->size[i].kind == TE_SIZE_RUNTIME && te->size[i].used) s = promise(c, i, source[i]);
    }
    return s ? s : every(c, shape);
}

static Status begin(Check *c) {
    const Te *te = c->x->te;
    ArgumentReport *out = c->out;
    out->empty = true;
    out->why[0] = out->hint[0] = 0;
    if (c->x->n_in == te->n_in && c->x->n_out == te->n_out) return ST_OK;
    snprintf(out->why, sizeof out->why, "%d inputs and %d outputs, not %d and %d", te->n_in,
             te->n_out, c->x->n_in, c->x->n_out);
    return ST_ARGS;
}

Status arguments_check(const Arguments *x, ArgumentReport *out) {
    const Te *te = x->te;
    Check c = {.x = x, .out = out, .n = te->n_in + te->n_out};
    Status s = begin(&c);
    if (!s) s = every(&c, place);
    if (!s) s = every(&c, dtype);
    if (!s) s = every(&c, rank);
    if (!s) s = sizes(&c);
    if (!s && !x->any_strides) s = every(&c, strides);
    if (!s && !x->shapes_only) s = every(&c, alignment);
    if (!s && !x->shapes_only) s = every(&c, pointer);
    for (int i = 0; i < te->n_out && !s; i++) out->empty &= !has_elements(&x->out[i]);
    return s;
}

/* ---- what the inputs tell of the outputs ---- */
/* A size that no input has, so that some output must.  */
static Status every_size_told(Check *c) {
    const Te *te = c->x->te;
    for (int i = 0; i < te->n_size; i++) {
        if (te->size[i].kind != TE_SIZE_RUNTIME || !te->size[i].used || c->source[i].known)
            continue;
        snprintf(c->out->why, sizeof c->out->why, "no input tells the size '%.64s'",
                 te->size[i].name);
        snprintf(c->out->hint, sizeof c->out->hint, "give the outputs: their shapes tell it");
        return ST_SIZE;
    }
    return ST_OK;
}

Status arguments_infer(const Arguments *x, RollerTensor *out, ArgumentReport *report) {
    const Te *te = x->te;
    Check c = {.x = x, .out = report, .n = te->n_in};
    Status s = begin(&c);
    if (!s) s = every(&c, dtype);
    if (!s) s = every(&c, rank);
    if (!s) s = sizes(&c);
    if (!s) s = every_size_told(&c);
    for (int i = 0; i < te->n_out && !s; i++) {
        const TeTensor *t = &te->tensor[te->n_in + i];
        out[i].ndim = t->rank;
        out[i].dtype.code = arguments_code(t->dtype);
        out[i].dtype.bits = (uint8_t)(8 * te_dtype_bytes(t->dtype));
        out[i].dtype.lanes = 1;
        for (int d = 0; d < t->rank; d++)
            out[i].shape[d] = te_extent_eval(te, &t->shape[d], report->size);
    }
    return s;
}
