/* The head of an op: tensors in memory, scalars, strides.  */
#include "te/front/front.h"
#include <math.h>

static const int64_t byte_limit = (int64_t)1 << 62;

static bool extent_arg(Op *op, const Ast *a, const char *what, TeExtent *out) {
    const Poly *p = NULL;
    return size_extent(op->f, a, out, &p) && size_not_negative(op->f, a->pos, what, out, p);
}

static int count(const Ast *a) {
    int n = 0;
    for (; a; a = a->next) n++;
    return n;
}

static bool shape(Op *op, const AstArg *arg, TeTensor *t) {
    t->rank = 0;
    for (const Ast *a = arg->shape; a; a = a->next) {
        if (!extent_arg(op, a, "extent", &t->shape[t->rank++])) return false;
    }
    if (!arg->strided) return true;
    int n = count(arg->stride);
    if (n != t->rank)
        return complain(op->f, "rank", arg->pos, "'%s' has %d dimension%s, %d stride%s given",
                        t->name, t->rank, t->rank == 1 ? "" : "s", n, n == 1 ? "" : "s");
    t->strided = true;
    n = 0;
    for (const Ast *a = arg->stride; a; a = a->next) {
        if (!extent_arg(op, a, "stride", &t->stride[n++])) return false;
    }
    return true;
}

/* Bytes from the first element to the last, all sizes at their largest; saturating.  */
static int64_t bytes(const TeTensor *t, double *rough) {
    int64_t last = 0;
    *rough = 1;
    for (int d = 0; d < t->rank; d++) {
        if (t->shape[d].value == 0) return 0;
        last = end_add(last, end_mul(t->shape[d].value - 1, t->stride[d].value));
        *rough += (double)(t->shape[d].value - 1) * (double)t->stride[d].value;
    }
    *rough *= te_dtype_bytes(t->dtype);
    return end_mul(end_add(last, 1), te_dtype_bytes(t->dtype));
}

static bool bytes_check(Op *op, const TeTensor *t) {
    double rough;
    int exponent;
    if (bytes(t, &rough) < byte_limit) return true;
    bool power = frexp(rough, &exponent) == 0.5;
    return complain(op->f, "size", t->pos, "'%s' has %s2^%d bytes, the limit is 2^62", t->name,
                    power ? "" : "more than ", exponent - 1);
}

/* Dense row-major.  A stride that passes 2^63 belongs to a tensor that is empty or far too
 * large.  */
static void dense(Op *op, TeTensor *t) {
    Polys *ps = &op->f->polys;
    const Poly *p = poly_const(ps, 1);
    for (int d = t->rank - 1; d >= 0; d--) {
        if (!extent_of(op->f, p, &t->stride[d]))
            t->stride[d] = (TeExtent){.value = INT64_MAX, .min = 0, .multiple = 1};
        extent_clamp(&t->stride[d]);
        p = poly_mul(ps, p, extent_poly(op, &t->shape[d]));
    }
}

/* Sorted by stride, each must step over all that the smaller ones span.  */
static bool distinct(Op *op, const TeTensor *t) {
    Polys *ps = &op->f->polys;
    int order[TE_MAX_RANK], n = 0;
    for (int d = 0; d < t->rank; d++) {
        int at = n++;
        if (t->shape[d].value == 0) return true;
        if (t->shape[d].value == 1) {
            n--;
            continue;
        }
        for (; at > 0; at--) {
            const TeExtent *x = &t->stride[order[at - 1]], *y = &t->stride[d];
            if (x->value < y->value || (x->value == y->value && x->min <= y->min)) break;
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
    const Poly *one = poly_const(ps, 1), *span = one;
    for (int i = 0; i < n; i++) {
        const Poly *stride = extent_poly(op, &t->stride[order[i]]);
        if (!poly_le(ps, span, stride)) return false;
        const Poly *last = poly_add(ps, extent_poly(op, &t->shape[order[i]]), one, -1);
        span = poly_add(ps, span, poly_mul(ps, last, stride), 1);
    }
    return true;
}

bool tensor_measure(Op *op, int i) {
    TeTensor *t = &op->te->tensor[i];
    if (!t->strided) dense(op, t);
    if (!bytes_check(op, t)) return false;
    for (int d = 0; d < t->rank; d++) {
        if (t->stride[d].value == INT64_MAX)
            return complain(op->f, "size", t->pos, "a stride of '%s' passes 2^63", t->name);
    }
    if (t->strided && t->role == TE_OUTPUT && !distinct(op, t))
        return complain(op->f, "size", t->pos, "cannot prove that no two elements of '%s' coincide",
                        t->name);
    return true;
}

static bool is_even(const TeExtent *e) { return te_extent_divisor(e) % 2 == 0; }

/* Packed elements (packed.c): rows are of whole bytes.  */
static bool packed_check(Op *op, int tensor) {
    const TeTensor *t = &op->te->tensor[tensor];
    int last = t->rank - 1;
    if (t->dtype != TE_F4E2M1) return true;
    bool even = last >= 0 && is_even(&t->shape[last]);
    for (int d = 0; d < last; d++) even = even && is_even(&t->stride[d]);
    if (even && !t->stride[last].expr && t->stride[last].value == 1) return true;
    complain(op->f, "type", t->pos, "rows of '%s' are not of whole bytes, two %s each", t->name,
             te_dtype_name(t->dtype));
    hint(op->f, "its last extent must be even, and its last stride 1: pad the rows, or give a "
                "run-time size a divisor, 2..4096 %% 2");
    return false;
}

static bool argument(Op *op, const AstArg *arg, bool output) {
    int i = op->te->n_tensor++;
    TeTensor *t = &op->te->tensor[i];
    t->name = arg->sym->name;
    t->pos = arg->pos;
    t->dtype = arg->dtype;
    t->role = output ? TE_OUTPUT : arg->shaped ? TE_INPUT : TE_VALUE;
    if (!declare(op->f, arg->sym, arg->pos, NAME_TENSOR, i)) {
        arg->sym->bad = op->f->op;
        return false;
    }
    op->tensor[i].assigned = !output;
    if (t->role == TE_VALUE && t->dtype != TE_F64 && t->dtype != TE_F32 && t->dtype != TE_I64 &&
        t->dtype != TE_I32) {
        complain(op->f, "type", arg->pos, "scalar '%s' cannot be %s", t->name,
                 te_dtype_name(t->dtype));
        hint(op->f, "scalars are f64, f32, i64 or i32");
        return false;
    }
    op->tensor[i].bad = !shape(op, arg, t) || !tensor_measure(op, i) || !packed_check(op, i);
    for (int d = 0; d < t->rank; d++) op->tensor[i].known[d] = true;
    return !op->tensor[i].bad;
}

bool args_check(Op *op, const AstItem *item) {
    bool ok = true;
    for (const AstArg *a = item->in; a; a = a->next) ok = argument(op, a, false) && ok;
    op->te->n_in = op->te->n_tensor;
    for (const AstArg *a = item->out; a; a = a->next) ok = argument(op, a, true) && ok;
    op->te->n_out = op->te->n_tensor - op->te->n_in;
    return ok;
}
