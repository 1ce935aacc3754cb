#include "codegen/blocks.h"

/* Values per row: folds, trees over the threads of a row, slices of long rows, statements that run
 * over rows alone.  */

enum { WARP = 32 };

static const RowFacts *facts(const Kernel *k) { return rprog_row_facts(k->l->p, k->l->r); }

static const TeStmt *statement(const Kernel *k, int i) {
    return &k->cg->te->stmt[facts(k)->group->stmt[i]];
}

static bool reduces_in(const Kernel *k, int i, int pass) {
    const RowGroup *g = facts(k)->group;
    return g->role[i] == ROW_REDUCE && g->pass[i] == pass;
}

/* Tied reductions meet after the others.  */
static bool meets(const Kernel *k, int i, int pass, bool tied) {
    return reduces_in(k, i, pass) && (facts(k)->group->tie[i] != TIE_NONE) == tied;
}

bool row_makes(const Kernel *k, int tensor, int pass) {
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        if (statement(k, i)->tensor == tensor) return g->pass[i] == pass;
    }
    return false;
}

static TeDtype type_of(const TeExpr *e) { return te_positional(e) ? e->args[0]->type : e->type; }

/* The value that loses against every other.  */
static const char *identity(const Kernel *k, const TeExpr *e) {
    TeRedop red = (TeRedop)e->red;
    red = red == TE_RED_ARGMAX ? TE_RED_MAX : red == TE_RED_ARGMIN ? TE_RED_MIN : red;
    return cg_identity(k->cg, red, type_of(e));
}

static void clear(Kernel *k, int i) {
    const TeStmt *s = statement(k, i);
    const char *type = cg_type(type_of(s->rhs));
    cg_line(k->cg, "%s acc%d = %s;", type, s->tensor, identity(k, s->rhs));
    if (te_positional(s->rhs)) cg_line(k->cg, "int where%d = 2147483647;", s->tensor);
}

void row_clear(Kernel *k, int pass) {
    for (int i = 0; i < facts(k)->group->n; i++) {
        if (reduces_in(k, i, pass)) clear(k, i);
    }
    row_tie_clear(k, pass);
}

static void fold(Kernel *k, const TeStmt *s, const char *value, const char *where) {
    Cg *cg = k->cg;
    const char *acc = cg_text(cg, "acc%d", s->tensor);
    /* The text of a wide integer may be an int.  */
    if (te_positional(s->rhs) && type_of(s->rhs) == TE_I64)
        value = cg_text(cg, "(long long)%s", value);
    if (te_positional(s->rhs))
        cg_line(cg, "rl_%s(%s, where%d, %s, %s);",
                s->rhs->red == TE_RED_ARGMAX ? "argmax" : "argmin", acc, s->tensor, value, where);
    else
        cg_line(cg, "%s = %s;", acc,
                cg_fold(cg, (TeRedop)s->rhs->red, s->rhs->type, acc, value));
}

/* The row-major position in the listed ranges.  */
static const char *position(const Kernel *k, const CgPoint *p) {
    const TeExpr *e = p->stmt->rhs;
    const char *sum = NULL;
    for (int i = 0; i < e->n_index; i++) {
        const char *x = p->index[e->index[i]];
        const TeExtent *n = &p->stmt->index[e->index[i]].hi;
        sum = sum ? cg_text(k->cg, "(%s * %s + %s)", sum, cg_extent(k->cg, n), x) : x;
    }
    return cg_text(k->cg, "(int)%s", sum);
}

void row_fold(Kernel *k, int i, const CgPoint *p) {
    const TeExpr *e = statement(k, i)->rhs;
    const char *value = cg_expr(p, e->args[0], type_of(e));
    const char *where = te_positional(e) ? position(k, p) : NULL;
    fold(k, statement(k, i), value, where);
}

/* Combines the threads of a warp that are `span` neighbours.  */
static void shuffle(Kernel *k, const TeStmt *s, int span) {
    Cg *cg = k->cg;
    bool flag = type_of(s->rhs) == TE_BOOL;
    if (span < 2) return;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int f = %d; f > 0; f /= 2)", span / 2);
    const char *acc = cg_text(cg, "acc%d", s->tensor), *where = NULL;
    const char *other = cg_text(cg, "__shfl_xor_sync(0xffffffffu, %s%s, f)", flag ? "(int)" : "",
                                acc);
    if (te_positional(s->rhs)) {
        cg_line(cg, "const int at = __shfl_xor_sync(0xffffffffu, where%d, f);", s->tensor);
        where = "at";
    }
    fold(k, s, other, where);
    cg_close(cg);
}

/* A value of each warp of a row, through shared memory.  */
static void gather_warps(Kernel *k, int pass, bool tied, int warps) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    int all = k->l->r->threads / WARP;
    for (int i = 0; i < g->n; i++) {
        if (!meets(k, i, pass, tied)) continue;
        const TeStmt *s = statement(k, i);
        cg_line(cg, "__shared__ %s part%d[%d];", cg_type(type_of(s->rhs)), s->tensor, all);
        if (te_positional(s->rhs)) cg_line(cg, "__shared__ int place%d[%d];", s->tensor, all);
        cg_line(cg, "if (tid %% 32 == 0) part%d[tid / 32] = acc%d;", s->tensor, s->tensor);
        if (te_positional(s->rhs))
            cg_line(cg, "if (tid %% 32 == 0) place%d[tid / 32] = where%d;", s->tensor, s->tensor);
    }
    cg_line(cg, "__syncthreads();");
    for (int i = 0; i < g->n; i++) {
        if (!meets(k, i, pass, tied)) continue;
        const TeStmt *s = statement(k, i);
        cg_line(cg, "acc%d = part%d[tid / LN * %d + tid %% %d];", s->tensor, s->tensor, warps,
                warps);
        if (te_positional(s->rhs))
            cg_line(cg, "where%d = place%d[tid / LN * %d + tid %% %d];", s->tensor, s->tensor,
                    warps, warps);
        shuffle(k, s, warps);
    }
}

static void meet(Kernel *k, int pass, bool tied) {
    const RowGroup *g = facts(k)->group;
    int threads = rprog_row_threads(k->l->r), lanes = threads < WARP ? threads : WARP, n = 0;
    for (int i = 0; i < g->n; i++) {
        if (!meets(k, i, pass, tied)) continue;
        shuffle(k, statement(k, i), lanes);
        n++;
    }
    if (n > 0 && threads > WARP) gather_warps(k, pass, tied, threads / WARP);
}

/* Every thread of a row gets the value of the whole row.  */
static void tree(Kernel *k, int pass) {
    if (facts(k)->reduces[pass] == 0 || rprog_row_threads(k->l->r) == 1) return;
    row_tie_keep(k, pass);
    meet(k, pass, false);
    row_tie_correct(k, pass);
    meet(k, pass, true);
}

/* ---- statements over rows ---- */

static void define(Kernel *k, int i, TeDtype type, const char *value, bool stores) {
    Cg *cg = k->cg;
    int t = statement(k, i)->tensor;
    TeDtype dtype = cg->te->tensor[t].dtype, compute = te_dtype_compute(dtype);
    const char *name = cg_text(cg, "e%d", t);
    cg_line(cg, "const %s %s = %s;", cg_type(compute), name, cg_cast(cg, dtype, type, value));
    k->at.made[t] = name;
    if (!stores || !elements_in_memory(k, t)) return;
    CgPoint p = row_point(k, i);
    cg_line(cg, "if (lane == 0%s%s) t%d[%s] = %s;", row_ragged(k) ? " && m < M" : "",
            k->l->launch.grid[1] > 1 ? " && blockIdx.y == 0" : "", t,
            cg_offset(cg, t, p.index), cg_encode(cg, dtype, compute, name));
}

void row_values(Kernel *k, int pass, bool stores) {
    const RowGroup *g = facts(k)->group;
    for (int i = 0; i < g->n; i++) {
        const TeStmt *s = statement(k, i);
        if (pass > 0 && reduces_in(k, i, pass - 1)) {
            const char *name = te_positional(s->rhs) ? "where" : "acc";
            TeDtype type = te_positional(s->rhs) ? TE_I32 : s->rhs->type;
            define(k, i, type, cg_text(k->cg, "%s%d", name, s->tensor), stores);
        } else if (g->role[i] == ROW_SCALAR && g->pass[i] == pass) {
            CgPoint p = row_point(k, i);
            define(k, i, s->rhs->type, cg_expr(&p, s->rhs, s->rhs->type), stores);
        }
    }
}

void row_finish(Kernel *k, int pass) {
    if (facts(k)->reduces[pass] > 0) cg_line(k->cg, "// values of the rows");
    tree(k, pass);
    row_tie_settle(k, pass);
    row_values(k, pass + 1, true);
    cg_blank(k->cg);
}

/* ---- slices ---- */

static long long positions_at(const Kernel *k, const TeStmt *s) {
    return (long long)facts(k)->rows * k->l->r->split * te_dtype_bytes(type_of(s->rhs));
}

/* Pointers to the slices' values of this row.  */
static void slices(Kernel *k, int i) {
    Cg *cg = k->cg;
    const TeStmt *s = statement(k, i);
    const char *type = cg_storage(type_of(s->rhs));
    long long at = (long long)(cg->sums_at + rprog_row_partial(k->l->p, k->l->r, i));
    const char *row = cg_text(cg, "%s * %dll", row_ragged(k) ? "row" : "m", (int)k->l->r->split);
    cg_line(cg, "%s *const r%d = reinterpret_cast<%s *>(w + %lldll) + %s;", type, s->tensor, type,
            at, row);
    if (te_positional(s->rhs))
        cg_line(cg, "int *const spot%d = reinterpret_cast<int *>(w + %lldll) + %s;", s->tensor,
                at + positions_at(k, s), row);
}

void row_leave(Kernel *k, int pass) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    if (facts(k)->reduces[pass] == 0) return;
    cg_line(cg, "// values of the slice");
    tree(k, pass);
    const char *live = row_ragged(k) ? " && m < M" : "";
    for (int i = 0; i < g->n; i++) {
        if (!reduces_in(k, i, pass)) continue;
        const TeStmt *s = statement(k, i);
        slices(k, i);
        cg_line(cg, "if (lane == 0%s) r%d[blockIdx.y] = acc%d;", live, s->tensor, s->tensor);
        if (te_positional(s->rhs))
            cg_line(cg, "if (lane == 0%s) spot%d[blockIdx.y] = where%d;", live, s->tensor,
                    s->tensor);
    }
}

/* Folds the slices' values of one reduction.  */
static void fold_slices(Kernel *k, int i) {
    Cg *cg = k->cg;
    const TeStmt *s = statement(k, i);
    bool flag = type_of(s->rhs) == TE_BOOL;
    const char *value = cg_text(cg, flag ? "(r%d[s] != 0)" : "r%d[s]", s->tensor);
    slices(k, i);
    clear(k, i);
    cg_line(cg, "#pragma unroll 4");
    cg_open(cg, "for (int s = lane; s < %d; s += LN)", (int)k->l->r->split);
    fold(k, s, row_tie_slice(k, i, value), cg_text(cg, "spot%d[s]", s->tensor));
    cg_close(cg);
}

void row_combine(Kernel *k, int pass, bool stores) {
    Cg *cg = k->cg;
    const RowGroup *g = facts(k)->group;
    cg_line(cg, "// combine: the slices of pass %d", pass);
    for (int tied = 0; tied < 2; tied++) {
        for (int i = 0; i < g->n; i++) {
            if (meets(k, i, pass, tied)) fold_slices(k, i);
        }
        if (rprog_row_threads(k->l->r) > 1) meet(k, pass, tied);
    }
    row_tie_settle(k, pass);
    row_values(k, pass + 1, stores);
    cg_blank(cg);
}
