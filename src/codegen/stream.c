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
    if (!index_ragged(&k->l->map, 0)) return;
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
    Elements *at = &k->at;
    const TeStmt *s = kernel_root(k);
    TeExtent total = index_total(k->cg->arena, &k->l->map);
    bool wide = place_wide(total.value, k->l->launch.span);
    at->vec = rest ? 1 : k->l->vec;
    at->n_order = at->n_vector = 0;
    for (int i = s->n_left - 1; i >= 0; i--) {
        if (s->index[i].hi.value != 1) at->order[at->n_order++] = i;
    }
    if (rest) open_rest(k, wide, place_type(wide));
    else open_vectors(k, total, place_type(wide));
    place_domain(k, "at", wide, at->index, at->wide);
}

/* ---- reductions ---- */

void stream_fold(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    int stmt = k->l->p->group->root;
    const TeExpr *e = kernel_root(k)->rhs;
    const char *lane = at->vec > 1 ? "v" : "0";
    const RowGroup *g = k->l->p->group->columns;
    Partials p = monoid_pass(cg, g, 0, "acc", lane);
    cg_line(cg, "// fold: the reduction");
    reduce_clear(cg, &p, at->vec);
    for (int i = 0; i < e->n_index; i++) {
        int j = e->index[i];
        const TeExtent *n = &kernel_root(k)->index[j].hi;
        at->wide[j] = n->value > INT32_MAX;
        at->index[j] = cg_text(cg, "i%d", j);
        const char *type = place_type(at->wide[j]);
        cg_open(cg, "for (%s i%d = 0; i%d < %s; i%d++)", type, j, j, cg_extent(cg, n), j);
    }
    elements_load_vectors(k, stmt, e->args[0]);
    elements_open_lanes(k);
    elements_fold(k, g, &p.at[0], NULL, true);
    elements_close_lanes(k);
    at->n_vector = 0;
    for (int i = 0; i < e->n_index; i++) cg_close(cg);
    at->root = monoid_result(&p.at[0]);
    at->root_type = e->type;
}
