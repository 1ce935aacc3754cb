#include "codegen/sizes.h"
#include "codegen/blocks.h"

/* Maps, and reductions as loops: any program, extents known at run time included.  */

/* Vectors of the block's elements; where the domain may end in one, those that are whole.  */
static void open_vectors(Kernel *k, TeExtent total, const char *type) {
    Cg *cg = k->cg;
    int vec = k->at.vec;
    int64_t span = k->l->launch.span, rounds = span / k->l->launch.block[0] / vec;
    bool folds = kernel_root(k)->rhs->kind == TE_REDUCE, rest = rprog_stream_rest(k->l->p, k->l->r);
    cg_line(cg, "// elements: %d at a time", vec);
    cg_line(cg, "const %s total = %s;", type, size_text(cg, total));
    cg_line(cg, folds || rounds > 8 ? "#pragma unroll 1" : "#pragma unroll");
    cg_open(cg, "for (int u = 0; u < %lld; u++)", (long long)rounds);
    cg_line(cg, "const %s at = (%s)blockIdx.x * %lld + (u * %d + (int)threadIdx.x) * %d;", type,
            type, (long long)span, k->l->launch.block[0], vec);
    k->at.open = 1;
    if (te_extent_unit(&total) % span == 0) return;
    if (rest) cg_open(cg, "if (at <= total - %d)", vec);
    else cg_open(cg, "if (at < total)");
    k->at.open++;
}

/* Fewer elements than a vector has: a thread for each, of the block whose vector they would be.  */
static void open_rest(Kernel *k, bool wide, const char *type) {
    Cg *cg = k->cg;
    cg_line(cg, "// rest: less than %d elements", k->l->vec);
    cg_scope(cg);
    cg_line(cg, "const %s at = (total & %d) + (int)threadIdx.x;", type, -k->l->vec);
    cg_open(cg, "if (at < total && at / %lld%s == blockIdx.x)", (long long)k->l->launch.span,
            wide ? "ull" : "u");
    k->at.open = 2;
}

void stream_elements(Kernel *k, bool rest) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    const TeStmt *s = kernel_root(k);
    TeExtent total = size_indices(cg->arena, s, 0, s->n_left);
    bool wide = place_wide(total.value, k->l->launch.span);
    at->vec = rest ? 1 : k->l->vec;
    at->n_order = at->n_vector = 0;
    for (int i = s->n_left - 1; i >= 0; i--) {
        if (s->index[i].hi.value != 1) at->order[at->n_order++] = i;
    }
    if (rest) open_rest(k, wide, place_type(wide));
    else open_vectors(k, total, place_type(wide));
    FusedAxis all = {.n = s->n_left, .extent = total.value};
    for (int i = 0; i < all.n; i++) all.index[i] = (uint8_t)i;
    place_decode(cg, s, &all, "at", wide, at->index, at->wide);
}

/* ---- reductions ---- */

static void declare_result(Kernel *k, const TeExpr *e) {
    Cg *cg = k->cg;
    int vec = k->at.vec;
    const char *type = cg_type(e->args[0]->type);
    if (te_positional(e)) {
        cg_line(cg, "%s best[%d];", type, vec);
        cg_line(cg, "int where[%d];", vec);
        return;
    }
    cg_line(cg, "%s acc[%d];", cg_type(e->type), vec);
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int v = 0; v < %d; v++) acc[v] = %s;", vec,
            cg_identity(cg, (TeRedop)e->red, e->type));
}

/* The row-major position in the listed ranges.  */
static const char *position(const Kernel *k, const TeExpr *e) {
    const char *sum = NULL;
    for (int i = 0; i < e->n_index; i++) {
        const char *x = k->at.index[e->index[i]];
        const TeExtent *n = &kernel_root(k)->index[e->index[i]].hi;
        sum = sum ? cg_text(k->cg, "(%s * %s + %s)", sum, cg_extent(k->cg, n), x) : x;
    }
    return sum;
}

/* The first NaN wins, then the lowest position among the best.  */
static void fold_position(Kernel *k, const TeExpr *e, const char *value, const char *lane) {
    Cg *cg = k->cg;
    bool real = te_dtype_class(e->args[0]->type) == TE_CLASS_REAL, max = e->red == TE_RED_ARGMAX;
    const char *best = cg_text(cg, "best[%s]", lane), *better;
    cg_line(cg, "const %s value = %s;", cg_type(e->args[0]->type), value);
    if (real)
        better = cg_text(cg, "(%s == %s && !(value %s %s))", best, best, max ? "<=" : ">=", best);
    else better = cg_text(cg, "value %s %s", max ? ">" : "<", best);
    cg_open(cg, "if (%s == 0 || %s)", position(k, e), better);
    cg_line(cg, "%s = value;", best);
    cg_line(cg, "where[%s] = %s;", lane, position(k, e));
    cg_close(cg);
}

static void fold_value(Kernel *k, int stmt, const TeExpr *e) {
    Cg *cg = k->cg;
    const char *lane = k->at.vec > 1 ? "v" : "0";
    CgPoint p = elements_point(k, stmt, false);
    if (te_positional(e)) {
        fold_position(k, e, cg_expr(&p, e->args[0], e->args[0]->type), lane);
        return;
    }
    const char *value = cg_expr(&p, e->args[0], e->type), *acc = cg_text(cg, "acc[%s]", lane);
    cg_line(cg, "%s = %s;", acc, cg_fold(cg, (TeRedop)e->red, e->type, acc, value));
}

void stream_fold(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    int stmt = k->l->p->group->root;
    const TeExpr *e = kernel_root(k)->rhs;
    cg_line(cg, "// fold: the reduction");
    declare_result(k, e);
    for (int i = 0; i < e->n_index; i++) {
        int x = e->index[i];
        const TeExtent *n = &kernel_root(k)->index[x].hi;
        at->wide[x] = n->value > INT32_MAX;
        at->index[x] = cg_text(cg, "i%d", x);
        const char *type = place_type(at->wide[x]);
        cg_open(cg, "for (%s i%d = 0; i%d < %s; i%d++)", type, x, x, cg_extent(cg, n), x);
    }
    elements_load_vectors(k, stmt, e->args[0]);
    elements_open_lanes(k);
    fold_value(k, stmt, e);
    elements_close_lanes(k);
    at->n_vector = 0;
    for (int i = 0; i < e->n_index; i++) cg_close(cg);
    const char *lane = at->vec > 1 ? "v" : "0";
    at->root = cg_text(cg, te_positional(e) ? "where[%s]" : "acc[%s]", lane);
    at->root_type = te_positional(e) ? TE_I32 : e->type;
}
