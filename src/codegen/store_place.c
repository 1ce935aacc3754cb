#include "codegen/sizes.h"
#include "codegen/blocks.h"
#include <string.h>

/* Where the outputs of a thread of `contract` lie: pointers to the first ones, and what its loops
 * add.  A position along M or N is `own` of the thread plus `step` of the loops, which is a number
 * once they are unrolled: a compiler that is given sums of both spends most of its time on taking
 * them apart again, and finds less.  */

/* Index of statement `stmt` that runs with the root's index; -1: none.  */
static int index_with(const Kernel *k, int stmt, int root_index) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    for (int j = 0; j < s->n_left; j++)
        if (elements_root_index(k, stmt, j) == root_index) return j;
    return -1;
}

static bool is_one(const TeExtent *e) { return !e->expr && e->value == 1; }

/* Does the statement run with all indices of an axis?  */
static bool runs_along(const Kernel *k, int stmt, AxisClass axis) {
    const FusedAxis *f = &k->l->p->con.axis[axis];
    for (int i = 0; i < f->n; i++) {
        bool one = is_one(&k->c.root->index[f->index[i]].hi);
        if (!one && index_with(k, stmt, f->index[i]) < 0) return false;
    }
    return true;
}

/* Is the offset of a write a multiple of the position along an axis, also where that is a number of
 * several digits?  `stride`: of which; NULL: the axis is one element.  */
static bool is_linear(const Kernel *k, int stmt, const Access *x, AxisClass axis,
                      const char **stride) {
    const FusedAxis *f = &k->l->p->con.axis[axis];
    int64_t below = 1;
    int inner = -1;
    *stride = NULL;
    for (int i = f->n - 1; i >= 0; i--) {
        const TeExtent *e = &k->c.root->index[f->index[i]].hi;
        if (is_one(e)) continue;
        int j = index_with(k, stmt, f->index[i]);
        bool fixed = !e->expr && !(x->varies >> j & 1);
        if (inner >= 0 && (!fixed || below == 0 ||
                           x->offset.coef[j] != x->offset.coef[inner] * below))
            return false;
        if (inner < 0) {
            inner = j;
            *stride = size_stride(k->cg, x, j);
        }
        below = fixed ? below * e->value : 0;
    }
    return true;
}

/* sum + value * stride.  */
static const char *add(const Kernel *k, int tensor, const char *sum, const char *value,
                       const char *stride) {
    const Cg *cg = k->cg;
    if (!value || !stride) return sum;
    const char *cast = cg_tensor_wide(cg, tensor) ? "(long long)" : "";
    const char *term = strchr(value, ' ') ? cg_text(cg, "%s(%s)", cast, value)
                                          : cg_text(cg, "%s%s", cast, value);
    if (strcmp(stride, "1") != 0) term = cg_text(cg, "%s * %s", term, stride);
    return sum ? cg_text(cg, "%s + %s", sum, term) : term;
}

/* sum + the part of an axis by its indices.  */
static const char *add_digits(const Kernel *k, int stmt, const Access *x, AxisClass axis,
                              const char *sum) {
    const FusedAxis *f = &k->l->p->con.axis[axis];
    for (int i = 0; i < f->n; i++) {
        if (is_one(&k->c.root->index[f->index[i]].hi)) continue;
        int j = index_with(k, stmt, f->index[i]);
        sum = add(k, x->tensor, sum, k->at.index[f->index[i]], size_stride(k->cg, x, j));
    }
    return sum;
}

/* Has the tensor pointers of the thread: one, or one for each column if N has several digits?  */
static bool has_pointers(const Kernel *k, int stmt, const Access *x, bool *by_column) {
    const char *stride;
    if (!k->at.own[0] || !x->affine || x->offset.c != 0 || x->c_varies) return false;
    for (int axis = AX_B; axis <= AX_N; axis++)
        if (!runs_along(k, stmt, (AxisClass)axis)) return false;
    *by_column = !is_linear(k, stmt, x, AX_N, &stride);
    return is_linear(k, stmt, x, AX_M, &stride) && !(*by_column && k->c.matrix.used);
}

static const char *type_along(const Kernel *k, AxisClass axis) {
    return place_type(place_wide(k->c.p->extent[axis], k->c.r->block.extent[axis]));
}

void store_position(Kernel *k, AxisClass axis, const char *own, const char *step) {
    const char *name = axis == AX_M ? "m" : "n";
    cg_line(k->cg, "const %s %s_at = %s;", type_along(k, axis), name, own);
    k->at.own[axis == AX_N] = cg_text(k->cg, "%s_at", name);
    k->at.step[axis == AX_N] = step;
}

const char *store_at(const Kernel *k, AxisClass axis) {
    const char *step = k->at.step[axis == AX_N], *own = k->at.own[axis == AX_N];
    return step ? cg_text(k->cg, "%s + (%s)", own, step) : own;
}

static const char *over_vec(const Kernel *k) {
    return k->at.vec > 1 ? cg_text(k->cg, " / %d", k->at.vec) : "";
}

/* From the start of a tensor to the thread's first element, or to that of the column whose indices
 * are known.  */
static const char *first_offset(const Kernel *k, int stmt, const Access *x, bool by_column) {
    const char *stride, *sum = add_digits(k, stmt, x, AX_B, NULL);
    is_linear(k, stmt, x, AX_M, &stride);
    sum = add(k, x->tensor, sum, k->at.own[0], stride);
    if (by_column) {
        sum = add_digits(k, stmt, x, AX_N, sum);
    } else {
        is_linear(k, stmt, x, AX_N, &stride);
        sum = add(k, x->tensor, sum, k->at.own[1], stride);
    }
    return sum ? sum : "0";
}

/* Prints the pointers of all tensors that have one, or those by column: their arrays, or what is in
 * them for column j.  Returns how many.  */
static int print_pointers(Kernel *k, bool by_column, bool arrays) {
    Cg *cg = k->cg;
    const KernelGroup *g = k->l->p->group;
    int n = 0;
    for (int i = 0; i <= g->n_fused; i++) {
        int stmt = i ? g->fused[i - 1] : g->root, t = cg->te->stmt[stmt].tensor;
        bool columns;
        Access x;
        if (!elements_in_memory(k, t)) continue;
        access_write(cg->te, &cg->te->stmt[stmt], &x);
        if (!has_pointers(k, stmt, &x, &columns) || columns != by_column) continue;
        const char *type = cg_storage(cg->te->tensor[t].dtype);
        n++;
        if (arrays) {
            cg_line(cg, "%s *p%d[TN%s];", type, t, over_vec(k));
            continue;
        }
        const char *offset = first_offset(k, stmt, &x, by_column);
        if (by_column) cg_line(cg, "p%d[j%s] = t%d + (%s);", t, over_vec(k), t, offset);
        else cg_line(cg, "%s *const p%d = t%d + (%s);", type, t, t, offset);
    }
    return n;
}

void store_pointers(Kernel *k) {
    Cg *cg = k->cg;
    const FusedAxis *n = &k->l->p->con.axis[AX_N];
    print_pointers(k, false, false);
    if (print_pointers(k, true, true) == 0) return;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int j = 0; j < TN; j += %d)", k->at.vec);
    cg_line(cg, "const %s n = %s;", type_along(k, AX_N), store_at(k, AX_N));
    place_decode(cg, k->c.root, n, "n", place_wide(n->extent, 0), k->at.index, k->at.wide);
    print_pointers(k, true, false);
    cg_close(cg);
}

const char *store_place(const Kernel *k, int stmt, const Access *x, const char **offset) {
    const Cg *cg = k->cg;
    int t = x->tensor;
    bool by_column;
    if (!has_pointers(k, stmt, x, &by_column)) {
        CgPoint first = elements_point(k, stmt, true);
        *offset = cg_offset(cg, t, first.index);
        return cg_tensor(cg, t);
    }
    const char *stride, *sum;
    is_linear(k, stmt, x, AX_M, &stride);
    sum = add(k, t, NULL, k->at.step[0], stride);
    if (!by_column) {
        is_linear(k, stmt, x, AX_N, &stride);
        sum = add(k, t, sum, k->at.step[1], stride);
    }
    *offset = sum ? sum : "0";
    return by_column ? cg_text(cg, "p%d[j%s]", t, over_vec(k)) : cg_text(cg, "p%d", t);
}
