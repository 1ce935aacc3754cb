#include "codegen/column.h"
#include "codegen/reduction.h"
#include "codegen/sizes.h"

/* Reductions by columns: a thread walks down its columns with every `groups`-th row, the row
 * groups of a block meet in shared memory, slices of the grid in a second kernel.  */

static bool is_wide(const Kernel *k) {
    return place_wide(column_view(k)->out.extent, k->l->r->block.extent[AX_M]);
}

/* ---- the phases ---- */

static void start_elements(Kernel *k, int vec) {
    Elements *at = &k->at;
    const FusedAxis *out = &column_view(k)->out;
    at->vec = vec;
    at->domain = true;
    at->domain_wide = is_wide(k);
    at->n_order = 0;
    for (int i = out->n - 1; i >= 0; i--) {
        if (out->digit[i].extent != 1) at->order[at->n_order++] = out->index[i];
    }
    place_domain(k, text_index(k->cg, "at", is_wide(k)), is_wide(k), at->index, at->wide);
}

static void total(Kernel *k) {
    TeExtent all = index_total(k->cg->arena, &k->l->map);
    cg_line(k->cg, "%s %s TOTAL = %s;", all.expr ? "const" : "constexpr", place_type(is_wide(k)),
            text_number(k->cg, all));
}

/* Rows of a column, and of a slice.  */
static TeExtent rows_of(const Kernel *k) { return index_extent(k->cg->arena, &k->l->map, 1); }

static TeExtent slice_of(const Kernel *k) {
    return index_slice(k->cg->arena, &k->l->map, 1, k->l->r->split);
}

void column_place(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->l->r;
    const char *type = place_type(is_wide(k));
    int along = rprog_threads_along(r, AX_M), vec = r->thread.extent[AX_M];
    cg_line(cg, "// place: %d x %d columns, %d row groups", along, vec, column_groups(k));
    TeExtent all = rows_of(k);
    total(k);
    cg_line(cg, "%s int K = %s;", all.expr ? "const" : "constexpr", text_number(cg, all));
    cg_line(cg, "const unsigned tid = threadIdx.x;");
    cg_line(cg, "const int col = tid %% %du * %d, row = tid / %du;", along, vec, along);
    cg_line(cg, "const %s at = (%s)blockIdx.x * %d + col;", type, type,
            (int)r->block.extent[AX_M]);
    if (r->split > 1) {
        const char *slice = text_number(cg, slice_of(k));
        cg_line(cg, "const int first = blockIdx.y * %s;", slice);
        cg_line(cg, "const int rows = min(first + %s, K);", slice);
    } else {
        cg_line(cg, "%s int first = 0, rows = K;", all.expr ? "const" : "constexpr");
    }
    start_elements(k, vec);
}

/* Row groups meet in shared memory: all give their results to the first one, or, where that has no
 * room for as many, the upper half of those that are left gives them to the lower one.  */
void column_groups_place(Kernel *k) {
    Partials p = column_partials(k, text_index(k->cg, "v", false));
    cg_line(k->cg, "// reduce: the row groups");
    kernel_smem(k, 128);
    reduce_rooms(k->cg, &p, "part", k->l->layout);
}

void column_groups_halves(Kernel *k) {
    cg_line(k->cg, "#pragma unroll 1");
    cg_open(k->cg, "for (int u = %d; u > 0; u /= 2)", column_groups(k) / 2);
}

void column_groups_put(Kernel *k, bool half) {
    Partials p = column_partials(k, text_index(k->cg, "v", false));
    reduce_put(k->cg, &p, k->l->r->thread.extent[AX_M], "", "part",
               cg_text(k->cg, "(row - %s) * %d + col", half ? "u" : "1",
                       (int)k->l->r->block.extent[AX_M]));
}

void column_groups_add(Kernel *k, bool half) {
    Cg *cg = k->cg;
    int columns = k->l->r->block.extent[AX_M], vec = k->l->r->thread.extent[AX_M];
    int groups = column_groups(k);
    Partials p = column_partials(k, text_index(k->cg, "v", false));
    if (half) {
        reduce_partial(cg, &p, vec, &(ReducePartial){
            "part", "(max(rows - first, 0) + u - 1 - row) / (2 * u)",
            cg_text(cg, "row * %d + col", columns)});
        return;
    }
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int u = 0; u < %d; u++)", groups - 1);
    reduce_partial(cg, &p, vec, &(ReducePartial){
        "part", cg_text(cg, "(max(rows - first, 0) + %d - u) / %d", groups - 2, groups),
        cg_text(cg, "u * %d + col", columns)});
    cg_close(cg);
}

Ir column_result(const Kernel *k, int stmt) {
    Partials p = column_partials(k, column_lane(k));
    return monoid_result(monoid_of(&p, k->cg->te->stmt[stmt].rhs));
}

/* Rows of slice s.  */
static const char *rows_of_slice(const Kernel *k) {
    TeExtent all = rows_of(k);
    const char *slice = all.expr ? "slice" : text_number(k->cg, slice_of(k));
    return cg_text(k->cg, "max(min((s + 1) * %s, %s) - s * %s, 0)", slice,
                   all.expr ? "K" : text_number(k->cg, all), slice);
}

ThreadMap column_map(const Kernel *k) {
    const Cg *cg = k->cg;
    TeExtent rows = rows_of(k);
    return (ThreadMap){.group = column_group(k),
                       .stem = "acc",
                       .items = k->at.vec,
                       .lane = "v",
                       .count = IR_I32,
                       .threads = k->l->r->lanes,
                       .block = k->l->launch.block[0],
                       .total = text_number(cg, rows),
                       .live = rows.expr ? cg_text(cg, "%s > 0", text_number(cg, rows)) : NULL,
                       .partials = k->l->r->split * column_view(k)->out.extent,
                       .own = "(long long)blockIdx.y * TOTAL + at",
                       .only = "",
                       .n_partial = cg_text(cg, "%d", (int)k->l->r->split),
                       .elements = rows_of_slice(k)};
}

void column_partial(Kernel *k) {
    ThreadMap m = column_map(k);
    Partials p = reduction_partials(k, &m, 0);
    cg_line(k->cg, "// partial: results of this slice to the workspace");
    cg_open(k->cg, "if (at < TOTAL)");
    reduction_leave(k, &m, &p);
    cg_close(k->cg);
}

/* The outputs begin with the root's results.  */
static void take_results(Kernel *k) {
    k->at.root = column_result(k, k->l->p->group->root);
    k->at.root_type = kernel_root(k)->rhs->type;
}

void column_elements(Kernel *k) {
    cg_line(k->cg, "// elements: %d columns of the thread", k->at.vec);
    cg_open(k->cg, "if (at < TOTAL)");
    k->at.open = 1;
    ThreadMap m = column_map(k);
    Partials p = reduction_partials(k, &m, 0);
    reduction_settle(k, &m, &p);
    take_results(k);
}

/* ---- the adding kernel ---- */

void column_sums_elements(Kernel *k) {
    Cg *cg = k->cg;
    const char *type = place_type(is_wide(k));
    cg_line(cg, "// elements: %d at a time", k->l->vec);
    ThreadMap m = column_map(k);
    Partials p = reduction_partials(k, &m, 0);
    total(k);
    reduction_left(k, &m, &p);
    int lanes = m.threads;
    if (lanes > 1) cg_line(cg, "const int lane = threadIdx.x %% %du;", (unsigned)lanes);
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int u = threadIdx.x%s; u < %lld; u += %d)",
            lanes > 1 ? cg_text(cg, " / %d", lanes) : "",
            (long long)(k->l->launch.span / k->l->vec), m.block / lanes);
    cg_line(cg, "const %s at = (%s)blockIdx.x * %lld + u * %d;", type, type,
            (long long)k->l->launch.span, k->l->vec);
    cg_line(cg, "if (at >= TOTAL) break;");
    k->at.open = 1;
    start_elements(k, k->l->vec);
}

/* Of lanes that share results the first one goes on.  */
void column_sums_gather(Kernel *k) {
    Cg *cg = k->cg;
    TeExtent rows = rows_of(k);
    ThreadMap m = column_map(k);
    Partials p = reduction_partials(k, &m, 0);
    cg_line(cg, m.threads > 1 ? "// gather: the slices by the lanes of a warp"
                              : "// gather: the slices in order");
    if (rows.expr && monoid_counts(&p))
        cg_line(cg, "const int K = %s, slice = %s;", m.total, text_number(cg, slice_of(k)));
    m.at = cg_text(cg, "(long long)s * TOTAL + %s", place_taken(k, place_type(is_wide(k))));
    reduction_combine(k, &m, &p);
    if (m.threads > 1) {
        cg_open(cg, "if (lane == 0)");
        k->at.open++;
    }
    take_results(k);
}
