#include "codegen/elements/elements.h"
#include "te/tree/tree.h"

/* Reads of neighbouring elements, made as vectors before the elements are evaluated.  */

/* Accesses of `width` elements: an array x<n> of them, and its element v.  */
typedef struct {
    Ir array;
    int n, width, count;
} Vectors;

static Vectors declare(Kernel *k, TeDtype dtype, int width, bool zero) {
    Cg *cg = k->cg;
    Vectors x = {.n = k->at.n_vector, .width = width, .count = k->at.vec / width};
    const char *name = ir_numbered(cg, "x", x.n);
    IrType type = ir_vector(ir_storage(dtype), width);
    x.array = zero ? ir_zeros(cg, type, name, x.count) : ir_array(cg, type, name, x.count, 0, 0);
    return x;
}

static Ir access_of_lane(const Kernel *k, const Vectors *x) {
    return ir_div(k->cg, elements_lane(k), ir_int(k->cg, x->width));
}

static Ir element_of(const Kernel *k, const Vectors *x, TeDtype dtype) {
    const Cg *cg = k->cg;
    Ir lane = ir_rem(cg, elements_lane(k), ir_int(cg, x->width));
    return cg_decode(cg, dtype,
                     ir_lane(cg, ir_element(cg, x->array, access_of_lane(k, x)), lane));
}

static void load_vector(Kernel *k, int stmt, const Access *x, int width) {
    Cg *cg = k->cg;
    TeDtype dtype = cg->te->tensor[x->tensor].dtype;
    CgPoint first = elements_point(k, stmt, true);
    int64_t by[TE_MAX_RANK] = {0};
    Ir at = ir_add(cg, cg_tensor(cg, x->tensor), stream_read(k, stmt, x, &first, by));
    Vectors to = declare(k, dtype, width, false);
    Ir p = ir_count(cg, "p", to.count, IR_UNROLL_ALL);
    ir_set(cg, ir_element(cg, to.array, p),
           ir_load(cg, ir_add(cg, at, ir_mul_n(cg, p, width)), width));
    ir_close(cg);
    elements_give(k, stmt, x->read, element_of(k, &to, dtype));
}

/* ---- vectors that may lie outside ---- */

/* The index of statement `stmt` that runs along the elements; -1: none, or they cross its end.  */
static int along(const Kernel *k, int stmt) {
    const Elements *at = &k->at;
    const TeStmt *s = &k->cg->te->stmt[stmt];
    if (at->n_order == 0) return -1;
    if (te_extent_divisor(&kernel_root(k)->index[at->order[0]].hi) % at->vec != 0) return -1;
    for (int j = 0; j < s->n_index; j++) {
        if (elements_root_index(k, stmt, j) == at->order[0]) return j;
    }
    return -1;
}

static bool moves(const Access *x, int d, int index) {
    return x->affine ? x->sub[d].coef[index] != 0 : access_uses(x->read->args[d]) >> index & 1;
}

/* The widest access to rows that data choose.  */
static int gathered_width(const Kernel *k, int stmt, const Access *x) {
    int j = along(k, stmt);
    if (kernel_root(k)->rhs->kind == TE_REDUCE || j < 0) return 1;
    return rtile_gathered_width(k->cg->te, &k->cg->te->stmt[stmt], x, j, k->at.vec, k->cg->align);
}

/* Is each access of `width` elements of a map inside of the tensor or outside, as a whole?  */
static bool whole_accesses(const Kernel *k, int stmt, const Access *x, int width) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    const TeTensor *t = &k->cg->te->tensor[x->tensor];
    const TeExpr *other = x->read->other;
    int j = along(k, stmt);
    if (kernel_root(k)->rhs->kind == TE_REDUCE || j < 0) return false;
    if (other && !te_is_literal(other)) return false;
    for (int d = 0; d < t->rank; d++) {
        if (!x->guard[d] || !moves(x, d, j)) continue;
        if (!x->affine ||
            !rtile_tested_as_one(s, &x->sub[d], j, te_extent_divisor(&t->shape[d]), width))
            return false;
    }
    return true;
}

/* Is access p inside?  */
static Ir access_test(Kernel *k, int stmt, const Access *x, Ir p, int width) {
    Cg *cg = k->cg;
    const TeTensor *t = &cg->te->tensor[x->tensor];
    CgPoint first = elements_point(k, stmt, true);
    Ir test = NULL;
    int j = along(k, stmt);
    for (int d = 0; d < t->rank; d++) {
        if (!x->guard[d]) continue;
        Ir sub = cg_expr(&first, x->read->args[d], TE_I64);
        if (moves(x, d, j)) sub = ir_add(cg, sub, ir_mul_n(cg, p, width));
        test = ir_both(cg, test, ir_binary(cg, IR_GE, sub, ir_int(cg, 0)));
        test = ir_both(cg, test, ir_lt(cg, sub, cg_extent(cg, &t->shape[d])));
    }
    return test;
}

/* Pieces outside are not read: their elements are the else value, or 0.  */
static void load_accesses(Kernel *k, int stmt, const Access *x, int width) {
    Cg *cg = k->cg;
    const TeExpr *other = x->read->other;
    TeDtype dtype = cg->te->tensor[x->tensor].dtype;
    CgPoint first = elements_point(k, stmt, true);
    int64_t by[TE_MAX_RANK] = {0};
    Ir at = cg_pointer(cg, x->tensor, stream_read(k, stmt, x, &first, by), by), inside = NULL;
    Vectors to = declare(k, dtype, width, true);
    bool zeros = !other && te_dtype_zero(dtype);
    if (!zeros)
        inside = ir_array(cg, ir_type(IR_BOOL), ir_numbered(cg, "inside", to.n), to.count, 0, 0);
    Ir p = ir_count(cg, "p", to.count, IR_UNROLL_ALL);
    Ir test = access_test(k, stmt, x, p, width);
    if (!zeros) {
        ir_set(cg, ir_element(cg, inside, p), test);
        test = ir_element(cg, inside, p);
    }
    ir_if(cg, test);
    ir_set(cg, ir_element(cg, to.array, p),
           ir_load(cg, ir_add(cg, at, ir_mul_n(cg, p, width)), width));
    ir_close(cg);
    ir_close(cg);
    Ir value = element_of(k, &to, dtype);
    if (!zeros)
        value = ir_select(cg, ir_element(cg, inside, access_of_lane(k, &to)), value,
                          cg_outside(&first, other, x->read->type));
    elements_give(k, stmt, x->read, value);
}

void elements_load_vectors(Kernel *k, int stmt, const TeExpr *e) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    ReadList reads = access_reads(e);
    for (int i = 0; i < reads.n; i++) {
        bool have = elements_makes(k, reads.at[i]->v.ref) || elements_given(k, stmt, reads.at[i]);
        Access x;
        access_read(k->cg->te, s, reads.at[i], &x);
        if (have) continue;
        int width = x.affine ? elements_width(k, stmt, &x) : gathered_width(k, stmt, &x);
        if (width > 1 && !access_guarded(k->cg->te, &x)) {
            load_vector(k, stmt, &x, width);
            continue;
        }
        while (width > 1 && !whole_accesses(k, stmt, &x, width)) width /= 2;
        if (width > 1) load_accesses(k, stmt, &x, width);
        else if (x.affine) stream_give(k, stmt, &x);
    }
}
