#include "codegen/blocks.h"
#include "codegen/sizes.h"

/* Reductions by columns: a thread walks down its columns with every `groups`-th row, the row
 * groups of a block meet in shared memory, slices of the grid in a second kernel.  Partial
 * results of argmax and argmin are pairs of value and position.  */

static const TeStmt *root_of(const Kernel *k) { return &k->cg->te->stmt[k->l->p->group->root]; }

static const ColumnView *view_of(const Kernel *k) { return &k->l->p->column; }

static int groups_of(const Kernel *k) { return rprog_column_threads(k->l->r, AX_K); }

/* Reduction number i of the kernel; 0 is the root.  */
static const TeExpr *sum_of(const Kernel *k, int i) {
    return k->cg->te->stmt[view_of(k)->sum[i]].rhs;
}

static TeDtype sum_type(const Kernel *k, int i) {
    const TeExpr *e = sum_of(k, i);
    return view_of(k)->positional ? e->args[0]->type : e->type;
}

static bool is_wide(const Kernel *k) {
    return place_wide(view_of(k)->out.extent, k->l->r->block.extent[AX_M]);
}

/* ---- partial results ---- */

/* What a thread holds of reduction i, and the array where such values meet.  */
static const char *held(const Kernel *k, int i) {
    if (i > 0) return cg_text(k->cg, "acc%d", i);
    return view_of(k)->positional ? "best" : "acc";
}

static const char *array_of(const Kernel *k, int i) {
    return i > 0 ? cg_text(k->cg, "part%d", i) : "part";
}

static void declare_partial(Kernel *k, int vec) {
    Cg *cg = k->cg;
    if (view_of(k)->positional) {
        cg_line(cg, "%s best[%d];", cg_type(sum_type(k, 0)), vec);
        cg_line(cg, "int where[%d];", vec);
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int v = 0; v < %d; v++)", vec);
        cg_line(cg, "best[v] = %s;", cg_int(cg, sum_type(k, 0), 0));
        cg_line(cg, "where[v] = -1;");
        cg_close(cg);
        return;
    }
    for (int i = 0; i < view_of(k)->n_sum; i++) {
        const TeExpr *e = sum_of(k, i);
        cg_line(cg, "%s %s[%d];", cg_type(e->type), held(k, i), vec);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int v = 0; v < %d; v++) %s[v] = %s;", vec, held(k, i),
                cg_identity(cg, (TeRedop)e->red, e->type));
    }
}

/* Is `value` better than what is held, whichever came first?  NaN is better than any number.  */
static const char *is_better(const Kernel *k, const char *best) {
    const Cg *cg = k->cg;
    bool max = root_of(k)->rhs->red == TE_RED_ARGMAX;
    if (te_dtype_class(sum_type(k, 0)) == TE_CLASS_REAL)
        return cg_text(cg, "(%s == %s && !(value %s %s))", best, best, max ? "<=" : ">=", best);
    return cg_text(cg, "value %s %s", max ? ">" : "<", best);
}

static const char *is_tie(const Kernel *k, const char *best) {
    if (te_dtype_class(sum_type(k, 0)) == TE_CLASS_REAL)
        return cg_text(k->cg, "(value == %s || (value != value && %s != %s))", best, best, best);
    return cg_text(k->cg, "value == %s", best);
}

static void take(Kernel *k, const char *lane, const char *condition, const char *position) {
    cg_open(k->cg, "if (where[%s] < 0 || %s)", lane, condition);
    cg_line(k->cg, "best[%s] = value;", lane);
    cg_line(k->cg, "where[%s] = %s;", lane, position);
    cg_close(k->cg);
}

/* Adds a value of the element to what lane holds; positions grow from call to call.  */
static void fold_next(Kernel *k, const char *lane) {
    Cg *cg = k->cg;
    for (int i = 0; i < view_of(k)->n_sum; i++) {
        const TeExpr *e = sum_of(k, i);
        CgPoint p = elements_point(k, view_of(k)->sum[i], false);
        const char *value = cg_expr(&p, e->args[0], sum_type(k, i));
        if (view_of(k)->positional) {
            cg_line(cg, "const %s value = %s;", cg_type(sum_type(k, i)), value);
            take(k, lane, is_better(k, cg_text(cg, "best[%s]", lane)), "k_now");
            return;
        }
        const char *acc = cg_text(cg, "%s[%s]", held(k, i), lane);
        cg_line(cg, "%s = %s;", acc, cg_fold(cg, (TeRedop)e->red, e->type, acc, value));
    }
}

/* Adds a partial result of reduction i to what lane holds.  */
static void fold_partial(Kernel *k, int i, const char *lane, const char *value,
                         const char *position) {
    Cg *cg = k->cg;
    const TeExpr *e = sum_of(k, i);
    if (!view_of(k)->positional) {
        const char *acc = cg_text(cg, "%s[%s]", held(k, i), lane);
        cg_line(cg, "%s = %s;", acc, cg_fold(cg, (TeRedop)e->red, e->type, acc, value));
        return;
    }
    const char *best = cg_text(cg, "best[%s]", lane);
    cg_line(cg, "const %s value = %s;", cg_type(sum_type(k, 0)), value);
    cg_line(cg, "const int at_k = %s;", position);
    cg_open(cg, "if (at_k >= 0)");
    take(k, lane, cg_text(cg, "%s || (%s && at_k < where[%s])", is_better(k, best),
                          is_tie(k, best), lane), "at_k");
    cg_close(cg);
}

/* Elements of one access to partial results of `bytes` each.  */
static int pieces(int vec, int bytes) {
    while (vec * bytes > 16) vec /= 2;
    return vec;
}

/* Moves `vec` partial results between registers and the arrays part and from, at element `at`.  */
static void store_partial(Kernel *k, int vec, const char *at) {
    Cg *cg = k->cg;
    int m = pieces(vec, 4);
    for (int i = 0; i < view_of(k)->n_sum; i++) {
        int n = pieces(vec, view_of(k)->part[i]);
        cg_line(cg, "#pragma unroll");
        cg_line(cg, "for (int p = 0; p < %d; p++) rl_store<%d>(%s + (%s) + p * %d, %s + p * %d);",
                vec / n, n, array_of(k, i), at, n, held(k, i), n);
    }
    if (!view_of(k)->positional) return;
    cg_line(cg, "#pragma unroll");
    cg_line(cg, "for (int p = 0; p < %d; p++) rl_store<%d>(from + (%s) + p * %d, where + p * %d);",
            vec / m, m, at, m, m);
}

static void add_partial_of(Kernel *k, int i, int vec, const char *at) {
    Cg *cg = k->cg;
    bool positional = view_of(k)->positional;
    int n = pieces(vec, view_of(k)->part[i]);
    if (positional && n > 4) n = 4;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int p = 0; p < %d; p++)", vec / n);
    cg_line(cg, "const rl_vec<%s, %d> x = rl_load<%d>(%s + (%s) + p * %d);",
            cg_type(sum_type(k, i)), n, n, array_of(k, i), at, n);
    if (positional)
        cg_line(cg, "const rl_vec<int, %d> y = rl_load<%d>(from + (%s) + p * %d);", n, n, at, n);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int v = 0; v < %d; v++)", n);
    fold_partial(k, i, cg_text(cg, "p * %d + v", n), "x.v[v]", "y.v[v]");
    cg_close(cg);
    cg_close(cg);
}

static void add_partial(Kernel *k, int vec, const char *at) {
    for (int i = 0; i < view_of(k)->n_sum; i++) add_partial_of(k, i, vec, at);
}

/* The arrays of `results` partial results from `base` on.  */
static void partial_pointers(Kernel *k, const char *base, int64_t results) {
    Cg *cg = k->cg;
    for (int i = 0; i < view_of(k)->n_part; i++) {
        bool position = view_of(k)->positional && i > 0;
        const char *type = position ? "int" : cg_type(sum_type(k, i)), *at = base;
        if (i > 0)
            at = cg_text(cg, "%s + %lldll", base,
                         (long long)rprog_column_part(k->l->p, results, i));
        cg_line(cg, "%s *const %s = reinterpret_cast<%s *>(%s);", type,
                position ? "from" : array_of(k, i), type, at);
    }
}

static void workspace_pointers(Kernel *k) {
    const ColumnView *v = view_of(k);
    partial_pointers(k, cg_text(k->cg, "w + %lldll", (long long)k->cg->sums_at),
                     k->l->r->split * v->out.extent);
}

/* ---- the phases ---- */

static void start_elements(Kernel *k, int vec) {
    Elements *at = &k->at;
    const FusedAxis *out = &view_of(k)->out;
    at->vec = vec;
    at->axis = out;
    at->axis_wide = is_wide(k);
    at->n_order = 0;
    for (int i = out->n - 1; i >= 0; i--) {
        if (out->digit[i].extent != 1) at->order[at->n_order++] = out->index[i];
    }
    place_decode(k->cg, root_of(k), out, "at", is_wide(k), at->index, at->wide);
}

static void total(Kernel *k) {
    TeExtent all = size_axis(k->cg->arena, root_of(k), &view_of(k)->out);
    cg_line(k->cg, "%s %s TOTAL = %s;", all.expr ? "const" : "constexpr", place_type(is_wide(k)),
            size_text(k->cg, all));
}

void column_place(Kernel *k) {
    Cg *cg = k->cg;
    const ColumnView *v = view_of(k);
    const RProg *r = k->l->r;
    const char *type = place_type(is_wide(k));
    int along = rprog_column_threads(r, AX_M), vec = r->thread.extent[AX_M];
    cg_line(cg, "// place: %d x %d columns, %d row groups", along, vec, groups_of(k));
    TeExtent all = size_axis(cg->arena, root_of(k), &v->red);
    total(k);
    cg_line(cg, "%s int K = %s;", all.expr ? "const" : "constexpr", size_text(cg, all));
    cg_line(cg, "const unsigned tid = threadIdx.x;");
    cg_line(cg, "const int col = tid %% %du * %d, row = tid / %du;", along, vec, along);
    cg_line(cg, "const %s at = (%s)blockIdx.x * %d + col;", type, type,
            (int)r->block.extent[AX_M]);
    if (r->split > 1) {
        TeExtent steps = size_parts(cg->arena, all, r->block.extent[AX_K]);
        TeExtent slice = size_times(cg->arena, size_parts(cg->arena, steps, r->split),
                                    size_number(r->block.extent[AX_K]));
        cg_line(cg, "const int first = blockIdx.y * %s;", size_text(cg, slice));
        cg_line(cg, "const int rows = min(first + %s, K);", size_text(cg, slice));
    } else {
        cg_line(cg, "%s int first = 0, rows = K;", all.expr ? "const" : "constexpr");
    }
    start_elements(k, vec);
}

/* One row of the thread's columns, at k_now.  */
static void fold_row(Kernel *k) {
    Cg *cg = k->cg;
    Elements *at = &k->at;
    place_decode(cg, root_of(k), &view_of(k)->red, "k_now", false, at->index, at->wide);
    for (int i = 0; i < view_of(k)->n_sum; i++)
        elements_load_vectors(k, view_of(k)->sum[i], sum_of(k, i)->args[0]);
    elements_open_lanes(k);
    fold_next(k, at->vec > 1 ? "v" : "0");
    elements_close_lanes(k);
    at->n_vector = 0;
}

void column_fold(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->l->r;
    int deep = r->thread.extent[AX_K], groups = groups_of(k);
    bool ragged = view_of(k)->unit % r->block.extent[AX_M] != 0;
    cg_line(cg, "// fold: every %d. row, %d in flight", groups, deep);
    declare_partial(k, r->thread.extent[AX_M]);
    if (ragged) cg_open(cg, "if (at < TOTAL)");
    cg_line(cg, "int kk = first + row;");
    if (deep > 1) {
        cg_line(cg, "#pragma unroll 1");
        cg_open(cg, "for (; kk + %d < rows; kk += %d)", (deep - 1) * groups, deep * groups);
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int u = 0; u < %d; u++)", deep);
        cg_line(cg, "const int k_now = kk + u * %d;", groups);
        fold_row(k);
        cg_close(cg);
        cg_close(cg);
    }
    if (deep == 1 || view_of(k)->red_unit % r->block.extent[AX_K] != 0) {
        cg_line(cg, "#pragma unroll 1");
        cg_open(cg, "for (; kk < rows; kk += %d)", groups);
        cg_line(cg, "const int k_now = kk;");
        fold_row(k);
        cg_close(cg);
    }
    if (ragged) cg_close(cg);
}

/* The upper half of the row groups gives its results to the lower half, until one is left.  */
static void halve_groups(Kernel *k) {
    Cg *cg = k->cg;
    int columns = k->l->r->block.extent[AX_M], vec = k->l->r->thread.extent[AX_M];
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int u = %d; u > 0; u /= 2)", groups_of(k) / 2);
    cg_open(cg, "if (row >= u && row < 2 * u)");
    store_partial(k, vec, cg_text(cg, "(row - u) * %d + col", columns));
    cg_close(cg);
    cg_line(cg, "__syncthreads();");
    cg_open(cg, "if (row < u)");
    add_partial(k, vec, cg_text(cg, "row * %d + col", columns));
    cg_close(cg);
    cg_line(cg, "__syncthreads();");
    cg_close(cg);
    cg_line(cg, "if (row > 0) return;");
}

void column_reduce(Kernel *k) {
    Cg *cg = k->cg;
    const RProg *r = k->l->r;
    int columns = r->block.extent[AX_M], vec = r->thread.extent[AX_M], groups = groups_of(k);
    cg_line(cg, "// reduce: the row groups");
    cg_line(cg, "extern __shared__ __align__(128) unsigned char smem[];");
    int copies = rprog_column_copies(r);
    partial_pointers(k, "smem", (int64_t)copies * columns);
    if (copies < groups - 1) {
        halve_groups(k);
        return;
    }
    cg_open(cg, "if (row > 0)");
    store_partial(k, vec, cg_text(cg, "(row - 1) * %d + col", columns));
    cg_close(cg);
    cg_line(cg, "__syncthreads();");
    cg_line(cg, "if (row > 0) return;");
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int u = 0; u < %d; u++)", groups - 1);
    add_partial(k, vec, cg_text(cg, "u * %d + col", columns));
    cg_close(cg);
}

const char *column_result(const Kernel *k, int stmt) {
    int i = 0;
    while (view_of(k)->sum[i] != stmt) i++;
    return cg_text(k->cg, "%s[%s]", held(k, i), k->at.vec > 1 ? "v" : "0");
}

static void result_names(Kernel *k) {
    const char *lane = k->at.vec > 1 ? "v" : "0";
    bool positional = view_of(k)->positional;
    k->at.root = cg_text(k->cg, positional ? "where[%s]" : "acc[%s]", lane);
    k->at.root_type = positional ? TE_I32 : root_of(k)->rhs->type;
}

void column_partial(Kernel *k) {
    Cg *cg = k->cg;
    cg_line(cg, "// partial: results of this slice to the workspace");
    cg_open(cg, "if (at < TOTAL)");
    workspace_pointers(k);
    store_partial(k, k->at.vec, "(long long)blockIdx.y * TOTAL + at");
    cg_close(cg);
}

void column_elements(Kernel *k) {
    cg_line(k->cg, "// elements: %d columns of the thread", k->at.vec);
    cg_open(k->cg, "if (at < TOTAL)");
    k->at.open = 1;
    result_names(k);
}

/* ---- the adding kernel ---- */

void column_sums_elements(Kernel *k) {
    Cg *cg = k->cg;
    const char *type = place_type(is_wide(k));
    cg_line(cg, "// elements: %d at a time", k->l->vec);
    total(k);
    workspace_pointers(k);
    int lanes = rprog_column_lanes(k->l->p, k->l->r);
    cg_line(cg, "#pragma unroll 1");
    cg_open(cg, "for (int u = threadIdx.x%s; u < %lld; u += %d)",
            lanes > 1 ? cg_text(cg, " / %d", lanes) : "",
            (long long)(k->l->launch.span / k->l->vec), k->l->launch.block[0] / lanes);
    cg_line(cg, "const %s at = (%s)blockIdx.x * %lld + u * %d;", type, type,
            (long long)k->l->launch.span, k->l->vec);
    cg_line(cg, "if (at >= TOTAL) break;");
    k->at.open = 1;
    start_elements(k, k->l->vec);
}

/* The lanes of a warp have added every 32nd slice each; the first one goes on.  */
static void meet_lanes(Kernel *k) {
    Cg *cg = k->cg;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = %d; f > 0; f /= 2)", rprog_column_lanes(k->l->p, k->l->r) / 2);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int v = 0; v < %d; v++)", k->at.vec);
    for (int i = 0; i < view_of(k)->n_sum; i++) {
        cg_line(cg, "const %s x%d = __shfl_xor_sync(0xffffffffu, %s[v], f);",
                cg_type(sum_type(k, i)), i, held(k, i));
        fold_partial(k, i, "v", cg_text(cg, "x%d", i), NULL);
    }
    cg_close(cg);
    cg_close(cg);
    cg_open(cg, "if (threadIdx.x %% 32 == 0)");
    k->at.open++;
}

void column_sums_gather(Kernel *k) {
    Cg *cg = k->cg;
    int lanes = rprog_column_lanes(k->l->p, k->l->r);
    cg_line(cg, lanes > 1 ? "// gather: the slices by the lanes of a warp"
                          : "// gather: the slices in order");
    declare_partial(k, k->at.vec);
    cg_line(cg, "#pragma unroll 8");
    if (lanes > 1)
        cg_open(cg, "for (int s = threadIdx.x %% %d; s < %d; s += %d)", lanes,
                (int)k->l->r->split, lanes);
    else cg_open(cg, "for (int s = 0; s < %d; s++)", (int)k->l->r->split);
    add_partial(k, k->at.vec, "(long long)s * TOTAL + at");
    cg_close(cg);
    if (lanes > 1) meet_lanes(k);
    result_names(k);
}
