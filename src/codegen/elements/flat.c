#include "codegen/elements/elements.h"
#include "codegen/expr/sizes.h"

#include <stdlib.h>

/* Offsets of accesses where `at` numbers the elements of the domain (Elements.flat).
 *
 * With E extents and q[i] = at / (E[i+1] * E[i+2] * ..), index i is q[i] - q[i-1] * E[i], so an
 * offset sum c[i] * index[i] is sum q[i] * (c[i] - c[i+1] * E[i+1]): where a tensor lies as the
 * domain does nothing is left but `at`, and neighbours that it treats as one index need no
 * division.  */

/* An access's coefficients over the root's indices; false if it has others.  */
static bool coefficients(const Kernel *k, int stmt, const Access *x, int64_t *coef) {
    const KernelGroup *g = k->task->p->group;
    const uint8_t *perm = NULL;
    for (int i = 0; i < g->n_fused && stmt != g->root; i++) {
        if (g->fused[i] == stmt) perm = g->perm[i];
    }
    for (int j = 0; j < k->cg->te->stmt[stmt].n_index; j++) {
        if (x->offset.coef[j] == 0) continue;
        if (j >= kernel_root(k)->n_left) return false;
        coef[perm ? perm[j] : j] += x->offset.coef[j];
    }
    return true;
}

/* The factors of the quotients, if there are fewer of them than indices that move the access, and
 * all are known now.  */
static bool quotients(const Kernel *k, int stmt, const Access *x, int64_t *factor) {
    const TeStmt *root = kernel_root(k);
    int64_t coef[TE_MAX_INDICES] = {0}, behind = 1;
    int moving = 0, divided = 0;
    if (!k->at.flat || !x->affine || x->varies || x->c_varies) return false;
    if (!coefficients(k, stmt, x, coef)) return false;
    for (int i = root->n_left - 1; i >= 0; i--) {
        bool last = i + 1 == root->n_left, one = root->index[i].hi.value == 1;
        if (i > 0 && root->index[i].hi.expr) return false;
        int64_t inner = last ? 0 : coef[i + 1] * root->index[i + 1].hi.value;
        moving += !one && coef[i] != 0;
        if (one) coef[i] = inner;
        factor[i] = coef[i] - inner;
        divided += factor[i] != 0 && behind > 1;
        behind *= root->index[i].hi.value;
    }
    return divided == 0 || divided < moving;
}

/* Whether terms may leave an int, although the offset that they sum up to does not.  */
static bool leaves_int(const TeStmt *root, int64_t total, int64_t c, const int64_t *factor) {
    int64_t most = llabs(c);
    for (int i = root->n_left - 1; i >= 0 && most <= INT32_MAX; i--) {
        int64_t size = llabs(factor[i]);
        if (size > INT32_MAX || total > INT64_MAX / 2 / (size + 1)) return true;
        most += size * total;
        total /= root->index[i].hi.value;
    }
    return most > INT32_MAX;
}

/* A number as a factor or term; where sums wrap, modulo 2^32.  */
static Ir number_of(const Cg *cg, int64_t v, bool wraps) {
    return wraps ? ir_number(cg, IR_U32, (uint32_t)v) : cg_int(cg, TE_I64, v);
}

static Ir offset_of(const Kernel *k, const Access *x, const int64_t *factor, bool narrow) {
    const Cg *cg = k->cg;
    const TeStmt *root = kernel_root(k);
    TeExtent total = index_total(cg->arena, &k->task->map);
    bool wide = place_wide(total.value, k->l->launch.span);
    bool wraps = narrow && leaves_int(root, total.value, x->offset.c, factor);
    IrBase base = !narrow ? IR_I64 : wraps ? IR_U32 : IR_I32;
    Ir sum = x->offset.c ? number_of(cg, x->offset.c, wraps) : NULL;
    int64_t behind = 1;
    for (int i = root->n_left - 1; i >= 0; i--) {
        if (factor[i] != 0) {
            Ir q = ir_div(cg, k->at.line.at, size_divisor(cg, size_number(behind), wide));
            if (behind == 1) q = k->at.line.at;
            q = ir_mul(cg, ir_as(cg, base, q), number_of(cg, factor[i], wraps));
            sum = sum ? ir_add(cg, q, sum) : q;
        }
        behind *= root->index[i].hi.value;
    }
    if (!sum) return ir_int(cg, 0);
    return wraps ? ir_as(cg, IR_I32, sum) : sum;
}

/* Does an access of a map lie as the domain does?  */
static bool stream_is_flat(const Kernel *k, int stmt, const Access *x) {
    const TeStmt *root = kernel_root(k), *s = &k->cg->te->stmt[stmt];
    uint8_t to_root[TE_MAX_INDICES] = {0};
    Access own = *x;
    if (!k->at.flat || root->rhs->kind == TE_REDUCE) return false;
    for (int j = 0; j < s->n_index; j++) to_root[j] = (uint8_t)elements_root_index(k, stmt, j);
    rtile_row_access(to_root, s->n_index, &own);
    return rtile_is_flat(k->cg->te, root, &own);
}

Ir stream_offset(const Kernel *k, int stmt, const Access *x, const Ir *sub) {
    int64_t factor[TE_MAX_INDICES] = {0};
    bool narrow = !cg_tensor_wide(k->cg, x->tensor);
    if (quotients(k, stmt, x, factor)) return offset_of(k, x, factor, narrow);
    if (stream_is_flat(k, stmt, x)) return size_add_offset(k->cg, x, 0, k->at.line.at);
    return cg_offset(k->cg, x->tensor, sub);
}

/* The access without the constants of subscripts that are tested, which it adds to `by`.  */
static Access without_constants(const Cg *cg, const Access *x, int64_t *by) {
    const TeTensor *t = &cg->te->tensor[x->tensor];
    Access own = *x;
    for (int d = 0; d < t->rank; d++) {
        if (!x->guard[d] || (!t->shape[d].expr && t->shape[d].value == 1)) continue;
        by[d] = x->sub[d].c;
        own.sub[d].c = 0;
        if (!t->stride[d].expr) own.offset.c -= by[d] * t->stride[d].value;
    }
    return own;
}

Ir stream_read(const Kernel *k, int stmt, const Access *x, const CgPoint *at, int64_t *by) {
    int64_t factor[TE_MAX_INDICES] = {0};
    Ir sub[TE_MAX_RANK];
    bool apart = quotients(k, stmt, x, factor), flat = stream_is_flat(k, stmt, x);
    if (apart || flat) {
        Access own = without_constants(k->cg, x, by);
        if (apart) return offset_of(k, &own, factor, !cg_apart_wide(k->cg, x->tensor, by));
        return size_add_offset(k->cg, &own, 0, k->at.line.at);
    }
    for (int d = 0; d < k->cg->te->tensor[x->tensor].rank; d++)
        sub[d] = x->guard[d] ? cg_tested(at, x->read, d, &by[d])
                             : cg_expr(at, x->read->args[d], TE_I64);
    return cg_offset_apart(k->cg, x->tensor, sub, by);
}

void stream_give(Kernel *k, int stmt, const Access *x) {
    const TeStmt *root = kernel_root(k);
    const Cg *cg = k->cg;
    const Elements *at = &k->at;
    int64_t factor[TE_MAX_INDICES] = {0}, coef[TE_MAX_INDICES] = {0};
    if (access_guarded(k->cg->te, x) || at->n_order == 0) return;
    if (te_extent_divisor(&root->index[at->order[0]].hi) % at->vec != 0) return;
    if (!quotients(k, stmt, x, factor) || !coefficients(k, stmt, x, coef)) return;
    Ir offset = offset_of(k, x, factor, !cg_tensor_wide(cg, x->tensor));
    if (at->vec > 1 && coef[at->order[0]] != 0)
        offset = ir_add(cg, offset, ir_mul(cg, at->v, cg_int(cg, TE_I64, coef[at->order[0]])));
    Ir element = ir_element(cg, cg_tensor(cg, x->tensor), offset);
    elements_give(k, stmt, x->read, cg_decode(cg, cg->te->tensor[x->tensor].dtype, element));
}

int elements_width(const Kernel *k, int stmt, const Access *x) {
    uint8_t to_root[TE_MAX_INDICES] = {0};
    int n = k->cg->te->stmt[stmt].n_index;
    Access own = *x;
    if (!x->affine) return 1;
    for (int j = 0; j < n; j++) to_root[j] = (uint8_t)elements_root_index(k, stmt, j);
    rtile_row_access(to_root, n, &own);
    Neighbours near = {kernel_root(k), k->at.order, k->at.n_order, k->at.vec,
                       stream_is_flat(k, stmt, x)};
    return rtile_neighbour_width(k->cg->te, &near, &own, k->cg->align);
}
