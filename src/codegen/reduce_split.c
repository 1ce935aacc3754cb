#include "codegen/sizes.h"
#include "codegen/blocks.h"

/* Split reductions: each slice of the grid stores its sums, a second kernel adds them in order of
 * the slice.  The sums lie in the workspace as [split][B][M][N].  */

static void sums_pointer(Kernel *k) {
    const char *type = cg_type(k->l->p->con.acc);
    cg_line(k->cg, "%s *const sums = reinterpret_cast<%s *>(w + %lldll);", type, type,
            (long long)k->cg->sums_at);
}

void reduce_split_store(Kernel *k) {
    Cg *cg = k->cg;
    const Problem *p = k->l->p;
    cg_line(cg, "// partial: sums of this slice to the workspace");
    sums_pointer(k);
    const char *slice = "(long long)blockIdx.y";
    TeExtent batch = size_axis(cg->arena, k->c.root, &p->con.axis[AX_B]);
    if (p->extent[AX_B] > 1)
        slice = cg_text(cg, "(%s * %s + b)", slice, size_text(cg, batch));
    elements_place_outputs(k);
    const char *to = store_sums(k, cg_text(cg, "%s * M + ", slice), "", "N");
    elements_open_outputs(k);
    const char *first = k->c.matrix.used ? mma_element(k, "0") : "acc[i][j]";
    cg_line(cg, "rl_store_global<%d>(%s, &%s);", k->l->vec, to, first);
    elements_end(k);
}

void reduce_split_elements(Kernel *k) {
    Cg *cg = k->cg;
    const Problem *p = k->l->p;
    const Contraction *con = &p->con;
    Elements *at = &k->at;
    const TeStmt *root = &cg->te->stmt[con->stmt];
    TeExtent size_m = size_axis(cg->arena, root, &con->axis[AX_M]);
    TeExtent size_n = size_axis(cg->arena, root, &con->axis[AX_N]);
    TeExtent mn = size_times(cg->arena, size_m, size_n), total = size_times(
        cg->arena, size_axis(cg->arena, root, &con->axis[AX_B]), mn);
    const FusedAxis *n = &con->axis[AX_N];
    bool wide = place_wide(total.value, k->l->launch.span);
    const char *type = place_type(wide), *by_n = size_divisor(cg, size_n, wide);
    at->vec = k->l->vec;
    for (int i = n->n - 1; i >= 0; i--) {
        if (root->index[n->index[i]].hi.value != 1) at->order[at->n_order++] = n->index[i];
    }
    cg_line(cg, "// elements: %d at a time, the domain is [B][M][N]", at->vec);
    cg_line(cg, "%s %s TOTAL = %s;", total.expr ? "const" : "constexpr", type,
            size_text(cg, total));
    sums_pointer(k);
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int u = threadIdx.x; u < %lld; u += %d)",
            (long long)(k->l->launch.span / at->vec), k->l->launch.block[0]);
    cg_line(cg, "const %s at = (%s)blockIdx.x * %lld + u * %d;", type, type,
            (long long)k->l->launch.span, at->vec);
    cg_line(cg, "if (at >= TOTAL) break;");
    at->open = 1;
    cg_line(cg, "const %s b = at / %s;", place_type(place_wide(p->extent[AX_B], 0)),
            size_divisor(cg, mn, wide));
    cg_line(cg, "const %s m = at / %s %% %s;", place_type(place_wide(p->extent[AX_M], 0)), by_n,
            size_divisor(cg, size_m, wide));
    cg_line(cg, "const %s n = at %% %s;", place_type(place_wide(p->extent[AX_N], 0)), by_n);
    for (int x = AX_B; x <= AX_N; x++)
        place_decode(cg, root, &con->axis[x],
                     x == AX_B   ? "b"
                     : x == AX_M ? "m"
                                 : "n",
                     place_wide(con->axis[x].extent, 0), at->index, at->wide);
}

void reduce_split_gather(Kernel *k) {
    Cg *cg = k->cg;
    const Contraction *con = &k->l->p->con;
    int vec = k->at.vec;
    cg_line(cg, "// gather: the slices in order");
    const char *from = place_taken(k, "long long");
    cg_line(cg, "rl_vec<%s, %d> sum = rl_load<%d>(sums + %s);", cg_type(con->acc), vec, vec, from);
    cg_line(cg, "#pragma unroll 4");
    cg_open(cg, "for (int s = 1; s < %d; s++)", (int)k->l->r->split);
    contract_add(k, "sum.v[v]", vec, "sums", cg_text(cg, "((long long)s * TOTAL + %s)", from));
    cg_close(cg);
    k->at.root = vec > 1 ? "sum.v[v]" : "sum.v[0]";
    k->at.root_type = con->acc;
}
