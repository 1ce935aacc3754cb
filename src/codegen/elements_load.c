#include "codegen/blocks.h"

/* Reads of neighbouring elements, made as vectors before the elements are evaluated.  */

static void load_vector(Kernel *k, int stmt, const Access *x, int width) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const TeExpr *read = x->read;
    const TeTensor *t = &cg->te->tensor[read->v.ref];
    CgPoint first = elements_point(k, stmt, true);
    int64_t by[TE_MAX_RANK] = {0};
    const char *offset = stream_read(k, stmt, x, &first, by);
    int n = at->n_vector, accesses = at->vec / width;
    cg_line(cg, "rl_vec<%s, %d> x%d[%d];", cg_storage(t->dtype), width, n, accesses);
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int p = 0; p < %d; p++) x%d[p] = rl_load<%d>(%s + (%s) + p * %d);", accesses,
            n, width, cg_tensor(cg, read->v.ref), offset, width);
    const char *element = cg_text(cg, "x%d[v / %d].v[v %% %d]", n, width, width);
    elements_give(k, stmt, read, cg_decode(cg, t->dtype, element));
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

/* Is each access of `width` elements of a map inside of the tensor or outside, as a whole?  */
static bool whole_accesses(const Kernel *k, int stmt, const Access *x, int width) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    const TeTensor *t = &k->cg->te->tensor[x->tensor];
    const TeExpr *other = x->read->other;
    int j = along(k, stmt);
    bool flat = k->l->kind == KERNEL_STREAM || k->l->kind == KERNEL_WINDOW;
    if (!flat || kernel_root(k)->rhs->kind == TE_REDUCE || j < 0) return false;
    if (other && other->kind != TE_INT && other->kind != TE_REAL && other->kind != TE_BOOLEAN)
        return false;
    for (int d = 0; d < t->rank; d++) {
        if (x->guard[d] &&
            !rtile_tested_as_one(s, &x->sub[d], j, te_extent_divisor(&t->shape[d]), width))
            return false;
    }
    return true;
}

/* Is access p inside?  */
static const char *access_test(Kernel *k, int stmt, const Access *x, int width) {
    Cg *cg = k->cg;
    const TeTensor *t = &cg->te->tensor[x->tensor];
    CgPoint first = elements_point(k, stmt, true);
    const char *test = NULL;
    int j = along(k, stmt);
    for (int d = 0; d < t->rank; d++) {
        if (!x->guard[d]) continue;
        const char *sub = cg_expr(&first, x->read->args[d], TE_I64);
        if (x->sub[d].coef[j]) sub = cg_text(cg, "%s + p * %d", sub, width);
        const char *one = cg_text(cg, "%s >= 0 && %s < %s", sub, sub,
                                  cg_extent(cg, &t->shape[d]));
        test = test ? cg_text(cg, "%s && %s", test, one) : one;
    }
    return test;
}

/* Pieces outside are not read: their elements are the else value, or are not asked for.  */
static void load_accesses(Kernel *k, int stmt, const Access *x, int width) {
    Cg *cg = k->cg;
    const TeExpr *read = x->read;
    const TeTensor *t = &cg->te->tensor[x->tensor];
    CgPoint first = elements_point(k, stmt, true);
    int64_t by[TE_MAX_RANK] = {0};
    const char *offset = stream_read(k, stmt, x, &first, by);
    int n = k->at.n_vector, accesses = k->at.vec / width;
    cg_line(cg, "rl_vec<%s, %d> x%d[%d] = {};", cg_storage(t->dtype), width, n, accesses);
    if (read->other) cg_line(cg, "bool inside%d[%d];", n, accesses);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int p = 0; p < %d; p++)", accesses);
    const char *inside = access_test(k, stmt, x, width);
    if (read->other) {
        cg_line(cg, "inside%d[p] = %s;", n, inside);
        inside = cg_text(cg, "inside%d[p]", n);
    }
    cg_line(cg, "if (%s) x%d[p] = rl_load<%d>(%s + p * %d);", inside, n, width,
            cg_pointer(cg, x->tensor, offset, by), width);
    cg_close(cg);
    const char *value = cg_decode(cg, t->dtype, cg_text(cg, "x%d[v / %d].v[v %% %d]", n, width,
                                                        width));
    if (read->other)
        value = cg_text(cg, "(inside%d[v / %d] ? %s : %s)", n, width, value,
                        cg_expr(&first, read->other, read->type));
    elements_give(k, stmt, read, value);
}

void elements_load_vectors(Kernel *k, int stmt, const TeExpr *e) {
    const TeStmt *s = &k->cg->te->stmt[stmt];
    ReadList reads = access_reads(e);
    for (int i = 0; i < reads.n && k->at.n_vector < MAX_VECTORS; i++) {
        bool have = elements_makes(k, reads.at[i]->v.ref) || elements_given(k, stmt, reads.at[i]);
        Access x;
        access_read(k->cg->te, s, reads.at[i], &x);
        if (have || !x.affine) continue;
        int width = elements_width(k, stmt, &x);
        if (width > 1 && !access_guarded(k->cg->te, &x)) {
            load_vector(k, stmt, &x, width);
            continue;
        }
        while (width > 1 && !whole_accesses(k, stmt, &x, width)) width /= 2;
        if (width > 1) load_accesses(k, stmt, &x, width);
        else stream_give(k, stmt, &x);
    }
}
